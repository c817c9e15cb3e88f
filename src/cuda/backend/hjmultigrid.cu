/*
   The GPU's part of what works between two grids of a hierarchy: its table.
*/
#include "hjmultigrid_cuda.h"
#include "cuda/device/hjgraph.h"
#include "cuda/kernels/setup/hjcycle_cuda.h"
#include "cuda/kernels/setup/hjgalerkin_cuda.h"
#include "cuda/kernels/setup/hjmeasure_cuda.h"
#include "cuda/kernels/transfer/hjrestrict_cuda.h"
#include "cuda/kernels/transfer/hjtransfer.h"
#include "cuda/kernels/setup/hjweights_cuda.h"

/* In the order of the struct */
const HJMultigridOps HJMultigridCUDA = {HJInterpolate_CUDA,
                                        HJInterpolateTranspose_CUDA,
                                        HJGalerkin_CUDA,
                                        HJMeasure_CUDA,
                                        HJAllocZeros_CUDA,
                                        HJScratch_CUDA,
                                        HJUnscratch_CUDA,
                                        HJAbsoluteLater_CUDA,
                                        HJRead_CUDA,
                                        HJRestrictResidual_CUDA,
                                        HJNumberCreate_CUDA,
                                        HJNumberDestroy_CUDA,
                                        HJNumberSquares_CUDA,
                                        HJNumberSend_CUDA,
                                        HJNumberWait_CUDA,
                                        HJFillDense_CUDA,
                                        HJInvert_CUDA,
                                        HJMultiplyDense_CUDA,
                                        HJCaptureBegin_CUDA,
                                        HJCaptureEnd_CUDA,
                                        HJGraphReplay_CUDA,
                                        HJGraphDestroy_CUDA,
                                        HJInterpolateWeighted_CUDA,
                                        HJInterpolateTransposeWeighted_CUDA,
                                        HJGalerkinWeighted_CUDA,
                                        HJTransferCouplings_CUDA,
                                        HJTransferJump_CUDA,
                                        HJTransferWeights_CUDA,
                                        HJStaleCycles_CUDA,
                                        HJCorrects_CUDA,
                                        HJRestricts_CUDA,
                                        HJSweepCoarser_CUDA,
                                        HJLeavesResidual_CUDA,
                                        HJMostFromZero_CUDA,
                                        HJRestrictsApart_CUDA};
