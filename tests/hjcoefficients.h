/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coefficients that a test fills itself, on the host and as arrays of a backend.
*/
#pragma once

#include "hjcase.h"
#include "operator/hjoperator.h"

/* Host memory of a case's coefficients, not yet filled */
static inline PETSC_UNUSED PetscErrorCode CoefficientsCreate(const Case *c, PetscBool symmetric, PetscCount npoints, HJCoefficients *a)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(a, sizeof(*a)));
  a->dim       = c->dim;
  a->shape     = c->box ? HJ_BOX : HJ_STAR;
  a->nslots    = 1 + (c->box ? (a->dim == 3 ? 26 : 8) : 2 * a->dim);
  a->storage   = (HJCoefficientStorage)c->kind;
  a->npoints   = npoints;
  a->mtype     = PETSC_MEMTYPE_HOST;
  a->symmetric = symmetric;
  a->nrows     = c->kind == ROW ? 1 : c->kind == DICTIONARY ? 3 : 0;
  if (a->nrows) PetscCall(PetscMalloc1(a->nrows * a->nslots, &a->rows));
  if (c->kind == DICTIONARY) PetscCall(PetscMalloc1(a->npoints, &a->index));
  if (c->kind == ARRAYS) PetscCall(PetscMalloc1(a->nslots * a->npoints, &a->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CoefficientsDestroy(HJCoefficients *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a->rows));
  PetscCall(PetscFree(a->index));
  PetscCall(PetscFree(a->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of host memory, of any type, in the backend's */
static inline PETSC_UNUSED PetscErrorCode ToBackend(const HJBackendOps *ops, const void *from, size_t bytes, PetscScalar **to)
{
  const PetscCount n = (PetscCount)(bytes / sizeof(PetscScalar) + 1);
  PetscScalar     *padded;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &padded));
  PetscCall(PetscMemcpy(padded, from, bytes));
  PetscCall(ops->alloc(NULL, n, to));
  PetscCall(ops->copy(NULL, *to, padded, n));
  PetscCall(PetscFree(padded));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same coefficients with arrays of the backend's; rows are shared */
static inline PETSC_UNUSED PetscErrorCode CoefficientsUpload(const HJBackendOps *ops, const HJCoefficients *host, HJCoefficients *a)
{
  PetscScalar *index;

  PetscFunctionBegin;
  *a             = *host;
  a->mtype       = ops->mtype;
  a->index       = NULL;
  a->value       = NULL;
  a->device_rows = NULL;
  if (host->value) PetscCall(ToBackend(ops, host->value, host->nslots * host->npoints * sizeof(PetscScalar), &a->value));
  if (host->index) {
    PetscCall(ToBackend(ops, host->index, host->npoints, &index));
    a->index = (unsigned char *)index;
    PetscCall(ToBackend(ops, host->rows, host->nrows * host->nslots * sizeof(PetscScalar), &a->device_rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CoefficientsFree(const HJBackendOps *ops, HJCoefficients *a)
{
  PetscScalar *index = (PetscScalar *)a->index;

  PetscFunctionBegin;
  PetscCall(ops->free(NULL, &index));
  PetscCall(ops->free(NULL, &a->device_rows));
  PetscCall(ops->free(NULL, &a->value));
  a->index = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
