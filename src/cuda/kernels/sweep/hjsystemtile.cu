/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Several subiterations a launch for points of a plane with several unknowns where all have one row: a block keeps a tile and its margin in
   shared memory, x twice and D^-1 b, and loses a layer of the margin with each subiteration. Decides the size of tiles.

   A thread marches along a part of its column, with the values of three lines around it in registers.
*/
#include "cuda/kernels/hjfamilies.h"
#include "cuda/kernels/hjsystem.cuh"

#define HJ_SYSTEM_TILE_PARTS (HJ_SYSTEM_THREADS / HJ_SYSTEM_TILE_WIDTH) /* of a column */

typedef struct {
  HJDSweep    s;
  int         count, lines; /* lines: of a tile with its margin */
  PetscScalar w[HJ_SYSTEM_TILE_COUNT];
} HJSystemTileArgs;

/* Subiterations at once, and bytes of a tile; lines are as many as leave room for two blocks on a multiprocessor of recent GPUs */
template <int DOF> struct HJSystemTileShape {
  static constexpr int    count = DOF == 2 ? 4 : DOF == 3 ? 3 : 2;
  static constexpr size_t line  = 3 * HJ_SYSTEM_TILE_WIDTH * sizeof(HJSystemPoint<DOF>);
  static constexpr int    lines = (int)(HJ_SYSTEM_TILE_BYTES / line);
};

/* The values of a point of an array over box, whatever its alignment */
template <int DOF>
static __device__ __forceinline__ HJSystemPoint<DOF> HJSystemTileRead(const HJDSweep &s, const PetscScalar *home,
                                                                      const PetscScalar *const ghost[2], int i, int j)
{
  const PetscScalar *a = HJDHome(s, home, ghost, j) + DOF * HJDIndex(s.box, HJDWrap(i, s.wrap[0]), j, 0);
  HJSystemPoint<DOF> v;

#pragma unroll
  for (int c = 0; c < DOF; c++) v.v[c] = a[c];
  return v;
}

/* Whether a point lies in the domain and at most so many points around those that are written */
static __device__ __forceinline__ bool HJSystemTileHas(const HJDSweep &s, int margin, int i, int j)
{
  const bool near = i >= s.write.lo[0] - margin && i < s.write.hi[0] + margin && j >= s.write.lo[1] - margin && j < s.write.hi[1] + margin;

  return near && HJDInside(s.domain, i, j, 0);
}

/* Fills x and z = D^-1 b, 0 where there is nothing */
template <int DOF>
static __device__ __forceinline__ void HJSystemTileLoad(const HJSystemTileArgs &p, const HJSystemRow<DOF> &row, int i, int j0,
                                                        HJSystemPoint<DOF> *x, HJSystemPoint<DOF> *z)
{
  for (int r = threadIdx.y; r < p.lines; r += HJ_SYSTEM_TILE_PARTS) {
    const int          at = r * HJ_SYSTEM_TILE_WIDTH + threadIdx.x, j = j0 + r;
    HJSystemPoint<DOF> v = {}, u = {};

    if (HJSystemTileHas(p.s, p.count - 1, i, j)) {
      const HJSystemPoint<DOF> b = HJSystemTileRead<DOF>(p.s, p.s.b, p.s.bghost, i, j);

#pragma unroll
      for (int e = 0; e < DOF * DOF; e++) u.v[e / DOF] = fma(row.a[0][e], b.v[e % DOF], u.v[e / DOF]);
    }
    if (p.s.x && HJSystemTileHas(p.s, p.count, i, j)) v = HJSystemTileRead<DOF>(p.s, p.s.x, p.s.xghost, i, j);
#pragma unroll
    for (int c = 0; c < DOF && !p.s.x; c++) v.v[c] = p.w[0] * u.v[c];
    x[at] = v;
    z[at] = u;
  }
}

/* One subiteration on the points that are margin away from the ends of the tile; last: to memory, else to next */
template <int DOF, bool BOX>
static __device__ __forceinline__ void HJSystemTileStep(const HJSystemTileArgs &p, const HJSystemRow<DOF> &row, int margin, PetscScalar w,
                                                        bool last, int i, int j0, const HJSystemPoint<DOF> *x, const HJSystemPoint<DOF> *z,
                                                        HJSystemPoint<DOF> *next)
{
  constexpr int      width = HJ_SYSTEM_TILE_WIDTH;
  const int          part = (p.lines - 2 * margin + HJ_SYSTEM_TILE_PARTS - 1) / HJ_SYSTEM_TILE_PARTS, first = margin + threadIdx.y * part;
  const int          end = min(first + part, p.lines - margin), column = threadIdx.x;
  HJSystemPoint<DOF> v[3][3];

  if (column < margin || column >= width - margin || first >= end) return;
#pragma unroll
  for (int c = 0; c < 6; c++) v[c / 3][c % 3] = x[(first - 1 + c / 3) * width + column + c % 3 - 1];
#pragma unroll 1
  for (int r = first; r < end; r++) {
    const HJSystemPoint<DOF> here = z[r * width + column];
    const bool               in   = HJDInside(p.s.domain, i, j0 + r, 0);
    HJSystemPoint<DOF>       y;
    PetscScalar              sum[DOF] = {};

#pragma unroll
    for (int c = 0; c < 3; c++) v[2][c] = x[(r + 1) * width + column + c - 1];
#pragma unroll
    for (int o = 0; o < HJDNeighbors(2, BOX); o++) {
      const HJSystemPoint<DOF> &q = v[1 + HJDOffset(2, BOX, o, 1)][1 + HJDOffset(2, BOX, o, 0)];

#pragma unroll
      for (int e = 0; e < DOF * DOF; e++) sum[e / DOF] = fma(row.a[1 + o][e], q.v[e % DOF], sum[e / DOF]);
    }
#pragma unroll
    for (int c = 0; c < DOF; c++) y.v[c] = in ? v[1][1].v[c] + w * (here.v[c] - sum[c] - v[1][1].v[c]) : 0.0;
    if (!last) next[r * width + column] = y;
    else if (in && HJSystemTileHas(p.s, 0, i, j0 + r)) {
#pragma unroll
      for (int c = 0; c < DOF; c++) HJDStore(p.s, j0 + r, DOF * HJDIndex(p.s.ybox, i, j0 + r, 0) + c, y.v[c]);
    }
#pragma unroll
    for (int c = 0; c < 6; c++) v[c / 3][c % 3] = v[c / 3 + 1][c % 3];
  }
}

template <int DOF, bool BOX>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS, 2)
  HJSystemTile_Kernel(const __grid_constant__ HJSystemTileArgs p, const __grid_constant__ HJSystemRow<DOF> row)
{
  extern __shared__ __align__(16) unsigned char s_tile[];
  HJSystemPoint<DOF>                           *x = (HJSystemPoint<DOF> *)s_tile, *next = x + p.lines * HJ_SYSTEM_TILE_WIDTH,
                     *z = next + p.lines * HJ_SYSTEM_TILE_WIDTH;
  const int i           = p.s.write.lo[0] + (int)blockIdx.x * (HJ_SYSTEM_TILE_WIDTH - 2 * p.count) - p.count + (int)threadIdx.x;
  const int j0          = p.s.write.lo[1] + (int)blockIdx.y * (p.lines - 2 * p.count) - p.count;

  HJSystemTileLoad<DOF>(p, row, i, j0, x, z);
  __syncthreads();
  for (int l = p.s.x ? 0 : 1; l < p.count; l++) {
    HJSystemPoint<DOF> *const from = x;

    HJSystemTileStep<DOF, BOX>(p, row, l + 1, p.w[l], l == p.count - 1, i, j0, x, z, next);
    x    = next;
    next = from;
    __syncthreads();
  }
}

/* How many subiterations; 0: the stencil is another one, or a block has too little memory */
static int HJSystemTileTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJDStencil *st = ask->st;

  if (ask->kind != HJ_EXACT || st->dim != 2 || st->storage != HJ_DICTIONARY || st->nrows != 1) return 0;
  if (device->smem_block < HJ_SYSTEM_TILE_BYTES) return 0;
  return st->dof == 2   ? HJSystemTileShape<2>::count
         : st->dof == 3 ? HJSystemTileShape<3>::count
         : st->dof == 4 ? HJSystemTileShape<4>::count
                        : 0;
}

static int HJSystemTileBestCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const HJAsk ask = {.kind = HJ_EXACT, .grid = grid, .st = st};

  return HJSystemTileTakes(device, &ask);
}

static bool HJSystemTileWraps(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return true;
}

template <int DOF, bool BOX>
static PetscErrorCode HJSystemTileLaunchOne(const HJ_CUDA *cuda, const HJDSweep *s, const HJDPass *pass, cudaStream_t stream)
{
  const HJSystemRow<DOF> row = HJSystemRowOf<DOF>(cuda->system, cuda->st.h_rows);
  const int              x = HJ_SYSTEM_TILE_WIDTH - 2 * pass->count, y = HJSystemTileShape<DOF>::lines - 2 * pass->count;
  HJSystemTileArgs       p      = {*s, pass->count, HJSystemTileShape<DOF>::lines};
  void                  *args[] = {&p, (void *)&row};
  HJLaunch               how    = {};

  PetscFunctionBegin;
  for (int l = 0; l < pass->count; l++) p.w[l] = pass->w[l];
  how.grid       = dim3((HJDWidth(s->write, 0) + x - 1) / x, (HJDWidth(s->write, 1) + y - 1) / y);
  how.block      = dim3(HJ_SYSTEM_TILE_WIDTH, HJ_SYSTEM_TILE_PARTS);
  how.smem_bytes = HJSystemTileShape<DOF>::lines * HJSystemTileShape<DOF>::line;
  how.stream     = stream;
  PetscCheck(how.grid.y <= 65535, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d lines of points on a rank, too many for one launch: use more ranks",
             HJDWidth(s->write, 1));
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJSystemTile_Kernel<DOF, BOX>, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemTileLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const bool box = cuda->st.shape == HJ_BOX;
  const int  dof = cuda->st.dof;

  PetscFunctionBegin;
  PetscCheck(pass->count <= HJ_SYSTEM_TILE_COUNT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a tile", pass->count);
  for (const HJDSweep *s = pass->sweep; s < pass->sweep + pass->nsweeps; s++) {
    if (dof == 2) PetscCall((box ? HJSystemTileLaunchOne<2, true> : HJSystemTileLaunchOne<2, false>)(cuda, s, pass, stream));
    else if (dof == 3) PetscCall((box ? HJSystemTileLaunchOne<3, true> : HJSystemTileLaunchOne<3, false>)(cuda, s, pass, stream));
    else PetscCall((box ? HJSystemTileLaunchOne<4, true> : HJSystemTileLaunchOne<4, false>)(cuda, s, pass, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilySystemTile = {
  .name       = "tiles of blocks",
  .takes      = HJSystemTileTakes,
  .best_count = HJSystemTileBestCount,
  .launch     = HJSystemTileLaunch,
  .wraps      = HJSystemTileWraps,
  .ghosts     = true,
  .copies     = true,
  .systems    = true,
};
