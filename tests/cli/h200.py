#!/usr/bin/env python3
"""Compares tapool's predictions with PyTorch's own figures of real runs: prints a table as CSV.

usage: h200.py TAPOOL FOLDER

FOLDER is tests/data/h200: snapshots, and measured.csv with what PyTorch reported in each run. One row for
each snapshot replayed with its recorded setting, and one for each other setting of the two programs that were
run with several. Exit status 1: `tapool verify` finds an address
that the rules do not reproduce.
"""
import csv
import json
import os
import re
import subprocess
import sys

PROGRAMS = ("varlen", "varlen-streams")  # the snapshot NAME-default predicts the other settings
SETTING = r"%s-(split\d+|round1-split|round4|expandable|expsplit)"


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def predicted(tapool, path, spec):
    """(reserved bytes at the peak, driver's allocations) of a replay on a virtual device."""
    run = json.loads(output_of(tapool, "replay", path, "-s", spec, "--json", "--no-fits",
                               "--min-time", "1ms"))["runs"][0]
    return run["memory"]["peak_reserved_bytes"], run["driver_calls"]["get"]


def rows_of(tapool, folder):
    with open(os.path.join(folder, "measured.csv"), encoding="utf-8", newline="") as file:
        measured = {row["run"]: row for row in csv.DictReader(file)}
    for name, row in measured.items():
        path = os.path.join(folder, name + ".pickle.zst")
        if not os.path.exists(path):
            continue  # PyTorch writes no snapshot with cudaMallocAsync
        output_of(tapool, "verify", path)
        yield name, "recorded", row, predicted(tapool, path, "torch")
    for program in PROGRAMS:
        start = program + "-default"
        path = os.path.join(folder, start + ".pickle.zst")
        for name, row in measured.items():
            if re.fullmatch(SETTING % program, name):
                yield start, row["conf"], row, predicted(tapool, path, "torch:conf={%s}" % row["conf"])


def main():
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["snapshot", "setting", "measured_reserved_bytes", "predicted_reserved_bytes", "difference",
                    "measured_device_allocs", "predicted_device_allocs"])
    for snapshot, setting, row, (reserved, calls) in rows_of(*sys.argv[1:]):
        real = int(row["max_reserved_bytes"])
        recorded_calls = int(row["device_allocs"]) - int(row["device_allocs_before"] or 0)
        table.writerow([snapshot, setting, real, reserved, "%+.2f%%" % (100 * (reserved - real) / real),
                        recorded_calls, calls])


main()
