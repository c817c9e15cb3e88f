#!/bin/sh
# Runs a benchmark and leaves its table and CSV in build/bench/. `make bench` and `make bench-gpu` call it. Results worth keeping are copied by hand to
# examples/bench/results/<device>/.
# Usage: bench.sh host|gpu [options of bench_host.c, bench_gpu.c]     RANKS=2 runs on 2 ranks
# bench_host runs on a GPU too: -dm_vec_type cuda -dm_mat_type aijcusparse
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
name=$1
shift
case " $name $* " in
*' gpu '* | *cuda*) device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1) where=gpu ;;
*) device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) where=cpu ;;
esac
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- src include examples 2>/dev/null)" ] || commit=$commit+changes
out=${BUILD:-build}/bench
mkdir -p "$out"
file=$out/$name-$where-${RANKS:-1}
"${MPIEXEC:-mpiexec}" -n "${RANKS:-1}" "${BUILD:-build}/examples/bench/bench_$name" -dll_append "${LIB:-$PWD/lib/libhjacobi.so}" -use_gpu_aware_mpi 0 \
  -commit "$commit" -device "${device:-unknown}" -csv "$file.csv" "$@" | tee "$file.txt"
echo "written: $file.txt $file.csv"
