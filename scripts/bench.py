#!/usr/bin/env python3
"""Measures, prints, asserts nothing; scripts/bench.sh builds what it needs and calls it.

  goals    micro-profiles with the figure that each strategy should reach
  latency  how well calls of known cost are read
  tables   every strategy beside `system` on the micro-profiles and the samples
  traces   reading traces, sizes of .tpt, a trace of 10^8 events (scripts/bench_traces.py)
  answer   how long a user waits for `tapool replay FILE`, and for which passes
  peers    speed, memory, threads, hand, same: beside malloc libraries (scripts/bench_peers.py); and
           latency
  record   what `tapool record` takes from a program, and its files (scripts/bench_record.py)
  torch    PyTorch snapshots: torch, tune, why, verify; offline packing (scripts/bench_torch.py)
  html     pages of --export-html: written, and in a browser (scripts/bench_html.py)

Sections named on the command line are measured, all without any. All strategies of a table take
turns, ROUNDS times; a figure is the median of its rounds unless its section says otherwise, net of
the engine's share, which stands beside it. Times are of this machine, now: compare within one run.
"""
import glob
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from bench_common import (ROUNDS, SAMPLES, gen, median_of, output_of, print_goal, print_verdicts,
                          replay, rounds_of, verdict)
from bench_peers import print_by_hand, print_memory, print_same, print_speed, print_threads
from bench_html import print_html
from bench_record import print_record
from bench_torch import print_torch
from bench_traces import SHARED, print_traces


def write(folder, name, events, kind="host"):
    path = os.path.join(folder, name + ".jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"format":"tapool-trace","version":1,"meta":{"kind":"%s"}}\n' % kind)
        for op, ident, size in events:
            size = ',"size":%d' % size if op != "free" else ""
            file.write('{"op":"%s","id":%d%s}\n' % (op, ident, size))
    return path


def many_sizes():
    """10,000 distinct sizes once, then pairs of one of them."""
    for i in range(10000):
        yield "alloc", 1, 512 * (i + 1)
        yield "free", 1, 0
    for _ in range(100000):
        yield "alloc", 1, 4096
        yield "free", 1, 0


def only_allocs():
    for i in range(20000):
        yield "alloc", i, 64


def uniform_sizes():
    """A million live objects of 16 to 1,024 bytes, every size as likely as the next."""
    state = 1
    for i in range(1000000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield "alloc", i, 16 + (state >> 33) % 1009


# work, trace, strategy, options, operations counted as one, goal, to beat
def goals(tapool, folder):
    pairs = {s: gen(tapool, folder, "pair-%d" % s, "pair", "--size", s)
             for s in (64, 1024, 4096, 65536, 1 << 20)}
    batches = {s: gen(tapool, folder, "batch-%d" % s, "batch", "--size", s, "--live", 64)
               for s in (64, 1024, 4096)}
    mixed = gen(tapool, folder, "mixed", "random-replace", "--size", 16, "--max-size", 4096,
                "--live", 4096)
    sizes = write(folder, "sizes", many_sizes())
    allocs = write(folder, "allocs", only_allocs())
    rows = [("lru, pair on a hit, %s" % label, pairs[s], "lru", [], 2, 8, "127")
            for s, label in ((64, "64 B"), (4096, "4 KiB"), (1 << 20, "1 MiB"))]
    rows += [("stream-pool, pair on a hit, after 10,000 sizes", sizes, "stream-pool",
              ["--source", "virtual"], 2, 20, "1,294"),
             ("bump, allocation, --touch none", allocs, "bump", ["--touch", "none"], 1, 2, "-")]
    rows += [("arena, pair, %s" % label, pairs[s], "arena", [], 2, 5.5, beat)
             for s, label, beat in ((64, "64 B", "7.0"), (4096, "4 KiB", "7.1"))]
    rows += [("arena:checks=no, pair, 64 B", pairs[64], "arena:checks=no", [], 2, 5.5, "-"),
             ("arena:checks=no, mixed", mixed, "arena:checks=no", [], 2, 12, "-")]
    rows += [("arena, batch of 64, %s" % label, batches[s], "arena", [], 2, goal, beat)
             for s, label, goal, beat in ((64, "64 B", 6, "9"), (1024, "1 KiB", 7, "14"),
                                          (4096, "4 KiB", 10, "14"))]
    rows += [("arena, mixed 16 B - 4 KiB, 4,096 live", mixed, "arena", [], 2, 12, "18")]
    return rows, pairs, batches, mixed


def print_known_costs(known_cost):
    """How far the latency pass reads from operations of known cost, to either side."""
    print("calls of known cost in the latency pass: by how much the reading is off")
    for line in output_of(known_cost).splitlines():
        name, known, apart, tries = line.split()
        print_goal("latency of %s, %s ns" % (name, known), abs(float(apart)), 1.5, "ns",
                   "%+.2f, %s tries" % (float(apart), tries))


def print_goals(tapool, folder):
    rows, _, _, _ = goals(tapool, folder)
    runs = rounds_of(tapool, {r[0]: (r[1], r[2], r[3]) for r in rows})
    print("goals, ns of a pair of calls (of a call for bump), net; medians of %d rounds" % ROUNDS)
    for work, _, _, _, ops, goal, beat in rows:
        print_goal(work, ops * median_of(runs[work], "throughput", "ns_per_op"), goal,
                   more="to beat: " + beat)
    for name, row in (("pair", "arena, pair, 64 B"), ("batch", "arena, batch of 64, 64 B")):
        share = median_of(runs[row], "throughput", "replay_overhead_ns_per_op")
        print_goal("engine, empty strategy, %s, an event" % name, share, 2,
                   more="to beat: 1.5-1.9")
        reading = median_of(runs[row], "latency", "alloc", "empty_ns")
        print_goal("engine, latency pass, %s, an event" % name, reading, 30, more="to beat: 22")
    uniform = write(folder, "uniform", uniform_sizes())
    memory = replay(tapool, uniform, "arena", "--touch", "none")["memory"]
    ratio = ((memory["peak_carved_bytes"] + memory["peak_metadata_bytes"])
             / memory["trace_peak_requested_bytes"])
    print_goal("arena, (carved + metadata) / requested, 10^6 live", ratio, 1.15, "x", "to beat: 2-8")


def print_table(tapool, title, traces, strategies, rounds=ROUNDS):
    """The first strategy is what the others are measured by."""
    print("\n%s: ns per call, net; times those of %s; cold; peak reserved in KiB; engine's share"
          % (title, strategies[0]))
    for label, trace in traces:
        passes = ["--passes", "usage,throughput"]
        runs = rounds_of(tapool, {s: (trace, s, passes) for s in strategies}, rounds)
        base = median_of(runs[strategies[0]], "throughput", "ns_per_op")
        for strategy in strategies:
            mine = runs[strategy]
            ns = median_of(mine, "throughput", "ns_per_op")
            print("  %-18s %-12s %9.2f %8.2fx %10.1f %11d %6.2f" % (
                label, strategy, ns, ns / base if base else float("nan"),
                median_of(mine, "throughput", "cold_ns_per_op"),
                median_of(mine, "memory", "peak_reserved_bytes") // 1024,
                median_of(mine, "throughput", "replay_overhead_ns_per_op")), flush=True)


def print_tables(tapool, folder):
    host = ["system", "arena", "lru", "stream-pool", "bump", "direct"]
    _, pairs, batches, mixed = goals(tapool, folder)
    queue = gen(tapool, folder, "queue", "producer-consumer")
    streams = gen(tapool, folder, "streams", "streams")
    micro = [("pair 64 B", pairs[64]), ("pair 4 KiB", pairs[4096]),
             ("batch 64 x 64 B", batches[64]), ("batch 64 x 4 KiB", batches[4096]),
             ("mixed, 4,096 live", mixed), ("producer-consumer", queue)]
    print_table(tapool, "micro-profiles", micro, host)
    print_table(tapool, "streams, on a virtual device", [("4 streams", streams)],
                ["stream-pool:release_threshold=max", "lru", "arena", "bump", "direct"])
    print_table(tapool, "samples", [(s, "sample:" + s) for s in SAMPLES], host)
    print_table(tapool, "a large one, one round", [("web", "sample:web")],
                ["system", "arena", "stream-pool"], 1)


def began_mid_run():
    """500 events after 1,500 blocks that were live before, which each repetition places anew."""
    for i in range(1500):
        yield "initial", i, 4096 + 512 * (i % 64)
    for i in range(250):
        yield "alloc", 1500 + i, 4096
        yield "free", 1500 + i, 0


def seconds(command):
    """Wall time, and that of the processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_answer(tapool, folder):
    """With every default; and by --passes what of it is memory and fits, speed, latencies."""
    os.environ.setdefault("TAPOOL_CUDA_DRIVER", "/nonexistent")
    traces = [path for path in sorted(glob.glob(os.path.join(SHARED, "corpus", "pytorch", "*")))
              if not os.path.basename(path).startswith("state-only")]
    traces += ["sample:" + sample for sample in SAMPLES]
    traces += [write(folder, "mid-run-" + kind, began_mid_run(), kind) for kind in ("device", "host")]
    print("\nfrom the command to the answer, s, medians of %d rounds" % ROUNDS)
    print("  %-32s %6s %6s %12s %6s %9s   goal" % ("", "wall", "busy", "memory, fits", "speed",
                                                 "latencies"))
    for trace in traces:
        known = [seconds([tapool, "replay", trace]) for _ in range(ROUNDS)]
        parts = [statistics.median(seconds([tapool, "replay", trace, "--json", "--passes", passes])[0]
                                   for _ in range(ROUNDS))
                 for passes in ("usage,fits", "throughput", "latency")]
        wall = statistics.median(w for w, _ in known)
        name = os.path.basename(trace)
        print("  %-32s %6.2f %6.2f %12.2f %6.2f %9.2f   %s" % (
            name, wall, statistics.median(b for _, b in known), *parts,
            verdict("answer, " + name, wall, 2)), flush=True)


PEERS = ["speed", "memory", "threads", "hand", "latency", "same"]


def main(tapool, libc_loop, decode_loop, known_cost, *wanted):
    sections = {"goals": lambda folder: print_goals(tapool, folder),
                "latency": lambda _: print_known_costs(known_cost),
                "tables": lambda folder: print_tables(tapool, folder),
                "traces": lambda folder: print_traces(tapool, decode_loop, folder),
                "answer": lambda folder: print_answer(tapool, folder),
                "speed": lambda folder: print_speed(tapool, folder),
                "memory": lambda folder: print_memory(tapool, folder),
                "threads": lambda folder: print_threads(tapool, folder),
                "hand": lambda folder: print_by_hand(tapool, libc_loop, folder),
                "same": lambda folder: print_same(tapool, folder),
                "record": lambda folder: print_record(tapool, libc_loop, folder),
                "torch": lambda folder: print_torch(tapool, folder),
                "html": lambda folder: print_html(tapool, folder)}
    wanted = [name.removeprefix("--") for name in wanted]
    wanted = [part for name in wanted for part in (PEERS if name == "peers" else [name])]
    for name in wanted:
        if name not in sections:
            sys.exit("bench: there is no section '%s'; there are peers, %s"
                     % (name, ", ".join(sections)))
    for name in dict.fromkeys(wanted or sections):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            sections[name](folder)
        print("  (%s: %.0f s)\n" % (name, time.monotonic() - start), flush=True)
    print_verdicts()


main(*sys.argv[1:])
