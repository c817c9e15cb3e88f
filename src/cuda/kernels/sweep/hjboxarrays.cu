/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D box, one coefficient array per offset (variable; symmetric: upper half): one subiteration a launch on all points of a rank without
   ghosts, or a product. Coefficients bind it, each is used once. Decides how the grid is cut into columns and planes; the table of families
   says when it is asked.

   A thread has a point in x and y and marches in z, with the 27 values of x around its place in registers. Of a symmetric matrix it reads
   the lower half at the neighbours, which mostly lie in the block's own columns and planes and so in the cache.
*/
#include "cuda/kernels/hjfamilies.h"
#include "core/hjcoefficients.h"
#include "core/hjrestriction.h"

/* Lines of a plane, at most: a launch has up to 65535 blocks in y */
#define HJ_BOXARRAYS_LINES (65535 * (HJ_BOXARRAYS_THREADS / HJ_BOXARRAYS_WIDTH))

typedef struct {
  const PetscScalar *x, *b, *dinv, *value[HJD_MAX_NEIGHBORS]; /* product: b NULL: without it; dinv: the diagonal */
  PetscScalar       *y, w;                                    /* product: w: alpha of y = b + alpha A x */
  HJDBox             write, domain;
  int                bx, by, planes; /* of a block */
  int                nx, cx;         /* row lengths of x, of coefficients */
  long long          nxy, cxy;       /* the same of planes */
  long long          x0, y0, c0;     /* places of write's first point in x and b, in y, in coefficients */
  int                ny;             /* row length of y */
  long long          nyxy;           /* plane of y */
} HJBoxArraysArgs;

/* A column's values of x in one plane */
static __device__ __forceinline__ void HJBoxArraysLoad(const HJBoxArraysArgs &p, const PetscScalar *x, unsigned in, bool there,
                                                       PetscScalar v[9])
{
#pragma unroll
  for (int c = 0; c < 9; c++) v[c] = there && (in >> c & 1) ? x[(c / 3 - 1) * p.nx + c % 3 - 1] : HJ_ZERO;
}

template <bool SYM, bool PRODUCT>
__global__ void __launch_bounds__(HJ_BOXARRAYS_THREADS, HJ_BOXARRAYS_BLOCKS) HJBoxArrays_Kernel(const __grid_constant__ HJBoxArraysArgs p)
{
  const int   i = blockIdx.x * p.bx + (int)threadIdx.x % p.bx, j = blockIdx.y * p.by + (int)threadIdx.x / p.bx, k0 = blockIdx.z * p.planes;
  const int   x = p.write.lo[0] + i, y = p.write.lo[1] + j, k1 = min(k0 + p.planes, p.write.hi[2] - p.write.lo[2]);
  unsigned    in = 0;
  PetscScalar v[3][9];

  HJDAwaitInput();
  HJDLetNextStart();
  if ((int)threadIdx.x / p.bx >= p.by || x >= p.write.hi[0] || y >= p.write.hi[1]) return;
#pragma unroll
  for (int c = 0; c < 9; c++) {
    const int qx = x + c % 3 - 1, qy = y + c / 3 - 1;

    if (qx >= p.domain.lo[0] && qx < p.domain.hi[0] && qy >= p.domain.lo[1] && qy < p.domain.hi[1]) in |= 1u << c;
  }
  const PetscScalar *xp = p.x + p.x0 + k0 * p.nxy + (long long)j * p.nx + i, *bp = p.b + p.x0 + k0 * p.nxy + (long long)j * p.nx + i;
  PetscScalar       *yp = p.y + p.y0 + k0 * p.nyxy + (long long)j * p.ny + i;
  long long          at = p.c0 + k0 * p.cxy + (long long)j * p.cx + i;

  HJBoxArraysLoad(p, xp - p.nxy, in, p.write.lo[2] + k0 > p.domain.lo[2], v[0]);
  HJBoxArraysLoad(p, xp, in, true, v[1]);
#pragma unroll 1
  for (int k = k0; k < k1; k++, xp += p.nxy, bp += p.nxy, yp += p.nyxy, at += p.cxy) {
    const PetscScalar b = PRODUCT && !p.b ? HJ_ZERO : *bp, dinv = p.dinv[at];
    PetscScalar       sum[3] = {0.0, 0.0, 0.0};

    HJBoxArraysLoad(p, xp + p.nxy, in, p.write.lo[2] + k < p.domain.hi[2] - 1, v[2]);
#pragma unroll
    for (int o = 0; o < 26; o++) {
      const int         dx = HJDOffset(3, true, o, 0), dy = HJDOffset(3, true, o, 1), dz = HJDOffset(3, true, o, 2);
      const PetscScalar c = SYM && o < 13 ? p.value[25 - o][at + dz * p.cxy + dy * p.cx + dx] : p.value[o][at];

      sum[1 + dz] = fma(c, v[1 + dz][3 * (dy + 1) + dx + 1], sum[1 + dz]);
    }
    if (PRODUCT) *yp = fma(p.w, fma(dinv, v[1][4], sum[0] + sum[1] + sum[2]), b);
    else *yp = v[1][4] + p.w * (dinv * (b - (sum[0] + sum[1] + sum[2])) - v[1][4]);
#pragma unroll
    for (int c = 0; c < 9; c++) {
      v[0][c] = v[1][c];
      v[1][c] = v[2][c];
    }
  }
}

static bool HJBoxArraysSweeps(const HJAsk *ask)
{
  const HJDStencil *st = ask->st;
  const HJDSweep   *s  = ask->sweep;

  if (st->dim < 3 || st->shape != HJ_BOX || st->storage == HJ_DICTIONARY) return false;
  if (!s) return true;
  return ask->nsweeps == 1 && s->x && !s->xghost[0] && !s->xghost[1] && !s->wrap[0] && !s->wrap[1] && !s->copy[0] && !s->copy[1] &&
         HJDWidth(s->write, 1) <= HJ_BOXARRAYS_LINES;
}

/* A half has no points beyond the owned ones, see HJCoefficients */
static bool HJBoxArraysMultiplies(const HJProduct *p)
{
  return p->a->half && p->a->dim == 3 && p->a->shape == HJ_BOX && p->region == HJ_PRODUCT_ALL && p->shell->width[1] <= HJ_BOXARRAYS_LINES &&
         p->shell->width[2] <= 65535;
}

/* Products read halves at nearly the speed of memory, which what also gathers does not */
static bool HJBoxArraysRestrictsApart(const HJCoefficients *a)
{
  return a->half && a->dim == 3 && a->shape == HJ_BOX && a->npoints >= HJ_RESTRICT_MANY;
}

static int HJBoxArraysTakes(const HJDevice *, const HJAsk *ask)
{
  switch (ask->kind) {
  case HJ_SINGLE:
    return HJBoxArraysSweeps(ask);
  case HJ_PRODUCT:
    return HJBoxArraysMultiplies(ask->product);
  case HJ_RESTRICTS_APART:
    return HJBoxArraysRestrictsApart(ask->restriction->a);
  default:
    return false;
  }
}

/* n: points in each direction */
static PetscErrorCode HJBoxArraysRun(const HJDevice *device, const void *kernel, cudaStream_t stream, const int n[3], HJBoxArraysArgs *p)
{
  HJLaunch how    = {};
  void    *args[] = {p};
  int      pieces, blocks;

  PetscFunctionBegin;
  pieces      = (n[0] + HJ_BOXARRAYS_WIDTH - 1) / HJ_BOXARRAYS_WIDTH;
  p->bx       = (n[0] + pieces - 1) / pieces;
  p->by       = PetscMin(HJ_BOXARRAYS_THREADS / p->bx, n[1]);
  blocks      = pieces * ((n[1] + p->by - 1) / p->by);
  p->planes   = PetscMax(n[2] / PetscMax(HJ_BOXARRAYS_BLOCKS * device->nsm / blocks, 1), 1);
  how.grid    = dim3(pieces, (n[1] + p->by - 1) / p->by, (n[2] + p->planes - 1) / p->planes);
  how.block   = dim3((p->bx * p->by + 31) / 32 * 32);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJBoxArraysLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const HJDStencil *st     = &cuda->st;
  const HJDSweep   *s      = pass->sweep;
  const int         n[3]   = {HJDWidth(s->write, 0), HJDWidth(s->write, 1), HJDWidth(s->write, 2)};
  const void       *kernel = st->storage == HJ_SYMMETRIC ? (const void *)HJBoxArrays_Kernel<true, false>
                                                         : (const void *)HJBoxArrays_Kernel<false, false>;
  HJBoxArraysArgs   p      = {};

  PetscFunctionBegin;
  p.x    = s->x;
  p.b    = s->b;
  p.y    = s->y;
  p.w    = pass->w[0];
  p.dinv = st->dinv;
  for (int o = 0; o < 26; o++) p.value[o] = st->value[o];
  p.write  = s->write;
  p.domain = s->domain;
  p.nx     = HJDWidth(s->box, 0);
  p.nxy    = (long long)p.nx * HJDWidth(s->box, 1);
  p.ny     = HJDWidth(s->ybox, 0);
  p.nyxy   = (long long)p.ny * HJDWidth(s->ybox, 1);
  p.cx     = HJDWidth(st->box, 0);
  p.cxy    = (long long)p.cx * HJDWidth(st->box, 1);
  p.x0     = HJDIndex(s->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  p.y0     = HJDIndex(s->ybox, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  p.c0     = HJDIndex(st->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  PetscCall(HJBoxArraysRun(&cuda->device, kernel, stream, n, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJBoxArraysMultiply(const HJDevice *device, cudaStream_t stream, const HJProduct *p)
{
  const HJCoefficients *a    = p->a;
  const int             n[3] = {(int)p->shell->width[0], (int)p->shell->width[1], (int)p->shell->width[2]};
  HJBoxArraysArgs       args = {};

  PetscFunctionBegin;
  args.x    = p->x;
  args.b    = p->b;
  args.y    = p->y;
  args.w    = p->alpha;
  args.dinv = a->value;
  for (int o = 13; o < 26; o++) args.value[o] = a->value + HJSlotBegin(a, o + 1);
  for (int d = 0; d < 3; d++) args.write.hi[d] = args.domain.hi[d] = n[d];
  args.nx = args.ny = args.cx = n[0];
  args.nxy = args.nyxy = args.cxy = (long long)n[0] * n[1];
  PetscCall(HJBoxArraysRun(device, (const void *)HJBoxArrays_Kernel<true, true>, stream, n, &args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyBoxArrays = {
  .name     = "27 coefficient arrays",
  .takes    = HJBoxArraysTakes,
  .launch   = HJBoxArraysLaunch,
  .multiply = HJBoxArraysMultiply,
};
