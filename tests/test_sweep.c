/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A backend's sweep() against a plain loop over the definition in hjcore.h, exact and stale. Periodic grids: test_periodic.c; stale tiles
   that a GPU holds in registers: test_tiles.c.
   Run with -backend host (default) or cuda; -limits NAME plays a GPU of hjdevices.h.
   long: 1, once: 1
*/
#include "hjsweepcase.h"
#include "host/hjhostsweep.h"

/* Parts of x and b: the ghost planes below, the home, the ghost planes above; s reads them, x where it is not NULL there */
static PetscErrorCode PartsCreate(HJTester *t, const HJBox box[3], const HJField *x, const HJField *b, HJField fx[3], HJField fb[3],
                                  HJSweep *s)
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    PetscCall(FieldCreateFrom(t, x, &box[i], PETSC_TRUE, &fx[i]));
    PetscCall(FieldCreateFrom(t, b, &box[i], PETSC_TRUE, &fb[i]));
  }
  s->ghosts = PETSC_TRUE;
  s->b      = fb[1].dev;
  if (s->x) s->x = fx[1].dev;
  for (int side = 0; side < 2; side++) {
    s->xghost[side] = s->x ? fx[2 * side].dev : NULL;
    s->bghost[side] = fb[2 * side].dev;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartsDestroy(HJTester *t, HJField fx[3], HJField fb[3])
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    PetscCall(FieldDestroy(t, &fx[i]));
    PetscCall(FieldDestroy(t, &fb[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owned points in one sweep; x and b hold the planes of ybox, those below and above lie apart; the outer planes of y are copied */
static PetscErrorCode CheckGhosts(HJTester *t, const HJSweep *whole, const HJField *x, const HJField *b, const HJField *want, HJField *y,
                                  PetscReal *worst)
{
  const PetscInt d = t->st.dim - 1;
  HJSweep        s = *whole;
  HJField        fx[3], fb[3], copy[2], want_copy[2];
  HJBox          box[3] = {s.box, s.box, s.box};

  PetscFunctionBegin;
  if (!t->limits.ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  box[0].hi[d] = box[1].lo[d] = PetscMax(s.box.lo[d], s.ybox.lo[d]);
  box[2].lo[d] = box[1].hi[d] = PetscMin(s.box.hi[d], s.ybox.hi[d]);
  PetscCall(PartsCreate(t, box, x, b, fx, fb, &s));
  s.ncopies = PetscMin(s.count, HJBoxWidth(&s.write, d));
  for (int side = 0; side < 2 && t->limits.copies; side++) {
    HJBox planes = s.ybox;

    planes.lo[d] = side ? s.write.hi[d] - s.ncopies : s.write.lo[d];
    planes.hi[d] = planes.lo[d] + s.ncopies;
    PetscCall(FieldCreateFrom(t, want, &planes, PETSC_FALSE, &want_copy[side]));
    PetscCall(FieldCreatePoisoned(t, &planes, PETSC_TRUE, &copy[side]));
    s.copy[side] = copy[side].dev;
  }
  PetscCall(Poison(t, y));
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, s.count, want, y, worst));
  for (int side = 0; side < 2 && t->limits.copies; side++) {
    PetscCall(Compare(t, s.count, &want_copy[side], &copy[side], worst));
    PetscCall(FieldDestroy(t, &want_copy[side]));
    PetscCall(FieldDestroy(t, &copy[side]));
  }
  PetscCall(PartsDestroy(t, fx, fb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owned points in one sweep that writes to x itself, whose ghost planes lie apart */
static PetscErrorCode CheckGhostsInPlace(HJTester *t, PetscInt count, const HJField *x, const HJField *b, const HJField *want,
                                         PetscReal *worst)
{
  const PetscInt d      = t->st.dim - 1;
  HJSweep        s      = {.write = t->grid.owned, .ybox = t->grid.owned, .count = count, .w = t->w, .overlap = -1, .x = x->dev};
  HJBox          box[3] = {t->grid.owned, t->grid.owned, t->grid.owned};
  HJField        fx[3], fb[3], owned;

  PetscFunctionBegin;
  if (!t->limits.ghosts || count > t->limits.in_place) PetscFunctionReturn(PETSC_SUCCESS);
  for (int side = 0; side < 2; side++) {
    box[2 * side].lo[d] = side ? s.ybox.hi[d] : s.ybox.lo[d] - (t->grid.neighbor[d][0] ? count : 0);
    box[2 * side].hi[d] = side ? s.ybox.hi[d] + (t->grid.neighbor[d][1] ? count : 0) : s.ybox.lo[d];
  }
  s.box       = t->grid.owned;
  s.box.lo[d] = box[0].lo[d];
  s.box.hi[d] = box[2].hi[d];
  PetscCall(PartsCreate(t, box, x, b, fx, fb, &s));
  PetscCall(FieldCreateFrom(t, want, &s.write, PETSC_FALSE, &owned));
  s.y = fx[1].dev;
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, count, &owned, &fx[1], worst));
  PetscCall(PartsDestroy(t, fx, fb));
  PetscCall(FieldDestroy(t, &owned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether other ranks lie along the slowest direction alone */
static PetscBool IsCutIntoLines(const HJTester *t)
{
  PetscBool is = (PetscBool)(t->grid.min_width < PETSC_INT_MAX);

  for (int d = 0; d < t->st.dim - 1; d++) is = (PetscBool)(is && !t->grid.neighbor[d][0] && !t->grid.neighbor[d][1]);
  return is;
}

/* The owned points in one sweep, then with ghost arrays, then cut into three regions with arrays of their own */
static PetscErrorCode CheckExact(HJTester *t, PetscInt count, PetscBool zero, PetscReal *worst)
{
  const HJBox owned = t->grid.owned, need = Grown(t, owned, zero ? count - 1 : count, zero ? count - 1 : count),
              box  = Cut(Grown(t, owned, count + 1, count + 2), &t->grid.domain);
  const HJBox ybox = Grown(t, owned, 1, 2);
  HJField     x, b, y, want, fx[3], fb[3];
  HJSweep     s[3];
  PetscInt    cut[4] = {0, PetscMin(t->limits.slab[0], owned.hi[0] / 3), owned.hi[0] - owned.hi[0] / 4, owned.hi[0]};

  PetscFunctionBegin;
  cut[2] = PetscMax(cut[1], cut[2]);
  PetscCall(FieldCreate(t, &box, &need, &x));
  PetscCall(FieldCreate(t, &box, &need, &b));
  PetscCall(FieldCreatePoisoned(t, &ybox, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &ybox, PETSC_FALSE, &want));
  memset(s, 0, sizeof(s));
  s[0] = (HJSweep){.write   = owned,
                   .box     = box,
                   .ybox    = ybox,
                   .x       = zero ? NULL : x.dev,
                   .b       = b.dev,
                   .y       = y.dev,
                   .count   = count,
                   .w       = t->w,
                   .overlap = -1};
  PetscCall(Naive(t, s, &owned, &owned, PETSC_TRUE, zero ? NULL : &x, &b, &want));
  PetscCall(t->ops->sweep(t->ctx, 1, s));
  PetscCall(Compare(t, count, &want, &y, worst));
  PetscCall(CheckGhosts(t, s, &x, &b, &want, &y, worst));
  if (!zero && IsCutIntoLines(t)) PetscCall(CheckGhostsInPlace(t, count, &x, &b, &want, worst));
  PetscCall(Poison(t, &y));
  for (int r = 0; r < 3; r++) {
    HJBox part = owned, frame;

    part.lo[0] = cut[r];
    part.hi[0] = cut[r + 1];
    frame      = Grown(t, part, count, count);
    PetscCall(FieldCreateFrom(t, &x, &frame, PETSC_TRUE, &fx[r]));
    PetscCall(FieldCreateFrom(t, &b, &frame, PETSC_TRUE, &fb[r]));
    s[r]       = s[0];
    s[r].write = part;
    s[r].box   = frame;
    s[r].x     = zero ? NULL : fx[r].dev;
    s[r].b     = fb[r].dev;
  }
  PetscCall(t->ops->sweep(t->ctx, 3, s));
  PetscCall(Compare(t, count, &want, &y, worst));
  for (int r = 0; r < 3; r++) {
    PetscCall(FieldDestroy(t, &fx[r]));
    PetscCall(FieldDestroy(t, &fb[r]));
  }
  PetscCall(FieldDestroy(t, &x));
  PetscCall(FieldDestroy(t, &b));
  PetscCall(FieldDestroy(t, &y));
  PetscCall(FieldDestroy(t, &want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep that writes to the array that it reads; only for grids without neighbours */
static PetscErrorCode CheckInPlace(HJTester *t, PetscInt count, PetscReal *worst)
{
  const HJBox owned = t->grid.owned;
  HJField     x, b, y, want;
  HJSweep     s = {.write = owned, .box = owned, .ybox = owned, .count = count, .w = t->w, .overlap = -1};

  PetscFunctionBegin;
  PetscCall(FieldCreate(t, &owned, &owned, &x));
  PetscCall(FieldCreate(t, &owned, &owned, &b));
  PetscCall(FieldCreateFrom(t, &x, &owned, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &owned, PETSC_FALSE, &want));
  s.x = y.dev;
  s.b = b.dev;
  s.y = y.dev;
  PetscCall(Naive(t, &s, &owned, &owned, PETSC_TRUE, &x, &b, &want));
  PetscCall(CheckSweep(t, &s, &want, &y, worst));
  PetscCall(FieldDestroy(t, &x));
  PetscCall(FieldDestroy(t, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep from a zero guess of more subiterations than any other, where the backend has one */
static PetscErrorCode CheckMostFromZero(HJTester *t, PetscReal *worst)
{
  const PetscInt most = t->limits.from_zero;

  PetscFunctionBegin;
  if (most > t->limits.max_count && most <= max_count) PetscCall(CheckExact(t, most, PETSC_TRUE, worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts from 1 to max in steps */
static PetscErrorCode TestExact(const HJBackendOps *ops, const HJCase *c, PetscInt max, PetscInt step)
{
  HJTester  t;
  PetscReal worst = 0.0;
  PetscInt  count = 1;

  PetscFunctionBegin;
  if (!Wanted(c)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(ops, c, max, &t));
  if (t.limits.max_count <= step) step = 1;
  max = PetscMin(max, PetscMin(t.limits.max_count, max_count));
  for (; count <= max && worst <= 1.0; count += step) {
    PetscCall(CheckExact(&t, count, PETSC_FALSE, &worst));
    PetscCall(CheckExact(&t, count, PETSC_TRUE, &worst));
    if (t.grid.min_width == PETSC_INT_MAX && count <= t.limits.in_place) PetscCall(CheckInPlace(&t, count, &worst));
  }
  if (count > t.limits.max_count && worst <= 1.0) PetscCall(CheckMostFromZero(&t, &worst));
  if (worst > 1.0) PetscCall(HJTestNote("count %" PetscInt_FMT ", error / tolerance %g", count - step, (double)worst));
  PetscCall(HJTestOK((PetscBool)(worst <= 1.0),
                     "%s exact %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", beyond %" PetscInt_FMT
                     " %" PetscInt_FMT ", to k = %" PetscInt_FMT,
                     ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star",
                     c->rows < 0    ? "one mirrored row"
                     : c->rows == 1 ? "one row"
                     : c->rows == 2 ? "two rows"
                     : c->rows == 5 ? "random rows"
                     : c->rows == 9 ? "a frame"
                     : c->rows > 9  ? "materials"
                     : c->rows      ? "walls"
                                    : StorageNames[c->storage],
                     c->n[0], c->n[1], c->n[2], c->before[0], c->after[0], max));
  PetscCall(Destroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every shape and storage, with the end of the domain, another rank, a thin one, or a periodic image beyond each side */
static PetscErrorCode TestAll(const HJBackendOps *ops)
{
  const struct {
    PetscInt n[3], before[3], after[3];
  } places[3][4] = {
    {{{61, 1, 1}, {0, 0, 0}, {0, 0, 0}},
     {{40, 1, 1}, {30, 0, 0}, {3, 0, 0}},
     {{25, 1, 1}, {-1, 0, 0}, {-1, 0, 0}},
     {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}}},
    {{{37, 29, 1}, {0, 0, 0}, {0, 0, 0}},
     {{33, 26, 1}, {30, 0, 0}, {3, 40, 0}},
     {{23, 31, 1}, {-1, 2, 0}, {-1, 0, 0}},
     {{1, 43, 1}, {0, 0, 0}, {0, 21, 0}}},
    {{{17, 13, 11}, {0, 0, 0}, {0, 0, 0}},
     {{12, 9, 10}, {30, 0, 2}, {2, 30, 0}},
     {{9, 12, 8}, {-1, 0, -1}, {-1, 4, -1}},
     {{5, 1, 19}, {0, 0, 3}, {9, 0, 0}}},
  };
  const PetscInt steps[3] = {1, 1, 4};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int shape = 0; shape < (dim > 1 ? 2 : 1); shape++) {
      for (int storage = 0; storage < 3; storage++) {
        for (int place = 0; place < 4; place++) {
          HJCase         c       = {.storage = (HJStorage)storage, .shape = (HJShape)shape, .dim = dim};
          const PetscInt tile[3] = {8, 6, 7}, wide[3] = {32, 32, 32};

          for (int d = 0; d < 3; d++) {
            c.n[d]      = places[dim - 1][place].n[d];
            c.before[d] = places[dim - 1][place].before[d];
            c.after[d]  = places[dim - 1][place].after[d];
          }
          PetscCall(TestExact(ops, &c, HJ_TEST_MAX_COUNT, steps[dim - 1]));
          PetscCall(TestStale(ops, &c, tile, place % 2 ? 0 : 4));
          PetscCall(TestStale(ops, &c, wide, place % 2 ? 2 : 6));
          c.rows = 1;
          if (storage == HJ_DICTIONARY) PetscCall(TestExact(ops, &c, HJ_TEST_MAX_COUNT, steps[dim - 1]));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether of a line inside a frame the host reads what leads to other lines where the opposite coefficients lie, and, where it is long,
   what leads along it; not of the only line in 1D, before which there is nothing */
static PetscErrorCode CheckMirrors(const HJCase *c)
{
  const PetscInt p[3]     = {0, c->dim > 1 ? c->n[1] / 2 : 0, c->dim > 2 ? c->n[2] / 2 : 0};
  PetscInt       expected = 0, read = 0;
  HJTester       t;

  PetscFunctionBegin;
  PetscCall(Create(&HJBackendHost, c, 0, &t));
  for (PetscInt o = 1; o < t.st.nslots; o++) {
    const HJLineMirror *m = &((HJHost *)t.ctx)->mirrors[HJBoxIndex(&t.st.box, p[0], p[1], p[2]) / HJBoxWidth(&t.st.box, 0)];
    PetscInt            off[3];

    HJShapeOffset(c->dim, c->shape, o, off);
    if (HJShapeIsUpper(c->dim, c->shape, o) || c->dim == 1) continue;
    expected += !off[0] || (!off[1] && !off[2] && c->n[0] >= 64);
    read += m->slots >> o & 1;
  }
  PetscCall(Destroy(&t));
  PetscCall(
    HJTestOK((PetscBool)(read == expected), "host reads %" PetscInt_FMT " of %" PetscInt_FMT " where the opposite lie", read, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Large enough for several blocks or chunks in each direction */
static PetscErrorCode TestLarge(const HJBackendOps *ops)
{
  const HJCase large[] = {
    {HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {0, 0, 0}, {50, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {300, 517, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {1030, 90, 1}, {-1, 0, 0}, {-1, 30, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {517, 420, 1}, {0, 20, 0}, {0, 33, 0}, 1},
    {HJ_DICTIONARY, HJ_BOX, 2, {300, 217, 1}, {0, 0, 0}, {0, 20, 0}, 1},
    {HJ_VARIABLE, HJ_STAR, 2, {300, 217, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_VARIABLE, HJ_STAR, 2, {300, 217, 1}, {0, 30, 0}, {0, 20, 0}, 0},
    {HJ_SYMMETRIC, HJ_STAR, 2, {517, 120, 1}, {0, 40, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_BOX, 2, {300, 217, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 70, 33}, {0, 20, 0}, {0, 0, 20}, 0},
    {HJ_VARIABLE, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_SYMMETRIC, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_BOX, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 70, 33}, {0, 0, 0}, {0, 0, 0}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 75, 40}, {0, 20, 0}, {0, 0, 20}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {58, 45, 80}, {-1, 0, 10}, {-1, 3, 2}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {100, 75, 40}, {0, 20, 0}, {0, 0, 20}, 2},
    {HJ_DICTIONARY, HJ_STAR, 3, {95, 70, 45}, {0, 0, 0}, {0, 3, 0}, 2},
    {HJ_DICTIONARY, HJ_STAR, 3, {129, 75, 50}, {0, 0, 0}, {0, 0, 9}, 6},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 75, 40}, {-1, 0, 0}, {-1, 3, 0}, 2},
  };
  const PetscInt tile[3] = {32, 32, 32};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(large); i++) {
    PetscCall(TestExact(ops, &large[i], 12, large[i].dim == 3 ? 7 : 5));
    if (large[i].dim < 3) PetscCall(TestStale(ops, &large[i], tile, 8));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of points that keep the columns of known ones at the domain's ends. The host reads half of them, on all lines but those at ends */
static PetscErrorCode TestFrames(const HJBackendOps *ops)
{
  const HJCase frames[] = {
    {HJ_VARIABLE, HJ_STAR, 1, {700, 1, 1}, {0, 0, 0}, {0, 0, 0}, 9},    {HJ_VARIABLE, HJ_STAR, 2, {131, 37, 1}, {0, 0, 0}, {0, 0, 0}, 9},
    {HJ_VARIABLE, HJ_STAR, 2, {21, 37, 1}, {0, 0, 0}, {0, 0, 0}, 9},    {HJ_VARIABLE, HJ_STAR, 2, {90, 37, 1}, {0, 9, 0}, {30, 0, 0}, 9},
    {HJ_VARIABLE, HJ_BOX, 2, {131, 37, 1}, {0, 0, 0}, {0, 0, 0}, 9},    {HJ_VARIABLE, HJ_STAR, 3, {71, 20, 18}, {0, 0, 0}, {0, 0, 0}, 9},
    {HJ_VARIABLE, HJ_STAR, 3, {71, 20, 18}, {0, 9, 0}, {30, 0, 12}, 9}, {HJ_VARIABLE, HJ_BOX, 3, {71, 20, 18}, {0, 0, 0}, {0, 0, 0}, 9},
    {HJ_VARIABLE, HJ_STAR, 3, {640, 12, 10}, {0, 0, 0}, {0, 0, 0}, 9},
  };
  const PetscInt tile[3] = {32, 32, 32};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(frames); i++) {
    PetscCall(TestExact(ops, &frames[i], 8, 3));
    if (frames[i].dim < 3) PetscCall(TestStale(ops, &frames[i], tile, 8));
    if (ops == &HJBackendHost) PetscCall(CheckMirrors(&frames[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2D grids that a GPU cuts into patches, of each shape, whose last ones begin at even and odd points, and in the middle of others */
static PetscErrorCode TestPatches(const HJBackendOps *ops)
{
  const PetscInt rows[] = {9, 1, 2}, n[][2] = {{32, 33}, {65, 65}, {130, 67}, {141, 143}, {64, 320}, {257, 210}, {316, 317}, {64, 1600}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(n); i++) {
    for (size_t k = 0; k < (i < 3 ? PETSC_STATIC_ARRAY_LENGTH(rows) : 1); k++) {
      const HJCase c = {HJ_DICTIONARY, HJ_STAR, 2, {n[i][0], n[i][1], 1}, {0, 0, 0}, {0, 0, 0}, rows[k]};

      PetscCall(TestExact(ops, &c, 16, i < 3 ? 1 : 5));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Grids that the CUDA backend streams: it takes smaller ones as a whole. Few counts each, the loop over the definition
   is slow; on the host these say no more than TestLarge(), and run in the long run alone
*/
static PetscErrorCode TestStreams(const HJBackendOps *ops)
{
  const struct {
    HJCase   c;
    PetscInt max, step;
  } streams[] = {
    {{HJ_DICTIONARY, HJ_STAR, 2, {700, 310, 1}, {0, 20, 0}, {0, 0, 0}, 1}, 8, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 6}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {901, 700, 1}, {0, 30, 0}, {0, 9, 0}, 6}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 0}, 8, 7},
    {{HJ_DICTIONARY, HJ_BOX, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 6}, 4, 3},
    {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {0, 0, 0}, {0, 0, 0}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {0, 0, 0}, {0, 0, 0}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {61, 33, 21}, {-1, 0, 10}, {-1, 3, 2}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {56, 35, 19}, {0, -1, 1}, {30, -1, 0}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {3, 70, 40}, {0, 2, 0}, {0, 0, 5}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {75, 66, 2}, {0, 0, 9}, {4, 0, 9}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {129, 75, 50}, {0, 0, 0}, {0, 0, 9}, 2}, 2, 1},
    {{HJ_VARIABLE, HJ_STAR, 3, {103, 75, 41}, {0, 20, 0}, {0, 0, 20}, 0}, 3, 1},
    {{HJ_VARIABLE, HJ_STAR, 3, {67, 51, 97}, {-1, 0, 0}, {-1, 4, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {67, 51, 97}, {0, 0, 0}, {0, 0, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {103, 75, 41}, {-1, 0, 5}, {-1, 0, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {201, 131, 29}, {0, 0, 4}, {0, 0, 0}, 0}, 3, 2},
    {{HJ_VARIABLE, HJ_BOX, 3, {167, 151, 40}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 1},
    {{HJ_SYMMETRIC, HJ_BOX, 3, {103, 105, 93}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 1},
    {{HJ_SYMMETRIC, HJ_BOX, 3, {3, 530, 630}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 2},
    /* more planes than a launch has blocks in y */
    {{HJ_DICTIONARY, HJ_STAR, 3, {3, 2, 70000}, {0, 0, 0}, {0, 0, 0}, 6}, 3, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {3, 2, 70000}, {0, 0, 3}, {0, 0, 0}, 1}, 3, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {3, 2, 70000}, {0, 0, 0}, {0, 0, 0}, 6}, 2, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {901, 600, 1}, {0, 0, 0}, {0, 0, 0}, 10}, 8, 3},
    {{HJ_DICTIONARY, HJ_STAR, 2, {700, 603, 1}, {-1, 0, 0}, {-1, 0, 0}, 10}, 7, 3},
    {{HJ_DICTIONARY, HJ_STAR, 2, {680, 617, 1}, {30, 21, 0}, {3, 40, 0}, 40}, 10, 9},
    {{HJ_DICTIONARY, HJ_STAR, 2, {645, 611, 1}, {0, 0, 0}, {0, 0, 0}, 5}, 8, 7},
    {{HJ_DICTIONARY, HJ_BOX, 2, {700, 600, 1}, {0, 0, 0}, {0, 0, 0}, 10}, 5, 2},
    {{HJ_DICTIONARY, HJ_BOX, 2, {650, 617, 1}, {30, 21, 0}, {9, 40, 0}, 40}, 6, 5},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(streams); i++) PetscCall(TestExact(ops, &streams[i].c, streams[i].max, streams[i].step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Small 3D grids (or the largest of them), sweeps of many lengths in turn with the same backend: what one leaves behind must not be taken
   for the next one's
*/
static PetscErrorCode TestSmall(const HJBackendOps *ops, PetscBool largest)
{
  const PetscInt counts[]   = {2, HJ_TEST_LONGEST, 3, 8, 5},
                 sizes[][3] = {{17, 17, 17}, {33, 33, 33}, {31, 45, 18}, {1, 40, 33}, {19, 1, 1}, {2, 9, 35}, {65, 65, 65}};
  const struct {
    HJStorage storage;
    HJShape   shape;
  } kinds[] = {{HJ_DICTIONARY, HJ_STAR}, {HJ_DICTIONARY, HJ_BOX}, {HJ_VARIABLE, HJ_BOX}, {HJ_SYMMETRIC, HJ_BOX}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
      HJCase    c = {.storage = kinds[k].storage, .shape = kinds[k].shape, .dim = 3};
      HJTester  t;
      PetscReal worst = 0.0;

      for (int d = 0; d < 3; d++) c.n[d] = sizes[i][d];
      if (!Wanted(&c) || largest != (PetscBool)(c.n[0] == 65)) continue;
      /* arrays: larger ones say more of a GPU alone, which takes these as a whole too */
      if (c.storage != HJ_DICTIONARY && c.n[0] * c.n[1] * c.n[2] > (ops == &HJBackendHost ? 10000 : 40000)) continue;
      PetscCall(Create(ops, &c, 0, &t));
      for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(counts); j++) {
        const PetscInt count = PetscMin(counts[j], PetscMin(t.limits.max_count, c.n[0] * c.n[1] * c.n[2] > 100000 ? 8 : max_count * 2));

        PetscCall(CheckExact(&t, count, PETSC_FALSE, &worst));
        PetscCall(CheckExact(&t, count, PETSC_TRUE, &worst));
        if (count <= t.limits.in_place) PetscCall(CheckInPlace(&t, count, &worst));
      }
      PetscCall(HJTestOK((PetscBool)(worst <= 1.0),
                         "%s exact 3D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " in turn, at most %" PetscInt_FMT
                         " subiterations",
                         ops->name, c.shape == HJ_BOX ? "box" : "star", StorageNames[c.storage], c.n[0], c.n[1], c.n[2],
                         PetscMin(HJ_TEST_LONGEST, t.limits.max_count)));
      PetscCall(Destroy(&t));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values with so many distinct rows, most points with the first one */
static PetscErrorCode NewRows(HJTester *t, PetscInt nrows)
{
  HJStencil       *st    = &t->st;
  const PetscInt   width = st->nslots;
  const PetscCount n     = HJBoxSize(&st->box);

  PetscFunctionBegin;
  PetscCall(PetscFree3(st->rows, st->dinv_rows, st->index));
  PetscCall(PetscCalloc3(nrows * width, &st->rows, nrows, &st->dinv_rows, n, &st->index));
  st->nrows = nrows;
  for (PetscInt r = 0; r < nrows; r++) {
    st->rows[r * width] = 1.0;
    st->dinv_rows[r]    = Random(t, 0.5, 1.0);
    for (PetscInt o = 1; o < width; o++) st->rows[r * width + o] = Random(t, -1.0, 0.2) / width;
  }
  for (PetscCount i = 0; i < n; i++)
    st->index[i] = (unsigned char)(i < nrows ? i : Random(t, 0.0, 1.0) < 0.05 ? (PetscInt)Random(t, 0.0, (PetscReal)nrows) : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same grid, with more rows and fewer: kernels and limits are chosen again. 256 rows leave no number for points
   without one */
static PetscErrorCode TestRefresh(const HJBackendOps *ops)
{
  const HJCase   cases[] = {{HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 3, {103, 75, 41}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_BOX, 3, {103, 75, 41}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 3, {33, 33, 33}, {0, 0, 0}, {0, 0, 0}, 2}};
  const PetscInt rows[]  = {1, 255, 256, 9};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJTester  t;
    PetscReal worst = 0.0;

    if (!Wanted(&cases[i])) continue;
    PetscCall(Create(ops, &cases[i], 4, &t));
    PetscCall(CheckExact(&t, PetscMin(2, t.limits.max_count), PETSC_FALSE, &worst));
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(rows); j++) {
      PetscCall(NewRows(&t, rows[j]));
      PetscCall(ops->refresh(t.ctx, &t.st));
      PetscCall(ops->limits(t.ctx, &t.limits));
      PetscCall(CheckExact(&t, PetscMin(2, t.limits.max_count), PETSC_FALSE, &worst));
      PetscCall(CheckExact(&t, PetscMin(3, t.limits.max_count), PETSC_TRUE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
    PetscCall(HJTestOK((PetscBool)(worst <= 1.0), "%s refreshed %" PetscInt_FMT "D %s: 2, 1, 255, 256, 9 rows", ops->name, cases[i].dim,
                       cases[i].shape == HJ_BOX ? "box" : "star"));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values whose interfaces lie elsewhere: every point takes the row of the one that is so far from it */
static PetscErrorCode MoveRows(HJTester *t, PetscInt far)
{
  const HJBox   *box  = &t->st.box;
  PetscInt       p[3] = {box->lo[0], box->lo[1], box->lo[2]}, q[3];
  unsigned char *index;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(HJBoxSize(box), &index));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p)) {
    for (int d = 0; d < 3; d++) q[d] = PetscMin(p[d] + (d < t->st.dim ? far : 0), box->hi[d] - 1);
    index[i] = t->st.index[HJBoxIndex(box, q[0], q[1], q[2])];
  }
  PetscCall(PetscArraycpy(t->st.index, index, HJBoxSize(box)));
  PetscCall(PetscFree(index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a backend keeps of where rows change is made again for new values */
static PetscErrorCode TestMoved(const HJBackendOps *ops)
{
  const HJCase   cases[] = {{HJ_DICTIONARY, HJ_STAR, 2, {901, 600, 1}, {0, 3, 0}, {0, 0, 0}, 10},
                            {HJ_DICTIONARY, HJ_BOX, 2, {700, 603, 1}, {-1, 0, 0}, {-1, 0, 0}, 10}};
  const PetscInt far[]   = {0, 1, 3, 40};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJTester  t;
    PetscReal worst = 0.0;

    if (!Wanted(&cases[i])) continue;
    PetscCall(Create(ops, &cases[i], 4, &t));
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(far); j++) {
      PetscCall(MoveRows(&t, far[j]));
      PetscCall(ops->refresh(t.ctx, &t.st));
      PetscCall(CheckExact(&t, PetscMin(3, t.limits.max_count), PETSC_FALSE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
    PetscCall(
      HJTestOK((PetscBool)(worst <= 1.0), "%s refreshed 2D %s: interfaces move", ops->name, cases[i].shape == HJ_BOX ? "box" : "star"));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops = NULL;
  PetscBool           only_long;
  int                 failed;

  PetscCall(SweepBegin(&argc, &argv, &ops));
  PetscCall(HJTestLong(&only_long));
  if (ops && !only_long) {
    PetscCall(TestAll(ops));
    PetscCall(TestLarge(ops));
    PetscCall(TestFrames(ops));
    PetscCall(TestPatches(ops));
    PetscCall(TestSmall(ops, PETSC_FALSE));
  }
  if (ops && (only_long || ops != &HJBackendHost)) {
    PetscCall(TestStreams(ops));
    PetscCall(TestRefresh(ops));
    PetscCall(TestMoved(ops));
    PetscCall(TestSmall(ops, PETSC_TRUE));
  }
  failed = ops ? HJTestDone() : 0;
  PetscCall(PetscFinalize());
  return failed;
}
