/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Passes of conjugate gradients, whose sums stay in the device's memory. A star of one row or a dictionary is multiplied where a direction
   is made, and once more where residuals are: that reads less than a product that is kept, as it is with arrays. Decides which.
*/
#include "hjmarch.cuh"
#include "hjsums.cuh"
#include "hjkrylov_cuda.h"
#include "cuda/device/hjscratch.h"

#define HJ_KRYLOV_THREADS 256
#define HJ_KRYLOV_LOADS   4 /* points of a thread at once */

typedef struct {
  HJKrylovSums sums;
  HJSumsRoom   room;
} HJKrylovState;
static_assert(offsetof(HJKrylovState, sums) == 0, "");

static __device__ __forceinline__ double HJKrylovBeta(const HJKrylovState *s, bool first)
{
  return first ? 0 : s->sums.rz / s->sums.rz_before;
}

/* 0 where an iteration ends the solve */
static __device__ __forceinline__ double HJKrylovAlpha(const HJKrylovState *s)
{
  const HJKrylovSums sums = s->sums;
  const bool goes = sums.rz != 0 && sums.pw != 0 && isfinite(sums.rz) && isfinite(sums.pw) && !HJKrylovTurns(sums.rz, sums.rz_before) &&
                    !HJKrylovTurns(sums.pw, sums.pw_before);

  return goes ? sums.rz / sums.pw : 0;
}

/* Runs what for some of n points: those of the thread, HJ_KRYLOV_LOADS at once */
#define HJKrylovFor(i, n)                                                                                                                  \
  for (long long i = (long long)blockIdx.x * HJ_KRYLOV_THREADS + threadIdx.x, step_ = (long long)gridDim.x * HJ_KRYLOV_THREADS; i < n;     \
       i += HJ_KRYLOV_LOADS * step_)
#define HJKrylovEach(u)  _Pragma("unroll") for (int u = 0; u < HJ_KRYLOV_LOADS; u++)
#define HJKrylovAt(i, u) (i + u * step_)

static __global__ void __launch_bounds__(HJ_KRYLOV_THREADS)
  HJKrylovSums_Kernel(long long n, const double *z, const double *r, HJKrylovState *s)
{
  double zz = 0, rz = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  HJKrylovFor(i, n)
  {
    double a[HJ_KRYLOV_LOADS], b[HJ_KRYLOV_LOADS];

    HJKrylovEach(u)
    {
      const bool in = HJKrylovAt(i, u) < n;

      a[u] = in ? z[HJKrylovAt(i, u)] : 0;
      b[u] = in ? r[HJKrylovAt(i, u)] : 0;
    }
    HJKrylovEach(u)
    {
      zz = fma(a[u], a[u], zz);
      rz = fma(a[u], b[u], rz);
    }
  }
  if (!HJSumsTake<HJ_KRYLOV_THREADS, false>(&s->room, zz, rz)) return;
  s->sums.rz_before = s->sums.rz;
  s->sums.zz        = zz;
  s->sums.rz        = rz;
}

static __global__ void __launch_bounds__(HJ_KRYLOV_THREADS)
  HJKrylovDirection_Kernel(long long n, bool first, const HJKrylovState *s, const double *z, const double *before, double *p)
{
  HJDAwaitInput();
  HJDLetNextStart();
  const double beta = HJKrylovBeta(s, first);

  HJKrylovFor(i, n)
  {
    double a[HJ_KRYLOV_LOADS], b[HJ_KRYLOV_LOADS];

    HJKrylovEach(u)
    {
      const bool in = HJKrylovAt(i, u) < n;

      a[u] = in ? z[HJKrylovAt(i, u)] : 0;
      b[u] = in && !first ? before[HJKrylovAt(i, u)] : 0;
    }
    HJKrylovEach(u)
    {
      if (HJKrylovAt(i, u) < n) p[HJKrylovAt(i, u)] = first ? a[u] : fma(beta, b[u], a[u]);
    }
  }
}

static __global__ void __launch_bounds__(HJ_KRYLOV_THREADS)
  HJKrylovGhosts_Kernel(long long n, bool first, const HJKrylovState *s, const double *z, double *p)
{
  HJDAwaitInput();
  HJDLetNextStart();
  const double beta = HJKrylovBeta(s, first);

  for (long long i = (long long)blockIdx.x * HJ_KRYLOV_THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * HJ_KRYLOV_THREADS)
    p[i] = first ? z[i] : fma(beta, p[i], z[i]);
}

static __global__ void HJKrylovTotal_Kernel(int nranks, const double *parts, double *sums)
{
  double sum = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  for (int r = 0; r < nranks; r++) sum += parts[HJ_KRYLOV_SHARED * r + threadIdx.x];
  sums[threadIdx.x] = sum;
}

static __device__ __forceinline__ void HJKrylovTakeProduct(HJKrylovState *s, double pw)
{
  s->sums.pw_before = s->sums.pw;
  s->sums.pw        = pw;
}

static __global__ void __launch_bounds__(HJ_KRYLOV_THREADS)
  HJKrylovDot_Kernel(long long n, const double *p, const double *w, HJKrylovState *s)
{
  double pw = 0, none = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  HJKrylovFor(i, n)
  {
    double a[HJ_KRYLOV_LOADS], b[HJ_KRYLOV_LOADS];

    HJKrylovEach(u)
    {
      const bool in = HJKrylovAt(i, u) < n;

      a[u] = in ? p[HJKrylovAt(i, u)] : 0;
      b[u] = in ? w[HJKrylovAt(i, u)] : 0;
    }
    HJKrylovEach(u) pw = fma(a[u], b[u], pw);
  }
  if (HJSumsTake<HJ_KRYLOV_THREADS, false>(&s->room, pw, none)) HJKrylovTakeProduct(s, pw);
}

static __global__ void __launch_bounds__(HJ_KRYLOV_THREADS)
  HJKrylovUpdate_Kernel(long long n, HJKrylovState *s, const double *p, const double *w, double *x, double *r)
{
  double rr = 0, none = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  const double alpha = HJKrylovAlpha(s);

  HJKrylovFor(i, n)
  {
    double a[HJ_KRYLOV_LOADS], b[HJ_KRYLOV_LOADS], c[HJ_KRYLOV_LOADS], d[HJ_KRYLOV_LOADS];

    HJKrylovEach(u)
    {
      const bool in = HJKrylovAt(i, u) < n;

      a[u] = in ? p[HJKrylovAt(i, u)] : 0;
      b[u] = in ? w[HJKrylovAt(i, u)] : 0;
      c[u] = in ? x[HJKrylovAt(i, u)] : 0;
      d[u] = in ? r[HJKrylovAt(i, u)] : 0;
    }
    HJKrylovEach(u)
    {
      if (alpha != 0) d[u] = fma(-alpha, b[u], d[u]);
      rr = fma(d[u], d[u], rr);
      if (alpha == 0 || HJKrylovAt(i, u) >= n) continue;
      x[HJKrylovAt(i, u)] = fma(alpha, a[u], c[u]);
      r[HJKrylovAt(i, u)] = d[u];
    }
  }
  if (HJSumsTake<HJ_KRYLOV_THREADS, false>(&s->room, rr, none)) s->sums.rr = rr;
}

/* A star's passes */
typedef struct {
  HJMarch        march;
  HJKrylovState *state;
  const double  *z, *before; /* before NULL: it is the first direction */
  double        *p, *w, *x, *r;
} HJKrylovArgs;

/* See HJMarchRun(): the sum of p A p, of a direction that is made on the way, and A p is not kept, or of one that is there, and it is */
template <bool MAKES> struct HJKrylovProductBody {
  struct More {};

  const HJKrylovArgs &k;
  double              beta, pw;

  __device__ __forceinline__ double Load(long long at) const
  {
    if (!MAKES) return __ldg(k.p + at);
    return k.before ? fma(beta, __ldg(k.before + at), __ldg(k.z + at)) : __ldg(k.z + at);
  }

  __device__ __forceinline__ More Ahead(long long) const { return {}; }

  __device__ __forceinline__ void Use(long long at, double here, double sum, More)
  {
    if (MAKES) k.p[at] = here;
    else k.w[at] = sum;
    pw = fma(here, sum, pw);
  }
};

/* The iterate, the residual and its squares */
struct HJKrylovUpdateBody {
  struct More {
    double x, r;
  };

  const HJKrylovArgs &k;
  double              alpha, rr;

  __device__ __forceinline__ double Load(long long at) const { return __ldg(k.p + at); }

  __device__ __forceinline__ More Ahead(long long at) const { return {k.x[at], k.r[at]}; }

  __device__ __forceinline__ void Use(long long at, double here, double sum, More more)
  {
    const double r = alpha != 0 ? fma(-alpha, sum, more.r) : more.r;

    rr = fma(r, r, rr);
    if (alpha == 0) return;
    k.x[at] = fma(alpha, here, more.x);
    k.r[at] = r;
  }
};

template <int DIM, int READ, bool GHOSTS> __global__ void HJMarchBounds(DIM) HJKrylovProduct_Kernel(const __grid_constant__ HJKrylovArgs k)
{
  double none = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  HJKrylovProductBody<READ != HJ_COEFFICIENTS_ARRAYS> body = {k, READ == HJ_COEFFICIENTS_ARRAYS ? 0 : HJKrylovBeta(k.state, !k.before), 0};

  HJMarchRun<DIM, READ, GHOSTS>(k.march, body);
  if (HJSumsTake<HJ_MARCH_THREADS, false>(&k.state->room, body.pw, none)) HJKrylovTakeProduct(k.state, body.pw);
}

template <int DIM, int READ, bool GHOSTS>
__global__ void HJMarchBounds(DIM) HJKrylovProductUpdate_Kernel(const __grid_constant__ HJKrylovArgs k)
{
  double none = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  HJKrylovUpdateBody body = {k, HJKrylovAlpha(k.state), 0};

  HJMarchRun<DIM, READ, GHOSTS>(k.march, body);
  if (HJSumsTake<HJ_MARCH_THREADS, false>(&k.state->room, body.rr, none)) k.state->sums.rr = body.rr;
}

/* Whether a direction is made with its product, and update() multiplies once more: it reads coefficients again in place of A p */
static bool HJKrylovMultipliesTwice(const HJCoefficients *a)
{
  return HJMarchTakes(a) && a->storage != HJ_COEFFICIENTS_ARRAYS;
}

static PetscErrorCode HJKrylovLaunch(const void *kernel, long long n, void **args)
{
  const long long per = HJ_KRYLOV_LOADS * HJ_KRYLOV_THREADS;
  HJLaunch        how = {};

  PetscFunctionBegin;
  PetscCall(HJStream(&how.stream));
  how.grid    = dim3((unsigned)PetscMax(PetscMin((n + per - 1) / per, HJ_SUM_BLOCKS), 1));
  how.block   = dim3(HJ_KRYLOV_THREADS);
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of what HJKrylovMultipliesTwice() says */
template <bool GHOSTS> static const void *HJKrylovUpdateKernel(const HJCoefficients *a)
{
  const bool one = a->storage == HJ_COEFFICIENTS_ROW;

  if (a->dim > 2)
    return one ? (const void *)HJKrylovProductUpdate_Kernel<3, HJ_COEFFICIENTS_ROW, GHOSTS>
               : (const void *)HJKrylovProductUpdate_Kernel<3, HJ_COEFFICIENTS_DICTIONARY, GHOSTS>;
  return one ? (const void *)HJKrylovProductUpdate_Kernel<2, HJ_COEFFICIENTS_ROW, GHOSTS>
             : (const void *)HJKrylovProductUpdate_Kernel<2, HJ_COEFFICIENTS_DICTIONARY, GHOSTS>;
}

template <bool GHOSTS> static const void *HJKrylovMarchKernel(const HJCoefficients *a, bool update)
{
  return update ? HJKrylovUpdateKernel<GHOSTS>(a) : HJMarchKernel(HJKrylovProduct_Kernel, a, GHOSTS);
}

static PetscErrorCode HJKrylovMarch(const HJProduct *product, PetscBool neighbors, HJKrylovSums *sums, HJKrylovArgs k)
{
  const HJCoefficients *a      = product->a;
  void                 *args[] = {&k};
  HJLaunch              how    = {};
  HJDevice              device;

  PetscFunctionBegin;
  PetscCall(HJStream(&how.stream));
  PetscCall(HJDeviceRead(&device));
  k.state     = (HJKrylovState *)sums;
  k.p         = (double *)product->x;
  k.w         = product->y;
  how.grid    = dim3(HJMarchSet(a, product->shell->width, device.nsm, &k.march));
  how.block   = dim3(HJ_MARCH_THREADS);
  how.overlap = true;
  HJMarchSetGhosts(product->shell, product->ghost, &k.march);
  PetscCallCUDA(HJLaunchKernel(&how, neighbors ? HJKrylovMarchKernel<true>(a, k.x) : HJKrylovMarchKernel<false>(a, k.x), args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static long long HJKrylovSize(const HJProduct *product)
{
  return (long long)HJCoefficientsDof(product->a) * product->a->npoints;
}

PetscErrorCode HJKrylovSums_CUDA(PetscInt n, const PetscScalar *z, const PetscScalar *r, HJKrylovSums *sums)
{
  long long m      = n;
  void     *args[] = {&m, (void *)&z, (void *)&r, &sums};

  PetscFunctionBegin;
  PetscCall(HJKrylovLaunch((const void *)HJKrylovSums_Kernel, m, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovGhosts_CUDA(PetscCount n, PetscBool first, const HJKrylovSums *sums, const PetscScalar *z, PetscScalar *p)
{
  long long m        = n;
  bool      is_first = first;
  void     *args[]   = {&m, &is_first, &sums, (void *)&z, &p};

  PetscFunctionBegin;
  PetscCall(HJKrylovLaunch((const void *)HJKrylovGhosts_Kernel, m, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovTotal_CUDA(PetscInt nranks, const PetscScalar *parts, PetscInt n, PetscScalar *sums)
{
  int      ranks  = (int)nranks;
  void    *args[] = {&ranks, (void *)&parts, &sums};
  HJLaunch how    = {};

  PetscFunctionBegin;
  PetscCall(HJStream(&how.stream));
  how.grid    = dim3(1);
  how.block   = dim3((unsigned)n);
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJKrylovTotal_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovDirection_CUDA(const HJProduct *product, PetscBool neighbors, PetscBool first, HJKrylovSums *sums,
                                      const PetscScalar *z, const PetscScalar *before, PetscScalar *p, PetscBool *multiplied)
{
  const bool   made     = HJKrylovMultipliesTwice(product->a);
  long long    n        = HJKrylovSize(product);
  bool         is_first = first;
  void        *args[]   = {&n, &is_first, &sums, (void *)&z, (void *)&before, &p};
  HJKrylovArgs k        = {};

  PetscFunctionBegin;
  k.z      = z;
  k.before = first ? NULL : before;
  if (!made) PetscCall(HJKrylovLaunch((const void *)HJKrylovDirection_Kernel, n, args));
  *multiplied = (PetscBool)HJMarchTakes(product->a);
  if (*multiplied) PetscCall(HJKrylovMarch(product, neighbors, sums, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovDot_CUDA(const HJProduct *product, HJKrylovSums *sums)
{
  long long n      = HJKrylovSize(product);
  void     *args[] = {&n, (void *)&product->x, (void *)&product->y, &sums};

  PetscFunctionBegin;
  PetscCall(HJKrylovLaunch((const void *)HJKrylovDot_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovUpdate_CUDA(const HJProduct *product, PetscBool neighbors, HJKrylovSums *sums, PetscScalar *x, PetscScalar *r)
{
  long long    n      = HJKrylovSize(product);
  void        *args[] = {&n, &sums, (void *)&product->x, (void *)&product->y, &x, &r};
  HJKrylovArgs k      = {};

  PetscFunctionBegin;
  k.x = x;
  k.r = r;
  if (HJKrylovMultipliesTwice(product->a)) PetscCall(HJKrylovMarch(product, neighbors, sums, k));
  else PetscCall(HJKrylovLaunch((const void *)HJKrylovUpdate_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovBegin_CUDA(HJKrylovSums **sums)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, sizeof(HJKrylovState), (void **)sums));
  PetscCallCUDA(cudaMemsetAsync(*sums, 0, sizeof(HJKrylovState), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovFetch_CUDA(const HJKrylovSums *sums, HJKrylovSums *host)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(host, sums, sizeof(*host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu(sizeof(*host)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKrylovEnd_CUDA(HJKrylovSums **sums)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchFree(stream, *sums));
  *sums = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
