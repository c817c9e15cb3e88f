/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The limits of the GPU: the one place that asks for them. A test may play a lesser one.
*/
#include "hjdevice.h"
#include "hjgpu.h"

static PetscBool hj_played_set = PETSC_FALSE; /* by HJCUDASetDevice() */
static HJDevice  hj_played, hj_found;
static int       hj_found_number = -1; /* of the device that hj_found is of */

/* All kernels are compiled for the same GPUs as this one */
static __global__ void HJDeviceCode_Kernel() {}

PetscErrorCode HJCUDASetDevice(const HJDevice *device)
{
  PetscFunctionBegin;
  hj_played_set = (PetscBool)(device != NULL);
  if (device) hj_played = *device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of two devices what both can do */
static HJDevice HJDeviceLeast(const HJDevice *a, const HJDevice *b)
{
  HJDevice d;

  d.cc          = PetscMin(a->cc, b->cc);
  d.nsm         = PetscMin(a->nsm, b->nsm);
  d.smem_block  = PetscMin(a->smem_block, b->smem_block);
  d.smem_sm     = PetscMin(a->smem_sm, b->smem_sm);
  d.l2          = PetscMin(a->l2, b->l2);
  d.cooperative = (PetscBool)(a->cooperative && b->cooperative);
  d.clusters    = (PetscBool)(a->clusters && b->clusters);
  return d;
}

static PetscErrorCode HJDeviceFind(int number, HJDevice *d)
{
  const cudaDeviceAttr asked[] = {cudaDevAttrMultiProcessorCount,
                                  cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                  cudaDevAttrL2CacheSize,
                                  cudaDevAttrComputeCapabilityMajor,
                                  cudaDevAttrComputeCapabilityMinor,
                                  cudaDevAttrCooperativeLaunch,
                                  cudaDevAttrClusterLaunch};
  int                  value[8];
  cudaFuncAttributes   code;

  PetscFunctionBegin;
  for (int i = 0; i < 8; i++) PetscCallCUDA(cudaDeviceGetAttribute(&value[i], asked[i], number));
  PetscCallCUDA(cudaFuncGetAttributes(&code, HJDeviceCode_Kernel));
  d->nsm         = value[0];
  d->smem_block  = (size_t)value[1];
  d->smem_sm     = (size_t)value[2];
  d->l2          = (size_t)value[3];
  d->cc          = PetscMin(10 * value[4] + value[5], code.ptxVersion); /* code for an older GPU has not what this one adds */
  d->cooperative = (PetscBool)(value[6] && d->cc >= 70 && HJ_SLOT_WORDS);
  d->clusters    = (PetscBool)(value[7] && d->cc >= 90);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDeviceRead(HJDevice *device)
{
  int number;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&number));
  if (number != hj_found_number) {
    PetscCall(HJDeviceFind(number, &hj_found));
    hj_found_number = number;
  }
  *device = hj_played_set ? HJDeviceLeast(&hj_found, &hj_played) : hj_found;
  PetscFunctionReturn(PETSC_SUCCESS);
}
