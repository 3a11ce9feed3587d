#!/usr/bin/env python3
"""usage: scripts/statistics_golden.py [--check]

Writes tests/data/statistics/golden.txt: what SciPy, NumPy and statsmodels say that the functions of
alloc/engine/statistics.h should give. It needs python3-scipy and python3-statsmodels; building and testing
tapool need neither. --check writes nothing and compares the file with what comes out now.

Inputs are made here from fixed seeds and rounded, so that the file has all of them. A line is

    NAME  given and expected numbers  : values [: values]

`sensitivity` has no counterpart elsewhere: `simulate` below works it out the long way, by a search
over slowdowns with a bootstrap of every simulated run.
"""
import functools
import math
import os
import random
import sys

import numpy
import scipy.stats
import statsmodels.stats.multitest

PATH = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "statistics", "golden.txt")
HEAD = ("# written by scripts/statistics_golden.py with SciPy, NumPy and statsmodels; see there\n")
# What depends on random draws may differ so much between versions of NumPy.
LOOSE = {"bootstrap": 0.02, "sensitivity": 0.05}


def text(values):
    return " ".join(repr(float(v)) for v in values)


def line(name, numbers, *lists):
    return " : ".join([f"{name} {text(numbers)}".strip()] + [text(values) for values in lists])


# ---- inputs ----

def times(seed, count, spread, tail=0.0, digits=6):
    """Log-normal around 20, as ns per call are; `tail` of them up to three times as long."""
    rng = random.Random(seed)
    values = []
    for _ in range(count):
        value = 20 * math.exp(rng.gauss(0, spread))
        if rng.random() < tail:
            value *= 1 + 2 * rng.random()
        values.append(round(value, digits))
    return values


SAMPLES = ([times(seed, count, 0.1, 0.1) for seed, count in enumerate((1, 2, 3, 4, 7, 20, 41))] +
           [[5.0] * 6, [3.0, 1.0, 2.0, 2.0, 1.0], [-1.5, 1e300, 0.0, -2e-300, 7.0]])
SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 20), (20, 1), (5, 8), (8, 5), (10, 10),
         (19, 20), (20, 20)]
LARGER = [(21, 20), (20, 21), (30, 30), (3, 40), (60, 45)]


# ---- what is expected ----

def plain_lines():
    for values in SAMPLES:
        yield line("median", [numpy.median(values)], values)
        for fraction in (0, 0.025, 0.25, 0.5, 1 / 3, 0.9, 0.975, 1):
            yield line("quantile", [fraction, numpy.quantile(values, fraction)], sorted(values))
        if min(values) > 0:
            yield line("geometric_mean", [scipy.stats.gmean(values)], values)


def rank_line(a, b, method):
    found = scipy.stats.mannwhitneyu(a, b, alternative="greater", method=method)
    return line("mann_whitney", [found.statistic, found.pvalue, method == "exact"], a, b)


def rank_lines():
    for seed, (a_count, b_count) in enumerate(SIZES):
        for shift in (0.9, 1, 1.05, 1.5):
            a = [round(v * shift, 6) for v in times(100 + seed, a_count, 0.1)]
            yield rank_line(a, times(200 + seed, b_count, 0.1), "exact")
    for seed, (a_count, b_count) in enumerate(LARGER):
        for shift in (0.9, 1, 1.05, 1.5):
            a = [round(v * shift, 6) for v in times(300 + seed, a_count, 0.1)]
            yield rank_line(a, times(400 + seed, b_count, 0.1), "asymptotic")
    for seed, (a_count, b_count) in enumerate(SIZES[2:] + LARGER):  # with ties
        a, b = times(500 + seed, a_count, 0.1, 0, 0), times(600 + seed, b_count, 0.1, 0, 0)
        yield rank_line([b[0]] + a[1:], b, "asymptotic")
    for a_count, b_count in SIZES:
        a = [100.0 + i for i in range(a_count)]
        b = [float(i) for i in range(b_count)]
        yield line("least", [a_count, b_count, scipy.stats.mannwhitneyu(
            a, b, alternative="greater", method="exact").pvalue])


def holm_lines():
    cases = [[0.2], [0.01, 0.04], [0.04, 0.01], [0.01, 0.01, 0.01], [0.0, 1.0, 0.5], [1e-300, 3e-20],
             [0.001, 0.011, 0.02, 0.02, 0.4, 0.9, 1.0]]
    rng = random.Random(7)
    cases.append([round(rng.random() ** 4, 9) for _ in range(30)])
    for p in cases:
        yield line("holm", [], p, statsmodels.stats.multitest.multipletests(p, method="holm")[1])


def bootstrap_lines():
    for seed, (count, spread, tail) in enumerate([(5, 0.1, 0), (10, 0.1, 0), (20, 0.02, 0.1),
                                                  (20, 0.3, 0.2), (21, 0.1, 0), (60, 0.1, 0.1)]):
        values = times(700 + seed, count, spread, tail)
        for confidence in (0.8, 0.95):
            found = scipy.stats.bootstrap(
                (values,), numpy.median, confidence_level=confidence, n_resamples=100000,
                method="percentile", batch=10000, random_state=seed).confidence_interval
            yield line("bootstrap", [confidence, found.low, found.high], values)


# ---- sensitivity, the long way ----

@functools.cache
def exact_tail(n):
    """P(U >= u) for u = 0 to n*n: subsets of the ranks by their sum."""
    ways = [[0] * (n * (2 * n + 1) + 1) for _ in range(n + 1)]
    ways[0][0] = 1
    for rank in range(1, 2 * n + 1):
        for chosen in range(min(rank, n), 0, -1):
            for total in range(rank, len(ways[0])):
                ways[chosen][total] += ways[chosen - 1][total - rank]
    least = n * (n + 1) // 2
    counts = ways[n][least:least + n * n + 1]
    return [sum(counts[u:]) / sum(counts) for u in range(n * n + 1)]


def p_of_u(u, n):
    if n <= 20:
        return exact_tail(n)[math.ceil(u)]
    sigma = math.sqrt(n * n * (2 * n + 1) / 12)
    return scipy.stats.norm.sf((u - n * n / 2 - 0.5) / sigma)


def simulate(base, changed, power, alpha, effect, tests, runs=4000, resamples=2000):
    rng = numpy.random.default_rng(1)
    base, changed = numpy.log(base), numpy.log(changed)
    n = len(base)
    changed = changed - numpy.median(changed - base)
    enough = next((u for u in range(n * n + 1) if p_of_u(u, n) < alpha / tests), None)
    if enough is None:
        return math.nan
    drawn = []
    for _ in range(runs):
        pairs = rng.integers(0, n, n)
        turned = rng.random(n) < 0.5  # without a regression either side could be the other
        a = numpy.where(turned, base[pairs], changed[pairs])
        b = numpy.where(turned, changed[pairs], base[pairs])
        medians = numpy.median((a - b)[rng.integers(0, n, (resamples, n))], axis=1)
        drawn.append((a[:, None] - b[None, :], numpy.median(a - b), numpy.quantile(medians, 0.025)))

    def found(shift):
        hits = 0
        for differences, middle, low in drawn:
            u = ((differences + shift > 0).sum() + (differences + shift == 0).sum() / 2)
            hits += u >= enough and middle + shift >= math.log1p(effect) and low + shift > 0
        return hits / runs

    low, high = 0, math.log(10)
    if found(high) < power:
        return math.nan
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return math.expm1(high)


def sensitivity_lines():
    cases = [(20, 0.02, 0, 18), (20, 0.02, 0.1, 18), (20, 0.1, 0, 18), (20, 0.1, 0.2, 1),
             (10, 0.05, 0, 6), (12, 0.2, 0, 30), (40, 0.1, 0, 18), (4, 0.02, 0, 18)]
    for seed, (count, spread, tail, tests) in enumerate(cases):
        base, changed = times(800 + seed, count, spread, tail), times(900 + seed, count, spread, tail)
        for drift in (0, 0.2):  # what both sides of a pair have in common
            rng = random.Random(seed)
            common = [math.exp(rng.gauss(0, drift)) for _ in base]
            b = [round(v * c, 6) for v, c in zip(base, common)]
            c = [round(v * c, 6) for v, c in zip(changed, common)]
            given = [0.9, 0.01, 0.05, tests]
            yield line("sensitivity", given + [simulate(b, c, *given)], b, c)


def lines():
    for part in (plain_lines, rank_lines, holm_lines, bootstrap_lines, sensitivity_lines):
        yield from part()


# ---- the file ----

def same(old, new):
    if old == new:
        return True
    name, old, new = old.split(" ", 1)[0], old.split(), new.split()
    loose = LOOSE.get(name, 1e-12)
    return len(old) == len(new) and all(
        a == b or math.isclose(float(a), float(b), rel_tol=loose)
        for a, b in zip(old[1:], new[1:]))


def check(new):
    with open(PATH, encoding="ascii") as file:
        old = [row for row in file.read().splitlines() if not row.startswith("#")]
    wrong = [b for a, b in zip(old, new) if not same(a, b)]
    for row in wrong:
        print(f"differs now: {row}")
    if len(old) != len(new):
        print(f"{len(old)} lines in the file, {len(new)} now")
    return 1 if wrong or len(old) != len(new) else 0


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    new = list(lines())
    if sys.argv[1:]:
        sys.exit(check(new))
    with open(PATH, "w", encoding="ascii") as file:
        file.write(HEAD + "".join(row + "\n" for row in new))


if __name__ == "__main__":
    main()
