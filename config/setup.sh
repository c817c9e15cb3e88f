#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Sees to it that what `make` needs is there: PETSc with MPI and a compiler, pkg-config, prove.
# PETSC_DIR/PETSC_ARCH come first, then pkg-config; else the distribution's packages are installed where that is allowed, or the command
# is printed. Chooses no compiler and no flag: config/petsc.mk does.
# Usage: setup.sh [--ready]    --ready only tells by its exit status whether all is there
#        setup.sh --lint       the same for the tools of `make lint`
#        setup.sh --docs       the same for those of `make docs`
set -u

need_build='gcc g++ libc6-dev pkg-config perl libopenmpi-dev openmpi-bin libpetsc-real-dev'
need_lint='clang-format cppcheck'
need_docs='python3-sphinx python3-myst-parser furo python3-matplotlib'

fail()
{
  echo "hjacobi: $*" >&2
  exit 1
}

has()
{
  command -v "$1" >/dev/null 2>&1
}

petsc_pkg_config()
{
  if [ -n "${PETSC_DIR:-}" ]; then
    PKG_CONFIG_PATH="$PETSC_DIR/${PETSC_ARCH:-}/lib/pkgconfig" pkg-config "$@" PETSc 2>/dev/null
  else
    pkg-config "$@" PETSc 2>/dev/null
  fi
}

# A PETSC_DIR without it would make pkg-config take another PETSc than the one that was asked for
petsc_dir_is_wrong()
{
  [ -n "${PETSC_DIR:-}" ] && ! [ -f "$PETSC_DIR/${PETSC_ARCH:-}/lib/pkgconfig/PETSc.pc" ]
}

ready()
{
  petsc_dir_is_wrong && return 1
  has pkg-config && has prove && petsc_pkg_config --exists || return 1
  compiler=$(petsc_pkg_config --variable=ccompiler)
  has "${compiler:-mpicc}"
}

lint_ready()
{
  has clang-format && has cppcheck
}

docs_ready()
{
  "${PYTHON3:-/usr/bin/python3}" -c 'import sphinx, myst_parser, furo, matplotlib' 2>/dev/null
}

# Of what apt-get prints: a line for each package that is fetched, unpacked and set up. A tenth of them is a step
progress()
{
  awk '/ newly installed/ {for (i = 1; i < NF; i++) if ($(i + 1) == "newly") total = 3 * $i}
    /^(Get:|Unpacking |Setting up )/ {done++}
    total && 10 * done >= total * (shown + 1) && shown < 10 {printf "%d%% ", 10 * ++shown; fflush()}
    END {if (shown) print ""}' >&2
}

# Installs the packages where root or a sudo without password is to be had, else says what to type
install()
{
  has apt-get ||
    fail "PETSc was not found and this system has no apt-get. Install PETSc (https://petsc.org/release/install), then: make PETSC_DIR=... PETSC_ARCH=..."
  if [ "$(id -u)" -eq 0 ]; then
    sudo=
  elif has sudo && sudo -n true 2>/dev/null; then
    sudo='sudo -n'
  else
    fail "something is missing, and installing needs root. Type: sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  fi
  echo "hjacobi: installing $* (a few minutes)" >&2
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || fail 'apt-get update failed: is the network there?'
  {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" 2>&1 </dev/null
    echo "exit status $?"
  } | tee "$log" | progress
  if grep -qx 'exit status 0' "$log"; then return; fi
  tail -n 20 "$log" >&2
  fail "apt-get install failed; its last lines are above, all of them in $log"
}

log=${TMPDIR:-/tmp}/hjacobi-setup-$$.log
case ${1:-} in
--ready)
  ready
  exit
  ;;
--lint)
  lint_ready || install $need_lint
  ;;
--docs)
  docs_ready || install $need_docs
  ;;
*)
  ready && exit
  if petsc_dir_is_wrong; then
    fail "PETSC_DIR=$PETSC_DIR PETSC_ARCH=${PETSC_ARCH:-}: there is no $PETSC_DIR/${PETSC_ARCH:+$PETSC_ARCH/}lib/pkgconfig/PETSc.pc." \
      "Correct them (an installed PETSc has an empty PETSC_ARCH), or unset both to use the distribution's PETSc"
  fi
  # With a PETSc of the user's own, its MPI and compiler are the user's business too: only the two small tools may be added
  if [ -n "${PETSC_DIR:-}" ]; then install pkg-config perl; else install $need_build; fi
  ready || fail "packages are installed, but $(petsc_pkg_config --variable=ccompiler || echo pkg-config) or PETSc is still not found"
  ;;
esac
rm -f "$log"
