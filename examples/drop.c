/* SPDX-License-Identifier: BSD-2-Clause */
static char help
  [] = "A drop of water falls through air into a pool, 2D: incompressible flow with a density of 816 : 1 by projection. Each time step\n\
solves div(1/density grad p) = div(u) / dt with new values. In the first step the drop, a cylinder, must fall with\n\
g (816 - 1) / (816 + 1), as the air that it moves weighs too; after each step no cell may lose volume.\n\
  -n <128>       cells in each direction, of a box of 4 cm; all walls are closed\n\
  -steps <200>   time steps, of at most -dt <0.0005> s\n\
  -every <1>     steps after which the preconditioner is made anew; between them the old one serves\n\
  -frames <4>    with -solution_view binary:<file>::append: writes the interface so many times, for examples/pictures.py\n";

/* Velocities lie on faces: u at the left of a cell, v below it. phi is the distance to the water's surface, positive in water. All three
   take the value from where the flow was one step before, less than a cell away (semi-Lagrangian, first order), without viscosity and
   surface tension */
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

typedef struct {
  PetscScalar u, v, phi;
} Cell;

static const PetscReal box = 0.04, drop = 0.006, pool = 0.01, height = 0.024, gravity = 9.81, heavy = 816, light = 1;

typedef struct {
  DMDALocalInfo info;
  PetscReal     h;
  Cell        **at; /* with the neighbours of other ranks */
} Flow;

static PetscInt Inside(PetscInt i, PetscInt n)
{
  return PetscMax(0, PetscMin(i, n - 1));
}

/* Nothing flows through walls, and along them without friction */
static PetscReal U(const Flow *f, PetscInt i, PetscInt j)
{
  return i <= 0 || i >= f->info.mx ? 0 : f->at[Inside(j, f->info.my)][i].u;
}

static PetscReal V(const Flow *f, PetscInt i, PetscInt j)
{
  return j <= 0 || j >= f->info.my ? 0 : f->at[j][Inside(i, f->info.mx)].v;
}

static PetscReal Phi(const Flow *f, PetscInt i, PetscInt j)
{
  return f->at[Inside(j, f->info.my)][Inside(i, f->info.mx)].phi;
}

/* Bilinear, x and y cells away from (i, j), each at most one */
static PetscReal Away(PetscReal (*value)(const Flow *, PetscInt, PetscInt), const Flow *f, PetscInt i, PetscInt j, PetscReal x, PetscReal y)
{
  const PetscInt  p = i + (x > 0 ? 1 : -1), q = j + (y > 0 ? 1 : -1);
  const PetscReal a = PetscAbsReal(x), b = PetscAbsReal(y);

  return (1 - b) * ((1 - a) * value(f, i, j) + a * value(f, p, j)) + b * ((1 - a) * value(f, i, q) + a * value(f, p, q));
}

/* Over one cell around the surface the density goes from one to the other */
static PetscReal Density(const Flow *f, PetscInt i, PetscInt j)
{
  const PetscReal water = PetscMax(0, PetscMin(1, 0.5 + Phi(f, i, j) / f->h));

  return light + (heavy - light) * water;
}

/* Cells on both sides of a face; dir 0: left of the cell, 1: below */
static PetscReal Lightness(const Flow *f, PetscInt i, PetscInt j, int dir)
{
  return 2 / (Density(f, i, j) + Density(f, i - (dir == 0), j - (dir == 1)));
}

static PetscErrorCode GetFlow(DM da, Vec fields, Vec local, Flow *f)
{
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &f->info));
  f->h = box / f->info.mx;
  PetscCall(DMGlobalToLocal(da, fields, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArray(da, local, &f->at));
  PetscFunctionReturn(0);
}

static PetscErrorCode Begin(DM da, Vec fields)
{
  DMDALocalInfo info;
  Cell        **to;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, fields, &to));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal x = (i + 0.5) * box / info.mx, y = (j + 0.5) * box / info.my;
      const PetscReal r = PetscSqrtReal(PetscSqr(x - box / 2) + PetscSqr(y - height));

      to[j][i] = (Cell){.phi = PetscMax(drop - r, pool - y)};
    }
  }
  PetscCall(DMDAVecRestoreArray(da, fields, &to));
  PetscFunctionReturn(0);
}

/* Moves everything, and lets it fall */
static PetscErrorCode Move(DM da, PetscReal dt, Vec local, Vec fields)
{
  Flow   f;
  Cell **to;

  PetscFunctionBeginUser;
  PetscCall(GetFlow(da, fields, local, &f));
  PetscCall(DMDAVecGetArray(da, fields, &to));
  for (PetscInt j = f.info.ys; j < f.info.ys + f.info.ym; j++) {
    for (PetscInt i = f.info.xs; i < f.info.xs + f.info.xm; i++) {
      const PetscReal c = -dt / f.h, u = U(&f, i, j), v = V(&f, i, j), right = U(&f, i + 1, j), up = V(&f, i, j + 1);
      const PetscReal v_of_u = (v + up + V(&f, i - 1, j) + V(&f, i - 1, j + 1)) / 4,
                      u_of_v = (u + right + U(&f, i, j - 1) + U(&f, i + 1, j - 1)) / 4;

      to[j][i].u   = i > 0 ? Away(U, &f, i, j, c * u, c * v_of_u) : 0;
      to[j][i].v   = j > 0 ? Away(V, &f, i, j, c * u_of_v, c * v) - dt * gravity : 0;
      to[j][i].phi = Away(Phi, &f, i, j, c * (u + right) / 2, c * (v + up) / 2);
    }
  }
  PetscCall(DMDAVecRestoreArray(da, fields, &to));
  PetscCall(DMDAVecRestoreArray(da, local, &f.at));
  PetscFunctionReturn(0);
}

/* What flows out of a cell, over its width */
static PetscReal Outflow(const Flow *f, PetscInt i, PetscInt j)
{
  return U(f, i + 1, j) - U(f, i, j) + V(f, i, j + 1) - V(f, i, j);
}

static PetscErrorCode Discretise(DM da, Vec fields, Vec local, PetscReal dt, DM pressure, Mat A, Vec b)
{
  Flow          f;
  PetscScalar **rhs;

  PetscFunctionBeginUser;
  PetscCall(GetFlow(da, fields, local, &f));
  PetscCall(DMDAVecGetArray(pressure, b, &rhs));
  for (PetscInt j = f.info.ys; j < f.info.ys + f.info.ym; j++) {
    for (PetscInt i = f.info.xs; i < f.info.xs + f.info.xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar v[5] = {0};
      PetscInt    n    = 1;

      for (int face = 0; face < 4; face++) {
        const int      dir = face / 2, side = face % 2;
        const PetscInt p = i + (dir == 0) * (2 * side - 1), q = j + (dir == 1) * (2 * side - 1);

        if (p < 0 || p >= f.info.mx || q < 0 || q >= f.info.my) continue;
        v[n]   = side ? -Lightness(&f, p, q, dir) : -Lightness(&f, i, j, dir);
        col[n] = (MatStencil){.i = p, .j = q};
        v[0] -= v[n++];
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
      rhs[j][i] = -f.h / dt * Outflow(&f, i, j);
    }
  }
  PetscCall(DMDAVecRestoreArray(pressure, b, &rhs));
  PetscCall(DMDAVecRestoreArray(da, local, &f.at));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode Project(DM da, Vec fields, Vec local, PetscReal dt, DM pressure, Vec p)
{
  Flow          f;
  Vec           p_local;
  PetscScalar **x;
  Cell        **to;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(pressure, &p_local));
  PetscCall(DMGlobalToLocal(pressure, p, INSERT_VALUES, p_local));
  PetscCall(DMDAVecGetArrayRead(pressure, p_local, &x));
  PetscCall(GetFlow(da, fields, local, &f));
  PetscCall(DMDAVecGetArray(da, fields, &to));
  for (PetscInt j = f.info.ys; j < f.info.ys + f.info.ym; j++) {
    for (PetscInt i = f.info.xs; i < f.info.xs + f.info.xm; i++) {
      if (i > 0) to[j][i].u -= dt / f.h * Lightness(&f, i, j, 0) * (x[j][i] - x[j][i - 1]);
      if (j > 0) to[j][i].v -= dt / f.h * Lightness(&f, i, j, 1) * (x[j][i] - x[j - 1][i]);
    }
  }
  PetscCall(DMDAVecRestoreArray(da, fields, &to));
  PetscCall(DMDAVecRestoreArray(da, local, &f.at));
  PetscCall(DMDAVecRestoreArrayRead(pressure, p_local, &x));
  PetscCall(DMRestoreLocalVector(pressure, &p_local));
  PetscFunctionReturn(0);
}

typedef struct {
  PetscReal fastest, outflow, falling /* the drop's, in the mean */;
} Report;

static PetscErrorCode Look(DM da, Vec fields, Vec local, Report *report)
{
  Flow      f;
  PetscReal mine[2] = {0, 0}, most[2], sums[2] = {0, 0}, all[2];

  PetscFunctionBeginUser;
  PetscCall(GetFlow(da, fields, local, &f));
  for (PetscInt j = f.info.ys; j < f.info.ys + f.info.ym; j++) {
    for (PetscInt i = f.info.xs; i < f.info.xs + f.info.xm; i++) {
      mine[0] = PetscMax(mine[0], PetscMax(PetscAbsReal(U(&f, i, j)), PetscAbsReal(V(&f, i, j))));
      mine[1] = PetscMax(mine[1], PetscAbsReal(Outflow(&f, i, j)));
      if (j * f.h < pool + f.h || Phi(&f, i, j) < f.h) continue;
      sums[0] -= V(&f, i, j);
      sums[1]++;
    }
  }
  PetscCall(DMDAVecRestoreArray(da, local, &f.at));
  PetscCallMPI(MPI_Allreduce(mine, most, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(sums, all, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  *report = (Report){.fastest = most[0], .outflow = most[1], .falling = all[0] / PetscMax(all[1], 1)};
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(DM pressure, Mat *A, KSP *ksp)
{
  MatNullSpace constants;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(pressure, A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(*A, constants));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, PETSC_TRUE));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const PetscInt *x, *y;
  PetscInt        n = 128, steps = 200, every = 1, frames = 4, ranks[2], its, total = 0;
  PetscReal       longest = 0.0005, dt, time = 0, acceleration = 0, worst = 0, seconds = 0;
  const PetscReal expected = gravity * (heavy - light) / (heavy + light);
  DM              da, pressure;
  Mat             A;
  KSP             ksp;
  Vec             fields, local, p, b;
  Report          report = {0};
  PetscLogDouble  begin, end;
  PetscBool       right;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-every", &every, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-frames", &frames, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &longest, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &pressure));
  PetscCall(DMSetFromOptions(pressure));
  PetscCall(DMSetUp(pressure));
  PetscCall(DMDAGetOwnershipRanges(pressure, &x, &y, NULL));
  PetscCall(DMDAGetInfo(pressure, NULL, NULL, NULL, NULL, &ranks[0], &ranks[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(
    DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, ranks[0], ranks[1], 3, 1, x, y, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &fields));
  PetscCall(DMCreateLocalVector(da, &local));
  PetscCall(CreateSolver(pressure, &A, &ksp));
  PetscCall(MatCreateVecs(A, &p, &b));
  PetscCall(Begin(da, fields));
  for (PetscInt step = 0; step < steps; step++, time += dt) {
    dt = report.fastest > 0 ? PetscMin(longest, 0.5 * box / n / report.fastest) : longest;
    PetscCall(Move(da, dt, local, fields));
    PetscCall(Discretise(da, fields, local, dt, pressure, A, b));
    PetscCall(PetscTime(&begin));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetReusePreconditioner(ksp, (PetscBool)(step % every != 0)));
    PetscCall(KSPSolve(ksp, b, p));
    PetscCall(PetscTime(&end));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    seconds += end - begin;
    total += its;
    PetscCall(Project(da, fields, local, dt, pressure, p));
    PetscCall(Look(da, fields, local, &report));
    if (step == 0) acceleration = report.falling / dt;
    worst = PetscMax(worst, report.outflow / report.fastest);
    if ((step + 1) * frames / steps > step * frames / steps) {
      PetscCall(VecStrideGather(fields, 2, b, INSERT_VALUES));
      PetscCall(VecViewFromOptions(b, NULL, "-solution_view"));
    }
  }
  right = (PetscBool)(PetscAbsReal(acceleration / expected - 1) < 0.005 && worst < 1e-4);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the drop begins with %.4f m/s^2, by hand %.4f; largest loss of a cell %.1e; %.4f s\n",
                        (double)acceleration, (double)expected, (double)worst, (double)time));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "drop %" PetscInt_FMT "x%" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT
                        " iterations, %.3f s, answer %.8e, %s\n",
                        n, n, steps, total, (double)seconds, (double)report.fastest, right ? "right" : "WRONG"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&fields));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&p));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&pressure));
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}
