#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Debian's packages from this checkout, as root: built, checked by lintian, installed, used, and removed with nothing left behind
set -eu
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive

quietly()
{
  "$@" >build/deb.log 2>&1 </dev/null || { tail -n 30 build/deb.log; echo "deb: failed: $*"; exit 1; }
}

mkdir -p build
quietly apt-get update -qq
quietly apt-get install -y --no-install-recommends build-essential fakeroot lintian
quietly apt-get satisfy -y --no-install-recommends "$(sed -n 's/^Build-Depends: //p' config/debian/control)"
quietly make -s deb
lintian --fail-on error --allow-root --tag-display-limit 0 build/deb/*.changes
quietly apt-get install -y --no-install-recommends ./build/deb/*.deb
sh config/installcheck.sh "$(dpkg -L libhjacobi0.1 | grep '/libhjacobi\.so\.')"
(cd / && /usr/bin/python3 -m hjacobi --check)
dpkg -L libhjacobi0.1 libhjacobi-dev python3-hjacobi | grep '[a-z]' | sort -u >build/deb.files
quietly apt-get purge -y libhjacobi0.1 libhjacobi-dev python3-hjacobi
while read -r file; do
  [ ! -e "$file" ] && [ ! -L "$file" ] || dpkg -S "$file" >/dev/null 2>&1 || { echo "deb: left behind: $file"; exit 1; }
done <build/deb.files
echo "deb: $(ls build/deb/*.deb | wc -l) packages: built, lintian, installed, used, removed: ok"
