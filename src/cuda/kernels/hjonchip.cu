/*
   Small grids, where launches and latency cost more than memory: one launch does a whole pass. Constant coefficients in 3D: from bricks whose
   blocks wait for each other (hjbrick.cu), as many subiterations as wanted. Else from tiles that overlap so much that the result is exact, or from
   a single tile that a cluster of blocks shares (hjtile.cu). Decides bricks and tiles, owns what the bricks share.
*/
#include "hjkernel.h"

/* Larger grids are for the streaming families: found by timing both on an H200 */
#define HJ_ONCHIP_MAX_POINTS_1D      65536
#define HJ_ONCHIP_MAX_POINTS_2D      200000
#define HJ_ONCHIP_MAX_POINTS_2D_ROWS 600000 /* several rows in the dictionary, mostly at the domain's ends: streaming is slow there */
#define HJ_ONCHIP_MAX_POINTS_3D      300000

/* The points that a sweep computes: those that it writes, and margin around them */
static HJDBox HJOnChipCover(const HJDBox *write, const HJDBox *domain, int dim, int margin)
{
  HJDBox cover = *write;

  for (int d = 0; d < dim; d++) {
    cover.lo[d] = PetscMax(write->lo[d] - margin, domain->lo[d]);
    cover.hi[d] = PetscMin(write->hi[d] + margin, domain->hi[d]);
  }
  return cover;
}

/*
   The least tiles with margin points around what they own, with all blocks on the device at once; where no tiles do that, those with
   the fewest waves times points a block. false: not even one owned point fits.
*/
static bool HJOnChipLayout(const HJ_CUDA *cuda, const HJDSweep *s, int margin, HJTileLayout *lay)
{
  const int    dim   = cuda->st.dim;
  bool         found = false;
  HJTileLayout next  = *lay;
  long long    least = 0;
  int          width = 1;

  next.overlap = 2 * margin;
  next.cover   = HJOnChipCover(&s->write, &s->domain, dim, margin);
  for (int d = 0; d < 3; d++) {
    width        = PetscMax(width, HJDWidth(next.cover, d));
    next.tile[d] = next.ntiles[d] = 1;
  }
  for (int own = 1; own <= width; own++) {
    long long blocks = 1;

    for (int d = 0; d < dim; d++) {
      const int w    = HJDWidth(next.cover, d);
      next.tile[d]   = own + 2 * margin;
      next.ntiles[d] = (int)HJTileCount(w, next.tile[d], next.overlap);
      next.tile[d]   = next.ntiles[d] == 1 ? w : next.tile[d];
      blocks *= next.ntiles[d];
    }
    if (!HJTileLayoutFit(cuda, &next)) break;
    const long long cost = (blocks * next.cluster + cuda->nsm - 1) / cuda->nsm * next.threads * next.strip;
    if (!found || cost < least) {
      *lay  = next;
      least = cost;
    }
    found = true;
    if (blocks * next.cluster <= cuda->nsm) break;
  }
  return found;
}

static bool HJOnChipSmall(const HJDStencil *st, const HJGrid *grid)
{
  const long long most[3] = {HJ_ONCHIP_MAX_POINTS_1D,
                             st->storage == HJ_DICTIONARY && st->nrows > 1 ? HJ_ONCHIP_MAX_POINTS_2D_ROWS : HJ_ONCHIP_MAX_POINTS_2D,
                             HJ_ONCHIP_MAX_POINTS_3D};

  return HJBoxSize(&grid->owned) <= most[st->dim - 1];
}

/* Whether this device and toolkit can do bricks at all, then how many multiprocessors and how much memory they may count on */
static bool HJOnChipCooperative(int *nsm, size_t *smem_block)
{
#if HJ_SLOT_WORDS
  const cudaDeviceAttr attr[4] = {cudaDevAttrCooperativeLaunch, cudaDevAttrComputeCapabilityMajor, cudaDevAttrMultiProcessorCount,
                                  cudaDevAttrMaxSharedMemoryPerBlockOptin};
  int                  device, value[4] = {0, 0, 0, 0};

  if (cudaGetDevice(&device) != cudaSuccess) return false;
  for (int i = 0; i < 4; i++) {
    if (cudaDeviceGetAttribute(&value[i], attr[i], device) != cudaSuccess) return false;
  }
  *nsm        = value[2];
  *smem_block = (size_t)value[3];
  return value[0] && value[1] >= 7;
#else
  return false;
#endif
}

/* Whether bricks hold all points of a sweep of count subiterations, those beyond the rank's too */
static bool HJOnChipHolds(const HJGrid *grid, const HJDStencil *st, int count)
{
  const HJBox box = HJGridPadded(grid, count - 1);
  HJBricks    lay;
  size_t      smem_block;
  int         nsm;

  if (st->dim < 3 || st->storage != HJ_DICTIONARY || !HJOnChipCooperative(&nsm, &smem_block)) return false;
  lay.cover = HJDBoxFrom(&box);
  return HJBricksFit(nsm, smem_block, st->shape == HJ_BOX, &lay);
}

/* Whether bricks hold the whole domain: nothing then limits the subiterations but the weights that are kernel parameters */
static bool HJOnChipWhole(const HJGrid *grid, const HJDStencil *st)
{
  return !HJGridHasNeighbors(grid) && HJOnChipHolds(grid, st, 1);
}

/* Margins that leave room for owned points in the smallest fast memory (48 KB, no clusters): regions of a rank may take tiles where the whole takes bricks */
static int HJOnChipMaxCount(const HJGrid *grid, const HJDStencil *st)
{
  const int most[3] = {HJD_MAX_COUNT, 16, 8};

  if (!HJOnChipSmall(st, grid)) return 0;
  return HJOnChipWhole(grid, st) ? HJD_MAX_COUNT : most[st->dim - 1];
}

/* A block of bricks reads what it writes, and only at the start */
static int HJOnChipInPlace(const HJGrid *grid, const HJDStencil *st)
{
  return HJOnChipWhole(grid, st) ? HJD_MAX_COUNT : 0;
}

/* Between ranks one exchange more costs as much as many subiterations: in 2D as many as can be, in 3D as bricks hold */
static int HJOnChipBestCount(const HJGrid *grid, const HJDStencil *st)
{
  const int best[3] = {32, 8, 4};
  int       count   = HJOnChipMaxCount(grid, st);

  if (!count || HJOnChipWhole(grid, st)) return count;
  if (st->dim == 1 || !HJGridHasNeighbors(grid)) return best[st->dim - 1];
  while (st->dim == 3 && count > best[2] && !HJOnChipHolds(grid, st, count)) count--;
  return count;
}

typedef struct {
  bool               cooperative;
  HJSlot            *slot;
  long long          nslots;
  unsigned long long epoch; /* the next exchange */
} HJOnChip;

static PetscErrorCode HJOnChipDestroy(HJ_CUDA *cuda)
{
  HJOnChip *chip = (HJOnChip *)cuda->family_data;

  PetscFunctionBegin;
  if (chip) PetscCallCUDA(cudaFree(chip->slot));
  PetscCall(PetscFree(chip));
  cuda->family_data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates when a larger sweep is first seen. No two exchanges have the same epoch: slots are never emptied */
static PetscErrorCode HJOnChipSlots(HJOnChip *chip, cudaStream_t stream, long long nslots)
{
  PetscFunctionBegin;
  if (nslots <= chip->nslots) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(chip->slot));
  chip->nslots = 0;
  PetscCall(HJAlloc(nslots * sizeof(HJSlot), (void **)&chip->slot));
  PetscCallCUDA(cudaMemsetAsync(chip->slot, 0, nslots * sizeof(HJSlot), stream));
  chip->nslots = nslots;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOnChipBricks(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, int margin, int count, const double *w,
                                     bool *done)
{
  HJOnChip *chip = (HJOnChip *)cuda->family_data;
  HJBricks  lay;

  PetscFunctionBegin;
  *done = false;
  if (cuda->st.dim < 3 || cuda->st.storage != HJ_DICTIONARY) PetscFunctionReturn(PETSC_SUCCESS);
  if (!chip) {
    size_t smem_block;
    int    nsm;

    PetscCall(PetscNew(&chip));
    chip->cooperative = HJOnChipCooperative(&nsm, &smem_block);
    chip->epoch       = 1;
    cuda->family_data = chip;
  }
  lay.cover = HJOnChipCover(&s->write, &s->domain, cuda->st.dim, margin);
  if (!chip->cooperative || !HJBricksFit(cuda->nsm, cuda->smem_block, cuda->st.shape == HJ_BOX, &lay)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOnChipSlots(chip, stream, 2 * HJBricksSlots(&lay)));
  PetscCall(HJBrickRun_CUDA(cuda, stream, s, &lay, count, w, chip->slot, chip->epoch));
  chip->epoch += count;
  *done = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOnChipLaunch(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, int count, const double *w)
{
  PetscFunctionBegin;
  for (int i = 0; i < n; i++) {
    const int    margin = count - (s[i].x ? 1 : 2);
    HJTileLayout lay    = {};
    bool         done;

    PetscCall(HJOnChipBricks(cuda, stream, &s[i], margin, count, w, &done));
    if (done) continue;
    PetscCheck(HJOnChipLayout(cuda, &s[i], margin, &lay), PETSC_COMM_SELF, PETSC_ERR_PLIB, "No tile for %d subiterations", count);
    PetscCall(HJTileRun_CUDA(cuda, stream, &s[i], &lay, NULL, lay.ntiles[0] * lay.ntiles[1] * lay.ntiles[2], count, w, true));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyOnChip = {"on chip",       HJOnChipMaxCount, HJOnChipBestCount, HJOnChipLaunch,
                                 HJOnChipDestroy, HJOnChipInPlace,  PETSC_TRUE,        PETSC_TRUE};
