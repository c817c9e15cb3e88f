/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs: how a grid that is larger than a device's memory is swept in visits of parts of it. Heights, thicknesses, bytes, predicted times:
   pure arithmetic, no PETSc object, no backend.
*/
#pragma once

#include "hjplan.h"
#include "pchjacobi.h"

/*
   Planes are those across the slowest direction, 0 to n - 1. A round does height subiterations on all of them in visits of slabs of T
   planes.

   Skewed slabs: visit s computes, in subiteration j = 1 ... height, the planes [s T - j, (s + 1) T - j), where they exist. What it needs
   of subiteration j - 1 below these planes the visit before has computed, so nothing is computed or copied twice. Visits go on until the
   last plane has all its subiterations: there are ceil((n + height) / T).

   Pyramids, as in Kochurov et al. (2015): visit s computes the planes [s T - (height - j), (s + 1) T + (height - j)), where they exist,
   from those with j = 0, which it copies; nothing is kept from one visit to the next. There are ceil(n / T). Its results are planes that
   the next visit reads as they were before, and leave when that one has copied them; T is no less than the height, so that no other reads
   them. This costs no speed: in the same memory T = 2 height makes the most subiterations for a byte that is copied.

   A pyramid reads T + 2 height planes of x and b and computes (T + height) / T times as much; with copies that overlap it holds 5 (T + 2
   height) planes, where a skewed slab holds 3 height + 5 T. With the same height and T the skewed slab has less of all but visits, and in
   the same memory it may be far higher. So of both the model takes pyramids only where a few slabs are the whole grid and copies take next
   to no time.

   Where another rank's planes lie below or above, a round of height h also has h of them, as they are before it. Each subiteration leaves
   out one more of those on that side, so that what is left after the last are the rank's own planes. Plane 0 is the first of all these.

   Planes travel through rings in the device's memory. A plane has a coordinate that grows from visit to visit of pyramids, from round to
   round of skewed slabs, and lies in a ring of R bytes at its coordinate times its bytes modulo R; a ring is seen twice in a row, so that
   what is not longer than R lies in one piece. A plane has two places in the ring of x, its own and the other, a fixed distance ahead. The
   sweeps of a visit read the one and write the other by turns: planes come into their own, and an odd number of sweeps leaves the result in
   the other. The distance is so that planes come where those were that have just left.
*/
typedef enum { HJ_SLAB_X, HJ_SLAB_B, HJ_SLAB_COEFFICIENTS } HJSlabRing;

/* What the device must hold of a grid */
typedef struct {
  PetscInt          n;                     /* planes */
  PetscInt          max_count, best_count; /* subiterations of a sweep */
  PetscInt          ncoefficients;         /* arrays of coefficients that travel beside x and b; 0: none */
  size_t            plane;                 /* bytes of a plane of x, and of b */
  size_t            coefficient_plane;     /* bytes of a plane of one array of coefficients */
  size_t            constant_plane;        /* bytes that stay on the device for each plane of a sweep */
  size_t            granularity;           /* rings are multiples of so many bytes */
  PetscInt          ghosts[2];             /* 1: another rank's planes, or a periodic image, lie below, above */
  PetscInt          most_height;           /* of any plan; 0: no such limit */
  PetscBool         waits;                 /* a round reads what other ranks have from the one before, and so waits for its end */
  PCHJacobiSlabType type;                  /* of plans; auto: of either */
} HJSlabShape;

#define HJ_SLAB_SAMPLES 80
/* What was measured. copies: seconds a byte, while both directions are in use; sweep: of best_count subiterations, by number of planes */
typedef struct {
  PetscReal copy_in, copy_out;
  PetscInt  nsamples, planes[HJ_SLAB_SAMPLES]; /* increasing */
  PetscReal sweep[HJ_SLAB_SAMPLES];
  PetscReal exchange; /* seconds that ghosts take before a round, for each subiteration of its height */
} HJSlabRates;

typedef struct {
  PetscInt          n, count; /* planes, with those of others that a round of this height reads; most subiterations of a sweep */
  PetscInt          ghosts[2];
  PetscBool         waits;
  PCHJacobiSlabType type; /* not auto */
  PetscInt          height, thickness;
  PetscInt          stride;      /* by which the coordinates of a visit's planes are larger than those of the one before */
  PetscInt          other;       /* planes from a plane's own place in the ring of x to the other */
  size_t            ring[3];     /* bytes of each ring, by HJSlabRing; each array of coefficients has one */
  size_t            constant;    /* bytes of what does not travel */
  size_t            bytes;       /* of all of them */
  PetscReal         seconds;     /* predicted, a subiteration of the whole grid in a long run */
  PetscReal         copy, sweep; /* the same if there were only the copies (the longer way), only the sweeps */
} HJSlabPlan;

/* Sizes of a plan of this type, height and thickness; count is the most subiterations of its sweeps */
PETSC_INTERN void HJSlabPlanSet(const HJSlabShape *, PCHJacobiSlabType, PetscInt height, PetscInt thickness, HJSlabPlan *);
/* The least memory that any plan needs, in bytes */
PETSC_INTERN size_t HJSlabLeastBytes(const HJSlabShape *);
/* The thickest slabs of a type and height that fit into so many bytes; 0: none do */
PETSC_INTERN PetscInt HJSlabThickest(const HJSlabShape *, PCHJacobiSlabType, PetscInt height, size_t limit);
/*
   Brute force: the type, height and thickness with the least predicted time that fit into limit bytes. height: PETSC_DECIDE, or as asked
   for, and the others alone are searched for. Where nothing fits the plan's height is 0
*/
PETSC_INTERN PetscErrorCode HJSlabSearch(const HJSlabShape *, const HJSlabRates *, size_t limit, PetscInt height, HJSlabPlan *);
/* Seconds of rounds of this height, one after another */
PETSC_INTERN PetscErrorCode HJSlabPredict(const HJSlabShape *, const HJSlabRates *, const HJSlabPlan *, PetscInt height, PetscCount rounds,
                                          PetscReal *seconds);

/* The plan as a round of this height, at most the plan's, needs it: fewer planes of others */
static inline HJSlabPlan HJSlabGetRound(const HJSlabPlan *p, PetscInt height)
{
  HJSlabPlan round = *p;

  round.n -= (p->height - height) * (p->ghosts[0] + p->ghosts[1]);
  round.height = height;
  return round;
}

static inline PetscBool HJSlabIsPyramid(const HJSlabPlan *p)
{
  return (PetscBool)(p->type == PC_HJACOBI_SLAB_PYRAMID);
}

/* Visits of a round of height subiterations */
static inline PetscInt HJSlabVisits(const HJSlabPlan *p, PetscInt height)
{
  const PetscCount last = HJSlabIsPyramid(p) ? -(PetscCount)p->height * (p->ghosts[0] + p->ghosts[1]) : height;

  return (PetscInt)((p->n + last + p->thickness - 1) / p->thickness);
}

/*
   Visits from the first of a round to the first of the next, of height next (0: whatever it is). Rounds share visits: while the one ends
   with its last planes the next begins with the first ones, whose results the other has given back before, and gives none back until that
   one has ended. A plane's coordinate grows by as many slabs; one plane is left free, for coefficients of the plane below the first. Rounds
   that read what others have wait for the end; rounds of pyramids, which leave in order, only for what they read
*/
static inline PetscInt HJSlabDistance(const HJSlabPlan *p, PetscInt height, PetscInt next)
{
  const PetscInt t = p->thickness, visits = (PetscInt)(((PetscCount)p->n + p->height + t - 1) / t);

  if (HJSlabIsPyramid(p)) return HJSlabVisits(p, height);
  if (p->waits) return visits;
  return PetscMin(visits, PetscMax(PetscMax(p->n / t + 1, (height + t - 1) / t + 1), visits - next / t));
}

/* Its sweeps: of nearly equal length, and none is shorter than the one before, which the rings rely on */
static inline PetscInt HJSlabSweeps(const HJSlabPlan *p, PetscInt height)
{
  const PetscInt sweeps = (height + p->count - 1) / p->count;

  return sweeps % 2 || sweeps == height ? sweeps : sweeps + 1;
}

static inline HJPass HJSlabGetSweep(const HJSlabPlan *p, PetscInt height, PetscInt sweep)
{
  const PetscInt sweeps = HJSlabSweeps(p, height), base = height / sweeps, shorter = sweeps - height % sweeps;
  HJPass         pass;

  pass.first = (PetscCount)sweep * base + PetscMax(sweep - shorter, 0);
  pass.count = base + (sweep >= shorter);
  return pass;
}

/* The planes that visit s has after subiteration j, where left have yet to be done, not cut at the ends of the grid; and their number */
static inline PetscInt HJSlabLow(const HJSlabPlan *p, PetscInt s, PetscInt j)
{
  return s * p->thickness - (HJSlabIsPyramid(p) ? p->height * (1 - p->ghosts[0]) - j : j);
}

static inline PetscInt HJSlabWidth(const HJSlabPlan *p, PetscInt left)
{
  return p->thickness + (HJSlabIsPyramid(p) ? 2 * left : 0);
}

/* Cut to planes that exist, or that can be computed from those that do; empty: hi <= lo */
static inline void HJSlabRange(const HJSlabPlan *p, PetscInt s, PetscInt j, PetscInt *lo, PetscInt *hi)
{
  *lo = PetscMax(HJSlabLow(p, s, j), p->ghosts[0] * j);
  *hi = PetscMin(HJSlabLow(p, s, j) + HJSlabWidth(p, p->height - j), p->n - p->ghosts[1] * j);
}

/* The planes that leave after visit s of a round whose subiterations after the first height only look ahead; own ones alone */
static inline void HJSlabLeaving(const HJSlabPlan *p, PetscInt s, PetscInt height, PetscInt *lo, PetscInt *hi)
{
  HJSlabRange(p, s, HJSlabIsPyramid(p) ? p->height : height, lo, hi);
  *lo = PetscMax(*lo, p->ghosts[0] * p->height);
  *hi = PetscMin(*hi, p->n - p->ghosts[1] * p->height);
}

/* Whether what visit s leaves must wait until the next has copied what it reads */
static inline PetscBool HJSlabLeavesLate(const HJSlabPlan *p, PetscInt s)
{
  return (PetscBool)(HJSlabIsPyramid(p) && s + 1 < HJSlabVisits(p, p->height));
}

/* The visit of a round that computes the last of the planes that visit s of the next round reads; all are there when its result is */
static inline PetscInt HJSlabLastNeeded(const HJSlabPlan *p, PetscInt height, PetscInt s)
{
  PetscInt lo, hi;

  HJSlabRange(p, s, 0, &lo, &hi);
  return (hi - 1 + (HJSlabIsPyramid(p) ? 0 : height)) / p->thickness;
}
