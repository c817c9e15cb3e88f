/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stencil matrices that are filled in all ways, and what the tests of them share.
*/
#pragma once

#include "hjcase.h"
#include "hjcapture.h"
#include "core/hjcoefficients.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

/* Passes if some rank failed with a message that holds every word, and no rank that failed has another message */
static inline PETSC_UNUSED PetscErrorCode CheckSomeRank(PetscBool failed, const char *name, const char *words[])
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
static inline PETSC_UNUSED PetscErrorCode StencilToLocal(DM da, const MatStencil *s, PetscInt *local)
{
  PetscInt g[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(da, &g[0], &g[1], &g[2], &w[0], &w[1], &w[2]));
  *local = ((s->k - g[2]) * w[1] + s->j - g[1]) * w[0] + s->i - g[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A way to set a point's row */
typedef enum { STENCIL, LOCAL, GLOBAL, BLOCKED, BLOCKED_LOCAL, BLOCKED_STENCIL, COLUMNS, TWICE, NWAYS } Way;

static inline PETSC_UNUSED PetscErrorCode SetRow(Mat A, DM da, Way way, const PetscInt at[3], PetscInt n, const MatStencil col[],
                                                 PetscScalar v[])
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

/* Values on the host, or in the memory of the matrix' vectors */
static inline PETSC_UNUSED PetscErrorCode SetCOO(Mat A, PetscCount n, const PetscScalar v[], PetscBool there, InsertMode mode)
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
static inline PETSC_UNUSED PetscErrorCode EntryIsOurs(Mat B, PetscInt r, PetscInt e, PetscBool whole, PetscBool *ours)
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
static inline PETSC_UNUSED void ReverseEntries(PetscCount n, PetscInt i[], PetscInt j[], PetscScalar v[])
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
static inline PETSC_UNUSED PetscErrorCode DuplicateByCOO(Mat A, PetscCount n, const PetscScalar v[], PetscBool there)
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
static inline PETSC_UNUSED PetscErrorCode FillByCOO(Mat B, PetscBool whole, PetscBool there, Mat A)
{
  Mat         *all;
  IS           is;
  PetscInt     N, *i, *j;
  PetscCount   n = 0;
  PetscScalar *v;
  PetscBool    ours = PETSC_FALSE;

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

static inline PETSC_UNUSED PetscErrorCode Check(Mat A, Mat B, const char *name, const char *way)
{
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "%s: %s", name, way));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 alone opens it, with its own number in the name */
static inline PETSC_UNUSED PetscErrorCode BinaryFile(char name[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, name, len - 64));
  PetscCall(PetscSNPrintf(name + strlen(name), 64, "/hjstencil_binary_%d", (int)getpid()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the file of options that PETSc writes beside it */
static inline PETSC_UNUSED PetscErrorCode RemoveBinaryFile(char name[])
{
  PetscFunctionBegin;
  (void)remove(name);
  PetscCall(PetscStrlcat(name, ".info", PETSC_MAX_PATH_LEN));
  (void)remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry, set by rank 0 and assembled */
static inline PETSC_UNUSED PetscErrorCode SetOne(Mat A, PetscInt row, PetscInt column, PetscScalar v)
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

static inline PETSC_UNUSED PetscErrorCode NewDM(PetscInt dof, PetscInt width, DMDAStencilType shape, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, shape, 12, 12, PETSC_DECIDE, PETSC_DECIDE, dof, width, NULL,
                         NULL, da));
  PetscCall(CaseSetVecType(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
