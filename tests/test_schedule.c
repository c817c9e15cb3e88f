/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Schedules: weights against the recurrences, known bounds and KSPCHEBYSHEV; the estimate of the largest eigenvalue; refusals. ranks: 1 2 4
*/
#include "hjtest.h"
#include "hjcapture.h"
#include "operator/hjoperator.h"
#include <petscksp.h>
#include <math.h>

#define NLAMBDA 500

typedef long double Real;

static const char *const names[] = {"jacobi", "chebyshev", "chebyshev4", "opt_chebyshev4"};

/* p(lambda) from the roots, without the recurrence */
static Real Residual(PetscInt k, const PetscReal w[], Real lambda)
{
  Real p = 1;

  for (PetscInt i = 0; i < k; i++) p *= 1 - w[i] * lambda;
  return p;
}

/* k steps for lambda x = b by the three-term recurrence of the first kind (Golub, Varga) or the two-term one of the fourth (Lottes) */
static Real Recurrence(PCHJacobiSchedule kind, PetscInt k, Real emin, Real emax, Real lambda, Real b, Real x)
{
  if (kind == PC_HJACOBI_SCHEDULE_CHEBYSHEV) {
    const Real theta = (emax + emin) / 2, delta = (emax - emin) / 2, sigma = theta / delta;
    Real       rho = 1 / sigma, d = (b - lambda * x) / theta;

    for (PetscInt i = 0; i < k; i++) {
      const Real next = 1 / (2 * sigma - rho);

      x += d;
      d   = next * rho * d + 2 * next / delta * (b - lambda * x);
      rho = next;
    }
  } else {
    Real d = 4 / (3 * emax) * (b - lambda * x);

    for (PetscInt i = 1; i <= k; i++) {
      x += d;
      d = (2 * i - 1) * d / (2 * i + 3) + (8 * i + 4) / ((2 * i + 3) * emax) * (b - lambda * x);
    }
  }
  return x;
}

/* Largest error of the subiterations in double over a random spectrum, relative to the largest result */
static PetscErrorCode RecurrenceError(PetscRandom rnd, PCHJacobiSchedule kind, PetscInt k, PetscReal *error)
{
  const PetscReal emax = 1.9, emin = 1.9 / 11;
  PetscReal       w[HJ_MAX_K], lambda, b, x0;
  Real            err = 0, big = 0;

  PetscFunctionBegin;
  PetscCall(HJScheduleFill(PETSC_COMM_WORLD, kind, k, emin, emax, 1, w));
  for (PetscInt m = 0; m < NLAMBDA; m++) {
    PetscCall(PetscRandomGetValueReal(rnd, &lambda));
    PetscCall(PetscRandomGetValueReal(rnd, &b));
    PetscCall(PetscRandomGetValueReal(rnd, &x0));
    lambda *= emax;
    volatile PetscReal x   = x0; /* every step rounded to double */
    const Real         ref = Recurrence(kind, k, emin, emax, lambda, b, x0);
    for (PetscInt i = 0; i < k; i++) x += w[i] * (b - lambda * x);
    err = PetscIsInfOrNanReal(x) ? PETSC_INFINITY : PetscMax(err, fabsl(x - ref));
    big = PetscMax(big, fabsl(ref));
  }
  *error = (PetscReal)(err / big);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRecurrences(PetscRandom rnd)
{
  const PetscInt ks[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 64, 100, 256, 1024};

  PetscFunctionBegin;
  for (int kind = PC_HJACOBI_SCHEDULE_CHEBYSHEV; kind <= PC_HJACOBI_SCHEDULE_CHEBYSHEV4; kind++) {
    for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
      /* each step rounds values that have grown to k^2 at most in Leja order; the sum over steps stays of that size */
      PetscReal error, tol = 4 * PETSC_MACHINE_EPSILON * ks[i] * ks[i];

      if (ks[i] == 64) tol = HJTestDigits(1e-12);
      PetscCall(RecurrenceError(rnd, (PCHJacobiSchedule)kind, ks[i], &error));
      PetscCall(HJTestOK((PetscBool)(error <= tol), "%s k = %d equals its recurrence: error %.1e <= %.1e", names[kind], (int)ks[i],
                         (double)error, (double)tol));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |p| <= 1/T_k(sigma) on [emin, emax]; sqrt(lambda/emax) |p| <= 1/(2 k + 1) and |p| <= 1 on (0, emax] */
static PetscErrorCode TestBounds(void)
{
  const PetscReal emax = 1.7, emin = 0.1;
  const PetscInt  ks[] = {1, 2, 4, 9, 16, 64};
  PetscReal       w[HJ_MAX_K];

  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
    const PetscInt k     = ks[i];
    const Real     sigma = (emax + emin) / (Real)(emax - emin), bound = 1 / coshl(k * acoshl(sigma));
    Real           first = 0, fourth = 0, one = 0;

    PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_CHEBYSHEV, k, emin, emax, 1, w));
    for (int m = 0; m <= 2000; m++) first = PetscMax(first, fabsl(Residual(k, w, emin + m * (emax - emin) / (Real)2000)));
    PetscCall(HJTestOK((PetscBool)(first <= bound + HJ_BY_PRECISION(1e-13L, 4 * k * PETSC_MACHINE_EPSILON) && first >= 0.9L * bound),
                       "chebyshev k = %d: |p| <= 1/T_k", (int)k));
    PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_CHEBYSHEV4, k, 0, emax, 1, w));
    for (int m = 1; m <= 2000; m++) {
      const Real p = fabsl(Residual(k, w, m * (Real)emax / 2000));

      fourth = PetscMax(fourth, p * sqrtl(m / (Real)2000));
      one    = PetscMax(one, p);
    }
    PetscCall(HJTestOK((PetscBool)(fourth * (2 * k + 1) <= 1 + HJ_BY_PRECISION(1e-12L, k * k * PETSC_MACHINE_EPSILON) &&
                                   one <= 1 + HJ_BY_PRECISION(0, 4 * PETSC_MACHINE_EPSILON)),
                       "chebyshev4 k = %d: sqrt(lambda) |p| <= 1/(2 k + 1)", (int)k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |p| on the ellipse around [0, emax] whose half-axis across is skew */
static PetscReal EllipseGrowth(PetscInt k, const PetscReal w[], PetscReal skew, PetscReal emax)
{
  PetscReal growth = 0;

  for (PetscInt m = 0; m <= NLAMBDA; m++) {
    const PetscReal angle = m * PETSC_PI / NLAMBDA, re = emax / 2 * (1 + PetscCosReal(angle)), im = skew * PetscSinReal(angle);
    PetscReal       p = 1;

    for (PetscInt i = 0; i < k; i++) p *= PetscSqrtReal(PetscSqr(1 - w[i] * re) + PetscSqr(w[i] * im));
    growth = PetscMax(growth, p);
  }
  return growth;
}

/* The largest k that is called safe grows nothing twofold, twice as many subiterations do */
static PetscErrorCode TestSafeK(void)
{
  const PetscReal emax = 1.9, skews[] = {0.2, 0.34, 0.44, 0.6};
  PetscReal       w[HJ_MAX_K], growth[2];

  PetscFunctionBegin;
  for (PCHJacobiSchedule kind = PC_HJACOBI_SCHEDULE_CHEBYSHEV4; kind <= PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4; kind++) {
    for (int s = 0; s < 4; s++) {
      const PetscInt k = HJScheduleSafeK(skews[s], emax);

      if (kind == PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4 && 2 * k > HJ_MAX_OPT_CHEBYSHEV4K) continue;
      for (int twice = 0; twice < 2; twice++) {
        PetscCall(HJScheduleFill(PETSC_COMM_WORLD, kind, twice ? 2 * k : k, 0, emax, 1, w));
        growth[twice] = EllipseGrowth(twice ? 2 * k : k, w, skews[s], emax);
      }
      PetscCall(HJTestOK((PetscBool)(growth[0] < 2 && growth[1] > 2), "%s, skew part %g: k = %d grows by %g, twice as many by %g",
                         names[kind], (double)skews[s], (int)k, (double)growth[0], (double)growth[1]));
    }
  }
  PetscCall(HJTestOK((PetscBool)(HJScheduleSafeK(1e30, emax) == 0 && HJScheduleSafeKJacobi(1e30, emax, 0.5) == 0 &&
                                 HJScheduleSafeK(HJ_BY_PRECISION(1e300, 1e37), emax) == 0 &&
                                 HJScheduleSafeKJacobi(HJ_BY_PRECISION(1e300, 1e37), emax, 0.5) == 0),
                     "no k is safe where rows differ by any scale"));
  PetscCall(HJTestOK((PetscBool)(HJScheduleSafeK(0, emax) == HJ_MAX_K && HJScheduleSafeK(100, emax) == 0),
                     "any k is safe for a symmetric matrix, none for one that is hardly symmetric"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of equal weights: with these many grow nothing at all, or k is as large as it can be below 1.8 */
static PetscErrorCode TestSafeKJacobi(void)
{
  const PetscReal emax[] = {2, 2, 2, 1.7, 6, 2.5}, omega[] = {0.8, 0.8, 6. / 7, 0.8, 4. / 15, 1}, skews[] = {0.5, 1, 1, 1.5, 2.5, 0};
  PetscReal       w[HJ_MAX_K], growth[2];

  PetscFunctionBegin;
  for (int s = 0; s < 6; s++) {
    const PetscInt k = HJScheduleSafeKJacobi(skews[s], emax[s], omega[s]), next = PetscMin(k + 1, HJ_MAX_K);

    for (int i = 0; i < HJ_MAX_K; i++) w[i] = omega[s];
    for (int more = 0; more < 2; more++) growth[more] = EllipseGrowth(more ? next : k, w, skews[s], emax[s]);
    PetscCall(HJTestOK((PetscBool)(k == HJ_MAX_K ? growth[0] < 1.001 : growth[0] < 1.801 && growth[1] > 1.799),
                       "omega %g, skew part %g: k = %d grows by %g, one more by %g", (double)omega[s], (double)skews[s], (int)k,
                       (double)growth[0], (double)growth[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |p| where eigenvalues lie no further than radius from 1 and than skew from the real axis */
static PetscReal DiscReduction(PetscInt k, const PetscReal w[], PetscReal radius, PetscReal skew)
{
  PetscReal largest = 0;

  for (PetscInt m = 0; m <= NLAMBDA; m++) {
    const PetscReal im = radius * PetscSinReal(m * PETSC_PI / 2 / NLAMBDA),
                    re = PetscSqrtReal(PetscSqr(radius) - PetscMin(PetscSqr(im), PetscSqr(radius)));

    for (int sign = -1; sign <= 1 && im <= skew; sign++) {
      PetscReal p = 1;

      for (PetscInt i = 0; i < k; i++) p *= PetscSqrtReal(PetscSqr(1 - w[i] * (1 + sign * re)) + PetscSqr(w[i] * im));
      largest = PetscMax(largest, p);
    }
  }
  return largest;
}

/* Both leave a hundredth, and not many fewer sweeps do: at most twice as many as are needed */
static PetscErrorCode TestDominated(void)
{
  const PetscReal radii[] = {0.2, 0.8, 0.95}, skews[] = {0.0, 0.001, 0.02};
  PetscReal       w[HJ_MAX_K], left[2], disc, flat;

  PetscFunctionBegin;
  for (int r = 0; r < 3; r++) {
    disc = HJScheduleDiscK(0.01, radii[r]);
    for (int less = 0; less < 2; less++) left[less] = PetscPowReal(radii[r], disc - less);
    PetscCall(HJTestOK((PetscBool)(left[0] <= 0.01 && left[1] > 0.01), "%g Jacobi sweeps leave %g of the disc with radius %g", (double)disc,
                       (double)left[0], (double)radii[r]));
    for (int s = 0; s < 3; s++) {
      flat = HJScheduleFlatK(0.01, radii[r], skews[s]);
      if (flat > HJ_MAX_K) continue;
      for (int less = 0; less < 2; less++) {
        const PetscInt k = less ? (PetscInt)(flat / 2) : (PetscInt)flat;

        left[less] = 1;
        if (!k) continue;
        PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_CHEBYSHEV, k, 1 - radii[r], 1 + radii[r], 1, w));
        left[less] = DiscReduction(k, w, radii[r], skews[s]);
      }
      PetscCall(HJTestOK((PetscBool)(left[0] <= 0.01 && left[1] > 0.01),
                         "%g Chebyshev sweeps leave %g of its part up to %g across, half leave %g", (double)flat, (double)left[0],
                         (double)skews[s], (double)left[1]));
    }
  }
  PetscCall(HJTestOK((PetscBool)(HJScheduleDiscK(0.01, 0) == 1 && HJScheduleFlatK(0.01, 0.9, 0.9) > HJ_MAX_K),
                     "one sweep for a diagonal, none of Chebyshev's for a whole disc"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The optimised polynomial minimises the largest value of lambda p^2 / (1 - p^2) (Lottes 2023), so that all k + 1 local maxima are equal,
   those at 0 (its limit there is 1 / (2 sum w)) and at emax included
*/
static PetscErrorCode TestOptimal(void)
{
  const PetscReal emax = 2;
  PetscReal       w[HJ_MAX_K];

  PetscFunctionBegin;
  for (PetscInt k = 1; k <= HJ_MAX_OPT_CHEBYSHEV4K; k++) {
    const int n   = 200000;
    Real      sum = 0, f[3] = {0, 0, 0}, level, spread = 0, peak;
    PetscInt  maxima = 1;

    PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4, k, 0, emax, 1, w));
    for (PetscInt i = 0; i < k; i++) sum += w[i];
    level = 1 / (2 * sum);
    for (int m = 1; m <= n; m++) {
      const Real s = sinl(m * acosl(-1.0L) / 2 / n), lambda = emax * s * s, p = Residual(k, w, lambda);

      f[0] = f[1], f[1] = f[2], f[2] = lambda * p * p / (1 - p * p);
      if ((m > 2 && f[1] > f[0] && f[1] >= f[2]) || m == n) {
        peak   = PetscMax(f[1], f[2]);
        spread = PetscMax(spread, fabsl(peak / level - 1));
        maxima++;
      }
    }
    /* 1e-8: the grid in phi misses a maximum by at most (k pi / 2 n)^2 */
    PetscCall(HJTestOK((PetscBool)(maxima == k + 1 && spread < HJTestDigits(1e-7)),
                       "opt_chebyshev4 k = %d: all %d maxima equal, spread %.1e", (int)k, (int)maxima, (double)spread));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One smooth of KSPCHEBYSHEV with the same degree and bounds on a diagonal matrix, from a nonzero guess */
static PetscErrorCode ChebyshevError(PetscRandom rnd, PCHJacobiSchedule kind, PetscInt k, PetscReal *error)
{
  const PetscReal   emax = 1.9, emin = 0.2;
  const char *const kinds[] = {"", "first", "fourth", "opt_fourth"};
  PetscReal         w[HJ_MAX_K], big;
  Mat               A;
  Vec               lambda, b, x, y, r;
  KSP               ksp;
  PC                pc;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, NLAMBDA, NLAMBDA, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &A));
  PetscCall(MatCreateVecs(A, &lambda, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(lambda, rnd));
  PetscCall(VecScale(lambda, emax));
  PetscCall(VecSetRandom(b, rnd));
  PetscCall(VecSetRandom(x, rnd));
  PetscCall(VecCopy(x, y));
  PetscCall(MatDiagonalSet(A, lambda, INSERT_VALUES));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "cheb_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  if (kind != PC_HJACOBI_SCHEDULE_CHEBYSHEV) PetscCall(PetscOptionsSetValue(NULL, "-cheb_ksp_chebyshev_kind", kinds[kind]));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsClearValue(NULL, "-cheb_ksp_chebyshev_kind"));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, emax, emin));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-12), 1e-50, 1e50, (int)k));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(HJScheduleFill(PETSC_COMM_WORLD, kind, k, emin, emax, 1, w));
  for (PetscInt i = 0; i < k; i++) {
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecAXPY(x, w[i], r));
  }
  PetscCall(VecNorm(y, NORM_INFINITY, &big));
  PetscCall(VecAXPY(x, -1, y));
  PetscCall(VecNorm(x, NORM_INFINITY, error));
  *error /= big;
  PetscCall(HJTestDestroy(&lambda, &b, &x, &y, &r, &ksp, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChebyshev(PetscRandom rnd)
{
  /* KSPCHEBYSHEV has the fourth kinds from 3.19 on */
  const int last = PETSC_VERSION_GE(3, 19, 0) ? PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4 : PC_HJACOBI_SCHEDULE_CHEBYSHEV;

  PetscFunctionBegin;
  for (int kind = PC_HJACOBI_SCHEDULE_CHEBYSHEV; kind <= last; kind++) {
    for (PetscInt k = 1; k <= (kind == PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4 ? 16 : 64); k += k < 16 ? 1 : 16) {
      PetscReal error, tol = 8 * PETSC_MACHINE_EPSILON * k * k; /* as against the recurrence, which now rounds to double as well */

      PetscCall(ChebyshevError(rnd, (PCHJacobiSchedule)kind, k, &error));
      PetscCall(HJTestOK((PetscBool)(error <= tol), "%s k = %d equals KSPCHEBYSHEV: error %.1e <= %.1e", names[kind], (int)k, (double)error,
                         (double)tol));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refuse(const char *name, PCHJacobiSchedule kind, PetscInt k, PetscReal emin, PetscReal emax, const char *expected)
{
  PetscReal w[HJ_MAX_K];

  PetscFunctionBegin;
  ExpectError(HJScheduleFill(PETSC_COMM_WORLD, kind, k, emin, emax, 1, w), name, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefusals(void)
{
  PetscReal w[8];

  PetscFunctionBegin;
  PetscCall(Refuse("opt_chebyshev4 with k = 17", PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4, 17, 0, 2, "use chebyshev4"));
  PetscCall(Refuse("k = 0", PC_HJACOBI_SCHEDULE_CHEBYSHEV4, 0, 0, 2, "at least 1"));
  PetscCall(Refuse("k = 1025", PC_HJACOBI_SCHEDULE_JACOBI, 1025, 0, 2, "at most 1024"));
  PetscCall(Refuse("emax = emin", PC_HJACOBI_SCHEDULE_CHEBYSHEV, 4, 2, 2, "larger than the smallest"));
  PetscCall(Refuse("emax < emin", PC_HJACOBI_SCHEDULE_CHEBYSHEV, 4, 2, 1, "larger than the smallest"));
  PetscCall(Refuse("emin = 0", PC_HJACOBI_SCHEDULE_CHEBYSHEV, 4, 0, 1, "must be positive"));
  PetscCall(Refuse("emax = -1", PC_HJACOBI_SCHEDULE_CHEBYSHEV4, 4, 0, -1, "must be positive"));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(Refuse("emax = NaN", PC_HJACOBI_SCHEDULE_CHEBYSHEV4, 4, 0, NAN, "must be positive"));
  PetscCall(PetscFPTrapPop());
  PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_JACOBI, 8, 0, 0, 0.8, w));
  for (int i = 1; i < 8; i++) w[0] = w[i] == (PetscReal)0.8 ? w[0] : 0;
  PetscCall(HJTestOK((PetscBool)(w[0] == (PetscReal)0.8), "jacobi: every weight is omega"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 5-point Laplacian with row factors, so that D^-1 is not a constant */
static PetscErrorCode Laplacian(MPI_Comm comm, PetscInt nx, PetscInt ny, DM *da, Mat *A, Vec *dinv)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(
    DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  PetscCall(DMCreateMatrix(*da, A));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil  row = {0, j, i, 0}, col[5] = {{0, j, i, 0}, {0, j, i - 1, 0}, {0, j, i + 1, 0}, {0, j - 1, i, 0}, {0, j + 1, i, 0}};
      PetscScalar f = 1 + (i + j) % 3, v[5] = {4 * f, -f, -f, -f, -f};
      PetscInt    n = 1;

      for (int c = 1; c < 5; c++)
        if (col[c].i >= 0 && col[c].i < nx && col[c].j >= 0 && col[c].j < ny) col[n++] = col[c];
      PetscCall(MatSetValuesStencil(*A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(*A, dinv, NULL));
  PetscCall(MatGetDiagonal(*A, *dinv));
  PetscCall(VecReciprocal(*dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Estimate(MPI_Comm comm, PetscInt nx, PetscInt ny, PetscBool with_dm, PetscReal *emax)
{
  DM  da;
  Mat A;
  Vec dinv;

  PetscFunctionBegin;
  PetscCall(Laplacian(comm, nx, ny, &da, &A, &dinv));
  PetscCall(HJEstimateEmax(A, dinv, with_dm ? da : NULL, "est_", emax));
  PetscCall(HJTestDestroy(&dinv, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEstimate(void)
{
  const PetscReal top = 1 + (PetscCosReal(PETSC_PI / 32) + PetscCosReal(PETSC_PI / 24)) / 2;
  PetscReal       all, self, other, more;

  PetscFunctionBegin;
  PetscCall(Estimate(PETSC_COMM_WORLD, 31, 23, PETSC_TRUE, &all));
  PetscCall(Estimate(PETSC_COMM_SELF, 31, 23, PETSC_TRUE, &self));
  PetscCall(Estimate(PETSC_COMM_WORLD, 31, 23, PETSC_FALSE, &other));
  /* an extreme Ritz value moves by about eps times the condition of thirty steps of Arnoldi */
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(all - self) <= HJTestDigits(1e-11) * self),
                     "the estimate does not depend on the number of ranks: %.15g", (double)self));
  PetscCall(HJTestOK((PetscBool)(other == all), "the DM of the matrix is used where none is given"));
  PetscCall(HJTestOK((PetscBool)(all <= top * (1 + 1e-13) && all >= 0.99 * top),
                     "the estimate %g is below the largest eigenvalue %g, and within 1%% of it", (double)all, (double)top));
  PetscCall(PetscOptionsSetValue(NULL, "-est_pc_hjacobi_esteig_ksp_max_it", "60"));
  PetscCall(Estimate(PETSC_COMM_WORLD, 31, 23, PETSC_TRUE, &more));
  PetscCall(
    HJTestOK((PetscBool)(more > all && more <= top * (1 + 1e-13)), "-pc_hjacobi_esteig_ksp_max_it tunes the estimate: %g", (double)more));
  PetscCall(Estimate(PETSC_COMM_SELF, 2, 1, PETSC_TRUE, &self));
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(self - (PetscReal)1.25) < HJTestDigits(1e-12)),
                     "a matrix smaller than the number of steps: %g", (double)self));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscRandom rnd;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rnd));
  PetscCall(PetscRandomSetFromOptions(rnd));
  PetscCall(TestRecurrences(rnd));
  PetscCall(TestBounds());
  PetscCall(TestSafeK());
  PetscCall(TestSafeKJacobi());
  PetscCall(TestDominated());
  PetscCall(TestOptimal());
  PetscCall(TestChebyshev(rnd));
  PetscCall(TestRefusals());
  PetscCall(TestEstimate());
  PetscCall(PetscRandomDestroy(&rnd));
  return HJTestEnd();
}
