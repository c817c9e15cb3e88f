/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A backend's sweep() on periodic grids against a plain loop over the definition in hjcore.h.
   Run with -backend host (default) or cuda; -limits NAME plays a GPU of hjdevices.h.
   once: 1
*/
#include "hjsweepcase.h"

/* Fills the points of a larger box with those of from that are as far inside the other end of periodic directions, all around */
static PetscErrorCode FieldCreateAround(HJTester *t, const HJField *from, const HJBox *box, HJField *f)
{
  PetscInt p[3] = HJ_TEST_FIRST(box);

  PetscFunctionBegin;
  f->box = *box;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  PetscCall(t->ops->alloc(t->ctx, HJBoxSize(box), &f->dev));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p)) {
    PetscInt q[3];

    for (int d = 0; d < 3; d++) q[d] = p[d] + (p[d] < 0 ? t->grid.N[d] : p[d] >= t->grid.N[d] ? -t->grid.N[d] : 0);
    f->host[i] = from->host[HJBoxIndex(&from->box, q[0], q[1], q[2])];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank that is its own neighbour: x and b hold the owned points alone, and are their own ghosts */
static PetscErrorCode CheckWraps(HJTester *t, PetscInt count, PetscBool zero, PetscReal *worst)
{
  const PetscInt   last  = t->st.dim - 1;
  const HJBox      owned = t->grid.owned, around = HJGridPadded(&t->grid, count);
  const PetscCount plane = HJBoxSize(&owned) / HJBoxWidth(&owned, (int)last);
  HJField          x, b, y, want, xaround, baround;
  HJSweep          s = {.write = owned, .box = owned, .ybox = owned, .count = count, .w = t->w, .overlap = -1};

  PetscFunctionBegin;
  PetscCall(FieldCreate(t, &owned, &owned, &x));
  PetscCall(FieldCreate(t, &owned, &owned, &b));
  PetscCall(FieldCreate(t, &owned, &owned, &y));
  PetscCall(FieldCreate(t, &owned, &owned, &want));
  PetscCall(FieldCreateAround(t, &x, &around, &xaround));
  PetscCall(FieldCreateAround(t, &b, &around, &baround));
  PetscCall(Poison(t, &y));
  s.x      = zero ? NULL : x.dev;
  s.b      = b.dev;
  s.y      = y.dev;
  s.ghosts = t->grid.periodic[last];
  for (int d = 0; d < last; d++) s.wraps[d] = t->grid.periodic[d];
  if (s.ghosts) {
    s.box.lo[last] -= count;
    s.box.hi[last] += count;
    s.bghost[0] = s.b + HJBoxSize(&owned) - count * plane;
    s.bghost[1] = s.b;
    s.xghost[0] = zero ? NULL : s.x + HJBoxSize(&owned) - count * plane;
    s.xghost[1] = s.x;
  }
  PetscCall(Naive(t, &s, &owned, &owned, PETSC_TRUE, zero ? NULL : &xaround, &baround, &want));
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, count, &want, &y, worst));
  if (!zero && count <= t->limits.in_place) {
    s.y = x.dev;
    PetscCall(t->ops->sweep(t->ctx, 1, &s));
    PetscCall(Compare(t, count, &want, &x, worst));
  }
  for (int i = 0; i < 6; i++) PetscCall(FieldDestroy(t, (HJField *[]){&x, &b, &y, &want, &xaround, &baround}[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the limits of what kernels take; subiterations at most, and from one count to the next */
static const struct {
  HJCase   c;
  PetscInt max, step;
} grids[] = {
  {{HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 20, 19},
  {{HJ_DICTIONARY, HJ_STAR, 1, {19, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 0}, 19, 6},
  {{HJ_DICTIONARY, HJ_STAR, 1, {1, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 1, 1},
  {{HJ_VARIABLE, HJ_STAR, 2, {37, 29, 1}, {0, -1, 0}, {0, -1, 0}, 0}, 15, 2},
  {{HJ_DICTIONARY, HJ_BOX, 2, {29, 3, 1}, {0, -1, 0}, {0, -1, 0}, 0}, 3, 1},
  {{HJ_SYMMETRIC, HJ_BOX, 3, {17, 13, 11}, {0, 0, -1}, {0, 0, -1}, 0}, 7, 2},
  {{HJ_DICTIONARY, HJ_STAR, 3, {17, 13, 1}, {0, 0, -1}, {0, 0, -1}, 1}, 1, 1},
  {{HJ_VARIABLE, HJ_STAR, 2, {37, 29, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 15, 2},
  {{HJ_DICTIONARY, HJ_STAR, 2, {7, 9, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 7, 1},
  {{HJ_DICTIONARY, HJ_BOX, 2, {200, 190, 1}, {-1, 0, 0}, {-1, 0, 0}, 9}, 20, 6},
  {{HJ_SYMMETRIC, HJ_BOX, 2, {256, 250, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 16, 3},
  {{HJ_VARIABLE, HJ_BOX, 2, {1, 30, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 1, 1},
  {{HJ_VARIABLE, HJ_BOX, 3, {17, 13, 11}, {-1, -1, -1}, {-1, -1, -1}, 0}, 8, 1},
  {{HJ_SYMMETRIC, HJ_STAR, 3, {30, 27, 33}, {-1, -1, 0}, {-1, -1, 0}, 0}, 8, 3},
  {{HJ_VARIABLE, HJ_STAR, 3, {3, 27, 4}, {-1, 0, -1}, {-1, 0, -1}, 0}, 3, 1},
  {{HJ_DICTIONARY, HJ_STAR, 2, {700, 310, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 10, 3},
  {{HJ_DICTIONARY, HJ_STAR, 2, {448, 450, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 10, 9},
  {{HJ_DICTIONARY, HJ_STAR, 2, {309, 700, 1}, {0, -1, 0}, {0, -1, 0}, 1}, 10, 9},
  {{HJ_DICTIONARY, HJ_STAR, 2, {128, 1800, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 8, 7},
  {{HJ_DICTIONARY, HJ_STAR, 2, {151, 1400, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 8, 7},
  {{HJ_DICTIONARY, HJ_STAR, 2, {5, 40100, 1}, {0, -1, 0}, {0, -1, 0}, 1}, 8, 7},
  {{HJ_DICTIONARY, HJ_STAR, 2, {40100, 5, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 5, 2},
  {{HJ_DICTIONARY, HJ_STAR, 2, {200100, 1, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 1, 1},
  {{HJ_DICTIONARY, HJ_STAR, 2, {901, 700, 1}, {0, -1, 0}, {0, -1, 0}, 10}, 6, 5},
  {{HJ_DICTIONARY, HJ_STAR, 2, {640, 1000, 1}, {0, -1, 0}, {0, -1, 0}, 6}, 6, 5},
  {{HJ_DICTIONARY, HJ_STAR, 2, {130, 5000, 1}, {0, -1, 0}, {0, -1, 0}, 5}, 6, 5},
  {{HJ_DICTIONARY, HJ_BOX, 2, {700, 310, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 6, 5},
  {{HJ_DICTIONARY, HJ_BOX, 2, {700, 900, 1}, {0, -1, 0}, {0, -1, 0}, 10}, 5, 4},
  {{HJ_VARIABLE, HJ_STAR, 2, {517, 420, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 6, 5},
  {{HJ_SYMMETRIC, HJ_STAR, 2, {517, 420, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 8, 7},
  {{HJ_SYMMETRIC, HJ_STAR, 2, {517, 420, 1}, {-1, 0, 0}, {-1, 0, 0}, 0}, 8, 7},
  {{HJ_DICTIONARY, HJ_STAR, 3, {32, 32, 32}, {-1, -1, -1}, {-1, -1, -1}, 1}, 9, 4},
  {{HJ_DICTIONARY, HJ_STAR, 3, {64, 62, 66}, {-1, -1, -1}, {-1, -1, -1}, 1}, 5, 2},
  {{HJ_DICTIONARY, HJ_STAR, 3, {8, 8, 8}, {-1, -1, -1}, {-1, -1, -1}, 1}, 8, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {7, 2, 5}, {-1, -1, -1}, {-1, -1, -1}, 1}, 2, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {24, 20, 13}, {-1, -1, -1}, {-1, -1, -1}, 9}, 8, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {33, 20, 17}, {-1, 0, -1}, {-1, 0, -1}, 5}, 8, 3},
  {{HJ_DICTIONARY, HJ_STAR, 3, {16, 21, 30}, {0, -1, 0}, {0, -1, 0}, 1}, 8, 3},
  {{HJ_DICTIONARY, HJ_STAR, 3, {16, 21, 3}, {0, 0, -1}, {0, 0, -1}, 1}, 3, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {64, 70, 75}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {160, 16, 120}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {70, 38, 50}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {66, 269, 40}, {-1, -1, -1}, {-1, -1, -1}, 2}, 4, 3},
  {{HJ_DICTIONARY, HJ_STAR, 3, {130, 77, 33}, {-1, 0, 0}, {-1, 0, 0}, 1}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {75, 130, 33}, {0, -1, 0}, {0, -1, 0}, 1}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {75, 130, 33}, {0, 0, -1}, {0, 0, -1}, 1}, 4, 3},
  {{HJ_DICTIONARY, HJ_STAR, 3, {240, 330, 4}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 3},
  {{HJ_DICTIONARY, HJ_STAR, 3, {97, 81, 45}, {-1, -1, -1}, {-1, -1, -1}, 0}, 4, 1},
  {{HJ_DICTIONARY, HJ_STAR, 3, {97, 81, 45}, {-1, -1, 0}, {-1, -1, 0}, 2}, 4, 1},
  {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {-1, -1, -1}, {-1, -1, -1}, 1}, 2, 1},
  {{HJ_DICTIONARY, HJ_BOX, 3, {64, 16, 300}, {-1, -1, -1}, {-1, -1, -1}, -1}, 2, 1},
};

/*
   Periodic grids of one rank, in every direction and in some, at the limits of what kernels take. Those whose sweeps this backend does not
   wrap are left out: on the host that is 1D alone
*/
static PetscErrorCode TestPeriodic(const HJBackendOps *ops)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(grids); i++) {
    const HJCase   *c     = &grids[i].c;
    const PetscBool wants = (PetscBool)(ops->wraps_coefficients && c->dim > 1);
    HJTester        t;
    PetscReal       worst = 0.0;
    PetscInt        max, count = 1;

    if (!Wanted(c)) continue;
    PetscCall(Create(ops, c, grids[i].max, &t));
    max = PetscMin(grids[i].max, PetscMin(t.limits.max_count, max_count));
    for (; count <= max && t.limits.wraps && worst <= 1.0; count += grids[i].step) {
      PetscCall(CheckWraps(&t, count, PETSC_FALSE, &worst));
      PetscCall(CheckWraps(&t, count, PETSC_TRUE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("count %" PetscInt_FMT ", error / tolerance %g", count - grids[i].step, (double)worst));
    if (t.limits.wraps || wants)
      PetscCall(HJTestOK((PetscBool)(t.limits.wraps && worst <= 1.0),
                         "%s wraps %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " rows, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                         ", periodic %d %d %d, to k = %" PetscInt_FMT,
                         ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star", StorageNames[c->storage], t.st.nrows, c->n[0], c->n[1],
                         c->n[2], t.grid.periodic[0], t.grid.periodic[1], t.grid.periodic[2], max));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops = NULL;
  int                 failed;

  PetscCall(SweepBegin(&argc, &argv, &ops));
  if (ops) PetscCall(TestPeriodic(ops));
  failed = ops ? HJTestDone() : 0;
  PetscCall(PetscFinalize());
  return failed;
}
