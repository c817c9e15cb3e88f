#include "pre.h"
#include "cuda/kernels/hjkernel.h"
static void (*emu_launch)(const HJLaunch*, const void*, void**);
#define HJLaunchKernel(how,k,args) (emu_launch(how,k,args), cudaSuccess)
static cudaError_t emu_set(const void*,int,int){return cudaSuccess;}
static cudaError_t emu_occ(int*b,const void*,int,int){*b=8;return cudaSuccess;}
static cudaError_t emu_free(void*){return cudaSuccess;}
extern "C" PetscErrorCode PetscHJDummy(void);
#include "corr_e.cu"
#include "stream_e.cu"
const HJ2DKernel HJ2DStarKernels[]={{8,8,20000,20000},{0}},HJ2DBoxKernels[]={{0}},HJ2DVariableKernels[]={{0}},HJ2DSymmetricKernels[]={{0}},HJ2DSymmetricBoxKernels[]={{0}},HJ2DSymmetricCorrectedKernels[]={{0}},HJ2DSymmetricRestrictedKernels[]={{0}},HJ2DBoxCorrectedKernels[]={{0}},HJ2DBoxRestrictedKernels[]={{0}},HJ2DFrameCorrectedKernels[]={{0}},HJ2DFrameRestrictedKernels[]={{0}};
PetscErrorCode HJ2DCutChunks(cudaStream_t, int, int, HJ2DArgs *, void **){return PETSC_SUCCESS;}
PetscErrorCode HJAlloc(size_t b,void**p){*p=malloc(b);return PETSC_SUCCESS;}
static void Launch(const HJLaunch*how,const void*k,void**args){ const HJ2DArgs *a=(HJ2DArgs*)args; gridDim_={how->grid.x,1,1}; for(unsigned b=0;b<how->grid.x;b++){ blockIdx_={b,0,0}; for(int i=0;i<(int)how->smem_bytes/8;i++) ((double*)emu_smem)[i]=NAN; runblock(how->block.x,[&]{ ((void(*)(const HJ2DArgs))k)(*(HJ2DArgs*)args[0]); }); } }
static double R(){ return rand()/(double)RAND_MAX-0.5; }
static int test(int nx,int ny,bool px,bool py,int count,bool zero){
  HJ_CUDA c; memset(&c,0,sizeof c); HJGrid&g=c.grid; g.dim=2; g.dof=1; int n[2]={nx,ny}; bool per[2]={px,py};
  g.N[2]=1; g.owned.hi[2]=1; g.domain.hi[2]=1; g.min_width=PETSC_INT_MAX;
  for(int d=0;d<2;d++){ g.N[d]=n[d]; g.owned.hi[d]=n[d]; g.periodic[d]=(PetscBool)per[d]; g.domain.lo[d]=per[d]?-HJ_ENDLESS:0; g.domain.hi[d]=per[d]?HJ_ENDLESS:n[d]; for(int s=0;s<2;s++) g.neighbor[d][s]=(PetscBool)per[d]; if(per[d]) g.min_width=min<PetscInt>(g.min_width,n[d]); }
  c.device.cc=90;c.device.nsm=2;c.device.smem_block=227*1024;c.device.smem_sm=233472;
  c.st.dim=2;c.st.shape=HJ_STAR;c.st.storage=HJ_DICTIONARY;c.st.nneighbors=4;c.st.nrows=1;c.st.frame=HJ_FRAME_REGULAR; c.st.dof=1;
  double rows[5]={1,-.2,-.27,-.22,-.3}, dinv=0.31; c.st.h_rows=rows;c.st.h_dinv_rows=&dinv; c.st.box.lo[0]=c.st.box.lo[1]=0; c.st.box.hi[0]=nx;c.st.box.hi[1]=ny;c.st.box.hi[2]=1;
  HJKind kind=zero?HJ_RESTRICTS:HJ_CORRECTS; HJAsk ask={}; ask.kind=kind;ask.grid=&g;ask.st=&c.st;ask.count=count;
  if(!HJStream2DTakes(&c.device,&ask)) return -1;
  int nc[2]={per[0]?nx/2:(nx+1)/2,per[1]?ny/2:(ny+1)/2};
  size_t N=(size_t)nx*ny, G=8192; std::vector<double> xb(N+2*G,NAN),bb(N+2*G,NAN),yb(N+2*G,NAN),cb((size_t)nc[0]*nc[1]+2*G,NAN),rb((size_t)nc[0]*nc[1]+2*G,NAN);
  double*x=&xb[G],*b=&bb[G],*y=&yb[G],*cc=&cb[G],*r=&rb[G]; for(size_t i=0;i<N;i++)x[i]=R(),b[i]=R(); for(int i=0;i<nc[0]*nc[1];i++)cc[i]=R();
  double w[16]; for(int j=0;j<count;j++) w[j]=0.5+0.3*R();
  int depth=count+(zero?1:0); HJDSweep s; memset(&s,0,sizeof s);
  s.write={{0,0,0},{nx,ny,1}}; s.ybox=s.write; s.box=s.write; if(py){s.box.lo[1]=-depth;s.box.hi[1]=ny+depth;} s.domain={{per[0]?-100000:0,per[1]?-100000:0,0},{per[0]?100000:nx,per[1]?100000:ny,1}};
  s.home_lo=0;s.home_hi=ny; long long below=py?(long long)depth*nx:0; s.x=zero?NULL:x-below; s.b=b-below; s.y=y;
  if(py){ if(!zero){s.xghost[0]=x+(long long)(ny-depth)*nx; s.xghost[1]=x-(below+(long long)ny*nx);} s.bghost[0]=b+(long long)(ny-depth)*nx; s.bghost[1]=b-(below+(long long)ny*nx);} 
  s.wrap[0]=px?nx:0; s.copy_lo=-INT_MAX/2; s.copy_hi=INT_MAX/2;
  HJCoarser co; memset(&co,0,sizeof co); for(int d=0;d<2;d++){co.n[d]=nc[d]; co.scale[d][0]=co.scale[d][1]=1; if(!per[d]&&n[d]%2==0) co.scale[d][1]=1.3;} 
  double prow[5]; for(int o=0;o<5;o++) prow[o]=rows[o]/dinv; co.row=prow;
  if(zero) co.restricted=r; else { co.correction=cc; if(py){co.depth=nc[1];co.beside[0]=co.beside[1]=cc;} }
  HJGeometry ge; memset(&ge,0,sizeof ge); ge.nsweeps=1;ge.count=count;ge.zero=zero;ge.wraps=px;ge.corrects=!zero;ge.restricts=zero;
  void*layout; if(HJStream2DLayoutCreate(&c,0,&s,&ge,&layout)) { printf("layout error\n"); return 1; }
  HJDPass pass={1,count,&s,w,&co,NULL}; emu_launch=Launch; HJStream2DLaunch(&c,0,&pass,layout);
  auto at=[&](std::vector<double>&v,int i,int j)->double{ if(px) i=(i%nx+nx)%nx; if(py) j=(j%ny+ny)%ny; if(i<0||i>=nx||j<0||j>=ny) return 0; return v[(size_t)j*nx+i]; };
  auto cat=[&](int i,int j)->double{ if(px) i=(i%nc[0]+nc[0])%nc[0]; if(py) j=(j%nc[1]+nc[1])%nc[1]; if(i<0||i>=nc[0]||j<0||j>=nc[1]) return 0; return cc[(size_t)j*nc[0]+i]; };
  auto sc=[&](int d,int i)->double{ return (!per[d]&&n[d]%2==0&&i==n[d]-1)?1.3:1; };
  std::vector<double> X(N,0.0),Y(N); if(!zero) for(int j=0;j<ny;j++)for(int i=0;i<nx;i++){ double p=0; for(int dj=0;dj<2;dj++)for(int di=0;di<2;di++) p+=0.25*cat((i+di)>>1,(j+dj)>>1); X[(size_t)j*nx+i]=x[(size_t)j*nx+i]+p*sc(0,i)*sc(1,j); }
  auto resid=[&](int i,int j){ return dinv*b[(size_t)j*nx+i]-at(X,i,j)-rows[1]*at(X,i-1,j)-rows[2]*at(X,i+1,j)-rows[3]*at(X,i,j-1)-rows[4]*at(X,i,j+1); };
  for(int k=0;k<count;k++){ for(int j=0;j<ny;j++)for(int i=0;i<nx;i++) Y[(size_t)j*nx+i]=X[(size_t)j*nx+i]+w[k]*resid(i,j); X=Y; }
  double e=0; for(size_t i=0;i<N;i++) e=max(e,std::isnan(y[i])?1e9:fabs(y[i]-X[i]));
  if(zero){ std::vector<double> Q(N); for(int j=0;j<ny;j++)for(int i=0;i<nx;i++) Q[(size_t)j*nx+i]=resid(i,j)/dinv*sc(0,i)*sc(1,j); for(int J=0;J<nc[1];J++)for(int I=0;I<nc[0];I++){ double t=0; for(int dj=-1;dj<2;dj++)for(int di=-1;di<2;di++) t+=(di?.5:1)*(dj?.5:1)*at(Q,2*I+di,2*J+dj); double z=r[(size_t)J*nc[0]+I]; e=max(e,std::isnan(z)?1e9:fabs(z-t)); } }
  printf("%s %dx%d per %d%d count %d zero %d: %g\n",e>1e-11?"BAD":"ok",nx,ny,px,py,count,zero,e); fflush(stdout);
  return e>1e-11; }
int main(){ int bad=0,ran=0; int sz[][2]={{256,40},{130,66}}; for(auto&z:sz)for(int p=0;p<4;p++)for(int c=4;c<=8;c+=4)for(int ze=0;ze<2;ze++){ int t=test(z[0],z[1],p&1,p>>1,c,ze); if(t>=0)ran++; if(t>0)bad++; } printf("%d ran, %d bad\n",ran,bad); }
