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
    axes.plot(ks, [max(r['value'] for r in stale if r['k'] == k) for k in ks], 'o-', label='here, best overlap')
    none = [r for r in stale if r['overlap'] == 0]
    axes.plot([r['k'] for r in none], [r['value'] for r in none], 'o--', label='here, no overlap')
    exact = [r for r in rows if r['case'] == case and r['what'] == 'exact']
    axes.plot([r['k'] for r in exact], [r['value'] for r in exact], 's-', label='here, exact cycles')
    axes.plot(list(PAPER[case]['best']), [v for _, v in PAPER[case]['best'].values()], 'x-', color='gray', label='paper, best overlap')
    axes.plot(list(PAPER[case][0]), list(PAPER[case][0].values()), 'x--', color='gray', label='paper, no overlap')
    axes.set_xscale('log', base=2)
    axes.set_xlabel('subiterations a cycle, k')
    axes.set_ylabel('times as fast as the best classic kernel')
    axes.set_title(f"{NAMES[case]}, {stale[0]['n']} points in each direction")
    finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-speedup.svg'))


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


def main():
    path = sys.argv[1]
    rows = read(path)
    folder, stamp = os.path.dirname(path), time.strftime('%Y-%m-%d', time.localtime(os.path.getmtime(path)))
    for case in PAPER:
        overlaps(rows, case, folder, stamp)
        speedups(rows, case, folder, stamp)
    tables(rows)


main()
