/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Work on coefficient arrays in the memory of the host: the truth that the GPU's is compared with.
*/
#include "hjhost.h"
#include "hjhostsweep.h"
#include <sys/mman.h>

/* From so many bytes on an array is pages of the system */
#define HJ_MANY_BYTES ((size_t)8 << 20)

/* Such arrays */
typedef struct HJPages HJPages;
struct HJPages {
  void    *first;
  size_t   bytes;
  HJPages *next;
};
static HJPages *hj_pages = NULL;

/* Large ones take a fraction of the time to get that those of malloc() take */
static PetscErrorCode HJPagesAlloc(size_t bytes, void *address)
{
  HJPages *pages;

  PetscFunctionBegin;
  PetscCall(PetscNew(&pages));
  pages->bytes = bytes;
  pages->first = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages->first == MAP_FAILED) {
    PetscCall(PetscFree(pages));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "The host is out of memory: asked for %zu bytes", bytes);
  }
#if defined(MADV_HUGEPAGE)
  (void)madvise(pages->first, bytes, MADV_HUGEPAGE); /* advice that a system may not take */
#endif
  pages->next       = hj_pages;
  hj_pages          = pages;
  *(void **)address = pages->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAlloc_Host(size_t bytes, void *address)
{
  PetscFunctionBegin;
  if (bytes < HJ_MANY_BYTES) PetscCall(PetscMalloc(bytes, (void **)address));
  else PetscCall(HJPagesAlloc(bytes, address));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysFree_Host(void *address)
{
  HJPages **at = &hj_pages, *pages;

  PetscFunctionBegin;
  while (*at && (*at)->first != *(void **)address) at = &(*at)->next;
  pages = *at;
  if (pages) {
    *at = pages->next;
    PetscCheck(!munmap(pages->first, pages->bytes), PETSC_COMM_SELF, PETSC_ERR_SYS, "munmap() fails");
    PetscCall(PetscFree(pages));
    *(void **)address = NULL;
  } else PetscCall(PetscFree(*(void **)address));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysCopy_Host(void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysZero_Host(void *to, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(to, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pages are zero: nothing is written before the user does */
static PetscErrorCode HJArraysAllocZeros_Host(size_t bytes, void *address)
{
  PetscFunctionBegin;
  PetscCall(HJArraysAlloc_Host(bytes, address));
  if (bytes < HJ_MANY_BYTES) PetscCall(HJArraysZero_Host(*(void **)address, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysCombine_Host(PetscCount n, PetscScalar a, const PetscScalar *x, PetscScalar b, PetscScalar *y)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) y[i] = (x ? a * x[i] : a) + (b != 0.0 ? b * y[i] : 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysMultiply_Host(PetscCount n, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) y[i] *= x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysNonzero_Host(PetscCount n, const PetscScalar *x, PetscBool *all)
{
  PetscCount i = 0;

  PetscFunctionBegin;
  while (i < n && x[i] != 0.0) i++;
  *all = (PetscBool)(i == n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One slot along a line of points from p on; nothing where the array is written onto itself */
static void HJSlotLine(const HJCoefficients *c, PetscInt slot, PetscCount p, PetscInt n, PetscScalar *to)
{
  const PetscScalar *from = c->storage == HJ_COEFFICIENTS_ARRAYS ? c->value + HJSlotBegin(c, slot) + p : NULL;

  if (from == to) return;
  if (from) memcpy(to, from, n * sizeof(*to));
  else {
    for (PetscInt i = 0; i < n; i++) to[i] = HJCoefficientAt(c, slot, p + i);
  }
}

static PetscErrorCode HJArraysSlot_Host(const HJCoefficients *c, PetscInt slot, const PetscInt n[3], const HJBox *keep, PetscScalar *to)
{
  PetscCount p = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++, p += n[0]) {
      const PetscBool out = (PetscBool)(k < keep->lo[2] || k >= keep->hi[2] || j < keep->lo[1] || j >= keep->hi[1]);

      if (out) memset(to + p, 0, n[0] * sizeof(*to));
      else HJSlotLine(c, slot, p, n[0], to + p);
      if (keep->lo[0] > 0) to[p] = 0.0;
      if (keep->hi[0] < n[0]) to[p + n[0] - 1] = 0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of n points in a line: whether entries of a slot are those of the opposite one so far away */
static PetscBool HJLineIsSymmetric(const HJCoefficients *c, PetscInt slot, PetscCount away, PetscCount first, PetscInt n, PetscReal slack)
{
  const PetscInt opposite = HJSlotOpposite(c, slot);
  int            differ   = 0;

  if (c->storage == HJ_COEFFICIENTS_ARRAYS) {
    const PetscScalar *d = c->value + first, *a = d + HJSlotBegin(c, slot), *b = d + HJSlotBegin(c, opposite) + away;

    for (PetscInt i = 0; i < n; i++) differ |= !HJIsSameBeside(a[i], b[i], d[i], slack);
  } else {
    for (PetscCount p = first; p < first + n; p++)
      differ |= !HJIsSameBeside(HJCoefficientAt(c, slot, p), HJCoefficientAt(c, opposite, p + away), HJCoefficientAt(c, 0, p), slack);
  }
  return (PetscBool)!differ;
}

static PetscBool HJSlotIsSymmetric(const HJCoefficients *c, PetscInt slot, const PetscInt n[3], PetscReal slack)
{
  PetscInt  off[3], lo[3], hi[3];
  PetscBool is = PETSC_TRUE;

  HJSlotOffset(c, slot, off);
  for (int d = 0; d < 3; d++) {
    lo[d] = PetscMax(0, -off[d]);
    hi[d] = n[d] - PetscMax(0, off[d]);
  }
  for (PetscInt k = lo[2]; k < hi[2] && is; k++) {
    for (PetscInt j = lo[1]; j < hi[1] && is; j++)
      is = HJLineIsSymmetric(c, slot, ((PetscCount)off[2] * n[1] + off[1]) * n[0] + off[0], ((PetscCount)k * n[1] + j) * n[0] + lo[0],
                             hi[0] - lo[0], slack);
  }
  return is;
}

static PetscErrorCode HJArraysSymmetric_Host(const HJCoefficients *c, const PetscInt n[3], PetscReal slack, PetscBool *symmetric)
{
  PetscFunctionBegin;
  *symmetric = PETSC_TRUE;
  for (PetscInt s = 1; s < c->nslots && *symmetric; s++)
    if (!HJSlotIsUpper(c, s)) *symmetric = HJSlotIsSymmetric(c, s, n, slack);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysShifted_Host(const HJShell *shell, const PetscInt off[3], const PetscScalar *x, const PetscScalar *ghost,
                                           PetscScalar *to)
{
  const PetscInt *n = shell->width;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++) *to++ = HJShellAt(shell, x, ghost, i + off[0], j + off[1], k + off[2]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysGather_Host(PetscCount n, const PetscCount *which, const PetscScalar *from, PetscScalar *to)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) to[i] = from[which[i]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysScatter_Host(PetscCount n, const PetscCount *which, const PetscScalar *from, PetscScalar *to)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) to[which[i]] = from[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysMixAt_Host(PetscCount n, const PetscCount *which, PetscScalar p, const PetscScalar *factor,
                                         const PetscScalar *from, PetscScalar q, const PetscScalar *base, PetscScalar *to)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++)
    to[which[i]] = (p != 0.0 ? p * factor[i] * from[which[i]] : 0.0) + (q != 0.0 ? q * base[which[i]] : 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAskSome_Host(PetscCount n, const PetscCount *which, const PetscScalar *x, const PetscScalar *y,
                                           HJAnswer *answer)
{
  PetscBool some = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n && !some; i++) some = (PetscBool)(!(x[which[i]] == 0.0) || (y && !(y[which[i]] == 0.0)));
  *answer->yes = some ? 1.0 : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAnswerCreate_Host(HJAnswer *answer)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(1, &answer->yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAnswerWait_Host(const HJAnswer *answer, PetscBool *yes)
{
  PetscFunctionBegin;
  *yes = (PetscBool)(*answer->yes != 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAnswerDestroy_Host(HJAnswer *answer)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(answer->yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysPart_Host(size_t size, const HJBox *part, const HJBox *over, const void *from, const HJBox *onto, void *to)
{
  const size_t bytes = (size_t)HJBoxWidth(part, 0) * size;

  PetscFunctionBegin;
  for (PetscInt k = part->lo[2]; k < part->hi[2]; k++) {
    for (PetscInt j = part->lo[1]; j < part->hi[1]; j++)
      memcpy((char *)to + (size_t)HJBoxIndex(onto, part->lo[0], j, k) * size,
             (const char *)from + (size_t)HJBoxIndex(over, part->lo[0], j, k) * size, bytes);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As HJArrayOps' couples(), of one point */
static PetscBool HJPointCouples(const HJCoefficients *c, const HJGrid *grid, PetscInt i, PetscInt j, PetscInt k, const HJBox *to,
                                PetscBool in)
{
  const PetscCount at = HJBoxIndex(&grid->owned, i, j, k);

  if (in && HJCoefficientAt(c, 0, at) == 0.0) return PETSC_TRUE;
  for (PetscInt s = 1; s < c->nslots; s++) {
    PetscInt off[3];

    if (HJCoefficientAt(c, s, at) == 0.0) continue;
    HJSlotOffset(c, s, off);
    if (HJPointInside(&grid->domain, i + off[0], j + off[1], k + off[2]) && HJPointInside(to, i + off[0], j + off[1], k + off[2]) == in)
      return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscErrorCode HJArraysCouples_Host(const HJCoefficients *c, const HJGrid *grid, PetscInt n, const HJBox points[], const HJBox *to,
                                           PetscBool in, PetscBool couple[])
{
  PetscFunctionBegin;
  for (const HJBox *box = points; box < points + n; box++, couple++) {
    *couple = PETSC_FALSE;
    for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
      for (PetscInt j = box->lo[1]; j < box->hi[1]; j++) {
        for (PetscInt i = box->lo[0]; i < box->hi[0] && !*couple; i++) *couple = HJPointCouples(c, grid, i, j, k, to, in);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysAdd_Host(const HJCOOList *list, const PetscScalar *entries, PetscScalar *value)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < list->n; m++) {
    PetscScalar sum = value[list->place[m]];

    for (PetscInt e = list->first[m]; e < list->first[m + 1]; e++) sum += entries[list->entry[e]];
    value[list->place[m]] = sum;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysPut_Host(const HJCOOList *list, const PetscScalar *entries, PetscBool add, PetscScalar *value)
{
  const PetscInt *which = list->which;

  PetscFunctionBegin;
  for (PetscCount first = 0; first < list->npoints; first += HJ_COO_RUN) {
    const PetscInt n = (PetscInt)PetscMin(HJ_COO_RUN, list->npoints - first);

    for (PetscInt s = 0; s < list->nslots; s++, which += HJ_COO_RUN) {
      PetscScalar *to = value + s * list->npoints + first;

      for (PetscInt p = 0; p < n; p++) to[p] = (add ? to[p] : 0.0) + (which[p] < 0 ? 0.0 : entries[which[p]]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysScan_Host(const HJCoefficients *c, const HJGrid *grid, PetscInt *n, HJDistinctRow **rows, void **ids)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc(c->npoints * sizeof(unsigned short), ids));
  PetscCall(HJDistinctScan(c, grid, n, rows, (unsigned short *)*ids));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysNumber_Host(PetscCount npoints, void **ids, PetscInt n, const unsigned char map[], unsigned char *index)
{
  const unsigned short *id = (const unsigned short *)*ids;

  PetscFunctionBegin;
  for (PetscCount p = 0; p < npoints && index; p++) index[p] = map[id[p]];
  PetscCall(PetscFree(*ids));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysSpread_Host(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *v, PetscScalar *to)
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < n; p++) to[p] = v[p * dof + component];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysJoin_Host(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *from, PetscScalar *v)
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < n; p++) v[p * dof + component] = from[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points at a time, whose values the cache holds for all components */
#define HJ_SPREAD_POINTS 1024

static PetscErrorCode HJArraysSpreadAll_Host(PetscInt dof, PetscCount n, const PetscScalar *v, PetscCount apart, PetscScalar *to)
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < n; p += HJ_SPREAD_POINTS)
    HJHostSystemSpread(dof, (PetscInt)PetscMin(n - p, HJ_SPREAD_POINTS), v + p * dof, to + p, apart);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysJoinAll_Host(PetscInt dof, PetscCount n, PetscCount apart, const PetscScalar *from, PetscScalar *v)
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < n; p += HJ_SPREAD_POINTS)
    HJHostSystemJoin(dof, (PetscInt)PetscMin(n - p, HJ_SPREAD_POINTS), from + p, apart, v + p * dof);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the array of a slot is one number where it leads inside the domain */
static PetscBool HJSlotIsSame(const PetscScalar *a, const HJBox *owned, const HJBox *inside, PetscScalar number)
{
  for (PetscInt k = inside->lo[2]; k < inside->hi[2]; k++) {
    for (PetscInt j = inside->lo[1]; j < inside->hi[1]; j++) {
      for (PetscInt i = inside->lo[0]; i < inside->hi[0]; i++)
        if (a[HJBoxIndex(owned, i, j, k)] != number) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

static PetscErrorCode HJArraysHolds_Host(const HJCoefficients *c, const HJGrid *grid, HJSlotHolds holds[])
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < c->nslots; s++) {
    const PetscScalar *a   = c->value + HJSlotBegin(c, s);
    const HJBox        box = HJCoefficientsInside(c, s, grid);
    HJSlotHolds       *h   = &holds[s];
    PetscCount         p   = 0;

    while (p < c->npoints && a[p] == 0.0) p++;
    *h = (HJSlotHolds){.nonzero = (PetscBool)(p < c->npoints), .inside = (PetscBool)!HJBoxEmpty(&box)};
    if (h->inside) h->number = a[HJBoxIndex(&grid->owned, box.lo[0], box.lo[1], box.lo[2])];
    h->same = HJSlotIsSame(a, &grid->owned, &box, h->number);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJArraysKnown_Host(const HJCoefficients *c, PetscScalar *mask, PetscBool *any)
{
  PetscInt first = 0; /* slot that leads to another point */

  PetscFunctionBegin;
  while (first < c->nslots && !c->entry[first].slot) first++;
  *any = PETSC_FALSE;
  for (PetscCount p = 0; p < c->npoints; p++) {
    PetscInt s = first;

    while (s < c->nslots && HJCoefficientAt(c, s, p) == 0.0) s++;
    for (PetscInt l = 0; l < c->dof; l++) mask[p * c->dof + l] = s < c->nslots ? 1.0 : 0.0;
    if (s == c->nslots) *any = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJArrayOps HJArraysHost = {
  .backend        = &HJBackendHost,
  .alloc          = HJArraysAlloc_Host,
  .free           = HJArraysFree_Host,
  .copy           = HJArraysCopy_Host,
  .zero           = HJArraysZero_Host,
  .combine        = HJArraysCombine_Host,
  .multiply       = HJArraysMultiply_Host,
  .nonzero        = HJArraysNonzero_Host,
  .slot           = HJArraysSlot_Host,
  .symmetric      = HJArraysSymmetric_Host,
  .shifted        = HJArraysShifted_Host,
  .gather         = HJArraysGather_Host,
  .scatter        = HJArraysScatter_Host,
  .mix_at         = HJArraysMixAt_Host,
  .part           = HJArraysPart_Host,
  .couples        = HJArraysCouples_Host,
  .add            = HJArraysAdd_Host,
  .put            = HJArraysPut_Host,
  .scan           = HJArraysScan_Host,
  .number         = HJArraysNumber_Host,
  .alloc_zeros    = HJArraysAllocZeros_Host,
  .spread         = HJArraysSpread_Host,
  .join           = HJArraysJoin_Host,
  .spread_all     = HJArraysSpreadAll_Host,
  .join_all       = HJArraysJoinAll_Host,
  .holds          = HJArraysHolds_Host,
  .known          = HJArraysKnown_Host,
  .ask_some       = HJArraysAskSome_Host,
  .answer_create  = HJAnswerCreate_Host,
  .answer_wait    = HJAnswerWait_Host,
  .answer_destroy = HJAnswerDestroy_Host,
};
