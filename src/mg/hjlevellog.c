/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What users learn of levels: events of each for -log_view, and the memory of all.
*/
#include "hjmg.h"

static PetscLogEvent HJMGSetUpEvent[HJ_MG_MAX_LEVELS], HJMGCycleEvent[HJ_MG_MAX_LEVELS];

/* Registered when levels are first logged; the same events serve all PCs */
static PetscErrorCode HJMGLogRegister(void)
{
  char name[32];

  PetscFunctionBegin;
  if (HJMGCycleEvent[0]) PetscFunctionReturn(PETSC_SUCCESS);
  for (int l = 0; l < HJ_MG_MAX_LEVELS; l++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "HJMGSetUp %d", l));
    PetscCall(PetscLogEventRegister(name, PC_CLASSID, &HJMGSetUpEvent[l]));
    PetscCall(PetscSNPrintf(name, sizeof(name), "HJMGCycle %d", l));
    PetscCall(PetscLogEventRegister(name, PC_CLASSID, &HJMGCycleEvent[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLogSetUp(const PC_HJMG *mg, PetscInt l, PetscBool begin)
{
  const PetscInt at = mg->base + l;

  PetscFunctionBegin;
  if (!mg->log || at >= HJ_MG_MAX_LEVELS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGLogRegister());
  if (begin) PetscCall(PetscLogEventBegin(HJMGSetUpEvent[at], 0, 0, 0, 0));
  else PetscCall(PetscLogEventEnd(HJMGSetUpEvent[at], 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLogMove(const PC_HJMG *mg, PetscInt from, PetscInt to)
{
  PetscFunctionBegin;
  if (!mg->log || PetscMax(from, to) + mg->base >= HJ_MG_MAX_LEVELS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGLogRegister());
  if (from >= 0) PetscCall(PetscLogEventEnd(HJMGCycleEvent[mg->base + from], 0, 0, 0, 0));
  if (to >= 0) PetscCall(PetscLogEventBegin(HJMGCycleEvent[mg->base + to], 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients that the sweeps have of their own, beside those of the matrix */
static PetscReal HJMGStencilBytes(const HJStencil *st)
{
  const PetscReal points = (PetscReal)HJBoxSize(&st->box);
  PetscReal       bytes  = st->index ? points : 0;

  for (PetscInt o = 1; o < st->nslots; o++)
    if (st->value[o] && !st->in_place) bytes += points * sizeof(PetscScalar);
  if (st->dinv) bytes += points * sizeof(PetscScalar);
  return bytes;
}

PetscErrorCode HJMGBytes(const PC_HJMG *mg, PetscReal *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    const PetscReal points = (PetscReal)HJBoxSize(&level->op->grid.owned);
    MatInfo         info;

    if (level->A && (level > mg->level || mg->converted)) {
      PetscCall(MatGetInfo(level->A, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->P) {
      PetscCall(MatGetInfo(level->P, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->restriction && level->restriction->residual) *bytes += points * sizeof(PetscScalar);
    if (level->At) {
      PetscCall(MatGetInfo(level->At, MAT_LOCAL, &info));
      *bytes += info.memory + HJMGStencilBytes(level->opt->stencil);
    }
    *bytes += HJMGStencilBytes(level->op->stencil);
    *bytes += points * sizeof(PetscScalar) * ((level->x != NULL) + (level->b && !level->borrows) + (level->r != NULL));
    *bytes += HJMGLinesBytes(level->lines);
    if (level->residual) *bytes += points * sizeof(PetscScalar);
  }
  *bytes += HJMGSingleBytes(mg);
  if (mg->inside) *bytes += HJMGInsideBytes(mg->inside);
  if (mg->gather) PetscCall(HJMGGatherBytes(mg->gather, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
