# SPDX-License-Identifier: BSD-2-Clause
"""What pip and `python -m build` call (PEP 517): makes a wheel of the module and of the library, which make builds, or an sdist of both.

An sdist is flat: the makefile, src, include and config lie beside this file there, in a checkout two folders above it.
"""
import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = next(folder for folder in (HERE, HERE.parents[1]) if (folder / 'makefile').exists())
VERSION = '.'.join(re.findall(r'^#define HJACOBI_VERSION_(?:MAJOR|MINOR|SUBMINOR) +(\d+)', (ROOT / 'include/pchjacobi.h').read_text(),
                              re.M))
NAME = f'hjacobi-{VERSION}'
# petsc4py is needed, but not named: where it is missing pip would build a PETSc of its own, after this library was built with another
METADATA = f"""\
Metadata-Version: 2.1
Name: hjacobi
Version: {VERSION}
Summary: Multigrid and hierarchical Jacobi for PETSc on structured grids, on CPUs and NVIDIA GPUs
License: BSD-2-Clause
Requires-Python: >=3.8
Requires-Dist: numpy
Description-Content-Type: text/markdown

{(HERE / 'README.md').read_text()}"""
WHEEL = f"""\
Wheel-Version: 1.0
Generator: hjacobi
Root-Is-Purelib: false
Tag: py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}
"""
# pip hides the packages of the environment from a build; petsc4py is asked in an interpreter that sees them
FIND_PETSC = """
try:
    from petsc4py import get_config
except ImportError:
    from petsc import get_config
found = get_config()
print(found['PETSC_DIR'], found.get('PETSC_ARCH', ''), sep='\\n')
"""


def petsc_environment():
    """The environment with PETSC_DIR and PETSC_ARCH of petsc4py, else of PyPI's petsc. Where PETSC_DIR is set it stays; where there is
    neither, make takes the PETSc of pkg-config.
    """
    environment = {key: value for key, value in os.environ.items() if key not in ('PYTHONPATH', 'PYTHONNOUSERSITE')}
    if environment.get('PETSC_DIR'):
        return environment
    found = subprocess.run([sys.executable, '-c', FIND_PETSC], env=environment, capture_output=True, text=True)
    if found.returncode == 0:
        environment['PETSC_DIR'], environment['PETSC_ARCH'] = found.stdout.split('\n')[:2]
    return environment


def build_library():
    """The path of the library, built in build/python."""
    environment = petsc_environment()
    environment.setdefault('CFLAGS', '-O3') # without -g, which takes a sixth of the time
    # make would install packages of the distribution, which nobody expects of pip
    if subprocess.run(['sh', 'config/setup.sh', '--ready'], cwd=ROOT, env=environment).returncode:
        where = environment.get('PETSC_DIR') or 'pkg-config'
        sys.exit(f'hjacobi: found no PETSc by {where}, or no mpicc, pkg-config or prove (of the package perl). Install petsc4py first:\n'
                 '  apt-get install python3-petsc4py libpetsc-real-dev gcc g++ pkg-config perl\n'
                 '  or: pip install petsc petsc4py\n'
                 'or set PETSC_DIR')
    library = 'build/python/libhjacobi.so'
    command = ['make', f'-j{len(os.sched_getaffinity(0))}', 'BUILD=build/python', f'LIB={library}', 'all']
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        sys.exit('hjacobi: make failed, its messages are above')
    return ROOT / library


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory, f'{NAME}.dist-info')
    folder.mkdir()
    (folder / 'METADATA').write_text(METADATA)
    (folder / 'WHEEL').write_text(WHEEL)
    return folder.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f'hjacobi/{path.name}': path.read_bytes() for path in sorted((HERE / 'hjacobi').glob('*.py*')) if path.is_file()}
    files['hjacobi/libhjacobi.so'] = build_library().read_bytes()
    info = f'{NAME}.dist-info'
    files[f'{info}/LICENSE'] = (ROOT / 'LICENSE').read_bytes()
    files[f'{info}/METADATA'] = METADATA.encode()
    files[f'{info}/WHEEL'] = WHEEL.encode()
    record = ''
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')
        record += f'{name},sha256={digest},{len(content)}\n'
    files[f'{info}/RECORD'] = f'{record}{info}/RECORD,,\n'.encode()
    wheel = f'{NAME}-{WHEEL.split()[-1]}.whl'
    with zipfile.ZipFile(Path(wheel_directory, wheel), 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def source_files():
    """Pairs of a file and its name in an sdist."""
    for top in (HERE / 'hjacobi', HERE / 'tests'):
        yield from ((path, path.relative_to(HERE)) for path in top.glob('*.py*') if path.is_file())
    for name in ('backend.py', 'pyproject.toml', 'README.md'):
        yield HERE / name, Path(name)
    yield from ((path, path.relative_to(ROOT)) for path in (ROOT / 'config').glob('*') if path.is_file())
    for top in ('src', 'include'):
        yield from ((path, path.relative_to(ROOT)) for path in (ROOT / top).rglob('*') if path.is_file())
    for name in ('makefile', 'LICENSE'):
        yield ROOT / name, Path(name)


def build_sdist(sdist_directory, config_settings=None):
    sdist = f'{NAME}.tar.gz'
    with tarfile.open(Path(sdist_directory, sdist), 'w:gz', format=tarfile.PAX_FORMAT) as archive:
        for path, name in sorted(source_files()):
            archive.add(path, f'{NAME}/{name}')
        about = tarfile.TarInfo(f'{NAME}/PKG-INFO')
        about.size = len(METADATA.encode())
        archive.addfile(about, io.BytesIO(METADATA.encode()))
    return sdist
