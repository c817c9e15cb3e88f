/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Factors of a small stencil matrix that lives on a GPU: the inverse beside them. A solve is then one product on the GPU, in place of two
   copies and of triangular solves on the host, for which all that was started before must end. Decides when; the factors serve all else.
*/
#include "mat/base/hjmat.h"
#include "core/hjmultigrid.h"
#include "operator/hjvectors.h"

#define HJ_INVERSE_PROBES 2
#define HJ_INVERSE_GOOD   HJ_BY_PRECISION(1e-12, 1e-4) /* most that A times the inverse may change a value, of what is summed up for it */
#define HJ_INVERSE_GROWTH                                                                                                                  \
  HJ_BY_PRECISION(1e10, 1e5) /* most that is summed up for a value, of the largest: more where a matrix is singular but for rounding */

typedef struct {
  const HJBackendOps *ops;
  PetscInt            n;
  PetscScalar        *inverse; /* in the backend's memory; NULL: the factors solve */
  PetscErrorCode (*solve)(Mat, Vec, Vec);
  PetscErrorCode (*destroy)(Mat);
} HJInverse;

static PetscErrorCode HJInverseGet(Mat F, HJInverse **s)
{
  PetscContainer container = NULL;

  PetscFunctionBegin;
  *s = NULL;
  PetscCall(PetscObjectQuery((PetscObject)F, "HJInverse", (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, (void **)s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJInverseFree(HJInverse *s)
{
  PetscFunctionBegin;
  if (s->inverse) PetscCall(s->ops->free(NULL, &s->inverse));
  s->inverse = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_HJInverse(Mat F)
{
  HJInverse *s = NULL;
  PetscErrorCode (*destroy)(Mat);

  PetscFunctionBegin;
  PetscCall(HJInverseGet(F, &s));
  destroy         = s->destroy;
  F->ops->destroy = destroy;
  PetscCall(HJInverseFree(s));
  PetscCall(PetscFree(s));
  PetscCall((*destroy)(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on the host, or bound to it, are solved for there */
static PetscErrorCode MatSolve_HJInverse(Mat F, Vec b, Vec x)
{
  HJInverse *s     = NULL;
  PetscBool  on[2] = {PETSC_FALSE, PETSC_FALSE};
  HJVecArray ba, xa;

  PetscFunctionBegin;
  PetscCall(HJInverseGet(F, &s));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJVecOnDevice(b, &on[0]));
  PetscCall(HJVecOnDevice(x, &on[1]));
#endif
  if (!on[0] || !on[1]) {
    PetscCall((*s->solve)(F, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJVecOpen(s->ops, NULL, HJ_READ, b, NULL, &ba));
  PetscCall(HJVecOpen(s->ops, NULL, HJ_WRITE, x, NULL, &xa));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(s->ops->multigrid->multiply_dense(s->n, s->inverse, ba.used, xa.used));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * s->n * s->n));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries, row by row */
static PetscErrorCode HJInverseFill(Mat aij, PetscInt n, PetscScalar *a)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(a, (size_t)n * n));
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           nc;

    PetscCall(MatGetRow(aij, r, &nc, &columns, &values));
    for (PetscInt e = 0; e < nc; e++) a[(size_t)r * n + columns[e]] = values[e];
    PetscCall(MatRestoreRow(aij, r, &nc, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest value of v - A A^-1 v for a vector v of values between -1 and 1, each over the sum of the sizes of all that is added up for
   it: a coefficient that jumps makes products large that cancel, with factors too. growth: the largest of these sums; rounding of the
   inverse is as large a part of it, where that of factors lies along a singular matrix' kernel. x is memory of the backend for one more
   vector
*/
static PetscErrorCode HJInverseProbe(const HJInverse *s, const PetscScalar *a, PetscInt probe, PetscScalar *v, PetscScalar *x,
                                     PetscReal *worst, PetscReal *growth)
{
  const PetscInt n = s->n;
  PetscScalar   *y = v + n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) v[i] = probe ? PetscSinReal(1.0 + 12.9898 * i) : 1.0;
  PetscCall(s->ops->copy(NULL, x, v, n));
  PetscCall(s->ops->multigrid->multiply_dense(n, s->inverse, x, x + n));
  PetscCall(s->ops->copy(NULL, y, x + n, n));
  for (PetscInt i = 0; i < n; i++) {
    PetscScalar r    = v[i];
    PetscReal   size = PetscAbsScalar(v[i]), part;

    for (PetscInt j = 0; j < n; j++) {
      r -= a[(size_t)i * n + j] * y[j];
      size += PetscAbsScalar(a[(size_t)i * n + j] * y[j]);
    }
    part    = PetscAbsScalar(r) / size;
    *growth = PetscMax(*growth, size);
    if (!(part <= *worst)) *worst = PetscIsInfOrNanReal(part) ? PETSC_MAX_REAL : part;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for the inverse and for making it; where there is none s->inverse is NULL */
static PetscErrorCode HJInverseAlloc(HJInverse *s, PetscScalar **work)
{
  const PetscCount n = s->n;

  PetscFunctionBegin;
  *work = NULL;
  PetscCall(HJAllocIfRoom(s->ops, n * n, PETSC_FALSE, &s->inverse));
  if (s->inverse) PetscCall(HJAllocIfRoom(s->ops, PetscMax(n * n, 2 * n), PETSC_FALSE, work));
  if (!*work) PetscCall(HJInverseFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a search for pivots, as PETSc's own factors: whether it may be used is found out by trying it */
static PetscErrorCode HJInverseCompute(Mat F, Mat aij, HJInverse *s)
{
  const PetscInt n     = s->n;
  PetscReal      worst = 0, growth = 0;
  PetscBool      good;
  PetscScalar   *a, *v, *work;

  PetscFunctionBegin;
  PetscCall(HJInverseAlloc(s, &work));
  if (!s->inverse) {
    PetscCall(PetscInfo(F, "There is no memory on the GPU for the inverse: the factors serve\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc2((size_t)n * n, &a, 2 * n, &v));
  PetscCall(HJInverseFill(aij, n, a));
  PetscCall(s->ops->copy(NULL, s->inverse, a, (PetscCount)n * n));
  PetscCall(s->ops->multigrid->invert(n, s->inverse, work));
  for (PetscInt p = 0; p < HJ_INVERSE_PROBES; p++) PetscCall(HJInverseProbe(s, a, p, v, work, &worst, &growth));
  good = (PetscBool)(worst <= HJ_INVERSE_GOOD && growth <= HJ_INVERSE_GROWTH);
  PetscCall(PetscInfo(F, "A times its inverse on the GPU changes vectors by %g of what is summed up, at most %g: %s\n", (double)worst,
                      (double)growth, good ? "it serves there" : "the factors serve"));
  if (!good) PetscCall(HJInverseFree(s));
  PetscCall(s->ops->free(NULL, &work));
  PetscCall(PetscFree2(a, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What F is to have; taken from it again where new values have no inverse that is good enough */
static PetscErrorCode HJInverseSet(Mat F, HJInverse *s)
{
  PetscContainer container;

  PetscFunctionBegin;
  if (!s->destroy) {
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, s));
    PetscCall(PetscObjectCompose((PetscObject)F, "HJInverse", (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    s->destroy      = F->ops->destroy;
    F->ops->destroy = MatDestroy_HJInverse;
  }
  if (F->ops->solve != MatSolve_HJInverse) s->solve = F->ops->solve;
  F->ops->solve = s->inverse ? MatSolve_HJInverse : s->solve;
  PetscCall(PetscObjectComposeFunction((PetscObject)F, HJ_SOLVES_BY_INVERSE, s->inverse ? MatSolve_HJInverse : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatFactorInvert(Mat F, Mat A, Mat aij)
{
  HJInverse     *s;
  PetscBool      stencil, own = PETSC_FALSE, device = PETSC_FALSE;
  MatSolverType  package;
  PetscMPIInt    size;
  MatFactorError error;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATHJSTENCIL, &stencil));
  if (stencil) PetscCall(HJMatOnDevice(A, &device));
  PetscCall(MatFactorGetError(F, &error));
  PetscCall(MatFactorGetSolverType(F, &package));
  if (package) PetscCall(PetscStrcmp(package, MATSOLVERPETSC, &own));
  PetscCall(HJInverseGet(F, &s));
  if (s) PetscCall(HJInverseFree(s));
  if (device && own && size == 1 && A->rmap->n <= HJ_DENSE_MAX && !error &&
      (F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_CHOLESKY)) {
    if (!s) PetscCall(PetscNew(&s));
    s->ops = ((Mat_HJStencil *)A->data)->device->backend;
    s->n   = A->rmap->n;
    PetscCall(HJInverseCompute(F, aij, s));
  }
  if (s) PetscCall(HJInverseSet(F, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
