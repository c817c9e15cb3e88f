/* SPDX-License-Identifier: BSD-2-Clause */
/* All families of kernels, for the table in backend/hjtable.cu and for those who define them */
#pragma once

#include "cuda/kernels/hjkernel.h"

extern const HJFamily HJFamilyPatch2D, HJFamilyOnChip, HJFamilyLine, HJFamilyStream2D, HJFamilyStream3D, HJFamilyStream3DSlabs,
  HJFamilyStream3DPairs, HJFamilyStream3DClusters, HJFamilyStream3DArrays, HJFamilyBoxArrays, HJFamilyPlainFirst, HJFamilyGeneral,
  HJFamilyTileLine, HJFamilyTile2D, HJFamilyTile;
extern const HJFamily HJFamilySystemProduct, HJFamilySystemTile, HJFamilySystemSweep;
extern const HJFamily HJFamilyProduct, HJFamilyInterpolateAdd, HJFamilyInterpolate, HJFamilyRestrictTile, HJFamilyRestrictPairs,
  HJFamilyRestrictMarch;
