/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products, coarse line by coarse line: the fine lines around it are added up across the lines, then along them. A piece of a line
   at a time, so that the sums stay in the cache.
*/
#include "core/hjgalerkin.h"
#include "hjhostkernels.h"

/* Coarse points of a piece, at most, and the fine points that it looks at: a little more than half a power of 2, as grids have */
#define HJ_PIECE      66
#define HJ_PIECE_FINE (2 * HJ_PIECE + 1)

/* sum[o][cz][cy]: of entries that lead o along the line and whose coarse neighbour is cy, cz lines away, at fine points from lo on */
typedef struct {
  PetscInt    lo, n;
  PetscScalar sum[3][3][3][HJ_PIECE_FINE], unused[HJ_PIECE]; /* unused: in place of an entry that has no array */
} HJPiece;

static PetscBool HJIsInside(const HJBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return (PetscBool)(i >= b->lo[0] && i < b->hi[0] && j >= b->lo[1] && j < b->hi[1] && k >= b->lo[2] && k < b->hi[2]);
}

/* Coefficient of a slot at any fine point, owned, ghost or outside the domain */
static PetscScalar HJFineAt(const HJGalerkin *g, PetscInt slot, const PetscInt off[3], PetscInt i, PetscInt j, PetscInt k)
{
  const HJCoefficients *a    = g->fine;
  const HJGrid         *fine = &g->t->fine;

  if (!HJIsInside(&g->t->points, i, j, k) || !HJIsInside(&fine->domain, i + off[0], j + off[1], k + off[2])) return 0.0;
  if (a->storage == HJ_COEFFICIENTS_ROW) return a->rows[slot];
  if (HJIsInside(&fine->owned, i, j, k)) return HJCoefficientAt(a, slot, HJBoxIndex(&fine->owned, i, j, k));
  return g->ghost[slot * g->shell->size + HJShellIndex(g->shell, i, j, k)];
}

/* The same of n owned points from lo on, for rows: 0 where the line's end leads outside the domain */
static void HJFineOwned(const HJGalerkin *g, PetscInt slot, const PetscInt off[3], PetscInt lo, PetscInt n, PetscInt j, PetscInt k,
                        PetscScalar to[])
{
  const HJCoefficients *a   = g->fine;
  const HJBox          *dom = &g->t->fine.domain;
  const PetscCount      at  = HJBoxIndex(&g->t->fine.owned, lo, j, k);

  if (!HJIsInside(dom, lo, j + off[1], k + off[2])) {
    memset(to, 0, n * sizeof(*to));
    return;
  }
  if (a->storage == HJ_COEFFICIENTS_ROW) {
    for (PetscInt i = 0; i < n; i++) to[i] = a->rows[slot];
  } else {
    for (PetscInt i = 0; i < n; i++) to[i] = a->rows[a->index[at + i] * a->nslots + slot];
  }
  if (lo + off[0] < dom->lo[0]) to[0] = 0.0;
  if (lo + n - 1 + off[0] >= dom->hi[0]) to[n - 1] = 0.0;
}

/* Points of a fine line: those of [first, last) at inner, in place where they are there, the others in buffer */
typedef struct {
  PetscInt           first, last;
  const PetscScalar *inner;
  PetscScalar        buffer[HJ_PIECE_FINE];
} HJFineLine;

/* Coefficients of a slot at n points of a fine line */
static void HJFineLineGet(const HJGalerkin *g, PetscInt slot, const PetscInt off[3], PetscInt lo, PetscInt n, PetscInt j, PetscInt k,
                          HJFineLine *l)
{
  const HJCoefficients *a     = g->fine;
  const HJBox          *owned = &g->t->fine.owned;
  const PetscInt        first = PetscMax(0, -lo), last = PetscMin(n, owned->hi[0] - lo);

  l->first = l->last = 0;
  l->inner           = l->buffer;
  if (first < last && HJIsInside(owned, lo + first, j, k)) {
    l->first = first;
    l->last  = last;
    l->inner = l->buffer + first;
    if (a->storage == HJ_COEFFICIENTS_ARRAYS) l->inner = a->value + HJSlotBegin(a, slot) + HJBoxIndex(owned, lo + first, j, k);
    else HJFineOwned(g, slot, off, lo + first, last - first, j, k, l->buffer + first);
  }
  for (PetscInt i = 0; i < l->first; i++) l->buffer[i] = HJFineAt(g, slot, off, lo + i, j, k);
  for (PetscInt i = l->last; i < n; i++) l->buffer[i] = HJFineAt(g, slot, off, lo + i, j, k);
}

/* Adds a fine line, which lies py, pz beside the coarse one, to the sums; y, z: of the coarse line */
static void HJPieceAdd(const HJGalerkin *g, const HJHostKernels *kernels, int py, int pz, const HJGalerkinSides *y,
                       const HJGalerkinSides *z, PetscInt j, PetscInt k, HJPiece *piece)
{
  HJFineLine l;
  PetscInt   off[3];

  for (PetscInt slot = 0; slot < g->fine->nslots; slot++) {
    HJSlotOffset(g->fine, slot, off);
    HJFineLineGet(g, slot, off, piece->lo, piece->n, j, k, &l);
    for (int cz = -1; cz <= 1; cz++) {
      for (int cy = -1; cy <= 1; cy++) {
        const PetscReal w   = HJGalerkinCoefficient(y, py, (int)off[1], cy) * HJGalerkinCoefficient(z, pz, (int)off[2], cz);
        PetscScalar    *sum = piece->sum[off[0] + 1][cz + 1][cy + 1];

        if (w == 0.0) continue;
        kernels->galerkin_add(l.first, w, l.buffer, sum);
        kernels->galerkin_add(l.last - l.first, w, l.inner, sum + l.first);
        kernels->galerkin_add(piece->n - l.last, w, l.buffer + l.last, sum + l.last);
      }
    }
  }
}

/* Ends of the direction along the line that are not as other points: their entries once more, from sums that start at them */
static void HJPieceEnd(const HJGalerkinEnds *ends, PetscInt i, PetscInt n, const HJHostGalerkinLine *line)
{
  for (int side = 0; side < 2; side++) {
    const PetscInt        at = (side ? ends->last : ends->first) - i;
    const HJGalerkinSides s  = HJGalerkinSidesAt(ends, at + i);

    if (at < 0 || at >= n || !(ends->adjoins || (side ? ends->hangs : ends->begins))) continue;
    for (int c = -1; c <= 1; c++) {
      PetscScalar sum = 0.0;

      for (int p = -1; p <= 1; p++) {
        for (int o = -1; o <= 1; o++) sum += HJGalerkinCoefficient(&s, p, o, c) * line->a[o + 1][2 * at + p];
      }
      line->to[c + 1][at] = sum;
    }
  }
}

/* n coarse points from (i, j, k) on */
static void HJPieceRun(const HJGalerkin *g, const HJHostKernels *kernels, PetscInt i, PetscInt j, PetscInt k, PetscInt n, HJPiece *piece)
{
  const HJTransfer *t       = g->t;
  const PetscInt    more[3] = {t->factor[0] - 1, t->factor[1] - 1, t->factor[2] - 1};
  const PetscCount  at      = HJBoxIndex(&t->coarse.owned, i, j, k);
  const int         ny = t->coarse.dim > 1, nz = t->coarse.dim > 2;

  const HJGalerkinEnds  ends[3] = {HJGalerkinEndsOf(t, 0), HJGalerkinEndsOf(t, 1), HJGalerkinEndsOf(t, 2)};
  const HJGalerkinSides y = HJGalerkinSidesAt(&ends[1], j), z = HJGalerkinSidesAt(&ends[2], k);

  piece->lo = HJGalerkinFinePoint(t, 0, i) - more[0];
  piece->n  = t->factor[0] * (n - 1) + 1 + 2 * more[0];
  memset(piece->sum, 0, sizeof(piece->sum));
  for (int pz = -(int)more[2]; pz <= more[2]; pz++) {
    for (int py = -(int)more[1]; py <= more[1]; py++) {
      const PetscInt fj = HJGalerkinFinePoint(t, 1, j) + py, fk = HJGalerkinFinePoint(t, 2, k) + pz;
      const HJBox   *dom = &t->points;

      if (fj < dom->lo[1] || fj >= dom->hi[1] || fk < dom->lo[2] || fk >= dom->hi[2]) continue;
      HJPieceAdd(g, kernels, py, pz, &y, &z, fj, fk, piece);
    }
  }
  for (int cz = -nz; cz <= nz; cz++) {
    for (int cy = -ny; cy <= ny; cy++) {
      HJHostGalerkinLine line = {.n = n, .factor = t->factor[0]};

      for (int c = -1; c <= 1; c++) {
        line.a[c + 1]  = piece->sum[c + 1][cz + 1][cy + 1] + more[0];
        line.to[c + 1] = HJGalerkinTo(g, HJShapeSlot(t->coarse.dim, HJ_BOX, c, cy, cz));
        line.to[c + 1] = line.to[c + 1] ? line.to[c + 1] + at : piece->unused;
      }
      kernels->galerkin_line(&line);
      HJPieceEnd(&ends[0], i, n, &line);
    }
  }
}

/* What offsets got that lead to the points of another one */
static void HJGalerkinFoldArrays(const HJGalerkin *g)
{
  const HJGrid    *coarse  = &g->t->coarse;
  const PetscInt   dim     = coarse->dim;
  const PetscCount npoints = HJBoxSize(&coarse->owned);

  for (int code = 0; code < (int)HJShapeSlots(dim, HJ_BOX); code++) {
    const int    c[3]   = {code % 3 - 1, dim > 1 ? code / 3 % 3 - 1 : 0, dim > 2 ? code / 9 - 1 : 0};
    const int    own[3] = {HJGalerkinFold(coarse, 0, c[0]), HJGalerkinFold(coarse, 1, c[1]), HJGalerkinFold(coarse, 2, c[2])};
    PetscScalar *from   = HJGalerkinTo(g, HJShapeSlot(dim, HJ_BOX, c[0], c[1], c[2]));
    PetscScalar *to     = HJGalerkinTo(g, HJShapeSlot(dim, HJ_BOX, own[0], own[1], own[2]));

    for (PetscCount p = 0; p < npoints && from != to; p++) {
      to[p] += from[p];
      from[p] = 0.0;
    }
  }
}

PetscErrorCode HJHostGalerkin(const HJGalerkin *g)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  const PetscInt      *n       = g->t->coarse.owned.hi;
  const PetscInt       pieces = (n[0] + HJ_PIECE - 1) / HJ_PIECE, width = pieces ? (n[0] + pieces - 1) / pieces : 1;
  HJPiece             *piece;

  PetscFunctionBegin;
  PetscCall(PetscNew(&piece));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i += width) HJPieceRun(g, kernels, i, j, k, PetscMin(width, n[0] - i), piece);
    }
  }
  PetscCall(PetscFree(piece));
  if (!g->half) HJGalerkinFoldArrays(g);
  PetscFunctionReturn(PETSC_SUCCESS);
}
