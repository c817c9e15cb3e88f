/* SPDX-License-Identifier: BSD-2-Clause */
/* hjacobi with several unknowns a point: cycles against a loop of products and PCPBJACOBI, components that are alone against one unknown a
   point, bounds, blocks that have no inverse. ranks: 1 2 3 4 */
#include "hjsystemcase.h"

static PetscErrorCode NewPC(Mat A, DM da, PetscInt k, PC *pc)
{
  PetscBool gpu;

  PetscFunctionBegin;
  PetscCall(ProblemPC(da, A, PCHJACOBI, pc));
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(PCHJacobiSetBackend(*pc, gpu ? PC_HJACOBI_BACKEND_CUDA : PC_HJACOBI_BACKEND_HOST));
  PetscCall(PCHJacobiSetOperator(*pc, PC_HJACOBI_OPERATOR_STENCIL));
  PetscCall(PCHJacobiSetK(*pc, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles as MatMult() and PCPBJACOBI do them */
static PetscErrorCode Naive(Mat A, PetscInt its, PetscInt k, const PetscReal *w, Vec b, Vec x)
{
  PC  pb;
  Vec r, d;

  PetscFunctionBegin;
  PetscCall(ProblemPC(NULL, A, PCPBJACOBI, &pb));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(VecDuplicate(x, &d));
  for (PetscInt j = 0; j < its * k; j++) {
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(PCApply(pb, r, d));
    PetscCall(VecAXPY(x, w[j % k], d));
  }
  PetscCall(HJTestDestroy(&r, &d, &pb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From zero by PCApply(), from what x holds by PCApplyRichardson(), and the transpose by what inner products say */
static PetscErrorCode TestCycles(const System *s, const char *mattype)
{
  const PetscInt              k = 1 + (s->n[0] + s->dof) % 7;
  DM                          da;
  Mat                         A;
  PC                          pc;
  Vec                         b, x, y, z;
  PetscInt                    nk, its;
  const PetscReal            *w;
  PetscReal                   diff[2];
  PetscScalar                 dot[2];
  PetscBool                   agree[2];
  PCRichardsonConvergedReason reason;
  char                        name[256];

  PetscFunctionBegin;
  PetscCall(SystemCreate(s, mattype, &da, &A));
  PetscCall(NewPC(A, da, k, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetWeights(pc, &nk, &w));
  PetscCall(ProblemVectors(da, &b, &x, &y, &z));
  PetscCall(SystemVector(da, s->dof, -1, 1, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecSet(y, 0.0));
  PetscCall(Naive(A, 1, k, w, b, y));
  PetscCall(VecsAgree(x, y, 256 * PETSC_MACHINE_EPSILON * k * k, &agree[0], &diff[0]));
  PetscCall(SystemVector(da, s->dof, -1, 2, z));
  PetscCall(PCApplyTranspose(pc, z, y));
  PetscCall(VecDot(x, z, &dot[0]));
  PetscCall(VecDot(b, y, &dot[1]));
  PetscCall(VecCopy(z, x));
  PetscCall(VecCopy(z, y));
  PetscCall(PCApplyRichardson(pc, b, x, z, 0, 0, 0, 3, PETSC_FALSE, &its, &reason));
  PetscCall(Naive(A, 3, k, w, b, y));
  PetscCall(VecsAgree(x, y, 256 * PETSC_MACHINE_EPSILON * 9 * k * k, &agree[1], &diff[1]));
  PetscCall(SystemName(s, name, sizeof(name)));
  PetscCall(
    HJTestOK((PetscBool)(agree[0] && agree[1] && PetscAbsScalar(dot[0] - dot[1]) <= HJTestDigits(1e-11) * (1 + PetscAbsScalar(dot[0]))),
             "%s, %s, k = %" PetscInt_FMT ": cycles are those of a loop (%g, %g), and so is the transpose", name, mattype, k,
             (double)diff[0], (double)diff[1]));
  PetscCall(HJTestDestroy(&b, &x, &y, &z, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles from zero and from what x holds, of one unknown a point or several */
static PetscErrorCode TwoCycles(const System *s, PetscInt component, PetscInt overlap, PetscInt k, const PetscReal *w, Vec x[2])
{
  const PetscInt              dof = component < 0 ? s->dof : 1;
  DM                          da;
  Mat                         A;
  PC                          pc;
  Vec                         b, work;
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SystemDM(s, dof, MATAIJ, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(SystemFill(s, da, component, A));
  PetscCall(NewPC(A, da, k, &pc));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CUSTOM));
  PetscCall(PCHJacobiSetWeights(pc, k, w));
  PetscCall(PCHJacobiSetOverlap(pc, overlap));
  if (overlap >= 0) {
    PetscCall(PCHJacobiSetTile(pc, 5, 4, 3));
    PetscCall(PCHJacobiSetBackend(pc, PC_HJACOBI_BACKEND_HOST)); /* GPUs have no tiles of several unknowns a point */
  }
  PetscCall(ProblemVectors(da, &b, &work));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &x[i]));
  PetscCall(SystemVector(da, s->dof, component, 1, b));
  PetscCall(SystemVector(da, s->dof, component, 2, x[1]));
  PetscCall(PCApply(pc, b, x[0]));
  PetscCall(PCApplyRichardson(pc, b, x[1], work, 0, 0, 0, 2, PETSC_FALSE, &its, &reason));
  PetscCall(HJTestDestroy(&b, &work, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Components that are coupled to no other have the numbers of one unknown a point */
static PetscErrorCode TestAlone(const System *s, PetscInt overlap)
{
  const PetscReal w[]   = {0.7, 0.55, 0.9, 0.3, 0.8};
  const PetscInt  alone = s->coupling == SYSTEM_HALF ? 1 : s->dof;
  Vec             all[2], one[2], part;
  PetscBool       same = PETSC_TRUE, gpu;
  PetscReal       norm;
  char            name[256];

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu)); /* whose kernels for one unknown a point do several subiterations at once */
  PetscCall(TwoCycles(s, -1, overlap, 5, w, all));
  for (PetscInt c = 0; c < alone; c++) {
    PetscCall(TwoCycles(s, c, overlap, 5, w, one));
    PetscCall(VecDuplicate(one[0], &part));
    for (int i = 0; i < 2; i++) {
      PetscCall(VecStrideGather(all[i], c, part, INSERT_VALUES));
      PetscCall(VecAXPY(part, -1.0, one[i]));
      PetscCall(VecNorm(part, NORM_INFINITY, &norm));
      same = (PetscBool)(same && norm <= (gpu && overlap < 0 ? 256 * PETSC_MACHINE_EPSILON : 0.0));
      PetscCall(VecDestroy(&one[i]));
    }
    PetscCall(VecDestroy(&part));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&all[i]));
  PetscCall(SystemName(s, name, sizeof(name)));
  PetscCall(HJTestOK(same, "%s, overlap %" PetscInt_FMT ": components that are alone have the bits of one unknown a point", name, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One subiteration of weight 1 in KSPRICHARDSON is PCPBJACOBI's */
static PetscErrorCode TestPointBlock(void)
{
  const System s = {2, {14, 11, 1}, 3, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_FALSE, SYSTEM_ARRAYS, SYSTEM_FULL};
  DM           da;
  Mat          A;
  Vec          b, x[2];
  PetscReal    diff;
  PetscBool    agree;
  PetscInt     its[2];

  PetscFunctionBegin;
  PetscCall(SystemCreate(&s, MATBAIJ, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(SystemVector(da, 3, -1, 1, b));
  for (int i = 0; i < 2; i++) {
    KSP ksp;
    PC  pc;

    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(ProblemKSP(NULL, A, KSPRICHARDSON, i ? PCHJACOBI : PCPBJACOBI, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-9), PETSC_DEFAULT, PETSC_DEFAULT, 200));
    PetscCall(PCHJacobiSetK(pc, 1));
    PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
    PetscCall(PCHJacobiSetOmega(pc, 1.0));
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[0], x[1], HJTestDigits(1e-12), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]), "k = 1 is PCPBJACOBI: %" PetscInt_FMT " and %" PetscInt_FMT " iterations (%g)",
                     its[0], its[1], (double)diff));
  PetscCall(HJTestDestroy(&x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No vector grows by more than the bound under D^-1 A, whose largest eigenvalue in modulus 200 steps find well enough */
static PetscErrorCode TestBound(const System *s)
{
  DM        da;
  Mat       A;
  PC        pc, pb;
  Vec       v, r;
  PetscReal emax, emin, norm = 0;
  char      name[256];

  PetscFunctionBegin;
  PetscCall(SystemCreate(s, MATAIJ, &da, &A));
  PetscCall(NewPC(A, da, 3, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, &emin));
  PetscCall(ProblemPC(NULL, A, PCPBJACOBI, &pb));
  PetscCall(ProblemVectors(da, &v, &r));
  PetscCall(SystemVector(da, s->dof, -1, 3, v));
  PetscCall(VecNormalize(v, NULL));
  for (PetscInt i = 0; i < 200; i++) {
    PetscCall(MatMult(A, v, r));
    PetscCall(PCApply(pb, r, v));
    PetscCall(VecNormalize(v, &norm));
  }
  PetscCall(SystemName(s, name, sizeof(name)));
  PetscCall(
    HJTestOK((PetscBool)(emax >= norm * 0.999 && emax <= 3 * norm), "%s: the bound %g is one for %g", name, (double)emax, (double)norm));
  PetscCall(HJTestDestroy(&v, &r, &pc, &pb, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Components of which one follows from the other do not make a matrix as unsymmetric as convection does: the schedule stays */
static PetscErrorCode TestTriangular(void)
{
  const System s = {2, {16, 16, 1}, 2, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, SYSTEM_ROW, SYSTEM_ALONE};
  DM           da;
  Mat          A;
  PC           pc;
  PetscInt     w[2], lo[2];
  PetscBool    holds[2];

  PetscFunctionBegin;
  PetscCall(SystemDM(&s, 2, MATAIJ, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &w[0], &w[1], NULL));
  for (int i = 0; i < 2; i++) { /* i: entries the other way too, of the other sign at either end */
    PetscCall(MatZeroEntries(A));
    for (PetscInt p = 0; p < w[0] * w[1]; p++) {
      const MatStencil  here  = {.i = lo[0] + p % w[0], .j = lo[1] + p / w[0]};
      const PetscScalar lap[] = {-1, -1, 4.5, -1, -1}, push[] = {2, -2};

      for (PetscInt c = 0; c < 2; c++) {
        MatStencil row = here, col[5], other[2];

        row.c = c;
        for (int e = 0; e < 5; e++) {
          col[e] = row;
          col[e].i += e == 1 ? -1 : e == 3 ? 1 : 0;
          col[e].j += e == 0 ? -1 : e == 4 ? 1 : 0;
          if (col[e].i < 0 || col[e].i > 15 || col[e].j < 0 || col[e].j > 15) col[e].i = -1;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, 5, col, lap, ADD_VALUES));
        other[0]   = col[1];
        other[1]   = col[3];
        other[0].c = other[1].c = 1 - c;
        if (!c || i) PetscCall(MatSetValuesStencil(A, 1, &row, 2, other, push, ADD_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(NewPC(A, da, 4, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc, i ? "schedule: jacobi" : "schedule: chebyshev4, k = 4", &holds[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(HJTestOK(holds[0], "one component follows from the other: the schedule stays"));
  PetscCall(HJTestOK(holds[1], "each turns the other: it does not"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block without an inverse ends as with PCPBJACOBI, for arrays and dictionaries */
static PetscErrorCode TestSingular(SystemKind kind)
{
  const System s = {2, {9, 8, 1}, 2, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, kind, SYSTEM_FULL};
  DM           da;
  Mat          A;
  Vec          b, x;
  PetscInt     lo, hi, row;
  PetscReal    norm;

  PetscFunctionBegin;
  PetscCall(SystemCreate(&s, MATAIJ, &da, &A));
  PetscCall(MatGetOwnershipRange(A, &lo, &hi));
  row = hi - 4;
  PetscCall(MatSetValues(A, 2, (PetscInt[]){row, row + 1}, 2, (PetscInt[]){row, row + 1}, (PetscScalar[]){1, 2, 2, 4}, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(VecSet(b, 1.0));
  for (int i = 0; i < 2; i++) {
    KSP                ksp;
    PC                 pc;
    KSPConvergedReason reason;
    PCFailedReason     failed;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, i ? PCHJACOBI : PCPBJACOBI));
    if (!i) PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* PCPBJACOBI divides by 0 */
    PetscCall(KSPSolve(ksp, b, x));
    if (!i) PetscCall(PetscFPTrapPop());
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCGetFailedReason(pc, &failed));
    PetscCall(HJTestOK((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && failed != PC_NOERROR), "a singular block, %s, %s: the set-up fails",
                       kind == SYSTEM_ARRAYS ? "arrays" : "dictionary", i ? "hjacobi" : "pbjacobi"));
    if (i) { /* with other values it goes on */
      PetscCall(MatShift(A, 3.0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(VecNorm(x, NORM_2, &norm));
      PetscCall(HJTestOK((PetscBool)(reason > 0 && norm < 1e10), "... and after a shift it does not"));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(HJTestDestroy(&b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same matrix, by which few rows become many and back */
static PetscErrorCode TestRefresh(void)
{
  System           s = {2, {12, 9, 1}, 2, {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_TRUE, SYSTEM_ROW, SYSTEM_FULL};
  DM               da;
  Mat              A;
  PC               pc;
  Vec              b, x, y;
  PetscInt         k;
  const PetscReal *w;
  PetscBool        agree, all = PETSC_TRUE;
  PetscReal        diff;

  PetscFunctionBegin;
  PetscCall(SystemCreate(&s, MATAIJ, &da, &A));
  PetscCall(NewPC(A, da, 4, &pc));
  PetscCall(ProblemVectors(da, &b, &x, &y));
  PetscCall(SystemVector(da, 2, -1, 1, b));
  for (int i = 0; i < 4; i++) {
    s.kind = (SystemKind)(i % 3);
    PetscCall(MatZeroEntries(A));
    PetscCall(SystemFill(&s, da, -1, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCHJacobiGetWeights(pc, &k, &w));
    PetscCall(PCApply(pc, b, x));
    PetscCall(VecSet(y, 0.0));
    PetscCall(Naive(A, 1, k, w, b, y));
    PetscCall(VecsAgree(x, y, 256 * PETSC_MACHINE_EPSILON * k * k, &agree, &diff));
    all = (PetscBool)(all && agree);
  }
  PetscCall(HJTestOK(all, "new values are seen"));
  PetscCall(HJTestDestroy(&b, &x, &y, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes of one row that are larger than what a GPU's block keeps at once, of each number of unknowns that it has kernels for */
static PetscErrorCode TestPlanes(void)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const System         all[] = {{2, {150, 97, 1}, 2, {none, none, none}, PETSC_FALSE, SYSTEM_ROW, SYSTEM_FULL},
                                {2, {149, 80, 1}, 2, {periodic, none, none}, PETSC_TRUE, SYSTEM_ROW, SYSTEM_POINT},
                                {2, {131, 70, 1}, 3, {none, periodic, none}, PETSC_FALSE, SYSTEM_ROW, SYSTEM_FULL},
                                {2, {133, 64, 1}, 4, {periodic, periodic, none}, PETSC_TRUE, SYSTEM_ROW, SYSTEM_FULL}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) PetscCall(TestCycles(&all[i], MATHJSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most points have one row, the others lie at the ends; of 16384 points and more a GPU does them apart */
static PetscErrorCode TestLayers(void)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const System         all[] = {{2, {90, 31, 1}, 2, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {2, {251, 201, 1}, 2, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {2, {237, 215, 1}, 3, {none, none, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {38, 37, 37}, 2, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {2, {40, 33, 1}, 3, {none, periodic, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_POINT},
                                {2, {37, 35, 1}, 4, {periodic, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {35, 16, 15}, 3, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {20, 17, 16}, 2, {none, none, periodic}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {18, 16, 19}, 4, {none, periodic, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_FULL}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) PetscCall(TestCycles(&all[i], MATHJSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  System s;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (PetscInt which = 0; which < 36; which++) {
    PetscCall(SystemRandomCase(which, &s));
    PetscCall(TestCycles(&s, which % 3 == 2 ? MATBAIJ : which % 3 == 1 ? MATHJSTENCIL : MATAIJ));
    if (s.coupling == SYSTEM_ALONE || s.coupling == SYSTEM_HALF) PetscCall(TestAlone(&s, PETSC_DECIDE));
    if (s.coupling == SYSTEM_ALONE && which % 2) PetscCall(TestAlone(&s, 2));
    if (which % 4 == 1) PetscCall(TestBound(&s));
  }
  PetscCall(TestPlanes());
  PetscCall(TestLayers());
  PetscCall(TestPointBlock());
  PetscCall(TestSingular(SYSTEM_ARRAYS));
  PetscCall(TestSingular(SYSTEM_ROW));
  PetscCall(TestRefresh());
  PetscCall(TestTriangular());
  {
    const int code = HJTestDone();

    PetscCall(PetscFinalize());
    return code;
  }
}
