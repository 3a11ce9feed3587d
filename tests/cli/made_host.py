"""Writes a trace of a made-up program of a host to stdout, as JSON lines: no program was recorded.

    made_host.py N SEED [growing] [late] [parsed] [table BYTES]    N is the size of its input

The order of its requests depends on SEED, as with threads or hash seeds, and their number on N: a table of N entries of 48
bytes, N/10 texts, a cache of 64 KiB, and temporary blocks. growing: N * N / 64 bytes more that no two runs place alike.
late: a block of 900 bytes for each entry but the first 90. parsed: before that N blocks of 600 bytes, which are freed,
and N * N / 4 bytes more behind them. table: one block for N entries of so many bytes, the next power of 2 of them."""
import json
import random
import sys

n, seed, growing, late = int(sys.argv[1]), int(sys.argv[2]), "growing" in sys.argv[3:], "late" in sys.argv[3:]
choose = random.Random(seed)
blocks = [(48, "table.c:20 insert")] * n + [(100, "text.c:7 copy")] * (n // 10) + [(65536, "cache.c:3 open")]
if growing:
    blocks += [(choose.randrange(1, n * n // 32), "log.c:9 append")]
if late:
    blocks += [(900 * (n - 90), "index.c:4 build")]
if "table" in sys.argv[3:]:
    blocks += [(int(sys.argv[-1]) * 2 ** (n - 1).bit_length(), "hash.c:8 grow")]
if "parsed" in sys.argv[3:]:
    blocks += [(n * n // 4, "matrix.c:12 square")]
choose.shuffle(blocks)
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"kind": "host", "name": "made-host"}}))
parsed = range(10 ** 6, 10 ** 6 + n if "parsed" in sys.argv[3:] else 0)
for one in parsed:
    print(json.dumps({"op": "alloc", "id": one, "size": 600, "place": "parse.c:9 node"}))
for one in parsed:
    print(json.dumps({"op": "free", "id": one}))
for i, (size, place) in enumerate(blocks):
    print(json.dumps({"op": "alloc", "id": 2 * i, "size": size, "place": place}))
    if choose.random() < 0.3:
        print(json.dumps({"op": "alloc", "id": 2 * i + 1, "size": choose.randrange(16, 512), "place": "temp.c:5 scratch"}))
        print(json.dumps({"op": "free", "id": 2 * i + 1}))
