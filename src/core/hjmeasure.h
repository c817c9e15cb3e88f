/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How strongly the points of a grid are coupled in each direction, and what the last point of a direction has of the one before: what a
   coarser grid is chosen by. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"
#include "hjmultigrid.h"

/*
   Sums over the points of a rank, by direction. The coupling to a side is what the row has there, added up over the other directions, as a
   share of the diagonal, or of what a weak diagonal counts as; rows that are a diagonal alone have none. hold is that share in the row's
   part along the direction: a point at the end holds on to the one before by so much. Points at two ends count in hold[1] alone.
   Sums and numbers of many points are double, also where PETSc's numbers are single
*/
typedef struct {
  double coupling[3], sides[3]; /* sum, and number of sides that have a point */
  double hold[2][3], ends[2][3];
} HJMeasureSums;

#define HJ_MEASURE_SUMS (PetscInt)(sizeof(HJMeasureSums) / sizeof(double))

/* A direction is weak beside another one that is so many times as strong */
#define HJ_MEASURE_RATIO 2.7

/*
   At how many points, of so many that are coupled, a direction is weaker than the strongest one there: by more than HJ_MEASURE_RATIO times
   4^s, s the last step that is so. The strongest is strong to both sides, and what is weak is so on both: a wall or the end of the domain
   is no side, and coefficients that jump from point to point make no direction. And how often a direction is strong alone: all others are
   weaker by more than 4 HJ_MEASURE_RATIO
*/
#define HJ_RATIO_STEPS 8
typedef struct {
  double points, weaker[3][HJ_RATIO_STEPS], alone[3];
} HJMeasureRatios;

#define HJ_MEASURE_RATIOS (PetscInt)(sizeof(HJMeasureRatios) / sizeof(double))

/* Of the first points of each direction what HJMeasureSums has of the last ones; and how many points at either end are coupled to others */
typedef struct {
  double hold[2][3], ends[2][3], coupled[2][3];
} HJMeasureFirst;

#define HJ_MEASURE_FIRST (PetscInt)(sizeof(HJMeasureFirst) / sizeof(double))

/* Of coefficients in the backend's memory; the sums are on the host */
struct _n_HJMeasure {
  const HJGrid         *grid;
  const HJCoefficients *a;
  HJMeasureSums         sums;
  HJMeasureRatios       ratios;
  HJMeasureFirst        first;
  PetscReal             largest;        /* of the rows' sums of the sizes of all but the diagonal, as shares of it, see HJMeasureOthers() */
  PetscReal             alone, coupled; /* largest 1 / diagonal of rows that are one alone, and largest diagonal of the others */
};

/* A row's parts along each direction: below, beside and above, entries that lead outside the domain left out */
typedef struct {
  PetscReal partial[3][3], diagonal, others; /* others: sum of the sizes of all but the diagonal */
} HJMeasureRow;

/* A diagonal is weak where the others are together more than so many times it, or it is 0. Such a row counts as one that has the sum of the
   others there: a share of next to nothing would be all that is seen of the grid */
#define HJ_MEASURE_WEAK 100

static inline HJ_HOST_DEVICE PetscBool HJMeasureIsWeak(PetscReal size, PetscReal others)
{
  return (PetscBool)(size < others / HJ_MEASURE_WEAK);
}

/* What couplings are multiplied by, of a row that has others; size: that of its diagonal. 0 where it would be infinite */
static inline HJ_HOST_DEVICE PetscReal HJMeasureInverse(PetscReal size, PetscReal others)
{
  const PetscReal by = HJMeasureIsWeak(size, others) ? others : size;

  return by <= 1.0 / PETSC_MAX_REAL ? 0.0 : 1.0 / by;
}

static inline HJ_HOST_DEVICE void HJMeasureRowAdd(HJMeasureRow *r, PetscInt slot, const PetscInt off[3], PetscReal a)
{
  for (int d = 0; d < 3; d++) r->partial[d][1 + off[d]] += a;
  if (slot) r->others += a < 0 ? -a : a;
  else r->diagonal = a;
}

/* The others as a share of the diagonal, also of a weak one; the largest number where that is larger */
static inline HJ_HOST_DEVICE PetscReal HJMeasureOthers(PetscReal size, PetscReal others)
{
  if (!(others > 0.0)) return 0.0;
  return size <= others / PETSC_MAX_REAL ? PETSC_MAX_REAL : others / size;
}

/* -below / beside, from 0 to 1 */
static inline HJ_HOST_DEVICE PetscReal HJMeasureHold(PetscReal below, PetscReal beside)
{
  if (beside > 0.0) below = -below;
  else beside = -beside;
  return !(below > 0.0 && beside > 0.0) ? 0.0 : below >= beside ? 1.0 : below / beside;
}

/* ends: bit 2 d + side where the point is at that end of a direction */
static inline HJ_HOST_DEVICE void HJMeasureAdd(HJMeasureSums *s, const HJMeasureRow *r, PetscInt dim, unsigned int ends)
{
  const PetscReal inverse = HJMeasureInverse(r->diagonal < 0 ? -r->diagonal : r->diagonal, r->others);

  for (PetscInt d = 0; d < dim; d++) {
    const unsigned int own = 3u << (2 * d), high = 2u << (2 * d);

    for (int side = 0; side < 2 && r->others > 0.0; side++) {
      const PetscReal share = r->partial[d][2 * side] * inverse;

      if (ends >> (2 * d + side) & 1) continue;
      s->coupling[d] += share < 0 ? -share : share;
      s->sides[d] += 1.0;
    }
    if (ends & high) {
      const int       more = (ends & ~own) != 0;
      const PetscReal hold = HJMeasureHold(r->partial[d][0], r->partial[d][1]);

      for (int m = 0; m < 2; m++) { /* so that a GPU keeps the sums in registers */
        s->hold[m][d] += m != more ? 0.0 : hold;
        s->ends[m][d] += m == more ? 1.0 : 0.0;
      }
    }
  }
}

/* What HJMeasureFirst has of a row; on the host */
static inline void HJMeasureAddFirst(HJMeasureFirst *f, const HJMeasureRow *r, PetscInt dim, unsigned int ends)
{
  for (PetscInt d = 0; d < dim; d++) {
    const unsigned int at   = ends >> (2 * d) & 3u;
    const int          more = (ends & ~(3u << (2 * d))) != 0;

    for (int side = 0; side < 2 && r->others > 0.0; side++) f->coupled[side][d] += at >> side & 1;
    if (!(at & 1)) continue;
    f->hold[more][d] += HJMeasureHold(r->partial[d][2], r->partial[d][1]);
    f->ends[more][d] += 1.0;
  }
}

/* The larger ones of what was found and a row's; 0 on the diagonal counts as no row */
static inline HJ_HOST_DEVICE void HJMeasureSizes(PetscReal diagonal, PetscBool coupled, PetscReal *alone, PetscReal *most)
{
  const PetscReal size = diagonal < 0 ? -diagonal : diagonal;

  if (coupled) *most = *most > size ? *most : size;
  else if (size > 1.0 / PETSC_MAX_REAL) *alone = *alone > 1.0 / size ? *alone : 1.0 / size;
}

/* How a point's directions compare: the last step at which each is weaker than the strongest one, -1 where it is not, and the one that is
   strong alone, -1 where none is */
typedef struct {
  int step[3], alone;
} HJMeasureClass;

/* From the couplings to both sides */
static inline HJ_HOST_DEVICE HJMeasureClass HJMeasureClassify(PetscInt dim, const PetscReal below[3], const PetscReal above[3])
{
  HJMeasureClass c = {{-1, -1, -1}, -1};
  PetscReal      most[3], strongest = 0.0;
  int            which = 0, strong = 0; /* how many are */

  for (int d = 0; d < dim; d++) {
    const PetscReal lo = below[d] < 0 ? -below[d] : below[d], hi = above[d] < 0 ? -above[d] : above[d];
    const PetscReal least = lo > 0.0 && hi > 0.0 ? (lo < hi ? lo : hi) : (lo < hi ? hi : lo);

    most[d] = lo < hi ? hi : lo;
    if (least > strongest) which = d;
    strongest = strongest < least ? least : strongest;
  }
  for (int d = 0; d < dim; d++) {
    PetscReal limit = HJ_MEASURE_RATIO * most[d];

    if (!(4 * limit < strongest)) strong++;
    if (!(most[d] > 0.0) || !(strongest > limit)) continue;
    c.step[d] = 0;
    for (limit *= 4; c.step[d] < HJ_RATIO_STEPS - 1 && strongest > limit; limit *= 4) c.step[d]++;
  }
  if (strong == 1 && dim > 1) c.alone = which;
  return c;
}

static inline HJ_HOST_DEVICE HJMeasureClass HJMeasureClassifyRow(PetscInt dim, const HJMeasureRow *r)
{
  const PetscReal below[3] = {r->partial[0][0], r->partial[1][0], r->partial[2][0]};
  const PetscReal above[3] = {r->partial[0][2], r->partial[1][2], r->partial[2][2]};

  return HJMeasureClassify(dim, below, above);
}

/* Bits of the ends of the domain at which a point lies */
static inline HJ_HOST_DEVICE unsigned int HJMeasureEnds(PetscInt dim, const PetscInt lo[3], const PetscInt hi[3], const PetscInt p[3])
{
  unsigned int ends = 0;

  for (PetscInt d = 0; d < dim; d++) ends |= ((unsigned int)(p[d] == lo[d]) | (unsigned int)(p[d] == hi[d] - 1) << 1) << (2 * d);
  return ends;
}

/* Whether a point at these ends has a neighbour at an offset */
static inline HJ_HOST_DEVICE PetscBool HJMeasureInside(unsigned int ends, const PetscInt off[3])
{
  for (int d = 0; d < 3; d++)
    if (off[d] && (ends >> (2 * d + (off[d] > 0)) & 1)) return PETSC_FALSE;
  return PETSC_TRUE;
}
