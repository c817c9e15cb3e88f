#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All that `make lint` checks. Every check runs; the exit status is 1 when one of them found something.
set -u
cd "$(dirname "$0")/.."
sources=$(find src include tests examples \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort)
failed=

check()
{
  name=$1
  shift
  if "$@"; then echo "lint: $name: ok"; else echo "lint: $name: FAILED"; failed="$failed $name"; fi
}

# The top level is what a newcomer sees first: git tracks nothing else there
only_these()
{
  ! git ls-files | grep -vE '^(makefile|src|include|tests|examples|config|README\.md|LICENSE|CHANGELOG\.md|\.[^/]+)(/|$)'
}

check top only_these
check format clang-format --dry-run --Werror $sources
check rooms sh config/checkrooms.sh
check length sh config/checklength.sh
check docs sh config/checkdocs.sh
check licence sh config/spdx.sh
# Several at once, and a folder in which each leaves what the others' calls are checked with
cppcheck_folder=$(mktemp -d)
trap 'rm -rf "$cppcheck_folder"' EXIT
check cppcheck cppcheck -q -j "$(nproc 2>/dev/null || echo 1)" --cppcheck-build-dir="$cppcheck_folder" --std=c11 \
  --enable=warning,performance,portability --error-exitcode=1 --inline-suppr --suppressions-list=config/cppcheck.supp -Iinclude -Isrc src
[ -z "$failed" ] || { echo "lint: failed:$failed"; exit 1; }
