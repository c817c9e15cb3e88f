#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Python module of config/python, by pytest, with the library of this build. The long case installs an sdist by pip.
# once: 1
# long: 1
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
python=${PYTHON3:-/usr/bin/python3} dir=$PWD/${BUILD:-build}/tests/python
case ${BUILD:-build} in /*) dir=$BUILD/tests/python ;; esac
rm -rf "$dir"
mkdir -p "$dir"

skip()
{
  echo "1..0 # SKIP $*"
  exit 0
}

has=$("$python" -c 'import petsc4py.PETSc, pytest; print(".".join(map(str, petsc4py.PETSc.Sys.getVersion()[:2])))' 2>/dev/null) ||
  skip 'petsc4py or pytest is not installed'
[ "$has" = "${PETSC_VERSION:-$has}" ] || skip "petsc4py has PETSc $has, the library is built for $PETSC_VERSION"

if [ $# -gt 0 ]; then
  "$python" -m venv --system-site-packages "$dir/venv" >"$dir/log" 2>&1 || skip 'python3-venv is not installed'
  unset PETSC_DIR PETSC_ARCH PYTHONPATH HJACOBI_LIBRARY
  count=0 failed=0
  ok()
  {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2" && return; fi
    echo "not ok $count - $2"
    sed 's/^/# /' "$dir/log" | tail -n 20 >&2
    failed=1
  }
  (cd config/python && "$python" -c "import backend; backend.build_sdist('$dir')") >"$dir/log" 2>&1
  ok $? 'an sdist is made'
  CUDA=0 "$dir/venv/bin/pip" install --no-index "$dir"/hjacobi-*.tar.gz >"$dir/log" 2>&1
  ok $? 'pip installs it'
  (cd / && "$dir/venv/bin/python" -m hjacobi --check) >"$dir/log" 2>&1 && grep -q "$dir/venv/.*libhjacobi.so" "$dir/log"
  ok $? 'what is installed solves a problem'
  echo "1..$count"
  exit $failed
fi

export HJACOBI_LIBRARY="${LIB:-$PWD/lib/libhjacobi.so}" PYTHONPATH="$PWD/config/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
# Each test is a line "PASSED file::name"; a failed one has its message in the log
"$python" -m pytest -p no:cacheprovider -rA config/python/tests >"$dir/log" 2>&1
status=$?
awk '/^(PASSED|SKIPPED) / {print "ok " ++n " - " $2 ($1 == "SKIPPED" ? " # SKIP" : "")}
  /^(FAILED|ERROR) / {print "not ok " ++n " - " $2}
  END {print "1.." n + 0}' "$dir/log"
[ $status -eq 0 ] || sed 's/^/# /' "$dir/log" >&2
exit $status
