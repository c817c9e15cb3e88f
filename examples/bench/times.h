/* Repetitions of one measurement, as all benchmarks report them */
#pragma once

#include <petscsys.h>

#define MAX_REPETITIONS 64

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
