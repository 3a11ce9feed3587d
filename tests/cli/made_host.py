"""Writes a trace of a made-up program of a host to stdout, as JSON lines: no program was recorded.

    made_host.py N SEED [growing] [late]    N is the size of its input

The order of its requests depends on SEED, as with threads or hash seeds, and their number on N: a table of N entries of 48
bytes, N/10 texts, a cache of 64 KiB, and temporary blocks. growing: N * N / 64 bytes more that no two runs place alike.
late: a block of 900 bytes for each entry but the first 90."""
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
choose.shuffle(blocks)
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"kind": "host", "name": "made-host"}}))
for i, (size, place) in enumerate(blocks):
    print(json.dumps({"op": "alloc", "id": 2 * i, "size": size, "place": place}))
    if choose.random() < 0.3:
        print(json.dumps({"op": "alloc", "id": 2 * i + 1, "size": choose.randrange(16, 512), "place": "temp.c:5 scratch"}))
        print(json.dumps({"op": "free", "id": 2 * i + 1}))
