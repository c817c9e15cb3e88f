#!/bin/sh
# Runs the scaling benchmark on as many ranks as there are GPUs (none: 2 ranks on the CPU, small grids) and leaves its table and CSV in build/bench/;
# rank counts 1, 2, 4, ... are timed in one run. `make bench-mpi` calls it. Results worth keeping are copied by hand to examples/bench/results/<device>/.
# Usage: run-mpi.sh [options of bench_mpi.c]     RANKS=n runs on n ranks
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
gpus=0
if [ "${PETSC_CUDA:-1}" != 0 ]; then gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true); fi
case " $* " in *' -backend host '*) gpus=0 ;; esac
if [ "$gpus" -gt 0 ]; then
  device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1) where=gpu sizes=
else
  device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) where=cpu sizes='-w2 2049 -w3 129 -s2 2049 -s3 161 -m2 1025 -m3 65'
fi
ranks=${RANKS:-$gpus}
[ "$ranks" -gt 0 ] || ranks=2
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
[ -z "$(git status --porcelain -- src include examples 2>/dev/null)" ] || commit=$commit+changes
file=${BUILD:-build}/bench/mpi-$where-$ranks
mkdir -p "${BUILD:-build}/bench"
# shellcheck disable=SC2086
"${MPIEXEC:-mpiexec}" -n "$ranks" "${BUILD:-build}/examples/bench/bench_mpi" -use_gpu_aware_mpi 0 -commit "$commit" -device "${device:-unknown}" -csv "$file.csv" $sizes "$@" | tee "$file.txt"
echo "written: $file.txt $file.csv"
