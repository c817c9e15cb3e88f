# SPDX-License-Identifier: BSD-2-Clause
"""What `python -m hjacobi` does."""
import argparse
import ctypes
import sys
import time

import hjacobi


def has_gpu() -> bool:
    try:
        return ctypes.CDLL('libcuda.so.1').cuInit(0) == 0
    except OSError:
        return False


def check() -> bool:
    """Solves Poisson's equation on 257 x 257 points, by CG and hjmg, and says on what."""
    from petsc4py import PETSc

    da = PETSc.DMDA().create([257, 257], stencil_type='star', stencil_width=1, setup=False)
    if PETSc.Sys.hasExternalPackage('cuda') and has_gpu():
        da.setVecType('cuda')
    da.setUp()
    A = hjacobi.stencil(da, {(0, 0): 4, (-1, 0): -1, (1, 0): -1, (0, -1): -1, (0, 1): -1})
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.setTolerances(rtol=1e-8)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.getPC().setType('hjmg')
    x, b = A.createVecs()
    b.set(1.0)
    ksp.setUp()
    begin = time.perf_counter()
    ksp.solve(b, x)
    seconds = time.perf_counter() - begin
    residual = (b - A * x).norm() / b.norm()
    good = ksp.getConvergedReason() > 0 and residual < 1.01e-8
    with hjacobi.arrays(A) as a:
        on_host = hasattr(a[0, 0], '__array_interface__')
    place = 'the CPU' if on_host else 'the GPU'
    version = '.'.join(map(str, PETSc.Sys.getVersion()))
    PETSc.Sys.Print(f'hjacobi {hjacobi.__version__}, PETSc {version}, {hjacobi.library()}')
    PETSc.Sys.Print(f'Poisson, 257 x 257 points, CG and hjmg on {place}, ranks: {da.getComm().getSize()}')
    PETSc.Sys.Print(f'{ksp.getIterationNumber()} iterations, relative residual {residual:.1e}, {1000 * seconds:.1f} ms')
    PETSc.Sys.Print('ok' if good else 'FAILED: it did not converge')
    return good


parser = argparse.ArgumentParser(prog='python -m hjacobi')
what = parser.add_mutually_exclusive_group(required=True)
what.add_argument('--library', action='store_true', help='print the path of the library, for -dll_append')
what.add_argument('--version', action='version', version=f'hjacobi {hjacobi.__version__}')
what.add_argument('--check', action='store_true', help='solve a small problem and say on what it ran')
if parser.parse_args().library:
    print(hjacobi.library())
elif not check():
    sys.exit(1)
