/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Factors of a stencil matrix are those of its AIJ: PETSc's own factorisation, and those of the packages that PETSc has for AIJ. The
   factor is AIJ's; its symbolic and numeric phases get the AIJ matrix where they are given the stencil matrix.
*/
#include "mat/base/hjmat.h"

typedef PetscErrorCode (*HJNumeric)(Mat, Mat, const MatFactorInfo *);
typedef PetscErrorCode (*HJSymbolicLU)(Mat, Mat, IS, IS, const MatFactorInfo *);
typedef PetscErrorCode (*HJSymbolicCholesky)(Mat, Mat, IS, const MatFactorInfo *);

/* AIJ in place of a stencil matrix */
static PetscErrorCode HJFactorGetAIJ(Mat A, Mat *aij)
{
  PetscBool stencil;

  PetscFunctionBegin;
  *aij = A;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATHJSTENCIL, &stencil));
  if (stencil) PetscCall(HJMatGetAIJ(A, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numeric phase that AIJ's symbolic one chose, composed by that name */
static PetscErrorCode HJFactorNumeric(Mat F, Mat A, const MatFactorInfo *info, const char name[])
{
  HJNumeric numeric;
  Mat       aij;

  PetscFunctionBegin;
  PetscCall(HJFactorGetAIJ(A, &aij));
  PetscCall(PetscObjectQueryFunction((PetscObject)F, name, &numeric));
  PetscCall((*numeric)(F, aij, info));
  PetscCall(HJMatFactorInvert(F, A, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorNumericLU(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorNumeric(F, A, info, "HJNumericLU_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorNumericCholesky(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorNumeric(F, A, info, "HJNumericCholesky_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The symbolic phase chose the numeric one: it is called with AIJ too */
static PetscErrorCode HJFactorWrapNumeric(Mat F)
{
  PetscFunctionBegin;
  if (F->ops->lufactornumeric && F->ops->lufactornumeric != HJFactorNumericLU) {
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "HJNumericLU_C", F->ops->lufactornumeric));
    F->ops->lufactornumeric = HJFactorNumericLU;
  }
  if (F->ops->choleskyfactornumeric && F->ops->choleskyfactornumeric != HJFactorNumericCholesky) {
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "HJNumericCholesky_C", F->ops->choleskyfactornumeric));
    F->ops->choleskyfactornumeric = HJFactorNumericCholesky;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolic(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info, const char name[])
{
  HJSymbolicLU symbolic;
  Mat          aij;

  PetscFunctionBegin;
  PetscCall(HJFactorGetAIJ(A, &aij));
  PetscCall(PetscObjectQueryFunction((PetscObject)F, name, &symbolic));
  PetscCall((*symbolic)(F, aij, row, column, info));
  PetscCall(HJFactorWrapNumeric(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolicSymmetric(Mat F, Mat A, IS row, const MatFactorInfo *info, const char name[])
{
  HJSymbolicCholesky symbolic;
  Mat                aij;

  PetscFunctionBegin;
  PetscCall(HJFactorGetAIJ(A, &aij));
  PetscCall(PetscObjectQueryFunction((PetscObject)F, name, &symbolic));
  PetscCall((*symbolic)(F, aij, row, info));
  PetscCall(HJFactorWrapNumeric(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolicLU(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorSymbolic(F, A, row, column, info, "HJSymbolicLU_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolicILU(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorSymbolic(F, A, row, column, info, "HJSymbolicILU_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolicCholesky(Mat F, Mat A, IS row, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorSymbolicSymmetric(F, A, row, info, "HJSymbolicCholesky_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorSymbolicICC(Mat F, Mat A, IS row, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorSymbolicSymmetric(F, A, row, info, "HJSymbolicICC_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFactorRefuseInPlace(Mat A)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
          "A matrix of type " MATHJSTENCIL " has no room for its own factors; leave out -pc_factor_in_place, or use -dm_mat_type aij");
}

static PetscErrorCode MatFactor_HJStencil(Mat A, IS row, IS column, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorRefuseInPlace(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFactorSymmetric_HJStencil(Mat A, IS row, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(HJFactorRefuseInPlace(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetOpsFactor(Mat A)
{
  PetscFunctionBegin;
  A->ops->lufactor = A->ops->ilufactor = MatFactor_HJStencil;
  A->ops->choleskyfactor = A->ops->iccfactor = MatFactorSymmetric_HJStencil;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* package NULL: the first that PETSc has for AIJ on these ranks */
static PetscErrorCode HJGetFactor(Mat A, MatSolverType package, MatFactorType type, Mat *F)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetFactor(aij, package, type, F));
  if (!*F) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectComposeFunction((PetscObject)*F, "HJSymbolicLU_C", (*F)->ops->lufactorsymbolic));
  PetscCall(PetscObjectComposeFunction((PetscObject)*F, "HJSymbolicILU_C", (*F)->ops->ilufactorsymbolic));
  PetscCall(PetscObjectComposeFunction((PetscObject)*F, "HJSymbolicCholesky_C", (*F)->ops->choleskyfactorsymbolic));
  PetscCall(PetscObjectComposeFunction((PetscObject)*F, "HJSymbolicICC_C", (*F)->ops->iccfactorsymbolic));
  if ((*F)->ops->lufactorsymbolic) (*F)->ops->lufactorsymbolic = HJFactorSymbolicLU;
  if ((*F)->ops->ilufactorsymbolic) (*F)->ops->ilufactorsymbolic = HJFactorSymbolicILU;
  if ((*F)->ops->choleskyfactorsymbolic) (*F)->ops->choleskyfactorsymbolic = HJFactorSymbolicCholesky;
  if ((*F)->ops->iccfactorsymbolic) (*F)->ops->iccfactorsymbolic = HJFactorSymbolicICC;
  PetscCall(HJFactorWrapNumeric(*F)); /* where the symbolic phase is left out */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also what is taken where nothing is asked for; PETSc's own factorisation is of one rank */
static PetscErrorCode HJGetFactor_petsc(Mat A, MatFactorType type, Mat *F)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(HJGetFactor(A, size > 1 ? NULL : MATSOLVERPETSC, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The callback that PETSc calls does not say for which package: one each */
#define HJ_PACKAGES(M)                                                                                                                     \
  M(mumps) M(superlu) M(superlu_dist) M(strumpack) M(umfpack) M(cholmod) M(klu) M(pastix) M(mkl_pardiso) M(mkl_cpardiso)
#define HJ_PACKAGE_FACTOR(package)                                                                                                         \
  static PetscErrorCode HJGetFactor_##package(Mat A, MatFactorType type, Mat *F)                                                           \
  {                                                                                                                                        \
    PetscFunctionBegin;                                                                                                                    \
    PetscCall(HJGetFactor(A, #package, type, F));                                                                                          \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }
HJ_PACKAGES(HJ_PACKAGE_FACTOR)

PetscErrorCode HJMatRegisterFactors(void)
{
  typedef PetscErrorCode (*HJCreateFactor)(Mat, MatFactorType, Mat *);
#define HJ_PACKAGE_ENTRY(package) {#package, HJGetFactor_##package},
  const struct {
    const char    *name;
    HJCreateFactor create;
  } packages[]                = {{MATSOLVERPETSC, HJGetFactor_petsc}, HJ_PACKAGES(HJ_PACKAGE_ENTRY)};
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_ILUDT};

  PetscFunctionBegin;
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(packages); p++) {
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
      HJCreateFactor seq, mpi;

      PetscCall(MatSolverTypeGet(packages[p].name, MATSEQAIJ, types[t], NULL, NULL, &seq));
      PetscCall(MatSolverTypeGet(packages[p].name, MATMPIAIJ, types[t], NULL, NULL, &mpi));
      if (seq || mpi) PetscCall(MatSolverTypeRegister(packages[p].name, MATHJSTENCIL, types[t], packages[p].create));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
