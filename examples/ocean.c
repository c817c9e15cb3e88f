/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "Surface of an ocean with land, on a sphere: (area / (g dt^2) + A) eta = b, where A is -div(depth grad) by finite volumes on longitudes\n\
and latitudes, and no water flows into land, whose rows are those of the identity. First with a time step of a day, nearly a rigid lid,\n\
and a right-hand side whose answer is known; then a tsunami in implicit steps, which must keep its volume.\n\
  -n <180>          cells between the latitudes 78 S and 78 N; twice as many around\n\
  -steps <24> -dt <1800>   of the tsunami, in seconds\n\
  -solution_view binary:<file> -depth_view binary:<file>   write surface and depth, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

static const PetscReal radius = 6.371e6, gravity = 9.81, north = 78 * PETSC_PI / 180, day = 86400;

/* Continents of an imagined planet: longitude, latitude, and half their extents, in degrees */
static const PetscReal continents[][4] = {{-100, 50, 35, 22}, {-60, -12, 20, 30}, {20, 5, 22, 32},   {15, 55, 28, 14},
                                          {95, 52, 50, 22},   {135, -25, 18, 12}, {0, -84, 400, 14}, {-42, 72, 14, 10}};

static PetscReal Latitude(const DMDALocalInfo *info, PetscReal j)
{
  return -north + 2 * north * (j + 0.5) / info->my;
}

/* Depth in m of cell (i, j); 0 on land and beyond the northern and southern ends */
static PetscReal Depth(const DMDALocalInfo *info, PetscInt i, PetscInt j)
{
  const PetscReal lon = 360 * (i + 0.5) / info->mx - 180, lat = Latitude(info, j) * 180 / PETSC_PI;
  const PetscReal coast  = 0.12 * (PetscSinReal(lon / 4) * PetscCosReal(lat / 3) + PetscSinReal(lon / 1.7 + lat / 2.3));
  PetscReal       height = 0, depth;

  if (j < 0 || j >= info->my) return 0;
  for (size_t c = 0; c < sizeof(continents) / sizeof(continents[0]); c++) {
    PetscReal east = PetscAbsReal(lon - continents[c][0]);

    east = PetscMin(east, 360 - east) / continents[c][2];
    height += PetscExpReal(-PetscSqr(east) - PetscSqr((lat - continents[c][1]) / continents[c][3]));
  }
  depth = 5000 * (1 - (1 + coast) * height / 0.45);
  return depth < 20 ? 0 : depth;
}

/* Depth of the face to a neighbour times the face's length over the distance */
static PetscReal Coupling(const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt east, PetscInt up)
{
  const PetscReal here = Depth(info, i, j), there = Depth(info, (i + east + info->mx) % info->mx, j + up);
  const PetscReal dx = PetscCosReal(Latitude(info, j + 0.5 * up)) * 2 * PETSC_PI / info->mx, dy = 2 * north / info->my;

  if (here == 0 || there == 0) return 0;
  return PetscMin(here, there) * (east ? dy / dx : dx / dy);
}

static PetscReal Area(const DMDALocalInfo *info, PetscInt j)
{
  return PetscSqr(radius) * PetscCosReal(Latitude(info, j)) * (2 * PETSC_PI / info->mx) * (2 * north / info->my);
}

/* storage: area / (g dt^2) of water, 0 on land */
static PetscErrorCode Discretise(DM da, PetscReal dt, Mat A, Vec storage)
{
  const PetscInt offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  DMDALocalInfo  info;
  PetscScalar  **s;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, storage, &s));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar v[5];
      PetscInt    n = 1;

      s[j][i] = Depth(&info, i, j) > 0 ? Area(&info, j) / (gravity * dt * dt) : 0;
      v[0]    = Depth(&info, i, j) > 0 ? s[j][i] : 1;
      for (int d = 0; d < 4; d++) {
        if (j + offsets[d][1] < 0 || j + offsets[d][1] >= info.my) continue;
        v[n]   = -Coupling(&info, i, j, offsets[d][0], offsets[d][1]);
        col[n] = (MatStencil){.i = i + offsets[d][0], .j = j + offsets[d][1]}; /* -1 and mx are columns of a periodic grid */
        v[0] -= v[n++];
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArray(da, storage, &s));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* A hump 10 m high in the middle of the widest ocean, or waves everywhere; 0 on land. depth: of each cell, or NULL */
static PetscErrorCode Surface(DM da, PetscBool hump, Vec eta, Vec depth)
{
  DMDALocalInfo info;
  PetscScalar **e, **d = NULL;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, eta, &e));
  if (depth) PetscCall(DMDAVecGetArray(da, depth, &d));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal lon = 360 * (i + 0.5) / info.mx - 180, lat = Latitude(&info, j) * 180 / PETSC_PI;
      const PetscReal waves = 1 + PetscSinReal(lon * PETSC_PI / 45) * PetscCosReal(lat * PETSC_PI / 30);

      e[j][i] = hump ? 10 * PetscExpReal(-PetscSqr((lon + 150) / 6) - PetscSqr((lat - 5) / 6)) : waves;
      if (Depth(&info, i, j) == 0) e[j][i] = 0;
      if (d) d[j][i] = Depth(&info, i, j);
    }
  }
  if (depth) PetscCall(DMDAVecRestoreArray(da, depth, &d));
  PetscCall(DMDAVecRestoreArray(da, eta, &e));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(DM da, PetscReal dt, Mat *A, Vec storage, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(Discretise(da, dt, *A, storage));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Print(DM da, const char name[], PetscInt solves, PetscInt its, PetscReal seconds, PetscReal answer, PetscReal error,
                            PetscBool right)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "ocean-%s %" PetscInt_FMT "x%" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT
                        " iterations, %.3f s, answer %.8e, %s, error %.1e\n",
                        name, info.mx, info.my, solves, its, (double)seconds, (double)answer, right ? "right" : "WRONG", (double)error));
  PetscFunctionReturn(0);
}

static PetscErrorCode Lid(DM da, PetscBool *right)
{
  Mat            A;
  Vec            storage, known, b, eta;
  KSP            ksp;
  PetscInt       its;
  PetscReal      error, norm;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &eta));
  PetscCall(VecDuplicate(eta, &storage));
  PetscCall(VecDuplicate(eta, &known));
  PetscCall(VecDuplicate(eta, &b));
  PetscCall(CreateSolver(da, day, &A, storage, &ksp));
  PetscCall(Surface(da, PETSC_FALSE, known, NULL));
  PetscCall(MatMult(A, known, b));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSolve(ksp, b, eta));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecAXPY(known, -1.0, eta));
  PetscCall(VecNorm(known, NORM_INFINITY, &error));
  PetscCall(VecNorm(eta, NORM_2, &norm));
  *right = (PetscBool)(error < 1e-4);
  PetscCall(Print(da, "lid", 1, its, end - begin, norm, error, *right));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&storage));
  PetscCall(VecDestroy(&known));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&eta));
  PetscFunctionReturn(0);
}

/* (eta - 2 before + before that) / dt^2 = g div(depth grad eta), from rest */
static PetscErrorCode Tsunami(DM da, PetscInt steps, PetscReal dt, PetscBool *right)
{
  Mat            A;
  Vec            storage, eta, before, b, depth;
  KSP            ksp;
  PetscInt       its, total = 0;
  PetscScalar    volume[2];
  PetscReal      norm, error, seconds = 0;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &eta));
  PetscCall(VecDuplicate(eta, &storage));
  PetscCall(VecDuplicate(eta, &depth));
  PetscCall(VecDuplicate(eta, &before));
  PetscCall(VecDuplicate(eta, &b));
  PetscCall(CreateSolver(da, dt, &A, storage, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(Surface(da, PETSC_TRUE, eta, depth));
  PetscCall(VecCopy(eta, before));
  PetscCall(VecDot(storage, eta, &volume[0]));
  for (PetscInt step = 0; step < steps; step++) {
    PetscCall(VecAXPBY(before, 2.0, -1.0, eta));
    PetscCall(VecPointwiseMult(b, storage, before));
    PetscCall(VecCopy(eta, before));
    PetscCall(PetscTime(&begin));
    PetscCall(KSPSolve(ksp, b, eta));
    PetscCall(PetscTime(&end));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    seconds += end - begin;
    total += its;
  }
  PetscCall(VecDot(storage, eta, &volume[1]));
  PetscCall(VecNorm(eta, NORM_2, &norm));
  error  = PetscAbsReal(volume[1] / volume[0] - 1);
  *right = (PetscBool)(error < 1e-5);
  PetscCall(Print(da, "tsunami", steps, total, seconds, norm, error, *right));
  PetscCall(VecViewFromOptions(eta, NULL, "-solution_view"));
  PetscCall(VecViewFromOptions(depth, NULL, "-depth_view"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&storage));
  PetscCall(VecDestroy(&depth));
  PetscCall(VecDestroy(&before));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&eta));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM        da;
  PetscInt  n = 180, steps = 24;
  PetscReal dt       = 1800;
  PetscBool right[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &dt, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 2 * n, n, PETSC_DECIDE, PETSC_DECIDE,
                         1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(Lid(da, &right[0]));
  PetscCall(Tsunami(da, steps, dt, &right[1]));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return right[0] && right[1] ? 0 : 1;
}
