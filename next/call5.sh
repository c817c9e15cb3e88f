. .carry/pre2.sh; keep; now unpacked; COMMIT=${1:?}; nvidia-smi -L; mkdir -p $OUT/csv
ls tests/test_*.c | sed 's/.*test_//; s/\.c//' | grep -v 'lives' | xargs -P 32 -I{} bash -c 'linkone tests/test_{}.c build/cuda/tests/test_{} 2>&1 | head -3'
mpicc -O1 -w $CF .carry/prof2.c -o /tmp/prof2 -L/opt/petsc-cuda/lib -lpetsc -Wl,-rpath,/opt/petsc-cuda/lib -L/usr/local/cuda/lib64 -lcudart -lm; now linked
L="-dll_append $PWD/build/cuda/libhjacobi.so"; B=build/cuda/examples/bench
run1() { n=${1%@*}; r=${1#*@}; [ $(( $(date +%s) - BEGIN )) -lt $STOP ] || { echo "$1 not begun"; return; }; one test_$n $r $(( STOP + 25 - $(date +%s) + BEGIN )); }; export -f run1
export STOP=60
for t in exchange halo kspcg gather transfer restrict product system mgsystem matsystem precision robust periodic convection interpolation galerkin ksprichardson refresh reuse reduction thin failed diagonal body subdomain slabs_mpi; do echo $t@2; done | xargs -P 12 -I{} bash -c 'run1 {}'; now two
( export CUDA_VISIBLE_DEVICES=1 STOP=380
  for t in grids null mg sweep components cycle small mgsystem precision refresh reuse periodic system matsystem systemtransfer product mgsolver mgrows mgsetup coarsen restrict transfer interpolation galerkin robust convection lines jumps kspcg ksprichardson bounds matfill mat failed verify kinds setup table exchange halo gather plan slab tiles contrast matsolve fidelity unsymmetric solver; do echo $t@1; done | xargs -P 10 -I{} bash -c 'run1 {}' > $OUT/logs/tests1 2>&1
  S="compute-sanitizer --kernel-name-exclude kernel_substring=cusparse"
  timeout 100 $S --tool memcheck build/cuda/tests/test_periodic -backend cuda > $OUT/logs/memcheck-periodic 2>&1 & timeout 100 $S --tool racecheck /tmp/prof2 $L -n 26 > $OUT/logs/racecheck-el 2>&1 &
  timeout 100 $S --tool memcheck build/cuda/tests/test_product -backend cuda > $OUT/logs/memcheck-product 2>&1 & timeout 100 $S --tool racecheck build/cuda/tests/test_product -backend cuda -small > $OUT/logs/racecheck-product 2>&1 &
  for i in 0 1 2 3 4 5; do HJ_TAP=$OUT/logs/fuzz-$i.tap timeout 100 build/cuda/tests/test_fuzz -backend cuda -seed 431200 -long -first $((40 * i)) -problems 40 -limit 95 > $OUT/logs/fuzz-$i 2>&1 & done
  sleep 104 ) & PB=$!
( export CUDA_VISIBLE_DEVICES=0; M="-dm_vec_type cuda -commit $COMMIT"
  timeout 45 $B/bench_grids $L $M -constant -cases walls3d,periods3d -n3 257 -works "cg,pcmg,hjmg cycle,hjacobi 4,hjacobi 8,MatMult" -repetitions 4 -csv $OUT/csv/grids-3d.csv
  timeout 45 $B/bench_grids $L $M -cases walls2d -n2 4097 -works "cg,hjmg cycle,hjacobi 4,hjacobi 8,MatMult" -repetitions 4 -csv $OUT/csv/grids-2d.csv
  timeout 50 $B/bench_mg $L $M -peer 0 -repetitions 7 -csv $OUT/csv/mg.csv
  timeout 25 $B/bench_system $L $M -cases elasticity3d -n3 65 -repetitions 5 -csv $OUT/csv/system65.csv
  timeout 45 $B/bench_system $L $M -peers 0 -cases grayscott2d,full2d2,row2d2,row3d3,full2d4,full3d3,alone2d3,alone3d4,rowalone2d3,rowalone3d4 -repetitions 5 -csv $OUT/csv/system.csv
  timeout 80 $B/bench_system $L $M -cases elasticity3d -repetitions 3 -csv $OUT/csv/system97.csv
  timeout 45 $B/bench_system $L $M -cases elasticity2d -repetitions 3 -csv $OUT/csv/system2d.csv
  R="$L -backend cuda -pcs hjmg -repetitions 5 -commit $COMMIT"
  timeout 110 $B/bench_robust $R -finer 4 -cases turning3d,even3d -csv $OUT/csv/robust-a.csv & timeout 110 $B/bench_robust $R -finer 8 -cases turning2d,even2d,open1e-2,open1e-6,closed1e-3,closed1e-6,open1e-3,open1e-4 -csv $OUT/csv/robust-b.csv &
  timeout 110 $B/bench_robust $R -finer 4 -cases chebyshev,growing47,open3d1e-3,open3d1e-6,rotating1e-3,rotating1e-6 -csv $OUT/csv/robust-c.csv & sleep 112 ) > $OUT/logs/bench 2>&1 & PA=$!
wait $PA; cat $OUT/logs/bench | grep -v '^$' | cut -c1-130 | tail -100; now benches; wait $PB; now tests; grep -v 'not=0' $OUT/logs/tests1 | head -20; grep -c 'rc=0' $OUT/logs/tests1; grep -h 'SUMMARY' $OUT/logs/memcheck* $OUT/logs/racecheck*; tail -n 2 -q $OUT/logs/fuzz-*.tap | cut -c1-200
kill $keeper; cp -r $OUT/csv $OUT/logs/; tar -C $OUT -czf $OUT/part.tgz logs 2>/dev/null; rm -rf $OUT/logs $OUT/.part.tgz $OUT/csv
