/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3, long: 1 2, nan: 1 */
/*
   Lives of KSPs, at random: two KSPs share matrices of several grids and types, whose values and whose users change between solves in ways
   that a program has: scaled, shifted, filled anew, rows made identity rows, other matrices, types, options, preconditioners used again,
   KSPReset(). A solve that says converged is right; one with a preconditioner that is up to date converges.
   Options: -lives N, -first I, -only I (which says each step)
*/
#include "hjproblem.h"
#include <stdint.h>

enum { MATRICES = 10, KSPS = 2, STEPS = 40 };

/* 432 unknowns each, so that on one rank a KSP may go from any to any other; each has two matrices, AIJ and hjstencil */
static const struct {
  PetscInt  dim, n[3], dof;
  PetscBool ring; /* periodic in x */
} grids[MATRICES / 2] = {{2, {24, 18, 1}, 1, PETSC_FALSE},
                         {2, {18, 24, 1}, 1, PETSC_FALSE},
                         {2, {12, 18, 1}, 2, PETSC_FALSE},
                         {3, {9, 6, 8}, 1, PETSC_FALSE},
                         {2, {24, 18, 1}, 1, PETSC_TRUE}};

typedef struct {
  DM        da;
  Mat       A;
  Vec       b, x;
  PetscBool symmetric;
  PetscInt  changes; /* counts them */
} System;

typedef struct {
  KSP       ksp;
  int       at, by; /* whose matrices are its Amat and Pmat */
  PetscInt  set_up; /* changes of the Pmat when it was set up last */
  int       set_up_by;
  PetscBool reuse, guess, apart; /* apart: Pmat had other values than Amat once */
} Solver;

typedef struct {
  uint64_t  state;
  PetscBool says;
  System    system[MATRICES];
  Solver    solver[KSPS];
  char      last[128];
} Life;

static PetscInt failed, solved, ended;

static uint64_t Random(Life *l)
{
  uint64_t z = l->state += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int Below(Life *l, int n)
{
  return (int)(Random(l) >> 33) % n;
}

static PetscReal Uniform(Life *l, PetscReal low, PetscReal high)
{
  return low + (high - low) * (PetscReal)(Random(l) >> 11) / 9007199254740992.0;
}

static void Say(Life *l, const char *what, int i, int j)
{
  PetscMPIInt rank;

  (void)MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  (void)snprintf(l->last, sizeof(l->last), "%s %d %d", what, i, j);
  if (l->says && !rank) fprintf(HJTestStream(), "# %s\n", l->last);
}

static PetscReal Conductance(PetscInt salt, PetscInt i, PetscInt j)
{
  return 1.5 + PetscSinReal((PetscReal)(salt + 3 * i) * 0.7 + (PetscReal)j * 0.3);
}

/* A star of conductances for each unknown of a point, which are coupled there; flow: unsymmetric */
static PetscErrorCode Fill(System *s, PetscInt salt, PetscBool flow)
{
  DMDALocalInfo f;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(s->da, &f));
  for (PetscInt r = 0; r < f.xm * f.ym * f.zm * f.dof; r++) {
    const PetscInt   N[3] = {f.mx, f.my, f.mz}, c = r % f.dof, point = r / f.dof;
    const PetscInt   at[3] = {f.xs + point % f.xm, f.ys + point / f.xm % f.ym, f.zs + point / f.xm / f.ym};
    const MatStencil row   = {.i = at[0], .j = at[1], .k = at[2], .c = c};
    MatStencil       col[8];
    PetscScalar      v[8];
    PetscInt         n = 1;

    col[0] = row;
    v[0]   = f.dof > 1 ? 0.5 : 0.0;
    for (int o = 0; o < 2 * f.dim; o++) {
      const int       d = o / 2, side = o % 2 ? 1 : -1;
      const PetscBool ring  = (PetscBool)(!d && f.bx == DM_BOUNDARY_PERIODIC);
      PetscInt        to[3] = {at[0], at[1], at[2]}, face[3] = {2 * at[0], 2 * at[1], 2 * at[2]};
      PetscReal       a;

      to[d] += side;
      face[d] += side;
      if (ring) face[0] = (face[0] + 2 * N[0]) % (2 * N[0]); /* one number from both of its sides */
      a = Conductance(salt, face[0], face[1] + 5 * face[2]) * (flow && !d && side > 0 ? 1.5 : 1.0);
      v[0] += a;
      if (!ring && (to[d] < 0 || to[d] >= N[d])) continue;
      col[n] = (MatStencil){.i = to[0], .j = to[1], .k = to[2], .c = c};
      v[n++] = -a;
    }
    if (f.dof > 1) {
      col[n]   = row;
      col[n].c = 1 - c;
      v[n++]   = -0.3;
    }
    PetscCall(MatSetValuesStencil(s->A, 1, &row, n, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->A, MAT_FINAL_ASSEMBLY));
  s->symmetric = (PetscBool)!flow;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeSystem(int i, System *s)
{
  const PetscInt *n = grids[i / 2].n;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &s->da));
  PetscCall(DMSetDimension(s->da, grids[i / 2].dim));
  PetscCall(DMDASetSizes(s->da, n[0], n[1], n[2]));
  PetscCall(DMDASetDof(s->da, grids[i / 2].dof));
  PetscCall(DMDASetBoundaryType(s->da, grids[i / 2].ring ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE));
  PetscCall(DMDASetStencilWidth(s->da, 1));
  PetscCall(DMDASetStencilType(s->da, DMDA_STENCIL_STAR));
  PetscCall(DMSetMatType(s->da, i % 2 ? MATHJSTENCIL : MATAIJ));
  PetscCall(DMSetUp(s->da));
  PetscCall(DMCreateMatrix(s->da, &s->A));
  PetscCall(MatSetOption(s->A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE)); /* rows that MatZeroRows() has emptied are filled again */
  PetscCall(DMCreateGlobalVector(s->da, &s->b));
  PetscCall(VecDuplicate(s->b, &s->x));
  PetscCall(ProblemVector(s->da, 1, s->b));
  PetscCall(Fill(s, i, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some rows of each rank */
static PetscErrorCode ZeroRows(Life *l, System *s, PetscBool columns)
{
  const PetscInt first = Below(l, 7), step = 5 + Below(l, 30);
  PetscInt       lo, hi, n = 0, rows[512];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(s->A, &lo, &hi));
  for (PetscInt r = lo + first; r < hi; r += step) rows[n++] = r;
  if (columns) PetscCall(MatZeroRowsColumns(s->A, n, rows, 2.0, NULL, NULL));
  else PetscCall(MatZeroRows(s->A, n, rows, 2.0, NULL, NULL));
  if (!columns) s->symmetric = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of the points at the boundary, where there is one */
static PetscErrorCode ZeroBoundaryRows(Life *l, System *s, PetscBool columns)
{
  const PetscReal diagonal = PetscPowReal(10.0, Uniform(l, -3, 3));
  DMDALocalInfo   f;
  PetscInt        n = 0;
  MatStencil      rows[512];

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(s->da, &f));
  for (PetscInt r = 0; r < f.xm * f.ym * f.zm * f.dof; r++) {
    const PetscInt  point = r / f.dof, i = f.xs + point % f.xm, j = f.ys + point / f.xm % f.ym, k = f.zs + point / f.xm / f.ym;
    const PetscBool x = (PetscBool)(f.bx != DM_BOUNDARY_PERIODIC && (!i || i == f.mx - 1));
    const PetscBool z = (PetscBool)(f.dim > 2 && (!k || k == f.mz - 1));

    if (x || !j || j == f.my - 1 || z) rows[n++] = (MatStencil){.i = i, .j = j, .k = k, .c = r % f.dof};
  }
  if (columns) PetscCall(MatZeroRowsColumnsStencil(s->A, n, rows, diagonal, NULL, NULL));
  else PetscCall(MatZeroRowsStencil(s->A, n, rows, diagonal, NULL, NULL));
  if (!columns) s->symmetric = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeValues(Life *l, int i)
{
  System   *s    = &l->system[i];
  const int what = Below(l, 10);
  Vec       d;

  PetscFunctionBegin;
  Say(l, "values of a matrix change, by way", i, what);
  s->changes++;
  switch (what) {
  case 0:
    PetscCall(MatScale(s->A, Uniform(l, 0.2, 5)));
    break;
  case 1:
    PetscCall(MatShift(s->A, Uniform(l, 0, 0.2)));
    break;
  case 2:
    PetscCall(VecDuplicate(s->b, &d));
    PetscCall(ProblemVector(s->da, 5 + Below(l, 20), d));
    PetscCall(VecScale(d, 0.2));
    PetscCall(VecShift(d, 1.0));
    PetscCall(MatDiagonalScale(s->A, d, d));
    PetscCall(VecDestroy(&d));
    break;
  case 3:
  case 4:
    PetscCall(ZeroRows(l, s, (PetscBool)(what == 3)));
    break;
  case 7:
  case 8:
    PetscCall(ZeroBoundaryRows(l, s, (PetscBool)(what == 7)));
    break;
  case 9:
    PetscCall(MatScale(s->A, PetscPowReal(10.0, Uniform(l, -4, 4))));
    break;
  default:
    PetscCall(Fill(s, Below(l, 50), (PetscBool)(what == 6)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that a KSP with these may get */
static int Another(Life *l, int i)
{
  PetscMPIInt size;

  (void)MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size == 1 ? Below(l, MATRICES) : i / 2 * 2 + Below(l, 2);
}

static PetscErrorCode SetOperators(Life *l, Solver *v, int at, int by)
{
  PC pc;

  PetscFunctionBegin;
  Say(l, "matrices of a KSP", at, by);
  v->at    = at;
  v->by    = by;
  v->apart = (PetscBool)(at != by);
  PetscCall(KSPSetOperators(v->ksp, l->system[at].A, l->system[by].A));
  PetscCall(KSPGetPC(v->ksp, &pc));
  PetscCall(PCSetDM(pc, l->system[by].da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOptions(Life *l, Solver *v)
{
  const int      what = Below(l, 7);
  const PetscInt k    = 1 + Below(l, 8);
  PC             pc;

  PetscFunctionBegin;
  Say(l, "an option of a KSP", (int)(v - l->solver), what);
  PetscCall(KSPGetPC(v->ksp, &pc));
  if (what == 0) PetscCall(PCHJMGSetK(pc, 1, &k));
  if (what == 1) PetscCall(PCHJMGSetLevels(pc, 1 + Below(l, 4)));
  if (what == 2) PetscCall(PCHJMGSetLevels(pc, PETSC_DECIDE));
  if (what == 3) PetscCall(PCHJMGSetTransfer(pc, (PCHJMGTransfer)Below(l, 2)));
  if (what == 4)
    PetscCall(
      PCHJMGSetPrecision(pc, Below(l, 2) ? PC_HJMG_PRECISION_SINGLE : HJ_BY_PRECISION(PC_HJMG_PRECISION_DOUBLE, PC_HJMG_PRECISION_AUTO)));
  if (what == 5) PetscCall(PCHJMGSetCoarseSolve(pc, (PCHJMGCoarseSolve)Below(l, 3)));
  if (what == 6) PetscCall(PCHJacobiSetK(pc, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeSolver(Life *l, Solver *v)
{
  const int what = Below(l, 8), i = (int)(v - l->solver);
  PC        pc;

  PetscFunctionBegin;
  if (what < 2) {
    const int at = Another(l, v->at);

    PetscCall(SetOperators(l, v, at, Below(l, 3) ? at : at / 2 * 2 + Below(l, 2)));
  } else if (what == 2) {
    v->reuse = (PetscBool)!v->reuse;
    Say(l, "reuse of a KSP", i, v->reuse);
    PetscCall(KSPSetReusePreconditioner(v->ksp, v->reuse));
    if (!v->reuse) PetscCall(SetOperators(l, v, v->at, v->by)); /* else KSPRICHARDSON asks the PC what it can before it is set up anew */
  } else if (what == 3) {
    const PCType types[] = {PCHJMG, PCHJACOBI, PCHJMG, PCJACOBI};
    const int    t       = Below(l, 4);

    Say(l, "type of a KSP's PC", i, t);
    PetscCall(KSPGetPC(v->ksp, &pc));
    PetscCall(PCSetType(pc, types[t]));
    v->set_up = -1;
  } else if (what == 4) {
    Say(l, "reset of a KSP", i, 0);
    PetscCall(KSPReset(v->ksp));
    PetscCall(SetOperators(l, v, v->at, v->by));
    v->set_up = -1;
  } else if (what == 5) {
    v->guess = (PetscBool)!v->guess;
    PetscCall(KSPSetInitialGuessNonzero(v->ksp, v->guess));
  } else PetscCall(SetOptions(l, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetType(Life *l, Solver *v)
{
  const KSPType any[] = {KSPGMRES, KSPFGMRES, KSPRICHARDSON, KSPHJRICHARDSON, KSPGCR, KSPCG, KSPHJCG, KSPHJRICHARDSON, KSPHJCG};
  const int     t     = Below(l, l->system[v->at].symmetric && l->system[v->by].symmetric ? 9 : 5);
  const PCSide  side  = t < 2 || t == 4 ? PC_RIGHT : PC_LEFT;

  PetscFunctionBegin;
  Say(l, "type of a KSP", (int)(v - l->solver), t);
  PetscCall(KSPSetType(v->ksp, any[t]));
  PetscCall(KSPSetPCSide(v->ksp, side));
  PetscCall(KSPSetNormType(v->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(const System *s, PetscBool transposed, PetscReal *relative)
{
  Vec       r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(s->b, &r));
  if (transposed) PetscCall(MatMultTranspose(s->A, s->x, r));
  else PetscCall(MatMult(s->A, s->x, r));
  PetscCall(VecAYPX(r, -1.0, s->b));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(s->b, NORM_2, &norm));
  *relative /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Life *l, Solver *v)
{
  System            *s          = &l->system[v->at];
  const PetscBool    transposed = (PetscBool)!Below(l, 8);
  PC                 pc;
  PCType             pctype;
  KSPType            type;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          relative;
  PetscBool          current, right;

  PetscFunctionBegin;
  PetscCall(SetType(l, v));
  PetscCall(KSPGetPC(v->ksp, &pc));
  PetscCall(PCGetType(pc, &pctype));
  PetscCall(KSPGetType(v->ksp, &type));
  if (!v->guess) PetscCall(VecSet(s->x, 0.0));
  if (transposed) PetscCall(KSPSolveTranspose(v->ksp, s->b, s->x));
  else PetscCall(KSPSolve(v->ksp, s->b, s->x));
  PetscCall(KSPGetConvergedReason(v->ksp, &reason));
  if (reason == KSP_CONVERGED_ITS) reason = KSP_DIVERGED_ITS; /* KSPGCR's word for it */
  PetscCall(KSPGetIterationNumber(v->ksp, &its));
  PetscCall(Residual(s, transposed, &relative));
  current = (PetscBool)(!v->reuse && !v->apart && !strcmp(pctype, PCHJMG));
  right   = (PetscBool)(reason > 0 ? relative < HJTestDigits(1e-6) : !current);
  if (reason < 0) PetscCall(VecSet(s->x, 0.0)); /* no guess for the next one */
  solved += reason > 0;
  ended += reason <= 0;
  if (!right) failed++;
  if (l->says || !right) {
    PetscMPIInt rank;

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (!rank)
      fprintf(HJTestStream(), "# %s solve of %d%s by %s, %s, matrices %d %d, %s%s: %s after %d, residual %g; before: %s\n",
              right ? "" : "BAD", (int)(v - l->solver), transposed ? " transposed" : "", type, pctype, v->at, v->by,
              v->reuse ? "reuse" : "", v->guess ? " guess" : "", KSPConvergedReasons[reason], (int)its, (double)relative, l->last);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Live(int number, PetscBool says)
{
  Life l = {.state = 7919u * (uint64_t)(number + 1), .says = says};
  PC   pc;

  PetscFunctionBegin;
  for (int i = 0; i < MATRICES; i++) PetscCall(MakeSystem(i, &l.system[i]));
  for (int i = 0; i < KSPS; i++) {
    const int at = Below(&l, MATRICES);

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &l.solver[i].ksp));
    PetscCall(KSPSetTolerances(l.solver[i].ksp, HJTestDigits(1e-9), PETSC_DEFAULT, 1e12, 300));
    PetscCall(KSPGetPC(l.solver[i].ksp, &pc));
    PetscCall(PCSetType(pc, Below(&l, 3) ? PCHJMG : PCHJACOBI));
    PetscCall(SetOperators(&l, &l.solver[i], at, at));
  }
  for (int step = 0; step < STEPS; step++) {
    Solver   *v    = &l.solver[Below(&l, KSPS)];
    const int what = Below(&l, 10);

    if (what < 3) PetscCall(ChangeValues(&l, Below(&l, MATRICES)));
    else if (what < 5) PetscCall(ChangeSolver(&l, v));
    else PetscCall(Solve(&l, v));
  }
  for (int i = 0; i < KSPS; i++) PetscCall(KSPDestroy(&l.solver[i].ksp));
  for (int i = 0; i < MATRICES; i++) {
    System *s = &l.system[i];

    PetscCall(HJTestDestroy(&s->A, &s->b, &s->x, &s->da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  lives = 40, first = 0, only = -1;
  PetscBool says, only_long;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(HJTestLong(&only_long));
  if (only_long) lives = 400;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lives", &lives, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, &says));
  if (says) first = only;
  if (says) lives = 1;
  for (PetscInt i = first; i < first + lives; i++) {
    const PetscInt before = failed;

    PetscCall(Live((int)i, says));
    if (failed > before) PetscCall(HJTestOK(PETSC_FALSE, "life %" PetscInt_FMT, i));
  }
  PetscCall(HJTestOK((PetscBool)!failed, "%" PetscInt_FMT " lives: %" PetscInt_FMT " solves converged, %" PetscInt_FMT " did not", lives,
                     solved, ended));
  return HJTestEnd();
}
