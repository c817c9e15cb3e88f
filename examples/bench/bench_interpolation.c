/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Times of a backend's work with interpolation coefficients from the matrix, for whoever tunes kernels: the coefficients, interpolation,
   its transpose, the Galerkin product, of arrays on one grid. bench_interpolation -backend host|cuda -dim 2 -n 4097 -shape star|box -reps 5
*/
#include "core/hjinterpolation.h"
#include "host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif
#include <petsc.h>
#include "pchjacobi.h"

static const char *const ShapeTypes[] = {"star", "box", "HJShape", "HJ_", NULL};

typedef struct {
  const HJBackendOps *ops;
  HJTransfer          t;
  HJShell             shell, coarse_shell, fine_shell;
  HJCoefficients      a;
  PetscScalar        *coefficient, *coarse, *x, *y, *ghost, *coupling; /* x: coarse vector, y: fine one; ghost: of the fine one, zeros */
  HJJump              jump;
} Bench;

static void BenchGrid(PetscInt dim, PetscInt n, HJGrid *grid)
{
  *grid = (HJGrid){.dim = dim, .min_width = PETSC_INT_MAX};
  for (int d = 0; d < 3; d++) grid->N[d] = grid->owned.hi[d] = grid->domain.hi[d] = d < dim ? n : 1;
}

/* Coefficients that jump from point to point, 0 where they lead outside the domain */
static PetscErrorCode BenchFill(Bench *b)
{
  const HJGrid *grid = &b->t.fine;
  PetscScalar  *host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(b->a.npoints, &host));
  for (PetscInt slot = 0; slot < b->a.nslots; slot++) {
    const HJBox inside = HJCoefficientsInside(&b->a, slot, grid);
    PetscCount  at     = 0;

    for (PetscInt k = 0; k < grid->N[2]; k++) {
      for (PetscInt j = 0; j < grid->N[1]; j++) {
        for (PetscInt i = 0; i < grid->N[0]; i++)
          host[at++] = !HJPointInside(&inside, i, j, k)
                         ? 0.0
                         : (slot ? -1.0 : 20.0 * b->a.nslots) * (1 + ((7 * i + 13 * j + 29 * k + 5 * slot) & 15));
      }
    }
    PetscCall(b->ops->copy(NULL, b->a.value + slot * b->a.npoints, host, b->a.npoints));
  }
  PetscCall(PetscArrayzero(host, b->a.npoints));
  PetscCall(b->ops->copy(NULL, b->y, host, b->a.npoints));
  PetscCall(b->ops->copy(NULL, b->ghost, host, PetscMin(b->fine_shell.size, b->a.npoints)));
  PetscCall(b->ops->copy(NULL, b->x, host, HJBoxSize(&b->t.coarse.owned)));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchCreate(Bench *b, PetscInt dim, PetscInt n, HJShape shape)
{
  PetscCount nc;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) b->t.factor[d] = d < dim ? 2 : 1;
  BenchGrid(dim, n, &b->t.fine);
  BenchGrid(dim, (n + 1) / 2, &b->t.coarse);
  b->t.points = b->t.fine.domain;
  HJGalerkinShellSet(&b->t, &b->shell);
  HJShellSet(&b->t.coarse, &b->coarse_shell);
  HJShellSet(&b->t.fine, &b->fine_shell);
  b->a = (HJCoefficients){.dim     = dim,
                          .nslots  = HJShapeSlots(dim, shape),
                          .shape   = dim > 1 ? shape : HJ_STAR,
                          .storage = HJ_COEFFICIENTS_ARRAYS,
                          .npoints = HJBoxSize(&b->t.fine.owned),
                          .mtype   = b->ops->mtype};
  nc   = HJBoxSize(&b->t.coarse.owned);
  PetscCall(b->ops->alloc(NULL, b->a.nslots * b->a.npoints, &b->a.value));
  PetscCall(b->ops->alloc(NULL, HJColumnsSlots(&b->t) * nc, &b->coefficient));
  PetscCall(b->ops->alloc(NULL, HJShapeSlots(dim, HJ_BOX) * nc, &b->coarse));
  PetscCall(b->ops->alloc(NULL, 2 * dim * nc, &b->coupling));
  PetscCall(b->ops->alloc(NULL, nc, &b->x));
  PetscCall(b->ops->alloc(NULL, b->a.npoints, &b->y));
  PetscCall(b->ops->alloc(NULL, b->fine_shell.size, &b->ghost));
  PetscCall(BenchFill(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HJInterpolationFill BenchFillOf(Bench *b)
{
  return (HJInterpolationFill){.t            = &b->t,
                               .shell        = &b->shell,
                               .coarse_shell = &b->coarse_shell,
                               .a            = &b->a,
                               .symmetric    = &b->a,
                               .coupling     = b->coupling,
                               .coefficient  = b->coefficient,
                               .jump         = &b->jump};
}

static PetscErrorCode RunCouplings(Bench *b)
{
  const HJInterpolationFill f = BenchFillOf(b);

  PetscFunctionBegin;
  PetscCall(b->ops->multigrid->couplings(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunWeights(Bench *b)
{
  const HJInterpolationFill f = BenchFillOf(b);

  PetscFunctionBegin;
  PetscCall(b->ops->multigrid->interpolation_fill(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunGalerkin(Bench *b)
{
  const HJGalerkin g = {.t                 = &b->t,
                        .shell             = &b->shell,
                        .fine              = &b->a,
                        .coarse            = b->coarse,
                        .coefficient_shell = &b->coarse_shell,
                        .coefficient       = b->coefficient};

  PetscFunctionBegin;
  PetscCall(b->ops->multigrid->galerkin_variable(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunInterpolate(Bench *b)
{
  const HJTransferProduct p =
    {.transfer = &b->t, .shell = &b->coarse_shell, .x = b->x, .b = b->y, .y = b->y, .coefficient = b->coefficient};

  PetscFunctionBegin;
  PetscCall(b->ops->multigrid->interpolate_variable(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunRestrict(Bench *b)
{
  const HJTransferProduct p =
    {.transfer = &b->t, .shell = &b->fine_shell, .x = b->y, .ghost = b->ghost, .y = b->x, .coefficient = b->coefficient};

  PetscFunctionBegin;
  PetscCall(b->ops->multigrid->interpolate_transpose_variable(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Milliseconds of one call; bytes: what it must at least move */
static PetscErrorCode BenchRun(Bench *b, const char *name, PetscErrorCode (*run)(Bench *), PetscInt reps, double bytes)
{
  PetscLogDouble start, end;
  PetscScalar    wait;

  PetscFunctionBegin;
  PetscCall((*run)(b));
  PetscCall(b->ops->copy(NULL, &wait, b->y, 1));
  PetscCall(PetscTime(&start));
  for (PetscInt r = 0; r < reps; r++) PetscCall((*run)(b));
  PetscCall(b->ops->copy(NULL, &wait, b->y, 1)); /* waits for the device */
  PetscCall(PetscTime(&end));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%-12s %9.4f ms %8.1f GB/s\n", name, 1e3 * (end - start) / reps, 1e-9 * bytes * reps / (end - start)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     b   = {.ops = &HJBackendHost};
  PetscInt  dim = 2, n = 1025, reps = 5;
  PetscEnum shape    = (PetscEnum)HJ_STAR;
  char      name[16] = "host";
  double    nf, nc, slots;
  PetscBool cuda;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-shape", ShapeTypes, &shape, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "cuda", &cuda));
#if defined(HJACOBI_HAVE_CUDA)
  if (cuda) b.ops = &HJBackendCUDA;
#endif
  PetscCall(BenchCreate(&b, dim, n, (HJShape)shape));
  nf    = (double)b.a.npoints * sizeof(PetscScalar);
  nc    = (double)HJBoxSize(&b.t.coarse.owned) * sizeof(PetscScalar);
  slots = (double)HJColumnsSlots(&b.t);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%dD, %d points a direction, %s, %s\n", (int)dim, (int)n, ShapeTypes[shape], b.ops->name));
  PetscCall(BenchRun(&b, "couplings", RunCouplings, reps, b.a.nslots * nf + 2 * dim * nc));
  PetscCall(BenchRun(&b, "weights", RunWeights, reps, b.a.nslots * nf + (slots + 2 * dim) * nc));
  PetscCall(BenchRun(&b, "Galerkin", RunGalerkin, reps, b.a.nslots * nf + (slots + HJShapeSlots(dim, HJ_BOX)) * nc));
  PetscCall(BenchRun(&b, "interpolate", RunInterpolate, 4 * reps, 2 * nf + (slots + 1) * nc));
  PetscCall(BenchRun(&b, "restrict", RunRestrict, 4 * reps, nf + (slots + 1) * nc));
  PetscCall(b.ops->free(NULL, &b.a.value));
  PetscCall(b.ops->free(NULL, &b.coefficient));
  PetscCall(b.ops->free(NULL, &b.coarse));
  PetscCall(b.ops->free(NULL, &b.x));
  PetscCall(b.ops->free(NULL, &b.y));
  PetscCall(b.ops->free(NULL, &b.ghost));
  PetscCall(b.ops->free(NULL, &b.coupling));
  PetscCall(PetscFinalize());
  return 0;
}
