#!/usr/bin/env python3
"""One tensor of 514 MiB."""
print('{"format": "tapool-trace", "version": 1, "meta": {"name": "tensor", "kind": "device"}}')
print('{"op": "alloc", "id": 1, "size": %d}' % (514 << 20))
