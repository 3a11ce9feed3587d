#!/usr/bin/env python3
"""A sweep on a thousand shards, calculated from costs that are measured on this machine.

    fleet.py --tapool build/release/tapool [--shards 1000] [--rounds 5]

Measured, with tapool itself on tiny traces, as processor time, the least of some rounds:

    start   a shard that has nothing left to compute: process, plan, list of traces and cells, store
    merge   stores joined into a new one, for each store and for each cell

Each is a constant and slopes, from sweeps that differ in one number. On N shards of one processor a sweep
of C cells of T traces, which take S seconds each, is calculated to take

    start + T start_trace + C start_cell + C S / N + N merge_store + C merge_cell

of which only C S / N becomes less with more shards. It is least where N = sqrt(C S / merge_store).

Known weakness: a scheduler and a shared file system add to each term and are not in it. The store of a
shard is written in some transactions, which wait for the disk.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile

TRACE = '{"format": "tapool-trace", "version": 1}\n{"op": "alloc", "id": 1, "size": %d}\n{"op": "free", "id": 1}\n'
# traces, settings, seconds of a cell
SWEEPS = [(200, 24, 1), (200, 24, 60), (1_000, 100, 1), (10_000, 100, 0.02), (10_000, 100, 1), (10_000, 100, 60)]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Fleet:
    def __init__(self, tapool, rounds, work):
        self.tapool, self.rounds, self.work, self.made = os.path.abspath(tapool), rounds, work, 0

    def plan(self, traces, settings):
        """A new folder with a plan; its path without .ini."""
        self.made += 1
        folder = os.path.join(self.work, str(self.made))
        os.makedirs(os.path.join(folder, "traces"))
        for i in range(1, traces + 1):
            with open(os.path.join(folder, "traces", f"{i}.jsonl"), "w", encoding="utf-8") as f:
                f.write(TRACE % (64 * i))
        rows = "".join(f"strategy = arena:arena_size={i}MiB\n" for i in range(1, settings + 1))
        with open(os.path.join(folder, "plan.ini"), "w", encoding="utf-8") as f:
            f.write(f"[sweep]\ntrace = traces/*.jsonl\npasses = usage\n{rows}")
        return os.path.join(folder, "plan")

    def sweep(self, plan, *words):
        """Processor seconds of one call."""
        before = processor_seconds()
        done = subprocess.run([self.tapool, "sweep", plan + ".ini", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"tapool sweep {' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        return processor_seconds() - before

    def start(self, traces, settings, shards):
        plan, words = self.plan(traces, settings), ("--shard", f"1/{shards}", "-j", "1")
        self.sweep(plan, *words)
        return min(self.sweep(plan, *words) for _ in range(self.rounds))

    def merge(self, traces, settings, shards):
        """Processor seconds of a merge, and bytes of all stores."""
        plan = self.plan(traces, settings)
        for i in range(1, shards + 1):
            self.sweep(plan, "--shard", f"{i}/{shards}", "-j", "1")
        size = sum(os.path.getsize(f"{plan}.shard-{i}-of-{shards}.sqlite") for i in range(1, shards + 1))
        seconds = []
        for _ in range(self.rounds):
            seconds.append(self.sweep(plan, "--merge"))
            os.remove(plan + ".sqlite")
        return min(seconds), size

    def costs(self, shards):
        base = self.start(10, 1, shards)
        traces = self.start(2_010, 1, shards)
        cells = self.start(200, 101, shards)
        of_trace = max(0.0, traces - base) / 2_000
        two, small = self.merge(10, 10, 2)
        many, _ = self.merge(10, 10, 42)
        large, size = self.merge(200, 50, 2)
        return {
            "start": base,
            "start_trace": of_trace,
            "start_cell": max(0.0, cells - base - 190 * of_trace) / (200 * 101 - 10),
            "merge_store": max(1e-6, many - two) / 40,
            "merge_cell": max(0.0, large - two) / (200 * 50 - 10 * 10),
            "store_cell": (size - small) / (200 * 50 - 10 * 10),
            "store": small / 2,
        }


def duration(seconds):
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def table(costs, shards):
    print("| traces x settings | a cell | start | compute | merge | in all | speedup | best number of shards |")
    print("|---|---|---|---|---|---|---|---|")
    for traces, settings, seconds in SWEEPS:
        cells = traces * settings
        start = costs["start"] + traces * costs["start_trace"] + cells * costs["start_cell"]
        compute = cells * seconds / min(shards, cells)
        merge = shards * costs["merge_store"] + cells * costs["merge_cell"]
        whole = start + compute + merge
        best = min(cells, round(math.sqrt(cells * seconds / costs["merge_store"])))
        row = f"{traces:,} x {settings}", f"{seconds:g} s", *map(duration, (start, compute, merge, whole))
        print("|", " | ".join(row), f"| {cells * seconds / whole:,.0f} | {best:,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tapool", default="tapool")
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        costs = Fleet(options.tapool, options.rounds, work).costs(options.shards)
    print(f"start of a shard: {duration(costs['start'])}, a trace of the plan {duration(costs['start_trace'])}, "
          f"a cell of the plan {duration(costs['start_cell'])}")
    print(f"merge: a store {duration(costs['merge_store'])}, a cell {duration(costs['merge_cell'])}")
    print(f"store of a shard: {costs['store'] / 1024:.0f} KiB, a cell {costs['store_cell']:.0f} bytes\n")
    table(costs, options.shards)


if __name__ == "__main__":
    main()
