"""What scripts/bench.py measures of `tapool record`: what it takes from the program, and the file.

  an event  a loop over the calls of a sample, as it is and recorded (tests/bench/libc_loop.c)
  sqlite    the workload of scripts/record-corpus.sh, beside heaptrack and valgrind; with stacks
  redis     requests a second of a server with threads, recorded and not
  bytes     of the file in progress, and of the trace

Recorded and not recorded take turns, ROUNDS times; figures are medians. What other tools take is
measured once, since they take long.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import threading
import time

from bench_common import ROUNDS, SAMPLES, output_of, print_goal

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "record-corpus.sh")

# What stands for tapool in record-corpus.sh: it is called as `WRAPPER record OPTION... -- PROGRAM`,
# and leaves the time that it took, in ns, beside itself.
WRAPPER = """#!/bin/bash
start=$(date +%%s%%N)
options=()
while [ "$1" != -- ]; do options+=("$1"); shift; done
shift
%s "$@"
status=$?
echo $(($(date +%%s%%N) - start)) >"$0.ns"
exit $status
"""


def wrapper(folder, name, command):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(WRAPPER % command)
    os.chmod(path, 0o755)
    return path


class Watched(threading.Thread):
    """The largest size of a file that comes and goes."""

    def __init__(self, path):
        super().__init__()
        self.path, self.bytes, self.over = path, 0, False

    def run(self):
        while not self.over:
            try:
                self.bytes = max(self.bytes, os.stat(self.path).st_size)
            except FileNotFoundError:
                pass
            time.sleep(0.01)


def corpus(tapool, folder, name):
    """Lets record-corpus.sh do a workload. What it printed, the seconds, bytes while it ran."""
    watched = Watched(os.path.join(folder, name + ".tpt.recording"))
    watched.start()
    printed = subprocess.run([CORPUS, folder, name], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True,
                             env=dict(os.environ, TAPOOL=tapool)).stdout
    watched.over = True
    watched.join()
    with open(tapool + ".ns", encoding="utf-8") as file:
        return printed, int(file.read()) / 1e9, watched.bytes


def print_event(tapool, libc_loop, folder):
    for sample in SAMPLES:
        calls = os.path.join(folder, sample + ".calls")
        with open(calls, "w", encoding="utf-8") as out:
            subprocess.run([libc_loop, "extract", os.path.join("traces", "samples", sample + ".json")],
                           check=True, stdout=out)
        plain, recorded = [], []
        for _ in range(ROUNDS):
            plain.append(float(output_of(libc_loop, calls)))
            recorded.append(float(subprocess.run(
                [tapool, "record", "-f", "-o", os.path.join(folder, "loop.tpt"), "--", libc_loop, calls],
                check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout))
        print_goal("overhead an event, %s" % sample,
                   statistics.median(recorded) - statistics.median(plain), 40, "ns",
                   "%.1f a call, %.1f recorded" % (statistics.median(plain),
                                                   statistics.median(recorded)))


def print_sqlite(tapool, folder):
    record = "'%s' \"${options[@]}\" %%s --" % tapool
    names = {"plain": "", "stacks": record % "--stacks 16 --stack-every 100", "recorded": record % ""}
    walls, inside = {name: [] for name in names}, {name: [] for name in names}
    held = 0
    trace = os.path.join(folder, "sqlite.tpt")
    for _ in range(ROUNDS):
        for name, command in names.items():
            _, wall, held_now = corpus(wrapper(folder, name, command), folder, "sqlite")
            walls[name].append(wall)
            if command:
                document = json.loads(output_of(tapool, "info", trace, "--json"))
                inside[name].append(document["duration_ns"] / 1e9)
        held = max(held, held_now)
    plain, events = statistics.median(walls["plain"]), document["trace"]["events"]
    print_goal("sqlite3 while it is recorded, over itself",
               statistics.median(inside["recorded"]) / plain, 1.3, "x",
               "%.2f s, %.1f million events" % (plain, events / 1e6))
    print_goal("the same, with the stacks of every 100th allocation",
               statistics.median(inside["stacks"]) / plain, 1.5, "x")
    print_goal("sqlite3 until its trace is made, over itself",
               statistics.median(walls["recorded"]) / plain, None, "x")
    print_goal("bytes an event, while recording", held / events, 8, "B")
    print_goal("bytes an event, of the trace", os.path.getsize(trace) / events, 6, "B")
    others = {"heaptrack": "heaptrack -o '%s'" % os.path.join(folder, "heaptrack"),
              "valgrind": "valgrind --trace-malloc=yes --log-file='%s'"
                          % os.path.join(folder, "valgrind.log")}
    for name, command in others.items():
        if shutil.which(name):
            _, wall, _ = corpus(wrapper(folder, name, command), folder, "sqlite")
            print_goal("sqlite3 under %s, over itself" % name, wall / plain, None, "x", "once")


def rates(printed):
    """Requests a second, by the kind of request."""
    return {name: float(rate) for name, rate in re.findall(r'^"([A-Z]+)[^"]*","([0-9.]+)"', printed,
                                                           re.MULTILINE)}


def print_redis(tapool, folder):
    if not shutil.which("redis-benchmark"):
        print("  redis-benchmark is not installed: left out")
        return
    commands = {"plain": "", "recorded": "'%s' \"${options[@]}\" --" % tapool}
    seen = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            printed, _, _ = corpus(wrapper(folder, name, command), folder, "redis")
            seen[name].append(rates(printed))
    rate = {name: {kind: statistics.median(r[kind] for r in runs) for kind in runs[0]}
            for name, runs in seen.items()}
    whole = {name: statistics.harmonic_mean(kinds.values()) for name, kinds in rate.items()}
    print_goal("redis-server recorded, its rate of requests", whole["recorded"] / whole["plain"], 0.9,
               "x", ", ".join("%s %.2f" % (kind, rate["recorded"][kind] / plain)
                              for kind, plain in rate["plain"].items()), most=False)


def print_record(tapool, libc_loop, folder):
    tapool = os.path.abspath(tapool)
    print("tapool record, medians of %d rounds" % ROUNDS)
    print_event(tapool, libc_loop, folder)
    print_sqlite(tapool, folder)
    print_redis(tapool, folder)
