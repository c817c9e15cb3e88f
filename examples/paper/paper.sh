#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the papers' experiments and writes examples/paper/results/<device>/: paper.csv, and plots as SVG where matplotlib is there; `make paper`
# calls it. A CPU takes smaller sizes, a few minutes in all.
# Usage: paper.sh [options of paper.c]
# Environment: RESULTS=folder and DEVICE=name as bench.sh has them, COMMIT=id where there is no git, PETSC_CUDA=0 for the CPU
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-build} options=''
if [ "${PETSC_CUDA:-0}" != 0 ] && nvidia-smi -L >/dev/null 2>&1; then
  options='-dm_vec_type cuda -use_gpu_aware_mpi 0'
  device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
else
  device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  echo 'paper: no GPU, or a PETSc without CUDA: smaller sizes, on one core of the CPU'
fi
folder=$(echo "${DEVICE:-$device}" | sed 's/([A-Za-z]*)//g; s/\(CPU\|Processor\|@\)//g' | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9.-]//g; s/--*/-/g; s/^-//; s/-$//')
results=${RESULTS:-$here/results}/$folder
mkdir -p "$results"
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
# shellcheck disable=SC2086
"${MPIEXEC:-mpiexec}" -n 1 "$BUILD/examples/paper/paper" $options -commit "$commit" -device "$device" -csv "$results/paper.csv" \
  -counts "$here/counts.csv" "$@"
PYTHON3=${PYTHON3:-/usr/bin/python3} # where the distribution puts its packages
if "$PYTHON3" -c 'import matplotlib' 2>/dev/null; then
  "$PYTHON3" "$here/plot.py" "$results/paper.csv"
  bench=$here/../bench/results/$folder
  if [ -f "$bench/gpu.csv" ]; then "$PYTHON3" "$here/figures.py" "$bench" "$results"; fi
else
  echo "paper: written to $results/paper.csv; for plots install python3-matplotlib and say: python3 examples/paper/plot.py $results/paper.csv"
fi
