/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   One cycle of PCHJMG: it is PCMG's with PCHJACOBI on the same grids, its transpose is the transpose; the coarsest grid's inverse, coarse
   operators that are stars, thin ranks. As a solver: test_mgsolver.c; set-up: test_mgsetup.c; rows that make it hard: test_mgrows.c.
*/
#include "hjmgcase.h"
#include "hjcapture.h"
#include "hjdevices.h"
#include "operator/hjtransfers.h"

static const Problem problems[] =
  {{1, {129, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {1, {128, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
   {2, {33, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {2, {33, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},
   {2, {33, 41, 1}, NEUMANN, CONSTANT, PETSC_FALSE},       {2, {48, 32, 1}, PERIODIC, VARYING, PETSC_TRUE},
   {2, {32, 33, 1}, PERIODIC_FIRST, CONSTANT, PETSC_TRUE}, {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE},
   {3, {17, 17, 17}, DIRICHLET, CONSTANT, PETSC_FALSE},    {3, {17, 17, 25}, DIRICHLET, JUMP, PETSC_TRUE},
   {3, {17, 17, 16}, PERIODIC_LAST, VARYING, PETSC_FALSE}};

static PetscErrorCode RemoveMean(Vec v)
{
  PetscScalar sum;
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(VecGetSize(v, &n));
  PetscCall(VecSum(v, &sum));
  PetscCall(VecShift(v, -sum / n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |(M u, v) - (u, M^T v)| over |(M u, v)| */
static PetscErrorCode TransposeError(PC pc, Vec u, Vec v, PetscReal *error)
{
  Vec         Mu, Mv;
  PetscScalar a, b;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(u, &Mu));
  PetscCall(VecDuplicate(u, &Mv));
  PetscCall(PCApplyTranspose(pc, v, Mv));
  PetscCall(PCApply(pc, u, Mu));
  PetscCall(VecDot(Mu, v, &a));
  PetscCall(VecDot(u, Mv, &b));
  *error = PetscAbsScalar(a - b) / PetscAbsScalar(a);
  PetscCall(VecDestroy(&Mu));
  PetscCall(VecDestroy(&Mv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSameCycle(const Problem *problem, PetscBool stencil, PetscInt k)
{
  const Problem  wide = Widen(problem), *p = &wide;
  const PetscInt levels = p->n[0] > 1000 ? 5 : 3;
  DM             da[2];
  Mat            A[2];
  PC             pc[2];
  Vec            b, x[2];
  PetscReal      diff;
  PetscBool      agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrices(p, stencil, da, A));
  PetscCall(MakePC(A[0], k, levels, &pc[0]));
  PetscCall(PCHJMGSetCoarseSolve(pc[0], PC_HJMG_COARSE_SOLVE_SWEEPS));
  PetscCall(PCHJMGSetTransfer(pc[0], PC_HJMG_TRANSFER_BILINEAR));
  PetscCall(PCHJMGSetGalerkin(pc[0], PETSC_TRUE));
  PetscCall(MakePeer(p, da[1], A[1], (PetscBool)(IsSymmetric(p) || IsInside(p)), k, levels, &pc[1]));
  PetscCall(DMCreateGlobalVector(da[0], &b));
  PetscCall(ProblemVector(da[0], 1, b));
  if (IsSingular(p)) PetscCall(RemoveMean(b)); /* what the singular coarsest grid cannot take */
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(PCSetUp(pc[i]));
    PetscCall(PCApply(pc[i], b, x[i]));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a cycle of k = %" PetscInt_FMT " is PCMG's: %s (%g)", k, Name(p, stencil), (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(PCDestroy(&pc[i]));
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (M u, v) = (u, M^T v); also with new values, and where the matrix is said to be symmetric, truly or not */
static PetscErrorCode TestTranspose(const Problem *p, PetscBool inverse)
{
  DM        da;
  Mat       A;
  PC        pc;
  Vec       u, v;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 2, PETSC_DECIDE, &pc));
  if (inverse) PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  for (int i = 0; i < 3; i++) {
    if (i == 1) PetscCall(MatScale(A, 2.0));
    if (i == 2) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(TransposeError(pc, u, v, &error));
    PetscCall(HJTestOK((PetscBool)(error <= HJTestDigits(1e-11)), "transposed%s%s: %s (%g)", inverse ? ", inverse" : "",
                       i == 2   ? ", said to be symmetric"
                       : i == 1 ? ", new values"
                                : "",
                       Name(p, PETSC_TRUE), (double)error));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles of the GPU, of which the later ones are recorded, are the host's: on grids below the finest all points inside have one row, those
   at the walls others, or all have their own, or there are no walls. Sweeps begin with the correction and end with the residual, in patches
   that begin at even and odd points; over arrays, and on a T4, which is played and has no room for large patches, they stream, in strips
   that begin at even and odd columns */
static PetscErrorCode TestFrame(const Problem *p, PetscInt k, PetscBool t4)
{
  PetscBool agree = PETSC_FALSE;
  PetscReal diff;
  Vec       x[2];

  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDASetDevice(t4 ? &HJTestDevices[0] : NULL));
#endif
  for (int i = 0; i < 2; i++) {
    PetscInt n;
    Vec      b, y;
    DM       da;
    Mat      A;
    PC       pc;

    if (i) PetscCall(PetscOptionsSetValue(NULL, "-dm_vec_type", VECSTANDARD));
    PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
    PetscCall(MakePC(A, k, PETSC_DECIDE, &pc));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE)); /* by default the CPU takes sweeps */
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(ProblemVector(da, 1, b));
    if (IsSingular(p)) PetscCall(SayConstants(A, b));
    for (int again = 0; again < (i ? 1 : 3); again++) PetscCall(PCApply(pc, b, y));
    PetscCall(VecGetLocalSize(y, &n));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &x[i]));
    PetscCall(VecCopy(y, x[i]));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&b));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(PetscOptionsSetValue(NULL, "-dm_vec_type", VECCUDA));
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a cycle of k = %" PetscInt_FMT " is the host's%s: %s (%g)", k, t4 ? ", as on a T4" : "", Name(p, PETSC_TRUE),
                     (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDASetDevice(NULL));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCorrected(void)
{
  static const Problem arrays[2]  = {{2, {1025, 769, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                                     {3, {257, 161, 161}, DIRICHLET, VARYING, PETSC_FALSE}};
  static const Problem periods[6] = {{2, {512, 256, 1}, PERIODIC, VARYING, PETSC_FALSE},
                                     {2, {256, 257, 1}, PERIODIC_FIRST, VARYING, PETSC_FALSE},
                                     {2, {257, 256, 1}, PERIODIC_LAST, VARYING, PETSC_FALSE},
                                     {2, {768, 512, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
                                     {2, {384, 513, 1}, PERIODIC_FIRST, CONSTANT, PETSC_FALSE},
                                     {2, {513, 384, 1}, PERIODIC_LAST, CONSTANT, PETSC_FALSE}};
  PetscBool            cuda       = PETSC_FALSE;
  PetscMPIInt          size;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &cuda));
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 4; k <= 8; k += 2) PetscCall(TestSameCycle(size == 1 ? &streamed[0] : &streamed_cut, PETSC_TRUE, k));
  for (PetscInt k = 6; k <= 8; k++) PetscCall(TestFrame(size == 1 ? &streamed[1] : &streamed_cut, k, PETSC_FALSE));
  PetscCall(TestFrame(size == 1 ? &streamed[1] : &streamed_cut, 8, PETSC_TRUE));
  for (PetscInt k = 4; k <= 8 && size == 1; k += 2) PetscCall(TestFrame(&arrays[0], k, PETSC_FALSE));
  for (PetscInt k = 3; k <= 4 && size == 1; k++) PetscCall(TestFrame(&arrays[1], k, PETSC_FALSE));
  for (int i = 0; i < 6; i++) {
    for (PetscInt k = 4; k <= 8 && size == 1; k += 2) PetscCall(TestFrame(&periods[i], k, PETSC_FALSE));
    if (size == 1) PetscCall(TestFrame(&periods[i], 8, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the inverse a cycle is that of PCMG whose coarsest grid is solved by sweeps without end, or factorised */
static PetscErrorCode TestInverse(void)
{
  const Problem inverses[] = {{2, {33, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {33, 33, 1}, NEUMANN, VARYING, PETSC_TRUE},
                              {2, {32, 48, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, {3, {9, 17, 9}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {33, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},  {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}};
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(inverses); i++) {
    const Problem wide = Widen(&inverses[i]), *p = &wide;
    DM            da[2];
    Mat           A[2];
    PC            pc[2];
    Vec           b, x[2];
    PetscReal     diff;
    PetscBool     agree = PETSC_FALSE;

    PetscCall(MakeMatrices(p, PETSC_TRUE, da, A));
    PetscCall(DMCreateGlobalVector(da[0], &b));
    PetscCall(ProblemVector(da[0], 1, b));
    if (IsSingular(p)) PetscCall(SayConstants(A[0], b));
    PetscCall(MakePC(A[0], 3, 2, &pc[0]));
    PetscCall(PCHJMGSetCoarseSolve(pc[0], PC_HJMG_COARSE_SOLVE_INVERSE));
    PetscCall(PCHJMGSetTransfer(pc[0], PC_HJMG_TRANSFER_BILINEAR));
    PetscCall(PCHJMGSetGalerkin(pc[0], PETSC_TRUE));
    PetscCall(MakePeer(p, da[1], A[1], PETSC_TRUE, 3, 2, &pc[1]));
    PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_hjacobi_reduction 1e-12"));
    if (!IsSymmetric(p) && !IsInside(p)) PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_type redundant"));
    PetscCall(PCSetFromOptions(pc[1]));
    for (int v = 0; v < 2; v++) {
      PetscCall(VecDuplicate(b, &x[v]));
      PetscCall(PCApply(pc[v], b, x[v]));
      if (IsSingular(p)) PetscCall(RemoveMean(x[v]));
    }
    PetscCall(VecsAgree(x[0], x[1], HJTestDigits(1e-9), &agree, &diff));
    PetscCall(
      HJTestOK((PetscBool)(agree || size > 1), "the coarsest grid is solved to the end: %s (%g)", Name(p, PETSC_TRUE), (double)diff));
    PetscCall(PetscOptionsClearValue(NULL, "-other_mg_coarse_pc_hjacobi_reduction"));
    PetscCall(PetscOptionsSetValue(NULL, "-other_mg_coarse_pc_type", "hjacobi"));
    for (int v = 0; v < 2; v++) {
      PetscCall(VecDestroy(&x[v]));
      PetscCall(PCDestroy(&pc[v]));
      PetscCall(MatDestroy(&A[v]));
      PetscCall(DMDestroy(&da[v]));
    }
    PetscCall(VecDestroy(&b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's malloc, but for so many bytes, rounded up, of which there is no room */
static PetscErrorCode (*real_malloc)(size_t, PetscBool, int, const char[], const char[], void **);

static size_t no_room;

static PetscInt refusals; /* so many times */

static PetscErrorCode Refuse(size_t bytes, PetscBool clear, int line, const char fun[], const char file[], void **p)
{
  if (!refusals || bytes < no_room || bytes >= no_room + 64) return (*real_malloc)(bytes, clear, line, fun, file, p);
  refusals--;
  *p = NULL;
  return PetscError(PETSC_COMM_SELF, line, fun, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No room");
}

/* Where there is no memory for the inverse of the coarsest grid, of 17 x 17 points, or for making it, sweeps solve it. On one rank, on the
   host */
static PetscErrorCode TestNoRoom(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  PetscMPIInt   size;
  PetscBool     gpu;
  DM            da;
  Mat           A;
  PC            pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu));
  if (size > 1 || gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  for (int room = 1; room >= 0; room--) {
    PetscCall(MakePC(A, 3, 2, &pc));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
    real_malloc = PetscTrMalloc;
    no_room     = room ? 0 : 17 * 17 * 17 * 17 * sizeof(PetscScalar);
    refusals    = 100;
    if (!room) PetscTrMalloc = Refuse;
    PetscCall(PCSetUp(pc));
    PetscTrMalloc = real_malloc;
    CollectBegin();
    PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
    CollectEnd();
    PetscCall(HJTestOK((PetscBool)(strstr(printed, room ? "by the inverse of its matrix" : "its sweeps leave a hundredth") != NULL),
                       "%s memory for the inverse of the coarsest grid", room ? "there is" : "there is no"));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is memory for the inverse, but none for its transpose beside it */
static PetscErrorCode TestNoRoomTransposed(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  PetscMPIInt   size;
  PetscBool     gpu;
  DM            da;
  Mat           A;
  PC            pc;
  Vec           u, v;
  PetscReal     error;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu));
  if (size > 1 || gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, 2, &pc));
  PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  PetscCall(PCSetUp(pc));
  real_malloc   = PetscTrMalloc;
  no_room       = 17 * 17 * 17 * 17 * sizeof(PetscScalar);
  refusals      = 1;
  PetscTrMalloc = Refuse;
  PetscCall(TransposeError(pc, u, v, &error));
  PetscTrMalloc = real_malloc;
  PetscCall(HJTestOK((PetscBool)(!refusals && error <= HJTestDigits(1e-11)), "transposed, no memory for the inverse's transpose (%g)",
                     (double)error));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse operators are stars where all points of a 2D grid have one row but for the diagonal of those at the boundary */
static PetscErrorCode TestFramed(void)
{
  static const Problem p = {2, {33, 41, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
  static const struct {
    PetscInt    at[2];
    PetscScalar add; /* to the diagonal of a point */
    PetscBool   stars;
  } cases[] = {{{0, 0}, 0.0, PETSC_TRUE}, {{0, 5}, 3.0, PETSC_TRUE}, {{0, 5}, -1e-3, PETSC_FALSE}, {{31, 9}, 1.0, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const MatStencil point = {.i = cases[i].at[0], .j = cases[i].at[1]};
    PetscInt         lo[2], n[2];
    DM               da;
    Mat              A;
    PC               pc;
    PetscBool        holds = PETSC_FALSE;

    PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
    PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &n[0], &n[1], NULL));
    if (point.i >= lo[0] && point.i < lo[0] + n[0] && point.j >= lo[1] && point.j < lo[1] + n[1])
      PetscCall(MatSetValuesStencil(A, 1, &point, 1, &point, &cases[i].add, ADD_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MakePC(A, 3, 2, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc, cases[i].stars ? "operators: Galerkin products, summed into stars" : "operators: Galerkin\n", &holds));
    PetscCall(HJTestOK(holds, "a diagonal at %" PetscInt_FMT ", %" PetscInt_FMT " plus %g: %s", point.i, point.j,
                       (double)PetscRealPart(cases[i].add), cases[i].stars ? "stars" : "no stars"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More ranks than a coarse grid has points for */
static PetscErrorCode TestThin(void)
{
  const Problem p = {2, {9, 9, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  PC            pc;
  Vec           b, x;
  PetscReal     norm = 1.0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, 8, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(RelativeResidual(A, b, x, &norm));
  PetscCall(HJTestOK((PetscBool)(norm < 0.1), "thin ranks: a cycle leaves %g of the residual", (double)norm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA whose stencil is wider than the matrix: hjstencil does not take it, the PC's own grids do */
static PetscErrorCode TestWide(void)
{
  const Problem p = {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da, wide;
  Mat           A[2];
  Vec           b, x[2];
  PetscReal     diff;
  PetscBool     agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A[0]));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 65, 65, PETSC_DECIDE, PETSC_DECIDE, 1, 2,
                         NULL, NULL, &wide));
  PetscCall(DMSetFromOptions(wide));
  PetscCall(DMSetUp(wide));
  PetscCall(DMCreateMatrix(wide, &A[1]));
  PetscCall(ProblemFill(&p, wide, 0, A[1]));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(MakePC(A[i], 3, 2, &pc));
    PetscCall(PCApply(pc, b, x[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a DMDA of stencil width 2 (%g)", (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(MatDestroy(&A[i]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&wide));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of a coordinate, from 1 to the number of points, on the grid of a DMDA */
static PetscErrorCode FillPower(DM da, int d, int power, Vec v)
{
  PetscInt     s[3], n[3], at = 0;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++) {
        const PetscReal x = 1.0 + s[d] + (d == 0 ? i : d == 1 ? j : k);

        a[at++] = power == 0 ? 1.0 : power == 1 ? x : x * x;
      }
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The star of a product has the product's values of 1, of coordinates and of their squares, which say all of its entries; it is symmetric,
   also after new values */
static PetscErrorCode TestStars(const Problem *p)
{
  DM          fine, coarse;
  Mat         A, P, C[2];
  Vec         v, y[2];
  PetscScalar dot[2];
  PetscReal   diff  = 0;
  PetscBool   agree = PETSC_FALSE, all = PETSC_TRUE;
  MatInfo     info;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &fine));
  PetscCall(DMSetMatType(fine, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(fine, &A));
  PetscCall(ProblemFill(p, fine, 0, A));
  PetscCall(DMCoarsen(fine, PetscObjectComm((PetscObject)fine), &coarse));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[0]));
  PetscCall(HJMatTransferSetStars(P));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[1]));
  PetscCall(MatCreateVecs(C[0], &v, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  for (int again = 0; again < 2; again++) {
    for (int c = 0; c < 3 * p->dim; c++) {
      PetscCall(FillPower(coarse, c / 3, c % 3, v));
      for (int i = 0; i < 2; i++) PetscCall(MatMult(C[i], v, y[i]));
      PetscCall(VecsAgree(y[0], y[1], HJTestDigits(1e-12), &agree, &diff));
      all = (PetscBool)(all && agree);
    }
    PetscCall(MatScale(A, 3.0));
    for (int i = 0; i < 2; i++) PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[i]));
  }
  PetscCall(ProblemVector(coarse, 1, v));
  PetscCall(ProblemVector(coarse, 2, y[0]));
  PetscCall(MatMult(C[1], v, y[1]));
  PetscCall(VecDot(y[1], y[0], &dot[0]));
  PetscCall(MatMult(C[1], y[0], y[1]));
  PetscCall(VecDot(y[1], v, &dot[1]));
  PetscCall(MatGetInfo(C[1], MAT_GLOBAL_SUM, &info));
  {
    PetscInt n;

    PetscCall(VecGetSize(v, &n));
    all = (PetscBool)(all && info.nz_used <= (1.0 + 2 * p->dim) * n &&
                      PetscAbsScalar(dot[0] - dot[1]) <= HJTestDigits(1e-12) * PetscAbsScalar(dot[0]));
  }
  PetscCall(HJTestOK(all, "a star of a product: %s (%g)", Name(p, PETSC_TRUE), (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&y[i]));
    PetscCall(MatDestroy(&C[i]));
  }
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(void)
{
  const Problem stars[] = {{2, {33, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                           {3, {17, 9, 17}, DIRICHLET, CONSTANT, PETSC_FALSE},
                           {2, {33, 33, 1}, NEUMANN, CONSTANT, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestSameCycle(&problems[i], (PetscBool)stencil, 3));
    for (int inverse = 0; inverse < 2; inverse++) PetscCall(TestTranspose(&problems[i], (PetscBool)inverse));
  }
  PetscCall(TestInverse());
  PetscCall(TestNoRoom());
  PetscCall(TestNoRoomTransposed());
  PetscCall(TestCorrected());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(stars); i++) PetscCall(TestStars(&stars[i]));
  PetscCall(TestFramed());
  PetscCall(TestThin());
  PetscCall(TestWide());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For tools that make everything slow, one subject. 1: cycles on grids of all kinds; 2: corrections that sweeps add themselves;
   3: inverses */
static PetscErrorCode TestSubject(PetscInt subject)
{
  PetscFunctionBegin;
  for (size_t i = 2; i < PETSC_STATIC_ARRAY_LENGTH(problems) && subject == 1; i++) PetscCall(TestSameCycle(&problems[i], PETSC_TRUE, 3));
  if (subject == 2) PetscCall(TestCorrected());
  if (subject == 3) PetscCall(TestInverse());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt subject = 0;
  int      code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-subject", &subject, NULL));
  if (subject) PetscCall(TestSubject(subject));
  else PetscCall(TestAll());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}
