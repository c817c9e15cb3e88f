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

/* Runs call with messages captured; the test's own CheckMessage() gets whether it failed, and the words that the message shall hold */
#define ExpectError(call, name, ...)                                                                                                       \
  do {                                                                                                                                     \
    PetscErrorCode code_;                                                                                                                  \
    message[0] = 0;                                                                                                                        \
    PetscCall(PetscPushErrorHandler(Capture, NULL));                                                                                       \
    code_ = (call);                                                                                                                        \
    PetscCall(PetscPopErrorHandler());                                                                                                     \
    PetscCall(CheckMessage((PetscBool)(code_ != 0), name, (const char *[]){__VA_ARGS__, NULL}));                                           \
  } while (0)
