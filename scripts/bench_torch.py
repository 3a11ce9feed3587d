"""What scripts/bench.py measures of PyTorch snapshots and of offline packing:

  torch     the usage pass of the strategy torch, on a training loop and on a real snapshot
  tune      64 settings on a snapshot
  why       the answer of a snapshot
  verify    a snapshot of VERIFY_BYTES (default 2e9), made here: time and memory
  predict   two recordings of a program, of 20,000 and of 10^6 events, made here: time and memory
  packing   minimalloc's instances: the height found within 60 s, against the known 1,048,576

The snapshots are those beside the repository (TAPOOL_SHARED); without them only what is made here
and what is in tests/data is measured.
"""
import json
import os
import pickle
import random
import statistics
import subprocess
import time

from bench_common import ROUNDS, gen, output_of, print_goal, replay

SHARED = os.environ.get("TAPOOL_SHARED", os.path.join("..", "shared"))
VERIFY_BYTES = int(float(os.environ.get("VERIFY_BYTES", "2e9")))
BOUND_TIME = os.environ.get("BOUND_TIME", "60s")
KNOWN = 1048576
MIB = 1 << 20


def seconds_of(*command):
    start = time.monotonic()
    output_of(*command)
    return time.monotonic() - start


def median_seconds(*command):
    return statistics.median(seconds_of(*command) for _ in range(ROUNDS))


def bench_speed(tapool, folder, snapshot):
    traces = [gen(tapool, folder, "training", "training-step", "--seed", 1)]
    traces += [snapshot] if snapshot else []
    for trace in traces:
        rates = {"torch": [], "arena": []}
        for _ in range(ROUNDS):
            for strategy, list_ in rates.items():
                run = replay(tapool, trace, strategy, "--passes", "throughput")
                list_.append(1e9 / (run["throughput"]["ns_per_op"] + run["throughput"]["replay_overhead_ns_per_op"]))
        torch, arena = (statistics.median(rates[s]) for s in ("torch", "arena"))
        print_goal("torch, %s" % os.path.basename(trace)[:36], torch / 1e6, 10, "M op/s",
                   "arena %.1f" % (arena / 1e6), most=False)


def bench_answers(tapool, snapshot):
    tune = median_seconds(tapool, "tune", snapshot, "--capacity", "24GiB", "--json")
    print_goal("tune, 64 settings", tune, 5, "s")
    why = median_seconds(tapool, "why", snapshot, "--json")
    print_goal("why", why, 1, "s")


def event(action, addr, size, at):
    frames = [{"filename": "/train/model.py", "line": 10 + addr // 512 % 90, "name": "forward"}]
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1000000 + at, "frames": frames}


def body_of(value):
    """What a pickle of the value holds between its beginning and its end, to be put into another."""
    return pickle.dumps(value, protocol=2)[2:-1]


def rounds_of_events(segments, blocks, size, base):
    """First every segment and its blocks; then each block is freed and allocated again, for ever."""
    at = 0
    places = [base + s * blocks * size + b * size for s in range(segments) for b in range(blocks)]
    for s in range(segments):
        yield event("segment_alloc", base + s * blocks * size, blocks * size, at)
        for addr in places[s * blocks:(s + 1) * blocks]:
            at += 1
            yield event("alloc", addr, size, at)
    while True:
        for addr in places:
            for action in ("free_requested", "free_completed", "alloc"):
                at += 1
                yield event(action, addr, size, at)


def write_snapshot(path, least):
    """A program that fills segments of 20 MiB with blocks of 2 MiB, then frees and allocates each in
    turn, until the pickle has so many bytes: PyTorch would place them just so. It is written event by
    event, since all of them would not fit into memory."""
    segments, blocks, size, base = 50, 10, 2 * MIB, 1 << 40
    per_round = 3 * segments * blocks
    events = rounds_of_events(segments, blocks, size, base)
    at_end = [{"device": 0, "address": base + s * blocks * size, "total_size": blocks * size,
               "allocated_size": blocks * size, "active_size": blocks * size,
               "requested_size": blocks * size, "stream": 0, "segment_type": "large",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
               "blocks": [{"address": base + (s * blocks + b) * size, "size": size, "requested_size": size,
                           "state": "active_allocated", "frames": []} for b in range(blocks)]}
              for s in range(segments)]
    with open(path, "wb") as file:
        file.write(b"\x80\x02}(" + body_of("segments") + body_of(at_end))
        file.write(body_of("allocator_settings") + body_of({}) + body_of("external_annotations") + body_of([]))
        file.write(body_of("device_traces") + b"](](")  # a list of lists, both open
        for _ in range(segments * (blocks + 1)):
            file.write(body_of(next(events)))
        while file.tell() < least:
            for _ in range(per_round):
                file.write(body_of(next(events)))
        file.write(b"eeu.")
    return os.path.getsize(path)


def time_and_memory(*command):
    """Seconds, and MB of this process alone."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return time.monotonic() - start, used.ru_maxrss * 1024 / 1e6


def write_run(tapool, folder, n, events):
    """A snapshot of a made-up program at a length of n: 200 places of constant, linear and square sizes, 3,000 blocks
    live at a time."""
    choose, live, lines = random.Random(1), [], []
    for at in range(events):
        if live and (len(live) > 3000 or choose.random() < 0.45):
            which = choose.randrange(len(live))
            live[which], live[-1] = live[-1], live[which]
            lines.append({"t": at, "op": "free", "id": live.pop()})
        else:
            place = choose.randrange(200)
            size = (place % 7 + 1) * 256 * (1, n, n * n // 16)[place % 3]
            lines.append({"t": at, "op": "alloc", "id": at, "size": size, "place": "model.py:%d forward" % place})
            live.append(at)
    trace, snapshot = (os.path.join(folder, "run-%d.%s" % (n, suffix)) for suffix in ("jsonl", "pickle"))
    with open(trace, "w", encoding="utf-8") as file:
        file.write('{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}\n')
        file.writelines(json.dumps(line) + "\n" for line in lines)
    output_of(tapool, "replay", trace, "-s", "torch", "--min-time", "0", "--no-fits", "--bound-time", "0",
              "--force", "--export-snapshot", snapshot)
    os.unlink(trace)
    return snapshot


def bench_predict(tapool, folder):
    for events, seconds, memory in ((20000, 2, 256), (1000000, None, None)):
        runs = ["%s@%d" % (write_run(tapool, folder, n, events), n) for n in (64, 128)]
        took, used = time_and_memory(tapool, "predict", *runs, "--at", "256")
        print_goal("predict, two snapshots of %d events" % events, took, seconds, "s")
        print_goal("its memory", used, memory, "MB")


def bench_verify(tapool, folder):
    path = os.path.join(folder, "large.pickle")
    bytes_ = write_snapshot(path, VERIFY_BYTES)
    took, peak = time_and_memory(tapool, "verify", path)
    os.unlink(path)
    print_goal("verify, %.2f GB" % (bytes_ / 1e9), took, 60, "s")
    print_goal("its memory", peak, 512, "MB")


def bench_packing(tapool):
    exact = 0
    for name in "ADJK":
        trace = os.path.join("tests", "data", "minimalloc", name + ".1048576.csv")
        start = time.monotonic()
        memory = replay(tapool, trace, "arena", "--passes", "usage", "--bound-time", BOUND_TIME)["memory"]
        took, best = time.monotonic() - start, memory["best_packing_bytes"]
        exact += best <= KNOWN
        print_goal("packing %s" % name, 100 * (best / KNOWN - 1), 3, "% above", "%.1f s" % took)
    print_goal("packings at the known height", exact, 2, "of 4", most=False)


def print_torch(tapool, folder):
    snapshot = os.path.join(SHARED, "corpus", "pytorch", "training-999-segments.pickle.gz")
    snapshot = snapshot if os.path.exists(snapshot) else None
    bench_speed(tapool, folder, snapshot)
    if snapshot:
        bench_answers(tapool, snapshot)
    bench_predict(tapool, folder)
    bench_verify(tapool, folder)
    bench_packing(tapool)
