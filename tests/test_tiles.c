/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A backend's sweep() of stale tiles that a GPU holds in registers against a plain loop over the definition in hjcore.h.
   Run with -backend host (default) or cuda; -limits NAME plays a GPU of hjdevices.h.
   once: 1
*/
#include "hjsweepcase.h"

/* Tiles that a GPU holds in registers: lines of 1D grids and of 2D grids cut one point thin, and squares, at widths that fill lanes and
   not; means of neighbours with weights of 1 are kernels of their own */
static PetscErrorCode TestRegisters(const HJBackendOps *ops)
{
  const struct {
    PetscInt dim, n[2], before[2], after[2], tile[2], overlap;
  } cases[] = {
    {1, {1000, 1}, {0, 0}, {0, 0}, {32, 1}, 4},    {1, {777, 1}, {30, 0}, {9, 0}, {200, 1}, 8},
    {1, {90, 1}, {-1, 0}, {-1, 0}, {64, 1}, 0},    {2, {256, 9}, {0, 0}, {0, 0}, {32, 1}, 4},
    {2, {201, 7}, {0, 0}, {0, 0}, {32, 1}, 6},     {2, {130, 6}, {20, 5}, {12, 7}, {32, 1}, 8},
    {2, {96, 8}, {-1, -1}, {-1, -1}, {13, 1}, 2},  {2, {300, 5}, {0, 0}, {0, 0}, {256, 1}, 30},
    {2, {129, 4}, {0, 3}, {0, 0}, {57, 1}, 0},     {2, {130, 120}, {0, 0}, {0, 0}, {32, 32}, 4},
    {2, {101, 97}, {12, 9}, {8, 20}, {32, 32}, 2}, {2, {80, 90}, {-1, 0}, {-1, 0}, {24, 20}, 6},
    {2, {140, 130}, {0, 0}, {0, 0}, {64, 64}, 10}, {2, {100, 130}, {0, 20}, {0, 0}, {30, 61}, 12},
    {2, {333, 250}, {0, 0}, {0, 0}, {32, 32}, 6},  {2, {201, 171}, {0, 0}, {0, 0}, {21, 28}, 8},
    {2, {129, 98}, {0, 0}, {0, 0}, {32, 32}, 0},   {2, {94, 93}, {0, 0}, {0, 0}, {32, 32}, 2},
    {2, {250, 248}, {0, 0}, {0, 0}, {8, 8}, 2},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    for (int kind = 0; kind < (cases[i].tile[1] > 1 ? 4 : 8); kind++) {
      const PetscInt tile[3] = {cases[i].tile[0], cases[i].tile[1], 1};
      HJCase         c       = {.storage = HJ_DICTIONARY, .shape = HJ_STAR, .dim = cases[i].dim};

      c.rows = kind % 2 + (kind / 2 % 2 ? HJ_TEST_MEANS : 0) + (kind / 4 ? HJ_TEST_LINES : 0);
      for (int d = 0; d < 3; d++) {
        c.n[d]      = d < 2 ? cases[i].n[d] : 1;
        c.before[d] = d < 2 ? cases[i].before[d] : 0;
        c.after[d]  = d < 2 ? cases[i].after[d] : 0;
      }
      PetscCall(TestStale(ops, &c, tile, cases[i].overlap));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops = NULL;
  int                 failed;

  PetscCall(SweepBegin(&argc, &argv, &ops));
  if (ops) PetscCall(TestRegisters(ops));
  failed = ops ? HJTestDone() : 0;
  PetscCall(PetscFinalize());
  return failed;
}
