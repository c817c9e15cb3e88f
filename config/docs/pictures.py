#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of the pages "The method in pictures", "Many ranks" and "How fast", as SVG: pictures.py FOLDER. Those of "How fast" are
drawn from examples/bench/results, as examples/paper/figures.py draws the others of that page."""
import csv
import os
import sys

import matplotlib

matplotlib.use('svg')
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Polygon, Rectangle

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN, RING, SLOW, WORK = '#3f7fbf', '#e8a33d', '#b0b0b0', '#cfe0f1'
plt.rcParams.update({'font.size': 9, 'svg.hashsalt': 'hjacobi', 'savefig.bbox': 'tight'})


def save(figure, name):
    figure.savefig(os.path.join(sys.argv[1], name + '.svg'), metadata={'Date': None})
    plt.close(figure)


def bare(axis, title):
    axis.set_title(title, fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_visible(False)


def sweeps():
    """k sweeps of a line of points: over memory each time, and in one pass"""
    k, n = 4, 24
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for axis, tiles in zip(axes, (None, ((0, 8), (8, 16), (16, 24)))):
        bare(axis, 'one sweep at a time: memory is read and written 4 times' if tiles is None else 'in tiles: read once, written once')
        for j in range(k + 1):
            memory = tiles is None or j in (0, k)
            axis.scatter(range(n), [j] * n, s=14, color=SLOW if memory else OWN, zorder=3)
        for j in range(k):
            if tiles is None:
                axis.annotate('', (n + 1, j + 0.9), (n + 1, j + 0.1), arrowprops={'arrowstyle': '->', 'color': SLOW, 'linewidth': 2})
        for number, (lo, hi) in enumerate(tiles or ()):
            grow = [(max(lo - k, -0.5), 0), (min(hi - 1 + k, n - 0.5), 0), (min(hi - 0.5, n - 0.5), k), (max(lo - 0.5, -0.5), k)]
            axis.add_patch(Polygon(grow, color=(OWN, RING, '#7fae6f')[number], alpha=0.25))
        axis.set_xlim(-2, n + 2)
    axes[0].set_yticks(range(k + 1), ['start', *(f'sweep {j}' for j in range(1, k + 1))])
    figure.text(0.5, -0.03, 'points of a line; grey: in slow memory (RAM, GPU memory), blue: in fast memory (cache, registers)', ha='center')
    save(figure, 'sweeps')


def ring():
    """For how many subiterations the points of a tile are those of the sweep over the whole grid"""
    n = 10
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2))
    bare(axes[0], 'a tile (blue) and its ring (orange)')
    bare(axes[1], 'stale ring: right up to this subiteration')
    for y in range(-1, n + 1):
        for x in range(-1, n + 1):
            outside = x in (-1, n) or y in (-1, n)
            if outside and (x in (-1, n)) and (y in (-1, n)):
                continue
            axes[0].add_patch(Rectangle((x, y), 0.9, 0.9, color=RING if outside else OWN))
            if not outside:
                depth = min(x, y, n - 1 - x, n - 1 - y) + 1
                axes[1].add_patch(Rectangle((x, y), 0.9, 0.9, color=plt.get_cmap('Blues')(0.15 + 0.15 * depth)))
                axes[1].text(x + 0.45, y + 0.45, depth, ha='center', va='center', color='white' if depth > 3 else 'black')
    for axis in axes:
        axis.set_xlim(-1.2, n + 1.2)
        axis.set_ylim(-1.2, n + 1.2)
        axis.set_aspect('equal')
    save(figure, 'ring')


def overlap():
    """Tiles of 12 points that share 4: which owns what"""
    size, shared, count = 12, 4, 3
    figure, axis = plt.subplots(figsize=(9, 2.6))
    bare(axis, '')
    for tile in range(count):
        begin = tile * (size - shared)
        lo, hi = begin + (shared // 2 if tile else 0), begin + size - (shared // 2 if tile < count - 1 else 0)
        for i in range(begin, begin + size):
            axis.add_patch(Rectangle((i, count - tile), 0.9, 0.7, color=OWN if lo <= i < hi else WORK))
        for i in (begin - 1, begin + size):
            if 0 <= i < count * (size - shared) + shared:
                axis.add_patch(Rectangle((i, count - tile), 0.9, 0.7, color=RING))
        axis.text(-0.4, count - tile + 0.35, f'tile {tile}', ha='right', va='center')
    for i in range(count * (size - shared) + shared):
        axis.add_patch(Rectangle((i, 0.1), 0.9, 0.5, color=SLOW))
    axis.text(-0.4, 0.35, 'memory', ha='right', va='center')
    axis.set_xlim(-4, count * (size - shared) + shared + 1)
    axis.set_ylim(0, count + 1)
    figure.text(0.5, 0, 'blue: owned, written back; light: swept for its neighbours\' sake; orange: ring, frozen', ha='center')
    save(figure, 'overlap')


def slabs():
    """Planes of a grid over subiterations, in slabs that move on, and in slabs that shrink"""
    planes, height, thick = 24, 5, 6
    colors = [OWN, RING, '#7fae6f', '#b05f9f', '#6f6f6f']
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    bare(axes[0], 'skewed: on by a plane with each subiteration')
    bare(axes[1], 'pyramids: overlap, and shrink')
    for j in range(height):
        for p in range(planes):
            axes[0].add_patch(Rectangle((p, j), 0.9, 0.85, color=colors[min((p + j) // thick, 4)]))
    for number in range(planes // thick):
        lo, hi = number * thick, (number + 1) * thick
        for j in range(height):
            spare = height - 1 - j
            for p in range(max(lo - spare, 0), min(hi + spare, planes)):
                axes[1].add_patch(Rectangle((p, j + 0.21 * (number % 4)), 0.9, 0.19, color=colors[number]))
    for axis in axes:
        axis.set_xlim(-0.5, planes + 0.5)
        axis.set_ylim(-0.2, height + 0.2)
    axes[0].set_yticks([j + 0.4 for j in range(height)], [f'subiteration {j + 1}' for j in range(height)])
    figure.text(0.5, 0, 'planes of the grid; a colour is what one slab does while it is in the GPU\'s memory', ha='center')
    save(figure, 'slabs')


def levels():
    """A V-cycle on four ranks: coarse grids on fewer"""
    figure, axis = plt.subplots(figsize=(9, 3.4))
    bare(axis, '')
    path, names = [0, 1, 2, 3, 2, 1, 0], ['1025²', '513²', '257²', '129²']
    for step, level in enumerate(path):
        ranks = (4, 4, 2, 1)[level]
        for rank in range(4):
            axis.add_patch(Rectangle((2.2 * step + 0.4 * rank, -level), 0.35, 0.55, color=OWN if rank < ranks else '#eeeeee'))
        if step:
            before = path[step - 1]
            axis.annotate('', (2.2 * step - 0.1, -level + 0.3), (2.2 * step - 0.5, -before + 0.3), arrowprops={'arrowstyle': '->'})
    for level, name in enumerate(names):
        axis.text(-0.3, -level + 0.25, name, ha='right', va='center')
    for step, text in enumerate(('smooth', 'smooth', 'smooth', 'solve', 'correct, smooth', 'correct, smooth', 'correct, smooth')):
        axis.text(2.2 * step + 0.75, -path[step] - 0.22, text, ha='center', fontsize=7)
    axis.set_xlim(-2, 15.5)
    axis.set_ylim(-3.5, 0.8)
    figure.text(0.5, 0, 'blue: ranks that hold a part of the grid; grey: ranks that wait', ha='center')
    save(figure, 'levels')


def schedules():
    """What k sweeps leave of an error, over the eigenvalue of D^-1 A that it belongs to"""
    k, emax = 4, 2.0
    x = np.linspace(1e-6, emax, 400)
    theta = np.arccos(1 - 2 * x / emax)
    middle, half = emax * (1 + 1 / 11) / 2, emax * (1 - 1 / 11) / 2
    first = np.polynomial.chebyshev.Chebyshev.basis(k)
    curves = {'jacobi, omega 0.8': (1 - 0.8 * x) ** k, 'chebyshev from emax / 11': first((x - middle) / half) / first(-middle / half),
              'chebyshev4 (default)': np.sin((k + 0.5) * theta) / np.sin(theta / 2) / (2 * k + 1)}
    figure, axis = plt.subplots(figsize=(7, 3.2))
    for (name, y), color in zip(curves.items(), (SLOW, RING, OWN)):
        axis.plot(x, abs(y), label=name, color=color, linewidth=2)
    axis.axvspan(0.5, emax, color=WORK, alpha=0.4, linewidth=0)
    axis.text(1.25, 0.93, 'errors that a coarser grid cannot see', ha='center', fontsize=8)
    axis.set_xlabel('eigenvalue of D⁻¹A')
    axis.set_ylabel('part of the error that is left')
    axis.set_xlim(0, emax)
    axis.set_ylim(0, 1)
    axis.legend(loc='center right')
    save(figure, 'schedules')


def rows(device, name):
    with open(os.path.join(ROOT, 'examples/bench/results', device, name), encoding='utf-8') as file:
        return list(csv.DictReader(file))


def cpu():
    """Set-up and solve of Poisson's equation with smooth coefficients, one core"""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True)
    for axis, (device, title) in zip(axes, (('intel-xeon', 'Xeon, AVX-512'), ('amd-epyc', 'EPYC, AVX2'))):
        found, commits = {}, set()
        for row in rows(device, 'mg.csv'):
            what, _, part = row['what'].partition(': ')
            if row['case'] == 'host3d' and 'smooth' in what and 'ranks' not in part and row['median_s']:
                found.setdefault(what.replace(', smooth', ''), {})['solve' if part.startswith('solve') else 'set-up'] = float(row['median_s'])
                commits.add(row['commit'])
        names = sorted((name for name in found if len(found[name]) == 2), key=lambda name: -sum(found[name].values()))
        setup, solve = ([found[name][part] for name in names] for part in ('set-up', 'solve'))
        axis.barh(names, setup, color=SLOW, label='set-up, matrix assembled')
        bars = axis.barh(names, solve, left=setup, color=OWN, label='solve to 1e-8')
        axis.bar_label(bars, [f'{a:.2g} + {b:.2g}' for a, b in zip(setup, solve)], padding=2, fontsize=7)
        axis.set_xlim(0, 23)
        axis.set_title(f'{title}, one core, 129³, commit {", ".join(sorted(commits))}', fontsize=9)
        axis.set_xlabel('s')
    axes[0].legend(fontsize=8, loc='upper right')
    figure.tight_layout()
    save(figure, 'cpu')


def matrix():
    """What hjstencil saves: a product's rate over that of AIJ"""
    figure, axis = plt.subplots(figsize=(7, 2.6))
    bars = []
    for device, title in (('nvidia-h200', 'H200'), ('intel-xeon', 'Xeon'), ('amd-epyc', 'EPYC')):
        for case in ('mult2d', 'mult3d'):
            found = [row for row in rows(device, 'mat.csv') if row['case'] == case and row['matrix'] == 'hjstencil' and float(row['times_aij']) > 0]
            largest = max((int(row['n']) for row in found), default=0)
            for row in found:
                if int(row['n']) == largest:
                    size = f"{row['n']}{'²' if row['dim'] == '2' else '³'}"
                    bars.append((f"{title}, {size}, {row['what'].split(', ')[1]}", float(row['times_aij'])))
    figure.set_size_inches(7, 0.4 + 0.24 * len(bars))
    axis.barh([name for name, _ in bars][::-1], [times for _, times in bars][::-1], color=OWN)
    axis.axvline(1, color='black', linewidth=1)
    axis.margins(y=0.01)
    axis.set_xlabel('MatMult with hjstencil: times as fast as with AIJ')
    save(figure, 'matrix')


for draw in (sweeps, ring, overlap, slabs, levels, schedules, cpu, matrix):
    draw()
