/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What PETSc says is kept, and read by the test: the message of an error, and lines that are printed.
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

/* Whether the call failed; its message is kept */
#define CaptureError(call, failed)                                                                                                         \
  do {                                                                                                                                     \
    message[0] = 0;                                                                                                                        \
    PetscCall(PetscPushErrorHandler(Capture, NULL));                                                                                       \
    *(failed) = (PetscBool)((call) != PETSC_SUCCESS);                                                                                      \
    PetscCall(PetscPopErrorHandler());                                                                                                     \
  } while (0)

/* Passes if the call failed and the message holds every word */
static PETSC_UNUSED PetscErrorCode CheckMessage(PetscBool failed, const char *name, const char *words[])
{
  PetscBool all = failed;

  PetscFunctionBegin;
  for (PetscInt i = 0; words[i]; i++) all = (PetscBool)(all && strstr(message, words[i]));
  PetscCall(HJTestDetail("# message: %s", message));
  PetscCall(HJTestOK(all, "%s", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs call with messages captured; check() gets whether it failed, and the words that the message shall hold */
#define ExpectErrorBy(check, call, name, ...)                                                                                              \
  do {                                                                                                                                     \
    PetscBool failed_;                                                                                                                     \
    CaptureError(call, &failed_);                                                                                                          \
    PetscCall(check(failed_, name, (const char *[]){__VA_ARGS__, NULL}));                                                                  \
  } while (0)
#define ExpectError(call, name, ...) ExpectErrorBy(CheckMessage, call, name, __VA_ARGS__)

/* What PETSc prints between CollectBegin() and CollectEnd(), on the ranks that print */
static PETSC_UNUSED char printed[1 << 16];
static PETSC_UNUSED      PetscErrorCode (*printed_before)(FILE *, const char[], va_list);

static PETSC_UNUSED PetscErrorCode Collect(FILE *fd, const char format[], va_list args)
{
  const size_t used = strlen(printed);

  PetscFunctionBegin;
  (void)PetscVSNPrintf(printed + used, sizeof(printed) - used, format, NULL, args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED void CollectBegin(void)
{
  printed[0]     = 0;
  printed_before = PetscVFPrintf;
  PetscVFPrintf  = Collect;
}

static PETSC_UNUSED void CollectEnd(void)
{
  PetscVFPrintf = printed_before;
}

/* Runs call with -info on, and collects what that prints */
#define CollectInfo(call)                                                                                                                  \
  do {                                                                                                                                     \
    PetscCall(PetscInfoAllow(PETSC_TRUE));                                                                                                 \
    PetscCall(PetscInfoSetFile(NULL, NULL));                                                                                               \
    CollectBegin();                                                                                                                        \
    PetscCall(call);                                                                                                                       \
    CollectEnd();                                                                                                                          \
    PetscCall(PetscInfoAllow(PETSC_FALSE));                                                                                                \
  } while (0)
