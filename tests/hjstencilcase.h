/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices of all kinds that are stencils, and what the tests of reading them share.
*/
#pragma once

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

static inline PETSC_UNUSED PetscReal Noise(PetscInt seed)
{
  uint64_t h = (uint64_t)seed * 0x9E3779B97F4A7C15u + 12345;

  h ^= h >> 31;
  h *= 0xBF58476D1CE4E5B9u;
  h ^= h >> 29;
  return 1.0 + (PetscReal)(h >> 12) / (PetscReal)((uint64_t)1 << 52);
}

static inline PETSC_UNUSED PetscErrorCode CreateDM(const Case *c, PetscInt dof, DM *da)
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
static inline PETSC_UNUSED PetscInt Natural(const Case *c, const PetscInt p[3])
{
  PetscInt q[3];

  for (int d = 0; d < 3; d++) q[d] = (p[d] + c->N[d]) % c->N[d];
  return (q[2] * c->N[1] + q[1]) * c->N[0] + q[0];
}

static inline PETSC_UNUSED PetscBool OnBoundary(const Case *c, const PetscInt p[3])
{
  for (int d = 0; d < c->dim; d++) {
    if (c->boundary[d] != DM_BOUNDARY_PERIODIC && (p[d] <= 0 || p[d] >= c->N[d] - 1)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Entry of point p that leads to q; 0: there is none */
static inline PETSC_UNUSED PetscScalar Entry(const Case *c, const PetscInt p[3], const PetscInt q[3])
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

static inline PETSC_UNUSED PetscErrorCode SetRow(const Case *c, Mat A, const PetscInt p[3])
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

static inline PETSC_UNUSED PetscErrorCode FillMat(const Case *c, DM da, Mat A)
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

static inline PETSC_UNUSED PetscErrorCode CreateMat(const Case *c, DM da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(FillMat(c, da, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficient of D^-1 A at a point of the box */
static inline PETSC_UNUSED PetscScalar Scaled(const HJStencil *st, PetscInt o, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);
  PetscInt         off[3];

  if (st->storage == HJ_DICTIONARY) return st->rows[st->index[at] * st->nslots + o];
  if (!o) return 1.0;
  if (st->value[o]) return st->value[o][at] * st->dinv[at];
  HJShapeOffset(st->dim, st->shape, o, off);
  return st->value[HJShapeOpposite(st->dim, st->shape, o)][HJBoxIndex(&st->box, i + off[0], j + off[1], k + off[2])] * st->dinv[at];
}

static inline PETSC_UNUSED PetscScalar InverseDiagonal(const HJStencil *st, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);

  return st->storage == HJ_DICTIONARY ? st->dinv_rows[st->index[at]] : st->dinv[at];
}

/* D^-1 A x by the stencil on the owned points against MatMult(); x has the ghost points of box */
static inline PETSC_UNUSED PetscBool ProductMatches(const HJGrid *grid, const HJStencil *st, const HJBox *box, const PetscScalar *x,
                                                    const PetscScalar *Ax, const PetscScalar *diag)
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
        if (di != (PetscScalar)(diag[at] == 0.0 ? 1.0 : 1.0 / diag[at])) good = PETSC_FALSE;
      }
    }
  }
  return good;
}

/* A DMDA distributed like the given one, box stencil as wide as depth, dof 1; refused by PETSc where depth > grid->min_width */
static inline PETSC_UNUSED PetscErrorCode CreateGhostDM(DM da, PetscInt depth, DM *ghost)
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

static inline PETSC_UNUSED PetscErrorCode CheckProduct(Mat A, DM da, const HJGrid *grid, const HJStencil *st, PetscBool *good)
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
  PetscCall(HJTestDestroy(&x, &y, &diag, &local, &ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stored coefficient of a slot; 0: inverse diagonal, -1: dictionary row */
static inline PETSC_UNUSED PetscScalar Stored(const HJStencil *st, PetscInt o, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscCount at = HJBoxIndex(&st->box, i, j, k);

  if (o == -1) return st->storage == HJ_DICTIONARY ? st->index[at] : 0.0;
  if (!o) return InverseDiagonal(st, i, j, k);
  if (st->storage == HJ_DICTIONARY) return Scaled(st, o, i, j, k);
  return st->value[o] ? st->value[o][at] : 0.0;
}

/* Ghost coefficients are those of their owners (by DMGlobalToLocal()); places outside the domain are 0 */
static inline PETSC_UNUSED PetscErrorCode CheckPadded(DM da, const HJGrid *grid, const HJStencil *st, PetscInt pad, PetscBool *good)
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
  PetscCall(HJTestDestroy(&g, &l, &ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscReal RowSums(Mat A)
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
static inline PETSC_UNUSED PetscErrorCode CheckStencil(const char *name, Mat A, DM da, const HJGrid *grid, const HJStencil *st,
                                                       PetscInt pad)
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
static inline PETSC_UNUSED PetscErrorCode SameBytes(void *backend, const void *host, const void *device, size_t n, PetscBool *same)
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

static inline PETSC_UNUSED PetscErrorCode SameStencil(const HJGrid *grid, const HJStencil *h, const HJStencil *d, PetscBool *same)
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
static inline PETSC_UNUSED PetscErrorCode CopiesToHost(int *n)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscLogEventGetId("MatCUSPARSCopyFr", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix read on the device gives what it gives on the host: st, or the reason where that is NULL */
static inline PETSC_UNUSED PetscErrorCode CheckDevice(const char *name, Mat A, DM da, const HJGrid *grid, PetscInt pad, const HJStencil *st,
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
static inline PETSC_UNUSED PetscErrorCode CheckDevice(const char *name, Mat A, DM da, const HJGrid *grid, PetscInt pad, const HJStencil *st,
                                                      const char *expected)
{
  return PETSC_SUCCESS;
}
#endif

#define NONE                                                                                                                               \
  {                                                                                                                                        \
    DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE                                                                                   \
  }
