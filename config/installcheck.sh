#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Whether an installed hjacobi works: examples/installed linked with it, and the same program without it, which loads it by -dll_append.
# pkg-config has to know hjacobi and PETSc. `make installcheck` calls it, Debian's and Spack's tests do too.
# Usage: installcheck.sh [LIBRARY]    LIBRARY: what -dll_append names, by default the one that pkg-config tells
set -eu
cd "$(dirname "$0")/.."
# As root, with more ranks than cores, without a network (Open MPI 4 and 5)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_tcp_if_include=lo
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_plm_rsh_agent=/bin/false OMP_NUM_THREADS=1
library=${1:-$(pkg-config --variable=libdir hjacobi)/libhjacobi.so}
mpiexec=${MPIEXEC:-$(pkg-config --variable=mpiexec PETSc)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp examples/installed/* "$dir"
cd "$dir"

run()
{
  echo "installcheck: $*"
  ${mpiexec:-mpiexec} -n 2 "$@" >out 2>&1 && grep -q "$expected" out && grep '^CONVERGED' out || { cat out; exit 1; }
}

make -s
expected=CONVERGED
run ./poisson
sed -i -e '/pchjacobi\.h/d' -e '/PCHJ/d' -e '/MATHJSTENCIL/d' poisson.c
make -s -B FLAGS="$(pkg-config --cflags --libs PETSc)"
expected='type: hjmg'
run ./poisson -dll_append "$library" -dm_mat_type hjstencil -pc_type hjmg -ksp_view
