s=open('/work/wt/frames/src/cuda/kernels/operator/hjproduct.cu').read()
a=s.index('#define HJ_PRODUCT_THREADS'); b=s.index('/* What the owned points around a point, which is owned or a ghost')
k=s[a:b]
k=k.replace('PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJProduct_Kernel<DIM, BOX, READ, S::RY, S::RZ, S::WX, S::WY, S::WZ, S::BLOCKS>, args));','''
  gridDim_.x=how.grid.x; for(unsigned bk=0;bk<how.grid.x;bk++){ blockIdx_.x=bk; for(unsigned w=0;w<how.block.x/32;w++) runwarp(w,[&]{ HJProduct_Kernel<DIM, BOX, READ, S::RY, S::RZ, S::WX, S::WY, S::WZ, S::BLOCKS>(p,tiles); }); }''')
open('/tmp/fr_emu/kern.inc','w').write(k)
