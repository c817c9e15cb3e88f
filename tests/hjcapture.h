/*
   Refusals: the message of an error is kept, and read by the test.
*/
#pragma once

#include "hjtest.h"

static PETSC_UNUSED char message[4096];

static PETSC_UNUSED PetscErrorCode Capture(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p,
                                           const char *mess, void *ctx)
{
  if (p == PETSC_ERROR_INITIAL && mess) (void)PetscStrncpy(message, mess, sizeof(message));
  return n;
}

/* Passes if the call failed and the message holds every word */
static PETSC_UNUSED PetscErrorCode CheckMessage(PetscBool failed, const char *name, const char *words[])
{
  PetscBool all = failed;

  PetscFunctionBegin;
  for (PetscInt i = 0; words[i]; i++) all = (PetscBool)(all && strstr(message, words[i]));
  PetscCall(HJTestOK(all, "%s", name));
  if (!all) fprintf(stderr, "# message: %s\n", message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs call with messages captured; check() gets whether it failed, and the words that the message shall hold */
#define ExpectErrorBy(check, call, name, ...)                                                                                              \
  do {                                                                                                                                     \
    PetscErrorCode code_;                                                                                                                  \
    message[0] = 0;                                                                                                                        \
    PetscCall(PetscPushErrorHandler(Capture, NULL));                                                                                       \
    code_ = (call);                                                                                                                        \
    PetscCall(PetscPopErrorHandler());                                                                                                     \
    PetscCall(check((PetscBool)(code_ != 0), name, (const char *[]){__VA_ARGS__, NULL}));                                                  \
  } while (0)
#define ExpectError(call, name, ...) ExpectErrorBy(CheckMessage, call, name, __VA_ARGS__)
