#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The image of image.c in Python, smoothed but not over its edges: NumPy's arrays are the coefficients of the matrix.

    pip install ./config/python
    python3 examples/image.py

-n 512: pixels in each direction.
"""
import sys

import numpy as np
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  PETSc starts at its import

import hjacobi  # noqa: E402

GREY = np.array([0.2, 0.9, 0.6, 0.75, 0.4])
STRENGTH = 100.0

n = PETSc.Options().getInt('n', 512)
da = PETSc.DMDA().create([n, n], stencil_width=1)
(x0, x1), (y0, y1) = da.getRanges()
j, i = np.mgrid[y0:y1, x0:x1]  # this rank's pixels, as the arrays of hjacobi.stencil() have them


def region(i, j):
    """Ground, a disc, a ring, a tilted stripe, a square that meets it"""
    x, y = (i + 0.5) / n, (j + 0.5) / n
    r = np.hypot(x - 0.3, y - 0.65)
    square = (x > 0.6) & (x < 0.9) & (y > 0.5) & (y < 0.8)
    return np.select([r < 0.1, (r > 0.15) & (r < 0.22), abs(y - 0.2 - 0.3 * x) < 0.03, square], [1, 2, 3, 4])


def noise(i, j):
    """From -1 to 1, by the pixel alone"""
    h = (i + 1).astype(np.uint64) * np.uint64(0x9e3779b97f4a7c15) + (j + 1).astype(np.uint64) * np.uint64(0xd1b54a32d192ed03)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return 2 * ((h ^ (h >> np.uint64(31))) >> np.uint64(11)) / 2.0**53 - 1


def weight(di, dj):
    """Between each pixel and that neighbour, 0 where there is none"""
    inside = (i + di >= 0) & (i + di < n) & (j + dj >= 0) & (j + dj < n)
    difference = GREY[region(i, j)] - GREY[region(i + di, j + dj)]
    return inside * np.maximum(np.exp(-((difference / 0.03) ** 2)), 1e-12)


def statistics(image):
    """Mean of each region, and the noise: the deviation from that"""
    of, pixels, mean, squares = region(i, j).ravel(), image.duplicate(), [], 0
    for number in range(len(GREY)):
        pixels.array = of == number
        mean.append(image.dot(pixels) / pixels.sum())
        pixels.array = (of == number) * (image.array_r - mean[-1])
        squares += pixels.dot(pixels)
    return np.array(mean), (squares / n**2) ** 0.5


rows = {offset: -STRENGTH * weight(*offset) for offset in ((-1, 0), (1, 0), (0, -1), (0, 1))}
A = hjacobi.stencil(da, {(0, 0): 1 - sum(rows.values()), **rows})
u, f = A.createVecs()
f.array = (GREY[region(i, j)] + 0.3 * noise(i, j)).ravel()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType('cg')
ksp.getPC().setType('hjmg')
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
ksp.setTolerances(rtol=1e-8, max_it=5000)
ksp.setErrorIfNotConverged(True)
ksp.setFromOptions()
ksp.solve(f, u)

(before, noisy), (after, smooth) = statistics(f), statistics(u)
error = abs(after - before).max()
right = error < 1e-6 and smooth < 0.2 * noisy
PETSc.Sys.Print(f'noise {noisy:.4f} before, {smooth:.4f} after; largest change of a region\'s mean {error:.1e}')
PETSc.Sys.Print(f'image {n}x{n}: 1 solves, {ksp.getIterationNumber()} iterations, answer {smooth:.8e}, {"right" if right else "WRONG"}')
sys.exit(0 if right else 1)
