# SPDX-License-Identifier: BSD-2-Clause
"""The module beside petsc4py. HJACOBI_LIBRARY names the library where the module is not installed."""
import ctypes
import os
import subprocess
import sys
import tarfile
import types

import numpy
import petsc4py
import pytest

petsc4py.init()
from petsc4py import PETSc  # noqa: E402
import hjacobi  # noqa: E402

FIVE = {(0, 0): 4.0, (-1, 0): -1.0, (1, 0): -1.0, (0, -1): -1.0, (0, 1): -1.0}
HERE = os.path.dirname(os.path.abspath(__file__))


def python(code, options='', ranks=1, path=None):
    """What the code prints in a process of its own."""
    environment = {**os.environ, 'PETSC_OPTIONS': f'{os.environ.get("PETSC_OPTIONS", "")} {options}'}
    environment['PYTHONPATH'] = os.pathsep.join([os.path.dirname(HERE), os.environ.get('PYTHONPATH', '')])
    environment['HJACOBI_LIBRARY'] = path or hjacobi.library()
    start = [os.environ.get('MPIEXEC', 'mpiexec'), '-n', str(ranks)] if ranks > 1 else []
    done = subprocess.run([*start, sys.executable, '-c', code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def grid(sizes, box=False, boundary=None):
    kind = PETSc.DMDA.StencilType.BOX if box else PETSc.DMDA.StencilType.STAR
    return PETSc.DMDA().create(sizes, stencil_width=1, stencil_type=kind, boundary_type=boundary)


def reference(da, rows):
    """An AIJ matrix with these coefficients, entry by entry."""
    da.setMatType('aij')
    A = da.createMat()
    A.setOption(PETSc.Mat.Option.NEW_NONZERO_LOCATION_ERR, False)
    sizes, (first, counts) = da.getSizes(), da.getCorners()
    row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    for point in numpy.ndindex(*counts[::-1]):
        p = [q + f for q, f in zip(point[::-1], first)]
        row.index = tuple(p)
        for offset, value in rows.items():
            q = [a + b for a, b in zip(p, offset)]
            if all(0 <= a < n for a, n in zip(q, sizes)):
                column.index = tuple(q)
                A.setValueStencil(row, column, value if numpy.ndim(value) == 0 else value[point])
    A.assemble()
    return A


def assert_same(A, B):
    x = A.createVecRight()
    x.setRandom()
    assert (A * x - B * x).norm() <= 1e-14 * (B * x).norm()


def test_import_after_init_registers():
    A = hjacobi.stencil(grid([9, 9]), FIVE)
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.getPC().setType('hjmg')
    x, b = A.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0


BEFORE = """
import hjacobi
from petsc4py import PETSc
pc = PETSc.PC().create()
pc.setType('hjacobi')
print(pc.getType())
"""


def test_import_before_init_asks_petsc_to_load():
    assert python(BEFORE) == 'hjacobi\n'


def test_import_does_not_start_petsc():
    assert python('import hjacobi, sys; print("petsc4py" in sys.modules)') == 'False\n'


def test_options_of_the_user_stay():
    code = BEFORE + 'print(PETSc.Options().getInt("mine"))'
    assert python(code, '-mine 7') == 'hjacobi\n7\n'


def test_other_libraries_stay(tmp_path):
    other = tmp_path / 'libother.so'
    other.symlink_to(hjacobi.library())
    code = BEFORE + 'print(open("/proc/self/maps").read().count("libhjacobi") > 0, PETSc.Options().getString("dll_append"))'
    assert python(code, f'-dll_append {other}') == f'hjacobi\nTrue {other},{hjacobi.library()}\n'


def test_folder_with_spaces(tmp_path):
    folder = tmp_path / 'a b'
    folder.mkdir()
    (folder / 'libhjacobi.so').symlink_to(hjacobi.library())
    assert python(BEFORE, path=str(folder / 'libhjacobi.so')) == 'hjacobi\n'


def test_command_line():
    code = 'import runpy, sys; sys.argv[1:] = ["{}"]; runpy.run_module("hjacobi", run_name="__main__")'
    assert python(code.format('--library')) == hjacobi.library() + '\n'
    assert python(code.format('--version')).startswith('hjacobi ')
    said = python(code.format('--check'))
    assert said.endswith('ok\n') and (' on the CPU' in said or ' on the GPU' in said)


def test_no_library():
    with pytest.raises(AssertionError, match='there is no /nowhere/libhjacobi.so; install by'):
        python('import hjacobi', path='/nowhere/libhjacobi.so')


@pytest.mark.parametrize('sizes', [[17], [9, 7], [5, 4, 6]])
def test_stencil_of_numbers(sizes):
    rows = {tuple(d * int(a == axis) for a in range(len(sizes))): -1.0 - axis - 0.25 * d for axis in range(len(sizes)) for d in (-1, 1)}
    rows[(0,) * len(sizes)] = 13.0
    da = grid(sizes)
    A = hjacobi.stencil(da, rows)
    assert A.getType() == 'hjstencil'
    assert_same(A, reference(da, rows))


def test_stencil_of_one_integer_offset():
    assert_same(hjacobi.stencil(grid([9]), {0: 2, -1: -1, 1: -1}), reference(grid([9]), {(0,): 2, (-1,): -1, (1,): -1}))


@pytest.mark.parametrize('sizes', [[17], [9, 7], [5, 4, 6]])
def test_stencil_of_arrays(sizes):
    da, random = grid(sizes, box=True), numpy.random.default_rng(5)
    shape = tuple(sizes[::-1])
    with hjacobi.arrays(hjacobi.stencil(da, {})) as a:
        offsets = list(a)
    assert len(offsets) == len(a) == 3 ** len(sizes)
    rows = {offset: random.random(shape) for offset in offsets}
    rows[(0,) * len(sizes)] = 100.0
    assert_same(hjacobi.stencil(da, rows), reference(da, rows))


def test_mat_type_of_the_dm_stays():
    da = grid([9, 9])
    da.setMatType('sbaij')
    hjacobi.stencil(da, FIVE)
    assert da.createMat().getType() in ('sbaij', 'seqsbaij')


def test_arrays_are_the_matrix():
    A = hjacobi.stencil(grid([9, 7]), FIVE)
    with hjacobi.arrays(A) as a:
        assert sorted(a) == sorted(FIVE)
        assert a[0, 0].shape == (7, 9) and (a[0, 0] == 4.0).all() and a[0, 0].dtype == numpy.float64
        assert (a[-1, 0][:, 1:] == -1.0).all()
        a[0, 0][2, 3] = 11.0
        a[1, 0][2, 3] = -5.0
        assert a[0, 0] is a[0, 0]
    assert A.getValue(2 * 9 + 3, 2 * 9 + 3) == 11.0
    assert A.getValue(2 * 9 + 3, 2 * 9 + 4) == -5.0


@pytest.mark.parametrize('cupy', [True, False])
def test_arrays_on_the_device(monkeypatch, cupy):
    """The host's memory passes for the GPU's here."""
    def as_numpy(array):
        about = array.__cuda_array_interface__
        pointer = ctypes.cast(about['data'][0], ctypes.POINTER(ctypes.c_double))
        return numpy.ctypeslib.as_array(pointer, about['shape'])

    waited = []
    monkeypatch.setattr(hjacobi.matrices, 'PETSC_MEMTYPE_HOST', -1)
    monkeypatch.setattr(hjacobi.matrices, 'wait_for_device', lambda: waited.append(True))
    monkeypatch.setitem(sys.modules, 'cupy', types.SimpleNamespace(asarray=as_numpy) if cupy else None)
    A = hjacobi.stencil(grid([9, 7]), FIVE)
    with hjacobi.arrays(A) as a:
        array = a[0, 0]
        assert isinstance(array, numpy.ndarray if cupy else hjacobi.DeviceArray) and array.shape == (7, 9)
        (array if cupy else as_numpy(array))[2, 3] = 11.0
        assert waited == [True]
    assert waited == [True, True] and A.getValue(2 * 9 + 3, 2 * 9 + 3) == 11.0


def test_arrays_refuse():
    A = hjacobi.stencil(grid([9, 7]), FIVE)
    with pytest.raises(KeyError, match='has no offset'):
        with hjacobi.arrays(A) as a:
            a[1, 1]
    with hjacobi.arrays(A) as a:
        pass
    with pytest.raises(RuntimeError, match='within'):
        a[0, 0]
    with pytest.raises(TypeError, match='seqaij has no coefficient arrays'):
        hjacobi.arrays(reference(grid([9, 7]), FIVE))
    with pytest.raises(PETSc.Error):
        hjacobi.stencil(grid([9, 7]), {(0, 0): 4, (1, 1): 1})


def test_exception_gives_arrays_back():
    A = hjacobi.stencil(grid([9, 7]), FIVE)
    with pytest.raises(ZeroDivisionError):
        with hjacobi.arrays(A) as a:
            a[0, 0][:] = 1 / 0
    with hjacobi.arrays(A) as a:
        a[0, 0][:] = 8.0
    assert A.getDiagonal().min()[1] == 8.0


RANKS = """
import sys
sys.path.insert(0, {here!r})
from test_hjacobi import *
da = grid([9, 8])
random = numpy.random.default_rng(3 + PETSc.COMM_WORLD.rank)
rows = dict(FIVE)
assert_same(hjacobi.stencil(da, rows), reference(da, rows))
rows[0, 1] = random.random(da.getCorners()[1][::-1])
assert_same(hjacobi.stencil(da, rows), reference(da, rows))
PETSc.Sys.Print('same')
"""


def test_ranks():
    assert python(RANKS.format(here=HERE), ranks=2) == 'same\n'


def test_sdist_holds_the_sources(tmp_path):
    if not os.path.exists(os.path.join(os.path.dirname(HERE), 'backend.py')):
        pytest.skip('the module is installed')
    sys.path.insert(0, os.path.dirname(HERE))
    import backend

    numbers = [ctypes.c_int64() for _ in range(3)] # of either size of PetscInt
    ctypes.CDLL(hjacobi.library()).PCHJacobiGetVersion(*map(ctypes.byref, numbers))
    assert backend.VERSION == '.'.join(str(number.value) for number in numbers)
    name = backend.build_sdist(tmp_path)
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path)
    top = tmp_path / name[:-len('.tar.gz')]
    assert (top / 'PKG-INFO').read_text() == backend.METADATA
    made = subprocess.run(['make', '-n', 'CUDA=0', 'all'], cwd=top, capture_output=True, text=True)
    assert made.returncode == 0 and 'src/pc/hjpc.c' in made.stdout, made.stderr
