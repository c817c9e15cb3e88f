/* SPDX-License-Identifier: BSD-2-Clause */
/*
   CPU backend: the truth that the GPU is compared with

   hjhost.c cuts a rank's grid into blocks and takes the instruction set; the loops are in hjhostkernels.c, which is compiled once for each
   set. hjhostproduct.c multiplies with coefficients, hjhosttransfer.c interpolates, hjhostrestrict.c restricts, hjhostgalerkin.c makes
   Galerkin products. hjhostinterpolation.c and hjhostpaths.c make interpolation by the rows of a matrix, hjhostmeasure.c finds couplings,
   hjhostcycle.c solves the coarsest grid, hjhostabsolute.c multiplies with absolute values, for bounds, hjhostkrylov.c has the passes of a
   Krylov method. hjhostarrays.c works on the arrays of a stencil matrix. hjhostsystem.c, hjhostsystemrows.c, hjhostsystemproduct.c
   and hjhostsystemtransfer.c are for points with several unknowns. What cycles need is built a second time for float (hjhosttype.h;
   HOST_TWICE of the makefile): the table of HJBackendHostSingle. hjhostround.c rounds numbers to float.
*/
#pragma once

#include "hjhosttype.h"
#include "core/hjarrays.h"

PETSC_INTERN const HJBackendOps HJBackendHost, HJBackendHostSingle;
PETSC_INTERN const HJSingleOps  HJSingleHost;
PETSC_INTERN const HJArrayOps   HJArraysHost;
