# hjacobi: library, tests, demo, benchmark. PETSc is found by config/petsc.mk
include config/petsc.mk

BUILD  := build
LIB    := lib/libhjacobi.so
CFLAGS ?= -O3 -g
WARN   := -Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration
CPPFLAGS_ALL := $(PETSC_CFLAGS) -Iinclude $(CPPFLAGS)

SRC_C  := $(wildcard src/*/*.c)
OBJ    := $(SRC_C:src/%.c=$(BUILD)/%.o)

# The host kernels are built once for each instruction set that the run-time dispatch may choose (src/host/hjhost.c)
HOST_ISAS    := $(if $(filter x86_64,$(shell uname -m)),base v3 v4,base)
ISA_base     :=
ISA_v3       := -march=x86-64-v3
ISA_v4       := -march=x86-64-v4 -mprefer-vector-width=512
HOST_KERNELS := src/host/hjhostkernels.c
OBJ          := $(filter-out $(HOST_KERNELS:src/%.c=$(BUILD)/%.o),$(OBJ)) $(HOST_ISAS:%=$(BUILD)/host/hjhostkernels_%.o)

NVCC := $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
ifneq ($(and $(NVCC),$(wildcard src/cuda/*.cu)),)
  CUDA_HOME     := $(patsubst %/bin/nvcc,%,$(NVCC))
  CUDA_ARCHS    ?= 90
  NVCCFLAGS     ?= -O3 -std=c++17 -lineinfo
  GENCODE       := $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a))
  SRC_CU        := $(wildcard src/cuda/*.cu)
  OBJ           += $(SRC_CU:src/%.cu=$(BUILD)/%.cu.o)
  CPPFLAGS_ALL  += -DHJACOBI_HAVE_CUDA=1
  CUDA_LIBS     := -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++
endif

all: $(LIB)

$(LIB): $(OBJ)
	@mkdir -p lib
	$(CC) -shared -o $@ $^ $(LDFLAGS) $(PETSC_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/host/hjhostkernels_%.o: $(HOST_KERNELS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ISA_$*) -DHJ_ISA=$* -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) -MMD -c $< -o $@

$(BUILD)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) -MMD -c $< -o $@

$(BUILD)/%.cu.o: src/%.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(GENCODE) -Xcompiler -fPIC,-fvisibility=hidden $(filter -I% -D% -U%,$(CPPFLAGS_ALL)) -MMD -c $< -o $@

# Tests link the objects, to reach the internal functions; the plugin itself is tested through -dll_append
$(BUILD)/tests/%: tests/%.c $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) $(CPPFLAGS_ALL) -MMD $< $(OBJ) -o $@ $(LDFLAGS) $(PETSC_LIBS) $(CUDA_LIBS) -lm

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all
.SECONDARY:
