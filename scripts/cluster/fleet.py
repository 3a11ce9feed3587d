#!/usr/bin/env python3
"""A sweep on a thousand shards, on paper, from costs measured on this machine.

    fleet.py --tapool build/release/tapool [--shards 1000] [--rounds 3]

Measured, with the real tapool on tiny traces:

    start   a shard that has nothing left to compute: process, plan, its traces, store
    store   bytes of a shard's store
    merge   joining stores, for each shard and for each cell

Each is fitted by two sweeps that differ in one number, as a constant and a slope. Calculated from them,
for sweeps of C cells that take S seconds each, on N shards of one processor:

    time = start + C S / N + N merge_shard + C merge_cell

where only the second term becomes smaller with N, and the last two are serial. The best N is where the
second and third are equal. Known weakness: a shared file system and a scheduler add to each term, and
are not in it.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

TRACE = '{"format": "tapool-trace", "version": 1}\n{"op": "alloc", "id": %d, "size": %d}\n{"op": "free", "id": %d}\n'
SWEEPS = [(2_000, 0.02), (100_000, 1), (1_000_000, 0.02), (1_000_000, 10)]


def make_sweep(folder, traces, settings):
    """A plan of traces x settings; a trace is 3 lines."""
    os.makedirs(os.path.join(folder, "traces"))
    for i in range(1, traces + 1):
        with open(os.path.join(folder, "traces", f"{i}.jsonl"), "w", encoding="utf-8") as f:
            f.write(TRACE % (i, 64 * i, i))
    sizes = "|".join(f"{i}MiB" for i in range(1, settings + 1))
    with open(os.path.join(folder, "plan.ini"), "w", encoding="utf-8") as f:
        f.write(f"[sweep]\ntrace = traces/*.jsonl\nstrategy = arena:arena_size={sizes}\npasses = usage\n")
    return os.path.join(folder, "plan.ini")


class Fleet:
    def __init__(self, tapool, rounds, work):
        self.tapool, self.rounds, self.work, self.made = tapool, rounds, work, 0

    def sweep(self, plan, *words):
        """Seconds of one call."""
        begin = time.perf_counter()
        done = subprocess.run([self.tapool, "sweep", plan, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"tapool sweep {' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        return time.perf_counter() - begin

    def plan(self, traces, settings):
        self.made += 1
        return make_sweep(os.path.join(self.work, str(self.made)), traces, settings)

    def start(self, traces, settings):
        """Seconds of a shard that is done, and the bytes of its store."""
        plan = self.plan(traces, settings)
        self.sweep(plan, "--shard", "1/1", "-j", "1")
        seconds = min(self.sweep(plan, "--shard", "1/1", "-j", "1") for _ in range(self.rounds))
        return seconds, os.path.getsize(plan[: -len(".ini")] + ".shard-1-of-1.sqlite")

    def merge(self, traces, settings, shards):
        """Seconds of a merge into a new store."""
        plan = self.plan(traces, settings)
        for i in range(1, shards + 1):
            self.sweep(plan, "--shard", f"{i}/{shards}", "-j", "2")
        best = math.inf
        for _ in range(self.rounds):
            merged = plan[: -len(".ini")] + ".sqlite"
            if os.path.exists(merged):
                os.remove(merged)
            best = min(best, self.sweep(plan, "--merge"))
        return best
