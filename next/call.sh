. .carry/pre2.sh; keep; now unpacked; COMMIT=${1:?}; nvidia-smi -L; mkdir -p $OUT/csv
ls tests/test_*.c | sed 's/.*test_//; s/\.c//' | grep -v 'fuzz\|lives' | xargs -P 32 -I{} bash -c 'linkone tests/test_{}.c build/cuda/tests/test_{} 2>&1 | head -3'
mpicc -O1 -w $(pkg-config --cflags PETSc) .carry/diag.c -o /tmp/diag -L/opt/petsc-cuda/lib -lpetsc -Wl,-rpath,/opt/petsc-cuda/lib -lm; now linked
L="-dll_append $PWD/build/cuda/libhjacobi.so"; B=build/cuda/examples/bench
D="timeout 25 /tmp/diag $L"
( export CUDA_VISIBLE_DEVICES=1; for n in 512 1024 2048; do $D -n $n -singular; done; $D -n 1000 -smooth -px 0 -py 0 -walls; $D -n 2000 -singular -host 0 -view | grep 'steps\|level' ) > $OUT/logs/diag 2>&1 & P1=$!
( export CUDA_VISIBLE_DEVICES=0; timeout 40 $B/bench_grids $L -dm_vec_type cuda -constant -cases periods2d -n2 4097 -works "cg,hjmg cycle,hjacobi 4,MatMult" -repetitions 4 -commit $COMMIT -csv $OUT/csv/grids-periods2d.csv ) > $OUT/logs/periods 2>&1 &
P2=$!; wait $P2 $P1; cat $OUT/logs/diag $OUT/logs/periods; now periods
# sanitizers on small programs
S="compute-sanitizer --kernel-name-exclude kernel_substring=cusparse"
san() { n=$1 t=$2; shift 2; timeout 100 $S --tool $t "$@" > $OUT/logs/$t-$n 2>&1; echo "$t $n rc $? $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' $OUT/logs/$t-$n | tail -1)"; }
for t in memcheck racecheck; do
  ( CUDA_VISIBLE_DEVICES=0 san periods $t /tmp/diag $L -n 640 -singular -host 0 ) & ( CUDA_VISIBLE_DEVICES=1 san smooth $t /tmp/diag $L -n 520 -smooth -host 0 ) &
  ( CUDA_VISIBLE_DEVICES=0 san walls $t /tmp/diag $L -n 520 -smooth -walls -px 0 -py 0 -host 0 ) & ( CUDA_VISIBLE_DEVICES=1 san system $t $B/bench_system $L -dm_vec_type cuda -peers 0 -cases elasticity3d -n3 9 -repetitions 1 ) &
done
J="$(jobs -p)"
order="kspcg exchange grids mg mgsolver halo cycle gather transfer restrict components mgsystem precision robust product periodic convection interpolation galerkin ksprichardson refresh reuse reduction slabs_mpi subdomain thin failed matfill matsystem coarsen diagonal body"
run1() { n=${1%@*}; r=${1#*@}; [ $(( $(date +%s) - BEGIN )) -lt 165 ] || { echo "$1 not begun"; return; }; [ $r = 1 ] && export CUDA_VISIBLE_DEVICES=$(( $$ % 2 )); one test_$n $r $(( 215 - $(date +%s) + BEGIN )); }
export -f run1
{ for t in $order; do echo $t@2; done; for t in grids mg product system mgsystem kspcg; do echo $t@1; done; } | xargs -P 14 -I{} bash -c 'run1 {}'
now tests; for j in $J; do [ $j = $keeper ] || kill $j 2>/dev/null; done; pkill compute-sanitizer; now sanitizers
( export CUDA_VISIBLE_DEVICES=0
  for v in /work/none ""; do :; done
  timeout 45 $B/bench_grids $L -dm_vec_type cuda -cases walls2d -n2 4097 -works "cg,hjacobi 4,hjacobi 8,MatMult,hjmg cycle" -repetitions 4 -commit $COMMIT -csv $OUT/csv/grids-walls2d.csv
  timeout 45 $B/bench_grids $L -dm_vec_type cuda -constant -cases walls3d,periods3d -n3 257 -works "cg,hjmg cycle,hjacobi 4,hjacobi 8,MatMult" -repetitions 4 -commit $COMMIT -csv $OUT/csv/grids-3d.csv ) > $OUT/logs/g0 2>&1 & P0=$!
( export CUDA_VISIBLE_DEVICES=1
  timeout 50 $B/bench_mg $L -dm_vec_type cuda -peer 0 -repetitions 7 -commit $COMMIT -csv $OUT/csv/mg.csv
  timeout 40 $B/bench_system $L -dm_vec_type cuda -peers 0 -repetitions 5 -commit $COMMIT -csv $OUT/csv/system.csv ) > $OUT/logs/g1 2>&1 & P1=$!
wait $P0 $P1; cat $OUT/logs/g0 $OUT/logs/g1; now benches
timeout 40 mpiexec -n 2 $B/bench_mpi $L -dm_vec_type cuda -ranks 1,2 -m2 4097 -m3 257 -cases hjmgstrong2d,hjmgstrong3d,hjmgvariablestrong2d,hjmgvariablestrong3d -repetitions 7 -warm 0 -commit $COMMIT -csv $OUT/csv/mpi.csv 2>&1 | grep -v '^$'; now mpi
kill $keeper; cp -r $OUT/csv $OUT/logs/; tar -C $OUT -czf $OUT/part.tgz logs 2>/dev/null; rm -rf $OUT/logs $OUT/.part.tgz $OUT/csv
