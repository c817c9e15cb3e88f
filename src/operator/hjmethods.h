/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the setters and getters of all PCs have in common: the public functions of one argument, which call what a PC composes, and getters
   of a field. Their manual pages stand in front of them.
*/
#pragma once

#include "hjoperator.h"

/* Kind: of PetscValidLogicalCollectiveKind(). Ignored by PCs of another type */
#define HJ_PUBLIC_SETTER(Name, type, Kind)                                                                                                 \
  PetscErrorCode Name(PC pc, type value)                                                                                                   \
  {                                                                                                                                        \
    PetscFunctionBegin;                                                                                                                    \
    PetscValidHeaderSpecific(pc, PC_CLASSID, 1);                                                                                           \
    PetscValidLogicalCollective##Kind(pc, value, 2);                                                                                       \
    PetscTryMethod(pc, #Name "_C", (PC, type), (pc, value));                                                                               \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }

/* An error for PCs of another type */
#define HJ_PUBLIC_GETTER(Name, type)                                                                                                       \
  PetscErrorCode Name(PC pc, type *value)                                                                                                  \
  {                                                                                                                                        \
    PetscFunctionBegin;                                                                                                                    \
    PetscValidHeaderSpecific(pc, PC_CLASSID, 1);                                                                                           \
    HJCheckPointer(value, 2);                                                                                                              \
    PetscUseMethod(pc, #Name "_C", (PC, type *), (pc, value));                                                                             \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }

/* What is composed as a getter of a field of a PC's data */
#define HJ_FIELD_GETTER(Name, Data, type, field)                                                                                           \
  static PetscErrorCode Name(PC pc, type *value)                                                                                           \
  {                                                                                                                                        \
    PetscFunctionBegin;                                                                                                                    \
    *value = ((const Data *)pc->data)->field;                                                                                              \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }
