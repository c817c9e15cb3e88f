#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# once: 1
# make dist: the tarball holds what git tracks. Its long case, which compiles the library, builds it without git and runs a test there. long: 1
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
[ -e .git ] && command -v git >/dev/null || { echo '1..0 # SKIP this is no git checkout'; exit 0; }
build=${BUILD:-build}/tests/dist
count=0 failed=0
rm -rf "$build"
mkdir -p "$build"

ok()
{
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then echo "ok $count - $2" && return; fi
  echo "not ok $count - $2"
  tail -n 20 "$build/log" | sed 's/^/# /' >&2
  failed=1
}

make -s BUILD="$build" dist >"$build/log" 2>&1
tarball=$(ls "$build"/hjacobi-*.tar.gz 2>>"$build/log")
[ -f "$tarball" ]
ok $? "make dist: ${tarball##*/}"
name=$(basename "$tarball" .tar.gz)
git ls-tree -r --name-only HEAD | sort >"$build/tracked"
tar -tzf "$tarball" 2>>"$build/log" | sed -e '/\/$/d' -e "s|^$name/||" | sort | diff "$build/tracked" - >"$build/log"
ok $? 'it holds what the last commit has'
if [ "${1:-}" = long ]; then
  # Compiled in the shortest time: it is a matter of which files there are
  tar -C "$build" -xzf "$tarball" && GIT_DIR=/nonexistent make -s -C "$build/$name" CUDA=0 CFLAGS=-O0 check ONLY=test_plan >"$build/log" 2>&1
  ok $? 'it builds without git, and a test passes'
  ! GIT_DIR=/nonexistent make -s -C "$build/$name" dist >"$build/log" 2>&1 && grep -q 'no git checkout' "$build/log"
  ok $? 'make dist says there that it wants git'
fi
echo "1..$count"
exit $failed
