#!/usr/bin/env python3
"""usage: trace.py SIZE [COUNT]: COUNT blocks of SIZE, in bytes or with GiB behind it, that stay."""
import json
import sys

size, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
size = int(float(size[:-3]) * (1 << 30)) if size.endswith("GiB") else int(size)
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "pinned", "kind": "host"}}))
for block in range(count):
    print(json.dumps({"op": "alloc", "id": block, "size": size}))
