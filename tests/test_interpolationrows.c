/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   Interpolation from the rows of a matrix where something is special: symmetric matrices of which half is stored, constants that are kept,
   how many jumps are found, points without couplings, what is refused.
*/
#include "hjinterpolationcase.h"

/* Two products of the same values: as arrays of all slots and as a half */
typedef struct {
  Mat all, half;
} Halves;

/* Both are the same matrix, and the half is one in memory and in what it does */
static PetscErrorCode HalvesAgree(const Halves *h, PetscBool is_half, PetscBool *good)
{
  MatInfo   info[2];
  PetscBool agree = PETSC_FALSE, same = PETSC_TRUE;
  PetscReal diff;
  Vec       x, y[2];
  Mat       B;

  PetscFunctionBegin;
  PetscCall(MatConvert(h->all, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatsAgree(h->half, B, &agree));
  PetscCall(MatDestroy(&B));
  PetscCall(MatGetInfo(h->all, MAT_LOCAL, &info[0]));
  PetscCall(MatGetInfo(h->half, MAT_LOCAL, &info[1]));
  *good = (PetscBool)(agree && is_half == (PetscBool)(info[1].memory != info[0].memory));
  PetscCall(MatCreateVecs(h->all, &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(VecSetRandom(x, NULL));
  for (int m = 0; m < 3; m++) {
    for (int i = 0; i < 2; i++) {
      Mat A = i ? h->half : h->all;

      PetscCall(m == 0 ? MatMult(A, x, y[i]) : m == 1 ? MatMultTranspose(A, x, y[i]) : MatGetDiagonal(A, y[i]));
    }
    PetscCall(VecsAgree(y[0], y[1], 64 * PETSC_MACHINE_EPSILON, &same, &diff));
    *good = (PetscBool)(*good && same);
  }
  PetscCall(HJTestDestroy(&x, &y[0], &y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of symmetric matrices that keep half the coefficients: those that keep all, also of one another; changed as others are */
static PetscErrorCode TestHalf(const Weighted *w)
{
  Grids              g;
  Halves             first, second, copy;
  HJTransfer         t;
  HJSetInterpolation set;
  HJJump             jump[2];
  PetscBool          good[5] = {PETSC_FALSE}, larger;
  DM                 coarser;
  Mat                P;
  Vec                scale;
  PetscScalar        v   = 2.5;
  PetscInt           row = 0;

  PetscFunctionBegin;
  PetscCall(GridsCreate(PETSC_COMM_SELF, w, &g));
  PetscCall(MatPtAP(g.A, g.P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &first.all));
  PetscCall(HJMatTransferSetSymmetric(g.P, PETSC_TRUE));
  PetscCall(MatPtAP(g.A, g.P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &first.half));
  PetscCall(HalvesAgree(&first, PETSC_TRUE, &good[0]));
  PetscCall(Coarsen(g.coarse, w, &coarser, &t));
  PetscCall(HJMatCreateTransfer(coarser, g.coarse, &t, &P));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_SET_INTERPOLATION, &set));
  PetscCall((*set)(P, first.all, PETSC_TRUE, -1.0, &jump[0]));
  PetscCall(MatPtAP(first.all, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &second.all));
  PetscCall((*set)(P, first.half, PETSC_TRUE, -1.0, &jump[1]));
  PetscCall(HJMatTransferSetSymmetric(P, PETSC_TRUE));
  PetscCall(MatPtAP(first.half, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &second.half));
  PetscCall(HalvesAgree(&second, PETSC_TRUE, &good[1]));
  good[1] = (PetscBool)(good[1] && jump[0].points == jump[1].points &&
                        PetscAbsReal(jump[0].largest - jump[1].largest) <= HJTestDigits(1e-12));
  PetscCall((*set)(P, NULL, PETSC_TRUE, 0.0, &jump[0])); /* bilinear */
  PetscCall(MatPtAP(first.half, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &second.half));
  PetscCall(HJMatTransferSetSymmetric(P, PETSC_FALSE));
  PetscCall(MatPtAP(first.all, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &second.all));
  PetscCall(HalvesAgree(&second, PETSC_TRUE, &good[2]));
  for (int i = 0; i < 2; i++) {
    Mat *C = i ? &copy.half : &copy.all;

    PetscCall(MatDuplicate(i ? first.half : first.all, MAT_COPY_VALUES, C));
    PetscCall(MatScale(*C, 1.5));
    PetscCall(MatShift(*C, 0.25));
  }
  PetscCall(HalvesAgree(&copy, PETSC_TRUE, &good[4]));
  for (int i = 0; i < 2; i++) {
    Mat C = i ? copy.half : copy.all;

    PetscCall(MatCreateVecs(C, &scale, NULL));
    PetscCall(VecSet(scale, 1.0));
    PetscCall(VecSetValue(scale, 0, 3.0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(scale));
    PetscCall(VecAssemblyEnd(scale));
    PetscCall(MatDiagonalScale(C, scale, NULL)); /* no longer symmetric */
    PetscCall(MatSetValues(C, 1, &row, 1, &row, &v, ADD_VALUES));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(VecDestroy(&scale));
  }
  PetscCall(HalvesAgree(&copy, PETSC_FALSE, &larger));
  good[4] = (PetscBool)(good[4] && larger);
  PetscCall(HJMatTransferSetSymmetric(g.P, PETSC_FALSE));
  PetscCall(MatPtAP(g.A, g.P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &first.half)); /* no longer known to be symmetric */
  PetscCall(HalvesAgree(&first, PETSC_FALSE, &good[3]));
  PetscCall(HJTestOK((PetscBool)(good[0] && good[1] && good[2] && good[3] && good[4]),
                     "%dD %d x %d x %d, refined by %d,%d,%d: a half is what all slots are%s%s%s%s%s", (int)w->c.dim, (int)w->c.n[0],
                     (int)w->c.n[1], (int)w->c.n[2], (int)w->factor[0], (int)w->factor[1], (int)w->factor[2],
                     good[0] ? "" : ", not the first product", good[1] ? "" : ", not the second", good[2] ? "" : ", not the bilinear one",
                     good[3] ? "" : ", not all of it", good[4] ? "" : ", not when changed"));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(i ? &first.half : &first.all));
    PetscCall(MatDestroy(i ? &second.half : &second.all));
    PetscCall(MatDestroy(i ? &copy.half : &copy.all));
  }
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&coarser));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank, as halves are; thin grids too, on which offsets lead outside at both ends */
static PetscErrorCode TestHalves(void)
{
  const Weighted cases[] = {
    {.c = {1, {41, 1, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 1, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {70, 43, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {30, 29, 1}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {1, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {2, 19, 1}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {1, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {19, 3, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 1}, .symmetric = PETSC_TRUE, .mixed = PETSC_TRUE},
    {.c = {3, {21, 18, 13}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {9, 14, 11}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 1, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {5, 3, 4}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 2, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {2, 1, 12}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 1, 2}, .symmetric = PETSC_TRUE},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases) && size == 1; i++) PetscCall(TestHalf(&cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings to later points times what d has at the point: no scale of rows makes that symmetric */
static PetscErrorCode MakeUnsymmetric(Mat A, Vec d)
{
  const PetscScalar *factor;
  PetscInt           lo, hi;
  Mat                B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(A, &lo, &hi));
  PetscCall(VecGetArrayRead(d, &factor));
  for (PetscInt row = lo; row < hi; row++) {
    const PetscInt    *cols;
    const PetscScalar *v;
    PetscInt           n;

    PetscCall(MatGetRow(B, row, &n, &cols, &v));
    for (PetscInt e = 0; e < n; e++)
      if (cols[e] > row) PetscCall(MatSetValue(A, row, cols[e], factor[row - lo] * v[e], INSERT_VALUES));
    PetscCall(MatRestoreRow(B, row, &n, &cols, &v));
  }
  PetscCall(VecRestoreArrayRead(d, &factor));
  PetscCall(MatDestroy(&B));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where coefficients jump at many points coarse grids have more subiterations, of symmetric matrices alone, also of those whose rows are
   scaled: polynomials of high degree may grow at complex eigenvalues */
static PetscErrorCode TestMany(PetscBool symmetric, PetscBool scaled)
{
  const Jumps p = {2, 65, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0};
  DM          da;
  Mat         A;
  PC          pc;
  Vec         d;
  PetscRandom random;
  PetscBool   many = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &d));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, 1.0, 1.5));
  PetscCall(VecSetRandom(d, random));
  PetscCall(PetscRandomDestroy(&random));
  if (scaled) PetscCall(MatDiagonalScale(A, d, NULL));
  if (!symmetric) PetscCall(MakeUnsymmetric(A, d));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCHJMGSetLevels(pc, 4));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "k = 16,", &many));
  PetscCall(HJTestOK((PetscBool)(many == symmetric), "jumps at many points, %ssymmetric%s: coarse grids have %s subiterations",
                     symmetric ? "" : "un", scaled ? ", rows scaled" : "", many ? "more" : "no more"));
  PetscCall(HJTestDestroy(&pc, &d, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the coefficients of a matrix keep constants; then the coarse grid and the Galerkin product take the place of the fine ones */
static PetscErrorCode KeepConstants(DM *da, Mat *A, PetscReal *worst, HJJump *jump)
{
  DM                 coarse;
  Mat                P, product;
  Vec                x, y;
  HJTransfer         t;
  HJSetInterpolation set;
  char               reason[256];

  PetscFunctionBegin;
  PetscCall(DMCoarsen(*da, PETSC_COMM_WORLD, &coarse));
  PetscCall(HJTransferSet(coarse, *da, NULL, &t, reason, sizeof(reason)));
  PetscCall(HJMatCreateTransfer(coarse, *da, &t, &P));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_SET_INTERPOLATION, &set));
  PetscCall((*set)(P, *A, PETSC_TRUE, -1.0, jump));
  PetscCall(MatCreateVecs(P, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(P, x, y));
  PetscCall(VecShift(y, -1.0));
  PetscCall(VecNorm(y, NORM_INFINITY, worst));
  PetscCall(MatPtAP(*A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(HJTestDestroy(&x, &y, &P));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  *A  = product;
  *da = coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without a sum: constants stay, on coarse grids too, whose products have couplings of both signs; and again where the signs of all
   entries are the others */
static PetscErrorCode TestConstants(PetscInt dim, PetscReal sign)
{
  const Jumps p = {dim, dim < 3 ? 65 : 33, BLOCKS, HJTestDigits(1e6), 3, SAMPLED, NEUMANN, 0, 0};
  DM          da;
  Mat         A;
  HJJump      jump;
  PetscReal   worst;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(MatScale(A, sign));
  for (int level = 0; level < 3; level++) {
    PetscCall(KeepConstants(&da, &A, &worst, &jump));
    /* a row's sum is rounding of its largest entry, 1e6 times what is left of it after the others */
    PetscCall(HJTestOK((PetscBool)(worst <= HJTestDigits(1e-8) && jump.largest > HJ_BY_PRECISION(0.9, 0.8) && jump.largest <= 1.0),
                       "%dD, sign %g, level %d: constants stay (%g), the jump is %g", (int)dim, (double)sign, level, (double)worst,
                       (double)jump.largest));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings in one direction alone, or none at all: no coefficient is NaN, and where nothing says more they are bilinear */
static PetscErrorCode TestUncoupled(PetscBool lines)
{
  Weighted           w = {.c         = {2, {17, 16, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS},
                          .factor    = {2, 2, 1},
                          .symmetric = PETSC_TRUE};
  Grids              g;
  HJSetInterpolation set;
  Vec                x, y;
  PetscReal          least, most;
  HJJump             jump;

  PetscFunctionBegin;
  PetscCall(GridsCreate(PETSC_COMM_WORLD, &w, &g));
  PetscCall(MatZeroEntries(g.A));
  if (lines) {
    PetscInt s[3], n[3];

    PetscCall(DMDAGetCorners(g.fine, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++) {
        const MatStencil  row = {.i = i, .j = j}, col[3] = {{.i = i, .j = j}, {.i = i - 1, .j = j}, {.i = i + 1, .j = j}};
        const PetscScalar v[] = {2.0, -1.0, -1.0};

        PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col, v, INSERT_VALUES));
        if (i) PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col + 1, v + 1, INSERT_VALUES));
        if (i < 16) PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col + 2, v + 2, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(g.A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(g.A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)g.P, HJ_SET_INTERPOLATION, &set));
  PetscCall((*set)(g.P, g.A, PETSC_TRUE, -1.0, &jump));
  PetscCall(MatCreateVecs(g.P, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(g.P, x, y));
  PetscCall(VecMin(y, NULL, &least));
  PetscCall(VecMax(y, NULL, &most));
  PetscCall(HJTestOK((PetscBool)(lines ? PetscAbsReal(least - 1) < HJTestDigits(1e-14) && PetscAbsReal(most - 1) < HJTestDigits(1e-14)
                                       : least == 0.0 && most == 0.0),
                     "%s: a constant becomes %g to %g", lines ? "couplings along lines alone" : "no entry at all", (double)least,
                     (double)most));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  const Jumps    p = {2, 33, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0};
  DM             da;
  Mat            A;
  PC             pc;
  PCHJMGTransfer transfer;
  PetscBool      holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCHJMGSetLevels(pc, 2));
  PetscCall(PCHJMGGetTransfer(pc, &transfer));
  PetscCall(HJTestOK((PetscBool)(transfer == PC_HJMG_TRANSFER_AUTO), "auto is the default"));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjmg_transfer", "operator"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjmg_transfer"));
  PetscCall(PCHJMGGetTransfer(pc, &transfer));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, FROM_MATRIX, &holds));
  PetscCall(HJTestOK((PetscBool)(transfer == PC_HJMG_TRANSFER_OPERATOR && holds), "-pc_hjmg_transfer operator"));
  PetscCall(PCHJMGSetTransfer(pc, PC_HJMG_TRANSFER_BILINEAR));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, FROM_GRID, &holds));
  PetscCall(HJTestOK(holds, "bilinear after the matrix's"));
  ExpectError(PCHJMGSetTransfer(pc, (PCHJMGTransfer)7), "an unknown transfer", "Unknown value 7", "PCHJMGSetTransfer()");
  ExpectError(PCHJMGGetTransfer(pc, NULL), "nowhere to put the transfer", "Null Pointer: Parameter # 2");
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestHalves());
  for (PetscInt dim = 1; dim <= 3; dim++) PetscCall(TestConstants(dim, dim % 2 ? 1.0 : -1.0));
  PetscCall(TestMany(PETSC_TRUE, PETSC_FALSE));
  PetscCall(TestMany(PETSC_TRUE, PETSC_TRUE));
  PetscCall(TestMany(PETSC_FALSE, PETSC_FALSE));
  PetscCall(TestUncoupled(PETSC_TRUE));
  PetscCall(TestUncoupled(PETSC_FALSE));
  PetscCall(TestRefused());
  return HJTestEnd();
}
