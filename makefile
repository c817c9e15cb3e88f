# SPDX-License-Identifier: BSD-2-Clause
# hjacobi: library, tests, demo, benchmark, lint, install. `make help` lists what can be made.
# PETSc is found by config/petsc.mk, nvcc by config/cuda.mk.
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
BUILD   := build
LIB     := lib/libhjacobi.so
prefix  ?= /usr/local
VERSION := $(shell sed -n 's/^.define HJACOBI_VERSION_STRING *"\(.*\)"/\1/p' include/pchjacobi.h)

include config/petsc.mk
include config/cuda.mk

# One short line a file; V=1 shows the commands, make -s nothing
ifneq ($(V),)
  say = @:
else
  Q   := @
  say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '%-4s %s\n' $(1) '$(2)')
endif

CFLAGS ?= -O3 -g
WARN   := -Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration
CPPFLAGS_ALL := $(PETSC_CFLAGS) -Iinclude -Isrc $(CUDA_CPPFLAGS) $(CPPFLAGS)
# Without the header of complex numbers, which takes nvcc most of the time of a small file
NVCC_CPPFLAGS = -DPETSC_SKIP_COMPLEX $(filter -I% -D% -U%,$(CPPFLAGS_ALL))
LIBS_ALL     := $(LDFLAGS) $(PETSC_LIBS) $(CUDA_LIBS) -lm
DEPS          = -MMD -MP -MF $@.d -MT $@

SRC_C  := $(wildcard src/*/*.c src/*/*/*.c)
OBJ    := $(SRC_C:src/%.c=$(BUILD)/%.o)

# The host kernels are built once for each instruction set that the run-time dispatch may choose (src/host/hjhost.c)
HOST_ISAS    := $(if $(filter x86_64,$(shell uname -m)),base v3 v4,base)
ISA_base     :=
ISA_v3       := -march=x86-64-v3
ISA_v4       := -march=x86-64-v4 -mprefer-vector-width=512
HOST_KERNELS := src/host/hjhostkernels.c
# What cycles need of the host is built again for single precision (src/core/hjcore.h), where PETSc's own is not that
HOST_TWICE   := hjhost hjhostinterpolation hjhostmirror hjhostpick hjhostproduct hjhostrestrict hjhostsystem hjhostsystemproduct \
  hjhosttransfer $(HOST_ISAS:%=hjhostkernels_%)
HOST_TWICE   := $(if $(filter 1,$(PETSC_SINGLE)),,$(HOST_TWICE:%=$(BUILD)/host/single/%.o))
# And of GPU code; where it calls itself it finds its own, and its table alone is seen from outside
CUDA_TWICE   := $(filter src/cuda/kernels/sweep/% src/cuda/kernels/transfer/%,$(SRC_CU)) $(addprefix src/cuda/,kernels/hjlayout.cu \
  kernels/operator/hjproduct.cu kernels/setup/hjinterpolation.cu backend/hjcuda.cu backend/hjtable.cu)
CUDA_TWICE   := $(if $(and $(CUDA_OBJ),$(filter-out 1,$(PETSC_SINGLE))),$(filter-out %/hjtile2d.cu %/hjtileline.cu %/hjtilelists.cu %/hjsystemsweep.cu %/hjsystemtile.cu %/hjsystemtransfer.cu,$(CUDA_TWICE)))
OBJCOPY      ?= objcopy
CUDA_SINGLE  := $(CUDA_TWICE:src/%.cu=$(BUILD)/single/%.cu.o)
OBJ          := $(CUDA_OBJ) $(if $(CUDA_TWICE),$(BUILD)/cuda/single.o) $(HOST_ISAS:%=$(BUILD)/host/hjhostkernels_%.o) $(HOST_TWICE) \
  $(filter-out $(HOST_KERNELS:src/%.c=$(BUILD)/%.o),$(OBJ))

TESTS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard $(if $(ONLY),$(ONLY:%=tests/%.c),tests/*.c)))
PROGRAMS := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c examples/bench/*.c examples/paper/*.c))

# One example needs SLEPc: the distribution's with its PETSc, with another one that of SLEPC_DIR
SLEPC_PKG_CONFIG := PKG_CONFIG_PATH=$(SLEPC_DIR:%=%/$(PETSC_ARCH)/lib/pkgconfig:)$(PKG_CONFIG_PATH) pkg-config
SLEPC_LIBS := $(if $(PETSC_DIR),$(if $(SLEPC_DIR),yes),yes)
SLEPC_LIBS := $(SLEPC_LIBS:yes=$(shell $(SLEPC_PKG_CONFIG) --cflags --libs SLEPc 2>/dev/null))
ifeq ($(SLEPC_LIBS),)
  PROGRAMS := $(filter-out %/membrane,$(PROGRAMS))
endif

ifneq ($(words $(BUILD) $(LIB)),2)
  $(error BUILD=$(BUILD) LIB=$(LIB): each must be one path without spaces; a relative one may lie in a folder that has them)
endif
ifneq ($(notdir $(LIB)),libhjacobi.so)
  $(error LIB=$(LIB): the file must be called libhjacobi.so, since PETSc finds its way in by that name)
endif

all: $(LIB)

help:
	@echo 'make            build $(LIB)'
	@echo 'make demo       build, then solve 2D and 3D Poisson beside PETSc'"'"'s own solvers: a table, and a picture in $(BUILD)/demo.svg'
	@echo 'make check      build and run all tests; ONLY="name ..." runs some, AGAIN=1 what another build may change,'
	@echo '                RANKS=8 what runs on 4 ranks on 8'
	@echo 'make check-long run the cases of these tests that take long, and the others with -fp_trap'
	@echo 'make bench      measure the CPU, into examples/bench/results; BENCH="..." adds options, see examples/bench/README.md'
	@echo 'make bench-cpu  measure what the project asks of a CPU beside its peers, in about five minutes'
	@echo 'make bench-gpu  measure one GPU'
	@echo 'make bench-mat  measure the stencil matrix beside AIJ, on the GPU if there is one'
	@echo 'make bench-slab measure grids that are larger than the GPU memory that they may take'
	@echo 'make bench-mg   measure hjmg, on the GPU if there is one'
	@echo 'make bench-mpi  measure several GPUs, a rank each, or several ranks on the CPU'
	@echo 'make paper      the papers'"'"' experiments again: tables and plots, into examples/paper/results'
	@echo 'make installcheck  whether what is installed in prefix works: a program linked with it, and one that loads it'
	@echo 'make deb        Debian packages, into build/deb; config/packaging.md tells of Spack, conda and containers too'
	@echo 'make docs       the site, into $(BUILD)/docs/html: how to use it, options, manual pages, examples, benchmarks'
	@echo 'make lint       format, rooms, cppcheck, docs, function length, licence lines'
	@echo 'make install    into prefix=... (default /usr/local); DESTDIR=... stages it; make uninstall takes it away again'
	@echo 'make dist       build/hjacobi-$(VERSION).tar.gz of the last commit, which builds without git'
	@echo 'make release-check  all that a release needs: lint, check, docs, tarball, installation, pip beside PyPI'"'"'s PETSc, Ubuntu; STEPS="..." does some'
	@echo 'make clean'
	@echo 'Variables: PETSC_DIR PETSC_ARCH V=1 BUILD LIB CFLAGS CUDA=0|1 CUDA_ARCHS=native|all|"80 90"|ptx80 MPIEXEC CHECK_JOBS'

$(LIB): $(OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(OBJ) -Wl,-soname,$(@F) -Wl,--no-undefined $(LIBS_ALL)
	$(if $(CUDA_OBJ),,@echo 'hjacobi: built for the host only ($(CUDA_WHY))')

# Rewritten when the command line that compiles changes, so that a change of PETSc or of flags rebuilds. A PETSc that is not supported is
# refused first: else the line that says so would stand above many errors
FLAGS = $(CC) $(CFLAGS) $(CPPFLAGS_ALL) $(if $(CUDA_OBJ),$(NVCCFLAGS) $(GENCODE) $(NVCC_CPPFLAGS)) $(LIBS_ALL)
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || \
	  { $(CC) $(CPPFLAGS_ALL) -E -include src/core/hjcompat.h -x c /dev/null >/dev/null && echo '$(FLAGS)' >$@; }
always:

$(BUILD)/host/hjhostkernels_%.o: $(HOST_KERNELS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$(<:src/%=%) ($*))
	$(Q)$(CC) $(CFLAGS) $(ISA_$*) -DHJ_ISA=$* -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/host/single/hjhostkernels_%.o: $(HOST_KERNELS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$(<:src/%=%) ($* single))
	$(Q)$(CC) $(CFLAGS) $(ISA_$*) -DHJ_ISA=$* -DHJ_FLOAT -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/host/single/%.o: src/host/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$(<:src/%=%) (single))
	$(Q)$(CC) $(CFLAGS) -DHJ_FLOAT -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$(<:src/%=%))
	$(Q)$(CC) $(CFLAGS) -fPIC -fvisibility=hidden $(WARN) $(CPPFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/%.cu.o: src/%.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,NVCC,$(<:src/%=%))
	$(Q)$(NVCC) $(NVCCFLAGS) $(GENCODE) -Xcompiler -fPIC,-fvisibility=hidden $(NVCC_CPPFLAGS) $(DEPS) -c $< -o $@

$(BUILD)/single/%.cu.o: src/%.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,NVCC,$(<:src/%=%) (single))
	$(Q)$(NVCC) $(NVCCFLAGS) $(GENCODE) -DHJ_FLOAT -Xcompiler -fPIC,-fvisibility=hidden $(NVCC_CPPFLAGS) $(DEPS) -c $< -o $@

$(BUILD)/cuda/single.o: $(CUDA_SINGLE)
	@mkdir -p $(@D)
	$(call say,LD,$(@:$(BUILD)/%=%))
	$(Q)$(LD) -r --force-group-allocation -o $@.tmp $^ && $(OBJCOPY) --keep-global-symbol=HJBackendCUDASingle $@.tmp $@ && rm $@.tmp

# Tests compile in half the time at -O1, and but for these they compute little themselves
TEST_CFLAGS = $(patsubst -O%,-O1,$(CFLAGS))
$(addprefix $(BUILD)/tests/test_,fidelity restrict sweep periodic tiles): TEST_CFLAGS = $(CFLAGS)
# Tests link the objects, to reach the internal functions; the plugin itself is tested through -dll_append
$(BUILD)/tests/%: tests/%.c $(OBJ)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(TEST_CFLAGS) $(WARN) $(CPPFLAGS_ALL) $(DEPS) $< $(OBJ) -o $@ $(LIBS_ALL)

# Examples are what a user would write: they see the public header and, at run time, the library
$(BUILD)/examples/%: examples/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(PETSC_CFLAGS) -Iinclude $(CPPFLAGS) $(DEPS) $< -o $@ $(LDFLAGS) $(EXAMPLE_LIBS) $(PETSC_LIBS) -lm
$(BUILD)/examples/membrane: private EXAMPLE_LIBS = $(SLEPC_LIBS) -Wl,-rpath,$(shell $(SLEPC_PKG_CONFIG) --variable=libdir SLEPc)

# ... but for the benchmarks that look inside: single sweeps, exchange and sweeps apart, memory of the GPU
$(addprefix $(BUILD)/examples/bench/bench_,mat mg): private CPPFLAGS_ALL += $(if $(CUDA_OBJ),-I$(CUDA_HOME)/include)
$(addprefix $(BUILD)/examples/bench/bench_,sweep galerkin interpolation mpi mat mg slab system robust): $(BUILD)/%: %.c $(OBJ)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(CPPFLAGS_ALL) $(DEPS) $< $(OBJ) -o $@ $(LIBS_ALL)

# ... and the papers' experiments, whose baselines on a GPU are kernels of their own
PAPER_CU := $(if $(CUDA_OBJ),$(BUILD)/examples/paper/classic.cu.o)
$(BUILD)/examples/paper/classic.cu.o: examples/paper/classic.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(NVCCFLAGS) $(GENCODE) $(NVCC_CPPFLAGS) $(DEPS) -c $< -o $@
$(BUILD)/examples/paper/paper: examples/paper/paper.c $(OBJ) $(PAPER_CU)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(CPPFLAGS_ALL) $(DEPS) $< $(OBJ) $(PAPER_CU) -o $@ $(LIBS_ALL)

# What scripts need to know about this build
RUN_ENV = BUILD='$(BUILD)' LIB='$(abspath $(LIB))' MPIEXEC='$(MPIEXEC)' CC='$(CC)' CFLAGS='$(CFLAGS)' \
  CUDA='$(CUDA)' CUDA_ARCHS='$(CUDA_ARCHS)' NVCCFLAGS='$(NVCCFLAGS)' \
  PETSC_CFLAGS='$(PETSC_CFLAGS)' PETSC_LIBS='$(PETSC_LIBS)' PETSC_CUDA='$(PETSC_CUDA)' PETSC_VERSION='$(PETSC_VERSION)'

# Tests of one rank run beside one another on the CPU, then the others one by one: their ranks take the cores that there are
CHECK_JOBS ?= $(shell nproc 2>/dev/null || echo 1)
PROVE       = prove --timer -j$(CHECK_JOBS) --rules='par=*@1' $(PROVE_FLAGS) --exec 'sh tests/run.sh'

check-build: $(LIB) $(TESTS) $(if $(ONLY),,$(PROGRAMS))

check: check-build
	@$(RUN_ENV) $(PROVE) $$($(RUN_ENV) AGAIN='$(AGAIN)' RANKS='$(RANKS)' sh tests/run.sh --list $(ONLY))

check-long: $(LIB) $(TESTS)
	@$(RUN_ENV) LONG=1 $(PROVE) $$($(RUN_ENV) LONG=1 sh tests/run.sh --list $(ONLY))

# Whoever types it waits: on all processors, unless -j says how many
demo:
	@[ -e $(LIB) ] || echo 'hjacobi: compiling $(words $(OBJ)) files, a line each'
	+@case "$$MAKEFLAGS" in *-j*) ;; *) jobs=-j$(CHECK_JOBS) ;; esac; $(MAKE) --no-print-directory $$jobs demo-run
demo-run: $(LIB) $(BUILD)/examples/demo
	@$(RUN_ENV) sh examples/demo.sh

bench: $(LIB) $(BUILD)/examples/bench/bench_host
	@$(RUN_ENV) sh examples/bench/bench.sh host $(BENCH)

bench-cpu: $(LIB) $(addprefix $(BUILD)/examples/bench/bench_,host mat mg)
	@$(RUN_ENV) sh examples/bench/bench.sh cpu $(BENCH)

bench-gpu: $(LIB) $(BUILD)/examples/bench/bench_gpu
	@$(RUN_ENV) sh examples/bench/bench.sh gpu $(BENCH)

bench-mat: $(LIB) $(BUILD)/examples/bench/bench_mat
	@$(RUN_ENV) sh examples/bench/bench.sh mat $(BENCH)

bench-slab: $(LIB) $(BUILD)/examples/bench/bench_slab
	@$(RUN_ENV) sh examples/bench/bench.sh slab $(BENCH)

bench-mg: $(LIB) $(BUILD)/examples/bench/bench_mg
	@$(RUN_ENV) sh examples/bench/bench.sh mg $(BENCH)

bench-mpi: $(LIB) $(BUILD)/examples/bench/bench_mpi
	@$(RUN_ENV) sh examples/bench/bench.sh mpi $(BENCH)

paper: $(LIB) $(BUILD)/examples/paper/paper
	@$(RUN_ENV) sh examples/paper/paper.sh $(PAPER)

.PHONY: installcheck deb
installcheck:
	@MPIEXEC='$(MPIEXEC)' PKG_CONFIG_PATH='$(prefix)/lib/pkgconfig:$(PKG_CONFIG_PATH)' sh config/installcheck.sh

deb:
	@sh config/deb.sh

# What the site shows is what the examples computed
GALLERY := $(filter $(PROGRAMS),$(addprefix $(BUILD)/examples/,$(shell sed -n 's/^| `\([a-z]*\)\.c`.*/\1/p' examples/README.md 2>/dev/null)))
docs: $(LIB) $(GALLERY)
	@sh config/setup.sh --docs
	@$(RUN_ENV) VERSION='$(VERSION)' MANUAL='$(MANUAL)' sh config/docs/docs.sh

lint:
	@sh config/setup.sh --lint
	@sh config/lint.sh

# One binary for all GPUs, built apart so that the working build stays as it is
OPTION_FILES := $(wildcard config/options/*.opts)
CMAKE_FILES  := hjacobi-config.cmake hjacobi-config-version.cmake
MANUAL       := include/pchjacobi.h $(SRC_C)
INSTALLED     = lib/libhjacobi.so include/pchjacobi.h lib/pkgconfig/hjacobi.pc $(CMAKE_FILES:%=lib/cmake/hjacobi/%) \
  $(OPTION_FILES:config/%=share/hjacobi/%) $(patsubst %,share/man/man3/%.3,$(shell awk -v list=1 -f config/manpages.awk $(MANUAL)))
to            = $(DESTDIR)$(prefix)
fill          = sed -e 's|@prefix@|$(prefix)|' -e 's|@version@|$(VERSION)|' -e 's|@petsc@|$(PETSC_VERSION)|'
install:
	$(if $(filter /%,$(firstword $(prefix))),,$(error prefix=$(prefix) must be a whole path, which begins with /))
	$(MAKE) BUILD=$(BUILD)/release LIB=$(BUILD)/release/libhjacobi.so \
	  $(if $(filter command line environment,$(origin CUDA_ARCHS)),,CUDA_ARCHS=all) all
	install -d $(foreach folder,lib/pkgconfig lib/cmake/hjacobi include share/hjacobi/options share/man/man3,'$(to)/$(folder)')
	install -m 755 $(BUILD)/release/libhjacobi.so '$(to)/lib/libhjacobi.so'
	install -m 644 include/pchjacobi.h '$(to)/include/pchjacobi.h'
	install -m 644 $(OPTION_FILES) '$(to)/share/hjacobi/options'
	$(fill) config/hjacobi.pc.in >'$(to)/lib/pkgconfig/hjacobi.pc'
	for file in $(CMAKE_FILES); do $(fill) config/$$file.in >'$(to)/lib/cmake/hjacobi'/$$file || exit; done
	awk -v dir='$(to)/share/man/man3' -v version=$(VERSION) -f config/manpages.awk $(MANUAL)

# Folders that others may use too stay
uninstall:
	for file in $(INSTALLED); do rm -f '$(to)'/$$file; done
	for folder in lib/cmake/hjacobi share/hjacobi/options share/hjacobi; do rmdir '$(to)'/$$folder 2>/dev/null || :; done

# Of the last commit, with nothing that git alone knows: its makefile works without git
DIST := $(BUILD)/hjacobi-$(VERSION).tar.gz
dist:
	@[ -e .git ] || { echo 'make dist: this is no git checkout'; exit 1; }
	@git diff --quiet HEAD || echo 'make dist: changes that are not committed are not in $(DIST)'
	@mkdir -p $(BUILD)
	git archive --prefix=hjacobi-$(VERSION)/ -o $(DIST) HEAD

release-check:
	@$(RUN_ENV) LIB='$(LIB)' VERSION='$(VERSION)' sh config/releasecheck.sh $(STEPS)

clean:
	rm -rf $(BUILD) $(LIB)

# Of this build alone: another one below $(BUILD) may be under way
-include $(wildcard $(addsuffix .d,$(OBJ) $(CUDA_SINGLE) $(TESTS) $(PROGRAMS) $(PAPER_CU)))
.PHONY: all help check check-build check-long demo demo-run bench bench-cpu bench-gpu bench-mat bench-mg bench-mpi bench-slab paper docs lint install uninstall \
  dist release-check clean always
.SECONDARY:
