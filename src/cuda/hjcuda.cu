/*
   The backend table of the GPU: device copy of the stencil, memory, stream, and which family of kernels sweeps. No kernel of the method
   is here, and no decision about passes: limits() tells the planner what the chosen family can do.
*/
#include "hjcuda.h"
#include "kernels/hjkernel.h"

#define HJ_FAR (1 << 20) /* points beyond the box where an endless domain is cut; no kernel looks that far */

PetscErrorCode HJStream(cudaStream_t *stream)
{
  PetscFunctionBegin;
  *stream = NULL;
#if PetscDefined(HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
  {
    PetscDeviceContext dctx;
    PetscDeviceType    type;

    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceContextGetDeviceType(dctx, &type));
    if (type == PETSC_DEVICE_CUDA) {
      void *handle;

      PetscCall(PetscDeviceContextGetStreamHandle(dctx, &handle));
      *stream = *(cudaStream_t *)handle;
    }
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCUDAAvailable(PetscBool *available)
{
  int n = 0;

  PetscFunctionBegin;
  *available = (PetscBool)(cudaGetDeviceCount(&n) == cudaSuccess && n > 0);
  (void)cudaGetLastError(); /* no driver is not an error of this process */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJAlloc(size_t bytes, void **p)
{
  cudaError_t err;

  PetscFunctionBegin;
  *p  = NULL;
  err = cudaMalloc(p, bytes ? bytes : 1);
  if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  PetscCheck(err != cudaErrorMemoryAllocation, PETSC_COMM_SELF, PETSC_ERR_MEM, "The device is out of memory: asked for %zu bytes", bytes);
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates when a longer schedule is first seen; copies when the weights change */
PetscErrorCode HJWeights_CUDA(HJ_CUDA *cuda, cudaStream_t stream, int count, const double *w, const double **d_w)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  *d_w = NULL;
  if (count <= HJD_MAX_COUNT) PetscFunctionReturn(PETSC_SUCCESS);
  if (count > cuda->max_w) {
    PetscCallCUDA(cudaFree(cuda->d_w));
    PetscCall(PetscFree(cuda->h_w));
    PetscCall(PetscMalloc1(count, &cuda->h_w));
    PetscCall(HJAlloc(count * sizeof(double), (void **)&cuda->d_w));
    cuda->max_w = count;
    cuda->n_w   = 0;
  }
  if (cuda->n_w == count) PetscCall(PetscArraycmp(cuda->h_w, w, count, &same));
  if (!same) {
    PetscCall(PetscArraycpy(cuda->h_w, w, count));
    PetscCallCUDA(cudaMemcpyAsync(cuda->d_w, w, count * sizeof(double), cudaMemcpyHostToDevice,
                                  stream)); /* pageable: CUDA has taken a copy when this returns */
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(count * sizeof(double))));
    cuda->n_w = count;
  }
  *d_w = cuda->d_w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void HJRowHistogram_Kernel(const unsigned char *index, long long n, unsigned long long *count)
{
  __shared__ unsigned s_count[HJ_MAX_ROWS];

  for (int r = threadIdx.x; r < HJ_MAX_ROWS; r += blockDim.x) s_count[r] = 0;
  __syncthreads();
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    atomicAdd(&s_count[index[i]], 1u);
  __syncthreads();
  for (int r = threadIdx.x; r < HJ_MAX_ROWS; r += blockDim.x) {
    if (s_count[r]) atomicAdd(&count[r], (unsigned long long)s_count[r]);
  }
}

/* Set-up only: waits for the device */
static PetscErrorCode HJMainRow(HJ_CUDA *cuda, cudaStream_t stream, long long n)
{
  unsigned long long *d_count, count[HJ_MAX_ROWS];

  PetscFunctionBegin;
  PetscCall(HJAlloc(sizeof(count), (void **)&d_count));
  PetscCallCUDA(cudaMemsetAsync(d_count, 0, sizeof(count), stream));
  HJRowHistogram_Kernel<<<2 * cuda->nsm, 256, 0, stream>>>(cuda->st.index, n, d_count);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(count, d_count, sizeof(count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(d_count));
  cuda->main_row = 0;
  for (int r = 1; r < cuda->st.nrows; r++) {
    if (count[r] > count[cuda->main_row]) cuda->main_row = r;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing where the stencil's own array is used */
static PetscErrorCode HJUpload(const void *to, const void *from, size_t bytes, PetscMemType mtype, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (to == from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyDefault, stream));
  if (PetscMemTypeHost(mtype)) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCopyRows(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const size_t coef = (size_t)st->nrows * (1 + st->nneighbors), all = coef + st->nrows;

  PetscFunctionBegin;
  if (st->nrows != cuda->st.nrows) { /* other values may make more or fewer distinct rows */
    PetscCallCUDA(cudaFree(cuda->d_rows));
    PetscCall(PetscFree(cuda->h_rows));
    PetscCall(PetscMalloc1(all, &cuda->h_rows));
    PetscCall(HJAlloc(all * sizeof(double), (void **)&cuda->d_rows));
  }
  cuda->st.nrows = (int)st->nrows;
  PetscCall(PetscArraycpy(cuda->h_rows, st->rows, coef));
  PetscCall(PetscArraycpy(cuda->h_rows + coef, st->dinv_rows, st->nrows));
  cuda->st.rows        = cuda->d_rows;
  cuda->st.dinv_rows   = cuda->d_rows + coef;
  cuda->st.h_rows      = cuda->h_rows;
  cuda->st.h_dinv_rows = cuda->h_rows + coef;
  PetscCall(HJUpload(cuda->d_rows, cuda->h_rows, all * sizeof(double), PETSC_MEMTYPE_HOST, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, same shape, storage and box. Set-up only: waits, the caller may change its arrays afterwards */
static PetscErrorCode HJRefresh_CUDA(void *ctx, const HJStencil *st)
{
  HJ_CUDA         *cuda = (HJ_CUDA *)ctx;
  const PetscCount n    = HJBoxSize(&st->box);
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  cuda->generation++;
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJCopyRows(cuda, st, stream));
    PetscCall(HJUpload(cuda->st.index, st->index, n, st->mtype, stream));
    PetscCall(HJMainRow(cuda, stream, n));
  } else {
    for (PetscInt o = 0; o < st->nneighbors; o++) {
      if (cuda->st.value[o]) PetscCall(HJUpload(cuda->st.value[o], st->value[o], n * sizeof(double), st->mtype, stream));
    }
    PetscCall(HJUpload(cuda->st.dinv, st->dinv, n * sizeof(double), st->mtype, stream));
  }
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory behind the stencil, as large as the storage needs; arrays that lie on the device are shared: the stencil outlives this */
static PetscErrorCode HJStencilAlloc(HJ_CUDA *cuda, const HJStencil *st)
{
  const size_t n      = (size_t)HJBoxSize(&st->box);
  size_t       arrays = 1, at = 0;

  PetscFunctionBegin;
  cuda->st.dim        = (int)st->dim;
  cuda->st.shape      = (int)st->shape;
  cuda->st.storage    = (int)st->storage;
  cuda->st.nneighbors = (int)st->nneighbors;
  cuda->st.box        = HJDBoxFrom(&st->box);
  if (PetscMemTypeDevice(st->mtype)) {
    cuda->st.index = st->index;
    cuda->st.dinv  = st->dinv;
    for (PetscInt o = 0; o < st->nneighbors; o++) cuda->st.value[o] = st->value[o];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJAlloc(n, (void **)&cuda->d_index));
    cuda->st.index = cuda->d_index;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt o = 0; o < st->nneighbors; o++) arrays += st->storage == HJ_VARIABLE || HJStencilUpper(st, o);
  PetscCall(HJAlloc(arrays * n * sizeof(double), (void **)&cuda->d_values));
  cuda->st.dinv = cuda->d_values;
  for (PetscInt o = 0; o < st->nneighbors; o++) {
    if (st->storage == HJ_VARIABLE || HJStencilUpper(st, o)) cuda->st.value[o] = cuda->d_values + ++at * n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJDeviceLimits(HJ_CUDA *cuda)
{
  int value, minor;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&cuda->device));
  PetscCallCUDA(cudaDeviceGetAttribute(&cuda->nsm, cudaDevAttrMultiProcessorCount, cuda->device));
  PetscCallCUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, cuda->device));
  cuda->smem_block = (size_t)value;
  PetscCallCUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, cuda->device));
  cuda->smem_sm = (size_t)value;
  PetscCallCUDA(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, cuda->device));
  cuda->l2 = (size_t)value;
  PetscCallCUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, cuda->device));
  PetscCallCUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, cuda->device));
  cuda->cc = 10 * value + minor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small grids first; then the fast family of the dimension; the plain one takes all that is left */
static const HJFamily *HJChooseFamily(const HJ_CUDA *cuda)
{
  const HJFamily *fast[3] = {&HJFamilyLine, &HJFamilyStream2D,
                             cuda->st.storage == HJ_DICTIONARY ? &HJFamilyStream3D : &HJFamilyStream3DArrays};

  if (HJFamilyOnChip.max_count(&cuda->grid, &cuda->st) > 0) return &HJFamilyOnChip;
  if (fast[cuda->st.dim - 1]->max_count(&cuda->grid, &cuda->st) > 0) return fast[cuda->st.dim - 1];
  return &HJFamilyPlain;
}

static PetscErrorCode HJCreate_CUDA(const HJGrid *grid, const HJStencil *st, void **ctx)
{
  HJ_CUDA *cuda;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    PetscCheck(HJBoxWidth(&st->box, d) < HJ_ENDLESS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " points in one direction of a rank: use more ranks", HJBoxWidth(&st->box, d));
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(PetscNew(&cuda));
  cuda->grid = *grid;
  PetscCall(HJDeviceLimits(cuda));
  PetscCall(HJStencilAlloc(cuda, st));
  PetscCall(HJRefresh_CUDA(cuda, st));
  cuda->family = HJChooseFamily(cuda);
  PetscCall(PetscInfo(NULL, "Kernels: %s, at most %d subiterations a pass, best %d\n", cuda->family->name,
                      cuda->family->max_count(grid, &cuda->st), cuda->family->best_count(grid, &cuda->st)));
  *ctx = cuda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJDestroy_CUDA(void **ctx)
{
  HJ_CUDA *cuda = (HJ_CUDA *)*ctx;

  PetscFunctionBegin;
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  if (cuda->family && cuda->family->destroy) PetscCall(cuda->family->destroy(cuda));
  PetscCall(HJTile2DDestroy_CUDA(cuda));
  PetscCall(HJStageDestroy_CUDA(cuda));
  PetscCallCUDA(cudaFree(cuda->d_values));
  PetscCallCUDA(cudaFree(cuda->d_index));
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
  HJ_CUDA  *cuda = (HJ_CUDA *)ctx;
  const int x[3] = {512, 128, 64}, y[3] = {1, 1, 40},
            dim             = cuda->st.dim; /* points that a tile of the streaming families holds, by dimension */
  const PetscBool neighbors = HJGridHasNeighbors(&cuda->grid);

  PetscFunctionBegin;
  limits->max_count  = cuda->family->max_count(&cuda->grid, &cuda->st);
  limits->best_count = cuda->family->best_count(&cuda->grid, &cuda->st);
  limits->in_place   = cuda->family->in_place ? cuda->family->in_place(&cuda->grid, &cuda->st) : 0;
  limits->large =
    cuda->family == &HJFamilyOnChip
      ? 0
      : (PetscInt)(cuda->l2 /
                   (3 *
                    sizeof(
                      PetscScalar))); /* where x, b and the result stay in the cache a copy is cheap, and streaming in place costs more */
  limits->slab[0] = PetscMax(x[dim - 1] - 2 * limits->best_count, 1);
  limits->slab[1] = PetscMax(y[dim - 1] - 2 * limits->best_count, 1);
  limits->slab[2] = 1;
  limits->ghosts  = (PetscBool)(cuda->family->ghosts && neighbors);
  limits->copies  = (PetscBool)(cuda->family->copies && neighbors);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCheckTile_CUDA(void *ctx, const PetscInt tile[3], char reason[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(HJTileCheck_CUDA((HJ_CUDA *)ctx, tile, reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points to all arrays as if each were over the whole box */
static void HJDSetGhosts(int dir, const HJSweep *s, HJDSweep *d)
{
  const PetscInt lo      = s->ghosts ? PetscMax(s->box.lo[dir], s->ybox.lo[dir]) : s->box.lo[dir],
                 hi      = s->ghosts ? PetscMin(s->box.hi[dir], s->ybox.hi[dir]) : s->box.hi[dir];
  const PetscCount plane = HJBoxSize(&s->box) / HJBoxWidth(&s->box, dir), below = (lo - s->box.lo[dir]) * plane, inside = (hi - lo) * plane;

  d->home_lo = (int)lo;
  d->home_hi = (int)hi;
  for (int side = 0; side < 2; side++) {
    d->xghost[side] = s->ghosts && s->xghost[side] ? s->xghost[side] - (side ? below + inside : 0) : NULL;
    d->bghost[side] = s->ghosts && s->bghost[side] ? s->bghost[side] - (side ? below + inside : 0) : NULL;
  }
  if (d->x) d->x -= below;
  if (d->b) d->b -= below;
}

static void HJDSetCopies(int dir, const HJSweep *s, HJDSweep *d)
{
  const PetscInt lo      = PetscMin(s->write.lo[dir] + s->ncopies, s->write.hi[dir]),
                 hi      = PetscMax(s->write.hi[dir] - s->ncopies, s->write.lo[dir]);
  const PetscCount plane = HJBoxSize(&s->ybox) / HJBoxWidth(&s->ybox, dir);

  d->copy_lo = s->copy[0] ? (int)lo : -INT_MAX / 2; /* kernels add to these */
  d->copy_hi = s->copy[1] ? (int)hi : INT_MAX / 2;
  d->copy[0] = s->copy[0] ? s->copy[0] - (s->write.lo[dir] - s->ybox.lo[dir]) * plane : NULL;
  d->copy[1] = s->copy[1] ? s->copy[1] - (s->write.hi[dir] - s->ncopies - s->ybox.lo[dir]) * plane : NULL;
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
  HJDSetGhosts(cuda->st.dim - 1, s, &d);
  HJDSetCopies(cuda->st.dim - 1, s, &d);
  return d;
}

static const HJFamily *HJSweepFamily(const HJ_CUDA *cuda, const HJSweep *s)
{
  const int least = cuda->family->least_count ? cuda->family->least_count(&cuda->grid, &cuda->st) : 2;

  return s->count >= least || s->y == s->x ? cuda->family : &HJFamilyPlain;
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
    const HJFamily *family = HJSweepFamily(cuda, &s[i]);
    HJSweep         some[HJD_MAX_SWEEPS];
    HJDSweep        d[HJD_MAX_SWEEPS];
    int             m = 0;

    for (; i < n && m < HJD_MAX_SWEEPS; i++) {
      if (HJBoxEmpty(&s[i].write)) continue;
      some[m] = s[i];
      d[m++]  = HJDSweepFrom(cuda, &s[i]);
    }
    if (m && some[0].overlap < 0) PetscCall(family->launch(cuda, stream, m, d, (int)some[0].count, some[0].w));
    else if (m) PetscCall(HJTileLaunch_CUDA(cuda, stream, m, some, d));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAbsolute_CUDA(void *ctx, PetscInt n, const HJSweep s[], PetscReal *ratio)
{
  HJ_CUDA     *cuda = (HJ_CUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  *ratio = 0;
  for (PetscInt i = 0; i < n;) {
    HJDSweep d[HJD_MAX_SWEEPS];
    double   largest;
    int      m = 0;

    for (; i < n && m < HJD_MAX_SWEEPS; i++)
      if (!HJBoxEmpty(&s[i].write)) d[m++] = HJDSweepFrom(cuda, &s[i]);
    if (!m) continue;
    PetscCall(HJAbsoluteLaunch_CUDA(cuda, stream, m, d, &largest));
    *ratio = PetscMax(*ratio, largest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJAlloc_CUDA(void *ctx, PetscCount n, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCall(HJAlloc((size_t)n * sizeof(PetscScalar), (void **)p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFree_CUDA(void *ctx, PetscScalar **p)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(*p));
  *p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOnHost(const void *p, PetscBool *host)
{
  cudaPointerAttributes attr;

  PetscFunctionBegin;
  PetscCallCUDA(cudaPointerGetAttributes(&attr, p));
  *host = (PetscBool)(attr.type != cudaMemoryTypeDevice && attr.type != cudaMemoryTypeManaged);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCopy_CUDA(void *ctx, PetscScalar *to, const PetscScalar *from, PetscCount n)
{
  const size_t bytes = (size_t)n * sizeof(PetscScalar);
  PetscBool    host_to, host_from;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJOnHost(to, &host_to));
  PetscCall(HJOnHost(from, &host_from));
  if (host_from && !host_to) {
    PetscCall(HJStageIn_CUDA((HJ_CUDA *)ctx, stream, to, from, bytes));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  } else if (host_to && !host_from) {
    PetscCall(HJStageOut_CUDA((HJ_CUDA *)ctx, stream, to, from, bytes));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  } else PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJBackendOps HJBackendCUDA = {"cuda",       PETSC_MEMTYPE_CUDA, HJCreate_CUDA, HJRefresh_CUDA, HJLimits_CUDA, HJCheckTile_CUDA,
                                    HJSweep_CUDA, HJAbsolute_CUDA,    HJAlloc_CUDA,  HJFree_CUDA,    HJCopy_CUDA,   HJDestroy_CUDA};
