#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A PETSc that this library does not support is refused when compiling, by one line that names the cure. Its petscconf.h is made from
# the one that is here; real complex headers are taken too where they are (Debian: libpetsc-complex-dev, or PETSC_COMPLEX_INCLUDE).
set -u
CC=${CC:-mpicc} dir=${BUILD:-build}/tests/refused failed=0 count=0
conf=$(pkg-config --variable=includedir PETSc)/petscconf.h
mkdir -p "$dir"

refused()
{
  name=$1 cure=$2 include=$3
  count=$((count + 1))
  if ! $CC -I"$include" $PETSC_CFLAGS -E -include src/core/hjcompat.h -x c /dev/null >/dev/null 2>"$dir/out" &&
    [ "$(grep -c ' error: ' "$dir/out")" -eq 1 ] && grep -q -e "hjacobi .*$cure" "$dir/out"; then
    echo "ok $count - $name is refused by one line"
  else
    echo "not ok $count - $name is refused by one line"
    sed 's/^/# /' "$dir/out" >&2
    failed=1
  fi
}

mkdir -p "$dir/complex" "$dir/quadruple"
{ cat "$conf"; echo '#define PETSC_USE_COMPLEX 1'; } >"$dir/complex/petscconf.h"
sed 's/PETSC_USE_REAL_[A-Z]*/PETSC_USE_REAL___FLOAT128/' "$conf" >"$dir/quadruple/petscconf.h"
refused 'complex PETSc' 'without --with-scalar-type=complex' "$dir/complex"
refused 'a PETSc in quadruple precision' '--with-precision=double' "$dir/quadruple"
for include in ${PETSC_COMPLEX_INCLUDE:-/usr/lib/petscdir/petsc[0-9]*/*-complex/include}; do
  [ -f "$include/petscconf.h" ] && refused 'an installed complex PETSc' 'without --with-scalar-type=complex' "$include"
done

# What make says to a wrong PETSC_DIR, a library of another name, a prefix that is no whole path
says()
{
  name=$1 words=$2
  shift 2
  count=$((count + 1))
  if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u MAKEOVERRIDES make -n CUDA=0 "$@" >"$dir/out" 2>&1 && grep -q -e "$words" "$dir/out"; then
    echo "ok $count - $name is refused"
  else
    echo "not ok $count - $name is refused"
    sed 's/^/# /' "$dir/out" >&2
    failed=1
  fi
}

# make stops at that line, before it compiles anything
count=$((count + 1)) name='a complex PETSc ends make before a file is compiled'
rm -rf "$dir/make"
if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u MAKEOVERRIDES make -k -s CUDA=0 BUILD="$dir/make" LIB="$dir/make/libhjacobi.so" \
  CPPFLAGS=-DPETSC_USE_COMPLEX >"$dir/out" 2>&1 && [ "$(grep -c ' error: ' "$dir/out")" -eq 1 ]; then
  echo "ok $count - $name"
else
  echo "not ok $count - $name"
  sed 's/^/# /' "$dir/out" >&2
  failed=1
fi

says 'a PETSC_DIR without PETSc' 'PETSC_DIR=/no/petsc PETSC_ARCH=arch: there is no /no/petsc/arch/lib/pkgconfig' PETSC_DIR=/no/petsc PETSC_ARCH=arch
says 'a library of another name' 'must be called libhjacobi.so' LIB="$dir/libmine.so"
says 'a folder with spaces to build in' 'each must be one path without spaces' BUILD='my build'
says 'a prefix that is no whole path' 'prefix=here must be a whole path' install prefix=here
echo "1..$count"
exit $failed
