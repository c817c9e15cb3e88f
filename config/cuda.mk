# SPDX-License-Identifier: BSD-2-Clause
# Finds nvcc and decides for which GPUs to build: CUDA_ARCHS=native (default: the GPUs of this machine, 90 where there are none),
# all (what `make install` takes: all from sm_70 to sm_100 that the toolkit knows, and code that later GPUs can translate), or a list: CUDA_ARCHS="80 90".
# ptx80 in the list is code for sm_80 that the driver translates: how kernels without what later GPUs have can be tested on a later GPU.
# CUDA=0 builds for the host only, and so does a machine that has nvcc, but neither a GPU nor a PETSc with CUDA; CUDA=1 builds for GPUs there too. NCCL_HOME=dir says where NCCL's header is, if not in a usual place; libnccl is loaded at run time. Sets NVCC, CUDA_OBJ, CUDA_CPPFLAGS, CUDA_LIBS, GENCODE.
CUDA_WHY := no nvcc, or CUDA=0
ifeq ($(CUDA)$(filter 1,$(PETSC_CUDA)),)
  ifneq ($(shell nvidia-smi -L >/dev/null 2>&1 && echo yes),yes)
    CUDA     := 0
    CUDA_WHY := there is no GPU, and this PETSc has no CUDA; make CUDA=1 builds for GPUs all the same
  endif
endif
ifneq ($(CUDA),0)
  NVCC := $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
endif
# Those that take longest come first, so that the end does not wait for one of them
SRC_CU := $(wildcard src/cuda/*/*.cu src/cuda/*/*/*.cu src/cuda/*/*/*/*.cu)
LONGEST_CU := $(foreach name,stream2d_star stream2d_box stream3d_star galerkin stream2d_var stream3d_starmarch tile restrict product,\
  $(filter %/hj$(name).cu,$(SRC_CU)))
SRC_CU := $(LONGEST_CU) $(filter-out $(LONGEST_CU),$(SRC_CU))
ifneq ($(and $(NVCC),$(SRC_CU)),)
  CUDA_HOME  := $(patsubst %/bin/nvcc,%,$(NVCC))
  CUDA_ARCHS ?= native
  CUDA_KNOWN := $(filter 70 75 80 86 89 90 100,$(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch)))
  ifeq ($(CUDA_ARCHS),native)
    CUDA_BUILD := $(filter $(CUDA_KNOWN),$(sort $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d .)))
    CUDA_BUILD := $(or $(CUDA_BUILD),90)
  else ifeq ($(CUDA_ARCHS),all)
    CUDA_BUILD := $(CUDA_KNOWN)
  else
    CUDA_BUILD := $(CUDA_ARCHS)
  endif
  NVCCFLAGS  ?= -O3 -std=c++17 -lineinfo
  GENCODE    := $(foreach a,$(CUDA_BUILD),-gencode arch=compute_$(a:ptx%=%),code=$(if $(filter ptx%,$(a)),compute,sm)_$(a:ptx%=%))
  ifeq ($(CUDA_ARCHS),all)
    GENCODE  += -gencode arch=compute_$(lastword $(CUDA_BUILD)),code=compute_$(lastword $(CUDA_BUILD))
  endif
  CUDA_OBJ      := $(SRC_CU:src/%.cu=$(BUILD)/%.cu.o)
  CUDA_CPPFLAGS := -DHJACOBI_HAVE_CUDA=1
  NCCL_HEADER   := $(firstword $(wildcard $(NCCL_HOME:%=%/include/nccl.h) $(CUDA_HOME)/include/nccl.h /usr/local/include/nccl.h /usr/include/nccl.h))
  # Where the loader does not look by itself
  NCCL_LIBDIR   := $(patsubst %/libnccl.so.2,%,$(firstword $(wildcard $(addsuffix /libnccl.so.2,$(NCCL_HOME:%=%/lib) $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))))
  ifneq ($(NCCL_HEADER),)
    CUDA_CPPFLAGS += -DHJACOBI_HAVE_NCCL=1 $(NCCL_HOME:%=-I%/include)
  endif
  # The static runtime, its symbols kept to this library: loads without a driver, and next to the runtime that PETSc itself has loaded
  CUDA_LIBS     := -L$(CUDA_HOME)/lib64 -Wl,--exclude-libs,libcudart_static.a -lcudart_static -ldl -lrt -lpthread -lstdc++ $(NCCL_LIBDIR:%=-Wl,-rpath,%)
endif
