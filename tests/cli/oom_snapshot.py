"""Writes a PyTorch memory snapshot that ends in out of memory, made by hand, to stdout.

    oom_snapshot.py fragmented    asks for 50 MiB: 70 MiB are free, in pieces of 30, 30 and 10
    oom_snapshot.py too-big       asks for 200 MiB of a device with 170
    oom_snapshot.py two           the first on device 0, the second on device 1
    oom_snapshot.py growing       the first with segments that grow: both parts are of one, in units of 20 MiB
    oom_snapshot.py rank MIB [WORD]...    the first without the out of memory, and with weights of so many MiB; idle: a
                                  segment of 40 MiB lies idle; late: recorded after the weights were there; last: after all
                                  was there; bare: without frames; phase=NAME instead of forward; name=NAME of the function that makes the weights

    segment of 100 MiB  | 30 free | 4 loss | 30 free | 36 activations |      segment of 60 MiB  | 60 weights |
"""
import pickle
import sys

MIB = 1 << 20
GROWS = sys.argv[1] == "growing"
RANK = sys.argv[1] == "rank"
W = int(sys.argv[2]) if RANK else 60
WORDS = dict((w.split("=", 1) + [""])[:2] for w in sys.argv[3:])
A = 0x7f0000000000
B = A + 100 * MIB if GROWS else 0x7f0010000000
C = 0x7f0020000000


def frames(*lines):
    if "bare" in WORDS:
        return []
    inner = [{"filename": "??", "line": 0, "name": "at::empty_cuda(long)"},
             {"filename": "/usr/lib/python3/site-packages/torch/nn/functional.py", "line": 2, "name": "linear"}]
    return inner + [{"filename": "/home/me/" + f, "line": n, "name": name} for f, n, name in lines]


MAIN = ("train.py", 90, "main")
FORWARD = frames(("model.py", 21, "forward"), ("train.py", 88, "step"), MAIN)
LOSS = frames(("loss.py", 40, "cross_entropy"), ("train.py", 88, "step"), MAIN)
WEIGHTS = frames(("model.py", 8, WORDS.get("name", "__init__")), ("train.py", 12, "build"), MAIN)


def trace(asked):
    t = [1700000000000000]

    def entry(action, addr, mib, stack):
        t[0] += 250
        return {"action": action, "addr": addr, "size": mib * MIB, "stream": 0, "time_us": t[0], "frames": stack}

    def free(addr, mib, stack):
        return [entry("free_requested", addr, mib, stack), entry("free_completed", addr, mib, stack)]

    taken = "segment_map" if GROWS else "segment_alloc"
    parts = [(B, W, WEIGHTS), (A, 100, FORWARD)]
    events = []
    if "idle" in WORDS:
        events = [entry(what, C, 40, LOSS) for what in (taken, "alloc")] + free(C, 40, LOSS)
    events += [entry(what, *part) for part in (parts[::-1] if GROWS else parts) for what in (taken, "alloc")]
    events += free(A, 100, FORWARD)
    for offset, mib, stack in ((0, 30, FORWARD), (30, 4, LOSS), (34, 30, FORWARD), (64, 36, FORWARD)):
        events.append(entry("alloc", A + offset * MIB, mib, stack))
    events += free(A, 30, LOSS) + free(A + 34 * MIB, 30, LOSS)
    if RANK:
        late = [e for e in events if e["addr"] != B] if "late" in WORDS else events
        return late[-4:] if "last" in WORDS else late
    oom = entry("oom", 0, asked, FORWARD)
    del oom["addr"]
    oom["device_free"] = 10 * MIB
    return events + [oom]


def segments(device):
    def block(addr, mib, state, stack):
        return {"address": addr, "size": mib * MIB, "requested_size": mib * MIB, "state": state, "frames": stack}

    def segment(addr, mib, blocks):
        return {"device": device, "address": addr, "total_size": mib * MIB, "stream": 0, "segment_type": "large",
                "segment_pool_id": (0, 0), "is_expandable": GROWS, "frames": [], "blocks": blocks}

    first = [block(A, 30, "inactive", []), block(A + 30 * MIB, 4, "active_allocated", LOSS),
             block(A + 34 * MIB, 30, "inactive", []), block(A + 64 * MIB, 36, "active_allocated", FORWARD)]
    second = [block(B, W, "active_allocated", WEIGHTS)]
    if RANK:
        idle = [segment(C, 40, [block(C, 40, "inactive", [])])] if "idle" in WORDS else []
        return [segment(A, 100, first), segment(B, W, second)] + idle
    return [segment(A, 160, first + second)] if GROWS else [segment(A, 100, first), segment(B, 60, second)]


asked = {"fragmented": [50], "growing": [50], "too-big": [200], "two": [50, 200], "rank": [0]}[sys.argv[1]]
annotations = [{"stage": stage, "name": WORDS.get("phase", name), "device": 0, "time_us": 1700000000000000 + us}
               for stage, name, us in (("START", "forward", 900), ("END", "forward", 2100))]
snapshot = {"segments": [s for d in range(len(asked)) for s in segments(d)],
            "device_traces": [trace(a) for a in asked],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if GROWS else ""}, "external_annotations": annotations}
sys.stdout.buffer.write(pickle.dumps(snapshot, protocol=4))
