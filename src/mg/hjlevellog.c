/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Events of each level for -log_view.
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
