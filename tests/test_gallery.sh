#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The examples of examples/README.md on small grids: each checks its answer itself. With hjmg, on one rank and two, by as many iterations,
# and with PETSc's own default, they must come to the same answer. Then their pictures, and their twins in Python.
# A machine with a GPU runs them with vectors there too. Programs know nothing of the library: -dll_append loads it.
set -u
BUILD=${BUILD:-build} LIB=${LIB:-$PWD/lib/libhjacobi.so} MPIEXEC=${MPIEXEC:-mpiexec} count=0 failed=0
dir=$BUILD/tests/gallery
mkdir -p "$dir"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

ok()
{
  count=$((count + 1))
  if [ "$1" = yes ]; then echo "ok $count - $2" && return; fi
  echo "not ok $count - $2"
  sed 's/^/# /' "$dir/log" | tail -n 20 >&2
  failed=1
}

# "PROBLEM ITERATIONS ANSWER" of each problem that a program solves; nothing if one is wrong, or it fails
answers()
{
  file=$1 ranks=$2
  shift 2
  : >"$file"
  timeout 120 "$MPIEXEC" -n "$ranks" "$@" >"$dir/log" 2>&1 || return
  if grep -q WRONG "$dir/log"; then return; fi
  sed -n 's/^\([^ ]* [0-9x]*\): .* solves, \([0-9]*\) iterations,.* answer \([^,]*\), right.*/\1 \2 \3/p' "$dir/log" >"$file"
}

# iterations that may differ are allowed by the last argument
same()
{
  paste -d ' ' "$1" "$2" | awk -v its="$3" '
    function near(a, b) { return a - b <= 1e-5 * (b < 0 ? -b : b) && b - a <= 1e-5 * (b < 0 ? -b : b) }
    NF != 8 || $1 != $5 || $2 != $6 || !near($4, $8) || (its && $3 != $7) { bad = 1 }
    END { print NR && !bad ? "yes" : "no" }'
}

# Lines end where another rank begins, so that two ranks may have points where one has lines; by points they do the same
as_many()
{
  if [ "$(same "$dir/two" "$dir/one" 1)" = yes ]; then echo yes && return; fi
  [ "$(same "$dir/two" "$dir/one" '')" = yes ] || return
  for ranks in 1 2; do
    answers "$dir/points$ranks" $ranks "$BUILD/examples/$program" "$@" -dll_append "$LIB" -dm_mat_type $matrix -pc_type hjmg -pc_hjmg_smoother points
  done
  same "$dir/points2" "$dir/points1" 1
}

try()
{
  program=$1
  shift
  if [ ! -x "$BUILD/examples/$program" ]; then
    count=$((count + 1))
    echo "ok $count # SKIP $program is not built$([ "$program" != membrane ] || echo "; it needs SLEPc (Debian: slepc-dev)")"
    return
  fi
  answers "$dir/default" 1 "$BUILD/examples/$program" "$@"
  ok "$([ -s "$dir/default" ] && echo yes)" "$program $*, PETSc's default: right"
  matrix=hjstencil
  if [ "$program" = beam ]; then matrix=baij; fi # hjstencil has one unknown a point
  answers "$dir/one" 1 "$BUILD/examples/$program" "$@" -dll_append "$LIB" -dm_mat_type $matrix -pc_type hjmg
  ok "$(same "$dir/one" "$dir/default" '')" "hjmg: the same answer, $(awk '{print $3}' "$dir/one" | paste -sd ' ') iterations"
  answers "$dir/two" 2 "$BUILD/examples/$program" "$@" -dll_append "$LIB" -dm_mat_type $matrix -pc_type hjmg
  ok "$(as_many "$@")" 'on 2 ranks: the same answer, as many iterations, where lines smooth on one of them with points on both'
  answers "$dir/aij" 1 "$BUILD/examples/$program" "$@" -dll_append "$LIB" -pc_type hjmg
  ok "$(same "$dir/aij" "$dir/default" '')" 'with AIJ: the same answer'
  if [ -n "$gpu" ] && [ $matrix = hjstencil ]; then
    answers "$dir/gpu" 1 "$BUILD/examples/$program" "$@" -dll_append "$LIB" -dm_mat_type hjstencil -dm_vec_type cuda -pc_type hjmg
    ok "$(same "$dir/gpu" "$dir/default" '')" 'hjmg on the GPU: the same answer'
  fi
}

gpu=
if [ "${PETSC_CUDA:-}" = 1 ] && nvidia-smi -L >/dev/null 2>&1; then gpu=yes; fi
try chip -m 2 -steps 4
try porous -n 48
try porous -n 48 -smooth 0
try drop -n 48 -steps 20
try drop -n 32 -steps 10 -every 4
try ocean -n 45 -steps 6
try bratu -n 15
try image -n 96
try resistors -n 31 -grids 2
try membrane -n 31 -grids 2
try beam -n 16 -grids 2

python=${PYTHON3:-/usr/bin/python3}
skip()
{
  count=$((count + 1))
  echo "ok $count # SKIP $1"
}

# A program's twin comes to its answer by as many iterations, and on 2 ranks to the same answer. Some import the module, all load the library
twin()
{
  program=$1
  shift
  set -- "$@" -dll_append "$LIB" -dm_mat_type hjstencil -pc_type hjmg
  answers "$dir/one" 1 "$BUILD/examples/$program" "$@" -grids 2 -options_left 0
  answers "$dir/python" 1 "$python" "examples/$program.py" "$@"
  ok "$(same "$dir/python" "$dir/one" 1)" "$program in Python: the same answer, as many iterations"
  answers "$dir/python" 2 "$python" "examples/$program.py" "$@"
  ok "$(same "$dir/python" "$dir/one" '')" 'on 2 ranks: the same answer'
}

if ! "$python" -c 'import matplotlib' 2>/dev/null; then
  skip 'matplotlib is not installed'
elif [ ! -x "$BUILD/examples/drop" ] || [ ! -x "$BUILD/examples/chip" ]; then
  skip 'the examples are not built'
else
  BUILD=$BUILD LIB=$LIB MPIEXEC=$MPIEXEC "$python" examples/pictures.py --small >"$dir/log" 2>&1 && [ "$(grep -cE 'png$|is not built$' "$dir/log")" -eq 9 ]
  ok "$([ $? -eq 0 ] && echo yes)" 'pictures.py draws them'
fi
version=$("$python" -c 'import petsc4py; petsc4py.init([]); from petsc4py import PETSc; print("%d.%d" % PETSc.Sys.getVersion()[:2])' 2>/dev/null)
if [ -z "$version" ]; then
  skip 'petsc4py is not installed'
elif [ "${PETSC_VERSION:-$version}" != "$version" ]; then
  skip "petsc4py has PETSc $version, the library is built for $PETSC_VERSION"
else
  "$python" examples/chip.py -m 1 -dll_append "$LIB" -dm_mat_type hjstencil -pc_type hjmg >"$dir/log" 2>&1
  ok "$([ $? -eq 0 ] && grep -q 'right$' "$dir/log" && echo yes)" 'the chip in Python'
  export PYTHONPATH="$PWD/config/python" HJACOBI_LIBRARY="$LIB" PYTHONDONTWRITEBYTECODE=1
  twin bratu -n 15
  twin image -n 96
fi
echo "1..$count"
exit $failed
