#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The evenly heated chip of chip.c in Python: layers of several materials, of which the steady temperature is known by hand.

    python3 examples/chip.py -dll_append $PWD/lib/libhjacobi.so -dm_mat_type hjstencil -pc_type hjmg

-m 2: the grid has 20 m x 20 m x 6 m cells.
"""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  PETSc starts at its import

SIDE, COOLING, POWER = 0.020, 5000.0, 60.0  # m, W / (m^2 K), W
LAYERS = [(0.001, 0.3), (0.0005, 148.0), (0.0005, 4.0), (0.001, 398.0)]  # board, silicon, paste, copper: m, W / (m K)

m = PETSc.Options().getInt('m', 2)
cells = (20 * m, 20 * m, 6 * m)
d = (SIDE / cells[0], SIDE / cells[1], 0.003 / cells[2])
layer = [number for number, (thickness, _) in enumerate(LAYERS) for _ in range(round(thickness / d[2]))]  # of each level of cells
k = [LAYERS[number][1] for number in layer]

da = PETSc.DMDA().create(cells, stencil_width=1, setup=False)
da.setFromOptions()
da.setUp()
A, b, T = da.createMatrix(), da.createGlobalVector(), da.createGlobalVector()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(x0, x1), (y0, y1), (z0, z1) = da.getRanges()
source = da.getVecArray(b)
for z in range(z0, z1):
    for y in range(y0, y1):
        for x in range(x0, x1):
            at = row.index = (x, y, z)
            source[x, y, z] = POWER / (cells[0] * cells[1] * layer.count(1)) if layer[z] == 1 else 0
            diagonal = d[0] * d[1] / (d[2] / 2 / k[z] + 1 / COOLING) if z == cells[2] - 1 else 0
            for direction in range(3):
                for step in (-1, 1):
                    to = tuple(at[i] + step * (i == direction) for i in range(3))
                    if 0 <= to[direction] < cells[direction]:
                        area = d[0] * d[1] * d[2] / d[direction]
                        conductance = 2 * area / d[direction] / (1 / k[z] + 1 / k[to[2]])
                        diagonal += conductance
                        col.index = to
                        A.setValueStencil(row, col, -conductance)
            A.setValueStencil(row, row, diagonal)
A.assemble()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType('cg')
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
ksp.setTolerances(rtol=1e-8, max_it=2000)
ksp.setFromOptions()
ksp.solve(b, T)

(_, _), (die, k_die), (paste, k_paste), (copper, k_copper) = LAYERS
expected = POWER / SIDE**2 * (die / (2 * k_die) + paste / k_paste + copper / k_copper + 1 / COOLING)
hottest = T.max()[1]
right = ksp.getConvergedReason() > 0 and abs(hottest / expected - 1) < 1e-3
PETSc.Sys.Print(f'chip.py: {ksp.getIterationNumber()} iterations, {hottest:.6f} K, by hand {expected:.6f}, {"right" if right else "WRONG"}')
sys.exit(0 if right else 1)
