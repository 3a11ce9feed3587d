#!/usr/bin/env python3
"""Trials of the gate, measured by the gate itself; scripts/aa.sh and scripts/power.sh call it.

  aa      a binary is checked against itself: every regression that is found is a false alarm
  power   `lru` is slowed down by a known share on its timed path: how often is that found?

A check is `tapool check --base-bin` over 3 traces x 2 strategies, all three classes. Each one adds
a line to the tally, so that trials may be spread over days and stopped at any time: what stands
there counts.

How a strategy is slowed: in a copy of the tree so many of 128 calls of lru's alloc begin with a
fence, which the processor cannot work off beside anything else. The share that this makes on the
reference trace, the counting included, is measured beside the base with many more pairs than a
check has; what was measured stands in the tally.
"""
import argparse
import csv
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

STRATEGIES = ["arena", "lru"]
SAMPLES = ["sqlite", "jq", "python-threads"]
REFERENCE = ("sqlite.json", "lru")  # the cell whose slowdown is set
COLUMNS = ["date", "kind", "version", "seed", "seconds", "load", "exit", "regression_E",
           "regression_D", "regression_N", "improved", "inconclusive", "insensitive",
           "sensitivity", "found", "share", "worst"]
SLOWED = re.compile(r"(static int lru_alloc\([^{]*\)\n\{\n)")
CALLS = 128  # a power of two: of so many calls, some are slowed


def run(command, **more):
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **more)


def check(tapool, folder, *options, may_find=True):
    """One check; its document."""
    done = run([tapool, "check", "--format", "json", *options], cwd=folder)
    if done.returncode not in ((0, 1) if may_find else (0,)):
        sys.exit("tapool check ended with %d: %s" % (done.returncode, done.stderr.strip()))
    document = json.loads(done.stdout)
    unchecked = [c["name"] + ": " + c["reason"] for c in document["classes"] if not c["checked"]]
    if unchecked:  # what cannot alarm has no false alarms to count
        sys.exit("not checked: " + "; ".join(unchecked))
    return document


def make_baseline(tapool, samples, folder):
    for name in SAMPLES:
        shutil.copy(os.path.join(samples, name + ".json"), folder)
    traces = [name + ".json" for name in SAMPLES]
    strategies = [word for name in STRATEGIES for word in ("-s", name)]
    done = run([tapool, "check", *traces, *strategies, "--update"], cwd=folder)
    if done.returncode:
        sys.exit("no baseline: " + done.stderr.strip())


def count(document, verdict, letter=None):
    return sum(1 for f in document["findings"]
               if f["verdict"] == verdict and letter in (None, f["class"]))


def worst(document):
    """The timed value that came out worst, in words."""
    timed = [f for f in document["findings"] if f.get("difference")]
    timed = [f for f in timed if f["difference"].get("estimate")]
    if not timed:
        return ""
    f = max(timed, key=lambda f: f["difference"]["estimate"])
    return "%s %s %s %+.1f%%" % (f["trace"], f["strategy"], f["metric"],
                                 100 * (f["difference"]["estimate"] - 1))


def row_of(kind, version, document, found=""):
    sharp = document["rule"]["sensitivity"]
    return {"date": datetime.datetime.now().isoformat(timespec="seconds"), "kind": kind,
            "version": version, "seed": document["seed"],
            "seconds": "%.1f" % (int(document["wall_ns"]) / 1e9),
            "load": "%.1f" % os.getloadavg()[0], "exit": document["exit_code"],
            "regression_E": count(document, "regression", "E"),
            "regression_D": count(document, "regression", "D"),
            "regression_N": count(document, "regression", "N"),
            "improved": count(document, "improved", "N"),
            "inconclusive": count(document, "inconclusive"),
            "insensitive": count(document, "insensitive"),
            "sensitivity": "" if sharp is None else "%.3f" % sharp,
            "found": found, "worst": worst(document)}


def append(path, row):
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def read(path, kind):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] == kind]


def print_aa(path):
    rows = read(path, "aa")
    print("%d checks of a binary against itself (%s)" % (len(rows), path))
    for letter, name in (("E", "memory and counts"), ("D", "instructions"), ("N", "latency")):
        alarms = sum(int(row["regression_" + letter]) > 0 for row in rows)
        print("  false alarms, %-20s%4d" % (name, alarms))
    print("  said to be better%21d" % sum(int(row["improved"]) > 0 for row in rows))
    print("  inconclusive%26d" % sum(int(row["inconclusive"]) > 0 for row in rows))
    if rows:
        times = sorted(float(row["seconds"]) for row in rows)
        print("  seconds a check%23.0f (median)" % times[len(times) // 2])


def print_power(path, kind):
    rows = read(path, kind)
    shares = sorted(float(row["share"]) for row in rows)
    print("%s: %+.1f%% (median of what the checks say), found in %d of %d checks (%s)" %
          (kind, 100 * shares[len(shares) // 2] if shares else 0,
           sum(row["found"] == "yes" for row in rows), len(rows), path))


def trial_aa(args):
    version = run([args.tapool, "--version"]).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        make_baseline(args.tapool, args.samples, folder)
        for i in range(args.count):
            document = check(args.tapool, folder, "--base-bin", args.tapool, *args.more)
            append(args.tally, row_of("aa", version, document))
            print("%d of %d: exit %s" % (i + 1, args.count, document["exit_code"]), flush=True)
    print_aa(args.tally)


# ---- power ----

def slowed_source(tree, fences):
    path = os.path.join(tree, "alloc/strategies/lru/lru.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    line = ("    static unsigned turn;\n    if (++turn %% %du < %du)\n"
            '        __asm__ volatile("lfence" ::: "memory");\n' % (CALLS, fences))
    text, places = SLOWED.subn(lambda m: m.group(1) + line, text)
    if places != 1:
        sys.exit("lru.c: its alloc was not found")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build_slowed(args, fences, folder):
    tree = os.path.join(folder, "tree")
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(args.root, tree, ignore=shutil.ignore_patterns("build", ".git"))
    slowed_source(tree, fences)
    build = os.path.join(folder, "build")
    commands = [["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DTAPOOL_TESTS=OFF"], ["cmake", "--build", build, "--target", "tapool"]]
    for command in commands:
        done = run(command)
        if done.returncode:
            sys.exit("the slowed build failed: " + done.stdout[-2000:] + done.stderr[-2000:])
    return os.path.join(build, "tapool")


def measured_share(args, slowed, folder):
    """How much slower the reference cell is, from three times as many pairs as a check has."""
    document = check(slowed, folder, REFERENCE[0], "-s", REFERENCE[1], "--base-bin", args.tapool,
                     "--pairs", "60", "--seed", "1", *args.more)
    return reference_of(document)["difference"]["estimate"] - 1


def next_guess(tried, share):
    """Between the nearest two that were tried, one on either side."""
    below = max((t for t in tried if t[1] <= share), default=(0, 0.0), key=lambda t: t[1])
    above = min((t for t in tried if t[1] > share), default=None, key=lambda t: t[1])
    if above is None:
        return min(CALLS, 2 * below[0])
    part = (share - below[1]) / (above[1] - below[1])
    return round(below[0] + part * (above[0] - below[0]))


def find_fences(args, share, folder):
    """As many as slow the reference cell by this share, to a tenth of it."""
    tried, fences = [], CALLS // 8
    for _ in range(8):
        slowed = build_slowed(args, fences, folder)
        got = measured_share(args, slowed, folder)
        print("%d of %d calls: %+.1f%%" % (fences, CALLS, 100 * got), flush=True)
        if abs(got - share) <= share / 10:
            return slowed, got
        tried.append((fences, got))
        fences = next_guess(tried, share)
    sys.exit("no number of fences slows the reference cell by %.0f%%" % (100 * share))


def reference_of(document):
    for f in document["findings"]:
        if (f["trace"], f["strategy"]) == REFERENCE and f["metric"] == "ns_per_op":
            return f
    sys.exit("the reference cell was not timed")


def trial_power(args):
    version = run([args.tapool, "--version"]).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        make_baseline(args.tapool, args.samples, folder)
        if args.fences:
            slowed = build_slowed(args, args.fences, folder)
            kind = "lru, %d of %d" % (args.fences, CALLS)
        else:
            slowed, got = find_fences(args, args.percent / 100, folder)
            kind = "lru %+.1f%%" % (100 * got)
        for i in range(args.count):
            document = check(slowed, folder, "--base-bin", args.tapool, *args.more)
            reference = reference_of(document)
            found = "yes" if reference["verdict"] == "regression" else "no"
            row = row_of(kind, version, document, found)
            row["share"] = "%.4f" % (reference["difference"]["estimate"] - 1)
            append(args.tally, row)
            print("%d of %d: %+.1f%%, found: %s" %
                  (i + 1, args.count, 100 * float(row["share"]), found), flush=True)
    print_power(args.tally, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=["aa", "power", "print"])
    parser.add_argument("count", type=int, nargs="?", default=0)
    parser.add_argument("--tapool", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--tally", required=True)
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--fences", type=int, default=0, help="instead of --percent")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:cut])
    args.more = words[cut + 1:]  # further options of the check
    args.tapool = os.path.abspath(args.tapool)
    args.samples = os.path.join(args.root, "traces/samples")
    if args.trial == "aa":
        trial_aa(args)
    elif args.trial == "power":
        trial_power(args)
    else:
        print_aa(args.tally)


if __name__ == "__main__":
    main()
