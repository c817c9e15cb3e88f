# SPDX-License-Identifier: BSD-2-Clause
# Finds PETSc: PETSC_DIR/PETSC_ARCH first, then pkg-config; else config/setup.sh installs it and make starts over.
# Sets CC, PETSC_CFLAGS, PETSC_LIBS, PETSC_CUDA (1 where PETSc has it), PETSC_SINGLE (1 where its numbers are single), MPIEXEC. A prefix
# install has PETSC_DIR alone (PETSC_ARCH empty).
ifneq ($(PETSC_DIR),)
  export PKG_CONFIG_PATH := $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig:$(PKG_CONFIG_PATH)
endif
export PETSC_DIR PETSC_ARCH

ifneq ($(filter-out clean dist help uninstall,$(or $(MAKECMDGOALS),all)),)
  ifneq ($(shell PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH) sh config/setup.sh --ready && echo yes),yes)
    ifneq ($(MAKE_RESTARTS),)
      $(error hjacobi: set-up ended, but PETSc is still not found)
    endif
    # make rebuilds an included file that is out of date and then starts over: by then pkg-config knows PETSc
    include build/setup.mk
    build/setup.mk: always
	@PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH) sh config/setup.sh
	@mkdir -p $(@D) && touch $@
    always:
  endif
endif

# In make's $(shell) exported variables are not yet set
PETSC_PKG_CONFIG := PKG_CONFIG_PATH=$(PKG_CONFIG_PATH) pkg-config
PETSC_LIBDIR     := $(shell $(PETSC_PKG_CONFIG) --variable=libdir PETSc 2>/dev/null)
PETSC_MPICC      := $(or $(shell $(PETSC_PKG_CONFIG) --variable=ccompiler PETSc 2>/dev/null),mpicc)
ifeq ($(origin CC),default)
  CC := $(PETSC_MPICC)
endif
# nvcc and a CC of the user's own are no MPI wrappers: they are told what the wrapper knows
MPI_SHOW     := $(shell $(PETSC_MPICC) -show 2>/dev/null)
PETSC_CFLAGS := $(shell $(PETSC_PKG_CONFIG) --cflags PETSc 2>/dev/null) $(filter -I% -D%,$(MPI_SHOW))
# BLAS and LAPACK are those that PETSc's library needs itself
PETSC_LIBS   := -Wl,--copy-dt-needed-entries $(shell $(PETSC_PKG_CONFIG) --libs PETSc 2>/dev/null) -Wl,-rpath,$(PETSC_LIBDIR) $(filter -L% -l% -Wl%,$(MPI_SHOW))
MPIEXEC      ?= $(or $(shell $(PETSC_PKG_CONFIG) --variable=mpiexec PETSc 2>/dev/null),$(subst mpicc,mpiexec,$(PETSC_MPICC)))
PETSC_CONF   := $(shell $(PETSC_PKG_CONFIG) --variable=includedir PETSc 2>/dev/null)/petscconf.h
PETSC_CUDA   := $(shell grep -c '^.define PETSC_HAVE_CUDA 1' $(PETSC_CONF) 2>/dev/null)
PETSC_SINGLE := $(shell grep -c '^.define PETSC_USE_REAL_SINGLE 1' $(PETSC_CONF) 2>/dev/null)
PETSC_VERSION := $(shell $(PETSC_PKG_CONFIG) --modversion PETSc 2>/dev/null | cut -d. -f1,2)
