/* SPDX-License-Identifier: BSD-2-Clause */
/*
   One subiteration a launch, for every dimension, shape and storage: what no fast family takes, and most sweeps of a single subiteration.
   Decides nothing about passes. A warp covers 32 points in x; every read is cut at the domain's end.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjcoefficient.cuh"

typedef struct {
  HJDStencil  st;
  HJDSweep    s[HJD_MAX_SWEEPS];
  PetscScalar w;
} HJGeneralArgs;

template <int DIM, bool BOX, int STORAGE, bool WRAP>
__device__ PetscScalar HJGeneralUpdate(const HJGeneralArgs &p, const HJDSweep &s, int i, int j, int k)
{
  constexpr int      NN = HJDNeighbors(DIM, BOX);
  const long long    at = HJDIndex(p.st.box, i, j, k), xat = HJDIndex(s.box, i, j, k);
  const int          sx = HJDWidth(p.st.box, 0), bx = HJDWidth(s.box, 0);
  const long long    sxy = (long long)sx * HJDWidth(p.st.box, 1), bxy = (long long)bx * HJDWidth(s.box, 1);
  const int          r    = STORAGE == HJ_DICTIONARY && p.st.index ? p.st.index[at] : 0; /* no index: one row */
  const PetscScalar  dinv = STORAGE == HJ_DICTIONARY ? p.st.dinv_rows[r] : p.st.dinv[at];
  const PetscScalar *row  = p.st.rows + (long long)r * (1 + NN);
  const int          r0   = DIM == 3 ? k : DIM == 2 ? j : i;
  const PetscScalar  b    = HJDHome(s, s.b, s.bghost, r0)[xat];
  PetscScalar        sum  = 0.0, x;

  if (!s.x) return p.w * (dinv * b);
  x = HJDHome(s, s.x, s.xghost, r0)[xat];
#pragma unroll
  for (int o = 0; o < NN; o++) {
    const int dx = HJDOffset(DIM, BOX, o, 0), dy = HJDOffset(DIM, BOX, o, 1), dz = HJDOffset(DIM, BOX, o, 2);

    if (HJDInside(s.domain, i + dx, j + dy, k + dz)) {
      const PetscScalar c = HJDCoefficient<DIM, BOX, STORAGE>(p.st, row, o, at, sx, sxy);

      sum += c * HJDHome(s, s.x, s.xghost,
                         r0 + (DIM == 3   ? dz
                               : DIM == 2 ? dy
                                          : dx))[xat + (WRAP ? HJDBeside(s, i, j, dx, dy) : dx + (long long)dy * bx) + dz * bxy];
    }
  }
  if (STORAGE == HJ_DICTIONARY) return x + p.w * (dinv * b - row[0] * x - sum);
  return x + p.w * (dinv * (b - sum) - x);
}

/* blockIdx.z chooses the sweep; rows of a block are strided over the lines of its box */
template <int DIM, bool BOX, int STORAGE, bool WRAP>
__global__ void __launch_bounds__(256) HJGeneral_Kernel(const __grid_constant__ HJGeneralArgs p)
{
  const HJDSweep &s = p.s[blockIdx.z];
  const int       i = s.write.lo[0] + (int)(blockIdx.x * blockDim.x + threadIdx.x), ny = HJDWidth(s.write, 1);
  const long long lines = (long long)ny * HJDWidth(s.write, 2);

  if (i >= s.write.hi[0]) return;
  for (long long l = (long long)blockIdx.y * blockDim.y + threadIdx.y; l < lines; l += (long long)gridDim.y * blockDim.y) {
    const int j = s.write.lo[1] + (int)(l % ny), k = s.write.lo[2] + (int)(l / ny);

    HJDStore(s, DIM == 3 ? k : DIM == 2 ? j : i, HJDIndex(s.ybox, i, j, k), HJGeneralUpdate<DIM, BOX, STORAGE, WRAP>(p, s, i, j, k));
  }
}

/* The first subiteration from zero reads no neighbours: points one after the other, so that no lane of a line's last warp is idle */
typedef struct {
  const PetscScalar *b, *dinv;
  PetscScalar       *y, w;
  HJDBox             write, box, ybox, cbox;
  unsigned           n;
} HJGeneralFirstArgs;

__global__ void __launch_bounds__(HJ_PLAIN_FIRST_THREADS) HJGeneralFirst_Kernel(const __grid_constant__ HJGeneralFirstArgs p)
{
  const unsigned nx = HJDWidth(p.write, 0), ny = HJDWidth(p.write, 1), e0 = blockIdx.x * blockDim.x * HJ_PLAIN_FIRST_POINTS + threadIdx.x;

  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int q = 0; q < HJ_PLAIN_FIRST_POINTS; q++) {
    const unsigned e = e0 + q * HJ_PLAIN_FIRST_THREADS, l = e / nx;
    const int      i = p.write.lo[0] + (int)(e - l * nx), j = p.write.lo[1] + (int)(l % ny), k = p.write.lo[2] + (int)(l / ny);

    if (e < p.n) p.y[HJDIndex(p.ybox, i, j, k)] = p.w * (p.dinv[HJDIndex(p.cbox, i, j, k)] * p.b[HJDIndex(p.box, i, j, k)]);
  }
}

static int HJGeneralFirstTakes(const HJDevice *, const HJAsk *ask)
{
  const HJDSweep *s = ask->sweep;

  if (ask->kind != HJ_SINGLE || ask->nsweeps != 1 || !s || s->x || ask->st->dim < 3 || ask->st->storage == HJ_DICTIONARY) return 0;
  return !s->bghost[0] && !s->bghost[1] && !s->copy[0] && !s->copy[1] &&
         (long long)HJDWidth(s->write, 0) * HJDWidth(s->write, 1) * HJDWidth(s->write, 2) < INT_MAX;
}

static PetscErrorCode HJGeneralFirstLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const HJDStencil  *st     = &cuda->st;
  const HJDSweep    *s      = pass->sweep;
  HJGeneralFirstArgs p      = {s->b, st->dinv, s->y, (PetscScalar)pass->w[0], s->write, s->box, s->ybox, st->box, 0};
  void              *args[] = {&p};
  HJLaunch           how    = {};

  PetscFunctionBegin;
  p.n         = (unsigned)HJDWidth(s->write, 0) * HJDWidth(s->write, 1) * HJDWidth(s->write, 2);
  how.grid    = dim3((p.n - 1) / (HJ_PLAIN_FIRST_THREADS * HJ_PLAIN_FIRST_POINTS) + 1);
  how.block   = dim3(HJ_PLAIN_FIRST_THREADS);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJGeneralFirst_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJGeneralTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT || ask->kind == HJ_SLAB || ask->kind == HJ_SINGLE;
}

static int HJGeneralBestCount(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return 1;
}

static bool HJGeneralWraps(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return true;
}

static PetscErrorCode HJGeneralLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const HJDSweep *s = pass->sweep;
  const int       n = pass->nsweeps;
  HJGeneralArgs   p;
  int             nx = 1, bx = 32;
  long long       lines = 1, blocks_y;

  PetscFunctionBegin;
  PetscCheck(pass->count == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a plain sweep", pass->count);
  p.st = cuda->st;
  p.w  = pass->w[0];
  for (int i = 0; i < n; i++) {
    p.s[i] = s[i];
    nx     = PetscMax(nx, HJDWidth(s[i].write, 0));
    lines  = PetscMax(lines, (long long)HJDWidth(s[i].write, 1) * HJDWidth(s[i].write, 2));
  }
  if (lines == 1) bx = 256;
  blocks_y = PetscMin((lines + 256 / bx - 1) / (256 / bx), 65535);
  const dim3 grid((nx + bx - 1) / bx, (unsigned)blocks_y, n), block(bx, 256 / bx);
#define HJGeneralLaunchOne(dim, box, storage)                                                                                              \
  do {                                                                                                                                     \
    if (s[0].wrap[0] || s[0].wrap[1]) HJGeneral_Kernel<dim, box, storage, (dim > 1)><<<grid, block, 0, stream>>>(p);                       \
    else HJGeneral_Kernel<dim, box, storage, false><<<grid, block, 0, stream>>>(p);                                                        \
  } while (0)
  HJDDispatch(cuda->st, HJGeneralLaunchOne);
#undef HJGeneralLaunchOne
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyPlainFirst = {
  .name   = "plain, from zero",
  .takes  = HJGeneralFirstTakes,
  .launch = HJGeneralFirstLaunch,
  .placed = true,
};

const HJFamily HJFamilyGeneral = {
  .name       = "general",
  .takes      = HJGeneralTakes,
  .best_count = HJGeneralBestCount,
  .launch     = HJGeneralLaunch,
  .wraps      = HJGeneralWraps,
  .ghosts     = true,
  .copies     = true,
  .placed     = true,
};
