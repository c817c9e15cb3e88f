/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Diagonal entries that are zero, missing, tiny, negative: the true residual of what says it has converged, on every storage, by PCHJMG,
   PCHJACOBI and PCMG; transposes, new values, scales, coarse grids whose diagonal cancels.
*/
#include "hjproblem.h"

typedef enum {
  ZERO,    /* at the middle point */
  MISSING, /* there is no entry */
  TINY,    /* 1e-20 of what it was */
  TINIEST, /* 1e-300 */
  WEAK,    /* 1e-5 of what it was */
  NEGATIVE,
  WALL,   /* zero at a point beside a wall */
  CORNER, /* zero at the first point */
  SEVERAL /* zero at a point in fifty */
} Damage;
static const char *const damages[] = {"zero",           "missing",          "1e-20",        "1e-300", "1e-5", "negative",
                                      "zero at a wall", "zero in a corner", "several zeros"};

typedef struct {
  PetscInt  dim, n;
  Damage    damage;
  PetscBool stencil, varying; /* varying: more rows than a dictionary has */
  PetscBool filled;           /* AIJ has zeros where none are set */
} Case;

static const char *Name(const Case *c)
{
  static char name[128];

  (void)PetscSNPrintf(name, sizeof(name), "%s, %" PetscInt_FMT "D, %" PetscInt_FMT " points a side, %s%s", damages[c->damage], c->dim, c->n,
                      c->stencil ? "hjstencil" : "AIJ", c->varying ? ", varying" : "");
  return name;
}

/* The diagonal of the points that are damaged; *skip: there is none */
static PetscBool DamageAt(const Case *c, const PetscInt p[3], PetscReal was, PetscReal *is, PetscBool *skip)
{
  const PetscInt m = c->n / 2, middle[3] = {m, c->dim > 1 ? m : 0, c->dim > 2 ? m : 0}, wall[3] = {0, middle[1], middle[2]};
  const PetscInt first[3] = {0, 0, 0}, *at = c->damage == WALL ? wall : c->damage == CORNER ? first : middle;
  const PetscInt number = (p[2] * c->n + p[1]) * c->n + p[0];
  PetscBool      here   = (PetscBool)(p[0] == at[0] && p[1] == at[1] && p[2] == at[2]);

  if (c->damage == SEVERAL) here = (PetscBool)(number % 53 == 17);
  if (!here) return PETSC_FALSE;
  *skip = (PetscBool)(c->damage == MISSING);
  *is   = c->damage == TINY       ? 1e-20 * was
          : c->damage == TINIEST  ? HJ_BY_PRECISION(1e-300, 1e-36)
          : c->damage == WEAK     ? 1e-5 * was
          : c->damage == NEGATIVE ? -was
                                  : 0.0;
  return PETSC_TRUE;
}

/* A case, and a number that all its coefficients are multiplied with */
typedef struct {
  const Case *c;
  PetscReal   scale;
} Scaled;

/* Laplace, walls eliminated; coefficients of the same sign to both sides, that vary where they are to */
static PetscInt DamagedRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Scaled *scaled   = (const Scaled *)ctx;
  const Case   *c        = scaled->c;
  PetscReal     diagonal = 0.0, damaged;
  PetscInt      n        = 1;
  PetscBool     skip     = PETSC_FALSE;

  for (PetscInt o = 0; o < 2 * c->dim; o++) {
    const PetscInt d = o / 2, side = o % 2 ? 1 : -1;
    PetscInt       q[3] = {at[0], at[1], at[2]};
    PetscReal      a    = c->varying ? 1.5 + PetscSinReal(1.3 * (at[0] + at[1] + at[2]) + 0.65 * side + d) : 1.0;

    a *= scaled->scale;
    diagonal += a;
    q[d] += side;
    if (q[d] < 0 || q[d] >= c->n) continue;
    col[n] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]};
    v[n++] = -a;
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = DamageAt(c, at, diagonal, &damaged, &skip) ? damaged : diagonal;
  if (!skip) return n;
  for (PetscInt e = 1; e < n; e++) {
    col[e - 1] = col[e];
    v[e - 1]   = v[e];
  }
  return n - 1;
}

static PetscErrorCode Fill(const Case *c, DM da, PetscReal scale, Mat A)
{
  const Scaled scaled = {c, scale};

  PetscFunctionBegin;
  PetscCall(FillRows(da, DamagedRow, &scaled, 0, INSERT_VALUES, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const Case *c, PetscReal scale, DM *da, Mat *A)
{
  const Problem p = {c->dim, {c->n, c->dim > 1 ? c->n : 1, c->dim > 2 ? c->n : 1}, DIRICHLET, CONSTANT, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, da));
  if (c->dim > 1 && !c->filled) PetscCall(DMSetMatrixPreallocateOnly(*da, PETSC_TRUE)); /* 1D: PETSc 3.18 fails */
  if (c->stencil) PetscCall(MatCreateHJStencil(*da, A));
  else PetscCall(DMCreateMatrix(*da, A));
  PetscCall(Fill(c, *da, scale, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(DM da, Mat A, KSPType type, PCType pctype, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(NULL, A, type, pctype, ksp, &pc));
  PetscCall(ProblemSetDM(*ksp, da));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), 1e-50, 1e10, 1000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a solve, the reason, which is negative, where it has not converged, -1: its answer is wrong; and the true residual */
static PetscErrorCode Solve(KSP ksp, DM da, Mat A, PetscInt *its, PetscReal *residual)
{
  Vec                b, x;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 3, b));
  PetscCall(ProblemSolve(ksp, A, b, x, its, &reason, residual));
  if (reason <= 0 || !(*residual <= HJTestDigits(1e-4))) *its = reason < 0 ? (PetscInt)reason : -1;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GMRES tests the preconditioned residual, to 1e-8: with a cycle that is nearly the inverse the true one is larger by the condition of the
   matrix at most, 1e3 in 2D and 3D; in 1D 1e4 is allowed for, of 1e6 */
static PetscErrorCode TestSolves(const Case *c, PetscInt most)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  PetscInt  its;
  PetscReal residual, limit = HJTestDigits(c->dim == 1 ? 1e-4 : 1e-5);
  PetscBool nan = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Create(c, 1.0, &da, &A));
  PetscCall(CreateKSP(da, A, KSPGMRES, PCHJMG, &ksp));
  PetscCall(Solve(ksp, da, A, &its, &residual));
  PetscCall(HJTestOK((PetscBool)(its > 0 && its <= most && residual <= limit), "hjmg: %s: %" PetscInt_FMT " iterations, true residual %g",
                     Name(c), its, (double)residual));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "nan", &nan));
  PetscCall(HJTestOK((PetscBool)!nan, "no number of its view is NaN"));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One point is one iteration or two more than none; that a point in fifty has no diagonal costs about as many as there are */
static PetscErrorCode TestAllSolves(void)
{
  static const PetscInt grids[][2] = {{2, 17}, {2, 33}, {2, 65}, {3, 9}, {3, 17}, {1, 200}, {1, 2000}};

  PetscFunctionBegin;
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(grids); g++) {
    for (int d = ZERO; d <= CORNER; d++) {
      const Case c = {grids[g][0], grids[g][1], (Damage)d, (PetscBool)((g + d) % 2), PETSC_FALSE, PETSC_FALSE};

      PetscCall(TestSolves(&c, 9));
    }
  }
  for (int s = 0; s < 4; s++) {
    const Case one  = {2, s < 2 ? 33 : 65, ZERO, (PetscBool)(s % 2), PETSC_TRUE, PETSC_FALSE},
               many = {2, 33, SEVERAL, (PetscBool)(s % 2), (PetscBool)(s < 2), PETSC_FALSE};
    const Case zero = {2, s < 2 ? 17 : 33, ZERO, (PetscBool)(s % 2), PETSC_FALSE, PETSC_FALSE};

    PetscCall(TestSolves(&one, 9));
    PetscCall(TestSolves(&zero, 9));
    PetscCall(TestSolves(&many, 60));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a diagonal counts as is a share of its row: the unit of the matrix changes nothing */
static PetscErrorCode TestScales(void)
{
  const Case      c        = {2, 65, ZERO, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE};
  const PetscReal scales[] = {1.0, HJTestDigits(1e10), HJTestDigits(1e-10)};
  PetscInt        its[3];
  PetscReal       residual[3];

  PetscFunctionBegin;
  for (int s = 0; s < 3; s++) {
    DM  da;
    Mat A;
    KSP ksp;

    PetscCall(Create(&c, scales[s], &da, &A));
    PetscCall(CreateKSP(da, A, KSPGMRES, PCHJMG, &ksp));
    PetscCall(Solve(ksp, da, A, &its[s], &residual[s]));
    PetscCall(HJTestDestroy(&ksp, &A, &da));
  }
  PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[1] == its[0] && its[2] == its[0]),
                     "times 1, 1e10, 1e-10: %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT " iterations", its[0], its[1], its[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCHJACOBI takes 1 as PCJACOBI does, on stencils and through MatMult(), and as the smoother of PCMG */
static PetscErrorCode TestJacobi(Damage damage, PetscBool varying)
{
  const Case c = {2, 33, damage, PETSC_FALSE, varying, PETSC_FALSE};
  DM         da;
  Mat        A;
  KSP        ksp;
  PC         pc;
  PetscInt   its[2];
  PetscReal  residual[2];

  PetscFunctionBegin;
  PetscCall(Create(&c, 1.0, &da, &A));
  for (int i = 0; i < 2; i++) {
    PetscCall(CreateKSP(da, A, KSPGMRES, PCHJACOBI, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCHJacobiSetOperator(pc, i ? PC_HJACOBI_OPERATOR_MATRIX : PC_HJACOBI_OPERATOR_AUTO));
    PetscCall(Solve(ksp, da, A, &its[i], &residual[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[1] > 0 && PetscAbs(its[0] - its[1]) <= 2 && residual[0] <= HJTestDigits(1e-5) &&
                                 residual[1] <= HJTestDigits(1e-5)),
                     "hjacobi: %s: %" PetscInt_FMT " iterations, by MatMult() %" PetscInt_FMT "; true residuals %g, %g", Name(&c), its[0],
                     its[1], (double)residual[0], (double)residual[1]));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLevels(void)
{
  const Case c = {2, 33, ZERO, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  DM         da, coarse;
  Mat        A, P;
  KSP        ksp, smoother;
  PC         pc;
  PetscInt   its;
  PetscReal  residual;

  PetscFunctionBegin;
  PetscCall(Create(&c, 1.0, &da, &A));
  PetscCall(CreateKSP(da, A, KSPFGMRES, PCMG, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(DMCoarsen(da, MPI_COMM_NULL, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(PCMGSetInterpolation(pc, 1, P));
  PetscCall(PCMGGetSmoother(pc, 1, &smoother));
  PetscCall(KSPSetType(smoother, KSPRICHARDSON));
  PetscCall(KSPGetPC(smoother, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(Solve(ksp, da, A, &its, &residual));
  PetscCall(HJTestOK((PetscBool)(its > 0 && its < 30 && residual <= HJTestDigits(1e-7)),
                     "PCMG with hjacobi: %" PetscInt_FMT " iterations, %g", its, (double)residual));
  PetscCall(HJTestDestroy(&P, &coarse, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B^T, and a Krylov method that needs it */
static PetscErrorCode TestTransposed(Damage damage, PetscBool varying)
{
  const Case c = {2, 65, damage, PETSC_TRUE, varying, PETSC_FALSE};
  DM         da;
  Mat        A;
  KSP        ksp;
  PC         pc;
  Vec        u, v;
  PetscInt   its;
  PetscReal  residual, difference = 0.0;
  PetscBool  agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(Create(&c, 1.0, &da, &A));
  PetscCall(CreateKSP(da, A, KSPBICG, PCHJMG, &ksp));
  PetscCall(Solve(ksp, da, A, &its, &residual));
  PetscCall(HJTestOK((PetscBool)(its > 0 && its <= 12 && residual <= HJTestDigits(1e-5)), "bicg: %s: %" PetscInt_FMT " iterations, %g",
                     Name(&c), its, (double)residual));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ProblemVectors(da, &u, &v));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, u, v, HJTestDigits(1e-12), &agree, &difference));
  PetscCall(HJTestOK(agree, "the transposed cycle is the transpose (%g)", (double)difference));
  PetscCall(HJTestDestroy(&v, &u, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Values come and go: each solve takes as many iterations as that of a new solver. The matrix is filled: where DMDA has but preallocated,
   PETSc's own product of aijcusparse is not that of a host's copy after the second MatSetValues() (3.26.1, seen without this library)
*/
static PetscErrorCode TestNewValues(PetscBool stencil)
{
  const Damage order[] = {WEAK, NEGATIVE, ZERO, NEGATIVE, MISSING, CORNER};
  DM           da;
  Mat          A;
  KSP          ksp;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(order); i++) {
    const Case c = {2, 65, order[i] == MISSING ? ZERO : order[i], stencil, PETSC_FALSE, PETSC_TRUE}; /* AIJ has the entry by now */
    PetscInt   its[2];
    PetscReal  residual[2];
    KSP        fresh;

    if (!i) {
      PetscCall(Create(&c, 1.0, &da, &A));
      PetscCall(CreateKSP(da, A, KSPGMRES, PCHJMG, &ksp));
    } else PetscCall(Fill(&c, da, 1.0, A));
    PetscCall(Solve(ksp, da, A, &its[0], &residual[0]));
    PetscCall(CreateKSP(da, A, KSPGMRES, PCHJMG, &fresh));
    PetscCall(Solve(fresh, da, A, &its[1], &residual[1]));
    PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[0] == its[1]), "new values: %s: %" PetscInt_FMT " iterations, anew %" PetscInt_FMT,
                       Name(&c), its[0], its[1]));
    PetscCall(KSPDestroy(&fresh));
  }
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As the solver itself its residual is that of the matrix, not of the one that cycles are of; and what it has not solved it does not say it
   has */
static PetscErrorCode TestRichardson(KSPNormType norm)
{
  const Case         c = {2, 65, ZERO, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE};
  DM                 da;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  KSPConvergedReason reason;
  PetscReal          said, residual, size;
  PetscBool          holds = PETSC_FALSE;
  PC                 pc;

  PetscFunctionBegin;
  PetscCall(Create(&c, 1.0, &da, &A));
  PetscCall(CreateKSP(da, A, KSPRICHARDSON, PCHJMG, &ksp));
  PetscCall(KSPSetNormType(ksp, norm));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 1e-50, 1e10, 3));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 3, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &said));
  PetscCall(RelativeResidual(A, b, x, &residual));
  PetscCall(VecNorm(b, NORM_2, &size));
  if (norm == KSP_NORM_UNPRECONDITIONED)
    PetscCall(HJTestOK((PetscBool)(PetscAbsReal(said - residual * size) <= HJTestDigits(1e-10) * said),
                       "Richardson's residual %g is the true one, %g", (double)said, (double)(residual * size)));
  PetscCall(HJTestOK((PetscBool)(reason <= 0 || residual <= HJTestDigits(1e-5)), "Richardson ends with reason %d, true residual %g",
                     (int)reason, (double)residual));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "sum of the row's other entries for 1 that", &holds));
  PetscCall(HJTestOK(holds, "the view says that a point has another diagonal"));
  PetscCall(HJTestDestroy(&x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three diagonals of ten are negative: none is weak, and those of products cancel, to 0 here and there. Whatever comes of it, it is no
   error, and not wrong */
static PetscErrorCode TestCancels(PetscBool stencil)
{
  const Case   c = {2, 65, CORNER, stencil, PETSC_FALSE, PETSC_FALSE};
  DM           da;
  Mat          A;
  KSP          ksp;
  Vec          diagonal;
  PetscScalar *d;
  PetscInt     s[2], w[2], n, its;
  PetscReal    residual;

  PetscFunctionBegin;
  PetscCall(Create(&c, 1.0, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &diagonal));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  PetscCall(VecGetArray(diagonal, &d));
  for (PetscInt i = 0; i < w[0] * w[1]; i++) {
    const PetscInt64 number = (s[1] + i / w[0]) * c.n + s[0] + i % w[0];

    d[i] = (number * 2654435761 >> 16) % 10 < 3 ? -4.0 : 4.0;
  }
  PetscCall(VecRestoreArray(diagonal, &d));
  PetscCall(MatDiagonalSet(A, diagonal, INSERT_VALUES));
  PetscCall(CreateKSP(da, A, KSPGMRES, PCHJMG, &ksp));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 1e-50, 1e10, 60));
  PetscCall(Solve(ksp, da, A, &its, &residual));
  PetscCall(KSPGetIterationNumber(ksp, &n));
  PetscCall(HJTestOK((PetscBool)(its > 0 || n == 60), "diagonals of both signs: %" PetscInt_FMT " iterations, true residual %g", n,
                     (double)residual));
  PetscCall(HJTestDestroy(&diagonal, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestAllSolves());
  PetscCall(TestScales());
  for (int i = 0; i < 2; i++) {
    PetscCall(TestJacobi(ZERO, (PetscBool)i));
    PetscCall(TestJacobi(NEGATIVE, (PetscBool)i));
    PetscCall(TestTransposed(ZERO, (PetscBool)i));
    PetscCall(TestNewValues((PetscBool)i));
    PetscCall(TestRichardson(i ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED));
    PetscCall(TestCancels((PetscBool)i));
  }
  PetscCall(TestLevels());
  return HJTestEnd();
}
