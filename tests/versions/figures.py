"""Prints the exact figures of traces, one a line: figures.py TAPOOL TRACE...

A released version's figures.txt never changes. If members of the JSON are renamed, change their paths here."""
import json
import os
import subprocess
import sys

OF_TRACE = {"hash": "trace.program_hash", "events": "trace.events", "objects": "trace.objects",
            "threads": "trace.threads", "initial": "before.bytes", "live at end": "live_at_end_bytes"}
OF_DEVICE = {"requested": "memory.peak_requested_bytes", "reserved": "memory.peak_reserved_bytes",
             "reserved at end": "memory.end_reserved_bytes", "calls": "driver_calls.total"}
STRATEGIES = {"host": ["direct", "bump"], "device": ["direct", "torch"]}


def tapool(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "TAPOOL_CONFIG": ""})
    return json.loads(done.stdout)


def show(name, figures, document):
    for figure, path in figures.items():
        value = document
        for key in path.split("."):
            value = value[key]
        print(name, figure, value)


def main(binary, *paths):
    for path in paths:
        name, info = os.path.basename(path), tapool(binary, "info", path, "--json")
        show(name, OF_TRACE, info)
        for site in info.get("peak_sites", {}).get("places", []):
            print(name, "site", site["bytes"], site["place"], *site.get("callers", []), sep=" | ")
        words = [word for strategy in STRATEGIES[info["trace"]["kind"]] for word in ("-s", strategy)]
        for run in tapool(binary, "replay", path, *words, "--source", "virtual", "--passes", "usage", "--json")["runs"]:
            for i, device in enumerate(run["devices"]):
                show(f"{name} {run['strategy']['label']} {i}", OF_DEVICE, device)


main(*sys.argv[1:])
