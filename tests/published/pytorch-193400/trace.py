#!/usr/bin/env python3
"""usage: trace.py CYCLES [no-guard]: the workload of README.md, or the one without the 2 MiB that stay."""
import json
import sys

MIB = 1 << 20
cycles, guard = int(sys.argv[1]), "no-guard" not in sys.argv


def event(op, block, mib=None):
    print(json.dumps({"op": op, "id": block, **({"size": int(mib * MIB)} if mib else {})}))


print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "cycles", "kind": "device"}}))
event("alloc", 0, 64)
for first in range(1, 3 * cycles, 3):
    event("alloc", first, 91)
    event("alloc", first + 1, 45.5)
    if guard:
        event("alloc", first + 2, 2)
    event("free", first)
    event("free", first + 1)
