/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Lines on the host: factors, and solves of many lines abreast. Along x lines of a block of HJ_LINES_ABREAST are turned, so that one number
   of each lies beside another; their factors are kept so.
*/
#include "core/hjlines.h"
#include "hjhostkernels.h"

/* The lines of a direction as bundles: those of a bundle are abreast, and each next point of theirs is step numbers further */
typedef struct {
  PetscInt   bundles, abreast, count;
  PetscCount step;
} HJBundles;

static HJBundles HJBundlesOf(const HJLines *l)
{
  const PetscInt *n = l->width;

  if (l->d == 0) return (HJBundles){(n[1] * n[2] + HJ_LINES_ABREAST - 1) / HJ_LINES_ABREAST, HJ_LINES_ABREAST, n[0], HJ_LINES_ABREAST};
  if (l->d == 1) return (HJBundles){n[2], n[0], n[1], n[0]};
  return (HJBundles){n[1], n[0], n[2], (PetscCount)n[0] * n[1]};
}

/* Where the factors of a bundle begin, and its first point among the owned ones */
static PetscCount HJBundleBegin(const HJLines *l, const HJBundles *b, PetscInt bundle)
{
  if (l->d == 0) return (PetscCount)bundle * b->count * HJ_LINES_ABREAST;
  return l->d == 1 ? (PetscCount)bundle * l->width[0] * l->width[1] : (PetscCount)bundle * l->width[0];
}

/* Lines of a bundle that there are */
static PetscInt HJBundleLines(const HJLines *l, const HJBundles *b, PetscInt bundle)
{
  return l->d ? b->abreast : PetscMin(HJ_LINES_ABREAST, l->width[1] * l->width[2] - bundle * HJ_LINES_ABREAST);
}

/* Place among the factors of an owned point's */
static PetscCount HJLinesPlace(const HJLines *l, PetscCount point)
{
  const PetscCount line = point / l->width[0], i = point % l->width[0];

  if (l->d) return point;
  return (line / HJ_LINES_ABREAST * l->width[0] + i) * HJ_LINES_ABREAST + line % HJ_LINES_ABREAST;
}

static void HJLinesTurn(const HJLines *l, PetscInt bundle, PetscInt lines, const PetscScalar *x, PetscScalar *to)
{
  const PetscInt     n    = l->width[0];
  const PetscScalar *from = x + (PetscCount)bundle * HJ_LINES_ABREAST * n;

  if (lines < HJ_LINES_ABREAST) memset(to, 0, (size_t)n * HJ_LINES_ABREAST * sizeof(*to));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = 0; k < lines; k++) to[i * HJ_LINES_ABREAST + k] = from[(PetscCount)k * n + i];
}

static void HJLinesTurnBack(const HJLines *l, PetscInt bundle, PetscInt lines, PetscReal w, PetscBool zero, const PetscScalar *from,
                            PetscScalar *x)
{
  const PetscInt n  = l->width[0];
  PetscScalar   *to = x + (PetscCount)bundle * HJ_LINES_ABREAST * n;

  for (PetscInt k = 0; k < lines; k++)
    for (PetscInt i = 0; i < n; i++)
      to[(PetscCount)k * n + i] = (zero ? 0.0 : to[(PetscCount)k * n + i]) + w * from[i * HJ_LINES_ABREAST + k];
}

PetscErrorCode HJHostLinesSolve(const HJLines *l, PetscReal w, PetscBool zero, PetscScalar *r, PetscScalar *work, PetscScalar *x)
{
  const HJBundles      b       = HJBundlesOf(l);
  const HJHostKernels *kernels = HJHostPickKernels();

  PetscFunctionBegin;
  if (zero && l->d) PetscCall(PetscArraycpy(x, r, l->size));
  for (PetscInt bundle = 0; bundle < b.bundles; bundle++) {
    const PetscCount at    = HJBundleBegin(l, &b, bundle);
    const PetscInt   lines = HJBundleLines(l, &b, bundle);
    HJHostBundle     s     = {b.count, b.abreast, b.step, w, l->c + at, l->m + at, (zero ? x : r) + at, zero ? NULL : x + at};

    if (l->d == 0) {
      HJLinesTurn(l, bundle, lines, r, work);
      s.r = work;
      s.x = NULL;
    }
    kernels->lines(&s);
    if (l->d == 0) HJLinesTurnBack(l, bundle, lines, w, zero, work, x);
  }
  for (PetscCount i = 0; zero && l->d && i < l->size; i++) x[i] *= w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum of the sizes of a row's entries that are not on its line, and its entry for the next point of the line; 0 where that is not owned, or
   has none for this one, as a row that is a diagonal alone */
static PetscReal HJLinesRow(const HJCoefficients *a, const HJLines *l, const HJBox inside[], const PetscInt p[3], PetscCount point,
                            PetscScalar *next)
{
  const PetscInt   d     = l->d;
  const PetscCount step  = d == 0 ? 1 : d == 1 ? l->width[0] : (PetscCount)l->width[0] * l->width[1];
  PetscReal        other = 0.0;

  *next = 0.0;
  for (PetscInt slot = 1; slot < a->nslots; slot++) {
    const PetscScalar v = HJPointInside(&inside[slot], p[0], p[1], p[2]) ? HJCoefficientAt(a, slot, point) : 0.0;
    PetscInt          off[3];
    PetscBool         along;

    if (v == 0.0) continue;
    HJSlotOffset(a, slot, off);
    along = (PetscBool)(!off[d == 0] && !off[d == 2 ? 1 : 2] && p[d] + off[d] >= 0 && p[d] + off[d] < l->width[d]);
    along = (PetscBool)(along && HJCoefficientAt(a, HJSlotOpposite(a, slot), point + off[d] * step) != 0.0);
    if (!along) other += PetscAbsScalar(v);
    else if (off[d] > 0) *next = v;
  }
  return other;
}

/* Eliminates line q of a bundle, whose diagonals are in m and the other entries in c. PETSC_FALSE: a pivot is not positive */
static PetscBool HJLinesEliminate(const HJBundles *b, PetscCount at, PetscInt q, HJLines *l)
{
  PetscScalar *m = l->m + at + q, *c = l->c + at + q;

  for (PetscInt i = 0; i < b->count; i++) {
    PetscReal pivot = PetscRealPart(m[i * b->step]);

    if (i) pivot -= PetscRealPart(c[(i - 1) * b->step] * c[(i - 1) * b->step] / m[(i - 1) * b->step]);
    if (!(pivot > 0.0)) return PETSC_FALSE;
    m[i * b->step] = 1.0 / pivot;
    c[i * b->step] *= m[i * b->step];
  }
  return PETSC_TRUE;
}

/* The largest sum of a row of |T^-1| R on line q of a bundle, or more; sum: those of R, overwritten. The inverse of a tridiagonal matrix
   with positive pivots is at most that of the one with minus the sizes of what is beside its diagonal, which has the same pivots */
static PetscReal HJLinesLargest(const HJBundles *b, PetscCount at, PetscInt q, const HJLines *l, PetscScalar *sum)
{
  const PetscScalar *m = l->m + at + q, *c = l->c + at + q;
  PetscReal          largest = 0.0, y = 0.0;

  for (PetscInt i = 1; i < b->count; i++)
    sum[at + q + i * b->step] += PetscAbsScalar(c[(i - 1) * b->step]) * sum[at + q + (i - 1) * b->step];
  for (PetscInt i = b->count - 1; i >= 0; i--) {
    y       = PetscRealPart(m[i * b->step] * sum[at + q + i * b->step]) + PetscAbsScalar(c[i * b->step]) * y;
    largest = PetscMax(largest, y);
  }
  return largest;
}

PetscErrorCode HJHostLinesFactor(const HJGrid *grid, const HJCoefficients *a, HJLines *l, PetscReal *bound)
{
  const HJBundles b = HJBundlesOf(l);
  HJBox           inside[HJ_MAX_SLOTS];
  PetscScalar    *sum;
  PetscCount      point = 0;
  PetscBool       good  = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt slot = 0; slot < a->nslots; slot++) inside[slot] = HJCoefficientsInside(a, slot, grid);
  PetscCall(PetscCalloc1(l->size, &sum));
  for (PetscCount i = 0; i < l->size; i++) l->c[i] = l->m[i] = 0.0;
  for (PetscInt k = 0; k < l->width[2]; k++) {
    for (PetscInt j = 0; j < l->width[1]; j++) {
      for (PetscInt i = 0; i < l->width[0]; i++, point++) {
        const PetscCount place = HJLinesPlace(l, point);

        sum[place]  = HJLinesRow(a, l, inside, (const PetscInt[]){i, j, k}, point, &l->c[place]);
        l->m[place] = HJCoefficientAt(a, 0, point);
      }
    }
  }
  *bound = 0.0;
  for (PetscInt bundle = 0; bundle < b.bundles && good; bundle++) {
    const PetscCount at = HJBundleBegin(l, &b, bundle);
    const PetscInt   n  = HJBundleLines(l, &b, bundle);

    for (PetscInt q = 0; q < n && good; q++) {
      good = HJLinesEliminate(&b, at, q, l);
      if (good) *bound = PetscMax(*bound, HJLinesLargest(&b, at, q, l, sum));
    }
  }
  *bound = good ? 1.0 + *bound : PETSC_MAX_REAL;
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostLinesCreate(const HJGrid *grid, PetscInt d, HJLines *l)
{
  PetscFunctionBegin;
  l->d = d;
  for (int e = 0; e < 3; e++) l->width[e] = HJBoxWidth(&grid->owned, e);
  l->size = HJBoxSize(&grid->owned);
  if (d == 0) l->size = ((PetscCount)l->width[1] * l->width[2] + HJ_LINES_ABREAST - 1) / HJ_LINES_ABREAST * HJ_LINES_ABREAST * l->width[0];
  PetscCall(PetscMalloc2(l->size, &l->c, l->size, &l->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostLinesDestroy(HJLines *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(l->c, l->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
