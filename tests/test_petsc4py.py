#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hjacobi from Python: petsc4py loads the plugin, solves Poisson by CG + multigrid, and takes no more iterations than Chebyshev/Jacobi.
The same with the stencil matrix, chosen by an option and filled by entries or by arrays, is the same solve.

Prints TAP.
"""
import os
import sys

try:
    import petsc4py
except ImportError:
    print('1..0 # SKIP petsc4py is not installed')
    sys.exit(0)

lib = os.environ.get('LIB', os.path.abspath('lib/libhjacobi.so'))
petsc4py.init(['test', '-dll_append', lib, '-use_gpu_aware_mpi', '0'])
from petsc4py import PETSc  # noqa: E402  PETSc starts at its import

version = '.'.join(map(str, PETSc.Sys.getVersion()[:2]))
built_for = os.environ.get('PETSC_VERSION', version)
if built_for != version:
    print(f'1..0 # SKIP petsc4py has PETSc {version}, the library is built for {built_for}')
    sys.exit(0)

COMMON = {'pc_type': 'mg', 'pc_mg_levels': 4, 'pc_mg_galerkin': 'both'}
SMOOTHERS = {
    'chebyshev': {'mg_levels_ksp_type': 'chebyshev', 'mg_levels_pc_type': 'jacobi', 'mg_levels_ksp_max_it': 3},
    'hjacobi': {'mg_levels_ksp_type': 'richardson', 'mg_levels_pc_type': 'hjacobi', 'mg_levels_ksp_max_it': 1, 'mg_levels_pc_hjacobi_k': 3},
}


def poisson(da):
    A = da.createMat()
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    (x0, x1), (y0, y1) = da.getRanges()
    nx, ny = da.getSizes()
    for j in range(y0, y1):
        for i in range(x0, x1):
            row.index = (i, j)
            for (p, q), value in {(i, j): 4.0, (i - 1, j): -1.0, (i + 1, j): -1.0, (i, j - 1): -1.0, (i, j + 1): -1.0}.items():
                if 0 <= p < nx and 0 <= q < ny:
                    col.index = (p, q)
                    A.setValueStencil(row, col, value)
    A.assemble()
    return A


def poisson_by_arrays(da):
    """The same matrix from arrays: where each row begins, columns and values."""
    import numpy

    nx, ny = da.getSizes()
    starts, columns, values = [0], [], []
    for j in range(ny):
        for i in range(nx):
            for p, q, value in ((i, j - 1, -1.0), (i - 1, j, -1.0), (i, j, 4.0), (i + 1, j, -1.0), (i, j + 1, -1.0)):
                if 0 <= p < nx and 0 <= q < ny:
                    columns.append(p + nx * q)
                    values.append(value)
            starts.append(len(columns))
    A = da.createMat()
    A.setValuesCSR(numpy.array(starts, PETSc.IntType), numpy.array(columns, PETSc.IntType), numpy.array(values))
    A.assemble()
    return A


def solve(da, A, name):
    options = PETSc.Options()
    for key, value in {**COMMON, **SMOOTHERS[name.split('_')[0]]}.items():
        options[f'{name}_{key}'] = value
    ksp = PETSc.KSP().create()
    ksp.setOptionsPrefix(name + '_')
    ksp.setDM(da)
    ksp.setDMActive(False)
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.setTolerances(rtol=1e-8)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setFromOptions()
    x, b = A.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    r = A.createVecLeft()
    A.mult(x, r)
    r.aypx(-1.0, b)
    return ksp, r.norm() / b.norm()


da = PETSc.DMDA().create([65, 65], stencil_width=1)
A = poisson(da)
peer, peer_residual = solve(da, A, 'chebyshev')
ours, residual = solve(da, A, 'hjacobi')
PETSc.Options().setValue('stencil_dm_mat_type', 'hjstencil')
stencil_da = PETSc.DMDA().create([65, 65], stencil_width=1, setup=False)
stencil_da.setOptionsPrefix('stencil_')
stencil_da.setFromOptions()
stencil_da.setUp()
S, T = poisson(stencil_da), poisson_by_arrays(stencil_da)
stencil, stencil_residual = solve(stencil_da, S, 'hjacobi_entries')
arrays, arrays_residual = solve(stencil_da, T, 'hjacobi_arrays')
smoother = ours.getPC().getMGSmoother(2).getPC()
its, peer_its = ours.getIterationNumber(), peer.getIterationNumber()
checks = [
    (smoother.getType() == 'hjacobi', 'the smoother is hjacobi'),
    (ours.getConvergedReason() > 0 and residual < 1.01e-8, f'converged, true residual {residual:.1e}'),
    (peer.getConvergedReason() > 0 and peer_residual < 1.01e-8, f'chebyshev converged, true residual {peer_residual:.1e}'),
    (0 < its <= peer_its, f'{its} iterations, chebyshev {peer_its}'),
    (S.getType() == T.getType() == 'hjstencil', 'the option chooses the stencil matrix'),
    (stencil.getIterationNumber() == its and stencil_residual < 1.01e-8, f'the stencil matrix takes {its} iterations too'),
    (arrays.getIterationNumber() == its and arrays_residual < 1.01e-8, 'filled by arrays too'),
]
for number, (passed, name) in enumerate(checks, 1):
    print('ok' if passed else 'not ok', number, '-', name)
print(f'1..{len(checks)}')
sys.exit(0 if all(passed for passed, _ in checks) else 1)
