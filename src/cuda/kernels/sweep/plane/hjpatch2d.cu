/*
   2D sweeps of small grids that begin with a correction or end with a restriction (hjpatch2d.cuh): which grids, and which shape of patch
   a grid gets.
*/
#include "cuda/kernels/sweep/hjcorrect.h"
#include "hjframe2d.h"
#include "hjpatch2d.cuh"

/* A shape of patches, for grids of so many points at most */
typedef struct {
  int         points, width, height, threads, smem_bytes;
  const void *kernel[2]; /* from x, from zero */
} HJPatchEntry;

template <int LANES, int ROWS, int WARPS> static HJPatchEntry HJPatchEntryOf(int points)
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;

  return {points,
          Shape::WIDTH,
          Shape::HEIGHT,
          Shape::THREADS,
          Shape::SMEM_BYTES,
          {(const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, false>, (const void *)HJPatch2D_Kernel<LANES, ROWS, WARPS, true>}};
}

static const HJPatchEntry HJPatchEntries[] = {HJPatchEntryOf<HJ_PATCH_SMALL>(HJ_PATCH_POINTS_SMALL),
                                              HJPatchEntryOf<HJ_PATCH_MIDDLE>(HJ_PATCH_POINTS_MIDDLE),
                                              HJPatchEntryOf<HJ_PATCH_LARGE>(HJ_PATCH_MAX_POINTS)};

/* NULL: none for so many points */
static const HJPatchEntry *HJPatch2DEntry(const HJ_CUDA *cuda)
{
  for (const HJPatchEntry &e : HJPatchEntries)
    if (HJBoxSize(&cuda->grid.owned) <= e.points) return &e;
  return NULL;
}

/* Points of a patch beside those that it writes, on its first and last sides: without others' points a subiteration makes one less on each
   side; a coarse row needs residuals beside it, and these the result. Even, so that what is written ends between coarse points */
static void HJPatch2DMargins(int count, bool restricts, int margin[2])
{
  margin[0] = (restricts ? count + 2 : count + 1) & ~1;
  margin[1] = (count + 1) & ~1;
}

static bool HJPatch2DFits(const HJ_CUDA *cuda, const HJPatchEntry *e, int count, bool restricts)
{
  int margin[2];

  HJPatch2DMargins(count, restricts, margin);
  return count <= HJ_PATCH_COUNT && e->smem_bytes <= (int)cuda->device.smem_block &&
         PetscMin(e->width, e->height) > margin[0] + margin[1] && HJBoxWidth(&cuda->grid.owned, 0) >= e->width &&
         HJBoxWidth(&cuda->grid.owned, 1) >= e->height;
}

/* A frame is looked for in set-up, where no launches are recorded */
bool HJPatch2DTakes(HJ_CUDA *cuda, int count, bool restricts)
{
  const HJDStencil   *st = &cuda->st;
  const HJPatchEntry *e;
  const HJFrame2D    *frame;

  if (st->dim != 2 || st->shape != HJ_STAR || st->storage != HJ_DICTIONARY || HJGridHasNeighbors(&cuda->grid)) return false;
  e = HJPatch2DEntry(cuda);
  if (!e) return false;
  frame = HJFrame2DGet(cuda);
  if (!frame || !frame->is) return false;
  for (int k = 0; k < 9; k++)
    if (st->h_rows[5 * frame->row[k]] != 1.0) return false;
  return HJPatch2DFits(cuda, e, count, restricts);
}

static void HJPatch2DSetRows(HJ_CUDA *cuda, HJPatchArgs *p)
{
  const HJDStencil *st    = &cuda->st;
  const HJFrame2D  *frame = HJFrame2DGet(cuda);

  p->framed = st->nrows > 1;
  for (int k = 0; k < 9; k++) {
    HJPatchRow *row = &p->row[k];

    for (int o = 0; o < 4; o++) row->c[o] = st->h_rows[5 * frame->row[k] + 1 + o];
    row->dinv     = st->h_dinv_rows[frame->row[k]];
    row->diagonal = 1.0 / row->dinv;
  }
}

static PetscErrorCode HJPatch2DLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const HJDSweep     *s       = pass->sweep;
  const HJCoarser    *coarser = pass->coarser;
  const int           count   = pass->count;
  const HJPatchEntry *e       = HJPatch2DEntry(cuda);
  HJPatchArgs         p       = {};
  void               *args[]  = {(void *)&p};
  int                 margin[2];

  PetscFunctionBegin;
  p.b     = s->b;
  p.x     = s->x;
  p.c     = coarser->correction;
  p.y     = s->y;
  p.r     = coarser->restricted;
  p.count = count;
  HJPatch2DMargins(count, coarser->restricted, margin);
  p.margin = margin[0];
  for (int d = 0; d < 2; d++) {
    const int size = d ? e->height : e->width;

    p.n[d]        = HJDWidth(s->write, d);
    p.nc[d]       = (int)coarser->n[d];
    p.step[d]     = size - margin[0] - margin[1];
    p.npatches[d] = (p.n[d] - size + p.step[d] - 1) / p.step[d] + 1;
  }
  HJPatch2DSetRows(cuda, &p);
  for (int j = 0; j < count; j++) p.w[j] = pass->w[j];
  const HJLaunch how = {dim3(p.npatches[0] * p.npatches[1]), dim3(e->threads), (size_t)e->smem_bytes, stream, 0, cuda->device.cc >= 90};
  PetscCallCUDA(HJLaunchKernel(&how, e->kernel[!s->x], args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All points of the grid, in arrays over them */
static bool HJPatch2DIsWhole(const HJ_CUDA *cuda, const HJSweep *s)
{
  const HJBox *boxes[] = {&s->write, &s->box, &s->ybox};

  for (const HJBox *box : boxes)
    if (memcmp(box, &cuda->grid.owned, sizeof(*box))) return false;
  return true;
}

bool HJPatch2DSweeps(HJ_CUDA *cuda, PetscInt n, const HJSweep *s)
{
  return n == 1 && s->x != s->y && HJPatch2DIsWhole(cuda, s) && HJPatch2DTakes(cuda, (int)s->count, false);
}

/* Not in the table of families, which asks nothing of the device: it takes sweeps of others that HJPatch2DSweeps() says */
const HJFamily HJFamilyPatch2D = {.name = "2D patches", .launch = HJPatch2DLaunch};
