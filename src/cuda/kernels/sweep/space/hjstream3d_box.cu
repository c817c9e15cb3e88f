/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D box (27 points), dictionary of several rows: how a block streams one piece through two levels, each point by its own row from a
   table in shared memory. Every level reads a whole plane of values from shared memory and adds it to three planes of sums: it completes
   the one before, and begins the one after. Decides nothing about where pieces lie.
*/
#include "hjstream3d.cuh"

template <int R, int NW> struct HJ3BoxBlock : HJ3Block<R, NW, 4, 2> {
  typedef HJ3Block<R, NW, 4, 2> Base; /* slots of x: landing, newest, and until y's share is taken two steps later */
  using Base::g, Base::f, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::NI, Base::TY, Base::Load2,
    Base::XRow;
  static constexpr int SF    = (TY + 2) * HJ3_TX; /* one plane of f_1, with rows of zeros around */
  static constexpr int BYTES = Base::READ_BYTES + 2 * HJ_BYTES * SF + sizeof(HJ3Fixed);
  static constexpr int ROW   = 29; /* doubles of a row of the table: odd, so that rows lie in different banks */

  PetscScalar       *fs;
  const PetscScalar *tab;
  PetscScalar        sum[2][2][R][2]; /* level; plane before, plane itself */
  unsigned           ix[5][NI];       /* rows of planes r + 1 ... r - 3 */

  __device__ HJ3BoxBlock(const HJ3Args &args, PetscScalar *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + Base::READ_BYTES / HJ_BYTES + 2 * SF)), fs(sm + Base::READ_BYTES / HJ_BYTES),
        tab(sm + BYTES / HJ_BYTES)
  {
  }

  __device__ int Start(const HJ3Piece &q)
  {
    HJ3_UNROLL for (int j = 0; j < 2; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
      sum[j][0][i][v] = sum[j][1][i][v]                                                     = 0;
    HJ3_UNROLL for (int j = 0; j < 5; j++) HJ3_UNROLL for (int i = 0; i < NI; i++) ix[j][i] = HJ3FourTimes(g.nrows);
    for (int i = threadIdx.x; i < 2 * SF; i += 32 * NW) fs[i] = 0;
    const int r0 = Base::template Start<false>(q, 3, 0);

    this->LoadRows(r0, ix[1]);
    this->LoadRows(r0 + 1, ix[0]);
    return r0;
  }

  __device__ __forceinline__ PetscScalar *F(int z, int i) const { return fs + z * SF + (warp * R + 1 + i) * HJ3_TX + 2 * lane; }

  /* West, own two and east point of row i of the plane that level j takes in */
  __device__ __forceinline__ void Row4(int j, int z, bool there, int i, PetscScalar v[4]) const
  {
    HJScalar2   m    = HJScalar2Of(0, 0);
    PetscScalar ring = 0;

    if (there) {
      m = j ? Load2(F(z, i)) : XRow(0, i);
      if (j == 0) ring = this->XRing(0, i);
    }
    const HJScalar2 side = HJ3Beside(m, ring, ring);

    v[0] = side.x;
    v[1] = m.x;
    v[2] = m.y;
    v[3] = side.y;
  }

  /* Coefficient of the table for a point at step's plane r + 1 - back */
  __device__ __forceinline__ const PetscScalar *Table(int back, int i, int v) const { return tab + ROW * Base::RowOf(ix[back], i, v); }

  /* Takes in one plane; first: sums of the plane before, complete */
  __device__ __forceinline__ void Level(int j, int z, bool there, PetscScalar out[R][2])
  {
    PetscScalar row[3][4];

    Row4(j, z, there, -1, row[0]);
    Row4(j, z, there, 0, row[1]);
    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      Row4(j, z, there, i + 1, row[(i + 2) % 3]);
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        PetscScalar t[3] = {sum[j][0][i][v], sum[j][1][i][v], 0};

        HJ3_UNROLL for (int s = 0; s < 3; s++)
        {
          const PetscScalar *c = Table((j ? 2 : 0) + 2 - s, i, v) + 9 * (2 - s);

          HJ3_UNROLL for (int o = 0; o < 9; o++) t[s] = fma(c[o], row[(i + o / 3) % 3][v + o % 3], t[s]);
        }
        out[i][v]       = t[0];
        sum[j][0][i][v] = t[1];
        sum[j][1][i][v] = t[2];
      }
    }
  }

  /* f_1 of plane r - 1, for the next step */
  __device__ __forceinline__ void First(int z, int r)
  {
    const bool  active = this->Active(0, r - 1);
    PetscScalar t[R][2];

    Level(0, z, r >= f.zx.x && r < f.zx.y, t);
    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      HJScalar2 o = HJScalar2Of(0, 0);

      if (active) {
        const HJScalar2 b = Load2(bs + (z ^ 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);

        o.x = fma(Table(2, i, 0)[27], b.x, -t[i][0]);
        o.y = fma(Table(2, i, 1)[27], b.y, -t[i][1]);
      }
      *(HJScalar2 *)F(z ^ 1, i) = o;
    }
  }

  /* y of plane r - 3 from f_1 of plane r - 2 */
  __device__ __forceinline__ void Second(int z, int r)
  {
    const bool        write = r - 3 >= f.z0 && r - 3 < f.z1;
    const PetscScalar w01 = g.w[0] * g.w[1], w = g.w[0] + g.w[1];
    PetscScalar       t[R][2];

    if (r - 1 >= f.z0 && r - 3 < f.z1) {
      Level(1, z, true, t);
      HJ3_UNROLL for (int i = 0; i < R; i++)
      {
        const HJScalar2 x = XRow(2, i), m = Load2(F(z, i));

        HJ3_UNROLL for (int v = 0; v < 2; v++)
        {
          if (write && (own >> (2 * i + v) & 1)) {
            const PetscScalar o = share[i][v] - w01 * t[i][v];

            py[(long long)i * f.ny + v] = o;
            this->Copy(r - 3, py + (long long)i * f.ny + v, o);
          }
          share[i][v] = fma(w, v ? m.y : m.x, v ? x.y : x.x);
        }
      }
    }
    py += f.sy;
  }

  /* Plane r of x arrives */
  __device__ __forceinline__ void Step(int z, int r)
  {
    const int next = this->NextSlot();
    unsigned  rows[NI];

    this->LoadX(r + 1, next);
    this->LoadB(r, z);
    this->LoadRows(r + 2, rows);
    Second(z, r);
    First(z, r);
    HJ3_UNROLL for (int i = 0; i < NI; i++)
    {
      HJ3_UNROLL for (int j = 4; j > 0; j--) ix[j][i] = ix[j - 1][i];
      ix[0][i]                                        = rows[i];
    }
    slot = next;
    HJCopyWaitAll();
    __syncthreads();
  }

  PetscScalar share[R][2]; /* y's share of x and f_1 */
};

static __device__ void HJ3BoxTableLoad(PetscScalar *tab, const HJ3Args &g, int width)
{
  for (int i = threadIdx.x; i < width * (g.nrows + 1); i += blockDim.x) {
    const int r = i / width, o = i % width;

    tab[i] = r == g.nrows ? (PetscScalar)(o == 13)
             : o < 27     ? g.rows[27 * r + (o == 13  ? 0
                                             : o < 13 ? o + 1
                                                      : o)]
             : o == 27    ? g.dinv_rows[r]
                          : HJ_ZERO;
  }
}

template <int R, int NW> static __global__ void __launch_bounds__(32 * NW, 1) HJ3BoxTable_Kernel(const __grid_constant__ HJ3Args g)
{
  typedef HJ3BoxBlock<R, NW> Block;
  extern __shared__ __align__(16) PetscScalar sm[];
  Block                                       k(g, sm);

  HJ3BoxTableLoad(const_cast<PetscScalar *>(k.tab), g, Block::ROW);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) {
    const HJ3Piece q = g.piece[c];

    for (int r = k.Start(q), z = 0; r < q.z1 + 3; r++, z ^= 1) k.Step(z, r);
  }
}

template <int R, int NW> static cudaError_t HJ3BoxTableLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *)
{
  typedef HJ3BoxBlock<R, NW> Block;
  const int                  bytes = Block::BYTES + HJ_BYTES * Block::ROW * (g->nrows + 1);
  const cudaError_t          e     = cudaFuncSetAttribute(HJ3BoxTable_Kernel<R, NW>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3BoxTable_Kernel<R, NW><<<blocks, 32 * NW, bytes, stream>>>(*g);
  return cudaGetLastError();
}

#define HJ3_BOX_TABLE_KERNEL(R, NW)                                                                                                        \
  {                                                                                                                                        \
    HJ3BoxBlock<R, NW>::TY, 3, HJ3BoxBlock<R, NW>::BYTES, HJ3BoxTableLaunch<R, NW>, NULL, 0, 0, NULL, HJ_BYTES *HJ3BoxBlock<R, NW>::ROW    \
  }

const HJ3Kernel HJ3KernelBoxTable     = HJ3_BOX_TABLE_KERNEL(4, 8);
const HJ3Kernel HJ3KernelBoxTableOf16 = HJ3_BOX_TABLE_KERNEL(2, 8);
const HJ3Kernel HJ3KernelBoxTableOf12 = HJ3_BOX_TABLE_KERNEL(1, 12);
