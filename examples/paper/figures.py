#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The README's figures from the benchmarks' CSVs: solve.svg and updates.svg, and the numbers drawn beside them.
Usage: figures.py [examples/bench/results/<device> [output folder]]"""
import csv
import os
import sys

import matplotlib

matplotlib.use('svg')
import matplotlib.pyplot as plt

sys.dont_write_bytecode = True
from plot import day

HERE = os.path.dirname(os.path.abspath(__file__))
COPY = {'NVIDIA H200': 4.18e12}  # bytes a second of a device copy; a sweep reads x and b and writes x: 24 bytes a point
MARKS = {'PETSc: CG + PCMG, Chebyshev/Jacobi': ('s', 'tab:red'), 'PCMG with hjacobi, CSR': ('^', 'tab:orange'),
         'PCMG with hjacobi, hjstencil': ('D', 'tab:olive'), 'hjmg': ('o', 'tab:blue'), 'hypre: CG + PFMG': ('P', 'gray'),
         'hpmg (HiPACE)': ('X', 'dimgray')}


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return list(csv.DictReader(file))


def caption(figure, files):
    words = []
    for folder, name in files:
        rows = read(folder, name)
        if rows:
            commits = sorted({r['commit'] for r in rows})
            words.append(f"{name}: commit {', '.join(commits)}, {day(os.path.join(folder, name))}")
            device = rows[0]['device']
    figure.text(0.01, 0.01, f"{device}. {'; '.join(words)}", fontsize=6, color='gray')


def save(figure, out, name, header, points):
    with open(os.path.join(out, name + '.csv'), 'w', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(header)
        writer.writerows(points)
    figure.savefig(os.path.join(out, name + '.svg'))
    plt.close(figure)
    print('written:', os.path.join(out, name + '.svg'))


def solves(folder, more):
    """(what, dim, points in a direction, ms) of constant coefficients to 1e-8, the best of each. more: a folder with other sizes"""
    best = {}

    def add(what, dim, n, ms):
        key = (what, int(dim), int(n))
        best[key] = min(best.get(key, 1e30), float(ms))

    for r in read(folder, 'mat.csv') + read(more, 'mat.csv'):
        if r['case'] not in ('mg2d', 'mg3d', 'small2d', 'small3d') or ' MG' not in ' ' + r['what'] or r['unit'] != 'its':
            continue
        if 'chebyshev/jacobi' in r['what']:
            add('PETSc: CG + PCMG, Chebyshev/Jacobi', r['dim'], r['n'], 1e3 * float(r['median_s']))
        elif 'CG + MG, hjacobi' in r['what']:
            kind = 'hjstencil' if r['matrix'] == 'hjstencil' else 'CSR'
            add(f'PCMG with hjacobi, {kind}', r['dim'], r['n'], 1e3 * float(r['median_s']))
    for r in read(folder, 'mg.csv'):
        if r['case'] in ('constant2d', 'constant3d') and r['unit'] == 'ms':
            add('hjmg', r['dim'], r['n'], r['value'])
    for r in read(HERE, 'peers.csv'):
        add(r['what'], r['dim'], r['n'], r['ms'])
    return sorted(key + (ms,) for key, ms in best.items())


def draw_solves(folder, out):
    points = solves(folder, out)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True)
    for axes, dim in zip(panels, (2, 3)):
        for what, (mark, color) in MARKS.items():
            line = [(n, ms) for w, d, n, ms in points if w == what and d == dim]
            if line:
                axes.plot([n for n, _ in line], [ms for _, ms in line], mark + '-', color=color, label=what)
        sizes = sorted({n for w, d, n, _ in points if d == dim and w == 'hjmg'})
        axes.set_xscale('log', base=2)
        axes.set_yscale('log')
        axes.set_xticks(sizes, [f'{n}{"²" if dim == 2 else "³"}' for n in sizes])
        ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if 0.5 * min(p[3] for p in points) < t < 2 * max(p[3] for p in points)]
        axes.set_yticks(ticks, [f'{t:g}' for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel('grid')
        axes.set_title(f"Poisson's equation in {dim}D")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel('time to a relative residual of 1e-8, ms')
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize='small', loc='lower center', ncol=3, bbox_to_anchor=(0.5, 0.03))
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    caption(figure, ((folder, 'mat.csv'), (out, 'mat.csv'), (folder, 'mg.csv')))
    save(figure, out, 'solve', ('what', 'dim', 'n', 'ms'), [(w, d, n, f'{ms:.4g}') for w, d, n, ms in points])


def draw_updates(folder, out):
    rows = [r for r in read(folder, 'gpu.csv') if r['case'] in ('exact', 'box', 'variable') and r['unit'].startswith('G')]
    lines = {}
    for r in rows:
        power = {'1': '', '2': '²', '3': '³'}[r['dim']]
        kind = {'exact': 'constant', 'box': 'constant, 9 points' if r['dim'] == '2' else 'constant, 27 points'}.get(r['case'])
        name = f"{r['n']}{power}, {kind or 'arrays, ' + r['what'].strip()}"
        lines.setdefault((r['dim'], name), []).append((int(r['k']), float(r['value'])))
    limit = COPY.get(rows[0]['device'], 0) / 24e9
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for i, ((dim, name), line) in enumerate(sorted(lines.items())):
        line.sort()
        axes.plot([k for k, _ in line], [v for _, v in line], {'1': '^:', '2': 'o-', '3': 's--'}[dim], markersize=4,
                  color=plt.get_cmap('tab20')(2 * i % 20 + i // 10), label=f'{dim}D: {name}')
    if limit:
        axes.axhline(limit, color='black', linewidth=1)
        axes.text(64, limit / 1.07, f'one sweep at a time, constant:\nat most {limit:.0f} by memory', ha='right', va='top', fontsize='small')
    axes.set_xscale('log', base=2)
    axes.set_yscale('log', base=2)
    ks, vs = (1, 2, 4, 8, 16, 32, 64), (64, 128, 256, 512, 1024, 2048)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.set_yticks(vs, [str(v) for v in vs])
    axes.set_xlabel('sweeps a cycle, k')
    axes.set_ylabel("points' updates, 10⁹ a second")
    axes.set_title('Exact sweeps, right-hand side and weights included')
    axes.grid(alpha=0.3)
    axes.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1, 0.5))
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    caption(figure, ((folder, 'gpu.csv'),))
    points = [(name, k, f'{v:.4g}') for (_, name), line in sorted(lines.items()) for k, v in line]
    save(figure, out, 'updates', ('what', 'k', 'updates_per_ns'), points + [('memory limit of one sweep', 1, f'{limit:.4g}')])


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, '../bench/results/nvidia-h200'))
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, 'results', os.path.basename(folder))
    os.makedirs(out, exist_ok=True)
    draw_solves(folder, out)
    draw_updates(folder, out)


main()
