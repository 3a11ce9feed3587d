#!/usr/bin/env python3
"""One request of 1,024 bytes."""
print('{"format": "tapool-trace", "version": 1, "meta": {"name": "request", "kind": "device"}}')
print('{"op": "alloc", "id": 1, "size": 1024}')
