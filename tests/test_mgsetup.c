/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   The set-up of PCHJMG: new values, another place, a preconditioner that is kept; its grids, options, several vectors at once, what is
   refused.
*/
#include "hjmgcase.h"
#include "hjcapture.h"

/* After new values, another k, other levels the cycle is that of a PC that is new */
static PetscErrorCode TestRefresh(PetscBool stencil)
{
  const Problem p[]   = {{2, {65, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, JUMP, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}};
  const int     now[] = {0, 1, 2, 3, 1, 0}; /* of one row, symmetric, not symmetric */
  DM            da;
  Mat           A;
  PC            pc;
  Vec           b, x[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p[0], stencil, &da, &A));
  PetscCall(MakePC(A, 3, 3, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &x[i]));
  for (int i = 0; i < 8; i++) {
    const PetscInt  k = i < 6 ? 3 : 2, levels = i < 7 ? 3 : 2;
    PC              fresh;
    PetscInt        n[2];
    const PetscInt *now_k;
    PetscReal       diff;
    PetscBool       agree = PETSC_FALSE;

    if (i < 6) {
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(&p[now[i]], da, i, A));
    }
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCHJMGSetK(pc, 1, &k));
    PetscCall(PCHJMGSetLevels(pc, levels));
    PetscCall(MakePC(A, k, levels, &fresh));
    PetscCall(PCApply(pc, b, x[0]));
    PetscCall(PCApply(fresh, b, x[1]));
    PetscCall(PCHJMGGetK(pc, &n[0], &now_k));
    PetscCall(PCHJMGGetLevels(pc, &n[1]));
    PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && n[0] == 1 && now_k[0] == k && n[1] == levels), "%s, change %d: as a new one (%g)",
                       stencil ? "hjstencil" : "AIJ", i, (double)diff));
    PetscCall(PCDestroy(&fresh));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(HJTestDestroy(&b, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is used again for a matrix whose values, or the place of whose arrays, are other ones: it still preconditions */
static PetscErrorCode TestFollow(PetscInt dim)
{
  const Problem p[]    = {{dim, {45, dim > 1 ? 43 : 1, dim > 2 ? 21 : 1}, DIRICHLET, VARYING, PETSC_FALSE},
                          {dim, {45, dim > 1 ? 43 : 1, dim > 2 ? 21 : 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  const char   *what[] = {"as it was", "scaled", "of one row", "of arrays again", "on the CPU", "back from there"};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x, r;
  PetscReal     size = 0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p[0], PETSC_TRUE, &da, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MakeKSP(A, KSPCG, 30, &ksp, &pc));
  PetscCall(ProblemVectors(da, &b, &x, &r));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 6; i++) {
    KSPConvergedReason reason;
    PetscInt           its;
    PetscReal          norm;

    if (i == 1) PetscCall(MatScale(A, 1.5));
    if (i == 2 || i == 3) {
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(&p[3 - i], da, 0, A));
    }
    PetscCall(MatGetDiagonal(A, r));
    PetscCall(VecNorm(r, NORM_2, &norm));
    if (!i) size = norm;
    if (i == 2) PetscCall(MatScale(A, size / norm));
    if (i > 3) PetscCall(MatBindToCPU(A, (PetscBool)(i == 4)));
    PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &norm));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(HJTestOK((PetscBool)(reason > 0 && norm <= HJTestDigits(1e-6)),
                       "%" PetscInt_FMT "D, used again for a matrix %s: %" PetscInt_FMT " iterations", dim, what[i], its));
  }
  PetscCall(HJTestDestroy(&r, &x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is used again for a matrix whose values have changed since: what comes out solves with the new ones. Which cycles
   these are is told by test_reuse.c: they contract errors by about 0.3, or better */
static PetscErrorCode TestUsedAgain(PetscBool stencil, PetscInt dim)
{
  const Problem     p       = {dim, {33, dim > 1 ? 25 : 1, dim > 2 ? 17 : 1}, DIRICHLET, VARYING, PETSC_FALSE};
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NONE, KSP_NORM_UNPRECONDITIONED};
  PetscInt          its[2];
  DM                da;
  Mat               A, B;
  Vec               b, x;
  PetscReal         norm = 0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, stencil, &da, &A));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 4; i++) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    for (int fresh = 0; fresh < 2; fresh++) {
      KSP ksp;
      PC  pc;

      PetscCall(MakeKSP(B, i < 3 ? KSPRICHARDSON : KSPCG, norms[i] == KSP_NORM_NONE ? 20 : 40, &ksp, &pc));
      PetscCall(KSPSetNormType(ksp, norms[i]));
      PetscCall(PCSetDM(pc, da));
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
      if (!fresh) PetscCall(MatScale(B, 1.3)); /* what was still contracts errors, by about 0.3 */
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its[fresh]));
      PetscCall(RelativeResidual(B, b, x, &norm));
      if (!fresh)
        PetscCall(HJTestOK((PetscBool)(norm <= HJTestDigits(1e-6)), "%" PetscInt_FMT "D %s, used again, %s, norm %s: residual %g", dim,
                           stencil ? "hjstencil" : "aij", i < 3 ? "richardson" : "cg", KSPNormTypes[norms[i]], (double)norm));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(HJTestOK((PetscBool)(its[0] >= its[1] && its[0] <= 20), "%" PetscInt_FMT " iterations, anew %" PetscInt_FMT, its[0], its[1]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(HJTestDestroy(&x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids, and what the view says of them */
static PetscErrorCode TestGrids(void)
{
  static const struct {
    Problem     p;
    PetscInt    levels, made; /* asked for, made on one rank */
    const char *words;
  } grids[] =
    {{{2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 2, "level 1: 33 x 33, 5 points, dictionary"},
     {{2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 1, 1, "as many levels as asked for"},
     {{2, {65, 64, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 2, "coarsened by 2 x 2; the last point in direction 1 has 0.5"},
     {{1, {390, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 4, "level 3: 49, 3 points"},
     {{1, {16, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 9, 5, "no direction has points to spare"},
     {{1, {16, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, 9, 4, "the next one is a point whose equation is rounding"},
     {{2, {129, 2, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 4, 4, "level 3: 17 x 1"},
     {{2, {1, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 1, "few points"}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(grids) && size == 1; g++) {
    DM        da;
    Mat       A;
    PC        pc;
    PetscInt  n;
    PetscBool holds = PETSC_FALSE;

    PetscCall(MakeMatrix(&grids[g].p, PETSC_TRUE, &da, &A));
    PetscCall(MakePC(A, 2, grids[g].levels, &pc));
    PetscCall(ViewHolds(pc, "not yet set up", &holds));
    PetscCall(HJTestOK(holds, "view before set-up, %s", Name(&grids[g].p, PETSC_TRUE)));
    PetscCall(PCSetUp(pc));
    PetscCall(PCHJMGGetLevels(pc, &n));
    PetscCall(ViewHolds(pc, grids[g].words, &holds));
    PetscCall(HJTestOK((PetscBool)(holds && n == grids[g].made), "%" PetscInt_FMT " levels of %s", n, Name(&grids[g].p, PETSC_TRUE)));
    PetscCall(HJTestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpWith(Mat A, DM da)
{
  PC             pc;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  code = PCSetUp(pc);
  if (!code) PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(code);
}

/* A matrix that is bound to the CPU while its vectors are on the GPU: all levels are on the CPU. Then it is on the GPU again */
static PetscErrorCode TestBound(PetscBool stencil)
{
  const Problem p = {2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x;
  PetscInt      its[3] = {0};

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, stencil, &da, &A));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(MakeKSP(A, KSPCG, 30, &ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  for (int i = 0; i < 3; i++) {
    if (i == 1) PetscCall(MatBindToCPU(A, PETSC_FALSE));
    if (i == 2) PetscCall(MatScale(A, 2.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
  }
  PetscCall(HJTestOK((PetscBool)(its[0] < 8 && its[1] == its[0] && its[2] == its[0]),
                     "%s bound to the CPU, no longer, with new values: %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT " iterations",
                     stencil ? "hjstencil" : "aij", its[0], its[1], its[2]));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two unknowns a point: refused with the cure, which solves */
static PetscErrorCode TestFields(void)
{
  const char        *options = "-fields_pc_type fieldsplit -fields_fieldsplit_0_pc_type hjmg -fields_fieldsplit_1_pc_type hjmg";
  DM                 da;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  DMDALocalInfo      info;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 29, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      for (PetscInt c = 0; c < 2; c++) {
        const MatStencil  at = {.i = i, .j = j, .c = c}, column[6] = {at,
                                                                      {.i = i, .j = j, .c = 1 - c},
                                                                      {.i = i ? i - 1 : -1, .j = j, .c = c},
                                                                      {.i = i + 1 < info.mx ? i + 1 : -1, .j = j, .c = c},
                                                                      {.i = i, .j = j ? j - 1 : -1, .c = c},
                                                                      {.i = i, .j = j + 1 < info.my ? j + 1 : -1, .c = c}};
        const PetscScalar v[6] = {4.01, 0.005, -1.0, -1.0, -1.0, -1.0};

        for (int e = 0; e < 6; e++)
          if (column[e].i >= 0 && column[e].j >= 0) PetscCall(MatSetValuesStencil(A, 1, &at, 1, &column[e], &v[e], INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "fields_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 30));
  PetscCall(KSPSetFromOptions(ksp));
  {
    PC pc;

    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetDM(pc, da));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 5), "one hjmg a field: %" PetscInt_FMT " iterations", its));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  DM            da;
  Mat           A, B;
  PC            pc;
  PetscInt      start, end;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetDM(B, NULL));
  ExpectError(SetUpWith(B, NULL), "no DMDA", "no DM is attached", "-pc_type gamg", "KSPSetDM()");
  PetscCall(HJTestOK((PetscBool)!SetUpWith(B, da), "a DMDA of the PC alone"));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  PetscCall(MatSetValue(B, start, (start + 17 * 33) % (33 * 33), 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  ExpectError(SetUpWith(B, da), "a column too far", "PCHJMG needs a matrix that is a stencil", "-pc_type gamg");
  PetscCall(MakePC(A, 2, 2, &pc));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreateHJStencil(da, &B));
  PetscCall(ProblemFill(&p, da, 0, B));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (!start) PetscCall(MatSetValue(B, 5, 5, NAN, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  ExpectError(SetUpWith(B, NULL), "no number", "an entry of the matrix is NaN or infinite", "correct the matrix");
  PetscCall(PetscFPTrapPop());
  PetscCall(MatDestroy(&B));
  ExpectError(PCHJMGSetK(pc, 1, (PetscInt[]){0}), "k = 0", "k = 0 must be between 1 and 1024");
  ExpectError(PCHJMGSetK(pc, 1, (PetscInt[]){1025}), "k = 1025", "k = 1025 must be between 1 and 1024");
  ExpectError(PCHJMGSetLevels(pc, 0), "no level", "number of levels 0 must be between 1 and 64");
  ExpectError(PCHJMGSetLevels(pc, 65), "65 levels", "number of levels 65 must be between 1 and 64");
  ExpectError(PCHJMGSetK(pc, 65, NULL), "65 numbers without a place", "Null Pointer: Parameter # 3");
  ExpectError(PCHJMGSetK(pc, 65, (PetscInt[65]){0}), "65 numbers", "number of values 65 must be between 0 and 64");
  ExpectError(PCHJMGGetK(pc, NULL, NULL), "nowhere to put their number", "Null Pointer: Parameter # 2");
  ExpectError(PCHJMGGetK(pc, &(PetscInt){0}, NULL), "nowhere to put k", "Null Pointer: Parameter # 3");
  ExpectError(PCHJMGGetLevels(pc, NULL), "nowhere to put the levels", "Null Pointer: Parameter # 2");
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By options alone, on a DMDA whose boundaries the matrix has folded, and where Amat is another matrix */
static PetscErrorCode TestOptions(void)
{
  const Problem   p = {2, {65, 65, 1}, MIRROR, VARYING, PETSC_FALSE};
  DM              da;
  Mat             A, B;
  KSP             ksp;
  PC              pc;
  Vec             b, x;
  PetscInt        its, nk, levels;
  const PetscInt *k;
  PetscReal       residual;
  PetscBool       is, log = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatShift(B, 0.1));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscOptionsInsertString(NULL, "-own_pc_type hjmg -own_pc_hjmg_k 3,5 -own_pc_hjmg_levels 2 -own_ksp_type richardson "
                                           "-own_ksp_norm_type none -own_ksp_max_it 60 -own_pc_hjmg_log"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "own_"));
  PetscCall(MatShift(A, 0.12));
  PetscCall(KSPSetOperators(ksp, A, B));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCHJMG, &is));
  PetscCall(PCHJMGGetK(pc, &nk, &k));
  PetscCall(PCHJMGGetLevels(pc, &levels));
  PetscCall(PCHJMGGetLog(pc, &log));
  PetscCall(HJTestOK((PetscBool)(is && its == 60 && nk == 2 && k[0] == 3 && k[1] == 5 && levels == 2 && log),
                     "options, its own number of cycles without norms"));
  PetscCall(RelativeResidual(A, b, x, &residual));
  PetscCall(HJTestOK((PetscBool)(residual < HJTestDigits(1e-6)), "the residual is Amat's (%g)", (double)residual));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several vectors in one call (host alone: dense matrices are), and a PC that is kept when values change */
static PetscErrorCode TestManyAndKept(void)
{
  const Problem p = {2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A, B, X;
  PC            pc;
  Vec           b, x, y, column;
  PetscInt      n;
  PetscReal     diff;
  PetscBool     host, agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, PETSC_DECIDE, &pc));
  PetscCall(ProblemVectors(da, &b, &x, &y));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &host, VECSEQ, VECMPI, ""));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  if (host) {
    PetscCall(VecGetLocalSize(b, &n));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
    for (PetscInt i = 0; i < 3; i++) {
      PetscCall(MatDenseGetColumnVecWrite(B, i, &column));
      PetscCall(VecCopy(b, column));
      PetscCall(VecScale(column, 1 << i));
      PetscCall(MatDenseRestoreColumnVecWrite(B, i, &column));
    }
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(PCMatApply(pc, B, X));
    PetscCall(MatDenseGetColumnVecRead(X, 2, &column));
    PetscCall(VecCopy(column, y));
    PetscCall(MatDenseRestoreColumnVecRead(X, 2, &column));
    PetscCall(VecScale(y, 0.25));
    PetscCall(VecsAgree(x, y, ROUNDING, &agree, &diff));
    PetscCall(HJTestOK(agree, "PCMatApply() (%g)", (double)diff));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(MatScale(A, 2.0));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, y));
  PetscCall(VecScale(y, 2.0));
  PetscCall(VecsAgree(x, y, ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "new values after a set-up that was left out (%g)", (double)diff));
  PetscCall(HJTestDestroy(&b, &x, &y, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of 7 points whose conductivities are smooth, with walls around the grid of *ctx points a side */
static PetscInt SmoothRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const PetscInt n     = *(const PetscInt *)ctx;
  PetscInt       count = 1;

  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = 0.0;
  for (int d = 0; d < 3; d++) {
    for (int side = -1; side < 2; side += 2) {
      PetscReal a = 1.0 + salt;
      PetscInt  to[3];

      for (int e = 0; e < 3; e++) to[e] = at[e] + (e == d ? side : 0);
      for (int e = 0; e < 3; e++) a *= 1.0 + 0.25 * PetscSinReal((2.0 + e) * (at[e] + to[e]) / n);
      v[0] += a;
      if (to[d] < 0 || to[d] == n) continue;
      col[count] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[count++] = -a;
    }
  }
  return count;
}

/* Matrices that are the same in all directions make none strong. At the faces of the third grid entries cancel: what rounding leaves of
   them, and with smooth coefficients their differences, are no weak direction, for which sweeps would be many */
static PetscErrorCode TestCancel(PetscInt n, PetscBool smooth)
{
  const Problem p = {3, {n, n, n}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MatScale(A, 1.1)); /* of numbers that are no sums of few powers of 2 */
  if (smooth) PetscCall(FillRows(da, SmoothRow, &n, 0, INSERT_VALUES, A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MakeKSP(A, KSPCG, 30, &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  CollectBegin();
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  CollectEnd();
  PetscCall(HJTestOK((PetscBool)!strstr(printed, "turns"), "%s%s: on no grid the strong direction turns", Name(&p, PETSC_TRUE),
                     smooth ? ", smooth coefficients" : ""));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestRefresh((PetscBool)stencil));
  for (PetscInt dim = 1; dim <= 3; dim++) PetscCall(TestFollow(dim));
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestUsedAgain((PetscBool)stencil, dim));
  }
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestBound((PetscBool)stencil));
  PetscCall(TestGrids());
  for (PetscInt n = 33; n <= 65; n += 32) {
    PetscCall(TestCancel(n, PETSC_FALSE));
    PetscCall(TestCancel(n, PETSC_TRUE));
  }
  PetscCall(TestRefused());
  PetscCall(TestFields());
  PetscCall(TestOptions());
  PetscCall(TestManyAndKept());
  return HJTestEnd();
}
