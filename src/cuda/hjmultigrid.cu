/*
   The GPU's part of what works between two grids of a hierarchy: its table.
*/
#include "hjmultigrid_cuda.h"
#include "kernels/hjgalerkin_cuda.h"
#include "kernels/hjmeasure_cuda.h"
#include "kernels/hjrestrict_cuda.h"
#include "kernels/hjtransfer.h"

const HJMultigridOps HJMultigridCUDA = {HJInterpolate_CUDA,     HJInterpolateTranspose_CUDA,
                                        HJGalerkin_CUDA,        HJMeasure_CUDA,
                                        HJScratch_CUDA,         HJUnscratch_CUDA,
                                        HJAbsoluteLater_CUDA,   HJRead_CUDA,
                                        HJRestrictResidual_CUDA};
