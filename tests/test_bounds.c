/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The guaranteed bound of the eigenvalues: products with |D^-1 A|, the bound against the true spectrum, where it comes from, what it
   saves; the skew part of convection. ranks: 1 2 4
*/
#include "hjboundcase.h"

static PetscErrorCode MakeOperator(Mat A, DM da, PetscInt overlap, HJOperator **op)
{
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  const PetscInt      tile[3] = {8, 8, 8};
  const char         *why;
  char                reason[256];

  PetscFunctionBegin;
  PetscCall(HJOperatorChooseBackend(A, backend, 4, &ops, &why));
  PetscCall(HJOperatorChooseExchange(PetscObjectComm((PetscObject)A), PC_HJACOBI_EXCHANGE_AUTO, ops, &halo_ops, &why));
  PetscCall(HJOperatorCreate(A, da, overlap, tile, ops, halo_ops, op, reason, sizeof(reason)));
  PetscCheck(*op, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No stencil: %s", reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = |D^-1 A| x, its diagonal 1, row by row from the matrix; returns the largest y / x */
static PetscErrorCode NaiveAbsolute(Mat A, Vec x, Vec y, PetscReal *ratio)
{
  Vec                all;
  VecScatter         scatter;
  const PetscScalar *xa;
  PetscInt           start, end;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToAll(x, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(all, &xa));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  *ratio = 0;
  for (PetscInt i = start; i < end; i++) {
    PetscInt           n;
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscReal          sum = 0, diagonal = 0;

    PetscCall(MatGetRow(A, i, &n, &cols, &vals));
    for (PetscInt j = 0; j < n; j++) {
      if (cols[j] == i) diagonal += vals[j];
      else sum += PetscAbsScalar(vals[j]) * xa[cols[j]];
    }
    PetscCall(MatRestoreRow(A, i, &n, &cols, &vals));
    sum    = xa[i] + sum / (diagonal == 0 ? 1 : PetscAbsReal(diagonal));
    *ratio = PetscMax(*ratio, sum / xa[i]);
    PetscCall(VecSetValue(y, i, sum, INSERT_VALUES));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ratio, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscCall(VecRestoreArrayRead(all, &xa));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator's product from arrays in its memory; ones: x is not given */
static PetscErrorCode OperatorAbsolute(HJOperator *op, PetscBool ones, Vec x, Vec y, PetscReal *ratio)
{
  const PetscCount   n = HJBoxSize(&op->grid.owned);
  PetscScalar       *v[2], *ya;
  const PetscScalar *xa;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(op->ops->alloc(op->backend, n, &v[i]));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(op->ops->copy(op->backend, v[0], xa, n));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(HJOperatorAbsolute(op, PETSC_FALSE, ones ? NULL : v[0], v[1], ratio));
  PetscCall(VecGetArray(y, &ya));
  PetscCall(op->ops->copy(op->backend, ya, v[1], n));
  PetscCall(VecRestoreArray(y, &ya));
  for (int i = 0; i < 2; i++) PetscCall(op->ops->free(op->backend, &v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bound from one product after another of whole vectors, which waits for each */
static PetscErrorCode BoundByProducts(HJOperator *op, PetscReal *emax)
{
  PetscScalar *v[2];
  PetscReal    ratio;

  PetscFunctionBegin;
  *emax = op->stencil->gershgorin;
  for (int i = 0; i < 2; i++) PetscCall(op->ops->alloc(op->backend, HJBoxSize(&op->grid.owned), &v[i]));
  for (int i = 0; i < 6; i++) {
    PetscCall(HJOperatorAbsolute(op, PETSC_FALSE, i ? v[i % 2] : NULL, v[(i + 1) % 2], &ratio));
    *emax = PetscMin(*emax, ratio);
  }
  for (int i = 0; i < 2; i++) PetscCall(op->ops->free(op->backend, &v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bound as set-up finds it: of all points at once, and of few planes at a time */
static PetscErrorCode CheckBoundInParts(const char *name, HJOperator *op)
{
  const PetscCount plane = HJBoxSize(&op->grid.owned) / op->grid.owned.hi[op->grid.dim - 1], slab[] = {0, 1, 13 * plane};
  PetscReal        want;
  PetscScalar     *room = NULL;
  HJBound          bound[6];
  PetscBool        good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(BoundByProducts(op, &want));
  PetscCall(op->ops->alloc(op->backend, HJBoxSize(&op->grid.owned), &room));
  for (int i = 0; i < 6; i++) {
    PetscCall(HJBoundBegin(op, slab[i % 3], i < 3 ? NULL : room));
    PetscCall(HJBoundEnd(op, &bound[i]));
    good = (PetscBool)(good && bound[i].emax == want);
  }
  PetscCall(op->ops->free(op->backend, &room));
  PetscCall(
    HJTestOK(good,
             "%s: bound %.15g of one product after another; in slabs of any height %.15g %.15g %.15g, in given room %.15g %.15g %.15g",
             name, (double)want, (double)bound[0].emax, (double)bound[1].emax, (double)bound[2].emax, (double)bound[3].emax,
             (double)bound[4].emax, (double)bound[5].emax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProducts(const char *name, Mat A, DM da, PetscInt overlap)
{
  HJOperator *op;
  Vec         x, y, want;
  PetscReal   ratio[2][2], difference[2];
  PetscBool   agree = PETSC_FALSE, good = PETSC_TRUE;
  const char *storage[] = {"dictionary", "variable", "symmetric"};

  PetscFunctionBegin;
  PetscCall(MakeOperator(A, da, overlap, &op));
  PetscCall(ProblemVectors(da, &x, &y, &want));
  for (int ones = 0; ones < 2; ones++) {
    PetscCall(ProblemVector(da, 3, x));
    PetscCall(VecShift(x, 1.5));
    if (ones) PetscCall(VecSet(x, 1));
    PetscCall(NaiveAbsolute(A, x, want, &ratio[ones][0]));
    PetscCall(OperatorAbsolute(op, (PetscBool)ones, x, y, &ratio[ones][1]));
    /* sums of 27 products, each rounded a few times */
    PetscCall(VecsAgree(y, want, 100 * PETSC_MACHINE_EPSILON, &agree, &difference[ones]));
    good = (PetscBool)(good && agree && PetscAbsReal(ratio[ones][0] - ratio[ones][1]) <= 100 * PETSC_MACHINE_EPSILON * ratio[ones][0]);
  }
  PetscCall(HJTestOK(good, "%s, %s, overlap %d: |D^-1 A| x, ratios %g %g, differences %.1e %.1e", name, storage[op->stencil->storage],
                     (int)overlap, (double)ratio[0][1], (double)ratio[1][1], (double)difference[0], (double)difference[1]));
  PetscCall(CheckBoundInParts(name, op));
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(HJTestDestroy(&x, &y, &want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Sign(PetscScalar number, PetscReal arg)
{
  return number > 0 ? 1 : -1;
}

static PetscScalar AwayFromZero(PetscScalar number, PetscReal arg)
{
  return number + (number > 0 ? arg : -arg);
}

static PetscErrorCode TestProducts(void)
{
  static const PetscInt sizes[4][3] = {{0, 0, 0}, {300, 1, 1}, {23, 19, 1}, {9, 10, 11}};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int kind = 0; kind < 12; kind++) {
      Problem p = {dim,
                   {sizes[dim][0], sizes[dim][1], sizes[dim][2]},
                   (Boundary)(kind % 4),
                   kind < 4 ? JUMP : VARYING,
                   (PetscBool)(kind % 3 == 1)};
      char    name[128];
      DM      da;
      Mat     A;

      if (dim == 1) p.box = PETSC_FALSE;
      PetscCall(ProblemCreate(&p, &da, &A));
      if (kind >= 6) PetscCall(ProblemScale(da, 7, kind < 9 ? Sign : AwayFromZero, 0.5, (PetscBool)(kind < 9), A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%dD %s %s %s%s", (int)dim, p.box ? "box" : "star", BoundaryNames()[p.boundary],
                              CoefficientNames()[p.coefficient],
                              kind < 6   ? ""
                              : kind < 9 ? ", signs"
                                         : ", scaled rows"));
      PetscCall(CheckProducts(name, A, da, -1));
      if (kind % 5 == 2) PetscCall(CheckProducts(name, A, da, 2 * (kind % 2)));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 over the diagonal, 1 where that is zero */
static PetscErrorCode InverseDiagonal(Mat A, Vec *dinv)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, dinv));
  PetscCall(MatGetDiagonal(A, *dinv));
  PetscCall(VecGetLocalSize(*dinv, &n));
  PetscCall(VecGetArray(*dinv, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = a[i] == 0 ? 1 : 1 / a[i];
  PetscCall(VecRestoreArray(*dinv, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatrixBound(Mat A, PetscReal *emax)
{
  HJBound   bound;
  PetscBool known;
  Vec       dinv;

  PetscFunctionBegin;
  PetscCall(InverseDiagonal(A, &dinv));
  PetscCall(HJBoundMatrix(A, dinv, &known, &bound));
  PetscCall(VecDestroy(&dinv));
  *emax = known ? bound.emax : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Near(PetscReal a, PetscReal b)
{
  return (PetscBool)(PetscAbsReal(a - b) <= 100 * PETSC_MACHINE_EPSILON * b);
}

/* The bound of one matrix as stencil, through MatMult() and on one rank, against the truth */
static PetscErrorCode CheckBound(const char *name, Mat A, DM da)
{
  HJOperator     *op;
  HJBound         bound;
  Mat             whole;
  PetscReal       truth, absolute = 0, least, matrix, one;
  const PetscReal eps = 1000 * PETSC_MACHINE_EPSILON; /* LAPACK's */

  PetscFunctionBegin;
  PetscCall(MakeOperator(A, da, -1, &op));
  PetscCall(HJBoundOperator(op, &bound));
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(MatrixBound(A, &matrix));
  PetscCall(GatherMatrix(A, MATSEQAIJ, &whole));
  PetscCall(MatrixBound(whole, &one));
  PetscCall(MatDestroy(&whole));
  PetscCall(Spectrum(A, PETSC_FALSE, &truth, &least));
  PetscCall(Spectrum(A, PETSC_TRUE, &absolute, &least));
  PetscCall(HJTestOK((PetscBool)(bound.emax >= truth * (1 - eps) && bound.emax <= 1.15 * absolute),
                     "%s: bound %g (%s) >= largest eigenvalue %g, ratio %.3f, <= 1.15 x %g, ratio %.3f", name, (double)bound.emax,
                     bound.source, (double)truth, (double)(bound.emax / truth), (double)absolute, (double)(bound.emax / absolute)));
  PetscCall(HJTestOK((PetscBool)(Near(matrix, bound.emax) && Near(one, bound.emax)),
                     "%s: the same through MatMult(), %g, and on one rank, %g", name, (double)matrix, (double)one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLevels(const char *name, PetscInt levels, DM da, Mat A)
{
  char level[128];

  PetscFunctionBegin;
  for (PetscInt l = 0; l < levels; l++) {
    PetscInt n;

    PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    PetscCall(PetscSNPrintf(level, sizeof(level), "%s, %d points", name, (int)n));
    PetscCall(CheckBound(level, A, da));
    if (l < levels - 1) PetscCall(Coarsen(&da, &A));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank that is its own neighbour has no coefficients twice, where the backend reads those of the period. Arrays of a symmetric matrix
   have a layer of their own */
static PetscErrorCode TestImages(void)
{
  const Problem periodic = {3, {12, 10, 9}, PERIODIC, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  HJOperator   *op;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemCreate(&periodic, &da, &A));
  PetscCall(MakeOperator(A, da, -1, &op));
  if (op->ops->wraps_coefficients)
    PetscCall(HJTestOK((PetscBool)(HJBoxSize(&op->stencil->box) <= 14 * 12 * 11), "periodic: coefficients at %g points of %g",
                       (double)HJBoxSize(&op->stencil->box), (double)HJBoxSize(&op->grid.owned)));
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTruth(void)
{
  const Problem convection = {2, {17, 17, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}, neumann = {2, {17, 17, 1}, NEUMANN, JUMP, PETSC_FALSE},
                box = {3, {7, 6, 7}, IDENTITY, VARYING, PETSC_TRUE}, line = {1, {200, 1, 1}, PERIODIC, VARYING, PETSC_FALSE};
  const Problem *others[] = {&convection, &neumann, &box, &line};
  DM             da;
  Mat            A;
  char           name[64];

  PetscFunctionBegin;
  PetscCall(CreateJump(2, 17, 1, &da, &A));
  PetscCall(CheckLevels("Poisson 2D", 3, da, A));
  PetscCall(CreateJump(2, 65, CONTRAST, &da, &A));
  for (int l = 0; l < 2; l++) PetscCall(Coarsen(&da, &A));
  PetscCall(CheckLevels("jump 2D", 3, da, A));
  PetscCall(CreateJump(3, 17, CONTRAST, &da, &A));
  PetscCall(Coarsen(&da, &A));
  PetscCall(Coarsen(&da, &A));
  PetscCall(CheckLevels("jump 3D", 1, da, A));
  for (int i = 0; i < 4; i++) {
    PetscCall(ProblemCreate(others[i], &da, &A));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%dD %s %s", (int)others[i]->dim, BoundaryNames()[others[i]->boundary],
                            CoefficientNames()[others[i]->coefficient]));
    PetscCall(CheckLevels(name, 1, da, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Central differences of -laplace u + peclet (1, -0.7, 0.4) . grad u, 1 between points */
static PetscErrorCode CreateConvection(const Problem *p, PetscReal peclet, DM *da, Mat *A)
{
  const PetscReal velocity[3] = {peclet, -0.7 * peclet, 0.4 * peclet};
  DMDALocalInfo   info;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(p, da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt l = 0; l < info.xm * info.ym * info.zm; l++) {
    MatStencil     row   = {.i = info.xs + l % info.xm, .j = info.ys + l / info.xm % info.ym, .k = info.zs + l / info.xm / info.ym};
    const PetscInt at[3] = {row.i, row.j, row.k};
    PetscBool      edge  = PETSC_FALSE;

    for (PetscInt d = 0; d < p->dim; d++) edge = (PetscBool)(edge || at[d] == 0 || at[d] == p->n[d] - 1);
    if (edge && p->boundary == IDENTITY) continue;
    for (PetscInt o = 0; o < 2 * p->dim; o++) {
      PetscInt          to[3] = {at[0], at[1], at[2]};
      const PetscInt    d     = o / 2;
      const PetscScalar v     = (o % 2 ? 0.5 : -0.5) * velocity[d];

      to[d] += o % 2 ? 1 : -1;
      if (!ProblemIsPeriodic(p, d) && (to[d] < 0 || to[d] >= p->n[d])) continue;
      PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &(MatStencil){.i = to[0], .j = to[1], .k = to[2]}, &v, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spectral radius and largest row sum of D^-1 (A - A^T) / 2, without the rows and columns of points whose row is a diagonal alone */
static PetscErrorCode SkewTruth(Mat A, PetscReal *radius, PetscReal *sum)
{
  Mat       whole, S;
  PetscInt  N;
  PetscReal least;

  PetscFunctionBegin;
  PetscCall(GatherMatrix(A, MATSEQAIJ, &whole));
  PetscCall(MatGetSize(whole, &N, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, N, N, 28, NULL, &S));
  *sum = 0;
  for (PetscInt i = 0; i < N; i++) {
    PetscInt           n;
    const PetscInt    *col;
    const PetscScalar *v;
    PetscScalar        d, row = 0;

    PetscCall(MatGetValue(whole, i, i, &d));
    PetscCall(MatGetRow(whole, i, &n, &col, &v));
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar back, half;

      PetscCall(MatGetValue(whole, col[j], i, &back));
      if (col[j] == i || v[j] == 0 || back == 0) continue; /* these problems have no zero but of such points */
      half = 0.5 * (v[j] - back) / d;
      row += PetscAbsScalar(half);
      PetscCall(MatSetValue(S, i, col[j], half, INSERT_VALUES));
    }
    PetscCall(MatRestoreRow(whole, i, &n, &col, &v));
    *sum = PetscMax(*sum, row);
  }
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(Spectrum(S, PETSC_FALSE, radius, &least));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ten steps of GMRES miss the corner of the jump on a coarse level: with 1.1 times their estimate k = 10 and 16 stopped with an
   indefinite preconditioner
*/
static PetscErrorCode TestJump(void)
{
  DM                 da;
  Mat                A;
  KSPConvergedReason reason[2];
  PetscInt           its[2];
  char               options[256];

  PetscFunctionBegin;
  PetscCall(CreateJump(2, 65, CONTRAST, &da, &A));
  PetscCall(PetscOptionsInsertString(NULL,
                                     "-ours_mg_levels_ksp_type richardson -ours_mg_levels_pc_type hjacobi -ours_mg_levels_ksp_max_it 1 "
                                     "-peer_mg_levels_ksp_type chebyshev -peer_mg_levels_pc_type jacobi"));
  if (backend == PC_HJACOBI_BACKEND_CUDA) PetscCall(PetscOptionsInsertString(NULL, "-ours_mg_levels_pc_hjacobi_backend cuda"));
  for (PetscInt k = 10; k <= 16; k += 6) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-ours_mg_levels_pc_hjacobi_k %d -peer_mg_levels_ksp_max_it %d", (int)k, (int)k));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(Multigrid(da, A, 3, "ours_", &its[0], &reason[0]));
    PetscCall(Multigrid(da, A, 3, "peer_", &its[1], &reason[1]));
    PetscCall(HJTestOK((PetscBool)(reason[0] > 0 && reason[1] > 0 && its[0] <= its[1] + 1),
                       "jump, k = %d: %s in %d, chebyshev/jacobi in %d", (int)k, KSPConvergedReasons[reason[0]], (int)its[0], (int)its[1]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* safe: a k that the view has nothing to say about; unsafe: one that it warns of, 0: there is none */
static PetscErrorCode CheckSkew(const char *name, const Problem *p, PetscReal peclet, PetscInt safe, PetscInt unsafe)
{
  DM          da;
  Mat         A;
  HJOperator *op;
  PetscReal   skew, radius = 0, sum = 0;
  PetscBool   holds[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PC          pc;

  PetscFunctionBegin;
  PetscCall(CreateConvection(p, peclet, &da, &A));
  PetscCall(MakeOperator(A, da, -1, &op));
  PetscCall(HJBoundSkew(op, &skew));
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(SkewTruth(A, &radius, &sum));
  /* 1 + 2 skew is what is rounded */
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(skew - sum) <= 100 * PETSC_MACHINE_EPSILON * (1 + sum) &&
                                 skew >= radius - 1000 * PETSC_MACHINE_EPSILON),
                     "%s, Peclet number %g: skew part %g, the row sums %g, spectral radius %g", name, (double)peclet, (double)skew,
                     (double)sum, (double)radius));
  PetscCall(NewPC(A, da, &pc));
  for (int i = 0; i < 3; i++) {
    PetscCall(PCHJacobiSetK(pc, i ? (unsafe ? unsafe : 1024) : safe));
    PetscCall(PCHJacobiSetSchedule(pc, i < 2 ? PC_HJACOBI_SCHEDULE_CHEBYSHEV4 : PC_HJACOBI_SCHEDULE_CHEBYSHEV));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc, "is not safe for so unsymmetric a matrix", &holds[i]));
  }
  PetscCall(HJTestOK((PetscBool)(!holds[0] && holds[1] == (PetscBool)(unsafe > 0) && !holds[2]), "%s, Peclet number %g: the view %s", name,
                     (double)peclet, unsafe ? "warns" : "does not warn"));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0.8 is what three coarser levels make of 0.1 */
static PetscErrorCode TestConvection(void)
{
  const Problem plane = {2, {17, 15, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, identity = {2, {17, 15, 1}, IDENTITY, CONSTANT, PETSC_FALSE},
                jump = {2, {16, 17, 1}, IDENTITY, JUMP, PETSC_FALSE}, torus = {2, {12, 13, 1}, PERIODIC, VARYING, PETSC_FALSE},
                cube = {3, {7, 6, 7}, DIRICHLET, VARYING, PETSC_TRUE}, line = {1, {200, 1, 1}, NEUMANN, VARYING, PETSC_FALSE},
                pairs[3] = {{2, {2, 13, 1}, PERIODIC, VARYING, PETSC_FALSE},
                            {2, {13, 2, 1}, PERIODIC, JUMP, PETSC_TRUE},
                            {3, {2, 9, 2}, PERIODIC, VARYING, PETSC_TRUE}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(CheckSkew("2D", &plane, 0, 16, 0));
  PetscCall(CheckSkew("2D", &plane, 0.1, 16, 1000));
  PetscCall(CheckSkew("2D", &plane, 0.8, 5, 16));
  PetscCall(CheckSkew("2D identity", &identity, 0, 16, 0));
  PetscCall(CheckSkew("2D identity", &identity, 0.8, 5, 16));
  PetscCall(CheckSkew("2D jump, identity", &jump, 0.8, 4, 16));
  PetscCall(CheckSkew("2D varying, periodic", &torus, 0.8, 3, 16));
  PetscCall(CheckSkew("3D box", &cube, 0.4, 4, 1000));
  PetscCall(CheckSkew("1D varying", &line, 0.5, 4, 32));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int i = 0; i < 3 && size == 1; i++) {
    PetscCall(CheckSkew("a period of two points", &pairs[i], 0, 16, 0));
    PetscCall(CheckSkew("a period of two points", &pairs[i], 0.8, 3, 1000));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* emax of a PC without a DM, and where PCView says that it comes from */
static PetscErrorCode CheckKind(const char *name, Mat A, PetscReal least, PetscReal most, const char *words)
{
  PC        pc;
  PetscReal emax;
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(NewPC(A, NULL, &pc));
  PetscCall(PCHJacobiSetOperator(pc, PC_HJACOBI_OPERATOR_MATRIX));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, NULL));
  PetscCall(ViewHolds(pc, words, &holds));
  PetscCall(HJTestOK((PetscBool)(holds && emax >= least && emax <= most), "%s: emax %g, %s", name, (double)emax, words));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKinds(void)
{
  const Problem p       = {2, {12, 9, 1}, DIRICHLET, JUMP, PETSC_FALSE};
  const char   *types[] = {MATAIJ, MATDENSE, MATBAIJ, MATSBAIJ}, *words = "Collatz-Wielandt, 6 products";
  PetscReal     emax, truth, least;
  DM            da;
  Mat           A, B;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatrixBound(A, &emax));
  PetscCall(Spectrum(A, PETSC_FALSE, &truth, &least));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  for (int i = 0; i < 4; i++) {
    PetscCall(MatConvert(A, types[i], MAT_INITIAL_MATRIX, &B));
    PetscCall(CheckKind(types[i], B, emax * (1 - 1e-14), emax * (1 + 1e-14), words));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(ProblemShell(A, &B));
  PetscCall(CheckKind("shell", B, truth, 1.25 * truth, "1.2 times an estimate by GMRES, not guaranteed"));
  PetscCall(HJTestDestroy(&B, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without a diagonal, empty rows, contrasts beyond the range of products, no finite bound at all: as stencil and as matrix */
static PetscErrorCode TestStrange(void)
{
  static const struct {
    const char *name;
    PetscScalar diagonal, other; /* of the first row */
    PetscReal   least, most;
  } cases[] = {
    {"a zero diagonal", 0.0, -1.0, 2.0, 3.0},
    {"an empty row", 0.0, 0.0, 1.9, 2.0},
    {"a small diagonal", HJ_BY_PRECISION(1e-60, 1e-30), -1.0, HJ_BY_PRECISION(1e60, 1e30), HJ_BY_PRECISION(3e60, 3e30)},
    {"a large diagonal", HJ_BY_PRECISION(1e60, 1e30), -1.0, 1.9, 2.0},
    {"entries out of the range of products", HJ_BY_PRECISION(1e-300, 1e-37), HJ_BY_PRECISION(1e300, 1e37), 0.0, 0.0},
  };

  PetscFunctionBegin;
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
    for (int matrix = 0; matrix < 2; matrix++) {
      const Problem  p = {2, {40, 40, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
      DM             da;
      Mat            A;
      PC             pc;
      PetscReal      emax = 0;
      PetscErrorCode code;
      PetscInt       start;
      MatStencil     row = {.i = 0, .j = 0}, col[3] = {{.i = 0, .j = 0}, {.i = 1, .j = 0}, {.i = 0, .j = 1}};
      PetscScalar    v[3] = {cases[c].diagonal, cases[c].other, cases[c].other};

      PetscCall(ProblemCreate(&p, &da, &A));
      PetscCall(MatGetOwnershipRange(A, &start, NULL));
      if (!start) PetscCall(MatSetValuesStencil(A, 1, &row, 3, col, v, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(NewPC(A, da, &pc));
      PetscCall(PCHJacobiSetOperator(pc, matrix ? PC_HJACOBI_OPERATOR_MATRIX : PC_HJACOBI_OPERATOR_STENCIL));
      PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      code = PCSetUp(pc);
      PetscCall(PetscPopErrorHandler());
      if (!code) PetscCall(PCHJacobiGetEigenvalues(pc, &emax, NULL));
      if (cases[c].most > 0)
        PetscCall(HJTestOK((PetscBool)(!code && emax >= cases[c].least && emax <= cases[c].most), "%s, %s: emax %g", cases[c].name,
                           matrix ? "matrix" : "stencil", (double)emax));
      else PetscCall(HJTestOK((PetscBool)(code == PETSC_ERR_FP), "%s, %s: refused", cases[c].name, matrix ? "matrix" : "stencil"));
      PetscCall(HJTestDestroy(&pc, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is known of a shell matrix but what its products say; where its diagonal is 0 it counts as 1, as for PCJACOBI */
static PetscErrorCode TestZeroShell(void)
{
  const Problem p = {2, {12, 9, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A, B;
  PC            pc;
  Vec           b, x;
  PetscReal     emax, norm[2];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatZeroEntries(A));
  PetscCall(ProblemShell(A, &B));
  PetscCall(NewPC(B, da, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, NULL));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(VecNorm(x, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(emax == 1.0 && norm[1] > norm[0] && norm[1] < 100 * norm[0]),
                     "a shell matrix of zeros: emax %g, a cycle makes %g of %g", (double)emax, (double)norm[1], (double)norm[0]));
  PetscCall(HJTestDestroy(&b, &x, &pc, &B, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(BoundBegin(&argc, &argv));
  PetscCall(TestProducts());
  PetscCall(TestImages());
  PetscCall(TestTruth());
  PetscCall(TestConvection());
  PetscCall(TestKinds());
  PetscCall(TestStrange());
  PetscCall(TestJump());
  PetscCall(TestZeroShell());
  return HJTestEnd();
}
