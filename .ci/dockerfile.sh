#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What docker would run for stage cpu of config/container/Dockerfile, as root in a bare Debian 13: its lines COPY, WORKDIR and RUN
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
sed -n '/^FROM .* AS cpu$/,/^USER/p' config/container/Dockerfile |
  sed -n -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' -e 's/^RUN //p' -e 's/^WORKDIR /cd /p' \
    -e 's|^COPY \([a-z]*\) \(/.*/\)$|mkdir -p \2 \&\& cp -r \1/. \2|p' -e 's|^COPY \(.* .*\) \(/.*/\)$|mkdir -p \2 \&\& cp \1 \2|p' >build/stage.sh
DEBIAN_FRONTEND=noninteractive sh -ex build/stage.sh
echo 'dockerfile: the commands of stage cpu: ok'
