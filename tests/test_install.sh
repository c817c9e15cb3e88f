#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make install into a folder of our own, then a program built against that through pkg-config and CMake, manual pages and option files; DESTDIR
# stages without changing the prefix, and make uninstall leaves nothing.
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
BUILD=${BUILD:-build} MPIEXEC=${MPIEXEC:-mpiexec}
dir=$PWD/$BUILD/tests/install build=$BUILD/tests/install/build # make takes no folder with spaces, which may lie above this one
case $BUILD in /*) dir=$BUILD/tests/install ;; esac
rm -rf "$dir/prefix" "$dir/stage" "$dir/example" "$dir/cmake"
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

# For what needs a tool that is not on every machine
skip()
{
  count=$((count + 1))
  echo "ok $count - $2 # SKIP there is no $1 here"
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
version=$(sed -n 's/^.define HJACOBI_VERSION_STRING *"\(.*\)"/\1/p' include/pchjacobi.h)
[ "$(pkg-config --modversion "$dir/prefix/lib/pkgconfig/hjacobi.pc" 2>"$dir/log")" = "$version" ]
ok $? "pkg-config says the version of the header, $version"

# What the linker adds begins with an underscore
sed -n 's/^PETSC_EXTERN PetscErrorCode \([A-Za-z]*\)(.*/\1/p' include/pchjacobi.h >"$dir/functions"
{
  cat "$dir/functions"
  sed -n 's/^PETSC_EXTERN const char \*const \([A-Za-z]*\)\[\];/\1/p' include/pchjacobi.h
  echo PetscDLLibraryRegister_hjacobi
} | sort >"$dir/interface"
nm -D --defined-only "$dir/prefix/lib/libhjacobi.so" 2>&1 | awk '$3 !~ /^_/ {print $3}' | sort | diff "$dir/interface" - >"$dir/log"
ok $? 'the library exports its interface and nothing else'
readelf -d "$dir/prefix/lib/libhjacobi.so" >"$dir/log" 2>&1 && grep -q 'soname: \[libhjacobi.so\]' "$dir/log"
ok $? 'the name that programs find it by has no version'

mkdir -p "$dir/example" && cp examples/installed/* "$dir/example"
make -s -C "$dir/example" PKG_CONFIG_PATH="$dir/prefix/lib/pkgconfig:${PKG_CONFIG_PATH:-}" >"$dir/log" 2>&1
ok $? 'an example builds against it'
"$MPIEXEC" -n 2 "$dir/example/poisson" -options_left 0 >"$dir/log" 2>&1 && grep -q '^CONVERGED' "$dir/log"
ok $? 'and runs on 2 ranks'
for file in config/options/*.opts; do cmp "$file" "$dir/prefix/share/hjacobi/options/${file##*/}"; done >"$dir/log" 2>&1 && [ ! -s "$dir/log" ]
ok $? 'the option files are there'
"$MPIEXEC" -n 2 "$dir/example/poisson" -options_file "$dir/prefix/share/hjacobi/options/mg-poisson.opts" -pc_mg_levels 3 -ksp_view \
  -options_left 0 >"$dir/log" 2>&1 && grep -q '^CONVERGED' "$dir/log" && grep -q 'levels=3' "$dir/log" && grep -q 'type: hjacobi' "$dir/log"
ok $? 'and one is used'

# By the machine's own compiler: CMake is told of MPI by the package
if command -v cmake >/dev/null; then
  (unset CC CFLAGS && cmake -S "$dir/example" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/prefix" && cmake --build "$dir/cmake") >"$dir/log" 2>&1
  ok $? 'the example builds by CMake'
  grep -qF "plugin: $dir/prefix/lib/libhjacobi.so" "$dir/log" && grep -qF "options: $dir/prefix/share/hjacobi/options" "$dir/log" &&
    "$MPIEXEC" -n 2 "$dir/cmake/poisson" -options_left 0 >"$dir/log" 2>&1 && grep -q '^CONVERGED' "$dir/log"
  ok $? 'it is told the paths of the plugin and of the option files, and runs'
  ! cmake -S "$dir/example" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/prefix" -Dversion=9.9 >"$dir/log" 2>&1 && grep -q "version: $version" "$dir/log"
  ok $? 'a version that is not there is refused'
else
  skip cmake 'the example builds by CMake'
fi

while read -r name; do
  grep -qE "^$name \\\\- " "$dir/prefix/share/man/man3/$name.3" || echo "$name has no manual page"
done <"$dir/functions" >"$dir/log" 2>&1
[ ! -s "$dir/log" ]
ok $? 'each public function has its manual page'
for name in PCHJACOBI PCHJMG MATHJSTENCIL MATHJTRANSFER PCHJacobiSchedule; do
  grep -qE "^$name \\\\- " "$dir/prefix/share/man/man3/$name.3" || echo "$name has no manual page"
done >"$dir/log" 2>&1
[ ! -s "$dir/log" ]
ok $? 'and each type'
if command -v groff >/dev/null; then
  groff -man -Tascii -ww -z "$dir/prefix"/share/man/man3/*.3 >"$dir/log" 2>&1 && [ ! -s "$dir/log" ]
  ok $? 'groff has nothing to say about the pages'
  groff -man -Tascii -P-cbou "$dir/prefix/share/man/man3/PCHJacobiSetTile.3" 2>/dev/null | tr -s ' \n' ' ' >"$dir/log"
  grep -qF 'SYNOPSIS #include <pchjacobi.h> PetscErrorCode PCHJacobiSetTile(PC pc, PetscInt x, PetscInt y, PetscInt z)' "$dir/log" &&
    grep -qF -e 'OPTIONS DATABASE KEY -pc_hjacobi_tile <x,y,z> points;' "$dir/log"
  ok $? 'a page has synopsis and option'
else
  skip groff 'groff has nothing to say about the pages'
fi

pc=$dir/stage/usr/lib/pkgconfig/hjacobi.pc
make -s install $cuda BUILD="$build" prefix=/usr DESTDIR="$dir/stage" >"$dir/log" 2>&1 && grep -q '^prefix=/usr$' "$pc"
ok $? 'DESTDIR stages'
make -s all $cuda BUILD="$release" LIB="$release/libhjacobi.so" >"$dir/log" 2>&1 &&
  [ "$(find "$build" -newer "$pc" -type f | wc -l)" -eq 0 ]
ok $? 'nothing is built again when nothing changed'
grep -rlF "$dir/stage" "$dir/stage" >"$dir/log" 2>&1
[ ! -s "$dir/log" ]
ok $? 'no file names the stage'
other=$dir/prefix/share/man/man3/other.3
mkdir -p "${other%/*}" && touch "$other"
make -s uninstall BUILD="$build" prefix="$dir/prefix" >"$dir/log" 2>&1
find "$dir/prefix" ! -type d -o -name '*hjacobi*' >"$dir/log" 2>&1
[ "$(cat "$dir/log")" = "$other" ]
ok $? 'make uninstall takes away what is ours, and nothing else'
echo "1..$count"
exit $failed
