/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which kernels take which operator on which GPU: the ordered table of src/cuda/backend/hjtable.cu, asserted. Arithmetic alone, so it runs
   without a GPU. A fall to the plain kernel is a failure here, not a slow run that nobody sees.
*/
#include "hjdevices.h"
#include "hjcapture.h"
#include "core/hjrestriction.h"

#if defined(HJACOBI_HAVE_CUDA)

/* One row of the dictionary, few or many; arrays */
typedef enum { ONE, TWO, FEW, MOST, ALL, VARIABLE, SYMMETRIC } Kind;

static const char *const KindNames[] = {"one row", "2 rows", "27 rows", "255 rows", "256 rows", "variable", "symmetric"};

/* What is expected: the family, and the most and the best subiterations of a sweep */
typedef struct {
  const char *family;
  int         most, best;
} Choice;

  #define PLAIN                                                                                                                            \
    {                                                                                                                                      \
      "general", 1, 1                                                                                                                      \
    }
  #define LINE                                                                                                                             \
    {                                                                                                                                      \
      "1D line", 64, 48                                                                                                                    \
    }
  #define ON_CHIP(m, b)                                                                                                                    \
    {                                                                                                                                      \
      "on chip", m, b                                                                                                                      \
    }
  #define FLAT(m, b)                                                                                                                       \
    {                                                                                                                                      \
      "2D stream", m, b                                                                                                                    \
    }
  #define SOLID(m, b)                                                                                                                      \
    {                                                                                                                                      \
      "3D stream", m, b                                                                                                                    \
    }
  #define ARRAYS                                                                                                                           \
    {                                                                                                                                      \
      "3D stream of coefficient arrays", 2, 2                                                                                              \
    }
  #define TRIPLES                                                                                                                          \
    {                                                                                                                                      \
      "3D stream of coefficient arrays by columns", 3, 3                                                                                   \
    }
  #define PAIRS                                                                                                                            \
    {                                                                                                                                      \
      "3D stream of coefficient arrays by columns", 2, 2                                                                                   \
    }
  #define CLUSTERS                                                                                                                         \
    {                                                                                                                                      \
      "3D stream of coefficient arrays in clusters", 3, 3                                                                                  \
    }
  #define EVERYWHERE(...)                                                                                                                  \
    {                                                                                                                                      \
      __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__                                                                      \
    }

/* Devices in the order of HJTestDevices: T4, RTX 4090, A100, H200, B200 */
static const struct {
  PetscInt dim;
  HJShape  shape;
  Kind     kind;
  PetscInt n; /* points in each direction */
  Choice   choice[HJ_TEST_DEVICES];
} table[] = {
  {1, HJ_STAR, ONE, 4097, EVERYWHERE(ON_CHIP(64, 32))},
  {1, HJ_STAR, VARIABLE, 4097, EVERYWHERE(ON_CHIP(64, 32))},
  {1, HJ_STAR, ONE, 1000000, EVERYWHERE(LINE)},
  {1, HJ_STAR, ALL, 1000000, EVERYWHERE(LINE)},
  {1, HJ_STAR, VARIABLE, 1000000, EVERYWHERE(PLAIN)},
  {2, HJ_STAR, ONE, 65, {ON_CHIP(16, 8), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {2, HJ_BOX, FEW, 33, EVERYWHERE(ON_CHIP(64, 64))},
  {2, HJ_BOX, VARIABLE, 33, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, ONE, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, FEW, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, ALL, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, VARIABLE, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, SYMMETRIC, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_BOX, ONE, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_BOX, FEW, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_BOX, ALL, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_BOX, VARIABLE, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_BOX, SYMMETRIC, 129, EVERYWHERE(ON_CHIP(16, 8))},
  {2, HJ_STAR, ONE, 4097, EVERYWHERE(FLAT(10, 10))},
  {2, HJ_BOX, ONE, 4097, EVERYWHERE(FLAT(6, 5))},
  {2, HJ_STAR, TWO, 4097, EVERYWHERE(FLAT(8, 8))},
  {2, HJ_STAR, FEW, 4097, EVERYWHERE(FLAT(8, 7))},
  {2, HJ_BOX, FEW, 4097, EVERYWHERE(FLAT(6, 5))},
  {2, HJ_STAR, ALL, 4097, EVERYWHERE(FLAT(8, 7))},
  {2, HJ_BOX, ALL, 4097, EVERYWHERE(FLAT(6, 5))},
  {2, HJ_STAR, VARIABLE, 4097, EVERYWHERE(FLAT(6, 6))},
  {2, HJ_STAR, SYMMETRIC, 4097, EVERYWHERE(FLAT(8, 8))},
  {2, HJ_BOX, VARIABLE, 4097, EVERYWHERE(PLAIN)},
  {2, HJ_BOX, SYMMETRIC, 4097, EVERYWHERE(FLAT(6, 6))},
  {3, HJ_STAR, ONE, 33, {ON_CHIP(6, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_STAR, FEW, 33, {ON_CHIP(6, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_STAR, ALL, 33, {ON_CHIP(6, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_STAR, VARIABLE, 33, {ON_CHIP(7, 4), ON_CHIP(8, 4), ON_CHIP(8, 4), ON_CHIP(8, 4), ON_CHIP(8, 4)}},
  {3, HJ_STAR, SYMMETRIC, 33, {ON_CHIP(7, 4), ON_CHIP(8, 4), ON_CHIP(8, 4), ON_CHIP(8, 4), ON_CHIP(8, 4)}},
  {3, HJ_BOX, ONE, 33, {ON_CHIP(7, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_BOX, FEW, 33, {ON_CHIP(7, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_BOX, ALL, 33, {ON_CHIP(7, 4), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_BOX, VARIABLE, 17, EVERYWHERE(ON_CHIP(64, 64))},
  {3, HJ_BOX, VARIABLE, 33, {PLAIN, ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_BOX, VARIABLE, 65, EVERYWHERE(PLAIN)},
  {3, HJ_BOX, VARIABLE, 129, EVERYWHERE(PAIRS)},
  {3, HJ_BOX, SYMMETRIC, 17, EVERYWHERE(ON_CHIP(64, 64))},
  {3, HJ_BOX, SYMMETRIC, 33, {PLAIN, ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64), ON_CHIP(64, 64)}},
  {3, HJ_BOX, SYMMETRIC, 65, EVERYWHERE(PLAIN)},
  {3, HJ_BOX, SYMMETRIC, 129, EVERYWHERE(PAIRS)},
  {3, HJ_STAR, ONE, 129, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 2), SOLID(4, 2), SOLID(4, 2)}},
  {3, HJ_STAR, FEW, 129, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 2), SOLID(4, 2), SOLID(4, 2)}},
  {3, HJ_STAR, MOST, 129, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 2), SOLID(4, 2), SOLID(4, 2)}},
  {3, HJ_STAR, ONE, 385, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 4), SOLID(4, 4), SOLID(4, 4)}},
  {3, HJ_STAR, FEW, 385, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 4), SOLID(4, 4), SOLID(4, 4)}},
  {3, HJ_STAR, MOST, 385, {SOLID(3, 2), SOLID(3, 2), SOLID(4, 4), SOLID(4, 4), SOLID(4, 4)}},
  {3, HJ_BOX, ONE, 385, EVERYWHERE(SOLID(2, 2))},
  {3, HJ_BOX, FEW, 385, EVERYWHERE(SOLID(2, 2))},
  {3, HJ_BOX, MOST, 385, {PLAIN, PLAIN, SOLID(2, 2), SOLID(2, 2), SOLID(2, 2)}},
  {3, HJ_STAR, ALL, 385, EVERYWHERE(PLAIN)},
  {3, HJ_BOX, ALL, 385, EVERYWHERE(PLAIN)},
  {3, HJ_STAR, VARIABLE, 129, EVERYWHERE(TRIPLES)},
  {3, HJ_STAR, VARIABLE, 385, {ARRAYS, ARRAYS, ARRAYS, CLUSTERS, CLUSTERS}},
  {3, HJ_BOX, VARIABLE, 385, EVERYWHERE(PAIRS)},
  {3, HJ_STAR, SYMMETRIC, 129, EVERYWHERE(TRIPLES)},
  {3, HJ_STAR, SYMMETRIC, 385, {ARRAYS, ARRAYS, ARRAYS, CLUSTERS, CLUSTERS}},
  {3, HJ_BOX, SYMMETRIC, 385, EVERYWHERE(PAIRS)},
};

static void FillGrid(PetscInt dim, PetscInt n, HJGrid *grid)
{
  memset(grid, 0, sizeof(*grid));
  grid->dim       = dim;
  grid->dof       = 1;
  grid->min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) grid->N[d] = grid->owned.hi[d] = grid->domain.hi[d] = d < dim ? n : 1;
}

static void FillStencil(PetscInt dim, HJShape shape, Kind kind, const HJGrid *grid, HJStencil *st)
{
  const PetscInt rows[] = {1, 2, 27, 255, 256, 0, 0};

  memset(st, 0, sizeof(*st));
  st->dim     = dim;
  st->dof     = 1;
  st->shape   = shape;
  st->storage = kind == VARIABLE ? HJ_VARIABLE : kind == SYMMETRIC ? HJ_SYMMETRIC : HJ_DICTIONARY;
  st->nslots  = HJShapeSlots(dim, shape);
  st->nrows   = rows[kind];
  st->box     = grid->owned;
}

static PetscErrorCode TestTable(void)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(table); i++) {
    HJGrid    grid;
    HJStencil st;

    FillGrid(table[i].dim, table[i].n, &grid);
    FillStencil(table[i].dim, table[i].shape, table[i].kind, &grid, &st);
    for (int d = 0; d < HJ_TEST_DEVICES; d++) {
      const Choice *want = &table[i].choice[d];
      const char   *name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, HJ_EXACT, 0, NULL);
      HJLimits      limits;
      PetscBool     same;

      PetscCall(HJCUDAPredict(&HJTestDevices[d], &grid, &st, &limits));
      PetscCall(PetscStrcmp(name, want->family, &same));
      if (limits.max_count != want->most || limits.best_count != want->best) same = PETSC_FALSE;
      PetscCall(HJTestOK(same, "%s: %" PetscInt_FMT "D %s, %s, %" PetscInt_FMT " points in each direction: %s, at most %d, best %d",
                         HJTestDeviceNames[d], table[i].dim, table[i].shape == HJ_STAR ? "star" : "box", KindNames[table[i].kind],
                         table[i].n, want->family, want->most, want->best));
      if (!same)
        PetscCall(HJTestNote("chosen: %s, at most %" PetscInt_FMT ", best %" PetscInt_FMT, name, limits.max_count, limits.best_count));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whose sweeps wrap on a rank that is its own neighbour, in the directions of the mask: then nothing is exchanged */
static PetscErrorCode TestWraps(void)
{
  enum { NO, YES, NO_CLUSTERS /* on GPUs that have none */ };
  const struct {
    PetscInt dim, n[3];
    HJShape  shape;
    Kind     kind;
    unsigned mask;
    int      wraps;
  } cases[] = {
    {1, {1000, 1, 1}, HJ_STAR, VARIABLE, 1, YES},
    {1, {1000000, 1, 1}, HJ_STAR, FEW, 1, YES},
    {2, {4096, 4096, 1}, HJ_STAR, ONE, 3, YES},
    {2, {4096, 4096, 1}, HJ_BOX, ONE, 3, YES},
    {2, {4096, 4096, 1}, HJ_STAR, FEW, 3, NO},
    {2, {4096, 4096, 1}, HJ_BOX, FEW, 2, YES},
    {2, {4096, 4096, 1}, HJ_STAR, SYMMETRIC, 1, YES},
    {2, {4096, 4096, 1}, HJ_STAR, VARIABLE, 3, YES},
    {2, {128, 4096, 1}, HJ_STAR, ONE, 3, YES},
    {2, {127, 4096, 1}, HJ_STAR, ONE, 3, NO},
    {2, {127, 4096, 1}, HJ_STAR, ONE, 2, YES},
    {2, {4096, 100, 1}, HJ_STAR, ONE, 1, YES},
    {2, {129, 129, 1}, HJ_STAR, ONE, 3, YES},
    {2, {129, 129, 1}, HJ_STAR, ONE, 2, YES},
    {2, {256, 256, 1}, HJ_BOX, VARIABLE, 3, YES},
    {3, {17, 17, 17}, HJ_STAR, ONE, 7, YES},
    {3, {33, 33, 33}, HJ_BOX, ONE, 7, NO},
    {3, {256, 256, 256}, HJ_STAR, ONE, 7, YES},
    {3, {256, 256, 256}, HJ_STAR, FEW, 7, YES},
    {3, {256, 256, 256}, HJ_BOX, ONE, 7, YES},
    {3, {256, 256, 256}, HJ_BOX, FEW, 7, NO},
    {3, {64, 16, 500}, HJ_STAR, ONE, 7, YES},
    {3, {63, 16, 500}, HJ_STAR, ONE, 7, NO},
    {3, {64, 15, 500}, HJ_STAR, ONE, 7, NO},
    {3, {64, 15, 500}, HJ_STAR, ONE, 5, YES},
    {3, {256, 256, 256}, HJ_STAR, VARIABLE, 4, NO_CLUSTERS},
    {3, {33, 33, 33}, HJ_STAR, VARIABLE, 4, YES},
    {3, {33, 33, 33}, HJ_BOX, VARIABLE, 7, YES},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJGrid    grid;
    HJStencil st;
    HJLimits  limits;

    FillGrid(cases[i].dim, 1, &grid);
    grid.min_width = PETSC_INT_MAX;
    for (int d = 0; d < cases[i].dim; d++) {
      grid.N[d] = grid.owned.hi[d] = grid.domain.hi[d] = cases[i].n[d];
      grid.periodic[d]                                 = (PetscBool)(cases[i].mask >> d & 1);
      grid.neighbor[d][0] = grid.neighbor[d][1] = grid.periodic[d];
      if (grid.periodic[d]) grid.min_width = PetscMin(grid.min_width, grid.N[d]);
    }
    FillStencil(cases[i].dim, cases[i].shape, cases[i].kind, &grid, &st);
    for (int d = 0; d < HJ_TEST_DEVICES; d++) {
      const int wraps = cases[i].wraps == NO_CLUSTERS ? !HJTestDevices[d].clusters : cases[i].wraps;

      PetscCall(HJCUDAPredict(&HJTestDevices[d], &grid, &st, &limits));
      PetscCall(HJTestOK((PetscBool)((int)limits.wraps == wraps),
                         "%s: %" PetscInt_FMT "D %s, %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                         ", periodic in %u: sweeps %s",
                         HJTestDeviceNames[d], cases[i].dim, cases[i].shape == HJ_STAR ? "star" : "box", KindNames[cases[i].kind],
                         cases[i].n[0], cases[i].n[1], cases[i].n[2], cases[i].mask, wraps ? "wrap" : "do not"));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Stale tiles: the default of 32 runs everywhere; one that is too large is taken by none. A T4 has no room for 64 x 64 points and
   their copy
*/
static PetscErrorCode TestTiles(void)
{
  const PetscInt tile[3] = {32, 32, 32}, small[3] = {8, 8, 8}, thin[3] = {32, 1, 1}, large[3] = {64, 64, 1}, huge[3] = {400, 400, 400};

  PetscFunctionBegin;
  for (int d = 0; d < HJ_TEST_DEVICES; d++) {
    for (PetscInt dim = 1; dim <= 3; dim++) {
      for (Kind kind = ONE; kind <= SYMMETRIC; kind++) {
        const PetscBool registers = (PetscBool)(dim < 3 && kind < VARIABLE);
        const char     *family    = dim == 1 ? "lines in registers" : "2D tiles in registers";
        HJGrid          grid;
        HJStencil       st;
        const char     *name;
        PetscBool       same;

        FillGrid(dim, 500, &grid);
        FillStencil(dim, HJ_STAR, kind, &grid, &st);
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, HJ_STALE, 0, dim < 3 ? tile : small);
        PetscCall(PetscStrcmp(name, registers ? family : "tiles", &same));
        PetscCall(
          HJTestOK(same, "%s: %" PetscInt_FMT "D stale tiles, %s: %s", HJTestDeviceNames[d], dim, KindNames[kind], name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, HJ_STALE, 0, thin);
        PetscCall(PetscStrcmp(name, registers ? "lines in registers" : "tiles", &same));
        PetscCall(HJTestOK(same, "%s: %" PetscInt_FMT "D stale tiles of one line, %s: %s", HJTestDeviceNames[d], dim, KindNames[kind],
                           name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, HJ_STALE, 0, large);
        if (registers && dim == 2)
          PetscCall(HJTestOK((PetscBool)(!name == !d), "%s: 2D tiles of 64 points: %s", HJTestDeviceNames[d], name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, HJ_STALE, 0, huge);
        if (dim > 1)
          PetscCall(
            HJTestOK((PetscBool)!name, "%s: %" PetscInt_FMT "D tiles of 400 points, %s: none", HJTestDeviceNames[d], dim, KindNames[kind]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What sweeps may do besides, and what single ones, slabs and whole grids have of their own; NULL: none does. A T4 has no room for the
   largest patches, those of 1025^2 */
static const struct {
  HJKind      kind;
  PetscInt    count, dim;
  HJShape     shape;
  Kind        storage;
  PetscInt    n;
  const char *family[HJ_TEST_DEVICES];
} others[] = {
  {HJ_WHOLE, 2, 2, HJ_STAR, ONE, 65, EVERYWHERE("2D patches")},
  {HJ_WHOLE, 8, 2, HJ_STAR, ONE, 1025, {NULL, "2D patches", "2D patches", "2D patches", "2D patches"}},
  {HJ_WHOLE, 2, 2, HJ_STAR, ONE, 4097, EVERYWHERE(NULL)},
  {HJ_WHOLE, 2, 2, HJ_STAR, TWO, 65, EVERYWHERE(NULL)},
  {HJ_WHOLE, 2, 2, HJ_BOX, ONE, 65, EVERYWHERE(NULL)},
  {HJ_SINGLE, 1, 2, HJ_STAR, ONE, 4097, EVERYWHERE("general")},
  {HJ_SINGLE, 1, 3, HJ_BOX, VARIABLE, 129, EVERYWHERE("27 coefficient arrays")},
  {HJ_SINGLE, 1, 3, HJ_BOX, SYMMETRIC, 17, EVERYWHERE("27 coefficient arrays")},
  {HJ_SINGLE, 1, 3, HJ_STAR, SYMMETRIC, 129, EVERYWHERE("general")},
  {HJ_CORRECTS, 3, 2, HJ_STAR, ONE, 1025, {NULL, "2D patches", "2D patches", "2D patches", "2D patches"}},
  {HJ_CORRECTS, 8, 2, HJ_STAR, ONE, 4097, EVERYWHERE("2D stream")},
  {HJ_CORRECTS, 40, 2, HJ_STAR, ONE, 4097, EVERYWHERE(NULL)},
  {HJ_CORRECTS, 4, 2, HJ_STAR, TWO, 4097, EVERYWHERE(NULL)},
  {HJ_CORRECTS, 4, 2, HJ_STAR, SYMMETRIC, 4097, EVERYWHERE("2D stream")},
  {HJ_CORRECTS, 4, 2, HJ_STAR, SYMMETRIC, 129, EVERYWHERE(NULL)},
  {HJ_CORRECTS, 4, 2, HJ_STAR, VARIABLE, 4097, EVERYWHERE(NULL)},
  {HJ_CORRECTS, 4, 2, HJ_BOX, SYMMETRIC, 4097, EVERYWHERE("2D stream")},
  {HJ_CORRECTS, 3, 3, HJ_STAR, ONE, 129, EVERYWHERE(NULL)},
  {HJ_RESTRICTS, 4, 2, HJ_STAR, ONE, 1025, {"2D stream", "2D patches", "2D patches", "2D patches", "2D patches"}},
  {HJ_RESTRICTS, 4, 2, HJ_STAR, ONE, 4097, EVERYWHERE("2D stream")},
  {HJ_RESTRICTS, 4, 2, HJ_STAR, SYMMETRIC, 4097, EVERYWHERE("2D stream")},
  {HJ_RESTRICTS, 4, 2, HJ_BOX, SYMMETRIC, 4097, EVERYWHERE("2D stream")},
  {HJ_RESTRICTS, 4, 2, HJ_STAR, VARIABLE, 4097, EVERYWHERE(NULL)},
  {HJ_LEAVES_RESIDUAL,
   3,
   3,
   HJ_STAR,
   SYMMETRIC,
   385,
   {NULL, NULL, NULL, "3D stream of coefficient arrays in clusters", "3D stream of coefficient arrays in clusters"}},
  {HJ_LEAVES_RESIDUAL, 2, 3, HJ_STAR, SYMMETRIC, 385, EVERYWHERE(NULL)},
  {HJ_LEAVES_RESIDUAL, 3, 3, HJ_STAR, VARIABLE, 385, EVERYWHERE(NULL)},
  {HJ_LEAVES_RESIDUAL, 3, 3, HJ_STAR, SYMMETRIC, 129, EVERYWHERE(NULL)},
  {HJ_SLAB, 0, 1, HJ_STAR, ONE, 1000000, EVERYWHERE("general")},
  {HJ_SLAB, 0, 2, HJ_STAR, ONE, 65, EVERYWHERE("2D stream")},
  {HJ_SLAB, 0, 2, HJ_STAR, FEW, 4097, EVERYWHERE("general")},
  {HJ_SLAB, 0, 2, HJ_STAR, SYMMETRIC, 4097, EVERYWHERE("general")},
  {HJ_SLAB, 0, 3, HJ_STAR, ONE, 33, EVERYWHERE("3D stream of slabs")},
  {HJ_SLAB, 0, 3, HJ_BOX, ONE, 385, EVERYWHERE("3D stream of slabs")},
  {HJ_SLAB, 0, 3, HJ_STAR, TWO, 385, EVERYWHERE("general")},
  {HJ_SLAB, 0, 3, HJ_STAR, VARIABLE, 385, EVERYWHERE("general")},
};

static const char *const HJKindNames[] =
  {"exact", "from zero", "whole grid", "single",        "with a correction", "that restrict",    "that leave their residual",
   "slabs", "stale",     "products",   "interpolation", "restriction",       "restriction apart"};

static PetscErrorCode CheckName(const char *name, const char *want, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(!name && !want);
  if (name && want) PetscCall(PetscStrcmp(name, want, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOthers(void)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(others); i++) {
    HJGrid    grid;
    HJStencil st;

    FillGrid(others[i].dim, others[i].n, &grid);
    FillStencil(others[i].dim, others[i].shape, others[i].storage, &grid, &st);
    for (int d = 0; d < HJ_TEST_DEVICES; d++) {
      const char *want = others[i].family[d];
      const char *name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, others[i].kind, others[i].count, NULL);
      PetscBool   same;

      PetscCall(CheckName(name, want, &same));
      PetscCall(HJTestOK(same,
                         "%s: sweeps %s, of %" PetscInt_FMT ", %" PetscInt_FMT "D %s, %s, %" PetscInt_FMT " points in each direction: %s",
                         HJTestDeviceNames[d], HJKindNames[others[i].kind], others[i].count, others[i].dim,
                         others[i].shape == HJ_STAR ? "star" : "box", KindNames[others[i].storage], others[i].n, want ? want : "none"));
      if (!same) PetscCall(HJTestNote("chosen: %s", name ? name : "none"));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More subiterations from a zero guess than from another one */
static PetscErrorCode TestFromZero(void)
{
  PetscFunctionBegin;
  for (int d = 0; d < HJ_TEST_DEVICES; d++) {
    for (Kind kind = ONE; kind <= SYMMETRIC; kind++) {
      const PetscInt want = kind == SYMMETRIC && HJTestDevices[d].clusters ? 4 : 0;
      HJGrid         grid;
      HJStencil      st;
      HJLimits       limits;

      FillGrid(3, 385, &grid);
      FillStencil(3, HJ_STAR, kind, &grid, &st);
      PetscCall(HJCUDAPredict(&HJTestDevices[d], &grid, &st, &limits));
      PetscCall(HJTestOK((PetscBool)(limits.from_zero == want), "%s: 3D star, %s: %" PetscInt_FMT " subiterations from zero, 0: as others",
                         HJTestDeviceNames[d], KindNames[kind], want));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two grids of a hierarchy, without periodicity */
static void FillTransfer(PetscInt dim, PetscInt n, HJTransfer *t)
{
  memset(t, 0, sizeof(*t));
  FillGrid(dim, n, &t->fine);
  FillGrid(dim, (n + 1) / 2, &t->coarse);
  t->points = t->fine.domain;
  for (int d = 0; d < 3; d++) {
    t->factor[d] = d < dim ? 2 : 1;
    t->last[d]   = 0.5;
  }
}

static void FillCoefficients(PetscInt dim, HJShape shape, HJCoefficientStorage storage, PetscBool symmetric, const HJGrid *grid,
                             HJCoefficients *a)
{
  memset(a, 0, sizeof(*a));
  a->dim       = dim;
  a->shape     = shape;
  a->nslots    = 1 + (shape == HJ_STAR ? 2 * dim : dim == 3 ? 26 : 8);
  a->storage   = storage;
  a->npoints   = HJBoxSize(&grid->owned);
  a->symmetric = symmetric;
}

static PetscErrorCode TestRestrictions(void)
{
  static PetscScalar norm2;
  static const char  tiles[] = "restriction in tiles", pairs[] = "restriction by pairs", march[] = "restriction";
  const struct {
    PetscInt             dim, n;
    HJShape              shape;
    HJCoefficientStorage storage;
    PetscBool            symmetric, norm;
    const char          *family[HJ_TEST_DEVICES];
  } cases[] = {
    {1, 1000001, HJ_STAR, HJ_COEFFICIENTS_ROW, PETSC_FALSE, PETSC_TRUE, EVERYWHERE(tiles)},
    {2, 129, HJ_STAR, HJ_COEFFICIENTS_ROW, PETSC_FALSE, PETSC_TRUE, EVERYWHERE(tiles)},
    {2, 1025, HJ_STAR, HJ_COEFFICIENTS_ROW, PETSC_FALSE, PETSC_TRUE, EVERYWHERE(pairs)},
    {2, 1025, HJ_BOX, HJ_COEFFICIENTS_DICTIONARY, PETSC_FALSE, PETSC_FALSE, EVERYWHERE(pairs)},
    {2, 1025, HJ_STAR, HJ_COEFFICIENTS_ARRAYS, PETSC_TRUE, PETSC_TRUE, EVERYWHERE(march)},
    {3, 33, HJ_BOX, HJ_COEFFICIENTS_ARRAYS, PETSC_TRUE, PETSC_FALSE, EVERYWHERE(tiles)},
    {3, 129, HJ_STAR, HJ_COEFFICIENTS_ROW, PETSC_FALSE, PETSC_TRUE, EVERYWHERE(pairs)},
    {3, 129, HJ_BOX, HJ_COEFFICIENTS_ROW, PETSC_FALSE, PETSC_TRUE, EVERYWHERE(march)},
    {3, 129, HJ_BOX, HJ_COEFFICIENTS_ARRAYS, PETSC_FALSE, PETSC_FALSE, EVERYWHERE(march)},
    {3, 129, HJ_BOX, HJ_COEFFICIENTS_ARRAYS, PETSC_TRUE, PETSC_TRUE, EVERYWHERE(march)},
    {3, 129, HJ_BOX, HJ_COEFFICIENTS_ARRAYS, PETSC_TRUE, PETSC_FALSE, EVERYWHERE(march)},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJTransfer     t;
    HJCoefficients a;
    HJRestriction  r = {.transfer = &t, .a = &a, .norm2 = cases[i].norm ? &norm2 : NULL};

    FillTransfer(cases[i].dim, cases[i].n, &t);
    FillCoefficients(cases[i].dim, cases[i].shape, cases[i].storage, cases[i].symmetric, &t.fine, &a);
    for (int d = 0; d < HJ_TEST_DEVICES; d++) {
      const char *name = HJCUDAPredictOther(&HJTestDevices[d], HJ_RESTRICTION, NULL, NULL, &r);
      PetscBool   same;

      PetscCall(CheckName(name, cases[i].family[d], &same));
      PetscCall(HJTestOK(same, "%s: residual and restriction, %" PetscInt_FMT "D, %" PetscInt_FMT " slots, storage %d: %s",
                         HJTestDeviceNames[d], cases[i].dim, a.nslots, (int)a.storage, cases[i].family[d]));
      if (!same) PetscCall(HJTestNote("chosen: %s", name ? name : "none"));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Halves of 27 arrays, and corrections that are added in place or to nothing, have kernels of their own on all GPUs */
static PetscErrorCode TestProducts(void)
{
  PetscFunctionBegin;
  for (int half = 0; half < 2; half++) {
    PetscScalar       x, b, y;
    HJTransfer        t;
    HJCoefficients    a;
    HJShell           shell;
    HJProduct         p = {.a = &a, .shell = &shell, .region = HJ_PRODUCT_ALL, .x = &x, .y = &y};
    HJTransferProduct i = {.transfer = &t, .shell = &shell, .x = &x, .y = &y};
    HJRestriction     r = {.a = &a};

    FillTransfer(3, 129, &t);
    FillCoefficients(3, HJ_BOX, HJ_COEFFICIENTS_ARRAYS, PETSC_FALSE, &t.fine, &a);
    HJShellSet(&t.fine, &shell);
    a.half = (PetscBool)half;
    for (int d = 0; d < HJ_TEST_DEVICES; d++) {
      const char *name;
      PetscBool   same;

      name = HJCUDAPredictOther(&HJTestDevices[d], HJ_PRODUCT, &p, NULL, NULL);
      PetscCall(CheckName(name, half ? "27 coefficient arrays" : "products", &same));
      PetscCall(
        HJTestOK(same, "%s: a product with %s of 27 arrays: %s", HJTestDeviceNames[d], half ? "half" : "all", name ? name : "none"));
      name = HJCUDAPredictOther(&HJTestDevices[d], HJ_RESTRICTS_APART, NULL, NULL, &r);
      PetscCall(CheckName(name, half ? "27 coefficient arrays" : NULL, &same));
      PetscCall(HJTestOK(same, "%s: a product before a restriction takes less time than one pass over %s of 27 arrays: %s",
                         HJTestDeviceNames[d], half ? "half" : "all", name ? "yes" : "no"));
      for (int added = 0; added < 2; added++) {
        i.b  = !added ? NULL : half ? &y : &b;
        name = HJCUDAPredictOther(&HJTestDevices[d], HJ_INTERPOLATION, NULL, &i, NULL);
        PetscCall(CheckName(name, added && !half ? "interpolation" : "interpolation, two lines a thread", &same));
        PetscCall(HJTestOK(same, "%s: interpolation%s: %s", HJTestDeviceNames[d],
                           !added ? ""
                           : half ? " that is added in place"
                                  : " that is added",
                           name ? name : "none"));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels count points in 32 bits: refused before anything is asked of a device */
static PetscErrorCode TestTooWide(void)
{
  const PetscInt n = PetscMin((PetscInt64)PETSC_INT_MAX, (PetscInt64)2200000000) - 10;
  HJGrid         grid;
  HJStencil      st;
  void          *ctx = NULL;
  PetscBool      failed;

  PetscFunctionBegin;
  FillGrid(1, n, &grid);
  FillStencil(1, HJ_STAR, ONE, &grid, &st);
  CaptureError(HJBackendCUDA.create(&grid, &st, &ctx), &failed);
  PetscCall(HJTestOK((PetscBool)(failed && strstr(message, "use more ranks")), "%" PetscInt_FMT " points in one direction are refused", n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  int failed = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(TestTable());
  PetscCall(TestWraps());
  PetscCall(TestTiles());
  PetscCall(TestOthers());
  PetscCall(TestFromZero());
  PetscCall(TestRestrictions());
  PetscCall(TestProducts());
  PetscCall(TestTooWide());
  failed = HJTestDone();
#else
  PetscCall(HJTestSkip("built without CUDA"));
#endif
  PetscCall(PetscFinalize());
  return failed;
}
