#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names every function longer than 80 lines, kernels (src/cuda/kernels, src/host/hjhostkernels.c) 120, and every line longer than 140 columns. A
# function starts where a brace stands alone on its line, at any depth, so that member functions count too. Silent when there is none.
set -u
cd "${1:-.}"
for file in $(find src include tests examples -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort); do
  case $file in
  src/cuda/kernels/* | src/host/hjhostkernels.*) limit=120 ;;
  *) limit=80 ;;
  esac
  awk -v limit=$limit -v file="$file" '
    function complain(text) {print file ":" text; bad = 1}
    length($0) > 140 {complain(NR ": " length($0) " columns, at most 140")}
    /^ *{$/ {depth = length($0); start[depth] = NR - 1; name[depth] = last}
    /^ *}/ {
      depth = index($0, "}")
      if (start[depth] && NR - start[depth] + 1 > limit)
        complain(start[depth] ": " NR - start[depth] + 1 " lines, at most " limit ": " name[depth])
      start[depth] = 0
    }
    {last = $0}
    END {exit bad}' "$file" || status=1
done
exit ${status:-0}
