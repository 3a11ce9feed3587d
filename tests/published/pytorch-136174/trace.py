#!/usr/bin/env python3
"""1024 MiB, freed, then 500 MiB."""
import json

print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "blocks", "kind": "device"}}))
for event in ({"op": "alloc", "id": 1, "size": 1024 << 20}, {"op": "free", "id": 1},
              {"op": "alloc", "id": 2, "size": 500 << 20}):
    print(json.dumps(event))
