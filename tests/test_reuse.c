/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   Preconditioners that are used again (KSPSetReusePreconditioner()) for a matrix whose values have changed: the answer is that of the new
   values, no set-up is run, and iterations are those of the old preconditioner. One that reads the matrix itself takes the iterations of
   PCMG that is used again, whose smoother on the finest grid has the new values. Unknowns of boundary rows are had from the rows that the
   matrix has now, whose columns are.
*/
#include "pc/hjpc.h"
#include "hjproblem.h"

#define K "3"

typedef struct {
  KSPType     type;
  KSPNormType norm;
} Solver;

static const Solver solvers[] = {{KSPCG, KSP_NORM_PRECONDITIONED},
                                 {KSPGMRES, KSP_NORM_PRECONDITIONED},
                                 {KSPRICHARDSON, KSP_NORM_PRECONDITIONED},
                                 {KSPRICHARDSON, KSP_NORM_UNPRECONDITIONED}};

static PetscErrorCode SetOptions(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-hjmg_pc_type hjmg -hjmg_pc_hjmg_k " K " -hjmg_pc_hjmg_levels 3 -hjmg_pc_hjmg_galerkin "
                                           "-hjmg_pc_hjmg_coarse_solve sweeps -hjmg_pc_hjmg_transfer bilinear "
                                           "-hjmg_pc_hjmg_rank_points 0"));
  PetscCall(PetscOptionsInsertString(NULL, "-hjacobi_pc_type hjacobi -hjacobi_pc_hjacobi_k 6"));
  PetscCall(PetscOptionsInsertString(NULL, "-mg_pc_type mg -mg_pc_mg_levels 3 -mg_pc_mg_galerkin both -mg_mg_levels_ksp_type richardson "
                                           "-mg_mg_levels_ksp_max_it 1 -mg_mg_levels_pc_type hjacobi -mg_mg_levels_pc_hjacobi_k " K
                                           " -mg_mg_levels_pc_hjacobi_schedule chebyshev4 -mg_mg_coarse_ksp_type preonly "
                                           "-mg_mg_coarse_pc_type hjacobi -mg_mg_coarse_pc_hjacobi_reduction 0.01 "
                                           "-mg_mg_coarse_pc_hjacobi_schedule chebyshev"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(const char *prefix, const Solver *s, DM da, Mat A, Mat P, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, P));
  PetscCall(KSPSetType(*ksp, s->type));
  PetscCall(KSPSetNormType(*ksp, s->norm));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountSetUps(PetscInt *count)
{
  const char *const  names[] = {"PCHJMGSetUp", "PCHJacobiSetUp"};
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  *count = 0;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscLogEventGetId(names[i], &event));
    PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
    *count += info.count;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of about the size of those before */
static PetscErrorCode NewValues(const Problem *p, DM da, Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(ProblemFill(p, da, 1, A));
  PetscCall(MatScale(A, 0.6));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscInt *its, PetscInt *setups)
{
  PetscInt before;

  PetscFunctionBegin;
  PetscCall(VecSet(x, 0.0));
  PetscCall(CountSetUps(&before));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CountSetUps(setups));
  *setups -= before;
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cycles of a PCHJACOBI read the matrix's own arrays */
static PetscErrorCode ReadsInPlace(KSP ksp, PetscBool *reads)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCHJACOBI, reads));
  if (*reads) *reads = ((PC_HJacobi *)pc->data)->op->stencil->in_place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoothers of a PCMG that is used again are set up for new values: PETSc 3.18 does so by itself, 3.26 uses them again too */
static PetscErrorCode RenewSmoothers(KSP ksp)
{
  PC        pc;
  PetscBool mg;
  PetscInt  levels;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCMG, &mg));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGGetLevels(pc, &levels));
  for (PetscInt l = 0; l < levels; l++) {
    KSP smoother;

    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPSetReusePreconditioner(smoother, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestUsedAgain(const Problem *p, const char *prefix, PetscBool stencil, const Solver *s)
{
  DM        da;
  Mat       A, old;
  KSP       ksp, other;
  PetscInt  slack; /* PCMG has a test of its own under KSPRICHARDSON, and so have rotated cycles */
  Vec       b, x;
  PetscInt  its[2] = {0, 0}, setups, unused;
  PetscBool mg, own, richardson;
  PetscReal residual = 0;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  if (stencil) PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(p, da, 0, A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &old));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(CreateKSP(prefix, s, da, A, A, &ksp));
  PetscCall(ReadsInPlace(ksp, &own));
  PetscCall(PetscStrcmp(prefix, "hjmg_", &mg));
  PetscCall(CreateKSP(mg && stencil ? "mg_" : prefix, s, da, A, stencil && (mg || own) ? A : old, &other));
  PetscCall(PetscStrcmp(s->type, KSPRICHARDSON, &richardson));
  slack = mg && stencil && richardson ? 1 : 0;
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  if (!own) PetscCall(KSPSetReusePreconditioner(other, PETSC_TRUE));
  PetscCall(RenewSmoothers(other));
  for (int again = 0; again < 2; again++) {
    PetscCall(NewValues(p, da, A));
    PetscCall(Solve(ksp, b, x, &its[0], &setups));
    PetscCall(RelativeResidual(A, b, x, &residual));
    PetscCall(Solve(other, b, x, &its[1], &unused));
    PetscCall(HJTestOK((PetscBool)(residual <= HJTestDigits(1e-6) && !setups && PetscAbsInt(its[0] - its[1]) <= slack),
                       "%" PetscInt_FMT "D %s %s, %s %s: %" PetscInt_FMT " iterations, expected %" PetscInt_FMT ", %" PetscInt_FMT
                       " set-ups, residual %g",
                       p->dim, prefix, stencil ? "hjstencil" : "AIJ", s->type, KSPNormTypes[s->norm], its[0], its[1], setups,
                       (double)residual));
  }
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  PetscCall(Solve(ksp, b, x, &its[0], &setups));
  PetscCall(KSPDestroy(&other));
  PetscCall(CreateKSP(prefix, s, da, A, A, &other));
  PetscCall(Solve(other, b, x, &its[1], &unused));
  PetscCall(HJTestOK((PetscBool)(its[0] == its[1] && setups == 1),
                     "... set up again: %" PetscInt_FMT " iterations, a new one %" PetscInt_FMT, its[0], its[1]));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &other, &A, &old, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix times a factor, whose rows at the boundary are a diagonal alone and have their columns. Of old diagonals and new columns right
   GMRES said that it had converged, with a true residual of 1e-3. Of the new ones of both the product with the preconditioner has two
   eigenvalues, 1 at the boundary and about the factor inside */
static PetscErrorCode TestBoundaryRows(const Problem *p, PetscBool stencil, PetscReal factor)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x;
  PetscInt  its[2], most = 40, setups = 0;
  PetscReal residual = 0;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  if (stencil) PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(p, da, 0, A));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(Solve(ksp, b, x, &its[0], &setups));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(A, factor));
  PetscCall(Solve(ksp, b, x, &its[1], &setups));
  PetscCall(RelativeResidual(A, b, x, &residual));
  if (factor >= 0.1 && factor <= 10.0) most = 2 * its[0];
  PetscCall(HJTestOK((PetscBool)(residual <= HJTestDigits(1e-7) && its[1] <= most && !setups),
                     "%" PetscInt_FMT "D %s, boundary rows with their columns, times %g: %" PetscInt_FMT " iterations, %" PetscInt_FMT
                     " before, residual %g",
                     p->dim, stencil ? "hjstencil" : "AIJ", (double)factor, its[1], its[0], (double)residual));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem   problems[] = {{2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {3, {17, 17, 17}, DIRICHLET, VARYING, PETSC_FALSE}};
  const Problem   rows[]     = {{2, {33, 25, 1}, IDENTITY, VARYING, PETSC_FALSE}, {3, {17, 13, 15}, IDENTITY, CONSTANT, PETSC_FALSE}};
  const PetscReal factors[]  = {HJTestDigits(1e-4), 0.1, 10.0, HJTestDigits(1e6)};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(SetOptions());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(solvers); s++) {
      for (int stencil = 0; stencil < 2; stencil++) {
        PetscCall(TestUsedAgain(&problems[i], "hjacobi_", (PetscBool)stencil, &solvers[s]));
        PetscCall(TestUsedAgain(&problems[i], "hjmg_", (PetscBool)stencil, &solvers[s]));
      }
    }
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(rows); i++) {
    for (int stencil = 0; stencil < 2; stencil++) {
      for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(factors); f++) PetscCall(TestBoundaryRows(&rows[i], (PetscBool)stencil, factors[f]));
    }
  }
  return HJTestEnd();
}
