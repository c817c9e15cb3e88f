/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "Smooths a noisy image but not over its edges: (1 + strength L) u = f, where L couples neighbours by exp(-(difference / 0.03)^2) of\n\
a clean guide, or 1e-12 where that is less. Regions of the guide hardly exchange anything, so that each keeps its mean.\n\
  -n <512>          pixels in each direction\n\
  -strength <100>\n\
  -solution_view binary:<file> -noisy_view binary:<file>   write images, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

#define REGIONS 5

static const PetscReal grey[REGIONS] = {0.2, 0.9, 0.6, 0.75, 0.4};

/* From -1 to 1, by the pixel alone, so that any number of ranks has the same image */
static PetscReal Noise(PetscInt i, PetscInt j)
{
  unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ULL + (j + 1) * 0xd1b54a32d192ed03ULL; /* of 64 bits, then mixed as in splitmix64 */

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
  return 2 * (PetscReal)((h ^ (h >> 31)) >> 11) / 9007199254740992.0 - 1; /* 2^53 */
}

/* Ground, a disc, a ring, a tilted stripe, a square that meets it */
static int Region(PetscInt n, PetscInt i, PetscInt j)
{
  const PetscReal x = (i + 0.5) / n, y = (j + 0.5) / n, r = PetscSqrtReal(PetscSqr(x - 0.3) + PetscSqr(y - 0.65));

  if (r < 0.1) return 1;
  if (r > 0.15 && r < 0.22) return 2;
  if (PetscAbsReal(y - 0.2 - 0.3 * x) < 0.03) return 3;
  return x > 0.6 && x < 0.9 && y > 0.5 && y < 0.8 ? 4 : 0;
}

static PetscReal Weight(PetscInt n, PetscInt i, PetscInt j, PetscInt p, PetscInt q)
{
  const PetscReal difference = grey[Region(n, i, j)] - grey[Region(n, p, q)];

  return PetscMax(PetscExpReal(-PetscSqr(difference / 0.03)), 1e-12);
}

static PetscErrorCode Discretise(DM da, PetscReal strength, Mat A, Vec f)
{
  const PetscInt offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  DMDALocalInfo  info;
  PetscScalar  **image;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, f, &image));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar v[5] = {1};
      PetscInt    n    = 1;

      image[j][i] = grey[Region(info.mx, i, j)] + 0.3 * Noise(i, j);
      for (int d = 0; d < 4; d++) {
        const PetscInt p = i + offsets[d][0], q = j + offsets[d][1];

        if (p < 0 || p >= info.mx || q < 0 || q >= info.my) continue;
        v[n]   = -strength * Weight(info.mx, i, j, p, q);
        col[n] = (MatStencil){.i = p, .j = q};
        v[0] -= v[n++];
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArray(da, f, &image));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* mean of each region, and its deviation from that: noise, since the guide is even there */
static PetscErrorCode Statistics(DM da, Vec x, PetscReal mean[REGIONS], PetscReal *noise)
{
  DMDALocalInfo info;
  PetscScalar **image;
  PetscReal     mine[3 * REGIONS] = {0}, sums[3 * REGIONS], squares = 0, pixels = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, x, &image));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const int region = Region(info.mx, i, j);

      mine[region]++;
      mine[REGIONS + region] += image[j][i];
      mine[2 * REGIONS + region] += PetscSqr(image[j][i]);
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, x, &image));
  PetscCallMPI(MPI_Allreduce(mine, sums, 3 * REGIONS, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  for (int region = 0; region < REGIONS; region++) {
    mean[region] = sums[REGIONS + region] / sums[region];
    squares += sums[2 * REGIONS + region] - sums[region] * PetscSqr(mean[region]);
    pixels += sums[region];
  }
  *noise = PetscSqrtReal(squares / pixels);
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM             da;
  Mat            A;
  Vec            f, u;
  KSP            ksp;
  PetscInt       n        = 512, its;
  PetscReal      strength = 100, before[REGIONS], after[REGIONS], noise[2], error = 0;
  PetscLogDouble begin, end;
  PetscBool      right;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-strength", &strength, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatCreateVecs(A, &u, &f));
  PetscCall(Discretise(da, strength, A, f));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Statistics(da, f, before, &noise[0]));
  PetscCall(Statistics(da, u, after, &noise[1]));
  for (int region = 0; region < REGIONS; region++) error = PetscMax(error, PetscAbsReal(after[region] - before[region]));
  right = (PetscBool)(error < 1e-6 && noise[1] < 0.2 * noise[0]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "noise %.4f before, %.4f after; largest change of a region's mean %.1e\n", (double)noise[0],
                        (double)noise[1], (double)error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "image %" PetscInt_FMT "x%" PetscInt_FMT ": 1 solves, %" PetscInt_FMT " iterations, %.3f s, answer %.8e, %s\n", n,
                        n, its, end - begin, (double)noise[1], right ? "right" : "WRONG"));
  PetscCall(VecViewFromOptions(u, NULL, "-solution_view"));
  PetscCall(VecViewFromOptions(f, NULL, "-noisy_view"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
