#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# once: 1
# What make demo ends with, on small grids: a table, and a picture of it that needs nothing but awk
set -u
BUILD=${BUILD:-build} dir=${BUILD:-build}/tests/demo
[ -x "$BUILD/examples/demo" ] || { echo '1..0 # SKIP the demo is not built'; exit 0; }
rm -rf "$dir"
mkdir -p "$dir/examples"
cp "$BUILD/examples/demo" "$dir/examples"
count=0 failed=0

ok()
{
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then echo "ok $count - $2" && return; fi
  echo "not ok $count - $2"
  sed 's/^/# /' "$dir/log" | tail -n 20 >&2
  failed=1
}

BUILD=$dir PETSC_CUDA=0 sh examples/demo.sh -n2 33 -n3 9 -solver chebyshev,hjacobi,hjmg >"$dir/log" 2>&1
ok $? 'the demo runs'
[ "$(grep -cE '^[23]D .* (chebyshev|hjacobi|hjmg) ' "$dir/log")" -eq 20 ]
ok $? 'its table has 20 solves'
grep -qx "picture: $dir/demo.svg" "$dir/log" && [ "$(grep -c '^<rect x=.* fill="#' "$dir/demo.svg")" -eq 20 ]
ok $? 'and its picture as many bars'
python=${PYTHON3:-/usr/bin/python3}
"$python" -c "import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])" "$dir/demo.svg" >"$dir/log" 2>&1
ok $? 'which is well-formed'
echo "1..$count"
exit $failed
