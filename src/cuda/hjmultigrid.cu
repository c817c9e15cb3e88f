/*
   The GPU's part of what works between two grids of a hierarchy: its table.
*/
#include "hjmultigrid_cuda.h"
#include "kernels/hjgalerkin_cuda.h"
#include "kernels/hjtransfer.h"
#include "kernels/hjweights_cuda.h"

const HJMultigridOps HJMultigridCUDA = {HJInterpolate_CUDA,
                                        HJInterpolateTranspose_CUDA,
                                        HJGalerkin_CUDA,
                                        HJInterpolateWeighted_CUDA,
                                        HJInterpolateTransposeWeighted_CUDA,
                                        HJGalerkinWeighted_CUDA,
                                        HJTransferCouplings_CUDA,
                                        HJTransferWeights_CUDA};
