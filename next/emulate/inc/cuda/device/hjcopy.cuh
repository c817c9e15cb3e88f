#pragma once
#include "hjscalar.h"
static inline void HJCopyNumber(unsigned dst, const PetscScalar *src){ *(PetscScalar*)(emu_smem+dst)=*src; }
static inline void HJCopyNumberOrZero(unsigned dst, const PetscScalar *src, bool there){ *(PetscScalar*)(emu_smem+dst)=there?*src:0.0; }
static inline void HJCopyCommit(){}
template<int N> static inline void HJCopyWait(){}
static inline void HJCopyWaitAll(){}
