# Finds PETSc: PETSC_DIR/PETSC_ARCH first, then pkg-config. Sets PETSC_CFLAGS, PETSC_LIBS, CC, MPIEXEC.
# A prefix install has PETSC_DIR alone (PETSC_ARCH empty).
ifneq ($(PETSC_DIR),)
  PETSC_PC_PATH := $(PETSC_DIR)/$(PETSC_ARCH)/lib/pkgconfig
  export PKG_CONFIG_PATH := $(PETSC_PC_PATH):$(PKG_CONFIG_PATH)
endif
PETSC_CFLAGS := $(shell PKG_CONFIG_PATH=$(PKG_CONFIG_PATH) pkg-config --cflags PETSc)
PETSC_LIBDIR := $(shell PKG_CONFIG_PATH=$(PKG_CONFIG_PATH) pkg-config --variable=libdir PETSc)
PETSC_LIBS   := $(shell PKG_CONFIG_PATH=$(PKG_CONFIG_PATH) pkg-config --libs PETSc) -Wl,-rpath,$(PETSC_LIBDIR)
MPICC_FLAGS  := $(shell mpicc --showme:compile)
PETSC_CFLAGS += $(MPICC_FLAGS)
PETSC_LIBS   += $(shell mpicc --showme:link)
MPIEXEC      ?= mpiexec
