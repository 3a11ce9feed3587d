#!/usr/bin/env python3
"""What 'tapool why' says of resident memory, against real programs; 'scripts/validate.sh --pages' calls it.

Each program is recorded once, with call stacks, up to the moment in question, where it ends. The
trace says what resident memory holds there, and what a change would save. Then the program really
runs five times without and with each change, in turn, and the kernel says its private memory when
it exits. What it needs without any work is taken off.

A saving is predicted in one of four ways:

  strategy   less resident memory in a replay with other settings or another malloc
  kind       the row of 'why' of that kind: a purge, a region for a site
  part       all of one part: a change leaves nothing of it
  site       live memory of the site with the most partly free pages, above a limit in MiB
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import validate

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PORT = 17802  # of redis-server, on this machine alone
GOOD, GOOD_SHARE = 0.15, 0.8
MIB = 2**20
PARTS = {"live": "live_bytes", "rounding": "rounding_bytes", "partly free pages": "partly_free_bytes",
         "free pages": "free_pages_bytes", "never part of a block": "own_bytes"}
EAGER_ENV = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "dirty_decay_ms:0"}
EAGER = "lib:jemalloc,env=MALLOC_CONF=dirty_decay_ms:0"
LESS = ("-c", "core.deltaBaseCacheLimit=16m")


class Change:
    """One change of a program, and how its saving is predicted."""

    def __init__(self, name, words=None, client=None, env=None, **how):
        self.name, self.words, self.client, self.env, self.how = name, words, client, env or {}, how


ONE_ARENA = Change("`MALLOC_ARENA_MAX=1`", env={"MALLOC_ARENA_MAX": "1"}, strategy="system:env=MALLOC_ARENA_MAX=1")


def script(name, *words):
    return [os.path.join(ROOT, "tests", "programs", name), *words]


def packing_words(threads, *settings):
    """The process of 'git gc --aggressive' that takes memory. 96 MiB of it are a cache."""
    return ["git", "-C", ROOT, "-c", "pack.threads=%d" % threads, *settings, "pack-objects", "--all",
            "--no-reuse-delta", "--stdout", "-q", "--delta-base-offset"]


def packing(name, threads):
    return (validate.Program(name, packing_words(threads), ["git", "version"]), "glibc",
            [Change("`core.deltaBaseCacheLimit=16m`", words=packing_words(threads, *LESS), site=16)])


def expiry(order):
    return " ".join([sys.executable, *script("expiring_keys.py", str(PORT), order)])


def programs():
    """Program, malloc by which its trace is explained, changes."""
    turns, node = ["./turns_program", "8", "24"], ["node", "--expose-gc"]
    python = [sys.executable, "-S"]
    large = python + script("large_json.py")
    redis = ["redis-server", "--port", str(PORT), "--save", "", "--bind", "127.0.0.1"]
    return [
        (validate.Program("turns", turns, ["./turns_program", "1", "0"]), "glibc",
         [ONE_ARENA,
          Change("`malloc_trim(0)`", words=turns + ["trim"], kind="purge")]),
        (validate.Program("node", node + script("documents.js"), node + ["-e", "0"]), "glibc",
         [Change("`MALLOC_MMAP_THRESHOLD_=4096`", env={"MALLOC_MMAP_THRESHOLD_": "4096"},
                 strategy="system:env=MALLOC_MMAP_THRESHOLD_=4096"),
          Change("jemalloc without decay", env=EAGER_ENV, strategy=EAGER)]),
        (validate.Program("redis", redis, ["redis-server", "--version"], client=expiry("mixed"), env=EAGER_ENV), EAGER,
         [Change("keys that stay are set first", client=expiry("apart"), part="partly_free_bytes")]),
        (validate.Program("python", large, python + ["-c", "pass"], env={"PYTHONMALLOC": "malloc"}), "glibc",
         [Change("`malloc_trim(0)`", words=large + ["trim"], kind="purge"),
          Change("jemalloc without decay", env=EAGER_ENV, strategy=EAGER)]),
        packing("git", 1), packing("git-threads", 2),
        (validate.Program("git-less", packing_words(2, *LESS), ["git", "version"]), "glibc", [ONE_ARENA]),
        (validate.Program("survivors", ["./survivors_program"], ["true"]), "glibc",
         [Change("that site in a region of its own", words=["./survivors_program", "region"], kind="region")])]


# ---- what tapool says ----

def ask(args, *words):
    done = subprocess.run([args.tapool, *words, "--json"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("tapool %s: %s" % (" ".join(words), done.stderr))
    return json.loads(done.stdout)


def saving(args, trace, why, how):
    """Bytes that a change is to save."""
    if "strategy" in how:
        runs = ask(args, "replay", trace, "-s", how["strategy"], "--threads", "recorded")["runs"]
        return why["moment"]["resident_bytes"] - int(runs[0]["resident"]["end_bytes"])
    if "kind" in how:
        rows = {row["kind"]: row["resident_bytes"] for row in why["alternatives"]["rows"]}
        return rows["base"] - rows[how["kind"]]
    if "part" in how:
        return why["moment"][how["part"]]
    return why["partly_free_by"]["rows"][0]["live_bytes"] - how["site"] * MIB


def cause(why):
    """The largest part, and the site that holds it."""
    moment, site = why["moment"], why["partly_free_by"]["rows"][0]
    name = max(PARTS, key=lambda part: moment[PARTS[part]])
    text = "%.1f%% %s" % (100 * moment[PARTS[name]] / moment["resident_bytes"], name)
    if name == "partly free pages":
        text += ", %.1f MiB of it held by `%s`" % (site["partly_free_bytes"] / MIB, site["name"])
    elif name == "live":
        text += ", most of it from `%s`" % site["name"]
    return text


# ---- what is so ----

class Cell:
    """Private memory of real runs at exit, in MiB, less what the program needs without work."""

    def __init__(self, program, change):
        self.program, self.env = program, change.env
        self.words, self.client = change.words or program.words, change.client or program.client
        self.runs = []

    def run(self, args):
        busy = validate.run_real(args, self.program, self.words, self.env, self.client)[3]
        self.runs.append((busy - validate.run_real(args, self.program, self.program.idle, self.env, None)[3]) / 1024)


def measure(args, program, malloc, changes):
    moved = any(change.how.get("kind") == "region" for change in changes)  # a site: with all its blocks
    trace = validate.record(args, program, ("--stacks", "8", "--stack-every", "1" if moved else "100"))
    why = ask(args, "why", trace, "--malloc", malloc, "--at", "end")
    base, cells = Cell(program, Change("")), [Cell(program, change) for change in changes]
    for _ in range(args.rounds):
        for cell in [base, *cells]:
            cell.run(args)
    before = statistics.median(base.runs)
    for change, cell in zip(changes, cells):
        saved = [a - b for a, b in zip(base.runs, cell.runs)]
        row = {"program": program.name, "threads": why["malloc"]["threads"], "cause": cause(why),
               "resident": why["moment"]["resident_bytes"] / MIB, "real": before, "real_low": min(base.runs),
               "real_high": max(base.runs), "change": change.name,
               "predicted": saving(args, trace, why, change.how) / MIB,
               "saved": before - statistics.median(cell.runs), "saved_low": min(saved), "saved_high": max(saved)}
        print("%(program)-12s %(resident)8.1f %(real)8.1f   %(predicted)8.1f %(saved)8.1f  %(change)s" % row,
              flush=True)
        yield row


# ---- what came of it ----

def summary(rows):
    print("| figure | measured | goal | |\n|---|---|---|---|")
    for text, said, real in (("savings: within 15%", "predicted", "saved"),
                             ("resident at the end, without a change: within 15%", "resident", "real")):
        one = {(r["program"], r["change"] if said == "predicted" else ""): abs(r[said] / r[real] - 1) for r in rows}
        good = sum(value <= GOOD for value in one.values())
        validate.judge(text, "%d of %d" % (good, len(one)), "4 of 5", good >= GOOD_SHARE * len(one))


def table(rows):
    print("\n| program | threads | resident: replayed | real (low to high) | largest part | change | saves: predicted "
          "| real (low to high) | error |\n|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        print("| %s | %d | %.1f | %.1f (%.1f to %.1f) | %s | %s | %.1f | %.1f (%.1f to %.1f) | %+.1f%% |" %
              (r["program"], r["threads"], r["resident"], r["real"], r["real_low"], r["real_high"], r["cause"],
               r["change"], r["predicted"], r["saved"], r["saved_low"], r["saved_high"],
               100 * (r["predicted"] / r["saved"] - 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    validate.add_options(parser)
    args = parser.parse_args()
    rows = []
    for program, malloc, changes in programs():
        if args.only and program.name not in args.only:
            continue
        rows += measure(args, program, malloc, changes)
        validate.write_tally(args, rows)
    validate.print_head(args)
    summary(rows)
    table(rows)


if __name__ == "__main__":
    main()
