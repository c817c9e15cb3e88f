/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Asynchronous copies of a number from global to shared memory: rows of odd length are not aligned to more. Before compute capability 8.0
   they are plain ones. What they write is there for this thread after a wait, for others after a barrier too.
*/
#pragma once

#include "hjscalar.h"

/* dst: as __cvta_generic_to_shared() gives it */
__device__ __forceinline__ void HJCopyNumber(unsigned dst, const PetscScalar *src)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], " HJ_PTX_BYTES ";" ::"r"(dst), "l"(src) : "memory");
#else
  asm volatile("st.shared." HJ_PTX " [%0], %1;" ::"r"(dst), HJ_PTX_REG(*src) : "memory");
#endif
}

/* Zero in its place where it is not there; what src points to is then not read */
__device__ __forceinline__ void HJCopyNumberOrZero(unsigned dst, const PetscScalar *src, bool there)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], " HJ_PTX_BYTES ", %2;" ::"r"(dst), "l"(src), "r"(there ? HJ_BYTES : 0) : "memory");
#else
  asm volatile("st.shared." HJ_PTX " [%0], %1;" ::"r"(dst), HJ_PTX_REG(there ? *src : HJ_ZERO) : "memory");
#endif
}

/* Where bit is not 0, as one run of instructions without branches. The compiler may move it past reads and writes of shared memory */
__device__ __forceinline__ void HJCopyNumberIf(unsigned bit, PetscScalar *dst, const PetscScalar *src)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p cp.async.ca.shared.global [%1], [%2], " HJ_PTX_BYTES ";\n\t}" ::"r"(bit),
               "r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src));
#else
  if (bit) *dst = *src;
#endif
}

/* Ends a group of copies */
__device__ __forceinline__ void HJCopyCommit()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all groups but the last N */
template <int N> __device__ __forceinline__ void HJCopyWait()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* Waits for all copies, in groups or not */
__device__ __forceinline__ void HJCopyWaitAll()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
