"""Writes traces of made-up programs that small recordings do not tell, as JSON lines: no program was recorded.

    made_doubt.py KIND N [M]    to KIND-N.jsonl, or KIND-N-M.jsonl

Each has weights that stay and, in turn: a workspace that only larger runs have (alone), sizes that are no law of two points
(root, mixed), blocks of the recorded heap that match in two ways (heap), requests of which one run keeps all until its end
(kept, dropped), a kernel that needs n^2 from 256 on and n below (kernel), a block that lives throughout and one run lacks (stays, lacks), requests before its steps that no two runs share and that grow
with n^2 (warm), a block more for every 16 entries (paged),
a sum of two settings (sum, with M), b m + 4 m^2 of them (trade), values with 10 added (added), rounded up to 128 (padded) or
to a power of 2 (bucket), n / 64 of a thousand equal blocks at once (depth), n / 8 blocks beside n^2 (pages), and blocks that
21 segments of 20 MiB hold better at some sizes (holes), and buffers that grow less from 256 on (bend). late: of a host, a second phase that small runs lack."""
import json
import math
import random
import sys

kind, n, m = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
lines, ids = [{"format": "tapool-trace", "version": 1, "meta": {"kind": "host" if kind == "late" else "device", "name": kind}}], 0


def ask(size, place):
    global ids
    ids += 1
    lines.append({"t": ids, "op": "alloc", "id": ids, "size": int(size), "place": place})
    return ids


def free(*those):
    lines.extend({"t": ids, "op": "free", "id": one} for one in those)


def steps(size, count=4):
    return [ask(size, "model.py:30 act") for _ in range(count)]


if kind == "heap":
    for size in (n * 1024, 2 * n * 1024, 300 << 10):
        ids += 1
        lines.append({"op": "initial", "id": ids, "size": size})
weights = [ask(4 << 20, "model.py:%d weight" % (i % 3))
           for i in range({"alone": 24, "paged": 24, "depth": 25, "pages": 0, "holes": 0, "bend": 0, "late": 0}.get(kind, 2))]
if kind == "alone":
    acts = steps(n * 1024)
    free(*[ask(n * n, "gemm.py:9 workspace")] if n >= 512 else [], *acts)
elif kind == "root":
    free(*steps(512 * round(1000 * math.sqrt(n))))
elif kind == "mixed":
    free(*steps(4 * (768 * n * 4 + n * n * 4)))
elif kind in ("kept", "dropped"):
    kept = []
    for _ in range(40):
        kept += steps(n * 65536, 1)
        if kind == "dropped":
            free(kept.pop())
    free(*kept)
elif kind in ("stays", "lacks"):
    stays = [ask(n * 60000, "autotune.py:3 cache")] if kind == "stays" else []
    for _ in range(200):
        free(*steps(n * 65536))
    free(*stays)
elif kind == "paged":
    free(*[ask(65536, "cache.py:7 new_block") for _ in range(n // 16)])
elif kind == "kernel":
    free(*steps(8192 * n if n <= 256 else 32 * n * n))
elif kind == "warm":
    for i in range(n // 16):
        free(ask(64 * n * n, "plan.py:%d try_%d" % (i, n)))
    for _ in range(6):
        free(*steps(65536 * n))
elif kind == "sum":
    free(*steps(4096 * (32 * n + m)))
elif kind == "trade":
    free(*steps(4096 * (n * m + 4 * m * m), 8))
elif kind in ("added", "padded", "bucket"):
    free(*steps(4096 * {"added": n + 10, "padded": -(-n // 128) * 128, "bucket": 2 ** (n - 1).bit_length()}[kind], 20))
elif kind == "depth":
    queue = []
    for _ in range(1000):
        queue += steps(307200, 1)
        if len(queue) > max(1, n // 64):
            free(queue.pop(0))
    free(*queue)
elif kind == "pages":
    acts = steps(64 * n * n, 20)
    free(*[ask(131072, "kv.py:30 page") for _ in range(max(1, n // 8))], *acts)
elif kind == "bend":
    free(*steps(65536 * n if n <= 256 else (12 << 20) + 16384 * n))
elif kind == "holes":
    free(*steps(131072 * n, 21))
elif kind == "late":
    free(ask(4000000, "parse.c:3 buf"))
    noise = random.Random(n)
    for i in range(n // 8):
        weights += [ask(noise.randrange(16, 1200), "row.c:%d new" % noise.randrange(3))]
    weights += [ask(600 * n, "spill.c:8 run")] if n >= 1500 else []
else:
    free(*steps(n * 64, 1))
free(*weights)
with open("%s-%d%s.jsonl" % (kind, n, "-%d" % m if m else ""), "w", encoding="utf-8") as file:
    file.write("\n".join(map(json.dumps, lines)) + "\n")
