#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures a device and writes examples/bench/results/<device>/<benchmark>.csv; `make bench`, `make bench-gpu`, `make bench-mat`,
# `make bench-slab`, `make bench-mg` and `make bench-mpi` call it. `make bench-cpu` measures what the project asks of a CPU, into host.csv,
# mat.csv and mg.csv, on one rank and on two.
# A device may be measured in several calls: rows of the same commit stay, and are replaced where their case is measured again; rows of
# another commit go. Each row is kept as soon as it is measured.
# Usage: bench.sh host|gpu|mat|mg|mpi|slab|iterations|cpu [options of bench_host.c, bench_gpu.c, ...; without any: all that the pages quote]
# Environment:
#   BUDGET=seconds   cases that would begin later are left out, and named; those under way are ended 20 s later (0: no limit)
#   RESULTS=folder   in place of examples/bench/results, whose CSV it starts from; for a machine from which only that folder comes back
#   DEVICE=name      of the folder, in place of the one made from the name of GPU or CPU
#   COMMIT=id        where there is no git
#   PETSC_CUDA=0     measures the CPU where there is a GPU too (mat, mg, mpi)
#   RANKS=n          (host, gpu, mat, mg: 1; mpi: as many as there are GPUs, or 2)
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
here=$(cd "$(dirname "$0")" && pwd)
name=$1
shift
BUILD=${BUILD:-build} BUDGET=${BUDGET:-0} start=$(date +%s)

fail()
{
  echo "bench: $*" >&2
  exit 1
}

gpus()
{
  case " $PETSC_CUDA $* " in
  ' 0 '* | *' -backend host '*) echo 0 ;;
  *) nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true ;;
  esac
}

# "Intel(R) Xeon(R) Processor @ 2.50GHz" becomes intel-xeon-2.50ghz
folder()
{
  echo "$1" | sed 's/([A-Za-z]*)//g; s/\(CPU\|Processor\|@\)//g' | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9.-]//g; s/--*/-/g; s/^-//; s/-$//'
}

# The new rows into a file. What names a case stands between the commit and the first column that is measured, "repetitions" or "hjacobi",
# which is counted from the end, since names hold commas
merge()
{
  awk -F, '
    FNR == 1 {
      if (NR == 1) {header = $0; for (i = 1; i <= NF; i++) if ($i ~ /^(repetitions|hjacobi)$/) {measured = NF - i + 1; break}}
      same = $0 == header
      next
    }
    {key = ""; for (i = 2; i <= NF - measured; i++) key = key "," $i}
    NR == FNR {commit = $1; if (!(key in row)) added[++n] = key; row[key] = $0; next}
    same && $1 == commit {kept[++m] = key in row ? row[key] : $0; delete row[key]}
    END {
      print header
      for (i = 1; i <= m; i++) print kept[i]
      for (i = 1; i <= n; i++) if (added[i] in row) print row[added[i]]
    }' "$1" "$2"
}

# One run of a benchmark, with its options
measure()
{
  new=$BUILD/bench/$name.csv limit='' left=0 status=0
  if [ "$BUDGET" -gt 0 ]; then
    left=$((BUDGET + start - $(date +%s)))
    if [ "$left" -le 0 ]; then echo "# $name $*: left out for want of time"; return; fi
    limit="timeout $((left + 20))"
  fi
  rm -f "$new"
  $limit "${MPIEXEC:-mpiexec}" -n "$ranks" "$BUILD/examples/bench/bench_$name" -dll_append "${LIB:-$PWD/lib/libhjacobi.so}" \
    -use_gpu_aware_mpi 0 -commit "$commit" -device "$device" -budget "$left" -csv "$new" "$@" || status=$?
  if [ -f "$new" ] && [ "$(wc -l <"$new")" -gt 1 ]; then
    merge "$new" "$file" >"$file.new" && mv "$file.new" "$file"
  fi
  [ "$status" -eq 0 ] || echo "bench: bench_$name $* ended with status $status" >&2
  failed=$((failed + status))
}

# bench_mpi without options of its own: hjmg and CG + multigrid with the coarsest grid by sweeps first, then the smoother
measure_mpi()
{
  if [ "$where" = cpu ]; then
    measure -cases mg2d,mg3d -m2 1025 -m3 65 -peer_sweeps 2,3 -our_sweeps 4,6
    measure -cases weak2d,weak3d,strong2d,strong3d -w2 2049 -w3 129 -s2 2049 -s3 161
    return
  fi
  measure -cases hjmg2d,hjmg3d,hjmgstrong2d,hjmgstrong3d -repetitions 9
  measure -cases hjmgstrong2d,hjmgstrong3d -m2 8193 -m3 513 -repetitions 9
  measure -cases hjmg2d,hjmg3d,hjmgstrong2d,hjmgstrong3d -m2 513 -m3 33 -repetitions 9
  measure -cases hjmg2d,hjmg3d,hjmgstrong2d,hjmgstrong3d -m2 1025 -m3 65 -repetitions 9
  measure -cases hjmg2d,hjmg3d,hjmgstrong2d,hjmgstrong3d -m2 2049 -m3 129 -repetitions 9
  measure -cases hjmgvariable2d,hjmgvariable3d,hjmgvariablestrong2d,hjmgvariablestrong3d -repetitions 9
  measure -cases mg2d,mg3d,mgstrong2d,mgstrong3d -dm_mat_type hjstencil -repetitions 9 -peer_sweeps 0 -exchanges ipc -our_hjmg -our_sweeps 6,7 \
    -our_ksp_knoll -our_mg_levels_pc_hjacobi_schedule chebyshev
  measure -cases mg2d -repetitions 7 -peer_sweeps 2,3 -peer_leave_out 2 -our_sweeps 7,8,10 -our_leave_out 4
  measure -cases mg3d -repetitions 7 -peer_sweeps 2,3 -our_sweeps 7,8,10 -our_leave_out 2
  if [ "$ranks" -gt 1 ]; then
    measure -cases mg3d -ranks "$ranks" -repetitions 7 -peer_sweeps 2 -peer_leave_out 1 -our_sweeps 10 -our_leave_out 3 -coarse_sweeps 48 \
      -our_mg_levels_4_pc_hjacobi_k 8 -our_mg_levels_3_pc_hjacobi_k 8
  fi
  measure -cases weak2d,weak3d,strong2d,strong3d
}

# Heights beside their predictions; then the paper's grids, and one beyond: a share of their iterations where all take longer than 20 s; grids
# of few planes beside those of many
measure_slab()
{
  measure -bare -cases heights -n 800 -heights -1,84,100,116,124,132 -subiterations 1300
  measure -bare -cases heights -n 800 -pyramids -1,12,20,24,28,32 -subiterations 240
  for n in 800 900 1000 1200; do measure -bare -cases paper -n $n -seconds 20; done
  for n in 100000,100 100,100000 3200,3200; do measure -bare -cases heights -n $n -memory 24M -subiterations 800; done
  for n in 700,700,40 270,270,270; do measure -bare -cases heights -n $n -memory 120M -subiterations 800; done
}

# A file for what follows, which starts from the one in the results. One to which nothing came goes
use()
{
  if [ -n "${file:-}" ] && [ ! -s "$file" ]; then rm -f "$file"; fi
  name=$1 file=${RESULTS:-$here/results}/$folder/$1.csv
  mkdir -p "$(dirname "$file")"
  if [ ! -f "$file" ]; then cat "$here/results/$folder/$1.csv" >"$file" 2>/dev/null || true; fi
}

# All bars of a CPU beside their peers, in four to five minutes of a quiet machine; two ranks on smaller grids
measure_cpu()
{
  use mat
  measure -cases mult2d,mult3d,mg2d,mg3d,whole3d -k 3,4 -repetitions 3 "$@"
  use mg
  measure -cases host2d,host3d -repetitions 2 "$@"
  use host
  measure -cases 2d,3d,2dvar,3dvar,2dbox,3dbox -n2 1025 -n3 65 -cycles 2 -repetitions 3
  ranks=2
  use mat
  measure -cases mult2d,mult3d,mg2d,mg3d -n2 1025 -n3 97 -k 3,4 -repetitions 3
  use mg
  measure -cases host2d,host3d -peer 0 -n3 97 -repetitions 2
}

# The GPU where there is one
measure_vectors()
{
  if [ "$where" = gpu ]; then measure -dm_vec_type cuda "$@"; else measure "$@"; fi
}

case $name in
host | gpu | mat | mg | mpi | slab | iterations | cpu) ;;
*) fail "host, gpu, mat, mg, mpi, slab, iterations or cpu, not $name" ;;
esac
PETSC_CUDA=${PETSC_CUDA:-1} n=0 where=cpu failed=0
case "$name $*" in gpu* | mat* | mg* | mpi* | slab* | *cuda*) n=$(gpus "$@") ;; esac
if { [ "$name" = gpu ] || [ "$name" = slab ]; } && [ "$n" -eq 0 ]; then fail 'there is no GPU, or PETSc was built without CUDA'; fi
if [ "$n" -gt 0 ]; then
  where=gpu device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
else
  device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
fi
ranks=1
if [ "$name" = mpi ]; then ranks=$n; fi
ranks=${RANKS:-$ranks}
[ "$ranks" -gt 0 ] || ranks=2
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
if [ -z "${COMMIT:-}" ] && [ -n "$(git status --porcelain -- src include examples ':!examples/bench/results' 2>/dev/null)" ]; then
  commit=$commit+changes
fi
folder=${DEVICE:-$(folder "${device:=unknown}")}
mkdir -p "$BUILD/bench"
if [ "$name" != cpu ]; then use "$name"; fi
case "$name $#" in
'slab 0') measure_slab ;;
'mpi 0') measure_mpi ;;
mat* | mg*) measure_vectors "$@" ;;
cpu*) measure_cpu "$@" ;;
*) measure "$@" ;;
esac
if [ -s "$file" ]; then echo "written: $file"; else rm -f "$file"; fi
[ "$failed" -eq 0 ]
