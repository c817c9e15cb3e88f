/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Page-locked memory for single numbers that a device sends to the host. Getting it takes as long as a small grid's set-up: there is one
   piece for many numbers.
*/
#include "hjgpu.h"
#include "hjscratch.h"

#define HJ_PINNED_NUMBERS 64

static double            *hj_pinned;      /* NULL: not yet made */
static unsigned long long hj_pinned_used; /* a bit for each number */

static PetscErrorCode HJPinnedDestroy(void)
{
  PetscFunctionBegin;
  (void)cudaFreeHost(hj_pinned); /* the device may be gone at the end of the process */
  hj_pinned      = NULL;
  hj_pinned_used = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPinnedAlloc(double **number)
{
  PetscFunctionBegin;
  if (!hj_pinned) {
    PetscCallCUDA(cudaMallocHost((void **)&hj_pinned, HJ_PINNED_NUMBERS * sizeof(double)));
    PetscCall(PetscRegisterFinalize(HJPinnedDestroy));
  }
  for (int i = 0; i < HJ_PINNED_NUMBERS; i++) {
    if (hj_pinned_used >> i & 1) continue;
    hj_pinned_used |= 1ull << i;
    *number = hj_pinned + i;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMallocHost((void **)number, sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPinnedFree(double **number)
{
  const PetscBool ours = (PetscBool)(hj_pinned && *number >= hj_pinned && *number < hj_pinned + HJ_PINNED_NUMBERS);

  PetscFunctionBegin;
  if (ours) hj_pinned_used &= ~(1ull << (*number - hj_pinned));
  else PetscCallCUDA(cudaFreeHost(*number));
  *number = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
