#!/usr/bin/env python3
"""usage: trace.py KIB COUNT: COUNT blocks that stay."""
import json
import sys

size, count = int(sys.argv[1]) << 10, int(sys.argv[2])
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "blocks", "kind": "device"}}))
for block in range(count):
    print(json.dumps({"op": "alloc", "id": block, "size": size}))
