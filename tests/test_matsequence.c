/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, nan: 1 */
/*
   MATHJSTENCIL by random programs: fillings of all kinds one after another, sums, scalings, zeroed rows, copies, on grids of few points
   with thin ranks. After each step all entries, a product, and a smoother that follows the matrix are compared with a dense matrix that
   every rank has. All numbers are small multiples of powers of two, so that sums are exact; some are NaN.
   -seed <n> -programs <n> -steps <n>: other programs than those that `make check` runs
*/
#include "hjcase.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

typedef struct {
  Case         c;
  PetscInt     N, *row; /* points; row of each in PETSc's order */
  PetscBool    alias;   /* several offsets lead to one point */
  PetscScalar *ref;     /* [N][N] by points */
  DM           da;
  Mat          A;
  PC           pc; /* follows A */
  PetscInt     first, last;
  PetscInt    *ranges; /* first row of each rank */
  PetscCount   ncoo;   /* entries of the COO list, of all ranks; -1: none */
  PetscInt    *coo;    /* [2 ncoo] points of row and column, -1: to be ignored */
  PetscMPIInt  rank, size;
  char         did[128];
} Model;

static unsigned long long state;

/* 0 ... n - 1, the same on all ranks */
static PetscInt Pick(PetscInt n)
{
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (PetscInt)((state >> 33) % (unsigned long long)n);
}

static PetscScalar PickValue(void)
{
  return Pick(400) ? (Pick(9) - 4) * 0.5 : NAN;
}

static PetscScalar *Ref(const Model *m, PetscInt p, PetscInt q)
{
  return m->ref + p * m->N + q;
}

/* The point that an offset leads to; -1: none */
static PetscInt Neighbor(const Model *m, PetscInt p, const PetscInt off[3])
{
  const PetscInt *n     = m->c.n;
  PetscInt        at[3] = {p % n[0] + off[0], p / n[0] % n[1] + off[1], p / n[0] / n[1] + off[2]};

  for (int d = 0; d < 3; d++) {
    if (m->c.boundary[d] == DM_BOUNDARY_PERIODIC) at[d] = (at[d] + n[d]) % n[d];
    if (at[d] < 0 || at[d] >= n[d]) return -1;
  }
  return (at[2] * n[1] + at[1]) * n[0] + at[0];
}

/* Whether the stencil has the place o of 27 */
static PetscBool HasPlace(const Model *m, PetscInt o, PetscInt off[3])
{
  off[0] = o % 3 - 1;
  off[1] = o / 3 % 3 - 1;
  off[2] = o / 9 - 1;
  for (int d = (int)m->c.dim; d < 3; d++)
    if (off[d]) return PETSC_FALSE;
  return (PetscBool)(m->c.box || PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) < 2);
}

/* A random entry of the stencil: points of row and column, -1 where it leads outside */
static void PickEntry(const Model *m, PetscInt entry[2])
{
  PetscInt off[3], o = Pick(27);

  while (!HasPlace(m, o, off)) o = Pick(27);
  entry[0] = Pick(m->N);
  entry[1] = Neighbor(m, entry[0], off);
}

static PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRow(Model *m)
{
  MatStencil  col[27] = {{0}};
  PetscScalar v[27];
  PetscInt    n = 0, off[3];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(m->ref, m->N * m->N));
  for (PetscInt o = 0; o < 27; o++) {
    if (!HasPlace(m, o, off) || !Pick(4)) continue;
    col[n] = (MatStencil){.i = off[0], .j = off[1], .k = off[2]};
    v[n]   = PickValue();
    for (PetscInt p = 0; p < m->N; p++) {
      const PetscInt q = Neighbor(m, p, off);

      if (q >= 0) *Ref(m, p, q) += v[n];
    }
    n++;
  }
  PetscCall(MatHJStencilSetRow(m->A, n, col, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array of an offset, indexed by points or where the matrix lies, from own[], which has this rank's points in their order */
static PetscErrorCode GiveArray(Model *m, const PetscInt off[3], PetscBool there, const PetscScalar own[])
{
  const PetscInt n = m->last - m->first;
  PetscScalar   *checked_out;
  void          *array;
  PetscMemType   mtype;
  DMDALocalInfo  info;

  PetscFunctionBegin;
  if (there) {
    PetscCall(MatHJStencilGetArrayAndMemType(m->A, off[0], off[1], off[2], &checked_out, &mtype));
    if (PetscMemTypeHost(mtype)) PetscCall(PetscArraycpy(checked_out, own, n));
#if defined(HJACOBI_HAVE_CUDA)
    else PetscCall(HJBackendCUDA.copy(NULL, checked_out, own, n));
#endif
    PetscCall(MatHJStencilRestoreArrayAndMemType(m->A, off[0], off[1], off[2], &checked_out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMDAGetLocalInfo(m->da, &info));
  PetscCall(MatHJStencilGetArray(m->A, off[0], off[1], off[2], &array));
  for (PetscInt p = 0; p < n; p++) {
    const PetscInt i = info.xs + p % info.xm, j = info.ys + p / info.xm % info.ym, k = info.zs + p / info.xm / info.ym;

    if (m->c.dim == 1) ((PetscScalar *)array)[i] = own[p];
    else if (m->c.dim == 2) ((PetscScalar **)array)[j][i] = own[p];
    else ((PetscScalar ***)array)[k][j][i] = own[p];
  }
  PetscCall(MatHJStencilRestoreArray(m->A, off[0], off[1], off[2], &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads outside gets numbers that have to be ignored */
static PetscErrorCode SetArray(Model *m, const PetscInt off[3], PetscBool same, PetscBool there)
{
  const PetscScalar one = PickValue(), nothing = Pick(2) ? NAN : 3;
  PetscScalar      *own;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->last - m->first, &own));
  for (PetscInt p = 0; p < m->N; p++) {
    const PetscInt    q = Neighbor(m, p, off), row = m->row[p];
    const PetscScalar v = same ? one : PickValue();

    if (q >= 0) *Ref(m, p, q) = (m->alias ? *Ref(m, p, q) : 0) + v;
    if (row >= m->first && row < m->last) own[row - m->first] = q < 0 ? nothing : v;
  }
  PetscCall(GiveArray(m, off, there, own));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some arrays, all of them where several lead to one point */
static PetscErrorCode SetArrays(Model *m, PetscBool same)
{
  const PetscBool there = (PetscBool)Pick(2);
  PetscInt        off[3];

  PetscFunctionBegin;
  if (m->alias) PetscCall(PetscArrayzero(m->ref, m->N * m->N));
  for (PetscInt o = 0; o < 27; o++) {
    if (!HasPlace(m, o, off) || (!m->alias && Pick(3) == 0)) continue;
    PetscCall(SetArray(m, off, same, there));
  }
  PetscCall(Assemble(m->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries by any rank; of those that are inserted none comes twice */
static PetscErrorCode SetValues(Model *m, InsertMode mode)
{
  const PetscInt n     = Pick(3 * m->N);
  PetscBool     *taken = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(m->N * m->N, &taken));
  for (PetscInt e = 0; e < n; e++) {
    const PetscScalar v    = PickValue();
    const PetscMPIInt who  = (PetscMPIInt)Pick(m->size);
    const PetscBool   late = (PetscBool)(Pick(20) == 0);
    PetscInt          entry[2], row, column;

    PickEntry(m, entry);
    row    = m->row[entry[0]];
    column = entry[1] < 0 ? -1 : m->row[entry[1]];
    if (column >= 0 && mode == INSERT_VALUES && taken[entry[0] * m->N + entry[1]]) continue;
    if (column >= 0) {
      taken[entry[0] * m->N + entry[1]] = PETSC_TRUE;
      *Ref(m, entry[0], entry[1])       = (mode == ADD_VALUES ? *Ref(m, entry[0], entry[1]) : 0) + v;
    }
    if (who == m->rank) PetscCall(MatSetValues(m->A, 1, &row, 1, &column, &v, mode));
    if (!late) continue;
    PetscCall(MatAssemblyBegin(m->A, MAT_FLUSH_ASSEMBLY));
    PetscCall(MatAssemblyEnd(m->A, MAT_FLUSH_ASSEMBLY));
  }
  PetscCall(PetscFree(taken));
  PetscCall(Assemble(m->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rank has an entry of the COO list: mostly that of its row */
static PetscMPIInt WhoHas(const Model *m, PetscCount e)
{
  const PetscMPIInt any   = (PetscMPIInt)(e % m->size);
  PetscMPIInt       owner = 0;

  if (e % 7 == 0 || m->coo[2 * e] < 0) return any;
  while (m->row[m->coo[2 * e]] >= m->ranges[owner + 1]) owner++;
  return owner;
}

/* A list with repeated entries and such as have to be ignored; or each entry of the stencil once */
static PetscErrorCode SetList(Model *m, PetscBool all)
{
  PetscInt  *i, *j, off[3];
  PetscCount mine = 0, most = all ? 27 * m->N : Pick(4 * m->N);

  PetscFunctionBegin;
  PetscCall(PetscFree(m->coo));
  PetscCall(PetscMalloc1(2 * most, &m->coo));
  PetscCall(PetscMalloc2(most, &i, most, &j));
  m->ncoo = 0;
  for (PetscInt e = 0; e < most; e++) {
    PetscInt *entry = m->coo + 2 * m->ncoo;

    if (all) {
      entry[0] = e / 27;
      if (!HasPlace(m, e % 27, off)) continue;
      entry[1] = Neighbor(m, entry[0], off);
    } else {
      PickEntry(m, entry);
      if (Pick(10) == 0) entry[0] = -1;
    }
    m->ncoo++;
  }
  for (PetscCount e = 0; e < m->ncoo; e++) {
    const PetscInt *entry = m->coo + 2 * e;

    if (WhoHas(m, e) != m->rank) continue;
    i[mine]   = entry[0] < 0 ? -1 - (PetscInt)(e % 3) : m->row[entry[0]];
    j[mine++] = entry[1] < 0 ? -1 : m->row[entry[1]];
  }
  PetscCall(MatSetPreallocationCOO(m->A, mine, i, j));
  PetscCall(PetscFree2(i, j));
  PetscCall(PetscArrayzero(m->ref, m->N * m->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetListed(Model *m, InsertMode mode)
{
  PetscScalar *v;
  PetscCount   mine = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->ncoo, &v));
  if (mode == INSERT_VALUES) PetscCall(PetscArrayzero(m->ref, m->N * m->N));
  for (PetscCount e = 0; e < m->ncoo; e++) {
    const PetscInt   *entry = m->coo + 2 * e;
    const PetscScalar value = PickValue();

    if (entry[0] >= 0 && entry[1] >= 0) *Ref(m, entry[0], entry[1]) += value;
    if (WhoHas(m, e) == m->rank) v[mine++] = value;
  }
  PetscCall(MatSetValuesCOO(m->A, v, mode));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Model *m, PetscBool columns)
{
  const PetscScalar diagonal = Pick(3);
  PetscInt          rows[8], n = 0;

  PetscFunctionBegin;
  for (PetscInt z = Pick(4); z > 0; z--) {
    const PetscInt p = Pick(m->N);

    for (PetscInt q = 0; q < m->N; q++) {
      *Ref(m, p, q) = 0;
      if (columns) *Ref(m, q, p) = 0;
    }
    *Ref(m, p, p) = diagonal;
    if (z % m->size == m->rank) rows[n++] = m->row[p];
  }
  if (columns) PetscCall(MatZeroRowsColumns(m->A, n, rows, diagonal, NULL, NULL));
  else PetscCall(MatZeroRows(m->A, n, rows, diagonal, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By powers of two on both sides; in PETSc's order the vectors are filled by points */
static PetscErrorCode DiagonalScale(Model *m)
{
  Vec         side[2];
  PetscScalar factor[2];

  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) PetscCall(DMCreateGlobalVector(m->da, &side[s]));
  for (PetscInt p = 0; p < m->N; p++) {
    for (int s = 0; s < 2; s++) {
      factor[s] = Pick(2) ? 1 : -0.5;
      if (m->row[p] >= m->first && m->row[p] < m->last) PetscCall(VecSetValue(side[s], m->row[p], factor[s], INSERT_VALUES));
    }
    for (PetscInt q = 0; q < m->N; q++) {
      *Ref(m, p, q) *= factor[0];
      *Ref(m, q, p) *= factor[1];
    }
  }
  for (int s = 0; s < 2; s++) {
    PetscCall(VecAssemblyBegin(side[s]));
    PetscCall(VecAssemblyEnd(side[s]));
  }
  PetscCall(MatDiagonalScale(m->A, side[0], side[1]));
  for (int s = 0; s < 2; s++) PetscCall(VecDestroy(&side[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes a copy of itself, by MatDuplicate(), AIJ or twice transposed; -1 by a sum of which a part is one row */
static PetscErrorCode Copy(Model *m, PetscInt how)
{
  Mat B;

  PetscFunctionBegin;
  if (how == 0) PetscCall(MatDuplicate(m->A, MAT_COPY_VALUES, &B));
  else if (how == 1) PetscCall(MatTranspose(m->A, MAT_INITIAL_MATRIX, &B));
  else PetscCall(MatDuplicate(m->A, MAT_DO_NOT_COPY_VALUES, &B));
  if (how == 2) PetscCall(MatCopy(m->A, B, SAME_NONZERO_PATTERN));
  if (how == 3) PetscCall(MatAXPY(B, 1.0, m->A, SAME_NONZERO_PATTERN));
  if (how == 1) {
    for (PetscInt p = 0; p < m->N; p++) {
      for (PetscInt q = 0; q < p; q++) {
        const PetscScalar v = *Ref(m, p, q);

        *Ref(m, p, q) = *Ref(m, q, p);
        *Ref(m, q, p) = v;
      }
    }
  }
  PetscCall(MatDestroy(&m->A));
  m->A    = B;
  m->ncoo = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Number(Model *m, PetscInt what)
{
  const PetscScalar by = what == 0 ? 0.5 : Pick(3) - 1;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < m->N * m->N && what == 0; e++) m->ref[e] *= by;
  for (PetscInt p = 0; p < m->N && what == 1; p++) *Ref(m, p, p) += by;
  if (what == 0) PetscCall(MatScale(m->A, by));
  else if (what == 1) PetscCall(MatShift(m->A, by));
  else {
    PetscCall(PetscArrayzero(m->ref, m->N * m->N));
    PetscCall(MatZeroEntries(m->A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step(Model *m)
{
  const PetscInt what = Pick(20);

  PetscFunctionBegin;
  if (!Pick(8)) PetscCall(MatBindToCPU(m->A, (PetscBool)Pick(2)));
  PetscCall(PetscSNPrintf(m->did, sizeof(m->did), "step %" PetscInt_FMT, what));
  if (what < 2) PetscCall(SetRow(m));
  else if (what < 5) PetscCall(SetArrays(m, (PetscBool)(what == 2)));
  else if (what < 8) PetscCall(SetValues(m, what == 5 ? INSERT_VALUES : ADD_VALUES));
  else if (what < 11) {
    if (what < 10 || m->ncoo < 0) PetscCall(SetList(m, (PetscBool)(what == 8)));
    PetscCall(SetListed(m, INSERT_VALUES));
    if (Pick(2)) PetscCall(SetListed(m, ADD_VALUES));
  } else if (what == 11 && m->ncoo >= 0) PetscCall(SetListed(m, ADD_VALUES));
  else if (what == 12) PetscCall(ZeroRows(m, PETSC_FALSE));
  else if (what == 13) PetscCall(ZeroRows(m, PETSC_TRUE));
  else if (what == 14) PetscCall(DiagonalScale(m));
  else if (what == 15) PetscCall(Copy(m, Pick(4)));
  else PetscCall(Number(m, what % 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Same(PetscScalar a, PetscScalar b)
{
  return (PetscBool)(a == b || (a != a && b != b));
}

static PetscErrorCode CheckEntries(Model *m, PetscInt *wrong)
{
  PetscScalar *got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->N, &got));
  for (PetscInt p = 0; p < m->N; p++) {
    if (m->row[p] < m->first || m->row[p] >= m->last) continue;
    PetscCall(MatGetValues(m->A, 1, &m->row[p], m->N, m->row, got));
    for (PetscInt q = 0; q < m->N; q++) *wrong += !Same(got[q], *Ref(m, p, q));
  }
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProduct(Model *m, PetscInt *wrong)
{
  Vec                x, y;
  PetscScalar       *a;
  const PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(m->da, &x, &y));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt p = 0; p < m->N; p++)
    if (m->row[p] >= m->first && m->row[p] < m->last) a[m->row[p] - m->first] = 1 + p % 5;
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscCall(MatMult(m->A, x, y));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt p = 0; p < m->N; p++) {
    PetscScalar sum = 0;

    if (m->row[p] < m->first || m->row[p] >= m->last) continue;
    for (PetscInt q = 0; q < m->N; q++) sum += *Ref(m, p, q) * (1 + q % 5);
    *wrong += !Same(sum, b[m->row[p] - m->first]);
  }
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewPC(Mat A, PC *pc)
{
  const PetscReal weights[2] = {0.5, 0.25};

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCHJACOBI));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCHJacobiSetK(*pc, 2));
  PetscCall(PCHJacobiSetSchedule(*pc, PC_HJACOBI_SCHEDULE_CUSTOM));
  PetscCall(PCHJacobiSetWeights(*pc, 2, weights));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding may change two subiterations by: sums of 27 entries, of terms up to dinv (1 + |D^-1 A|) */
static PetscReal SmootherSlack(const Model *m)
{
  PetscReal dinv = 0, row = 0;

  for (PetscInt p = 0; p < m->N; p++) {
    const PetscReal d = PetscAbsScalar(*Ref(m, p, p)), inverse = d == 0 ? 1 : 1 / d;
    PetscReal       sum = 0;

    for (PetscInt q = 0; q < m->N; q++) sum += PetscAbsScalar(*Ref(m, p, q)) * inverse;
    dinv = PetscMax(dinv, inverse);
    row  = PetscMax(row, sum);
  }
  return 64 * PETSC_MACHINE_EPSILON * dinv * (1 + row);
}

/* A smoother that has followed the matrix gives what a new one does. Which points a NaN reaches depends on what is stored around it */
static PetscErrorCode CheckSmoother(Model *m, PetscInt *wrong)
{
  const PetscReal    slack = SmootherSlack(m);
  PC                 pc;
  Vec                b, y[2];
  const PetscScalar *a[2];
  PetscBool          finite = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < m->N * m->N; e++) finite = (PetscBool)(finite && m->ref[e] == m->ref[e]);
  PetscCall(DMCreateGlobalVector(m->da, &b));
  PetscCall(VecSet(b, 1.0));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &y[i]));
  PetscCall(NewPC(m->A, &pc));
  PetscCall(PCApply(pc, b, y[0]));
  PetscCall(PCSetOperators(m->pc, m->A, m->A));
  PetscCall(PCApply(m->pc, b, y[1]));
  for (int i = 0; i < 2; i++) PetscCall(VecGetArrayRead(y[i], &a[i]));
  for (PetscInt i = 0; i < m->last - m->first && finite; i++) *wrong += !(PetscAbsScalar(a[0][i] - a[1][i]) <= slack);
  for (int i = 0; i < 2; i++) PetscCall(VecRestoreArrayRead(y[i], &a[i]));
  PetscCall(HJTestDestroy(&y[0], &y[1], &b, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random grid whose parts may be one point thin */
static PetscErrorCode ModelCreate(Model *m)
{
  const PetscInt *ranges;
  AO              ao;
  Vec             v;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &m->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &m->size));
  m->c.dim = 1 + Pick(3);
  m->c.box = (PetscBool)Pick(2);
  m->N     = 1;
  for (int d = 0; d < 3; d++) {
    m->c.n[d] = d < m->c.dim ? 1 + Pick(5) : 1;
    if (d == m->c.dim - 1) m->c.n[d] = PetscMax(m->size, m->c.n[d]);
    m->c.boundary[d] = d < m->c.dim && Pick(2) ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
    if (m->c.boundary[d] == DM_BOUNDARY_PERIODIC && m->c.n[d] < 3) m->alias = PETSC_TRUE;
    m->N *= m->c.n[d];
  }
  PetscCall(CaseNewDM(&m->c, &m->da));
  PetscCall(CaseSetVecType(m->da));
  PetscCall(DMDASetNumProcs(m->da, m->c.dim == 1 ? m->size : 1, m->c.dim == 2 ? m->size : 1, m->c.dim == 3 ? m->size : 1));
  PetscCall(DMSetUp(m->da));
  PetscCall(MatCreateHJStencil(m->da, &m->A));
  PetscCall(MatGetOwnershipRange(m->A, &m->first, &m->last));
  PetscCall(DMGetGlobalVector(m->da, &v));
  PetscCall(VecGetOwnershipRanges(v, &ranges));
  PetscCall(PetscMalloc1(m->size + 1, &m->ranges));
  PetscCall(PetscArraycpy(m->ranges, ranges, m->size + 1));
  PetscCall(DMRestoreGlobalVector(m->da, &v));
  PetscCall(PetscMalloc1(m->N, &m->row));
  for (PetscInt p = 0; p < m->N; p++) m->row[p] = p;
  PetscCall(DMDAGetAO(m->da, &ao));
  PetscCall(AOApplicationToPetsc(ao, m->N, m->row));
  PetscCall(PetscCalloc1(m->N * m->N, &m->ref));
  PetscCall(NewPC(m->A, &m->pc));
  m->ncoo = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ModelDestroy(Model *m)
{
  PetscFunctionBegin;
  PetscCall(HJTestDestroy(&m->pc, &m->A, &m->da));
  PetscCall(PetscFree(m->row));
  PetscCall(PetscFree(m->ranges));
  PetscCall(PetscFree(m->ref));
  PetscCall(PetscFree(m->coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends at the first step that goes wrong */
static PetscErrorCode RunProgram(PetscInt seed, PetscInt steps, PetscBool *good, char what[], size_t len)
{
  Model m;

  PetscFunctionBegin;
  state = 77777ULL * (unsigned long long)seed + 12345ULL;
  (void)Pick(2);
  PetscCall(ModelCreate(&m));
  *good = PETSC_TRUE;
  for (PetscInt s = 0; s < steps && *good; s++) {
    PetscInt wrong[3] = {0, 0, 0};

    PetscCall(Step(&m));
    PetscCall(CheckEntries(&m, &wrong[0]));
    PetscCall(CheckProduct(&m, &wrong[1]));
    PetscCall(CheckSmoother(&m, &wrong[2]));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, wrong, 3, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    *good = (PetscBool)(!wrong[0] && !wrong[1] && !wrong[2]);
    PetscCall(PetscSNPrintf(what, len,
                            "seed %d, step %d (%s): %d entries, %d of the product, %d of the smoother are wrong; %dD %s, %dx%dx%d, "
                            "boundaries %d %d %d",
                            (int)seed, (int)s, m.did, (int)wrong[0], (int)wrong[1], (int)wrong[2], (int)m.c.dim, m.c.box ? "box" : "star",
                            (int)m.c.n[0], (int)m.c.n[1], (int)m.c.n[2], (int)m.c.boundary[0], (int)m.c.boundary[1], (int)m.c.boundary[2]));
  }
  PetscCall(ModelDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  seed = 1, programs = 60, steps = 12, bad = 0;
  char      what[512];
  PetscBool good = PETSC_FALSE, gpu;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-programs", &programs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  for (PetscInt i = 0; i < programs; i++) {
    PetscCall(RunProgram(seed + i, steps, &good, what, sizeof(what)));
    if (!good) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# %s\n", what));
    bad += !good;
  }
  PetscCall(HJTestOK((PetscBool)!bad, "%" PetscInt_FMT " random programs of %" PetscInt_FMT " steps", programs, steps));
  return HJTestEnd();
}
