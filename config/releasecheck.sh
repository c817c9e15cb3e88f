#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What `make release-check` does before a release is tagged; what each step printed is in $BUILD/release-check. All steps run, the exit status is 1
# when one failed.
#   tree     nothing waits to be committed
#   lint     make lint
#   check    make check
#   docs     make docs
#   dist     make dist; the tarball is unpacked, and builds and passes a test where git finds no repository
#   install  that tree is installed into a scratch prefix, with all that tests/test_install.sh asks of it
#   python   an sdist for PyPI is made, and pip installs it; skipped where there is no petsc4py
#   pypi     PyPI would take the sdist; beside PyPI's petsc and petsc4py pip installs this, which solves a problem and passes the tests of
#            config/python. PYPI_VENV: a virtual environment that has these, or where they shall be built, which takes some 12 minutes
#            (default: in $BUILD/release-check)
#   ubuntu   README's commands and pip in a bare Ubuntu 24.04 (.ci/bare.sh, which CI runs for Debian 12 and 13); skipped where none can be made
set -u
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES # options of this make, as CUDA=0, are in the environment; its folders are not for the tarball
build=${BUILD:-build} version=$VERSION jobs=$(nproc 2>/dev/null || echo 1)
folder=$build/release-check
tree=$folder/hjacobi-$version
mkdir -p "$folder"

step_tree()
{
  git status --short >"$folder/changes" && [ ! -s "$folder/changes" ] && return
  echo 'not committed:'
  cat "$folder/changes"
  return 1
}

step_lint()
{
  make -s lint
}

step_check()
{
  make -s -j"$jobs" BUILD="$build" LIB="$LIB" check
}

step_docs()
{
  make -s -j"$jobs" BUILD="$build" LIB="$LIB" docs
}

without_git()
{
  GIT_DIR=/nonexistent make -s -j"$jobs" -C "$tree" "$@"
}

step_dist()
{
  make -s BUILD="$build" dist && rm -rf "$tree" && tar -C "$folder" -xzf "$build/hjacobi-$version.tar.gz" && without_git all &&
    without_git check ONLY=test_setup
}

step_install()
{
  without_git check ONLY=test_install
}

step_python()
{
  make -s -j"$jobs" BUILD="$build" LIB="$LIB" ONLY=test_python check-long
}

# In a shell of its own, with nothing of this build named, as for who has no PETSc. PyPI's is built without what the tests do not need
step_pypi()
(
  venv=$(realpath "${PYPI_VENV:-$folder/pypi}")
  unset PETSC_DIR PETSC_ARCH PKG_CONFIG_PATH CC PYTHONPATH HJACOBI_LIBRARY
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
  export PYTHONDONTWRITEBYTECODE=1
  if ! "$venv/bin/python" -c 'import petsc4py.PETSc'; then
    "${PYTHON3:-/usr/bin/python3}" -m venv "$venv" &&
      env -u CFLAGS PETSC_CONFIGURE_OPTIONS="${PETSC_CONFIGURE_OPTIONS:---with-fc=0 --with-cxx=0 --with-cuda=0 --with-x=0 COPTFLAGS=-O1}" \
        "$venv/bin/pip" install numpy petsc petsc4py || exit
  fi
  "$venv/bin/pip" install pytest build twine && "$venv/bin/python" -m build --sdist --outdir "$folder/sdist" config/python &&
    "$venv/bin/twine" check "$folder"/sdist/*.tar.gz && "$venv/bin/pip" install --force-reinstall --no-deps ./config/python &&
    (cd / && "$venv/bin/python" -m hjacobi --check) && "$venv/bin/python" -m pytest -p no:cacheprovider -rs config/python/tests
)

step_ubuntu()
{
  bash .ci/bare.sh noble 'make demo' 'make check' .ci/pip.sh
}

failed=
[ $# -gt 0 ] || set -- tree lint check docs dist install python pypi ubuntu
for step in "$@"; do
  began=$(date +%s)
  if "step_$step" >"$folder/$step.log" 2>&1; then
    echo "release-check: $step: ok, $(($(date +%s) - began)) s$(sed -n 's/^\(.* \)\{0,1\}\(skipped: .*\)/; \2/p' "$folder/$step.log" | tr -d '\n')"
  else
    echo "release-check: $step: FAILED after $(($(date +%s) - began)) s; the end of $folder/$step.log:"
    tail -n 20 "$folder/$step.log"
    failed="$failed $step"
  fi
done
if grep -q "^## $version (not yet released)" CHANGELOG.md; then echo "release-check: CHANGELOG.md wants the date of $version"; fi
[ -z "$failed" ] || { echo "release-check: failed:$failed"; exit 1; }
echo "release-check: ok: $*. Not done here: make check-long, a machine with a GPU (make check there), the tag: git tag v$version"
