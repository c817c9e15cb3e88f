/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What this room's files ask of a level: its points, its operator, what is known of its matrix. Decides what an error says where a matrix
   is no stencil.
*/
#include "hjmg.h"

PetscReal HJMGPoints(const HJMGLevel *level)
{
  const PetscInt *N = level->op->grid.N;

  return (PetscReal)N[0] * N[1] * N[2];
}

PetscBool HJMGIsOfFinest(const PC_HJMG *mg, const HJMGLevel *level)
{
  PetscBool is = (PetscBool)!mg->inexact;

  for (const HJMGLevel *above = mg->level; above < level; above++) is = (PetscBool)(is && above->R);
  return is;
}

/* P^T A P is symmetric where A is said to be, or was found to be when it was read */
PetscErrorCode HJMGPassSymmetry(const HJMGLevel *fine, Mat to)
{
  PetscBool set, flag;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(fine->A, &set, &flag));
  if (fine->op->stencil->storage == HJ_SYMMETRIC) set = flag = PETSC_TRUE;
  if (set) PetscCall(MatSetOption(to, MAT_SYMMETRIC, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGTryOperator(PC pc, Mat A, DM da, HJOperator **op, char why[], size_t len)
{
  const PC_HJMG   *mg     = (const PC_HJMG *)pc->data;
  const HJMGLevel *finest = mg->level;
  /* A product of a matrix with many distinct rows has as many. Others have few, which are compared: sweeps then take less time */
  const PetscBool     is_box = (PetscBool)(finest->da && da != finest->da && finest->op && finest->op->stencil->storage != HJ_DICTIONARY);
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  const char         *why_backend, *why_exchange;

  PetscFunctionBegin;
  PetscCall(HJOperatorDestroy(op));
  PetscCall(HJOperatorChooseBackend(A, PC_HJACOBI_BACKEND_AUTO, 1, &ops, &why_backend));
  PetscCall(HJOperatorChooseExchange(PetscObjectComm((PetscObject)pc), mg->exchange, ops, &halo_ops, &why_exchange));
  PetscCall(HJOperatorCreateInPlace(A, da, ops, halo_ops, is_box, PETSC_TRUE, op, why, len));
  if (*op) (*op)->exchange_timeout = mg->exchange_timeout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What to use where the matrix is no stencil: it is of a type that PCGAMG does not read either, a DM is attached, or none */
static PetscErrorCode HJMGAdvise(Mat A, DM dm, const char **cure)
{
  PetscBool isda = PETSC_FALSE, rows;
  PetscInt  dof  = 1;

  PetscFunctionBegin;
  if (!dm) PetscCall(MatGetDM(A, &dm));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (isda) PetscCall(DMDAGetDof(dm, &dof));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &rows, MATSEQAIJ, MATMPIAIJ, MATHJSTENCIL, ""));
  *cure = !rows     ? "-dm_mat_type aij, or MatConvert(), and then hjmg or -pc_type gamg"
          : dof > 1 ? "-pc_type gamg, or -pc_type fieldsplit with hjmg for each field"
          : dm      ? "-pc_type gamg"
                    : "-pc_type gamg, or attach the DMDA by KSPSetDM() or MatSetDM()";
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGRefuse(PC pc, const char why[])
{
  DM          dm;
  const char *cure = "";

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJMGAdvise(pc->pmat, dm, &cure));
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PCHJMG needs a matrix that is a stencil on a DMDA (%s); use %s", why, cure);
}

PetscErrorCode HJMGMakeOperator(PC pc, Mat A, DM da, HJOperator **op)
{
  char why[512];

  PetscFunctionBegin;
  PetscCall(HJMGTryOperator(pc, A, da, op, why, sizeof(why)));
  if (!*op) PetscCall(HJMGRefuse(pc, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}
