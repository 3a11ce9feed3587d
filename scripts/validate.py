#!/usr/bin/env python3
"""What tapool predicts of malloc libraries, against what they really do; scripts/validate.sh calls it.

A program is recorded once, under the C library's malloc. Each cell, a library with settings, is
predicted from the trace. Then the program really runs five times with each, in turn. What it needs
without any work is taken off: the program's own data, and the libraries that it loads.

Of cc1 most memory is not of malloc. What it has beside is known from its runs with glibc, and added to
what is predicted of the others.

The columns of the result:

  predicted, real   MiB of peak resident memory; `start` is what the library adds at start
  cpu               real CPU time, saved against glibc, in percent; predicted: from, to
"""
import argparse
import csv
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

ROUNDS = 5
GLIBC = {"LD_PRELOAD": "libc.so.6"}  # redis is linked with jemalloc
CELLS = {  # name: strategy, environment of a real run
    "glibc": ("system", GLIBC),
    "jemalloc": ("lib:jemalloc", {"LD_PRELOAD": "libjemalloc.so.2"}),
    "mimalloc": ("lib:mimalloc", {"LD_PRELOAD": "libmimalloc.so.2"}),
    "tcmalloc": ("lib:tcmalloc", {"LD_PRELOAD": "libtcmalloc.so.4"}),
    "glibc, 1 arena": ("system:env=MALLOC_ARENA_MAX=1", {**GLIBC, "MALLOC_ARENA_MAX": "1"}),
    "jemalloc, no decay": ("lib:jemalloc,env=MALLOC_CONF=dirty_decay_ms:0",
                           {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "dirty_decay_ms:0"}),
}
BASE = "glibc"
DIFFERS, GOOD_ONE, GOOD_SEVERAL, WORST_SEVERAL, SMALLEST = 1.05, 0.05, 0.10, 0.20, 1.05


class Program:
    """Words of a command, and of one that does nothing; `client` runs beside it and ends it. `beside`:
    most of its memory is not of malloc, as far as that is under glibc it is taken for predicted."""

    def __init__(self, name, words, idle, client=None, env=None, beside=False):
        self.name, self.words, self.idle, self.client, self.env = name, words, idle, client, env or {}
        self.beside = beside


def run_real(args, program, words, env, client):
    """KiB of private memory, KiB in all, seconds of CPU time, KiB of private memory at the end."""
    settings = ["%s=%s" % item for item in {**program.env, **env}.items()]
    done = subprocess.Popen([args.watcher, *settings, *words], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, cwd=args.work)
    if client:
        subprocess.run(["bash", "-c", client], check=True, stdout=subprocess.DEVNULL, cwd=args.work)
    said = done.communicate()[1].strip().splitlines()[-1].split()
    if done.returncode or said[0] != "watched":
        sys.exit("%s: it ended with %d: %s" % (program.name, done.returncode, " ".join(said)))
    return int(said[1]), int(said[2]), int(said[3]) / 1e6, int(said[4])


def record(args, program, options=()):
    trace = os.path.join(args.work, program.name + ".tpt")
    done = subprocess.Popen([args.tapool, "record", "-f", "-o", trace, *options, "--",
                             *program.words],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            cwd=args.work, env={**os.environ, **GLIBC, **program.env})
    if program.client:
        subprocess.run(["bash", "-c", program.client], check=True, stdout=subprocess.DEVNULL,
                       cwd=args.work)
    error = done.communicate()[1]
    if done.returncode:
        sys.exit("%s: not recorded: %s" % (program.name, error))
    return trace


def predict(args, trace):
    """The runs of all cells, by name."""
    strategies = [word for strategy, _ in CELLS.values() for word in ("-s", strategy)]
    done = subprocess.run([args.tapool, "replay", trace, *strategies, "--json"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s: not replayed: %s" % (trace, done.stderr))
    runs = json.loads(done.stdout)["runs"]
    return dict(zip(CELLS, runs)), runs[0]["trace"]


def saved_share(trace, run, base):
    """The CPU time that a library saves, as a share of the program's: least, most. None: not known."""
    share = [trace.get(name) for name in ("malloc_low_ns", "malloc_high_ns", "cpu_low_ns", "cpu_high_ns")]
    if None in share or share[1] * share[3] > 2 * share[0] * share[2]:
        return None
    less = 1 - run["throughput"]["ns_per_op"] / base["throughput"]["ns_per_op"]
    ends = [less * share[0] / share[3], less * share[1] / share[2]]
    return min(0, *ends), max(0, *ends)


def measure(args, program):
    trace = record(args, program)
    predicted, said = predict(args, trace)
    real = {name: [] for name in CELLS}
    idle = {name: [] for name in CELLS}
    for _ in range(args.rounds):
        for name, (_, env) in CELLS.items():
            real[name].append(run_real(args, program, program.words, env, program.client))
            idle[name].append(run_real(args, program, program.idle, env, None))
    rows = []
    threads = int(predicted[BASE]["resident"]["threads"])
    cpu = {name: statistics.median(r[2] for r in real[name]) for name in CELLS}
    plain = statistics.median(i[1] for i in idle[BASE])
    known = int(predicted[BASE]["resident"]["peak_bytes"]) / 2**20
    beside = statistics.median(r[0] - i[0] for r, i in zip(real[BASE], idle[BASE])) / 1024 - known
    beside = beside if program.beside else 0
    for name in CELLS:
        resident = predicted[name]["resident"]
        own = [r[0] - i[0] for r, i in zip(real[name], idle[name])]
        total = [r[1] - plain for r in real[name]]
        saved = saved_share(said, predicted[name], predicted[BASE])
        if program.beside and name == BASE:
            continue
        rows.append({"program": program.name, "threads": threads, "cell": name,
                     "predicted": int(resident["peak_bytes"]) / 2**20 + beside,
                     "real": statistics.median(own) / 1024, "real_low": min(own) / 1024,
                     "real_high": max(own) / 1024, "start": int(resident["start_bytes"]) / 2**20,
                     "predicted_total": int(resident["total_bytes"]) / 2**20 + beside,
                     "real_total": statistics.median(total) / 1024,
                     "total_low": min(total) / 1024, "total_high": max(total) / 1024,
                     "cpu_saved": 100 * (1 - cpu[name] / cpu[BASE]),
                     "saved_least": 100 * saved[0] if saved else "",
                     "saved_most": 100 * saved[1] if saved else ""})
        print("%-14s %-20s %8.1f %8.1f %+6.1f%%" % (program.name, name, rows[-1]["predicted"], rows[-1]["real"],
              100 * (rows[-1]["predicted"] / rows[-1]["real"] - 1)), flush=True)
    return rows


# ---- what came of it ----

def error(row):
    return abs(row["predicted"] / row["real"] - 1)


def pairs(rows):
    """Cells of a program that really differ, and whether they are ordered right."""
    for i, a in enumerate(rows):
        for b in rows[:i]:
            low, high = sorted((a, b), key=lambda r: r["real_total"])
            if high["real_total"] > DIFFERS * low["real_total"] and high["total_low"] > low["total_high"]:
                yield high["predicted_total"] > low["predicted_total"]


def smallest(rows):
    """Real memory of what is called smallest over that of the really smallest; 1 within its range."""
    said = min(rows, key=lambda r: r["predicted_total"])
    best = min(rows, key=lambda r: r["real_total"])
    return 1.0 if said["total_low"] <= best["total_high"] else said["real_total"] / best["real_total"]


def judge(name, value, goal, good):
    print("| %s | %s | %s | %s |" % (name, value, goal, "met" if good else "MISSED"))


def share(flags):
    flags = list(flags)
    return sum(flags) / len(flags) if flags else 1.0, "%d of %d" % (sum(flags), len(flags))


def summary(all_rows):
    one = [r for r in all_rows if r["threads"] == 1]
    several = [r for r in all_rows if r["threads"] > 1]
    by_program = {}
    for row in all_rows:
        by_program.setdefault(row["program"], []).append(row)
    print("| figure | measured | goal | |\n|---|---|---|---|")
    got, text = share(error(r) <= GOOD_ONE for r in one)
    judge("resident, one thread: within 5%", text, "95%", got >= 0.95)
    got, text = share(error(r) <= GOOD_SEVERAL for r in several)
    judge("resident, several threads: within 10%", text, "90%", got >= 0.9)
    worst = max((error(r) for r in several), default=0)
    judge("the same, worst", "%.0f%%" % (100 * worst), "20%", worst <= WORST_SEVERAL)
    got, text = share(good for rows in by_program.values() for good in pairs(rows))
    judge("cells that differ by over 5%: ordered right", text, "95%", got >= 0.95)
    got = max(smallest(rows) for rows in by_program.values())
    judge("the smallest, over the really smallest", "%.2f" % got, "1.05", got <= SMALLEST)
    known = [r for r in all_rows if r["saved_most"] != "" and r["cell"] != BASE]
    got, text = share(r["saved_least"] <= r["cpu_saved"] <= r["saved_most"] for r in known)
    judge("CPU time saved: in the predicted range", text, "80%", got >= 0.8)
    got, text = share(r["cpu_saved"] <= r["saved_most"] for r in known)
    judge("CPU time saved: at most the predicted one, as the screen says", text, "80%", got >= 0.8)


def table(all_rows):
    print("\n| program | threads | cell | predicted | real (low to high) | error | total: predicted | real "
          "| CPU saved | predicted |\n|---|---|---|---|---|---|---|---|---|---|")
    for r in all_rows:
        saved = "not known" if r["saved_most"] == "" else "%.1f to %.1f%%" % (r["saved_least"], r["saved_most"])
        print("| %s | %d | %s | %.1f | %.1f (%.1f to %.1f) | %+.1f%% | %.1f | %.1f | %+.1f%% | %s |" %
              (r["program"], r["threads"], r["cell"], r["predicted"], r["real"], r["real_low"], r["real_high"],
               100 * (r["predicted"] / r["real"] - 1), r["predicted_total"], r["real_total"], r["cpu_saved"], saved))


def programs(args):
    with open(args.programs, encoding="utf-8") as file:
        listed = json.load(file)
    return [Program(**p) for p in listed if not args.only or p["name"] in args.only]


# ---- shared with validate_pages.py ----

def add_options(parser):
    parser.add_argument("--tapool", required=True)
    parser.add_argument("--watcher", required=True, help="tests/programs/watch_exit.c")
    parser.add_argument("--work", required=True, help="folder for traces")
    parser.add_argument("--tally", required=True, help="CSV that gets a line for each row")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("only", nargs="*")


def write_tally(args, rows):
    with open(args.tally, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def print_head(args):
    version = subprocess.run([args.tapool, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print("\n%s, %s, %d cores, %s\n" % (version, platform.machine(), os.cpu_count(), datetime.date.today()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--programs", required=True, help="JSON: list of name, words, idle, client, env")
    args = parser.parse_args()
    rows = []
    for program in programs(args):
        rows += measure(args, program)
        write_tally(args, rows)
    print_head(args)
    summary(rows)
    table(rows)


if __name__ == "__main__":
    main()
