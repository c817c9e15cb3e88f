#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Says which test runs on which rank counts and backends, and runs one; `make check` and `make check-long` hand both to prove.
# A test says so itself in a comment near its top: "ranks: 1 2 4" (without it: 1), and "long: 1" where it has cases that take long. LONG=1
# lists those tests alone, on the ranks named there, and runs them with -long (scripts: with the word long), which asks for the long cases
# only; and, with PETSc's -fp_trap, the short cases of all programs on one rank and two: NAME@RANKS@trap. "nan: 1" leaves out one that is
# about NaN and infinity. "once: 1" says that what it tests is neither PETSc's nor CUDA's: with AGAIN=1, for a build whose host code was tested
# with another PETSc, it is left out, and the others run on the fewest and on the most ranks that they name. RANKS=8 runs the programs that
# run on 4 ranks, and no others, on so many: more than most machines have cores, with more time for each.
# A test that reads the option -backend (all that include hjproblem.h or hjcase.h do, also by another header) runs once more with "-backend cuda" on a machine with a
# GPU; test_sweep and test_cycle also with the limits of other GPUs (hjdevices.h). Scripts and test_*.py print TAP too.
# A line of standard output that is not TAP fails the test.
# Usage: run.sh --list [NAME ...]     prints NAME@RANKS[@BACKEND], a line each
#        run.sh NAME@RANKS[@BACKEND]
set -u
cd "$(dirname "$0")/.."

# The headers of tests that files include
headers_of()
{
  cat "$@" </dev/null | sed -n 's|^#include "\(hj[a-z]*\.h\)".*|tests/\1|p'
}

# Whether a test, a header that it includes, or one that these include, reads the option -backend
reads_backend()
{
  headers=$(headers_of "$1")
  grep -qE '"-backend"|"hj(problem|case)\.h"' "$1" $headers $(headers_of $headers)
}

list_one()
{
  file=$1 name=$(basename "$1") word=ranks default=1
  if [ -n "${LONG:-}" ]; then word=long default=; fi
  ranks=$(sed -n "1,12s/.*$word: *\([0-9 ]*\).*/\1/p" "$file" | head -n 1)
  if [ -n "${AGAIN:-}" ]; then
    if sed -n 1,12p "$file" | grep -q 'once: 1'; then return; fi
    ranks=$(printf '%s\n' $ranks | sed -n '1p;$p' | sort -u)
  fi
  if [ -n "${RANKS:-}" ]; then
    case " $ranks " in *' 4 '*) ranks=$RANKS ;; *) return ;; esac
  fi
  for n in ${ranks:-$default}; do
    echo "${name%.c}@$n"
    if [ "$gpu" = yes ] && reads_backend "$file"; then echo "${name%.c}@$n@cuda"; fi
    if [ "$gpu" = yes ] && [ "$name" = test_cycle.c ]; then echo "${name%.c}@$n@staged"; fi
    if [ "$gpu" = yes ] && [ "$n" = 1 ] && grep -q HJTestSetLimits "$file"; then
      for device in t4 rtx4090 a100 h200 b200; do echo "${name%.c}@$n@cuda-$device"; done
    fi
  done
}

# On the host alone
list_trap()
{
  if [ -z "${LONG:-}" ] || [ "${1%.c}" = "$1" ] || sed -n 1,12p "$1" | grep -q 'nan: 1'; then return; fi
  ranks=$(sed -n "1,12s/.*ranks: *\([0-9 ]*\).*/\1/p" "$1" | head -n 1)
  for n in ${ranks:-1}; do
    if [ "$n" -le 2 ]; then echo "$(basename "$1" .c)@$n@trap"; fi
  done
}

list()
{
  gpu=no
  if nvidia-smi -L >/dev/null 2>&1; then gpu=yes; fi
  for file in tests/test_*.sh tests/test_*.py tests/test_*.c; do
    name=$(basename "$file")
    [ -f "$file" ] || continue
    if [ $# -eq 0 ]; then list_one "$file"; list_trap "$file"; continue; fi
    for wanted in "$@"; do
      case $name in "$wanted" | "$wanted".*) list_one "$file"; list_trap "$file" ;; esac
    done
  done
}

run()
{
  name=${1%%@*} rest=${1#*@}
  ranks=${rest%%@*} backend=${rest#"$ranks"}
  backend=${backend#@}
  # Many ranks share few cores here, perhaps as root (Open MPI 4 and 5), and not bound to cores: other tests run beside them, and each
  # would be bound to the same ones. GPUs may stand behind an MPI that knows nothing of them
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_vader_single_copy_mechanism=none
  export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
  export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
  # Open MPI's folder of all runs of a user goes with the last of them: a run that begins at that moment fails, if it has none of its own
  session=$(mktemp -d /tmp/hjXXXXXX) || exit 1
  trap 'rm -rf "$session"' EXIT
  export OMPI_MCA_orte_tmpdir_base="$session" PRTE_MCA_prte_tmpdir_base="$session"
  # On one machine all ranks meet there. Where another interface leads nowhere, Open MPI 5 complains of it on each rank
  export OMPI_MCA_btl_tcp_if_include="${OMPI_MCA_btl_tcp_if_include:-lo}"
  case ${PETSC_OPTIONS:-} in *use_gpu_aware_mpi*) ;; *) export PETSC_OPTIONS="${PETSC_OPTIONS:-} -use_gpu_aware_mpi 0" ;; esac
  export HJ_TAP="$session/tap" # programs write there (hjtest.h), scripts to standard output
  : >"$HJ_TAP"
  run_test >"$session/out"
  status=$?
  cat "$HJ_TAP" "$session/out"
  if grep -vE '^(#|(ok|not ok) [0-9]+( |$)|1\.\.[0-9]+( |$)|Bail out!)' "$session/out" >"$session/stray"; then
    echo "# $name fails, as this on its standard output is no TAP:" >&2
    sed 's/^/#   /' "$session/stray" >&2
    status=1
  fi
  return $status
}

run_test()
{
  if [ "$backend" = trap ]; then
    export PETSC_OPTIONS="$PETSC_OPTIONS -fp_trap"
    backend='' LONG=''
  fi
  limit=300
  if [ -n "${LONG:-}" ]; then limit=2700; fi # PETSc's own programs, all of them
  case $name in
  *.sh) timeout 900 sh "tests/$name" ${LONG:+long} ;;
  *.py) timeout "$limit" "${PYTHON3:-/usr/bin/python3}" "tests/$name" ${LONG:+long} ;;
  *)
    device=${backend#cuda-}
    [ "$device" = "$backend" ] && device= || backend=cuda
    limit=300
    if [ "$ranks" -gt 4 ]; then limit=1800; fi
    timeout "$limit" "${MPIEXEC:-mpiexec}" -n "$ranks" "${BUILD:-build}/tests/$name" ${LONG:+-long} \
      ${backend:+-backend "$backend" -options_left no} ${device:+-limits "$device"}
    ;;
  esac
}

if [ "$1" = --list ]; then
  shift
  list "$@"
else
  run "$1"
fi
