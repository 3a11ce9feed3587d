#!/usr/bin/env python3
"""usage: trace.py NAME: a made trace of the CS:APP Malloc Lab: coalescing, binary, binary2, realloc or realloc2."""
import json
import sys


def alloc(block, size):
    return {"op": "alloc", "id": block, "size": size, "align": 8}


def free(block):
    return {"op": "free", "id": block}


def coalescing():
    for block in range(0, 7200, 3):
        yield from (alloc(block, 4095), alloc(block + 1, 4095), free(block), free(block + 1))
        yield from (alloc(block + 2, 8190), free(block + 2))


def binary(pairs, small, medium, large):
    for pair in range(pairs):
        yield from (alloc(2 * pair, small), alloc(2 * pair + 1, medium))
    for pair in range(pairs):
        yield free(2 * pair + 1)
    for block in range(pairs):
        yield alloc(2 * pairs + block, large)
    for block in range(pairs):
        yield from (free(2 * block), free(2 * pairs + block))


def realloc(size, step, small):
    yield from (alloc(0, size), alloc(1, small))
    for block in range(2, 4801):
        size += step
        yield from ({"op": "realloc", "id": 0, "size": size}, alloc(block, small), free(block - 1))
    yield from (free(4800), free(0))


made = {"coalescing": (coalescing,), "binary": (binary, 2000, 64, 448, 512), "binary2": (binary, 4000, 16, 112, 128),
        "realloc": (realloc, 512, 128, 128), "realloc2": (realloc, 4092, 5, 16)}
make, *arguments = made[sys.argv[1]]
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": sys.argv[1], "kind": "host"}}))
print(*map(json.dumps, make(*arguments)), sep="\n")
