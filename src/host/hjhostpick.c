/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which of the builds of hjhostkernels.c this CPU can run: the one with the widest instructions.
*/
#include "hjhostkernels.h"

const HJHostKernels *HJHostPickKernels(void)
{
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
    return &HJHostKernels_v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return &HJHostKernels_v3;
#endif
  return &HJHostKernels_base;
}
