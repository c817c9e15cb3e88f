/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The GPU as a device for slabs: rings by virtual memory, three streams, sweeps by the kernels of the backend. What is done when is the
   caller's.
*/
#include "hjcuda.h"
#include "hjslab_cuda.h"
#include "hjtable.h"
#include "cuda/device/hjscratch.h"
#include <cuda.h>

static cudaError_t HJDriverFind(const char *name, void **function)
{
  cudaDriverEntryPointQueryResult found;

#if CUDART_VERSION >= 12050
  return cudaGetDriverEntryPointByVersion(name, function, 10020, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
  return cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
#else
  (void)found;
  return cudaGetDriverEntryPoint(name, function, cudaEnableDefault);
#endif
}

/* The driver's functions are asked for at run time: the library loads without a driver */
#define HJDriverCall(name, ...)                                                                                                            \
  do {                                                                                                                                     \
    static decltype(&name) hj_function_;                                                                                                   \
    if (!hj_function_) PetscCallCUDA(HJDriverFind(#name, (void **)&hj_function_));                                                         \
    PetscCheck(hj_function_, PETSC_COMM_SELF, PETSC_ERR_GPU, "the driver has no %s", #name);                                               \
    const CUresult hj_err_ = hj_function_(__VA_ARGS__);                                                                                    \
    PetscCheck(hj_err_ != CUDA_ERROR_OUT_OF_MEMORY, PETSC_COMM_SELF, PETSC_ERR_MEM, "The device is out of memory in %s", #name);           \
    PetscCheck(hj_err_ == CUDA_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_GPU, "error %d of the driver in %s", (int)hj_err_, #name);              \
  } while (0)

typedef struct {
  HJ_CUDA     *cuda;                   /* the backend's, whose coefficients and domain each sweep sets */
  cudaStream_t stream[HJ_SLAB_QUEUES]; /* that of the sweeps is not here: HJSlabStream() */
  cudaEvent_t *event[HJ_SLAB_QUEUES];  /* made when a mark is first set */
  PetscInt     nevents[HJ_SLAB_QUEUES];
  double      *d_norms; /* of each block: sum of squares, largest */
  double      *norms;   /* the same, sent to the host, in memory that is page-locked */
} HJSlabCUDA;

/* The backend's sweeps run in what is PETSc's stream at the time */
static PetscErrorCode HJSlabStream(const HJSlabCUDA *slab, HJSlabQueue q, cudaStream_t *stream)
{
  PetscFunctionBegin;
  *stream = slab->stream[q];
  if (q == HJ_SLAB_SWEEPS) PetscCall(HJStream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabLocation(CUmemAllocationProp *prop)
{
  PetscFunctionBegin;
  memset(prop, 0, sizeof(*prop));
  prop->type          = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  PetscCallCUDA(cudaGetDevice(&prop->location.id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabIdentify_CUDA(unsigned char identity[HJ_SLAB_IDENTITY])
{
  cudaDeviceProp prop;
  int            device;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCall(PetscMemcpy(identity, &prop.uuid, PetscMin(sizeof(prop.uuid), HJ_SLAB_IDENTITY)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabMemory_CUDA(size_t *available, size_t *granularity)
{
  size_t              total;
  CUmemAllocationProp prop;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(HJPoolsTrim()); /* what it keeps is not used */
  PetscCallCUDA(cudaMemGetInfo(available, &total));
  PetscCall(HJSlabLocation(&prop));
  HJDriverCall(cuMemGetAllocationGranularity, granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One piece of memory, seen at two places in a row */
static PetscErrorCode HJSlabRing_CUDA(void *ctx, size_t bytes, char **base)
{
  cudaStream_t                 stream;
  CUmemAllocationProp          prop;
  CUmemGenericAllocationHandle memory;
  CUmemAccessDesc              access;
  CUdeviceptr                  at;

  PetscFunctionBegin;
  PetscCall(HJSlabLocation(&prop));
  HJDriverCall(cuMemCreate, &memory, bytes, &prop, 0);
  HJDriverCall(cuMemAddressReserve, &at, 2 * bytes, 0, 0, 0);
  memset(&access, 0, sizeof(access));
  access.location = prop.location;
  access.flags    = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  for (int i = 0; i < 2; i++) {
    HJDriverCall(cuMemMap, at + i * bytes, bytes, 0, memory, 0);
    HJDriverCall(cuMemSetAccess, at + i * bytes, bytes, &access, 1);
  }
  HJDriverCall(cuMemRelease, memory); /* it lives as long as it is mapped */
  *base = (char *)at;
  PetscCall(HJSlabStream((HJSlabCUDA *)ctx, HJ_SLAB_SWEEPS, &stream));
  PetscCallCUDA(cudaMemsetAsync(*base, 0, bytes, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* set-up: the other streams find it zero */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabRingFree_CUDA(void *ctx, size_t bytes, char **base)
{
  PetscFunctionBegin;
  if (!*base) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceSynchronize()); /* what still uses it */
  for (int i = 0; i < 2; i++) HJDriverCall(cuMemUnmap, (CUdeviceptr)*base + i * bytes, bytes);
  HJDriverCall(cuMemAddressFree, (CUdeviceptr)*base, 2 * bytes);
  *base = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabDestroy_CUDA(void **ctx)
{
  HJSlabCUDA *slab = (HJSlabCUDA *)*ctx;
  void       *backend;

  PetscFunctionBegin;
  if (!slab) PetscFunctionReturn(PETSC_SUCCESS);
  for (int q = 0; q < HJ_SLAB_QUEUES; q++) {
    if (q != HJ_SLAB_SWEEPS && slab->stream[q]) PetscCallCUDA(cudaStreamDestroy(slab->stream[q]));
    for (PetscInt i = 0; i < slab->nevents[q]; i++) PetscCallCUDA(cudaEventDestroy(slab->event[q][i]));
    PetscCall(PetscFree(slab->event[q]));
  }
  PetscCallCUDA(cudaFree(slab->d_norms));
  PetscCallCUDA(cudaFreeHost(slab->norms));
  backend = slab->cuda;
  PetscCall(HJBackendCUDA.destroy(&backend));
  PetscCall(PetscFree(slab));
  *ctx = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend is made for a stencil whose arrays lie on the device, of one plane that is read once, for its most frequent row */
static PetscErrorCode HJSlabCreate_CUDA(const HJGrid *grid, const HJStencil *stencil, HJLimits *limits, void **ctx)
{
  HJSlabCUDA  *slab;
  HJStencil    st  = *stencil;
  HJAsk        ask = {.kind = HJ_SLAB, .grid = grid};
  const int    d   = (int)st.dim - 1;
  void        *backend;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscNew(&slab));
  *ctx = slab;
  PetscCall(HJSlabStream(slab, HJ_SLAB_SWEEPS, &stream));
  st.box.lo[d] = 0;
  st.box.hi[d] = 1;
  st.mtype     = PETSC_MEMTYPE_CUDA;
  PetscCall(HJAlloc((size_t)HJBoxSize(&st.box), (void **)&st.index));
  PetscCallCUDA(cudaMemsetAsync(st.index, 0, (size_t)HJBoxSize(&st.box), stream));
  PetscCall(HJBackendCUDA.create(grid, &st, &backend));
  PetscCallCUDA(cudaFree(st.index));
  slab->cuda = (HJ_CUDA *)backend;
  if (slab->cuda->family && slab->cuda->family->destroy) PetscCall(slab->cuda->family->destroy(slab->cuda));
  ask.st             = &slab->cuda->st;
  slab->cuda->family = HJTableChoose(&slab->cuda->device, &ask);
  limits->max_count  = slab->cuda->family->takes(&slab->cuda->device, &ask);
  limits->best_count = slab->cuda->family->best_count(&slab->cuda->device, grid, &slab->cuda->st);
  /* a plane of an index that is the same everywhere may be read anywhere */
  limits->wraps = (PetscBool)(st.nrows == 1 && slab->cuda->family->wraps &&
                              slab->cuda->family->wraps(&slab->cuda->device, grid, &slab->cuda->st));
  PetscCall(HJAlloc(2 * HJ_SLAB_BLOCKS * sizeof(double), (void **)&slab->d_norms));
  PetscCallCUDA(cudaMallocHost((void **)&slab->norms, 2 * HJ_SLAB_BLOCKS * sizeof(double)));
  PetscCallCUDA(cudaMemsetAsync(slab->d_norms, 0, 2 * HJ_SLAB_BLOCKS * sizeof(double), stream));
  PetscCallCUDA(cudaStreamCreateWithFlags(&slab->stream[HJ_SLAB_IN], cudaStreamNonBlocking));
  PetscCallCUDA(cudaStreamCreateWithFlags(&slab->stream[HJ_SLAB_OUT], cudaStreamNonBlocking));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *HJSlabKernels_CUDA(void *ctx)
{
  return ((const HJSlabCUDA *)ctx)->cuda->family->name;
}

static PetscErrorCode HJSlabCopy_CUDA(void *ctx, HJSlabQueue q, void *to, const void *from, size_t bytes)
{
  HJSlabCUDA *slab = (HJSlabCUDA *)ctx;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, q == HJ_SLAB_IN ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, slab->stream[q]));
  if (q == HJ_SLAB_IN) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  else PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabMark_CUDA(void *ctx, HJSlabQueue q, PetscInt mark)
{
  HJSlabCUDA  *slab = (HJSlabCUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (mark >= slab->nevents[q]) {
    PetscCall(PetscRealloc((mark + 1) * sizeof(cudaEvent_t), &slab->event[q]));
    for (; slab->nevents[q] <= mark; slab->nevents[q]++)
      PetscCallCUDA(cudaEventCreateWithFlags(&slab->event[q][slab->nevents[q]], cudaEventDisableTiming));
  }
  PetscCall(HJSlabStream(slab, q, &stream));
  PetscCallCUDA(cudaEventRecord(slab->event[q][mark], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabAwait_CUDA(void *ctx, HJSlabQueue q, HJSlabQueue other, PetscInt mark)
{
  HJSlabCUDA  *slab = (HJSlabCUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJSlabStream(slab, q, &stream));
  PetscCallCUDA(cudaStreamWaitEvent(stream, slab->event[other][mark], 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabReach_CUDA(void *ctx, HJSlabQueue q, PetscInt mark)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventSynchronize(((HJSlabCUDA *)ctx)->event[q][mark])); /* the host tells the user how far the device is */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabSweep_CUDA(void *ctx, const HJGrid *grid, const HJStencil *st, const HJSweep *s)
{
  HJ_CUDA *cuda = ((HJSlabCUDA *)ctx)->cuda;

  PetscFunctionBegin;
  cuda->grid     = *grid;
  cuda->st.box   = HJDBoxFrom(&st->box);
  cuda->st.index = st->index;
  cuda->st.dinv  = st->dinv;
  for (PetscInt s = 1; s < st->nslots; s++) cuda->st.value[s - 1] = st->value[s];
  PetscCall(HJBackendCUDA.sweep(cuda, 1, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each block adds to two numbers of its own, launch after launch, so that sums do not depend on chance; no number anywhere: NaN */
static __global__ void __launch_bounds__(HJ_SLAB_THREADS)
  HJSlabDifference_Kernel(const double *y, const double *x, long long n, double *norms)
{
  __shared__ double s_sum[HJ_SLAB_THREADS], s_max[HJ_SLAB_THREADS];
  double            sum = 0, most = 0;

  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    const double d = fabs(y[i] - x[i]);

    sum += d * d;
    most = fmax(most, d);
  }
  s_sum[threadIdx.x] = sum;
  s_max[threadIdx.x] = most;
  for (int half = HJ_SLAB_THREADS / 2; half; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      s_sum[threadIdx.x] += s_sum[threadIdx.x + half];
      s_max[threadIdx.x] = fmax(s_max[threadIdx.x], s_max[threadIdx.x + half]);
    }
  }
  if (!threadIdx.x) {
    norms[2 * blockIdx.x] += s_sum[0];
    norms[2 * blockIdx.x + 1] = fmax(norms[2 * blockIdx.x + 1], s_max[0]);
  }
}

static PetscErrorCode HJSlabDifference_CUDA(void *ctx, const PetscScalar *y, const PetscScalar *x, PetscCount n)
{
  HJSlabCUDA  *slab = (HJSlabCUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJSlabStream(slab, HJ_SLAB_SWEEPS, &stream));
  HJSlabDifference_Kernel<<<HJ_SLAB_BLOCKS, HJ_SLAB_THREADS, 0, stream>>>(y, x, n, slab->d_norms);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabSendNorms_CUDA(void *ctx)
{
  HJSlabCUDA  *slab = (HJSlabCUDA *)ctx;
  const size_t size = 2 * HJ_SLAB_BLOCKS * sizeof(double);
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJSlabStream(slab, HJ_SLAB_SWEEPS, &stream));
  PetscCallCUDA(cudaMemcpyAsync(slab->norms, slab->d_norms, size, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemsetAsync(slab->d_norms, 0, size, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fmax() passes over what is no number, the sum of squares does not */
static PetscErrorCode HJSlabNorms_CUDA(void *ctx, PetscReal *squares, PetscReal *largest)
{
  const double *norms = ((HJSlabCUDA *)ctx)->norms;

  PetscFunctionBegin;
  *squares = *largest = 0;
  for (int i = 0; i < HJ_SLAB_BLOCKS; i++) {
    *squares += norms[2 * i];
    *largest = PetscMax(*largest, norms[2 * i + 1]);
  }
  if (PetscIsNanReal(*squares)) *largest = *squares;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that the system does not lock is copied as it is: slower, and the host waits for it */
static PetscErrorCode HJSlabPin_CUDA(void *ctx, const void *array, size_t bytes, PetscBool *pinned)
{
  cudaPointerAttributes attr;
  cudaError_t           err;

  PetscFunctionBegin;
  *pinned = PETSC_FALSE;
  PetscCallCUDA(cudaPointerGetAttributes(&attr, array));
  if (attr.type != cudaMemoryTypeUnregistered) PetscFunctionReturn(PETSC_SUCCESS); /* somebody else has done it */
  err = cudaHostRegister((void *)array, bytes, cudaHostRegisterDefault);
  if (err != cudaSuccess) {
    (void)cudaGetLastError();
    PetscCall(PetscInfo(NULL, "%zu bytes of host memory could not be pinned (%s): copies are slower\n", bytes, cudaGetErrorString(err)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *pinned = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabUnpin_CUDA(void *ctx, const void *array)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaHostUnregister((void *)array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabWait_CUDA(void *ctx)
{
  HJSlabCUDA  *slab = (HJSlabCUDA *)ctx;
  cudaStream_t stream;

  PetscFunctionBegin;
  for (int q = 0; q < HJ_SLAB_QUEUES; q++) {
    PetscCall(HJSlabStream(slab, (HJSlabQueue)q, &stream));
    PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host goes on with its arrays */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJSlabOps HJSlabsCUDA = {
  .name       = "cuda",
  .identify   = HJSlabIdentify_CUDA,
  .memory     = HJSlabMemory_CUDA,
  .create     = HJSlabCreate_CUDA,
  .kernels    = HJSlabKernels_CUDA,
  .ring       = HJSlabRing_CUDA,
  .ring_free  = HJSlabRingFree_CUDA,
  .copy       = HJSlabCopy_CUDA,
  .mark       = HJSlabMark_CUDA,
  .await      = HJSlabAwait_CUDA,
  .reach      = HJSlabReach_CUDA,
  .sweep      = HJSlabSweep_CUDA,
  .difference = HJSlabDifference_CUDA,
  .send_norms = HJSlabSendNorms_CUDA,
  .norms      = HJSlabNorms_CUDA,
  .pin        = HJSlabPin_CUDA,
  .unpin      = HJSlabUnpin_CUDA,
  .wait       = HJSlabWait_CUDA,
  .destroy    = HJSlabDestroy_CUDA,
};
