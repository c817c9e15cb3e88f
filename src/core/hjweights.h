/*
   Interpolation weights from the rows of a matrix (black box multigrid, Dendy 1982), as columns of the interpolation, and Galerkin products
   with them. What a coarse point's column and a coarse entry are is defined here, for the host and for devices. Decides nothing.
*/
#pragma once

#include "hjgalerkin.h"

/*
   W_p(c) is what coarse point c gives to the fine point p beside the one that it lies on; p is -1, 0 or 1 in refined directions, else 0.
   One array over the owned coarse points for each p: [nslots][n], slot 0 is p = 0, the others follow with x fastest. 0 where p leads
   outside the domain or the row of the fine point is a diagonal alone. Where the coarse point lies on such a row its whole column is 0.
*/
typedef struct {
  PetscInt           factor[3], base[3]; /* fine point of a coarse one: factor c + base */
  PetscInt           nslots;             /* 3 to the number of refined directions */
  int                step[3];            /* see HJColumnsSlot(); 0 where the factor is 1 */
  PetscInt           nc[3];              /* owned coarse points */
  HJBox              domain;             /* of the coarse grid */
  PetscCount         n;
  const PetscScalar *weight, *ghost; /* ghost: [nslots][shell.size] */
  HJShell            shell;
} HJColumns;

/* Coefficients of the fine grid, for points that are owned or in the shell of HJGalerkinShellSet() */
typedef struct {
  PetscInt             nslots;
  HJCoefficientStorage storage;
  int                  off[HJ_MAX_SLOTS][3];
  PetscInt             nf[3]; /* owned points */
  HJBox                domain;
  PetscCount           n;
  const PetscScalar   *value, *rows, *ghost;
  const unsigned char *index;
  HJShell              shell;
  PetscScalar          row[HJ_MAX_SLOTS]; /* with one row for all points */
} HJFine;

/* The backend's weights(): columns of the owned coarse points from the matrix a */
struct _n_HJWeightsFill {
  const HJTransfer     *t;
  const HJShell        *shell;         /* HJGalerkinShellSet()'s */
  const HJCoefficients *a, *symmetric; /* rows say which are a diagonal alone; weights come from the symmetric part, which may be a */
  const PetscScalar    *ghost, *symmetric_ghost; /* as HJGalerkin's */
  PetscScalar          *weight;                  /* [nslots][owned coarse points] */
  /* Out: the largest |u - v| / (u + v) of the couplings u and v of a fine point to the two coarse ones that it lies between, on this rank */
  PetscReal *difference;
};

/* Arrays of the weights of a transfer */
PETSC_INTERN PetscInt  HJColumnsSlots(const HJTransfer *);
PETSC_INTERN HJColumns HJColumnsSet(const HJTransfer *, const HJShell *, const PetscScalar *weight, const PetscScalar *ghost);
PETSC_INTERN HJFine    HJFineSet(const HJTransfer *, const HJShell *, const HJCoefficients *, const PetscScalar *ghost);

static inline HJ_HOST_DEVICE PetscInt HJColumnsSlot(const HJColumns *w, int px, int py, int pz)
{
  const PetscInt code = px * w->step[0] + py * w->step[1] + pz * w->step[2], half = w->nslots / 2;

  return code < 0 ? code + half + 1 : code > 0 ? code + half : 0;
}

/* A column: the weight of a slot is at[slot * stride] */
typedef struct {
  const PetscScalar *at;
  PetscCount         stride;
} HJColumn;

/* Of a coarse point of the domain, owned or a ghost */
static inline HJ_HOST_DEVICE HJColumn HJColumnsAt(const HJColumns *w, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscBool owned = (PetscBool)(i >= 0 && i < w->nc[0] && j >= 0 && j < w->nc[1] && k >= 0 && k < w->nc[2]);
  HJColumn        c;

  c.at     = owned ? w->weight + ((PetscCount)k * w->nc[1] + j) * w->nc[0] + i : w->ghost + HJShellIndex(&w->shell, i, j, k);
  c.stride = owned ? w->n : w->shell.size;
  return c;
}

static inline HJ_HOST_DEVICE PetscBool HJPointInside(const HJBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return (PetscBool)(i >= b->lo[0] && i < b->hi[0] && j >= b->lo[1] && j < b->hi[1] && k >= b->lo[2] && k < b->hi[2]);
}

/* A fine row: the entry of a slot is at[slot * stride] */
typedef struct {
  const PetscScalar *at;
  PetscCount         stride;
  PetscInt           i, j, k;
} HJFineRow;

/* Of a fine point of the domain */
static inline HJ_HOST_DEVICE HJFineRow HJFineRowAt(const HJFine *a, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscBool  owned = (PetscBool)(i >= 0 && i < a->nf[0] && j >= 0 && j < a->nf[1] && k >= 0 && k < a->nf[2]);
  const PetscCount point = ((PetscCount)k * a->nf[1] + j) * a->nf[0] + i;
  HJFineRow        r     = {a->row, 1, i, j, k};

  if (a->storage == HJ_COEFFICIENTS_ROW) return r;
  if (!owned) {
    r.at     = a->ghost + HJShellIndex(&a->shell, i, j, k);
    r.stride = a->shell.size;
  } else if (a->storage == HJ_COEFFICIENTS_ARRAYS) {
    r.at     = a->value + point;
    r.stride = a->n;
  } else {
    r.at = a->rows + (PetscCount)a->index[point] * a->nslots;
  }
  return r;
}

/* 0 where the entry leads outside the domain, whatever a row has there */
static inline HJ_HOST_DEVICE PetscScalar HJFineEntry(const HJFine *a, const HJFineRow *r, PetscInt slot)
{
  const int *off = a->off[slot];

  if (a->storage != HJ_COEFFICIENTS_ARRAYS && !HJPointInside(&a->domain, r->i + off[0], r->j + off[1], r->k + off[2])) return 0.0;
  return r->at[slot * r->stride];
}

static inline HJ_HOST_DEVICE PetscBool HJFineRowIsDiagonal(const HJFine *a, const HJFineRow *r)
{
  for (PetscInt s = 1; s < a->nslots; s++)
    if (HJFineEntry(a, r, s) != 0.0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
   The weight of a fine point that lies p beside coarse point c, from its row and the weights w that c gives to points nearer to it. Directions
   in which the fine point lies on a coarse line are summed over: what is left couples it to the points between its parents.
*/
static inline HJ_HOST_DEVICE PetscScalar HJWeightOfRow(const HJColumns *w, const HJFine *a, const HJFineRow *r, const int p[3],
                                                       HJColumn column, PetscReal *difference)
{
  const PetscReal sign = PetscRealPart(HJFineEntry(a, r, 0)) < 0.0 ? -1.0 : 1.0;
  PetscReal       near = 0.0, all = 0.0, centre = sign * PetscRealPart(HJFineEntry(a, r, 0)), side = 0.0, even = 1.0, denominator, size;
  PetscInt        refined = 0;

  size = centre;
  for (PetscInt s = 1; s < a->nslots; s++) {
    const PetscReal e = sign * PetscRealPart(HJFineEntry(a, r, s));
    int             q[3];
    PetscBool       towards = PETSC_TRUE, along = PETSC_TRUE;

    for (int d = 0; d < 3; d++) {
      q[d]    = p[d] ? a->off[s][d] : 0;
      along   = (PetscBool)(along && !q[d]);
      towards = (PetscBool)(towards && (!q[d] || q[d] != p[d]));
    }
    if (along) {
      centre += e;
      continue;
    }
    all -= e;
    if (!towards) continue;
    side -= e;
    near -= e * PetscRealPart(column.at[HJColumnsSlot(w, p[0] + q[0], p[1] + q[1], p[2] + q[2]) * column.stride]);
  }
  for (int d = 0; d < 3; d++) refined += p[d] != 0;
  if (refined == 1 && side > 0.0 && all - side > 0.0) *difference = PetscMax(*difference, PetscAbsReal(2 * side - all) / all);
  for (PetscInt d = 0; d < refined; d++) even *= 0.5;
  denominator = PetscMax(all, centre); /* the row's sum counts where it is positive, so that constants are never exceeded */
  if (!(denominator > 1e-12 * size) || !(PetscAbsReal(near) <= 2 * denominator)) return even * column.at[0];
  return near / denominator;
}

/* The column of an owned coarse point into to[slot * n]: first of the points next to it, then of those between these */
static inline HJ_HOST_DEVICE void HJColumnFill(const HJColumns *w, const HJFine *rows, const HJFine *a, PetscInt i, PetscInt j, PetscInt k,
                                               PetscScalar *to, PetscReal *difference)
{
  const PetscInt    at[3]   = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  const int         more[3] = {w->step[0] != 0, w->step[1] != 0, w->step[2] != 0};
  HJFineRow         r       = HJFineRowAt(rows, at[0], at[1], at[2]);
  const PetscScalar centre  = HJFineRowIsDiagonal(rows, &r) ? 0.0 : 1.0;
  HJColumn          column;

  column.at     = to;
  column.stride = w->n;
  to[0]         = centre;
  for (int far = 1; far <= 3; far++) {
    for (int code = 0; code < 27; code++) {
      const int    p[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
      PetscScalar *here;

      if ((p[0] != 0) + (p[1] != 0) + (p[2] != 0) != far || (p[0] && !more[0]) || (p[1] && !more[1]) || (p[2] && !more[2])) continue;
      here  = to + HJColumnsSlot(w, p[0], p[1], p[2]) * w->n;
      *here = 0.0;
      if (!HJPointInside(&a->domain, at[0] + p[0], at[1] + p[1], at[2] + p[2])) continue;
      r = HJFineRowAt(rows, at[0] + p[0], at[1] + p[1], at[2] + p[2]);
      if (HJFineRowIsDiagonal(rows, &r)) continue;
      r     = HJFineRowAt(a, at[0] + p[0], at[1] + p[1], at[2] + p[2]);
      *here = HJWeightOfRow(w, a, &r, p, column, difference);
    }
  }
}

/* Place of a fine point, o points further than one p beside a coarse point, from the coarse point's neighbour q. Beyond -1, 0, 1: not its */
static inline HJ_HOST_DEVICE int HJColumnPlace(PetscInt factor, int p, int o, int q)
{
  return factor == 2 ? p + o - 2 * q : o == q ? 0 : 2;
}

/* Entry of the product, of owned coarse point (i, j, k) and the point q beside it */
static inline HJ_HOST_DEVICE PetscScalar HJWeightedEntry(const HJColumns *w, const HJFine *a, PetscInt i, PetscInt j, PetscInt k,
                                                         const int q[3])
{
  const PetscInt at[3]   = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  const int      more[3] = {w->step[0] != 0, w->step[1] != 0, w->step[2] != 0};
  const HJColumn own     = HJColumnsAt(w, i, j, k);
  PetscScalar    sum     = 0.0;
  HJColumn       other;

  if (own.at[0] == 0.0) { /* the fine row is a diagonal alone, and so is the coarse one */
    const HJFineRow r = HJFineRowAt(a, at[0], at[1], at[2]);

    return q[0] || q[1] || q[2] ? 0.0 : HJFineEntry(a, &r, 0);
  }
  if (!HJPointInside(&w->domain, i + q[0], j + q[1], k + q[2])) return 0.0;
  other = HJColumnsAt(w, i + q[0], j + q[1], k + q[2]);
  for (int pz = more[2] && q[2] < 1 ? -1 : 0; pz <= (more[2] && q[2] > -1); pz++) {
    for (int py = more[1] && q[1] < 1 ? -1 : 0; py <= (more[1] && q[1] > -1); py++) {
      for (int px = more[0] && q[0] < 1 ? -1 : 0; px <= (more[0] && q[0] > -1); px++) {
        const PetscScalar weight = own.at[HJColumnsSlot(w, px, py, pz) * own.stride];
        PetscScalar       part   = 0.0;
        HJFineRow         r;

        if (weight == 0.0) continue;
        r = HJFineRowAt(a, at[0] + px, at[1] + py, at[2] + pz);
        for (PetscInt s = 0; s < a->nslots; s++) {
          const int tx = HJColumnPlace(w->factor[0], px, a->off[s][0], q[0]), ty = HJColumnPlace(w->factor[1], py, a->off[s][1], q[1]),
                    tz = HJColumnPlace(w->factor[2], pz, a->off[s][2], q[2]);

          if (tx < -1 || tx > 1 || ty < -1 || ty > 1 || tz < -1 || tz > 1) continue;
          part += HJFineEntry(a, &r, s) * other.at[HJColumnsSlot(w, tx, ty, tz) * other.stride];
        }
        sum += weight * part;
      }
    }
  }
  return sum;
}
