/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D sweeps of small grids that begin with a correction or end with a restriction (hjpatch2d.cuh): which grids, and which shape of patch
   a grid gets.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjpatch2d.cuh"

/* A shape of patches, for grids of so many points at most */
typedef struct {
  int         points, width, height, threads, smem_bytes;
  const void *kernel[2][2]; /* from x, from zero; of a whole grid, of one that is cut */
} HJPatchEntry;

template <int LANES, int ROWS, int WARPS> static HJPatchEntry HJPatchEntryOf(int points)
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;

  return {points,
          Shape::WIDTH,
          Shape::HEIGHT,
          Shape::THREADS,
          Shape::SMEM_BYTES,
          {{(const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, false, false>,
            (const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, false, true>},
           {(const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, true, false>,
            (const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, true, true>}}};
}

static const HJPatchEntry HJPatchEntries[] = {HJPatchEntryOf<HJ_PATCH_SMALL>(HJ_PATCH_POINTS_SMALL),
                                              HJPatchEntryOf<HJ_PATCH_MIDDLE>(HJ_PATCH_POINTS_MIDDLE),
                                              HJPatchEntryOf<HJ_PATCH_LARGE>(HJ_PATCH_MAX_POINTS)};

/* NULL: none for so many points */
static const HJPatchEntry *HJPatch2DEntry(const HJGrid *grid)
{
  for (const HJPatchEntry &e : HJPatchEntries)
    if (HJBoxSize(&grid->owned) <= e.points) return &e;
  return NULL;
}

/* Points of a patch beside those that it writes, on its first and last sides: without others' points a subiteration makes one less on each
   side; a coarse row needs residuals beside it, and these the result. Even, so that what is written ends between coarse points, which first
   says the side of */
static void HJPatch2DMargins(int count, bool restricts, int first, int margin[2])
{
  margin[first]     = (restricts ? count + 2 : count + 1) & ~1;
  margin[1 - first] = (count + 1) & ~1;
}

static bool HJPatch2DFits(const HJDevice *device, const HJGrid *grid, const HJPatchEntry *e, int count, bool restricts)
{
  int margin[2];

  HJPatch2DMargins(count, restricts, 0, margin);
  return count <= HJ_PATCH_COUNT && e->smem_bytes <= (int)device->smem_block && PetscMin(e->width, e->height) > margin[0] + margin[1] &&
         HJBoxWidth(&grid->owned, 0) >= e->width && HJBoxWidth(&grid->owned, 1) >= e->height;
}

/* Of all points of the grid, in arrays alike */
static bool HJPatch2DIsWhole(const HJGrid *grid, const HJDSweep *s)
{
  const HJDBox owned = HJDBoxFrom(&grid->owned);

  return !memcmp(&s->write, &owned, sizeof(owned)) && !memcmp(&s->box, &s->ybox, sizeof(s->box)) && s->x != s->y;
}

/* Whether sweeps that have to do with the coarser grid can be in patches where a grid has neighbours: it is its own and has no ends whose
   rows differ, or is cut into lines, of which each rank has more than a sweep reads, so that no wall is among those */
static bool HJPatch2DSuitsCut(const HJGrid *grid, const HJDStencil *st, HJKind kind, int count)
{
  const bool suits = HJGridIsWrapped(grid) ? st->nrows == 1 : !grid->neighbor[0][0] && !grid->neighbor[0][1];

  return suits && kind != HJ_WHOLE && grid->min_width > count + 1;
}

static int HJPatch2DTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJPatchEntry *e;

  if (ask->kind != HJ_WHOLE && ask->kind != HJ_CORRECTS && ask->kind != HJ_RESTRICTS) return 0;
  if (ask->st->frame != HJ_FRAME_REGULAR) return 0;
  if (HJGridHasNeighbors(ask->grid) && !HJPatch2DSuitsCut(ask->grid, ask->st, ask->kind, ask->count)) return 0;
  if (ask->kind == HJ_WHOLE && ask->sweep && (ask->nsweeps != 1 || !HJPatch2DIsWhole(ask->grid, ask->sweep))) return 0;
  e = HJPatch2DEntry(ask->grid);
  return e && HJPatch2DFits(device, ask->grid, e, ask->count, ask->kind == HJ_RESTRICTS);
}

static void HJPatch2DSetRows(const HJ_CUDA *cuda, HJPatchArgs *p)
{
  const HJDStencil *st    = &cuda->st;
  const HJFrame2D  *frame = &cuda->frame;

  p->framed = st->nrows > 1;
  for (int k = 0; k < 9; k++) {
    HJPatchRow *row = &p->row[k];

    for (int o = 0; o < 4; o++) row->c[o] = st->h_rows[5 * frame->row[k] + 1 + o];
    row->dinv     = st->h_dinv_rows[frame->row[k]];
    row->diagonal = 1.0 / row->dinv;
  }
}

/* Lines of an array of a sweep, from the first point that is written on */
static HJPatchLines HJPatch2DLines(const HJDSweep *s, const PetscScalar *own, const PetscScalar *const ghost[2])
{
  const int       lines[2] = {s->home_lo - s->box.lo[1], s->box.hi[1] - s->home_hi};
  const long long first    = HJDIndex(s->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  HJPatchLines    a        = {own ? own + first : NULL, {NULL, NULL}, {lines[0], lines[1]}};

  for (int side = 0; side < 2; side++)
    if (ghost[side]) a.beside[side] = ghost[side] + first;
  return a;
}

static HJPatchLines HJPatch2DCoarseLines(const HJCoarser *c)
{
  const int    nx = (int)c->n[0], ny = (int)c->n[1], depth = (int)c->depth;
  HJPatchLines a = {c->correction, {NULL, NULL}, {0, 0}};

  for (int side = 0; side < 2; side++) {
    if (!c->beside[side]) continue;
    a.beside[side] = c->beside[side] + (side ? -ny : depth) * nx;
    a.lines[side]  = depth;
  }
  return a;
}

/* Of a cut grid; copies are pointed to as if each were over ybox. Where columns wrap patches reach as far beyond the ends as one another */
static void HJPatch2DSetCut(const HJDSweep *s, const int margin[2], HJPatchArgs *p)
{
  p->begin[0]  = s->wrap[0] ? -margin[0] : 0;
  p->end[0]    = s->wrap[0] ? p->n[0] + margin[1] : p->n[0];
  p->begin[1]  = -((p->b.lines[0] + 1) & ~1);
  p->end[1]    = p->n[1] + p->b.lines[1];
  p->wraps     = s->wrap[0] > 0;
  p->exchanged = s->exchanged;
  for (int side = 0; side < 2; side++) {
    p->copy_at[side] = (side ? s->copy_hi : s->copy_lo) - s->write.lo[1];
    p->copy[side]    = s->copy[side] ? s->copy[side] + (s->write.lo[1] - s->ybox.lo[1]) * p->n[0] : NULL;
  }
}

static PetscErrorCode HJPatch2DLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const HJDSweep     *s       = pass->sweep;
  const HJCoarser    *coarser = pass->coarser;
  const int           count   = pass->count;
  const bool          cut     = HJGridHasNeighbors(&cuda->grid);
  const HJPatchEntry *e       = HJPatch2DEntry(&cuda->grid);
  HJPatchArgs         p       = {};
  void               *args[]  = {(void *)&p};
  int                 margin[2][2];

  PetscFunctionBegin;
  p.b     = HJPatch2DLines(s, s->b, s->bghost);
  p.x     = HJPatch2DLines(s, s->x, s->xghost);
  p.c     = HJPatch2DCoarseLines(coarser);
  p.y     = s->y + HJDIndex(s->ybox, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  p.line  = HJDWidth(s->box, 0);
  p.r     = coarser->restricted;
  p.count = count;
  for (int d = 0; d < 2; d++) {
    p.end[d] = p.n[d] = HJDWidth(s->write, d);
    p.nc[d]           = (int)coarser->n[d];
    p.first[d]        = (int)coarser->first[d];
    for (int side = 0; side < 2; side++) p.scale[d][side] = coarser->scale[d][side];
    HJPatch2DMargins(count, coarser->restricted, p.first[d], margin[d]);
  }
  if (cut) HJPatch2DSetCut(s, margin[0], &p);
  for (int d = 0; d < 2; d++) {
    const int size = d ? e->height : e->width;

    p.margin[d]   = margin[d][0];
    p.step[d]     = size - margin[d][0] - margin[d][1];
    p.npatches[d] = (p.end[d] - p.begin[d] - size + p.step[d] - 1) / p.step[d] + 1;
  }
  HJPatch2DSetRows(cuda, &p);
  for (int j = 0; j < count; j++) p.w[j] = pass->w[j];
  const HJLaunch how = {dim3(p.npatches[0] * p.npatches[1]), dim3(e->threads), (size_t)e->smem_bytes, stream, 0, cuda->device.cc >= 90};
  PetscCallCUDA(HJLaunchKernel(&how, e->kernel[!s->x][cut], args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyPatch2D = {.name = "2D patches", .takes = HJPatch2DTakes, .launch = HJPatch2DLaunch, .placed = true};
