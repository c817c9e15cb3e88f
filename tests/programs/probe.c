/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A plugin for tests/test_petscprograms.py: it writes a line for each solve that a program makes, into the file that HJ_PROBE names.
   PETSc calls it at the end of each logged event; solves within solves, and within the set-up of a preconditioner, are left out. It decides
   nothing and prints nothing.
*/
#include "core/hjcompat.h"
#include <petsc/private/kspimpl.h>
#include <petscsnes.h>
#include <petsctao.h>
#include <stdlib.h>

static struct {
  PetscLogEvent ksp, transpose, several, setup, snes, tao;
  int           depth;
} probe = {-1, -1, -1, -1, -1, -1, 0};

static PetscErrorCode ProbeWrite(MPI_Comm comm, const char line[])
{
  const char *name = getenv("HJ_PROBE");
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (!rank && name) {
    FILE *file = fopen(name, "a");

    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s cannot be opened", name);
    (void)fputs(line, file);
    (void)fclose(file);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true residual, and what the KSP was asked for, both by the norm of b */
static PetscErrorCode ProbeTrueResidual(KSP ksp, PetscReal *relative, PetscReal *asked)
{
  Mat       A;
  Vec       r;
  PetscReal bnorm, rnorm, rtol, atol;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecDuplicate(ksp->vec_rhs, &r));
  if (ksp->transpose_solve) PetscCall(MatMultTranspose(A, ksp->vec_sol, r));
  else PetscCall(MatMult(A, ksp->vec_sol, r));
  PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(ksp->vec_rhs, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPGetTolerances(ksp, &rtol, &atol, NULL, NULL));
  *relative = bnorm > 0.0 ? rnorm / bnorm : rnorm;
  *asked    = PetscMax(rtol, bnorm > 0.0 ? atol / bnorm : atol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProbeKSP(KSP ksp)
{
  const char        *prefix, *amat, *pmat, *pctype;
  char               line[512];
  PC                 pc;
  Mat                A, P;
  PetscReal          relative = 0.0, asked = 0.0;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &pctype));
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(MatGetType(A, &amat));
  PetscCall(MatGetType(P, &pmat));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(ProbeTrueResidual(ksp, &relative, &asked));
  PetscCall(PetscSNPrintf(line, sizeof(line), "ksp %s %s %s %s %d %" PetscInt_FMT " %g %g\n", prefix && prefix[0] ? prefix : "-", pctype,
                          amat, pmat, (int)reason, its, (double)relative, (double)asked));
  PetscCall(ProbeWrite(PetscObjectComm((PetscObject)ksp), line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProbeBegin(PetscLogEvent event, int t, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  /* A class registers its events when its first object is made */
  if (o1 && o1->classid == KSP_CLASSID && probe.ksp < 0) {
    if (PetscLogEventGetId("KSPSolve", &probe.ksp) || PetscLogEventGetId("KSPSolveTranspos", &probe.transpose) ||
        PetscLogEventGetId("KSPMatSolve", &probe.several))
      return PETSC_ERR_LIB;
  }
  if (o1 && o1->classid == PC_CLASSID && probe.setup < 0 && PetscLogEventGetId("PCSetUp", &probe.setup)) return PETSC_ERR_LIB;
  if (o1 && o1->classid == SNES_CLASSID && probe.snes < 0 && PetscLogEventGetId("SNESSolve", &probe.snes)) return PETSC_ERR_LIB;
  if (o1 && o1->classid == TAO_CLASSID && probe.tao < 0 && PetscLogEventGetId("TaoSolve", &probe.tao)) return PETSC_ERR_LIB;
  if (event == probe.ksp || event == probe.transpose || event == probe.several || event == probe.setup) probe.depth++;
  return 0;
}

static PetscErrorCode ProbeEnd(PetscLogEvent event, int t, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  char line[64];

  PetscFunctionBegin;
  if (event == probe.several || event == probe.setup) {
    probe.depth--; /* of many right-hand sides at once KSPSolve() has one */
  } else if (event == probe.ksp || event == probe.transpose) {
    if (!--probe.depth) PetscCall(ProbeKSP((KSP)o1));
  } else if (event == probe.snes && !probe.depth) {
    SNESConvergedReason reason;

    PetscCall(SNESGetConvergedReason((SNES)o1, &reason));
    PetscCall(PetscSNPrintf(line, sizeof(line), "snes %d\n", (int)reason));
    PetscCall(ProbeWrite(PetscObjectComm(o1), line));
  } else if (event == probe.tao) {
    TaoConvergedReason reason;

    PetscCall(TaoGetConvergedReason((Tao)o1, &reason));
    PetscCall(PetscSNPrintf(line, sizeof(line), "tao %d\n", (int)reason));
    PetscCall(ProbeWrite(PetscObjectComm(o1), line));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_probe(void)
{
  PetscFunctionBegin;
  PetscLogPLB = ProbeBegin;
  PetscLogPLE = ProbeEnd;
  PetscFunctionReturn(PETSC_SUCCESS);
}
