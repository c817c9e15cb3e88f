/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The type of vectors and coefficients in kernels: PetscScalar, which is double, or float where a file is built again with HJ_FLOAT
   (core/hjcore.h). What depends on its width stands here.
*/
#pragma once

#include "core/hjcore.h"
#include <cuda_runtime.h>

#define HJ_BYTES ((int)sizeof(PetscScalar))

/* HJScalar2: two numbers that lie together. HJ_PTX, HJ_PTX_BYTES, HJ_PTX_REG, HJ_PTX_ZERO: the type in PTX, its bytes, the letter of its
   registers, zero; HJ_PTX_BITS, HJ_PTX_BITS_REG: the same of its bits. HJ_NEWTON_STEPS: from HJInverseStart() to the inverse.
   HJ_EPSILON: the distance of 1 from the next number */
#if defined(HJ_FLOAT)
  #define HJ_PTX          "f32"
  #define HJ_PTX_BYTES    "4"
  #define HJ_PTX_REG      "f"
  #define HJ_PTX_BITS     "32"
  #define HJ_PTX_BITS_REG "r"
  #define HJ_PTX_ZERO     "0f00000000"
  #define HJ_NEWTON_STEPS 1
  #define HJ_EPSILON      1.2e-7
typedef float2 HJScalar2;
#else
  #define HJ_PTX          "f64"
  #define HJ_PTX_BYTES    "8"
  #define HJ_PTX_REG      "d"
  #define HJ_PTX_BITS     "64"
  #define HJ_PTX_BITS_REG "l"
  #define HJ_PTX_ZERO     "0d0000000000000000"
  #define HJ_NEWTON_STEPS 2
  #define HJ_EPSILON      PETSC_MACHINE_EPSILON
typedef double2                          HJScalar2;
#endif

static __host__ __device__ __forceinline__ HJScalar2 HJScalar2Of(PetscScalar x, PetscScalar y)
{
  return {x, y};
}

/* 1 / d to 20 bits or more, of no subnormal d */
static __device__ __forceinline__ PetscScalar HJInverseStart(PetscScalar d)
{
  PetscScalar y;

  y = 1/d;
  return y;
}

/* The bits of a number, and back; a word of 8 bytes has them in its lower ones */
#if defined(HJ_FLOAT)
typedef unsigned                         HJBits;
static __device__ __forceinline__ HJBits HJBitsOf(PetscScalar v)
{
  return __float_as_uint(v);
}

static __device__ __forceinline__ PetscScalar HJFromBits(long long bits)
{
  return __uint_as_float((unsigned)bits);
}
#else
typedef long long                        HJBits;
static __device__ __forceinline__ HJBits HJBitsOf(PetscScalar v)
{
  return __double_as_longlong(v);
}

static __device__ __forceinline__ PetscScalar HJFromBits(long long bits)
{
  return __longlong_as_double(bits);
}
#endif
