"""Prints the exact metrics (class E) of every run of a result, one a line, for comparing with diff.

    class_e.py RESULT.json [-source] [-devices] [-curve]

    -source     without what names the source
    -devices    without the only device, whose figures are those of the run
    -curve      of curves a hash alone

Figures are printed as the JSON has them, digit by digit.
"""
import hashlib
import json
import sys


def short_curves(value):
    """The same with each curve as the hash of its points."""
    if isinstance(value, list):
        return [short_curves(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: hashlib.sha256(json.dumps(v).encode()).hexdigest()[:16] if k == "curve" else short_curves(v)
            for k, v in value.items()}


def flat(prefix, value, out):
    if isinstance(value, dict):
        for key in sorted(value):
            flat(prefix + "." + key, value[key], out)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            flat("%s[%d]" % (prefix, i), item, out)
    else:
        out.append("%s %s" % (prefix, value))


def main(path, *options):
    with open(path, encoding="utf-8") as file:
        runs = json.load(file, parse_float=str, parse_int=str)["runs"]
    for run in runs:
        out = []
        name = run["strategy"]["label"]
        if "-devices" in options and len(run["devices"]) == 1:
            del run["devices"]
        if "-curve" in options:
            run = short_curves(run)
        for key in ("trace", "strategy", "memory", "driver_calls", "failed_allocations",
                    "skipped_operations", "first_failed_event", "devices"):
            if key in run:
                flat(name + "." + key, run[key], out)
        if "-source" not in options:
            flat(name + ".source", run["source"], out)
        flat(name + ".warnings", [w["id"] for w in run["warnings"]
                                  if w["id"] not in ("drift", "slow-build")], out)
        print("\n".join(line for line in out if ".trace.path " not in line))


main(*sys.argv[1:])
