/*
   Small grids, where launches and latency cost more than memory: one launch does a whole pass from tiles that overlap so much that the
   result is exact, or from a single tile that a cluster of blocks shares. Decides the tiles; the kernel is hjtile.cu's.
*/
#include "hjcuda_impl.h"

/* Larger grids are for the streaming families: found by timing both on an H200 */
#define HJ_ONCHIP_MAX_POINTS_1D      65536
#define HJ_ONCHIP_MAX_POINTS_2D      200000
#define HJ_ONCHIP_MAX_POINTS_2D_ROWS 600000 /* several rows in the dictionary, mostly at the domain's ends: streaming is slow there */
#define HJ_ONCHIP_MAX_POINTS_3D      300000

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
  for (int d = 0; d < 3; d++) {
    next.cover.lo[d] = d < dim ? PetscMax(s->write.lo[d] - margin, s->domain.lo[d]) : s->write.lo[d];
    next.cover.hi[d] = d < dim ? PetscMin(s->write.hi[d] + margin, s->domain.hi[d]) : s->write.hi[d];
    width            = PetscMax(width, HJDWidth(next.cover, d));
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
  const long long most[3] = {HJ_ONCHIP_MAX_POINTS_1D, st->storage == HJ_DICTIONARY && st->nrows > 1 ? HJ_ONCHIP_MAX_POINTS_2D_ROWS : HJ_ONCHIP_MAX_POINTS_2D, HJ_ONCHIP_MAX_POINTS_3D};

  return HJBoxSize(&grid->owned) <= most[st->dim - 1];
}

/* Margins that leave room for owned points in the smallest fast memory (48 KB, no clusters) */
static int HJOnChipMaxCount(const HJGrid *grid, const HJDStencil *st)
{
  const int most[3] = {HJD_MAX_COUNT, 16, 8};

  return HJOnChipSmall(st, grid) ? most[st->dim - 1] : 0;
}

static int HJOnChipBestCount(const HJGrid *grid, const HJDStencil *st)
{
  const int best[3] = {32, 8, 4};

  return HJOnChipSmall(st, grid) ? best[st->dim - 1] : 0;
}

static PetscErrorCode HJOnChipLaunch(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, int count, const double *w)
{
  PetscFunctionBegin;
  for (int i = 0; i < n; i++) {
    HJTileLayout lay = {};

    PetscCheck(HJOnChipLayout(cuda, &s[i], count - (s[i].x ? 1 : 2), &lay), PETSC_COMM_SELF, PETSC_ERR_PLIB, "No tile for %d subiterations", count);
    PetscCall(HJTileRun_CUDA(cuda, stream, &s[i], &lay, NULL, lay.ntiles[0] * lay.ntiles[1] * lay.ntiles[2], count, w, true));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyOnChip = {"on chip", HJOnChipMaxCount, HJOnChipBestCount, HJOnChipLaunch, NULL, NULL, PETSC_TRUE, PETSC_TRUE};
