/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a cycle on several grids needs on the CPU besides sweeps, products and transfers: norms, and the inverse of a small dense matrix.
*/
#include "hjhostcycle.h"
#include <petscblaslapack.h>

#define HJ_INVERT_BLOCK 64 /* columns that LAPACK has room for at a time: as many as its blocks have */

PetscErrorCode HJHostNumberCreate(HJNumber *number)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(1, &number->value));
  PetscCall(PetscCalloc1(1, &number->host));
  number->room = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostNumberDestroy(HJNumber *number)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(number->value));
  PetscCall(PetscFree(number->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostNumberSquares(PetscCount n, const PetscScalar *x, HJNumber *number)
{
  double     sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}; /* digits of many numbers, also where these are single */
  PetscCount i;

  PetscFunctionBegin;
  for (i = 0; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; lane++) sum[lane] += (double)x[i + lane] * x[i + lane];
  for (; i < n; i++) sum[0] += (double)x[i] * x[i];
  *number->value = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostNumberSend(HJNumber *number)
{
  PetscFunctionBegin;
  *number->host = *number->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostNumberWait(const HJNumber *number, PetscScalar *value)
{
  PetscFunctionBegin;
  *value = *number->host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of the point at an offset from another one, on a grid of one rank; -1: there is none */
static PetscInt HJHostBeside(const HJGrid *grid, const PetscInt p[3], const PetscInt off[3])
{
  PetscInt to[3];

  for (int d = 0; d < 3; d++) {
    to[d] = p[d] + off[d];
    if (to[d] >= 0 && to[d] < grid->N[d]) continue;
    if (!grid->periodic[d]) return -1;
    to[d] += to[d] < 0 ? grid->N[d] : -grid->N[d];
  }
  return (to[2] * grid->N[1] + to[1]) * grid->N[0] + to[0];
}

PetscErrorCode HJHostFillDense(const HJGrid *grid, const HJCoefficients *c, PetscBool constants, PetscScalar *a, PetscScalar *shift)
{
  const PetscInt n = (PetscInt)c->npoints, *N = grid->N;

  PetscFunctionBegin;
  *shift = 0.0;
  for (PetscInt r = 0; r < n && constants; r++) *shift = PetscMax(*shift, PetscAbsScalar(HJCoefficientAt(c, 0, r)));
  for (size_t i = 0; i < (size_t)n * n; i++) a[i] = *shift / n;
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    for (PetscInt r = 0; r < n; r++) {
      const PetscInt p[3] = {r % N[0], r / N[0] % N[1], r / N[0] / N[1]}, column = HJHostBeside(grid, p, off);

      if (column >= 0) a[(size_t)r * n + column] += HJCoefficientAt(c, s, r);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HJHostIsSymmetric(PetscInt n, const PetscScalar *a)
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < i; j++)
      if (a[(size_t)i * n + j] != a[(size_t)j * n + i]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The lower half of the inverse of a symmetric matrix, which is the upper one to LAPACK, and the same above; is: it is positive definite.
   Half the work of HJHostInvertAny() */
static PetscErrorCode HJHostInvertDefinite(PetscInt n, PetscScalar *a, PetscBool *is)
{
  PetscBLASInt order, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &order));
  PetscCallBLAS("LAPACKpotrf", LAPACKpotrf_("U", &order, a, &order, &info));
  if (!info) PetscCallBLAS("LAPACKpotri", LAPACKpotri_("U", &order, a, &order, &info));
  *is = (PetscBool)!info;
  for (PetscInt i = 0; i < n && *is; i++)
    for (PetscInt j = 0; j < i; j++) a[(size_t)j * n + i] = a[(size_t)i * n + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LAPACK counts by columns, and so inverts the transposed matrix, which leaves the inverse by rows */
static PetscErrorCode HJHostInvertAny(PetscInt n, PetscScalar *a, PetscScalar *work, PetscBool *is)
{
  PetscBLASInt order, room, info, *pivot;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &order));
  room = PetscMin(order, HJ_INVERT_BLOCK) * order;
  PetscCall(PetscMalloc1(n, &pivot));
  PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&order, &order, a, &order, pivot, &info));
  if (!info) PetscCallBLAS("LAPACKgetri", LAPACKgetri_(&order, a, &order, pivot, work, &room, &info));
  PetscCall(PetscFree(pivot));
  *is = (PetscBool)!info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All is 0, which solves nothing, where there is no inverse or some number is not finite. Whether the inverse is good is found by trying
   it: traps that the user has set are for other numbers
*/
PetscErrorCode HJHostInvert(PetscInt n, PetscScalar *a, PetscScalar *work)
{
  const size_t size = (size_t)n * n;
  PetscBool    is   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (HJHostIsSymmetric(n, a)) {
    PetscCall(PetscArraycpy(work, a, size));
    PetscCall(HJHostInvertDefinite(n, a, &is));
    if (!is) PetscCall(PetscArraycpy(a, work, size));
  }
  if (!is) PetscCall(HJHostInvertAny(n, a, work, &is));
  PetscCall(PetscFPTrapPop());
  for (size_t i = 0; i < size; i++) is = (PetscBool)(is && !PetscIsInfOrNanScalar(a[i]));
  if (!is) PetscCall(PetscArrayzero(a, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostMultiplyDense(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *row    = a + (size_t)i * n;
    PetscScalar        sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    PetscInt           j;

    for (j = 0; j + 8 <= n; j += 8)
      for (int lane = 0; lane < 8; lane++) sum[lane] += row[j + lane] * x[j + lane];
    for (; j < n; j++) sum[0] += row[j] * x[j];
    y[i] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
