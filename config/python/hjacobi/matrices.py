# SPDX-License-Identifier: BSD-2-Clause
"""Coefficients of stencil matrices: set them in one call, or get them as arrays."""
from __future__ import annotations

import ctypes
import itertools
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Tuple

from ._library import check, loaded

if TYPE_CHECKING:
    from petsc4py import PETSc

Offset = Tuple[int, ...]
PETSC_MEMTYPE_HOST = 0


class DeviceArray:
    """An array on the GPU, for what reads `__cuda_array_interface__`: `cupy.asarray()`, Numba, `torch.as_tensor(array, device='cuda')`."""

    def __init__(self, address: int, shape: Tuple[int, ...]) -> None:
        self.shape = shape
        self.__cuda_array_interface__ = {'shape': shape, 'typestr': scalar().str, 'data': (address, False), 'strides': None, 'version': 3}


class Arrays(Mapping[Offset, Any]):
    """The coefficient arrays of a matrix by offset, see `arrays()`. Its keys are the offsets of the stencil."""

    def __init__(self, A: PETSc.Mat) -> None:
        if A.getType() != 'hjstencil':
            raise TypeError(f'hjacobi: a matrix of type {A.getType()} has no coefficient arrays; make one by hjacobi.stencil(), or say '
                            '-dm_mat_type hjstencil')
        self._lib, self._A = loaded(), A
        self._da: Any = A.getDM()
        self._shape = tuple(self._da.getCorners()[1])[::-1]
        self._got: dict[Offset, tuple[ctypes.c_void_p, Any]] = {}
        self._open = self._on_device = False

    def __enter__(self) -> Arrays:
        self._open = True
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._on_device:
            wait_for_device()
        self._open = self._on_device = False
        for offset, (address, _) in self._got.items():
            check(self._lib.MatHJStencilRestoreArrayAndMemType(*self._array(offset), ctypes.byref(address)))
        self._got.clear()
        if kind is None:
            self._A.assemble()

    def __getitem__(self, offset: int | Offset) -> Any:
        if not self._open:
            raise RuntimeError('hjacobi: coefficient arrays are there within `with hjacobi.arrays(A) as a:` only')
        key = (offset,) if isinstance(offset, int) else tuple(offset)
        if key not in set(self):
            raise KeyError(f'hjacobi: this stencil has no offset {offset}; it has {sorted(self)}')
        if key not in self._got:
            self._got[key] = self._get(key)
        return self._got[key][1]

    def _array(self, offset: Offset) -> list[Any]:
        """Matrix and offset as the library takes them."""
        return [handle(self._A), *integers(offset + (0,) * (3 - len(offset)))]

    def _get(self, offset: Offset) -> tuple[ctypes.c_void_p, Any]:
        address, memory = ctypes.c_void_p(), ctypes.c_int()
        check(self._lib.MatHJStencilGetArrayAndMemType(*self._array(offset), ctypes.byref(address), ctypes.byref(memory)))
        if memory.value != PETSC_MEMTYPE_HOST:
            wait_for_device() # PETSc's stream is not the reader's
            self._on_device = True
            return address, on_device(DeviceArray(address.value or 0, self._shape))
        import numpy

        size = int(numpy.prod(self._shape))
        if not size:
            return address, numpy.empty(self._shape)
        pointer = ctypes.cast(address, ctypes.POINTER(numpy.ctypeslib.as_ctypes_type(scalar())))
        return address, numpy.ctypeslib.as_array(pointer, (size,)).reshape(self._shape)

    def __iter__(self) -> Iterator[Offset]:
        star = self._da.getStencilType() == self._da.StencilType.STAR
        for offset in itertools.product((-1, 0, 1), repeat=len(self._shape)):
            if not star or sum(map(abs, offset)) <= 1:
                yield offset[::-1]

    def __len__(self) -> int:
        return sum(1 for _ in self)


def arrays(A: PETSc.Mat) -> Arrays:
    """The coefficients of a matrix of type hjstencil, to read or to fill, without a copy.

        with hjacobi.arrays(A) as a:
            a[0, 0][:] = 4.0         # the diagonal
            a[-1, 0][:, 1:] = -1.0   # the neighbour one point less in x
            print(list(a))           # all offsets

    `a[offset]` is a NumPy array where the matrix lies on the host. Where it lies on the GPU (-dm_vec_type cuda) it is a CuPy array, or a
    `DeviceArray` if CuPy is not installed.

    An offset is where the column's grid point lies from the row's: (di,), (di, dj) or (di, dj, dk), in the order x, y, z, each -1, 0 or
    1. Its array has the shape (nx,), (ny, nx) or (nz, ny, nx) of this rank's own points: [k, j, i] is the coefficient in the row of the
    point that lies i, j, k behind this rank's first. All are float64, or float32 where PETSc is in single precision. What is written where
    an offset leads outside the domain is ignored.

    The arrays are the matrix' own memory. At the end of the block they are given back and the matrix is assembled: all ranks end it
    together, and the arrays must not be used any more. An exception within it leaves the matrix unassembled.
    """
    return Arrays(A)


def stencil(dm: PETSc.DMDA, rows: Mapping[Any, Any]) -> PETSc.Mat:
    """A matrix of type hjstencil on a DMDA with the given coefficients, by offset; those of offsets that are not given are 0.

        A = hjacobi.stencil(da, {(0, 0): 4, (-1, 0): -1, (1, 0): -1, (0, -1): -1, (0, 1): -1})

    Each coefficient is one number for all points, or an array of this rank's points, with offsets, shapes and order as in `arrays()`.
    With numbers alone, on all ranks, the matrix needs no array at all. What leads outside the domain is left out, which is what a
    Dirichlet boundary leaves after it was eliminated. The DMDA has one unknown a point and a stencil one point wide.
    """
    import numpy
    from petsc4py import PETSc

    lib = loaded()
    was = ctypes.c_char_p()
    check(lib.DMGetMatType(handle(dm), ctypes.byref(was)))
    before = (was.value or b'aij').decode()
    dm.setMatType('hjstencil')
    try:
        A = dm.createMat()
    finally:
        dm.setMatType(before)
    coefficients = {(key,) if isinstance(key, int) else tuple(key): value for key, value in rows.items()}
    if all(numpy.ndim(value) == 0 for value in coefficients.values()):
        # A MatStencil is k, j, i, c
        offsets = numpy.zeros((len(coefficients), 4), PETSc.IntType)
        for row, offset in zip(offsets, coefficients):
            row[3 - len(offset):3] = offset[::-1]
        values = numpy.array(list(coefficients.values()), scalar())
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (offsets, values)]
        check(lib.MatHJStencilSetRow(handle(A), *integers((len(values),)), *pointers))
        return A
    # Values of the host travel to a matrix on the GPU when it is assembled
    from_host = not any(hasattr(value, '__cuda_array_interface__') for value in coefficients.values())
    A.bindToCPU(from_host)
    with arrays(A) as a:
        for offset, value in coefficients.items():
            a[offset][...] = value
    A.bindToCPU(False)
    return A


def handle(thing: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(thing.handle)


def scalar() -> Any:
    """The type of PETSc's numbers, as NumPy has it."""
    import numpy
    from petsc4py import PETSc

    return numpy.dtype(PETSc.ScalarType)


def integers(numbers: Offset) -> list[Any]:
    """As PetscInt."""
    import numpy
    from petsc4py import PETSc

    kind = ctypes.c_int64 if numpy.dtype(PETSc.IntType).itemsize == 8 else ctypes.c_int32
    return [kind(number) for number in numbers]


def on_device(array: DeviceArray) -> Any:
    try:
        import cupy
    except ImportError:
        return array
    return cupy.asarray(array)


def wait_for_device() -> None:
    ctypes.CDLL('libcuda.so.1').cuCtxSynchronize()
