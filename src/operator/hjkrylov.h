/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the preconditioners of this library hand to the KSPs of it, by functions that they compose. Decides nothing.
*/
#pragma once

#include <petscksp.h>
#include "hjconjugate.h"

/* How a KSP wants its iterates */
typedef struct {
  MatNullSpace removed; /* corrections have none of it; NULL: nothing is removed */
  Vec          kept;    /* what the initial guess has of it, which the iterates keep; NULL: nothing */
  PetscBool    shown;   /* x is the iterate at each test, as somebody may look at it there */
} HJIterates;

/* x, of whose corrections nothing was removed, becomes the iterate without it */
PETSC_INTERN PetscErrorCode HJIteratesRemove(const HJIterates *, Vec x);

/*
   PCApplyRichardson() of a PC whose presolve knows the KSP: it has all that the loop of KSPRICHARDSON has, the KSP's norm, its monitors,
   its history, its test. removed is taken from corrections whose norm is told, and from what is shown; from the result HJIteratesRemove()
   takes it. Norm type NONE: nothing is told or shown.
*/
#define HJ_RICHARDSON "PCHJRichardson_C"
typedef PetscErrorCode (*HJRichardson)(PC, const HJIterates *, Vec b, Vec x, Vec w, PetscInt its, PetscBool zero, PetscInt *outits,
                                       PCRichardsonConvergedReason *);

/* Of a MATHJSTENCIL: what multiplies vectors that lie as x does. Valid until the matrix changes */
#define HJ_GET_PRODUCTS "MatHJStencilGetProducts_C"
typedef PetscErrorCode (*HJGetProducts)(Mat, Vec x, HJProducts **, const HJCoefficients **);

/* Of a PC that is set up: a MATHJSTENCIL whose products are those of the matrix of the system; NULL: it has none */
#define HJ_GET_SYSTEM "PCHJGetSystem_C"
typedef PetscErrorCode (*HJGetSystem)(PC, Mat *);
