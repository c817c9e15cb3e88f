/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The stream of all launches, and launches recorded as CUDA graphs. They are recorded on a stream of our own, for the default stream, which
   PETSc uses, cannot be; nothing runs there. A graph is launched on PETSc's stream, in order with what is there. Decides nothing about what
   is recorded.
*/
#include "hjgpu.h"
#include "hjgraph.h"

#define HJ_TURNS 2

struct _n_HJGraph {
  int             n, turn; /* how many there are, the next one to run */
  cudaGraphExec_t exec[HJ_TURNS];
};

static cudaStream_t hj_capture_stream; /* NULL: not yet made */
static bool         hj_capturing, hj_counts;

/* The stream that is being recorded; NULL: none is */
static cudaStream_t HJCaptureStream(void)
{
  return hj_capturing ? hj_capture_stream : NULL;
}

PetscErrorCode HJStream(cudaStream_t *stream)
{
  PetscFunctionBegin;
  *stream = HJCaptureStream();
#if PetscDefined(HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
  if (!*stream) {
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

void HJCaptureCounts(void)
{
  hj_counts = true;
}

static PetscErrorCode HJCaptureDestroy(void)
{
  PetscFunctionBegin;
  (void)cudaStreamDestroy(hj_capture_stream); /* the device may be gone at the end of the process */
  hj_capture_stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCaptureBegin_CUDA(HJGraph *graph)
{
  PetscFunctionBegin;
  if (!hj_capture_stream) {
    PetscCallCUDA(cudaStreamCreateWithFlags(&hj_capture_stream, cudaStreamNonBlocking));
    PetscCall(PetscRegisterFinalize(HJCaptureDestroy));
  }
  PetscCallCUDA(cudaStreamBeginCapture(hj_capture_stream, cudaStreamCaptureModeRelaxed));
  if (!*graph) PetscCall(PetscNew(graph)); /* a graph that is there has been recorded, or is being so */
  hj_capturing = true;
  hj_counts    = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCaptureEnd_CUDA(HJGraph *graph, PetscBool ok, PetscBool *again, const char **why)
{
  HJGraph     g        = *graph;
  cudaGraph_t recorded = NULL;
  cudaError_t err;

  PetscFunctionBegin;
  hj_capturing = false;
  err          = cudaStreamEndCapture(hj_capture_stream, &recorded);
  if (!err && ok) err = cudaGraphInstantiate(&g->exec[g->n], recorded, 0);
  if (recorded) (void)cudaGraphDestroy(recorded);
  (void)cudaGetLastError();
  if (err || !ok) {
    *again = PETSC_FALSE;
    *why   = err ? cudaGetErrorString(err) : "an operation of the cycle cannot be recorded";
    PetscCall(HJGraphDestroy_CUDA(graph));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  g->n++;
  *again = (PetscBool)(hj_counts && g->n < HJ_TURNS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGraphReplay_CUDA(HJGraph g)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaGraphLaunch(g->exec[g->turn], stream));
  g->turn = (g->turn + 1) % g->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGraphDestroy_CUDA(HJGraph *graph)
{
  PetscFunctionBegin;
  if (*graph) {
    for (int i = 0; i < (*graph)->n; i++) PetscCallCUDA(cudaGraphExecDestroy((*graph)->exec[i]));
  }
  PetscCall(PetscFree(*graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}
