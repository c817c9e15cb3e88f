# sourced: unpacks PETSc and the builds made here
begin=$(date +%s); export BEGIN=$begin
tar -C / -xf .carry/petsc-cuda.tar.xz &
xz -dc -M 12GiB .carry/build.tar.xz | tar -x; wait
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PETSC_OPTIONS="-use_gpu_aware_mpi 0 -options_left no" PKG_CONFIG_PATH=/opt/petsc-cuda/lib/pkgconfig
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_tcp_if_include=lo OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1
export LD_LIBRARY_PATH=/opt/petsc-cuda/lib:/usr/local/cuda/lib64:$LD_LIBRARY_PATH PATH=/usr/local/cuda/bin:$PATH
mkdir -p build/cuda/tests $OUT/logs
OBJS=$(find build/cuda -name '*.o' | grep -v '/tests/\|/examples/\|build/cuda/single/')
CF="$(pkg-config --cflags PETSc) -DPETSC_SKIP_COMPLEX -DHJACOBI_HAVE_CUDA=1 -DHJACOBI_HAVE_NCCL=1 -Iinclude -Isrc -Itests -I/usr/local/cuda/include"
export OBJS CF
linkone() { mpicc -O1 -w $CF $1 $OBJS -o $2 -Wl,--copy-dt-needed-entries -L/opt/petsc-cuda/lib -lpetsc -Wl,-rpath,/opt/petsc-cuda/lib -lmpi -L/usr/local/cuda/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ -lm; }
export -f linkone
one() { local n=$1 r=$2 s=$3; shift 3; local t=$OUT/logs/$n-$r${TAG:+-$TAG}; rm -f $t.tap; local t0=$(date +%s); HJ_TAP=$t.tap timeout $s mpiexec -n $r build/cuda/tests/$n -backend cuda "$@" > $t.log 2>&1; local rc=$?
  echo "$n@$r${TAG:+ $TAG} rc=$rc ok=$(grep -c '^ok' $t.tap 2>/dev/null) not=$(grep -c '^not ok' $t.tap 2>/dev/null) $(( $(date +%s) - t0 ))s"; grep '^not ok' $t.tap 2>/dev/null | head -5; [ $rc = 0 ] || tail -3 $t.log | cut -c1-300; }
export -f one
keep() { (while sleep 15; do tar -C $OUT -czf $OUT/.part.tgz logs 2>/dev/null && mv $OUT/.part.tgz $OUT/part.tgz; done) & keeper=$!; }
now() { echo "== $1 at $(( $(date +%s) - begin )) s"; }
