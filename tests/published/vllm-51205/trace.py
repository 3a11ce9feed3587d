#!/usr/bin/env python3
"""usage: trace.py MIB COUNT [fixed]: COUNT slabs, each freed before the next is allocated; fixed: after it."""
import json
import sys

size, count, fixed = int(sys.argv[1]) << 20, int(sys.argv[2]), "fixed" in sys.argv
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "slabs", "kind": "device"}}))
for slab in range(count):
    events = [{"op": "alloc", "id": slab, "size": size}]
    if slab:
        events.insert(1 if fixed else 0, {"op": "free", "id": slab - 1})
    print(*map(json.dumps, events), sep="\n")
