#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Plots and a table from the CSV of paper.c, beside it. Usage: plot.py results/<device>/paper.csv"""
import csv
import os
import subprocess
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
CLASSIC = {'islam1d': 5.67569, 'islam2d': 7.9011}  # seconds of the paper's best classic kernel, with transfers
NAMES = {'islam1d': '1024 copies of a line of 1024 points', 'islam2d': '1024² points'}
SHORT = {'islam1d': '1D, copies of a line', 'islam2d': '2D'}


def read(path):
    with open(path, encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in ('n', 'k', 'overlap', 'count'):
            row[name] = int(row[name])
        for name in ('seconds', 'value'):
            row[name] = float(row[name])
    return rows


def day(path):
    """When the file was measured: git's date of its last change, else its own"""
    try:
        date = subprocess.run(['git', 'log', '-1', '--format=%cs', '--', os.path.basename(path)], capture_output=True, text=True, check=True,
                              cwd=os.path.dirname(os.path.abspath(path))).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        date = ''
    return date or time.strftime('%Y-%m-%d', time.localtime(os.path.getmtime(path)))


def plain(axis, values):
    """Ticks at 1, 2, 5 times powers of ten, which cover the values, as numbers"""
    ticks = [m * 10.0 ** e for e in range(-9, 7) for m in (1, 2, 5)]
    low, high = max(t for t in ticks if t <= min(values)), min(t for t in ticks if t >= max(values))
    ticks = [t for t in ticks if low <= t <= high]
    axis.axes.set_ylim(low * 0.95, high * 1.05)
    axis.set_ticks(ticks, [f'{t:g}' for t in ticks])
    axis.set_ticks([], minor=True)


def title(case, rows):
    n = rows[0]['n']
    return NAMES[case] if n == 1024 else NAMES[case].replace('1024', str(n))


def finish(figure, axes, rows, stamp, path):
    axes.grid(alpha=0.3)
    axes.legend(fontsize='small', loc='center left', bbox_to_anchor=(1, 0.5))
    commits = ', '.join(sorted({r['commit'] for r in rows}))
    figure.text(0.005, 0.005, f"{rows[0]['device']}, commit {commits}, {stamp}", fontsize=6, color='gray')
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(path)
    plt.close(figure)
    print('written:', path)


def overlaps(rows, case, folder, stamp):
    """Time and cycles over overlap, a line for each k: Figures 9 and 13"""
    stale = [r for r in rows if r['case'] == case and r['what'] == 'stale']
    classic = [r['seconds'] for r in rows if r['case'] == case and r['what'] == 'classic']
    if not stale:
        return
    best = min(stale, key=lambda r: r['seconds'])
    for column, label, ending in (('seconds', 'time to reduce the residual by 1e-4, s', 'time'), ('count', 'cycles', 'cycles')):
        figure, axes = plt.subplots(figsize=(7.5, 4.2))
        values = [r[column] for r in stale]
        axes.set_yscale('log')
        for k in sorted({r['k'] for r in stale}):
            line = [r for r in stale if r['k'] == k]
            color = axes.plot([r['overlap'] for r in line], [r[column] for r in line], 'o-', markersize=3, label=f'k = {k}')[0].get_color()
            if column == 'seconds' and classic:
                overlap, speedup = PAPER[case]['best'][k]
                axes.plot([overlap], [classic[0] / speedup], 'x', color=color, markersize=7)
                values.append(classic[0] / speedup)
        axes.plot([best['overlap']], [best[column]], 'k*', markersize=12, label=f"fastest: k = {best['k']},\noverlap {best['overlap']}")
        if column == 'seconds' and classic:
            axes.plot([], [], 'x', color='gray', markersize=7, label="paper's best of each k: the\nclassic kernel of this GPU\nby the paper's speed-up")
            axes.axhline(classic[0], color='gray', linewidth=1, linestyle='--', label='classic kernel')
            values.append(classic[0])
        plain(axes.yaxis, values)
        axes.set_xticks(sorted({r['overlap'] for r in stale}))
        axes.set_xlabel('overlap, points')
        axes.set_ylabel(label)
        axes.set_title(title(case, stale))
        finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-{ending}.svg'))


def subiterations(rows, case, folder, stamp):
    """Time over k without overlap, with transfers, beside the classic kernel, here and in the paper: Figures 7 and 12"""
    stale = sorted((r['k'], r['seconds']) for r in rows if r['case'] == case and r['what'] == 'stale with transfers' and r['overlap'] == 0)
    classic = [r['seconds'] for r in rows if r['case'] == case and r['what'] in ('classic', 'transfers')]
    if not stale or len(classic) < 2:
        return
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    axes.set_xscale('log', base=2)
    axes.set_yscale('log')
    paper = [(k, CLASSIC[case] / v) for k, v in PAPER[case][0].items()]
    axes.axhline(CLASSIC[case], color='gray', linestyle='--', label='paper, classic kernel')
    axes.plot(*zip(*paper), 'x-', color='gray', label='paper (TITAN V)')
    axes.axhline(sum(classic), color='tab:blue', linestyle='--', label='here, classic kernel')
    axes.plot(*zip(*stale), 'o-', color='tab:blue', label='here')
    plain(axes.yaxis, [t for _, t in paper + stale] + [CLASSIC[case], sum(classic)])
    axes.set_xticks([k for k, _ in stale], [str(k) for k, _ in stale])
    axes.set_xlabel('subiterations a cycle, k; no overlap')
    axes.set_ylabel('time to reduce the residual by 1e-4,\nwith transfers, s')
    axes.set_title(title(case, [r for r in rows if r['case'] == case]))
    finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-subiterations.svg'))


def speedups(rows, case, folder, stamp):
    """Speed-up over k, here and in the paper: Tables 1 to 4"""
    stale = [r for r in rows if r['case'] == case and r['what'] == 'stale']
    if not stale:
        return
    ks = sorted({r['k'] for r in stale})
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    several = [k for k in ks if len({r['overlap'] for r in stale if r['k'] == k}) > 1]
    best = [max((r for r in stale if r['k'] == k), key=lambda r: r['value']) for k in several]
    axes.plot(several, [r['value'] for r in best], 'o-', color='tab:blue', label='here, best overlap')
    for r in best:
        axes.annotate(f"o = {r['overlap']}", (r['k'], r['value']), textcoords='offset points', xytext=(0, 6), ha='center', fontsize='x-small')
    none = sorted((r for r in stale if r['overlap'] == 0), key=lambda r: r['k'])
    axes.plot([r['k'] for r in none], [r['value'] for r in none], 'o--', color='tab:orange', label='here, no overlap')
    exact = sorted((r for r in rows if r['case'] == case and r['what'] == 'exact'), key=lambda r: r['k'])
    axes.plot([r['k'] for r in exact], [r['value'] for r in exact], 's-', color='tab:green', label='here, exact cycles')
    axes.plot(list(PAPER[case]['best']), [v for _, v in PAPER[case]['best'].values()], 'x-', color='gray', label='paper, best overlap')
    for k, (overlap, value) in PAPER[case]['best'].items():
        axes.annotate(f'o = {overlap}', (k, value), textcoords='offset points', xytext=(0, -12), ha='center', fontsize='x-small', color='gray')
    axes.plot(list(PAPER[case][0]), list(PAPER[case][0].values()), 'x--', color='gray', label='paper, no overlap')
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.set_xscale('log', base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.set_xlabel('subiterations a cycle, k')
    axes.set_ylabel('times as fast as the best classic kernel')
    axes.set_title(title(case, stale))
    finish(figure, axes, rows, stamp, os.path.join(folder, f'{case}-speedup.svg'))


def others(rows):
    """What the other papers say in words and tables: case, what is measured here, paper, here"""
    def best(case, what, n=None):
        values = [r['value'] for r in rows if r['case'] == case and r['what'] == what and n in (None, r['n'])]
        return max(values) if values else None

    copy, sweep = best('giles', 'VecCopy'), best('giles', 'one sweep')
    giles = next((f"{r['n']}³" for r in rows if r['case'] == 'giles'), '')
    lines = []
    if copy and sweep:
        lines.append((f'Giles: one sweep of {giles}, share of the bandwidth (paper: of the peak; here: of a copy)', 0.75, sweep / copy, '.2f'))
    host = best('giles', 'one sweep on the host')
    if host and sweep:
        lines.append((f'Giles: one sweep of {giles}, times as fast as one core of the CPU', 50, sweep / host, '.0f'))
    dense = {r['n'] for r in rows if r['case'] == 'dense'}
    for n in sorted(dense):
        here, plain, read = best('dense', 'hjacobi', n), best('dense', 'classic by columns', n), best('dense', 'VecDot of as many numbers', n)
        if here and plain and read:
            lines.append((f'dense, n = {n}: times as fast as the plain kernel by columns', 1, here / plain, '.1f'))
            lines.append((f'dense, n = {n}: share of the rate at which VecDot() reads as much', 0.9, here / read, '.2f'))
    return lines


def kochurov(path):
    """Seconds of as many iterations as in Table 1, from what bench_slab measured, if its CSV is there"""
    paper = {800: (8300, 9687, 1353), 900: (11200, 20003, 2671), 1000: (12300, 33543, 4218)}
    if not os.path.exists(path):
        return
    with open(path, encoding='utf-8') as file:
        rows = {int(r['n']): r for r in csv.DictReader(file) if r['case'] == 'paper'}
    print('\n| grid | iterations | paper, 12 CPU threads | paper, GPU | here, with set-up | ratio | the same without set-up | predicted |')
    print('| --- ' * 8 + '|')
    for n, (count, cpu, gpu) in paper.items():
        if n in rows:
            r, times = rows[n], count / int(rows[n]['subiterations'])
            seconds = [float(r['all_seconds']), float(r['seconds']) * times, float(r['predicted']) * times]
            print(f"| {n}³ | {count} | {cpu} s | {gpu} s | {seconds[0]:.1f} s | {gpu / seconds[0]:.0f} | {seconds[1]:.1f} s | {seconds[2]:.1f} s |")


def tables(rows):
    """Markdown for README.md: paper, here, ratio"""
    for case, paper in PAPER.items():
        stale = {(r['k'], r['overlap']): r for r in rows if r['case'] == case and r['what'] == 'stale'}
        if not stale:
            continue
        moved = {(r['k'], r['overlap']): r for r in rows if r['case'] == case and r['what'] == 'stale with transfers'}
        print(f'\n| {SHORT[case]}: k, overlap | paper | here | ratio | with transfers | cycles |\n| --- | --- | --- | --- | --- | --- |')
        wanted = [(k, 0, v) for k, v in paper[0].items()] + [(k, o, v) for k, (o, v) in paper['best'].items()]
        for k, overlap, value in wanted:
            if (k, overlap) in stale:
                row = stale[k, overlap]
                print(f"| {k}, {overlap} | {value:.2f} | {row['value']:.2f} | {row['value'] / value:.2f} | {moved[k, overlap]['value']:.2f} | {row['count']} |")
    lines = others(rows)
    if lines:
        print('\n| what | paper, or what is asked for | here | ratio |\n| --- | --- | --- | --- |')
    for what, value, here, digits in lines:
        print(f'| {what} | {value:{digits}} | {here:{digits}} | {here / value:.2f} |')


def main():
    path = sys.argv[1]
    rows = read(path)
    folder, stamp = os.path.dirname(path), day(path)
    for case in PAPER:
        mine = [r for r in rows if r['case'] == case]
        overlaps(mine, case, folder, stamp)
        subiterations(mine, case, folder, stamp)
        speedups(mine, case, folder, stamp)
    tables(rows)
    kochurov(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../bench/results', os.path.basename(os.path.abspath(folder)), 'slab.csv'))


if __name__ == '__main__':
    main()
