#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A model of hjmg on several GPUs, beside what was measured, and what it says of more GPUs than were measured.

Usage: model.py [RESULTS [LATENCY BANDWIDTH]]
RESULTS: a folder with mpi.csv, results/nvidia-h100 if it is left out; LATENCY and BANDWIDTH: of a message between hosts, in microseconds,
and of one GPU's share of the network, in gigabytes a second. These two are assumed (20, 40), not measured.

An iteration on p GPUs takes
  for each level of N points what a level of N / p points takes on one GPU, which is the difference between the measured times of an iteration
    of its grid and of the next coarser one;
  for each level that lies on several GPUs a constant (exchanges, sweeps in two parts, waits), and more for each point of a face towards each
    neighbour: one on two GPUs, two in the middle of more;
  a constant once: coarse grids gathered on one GPU, the norm of all;
and that a factor times for each doubling from two GPUs to eight: all wait for the slowest one.
The three constants are fitted to the rows of two GPUs of one commit, for each solver and dimension. The factor is the mean of what is
measured on four GPUs over that; where that commit has no rows of four it is that of an older one with as many points a GPU on four and on
two. A level with fewer points a GPU than LEAST goes to fewer GPUs, as PCHJMGSetRankPoints() says.

On several hosts each level on more GPUs than a host has costs MESSAGES messages one after another more, each with the halo of one sweep.

Prints tables in Markdown.
"""
import csv
import math
import os
import sys

LEAST = 150000
MESSAGES = 4
HALO_LINES = {2: 8, 3: 4}
COARSEST = 3
GPUS = 8
SIZES = {2: (4097, 8193), 3: (257, 513)}
MANY = (16, 64, 1024)
GPUS_A_HOST = 8


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def solve(matrix, right):
    """A small linear system, by elimination; columns of zeros get zeros."""
    n = len(right)
    a = [row[:] + [r] for row, r in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        if abs(a[i][i]) < 1e-300:
            a[i] = [0.0] * (n + 1)
            a[i][i] = 1.0
        for r in range(n):
            if r != i:
                factor = a[r][i] / a[i][i]
                a[r] = [x - factor * y for x, y in zip(a[r], a[i])]
    return [a[i][n] / a[i][i] for i in range(n)]


def fit(rows, values):
    """Least squares, without negative numbers: the most negative one becomes 0."""
    n = len(rows[0])
    out = set()
    while True:
        kept = [[0.0 if k in out else x for k, x in enumerate(row)] for row in rows]
        found = solve([[sum(r[i] * r[j] for r in kept) for j in range(n)] for i in range(n)],
                      [sum(r[i] * v for r, v in zip(kept, values)) for i in range(n)])
        least = min(range(n), key=lambda k: found[k])
        if found[least] >= 0:
            return found
        out.add(least)


class Model:
    """Seconds of one iteration of a solver."""

    def __init__(self, rows, dim, coefficients, solver):
        self.dim, self.name = dim, f"{dim}D, {coefficients}, {'CG' if 'CG' in solver else 'the solver'}"
        case = "hjmgvariable" if coefficients == "arrays" else "hjmg"
        rows = [r for r in rows if r["what"] == solver and r["case"] in (f"{case}{dim}d", f"{case}strong{dim}d") and r["exchange"] != "nccl"]
        commit = next((r["commit"] for r in rows if r["ranks"] == "1"), None)
        one = {}
        for row in rows:
            if row["ranks"] == "1":
                one.setdefault(int(row["nx"]), []).append(self.time_of(row))
        self.one = sorted((n, min(t)) for n, t in one.items())
        self.measured = [r for r in rows if r["ranks"] != "1" and r["commit"] == commit]
        self.factor, self.numbers = 1.0, None
        if len(self.one) > 1 and len(self.measured) > 3:
            self.numbers = self.fitted([r for r in self.measured if r["ranks"] == "2"])
            self.factor = self.doubling([r for r in rows if r["case"] == f"{case}{dim}d" and r["commit"] != commit])

    def fitted(self, rows):
        values = [self.time_of(r) for r in rows]
        terms = [self.terms(int(r["nx"]), self.points(r), int(r["ranks"])) for r in rows]
        work = [self.work(self.points(r), int(r["ranks"])) for r in rows]
        return fit([[x / v for x in t] for t, v in zip(terms, values)], [(v - w) / v for v, w in zip(values, work)])

    def doubling(self, older):
        ratios = [self.time_of(r) / self.iteration(int(r["nx"]), self.points(r), 4) for r in self.measured if r["ranks"] == "4"]
        if not ratios:
            on = {r["ranks"]: self.time_of(r) for r in older}
            ratios = [on["4"] / on["2"]]
        return math.exp(sum(math.log(r) for r in ratios) / len(ratios))

    @staticmethod
    def points(row):
        return int(row["nx"]) * int(row["ny"]) * int(row["nz"])

    @staticmethod
    def time_of(row):
        return float(row["median_s"]) / float(row["rate"])

    def on_one(self, points):
        """An iteration on a grid of so many points on one GPU: between two sizes that were measured straight in the logarithms."""
        n = points ** (1 / self.dim)
        if n <= self.one[0][0]:
            levels = math.log2(self.one[0][0] / COARSEST)
            return self.one[0][1] * max(math.log2(max(n, COARSEST) / COARSEST), 0) / levels
        i = next((i for i in range(1, len(self.one) - 1) if n <= self.one[i][0]), len(self.one) - 1)
        (n0, t0), (n1, t1) = self.one[i - 1], self.one[i]
        return t0 * (t1 / t0) ** (math.log(n / n0) / math.log(n1 / n0))

    def levels(self, points, gpus):
        """(points, GPUs) of each level, finest first."""
        grids, least = [], LEAST
        while points >= COARSEST ** self.dim:
            if grids and points < least * gpus:
                while gpus > 1 and points < 2 ** self.dim * least * gpus:
                    gpus = (gpus + 1) // 2
            grids.append((points, gpus))
            points /= 2 ** self.dim
        return grids

    def work(self, points, gpus):
        return sum(self.on_one(level / p) - self.on_one(level / p / 2 ** self.dim) for level, p in self.levels(points, gpus))

    def terms(self, n, points, gpus):
        """What the fitted numbers are multiplied by: once; levels on several GPUs; points of their faces. n: points of the finest grid in the
        directions that are not cut"""
        several = sum(p > 1 for _, p in self.levels(points, gpus))
        faces = sum((n / 2 ** level) ** (self.dim - 1) for level in range(several))
        return [1.0, float(several), faces * (1 if gpus == 2 else 2)]

    def iteration(self, n, points, gpus, message=None):
        """message: the time of a message between hosts that carries so many bytes, or None on one host."""
        if gpus == 1:
            return self.on_one(points)
        total = self.work(points, gpus) + sum(x * t for x, t in zip(self.numbers, self.terms(n, points, gpus)))
        total *= self.factor ** (math.log2(min(gpus, GPUS_A_HOST)) - 1)
        for k, (_, p) in enumerate(self.levels(points, gpus)):
            if p > GPUS_A_HOST and message:
                total += MESSAGES * message(8 * HALO_LINES[self.dim] * (n / 2 ** k) ** (self.dim - 1))
        return total


def describe(models):
    print("| microseconds | once | a level on several GPUs | 1000 points of a face | each doubling |\n| --- | --- | --- | --- | --- |")
    for m in models:
        once, level, face = (1e6 * x for x in m.numbers)
        print(f"| {m.name} | {once:.0f} | {level:.0f} | {1e3 * face:.2f} | x {m.factor:.3f} |")


def beside_measured(models):
    print("\n| solver | grid | GPUs | model | measured | model / measured |\n| --- | --- | --- | --- | --- | --- |")
    for m in models:
        for row in m.measured:
            gpus = int(row["ranks"])
            modelled, measured = m.iteration(int(row["nx"]), m.points(row), gpus), m.time_of(row)
            grid = " x ".join(row[d] for d in ("nx", "ny", "nz") if row[d] != "1")
            print(f"| {m.name} | {grid} | {gpus} | {1e3 * modelled:.3f} ms | {1e3 * measured:.3f} ms | {modelled / measured:.2f} |")


def of_eight(models):
    print(f"\n| an iteration on {GPUS} GPUs | as many points a GPU as | efficiency | a grid of fixed size | times as fast as one |"
          "\n| --- | --- | --- | --- | --- |")
    for m in models:
        for n in SIZES[m.dim]:
            points, alone = n ** m.dim, m.on_one(n ** m.dim)
            weak, strong = m.iteration(n, points * GPUS, GPUS), m.iteration(n, points, GPUS)
            print(f"| {m.name} | {n}^{m.dim}: {1e3 * weak:.2f} ms | {alone / weak:.0%} | {n}^{m.dim}: {1e3 * strong:.2f} ms | {alone / strong:.1f} |")


def of_many(models, latency, bandwidth):
    def message(size):
        return latency + size / bandwidth

    print("\n| fixed points a GPU | GPUs | an iteration | of that, one GPU's work | levels on several GPUs | efficiency |"
          "\n| --- | --- | --- | --- | --- | --- |")
    for m, n in ((m, n) for m in models for n in SIZES[m.dim]):
        alone = m.on_one(n ** m.dim)
        for gpus in MANY:
            points = n ** m.dim * gpus
            modelled = m.iteration(n, points, gpus, message)
            print(f"| {m.name}, {n}^{m.dim} | {gpus} | {1e3 * modelled:.2f} ms | {1e3 * alone:.2f} ms | {int(m.terms(n, points, gpus)[1])} "
                  f"| {alone / modelled:.0%} |")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "nvidia-h100")
    latency, bandwidth = (float(a) for a in sys.argv[2:4]) if len(sys.argv) > 3 else (20, 40)
    rows = read(os.path.join(folder, "mpi.csv"))
    models = [Model(rows, dim, coefficients, solver)
              for coefficients in ("constant", "arrays") for dim in (2, 3) for solver in ("hjmg as the solver", "hjmg under CG")]
    models = [m for m in models if m.numbers]
    if not models:
        sys.exit(f"{folder}/mpi.csv has too few sizes and numbers of GPUs to fit: make bench-mpi")
    describe(models)
    beside_measured(models)
    of_eight(models)
    of_many([m for m in models if m.name.endswith("constant, the solver")], latency * 1e-6, bandwidth * 1e9)


main()
