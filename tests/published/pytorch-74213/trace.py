#!/usr/bin/env python3
"""usage: trace.py MIB: one block."""
import sys

print('{"format": "tapool-trace", "version": 1, "meta": {"name": "block", "kind": "device"}}')
print('{"op": "alloc", "id": 1, "size": %d}' % (int(sys.argv[1]) << 20))
