import re
P='/work/wt/frames/src/cuda/kernels/sweep/plane/'
def rd(f): return open(P+f).read()
s=rd('hjstream2d.cuh')
def fn(s,name,body):
    i=s.index(name); j=s.index('{',i); d=0
    for k in range(j,len(s)):
        if s[k]=='{': d+=1
        if s[k]=='}':
            d-=1
            if d==0: break
    return s[:j]+'{'+body+'}'+s[k+1:]
s=fn(s,'void HJ2DGet(','const double*a=(const double*)(emu_smem+row+16*lane); u[0]=a[0];u[1]=a[1];u[2]=a[64];u[3]=a[65];')
s=fn(s,'void HJ2DSet(','double*a=(double*)(emu_smem+row+16*lane); a[0]=u[0];a[1]=u[1];a[64]=u[2];a[65]=u[3];')
s=fn(s,'void HJ2DClear(','for(int v=0;v<4;v++) *(double*)(emu_smem+row+8*lane+256*v)=0;')
s=re.sub(r'asm volatile\("ld\.shared\." HJ_PTX " %0, \[%1\];" : "=" HJ_PTX_REG\(t\[v\]\) : "r"\((.*?)\)\);',r't[v]=*(double*)(emu_smem+\1);',s)
assert 'asm' not in s.replace('asm volatile("st','') , re.findall('.*asm.*',s)
open('hjstream2d.cuh','w').write(s)
s=rd('hjstream2d_coarser.cuh')
s=re.sub(r'asm volatile\("ld\.shared\.v2\..*?\n','c[0]=*(double*)(emu_smem+from); c[1]=*(double*)(emu_smem+from+8);\n',s)
s=re.sub(r'asm volatile\("ld\.shared\." HJ_PTX .*?\n','c[2]=*(double*)(emu_smem+from+16);\n',s)
assert 'asm' not in s, re.findall('.*asm.*',s)
open('hjstream2d_coarser.cuh','w').write(s)
s=rd('hjstream2d_constant.cuh').replace('extern __shared__ __align__(16) PetscScalar s_rows[];','PetscScalar *s_rows=(PetscScalar*)emu_smem;')
open('hjstream2d_constant.cuh','w').write(s)
open('hjstream2d_frame.h','w').write(rd('hjstream2d_frame.h'))
open('corr_e.cu','w').write(rd('hjstream2d_corrected.cu'))
s=rd('hjstream2d.cu'); s=re.sub(r'(\w+)<<<.*?>>>\(',r'(void)(',s,flags=re.S)
s=s.replace('cudaFuncSetAttribute','emu_set').replace('cudaOccupancyMaxActiveBlocksPerMultiprocessor','emu_occ').replace('cudaFree','emu_free').replace('cudaGetLastError()','cudaSuccess')
open('stream_e.cu','w').write(s)
