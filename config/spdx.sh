#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names each file that does not say its licence in one of its first two lines, as LICENSE has it. Data (CSV, pictures), pages, and what can
# have no comment are left out; config/debian/copyright speaks for its folder.
# Usage: spdx.sh          silent when there is none
#        spdx.sh --add    adds the line: the first one, or the second below #!
set -u
cd "$(dirname "$0")/.."
case $(head -n 1 LICENSE) in
'BSD 2-Clause License') says='SPDX-License-Identifier: BSD-2-Clause' ;;
*)
  echo 'spdx.sh knows no short name of the licence in LICENSE'
  exit 1
  ;;
esac
status=0
for file in $(find makefile src include tests examples config .ci -type f | sort); do
  case $file in
  *.md | *.csv | *.svg | examples/installed/poisson | *.supp | */py.typed | */source/format | config/debian/* | *.pyc) continue ;;
  *.c | *.h | *.cu | *.cuh | *.css) line="/* $says */" ;;
  *) line="# $says" ;;
  esac
  if head -n 2 "$file" | grep -qxF "$line"; then continue; fi
  if [ "${1:-}" = --add ]; then
    { sed -n '1{/^#!/p}' "$file" && echo "$line" && sed '1{/^#!/d}' "$file"; } >"$file.new"
    cat "$file.new" >"$file" # keeps its permissions
    rm "$file.new"
  else
    echo "$file does not say \"$line\": sh config/spdx.sh --add"
    status=1
  fi
done
exit $status
