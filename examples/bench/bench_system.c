/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Several unknowns a point: hjstencil beside AIJ, hjacobi's cycles, hjmg beside PCMG and PCGAMG; ratios measured in one run.\n\
  -cases <grayscott2d,full2d2,row2d2,row3d3,full2d4,full3d3,elasticity2d,elasticity3d,alone2d3,alone3d4,rowalone2d3,rowalone3d4>\n\
                       comma-separated; run in this order; the last four: components that are not coupled, beside one of them alone\n\
  -n2 <n> -n3 <n>      points in each direction, in place of those of the case\n\
  -k <4>               subiterations of hjacobi and of hjmg\n\
  -peer_k <2,3,4>      those of the peers' chebyshev/pbjacobi that are tried\n\
  -solve <1>           0: products and cycles alone\n\
  -peers <1>           0: without the other solvers\n\
  -repetitions <5>  -budget <0>  -cpu_time  -csv <file>  -commit <id>  -device <words>\n\
GPU: add -dm_vec_type cuda; AIJ is then aijcusparse\n";

/*
   Decides what is timed, how it is checked first, and how bytes are counted: each array that is stored once, and the vectors. Decides no
   problem (hjelasticity.h). A timing ends when the device is done (MachineTime()).
*/
#include "machine.h"
#include "report.h"
#include "pchjacobi.h"
#include "../../tests/hjelasticity.h"

typedef struct {
  PetscInt  repetitions, n[4], k, peer_k[8], npeer;
  PetscBool solve, peers;
  PetscReal copy; /* bytes a second of VecCopy() of vectors that no cache holds */
  Machine   machine;
  Output    out;
} Bench;

/* Points in each direction on a CPU and on a GPU */
typedef struct {
  const char    *name;
  PetscInt       dim, n[2], dof;
  DMBoundaryType boundary;
  PetscBool      box, elastic, fills, one_row, alone; /* fills: components meet at the point alone; alone: nowhere */
} Case;

static const Case cases[] =
  {{.name = "grayscott2d", .dim = 2, .n = {256, 1024}, .dof = 2, .boundary = DM_BOUNDARY_PERIODIC, .fills = PETSC_TRUE},
   {.name = "full2d2", .dim = 2, .n = {257, 1025}, .dof = 2},
   {.name = "row2d2", .dim = 2, .n = {257, 2049}, .dof = 2, .one_row = PETSC_TRUE},
   {.name = "row3d3", .dim = 3, .n = {33, 129}, .dof = 3, .one_row = PETSC_TRUE},
   {.name = "full2d4", .dim = 2, .n = {129, 1025}, .dof = 4},
   {.name = "full3d3", .dim = 3, .n = {33, 97}, .dof = 3},
   {.name = "elasticity2d", .dim = 2, .n = {257, 1025}, .dof = 2, .box = PETSC_TRUE, .elastic = PETSC_TRUE},
   {.name = "elasticity3d", .dim = 3, .n = {17, 97}, .dof = 3, .box = PETSC_TRUE, .elastic = PETSC_TRUE},
   {.name = "alone2d3", .dim = 2, .n = {257, 1025}, .dof = 3, .alone = PETSC_TRUE},
   {.name = "alone3d4", .dim = 3, .n = {33, 97}, .dof = 4, .alone = PETSC_TRUE},
   {.name = "rowalone2d3", .dim = 2, .n = {257, 1025}, .dof = 3, .one_row = PETSC_TRUE, .alone = PETSC_TRUE},
   {.name = "rowalone3d4", .dim = 3, .n = {33, 97}, .dof = 4, .one_row = PETSC_TRUE, .alone = PETSC_TRUE}};
#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases))

/* Blocks without zeros, dominant, the same or another one at each point */
static PetscErrorCode FullFill(DM da, PetscBool one_row, Mat A)
{
  PetscInt    dim, dof, N[3], lo[3], w[3], p[3];
  PetscScalar v[64];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  for (p[2] = lo[2]; p[2] < lo[2] + w[2]; p[2]++) {
    for (p[1] = lo[1]; p[1] < lo[1] + w[1]; p[1]++) {
      for (p[0] = lo[0]; p[0] < lo[0] + w[0]; p[0]++) {
        const MatStencil row = {.i = p[0], .j = p[1], .k = p[2]};

        for (PetscInt o = 0; o <= 2 * dim; o++) {
          PetscInt q[3] = {p[0], p[1], p[2]};

          if (o) q[(o - 1) / 2] += o % 2 ? -1 : 1;
          if (q[0] < 0 || q[0] >= N[0] || q[1] < 0 || q[1] >= N[1] || q[2] < 0 || q[2] >= N[2]) continue;
          for (PetscInt e = 0; e < dof * dof; e++) {
            const PetscReal place = one_row ? 0.0 : p[0] + 0.3 * p[1] + 0.7 * p[2];

            v[e] = (o || e % (dof + 1) ? 0.0 : 20.0) - 1.0 / (2 + PetscSinReal(place + e + o));
          }
          PetscCall(MatSetValuesBlockedStencil(A, 1, &row, 1, &(MatStencil){.i = q[0], .j = q[1], .k = q[2]}, v, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -div k grad of each component, 0 at the walls; k is 1, or smooth */
static PetscErrorCode AloneFill(DM da, PetscBool one_row, Mat A)
{
  PetscInt dim, dof, N[3], lo[3], w[3], p[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  for (p[2] = lo[2]; p[2] < lo[2] + w[2]; p[2]++) {
    for (p[1] = lo[1]; p[1] < lo[1] + w[1]; p[1]++) {
      for (p[0] = lo[0]; p[0] < lo[0] + w[0]; p[0]++) {
        MatStencil  to[7];
        PetscScalar v[7]  = {0.0};
        PetscInt    m     = 1;
        PetscReal   place = p[0] + 0.5 * p[1] + 0.25 * p[2];

        to[0] = (MatStencil){.i = p[0], .j = p[1], .k = p[2]};
        for (PetscInt side = 0; side < 2 * dim; side++) {
          PetscInt        q[3] = {p[0], p[1], p[2]};
          const PetscInt  d    = side / 2;
          const PetscReal half = (side % 2 ? 0.5 : -0.5) * (d == 0 ? 1.0 : d == 1 ? 0.5 : 0.25);
          const PetscReal k    = one_row ? 1.0 : 1.0 + 0.5 * PetscSinReal(0.05 * (place + half));

          q[d] += side % 2 ? 1 : -1;
          v[0] += k;
          if (q[d] < 0 || q[d] >= N[d]) continue;
          v[m]    = -k;
          to[m++] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]};
        }
        for (PetscInt c = 0; c < dof; c++) {
          for (PetscInt e = 0; e < m; e++) to[e].c = c;
          PetscCall(MatSetValuesStencil(A, 1, to, m, to, v, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateProblem(const Case *c, PetscInt n, const char type[], DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(SystemGrid(c->dim, n, c->dof, c->boundary, c->box, da));
  PetscCall(DMSetMatType(*da, type));
  PetscCall(DMCreateMatrix(*da, A));
  if (c->elastic) PetscCall(ElasticityFill(*da, 0.3, 1.0, *A));
  else if (c->fills) PetscCall(GrayScottFill(*da, 1.0, *A));
  else if (c->alone) PetscCall(AloneFill(*da, c->one_row, *A));
  else PetscCall(FullFill(*da, c->one_row, *A));
  if (c->elastic || c->alone) PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*Work)(void *ctx, Vec x, Vec y);

static PetscErrorCode Multiply(void *A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Cycle(void *pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCApply((PC)pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(void *unused, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(void *ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(KSPSolve((KSP)ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each repetition lasts about 20 ms, or is one call */
static PetscErrorCode Time(Bench *b, Work work, void *ctx, Vec x, Vec y, Times *t)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscInt       n = 1;

  PetscFunctionBegin;
  t->n = b->repetitions;
  for (PetscInt r = -2; r < t->n; r++) {
    PetscCall(MachineTime(&b->machine, &t0));
    for (PetscInt i = 0; i < n; i++) PetscCall((*work)(ctx, x, y));
    PetscCall(MachineTime(&b->machine, &t1));
    t->s[PetscMax(r, 0)] = (t1 - t0) / n;
    if (r < 0) n = (PetscInt)PetscClipInterval(0.02 * n / (t1 - t0 + 1e-6) + 1, 1, 500);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeCopy(Bench *b)
{
  const PetscInt n = 1 << 25;
  Vec            x, y;
  Times          t;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, PETSC_DECIDE, n));
  PetscCall(VecSetType(x, b->machine.cuda ? VECCUDA : VECSTANDARD));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(Time(b, Copy, NULL, x, y, &t));
  b->copy = 16.0 * n / Median(&t);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# a copy moves %g GB/s\n", (double)b->copy / 1e9));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* value: with its unit; peer: its time by that of hjstencil, 0: it is none */
static PetscErrorCode Report(Bench *b, const Case *c, PetscInt n, const char what[], const char matrix[], const Times *t, PetscReal value,
                             const char unit[], PetscReal peer)
{
  MPI_Comm comm = PETSC_COMM_WORLD;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "%-13s %5" PetscInt_FMT " %-34s %-12s %10.3e s %8.3f %-8s %6.2f\n", c->name, n, what, matrix,
                        (double)Median(t), (double)value, unit, (double)peer));
  PetscCall(OutputRow(comm, &b->out));
  PetscCall(PetscFPrintf(comm, b->out.csv,
                         "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%s,%" PetscInt_FMT ",%g,%g,%g,%s,%g\n", c->name,
                         c->dim, n, c->dof, what, matrix, t->n, (double)Median(t), (double)Spread(t), (double)value, unit, (double)peer));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const char what[], PetscReal tolerance, Vec x, Vec y)
{
  PetscReal norm, diff;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1.0, x, y));
  PetscCall(VecNorm(d, NORM_INFINITY, &diff));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCheck(diff <= tolerance * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: results differ by %g of %g", what, (double)diff,
             (double)norm);
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of the blocks of a point that are stored: bytes are 8 for each. One row: several subiterations may be more than a copy */
static PetscInt Entries(const Case *c)
{
  const PetscInt offsets = c->box ? (c->dim == 2 ? 9 : 27) : 2 * c->dim + 1;

  if (c->one_row) return 0;
  if (c->alone) return offsets * c->dof;
  return c->fills ? (offsets - 1) * c->dof + c->dof * c->dof : offsets * c->dof * c->dof;
}

/* Products; then a cycle of k subiterations from zero, of which the first reads no neighbour */
static PetscErrorCode RunProducts(Bench *b, const Case *c, PetscInt n, Mat A[2], Vec x, Vec y[2])
{
  const PetscReal points = PetscPowRealInt((PetscReal)n, (int)c->dim), product = 8.0 * points * (Entries(c) + 2 * c->dof);
  const PetscReal first = 8.0 * points *
                          ((c->one_row ? 0
                            : c->alone ? c->dof
                                       : c->dof * c->dof) +
                           2 * c->dof),
                  other = 8.0 * points * (Entries(c) + 3 * c->dof);
  Times t[2];
  PC    pc;
  char  what[64];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(Time(b, Multiply, A[i], x, y[i], &t[i]));
  PetscCall(CheckSame("MatMult", 256 * PETSC_MACHINE_EPSILON, y[1], y[0]));
  PetscCall(Report(b, c, n, "MatMult", "hjstencil", &t[0], product / Median(&t[0]) / b->copy, "of copy", 0));
  PetscCall(Report(b, c, n, "MatMult", b->machine.cuda ? MATAIJCUSPARSE : MATAIJ, &t[1], product / Median(&t[1]) / b->copy, "of copy",
                   Median(&t[1]) / Median(&t[0])));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A[0], A[0]));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetK(pc, b->k));
  PetscCall(PCSetUp(pc));
  PetscCall(Time(b, Cycle, pc, x, y[0], &t[0]));
  PetscCall(PetscSNPrintf(what, sizeof(what), "hjacobi, k = %" PetscInt_FMT, b->k));
  PetscCall(Report(b, c, n, what, "hjstencil", &t[0], (first + (b->k - 1) * other) / Median(&t[0]) / b->copy, "of copy", 0));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum { HJMG, PETSC_MG, GAMG } Solver;

/* Rigid motions of elasticity help PCGAMG */
static PetscErrorCode SetNear(const Case *c, DM da, Mat A)
{
  MatNullSpace near;
  Vec          coordinates;

  PetscFunctionBegin;
  if (!c->elastic) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDASetUniformCoordinates(da, 0, 1, 0, 1, 0, 1));
  PetscCall(DMGetCoordinates(da, &coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &near));
  PetscCall(MatSetNearNullSpace(A, near));
  PetscCall(MatNullSpaceDestroy(&near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Bench *b, const Case *c, PetscInt n, Solver solver, PetscInt k, DM da, Mat A, KSP *ksp)
{
  PetscInt levels = 1, least = n;
  char     options[512];
  PC       pc;

  PetscFunctionBegin;
  for (; least > 9 && (c->boundary == DM_BOUNDARY_PERIODIC ? least % 2 == 0 : least % 2 == 1); levels++) least = (least + 1) / 2;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "peer_"));
  PetscCall(MachineSetDM(*ksp, da));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, c->elastic || c->alone ? KSPCG : KSPGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, solver == HJMG ? PCHJMG : solver == GAMG ? PCGAMG : PCMG));
  if (solver == HJMG) PetscCall(PCHJMGSetK(pc, 1, &k));
  if (solver == PETSC_MG) PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-peer_pc_mg_galerkin both -peer_mg_levels_ksp_type chebyshev -peer_mg_levels_pc_type pbjacobi "
                          "-peer_mg_levels_ksp_max_it %" PetscInt_FMT " -peer_mg_coarse_pc_type redundant",
                          k));
  if (solver != HJMG) PetscCall(PetscOptionsInsertString(NULL, options));
  if (solver == GAMG) PetscCall(SetNear(c, da, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up, the first in this process and the same again, and solves. *seconds: the solve's median */
static PetscErrorCode RunSolver(Bench *b, const Case *c, PetscInt n, Solver solver, PetscInt k, DM da, Mat A, Vec x, Vec y, PetscReal ours,
                                PetscReal *seconds)
{
  static const char *const names[] = {"hjmg", "mg chebyshev/pbjacobi", "gamg chebyshev/pbjacobi"};
  Times                    t, setup = {.n = 1}, again = {.n = 1};
  PetscLogDouble           t0, t1;
  KSPConvergedReason       reason;
  PetscInt                 its;
  KSP                      ksp;
  char                     what[64];

  PetscFunctionBegin;
  for (int r = 0; r < 2; r++) {
    PetscCall(CreateSolver(b, c, n, solver, k, da, A, &ksp));
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(MachineTime(&b->machine, &t1));
    (r ? &again : &setup)->s[0] = t1 - t0;
    if (!r) PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(Time(b, Solve, ksp, x, y, &t));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  *seconds = reason > 0 ? Median(&t) : PETSC_MAX_REAL;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, k = %" PetscInt_FMT "%s", names[solver], k, reason > 0 ? "" : ", diverged"));
  PetscCall(Report(b, c, n, what,
                   solver == HJMG    ? "hjstencil"
                   : b->machine.cuda ? MATAIJCUSPARSE
                                     : MATAIJ,
                   &t, (PetscReal)its, "its", solver == HJMG ? 0 : Median(&t) / ours));
  PetscCall(PetscStrlcat(what, ", set-up", sizeof(what)));
  PetscCall(Report(b, c, n, what, solver == HJMG ? "hjstencil" : b->machine.cuda ? MATAIJCUSPARSE : MATAIJ, &setup, setup.s[0], "s", 0));
  PetscCall(PetscStrlcat(what, " again", sizeof(what)));
  PetscCall(Report(b, c, n, what, solver == HJMG ? "hjstencil" : b->machine.cuda ? MATAIJCUSPARSE : MATAIJ, &again, again.s[0], "s", 0));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One component alone by hjmg, of which dof ones are to take as long; the ratio is the system's time by that of these */
static PetscErrorCode RunScalar(Bench *b, const Case *c, PetscInt n, PetscReal ours)
{
  Case      one = *c;
  DM        da;
  Mat       A;
  Vec       x, y;
  PetscReal seconds;

  PetscFunctionBegin;
  one.dof = 1;
  PetscCall(CreateProblem(&one, n, MATHJSTENCIL, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(RunSolver(b, &one, n, HJMG, b->k, da, A, x, y, 0, &seconds));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s: %.3f times as long as %" PetscInt_FMT " components one by one\n", c->name,
                        (double)(ours / (c->dof * seconds)), c->dof));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const Case *c)
{
  const PetscInt asked = b->n[c->dim] ? b->n[c->dim] : c->n[b->machine.cuda];
  const PetscInt n     = asked - (c->boundary == DM_BOUNDARY_PERIODIC ? asked % 2 : 0); /* PCMG coarsens no odd period */
  DM             da[2];
  Mat            A[2];
  Vec            x, y[2];
  PetscReal      ours, theirs;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(CreateProblem(c, n, !i ? MATHJSTENCIL : b->machine.cuda ? MATAIJCUSPARSE : MATAIJ, &da[i], &A[i]));
  PetscCall(DMCreateGlobalVector(da[0], &x));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(x, &y[i]));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(RunProducts(b, c, n, A, x, y));
  if (b->solve && c->alone) {
    PetscCall(RunSolver(b, c, n, HJMG, b->k, da[0], A[0], x, y[0], 0, &ours));
    PetscCall(RunScalar(b, c, n, ours));
  }
  if (b->solve && (c->elastic || c->fills)) {
    PetscCall(RunSolver(b, c, n, HJMG, b->k, da[0], A[0], x, y[0], 0, &ours));
    for (PetscInt i = 0; i < b->npeer && b->peers; i++)
      PetscCall(RunSolver(b, c, n, PETSC_MG, b->peer_k[i], da[1], A[1], x, y[1], ours, &theirs));
    if (b->peers) PetscCall(RunSolver(b, c, n, GAMG, b->peer_k[0], da[1], A[1], x, y[1], ours, &theirs));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&y[i]));
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b = {.repetitions = 5, .k = 4, .peer_k = {2, 3, 4}, .npeer = 3, .solve = PETSC_TRUE, .peers = PETSC_TRUE};
  PetscInt    n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(b.peer_k);
  const char *names[NCASES];
  PetscBool   wanted[NCASES], given;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(GetRepetitions(&b.repetitions));
  PetscCall(MachineOpen(&b.machine));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b.n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b.n[3], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-k", &b.k, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &b.solve, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &b.peers, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-peer_k", b.peer_k, &n, &given));
  if (given) b.npeer = n;
  PetscCall(OutputOpen("case,dim,n,dof,what,matrix,repetitions,median_s,spread,value,unit,times_hjstencil", &b.out));
  PetscCall(TimeCopy(&b));
  for (PetscInt c = 0; c < NCASES; c++) names[c] = cases[c].name;
  PetscCall(ReadNames("-cases", NCASES, names, NCASES, wanted));
  for (PetscInt c = 0; c < NCASES; c++) {
    if (wanted[c]) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, names[c], &wanted[c]));
    if (wanted[c]) PetscCall(RunCase(&b, &cases[c]));
  }
  PetscCall(MachineClose(&b.machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
