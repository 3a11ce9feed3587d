#!/usr/bin/env python3
"""530 MiB, freed, then 270 and 530 MiB that stay."""
import json

print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "weights", "kind": "device"}}))
for event in ({"op": "alloc", "id": 1, "size": 530 << 20}, {"op": "free", "id": 1},
              {"op": "alloc", "id": 2, "size": 270 << 20}, {"op": "alloc", "id": 3, "size": 530 << 20}):
    print(json.dumps(event))
