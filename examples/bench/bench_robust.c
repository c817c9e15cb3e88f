/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "hjmg beside BoomerAMG and GAMG where one coarsening and sweeps of points do not do: stretched grids, layers, land,\n\
strong directions that turn, random points, convection. CG, or GMRES from the right for what is not symmetric, to 1e-8 of the residual.\n\
  -cases <chebyshev,...>      comma-separated; without it all; run in this order\n\
  -finer <1>                  so many times as many points a side, where that has more than 3\n\
  -pcs <hjmg,hypre,gamg>      comma-separated; hjmg has hjstencil, the others AIJ\n\
  -cpu_time                   the processor's time in place of the clock's, on a CPU that others use too; one rank\n\
  -repetitions <1>            solves; the least time counts\n\
  -budget <0>                 seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
GPU: add -backend cuda, and -pcs hjmg\n";

/*
   Decides what is solved and what it is held beside; the problems are those of the tests. Matrices are filled by MatSetValuesStencil(),
   which is not timed. BoomerAMG's strong threshold is 0.25 in 2D, 0.5 in 3D, unless an option says another.
*/
#include "../../tests/hjrobustcase.h"
#include "../../tests/hjflow.h"
#include "report.h"

#include <sys/resource.h>

/* bar: iterations that the project asks for at most */
typedef struct {
  const char *name;
  PetscInt    bar;
  Robust      robust; /* dim 0: a flow */
  Flow        flow;
} Case;

/* clang-format off */
#define ROBUST(kind, dim, x, y, z, by) {kind, dim, {x, y, z}, by, PETSC_FALSE}, {FLOW_OPEN, 0, {0, 0, 0}, 0, PETSC_FALSE, 0}
#define DIVIDEDBY(kind, dim, x, y, z, by) {kind, dim, {x, y, z}, by, PETSC_TRUE}, {FLOW_OPEN, 0, {0, 0, 0}, 0, PETSC_FALSE, 0}
#define DIVIDED(kind, dim, x, y, z)    {kind, dim, {x, y, z}, 0, PETSC_TRUE}, {FLOW_OPEN, 0, {0, 0, 0}, 0, PETSC_FALSE, 0}
#define FLOW(kind, dim, x, y, z, by)   {POINTS, 0, {0, 0, 0}, 0, PETSC_FALSE}, {kind, dim, {x, y, z}, by, PETSC_FALSE, 0}
/* clang-format on */

static const Case cases[] = {
  {"chebyshev", 12, ROBUST(CHEBYSHEV, 3, 64, 64, 32, 0)},
  {"growing", 12, ROBUST(GROWING, 3, 32, 32, 64, 1.15)},
  {"growing47", 12, ROBUST(GROWING, 3, 47, 47, 47, 1.15)},
  {"layers256", 12, ROBUST(LAYERS, 3, 256, 16, 2, 0)},
  {"layers1024", 12, ROBUST(LAYERS, 3, 1024, 64, 2, 0)},
  {"sphere", 12, ROBUST(SPHERE, 3, 64, 64, 64, 0)},
  {"ridge", 12, ROBUST(RIDGE, 3, 64, 64, 32, 0)},
  {"surface", 12, ROBUST(SURFACE, 3, 64, 64, 32, 0)},
  {"globe", 12, ROBUST(GLOBE, 3, 64, 64, 32, 0)},
  {"globedivided", 12, DIVIDED(GLOBE, 3, 64, 64, 32)},
  {"points2d", 25, ROBUST(POINTS, 2, 257, 257, 1, 1e6)},
  {"points3d", 25, ROBUST(POINTS, 3, 65, 65, 65, 1e6)},
  {"turning2d", 12, ROBUST(TURNING, 2, 257, 257, 1, 1e3)},
  {"turning3d", 12, ROBUST(TURNING, 3, 65, 65, 65, 1e3)},
  {"centre", 12, FLOW(FLOW_CENTRE, 2, 257, 257, 1, 1e-3)},
  {"open1e-2", 25, FLOW(FLOW_OPEN, 2, 255, 255, 1, 1e-2)},
  {"open1e-3", 25, FLOW(FLOW_OPEN, 2, 255, 255, 1, 1e-3)},
  {"open1e-4", 25, FLOW(FLOW_OPEN, 2, 255, 255, 1, 1e-4)},
  {"open1e-6", 25, FLOW(FLOW_OPEN, 2, 255, 255, 1, 1e-6)},
  {"closed1e-2", 25, FLOW(FLOW_RECIRCULATING, 2, 255, 255, 1, 1e-2)},
  {"closed1e-3", 25, FLOW(FLOW_RECIRCULATING, 2, 255, 255, 1, 1e-3)},
  {"closed1e-4", 25, FLOW(FLOW_RECIRCULATING, 2, 255, 255, 1, 1e-4)},
  {"closed1e-6", 40, FLOW(FLOW_RECIRCULATING, 2, 255, 255, 1, 1e-6)},
  /* Of the same kinds */
  {"growing1.3", 12, ROBUST(GROWING, 3, 33, 33, 33, 1.3)},
  {"growing2d", 12, ROBUST(GROWING, 2, 129, 129, 1, 1.1)},
  {"chebyshev2d", 12, ROBUST(CHEBYSHEV, 2, 256, 256, 1, 0)},
  {"layers3", 12, ROBUST(LAYERS, 3, 256, 32, 3, 0)},
  {"islands2d", 12, ROBUST(ISLANDS, 2, 256, 256, 1, 0)},
  {"islands3d", 12, ROBUST(ISLANDS, 3, 64, 64, 32, 0)},
  {"checkers2d", 12, ROBUST(CHECKERS, 2, 257, 257, 1, 1e6)},
  {"checkers3d", 12, ROBUST(CHECKERS, 3, 65, 65, 65, 1e4)},
  {"diagonal10", 12, ROBUST(DIAGONAL, 2, 257, 257, 1, 10)},
  {"diagonal1e3", 12, ROBUST(DIAGONAL, 2, 257, 257, 1, 1e3)},
  {"chebdivided", 12, DIVIDED(CHEBYSHEV, 3, 64, 64, 32)},
  {"rotating1e-3", 25, FLOW(FLOW_ROTATING, 3, 40, 40, 40, 1e-3)},
  {"rotating1e-6", 40, FLOW(FLOW_ROTATING, 3, 40, 40, 40, 1e-6)},
  {"open3d1e-3", 25, FLOW(FLOW_OPEN, 3, 40, 40, 40, 1e-3)},
  {"open3d1e-6", 25, FLOW(FLOW_OPEN, 3, 40, 40, 40, 1e-6)},
  {"viscosity1e-6", 40, FLOW(FLOW_VISCOSITY, 2, 255, 255, 1, 1e-6)},
  {"even2d", 12, ROBUST(TURNING, 2, 257, 257, 1, 1.2)}, /* what the others of this storage are held beside on a GPU */
  {"even3d", 12, ROBUST(TURNING, 3, 65, 65, 65, 1.2)},
  {"newton", 12, FLOW(FLOW_NEWTON, 2, 257, 257, 1, 0.4)},
  /* That nobody had named before they were tried */
  {"diagonal1e2", 12, ROBUST(DIAGONAL, 2, 257, 257, 1, 1e2)},
  {"45deg1e2", 12, ROBUST(DIAGONAL45, 2, 257, 257, 1, 1e2)},
  {"45deg1e3", 12, ROBUST(DIAGONAL45, 2, 257, 257, 1, 1e3)},
  {"slanting1e2", 12, ROBUST(SLANTING, 2, 257, 257, 1, 1e2)},
  {"slanting1e3", 12, ROBUST(SLANTING, 2, 257, 257, 1, 1e3)},
  {"patches2d", 12, ROBUST(PATCHES, 2, 257, 257, 1, 1e3)},
  {"patches3d", 12, ROBUST(PATCHES, 3, 64, 64, 64, 1e3)},
  {"boundary2d", 12, ROBUST(BOUNDARY, 2, 256, 256, 1, 1e4)},
  {"boundary3d", 12, ROBUST(BOUNDARY, 3, 64, 64, 64, 1e4)},
  {"fractures2d", 12, ROBUST(FRACTURES, 2, 257, 257, 1, 1e6)},
  {"fractures3d", 12, ROBUST(FRACTURES, 3, 65, 65, 65, 1e6)},
  {"field2d", 12, ROBUST(FIELD, 2, 257, 257, 1, 1e6)},
  {"field3d", 12, ROBUST(FIELD, 3, 65, 65, 65, 1e6)},
  {"inclined2d", 12, ROBUST(INCLINED, 2, 257, 257, 1, 1e6)},
  {"inclined3d", 12, ROBUST(INCLINED, 3, 65, 65, 65, 1e6)},
  {"spiral", 12, ROBUST(SPIRAL, 2, 256, 256, 1, 0)},
  {"estuary", 12, ROBUST(ESTUARY, 2, 256, 256, 1, 0)},
  {"channel", 12, ROBUST(CHANNEL, 2, 256, 256, 1, 0)},
  {"robin2d", 12, ROBUST(ROBIN, 2, 256, 256, 1, 1e-4)},
  {"robin3d", 12, ROBUST(ROBIN, 3, 64, 64, 64, 1e-4)},
  {"cells1e-3", 40, FLOW(FLOW_CELLS, 2, 255, 255, 1, 1e-3)},
  {"cells1e-6", 40, FLOW(FLOW_CELLS, 2, 255, 255, 1, 1e-6)},
  {"labyrinth", 12, ROBUST(LABYRINTH, 2, 256, 256, 1, 0)},
  {"maze", 12, ROBUST(MAZE, 2, 256, 256, 1, 0)},
  {"maze255", 12, ROBUST(MAZE, 2, 255, 255, 1, 0)},
  {"lshape2d", 12, ROBUST(LSHAPE, 2, 257, 257, 1, 0)},
  {"lshape3d", 12, ROBUST(LSHAPE, 3, 65, 65, 65, 0)},
  {"wandering2d", 12, ROBUST(WANDERING, 2, 257, 257, 1, 1e4)},
  {"wandering3d", 12, ROBUST(WANDERING, 3, 65, 65, 65, 1e4)},
  {"barriers2d", 12, ROBUST(WANDERING, 2, 257, 257, 1, 1e-4)},
  {"barriers3d", 12, ROBUST(WANDERING, 3, 65, 65, 65, 1e-4)},
  {"swirl1e2", 12, ROBUST(SWIRL, 2, 257, 257, 1, 1e2)},
  {"swirl1e3", 12, ROBUST(SWIRL, 2, 257, 257, 1, 1e3)},
  {"basin2d", 12, ROBUST(BASIN, 2, 256, 256, 1, 1.03)},
  {"basin3d", 12, ROBUST(BASIN, 3, 64, 64, 32, 1.1)},
  {"basindivided", 12, DIVIDEDBY(BASIN, 2, 256, 256, 1, 1.03)},
  {"discs2d", 12, ROBUST(DISCS, 2, 257, 257, 1, 1e6)},
  {"discs3d", 12, ROBUST(DISCS, 3, 65, 65, 65, 1e6)},
  {"holes2d", 12, ROBUST(DISCS, 2, 257, 257, 1, 1e-6)},
  {"holes3d", 12, ROBUST(DISCS, 3, 65, 65, 65, 1e-6)},
  {"wells2d", 12, ROBUST(WELLS, 2, 257, 257, 1, 1e6)},
  {"wells3d", 12, ROBUST(WELLS, 3, 64, 64, 64, 1e6)},
  {"cracks2d", 12, ROBUST(FRACTURES, 2, 257, 257, 1, 1e-6)},
  {"cracks3d", 12, ROBUST(FRACTURES, 3, 65, 65, 65, 1e-6)},
  {"sheets2d", 12, ROBUST(SHEETS, 2, 257, 257, 1, 1e6)},
  {"sheets3d", 12, ROBUST(SHEETS, 3, 65, 65, 65, 1e6)},
  {"perforated2d", 12, ROBUST(PERFORATED, 2, 257, 257, 1, 0)},
  {"perforated3d", 12, ROBUST(PERFORATED, 3, 65, 65, 65, 0)},
  {"checkers1e6", 12, ROBUST(CHECKERS, 2, 300, 300, 1, 1e6)},
  {"turning1e6", 12, ROBUST(TURNING, 2, 257, 257, 1, 1e6)},
  {"centre1e3", 12, FLOW(FLOW_CENTRE, 2, 257, 257, 1, 1e3)},
  {"centre1e-6", 12, FLOW(FLOW_CENTRE, 2, 200, 200, 1, 1e-6)},
  {"eddies1e-3", 25, FLOW(FLOW_EDDIES, 2, 255, 255, 1, 1e-3)},
  {"eddies1e-6", 40, FLOW(FLOW_EDDIES, 2, 255, 255, 1, 1e-6)},
  {"stagnation1e-3", 25, FLOW(FLOW_STAGNATION, 2, 255, 255, 1, 1e-3)},
  {"stagnation1e-6", 40, FLOW(FLOW_STAGNATION, 2, 255, 255, 1, 1e-6)},
  {"shear1e-3", 25, FLOW(FLOW_SHEAR, 2, 255, 255, 1, 1e-3)},
  {"shear1e-6", 25, FLOW(FLOW_SHEAR, 2, 255, 255, 1, 1e-6)},
  {"lens1e-3", 25, FLOW(FLOW_LENS, 2, 255, 255, 1, 1e-3)},
  {"lens1e-6", 25, FLOW(FLOW_LENS, 2, 255, 255, 1, 1e-6)},
};

#define NCASES (PetscInt)(PETSC_STATIC_ARRAY_LENGTH(cases))

static const char *const pcs[] = {PCHJMG, PCHYPRE, PCGAMG};

typedef struct {
  PetscInt  finer, repetitions;
  PetscBool cpu_time;
  Output    out;
} Bench;

/* The device is done where a solve or a set-up ends: both need numbers of it */
static PetscReal Seconds(const Bench *b)
{
  struct rusage r;

  if (!b->cpu_time || getrusage(RUSAGE_SELF, &r)) return MPI_Wtime();
  return r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static PetscErrorCode CreateMatrix(const Bench *b, const Case *c, MatType type, DM *da, Mat *A)
{
  Robust        p    = c->robust;
  Flow          f    = c->flow;
  PetscInt     *n    = f.dim ? f.n : p.n;
  const Problem grid = {f.dim, {b->finer * n[0], b->finer * n[1], n[2] > 3 ? b->finer * n[2] : n[2]}, DIRICHLET, CONSTANT, PETSC_FALSE};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) n[d] *= n[d] > 3 ? b->finer : 1;
  if (p.kind == GROWING) p.by = PetscPowReal(p.by, 1.0 / b->finer);
  if (!f.dim) PetscCall(RobustCreate(&p, type, da, A));
  else {
    PetscCall(ProblemDM(&grid, da));
    if (type) PetscCall(DMSetMatType(*da, type));
    PetscCall(DMCreateMatrix(*da, A));
    PetscCall(FillRows(*da, FlowRow, &f, 0, INSERT_VALUES, *A));
  }
  if (!f.dim && !p.divided) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const Case *c, PetscInt pc, Mat A, KSP *ksp)
{
  const PetscBool symmetric = (PetscBool)(!c->flow.dim && !c->robust.divided);
  PetscBool       given;
  PC              made;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_hypre_boomeramg_strong_threshold", &given));
  PetscCall(ProblemKSP(NULL, A, symmetric ? KSPCG : KSPGMRES, pcs[pc], ksp, &made));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  if (!symmetric) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, 0.0, PETSC_DEFAULT, 300));
  if (!given)
    PetscCall(PetscOptionsSetValue(NULL, "-pc_hypre_boomeramg_strong_threshold", c->flow.dim + c->robust.dim < 3 ? "0.25" : "0.5"));
  PetscCall(KSPSetFromOptions(*ksp));
  if (!given) PetscCall(PetscOptionsClearValue(NULL, "-pc_hypre_boomeramg_strong_threshold"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(Bench *b, const Case *c, PetscInt pc, DM da, KSP ksp, PetscReal setup, PetscReal first, PetscReal solve)
{
  KSPConvergedReason reason;
  PetscInt           its, n[3];

  PetscFunctionBegin;
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(DMDAGetInfo(da, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %4d x %4d x %3d  %-6s %4d%s  %8.4f + %8.4f\n", c->name, (int)n[0], (int)n[1], (int)n[2],
                        pcs[pc], (int)its,
                        reason < 0     ? "!"
                        : its > c->bar ? "*"
                                       : " ",
                        (double)setup, (double)solve));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv, "%s,%dx%dx%d,%s,%d,%d,%s,%d,%.4g,%.4g,%.4g\n", c->name, (int)n[0], (int)n[1],
                         (int)n[2], pcs[pc], (int)b->repetitions, (int)c->bar, KSPConvergedReasons[reason], (int)its, (double)setup,
                         (double)first, (double)solve));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const Case *c, PetscInt pc)
{
  PetscReal start, setup, first = 0.0, solve = PETSC_MAX_REAL;
  DM        da;
  Mat       A;
  KSP       ksp;
  Vec       x, rhs;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(b, c, pc ? MATAIJ : MATHJSTENCIL, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &rhs));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(ProblemVector(da, 1, rhs));
  PetscCall(CreateSolver(c, pc, A, &ksp));
  start = Seconds(b);
  PetscCall(KSPSetUp(ksp));
  setup = Seconds(b) - start;
  for (PetscInt i = 0; i < b->repetitions; i++) {
    start = Seconds(b);
    PetscCall(KSPSolve(ksp, rhs, x));
    solve = PetscMin(solve, Seconds(b) - start);
    if (!i) first = solve;
  }
  PetscCall(Report(b, c, pc, da, ksp, setup, first, solve));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b = {.finer = 1, .repetitions = 1};
  const char *names[NCASES];
  PetscBool   wanted[NCASES], wanted_pcs[PETSC_STATIC_ARRAY_LENGTH(pcs)];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemBackend());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-finer", &b.finer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu_time", &b.cpu_time, NULL));
  PetscCall(GetRepetitions(&b.repetitions));
  PetscCall(OutputOpen("case,size,pc,repetitions,bar,reason,its,setup_s,first_s,solve_s", &b.out));
  for (PetscInt i = 0; i < NCASES; i++) names[i] = cases[i].name;
  PetscCall(ReadNames("-cases", NCASES, names, NCASES, wanted));
  PetscCall(ReadNames("-pcs", 3, pcs, 3, wanted_pcs));
  for (PetscInt i = 0; i < NCASES; i++) {
    if (wanted[i]) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, names[i], &wanted[i]));
    for (PetscInt pc = 0; pc < 3 && wanted[i]; pc++)
      if (wanted_pcs[pc]) PetscCall(RunCase(&b, &cases[i], pc));
  }
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
