/*
   TAP for test programs: each check is collective, rank 0 prints. Nothing else writes to standard output.
*/
#pragma once

#include <petscsys.h>
#include <stdarg.h>
#include "../src/core/hjcompat.h"

static int hjtest_count = 0, hjtest_failed = 0;

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
  if (!rank) printf("%s %d - %s\n", all ? "ok" : "not ok", hjtest_count, name);
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

/* Returns the exit code of the program; call before PetscFinalize() */
static inline PETSC_UNUSED int HJTestDone(void)
{
  PetscMPIInt rank;

  if (MPI_Comm_rank(PETSC_COMM_WORLD, &rank)) return 1;
  if (!rank) printf("1..%d\n", hjtest_count);
  fflush(stdout);
  return hjtest_failed ? 1 : 0;
}
