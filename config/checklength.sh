#!/bin/sh
# Names every function longer than 80 lines; kernels (src/cuda, src/host/hjhostkernels.c) may have 120. Silent when there is none.
set -u
cd "${1:-.}"
for file in $(find src include tests examples -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'); do
  case $file in src/cuda/*.cu | src/cuda/*.cuh | src/host/hjhostkernels.*) limit=120 ;; *) limit=80 ;; esac
  awk -v limit=$limit -v file="$file" '
    /^{/ {start = NR; name = last}
    /^}/ {if (start && NR - start + 2 > limit) {printf "%s:%d: %d lines, at most %d: %s\n", file, start, NR - start + 2, limit, name; bad = 1} start = 0}
    {last = $0}
    END {exit bad}' "$file" || status=1
done
exit ${status:-0}
