/*
   Skewed slabs: sizes of rings, the model of their time, the search. Decides height and thickness; moves no data.
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
   planes leave their own places, and the other are read one plane lower.
*/
void HJSlabPlanSet(const HJSlabShape *shape, PetscInt height, PetscInt thickness, HJSlabPlan *p)
{
  const PetscCount h = height, t = thickness;

  memset(p, 0, sizeof(*p));
  p->n                          = shape->n + height * (shape->ghosts[0] + shape->ghosts[1]);
  p->ghosts[0]                  = shape->ghosts[0];
  p->ghosts[1]                  = shape->ghosts[1];
  p->waits                      = shape->waits;
  p->height                     = height;
  p->thickness                  = thickness;
  p->count                      = PetscMin(PetscMin(shape->best_count, shape->max_count), height);
  p->other                      = height + 2 * thickness + (p->count == 1);
  p->ring[HJ_SLAB_X]            = HJSlabRingBytes(shape, p->other + h + t + (p->count == 1 ? t : p->count), shape->plane);
  p->ring[HJ_SLAB_B]            = HJSlabRingBytes(shape, h + p->count + 2 * t, shape->plane);
  p->ring[HJ_SLAB_COEFFICIENTS] = shape->ncoefficients ? HJSlabRingBytes(shape, h + p->count + 2 * t + 1, shape->coefficient_plane) : 0;
  p->constant                   = shape->constant_plane ? HJSlabRingBytes(shape, t + 2 * p->count, shape->constant_plane) : 0;
  p->bytes = p->constant + p->ring[HJ_SLAB_X] + p->ring[HJ_SLAB_B] + shape->ncoefficients * p->ring[HJ_SLAB_COEFFICIENTS];
}

static size_t HJSlabBytes(const HJSlabShape *shape, PetscInt height, PetscInt thickness)
{
  HJSlabPlan p;

  HJSlabPlanSet(shape, height, thickness, &p);
  return p.bytes;
}

size_t HJSlabLeastBytes(const HJSlabShape *shape)
{
  return HJSlabBytes(shape, 1, 1);
}

PetscInt HJSlabThickest(const HJSlabShape *shape, PetscInt height, size_t limit)
{
  PetscInt fits = 0, fails = shape->n + 1;

  while (fails - fits > 1) {
    const PetscInt t = fits + (fails - fits) / 2;

    if (HJSlabBytes(shape, height, t) <= limit) fits = t;
    else fails = t;
  }
  return fits;
}

/* Between the two samples around it; beyond them along the last two */
static PetscReal HJSlabSweepSeconds(const HJSlabRates *r, PetscInt planes)
{
  PetscInt i = 1;

  if (planes <= 0) return 0;
  if (r->nsamples == 1) return r->sweep[0] * planes / r->planes[0];
  while (i < r->nsamples - 1 && planes > r->planes[i]) i++;
  return PetscMax(r->sweep[i - 1] + (r->sweep[i] - r->sweep[i - 1]) * (planes - r->planes[i - 1]) / (r->planes[i] - r->planes[i - 1]), 0);
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
  HJSlabRange(p, s, height, &lo, &hi);
  t->out = PetscMax(hi - lo, 0) * r->copy_out * shape->plane;
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
    const PetscBool whole = (PetscBool)(HJSlabLow(p, s, height) >= p->ghosts[0] * height && HJSlabLow(p, s + 1, 0) <= p->n);

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
   x when it has left, and when the planes that the round before had to give back are there; they are swept when they have come. left: work
   for the times when visits had left
*/
static PetscReal HJSlabSimulate(const HJSlabPlan *p, PetscInt height, PetscInt rounds, const HJSlabTimes *times, PetscReal *left)
{
  const PetscInt visits = HJSlabVisits(p, height), distance = HJSlabDistance(p, height, height);
  PetscReal      in = 0, swept[2] = {0, 0};

  for (PetscInt s = 0; s < (rounds - 1) * distance + visits; s++) {
    const PetscInt newest = PetscMin(s / distance, rounds - 1); /* round that the visit is of; the one before may be too */
    HJSlabTimes    t      = {0, 0, 0, 0};
    PetscReal      start  = PetscMax(in, swept[0]);

    for (PetscInt i = newest; i >= PetscMax(newest - 1, 0); i--) HJSlabAddTimes(times, visits, s - i * distance, &t);
    start += t.in - t.x;
    if (s > 1) start = PetscMax(start, left[s - 2]);
    if (newest > 0 && s - newest * distance < visits)
      start = PetscMax(start, left[(newest - 1) * distance + HJSlabLastNeeded(p, height, s - newest * distance)]);
    in       = start + t.x;
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
static PetscErrorCode HJSlabSearchThickness(const HJSlabShape *shape, const HJSlabRates *r, PetscInt height, PetscInt most,
                                            HJSlabPlan *best)
{
  PetscFunctionBegin;
  for (PetscInt t = most; t > most / 8; t = PetscMin(t - 1, (PetscInt)(t * 0.98))) {
    HJSlabPlan p;

    HJSlabPlanSet(shape, height, t, &p);
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

PetscErrorCode HJSlabSearch(const HJSlabShape *shape, const HJSlabRates *r, size_t limit, PetscInt height, HJSlabPlan *best)
{
  const PetscInt highest = shape->most_height ? PetscMin(shape->most_height, HJ_SLAB_MAX_HEIGHT) : HJ_SLAB_MAX_HEIGHT;
  PetscInt       next    = 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(best, sizeof(*best)));
  for (PetscInt h = PetscMax(height, 1); h <= (height > 0 ? height : highest); h++) {
    PetscInt most;

    if (height <= 0 && (h < next || !HJSlabHeightIsGood(shape, h))) continue;
    next = h + h / 32; /* beyond some height a little more or less is all the same */
    most = HJSlabThickest(shape, h, limit);
    if (!most) break;
    PetscCall(HJSlabSearchThickness(shape, r, h, most, best));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
