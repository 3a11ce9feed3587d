"""What the sections of scripts/bench.py share: making and replaying traces, taking turns, goals."""
import json
import math
import os
import statistics
import subprocess

ROUNDS = int(os.environ.get("ROUNDS", "5"))
MIN_TIME = os.environ.get("MIN_TIME", "200ms")
SAMPLES = ["sqlite", "jq", "python-threads"]
VERDICTS = []  # (work, whether its goal was met), of all goals printed so far


def output_of(*command, env=None):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True,
                          env=env).stdout


def gen(tapool, folder, name, profile, *options):
    path = os.path.join(folder, name + ".jsonl")
    subprocess.run([tapool, "gen", profile, "-f", "-o", path, *map(str, options)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def replay(tapool, trace, strategy, *options):
    return json.loads(output_of(tapool, "replay", trace, "-s", strategy, "--min-time", MIN_TIME,
                                "--json", *options))["runs"][0]


def value_of(run, *path):
    for key in path:
        run = run[key]
    return run


def median_of(runs, *path):
    return statistics.median(value_of(run, *path) for run in runs)


def rounds_of(tapool, cells, rounds=ROUNDS):
    """cells: name -> (trace, strategy, options). They take turns."""
    runs = {name: [] for name in cells}
    for _ in range(rounds):
        for name, (trace, strategy, options) in cells.items():
            runs[name].append(replay(tapool, trace, strategy, *options))
    return runs


def libraries(tapool):
    """The words for -s of the malloc libraries that tapool finds on this machine and can replay."""
    rows = [line.split() for line in output_of(tapool, "strategies").splitlines()
            if "not here:" not in line]
    return [row[0] for row in rows if row and row[0].startswith("lib:") and row[0] != "lib:PATH"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def verdict(work, value, goal, most=True):
    """`most`: the goal is the most there may be, not the least. What has no goal has None."""
    if goal is None:
        return ""
    met = value <= goal if most else value >= goal
    VERDICTS.append((work, met))
    return "%s %-5g %s" % ("<=" if most else ">=", goal, "met" if met else "MISSED")


def print_goal(work, value, goal=None, unit="ns", more="", most=True):
    cells = (work, value, unit, verdict(work, value, goal, most), more)
    print(("  %-50s %8.2f %-7s %-16s %s" % cells).rstrip(), flush=True)


def print_verdicts():
    missed = [work for work, met in VERDICTS if not met]
    if VERDICTS:
        print("%d goals met, %d MISSED" % (len(VERDICTS) - len(missed), len(missed)))
    for work in missed:
        print("  " + work)
