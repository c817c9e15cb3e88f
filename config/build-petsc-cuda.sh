#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds a current PETSc with CUDA from its PyPI source, for users who have none: real, optimised, with the MPI and BLAS that are here.
# Takes 10 to 30 minutes. Needs nvcc, an MPI, a BLAS, python3 with pip, make, and network to PyPI (or a source archive in the current
# folder).
# Usage: build-petsc-cuda.sh [-v version] [-p prefix] [-a arch] [-r precision] [-j jobs]
#   -v  PETSc's version (3.26.1)
#   -p  where it goes ($HOME/petsc-cuda)
#   -a  compute capability of the GPU, 90 for H100 and H200 (default: that of the GPU here); none: for the CPU alone, without nvcc
#   -r  precision of its numbers, double or single (double)
# Afterwards: make PETSC_DIR=prefix PETSC_ARCH=
set -eu
version=3.26.1 prefix=$HOME/petsc-cuda arch= precision=double jobs=$(nproc)
while getopts v:p:a:r:j: option; do
  case $option in
  v) version=$OPTARG ;;
  p) prefix=$OPTARG ;;
  a) arch=$OPTARG ;;
  r) precision=$OPTARG ;;
  j) jobs=$OPTARG ;;
  *) sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
  esac
done

fail()
{
  echo "build-petsc-cuda: $*" >&2
  exit 1
}

for tool in mpicc mpicxx mpiexec python3 make; do
  command -v $tool >/dev/null ||
    fail "$tool was not found. Debian and Ubuntu: apt-get install g++ make python3 python3-pip libopenmpi-dev openmpi-bin libopenblas-dev"
done
set --
if [ "$arch" != none ]; then
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) ||
    fail 'nvcc was not found: install the CUDA toolkit, add its bin folder to PATH, or say -a none for a PETSc without CUDA'
  cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  if [ -z "$arch" ]; then arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .); fi
  [ -n "$arch" ] || fail 'no GPU is seen here: say for which one with -a, for example -a 90'
  set -- --with-cuda=1 --with-cuda-dir="$cuda" --with-cuda-arch="$arch" CUDAOPTFLAGS=-O3 \
    LDFLAGS="-L$cuda/lib64 -L$cuda/lib64/stubs -Wl,-rpath,$cuda/lib64"
fi

archive=$PWD/petsc-$version.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$archive" ] ||
  { python3 -m pip download -q --no-deps --no-binary petsc -d "$work" "petsc==$version" && archive=$(ls "$work"/petsc-*.tar.gz); } ||
  fail "petsc $version cannot be downloaded; put petsc-$version.tar.gz here"
tar -C "$work" -xzf "$archive"
cd "$work/petsc-$version"
python3 ./configure PETSC_ARCH=opt --prefix="$prefix" --with-debugging=0 --with-fc=0 --with-precision="$precision" \
  --with-shared-libraries=1 --with-x=0 --with-ssl=0 \
  --with-cc=mpicc --with-cxx=mpicxx --with-mpiexec=mpiexec COPTFLAGS=-O3 CXXOPTFLAGS=-O3 "$@"
make PETSC_DIR="$PWD" PETSC_ARCH=opt -j"$jobs" all
make PETSC_DIR="$PWD" PETSC_ARCH=opt install
echo "PETSc $version is in $prefix. Now: make PETSC_DIR=$prefix PETSC_ARCH="
