#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the examples with hjmg and draws their answers: build/examples/pictures/<name>.png. Wants NumPy and matplotlib (Debian:
python3-matplotlib), and programs that `make check-build` made.

    python3 examples/pictures.py [--small] [name ...]     draws all, or these; --small: on small grids, for tests
    python3 examples/pictures.py --table [name ...]       prints the table of examples/README.md: one run each, no pictures

MPIEXEC, BUILD and LIB in the environment say which mpiexec, folder of programs and library to take.
"""
import os
import re
import resource
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get('BUILD', os.path.join(ROOT, 'build'))
LIB = os.environ.get('LIB', os.path.join(ROOT, 'lib', 'libhjacobi.so'))
PICTURES = os.path.join(BUILD, 'examples', 'pictures')
HJMG = ['-dll_append', LIB, '-pc_type', 'hjmg', '-dm_mat_type']
MATRIX = {'beam': 'baij'}  # others: hjstencil
SMALL = {'chip': '-m 2 -steps 4', 'porous': '-n 48', 'drop': '-n 48 -steps 20', 'ocean': '-n 45 -steps 6', 'bratu': '-n 15', 'image': '-n 96',
         'resistors': '-n 31 -grids 2', 'membrane': '-n 31 -grids 2', 'beam': '-n 16 -grids 1'}
# gamg keeps its interpolation when the values change, which in the drop's change so much that CG stops with an error
GAMG = {'drop': ['-pc_gamg_reuse_interpolation', 'false']}


def run(name, options):
    """Output of a program, which must be right; and CPU seconds that it took, which do not depend on what else the machine does."""
    env = dict(os.environ, OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1', OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    command = [os.environ.get('MPIEXEC') or 'mpiexec', '-n', '1', os.path.join(BUILD, 'examples', name), *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f'{" ".join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}')
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(names):
    print('| program | grid | solves | hjmg | gamg | PETSc\'s default |\n| --- | --- | --- | --- | --- | --- |')
    for name in names:
        cells = []
        for options in ([*HJMG, MATRIX.get(name, 'hjstencil')], ['-pc_type', 'gamg', *GAMG.get(name, [])], []):
            output, seconds = run(name, options)
            found = re.findall(r'^\S+ ([0-9x]+): (\d+) solves, (\d+) iterations', output, re.MULTILINE)
            cells.append(', '.join(f'{round(int(its) / int(solves), 1):g}' for _, solves, its in found) + f'; {seconds:.1f} s')
        grids, solves = (', '.join(dict.fromkeys(row[column] for row in found)) for column in (0, 1))
        print('|', ' | '.join([f'`{name}`', grids, solves, *cells]), '|', flush=True)


def read(name):
    """Vectors in a file that PETSc wrote, big end first: a number that says vector, the length, values. PETSc may have 64-bit indices."""
    with open(os.path.join(PICTURES, name + '.dat'), 'rb') as file:
        data = file.read()
    bits, vectors, at = '>i4' if np.frombuffer(data, '>i4', 1)[0] == 1211214 else '>i8', [], 0
    while at < len(data):
        head = np.frombuffer(data, bits, 2, at)
        at += head.nbytes
        vectors.append(np.frombuffer(data, '>f8', head[1], at).astype(float))
        at += vectors[-1].nbytes
    return vectors


def square(values):
    n = round(len(values) ** 0.5)
    return values.reshape(n, n)


def image(axis, values, title, label=None, **how):
    shown = axis.imshow(values, origin='lower', interpolation='nearest', **how)
    axis.set_title(title, fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
    if label:
        axis.figure.colorbar(shown, ax=axis, label=label, shrink=0.8)
    return shown


def draw_chip():
    values, = read('chip')
    m = round((len(values) / 2400) ** (1 / 3))
    values = values.reshape(6 * m, 20 * m, 20 * m)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), gridspec_kw={'width_ratios': [1, 1.2]})
    image(axes[0], values[3 * m - 1], 'through the die, 20 mm x 20 mm', 'K above the air', cmap='inferno')
    image(axes[1], values[:, 7 * m], 'from the board (below) to the copper', 'K above the air', cmap='inferno', extent=(0, 20, 0, 9))
    axes[1].set_xlabel('3 mm high, drawn three times as high', fontsize=8)
    return figure


def draw_porous():
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
    image(axes[0], square(read('porous-permeability')[0]), 'permeability', 'log10 K', cmap='cividis')
    pressure = square(read('porous')[0])
    image(axes[1], pressure, 'pressure', 'p', cmap='viridis')
    axes[1].contour(pressure, levels=20, colors='white', linewidths=0.5)
    return figure


def draw_drop():
    frames = [square(phi) for phi in read('drop')]
    figure, axes = plt.subplots(1, len(frames), figsize=(3 * len(frames), 3.2), squeeze=False)
    for number, (axis, phi) in enumerate(zip(axes[0], frames), 1):
        image(axis, phi > 0, f'{number} / {len(frames)} of the time', cmap='Blues', vmin=0, vmax=1.4)
    return figure


def draw_ocean():
    depth, surface = read('ocean-depth')[0], read('ocean')[0]
    n = round((len(depth) / 2) ** 0.5)
    depth, surface = depth.reshape(n, 2 * n), surface.reshape(n, 2 * n)
    figure, axis = plt.subplots(figsize=(9, 4.4))
    limit = abs(surface).max() / 2
    image(axis, np.ma.masked_where(depth == 0, surface), 'surface of the ocean', 'm', cmap='RdBu_r', vmin=-limit, vmax=limit,
          extent=(-180, 180, -78, 78))
    axis.set_facecolor('0.6')
    return figure


def draw_bratu():
    figure, axis = plt.subplots(figsize=(4.6, 3.8))
    image(axis, square(read('bratu')[0]), "Bratu's equation, Liouville's solution", 'u', cmap='magma')
    return figure


def draw_image():
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    image(axes[0], square(read('image-noisy')[0]), 'noisy', cmap='gray', vmin=0, vmax=1.1)
    image(axes[1], square(read('image')[0]), 'smoothed', cmap='gray', vmin=0, vmax=1.1)
    return figure


def draw_resistors():
    figure, axis = plt.subplots(figsize=(4.6, 3.8))
    image(axis, square(read('resistors')[0]), 'a current into one knot', 'V', cmap='plasma')
    return figure


def draw_membrane():
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    for axis, values, title in zip(axes, read('membrane'), ('9.640', '15.197', '2 π² = 19.739')):
        values = square(values)
        n = len(values)
        outside = np.arange(n) >= n // 2
        limit = abs(values).max()
        image(axis, np.ma.masked_where(np.outer(outside, outside), values), title, cmap='RdBu', vmin=-limit, vmax=limit)
        axis.set_facecolor('0.9')
    return figure


def draw_beam():
    u, = read('beam')
    n = next(n for n in range(1, 1000) if 2 * (4 * n + 1) * (n + 1) == len(u))
    u = u.reshape(n + 1, 4 * n + 1, 2)
    x, y = np.meshgrid(np.linspace(0, 4, 4 * n + 1), np.linspace(-0.5, 0.5, n + 1))
    figure, axis = plt.subplots(figsize=(9, 3.2))
    shown = axis.pcolormesh(x + u[..., 0], y + u[..., 1], np.hypot(u[..., 0], u[..., 1]), shading='gouraud', cmap='viridis')
    every = max(n // 8, 1)
    for lines in (slice(None, None, every), slice(None)), (slice(None), slice(None, None, every)):
        X, Y = (x + u[..., 0])[lines], (y + u[..., 1])[lines]
        axis.plot(*((X.T, Y.T) if lines[1] == slice(None) else (X, Y)), color='white', linewidth=0.4)
    axis.plot([0, 4, 4, 0, 0], [-0.5, -0.5, 0.5, 0.5, -0.5], '--', color='0.5', linewidth=0.8)
    axis.set_aspect('equal')
    axis.axis('off')
    figure.colorbar(shown, ax=axis, label='displacement, m', shrink=0.8)
    return figure


def draw(names, small):
    os.makedirs(PICTURES, exist_ok=True)
    more = {'porous': 'permeability', 'ocean': 'depth', 'image': 'noisy'}
    for name in names:
        files = {'solution': name}
        if name in more:
            files[more[name]] = f'{name}-{more[name]}'
        options = [*HJMG, MATRIX.get(name, 'hjstencil')] + (SMALL[name].split() if small else [])
        for view, file in files.items():
            path = os.path.join(PICTURES, file + '.dat')
            if os.path.exists(path):
                os.remove(path)
            options += [f'-{view}_view', f'binary:{path}' + ('::append' if name in ('drop', 'membrane') else '')]
        run(name, options)
        figure = globals()['draw_' + name]()
        path = os.path.join(PICTURES, name + '.png')
        figure.savefig(path, dpi=100, bbox_inches='tight')
        print(path, flush=True)


def built(names):
    """One that is not was left out by make, which has a reason: SLEPc (Debian: slepc-dev) is not there"""
    for name in names:
        if os.path.exists(os.path.join(BUILD, 'examples', name)):
            yield name
        else:
            print(f'{name} is not built', file=sys.stderr)


chosen = [name for name in sys.argv[1:] if not name.startswith('--')] or list(SMALL)
for name in chosen:
    if name not in SMALL:
        sys.exit(f'there is no {name}; there are {", ".join(SMALL)}')
chosen = list(built(chosen))
if '--table' in sys.argv:
    table(chosen)
else:
    import matplotlib
    import numpy as np

    matplotlib.use('agg')
    import matplotlib.pyplot as plt

    draw(chosen, '--small' in sys.argv)
