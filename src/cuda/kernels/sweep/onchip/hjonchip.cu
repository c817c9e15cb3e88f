/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Small grids, where launches and latency cost more than memory: one launch does a whole pass. Constant coefficients in 3D, and arrays of a
   box there: from bricks whose blocks wait for each other (hjbrick.cu, hjbrickarrays.cu), as many subiterations as wanted. Else from tiles
   that overlap so much that the result is exact, or from a single tile that a cluster of blocks shares (hjtile.cu). Decides bricks and
   tiles, owns what the bricks share.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjbrickarrays.h"
#include "cuda/kernels/sweep/stale/hjtile.h"
#include "cuda/device/hjgraph.h"
#include "cuda/device/hjgrown.h"

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
static bool HJOnChipTiles(const HJDevice *device, const HJDStencil *st, const HJDBox *cover, int margin, HJTileLayout *lay)
{
  const int    dim   = st->dim;
  bool         found = false;
  HJTileLayout next  = *lay;
  long long    least = 0;
  int          width = 1;

  next.overlap = 2 * margin;
  next.cover   = *cover;
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
    if (!HJTileLayoutFit(device, st, &next)) break;
    const long long cost = (blocks * next.cluster + device->nsm - 1) / device->nsm * next.threads * next.strip;
    if (!found || cost < least) {
      *lay  = next;
      least = cost;
    }
    found = true;
    if (blocks * next.cluster <= device->nsm) break;
  }
  return found;
}

/* A single tile of all points, in one block: it reads the whole grid before it writes, so that it can work in place. Only where the
   coefficients are at hand in that block */
static bool HJOnChipOneTile(const HJDevice *device, const HJDStencil *st, const HJDBox *cover, int margin, HJTileLayout *lay)
{
  lay->overlap = 2 * margin;
  lay->cover   = *cover;
  for (int d = 0; d < 3; d++) {
    lay->tile[d]   = d < st->dim ? HJDWidth(*cover, d) : 1;
    lay->ntiles[d] = 1;
  }
  return st->dim == 2 && st->storage == HJ_DICTIONARY && HJTileLayoutFit(device, st, lay) && lay->cluster == 1;
}

/* Fills all below cover for bricks that hold its points; false: there are none */
static bool HJOnChipBricks(const HJDevice *device, const HJGrid *grid, const HJDStencil *st, HJBricks *lay)
{
  if (st->dim < 3) return false;
  if (st->storage == HJ_DICTIONARY) return HJBricksFit(device, st->shape == HJ_BOX, lay);
  return st->shape == HJ_BOX && !HJGridHasNeighbors(grid) && HJBrickArraysFit(device, lay);
}

static bool HJOnChipSmall(const HJDStencil *st, const HJGrid *grid)
{
  const bool      arrays  = st->storage != HJ_DICTIONARY && st->shape == HJ_BOX && !HJGridHasNeighbors(grid);
  const long long most[3] = {HJ_ONCHIP_MAX_POINTS_1D,
                             st->storage == HJ_DICTIONARY && st->nrows > 1 ? HJ_ONCHIP_MAX_POINTS_2D_ROWS : HJ_ONCHIP_MAX_POINTS_2D,
                             arrays ? HJ_ONCHIP_MAX_POINTS_27 : HJ_ONCHIP_MAX_POINTS_3D};

  return HJBoxSize(&grid->owned) <= most[st->dim - 1];
}

/* Whether bricks hold all points of a sweep of count subiterations, those beyond the rank's too */
static bool HJOnChipHolds(const HJDevice *device, const HJGrid *grid, const HJDStencil *st, int count)
{
  const HJBox box = HJGridPadded(grid, count - 1);
  HJBricks    lay;

  lay.cover = HJDBoxFrom(&box);
  return HJOnChipBricks(device, grid, st, &lay);
}

/* Whether bricks hold a grid all of whose neighbours are itself: across a period, too, they give each other their points */
static bool HJOnChipBricksWrap(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  HJBricks lay;

  if (st->dim < 3 || st->storage != HJ_DICTIONARY || st->shape != HJ_STAR || !HJGridIsWrapped(grid) || !HJOnChipSmall(st, grid))
    return false;
  for (int d = 0; d < 3; d++)
    if (HJGridPeriod(grid, d) == 1) return false; /* a thread has the ring on one side */
  lay.cover = HJDBoxFrom(&grid->owned);
  return HJOnChipBricks(device, grid, st, &lay);
}

/* Whether bricks or a block hold the whole domain: nothing then limits the subiterations but the weights that are kernel parameters */
static bool HJOnChipHoldsDomain(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const HJDBox cover = HJDBoxFrom(&grid->owned);
  HJTileLayout lay;

  if (HJGridHasNeighbors(grid)) return HJOnChipBricksWrap(device, grid, st);
  return HJOnChipHolds(device, grid, st, 1) || HJOnChipOneTile(device, st, &cover, 0, &lay);
}

/* Whether a tile has room for a point that it owns and the margin around it */
static bool HJOnChipTileFits(const HJDevice *device, const HJDStencil *st, int count)
{
  HJTileLayout lay;

  for (int d = 0; d < 3; d++) lay.tile[d] = d < st->dim ? 2 * count - 1 : 1;
  return HJTileLayoutFit(device, st, &lay);
}

/* Regions of a rank may take tiles where the whole takes bricks */
static int HJOnChipMaxCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const int most[3] = {HJD_MAX_COUNT, HJ_ONCHIP_MOST_2D, HJ_ONCHIP_MOST_3D};
  int       count   = most[st->dim - 1];

  if (st->storage != HJ_DICTIONARY && HJOnChipHoldsDomain(device, grid, st)) return HJD_MAX_COUNT;
  if (!HJOnChipSmall(st, grid)) return 0;
  if (HJOnChipHoldsDomain(device, grid, st)) return HJD_MAX_COUNT;
  while (count > 0 && !HJOnChipTileFits(device, st, count)) count--;
  return count;
}

/* A block of bricks reads what it writes, and only at the start; so does a single tile, which pays where it is small: beyond that many
   tiles and a copy are quicker */
static int HJOnChipInPlace(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  if (st->dim == 2 && HJBoxSize(&grid->owned) > HJ_ONCHIP_ONE_TILE) return 0;
  return HJOnChipHoldsDomain(device, grid, st) ? HJD_MAX_COUNT : 0;
}

/* Between ranks one exchange more costs as much as many subiterations: in 2D as many as can be, in 3D as bricks hold */
static int HJOnChipBestCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const int best[3] = {HJ_ONCHIP_BEST_1D, HJ_ONCHIP_BEST_2D, HJ_ONCHIP_BEST_3D};
  int       count   = HJOnChipMaxCount(device, grid, st);

  if (!count || HJOnChipHoldsDomain(device, grid, st)) return count;
  if (st->dim == 1 || !HJGridHasNeighbors(grid)) return PetscMin(count, best[st->dim - 1]);
  while (st->dim == 3 && count > best[2] && !HJOnChipHolds(device, grid, st, count)) count--;
  return count;
}

/* What the bricks of all sweeps share */
typedef struct {
  HJGrown           *slots;
  unsigned long long epoch; /* the next exchange */
} HJOnChip;

/* Layout of one sweep */
typedef struct {
  bool         bricks;
  HJBricks     brick;
  HJBrickRows  rows; /* of bricks */
  HJTileLayout tile;
} HJOnChipLayout;

static PetscErrorCode HJOnChipDestroy(HJ_CUDA *cuda)
{
  HJOnChip *chip = (HJOnChip *)cuda->family_data;

  PetscFunctionBegin;
  if (chip) PetscCall(HJGrownFree(&chip->slots));
  PetscCall(PetscFree(chip));
  cuda->family_data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No two exchanges have the same epoch: slots are never emptied */
static PetscErrorCode HJOnChipSlots(HJ_CUDA *cuda, cudaStream_t stream, long long nslots)
{
  HJOnChip *chip = (HJOnChip *)cuda->family_data;
  PetscBool grown;

  PetscFunctionBegin;
  if (!chip) {
    PetscCall(PetscNew(&chip));
    chip->epoch       = 1;
    cuda->family_data = chip;
  }
  PetscCall(HJGrow(&chip->slots, nslots * sizeof(HJSlot), &grown));
  if (grown) PetscCallCUDA(cudaMemsetAsync(chip->slots->memory, 0, chip->slots->bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOnChipLayoutDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a sweep does all points of a grid that bricks wrap, and its arrays have no ghosts in x and y */
static bool HJOnChipSweepWraps(const HJ_CUDA *cuda, const HJDSweep *s)
{
  const HJDBox owned = HJDBoxFrom(&cuda->grid.owned);
  bool         wraps = HJOnChipBricksWrap(&cuda->device, &cuda->grid, &cuda->st);

  for (int d = 0; d < 3; d++) {
    wraps = wraps && s->write.lo[d] == owned.lo[d] && s->write.hi[d] == owned.hi[d];
    wraps = wraps && (d == 2 || s->wrap[d] == HJGridPeriod(&cuda->grid, d));
  }
  return wraps;
}

static PetscErrorCode HJOnChipLayoutCreate(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJGeometry *geometry, void **layout)
{
  const HJDStencil *st     = &cuda->st;
  const int         margin = geometry->count - (geometry->zero ? 2 : 1);
  HJOnChipLayout   *l;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(geometry->nsweeps, &l));
  *layout = l;
  for (int i = 0; i < geometry->nsweeps; i++, l++) {
    const bool wraps = HJOnChipSweepWraps(cuda, &s[i]);

    l->brick.cover = wraps ? s[i].write : HJOnChipCover(&s[i].write, &s[i].domain, st->dim, margin);
    for (int d = 0; d < 3; d++) l->brick.period[d] = wraps ? (int)HJGridPeriod(&cuda->grid, d) : 0;
    l->bricks = HJOnChipBricks(&cuda->device, &cuda->grid, st, &l->brick);
    if (l->bricks) {
      if (st->storage == HJ_DICTIONARY) HJBrickRowsSet(cuda, &l->rows);
      PetscCall(HJOnChipSlots(cuda, stream, 2 * HJBricksSlots(&l->brick)));
    } else if (geometry->in_place)
      PetscCheck(HJOnChipOneTile(&cuda->device, st, &l->brick.cover, margin, &l->tile), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "No single tile for %d subiterations in place", geometry->count);
    else
      PetscCheck(HJOnChipTiles(&cuda->device, st, &l->brick.cover, margin, &l->tile), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "No tile for %d subiterations", geometry->count);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOnChipLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJOnChipLayout *l     = (const HJOnChipLayout *)layout;
  const int             count = pass->count;
  const PetscReal      *w     = pass->w;

  PetscFunctionBegin;
  for (int i = 0; i < pass->nsweeps; i++, l++) {
    const HJDSweep *s    = &pass->sweep[i];
    HJOnChip       *chip = (HJOnChip *)cuda->family_data;

    if (l->bricks) {
      HJSlot *slot = (HJSlot *)chip->slots->memory;

      if (cuda->st.storage == HJ_DICTIONARY) PetscCall(HJBrickRun_CUDA(cuda, stream, s, &l->brick, &l->rows, count, w, slot, chip->epoch));
      else PetscCall(HJBrickArraysRun_CUDA(cuda, stream, s, &l->brick, count, w, slot, chip->epoch));
      chip->epoch += count;
      HJCaptureCounts();
    } else {
      PetscCall(HJTileRun_CUDA(cuda, stream, s, &l->tile, NULL, l->tile.ntiles[0] * l->tile.ntiles[1] * l->tile.ntiles[2], count, w, true));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles do; bricks do where they hold all points of a star */
static bool HJOnChipWraps(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  return st->dim < 3 || st->storage != HJ_DICTIONARY || HJWrapsSlowest(device, grid, st) || HJOnChipBricksWrap(device, grid, st);
}

static int HJOnChipTakes(const HJDevice *device, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT ? HJOnChipMaxCount(device, ask->grid, ask->st) : 0;
}

const HJFamily HJFamilyOnChip = {
  .name           = "on chip",
  .takes          = HJOnChipTakes,
  .best_count     = HJOnChipBestCount,
  .launch         = HJOnChipLaunch,
  .layout         = HJOnChipLayoutCreate,
  .layout_destroy = HJOnChipLayoutDestroy,
  .destroy        = HJOnChipDestroy,
  .in_place       = HJOnChipInPlace,
  .wraps          = HJOnChipWraps,
  .ghosts         = true,
  .copies         = true,
  .small          = true,
};
