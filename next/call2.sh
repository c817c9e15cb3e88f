# Call 2: branch gpunext (its commit is named in README.md: git merge it into main if its tests pass). One GPU, 560 s.
# Tests of what it changes, then pairs of main and it: carry main's source as old.tar.xz (git archive --prefix=old/ main | xz > .carry/old.tar.xz).
. .carry/pre.sh
(tar -xf .carry/old.tar.xz && cd old && CFLAGS=-O3 CPATH=/usr/local/cuda/include make -s -j16 PETSC_DIR=/opt/petsc-cuda PETSC_ARCH= CUDA=1 BUILD=build/cuda LIB=build/cuda/libhjacobi.so build/cuda/libhjacobi.so build/cuda/examples/bench/bench_grids build/cuda/examples/bench/bench_mg build/cuda/examples/bench/bench_system; echo old rc $?)
P=16 linkall
for t in product periodic mg grids mgsolver components system mgsystem kspcg robust precision; do one test_$t 1 90; done
for v in old/ ""; do
  B="${v}build/cuda/examples/bench"; L="-dll_append $PWD/${v}build/cuda/libhjacobi.so -dm_vec_type cuda"
  echo "== ${v:-new}"
  timeout 40 $B/bench_grids $L -constant -cases walls3d,periods3d -n3 257 -works "cg,hjmg cycle,hjacobi 4,hjacobi 8,MatMult" -repetitions 4
  timeout 40 $B/bench_grids $L -cases walls2d,periods2d -n2 4097 -works "cg,hjacobi 4,hjacobi 8,MatMult,hjmg cycle" -repetitions 4
  timeout 30 $B/bench_system $L -peers 0 -cases elasticity3d -n3 65 -repetitions 5
  timeout 30 $B/bench_mg $L -peer 0 -n2 257 -n3 65 -cases constant2d,constant3d,cg2d,cg3d -ksp_type hjcg
done
