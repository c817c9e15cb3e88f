/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Limits of GPUs that the tests play, as their data sheets and CUDA's programming guide give them; -limits NAME in a test's options
   takes one.
*/
#pragma once

#include "hjtest.h"

#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"

  #define HJ_TEST_DEVICES 5

static const char *const HJTestDeviceNames[HJ_TEST_DEVICES] PETSC_UNUSED = {"t4", "rtx4090", "a100", "h200", "b200"};

/* Compute capability, multiprocessors, bytes of shared memory of a block and a multiprocessor, of L2, cooperative launches, clusters */
static const HJDevice HJTestDevices[HJ_TEST_DEVICES] PETSC_UNUSED = {
  {75, 40, 65536, 65536, 4 << 20, PETSC_TRUE, PETSC_FALSE},      {89, 128, 101376, 102400, 72 << 20, PETSC_TRUE, PETSC_FALSE},
  {80, 108, 166912, 167936, 40 << 20, PETSC_TRUE, PETSC_FALSE},  {90, 132, 232448, 233472, 50 << 20, PETSC_TRUE, PETSC_TRUE},
  {100, 148, 232448, 233472, 126 << 20, PETSC_TRUE, PETSC_TRUE},
};

/* The one that -limits names, or NULL */
static inline PETSC_UNUSED PetscErrorCode HJTestGetDevice(const HJDevice **device)
{
  PetscInt  number;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-limits", HJTestDeviceNames, HJ_TEST_DEVICES, &number, &set));
  *device = set ? &HJTestDevices[number] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Operators are made for the GPU that -limits names, if any */
static inline PETSC_UNUSED PetscErrorCode HJTestSetLimits(void)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  const HJDevice *device = NULL;

  PetscCall(HJTestGetDevice(&device));
  if (device) PetscCall(HJCUDASetDevice(device));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of shared memory that a block of that GPU has; without -limits as many as there can be */
static inline PETSC_UNUSED PetscErrorCode HJTestGetSharedMemory(size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = SIZE_MAX;
#if defined(HJACOBI_HAVE_CUDA)
  const HJDevice *device = NULL;

  PetscCall(HJTestGetDevice(&device));
  if (device) *bytes = device->smem_block;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
