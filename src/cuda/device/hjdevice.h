/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The limits of a device, by which kernels are chosen and laid out. Plain numbers: a test can play any GPU, also where there is none.

   The bottom of the GPU code. Another GPU's numbers for tests are in tests/hjdevices.h. hjlaunch.cu launches, hjscratch.cu keeps memory
   for a moment's work, hjkernel.h is what all kernels share.
*/
#pragma once

#include "core/hjcore.h"

typedef struct {
  int       cc;          /* compute capability that the kernels are compiled for, 90 for 9.0: at most the device's */
  int       nsm;         /* multiprocessors */
  size_t    smem_block;  /* bytes of shared memory that a block may opt in to */
  size_t    smem_sm;     /* bytes of a multiprocessor's */
  size_t    l2;          /* bytes of the L2 cache */
  PetscBool cooperative; /* blocks of a launch may wait for each other */
  PetscBool clusters;    /* blocks may share a cluster, and copies to shared memory may be bulk copies */
} HJDevice;

/* Of the device at hand, or less, see HJCUDASetDevice() */
PETSC_INTERN PetscErrorCode HJDeviceRead(HJDevice *);
/* From now on every operator is made for these limits, or the device's own where they are lower; NULL: for the device's own. For tests */
PETSC_INTERN PetscErrorCode HJCUDASetDevice(const HJDevice *);
