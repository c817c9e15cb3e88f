cd /work/main
(cd build/cuda; find . -name '*.o' | grep -v '/tests/\|/examples/\|^./single/') | sed 's|^\./|build/cuda/|' > /tmp/objs
tar -cf /tmp/pack.tar -T /tmp/objs build/cuda/libhjacobi.so build/cuda/examples/bench/bench_{mg,system,robust,grids,mpi,mat,sweep,gpu} $EXTRA
xz -k -T1 --lzma2=preset=1,dict=1GiB,mf=hc4,mode=fast,nice=64 -M 12GiB -c /tmp/pack.tar > .carry/build.tar.xz.new && mv .carry/build.tar.xz.new .carry/build.tar.xz
