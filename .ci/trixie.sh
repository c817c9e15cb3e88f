#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks packages of Debian 13 into a folder, of a machine that may be another Debian: by apt, with lists of its own, which Debian's key signs.
# Usage: trixie.sh FOLDER PACKAGE ...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/lists/partial" "$1/cache"
cd "$1"
shift
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(bash "$here/bare.sh" --mirror) trixie main" >sources.list

apt()
{
  timeout 60 apt-get -qq -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists" \
    -o Dir::Cache="$PWD/cache" -o Acquire::Languages=none -o Acquire::Retries=0 -o Acquire::http::Timeout=10 "$@"
}

apt update
apt download "$@"
for package in *.deb; do dpkg -x "$package" .; done
rm ./*.deb
