/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The GPU's part of what works between two grids of a hierarchy: its table.
*/
#include "hjmultigrid_cuda.h"
#include "hjtable.h"
#include "cuda/device/hjgraph.h"
#include "cuda/kernels/setup/hjcycle_cuda.h"
#include "cuda/kernels/setup/hjgalerkin_cuda.h"
#include "cuda/kernels/setup/hjmeasure_cuda.h"
#include "cuda/kernels/operator/hjlines_cuda.h"
#include "cuda/kernels/transfer/hjrestrict_cuda.h"
#include "cuda/kernels/transfer/hjtransfer_cuda.h"
#include "cuda/kernels/setup/hjinterpolation_cuda.h"

const HJMultigridOps HJMultigridCUDA = {
  .interpolate                    = HJInterpolate_CUDA,
  .interpolate_transpose          = HJInterpolateTranspose_CUDA,
  .galerkin                       = HJGalerkin_CUDA,
  .measure                        = HJMeasure_CUDA,
  .alloc_zeros                    = HJAllocZeros_CUDA,
  .scratch                        = HJScratch_CUDA,
  .unscratch                      = HJUnscratch_CUDA,
  .absolute_later                 = HJAbsoluteLater_CUDA,
  .read                           = HJRead_CUDA,
  .restrict_residual              = HJRestrictResidual_CUDA,
  .number_create                  = HJNumberCreate_CUDA,
  .number_destroy                 = HJNumberDestroy_CUDA,
  .number_squares                 = HJNumberSquares_CUDA,
  .number_send                    = HJNumberSend_CUDA,
  .number_wait                    = HJNumberWait_CUDA,
  .fill_dense                     = HJFillDense_CUDA,
  .invert                         = HJInvert_CUDA,
  .multiply_dense                 = HJMultiplyDense_CUDA,
  .capture_begin                  = HJCaptureBegin_CUDA,
  .capture_end                    = HJCaptureEnd_CUDA,
  .graph_replay                   = HJGraphReplay_CUDA,
  .graph_destroy                  = HJGraphDestroy_CUDA,
  .interpolate_variable           = HJInterpolateVariable_CUDA,
  .interpolate_transpose_variable = HJInterpolateTransposeVariable_CUDA,
  .galerkin_variable              = HJGalerkinVariable_CUDA,
  .couplings                      = HJTransferCouplings_CUDA,
  .jump                           = HJTransferJump_CUDA,
  .interpolation_fill             = HJInterpolationFill_CUDA,
  .lines_create                   = HJLinesCreate_CUDA,
  .lines_destroy                  = HJLinesDestroy_CUDA,
  .lines_factor                   = HJLinesFactor_CUDA,
  .lines_solve                    = HJLinesSolve_CUDA,
  .restricts_apart                = HJRestrictsApart_CUDA,
};
