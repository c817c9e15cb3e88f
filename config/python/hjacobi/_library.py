# SPDX-License-Identifier: BSD-2-Clause
"""Where the library is, and how it comes into PETSc."""
from __future__ import annotations

import ctypes
import functools
import os
import re
import sys


def library() -> str:
    """The path of libhjacobi.so: that in the environment's HJACOBI_LIBRARY, else the one that was installed with this module."""
    path = os.environ.get('HJACOBI_LIBRARY') or os.path.join(os.path.dirname(os.path.abspath(__file__)), 'libhjacobi.so')
    if not os.path.isfile(path):
        raise ImportError(f'hjacobi: there is no {path}; install by `pip install ./config/python`, or name the library in HJACOBI_LIBRARY')
    return path


def petsc_runs() -> bool:
    PETSc = sys.modules.get('petsc4py.PETSc')
    return bool(PETSc and PETSc.Sys.isInitialized() and not PETSc.Sys.isFinalized())


@functools.lru_cache(maxsize=None)
def loaded() -> ctypes.CDLL:
    """The library, registered with the PETSc that runs."""
    if not petsc_runs():
        raise RuntimeError('hjacobi: PETSc does not run yet; call petsc4py.init(), or say `from petsc4py import PETSc`, first')
    lib = ctypes.CDLL(library())
    runs = ctypes.c_int()
    lib.PetscInitialized(ctypes.byref(runs))
    if not runs.value: # it has brought a PETSc of its own into the process
        version = '.'.join(map(str, sys.modules['petsc4py.PETSc'].Sys.getVersion()))
        raise ImportError(f'hjacobi: {library()} was built with another PETSc than that of petsc4py, which is {version}; build it again, '
                          'with petsc4py installed and PETSC_DIR not set: pip install --force-reinstall ./config/python')
    check(lib.PCHJacobiInitializePackage())
    return lib


def check(code: int) -> None:
    if code:
        raise sys.modules['petsc4py.PETSc'].Error(code)


def register() -> None:
    """Registers the types now where PETSc runs, else asks PETSc to load the library when it starts."""
    if petsc_runs():
        loaded()
        return
    options, path = os.environ.get('PETSC_OPTIONS', ''), library()
    if path in options:
        return
    # PETSc takes the last -dll_append alone, a list
    before = re.findall(r"""-dll_append +("[^"]*"|'[^']*'|[^ ]+)""", options)
    libraries = ','.join([before[-1].strip('"\''), path] if before else [path])
    os.environ['PETSC_OPTIONS'] = f'{options} -dll_append "{libraries}"'.strip()
