/* ranks: 1 2 4 */
/*
   MATHJSTENCIL: all ways to fill it make the same matrix, before and after other values; what it refuses, and that each refusal names the
   cure.
*/
#include "hjcase.h"
#include "hjcapture.h"
#include "core/hjcoefficients.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

/* Passes if some rank failed with a message that holds every word, and no rank that failed has another message */
static PetscErrorCode CheckSomeRank(PetscBool failed, const char *name, const char *words[])
{
  PetscBool   good = PETSC_TRUE;
  PetscMPIInt mine = failed ? 1 : 0, any;

  PetscFunctionBegin;
  for (PetscInt i = 0; words[i] && failed; i++) good = (PetscBool)(good && strstr(message, words[i]));
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(HJTestDetail("# message: %s", message));
  PetscCall(HJTestOK((PetscBool)(any && good), "%s", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Natural coordinates -> column of the matrix; -1 where there is no point. Of a local MatStencil, as MatSetValuesStencil() maps it */
static PetscErrorCode StencilToLocal(DM da, const MatStencil *s, PetscInt *local)
{
  PetscInt g[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(da, &g[0], &g[1], &g[2], &w[0], &w[1], &w[2]));
  *local = ((s->k - g[2]) * w[1] + s->j - g[1]) * w[0] + s->i - g[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A way to set a point's row */
typedef enum { STENCIL, LOCAL, GLOBAL, BLOCKED, BLOCKED_LOCAL, BLOCKED_STENCIL, COLUMNS, TWICE, NWAYS } Way;
static const char *const ways[] =
  {"MatSetValuesStencil, inserted", "MatSetValuesLocal",          "MatSetValues",    "MatSetValuesBlocked",
   "MatSetValuesBlockedLocal",      "MatSetValuesBlockedStencil", "column oriented", "added in two assemblies with a flush"};

static PetscErrorCode SetRow(Mat A, DM da, Way way, const PetscInt at[3], PetscInt n, const MatStencil col[], PetscScalar v[])
{
  const MatStencil       row = {.i = at[0], .j = at[1], .k = at[2]};
  PetscInt               r, c[27], gr, gc[27];
  ISLocalToGlobalMapping map;

  PetscFunctionBegin;
  PetscCall(StencilToLocal(da, &row, &r));
  for (PetscInt e = 0; e < n; e++) PetscCall(StencilToLocal(da, &col[e], &c[e]));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(ISLocalToGlobalMappingApply(map, 1, &r, &gr));
  PetscCall(ISLocalToGlobalMappingApply(map, n, c, gc));
  if (way == LOCAL) PetscCall(MatSetValuesLocal(A, 1, &r, n, c, v, ADD_VALUES));
  else if (way == BLOCKED) PetscCall(MatSetValuesBlocked(A, 1, &gr, n, gc, v, ADD_VALUES));
  else if (way == BLOCKED_LOCAL) PetscCall(MatSetValuesBlockedLocal(A, 1, &r, n, c, v, ADD_VALUES));
  else if (way == BLOCKED_STENCIL) PetscCall(MatSetValuesBlockedStencil(A, 1, &row, n, col, v, ADD_VALUES));
  else PetscCall(MatSetValues(A, 1, &gr, n, gc, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillBy(const Case *c, DM da, Way way, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  if (way == COLUMNS) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
  for (int pass = 0; pass < (way == TWICE ? 2 : 1); pass++) {
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
    for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
      const PetscInt at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};
      MatStencil     col[27];
      PetscScalar    v[27];
      const PetscInt n = CaseRow(c, at, 0, col, v);

      for (PetscInt e = 0; e < n && way == TWICE; e++) v[e] *= 0.5;
      PetscCall(SetRow(A, da, way, at, n, col, v));
    }
    if (way == TWICE) {
      PetscCall(MatAssemblyBegin(A, pass ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, pass ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (way == COLUMNS) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each entry of the AIJ matrix is set by a rank that has nothing to do with its row; insert: by that one alone, else a half each by it
   and the owner */
static PetscErrorCode FillFromOthers(Mat B, PetscBool insert, Mat A)
{
  Mat        *all;
  IS          is;
  PetscInt    N;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &is));
  PetscCall(MatCreateSubMatrices(B, 1, &is, &is, MAT_INITIAL_MATRIX, &all));
  for (PetscInt r = 0; r < N; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(all[0], r, &n, &columns, &values));
    for (PetscInt e = 0; e < n; e++) {
      const PetscScalar v = insert ? values[e] : values[e] * 0.5;

      if ((r + e) % size == rank) PetscCall(MatSetValues(A, 1, &r, 1, &columns[e], &v, insert ? INSERT_VALUES : ADD_VALUES));
      if ((r + e + 1) % size == rank && !insert) PetscCall(MatSetValues(A, 1, &r, 1, &columns[e], &v, ADD_VALUES));
    }
    PetscCall(MatRestoreRow(all[0], r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroySubMatrices(1, &all));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values on the host, or in the memory of the matrix' vectors */
static PetscErrorCode SetCOO(Mat A, PetscCount n, const PetscScalar v[], PetscBool there, InsertMode mode)
{
  Vec                values;
  PetscScalar       *a;
  const PetscScalar *read;
  VecType            type;

  PetscFunctionBegin;
  if (!there) {
    PetscCall(MatSetValuesCOO(A, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetVecType(A, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, &values));
  PetscCall(VecSetSizes(values, (PetscInt)n, (PetscInt)n));
  PetscCall(VecSetType(values, type));
  PetscCall(VecGetArrayWrite(values, &a));
  PetscCall(PetscArraycpy(a, v, n));
  PetscCall(VecRestoreArrayWrite(values, &a));
  PetscCall(VecScale(values, 1.0 + PETSC_MACHINE_EPSILON)); /* not a multiplication by 1, which does not move the values */
  PetscCall(VecScale(values, 1.0 / (1.0 + PETSC_MACHINE_EPSILON)));
  PetscCall(VecGetArrayReadAndMemType(values, &read, NULL));
  PetscCall(MatSetValuesCOO(A, read, mode));
  PetscCall(VecRestoreArrayReadAndMemType(values, &read));
  PetscCall(VecDestroy(&values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who has the entry e of row r: with whole entries mostly the rank that owns the row, with halves all in turn */
static PetscErrorCode EntryIsOurs(Mat B, PetscInt r, PetscInt e, PetscBool whole, PetscBool *ours)
{
  const PetscInt *ranges;
  PetscMPIInt     rank, size, owner = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRanges(B, &ranges));
  while (r >= ranges[owner + 1]) owner++;
  *ours = (PetscBool)((whole ? owner + ((r + e) % 7 == 0) : r + e) % size == rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last first, so that they are not in the order of rows */
static void ReverseEntries(PetscCount n, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  for (PetscCount e = 0; e < n / 2; e++) {
    const PetscCount  f  = n - 1 - e;
    const PetscInt    ie = i[e], je = j[e];
    const PetscScalar ve = v[e];

    i[e] = i[f];
    j[e] = j[f];
    v[e] = v[f];
    i[f] = ie;
    j[f] = je;
    v[f] = ve;
  }
}

/* A copy has the places of the COO format too, as one of AIJ has, also when the matrix itself has others since */
static PetscErrorCode DuplicateByCOO(Mat A, PetscCount n, const PetscScalar v[], PetscBool there)
{
  Mat       D;
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(SetCOO(D, n, v, there, INSERT_VALUES));
  PetscCall(MatEqual(A, D, &equal));
  PetscCall(HJTestOK(equal, "COO values set in a copy"));
  PetscCall(MatSetPreallocationCOO(A, 0, NULL, NULL));
  PetscCall(SetCOO(D, n, v, there, ADD_VALUES));
  PetscCall(MatCopy(D, A, SAME_NONZERO_PATTERN)); /* twice the values */
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Halves of entries of this rank's rows and of the next rank's, in COO, or whole ones; some are to be ignored. Values inserted, then the
   same again added, in a copy, and halved */
static PetscErrorCode FillByCOO(Mat B, PetscBool whole, PetscBool there, Mat A)
{
  Mat         *all;
  IS           is;
  PetscInt     N, *i, *j;
  PetscCount   n = 0;
  PetscScalar *v;
  PetscBool    ours;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &is));
  PetscCall(MatCreateSubMatrices(B, 1, &is, &is, MAT_INITIAL_MATRIX, &all));
  PetscCall(PetscMalloc3(60 * N + 1, &i, 60 * N + 1, &j, 60 * N + 1, &v));
  for (PetscInt r = 0; r < N; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           nnz;

    PetscCall(MatGetRow(all[0], r, &nnz, &columns, &values));
    for (PetscInt e = 0; e < nnz; e++) {
      for (PetscInt part = 0; part < (whole ? 1 : 2); part++) {
        PetscCall(EntryIsOurs(B, r, e + part, whole, &ours));
        if (!ours) continue;
        i[n]   = r;
        j[n]   = columns[e];
        v[n++] = whole ? values[e] : values[e] * 0.5;
      }
    }
    PetscCall(MatRestoreRow(all[0], r, &nnz, &columns, &values));
  }
  i[n]   = -1;
  j[n]   = 0;
  v[n++] = 99.0;
  if (whole) ReverseEntries(n, i, j, v);
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(PetscArrayzero(i, n)); /* they are the user's again */
  PetscCall(PetscArrayzero(j, n));
  PetscCall(SetCOO(A, n, v, there, INSERT_VALUES));
  PetscCall(SetCOO(A, n, v, there, ADD_VALUES));
  PetscCall(MatScale(A, 0.5));
  PetscCall(DuplicateByCOO(A, n, v, there));
  PetscCall(MatScale(A, 0.5));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(MatDestroySubMatrices(1, &all));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillArray(const Case *c, DM da, PetscInt o, Mat A)
{
  const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
  PetscInt       s[3], w[3];
  void          *array;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(MatHJStencilGetArray(A, off[0], off[1], off[2], &array));
  for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
    const PetscInt    at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};
    const PetscScalar v     = Entry(c, at, o, 0);

    if (c->dim == 1) ((PetscScalar *)array)[at[0]] = v;
    else if (c->dim == 2) ((PetscScalar **)array)[at[1]][at[0]] = v;
    else ((PetscScalar ***)array)[at[2]][at[1]][at[0]] = v;
  }
  PetscCall(MatHJStencilRestoreArray(A, off[0], off[1], off[2], &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same where the matrix lives */
static PetscErrorCode FillArrayThere(const Case *c, DM da, PetscInt o, Mat A)
{
  const PetscInt     off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
  PetscInt           s[3], w[3];
  PetscScalar       *array, *a;
  const PetscScalar *from;
  PetscMemType       mtype;
  Vec                values;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(DMCreateGlobalVector(da, &values));
  PetscCall(VecGetArrayWrite(values, &a));
  for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
    const PetscInt at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};

    a[p] = Entry(c, at, o, 0);
  }
  PetscCall(VecRestoreArrayWrite(values, &a));
  PetscCall(MatHJStencilGetArrayAndMemType(A, off[0], off[1], off[2], &array, &mtype));
  PetscCall(VecGetArrayRead(values, &from));
  if (PetscMemTypeHost(mtype)) PetscCall(PetscArraycpy(array, from, w[0] * w[1] * w[2]));
#if defined(HJACOBI_HAVE_CUDA)
  else PetscCall(HJBackendCUDA.copy(NULL, array, from, w[0] * w[1] * w[2]));
#endif
  PetscCall(VecRestoreArrayRead(values, &from));
  PetscCall(MatHJStencilRestoreArrayAndMemType(A, off[0], off[1], off[2], &array));
  PetscCall(VecDestroy(&values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads outside the domain is written too, and must not matter */
static PetscErrorCode FillByArrays(const Case *c, DM da, PetscBool there, Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};

    if ((c->dim < 3 && off[2]) || (c->dim < 2 && off[1])) continue;
    if (!c->box && PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) > 1) continue;
    if (there) PetscCall(FillArrayThere(c, da, o, A));
    else PetscCall(FillArray(c, da, o, A));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillByRow(const Case *c, Mat A)
{
  MatStencil     off[27];
  PetscScalar    v[27];
  PetscInt       n     = 0;
  const PetscInt at[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};

    if ((c->dim < 3 && d[2]) || (c->dim < 2 && d[1])) continue;
    if (!c->box && PetscAbs(d[0]) + PetscAbs(d[1]) + PetscAbs(d[2]) > 1) continue;
    off[n] = (MatStencil){.i = d[0], .j = d[1], .k = d[2]};
    v[n++] = Entry(c, at, o, 0);
  }
  PetscCall(MatHJStencilSetRow(A, n, off, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Mat A, Mat B, const char *name, const char *way)
{
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "%s: %s", name, way));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 alone opens it, with its own number in the name */
static PetscErrorCode BinaryFile(char name[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, name, len - 64));
  PetscCall(PetscSNPrintf(name + strlen(name), 64, "/hjstencil_binary_%d", (int)getpid()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the file of options that PETSc writes beside it */
static PetscErrorCode RemoveBinaryFile(char name[])
{
  PetscFunctionBegin;
  (void)remove(name);
  PetscCall(PetscStrlcat(name, ".info", PETSC_MAX_PATH_LEN));
  (void)remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckConversions(DM da, Mat A, Mat B, const char *name)
{
  Mat         C, D;
  PetscViewer viewer;
  char        file[PETSC_MAX_PATH_LEN];
  PetscBool   equal;

  PetscFunctionBegin;
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(Check(C, B, name, "MatConvert from AIJ"));
  PetscCall(MatEqual(A, C, &equal));
  PetscCall(HJTestOK(equal, "%s: MatEqual", name));
  PetscCall(MatScale(C, 2.0));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(Check(C, B, name, "MatConvert from AIJ again"));
  PetscCall(MatConvert(C, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert to dense"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatSetDM(D, da));
  PetscCall(MatConvert(D, MATHJSTENCIL, MAT_INPLACE_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert in place from AIJ"));
  PetscCall(MatConvert(D, MATAIJ, MAT_INPLACE_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert in place to AIJ"));
  PetscCall(MatDestroy(&D));
  PetscCall(BinaryFile(file, sizeof(file)));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(DMSetMatType(da, MATAIJ));
  PetscCall(DMCreateMatrix(da, &D));
  PetscCall(MatLoad(D, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(RemoveBinaryFile(file));
  PetscCall(Check(D, B, name, "binary view, loaded as AIJ"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDoors(const Case *c)
{
  DM        da;
  Mat       A, B;
  char      name[256];
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  PetscCall(CaseCreate(c, &da, &A, &B));
  for (int way = LOCAL; way < NWAYS; way++) {
    PetscCall(FillBy(c, da, (Way)way, A));
    PetscCall(Check(A, B, name, ways[way]));
  }
  PetscCall(FillFromOthers(B, PETSC_TRUE, A));
  PetscCall(Check(A, B, name, "inserted by other ranks"));
  PetscCall(FillFromOthers(B, PETSC_FALSE, A));
  PetscCall(Check(A, B, name, "added by other ranks"));
  for (int whole = 0; whole < 2; whole++) {
    PetscCall(FillByCOO(B, (PetscBool)whole, PETSC_FALSE, A));
    PetscCall(Check(A, B, name, whole ? "COO, one entry a place" : "COO"));
    PetscCall(FillByCOO(B, (PetscBool)whole, PETSC_TRUE, A));
    PetscCall(Check(A, B, name, whole ? "COO, one entry a place, values where the vectors lie" : "COO, values where the vectors lie"));
  }
  if (c->boundary[0] != DM_BOUNDARY_MIRROR) { /* which leads to an offset that is there */
    PetscCall(FillByArrays(c, da, PETSC_FALSE, A));
    PetscCall(Check(A, B, name, "arrays"));
    PetscCall(FillByArrays(c, da, PETSC_TRUE, A));
    PetscCall(Check(A, B, name, "arrays where the matrix lives"));
    PetscCall(MatInfoHolds(A, c->kind == ROW ? "storage: one row for all points" : "storage:", &holds));
    PetscCall(HJTestOK(holds, "%s: and the storage is chosen there", name));
    if (c->kind == ROW) {
      PetscCall(FillByRow(c, A));
      PetscCall(Check(A, B, name, "one row"));
      PetscCall(MatInfoHolds(A, "storage: one row for all points", &holds));
      PetscCall(HJTestOK(holds, "%s: set and stored as one row", name));
    }
  }
  PetscCall(CheckConversions(da, A, B, name));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry, set by rank 0 and assembled */
static PetscErrorCode SetOne(Mat A, PetscInt row, PetscInt column, PetscScalar v)
{
  PetscMPIInt    rank;
  PetscErrorCode code = PETSC_SUCCESS, late;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) code = MatSetValues(A, 1, &row, 1, &column, &v, INSERT_VALUES);
  late = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  if (!late) late = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  PetscFunctionReturn(code ? code : late);
}

static PetscErrorCode NewDM(PetscInt dof, PetscInt width, DMDAStencilType shape, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, shape, 12, 12, PETSC_DECIDE, PETSC_DECIDE, dof, width, NULL,
                         NULL, da));
  PetscCall(CaseSetVecType(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewMat(DM da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefusedGrids(void)
{
  DM  da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(NewDM(2, 1, DMDA_STENCIL_STAR, &da));
  ExpectErrorBy(CheckSomeRank, NewMat(da, &A), "dof 2 is refused", "2 degrees of freedom", "-dm_mat_type aij");
  PetscCall(DMDestroy(&da));
  PetscCall(NewDM(1, 2, DMDA_STENCIL_BOX, &da));
  ExpectErrorBy(CheckSomeRank, NewMat(da, &A), "width 2 is refused", "2 points wide", "-dm_mat_type aij");
  PetscCall(DMDestroy(&da));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 5, 5, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  ExpectErrorBy(CheckSomeRank, MatSetUp(A), "a matrix without a DMDA is refused", "needs a DMDA", "MatCreateHJStencil()", "-mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Point 0,0 and its column two points away, diagonal neighbour, and on other ranks */
static PetscErrorCode TestUnfit(void)
{
  DM        da;
  Mat       A;
  AO        ao;
  PetscInt  at[] = {0, 2, 13, 143, 141};
  Case      c    = {2, {12, 12, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW};
  PetscBool good = PETSC_FALSE;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 5, at));
  PetscCall(SetOne(A, at[0], at[1], 0.0));
  PetscCall(SetOne(A, at[3], at[4], 0.0));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "zeros that no offset holds are ignored"));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(SetOne(A, at[0], at[1], 7.0));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "and all of them with MAT_NEW_NONZERO_LOCATIONS off"));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[0], at[1], 1.0), "a nonzero two points away is refused", "Row 0 (grid point 0,0,0)",
                "more than one grid point away", "star stencil", "-dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[0], at[2], 1.0), "a nonzero at a diagonal neighbour is refused", "Row 0 (grid point 0,0,0)",
                "DMDA_STENCIL_BOX", "-dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[3], at[4], 1.0), "a nonzero too far in another rank's row is refused", "(grid point 11,11,0)",
                "-dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star grid's matrix can become a box by what is added to it or copied into it, also after its rows were asked for as AIJ */
static PetscErrorCode TestShapes(void)
{
  Case      star = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, box = star;
  DM        da[2];
  Mat       A[2], B[2], C, block;
  PetscBool good[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  box.box = PETSC_TRUE;
  PetscCall(CaseCreate(&star, &da[0], &A[0], &B[0]));
  PetscCall(CaseCreate(&box, &da[1], &A[1], &B[1]));
  PetscCall(CaseMakeCopy(A[0]));
  PetscCall(MatSetDM(B[1], da[0]));
  PetscCall(MatConvert(B[1], MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(Check(C, B[1], "box on a star grid", "MatConvert from AIJ"));
  PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &block));
  PetscCall(MatCopy(C, block, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatsAgree(block, B[1], &good[0]));
  PetscCall(MatCopy(A[0], block, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatsAgree(block, B[0], &good[1]));
  PetscCall(MatDestroy(&block));
  PetscCall(MatAXPY(A[0], 2.0, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(B[0], 2.0, B[1], DIFFERENT_NONZERO_PATTERN));
  PetscCall(CaseMakeCopy(A[0]));
  PetscCall(MatsAgree(A[0], B[0], &good[2]));
  PetscCall(HJTestOK((PetscBool)(good[0] && good[1]), "a box copied into a star, and a star into a box"));
  PetscCall(HJTestOK(good[2], "a box added to a star"));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(MatDestroy(&B[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LivesOnGPU(Mat A, PetscBool *gpu)
{
  PetscErrorCode (*get)(Mat, PetscMemType *);
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &get));
  PetscCall((*get)(A, &mtype));
  *gpu = PetscMemTypeDevice(mtype) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix lives where its vectors do, unless it is bound to the CPU; bound and freed again it has the same values */
static PetscErrorCode TestPlace(void)
{
  Case      c = {2, {33, 21, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS};
  DM        da;
  Mat       A, B;
  PetscBool gpu = PETSC_FALSE, lives[3], good[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(CaseOnGPU(&gpu));
  for (c.kind = ROW; c.kind <= ARRAYS; c.kind++) {
    PetscCall(CaseCreate(&c, &da, &A, &B));
    for (int i = 0; i < 3; i++) {
      if (i) PetscCall(MatBindToCPU(A, (PetscBool)(i == 1)));
      PetscCall(LivesOnGPU(A, &lives[i]));
      PetscCall(MatScale(A, -2.0));
      PetscCall(MatScale(B, -2.0));
      PetscCall(MatsAgree(A, B, &good[i]));
    }
    PetscCall(HJTestOK((PetscBool)(lives[0] == gpu && !lives[1] && lives[2] == gpu && good[0] && good[1] && good[2]),
                       "%s: a matrix lives where its vectors do, and moves with MatBindToCPU()", KindNames()[c.kind]));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of symmetry serves transposed products, and is forgotten when rows are scaled; also on thin periodic grids */
static PetscErrorCode TestSymmetry(PetscInt ny)
{
  Case      c = {2, {14, ny, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS};
  DM        da;
  Mat       M[2], T;
  Vec       x, left, y[2];
  PetscReal diff;
  PetscBool symmetric = PETSC_FALSE, good[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &M[0], &M[1]));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &left));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, left));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(x, &y[m]));
    PetscCall(MatTranspose(M[m], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(M[m], 1.0, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&T));
  }
  PetscCall(MatIsSymmetric(M[0], 0.0, &symmetric));
  for (int scaled = 0; scaled < 2; scaled++) {
    for (int m = 0; m < 2; m++) {
      if (scaled) PetscCall(MatDiagonalScale(M[m], left, NULL));
      PetscCall(MatMultTranspose(M[m], x, y[m]));
    }
    PetscCall(VecsAgree(y[0], y[1], 64 * PETSC_MACHINE_EPSILON, &good[scaled], &diff));
  }
  PetscCall(
    HJTestOK((PetscBool)(symmetric && good[0] && good[1]), "transposed products of a symmetric matrix, and after its rows are scaled"));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDestroy(&y[m]));
    PetscCall(MatDestroy(&M[m]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&left));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are zero, memory that is what it is, a matrix bound to the CPU, entries of other ranks that are to be ignored */
static PetscErrorCode TestSmall(void)
{
  Case      c = {2, {40, 30, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW};
  DM        da;
  Mat       A, B;
  MatInfo   info[3];
  IS        kept[2];
  PetscInt  N, rows[] = {0, 7, 8};
  PetscReal norm;
  PetscBool same = PETSC_FALSE, good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(CaseMakeCopy(A));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(MatGetInfo(B, MAT_GLOBAL_SUM, &info[2]));
  PetscCall(HJTestOK((PetscBool)(info[0].memory < 8000 && info[1].memory > info[0].memory + 12 * info[2].nz_used &&
                                 info[0].nz_used == info[2].nz_used),
                     "MatGetInfo: %g bytes for one row, %g with AIJ beside it; %g entries", info[0].memory, info[1].memory,
                     info[0].nz_used));
  PetscCall(MatFindNonzeroRows(A, &kept[0]));
  PetscCall(MatSetOption(B, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, 3, rows, 0.0, NULL, NULL));
  PetscCall(MatZeroRows(B, 3, rows, 0.0, NULL, NULL));
  PetscCall(MatFindNonzeroRows(A, &kept[1]));
  PetscCall(ISGetSize(kept[1], &N));
  PetscCall(MatsAgree(A, B, &same));
  PetscCall(HJTestOK((PetscBool)(!kept[0] && N == 1197 && same), "MatFindNonzeroRows"));
  PetscCall(ISDestroy(&kept[1]));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatSetOption(B, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetOne(A, 1199, 1199, 5.0));
  PetscCall(SetOne(B, 1199, 1199, 5.0));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "MAT_IGNORE_OFF_PROC_ENTRIES"));
  PetscCall(MatResetPreallocation(A));
  PetscCall(MatNorm(A, NORM_1, &norm));
  PetscCall(HJTestOK((PetscBool)(norm == 0.0), "MatResetPreallocation"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadCOO(Mat A)
{
  PetscInt i[] = {0}, j[] = {5};

  PetscFunctionBegin;
  PetscCall(MatSetPreallocationCOO(A, 1, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadSOR(Mat A, int flag)
{
  Vec            x, b;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSet(x, 0.0));
  code = MatSOR(A, b, 1.0, (MatSORType)flag, 0.0, 1, 1, x);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(code);
}

static PetscErrorCode FactorInPlace(Mat A)
{
  PC             pc;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(PCFactorSetUseInPlace(pc, PETSC_TRUE));
  code = PCSetUp(pc);
  PetscFunctionReturn(code);
}

/* Written and loaded again; on several ranks a matrix that was not yet assembled is refused */
static PetscErrorCode TestLoad(void)
{
  Case        c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM          da;
  Mat         A, B;
  PetscViewer viewer;
  char        file[PETSC_MAX_PATH_LEN];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(BinaryFile(file, sizeof(file)));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  if (size > 1)
    ExpectErrorBy(CheckSomeRank, MatLoad(A, viewer), "MatLoad of a new matrix on several ranks", "load it as AIJ", "MatConvert()");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(Check(A, B, "2D star", "binary view, loaded"));
  for (int m = 0; m < 2; m++) PetscCall(CaseFill(&c, da, 3, m ? A : B));
  PetscCall(Check(A, B, "2D star", "loaded, and filled by MatSetValuesStencil()"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(RemoveBinaryFile(file));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The AIJ copy follows a sum, and COO places do not outlive the shape that they are places of */
static PetscErrorCode TestAfterSum(void)
{
  Case        star = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, box = star;
  DM          da[2];
  Mat         A[2], B[2], aij;
  PetscBool   equal, holds;
  PetscScalar one = 1.0;

  PetscFunctionBegin;
  box.box = PETSC_TRUE;
  PetscCall(CaseCreate(&star, &da[0], &A[0], &B[0]));
  PetscCall(CaseCreate(&box, &da[1], &A[1], &B[1]));
  PetscCall(MatConvert(A[0], MATDENSE, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatAXPY(A[0], 1.0, A[0], SAME_NONZERO_PATTERN));
  PetscCall(MatScale(B[0], 2.0));
  PetscCall(MatConvert(A[0], MATDENSE, MAT_INITIAL_MATRIX, &aij)); /* through the copy */
  PetscCall(Check(aij, B[0], "AIJ copy", "after MatAXPY"));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatCreateHJStencil(da[0], &A[0]));
  PetscCall(FillByCOO(B[0], PETSC_FALSE, PETSC_FALSE, A[0]));
  PetscCall(MatInfoHolds(A[0], "storage:", &holds));
  PetscCall(HJTestOK(holds, "COO: the storage shows without assembly"));
  PetscCall(MatCopy(A[1], A[0], DIFFERENT_NONZERO_PATTERN));
  ExpectErrorBy(CheckSomeRank, MatSetValuesCOO(A[0], &one, INSERT_VALUES), "COO values after another shape", "MatSetPreallocationCOO()");
  PetscCall(MatEqual(A[0], A[1], &equal));
  PetscCall(HJTestOK(equal, "and nothing was written"));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(MatDestroy(&B[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products, transposed ones and Galerkin's of a matrix beside those of AIJ with the same values, which takes no claim for true */
static PetscErrorCode ClaimedProducts(DM da, Mat A, PetscBool *right)
{
  DM        coarse;
  Mat       P, C, B, Pa, Ca;
  PetscBool equal[3];

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &Pa));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatPtAP(B, Pa, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Ca));
  PetscCall(MatMultEqual(A, B, 3, &equal[0]));
  PetscCall(MatMultTransposeEqual(A, B, 3, &equal[1]));
  PetscCall(MatsAgree(C, Ca, &equal[2]));
  *right = (PetscBool)(equal[0] && equal[1] && equal[2]);
  PetscCall(MatDestroy(&Ca));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&Pa));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix that is said to be symmetric and is not, as those are whose rows of boundary points are identities and whose columns were left,
   or which are scaled by rows: also with new values
*/
static PetscErrorCode TestFalseClaim(const Problem *p, MatOption claim, PetscBool eternal)
{
  DM        da;
  Mat       A;
  Vec       left;
  PetscBool right[3];

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatCreateVecs(A, &left, NULL));
  PetscCall(ProblemVector(da, 3, left));
  for (int fill = 0; fill < 3; fill++) {
    if (fill < 2) PetscCall(ProblemFill(p, da, fill, A));
    if (!fill || !eternal) PetscCall(MatSetOption(A, claim, PETSC_TRUE));
    if (!fill && eternal) PetscCall(MatSetOption(A, claim == MAT_SPD ? MAT_SPD_ETERNAL : MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
    if (fill == 2) PetscCall(MatDiagonalScale(A, left, NULL));
    PetscCall(ClaimedProducts(da, A, &right[fill]));
  }
  PetscCall(HJTestOK((PetscBool)(right[0] && right[1] && right[2]),
                     "%" PetscInt_FMT "D %s, boundary %d, falsely said to be %s%s: products are right, with new values, with scaled rows",
                     p->dim, p->box ? "box" : "star", (int)p->boundary, MatOptions[claim], eternal ? ", eternally" : ""));
  PetscCall(VecDestroy(&left));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of one row for all points */
static PetscErrorCode TestFalseRow(void)
{
  const MatStencil  off[] = {{0}, {.i = 1}, {.i = -1}, {.j = 1}, {.j = -1}};
  const PetscScalar v[]   = {4.0, -1.5, -0.5, -1.0, -1.0};
  const Problem     p     = {2, {17, 13, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM                da;
  Mat               A;
  PetscBool         right;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 5, off, v));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(ClaimedProducts(da, A, &right));
  PetscCall(HJTestOK(right, "a row that is falsely said to be symmetric: products are right"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFalseClaims(void)
{
  const Problem p[] = {
    {1, {65, 1, 1}, IDENTITY, VARYING, PETSC_FALSE},      {2, {41, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},
    {2, {37, 29, 1}, IDENTITY, CONSTANT, PETSC_FALSE},    {2, {33, 25, 1}, IDENTITY, VARYING, PETSC_TRUE},
    {3, {11, 13, 9}, IDENTITY, VARYING, PETSC_FALSE},     {3, {9, 11, 13}, IDENTITY, JUMP, PETSC_TRUE},
    {3, {13, 9, 11}, DIRICHLET, CONVECTION, PETSC_FALSE}, {2, {32, 24, 1}, PERIODIC, CONVECTION, PETSC_FALSE},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(p); i++) {
    PetscCall(TestFalseClaim(&p[i], i % 2 ? MAT_SPD : MAT_SYMMETRIC, PETSC_FALSE));
    PetscCall(TestFalseClaim(&p[i], i % 2 ? MAT_SYMMETRIC : MAT_SPD, PETSC_TRUE));
  }
  PetscCall(TestFalseRow());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two rows added in place: no symmetry is left of what was known, and who reads the matrix sees that it changed. A copy's symmetry is
   forgotten with its first new values */
static PetscErrorCode TestSum(void)
{
  const MatStencil  off[] = {{.j = 1}, {.j = -1}, {0}};
  const PetscScalar v[] = {-1.0, -1.0, 4.0}, skew[] = {1.0, -1.0, 0.0};
  DM                da;
  Mat               A, B, X, block;
  PetscReal         norm[2];
  PetscBool         symmetric, equal, known;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 3, off, v));
  PetscCall(MatCreateHJStencil(da, &X));
  PetscCall(MatHJStencilSetRow(X, 3, off, skew));
  PetscCall(MatIsSymmetric(A, 0.0, &symmetric));
  PetscCall(CaseMakeCopy(A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatAXPY(B, 1.0, X, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(A, 1.0, X, SAME_NONZERO_PATTERN));
  PetscCall(MatMultTransposeEqual(A, B, 3, &equal));
  PetscCall(HJTestOK((PetscBool)(symmetric && equal), "transposed products after a skew row was added to a symmetric one"));
  PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(MatNorm(block, NORM_FROBENIUS, &norm[0]));
  PetscCall(MatGetDiagonalBlock(B, &block));
  PetscCall(MatNorm(block, NORM_FROBENIUS, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(norm[0] == norm[1]), "the diagonal block follows a sum"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(SetOne(B, 0, 1, 7.0));
  PetscCall(MatIsSymmetricKnown(B, &known, &symmetric));
  PetscCall(HJTestOK((PetscBool)!known, "new values of a copy forget what was known of symmetry"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that overflow where they lead inside only; squares that overflow */
static PetscErrorCode TestOverflow(void)
{
  const MatStencil   off[] = {{.i = 1}, {0}};
  const PetscScalar  v[]   = {1e200, 1.0};
  DM                 da;
  Mat                A;
  Vec                x, y;
  const PetscScalar *a;
  PetscInt           n, finite = 0;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 2, off, v));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  norm = norm / 1e200 - PetscSqrtReal(12 * 11);
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(norm) <= 1e-13), "a norm whose squares overflow"));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(MatScale(A, 1e200));
  PetscCall(PetscFPTrapPop());
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(y, &a));
  for (PetscInt i = 0; i < n; i++) finite += !PetscIsInfOrNanScalar(a[i]);
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finite, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)(finite == 12), "what overflowed does not lead outside"));
  ExpectErrorBy(CheckSomeRank, MatResidual(A, y, x, x), "a residual in place of x", "different vectors");
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of x only the values in the rows that become zero are read */
static PetscErrorCode TestKnownValues(void)
{
  Case      c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM        da;
  Mat       M[2];
  Vec       x, b[2];
  PetscInt  row;
  PetscReal diff;
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &M[0], &M[1]));
  PetscCall(MatGetOwnershipRange(M[0], &row, NULL));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(VecSet(x, NAN));
  PetscCall(VecSetValue(x, row, 2.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(x, &b[m]));
    PetscCall(ProblemVector(da, 2, b[m]));
    PetscCall(MatZeroRowsColumns(M[m], 1, &row, 3.0, x, b[m]));
  }
  PetscCall(PetscFPTrapPop());
  PetscCall(VecsAgree(b[0], b[1], 64 * PETSC_MACHINE_EPSILON, &good, &diff));
  PetscCall(HJTestOK(good, "MatZeroRowsColumns() with values that are known in these rows alone"));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDestroy(&b[m]));
    PetscCall(MatDestroy(&M[m]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Made by MatConvert(), not by DMCreateMatrix(): it knows the numbering of its DMDA all the same */
static PetscErrorCode TestConvertedFill(void)
{
  Case      c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM        da;
  Mat       A, B;
  PetscBool holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &A));
  for (int m = 0; m < 2; m++) PetscCall(CaseFill(&c, da, 3, m ? A : B));
  PetscCall(Check(A, B, "2D star", "converted, and filled by MatSetValuesStencil()"));
  PetscCall(ObjectViewHolds((PetscObject)A, PETSC_VIEWER_DEFAULT, "type: seqaij", &holds));
  PetscCall(HJTestOK((PetscBool)!holds, "a view of all entries has one head"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x, A a Mat: of which finite differences are the entries */
static PetscErrorCode Multiply(void *unused, Vec x, Vec y, void *A)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ColorBy(Mat B, DM da, Mat A)
{
  MatFDColoring color;
  ISColoring    is;
  Vec           x;

  PetscFunctionBegin;
  PetscCall(DMCreateColoring(da, IS_COLORING_GLOBAL, &is));
  PetscCall(MatFDColoringCreate(A, is, &color));
  PetscCall(MatFDColoringSetFunction(color, (void *)Multiply, B));
  PetscCall(MatFDColoringSetUp(A, is, color));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatFDColoringApply(A, color, x, NULL));
  PetscCall(VecDestroy(&x));
  PetscCall(MatFDColoringDestroy(&color));
  PetscCall(ISColoringDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCopy() of AIJ gives what it knows of the numbering too: where that is a copy of the matrix, the numbering stays */
static PetscErrorCode TestFillAgain(void)
{
  enum { COPIED, RANDOM, COLORED, IN_PLACE, AGAIN };
  const char *names[AGAIN] = {"a copy of its own AIJ", "random values", "finite differences", "a conversion to AIJ in place"};
  Case        c            = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM          da;
  Mat         A, B, C;
  char        what[128];

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  for (int i = 0; i < AGAIN; i++) {
    if (i == COPIED) {
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
      PetscCall(MatCopy(C, A, SAME_NONZERO_PATTERN));
      PetscCall(MatDestroy(&C));
    } else if (i == RANDOM) PetscCall(MatSetRandom(A, NULL));
    else if (i == COLORED) PetscCall(ColorBy(B, da, A));
    else PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    for (int m = 0; m < 2; m++) {
      PetscCall(MatZeroEntries(m ? A : B));
      PetscCall(CaseFill(&c, da, 3 + i, m ? A : B));
    }
    PetscCall(PetscSNPrintf(what, sizeof(what), "filled by MatSetValuesStencil() after %s", names[i]));
    PetscCall(Check(A, B, "2D star", what));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row as the first call for a matrix that nobody set up; what was known of symmetry is forgotten */
static PetscErrorCode TestFirstRow(void)
{
  const MatStencil  off[] = {{.j = 1}, {.j = -1}, {0}};
  const PetscScalar v[] = {-1.0, -1.0, 4.0}, skew[] = {-1.0, -3.0, 4.0};
  DM                da;
  Mat               A, B;
  PetscInt          n;
  PetscBool         equal, symmetric[3], known = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &B));
  PetscCall(MatHJStencilSetRow(B, 3, off, v));
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  PetscCall(MatSetDM(A, da));
  PetscCall(MatHJStencilSetRow(A, 3, off, v));
  PetscCall(MatEqual(A, B, &equal));
  PetscCall(HJTestOK(equal, "one row for a matrix that is not set up"));
  PetscCall(MatIsSymmetric(A, 0.0, &symmetric[0]));
  PetscCall(MatHJStencilSetRow(A, 3, off, skew));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric[1]));
  PetscCall(MatIsSymmetric(A, 1.5, &symmetric[1]));
  PetscCall(MatIsSymmetric(A, 2.0, &symmetric[2]));
  equal = (PetscBool)(symmetric[0] && !known && !symmetric[1] && symmetric[2]);
  PetscCall(HJTestOK(equal, "another row forgets what was known of symmetry"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of one point, a coefficient that is no number, a diagonal set while arrays wait for assembly */
static PetscErrorCode TestOnePoint(void)
{
  DM           da;
  Mat          A;
  PetscScalar *array, d;
  PetscInt     row, start;
  PetscReal    norm;
  PetscMPIInt  size;
  Vec          v;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, size, 1, 1, NULL, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  d = NAN;
  PetscCall(MatSetValues(A, 1, &row, 1, &row, &d, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  d = 0.0;
  PetscCall(MatGetValues(A, 1, &row, 1, &row, &d));
  PetscCall(HJTestOK((PetscBool)(d != d), "a coefficient that is no number stays one"));
  PetscCall(MatHJStencilGetArray(A, 1, 0, 0, &array));
  PetscCall(DMDAGetCorners(da, &start, NULL, NULL, NULL, NULL, NULL));
  array[start] = 3.0;
  PetscCall(MatHJStencilRestoreArray(A, 1, 0, 0, &array));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecSet(v, 2.0));
  PetscCall(MatDiagonalSet(A, v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  PetscCall(HJTestOK((PetscBool)(norm == (size > 1 ? 5.0 : 2.0)), "a diagonal set before arrays are assembled"));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 inserts and the others add, each in its own rows */
static PetscErrorCode MixedModes(Mat A)
{
  const PetscScalar v = 2.0;
  PetscInt          row;
  PetscMPIInt       rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  PetscCall(MatSetValues(A, 1, &row, 1, &row, &v, rank ? ADD_VALUES : INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that are to be reused by MatConvert(): one that cannot be, one that is not yet set up, one whose array the user has */
static PetscErrorCode TestReused(void)
{
  Case          c[] = {{2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS},
                       {2, {12, 11, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW}};
  DM            da[2];
  Mat           A[2], B[2], C;
  MatInfo       info;
  PetscInt      n;
  PetscScalar **array;
  Vec           d;
  PetscBool     failed;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(CaseCreate(&c[i], &da[i], &A[i], &B[i]));
  PetscCall(MatDuplicate(B[0], MAT_COPY_VALUES, &C));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &C), "an AIJ matrix is not reused", "with 120 rows",
                "MAT_INITIAL_MATRIX");
  PetscCall(MatDestroy(&C));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &A[1]), "a matrix of another size is not reused",
                "with 132 rows", "MAT_INITIAL_MATRIX");
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatGetLocalSize(B[0], &n, NULL));
  PetscCall(MatSetSizes(C, n, n, 120, 120));
  PetscCall(MatSetType(C, MATHJSTENCIL));
  CaptureError(MatGetInfo(C, MAT_LOCAL, &info), &failed); /* newer PETSc sets the matrix up for this */
  PetscCall(HJTestOK((PetscBool)(failed ? strstr(message, "MatSetDM()") != NULL : info.nz_used == 0),
                     "MatGetInfo() of a matrix that is not set up"));
  PetscCall(DMCreateGlobalVector(da[0], &d));
  ExpectErrorBy(CheckSomeRank, MatDiagonalSet(C, d, ADD_VALUES), "a diagonal before set-up", "MatSetUp()");
  PetscCall(VecDestroy(&d));
  PetscCall(MatSetDM(C, da[0]));
  PetscCall(MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(Check(C, B[0], "2D box", "MatConvert to a matrix that is not set up"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatHJStencilGetArray(A[0], 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &A[0]), "converted while an array is in use",
                "MatHJStencilRestoreArray()");
  PetscCall(MatHJStencilRestoreArray(A[0], 0, 0, 0, &array));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(MatDestroy(&B[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefusedCalls(void)
{
  DM                da;
  Mat               A;
  const PetscInt    first = 0;
  PetscScalar     **array, **again, *lent;
  const PetscScalar v[] = {1.0};
  const MatStencil  off = {.i = 1, .j = 1};
  PetscReal         norm;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 2, 2, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  ExpectErrorBy(CheckSomeRank, MatSetValues(A, 1, &first, 1, &first, v, ADD_VALUES), "values before set-up", "MatSetUp()");
  ExpectErrorBy(CheckSomeRank, MatSetValuesLocal(A, 1, &first, 1, &first, v, ADD_VALUES), "local values before set-up", "MatSetUp()");
  PetscCall(MatDestroy(&A));
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(NewMat(da, &A));
  ExpectErrorBy(CheckSomeRank, MatSetValuesCOO(A, v, INSERT_VALUES), "COO values without a pattern", "MatSetPreallocationCOO()");
  ExpectErrorBy(CheckSomeRank, BadCOO(A), "a COO entry too far", "more than one grid point away", "-dm_mat_type aij");
  ExpectErrorBy(CheckSomeRank, MatHJStencilSetRow(A, 1, &off, v), "a row with an offset that the stencil has not", "no offset 1,1,0",
                "DMDA_STENCIL_BOX");
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 0, 2, 0, &array), "an array of such an offset", "no offset 0,2,0",
                "-dm_mat_type aij");
  PetscCall(MatHJStencilGetArray(A, 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 0, 0, 0, &again), "an array that is in use", "MatHJStencilRestoreArray()");
  ExpectErrorBy(CheckSomeRank, MatZeroEntries(A), "zeroed while an array is in use", "offset 0,0,0", "MatHJStencilRestoreArray()");
  PetscCall(MatHJStencilRestoreArray(A, 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatHJStencilRestoreArray(A, 0, 0, 0, &array), "an array that is not in use", "MatHJStencilGetArray()");
  PetscCall(MatHJStencilGetArrayAndMemType(A, 0, 0, 0, &lent, NULL));
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArrayAndMemType(A, 0, 0, 0, &lent, NULL), "an array that is in use where it lies",
                "MatHJStencilRestoreArrayAndMemType()");
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 1, 0, 0, &again), "an array beside one in use where it lies",
                "MatHJStencilRestoreArrayAndMemType()");
  ExpectErrorBy(CheckSomeRank, MatZeroEntries(A), "zeroed while an array is in use where it lies", "MatHJStencilRestoreArrayAndMemType()");
  PetscCall(MatHJStencilRestoreArrayAndMemType(A, 0, 0, 0, &lent));
  ExpectErrorBy(CheckSomeRank, MatHJStencilRestoreArrayAndMemType(A, 0, 0, 0, &lent), "an array that is not in use where it lies",
                "MatHJStencilGetArrayAndMemType()");
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_LOCAL_FORWARD_SWEEP), "SOR with a zero diagonal", "Zero diagonal in row",
                "-pc_sor_diagonal_shift");
  PetscCall(MatShift(A, 2.0));
  ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_EISENSTAT | SOR_ZERO_INITIAL_GUESS), "Eisenstat's SOR", "-pc_type sor");
  if (size > 1) ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_FORWARD_SWEEP), "SOR across ranks", "-pc_sor_local_symmetric");
  if (size == 1) ExpectErrorBy(CheckSomeRank, FactorInPlace(A), "factors in place", "-pc_factor_in_place", "-dm_mat_type aij");
  ExpectErrorBy(CheckSomeRank, MatNorm(A, NORM_2, &norm), "the 2-norm", "NORM_FROBENIUS");
  if (size > 1) ExpectErrorBy(CheckSomeRank, MixedModes(A), "values inserted on one rank and added on others", "all must do the same");
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x where A has the centre i + 2 j + 1 and, if east, -1 to the right; none of the others was filled */
static PetscErrorCode CheckLarge(Mat A, DM da, PetscBool east, const char name[])
{
  PetscScalar **x, **y;
  Vec           vx, vy;
  PetscInt      s[2], w[2], wrong = 0, N;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &vx));
  PetscCall(VecDuplicate(vx, &vy));
  PetscCall(DMDAGetInfo(da, NULL, &N, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  PetscCall(DMDAVecGetArray(da, vx, &x));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++) x[j][i] = i % 7 + j % 5;
  PetscCall(DMDAVecRestoreArray(da, vx, &x));
  PetscCall(MatMult(A, vx, vy));
  PetscCall(DMDAVecGetArray(da, vy, &y));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++)
      wrong += y[j][i] != (i + 2 * j + 1) * (PetscScalar)(i % 7 + j % 5) - (east && i + 1 < N ? (i + 1) % 7 + j % 5 : 0);
  }
  PetscCall(DMDAVecRestoreArray(da, vy, &y));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)!wrong, "%s: %d points are wrong", name, (int)wrong));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of so many bytes come from the system: zero where nobody wrote, also when others were there before */
static PetscErrorCode TestLarge(void)
{
  const PetscInt n = 470;
  DM             da;
  Mat            A;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(
    DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n * size, 1, size, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  for (int east = 1; east >= 0; east--) {
    PetscScalar **array;
    PetscInt      s[2], w[2];

    PetscCall(MatZeroEntries(A));
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
    for (PetscInt o = 0; o < 1 + east; o++) {
      PetscCall(MatHJStencilGetArray(A, o, 0, 0, &array));
      for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
        for (PetscInt i = s[0]; i < s[0] + w[0]; i++) array[j][i] = o ? -1 : i + 2 * j + 1;
      PetscCall(MatHJStencilRestoreArray(A, o, 0, 0, &array));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(
      CheckLarge(A, da, (PetscBool)east, east ? "large arrays, two of five filled" : "large arrays, one filled after other values"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random matrix as AIJ. Every third line has rows that are a diagonal alone, entries that are left out, zeros, and zeros that no offset
   holds; lines between them are whole */
static PetscErrorCode RaggedCreate(const Case *c, DM da, PetscInt salt, Mat *B)
{
  PetscInt s[3], w[3], n, N, row;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  n = w[0] * w[1] * w[2];
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 28, NULL, 28, NULL, B));
  PetscCall(MatSetOption(*B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*B, &row, NULL));
  PetscCall(MatGetSize(*B, &N, NULL));
  for (PetscInt p = 0; p < n; p++, row++) {
    const PetscInt  at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]}, far = (row + N / 2) % N;
    const PetscBool ragged = (PetscBool)((at[1] + at[2]) % 3 == 1 || c->dim == 1);
    MatStencil      col[27];
    PetscScalar     v[27];
    PetscInt        entries = CaseRow(c, at, salt, col, v), kept = 0;

    for (PetscInt e = 0; e < entries; e++) {
      const PetscReal r = Random(at[0], at[1], at[2], 60 + e, 0), alone = Random(at[0], at[1], at[2], 59, 0);
      const PetscBool self = (PetscBool)(col[e].i == at[0] && col[e].j == at[1] && col[e].k == at[2]);

      if (ragged && !self && (r < -0.7 || alone < -0.7)) continue;
      if (ragged && r > 0.8) v[e] = 0.0;
      col[kept] = col[e];
      v[kept++] = v[e];
    }
    PetscCall(SetRow(*B, da, GLOBAL, at, kept, col, v));
    if (ragged) PetscCall(MatSetValue(*B, row, far, 0.0, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same entries by MatSetValues(), row by row */
static PetscErrorCode FillByRows(Mat B, Mat A)
{
  PetscInt start, end, n;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;

    PetscCall(MatGetRow(B, r, &n, &columns, &values));
    PetscCall(MatSetValues(A, 1, &r, n, columns, values, INSERT_VALUES));
    PetscCall(MatRestoreRow(B, r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every nonzero to the last bit; a box has more columns than a star */
static PetscErrorCode SameRows(Mat A, Mat B, PetscBool *same)
{
  PetscInt    start, end;
  PetscMPIInt mine = 1, all;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const Mat   M[2] = {A, B};
    PetscInt    n[2] = {0, 0}, column[2][27];
    PetscScalar value[2][27];

    for (int m = 0; m < 2; m++) {
      const PetscInt    *columns;
      const PetscScalar *values;
      PetscInt           entries;

      PetscCall(MatGetRow(M[m], r, &entries, &columns, &values));
      for (PetscInt e = 0; e < entries; e++) {
        if (values[e] == 0.0) continue;
        column[m][n[m]]  = columns[e];
        value[m][n[m]++] = values[e];
      }
      PetscCall(MatRestoreRow(M[m], r, &entries, &columns, &values));
    }
    if (n[0] != n[1] || memcmp(column[0], column[1], n[0] * sizeof(column[0][0])) || memcmp(value[0], value[1], n[0] * sizeof(value[0][0])))
      mine = 0;
  }
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *same = (PetscBool)all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -backend cuda an AIJ matrix becomes aijcusparse */
static PetscErrorCode ToDevice(Mat *B)
{
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseOnGPU(&gpu));
#if PetscDefined(HAVE_CUDA)
  if (gpu) PetscCall(MatConvert(*B, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, B));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert() of a case's matrix on a grid of one shape or the other, then into what is there */
static PetscErrorCode TestConvertedRows(const Case *c, PetscBool box)
{
  Case      wide = *c, grid = *c;
  DM        da[2];
  Mat       B, C = NULL, D;
  char      name[256];
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  wide.box = (PetscBool)(c->box || box);
  grid.box = box;
  PetscCall(CaseDM(&wide, &da[0]));
  PetscCall(CaseDM(&grid, &da[1]));
  PetscCall(MatCreateHJStencil(da[0], &D));
  for (PetscInt again = 0; again < 2; again++) {
    PetscCall(RaggedCreate(c, da[0], 5 * again, &B));
    PetscCall(ToDevice(&B));
    PetscCall(MatSetDM(B, da[1]));
    PetscCall(MatConvert(B, MATHJSTENCIL, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C));
    PetscCall(FillByRows(B, D));
    PetscCall(SameRows(C, D, &same));
    PetscCall(HJTestOK(same, "%s on a %s grid: converted as row by row%s", name, box ? "box" : "star", again ? ", again" : ""));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  for (int i = 0; i < 2; i++) PetscCall(DMDestroy(&da[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids thin enough for two offsets to lead to one column among them */
static PetscErrorCode TestAllConvertedRows(void)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const Case           thin[] = {{3, {1, 6, 5}, {periodic, periodic, none}, PETSC_TRUE, ARRAYS},
                                 {3, {2, 1, 7}, {periodic, periodic, periodic}, PETSC_TRUE, ARRAYS},
                                 {3, {3, 3, 3}, {periodic, periodic, periodic}, PETSC_TRUE, ARRAYS},
                                 {3, {1, 2, 4}, {none, none, periodic}, PETSC_TRUE, ARRAYS},
                                 {2, {2, 8, 1}, {periodic, none, none}, PETSC_FALSE, ARRAYS},
                                 {2, {4, 2, 1}, {none, none, none}, PETSC_TRUE, ARRAYS}};
  PetscRandom          random;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(thin); i++) PetscCall(TestConvertedRows(&thin[i], thin[i].box));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 4711));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < 72; i++) {
    Case      c;
    PetscBool box = (PetscBool)(i / 18 % 2);

    PetscCall(RandomCase(random, i, &c));
    for (int d = 0; d < 3; d++) box = (PetscBool)(box && c.boundary[d] != DM_BOUNDARY_MIRROR); /* PETSc has none with a box */
    PetscCall(TestConvertedRows(&c, box));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the rows lie on a GPU the arrays are filled there: fewer bytes travel than there are in one array, though PETSc sends where rows
   of a block for other ranks begin */
static PetscErrorCode TestConvertedThere(void)
{
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)
  const Case     c     = {2, {300, 280, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  PetscBool      gpu   = PETSC_FALSE;
  PetscLogDouble bytes = 0;
  PetscInt       n;
  DM             da;
  Mat            B, C;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(CaseOnGPU(&gpu));
  if (!gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseDM(&c, &da));
  PetscCall(RaggedCreate(&c, da, 0, &B));
  PetscCall(ToDevice(&B));
  PetscCall(MatSetDM(B, da));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(B, x, y)); /* now its rows are on the GPU */
  bytes -= petsc_ctog_sz + petsc_gtoc_sz;
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  bytes += petsc_ctog_sz + petsc_gtoc_sz;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(
    HJTestOK((PetscBool)(bytes < n * sizeof(PetscScalar)), "converted from aijcusparse on the GPU: %g bytes travel", (double)bytes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(DMDestroy(&da));
#else
  PetscFunctionBegin;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nonzero far away in the first row of each rank, in a column that is another point's: refused, by rows that make a box in those words */
static PetscErrorCode TestConvertedUnfit(PetscBool box)
{
  Case      c = {2, {12, 12, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, box, ARRAYS};
  DM        da, star;
  Mat       A, B, C;
  AO        ao;
  PetscInt  s[3], row, far;
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseDM(&c, &da));
  c.box = PETSC_FALSE;
  PetscCall(CaseDM(&c, &star));
  c.box = box;
  PetscCall(RaggedCreate(&c, da, 0, &B));
  PetscCall(MatSetDM(B, star));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], NULL, NULL, NULL));
  far = 12 * s[1] + (s[0] + 6) % 12;
  PetscCall(AOApplicationToPetsc(ao, 1, &far));
  PetscCall(MatGetOwnershipRange(B, &row, NULL));
  PetscCall(MatSetValue(B, row, far, 7.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(ToDevice(&B));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(SameRows(A, C, &good));
  PetscCall(HJTestOK(good, "a nonzero that no offset holds is left out where MAT_NEW_NONZERO_LOCATIONS is off"));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  ExpectErrorBy(CheckSomeRank, MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C), "and refused else", "has a nonzero in column",
                "more than one grid point away", box ? "a box stencil" : "a star stencil", "use -dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC, mirror = DM_BOUNDARY_MIRROR;
  const Case           cases[] = {{1, {37, 1, 1}, {none, none, none}, PETSC_FALSE, ARRAYS},
                                  {1, {4, 1, 1}, {periodic, none, none}, PETSC_FALSE, ROW},
                                  {2, {13, 11, 1}, {none, periodic, none}, PETSC_FALSE, DICTIONARY},
                                  {2, {9, 2, 1}, {none, periodic, none}, PETSC_TRUE, ARRAYS},
                                  {2, {12, 8, 1}, {mirror, mirror, none}, PETSC_FALSE, ARRAYS},
                                  {2, {14, 10, 1}, {none, none, none}, PETSC_TRUE, ROW},
                                  {3, {6, 7, 5}, {none, none, none}, PETSC_FALSE, ARRAYS},
                                  {3, {5, 4, 6}, {periodic, none, DM_BOUNDARY_GHOSTED}, PETSC_TRUE, ARRAYS},
                                  {3, {1, 6, 4}, {periodic, periodic, periodic}, PETSC_TRUE, ROW}};
  int                  code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(TestDoors(&cases[i]));
  PetscCall(TestShapes());
  PetscCall(TestPlace());
  PetscCall(TestSymmetry(12));
  PetscCall(TestSymmetry(2));
  PetscCall(TestFalseClaims());
  PetscCall(TestSmall());
  PetscCall(TestLarge());
  PetscCall(TestLoad());
  PetscCall(TestFirstRow());
  PetscCall(TestOnePoint());
  PetscCall(TestAfterSum());
  PetscCall(TestSum());
  PetscCall(TestOverflow());
  PetscCall(TestKnownValues());
  PetscCall(TestConvertedFill());
  PetscCall(TestFillAgain());
  PetscCall(TestReused());
  PetscCall(TestAllConvertedRows());
  PetscCall(TestConvertedThere());
  for (int box = 0; box < 2; box++) PetscCall(TestConvertedUnfit((PetscBool)box));
  PetscCall(TestRefusedGrids());
  PetscCall(TestUnfit());
  PetscCall(TestRefusedCalls());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}
