#!/usr/bin/env python3
"""Writes the table of the section Ageing in alloc/README.md: memory of every malloc library that tapool finds, on the
profiles fleet-0 to fleet-9, with and without ageing.

    scripts/ageing.py [TAPOOL]    # build/release/tapool by default; 10 minutes

A heap has 200,000 objects, or half of that as often as is needed for 20 turnovers within 5 million allocations. Then
as many are allocated again in the phase 'steady'. Without ageing that phase has all allocations of the aged trace."""
import json
import math
import os
import subprocess
import sys
import tempfile

from bench_common import libraries

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "alloc", "README.md")
HEAD = "| fleet | heap | at the |"
LIVE, AGE = 200000, 20


def json_of(*command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def made(tapool, path, n, live, *options):
    """Whether the profile takes these options."""
    command = [tapool, "gen", f"fleet-{n}", "--live", str(live), *options, "-f", "-o", path]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 2):
        sys.exit(done.stderr)
    return done.returncode == 0


def overheads(tapool, path, strategies, end):
    """Of each strategy: resident over requested, at their peaks and at the end, where `end` bytes are live."""
    words = [word for strategy in strategies for word in ("-s", strategy)]
    runs = json_of(tapool, "replay", path, *words, "--threads", "1", "--passes", "usage,resident", "--json")["runs"]
    return [(run["resident"]["peak_bytes"] / run["memory"]["peak_requested_bytes"], run["resident"]["end_bytes"] / end)
            for run in runs]


def of_profile(tapool, path, n, strategies):
    """The bytes live at the end of the aged trace, and the overheads without and with ageing."""
    live = LIVE
    while not made(tapool, path, n, live, "--count", str(2 * live), "--age", str(AGE)):
        live //= 2
    aged = json_of(tapool, "info", path, "--json")
    old = overheads(tapool, path, strategies, aged["live_at_end_bytes"])
    made(tapool, path, n, live, "--count", str(aged["trace"]["objects"]))
    end = json_of(tapool, "info", path, "--json")["live_at_end_bytes"]
    return aged["live_at_end_bytes"], overheads(tapool, path, strategies, end), old


def rows_of(n, heap, young, old):
    """Two rows of the table: at the peaks and at the end."""
    return ["| %s | %s | %s | %s |" % (n, heap, name, " | ".join(
        "%.2f, %.2f" % (a[i], b[i]) for a, b in zip(young, old))) for i, name in enumerate(["peak", "end"])]


def means(of_profiles):
    count = len(of_profiles)
    return [tuple(math.exp(sum(math.log(row[s][i]) for row in of_profiles) / count) for i in range(2))
            for s in range(len(of_profiles[0]))]


def measured(tapool):
    strategies = ["system", *libraries(tapool)]
    lines = [HEAD + " %s |" % " | ".join("`%s`" % s for s in strategies), "|---" * (3 + len(strategies)) + "|"]
    youngs, olds = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fleet.tpt")
        for n in range(10):
            heap, young, old = of_profile(tapool, path, n, strategies)
            lines += rows_of(n, "%.0f MiB" % (heap / 2**20), young, old)
            youngs.append(young)
            olds.append(old)
            print("\n".join(lines[-2:]), flush=True)
    return lines + rows_of("geometric mean", "", means(youngs), means(olds))


def main():
    tapool = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release", "tapool")
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(HEAD)
    if not rest:
        sys.exit("alloc/README.md has no table that begins with '%s'" % HEAD)
    page = before + "\n".join(measured(tapool)) + rest[rest.index("\n\n"):]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


main()
