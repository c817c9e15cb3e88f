/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Halo exchange: each place of a frame holds the value of its grid point, whatever the split, depth and boundary. ranks: 1 2 3 4
*/
#include "hjtest.h"
#include "halo/hjhalo.h"
#include "plan/hjplan.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

typedef struct {
  const char    *name;
  PetscInt       dim, n[3], ranks[3]; /* n < 0: that many points a rank */
  DMBoundaryType b[3];
  PetscBool      uneven; /* widths 1, 2, 3, ... in x */
} Case;

#define N_ DM_BOUNDARY_NONE
#define P_ DM_BOUNDARY_PERIODIC
#define M_ DM_BOUNDARY_MIRROR
#define G_ DM_BOUNDARY_GHOSTED
#define D_ PETSC_DECIDE

static const Case cases[] = {
  {"1D", 1, {37, 1, 1}, {D_, 1, 1}, {N_, N_, N_}, PETSC_FALSE},
  {"1D periodic", 1, {37, 1, 1}, {D_, 1, 1}, {P_, N_, N_}, PETSC_FALSE},
  {"1D uneven", 1, {0, 1, 1}, {D_, 1, 1}, {N_, N_, N_}, PETSC_TRUE},
  {"1D one point a rank", 1, {-1, 1, 1}, {D_, 1, 1}, {N_, N_, N_}, PETSC_FALSE},
  {"1D one point a rank, periodic", 1, {-1, 1, 1}, {D_, 1, 1}, {P_, N_, N_}, PETSC_FALSE},
  {"2D", 2, {23, 19, 1}, {D_, D_, 1}, {N_, N_, N_}, PETSC_FALSE},
  {"2D periodic in x, cut in y", 2, {23, 19, 1}, {1, D_, 1}, {P_, N_, N_}, PETSC_FALSE},
  {"2D periodic", 2, {23, 19, 1}, {D_, D_, 1}, {P_, P_, N_}, PETSC_FALSE},
  {"2D mirrored in x, ghosted in y", 2, {23, 19, 1}, {D_, D_, 1}, {M_, G_, N_}, PETSC_FALSE},
  {"2D one column a rank", 2, {-1, 9, 1}, {D_, 1, 1}, {N_, N_, N_}, PETSC_FALSE},
  {"2D uneven", 2, {0, 9, 1}, {D_, 1, 1}, {P_, N_, N_}, PETSC_TRUE},
  {"2D large enough to split", 2, {160, 90, 1}, {D_, D_, 1}, {N_, P_, N_}, PETSC_FALSE},
  {"3D", 3, {11, 9, 13}, {D_, D_, D_}, {N_, N_, N_}, PETSC_FALSE},
  {"3D periodic", 3, {11, 9, 13}, {D_, D_, D_}, {P_, P_, P_}, PETSC_FALSE},
  {"3D one layer a rank", 3, {7, 6, -1}, {1, 1, D_}, {P_, N_, N_}, PETSC_FALSE},
  {"2D strips", 2, {23, 41, 1}, {1, D_, 1}, {N_, N_, N_}, PETSC_FALSE},
  {"2D strips, periodic", 2, {23, 41, 1}, {1, D_, 1}, {N_, P_, N_}, PETSC_FALSE},
  {"3D strips", 3, {7, 9, 31}, {1, 1, D_}, {N_, N_, N_}, PETSC_FALSE},
  {"3D strips, periodic", 3, {7, 9, 31}, {1, 1, D_}, {N_, N_, P_}, PETSC_FALSE},
  {"3D large enough to split", 3, {48, 40, 36}, {D_, D_, D_}, {N_, P_, N_}, PETSC_FALSE},
};

static PetscErrorCode CreateDA(const Case *c, DM *da)
{
  PetscMPIInt size;
  PetscInt    n[3], *lx = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int d = 0; d < 3; d++) n[d] = c->n[d] < 0 ? -c->n[d] * size : c->n[d];
  if (c->uneven) {
    PetscCall(PetscMalloc1(size, &lx));
    for (PetscInt p = 0; p < size; p++) n[0] += lx[p] = p + 1;
  }
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, n[0], n[1], n[2]));
  PetscCall(DMDASetNumProcs(*da, c->uneven ? size : c->ranks[0], c->ranks[1], c->ranks[2]));
  PetscCall(DMDASetBoundaryType(*da, c->b[0], c->b[1], c->b[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 1));
  if (c->uneven) PetscCall(DMDASetOwnershipRanges(*da, lx, NULL, NULL));
  PetscCall(DMSetUp(*da));
  PetscCall(PetscFree(lx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 + the natural index of a point in local coordinates, 0 where nothing may be written */
static PetscScalar Expected(const HJGrid *g, const PetscInt start[3], PetscInt depth, const PetscInt at[3])
{
  const HJBox reach = HJGridPadded(g, depth);
  PetscInt    p[3];

  for (int d = 0; d < 3; d++) {
    if (at[d] < reach.lo[d] || at[d] >= reach.hi[d] || at[d] < g->domain.lo[d] || at[d] >= g->domain.hi[d]) return 0;
    p[d] = (start[d] + at[d] + g->N[d]) % g->N[d];
  }
  return 1 + p[0] + g->N[0] * (p[1] + (PetscScalar)g->N[1] * p[2]);
}

static PetscInt FrameWrong(const HJGrid *g, const PetscInt start[3], PetscInt depth, const HJBox *box, const PetscScalar *frame,
                           PetscScalar factor)
{
  PetscInt at[3], wrong = 0;

  for (at[2] = box->lo[2]; at[2] < box->hi[2]; at[2]++)
    for (at[1] = box->lo[1]; at[1] < box->hi[1]; at[1]++)
      for (at[0] = box->lo[0]; at[0] < box->hi[0]; at[0]++)
        wrong += frame[HJBoxIndex(box, at[0], at[1], at[2])] != factor * Expected(g, start, depth, at);
  return wrong;
}

/* Vectors lie where those of the backend would: on the GPU with -backend cuda, else on the host */
static VecType          vec_type = VECSEQ;
static const HJHaloOps *transports[3];
static int              ntransports;

/* The transports: PetscSF, and NCCL and CUDA IPC where each rank has a GPU. comm is PETSc's own, as that of the DMs is */
static PetscErrorCode FindTransports(MPI_Comm comm)
{
  char      backend[16] = "host";
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &cuda));
  transports[ntransports++] = &HJHaloPetscSF;
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  vec_type = VECSEQCUDA;
#if defined(HJACOBI_HAVE_CUDA)
  {
    PetscBool   available;
    const char *why;

  #if defined(HJACOBI_HAVE_NCCL)
    PetscCall(HJNCCLAvailable(comm, &available, &why));
    if (available) transports[ntransports++] = &HJHaloNCCL;
    PetscCall(HJTestNote("nccl: %s", why));
  #endif
    PetscCall(HJIPCAvailable(comm, &available, &why));
    if (available) transports[ntransports++] = &HJHaloIPC;
    PetscCall(HJTestNote("ipc: %s", why));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewVec(PetscCount n, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, (PetscInt)n, (PetscInt)n));
  PetscCall(VecSetType(*v, vec_type));
  PetscCall(VecSet(*v, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two vectors travel on one halo, as in the first pass of an apply, or x alone. The vectors change as soon as the exchange has begun.
   What arrives is put where the frames are
*/
static PetscErrorCode Exchange(HJHalo halo, Vec x, Vec b, Vec fx, Vec fb)
{
  Vec                from[] = {x, b}, to[] = {fx, fb};
  const PetscScalar *a[2] = {NULL, NULL};
  PetscScalar       *own[2], *frame[2];
  PetscMemType       mtype;
  PetscInt           n;

  PetscFunctionBegin;
  for (int i = 0; i < (b ? 2 : 1); i++) {
    PetscCall(VecGetArrayReadAndMemType(from[i], &a[i], &mtype));
    PetscCall(VecGetArrayAndMemType(to[i], &own[i], NULL));
    frame[i] = own[i];
  }
  PetscCall(HJHaloBegin(halo, mtype, a, frame));
  PetscCall(HJHaloEnd(halo, mtype, a, frame));
  for (int i = 0; i < (b ? 2 : 1); i++) {
    PetscCall(VecGetLocalSize(to[i], &n));
#if defined(HJACOBI_HAVE_CUDA)
    if (frame[i] != own[i]) PetscCall(HJBackendCUDA.copy(NULL, own[i], frame[i], n));
#endif
    PetscCall(VecRestoreArrayReadAndMemType(from[i], &a[i]));
    PetscCall(VecRestoreArrayAndMemType(to[i], &own[i]));
    PetscCall(VecScale(from[i], -1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillOwned(const HJGrid *g, const PetscInt start[3], Vec x)
{
  PetscScalar *a;
  PetscInt     at[3];

  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(x, &a));
  for (at[2] = 0; at[2] < g->owned.hi[2]; at[2]++)
    for (at[1] = 0; at[1] < g->owned.hi[1]; at[1]++)
      for (at[0] = 0; at[0] < g->owned.hi[0]; at[0]++) a[HJBoxIndex(&g->owned, at[0], at[1], at[2])] = Expected(g, start, 0, at);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same exchange several times by every transport; the values change their sign each time */
static PetscErrorCode CountWrong(DM da, const HJGrid *g, PetscInt depth, PetscInt n, const HJBox boxes[], const PetscCount offsets[],
                                 PetscCount size, PetscInt *wrong)
{
  PetscInt           start[3];
  Vec                x, b, fx, fb;
  const PetscScalar *fxa, *fba;
  HJHalo             halo;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &start[0], &start[1], &start[2], NULL, NULL, NULL));
  PetscCall(NewVec(HJBoxSize(&g->owned), &x));
  PetscCall(NewVec(HJBoxSize(&g->owned), &b));
  for (int t = 0; t < ntransports; t++) {
    PetscCall(HJHaloCreate(da, g, depth, n, boxes, offsets, transports[t], &halo));
    PetscCall(NewVec(size, &fx));
    PetscCall(NewVec(size, &fb));
    PetscCall(FillOwned(g, start, x));
    PetscCall(VecCopy(x, b));
    PetscCall(VecScale(b, -2));
    for (int replay = 0; replay < 5; replay++) PetscCall(Exchange(halo, x, replay % 2 ? NULL : b, fx, fb)); /* b: three times */
    PetscCall(VecGetArrayRead(fx, &fxa));
    PetscCall(VecGetArrayRead(fb, &fba));
    for (PetscInt r = 0; r < n; r++)
      *wrong += FrameWrong(g, start, depth, &boxes[r], fxa + offsets[r], 1) + FrameWrong(g, start, depth, &boxes[r], fba + offsets[r], -2);
    PetscCall(VecRestoreArrayRead(fx, &fxa));
    PetscCall(VecRestoreArrayRead(fb, &fba));
    PetscCall(VecDestroy(&fx));
    PetscCall(VecDestroy(&fb));
    PetscCall(HJHaloDestroy(&halo));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two boxes, one behind the other in one buffer: all owned points with their ghosts, and one that reaches a layer further than the halo
   does and out of the domain
*/
static PetscErrorCode TestBoxes(const Case *c, DM da, const HJGrid *g, PetscInt depth)
{
  HJBox      boxes[2] = {HJGridPadded(g, depth), HJGridPadded(g, depth + 1)};
  PetscCount offsets[2];
  PetscInt   wrong = 0;

  PetscFunctionBegin;
  boxes[1].lo[0]--;
  boxes[1].hi[0]++;
  offsets[0] = 3;
  offsets[1] = 3 + HJBoxSize(&boxes[0]);
  PetscCall(CountWrong(da, g, depth, 2, boxes, offsets, offsets[1] + HJBoxSize(&boxes[1]), &wrong));
  PetscCall(HJTestOK((PetscBool)!wrong, "%s, depth %d: frames hold the values of their points", c->name, (int)depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRegions(const Case *c, DM da, const HJGrid *g, PetscInt depth)
{
  const HJLimits lim = {.max_count = depth, .best_count = depth, .slab = {8, 5, 1}};
  HJBox          boxes[HJ_MAX_REGIONS];
  PetscCount     offsets[HJ_MAX_REGIONS];
  PetscInt       n = 0, wrong = 0;
  HJPlan         plan;
  HJRegions      r;

  PetscFunctionBegin;
  HJPlanFill(g, &lim, depth, 1, -1, PETSC_FALSE, &plan);
  HJPlanRegions(g, &plan, lim.slab, PETSC_FALSE, PETSC_FALSE, &r);
  for (PetscInt q = 0; q < r.n; q++) {
    if (!r.framed[q]) continue;
    boxes[n]     = r.box[q];
    offsets[n++] = r.offset[q];
  }
  PetscCall(CountWrong(da, g, depth, n, boxes, offsets, r.size, &wrong));
  PetscCall(HJTestOK((PetscBool)!wrong, "%s, depth %d: frames of the plan's regions", c->name, (int)depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As transports like them best: planes alone */
static PetscErrorCode TestGhosts(const Case *c, DM da, const HJGrid *g, PetscInt depth)
{
  const HJLimits lim   = {.max_count = depth, .best_count = depth, .slab = {8, 5, 1}, .ghosts = PETSC_TRUE};
  PetscInt       wrong = 0;
  PetscCount     offsets[2];
  HJPlan         plan;
  HJRegions      r;

  PetscFunctionBegin;
  HJPlanFill(g, &lim, depth, 1, -1, PETSC_FALSE, &plan);
  HJPlanRegions(g, &plan, lim.slab, PETSC_TRUE, PETSC_FALSE, &r);
  if (!r.ghosts) PetscFunctionReturn(PETSC_SUCCESS); /* the same on all ranks here */
  offsets[0] = 0;
  offsets[1] = HJBoxSize(&r.ghost[0]);
  PetscCall(CountWrong(da, g, depth, 2, r.ghost, offsets, r.size, &wrong));
  PetscCall(HJTestOK((PetscBool)!wrong, "%s, depth %d: ghost planes", c->name, (int)depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MPI_Comm comm;
  int      code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &comm, NULL)); /* else PETSc's communicator, and NCCL's with it, goes with each DM */
  PetscCall(FindTransports(comm));
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    DM     da;
    HJGrid g;

    PetscCall(CreateDA(&cases[i], &da));
    PetscCall(HJGridCreate(da, &g));
    for (PetscInt depth = 0; depth <= PetscMin(4, g.min_width); depth++) {
      PetscCall(TestBoxes(&cases[i], da, &g, depth));
      if (depth) PetscCall(TestRegions(&cases[i], da, &g, depth));
      if (depth) PetscCall(TestGhosts(&cases[i], da, &g, depth));
    }
    PetscCall(DMDestroy(&da));
  }
  code = HJTestDone();
  PetscCall(PetscCommDestroy(&comm));
  PetscCall(PetscFinalize());
  return code;
}
