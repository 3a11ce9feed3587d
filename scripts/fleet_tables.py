#!/usr/bin/env python3
"""Writes traces/profiles/common/fleet_table_N.h from the profiles of google/fleetbench.

    scripts/fleet_tables.py FOLDER    # with profile-0.csv to profile-9.csv

A row of those files is a size, the rate of its allocations and the number of live objects, in units
that are the same for all rows of a file. They become shares in parts per billion."""
import csv
import os
import sys

HEAD = """/* Sizes, allocations and live objects of profile %(n)d of google/fleetbench
 * (fleetbench/tcmalloc/distributions), Copyright The Fleetbench Authors, Apache License 2.0
 * (https://www.apache.org/licenses/LICENSE-2.0). Changed: rates and counts became shares in parts
 * per billion, and sizes with neither were left out. Written by scripts/fleet_tables.py. */
#ifndef TP_FLEET_TABLE_%(n)d_H
#define TP_FLEET_TABLE_%(n)d_H

#include "traces/profiles/common/fleet_table.h"

/* clang-format off */
static const struct tp_fleet_row fleet_rows_%(n)d[] = {
"""
TAIL = """};
/* clang-format on */

#endif
"""


def table(path):
    with open(path, encoding="ascii") as file:
        rows = [(int(size), float(rate), float(live)) for size, rate, live in csv.reader(file)]
    rates, lives = sum(row[1] for row in rows), sum(row[2] for row in rows)
    shares = [(size, round(rate / rates * 1e9), round(live / lives * 1e9))
              for size, rate, live in rows]
    return ["{%d,%d,%d}," % row for row in shares if row[1] or row[2]]


def main():
    out = os.path.join(os.path.dirname(__file__), "..", "traces", "profiles", "common")
    for n in range(10):
        lines = [""]
        for row in table(os.path.join(sys.argv[1], "profile-%d.csv" % n)):
            if len(lines[-1]) + len(row) > 100:
                lines.append("")
            lines[-1] += row
        with open(os.path.join(out, "fleet_table_%d.h" % n), "w", encoding="ascii") as file:
            file.write(HEAD % {"n": n} + "\n".join(lines) + "\n" + TAIL)


main()
