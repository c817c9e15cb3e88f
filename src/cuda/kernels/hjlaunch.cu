/*
   How kernels are launched that need more than <<<>>> says: more shared memory than 48 KB, clusters, blocks that start while the kernel
   before finishes, or blocks that wait for each other. Decides none of this.
*/
#include "hjkernel.h"

/* Shared memory that a block may have without asking */
#define HJ_SMEM_DEFAULT (48 * 1024)

cudaError_t HJLaunchConfig(const HJLaunch *how, const void *kernel, cudaLaunchConfig_t *config, cudaLaunchAttribute attr[3])
{
  unsigned n = 0;

  *config                  = {};
  config->gridDim          = how->grid;
  config->blockDim         = how->block;
  config->dynamicSmemBytes = how->smem_bytes;
  config->stream           = how->stream;
  config->attrs            = attr;
  if (how->overlap) {
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
