#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The site, for `make docs`: pictures, pages side by side (stage.py), HTML by Sphinx, in which a warning is an error, and a check of all links.
# BUILD, LIB, MPIEXEC, VERSION and MANUAL (the files that have manual pages) come from make.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON3:-/usr/bin/python3} dir=${BUILD:-build}/docs
export PYTHONDONTWRITEBYTECODE=1

sh config/checkdocs.sh # files and options that pages name
rm -rf "$dir/source" "$dir/man" "$dir/html"
mkdir -p "$dir/source/pictures" "$dir/man"
awk -v dir="$dir/man" -v version="$VERSION" -f config/manpages.awk $MANUAL
"$python" config/docs/pictures.py "$dir/source/pictures"
"$python" examples/paper/figures.py examples/bench/results/nvidia-h200 "$dir/source/pictures" >"$dir/log"
"$python" examples/pictures.py >"$dir/log" || { cat "$dir/log"; exit 1; }
"$python" config/docs/stage.py "$dir/source" "$dir/man" "$BUILD/examples/pictures"
"$python" -m sphinx -q -W --keep-going -b html -c config/docs -d "$dir/doctrees" "$dir/source" "$dir/html"
options=$(grep -oE '^\| *`-[a-z0-9_]+`' config/options/README.md | tr -d '|` ' | sort -u)
"$python" config/docs/checklinks.py "$dir/html" $(awk -v list=1 -f config/manpages.awk $MANUAL) $options
echo "docs: $dir/html/index.html"
