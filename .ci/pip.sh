#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Python package from this checkout, as root: installed by pip beside Debian's petsc4py, and used
set -eu
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive

quietly()
{
  "$@" >build/pip.log 2>&1 </dev/null || { tail -n 30 build/pip.log; echo "pip: failed: $*"; exit 1; }
}

mkdir -p build
quietly sh config/setup.sh
quietly apt-get update -qq
quietly apt-get install -y --no-install-recommends python3-petsc4py python3-venv
quietly python3 -m venv --system-site-packages build/venv
began=$(date +%s)
quietly build/venv/bin/pip install ./config/python
build/venv/bin/python -m hjacobi --check
echo "pip: installed and used, $(($(date +%s) - began)) s"
