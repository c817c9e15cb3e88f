#include "pre.h"
#include "cuda/kernels/hjkernel.h"
static void (*emu_launch)(const HJLaunch*, const void*, void**);
#define HJLaunchKernel(how,k,args) (emu_launch(how,k,args), cudaSuccess)
static cudaError_t emu_set(const void*,int,int){return cudaSuccess;}
static cudaError_t emu_occ(int*b,const void*,int,int){*b=8;return cudaSuccess;}
static cudaError_t emu_free(void*){return cudaSuccess;}
extern "C" PetscErrorCode PetscHJDummy(void);
#include "var_e.cu"
#include "stream_e.cu"
const HJ2DKernel HJ2DStarKernels[]={{0}},HJ2DBoxKernels[]={{0}},HJ2DCorrectedKernels[]={{0}},HJ2DRestrictedKernels[]={{0}},HJ2DFrameCorrectedKernels[]={{0}},HJ2DFrameRestrictedKernels[]={{0}};
PetscErrorCode HJ2DCutChunks(cudaStream_t, int, int, HJ2DArgs *, void **){return PETSC_SUCCESS;}
PetscErrorCode HJAlloc(size_t b,void**p){*p=malloc(b);return PETSC_SUCCESS;}
static void Launch(const HJLaunch*how,const void*k,void**args){ const HJ2DArgs *a=(HJ2DArgs*)args; gridDim_={how->grid.x,1,1}; for(unsigned b=0;b<how->grid.x;b++){ blockIdx_={b,0,0}; for(int i=0;i<(int)how->smem_bytes/8;i++) ((double*)emu_smem)[i]=NAN; runblock(how->block.x,[&]{ ((void(*)(const HJ2DArgs))k)(*(HJ2DArgs*)args[0]); }); } }
static double R(){ return rand()/(double)RAND_MAX-0.5; }


static int test(int nx,int ny,bool px,bool py,int count,int what){
  bool zero=what>=2; HJ_CUDA c; memset(&c,0,sizeof c); HJGrid&g=c.grid; g.dim=2; g.dof=1; int n[2]={nx,ny}; bool per[2]={px,py}; const int PAD=16;
  g.N[2]=1; g.owned.hi[2]=1; g.domain.hi[2]=1; g.min_width=PETSC_INT_MAX;
  for(int d=0;d<2;d++){ g.N[d]=n[d]; g.owned.hi[d]=n[d]; g.periodic[d]=(PetscBool)per[d]; g.domain.lo[d]=per[d]?-HJ_ENDLESS:0; g.domain.hi[d]=per[d]?HJ_ENDLESS:n[d]; for(int s=0;s<2;s++) g.neighbor[d][s]=(PetscBool)per[d]; if(per[d]) g.min_width=min<PetscInt>(g.min_width,n[d]); }
  c.device.cc=90;c.device.nsm=2;c.device.smem_block=227*1024;c.device.smem_sm=233472;
  int lo[2],hi[2]; for(int d=0;d<2;d++){ lo[d]=(per[d]?-PAD:0)-1; hi[d]=n[d]+(per[d]?PAD:0); }
  c.st.dim=2;c.st.shape=HJ_STAR;c.st.storage=HJ_SYMMETRIC;c.st.nneighbors=4;c.st.dof=1; for(int d=0;d<2;d++){c.st.box.lo[d]=lo[d];c.st.box.hi[d]=hi[d];} c.st.box.hi[2]=1;
  int cx=hi[0]-lo[0]; size_t C=(size_t)cx*(hi[1]-lo[1]); std::vector<double> E(C+8192,NAN),Nn(C+8192,NAN),D(C+8192,NAN); double*Ep=&E[4096],*Np=&Nn[4096],*Dp=&D[4096];
  auto ci=[&](int i,int j){return (size_t)(j-lo[1])*cx+i-lo[0];}; auto wr=[&](int d,int i){ return per[d]?(i%n[d]+n[d])%n[d]:i; };
  std::vector<double> e0((size_t)nx*ny),n0(e0),d0(e0); for(int j=0;j<ny;j++)for(int i=0;i<nx;i++){ e0[(size_t)j*nx+i]=px||i<nx-1?-(0.5+0.3*R()):0; n0[(size_t)j*nx+i]=py||j<ny-1?-(0.5+0.3*R()):0; d0[(size_t)j*nx+i]=0.3+0.05*R(); }
  auto get=[&](std::vector<double>&v,int i,int j)->double{ i=wr(0,i); j=wr(1,j); return i<0||i>=nx||j<0||j>=ny?0:v[(size_t)j*nx+i]; };
  for(int j=lo[1];j<hi[1];j++)for(int i=lo[0];i<hi[0];i++){ Ep[ci(i,j)]=get(e0,i,j); Np[ci(i,j)]=get(n0,i,j); Dp[ci(i,j)]=get(d0,i,j); }
  c.st.value[1]=Ep;c.st.value[3]=Np;c.st.dinv=Dp;
  HJKind kind=what==1?HJ_CORRECTS:HJ_RESTRICTS; HJAsk ask={}; ask.kind=kind;ask.grid=&g;ask.st=&c.st;ask.count=count; if((what==1||what==2)&&!HJStream2DTakes(&c.device,&ask)) return -1;
  int nc[2]={per[0]?nx/2:(nx+1)/2,per[1]?ny/2:(ny+1)/2}; size_t N=(size_t)nx*ny, G=8192; std::vector<double> xb(N+2*G,NAN),bb(N+2*G,NAN),yb(N+2*G,NAN),cb((size_t)nc[0]*nc[1]+2*G,NAN),rb((size_t)nc[0]*nc[1]+2*G,NAN);
  double*x=&xb[G],*b=&bb[G],*y=&yb[G],*cc=&cb[G],*r=&rb[G]; for(size_t i=0;i<N;i++)x[i]=R(),b[i]=R(); for(int i=0;i<nc[0]*nc[1];i++)cc[i]=R();
  double w[16]; for(int j=0;j<count;j++) w[j]=0.5+0.3*R();
  int depth=count+(what==2?1:0); HJDSweep s; memset(&s,0,sizeof s); s.write={{0,0,0},{nx,ny,1}}; s.ybox=s.write; s.box=s.write; if(py){s.box.lo[1]=-depth;s.box.hi[1]=ny+depth;} s.domain={{per[0]?-100000:0,per[1]?-100000:0,0},{per[0]?100000:nx,per[1]?100000:ny,1}};
  s.home_lo=0;s.home_hi=ny; long long below=py?(long long)depth*nx:0; s.x=zero?NULL:x-below; s.b=b-below; s.y=y;
  if(py){ if(!zero){s.xghost[0]=x+(long long)(ny-depth)*nx; s.xghost[1]=x-(below+(long long)ny*nx);} s.bghost[0]=b+(long long)(ny-depth)*nx; s.bghost[1]=b-(below+(long long)ny*nx);} 
  s.wrap[0]=px?nx:0; s.copy_lo=-INT_MAX/2; s.copy_hi=INT_MAX/2;
  HJCoarser co; memset(&co,0,sizeof co); for(int d=0;d<2;d++){co.n[d]=nc[d]; co.scale[d][0]=co.scale[d][1]=1; if(!per[d]&&n[d]%2==0) co.scale[d][1]=1.3;}
  if(what==2) co.restricted=r; if(what==1){ co.correction=cc; if(py){co.depth=nc[1];co.beside[0]=co.beside[1]=cc;} }
  HJGeometry ge; memset(&ge,0,sizeof ge); ge.nsweeps=1;ge.count=count;ge.zero=zero;ge.wraps=px;ge.corrects=what==1;ge.restricts=what==2; void*layout; if(HJStream2DLayoutCreate(&c,0,&s,&ge,&layout)) { printf("layout error\n"); return 1; }
  HJDPass pass={1,count,&s,w,&co,NULL}; emu_launch=Launch; HJStream2DLaunch(&c,0,&pass,layout);
  std::vector<double> X(N,0.0),Y(X); auto at=[&](std::vector<double>&v,int i,int j)->double{ return get(v,i,j); };
  auto cat=[&](int i,int j)->double{ if(px) i=(i%nc[0]+nc[0])%nc[0]; if(py) j=(j%nc[1]+nc[1])%nc[1]; return i<0||i>=nc[0]||j<0||j>=nc[1]?0:cc[(size_t)j*nc[0]+i]; }; auto sc=[&](int d,int i)->double{ return !per[d]&&n[d]%2==0&&i==n[d]-1?1.3:1; };
  if(!zero) for(int j=0;j<ny;j++)for(int i=0;i<nx;i++){ double p=0; if(what==1) for(int dj=0;dj<2;dj++)for(int di=0;di<2;di++) p+=0.25*cat((i+di)>>1,(j+dj)>>1); X[(size_t)j*nx+i]=x[(size_t)j*nx+i]+p*sc(0,i)*sc(1,j); }
  auto off=[&](int i,int j){ return get(e0,i,j)*at(X,i+1,j)+get(e0,i-1,j)*at(X,i-1,j)+get(n0,i,j)*at(X,i,j+1)+get(n0,i,j-1)*at(X,i,j-1); };
  for(int k=0;k<count;k++){ for(int j=0;j<ny;j++)for(int i=0;i<nx;i++) Y[(size_t)j*nx+i]=at(X,i,j)+w[k]*(get(d0,i,j)*(b[(size_t)j*nx+i]-off(i,j))-at(X,i,j)); X=Y; }
  double e=0; for(size_t i=0;i<N;i++) e=max(e,std::isnan(y[i])?1e9:fabs(y[i]-X[i]));
  if(what==2){ std::vector<double> Q(N); for(int j=0;j<ny;j++)for(int i=0;i<nx;i++) Q[(size_t)j*nx+i]=(b[(size_t)j*nx+i]-off(i,j)-at(X,i,j)/get(d0,i,j))*sc(0,i)*sc(1,j); for(int J=0;J<nc[1];J++)for(int I=0;I<nc[0];I++){ double t=0; for(int dj=-1;dj<2;dj++)for(int di=-1;di<2;di++) t+=(di?.5:1)*(dj?.5:1)*at(Q,2*I+di,2*J+dj); double z=r[(size_t)J*nc[0]+I]; e=max(e,std::isnan(z)?1e9:fabs(z-t)); } }
  printf("%s %dx%d per %d%d count %d what %d: %g\n",e>1e-11?"BAD":"ok",nx,ny,px,py,count,what,e); fflush(stdout); return e>1e-11; }
int main(){ int bad=0,ran=0; int sz[][2]={{256,36},{140,64}}; for(auto&z:sz)for(int p=0;p<4;p++)for(int wh=0;wh<4;wh++){ int t=test(z[0],z[1],p&1,p>>1,4,wh); if(t>=0)ran++; if(t>0)bad++; } printf("%d ran, %d bad\n",ran,bad); }
