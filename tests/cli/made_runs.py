"""Writes a trace of a made-up training to stdout, as JSON lines with the code that asked: no program was recorded.

    made_runs.py N [KEY=VALUE]...    N is the length of its sequences

    batch=1 layers=4 width=64 bytes=4 optimizer=sgd|adam order=mask-first|mask-last steps=2 pad=1 shift=0 extra=0 sum=0 sites=0

Sizes are products of whole numbers: weights of width * width, activations of batch * N * width, scores of
batch * N * N. pad: lengths are rounded up to its multiples. shift: bytes more for each score. extra: requests more of
this many bytes for each step. sum: one of sum * (batch + 3 * N) bytes more for each step.
sites: requests of N * 8 bytes that stay, each of a place of its own."""
import json
import sys


def main(n, batch=1, layers=4, width=64, size=4, optimizer="sgd", order="mask-first", steps=2, pad=1, shift=0, extra=0, both=0, sites=0):
    lines, live, at = [{"format": "tapool-trace", "version": 1, "meta": {"kind": "device", "name": "made-run-%d" % n}}], 0, 0
    length = -(-n // pad) * pad

    def ask(bytes_, place):
        nonlocal live, at
        live, at = live + 1, at + 1000
        lines.append({"t": at, "op": "alloc", "id": live, "size": bytes_, "place": place})
        return live

    def free(ids):
        nonlocal at
        for one in ids:
            at += 1000
            lines.append({"t": at, "op": "free", "id": one})

    weights = [ask(width * width * size, "model.py:%d weight" % (10 + i % 3)) for i in range(3 * layers)]
    weights += [ask(8 * n, "table.py:%d look_up" % i) for i in range(sites)]
    for _ in range(steps):
        kept = []
        for _ in range(layers):
            query = ask(batch * length * width * size, "model.py:39 forward")
            scores = ask(batch * length * length * size + shift, "model.py:41 softmax")
            masks = [("model.py:44 dropout", batch * length * length), ("model.py:46 scale", batch * length * width * size)]
            masked = [ask(bytes_, place) for place, bytes_ in (masks if order == "mask-first" else masks[::-1])]
            kept += [query, scores] + masked
        temporary = [ask(extra, "model.py:60 workspace")] if extra else []
        temporary += [ask(both * (batch + 3 * n), "model.py:62 table")] if both else []
        free(temporary)
        free(kept[::-1])
        if optimizer == "adam":
            free([ask(width * width * size, "optimizer.py:78 step") for _ in weights[:3 * layers]])
    free(weights)
    print("\n".join(map(json.dumps, lines)))


words = dict(word.split("=") for word in sys.argv[2:])
main(int(sys.argv[1]), **{{"bytes": "size", "sum": "both"}.get(k, k): v if k in ("optimizer", "order") else int(v) for k, v in words.items()})
