#!/usr/bin/env python3
"""The section `traces` of scripts/bench.sh: how fast traces are read, how small .tpt is, and what
a long one takes. And its inputs, made here by small generators:

    scripts/bench_traces.py rep|rmm|pickle N PATH

Each figure is that of fresh processes, the median of ROUNDS. On a machine with other work to do the
one for a busy second (user and system time) comes closer to what a quiet one gives. Memory is the
peak of one process; below some 16 MiB it is that of Python, which started it. EVENTS (default 10^8,
which the goals are for) is the length of the long traces, which are replayed once.
"""
import glob
import os
import pickle
import random
import re
import statistics
import struct
import subprocess
import sys
import time

from bench_common import ROUNDS, print_goal

EVENTS = int(float(os.environ.get("EVENTS", "1e8")))
SHARED = os.environ.get("TAPOOL_SHARED", os.path.join("..", "shared"))
SIDE = (b"META", b"NAME", b"FACT", b"END ")  # blocks of a .tpt without instructions


# ---- inputs ----

def churn(n, live, seed=1):
    """n calls: ("a", id, size) and ("f", id, size) of about `live` objects, the ids recycled."""
    rng = random.Random(seed)
    held, free = [], list(range(live - 1, -1, -1))
    for _ in range(n):
        if free and (len(held) < live // 2 or rng.random() < 0.5):
            ident = free.pop()
            held.append((ident, rng.randrange(8, 4096)))
            yield ("a", *held[-1])
        else:
            at = rng.randrange(len(held))
            held[at], held[-1] = held[-1], held[at]
            free.append(held[-1][0])
            yield ("f", *held.pop())


def make_rep(n, path, live=20000):
    with open(path, "w", encoding="ascii") as file:
        file.write("20000000\n%d\n%d\n1\n" % (live, n))
        for op, ident, size in churn(n, live):
            file.write("a %d %d\n" % (ident, size) if op == "a" else "f %d\n" % ident)


def make_rmm(n, path, live=20000):
    with open(path, "w", encoding="ascii") as file:
        file.write("Thread,Time,Action,Pointer,Size,Stream\n")
        for i, (op, ident, size) in enumerate(churn(n, live)):
            at = i * 3
            file.write("2342727,%02d:%02d:%02d.%06d,%s,0x%x,%d,0x2\n" % (
                at // 3600000000 % 24, at // 60000000 % 60, at // 1000000 % 60, at % 1000000,
                "allocate" if op == "a" else "free", 0x10000000000 + ident * 4096, size * 256))


def make_pickle(n, path, live=2000):
    """A memory snapshot: n calls, each with a stack of 24 frames, a free being two events."""
    base = 0x7f0000000000
    frames = [{"name": "function_%d" % i, "filename": "/usr/lib/python3/module_%d.py" % (i % 90),
               "line": i} for i in range(3000)]
    rng = random.Random(2)
    events = [{"action": "segment_alloc", "addr": base, "size": live << 21, "stream": 0,
               "time_us": 1772688692031317, "frames": []}]
    for i, (op, ident, size) in enumerate(churn(n, live)):
        first = rng.randrange(len(frames) - 24)
        for action in ("alloc",) if op == "a" else ("free_requested", "free_completed"):
            events.append({"action": action, "addr": base + (ident << 21), "size": size << 8,
                           "stream": 0, "time_us": 1772688692031317 + i,
                           "frames": frames[first:first + 24]})
    snapshot = {"segments": [], "device_traces": [events]}
    with open(path, "wb") as file:
        pickle.dump(snapshot, file)


MAKERS = {"rep": make_rep, "rmm": make_rmm, "pickle": make_pickle}


def made(folder, kind, n):
    path = os.path.join(folder, {"rep": "a.rep", "rmm": "a.csv", "pickle": "a.pickle"}[kind])
    subprocess.run([sys.executable, __file__, kind, str(n), path], check=True)
    return path


# ---- measuring ----

def run(command):
    """(output, seconds, user + system seconds, peak KiB) of one process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return (out.decode(), time.monotonic() - start, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss)


def print_decoding(loop, label, path, goal):
    walks, busy = [], []
    instructions = int(run([loop, "open", path])[0].split()[1])
    for _ in range(ROUNDS):
        out, _, seconds, _ = run([loop, path, "5"])
        walks += [float(line) for line in out.splitlines() if not line.startswith("best")]
        busy.append(5 * instructions / seconds / 1e6)
    print_goal("decoding, " + label, 1e3 / statistics.median(walks), goal, "M/s",
               "%.2f a busy second; the fastest %.1f" % (statistics.median(busy),
                                                         1e3 / min(walks)), most=False)


def print_reading(loop, label, path, goal, megabytes=False):
    """To a program: the process opens the trace and ends."""
    rounds = [run([loop, "open", path]) for _ in range(ROUNDS)]
    seconds = statistics.median(float(out.split()[2]) for out, _, _, _ in rounds)
    events = int(rounds[0][0].split()[0])
    bytes_ = os.path.getsize(path)
    millions = (bytes_ if megabytes else events) / 1e6
    busy = statistics.median(busy for _, _, busy, _ in rounds)
    print_goal(label, millions / seconds, goal, "MB/s" if megabytes else "M/s",
               "%.2f a busy second; %.2f M events, %.0f MB, peak %.0f MiB" % (
                   millions / busy, events / 1e6, bytes_ / 1e6, rounds[0][3] / 1024), most=False)


def bytes_of_events(path):
    """What a .tpt takes without its side blocks."""
    total = 32
    with open(path, "rb") as file:
        file.seek(32)
        while len(head := file.read(48)) == 48:
            stored = struct.unpack_from("<I", head, 32)[0]
            total += 0 if head[:4] in SIDE else 48 + stored
            file.seek(stored, 1)
    return total


def corpus():
    for folder in (os.path.join("traces", "samples"), os.path.join(SHARED, "corpus", "*")):
        for path in sorted(glob.glob(os.path.join(folder, "*.*"))):
            if not path.endswith(".md"):
                yield path


def print_sizes(tapool, folder):
    out = os.path.join(folder, "size.tpt")
    rows, all_bytes, all_events = [], 0, 0
    for path in corpus():
        done = subprocess.run([tapool, "convert", path, "-o", out, "-f", "--repair"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
        events = re.search(r"([0-9,]+) events,", done.stdout)
        events = int(events.group(1).replace(",", "")) if events and not done.returncode else 0
        if events:
            size = bytes_of_events(out)
            rows.append((size / events, events, os.path.basename(path)))
            all_bytes, all_events = all_bytes + size, all_events + events
        else:
            print("  %s is no trace with events" % os.path.basename(path))
    large = [r for r in rows if r[1] >= 1000]  # with fewer the headers are all there is
    print_goal("bytes an event, %d files" % len(rows), all_bytes / all_events, 6, "B")
    worst = max(large)
    print_goal("bytes an event, the worst from 1,000 events on", worst[0], 6, "B", worst[2])


def print_long(tapool, folder, profile, per, goal):
    """A trace of EVENTS events, made, looked at, replayed and written again."""
    path, again = os.path.join(folder, "long.tpt"), os.path.join(folder, "again.tpt")
    count = str(int(EVENTS / per))
    commands = [("gen", ["gen", profile, "--count", count, "-o", path, "-f"], None),
                ("info", ["info", path], None),
                ("replay -s bump", ["replay", path, "-s", "bump", "--source", "virtual"], goal),
                ("convert to .tpt", ["convert", path, "-o", again, "-f"], None)]
    for label, command, wanted in commands:
        _, seconds, busy, peak = run([tapool, *command])
        print_goal("%s, %s" % (profile, label), seconds, wanted if EVENTS == 10**8 else None,
                   "s", "busy %.1f s, peak %.0f MiB" % (busy, peak / 1024))
    os.remove(path)
    os.remove(again)


def web(tapool, folder, name, requests):
    path = os.path.join(folder, name)
    subprocess.run([tapool, "gen", "web-server", "--count", str(requests), "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def print_traces(tapool, loop, folder):
    print("traces: reading, in M events a second of one core; medians of %d rounds" % ROUNDS)
    print_decoding(loop, "web-server", web(tapool, folder, "web.tpt", 85000), 80)
    print_sizes(tapool, folder)
    for name in ("web.jsonl", "web.json"):
        fifth = web(tapool, folder, "fifth-" + name, 17000)
        path = web(tapool, folder, name, 85000)
        print_reading(loop, "%s to program, a fifth of it" % name[3:], fifth, 1.5)
        print_reading(loop, "%s to program" % name[3:], path, 1.5)
        os.remove(path)
        os.remove(fifth)
    for kind, n, goal, label in (("rep", 2000000, 5, ".rep to program"),
                                 ("rmm", 2000000, 5, "RMM's CSV to program"),
                                 ("pickle", 800000, 150, "PyTorch's pickle to program")):
        path = made(folder, kind, n)
        print_reading(loop, label, path, goal, kind == "pickle")
        os.remove(path)
    print("\nlong traces: seconds of the whole command, %.0e events, once; busy: of the processor; "
          "bump keeps\n2 bits for each 16 bytes until all blocks are free, as they never are in "
          "web-server" % EVENTS)
    print_long(tapool, folder, "batch", 2, 10)
    print_long(tapool, folder, "web-server", 59.9, 10)


if __name__ == "__main__":
    MAKERS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
