"""Stored results of very many rows, and which of them are left on a page that has no room for all.

many_rows.py write ONE.json MANY.json STRATEGIES TRACES NAME: results of so many strategies on so many traces, made from
the first run of ONE.json, with names that are NAME bytes longer. Every third strategy needs more or less memory.

many_rows.py cells ONE.json MANY.json COUNT NAME: a baseline of so many cells, each the first one of ONE.json under a
name of its own, which is NAME bytes longer. Every third one held less memory.

many_rows.py look PAGE.html ALL.json: prints nothing where the page has the rows that matter most.
"""
import copy
import json
import re
import sys


def write(one, many, strategies, traces, name):
    with open(one) as file:
        result = json.load(file)
    run, result["runs"] = result["runs"][0], []
    for t in range(int(traces)):
        for i in range(int(strategies)):
            new = copy.deepcopy(run)
            new["trace"]["name"] = "trace-%d" % t + "n" * int(name)
            new["trace"]["program_hash"] = "%064x" % (t + 1)
            new["strategy"]["label"] = "strategy-%d" % i + "l" * int(name)
            change = 4096 * ((i * 7919 + t) % 1000 - 499) if i % 3 == 1 else 0
            for of in (new, *new["devices"]):
                of["memory"]["peak_reserved_bytes"] = (1 << 24) + change
            result["runs"].append(new)
    with open(many, "w") as file:
        json.dump(result, file)


def cells(one, many, count, name):
    with open(one) as file:
        baseline = json.load(file)
    (trace, strategies), = baseline["cells"].items()
    cell = next(iter(strategies.values()))
    baseline["cells"] = {trace: {"strategy-%d" % i + "l" * int(name): copy.deepcopy(cell) for i in range(int(count))}}
    for i, of in enumerate(baseline["cells"][trace].values()):
        for values in of.values():
            if i % 3 == 1:
                values["metrics"]["peak_reserved"] -= 4096
    with open(many, "w") as file:
        json.dump(baseline, file)


def peak_change(row):
    return row["metrics"]["peak_reserved"]["change"] or 0


def rank(row):
    """Worse rows come before better ones, and those before the same; the largest change first."""
    change = peak_change(row)
    return (change > 0, abs(change))


def look(page, whole):
    """Returns the ranks of the rows that are shown and of those that are left out."""
    shown, left = [], []
    tables = {t["trace"]["name"]: t for t in whole["tables"]}
    for at, table in enumerate(page["tables"]):
        of = tables.pop(table["trace"]["name"])
        base, here = of["rows"][0]["label"], {r["label"]: r for r in table["rows"]}
        assert (table["pick"], table["pick_text"]) == (of["pick"], of["pick_text"])
        assert all(table["rows"][r["base"]]["label"] == base for r in table["rows"])
        runs = [run["row"] for run in page["page"]["runs"] if run["table"] == at]
        assert runs == list(range(len(here))), runs
        for row in of["rows"]:
            if row["label"] in here:
                assert here[row["label"]]["metrics"] == row["metrics"]
            if row["label"] not in (base, of["pick"]):
                (shown if row["label"] in here else left).append(rank(row))
    left += [rank(row) for of in tables.values() for row in of["rows"][1:]]
    return shown, left


def main(command, *args):
    if command in ("write", "cells"):
        {"write": write, "cells": cells}[command](*args)
        return
    with open(args[0]) as file:
        text = file.read()
    with open(args[1]) as file:
        whole = json.load(file)
    page = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    shown, left = look(page, whole)
    assert left and min(shown) >= max(left), (min(shown), left and max(left))
    assert len(text) > 2200000, "there is room for more: %d bytes" % len(text)
    for first, count in re.findall(r'data-first="(\d+)" data-count="(\d+)"', text):
        assert int(first) + int(count) <= len(page["page"]["runs"])
    assert text.count('data-view="changes"') == len(page["tables"])


main(*sys.argv[1:])
