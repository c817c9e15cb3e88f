#!/usr/bin/env python3
"""Plots and a table from the CSV of paper.c, beside it. Usage: plot.py results/<device>/paper.csv"""
import csv
import os
import sys
import time

import matplotlib

matplotlib.use('svg')
import matplotlib.pyplot as plt

# Islam & Wang, Tables 1 to 4: speed-up over the best classic kernel without overlap, and at the best overlap
PAPER = {
    'islam1d': {0: {4: 2.45, 8: 3.82, 16: 3.79, 32: 2.47, 64: 1.46, 128: 0.81},
                'best': {4: (2, 3.09), 8: (4, 5.74), 16: (4, 8.00), 32: (8, 7.50), 64: (10, 5.84), 128: (12, 3.75)}},
    'islam2d': {0: {4: 2.17, 8: 3.67, 16: 3.98, 32: 2.96, 64: 1.86, 128: 1.09},
                'best': {4: (0, 2.18), 8: (2, 4.22), 16: (2, 5.58), 32: (4, 5.84), 64: (6, 4.88), 128: (8, 3.50)}}}
NAMES = {'islam1d': '1D, copies of a line', 'islam2d': '2D'}


def read(path):
    with open(path, encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in ('n', 'k', 'overlap', 'count'):
            row[name] = int(row[name])
        for name in ('seconds', 'value'):
            row[name] = float(row[name])
    return rows


def caption(rows, stamp):
    return f"{rows[0]['device']}, commit {rows[0]['commit']}, {stamp}"


def finish(figure, axes, rows, stamp, path):
    axes.grid(alpha=0.3)
    axes.legend(fontsize='small')
    figure.text(0.01, 0.005, caption(rows, stamp), fontsize=6, color='gray')
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    print('written:', path)


def overlaps(rows, case, folder, stamp):
    """Time and cycles over overlap, a line for each k: Figures 9 and 13"""
    stale = [r for r in rows if r['case'] == case and r['what'] == 'stale']
    if not stale:
        return
    for column, label, ending in (('seconds', 'time to reduce the residual by 1e-4, s', 'time'), ('count', 'cycles', 'cycles')):
        figure, axes = plt.subplots(figsize=(5.5, 4))
        best = min(stale, key=lambda r: r['seconds'])
        for k in sorted({r['k'] for r in stale}):
            line = [r for r in stale if r['k'] == k]
            axes.plot([r['overlap'] for r in line], [r[column] for r in line], 'o-', markersize=3, label=f'k = {k}')
        axes.plot([best['overlap']], [best[column]], 'k*', markersize=12, label=f"fastest: k = {best['k']}, overlap {best['overlap']}")
        axes.set_yscale('log')
        axes.set_xlabel('overlap, points')
        axes.set_ylabel(label)
        axes.set_title(f"{NAMES[case]}, {stale[0]['n']} points in each direction")
        finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-{ending}.svg'))


def speedups(rows, case, folder, stamp):
    """Speed-up over k, here and in the paper: Tables 1 to 4, Figures 7 and 12"""
    stale = [r for r in rows if r['case'] == case and r['what'] == 'stale']
    if not stale:
        return
    ks = sorted({r['k'] for r in stale})
    figure, axes = plt.subplots(figsize=(5.5, 4))
    several = [k for k in ks if len({r['overlap'] for r in stale if r['k'] == k}) > 1]
    axes.plot(several, [max(r['value'] for r in stale if r['k'] == k) for k in several], 'o-', label='here, best overlap')
    none = [r for r in stale if r['overlap'] == 0]
    axes.plot([r['k'] for r in none], [r['value'] for r in none], 'o--', label='here, no overlap')
    exact = [r for r in rows if r['case'] == case and r['what'] == 'exact']
    axes.plot([r['k'] for r in exact], [r['value'] for r in exact], 's-', label='here, exact cycles')
    axes.plot(list(PAPER[case]['best']), [v for _, v in PAPER[case]['best'].values()], 'x-', color='gray', label='paper, best overlap')
    axes.plot(list(PAPER[case][0]), list(PAPER[case][0].values()), 'x--', color='gray', label='paper, no overlap')
    axes.set_xscale('log', base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.set_xlabel('subiterations a cycle, k')
    axes.set_ylabel('times as fast as the best classic kernel')
    axes.set_title(f"{NAMES[case]}, {stale[0]['n']} points in each direction")
    finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-speedup.svg'))


def others(rows):
    """What the other papers say in words and tables: case, what is measured here, paper, here"""
    def best(case, what, n=None):
        values = [r['value'] for r in rows if r['case'] == case and r['what'] == what and n in (None, r['n'])]
        return max(values) if values else None

    copy, sweep = best('giles', 'VecCopy'), best('giles', 'one sweep')
    lines = []
    if copy and sweep:
        lines.append(('Giles: one sweep of 256³, share of the bandwidth (paper: of the peak; here: of a copy)', 0.75, sweep / copy, '.2f'))
    dense = {r['n'] for r in rows if r['case'] == 'dense'}
    for n in sorted(dense):
        here, plain, read = best('dense', 'hjacobi', n), best('dense', 'classic by columns', n), best('dense', 'VecDot of as many numbers', n)
        if here and plain and read:
            lines.append((f'dense, n = {n}: times as fast as the plain kernel by columns', 1, here / plain, '.1f'))
            lines.append((f'dense, n = {n}: share of the rate at which VecDot() reads as much', 0.9, here / read, '.2f'))
    return lines


def kochurov(path):
    """Seconds of as many iterations as in Table 1, from what bench_slab measured; its CSV, if it is there"""
    paper = {800: (8300, 9687, 1353), 900: (11200, 20003, 2671), 1000: (12300, 33543, 4218)}
    if not os.path.exists(path):
        return
    with open(path, encoding='utf-8') as file:
        rows = [r for r in csv.DictReader(file) if int(r['n']) in paper]
    print('\n| grid | iterations | paper, 12 CPU threads | paper, GPU | here | ratio | predicted here |\n' + '| --- ' * 7 + '|')
    for n, (count, cpu, gpu) in paper.items():
        mine = [r for r in rows if int(r['n']) == n]
        if mine:
            best = min(mine, key=lambda r: float(r['seconds']) / int(r['subiterations']))
            times = count / int(best['subiterations'])
            seconds, predicted = float(best['seconds']) * times + float(best['pinning']) + float(best['setup']), float(best['predicted']) * times
            print(f"| {n}³ | {count} | {cpu} s | {gpu} s | {seconds:.1f} s | {gpu / seconds:.0f} | {predicted:.1f} s of sweeps |")


def tables(rows):
    """Markdown for README.md: paper, here, ratio"""
    for case, paper in PAPER.items():
        stale = {(r['k'], r['overlap']): r for r in rows if r['case'] == case and r['what'] == 'stale'}
        if not stale:
            continue
        print(f'\n| {NAMES[case]}: k, overlap | paper | here | ratio | cycles |\n| --- | --- | --- | --- | --- |')
        wanted = [(k, 0, v) for k, v in paper[0].items()] + [(k, o, v) for k, (o, v) in paper['best'].items()]
        for k, overlap, value in wanted:
            if (k, overlap) in stale:
                row = stale[k, overlap]
                print(f"| {k}, {overlap} | {value:.2f} | {row['value']:.2f} | {row['value'] / value:.2f} | {row['count']} |")
    lines = others(rows)
    if lines:
        print('\n| what | paper, or what is asked for | here | ratio |\n| --- | --- | --- | --- |')
    for what, value, here, digits in lines:
        print(f'| {what} | {value:{digits}} | {here:{digits}} | {here / value:.2f} |')


def main():
    path = sys.argv[1]
    rows = read(path)
    folder, stamp = os.path.dirname(path), time.strftime('%Y-%m-%d', time.localtime(os.path.getmtime(path)))
    for case in PAPER:
        overlaps(rows, case, folder, stamp)
        speedups(rows, case, folder, stamp)
    tables(rows)
    kochurov(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../bench/results', os.path.basename(os.path.abspath(folder)), 'slab.csv'))


main()
