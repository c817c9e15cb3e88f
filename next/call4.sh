. .carry/pre2.sh; keep; now unpacked; COMMIT=${1:?}; nvidia-smi -L; mkdir -p $OUT/csv
T="product system mgsystem matsystem systemtransfer periodic refresh"
echo $T | tr ' ' '\n' | xargs -P 16 -I{} bash -c 'linkone tests/test_{}.c build/cuda/tests/test_{} 2>&1 | head -3'
mpicc -O1 -w $CF .carry/prof2.c -o /tmp/prof2 -L/opt/petsc-cuda/lib -lpetsc -Wl,-rpath,/opt/petsc-cuda/lib -L/usr/local/cuda/lib64 -lcudart -lm; now linked
L="-dll_append $PWD/build/cuda/libhjacobi.so"; B=build/cuda/examples/bench
for n in 33 37 65; do timeout 30 /tmp/prof2 $L -n $n -again; done
for t in product@1 system@1 mgsystem@1 matsystem@1 systemtransfer@1 mgsystem@2; do echo $t; done | xargs -P 7 -I{} bash -c 'x={}; one test_${x%@*} ${x#*@} 60'; now quick
timeout 60 $B/bench_grids $L -dm_vec_type cuda -constant -cases walls3d -n3 257 -works "MatMult" -repetitions 5 2>&1 | tail -3; now grids
timeout 40 $B/bench_system $L -dm_vec_type cuda -peers 0 -cases elasticity3d -n3 65 -repetitions 5 2>&1 | tail -7; now s65
timeout 20 ncu --profile-from-start off --metrics gpu__time_duration.sum --csv --print-units base /tmp/prof2 $L > $OUT/logs/ncu-el 2>&1; now ncu
S="compute-sanitizer --kernel-name-exclude kernel_substring=cusparse"
( timeout 80 $S --tool memcheck /tmp/prof2 $L -n 37 -again > $OUT/logs/memcheck-el 2>&1; grep 'SUMMARY\|CG' $OUT/logs/memcheck-el ) & A=$!
( timeout 80 $S --tool racecheck /tmp/prof2 $L -n 17 > $OUT/logs/racecheck-el 2>&1; grep 'SUMMARY\|CG' $OUT/logs/racecheck-el ) & C=$!
wait $A $C; now sanitizers; kill $keeper; tar -C $OUT -czf $OUT/part.tgz logs 2>/dev/null; rm -rf $OUT/logs $OUT/.part.tgz $OUT/csv
