/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, long: 1 2 4, nan: 1 */
/*
   Random problems (hjfuzz.h), solved with hjmg or hjacobi as the preconditioner. No answer that is said to be converged is wrong, no
   error is raised where PCJACOBI has none but a refusal that names a cure, what is mild and solved by PCJACOBI is solved. A crash or a
   hang ends the program with the number of the problem.
   Options: -problems N, -first I, -only I (this one alone, in words), -seed S or date, -kind WORDS (those whose description has these
   words), -limit SECONDS a problem. With -backend cuda each problem is solved on the host too: reasons and refusals are the same,
   iterations nearly.
*/
#include "hjfuzz.h"
#include "hjcapture.h"
#include <signal.h>
#include <time.h>

typedef enum { SOLVED, UNCONVERGED, REFUSED, BROKEN_DOWN, FALSE_ERROR, BAD_INPUT, WRONG, UNSOLVED, DIFFERENT, OUTCOMES } Outcome;
static const char *const outcomes[] = {"solved", "not converged", "refused",  "BiCGStab's breakdown", "false error", "error as PCJACOBI's",
                                       "wrong",  "not solved",    "different"};

/* What there is of a problem besides its solver: in host memory, AIJ, and not made by the library */
typedef struct {
  DM  da;
  Mat A, E;       /* E: rows scaled so that their diagonals are 1 */
  Vec x, b, rows; /* a solution, A x, the factors of E */
} Reference;

typedef struct {
  PetscErrorCode     code;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscBool          broke_down; /* by BiCGStab's own fault */
  char               message[256];
} Result;

typedef struct {
  uint64_t  seed;
  PetscBool compare, only;
  int       limit;
  PetscInt  count[OUTCOMES], failed;
  char      current[900];
} Run;

static Run run;

static void Bail(const char *what)
{
  char text[1100];

  (void)snprintf(text, sizeof(text), "Bail out! %s: %s\n", what, run.current);
  if (write(1, text, strlen(text)) < 0) _exit(3);
}

static void OnAlarm(int sig)
{
  Bail("a hang");
  (void)MPI_Abort(MPI_COMM_WORLD, 2);
}

static PetscErrorCode OnSignal(int sig, void *ctx)
{
  Bail("a crash");
  return PetscSignalHandlerDefault(sig, ctx);
}

static PetscErrorCode ReferenceValues(const Fuzz *f, Reference *r)
{
  PetscInt     n;
  PetscScalar *a;
  Vec          most;

  PetscFunctionBegin;
  PetscCall(FuzzFill(f, r->da, INSERT_VALUES, r->A));
  PetscCall(MatMult(r->A, r->x, r->b));
  PetscCall(MatDestroy(&r->E));
  PetscCall(MatDuplicate(r->A, MAT_COPY_VALUES, &r->E));
  PetscCall(MatGetDiagonal(r->A, r->rows));
  PetscCall(VecDuplicate(r->rows, &most));
  PetscCall(MatGetRowMaxAbs(r->A, most, NULL));
  PetscCall(VecGetLocalSize(most, &n));
  PetscCall(VecGetArray(r->rows, &a));
  {
    const PetscScalar *m;

    PetscCall(VecGetArrayRead(most, &m));
    for (PetscInt i = 0; i < n; i++) {
      if (PetscAbsScalar(a[i]) < 1e-10 * m[i]) a[i] = m[i];
      a[i] = a[i] == 0.0 || PetscIsInfOrNanScalar(a[i]) ? 1.0 : 1.0 / a[i];
    }
    PetscCall(VecRestoreArrayRead(most, &m));
  }
  PetscCall(VecRestoreArray(r->rows, &a));
  PetscCall(VecDestroy(&most));
  PetscCall(MatDiagonalScale(r->E, r->rows, NULL));
  if (f->bad == BAD_RHS) {
    PetscCall(VecSetValue(r->b, f->points / 2, f->bad_value, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(r->b));
    PetscCall(VecAssemblyEnd(r->b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReferenceCreate(const Fuzz *f, Reference *r)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscCall(FuzzDM(f, VECSTANDARD, MATAIJ, &r->da));
  PetscCall(DMCreateMatrix(r->da, &r->A));
  PetscCall(DMCreateGlobalVector(r->da, &r->x));
  PetscCall(VecDuplicate(r->x, &r->b));
  PetscCall(VecDuplicate(r->x, &r->rows));
  PetscCall(ProblemVector(r->da, (PetscInt)(f->key % 1000), r->x));
  PetscCall(ReferenceValues(f, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReferenceDestroy(Reference *r)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&r->x));
  PetscCall(VecDestroy(&r->b));
  PetscCall(VecDestroy(&r->rows));
  PetscCall(MatDestroy(&r->A));
  PetscCall(MatDestroy(&r->E));
  PetscCall(DMDestroy(&r->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b||, and the same over ||A|| ||x|| + ||b|| */
static PetscErrorCode Residuals(Mat A, Vec rows, const Reference *r, Vec x, PetscReal *relative, PetscReal *backward)
{
  Vec       residual, b;
  PetscReal norm[4];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(r->b, &residual));
  PetscCall(VecDuplicate(r->b, &b));
  PetscCall(VecCopy(r->b, b));
  if (rows) PetscCall(VecPointwiseMult(b, b, rows));
  PetscCall(MatMult(A, x, residual));
  PetscCall(VecAYPX(residual, -1.0, b));
  PetscCall(VecNorm(residual, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(VecNorm(x, NORM_2, &norm[2]));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[3]));
  *relative = norm[0] == 0.0 ? 0.0 : norm[0] / norm[1];
  *backward = norm[0] == 0.0 ? 0.0 : norm[0] / (norm[1] + norm[2] * norm[3]);
  PetscCall(VecDestroy(&residual));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The difference of x from what PETSc's LU gives, on a copy of the whole matrix on each rank; infinite where that has no solution */
static PetscErrorCode ErrorByLU(const Reference *r, Vec x, PetscReal *error)
{
  KSP                ksp;
  PC                 pc;
  Vec                y, b;
  PetscErrorCode     code;
  KSPConvergedReason reason = KSP_DIVERGED_PC_FAILED;
  PetscReal          norm[2];

  PetscFunctionBegin;
  *error = PETSC_INFINITY;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecPointwiseMult(b, r->b, r->rows));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "lu_"));
  PetscCall(KSPSetOperators(ksp, r->E, r->E));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCREDUNDANT)); /* whose solver is LU */
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = KSPSolve(ksp, b, y);
  PetscCall(PetscPopErrorHandler());
  if (!code) PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason > 0) {
    PetscCall(VecNorm(y, NORM_2, &norm[0]));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(VecNorm(y, NORM_2, &norm[1]));
    if (norm[1] <= PETSC_MAX_REAL) *error = norm[1] == 0.0 ? 0.0 : norm[1] / norm[0];
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether x is what a KSP may call converged. A left preconditioner that is near the inverse promises a small error, one that is near the
   diagonal a small residual of scaled rows; a right one the residual. What arithmetic alone leaves is no fault */
static PetscErrorCode AnswerIsRight(const Fuzz *f, const Reference *r, Vec x, PetscBool *right, PetscReal measures[5])
{
  const PetscReal relative = HJTestDigits(1e3) * f->rtol;
  const PetscReal backward = f->norm == KSP_NORM_UNPRECONDITIONED ? HJTestDigits(1e-10)
                             : f->hard                            ? HJTestDigits(1e-3)
                                                                  : HJTestDigits(100.0) * f->rtol;
  const PetscReal rounding = f->hard ? HJTestDigits(1e-10) : HJTestDigits(1e-13);

  PetscFunctionBegin;
  PetscCall(Residuals(r->A, NULL, r, x, &measures[0], &measures[1]));
  PetscCall(Residuals(r->E, r->rows, r, x, &measures[2], &measures[3]));
  measures[4] = PETSC_INFINITY;
  *right      = (PetscBool)(measures[0] <= relative || f->unsafe || measures[1] <= rounding || measures[3] <= backward);
  if (f->norm != KSP_NORM_UNPRECONDITIONED && (measures[2] <= relative || (f->reuse && f->salt))) *right = PETSC_TRUE;
  if (*right || f->nnull || f->points * f->dof > 5000) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ErrorByLU(r, x, &measures[4]));
  if (measures[4] <= relative) *right = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The KSP of a problem, with a PC of that type */
static PetscErrorCode CreateKSP(const Fuzz *f, DM da, Mat A, const char *type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  if (f->own && da) PetscCall(KSPSetType(*ksp, f->ksp[0] == 'c' ? KSPHJCG : KSPHJRICHARDSON));
  else PetscCall(KSPSetType(*ksp, f->ksp));
  if (strstr(f->ksp, "gmres")) /* else it may break down by rounding of its own */
    PetscCall(KSPOrthogonalizationSet(*ksp, KSPOrthogonalizationModifiedGramSchmidt));
  PetscCall(KSPSetPCSide(*ksp, f->side));
  PetscCall(KSPSetNormType(*ksp, f->norm));
  PetscCall(KSPSetTolerances(*ksp, f->rtol, 0.0, PETSC_DEFAULT, f->mild || !da ? 1000 : 100));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, f->guess));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, type));
  if (f->single && da) PetscCall(PCHJMGSetPrecision(pc, PC_HJMG_PRECISION_SINGLE));
  if (f->through_matmult && da) PetscCall(PCHJacobiSetOperator(pc, PC_HJACOBI_OPERATOR_MATRIX));
  if (!f->defaults && da) {
    PetscCall(PCHJMGSetK(pc, 1, &f->k));
    PetscCall(PCHJMGSetTransfer(pc, (PCHJMGTransfer)f->transfer));
    PetscCall(PCHJMGSetCoarseSolve(pc, (PCHJMGCoarseSolve)f->coarse_solve));
    if (f->levels > 0) PetscCall(PCHJMGSetLevels(pc, f->levels));
    if (f->rank_points >= 0) PetscCall(PCHJMGSetRankPoints(pc, f->rank_points));
    PetscCall(PCHJacobiSetK(pc, f->k));
    PetscCall(PCHJacobiSetSchedule(pc, (PCHJacobiSchedule)f->schedule));
  }
  if (run.only) PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between vectors of which one may lie on a GPU */
static PetscErrorCode CopyVec(Vec from, Vec to)
{
  const PetscScalar *a;
  PetscScalar       *b;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(from, &n));
  PetscCall(VecGetArrayRead(from, &a));
  PetscCall(VecGetArrayWrite(to, &b));
  PetscCall(PetscArraycpy(b, a, n));
  PetscCall(VecRestoreArrayWrite(to, &b));
  PetscCall(VecRestoreArrayRead(from, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors are those of any rank */
static PetscErrorCode Gather(PetscErrorCode code, Result *result, PetscBool *together)
{
  PetscMPIInt rank, lowest, mine[2] = {(PetscMPIInt)code, -(PetscMPIInt)code}, all[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  result->code = (PetscErrorCode)all[0];
  *together    = (PetscBool)(all[0] == -all[1]);
  lowest       = (PetscMPIInt)code == all[0] && message[0] ? rank : 1000;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (lowest == 1000) lowest = 0;
  PetscCall(PetscStrncpy(result->message, message, sizeof(result->message)));
  PetscCallMPI(MPI_Bcast(result->message, (PetscMPIInt)sizeof(result->message), MPI_CHAR, lowest, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveUnguarded(KSP ksp, Vec b, Vec x, Result *result)
{
  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &result->reason));
  PetscCall(KSPGetIterationNumber(ksp, &result->its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a guess that all solves of a problem share, where it has one */
static PetscErrorCode SolveGuarded(const Fuzz *f, const Reference *r, KSP ksp, Vec b, Vec x, Result *result, PetscBool *together)
{
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(result, sizeof(*result)));
  PetscCall(CopyVec(r->b, b));
  if (f->guess) {
    PetscCall(CopyVec(r->x, x));
    PetscCall(VecScale(x, -0.7));
    PetscCall(VecShift(x, 0.3));
  } else PetscCall(VecSet(x, 0.0));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = SolveUnguarded(ksp, b, x, result);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Gather(code, result, together));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's own PCJACOBI makes of it */
static PetscErrorCode SolveJacobi(const Fuzz *f, const Reference *r, Result *result, PetscBool *right)
{
  KSP       ksp;
  Vec       x;
  PetscBool together;
  PetscReal measures[5];

  PetscFunctionBegin;
  *right = PETSC_FALSE;
  PetscCall(FuzzNullSpace(f, r->da, r->A));
  PetscCall(CreateKSP(f, NULL, r->A, PCJACOBI, &ksp));
  PetscCall(VecDuplicate(r->b, &x));
  {
    Vec b;

    PetscCall(VecDuplicate(r->b, &b));
    PetscCall(SolveGuarded(f, r, ksp, b, x, result, &together));
    PetscCall(VecDestroy(&b));
  }
  if (!result->code && result->reason > 0) PetscCall(AnswerIsRight(f, r, x, right, measures));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's GMRES solves the problem with that very preconditioner: what broke down under BiCGStab is then no fault of it. Where
   omega becomes small, which rounding decides, its residual stays where it is until rho is 0 */
static PetscErrorCode ServesGMRES(const Fuzz *f, const Reference *r, PC pc, PetscBool *serves)
{
  KSP       ksp;
  Mat       A, P;
  Vec       x, b;
  Result    result;
  PetscBool together;
  PetscReal measures[5];

  PetscFunctionBegin;
  *serves = PETSC_FALSE;
  PetscCall(PCGetOperators(pc, &A, &P));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 200));
  PetscCall(KSPOrthogonalizationSet(ksp, KSPOrthogonalizationModifiedGramSchmidt));
  PetscCall(KSPSetPCSide(ksp, f->side));
  PetscCall(KSPSetNormType(ksp, f->norm));
  PetscCall(KSPSetTolerances(ksp, f->rtol, 0.0, PETSC_DEFAULT, 1000));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SolveGuarded(f, r, ksp, b, x, &result, &together));
  if (!result.code && result.reason > 0) {
    Vec y;

    PetscCall(VecDuplicate(r->x, &y));
    PetscCall(CopyVec(x, y));
    PetscCall(AnswerIsRight(f, r, y, serves, measures));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says what a failure is, in one line */
static PetscErrorCode Report(Outcome outcome, const Result *result, const PetscReal measures[5])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  run.count[outcome]++;
  if (outcome >= FALSE_ERROR && outcome != BAD_INPUT) run.failed++;
  if (rank || (!run.only && (outcome <= UNCONVERGED || outcome == BAD_INPUT))) PetscFunctionReturn(PETSC_SUCCESS);
  fprintf(HJTestStream(), "# %s: %s\n#   ", outcomes[outcome], run.current);
  if (result->code) fprintf(HJTestStream(), "error %d: %.*s", (int)result->code, (int)strcspn(result->message, "\n"), result->message);
  else fprintf(HJTestStream(), "%s after %d iterations", KSPConvergedReasons[result->reason], (int)result->its);
  if (measures && !result->code)
    fprintf(HJTestStream(), ", residual %.2g (backward %.2g), rows scaled %.2g (%.2g), error %.2g", (double)measures[0],
            (double)measures[1], (double)measures[2], (double)measures[3], (double)measures[4]);
  fprintf(HJTestStream(), "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PCJACOBI came so late that hjacobi's own weight, which is two thirds of its weight in 1D and more in 2D and 3D, comes too late */
static PetscBool IsLate(const Fuzz *f, const Result *jacobi)
{
  return (PetscBool)(!strcmp(f->pc, PCHJACOBI) && !strcmp(f->ksp, KSPRICHARDSON) && 3 * jacobi->its > 2 * 1000);
}

static PetscErrorCode Judge(const Fuzz *f, const Reference *r, KSP ksp, Vec x, Result *result, Outcome *outcome)
{
  PC        pc;
  Result    jacobi;
  PetscBool right       = PETSC_TRUE, serves, jacobi_right;
  PetscReal measures[5] = {0};

  PetscFunctionBegin;
  *outcome = SOLVED;
  if (result->code == PETSC_ERR_SUP && !f->mild) *outcome = REFUSED;
  else if (result->code) {
    PetscCall(SolveJacobi(f, r, &jacobi, &jacobi_right));
    *outcome = jacobi.code ? BAD_INPUT : FALSE_ERROR;
  } else if (result->reason > 0) {
    PetscCall(AnswerIsRight(f, r, x, &right, measures));
    if (!right) {
      PetscCall(SolveJacobi(f, r, &jacobi, &jacobi_right));
      *outcome = jacobi.reason > 0 && !jacobi_right ? UNCONVERGED : WRONG; /* no better by PETSc's own */
    }
  } else {
    *outcome = UNCONVERGED;
    if (f->ksp[0] == 'b' && result->reason == KSP_DIVERGED_BREAKDOWN) {
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(ServesGMRES(f, r, pc, &serves));
      if (serves) *outcome = BROKEN_DOWN;
    }
    if (*outcome == UNCONVERGED && f->mild && !(f->reuse && f->salt)) {
      PetscCall(SolveJacobi(f, r, &jacobi, &jacobi_right));
      if (jacobi_right && !IsLate(f, &jacobi)) *outcome = UNSOLVED;
    }
  }
  result->broke_down = (PetscBool)(*outcome == BROKEN_DOWN);
  PetscCall(Report(*outcome, result, measures));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of B that are not 0, in a matrix that has been made for them or is to be made */
static PetscErrorCode CopyNonzeros(Mat B, DM da, MatType type, Mat *A)
{
  PetscInt low, high, dof;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(B, &low, &high));
  PetscCall(DMGetBlockSize(da, &dof));
  if (!*A) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, high - low, high - low, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetBlockSize(*A, dof));
    PetscCall(MatSeqAIJSetPreallocation(*A, FUZZ_OFFSETS * dof, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, FUZZ_OFFSETS * dof, NULL, FUZZ_OFFSETS * dof, NULL));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* new values may be where there were none */
    PetscCall(MatSetDM(*A, da));
  } else PetscCall(MatZeroEntries(*A));
  for (PetscInt i = low; i < high; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           n;

    PetscCall(MatGetRow(B, i, &n, &cols, &vals));
    for (PetscInt j = 0; j < n; j++)
      if (vals[j] != 0.0) PetscCall(MatSetValue(*A, i, cols[j], vals[j], INSERT_VALUES));
    PetscCall(MatRestoreRow(B, i, &n, &cols, &vals));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a problem, in the type and by the way of filling that it has */
static PetscErrorCode MatrixValues(const Fuzz *f, const Reference *r, PetscBool cuda, DM da, MatType type, Mat *A)
{
  const PetscBool convert = (PetscBool)(f->fill == FILL_CONVERT && !(f->stencil_matrix && cuda)); /* else it is where r->A is */

  PetscFunctionBegin;
  if (f->dropped && !f->stencil_matrix) PetscCall(CopyNonzeros(r->A, da, type, A));
  else if (convert && !*A) PetscCall(MatConvert(r->A, type, MAT_INITIAL_MATRIX, A));
  else if (convert && !f->stencil_matrix) PetscCall(MatCopy(r->A, *A, SAME_NONZERO_PATTERN));
  else {
    if (!*A) PetscCall(DMCreateMatrix(da, A));
    PetscCall(FuzzFill(f, da, f->fill == FILL_ADD ? ADD_VALUES : INSERT_VALUES, *A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves a problem, and once more with new values where it has them */
static PetscErrorCode SolveProblem(Fuzz *f, Reference *r, PetscBool cuda, Result results[2])
{
  const VecType  vec = cuda ? VECCUDA : VECSTANDARD;
  const MatType  mat = f->stencil_matrix ? MATHJSTENCIL : f->blocked ? MATBAIJ : cuda ? MATAIJCUSPARSE : MATAIJ;
  const PetscInt n   = f->again ? 2 : 1;
  DM             da;
  Mat            A = NULL;
  Vec            x, b;
  KSP            ksp;
  PetscBool      together;
  PetscErrorCode code;
  Outcome        outcome = SOLVED;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(results, 2 * sizeof(*results)));
  PetscCall(FuzzDM(f, vec, mat, &da));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = MatrixValues(f, r, cuda, da, mat, &A);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Gather(code, &results[0], &together));
  if (results[0].code) {
    PetscCall(Report(results[0].code == PETSC_ERR_SUP ? REFUSED : FALSE_ERROR, &results[0], NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FuzzNullSpace(f, da, A));
  PetscCall(CreateKSP(f, da, A, f->pc, &ksp));
  for (PetscInt i = 0; i < n && outcome <= BROKEN_DOWN; i++) {
    if (i) {
      PetscCall(FuzzMake(f, 1));
      PetscCall(ReferenceValues(f, r));
      PetscCall(MatrixValues(f, r, cuda, da, mat, &A));
      PetscCall(KSPSetReusePreconditioner(ksp, f->reuse));
    }
    PetscCall(SolveGuarded(f, r, ksp, b, x, &results[i], &together));
    {
      Vec y;

      PetscCall(VecDuplicate(r->x, &y));
      PetscCall(CopyVec(x, y));
      PetscCall(Judge(f, r, ksp, y, &results[i], &outcome));
      PetscCall(VecDestroy(&y));
    }
  }
  if (together) { /* else some ranks wait in what others have left */
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two backends, or two types of the matrix, decide alike: rounding may take two iterations, of many a tenth */
static PetscErrorCode Compare(const Fuzz *f, const Result first[2], const Result second[2])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2; i++) {
    const PetscInt few  = PetscMax(2, first[i].its / 10);
    PetscBool      same = (PetscBool)(first[i].code == second[i].code && (first[i].reason > 0) == (second[i].reason > 0));

    if (same && first[i].reason > 0 && (f->ksp[0] != 'b' || first[i].its < 20) && PetscAbsInt(first[i].its - second[i].its) > few)
      same = PETSC_FALSE;
    if (i && f->reuse) break; /* the smoother of a stencil matrix has its new values all the same */
    if (f->ksp[0] == 'b' && PetscMax(first[i].its, second[i].its) >= 100) continue; /* such a BiCGStab follows rounding */
    if (first[i].broke_down || second[i].broke_down) continue;
    if (same || (!f->alike && first[i].code == second[i].code)) continue;
    PetscCall(Report(DIFFERENT, &first[i], NULL));
    PetscCall(Report(DIFFERENT, &second[i], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The problem once more from the start, on the GPU or with the matrix in the other type */
static PetscErrorCode SolveAgain(Fuzz *f, Reference *r, PetscBool cuda, const Result first[2])
{
  Result second[2];

  PetscFunctionBegin;
  if (f->again) {
    PetscCall(FuzzMake(f, 0));
    PetscCall(ReferenceValues(f, r));
  }
  if (!cuda) f->stencil_matrix = (PetscBool)!f->stencil_matrix;
  PetscCall(SolveProblem(f, r, cuda, second));
  if (!cuda) f->stencil_matrix = (PetscBool)!f->stencil_matrix;
  PetscCall(Compare(f, first, second));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneProblem(PetscInt number, const char *kind)
{
  Fuzz      f;
  Reference r;
  Result    host[2];

  PetscFunctionBegin;
  PetscCall(FuzzCreate(run.seed, number, &f));
  if (!kind[0] || strstr(f.text, kind)) {
    (void)snprintf(run.current, sizeof(run.current), "-seed %llu -only %d: %s", (unsigned long long)run.seed, (int)number, f.text);
    (void)alarm((unsigned int)run.limit);
    PetscCall(ReferenceCreate(&f, &r));
    PetscCall(SolveProblem(&f, &r, PETSC_FALSE, host));
    if (run.compare) {
      if (f.dof > 1) f.alike = PETSC_FALSE; /* there the last grid of a system is a smaller one */
      PetscCall(SolveAgain(&f, &r, PETSC_TRUE, host));
    } else if (f.both) PetscCall(SolveAgain(&f, &r, PETSC_FALSE, host));
    PetscCall(ReferenceDestroy(&r));
    (void)alarm(0);
  }
  PetscCall(FuzzDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PCSHELL that leaves out the first unknown, so that no Krylov method finds it */
static PetscErrorCode ApplyPart(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(b, x));
  PetscCall(VecSetValue(x, 0, 0.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A breakdown is held for BiCGStab's own with a preconditioner that serves GMRES, and not with one that does not */
static PetscErrorCode TestBreakdown(PetscInt number)
{
  const PCType types[] = {PCJACOBI, PCSHELL};
  Fuzz         f;
  Reference    r;
  PetscBool    serves[2];

  PetscFunctionBegin;
  PetscCall(FuzzCreate(run.seed, number, &f));
  PetscCall(ReferenceCreate(&f, &r));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, types[i]));
    if (i) PetscCall(PCShellSetApply(pc, ApplyPart));
    PetscCall(PCSetOperators(pc, r.A, r.A));
    PetscCall(ServesGMRES(&f, &r, pc, &serves[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(HJTestOK((PetscBool)(serves[0] && !serves[1]),
                     "seed %llu, problem %d: PCJACOBI serves GMRES, a singular preconditioner does not", (unsigned long long)run.seed,
                     (int)number));
  PetscCall(ReferenceDestroy(&r));
  PetscCall(FuzzDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number, or the word date: that of today */
static PetscErrorCode ReadSeed(void)
{
  char      seed[32] = "38";
  PetscBool flg;
  char     *end;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-seed", seed, sizeof(seed), NULL));
  PetscCall(PetscStrcmp(seed, "date", &flg));
  run.seed = flg ? (uint64_t)(time(NULL) / 86400) : strtoull(seed, &end, 10);
  PetscCheck(flg || !*end, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "-seed %s is neither a number nor the word date", seed);
  PetscCallMPI(MPI_Bcast(&run.seed, 1, MPI_UINT64_T, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Problems that were not solved, or wrong, once: on 2 and 3 ranks, coarsest grids that are unsymmetric and singular, or nearly so;
   indefinite matrices, on whose levels subiterations grew, 32 and 4 of them; last grids that are swept, of null space 1, whose rows differ
   much; rows that are scaled at random beside convection; systems of entries of 1e-141, with identity rows, with rows of zeros; cycles in
   single precision on a ring; a grid stretched over 115 decades; systems
   with convection whose last grids are singular but for rounding; one whose cycles grew, of 49 sweeps that were asked for, and one where
   sweeps were asked for on the last grid; boundary rows
   with their columns, of a preconditioner that was used again (BiCGStab breaks down in the one before, on 2 to 4 ranks); convection inside
   strong stripes of a ring, and inside strong parts whose diagonals are so far apart that subiterations grow where they are carried; a ring
   whose last grid is one point that has rounding alone */
static PetscErrorCode RunFound(void)
{
  static const struct {
    int      seed;
    PetscInt number;
  } found[] = {{38, 620},      {61, 583},     {61, 1261},    {62, 219},     {38271, 3664},  {38291, 263},  {38311, 460},
               {38311, 641},   {38321, 1632}, {38423, 1293}, {38431, 989},  {38431, 1190},  {38483, 398},  {38491, 605},
               {38602, 1135},  {38806, 2938}, {38810, 2934}, {395002, 777}, {394004, 1130}, {411001, 990}, {412001, 959},
               {415004, 1239}, {419002, 556}, {419004, 926}, {38862, 901},  {38862, 937}};

  const uint64_t seed = run.seed;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(found); i++) {
    run.seed = found[i].seed;
    PetscCall(OneProblem(found[i].number, ""));
  }
  PetscCall(TestBreakdown(901));
  run.seed = seed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunAll(void)
{
  char        kind[128] = "", backend[32] = "host";
  PetscInt    problems, first = 0, only = -1, limit = 200;
  PetscMPIInt rank, size;
  PetscBool   only_long;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(HJTestLong(&only_long));
  problems = 600 / size; /* as many as take some seconds */
  if (only_long) {
    first    = problems;
    problems = 1200 / size;
  }
  PetscCall(ReadSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-problems", &problems, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, &run.only));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-limit", &limit, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kind", kind, sizeof(kind), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &run.compare));
  run.compare = (PetscBool)(run.compare && PetscDefined(HAVE_CUDA));
  run.limit   = (int)limit;
  if (run.only) {
    first    = only;
    problems = 1;
  }
  if (!only_long && !run.only) PetscCall(RunFound());
  for (PetscInt i = first; i < first + problems; i++) PetscCall(OneProblem(i, kind));
  for (int o = 0; o < OUTCOMES && !rank; o++) fprintf(HJTestStream(), "%s%d %s", o ? ", " : "# ", (int)run.count[o], outcomes[o]);
  if (!rank) fprintf(HJTestStream(), "\n");
  for (int o = FALSE_ERROR; o < OUTCOMES; o++) {
    if (o != BAD_INPUT)
      PetscCall(HJTestOK((PetscBool)!run.count[o], "problems %d to %d of seed %llu: none is '%s'", (int)first, (int)(first + problems - 1),
                         (unsigned long long)run.seed, outcomes[o]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscPushSignalHandler(OnSignal, NULL));
  (void)signal(SIGALRM, OnAlarm);
  PetscCall(RunAll());
  PetscCall(PetscPopSignalHandler());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}
