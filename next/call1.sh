# Call 1 of the next session: main, two GPUs (kind nvidia-h100-x2 or nvidia-h200-x2; 32 cores), 560 s. bash .carry/call1.sh > $OUT/log 2>&1; tail -60 $OUT/log
# All tests on one rank and two, then 1008 compared random problems. What no GPU has run since c45c86da is on the list in README.md.
. .carry/pre.sh; begin=$(date +%s); left() { echo $((${LIMIT:-540} - $(date +%s) + begin)); }
(while sleep 15; do tar -C $OUT -czf $OUT/.part.tgz logs right 2>/dev/null && mv $OUT/.part.tgz $OUT/part.tgz; done) & keeper=$!
P=32 linkall; echo "linked $(ls build/cuda/tests | wc -l) after $(( $(date +%s) - begin )) s"
sh tests/run.sh --list | grep '@cuda' | sed 's/@cuda//' | sort -u > /tmp/list; wc -l < /tmp/list
first="exchange kspcg components null unsymmetric found robust precision systemtransfer mgsystem restrict transfer"
{ for t in $first; do grep "^test_$t@[12]$" /tmp/list; done; grep '@[12]$' /tmp/list; } | awk '!s[$0]++' > /tmp/order
run1() { n=${1%@*}; r=${1#*@}; case $n in test_fuzz*|test_lives*) return;; esac; [ $(( ${LIMIT:-540} - $(date +%s) + BEGIN )) -gt 30 ] || { echo "$1 not begun"; return; }
  [ $r = 1 ] && export CUDA_VISIBLE_DEVICES=$(( $$ % 2 )); one $n $r 150; }
export -f run1; export BEGIN=$begin LIMIT
xargs -a /tmp/order -P 14 -I{} bash -c 'run1 {}'
echo "tests done after $(( $(date +%s) - begin )) s"
[ $(left) -gt 60 ] && timeout $(left) bash .carry/right.gpu
kill $keeper; tar -C $OUT -czf $OUT/part.tgz logs right 2>/dev/null; rm -rf $OUT/logs $OUT/right $OUT/.part.tgz
