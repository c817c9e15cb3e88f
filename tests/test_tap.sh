#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What tests/run.sh makes of what a test prints: a line of standard output that is not TAP fails the test, and TAP of a program arrives whole,
# however much is written to standard error beside it. Open MPI 5 moves parts of lines from one to the other.
set -u
CC=${CC:-mpicc} dir=${BUILD:-build}/tests/tap count=0 failed=0
rm -rf "$dir"
mkdir -p "$dir/tests"
cp tests/run.sh "$dir/tests"
hjtest=$PWD/tests/hjtest.h

ok()
{
  count=$((count + 1))
  if [ "$1" = yes ]; then echo "ok $count - $2" && return; fi
  echo "not ok $count - $2"
  sed 's/^/# /' "$dir/out" "$dir/err" | tail -n 20 >&2
  failed=1
}

# Runs a test as `make check` does; the exit status of run.sh goes to $status
try()
{
  BUILD=. sh "$dir/tests/run.sh" "$1" >"$dir/out" 2>"$dir/err"
  status=$?
}

script()
{
  printf '%s\n' "$2" >"$dir/tests/$1"
  try "$1@1"
}

refused()
{
  ok "$([ "$status" -ne 0 ] && grep -qF -e "$1" "$dir/err" && echo yes)" "$2"
}

script clean.sh 'echo "# a comment"; echo "ok 1 - one"; echo "ok 2 # SKIP two"; echo 1..2'
ok "$([ "$status" -eq 0 ] && [ "$(wc -l <"$dir/out")" -eq 4 ] && echo yes)" 'a script that prints TAP alone passes, and its TAP arrives'
script stray.sh 'echo "ok 1 - one"; echo "row 98: (97, 0.426)"; echo 1..1'
refused 'row 98: (97, 0.426)' 'a script that prints another line fails, and the line is shown'
script fails.sh 'echo "not ok 1 - one"; echo 1..1; exit 3'
ok "$([ "$status" -eq 3 ] && grep -q '^not ok 1' "$dir/out" && echo yes)" 'the exit status of a test that fails is kept'

cat >"$dir/tap.c" <<END
#include "$hjtest"
#include <petscviewer.h>

int main(int argc, char **argv)
{
  PetscBool   view = PETSC_FALSE;
  PetscMPIInt rank;
  int         status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (int i = 0; i < 2000; i++) {
    PetscCall(HJTestOK(PETSC_TRUE, "line %d of a test that has many of them", i + 1));
    if (i % 7 == rank) fprintf(stderr, "row %d: (%d, 1.0)\n", i, i);
  }
  if (view) PetscCall(PetscIntView(1, &(PetscInt){17}, PETSC_VIEWER_STDOUT_WORLD));
  status = HJTestDone();
  PetscCall(PetscFinalize());
  return status;
}
END
$CC -Isrc -Iinclude $PETSC_CFLAGS "$dir/tap.c" -o "$dir/tests/tap" $PETSC_LIBS -lm >"$dir/out" 2>"$dir/err"
ok "$([ -x "$dir/tests/tap" ] && echo yes)" 'a program compiles'
awk 'BEGIN {for (i = 1; i <= 2000; i++) printf "ok %d - line %d of a test that has many of them\n", i, i; print "1..2000"}' >"$dir/expected"
for ranks in 1 2; do
  whole=0
  for again in 1 2 3 4 5; do
    try "tap@$ranks"
    if [ "$status" -eq 0 ] && cmp -s "$dir/out" "$dir/expected"; then whole=$((whole + 1)); fi
  done
  ok "$([ "$whole" -eq 5 ] && echo yes)" "TAP of $ranks rank(s) is whole beside much standard error, $whole of 5 times"
done
export PETSC_OPTIONS=-view
try tap@1
refused '0: 17' 'a program whose view goes to standard output fails, and the view is shown'
echo "1..$count"
exit $failed
