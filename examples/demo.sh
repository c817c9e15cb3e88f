#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs examples/demo.c on 1 and 2 ranks, on the GPU too where PETSc and the machine have one, prints one table, and draws it. `make demo` calls it.
# Demo options may follow: sh examples/demo.sh -n2 2049
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 # a rank that waits leaves its core to others
export OMPI_MCA_btl_tcp_if_include="${OMPI_MCA_btl_tcp_if_include:-lo}" # Open MPI 5 complains of interfaces that lead nowhere
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
BUILD=${BUILD:-build} LIB=${LIB:-$PWD/lib/libhjacobi.so}
rows=$BUILD/demo.txt
: >"$rows"

run()
{
  ranks=$1
  shift
  "${MPIEXEC:-mpiexec}" -n "$ranks" "$BUILD/examples/demo" -dll_append "$LIB" -use_gpu_aware_mpi 0 -table "$rows" "$@" ||
    { cat "$rows"; exit 1; }
}

echo 'Poisson, CG + multigrid to 1e-8; PCMG with 4 sweeps of a smoother before and after each coarse-grid correction' >&2
for ranks in 1 2; do
  echo "on $ranks CPU rank(s):" >&2
  run "$ranks" "$@"
done
if nvidia-smi -L >/dev/null 2>&1 && [ "${PETSC_CUDA:-}" = 1 ]; then
  echo 'on one GPU:' >&2
  # without SOR, which PETSc runs on the CPU, and without gamg, whose set-up takes long
  run 1 -n2 4097 -n3 257 -dm_vec_type cuda -dm_mat_type aijcusparse -solver chebyshev,hjacobi,hjmg "$@"
fi
echo
echo 'grid      ranks  on     matrix       solver     iterations  true residual  set-up s  solve s  ratio'
cat "$rows"
echo
echo 'chebyshev (with jacobi, what PETSc users take), sor, hjacobi: smoothers of PCMG, which is given all grids. hjmg, gamg, hypre: -pc_type'
echo 'ratio: solve time of chebyshev over that of the row, same grid and ranks'
awk -f examples/demo.awk "$rows" >"$BUILD/demo.svg"
echo "picture: $BUILD/demo.svg"
