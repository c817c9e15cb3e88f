/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming with a dictionary of rows. Rows that differ from the most frequent one, the base row, in the inverse diagonal
   alone take its coefficients, which are kernel parameters: only b is scaled by each point's own, where the first level reads it. Points
   with other coefficients take a row of their own: where they stay in the same columns, from registers; elsewhere every step looks up the
   row of each point. Instantiated for the star and for the box in hjstream2d_star.cu and hjstream2d_box.cu.
*/
#pragma once

#include "hjstream2d_coarser.cuh"

#if defined(__CUDACC__)

__device__ __forceinline__ void HJ2DSwap(PetscScalar &a, PetscScalar &b)
{
  const PetscScalar c = a;

  a = b;
  b = c;
}

/*
   AHEAD: rows of x and b that are in flight or wait, the current one included; BLOCKS, CARVE: warps a multiprocessor and the shared
   memory that they take together, KB; VARIANT: all but HJ2D_MANY are for a dictionary of one row. With a correction that is
   interpolated and added to x where it is read; with a restriction one more level makes the residual of the last one's result, whose
   rows are gathered on the coarse grid as they come
*/
template <int BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool IN_PLACE, int VARIANT> struct HJ2DConstant {
  static constexpr bool CORRECTED = HJ2DCorrects(VARIANT), RESTRICTED = HJ2DRestricts(VARIANT);
  static constexpr bool MANY = VARIANT == HJ2D_MANY, WRAP = HJ2DWraps(VARIANT); /* where columns wrap, all strips are whole */

  static constexpr int MADE   = LEVELS + RESTRICTED; /* levels, with the residual */
  static constexpr int X_ROWS = AHEAD;
  /* the last level that reads b lies LEVELS - 1 or LEVELS rows back, or it is the residual */
  static constexpr int B_ROWS     = RESTRICTED ? LEVELS + 1 + AHEAD : LEVELS + AHEAD - (LEVELS % 2 == 0);
  static constexpr int NN         = BOX ? 8 : 4;
  static constexpr int COARSE_AT  = (X_ROWS + B_ROWS) * HJ2D_ROW_BYTES;
  static constexpr int RING_BYTES = COARSE_AT + (CORRECTED ? HJ2D_COARSE_ROWS * HJ2D_COARSE_BYTES : 0);
  static constexpr int SMEM_BYTES = HJ2DShare(BLOCKS, CARVE);
  /* Modes of a step: all points take the base row; the same in a strip narrower than a warp's columns; the same, but b may have to be
     scaled; every row is looked up, in strips of any width. Between BASE and LOOK: points of a lane, one bit each, that take rows of
     their own from registers; b may have to be scaled there too */
  static constexpr int BASE = 0, LOOK = 16, SCALED = 32, NARROW = 64;
  static_assert(RING_BYTES <= SMEM_BYTES, "shared memory");

  /* A row of the dictionary, as in HJ2DArgs::table: it is read two numbers at a time */
  struct alignas(2 * sizeof(PetscScalar)) Row {
    PetscScalar c[NN + 1], factor;
  };

  /* What a lane's points take that is not the base row's */
  struct Own {
    Row         row[4];    /* of the points with a row of their own, the same for all levels */
    PetscScalar factor[4]; /* of b, in the row that this step scales: that behind the current one, with a zero guess the current one */
    unsigned    ids[LEVELS + 1]; /* LOOK: place in the table, one byte a point: of the current row of points, then of those behind it */
  };

  const HJ2DArgs    &g;
  HJ2DWarp           w;
  const PetscScalar *beside; /* in place: x is at own columns, this at the others */
  int                x_step;
  unsigned           x_slot, b_slot;            /* places of the current row in shared memory, bytes */
  PetscScalar        a[MADE][2][4];             /* two rows of each level's input */
  PetscScalar        e[BOX ? LEVELS : 1][2][2]; /* the points beside them */
  PetscScalar        gathered[2];               /* RESTRICTED: what the lane's next two coarse points have so far */
  const Row         *table;                     /* the dictionary, in shared memory if it is small */
  /* Of the group of rows that now lands: rows of the dictionary of the lane's four points, one byte each; the same with the base row
     for all that are like it; for which points they are not, in any lane; what last was for the rows before; and what ids was for the
     row before. Then what was fetched for the next group that is not like this one, and where that begins */
  unsigned ids, last, mask, was, before, ahead, ids_ahead;
  int      next, look;            /* steps on rows below look look rows up */
  bool     scaled, varies, begun; /* b must be scaled; ids are those of one row alone; last is known */

  __device__ __forceinline__ HJ2DConstant(const HJ2DArgs &args, PetscScalar *smem)
      : g(args), w(HJ2DLocate<MANY>(args, smem)), x_slot(0), b_slot(0)
  {
    PetscScalar *rows = smem + RING_BYTES / HJ_BYTES;

    if (IN_PLACE) { /* at the rows below its own */
      beside = w.saved + w.lane + g.margin;
      w.x    = SavedRows() + w.lane - w.c0;
      x_step = w.c1 - w.c0;
    }
    table = (const Row *)(g.nrows <= g.table_rows ? rows : g.table);
    for (int i = w.lane; MANY && i < g.nrows * (NN + 2) && g.nrows <= g.table_rows; i += 32) rows[i] = g.table[i];
    __syncwarp();
    ids = last = was = before = AllBase();
    mask                      = 0;
    scaled = varies = begun = false;
    gathered[0] = gathered[1] = 0;
  #pragma unroll
    for (int j = 0; j < MADE; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
      if (BOX) e[j][0][0] = e[j][0][1] = e[j][1][0] = e[j][1][1] = 0;
    }
  }

  /* Place back rows before slot in a ring; of the two candidates the wrong one has wrapped below 0 and is huge */
  template <int ROWS> static __device__ __forceinline__ unsigned Back(unsigned slot, int back)
  {
    const unsigned place = slot - back * HJ2D_ROW_BYTES;
    return min(place, back > 0 ? place + ROWS * HJ2D_ROW_BYTES : place - ROWS * HJ2D_ROW_BYTES);
  }
  /* The row that lies back rows behind the current one */
  __device__ __forceinline__ unsigned XRow(int back) const { return w.smem + Back<X_ROWS>(x_slot, back); }
  __device__ __forceinline__ unsigned BRow(int back) const { return w.smem + X_ROWS * HJ2D_ROW_BYTES + Back<B_ROWS>(b_slot, back); }

  __device__ __forceinline__ const PetscScalar *SavedRows() const { return w.saved + 2 * g.margin * (w.row_hi - w.row_lo); }

  /* A row of x where only the own points are sure to be old: the others that matter were saved */
  __device__ __forceinline__ void FetchSaved(int row, unsigned to, int width)
  {
    if (row == w.y0) {
      w.x    = w.s->x[1] + (long long)(row - w.s->box_lo[1]) * w.s->box_nx + (w.x0 - w.s->box_lo[0]) + w.lane;
      x_step = w.s->box_nx;
    } else if (row == w.y1) {
      x_step = w.c1 - w.c0;
      w.x    = SavedRows() + (w.y0 - w.row_lo) * x_step + w.lane - w.c0;
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const int  c   = w.lane + 32 * v;
      const bool own = w.writes >> v & 1;
      if (own || (c >= w.c0 - g.margin && c < min(w.c1 + g.margin, width)))
        HJCopyNumber(to + HJ2DPlace(w.lane) + 128 * v, own ? w.x + 32 * v : beside + 32 * v - (c < w.c0 ? w.c0 : w.c1));
    }
    w.x += x_step;
    beside += 2 * g.margin;
  }

  __device__ __forceinline__ void FetchWhole(unsigned to, const PetscScalar *src) const
  {
    if (WRAP) HJ2DFetchShifted(to, src, w.lane, w.shift);
    else HJ2DFetchAll(to, src, w.lane);
  }

  template <bool WHOLE> __device__ __forceinline__ void Fetch(int row, int back)
  {
    if (row >= w.row_lo && row < w.row_hi) {
      if ((!IN_PLACE || WRAP) && row == w.seam) HJ2DCross<!IN_PLACE>(w);
      if (WHOLE || WRAP) {
        if (IN_PLACE) FetchSaved(row, XRow(back), HJ2D_COLUMNS);
        else if (!g.zero_guess) FetchWhole(XRow(back), w.x);
        FetchWhole(BRow(back), w.b);
      } else {
        if (IN_PLACE) FetchSaved(row, XRow(back), w.width);
        else if (!g.zero_guess) HJ2DFetch(XRow(back), w.x, w.lane, 0, w.width);
        HJ2DFetch(BRow(back), w.b, w.lane, 0, w.width);
      }
      if (!IN_PLACE) w.x += w.s->box_nx;
      w.b += w.s->box_nx;
      if (CORRECTED && row & 1) HJ2DFetchCoarse<WRAP>(g, w, w.smem + COARSE_AT, (row >> 1) + 1);
    }
    HJCopyCommit();
  }

  static __device__ __forceinline__ constexpr bool IsSingle(int j) { return LEVELS % 2 && j == LEVELS - 1; }

  /* Factors of the base row: residual levels share theirs, to need fewer constants */
  __device__ __forceinline__ PetscScalar C(int j, int o) const
  {
    return g.c[(j == LEVELS ? HJ2D_RESIDUAL : HJ2DFactors(LEVELS, j)) * (NN + 1) + o];
  }

  __device__ __forceinline__ void Base(int j, int z, PetscScalar base[4]) const
  {
    if (j % 2 == 0 || j == LEVELS) HJ2DGet(BRow(j + 1), w.lane, base);
    else {
  #pragma unroll
      for (int v = 0; v < 4; v++) base[v] = a[j - 1][z][v];
    }
  }

  __device__ __forceinline__ void MiddleEdges(int j, int z, PetscScalar me[2]) const
  {
    if (BOX) {
      me[0] = e[j][z ^ 1][0];
      me[1] = e[j][z ^ 1][1];
    } else HJ2DEdges(a[j][z ^ 1], w.lane, me);
  }

  template <int MODE> __device__ __forceinline__ bool MustScale() const { return MODE == SCALED ? scaled : MODE != BASE && MODE != NARROW; }

  /* Whether a lane's point v takes a row of its own */
  static __device__ __forceinline__ constexpr bool HasOwn(int mode, int v) { return mode == LOOK || mode >> v & 1; }

  __device__ __forceinline__ Row Find(unsigned ids, int v) const { return table[ids >> 8 * v & 255]; }

  template <int MODE> __device__ __forceinline__ Row OwnRow(const Own &own, int j, int v) const
  {
    return MODE == LOOK ? Find(own.ids[j + 1], v) : own.row[v];
  }

  /* What the rest b - M x of level j counts in its result */
  __device__ __forceinline__ PetscScalar Factor(int j) const { return IsSingle(j) ? g.single_dinv : g.product[j / 2]; }

  /* As Older() and Newest() for one point of the lane, with its own row */
  __device__ __forceinline__ PetscScalar OlderOwn(const Row &row, int j, int z, int v, const PetscScalar me[2], PetscScalar base) const
  {
    const PetscScalar *m = a[j][z ^ 1], *o = a[j][z], *p = row.c;
    const PetscScalar  west = v ? m[v - 1] : me[0], east = v < 3 ? m[v + 1] : me[1];
    PetscScalar        t = j % 2 ? p[0] * m[v] : fma(p[0], m[v], base);

    if (BOX) {
      t = fma(p[1], v ? o[v - 1] : e[j][z][0], fma(p[2], o[v], fma(p[3], v < 3 ? o[v + 1] : e[j][z][1], t)));
      t = fma(p[4], west, fma(p[5], east, t));
    } else t = fma(p[1], west, fma(p[2], east, fma(p[3], o[v], t)));
    return IsSingle(j) ? fma(Factor(j), t, m[v]) : j % 2 ? fma(Factor(j), t, fma(g.sum[j / 2], m[v], base)) : t;
  }

  __device__ __forceinline__ PetscScalar NewestOwn(const Row &row, int j, int v, const PetscScalar n[4], const PetscScalar ne[2],
                                                   PetscScalar t) const
  {
    const PetscScalar *p = row.c, f = IsSingle(j) || j % 2 ? Factor(j) : 1;

    if (BOX) return fma(f, fma(p[6], v ? n[v - 1] : ne[0], fma(p[8], v < 3 ? n[v + 1] : ne[1], p[7] * n[v])), t);
    return fma(f * p[4], n[v], t);
  }

  /* Level j at the lane's points: t is b or x at first, then without the newest row's part */
  template <int MODE> __device__ __forceinline__ void Older(const Own &own, int j, int z, const PetscScalar me[2], PetscScalar t[4]) const
  {
    const PetscScalar *m = a[j][z ^ 1], *o = a[j][z];
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (HasOwn(MODE, v)) {
        t[v] = OlderOwn(OwnRow<MODE>(own, j, v), j, z, v, me, t[v]);
        continue;
      }
      if (IsSingle(j)) t[v] *= g.single_dinv;
      t[v] = fma(C(j, 0), m[v], t[v]);
      if (BOX) {
        t[v] = fma(C(j, 1), v ? o[v - 1] : e[j][z][0], t[v]);
        t[v] = fma(C(j, 2), o[v], t[v]);
        t[v] = fma(C(j, 3), v < 3 ? o[v + 1] : e[j][z][1], t[v]);
        t[v] = fma(C(j, 4), v ? m[v - 1] : me[0], t[v]);
        t[v] = fma(C(j, 5), v < 3 ? m[v + 1] : me[1], t[v]);
      } else {
        t[v] = fma(C(j, 3), o[v], t[v]);
        t[v] = fma(C(j, 1), v ? m[v - 1] : me[0], t[v]);
        t[v] = fma(C(j, 2), v < 3 ? m[v + 1] : me[1], t[v]);
      }
    }
  }

  template <int MODE>
  __device__ __forceinline__ void Newest(const Own &own, int j, const PetscScalar n[4], const PetscScalar ne[2], const PetscScalar t[4],
                                         PetscScalar out[4]) const
  {
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (HasOwn(MODE, v)) out[v] = NewestOwn(OwnRow<MODE>(own, j, v), j, v, n, ne, t[v]);
      else if (BOX) out[v] = fma(C(j, 6), v ? n[v - 1] : ne[0], fma(C(j, 8), v < 3 ? n[v + 1] : ne[1], fma(C(j, 7), n[v], t[v])));
      else out[v] = fma(C(j, 4), n[v], t[v]);
    }
  }

  template <int MODE> __device__ __forceinline__ void Begin(const Own &own, int j, int z, PetscScalar t[4]) const
  {
    PetscScalar me[2];

    Base(j, z, t);
    if (j == 0 && !g.zero_guess && MustScale<MODE>()) Scale(own.factor, 1, t);
    MiddleEdges(j, z, me);
    Older<MODE>(own, j, z, me, t);
  }

  __device__ __forceinline__ bool Inside(int row) const { return row >= w.s->avail_lo[1] && row < w.s->avail_hi[1]; }

  /* Whether a lane's point v exists, if its row does */
  template <int MODE> __device__ __forceinline__ bool Exists(int v) const
  {
    return (MODE != LOOK && MODE != NARROW) || 4 * w.lane + v < w.width;
  }

  /* The newest row n replaces the older of the two, and becomes the level's result, 0 where that row does not exist */
  template <int MODE>
  __device__ __forceinline__ void End(const Own &own, int j, int z, bool inside, const PetscScalar t[4], PetscScalar n[4])
  {
    PetscScalar ne[2] = {0, 0}, out[4];

    if (BOX) HJ2DEdges(n, w.lane, ne);
    Newest<MODE>(own, j, n, ne, t, out);
    if (BOX) {
      e[j][z][0] = ne[0];
      e[j][z][1] = ne[1];
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      a[j][z][v] = n[v];
      n[v]       = inside && Exists<MODE>(v) ? out[v] : HJ_ZERO;
    }
  }

  __device__ __forceinline__ void SetFactors(Own &own, unsigned id) const
  {
  #pragma unroll
    for (int v = 0; v < 4; v++) own.factor[v] = Find(id, v).factor;
  }

  /* A row of b, back rows behind the current one, has been read for the first time: from here on it is D^-1 b over dinv_base */
  __device__ __forceinline__ void Scale(const PetscScalar factor[4], int back, PetscScalar b[4]) const
  {
  #pragma unroll
    for (int v = 0; v < 4; v++) b[v] *= factor[v];
    if (back == 0 || LEVELS > 2) HJ2DSet(BRow(back), w.lane, b);
  }

  /* Takes in one row: level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one. Levels begin a
     pair early, where registers allow it, so that results go where the rows that they replace have been. ENDS: some of these rows may lie
     outside the domain */
  template <int z, bool ENDS, int MODE> __device__ __forceinline__ void Step(const Own &own, int row)
  {
    constexpr int EARLY = MODE == LOOK ? 0 : 2;
    PetscScalar   n[4], t[MADE][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch<MODE != LOOK && MODE != NARROW>(row + AHEAD - 1, 1 - AHEAD);
    HJ2DGet(g.zero_guess && !CORRECTED ? BRow(0) : XRow(0), w.lane, n);
    if (CORRECTED) HJ2DCorrect<z>(g, w, w.smem + COARSE_AT, row, n);
    if (g.zero_guess && MustScale<MODE>()) Scale(own.factor, 0, n);
  #pragma unroll
    for (int v = 0; v < 4; v++) n[v] = (ENDS && (row < w.row_lo || row >= w.row_hi)) || !Exists<MODE>(v) ? HJ_ZERO : n[v] * g.scale;
  #pragma unroll
    for (int j = 0; j < EARLY; j++) {
      if (j < MADE) Begin<MODE>(own, j, z, t[j]);
    }
  #pragma unroll
    for (int j = 0; j < MADE; j += 2) {
      if (j + EARLY < MADE) Begin<MODE>(own, j + EARLY, z, t[j + EARLY]);
      if (j + EARLY + 1 < MADE) Begin<MODE>(own, j + EARLY + 1, z, t[j + EARLY + 1]);
      End<MODE>(own, j, z, !ENDS || Inside(row - j - 1), t[j], n);
      if (j == LEVELS - 1) HJ2DPut(w, XRow(0), row - LEVELS, n);
      if (j + 1 < MADE) End<MODE>(own, j + 1, z, !ENDS || Inside(row - j - 2), t[j + 1], n);
      if (j + 1 == LEVELS - 1) HJ2DPut(w, XRow(0), row - LEVELS, n);
    }
    if (RESTRICTED) HJ2DGather<(z + LEVELS + 1) % 2>(g, w, row - LEVELS - 1, n, gathered);
    x_slot = Back<X_ROWS>(x_slot, -1);
    b_slot = Back<B_ROWS>(b_slot, -1);
  }

  /* Row in the dictionary of each of the lane's four points, one byte each. Where the operator is not known they are of no matter */
  __device__ __forceinline__ unsigned Index(int row) const
  {
    const int            known = max(g.coef_lo[1], min(row, g.coef_hi[1] - 1));
    const unsigned char *p     = g.index + (long long)(known - g.coef_lo[1]) * g.coef_nx + (w.x0 + 4 * w.lane - g.coef_lo[0]);
    unsigned             id    = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const int c = w.x0 + 4 * w.lane + v;
      id |= (unsigned)(c >= g.coef_lo[0] && c < g.coef_hi[0] && c < w.x0 + w.width ? p[v] : g.base) << 8 * v;
    }
    return id;
  }

  __device__ __forceinline__ unsigned AllBase() const { return g.base * 0x01010101u; }

  /* The same, but the base row for all that differ from it in the inverse diagonal alone */
  __device__ __forceinline__ unsigned Unlike(unsigned id) const
  {
    unsigned u = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const unsigned i = id >> 8 * v & 255;
      u |= (g.like.bits[i >> 5] >> (i & 31) & 1 ? g.base : i) << 8 * v;
    }
    return u;
  }

  /* Bit v: in some lane point v is not the base row */
  __device__ __forceinline__ unsigned Mask(unsigned unlike) const
  {
    unsigned mask = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) mask |= __any_sync(0xffffffffu, (int)(unlike >> 8 * v & 255) != g.base) ? 1u << v : 0;
    return mask;
  }

  /* This lane's part of the flags of the strip in the group of row */
  __device__ __forceinline__ unsigned Flag(int row) const
  {
    const int i = ((w.x0 - g.coef_lo[0]) >> 5) + w.lane;

    if (!Known(row)) return 0;
    if (i < 0 || i >= g.flag_nx || i * HJ2D_GROUP_COLS + g.coef_lo[0] >= w.x0 + w.width) return HJ2D_MOST_LIKE << HJ2D_FLAGS;
    return g.flags[(long long)((row >> HJ2D_GROUP_SHIFT) - g.flag_y0) * g.flag_nx + i];
  }

  /* Whether some of the group's operator is known */
  __device__ __forceinline__ bool Known(int row) const
  {
    const int k = row >> HJ2D_GROUP_SHIFT;
    return k >= g.flag_y0 && k <= (g.coef_hi[1] - 1) >> HJ2D_GROUP_SHIFT;
  }

  static __device__ __forceinline__ constexpr int Even(int row) { return (row + 1) & ~1; }

  /* A group of rows begins: which of its points take a row of their own, until where rows in flight differ along a column, and until
     where the groups that follow are like it */
  __device__ __forceinline__ void Group(int row)
  {
    int like = 0; /* from votes alone, so that the compiler sees that it is the same in all lanes */

    while (like < HJ2D_MOST_LIKE && !__any_sync(0xffffffffu, (int)(ahead >> HJ2D_FLAGS) <= like)) like++;
    next   = ((row >> HJ2D_GROUP_SHIFT) + 1 + like) * HJ2D_GROUP_ROWS;
    ids    = ids_ahead;
    was    = last;
    scaled = __any_sync(0xffffffffu, (ahead & HJ2D_SCALED) || before != AllBase());
    varies = scaled && __any_sync(0xffffffffu, ahead & HJ2D_VARIES);
    if (Known(row)) {
      const bool other = scaled && __any_sync(0xffffffffu, ahead & HJ2D_OTHER);

      last = other ? Unlike(ids) : AllBase();
      mask = other ? Mask(last) : 0;
      if (varies && __any_sync(0xffffffffu, ahead & HJ2D_MIXED)) look = max(look, Even(next + LEVELS));
      else if (begun && __any_sync(0xffffffffu, last != was)) look = max(look, Even(row + LEVELS));
      begun = true;
    }
    ahead     = Flag(next);
    ids_ahead = Index(next);
  }

  template <bool ENDS, int MODE> __device__ __forceinline__ void Rows(int row, int end)
  {
    constexpr bool SCALES = MODE != BASE && MODE != NARROW;
    const int      first  = row;
    const unsigned second = SCALES && varies ? Index(row + 1) : ids; /* as ids, of the row after the first and those that follow */
    Own            own;

  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (MODE >> v & 1) own.row[v] = Find(last, v);
    }
    if (SCALES) SetFactors(own, g.zero_guess ? ids : before);
    for (; row < end; row += 2) {
      Step<0, ENDS, MODE>(own, row);
      if (SCALES && row == first) SetFactors(own, g.zero_guess ? second : ids);
      Step<1, ENDS, MODE>(own, row + 1);
    }
    was    = last;
    before = second;
  }

  /* The two rows of each level change places */
  __device__ __forceinline__ void Swap()
  {
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) HJ2DSwap(a[j][0][v], a[j][1][v]);
  #pragma unroll
      for (int v = 0; v < 2 && BOX; v++) HJ2DSwap(e[j][0][v], e[j][1][v]);
    }
  }

  /* One step that looks rows up; the next row of the index is on its way meanwhile. Without a second copy of this for z = 1, which is
     long, warps that take it find more of it in the instruction cache */
  __device__ __forceinline__ void LookStep(Own &own, int row)
  {
    const unsigned coming = Index(row + 1);

    SetFactors(own, g.zero_guess ? own.ids[0] : own.ids[1]);
    Step<0, true, LOOK>(own, row);
    Swap();
  #pragma unroll
    for (int j = LEVELS; j > 0; j--) own.ids[j] = own.ids[j - 1];
    own.ids[0] = coming;
  }

  /* Returns the row where this may end */
  __device__ __forceinline__ int LookRows(int row, int low, int high, int end)
  {
    Own own;

    own.ids[0] = Index(row);
    own.ids[1] = before;
  #pragma unroll
    for (int j = 2; j <= LEVELS; j++) own.ids[j] = was;
    do {
  #pragma unroll 1
      for (int z = 0; z < 2; z++) LookStep(own, row++);
      before = own.ids[1];
      if (row == next) Group(row);
    } while (row < end && MustLook(row, low, high));
    return row;
  }

  __device__ __forceinline__ bool MustLook(int row, int low, int high) const { return row < look || (mask && (row < low || row >= high)); }

  /* Where the dictionary has one row */
  __device__ __forceinline__ void RunOne(int start, int low, int high, int end)
  {
    if (!WRAP && !RESTRICTED && w.width < HJ2D_COLUMNS) {
      Rows<true, NARROW>(start, end);
      return;
    }
    for (int row = start, next; row < end; row = next) {
      next = row < low ? min(low, end) : row < high ? min(high, end) : end;
      if (row < low || row >= high) Rows<true, BASE>(row, next);
      else Rows<false, BASE>(row, next);
    }
  }

  __device__ __forceinline__ void RunMany(int start, int low, int high, int end)
  {
    int row = start;

    look      = w.width < HJ2D_COLUMNS || w.look ? end : start;
    ahead     = Flag(start);
    ids_ahead = Index(start);
    Group(start);
    while (row < end) {
      if (MustLook(row, low, high)) {
        row = LookRows(row, low, high, end);
        continue;
      }
      int until = min(min(end, next), row < low ? low : row < high ? high : end);

      if (varies) {
        ids   = Index(row);
        until = row + 2;
      }
      if (mask == 0 && (row < low || row >= high)) Rows<true, SCALED>(row, until);
      else if (mask == 0) Rows<false, SCALED>(row, until);
      else if ((mask & 12) == 0) Rows<false, 3>(row, until);
      else if ((mask & 3) == 0) Rows<false, 12>(row, until);
      else Rows<false, 15>(row, until);
      row = until;
      if (row == next) Group(row);
    }
  }

  __device__ __forceinline__ void Run()
  {
    const int start = w.row_lo & ~1, end = (w.y1 + LEVELS + 1 + 2 * RESTRICTED) & ~1;
    /* rows below low and from high on may lie outside the domain */
    const int low  = w.y0 - g.margin < w.s->avail_lo[1] ? (w.row_lo + MADE + 1) & ~1 : start,
              high = w.y1 + g.margin > w.s->avail_hi[1] ? w.s->avail_hi[1] & ~1 : end;

    if (CORRECTED) HJ2DFetchCoarse<WRAP>(g, w, w.smem + COARSE_AT, start >> 1);
    for (int i = 0; i < AHEAD - 1; i++) Fetch<false>(start + i, -i);
    if (MANY) RunMany(start, low, high, end);
    else RunOne(start, low, high, end);
  }
};

template <int BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool IN_PLACE, int VARIANT>
__global__ void __launch_bounds__(32, BLOCKS) HJStream2DConstant_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) PetscScalar s_rows[];

  HJ2DConstant<BOX, LEVELS, AHEAD, BLOCKS, CARVE, IN_PLACE, VARIANT> warp(g, s_rows);

  if (warp.w.y0 < warp.w.y1) warp.Run();
}

  #define HJ2DVariants(box, levels, ahead, blocks, carve, in_place)                                                                        \
    {                                                                                                                                      \
      (const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, in_place, HJ2D_ONE>,                         \
        (const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, in_place, HJ2D_MANY>,                      \
        (const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, in_place, HJ2D_WRAP>                       \
    }
  #define HJ2DEntry(box, levels, ahead, blocks, carve)                                                                                     \
    {                                                                                                                                      \
      levels, HJ2D_BLOCKS(blocks), HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::SMEM_BYTES,             \
        HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::RING_BYTES,                                        \
        HJ2DVariants(box, levels, ahead, blocks, carve, false),                                                                            \
      {                                                                                                                                    \
        nullptr, nullptr, nullptr                                                                                                          \
      }                                                                                                                                    \
    }
  /* Not for dictionaries of more than one row */
  #define HJ2DEntryOneRow(box, levels, ahead, blocks, carve)                                                                               \
    {                                                                                                                                      \
      levels, HJ2D_BLOCKS(blocks), HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_ONE>::SMEM_BYTES,              \
        HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_ONE>::RING_BYTES,                                         \
        {(const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_ONE>, nullptr,                \
         (const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_WRAP>},                       \
      {                                                                                                                                    \
        nullptr, nullptr, nullptr                                                                                                          \
      }                                                                                                                                    \
    }
  #define HJ2DEntryCorrected(levels, ahead, blocks, carve)                                                                                 \
    {                                                                                                                                      \
      levels, HJ2D_BLOCKS(blocks), HJ2DConstant<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_CORRECTED>::SMEM_BYTES,          \
        HJ2DConstant<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_CORRECTED>::RING_BYTES,                                     \
        {nullptr, nullptr,                                                                                                                 \
         nullptr, (const void *)HJStream2DConstant_Kernel<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_CORRECTED>,            \
         nullptr, (const void *)HJStream2DConstant_Kernel<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_WRAP_CORRECTED>},      \
      {                                                                                                                                    \
        nullptr, nullptr, nullptr                                                                                                          \
      }                                                                                                                                    \
    }
  #define HJ2DEntryRestricted(levels, ahead, blocks, carve)                                                                                \
    {                                                                                                                                      \
      levels, HJ2D_BLOCKS(blocks), HJ2DConstant<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_RESTRICTED>::SMEM_BYTES,         \
        HJ2DConstant<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_RESTRICTED>::RING_BYTES,                                    \
        {nullptr,                                                                                                                          \
         nullptr,                                                                                                                          \
         nullptr,                                                                                                                          \
         nullptr,                                                                                                                          \
         (const void *)HJStream2DConstant_Kernel<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_RESTRICTED>,                    \
         nullptr,                                                                                                                          \
         (const void *)HJStream2DConstant_Kernel<0, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_WRAP_RESTRICTED>},              \
      {                                                                                                                                    \
        nullptr, nullptr, nullptr                                                                                                          \
      }                                                                                                                                    \
    }
  #define HJ2DEntryInPlace(box, levels, ahead, blocks, carve)                                                                              \
    {                                                                                                                                      \
      levels, HJ2D_BLOCKS(blocks), HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::SMEM_BYTES,             \
        HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::RING_BYTES,                                        \
        HJ2DVariants(box, levels, ahead, blocks, carve, false), HJ2DVariants(box, levels, ahead, blocks, carve, true)                      \
    }

#endif
