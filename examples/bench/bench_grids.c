/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Grids as programs write them, beside those that the headline is measured on: problems whose boundary points are\n\
rows of the diagonal alone, periodic ones, any number of points. Each row names what the program has, beside the same without.\n\
  -cases <walls2d,walls3d,periods2d,periods3d,sizes2d,sizes3d>   comma-separated; run in this order\n\
         first2d, first3d: KSPSetUp, the first KSPSolve and the second; alone, as programs are loaded once\n\
  -works <solver,cg,gmres,pcmg,hjmg cycle,hjacobi 4,hjacobi 8,MatMult>   of walls, periods and sizes\n\
  -n2 <513> -n3 <65>   points in each direction of walls, periods and first solves\n\
  -constant <false>    constant coefficients alone\n\
  -first_cg <false>    first solves are CG's, not the solver's\n\
  -identity <0>        value of the rows that are the diagonal alone; 0: as the others' diagonal\n\
  -cpu_time            the processor's time in place of the clock's, on a CPU that others use too; one rank\n\
  -repetitions <5>\n\
  -budget <0>          seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
GPU: add -dm_vec_type cuda\n";

/*
   Decides what is solved and what it is held beside. Matrices are filled by MatSetValuesStencil(), as programs do it; set-up is not timed.
*/
#include "machine.h"
#include "report.h"

/* Seconds after which one more repetition is not begun */
#define ENOUGH 2.0

typedef enum {
  WALLS_OUTSIDE, /* unknowns inside alone: the wall is one spacing beyond the grid */
  WALLS_DROPPED, /* the outermost points are rows of the diagonal alone, and nobody's columns */
  WALLS_KEPT,    /* the same, but their neighbours keep the columns: unsymmetric */
  PERIODIC
} Ends;

static const char *const ends_names[] = {"interior points", "boundary rows, columns dropped", "boundary rows, columns kept", "periodic"};

typedef struct {
  PetscInt  dim, n[3]; /* points in each direction, boundary rows included */
  Ends      ends;
  PetscBool smooth;   /* a coefficient of its own at every point; else constant */
  PetscReal identity; /* of rows that are the diagonal alone; 0: as the others' */
} Case;

typedef enum { SOLVER, CG, GMRES, LEVELS, CYCLE, SWEEPS4, SWEEPS8, PRODUCT, NWORKS } Work;

typedef struct {
  PetscInt  repetitions, n[4];
  PetscBool works[NWORKS];
  PetscReal identity;
  PetscBool first_cg, constant;
  Machine   machine;
  Output    out;
} Bench;

static const char *const work_names[] = {"solver", "cg", "gmres", "pcmg", "hjmg cycle", "hjacobi 4", "hjacobi 8", "MatMult"};

/* The least time: others may use the machine */
static PetscReal Least(const Times *t)
{
  PetscReal least = PETSC_MAX_REAL;

  for (PetscInt i = 0; i < t->n; i++) least = PetscMin(least, t->s[i]);
  return least;
}

/* Cycles, sweeps and products that one timing has */
#define MANY 10

static PetscErrorCode CaseCreateDM(const Case *c, DM *da)
{
  const DMBoundaryType  b    = c->ends == PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  const DMDAStencilType star = DMDA_STENCIL_STAR;

  PetscFunctionBegin;
  if (c->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b, b, star, c->n[0], c->n[1], PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b, b, b, star, c->n[0], c->n[1], c->n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL,
                           NULL, NULL, da));
  PetscCall(DMSetMatType(*da, "hjstencil"));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the face that lies half a spacing from a point on a side of direction d. x goes from wall to wall, or through a period */
static PetscReal CaseCoupling(const Case *c, const PetscInt at[3], int d, int side)
{
  const PetscInt first = c->ends == WALLS_OUTSIDE ? 1 : 0, more = c->ends == WALLS_OUTSIDE ? 1 : c->ends == PERIODIC ? 0 : -1;
  PetscReal      x[3] = {0, 0, 0};

  if (!c->smooth) return 1;
  for (int e = 0; e < c->dim; e++) {
    const PetscInt half = 2 * (at[e] + first) + (e == d ? side : 0);

    x[e] = 0.5 * (c->ends == PERIODIC && half < 0 ? half + 2 * c->n[e] : half) / (c->n[e] + more);
  }
  if (c->ends != PERIODIC) return 1 + x[0] + x[1] * x[1] + x[0] * x[2];
  return 2 + PetscSinReal(2 * PETSC_PI * x[0]) * PetscCosReal(2 * PETSC_PI * x[1]) * PetscCosReal(2 * PETSC_PI * x[2]);
}

static PetscBool CaseIsBoundary(const Case *c, const PetscInt at[3])
{
  for (int d = 0; d < c->dim && (c->ends == WALLS_DROPPED || c->ends == WALLS_KEPT); d++)
    if (at[d] == 0 || at[d] == c->n[d] - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode CaseSetRow(const Case *c, const PetscInt at[3], Mat A)
{
  MatStencil  col[7] = {{.i = at[0], .j = at[1], .k = at[2]}};
  PetscScalar v[7]   = {0};
  PetscInt    n      = 1;

  PetscFunctionBegin;
  if (CaseIsBoundary(c, at)) {
    v[0] = c->identity > 0 ? c->identity : 2 * c->dim;
    PetscCall(MatSetValuesStencil(A, 1, col, 1, col, v, INSERT_VALUES));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int d = 0; d < c->dim; d++) {
    for (int side = -1; side <= 1; side += 2) {
      const PetscReal a     = CaseCoupling(c, at, d, side);
      PetscInt        to[3] = {at[0], at[1], at[2]};

      v[0] += a;
      to[d] += side;
      if (c->ends != PERIODIC && (to[d] < 0 || to[d] >= c->n[d])) continue;
      if (c->ends == WALLS_DROPPED && CaseIsBoundary(c, to)) continue;
      col[n] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[n++] = -a;
    }
  }
  PetscCall(MatSetValuesStencil(A, 1, col, n, col, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, and a right-hand side with smooth and rough parts, 0 at boundary points */
static PetscErrorCode CaseFill(const Case *c, DM da, Mat A, Vec b)
{
  DMDALocalInfo info;
  PetscScalar  *a;
  MatNullSpace  constants;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(VecGetArrayWrite(b, &a));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt at[3] = {i, j, k};

        PetscCall(CaseSetRow(c, at, A));
        *a++ = CaseIsBoundary(c, at) ? 0 : 1 + PetscSinReal(9.0 * i / info.mx) + ((7 * i + 3 * j + 5 * k) % 11) / 11.0;
      }
    }
  }
  PetscCall(VecRestoreArrayWrite(b, &a));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (c->ends != PERIODIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(A, constants));
  PetscCall(MatNullSpaceRemove(constants, b));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the levels of PCMG, whose operators are Galerkin products */
#define LEVEL_OPTIONS                                                                                                                      \
  "-mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi -mg_levels_ksp_max_it 1 -mg_levels_pc_hjacobi_k 4 -pc_mg_galerkin both "      \
  "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjmg"

static PetscErrorCode WorkCreate(Work w, DM da, Mat A, KSP *ksp)
{
  static const char *const types[] = {KSPRICHARDSON, KSPCG, KSPGMRES, NULL, KSPRICHARDSON, KSPRICHARDSON, KSPRICHARDSON, NULL};
  PC                       pc;
  DMBoundaryType           periodic;
  PetscInt                 n, levels = 1;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(MachineSetDM(*ksp, da));
  PetscCall(KSPSetType(*ksp, w == LEVELS ? KSPFGMRES : types[w]));
  PetscCall(KSPSetNormType(*ksp, w >= CYCLE ? KSP_NORM_NONE : KSP_NORM_UNPRECONDITIONED));
  if (w == GMRES || w == LEVELS) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, w >= CYCLE ? MANY : 100));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, w == LEVELS ? PCMG : w == SWEEPS4 || w == SWEEPS8 ? "hjacobi" : "hjmg"));
  if (w == SWEEPS4 || w == SWEEPS8) PetscCall(PetscOptionsInsertString(NULL, w == SWEEPS4 ? "-pc_hjacobi_k 4" : "-pc_hjacobi_k 8"));
  if (w == LEVELS) {
    PetscCall(PetscOptionsInsertString(NULL, LEVEL_OPTIONS));
    PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &periodic, NULL, NULL, NULL));
    for (; n > 9 && n % 2 == (periodic == DM_BOUNDARY_PERIODIC ? 0 : 1); n = (n + 1) / 2) levels++;
    PetscCall(PCMGSetLevels(pc, levels, NULL));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One timing; its: iterations of a solve, else 0 */
static PetscErrorCode WorkRun(Work w, KSP ksp, Mat A, Vec b, Vec x, PetscInt *its)
{
  PC pc;

  PetscFunctionBegin;
  *its = 0;
  if (w == PRODUCT) {
    for (int i = 0; i < MANY; i++) PetscCall(MatMult(A, b, x));
  } else if (w >= CYCLE) {
    PetscCall(KSPGetPC(ksp, &pc));
    for (int i = 0; i < MANY; i++) PetscCall(PCApply(pc, b, x));
  } else {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(Bench *b, const char *name, const Case *c, const char *what, Work w, PetscInt its, const Times *t,
                             PetscReal beside)
{
  const PetscReal ms = t->n ? 1e3 * Least(t) / (w >= CYCLE ? MANY : 1) : 0, points = (PetscReal)c->n[0] * c->n[1] * c->n[2];
  const PetscReal ratio = beside > 0 ? ms * 1e6 / points / beside : 0;
  char            size[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(size, sizeof(size),
                          c->dim == 2 ? "%" PetscInt_FMT "x%" PetscInt_FMT : "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT, c->n[0],
                          c->n[1], c->n[2]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-10s %-12s %-9s %-31s %-10s %3" PetscInt_FMT " its %9.3f ms +%3.0f%% %8.3f ns a point", name,
                        size, c->smooth ? "smooth" : "constant", what, work_names[w], its, (double)ms, t->n ? 100 * (double)Spread(t) : 0.0,
                        (double)(1e6 * ms / points)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ratio > 0 ? "  %.2f\n" : "\n", (double)ratio));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv, "%s,%s,%s,\"%s\",%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.6g,%.4f,%.4f\n", name,
                         size, c->smooth ? "smooth" : "constant", what, work_names[w], t->n, its, (double)ms,
                         t->n ? (double)Spread(t) : 0.0, (double)ratio));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times one kind of work; beside: nanoseconds a point of what it stands beside, 0: of nothing. Returns its own */
static PetscErrorCode RunWork(Bench *b, const char *name, const Case *c, Work w, DM da, Mat A, Vec rhs, Vec x, PetscReal beside,
                              PetscReal *own)
{
  Times              t  = {.n = 0};
  PetscLogDouble     t0 = 0, t1 = 0;
  PetscReal          spent = 0, residual;
  PetscInt           its;
  PetscBool          good   = PETSC_TRUE;
  KSPConvergedReason reason = KSP_CONVERGED_ITS;
  KSP                ksp;

  PetscFunctionBegin;
  *own = 0;
  PetscCall(WorkCreate(w, da, A, &ksp));
  PetscCall(WorkRun(w, ksp, A, rhs, x, &its));
  if (w < CYCLE) {
    PetscCall(ProblemCheckResidual(ksp, &residual, &good));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    good = (PetscBool)(good && reason > 0);
  }
  if (!good) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s: %s: not timed\n", name, KSPConvergedReasons[reason]));
  for (; good && t.n < b->repetitions && (t.n < 2 || spent < ENOUGH); t.n++) {
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(WorkRun(w, ksp, A, rhs, x, &its));
    PetscCall(MachineTime(&b->machine, &t1));
    t.s[t.n] = t1 - t0;
    spent += t1 - t0;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Report(b, name, c, ends_names[c->ends], w, its, &t, beside));
  if (t.n) *own = 1e9 * Least(&t) / (w >= CYCLE ? MANY : 1) / ((PetscReal)c->n[0] * c->n[1] * c->n[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that is wanted on one grid */
static PetscErrorCode RunCase(Bench *b, const char *name, const Case *c, const Work works[], PetscReal beside[NWORKS], PetscBool first)
{
  DM  da;
  Mat A;
  Vec rhs, x;

  PetscFunctionBegin;
  PetscCall(CaseCreateDM(c, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &rhs));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(CaseFill(c, da, A, rhs));
  for (const Work *w = works; *w < NWORKS; w++) {
    PetscReal own;

    if (!b->works[*w]) continue;
    PetscCall(RunWork(b, name, c, *w, da, A, rhs, x, first ? 0 : beside[*w], &own));
    if (first) beside[*w] = own;
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Case CaseOf(const Bench *b, PetscInt dim, PetscInt n, Ends ends, PetscBool smooth)
{
  return (Case){.dim = dim, .n = {n, n, dim > 2 ? n : 1}, .ends = ends, .smooth = smooth, .identity = b->identity};
}

/* Beside the same interior. What is unsymmetric is solved by GMRES, beside GMRES */
static PetscErrorCode RunWalls(Bench *b, const char *name, PetscInt dim)
{
  static const Work all[]  = {SOLVER, CG, GMRES, LEVELS, CYCLE, SWEEPS4, SWEEPS8, PRODUCT, NWORKS};
  static const Work kept[] = {SOLVER, GMRES, LEVELS, CYCLE, SWEEPS4, SWEEPS8, PRODUCT, NWORKS};

  PetscFunctionBegin;
  for (int smooth = 0; smooth < (b->constant ? 1 : 2); smooth++) {
    PetscReal beside[NWORKS] = {0};

    for (int e = WALLS_OUTSIDE; e <= WALLS_KEPT; e++) {
      const Case c = CaseOf(b, dim, b->n[dim] - (e == WALLS_OUTSIDE ? 2 : 0), (Ends)e, (PetscBool)smooth);

      PetscCall(RunCase(b, name, &c, e == WALLS_KEPT ? kept : all, beside, (PetscBool)(e == WALLS_OUTSIDE)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One point less than beside walls, a period of an even number of points */
static PetscErrorCode RunPeriods(Bench *b, const char *name, PetscInt dim)
{
  static const Work all[] = {CG, LEVELS, CYCLE, SWEEPS4, SWEEPS8, PRODUCT, NWORKS};

  PetscFunctionBegin;
  for (int smooth = 0; smooth < (b->constant ? 1 : 2); smooth++) {
    const Case walls         = CaseOf(b, dim, b->n[dim], WALLS_OUTSIDE, (PetscBool)smooth),
               c             = CaseOf(b, dim, b->n[dim] - 1, PERIODIC, (PetscBool)smooth);
    PetscReal beside[NWORKS] = {0};

    PetscCall(RunCase(b, name, &walls, all, beside, PETSC_TRUE));
    PetscCall(RunCase(b, name, &c, all, beside, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside 2^m + 1 points */
static PetscErrorCode RunSizes(Bench *b, const char *name, PetscInt dim)
{
  static const Work     all[]       = {SOLVER, CG, CYCLE, NWORKS};
  static const PetscInt sizes2[][2] = {{1025, 1025}, {1023, 1023}, {1024, 1024}, {768, 768}, {1000, 1000}, {2000, 250}},
                        sizes3[]    = {129, 127, 128, 96, 100};

  PetscFunctionBegin;
  for (int smooth = 0; smooth < (b->constant ? 1 : 2); smooth++) {
    PetscReal beside[NWORKS] = {0};

    for (int i = 0; i < (dim == 2 ? 6 : 5); i++) {
      Case c = CaseOf(b, dim, dim == 2 ? sizes2[i][0] : sizes3[i], WALLS_OUTSIDE, (PetscBool)smooth);

      if (dim == 2) c.n[1] = sizes2[i][1];
      PetscCall(RunCase(b, name, &c, all, beside, (PetscBool)!i));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a program waits for before its first answer, beside what a second one takes. Both find the right-hand side where they compute: its
   way to a GPU is no part of a first solve */
static PetscErrorCode RunFirst(Bench *b, const char *name, PetscInt dim)
{
  static const char *const what[] = {"set-up", "second solve", "first solve"};
  const Work               w      = b->first_cg ? CG : SOLVER;
  const Case               c      = CaseOf(b, dim, b->n[dim], WALLS_OUTSIDE, PETSC_FALSE);
  Times                    t[3]   = {{.n = 1}, {.n = 1}, {.n = 1}};
  PetscReal                second = 0, residual;
  PetscBool                good;
  PetscInt                 its;
  DM                       da;
  Mat                      A;
  Vec                      rhs, x;
  KSP                      ksp;

  PetscFunctionBegin;
  PetscCall(CaseCreateDM(&c, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &rhs));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(CaseFill(&c, da, A, rhs));
  PetscCall(VecScale(rhs, 2.0));
  for (int i = 0; i < 3; i++) {
    Times         *to = &t[(const int[]){0, 2, 1}[i]];
    PetscLogDouble t0 = 0, t1 = 0;

    PetscCall(MachineTime(&b->machine, &t0));
    if (i) PetscCall(WorkRun(w, ksp, A, rhs, x, &its));
    else PetscCall(WorkCreate(w, da, A, &ksp));
    PetscCall(MachineTime(&b->machine, &t1));
    to->s[0] = t1 - t0;
  }
  PetscCall(ProblemCheckResidual(ksp, &residual, &good));
  PetscCheck(good, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s: not solved", name);
  for (int i = 0; i < 3; i++) {
    PetscCall(Report(b, name, &c, what[i], w, i ? its : 0, &t[i], i == 2 ? second : 0));
    second = 1e9 * t[i].s[0] / ((PetscReal)c.n[0] * c.n[1] * c.n[2]);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define NCASES 8

int main(int argc, char **argv)
{
  Bench       b             = {.repetitions = 5, .n = {0, 0, 513, 65}};
  const char *cases[NCASES] = {"walls2d", "walls3d", "periods2d", "periods3d", "sizes2d", "sizes3d", "first2d", "first3d"};
  PetscErrorCode (*const run[])(Bench *, const char *, PetscInt) = {RunWalls, RunPeriods, RunSizes, RunFirst};
  PetscBool wanted[NCASES], go = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRepetitions(&b.repetitions));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b.n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b.n[3], NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-identity", &b.identity, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-first_cg", &b.first_cg, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-constant", &b.constant, NULL));
  PetscCall(MachineOpen(&b.machine));
  PetscCall(OutputOpen("case,size,coefficient,program,work,repetitions,its,least_ms,spread,beside", &b.out));
  PetscCall(ReadNames("-cases", NCASES, cases, 6, wanted));
  PetscCall(ReadNames("-works", NWORKS, work_names, NWORKS, b.works));
  for (int i = 0; i < NCASES; i++) {
    if (!wanted[i]) continue;
    PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, cases[i], &go));
    if (go) PetscCall(run[i / 2](&b, cases[i], 2 + i % 2));
  }
  PetscCall(MachineClose(&b.machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
