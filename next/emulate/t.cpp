#include <cuda_runtime.h>
#define HJ_CONSTANT static inline constexpr
#include "core/hjcoefficients.h"
#undef __device__
#undef __global__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __host__
#undef __constant__
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#undef __noinline__
#define __noinline__
#define __grid_constant__
#define HJ_HOST_DEVICE
#include "emu.h"
template<class T> static inline T __ldg(const T*p){return *p;}
using std::min; using std::max;
#include <algorithm>
#include "cuda/hjtuning.h"
#include "core/hjslots.h"
typedef struct { dim3 grid, block; size_t smem_bytes; void *stream; int cluster; bool overlap, cooperative; } HJLaunch;
typedef void *cudaStream_tt;
#define cudaStream_t cudaStream_tt
static void HJDAwaitInput(){}
constexpr int HJDNeighbors(int dim, bool box){ return (int)HJShapeSlots(dim, box ? HJ_BOX : HJ_STAR) - 1; }
constexpr int HJDSlotOffset(int dim, bool box, int slot, int d){ return (int)HJShapeStep(dim, box ? HJ_BOX : HJ_STAR, slot, d); }
constexpr int HJDSlot(int dim, bool box, int dx, int dy, int dz){ return (dim < 2 && dy) || (dim < 3 && dz) ? -1 : (int)HJShapeSlot(dim, box ? HJ_BOX : HJ_STAR, dx, dy, dz); }
#include "kern.inc"
static double R(){ return rand()/(double)RAND_MAX-0.5; }
template<int DIM,bool BOX> static int check(int nx,int ny,int nz,int layers,int addend,HJProductRegion region){
  int n[3]={nx,DIM>1?ny:1,DIM>2?nz:1}; long long N=(long long)n[0]*n[1]*n[2]; int ns=1+HJDNeighbors(DIM,BOX), nr=6;
  HJCoefficients a={}; a.dim=DIM;a.nslots=ns;a.shape=BOX?HJ_BOX:HJ_STAR;a.storage=HJ_COEFFICIENTS_DICTIONARY;a.npoints=N;a.nrows=nr;a.layers=layers;a.inner_row=2;
  std::vector<double> rows(nr*ns), x(N), b(N), y(N,-77), want(N); std::vector<unsigned char> ix(N);
  for(auto&v:rows)v=R(); for(auto&v:x)v=R(); for(auto&v:b)v=R(); if(addend==2) y=b;
  HJShell sh={}; PetscInt w[3]={n[0],n[1],n[2]}; sh.dim=DIM; for(int d=0;d<3;d++)sh.width[d]=n[d];
  long long at=0; long long box[3][2];
  for(int d=0;d<DIM;d++)for(int s=0;s<2;s++){ sh.at[d][s]=at; box[d][s]=at; at+= d==0? (long long)n[1]*n[2] : d==1? (long long)(n[0]+2)*n[2] : (long long)(n[0]+2)*(n[1]+2); }
  for(int d=DIM;d<3;d++)for(int s=0;s<2;s++)sh.at[d][s]=at; sh.size=at;
  std::vector<double> gh(at); for(auto&v:gh)v=R();
  auto X=[&](int i,int j,int k)->double{ if(DIM>2&&(k<0||k>=n[2])) return gh[box[2][k>=n[2]]+(j+1)*(n[0]+2)+i+1]; if(DIM>1&&(j<0||j>=n[1])) return gh[box[1][j>=n[1]]+k*(n[0]+2)+i+1]; if(i<0||i>=n[0]) return gh[box[0][i>=n[0]]+(long long)k*n[1]+j]; return x[((long long)k*n[1]+j)*n[0]+i]; };
  for(int k=0;k<n[2];k++)for(int j=0;j<n[1];j++)for(int i=0;i<n[0];i++){ long long q=((long long)k*n[1]+j)*n[0]+i; bool in=i>=layers&&i<n[0]-layers&&(DIM<2||(j>=layers&&j<n[1]-layers))&&(DIM<3||(k>=layers&&k<n[2]-layers)); ix[q]=in?2:rand()%nr;
    double s=0; for(int o=0;o<ns;o++) s+=rows[ix[q]*ns+o]*X(i+HJDSlotOffset(DIM,BOX,o,0),j+HJDSlotOffset(DIM,BOX,o,1),k+HJDSlotOffset(DIM,BOX,o,2)); want[q]=0.75*s+(addend?b[q]:0); }
  HJProductArgs p={}; p.x=x.data();p.b=addend==0?0:addend==1?b.data():y.data();p.ghost=gh.data();p.y=y.data();p.alpha=.75;p.rows=rows.data();p.index=ix.data();p.npoints=N;for(int d=0;d<3;d++){p.width[d]=n[d];for(int s=0;s<2;s++)p.at[d][s]=sh.at[d][s];}
  bool framed=HJProductIsFramed(&a,p.width); if(!framed) return 0; p.layers=layers; for(int s=0;s<ns;s++)p.row[s]=rows[2*ns+s];
  if(region==HJ_PRODUCT_ALL) HJProductLaunch<DIM,BOX,HJ_PRODUCT_FRAMED>(p,HJ_PRODUCT_ALL,false,0);
  else { HJProductLaunch<DIM,BOX,HJ_PRODUCT_FRAMED>(p,HJ_PRODUCT_INTERIOR,false,0); HJProductLaunch<DIM,BOX,HJ_PRODUCT_FRAMED>(p,HJ_PRODUCT_BOUNDARY,false,0);} 
  double e=0; for(long long q=0;q<N;q++) e=std::max(e,std::isnan(y[q])?1e9:std::fabs(y[q]-want[q]));
  if(e>1e-12){ printf("BAD dim %d box %d %dx%dx%d layers %d addend %d region %d: %g\n",DIM,BOX,n[0],n[1],n[2],layers,addend,(int)region,e); return 1; }
  return 0; }
int main(){ int bad=0,c=0; for(int t=0;t<60;t++){ int L=1+rand()%3; int nx=10+rand()%(90), ny=8+rand()%20, nz=8+rand()%14; for(int ad=0;ad<3;ad++)for(int rg=0;rg<2;rg++){ auto r=rg?HJ_PRODUCT_INTERIOR:HJ_PRODUCT_ALL; c++;
  bad+=check<1,false>(nx*4,1,1,L,ad,r); bad+=check<2,false>(nx,ny+6,1,L,ad,r); bad+=check<2,true>(nx,ny+6,1,L,ad,r); bad+=check<3,false>(nx+8,ny+8,nz+8,L>2?2:L,ad,r); bad+=check<3,true>(nx+8,ny+8,nz+8,L>2?2:L,ad,r);} }
  printf("%d cases, %d bad\n",c*5,bad); }
