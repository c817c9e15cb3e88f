/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How kernels are launched that need more than <<<>>> says: more shared memory than 48 KB, clusters, blocks that start while the kernel
   before finishes, or blocks that wait for each other. Decides none of this.
*/
#include "hjgpu.h"

/* Shared memory that a block may have without asking */
#define HJ_SMEM_DEFAULT (48 * 1024)

/* Whether this GPU, and the code that is compiled for it, have what overlap asks for: code for an older GPU does not wait for its input,
   and all kernels are compiled for the same ones */
static bool HJLaunchCanOverlap(const void *kernel)
{
  static int can = -1;

  if (can < 0) {
    int                device = 0, major = 0;
    cudaFuncAttributes code = {};

    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    (void)cudaFuncGetAttributes(&code, kernel);
    can = major >= 9 && code.ptxVersion >= 90;
  }
  return can > 0;
}

cudaError_t HJLaunchConfig(const HJLaunch *how, const void *kernel, cudaLaunchConfig_t *config, cudaLaunchAttribute attr[3])
{
  unsigned n = 0;

  *config                  = {};
  config->gridDim          = how->grid;
  config->blockDim         = how->block;
  config->dynamicSmemBytes = how->smem_bytes;
  config->stream           = how->stream;
  config->attrs            = attr;
  if (how->overlap && HJLaunchCanOverlap(kernel)) {
    attr[n].id                                           = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr[n++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (how->cooperative) {
    attr[n].id                = cudaLaunchAttributeCooperative;
    attr[n++].val.cooperative = 1;
  }
  if (how->cluster) {
    attr[n].id               = cudaLaunchAttributeClusterDimension;
    attr[n].val.clusterDim.x = how->cluster;
    attr[n].val.clusterDim.y = attr[n].val.clusterDim.z = 1;
    n++;
  }
  config->numAttrs = n;
  return how->smem_bytes > HJ_SMEM_DEFAULT ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)how->smem_bytes)
                                           : cudaSuccess;
}

cudaError_t HJLaunchKernel(const HJLaunch *how, const void *kernel, void **args)
{
  cudaLaunchConfig_t  config;
  cudaLaunchAttribute attr[3];
  const cudaError_t   error = HJLaunchConfig(how, kernel, &config, attr);

  return error == cudaSuccess ? cudaLaunchKernelExC(&config, kernel, args) : error;
}
