/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which kernels do what: the ordered table of families, the one place where they are chosen. tests/test_table.c asserts it for five GPUs.
*/
#include "hjtable.h"
#include "hjcuda.h"
#include "cuda/kernels/hjfamilies.h"

/*
   The first that takes what is asked for does it. Exact sweeps: small grids first, then the fast family of the dimension; the plain one
   takes all that is left, and before it those that do single subiterations better. Then stale tiles, products, interpolation, restriction;
   points with several unknowns. In single precision there are no stale tiles, and one unknown a point
*/
static const HJFamily *const HJFamilies[] = {&HJFamilyPatch2D,          &HJFamilyOnChip,         &HJFamilyLine,
                                             &HJFamilyStream2D,         &HJFamilyStream3D,       &HJFamilyStream3DPairs,
                                             &HJFamilyStream3DClusters, &HJFamilyStream3DArrays, &HJFamilyStream3DSlabs,
                                             &HJFamilyBoxArrays,        &HJFamilyPlainFirst,     &HJFamilyGeneral,
#if !defined(HJ_FLOAT)
                                             &HJFamilyTileLine,         &HJFamilyTile2D,         &HJFamilyTile,
#endif
                                             &HJFamilyProduct,          &HJFamilyInterpolateAdd, &HJFamilyInterpolate,
#if !defined(HJ_FLOAT)
                                             &HJFamilySystemProduct,    &HJFamilySystemTile,     &HJFamilySystemSweep,
#endif
                                             &HJFamilyRestrictTile,     &HJFamilyRestrictPairs,  &HJFamilyRestrictMarch};

/* Whether a point has several unknowns */
static bool HJTableOfSystems(const HJAsk *ask)
{
  return ask->product ? ask->product->a->entry != NULL : ask->st && ask->st->dof > 1;
}

static const HJFamily *HJTableExact(const HJDevice *device, const HJAsk *ask)
{
  HJAsk exact = *ask;

  if (ask->exact) return ask->exact;
  exact.kind = HJ_EXACT;
  return HJTableChoose(device, &exact);
}

const HJFamily *HJTableChoose(const HJDevice *device, const HJAsk *ask)
{
  for (const HJFamily *f : HJFamilies) {
    if (f->systems != HJTableOfSystems(ask) || !f->takes(device, ask)) continue;
    if (f->only_beside && ask->kind != HJ_EXACT && ask->kind != HJ_SLAB && f != HJTableExact(device, ask)) continue;
    return f;
  }
  return NULL;
}

const char *HJCUDAPredictOther(const HJDevice *device, HJKind kind, const HJProduct *p, const HJTransferProduct *t, const HJRestriction *r)
{
  const HJAsk     ask = {.kind = kind, .product = p, .interpolation = t, .restriction = r};
  const HJFamily *f   = HJTableChoose(device, &ask);

  return f ? f->name : NULL;
}

/* Who does a product, an interpolation or a restriction, on this device and PETSc's stream */
static PetscErrorCode HJTableFind(const HJAsk &ask, HJDevice *device, cudaStream_t *stream, const HJFamily **family)
{
  PetscFunctionBegin;
  PetscCall(HJDeviceRead(device));
  PetscCall(HJStream(stream));
  *family = HJTableChoose(device, &ask);
  PetscCheck(*family, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No kernels of kind %d for this grid", (int)ask.kind);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProduct_CUDA(const HJProduct *p)
{
  const HJFamily *family;
  HJDevice        device;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(HJTableFind({.kind = HJ_PRODUCT, .product = p}, &device, &stream, &family));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(family->multiply(&device, stream, p));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInterpolate_CUDA(const HJTransferProduct *t)
{
  const HJFamily *family;
  HJDevice        device;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(HJTableFind({.kind = HJ_INTERPOLATION, .interpolation = t}, &device, &stream, &family));
  PetscCall(family->interpolate(&device, stream, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJInterpolatesAlone_CUDA(const HJTransferProduct *t)
{
  HJDevice device = {};
  HJAsk    ask    = {.kind = HJ_INTERPOLATION};

  ask.interpolation = t;
  return (PetscBool)(HJTransferIsOneRank(t->transfer) && HJTableChoose(&device, &ask) == &HJFamilyInterpolateAdd);
}

PetscErrorCode HJRestrictResidual_CUDA(const HJRestriction *r)
{
  const HJFamily *family;
  HJDevice        device;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(HJTableFind({.kind = HJ_RESTRICTION, .restriction = r}, &device, &stream, &family));
  PetscCall(family->restrict_residual(&device, stream, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictsApart_CUDA(const HJCoefficients *a, PetscBool *apart)
{
  const HJRestriction r   = {.a = a};
  const HJAsk         ask = {.kind = HJ_RESTRICTS_APART, .restriction = &r};
  HJDevice            device;

  PetscFunctionBegin;
  PetscCall(HJDeviceRead(&device));
  *apart = (PetscBool)(HJTableChoose(&device, &ask) != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}
