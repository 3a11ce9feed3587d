#!/usr/bin/env python3
"""usage: trace.py SIZE... | TABLE: blocks of these sizes; of a table: the smallest and the largest of each class."""
import json
import sys


def quarters(first, last):
    """Classes with four steps in each doubling, above `first`."""
    while first < last:
        yield from (first + first // 4 * step for step in range(1, 5))
        first *= 2


jemalloc = [8, *range(16, 129, 16), *quarters(128, 64 << 20)]
mimalloc = [8, *range(16, 65, 16), *quarters(64, 128 << 10)]
tables = {"jemalloc-small": jemalloc[:jemalloc.index(14 << 10) + 1],
          "jemalloc-large": jemalloc[jemalloc.index(14 << 10):], "mimalloc": mimalloc}
sizes = sys.argv[1:]
if sizes[0] in tables:
    classes = tables[sizes[0]]
    if sizes[0] == "jemalloc-large":
        pairs = zip(classes, classes[1:])
    else:
        pairs = zip([0, *classes], classes)
    sizes = [size for before, own in pairs for size in (before + 1, own)]
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "sizes", "kind": "host"}}))
for block, size in enumerate(sizes):
    print(json.dumps({"op": "alloc", "id": block, "size": int(size), "align": 1}))
