/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What kernels for points with several unknowns share: where the entries of a matrix lie, and sums over the neighbours of a point. A thread
   does all components of a point where these are 2, 3 or 4 and vectors are aligned: it reads the values of a neighbour at once, and each
   entry once. Else it does one component. Decides nothing.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

#define HJ_SYSTEM_LANES 32 /* points in x of a row of threads */

/* Number of an entry, which must be there */
__host__ __device__ __forceinline__ int HJSystemEntry(const HJSystemEntries &e, int o, int row, int column)
{
  const unsigned before = e.mask[o][row] & ((1u << column) - 1);
#if defined(__CUDA_ARCH__)
  return e.first[o][row] + __popc(before);
#else
  return e.first[o][row] + __builtin_popcount(before);
#endif
}

/* The same of n entries in the order of their rows at each offset */
static inline void HJSystemEntriesSet(PetscInt dim, HJShape shape, PetscInt dof, PetscInt n, const HJEntry entry[], HJSystemEntries *e)
{
  memset(e, 0, sizeof(*e));
  e->dof      = (int)dof;
  e->noffsets = (int)HJShapeSlots(dim, shape);
  e->n        = (int)n;
  for (PetscInt o = 0; o < e->noffsets; o++)
    for (int d = 0; d < 3; d++) e->off[o][d] = (signed char)HJShapeStep(dim, shape, o, d);
  for (PetscInt i = 0; i < n; i++) {
    const HJEntry *a = &entry[i];

    if (!e->mask[a->slot][a->row]) e->first[a->slot][a->row] = (short)i;
    e->mask[a->slot][a->row] |= 1u << a->column;
  }
}

/* The same for kernels that know dof: place of each entry, -1 where there is none; one row for all points: its entries, where bits of mask
   say so */
template <int DOF> struct HJSystemBlocks {
  int         noffsets;
  signed char off[HJ_MAX_SLOTS][3];
  short       place[HJ_MAX_SLOTS][DOF * DOF];
};
template <int DOF> struct HJSystemRow {
  int            noffsets;
  signed char    off[HJ_MAX_SLOTS][3];
  unsigned short mask[HJ_MAX_SLOTS];
  PetscScalar    a[HJ_MAX_SLOTS][DOF * DOF];
};

/* The same where all entries of all blocks are there: place of the first one of each row. Nothing is asked about an entry then, where the
   compiler would have few loads in flight */
template <int DOF> struct HJSystemFull {
  int         noffsets;
  signed char off[HJ_MAX_SLOTS][3];
  short       place[HJ_MAX_SLOTS][DOF];
};

template <int DOF> static inline bool HJSystemIsFull(const HJSystemEntries &e)
{
  return e.n == e.noffsets * DOF * DOF;
}

template <int DOF> static inline HJSystemFull<DOF> HJSystemFullOf(const HJSystemEntries &e)
{
  HJSystemFull<DOF> b = {};

  b.noffsets = e.noffsets;
  memcpy(b.off, e.off, sizeof(b.off));
  for (int i = 0; i < e.noffsets * DOF; i++) b.place[i / DOF][i % DOF] = e.first[i / DOF][i % DOF];
  return b;
}

template <int DOF> static inline HJSystemBlocks<DOF> HJSystemBlocksOf(const HJSystemEntries &e)
{
  HJSystemBlocks<DOF> b = {};

  b.noffsets = e.noffsets;
  memcpy(b.off, e.off, sizeof(b.off));
  for (int i = 0; i < e.noffsets * DOF * DOF; i++) {
    const int o = i / (DOF * DOF), row = i % (DOF * DOF) / DOF, column = i % DOF;

    b.place[o][i % (DOF * DOF)] = e.mask[o][row] >> column & 1 ? (short)HJSystemEntry(e, o, row, column) : -1;
  }
  return b;
}

template <int DOF> static inline HJSystemRow<DOF> HJSystemRowOf(const HJSystemEntries &e, const PetscScalar *row)
{
  const HJSystemBlocks<DOF> b = HJSystemBlocksOf<DOF>(e);
  HJSystemRow<DOF>          r = {};

  r.noffsets = b.noffsets;
  memcpy(r.off, b.off, sizeof(r.off));
  for (int i = 0; i < b.noffsets * DOF * DOF; i++) {
    const int o = i / (DOF * DOF), place = b.place[o][i % (DOF * DOF)];

    if (place < 0) continue;
    r.mask[o] |= 1 << i % (DOF * DOF);
    r.a[o][i % (DOF * DOF)] = row[place];
  }
  return r;
}

/* One row for points all of whose neighbours are at hand, also what is zero in it */
template <int DIM, bool BOX, int DOF> struct HJSystemInnerRow {
  PetscScalar a[1 + HJDNeighbors(DIM, BOX)][DOF * DOF];
};

template <int DIM, bool BOX, int DOF>
static inline HJSystemInnerRow<DIM, BOX, DOF> HJSystemInnerRowOf(const HJSystemEntries &e, const PetscScalar *row)
{
  const HJSystemRow<DOF>          all = HJSystemRowOf<DOF>(e, row);
  HJSystemInnerRow<DIM, BOX, DOF> r;

  memcpy(r.a, all.a, sizeof(r.a));
  return r;
}

static inline long long HJSystemPoints(const HJDBox &b)
{
  return (long long)PetscMax(HJDWidth(b, 0), 0) * PetscMax(HJDWidth(b, 1), 0) * PetscMax(HJDWidth(b, 2), 0);
}

/* Blocks for so many lines in y and z at once */
static inline dim3 HJSystemGrid(const HJDBox &b, unsigned y, unsigned z)
{
  const unsigned x = (unsigned)(HJDWidth(b, 0) + HJ_SYSTEM_LANES - 1) / HJ_SYSTEM_LANES;

  return dim3(x, (unsigned)PetscMin((HJDWidth(b, 1) + y - 1) / y, 65535), (unsigned)PetscMin((HJDWidth(b, 2) + z - 1) / z, 65535));
}

/* Whether so many of all points are in a box that they are worth a launch of their own, and all can be numbered */
static inline bool HJSystemIsInner(const HJDBox &inside, const HJDBox &all)
{
  return HJSystemPoints(all) >= HJ_SYSTEM_INNER_POINTS && 100 * HJSystemPoints(inside) >= HJ_SYSTEM_INNER_SHARE * HJSystemPoints(all) &&
         HJSystemPoints(all) <= INT_MAX;
}

/* Boxes of points, numbered one after another: those of box m from begin[m] on */
typedef struct {
  int    n;
  HJDBox box[6];
  int    begin[7];
} HJSystemShell;

/* The points of a box that are not in one inside of it: slabs across z, then across y, then across x */
static inline HJSystemShell HJSystemShellOf(HJDBox box, const HJDBox &inside)
{
  HJSystemShell shell = {};

  for (int d = 2; d >= 0; d--) {
    for (int side = 0; side < 2; side++) {
      HJDBox slab = box;

      if (side) slab.lo[d] = inside.hi[d];
      else slab.hi[d] = inside.lo[d];
      if (HJDWidth(slab, d) <= 0) continue;
      shell.box[shell.n]       = slab;
      shell.begin[shell.n + 1] = shell.begin[shell.n] + HJDWidth(slab, 0) * HJDWidth(slab, 1) * HJDWidth(slab, 2);
      shell.n++;
    }
    box.lo[d] = inside.lo[d];
    box.hi[d] = inside.hi[d];
  }
  return shell;
}

static inline HJSystemShell HJSystemShellOf(const HJDBox &box)
{
  return {1, {box}, {0, (int)HJSystemPoints(box)}};
}

__device__ __forceinline__ void HJSystemShellPoint(const HJSystemShell &shell, int t, int &i, int &j, int &k)
{
  int m = 0;

  while (t >= shell.begin[m + 1]) m++;
  const HJDBox &box = shell.box[m];
  const int     in = t - shell.begin[m], nx = HJDWidth(box, 0), ny = HJDWidth(box, 1);

  i = box.lo[0] + in % nx;
  j = box.lo[1] + in / nx % ny;
  k = box.lo[2] + in / nx / ny;
}

/* How a thread finds the entries of its point in memory: entry e is at[e * apart] */
typedef struct {
  const PetscScalar *at;
  long long          apart;
} HJSystemValues;

/* A number, or 0. once: it is read once, and shall leave room in the L1 cache; else many threads read it */
__device__ __forceinline__ double HJSystemLoad(const double *at, bool there, bool once)
{
  double v;

  asm("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %2, 0;\n\tsetp.ne.u32 q, %3, 0;\n\tmov.f64 %0, 0d0000000000000000;\n\t"
      "@p ld.global.nc.L1::no_allocate.f64 %0, [%1];\n\t@q ld.global.nc.f64 %0, [%1];\n\t}"
      : "=d"(v)
      : "l"(at), "r"((unsigned)(there && once)), "r"((unsigned)(there && !once)));
  return v;
}

/* The same of a number that is there */
template <bool ONCE> __device__ __forceinline__ double HJSystemLoadFull(const double *at)
{
  double v;

  if (ONCE) asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(at));
  else v = __ldg(at);
  return v;
}

/* The values of a point, read and written at once where dof is even */
template <int DOF> struct alignas((DOF % 2 ? 1 : 2) * sizeof(PetscScalar)) HJSystemPoint {
  PetscScalar v[DOF];
};

template <int DOF> static inline bool HJSystemIsAligned(const void *array)
{
  return (size_t)array % alignof(HJSystemPoint<DOF>) == 0;
}

template <int DOF> __device__ __forceinline__ HJSystemPoint<DOF> HJSystemRead(const PetscScalar *x)
{
  HJSystemPoint<DOF> p = {};

  if (x) p = *(const HJSystemPoint<DOF> *)x;
  return p;
}

/* sum += a block, whose entries lie in memory, times the values of a point. What is not there is not added */
template <int DOF, bool ONCE>
__device__ __forceinline__ void HJSystemAdd(const HJSystemBlocks<DOF> &b, int o, const HJSystemValues &values, const HJSystemPoint<DOF> &x,
                                            PetscScalar sum[DOF])
{
  PetscScalar a[DOF * DOF];

#pragma unroll
  for (int e = 0; e < DOF * DOF; e++) a[e] = HJSystemLoad(values.at + b.place[o][e] * values.apart, b.place[o][e] >= 0, ONCE);
#pragma unroll
  for (int e = 0; e < DOF * DOF; e++)
    if (b.place[o][e] >= 0) sum[e / DOF] = fma(a[e], x.v[e % DOF], sum[e / DOF]);
}

/* The same of blocks that are full */
template <int DOF, bool ONCE>
__device__ __forceinline__ void HJSystemAdd(const HJSystemFull<DOF> &b, int o, const HJSystemValues &values, const HJSystemPoint<DOF> &x,
                                            PetscScalar sum[DOF])
{
  PetscScalar a[DOF * DOF];

#pragma unroll
  for (int e = 0; e < DOF * DOF; e++) a[e] = HJSystemLoadFull<ONCE>(values.at + (b.place[o][e / DOF] + e % DOF) * values.apart);
#pragma unroll
  for (int e = 0; e < DOF * DOF; e++) sum[e / DOF] = fma(a[e], x.v[e % DOF], sum[e / DOF]);
}

/* The same of one row for all points */
template <int DOF, bool>
__device__ __forceinline__ void HJSystemAdd(const HJSystemRow<DOF> &b, int o, const HJSystemValues &, const HJSystemPoint<DOF> &x,
                                            PetscScalar sum[DOF])
{
#pragma unroll
  for (int e = 0; e < DOF * DOF; e++)
    if (b.mask[o] >> e & 1) sum[e / DOF] = fma(b.a[o][e], x.v[e % DOF], sum[e / DOF]);
}

/* Offsets that a thread has in flight at once */
template <int DOF> struct HJSystemAhead {
  static constexpr int value = DOF == 2 ? 4 : DOF == 3 ? 2 : 1;
};

/* sum += what the offsets from o on give, so many at a time. where(off): the values of that neighbour, NULL: there is none */
template <int DOF, bool ONCE, int AHEAD, typename BLOCKS, typename WHERE>
__device__ __forceinline__ void HJSystemSum(const BLOCKS &b, int o, const HJSystemValues &values, WHERE where, PetscScalar sum[DOF])
{
#pragma unroll AHEAD
  for (; o < b.noffsets; o++) {
    const HJSystemPoint<DOF> x = HJSystemRead<DOF>(where(b.off[o]));

    HJSystemAdd<DOF, ONCE>(b, o, values, x, sum);
  }
}

#define HJ_SYSTEM_EACH ((HJ_MAX_SLOTS + HJ_SYSTEM_TEAM - 1) / HJ_SYSTEM_TEAM) /* offsets of a warp of a team, at most */

/*
   The same by the warps of a block, threadIdx.y, which have 32 points together: each asks for what some of the offsets need, then one after
   the other adds that, in the order of HJSystemSum(). All of a block call it; only the last warp has the sum. here: values that may be read
   where there are none, so that all loads are in flight at once
*/
template <int DOF, bool ONCE, typename WHERE>
__device__ __forceinline__ void HJSystemTeamSum(const HJSystemBlocks<DOF> &b, int o, const HJSystemValues &values, const PetscScalar *here,
                                                WHERE where, PetscScalar sum[DOF])
{
  __shared__ PetscScalar s_sum[DOF][HJ_SYSTEM_LANES];
  const int              each = (b.noffsets - o + HJ_SYSTEM_TEAM - 1) / HJ_SYSTEM_TEAM, first = o + threadIdx.y * each;
  HJSystemPoint<DOF>     x[HJ_SYSTEM_EACH];
  PetscScalar            a[HJ_SYSTEM_EACH][DOF * DOF];
  unsigned               has[HJ_SYSTEM_EACH] = {}; /* bits of the entries that are there: to look again takes longer than the sums */

#pragma unroll
  for (int u = 0; u < HJ_SYSTEM_EACH; u++) {
    const int          m     = min(first + u, b.noffsets - 1);
    const bool         there = u < each && first + u < b.noffsets;
    const PetscScalar *at    = where(b.off[m]);

    x[u] = *(const HJSystemPoint<DOF> *)(at ? at : here);
#pragma unroll
    for (int c = 0; c < DOF; c++) x[u].v[c] = at ? x[u].v[c] : HJ_ZERO;
#pragma unroll
    for (int e = 0; e < DOF * DOF; e++) {
      const int place = b.place[m][e];

      has[u] |= (unsigned)(there && place >= 0) << e;
      a[u][e] = HJSystemLoad(values.at + place * values.apart, there && place >= 0, ONCE);
    }
  }
  for (int turn = 0; turn < HJ_SYSTEM_TEAM; turn++) {
    if (threadIdx.y == turn) {
#pragma unroll
      for (int c = 0; c < DOF && turn; c++) sum[c] = s_sum[c][threadIdx.x];
#pragma unroll
      for (int u = 0; u < HJ_SYSTEM_EACH; u++) {
#pragma unroll
        for (int e = 0; e < DOF * DOF; e++)
          if (has[u] >> e & 1) sum[e / DOF] = fma(a[u][e], x[u].v[e % DOF], sum[e / DOF]);
      }
#pragma unroll
      for (int c = 0; c < DOF; c++) s_sum[c][threadIdx.x] = sum[c];
    }
    __syncthreads();
  }
}

/* Blocks for so many points */
static inline unsigned HJSystemTeamBlocks(long long points)
{
  return (unsigned)((points + HJ_SYSTEM_LANES - 1) / HJ_SYSTEM_LANES);
}

/* One component of any dof: the sum over a row's entries. once: as above */
template <typename WHERE>
__device__ __forceinline__ PetscScalar HJSystemRowSum(const HJSystemEntries &e, int row, int o, const HJSystemValues &values, bool once,
                                                      WHERE where)
{
  PetscScalar sum = 0.0;

  for (; o < e.noffsets; o++) {
    const unsigned     mask = e.mask[o][row];
    const PetscScalar *x = where(e.off[o]), *at = values.at + e.first[o][row] * values.apart;
    PetscScalar        a[HJ_DEVICE_DOF];

    if (!mask || !x) continue;
#pragma unroll
    for (int d = 0; d < HJ_DEVICE_DOF; d++) a[d] = HJSystemLoad(at + __popc(mask & ((1u << d) - 1)) * values.apart, mask >> d & 1, once);
#pragma unroll
    for (int d = 0; d < HJ_DEVICE_DOF; d++)
      if (mask >> d & 1) sum = fma(a[d], x[d], sum);
  }
  return sum;
}
