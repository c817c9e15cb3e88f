#include <ucontext.h>
#include <vector>
#include <functional>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cstdio>
#include <algorithm>
using std::min; using std::max;
struct uint3_ { unsigned x,y,z; };
static uint3_ threadIdx_, blockIdx_, blockDim_, gridDim_;
#define threadIdx threadIdx_
#define blockIdx blockIdx_
#define gridDim gridDim_
#define blockDim blockDim_
alignas(16) static char emu_smem[256*1024];
#define EMU_T 512
static ucontext_t main_c, fib[EMU_T]; static char *stk[EMU_T]; static int cur; enum {RUN,WARP,BAR,DONE}; static int st_[EMU_T]; static int nthr;
static std::function<void()> *body; static double sh[EMU_T]; static double res_[EMU_T];
static void tramp(){ (*body)(); st_[cur]=DONE; swapcontext(&fib[cur],&main_c); }
static void wait_(int k){ int me=cur; st_[me]=k; swapcontext(&fib[me],&main_c); }
static unsigned bits_[EMU_T];
static double xch(double v, int src){ int me=cur; sh[me]=v; wait_(WARP); double r=sh[(me&~31)+src]; wait_(WARP); return r; }
static double __shfl_up_sync(unsigned,double v,int d,int w=32){ int l=cur&31, b=l&~(w-1); return xch(v, l-d<b?l:l-d);} 
static double __shfl_down_sync(unsigned,double v,int d,int w=32){ int l=cur&31, b=l&~(w-1); return xch(v, l+d>=b+w?l:l+d);} 
static double __shfl_sync(unsigned,double v,int s,int w=32){ return xch(v,s&31);} 
static int __shfl_sync(unsigned,int v,int s){ return (int)xch(v,s&31);} 
static int __any_sync(unsigned,int v){ int me=cur; sh[me]=v!=0; wait_(WARP); int r=0; for(int l=0;l<32;l++) r|=sh[(me&~31)+l]!=0; wait_(WARP); return r; }
static void __syncwarp(){ wait_(WARP);} 
static void __syncthreads(){ wait_(BAR);} 
static void runblock(int n, std::function<void()> f){
  body=&f; nthr=n;
  for(int l=0;l<n;l++){ if(!stk[l]) stk[l]=(char*)malloc(1<<17); st_[l]=RUN; getcontext(&fib[l]); fib[l].uc_stack.ss_sp=stk[l]; fib[l].uc_stack.ss_size=1<<17; fib[l].uc_link=&main_c; makecontext(&fib[l],tramp,0);} 
  for(;;){ bool ran=false; for(int l=0;l<n;l++) if(st_[l]==RUN){ ran=true; cur=l; threadIdx_.x=l; swapcontext(&main_c,&fib[l]); }
    if(ran) { /* release warps */ }
    bool rel=false;
    for(int w=0;w<n;w+=32){ bool all=true; int any=0; for(int l=w;l<w+32;l++){ if(st_[l]==WARP) any++; else if(st_[l]!=DONE) all=false; } if(all&&any){ rel=true; for(int l=w;l<w+32;l++) if(st_[l]==WARP) st_[l]=RUN; } }
    if(rel) continue;
    bool bar=true; int any=0; for(int l=0;l<n;l++){ if(st_[l]==BAR) any++; else if(st_[l]!=DONE) bar=false; }
    if(any){ if(!bar){ printf("deadlock\n"); exit(1);} for(int l=0;l<n;l++) if(st_[l]==BAR) st_[l]=RUN; continue; }
    break; }
}
template<class T> static unsigned long long __cvta_generic_to_shared(T*p){ return (const char*)p-emu_smem; }
template<class T> static inline T __ldg(const T*p){return *p;}
static inline double __longlong_as_double(long long a){double d;memcpy(&d,&a,8);return d;}
static inline long long __double_as_longlong(double a){long long d;memcpy(&d,&a,8);return d;}
