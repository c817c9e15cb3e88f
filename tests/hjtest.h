/* SPDX-License-Identifier: BSD-2-Clause */
/*
   TAP for test programs: each check is collective, rank 0 prints. It goes into a file where tests/run.sh names one, which then fails a
   program that prints anything else on standard output: views go into files (hjproblem.h) or are kept (hjcapture.h). What helps to
   understand a failure is kept until the next check, and shown on standard error if that fails: a check that passes prints its own line
   alone.
*/
#pragma once

#include <petscsys.h>
#include <stdarg.h>
#include "core/hjcompat.h"

static int               hjtest_count = 0, hjtest_failed = 0;
static PETSC_UNUSED char hjtest_detail[1 << 14]; /* of this rank, for the next check */

/* Where rank 0 prints, line by line. Not through mpiexec: that of Open MPI 5 moves parts of lines from standard output to standard error */
static inline PETSC_UNUSED FILE *HJTestStream(void)
{
  static FILE *stream = NULL;
  const char  *name   = getenv("HJ_TAP");

  if (stream) return stream;
  if (name) stream = fopen(name, "a");
  if (!stream) stream = stdout;
  (void)setvbuf(stream, NULL, _IOLBF, BUFSIZ);
  return stream;
}

/* A line that this rank shows if the next check fails */
static inline PETSC_UNUSED PetscErrorCode HJTestDetail(const char *fmt, ...)
{
  const size_t used = strlen(hjtest_detail);
  va_list      args;

  PetscFunctionBegin;
  va_start(args, fmt);
  (void)vsnprintf(hjtest_detail + used, sizeof(hjtest_detail) - used, fmt, args);
  va_end(args);
  (void)PetscStrlcat(hjtest_detail, "\n", sizeof(hjtest_detail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode HJTestOK(PetscBool pass, const char *fmt, ...)
{
  va_list     args;
  char        name[512];
  PetscMPIInt rank, mine = pass ? 1 : 0, all;

  PetscFunctionBegin;
  va_start(args, fmt);
  (void)vsnprintf(name, sizeof(name), fmt, args);
  va_end(args);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  hjtest_count++;
  if (!all) hjtest_failed++;
  if (!rank) fprintf(HJTestStream(), "%s %d - %s\n", all ? "ok" : "not ok", hjtest_count, name);
  if (!all) fputs(hjtest_detail, stderr);
  hjtest_detail[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line for whoever reads, from rank 0: TAP has it as a comment */
static inline PETSC_UNUSED PetscErrorCode HJTestNote(const char *fmt, ...)
{
  va_list     args;
  char        text[512];
  PetscMPIInt rank;

  PetscFunctionBegin;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) fprintf(HJTestStream(), "# %s\n", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place of all checks and HJTestDone() */
static inline PETSC_UNUSED PetscErrorCode HJTestSkip(const char *reason)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) fprintf(HJTestStream(), "1..0 # SKIP %s\n", reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether only the cases are asked for that `make check` leaves to `make check-long` (tests/run.sh) */
static inline PETSC_UNUSED PetscErrorCode HJTestLong(PetscBool *only_long)
{
  PetscFunctionBegin;
  *only_long = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-long", only_long, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A tolerance of tests, of a PETSc in double precision; in single the one that leaves as large a share of a number's digits:
   log(tolerance) / log(epsilon) is the same. 1e-8 is then 3e-4, 1e-12 5e-6, 1e-14 7e-7. Where what rounds is known tests count in
   PETSC_MACHINE_EPSILON
*/
static inline PETSC_UNUSED PetscReal HJTestDigits(double in_double)
{
  return HJ_BY_PRECISION(in_double, (PetscReal)pow(PETSC_MACHINE_EPSILON, log(in_double) / log(2.220446049250313e-16)));
}

/* Whether iterations to such a tolerance are those that a PETSc in double precision takes; in single, where it is not as far, they may be
   fewer */
static inline PETSC_UNUSED PetscBool HJTestIterations(PetscInt its, PetscInt in_double)
{
  return (PetscBool)(HJ_BY_PRECISION(its == in_double, its > 0 && its <= in_double));
}

/* Returns the exit code of the program; call before PetscFinalize() */
static inline PETSC_UNUSED int HJTestDone(void)
{
  PetscMPIInt rank;

  if (MPI_Comm_rank(PETSC_COMM_WORLD, &rank)) return 1;
  if (!rank) fprintf(HJTestStream(), "1..%d\n", hjtest_count);
  return hjtest_failed ? 1 : 0;
}

/* The last line of main(): the plan of TAP, and the exit code */
static inline PETSC_UNUSED int HJTestEnd(void)
{
  const int code = HJTestDone();

  return PetscFinalize() ? 1 : code;
}

/* Destroys PETSc objects, of which the addresses are given */
#define HJTestDestroy(...) HJTestDestroyObjects((void *[]){__VA_ARGS__, NULL})

static inline PETSC_UNUSED PetscErrorCode HJTestDestroyObjects(void *objects[])
{
  PetscFunctionBegin;
  for (; *objects; objects++) PetscCall(PetscObjectDestroy((PetscObject *)*objects));
  PetscFunctionReturn(PETSC_SUCCESS);
}
