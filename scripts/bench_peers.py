"""What scripts/bench.py measures of malloc libraries, as people use them: preloaded.

  speed    `arena` beside `system` and each library of this machine: ns per call, net
  memory   peak resident; and the address space that `arena` holds then
  threads  two threads: each with objects of its own; one allocates and the other frees
  hand     `system` and each library, beside a loop over the same calls written by hand
  same     a library compared with itself: COMPARISONS times, and no difference may be shown

Speed and memory are those of the samples in SAMPLES, sample:web and every .tpt in the folder $TAPOOL_TRACES.
All rows of a trace take turns, ROUNDS times, and a time is the least of its rounds: what other
processes do makes a time longer, never shorter.
"""
import glob
import json
import os
import subprocess

from bench_common import (ROUNDS, SAMPLES, gen, geometric_mean, libraries, output_of, print_goal,
                          replay, rounds_of, value_of)

COMPARISONS = int(os.environ.get("COMPARISONS", "20"))
RESERVED_GOALS = {"sample:sqlite": 1.6, "sample:jq": 1.4, "sample:python-threads": 1.4,
                  "sample:web": 1.2}
SCALES = 1.5  # a library that two threads make so much faster is meant to scale


def traces():
    folder = os.environ.get("TAPOOL_TRACES")
    return (["sample:" + sample for sample in SAMPLES] + ["sample:web"] +
            (sorted(glob.glob(os.path.join(folder, "*.tpt"))) if folder else []))


def peers(tapool):
    return ["system", *libraries(tapool)]


def print_row(name, cells):
    print("  %-22s" % name + "".join("%15s" % cell for cell in cells), flush=True)


def least(runs, *path):
    values = [value_of(run, *path) for run in runs]
    return min(value for value in values if value is not None)


def in_turn(tapool, trace, strategies, *options, rounds=ROUNDS):
    return rounds_of(tapool, {s: (trace, s, options) for s in strategies}, rounds)


def print_speed(tapool, _folder):
    others = peers(tapool)
    print("ns per call, net, the least of %d rounds; the last column: arena over the best peer"
          % ROUNDS)
    print_row("", ["arena", *others, "ratio"])
    ratios = []
    for trace in traces():
        runs = in_turn(tapool, trace, ["arena", *others], "--passes", "throughput")
        ns = {name: least(of_name, "throughput", "ns_per_op") for name, of_name in runs.items()}
        ratios.append(ns["arena"] / min(ns[name] for name in others))
        print_row(os.path.basename(trace), ["%.2f" % value for value in ns.values()] +
                  ["%.2f" % ratios[-1]])
    print_goal("arena over the best peer, geometric mean", geometric_mean(ratios), 0.95, "x")
    print_goal("arena over the best peer, the worst trace", max(ratios), 1.2, "x")


def print_memory(tapool, _folder):
    others = peers(tapool)
    print("peak resident, KiB; arena over the leanest of all, over the leanest library")
    print_row("", ["arena", *others, "of all", "of others"])
    of_all, of_others, reserved = [], [], {}
    for trace in traces():
        runs = in_turn(tapool, trace, ["arena", *others], "--passes", "usage,resident", rounds=1)
        held = {name: least(of_name, "resident", "peak_bytes") for name, of_name in runs.items()}
        at = runs["arena"][0]["memory"]["at_trace_peak"]
        reserved[trace] = at["reserved_bytes"] / at["requested_bytes"]
        of_all.append(held["arena"] / min(held[name] for name in others))
        of_others.append(held["arena"] / min(held[name] for name in others[1:] or others))
        print_row(os.path.basename(trace), ["%d" % (value // 1024) for value in held.values()] +
                  ["%.2f" % of_all[-1], "%.2f" % of_others[-1]])
    print_goal("arena over the leanest of all, geometric mean", geometric_mean(of_all), 1.10, "x")
    print_goal("arena over the leanest library, geometric mean", geometric_mean(of_others), 0.95,
               "x")
    for trace, ratio in reserved.items():
        print_goal("arena, reserved / requested, " + os.path.basename(trace), ratio,
                   RESERVED_GOALS.get(trace), "x")


# ---- threads ----

def replayed_by_two(tapool, trace, strategies):
    """strategy -> least ns of a call; of the clock, by one thread and by two; empty."""
    runs = in_turn(tapool, trace, strategies, "--threads", "2", "--passes", "throughput")
    rows = {}
    for name, of_name in runs.items():
        walls = [(run["throughput"]["speedup"], 1e9 / run["throughput"]["calls_per_second"])
                 for run in of_name]
        rows[name] = (least(of_name, "throughput", "ns_per_op"),
                      min(speedup * wall for speedup, wall in walls),
                      min(wall for _, wall in walls),
                      least(of_name, "throughput", "replay_overhead_ns_per_op"))
    return rows


def print_own(tapool, trace, strategies):
    """Returns what an event takes by the empty strategy."""
    print("two threads, each with objects of its own, of 16 to 4,096 bytes: the least of %d rounds"
          % ROUNDS)
    rows = replayed_by_two(tapool, trace, strategies)
    for name, (ns, alone, wall, _) in rows.items():
        speedup = alone / wall
        scales = name == "arena" or (name != "system" and speedup >= SCALES)
        print_goal("%s, times as fast as by one thread" % name, speedup, 1.8 if scales else None,
                   "x", "%.2f ns per call, net" % ns, most=False)
    return min(row[3] for row in rows.values())


def print_queue(tapool, trace, strategies):
    print("one thread allocates, the other frees: ns of both calls for an object, net")
    rows = replayed_by_two(tapool, trace, strategies)
    best = [min(row[i] for name, row in rows.items() if name != "arena") for i in (0, 2)]
    for name, (ns, _, wall, _) in rows.items():
        print_goal("%s, ns an object" % name, 2 * ns, None, "ns",
                   "%.1f by the clock, with waiting and tapool's share" % (2 * wall))
    print_goal("arena over the best peer, ns an object", rows["arena"][0] / best[0], 1.2, "x")
    print_goal("arena over the best peer, by the clock", rows["arena"][2] / best[1], 1.2, "x")
    return min(row[3] for row in rows.values())


def print_threads(tapool, folder):
    strategies = ["arena", *peers(tapool)]
    own = gen(tapool, folder, "own", "random-replace", "--threads", 2)
    queue = gen(tapool, folder, "queue", "producer-consumer")
    for label, share in (("own objects", print_own(tapool, own, strategies)),
                         ("queue", print_queue(tapool, queue, strategies))):
        print_goal("empty strategy, two threads, %s, an event" % label, share, 5)


# ---- beside a loop by hand ----

def by_hand(libc_loop, calls, library):
    """The steady ns per call of the loop, with the file of `library` preloaded, "" for none."""
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if library:
        env["LD_PRELOAD"] = library
        if os.environ.get("TAPOOL_LIBRARY_PATH"):
            env["LD_LIBRARY_PATH"] = os.environ["TAPOOL_LIBRARY_PATH"]
    return float(output_of(libc_loop, calls, env=env))


def print_by_hand(tapool, libc_loop, folder):
    print("how far tapool is from a loop over the same calls written by hand: the least of %d "
          "rounds" % ROUNDS)
    calls = os.path.join(folder, "calls")
    for sample in SAMPLES:
        with open(calls, "wb") as file:
            trace = os.path.join("traces", "samples", sample + ".json")
            subprocess.run([libc_loop, "extract", trace], check=True, stdout=file)
        for name in peers(tapool):
            mine, hand = [], []
            for _ in range(ROUNDS):
                mine.append(replay(tapool, "sample:" + sample, name, "--passes", "throughput"))
                replayed = mine[-1]["strategy"].get("library", "") if name != "system" else ""
                hand.append(by_hand(libc_loop, calls, replayed.split(" ")[0]))
            a, b = least(mine, "throughput", "ns_per_op"), min(hand)
            print_goal("%s, %s" % (sample, name), abs(a / b - 1) * 100, 5, "%",
                       "%.2f ns, by hand %.2f" % (a, b))


# ---- the same beside itself ----

def shown(compared):
    """metric -> change, of those that a comparison says differ."""
    metrics = compared["tables"][0]["rows"][1]["metrics"]
    return {name: m["change"] for name, m in metrics.items()
            if m["mark"] == "shown" or (m["mark"] == "exact" and m["change"])}


def print_same(tapool, _folder):
    words = libraries(tapool)
    cells = [("sample:" + sample, word) for word in words for sample in SAMPLES]
    false = 0
    print("a library compared with itself, %d times in all, each sample and library in turn" %
          COMPARISONS)
    for i in range(COMPARISONS if cells else 0):
        trace, word = cells[i % len(cells)]
        differ = shown(json.loads(output_of(tapool, "compare", trace, "-s", "a=" + word, "-s",
                                            "b=" + word, "--seed", i + 1, "--json")))
        false += len(differ)
        for name, change in differ.items():
            print("  %s, %s, --seed %d: %s differs by %+.1f%%" % (trace, word, i + 1, name,
                                                                 100 * change), flush=True)
    print_goal("false differences in %d comparisons" % (COMPARISONS if cells else 0), false, 0, "")
