#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Debian packages by dpkg-buildpackage, from a copy of these sources in build/deb, where the .deb and all else that it makes stay.
# Usage: deb.sh [options of dpkg-buildpackage, default -b -us -uc]
set -eu
cd "$(dirname "$0")/.."
command -v dpkg-buildpackage >/dev/null || { echo "hjacobi: there is no dpkg-buildpackage: apt-get install build-essential debhelper" >&2; exit 1; }
version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' config/debian/changelog)
rm -rf build/deb
mkdir -p "build/deb/hjacobi-$version"
cp -r makefile README.md CHANGELOG.md LICENSE config examples include src tests "build/deb/hjacobi-$version"
cd "build/deb/hjacobi-$version"
cp -r config/debian debian
if [ $# -eq 0 ]; then set -- -b -us -uc; fi
dpkg-buildpackage "$@"
