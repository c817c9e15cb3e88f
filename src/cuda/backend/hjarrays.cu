/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Work on coefficient arrays in device memory, in the order of the host's sums, so that the same bits come out. A kernel takes a point, or
   a place, a thread.
*/
#include "hjcuda.h"
#include "hjarrays_cuda.h"
#include "cuda/device/hjscratch.h"
#include "cuda/kernels/hjkernel.h"
#include "cuda/kernels/setup/hjlayers_cuda.h"
#include "cuda/kernels/setup/hjsystemread.h"

#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)

static unsigned HJArraysBlocks(long long n)
{
  return (unsigned)PetscMin((n + HJ_ARRAYS_THREADS - 1) / HJ_ARRAYS_THREADS, 1LL << 30);
}

  /* A kernel on n places */
  #define HJArraysLaunch(kernel, n, ...)                                                                                                   \
    do {                                                                                                                                   \
      cudaStream_t stream;                                                                                                                 \
                                                                                                                                           \
      if (!(n)) break;                                                                                                                     \
      PetscCall(HJStream(&stream));                                                                                                        \
      PetscCall(PetscLogGpuTimeBegin());                                                                                                   \
      kernel<<<HJArraysBlocks(n), HJ_ARRAYS_THREADS, 0, stream>>>(__VA_ARGS__);                                                            \
      PetscCallCUDA(cudaGetLastError());                                                                                                   \
      PetscCall(PetscLogGpuTimeEnd());                                                                                                     \
    } while (0)

/* Places of this thread: first, and the step to the next */
static __device__ long long HJArraysFirst()
{
  return blockIdx.x * (long long)blockDim.x + threadIdx.x;
}

static __device__ long long HJArraysStep()
{
  return gridDim.x * (long long)blockDim.x;
}

static __global__ void HJCombine_Kernel(long long n, double a, const double *x, double b, double *y)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) {
    const double ax = x ? __dmul_rn(a, x[i]) : a;

    y[i] = __dadd_rn(ax, b != 0.0 ? __dmul_rn(b, y[i]) : 0.0);
  }
}

static __global__ void HJMultiply_Kernel(long long n, const double *x, double *y)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) y[i] *= x[i];
}

static __global__ void HJNonzero_Kernel(long long n, const double *x, int *zero)
{
  bool any = false;

  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) any = any || x[i] == 0.0;
  if (any) *zero = 1;
}

typedef struct {
  HJDBox keep;
  int    n[3];
} HJSlotPoints;

/* value: the slot's array; else rows, of which index says the one of each point; else one number */
static __global__ void HJSlot_Kernel(const __grid_constant__ HJSlotPoints p, const double *value, const double *rows,
                                     const unsigned char *index, int nslots, double one, double *to)
{
  const long long size = (long long)p.n[0] * p.n[1] * p.n[2];

  for (long long r = HJArraysFirst(); r < size; r += HJArraysStep()) {
    const long long line = r / p.n[0];
    const int       i = (int)(r % p.n[0]), j = (int)(line % p.n[1]), k = (int)(line / p.n[1]);
    const bool in = i >= p.keep.lo[0] && i < p.keep.hi[0] && j >= p.keep.lo[1] && j < p.keep.hi[1] && k >= p.keep.lo[2] && k < p.keep.hi[2];

    to[r] = !in ? 0.0 : value ? value[r] : index ? rows[index[r] * nslots] : one;
  }
}

/* Slots that lead to earlier points, and the opposite ones: offsets, places in value, or in a row */
typedef struct {
  int                  n[3], nslots, npairs, off[HJ_MAX_SLOTS / 2][3];
  long long            away[HJ_MAX_SLOTS / 2], lower[HJ_MAX_SLOTS / 2], upper[HJ_MAX_SLOTS / 2];
  const double        *value, *rows; /* of a dictionary value is NULL */
  const unsigned char *index;
  double               slack;
} HJSymmetricArgs;

static __device__ __forceinline__ bool HJSymmetricPair(const HJSymmetricArgs &p, int m, int i, int j, int k, long long at, double diagonal)
{
  const int *off = p.off[m];

  if (i + off[0] < 0 || i + off[0] >= p.n[0] || j + off[1] < 0 || j + off[1] >= p.n[1] || k + off[2] < 0) return true;
  const long long to = at + p.away[m];

  return p.value
           ? HJIsSameBeside(p.value[p.lower[m] + at], p.value[p.upper[m] + to], diagonal, p.slack)
           : HJIsSameBeside(p.rows[p.index[at] * p.nslots + p.lower[m]], p.rows[p.index[to] * p.nslots + p.upper[m]], diagonal, p.slack);
}

static __global__ void HJSymmetric_Kernel(const __grid_constant__ HJSymmetricArgs p, int *differ)
{
  const long long size = (long long)p.n[0] * p.n[1] * p.n[2];
  bool            same = true;

  for (long long r = HJArraysFirst(); r < size; r += HJArraysStep()) {
    const long long line     = r / p.n[0];
    const double    diagonal = p.value ? p.value[r] : p.rows[p.index[r] * p.nslots];

    for (int m = 0; m < p.npairs; m++)
      same = HJSymmetricPair(p, m, (int)(r % p.n[0]), (int)(line % p.n[1]), (int)(line / p.n[1]), r, diagonal) && same;
  }
  if (!same) *differ = 1;
}

static __global__ void HJShifted_Kernel(const __grid_constant__ HJShell shell, int di, int dj, int dk, const double *x, const double *ghost,
                                        double *to)
{
  const long long size = (long long)shell.width[0] * shell.width[1] * shell.width[2];

  for (long long r = HJArraysFirst(); r < size; r += HJArraysStep()) {
    const long long line = r / shell.width[0];

    to[r] = HJShellAt(&shell, x, ghost, (int)(r % shell.width[0]) + di, (int)(line % shell.width[1]) + dj,
                      (int)(line / shell.width[1]) + dk);
  }
}

static __global__ void HJGather_Kernel(long long n, const PetscCount *which, const double *from, double *to)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) to[i] = from[which[i]];
}

static __global__ void HJScatter_Kernel(long long n, const PetscCount *which, const double *from, double *to)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) to[which[i]] = from[i];
}

static __global__ void HJMixAt_Kernel(long long n, const PetscCount *which, double p, const double *factor, const double *from, double q,
                                      const double *base, double *to)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) {
    const PetscCount at = which[i];

    to[at] = (p != 0 ? p * factor[i] * from[at] : 0.0) + (q != 0 ? q * base[at] : 0.0);
  }
}

/* yes: in memory of the host */
static __global__ void HJAskSome_Kernel(long long n, const PetscCount *which, const double *x, const double *y, double *yes)
{
  bool some = false;

  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) some = some || !(x[which[i]] == 0) || (y && !(y[which[i]] == 0));
  if (some) *yes = 1.0;
}

/* Lines of points of a box in two arrays: where its first point lies, and how far the next lines and planes */
typedef struct {
  int       width[3];
  long long from, from_line, from_plane, to, to_line, to_plane;
} HJPart;

/* A row of threads takes a line */
template <typename T> static __global__ void HJPart_Kernel(const __grid_constant__ HJPart p, const T *from, T *to)
{
  const long long lines = (long long)p.width[1] * p.width[2];

  for (long long line = blockIdx.x * (long long)blockDim.y + threadIdx.y; line < lines; line += (long long)gridDim.x * blockDim.y) {
    const int j = (int)(line % p.width[1]), k = (int)(line / p.width[1]);
    const T  *a = from + p.from + j * p.from_line + k * p.from_plane;
    T        *b = to + p.to + j * p.to_line + k * p.to_plane;

  #pragma unroll 4
    for (int i = (int)threadIdx.x; i < p.width[0]; i += (int)blockDim.x) b[i] = a[i];
  }
}

/* What HJArrayOps' couples() is asked */
typedef struct {
  HJEntries a;
  int       n[3];
  HJBox     domain, points[HJ_MAX_SIDES], to;
  bool      in;
} HJCouplesArgs;

static __device__ bool HJPointCouples(const HJCouplesArgs &p, int i, int j, int k)
{
  const long long at = ((long long)k * p.n[1] + j) * p.n[0] + i;

  if (p.in && HJEntryAt(&p.a, 0, at) == 0.0) return true;
  for (int s = 1; s < p.a.nslots; s++) {
    const signed char *off   = p.a.off[s];
    const int          to[3] = {i + off[0], j + off[1], k + off[2]};

    if (HJEntryAt(&p.a, s, at) == 0.0) continue;
    if (HJPointInside(&p.domain, to[0], to[1], to[2]) && HJPointInside(&p.to, to[0], to[1], to[2]) == (PetscBool)p.in) return true;
  }
  return false;
}

/* Bit blockIdx.y is set where that box has such a point */
static __global__ void HJCouples_Kernel(const __grid_constant__ HJCouplesArgs p, int *found)
{
  const HJBox    *box   = &p.points[blockIdx.y];
  const long long width = box->hi[0] - box->lo[0], height = box->hi[1] - box->lo[1], size = width * height * (box->hi[2] - box->lo[2]);
  bool            any = false;

  for (long long r = HJArraysFirst(); r < size && !any; r += HJArraysStep())
    any = HJPointCouples(p, box->lo[0] + (int)(r % width), box->lo[1] + (int)(r / width % height), box->lo[2] + (int)(r / width / height));
  if (any) atomicOr(found, 1 << blockIdx.y);
}

static __global__ void HJAdd_Kernel(const __grid_constant__ HJCOOList list, const double *entries, double *value)
{
  for (long long m = HJArraysFirst(); m < list.n; m += HJArraysStep()) {
    double sum = value[list.place[m]];

    for (int e = list.first[m]; e < list.first[m + 1]; e++) sum += entries[list.entry[e]];
    value[list.place[m]] = sum;
  }
}

static __global__ void HJSpread_Kernel(long long n, int dof, int component, const double *v, double *to)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) to[i] = v[i * dof + component];
}

static __global__ void HJJoin_Kernel(long long n, int dof, int component, const double *from, double *v)
{
  for (long long i = HJArraysFirst(); i < n; i += HJArraysStep()) v[i * dof + component] = from[i];
}

/* All components of HJ_ARRAYS_THREADS points at a time, number by number as they lie in the vector: both sides are read and written in
   pieces of whole sectors */
template <bool JOIN> static __global__ void HJComponents_Kernel(long long n, int dof, long long apart, double *apart_values, double *v)
{
  for (long long p = (long long)blockIdx.x * HJ_ARRAYS_THREADS; p < n; p += (long long)gridDim.x * HJ_ARRAYS_THREADS) {
    const int m = (int)min(n - p, (long long)HJ_ARRAYS_THREADS) * dof;

    for (int e = threadIdx.x; e < m; e += HJ_ARRAYS_THREADS) {
      const int point = e / dof;
      double   *one   = apart_values + (e - point * dof) * apart + p + point;

      if (JOIN) v[p * dof + e] = *one;
      else *one = v[p * dof + e];
    }
  }
}

/* Arrays of all slots, one after another, over n points in each direction */
typedef struct {
  const double *value;
  long long     npoints;
  int           n[3];
} HJCoefficientArrays;

/* What HJArrayOps' holds() finds of a slot: bit 0: it has a number that is not 0; bit 1: one inside the domain that is not the first one
   there */
typedef struct {
  int    found, has_first;
  HJDBox inside;
  double first;
} HJHolds;

/* blockIdx.y: the slot */
static __global__ void HJHolds_Kernel(const HJCoefficientArrays a, HJHolds *holds)
{
  HJHolds      *h     = &holds[blockIdx.y];
  const double *value = a.value + blockIdx.y * a.npoints;
  const HJDBox  b     = h->inside;
  const double  first = h->has_first ? value[((long long)b.lo[2] * a.n[1] + b.lo[1]) * a.n[0] + b.lo[0]] : 0.0;
  int           found = 0;

  for (long long p = HJArraysFirst(); p < a.npoints; p += HJArraysStep()) {
    const long long line = p / a.n[0];

    if (value[p] != 0.0) found |= 1;
    if (value[p] != first && HJDInside(b, (int)(p % a.n[0]), (int)(line % a.n[1]), (int)(line / a.n[1]))) found |= 2;
  }
  if (found) atomicOr(&h->found, found);
  if (!blockIdx.x && !threadIdx.x) h->first = first;
}

/* first: the slot from which on they lead to other points; any: whether some point has nothing there */
static __global__ void HJKnown_Kernel(const HJCoefficientArrays a, int dof, int first, int nslots, double *mask, int *any)
{
  for (long long p = HJArraysFirst(); p < a.npoints; p += HJArraysStep()) {
    int s = first;

    while (s < nslots && a.value[s * a.npoints + p] == 0.0) s++;
    for (int l = 0; l < dof; l++) mask[p * dof + l] = s < nslots;
    if (s == nslots) *any = 1;
  }
}

static PetscErrorCode HJArraysAlloc_CUDA(size_t bytes, void *address)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(HJAlloc((bytes + 15) / 16 * 16, (void **)address)); /* kernels read an index by words */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysFree_CUDA(void *address)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(*(void **)address));
  *(void **)address = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysCopy_CUDA(void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(HJCopyBytes_CUDA(NULL, to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysZero_CUDA(void *to, size_t bytes)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaMemsetAsync(to, 0, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAllocZeros_CUDA(size_t bytes, void *address)
{
  PetscFunctionBegin;
  PetscCall(HJArraysAlloc_CUDA(bytes, address));
  PetscCall(HJArraysZero_CUDA(*(void **)address, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysCombine_CUDA(PetscCount n, PetscScalar a, const PetscScalar *x, PetscScalar b, PetscScalar *y)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJCombine_Kernel, n, n, a, x, b, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysMultiply_CUDA(PetscCount n, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJMultiply_Kernel, n, n, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number in device memory, 0, that kernels set to 1, or bits of it */
static PetscErrorCode HJFlagBegin(int **flag)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, sizeof(**flag), (void **)flag));
  PetscCallCUDA(cudaMemsetAsync(*flag, 0, sizeof(**flag), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for them */
static PetscErrorCode HJFlagEnd(int *flag, int *value)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(value, flag, sizeof(*value), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysNonzero_CUDA(PetscCount n, const PetscScalar *x, PetscBool *all)
{
  int *flag, zero;

  PetscFunctionBegin;
  PetscCall(HJFlagBegin(&flag));
  HJArraysLaunch(HJNonzero_Kernel, n, n, x, flag);
  PetscCall(HJFlagEnd(flag, &zero));
  *all = (PetscBool)!zero;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysSymmetric_CUDA(const HJCoefficients *c, const PetscInt n[3], PetscReal slack, PetscBool *symmetric)
{
  const bool      arrays = c->storage == HJ_COEFFICIENTS_ARRAYS;
  HJSymmetricArgs p      = {.nslots = (int)c->nslots, .npairs = 0};
  int            *flag, differ;

  PetscFunctionBegin;
  p.value = arrays ? c->value : NULL;
  p.rows  = c->device_rows;
  p.index = c->index;
  p.slack = slack;
  for (int d = 0; d < 3; d++) p.n[d] = (int)n[d];
  for (PetscInt s = 1; s < c->nslots; s++) {
    const PetscInt opposite = HJSlotOpposite(c, s), m = p.npairs;
    PetscInt       off[3];

    if (HJSlotIsUpper(c, s)) continue;
    HJSlotOffset(c, s, off);
    for (int d = 0; d < 3; d++) p.off[m][d] = (int)off[d];
    p.away[m]  = ((long long)off[2] * n[1] + off[1]) * n[0] + off[0];
    p.lower[m] = arrays ? HJSlotBegin(c, s) : s;
    p.upper[m] = arrays ? HJSlotBegin(c, opposite) : opposite;
    p.npairs++;
  }
  PetscCall(HJFlagBegin(&flag));
  HJArraysLaunch(HJSymmetric_Kernel, c->npoints, p, flag);
  PetscCall(HJFlagEnd(flag, &differ));
  *symmetric = (PetscBool)!differ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysSlot_CUDA(const HJCoefficients *c, PetscInt slot, const PetscInt n[3], const HJBox *keep, PetscScalar *to)
{
  const double      *value = c->storage == HJ_COEFFICIENTS_ARRAYS ? c->value + HJSlotBegin(c, slot) : NULL;
  const bool         many  = c->storage == HJ_COEFFICIENTS_DICTIONARY;
  const HJSlotPoints p     = {HJDBoxFrom(keep), {(int)n[0], (int)n[1], (int)n[2]}};

  PetscFunctionBegin;
  HJArraysLaunch(HJSlot_Kernel, c->npoints, p, value, many ? c->device_rows + slot : NULL, many ? c->index : NULL, (int)c->nslots,
                 c->storage == HJ_COEFFICIENTS_ROW ? c->rows[slot] : 0.0, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysShifted_CUDA(const HJShell *shell, const PetscInt off[3], const PetscScalar *x, const PetscScalar *ghost,
                                           PetscScalar *to)
{
  const long long n = (long long)shell->width[0] * shell->width[1] * shell->width[2];

  PetscFunctionBegin;
  HJArraysLaunch(HJShifted_Kernel, n, *shell, (int)off[0], (int)off[1], (int)off[2], x, ghost, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysGather_CUDA(PetscCount n, const PetscCount *which, const PetscScalar *from, PetscScalar *to)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJGather_Kernel, n, n, which, from, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysScatter_CUDA(PetscCount n, const PetscCount *which, const PetscScalar *from, PetscScalar *to)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJScatter_Kernel, n, n, which, from, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysMixAt_CUDA(PetscCount n, const PetscCount *which, PetscScalar p, const PetscScalar *factor,
                                         const PetscScalar *from, PetscScalar q, const PetscScalar *base, PetscScalar *to)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJMixAt_Kernel, n, n, which, p, factor, from, q, base, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAnswerCreate_CUDA(HJAnswer *answer)
{
  cudaEvent_t found;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventCreateWithFlags(&found, cudaEventDisableTiming));
  answer->found = found;
  PetscCall(HJPinnedAlloc(&answer->yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAskSome_CUDA(PetscCount n, const PetscCount *which, const PetscScalar *x, const PetscScalar *y,
                                           HJAnswer *answer)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  *answer->yes = 0.0;
  HJArraysLaunch(HJAskSome_Kernel, n, n, which, x, y, answer->yes);
  PetscCallCUDA(cudaEventRecord((cudaEvent_t)answer->found, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller decides by it what to do next */
static PetscErrorCode HJAnswerWait_CUDA(const HJAnswer *answer, PetscBool *yes)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventSynchronize((cudaEvent_t)answer->found));
  *yes = (PetscBool)(*(volatile double *)answer->yes != 0.0);
  PetscCall(PetscLogGpuToCpu(sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAnswerDestroy_CUDA(HJAnswer *answer)
{
  PetscFunctionBegin;
  if (!answer->yes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaEventDestroy((cudaEvent_t)answer->found));
  PetscCall(HJPinnedFree(&answer->yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysPart_CUDA(size_t size, const HJBox *part, const HJBox *over, const void *from, const HJBox *onto, void *to)
{
  const dim3      block(HJ_PART_THREADS, HJ_ARRAYS_THREADS / HJ_PART_THREADS);
  const long long lines = (long long)HJBoxWidth(part, 1) * HJBoxWidth(part, 2);
  const unsigned  grid  = (unsigned)PetscMin((lines + block.y - 1) / block.y, 1LL << 30);
  const HJPart    p     = {{(int)HJBoxWidth(part, 0), (int)HJBoxWidth(part, 1), (int)HJBoxWidth(part, 2)},
                           HJBoxIndex(over, part->lo[0], part->lo[1], part->lo[2]),
                           HJBoxWidth(over, 0),
                           (long long)HJBoxWidth(over, 0) * HJBoxWidth(over, 1),
                           HJBoxIndex(onto, part->lo[0], part->lo[1], part->lo[2]),
                           HJBoxWidth(onto, 0),
                           (long long)HJBoxWidth(onto, 0) * HJBoxWidth(onto, 1)};
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (HJBoxEmpty(part)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (size == 1) HJPart_Kernel<<<grid, block, 0, stream>>>(p, (const char *)from, (char *)to);
  else HJPart_Kernel<<<grid, block, 0, stream>>>(p, (const double *)from, (double *)to);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysCouples_CUDA(const HJCoefficients *c, const HJGrid *grid, PetscInt n, const HJBox points[], const HJBox *to,
                                           PetscBool in, PetscBool couple[])
{
  HJCouplesArgs p    = {};
  long long     most = 0;
  cudaStream_t  stream;
  int          *flag, found;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < n; b++) {
    p.points[b] = points[b];
    most        = PetscMax(most, (long long)HJBoxSize(&points[b]));
    couple[b]   = PETSC_FALSE;
  }
  if (!most || !n) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) p.n[d] = (int)HJBoxWidth(&grid->owned, d);
  p.domain = grid->domain;
  p.a      = HJEntriesOf(c);
  p.to     = *to;
  p.in     = in;
  PetscCall(HJFlagBegin(&flag));
  PetscCall(HJStream(&stream));
  HJCouples_Kernel<<<dim3(HJArraysBlocks(most), (unsigned)n), HJ_ARRAYS_THREADS, 0, stream>>>(p, flag);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(HJFlagEnd(flag, &found));
  for (PetscInt b = 0; b < n; b++) couple[b] = (PetscBool)(found >> b & 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAdd_CUDA(const HJCOOList *list, const PetscScalar *entries, PetscScalar *value)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJAdd_Kernel, list->n, *list, entries, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysSpread_CUDA(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *v, PetscScalar *to)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJSpread_Kernel, n, n, (int)dof, (int)component, v, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysJoin_CUDA(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *from, PetscScalar *v)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJJoin_Kernel, n, n, (int)dof, (int)component, from, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysSpreadAll_CUDA(PetscInt dof, PetscCount n, const PetscScalar *v, PetscCount apart, PetscScalar *to)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJComponents_Kernel<false>, n, n, (int)dof, apart, to, (PetscScalar *)v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysJoinAll_CUDA(PetscInt dof, PetscCount n, PetscCount apart, const PetscScalar *from, PetscScalar *v)
{
  PetscFunctionBegin;
  HJArraysLaunch(HJComponents_Kernel<true>, n, n, (int)dof, apart, (PetscScalar *)from, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the device */
static PetscErrorCode HJArraysHolds_CUDA(const HJCoefficients *c, const HJGrid *grid, HJSlotHolds holds[])
{
  HJCoefficientArrays a     = {c->value, c->npoints, {}};
  const size_t        bytes = c->nslots * sizeof(HJHolds);
  HJHolds            *h, *d_holds;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(c->nslots, &h));
  for (int d = 0; d < 3; d++) a.n[d] = (int)grid->owned.hi[d];
  for (PetscInt s = 0; s < c->nslots; s++) {
    const HJBox inside = HJCoefficientsInside(c, s, grid);

    h[s].has_first = !HJBoxEmpty(&inside);
    h[s].inside    = HJDBoxFrom(&inside);
  }
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, bytes, (void **)&d_holds));
  PetscCallCUDA(cudaMemcpyAsync(d_holds, h, bytes, cudaMemcpyHostToDevice, stream));
  HJHolds_Kernel<<<dim3(PetscMin(HJArraysBlocks(c->npoints), 64), (unsigned)c->nslots), HJ_ARRAYS_THREADS, 0, stream>>>(a, d_holds);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(h, d_holds, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_holds));
  for (PetscInt s = 0; s < c->nslots; s++)
    holds[s] = {(PetscBool)(h[s].found & 1), (PetscBool)h[s].has_first, (PetscBool) !(h[s].found & 2), h[s].first};
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the device */
static PetscErrorCode HJArraysKnown_CUDA(const HJCoefficients *c, PetscScalar *mask, PetscBool *any)
{
  const HJCoefficientArrays a = {c->value, c->npoints, {}};
  int                      *flag, found = 0, first = 0;

  PetscFunctionBegin;
  while (first < c->nslots && !c->entry[first].slot) first++;
  if (c->storage == HJ_COEFFICIENTS_ROW) {
    for (PetscInt s = first; s < c->nslots; s++) found = found || c->rows[s] != 0.0;
    PetscCall(HJArraysCombine_CUDA(c->npoints * c->dof, found ? 1.0 : 0.0, NULL, 0.0, mask));
    *any = (PetscBool)!found;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJFlagBegin(&flag));
  HJArraysLaunch(HJKnown_Kernel, c->npoints, a, (int)c->dof, first, (int)c->nslots, mask, flag);
  PetscCall(HJFlagEnd(flag, &found));
  *any = (PetscBool)found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJArrayOps HJArraysCUDA = {
  .backend        = &HJBackendCUDA,
  .alloc          = HJArraysAlloc_CUDA,
  .free           = HJArraysFree_CUDA,
  .copy           = HJArraysCopy_CUDA,
  .zero           = HJArraysZero_CUDA,
  .combine        = HJArraysCombine_CUDA,
  .multiply       = HJArraysMultiply_CUDA,
  .nonzero        = HJArraysNonzero_CUDA,
  .slot           = HJArraysSlot_CUDA,
  .symmetric      = HJArraysSymmetric_CUDA,
  .shifted        = HJArraysShifted_CUDA,
  .gather         = HJArraysGather_CUDA,
  .scatter        = HJArraysScatter_CUDA,
  .part           = HJArraysPart_CUDA,
  .couples        = HJArraysCouples_CUDA,
  .add            = HJArraysAdd_CUDA,
  .put            = HJArraysPut_CUDA,
  .find           = HJArraysFind_CUDA,
  .find_more      = HJArraysFindMore_CUDA,
  .scan           = HJArraysScan_CUDA,
  .number         = HJArraysNumber_CUDA,
  .alloc_zeros    = HJArraysAllocZeros_CUDA,
  .spread         = HJArraysSpread_CUDA,
  .join           = HJArraysJoin_CUDA,
  .spread_all     = HJArraysSpreadAll_CUDA,
  .join_all       = HJArraysJoinAll_CUDA,
  .holds          = HJArraysHolds_CUDA,
  .frame          = HJFrameFind_CUDA,
  .few            = HJSystemFew_CUDA,
  .known          = HJArraysKnown_CUDA,
  .mix_at         = HJArraysMixAt_CUDA,
  .ask_some       = HJArraysAskSome_CUDA,
  .answer_create  = HJAnswerCreate_CUDA,
  .answer_wait    = HJAnswerWait_CUDA,
  .answer_destroy = HJAnswerDestroy_CUDA,
};
#endif
