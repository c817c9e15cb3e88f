/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Names of what the files of this room that are built twice define for one another: with HJ_FLOAT, where PetscScalar is float (see
   core/hjcore.h), they are others. The makefile says which files these are (HOST_TWICE).
*/
#pragma once

#if defined(HJ_FLOAT)
  #define HJBackendHost                      HJBackendHostSingle
  #define HJHostPickKernels                  HJHostPickKernelsSingle
  #define HJHostProduct                      HJHostProductSingle
  #define HJHostProductTranspose             HJHostProductTransposeSingle
  #define HJHostProductLine                  HJHostProductLineSingle
  #define HJHostProductOwnLine               HJHostProductOwnLineSingle
  #define HJHostProductSet                   HJHostProductSetSingle
  #define HJHostInterpolate                  HJHostInterpolateSingle
  #define HJHostInterpolateTranspose         HJHostInterpolateTransposeSingle
  #define HJHostRestrictResidual             HJHostRestrictResidualSingle
  #define HJHostInterpolateVariable          HJHostInterpolateVariableSingle
  #define HJHostInterpolateTransposeVariable HJHostInterpolateTransposeVariableSingle
  #define HJHostSystemProduct                HJHostSystemProductSingle
  #define HJHostFindMirrors                  HJHostFindMirrorsSingle
  #define HJHostSystemSet                    HJHostSystemSetSingle
  #define HJHostSystemReset                  HJHostSystemResetSingle
  #define HJHostSystemFillTable              HJHostSystemFillTableSingle
  #define HJHostSystemReserveLines           HJHostSystemReserveLinesSingle
  #define HJHostSystemRun                    HJHostSystemRunSingle
  #define HJHostSystemVariable               HJHostSystemVariableSingle
  #define HJHostSystemSpread                 HJHostSystemSpreadSingle
  #define HJHostSystemJoin                   HJHostSystemJoinSingle
  #define HJHostKernels_base                 HJHostKernelsSingle_base
  #define HJHostKernels_v3                   HJHostKernelsSingle_v3
  #define HJHostKernels_v4                   HJHostKernelsSingle_v4
#endif
