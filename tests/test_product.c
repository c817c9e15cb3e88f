/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of coefficients with vectors, plain and transposed, in every storage, shape and dimension, against an AIJ matrix.
   ranks: 1 2 3 4
*/
#include "hjcase.h"
#include "hjcoefficients.h"
#include "operator/hjproducts.h"

/* Of a dictionary: whether the outermost points, but for periods, have the diagonal alone, and their neighbours columns there */
typedef enum { NO_WALLS, COLUMNS_KEPT, COLUMNS_DROPPED } Walls;

typedef struct {
  Case      c;
  PetscBool symmetric;
  PetscInt  layers; /* of a dictionary: outermost ones whose points alone have more than one row; 0: all have */
  Walls     walls;
} ProductCase;

typedef struct {
  DM                  da;
  Mat                 aij;
  HJGrid              grid;
  const HJBackendOps *ops;
  HJProducts         *products;
  HJCoefficients      host, a; /* a: in the backend's memory */
  PetscReal           tol;
} Setup;

/* The walls that a global point lies in, or, away 1, beside: bit 2 d + 1 for that at the end of direction d, 2 d for that at its begin */
static PetscInt WallsAt(const ProductCase *pc, const PetscInt at[3], PetscInt away)
{
  PetscInt walls = 0;

  for (PetscInt d = 0; d < pc->c.dim; d++) {
    if (pc->c.boundary[d] == DM_BOUNDARY_PERIODIC) continue;
    walls |= (at[d] == away) << 2 * d | (at[d] == pc->c.n[d] - 1 - away) << (2 * d + 1);
  }
  return walls;
}

/* Row of a dictionary that a global point has */
static PetscInt Material(const ProductCase *pc, const PetscInt at[3])
{
  PetscBool inside = (PetscBool)(pc->layers > 0);

  if (pc->walls) {
    const PetscInt walls = WallsAt(pc, at, 0), away = (walls & 0x15) << 1 | (walls & 0x2a) >> 1;
    PetscBool      corner = (PetscBool)(pc->walls == COLUMNS_DROPPED);

    /* a corner may have the row of a point beside the other walls, which differs where it leads outside */
    for (PetscInt d = 0; d < pc->c.dim; d++) corner = (PetscBool)(corner && (walls >> 2 * d & 3));
    return corner ? 1 + away : walls ? 0 : 1 + (pc->walls == COLUMNS_DROPPED ? WallsAt(pc, at, 1) : 0);
  }
  for (PetscInt d = 0; d < pc->c.dim; d++) inside = (PetscBool)(inside && at[d] >= pc->layers && at[d] < pc->c.n[d] - pc->layers);
  return inside ? 1 : (at[0] / 3 + at[1] / 2 + at[2]) % 3;
}

/* What a row of a dictionary has in a slot: where there are walls row 0 is theirs, others are 1 more than the walls beside the point */
static PetscScalar RowValue(const ProductCase *pc, const HJCoefficients *a, PetscInt row, PetscInt slot)
{
  PetscInt off[3];

  if (!pc->walls) return Random(row, 0, 0, slot, 3);
  if (!row) return slot ? 0.0 : Random(pc->walls == COLUMNS_DROPPED, 0, 0, 0, 3);
  HJSlotOffset(a, slot, off);
  for (int d = 0; d < 3; d++) {
    if (off[d] && ((row - 1) >> (2 * d + (off[d] > 0)) & 1)) return 0.0;
  }
  return Random(1, 0, 0, slot, 3);
}

/* Of the neighbour in a slot of a global point; symmetric: the lower half is that of the neighbour, seen from there */
static PetscScalar Value(const ProductCase *pc, const HJCoefficients *a, PetscInt slot, const PetscInt point[3])
{
  const Case *c     = &pc->c;
  PetscInt    at[3] = {point[0], point[1], point[2]}, off[3];

  HJSlotOffset(a, slot, off);
  if (pc->symmetric && off[0] + 3 * off[1] + 9 * off[2] < 0) {
    for (int d = 0; d < 3; d++) at[d] = (at[d] + off[d] + c->n[d]) % c->n[d];
    slot = HJSlotOpposite(a, slot);
  }
  if (c->kind == ROW) return Random(0, 0, 0, slot, 3);
  if (c->kind == DICTIONARY) return RowValue(pc, a, Material(pc, at), slot);
  return Random(at[0], at[1], at[2], slot, 3);
}

static PetscBool Leads(const Case *c, const HJCoefficients *a, PetscInt slot, const PetscInt point[3], PetscInt to[3])
{
  PetscInt off[3];

  HJSlotOffset(a, slot, off);
  for (int d = 0; d < 3; d++) {
    to[d] = point[d] + off[d];
    if (c->boundary[d] != DM_BOUNDARY_PERIODIC && (to[d] < 0 || to[d] >= c->n[d])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Arrays hold 0 where they lead outside; rows keep what they have elsewhere */
static PetscErrorCode Fill(const ProductCase *pc, Setup *s)
{
  HJCoefficients *a = &s->host;
  PetscInt        start[3], width[3];
  PetscCount      n = 0;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(s->da, &start[0], &start[1], &start[2], &width[0], &width[1], &width[2]));
  for (PetscInt k = start[2]; k < start[2] + width[2]; k++) {
    for (PetscInt j = start[1]; j < start[1] + width[1]; j++) {
      for (PetscInt i = start[0]; i < start[0] + width[0]; i++, n++) {
        const PetscInt   at[3]    = {i, j, k};
        const PetscInt   material = Material(pc, at);
        const MatStencil row      = {.i = i, .j = j, .k = k};

        if (a->index) a->index[n] = (unsigned char)material;
        for (PetscInt slot = 0; slot < a->nslots; slot++) {
          const PetscScalar v     = Value(pc, a, slot, at);
          PetscInt          to[3] = {0, 0, 0};
          const PetscBool   leads = Leads(&pc->c, a, slot, at, to);
          const MatStencil  col   = {.i = to[0], .j = to[1], .k = to[2]};

          if (a->value) a->value[slot * a->npoints + n] = leads ? v : 0.0;
          else a->rows[(a->index ? material : 0) * a->nslots + slot] = v;
          if (leads) PetscCall(MatSetValuesStencil(s->aij, 1, &row, 1, &col, &v, ADD_VALUES));
        }
      }
    }
  }
  /* a material that this rank does not have */
  for (PetscInt i = 0; i < a->nrows && a->index; i++) {
    for (PetscInt slot = 0; slot < a->nslots; slot++) a->rows[i * a->nslots + slot] = RowValue(pc, a, i, slot);
  }
  PetscCall(MatAssemblyBegin(s->aij, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->aij, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetupCreate(const ProductCase *pc, const HJBackendOps *ops, Setup *s)
{
  HJExchange  exchange = {.timeout = 60};
  const char *why;

  PetscFunctionBegin;
  s->ops = ops;
  PetscCall(CaseNewDM(&pc->c, &s->da));
  PetscCall(DMSetFromOptions(s->da));
  PetscCall(DMSetUp(s->da));
  PetscCall(HJGridCreate(s->da, &s->grid));
  PetscCall(DMSetMatType(s->da, MATAIJ));
  PetscCall(DMCreateMatrix(s->da, &s->aij));
  PetscCall(CoefficientsCreate(&pc->c, pc->symmetric, HJBoxSize(&s->grid.owned), &s->host));
  if (pc->walls) {
    s->host.nrows = 65;
    PetscCall(PetscRealloc(s->host.nrows * s->host.nslots * sizeof(PetscScalar), &s->host.rows));
  }
  PetscCall(Fill(pc, s));
  PetscCall(CoefficientsUpload(ops, &s->host, &s->a));
  if ((pc->layers || pc->walls) && PetscMemTypeDevice(ops->mtype)) {
    PetscMPIInt size;

    PetscCall(HJArraysIn(ops->mtype)->frame(&s->a, &s->grid, &s->a.frame));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (size == 1 && pc->walls)
      PetscCheck(s->a.frame.wall >= 0 && s->a.frame.dropped == (PetscBool)(pc->walls == COLUMNS_DROPPED), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Walls are not found: row %" PetscInt_FMT ", dropped %d", s->a.frame.wall, s->a.frame.dropped);
  }
  PetscCall(HJOperatorChooseExchange(PETSC_COMM_WORLD, PC_HJACOBI_EXCHANGE_AUTO, ops, &exchange.ops, &why));
  PetscCall(HJProductsCreate(s->da, &s->grid, ops, exchange, &s->products));
  s->tol = 4 * PETSC_MACHINE_EPSILON * (s->a.nslots + 2) * (s->a.nslots + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetupDestroy(Setup *s)
{
  PetscFunctionBegin;
  PetscCall(HJProductsDestroy(&s->products));
  PetscCall(CoefficientsFree(s->ops, &s->a));
  PetscCall(CoefficientsDestroy(&s->host));
  PetscCall(MatDestroy(&s->aij));
  PetscCall(DMDestroy(&s->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers in a vector of the DM, or one on the host */
static PetscErrorCode CreateVector(const Setup *s, PetscInt salt, PetscBool on_host, Vec *v)
{
  PetscInt     first, n;
  PetscScalar *a;

  PetscFunctionBegin;
  if (on_host) PetscCall(VecCreateMPI(PETSC_COMM_WORLD, (PetscInt)s->a.npoints, PETSC_DETERMINE, v));
  else PetscCall(DMCreateGlobalVector(s->da, v));
  PetscCall(VecGetOwnershipRange(*v, &first, NULL));
  PetscCall(VecGetLocalSize(*v, &n));
  PetscCall(VecGetArrayWrite(*v, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = Random(first + i, 0, 0, 0, salt);
  PetscCall(VecRestoreArrayWrite(*v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Difference(Vec x, Vec y, PetscReal *diff)
{
  const PetscScalar *xa, *ya;
  PetscInt           n;

  PetscFunctionBegin;
  *diff = 0;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n; i++) *diff = xa[i] == ya[i] || PetscAbsScalar(xa[i] - ya[i]) <= *diff ? *diff : PetscAbsScalar(xa[i] - ya[i]);
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum { WITHOUT, OTHER, UPDATE } Addend;

/* y = b + alpha A x by the coefficients, against AIJ; staged: x, or y, lies on the host */
static PetscErrorCode Compare(Setup *s, PetscBool transpose, Addend addend, PetscScalar alpha, PetscInt staged, PetscReal *worst)
{
  Vec       x, b, y, xr, br, want;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(CreateVector(s, 1, (PetscBool)(staged == 1), &x));
  PetscCall(CreateVector(s, 2, PETSC_FALSE, &b));
  PetscCall(CreateVector(s, 2, (PetscBool)(staged == 2), &y));
  PetscCall(CreateVector(s, 1, PETSC_TRUE, &xr));
  PetscCall(CreateVector(s, 2, PETSC_TRUE, &br));
  PetscCall(VecDuplicate(br, &want));
  if (transpose) PetscCall(MatMultTranspose(s->aij, xr, want));
  else PetscCall(MatMult(s->aij, xr, want));
  PetscCall(VecScale(want, alpha));
  if (addend != WITHOUT) PetscCall(VecAXPY(want, 1.0, br));
  PetscCall(HJProductsApply(s->products, &s->a, transpose, alpha, x, addend == WITHOUT ? NULL : addend == OTHER ? b : y, y));
  PetscCall(Difference(y, want, &diff));
  *worst = diff <= *worst ? *worst : diff;
  PetscCall(HJTestDestroy(&x, &b, &y, &xr, &br, &want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two transposed products are the same, bit by bit */
static PetscErrorCode Repeats(Setup *s, PetscBool *same)
{
  Vec       x, y, z;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(CreateVector(s, 1, PETSC_FALSE, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(HJProductsApply(s->products, &s->a, PETSC_TRUE, 1.5, x, NULL, y));
  PetscCall(HJProductsApply(s->products, &s->a, PETSC_TRUE, 1.5, x, NULL, z));
  PetscCall(Difference(y, z, &diff));
  *same = (PetscBool)(diff == 0);
  PetscCall(HJTestDestroy(&x, &y, &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const ProductCase *pc, const HJBackendOps *ops)
{
  const PetscScalar alpha[] = {1.0, -1.0, 0.75};
  PetscReal         plain = 0, split = 0, transposed = 0, staged = 0;
  PetscBool         same = PETSC_FALSE;
  Setup             s;
  char              name[256];

  PetscFunctionBegin;
  PetscCall(SetupCreate(pc, ops, &s));
  for (Addend addend = WITHOUT; addend <= UPDATE; addend++) {
    s.products->split = PETSC_FALSE;
    PetscCall(Compare(&s, PETSC_FALSE, addend, alpha[addend], 0, &plain));
    s.products->split = PETSC_TRUE;
    PetscCall(Compare(&s, PETSC_FALSE, addend, alpha[addend], 0, &split));
    PetscCall(Compare(&s, PETSC_TRUE, addend, alpha[addend], 0, &transposed));
  }
  PetscCall(Compare(&s, PETSC_FALSE, OTHER, -1.0, 1, &staged));
  PetscCall(Compare(&s, PETSC_TRUE, UPDATE, 2.0, 2, &staged));
  PetscCall(Compare(&s, PETSC_FALSE, WITHOUT, 1.0, 0, &plain)); /* the ghosts outside the domain are still 0 */
  PetscCall(Repeats(&s, &same));
  PetscCall(CaseName(&pc->c, name, sizeof(name)));
  PetscCall(HJTestOK((PetscBool)(plain <= s.tol && split <= s.tol && transposed <= s.tol && staged <= s.tol && same),
                     "%s%s%s%s: product %.1e, interior first %.1e, transposed %.1e%s, vectors elsewhere %.1e <= %.1e", name,
                     pc->symmetric ? ", symmetric" : "", pc->layers ? ", but in outermost layers one row" : "",
                     pc->walls == COLUMNS_KEPT ? ", walls"
                     : pc->walls               ? ", walls without columns"
                                               : "",
                     (double)plain, (double)split, (double)transposed, same ? "" : " (differs when repeated)", (double)staged,
                     (double)s.tol));
  PetscCall(SetupDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every dimension, shape and storage on small grids: periodic ones of one or two points a rank too */
static PetscErrorCode TestSmall(const HJBackendOps *ops)
{
  const DMBoundaryType boundary[] = {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED};
  PetscRandom          random;
  PetscMPIInt          size;
  PetscReal            r;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt i = 0; i < 60; i++) {
    ProductCase pc = {.c = {.dim = 1 + i % 3, .kind = (Kind)(i / 3 % 3)}};

    pc.c.box     = (PetscBool)(pc.c.dim > 1 && i / 9 % 2);
    pc.symmetric = (PetscBool)(pc.c.kind != DICTIONARY && i / 18 % 2);
    for (PetscInt d = 0; d < 3; d++) {
      PetscCall(PetscRandomGetValueReal(random, &r));
      pc.c.n[d] = d >= pc.c.dim ? 1 : i < 18 ? size + i % 2 : size + (PetscInt)(r * (d ? 12 : 50));
      PetscCall(PetscRandomGetValueReal(random, &r));
      pc.c.boundary[d] = d >= pc.c.dim ? DM_BOUNDARY_NONE : boundary[(int)(2.999 * r)];
    }
    PetscCall(TestCase(&pc, ops));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of which each rank has tiles that touch no end */
static PetscErrorCode TestLarge(const HJBackendOps *ops)
{
  const Case grids[] = {{.dim = 1, .n = {1001, 1, 1}},
                        {.dim = 2, .n = {257, 67, 1}, .boundary = {DM_BOUNDARY_PERIODIC}},
                        {.dim = 2, .n = {213, 62, 1}, .box = PETSC_TRUE},
                        {.dim = 3, .n = {131, 19, 23}, .boundary = {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC}},
                        {.dim = 3, .n = {103, 15, 11}, .box = PETSC_TRUE},
                        {.dim = 3, .n = {95, 13, 12}, .box = PETSC_TRUE, .boundary = {DM_BOUNDARY_PERIODIC}}};

  PetscFunctionBegin;
  for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
    for (Kind kind = ROW; kind <= ARRAYS; kind++) {
      for (int symmetric = 0; symmetric < (kind == ARRAYS ? 2 : 1); symmetric++) {
        ProductCase pc = {.c = grids[g], .symmetric = (PetscBool)symmetric};

        pc.c.kind = kind;
        PetscCall(TestCase(&pc, ops));
      }
    }
    for (PetscInt layers = 1; layers <= 2; layers++) {
      ProductCase pc = {.c = grids[g], .layers = layers};

      pc.c.kind = DICTIONARY;
      PetscCall(TestCase(&pc, ops));
    }
    for (Walls walls = COLUMNS_KEPT; walls <= COLUMNS_DROPPED; walls++) {
      ProductCase pc = {.c = grids[g], .walls = walls};

      pc.c.kind = DICTIONARY;
      PetscCall(TestCase(&pc, ops));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops         = &HJBackendHost;
  char                backend[16] = "host";
  PetscBool           small       = PETSC_FALSE;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL)); /* alone: under a slow checker */
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(backend, "cuda")) ops = &HJBackendCUDA;
#endif
  PetscCall(TestSmall(ops));
  if (!small) PetscCall(TestLarge(ops));
  return HJTestEnd();
}
