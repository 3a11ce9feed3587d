#!/usr/bin/env python3
"""Power and false positives of the gate's rule for times, with both tests, in simulated jobs.

  gate_simulation.py [JOBS]                 made-up noise: spread, drift, outliers
  gate_simulation.py record FILE N          N pairs of replays of a cell by one binary, for 6 cells
  gate_simulation.py replay FILE [JOBS]     noise drawn from recorded pairs

The two procedures, both with Holm's correction over the tests of a job, a smallest effect of 5% and
a 95% interval that excludes no change:

  unpaired   Mann-Whitney on 20 pairs; where a slowdown of 10% cannot be excluded, 20 fresh pairs
             decide alone. Each decision has all of alpha.
  paired     Wilcoxon's signed ranks of the log ratios of 20 pairs; where a slowdown of 10% cannot
             be excluded, or p alone is in the way of a regression, 20 more pairs are added and all
             40 decide. Each decision has half of alpha. This is what tapool does.

Needs python3 alone. A job has TESTS tests; the slowdown is in the first of them. Intervals come from
ranks (the binomial distribution), close to the bootstrap of the gate.

  TAPOOL=build/release/tapool scripts/gate_simulation.py record pairs.csv 400
"""
import collections
import csv
import functools
import json
import math
import os
import random
import subprocess
import sys

PAIRS, TESTS, ALPHA, EFFECT = 20, 18, 0.01, 0.05
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
CELLS = [(trace, strategy) for trace in ("sqlite", "jq", "python-threads")
         for strategy in ("arena", "lru")]

# ---- the two tests, as tails of whole numbers ----


def tails(ways):
    left = total = sum(ways)
    out = []
    for count in ways:
        out.append(left / total)
        left -= count
    return out


@functools.lru_cache(None)
def rank_sum_tail(n):
    """P(U >= u) of Mann-Whitney with n values a side: a Gaussian binomial, factor by factor."""
    ways = [1] + [0] * (n * n)
    for i in range(1, n + 1):
        for u in range(n * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, n * n + 1):
            ways[u] += ways[u - i]
    return tails(ways)


@functools.lru_cache(None)
def signed_rank_tail(n):
    """P(W >= w) of the signed ranks of n values."""
    ways = [1]
    for rank in range(1, n + 1):
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways)]
    return tails(ways)


def unpaired_p(pairs):
    base, now = sorted(b for b, _ in pairs), sorted(n for _, n in pairs)
    u = below = 0
    for value in now:
        while below < len(base) and base[below] < value:
            below += 1
        u += below
    return rank_sum_tail(len(pairs))[u]


def paired_p(pairs):
    ratios = sorted((n - b for b, n in pairs), key=abs)
    w = sum(rank for rank, ratio in enumerate(ratios, 1) if ratio > 0)
    return signed_rank_tail(len(pairs))[w]


@functools.lru_cache(None)
def interval_rank(n):
    """How many values lie below the lower end of the 95% interval of the median."""
    k, tail = 0, 0.5 ** n
    while tail + math.comb(n, k + 1) * 0.5 ** n <= 0.025:
        k += 1
        tail += math.comb(n, k) * 0.5 ** n
    return k


# ---- the rule ----


def holm(p):
    order = sorted(range(len(p)), key=p.__getitem__)
    adjusted, largest = [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (len(p) - place)))
        adjusted[i] = largest
    return adjusted


def verdicts(samples, p, alpha, strict):
    """For each test: "slower", "open" or "same". `strict`: what is slower but for its p is open."""
    out = []
    for pairs, adjusted in zip(samples, holm(p)):
        ratios = sorted(n - b for b, n in pairs)
        n, k = len(ratios), interval_rank(len(ratios))
        middle = (ratios[(n - 1) // 2] + ratios[n // 2]) / 2
        large = middle >= math.log1p(EFFECT) and ratios[k] > 0
        open_ = ratios[n - 1 - k] > math.log1p(2 * EFFECT) or (strict and large)
        out.append("slower" if large and adjusted < alpha else "open" if open_ else "same")
    return out


def decide(first, second, test, pooled):
    """The verdicts of a job after both looks."""
    alpha = ALPHA / 2 if pooled else ALPHA
    p = [test(pairs) for pairs in first]
    found = verdicts(first, p, alpha, pooled)
    again = [i for i, verdict in enumerate(found) if verdict == "open"]
    samples = list(first)
    for i in again:
        samples[i] = first[i] + second[i] if pooled else second[i]
        p[i] = test(samples[i])
    last = verdicts(samples, p, alpha, pooled)
    return [last[i] if found[i] == "open" else found[i] for i in range(len(found))]


PROCEDURES = {"unpaired": (unpaired_p, False), "paired": (paired_p, True)}

# ---- noise ----

NOISES = {  # spread of a value, drift common to a pair, share of values up to three times as long
    "spread 2%": (0.02, 0, 0),
    "spread 2%, drift 10%": (0.02, 0.1, 0),
    "spread 2%, outliers 5%": (0.02, 0, 0.05),
    "spread 2%, drift 10%, outliers 5%": (0.02, 0.1, 0.05),
    "spread 5%, drift 5%, outliers 10%": (0.05, 0.05, 0.1),
    "spread 10%, outliers 10%": (0.1, 0, 0.1),
}


def made_up(rng, spread, drift, tail):
    def value(common):
        log = common + rng.gauss(0, spread)
        return log + math.log(1 + 2 * rng.random()) if rng.random() < tail else log

    def sample(slower):
        pairs = []
        for _ in range(2 * PAIRS):
            common = rng.gauss(0, drift)
            pairs.append((value(common), value(common) + math.log1p(slower)))
        return pairs
    return sample


def recorded(rng, series):
    """Runs of consecutive pairs of a random cell, each pair turned at random: one binary replayed
    both sides."""
    def sample(slower):
        cell = rng.choice(series)
        start = rng.randrange(len(cell) - 2 * PAIRS + 1)
        return [(pair[turned], pair[1 - turned] + math.log1p(slower))
                for pair in cell[start:start + 2 * PAIRS] for turned in (rng.randrange(2),)]
    return sample


def replay(sample, jobs, slower):
    """How many jobs find the slowdown of their first test, and how many raise a false alarm."""
    found, alarms = collections.Counter(), collections.Counter()
    for _ in range(jobs):
        pairs = [sample(0 if i else slower) for i in range(TESTS)]
        first, second = [p[:PAIRS] for p in pairs], [p[PAIRS:] for p in pairs]
        for name, (test, pooled) in PROCEDURES.items():
            last = decide(first, second, test, pooled)
            found[name] += last[0] == "slower"
            alarms[name] += "slower" in last[1 if slower else 0:]
    return found, alarms


def report(noises, jobs):
    print("%d jobs of %d tests for each figure" % (jobs, TESTS))
    print("%-36s%-26s%-26s" % ("", "found, of a slowdown", "jobs with a false alarm"))
    print("%-36s%-6s%10s%10s%16s%10s" % (("noise", "") + 2 * tuple(PROCEDURES)))
    for name, sample in noises:
        for slower in (0.08, 0.1):
            found, alarms = replay(sample, jobs, slower)
            print("%-36s%+4.0f%%%10s%10s%16d%10d" % (
                (name, 100 * slower) + tuple("%.0f%%" % (100 * found[p] / jobs) for p in PROCEDURES) +
                tuple(alarms[p] for p in PROCEDURES)), flush=True)
        _, alarms = replay(sample, 2 * jobs, 0)
        print("%-36s%-5s%10s%10s%16d%10d" % ((name, "none", "-", "-") +
                                             tuple(alarms[p] for p in PROCEDURES)) +
              "  of %d" % (2 * jobs), flush=True)


# ---- recorded pairs ----


def time_of(tapool, trace, strategy):
    done = subprocess.run(
        [tapool, "replay", os.path.join(ROOT, "traces/samples", trace + ".json"), "-s", strategy,
         "--json", "--passes", "throughput", "--min-time", "5ms"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["runs"][0]["throughput"]["ns_per_op"]


def record(path, count):
    tapool = os.environ.get("TAPOOL", os.path.join(ROOT, "build/release/tapool"))
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})  # as the gate does
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for _ in range(count):
            for trace, strategy in CELLS:
                writer.writerow([trace, strategy] + [time_of(tapool, trace, strategy)
                                                     for _ in range(2)])
            file.flush()


def read(path):
    series = collections.defaultdict(list)
    with open(path, encoding="utf-8", newline="") as file:
        for trace, strategy, one, other in csv.reader(file):
            if float(one or 0) > 0 and float(other or 0) > 0:
                series[trace, strategy].append((math.log(float(one)), math.log(float(other))))
    return list(series.values())


def main():
    words = sys.argv[1:]
    rng = random.Random(1)
    if words[:1] == ["record"] and len(words) == 3:
        record(words[1], int(words[2]))
    elif words[:1] == ["replay"] and len(words) in (2, 3):
        series = read(words[1])
        print("%d cells, %d recorded pairs" % (len(series), sum(map(len, series))))
        report([("recorded", recorded(rng, series))], int((words + ["1000"])[2]))
    elif len(words) < 2 and "".join(words).isdigit() | (not words):
        report([(name, made_up(rng, *noise)) for name, noise in NOISES.items()],
               int((words + ["1000"])[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
