// lanes of a warp as fibers
#include <ucontext.h>
#include <vector>
#include <functional>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cstdio>
struct uint3_ { unsigned x,y,z; };
static uint3_ threadIdx_, blockIdx_; static uint3_ blockDim_, gridDim_;
#define threadIdx threadIdx_
#define blockIdx blockIdx_
#define gridDim gridDim_
#define blockDim blockDim_
static ucontext_t main_c, fib[32]; static char *stk[32]; static bool done[32]; static int cur; static unsigned warp0;
static std::function<void()> *body;
static double sh[2][32]; static int phase[32];
static void tramp(){ (*body)(); done[cur]=true; swapcontext(&fib[cur],&main_c); }
static double xch(double v, int src, int self){ int ph=phase[cur]^=1; sh[ph][cur]=v; int me=cur; swapcontext(&fib[cur],&main_c); (void)self; return (src>=0&&src<32)?sh[ph][src]:sh[ph][me]; }
static double __shfl_up_sync(unsigned,double v,int d){ return xch(v,cur-d,0);} 
static double __shfl_down_sync(unsigned,double v,int d){ return xch(v,cur+d,0);} 
static void runwarp(unsigned w, std::function<void()> f){
  body=&f;
  for(int l=0;l<32;l++){ if(!stk[l]) stk[l]=(char*)malloc(1<<18); done[l]=false; phase[l]=0; getcontext(&fib[l]); fib[l].uc_stack.ss_sp=stk[l]; fib[l].uc_stack.ss_size=1<<18; fib[l].uc_link=&main_c; makecontext(&fib[l],tramp,0);} 
  bool more=true; while(more){ more=false; for(int l=0;l<32;l++) if(!done[l]){ cur=l; threadIdx_.x=w*32+l; swapcontext(&main_c,&fib[l]); more|=!done[l]; } }
}
