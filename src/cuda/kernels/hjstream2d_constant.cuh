/*
   2D exact streaming with a dictionary of rows: where the strip meets nothing but the base row, its coefficients are kernel parameters. At the domain's
   ends in x one lane's outermost point may have another row: each lane then keeps the row of that point of its four in registers. All other steps
   read the index. Instantiated for the star and for the box in hjstream2d_star.cu and hjstream2d_box.cu.
*/
#pragma once

#include "hjstream2d.cuh"

#if defined(__CUDACC__)

/*
   AHEAD: rows of x and b that are in flight or wait, the current one included; BLOCKS, CARVE: warps a multiprocessor and the shared memory that they
   take together, KB
*/
template <int BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool IN_PLACE> struct HJ2DConstant {
  static constexpr int X_ROWS = AHEAD;
  static constexpr int B_ROWS = LEVELS + AHEAD - (LEVELS % 2 == 0); /* the last level that reads b lies LEVELS - 1 or LEVELS rows back */
  static constexpr int NN     = BOX ? 8 : 4;
  static constexpr int RING_BYTES  = (X_ROWS + B_ROWS) * HJ2D_ROW_BYTES;
  static constexpr int SMEM_BYTES  = HJ2DShare(BLOCKS, CARVE);
  static constexpr int LEAST_BYTES = RING_BYTES + HJ2D_TABLE_ROWS * (NN + 2) * 8;
  static_assert(LEAST_BYTES <= SMEM_BYTES, "shared memory");

  const HJ2DArgs &g;
  HJ2DWarp        w;
  const double   *beside; /* in place: x is at own columns, this at the others */
  int             x_step;
  unsigned        x_slot, b_slot;            /* places of the current row in shared memory, bytes */
  double          a[LEVELS][2][4];           /* two rows of each level's input */
  double          e[BOX ? LEVELS : 1][2][2]; /* the points beside them */
  double          p[NN + 1], pd;             /* minus the row and the inverse diagonal of the lane's outermost point, both over dinv_base */

  __device__ __forceinline__ HJ2DConstant(const HJ2DArgs &args, double *smem) : g(args), w(HJ2DLocate(args, smem)), x_slot(0), b_slot(0)
  {
    double *table = smem + RING_BYTES / 8;

    if (IN_PLACE) { /* at the rows below its own */
      beside = w.saved + w.lane + g.margin;
      w.x    = SavedRows() + w.lane - w.c0;
      x_step = w.c1 - w.c0;
    }
    if (g.nrows <= HJ2D_TABLE_ROWS) {
      for (int i = w.lane; i < g.nrows * (NN + 1); i += 32) table[i] = g.rows[i];
      for (int i = w.lane; i < g.nrows; i += 32) table[HJ2D_TABLE_ROWS * (NN + 1) + i] = g.dinv_rows[i];
    }
    __syncwarp();
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
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

  __device__ __forceinline__ const double *SavedRows() const { return w.saved + 2 * g.margin * (w.row_hi - w.row_lo); }

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
        HJCopy8(to + HJ2DPlace(w.lane) + 128 * v, own ? w.x + 32 * v : beside + 32 * v - (c < w.c0 ? w.c0 : w.c1));
    }
    w.x += x_step;
    beside += 2 * g.margin;
  }

  template <bool WHOLE> __device__ __forceinline__ void Fetch(int row, int back)
  {
    if (row >= w.row_lo && row < w.row_hi) {
      if (!IN_PLACE && row == w.seam) HJ2DCross(w);
      if (WHOLE) {
        if (IN_PLACE) FetchSaved(row, XRow(back), HJ2D_COLUMNS);
        else if (!g.zero_guess) HJ2DFetchAll(XRow(back), w.x, w.lane);
        HJ2DFetchAll(BRow(back), w.b, w.lane);
      } else {
        if (IN_PLACE) FetchSaved(row, XRow(back), w.width);
        else if (!g.zero_guess) HJ2DFetch(XRow(back), w.x, w.lane, 0, w.width);
        HJ2DFetch(BRow(back), w.b, w.lane, 0, w.width);
      }
      if (!IN_PLACE) w.x += w.s->box_nx;
      w.b += w.s->box_nx;
    }
    HJCopyCommit();
  }

  static __device__ __forceinline__ constexpr bool IsSingle(int j) { return LEVELS % 2 && j == LEVELS - 1; }

  /* Factors of the base row: residual levels share theirs, to need fewer constants */
  __device__ __forceinline__ double C(int j, int o) const { return g.c[HJ2DFactors(LEVELS, j) * (NN + 1) + o]; }

  __device__ __forceinline__ void Base(int j, int z, double base[4]) const
  {
    if (j % 2 == 0) HJ2DGet(BRow(j + 1), w.lane, base);
    else {
  #pragma unroll
      for (int v = 0; v < 4; v++) base[v] = a[j - 1][z][v];
    }
  }

  __device__ __forceinline__ void MiddleEdges(int j, int z, double me[2]) const
  {
    if (BOX) {
      me[0] = e[j][z ^ 1][0];
      me[1] = e[j][z ^ 1][1];
    } else HJ2DEdges(a[j][z ^ 1], w.lane, me);
  }

  /* Which of a lane's points may have another row; side 0: none */
  static __device__ __forceinline__ constexpr bool IsEnd(int side, int v)
  {
    return side == HJ2D_LEFT ? v == 0 : side == HJ2D_RIGHT && v == 3;
  }

  /* What the rest b - M x of level j counts in its result */
  __device__ __forceinline__ double Factor(int j) const { return IsSingle(j) ? g.single_dinv : g.product[j / 2]; }

  /* As Older() and Newest() for one point of the lane, with the row in p */
  __device__ __forceinline__ double OlderEnd(int j, int z, int v, const double me[2], double base) const
  {
    const double *m = a[j][z ^ 1], *o = a[j][z];
    const double  west = v ? m[v - 1] : me[0], east = v < 3 ? m[v + 1] : me[1];
    double        t = j % 2 ? p[0] * m[v] : fma(p[0], m[v], pd * base);

    if (BOX) {
      t = fma(p[1], v ? o[v - 1] : e[j][z][0], fma(p[2], o[v], fma(p[3], v < 3 ? o[v + 1] : e[j][z][1], t)));
      t = fma(p[4], west, fma(p[5], east, t));
    } else t = fma(p[1], west, fma(p[2], east, fma(p[3], o[v], t)));
    return IsSingle(j) ? fma(Factor(j), t, m[v]) : j % 2 ? fma(Factor(j), t, fma(g.sum[j / 2], m[v], base)) : t;
  }

  __device__ __forceinline__ double NewestEnd(int j, int v, const double n[4], const double ne[2], double t) const
  {
    const double f = IsSingle(j) || j % 2 ? Factor(j) : 1;

    if (BOX) return fma(f, fma(p[6], v ? n[v - 1] : ne[0], fma(p[8], v < 3 ? n[v + 1] : ne[1], p[7] * n[v])), t);
    return fma(f * p[4], n[v], t);
  }

  /* Level j with the base row: t is b or x at first, then without the newest row's part */
  template <int SIDE> __device__ __forceinline__ void Older(int j, int z, const double me[2], double t[4]) const
  {
    const double *m = a[j][z ^ 1], *o = a[j][z];
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (IsEnd(SIDE, v)) {
        t[v] = OlderEnd(j, z, v, me, t[v]);
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

  template <int SIDE>
  __device__ __forceinline__ void Newest(int j, const double n[4], const double ne[2], const double t[4], double out[4]) const
  {
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (IsEnd(SIDE, v)) out[v] = NewestEnd(j, v, n, ne, t[v]);
      else if (BOX) out[v] = fma(C(j, 6), v ? n[v - 1] : ne[0], fma(C(j, 8), v < 3 ? n[v + 1] : ne[1], fma(C(j, 7), n[v], t[v])));
      else out[v] = fma(C(j, 4), n[v], t[v]);
    }
  }

  template <int SIDE> __device__ __forceinline__ void Begin(int j, int z, double t[4]) const
  {
    double me[2];

    Base(j, z, t);
    MiddleEdges(j, z, me);
    Older<SIDE>(j, z, me, t);
  }

  __device__ __forceinline__ bool Inside(int row) const { return row >= w.s->avail_lo[1] && row < w.s->avail_hi[1]; }

  /* The newest row n replaces the older of the two, and becomes the level's result, 0 where that row does not exist */
  template <int SIDE> __device__ __forceinline__ void End(int j, int z, bool inside, const double t[4], double n[4])
  {
    double ne[2] = {0, 0}, out[4];

    if (BOX) HJ2DEdges(n, w.lane, ne);
    Newest<SIDE>(j, n, ne, t, out);
    if (BOX) {
      e[j][z][0] = ne[0];
      e[j][z][1] = ne[1];
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      a[j][z][v] = n[v];
      n[v]       = inside ? out[v] : 0.;
    }
  }

  /* Takes in one row: level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one. Levels begin a pair early,
     so that results go where the rows that they replace have been. ENDS: some of these rows may lie outside the domain */
  template <int z, bool ENDS, int SIDE> __device__ __forceinline__ void Step(int row)
  {
    double n[4], t[LEVELS][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch<true>(row + AHEAD - 1, 1 - AHEAD);
    HJ2DGet(g.zero_guess ? BRow(0) : XRow(0), w.lane, n);
  #pragma unroll
    for (int v = 0; v < 4; v++) n[v] = ENDS && (row < w.row_lo || row >= w.row_hi) ? 0. : n[v] * g.scale;
    if (SIDE && g.zero_guess) n[SIDE == HJ2D_LEFT ? 0 : 3] *= pd;
    Begin<SIDE>(0, z, t[0]);
    if (LEVELS > 1) Begin<SIDE>(1, z, t[1]);
  #pragma unroll
    for (int j = 0; j < LEVELS; j += 2) {
      if (j + 2 < LEVELS) Begin<SIDE>(j + 2, z, t[j + 2]);
      if (j + 3 < LEVELS) Begin<SIDE>(j + 3, z, t[j + 3]);
      End<SIDE>(j, z, !ENDS || Inside(row - j - 1), t[j], n);
      if (j + 1 < LEVELS) End<SIDE>(j + 1, z, !ENDS || Inside(row - j - 2), t[j + 1], n);
    }
    HJ2DPut(w, XRow(0), row - LEVELS, n);
    x_slot = Back<X_ROWS>(x_slot, -1);
    b_slot = Back<B_ROWS>(b_slot, -1);
  }

  /* Rows of the dictionary of the lane's four points, one byte each; the base row where the operator is not known (of no matter) */
  __device__ __forceinline__ unsigned Index(int row) const
  {
    const unsigned char *p     = g.index + (long long)(row - g.coef_lo[1]) * g.coef_nx + (w.x0 + 4 * w.lane - g.coef_lo[0]);
    const bool           known = g.nrows > 1 && row >= g.coef_lo[1] && row < g.coef_hi[1];
    unsigned             id    = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const int c = w.x0 + 4 * w.lane + v;
      id |= (unsigned)(known && c >= g.coef_lo[0] && c < g.coef_hi[0] ? p[v] : g.base) << 8 * v;
    }
    return id;
  }

  /* Level j at the lane's points, with rows of the dictionary by their index */
  __device__ __forceinline__ void Look(const double *rows, const double *dinv_rows, int j, unsigned id, const double n[4],
                                       const double ne[2], const double me[2], const double base[4], double out[4]) const
  {
    const double *m = a[j][1], *o = a[j][0];
    double        q[NN + 1], d    = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const unsigned i = id >> 8 * v & 255;
      if (v == 0 || i != (id >> 8 * (v - 1) & 255)) {
        for (int k = 0; k <= NN; k++) q[k] = rows[i * (NN + 1) + k];
        d = dinv_rows[i];
      }
      double s = q[0] * m[v];
      if (BOX) {
        s = fma(q[1], v ? o[v - 1] : e[j][0][0], fma(q[2], o[v], fma(q[3], v < 3 ? o[v + 1] : e[j][0][1], s)));
        s = fma(q[4], v ? m[v - 1] : me[0], fma(q[5], v < 3 ? m[v + 1] : me[1], s));
        s = fma(q[6], v ? n[v - 1] : ne[0], fma(q[7], n[v], fma(q[8], v < 3 ? n[v + 1] : ne[1], s)));
      } else {
        s = fma(q[1], v ? m[v - 1] : me[0], fma(q[2], v < 3 ? m[v + 1] : me[1], fma(q[3], o[v], fma(q[4], n[v], s))));
      }
      if (IsSingle(j)) out[v] = fma(g.single, d * base[v] - s, m[v]);
      else if (j % 2 == 0) out[v] = (d * base[v] - s) * g.dinv_base_inverse;
      else out[v] = fma(g.sum[j / 2], m[v], fma(-g.product[j / 2] * g.dinv_base_inverse, s, base[v]));
    }
  }

  /* The first level's input: with a zero guess w_1 D^-1 b; 0 where there is nothing */
  __device__ __forceinline__ void LookInput(const double *dinv_rows, int row, unsigned id, double n[4]) const
  {
    HJ2DGet(g.zero_guess ? BRow(0) : XRow(0), w.lane, n);
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (g.zero_guess) n[v] *= g.w0 * dinv_rows[id >> 8 * v & 255];
      if (row < w.row_lo || row >= w.row_hi || 4 * w.lane + v >= w.width) n[v] = 0;
    }
  }

  /* One step of the general kind, on a[.][0] and a[.][1], which then change places. ids: index of rows row, row - 1, ... */
  __device__ __forceinline__ void LookStep(const double *rows, const double *dinv_rows, int row, const unsigned ids[LEVELS + 1])
  {
    double n[4], t[LEVELS][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch<false>(row + AHEAD - 1, 1 - AHEAD);
    LookInput(dinv_rows, row, ids[0], n);
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
      const bool inside = Inside(row - j - 1);
      double     base[4], me[2], ne[2] = {0, 0}, in[4];

      if (j % 2) {
  #pragma unroll
        for (int v = 0; v < 4; v++) base[v] = t[j - 1][v];
      } else Base(j, 0, base);
      MiddleEdges(j, 0, me);
      if (BOX) HJ2DEdges(n, w.lane, ne);
  #pragma unroll
      for (int v = 0; v < 4; v++) in[v] = n[v];
      if (__any_sync(0xffffffffu, ids[j + 1] != g.base * 0x01010101u)) Look(rows, dinv_rows, j, ids[j + 1], in, ne, me, base, n);
      else {
        Older<0>(j, 0, me, base);
        Newest<0>(j, in, ne, base, n);
      }
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        if (!inside || 4 * w.lane + v >= w.width) n[v] = 0;
        t[j][v]    = a[j][0][v];
        a[j][0][v] = a[j][1][v];
        a[j][1][v] = in[v];
      }
      if (BOX) {
  #pragma unroll
        for (int v = 0; v < 2; v++) {
          e[j][0][v] = e[j][1][v];
          e[j][1][v] = ne[v];
        }
      }
    }
    HJ2DPut(w, XRow(0), row - LEVELS, n);
    x_slot = Back<X_ROWS>(x_slot, -1);
    b_slot = Back<B_ROWS>(b_slot, -1);
  }

  /* The dictionary, in shared memory if it is small */
  static __device__ __forceinline__ void Table(const HJ2DArgs &g, const double **rows, const double **dinv_rows)
  {
    extern __shared__ __align__(16) double s_rows[];
    const double                          *table = s_rows + RING_BYTES / 8;

    *rows      = g.nrows <= HJ2D_TABLE_ROWS ? table : g.rows;
    *dinv_rows = g.nrows <= HJ2D_TABLE_ROWS ? table + HJ2D_TABLE_ROWS * (NN + 1) : g.dinv_rows;
  }

  /* The outermost column has this row of the dictionary. Not kept for longer than a group of rows: registers are short elsewhere */
  __device__ __forceinline__ void TakeEnd(int id)
  {
    const int     i = w.lane == (w.sides == HJ2D_LEFT ? 0 : 31) ? id : g.base;
    const double *rows, *dinv_rows;

    Table(g, &rows, &dinv_rows);
  #pragma unroll
    for (int o = 0; o <= NN; o++) p[o] = -rows[i * (NN + 1) + o] * g.dinv_base_inverse;
    pd = dinv_rows[i] * g.dinv_base_inverse;
  }

  __device__ __forceinline__ void LookRows(int row, int end)
  {
    const double *rows, *dinv_rows;
    unsigned      ids[LEVELS + 1];

    Table(g, &rows, &dinv_rows);
  #pragma unroll
    for (int j = 0; j <= LEVELS; j++) ids[j] = Index(row - j);
    for (; row < end; row++) {
      const unsigned ahead = Index(row + 1);

      LookStep(rows, dinv_rows, row, ids);
  #pragma unroll
      for (int j = LEVELS; j > 0; j--) ids[j] = ids[j - 1];
      ids[0] = ahead;
    }
  }

  /* This lane's part of the flags of the strip in the group of row; the last lane has the outermost column's row instead, -1: of no matter */
  __device__ __forceinline__ int Flag(int row) const
  {
    const int  i = ((w.x0 - g.coef_lo[0]) >> 5) + w.lane, k = (row >> HJ2D_GROUP_SHIFT) - g.flag_y0;
    const bool known = g.flags && k >= 0 && k <= ((g.coef_hi[1] - 1) >> HJ2D_GROUP_SHIFT) - g.flag_y0;

    if (w.lane == 31) return known && (w.sides == HJ2D_LEFT || w.sides == HJ2D_RIGHT) && g.ends[w.sides - 1] ? g.ends[w.sides - 1][k] : -1;
    if (!known || i < 0 || i >= g.flag_nx || i * HJ2D_GROUP_COLS + g.coef_lo[0] >= w.x0 + w.width) return 0;
    return g.flags[(long long)k * g.flag_nx + i];
  }

  template <bool ENDS, int SIDE> __device__ __forceinline__ void Rows(int row, int end)
  {
    for (; row < end; row += 2) {
      Step<0, ENDS, SIDE>(row);
      Step<1, ENDS, SIDE>(row + 1);
    }
  }

  __device__ __forceinline__ void Run()
  {
    const int start = w.row_lo & ~1, end = (w.y1 + LEVELS + 1) & ~1;
    /* rows below low and from high on may lie outside the domain; rows below look use the index */
    const int low  = w.y0 - g.margin < w.s->avail_lo[1] ? (w.row_lo + LEVELS + 1) & ~1 : start,
              high = w.y1 + g.margin > w.s->avail_hi[1] ? w.s->avail_hi[1] & ~1 : end;
    int look = w.width < HJ2D_COLUMNS || w.sides == (HJ2D_LEFT | HJ2D_RIGHT) ? end : w.sides ? low : start, ahead = Flag(start), last = -1;

    for (int i = 0; i < AHEAD - 1; i++) Fetch<false>(start + i, -i);
    for (int row = start, next; row < end; row = next) {
      next = g.flags ? min(end, (row | (HJ2D_GROUP_ROWS - 1)) + 1) : end;
      if (row == start || row % HJ2D_GROUP_ROWS == 0) {
        const int id = __shfl_sync(0xffffffffu, ahead, 31);

        if (__any_sync(0xffffffffu, w.lane < 31 && ahead) || (id >= 0 && last >= 0 && id != last))
          look = max(look, (next + LEVELS + 1) & ~1);
        last  = id >= 0 ? id : last;
        ahead = Flag(row + HJ2D_GROUP_ROWS);
      }
      if (w.sides && row >= high) look = end;
      if (row < look) {
        next = min(next, look);
        LookRows(row, next);
      } else if (!w.sides && (row < low || row >= high)) {
        if (row < low) next = min(next, low);
        Rows<true, 0>(row, next);
      } else {
        next = min(next, high);
        if (w.sides) TakeEnd(last < 0 ? g.base : last);
        if (!w.sides) Rows<false, 0>(row, next);
        else if (w.sides == HJ2D_LEFT) Rows<false, HJ2D_LEFT>(row, next);
        else Rows<false, HJ2D_RIGHT>(row, next);
      }
    }
  }
};

template <int BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool IN_PLACE>
__global__ void __launch_bounds__(32, BLOCKS) HJStream2DConstant_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) double s_rows[];

  HJ2DConstant<BOX, LEVELS, AHEAD, BLOCKS, CARVE, IN_PLACE> warp(g, s_rows);

  if (warp.w.y0 < warp.w.y1) warp.Run();
}

  #define HJ2DEntry(box, levels, ahead, blocks, carve, in_place)                                                                           \
    {                                                                                                                                      \
      levels, blocks, HJ2DConstant<box, levels, ahead, blocks, carve, false>::SMEM_BYTES,                                                  \
        HJ2DConstant<box, levels, ahead, blocks, carve, false>::LEAST_BYTES,                                                               \
        (const void *)HJStream2DConstant_Kernel<box, levels, ahead, blocks, carve, false>,                                                 \
        in_place ? (const void *)HJStream2DConstant_Kernel<box, levels, ahead, blocks, carve, in_place> : nullptr                          \
    }

#endif
