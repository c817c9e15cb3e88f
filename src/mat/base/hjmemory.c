/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Where the coefficients of a stencil matrix are valid: on the host, on the device, or on both. Copies them when they are asked for where
   they are not, and gives memory back when only one copy is of use.
*/
#include "hjmat.h"

PetscErrorCode HJVecTypeOnDevice(VecType type, PetscBool *on)
{
  const VecType cuda[] = {VECCUDA, VECSEQCUDA, VECMPICUDA};

  PetscFunctionBegin;
  *on = PETSC_FALSE;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(cuda) && !*on; t++) PetscCall(PetscStrcmp(type, cuda[t], on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecOnDevice(Vec x, PetscBool *on)
{
  VecType   type;
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(VecBoundToCPU(x, &bound));
  PetscCall(VecGetType(x, &type));
  PetscCall(HJVecTypeOnDevice(type, on));
  *on = (PetscBool)(*on && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatOnDevice(Mat A, PetscBool *on)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  VecType        type;
  PetscBool      bound;

  PetscFunctionBegin;
  *on = PETSC_FALSE;
  if (!hj->device || hj->host_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatGetVecType(A, &type));
  if (!bound) PetscCall(HJVecTypeOnDevice(type, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatFindOps(Mat A, PetscInt n, const Vec v[], const HJArrayOps **ops)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(HJMatOnDevice(A, &device));
  for (PetscInt i = 0; i < n && device; i++)
    if (v[i]) PetscCall(HJVecOnDevice(v[i], &device));
  *ops = device ? ((Mat_HJStencil *)A->data)->device : &HJArraysHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that were found in arrays */
static PetscErrorCode HJArraysForgetFew(const HJArrayOps *ops, HJCoefficients *c)
{
  PetscFunctionBegin;
  if (c->few.which) PetscCall(ops->free(&c->few.which));
  if (c->few.rows) PetscCall(ops->free(&c->few.rows));
  PetscCall(PetscFree(c->few.main));
  c->few = (HJFewRows){0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Index and arrays, and a dictionary's rows on the device; the rows of the host belong to both copies */
static PetscErrorCode HJArraysRelease(const HJArrayOps *ops, HJCoefficients *c)
{
  PetscFunctionBegin;
  if (c->index) PetscCall(ops->free(&c->index));
  if (c->value) PetscCall(ops->free(&c->value));
  if (c->device_rows) PetscCall(ops->free(&c->device_rows));
  PetscCall(HJArraysForgetFew(ops, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatFree(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(HJArraysRelease(&HJArraysHost, &hj->c));
  if (hj->device) PetscCall(HJArraysRelease(hj->device, &hj->d));
  PetscCall(PetscFree(hj->c.rows));
  hj->c.nrows   = 0;
  hj->symmetric = PETSC_BOOL3_UNKNOWN;
  hj->c.half = hj->d.half = PETSC_FALSE;
  hj->valid               = PETSC_OFFLOAD_BOTH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shape, storage and rows of the device's copy are the host's */
static void HJMatFollow(Mat_HJStencil *hj)
{
  const HJCoefficients d = hj->d;

  hj->d             = hj->c;
  hj->d.mtype       = hj->device->backend->mtype;
  hj->d.index       = d.index;
  hj->d.value       = d.value;
  hj->d.device_rows = d.device_rows;
  hj->d.frame       = d.frame;
  hj->d.few         = d.few;
}

PetscErrorCode HJArraysTransfer(const HJArrayOps *copy, const HJArrayOps *ops, const HJCoefficients *from, HJCoefficients *to)
{
  const size_t bytes = (size_t)HJCoefficientsSize(from) * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (from->index) {
    if (!to->index) PetscCall(ops->alloc((size_t)from->npoints, &to->index));
    PetscCall(copy->copy(to->index, from->index, (size_t)from->npoints));
  }
  if (from->value) {
    if (!to->value) PetscCall(ops->alloc(bytes, &to->value));
    PetscCall(copy->copy(to->value, from->value, bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetHost(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  if (hj->valid != PETSC_OFFLOAD_GPU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJArraysTransfer(hj->device, &HJArraysHost, &hj->d, &hj->c));
  hj->valid = PETSC_OFFLOAD_BOTH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetDevice(Mat A)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  const size_t   bytes = (size_t)hj->c.nrows * hj->c.nslots * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCheck(hj->device, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "There is no GPU for the coefficients of this matrix");
  HJMatFollow(hj);
  if (hj->valid == PETSC_OFFLOAD_CPU) {
    PetscCall(HJArraysTransfer(hj->device, hj->device, &hj->c, &hj->d));
    PetscCall(HJArraysForgetFew(hj->device, &hj->d));
    hj->valid          = PETSC_OFFLOAD_BOTH;
    hj->d.frame.layers = 0;
  }
  if ((hj->d.storage == HJ_COEFFICIENTS_DICTIONARY || (hj->d.storage == HJ_COEFFICIENTS_ROW && hj->d.entry)) && !hj->d.device_rows) {
    PetscCall(hj->device->alloc(bytes, &hj->d.device_rows));
    PetscCall(hj->device->copy(hj->d.device_rows, hj->c.rows, bytes));
    hj->d.frame.layers = 0;
  }
  if (hj->d.storage != HJ_COEFFICIENTS_DICTIONARY || hj->d.entry) hj->d.frame.layers = 0;
  else if (!hj->d.frame.layers) PetscCall(hj->device->frame(&hj->d, &hj->grid, &hj->d.frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTouched(Mat A, const HJArrayOps *ops)
{
  Mat_HJStencil  *hj   = (Mat_HJStencil *)A->data;
  const PetscBool host = (PetscBool)(ops == &HJArraysHost);

  PetscFunctionBegin;
  hj->valid     = hj->c.storage == HJ_COEFFICIENTS_ROW ? PETSC_OFFLOAD_BOTH : host ? PETSC_OFFLOAD_CPU : PETSC_OFFLOAD_GPU;
  hj->symmetric = PETSC_BOOL3_UNKNOWN;
  if (!host) {
    PetscCall(HJArraysForgetFew(ops, &hj->d));
    PetscCall(HJArraysRelease(&HJArraysHost, &hj->c));
  } else if (hj->device) PetscCall(HJArraysRelease(hj->device, &hj->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatAllocArrays(Mat A, PetscMemType mtype, PetscBool half)
{
  Mat_HJStencil    *hj     = (Mat_HJStencil *)A->data;
  const PetscBool   device = PetscMemTypeDevice(mtype) ? PETSC_TRUE : PETSC_FALSE;
  const HJArrayOps *ops    = device ? hj->device : &HJArraysHost;
  HJCoefficients   *c      = device ? &hj->d : &hj->c;

  PetscFunctionBegin;
  PetscCheck(ops, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "There is no GPU for the coefficients of this matrix");
  if (hj->c.storage != HJ_COEFFICIENTS_ARRAYS || hj->c.half != half) PetscCall(HJMatFree(A));
  hj->c.storage = HJ_COEFFICIENTS_ARRAYS;
  if (half) HJCoefficientsHalve(&hj->c, hj->grid.owned.hi);
  if (device) HJMatFollow(hj);
  if (!c->value && half) PetscCall(ops->alloc_zeros((size_t)HJCoefficientsSize(c) * sizeof(PetscScalar), &c->value));
  else if (!c->value) PetscCall(ops->alloc((size_t)HJCoefficientsSize(c) * sizeof(PetscScalar), &c->value));
  hj->changed = PETSC_TRUE;
  PetscCall(HJMatTouched(A, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetIn(Mat A, const HJArrayOps *ops, HJCoefficients **c)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  *c = ops == &HJArraysHost ? &hj->c : &hj->d;
  if (ops == &HJArraysHost) PetscCall(HJMatGetHost(A));
  else PetscCall(HJMatGetDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetHome(Mat A, const HJArrayOps **ops, HJCoefficients **c)
{
  PetscFunctionBegin;
  PetscCall(HJMatFindOps(A, 0, NULL, ops));
  PetscCall(HJMatGetIn(A, *ops, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatChooseExchange(DM da, const HJBackendOps *ops, HJExchange *exchange)
{
  MPI_Comm          comm  = PetscObjectComm((PetscObject)da);
  PCHJacobiExchange asked = PC_HJACOBI_EXCHANGE_AUTO;
  const char       *prefix, *why;

  PetscFunctionBegin;
  exchange->ops     = &HJHaloPetscSF;
  exchange->timeout = HJ_EXCHANGE_TIMEOUT;
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)da, &prefix));
  PetscOptionsBegin(comm, prefix, "Options of stencil matrices on several ranks", "Mat");
  PetscCall(HJExchangeFromOptions(PetscOptionsObject, comm, &asked, &exchange->timeout));
  PetscOptionsEnd();
  if (PetscMemTypeHost(ops->mtype)) PetscFunctionReturn(PETSC_SUCCESS); /* a matrix of a GPU may have products on the host too */
  PetscCall(HJOperatorChooseExchange(comm, asked, ops, &exchange->ops, &why));
  PetscCall(PetscInfo(da, "Halos of stencil matrices travel by %s: %s\n", exchange->ops->name, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetProducts(Mat A, const HJArrayOps *ops, HJProducts **products)
{
  Mat_HJStencil *hj   = (Mat_HJStencil *)A->data;
  HJProducts   **made = ops == &HJArraysHost ? &hj->products : &hj->device_products;
  HJExchange     exchange;

  PetscFunctionBegin;
  if (!*made) {
    PetscCall(HJMatChooseExchange(hj->da, ops->backend, &exchange));
    PetscCall(HJProductsCreate(hj->da, &hj->grid, ops->backend, exchange, made));
  }
  *products = *made;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row for all points is the same on all ranks, and in both memories on the host */
static PetscErrorCode HJMatCheckSymmetry(Mat A, const HJArrayOps *ops, const HJCoefficients *c, PetscBool *symmetric)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  *symmetric = PETSC_TRUE;
  if (c->storage != HJ_COEFFICIENTS_ROW) PetscCall(ops->symmetric(c, hj->grid.owned.hi, HJ_SLACK, symmetric));
  for (PetscInt s = 1; s < c->nslots && c->storage == HJ_COEFFICIENTS_ROW && *symmetric; s++)
    *symmetric = (PetscBool)HJIsSameBeside(c->rows[s], c->rows[HJSlotOpposite(c, s)], c->rows[0], HJ_SLACK);
  if (!*symmetric)
    PetscCall(PetscInfo(A, "The matrix is said to be symmetric (MAT_SYMMETRIC or MAT_SPD) and is not: all its coefficients are read\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where points have several unknowns: looks for few rows in the arrays of the device, whose values are all there */
static PetscErrorCode HJMatFindFew(Mat A)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *d  = &hj->d;

  PetscFunctionBegin;
  if (!d->entry || d->storage != HJ_COEFFICIENTS_ARRAYS || !d->value || d->few.sought) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(hj->device->few(d, &hj->grid, &d->few));
  d->few.sought = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetKnown(Mat A, const HJArrayOps *ops, PetscBool look, HJCoefficients **c)
{
  Mat_HJStencil  *hj      = (Mat_HJStencil *)A->data;
  const PetscBool claimed = (PetscBool)(A->symmetric == PETSC_BOOL3_TRUE && hj->c.dof == 1 &&
                                        !HJLayoutIsThin(&hj->layout)); /* thin: at one of two offsets */
  PetscBool       found;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, c));
  if (look && claimed && !(*c)->half && hj->symmetric == PETSC_BOOL3_UNKNOWN) {
    PetscCall(HJMatCheckSymmetry(A, ops, *c, &found));
    hj->symmetric = PetscBoolToBool3(found);
  }
  if (ops != &HJArraysHost) PetscCall(HJMatFindFew(A));
  (*c)->symmetric = (PetscBool)((*c)->half || (claimed && hj->symmetric == PETSC_BOOL3_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatChooseProducts(Mat A, Vec x, Vec b, Vec y, HJProducts **products, HJCoefficients **c)
{
  const HJArrayOps *ops = &HJArraysHost;

  PetscFunctionBegin;
  PetscCall(HJMatFindOps(A, 3, (const Vec[]){x, b, y}, &ops));
  PetscCall(HJMatGetKnown(A, ops, PETSC_TRUE, c));
  PetscCall(HJMatGetProducts(A, ops, products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t HJArraysBytes(const HJCoefficients *c)
{
  return (c->index || c->few.which ? (size_t)c->npoints : 0) + (size_t)c->few.n * c->nslots * sizeof(PetscScalar) +
         (c->value ? (size_t)HJCoefficientsSize(c) * sizeof(PetscScalar) : 0);
}

/* Of host and device together */
size_t HJMatBytes(const Mat_HJStencil *hj)
{
  const size_t rows = (size_t)hj->c.nrows * hj->c.nslots * sizeof(PetscScalar);

  return rows * (hj->d.device_rows ? 2 : 1) + HJArraysBytes(&hj->c) + HJArraysBytes(&hj->d);
}

PetscErrorCode HJCOOReset(HJCOO *coo)
{
  PetscFunctionBegin;
  if (coo->ops) {
    PetscCall(coo->ops->free(&coo->list.place));
    PetscCall(coo->ops->free(&coo->list.first));
    PetscCall(coo->ops->free(&coo->list.entry));
    PetscCall(coo->ops->free(&coo->list.which));
    PetscCall(coo->ops->free(&coo->remote));
    PetscCall(coo->ops->free(&coo->send));
  }
  PetscCall(PetscSFDestroy(&coo->sf));
  PetscCall(PetscMemzero(coo, sizeof(*coo)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCOODestroy(HJCOO **coo)
{
  PetscFunctionBegin;
  if (*coo && !--(*coo)->refct) {
    PetscCall(HJCOOReset(*coo));
    PetscCall(PetscFree(*coo));
  }
  *coo = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t HJCOOBytes(const HJCOO *coo)
{
  const size_t which = coo->list.which ? (size_t)HJCOOTurns(coo->list.nslots, coo->list.npoints) * sizeof(PetscInt) : 0;

  return which + (size_t)coo->nlocal * sizeof(PetscInt) + (size_t)coo->list.n * (sizeof(PetscCount) + sizeof(PetscInt)) +
         (size_t)coo->nremote * (sizeof(PetscCount) + sizeof(PetscScalar));
}
