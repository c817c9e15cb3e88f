/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The makefile builds this file once for each instruction set (HJ_ISA), hjhost.c picks one at run time. Vectors are the compiler's
   (GCC, Clang) generic ones; every kernel is written out by its list of neighbours.
*/
#include "hjhostkernels.h"

#if defined(__AVX512F__)
  #define HJ_BYTES 64
#elif defined(__AVX__)
  #define HJ_BYTES 32
#else
  #define HJ_BYTES 16
#endif
#define HJ_LANES ((PetscInt)(HJ_BYTES / sizeof(PetscScalar)))

typedef PetscScalar HJVector __attribute__((vector_size(HJ_BYTES), aligned(sizeof(PetscScalar)), may_alias));

/* X-macro lists: M(neighbour number, line of x, shift in x), slots from 1 on in their order */
#define HJ_STAR1(M)     M(0, 4, -1) M(1, 4, 1)
#define HJ_STAR2(M)     HJ_STAR1(M) M(2, 3, 0) M(3, 5, 0)
#define HJ_STAR3(M)     HJ_STAR2(M) M(4, 1, 0) M(5, 7, 0)
#define HJ_BOX2(M)      M(0, 3, -1) M(1, 3, 0) M(2, 3, 1) M(3, 4, -1) M(4, 4, 1) M(5, 5, -1) M(6, 5, 0) M(7, 5, 1)
#define HJ_BOX3_LOW(M)  M(0, 0, -1) M(1, 0, 0) M(2, 0, 1) M(3, 1, -1) M(4, 1, 0) M(5, 1, 1) M(6, 2, -1) M(7, 2, 0) M(8, 2, 1)
#define HJ_BOX3_MID(M)  M(9, 3, -1) M(10, 3, 0) M(11, 3, 1) M(12, 4, -1) M(13, 4, 1) M(14, 5, -1) M(15, 5, 0) M(16, 5, 1)
#define HJ_BOX3_HIGH(M) M(17, 6, -1) M(18, 6, 0) M(19, 6, 1) M(20, 7, -1) M(21, 7, 0) M(22, 7, 1) M(23, 8, -1) M(24, 8, 0) M(25, 8, 1)
#define HJ_BOX3(M)      HJ_BOX3_LOW(M) HJ_BOX3_MID(M) HJ_BOX3_HIGH(M)

#define HJ_AT(p)                        (*(const T *)(p))
#define HJ_COEFFICIENT(o, line, shift)  const PetscScalar c##o = r->c[2 + o];
#define HJ_ARRAY(o, line, shift)        const PetscScalar *v##o = r->v[o];
#define HJ_ADD_CONSTANT(o, line, shift) +c##o *HJ_AT(x##line + i + (shift))
#define HJ_ADD_INDEXED(o, line, shift)  +c[2 + o] * x##line[i + (shift)]
#define HJ_ADD_VARIABLE(o, line, shift) -HJ_AT(v##o + i) * HJ_AT(x##line + i + (shift))
#define HJ_ADD_POINT(o, line, shift)    -c[o] * x##line[i + (shift)]
#define HJ_LINES                                                                                                                           \
  const PetscScalar *x0 PETSC_UNUSED = r->x[0], *x1 PETSC_UNUSED = r->x[1], *x2 PETSC_UNUSED = r->x[2], *x3 PETSC_UNUSED = r->x[3],        \
                        *x4          = r->x[4];                                                                                            \
  const PetscScalar *x5 PETSC_UNUSED = r->x[5], *x6 PETSC_UNUSED = r->x[6], *x7 PETSC_UNUSED = r->x[7], *x8 PETSC_UNUSED = r->x[8]

/* y at i = expression of vectors or scalars of type T. The last vector overlaps the one before: y is only written */
#define HJ_FOR_LINE(EXPRESSION)                                                                                                            \
  {                                                                                                                                        \
    PetscInt         i = 0;                                                                                                                \
    typedef HJVector T;                                                                                                                    \
    for (; i + HJ_LANES <= n; i += HJ_LANES) *(T *)(y + i) = EXPRESSION;                                                                   \
    if (i < n && n >= HJ_LANES) {                                                                                                          \
      i             = n - HJ_LANES;                                                                                                        \
      *(T *)(y + i) = EXPRESSION;                                                                                                          \
      i             = n;                                                                                                                   \
    }                                                                                                                                      \
    {                                                                                                                                      \
      typedef PetscScalar T;                                                                                                               \
      for (; i < n; i++) *(T *)(y + i) = EXPRESSION;                                                                                       \
    }                                                                                                                                      \
  }

/* The same, every point once: b may be y */
#define HJ_FOR_LINE_ONCE(EXPRESSION)                                                                                                       \
  {                                                                                                                                        \
    PetscInt i = 0;                                                                                                                        \
    {                                                                                                                                      \
      typedef HJVector T;                                                                                                                  \
      for (; i + HJ_LANES <= n; i += HJ_LANES) *(T *)(y + i) = EXPRESSION;                                                                 \
    }                                                                                                                                      \
    {                                                                                                                                      \
      typedef PetscScalar T;                                                                                                               \
      for (; i < n; i++) *(T *)(y + i) = EXPRESSION;                                                                                       \
    }                                                                                                                                      \
  }

#define HJ_ROW_KERNELS(NAME, NNEIGHBORS, LIST)                                                                                             \
  static void HJConstant_##NAME(const HJHostRow *r)                                                                                        \
  {                                                                                                                                        \
    const PetscInt    n  = r->n;                                                                                                           \
    const PetscScalar cb = r->c[0], cx = r->c[1], *b = r->b;                                                                               \
    PetscScalar      *y = r->y;                                                                                                            \
    HJ_LINES;                                                                                                                              \
    LIST(HJ_COEFFICIENT)                                                                                                                   \
    HJ_FOR_LINE(cb *HJ_AT(b + i) + cx * HJ_AT(x4 + i) LIST(HJ_ADD_CONSTANT))                                                               \
  }                                                                                                                                        \
  static void HJIndexed_##NAME(const HJHostRow *r)                                                                                         \
  {                                                                                                                                        \
    const PetscScalar *b = r->b;                                                                                                           \
    PetscScalar       *y = r->y;                                                                                                           \
    HJ_LINES;                                                                                                                              \
    for (PetscInt i = 0; i < r->n; i++) {                                                                                                  \
      const PetscScalar *c = r->c + (2 + NNEIGHBORS) * (PetscInt)r->index[i];                                                              \
      y[i]                 = c[0] * b[i] + c[1] * x4[i] LIST(HJ_ADD_INDEXED);                                                              \
    }                                                                                                                                      \
  }                                                                                                                                        \
  static void HJIndexedAlone_##NAME(const HJHostRow *r)                                                                                    \
  {                                                                                                                                        \
    for (PetscInt i = 0; i < r->n; i++) {                                                                                                  \
      const PetscScalar *c = r->c + (2 + NNEIGHBORS) * (PetscInt)r->index[i];                                                              \
      r->y[i]              = c[0] * r->b[i] + c[1] * r->x[4][i];                                                                           \
    }                                                                                                                                      \
  }                                                                                                                                        \
  static void HJIndexedZero_##NAME(const HJHostRow *r)                                                                                     \
  {                                                                                                                                        \
    for (PetscInt i = 0; i < r->n; i++) r->y[i] = r->c[(2 + NNEIGHBORS) * (PetscInt)r->index[i]] * r->b[i];                                \
  }                                                                                                                                        \
  static void HJVariable_##NAME(const HJHostRow *r)                                                                                        \
  {                                                                                                                                        \
    const PetscInt     n = r->n;                                                                                                           \
    const PetscScalar  w = r->w;                                                                                                           \
    const PetscScalar *b = r->b, *dinv = r->dinv;                                                                                          \
    PetscScalar       *y = r->y;                                                                                                           \
    HJ_LINES;                                                                                                                              \
    LIST(HJ_ARRAY)                                                                                                                         \
    HJ_FOR_LINE(HJ_AT(x4 + i) + w * (HJ_AT(dinv + i) * (HJ_AT(b + i) LIST(HJ_ADD_VARIABLE)) - HJ_AT(x4 + i)))                              \
  }                                                                                                                                        \
  static void HJVariablePoint_##NAME(const HJHostRow *r)                                                                                   \
  {                                                                                                                                        \
    typedef PetscScalar T;                                                                                                                 \
    const PetscInt      i = r->point;                                                                                                      \
    const PetscScalar   w = r->w;                                                                                                          \
    const PetscScalar  *b = r->b, *dinv = r->dinv;                                                                                         \
    PetscScalar         c[NNEIGHBORS];                                                                                                     \
    HJ_LINES;                                                                                                                              \
    for (PetscInt o = 0; o < NNEIGHBORS; o++) c[o] = r->v[o][i];                                                                           \
    c[r->other] = r->other_value;                                                                                                          \
    r->y[i]     = HJ_AT(x4 + i) + w * (HJ_AT(dinv + i) * (HJ_AT(b + i) LIST(HJ_ADD_POINT)) - HJ_AT(x4 + i));                               \
  }

HJ_ROW_KERNELS(Star1D, 2, HJ_STAR1)
HJ_ROW_KERNELS(Star2D, 4, HJ_STAR2)
HJ_ROW_KERNELS(Star3D, 6, HJ_STAR3)
HJ_ROW_KERNELS(Box2D, 8, HJ_BOX2)
HJ_ROW_KERNELS(Box3D, 26, HJ_BOX3)

#define HJ_PRODUCT_COEFFICIENT(o, line, shift) const PetscScalar c##o = r->c[1 + o];
#define HJ_PRODUCT_INDEXED(o, line, shift)     +c[1 + o] * x##line[i + (shift)]
#define HJ_PRODUCT_ARRAY(o, line, shift)       +HJ_AT(v##o + i) * HJ_AT(x##line + i + (shift))
#define HJ_WITHOUT_B(sum)                      w *(sum)
#define HJ_WITH_B(sum)                         HJ_AT(b + i) + w *(sum)

/* y = w A x, or b + w A x; c holds rows as they are in the matrix, the centre first */
#define HJ_PRODUCT_KERNELS(B, FOR_LINE, NAME, NNEIGHBORS, LIST)                                                                            \
  static void HJProductRow##B##_##NAME(const HJHostRow *r)                                                                                 \
  {                                                                                                                                        \
    const PetscInt                  n  = r->n;                                                                                             \
    const PetscScalar               w  = r->w;                                                                                             \
    const PetscScalar               cx = r->c[0];                                                                                          \
    const PetscScalar *PETSC_UNUSED b  = r->b;                                                                                             \
    PetscScalar                    *y  = r->y;                                                                                             \
    HJ_LINES;                                                                                                                              \
    LIST(HJ_PRODUCT_COEFFICIENT)                                                                                                           \
    FOR_LINE(HJ_##B(cx *HJ_AT(x4 + i) LIST(HJ_ADD_CONSTANT)))                                                                              \
  }                                                                                                                                        \
  static void HJProductIndexed##B##_##NAME(const HJHostRow *r)                                                                             \
  {                                                                                                                                        \
    typedef PetscScalar T           PETSC_UNUSED;                                                                                          \
    const PetscScalar               w = r->w;                                                                                              \
    const PetscScalar *PETSC_UNUSED b = r->b;                                                                                              \
    PetscScalar                    *y = r->y;                                                                                              \
    HJ_LINES;                                                                                                                              \
    for (PetscInt i = 0; i < r->n; i++) {                                                                                                  \
      const PetscScalar *c = r->c + (1 + NNEIGHBORS) * (PetscInt)r->index[i];                                                              \
      y[i]                 = HJ_##B(c[0] * x4[i] LIST(HJ_PRODUCT_INDEXED));                                                                \
    }                                                                                                                                      \
  }                                                                                                                                        \
  static void HJProductArrays##B##_##NAME(const HJHostRow *r)                                                                              \
  {                                                                                                                                        \
    const PetscInt                  n      = r->n;                                                                                         \
    const PetscScalar               w      = r->w;                                                                                         \
    const PetscScalar              *centre = r->centre;                                                                                    \
    const PetscScalar *PETSC_UNUSED b      = r->b;                                                                                         \
    PetscScalar                    *y      = r->y;                                                                                         \
    HJ_LINES;                                                                                                                              \
    LIST(HJ_ARRAY)                                                                                                                         \
    FOR_LINE(HJ_##B(HJ_AT(centre + i) * HJ_AT(x4 + i) LIST(HJ_PRODUCT_ARRAY)))                                                             \
  }
#define HJ_PRODUCT_KERNELS_BOTH(NAME, NNEIGHBORS, LIST)                                                                                    \
  HJ_PRODUCT_KERNELS(WITHOUT_B, HJ_FOR_LINE, NAME, NNEIGHBORS, LIST)                                                                       \
  HJ_PRODUCT_KERNELS(WITH_B, HJ_FOR_LINE_ONCE, NAME, NNEIGHBORS, LIST)

HJ_PRODUCT_KERNELS_BOTH(Star1D, 2, HJ_STAR1)
HJ_PRODUCT_KERNELS_BOTH(Star2D, 4, HJ_STAR2)
HJ_PRODUCT_KERNELS_BOTH(Star3D, 6, HJ_STAR3)
HJ_PRODUCT_KERNELS_BOTH(Box2D, 8, HJ_BOX2)
HJ_PRODUCT_KERNELS_BOTH(Box3D, 26, HJ_BOX3)

static void HJConstantZero(const HJHostRow *r)
{
  const PetscInt    n  = r->n;
  const PetscScalar cb = r->c[0], *b = r->b;
  PetscScalar      *y = r->y;

  HJ_FOR_LINE(cb * HJ_AT(b + i))
}

static void HJVariableZero(const HJHostRow *r)
{
  const PetscInt     n = r->n;
  const PetscScalar  w = r->w;
  const PetscScalar *b = r->b, *dinv = r->dinv;
  PetscScalar       *y = r->y;

  HJ_FOR_LINE(w * HJ_AT(dinv + i) * HJ_AT(b + i))
}

/* Of VECTORS vectors at a time, whose sums stay in registers. A line ends with vectors that overlap, and where it is shorter than one point
   by point */
#define HJ_SUM_LOOP(VECTORS, T, BEGIN, TERM, END)                                                                                          \
  {                                                                                                                                        \
    T s[VECTORS];                                                                                                                          \
    for (int v = 0; v < (VECTORS); v++) s[v] = BEGIN;                                                                                      \
    for (PetscInt t = 0; t < m; t++) {                                                                                                     \
      const PetscScalar *q = p[t] + i;                                                                                                     \
      for (int v = 0; v < (VECTORS); v++) s[v] TERM *HJ_SUM_AT(T, q, v);                                                                   \
    }                                                                                                                                      \
    for (int v = 0; v < (VECTORS); v++) END;                                                                                               \
  }
#define HJ_SUM_AT(T, q, v) (*(const T *)((q) + (v) * (PetscInt)(sizeof(T) / sizeof(PetscScalar))))
#define HJ_SUM_TO(T, v)    (*(T *)(y + i + (v) * (PetscInt)(sizeof(T) / sizeof(PetscScalar))))
#define HJ_SUM(BEGIN, TERM, END)                                                                                                           \
  {                                                                                                                                        \
    PetscInt i = 0;                                                                                                                        \
    {                                                                                                                                      \
      typedef HJVector T;                                                                                                                  \
      for (; i + 4 * HJ_LANES <= n; i += 4 * HJ_LANES) HJ_SUM_LOOP(4, T, BEGIN, TERM, END)                                                 \
      for (; i + HJ_LANES <= n; i += HJ_LANES) HJ_SUM_LOOP(1, T, BEGIN, TERM, END)                                                         \
      if (i < n && n >= HJ_LANES) {                                                                                                        \
        i = n - HJ_LANES;                                                                                                                  \
        HJ_SUM_LOOP(1, T, BEGIN, TERM, END)                                                                                                \
        i = n;                                                                                                                             \
      }                                                                                                                                    \
    }                                                                                                                                      \
    {                                                                                                                                      \
      typedef PetscScalar T;                                                                                                               \
      for (; i < n; i++) HJ_SUM_LOOP(1, T, BEGIN, TERM, END)                                                                               \
    }                                                                                                                                      \
  }

static void HJSum(PetscInt n, PetscInt m, const PetscScalar c[], const PetscScalar *const p[], PetscScalar *y)
{
  HJ_SUM((T){0}, += c[t], HJ_SUM_TO(T, v) = s[v])
}

static void HJSumIndexed(PetscInt n, PetscInt m, PetscInt width, const PetscScalar c[], const unsigned char index[],
                         const PetscScalar *const p[], PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *a   = c + (PetscCount)index[i] * width;
    PetscScalar        sum = 0.0;

    for (PetscInt t = 0; t < m; t++) sum += a[t] * p[t][i];
    y[i] = sum;
  }
}

static void HJSumLess(PetscInt n, PetscInt m, const PetscScalar *const a[], const PetscScalar *const p[], const PetscScalar *b,
                      PetscScalar *y)
{
  HJ_SUM(HJ_SUM_AT(T, b + i, v), -= HJ_SUM_AT(T, a[t] + i, v), HJ_SUM_TO(T, v) = s[v])
}

static void HJSumRelaxed(PetscInt n, PetscInt m, const PetscScalar *const a[], const PetscScalar *const p[], PetscReal weight,
                         const PetscScalar *x, PetscScalar *y)
{
  const PetscScalar w = weight;

  if (x) HJ_SUM((T){0}, += HJ_SUM_AT(T, a[t] + i, v), HJ_SUM_TO(T, v) = HJ_SUM_AT(T, x + i, v) + w * (s[v] - HJ_SUM_AT(T, x + i, v)))
  else HJ_SUM((T){0}, += HJ_SUM_AT(T, a[t] + i, v), HJ_SUM_TO(T, v) = w * s[v])
}

#if !defined(HJ_FLOAT) /* what set-up, Krylov methods and lines need is double */
static void HJAbsolute(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *restrict sum)
{
  for (PetscInt i = 0; i < n; i++) sum[i] += PetscAbsScalar(a[i]) * x[i];
}

/* Eight points at a time: most have the same row */
static void HJAbsoluteIndexed(PetscInt n, const PetscScalar *a, const unsigned char *index, const PetscScalar *x, PetscScalar *restrict sum)
{
  PetscInt i = 0;

  for (; i + 8 <= n; i += 8) {
    const PetscScalar  c = a[index[i]];
    unsigned long long eight;

    memcpy(&eight, index + i, 8);
    if (eight == index[i] * 0x0101010101010101ULL)
      for (int l = 0; l < 8; l++) sum[i + l] += c * x[i + l];
    else
      for (int l = 0; l < 8; l++) sum[i + l] += a[index[i + l]] * x[i + l];
  }
  for (; i < n; i++) sum[i] += a[index[i]] * x[i];
}

static PetscReal HJAbsoluteRatio(PetscInt n, const PetscScalar *scale, const PetscScalar *x, PetscScalar *restrict sum,
                                 PetscScalar *restrict y)
{
  PetscReal largest[HJ_LANES] = {0};
  PetscInt  i, bad = 0;

  for (i = 0; i < n; i++) {
    y[i]   = x[i] + PetscAbsScalar(scale[i]) * sum[i];
    sum[i] = y[i] / x[i];
  }
  for (i = 0; i < n; i++) bad |= !(sum[i] <= PETSC_MAX_REAL) | (scale[i] == 0); /* PETSC_INFINITY is finite */
  if (bad) return HUGE_VAL;
  for (i = 0; i + HJ_LANES <= n; i += HJ_LANES)
    for (int l = 0; l < HJ_LANES; l++) largest[l] = sum[i + l] > largest[l] ? sum[i + l] : largest[l];
  for (; i < n; i++) largest[0] = PetscMax(largest[0], sum[i]);
  for (int l = 1; l < HJ_LANES; l++) largest[0] = PetscMax(largest[0], largest[l]);
  return largest[0];
}

static void HJGalerkinAdd(PetscInt n, PetscScalar w, const PetscScalar *restrict a, PetscScalar *restrict sum)
{
  for (PetscInt i = 0; i < n; i++) sum[i] += w * a[i];
}

/* Entries of the points before and after a coarse one reach it by half */
static void HJGalerkinLine(const HJHostGalerkinLine *l)
{
  const PetscScalar *restrict lo = l->a[0], *restrict here = l->a[1], *restrict hi = l->a[2];
  PetscScalar *restrict to_lo = l->to[0], *restrict to_here = l->to[1], *restrict to_hi = l->to[2];

  for (PetscInt i = 0; i < l->n && l->factor == 1; i++) {
    to_lo[i]   = lo[i];
    to_here[i] = here[i];
    to_hi[i]   = hi[i];
  }
  for (PetscInt i = 0; i < l->n && l->factor == 2; i++) {
    const PetscScalar before = 0.5 * here[2 * i - 1], after = 0.5 * here[2 * i + 1];

    to_lo[i]   = 0.5 * (lo[2 * i] + lo[2 * i - 1] + before);
    to_here[i] = here[2 * i] + 0.5 * (lo[2 * i] + hi[2 * i] + before + hi[2 * i - 1] + after + lo[2 * i + 1]);
    to_hi[i]   = 0.5 * (hi[2 * i] + hi[2 * i + 1] + after);
  }
}

static void HJGalerkinColumns(PetscInt n, PetscInt factor, const PetscScalar own[], const PetscScalar entry[],
                              PetscScalar *restrict product, PetscInt m, const PetscScalar *const other[], PetscScalar *const to[])
{
  if (factor == 1)
    for (PetscInt i = 0; i < n; i++) product[i] = own[i] * entry[i];
  else
    for (PetscInt i = 0; i < n; i++) product[i] = own[i] * entry[2 * i];
  for (PetscInt t = 0; t < m; t++) {
    const PetscScalar *restrict by = other[t];
    PetscScalar *restrict sum      = to[t];

    for (PetscInt i = 0; i < n; i++) sum[i] += product[i] * by[i];
  }
}

/* The sums of entries of unrefined directions in one order, as HJCoupling() has it */
static void HJPathCouplings(PetscInt n, PetscInt factor, PetscInt m, const PetscScalar *const entry[], const PetscScalar scale[],
                            PetscScalar *restrict to)
{
  const PetscScalar *e = entry[0];

  if (factor == 1)
    for (PetscInt i = 0; i < n; i++) to[i] = -e[i];
  else
    for (PetscInt i = 0; i < n; i++) to[i] = -e[2 * i];
  for (PetscInt l = 1; l < m; l++) {
    e = entry[l];
    for (PetscInt i = 0; i < n; i++) to[i] -= e[factor * i];
  }
  for (PetscInt i = 0; i < n; i++) to[i] *= scale[i];
}

/* HJCouplingsInSeries() without a branch */
static inline PetscScalar HJPathInSeries(PetscScalar a, PetscScalar b)
{
  const PetscScalar sum = a + b, both = a > 0.0 && b > 0.0 ? a * b : 0.0;

  return both / (both > 0.0 ? sum : 1.0);
}

/* Products are divided before they are added: no instruction set rounds otherwise */
static void HJPathAdd(const HJHostPath *p)
{
  const PetscInt n                 = p->n;
  const PetscScalar *restrict over = p->over, *restrict last = p->last, *restrict other;
  PetscScalar *restrict sum = p->sum;

  if ((other = p->aslant) && last)
    for (PetscInt i = 0; i < n; i++) sum[i] += HJPathInSeries(other[i], last[i]);
  if (!over) return;
  if ((other = p->back))
    for (PetscInt i = 0; i < n; i++) sum[i] += HJPathInSeries(over[i], other[i]);
  if ((other = p->along) && last)
    for (PetscInt i = 0; i < n; i++) sum[i] += HJPathInSeries(over[i], HJPathInSeries(other[i], last[i]));
}

static void HJRowSumsBegin(PetscInt n, PetscInt factor, const PetscScalar diagonal[], const HJHostRowSums *s)
{
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal d = PetscRealPart(diagonal[factor * i]);

    s->sign[i]   = d < 0.0 ? -1.0 : 1.0;
    s->centre[i] = s->size[i] = s->sign[i] * d;
    s->near[i] = s->all[i] = s->repelled[i] = s->couples[i] = 0.0;
  }
}

static void HJRowSumsAlong(PetscInt n, PetscInt factor, const PetscScalar entry[], const HJHostRowSums *s)
{
  const PetscReal *restrict sign = s->sign;
  PetscReal *restrict centre = s->centre, *restrict couples = s->couples;

  for (PetscInt i = 0; i < n; i++) {
    const PetscReal e = sign[i] * PetscRealPart(entry[factor * i]);

    centre[i] += e;
    couples[i] += PetscAbsReal(e);
  }
}

static void HJRowSumsTo(PetscInt n, PetscInt factor, const PetscScalar entry[], const PetscScalar coefficient[], const HJHostRowSums *s)
{
  const PetscReal *restrict sign = s->sign;
  PetscReal *restrict all = s->all, *restrict repelled = s->repelled, *restrict couples = s->couples, *restrict near = s->near;

  for (PetscInt i = 0; i < n; i++) {
    const PetscReal e = sign[i] * PetscRealPart(entry[factor * i]);

    all[i] -= e;
    repelled[i] += e > 0.0 ? e : 0.0;
    couples[i] += PetscAbsReal(e);
  }
  for (PetscInt i = 0; i < n && coefficient; i++) {
    const PetscReal e = sign[i] * PetscRealPart(entry[factor * i]);

    near[i] -= (e < 0.0 ? e : 0.0) * PetscRealPart(coefficient[i]);
  }
}

/* Of how many points limit is less than strongest */
static int64_t HJMeasureCount(PetscInt n, const PetscReal limit[], const PetscReal strongest[])
{
  int64_t count = 0;

  for (PetscInt i = 0; i < n; i++) count += limit[i] < strongest[i];
  return count;
}

/* In loops over all points, which a compiler can do for several at once */
static void HJMeasurePieceRatios(PetscInt dim, const HJHostMeasurePiece *piece, HJMeasureRatios *r)
{
  const PetscInt  n    = piece->n;
  const PetscReal none = PETSC_MAX_REAL / (1 << 2 * HJ_RATIO_STEPS); /* a limit that no step below takes beyond the numbers */
  PetscReal       most[3][HJ_MEASURE_PIECE], strongest[HJ_MEASURE_PIECE], limit[HJ_MEASURE_PIECE];
  int64_t         strong[HJ_MEASURE_PIECE]; /* how many directions are */

  memset(strongest, 0, n * sizeof(*strongest));
  memset(strong, 0, n * sizeof(*strong));
  for (PetscInt d = 0; d < dim; d++) {
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal below = PetscAbsReal(piece->part[d][0][i]), above = PetscAbsReal(piece->part[d][2][i]);
      const PetscReal lo = below < above ? below : above, hi = below < above ? above : below, least = lo > 0.0 ? lo : hi;

      most[d][i]   = hi;
      strongest[i] = strongest[i] < least ? least : strongest[i];
    }
  }
  for (PetscInt i = 0; i < n; i++) strongest[i] = piece->others[i] > 0.0 ? strongest[i] : 0.0;
  for (PetscInt d = 0; d < dim; d++) {
    int64_t weak, weaker;

    for (PetscInt i = 0; i < n; i++) strong[i] += !(4 * (HJ_MEASURE_RATIO * most[d][i]) < strongest[i]);
    for (PetscInt i = 0; i < n; i++) limit[i] = most[d][i] > 0.0 ? HJ_MEASURE_RATIO * most[d][i] : none;
    weak = HJMeasureCount(n, limit, strongest);
    for (int step = 0; step < HJ_RATIO_STEPS && weak; step++, weak = weaker) {
      for (PetscInt i = 0; i < n; i++) limit[i] *= 4;
      weaker = step < HJ_RATIO_STEPS - 1 ? HJMeasureCount(n, limit, strongest) : 0;
      r->weaker[d][step] += weak - weaker;
    }
  }
  for (PetscInt d = 0; d < dim && dim > 1; d++) {
    int64_t alone = 0;

    for (PetscInt i = 0; i < n; i++) alone += (strong[i] == 1) & !(4 * (HJ_MEASURE_RATIO * most[d][i]) < strongest[i]);
    r->alone[d] += alone;
  }
}

static void HJKrylovDirection(PetscInt n, PetscScalar beta, const PetscScalar *z, PetscScalar *p)
{
  PetscScalar *y = p;

  if (beta == 0.0) HJ_FOR_LINE(HJ_AT(z + i))
  else HJ_FOR_LINE_ONCE(HJ_AT(z + i) + beta * HJ_AT(p + i))
}

  #define HJ_SUMS 4 /* that do not wait for one another */

static PetscScalar HJKrylovDot(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  HJVector    sum[HJ_SUMS] = {{0}};
  PetscScalar total        = 0.0;
  PetscInt    i            = 0;

  for (; i + HJ_SUMS * HJ_LANES <= n; i += HJ_SUMS * HJ_LANES)
    for (int m = 0; m < HJ_SUMS; m++) sum[m] += *(const HJVector *)(x + i + m * HJ_LANES) * *(const HJVector *)(y + i + m * HJ_LANES);
  for (; i + HJ_LANES <= n; i += HJ_LANES) sum[0] += *(const HJVector *)(x + i) * *(const HJVector *)(y + i);
  for (; i < n; i++) total += x[i] * y[i];
  sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (int l = 0; l < HJ_LANES; l++) total += sum[0][l];
  return total;
}

static PetscScalar HJKrylovUpdate(PetscInt n, PetscScalar alpha, const PetscScalar *p, const PetscScalar *w, PetscScalar *x, PetscScalar *r)
{
  HJVector    sum   = {0};
  PetscScalar total = 0.0;
  PetscInt    i     = 0;

  for (; i + HJ_LANES <= n; i += HJ_LANES) {
    const HJVector now = *(const HJVector *)(r + i) - alpha * *(const HJVector *)(w + i);

    *(HJVector *)(x + i) += alpha * *(const HJVector *)(p + i);
    *(HJVector *)(r + i) = now;
    sum += now * now;
  }
  for (; i < n; i++) {
    x[i] += alpha * p[i];
    r[i] -= alpha * w[i];
    total += r[i] * r[i];
  }
  for (int l = 0; l < HJ_LANES; l++) total += sum[l];
  return total;
}

/* Elimination, and back from the last points */
static void HJLinesAbreast(const HJHostBundle *b)
{
  const PetscInt n = b->abreast;

  for (PetscInt at = 1; at < b->count; at++) {
    const PetscScalar *c = b->c + (at - 1) * b->step, *before = b->r + (at - 1) * b->step;
    PetscScalar       *y = b->r + at * b->step;

    HJ_FOR_LINE_ONCE(HJ_AT(y + i) - HJ_AT(c + i) * HJ_AT(before + i))
  }
  for (PetscInt at = b->count - 1; at >= 0; at--) {
    const PetscScalar *m = b->m + at * b->step, *c = b->c + at * b->step;
    PetscScalar       *r = b->r + at * b->step, *y = r;

    if (at < b->count - 1) {
      const PetscScalar *next = r + b->step;

      HJ_FOR_LINE_ONCE(HJ_AT(m + i) * HJ_AT(y + i) - HJ_AT(c + i) * HJ_AT(next + i))
    } else HJ_FOR_LINE_ONCE(HJ_AT(m + i) * HJ_AT(y + i))
    if (!b->x) continue;
    y = b->x + at * b->step;
    HJ_FOR_LINE_ONCE(HJ_AT(y + i) + b->w * HJ_AT(r + i))
  }
}
#endif

#define HJ_TABLE(KIND)                                                                                                                     \
  {                                                                                                                                        \
    {HJ##KIND##_Star1D, HJ##KIND##_Star2D, HJ##KIND##_Star3D},                                                                             \
    {                                                                                                                                      \
      HJ##KIND##_Star1D, HJ##KIND##_Box2D, HJ##KIND##_Box3D                                                                                \
    }                                                                                                                                      \
  }
#define HJ_NAME_(isa) HJHostKernels_##isa
#define HJ_NAME(isa)  HJ_NAME_(isa)

const HJHostKernels HJ_NAME(HJ_ISA) = {
  .constant       = HJ_TABLE(Constant),
  .indexed        = HJ_TABLE(Indexed),
  .variable       = HJ_TABLE(Variable),
  .constant_zero  = HJConstantZero,
  .indexed_zero   = HJ_TABLE(IndexedZero),
  .indexed_alone  = HJ_TABLE(IndexedAlone),
  .variable_zero  = HJVariableZero,
  .variable_point = HJ_TABLE(VariablePoint),
  .product        = {{HJ_TABLE(ProductRowWITHOUT_B), HJ_TABLE(ProductIndexedWITHOUT_B), HJ_TABLE(ProductArraysWITHOUT_B)},
                     {HJ_TABLE(ProductRowWITH_B), HJ_TABLE(ProductIndexedWITH_B), HJ_TABLE(ProductArraysWITH_B)}},
  .sum            = HJSum,
  .sum_indexed    = HJSumIndexed,
  .sum_less       = HJSumLess,
  .sum_relaxed    = HJSumRelaxed,
#if !defined(HJ_FLOAT)
  .absolute         = HJAbsolute,
  .absolute_indexed = HJAbsoluteIndexed,
  .absolute_ratio   = HJAbsoluteRatio,
  .galerkin_add     = HJGalerkinAdd,
  .lines            = HJLinesAbreast,
  .galerkin_line    = HJGalerkinLine,
  .galerkin_columns = HJGalerkinColumns,
  .path_couplings   = HJPathCouplings,
  .path_add         = HJPathAdd,
  .measure_ratios   = HJMeasurePieceRatios,
  .row_sums_begin   = HJRowSumsBegin,
  .row_sums_along   = HJRowSumsAlong,
  .row_sums_to      = HJRowSumsTo,
  .krylov_direction = HJKrylovDirection,
  .krylov_dot       = HJKrylovDot,
  .krylov_update    = HJKrylovUpdate,
#endif
};
