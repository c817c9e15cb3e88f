/* SPDX-License-Identifier: BSD-2-Clause */
/* hjmg with several unknowns a point of which none is coupled to another: each component has the numbers that it has alone, to the bit; new
   values, transposes, null spaces, what has no inverse, components that share a hierarchy. ranks: 1 2 4 */
#include "hjsystemcase.h"
#include "hjelasticity.h"
#include "hjcapture.h"

/* What a component of Diffusion() is like */
typedef struct {
  PetscReal weak[3]; /* couplings in each direction */
  PetscReal smooth;  /* they vary by this share */
  PetscReal flow;    /* convection along x */
  PetscBool walls;   /* rows of the points at the ends of x are a diagonal alone */
} Part;

/* -factor div k grad of each component, 0 beyond the walls */
static PetscErrorCode Diffusion(DM da, const Part part[], PetscInt dof, PetscReal factor, Mat A)
{
  PetscInt       dim, N[3], lo[3], w[3], p[3];
  DMBoundaryType b[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  for (p[2] = lo[2]; p[2] < lo[2] + w[2]; p[2]++) {
    for (p[1] = lo[1]; p[1] < lo[1] + w[1]; p[1]++) {
      for (p[0] = lo[0]; p[0] < lo[0] + w[0]; p[0]++) {
        for (PetscInt c = 0; c < dof; c++) {
          const MatStencil row  = {.i = p[0], .j = p[1], .k = p[2], .c = c};
          PetscScalar      diag = 0.0;

          for (PetscInt side = 0; side < 2 * dim; side++) {
            const PetscInt  d = side / 2, sign = side % 2 ? 1 : -1, q = p[d] + sign;
            const PetscReal place = p[0] + 0.5 * p[1] + 0.25 * p[2] + 0.5 * sign * (d == 0 ? 1.0 : d == 1 ? 0.5 : 0.25);
            const PetscReal k     = factor * part[c].weak[d] * (1.0 + part[c].smooth * PetscSinReal(0.2 * place));
            PetscScalar     v     = -k - (side == 0 ? part[c].flow : 0.0);
            MatStencil      col   = row;

            if (part[c].walls && (!p[0] || p[0] == N[0] - 1)) continue;
            diag -= v;
            *(d == 0 ? &col.i : d == 1 ? &col.j : &col.k) += sign;
            if (b[d] == DM_BOUNDARY_NONE && (q < 0 || q >= N[d])) continue;
            PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
          }
          if (diag == 0.0) diag = 1.0;
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &diag, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a PC is asked for */
typedef enum { APPLY, TRANSPOSE, CYCLES, MORE_CYCLES, NACTIONS, SOLVE_ZERO = NACTIONS, SOLVE } Action;

/* Three rotated cycles, of which the KSP tests the residual */
static PetscErrorCode ActSolve(PC pc, Action action, Vec b, Vec x)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-50, 1e-50, PETSC_DEFAULT, 3));
  PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(action == SOLVE)));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Act(PC pc, Action action, Vec b, Vec x)
{
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  if (action == APPLY) PetscCall(PCApply(pc, b, x));
  else if (action >= NACTIONS) PetscCall(ActSolve(pc, action, b, x));
  else if (action == TRANSPOSE) PetscCall(PCApplyTranspose(pc, b, x));
  else PetscCall(PCApplyRichardson(pc, b, x, NULL, 0, 0, 0, 2, (PetscBool)(action == CYCLES), &its, &reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewPC(DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(ProblemPC(da, A, PCHJMG, pc));
  PetscCall(PCHJMGSetPrecision(*pc, ALL_DIGITS));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of component c of a result from that of a PC that has this component alone, of the same right-hand side */
static PetscErrorCode Compare(PC all, PC one, DM da, PetscInt dof, PetscInt c, Action action, PetscReal *most)
{
  Mat       A[2];
  Vec       b[2], x[2], part;
  PetscReal diff;
  DM        single;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(all, &A[0], NULL));
  PetscCall(PCGetOperators(one, &A[1], NULL));
  PetscCall(PCGetDM(one, &single));
  for (int i = 0; i < 2; i++) PetscCall(MatCreateVecs(A[i], &x[i], &b[i]));
  PetscCall(VecDuplicate(x[1], &part));
  PetscCall(SystemVector(da, dof, -1, 1, b[0]));
  PetscCall(SystemVector(da, dof, c, 1, b[1]));
  PetscCall(SystemVector(da, dof, -1, 2, x[0]));
  PetscCall(SystemVector(da, dof, c, 2, x[1]));
  PetscCall(Act(all, action, b[0], x[0]));
  PetscCall(Act(one, action, b[1], x[1]));
  PetscCall(VecSetBlockSize(x[0], dof));
  PetscCall(VecStrideGather(x[0], c, part, INSERT_VALUES));
  PetscCall(VecAXPY(part, -1.0, x[1]));
  PetscCall(VecNorm(part, NORM_INFINITY, &diff));
  *most = diff > 0.0 || diff == 0.0 ? PetscMax(*most, diff) : PETSC_INFINITY;
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&b[i]));
    PetscCall(VecDestroy(&x[i]));
  }
  PetscCall(VecDestroy(&part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandom(PetscInt which, const char *mattype)
{
  System    s;
  DM        da, one;
  Mat       A, B;
  PC        all, single;
  PetscReal most = 0.0;
  PetscBool holds;
  char      name[256];

  PetscFunctionBegin;
  PetscCall(SystemRandomCase(which, &s));
  s.coupling = SYSTEM_ALONE;
  PetscCall(SystemName(&s, name, sizeof(name)));
  PetscCall(SystemCreate(&s, mattype, &da, &A));
  PetscCall(NewPC(da, A, &all));
  PetscCall(ViewHolds(all, "components that are not coupled", &holds));
  for (PetscInt c = 0; c < s.dof; c++) {
    PetscCall(SystemDM(&s, 1, mattype, &one));
    PetscCall(DMCreateMatrix(one, &B));
    PetscCall(SystemFill(&s, one, c, B));
    PetscCall(NewPC(one, B, &single));
    for (int a = 0; a < NACTIONS; a++) PetscCall(Compare(all, single, da, s.dof, c, (Action)a, &most));
    PetscCall(HJTestDestroy(&single, &B, &one));
  }
  PetscCall(HJTestOK((PetscBool)(most == 0.0 && holds), "%s, %s: each component is as if it were alone (%g)", mattype, name, (double)most));
  PetscCall(HJTestDestroy(&all, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of Diffusion() */
typedef struct {
  const char    *name;
  PetscInt       dim, n, dof;
  DMBoundaryType boundary;
  Part           part[4];
  const char    *words; /* in the view */
} Case;

/* The null space of a matrix: constants of all components, or (component >= 0) of one */
static PetscErrorCode TellNull(Mat A, PetscInt dof, PetscInt component)
{
  MatNullSpace null;
  Vec          v = NULL;

  PetscFunctionBegin;
  if (component >= 0) {
    PetscCall(MatCreateVecs(A, &v, NULL));
    PetscCall(VecSetBlockSize(v, dof));
    PetscCall(VecSet(v, 0.0));
    PetscCall(VecStrideSet(v, component, 1.0));
    PetscCall(VecNormalize(v, NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, (PetscBool)!v, v ? 1 : 0, &v, &null));
  PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares what all components' PC does with those of each alone, of the same values. null: -2 none, -1 constants, else those of one. The
   solver's cycles are rotated where no component has layers that are known or rows that are scaled, as those of convection may be, and no
   null space was told */
static PetscErrorCode CompareCase(const Case *t, PC all, DM da, PetscReal factor, PetscInt null, PetscReal *most)
{
  PetscBool rotates = (PetscBool)(null == -2);

  PetscFunctionBegin;
  for (PetscInt c = 0; c < t->dof; c++) rotates = (PetscBool)(rotates && !t->part[c].walls && t->part[c].flow == 0.0);
  for (PetscInt c = 0; c < t->dof; c++) {
    DM  one;
    Mat B;
    PC  single;

    PetscCall(SystemGrid(t->dim, t->n, 1, t->boundary, PETSC_FALSE, &one));
    PetscCall(DMCreateMatrix(one, &B));
    PetscCall(Diffusion(one, &t->part[c], 1, factor, B));
    if (null == -1 || null == c) PetscCall(TellNull(B, 1, -1));
    PetscCall(NewPC(one, B, &single));
    for (int a = 0; a <= (rotates ? SOLVE : NACTIONS - 1); a++) PetscCall(Compare(all, single, da, t->dof, c, (Action)a, most));
    PetscCall(HJTestDestroy(&single, &B, &one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with new values in the same matrix, and with these in a PC that is new */
static PetscErrorCode TestCase(const Case *t, PetscInt null)
{
  DM        da;
  Mat       A;
  PC        pc;
  PetscReal most[2] = {0.0, 0.0};
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(SystemGrid(t->dim, t->n, t->dof, t->boundary, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  for (int values = 0; values < 2; values++) {
    PetscCall(Diffusion(da, t->part, t->dof, values ? 3.0 : 1.0, A));
    if (!values && null > -2) PetscCall(TellNull(A, t->dof, null));
    if (!values) PetscCall(NewPC(da, A, &pc));
    else PetscCall(PCSetUp(pc));
    PetscCall(CompareCase(t, pc, da, values ? 3.0 : 1.0, null, &most[values]));
  }
  PetscCall(ViewHolds(pc, t->words, &holds));
  PetscCall(HJTestOK((PetscBool)(most[0] == 0.0 && most[1] == 0.0 && holds),
                     "%s: each component is as if it were alone (%g), with new values (%g); %s", t->name, (double)most[0], (double)most[1],
                     t->words));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, PetscInt *its, KSPConvergedReason *reason)
{
  Mat A;
  Vec b, x;
  DM  da;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SystemVector(da, 3, -1, 1, b));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* where set-up failed PETSc writes infinity */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscFPTrapPop());
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves by several methods; then a component that is no number, all good again, and two that are coupled from now on */
static PetscErrorCode TestLife(KSPType type, KSPNormType norm)
{
  const Part         part[3] = {{{1, 1, 1}, 0.3, 0, PETSC_FALSE}, {{1, 1, 1}, 0, 0, PETSC_FALSE}, {{1, 0.01, 1}, 0, 0, PETSC_TRUE}};
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  PetscInt           its[4], row, levels;
  KSPConvergedReason reason[4];
  PetscBool          holds;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 65, 3, DM_BOUNDARY_NONE, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(ProblemSetDM(ksp, da));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetNormType(ksp, norm));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  row++;
  for (int i = 0; i < 4; i++) {
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(Diffusion(da, part, 3, 1.0 + i, A));
    if (i % 2) PetscCall(MatSetValue(A, row, i == 1 ? row : row + 1, i == 1 ? (PetscScalar)HUGE_VAL : 0.1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, &its[i], &reason[i]));
  }
  PetscCall(PCHJMGGetLevels(pc, &levels));
  PetscCall(ViewHolds(pc, "65 x 65 points of 3 unknowns", &holds));
  PetscCall(HJTestOK((PetscBool)(reason[0] > 0 && reason[1] == KSP_DIVERGED_PC_FAILED && reason[2] > 0 && its[2] == its[0] &&
                                 reason[3] > 0 && its[0] < 12 && holds && levels > 1),
                     "%s, %s: %" PetscInt_FMT " iterations (%d), a component that is no number (%d), good again %" PetscInt_FMT
                     " (%d), coupled %" PetscInt_FMT " (%d)",
                     type, KSPNormTypes[norm], its[0], (int)reason[0], (int)reason[1], its[2], (int)reason[2], its[3], (int)reason[3]));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, of which a preconditioner that is used again knows nothing: the answer is that of the new system. its: cycles without a test,
   0: until its residual is small */
static PetscErrorCode TestReuse(PetscInt its)
{
  const Part         part[3] = {{{1, 1, 1}, 0.3, 0, PETSC_FALSE}, {{1, 1, 1}, 0, 0, PETSC_FALSE}, {{1, 1, 1}, 0, 0, PETSC_FALSE}};
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                b, x, r;
  PetscReal          norm[2];
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 40, 3, DM_BOUNDARY_NONE, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Diffusion(da, part, 3, 1.0, A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(ProblemSetDM(ksp, da));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, its ? KSP_NORM_NONE : KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, its ? its : 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(Diffusion(da, part, 3, 1.3, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SystemVector(da, 3, -1, 1, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(VecNorm(r, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && norm[1] <= 1.1e-8 * norm[0]), "new values, %s: the old ones' cycles solve these (%g)",
                     its ? "cycles without a test" : "cycles with a test", (double)(norm[1] / norm[0])));
  PetscCall(HJTestDestroy(&b, &x, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Part plain = {{1, 1, 1}, 0, 0, PETSC_FALSE}, weak = {{1, 0.01, 1}, 0, 0, PETSC_FALSE}, smooth = {{1, 1, 1}, 0.5, 0, PETSC_FALSE},
             flow = {{1, 1, 1}, 0, 0.5, PETSC_FALSE}, walls = {{1, 1, 1}, 0.5, 0, PETSC_TRUE};
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const Case cases[]  = {{"2D, the same", 2, 65, 3, none, {plain, plain, plain}, "component 0 1 2, which have the same coefficients"},
                         {"2D, all different", 2, 65, 4, none, {plain, weak, smooth, walls}, "4 components that are not coupled"},
                         {"2D, convection", 2, 40, 2, none, {flow, plain}, "2 components that are not coupled"},
                         {"2D, walls", 2, 33, 2, none, {walls, walls}, "component 0 1, which have the same coefficients"},
                         {"3D", 3, 20, 3, none, {smooth, plain, smooth}, "component 0 2, which have the same coefficients"},
                         {"1D", 1, 500, 2, none, {smooth, plain}, "2 components that are not coupled"}};
  const Case singular = {"periodic", 2, 48, 3, periodic, {plain, smooth, plain}, "3 components that are not coupled"};
  PetscBool  gpu;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemOnGPU(&gpu));
  for (PetscInt i = 0; i < 36; i++) {
    PetscCall(TestRandom(i, MATHJSTENCIL));
    if (i % 3 == 0 && !gpu) PetscCall(TestRandom(i, MATAIJ));
  }
  if (gpu) PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type cuda"));
  PetscCall(PetscOptionsInsertString(NULL, "-dm_mat_type hjstencil"));
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) PetscCall(TestCase(&cases[i], -2));
  PetscCall(TestCase(&singular, -1));
  PetscCall(TestCase(&singular, 1));
  PetscCall(TestLife(KSPCG, KSP_NORM_PRECONDITIONED));
  PetscCall(TestLife(KSPGMRES, KSP_NORM_PRECONDITIONED));
  PetscCall(TestLife(KSPRICHARDSON, KSP_NORM_UNPRECONDITIONED));
  PetscCall(TestReuse(0));
  PetscCall(TestReuse(40));
  return HJTestEnd();
}
