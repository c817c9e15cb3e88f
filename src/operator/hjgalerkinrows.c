/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products where the fine matrix has few distinct rows: coarse points around which the same fine rows lie in the same places have
   the same row. Finds the places that differ, and works each row out once.
*/
#include "hjgalerkins.h"
#include "core/hjdistinct.h"

/* Rows of this rank's dictionary and those among its ghosts, at most; more make arrays */
#define HJ_MAX_IDS 1024
#define HJ_NO_ID   0xffff /* there is no such fine point */

/* Number of the fine row at each of the points p around a coarse one, x fastest, and at which ends of the domain the coarse point lies */
typedef struct {
  unsigned short id[27];
  unsigned short ends; /* bit 2 d + side */
} HJPlaces;

typedef struct {
  const HJTransfer     *t;
  const HJShell        *shell;
  const HJCoefficients *fine;
  PetscInt              nids;
  PetscScalar          *row; /* [HJ_MAX_IDS][nslots] */
  unsigned short       *ghost_id;
  PetscInt              lo, n;   /* fine points of a line that the coarse line looks at */
  unsigned short       *line[9]; /* [n] numbers on the fine lines around a coarse one */
  unsigned short       *change;  /* [n] not 0 where some line has another row than at the point before */
  HJDistinct            places;
} HJRowSearch;

static PetscBool HJInsideDirection(const HJBox *b, int d, PetscInt i)
{
  return (PetscBool)(i >= b->lo[d] && i < b->hi[d]);
}

/* Number of the row that a ghost has: one that agrees where entries lead inside the domain, or a new one. HJ_NO_ID: too many */
static unsigned short HJSearchGhostRow(HJRowSearch *s, const PetscScalar *ghost, PetscCount place, const PetscInt p[3])
{
  const PetscInt nslots = s->fine->nslots;
  unsigned int   inside = 0;
  PetscInt       off[3];

  for (PetscInt slot = 0; slot < nslots; slot++) {
    PetscBool in = PETSC_TRUE;

    HJSlotOffset(s->fine, slot, off);
    for (int d = 0; d < 3; d++) in = (PetscBool)(in && HJInsideDirection(&s->t->fine.domain, d, p[d] + off[d]));
    if (in) inside |= 1u << slot;
  }
  for (PetscInt r = 0; r < s->nids; r++) {
    PetscInt slot = 0;

    while (slot < nslots && (!(inside >> slot & 1) || s->row[r * nslots + slot] == ghost[slot * s->shell->size + place])) slot++;
    if (slot == nslots) return (unsigned short)r;
  }
  if (s->nids == HJ_MAX_IDS) return HJ_NO_ID;
  for (PetscInt slot = 0; slot < nslots; slot++) s->row[s->nids * nslots + slot] = ghost[slot * s->shell->size + place];
  return (unsigned short)s->nids++;
}

/* Numbers of all ghosts' rows */
static PetscBool HJSearchNumberGhosts(HJRowSearch *s, const PetscScalar *ghost)
{
  for (int b = 0; b < 6; b++) {
    const HJBox *box = &s->shell->box[b / 2][b % 2];
    PetscInt     p[3];

    for (p[2] = box->lo[2]; p[2] < box->hi[2]; p[2]++) {
      for (p[1] = box->lo[1]; p[1] < box->hi[1]; p[1]++) {
        for (p[0] = box->lo[0]; p[0] < box->hi[0]; p[0]++) {
          const PetscCount place = HJShellIndex(s->shell, p[0], p[1], p[2]);

          s->ghost_id[place] = ghost ? HJSearchGhostRow(s, ghost, place, p) : 0;
          if (s->ghost_id[place] == HJ_NO_ID) return PETSC_FALSE;
        }
      }
    }
  }
  return PETSC_TRUE;
}

/* Number of the row of any fine point */
static unsigned short HJSearchId(const HJRowSearch *s, PetscInt i, PetscInt j, PetscInt k)
{
  const HJGrid  *fine  = &s->t->fine;
  const PetscInt p[3]  = {i, j, k};
  PetscBool      owned = PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    if (!HJInsideDirection(&s->t->points, d, p[d])) return HJ_NO_ID;
    owned = (PetscBool)(owned && HJInsideDirection(&fine->owned, d, p[d]));
  }
  if (!owned) return s->ghost_id[HJShellIndex(s->shell, i, j, k)];
  return s->fine->index ? s->fine->index[HJBoxIndex(&fine->owned, i, j, k)] : 0;
}

/* Numbers on a fine line: those of owned points, between first and last, in one go */
static void HJSearchFillLine(const HJRowSearch *s, PetscInt j, PetscInt k, unsigned short line[])
{
  const HJBox   *box   = &s->t->fine.owned;
  const PetscInt first = PetscMax(0, -s->lo), last = PetscMin(s->n, box->hi[0] - s->lo);
  PetscInt       i = 0;

  if (HJInsideDirection(box, 1, j) && HJInsideDirection(box, 2, k) && first < last) {
    const unsigned char *index = s->fine->index ? s->fine->index + HJBoxIndex(box, first + s->lo, j, k) : NULL;

    for (; i < first; i++) line[i] = HJSearchId(s, s->lo + i, j, k);
    for (; i < last; i++) line[i] = index ? index[i - first] : 0;
  }
  for (; i < s->n; i++) line[i] = HJSearchId(s, s->lo + i, j, k);
}

/* The fine lines around the coarse line j, k */
static void HJSearchFillLines(HJRowSearch *s, PetscInt j, PetscInt k)
{
  const PetscInt *factor = s->t->factor;

  memset(s->change, 0, s->n * sizeof(*s->change));
  for (int l = 0; l < 9; l++) {
    const PetscInt  py = l % 3 - 1, pz = l / 3 - 1;
    unsigned short *line = s->line[l];

    if ((py && factor[1] == 1) || (pz && factor[2] == 1)) continue;
    HJSearchFillLine(s, HJGalerkinFinePoint(s->t, 1, j) + py, HJGalerkinFinePoint(s->t, 2, k) + pz, line);
    for (PetscInt i = 1; i < s->n; i++) s->change[i] |= line[i] ^ line[i - 1];
  }
}

/* Bits of the ends of the domain, in a direction, at which a coarse point lies */
static unsigned short HJSearchEnds(const HJTransfer *t, int d, PetscInt c)
{
  const PetscInt at = c + t->coarse_start[d];

  if (d >= t->coarse.dim || (t->coarse.periodic[d] && !HJTransferAdjoins(t, d))) return 0;
  return (unsigned short)(((at == 0) | (at == t->coarse.N[d] - 1) << 1) << (2 * d));
}

/* Numbers the points of a coarse line; false: there are too many distinct places */
static PetscBool HJSearchLine(HJRowSearch *s, PetscInt j, PetscInt k, unsigned char index[])
{
  const HJTransfer    *t = s->t;
  const PetscInt       n = t->coarse.owned.hi[0], f = t->factor[0];
  const unsigned short ends  = HJSearchEnds(t, 1, j) | HJSearchEnds(t, 2, k);
  unsigned short       along = 0;

  HJSearchFillLines(s, j, k);
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt       at   = f * i + f - 1; /* of the point itself in the lines */
    const unsigned short here = HJSearchEnds(t, 0, i);
    PetscInt             number;
    HJPlaces             p;

    if (i > 0 && here == along) { /* as the point before, where nothing changes between their neighbours */
      PetscBool same = PETSC_TRUE;

      for (PetscInt q = at - 2 * (f - 1); q <= at + f - 1; q++) same = (PetscBool)(same && !s->change[q]);
      if (same) {
        index[i] = index[i - 1];
        continue;
      }
    }
    along  = here;
    p.ends = ends | here;
    for (int q = 0; q < 27; q++) {
      const int px = q % 3 - 1, l = q / 3;

      p.id[q] = HJ_NO_ID;
      if ((px && f == 1) || (l % 3 != 1 && t->factor[1] == 1) || (l / 3 != 1 && t->factor[2] == 1)) continue;
      p.id[q] = s->line[l][at + px];
    }
    number = HJDistinctFind(&s->places, &p);
    if (number < 0) return PETSC_FALSE;
    index[i] = (unsigned char)number;
  }
  return PETSC_TRUE;
}

/* Whether an entry of the fine row p beside a coarse point at these ends leads outside the domain */
static PetscBool HJPlacesLeave(const HJTransfer *t, const HJPlaces *places, const int p[3], const PetscInt off[3])
{
  for (int d = 0; d < t->fine.dim; d++) {
    const PetscInt q = p[d] + off[d];

    if (t->fine.periodic[d]) continue;
    if (q < (HJTransferBegins(t, d) ? -1 : 0) && (places->ends >> 2 * d & 1)) return PETSC_TRUE;
    if (q > (HJTransferHangs(t, d) ? 1 : 0) && (places->ends >> (2 * d + 1) & 1)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* What an entry of a fine row gives to the coarse row */
static void HJPlacesAdd(const HJTransfer *t, const HJGalerkinSides sides[3], const int p[3], const PetscInt off[3], PetscScalar a,
                        PetscScalar coarse[])
{
  for (int code = 0; code < 27; code++) {
    const int c[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
    PetscReal w    = 1.0;
    int       to[3];

    for (int d = 0; d < 3; d++) {
      w *= HJGalerkinCoefficient(&sides[d], p[d], (int)off[d], c[d]);
      to[d] = HJGalerkinFold(&t->coarse, d, c[d]);
    }
    if (w != 0.0) coarse[HJShapeSlot(t->coarse.dim, HJ_BOX, to[0], to[1], to[2])] += w * a;
  }
}

/* The places beside a coarse point with these ends */
static HJGalerkinSides HJPlacesSides(const HJTransfer *t, int d, unsigned short ends)
{
  HJGalerkinEnds e = HJGalerkinEndsOf(t, d);

  e.first = ends >> 2 * d & 1 ? 0 : -1;
  e.last  = ends >> (2 * d + 1) & 1 ? 0 : 1;
  return HJGalerkinSidesAt(&e, 0);
}

static void HJPlacesRow(const HJRowSearch *s, const HJPlaces *places, PetscScalar coarse[])
{
  const PetscInt  nslots = s->fine->nslots;
  HJGalerkinSides sides[3];

  for (int d = 0; d < 3; d++) sides[d] = HJPlacesSides(s->t, d, places->ends);
  for (PetscInt slot = 0; slot < HJShapeSlots(s->t->coarse.dim, HJ_BOX); slot++) coarse[slot] = 0.0;
  for (int q = 0; q < 27; q++) {
    const int p[3] = {q % 3 - 1, q / 3 % 3 - 1, q / 9 - 1};

    if (places->id[q] == HJ_NO_ID) continue;
    for (PetscInt slot = 0; slot < nslots; slot++) {
      PetscInt off[3];

      HJSlotOffset(s->fine, slot, off);
      if (!HJPlacesLeave(s->t, places, p, off)) HJPlacesAdd(s->t, sides, p, off, s->row[places->id[q] * nslots + slot], coarse);
    }
  }
}

/* One row for each of the places; places whose rows are the same share one */
static PetscErrorCode HJSearchRows(const HJRowSearch *s, HJGalerkinRows *out)
{
  const PetscInt   nslots  = HJShapeSlots(s->t->coarse.dim, HJ_BOX);
  const PetscCount npoints = HJBoxSize(&s->t->coarse.owned);
  unsigned char    map[HJ_MAX_ROWS];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(s->places.n, 1) * nslots, &out->rows));
  out->nrows = 0;
  for (PetscInt m = 0; m < s->places.n; m++) {
    PetscScalar *row = out->rows + out->nrows * nslots;
    PetscInt     r   = 0;

    HJPlacesRow(s, (const HJPlaces *)s->places.item + m, row);
    while (memcmp(out->rows + r * nslots, row, nslots * sizeof(*row))) r++;
    map[m] = (unsigned char)r;
    if (r == out->nrows) out->nrows++;
  }
  for (PetscCount p = 0; p < npoints; p++) out->index[p] = map[out->index[p]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSearchCreate(HJGalerkins *op, const HJCoefficients *fine, HJRowSearch **out)
{
  const HJTransfer *t = &op->transfer;
  HJRowSearch      *s;

  PetscFunctionBegin;
  if (!op->ghost_id) PetscCall(PetscMalloc1(op->shell.size, &op->ghost_id));
  PetscCall(PetscNew(out));
  s           = *out;
  s->t        = t;
  s->shell    = &op->shell;
  s->fine     = fine;
  s->ghost_id = op->ghost_id;
  s->lo       = HJGalerkinFinePoint(t, 0, 0) - (t->factor[0] - 1);
  s->n        = t->factor[0] * (t->coarse.owned.hi[0] - 1) + 1 + 2 * (t->factor[0] - 1);
  s->nids     = fine->nrows;
  PetscCall(PetscMalloc1(HJ_MAX_IDS * fine->nslots, &s->row));
  PetscCall(PetscArraycpy(s->row, fine->rows, fine->nrows * fine->nslots));
  for (int l = 0; l < 9; l++) PetscCall(PetscMalloc1(s->n, &s->line[l]));
  PetscCall(PetscMalloc1(s->n, &s->change));
  PetscCall(HJDistinctCreate(HJ_MAX_ROWS, sizeof(HJPlaces), sizeof(HJPlaces) / 8, &s->places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSearchDestroy(HJRowSearch **s)
{
  PetscFunctionBegin;
  for (int l = 0; l < 9; l++) PetscCall(PetscFree((*s)->line[l]));
  PetscCall(PetscFree((*s)->change));
  PetscCall(HJDistinctDestroy(&(*s)->places));
  PetscCall(PetscFree((*s)->row));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsFindRows(HJGalerkins *op, const HJCoefficients *fine, PetscBool *rows_fit, HJGalerkinRows *out)
{
  const PetscInt    *n = op->transfer.coarse.owned.hi;
  const PetscScalar *ghost;
  HJRowSearch       *s;

  PetscFunctionBegin;
  PetscCall(HJGalerkinsGetGhosts(op, &HJArraysHost, fine, &ghost));
  PetscCall(HJSearchCreate(op, fine, &s));
  PetscCall(PetscMalloc1(HJBoxSize(&op->transfer.coarse.owned), &out->index));
  *rows_fit = HJSearchNumberGhosts(s, ghost);
  for (PetscInt k = 0; k < n[2] && *rows_fit; k++) {
    for (PetscInt j = 0; j < n[1] && *rows_fit; j++)
      *rows_fit = HJSearchLine(s, j, k, out->index + HJBoxIndex(&op->transfer.coarse.owned, 0, j, k));
  }
  PetscCall(HJOnAllRanks(op->comm, rows_fit));
  if (*rows_fit) PetscCall(HJSearchRows(s, out));
  else PetscCall(PetscFree(out->index));
  PetscCall(HJSearchDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
