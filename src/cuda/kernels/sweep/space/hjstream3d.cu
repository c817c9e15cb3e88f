/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D exact streaming: which kernel takes a sweep, how sweeps are cut into columns of tiles, which planes of a column one set of
   coefficients serves, and how the planes are spread over the multiprocessors. All this is worked out once a geometry and kept;
   a launch then only passes pointers and weights. The kernels are in hjstream3d_*.cu.
*/
#include "hjstream3d.cuh"
#include "cuda/kernels/hjfamilies.h"
#include <vector>
#include <queue>
#include <algorithm>
#include <functional>
#include <initializer_list>

#define HJ3_MAX_LINE   (1 << 26) /* points: kernels count those of some lines in 32 bits */
#define HJ3_MAX_PLANE  (1 << 30) /* points, of a plane that wraps in y */
#define HJ3_WRAP_ROWS  16        /* a direction that wraps in y has at least so many points */
#define HJ3_MAX_PLANES 32768     /* of a piece: a launch has at most 65535 blocks in y */

#define HJ3_MAX_TURNED (1 << 28) /* points of a plane: kernels count some rows of planes in 32 bits */

typedef std::vector<HJ3Piece> HJ3Pieces;

/* Pieces of one kernel, spread over units: clusters of blocks, which share a tile */
typedef struct {
  const HJ3Kernel *kernel;
  int              depth, units, cluster;
  int              same;           /* distance from own up to which the coefficients matter */
  HJ3Piece        *piece;          /* device */
  int             *first;          /* device, [units + 1] */
  int              pieces, planes; /* number, most planes of one */
  unsigned char   *row_scan;       /* device, HJ3Args'; planes is then its number of planes */
} HJ3Part;

/* The families of this file that have kernels of their own beside the others' */
typedef enum { HJ3_ALL, HJ3_CLUSTERS, HJ3_SLABS } HJ3Family;

/* Layout of a launch */
typedef struct {
  const HJGeometry *geometry; /* in the cache, beside this */
  HJ3Family         family;
  int               row;   /* of the constant kernel */
  int               least; /* planes of a part of a column for which that kernel is worth it */
  HJ3Part           constant, table;
} HJ3Layout;

/*
   constant: for points whose neighbourhood has one row; NULL: table takes all. table NULL: no sweep of so many subiterations on this
   device
*/
typedef struct {
  const HJ3Kernel *constant, *table;
} HJ3Pair;

/* The first of some kernels, the quickest first, that a block of the device has shared memory for */
static const HJ3Kernel *HJ3First(const HJDevice *device, const HJDStencil *st, std::initializer_list<const HJ3Kernel *> kernels)
{
  for (const HJ3Kernel *k : kernels)
    if (k && k->smem_bytes + (size_t)k->row_bytes * (st->nrows + 1) <= device->smem_block) return k;
  return NULL;
}

static HJ3Pair HJ3ChooseStar(const HJDevice *device, const HJDStencil *st, int count, bool zero, bool wraps)
{
  const HJ3Kernel *one[2][4][2]  = {{{&HJ3KernelStar1}, {&HJ3KernelStar2}, {&HJ3KernelStar3}, {&HJ3KernelStar4, &HJ3KernelStar4Of32}},
                                    {{&HJ3KernelStar1Zero}, {&HJ3KernelStar1Zero}, {&HJ3KernelStar2Zero}, {&HJ3KernelStar3Zero}}};
  const HJ3Kernel *rows[2][4][2] = {{{&HJ3KernelTable1}, {&HJ3KernelTable2}, {&HJ3KernelTable3}, {&HJ3KernelTable4, &HJ3KernelTable4Of24}},
                                    {{&HJ3KernelTable1Zero}, {&HJ3KernelTable1Zero}, {&HJ3KernelTable2Zero}, {&HJ3KernelTable3Zero}}};
  HJ3Pair          k             = {NULL, NULL};

  if (count > 4) return k;
  if (wraps) { /* the others wrap as they are */
    one[0][2][0]  = &HJ3KernelStar3Wraps;
    one[0][3][0]  = &HJ3KernelStar4Wraps;
    one[0][3][1]  = &HJ3KernelStar4Of32Wraps;
    one[1][3][0]  = &HJ3KernelStar3ZeroWraps;
    rows[0][3][0] = &HJ3KernelTable4Wraps;
    rows[0][3][1] = &HJ3KernelTable4Of24Wraps;
  }
  k.table = HJ3First(device, st, {rows[zero][count - 1][0], rows[zero][count - 1][1]});
  /* several rows, by measurement on an H200: warps that march alone need no other kernel beside them */
  if (st->nrows == 1 || (k.table && !k.table->columns))
    k.constant = HJ3First(device, st, {one[zero][count - 1][0], one[zero][count - 1][1]});
  return k;
}

static HJ3Pair HJ3ChooseBox(const HJDevice *device, const HJDStencil *st, int count)
{
  HJ3Pair k = {NULL, NULL};

  if (count > 2) return k;
  k.constant = HJ3First(device, st, {&HJ3KernelBox});
  k.table    = HJ3First(device, st, {&HJ3KernelBoxTable, &HJ3KernelBoxTableOf16, &HJ3KernelBoxTableOf12});
  return k;
}

static HJ3Pair HJ3ChooseArrays(const HJDevice *device, const HJDStencil *st, int count, bool zero, bool clusters)
{
  const bool symmetric = st->storage == HJ_SYMMETRIC;
  HJ3Pair    k         = {NULL, NULL};

  if (clusters && device->clusters && count <= 3) k.table = HJ3First(device, st, {symmetric ? &HJ3KernelSymmetric : &HJ3KernelVariable});
  if (clusters && device->clusters && count == 4 && zero && symmetric) k.table = HJ3First(device, st, {&HJ3KernelSymmetricZero});
  if (!clusters && count <= 2) k.table = HJ3First(device, st, {symmetric ? &HJ3KernelSymmetric2 : &HJ3KernelVariable2});
  return k;
}

static HJ3Pair HJ3Choose(const HJDevice *device, const HJDStencil *st, int count, bool zero, bool clusters, bool wraps)
{
  if (st->storage != HJ_DICTIONARY) return HJ3ChooseArrays(device, st, count, zero, clusters);
  return st->shape == HJ_BOX ? HJ3ChooseBox(device, st, count) : HJ3ChooseStar(device, st, count, zero, wraps);
}

/* The deepest sweep that there are kernels for, from any guess */
static int HJ3Deepest(const HJDevice *device, const HJGrid *grid, const HJDStencil *st, bool clusters)
{
  int n = 0;

  if (HJBoxWidth(&grid->owned, 0) > HJ3_MAX_LINE) return 0;
  while (HJ3Choose(device, st, n + 1, false, clusters, false).table && HJ3Choose(device, st, n + 1, true, clusters, false).table) n++;
  return n;
}

static int HJ3MaxCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  /* the row after the last, of zeros, has a number of a byte too */
  return st->dim == 3 && st->storage == HJ_DICTIONARY && st->nrows < HJ_MAX_ROWS ? HJ3Deepest(device, grid, st, false) : 0;
}

/*
   Coefficients that are not arrays: the same kernels, or others that are as deep. The box's table kernel does not wrap. Threads count
   places in some lines, and in a plane, in 32 bits, and a warp's rows and columns meet only one of two ends
*/
static bool HJ3Wraps(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const PetscInt nx = HJBoxWidth(&grid->owned, 0), ny = HJBoxWidth(&grid->owned, 1);
  const int      most = HJ3MaxCount(device, grid, st);

  if (!most || (grid->periodic[0] && nx < HJ3_TX) || (grid->periodic[1] && (ny < HJ3_WRAP_ROWS || ny > HJ3_MAX_PLANE / nx))) return false;
  if (st->shape == HJ_BOX) return st->nrows == 1;
  for (int zero = 0; zero < 2; zero++) {
    const HJ3Pair k = HJ3Choose(device, st, most, zero, false, false), w = HJ3Choose(device, st, most, zero, false, true);

    if (!w.table || !w.constant != !k.constant) return false;
  }
  return true;
}

/*
   Passes of 2 are quicker where tiles are few for the multiprocessors, and on larger grids where rows differ (H200), and where deeper
   ones have no kernel for one row, which need not compute as much twice. With neighbours a pass costs an exchange, which takes as long as
   one over HJ3_EXCHANGE points
*/
static int HJ3BestCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const int        most      = HJ3MaxCount(device, grid, st);
  const PetscCount few       = st->nrows > 1 ? HJ3_SMALL_ROWS : HJ3_SMALL;
  const bool       exchanges = HJGridHasNeighbors(grid) && !(HJGridIsWrapped(grid) && HJ3Wraps(device, grid, st));

  if (st->shape != HJ_STAR || (exchanges && HJBoxSize(&grid->owned) < HJ3_EXCHANGE)) return most;
  return HJBoxSize(&grid->owned) < few || !HJ3Choose(device, st, most, false, false, false).constant ? PetscMin(most, HJ3_SMALL_BEST)
                                                                                                     : most;
}

static int HJ3LeastCount(const HJDevice *, const HJGrid *, const HJDStencil *st)
{
  return st->shape == HJ_STAR ? 1 : 2;
}

static int HJ3MaxCountClusters(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  return st->dim == 3 && st->storage != HJ_DICTIONARY && st->shape == HJ_STAR ? HJ3Deepest(device, grid, st, true) : 0;
}

static int HJ3MaxCountArrays(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  return st->dim == 3 && st->storage != HJ_DICTIONARY && st->shape == HJ_STAR ? HJ3Deepest(device, grid, st, false) : 0;
}

static void HJ3LayoutKernels(const HJ_CUDA *cuda, HJ3Layout *p)
{
  const HJDStencil *st       = &cuda->st;
  const HJGeometry *geometry = p->geometry;
  const HJ3Pair     pair     = HJ3Choose(&cuda->device, st, geometry->count, geometry->zero, p->family == HJ3_CLUSTERS, geometry->wraps);

  p->constant.kernel  = pair.constant;
  p->table.kernel     = geometry->leaves_residual ? &HJ3KernelSymmetricStart : pair.table;
  p->constant.cluster = p->table.cluster = 1;
  p->constant.depth = p->table.depth = geometry->count;
  if (st->storage == HJ_DICTIONARY && st->shape == HJ_STAR && geometry->zero) p->constant.depth = p->table.depth = geometry->count - 1;
  if (p->table.kernel == &HJ3KernelSymmetricZero) p->table.depth = geometry->count - 1;
  /* star: short pieces at the ends of columns cost more than the constant kernel gains */
  if (p->constant.kernel) p->least = st->shape == HJ_BOX ? 2 * (p->constant.depth + p->constant.kernel->levels) : HJ3_LEAST_PLANES;
  p->constant.same = geometry->count - 1; /* a zero guess starts from D^-1 b on the ring */
}

/*
   Start of the tile of the given width that begins with point own, and the end of what it owns; values within margin of own are computed
   too
*/
static void HJ3TileRange(int own, int end, int margin, int dlo, int dhi, int width, int *start, int *own_end)
{
  const int s = PetscMax(own - margin, dlo);

  *own_end = s + width >= dhi ? end : PetscMin(end, s + width - margin);
  *start   = s + width > dhi ? PetscMax(dlo, dhi - width) : s;
}

/* The sweep with y and z exchanged. Nothing is known of ghosts and copies, of which there are none */
static HJDSweep HJ3Turn(const HJDSweep &s)
{
  HJDSweep t = s;

  for (HJDBox *box : {&t.write, &t.box, &t.ybox, &t.domain}) {
    std::swap(box->lo[1], box->lo[2]);
    std::swap(box->hi[1], box->hi[2]);
  }
  t.home_lo = t.box.lo[2];
  t.home_hi = t.box.hi[2];
  return t;
}

/* Moves a tile up in y, to where no warp's rows meet an end that wraps, and shortens what it owns to what it then reaches */
static void HJ3AlignTile(const HJDSweep *s, const HJ3Part &part, HJ3Piece *q)
{
  const int ny = s->wrap[1], unit = part.kernel->aligned, height = part.kernel->rows * part.cluster, margin = PetscMax(part.depth - 1, 0);

  if (q->own_lo[1] < part.depth) { /* of the two ends it may meet one */
    q->own_hi[1] = PetscMin(q->own_hi[1], ny - part.depth);
    q->y         = -(unit - 1 - q->y) / unit * unit;
  } else if (q->own_hi[1] + part.depth > ny) {
    q->y = ny - (ny - q->y + unit - 1) / unit * unit;
  }
  q->own_hi[1] = PetscMin(q->own_hi[1], q->y + height - margin);
}

/* Columns of tiles of one kernel over the points and planes of a piece */
static void HJ3CutColumns(const HJDSweep *s, const HJ3Piece &all, const HJ3Part &part, HJ3Pieces &out)
{
  const int margin = part.kernel->columns ? 0 : PetscMax(part.depth - 1, 0), width = part.kernel->width ? part.kernel->width : HJ3_TX,
            columns = part.kernel->columns ? part.kernel->columns : width;
  HJ3Piece q        = all;

  for (q.own_lo[1] = all.own_lo[1]; q.own_lo[1] < all.own_hi[1]; q.own_lo[1] = q.own_hi[1]) {
    HJ3TileRange(q.own_lo[1], all.own_hi[1], margin, s->domain.lo[1], s->domain.hi[1], part.kernel->rows * part.cluster, &q.y,
                 &q.own_hi[1]);
    if (part.kernel->aligned && s->wrap[1]) HJ3AlignTile(s, part, &q);
    for (q.own_lo[0] = all.own_lo[0]; q.own_lo[0] < all.own_hi[0]; q.own_lo[0] = q.own_hi[0]) {
      HJ3TileRange(q.own_lo[0], all.own_hi[0], margin, s->domain.lo[0], s->domain.hi[0], columns, &q.x, &q.own_hi[0]);
      out.push_back(q);
    }
  }
}

/* All that a sweep writes, in pieces of at most HJ3_MAX_PLANES planes */
static HJ3Pieces HJ3SweepPieces(const HJDSweep *s, int i)
{
  HJ3Pieces out;
  HJ3Piece  q;

  q.sweep = i;
  q.x = q.y = 0;
  for (int d = 0; d < 2; d++) {
    q.own_lo[d] = s->write.lo[d];
    q.own_hi[d] = s->write.hi[d];
  }
  for (q.z0 = s->write.lo[2]; q.z0 < s->write.hi[2]; q.z0 = q.z1) {
    q.z1 = PetscMin(q.z0 + HJ3_MAX_PLANES, s->write.hi[2]);
    out.push_back(q);
  }
  return out;
}

/* Planes within margin of a piece, cut at the domain */
static int2 HJ3PlanesOf(const HJDSweep *s, const HJ3Piece &q, int margin)
{
  return make_int2(PetscMax(q.z0 - margin, s->domain.lo[2]), PetscMin(q.z1 + margin, s->domain.hi[2]));
}

/* The row that all points of a plane of a column use, or -1; one block a plane */
static __global__ void HJ3PlaneRows_Kernel(const __grid_constant__ HJ3Args g, int stride, short *rows)
{
  const HJ3Piece  q      = g.piece[blockIdx.x];
  const HJDSweep &s      = g.sweep[q.sweep];
  const int       margin = g.depth, z = max(q.z0 - margin, s.domain.lo[2]) + blockIdx.y;
  const int2      rx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], margin), ry = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], margin);
  const int       w = rx.y - rx.x;
  bool same = z < min(q.z1 + margin, s.domain.hi[2]) && HJDInside(g.sbox, rx.x, ry.x, z) && HJDInside(g.sbox, rx.y - 1, ry.y - 1, z);
  int  row  = -1;

  if (same) {
    row = g.index[HJDIndex(g.sbox, rx.x, ry.x, z)];
    for (int i = threadIdx.x; i < w * (ry.y - ry.x); i += blockDim.x)
      same = same && g.index[HJDIndex(g.sbox, rx.x + i % w, ry.x + i / w, z)] == row;
  }
  same = __syncthreads_and(same);
  if (threadIdx.x == 0) rows[(long long)blockIdx.x * stride + blockIdx.y] = same ? row : -1;
}

static void HJ3SetArgs(const HJ_CUDA *cuda, int nsweeps, const HJDSweep *s, bool turned, HJ3Args *g)
{
  const HJDStencil *st = &cuda->st;

  memset(g, 0, sizeof(*g));
  for (int i = 0; i < nsweeps; i++) g->sweep[i] = turned ? HJ3Turn(s[i]) : s[i];
  g->nrows     = st->nrows;
  g->sbox      = st->box;
  g->rows      = st->rows;
  g->dinv_rows = st->dinv_rows;
  g->index     = st->index;
  g->dinv      = st->dinv;
  for (int o = 0; o < 6; o++) g->value[o] = st->value[o];
}

/* Row of every plane that the columns compute, [column][stride]. Waits for the device: only the first time that a geometry is seen */
static PetscErrorCode HJ3PlaneRows(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJ3Layout *p, const HJ3Pieces &columns,
                                   int stride, std::vector<short> &rows)
{
  HJ3Args   g;
  HJ3Piece *d_piece;
  short    *d_rows;

  PetscFunctionBegin;
  rows.assign(columns.size() * stride, 0);
  if (cuda->st.nrows == 1) PetscFunctionReturn(PETSC_SUCCESS);
  HJ3SetArgs(cuda, p->geometry->nsweeps, s, false, &g);
  PetscCall(HJAlloc(columns.size() * sizeof(HJ3Piece), (void **)&d_piece));
  PetscCall(HJAlloc(rows.size() * sizeof(short), (void **)&d_rows));
  PetscCallCUDA(cudaMemcpyAsync(d_piece, columns.data(), columns.size() * sizeof(HJ3Piece), cudaMemcpyHostToDevice, stream));
  g.piece = d_piece;
  g.depth = p->constant.same;
  HJ3PlaneRows_Kernel<<<dim3((unsigned)columns.size(), stride), 256, 0, stream>>>(g, stride, d_rows);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(rows.data(), d_rows, rows.size() * sizeof(short), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(d_piece));
  PetscCallCUDA(cudaFree(d_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJ3CommonRow(const std::vector<short> &rows)
{
  int n[HJ_MAX_ROWS] = {0}, best = 0;

  for (short r : rows)
    if (r >= 0) n[r]++;
  for (int r = 0; r < HJ_MAX_ROWS; r++)
    if (n[r] > n[best]) best = r;
  return best;
}

/* Cuts a column where the planes that its values depend on stop, or start, to use the one row */
static void HJ3SplitColumn(const HJDSweep *s, const HJ3Layout *p, const HJ3Piece &q, const short *rows, HJ3Pieces &constant,
                           HJ3Pieces &table)
{
  const int  least = p->least, margin = p->constant.same;
  const int2 planes = HJ3PlanesOf(s, q, margin);
  const bool fits   = p->constant.kernel->columns || (q.x + HJ3_TX <= s->domain.hi[0] && q.y + p->constant.kernel->rows <= s->domain.hi[1]);
  auto       same   = [&](int z) {
    for (int i = PetscMax(z - margin, planes.x); i < PetscMin(z + margin + 1, planes.y); i++)
      if (rows[i - planes.x] != p->row) return false;
    return fits;
  };

  for (HJ3Piece c = q; c.z0 < q.z1; c.z0 = c.z1) {
    bool one = same(c.z0);

    for (c.z1 = c.z0 + 1; c.z1 < q.z1 && same(c.z1) == one;) c.z1++;
    if (one && c.z1 - c.z0 < least && c.z1 - c.z0 < q.z1 - q.z0) one = false;
    if (!one && !table.empty() && table.back().z1 == c.z0 && table.back().z0 >= q.z0 && table.back().x == q.x && table.back().y == q.y &&
        table.back().sweep == q.sweep)
      table.back().z1 = c.z1;
    else (one ? constant : table).push_back(c);
  }
}

/* Gives blocks at most budget planes' time each; returns the number of blocks. Filling and draining of a piece costs fill planes */
static int HJ3Fill(const HJ3Pieces &in, size_t from, int budget, int fill, int blocks, std::vector<HJ3Pieces> *out)
{
  int b = 0, left = budget;

  for (size_t i = from; i < in.size(); i++) {
    for (HJ3Piece c = in[i]; c.z0 < in[i].z1; c.z0 = c.z1) {
      if (left < fill + PetscMin(in[i].z1 - c.z0, fill) && left < budget) {
        b++;
        left = budget;
      }
      c.z1 = PetscMin(in[i].z1, c.z0 + PetscMax(left - fill, 1));
      left -= c.z1 - c.z0 + fill;
      if (out) (*out)[PetscMin(b, blocks - 1)].push_back(c);
    }
  }
  return b + 1;
}

/*
   Cuts all pieces into parts of at most height planes, so that blocks run side by side in the same planes; returns the planes' time of
   the slowest block
*/
static int HJ3Layers(const HJ3Pieces &in, size_t from, int height, int fill, int blocks, std::vector<HJ3Pieces> *out)
{
  typedef std::pair<int, int>                                      Load; /* of a block */
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  int                                                              most = 0;

  for (int b = 0; b < blocks; b++) loads.push(Load(0, b));
  for (int k = 0, more = 1; more; k++) {
    more = 0;
    for (size_t i = from; i < in.size(); i++) {
      const long long h = in[i].z1 - in[i].z0, n = (h + height - 1) / height;
      HJ3Piece        c  = in[i];
      Load            to = loads.top();

      if (k >= n) continue;
      more = 1;
      c.z0 = in[i].z0 + (int)(h * k / n);
      c.z1 = in[i].z0 + (int)(h * (k + 1) / n);
      if (out) (*out)[to.second].push_back(c);
      to.first += c.z1 - c.z0 + fill;
      most = PetscMax(most, to.first);
      loads.pop();
      loads.push(to);
    }
  }
  return most;
}

/* Parts that layers of a height have */
static long long HJ3LayerParts(const HJ3Pieces &in, size_t from, int height)
{
  long long n = 0;

  for (size_t i = from; i < in.size(); i++) n += (in[i].z1 - in[i].z0 + height - 1) / height;
  return n;
}

/*
   Whole columns in full waves first, so that neighbours run side by side and share what the caches hold; the rest in layers, or cut where
   each block's share ends if that is quicker, where layers matter: by far. Filling and draining of a piece costs fill planes
*/
static void HJ3Spread(HJ3Pieces &in, int blocks, int fill, bool layers, std::vector<HJ3Pieces> &out)
{
  size_t    full   = 0;
  long long planes = 0;
  int       budget, best = INT_MAX, height = 0;

  out.assign(blocks, HJ3Pieces());
  std::stable_sort(in.begin(), in.end(), [](const HJ3Piece &a, const HJ3Piece &b) { return a.z1 - a.z0 > b.z1 - b.z0; });
  while (full < in.size() && in[full].z1 - in[full].z0 == in[0].z1 - in[0].z0) full++;
  full -= full % blocks;
  for (size_t i = 0; i < full; i++) out[i % blocks].push_back(in[i]);
  if (full == in.size()) return;
  for (size_t i = full; i < in.size(); i++) planes += in[i].z1 - in[i].z0;
  /* lower layers have more to fill: none is quicker once filling alone makes them as slow as the best, even if all blocks end together */
  for (int k = 1, h = in[full].z1 - in[full].z0, last = 0; k == 1 || h / k >= fill; k++) {
    const int layer = (h + k - 1) / k;
    int       time;

    if (layer == last) continue;
    last = layer;
    if (planes + (long long)fill * HJ3LayerParts(in, full, layer) >= (long long)best * blocks) break;
    time = HJ3Layers(in, full, layer, fill, blocks, NULL);
    if (time >= best) continue;
    best   = time;
    height = layer;
  }
  const long long cost = planes + (long long)fill * (long long)(in.size() - full);
  for (budget = PetscMax((int)(cost / blocks), 3 * fill); HJ3Fill(in, full, budget, fill, blocks, NULL) > blocks; budget++) {}
  if (best <= (layers ? budget * 6 / 5 : budget)) HJ3Layers(in, full, height, fill, blocks, &out);
  else HJ3Fill(in, full, budget, fill, blocks, &out);
}

/*
   A block a piece where tiles are small: columns in layers, which blocks take from the first on, so that they stay near each other and
   share what the caches hold. Whole waves of blocks, and low layers, in which no block gets far ahead
*/
static void HJ3SpreadInLayers(const HJ3Pieces &in, int blocks, int fill, std::vector<HJ3Pieces> &out)
{
  int    tallest = 0, height = 1, pieces = 0;
  double best = PETSC_MAX_REAL;

  for (const HJ3Piece &q : in) tallest = PetscMax(tallest, q.z1 - q.z0);
  for (int k = 1, h = tallest; k == 1 || h >= fill; k++, h = (tallest + k - 1) / k) {
    long long n = 0;

    for (const HJ3Piece &q : in) n += (q.z1 - q.z0 + h - 1) / h;
    const double time = (double)((n + blocks - 1) / blocks) * (h + fill) * (1 + h / HJ3_DRIFT);
    if (time >= best) continue;
    best   = time;
    height = h;
    pieces = (int)n;
  }
  out.assign(pieces, HJ3Pieces());
  HJ3Layers(in, 0, height, fill, pieces, &out);
}

/* A few long columns: all cut into as many parts as fill whole waves of blocks. Returns the planes' time of the slowest block */
static int HJ3SpreadEvenly(const HJ3Pieces &in, int blocks, int fill, std::vector<HJ3Pieces> &out)
{
  const int n       = (int)in.size();
  int       tallest = 0, height = 0, best = INT_MAX;

  for (const HJ3Piece &q : in) tallest = PetscMax(tallest, q.z1 - q.z0);
  for (int waves = 1; waves <= HJ3_WAVES; waves++) {
    const int parts = PetscMax(waves * blocks / n, 1), h = (tallest + parts - 1) / parts,
              time = (n * parts + blocks - 1) / blocks * (h + fill);

    if (time >= best) continue;
    best   = time;
    height = h;
  }
  out.assign(blocks, HJ3Pieces());
  return HJ3Layers(in, 0, height, fill, blocks, &out);
}

/* Which blocks do which pieces of columns; returns the planes' time of the slowest */
static int HJ3SpreadPart(const HJ_CUDA *cuda, HJ3Pieces &in, const HJ3Part *part, std::vector<HJ3Pieces> &blocks)
{
  const HJ3Kernel *k   = part->kernel;
  const int        nsm = cuda->device.nsm, slots = nsm * PetscMax(k->blocks, 1), fill = k->levels + part->depth;
  int              most = 0;

  if (k->columns) HJ3SpreadInLayers(in, nsm * k->blocks, 4 + 2 * k->levels, blocks);
  else if (k->turned) HJ3SpreadEvenly(in, nsm, fill, blocks);
  else HJ3Spread(in, part->cluster == 1 ? slots : PetscMin(k->clusters(part->cluster), slots / part->cluster), fill, !k->clusters, blocks);
  for (const HJ3Pieces &b : blocks) {
    int time = 0;

    for (const HJ3Piece &q : b) time += q.z1 - q.z0 + fill;
    most = PetscMax(most, time);
  }
  return most;
}

static PetscErrorCode HJ3PartCreate(const HJ_CUDA *cuda, cudaStream_t stream, HJ3Pieces &in, HJ3Part *part)
{
  std::vector<HJ3Pieces> blocks;
  HJ3Pieces              piece;
  std::vector<int>       first(1, 0);

  PetscFunctionBegin;
  part->units    = 0;
  part->piece    = NULL;
  part->first    = NULL;
  part->row_scan = NULL;
  part->planes   = 0;
  if (in.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  (void)HJ3SpreadPart(cuda, in, part, blocks);
  for (const HJ3Pieces &b : blocks) {
    if (b.empty()) continue;
    piece.insert(piece.end(), b.begin(), b.end());
    first.push_back((int)piece.size());
    part->units++;
  }
  part->pieces = (int)piece.size();
  for (const HJ3Piece &q : piece) part->planes = PetscMax(part->planes, q.z1 - q.z0);
  PetscCall(HJAlloc(piece.size() * sizeof(HJ3Piece), (void **)&part->piece));
  PetscCall(HJAlloc(first.size() * sizeof(int), (void **)&part->first));
  PetscCallCUDA(cudaMemcpyAsync(part->piece, piece.data(), piece.size() * sizeof(HJ3Piece), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(part->first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host arrays end here */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJ3PartScanRows(const HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJ3Layout *p, HJ3Part *part)
{
  HJ3Args g;

  PetscFunctionBegin;
  if (!part->units || !part->kernel->scan_rows) PetscFunctionReturn(PETSC_SUCCESS);
  HJ3SetArgs(cuda, p->geometry->nsweeps, s, false, &g);
  part->planes += 2 * part->kernel->levels + 4;
  g.piece  = part->piece;
  g.depth  = part->depth;
  g.planes = part->planes;
  PetscCall(part->kernel->scan_rows(stream, part->pieces, &g, p->row, &part->row_scan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pieces of columns that lie side by side in direction d become one: the table kernel's tiles have another size */
static void HJ3JoinColumns(HJ3Pieces &pieces, int d)
{
  HJ3Pieces out;

  for (const HJ3Piece &q : pieces) {
    auto before = std::find_if(out.begin(), out.end(), [&](const HJ3Piece &p) {
      return p.sweep == q.sweep && p.own_lo[!d] == q.own_lo[!d] && p.own_hi[!d] == q.own_hi[!d] && p.own_hi[d] == q.own_lo[d] &&
             p.z0 == q.z0 && p.z1 == q.z1;
    });

    if (before == out.end()) out.push_back(q);
    else before->own_hi[d] = q.own_hi[d];
  }
  pieces.swap(out);
}

/* So many blocks share a tile that all end soonest */
static void HJ3SetCluster(const HJ_CUDA *cuda, const HJDSweep *s, int nsweeps, HJ3Part *part)
{
  const HJ3Kernel *k    = part->kernel;
  int              best = INT_MAX, rows = 1;
  HJ3Part          part1 = *part;

  if (!k->clusters) return;
  for (int i = 0; i < nsweeps; i++) rows = PetscMax(rows, HJDWidth(s[i].write, 1));
  for (part1.cluster = 1; k->rows * (part1.cluster - 1) < rows && k->clusters(part1.cluster); part1.cluster++) {
    HJ3Pieces              columns;
    std::vector<HJ3Pieces> blocks;
    int                    time;

    for (int i = 0; i < nsweeps; i++) {
      for (const HJ3Piece &all : HJ3SweepPieces(&s[i], i)) HJ3CutColumns(&s[i], all, part1, columns);
    }
    time = HJ3SpreadPart(cuda, columns, &part1, blocks);
    if (time >= best) continue;
    best          = time;
    part->cluster = part1.cluster;
  }
}

/* The time of a thin sweep with a kernel, in what a row of points of a plane takes; -1: not on this device or domain */
static long long HJ3ThinTime(const HJ_CUDA *cuda, const HJDSweep *s, const HJ3Kernel *kernel, int depth)
{
  const HJDSweep         t    = kernel->turned ? HJ3Turn(*s) : *s;
  HJ3Part                part = {};
  HJ3Pieces              columns;
  std::vector<HJ3Pieces> blocks;

  if (HJDWidth(t.domain, 0) < HJ3_TX || HJDWidth(t.domain, 1) < kernel->rows) return -1;
  if (kernel->smem_bytes > cuda->device.smem_block) return -1;
  part.kernel  = kernel;
  part.depth   = depth;
  part.cluster = 1;
  for (const HJ3Piece &all : HJ3SweepPieces(&t, 0)) HJ3CutColumns(&t, all, part, columns);
  return (long long)(kernel->rows + HJ3_STEP) * HJ3SpreadPart(cuda, columns, &part, blocks);
}

/*
   Streaming fills and drains for each column, which for a slab of few planes takes as long as the slab itself. Then columns along y are
   long, and one tile is as high as the slab. Takes what is quickest
*/
static void HJ3TurnIfThin(const HJ_CUDA *cuda, const HJDSweep *s, HJ3Layout *p)
{
  const HJ3Kernel *const three[] = {&HJ3KernelTurned3, NULL};
  const HJ3Kernel *const four[] =
    {&HJ3KernelTurned40, &HJ3KernelTurned35, &HJ3KernelTurned30, &HJ3KernelTurned25, &HJ3KernelTurned20, &HJ3KernelTurned15, NULL};
  const int depth = p->constant.depth;
  long long best;

  if (p->family != HJ3_SLABS || p->geometry->nsweeps != 1 || p->geometry->zero || p->geometry->count < 3) return;
  if (p->geometry->wraps) return; /* those kernels do not */
  if ((long long)HJDWidth(s->box, 0) * HJDWidth(s->box, 1) > HJ3_MAX_TURNED || !p->constant.kernel) return;
  best = HJ3ThinTime(cuda, s, p->constant.kernel, depth);
  for (const HJ3Kernel *const *k = p->geometry->count == 4 ? four : three; *k; k++) {
    const long long time = HJ3ThinTime(cuda, s, *k, depth);

    if (time < 0 || time >= best) continue;
    best               = time;
    p->constant.kernel = *k;
  }
}

static bool HJ3IsTurned(const HJ3Layout *p)
{
  return p->constant.kernel && p->constant.kernel->turned;
}

static PetscErrorCode HJ3LayoutFill(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *sweeps, HJ3Layout *p)
{
  HJDSweep           s[HJD_MAX_SWEEPS];
  HJ3Pieces          columns, constant, table, wide;
  std::vector<short> rows;
  int                stride = 1;

  PetscFunctionBegin;
  HJ3LayoutKernels(cuda, p);
  HJ3SetCluster(cuda, sweeps, p->geometry->nsweeps, &p->table);
  HJ3TurnIfThin(cuda, sweeps, p);
  for (int i = 0; i < p->geometry->nsweeps; i++) s[i] = HJ3IsTurned(p) ? HJ3Turn(sweeps[i]) : sweeps[i];
  for (int i = 0; i < p->geometry->nsweeps; i++) {
    for (const HJ3Piece &all : HJ3SweepPieces(&s[i], i)) HJ3CutColumns(&s[i], all, p->constant.kernel ? p->constant : p->table, columns);
  }
  if (p->constant.kernel) {
    for (const HJ3Piece &q : columns) {
      const int2 z = HJ3PlanesOf(&s[q.sweep], q, p->constant.same);

      stride = PetscMax(stride, z.y - z.x);
    }
    PetscCall(HJ3PlaneRows(cuda, stream, s, p, columns, stride, rows));
    p->row = HJ3CommonRow(rows);
    for (size_t i = 0; i < columns.size(); i++) HJ3SplitColumn(&s[columns[i].sweep], p, columns[i], &rows[i * stride], constant, wide);
    for (int d : {1, 0}) HJ3JoinColumns(wide, d);
    for (const HJ3Piece &q : wide) HJ3CutColumns(&s[q.sweep], q, p->table, table);
  } else {
    p->row = cuda->main_row;
    table  = columns;
  }
  PetscCall(HJ3PartCreate(cuda, stream, constant, &p->constant));
  PetscCall(HJ3PartCreate(cuda, stream, table, &p->table));
  PetscCall(HJ3PartScanRows(cuda, stream, s, p, &p->table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <HJ3Family FAMILY>
static PetscErrorCode HJ3LayoutCreate(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJGeometry *geometry, void **layout)
{
  HJ3Layout *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *layout     = p;
  p->geometry = geometry;
  p->family   = FAMILY;
  PetscCall(HJ3LayoutFill(cuda, stream, s, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJ3LayoutDestroy(void *layout)
{
  HJ3Layout *p = (HJ3Layout *)layout;

  PetscFunctionBegin;
  for (const HJ3Part *part : {&p->constant, &p->table}) {
    PetscCallCUDA(cudaFree(part->piece));
    PetscCallCUDA(cudaFree(part->first));
    PetscCallCUDA(cudaFree(part->row_scan));
  }
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Level j's coefficients: c times the row plus a on the diagonal, where c has the weight of the level before; the last level's sum is y:
   weight and share of the level before included. Zero guess, with D^-1 in level 0 where the kernel takes one row. Four levels: see
   hjstream3d.cuh
*/
static void HJ3StarCoefficients(const HJDStencil *st, const HJ3Layout *p, const HJ3Kernel *kernel, const PetscReal *w, HJ3Star *k)
{
  const PetscScalar *row = st->h_rows + 7 * p->row, dinv = st->h_dinv_rows[p->row];
  const int          L = kernel->levels, z       = p->geometry->zero;
  PetscScalar        t[7], u[HJ3_MAX_LEVELS + 1] = {0}; /* u[j]: weight that makes f_{j+1} from f_j, j > 0 or zero guess */

  for (int o = 0; o < 7; o++) t[o] = row[!kernel->turned || o < 3 ? o : o < 5 ? o + 2 : o - 2];

  for (int j = 0; j < p->geometry->count; j++) u[j + 1 - z] = w[j];
  for (int j = 0; j < L; j++) {
    const PetscScalar last = j == L - 1 ? u[L] : 1, share = j || z ? u[j] : 1, scale = j || !z || kernel->scan_rows ? 1 : dinv;
    PetscScalar       a = j || z, c = share;

    if (L == 4 && j < 2) {
      a = !j;
      c = j ? 1 : w[0];
    }
    k->s[j] = share * scale;
    k->m[j] = -c * last;
    k->a[j] = a * last + (j == L - 1 ? share : 0);
    for (int o = 0; o < 7; o++) k->c[j][o] = k->m[j] * scale * t[o];
    k->c[j][0] += k->a[j] * scale;
  }
  k->b[0] = L == 4 || L == 1 ? w[0] * dinv : dinv;
  k->b[1] = dinv;
  k->dinv = dinv;
  k->row  = p->row;
}

/* Two levels: f_1 = D^-1 b - T x, then y's share of f_1 and f_2 */
static void HJ3BoxCoefficients(const HJDStencil *st, const HJ3Layout *p, const PetscReal *w, HJ3Box *k)
{
  const PetscScalar *t = st->h_rows + 27 * p->row, w1 = p->geometry->count > 1 ? w[1] : 0;

  for (int o = 0; o < 27; o++) {
    const PetscScalar v = t[o == 13 ? 0 : o < 13 ? o + 1 : o];

    k->c[0][o] = -v;
    k->c[1][o] = -w[0] * w1 * v;
  }
  k->c[1][13] += w[0] + w1;
  k->b = st->h_dinv_rows[p->row];
}

static PetscErrorCode HJ3Launch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJ3Layout *p = (const HJ3Layout *)layout;
  const PetscReal *w = pass->w;
  HJ3Args          g;
  union {
    HJ3Star star;
    HJ3Box  box;
  } k;

  PetscFunctionBegin;
  HJ3SetArgs(cuda, pass->nsweeps, pass->sweep, HJ3IsTurned(p), &g);
  for (int j = 0; j < pass->count; j++) g.w[j] = w[j];
  g.residual = pass->residual;
  g.share    = 1 / w[0] - 1;
  memset(&k, 0, sizeof(k));
  for (const HJ3Part *part : {&p->constant, &p->table}) {
    if (!part->units) continue;
    if (cuda->st.storage == HJ_DICTIONARY && cuda->st.shape == HJ_STAR) HJ3StarCoefficients(&cuda->st, p, part->kernel, w, &k.star);
    else if (cuda->st.storage == HJ_DICTIONARY) HJ3BoxCoefficients(&cuda->st, p, w, &k.box);
    g.piece    = part->piece;
    g.first    = part->first;
    g.depth    = part->depth;
    g.cluster  = part->cluster;
    g.row_scan = part->row_scan;
    g.planes   = part->planes;
    PetscCallCUDA(part->kernel->launch(stream, part->units * part->cluster, &g, &k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJ3Takes(const HJDevice *device, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT ? HJ3MaxCount(device, ask->grid, ask->st) : 0;
}

/* The others lay a launch out by the index, or by where an array lies, which are others for each slab */
static int HJ3TakesSlabs(const HJDevice *device, const HJAsk *ask)
{
  return ask->kind == HJ_SLAB && ask->st->nrows == 1 ? HJ3MaxCount(device, ask->grid, ask->st) : 0;
}

static int HJ3TakesArrays(const HJDevice *device, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT ? HJ3MaxCountArrays(device, ask->grid, ask->st) : 0;
}

static int HJ3TakesClusters(const HJDevice *device, const HJAsk *ask)
{
  const HJDStencil *st   = ask->st;
  const int         most = HJ3KernelSymmetricZero.levels + 1;

  switch (ask->kind) {
  case HJ_EXACT:
    return HJ3MaxCountClusters(device, ask->grid, st);
  case HJ_FROM_ZERO:
    return HJ3Choose(device, st, most, true, true, false).table ? most : 0;
  case HJ_LEAVES_RESIDUAL:
    return st->storage == HJ_SYMMETRIC && ask->count == 3 && HJ3KernelSymmetricStart.smem_bytes <= device->smem_block;
  default:
    return 0;
  }
}

const HJFamily HJFamilyStream3D = {
  .name           = "3D stream",
  .takes          = HJ3Takes,
  .best_count     = HJ3BestCount,
  .launch         = HJ3Launch,
  .layout         = HJ3LayoutCreate<HJ3_ALL>,
  .layout_destroy = HJ3LayoutDestroy,
  .least_count    = HJ3LeastCount,
  .wraps          = HJ3Wraps,
  .ghosts         = true,
  .copies         = true,
  .placed         = true,
};
/* For slabs that are thin in z, each whole in one array; no ghosts, no copies */
const HJFamily HJFamilyStream3DSlabs = {
  .name           = "3D stream of slabs",
  .takes          = HJ3TakesSlabs,
  .best_count     = HJ3BestCount,
  .launch         = HJ3Launch,
  .layout         = HJ3LayoutCreate<HJ3_SLABS>,
  .layout_destroy = HJ3LayoutDestroy,
  .least_count    = HJ3LeastCount,
  .wraps          = HJ3Wraps,
};
/* Coefficient arrays come by bulk copies, and x and b with them, each from one array: no ghosts */
const HJFamily HJFamilyStream3DClusters = {
  .name           = "3D stream of coefficient arrays in clusters",
  .takes          = HJ3TakesClusters,
  .best_count     = HJ3MaxCountClusters,
  .launch         = HJ3Launch,
  .layout         = HJ3LayoutCreate<HJ3_CLUSTERS>,
  .layout_destroy = HJ3LayoutDestroy,
  .only_beside    = true,
};
const HJFamily HJFamilyStream3DArrays = {
  .name           = "3D stream of coefficient arrays",
  .takes          = HJ3TakesArrays,
  .best_count     = HJ3MaxCountArrays,
  .launch         = HJ3Launch,
  .layout         = HJ3LayoutCreate<HJ3_ALL>,
  .layout_destroy = HJ3LayoutDestroy,
  .wraps          = HJWrapsSlowest,
  .ghosts         = true,
  .copies         = true,
};
