/* SPDX-License-Identifier: BSD-2-Clause */
/*
   CPU backend: decides the order in which grid lines are swept so that values stay in cache. The arithmetic of a line is in
   hjhostkernels.c. Exact sweeps stream through the grid, all levels at once, each one plane behind the last; stale sweeps do tile by tile.
*/
#include "hjhost.h"
#include "hjhostcycle.h"
#include "hjhostsweep.h"
#include "core/hjsingle.h"
#include <unistd.h>

#define HJ_HOST_MAX_COUNT 32
/* Shorter runs of one dictionary row are not worth a call of their own */
#define HJ_HOST_MIN_RUN 16
/* Scalars before a line's first point, of which the last stands for the point outside the domain: a cache line */
#define HJ_HOST_PAD ((PetscInt)(64 / sizeof(PetscScalar)))
/* Scalars that the levels in flight and b may take together, for each MiB of L2: half of it; less where arrays of coefficients want room */
#define HJ_HOST_CACHE          (524288 / sizeof(PetscScalar))
#define HJ_HOST_CACHE_VARIABLE (262144 / sizeof(PetscScalar))
/* Widest lines in 1D, where levels should stay near L1, and in 3D */
#define HJ_HOST_WIDTH_1D 512
#define HJ_HOST_WIDTH_3D 512

/* One block of a sweep: the points of level j, and where the last planes of it lie */
typedef struct {
  HJBox        level[HJ_HOST_MAX_COUNT + 1];
  PetscScalar *ring, *zero; /* ring[level][plane % 3][nlines][ld]; lines of zeros, one a component */
  PetscInt     nlines, ld;  /* lines of all components in a plane, and how far apart they are */
  PetscCount   plane;       /* scalars of a plane */
  PetscBool    whole[2];    /* the block has a whole period in x, or of lines: what is beside an end is the other end */
} HJBlock;

/* MiB of this CPU's L2 where the system says it, else 1 */
static PetscReal HJHostCacheSize(void)
{
  long bytes = 0;

#if defined(_SC_LEVEL2_CACHE_SIZE)
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return bytes > 0 ? PetscClipInterval(bytes / 1048576.0, 0.5, 4.0) : 1.0;
}

/* Finds the runs of one line. The first of two calls only counts them: runs is NULL */
static PetscCount HJHostLineRuns(const unsigned char *index, PetscInt n, HJLineRun *runs)
{
  const PetscBool one   = (PetscBool)(n > 0 && !memcmp(index, index + 1, (size_t)n - 1)); /* all the same row: most lines, found quickly */
  PetscCount      nruns = 0;
  PetscBool       mixed = PETSC_FALSE;

  for (PetscInt i = 0, end; i < n; i = end) {
    for (end = one ? n : i + 1; end < n && index[end] == index[i];) end++;
    if (end - i >= HJ_HOST_MIN_RUN || (!i && end == n)) {
      if (runs) runs[nruns] = (HJLineRun){i, index[i]};
      nruns++;
      mixed = PETSC_FALSE;
    } else if (!mixed) {
      if (runs) runs[nruns] = (HJLineRun){i, -1};
      nruns++;
      mixed = PETSC_TRUE;
    }
  }
  if (runs) runs[nruns] = (HJLineRun){n, -1};
  return nruns + 1;
}

static PetscErrorCode HJHostFindRuns(HJHost *h)
{
  const PetscInt   n      = HJBoxWidth(&h->st.box, 0);
  const PetscCount nlines = HJBoxSize(&h->st.box) / PetscMax(n, 1);
  PetscCount       nruns  = 0;

  PetscFunctionBegin;
  PetscCall(PetscFree2(h->line_runs, h->runs));
  if (h->st.storage != HJ_DICTIONARY) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscCount l = 0; l < nlines; l++) nruns += HJHostLineRuns(h->st.index + l * n, n, NULL);
  PetscCall(PetscMalloc2(nlines, &h->line_runs, nruns, &h->runs));
  nruns = 0;
  for (PetscCount l = 0; l < nlines; l++) {
    h->line_runs[l] = nruns;
    nruns += HJHostLineRuns(h->st.index + l * n, n, h->runs + nruns);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostRefresh(void *ctx, const HJStencil *st)
{
  HJHost *h = (HJHost *)ctx;

  PetscFunctionBegin;
  PetscCheck(PetscMemTypeHost(st->mtype), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The host backend needs the stencil in host memory");
  h->st = *st;
  for (PetscInt o = 1; o < st->nslots && st->dof == 1; o++) h->array[o] = HJStencilArray(st, o, &h->shift[o]);
  if (st->dof > 1) PetscCall(HJHostSystemSet(h));
  PetscCall(HJHostFindRuns(h));
  PetscCall(HJHostFindMirrors(h));
  for (PetscInt r = 0; r < st->nrows && st->dof == 1; r++) {
    h->alone[r] = 1;
    for (PetscInt o = 1; o < st->nslots; o++)
      if (st->rows[r * st->nslots + o] != 0.0) h->alone[r] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostCreate(const HJGrid *grid, const HJStencil *st, void **ctx)
{
  HJHost *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  *ctx       = h;
  h->grid    = *grid;
  h->kernels = HJHostPickKernels();
  h->cache   = HJHostCacheSize();
  h->shape   = st->shape == HJ_BOX;
  h->sdim    = st->dim == 3 ? 2 : 1;
  h->tdim    = 3 - h->sdim;
  for (int d = 0; d < st->dim; d++) h->period[d] = HJGridPeriod(grid, d);
  PetscCall(HJHostRefresh(h, st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostDestroy(void **ctx)
{
  HJHost *h = (HJHost *)*ctx;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree2(h->line_runs, h->runs));
  PetscCall(PetscFree(h->mirrors));
  PetscCall(HJHostSystemReset(h));
  PetscCall(PetscFree(h->work));
  PetscCall(PetscFree(h->table));
  PetscCall(PetscFree(h));
  *ctx = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostLimits(void *ctx, HJLimits *limits)
{
  const HJHost *h = (const HJHost *)ctx;

  PetscFunctionBegin;
  limits->max_count  = HJ_HOST_MAX_COUNT;
  limits->best_count = h->st.dim == 3 ? 4 : 12;
  limits->slab[0]    = 32;
  limits->slab[1] = limits->slab[2] = 1;
  limits->in_place = limits->large = limits->from_zero = 0;
  limits->ghosts                                       = (PetscBool)(h->st.dim > 1); /* a line lies in one array */
  limits->wraps                                        = (PetscBool)(limits->ghosts && HJGridIsWrapped(&h->grid));
  for (PetscInt d = 0; d < h->st.dim - 1 && h->st.dof > 1; d++) /* bounds of systems do not wrap in other directions */
    if (h->grid.periodic[d]) limits->wraps = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *HJHostNameKernels(void *ctx, const PetscInt tile[3])
{
  return tile ? "tiles in cache" : "blocks in cache";
}

/* Any tile that memory holds will do */
static PetscErrorCode HJHostCheckTile(void *ctx, const PetscInt tile[3], char reason[], size_t len)
{
  PetscFunctionBegin;
  if (len) reason[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostAlloc(void *ctx, PetscCount n, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostFree(void *ctx, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostCopy(void *ctx, PetscScalar *to, const PetscScalar *from, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the dictionary times the weight of each subiteration */
static PetscErrorCode HJHostFillTable(HJHost *h, const HJSweep *s)
{
  const PetscInt ld = 1 + h->st.nslots;
  PetscScalar   *c;

  PetscFunctionBegin;
  if (h->st.storage != HJ_DICTIONARY) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->st.dof > 1) {
    PetscCall(HJHostSystemFillTable(h, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJHostReserve(&h->table, &h->table_size, (PetscCount)s->count * h->st.nrows * ld));
  c = h->table;
  for (PetscInt j = 0; j < s->count; j++) {
    for (PetscInt r = 0; r < h->st.nrows; r++, c += ld) {
      const PetscScalar *row = h->st.rows + r * (ld - 1);

      c[0] = s->w[j] * h->st.dinv_rows[r];
      c[1] = 1.0 - s->w[j] * row[0];
      for (PetscInt o = 1; o < ld - 1; o++) c[1 + o] = -s->w[j] * row[o];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of points that have one row of the dictionary, or each its own (row < 0) */
static HJHostRowFn HJHostRowKernel(const HJHost *h, int row, PetscBool zero)
{
  const PetscInt d = h->st.dim - 1;

  if (row < 0) return (zero ? h->kernels->indexed_zero : h->kernels->indexed)[h->shape][d];
  return zero ? h->kernels->constant_zero : h->kernels->constant[h->shape][d];
}

/*
   The points [lo, hi) of a line, all with one row of the dictionary, or each with its own (row < 0); at is the place of the line's first
   point in the index
*/
static void HJHostRun(const HJHost *h, const HJHostRow *line, int row, PetscInt lo, PetscInt hi, PetscCount at, PetscBool zero)
{
  HJHostRow r;

  if (h->st.dof > 1) {
    HJHostSystemRun(h, line, row, lo, hi, at, zero);
    return;
  }
  r.n = hi - lo;
  r.b = line->b + lo;
  r.y = line->y + lo;
  if (!zero)
    for (int l = 0; l < 9; l++) r.x[l] = line->x[l] ? line->x[l] + lo : NULL;
  r.c     = line->c + (row < 0 ? 0 : (PetscCount)row * (1 + h->st.nslots));
  r.index = h->st.index + at + lo;
  (*HJHostRowKernel(h, row, zero))(&r);
}

/* A few points at an end of a line, each by its own row: those of walls often are a diagonal alone */
static void HJHostFew(const HJHost *h, const HJHostRow *line, PetscInt lo, PetscInt hi, PetscCount at, PetscBool zero)
{
  const unsigned char *index = h->st.index + at;
  PetscBool            alone = (PetscBool)!zero;
  HJHostRow            r;

  for (PetscInt i = lo; i < hi; i++) alone = (PetscBool)(alone && h->alone[index[i]]);
  if (!alone) {
    HJHostRun(h, line, -1, lo, hi, at, zero);
    return;
  }
  r.n     = hi - lo;
  r.b     = line->b + lo;
  r.y     = line->y + lo;
  r.x[4]  = line->x[4] + lo;
  r.c     = line->c;
  r.index = index + lo;
  h->kernels->indexed_alone[h->shape][h->st.dim - 1](&r);
}

/* Points of a line from the start of a run on, none of which but a few at its ends has another row: the line is done by that row, where it
   is aligned, and the few again by theirs. false: there are more. first: as below */
static PetscBool HJHostLongRun(const HJHost *h, HJHostRow *line, const HJLineRun *run, PetscInt first, PetscCount at, PetscBool zero)
{
  const HJLineRun   *longest = run->row < 0 ? run + 1 : run;
  const PetscInt     lo = run->row < 0 ? run[1].first - first : 0, hi = lo < line->n ? PetscMin(longest[1].first - first, line->n) : 0;
  const PetscScalar *c = line->c;

  if (h->st.dof > 1 || lo >= PetscMin(line->n, HJ_HOST_MIN_RUN) || line->n - hi >= HJ_HOST_MIN_RUN) return PETSC_FALSE;
  line->c += (PetscCount)longest->row * (1 + h->st.nslots);
  (*HJHostRowKernel(h, longest->row, zero))(line);
  line->c = c;
  if (lo > 0) HJHostFew(h, line, 0, lo, at, zero);
  if (hi < line->n) HJHostFew(h, line, hi, line->n, at, zero);
  return PETSC_TRUE;
}

/* A line of a grid with a dictionary, run by run; first is its first point, counted from the start of the box's line */
static void HJHostDictionaryLine(const HJHost *h, HJHostRow *line, PetscInt first, PetscCount lineno, PetscCount at, PetscBool zero)
{
  const HJLineRun *run = h->runs + h->line_runs[lineno];

  while (run[1].first <= first) run++;
  if (run->row < 0 && run[1].first - first >= line->n && h->st.dof == 1) {
    line->index = h->st.index + at;
    (*HJHostRowKernel(h, -1, zero))(line);
    return;
  }
  if (HJHostLongRun(h, line, run, first, at, zero)) return;
  for (PetscInt lo = 0, hi; lo < line->n; lo = hi, run++) {
    hi = PetscMin(run[1].first - first, line->n);
    if (run->row < 0 && hi < line->n && hi - lo < HJ_HOST_MIN_RUN) {
      /*
         A few points before a long run: the run is done from their start, where the line is aligned, and then they are done again by
         their rows
      */
      const PetscInt end = PetscMin(run[2].first - first, line->n);

      HJHostRun(h, line, run[1].row, lo, end, at, zero);
      HJHostRun(h, line, -1, lo, hi, at, zero);
      hi = end;
      run++;
    } else HJHostRun(h, line, run->row, lo, hi, at, zero);
  }
}

/* A line with arrays, which begins at place at of their box and at first of its line there */
static void HJHostVariableLine(const HJHost *h, HJHostRow *r, PetscInt first, PetscCount lineno, PetscCount at)
{
  const HJLineMirror *m = &h->mirrors[lineno];

  for (PetscInt o = 1; o < h->st.nslots; o++) r->v[o - 1] = m->slots >> o & 1 ? h->mirror[o] + (at + h->mirror_shift[o]) : h->array[o] + at;
  (*h->kernels->variable[h->shape][h->st.dim - 1])(r);
  for (PetscInt e = 0; e < m->nexcept; e++) {
    r->point = m->except[e] - first;
    if (r->point < 0 || r->point >= r->n) continue;
    r->other       = h->mirror_along - 1;
    r->other_value = m->value[e];
    (*h->kernels->variable_point[h->shape][h->st.dim - 1])(r);
  }
}

/* Subiteration j (the first is 0) on the line that starts at p; zero says that x = 0 before it. Coefficients are those of the period */
static void HJHostLine(const HJHost *h, const HJSweep *s, PetscInt j, const PetscInt p[3], PetscBool zero, HJHostRow *r)
{
  const HJBox     *box  = &h->st.box;
  const PetscInt   q[2] = {HJPeriodWrap(h->period[1], p[1]), HJPeriodWrap(h->period[2], p[2])}, first = p[0] - box->lo[0];
  const PetscCount lineno = (PetscCount)(q[1] - box->lo[2]) * HJBoxWidth(box, 1) + (q[0] - box->lo[1]);
  const PetscCount at     = lineno * HJBoxWidth(box, 0) + first;

  r->b = HJSweepLine(s, h->st.dim, h->st.dof, s->b, s->bghost, p);
  r->w = s->w[j];
  if (h->st.dof > 1) {
    HJHostSystemSpread(h->st.dof, r->n, r->b, h->lines, r->n);
    r->b     = h->lines;
    r->bnext = r->n;
  }
  if (h->st.storage == HJ_DICTIONARY) {
    r->c = h->table + (PetscCount)j * h->st.nrows * (h->st.dof > 1 ? h->width : 1 + h->st.nslots);
    HJHostDictionaryLine(h, r, first, lineno, at, zero);
  } else if (h->st.dof > 1) HJHostSystemVariable(h, r, at, zero);
  else {
    r->dinv = h->st.dinv + at;
    if (zero) (*h->kernels->variable_zero)(r);
    else if (h->mirrors) HJHostVariableLine(h, r, first, lineno, at);
    else {
      for (PetscInt o = 1; o < h->st.nslots; o++) r->v[o - 1] = h->array[o] + (at + h->shift[o]);
      (*h->kernels->variable[h->shape][h->st.dim - 1])(r);
    }
  }
}

/* Where the first lines of the planes before, at and after one begin in level j; NULL: outside the domain. Those of level j + 1 are three
   planes on */
static void HJBlockGetPlanes(const HJHost *h, const HJBlock *bl, PetscInt j, PetscInt plane, PetscScalar *planes[3])
{
  const PetscInt lo = h->grid.domain.lo[h->sdim], hi = h->grid.domain.hi[h->sdim], place = (plane - bl->level[0].lo[h->sdim]) % 3;
  PetscScalar   *level = bl->ring + j * 3 * bl->plane;

  planes[0] = plane > lo ? level + (place ? place - 1 : 2) * bl->plane : NULL;
  planes[1] = level + place * bl->plane;
  planes[2] = plane < hi - 1 ? level + (place < 2 ? place + 1 : 0) * bl->plane : NULL;
}

/* The points of a line from lo to hi on, no farther than the end of the period that they lie in; p[0] is where they are in it */
static PetscInt HJHostSegment(const HJHost *h, const HJSweep *s, PetscInt lo, PetscInt hi, PetscInt p[3])
{
  const PetscInt n = s->wraps[0] ? h->period[0] : 0;

  p[0] = lo;
  if (!n) return hi - lo;
  p[0] = HJPeriodWrap(n, lo);
  return PetscMin(hi - lo, n - p[0]);
}

/* What is beside the ends of a line that is a whole period in x */
static void HJBlockClose(const HJBlock *bl, PetscScalar *line, PetscInt n)
{
  if (!bl->whole[0]) return;
  line[-1] = line[n - 1];
  line[n]  = line[0];
}

/* Level 0 of a plane: a copy of x, so that the points beside the domain are zero */
static void HJBlockLoad(const HJHost *h, const HJSweep *s, const HJBlock *bl, PetscInt plane)
{
  const HJBox *l = &bl->level[0];
  PetscScalar *planes[3], *to;
  PetscInt     p[3];

  HJBlockGetPlanes(h, bl, 0, plane, planes);
  to         = planes[1] + HJ_HOST_PAD;
  p[h->sdim] = plane;
  for (PetscInt t = l->lo[h->tdim]; t < l->hi[h->tdim]; t++, to += h->st.dof * bl->ld) {
    p[h->tdim] = h->tdim == 1 && s->wraps[1] ? HJPeriodWrap(h->period[1], t) : t;
    for (PetscInt i = l->lo[0], n; i < l->hi[0]; i += n) {
      const PetscScalar *x;

      n = HJHostSegment(h, s, i, l->hi[0], p);
      x = HJSweepLine(s, h->st.dim, h->st.dof, s->x, s->xghost, p);
      if (h->st.dof > 1) HJHostSystemSpread(h->st.dof, n, x, to + (i - l->lo[0]), bl->ld);
      else memcpy(to + (i - l->lo[0]), x, (size_t)n * sizeof(PetscScalar));
    }
    HJBlockClose(bl, to, HJBoxWidth(l, 0));
  }
}

/* Lines of the last level around line t; planes[] are its planes before, at and after */
static void HJBlockSetLines(const HJHost *h, const HJBlock *bl, PetscScalar *const planes[3], PetscInt x, PetscInt t, HJHostRow *r)
{
  const PetscInt     skip = x - bl->level[0].lo[0] + HJ_HOST_PAD, lo = bl->level[0].lo[h->tdim], apart = h->st.dof * bl->ld;
  const PetscBool    first = (PetscBool)(t == h->grid.domain.lo[1]), last = (PetscBool)(t == h->grid.domain.hi[1] - 1);
  const PetscScalar *zero = bl->zero + skip;
  PetscCount         here, before, after;

  if (h->tdim == 2) {
    for (int i = 0; i < 3; i++) r->x[3 + i] = planes[i] ? planes[i] + skip : zero;
    return;
  }
  here   = (PetscCount)(t - lo) * apart + skip;
  before = here + (PetscCount)(bl->whole[1] && t == lo ? h->period[1] - 1 : -1) * apart;
  after  = here + (PetscCount)(bl->whole[1] && t == lo + h->period[1] - 1 ? 1 - h->period[1] : 1) * apart;
  for (int i = 0; i < 3; i++) {
    const PetscScalar **x = r->x + 3 * i, *plane = planes[i];

    if (plane) {
      x[0] = first ? zero : plane + before;
      x[1] = plane + here;
      x[2] = last ? zero : plane + after;
    } else x[0] = x[1] = x[2] = zero;
  }
}

/* Where the results of a line go: lines of its components that are so far apart */
static void HJHostSetResult(HJHostRow *r, PetscScalar *y, PetscCount apart)
{
  r->y     = y;
  r->ynext = apart;
}

/* To the vector; several components by way of lines of their own */
static void HJHostSetFinal(const HJHost *h, const HJSweep *s, const PetscInt p[3], HJHostRow *r)
{
  if (h->st.dof > 1) HJHostSetResult(r, h->lines + h->st.dof * r->n, r->n);
  else r->y = s->y + HJBoxIndex(&s->ybox, p[0], p[1], p[2]);
}

static void HJHostFinish(const HJHost *h, const HJSweep *s, const PetscInt p[3], const HJHostRow *r)
{
  const PetscInt dof = h->st.dof;

  if (dof > 1) HJHostSystemJoin(dof, r->n, r->y, r->ynext, s->y + dof * HJBoxIndex(&s->ybox, p[0], p[1], p[2]));
}

/* Level j > 0 of a plane. r: what its lines share, the lines that a shape does not have unset */
static void HJBlockAdvance(const HJHost *h, const HJSweep *s, const HJBlock *bl, PetscInt j, PetscInt plane, HJHostRow *r)
{
  const HJBox    *l    = &bl->level[j];
  const PetscBool zero = (PetscBool)(j == 1 && !s->x);
  PetscScalar    *planes[3], *ring;
  PetscInt        p[3];

  HJBlockGetPlanes(h, bl, j - 1, plane, planes);
  ring       = j < s->count ? planes[1] + 3 * bl->plane : NULL;
  p[h->sdim] = plane;
  for (PetscInt t = l->lo[h->tdim]; t < l->hi[h->tdim]; t++) {
    PetscScalar *line = ring ? ring + (PetscCount)(t - bl->level[0].lo[h->tdim]) * h->st.dof * bl->ld + HJ_HOST_PAD : NULL;

    p[h->tdim] = h->tdim == 1 && s->wraps[1] ? HJPeriodWrap(h->period[1], t) : t;
    for (PetscInt i = l->lo[0], n; i < l->hi[0]; i += n) {
      n        = HJHostSegment(h, s, i, l->hi[0], p);
      r->n     = n;
      r->xnext = bl->ld;
      if (line) HJHostSetResult(r, line + (i - bl->level[0].lo[0]), bl->ld);
      else HJHostSetFinal(h, s, p, r);
      HJBlockSetLines(h, bl, planes, i, t, r);
      HJHostLine(h, s, j - 1, p, zero, r);
      if (!line) HJHostFinish(h, s, p, r);
    }
    if (line) HJBlockClose(bl, line, HJBoxWidth(l, 0));
  }
}

/* The levels of a block. A period that it has as a whole does not grow */
static void HJBlockSetLevels(const HJHost *h, const HJSweep *s, const HJBox *block, HJBlock *bl)
{
  for (int d = 0; d < 2; d++) bl->whole[d] = (PetscBool)(s->wraps[d] && HJBoxWidth(block, d) == h->period[d]);
  for (PetscInt j = 0; j <= s->count; j++) {
    bl->level[j] = HJGridGrow(&h->grid, block, s->count - j);
    for (int d = 0; d < 2; d++) {
      if (!bl->whole[d]) continue;
      bl->level[j].lo[d] = block->lo[d];
      bl->level[j].hi[d] = block->hi[d];
    }
  }
}

/*
   The distance of lines is an odd multiple of 64 bytes. Lines that are used together then lie at different places modulo 4096: at the
   same place a store would hold up the loads behind it
*/
static void HJBlockLayout(const HJHost *h, HJBlock *bl)
{
  bl->nlines = h->st.dof * HJBoxWidth(&bl->level[0], h->tdim);
  bl->ld     = (HJBoxWidth(&bl->level[0], 0) + HJ_HOST_PAD) / (8 * HJ_HOST_PAD) * (8 * HJ_HOST_PAD) + 11 * HJ_HOST_PAD;
  bl->plane  = (PetscCount)bl->nlines * bl->ld;
}

/* All levels of the points of block */
static PetscErrorCode HJHostExactBlock(HJHost *h, const HJSweep *s, const HJBox *block)
{
  const PetscInt k = s->count, start = s->x ? 0 : 1;
  HJBlock        bl;
  HJHostRow      row = {0};
  PetscCount     size;

  PetscFunctionBegin;
  HJBlockSetLevels(h, s, block, &bl);
  HJBlockLayout(h, &bl);
  size = k * 3 * bl.plane + h->st.dof * bl.ld;
  PetscCall(HJHostReserve(&h->work, &h->work_size, size + HJ_HOST_PAD));
  bl.ring = (PetscScalar *)(((size_t)h->work + 63) / 64 * 64);
  bl.zero = bl.ring + size - h->st.dof * bl.ld;
  PetscCall(PetscArrayzero(bl.zero, h->st.dof * bl.ld));
  for (PetscScalar *line = bl.ring; line < bl.zero; line += bl.ld)
    line[HJ_HOST_PAD - 1] = line[HJ_HOST_PAD + HJBoxWidth(&bl.level[0], 0)] = 0.0;
  for (PetscInt front = bl.level[start].lo[h->sdim]; front < bl.level[k].hi[h->sdim] + k; front++) {
    for (PetscInt j = start; j <= k; j++) {
      const PetscInt plane = front - j;

      if (plane < bl.level[j].lo[h->sdim] || plane >= bl.level[j].hi[h->sdim]) continue;
      if (j) HJBlockAdvance(h, s, &bl, j, plane, &row);
      else HJBlockLoad(h, s, &bl, plane);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The width of blocks in direction d: about want points, and nearly the same for all blocks */
static PetscInt HJHostBlockWidth(const HJBox *write, int d, PetscInt want)
{
  const PetscInt n = HJBoxWidth(write, d), nblocks = PetscMax(1, (n + want / 2) / want);

  return (n + nblocks - 1) / nblocks;
}

static PetscErrorCode HJHostExact(HJHost *h, const HJSweep *s)
{
  const PetscInt k = s->count, tdim = h->tdim, dim = h->st.dim;
  /* Values of several unknowns a point are a stream that stays in no cache */
  const PetscInt cache  = h->st.storage == HJ_DICTIONARY || h->st.dof > 1 ? HJ_HOST_CACHE : HJ_HOST_CACHE_VARIABLE;
  const PetscInt points = (PetscInt)(h->cache * cache) / (4 * k * h->st.dof); /* three planes of each level, and b */
  const PetscInt nx     = HJHostBlockWidth(&s->write, 0, dim == 1 ? HJ_HOST_WIDTH_1D : dim == 2 ? points : HJ_HOST_WIDTH_3D);
  const PetscInt nt     = HJHostBlockWidth(&s->write, tdim, PetscMax(points / (nx + 2 * k) - 2 * k, 2 * k));

  PetscFunctionBegin;
  PetscCall(HJHostFillTable(h, s));
  if (h->st.dof > 1) PetscCall(HJHostSystemReserveLines(h, HJBoxWidth(&s->write, 0) + 2 * k));
  for (PetscInt t = s->write.lo[tdim]; t < s->write.hi[tdim]; t += nt) {
    for (PetscInt x = s->write.lo[0]; x < s->write.hi[0]; x += nx) {
      HJBox block = s->write;

      block.lo[0]    = x;
      block.hi[0]    = PetscMin(x + nx, s->write.hi[0]);
      block.lo[tdim] = t;
      block.hi[tdim] = PetscMin(t + nt, s->write.hi[tdim]);
      PetscCall(HJHostExactBlock(h, s, &block));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills a tile and its ring from x; they are zero outside the domain, and everywhere from a zero guess */
static void HJTileLoad(const HJHost *h, const HJSweep *s, const HJBox *ring, PetscScalar *buf)
{
  const HJBox   *dom = &h->grid.domain;
  const PetscInt lo = PetscMax(ring->lo[0], dom->lo[0]), hi = PetscMin(ring->hi[0], dom->hi[0]), dof = h->st.dof;

  memset(buf, 0, (size_t)(dof * HJBoxSize(ring)) * sizeof(PetscScalar));
  if (!s->x) return;
  for (PetscInt k = PetscMax(ring->lo[2], dom->lo[2]); k < PetscMin(ring->hi[2], dom->hi[2]); k++) {
    for (PetscInt j = PetscMax(ring->lo[1], dom->lo[1]); j < PetscMin(ring->hi[1], dom->hi[1]); j++) {
      const PetscScalar *from = s->x + dof * HJBoxIndex(&s->box, lo, j, k);

      if (dof > 1) HJHostSystemSpread(dof, hi - lo, from, buf + HJBoxIndex(ring, lo, j, k), HJBoxSize(ring));
      else memcpy(buf + HJBoxIndex(ring, lo, j, k), from, (size_t)(hi - lo) * sizeof(PetscScalar));
    }
  }
}

/* Subiteration j (the first is 0) on the points of box, from one buffer that covers ring to another, or (NULL) to the vector */
static void HJTileAdvance(const HJHost *h, const HJSweep *s, PetscInt j, const HJBox *box, const HJBox *ring, const PetscScalar *from,
                          PetscScalar *y)
{
  const PetscInt   nx  = HJBoxWidth(ring, 0);
  const PetscCount nxy = (PetscCount)nx * HJBoxWidth(ring, 1);
  HJHostRow        r;

  for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
    for (PetscInt i = box->lo[1]; i < box->hi[1]; i++) {
      const PetscInt     p[3] = {box->lo[0], i, k};
      const PetscScalar *x    = from + HJBoxIndex(ring, p[0], i, k);

      r.n     = HJBoxWidth(box, 0);
      r.xnext = HJBoxSize(ring);
      if (y) HJHostSetResult(&r, y + HJBoxIndex(ring, p[0], i, k), r.xnext);
      else HJHostSetFinal(h, s, p, &r);
      for (int l = 0; l < 9; l++) r.x[l] = x + (h->st.dim > 2 ? (l / 3 - 1) * nxy : 0) + (h->st.dim > 1 ? (l % 3 - 1) * nx : 0);
      HJHostLine(h, s, j, p, (PetscBool)(!j && !s->x), &r);
      if (!y) HJHostFinish(h, s, p, &r);
    }
  }
}

static PetscErrorCode HJHostStaleTile(HJHost *h, const HJSweep *s, const HJBox *tile, const HJBox *own)
{
  HJBox        ring = *tile;
  PetscCount   size;
  PetscScalar *from, *to;

  PetscFunctionBegin;
  for (int d = 0; d < h->st.dim; d++) {
    ring.lo[d]--;
    ring.hi[d]++;
  }
  size = h->st.dof * HJBoxSize(&ring);
  PetscCall(HJHostReserve(&h->work, &h->work_size, 2 * size));
  if (h->st.dof > 1) PetscCall(HJHostSystemReserveLines(h, HJBoxWidth(tile, 0)));
  from = h->work;
  to   = h->work + size;
  HJTileLoad(h, s, &ring, from);
  PetscCall(PetscArraycpy(to, from, size));
  for (PetscInt j = 0; j < s->count - 1; j++) {
    PetscScalar *swap = from;

    HJTileAdvance(h, s, j, tile, &ring, from, to);
    from = to;
    to   = swap;
  }
  HJTileAdvance(h, s, s->count - 1, own, &ring, from, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostStale(HJHost *h, const HJSweep *s)
{
  PetscInt n[3], t[3];
  HJBox    tile, own;

  PetscFunctionBegin;
  PetscCall(HJHostFillTable(h, s));
  for (int d = 0; d < 3; d++) n[d] = d < h->st.dim ? HJTileCount(HJBoxWidth(&s->cover, d), s->tile[d], s->overlap) : 1;
  for (t[2] = 0; t[2] < n[2]; t[2]++) {
    for (t[1] = 0; t[1] < n[1]; t[1]++) {
      for (t[0] = 0; t[0] < n[0]; t[0]++) {
        tile = own = s->write;
        for (int d = 0; d < h->st.dim; d++) HJTileRange(s, d, t[d], &tile.lo[d], &tile.hi[d], &own.lo[d], &own.hi[d]);
        PetscCall(HJHostStaleTile(h, s, &tile, &own));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostSweep(void *ctx, PetscInt n, const HJSweep s[])
{
  HJHost *h = (HJHost *)ctx;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    if (HJBoxEmpty(&s[i].write)) continue;
    if (s[i].overlap < 0) PetscCall(HJHostExact(h, &s[i]));
    else PetscCall(HJHostStale(h, &s[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT)
static PetscErrorCode HJHostBackendAbsolute(void *ctx, PetscInt n, const HJSweep s[], PetscBool skew, PetscReal *ratio)
{
  const HJHost *h = (const HJHost *)ctx;

  PetscFunctionBegin;
  if (h->st.dof > 1) PetscCall(HJHostSystemAbsolute(h, n, s, skew, ratio));
  else PetscCall(HJHostAbsolute(&h->grid, &h->st, n, s, skew, ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

static PetscErrorCode HJHostAllocZeros(PetscCount n, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(HJHostAlloc(NULL, n, p));
  PetscCall(PetscArrayzero(*p, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT)
static PetscErrorCode HJHostScratch(PetscCount n, PetscBool zero, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, p));
  if (zero) PetscCall(PetscArrayzero(*p, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostUnscratch(PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostAbsoluteLater(void *ctx, PetscInt n, const HJSweep s[], PetscReal *ratio)
{
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(HJHostBackendAbsolute(ctx, n, s, PETSC_FALSE, &largest));
  *ratio = PetscMax(*ratio, largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostRead(PetscReal *to, const PetscReal *from, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line is where its box says */
static PetscBool HJHostPlaces(void *ctx, const HJRestriction *r)
{
  return PETSC_TRUE;
}
#endif

/* In single precision there is what cycles need: set-up is done in double */
static const HJMultigridOps HJMultigridHost = {
  .interpolate                    = HJHostInterpolate,
  .interpolate_transpose          = HJHostInterpolateTranspose,
  .interpolate_variable           = HJHostInterpolateVariable,
  .interpolate_transpose_variable = HJHostInterpolateTransposeVariable,
  .restrict_residual              = HJHostRestrictResidual,
  .alloc_zeros                    = HJHostAllocZeros,
#if !defined(HJ_FLOAT)
  .galerkin           = HJHostGalerkin,
  .measure            = HJHostMeasure,
  .scratch            = HJHostScratch,
  .unscratch          = HJHostUnscratch,
  .absolute_later     = HJHostAbsoluteLater,
  .read               = HJHostRead,
  .number_create      = HJHostNumberCreate,
  .number_destroy     = HJHostNumberDestroy,
  .number_squares     = HJHostNumberSquares,
  .number_send        = HJHostNumberSend,
  .number_wait        = HJHostNumberWait,
  .fill_dense         = HJHostFillDense,
  .invert             = HJHostInvert,
  .multiply_dense     = HJHostMultiplyDense,
  .galerkin_variable  = HJHostGalerkinVariable,
  .couplings          = HJHostCouplings,
  .jump               = HJHostJump,
  .interpolation_fill = HJHostInterpolationFill,
  .places             = HJHostPlaces,
  .lines_create       = HJHostLinesCreate,
  .lines_destroy      = HJHostLinesDestroy,
  .lines_factor       = HJHostLinesFactor,
  .lines_solve        = HJHostLinesSolve,

  .interpolate_points           = HJHostInterpolatePoints,
  .interpolate_points_transpose = HJHostInterpolatePointsTranspose,
  .keep_points                  = HJHostKeepPoints,
#endif
};

const HJBackendOps HJBackendHost = {
  .name              = "host",
  .mtype             = PETSC_MEMTYPE_HOST,
  .create            = HJHostCreate,
  .refresh           = HJHostRefresh,
  .limits            = HJHostLimits,
  .kernels           = HJHostNameKernels,
  .check_tile        = HJHostCheckTile,
  .sweep             = HJHostSweep,
  .alloc             = HJHostAlloc,
  .free              = HJHostFree,
  .copy              = HJHostCopy,
  .destroy           = HJHostDestroy,
  .product           = HJHostProduct,
  .product_transpose = HJHostProductTranspose,
  .multigrid         = &HJMultigridHost,
#if defined(HJ_FLOAT)
  .single = &HJSingleHost,
#else
  .absolute  = HJHostBackendAbsolute,
  .krylov    = &HJKrylovHost,
  #if !PetscDefined(USE_REAL_SINGLE)
  .in_single = &HJBackendHostSingle,
  #endif
#endif
};
