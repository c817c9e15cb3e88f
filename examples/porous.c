/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "Flow through porous rock, 2D: div(K grad p) = 0 by finite volumes, p from 1 at the left to 0 at the right, no flow below and above.\n\
K is a smoothed random field whose largest value is 1e6 times the smallest; and K in layers, across the flow and along it, where what\n\
flows is known: the harmonic and the arithmetic mean of K.\n\
  -n <256>             cells in each direction\n\
  -contrast <1e6>      largest K over the smallest\n\
  -smooth <40>         times that each cell of the random field is averaged with its neighbours\n\
  -solution_view binary:<file> -permeability_view binary:<file>   write p and log10(K), for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

typedef enum { ACROSS, ALONG, RANDOM } Rock;

/* From 0 to 1, by the cell alone, so that any number of ranks has the same rock */
static PetscReal Noise(PetscInt i, PetscInt j)
{
  unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ULL + (j + 1) * 0xd1b54a32d192ed03ULL; /* of 64 bits, then mixed as in splitmix64 */

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
  return (PetscReal)((h ^ (h >> 31)) >> 11) / 9007199254740992.0; /* 2^53 */
}

/* log10(K) between 0 and log10(contrast) */
static PetscErrorCode CreateRock(DM da, Rock rock, PetscInt smooth, PetscReal contrast, Vec *logK)
{
  DMDALocalInfo info;
  Vec           local;
  PetscScalar **g, **l;
  PetscReal     min, max;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMCreateGlobalVector(da, logK));
  PetscCall(DMCreateLocalVector(da, &local));
  for (PetscInt pass = 0; pass <= (rock == RANDOM ? smooth : 0); pass++) {
    PetscCall(DMGlobalToLocal(da, *logK, INSERT_VALUES, local));
    PetscCall(DMDAVecGetArrayRead(da, local, &l));
    PetscCall(DMDAVecGetArray(da, *logK, &g));
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        if (pass == 0) g[j][i] = rock == ACROSS ? Noise(i, 7) : rock == ALONG ? Noise(7, j) : Noise(i, j);
        else
          g[j][i] = (4 * l[j][i] + l[j][PetscMax(i - 1, 0)] + l[j][PetscMin(i + 1, info.mx - 1)] + l[PetscMax(j - 1, 0)][i] +
                     l[PetscMin(j + 1, info.my - 1)][i]) /
                    8;
      }
    }
    PetscCall(DMDAVecRestoreArray(da, *logK, &g));
    PetscCall(DMDAVecRestoreArrayRead(da, local, &l));
  }
  PetscCall(VecMin(*logK, NULL, &min));
  PetscCall(VecMax(*logK, NULL, &max));
  PetscCall(VecShift(*logK, -min));
  PetscCall(VecScale(*logK, PetscLog10Real(contrast) / (max - min)));
  PetscCall(VecDestroy(&local));
  PetscFunctionReturn(0);
}

/* A face lets through the harmonic mean of the cells beside it; the walls at the left and right are half a cell away */
static PetscErrorCode Discretise(DM da, Vec logK, Mat A, Vec b)
{
  const PetscInt offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  DMDALocalInfo  info;
  Vec            local;
  PetscScalar  **l, **rhs;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMCreateLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, logK, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &l));
  PetscCall(DMDAVecGetArray(da, b, &rhs));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil      row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar     v[5] = {0};
      const PetscReal here = PetscPowReal(10, l[j][i]);
      PetscInt        n    = 1;

      rhs[j][i] = i == 0 ? 2 * here : 0;
      for (int f = 0; f < 4; f++) {
        const PetscInt p = i + offsets[f][0], q = j + offsets[f][1];

        if (q < 0 || q >= info.my) continue;
        if (p < 0 || p >= info.mx) {
          v[0] += 2 * here;
        } else {
          v[n]   = -2 / (1 / here + PetscPowReal(10, -l[q][p]));
          col[n] = (MatStencil){.i = p, .j = q};
          v[0] -= v[n++];
        }
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArray(da, b, &rhs));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &l));
  PetscCall(VecDestroy(&local));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* What flows in at the left and out at the right, each as the K of an even rock that lets as much through */
static PetscErrorCode Flow(DM da, Vec logK, Vec p, PetscReal flow[2])
{
  DMDALocalInfo info;
  PetscScalar **l, **x;
  PetscReal     mine[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, logK, &l));
  PetscCall(DMDAVecGetArrayRead(da, p, &x));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    if (info.xs == 0) mine[0] += 2 * PetscPowReal(10, l[j][0]) * (1 - x[j][0]);
    if (info.xs + info.xm == info.mx) mine[1] += 2 * PetscPowReal(10, l[j][info.mx - 1]) * x[j][info.mx - 1];
  }
  PetscCall(DMDAVecRestoreArrayRead(da, p, &x));
  PetscCall(DMDAVecRestoreArrayRead(da, logK, &l));
  PetscCallMPI(MPI_Allreduce(mine, flow, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* means: harmonic, arithmetic */
static PetscErrorCode Means(Vec logK, PetscReal means[2])
{
  const PetscScalar *l;
  PetscInt           n, N;
  PetscReal          mine[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(logK, &N));
  PetscCall(VecGetLocalSize(logK, &n));
  PetscCall(VecGetArrayRead(logK, &l));
  for (PetscInt i = 0; i < n; i++) {
    mine[0] += PetscPowReal(10, -l[i]) / N;
    mine[1] += PetscPowReal(10, l[i]) / N;
  }
  PetscCall(VecRestoreArrayRead(logK, &l));
  PetscCallMPI(MPI_Allreduce(mine, means, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  means[0] = 1 / means[0];
  PetscFunctionReturn(0);
}

/* A kind of rock; what flows must be the mean for layers, lie between the means for the random field, and leave as it enters */
static PetscErrorCode Run(DM da, Rock rock, PetscInt smooth, PetscReal contrast, PetscBool *right)
{
  const char    *names[] = {"across", "along", "random"};
  Mat            A;
  Vec            logK, b, p;
  KSP            ksp;
  PetscInt       its, n;
  PetscReal      flow[2], means[2], error;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(CreateRock(da, rock, smooth, contrast, &logK));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatCreateVecs(A, &p, &b));
  PetscCall(Discretise(da, logK, A, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSolve(ksp, b, p));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Flow(da, logK, p, flow));
  PetscCall(Means(logK, means));
  error = PetscAbsReal(flow[1] / flow[0] - 1);
  PetscCall(VecGetSize(p, &n));
  n = (PetscInt)(PetscSqrtReal((PetscReal)n) + 0.5);
  if (rock == RANDOM) *right = (PetscBool)(*right && means[0] < flow[0] && flow[0] < means[1]);
  else error = PetscMax(error, PetscAbsReal(flow[0] / means[rock] - 1));
  *right = (PetscBool)(*right && error < 1e-4);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: K %.8g, means %.8g and %.8g, error %.1e\n", names[rock], (double)flow[0], (double)means[0],
                        (double)means[1], (double)error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "porous-%s %" PetscInt_FMT "x%" PetscInt_FMT ": 1 solves, %" PetscInt_FMT " iterations, %.3f s, answer %.8e, %s\n",
                        names[rock], n, n, its, end - begin, (double)flow[0], *right ? "right" : "WRONG"));
  if (rock == RANDOM) {
    PetscCall(VecViewFromOptions(p, NULL, "-solution_view"));
    PetscCall(VecViewFromOptions(logK, NULL, "-permeability_view"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&logK));
  PetscCall(VecDestroy(&p));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM        da;
  PetscInt  n = 256, smooth = 40;
  PetscReal contrast = 1e6;
  PetscBool right    = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-smooth", &smooth, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  for (Rock rock = ACROSS; rock <= RANDOM; rock++) PetscCall(Run(da, rock, smooth, contrast, &right));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
