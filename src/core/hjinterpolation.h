/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation coefficients from the rows of a matrix (black box multigrid, Dendy 1982), as columns of the interpolation, and Galerkin
   products with them. What a coarse point's column and a coarse entry are is defined here, for the host and for devices. Decides nothing.
*/
#pragma once

#include "hjgalerkin.h"

/* Large functions: copied to where they are called they would take the host's compiler ten seconds more for one file */
#if defined(__CUDACC__)
  #define HJ_CALLED static inline HJ_HOST_DEVICE
#else
  #define HJ_CALLED static PETSC_UNUSED __attribute__((noinline))
#endif

/*
   W_p(c) is what coarse point c gives to the fine point p beside the one that it lies on; p is -1, 0 or 1 in refined directions, else 0.
   One array over the owned coarse points for each p: [nslots][n], slot 0 is p = 0, the others follow with x fastest. 0 where p leads
   outside the domain or the row of the fine point is a diagonal alone. Where the coarse point lies on such a row its whole column is 0, but
   for islands, see HJIsIsland(), around which values go on as if there were none: W_0 is HJ_INTERPOLATION_ISLAND there.
   Where a period of an odd number of points closes, p leads from the last coarse point to the first, which is no point between two coarse
   ones: 0 too.
*/
typedef struct {
  PetscInt           factor[3], base[3]; /* fine point of a coarse one: factor c + base */
  PetscInt           nslots;             /* 3 to the number of refined directions */
  int                step[3];            /* see HJColumnsSlot(); 0 where the factor is 1 */
  PetscInt           nc[3];              /* owned coarse points */
  HJBox              domain;             /* of the coarse grid */
  HJBox              points;             /* of the fine grid, see HJTransfer: those that have coefficients */
  HJBox              inner;              /* the coarse points between which jumps count, see HJColumnsInner() */
  PetscCount         n;
  const PetscScalar *coefficient, *ghost; /* ghost: [nslots][shell.size] */
  HJShell            shell;
} HJColumns;

/* Coefficients of the fine grid, for points that are owned or in the shell of HJGalerkinShellSet() */
typedef struct {
  HJEntries          e;
  signed char        slot[3][3][3]; /* [z][y][x] see HJFineSlot() */
  PetscInt           nf[3];         /* owned points */
  HJBox              domain;
  const PetscScalar *ghost;
  HJShell            shell;
} HJFine;

/*
   The fine points p whose coefficients are looked for, those next to coarse ones first, and what each entry of their rows is to them: it
   leads to a point that has the coefficient of slot use from the same coarse point, or HJ_INTERPOLATION_ALONG, HJ_INTERPOLATION_AWAY
*/
#define HJ_INTERPOLATION_ALONG -1 /* to one in the same place of the directions of p */
#define HJ_INTERPOLATION_AWAY  -2 /* nearer to other coarse points */

typedef struct {
  PetscInt    np;
  signed char p[26][3], far[26], slot[26]; /* far: directions of p; slot: of its coefficient */
  signed char use[26][HJ_MAX_SLOTS];
} HJInterpolationPlan;

/*
   The backend's couplings(), jump() and coefficients(): of the fine points next to the owned coarse points to these, [2 a refined
   direction][owned coarse points]; then, from couplings with their ghosts, how much they jump; columns. On a rank that has the whole grid,
   which is not periodic, jump() needs no couplings: NULL
*/
struct _n_HJInterpolationFill {
  const HJTransfer     *t;
  const HJShell        *shell, *coarse_shell; /* HJGalerkinShellSet()'s; that of the couplings' ghosts */
  const HJCoefficients *a, *symmetric; /* rows say which are a diagonal alone; coefficients come from the symmetric part, which may be a */
  const PetscScalar    *ghost, *symmetric_ghost; /* as HJGalerkin's */
  PetscScalar          *coupling, *coupling_ghost;
  PetscScalar          *coefficient; /* [nslots][owned coarse points] */
  HJJump               *jump;        /* out, of this rank */
};

/* Arrays of the coefficients of a transfer */
PETSC_INTERN PetscInt  HJColumnsSlots(const HJTransfer *);
PETSC_INTERN HJColumns HJColumnsSet(const HJTransfer *, const HJShell *, const PetscScalar *coefficient, const PetscScalar *ghost);
PETSC_INTERN void      HJInterpolationPlanSet(const HJColumns *, const HJFine *, HJInterpolationPlan *);
PETSC_INTERN HJFine    HJFineSet(const HJTransfer *, const HJShell *, const HJCoefficients *, const PetscScalar *ghost);

static inline HJ_HOST_DEVICE PetscInt HJColumnsSlot(const HJColumns *w, int px, int py, int pz)
{
  const PetscInt code = px * w->step[0] + py * w->step[1] + pz * w->step[2], half = w->nslots / 2;

  return code < 0 ? code + half + 1 : code > 0 ? code + half : 0;
}

/* Place among couplings of that of the fine point beside a coarse one, on a side, in a refined direction */
static inline HJ_HOST_DEVICE PetscInt HJCouplingsPlace(const HJColumns *w, int d, int side)
{
  const int refined = (d > 0 && w->step[0]) + (d > 1 && w->step[1]);

  return 2 * refined + (side > 0);
}

/* How many fine points further the coarse point q beside c lies: where a period of an odd number of points closes it is the next one */
static inline HJ_HOST_DEVICE PetscInt HJColumnsStep(const HJColumns *w, int d, PetscInt c, int q)
{
  const PetscInt to = w->factor[d] * (c + q) + w->base[d];

  return to < w->points.lo[d] || to >= w->points.hi[d] ? 1 : w->factor[d];
}

/* A column: the coefficient of a slot is at[slot * stride] */
typedef struct {
  const PetscScalar *at;
  PetscCount         stride;
} HJColumn;

/* Of a coarse point of the domain, owned or a ghost */
static inline HJ_HOST_DEVICE HJColumn HJColumnsAt(const HJColumns *w, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscBool owned = (PetscBool)(i >= 0 && i < w->nc[0] && j >= 0 && j < w->nc[1] && k >= 0 && k < w->nc[2]);
  HJColumn        c;

  c.at     = owned ? w->coefficient + ((PetscCount)k * w->nc[1] + j) * w->nc[0] + i : w->ghost + HJShellIndex(&w->shell, i, j, k);
  c.stride = owned ? w->n : w->shell.size;
  return c;
}

/* The slot that leads so far, -1: there is none */
static inline HJ_HOST_DEVICE int HJFineSlot(const HJFine *a, int x, int y, int z)
{
  return a->slot[z + 1][y + 1][x + 1];
}

/* A fine row: the entry of a slot is at[slot * stride]; where stride is 0 in arrays, at[begin[slot]] */
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
  HJFineRow        r     = {a->e.row, 1, i, j, k};

  if (a->e.storage == HJ_COEFFICIENTS_ROW) return r;
  if (!owned) {
    r.at     = a->ghost + HJShellIndex(&a->shell, i, j, k);
    r.stride = a->shell.size;
  } else if (a->e.storage == HJ_COEFFICIENTS_ARRAYS) {
    r.at     = a->e.value + point;
    r.stride = 0;
  } else {
    r.at = a->e.rows + (PetscCount)a->e.index[point] * a->e.nslots;
  }
  return r;
}

/* 0 where the entry leads outside the domain, whatever a row has there */
static inline HJ_HOST_DEVICE PetscScalar HJFineEntry(const HJFine *a, const HJFineRow *r, PetscInt slot)
{
  const signed char *off = a->e.off[slot];

  if (a->e.storage != HJ_COEFFICIENTS_ARRAYS && !HJPointInside(&a->domain, r->i + off[0], r->j + off[1], r->k + off[2])) return 0.0;
  return r->at[r->stride ? slot * r->stride : a->e.begin[slot]];
}

static inline HJ_HOST_DEVICE PetscBool HJFineRowIsDiagonal(const HJFine *a, const HJFineRow *r)
{
  for (PetscInt s = 1; s < a->e.nslots; s++)
    if (HJFineEntry(a, r, s) != 0.0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
   The coupling of a fine point to the one that lies o beside it, not zero in some refined direction, summed over directions that are not
   refined; 0 where it leads outside the domain
*/
static inline HJ_HOST_DEVICE PetscReal HJCoupling(const HJColumns *w, const HJFine *a, const HJFineRow *r, int ox, int oy, int oz)
{
  const int mx = !w->step[0], my = a->e.dim > 1 && !w->step[1], mz = a->e.dim > 2 && !w->step[2];
  PetscReal sum = 0.0;

  if (!mx && !my && !mz) {
    const int slot = HJFineSlot(a, ox, oy, oz);

    return slot >= 0 ? -PetscRealPart(HJFineEntry(a, r, slot)) : 0.0;
  }
  for (int z = oz - mz; z <= oz + mz; z++) {
    for (int y = oy - my; y <= oy + my; y++) {
      for (int x = ox - mx; x <= ox + mx; x++) {
        const int slot = HJFineSlot(a, x, y, z);

        if (slot >= 0) sum -= PetscRealPart(HJFineEntry(a, r, slot));
      }
    }
  }
  return sum;
}

/*
   The power of two, with the diagonal's sign, that times it is between 1 and 2; 1 where the diagonal is 0. Couplings on the ways from a
   point are multiplied by each other, and must have products that are numbers also where entries are 1e300 or 1e-300. Scaled so they are
   those of a matrix in other units, bit by bit
*/
static inline HJ_HOST_DEVICE PetscReal HJScaleOfRow(PetscReal diagonal)
{
#if PetscDefined(USE_REAL_SINGLE)
  typedef uint32_t Bits;
#else
  typedef uint64_t Bits;
#endif
  const int  digits = HJ_BY_PRECISION(52, 23);
  const Bits sign = (Bits)1 << (8 * sizeof(Bits) - 1), largest = HJ_BY_PRECISION(0x7ff, 0xff), exponent = largest << digits;
  Bits       bits;

  memcpy(&bits, &diagonal, sizeof(bits));
  if (!(bits & exponent)) return diagonal < 0.0 ? -1.0 : 1.0;
  bits = (bits & sign) | (((largest - 1) << digits) - (bits & exponent)); /* half of it stands for 0 */
  if (!(bits & exponent)) bits |= (Bits)1 << digits;
  memcpy(&diagonal, &bits, sizeof(bits));
  return diagonal;
}

/* Of couplings behind one another; one that is not positive interrupts them */
static inline HJ_HOST_DEVICE PetscReal HJCouplingsInSeries(PetscReal a, PetscReal b)
{
  return a > 0.0 && b > 0.0 ? a * b / (a + b) : 0.0;
}

/*
   How strongly a fine point between two coarse ones is coupled to one of them, which lies t beside it in its only refined direction:
   directly, and by way of the points beside both. Its row alone, summed over the other directions, does not tell where the point hangs on
   one that lies beside it more than on the two. Times HJScaleOfRow().
*/
HJ_CALLED PetscReal HJCouplingOfPaths(const HJColumns *w, const HJFine *a, const HJFineRow *r, const int t[3])
{
  const int       e[3]  = {w->step[0] && !t[0], w->step[1] && !t[1], w->step[2] && !t[2]};
  const PetscReal scale = HJScaleOfRow(PetscRealPart(HJFineEntry(a, r, 0)));
  PetscReal       sum   = PetscMax(scale * HJCoupling(w, a, r, t[0], t[1], t[2]), 0.0);

  for (int z = -e[2]; z <= e[2]; z++) {
    for (int y = -e[1]; y <= e[1]; y++) {
      for (int x = -e[0]; x <= e[0]; x++) {
        const PetscInt i = r->i + x, j = r->j + y, k = r->k + z;
        HJFineRow      beside, corner;
        PetscReal      last, over, aslant;

        if ((!x && !y && !z) || !HJPointInside(&a->domain, i, j, k)) continue;
        over   = scale * HJCoupling(w, a, r, x, y, z);
        aslant = scale * HJCoupling(w, a, r, x + t[0], y + t[1], z + t[2]);
        if (!(over > 0.0) && !(aslant > 0.0)) continue;
        corner = HJFineRowAt(a, i + t[0], j + t[1], k + t[2]);
        last   = scale * HJCoupling(w, a, &corner, -x, -y, -z);
        sum += HJCouplingsInSeries(aslant, last);
        if (!(over > 0.0)) continue;
        beside = HJFineRowAt(a, i, j, k);
        sum += HJCouplingsInSeries(over, scale * HJCoupling(w, a, &beside, t[0] - x, t[1] - y, t[2] - z));
        if (!(last > 0.0)) continue;
        sum += HJCouplingsInSeries(over, HJCouplingsInSeries(scale * HJCoupling(w, a, &beside, t[0], t[1], t[2]), last));
      }
    }
  }
  return sum;
}

/* Stands for the coupling to an island: as strong as the one to the other side */
#define HJ_COUPLING_ISLAND -1.0
/* What an island takes of its coarse point: nothing that is more than rounding, so that its row has no part in the coarse one */
#define HJ_INTERPOLATION_ISLAND HJ_BY_PRECISION(1e-30, 1e-15)
/* A smaller share of the sizes of a row's entries is their rounding */
#define HJ_INTERPOLATION_ROUNDING HJ_BY_PRECISION(1e-12, 1e-5)

/* Nothing flows from a point to its neighbour there: what its row has for it, and its sum, are a small share of its diagonal */
#define HJ_ISLAND_FLOW 0.05

static inline HJ_HOST_DEVICE PetscBool HJIsShore(const HJFine *a, const HJFineRow *r, int slot)
{
  const PetscReal diagonal = PetscRealPart(HJFineEntry(a, r, 0));
  PetscReal       sum      = 0.0;

  for (PetscInt s = 0; s < a->e.nslots; s++) sum += PetscRealPart(HJFineEntry(a, r, s));
  return (PetscBool)(PetscAbsReal(sum) <= HJ_ISLAND_FLOW * PetscAbsReal(diagonal) && (slot < 0 || HJFineEntry(a, r, slot) == 0.0));
}

/*
   Whether a fine point is a diagonal alone, but land that values go around: of the 8 points around it in a plane of refined directions
   those that are coupled make one piece, each coupled to the next one, both in one direction are among them, and nothing flows from those
   beside it to it. Were its coarse point out of use, none would have values from beyond it, and what is smooth would be less so on each
   next grid. Points around a wall that passes between the points of a coarse grid, and through this one, are two pieces
*/
HJ_CALLED PetscBool HJIsIsland(const HJColumns *w, const HJFine *a, const PetscInt at[3])
{
  const HJFineRow own = HJFineRowAt(a, at[0], at[1], at[2]);

  if (a->e.storage == HJ_COEFFICIENTS_ROW || !HJFineRowIsDiagonal(a, &own)) return PETSC_FALSE;
  for (int across = 0; across < 3; across++) { /* the plane's normal */
    const int    d = across == 0 ? 1 : 0, e = across == 2 ? 1 : 2;
    unsigned int water = 0, linked = 0; /* bits around the point, a place after another; linked: coupled to the next one */
    int          shores = 0, back[3] = {0, 0, 0}, next[3] = {0, 0, 0};

    if (!w->step[d] || !w->step[e]) continue; /* of other directions no ghosts are there */
    for (int o = 0; o < 8; o++) {
      PetscInt  p[3] = {at[0], at[1], at[2]};
      HJFineRow r;

      back[d] = o % 4 == 2 ? 0 : o > 2 && o < 6 ? 1 : -1;
      back[e] = o % 4 == 0 ? 0 : o < 4 ? -1 : 1;
      next[d] = o < 4 && o > 0 && o != 3 ? -1 : o > 4 && o < 7 ? 1 : 0;
      next[e] = o == 3 || o == 4 ? -1 : o == 7 || o == 0 ? 1 : 0;
      p[d] -= back[d];
      p[e] -= back[e];
      if (!HJPointInside(&a->domain, p[0], p[1], p[2])) continue;
      r = HJFineRowAt(a, p[0], p[1], p[2]);
      if (HJFineRowIsDiagonal(a, &r)) continue;
      water |= 1u << o;
      if (HJFineEntry(a, &r, HJFineSlot(a, next[0], next[1], next[2])) != 0.0) linked |= 1u << o;
      if (o % 2 == 0 && !HJIsShore(a, &r, HJFineSlot(a, back[0], back[1], back[2]))) return PETSC_FALSE;
    }
    for (int o = 0; o < 8; o++) shores += (water >> o & 1) && !(linked >> o & water >> (o + 1) % 8 & 1);
    if (shores < 2 && ((water & 0x11) == 0x11 || (water & 0x44) == 0x44)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Couplings of the fine points next to an owned coarse point to it, each times HJScaleOfRow() of its point, into to[place * n], see
   HJCouplingsPlace() */
static inline HJ_HOST_DEVICE void HJCouplingsFill(const HJColumns *w, const HJFine *a, PetscInt i, PetscInt j, PetscInt k, PetscScalar *to)
{
  const PetscInt  at[3]  = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  const PetscBool island = HJIsIsland(w, a, at);

  for (int d = 0; d < 3; d++) {
    for (int side = -1; side <= 1 && w->step[d]; side += 2) {
      const int    t[3] = {d == 0 ? -side : 0, d == 1 ? -side : 0, d == 2 ? -side : 0};
      PetscScalar *here = to + HJCouplingsPlace(w, d, side) * w->n;
      HJFineRow    r;

      *here = island ? HJ_COUPLING_ISLAND : 0.0;
      if (island || !HJPointInside(&w->points, at[0] - t[0], at[1] - t[1], at[2] - t[2])) continue;
      r     = HJFineRowAt(a, at[0] - t[0], at[1] - t[1], at[2] - t[2]);
      *here = HJCouplingOfPaths(w, a, &r, t);
    }
  }
}

/* What a fine row says about the coefficient from coarse point c, which the point lies p beside */
typedef struct {
  PetscReal near;        /* positive couplings to points nearer to c, times the coefficients that c gives to them */
  PetscReal all, centre; /* couplings to all points in other places of the directions of p; the row's diagonal less those to others */
  PetscReal repelled;    /* what negative ones take away from all */
  PetscReal size, sign;  /* of the diagonal */
  PetscBool couples;     /* the row is not a diagonal alone */
} HJInterpolationSums;

/*
   Directions in which the fine point lies on a coarse line are summed over: what is left couples it to the points between its parents.
   Galerkin products of coefficients that jump have negative couplings, large ones too: no point takes its value from these, for then it
   would be of no sign and of any size, and jumps would grow from grid to grid
*/
static inline HJ_HOST_DEVICE HJInterpolationSums HJInterpolationSumsOf(const HJFine *a, const HJFineRow *r, const signed char use[],
                                                                       HJColumn column)
{
  const PetscReal     diagonal = PetscRealPart(HJFineEntry(a, r, 0)), sign = diagonal < 0.0 ? -1.0 : 1.0;
  HJInterpolationSums s = {0.0, 0.0, sign * diagonal, 0.0, sign * diagonal, sign, PETSC_FALSE};

  for (PetscInt slot = 1; slot < a->e.nslots; slot++) {
    const PetscReal e = sign * PetscRealPart(HJFineEntry(a, r, slot));

    if (e == 0.0) continue;
    s.couples = PETSC_TRUE;
    if (use[slot] == HJ_INTERPOLATION_ALONG) {
      s.centre += e;
      continue;
    }
    s.all -= e;
    if (e > 0.0) s.repelled += e;
    else if (use[slot] != HJ_INTERPOLATION_AWAY) s.near -= e * PetscRealPart(column.at[use[slot] * column.stride]);
  }
  return s;
}

/*
   The sum of a row of a matrix that is not symmetric, as far as it takes from the values of a point. Scaled rows, outflow and convection
   have other sums in the symmetric part, which constants do not know of. Where a neighbour does not hang on the point, its row is mostly a
   diagonal alone: half the entry is in the symmetric part. Where none does, at a corner whose equation no other one reads, all count
*/
static inline HJ_HOST_DEVICE PetscReal HJFineRowSum(const HJFine *rows, const HJFineRow *own, const HJFine *a, const HJFineRow *symmetric)
{
  PetscReal sum = PetscRealPart(HJFineEntry(rows, own, 0)), one_way = 0.0;
  PetscBool both = PETSC_FALSE;

  for (PetscInt s = 1; s < a->e.nslots; s++) {
    const signed char *off  = a->e.off[s];
    const int          slot = HJFineSlot(rows, off[0], off[1], off[2]);
    const PetscReal    e    = slot < 0 ? 0.0 : PetscRealPart(HJFineEntry(rows, own, slot));

    sum += e;
    if (2.0 * PetscRealPart(HJFineEntry(a, symmetric, s)) != e) both = PETSC_TRUE;
    else one_way += e;
  }
  return both ? sum - 0.5 * one_way : sum;
}

/* The couplings of a point between two coarse ones, of which c is the first; other is 0 where there is no second one */
static inline HJ_HOST_DEVICE void HJCouplingsOfPoint(const HJColumns *couplings, int d, const int p[3], const PetscInt c[3], PetscReal *own,
                                                     PetscReal *other)
{
  const HJColumn mine = HJColumnsAt(couplings, c[0], c[1], c[2]);
  HJColumn       next;

  *own   = PetscRealPart(mine.at[HJCouplingsPlace(couplings, d, p[d]) * mine.stride]);
  *other = 0.0;
  if (!HJPointInside(&couplings->domain, c[0] + p[0], c[1] + p[1], c[2] + p[2])) return;
  next   = HJColumnsAt(couplings, c[0] + p[0], c[1] + p[1], c[2] + p[2]);
  *other = PetscRealPart(next.at[HJCouplingsPlace(couplings, d, -p[d]) * next.stride]);
}

/* A fine point with both couplings, of n coarse points that do not lie on rows that are a diagonal alone */
static inline HJ_HOST_DEVICE void HJJumpTake(PetscReal own, PetscReal other, int n, HJJump *jump)
{
  const PetscReal difference = PetscAbsReal(own - other) / (own + other);

  if (!n) return;
  jump->largest = PetscMax(jump->largest, difference);
  jump->large += difference >= HJ_JUMP_LARGE ? n : 0;
  jump->points += n;
}

/*
   The same of a point in row r with at most one coupling: own to the coarse point that lies t beside it, other to the one on the other
   side. Where it is coupled to one of them, and has a zero for the other, or is coupled to nothing at all, there is a wall, over which no
   value may be taken: the largest jump. What sweeps have to do does not grow by that, so it does not count among the large ones
*/
static inline HJ_HOST_DEVICE void HJJumpTakeWall(const HJColumns *w, const HJFine *rows, const HJFineRow *r, const int t[3], PetscReal own,
                                                 PetscReal other, int n, HJJump *jump)
{
  const int to = own > 0.0 ? -1 : 1;

  if (!n) return;
  if (HJFineRowIsDiagonal(rows, r) || ((own > 0.0 || other > 0.0) && HJCoupling(w, rows, r, to * t[0], to * t[1], to * t[2]) == 0.0))
    jump->largest = 1.0;
}

/* The points beside an owned coarse point */
static inline HJ_HOST_DEVICE void HJJumpAdd(const HJColumns *couplings, const HJFine *rows, const HJFine *a, PetscInt i, PetscInt j,
                                            PetscInt k, HJJump *jump)
{
  const PetscInt c[3]  = {i, j, k};
  const PetscInt at[3] = {couplings->factor[0] * i + couplings->base[0], couplings->factor[1] * j + couplings->base[1],
                          couplings->factor[2] * k + couplings->base[2]};
  HJFineRow      r     = HJFineRowAt(rows, at[0], at[1], at[2]);

  if (!HJPointInside(&couplings->inner, i, j, k) || HJFineRowIsDiagonal(rows, &r)) return;
  for (int d = 0; d < 3; d++) {
    for (int side = -1; side <= 1 && couplings->step[d]; side += 2) {
      const int p[3] = {d == 0 ? side : 0, d == 1 ? side : 0, d == 2 ? side : 0}, back[3] = {-p[0], -p[1], -p[2]};
      PetscReal own, other;

      if (!HJPointInside(&couplings->inner, i + p[0], j + p[1], k + p[2])) continue;
      HJCouplingsOfPoint(couplings, d, p, c, &own, &other);
      r = HJFineRowAt(rows, at[0] + p[0], at[1] + p[1], at[2] + p[2]);
      if (!(own > 0.0) || !(other > 0.0)) {
        HJJumpTakeWall(couplings, rows, &r, back, own, other, 1, jump);
        continue;
      }
      if (a != rows && HJFineRowIsDiagonal(rows, &r)) continue;
      HJJumpTake(own, other, 1, jump);
    }
  }
}

/* How many of the coarse points (i, j, k) and the one up beside it do not lie on rows that are a diagonal alone */
static inline HJ_HOST_DEVICE int HJJumpCoupled(const HJColumns *w, const HJFine *rows, const int up[3], PetscInt i, PetscInt j, PetscInt k)
{
  const PetscInt at[3] = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  int            n     = 0;

  for (int side = 0; side < 2; side++) {
    const HJFineRow r = HJFineRowAt(rows, at[0] + 2 * side * up[0], at[1] + 2 * side * up[1], at[2] + 2 * side * up[2]);

    n += HJFineRowIsDiagonal(rows, &r) ? 0 : 1;
  }
  return n;
}

/* The same without couplings that were worked out before: of the points above a coarse one. All rows around are there */
static inline HJ_HOST_DEVICE void HJJumpFind(const HJColumns *w, const HJFine *rows, const HJFine *a, PetscInt i, PetscInt j, PetscInt k,
                                             HJJump *jump)
{
  const PetscInt at[3] = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};

  for (int d = 0; d < 3; d++) {
    const int up[3] = {d == 0, d == 1, d == 2}, down[3] = {-up[0], -up[1], -up[2]};
    HJFineRow r;
    PetscReal own, other;

    if (!w->step[d] || !HJPointInside(&w->inner, i, j, k) || !HJPointInside(&w->inner, i + up[0], j + up[1], k + up[2])) continue;
    r     = HJFineRowAt(a, at[0] + up[0], at[1] + up[1], at[2] + up[2]);
    own   = HJCouplingOfPaths(w, a, &r, down);
    other = HJCouplingOfPaths(w, a, &r, up);
    r     = HJFineRowAt(rows, at[0] + up[0], at[1] + up[1], at[2] + up[2]);
    if (!(own > 0.0) || !(other > 0.0)) {
      HJJumpTakeWall(w, rows, &r, down, own, other, HJJumpCoupled(w, rows, up, i, j, k), jump);
      continue;
    }
    if (a != rows && HJFineRowIsDiagonal(rows, &r)) continue;
    HJJumpTake(own, other, HJJumpCoupled(w, rows, up, i, j, k), jump);
  }
}

/* Of a point between two coarse ones, in direction d: by how strongly it is coupled to them. The row's sum counts where it is positive */
static inline HJ_HOST_DEVICE PetscReal HJInterpolationBetween(const HJColumns *couplings, int d, const int p[3], PetscInt i, PetscInt j,
                                                              PetscInt k, const HJInterpolationSums *s)
{
  const PetscInt c[3] = {i, j, k};
  PetscReal      own, other, share = 1.0;

  HJCouplingsOfPoint(couplings, d, p, c, &own, &other);
  if (own < 0.0 || other < 0.0) own = other = PetscMax(PetscMax(own, other), 0.0);
  if (HJPointInside(&couplings->domain, i + p[0], j + p[1], k + p[2]))
    share = own + other > HJ_INTERPOLATION_ROUNDING * s->size * HJScaleOfRow(s->size) ? own / (own + other) : 0.5;
  return s->all > 0.0 && s->centre > s->all ? share * (s->all / s->centre) : share;
}

/* What a coarse point gives to a fine one that lies beside it in two directions or three, whose row has these sums */
static inline HJ_HOST_DEVICE PetscReal HJInterpolationAcross(int far, const HJInterpolationSums *s)
{
  const PetscReal denominator = PetscMax(s->all, s->centre) + s->repelled; /* so that constants are never exceeded */

  return denominator > HJ_INTERPOLATION_ROUNDING * s->size ? s->near / denominator : far == 2 ? 0.25 : 0.125;
}

/* The column of an owned coarse point into to[slot * n] */
static inline HJ_HOST_DEVICE void HJColumnFill(const HJColumns *w, const HJColumns *couplings, const HJInterpolationPlan *plan,
                                               const HJFine *rows, const HJFine *a, PetscInt i, PetscInt j, PetscInt k, PetscScalar *to)
{
  const PetscInt  at[3]  = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  HJFineRow       r      = HJFineRowAt(rows, at[0], at[1], at[2]);
  const PetscBool alone  = HJFineRowIsDiagonal(rows, &r);
  const PetscBool island = (PetscBool)(alone && w->nslots > 1 && PetscRealPart(*HJColumnsAt(couplings, i, j, k).at) < 0.0);
  const PetscReal centre = !alone ? 1.0 : island ? HJ_INTERPOLATION_ISLAND : 0.0;
  const HJColumn  column = {to, w->n};

  to[0] = centre;
  for (PetscInt m = 0; m < plan->np; m++) {
    const int           p[3] = {plan->p[m][0], plan->p[m][1], plan->p[m][2]}, far = plan->far[m];
    PetscScalar        *here = to + plan->slot[m] * w->n;
    HJFineRow           own;
    HJInterpolationSums s;

    *here = 0.0;
    if (centre == 0.0 || !HJPointInside(&w->points, at[0] + p[0], at[1] + p[1], at[2] + p[2])) continue;
    r = HJFineRowAt(a, at[0] + p[0], at[1] + p[1], at[2] + p[2]);
    s = HJInterpolationSumsOf(a, &r, plan->use[m], column);
    if (a == rows) {
      if (!s.couples) continue;
    } else {
      own = HJFineRowAt(rows, at[0] + p[0], at[1] + p[1], at[2] + p[2]);
      if (HJFineRowIsDiagonal(rows, &own)) continue;
      s.centre = s.all + s.sign * HJFineRowSum(rows, &own, a, &r);
    }
    if (far == 1) *here = HJInterpolationBetween(couplings, p[0] ? 0 : p[1] ? 1 : 2, p, i, j, k, &s);
    else *here = HJInterpolationAcross(far, &s);
  }
}

/* Place of a fine point, o points further than one p beside a coarse point, from the coarse point's neighbour q, which lies step points
   further, see HJColumnsStep(); not its: beyond -1, 0, 1 */
static inline HJ_HOST_DEVICE int HJColumnPlace(PetscInt step, int p, int o, int q)
{
  return step == 2 ? p + o - 2 * q : p + o == q ? 0 : 2;
}

/* Entry of the product, of owned coarse point (i, j, k) and the point q beside it */
HJ_CALLED PetscScalar HJInterpolationEntry(const HJColumns *w, const HJFine *a, PetscInt i, PetscInt j, PetscInt k, const int q[3])
{
  const PetscInt at[3]   = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  const int      more[3] = {w->step[0] != 0, w->step[1] != 0, w->step[2] != 0};
  const PetscInt step[3] = {HJColumnsStep(w, 0, i, q[0]), HJColumnsStep(w, 1, j, q[1]), HJColumnsStep(w, 2, k, q[2])};
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
        const PetscScalar coefficient = own.at[HJColumnsSlot(w, px, py, pz) * own.stride];
        PetscScalar       part        = 0.0;
        HJFineRow         r;

        if (coefficient == 0.0) continue;
        r = HJFineRowAt(a, at[0] + px, at[1] + py, at[2] + pz);
        for (PetscInt s = 0; s < a->e.nslots; s++) {
          const int tx = HJColumnPlace(step[0], px, a->e.off[s][0], q[0]), ty = HJColumnPlace(step[1], py, a->e.off[s][1], q[1]),
                    tz = HJColumnPlace(step[2], pz, a->e.off[s][2], q[2]);

          if (tx < -1 || tx > 1 || ty < -1 || ty > 1 || tz < -1 || tz > 1) continue;
          part += HJFineEntry(a, &r, s) * other.at[HJColumnsSlot(w, tx, ty, tz) * other.stride];
        }
        sum += coefficient * part;
      }
    }
  }
  return sum;
}
