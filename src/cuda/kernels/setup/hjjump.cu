/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How much couplings jump between coarse points, as HJJumpFind() of core/hjinterpolation.h says, of one symmetric matrix of arrays on a
   grid of one rank that is refined in all directions: a thread does fine points between two coarse ones, with every offset known to the
   compiler. All points that it looks at lie inside the domain, as entries that lead outside are 0.
*/
#include "cuda/kernels/sweep/hjpoints.cuh"
#include "core/hjinterpolation.h"
#include "hjinterpolation_cuda.h"
#include <utility>

typedef struct {
  const PetscScalar  *value;
  long long           slot[HJ_MAX_SLOTS], step[3]; /* where the array of each slot begins; from one fine point to the next */
  int                 base[3];                     /* fine point of a coarse one: twice it + base */
  int                 lo[3], hi[3];                /* coarse points that count */
  int                 across[3];                   /* tiles */
  unsigned long long *jump;                        /* bits of a number that is not negative, two counts: the fields of a HJJump */
} HJJumpArgs;

/* The coupling of a row to the point at an offset */
template <int DIM, bool BOX, int X, int Y, int Z>
__device__ __forceinline__ double HJJumpCoupling(const HJJumpArgs &p, const PetscScalar *row, double scale)
{
  constexpr int slot = HJDSlot(DIM, BOX, X, Y, Z);

  if constexpr (slot < 0) return 0.0;
  else return -scale * __ldg(row + p.slot[slot]);
}

/* Adds the ways that a point at a place beside gives, see HJCouplingOfPaths(). The coarse point lies SIDE beside in direction D */
template <int DIM, bool BOX, int D, int SIDE, int X, int Y, int Z>
__device__ __forceinline__ void HJJumpBeside(const HJJumpArgs &p, const PetscScalar *row, double scale, PetscScalar *sum)
{
  constexpr int TX = D == 0 ? SIDE : 0, TY = D == 1 ? SIDE : 0, TZ = D == 2 ? SIDE : 0;

  if constexpr ((X || Y || Z) && !(D == 0 ? X : D == 1 ? Y : Z) && (DIM > 1 || !Y) && (DIM > 2 || !Z)) {
    const PetscScalar *beside = row + X * p.step[0] + Y * p.step[1] + Z * p.step[2];
    const double       over   = HJJumpCoupling<DIM, BOX, X, Y, Z>(p, row, scale);
    const double       aslant = HJJumpCoupling<DIM, BOX, X + TX, Y + TY, Z + TZ>(p, row, scale);

    if (!(over > 0.0) && !(aslant > 0.0)) return;
    const double last = HJJumpCoupling<DIM, BOX, -X, -Y, -Z>(p, beside + SIDE * p.step[D], scale);

    *sum += HJCouplingsInSeries(aslant, last);
    if (!(over > 0.0)) return;
    *sum += HJCouplingsInSeries(over, HJJumpCoupling<DIM, BOX, TX - X, TY - Y, TZ - Z>(p, beside, scale));
    if (!(last > 0.0)) return;
    *sum += HJCouplingsInSeries(over, HJCouplingsInSeries(HJJumpCoupling<DIM, BOX, TX, TY, TZ>(p, beside, scale), last));
  }
}

template <int DIM, bool BOX, int D, int SIDE, int... PLACE>
__device__ __forceinline__ double HJJumpPaths(const HJJumpArgs &p, const PetscScalar *row, double scale,
                                              std::integer_sequence<int, PLACE...>)
{
  double sum = fmax(HJJumpCoupling < DIM, BOX, D == 0 ? SIDE : 0, D == 1 ? SIDE : 0, D == 2 ? SIDE : 0 > (p, row, scale), 0.0);

  (HJJumpBeside<DIM, BOX, D, SIDE, PLACE % 3 - 1, PLACE / 3 % 3 - 1, PLACE / 9 - 1>(p, row, scale, &sum), ...);
  return sum;
}

/* Whether a row is more than its diagonal */
template <int DIM, bool BOX> __device__ __forceinline__ int HJJumpCouples(const HJJumpArgs &p, const PetscScalar *row)
{
#pragma unroll 1
  for (int slot = 1; slot <= HJDNeighbors(DIM, BOX); slot++)
    if (row[p.slot[slot]] != 0.0) return 1;
  return 0;
}

/* As HJJumpTakeWall() says */
template <int DIM, bool BOX, int D> __device__ bool HJJumpIsWall(const HJJumpArgs &p, const PetscScalar *row, double own, double other)
{
  constexpr int X = D == 0 ? 1 : 0, Y = D == 1 ? 1 : 0, Z = D == 2 ? 1 : 0;

  if (own > 0.0) return HJJumpCoupling<DIM, BOX, X, Y, Z>(p, row, 1.0) == 0.0;
  if (other > 0.0) return HJJumpCoupling<DIM, BOX, -X, -Y, -Z>(p, row, 1.0) == 0.0;
  return !HJJumpCouples<DIM, BOX>(p, row);
}

/* The fine point above coarse point c in direction D */
template <int DIM, bool BOX, int D> __device__ __forceinline__ void HJJumpPoint(const HJJumpArgs &p, const int c[3], HJJump *mine)
{
  constexpr std::make_integer_sequence<int, 27> places;
  const PetscScalar                            *coarse = p.value;

  if (c[D] + 1 >= p.hi[D]) return;
#pragma unroll
  for (int d = 0; d < DIM; d++) coarse += (2 * c[d] + p.base[d]) * p.step[d];
  const PetscScalar *row   = coarse + p.step[D];
  const double       scale = HJScaleOfRow(*row);
  const double       own   = HJJumpPaths<DIM, BOX, D, -1>(p, row, scale, places);
  const double       other = HJJumpPaths<DIM, BOX, D, 1>(p, row, scale, places);
  const int          n     = HJJumpCouples<DIM, BOX>(p, coarse) + HJJumpCouples<DIM, BOX>(p, coarse + 2 * p.step[D]);

  if (own > 0.0 && other > 0.0) HJJumpTake(own, other, n, mine);
  else if (n && HJJumpIsWall<DIM, BOX, D>(p, row, own, other)) mine->largest = 1.0;
}

/* The largest and the sums of all threads of the block, in thread 0 */
static __device__ void HJJumpBlock(HJJump *mine)
{
  __shared__ HJJump s_warp[HJ_JUMP_THREADS / 32];

  for (int o = 16; o; o >>= 1) {
    mine->largest = fmax(mine->largest, __shfl_xor_sync(0xffffffffu, mine->largest, o));
    mine->large += __shfl_xor_sync(0xffffffffu, mine->large, o);
    mine->points += __shfl_xor_sync(0xffffffffu, mine->points, o);
  }
  if (threadIdx.x % 32 == 0) s_warp[threadIdx.x / 32] = *mine;
  __syncthreads();
  for (int w = 1; w < HJ_JUMP_THREADS / 32 && threadIdx.x == 0; w++) {
    mine->largest = fmax(mine->largest, s_warp[w].largest);
    mine->large += s_warp[w].large;
    mine->points += s_warp[w].points;
  }
}

/* In 3D a tile is of one direction, so that the code of a block is short; those of the same points come one after another */
template <int DIM, bool BOX> __global__ void __launch_bounds__(HJ_JUMP_THREADS, 4) HJJumpArrays_Kernel(const __grid_constant__ HJJumpArgs p)
{
  const int tiles = p.across[0] * p.across[1] * p.across[2];
  HJJump    mine  = {};

  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int rest = t / p.across[0] / p.across[1], d = DIM == 3 ? rest % 3 : 0;
    const int c[3] = {p.lo[0] + t % p.across[0] * HJ_JUMP_WIDTH + (int)threadIdx.x % HJ_JUMP_WIDTH,
                      p.lo[1] + t / p.across[0] % p.across[1] * (HJ_JUMP_THREADS / HJ_JUMP_WIDTH) + (int)threadIdx.x / HJ_JUMP_WIDTH,
                      p.lo[2] + (DIM == 3 ? rest / 3 : 0)};

    if (c[0] >= p.hi[0] || (DIM > 1 ? c[1] >= p.hi[1] : c[1] > p.lo[1])) continue;
    if (DIM < 3 || d == 0) HJJumpPoint<DIM, BOX, 0>(p, c, &mine);
    if constexpr (DIM > 1)
      if (DIM < 3 || d == 1) HJJumpPoint<DIM, BOX, 1>(p, c, &mine);
    if constexpr (DIM > 2)
      if (d == 2) HJJumpPoint<DIM, BOX, 2>(p, c, &mine);
  }
  HJJumpBlock(&mine);
  if (threadIdx.x || !(mine.largest > 0.0 || mine.points)) return;
  atomicMax((HJSizeBits *)p.jump, HJSizeBitsOf(mine.largest));
  atomicAdd(p.jump + 1, (unsigned long long)mine.large);
  atomicAdd(p.jump + 2, (unsigned long long)mine.points);
}

bool HJJumpArraysTakes(const HJInterpolationFill *f)
{
  bool takes = !f->coupling && f->a == f->symmetric && f->a->storage == HJ_COEFFICIENTS_ARRAYS && !HJGridHasNeighbors(&f->t->fine);

  for (int d = 0; d < f->a->dim; d++) takes = takes && f->t->factor[d] == 2;
  return takes;
}

PetscErrorCode HJJumpArraysLaunch(const HJDevice *device, const HJInterpolationFill *f, cudaStream_t stream, void *jump)
{
  const HJColumns w     = HJColumnsSet(f->t, NULL, NULL, NULL);
  const int       lines = HJ_JUMP_THREADS / HJ_JUMP_WIDTH;
  HJJumpArgs      p     = {};
  long long       tiles;

  PetscFunctionBegin;
  p.value = f->a->value;
  p.jump  = (unsigned long long *)jump;
  for (PetscInt s = 0; s < f->a->nslots; s++) p.slot[s] = HJSlotBegin(f->a, s);
  for (int d = 0; d < 3; d++) {
    p.step[d] = d ? p.step[d - 1] * f->t->fine.owned.hi[d - 1] : 1;
    p.hi[d]   = 1;
    if (d >= f->a->dim) continue;
    p.base[d] = (int)HJGalerkinFinePoint(f->t, d, 0);
    p.lo[d]   = (int)w.inner.lo[d];
    p.hi[d]   = (int)w.inner.hi[d];
  }
  p.across[0] = (p.hi[0] - p.lo[0] + HJ_JUMP_WIDTH - 1) / HJ_JUMP_WIDTH;
  p.across[1] = (p.hi[1] - p.lo[1] + lines - 1) / lines;
  p.across[2] = (p.hi[2] - p.lo[2]) * (f->a->dim == 3 ? 3 : 1);
  tiles       = (long long)p.across[0] * p.across[1] * p.across[2];
  if (!tiles) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(tiles <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "More points on a rank than a GPU looks for jumps at: use more ranks");
#define HJJumpLaunchOne(dim, box)                                                                                                          \
  HJJumpArrays_Kernel<dim, box><<<(unsigned)PetscMin(tiles, HJ_JUMP_BLOCKS * device->nsm), HJ_JUMP_THREADS, 0, stream>>>(p)
  HJDDispatchShape(f->a, HJJumpLaunchOne);
#undef HJJumpLaunchOne
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
