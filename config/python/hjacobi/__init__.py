# SPDX-License-Identifier: BSD-2-Clause
"""Multigrid (`hjmg`), hierarchical Jacobi (`hjacobi`) and stencil matrices (`hjstencil`) for petsc4py.

To import this module is enough: afterwards PETSc knows `pc.setType('hjmg')`, `-pc_type hjmg` and `-dm_mat_type hjstencil`. Where PETSc
runs already, the library is loaded now; else `-dll_append` with its path is added to PETSC_OPTIONS, which petsc4py.init() reads. Where
petsc4py.init() itself is given another -dll_append, which replaces that one, import this module after it.

    from petsc4py import PETSc
    import hjacobi

    da = PETSc.DMDA().create([257, 257], stencil_type='star', stencil_width=1)
    A = hjacobi.stencil(da, {(0, 0): 4, (-1, 0): -1, (1, 0): -1, (0, -1): -1, (0, 1): -1})
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.getPC().setType('hjmg')

`stencil()` makes a matrix of its coefficients, `arrays()` gives those of a matrix to read or to fill, `library()` says
where the library is.
"""
from importlib import metadata as _metadata

from ._library import library, register as _register
from .matrices import Arrays, DeviceArray, arrays, stencil

__all__ = ['Arrays', 'DeviceArray', 'arrays', 'library', 'stencil']

try:
    __version__ = _metadata.version('hjacobi')
except _metadata.PackageNotFoundError:
    __version__ = 'not installed'

_register()
