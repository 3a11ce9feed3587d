#!/usr/bin/env python3
"""usage: trace.py MIB: a block of MIB, freed, then one of 200 MiB."""
import json
import sys

print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "blocks", "kind": "device"}}))
for event in ({"op": "alloc", "id": 1, "size": int(sys.argv[1]) << 20}, {"op": "free", "id": 1},
              {"op": "alloc", "id": 2, "size": 200 << 20}):
    print(json.dumps(event))
