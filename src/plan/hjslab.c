/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs: sizes of rings, the model of their time, the search. Decides type, height and thickness; moves no data.
*/
#include "hjslab.h"

#define HJ_SLAB_MAX_HEIGHT 1024
#define HJ_SLAB_ROUNDS     3 /* after which each takes as long as the one before */

static size_t HJSlabRingBytes(const HJSlabShape *shape, PetscCount planes, size_t plane)
{
  const size_t bytes = (size_t)planes * plane;

  return (bytes + shape->granularity - 1) / shape->granularity * shape->granularity;
}

/*
   With T the thickness, h the height and c the subiterations of a sweep, visit v has in work, by coordinate: of b and x what its sweeps
   read, [v T - h - c, (v + 1) T), while the next T planes come; in the other place of x [v T - h, (v + 1) T), while the T planes of the
   visit before leave, from below these. The next T planes of x come into what these leave, after it: planes [(v + 1) T, (v + 2) T) lie
   where the other [(v - 1) T - h, v T - h) are. Coefficients may be read one plane lower. With c = 1 sweeps may be even in number: then
   planes leave their own places, and the other are read one plane lower. Returns the planes of the ring of x
*/
static PetscCount HJSlabSetSkewed(HJSlabPlan *p, PetscCount *b, PetscCount *constant)
{
  const PetscCount h = p->height, t = p->thickness;

  p->stride = p->thickness;
  p->other  = p->height + 2 * p->thickness + (p->count == 1);
  *b        = h + p->count + 2 * t;
  *constant = t + 2 * p->count;
  return p->other + h + t + (p->count == 1 ? t : p->count);
}

/*
   Places for all planes that a visit reads and, where there are coefficients, one below them. Two of b, as the next come meanwhile. Three
   of x: visit v has its planes in v and writes v + 2, where the planes of visit v + 2 come when the results have left, and those of visit
   v + 1 come into v + 1, which the results of visit v - 1 have left. A fourth where results may leave v itself
*/
static PetscCount HJSlabSetPyramid(const HJSlabShape *shape, HJSlabPlan *p, PetscCount *b, PetscCount *constant)
{
  *constant = p->thickness + 2 * (PetscCount)p->height;
  p->stride = (PetscInt)*constant + (shape->ncoefficients > 0);
  p->other  = 2 * p->stride;
  *b        = 2 * (PetscCount)p->stride;
  return (p->count == 1 && p->height > 1 ? 4 : 3) * (PetscCount)p->stride;
}

void HJSlabPlanSet(const HJSlabShape *shape, PCHJacobiSlabType type, PetscInt height, PetscInt thickness, HJSlabPlan *p)
{
  PetscCount x, b, constant;

  memset(p, 0, sizeof(*p));
  p->n         = shape->n + height * (shape->ghosts[0] + shape->ghosts[1]);
  p->ghosts[0] = shape->ghosts[0];
  p->ghosts[1] = shape->ghosts[1];
  p->waits     = shape->waits;
  p->type      = type;
  p->height    = height;
  p->thickness = thickness;
  p->count     = PetscMin(PetscMin(shape->best_count, shape->max_count), height);

  x                             = HJSlabIsPyramid(p) ? HJSlabSetPyramid(shape, p, &b, &constant) : HJSlabSetSkewed(p, &b, &constant);
  p->ring[HJ_SLAB_X]            = HJSlabRingBytes(shape, x, shape->plane);
  p->ring[HJ_SLAB_B]            = HJSlabRingBytes(shape, b, shape->plane);
  p->ring[HJ_SLAB_COEFFICIENTS] = shape->ncoefficients ? HJSlabRingBytes(shape, b + !HJSlabIsPyramid(p), shape->coefficient_plane) : 0;
  p->constant                   = shape->constant_plane ? HJSlabRingBytes(shape, constant, shape->constant_plane) : 0;
  p->bytes = p->constant + p->ring[HJ_SLAB_X] + p->ring[HJ_SLAB_B] + shape->ncoefficients * p->ring[HJ_SLAB_COEFFICIENTS];
}

static size_t HJSlabBytes(const HJSlabShape *shape, PCHJacobiSlabType type, PetscInt height, PetscInt thickness)
{
  HJSlabPlan p;

  HJSlabPlanSet(shape, type, height, thickness, &p);
  return p.bytes;
}

/* A pyramid needs more than a skewed slab */
size_t HJSlabLeastBytes(const HJSlabShape *shape)
{
  return HJSlabBytes(shape, shape->type, 1, 1);
}

/* Results of pyramids wait for one visit: only the next may read their planes */
static PetscInt HJSlabThinnest(const HJSlabShape *shape, PCHJacobiSlabType type, PetscInt height)
{
  return type == PC_HJACOBI_SLAB_PYRAMID ? PetscMin(height, shape->n) : 1;
}

PetscInt HJSlabThickest(const HJSlabShape *shape, PCHJacobiSlabType type, PetscInt height, size_t limit)
{
  const PetscInt thinnest = HJSlabThinnest(shape, type, height);
  PetscInt       fits = thinnest - 1, fails = shape->n + 1;

  while (fails - fits > 1) {
    const PetscInt t = fits + (fails - fits) / 2;

    if (HJSlabBytes(shape, type, height, t) <= limit) fits = t;
    else fails = t;
  }
  return fits < thinnest ? 0 : fits;
}

/* Between the two samples around it; beyond them along the last and one of at most half its planes, if there is one */
static PetscReal HJSlabSweepSeconds(const HJSlabRates *r, PetscInt planes)
{
  PetscInt i, j = 1;

  if (planes <= 0) return 0;
  if (r->nsamples == 1) return r->sweep[0] * planes / r->planes[0];
  while (j < r->nsamples - 1 && planes > r->planes[j]) j++;
  for (i = j - 1; i && planes > r->planes[j] && 2 * r->planes[i] > r->planes[j];) i--;
  return PetscMax(r->sweep[i] + (r->sweep[j] - r->sweep[i]) * (planes - r->planes[i]) / (r->planes[j] - r->planes[i]), 0);
}

typedef struct {
  PetscReal in, x, sweep, out; /* x: of in, the last part */
} HJSlabTimes;

static void HJSlabVisitTimes(const HJSlabShape *shape, const HJSlabRates *r, const HJSlabPlan *p, PetscInt height, PetscInt s,
                             HJSlabTimes *t)
{
  const PetscInt sweeps = HJSlabSweeps(p, height);
  PetscInt       lo, hi;

  HJSlabRange(p, s, 0, &lo, &hi);
  t->in    = PetscMax(hi - lo, 0) * r->copy_in * (2.0 * shape->plane + (PetscReal)shape->ncoefficients * shape->coefficient_plane);
  t->x     = PetscMax(hi - lo, 0) * r->copy_in * shape->plane;
  t->sweep = 0;
  for (PetscInt i = 0; i < sweeps; i++) {
    const HJPass pass = HJSlabGetSweep(p, height, i);

    HJSlabRange(p, s, (PetscInt)pass.first + pass.count, &lo, &hi);
    t->sweep += HJSlabSweepSeconds(r, hi - lo);
  }
  HJSlabLeaving(p, s, height, &lo, &hi);
  t->out = PetscMax(hi - lo, 0) * r->copy_out * shape->plane;
}

/* Whether a visit has all its planes after subiteration j */
static PetscBool HJSlabIsWhole(const HJSlabPlan *p, PetscInt s, PetscInt j)
{
  PetscInt lo, hi;

  HJSlabRange(p, s, j, &lo, &hi);
  return (PetscBool)(hi - lo == HJSlabWidth(p, p->height - j));
}

/* Of all visits of a round; those in the middle of the grid are alike */
static PetscErrorCode HJSlabTimesCreate(const HJSlabShape *shape, const HJSlabRates *r, const HJSlabPlan *p, PetscInt height,
                                        HJSlabTimes **times)
{
  const PetscInt visits = HJSlabVisits(p, height);
  PetscInt       middle = -1;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(visits, times));
  for (PetscInt s = 0; s < visits; s++) {
    const PetscBool whole = (PetscBool)(HJSlabIsWhole(p, s, 0) && HJSlabIsWhole(p, s, height));

    if (whole && middle >= 0) (*times)[s] = (*times)[middle];
    else HJSlabVisitTimes(shape, r, p, height, s, &(*times)[s]);
    if (whole) middle = s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What visit v of a round adds to a visit of the run, where the round has it */
static void HJSlabAddTimes(const HJSlabTimes *times, PetscInt visits, PetscInt v, HJSlabTimes *sum)
{
  if (v < 0 || v >= visits) return;
  sum->in += times[v].in;
  sum->x += times[v].x;
  sum->sweep += times[v].sweep;
  sum->out += times[v].out;
}

/*
   Three stages, each in order: a visit's planes come, are swept, leave. They come when the visit before the last has been swept, those of
   x when it has left, and when the planes that the round before had to give back are there; they are swept when they have come. They leave
   then, or when those of the next visit have come too. left: work for the times when visits had left
*/
static PetscReal HJSlabSimulate(const HJSlabPlan *p, PetscInt height, PetscInt rounds, const HJSlabTimes *times, PetscReal *left)
{
  const PetscInt visits = HJSlabVisits(p, height), distance = HJSlabDistance(p, height, height);
  PetscReal      in = 0, out = 0, swept[2] = {0, 0};

  for (PetscInt s = 0; s < (rounds - 1) * distance + visits; s++) {
    const PetscInt newest = PetscMin(s / distance, rounds - 1); /* round that the visit is of; the one before may be too */
    HJSlabTimes    t      = {0, 0, 0, 0};
    PetscReal      start  = PetscMax(in, swept[0]);

    for (PetscInt i = newest; i >= PetscMax(newest - 1, 0); i--) HJSlabAddTimes(times, visits, s - i * distance, &t);
    start += t.in - t.x;
    if (s > 1) start = PetscMax(start, left[s - 2]);
    if (newest > 0 && s - newest * distance < visits)
      start = PetscMax(start, left[(newest - 1) * distance + HJSlabLastNeeded(p, height, s - newest * distance)]);
    in = start + t.x;
    if (s && HJSlabLeavesLate(p, (s - 1) % distance)) left[s - 1] = PetscMax(left[s - 1], in + out);
    out      = t.out;
    swept[0] = swept[1];
    swept[1] = PetscMax(in, swept[0]) + t.sweep;
    left[s]  = PetscMax(swept[1], s ? left[s - 1] : 0) + t.out;
  }
  return left[(rounds - 1) * distance + visits - 1];
}

/* Of a round that waits for the one before; the plan is the round's */
static PetscReal HJSlabRoundSeconds(const HJSlabRates *r, const HJSlabPlan *p, const HJSlabTimes *times, PetscReal *left)
{
  return p->height * r->exchange + HJSlabSimulate(p, p->height, 1, times, left);
}

/* The first rounds from a cold start, and what each further one adds */
PetscErrorCode HJSlabPredict(const HJSlabShape *shape, const HJSlabRates *r, const HJSlabPlan *p, PetscInt height, PetscCount rounds,
                             PetscReal *seconds)
{
  const HJSlabPlan round = HJSlabGetRound(p, height);
  HJSlabTimes     *times;
  PetscReal       *left;

  PetscFunctionBegin;
  PetscCall(HJSlabTimesCreate(shape, r, &round, height, &times));
  PetscCall(PetscMalloc1(HJ_SLAB_ROUNDS * HJSlabVisits(&round, height), &left));
  if (p->waits) *seconds = rounds * HJSlabRoundSeconds(r, &round, times, left);
  else {
    *seconds = HJSlabSimulate(&round, height, (PetscInt)PetscMin(rounds, HJ_SLAB_ROUNDS - 1), times, left);
    if (rounds >= HJ_SLAB_ROUNDS)
      *seconds += (rounds - (HJ_SLAB_ROUNDS - 1)) * (HJSlabSimulate(&round, height, HJ_SLAB_ROUNDS, times, left) - *seconds);
  }
  PetscCall(PetscFree(left));
  PetscCall(PetscFree(times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabPredictPlan(const HJSlabShape *shape, const HJSlabRates *r, HJSlabPlan *p)
{
  PetscReal    in = 0, out = 0, *left;
  HJSlabTimes *times;

  PetscFunctionBegin;
  PetscCall(HJSlabTimesCreate(shape, r, p, p->height, &times));
  p->sweep = 0;
  for (PetscInt s = 0; s < HJSlabVisits(p, p->height); s++) {
    in += times[s].in;
    out += times[s].out;
    p->sweep += times[s].sweep / p->height;
  }
  p->copy = PetscMax(in, out) / p->height;
  PetscCall(PetscMalloc1(HJ_SLAB_ROUNDS * HJSlabVisits(p, p->height), &left));
  if (p->waits) p->seconds = HJSlabRoundSeconds(r, p, times, left) / p->height;
  else
    p->seconds = (HJSlabSimulate(p, p->height, HJ_SLAB_ROUNDS, times, left) -
                  HJSlabSimulate(p, p->height, HJ_SLAB_ROUNDS - 1, times, left)) /
                 p->height;
  PetscCall(PetscFree(left));
  PetscCall(PetscFree(times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the thickest on; much thinner ones only have smaller sweeps */
static PetscErrorCode HJSlabSearchThickness(const HJSlabShape *shape, const HJSlabRates *r, PCHJacobiSlabType type, PetscInt height,
                                            PetscInt most, HJSlabPlan *best)
{
  const PetscInt least = PetscMax(most / 8 + 1, HJSlabThinnest(shape, type, height));

  PetscFunctionBegin;
  for (PetscInt t = most; t >= least; t = PetscMin(t - 1, (PetscInt)(t * 0.98))) {
    HJSlabPlan p;

    HJSlabPlanSet(shape, type, height, t, &p);
    PetscCall(HJSlabPredictPlan(shape, r, &p));
    if (!best->height || p.seconds < best->seconds) *best = p;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Heights whose sweeps are all as long as the best, an odd number: then no copy waits for another. And the small ones */
static PetscBool HJSlabHeightIsGood(const HJSlabShape *shape, PetscInt height)
{
  const PetscInt count = PetscMin(shape->best_count, shape->max_count);

  return (PetscBool)(height <= count || (height % count == 0 && height / count % 2));
}

static PetscErrorCode HJSlabSearchType(const HJSlabShape *shape, const HJSlabRates *r, PCHJacobiSlabType type, size_t limit,
                                       PetscInt height, HJSlabPlan *best)
{
  const PetscInt highest = shape->most_height ? PetscMin(shape->most_height, HJ_SLAB_MAX_HEIGHT) : HJ_SLAB_MAX_HEIGHT;
  PetscInt       next    = 1;

  PetscFunctionBegin;
  for (PetscInt h = PetscMax(height, 1); h <= (height > 0 ? height : highest); h++) {
    PetscInt most;

    if (height <= 0 && (h < next || (type == PC_HJACOBI_SLAB_SKEWED && !HJSlabHeightIsGood(shape, h)))) continue;
    next = h + h / 32; /* beyond some height a little more or less is all the same */
    most = HJSlabThickest(shape, type, h, limit);
    if (!most) break;
    PetscCall(HJSlabSearchThickness(shape, r, type, h, most, best));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabSearch(const HJSlabShape *shape, const HJSlabRates *r, size_t limit, PetscInt height, HJSlabPlan *best)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(best, sizeof(*best)));
  for (int type = PC_HJACOBI_SLAB_SKEWED; type <= PC_HJACOBI_SLAB_PYRAMID; type++) {
    if (shape->type == PC_HJACOBI_SLAB_AUTO || shape->type == (PCHJacobiSlabType)type)
      PetscCall(HJSlabSearchType(shape, r, (PCHJacobiSlabType)type, limit, height, best));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
