/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Linear elasticity in trilinear (bilinear) elements on a DMDA, and the Jacobian of Gray and Scott's reaction: systems that tests and
   measurements share.
*/
#pragma once

#include <petscdmda.h>

/* Stiffness of a cube element of side 1, Young's modulus 1: [8 dim][8 dim], corners x fastest; two Gauss points a direction */
static inline PETSC_UNUSED void ElasticityElement(PetscInt dim, PetscReal nu, PetscScalar *ke)
{
  const PetscInt  nc = dim == 2 ? 4 : 8, ndof = nc * dim, ns = dim == 2 ? 3 : 6;
  const PetscReal lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu), g = 0.5 / PetscSqrtReal(3.0);

  PetscCallVoid(PetscArrayzero(ke, ndof * ndof));
  for (PetscInt q = 0; q < nc; q++) {
    const PetscReal at[3] = {0.5 + (q & 1 ? g : -g), 0.5 + (q & 2 ? g : -g), 0.5 + (q & 4 ? g : -g)};
    PetscReal       grad[8][3], b[6][24] = {{0}};

    for (PetscInt a = 0; a < nc; a++) {
      for (PetscInt d = 0; d < dim; d++) {
        grad[a][d] = 1;
        for (PetscInt e = 0; e < dim; e++) grad[a][d] *= e == d ? (a >> e & 1 ? 1 : -1) : (a >> e & 1 ? at[e] : 1 - at[e]);
      }
      for (PetscInt d = 0; d < dim; d++) b[d][a * dim + d] = grad[a][d];
      b[dim][a * dim]     = grad[a][1];
      b[dim][a * dim + 1] = grad[a][0];
      if (dim < 3) continue;
      b[4][a * 3 + 1] = grad[a][2];
      b[4][a * 3 + 2] = grad[a][1];
      b[5][a * 3]     = grad[a][2];
      b[5][a * 3 + 2] = grad[a][0];
    }
    for (PetscInt i = 0; i < ndof; i++) {
      for (PetscInt j = 0; j < ndof; j++) {
        PetscReal sum = 0, ti = 0, tj = 0;

        for (PetscInt s = 0; s < ns; s++) sum += (s < dim ? 2 * mu : mu) * b[s][i] * b[s][j];
        for (PetscInt s = 0; s < dim; s++) {
          ti += b[s][i];
          tj += b[s][j];
        }
        ke[i * ndof + j] += (sum + lambda * ti * tj) / nc;
      }
    }
  }
}

/* Clamped where x = 0: these rows are a diagonal alone. In the middle of the grid Young's modulus is stiff times that elsewhere */
static inline PETSC_UNUSED PetscErrorCode ElasticityFill(DM da, PetscReal nu, PetscReal stiff, Mat A)
{
  PetscScalar ke[24 * 24], scaled[24 * 24];
  PetscInt    dim, N[3], lo[3], w[3], e[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  ElasticityElement(dim, nu, ke);
  for (e[2] = dim > 2 ? lo[2] : 0; e[2] < (dim > 2 ? PetscMin(lo[2] + w[2], N[2] - 1) : 1); e[2]++) {
    for (e[1] = lo[1]; e[1] < PetscMin(lo[1] + w[1], N[1] - 1); e[1]++) {
      for (e[0] = lo[0]; e[0] < PetscMin(lo[0] + w[0], N[0] - 1); e[0]++) {
        const PetscInt nc = dim == 2 ? 4 : 8, n = nc * dim;
        PetscBool      middle = PETSC_TRUE;
        MatStencil     row[24];

        for (PetscInt d = 0; d < dim; d++) middle = (PetscBool)(middle && 4 * e[d] >= N[d] && 4 * e[d] < 3 * N[d]);
        for (PetscInt i = 0; i < n; i++) {
          const PetscInt a = i / dim;

          row[i] = (MatStencil){.i = e[0] + (a & 1), .j = e[1] + (a >> 1 & 1), .k = e[2] + (a >> 2 & 1), .c = i % dim};
        }
        for (PetscInt i = 0; i < n; i++) {
          for (PetscInt j = 0; j < n; j++) {
            const PetscBool known = (PetscBool)(!row[i].i || !row[j].i);

            scaled[i * n + j] = known && i != j ? 0.0 : (middle ? stiff : 1.0) * ke[i * n + j];
          }
        }
        PetscCall(MatSetValuesStencil(A, n, row, n, row, scaled, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* shift I - (diffusion + reaction) of two species on a periodic square of side 2.5, as ts/tutorials/advection-diffusion-reaction/ex5.c
   has it, around its initial values */
static inline PETSC_UNUSED PetscErrorCode GrayScottFill(DM da, PetscReal shift, Mat A)
{
  PetscInt        N[2], lo[2], w[2];
  const PetscReal diffusion[] = {8e-5, 4e-5}, gamma = 0.024, kappa = 0.06;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &w[0], &w[1], NULL));
  for (PetscInt j = lo[1]; j < lo[1] + w[1]; j++) {
    for (PetscInt i = lo[0]; i < lo[0] + w[0]; i++) {
      const PetscReal x = 2.5 * i / N[0], y = 2.5 * j / N[1], sx = PetscSinReal(4 * PETSC_PI * x), sy = PetscSinReal(4 * PETSC_PI * y);
      const PetscReal v = x >= 1 && x <= 1.5 && y >= 1 && y <= 1.5 ? 0.25 * sx * sx * sy * sy : 0, u = 1 - 2 * v;
      const PetscReal hx = N[0] * N[0] / 6.25, hy = N[1] * N[1] / 6.25;

      for (PetscInt c = 0; c < 2; c++) {
        const PetscReal   d     = diffusion[c];
        const MatStencil  row   = {.i = i, .j = j, .c = c};
        const MatStencil  col[] = {{.i = i - 1, .j = j, .c = c}, {.i = i + 1, .j = j, .c = c}, {.i = i, .j = j - 1, .c = c},
                                   {.i = i, .j = j + 1, .c = c}, {.i = i, .j = j, .c = c},     {.i = i, .j = j, .c = 1 - c}};
        const PetscScalar a[]   = {-d * hx,
                                   -d * hx,
                                   -d * hy,
                                   -d * hy,
                                   shift + 2 * d * (hx + hy) + (c ? -2 * u * v + gamma + kappa : v * v + gamma),
                                 c ? -v * v : 2 * u * v};

        PetscCall(MatSetValuesStencil(A, 1, &row, 6, col, a, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA of as many points in each direction, with a node more than elements */
static inline PETSC_UNUSED PetscErrorCode SystemGrid(PetscInt dim, PetscInt n, PetscInt dof, DMBoundaryType b, PetscBool box, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, dim));
  PetscCall(DMDASetSizes(*da, n, dim > 1 ? n : 1, dim > 2 ? n : 1));
  PetscCall(DMDASetBoundaryType(*da, b, dim > 1 ? b : DM_BOUNDARY_NONE, dim > 2 ? b : DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
