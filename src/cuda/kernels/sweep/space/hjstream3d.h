/* 3D streaming kernels for slabs of few planes, beside those of hjkernel.h's table */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* One row for all points, or as HJFamilyStream3D. Slabs lie whole in one array: no ghosts, no copies */
extern const HJFamily HJFamilyStream3DSlabs;
