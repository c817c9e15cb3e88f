/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What all benchmarks share: repetitions of one measurement, the CSV and what it says of itself, the time that there is. Each row of a
   CSV names its case in the columns before "repetitions"; bench.sh replaces rows by them.
*/
#pragma once

#include <petscsys.h>

#define MAX_REPETITIONS 64
#define MAX_NAMES       64 /* that an option may list */

typedef struct {
  PetscInt  n;
  PetscReal s[MAX_REPETITIONS];
} Times;

/* -repetitions, if it is given */
static inline PetscErrorCode GetRepetitions(PetscInt *n)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repetitions", n, NULL));
  PetscCheck(*n > 0 && *n <= MAX_REPETITIONS, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repetitions must be from 1 to %d",
             MAX_REPETITIONS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscReal Median(const Times *t)
{
  Times u = *t;

  (void)PetscSortReal(u.n, u.s);
  return u.n % 2 ? u.s[u.n / 2] : (u.s[u.n / 2 - 1] + u.s[u.n / 2]) / 2;
}

/* Largest over smallest, less one */
static inline PetscReal Spread(const Times *t)
{
  Times u = *t;

  (void)PetscSortReal(u.n, u.s);
  return u.s[u.n - 1] / u.s[0] - 1;
}

typedef struct {
  char           commit[64], device[128];
  FILE          *csv;
  PetscLogDouble start, budget; /* seconds; budget 0: no limit */
} Output;

/* Reads -commit, -device, -csv and -budget, and opens the CSV; columns: those after commit, device and petsc */
static inline PetscErrorCode OutputOpen(const char columns[], Output *out)
{
  char      csv[PETSC_MAX_PATH_LEN] = "/dev/null";
  PetscReal budget                  = 0;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(out->commit, "unknown", sizeof(out->commit)));
  PetscCall(PetscStrncpy(out->device, "unknown", sizeof(out->device)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", out->commit, sizeof(out->commit), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", out->device, sizeof(out->device), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-budget", &budget, NULL));
  out->budget = budget;
  out->start  = MPI_Wtime();
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, csv, "w", &out->csv));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, out->csv, "commit,device,petsc,%s\n", columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first columns of a row; the caller prints the rest, and then OutputFlush() keeps what is measured if the run is cut off */
static inline PetscErrorCode OutputRow(MPI_Comm comm, Output *out)
{
  PetscFunctionBegin;
  PetscCall(PetscFPrintf(comm, out->csv, "%s,\"%s\",%d.%d.%d,", out->commit, out->device, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
                         PETSC_VERSION_SUBMINOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode OutputFlush(Output *out)
{
  PetscFunctionBegin;
  if (out->csv) (void)fflush(out->csv); /* the other ranks have none */
  (void)fflush(stdout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there is time to begin a case, which is named where there is not */
static inline PetscErrorCode OutputHasTime(MPI_Comm comm, const Output *out, const char name[], PetscBool *go)
{
  double seconds = MPI_Wtime() - out->start;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, comm));
  *go = (PetscBool)(out->budget <= 0 || seconds < out->budget);
  if (!*go) PetscCall(PetscPrintf(comm, "# %s is left out: %.0f s have passed\n", name, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of n names an option lists, separated by commas; without the option the first ndefault. A word that is none of them is an error */
static inline PetscErrorCode ReadNames(const char option[], PetscInt n, const char *const names[], PetscInt ndefault, PetscBool wanted[])
{
  char     *words[MAX_NAMES], list[2048] = "";
  PetscInt  nwords = MAX_NAMES;
  PetscBool given, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, option, words, &nwords, &given));
  if (!given) nwords = 0;
  for (PetscInt i = 0; i < n; i++) {
    wanted[i] = (PetscBool)(!given && i < ndefault);
    if (i) PetscCall(PetscStrlcat(list, ", ", sizeof(list)));
    PetscCall(PetscStrlcat(list, names[i], sizeof(list)));
  }
  for (PetscInt w = 0; w < nwords; w++) {
    PetscInt i = 0;

    for (same = PETSC_FALSE; i < n && !same; i++) {
      PetscCall(PetscStrcmp(words[w], names[i], &same));
      if (same) wanted[i] = PETSC_TRUE;
    }
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "%s: there is no %s; there are %s", option, words[w], list);
    PetscCall(PetscFree(words[w]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
