/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Weights of a cycle: the reciprocal roots of the residual polynomial p(lambda), p(0) = 1, of each schedule, in Leja order.
   Decides the order. Does not decide bounds or the schedule (src/pc), nor how weights are used.

   Roots are computed in long double: a weight's relative error then comes from its rounding to PetscReal alone.
*/
#include "hjschedule.h"

typedef long double HJReal;

static const HJReal HJ_PI = 3.14159265358979323846264338327950288L;

/*
   Coefficients beta of the optimised fourth-kind polynomials of degree 1 to 16, one degree a row: published figures of
   Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30 (2023) e2518
*/
static const double HJBetas[HJ_MAX_OPT_CHEBYSHEV4K][HJ_MAX_OPT_CHEBYSHEV4K] = {
  // clang-format off
  {1.12500000000000},
  {1.02387287570313, 1.26408905371085},
  {1.00842544782028, 1.08867839208730, 1.33753125909618},
  {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000},
  {1.00212930146164, 1.02173711549260, 1.07872433192603, 1.19810065292663, 1.41322542791682},
  {1.00128517255940, 1.01304293035233, 1.04678215124113, 1.11616489419675, 1.23829020218444, 1.43524297106744},
  {1.00083464397912, 1.00843949430122, 1.03008707768713, 1.07408384092003, 1.15036186707366, 1.27116474046139, 1.45186658649364},
  {1.00057246631197, 1.00577427662415, 1.02050187922941, 1.05019803444565, 1.10115572984941, 1.18086042806856, 1.29838585382576,
   1.46486073151099},
  {1.00040960072832, 1.00412439506106, 1.01460212148266, 1.03561113626671, 1.07139972529194, 1.12688273710962, 1.20785219140729,
   1.32121930716746, 1.47529642820699},
  {1.00030312229652, 1.00304840660796, 1.01077022715387, 1.02619011597640, 1.05231724933755, 1.09255743207549, 1.15083376663972,
   1.23172250870894, 1.34060802024460, 1.48386124407011},
  {1.00023058595209, 1.00231675024028, 1.00817245396304, 1.01982986566342, 1.03950210235324, 1.06965042700541, 1.11305754295742,
   1.17290876275564, 1.25288300576792, 1.35725579919519, 1.49101672564139},
  {1.00017947200828, 1.00180189139619, 1.00634861907307, 1.01537864566306, 1.03056942830760, 1.05376019693943, 1.08699862592072,
   1.13259183097913, 1.19316273358172, 1.27171293675110, 1.37169337969799, 1.49708418575562},
  {1.00014241921559, 1.00142906932629, 1.00503028986298, 1.01216910518495, 1.02414874342792, 1.04238158880820, 1.06842008128700,
   1.10399010936759, 1.15102748242645, 1.21171811910125, 1.28854264865128, 1.38432619380991, 1.50229418757368},
  {1.00011490538261, 1.00115246376914, 1.00405357333264, 1.00979590573153, 1.01941300472994, 1.03401425035436, 1.05480599606629,
   1.08311420301813, 1.12040891660892, 1.16833095655446, 1.22872122288238, 1.30365305707817, 1.39546814053678, 1.50681646209583},
  {1.00009404750752, 1.00094291696343, 1.00331449056444, 1.00800294833816, 1.01584236259140, 1.02772083317705, 1.04459535422831,
   1.06750761206125, 1.09760092545889, 1.13613855366157, 1.18452361426236, 1.24432087304475, 1.31728069083392, 1.40536543893560,
   1.51077872501845},
  {1.00007794828179, 1.00078126847253, 1.00274487974401, 1.00662291017015, 1.01309858836971, 1.02289448329337, 1.03678321409983,
   1.05559875719896, 1.08024848405560, 1.11172607131497, 1.15112543431072, 1.19965584614973, 1.25865841744946, 1.32962412656664,
   1.41421360695576, 1.51427891730346}
  // clang-format on
};

/* First kind on [emin, emax] */
static void HJRoots_Chebyshev(PetscInt k, HJReal emin, HJReal emax, HJReal root[])
{
  for (PetscInt i = 0; i < k; i++) {
    const HJReal s = sinl((2 * i + 1) * HJ_PI / (4 * k)); /* emin + (emax - emin) s^2 keeps the digits of roots near emin */

    root[i] = emin + (emax - emin) * s * s;
  }
}

/* With lambda = emax sin^2(phi) the fourth-kind residual polynomial of degree i is sin((2 i + 1) phi) / ((2 i + 1) sin(phi)) */
static void HJRoots_Chebyshev4(PetscInt k, HJReal emax, HJReal root[])
{
  for (PetscInt i = 0; i < k; i++) {
    const HJReal s = sinl((i + 1) * HJ_PI / (2 * k + 1));

    root[i] = emax * s * s;
  }
}

/*
   The optimised polynomial: step i of the fourth-kind iteration, which takes its residual from degree i - 1 to i, is scaled by beta_i
*/
static HJReal HJOptChebyshev4(PetscInt k, const double beta[], HJReal phi)
{
  HJReal p = 1 - (HJReal)beta[0];

  for (PetscInt i = 1; i <= k; i++)
    p += ((HJReal)beta[i - 1] - (i < k ? (HJReal)beta[i] : 0)) * sinl((2 * i + 1) * phi) / ((2 * i + 1) * sinl(phi));
  return p;
}

static HJReal HJBisect(PetscInt k, const double beta[], HJReal lo, HJReal hi)
{
  const PetscBool rising = (PetscBool)(HJOptChebyshev4(k, beta, lo) < 0);

  for (PetscInt i = 0; i < 80; i++) { /* more halvings than long double has bits */
    const HJReal mid = (lo + hi) / 2;

    if ((HJOptChebyshev4(k, beta, mid) < 0) == rising) lo = mid;
    else hi = mid;
  }
  return (lo + hi) / 2;
}

/* The roots lie within (0, emax), about as far apart in phi as those of the fourth kind, pi / (2 k + 1): steps of a 32nd part find each */
static PetscErrorCode HJRoots_OptChebyshev4(MPI_Comm comm, PetscInt k, HJReal emax, HJReal root[])
{
  const double  *beta  = HJBetas[k - 1];
  const PetscInt steps = 32 * k;
  PetscInt       n     = 0;
  HJReal         lo = HJ_PI / (4 * steps), hi, plo = HJOptChebyshev4(k, beta, lo), phi;

  PetscFunctionBegin;
  for (PetscInt i = 1; i <= steps && n < k; i++, lo = hi, plo = phi) {
    hi  = i * HJ_PI / (2 * steps);
    phi = HJOptChebyshev4(k, beta, hi);
    if ((plo < 0) != (phi < 0)) {
      const HJReal s = sinl(HJBisect(k, beta, lo, hi));

      root[n++] = emax * s * s;
    }
  }
  PetscCheck(n == k, comm, PETSC_ERR_PLIB, "Found %" PetscInt_FMT " of the %" PetscInt_FMT " roots of the optimised fourth-kind polynomial",
             n, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Roots from so many on are ordered by products, since a thousand of them take half a million logarithms, 60 ms */
#define HJ_LEJA_PRODUCTS 65

/*
   Leja order: the largest root, then always the one whose product of distances to those before it is largest. Partial products of
   1 - lambda/root then neither grow before nor after any step by more than about k^2. Distances in units of a quarter of the largest root,
   in which products of distances to many roots neither grow nor shrink much. Sums of logarithms where roots are few: rounding decides
   between equal products, and the weights of smoothers shall stay in the order that they always had
*/
static void HJLejaOrder(PetscInt k, HJReal root[])
{
  const PetscBool products = (PetscBool)(k >= HJ_LEJA_PRODUCTS);
  HJReal          score[HJ_MAX_K], unit = 0;

  for (PetscInt i = 0; i < k; i++) {
    score[i] = root[i];
    unit     = PetscMax(unit, root[i] / 4);
  }
  for (PetscInt j = 0; j < k; j++) {
    PetscInt best = j;
    HJReal   r;

    for (PetscInt i = j + 1; i < k; i++)
      if (score[i] > score[best]) best = i;
    r           = root[best];
    root[best]  = root[j];
    root[j]     = r;
    score[best] = score[j];
    for (PetscInt i = j + 1; i < k && products; i++) score[i] = (j ? score[i] : 1) * (fabsl(root[i] - r) / unit);
    for (PetscInt i = j + 1; i < k && !products; i++) score[i] = (j ? score[i] : 0) + logl(fabsl(root[i] - r));
  }
}

PetscErrorCode HJScheduleFill(MPI_Comm comm, PCHJacobiSchedule kind, PetscInt k, PetscReal emin, PetscReal emax, PetscReal omega,
                              PetscReal w[])
{
  HJReal root[HJ_MAX_K];

  PetscFunctionBegin;
  PetscCheck(k >= 1 && k <= HJ_MAX_K, comm, PETSC_ERR_ARG_OUTOFRANGE, "k = %" PetscInt_FMT " must be at least 1 and at most %d", k,
             HJ_MAX_K);
  if (kind == PC_HJACOBI_SCHEDULE_JACOBI) {
    for (PetscInt i = 0; i < k; i++) w[i] = omega;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(emax > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Largest eigenvalue emax = %g must be positive", (double)emax);
  switch (kind) {
  case PC_HJACOBI_SCHEDULE_CHEBYSHEV:
    PetscCheck(emin > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Smallest eigenvalue emin = %g must be positive; chebyshev4 needs none",
               (double)emin);
    PetscCheck(emax > emin, comm, PETSC_ERR_ARG_INCOMP, "Largest eigenvalue emax = %g must be larger than the smallest, emin = %g",
               (double)emax, (double)emin);
    HJRoots_Chebyshev(k, emin, emax, root);
    break;
  case PC_HJACOBI_SCHEDULE_CHEBYSHEV4:
    HJRoots_Chebyshev4(k, emax, root);
    break;
  case PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4:
    PetscCheck(k <= HJ_MAX_OPT_CHEBYSHEV4K, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "Schedule opt_chebyshev4 is known for k up to %d, not k = %" PetscInt_FMT "; use chebyshev4", HJ_MAX_OPT_CHEBYSHEV4K, k);
    PetscCall(HJRoots_OptChebyshev4(comm, k, emax, root));
    break;
  default:
    SETERRQ(comm, PETSC_ERR_ARG_WRONG, "Schedule %d has no polynomial", (int)kind);
  }
  HJLejaOrder(k, root);
  for (PetscInt i = 0; i < k; i++) w[i] = (PetscReal)(1 / root[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* acosh((emax + emin) / (emax - emin)), which keeps its digits where emin is small */
static PetscReal HJChebyshevRate(PetscReal emin, PetscReal emax)
{
  return 2 * atanh(PetscSqrtReal(emin / emax));
}

PetscReal HJScheduleReduction(PetscInt k, PetscReal emin, PetscReal emax)
{
  return 1 / cosh(k * HJChebyshevRate(emin, emax));
}

PetscReal HJScheduleLeastK(PetscReal reduction, PetscReal emin, PetscReal emax)
{
  return PetscMax(1, PetscCeilReal(acosh(1 / reduction) / HJChebyshevRate(emin, emax)));
}

PetscReal HJScheduleDiscK(PetscReal reduction, PetscReal radius)
{
  return radius > 0 ? PetscMax(1, PetscCeilReal(PetscLogReal(reduction) / PetscLogReal(radius))) : 1;
}

/* With z = (1 - lambda) / radius the polynomial is T_k(z) / T_k(1 / radius). The points of |z| <= 1 no further than beta from the real axis
   lie in the ellipse with the foci -1 and 1 and the half-axis sqrt(beta) across, where |T_k| is at most cosh(k asinh(sqrt(beta))) */
PetscReal HJScheduleFlatK(PetscReal reduction, PetscReal radius, PetscReal skew)
{
  const PetscReal rate = radius > 0 ? acosh(1 / radius) - asinh(PetscSqrtReal(skew / radius)) : 0;

  return rate > 0 ? PetscMax(1, PetscCeilReal(acosh(1 / reduction) / rate)) : PETSC_MAX_REAL;
}

/* Where the skew part is larger than this nothing is safe, and it is as good as any; its square is a number */
#define HJ_SKEW_MOST HJ_BY_PRECISION(1e100, 1e15)

/*
   The fourth-kind polynomial is W_k(z) / (2k + 1), z = 1 - 2 lambda / emax. On an ellipse with the foci -1 and 1 and the half-axis beta
   across, |W_k| is about (beta + sqrt(1 + beta^2))^k. Where that is 2k + 1 nothing on the ellipse with the ends 0 and emax grows by more
   than 1.8 up to k = 18 (by 3 at k = 45, by 12 at k = 323), all of it smooth
*/
PetscInt HJScheduleSafeK(PetscReal skew, PetscReal emax)
{
  const PetscReal rate = asinh(skew < HJ_SKEW_MOST ? 2 * skew / emax : HJ_SKEW_MOST);
  PetscInt        k    = 0;

  while (k < HJ_MAX_K && (k + 1) * rate <= PetscLogReal(2 * (k + 1) + 1)) k++;
  return k;
}

/*
   With h = omega emax / 2 and b = omega skew the points of the ellipse leave (1 - h - h c)^2 + b^2 (1 - c^2) of themselves, squared, for c
   from -1 to 1: a parabola, whose largest value is at its top or at an end. What grows may do so as much as SafeK() allows
*/
PetscInt HJScheduleSafeKJacobi(PetscReal skew, PetscReal emax, PetscReal omega)
{
  const PetscReal h = omega * emax / 2, b = PetscMin(omega * skew, HJ_SKEW_MOST), bend = b * b - h * h;
  const PetscReal top  = bend > 0 ? -h * (1 - h) / bend : 2; /* where it bends down; beyond the ends there is none */
  PetscReal       most = PetscMax(1, PetscSqr(1 - 2 * h));

  if (PetscAbsReal(top) < 1) most = PetscMax(most, PetscSqr(1 - h - h * top) + b * b * (1 - top * top));
  if (most <= 1 + HJ_BY_PRECISION(1e-12, 1e-6)) return HJ_MAX_K;
  return (PetscInt)PetscMin(HJ_MAX_K, 2 * PetscLogReal(1.8) / PetscLogReal(most));
}
