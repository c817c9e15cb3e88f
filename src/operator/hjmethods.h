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

/* What is composed as setter and getter of a field that has a word of a list, up to last; another one than before is told to Changed() */
#define HJ_WORD_METHODS(Class, Name, Type, field, last, Changed, change)                                                                   \
  static PetscErrorCode Class##Set##Name##_##Type(PC pc, Class##Name value)                                                                \
  {                                                                                                                                        \
    PC_##Type *data = (PC_##Type *)pc->data;                                                                                               \
                                                                                                                                           \
    PetscFunctionBegin;                                                                                                                    \
    PetscCheck((int)value >= 0 && value <= (last), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,                             \
               "Unknown value %d; see the manual page of " #Class "Set" #Name "()", (int)value);                                           \
    if (data->field == value) PetscFunctionReturn(PETSC_SUCCESS);                                                                          \
    data->field = value;                                                                                                                   \
    PetscCall(Changed(pc, change));                                                                                                        \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }                                                                                                                                        \
  HJ_FIELD_GETTER(Class##Get##Name##_##Type, PC_##Type, Class##Name, field)

typedef struct {
  const char *name;
  void (*function)(void);
} HJMethod;

/* Setter and getter in a list of what is composed */
#define HJ_METHODS(Class, Name, Type)                                                                                                      \
  {#Class "Set" #Name "_C", (void (*)(void))Class##Set##Name##_##Type},                                                                    \
  {                                                                                                                                        \
    #Class "Get" #Name "_C", (void (*)(void))Class##Get##Name##_##Type                                                                     \
  }

/* Composes them with the PC, or takes them away */
static inline PetscErrorCode HJMethodsCompose(PC pc, size_t n, const HJMethod methods[], PetscBool compose)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < n; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, methods[i].name, compose ? methods[i].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
