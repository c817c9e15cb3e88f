/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The backend table of the GPU, with that of multigrid: device copy of the stencil, memory, stream, sweeps by the kernels that hjtable.cu
   chooses. No kernel of the method is here, and no decision about passes: limits() tells the planner what the chosen family can do.
*/
#include "hjcuda.h"
#include "hjarrays_cuda.h"
#include "hjsystems_cuda.h"
#include "hjtable.h"
#include "cuda/kernels/operator/hjround_cuda.h"
#include "cuda/device/hjscratch.h"
#include "cuda/device/hjgraph.h"
#include "cuda/kernels/operator/hjkrylov_cuda.h"
#include "cuda/kernels/operator/hjlines_cuda.h"
#include "cuda/kernels/operator/hjproduct_cuda.h"
#include "cuda/kernels/setup/hjabsolute.h"
#include "cuda/kernels/setup/hjcycle_cuda.h"
#include "cuda/kernels/setup/hjgalerkin_cuda.h"
#include "cuda/kernels/setup/hjinterpolation_cuda.h"
#include "cuda/kernels/setup/hjmeasure_cuda.h"
#include "cuda/kernels/sweep/plane/hjframe2d.h"
#include "cuda/kernels/transfer/hjtransfer_cuda.h"

#define HJ_FAR        (1 << 20) /* points beyond the box where an endless domain is cut; no kernel looks that far */
#define HJ_MAX_POINTS ((PetscInt)PetscMin(HJ_ENDLESS, INT_MAX / 2) - HJ_FAR) /* of a direction: kernels add to coordinates, which are int */

/* The family of all exact sweeps of an operator, but for some that others do better */
static const HJFamily *HJChooseFamily(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const HJAsk ask = {.kind = HJ_EXACT, .grid = grid, .st = st};

  return HJTableChoose(device, &ask);
}

static const HJFamily *HJChooseTileFamily(const HJDevice *device, const HJDStencil *st, const int tile[3])
{
  const HJAsk ask = {.kind = HJ_STALE, .st = st, .tile = {tile[0], tile[1], tile[2]}};

  return HJTableChoose(device, &ask);
}

#if !defined(HJ_FLOAT)
PetscErrorCode HJCUDAAvailable(PetscBool *available)
{
  int n = 0;

  PetscFunctionBegin;
  *available = (PetscBool)(cudaGetDeviceCount(&n) == cudaSuccess && n > 0);
  (void)cudaGetLastError(); /* no driver is not an error of this process */
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* The shape of a stencil, without its values */
static HJDStencil HJDStencilShape(const HJStencil *st)
{
  HJDStencil d;

  memset(&d, 0, sizeof(d));
  d.dim        = (int)st->dim;
  d.dof        = (int)st->dof;
  d.shape      = (int)st->shape;
  d.storage    = (int)st->storage;
  d.nneighbors = (int)st->nslots - 1;
  d.nrows      = (int)st->nrows;
  d.box        = HJDBoxFrom(&st->box);
  if (st->dim == 2 && st->shape == HJ_STAR && st->storage == HJ_DICTIONARY && st->nrows == 1) d.frame = HJ_FRAME_REGULAR;
  return d;
}

/* A thread takes 16 points at once, which mostly have one row; the first few and the last few one by one */
static __global__ void HJRowHistogram_Kernel(const unsigned char *index, long long n, unsigned long long *count)
{
  __shared__ unsigned s_count[HJ_MAX_ROWS];
  const long long     first = blockIdx.x * (long long)blockDim.x + threadIdx.x, step = gridDim.x * (long long)blockDim.x;
  const long long     head = PetscMin((16 - (long long)((size_t)index % 16)) % 16, n), words = (n - head) / 16;

  for (int r = threadIdx.x; r < HJ_MAX_ROWS; r += blockDim.x) s_count[r] = 0;
  __syncthreads();
  for (long long w = first; w < words; w += step) {
    const uint4    four = ((const uint4 *)(index + head))[w];
    const unsigned row = four.x & 255, all = row * 0x01010101u;

    if (four.x == all && four.y == all && four.z == all && four.w == all) atomicAdd(&s_count[row], 16u);
    else
      for (int m = 0; m < 16; m++) atomicAdd(&s_count[index[head + 16 * w + m]], 1u);
  }
  for (long long i = first; i < n - 16 * words; i += step) atomicAdd(&s_count[index[i < head ? i : i + 16 * words]], 1u);
  __syncthreads();
  for (int r = threadIdx.x; r < HJ_MAX_ROWS; r += blockDim.x) {
    if (s_count[r]) atomicAdd(&count[r], (unsigned long long)s_count[r]);
  }
}

/* Which row is the most frequent one, and whether the rows are those of a frame. Set-up only: waits for the device */
static PetscErrorCode HJLookAtRows(HJ_CUDA *cuda, cudaStream_t stream, long long n)
{
  struct {
    unsigned long long count[HJ_MAX_ROWS];
    HJFrame2DFound     frame;
  } found = {}, *d_found;

  PetscFunctionBegin;
  cuda->main_row = 0;
  if (cuda->st.nrows > 1) {
    PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
    PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(found), stream));
    HJRowHistogram_Kernel<<<2 * cuda->device.nsm, 256, 0, stream>>>(cuda->st.index, n, d_found->count);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(HJFrame2DLook(cuda, stream, &d_found->frame));
    PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(HJScratchFree(stream, d_found));
  }
  for (int r = 1; r < cuda->st.nrows; r++) {
    if (found.count[r] > found.count[cuda->main_row]) cuda->main_row = r;
  }
  HJFrame2DTake(cuda, &found.frame);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCopyRows(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const size_t coef = (size_t)st->nrows * st->nslots, all = coef + st->nrows;

  PetscFunctionBegin;
  if (st->nrows != cuda->st.nrows) { /* other values may make more or fewer distinct rows */
    PetscCallCUDA(cudaFree(cuda->d_rows));
    PetscCall(PetscFree(cuda->h_rows));
    PetscCall(PetscMalloc1(all, &cuda->h_rows));
    PetscCall(HJAlloc(all * sizeof(PetscScalar), (void **)&cuda->d_rows));
  }
  cuda->st.nrows = (int)st->nrows;
  PetscCall(PetscArraycpy(cuda->h_rows, st->rows, coef));
  PetscCall(PetscArraycpy(cuda->h_rows + coef, st->dinv_rows, st->nrows));
  cuda->st.rows        = cuda->d_rows;
  cuda->st.dinv_rows   = cuda->d_rows + coef;
  cuda->st.h_rows      = cuda->h_rows;
  cuda->st.h_dinv_rows = cuda->h_rows + coef;
  PetscCall(HJUpload_CUDA(cuda->d_rows, cuda->h_rows, all * sizeof(PetscScalar), PETSC_MEMTYPE_HOST, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory behind the stencil, as large as the storage needs; arrays that lie on the device are shared: the stencil outlives this */
static PetscErrorCode HJStencilAlloc(HJ_CUDA *cuda, const HJStencil *st)
{
  const size_t n      = (size_t)HJBoxSize(&st->box);
  size_t       arrays = 1, at = 0;

  PetscFunctionBegin;
  cuda->st       = HJDStencilShape(st);
  cuda->st.nrows = 0; /* HJCopyRows() allocates when the number changes */
  if (st->dof > 1) {
    PetscCall(HJSystemAlloc_CUDA(cuda, st));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (PetscMemTypeDevice(st->mtype)) {
    cuda->st.index = st->index;
    cuda->st.dinv  = st->dinv;
    for (PetscInt s = 1; s < st->nslots; s++) cuda->st.value[s - 1] = st->value[s];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJAlloc(n, (void **)&cuda->d_index));
    cuda->st.index = cuda->d_index;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt s = 1; s < st->nslots; s++) arrays += HJStencilHas(st, s);
  PetscCall(HJAlloc(arrays * n * sizeof(PetscScalar), (void **)&cuda->d_values));
  cuda->st.dinv = cuda->d_values;
  for (PetscInt s = 1; s < st->nslots; s++)
    if (HJStencilHas(st, s)) cuda->st.value[s - 1] = cuda->d_values + ++at * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJFamilyLimits(const HJFamily *f, const HJDevice *device, const HJGrid *grid, const HJDStencil *st, HJLimits *limits)
{
  const int x[3] = {HJ_STREAM_TILE_X}, y[3] = {HJ_STREAM_TILE_Y},
            dim             = st->dim; /* points that a tile of the streaming families holds, by dimension */
  const PetscBool neighbors = HJGridHasNeighbors(grid);
  const HJAsk     exact = {.kind = HJ_EXACT, .grid = grid, .st = st}, zero = {.kind = HJ_FROM_ZERO, .grid = grid, .st = st};

  limits->max_count  = f->takes(device, &exact);
  limits->from_zero  = f->takes(device, &zero);
  limits->best_count = f->best_count(device, grid, st);
  limits->in_place   = f->in_place ? f->in_place(device, grid, st) : 0;
  /* where x, b and the result stay in the cache a copy is cheap, and streaming in place costs more */
  limits->large   = f->small ? 0 : (PetscInt)(device->l2 / (3 * sizeof(PetscScalar)));
  limits->slab[0] = PetscMax(x[dim - 1] - 2 * limits->best_count, 1);
  limits->slab[1] = PetscMax(y[dim - 1] - 2 * limits->best_count, 1);
  limits->slab[2] = 1;
  limits->ghosts  = (PetscBool)(f->ghosts && neighbors);
  limits->copies  = (PetscBool)(f->copies && neighbors);
  limits->wraps   = (PetscBool)(HJGridIsWrapped(grid) && f->wraps && f->wraps(device, grid, st));
}

PetscErrorCode HJCUDAPredict(const HJDevice *device, const HJGrid *grid, const HJStencil *st, HJLimits *limits)
{
  const HJDStencil d = HJDStencilShape(st);

  PetscFunctionBegin;
  HJFamilyLimits(HJChooseFamily(device, grid, &d), device, grid, &d, limits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a tile in each direction; one that is larger than a domain without neighbours is as large as that */
static void HJTileClip(const HJGrid *grid, int dim, const PetscInt tile[3], int out[3])
{
  for (int d = 0; d < 3; d++)
    out[d] = d >= dim                                       ? 1
             : grid->neighbor[d][0] || grid->neighbor[d][1] ? (int)PetscMin(tile[d], INT_MAX)
                                                            : (int)PetscMin(tile[d], grid->N[d]);
}

const char *HJCUDAPredictKernels(const HJDevice *device, const HJGrid *grid, const HJStencil *st, HJKind kind, PetscInt count,
                                 const PetscInt tile[3])
{
  const HJDStencil d   = HJDStencilShape(st);
  HJAsk            ask = {.kind = kind, .grid = grid, .st = &d, .count = (int)count};
  const HJFamily  *f;

  if (tile) HJTileClip(grid, d.dim, tile, ask.tile);
  f = HJTableChoose(device, &ask);
  return f ? f->name : NULL;
}

/* New values may have more or fewer rows, which other kernels take. Layouts for arrays follow from the geometry alone */
static PetscErrorCode HJSetFamily(HJ_CUDA *cuda)
{
  const HJFamily *family = HJChooseFamily(&cuda->device, &cuda->grid, &cuda->st);
  HJLimits        limits;

  PetscFunctionBegin;
  if (cuda->family != family || cuda->st.storage == HJ_DICTIONARY) PetscCall(HJLayoutsDestroy(cuda));
  if (cuda->family == family) PetscFunctionReturn(PETSC_SUCCESS);
  if (cuda->family && cuda->family->destroy) PetscCall(cuda->family->destroy(cuda));
  cuda->family = family;
  HJFamilyLimits(family, &cuda->device, &cuda->grid, &cuda->st, &limits);
  PetscCall(PetscInfo(NULL, "Kernels: %s, at most %d subiterations a pass, best %d\n", family->name, (int)limits.max_count,
                      (int)limits.best_count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a stencil of one row has no index: one of zeros for kernels that read it */
static PetscErrorCode HJNeedIndex(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const size_t n = (size_t)HJBoxSize(&st->box);

  PetscFunctionBegin;
  if (cuda->st.index || cuda->family->needs_no_index) PetscFunctionReturn(PETSC_SUCCESS);
  if (!cuda->d_index) {
    PetscCall(HJAlloc(n, (void **)&cuda->d_index));
    PetscCallCUDA(cudaMemsetAsync(cuda->d_index, 0, n, stream));
  }
  cuda->st.index = cuda->d_index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, same shape, storage and box; limits may change. Set-up only: the caller may change its arrays on the host afterwards */
static PetscErrorCode HJRefresh_CUDA(void *ctx, const HJStencil *st)
{
  HJ_CUDA         *cuda = (HJ_CUDA *)ctx;
  const PetscCount n    = HJBoxSize(&st->box);
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  cuda->generation++;
  if (st->dof > 1) {
    PetscCall(HJSystemUpload_CUDA(cuda, st, stream));
    PetscCall(HJSetFamily(cuda));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJCopyRows(cuda, st, stream));
    if (PetscMemTypeDevice(st->mtype)) cuda->st.index = st->index;
    else PetscCall(HJUpload_CUDA(cuda->st.index, st->index, n, st->mtype, stream));
    PetscCall(HJLookAtRows(cuda, stream, n));
  } else if (PetscMemTypeDevice(st->mtype)) { /* arrays of a matrix may lie elsewhere now */
    for (PetscInt s = 1; s < st->nslots; s++) cuda->st.value[s - 1] = st->value[s];
    cuda->st.dinv = st->dinv;
  } else {
    for (PetscInt s = 1; s < st->nslots; s++) {
      if (st->value[s]) PetscCall(HJUpload_CUDA(cuda->st.value[s - 1], st->value[s], n * sizeof(PetscScalar), st->mtype, stream));
    }
    PetscCall(HJUpload_CUDA(cuda->st.dinv, st->dinv, n * sizeof(PetscScalar), st->mtype, stream));
  }
  if (PetscMemTypeHost(st->mtype)) PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJSetFamily(cuda));
  if (st->storage == HJ_DICTIONARY) PetscCall(HJNeedIndex(cuda, st, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCreate_CUDA(const HJGrid *grid, const HJStencil *st, void **ctx)
{
  HJ_CUDA *cuda;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    PetscCheck(HJBoxWidth(&st->box, d) <= HJ_MAX_POINTS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " points in one direction of a rank, a GPU takes at most %" PetscInt_FMT ": use more ranks",
               HJBoxWidth(&st->box, d), HJ_MAX_POINTS);
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(PetscNew(&cuda));
  cuda->grid = *grid;
  PetscCall(HJDeviceRead(&cuda->device));
  PetscCall(HJStencilAlloc(cuda, st));
  PetscCall(HJRefresh_CUDA(cuda, st));
  *ctx = cuda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJDestroy_CUDA(void **ctx)
{
  HJ_CUDA *cuda = (HJ_CUDA *)*ctx;

  PetscFunctionBegin;
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  if (cuda->family && cuda->family->destroy) PetscCall(cuda->family->destroy(cuda));
  PetscCall(HJLayoutsDestroy(cuda));
  PetscCall(HJStageDestroy_CUDA(&cuda->stage));
  PetscCallCUDA(cudaFree(cuda->d_values));
  PetscCallCUDA(cudaFree(cuda->d_index));
  PetscCallCUDA(cudaFree(cuda->d_blocks));
  PetscCallCUDA(cudaFree(cuda->d_rows));
  PetscCallCUDA(cudaFree(cuda->d_w));
  PetscCall(PetscFree(cuda->h_w));
  PetscCall(PetscFree(cuda->h_rows));
  PetscCall(PetscFree(cuda));
  *ctx = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJLimits_CUDA(void *ctx, HJLimits *limits)
{
  const HJ_CUDA *cuda = (const HJ_CUDA *)ctx;

  PetscFunctionBegin;
  HJFamilyLimits(cuda->family, &cuda->device, &cuda->grid, &cuda->st, limits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *HJKernels_CUDA(void *ctx, const PetscInt tile[3])
{
  HJ_CUDA        *cuda = (HJ_CUDA *)ctx;
  const HJAsk     ask  = {.kind = HJ_WHOLE, .grid = &cuda->grid, .st = &cuda->st, .count = 2};
  const HJFamily *f    = cuda->family, *whole;
  int             clipped[3];

  if (!tile) {
    whole = HJTableChoose(&cuda->device, &ask);
    return !whole ? f->name : f->in_place && !f->small ? "2D patches, in place 2D stream" : whole->name;
  }
  HJTileClip(&cuda->grid, cuda->st.dim, tile, clipped);
  f = HJChooseTileFamily(&cuda->device, &cuda->st, clipped);
  return f ? f->name : "none";
}

static PetscErrorCode HJCheckTile_CUDA(void *ctx, const PetscInt tile[3], char reason[], size_t len)
{
  const HJ_CUDA *cuda = (const HJ_CUDA *)ctx;
  int            clipped[3], n = 1;

  PetscFunctionBegin;
  if (len) reason[0] = 0;
  HJTileClip(&cuda->grid, cuda->st.dim, tile, clipped);
  if (HJChooseTileFamily(&cuda->device, &cuda->st, clipped)) PetscFunctionReturn(PETSC_SUCCESS);
  do {
    n++;
    for (int d = 0; d < cuda->st.dim; d++) clipped[d] = n;
  } while (HJChooseTileFamily(&cuda->device, &cuda->st, clipped));
  PetscCall(PetscSNPrintf(reason, len,
                          "tile %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                          " is too large for the fast memory of this device; the largest has %d points in each direction",
                          tile[0], tile[1], tile[2], n - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points to all arrays as if each were over the whole box; of points of dof numbers */
static void HJDSetGhosts(int dir, PetscInt dof, const HJSweep *s, HJDSweep *d)
{
  const PetscInt lo      = s->ghosts ? PetscMax(s->box.lo[dir], s->ybox.lo[dir]) : s->box.lo[dir],
                 hi      = s->ghosts ? PetscMin(s->box.hi[dir], s->ybox.hi[dir]) : s->box.hi[dir];
  const PetscCount plane = dof * HJBoxSize(&s->box) / HJBoxWidth(&s->box, dir);
  const PetscCount below = (lo - s->box.lo[dir]) * plane, inside = (hi - lo) * plane;

  d->home_lo = (int)lo;
  d->home_hi = (int)hi;
  for (int side = 0; side < 2; side++) {
    d->xghost[side] = s->ghosts && s->xghost[side] ? s->xghost[side] - (side ? below + inside : 0) : NULL;
    d->bghost[side] = s->ghosts && s->bghost[side] ? s->bghost[side] - (side ? below + inside : 0) : NULL;
  }
  if (d->x) d->x -= below;
  if (d->b) d->b -= below;
}

static void HJDSetCopies(int dir, PetscInt dof, const HJSweep *s, HJDSweep *d)
{
  const PetscInt lo      = PetscMin(s->write.lo[dir] + s->ncopies, s->write.hi[dir]),
                 hi      = PetscMax(s->write.hi[dir] - s->ncopies, s->write.lo[dir]);
  const PetscCount plane = dof * HJBoxSize(&s->ybox) / HJBoxWidth(&s->ybox, dir);

  d->copy_lo = s->copy[0] ? (int)lo : -INT_MAX / 2; /* kernels add to these */
  d->copy_hi = s->copy[1] ? (int)hi : INT_MAX / 2;
  d->copy[0] = s->copy[0] ? s->copy[0] - (s->write.lo[dir] - s->ybox.lo[dir]) * plane : NULL;
  d->copy[1] = s->copy[1] ? s->copy[1] - (s->write.hi[dir] - s->ncopies - s->ybox.lo[dir]) * plane : NULL;
}

/* Counts the coordinates of a direction from another place */
static void HJDShift(int dir, int by, PetscBool slowest, HJDSweep *d)
{
  HJDBox *box[] = {&d->write, &d->box, &d->ybox, &d->domain};

  for (HJDBox *b : box) {
    b->lo[dir] += by;
    b->hi[dir] += by;
  }
  if (!slowest) return;
  d->home_lo += by;
  d->home_hi += by;
  d->copy_lo += by;
  d->copy_hi += by;
}

static HJDSweep HJDSweepFrom(const HJ_CUDA *cuda, const HJSweep *s)
{
  HJDSweep d;
  HJBox    domain = cuda->grid.domain;

  for (int i = 0; i < 3; i++) {
    domain.lo[i] = PetscMax(domain.lo[i], s->box.lo[i] - HJ_FAR);
    domain.hi[i] = PetscMin(domain.hi[i], s->box.hi[i] + HJ_FAR);
  }
  d.write  = HJDBoxFrom(&s->write);
  d.box    = HJDBoxFrom(&s->box);
  d.ybox   = HJDBoxFrom(&s->ybox);
  d.domain = HJDBoxFrom(&domain);
  d.x      = s->x;
  d.b      = s->b;
  d.y      = s->y;

  d.exchanged = s->exchanged;
  for (int i = 0; i < 2; i++) d.wrap[i] = s->wraps[i] ? (int)HJBoxWidth(&s->box, i) : 0;
  HJDSetGhosts(cuda->st.dim - 1, cuda->grid.dof, s, &d);
  HJDSetCopies(cuda->st.dim - 1, cuda->grid.dof, s, &d);
  for (int i = 0; i < 2; i++)
    if (s->coarser.first[i]) HJDShift(i, -(int)s->coarser.first[i], (PetscBool)(i == 1), &d);
  return d;
}

/* The sweeps of a launch have the same count, guess and tiles. No byte is left unset: geometries are compared whole */
static void HJGeometrySet(const HJ_CUDA *cuda, int n, const HJSweep *s, const HJDSweep *d, HJGeometry *geometry)
{
  memset(geometry, 0, sizeof(*geometry));
  geometry->nsweeps         = n;
  geometry->count           = (int)s->count;
  geometry->zero            = !s->x;
  geometry->in_place        = s->x == s->y;
  geometry->wraps           = s->wraps[0] || s->wraps[1];
  geometry->corrects        = s->coarser.correction != NULL;
  geometry->restricts       = s->coarser.restricted != NULL;
  geometry->leaves_residual = s->residual != NULL;
  geometry->xghosts         = d->xghost[0] || d->xghost[1];
  geometry->bghosts         = d->bghost[0] || d->bghost[1];
  geometry->copies          = d->copy[0] || d->copy[1];
  for (int i = 0; i < 2; i++) geometry->first[i] = (int)s->coarser.first[i];
  geometry->overlap = s->overlap < 0 ? -1 : (int)s->overlap;
  for (int i = 0; i < 3 && s->overlap >= 0; i++) geometry->tile[i] = i < cuda->st.dim ? (int)PetscMin(s->tile[i], INT_MAX) : 1;
  for (int i = 0; i < n; i++) {
    geometry->write[i]  = d[i].write;
    geometry->box[i]    = d[i].box;
    geometry->ybox[i]   = d[i].ybox;
    geometry->domain[i] = d[i].domain;
    if (s->overlap >= 0) geometry->cover[i] = HJDBoxFrom(&s[i].cover);
  }
}

/* What n sweeps that are alike are */
static HJKind HJSweepKind(const HJ_CUDA *cuda, const HJSweep *s)
{
  const HJFamily *f     = cuda->family;
  const int       least = f->least_count ? f->least_count(&cuda->device, &cuda->grid, &cuda->st) : 2;

  if (s->overlap >= 0) return HJ_STALE;
  if (s->coarser.correction) return HJ_CORRECTS;
  if (s->coarser.restricted) return HJ_RESTRICTS;
  if (s->residual) return HJ_LEAVES_RESIDUAL;
  return s->count < least && s->y != s->x ? HJ_SINGLE : HJ_WHOLE;
}

/* The family of n sweeps that are alike. It follows from their geometry */
static PetscErrorCode HJSweepFamily(HJ_CUDA *cuda, PetscInt n, const HJSweep *s, const HJDSweep *d, const HJFamily **family)
{
  HJAsk ask = {.kind = HJSweepKind(cuda, s), .grid = &cuda->grid, .st = &cuda->st, .count = (int)s->count, .nsweeps = (int)n, .sweep = d};

  PetscFunctionBegin;
  ask.exact = cuda->family;
  if (ask.kind == HJ_STALE) HJTileClip(&cuda->grid, cuda->st.dim, s->tile, ask.tile);
  *family = HJTableChoose(&cuda->device, &ask);
  if (!*family && ask.kind == HJ_WHOLE) *family = cuda->family;
  PetscCheck(*family || ask.kind != HJ_STALE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "tile %d,%d,%d is too large for the fast memory of this device", ask.tile[0], ask.tile[1], ask.tile[2]);
  PetscCheck(*family, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No kernels for a sweep of %d subiterations of kind %d", ask.count, (int)ask.kind);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Launches, without waiting */
static PetscErrorCode HJSweep_CUDA(void *ctx, PetscInt n, const HJSweep s[])
{
  HJ_CUDA     *cuda = (HJ_CUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt i = 0; i < n;) {
    const HJFamily *family;
    const HJLaid   *laid;
    HJSweep         some[HJD_MAX_SWEEPS];
    HJDSweep        d[HJD_MAX_SWEEPS];
    HJGeometry      geometry;
    int             m = 0;

    for (; i < n && m < HJD_MAX_SWEEPS; i++) {
      if (HJBoxEmpty(&s[i].write)) continue;
      some[m] = s[i];
      d[m++]  = HJDSweepFrom(cuda, &s[i]);
    }
    if (!m) break;
    HJGeometrySet(cuda, m, some, d, &geometry);
    laid = HJLayoutFind(cuda, &geometry);
    if (!laid) {
      PetscCall(HJSweepFamily(cuda, m, some, d, &family));
      PetscCall(HJLayoutMake(cuda, stream, family, d, &geometry, &laid));
    }
    const HJDPass pass = {m, (int)some->count, d, some->w, &some->coarser, some->residual};

    PetscCall(laid->family->launch(cuda, stream, &pass, laid->layout));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HJCan_CUDA(void *ctx, HJKind kind, PetscInt count)
{
  const HJ_CUDA *cuda = (const HJ_CUDA *)ctx;
  HJAsk          ask  = {.kind = kind, .grid = &cuda->grid, .st = &cuda->st, .count = (int)count};

  ask.exact = cuda->family;
  return (PetscBool)(HJTableChoose(&cuda->device, &ask) != NULL);
}

#if !defined(HJ_FLOAT)
static bool HJIsPlaced(const HJFamily *f)
{
  return f && f->placed;
}

/* Rows of one kind, and arrays of coefficients in sweeps of 2D: others lie as the grid does, and kernels of theirs count in those */
static PetscBool HJPlaces_CUDA(void *ctx, const HJRestriction *r)
{
  const HJ_CUDA    *cuda    = (const HJ_CUDA *)ctx;
  const HJKind      kinds[] = {HJ_WHOLE, HJ_SINGLE, HJ_CORRECTS, HJ_RESTRICTS, HJ_LEAVES_RESIDUAL};
  HJTransferProduct t       = {};
  HJAsk             ask     = {};

  if ((r && r->a->storage != HJ_COEFFICIENTS_ROW) || !HJIsPlaced(cuda->family)) return PETSC_FALSE;
  if (cuda->st.storage == HJ_DICTIONARY ? cuda->st.nrows != 1 : cuda->st.dim != 2) return PETSC_FALSE;
  ask.grid  = &cuda->grid;
  ask.st    = &cuda->st;
  ask.exact = cuda->family;
  for (HJKind kind : kinds) {
    ask.kind = kind;
    for (ask.count = 1; ask.count <= HJD_MAX_COUNT; ask.count++) {
      const HJFamily *f = HJTableChoose(&cuda->device, &ask);

      if (f && !f->placed) return PETSC_FALSE;
    }
  }
  if (!r) return PETSC_TRUE;
  t.transfer        = r->transfer;
  ask               = {.kind = HJ_INTERPOLATION};
  ask.interpolation = &t;
  if (!HJIsPlaced(HJTableChoose(&cuda->device, &ask))) return PETSC_FALSE;
  ask             = {.kind = HJ_RESTRICTION};
  ask.restriction = r;
  return (PetscBool)HJIsPlaced(HJTableChoose(&cuda->device, &ask));
}

/* The next sweeps from s[*i] on that write points, at most those of a launch */
static int HJTakeSweeps(const HJ_CUDA *cuda, PetscInt n, const HJSweep s[], PetscInt *i, HJDSweep d[])
{
  int m = 0;

  for (; *i < n && m < HJD_MAX_SWEEPS; ++*i)
    if (!HJBoxEmpty(&s[*i].write)) d[m++] = HJDSweepFrom(cuda, &s[*i]);
  return m;
}

static PetscErrorCode HJAbsolute_CUDA(void *ctx, PetscInt n, const HJSweep s[], PetscBool skew, PetscReal *ratio)
{
  HJ_CUDA     *cuda = (HJ_CUDA *)ctx;
  HJDSweep     d[HJD_MAX_SWEEPS];
  cudaStream_t stream;
  double       largest;
  int          m;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  *ratio = 0;
  for (PetscInt i = 0; (m = HJTakeSweeps(cuda, n, s, &i, d));) {
    PetscCall(HJAbsoluteLaunch_CUDA(cuda, stream, m, d, skew, &largest));
    *ratio = PetscMax(*ratio, largest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAbsoluteLater_CUDA(void *ctx, PetscInt n, const HJSweep s[], PetscReal *ratio)
{
  HJ_CUDA     *cuda = (HJ_CUDA *)ctx;
  HJDSweep     d[HJD_MAX_SWEEPS];
  cudaStream_t stream;
  int          m;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  for (PetscInt i = 0; (m = HJTakeSweeps(cuda, n, s, &i, d));) PetscCall(HJAbsoluteStart_CUDA(cuda, stream, m, d, PETSC_FALSE, ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJScratch_CUDA(PetscCount n, PetscBool zero, PetscScalar **p)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, (size_t)n * sizeof(**p), (void **)p));
  if (zero) PetscCallCUDA(cudaMemsetAsync(*p, 0, (size_t)n * sizeof(**p), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJUnscratch_CUDA(PetscScalar **p)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchFree(stream, *p));
  *p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not through an operator's pinned buffers, which take longer to make than a few numbers to read */
static PetscErrorCode HJRead_CUDA(PetscReal *to, const PetscReal *from, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(HJCopyBytes_CUDA(NULL, to, from, (size_t)n * sizeof(*to)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

static PetscErrorCode HJAlloc_CUDA(void *ctx, PetscCount n, PetscScalar **p)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(HJAlloc((size_t)n * sizeof(PetscScalar), (void **)p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAllocZeros_CUDA(PetscCount n, PetscScalar **p)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJAlloc_CUDA(NULL, n, p));
  PetscCallCUDA(cudaMemsetAsync(*p, 0, (size_t)n * sizeof(**p), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFree_CUDA(void *ctx, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(*p));
  *p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT)
static PetscErrorCode HJOnHost(const void *p, PetscBool *host)
{
  cudaPointerAttributes attr;

  PetscFunctionBegin;
  PetscCallCUDA(cudaPointerGetAttributes(&attr, p));
  *host = (PetscBool)(attr.type != cudaMemoryTypeDevice && attr.type != cudaMemoryTypeManaged);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCopyBytes_CUDA(void *ctx, void *to, const void *from, size_t bytes)
{
  HJ_CUDA     *cuda = (HJ_CUDA *)ctx;
  PetscBool    host_to, host_from;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJOnHost(to, &host_to));
  PetscCall(HJOnHost(from, &host_from));
  if (host_from && !host_to && cuda) PetscCall(HJStageIn_CUDA(&cuda->stage, stream, to, from, bytes));
  else if (host_to && !host_from && cuda) PetscCall(HJStageOut_CUDA(&cuda->stage, stream, to, from, bytes));
  else if (host_from || host_to) PetscCall(HJStageLocked_CUDA(stream, to, from, bytes, host_from ? from : to));
  else PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  if (host_from && !host_to) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  if (host_to && !host_from) PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

static PetscErrorCode HJCopy_CUDA(void *ctx, PetscScalar *to, const PetscScalar *from, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(HJCopyBytes_CUDA(ctx, to, from, (size_t)n * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In single precision there is what cycles need: set-up is done in double */
#if defined(HJ_FLOAT)
static const HJMultigridOps HJMultigridCUDA = {
  .interpolate                    = HJInterpolate_CUDA,
  .interpolate_transpose          = HJInterpolateTranspose_CUDA,
  .alloc_zeros                    = HJAllocZeros_CUDA,
  .restrict_residual              = HJRestrictResidual_CUDA,
  .interpolate_variable           = HJInterpolateVariable_CUDA,
  .interpolate_transpose_variable = HJInterpolateTransposeVariable_CUDA,
  .restricts_apart                = HJRestrictsApart_CUDA,
};
#else
static const HJMultigridOps HJMultigridCUDA = {
  .interpolate                    = HJInterpolate_CUDA,
  .interpolate_transpose          = HJInterpolateTranspose_CUDA,
  .galerkin                       = HJGalerkin_CUDA,
  .measure                        = HJMeasure_CUDA,
  .alloc_zeros                    = HJAllocZeros_CUDA,
  .scratch                        = HJScratch_CUDA,
  .unscratch                      = HJUnscratch_CUDA,
  .absolute_later                 = HJAbsoluteLater_CUDA,
  .read                           = HJRead_CUDA,
  .restrict_residual              = HJRestrictResidual_CUDA,
  .number_create                  = HJNumberCreate_CUDA,
  .number_destroy                 = HJNumberDestroy_CUDA,
  .number_squares                 = HJNumberSquares_CUDA,
  .number_send                    = HJNumberSend_CUDA,
  .number_wait                    = HJNumberWait_CUDA,
  .fill_dense                     = HJFillDense_CUDA,
  .invert                         = HJInvert_CUDA,
  .multiply_dense                 = HJMultiplyDense_CUDA,
  .capture_begin                  = HJCaptureBegin_CUDA,
  .capture_end                    = HJCaptureEnd_CUDA,
  .graph_replay                   = HJGraphReplay_CUDA,
  .graph_destroy                  = HJGraphDestroy_CUDA,
  .interpolate_variable           = HJInterpolateVariable_CUDA,
  .interpolate_transpose_variable = HJInterpolateTransposeVariable_CUDA,
  .galerkin_variable              = HJGalerkinVariable_CUDA,
  .couplings                      = HJTransferCouplings_CUDA,
  .jump                           = HJTransferJump_CUDA,
  .interpolation_fill             = HJInterpolationFill_CUDA,
  .lines_create                   = HJLinesCreate_CUDA,
  .lines_destroy                  = HJLinesDestroy_CUDA,
  .lines_factor                   = HJLinesFactor_CUDA,
  .lines_solve                    = HJLinesSolve_CUDA,
  .places                         = HJPlaces_CUDA,
  .interpolates_alone             = HJInterpolatesAlone_CUDA,
  .interpolate_points             = HJInterpolatePoints_CUDA,
  .interpolate_points_transpose   = HJInterpolatePointsTranspose_CUDA,
  .keep_points                    = HJKeepPoints_CUDA,
  .restricts_apart                = HJRestrictsApart_CUDA,
};

static PetscErrorCode HJDirection_CUDA(const HJProduct *product, PetscBool neighbors, PetscBool first, HJKrylovSums *sums,
                                       const PetscScalar *z, const PetscScalar *before, PetscScalar *p)
{
  PetscBool multiplied;

  PetscFunctionBegin;
  PetscCall(HJKrylovDirection_CUDA(product, neighbors, first, sums, z, before, p, &multiplied));
  if (multiplied) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJProduct_CUDA(product));
  PetscCall(HJKrylovDot_CUDA(product, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const HJKrylovOps HJKrylovCUDA = {.sums      = HJKrylovSums_CUDA,
                                         .ghosts    = HJKrylovGhosts_CUDA,
                                         .direction = HJDirection_CUDA,
                                         .apart     = PETSC_TRUE,
                                         .update    = HJKrylovUpdate_CUDA,
                                         .begin     = HJKrylovBegin_CUDA,
                                         .total     = HJKrylovTotal_CUDA,
                                         .fetch     = HJKrylovFetch_CUDA,
                                         .end       = HJKrylovEnd_CUDA};
#endif

const HJBackendOps HJBackendCUDA = {
  .name       = "cuda",
  .mtype      = PETSC_MEMTYPE_CUDA,
  .create     = HJCreate_CUDA,
  .refresh    = HJRefresh_CUDA,
  .limits     = HJLimits_CUDA,
  .kernels    = HJKernels_CUDA,
  .check_tile = HJCheckTile_CUDA,
  .sweep      = HJSweep_CUDA,
  .can        = HJCan_CUDA,
#if !defined(HJ_FLOAT)
  .absolute = HJAbsolute_CUDA,
#endif
  .alloc             = HJAlloc_CUDA,
  .free              = HJFree_CUDA,
  .copy              = HJCopy_CUDA,
  .destroy           = HJDestroy_CUDA,
  .product           = HJProduct_CUDA,
  .product_transpose = HJProductTranspose_CUDA,
  .multigrid         = &HJMultigridCUDA,
#if defined(HJ_FLOAT)
  .single = &HJSingleCUDA,
#else
  .krylov    = &HJKrylovCUDA,
  .in_single = &HJBackendCUDASingle,
#endif
};
