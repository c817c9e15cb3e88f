/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Several unknowns a point, none coupled to another: the matrix is one matrix a component. Each is preconditioned by a PCHJMG for one
   unknown a point, with all that this one has; components with the same coefficients share it. Vectors are taken apart once before all
   cycles, and put together after them. Decides which components share a PC.
*/
#include "hjmgcomponents.h"
#include "operator/hjpairs.h"
#include "operator/hjvectors.h"

/* Arrays of components begin so many numbers apart, or a multiple of it */
#define HJ_MG_COMPONENT_ALIGN 64

/* So many components share one PC at most, which keeps the graphs of two kinds of cycles of each */
#define HJ_MG_SHARED (HJ_MG_GRAPHS_MOST / 2)

/* A matrix with one unknown a point, its PC, and how many components have it */
typedef struct {
  Mat       A;
  PC        pc;
  PetscReal norm; /* of A: others with another norm are others */
  PetscInt  n;
} HJMGScalar;

struct _n_HJMGComponents {
  DM                da; /* one unknown a point */
  PetscInt          dof, nscalars;
  PetscInt         *which;  /* [dof] of each component its scalar */
  HJMGScalar       *scalar; /* [nscalars] */
  const HJArrayOps *ops;    /* in whose memory the following lie */
  PetscCount        npoints, apart;
  PetscScalar      *values, *stage; /* b and x of all components; of vectors elsewhere */
  Vec              *b, *x;          /* [dof] */
  /* Rotated cycles, made when they are first asked for: the vector that x takes turns with, and, of a PC that is shared, the residual on
     the next grid that a component's next cycle begins with */
  Vec *y, *residual; /* [dof] */
};

PetscErrorCode HJMGComponentsAreAlone(Mat A, PetscBool *are)
{
  const HJArrayOps     *ops;
  const HJCoefficients *a;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsHome(A, &ops, &a));
  *are = HJPairsAreAlone(a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA of the same points with one unknown each */
static PetscErrorCode HJMGComponentsCreateDM(DM like, DM *da)
{
  VecType vectype;

  PetscFunctionBegin;
  PetscCall(DMGetVecType(like, &vectype));
  PetscCall(HJGridCloneDM(like, da));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(HJMGSetUpDM(like, vectype, *da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether constants of a component are in the null space of its matrix: so where that of the system was told to have those of all, or of
   this one */
static PetscErrorCode HJMGComponentToldConstants(PC pc, PetscInt dof, PetscInt c, PetscBool *told)
{
  MatNullSpace null;
  Vec          ones;

  PetscFunctionBegin;
  PetscCall(HJMGToldConstants(pc, told));
  PetscCall(MatGetNullSpace(pc->pmat, &null));
  if (!null || *told) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(pc->pmat, &ones, NULL));
  PetscCall(VecSetBlockSize(ones, dof));
  PetscCall(VecSet(ones, 0.0));
  PetscCall(VecStrideSet(ones, c, 1.0));
  PetscCall(HJMGNullSpaceHas(null, ones, told));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a component with the values and the null space that the system has now, a new one where *A is NULL */
static PetscErrorCode HJMGComponentRead(PC pc, const struct _n_HJMGComponents *s, Mat system, PetscInt c, Mat *A)
{
  MatNullSpace constants = NULL;
  PetscBool    told;

  PetscFunctionBegin;
  PetscCall(HJMatCreateComponent(system, c, s->da, A));
  PetscCall(HJMGComponentToldConstants(pc, s->dof, c, &told));
  if (told) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)pc), PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(*A, constants));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a component has the matrix of a scalar, and the same null space */
static PetscErrorCode HJMGScalarIs(const HJMGScalar *scalar, Mat A, PetscReal norm, PetscBool *is)
{
  MatNullSpace null[2];

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(scalar->A, &null[0]));
  PetscCall(MatGetNullSpace(A, &null[1]));
  *is = (PetscBool)(norm == scalar->norm && !null[0] == !null[1]);
  if (*is) PetscCall(MatEqual(scalar->A, A, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a component, a new one or that of a component before it */
static PetscErrorCode HJMGComponentAdd(PC pc, HJMGComponents s, Mat system, PetscInt c)
{
  Mat         A = NULL;
  PetscReal   norm;
  PetscBool   is = PETSC_FALSE;
  HJMGScalar *scalar;

  PetscFunctionBegin;
  PetscCall(HJMGComponentRead(pc, s, system, c, &A));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  for (s->which[c] = 0; s->which[c] < s->nscalars && !is; s->which[c] += !is)
    if (s->scalar[s->which[c]].n < HJ_MG_SHARED) PetscCall(HJMGScalarIs(&s->scalar[s->which[c]], A, norm, &is));
  scalar = &s->scalar[s->which[c]];
  scalar->n++;
  if (is) PetscCall(MatDestroy(&A));
  else {
    scalar->A    = A;
    scalar->norm = norm;
    s->nscalars++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGScalarCreatePC(PC pc, DM da, HJMGScalar *scalar)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &scalar->pc));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCSetOptionsPrefix(scalar->pc, prefix));
  PetscCall(PCSetType(scalar->pc, PCHJMG));
  PetscCall(PetscMemcpy(scalar->pc->data, pc->data, offsetof(PC_HJMG, changed)));
  ((PC_HJMG *)scalar->pc->data)->ngraphs = PetscMax(2 * scalar->n, HJ_MG_GRAPHS);
  PetscCall(PCSetDM(scalar->pc, da));
  PetscCall(PCSetErrorIfFailure(scalar->pc, pc->erroriffailure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the components side by side in one array */
static PetscErrorCode HJMGComponentsCreateVecs(HJMGComponents s)
{
  const HJBackendOps *ops = s->ops->backend;

  PetscFunctionBegin;
  s->apart = (s->npoints + HJ_MG_COMPONENT_ALIGN - 1) / HJ_MG_COMPONENT_ALIGN * HJ_MG_COMPONENT_ALIGN;
  PetscCall(s->ops->alloc((size_t)(2 * s->dof * s->apart) * sizeof(PetscScalar), &s->values));
  for (PetscInt c = 0; c < s->dof; c++) {
    PetscCall(HJVecCreateIn(s->scalar[0].A, ops, s->values + c * s->apart, &s->b[c]));
    PetscCall(HJVecCreateIn(s->scalar[0].A, ops, s->values + (s->dof + c) * s->apart, &s->x[c]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsCreate(PC pc, DM da, Mat A, HJMGComponents *components)
{
  HJMGComponents        s;
  const HJCoefficients *a;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  *components = s;
  PetscCall(DMDAGetDof(da, &s->dof));
  PetscCall(HJMGComponentsCreateDM(da, &s->da));
  PetscCall(PetscCalloc6(s->dof, &s->which, s->dof, &s->scalar, s->dof, &s->b, s->dof, &s->x, s->dof, &s->y, s->dof, &s->residual));
  for (PetscInt c = 0; c < s->dof; c++) PetscCall(HJMGComponentAdd(pc, s, A, c));
  for (PetscInt i = 0; i < s->nscalars; i++) PetscCall(HJMGScalarCreatePC(pc, s->da, &s->scalar[i]));
  PetscCall(HJCoefficientsHome(s->scalar[0].A, &s->ops, &a));
  s->npoints = a->npoints;
  PetscCall(HJMGComponentsCreateVecs(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsRefresh(PC pc, HJMGComponents s, Mat A, PetscBool *kept)
{
  PetscBool *read;

  PetscFunctionBegin;
  *kept = PETSC_TRUE;
  PetscCall(PetscCalloc1(s->nscalars, &read));
  for (PetscInt c = 0; c < s->dof && *kept; c++) {
    HJMGScalar *scalar = &s->scalar[s->which[c]];
    Mat         B      = NULL;

    if (!read[s->which[c]]) PetscCall(HJMGComponentRead(pc, s, A, c, &scalar->A));
    else {
      PetscCall(HJMGComponentRead(pc, s, A, c, &B));
      PetscCall(HJMGScalarIs(scalar, B, scalar->norm, kept));
      PetscCall(MatDestroy(&B));
    }
    read[s->which[c]] = PETSC_TRUE;
  }
  PetscCall(PetscFree(read));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsSetUp(HJMGComponents s, PCFailedReason *reason)
{
  PetscFunctionBegin;
  *reason = PC_NOERROR;
  for (HJMGScalar *scalar = s->scalar; scalar < s->scalar + s->nscalars; scalar++) {
    PetscCall(PCSetOperators(scalar->pc, scalar->A, scalar->A));
    PetscCall(PCSetUp(scalar->pc));
    if (scalar->pc->failedreason) *reason = scalar->pc->failedreason;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The components of a vector, to those vectors or from them */
static PetscErrorCode HJMGComponentsMove(HJMGComponents s, PetscBool out, Vec v, Vec components[])
{
  PetscScalar *values = s->values + (components == s->x ? s->dof * s->apart : 0);
  HJVecArray   a, one;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < s->dof; c++) { /* PETSc then knows where their values are */
    PetscCall(HJVecOpen(s->ops->backend, NULL, out ? HJ_READ : HJ_WRITE, components[c], NULL, &one));
    PetscCall(HJVecClose(&one));
  }
  PetscCall(HJVecOpen(s->ops->backend, NULL, out ? HJ_WRITE : HJ_READ, v, &s->stage, &a));
  if (out) PetscCall(s->ops->join_all(s->dof, s->npoints, s->apart, values, a.used));
  else PetscCall(s->ops->spread_all(s->dof, s->npoints, a.used, s->apart, values));
  PetscCall(HJVecClose(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsApply(HJMGComponents s, PetscBool transposed, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGComponentsMove(s, PETSC_FALSE, b, s->b));
  for (PetscInt c = 0; c < s->dof; c++) {
    PC pc = s->scalar[s->which[c]].pc;

    if (transposed) PetscCall(PCApplyTranspose(pc, s->b[c], s->x[c]));
    else PetscCall(PCApply(pc, s->b[c], s->x[c]));
  }
  PetscCall(HJMGComponentsMove(s, PETSC_TRUE, x, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsAdvance(HJMGComponents s, Vec b, Vec x, PetscInt its, PetscBool zero)
{
  PetscInt                    done;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(HJMGComponentsMove(s, PETSC_FALSE, b, s->b));
  if (!zero) PetscCall(HJMGComponentsMove(s, PETSC_FALSE, x, s->x));
  for (PetscInt c = 0; c < s->dof; c++)
    PetscCall(PCApplyRichardson(s->scalar[s->which[c]].pc, s->b[c], s->x[c], NULL, 0, 0, 0, its, zero, &done, &reason));
  PetscCall(HJMGComponentsMove(s, PETSC_TRUE, x, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGComponentsRotate(const HJMGComponents s)
{
  PetscBool all = PETSC_TRUE;

  for (PetscInt i = 0; i < s->nscalars; i++) {
    const PC_HJMG *mg = (const PC_HJMG *)s->scalar[i].pc->data;

    all = (PetscBool)(all && mg->nlevels > 1 && !mg->scale && !mg->mask && !mg->inside && !mg->level[0].lifted && !HJMGIsSingle(mg));
  }
  return all;
}

/* Vectors of such cycles; those of before may be of other grids */
static PetscErrorCode HJMGComponentMakeRotated(HJMGComponents s, PetscInt c)
{
  const HJMGScalar *scalar = &s->scalar[s->which[c]];

  PetscFunctionBegin;
  if (!s->y[c]) PetscCall(VecDuplicate(s->x[c], &s->y[c]));
  PetscCall(VecDestroy(&s->residual[c]));
  if (scalar->n > 1) PetscCall(VecDuplicate(((PC_HJMG *)scalar->pc->data)->level[1].b, &s->residual[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One cycle of a component, first: what comes before it. *x is the iterate, *y the other vector */
static PetscErrorCode HJMGComponentRotate(HJMGComponents s, PetscInt c, PetscBool first, PetscBool zero, Vec *x, Vec *y, PetscReal *norm)
{
  PC        pc   = s->scalar[s->which[c]].pc;
  PC_HJMG  *mg   = (PC_HJMG *)pc->data;
  const Vec next = mg->level[1].b;

  PetscFunctionBegin;
  if (first) PetscCall(HJMGRotatedStart(mg, zero ? HJ_MG_START_ZERO : HJ_MG_START, s->b[c], x, y));
  else if (s->residual[c]) PetscCall(VecCopy(s->residual[c], next));
  PetscCall(HJMGReplay(pc, HJ_MG_ROTATED, s->b[c], *x, *y));
  HJMGSwapVectorsIf(mg->steps[HJ_MG_ROTATED].in_y, x, y);
  PetscCall(HJMGNorm(pc, s->b[c], *x, *y, norm));
  if (s->residual[c]) PetscCall(VecCopy(next, s->residual[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of a vector whose parts have these norms */
static PetscReal HJMGNormOfNorms(PetscInt n, const PetscReal norm[])
{
  PetscReal most = 0.0, sum = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    if (PetscIsInfOrNanReal(norm[i])) return norm[i];
    most = PetscMax(most, norm[i]);
  }
  if (most == 0.0) return most;
  for (PetscInt i = 0; i < n; i++) sum += PetscSqr(norm[i] / most);
  return most * PetscSqrtReal(sum);
}

/* A cycle of each component in turns, as the KSP's test is of all */
PetscErrorCode HJMGComponentsSolve(HJMGComponents s, KSP ksp, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PetscReal *norm;
  Vec       *vx, *vy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(s->dof, &norm, s->dof, &vx, s->dof, &vy));
  PetscCall(HJMGComponentsMove(s, PETSC_FALSE, b, s->b));
  if (!zero) PetscCall(HJMGComponentsMove(s, PETSC_FALSE, x, s->x));
  for (PetscInt c = 0; c < s->dof; c++) {
    PetscCall(HJMGComponentMakeRotated(s, c));
    vx[c] = s->x[c];
    vy[c] = s->y[c];
  }
  for (*it = 0; !ksp->reason && *it < its;) {
    for (PetscInt c = 0; c < s->dof; c++) PetscCall(HJMGComponentRotate(s, c, (PetscBool) !*it, zero, &vx[c], &vy[c], &norm[c]));
    PetscCall(HJMGTest(ksp, ++*it, HJMGNormOfNorms(s->dof, norm)));
  }
  for (PetscInt c = 0; c < s->dof; c++)
    if (vx[c] != s->x[c]) PetscCall(VecCopy(vx[c], s->x[c]));
  PetscCall(HJMGComponentsMove(s, PETSC_TRUE, x, s->x));
  PetscCall(PetscFree3(norm, vx, vy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* They learn which KSP has them: some are served in single precision */
PetscErrorCode HJMGComponentsPreSolve(HJMGComponents s, KSP ksp, PetscBool post)
{
  PetscFunctionBegin;
  for (HJMGScalar *scalar = s->scalar; scalar < s->scalar + s->nscalars; scalar++) {
    if (post) PetscCall(PCPostSolve(scalar->pc, ksp));
    else PetscCall(PCPreSolve(scalar->pc, ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt HJMGComponentsLevels(const HJMGComponents s)
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < s->nscalars; i++) n = PetscMax(n, HJMGCountLevels((PC_HJMG *)s->scalar[i].pc->data));
  return n;
}

PetscErrorCode HJMGComponentsView(const HJMGComponents s, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " components that are not coupled: each has cycles of its own\n", s->dof));
  for (PetscInt i = 0; i < s->nscalars; i++) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "component"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt c = 0; c < s->dof; c++)
      if (s->which[c] == i) PetscCall(PetscViewerASCIIPrintf(viewer, " %" PetscInt_FMT, c));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", s->scalar[i].n > 1 ? ", which have the same coefficients" : ""));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
    PetscCall((*s->scalar[i].pc->ops->view)(s->scalar[i].pc, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComponentsDestroy(HJMGComponents *components)
{
  HJMGComponents s = *components;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt c = 0; c < s->dof; c++) {
    PetscCall(PCDestroy(&s->scalar[c].pc));
    PetscCall(MatDestroy(&s->scalar[c].A));
    PetscCall(VecDestroy(&s->b[c]));
    PetscCall(VecDestroy(&s->x[c]));
    PetscCall(VecDestroy(&s->y[c]));
    PetscCall(VecDestroy(&s->residual[c]));
  }
  if (s->values) PetscCall(s->ops->free(&s->values));
  if (s->stage) PetscCall(s->ops->backend->free(NULL, &s->stage));
  PetscCall(PetscFree6(s->which, s->scalar, s->b, s->x, s->y, s->residual));
  PetscCall(DMDestroy(&s->da));
  PetscCall(PetscFree(*components));
  PetscFunctionReturn(PETSC_SUCCESS);
}
