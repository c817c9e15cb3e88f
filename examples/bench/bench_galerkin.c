/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rates of a backend's Galerkin product alone, for whoever tunes kernels: coefficient arrays of a grid to those of the next coarser
   one, and down a whole hierarchy. A few coarse points are checked against the definition first.
     bench_galerkin -backend host|cuda -dim 2 -n 4097 -shape star|box -reps 5
*/
#include "core/hjgalerkin.h"
#include "host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif
#include "report.h"

static const char *const ShapeTypes[] = {"star", "box", "HJShape", "HJ_", NULL};

#define GALERKIN_LEVELS 16

typedef struct {
  const HJBackendOps *ops;
  PetscInt            nlevels; /* products */
  HJTransfer          t[GALERKIN_LEVELS];
  HJShell             shell[GALERKIN_LEVELS];
  HJCoefficients      a[GALERKIN_LEVELS + 1]; /* from the finest on, in the backend's memory */
} Galerkin;

static void GalerkinGrid(PetscInt dim, PetscInt n, HJGrid *grid)
{
  *grid = (HJGrid){.dim = dim, .dof = 1, .min_width = PETSC_INT_MAX};
  for (int d = 0; d < 3; d++) grid->N[d] = grid->owned.hi[d] = grid->domain.hi[d] = d < dim ? n : 1;
}

/* An entry of the finest matrix, any number: a sum of parts of coordinates, 0 where it leads outside the domain */
static PetscScalar GalerkinEntry(const HJCoefficients *a, const HJGrid *grid, PetscInt slot, const PetscInt p[3])
{
  PetscInt off[3];

  HJSlotOffset(a, slot, off);
  for (int d = 0; d < 3; d++)
    if (p[d] < 0 || p[d] >= grid->N[d] || p[d] + off[d] < 0 || p[d] + off[d] >= grid->N[d]) return 0.0;
  return (slot ? -1.0 : 2.0 * a->nslots) * (1.0 + 0.0625 * ((7 * p[0] + 13 * p[1] + 29 * p[2] + 5 * slot) & 15));
}

static PetscErrorCode GalerkinFill(Galerkin *g)
{
  HJCoefficients *a    = &g->a[0];
  const HJGrid   *grid = &g->t[0].fine;
  PetscScalar    *host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(a->npoints, &host));
  for (PetscInt slot = 0; slot < a->nslots; slot++) {
    PetscCount at = 0;

    for (PetscInt k = 0; k < grid->N[2]; k++) {
      for (PetscInt j = 0; j < grid->N[1]; j++) {
        for (PetscInt i = 0; i < grid->N[0]; i++) host[at++] = GalerkinEntry(a, grid, slot, (PetscInt[3]){i, j, k});
      }
    }
    PetscCall(g->ops->copy(NULL, a->value + slot * a->npoints, host, a->npoints));
  }
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GalerkinCreate(const HJBackendOps *ops, PetscInt dim, PetscInt n, HJShape shape, Galerkin *g)
{
  PetscFunctionBegin;
  memset(g, 0, sizeof(*g));
  g->ops = ops;
  for (PetscInt l = 0; l < GALERKIN_LEVELS && n > 4; l++, n = (n + 1) / 2) {
    HJTransfer *t = &g->t[l];

    PetscCheck(n % 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-n must be a power of 2 and 1 more");
    GalerkinGrid(dim, n, &t->fine);
    GalerkinGrid(dim, (n + 1) / 2, &t->coarse);
    t->points = t->fine.domain;
    for (int d = 0; d < 3; d++) t->factor[d] = d < dim ? 2 : 1;
    HJGalerkinShellSet(t, &g->shell[l]);
    g->nlevels = l + 1;
  }
  for (PetscInt l = 0; l <= g->nlevels; l++) {
    HJCoefficients *a = &g->a[l];

    a->dim     = dim;
    a->shape   = dim == 1 ? HJ_STAR : l ? HJ_BOX : shape;
    a->nslots  = HJShapeSlots(dim, a->shape);
    a->storage = HJ_COEFFICIENTS_ARRAYS;
    a->npoints = HJBoxSize(l ? &g->t[l - 1].coarse.owned : &g->t[0].fine.owned);
    a->mtype   = ops->mtype;
    PetscCall(ops->alloc(NULL, a->nslots * a->npoints, &a->value));
  }
  PetscCall(GalerkinFill(g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GalerkinDestroy(Galerkin *g)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l <= g->nlevels; l++) PetscCall(g->ops->free(NULL, &g->a[l].value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GalerkinRun(const Galerkin *g, PetscInt nlevels)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < nlevels; l++) {
    HJGalerkin p = {.t = &g->t[l], .shell = &g->shell[l], .fine = &g->a[l], .coarse = g->a[l + 1].value};

    PetscCall(g->ops->multigrid->galerkin(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry of the first coarse matrix by the definition */
static PetscScalar GalerkinNaive(const Galerkin *g, const PetscInt at[3], const int c[3])
{
  const HJTransfer *t   = &g->t[0];
  PetscScalar       sum = 0.0;

  for (int q = 0; q < 27; q++) {
    const int      p[3]    = {q % 3 - 1, q / 3 % 3 - 1, q / 9 - 1};
    const PetscInt fine[3] = {t->factor[0] * at[0] + p[0], t->factor[1] * at[1] + p[1], t->factor[2] * at[2] + p[2]};

    for (PetscInt slot = 0; slot < g->a[0].nslots; slot++) {
      PetscReal w = 1.0;
      PetscInt  off[3];

      HJSlotOffset(&g->a[0], slot, off);
      for (int d = 0; d < 3; d++) {
        const HJGalerkinEnds  ends  = HJGalerkinEndsOf(t, d);
        const HJGalerkinSides sides = HJGalerkinSidesAt(&ends, at[d]);

        w *= HJGalerkinCoefficient(&sides, p[d], (int)off[d], c[d]);
      }
      if (w != 0.0) sum += w * GalerkinEntry(&g->a[0], &t->fine, slot, fine);
    }
  }
  return sum;
}

static PetscErrorCode GalerkinCheck(const Galerkin *g)
{
  const PetscInt *n = g->t[0].coarse.N;

  PetscFunctionBegin;
  for (int i = 0; i < 27; i++) {
    const PetscInt at[3] = {(i % 3) * (n[0] - 1) / 2, (i / 3 % 3) * (n[1] - 1) / 2, (i / 9) * (n[2] - 1) / 2};

    for (int code = 0; code < (int)HJShapeSlots(g->a[0].dim, HJ_BOX); code++) {
      const int        c[3]  = {code % 3 - 1, g->a[0].dim > 1 ? code / 3 % 3 - 1 : 0, g->a[0].dim > 2 ? code / 9 - 1 : 0};
      const PetscCount place = HJShapeSlot(g->a[0].dim, HJ_BOX, c[0], c[1], c[2]) * g->a[1].npoints +
                               HJBoxIndex(&g->t[0].coarse.owned, at[0], at[1], at[2]);
      const PetscScalar want = GalerkinNaive(g, at, c);
      PetscScalar       got;

      PetscCall(g->ops->copy(NULL, &got, g->a[1].value + place, 1));
      PetscCheck(PetscAbsScalar(got - want) <= 4096 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Wrong entry %d at %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ": %g instead of %g", code, at[0], at[1], at[2],
                 (double)got, (double)want);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of so many products, from the finest on, and of a run of all; enough of them to last a tenth of a second */
static PetscErrorCode GalerkinMeasure(const Galerkin *g, PetscInt nlevels, Times *t)
{
  PetscScalar *last = g->a[nlevels].value, one;
  PetscInt     n    = 1;

  PetscFunctionBegin;
  for (PetscInt r = -1; r < t->n; r++) {
    PetscLogDouble start, end;

    PetscCall(g->ops->copy(NULL, &one, last, 1));
    PetscCall(PetscTime(&start));
    for (PetscInt i = 0; i < n; i++) PetscCall(GalerkinRun(g, nlevels));
    PetscCall(g->ops->copy(NULL, &one, last, 1)); /* waits for the device */
    PetscCall(PetscTime(&end));
    if (r < 0) n = 1 + (PetscInt)(0.1 / (end - start));
    else t->s[r] = (end - start) / n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchGalerkin(const HJBackendOps *ops, PetscInt dim, PetscInt n, HJShape shape, PetscInt reps)
{
  Galerkin  g;
  Times     first = {.n = reps}, all = {.n = reps};
  PetscReal bytes;

  PetscFunctionBegin;
  PetscCall(GalerkinCreate(ops, dim, n, shape, &g));
  PetscCall(GalerkinRun(&g, 1));
  PetscCall(GalerkinCheck(&g));
  PetscCall(GalerkinMeasure(&g, 1, &first));
  PetscCall(GalerkinMeasure(&g, g.nlevels, &all));
  bytes = 8.0 * (g.a[0].nslots * (PetscReal)g.a[0].npoints + g.a[1].nslots * (PetscReal)g.a[1].npoints);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s galerkin %" PetscInt_FMT "D n %" PetscInt_FMT
                        " %s: finest %.4f ms +%.0f%%, %.4g G fine points/s, %.4g TB/s; %" PetscInt_FMT " levels %.4f ms +%.0f%%\n",
                        ops->name, dim, n, shape == HJ_BOX ? "box" : "star", 1e3 * (double)Median(&first), 100 * (double)Spread(&first),
                        1e-9 * g.a[0].npoints / (double)Median(&first), 1e-12 * bytes / (double)Median(&first), g.nlevels,
                        1e3 * (double)Median(&all), 100 * (double)Spread(&all)));
  PetscCall(GalerkinDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops      = NULL;
  char                name[16] = "host";
  PetscInt            dim = 2, n = 4097, reps = 5;
  PetscEnum           shape = (PetscEnum)HJ_STAR;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Rates of Galerkin products", NULL);
  PetscCall(PetscOptionsString("-backend", "host or cuda", NULL, name, name, sizeof(name), NULL));
  PetscCall(PetscOptionsRangeInt("-dim", "Dimension", NULL, dim, &dim, NULL, 1, 3));
  PetscCall(PetscOptionsInt("-n", "Points in each direction, a power of 2 and 1 more", NULL, n, &n, NULL));
  PetscCall(PetscOptionsEnum("-shape", "Stencil", NULL, ShapeTypes, shape, &shape, NULL));
  PetscCall(PetscOptionsRangeInt("-reps", "Repetitions, the median counts", NULL, reps, &reps, NULL, 1, MAX_REPETITIONS));
  PetscOptionsEnd();
  if (!strcmp(name, "host")) ops = &HJBackendHost;
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(name, "cuda")) ops = &HJBackendCUDA;
#endif
  PetscCheck(ops, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Backend %s is not built in", name);
  PetscCall(BenchGalerkin(ops, dim, n, (HJShape)shape, reps));
  PetscCall(PetscFinalize());
  return 0;
}
