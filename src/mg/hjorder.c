/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows in another order than the points of their grid. PCASM sorts the rows of a subdomain by their numbers in the whole matrix, so rank
   by rank; the DMDA of that subdomain (DMCreateDomainDecomposition()) has them line by line. Decides whether that is so, and in which order
   they are; a PCHJMG of its own then has the matrix in the order of the points.
*/
#include "hjmg.h"

struct _n_HJMGOrder {
  IS         rows; /* for each point of the grid its row */
  Mat        A;    /* the matrix in the order of the points */
  PC         pc;
  Vec        b, x;
  VecScatter sort; /* from the order of the rows */
};

/*
   Points of a direction, rank by rank: those of the lower overlap (l), this rank's own (o), those of the upper overlap (h), with | between
   two ranks. In a period the first rank has the last one below it, and the last one the first above it; of two ranks each has the other
   on both sides
*/
static const char *const HJMGOrders[] = {"loh", "l|o|h", "o|h|l", "h|l|o", "o|hl", "hl|o"};
#define HJ_MG_ORDERS 6
#define HJ_MG_RANKS  3

typedef struct {
  PetscInt  n, nranks, begin[HJ_MG_RANKS + 1];
  PetscInt *point; /* [n] coordinate of the points, in the order in which they come */
} HJMGLine;

/* end: where l, o and h end, of a direction that has n points */
static void HJMGLineSet(const char *order, const PetscInt end[3], HJMGLine *line)
{
  PetscInt at = 0;

  line->n        = end[2];
  line->nranks   = 0;
  line->begin[0] = 0;
  for (const char *c = order; *c; c++) {
    const int which = *c == 'l' ? 0 : *c == 'o' ? 1 : 2;

    if (*c == '|') line->begin[++line->nranks] = at;
    else
      for (PetscInt p = which ? end[which - 1] : 0; p < end[which]; p++) line->point[at++] = p;
  }
  line->begin[++line->nranks] = at;
}

/* The point of a row */
static void HJMGOrderLocate(const HJMGLine line[3], PetscInt row, PetscInt p[3])
{
  for (PetscInt z = 0; z < line[2].nranks; z++) {
    for (PetscInt y = 0; y < line[1].nranks; y++) {
      for (PetscInt x = 0; x < line[0].nranks; x++) {
        const PetscInt first[3] = {line[0].begin[x], line[1].begin[y], line[2].begin[z]};
        const PetscInt w[3]     = {line[0].begin[x + 1] - first[0], line[1].begin[y + 1] - first[1], line[2].begin[z + 1] - first[2]};

        if (row < w[0] * w[1] * w[2]) {
          p[0] = line[0].point[first[0] + row % w[0]];
          p[1] = line[1].point[first[1] + row / w[0] % w[1]];
          p[2] = line[2].point[first[2] + row / w[0] / w[1]];
          return;
        }
        row -= w[0] * w[1] * w[2];
      }
    }
  }
}

/* Whether all nonzeros of a matrix lead to neighbours */
static PetscErrorCode HJMGOrderFits(Mat A, const HJMGLine line[3], PetscBool *fit)
{
  const PetscInt m = line[0].n * line[1].n * line[2].n;

  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  for (PetscInt r = 0; r < m && *fit; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n, p[3] = {0, 0, 0}, q[3] = {0, 0, 0};

    HJMGOrderLocate(line, r, p);
    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    for (PetscInt e = 0; e < n && *fit; e++) {
      if (values[e] == 0.0) continue;
      HJMGOrderLocate(line, columns[e], q);
      for (int d = 0; d < 3; d++) *fit = (PetscBool)(*fit && PetscAbsInt(p[d] - q[d]) <= 1);
    }
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGOrderGetRows(const HJMGLine line[3], IS *rows)
{
  const PetscInt m = line[0].n * line[1].n * line[2].n;
  PetscInt      *row, p[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m, &row));
  for (PetscInt r = 0; r < m; r++) {
    HJMGOrderLocate(line, r, p);
    row[(p[2] * line[1].n + p[1]) * line[0].n + p[0]] = r;
  }
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, m, row, PETSC_OWN_POINTER, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the parts l, o and h of each direction end; *part is false where the DMDA is not one of several subdomains */
static PetscErrorCode HJMGOrderGetEnds(DM da, PetscInt end[3][3], PetscBool *is_subdomain)
{
  HJCut    cut[3];
  PetscInt first[3], n[3];

  PetscFunctionBegin;
  *is_subdomain = PETSC_FALSE;
  PetscCall(HJGridGetCuts(da, cut));
  PetscCall(DMDAGetNonOverlappingRegion(da, &first[0], &first[1], &first[2], &n[0], &n[1], &n[2]));
  if (!n[0]) PetscFunctionReturn(PETSC_SUCCESS); /* never set */
  for (int d = 0; d < 3; d++) {
    const PetscBool used = (PetscBool)(cut[d].N > 1);

    end[d][0] = used ? first[d] - cut[d].offset : 0;
    end[d][1] = end[d][0] + (used ? n[d] : 1);
    end[d][2] = cut[d].N;
    if (end[d][0] < 0 || end[d][1] > end[d][2]) PetscFunctionReturn(PETSC_SUCCESS);
    *is_subdomain = (PetscBool)(*is_subdomain || n[d] < cut[d].N);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *rows is NULL where the rows are in the order of the points, or in one that is not known */
static PetscErrorCode HJMGOrderFind(Mat A, DM da, IS *rows)
{
  PetscInt  end[3][3];
  HJMGLine  line[3];
  PetscBool is_subdomain, fit = PETSC_FALSE;

  PetscFunctionBegin;
  *rows = NULL;
  PetscCall(HJMGOrderGetEnds(da, end, &is_subdomain));
  if (!is_subdomain) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscMalloc1(end[d][2], &line[d].point));
  for (int o = 0; o < HJ_MG_ORDERS * HJ_MG_ORDERS * HJ_MG_ORDERS && !fit; o++) {
    const int order[3] = {o % HJ_MG_ORDERS, o / HJ_MG_ORDERS % HJ_MG_ORDERS, o / HJ_MG_ORDERS / HJ_MG_ORDERS};

    if ((order[1] && end[1][2] == 1) || (order[2] && end[2][2] == 1)) continue;
    for (int d = 0; d < 3; d++) HJMGLineSet(HJMGOrders[order[d]], end[d], &line[d]);
    PetscCall(HJMGOrderFits(A, line, &fit));
    if (fit && o) PetscCall(HJMGOrderGetRows(line, rows));
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(line[d].point));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGOrderApply(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Vec b, Vec x)
{
  HJMGOrder o = ((PC_HJMG *)pc->data)->order;

  PetscFunctionBegin;
  PetscCall(VecScatterBegin(o->sort, b, o->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(o->sort, b, o->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(apply(o->pc, o->b, o->x));
  PetscCall(VecScatterBegin(o->sort, o->x, x, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(o->sort, o->x, x, INSERT_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJMGOrder(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGOrderApply(pc, PCApply, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_HJMGOrder(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGOrderApply(pc, PCApplyTranspose, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_HJMGOrder(PC pc, PetscViewer viewer)
{
  HJMGOrder o = ((PC_HJMG *)pc->data)->order;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscViewerASCIIPrintf(viewer,
                           "  the rows are sorted rank by rank, as PCASM has them: those of this matrix are put in the DMDA's order\n"));
  PetscCall((*o->pc->ops->view)(o->pc, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in the order of its points, and the PC that has it */
static PetscErrorCode HJMGOrderSetUp(PC pc, DM da)
{
  PC_HJMG    *mg = (PC_HJMG *)pc->data;
  HJMGOrder   o  = mg->order;
  PetscBool   set, flag;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(MatPermute(pc->pmat, o->rows, o->rows, &o->A));
  PetscCall(MatIsSymmetricKnown(pc->pmat, &set, &flag));
  if (set) PetscCall(MatSetOption(o->A, MAT_SYMMETRIC, flag));
  PetscCall(MatCreateVecs(o->A, &o->x, &o->b));
  PetscCall(VecScatterCreate(o->b, o->rows, o->b, NULL, &o->sort));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &o->pc));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCSetOptionsPrefix(o->pc, prefix));
  PetscCall(PCSetType(o->pc, PCHJMG));
  PetscCall(PetscMemcpy(o->pc->data, mg, offsetof(PC_HJMG, changed)));
  PetscCall(PCSetDM(o->pc, da));
  PetscCall(PCSetOperators(o->pc, o->A, o->A));
  PetscCall(PCSetErrorIfFailure(o->pc, pc->erroriffailure));
  PetscCall(PCSetUp(o->pc));
  pc->failedreason = o->pc->failedreason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGOrderMake(PC pc, PetscBool *made)
{
  PC_HJMG      *mg = (PC_HJMG *)pc->data;
  DM            dm, da;
  IS            rows = NULL;
  MatNullSpace  null;
  PetscMPIInt   size;
  PetscBool     aij;
  HJMatrixState now;
  char          why[256];

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  PetscCall(HJMGOrderDestroy(pc));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATSEQAIJ, &aij));
  PetscCall(MatGetNullSpace(pc->pmat, &null));
  if (size > 1 || !aij || null) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJMatrixStateGet(pc->pmat, dm, PetscObjectStateGet, &now));
  if (mg->nlevels && HJMatrixStateIsSame(&now, &mg->read)) PetscFunctionReturn(PETSC_SUCCESS); /* new values in the same order */
  PetscCall(HJOperatorFindGrid(pc->pmat, dm, &da, why, sizeof(why)));
  if (da) PetscCall(HJStencilCheckOne(da, why, sizeof(why)));
  if (da && !why[0]) PetscCall(HJMGOrderFind(pc->pmat, da, &rows));
  if (!rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "The rows of the subdomain are sorted rank by rank: they are put in the order of its DMDA's points\n"));
  PetscCall(HJMGDestroyGrids(mg));
  PetscCall(PetscNew(&mg->order));
  mg->order->rows = rows;
  PetscCall(HJMGOrderSetUp(pc, da));
  *made = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGOrderDestroy(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  HJMGOrder o  = mg->order;

  PetscFunctionBegin;
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCDestroy(&o->pc));
  PetscCall(MatDestroy(&o->A));
  PetscCall(VecDestroy(&o->b));
  PetscCall(VecDestroy(&o->x));
  PetscCall(VecScatterDestroy(&o->sort));
  PetscCall(ISDestroy(&o->rows));
  PetscCall(PetscFree(mg->order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PC HJMGOrderPC(HJMGOrder o)
{
  return o->pc;
}
