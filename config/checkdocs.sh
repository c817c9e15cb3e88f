#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares the option keys that the code reads with those of the manual pages, and of the option table of README.md; and sees that every
# public function has a manual page, every option a setter of its stem, and that pages have the version of the header. Silent when they agree.
set -u
cd "${1:-.}"
status=0 tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

complain()
{
  echo "$*"
  status=1
}

keys()
{
  grep -oE '[-](pc_hjacobi|pc_hjmg|mat_hjstencil|hj)_[a-z_]+' | sort -u
}

# Manual pages are the comments from /*@ /*MC /*E to their ends
awk '/^\/\*(@|MC|E)/ {page = 1} page {print} /(@|M|E)\*\// {page = 0}' $(find src -name '*.c') include/*.h >"$tmp/pages"
find src/pc src/mg src/mat src/operator -name '*.c' -exec cat {} + |
  grep -oE 'PetscOptions[A-Za-z]+\("-(pc_hjacobi|pc_hjmg|mat_hjstencil|hj)_[a-z_]+"' | keys >"$tmp/code"
keys <"$tmp/pages" >"$tmp/in_pages"
grep -E '^\| *`-(pc_hjacobi|pc_hjmg|mat_hjstencil|hj)_' config/options/README.md | cut -d '|' -f 2 | keys >"$tmp/in_table"
for where in pages table; do
  for key in $(comm -23 "$tmp/code" "$tmp/in_$where"); do complain "$key is read, but missing in the $where"; done
  for key in $(comm -13 "$tmp/code" "$tmp/in_$where"); do complain "$key is in the $where, but nothing reads it"; done
done
for name in $(grep -oE '^PETSC_EXTERN PetscErrorCode [A-Za-z]*HJ[A-Za-z]+' include/pchjacobi.h | sed 's/.* //'); do
  grep -qE "^ *$name - " "$tmp/pages" || complain "$name has no manual page"
done
for key in $(keys <README.md | comm -13 "$tmp/in_table" -); do complain "$key is in README.md, but not in config/options/README.md"; done
# Files stand in backquotes, from the top or beside the page; patterns, and files that a page has its reader write, are left out
for page in $(find *.md .github config examples src -name '*.md'); do
  for name in $(grep -oE '`[A-Za-z0-9_./-]+(/|\.[a-z]+)`' "$page" | tr -d '`' | sort -u); do
    case $name in lib/* | share/* | *.so | build/*) continue ;; esac
    if grep -q -e "<!-- as $name -->" "$page"; then continue; fi
    [ -e "$name" ] || [ -e "$(dirname "$page")/$name" ] || complain "$page: there is no $name"
  done
  for target in $(awk '/^```/ {code = !code} code || /`make /' "$page" | grep -oE '(`|^)make [a-z-]+' | awk '{print $NF}' | sort -u); do
    grep -q "^$target:" makefile || complain "$page: there is no make $target"
  done
done
# Each option of a PC but the switches has a setter of the same stem
for key in $(grep -E -e '-(pc_)?hj' "$tmp/code"); do
  case $key in -pc_hjmg_*) type=PCHJMG ;; *) type=PCHJacobi ;; esac
  stem=$(echo "${key#-*hj*_}" | awk -F_ '{for (i = 1; i <= NF; i++) printf "%s%s", toupper(substr($i, 1, 1)), substr($i, 2)}')
  case $stem in Verify | Monitor | Log) continue ;; esac
  grep -q "${type}Set$stem(" include/pchjacobi.h || complain "$key has no ${type}Set$stem"
done
# The version of the header is that of the pages of a release
version=$(sed -n 's/^.define HJACOBI_VERSION_STRING *"\(.*\)"/\1/p' include/pchjacobi.h)
of_version()
{
  grep -qE -e "$2" "$1" || complain "$1 is not of version $version, that of include/pchjacobi.h"
}
of_version include/pchjacobi.h "VERSION_MAJOR +${version%%.*}$"
of_version include/pchjacobi.h "VERSION_SUBMINOR +${version##*.}$"
of_version config/CITATION.cff "^version: $version$"
of_version config/debian/changelog "\($version-"
of_version config/conda/recipe/recipe.yaml "^  version: $version$"
of_version CHANGELOG.md "^## $version( |$)"
exit $status
