/* ranks: 1 2 4 7 */
/*
   Stencils read from matrices against the matrices themselves: products, ghost coefficients, storage, refresh, reasons.
   Where there is a device: the same matrix read there, to the bit.
   With -time: set-up against filling and assembling the same matrix, on standard error (-time_repeat n, -time_n2 n, -time_n3 n).
*/
#include "hjtest.h"
#include "pchjacobi.h"
#include "core/hjmultigrid.h"
#include "stencil/hjstencil.h"
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  #include "core/hjreader.h"
  #include "cuda/backend/hjcuda.h"
#endif

typedef enum {
  CONSTANT, /* Poisson, boundary points eliminated */
  IDENTITY, /* rows of the boundary are those of the identity, columns that lead there stay */
  DROPPED,  /* the same, columns that lead there are dropped */
  NEUMANN,  /* diagonal is minus the sum of the others, plus 1 */
  CONVECT,  /* constant, unsymmetric */
  JUMP,     /* two materials in points: few rows, unsymmetric */
  EDGES,    /* a value for each edge: symmetric, all rows differ */
  POINTS    /* a value for each entry: unsymmetric, all rows differ */
} Kind;

typedef struct {
  const char    *name;
  PetscInt       dim, N[3];
  DMBoundaryType boundary[3];
  PetscBool      box; /* couplings with all 3^dim - 1 neighbours, else star */
  Kind           kind;
  PetscInt       pad;
  HJStorage      storage;
  PetscInt       nrows;
} Case;

static PetscReal Noise(PetscInt seed)
{
  uint64_t h = (uint64_t)seed * 0x9E3779B97F4A7C15u + 12345;

  h ^= h >> 31;
  h *= 0xBF58476D1CE4E5B9u;
  h ^= h >> 29;
  return 1.0 + (PetscReal)(h >> 12) / (PetscReal)((uint64_t)1 << 52);
}

static PetscErrorCode CreateDM(const Case *c, PetscInt dof, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, c->N[0], c->N[1], c->N[2]));
  PetscCall(DMDASetBoundaryType(*da, c->boundary[0], c->boundary[1], c->boundary[2]));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilType(*da, c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Natural number of a point, periodic images folded */
static PetscInt Natural(const Case *c, const PetscInt p[3])
{
  PetscInt q[3];

  for (int d = 0; d < 3; d++) q[d] = (p[d] + c->N[d]) % c->N[d];
  return (q[2] * c->N[1] + q[1]) * c->N[0] + q[0];
}

static PetscBool OnBoundary(const Case *c, const PetscInt p[3])
{
  for (int d = 0; d < c->dim; d++) {
    if (c->boundary[d] != DM_BOUNDARY_PERIODIC && (p[d] <= 0 || p[d] >= c->N[d] - 1)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Entry of point p that leads to q; 0: there is none */
static PetscScalar Entry(const Case *c, const PetscInt p[3], const PetscInt q[3])
{
  const PetscInt a = Natural(c, p), b = Natural(c, q), n = c->N[0] * c->N[1] * c->N[2];
  PetscInt       axis = 0;

  for (int d = 0; d < 3; d++) axis += PetscAbsInt(p[d] - q[d]) * (d + 1) + (p[d] != q[d] ? 4 : 0);
  switch (c->kind) {
  case IDENTITY:
    return OnBoundary(c, p) ? 0.0 : -1.0;
  case DROPPED:
    return OnBoundary(c, p) || OnBoundary(c, q) ? 0.0 : -1.0;
  case CONVECT:
    return q[0] > p[0] ? -0.75 : -1.25;
  case JUMP:
    return p[0] > c->N[0] / 2 ? -1000.0 : -0.3;
  case EDGES:
    return -Noise((PetscMin(a, b) * n + PetscMax(a, b)) * 16 + axis);
  case POINTS:
    return -Noise((a * n + b) * 16 + axis + (q[0] > p[0]) + 2 * (q[1] > p[1]));
  default:
    return -1.0;
  }
}

static PetscErrorCode SetRow(const Case *c, Mat A, const PetscInt p[3])
{
  MatStencil     row = {.i = p[0], .j = p[1], .k = p[2]}, col[27];
  PetscScalar    v[27], sum = 0.0;
  const HJShape  shape = c->box ? HJ_BOX : HJ_STAR;
  const PetscInt nn    = HJShapeSlots(c->dim, shape) - 1;
  PetscInt       n     = 0;

  PetscFunctionBegin;
  for (PetscInt o = 1; o <= nn; o++) {
    PetscInt  off[3], q[3];
    PetscBool inside = PETSC_TRUE;

    HJShapeOffset(c->dim, shape, o, off);
    for (int d = 0; d < 3; d++) {
      q[d] = p[d] + off[d];
      if ((q[d] < 0 || q[d] >= c->N[d]) && c->boundary[d] != DM_BOUNDARY_PERIODIC && c->boundary[d] != DM_BOUNDARY_MIRROR)
        inside = PETSC_FALSE;
    }
    if (!inside || Entry(c, p, q) == 0.0) continue;
    col[n] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]};
    v[n]   = Entry(c, p, q);
    sum += v[n++];
  }
  col[n] = row;
  v[n++] = c->kind == NEUMANN                                                ? 1.0 - sum
           : c->kind == EDGES || c->kind == POINTS                           ? 2.0 * nn + Noise(Natural(c, p))
           : OnBoundary(c, p) && (c->kind == IDENTITY || c->kind == DROPPED) ? 1.0
           : c->kind == JUMP                                                 ? -nn * (p[0] > c->N[0] / 2 ? -1000.0 : -0.3)
                                                                             : nn;
  PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillMat(const Case *c, DM da, Mat A)
{
  PetscInt s[3], n[3], p[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  for (p[2] = s[2]; p[2] < s[2] + n[2]; p[2]++) {
    for (p[1] = s[1]; p[1] < s[1] + n[1]; p[1]++) {
      for (p[0] = s[0]; p[0] < s[0] + n[0]; p[0]++) PetscCall(SetRow(c, A, p));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(const Case *c, DM da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(FillMat(c, da, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficient of D^-1 A at a point of the box */
static PetscScalar Scaled(const HJStencil *st, PetscInt o, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);
  PetscInt         off[3];

  if (st->storage == HJ_DICTIONARY) return st->rows[st->index[at] * st->nslots + o];
  if (!o) return 1.0;
  if (st->value[o]) return st->value[o][at] * st->dinv[at];
  HJShapeOffset(st->dim, st->shape, o, off);
  return st->value[HJShapeOpposite(st->dim, st->shape, o)][HJBoxIndex(&st->box, i + off[0], j + off[1], k + off[2])] * st->dinv[at];
}

static PetscScalar InverseDiagonal(const HJStencil *st, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);

  return st->storage == HJ_DICTIONARY ? st->dinv_rows[st->index[at]] : st->dinv[at];
}

/* D^-1 A x by the stencil on the owned points against MatMult(); x has the ghost points of box */
static PetscBool ProductMatches(const HJGrid *grid, const HJStencil *st, const HJBox *box, const PetscScalar *x, const PetscScalar *Ax,
                                const PetscScalar *diag)
{
  const PetscInt *n    = grid->owned.hi;
  PetscBool       good = PETSC_TRUE;

  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++) {
        const PetscCount  at = HJBoxIndex(&grid->owned, i, j, k);
        const PetscScalar di = InverseDiagonal(st, i, j, k), centre = Scaled(st, 0, i, j, k) * x[HJBoxIndex(box, i, j, k)];
        PetscScalar       sum  = centre;
        PetscReal         size = PetscAbsScalar(centre);

        for (PetscInt o = 1; o < st->nslots; o++) {
          PetscInt    off[3], q[3];
          PetscScalar term;

          HJShapeOffset(st->dim, st->shape, o, off);
          q[0] = i + off[0], q[1] = j + off[1], q[2] = k + off[2];
          if (q[0] < box->lo[0] || q[1] < box->lo[1] || q[2] < box->lo[2] || q[0] >= box->hi[0] || q[1] >= box->hi[1] || q[2] >= box->hi[2])
            continue;
          term = Scaled(st, o, i, j, k) * x[HJBoxIndex(box, q[0], q[1], q[2])];
          sum += term;
          size += PetscAbsScalar(term);
        }
        /* a product and two roundings by the scale for each of at most 27 terms */
        if (!(PetscAbsScalar(sum - di * Ax[at]) <= 30 * PETSC_MACHINE_EPSILON * size)) good = PETSC_FALSE;
        if (di != (diag[at] == 0.0 ? 1.0 : 1.0 / diag[at])) good = PETSC_FALSE;
      }
    }
  }
  return good;
}

/* A DMDA distributed like the given one, box stencil as wide as depth, dof 1; refused by PETSc where depth > grid->min_width */
static PetscErrorCode CreateGhostDM(DM da, PetscInt depth, DM *ghost)
{
  PetscInt        N[3], nranks[3];
  const PetscInt *widths[3];

  PetscFunctionBegin;
  PetscCall(HJGridGetRanks(da, nranks));
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &widths[0], &widths[1], &widths[2]));
  PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)da), da, N, nranks, widths, DMDA_STENCIL_BOX, depth, ghost));
  PetscCall(DMSetUp(*ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProduct(Mat A, DM da, const HJGrid *grid, const HJStencil *st, PetscBool *good)
{
  DM                 ghost;
  Vec                x, y, diag, local;
  const PetscScalar *xa, *ya, *da_;
  const HJBox        box = HJGridPadded(grid, 1);

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &diag));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatGetDiagonal(A, diag));
  PetscCall(CreateGhostDM(da, 1, &ghost));
  PetscCall(DMCreateLocalVector(ghost, &local));
  PetscCall(DMGlobalToLocalBegin(ghost, x, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(ghost, x, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &xa));
  PetscCall(VecGetArrayRead(y, &ya));
  PetscCall(VecGetArrayRead(diag, &da_));
  *good = ProductMatches(grid, st, &box, xa, ya, da_);
  PetscCall(VecRestoreArrayRead(local, &xa));
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCall(VecRestoreArrayRead(diag, &da_));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&diag));
  PetscCall(VecDestroy(&local));
  PetscCall(DMDestroy(&ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stored coefficient of a slot; 0: inverse diagonal, -1: dictionary row */
static PetscScalar Stored(const HJStencil *st, PetscInt o, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);

  if (o == -1) return st->storage == HJ_DICTIONARY ? st->index[at] : 0.0;
  if (!o) return InverseDiagonal(st, i, j, k);
  if (st->storage == HJ_DICTIONARY) return Scaled(st, o, i, j, k);
  return st->value[o] ? st->value[o][at] : 0.0;
}

/* Ghost coefficients are those of their owners (by DMGlobalToLocal()); places outside the domain are 0 */
static PetscErrorCode CheckPadded(DM da, const HJGrid *grid, const HJStencil *st, PetscInt pad, PetscBool *good)
{
  const PetscInt     depth = PetscMax(1, pad + (st->storage == HJ_SYMMETRIC && HJGridHasNeighbors(grid)));
  const PetscInt    *n     = grid->owned.hi;
  const HJBox        box   = HJGridPadded(grid, depth);
  DM                 ghost;
  Vec                g, l;
  PetscScalar       *ga;
  const PetscScalar *la;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  PetscCall(CreateGhostDM(da, depth, &ghost));
  PetscCall(DMCreateGlobalVector(ghost, &g));
  PetscCall(DMCreateLocalVector(ghost, &l));
  for (PetscInt o = -1; o < st->nslots; o++) {
    PetscCall(VecGetArray(g, &ga));
    for (PetscInt k = 0; k < n[2]; k++) {
      for (PetscInt j = 0; j < n[1]; j++) {
        for (PetscInt i = 0; i < n[0]; i++) ga[HJBoxIndex(&grid->owned, i, j, k)] = Stored(st, o, i, j, k);
      }
    }
    PetscCall(VecRestoreArray(g, &ga));
    PetscCall(DMGlobalToLocalBegin(ghost, g, INSERT_VALUES, l));
    PetscCall(DMGlobalToLocalEnd(ghost, g, INSERT_VALUES, l));
    PetscCall(VecGetArrayRead(l, &la));
    for (PetscInt k = st->box.lo[2]; k < st->box.hi[2]; k++) {
      for (PetscInt j = st->box.lo[1]; j < st->box.hi[1]; j++) {
        for (PetscInt i = st->box.lo[0]; i < st->box.hi[0]; i++) {
          const PetscBool outside = (PetscBool)(i < grid->domain.lo[0] || j < grid->domain.lo[1] || k < grid->domain.lo[2] ||
                                                i >= grid->domain.hi[0] || j >= grid->domain.hi[1]);

          if (Stored(st, o, i, j, k) != (outside ? 0.0 : la[HJBoxIndex(&box, i, j, k)])) *good = PETSC_FALSE;
        }
      }
    }
    PetscCall(VecRestoreArrayRead(l, &la));
  }
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&l));
  PetscCall(DMDestroy(&ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal RowSums(Mat A)
{
  PetscInt  start, end;
  PetscReal mine = 0.0, all = -1.0;

  if (MatGetOwnershipRange(A, &start, &end)) return -1.0;
  for (PetscInt r = start; r < end; r++) {
    PetscInt           n;
    const PetscInt    *cols;
    const PetscScalar *v;
    PetscReal          sum = 0.0, d = 0.0;

    if (MatGetRow(A, r, &n, &cols, &v)) return -1.0;
    for (PetscInt t = 0; t < n; t++) {
      sum += PetscAbsScalar(v[t]);
      if (cols[t] == r) d = PetscAbsScalar(v[t]);
    }
    if (MatRestoreRow(A, r, &n, &cols, &v)) return -1.0;
    mine = PetscMax(mine, d > 0.0 ? sum / d : sum);
  }
  if (MPI_Allreduce(&mine, &all, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD)) return -1.0;
  return all;
}

/* Everything that holds for a stencil and its matrix */
static PetscErrorCode CheckStencil(const char *name, Mat A, DM da, const HJGrid *grid, const HJStencil *st, PetscInt pad)
{
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CheckProduct(A, da, grid, st, &good));
  PetscCall(HJTestOK(good, "%s: product is the matrix's", name));
  PetscCall(CheckPadded(da, grid, st, pad, &good));
  PetscCall(HJTestOK(good, "%s: ghost coefficients are their owners'", name));
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(st->gershgorin - RowSums(A)) <= 30 * PETSC_MACHINE_EPSILON * st->gershgorin),
                     "%s: Gershgorin bound", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
/* Bits of n bytes of host memory and of the same number of device memory */
static PetscErrorCode SameBytes(void *backend, const void *host, const void *device, size_t n, PetscBool *same)
{
  PetscScalar *copy;

  PetscFunctionBegin;
  if (!host != !device) *same = PETSC_FALSE;
  if (!host || !device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n / sizeof(*copy) + 1, &copy));
  PetscCall(HJBackendCUDA.copy(backend, copy, (const PetscScalar *)device, (PetscCount)((n + sizeof(*copy) - 1) / sizeof(*copy))));
  if (memcmp(host, copy, n)) *same = PETSC_FALSE;
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameStencil(const HJGrid *grid, const HJStencil *h, const HJStencil *d, PetscBool *same)
{
  const size_t n = (size_t)HJBoxSize(&h->box);
  void        *backend; /* of d, to copy from the device */

  PetscFunctionBegin;
  *same = (PetscBool)(h->dim == d->dim && h->shape == d->shape && h->storage == d->storage && h->nslots == d->nslots &&
                      h->nrows == d->nrows && h->gershgorin == d->gershgorin && h->zero_diagonals == d->zero_diagonals &&
                      PetscMemTypeDevice(d->mtype) && !memcmp(&h->box, &d->box, sizeof(h->box)));
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJBackendCUDA.create(grid, d, &backend));
  if (h->storage == HJ_DICTIONARY) {
    if (memcmp(h->rows, d->rows, h->nrows * h->nslots * sizeof(*h->rows)) ||
        memcmp(h->dinv_rows, d->dinv_rows, h->nrows * sizeof(*h->dinv_rows)))
      *same = PETSC_FALSE;
    PetscCall(SameBytes(backend, h->index, d->index, n, same));
  } else {
    for (PetscInt o = 1; o < h->nslots; o++) PetscCall(SameBytes(backend, h->value[o], d->value[o], n * sizeof(PetscScalar), same));
    PetscCall(SameBytes(backend, h->dinv, d->dinv, n * sizeof(PetscScalar), same));
  }
  PetscCall(HJBackendCUDA.destroy(&backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of copies of matrices from the device to the host so far */
static PetscErrorCode CopiesToHost(int *n)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("MatCUSPARSCopyFr", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix read on the device gives what it gives on the host: st, or the reason where that is NULL */
static PetscErrorCode CheckDevice(const char *name, Mat A, DM da, const HJGrid *grid, PetscInt pad, const HJStencil *st,
                                  const char *expected)
{
  Mat                B;
  HJStencil         *d = NULL;
  const HJRowReader *reader;
  PetscBool          available, same, kept;
  int                before, after;
  char               reason[256];

  PetscFunctionBegin;
  PetscCall(HJCUDAAvailable(&available));
  if (!available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, MATAIJCUSPARSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatScale(B, 2.0)); /* the host's values are old now */
  PetscCall(MatScale(B, 0.5));
  PetscCall(CopiesToHost(&before));
  PetscCall(HJCUDAGetReader(B, &reader));
  PetscCall(HJStencilCreate(B, da, grid, pad, reader, &d, reason, sizeof(reason)));
  same = (PetscBool)(reader && !st == !d && !strcmp(reason, expected));
  if (st && d) PetscCall(SameStencil(grid, st, d, &same));
  PetscCall(HJTestOK(same, "%s: the same on the device %s", name, reason));
  if (d) {
    PetscCall(HJStencilRefresh(d, B, da, grid, reader, NULL, &kept));
    if (kept && st) PetscCall(SameStencil(grid, st, d, &same));
    PetscCall(HJTestOK((PetscBool)(kept && same), "%s: the same on the device after a refresh", name));
  }
  PetscCall(CopiesToHost(&after));
  PetscCall(HJTestOK((PetscBool)(after == before), "%s: no copy of the matrix to the host", name));
  PetscCall(HJStencilDestroy(&d));
  PetscCall(HJStencilCreate(B, da, grid, pad, NULL, &d, reason, sizeof(reason)));
  PetscCall(CopiesToHost(&after));
  PetscCall(HJTestOK((PetscBool)(after > before), "%s: the host's way copies it, and that shows", name));
  PetscCall(HJStencilDestroy(&d));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
static PetscErrorCode CheckDevice(const char *name, Mat A, DM da, const HJGrid *grid, PetscInt pad, const HJStencil *st,
                                  const char *expected)
{
  return PETSC_SUCCESS;
}
#endif

static PetscErrorCode CheckCase(const Case *c)
{
  DM         da;
  Mat        A;
  HJGrid     grid;
  HJStencil *st;
  PetscInt   pad;
  char       reason[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(c, 1, &da));
  PetscCall(CreateMat(c, da, &A));
  PetscCall(HJGridCreate(da, &grid));
  pad = PetscMin(c->pad, grid.min_width);
  PetscCall(HJStencilCreate(A, da, &grid, pad, NULL, &st, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)(st && !reason[0]), "%s: is a stencil %s", c->name, reason));
  if (st) {
    HJStorage expected = c->storage;

    /* the half needs one layer more than the pad */
    if (expected == HJ_SYMMETRIC && grid.min_width < pad + 1) expected = HJ_VARIABLE;
    PetscCall(HJTestOK((PetscBool)(st->storage == expected && (c->nrows < 0 || st->nrows == c->nrows)),
                       "%s: storage %d, %" PetscInt_FMT " rows", c->name, (int)st->storage, st->nrows));
    PetscCall(HJTestOK((PetscBool)(st->shape == (c->box && c->dim > 1 ? HJ_BOX : HJ_STAR)), "%s: shape", c->name));
    PetscCall(CheckStencil(c->name, A, da, &grid, st, pad));
  }
  PetscCall(CheckDevice(c->name, A, da, &grid, pad, st, reason));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define NONE                                                                                                                               \
  {                                                                                                                                        \
    DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE                                                                                   \
  }
#define PERIODIC                                                                                                                           \
  {                                                                                                                                        \
    DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC                                                                       \
  }

static const Case cases[] = {
  {"1D constant", 1, {61, 1, 1}, NONE, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 1},
  {"1D identity rows", 1, {61, 1, 1}, NONE, PETSC_FALSE, IDENTITY, 3, HJ_DICTIONARY, 2},
  {"1D edges", 1, {1037, 1, 1}, NONE, PETSC_FALSE, EDGES, 4, HJ_SYMMETRIC, 0},
  {"1D periodic points",
   1,
   {1037, 1, 1},
   {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE},
   PETSC_FALSE,
   POINTS,
   4,
   HJ_VARIABLE,
   0},
  {"1D periodic edges",
   1,
   {1037, 1, 1},
   {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE},
   PETSC_FALSE,
   EDGES,
   4,
   HJ_SYMMETRIC,
   0},
  {"1D mirror", 1, {61, 1, 1}, {DM_BOUNDARY_MIRROR, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 2},
  {"2D constant", 2, {37, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 1},
  {"2D constant, no pad", 2, {37, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 0, HJ_DICTIONARY, 1},
  {"2D ghosted", 2, {37, 23, 1}, {DM_BOUNDARY_GHOSTED, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_NONE}, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 1},
  {"2D mirror", 2, {37, 23, 1}, {DM_BOUNDARY_MIRROR, DM_BOUNDARY_MIRROR, DM_BOUNDARY_NONE}, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 4},
  {"2D identity rows", 2, {37, 23, 1}, NONE, PETSC_FALSE, IDENTITY, 3, HJ_DICTIONARY, 2},
  {"2D dropped columns", 2, {37, 23, 1}, NONE, PETSC_FALSE, DROPPED, 3, HJ_DICTIONARY, 10},
  {"2D Neumann", 2, {37, 23, 1}, NONE, PETSC_FALSE, NEUMANN, 3, HJ_DICTIONARY, 3},
  {"2D convection", 2, {37, 23, 1}, NONE, PETSC_FALSE, CONVECT, 3, HJ_DICTIONARY, 1},
  {"2D jump", 2, {37, 23, 1}, NONE, PETSC_FALSE, JUMP, 3, HJ_DICTIONARY, 2},
  {"2D edges", 2, {37, 23, 1}, NONE, PETSC_FALSE, EDGES, 3, HJ_SYMMETRIC, 0},
  {"2D edges, no pad", 2, {37, 23, 1}, NONE, PETSC_FALSE, EDGES, 0, HJ_SYMMETRIC, 0},
  {"2D points", 2, {37, 23, 1}, NONE, PETSC_FALSE, POINTS, 3, HJ_VARIABLE, 0},
  {"2D periodic", 2, {37, 23, 1}, PERIODIC, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 1},
  {"2D periodic edges", 2, {37, 23, 1}, PERIODIC, PETSC_FALSE, EDGES, 3, HJ_SYMMETRIC, 0},
  {"2D half periodic points",
   2,
   {37, 23, 1},
   {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE},
   PETSC_FALSE,
   POINTS,
   3,
   HJ_VARIABLE,
   0},
  {"2D box", 2, {37, 23, 1}, NONE, PETSC_TRUE, CONSTANT, 3, HJ_DICTIONARY, 1},
  {"2D box Neumann", 2, {37, 23, 1}, NONE, PETSC_TRUE, NEUMANN, 3, HJ_DICTIONARY, 3},
  {"2D box edges", 2, {37, 23, 1}, NONE, PETSC_TRUE, EDGES, 3, HJ_SYMMETRIC, 0},
  {"2D box points", 2, {37, 23, 1}, NONE, PETSC_TRUE, POINTS, 3, HJ_VARIABLE, 0},
  {"2D box periodic edges", 2, {37, 23, 1}, PERIODIC, PETSC_TRUE, EDGES, 3, HJ_SYMMETRIC, 0},
  {"3D constant", 3, {13, 11, 9}, NONE, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 1},
  {"3D identity rows", 3, {13, 11, 9}, NONE, PETSC_FALSE, IDENTITY, 2, HJ_DICTIONARY, 2},
  {"3D Neumann", 3, {13, 11, 9}, NONE, PETSC_FALSE, NEUMANN, 2, HJ_DICTIONARY, 4},
  {"3D edges", 3, {13, 11, 9}, NONE, PETSC_FALSE, EDGES, 2, HJ_SYMMETRIC, 0},
  {"3D points", 3, {13, 11, 9}, NONE, PETSC_FALSE, POINTS, 2, HJ_VARIABLE, 0},
  {"3D periodic edges", 3, {13, 11, 9}, PERIODIC, PETSC_FALSE, EDGES, 2, HJ_SYMMETRIC, 0},
  {"3D box", 3, {13, 11, 9}, NONE, PETSC_TRUE, CONSTANT, 2, HJ_DICTIONARY, 1},
  {"3D box edges", 3, {13, 11, 9}, NONE, PETSC_TRUE, EDGES, 2, HJ_SYMMETRIC, 0},
  {"3D box periodic points", 3, {13, 11, 9}, PERIODIC, PETSC_TRUE, POINTS, 2, HJ_VARIABLE, 0},
};

/* Periodic directions of 1 and 2 points: several neighbours are one column; one rank in those directions */
static PetscErrorCode CheckFolded(void)
{
  PetscFunctionBegin;
  for (PetscInt width = 1; width <= 2; width++) {
    for (int box = 0; box < 2; box++) {
      const Case c = {"folded", 2, {41, width, 1}, PERIODIC, (PetscBool)box, POINTS, 1, HJ_VARIABLE, -1};
      DM         da;
      Mat        A;
      HJGrid     grid;
      HJStencil *st;
      char       name[64], reason[256];

      PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, 41,
                             width, PETSC_DECIDE, 1, 1, 1, NULL, NULL, &da));
      PetscCall(DMSetUp(da));
      PetscCall(CreateMat(&c, da, &A));
      PetscCall(HJGridCreate(da, &grid));
      PetscCall(HJStencilCreate(A, da, &grid, 1, NULL, &st, reason, sizeof(reason)));
      PetscCall(PetscSNPrintf(name, sizeof(name), "periodic %s of width %" PetscInt_FMT, box ? "box" : "star", width));
      PetscCall(HJTestOK((PetscBool)(st != NULL), "%s: is a stencil %s", name, reason));
      if (st) PetscCall(CheckStencil(name, A, da, &grid, st, 1));
      PetscCall(CheckDevice(name, A, da, &grid, 1, st, reason));
      PetscCall(HJStencilDestroy(&st));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse matrices couple all 3^dim neighbours although the DMDA is star */
static PetscErrorCode CheckGalerkin(PetscInt dim, Kind kind)
{
  const Case c = {"", dim, {dim == 3 ? 7 : 17, dim == 3 ? 7 : 17, dim == 3 ? 7 : 1}, NONE, PETSC_FALSE, kind, 2, HJ_DICTIONARY, 0};
  Case       f = c;
  DM         coarse, fine;
  Mat        A, P, G;
  HJGrid     grid;
  HJStencil *st;
  char       name[64], reason[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &coarse));
  PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &fine));
  PetscCall(DMDAGetInfo(fine, NULL, &f.N[0], &f.N[1], &f.N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(CreateMat(&f, fine, &A));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &G));
  PetscCall(HJGridCreate(coarse, &grid));
  PetscCall(HJStencilCreate(G, coarse, &grid, 1, NULL, &st, reason, sizeof(reason)));
  PetscCall(PetscSNPrintf(name, sizeof(name), "Galerkin %" PetscInt_FMT "D %s", dim, kind == CONSTANT ? "constant" : "variable"));
  PetscCall(HJTestOK((PetscBool)(st && st->shape == HJ_BOX), "%s: is a box stencil %s", name, reason));
  if (st) PetscCall(CheckStencil(name, G, coarse, &grid, st, 1));
  PetscCall(CheckDevice(name, G, coarse, &grid, 1, st, reason));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&G));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of another kind in the same pattern */
static PetscErrorCode CheckRefresh(const char *name, Kind from, Kind to, PetscBool expected)
{
  Case       c = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, from, 2, HJ_DICTIONARY, 0};
  DM         da;
  Mat        A;
  HJGrid     grid;
  HJStencil *st;
  PetscBool  kept;
  char       reason[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 2, NULL, &st, reason, sizeof(reason)));
  PetscCall(MatZeroEntries(A));
  c.kind = to;
  PetscCall(FillMat(&c, da, A));
  if (from == to) PetscCall(MatScale(A, 3.0));
  PetscCall(HJStencilRefresh(st, A, da, &grid, NULL, NULL, &kept));
  PetscCall(HJTestOK((PetscBool)(kept == expected), "refresh %s: %s", name, expected ? "kept" : "not kept"));
  if (kept) PetscCall(CheckStencil(name, A, da, &grid, st, 2));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries at places that a case does not set: 2D, one entry in the row of a point, or its diagonal */
static PetscErrorCode CheckEntry(const char *name, Kind kind, PetscInt di, PetscInt dj, PetscScalar v, InsertMode mode,
                                 const char *expected, HJShape shape)
{
  const Case     c    = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, kind, 2, HJ_DICTIONARY, 0};
  const PetscInt p[3] = {20, 11, 0};
  DM             da;
  Mat            A;
  AO             ao;
  HJGrid         grid;
  HJStencil     *st;
  PetscInt       start, end, row = p[1] * 37 + p[0], col = (p[1] + dj) * 37 + p[0] + di;
  char           reason[256], full[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 1, &row));
  PetscCall(AOApplicationToPetsc(ao, 1, &col));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) PetscCall(MatSetValues(A, 1, &row, 1, &col, &v, mode));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 2, NULL, &st, reason, sizeof(reason)));
  PetscCall(CheckDevice(name, A, da, &grid, 2, st, reason));
  if (expected) {
    PetscCall(PetscSNPrintf(full, sizeof(full), expected, row, col));
    PetscCall(HJTestOK((PetscBool)(!st && !strcmp(reason, full)), "%s: %s", name, reason));
  } else {
    PetscCall(HJTestOK((PetscBool)(st && st->shape == shape), "%s: shape %s", name, reason));
    if (st) PetscCall(CheckStencil(name, A, da, &grid, st, 2));
    if (st && mode == INSERT_VALUES && !di && !dj) PetscCall(HJTestOK((PetscBool)(st->zero_diagonals == 1), "%s: one zero diagonal", name));
  }
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry differs from that opposite to it by so large a part: of a matrix that is known to be symmetric, rounding may do that */
static PetscErrorCode CheckRounding(const char *name, MatType type, PetscReal part, PetscBool known, HJStorage expected)
{
  const Case  c   = {"", 3, {13, 11, 9}, NONE, PETSC_TRUE, EDGES, 1, expected, 0};
  PetscInt    row = (5 * 11 + 4) * 13 + 6, col = row + 1, start, end;
  PetscScalar v = 0;
  DM          da;
  Mat         A, B;
  AO          ao;
  HJGrid      grid;
  HJStencil  *st;
  char        reason[256];
  PetscBool   is_aij;

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 1, &row));
  PetscCall(AOApplicationToPetsc(ao, 1, &col));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) {
    PetscCall(MatGetValue(A, row, col, &v));
    v *= 1 + part;
    PetscCall(MatSetValue(A, row, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetDM(A, da));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  if (known) PetscCall(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(B, da, &grid, 1, NULL, &st, reason, sizeof(reason)));
  if (grid.min_width < 2 && expected == HJ_SYMMETRIC) expected = HJ_VARIABLE; /* the half needs a neighbour's layer beside the padding */
  PetscCall(HJTestOK((PetscBool)(st && st->storage == expected), "%s, %s: storage %d %s", name, type, st ? (int)st->storage : -1, reason));
  PetscCall(PetscStrcmp(type, MATAIJ, &is_aij));
  if (is_aij) PetscCall(CheckDevice(name, B, da, &grid, 1, st, reason)); /* rows of a stencil matrix are read in another way */
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(const char *name, Mat A, DM dm, const char *expected)
{
  char reason[256];

  PetscFunctionBegin;
  PetscCall(HJStencilCheckDM(A, dm, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)!strcmp(reason, expected), "%s: %s", name, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReasonType(const char *name, Mat A, DM da, const char *expected)
{
  HJGrid     grid;
  HJStencil *st;
  char       reason[256];

  PetscFunctionBegin;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 1, NULL, &st, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)(!st && !strncmp(reason, expected, strlen(expected))), "%s: %s", name, reason));
  PetscCall(HJStencilDestroy(&st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReasons(void)
{
  const Case c      = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 0},
             bigger = {"", 2, {38, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 0};
  DM          da, dof2, other, plain;
  Mat         A, B, D;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateDM(&c, 2, &dof2));
  PetscCall(CreateDM(&bigger, 1, &other));
  PetscCall(DMCreate(PETSC_COMM_WORLD, &plain));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(CheckReason("good DM", A, da, ""));
  PetscCall(CheckReason("no DM", A, NULL, "there is no DMDA"));
  PetscCall(CheckReason("other DM", A, plain, "the DM is no DMDA"));
  PetscCall(CheckReason("larger DMDA", A, other, "the matrix (851 x 851) is not of the DMDA's size, or distributed in another way"));
  PetscCall(DMCreateMatrix(dof2, &B));
  PetscCall(CheckReason("dof", B, dof2, "the DMDA has 2 degrees of freedom at a point, a stencil has 1"));
  PetscCall(MatDestroy(&B));
  if (size > 1) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 851, 851, 1, NULL, &B));
    PetscCall(CheckReason("ranks", B, da, "matrix and DMDA live on different ranks"));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(CheckReasonType("dense", D, da,
                            size > 1 ? "the matrix type is mpidense, a stencil needs an AIJ or hjstencil matrix"
                                     : "the matrix type is seqdense, a stencil needs an AIJ or hjstencil matrix"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(CheckReasonType("BAIJ", D, da,
                            size > 1 ? "the matrix type is mpibaij, a stencil needs an AIJ or hjstencil matrix"
                                     : "the matrix type is seqbaij, a stencil needs an AIJ or hjstencil matrix"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&dof2));
  PetscCall(DMDestroy(&other));
  PetscCall(DMDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's set-up refuses TWIST in some dimensions: the boundary type is all that is read */
static PetscErrorCode CheckTwist(void)
{
  DM  da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_TWIST, 61, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 61, 61, 1, NULL, 0, NULL, &A));
  PetscCall(CheckReason("twist", A, da, "the DMDA has a twisted boundary"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a user's program does at least: constants, one call a row */
static PetscErrorCode FillPlain(const Case *c, DM da, Mat A)
{
  PetscInt          s[3], n[3];
  const PetscScalar v[7] = {-1, -1, -1, -1, -1, -1, 6}, *first = v + 6 - 2 * c->dim;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  for (PetscInt k = s[2]; k < s[2] + n[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++) {
        MatStencil row = {.i = i, .j = j, .k = k}, col[7];
        PetscInt   m   = 0;

        if (i > 0) col[m++] = (MatStencil){.i = i - 1, .j = j, .k = k};
        if (i < c->N[0] - 1) col[m++] = (MatStencil){.i = i + 1, .j = j, .k = k};
        if (j > 0) col[m++] = (MatStencil){.i = i, .j = j - 1, .k = k};
        if (j < c->N[1] - 1) col[m++] = (MatStencil){.i = i, .j = j + 1, .k = k};
        if (k > 0) col[m++] = (MatStencil){.i = i, .j = j, .k = k - 1};
        if (k < c->N[2] - 1) col[m++] = (MatStencil){.i = i, .j = j, .k = k + 1};
        col[m] = row;
        PetscCall(MatSetValuesStencil(A, 1, &row, m + 1, col, first + 2 * c->dim - m, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-ups of A, in seconds: the first one, the best of all, the best refresh */
static PetscErrorCode TimeSetUp(Mat A, DM da, PetscInt pad, const HJRowReader *reader, PetscInt repeat, PetscLogDouble t[3],
                                HJStorage *storage)
{
  HJGrid         grid;
  HJStencil     *st;
  char           reason[256];
  PetscBool      kept;
  PetscLogDouble t0, t1, t2;

  PetscFunctionBegin;
  PetscCall(HJGridCreate(da, &grid));
  for (PetscInt i = 0; i <= repeat; i++) {
    PetscCall(PetscTime(&t0));
    PetscCall(HJStencilCreate(A, da, &grid, pad, reader, &st, reason, sizeof(reason)));
    PetscCall(PetscTime(&t1));
    PetscCheck(st, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s", reason);
    PetscCall(HJStencilRefresh(st, A, da, &grid, reader, NULL, &kept));
    PetscCall(PetscTime(&t2));
    if (!i) t[0] = t1 - t0;
    t[1]     = i ? PetscMin(t[1], t1 - t0) : t1 - t0;
    t[2]     = i ? PetscMin(t[2], t2 - t1) : t2 - t1;
    *storage = st->storage;
    PetscCall(HJStencilDestroy(&st));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimePrint(const char *name, const char *where, HJStorage storage, PetscLogDouble assemble, const PetscLogDouble t[3])
{
  PetscFunctionBegin;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr,
                         "%-13s %-6s storage %d: assembly %.3f s, first create %.4f s, create %.4f s (%.2f%%), refresh %.4f s (%.2f%%)\n",
                         name, where, (int)storage, assemble, t[0], t[1], 100 * t[1] / assemble, t[2], 100 * t[2] / assemble));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device's first create brings the matrix there, as the solve would */
static PetscErrorCode TimeDevice(const char *name, const Case *c, DM da, Mat A, PetscInt pad, PetscInt repeat)
{
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  const HJRowReader *reader;
  PetscBool          available;
  Mat                B;
  HJStorage          storage = HJ_DICTIONARY;
  PetscLogDouble     t0, t1, t[3] = {0};

  PetscFunctionBegin;
  PetscCall(HJCUDAAvailable(&available));
  if (!available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMSetMatType(da, MATAIJCUSPARSE));
  PetscCall(DMCreateMatrix(da, &B));
  PetscCall(DMSetMatType(da, MATAIJ));
  PetscCall(PetscTime(&t0));
  PetscCall(FillPlain(c, da, B));
  PetscCall(PetscTime(&t1));
  PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
  PetscCall(HJCUDAGetReader(B, &reader));
  PetscCall(TimeSetUp(B, da, pad, reader, repeat, t, &storage));
  PetscCall(TimePrint(name, "device", storage, t1 - t0, t));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  return PETSC_SUCCESS;
#endif
}

/* So many distinct rows over all ranks, each rank with some of them: all ranks have the same rows in the same order, the most frequent
   first */
static PetscErrorCode CheckGathered(PetscInt nrows, PetscInt points)
{
  const Case   c = {"", 1, {points, 1, 1}, NONE, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 0};
  DM           da;
  Mat          A;
  HJGrid       grid;
  HJStencil   *st;
  char         reason[256];
  PetscInt     start, end, wrong = 0, all;
  PetscScalar *rows;
  PetscBool    many = (PetscBool)(nrows > HJ_MAX_ROWS);

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) { /* row 0 most often, then the others one after another */
    const PetscInt which = i % 2 ? 0 : i / 2 % nrows;

    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, points - 1); j++)
      PetscCall(MatSetValue(A, i, j, j == i ? 2.0 + 0.01 * which : -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, PetscMin(2, grid.min_width), NULL, &st, reason, sizeof(reason)));
  wrong += !st || (many ? st->storage == HJ_DICTIONARY : st->storage != HJ_DICTIONARY || st->nrows != nrows);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (!wrong && !many) {
    PetscCall(PetscMalloc1(3 * nrows, &rows));
    PetscCall(PetscArraycpy(rows, st->rows, 3 * nrows));
    PetscCallMPI(MPI_Bcast(rows, (PetscMPIInt)(3 * nrows), MPIU_SCALAR, 0, PETSC_COMM_WORLD));
    wrong += memcmp(rows, st->rows, 3 * nrows * sizeof(*rows)) != 0 || st->dinv_rows[0] != 0.5;
    PetscCall(PetscFree(rows));
    for (PetscInt i = start; i < end; i++) {
      const PetscInt which = i % 2 ? 0 : i / 2 % nrows;

      wrong += st->dinv_rows[st->index[i - start - st->box.lo[0]]] != 1.0 / (2.0 + 0.01 * which);
    }
  }
  PetscCallMPI(MPI_Allreduce(&wrong, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)!all, "%d rows on all ranks together, %d points: %s", (int)nrows, (int)points,
                     many ? "too many for a dictionary" : "all ranks have the same in the same order"));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-ups against the best assembly */
static PetscErrorCode TimeOne(const char *name, const Case *c, PetscInt pad)
{
  DM             da;
  Mat            A;
  HJStorage      storage = HJ_DICTIONARY;
  PetscInt       repeat  = 3;
  PetscLogDouble t0, t1, t[3] = {0}, assemble = 1e30;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time_repeat", &repeat, NULL));
  PetscCall(CreateDM(c, 1, &da));
  PetscCall(DMCreateMatrix(da, &A));
  for (PetscInt i = 0; i < repeat; i++) {
    PetscCall(PetscTime(&t0));
    PetscCall(FillPlain(c, da, A));
    PetscCall(PetscTime(&t1));
    assemble = PetscMin(assemble, t1 - t0);
  }
  if (c->kind != CONSTANT) {
    PetscCall(MatZeroEntries(A));
    PetscCall(FillMat(c, da, A));
  }
  PetscCall(TimeSetUp(A, da, pad, NULL, repeat, t, &storage));
  PetscCall(TimePrint(name, "host", storage, assemble, t));
  PetscCall(TimeDevice(name, c, da, A, pad, repeat));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(void)
{
  const Kind  kinds[] = {CONSTANT, EDGES, POINTS};
  const char *names[] = {"constant", "symmetric", "variable"};
  PetscInt    n[2]    = {4097, 257};

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time_n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time_n3", &n[1], NULL));
  for (int i = 0; i < 3; i++) {
    for (PetscInt dim = 2; dim <= 3; dim++) {
      const Case c = {"", dim, {n[dim - 2], n[dim - 2], dim == 3 ? n[1] : 1}, NONE, PETSC_FALSE, kinds[i], 8, HJ_DICTIONARY, 0};
      char       name[64];

      PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s", dim, names[i]));
      PetscCall(TimeOne(name, &c, 8));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool time = PETSC_FALSE;
  int       failed;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &time, NULL));
  if (time) PetscCall(Time());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases) && !time; i++) PetscCall(CheckCase(&cases[i]));
  PetscCall(CheckFolded());
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(CheckGalerkin(dim, CONSTANT));
    PetscCall(CheckGalerkin(dim, EDGES));
  }
  PetscCall(CheckRefresh("dictionary", CONSTANT, CONSTANT, PETSC_TRUE));
  PetscCall(CheckRefresh("dictionary, more rows", CONSTANT, JUMP, PETSC_TRUE));
  PetscCall(CheckRefresh("dictionary, too many rows", CONSTANT, POINTS, PETSC_FALSE));
  PetscCall(CheckRefresh("symmetric", EDGES, EDGES, PETSC_TRUE));
  PetscCall(CheckRefresh("symmetric, no more", EDGES, POINTS, PETSC_FALSE));
  PetscCall(CheckRefresh("variable", POINTS, EDGES, PETSC_TRUE));
  PetscCall(CheckEntry("explicit zero off the star", CONSTANT, 1, 1, 0.0, ADD_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("explicit zero far away", POINTS, 3, 0, 0.0, ADD_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("one corner", CONSTANT, 1, 1, 0.5, ADD_VALUES, NULL, HJ_BOX));
  PetscCall(CheckEntry("one corner", POINTS, 1, 1, 0.5, ADD_VALUES, NULL, HJ_BOX));
  PetscCall(CheckEntry("one unsymmetric entry", EDGES, 1, 0, 0.5, ADD_VALUES, NULL, HJ_STAR));
  for (int stencil = 0; stencil < 2; stencil++) {
    const MatType type = stencil ? MATHJSTENCIL : MATAIJ;

    PetscCall(CheckRounding("rounded, symmetry not known", type, 8 * PETSC_MACHINE_EPSILON, PETSC_FALSE, HJ_VARIABLE));
    PetscCall(CheckRounding("rounded, known to be symmetric", type, 8 * PETSC_MACHINE_EPSILON, PETSC_TRUE, HJ_SYMMETRIC));
    PetscCall(CheckRounding("wrongly known to be symmetric", type, 1e-6, PETSC_TRUE, HJ_VARIABLE));
  }
  PetscCall(CheckEntry("zero diagonal", CONSTANT, 0, 0, 0.0, INSERT_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("zero diagonal", POINTS, 0, 0, 0.0, INSERT_VALUES,
                       "row %" PetscInt_FMT
                       " (grid point 20,11,0) has no diagonal, which only a grid of at most 256 distinct rows can have",
                       HJ_STAR));
  PetscCall(CheckEntry("wide", CONSTANT, 2, 0, 0.5, ADD_VALUES,
                       "row %" PetscInt_FMT " (grid point 20,11,0) has a nonzero more than one grid point away, in column %" PetscInt_FMT,
                       HJ_STAR));
  PetscCall(CheckEntry("wide", POINTS, 0, -2, 0.5, ADD_VALUES,
                       "row %" PetscInt_FMT " (grid point 20,11,0) has a nonzero more than one grid point away, in column %" PetscInt_FMT,
                       HJ_STAR));
  PetscCall(CheckGathered(2, 61));
  PetscCall(CheckGathered(255, 1500));
  PetscCall(CheckGathered(256, 600));
  PetscCall(CheckGathered(257, 600));
  PetscCall(CheckReasons());
  PetscCall(CheckTwist());
  failed = HJTestDone();
  PetscCall(PetscFinalize());
  return failed;
}
