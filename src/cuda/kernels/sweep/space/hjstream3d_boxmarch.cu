/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D box (27 points), constant coefficients, two levels. Each warp marches alone through a tile of its own. A plane of values is spread
   to the neighbouring lanes once and adds to three planes of sums: it completes the one before, and begins the one after. Decides nothing
   about where pieces lie.
*/
#include "hjstream3d_march.cuh"

/* Once, where it is called */
static __device__ __forceinline__ PetscScalar HJ3Load(const PetscScalar *src)
{
  PetscScalar v;

  asm volatile("ld.global." HJ_PTX " %0, [%1];" : "=" HJ_PTX_REG(v) : "l"(src));
  return v;
}

/*
   R rows a warp, NX by NY warps a block.
   MIRROR: coefficients are the same at -x and +x, and at -z and +z: the two neighbours in x are added first, and the planes before and
   after get the same sum. ZERO: the guess is zero, and so level 0 is D^-1 b.
*/
template <int R, int NX, int NY, bool MIRROR, bool ZERO, bool WRAP> struct HJ3BoxWarp : HJ3March<2, R, NX, NY, WRAP> {
  typedef HJ3March<2, R, NX, NY, WRAP> Base;
  using Base::g, Base::at, Base::z0, Base::z1, Base::own, Base::ROWS, Base::MID;

  const HJ3Box &p;
  bool          inner; /* all lanes read all rows, and so all are in the domain; b of the outer columns is then read, and not used, too */
  PetscScalar   x[ROWS], b[MID];
  PetscScalar   sum[2][2][MID]; /* level; the plane that lacks the newest one's share alone, the one after */

  __device__ HJ3BoxWarp(const HJ3Args &args, const HJ3Box &box) : Base(args), p(box) {}

  /* A plane's rows from the given place on, those with a bit; all: every lane has all bits. first: of x, which the first row lies beside */
  template <int N> __device__ __forceinline__ void Fetch(PetscScalar (&to)[N], const PetscScalar *from, unsigned bits, bool all, int first)
  {
    const int split = this->Split();

    if (all) {
      HJ3_UNROLL for (int i = 0; i < N; i++) to[i] = HJ3Load(from + (unsigned long long)this->nx * i);
    } else if (split) {
      HJ3_UNROLL for (int i = 0; i < N; i++)
        to[i] = HJ3LoadIf(bits & 1u << i, from + (unsigned long long)this->nx * i - (i + first >= split ? this->sz : 0));
    } else {
      HJ3_UNROLL for (int i = 0; i < N; i++) to[i] = HJ3LoadIf(bits & 1u << i, from + (unsigned long long)this->nx * i);
    }
  }

  /* Plane r, r one more than the last time. While it comes, other warps work */
  __device__ __forceinline__ void FetchX(const HJDSweep &s, int r)
  {
    const bool in = HJ3In(this->zx, r);

    if (!ZERO) Fetch(x, HJDHome(s, s.x, s.xghost, r) + at, in ? this->xbits : 0, in && inner, 0);
    at += this->sz;
  }

  /* Plane r, when plane r of x was the last */
  __device__ __forceinline__ void FetchB(const HJDSweep &s, int r)
  {
    const bool in = HJ3In(this->zb, r);

    Fetch(b, HJDHome(s, s.b, s.bghost, r) + (at + this->nx - this->sz), in ? this->bbits : 0, in && inner, 1);
  }

  /* What a row's values give: west, own and east one; MIRROR: both neighbours together, own one */
  static __device__ __forceinline__ void Spread(PetscScalar v, PetscScalar (&to)[3])
  {
    const PetscScalar lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);

    to[0] = MIRROR ? lo + hi : lo;
    to[1] = v;
    to[2] = hi;
  }

  /*
     Row i of level j takes in the rows around it of one plane, the last of which is v[last]; start: of the plane after. Returns the
     complete sum of the plane before
  */
  __device__ __forceinline__ PetscScalar Take(int j, int i, const PetscScalar (&v)[3][3], int last, PetscScalar start)
  {
    const PetscScalar *c    = p.c[j];
    PetscScalar        done = sum[j][0][i], same = sum[j][1][i], after = MIRROR ? 0 : start;

    HJ3_UNROLL for (int k = 0; k < 3; k++) HJ3_UNROLL for (int o = 0; o < (MIRROR ? 2 : 3); o++)
    {
      const PetscScalar f = v[(last + 1 + k) % 3][o];

      after = fma(c[3 * k + o], f, after);
      same  = fma(c[9 + 3 * k + o], f, same);
      if (!MIRROR) done = fma(c[18 + 3 * k + o], f, done);
    }
    sum[j][0][i] = same;
    sum[j][1][i] = MIRROR && j && !ZERO ? start + after : after;
    return MIRROR ? done + after : done;
  }

  /* Plane r of x makes plane r - 1 of level 0 */
  __device__ __forceinline__ void First(int r, PetscScalar (&f)[MID])
  {
    const unsigned live = r > this->dlo && r <= this->dhi ? this->inside : 0;
    PetscScalar    v[3][3];

    HJ3_UNROLL for (int i = 0; i < ROWS; i++)
    {
      Spread(x[i], v[i % 3]);
      if (i < 2) continue;
      f[i - 2] = Take(0, i - 2, v, i, 0.);
    }
    if (inner && live) return;
    HJ3_UNROLL for (int i = 0; i < MID; i++) f[i] = live & 1u << i ? f[i] : HJ_ZERO;
  }

  /* Plane r - 1 of level 0 makes plane r - 2 of y */
  __device__ __forceinline__ void Second(int r, const PetscScalar (&f)[MID])
  {
    const unsigned write = HJ3In(make_int2(z0, z1), r - 2) ? own : 0;
    PetscScalar    v[3][3];

    HJ3_UNROLL for (int i = 0; i < MID; i++)
    {
      Spread(f[i], v[i % 3]);
      if (i < 2) continue;
      HJ3StoreIf(write & 1u << (i - 2), this->py + (unsigned long long)this->ny * (i - 2), Take(1, i - 2, v, i, ZERO ? HJ_ZERO : x[i]));
    }
  }

  __device__ __forceinline__ void Step(const HJDSweep &s, int r)
  {
    PetscScalar f[MID];

    HJ3_UNROLL for (int i = 0; i < MID; i++)
    {
      if (ZERO) f[i] = p.b * b[i];
      else sum[0][0][i] = fma(p.b, b[i], sum[0][0][i]);
    }
    FetchB(s, r);
    if (!ZERO) First(r, f);
    if (r >= z0) Second(r, f);
    FetchX(s, r + 1);
    if (r - 2 < z0) return;
    if (r - 2 < z1 && own && (r - 2 < s.copy_lo || r - 2 >= s.copy_hi)) this->Copy(s, r - 2);
    this->py += this->sy;
  }

  __device__ void Run(int piece)
  {
    const HJ3Piece &q = g.piece[piece];
    const HJDSweep &s = g.sweep[q.sweep];

    this->Start(q, s);
    inner                                         = __all_sync(~0u, this->xbits == (1u << ROWS) - 1);
    HJ3_UNROLL for (int i = 0; i < MID; i++) b[i] = sum[0][0][i] = sum[0][1][i] = sum[1][0][i] = sum[1][1][i] = 0;
    FetchX(s, z0 - 2);
#pragma unroll 1
    for (int r = z0 - 2; r < z1 + 2; r++) Step(s, r);
  }
};

template <int R, int NX, int NY, int BLOCKS, bool MIRROR, bool ZERO, bool WRAP>
static __global__ void __launch_bounds__(32 * NX * NY, BLOCKS)
  HJ3Box_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Box p)
{
  HJ3BoxWarp<R, NX, NY, MIRROR, ZERO, WRAP> k(g, p);

  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(c);
}

/* Whether all coefficients are the same at -x and +x, and at -z and +z */
static bool HJ3BoxMirrored(const HJ3Box *p)
{
  for (int j = 0; j < 2; j++) {
    for (int o = 0; o < 27; o++) {
      if (p->c[j][o] != p->c[j][o - o % 3 + 2 - o % 3] || p->c[j][o] != p->c[j][o % 9 + 9 * (2 - o / 9)]) return false;
    }
  }
  return true;
}

template <int R, int NX, int NY, int BLOCKS, bool WRAP>
static cudaError_t HJ3BoxLaunchKernel(cudaStream_t stream, int blocks, const HJ3Args *g, const HJ3Box &box)
{
  const bool zero    = !g->sweep[0].x;
  const int  threads = 32 * NX * NY;

  if (HJ3BoxMirrored(&box)) {
    if (zero) HJ3Box_Kernel<R, NX, NY, BLOCKS, true, true, WRAP><<<blocks, threads, 0, stream>>>(*g, box);
    else HJ3Box_Kernel<R, NX, NY, BLOCKS, true, false, WRAP><<<blocks, threads, 0, stream>>>(*g, box);
  } else if (zero) HJ3Box_Kernel<R, NX, NY, BLOCKS, false, true, WRAP><<<blocks, threads, 0, stream>>>(*g, box);
  else HJ3Box_Kernel<R, NX, NY, BLOCKS, false, false, WRAP><<<blocks, threads, 0, stream>>>(*g, box);
  return cudaGetLastError();
}

template <int R, int NX, int NY, int BLOCKS>
static cudaError_t HJ3BoxLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  const HJ3Box &box = *(const HJ3Box *)p;

  return g->sweep[0].wrap[0] || g->sweep[0].wrap[1] ? HJ3BoxLaunchKernel<R, NX, NY, BLOCKS, true>(stream, blocks, g, box)
                                                    : HJ3BoxLaunchKernel<R, NX, NY, BLOCKS, false>(stream, blocks, g, box);
}

#define HJ3_BOX_KERNEL(R, NX, NY, BLOCKS)                                                                                                  \
  {                                                                                                                                        \
    (R) * (NY), 2, 0, HJ3BoxLaunch<R, NX, NY, BLOCKS>, NULL, HJ3BoxWarp<R, NX, NY, false, false, false>::COLUMNS *(NX), BLOCKS             \
  }

const HJ3Kernel HJ3KernelBox = HJ3_BOX_KERNEL(8, 2, 2, 3);
