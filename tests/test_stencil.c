/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 7 */
/*
   Stencils read from matrices against the matrices themselves: products, ghost coefficients, storage; where there is a device, the same
   matrix read there, to the bit. Refresh, rounding, reasons: test_stencilvalues.c.
   With -time: set-up against filling and assembling the same matrix, on standard error (-time_repeat n, -time_n2 n, -time_n3 n).
*/
#include "hjstencilcase.h"

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
  PetscCall(HJTestDestroy(&A, &P, &G, &coarse, &fine));
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
  failed = HJTestDone();
  PetscCall(PetscFinalize());
  return failed;
}
