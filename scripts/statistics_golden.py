#!/usr/bin/env python3
"""usage: scripts/statistics_golden.py [--check]

Writes tests/data/statistics/golden.txt: what SciPy, NumPy and statsmodels say that the functions of
alloc/numbers/statistics.h should give. It needs python3-scipy and python3-statsmodels; building and testing
tapool need neither. --check writes nothing and compares the file with what comes out now.

Inputs are made here from fixed seeds and rounded, so that the file has all of them. A line is

    NAME  given and expected numbers  : values [: values]

`sensitivity` has no counterpart elsewhere: `simulate` below works it out the long way, by a search
over slowdowns with a bootstrap of every simulated run.
"""
import functools
import itertools
import math
import os
import random
import sys

import numpy
import scipy.stats
import statsmodels.stats.multitest

PATH = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "statistics", "golden.txt")
HEAD = ("# written by scripts/statistics_golden.py with SciPy, NumPy and statsmodels; see there\n")
EXACT_MAX = 100  # as TP_STAT_EXACT_MAX
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
# ---- what is expected ----

def plain_lines():
    for values in SAMPLES:
        yield line("median", [numpy.median(values)], values)
        for fraction in (0, 0.025, 0.25, 0.5, 1 / 3, 0.9, 0.975, 1):
            yield line("quantile", [fraction, numpy.quantile(values, fraction)], sorted(values))
        if min(values) > 0:
            yield line("geometric_mean", [scipy.stats.gmean(values)], values)


def all_signs(values):
    """The signed-rank test by its definition: every way to give the values signs, one by one. A 0
    is ranked, but has no sign."""
    ranks = scipy.stats.rankdata([abs(v) for v in values])
    signed = [r for r, v in zip(ranks, values) if v]
    w = sum(r for r, v in zip(ranks, values) if v > 0)
    ways = itertools.product((0, 1), repeat=len(signed))
    so_large = sum(sum(itertools.compress(signed, way)) >= w for way in ways)
    return w, so_large / 2 ** len(signed)


def signed_rank_line(values):
    if len(values) <= 14:
        w, p = all_signs(values)
    else:
        method = "exact" if len(values) <= EXACT_MAX else "approx"
        found = scipy.stats.wilcoxon(values, alternative="greater", zero_method="pratt", mode=method,
                                     correction=method == "approx")
        w, p = found.statistic, found.pvalue
    return line("signed_rank", [w, p, len(values) <= EXACT_MAX], values)


def changes(seed, count, shift, step):
    """Differences of logarithms around `shift`; a coarse step makes ties and zeros."""
    rng = random.Random(seed)
    return [round(rng.gauss(shift, 0.1) / step) * step for _ in range(count)]


def rank_lines():
    for seed, count in enumerate((1, 2, 3, 5, 8, 11, 14)):
        for shift in (-0.1, 0, 0.05, 0.2):
            for step in (2 ** -40, 1 / 32, 1 / 8):
                yield signed_rank_line(changes(100 + seed, count, shift, step))
    for seed, count in enumerate((15, 20, 40, 50, 101, 120)):  # SciPy's exact test wants no ties
        for shift in (-0.1, 0, 0.02, 0.05):
            yield signed_rank_line(changes(200 + seed, count, shift, 2 ** -40))
    for count in (101, 120):
        yield signed_rank_line(changes(300, count, 0.02, 1 / 32))
    for count in (1, 5, 10, 14, 20, 40, 100, 150):
        for alpha in (0.5, 0.01, 0.01 / 42, 1e-9):
            yield line("bar", [count, alpha, least_w(count, alpha)])


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
def tail(n):
    """P(W >= w) for w = 0 to n (n + 1) / 2: subsets of the ranks by their sum, in whole numbers."""
    ways = [1]
    for rank in range(1, n + 1):
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways)]
    left = 2 ** n
    tails = []
    for count in ways:
        tails.append(left / 2 ** n)
        left -= count
    return tails


def p_of_w(w, n):
    if n <= EXACT_MAX:
        return tail(n)[w]
    sigma = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return scipy.stats.norm.sf((w - n * (n + 1) / 4 - 0.5) / sigma)


def least_w(n, alpha):
    return next((w for w in range(n * (n + 1) // 2 + 1) if p_of_w(w, n) < alpha), math.inf)


def simulate(base, changed, power, alpha, effect, tests, looks, runs=4000, resamples=2000):
    rng = numpy.random.default_rng(1)
    n = len(base)
    ratios = numpy.log(changed) - numpy.log(base)
    ratios = ratios - numpy.median(ratios)
    enough = least_w(n, alpha / tests / looks)
    if math.isinf(enough):
        return math.nan
    drawn = []
    for _ in range(runs):
        run = ratios[rng.integers(0, n, n)]
        run = numpy.where(rng.random(n) < 0.5, -run, run)  # either side could be the other
        medians = numpy.median(run[rng.integers(0, n, (resamples, n))], axis=1)
        drawn.append((run, numpy.median(run), numpy.quantile(medians, 0.025)))

    def found(shift):
        hits = 0
        for run, middle, low in drawn:
            if middle + shift >= math.log1p(effect) and low + shift > 0:
                ranks = scipy.stats.rankdata(abs(run + shift))
                hits += ranks[run + shift > 0].sum() >= enough
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
             (10, 0.05, 0, 6), (13, 0.2, 0, 30), (40, 0.1, 0, 18), (8, 0.02, 0, 18)]
    for seed, (count, spread, tail, tests) in enumerate(cases):
        base, changed = times(800 + seed, count, spread, tail), times(900 + seed, count, spread, tail)
        for drift in (0, 0.2):  # what both sides of a pair have in common
            rng = random.Random(seed)
            common = [math.exp(rng.gauss(0, drift)) for _ in base]
            b = [round(v * c, 6) for v, c in zip(base, common)]
            c = [round(v * c, 6) for v, c in zip(changed, common)]
            given, looks = [0.9, 0.01, 0.05, tests], 1 + seed % 2
            yield line("sensitivity", given + [simulate(b, c, *given, looks), looks], b, c)


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
