/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Page-locked memory for the few numbers that a device sends to the host. Getting it takes as long as a small grid's set-up: there is one
   piece for many.
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

/* The bits of n numbers from the first on */
static unsigned long long HJPinnedBits(int n, int first)
{
  return ((1ull << n) - 1) << first;
}

PetscErrorCode HJPinnedAlloc(int n, double **number)
{
  PetscFunctionBegin;
  if (!hj_pinned) {
    PetscCallCUDA(cudaMallocHost((void **)&hj_pinned, HJ_PINNED_NUMBERS * sizeof(double)));
    PetscCall(PetscRegisterFinalize(HJPinnedDestroy));
  }
  for (int i = 0; i + n <= HJ_PINNED_NUMBERS; i++) {
    if (hj_pinned_used & HJPinnedBits(n, i)) continue;
    hj_pinned_used |= HJPinnedBits(n, i);
    *number = hj_pinned + i;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMallocHost((void **)number, n * sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPinnedFree(int n, double **number)
{
  const PetscBool ours = (PetscBool)(hj_pinned && *number >= hj_pinned && *number < hj_pinned + HJ_PINNED_NUMBERS);

  PetscFunctionBegin;
  if (ours) hj_pinned_used &= ~HJPinnedBits(n, (int)(*number - hj_pinned));
  else PetscCallCUDA(cudaFreeHost(*number));
  *number = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
