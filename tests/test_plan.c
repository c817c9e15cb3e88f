/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Plans: tiles own every point once, values inside a tile stay fresh as long as the definition says, passes add up, regions cover the
   owned points. once: 1
*/
#include "hjtest.h"
#include "plan/hjplan.h"

/* Neighbours by a bit for each side, -x +x -y +y -z +z */
static HJGrid Grid(PetscInt dim, const PetscInt n[], unsigned sides, PetscInt min_width)
{
  HJGrid g;

  memset(&g, 0, sizeof(g));
  g.dim       = dim;
  g.dof       = 1;
  g.min_width = sides ? min_width : PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) {
    g.N[d]           = d < dim ? n[d] + 200 : 1;
    g.owned.lo[d]    = 0;
    g.owned.hi[d]    = d < dim ? n[d] : 1;
    g.neighbor[d][0] = (PetscBool)(d < dim && (sides >> (2 * d) & 1));
    g.neighbor[d][1] = (PetscBool)(d < dim && (sides >> (2 * d + 1) & 1));
    g.domain.lo[d]   = g.neighbor[d][0] ? -100 : 0;
    g.domain.hi[d]   = g.owned.hi[d] + (g.neighbor[d][1] ? 100 : 0);
  }
  return g;
}

static HJSweep Line(PetscInt n, PetscInt tile, PetscInt overlap, PetscInt lo, PetscInt hi)
{
  HJSweep s;

  for (int d = 0; d < 3; d++) s.write.lo[d] = 0, s.write.hi[d] = 1, s.tile[d] = 1;
  s.write.hi[0] = n;
  s.cover       = s.write;
  s.cover.lo[0] -= lo;
  s.cover.hi[0] += hi;
  s.tile[0] = tile;
  s.overlap = overlap;
  return s;
}

/* Each point owned once, by a tile that has it at least overlap/2 + 1 from the ring where that is not the domain's end */
static PetscBool TilesRight(const HJSweep *s, PetscInt lo_end, PetscInt hi_end)
{
  const PetscInt count = HJTileCount(HJBoxWidth(&s->cover, 0), s->tile[0], s->overlap);
  PetscInt       next  = s->write.lo[0];

  for (PetscInt t = 0; t < count; t++) {
    PetscInt lo, hi, own_lo, own_hi;

    HJTileRange(s, 0, t, &lo, &hi, &own_lo, &own_hi);
    if (own_lo != next || own_hi <= own_lo || lo > own_lo || hi < own_hi || hi - lo > s->tile[0]) return PETSC_FALSE;
    if (lo != lo_end && own_lo - lo < s->overlap / 2) return PETSC_FALSE;
    if (hi != hi_end && hi - own_hi < s->overlap / 2) return PETSC_FALSE;
    if (t && lo != s->cover.lo[0] + t * (s->tile[0] - s->overlap)) return PETSC_FALSE;
    next = own_hi;
  }
  return (PetscBool)(next == s->write.hi[0]);
}

static PetscErrorCode TestTiles(void)
{
  const PetscInt tiles[] = {1, 2, 3, 4, 5, 7, 8, 16, 32, 64};

  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
    PetscInt wrong = 0, layouts = 0;

    for (PetscInt overlap = 0; overlap < tiles[i]; overlap += 2) {
      for (PetscInt n = 1; n <= 150; n++) {
        for (int sides = 0; sides < 4; sides++) {
          const PetscInt lo = sides & 1 ? overlap / 2 : 0, hi = sides & 2 ? overlap / 2 : 0;
          const HJSweep  s = Line(n, tiles[i], overlap, lo, hi);

          layouts++;
          wrong += !TilesRight(&s, sides & 1 ? -1000 : 0, sides & 2 ? 1000 : n);
        }
      }
    }
    PetscCall(
      HJTestOK((PetscBool)!wrong, "tile %d: each point owned once, overlap/2 from the ring, %d layouts", (int)tiles[i], (int)layouts));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Islam & Wang 2020: N points take (N - o)/(tpb - o) blocks in a direction, (9) and (15); 2D is the product, (16) */
static PetscErrorCode TestTileCounts(void)
{
  PetscBool line = PETSC_TRUE, plane = PETSC_TRUE, cut = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt o = 0; o <= 30; o += 2) {
    for (PetscInt blocks = 1; blocks < 40; blocks++) {
      const PetscInt N = 32 + (blocks - 1) * (32 - o), Ny = 16 + (blocks + 1) * (16 - o % 16);

      line  = (PetscBool)(line && HJTileCount(N, 32, o) == (N - o) / (32 - o));
      cut   = (PetscBool)(cut && HJTileCount(N + 1, 32, o) == blocks + 1);
      plane = (PetscBool)(plane && HJTileCount(N, 32, o) * HJTileCount(Ny, 16, o % 16) == blocks * (Ny - o % 16) / (16 - o % 16));
    }
  }
  PetscCall(HJTestOK(line, "tiles of a line as in equation (9)"));
  PetscCall(HJTestOK(plane, "tiles of a plane as in equation (16)"));
  PetscCall(HJTestOK(cut, "one point more takes one tile more"));
  PetscCall(HJTestOK((PetscBool)(HJTileCount(1024, 32, 0) == 32 && HJTileCount(1024, 32, 8) == 43),
                     "1024 points, tile 32: 32 tiles without overlap, 43 with 8"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k Jacobi subiterations of -x'' = 1 on the points [lo, hi), zero outside [0, n); x has one place more on each side */
static void Subiterate(PetscInt k, PetscInt lo, PetscInt hi, const PetscReal from[], PetscReal x[], PetscReal next[], PetscInt fresh,
                       PetscReal *wrong, const PetscReal *const global[])
{
  for (PetscInt i = lo - 1; i <= hi; i++) x[i + 1] = next[i + 1] = from[i + 1];
  for (PetscInt j = 1; j <= k; j++) {
    for (PetscInt i = lo; i < hi; i++) next[i + 1] = (1 + x[i] + x[i + 2]) / 2;
    for (PetscInt i = lo; i < hi; i++) x[i + 1] = next[i + 1];
    for (PetscInt i = lo; i < hi && global; i++)
      if (PetscMin(i - lo, hi - 1 - i) + 1 >= j + fresh) *wrong = PetscMax(*wrong, PetscAbsReal(x[i + 1] - global[j][i + 1]));
  }
}

/* A point at distance i inside its tile equals global Jacobi's through subiteration i (bitwise), and no longer */
static PetscErrorCode TestFreshness(void)
{
  enum { n = 90, k = 6 };
  PetscReal        store[k + 1][n + 2], x[n + 2], next[n + 2], start[n + 2], fresh = 0, stale = 0, exact = 0, below = 0;
  const PetscReal *global[k + 1];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n + 2; i++) start[i] = i > 0 && i <= n ? PetscSinReal((PetscReal)(i * i)) : 0;
  for (PetscInt j = 0; j <= k; j++) {
    Subiterate(j, 0, n, start, store[j], next, 0, NULL, NULL);
    global[j] = store[j];
  }
  for (PetscInt overlap = 2 * (k - 2); overlap <= 2 * (k - 1); overlap += 2) {
    const HJSweep s = Line(n, 20, overlap, 0, 0);

    for (PetscInt t = 0; t < HJTileCount(n, 20, overlap); t++) {
      PetscInt lo, hi, own_lo, own_hi;

      HJTileRange(&s, 0, t, &lo, &hi, &own_lo, &own_hi);
      Subiterate(k, lo, hi, start, x, next, 0, &fresh, global);
      Subiterate(k, lo, hi, start, x, next, -1, &stale, global);
      for (PetscInt i = own_lo; i < own_hi; i++) {
        PetscReal *worst = overlap == 2 * (k - 1) ? &exact : &below;

        *worst = PetscIsInfOrNanReal(x[i + 1]) ? PETSC_INFINITY : PetscMax(*worst, PetscAbsReal(x[i + 1] - store[k][i + 1]));
      }
    }
  }
  PetscCall(HJTestOK((PetscBool)(fresh == 0), "a point at distance i is exact through subiteration i"));
  PetscCall(HJTestOK((PetscBool)(stale > 1e-3), "and not through i + 1"));
  PetscCall(HJTestOK((PetscBool)(exact == 0), "overlap 2 (k - 1) makes the cycle exact"));
  PetscCall(HJTestOK((PetscBool)(below > 1e-3), "overlap 2 (k - 2) does not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool PassesRight(const HJGrid *g, const HJLimits *lim, const HJPlan *plan)
{
  PetscInt next = 0, most = 0, least = PETSC_INT_MAX;

  for (PetscInt p = 0; p < plan->npasses; p++) {
    const HJPass pass = HJPlanGetPass(plan, p);

    if (pass.first != next || pass.count > lim->max_count || pass.count < 1) return PETSC_FALSE;
    next += pass.count;
    most  = PetscMax(most, pass.count);
    least = PetscMin(least, pass.count);
  }
  if (next != plan->total || most - least > 1) return PETSC_FALSE;
  if (g->min_width == PETSC_INT_MAX) return (PetscBool)(plan->depth == 0);
  return (PetscBool)(plan->depth == most && most <= g->min_width && most - 1 <= HJPlanPad(g, -1));
}

static PetscErrorCode TestExactPasses(void)
{
  const PetscInt n[] = {64, 64, 64}, limits[][2] = {{1, 1}, {4, 4}, {12, 8}, {16, 16}, {64, 24}, {PETSC_INT_MAX, PETSC_INT_MAX}};
  PetscInt       wrong = 0, copies = 0, plans = 0;

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (PetscInt min_width = 0; min_width <= 40; min_width += min_width < 8 ? 1 : 8) { /* 0: no neighbours */
      const HJGrid g = Grid(dim, n, min_width ? 1 : 0, min_width);

      for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
        for (PetscInt total = 1; total <= 80; total++) {
          const HJLimits lim = {.max_count = limits[l][0], .best_count = limits[l][1], .slab = {32, 1, 1}};
          HJPlan         plan, zero;

          HJPlanFill(&g, &lim, total % 4 ? total : 4, total % 4 ? 1 : total / 4, -1, PETSC_FALSE, &plan);
          HJPlanFill(&g, &lim, total, 1, -1, PETSC_TRUE, &zero);
          plans += 2;
          wrong += !PassesRight(&g, &lim, &plan) || !PassesRight(&g, &lim, &zero);
          /* an odd number only where one pass less would be too long */
          if (plan.npasses > 1 && plan.npasses % 2) {
            const PetscInt longest = PetscMin(lim.max_count,
                                              g.min_width == PETSC_INT_MAX ? PETSC_INT_MAX : PetscMin(g.min_width, HJPlanPad(&g, -1) + 1));

            copies += (total + plan.npasses - 2) / (plan.npasses - 1) <= longest;
          }
        }
      }
    }
  }
  PetscCall(HJTestOK((PetscBool)!wrong, "exact passes add up, are balanced, within limits, halo and coefficients: %d plans", (int)plans));
  PetscCall(HJTestOK((PetscBool)!copies, "an odd number of passes only where an even one would be too long"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPlans(void)
{
  const PetscInt n[]    = {512, 512, 512};
  const HJLimits lim    = {.max_count = 12, .best_count = 8, .slab = {32, 1, 1}},
                 chip   = {.max_count = PETSC_INT_MAX, .best_count = PETSC_INT_MAX, .slab = {32, 1, 1}},
                 here   = {.max_count = 12, .best_count = 8, .slab = {32, 1, 1}, .in_place = 4},
                 ghosts = {.max_count = 12, .best_count = 8, .slab = {32, 1, 1}, .in_place = 4, .ghosts = PETSC_TRUE};
  const HJGrid one = Grid(2, n, 0, 0), many = Grid(2, n, 0xf, 500), lines = Grid(2, n, 0xc, 512), thin = Grid(3, n, 1, 1);
  HJPlan       plan;
  PetscBool    ok = PETSC_TRUE;

  PetscFunctionBegin;
  HJPlanFill(&one, &chip, 4, 50, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 1 && HJPlanGetPass(&plan, 0).count == 200), "a grid that fits on chip takes one pass"));
  HJPlanFill(&one, &lim, 4, 1, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 1 && HJPlanBytes(&one, &plan, 1) == 512. * 512 * (5 * sizeof(PetscScalar) + 1)),
                     "k = 4: one pass and a copy, 5 numbers and a byte a point"));
  HJPlanFill(&one, &here, 4, 1, -1, PETSC_FALSE, &plan);
  PetscCall(
    HJTestOK((PetscBool)(plan.npasses == 1 && plan.in_place && HJPlanBytes(&one, &plan, 1) == 512. * 512 * (3 * sizeof(PetscScalar) + 1)),
             "k = 4 in place: one pass, 3 numbers and a byte a point"));
  HJPlanFill(&one, &here, 5, 1, -1, PETSC_FALSE, &plan);
  ok = (PetscBool)!plan.in_place;
  HJPlanFill(&many, &here, 4, 1, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(ok && !plan.in_place), "not in place: too long a pass, or neighbours without ghost arrays"));
  HJPlanFill(&lines, &ghosts, 4, 1, -1, PETSC_FALSE, &plan);
  ok = plan.in_place;
  HJPlanFill(&many, &ghosts, 4, 1, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(ok && !plan.in_place), "in place with ghost arrays, where the slowest direction alone is cut"));
  ok = PETSC_TRUE;
  HJPlanFill(&one, &lim, 4, 1, -1, PETSC_TRUE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 1 && HJPlanBytes(&one, &plan, 1) == 512. * 512 * (2 * sizeof(PetscScalar) + 1)),
                     "k = 4, zero guess: one pass, 2 numbers and a byte a point"));
  HJPlanFill(&one, &lim, 4, 5, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 2 && HJPlanBytes(&one, &plan, 1) == 512. * 512 * 2 * (3 * sizeof(PetscScalar) + 1)),
                     "20 subiterations: two passes of 10 rather than three and a copy"));
  HJPlanFill(&one, &lim, 4, 5, -1, PETSC_TRUE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 3 && HJPlanGetPass(&plan, 0).count == 7 && HJPlanGetPass(&plan, 2).count == 6),
                     "20 subiterations, zero guess: 7, 7, 6"));
  HJPlanFill(&many, &chip, 4, 50, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.depth <= HJPlanPad(&many, -1) + 1 && plan.npasses == 12),
                     "neighbours bound the passes: %d of depth %d", (int)plan.npasses, (int)plan.depth));
  HJPlanFill(&thin, &lim, 4, 2, -1, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.npasses == 8 && plan.depth == 1), "ranks one point wide: passes of one"));
  HJPlanFill(&many, &lim, 16, 3, 4, PETSC_FALSE, &plan);
  for (PetscInt p = 0; p < 3; p++) ok = (PetscBool)(ok && HJPlanGetPass(&plan, p).first == 16 * p && HJPlanGetPass(&plan, p).count == 16);
  PetscCall(HJTestOK((PetscBool)(ok && plan.npasses == 3 && plan.depth == 3 && HJPlanPad(&many, 4) == 3),
                     "stale: a pass a cycle, halo overlap/2 + 1"));
  HJPlanFill(&one, &lim, 16, 3, 4, PETSC_FALSE, &plan);
  PetscCall(HJTestOK((PetscBool)(plan.depth == 0 && HJPlanPad(&one, 4) == 0 && HJPlanPad(&one, -1) == 0), "no neighbours: no halo"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool TakesPasses(const HJGrid *grid, const HJLimits *lim, PetscInt total, PetscBool zero_guess, PetscInt npasses,
                             PetscBool in_place)
{
  HJPlan plan;

  HJPlanFill(grid, lim, total, 1, -1, zero_guess, &plan);
  return (PetscBool)(plan.npasses == npasses && plan.in_place == in_place);
}

/* As many points, and limits, as a grid in 2D with several rows has on an H200: 6 subiterations are best, 8 may be */
static PetscErrorCode TestLonger(void)
{
  const PetscInt n[]   = {512, 512, 512};
  const HJGrid   one   = Grid(2, n, 0, 0);
  const HJLimits lim   = {.max_count = 8, .best_count = 6, .slab = {32, 1, 1}, .in_place = 6},
                 small = {.max_count = 8, .best_count = 6, .slab = {32, 1, 1}};

  PetscFunctionBegin;
  PetscCall(HJTestOK(TakesPasses(&one, &lim, 16, PETSC_FALSE, 3, PETSC_TRUE), "16: 6, 5 and 5 in place rather than two of 8"));
  PetscCall(HJTestOK(TakesPasses(&one, &small, 16, PETSC_FALSE, 2, PETSC_FALSE), "two of 8 where the last of three would not be in place"));
  PetscCall(HJTestOK(TakesPasses(&one, &lim, 14, PETSC_FALSE, 2, PETSC_FALSE), "14: two of 7, hardly longer than the best"));
  PetscCall(HJTestOK(TakesPasses(&one, &lim, 8, PETSC_FALSE, 2, PETSC_FALSE), "8: two of 4, for one would end in a copy"));
  PetscCall(HJTestOK(TakesPasses(&one, &lim, 8, PETSC_TRUE, 1, PETSC_FALSE), "8, zero guess: one"));
  PetscCall(HJTestOK(TakesPasses(&one, &lim, 16, PETSC_TRUE, 3, PETSC_FALSE), "16, zero guess: 6, 5, 5"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths of the passes from a zero guess whose first subiteration may be one of its own */
static PetscBool Begins(PetscInt best, PetscInt total, PetscBool neighbors, const char lengths[])
{
  const PetscInt n[]   = {64, 64, 64};
  const HJGrid   grid  = Grid(3, n, neighbors ? 1 : 0, neighbors ? 64 : 0);
  const HJLimits lim   = {.max_count = best, .best_count = best, .slab = {32, 1, 1}};
  char           s[64] = "";
  PetscCount     next  = 0;
  HJPlan         plan;

  HJPlanFill(&grid, &lim, total, 1, -1, PETSC_TRUE, &plan);
  HJPlanBeginPointwise(&grid, &lim, &plan);
  for (PetscCount p = 0; p < plan.npasses; p++) {
    const HJPass pass = HJPlanGetPass(&plan, p);

    if (pass.first != next) return PETSC_FALSE;
    next += pass.count;
    s[p] = (char)('0' + pass.count);
  }
  return (PetscBool)(next == total && !strcmp(s, lengths));
}

static PetscErrorCode TestPointwise(void)
{
  PetscFunctionBegin;
  PetscCall(HJTestOK((PetscBool)(Begins(2, 3, PETSC_FALSE, "12") && Begins(2, 5, PETSC_FALSE, "122") && Begins(4, 9, PETSC_FALSE, "144")),
                     "the first subiteration from zero is a pass of its own where the others are whole passes"));
  PetscCall(HJTestOK((PetscBool)(Begins(3, 5, PETSC_FALSE, "32") && Begins(4, 10, PETSC_FALSE, "433") && Begins(2, 4, PETSC_FALSE, "22") &&
                                 Begins(4, 4, PETSC_FALSE, "4") && Begins(1, 3, PETSC_FALSE, "111") && Begins(2, 1, PETSC_FALSE, "1")),
                     "not where they would need as many"));
  PetscCall(HJTestOK((PetscBool)(Begins(2, 3, PETSC_TRUE, "21") && Begins(2, 5, PETSC_TRUE, "221")), "nor where there are neighbours"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More subiterations than 32 bits count: the passes still add up */
static PetscErrorCode TestMany(void)
{
  const PetscInt   n[] = {512, 512, 512}, its = 1 << 22, k = 1024, counts[] = {1, 12, PETSC_INT_MAX};
  const PetscCount all   = (PetscCount)1 << 32;
  PetscInt         wrong = 0;

  PetscFunctionBegin;
  for (int neighbors = 0; neighbors < 2; neighbors++) {
    for (int i = 0; i < 3; i++) {
      const HJGrid   g   = Grid(2, n, neighbors ? 0xf : 0, 500);
      const HJLimits lim = {.max_count = counts[i], .best_count = counts[i], .slab = {32, 1, 1}};

      for (int overlap = PETSC_DECIDE; overlap <= 4; overlap += 5) {
        HJPlan plan;
        HJPass last;

        HJPlanFill(&g, &lim, k, its, overlap, PETSC_FALSE, &plan);
        last = HJPlanGetPass(&plan, plan.npasses - 1);
        wrong += plan.total != all || last.first + last.count != all || plan.npasses < its / 64 || last.count < 1;
        wrong += HJPlanGetPass(&plan, 0).count > HJ_MAX_PASS || HJPlanGetPass(&plan, plan.npasses / 2).first <= all / 3;
        wrong += !(HJPlanBytes(&g, &plan, 1) > 512. * 512 * 3 * sizeof(PetscScalar) * plan.npasses);
      }
    }
  }
  PetscCall(HJTestOK((PetscBool)!wrong, "2^22 cycles of 1024: passes add up to 2^32 subiterations, none is endless"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Inside(const HJBox *a, const HJBox *b)
{
  for (int d = 0; d < 3; d++)
    if (a->lo[d] < b->lo[d] || a->hi[d] > b->hi[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscBool RegionsRight(const HJGrid *g, const HJPlan *plan, const HJRegions *r, unsigned char seen[])
{
  const HJBox padded = HJGridPadded(g, plan->depth);
  PetscCount  size   = 0;

  if (r->n < 1 || r->n > HJ_MAX_REGIONS) return PETSC_FALSE;
  for (PetscCount i = 0; i < HJBoxSize(&g->owned); i++) seen[i] = 0;
  for (PetscInt q = 0; q < r->n; q++) {
    const HJBox w = r->write[q], grown = HJGridGrow(g, &w, plan->depth);

    if (HJBoxEmpty(&w) || !Inside(&w, &g->owned) || !Inside(&grown, &r->box[q]) || !Inside(&r->box[q], &padded)) return PETSC_FALSE;
    if (!r->framed[q] &&
        (q || !Inside(&g->owned, &r->box[q]) || !Inside(&r->box[q], &g->owned) || 2 * HJBoxSize(&w) < HJBoxSize(&g->owned)))
      return PETSC_FALSE;
    if (r->framed[q] && r->offset[q] != size) return PETSC_FALSE;
    if (r->framed[q]) size += HJBoxSize(&r->box[q]);
    for (PetscInt k = w.lo[2]; k < w.hi[2]; k++)
      for (PetscInt j = w.lo[1]; j < w.hi[1]; j++)
        for (PetscInt i = w.lo[0]; i < w.hi[0]; i++)
          if (seen[HJBoxIndex(&g->owned, i, j, k)]++) return PETSC_FALSE;
  }
  for (PetscCount i = 0; i < HJBoxSize(&g->owned); i++)
    if (!seen[i]) return PETSC_FALSE;
  return (PetscBool)(size == r->size);
}

static PetscErrorCode TestRegions(void)
{
  const PetscInt       sizes[][3] = {{1, 1, 1}, {3, 40, 7}, {17, 5, 30}, {40, 40, 40}, {64, 33, 20}};
  static unsigned char seen[64 * 64 * 64];

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    PetscInt wrong = 0, split = 0, cases = 0;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
      for (unsigned sides = 0; sides < 1u << (2 * dim); sides++) {
        for (PetscInt depth = 1; depth <= 6; depth += 2) {
          const HJGrid   g   = Grid(dim, sizes[s], sides, 64);
          const HJLimits lim = {.max_count = depth, .best_count = depth, .slab = {cases % 40, cases % 23, 1}};
          HJPlan         plan;
          HJRegions      r;

          HJPlanFill(&g, &lim, depth, 1, -1, PETSC_FALSE, &plan);
          HJPlanRegions(&g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
          wrong += !RegionsRight(&g, &plan, &r, seen);
          split += r.n > 1;
          HJPlanFill(&g, &lim, depth, 1, 2 * (depth - 1), PETSC_FALSE, &plan);
          HJPlanRegions(&g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
          wrong += !RegionsRight(&g, &plan, &r, seen) || r.n != 1 || r.framed[0] != (sides != 0);
          cases += 2;
        }
      }
    }
    PetscCall(HJTestOK((PetscBool)(!wrong && split > 0),
                       "%dD: regions partition the owned points, arrays hold all that is read: %d cases, %d split", (int)dim, (int)cases,
                       (int)split));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place, with ghost planes, where neighbours lie across the slowest direction alone; else as without */
static PetscBool GhostsRight(const HJGrid *g, const HJPlan *plan, const HJRegions *r)
{
  const PetscInt d      = g->dim - 1;
  const HJBox    padded = HJGridPadded(g, plan->depth);
  PetscBool      strip  = PETSC_TRUE;

  for (int i = 0; i < d; i++) strip = (PetscBool)(strip && !g->neighbor[i][0] && !g->neighbor[i][1]);
  if (!strip || g->min_width == PETSC_INT_MAX || plan->overlap >= 0) return (PetscBool)!r->ghosts;
  if (!r->ghosts || r->n != 1 || r->framed[0] || !Inside(&padded, &r->box[0]) || !Inside(&r->box[0], &padded)) return PETSC_FALSE;
  for (int side = 0; side < 2; side++) {
    HJBox want = g->owned;

    want.lo[d] = side ? g->owned.hi[d] : padded.lo[d];
    want.hi[d] = side ? padded.hi[d] : 0;
    if (!Inside(&want, &r->ghost[side]) || !Inside(&r->ghost[side], &want)) return PETSC_FALSE;
  }
  return (PetscBool)(r->size == HJBoxSize(&padded) - HJBoxSize(&g->owned));
}

static PetscErrorCode TestGhosts(void)
{
  const PetscInt n[] = {12, 9, 7};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    PetscInt wrong = 0, with = 0;

    for (unsigned sides = 0; sides < 1u << (2 * dim); sides++) {
      for (PetscInt depth = 1; depth <= 7; depth += 2) {
        const HJGrid   g   = Grid(dim, n, sides, 7);
        const HJLimits lim = {.max_count = depth, .best_count = depth, .slab = {1, 1, 1}, .ghosts = PETSC_TRUE};
        HJPlan         plan;
        HJRegions      r;

        HJPlanFill(&g, &lim, depth, 1, -1, PETSC_FALSE, &plan);
        HJPlanRegions(&g, &plan, lim.slab, PETSC_TRUE, PETSC_FALSE, &r);
        wrong += !GhostsRight(&g, &plan, &r);
        with += r.ghosts;
        HJPlanFill(&g, &lim, depth, 1, 2, PETSC_FALSE, &plan);
        HJPlanRegions(&g, &plan, lim.slab, PETSC_TRUE, PETSC_FALSE, &r);
        wrong += !GhostsRight(&g, &plan, &r);
      }
    }
    PetscCall(HJTestOK((PetscBool)(!wrong && with == 12), "%dD: ghost planes of ranks cut across the slowest direction alone: %d cases",
                       (int)dim, (int)with));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One rank, periodic in the directions of a mask: one region in place, whose ghost planes are in no buffer. Not where another rank lies in
   some direction, and not stale
*/
static PetscErrorCode TestWraps(void)
{
  const PetscInt n[] = {12, 9, 7};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    const PetscInt last  = dim - 1;
    PetscInt       wrong = 0;

    for (unsigned mask = 1; mask < 1u << dim; mask++) {
      const HJLimits lim   = {5, 5, {1, 1, 1}, .in_place = 5, .ghosts = PETSC_TRUE, .wraps = PETSC_TRUE};
      unsigned       sides = 0;
      HJGrid         g;
      HJPlan         plan;
      HJRegions      r;
      HJBox          want;

      for (PetscInt d = 0; d < dim; d++) sides |= (mask >> d & 1) * 3u << (2 * d);
      g = Grid(dim, n, sides, 7);
      for (PetscInt d = 0; d < dim; d++) {
        g.N[d]        = n[d];
        g.periodic[d] = (PetscBool)(mask >> d & 1);
      }
      want = g.owned;
      if (g.periodic[last]) want.lo[last] -= 5, want.hi[last] += 5;
      HJPlanFill(&g, &lim, 5, 1, -1, PETSC_FALSE, &plan);
      HJPlanRegions(&g, &plan, lim.slab, PETSC_TRUE, PETSC_TRUE, &r);
      wrong += !plan.in_place || !r.wraps || r.n != 1 || r.framed[0] || r.size || r.ghosts != g.periodic[last] ||
               !Inside(&want, &r.box[0]) || !Inside(&r.box[0], &want) || !Inside(&g.owned, &r.write[0]) || !Inside(&r.write[0], &g.owned);
      HJPlanRegions(&g, &plan, lim.slab, PETSC_TRUE, PETSC_FALSE, &r);
      wrong += r.wraps;
      HJPlanFill(&g, &lim, 5, 1, 2, PETSC_FALSE, &plan);
      HJPlanRegions(&g, &plan, lim.slab, PETSC_TRUE, PETSC_TRUE, &r);
      wrong += r.wraps;
      HJPlanFill(&g, &lim, 5, 1, -1, PETSC_FALSE, &plan);
      for (PetscInt d = 0; d < dim; d++) {
        HJGrid other = g;

        other.N[d]++; /* which another rank has */
        other.neighbor[d][1] = PETSC_TRUE;
        HJPlanRegions(&other, &plan, lim.slab, PETSC_TRUE, PETSC_TRUE, &r);
        wrong += r.wraps;
      }
    }
    PetscCall(HJTestOK((PetscBool)!wrong, "%dD: a rank that is its own neighbour needs no halo, others do", (int)dim));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRegionShapes(void)
{
  const PetscInt n[] = {256, 256, 256}, narrow[] = {256, 256, 20};
  HJGrid         g   = Grid(3, n, 0x3f, 256);
  const HJLimits lim = {.max_count = 4, .best_count = 4, .slab = {24, 1, 1}};
  HJPlan         plan;
  HJRegions      r;

  PetscFunctionBegin;
  HJPlanFill(&g, &lim, 4, 1, -1, PETSC_FALSE, &plan);
  HJPlanRegions(&g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
  PetscCall(HJTestOK((PetscBool)(r.n == 7 && !r.framed[0] && HJBoxWidth(&r.write[1], 2) == 4 && HJBoxWidth(&r.write[1], 0) == 256 &&
                                 HJBoxWidth(&r.write[5], 0) == 24),
                     "six neighbours: an interior and six slabs, those in x as wide as asked for"));
  g = Grid(3, narrow, 0x30, 20);
  HJPlanFill(&g, &lim, 4, 1, -1, PETSC_FALSE, &plan);
  HJPlanRegions(&g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
  PetscCall(HJTestOK((PetscBool)(r.n == 3 && !r.framed[0]), "two neighbours: an interior and two slabs"));
  g.owned.hi[2] = 11;
  HJPlanRegions(&g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
  PetscCall(HJTestOK((PetscBool)(r.n == 1 && r.framed[0]), "thinner than three slabs: one framed region"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestTiles());
  PetscCall(TestTileCounts());
  PetscCall(TestFreshness());
  PetscCall(TestExactPasses());
  PetscCall(TestPlans());
  PetscCall(TestLonger());
  PetscCall(TestPointwise());
  PetscCall(TestMany());
  PetscCall(TestRegions());
  PetscCall(TestGhosts());
  PetscCall(TestWraps());
  PetscCall(TestRegionShapes());
  return HJTestEnd();
}
