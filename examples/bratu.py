#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bratu's equation of bratu.c in Python: -div(grad u) = lambda e^u on a square by Newton's method, beside Liouville's solution.

    python3 examples/bratu.py -dll_append $PWD/lib/libhjacobi.so -dm_mat_type hjstencil -pc_type hjmg

-n 31: points of the first of two grids in each direction; the error must fall by 4 from one to the next.
"""
import sys

import numpy as np
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  PETSc starts at its import

LAMBDA = 4.0


def exact(x, y):
    """e^u = 8 |f'|^2 / (lambda (1 + |f|^2)^2) with f(z) = z + z^2 / 2"""
    z = x + 1j * y
    return np.log(8 * abs(1 + z) ** 2 / (LAMBDA * (1 + abs(z + z * z / 2) ** 2) ** 2))


def solve_on_grid(n):
    """Newton's steps, iterations of CG, the largest u, the largest error."""
    h = 1 / (n + 1)
    da = PETSc.DMDA().create([n, n], stencil_width=1, setup=False)
    da.setFromOptions()
    da.setUp()
    laplacian, edge, known, u = da.createMatrix(), da.createGlobalVector(), da.createGlobalVector(), da.createGlobalVector()
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    beyond, solution = da.getVecArray(edge), da.getVecArray(known)
    (x0, x1), (y0, y1) = da.getRanges()
    for y in range(y0, y1):
        for x in range(x0, x1):
            row.index = (x, y)
            solution[x, y] = exact((x + 1) * h, (y + 1) * h)
            laplacian.setValueStencil(row, row, 4)
            for i, j in (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1):
                col.index = (i, j)
                if 0 <= i < n and 0 <= j < n:
                    laplacian.setValueStencil(row, col, -1)
                else:
                    beyond[x, y] += exact((i + 1) * h, (j + 1) * h)
    laplacian.assemble()

    def function(snes, u, f):
        laplacian.mult(u, f)
        f.array -= edge.array_r + h * h * LAMBDA * np.exp(u.array_r)

    def jacobian(snes, u, J, P):
        diagonal = u.duplicate()
        diagonal.array = 4 - h * h * LAMBDA * np.exp(u.array_r)
        P.setDiagonal(diagonal)
        P.assemble()

    snes = PETSc.SNES().create()
    snes.setFunction(function, u.duplicate())
    snes.setJacobian(jacobian, laplacian.duplicate(copy=True))
    snes.setTolerances(rtol=1e-14, atol=1e-10, stol=1e-14)
    snes.ksp.setType('cg')
    snes.ksp.setTolerances(rtol=1e-6)
    snes.setErrorIfNotConverged(True)
    snes.setFromOptions()
    snes.solve(None, u)
    largest = u.norm(PETSc.NormType.INFINITY)
    return snes.getIterationNumber(), snes.getLinearSolveIterations(), largest, (u - known).norm(PETSc.NormType.INFINITY)


n, before, right = PETSc.Options().getInt('n', 31), None, True
for n in n, 2 * n + 1:
    steps, its, largest, error = solve_on_grid(n)
    right = before is None or abs(before / error - 4) < 0.3
    before = error
    PETSc.Sys.Print(f'bratu {n}x{n}: {steps} solves, {its} iterations, answer {largest:.8e}, {"right" if right else "WRONG"}, error {error:.2e}')
sys.exit(0 if right else 1)
