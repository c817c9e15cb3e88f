/*
   Which kernels take which operator on which GPU: the ordered table of src/cuda/backend/hjcuda.cu, asserted. Arithmetic alone, so it runs
   without a GPU. A fall to the plain kernel is a failure here, not a slow run that nobody sees.
*/
#include "hjdevices.h"
#include "hjcapture.h"

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
      "plain", 1, 1                                                                                                                        \
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
  grid->min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) grid->N[d] = grid->owned.hi[d] = grid->domain.hi[d] = d < dim ? n : 1;
}

static void FillStencil(PetscInt dim, HJShape shape, Kind kind, const HJGrid *grid, HJStencil *st)
{
  const PetscInt rows[] = {1, 2, 27, 255, 256, 0, 0};

  memset(st, 0, sizeof(*st));
  st->dim     = dim;
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
      const char   *name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, NULL);
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
    {3, {33, 33, 33}, HJ_STAR, ONE, 7, NO},
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
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, dim < 3 ? tile : small);
        PetscCall(PetscStrcmp(name, registers ? family : "tiles", &same));
        PetscCall(
          HJTestOK(same, "%s: %" PetscInt_FMT "D stale tiles, %s: %s", HJTestDeviceNames[d], dim, KindNames[kind], name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, thin);
        PetscCall(PetscStrcmp(name, registers ? "lines in registers" : "tiles", &same));
        PetscCall(HJTestOK(same, "%s: %" PetscInt_FMT "D stale tiles of one line, %s: %s", HJTestDeviceNames[d], dim, KindNames[kind],
                           name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, large);
        if (registers && dim == 2)
          PetscCall(HJTestOK((PetscBool)(!name == !d), "%s: 2D tiles of 64 points: %s", HJTestDeviceNames[d], name ? name : "none"));
        name = HJCUDAPredictKernels(&HJTestDevices[d], &grid, &st, huge);
        if (dim > 1)
          PetscCall(
            HJTestOK((PetscBool)!name, "%s: %" PetscInt_FMT "D tiles of 400 points, %s: none", HJTestDeviceNames[d], dim, KindNames[kind]));
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
  PetscCall(TestTooWide());
  failed = HJTestDone();
#else
  PetscCall(HJTestSkip("built without CUDA"));
#endif
  PetscCall(PetscFinalize());
  return failed;
}
