"""The section `peers` of scripts/bench.py: `arena` beside the malloc libraries that people use.

On the samples, sample:web and every .tpt in the folder $TAPOOL_TRACES: ns per call net of the engine's
share, resident memory at peak demand, and the address space held there, each over what it is compared
with. The libraries are preloaded, as people use them; those that this machine lacks are left out. All
rows of a trace take turns, ROUNDS times, and a figure is the least of its rounds: what other processes
do makes a time longer, never shorter.
"""
import ctypes.util
import glob
import json
import math
import os
import subprocess

TRACES = ["sample:sqlite", "sample:jq", "sample:python-threads", "sample:web"]
LIBRARIES = ["jemalloc", "mimalloc", "tcmalloc_minimal"]
RESERVED_GOALS = {"sample:sqlite": 1.6, "sample:jq": 1.4, "sample:python-threads": 1.4,
                  "sample:web": 1.2}


def peers():
    """name -> what is preloaded, or None for the C library's own malloc"""
    found = {name: ctypes.util.find_library(name) for name in LIBRARIES}
    return {"glibc": None, **{name.split("_")[0]: path for name, path in found.items() if path}}


def traces():
    folder = os.environ.get("TAPOOL_TRACES")
    return TRACES + (sorted(glob.glob(os.path.join(folder, "*.tpt"))) if folder else [])


def play(tapool, trace, strategy, library, *options):
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if library:
        env["LD_PRELOAD"] = library
    done = subprocess.run([tapool, "replay", trace, "-s", strategy, "--json", *options], env=env,
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["runs"][0]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_row(name, cells):
    print("  %-24s" % name + "".join("%11s" % cell for cell in cells), flush=True)


def times_of(tapool, trace, sides, rounds, min_time):
    values = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (strategy, library) in sides.items():
            run = play(tapool, trace, strategy, library, "--passes", "throughput", "--min-time",
                       min_time)
            values[name].append(run["throughput"]["ns_per_op"])
    return {name: min(v for v in of_side if v is not None) for name, of_side in values.items()}


def memory_of(tapool, trace, sides):
    """name -> resident bytes at peak demand; and what arena reserves for each byte requested"""
    resident, reserved = {}, None
    for name, (strategy, library) in sides.items():
        run = play(tapool, trace, strategy, library, "--passes", "usage,resident")
        resident[name] = run["resident"]["at_peak_bytes"]
        if name == "arena":
            at = run["memory"]["at_peak_demand"]
            reserved = at["reserved_bytes"] / at["requested_bytes"]
    return resident, reserved


def print_times(tapool, sides, rounds, min_time):
    print("ns per call, net; the last column: arena over the best peer")
    print_row("", [*sides, "ratio"])
    ratios = []
    for trace in traces():
        ns = times_of(tapool, trace, sides, rounds, min_time)
        ratios.append(ns["arena"] / min(ns[name] for name in sides if name != "arena"))
        print_row(os.path.basename(trace),
                  ["%.2f" % ns[name] for name in sides] + ["%.2f" % ratios[-1]])
    print("  geometric mean %.3f (goal <= 0.95), worst %.2f (goal <= 1.2)"
          % (geometric_mean(ratios), max(ratios)))


def print_memory(tapool, sides):
    print("resident at peak demand, KiB; arena over the leanest of all, over the leanest beside "
          "glibc; reserved / requested")
    print_row("", [*sides, "of all", "of others", "reserved"])
    of_all, of_others = [], []
    for trace in traces():
        resident, reserved = memory_of(tapool, trace, sides)
        rest = {name: value for name, value in resident.items() if name != "arena"}
        others = [value for name, value in rest.items() if name != "glibc"] or [rest["glibc"]]
        of_all.append(resident["arena"] / min(rest.values()))
        of_others.append(resident["arena"] / min(others))
        goal = " <=%.1f" % RESERVED_GOALS[trace] if trace in RESERVED_GOALS else ""
        print_row(os.path.basename(trace),
                  ["%d" % (resident[name] // 1024) for name in sides] +
                  ["%.2f" % of_all[-1], "%.2f" % of_others[-1], "%.2f%s" % (reserved, goal)])
    print("  geometric means %.3f (goal <= 1.10) and %.3f (goal <= 0.95)"
          % (geometric_mean(of_all), geometric_mean(of_others)))


def print_peers(tapool, rounds, min_time):
    sides = {"arena": ("arena", None)}
    sides.update({name: ("system", library) for name, library in peers().items()})
    print_times(tapool, sides, rounds, min_time)
    print_memory(tapool, sides)
