/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs: sizes and visits as the plan says, and cycles that a device with little memory does slab by slab equal those that are done at
   once. The device is a fake here, which does its work as late and as much out of order as it may; with -backend cuda also the GPU.
   once: 1
*/
#define _GNU_SOURCE
#include "hjproblem.h"
#include "hjcapture.h"
#include "hjslabcase.h"

/*
   own planes, and others': each subiteration of each is done in an order in which what it reads is there and not yet overwritten, of skewed
   slabs once; what leaves overwrites no plane that has yet to come
*/
static PetscBool VisitsRight(PCHJacobiSlabType type, PetscInt own, PetscInt ghosts, PetscInt height, PetscInt thickness, PetscInt count,
                             PetscInt smaller)
{
  const HJSlabShape shape =
    {.n = own, .max_count = count, .best_count = count, .plane = 8, .granularity = 1, .ghosts = {ghosts % 2, ghosts / 2}};
  HJSlabPlan p;
  PetscInt  *level[2], *host, lo, hi, n;
  PetscBool  right = PETSC_TRUE;

  HJSlabPlanSet(&shape, type, height, thickness, &p);
  p    = HJSlabGetRound(&p, smaller);
  n    = p.n;
  host = (PetscInt *)calloc(n, sizeof(PetscInt));
  for (int i = 0; i < 2; i++) level[i] = (PetscInt *)malloc(n * sizeof(PetscInt));
  for (PetscInt v = 0; v < HJSlabVisits(&p, smaller); v++) {
    for (PetscInt z = 0; z < n && (!v || HJSlabIsPyramid(&p)); z++) level[0][z] = level[1][z] = -1; /* pyramids find nothing */
    HJSlabRange(&p, v, 0, &lo, &hi);
    for (PetscInt z = lo; z < hi; z++) level[0][z] = host[z] ? -1 : 0;
    for (int late = 1; late >= 0; late--) { /* what leaves now */
      if (v < late || HJSlabLeavesLate(&p, v - late) != (PetscBool)late) continue;
      HJSlabLeaving(&p, v - late, smaller, &lo, &hi);
      for (PetscInt z = lo; z < hi; z++) host[z]++;
    }
    for (PetscInt i = 0; i < HJSlabSweeps(&p, smaller); i++) {
      const HJPass pass = HJSlabGetSweep(&p, smaller, i);

      right = (PetscBool)(right && pass.count >= 1 && pass.count <= count);
      HJSlabRange(&p, v, (PetscInt)pass.first + pass.count, &lo, &hi);
      if (hi <= lo) continue;
      right = (PetscBool)(right && (!p.ghosts[0] || lo >= pass.count) && (!p.ghosts[1] || hi + pass.count <= n));
      for (PetscInt z = PetscMax(lo - pass.count, 0); z < PetscMin(hi + pass.count, n); z++)
        right = (PetscBool)(right && level[i % 2][z] == pass.first);
      for (PetscInt z = lo; z < hi; z++) level[!(i % 2)][z] = (PetscInt)pass.first + pass.count;
    }
    HJSlabLeaving(&p, v, smaller, &lo, &hi);
    for (PetscInt z = lo; z < hi; z++) right = (PetscBool)(right && level[HJSlabSweeps(&p, smaller) % 2][z] == smaller);
  }
  right = (PetscBool)(right && n == own + smaller * (p.ghosts[0] + p.ghosts[1]));
  for (PetscInt z = 0; z < n; z++) /* own planes once, others' never */
    right = (PetscBool)(right && host[z] == (z >= smaller * p.ghosts[0] && z < smaller * p.ghosts[0] + own));
  for (int i = 0; i < 2; i++) free(level[i]);
  free(host);
  return right;
}

static PetscErrorCode TestVisits(PCHJacobiSlabType type)
{
  const char *name  = PCHJacobiSlabTypes[type];
  PetscInt    wrong = 0, n = 0, thinnest = 0;
  PetscBool   right = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt count = 1; count <= 5; count++) {
    for (PetscInt thickness = 1; thickness <= 23; thickness += count) {
      for (PetscInt height = 1; height <= 31; height++) {
        if (type == PC_HJACOBI_SLAB_PYRAMID && thickness < PetscMin(height, 19)) continue; /* no plan */
        for (PetscInt smaller = 1; smaller <= height; smaller += 3, n++)
          if (!VisitsRight(type, 19, n % 4, height, thickness, count, smaller)) wrong++;
      }
    }
  }
  PetscCall(HJTestOK((PetscBool)(!wrong && n > 1000),
                     "visits, %s: every plane gets every subiteration from the one before (%d of %d are wrong)", name, (int)wrong, (int)n));
  for (PetscInt height = 1; height < 40; height++) {
    const HJSlabShape shape =
      {.n = 50, .max_count = 4, .best_count = 4, .plane = 800, .granularity = 512, .constant_plane = 100, .type = type};
    const size_t   limit = 200000;
    const PetscInt t     = HJSlabThickest(&shape, type, height, limit);
    HJSlabPlan     p;

    thinnest = t ? t : thinnest;
    HJSlabPlanSet(&shape, type, height, t, &p);
    right = (PetscBool)(right && (!t || (p.bytes <= limit && p.bytes >= HJSlabLeastBytes(&shape) && p.ring[HJ_SLAB_X] % 512 == 0)));
    HJSlabPlanSet(&shape, type, height, t ? t + 1 : type == PC_HJACOBI_SLAB_PYRAMID ? height : 1, &p);
    right = (PetscBool)(right && (t == 50 || p.bytes > limit));
  }
  PetscCall(HJTestOK((PetscBool)(right && thinnest), "visits, %s: the thickest slab fits, one plane more does not", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A device that sweeps 1e11 points a second and copies 5e10 bytes a second each way, a card of 2.5e9 bytes: 800^3 points in double */
static PetscErrorCode TestModel(void)
{
  const HJSlabShape shape =
    {.n = 800, .max_count = 4, .best_count = 4, .plane = 8 * 640000, .constant_plane = 640000, .granularity = 1 << 21};
  HJSlabRates rates = {.copy_in = 2e-11, .copy_out = 2e-11, .nsamples = 2, .planes = {10, 20}};
  HJSlabPlan  best, other, p;
  PetscReal   one, many, fastest;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) rates.sweep[i] = 4 * 640000 * 1e-11 * rates.planes[i];
  fastest = 640000 * 800 * 1e-11;
  PetscCall(HJSlabSearch(&shape, &rates, (size_t)2500000000, PETSC_DECIDE, &best));
  PetscCall(HJTestOK((PetscBool)(best.bytes <= 2500000000 && best.seconds >= fastest * 0.999 && best.seconds < 1.05 * fastest),
                     "model: where copies are hidden the sweeps are all that is left (%g of %g, height %d, %d planes)",
                     (double)best.seconds, (double)fastest, (int)best.height, (int)best.thickness));
  PetscCall(HJSlabSearch(&shape, &rates, (size_t)2500000000, 4, &other));
  PetscCall(
    HJTestOK((PetscBool)(other.height == 4 && PetscAbsReal(other.seconds - other.copy) < 0.02 * other.copy && other.copy > 2 * fastest),
             "model: with few subiterations a visit the copies are (%g of %g)", (double)other.seconds, (double)other.copy));
  PetscCall(HJSlabPredict(&shape, &rates, &other, 4, 1, &one));
  PetscCall(HJSlabPredict(&shape, &rates, &other, 4, 100, &many));
  PetscCall(HJTestOK((PetscBool)(one > 4 * other.seconds && PetscAbsReal(many - 400 * other.seconds) < 2 * one),
                     "model: one round is a pipeline that fills and drains, of many only the first (%g, %g)", (double)one, (double)many));
  rates.sweep[0] = rates.sweep[1] = 1e-3; /* a cost of each sweep, whatever it does */
  PetscCall(HJSlabSearch(&shape, &rates, (size_t)2500000000, PETSC_DECIDE, &p));
  PetscCall(HJTestOK((PetscBool)(p.height && p.thickness > best.thickness),
                     "model: slabs are thicker where a sweep has a price (%d planes)", (int)p.thickness));
  rates = (HJSlabRates){.nsamples = 3, .planes = {5, 10, 11}, .sweep = {5e-3, 10e-3, 10.8e-3}};
  HJSlabPlanSet(&shape, PC_HJACOBI_SLAB_SKEWED, 4, 88, &p);
  PetscCall(HJSlabPredict(&shape, &rates, &p, 4, 1, &one));
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(one - 0.8) < 0.08), "model: thick slabs do not make noise in the last sample larger (%g)",
                     (double)one));
  PetscCall(HJSlabSearch(&shape, &rates, (size_t)20000000, PETSC_DECIDE, &p));
  PetscCall(HJTestOK((PetscBool)!p.height, "model: nothing fits into less than the least"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pyramids: times of copies and sweeps beside those of skewed slabs, which the model takes, whatever grid and memory */
static PetscErrorCode TestTypes(void)
{
  const size_t limit = (size_t)2500000000;
  HJSlabShape  shape = {.n = 800, .max_count = 4, .best_count = 4, .plane = 8 * 640000, .constant_plane = 640000, .granularity = 1 << 21};
  HJSlabRates  rates = {.copy_in = 2e-11, .copy_out = 2e-11, .nsamples = 2, .planes = {10, 20}};
  HJSlabPlan   best[2], p;
  PetscReal    copied = 0;
  PetscInt     n = 0, skewed = 0, lo, hi;
  unsigned     random = 1;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) rates.sweep[i] = 4 * 640000 * 1e-11 * rates.planes[i];
  shape.type = PC_HJACOBI_SLAB_PYRAMID;
  PetscCall(HJSlabSearch(&shape, &rates, limit, PETSC_DECIDE, &p));
  for (PetscInt v = 0; v < HJSlabVisits(&p, p.height); v++) {
    HJSlabRange(&p, v, 0, &lo, &hi);
    copied += hi - lo;
  }
  PetscCall(HJTestOK((PetscBool)(p.type == PC_HJACOBI_SLAB_PYRAMID && p.bytes <= limit && p.thickness >= p.height &&
                                 PetscAbsReal(p.copy * p.height - 2 * copied * shape.plane * rates.copy_in) < 1e-6 * p.copy &&
                                 p.seconds < 1.1 * p.copy && p.sweep > 1.2 * 512e6 * 1e-11),
                     "model: pyramids copy planes twice, %g of %d, and sweep more (%g, %g of %g, height %d, %d planes)", (double)copied,
                     800, (double)p.copy, (double)p.sweep, (double)p.seconds, (int)p.height, (int)p.thickness));
  for (int i = 0; i < 40; i++) {
    PetscReal draw[3]; /* from 0 to 1 */

    for (int d = 0; d < 3; d++) {
      random  = random * 1664525u + 1013904223u;
      draw[d] = (random >> 8) / 16777216.0;
    }
    shape.n              = (PetscInt)(8 + 200 * draw[0] * draw[0]);
    shape.plane          = (size_t)(8e3 * PetscPowReal(1000, draw[1]));
    shape.constant_plane = shape.plane / 8;
    for (int s = 0; s < 2; s++) rates.sweep[s] = 5e-6 + 4 * (rates.planes[s] + 4) * shape.constant_plane / 4.5e11;
    for (int s = 0; s < 2; s++) {
      shape.type = s ? PC_HJACOBI_SLAB_PYRAMID : PC_HJACOBI_SLAB_AUTO;
      PetscCall(HJSlabSearch(&shape, &rates, (size_t)((0.2 + 0.8 * draw[2]) * 3 * shape.n * shape.plane), PETSC_DECIDE, &best[s]));
    }
    if (!best[1].height) continue;
    n++;
    skewed += best[0].type == PC_HJACOBI_SLAB_SKEWED && best[0].seconds < best[1].seconds;
  }
  PetscCall(HJTestOK((PetscBool)(n > 20 && skewed == n), "model: skewed slabs are chosen for %d of %d grids", (int)skewed, (int)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Down to the least, and then 0 */
static size_t NextLimit(size_t limit, size_t least)
{
  if (limit == least) return 0;
  return limit > 2 * least ? limit * 3 / 4 : PetscMax(limit - PetscMax(3 * FAKE_GRANULARITY, least / 16), least);
}

/* From memory that holds all to memory that holds the thinnest slab: the same values */
static PetscErrorCode TestLimits(const Problem *problem, PetscInt k, PCHJacobiSlabType type, const char *name)
{
  const PetscInt all[3] = {32, 32, 32};
  SlabCase       c;
  HJSlabs        slabs;
  HJSlabsInfo    info;
  HJSlabShape    shape;
  char           why[256], bytes[64];
  size_t         least   = 0, incore;
  PetscReal      largest = 0, diff = 0;
  PetscBool      right = PETSC_TRUE, same = PETSC_FALSE;
  PetscBool      norms = PETSC_TRUE, tests = PETSC_TRUE;
  PetscInt       nnorms = 0, nlimits = 0, thin = PETSC_INT_MAX, high = 0;

  PetscFunctionBegin;
  PetscCall(SlabCaseCreate(problem, k, &c));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, all, &HJBackendHost, &HJHaloPetscSF, &c.op, why, sizeof(why)));
  HJSlabsRefuse(c.op, why, sizeof(why));
  PetscCall(HJTestOK((PetscBool)!why[0], "%s: slabs can be swept %s", name, why));
  incore      = HJSlabsInCoreBytes(&c.op->grid, c.op->stencil);
  fake_memory = (size_t)1 << 40;
  for (size_t limit = 2 * incore + 65536; limit; limit = NextLimit(limit, least)) {
    const PetscInt asked  = 1 + nlimits % 16,
                   height = least && nlimits % 3 && HJSlabThickest(&shape, type, asked, limit) ? asked : PETSC_DECIDE;

    fake_most  = 0;
    fake_count = nlimits % 2 ? 64 : 1 + nlimits % 3;
    PetscCall(HJSlabsCreate(c.op, &FakeOps, limit, type, height, &slabs));
    HJSlabsGetInfo(slabs, &info);
    shape           = *info.shape;
    least           = HJSlabLeastBytes(&shape);
    shape.max_count = shape.best_count = 64; /* a height that fits with so long sweeps fits with others */
    thin                               = PetscMin(thin, info.plan->thickness);
    high                               = PetscMax(high, info.plan->height);
    right                              = (PetscBool)(right && fake_most <= limit && info.plan->bytes <= limit);
    for (PetscInt its = 1; its <= 3 && its * its * k <= 64; its++) {
      PetscCall(CompareRuns(&c, slabs, its * its, (PetscBool)(its % 2), &same, &diff));
      right   = (PetscBool)(right && same);
      largest = PetscMax(largest, diff);
    }
    if (HJSlabsCanUpdate(slabs, &c.w)) {
      PetscCall(CompareUpdate(&c, slabs, &norms));
      nnorms++;
      PetscCall(CompareChecked(&c, slabs, 1 + nnorms % 5, 1 + nnorms % 6, PETSC_FALSE, &tests));
    }
    PetscCall(HJSlabsDestroy(&slabs));
    nlimits++;
  }
  PetscCall(
    HJTestOK((PetscBool)(right && !fake_used && !fake_pins && thin <= 8),
             "%s: %d limits down to %zu of %zu bytes, slabs of %d planes and more, up to %d subiterations a visit: the same values (%g)",
             name, (int)nlimits, least, incore, (int)thin, (int)high, (double)largest));
  PetscCall(HJTestOK(norms, "%s: norms of the coming cycle, x as it was (%d limits)", name, (int)nnorms));
  PetscCall(HJTestOK(tests, "%s: tests of runs see x as it is", name));
  PetscCall(PetscSNPrintf(bytes, sizeof(bytes), "needs %zu bytes", least));
  ExpectError(HJSlabsCreate(c.op, &FakeOps, least - 1, type, PETSC_DECIDE, &slabs), "a byte less than the least is refused", bytes,
              "raise -pc_hjacobi_device_memory");
  PetscCall(HJSlabsDestroy(&slabs));
  ExpectError(HJSlabsCreate(c.op, &FakeOps, least, type, 1000, &slabs), "too many subiterations a visit are refused", "height 1000",
              "lower -pc_hjacobi_slab_height");
  PetscCall(HJSlabsDestroy(&slabs));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests that look a cycle ahead, in slabs from thin to thick, visits from low to high */
static PetscErrorCode TestAhead(const Problem *problem, PetscInt k, PCHJacobiSlabType type)
{
  const PetscInt all[3] = {32, 32, 32};
  SlabCase       c;
  HJSlabs        slabs;
  HJSlabsInfo    info;
  PetscBool      right = PETSC_TRUE;
  PetscInt       n = 0, thick = 0;
  char           why[256];

  PetscFunctionBegin;
  fake_count = k;
  PetscCall(SlabCaseCreate(problem, k, &c));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, all, &HJBackendHost, &HJHaloPetscSF, &c.op, why, sizeof(why)));
  for (PetscInt height = 2 * k + 1; height < 5 * k + 4; height++) {
    for (PetscInt times = 1; times <= 3; times++, n++) { /* the memory of 2 times as many planes as the height, to 10 times */
      const size_t limit = (size_t)(4 * times - 2) * (height + 6) * HJBoxSize(&c.op->grid.owned) / problem->n[problem->dim - 1] * 16 +
                           65536;

      PetscCall(HJSlabsCreate(c.op, &FakeOps, type == PC_HJACOBI_SLAB_PYRAMID ? 5 * limit : limit, type, height, &slabs));
      HJSlabsGetInfo(slabs, &info);
      thick = PetscMax(thick, info.plan->thickness);
      right = (PetscBool)(right && HJSlabsCanLookAhead(slabs, &c.w));
      if (right) PetscCall(CompareChecked(&c, slabs, 1 + n % 7, 1 + n % 6, PETSC_TRUE, &right));
      PetscCall(HJSlabsDestroy(&slabs));
    }
  }
  PetscCall(HJTestOK((PetscBool)(right && thick > 2), "ahead, %s, %dD k=%d: the norm of the coming cycle in %d plans, planes up to %d",
                     PCHJacobiSlabTypes[type], (int)problem->dim, (int)k, (int)n, (int)thick));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many rounds that planes come beyond 2^32 bytes of coordinates: places in rings are counted in 64 bits */
static PetscErrorCode TestFar(PCHJacobiSlabType type)
{
  const Problem  p       = {2, {40000, 2, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  const PetscInt tile[3] = {32, 32, 32};
  SlabCase       c;
  HJSlabs        slabs;
  HJSlabsInfo    info;
  PetscBool      same = PETSC_FALSE;
  PetscReal      diff = 0, round;
  PetscInt       rounds;
  char           why[256];

  PetscFunctionBegin;
  fake_count = 64;
  PetscCall(SlabCaseCreate(&p, 1, &c));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, tile, &HJBackendHost, &HJHaloPetscSF, &c.op, why, sizeof(why)));
  PetscCall(HJSlabsCreate(c.op, &FakeOps, (size_t)1 << 30, type, 4, &slabs));
  HJSlabsGetInfo(slabs, &info);
  round  = (PetscReal)info.shape->plane * HJSlabVisits(info.plan, 4) * info.plan->stride;
  rounds = (PetscInt)(4294967296.0 / round) + 10;
  PetscCall(CompareRuns(&c, slabs, 4 * rounds, PETSC_FALSE, &same, &diff));
  PetscCall(HJTestOK(same, "beyond 2^32 bytes, %s: %d rounds (%g)", PCHJacobiSlabTypes[type], (int)rounds, (double)diff));
  PetscCall(HJSlabsDestroy(&slabs));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the matrix: slabs of an operator follow */
static PetscErrorCode TestRefresh(Coefficient coefficient, PCHJacobiSlabType type)
{
  const Problem  p       = {3, {17, 14, 29}, DIRICHLET, coefficient, PETSC_FALSE};
  const PetscInt tile[3] = {32, 32, 32};
  HJOperator    *fresh;
  SlabCase       c;
  PetscBool      same = PETSC_FALSE, kept;
  PetscReal      diff = 0;
  char           why[256];

  PetscFunctionBegin;
  PetscCall(SlabCaseCreate(&p, 3, &c));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, tile, &HJBackendHost, &HJHaloPetscSF, &c.op, why, sizeof(why)));
  PetscCall(HJOperatorSetSlabs(c.op, &FakeOps, HJSlabsInCoreBytes(&c.op->grid, c.op->stencil) / 2 + 65536, type, PETSC_DECIDE));
  PetscCall(HJOperatorRun(c.op, &c.w, &(HJRun){.its = 5, .zero = PETSC_TRUE, .b = c.b, .x = c.x}));
  PetscCall(MatZeroEntries(c.A));
  PetscCall(ProblemFill(&p, c.da, 2, c.A));
  PetscCall(HJOperatorRefresh(c.op, c.A, &kept));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, tile, &HJBackendHost, &HJHaloPetscSF, &fresh, why, sizeof(why)));
  PetscCall(HJOperatorRun(c.op, &c.w, &(HJRun){.its = 5, .zero = PETSC_TRUE, .b = c.b, .x = c.x}));
  PetscCall(HJOperatorRun(fresh, &c.w, &(HJRun){.its = 5, .zero = PETSC_TRUE, .b = c.b, .x = c.y}));
  PetscCall(VecsAgree(c.x, c.y, 0, &same, &diff));
  PetscCall(
    HJTestOK((PetscBool)(same && kept && c.op->slabs), "new values, %s: slabs follow (%g)", CoefficientNames()[coefficient], (double)diff));
  PetscCall(HJOperatorDestroy(&c.op));
  PetscCall(HJOperatorDestroy(&fresh));
  PetscCall(
    HJTestOK((PetscBool)(!fake_used && !fake_pins), "new values, %s: the device's memory is given back", CoefficientNames()[coefficient]));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What cannot be swept in slabs, and why */
static PetscErrorCode TestRefuse(void)
{
  const Problem     problems[] = {{1, {37, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, {2, {37, 29, 1}, PERIODIC, CONSTANT, PETSC_FALSE}};
  const char *const words[]    = {"one direction", "exact mode"};
  const PetscInt    tile[3]    = {8, 8, 8};
  char              why[256];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    DM          da;
    Mat         A;
    HJOperator *op;

    PetscCall(ProblemCreate(&problems[i], &da, &A));
    PetscCall(HJOperatorCreate(A, da, i ? 4 : -1, tile, &HJBackendHost, &HJHaloPetscSF, &op, why, sizeof(why)));
    HJSlabsRefuse(op, why, sizeof(why));
    PetscCall(HJTestOK((PetscBool)(strstr(why, words[i]) != NULL), "refused: %s", why));
    PetscCall(HJOperatorDestroy(&op));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So few planes that slabs of them take more memory than the whole grid: the error names what that takes */
static PetscErrorCode TestFewPlanes(const Problem *problem, PCHJacobiSlabType type)
{
  const PetscInt tile[3] = {32, 32, 32};
  SlabCase       c;
  HJSlabs        slabs;
  char           why[256], bytes[64];
  size_t         whole;

  PetscFunctionBegin;
  PetscCall(SlabCaseCreate(problem, 1, &c));
  PetscCall(HJOperatorCreate(c.A, c.da, -1, tile, &HJBackendHost, &HJHaloPetscSF, &c.op, why, sizeof(why)));
  whole = HJSlabsInCoreBytes(&c.op->grid, c.op->stencil);
  PetscCall(PetscSNPrintf(bytes, sizeof(bytes), "needs %zu bytes", whole));
  ExpectError(HJSlabsCreate(c.op, &FakeOps, whole - 1, type, PETSC_DECIDE, &slabs), "few planes: slabs do not save memory", bytes,
              "the longest direction the slowest");
  PetscCall(HJSlabsDestroy(&slabs));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
/* The GPU with less and less memory beside the host, through the PC */
static PetscErrorCode TestGPU(const Problem *problem, PetscInt its, PetscBool few)
{
  const char *const limits[] = {"48M", "28M", "20M", "18M"}, *const types[] = {"auto", "pyramid", "pyramid", "skewed"};
  const size_t                nlimits = PETSC_STATIC_ARRAY_LENGTH(limits);
  DM                          da;
  Mat                         A;
  Vec                         b, x, y[2], work; /* y: of the host, from x and from zero */
  PC                          pc;
  PetscBool                   agree = PETSC_FALSE, slabs;
  PetscReal                   diff;
  PetscInt                    done;
  PCRichardsonConvergedReason reason;
  char                        options[128];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(problem, &da, &A));
  PetscCall(ProblemVectors(da, &b, &x, &work));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(CreatePC(da, A, "-pc_hjacobi_backend host -pc_hjacobi_device_memory 0", &pc));
  for (int zero = 0; zero < 2; zero++) {
    PetscCall(VecDuplicate(b, &y[zero]));
    PetscCall(ProblemVector(da, 2, y[zero]));
    PetscCall(PCApplyRichardson(pc, b, y[zero], work, 0, 0, 0, its, (PetscBool)zero, &done, &reason));
  }
  PetscCall(PCDestroy(&pc));
  for (size_t i = few ? 2 : 0; i < nlimits; i++) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_hjacobi_backend cuda -pc_hjacobi_device_memory %s -pc_hjacobi_slab_type %s",
                            limits[i], types[i]));
    PetscCall(CreatePC(da, A, options, &pc));
    for (int zero = 0; zero < 2; zero++) {
      PetscCall(ProblemVector(da, 2, x));
      PetscCall(PCApplyRichardson(pc, b, x, work, 0, 0, 0, its, (PetscBool)zero, &done, &reason));
      PetscCall(VecsAgree(x, y[zero], 64 * PETSC_MACHINE_EPSILON * its * 4, &agree, &diff));
      PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
      PetscCall(HJTestOK((PetscBool)(agree && slabs), "GPU, %s, %s: %dD %s %s, %d cycles%s (%g)", limits[i], types[i], (int)problem->dim,
                         problem->box ? "box" : "star", CoefficientNames()[problem->coefficient], (int)its, zero ? " from zero" : "",
                         (double)diff));
    }
    PetscCall(PCDestroy(&pc));
  }
  for (int zero = 0; zero < 2; zero++) PetscCall(VecDestroy(&y[zero]));
  PetscCall(HJTestDestroy(&b, &x, &work, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a solver whose stop test is the largest update, every third cycle: it stops where the host does, with the same x */
static PetscErrorCode TestSolve(const Problem *problem, const char *norm)
{
  DM        da;
  Mat       A;
  Vec       b, x[2];
  PetscInt  its[2];
  PetscBool agree = PETSC_FALSE, slabs;
  PetscReal diff;
  char      options[256];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(problem, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    KSP ksp;
    PC  pc;

    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "-ksp_type richardson -pc_type hjacobi -ksp_rtol 1e-2 -ksp_max_it 500 -pc_hjacobi_check_every 3 "
                            "-pc_hjacobi_check_norm %s -pc_hjacobi_backend %s -pc_hjacobi_device_memory %s",
                            norm, i ? "host" : "cuda", i ? "0" : "32M"));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPGetPC(ksp, &pc));
    if (!i) PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[0], x[1], 64 * PETSC_MACHINE_EPSILON * its[1] * 4, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && slabs && its[0] == its[1] && its[0] > 3 && its[0] < 500),
                     "GPU, solve until %s is small: %d cycles, host %d (%g)", norm, (int)its[0], (int)its[1], (double)diff));
  PetscCall(HJTestDestroy(&x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGPUs(PetscBool few)
{
  const Problem problems[] = {{3, {141, 130, 160}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {1501, 1602, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {3, {141, 130, 160}, IDENTITY, JUMP, PETSC_FALSE},
                              {3, {120, 100, 110}, DIRICHLET, VARYING, PETSC_FALSE},
                              {2, {1501, 1602, 1}, NEUMANN, VARYING, PETSC_TRUE},
                              {3, {120, 130, 150}, DIRICHLET, CONSTANT, PETSC_TRUE},
                              {2, {100000, 24, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, /* few planes, and large ones */
                              {3, {400, 330, 16}, DIRICHLET, CONSTANT, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    Problem p = problems[i];

    if (few) p.n[p.dim - 1] /= 2;
    PetscCall(TestGPU(&p, few ? 3 : 23, few));
  }
  if (few) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestSolve(&problems[0], "update_max"));
  PetscCall(TestSolve(&problems[1], "ksp"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  const Problem problems[] = {
    {2, {37, 61, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},  {2, {37, 61, 1}, IDENTITY, JUMP, PETSC_FALSE},
    {2, {37, 61, 1}, NEUMANN, VARYING, PETSC_TRUE},      {2, {600, 90, 1}, DIRICHLET, CONVECTION, PETSC_FALSE},
    {3, {17, 14, 29}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {17, 14, 29}, IDENTITY, JUMP, PETSC_TRUE},
    {3, {17, 14, 29}, NEUMANN, VARYING, PETSC_FALSE},    {3, {17, 14, 29}, DIRICHLET, CONVECTION, PETSC_TRUE},
    {3, {17, 14, 29}, DIRICHLET, VARYING, PETSC_TRUE},   {2, {1000, 13, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
    {3, {30, 20, 14}, NEUMANN, VARYING, PETSC_FALSE},
  };
  const Problem  thin[]      = {{2, {20000, 3, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {90, 80, 2}, NEUMANN, VARYING, PETSC_FALSE}};
  const PetscInt ks[]        = {1, 4, 7, 16, 3};
  char           backend[16] = "host";
  PetscBool      few         = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-few", &few, NULL)); /* for tools that make everything slow */
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(backend, "cuda")) {
    PetscCall(TestGPUs(few));
    return HJTestEnd();
  }
#endif
  PetscCall(TestModel());
  PetscCall(TestTypes());
  PetscCall(TestRefuse());
  fake_memory = (size_t)1 << 40;
  for (int i = PC_HJACOBI_SLAB_SKEWED; i <= PC_HJACOBI_SLAB_PYRAMID; i++) {
    const PCHJacobiSlabType type = (PCHJacobiSlabType)i;

    PetscCall(TestVisits(type));
    for (PetscInt k = 1; k <= 4; k++) PetscCall(TestAhead(&problems[k % 2 ? 4 : 2], k, type));
    if (type == PC_HJACOBI_SLAB_PYRAMID) PetscCall(TestFar(type)); /* coordinates grow with rounds and with visits */
    for (int j = 0; j < 2; j++) PetscCall(TestFewPlanes(&thin[j], type));
    PetscCall(TestRefresh(CONSTANT, type));
    PetscCall(TestRefresh(JUMP, type));
    PetscCall(TestRefresh(VARYING, type));
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(problems); j++) {
      const PetscInt k = type == PC_HJACOBI_SLAB_PYRAMID ? PetscMin(ks[j % 5], 3) : ks[j % 5];
      char           name[128];

      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %" PetscInt_FMT "D %s %s %s k=%" PetscInt_FMT, PCHJacobiSlabTypes[type],
                              problems[j].dim, problems[j].box ? "box" : "star", BoundaryNames()[problems[j].boundary],
                              CoefficientNames()[problems[j].coefficient], k));
      PetscCall(TestLimits(&problems[j], k, type, name));
    }
  }
  return HJTestEnd();
}
