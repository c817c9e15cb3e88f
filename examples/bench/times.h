/* Repetitions of one measurement, as all benchmarks report them */
#pragma once

#include <petscsys.h>

#define MAX_REPETITIONS 64

typedef struct {
  PetscInt  n;
  PetscReal s[MAX_REPETITIONS];
} Times;

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
