/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The coarsest grid where its matrix is singular but for rounding. Decides what its solve leaves out: singular vectors of the matrix whose
   values are no more than rounding. Which those are follows from the matrix alone, on the host, so that it is the same on all backends, and
   whatever was said of null spaces.
*/
#include "hjmg.h"
#include <petscblaslapack.h>

/* What rounding makes of the sum of a row, as a share of its diagonal; and the largest such share that counts as rounding */
#define HJ_MG_ROW_ROUNDING  (10 * PETSC_MACHINE_EPSILON)
#define HJ_MG_MOST_ROUNDING HJ_BY_PRECISION(1e-8, 1e-4)
/* Steps that scale rows and columns; each takes the root of what is left */
#define HJ_MG_EQUILIBRATE 8

PetscReal HJMGRoundingSum(const PC_HJMG *mg)
{
  PetscReal sum = mg->rounding;

  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    if (level > mg->level)
      for (int d = 0; d < 3; d++) sum *= (PetscReal)level[-1].coarsening.factor[d];
    sum += HJ_MG_ROW_ROUNDING * level->coarsening.coupled;
  }
  return sum;
}

PetscReal HJMGRounding(const PC_HJMG *mg)
{
  const HJMGLevel *level   = &mg->level[mg->nlevels - 1];
  const PetscReal  coupled = level->coarsening.coupled, least = PETSC_MACHINE_EPSILON * HJMGPoints(level);

  return PetscMin(PetscMax(coupled > 0.0 ? HJMGRoundingSum(mg) / coupled : 0.0, least), HJ_MG_MOST_ROUNDING);
}

/* Scales a dense matrix by rows, s_i a_ij t_j, so that the largest entry of each row and column is about 1 (Ruiz 2001); a symmetric one
   stays so. finite: all its entries are */
static PetscErrorCode HJMGEquilibrate(PetscInt n, PetscScalar a[], PetscReal s[], PetscReal t[], PetscBool *finite)
{
  PetscReal *most[2];

  PetscFunctionBegin;
  *finite = PETSC_TRUE;
  PetscCall(PetscMalloc2(n, &most[0], n, &most[1]));
  for (PetscInt i = 0; i < n; i++) s[i] = t[i] = 1.0;
  for (int step = 0; step < HJ_MG_EQUILIBRATE && *finite; step++) {
    for (int side = 0; side < 2; side++) PetscCall(PetscArrayzero(most[side], n));
    for (size_t e = 0; e < (size_t)n * n; e++) {
      if (PetscIsInfOrNanScalar(a[e])) *finite = PETSC_FALSE;
      most[0][e / n] = PetscMax(most[0][e / n], PetscAbsScalar(a[e]));
      most[1][e % n] = PetscMax(most[1][e % n], PetscAbsScalar(a[e]));
    }
    for (PetscInt i = 0; i < n; i++) {
      for (int side = 0; side < 2; side++) most[side][i] = most[side][i] > 0.0 ? 1.0 / PetscSqrtReal(most[side][i]) : 1.0;
      s[i] *= most[0][i];
      t[i] *= most[1][i];
    }
    for (size_t e = 0; e < (size_t)n * n; e++) a[e] *= most[0][e / n] * most[1][e % n];
  }
  PetscCall(PetscFree2(most[0], most[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The pseudoinverse of a dense matrix by columns, into x: without singular values up to drop, rank others. Those below a share floor of the
   largest count as that: what rounding leaves there is not made as large as the answer, and a KSP finds what is missing. a is lost
*/
static PetscErrorCode HJMGPseudoinvert(PetscInt n, PetscScalar a[], PetscReal drop, PetscReal floor, PetscScalar x[], PetscInt *rank)
{
  const PetscScalar one = 1.0, zero = 0.0;
  PetscScalar      *u, *vt, *work, best;
  PetscReal        *sigma;
  PetscBLASInt      m, kept, lwork = -1, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &m));
  PetscCall(PetscMalloc3((size_t)n * n, &u, (size_t)n * n, &vt, n, &sigma));
  PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("A", "A", &m, &m, a, &m, sigma, u, &m, vt, &m, &best, &lwork, &info));
  lwork = (PetscBLASInt)PetscRealPart(best);
  PetscCall(PetscMalloc1(lwork, &work));
  PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("A", "A", &m, &m, a, &m, sigma, u, &m, vt, &m, work, &lwork, &info));
  PetscCall(PetscFree(work));
  for (*rank = 0; !info && *rank < n && sigma[*rank] > drop; (*rank)++)
    for (PetscInt i = 0; i < n; i++) u[(size_t)*rank * n + i] /= PetscMax(sigma[*rank], floor * sigma[0]);
  PetscCall(PetscBLASIntCast(*rank, &kept));
  PetscCallBLAS("BLASgemm", BLASgemm_("T", "T", &m, &m, &kept, &one, vt, &m, u, &m, &zero, x, &m));
  PetscCall(PetscFree3(u, vt, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of a matrix by rows, in its place, of which rows and columns are scaled. A A^g A is A; where A is symmetric A^g is. *made is
   false where an entry is no number */
static PetscErrorCode HJMGPseudoinvertScaled(PetscInt n, PetscScalar a[], PetscReal drop, PetscReal floor, PetscInt *rank, PetscBool *made)
{
  PetscReal   *s, *t;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &s, n, &t, (size_t)n * n, &x));
  PetscCall(HJMGEquilibrate(n, a, s, t, made));
  if (*made) {
    PetscCall(HJMGPseudoinvert(n, a, drop, floor, x, rank)); /* by rows: the transpose of that of the transpose */
    for (size_t e = 0; e < (size_t)n * n; e++) a[e] = t[e / n] * x[e] * s[e % n];
  }
  PetscCall(PetscFree3(s, t, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A times what it makes of A times a rough vector is that, but for a share defect, and whether it makes of a rough vector one of
   the same direction as A does. On the host */
static PetscErrorCode HJMGCheckPseudoinverse(PetscInt n, const PetscScalar a[], const PetscScalar inverse[], PetscReal defect,
                                             PetscBool *good, PetscBool *same_sign)
{
  const HJMultigridOps *ops = HJBackendHost.multigrid;
  PetscScalar          *rough, *b, *x, *y, product[2] = {0.0, 0.0};
  PetscReal             most[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &rough, n, &b, n, &x, n, &y));
  for (PetscInt i = 0; i < n; i++) rough[i] = 1.0 + PetscSinReal(12.9898 * i);
  PetscCall(ops->multiply_dense(n, a, rough, b));
  PetscCall(ops->multiply_dense(n, inverse, b, x));
  PetscCall(ops->multiply_dense(n, a, x, y));
  PetscCall(ops->multiply_dense(n, inverse, rough, x));
  for (PetscInt i = 0; i < n; i++) {
    most[0] = PetscMax(most[0], PetscAbsScalar(b[i]));
    most[1] = PetscMax(most[1], PetscAbsScalar(y[i] - b[i]));
    product[0] += rough[i] * b[i];
    product[1] += rough[i] * x[i];
  }
  *good      = (PetscBool)(most[1] <= defect * most[0]);
  *same_sign = (PetscBool)(PetscRealPart(product[0] * product[1]) >= 0.0);
  PetscCall(PetscFree4(rough, b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where A is symmetric and an eigenvalue next to 0 has another sign than the rest, it counts as rounding if it is larger than that too:
   cycles would be indefinite */
PetscErrorCode HJMGMakePseudoinverse(PC pc, PetscInt n, PetscBool *good)
{
  PC_HJMG              *mg        = (PC_HJMG *)pc->data;
  HJMGLevel            *level     = &mg->level[mg->nlevels - 1];
  const HJBackendOps   *ops       = level->op->ops;
  const PetscCount      size      = (PetscCount)n * n;
  const PetscBool       symmetric = (PetscBool)(level->skew <= HJ_MG_SKEW);
  const PetscBool       floored   = (PetscBool)(!symmetric && !HJMGIsOfFinest(mg, level));
  const PetscReal       drops[]   = {symmetric || floored ? HJMGRounding(mg) : HJ_MG_VOID, HJ_MG_VOID};
  const HJCoefficients *c;
  PetscScalar          *a, *inverse, shift;
  PetscInt              rank = 0;
  PetscBool             made = PETSC_FALSE, same_sign = PETSC_FALSE;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  PetscCall(PetscMalloc2(size, &a, size, &inverse));
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &c));
  PetscCall(HJBackendHost.multigrid->fill_dense(&level->op->grid, c, PETSC_FALSE, a, &shift));
  for (int i = 0; i < (symmetric ? 2 : 1) && !same_sign; i++) {
    PetscCall(PetscArraycpy(inverse, a, size));
    PetscCall(HJMGPseudoinvertScaled(n, inverse, drops[i], floored ? HJ_MG_SVD_FLOOR : 0.0, &rank, &made));
    if (!made) break;
    PetscCall(HJMGCheckPseudoinverse(n, a, inverse, floored ? HJ_MG_SVD_DEFECT : HJ_MG_INVERSE_DEFECT, good, &same_sign));
  }
  if (*good) {
    PetscCall(ops->copy(NULL, mg->inverse, inverse, size));
    PetscCall(PetscInfo(pc,
                        "The coarsest grid is solved without the null space of its matrix, which is of dimension %" PetscInt_FMT
                        " but for rounding\n",
                        n - rank));
  }
  PetscCall(PetscFree2(a, inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}
