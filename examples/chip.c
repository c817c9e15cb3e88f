/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Heat in a chip of several materials, 3D, by finite volumes: first steady and heated evenly, which has a known answer, then\n\
hot spots in implicit time steps, whose heat must balance.\n\
  -m <4>          the grid has 20 m x 20 m x 6 m cells\n\
  -steps <20>     time steps\n\
  -dt <0.05>      seconds of one\n\
  -solution_view binary:<file>   writes the temperature, for examples/pictures.py\n";

/* From below: board, silicon die in a mould, paste, copper. The top is cooled, all other sides are insulated; temperatures above the air */
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

typedef struct {
  PetscReal k, heat; /* W / (m K), J / (m^3 K) */
} Material;

static const Material  board = {0.3, 1.8e6}, silicon = {148, 1.66e6}, mould = {0.8, 1.7e6}, paste = {4, 2.5e6}, copper = {398, 3.45e6};
static const PetscReal side = 0.020, thickness[4] = {0.001, 0.0005, 0.0005, 0.001}, cooling = 5000 /* W / (m^2 K) */, power = 60 /* W */;

typedef struct {
  PetscInt       cells[3];
  PetscReal      d[3];
  PetscBool      even; /* silicon everywhere in its layer, heated evenly */
  PetscLogDouble seconds;
  PetscInt       iterations;
} Chip;

static PetscInt Layer(const Chip *chip, PetscInt k)
{
  PetscReal z     = (k + 0.5) * chip->d[2];
  PetscInt  layer = 0;

  while (layer < 3 && z > thickness[layer]) z -= thickness[layer++];
  return layer;
}

static Material CellMaterial(const Chip *chip, const PetscInt at[3])
{
  const Material  layers[4] = {board, silicon, paste, copper};
  const PetscInt  layer     = Layer(chip, at[2]);
  const PetscReal x = (at[0] + 0.5) / chip->cells[0], y = (at[1] + 0.5) / chip->cells[1];

  if (layer == 1 && !chip->even && PetscMax(PetscAbsReal(x - 0.5), PetscAbsReal(y - 0.5)) > 0.3) return mould;
  return layers[layer];
}

/* Two cores and a wide stripe of the die, or all of it */
static PetscBool IsHeated(const Chip *chip, const PetscInt at[3])
{
  const PetscReal x = (at[0] + 0.5) / chip->cells[0], y = (at[1] + 0.5) / chip->cells[1];

  if (Layer(chip, at[2]) != 1) return PETSC_FALSE;
  if (chip->even) return PETSC_TRUE;
  if (y > 0.6 && y < 0.7) return (PetscBool)((x > 0.3 && x < 0.4) || (x > 0.55 && x < 0.65));
  return (PetscBool)(y > 0.3 && y < 0.4 && x > 0.25 && x < 0.75);
}

/* W / K between a cell and its neighbour in direction dir, or the air */
static PetscReal Conductance(const Chip *chip, const PetscInt at[3], PetscInt dir, PetscInt step)
{
  const PetscReal area = chip->d[0] * chip->d[1] * chip->d[2] / chip->d[dir], half = 0.5 * chip->d[dir];
  PetscInt        to[3] = {at[0], at[1], at[2]};

  to[dir] += step;
  if (to[dir] >= 0 && to[dir] < chip->cells[dir]) return area / (half / CellMaterial(chip, at).k + half / CellMaterial(chip, to).k);
  return dir == 2 && step > 0 ? area / (half / CellMaterial(chip, at).k + 1 / cooling) : 0;
}

/* A: conduction, and heat stored by a step where dt is not 0. heat: J / K of each cell. source: W into each */
static PetscErrorCode Discretise(Chip *chip, DM da, PetscReal dt, Mat A, Vec heat, Vec source)
{
  DMDALocalInfo  info;
  PetscScalar ***c, ***q, heated;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, heat, &c));
  PetscCall(DMDAVecGetArray(da, source, &q));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt at[3] = {i, j, k};
        MatStencil     row   = {.i = i, .j = j, .k = k}, col[7];
        PetscScalar    v[7];
        PetscInt       n = 1;

        c[k][j][i] = CellMaterial(chip, at).heat * chip->d[0] * chip->d[1] * chip->d[2];
        q[k][j][i] = IsHeated(chip, at);
        col[0]     = row;
        v[0]       = dt > 0 ? c[k][j][i] / dt : 0;
        for (PetscInt dir = 0; dir < 3; dir++) {
          for (PetscInt step = -1; step <= 1; step += 2) {
            const PetscReal g    = Conductance(chip, at, dir, step);
            const PetscInt  next = at[dir] + step;

            v[0] += g;
            if (next < 0 || next >= chip->cells[dir]) continue;
            col[n] = (MatStencil){.i = i + (dir == 0) * step, .j = j + (dir == 1) * step, .k = k + (dir == 2) * step};
            v[n++] = -g;
          }
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(da, source, &q));
  PetscCall(DMDAVecRestoreArray(da, heat, &c));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecSum(source, &heated));
  PetscCall(VecScale(source, power / heated));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(Chip *chip, KSP ksp, Vec b, Vec x)
{
  PetscLogDouble begin, end;
  PetscInt       its;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  chip->seconds += end - begin;
  chip->iterations += its;
  PetscFunctionReturn(0);
}

/* What the cooled top takes away, W */
static PetscErrorCode Cooled(const Chip *chip, DM da, Vec T, PetscReal *watt)
{
  DMDALocalInfo  info;
  PetscScalar ***t;
  PetscReal      mine = 0;
  const PetscInt top  = chip->cells[2] - 1;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, T, &t));
  for (PetscInt j = info.ys; j < info.ys + info.ym && info.zs + info.zm > top; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) mine += Conductance(chip, (PetscInt[3]){i, j, top}, 2, 1) * t[top][j][i];
  }
  PetscCall(DMDAVecRestoreArrayRead(da, T, &t));
  PetscCallMPI(MPI_Allreduce(&mine, watt, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* One matrix for all steps, each a solve that begins with the temperature before it; dt 0: the steady state, in one */
static PetscErrorCode Run(Chip *chip, DM da, PetscInt steps, PetscReal dt, Vec T, PetscReal *unbalanced)
{
  Mat         A;
  KSP         ksp;
  Vec         heat, source, b;
  PetscReal   watt, out = 0, in = power * (dt > 0 ? steps * dt : 1);
  PetscScalar stored;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(VecDuplicate(T, &heat));
  PetscCall(VecDuplicate(T, &source));
  PetscCall(VecDuplicate(T, &b));
  PetscCall(Discretise(chip, da, dt, A, heat, source));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(T, 0.0));
  for (PetscInt step = 0; step < steps; step++) {
    PetscCall(VecPointwiseMult(b, heat, T));
    PetscCall(VecScale(b, dt > 0 ? 1 / dt : 0));
    PetscCall(VecAXPY(b, 1.0, source));
    PetscCall(Solve(chip, ksp, b, T));
    PetscCall(Cooled(chip, da, T, &watt));
    out += watt * (dt > 0 ? dt : 1);
  }
  PetscCall(VecDot(heat, T, &stored));
  *unbalanced = PetscAbsReal(in - out - (dt > 0 ? PetscRealPart(stored) : 0)) / in;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&heat));
  PetscCall(VecDestroy(&source));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const PetscReal flux = power / (side * side), total = 0.003;
  /* Below the die nothing flows; in it the flux grows from nothing to all */
  const PetscReal expected = flux * (thickness[1] / (2 * silicon.k) + thickness[2] / paste.k + thickness[3] / copper.k + 1 / cooling);
  Chip            chip     = {.even = PETSC_TRUE};
  DM              da;
  Vec             T;
  PetscInt        m = 4, steps = 20;
  PetscReal       dt = 0.05, hottest, error, unbalanced[2];
  PetscBool       right;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &dt, NULL));
  for (int d = 0; d < 3; d++) {
    chip.cells[d] = (d < 2 ? 20 : 6) * m;
    chip.d[d]     = (d < 2 ? side : total) / chip.cells[d];
  }
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, chip.cells[0],
                         chip.cells[1], chip.cells[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &T));
  PetscCall(Run(&chip, da, 1, 0, T, &unbalanced[0]));
  PetscCall(VecMax(T, NULL, &hottest));
  error = PetscAbsReal(hottest / expected - 1);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "heated evenly: %.6f K, by hand %.6f, heat lost %.1e\n", (double)hottest, (double)expected,
                        (double)unbalanced[0]));
  chip.even = PETSC_FALSE;
  PetscCall(Run(&chip, da, steps, dt, T, &unbalanced[1]));
  PetscCall(VecMax(T, NULL, &hottest));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "hot spots after %g s: %.6f K, heat lost %.1e\n", (double)(steps * dt), (double)hottest,
                        (double)unbalanced[1]));
  PetscCall(VecViewFromOptions(T, NULL, "-solution_view"));
  right = (PetscBool)(error < 1e-3 && unbalanced[0] < 1e-5 && unbalanced[1] < 1e-5);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "chip %" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT
                        " iterations, %.3f s, answer %.8e, %s\n",
                        chip.cells[0], chip.cells[1], chip.cells[2], steps + 1, chip.iterations, chip.seconds, (double)hottest,
                        right ? "right" : "WRONG"));
  PetscCall(VecDestroy(&T));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
