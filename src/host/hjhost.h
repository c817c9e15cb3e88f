/*
   CPU backend: the truth that the GPU is compared with

   hjhost.c cuts a rank's grid into blocks and takes the instruction set; the loops are in hjhostkernels.c, which is compiled once for each
   set. hjproduct.c multiplies with coefficients, hjtransfer.c interpolates, hjrestrict.c restricts, hjgalerkin.c makes Galerkin products.
   hjweights.c and hjpaths.c make interpolation by the rows of a matrix, hjmeasure.c finds couplings, hjcycle.c solves the coarsest grid,
   hjhostabsolute.c multiplies with absolute values, for bounds. hjarrays.c works on the arrays of a stencil matrix.
*/
#pragma once

#include "core/hjarrays.h"

PETSC_INTERN const HJBackendOps HJBackendHost;
PETSC_INTERN const HJArrayOps   HJArraysHost;
