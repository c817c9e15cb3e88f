#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two builds of hjacobi, old and new, measured in turn by the same benchmark: whether one is slower.

Usage: compare.py OLD NEW ROUNDS [-- NAME [options of bench.sh NAME]] ...
Environment: COMMITS=old,new   what the first two columns hold, where the checkouts are copies without git

OLD and NEW are checkouts with a build in build/cuda, or else in build. Each NAME with its options (gpu, mat, mg, mpi, host) is run by OLD's and
NEW's examples/bench/bench.sh in turn, ROUNDS times. Prints a row a case, then the geometric mean of the times' ratios (new over old, of
medians of all rounds), and names the rows that are slower by more than twice their spread. Exit status 1 where there is one, or where the
mean is above 1.02.

A row's spread is the largest of what a benchmark reports for its repetitions and of the medians of the rounds, the longest over the shortest,
less one.
"""
import csv
import glob
import math
import os
import statistics
import subprocess
import sys
import tempfile


def build_of(tree):
    cuda = os.path.join(tree, "build", "cuda")
    if os.path.isdir(os.path.join(cuda, "examples")):
        return cuda, os.path.join(cuda, "libhjacobi.so")
    return os.path.join(tree, "build"), os.path.join(tree, "lib", "libhjacobi.so")


def measure(tree, arguments):
    """The rows of one run: what names a case -> (median in seconds, spread)."""
    build, library = build_of(tree)
    rows = {}
    with tempfile.TemporaryDirectory() as results:
        environment = dict(os.environ, COMMIT="compare", RESULTS=results, BUILD=build, LIB=library)
        script = os.path.join(tree, "examples", "bench", "bench.sh")
        done = subprocess.run(["sh", script, *arguments], env=environment, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"# {tree}: {' '.join(arguments)} ended with status {done.returncode}: {done.stdout[-2000:]}", flush=True)
        for path in glob.glob(os.path.join(results, "*", "*.csv")):
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    names = list(row)
                    measured = names.index("repetitions")
                    if row["commit"] == "compare" and float(row["median_s"]) > 0:
                        key = tuple(row[n] for n in names[1:measured])
                        rows[key] = (float(row["median_s"]), float(row["spread"]))
    return rows


def commits(trees):
    """The short names of both commits."""
    if "COMMITS" in os.environ:
        return os.environ["COMMITS"].split(",")
    return [subprocess.run(["git", "-C", t, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip() for t in trees]


def lists(arguments):
    """The words between one '--' and the next."""
    runs = []
    for word in arguments:
        if word == "--":
            runs.append([])
        else:
            runs[-1].append(word)
    return runs


def main():
    if len(sys.argv) < 6 or sys.argv[4] != "--":
        sys.exit(__doc__)
    trees, rounds = sys.argv[1:3], int(sys.argv[3])
    found = [{}, {}]
    for arguments in lists(sys.argv[4:]):
        for number in range(rounds):
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                for key, value in measure(os.path.abspath(trees[which]), arguments).items():
                    found[which].setdefault((arguments[0],) + key, []).append(value)
    logs, slower = [], []
    names = ",".join(commits(trees))
    print("old,new,device,case,old_s,new_s,ratio,spread")
    for key in found[0]:
        if key not in found[1]:
            print(f"# only old has {', '.join(key)}")
            continue
        medians = [[m for m, _ in found[which][key]] for which in (0, 1)]
        spread = max([s for which in (0, 1) for _, s in found[which][key]] + [max(m) / min(m) - 1 for m in medians])
        old, new = (statistics.median(m) for m in medians)
        logs.append(math.log(new / old))
        print(f"{names},\"{key[1]}\",\"{' | '.join(key[:1] + key[3:])}\",{old:.6g},{new:.6g},{new / old:.4f},{spread:.4f}")
        if new / old > 1 + 2 * spread:
            slower.append(f"{' | '.join(key)}: {new / old:.3f}, spread {spread:.3f}")
    for key in found[1]:
        if key not in found[0]:
            print(f"# only new has {', '.join(key)}")
    if not logs:
        sys.exit("nothing was measured by both")
    mean = math.exp(sum(logs) / len(logs))
    print(f"# geometric mean of {len(logs)} ratios: {mean:.4f}")
    for row in slower:
        print(f"# slower by more than twice its spread: {row}")
    sys.exit(1 if slower or mean > 1.02 else 0)


main()
