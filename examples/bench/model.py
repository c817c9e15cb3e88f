#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A model of a cycle of hjmg on several GPUs, beside what was measured, and what it says of more GPUs than were measured.

Usage: model.py [RESULTS [LATENCY BANDWIDTH]]
RESULTS: a folder with mg.csv and mpi.csv, results/nvidia-h200 if it is left out; LATENCY and BANDWIDTH: of a message between hosts, in
microseconds, and of one GPU's share of the network, in gigabytes a second. These two are assumed (20, 40), not measured.

A level of N points on p GPUs takes as long as a level of N / p points on one GPU, and a constant more where p > 1: halos, sweeps cut into
what needs the neighbours and what does not, waits. What a level takes on one GPU is the difference between the measured times of a cycle
from it and of one from the next coarser grid. The constant is made from the time on two GPUs of a grid of fixed size, one in 2D and one in
3D. All other times are predictions. A level with fewer points a GPU than LEAST lies on fewer GPUs, as PCHJMGSetRankPoints() says.

On several hosts each such level also has MESSAGES messages one after another between hosts, each with the halo of one sweep.

Prints tables in Markdown.
"""
import csv
import math
import os
import sys

LEAST = {2: 150000, 3: 65536}
MESSAGES = 4
HALO_LINES = {2: 8, 3: 4}
COARSEST = 3
MANY = (8, 16, 64, 1024)
GPUS_A_HOST = 8


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Model:
    """Times of one cycle, in seconds."""

    def __init__(self, folder, dim):
        self.dim = dim
        self.one = sorted((int(row["n"]), float(row["median_s"]) / int(row["iterations"])) for row in read(os.path.join(folder, "mg.csv"))
                          if row["case"] == f"constant{dim}d" and row["what"] == "constant, the solver")
        self.constant = 0
        self.measured = [row for row in read(os.path.join(folder, "mpi.csv"))
                         if row["what"].startswith("hjmg as the solver") and row["case"] in (f"hjmg{dim}d", f"hjmgstrong{dim}d")]
        fitted = next(row for row in self.measured if row["case"].startswith("hjmgstrong") and row["ranks"] == "2")
        grids = self.levels(self.points(fitted), 2)
        self.constant = (self.time_of(fitted) - self.cycle(self.points(fitted), 2)) / sum(p > 1 for _, p in grids)

    @staticmethod
    def points(row):
        return int(row["nx"]) * int(row["ny"]) * int(row["nz"])

    @staticmethod
    def time_of(row):
        return float(row["median_s"]) / float(row["rate"])

    def on_one(self, points):
        """A cycle from a grid of so many points on one GPU: between two sizes that were measured straight in the logarithms."""
        n = points ** (1 / self.dim)
        if n <= self.one[0][0]:
            levels = math.log2(self.one[0][0] / COARSEST)
            return self.one[0][1] * max(math.log2(max(n, COARSEST) / COARSEST), 0) / levels
        i = next((i for i in range(1, len(self.one) - 1) if n <= self.one[i][0]), len(self.one) - 1)
        (n0, t0), (n1, t1) = self.one[i - 1], self.one[i]
        return t0 * (t1 / t0) ** (math.log(n / n0) / math.log(n1 / n0))

    def levels(self, points, gpus):
        """(points, GPUs) of each level, finest first."""
        grids = []
        while points >= COARSEST ** self.dim:
            grids.append((points, max(1, min(gpus, int(points // LEAST[self.dim])))))
            points /= 2 ** self.dim
        return grids

    def cycle(self, points, gpus, message=None):
        """A cycle; message: the time of a message between hosts that carries so many bytes, or None on one host."""
        total = 0
        for level, p in self.levels(points, gpus):
            total += self.on_one(level / p) - self.on_one(level / p / 2 ** self.dim)
            if p > 1:
                total += self.constant
            if p > GPUS_A_HOST and message:
                face = (level / p) ** ((self.dim - 1) / self.dim)
                total += MESSAGES * message(8 * HALO_LINES[self.dim] * face)
        return total


def beside_measured(models):
    print("| case | grid | GPUs | model | measured | model / measured |\n| --- | --- | --- | --- | --- | --- |")
    for model in models:
        for row in model.measured:
            gpus = int(row["ranks"])
            modelled, measured = model.cycle(model.points(row), gpus), model.time_of(row)
            made = " (made from it)" if gpus == 2 and "strong" in row["case"] else ""
            grid = " x ".join(row[n] for n in ("nx", "ny", "nz") if row[n] != "1")
            print(f"| {'fixed size' if 'strong' in row['case'] else 'fixed points a GPU'} | {grid} | {gpus} | {1e3 * modelled:.3f} ms{made} "
                  f"| {1e3 * measured:.3f} ms | {modelled / measured:.2f} |")


def of_many(models, latency, bandwidth):
    def message(size):
        return latency + size / bandwidth

    print("\n| fixed points a GPU | GPUs | a cycle | of that, one GPU's work | levels on several GPUs | efficiency |\n| --- | --- | --- | --- | --- | --- |")
    for model, (n, alone) in ((model, size) for model in models for size in model.one[-2:]):
        points = n ** model.dim
        for gpus in MANY:
            modelled = model.cycle(points * gpus, gpus, message)
            several = sum(p > 1 for _, p in model.levels(points * gpus, gpus))
            print(f"| {n}^{model.dim} | {gpus} | {1e3 * modelled:.2f} ms | {1e3 * alone:.2f} ms | {several} | {alone / modelled:.0%} |")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "nvidia-h200")
    latency, bandwidth = (float(a) for a in sys.argv[2:4]) if len(sys.argv) > 3 else (20, 40)
    models = [Model(folder, dim) for dim in (2, 3)]
    for model in models:
        print(f"{model.dim}D: a level on several GPUs costs {1e6 * model.constant:.0f} microseconds more.", end=" ")
    print("\n")
    beside_measured(models)
    of_many(models, latency * 1e-6, bandwidth * 1e9)


main()
