#!/bin/sh
# make install into a folder of our own, then a program built against that through pkg-config; DESTDIR stages without changing the prefix.
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
BUILD=${BUILD:-build} MPIEXEC=${MPIEXEC:-mpiexec}
dir=$PWD/$BUILD/tests/install build=$BUILD/tests/install/build # make takes no folder with spaces, which may lie above this one
case $BUILD in /*) dir=$BUILD/tests/install ;; esac
rm -rf "$dir/prefix" "$dir/stage" "$dir/example"
mkdir -p "$dir"
count=0 failed=0

ok()
{
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then echo "ok $count - $2" && return; fi
  echo "not ok $count - $2"
  sed 's/^/# /' "$dir/log" | tail -n 20 >&2
  failed=1
}

# The working build is not compiled once more: its objects are taken, with the record of the command that compiled them. Where make here would
# compile with another command (a compiler or flags named to `make check` alone), a library without CUDA is built, since kernels take minutes
release=$build/release cuda=CUDA=0
rm -rf "$build"
make -s BUILD="$release" "$release/flags" >"$dir/log" 2>&1
if cmp -s "$BUILD/flags" "$release/flags"; then
  for room in $(ls src); do cp -pr "$BUILD/$room" "$release"; done 2>"$dir/log"
  cp -p "$BUILD/flags" "$release/flags"
  cuda=
fi
make -s install $cuda BUILD="$build" prefix="$dir/prefix" >"$dir/log" 2>&1
ok $? 'make install prefix=...'
[ -x "$dir/prefix/lib/libhjacobi.so" ] && [ -f "$dir/prefix/include/pchjacobi.h" ] && [ -f "$dir/prefix/lib/pkgconfig/hjacobi.pc" ]
ok $? 'library, header and pkg-config file are there'
nm -D --defined-only "$dir/prefix/lib/libhjacobi.so" 2>&1 | awk '{print $3}' >"$dir/symbols"
grep -vE '^(PCHJacobi|PCHJMG|MatHJStencil|MatCreateHJStencil$|PetscDLLibraryRegister_hjacobi$|_)' "$dir/symbols" >"$dir/log"
grep -q '^PCHJacobiSetK$' "$dir/symbols" && [ ! -s "$dir/log" ]
ok $? 'the library exports nothing but its interface'
mkdir -p "$dir/example" && cp examples/installed/* "$dir/example"
make -s -C "$dir/example" PKG_CONFIG_PATH="$dir/prefix/lib/pkgconfig:${PKG_CONFIG_PATH:-}" >"$dir/log" 2>&1
ok $? 'an example builds against it'
"$MPIEXEC" -n 2 "$dir/example/poisson" -options_left 0 >"$dir/log" 2>&1 && grep -q '^CONVERGED' "$dir/log"
ok $? 'and runs on 2 ranks'
pc=$dir/stage/usr/lib/pkgconfig/hjacobi.pc
make -s install $cuda BUILD="$build" prefix=/usr DESTDIR="$dir/stage" >"$dir/log" 2>&1 && grep -q '^prefix=/usr$' "$pc"
ok $? 'DESTDIR stages'
make -s all $cuda BUILD="$release" LIB="$release/libhjacobi.so" >"$dir/log" 2>&1 &&
  [ "$(find "$build" -newer "$pc" -type f | wc -l)" -eq 0 ]
ok $? 'nothing is built again when nothing changed'
echo "1..$count"
exit $failed
