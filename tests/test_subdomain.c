/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, nan: 1 */
/*
   Parts of a DMDA as DMCreateDomainDecomposition() makes them: their first index is not 0, and DMDAGetInfo() tells the size of the whole.
*/
#include "hjproblem.h"

#include <petscsnes.h>

typedef struct {
  PetscInt       dim, n[3], overlap, parts; /* parts: of each rank */
  DMBoundaryType boundary;
  PetscBool      box;
} Case;

static PetscErrorCode CreateWhole(const Case *c, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, c->n[0], c->n[1], c->n[2]));
  PetscCall(
    DMDASetBoundaryType(*da, c->boundary, c->dim > 1 ? c->boundary : DM_BOUNDARY_NONE, c->dim > 2 ? c->boundary : DM_BOUNDARY_NONE));
  PetscCall(DMDASetStencilType(*da, c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMDASetOverlap(*da, c->overlap, c->overlap, c->overlap));
  PetscCall(DMDASetNumLocalSubDomains(*da, c->parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coefficient of each face, by the numbers that the user has for its points */
static PetscScalar Face(const PetscInt p[3], const PetscInt q[3])
{
  return 1.5 + PetscSinReal(1.3 * (p[0] + q[0]) + 0.7 * (p[1] + q[1]) + 2.1 * (p[2] + q[2]));
}

static PetscInt PartRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Case *c   = (const Case *)ctx;
  PetscScalar sum = 0.0;
  PetscInt    n   = 1;

  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, q[3] = {at[0] + off[0], at[1] + off[1], at[2] + off[2]};
    const PetscInt far = PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]);

    if (!far || (!c->box && far > 1) || (c->dim < 3 && off[2]) || (c->dim < 2 && off[1])) continue;
    col[n] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]}; /* one that is not in the part is dropped */
    v[n]   = -Face(at, q) / far;
    sum -= v[n++];
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = sum + (c->boundary == DM_BOUNDARY_PERIODIC ? 0.1 : 0.0);
  return n;
}

/* type NULL: AIJ, where the options have it */
static PetscErrorCode MakeMatrix(DM da, const Case *c, MatType type, Mat *A)
{
  PetscFunctionBegin;
  if (type) PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, A));
  /* PETSc's pattern of a part that begins at a negative number, as that of a periodic DMDA does, has no place for all entries */
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(FillRows(da, PartRow, c, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random(Mat A, PetscInt seed, Vec *x)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, NULL));
  PetscCall(VecGetLocalSize(*x, &n));
  PetscCall(VecGetArrayWrite(*x, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = PetscSinReal(12.9898 * i + 78.233 * seed);
  PetscCall(VecRestoreArrayWrite(*x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of a stencil matrix are those of AIJ, so are its arrays, which have the user's numbers */
static PetscErrorCode CheckMatrix(DM da, PetscInt dim, Mat A, Mat S, PetscBool *good)
{
  Vec       x, y[2], d;
  PetscReal diff;
  PetscBool agree;
  void     *array, *diagonal;
  PetscInt  s[3], w[3];

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  PetscCall(Random(A, 1, &x));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(x, &y[i]));
  PetscCall(VecDuplicate(x, &d));
  for (int transposed = 0; transposed < 2; transposed++) {
    PetscCall(transposed ? MatMultTranspose(A, x, y[0]) : MatMult(A, x, y[0]));
    PetscCall(transposed ? MatMultTranspose(S, x, y[1]) : MatMult(S, x, y[1]));
    PetscCall(VecsAgree(y[1], y[0], 64 * PETSC_MACHINE_EPSILON, &agree, &diff));
    *good = (PetscBool)(*good && agree);
  }
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(MatHJStencilGetArray(S, 0, 0, 0, &array));
  PetscCall(DMDAVecGetArrayRead(da, d, &diagonal));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        if (dim == 1) agree = (PetscBool)(((PetscScalar *)array)[i] == ((PetscScalar *)diagonal)[i]);
        else if (dim == 2) agree = (PetscBool)(((PetscScalar **)array)[j][i] == ((PetscScalar **)diagonal)[j][i]);
        else agree = (PetscBool)(((PetscScalar ***)array)[k][j][i] == ((PetscScalar ***)diagonal)[k][j][i]);
        *good = (PetscBool)(*good && agree);
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, d, &diagonal));
  PetscCall(MatHJStencilRestoreArray(S, 0, 0, 0, &array));
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(HJTestDestroy(&y[0], &y[1], &x, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyCycle(DM da, Mat A, PCHJacobiOperator kind, PetscReal omega, Vec b, Vec x)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(PCHJacobiSetOperator(pc, kind));
  if (omega > 0) {
    PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
    PetscCall(PCHJacobiSetOmega(pc, omega));
  }
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle is that through MatMult(); one with a bound that is found is a number */
static PetscErrorCode CheckJacobi(DM da, Mat A, PetscBool *good)
{
  Vec       b, x, y;
  PetscReal diff, norm;

  PetscFunctionBegin;
  PetscCall(Random(A, 2, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(ApplyCycle(da, A, PC_HJACOBI_OPERATOR_STENCIL, 0.8, b, x));
  PetscCall(ApplyCycle(da, A, PC_HJACOBI_OPERATOR_MATRIX, 0.8, b, y));
  PetscCall(VecsAgree(x, y, 16 * 25 * PETSC_MACHINE_EPSILON, good, &diff));
  PetscCall(ApplyCycle(da, A, PC_HJACOBI_OPERATOR_STENCIL, 0.0, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  *good = (PetscBool)(*good && norm > 0 && !PetscIsInfOrNanReal(norm));
  PetscCall(HJTestDestroy(&x, &y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMG(DM da, Mat A, PetscInt *its, PetscReal *residual)
{
  KSP                ksp;
  PC                 pc;
  Vec                b, x;
  PetscInt           n;
  PetscReal          r;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Random(A, 3, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemKSP(da, A, KSPCG, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-10), PETSC_DEFAULT, PETSC_DEFAULT, 50));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(ProblemSolve(ksp, A, b, x, &n, &reason, &r));
  *its      = PetscMax(*its, n);
  *residual = PetscMax(*residual, r);
  PetscCall(HJTestDestroy(&ksp, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestParts(const Case *c)
{
  const char *const names[] = {"none", "ghosted", "mirror", "periodic"};
  DM                da, *part;
  PetscInt          n, its       = 0;
  PetscBool         good, matrix = PETSC_TRUE, jacobi = PETSC_TRUE;
  PetscReal         residual = 0.0;
  char              name[128];

  PetscFunctionBegin;
  PetscCall(CreateWhole(c, &da));
  PetscCall(DMCreateDomainDecomposition(da, &n, NULL, NULL, NULL, &part));
  for (PetscInt i = 0; i < n; i++) {
    Mat     A, S;
    MatType mattype;
    VecType vectype;

    PetscCall(DMGetMatType(da, &mattype));
    PetscCall(DMGetVecType(da, &vectype));
    PetscCall(DMSetMatType(part[i], mattype)); /* a part does not read options */
    PetscCall(DMSetVecType(part[i], vectype));
    PetscCall(MakeMatrix(part[i], c, NULL, &A));
    PetscCall(MakeMatrix(part[i], c, MATHJSTENCIL, &S));
    PetscCall(CheckMatrix(part[i], c->dim, A, S, &good));
    matrix = (PetscBool)(matrix && good);
    for (int stencil = 0; stencil < 2; stencil++) {
      PetscCall(CheckJacobi(part[i], stencil ? S : A, &good));
      jacobi = (PetscBool)(jacobi && good);
      PetscCall(CheckMG(part[i], stencil ? S : A, &its, &residual));
    }
    PetscCall(HJTestDestroy(&A, &S, &part[i]));
  }
  PetscCall(PetscFree(part));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscSNPrintf(name, sizeof(name),
                          "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", boundary %s, %s, overlap %" PetscInt_FMT
                          ", %" PetscInt_FMT " parts a rank",
                          c->n[0], c->n[1], c->n[2], names[c->boundary], c->box ? "box" : "star", c->overlap, c->parts));
  PetscCall(HJTestOK(matrix, "%s: products and arrays of hjstencil", name));
  PetscCall(HJTestOK(jacobi, "%s: cycles of hjacobi", name));
  PetscCall(HJTestOK((PetscBool)(its <= 12 && residual <= HJTestDigits(1e-9)), "%s: hjmg, %d iterations, residual %g", name, (int)its,
                     (double)residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA on all ranks whose numbers are moved: the same matrix, but for the numbers, solves as that of one that is not */
static PetscErrorCode TestMoved(const Case *c)
{
  const PetscInt by[3]    = {5, -3, 7};
  PetscInt       its[2]   = {0, 0};
  PetscReal      residual = 0.0;
  PetscBool      good, all = PETSC_TRUE;
  DM             da;
  Mat            A, S;

  PetscFunctionBegin;
  for (int moved = 0; moved < 2; moved++) {
    PetscCall(CreateWhole(c, &da));
    if (moved)
      PetscCall(DMDASetOffset(da, by[0], c->dim > 1 ? by[1] : 0, c->dim > 2 ? by[2] : 0, 10 * c->n[0], 10 * c->n[1], 10 * c->n[2]));
    PetscCall(MakeMatrix(da, c, NULL, &A));
    PetscCall(MakeMatrix(da, c, MATHJSTENCIL, &S));
    PetscCall(CheckMatrix(da, c->dim, A, S, &good));
    all = (PetscBool)(all && good);
    PetscCall(CheckJacobi(da, A, &good));
    all = (PetscBool)(all && good);
    PetscCall(CheckJacobi(da, S, &good));
    all = (PetscBool)(all && good);
    PetscCall(CheckMG(da, A, &its[moved], &residual));
    PetscCall(CheckMG(da, S, &its[moved], &residual));
    PetscCall(HJTestDestroy(&A, &S, &da));
  }
  PetscCall(HJTestOK((PetscBool)(all && residual <= HJTestDigits(1e-9) && PetscAbsInt(its[0] - its[1]) <= 1),
                     "%dD, numbers moved by an offset: products, arrays, cycles, and hjmg in %d (not moved: %d) iterations", (int)c->dim,
                     (int)its[1], (int)its[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a wrong entry is said to be has the user's numbers */
static PetscErrorCode TestMessage(void)
{
  const Case c = {2, {19, 21, 1}, 2, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE};
  DM         da;
  Mat        A;
  PC         pc;
  PetscBool  is;
  PetscInt   first;

  PetscFunctionBegin;
  PetscCall(CreateWhole(&c, &da));
  PetscCall(DMDASetOffset(da, 100, 200, 0, 1000, 1000, 1));
  PetscCall(MakeMatrix(da, &c, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  if (!first) PetscCall(MatSetValue(A, 0, 3, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "row 0 (grid point 100,200,0) has a nonzero more than one grid point away", &is));
  PetscCall(HJTestOK(is, "a reason names a point by the numbers that the user has for it"));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCASM with subdomains of the DMDA */
static PetscErrorCode CreateASM(DM da, Mat A, KSPType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(da, A, type, PCASM, ksp, &pc));
  PetscCall(PCASMSetDMSubdomains(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Outer iterations of PCASM with subdomains of the DMDA, which are solved to the last digits; *same: as many with other values */
static PetscErrorCode SolveASM(const Case *c, MatType type, PCType sub, PetscInt *its, PetscReal *residual, PetscBool *same)
{
  DM                 da;
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  PetscInt           again;
  PetscMPIInt        size;
  KSPConvergedReason reason;
  PetscBool          sorted = PETSC_TRUE, hjmg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", sub));
  PetscCall(CreateWhole(c, &da));
  PetscCall(MakeMatrix(da, c, type, &A));
  PetscCall(CreateASM(da, A, KSPGMRES, &ksp));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(Random(A, 4, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemSolve(ksp, A, b, x, its, &reason, residual));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscStrcmp(sub, PCHJMG, &hjmg));
  if (hjmg && c->dim > 1 && size == 4)
    PetscCall(ObjectViewHolds((PetscObject)ksp, PETSC_VIEWER_DEFAULT, "the rows are sorted rank by rank", &sorted));
  PetscCall(MatScale(A, 3.0));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &again));
  *same = (PetscBool)(sorted && again == *its);
  PetscCall(HJTestDestroy(&x, &b, &ksp, &A, &da));
  PetscCall(PetscOptionsClearValue(NULL, "-sub_pc_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A subdomain whose matrix leaves no preconditioner ends the solve, and not the program, also where its rows are sorted */
static PetscErrorCode TestFailure(PCType sub)
{
  const Case         c = {2, {25, 21, 1}, 2, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE};
  DM                 da;
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  PetscInt           end;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", sub));
  PetscCall(CreateWhole(&c, &da));
  PetscCall(MakeMatrix(da, &c, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, NULL, &end));
  PetscCall(MatSetValue(A, end - 1, end - 1, NAN, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateASM(da, A, KSPGMRES, &ksp)); /* PETSc's default method */
  PetscCall(Random(A, 4, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemSolve(ksp, A, b, x, &end, &reason, NULL));
  PetscCall(HJTestOK((PetscBool)(reason < 0), "PCASM of a matrix with NaN, subdomains by %s: reason %d", sub, (int)reason));
  PetscCall(HJTestDestroy(&x, &b, &ksp, &A, &da));
  PetscCall(PetscOptionsClearValue(NULL, "-sub_pc_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Function(DMDALocalInfo *info, PetscScalar **x, PetscScalar **f, void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      const PetscScalar u = x[j][i];

      if (i == 0 || j == 0 || i == info->mx - 1 || j == info->my - 1) f[j][i] = 4.0 * u;
      else f[j][i] = 4.0 * u + 0.1 * u * u * u - x[j][i - 1] - x[j][i + 1] - x[j - 1][i] - x[j + 1][i] - 0.1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(DMDALocalInfo *info, PetscScalar **x, Mat A, Mat P, void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      const PetscBool  wall   = (PetscBool)(i == 0 || j == 0 || i == info->mx - 1 || j == info->my - 1);
      const MatStencil row    = {.i = i, .j = j},
                       col[5] = {{.i = i, .j = j}, {.i = i - 1, .j = j}, {.i = i + 1, .j = j}, {.i = i, .j = j - 1}, {.i = i, .j = j + 1}};
      const PetscScalar v[5]  = {wall ? 4.0 : 4.0 + 0.3 * x[j][i] * x[j][i], -1.0, -1.0, -1.0, -1.0};

      PetscCall(MatSetValuesStencil(P, 1, &row, wall ? 1 : 5, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveNASM(const Case *c, MatType type, PCType sub, PetscReal *norm)
{
  DM   da;
  SNES snes;
  Vec  x, r;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", sub));
  PetscCall(CreateWhole(c, &da));
  if (type) PetscCall(DMSetMatType(da, type));
  PetscCall(DMDASNESSetFunctionLocal(da, INSERT_VALUES, (PetscErrorCode(*)(DMDALocalInfo *, void *, void *, void *))Function, NULL));
  PetscCall(DMDASNESSetJacobianLocal(da, (PetscErrorCode(*)(DMDALocalInfo *, void *, Mat, Mat, void *))Jacobian, NULL));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetType(snes, SNESNASM));
  PetscCall(SNESNASMSetType(snes, PC_ASM_RESTRICT));
  PetscCall(SNESSetTolerances(snes, 0, 0, 0, 6, PETSC_DEFAULT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(ProblemVectors(da, &x, &r));
  PetscCall(VecSet(x, 0.0));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESComputeFunction(snes, x, r));
  PetscCall(VecNorm(r, NORM_2, norm));
  PetscCall(HJTestDestroy(&x, &r, &snes, &da));
  PetscCall(PetscOptionsClearValue(NULL, "-sub_pc_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subdomains that are solved to the last digits: whoever solves them, outer iterations are the same */
static PetscErrorCode TestSolvers(const Case *c)
{
  const PCType  sub[]  = {PCHJACOBI, PCHJMG};
  const MatType type[] = {NULL, MATHJSTENCIL};
  PetscInt      want, its;
  PetscReal     residual, norm[2];
  PetscBool     same;
  PetscMPIInt   size;
  PetscBool     solves;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (c->boundary == DM_BOUNDARY_PERIODIC && size < 4) PetscFunctionReturn(PETSC_SUCCESS); /* overlap would be with oneself */
  PetscCall(PetscOptionsInsertString(NULL, "-sub_ksp_type gmres -sub_ksp_max_it 400 -sub_ksp_norm_type preconditioned"));
  PetscCall(PetscOptionsInsertString(NULL, HJ_BY_PRECISION("-sub_ksp_rtol 1e-13", "-sub_ksp_rtol 1e-6")));
  PetscCall(SolveASM(c, NULL, PCLU, &want, &residual, &same));
  solves = (PetscBool)(residual <= HJTestDigits(1e-6));
  if (!solves) PetscCall(HJTestNote("PCASM with PETSc's own LU does not solve here: left out"));
  for (int t = 0; t < 2 && solves; t++) {
    for (int s = 0; s < 2; s++) {
      PetscCall(SolveASM(c, type[t], sub[s], &its, &residual, &same));
      PetscCall(HJTestOK((PetscBool)(same && PetscAbsInt(its - want) <= 1 && residual <= HJTestDigits(1e-6)),
                         "%dD PCASM, %s, overlap %d, %s, subdomains by %s: %d iterations, by LU %d, residual %g", (int)c->dim,
                         c->boundary == DM_BOUNDARY_PERIODIC ? "periodic" : "walls", (int)c->overlap, t ? "hjstencil" : "aij", sub[s],
                         (int)its, (int)want, (double)residual));
    }
  }
  if (c->dim != 2 || c->boundary == DM_BOUNDARY_PERIODIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SolveNASM(c, NULL, PCLU, &norm[0]));
  for (int t = 0; t < 2; t++) {
    for (int s = 0; s < 2; s++) {
      PetscCall(SolveNASM(c, type[t], sub[s], &norm[1]));
      PetscCall(HJTestOK((PetscBool)(PetscAbsReal(norm[1] - norm[0]) <= HJTestDigits(1e-6) * norm[0] + HJTestDigits(1e-10)),
                         "NASM, overlap %d, %s, subdomains by %s: %g, by LU %g", (int)c->overlap, t ? "hjstencil" : "aij", sub[s],
                         (double)norm[1], (double)norm[0]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case parts[] = {
    {1, {40, 1, 1}, 2, 1, DM_BOUNDARY_NONE, PETSC_FALSE},      {1, {9, 1, 1}, 3, 1, DM_BOUNDARY_PERIODIC, PETSC_FALSE},
    {2, {33, 29, 1}, 0, 1, DM_BOUNDARY_NONE, PETSC_FALSE},     {2, {33, 29, 1}, 1, 2, DM_BOUNDARY_NONE, PETSC_TRUE},
    {2, {34, 27, 1}, 3, 1, DM_BOUNDARY_PERIODIC, PETSC_FALSE}, {2, {65, 70, 1}, 2, 1, DM_BOUNDARY_GHOSTED, PETSC_TRUE},
    {2, {5, 4, 1}, 1, 1, DM_BOUNDARY_NONE, PETSC_FALSE},       {3, {13, 14, 17}, 2, 1, DM_BOUNDARY_NONE, PETSC_FALSE},
    {3, {12, 9, 8}, 1, 1, DM_BOUNDARY_PERIODIC, PETSC_TRUE},
  };
  const Case moved[] = {
    {1, {60, 1, 1}, 0, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},
    {2, {37, 29, 1}, 0, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},
    {2, {70, 65, 1}, 0, 1, DM_BOUNDARY_GHOSTED, PETSC_TRUE},
    {3, {17, 12, 19}, 0, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},
  };
  const Case solvers[] = {
    {1, {70, 1, 1}, 2, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},  {2, {25, 21, 1}, 2, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},
    {2, {22, 19, 1}, 3, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE}, {2, {24, 21, 1}, 2, 1, DM_BOUNDARY_PERIODIC, PETSC_TRUE},
    {3, {11, 13, 9}, 1, 1, DM_BOUNDARY_GHOSTED, PETSC_FALSE},
  };

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(parts); i++) PetscCall(TestParts(&parts[i]));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(moved); i++) PetscCall(TestMoved(&moved[i]));
  PetscCall(TestMessage());
  PetscCall(TestFailure(PCHJACOBI));
  PetscCall(TestFailure(PCHJMG));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solvers); i++) PetscCall(TestSolvers(&solvers[i]));
  return HJTestEnd();
}
