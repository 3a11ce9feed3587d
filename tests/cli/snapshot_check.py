"""Checks a PyTorch memory snapshot that tapool wrote: its opcodes, every key with its type, that what
happens is possible, and what is left.

    snapshot_check.py FILE [JSON]    exits 0 and prints a line of figures; JSON is the result of the same run
"""
import json
import pickle
import pickletools
import sys

DATA = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "SHORT_BINUNICODE", "BINUNICODE",
        "MEMOIZE", "BINGET", "LONG_BINGET", "BININT", "BININT1", "BININT2", "LONG1", "NEWTRUE", "NEWFALSE",
        "TUPLE2", "STOP"}
FRAMES = {"filename": str, "line": int, "name": str}
SEGMENT = {"device": int, "address": int, "total_size": int, "allocated_size": int, "active_size": int,
           "requested_size": int, "stream": int, "segment_type": str, "segment_pool_id": tuple,
           "is_expandable": bool, "frames": list, "blocks": list}
BLOCK = {"address": int, "size": int, "requested_size": int, "state": str}
EVENT = {"action": str, "addr": int, "size": int, "stream": int, "time_us": int}
ANNOTATION = {"stage": str, "name": str, "device": int, "time_us": int}
PAGE = 2 << 20
TOP = {"segments": list, "device_traces": list, "allocator_settings": dict, "external_annotations": list}


def need(truth, what, *of):
    if not truth:
        sys.exit("%s: %s" % (sys.argv[1], what % of))


def typed(name, value, keys, optional=()):
    need(type(value) is dict, "%s is no dict", name)
    need(set(keys) - set(optional) <= set(value) <= set(keys) | set(optional), "%s has %s", name, sorted(value))
    for key, kind in keys.items():
        if key in value:
            need(type(value[key]) is kind, "%s of %s is %r", key, name, value[key])
            need(kind is not int or 0 <= value[key] < 1 << 63, "%s of %s is %r", key, name, value[key])


class Device:
    """What the events of a device leave. What was held before them is what an event is wrong about."""

    def __init__(self, known):
        self.known, self.held, self.live = known, {}, {}
        self.peak = self.taken = self.given = 0
        self.counts, self.whole = {}, True

    @property
    def now(self):
        return self.taken - self.given

    def cut(self, addr, size):
        """Takes bytes out of what is held side by side."""
        for base, length in list(self.held.items()):
            low, high = max(base, addr), min(base + length, addr + size)
            if low < high:
                del self.held[base]
                if base < low:
                    self.held[base] = low - base
                if high < base + length:
                    self.held[high] = base + length - high

    def play(self, e):
        action, addr, size = e["action"], e.get("addr"), e["size"]
        self.counts[action] = self.counts.get(action, 0) + 1
        if action in ("segment_alloc", "segment_map"):
            self.held[addr] = size
            self.taken += size
            self.whole &= size % PAGE == 0
        elif action in ("segment_free", "segment_unmap"):
            need(not self.known or action == "segment_unmap" or self.held.get(addr) == size, "%s", e)
            need(not any(addr <= a < addr + size for a in self.live), "live blocks in %s", e)
            self.cut(addr, size)
            self.given += size
        elif action == "alloc":
            need(addr not in self.live, "%s is live", e)
            self.live[addr] = size
        elif action == "free_completed":
            need(self.live.pop(addr, None if self.known else size) == size, "%s", e)
        self.peak = max(self.peak, self.now)


def check_events(number, events, known):
    d, last = Device(known), 0
    for e in events:
        oom = e.get("action") == "oom"
        keys = {k: t for k, t in EVENT.items() if not oom or k != "addr"}
        typed("an event", e, dict(keys, frames=list, device_free=int), ("frames", "device_free"))
        need(e["action"] in ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
                             "segment_map", "segment_unmap", "oom"), "%s", e)
        need(oom or "device_free" not in e, "%s", e)
        need(e["time_us"] >= last, "time goes back at %s", e)
        for frame in e.get("frames", ()):
            typed("a frame", frame, FRAMES)
        last = e["time_us"]
        d.play(e)
    return d


def check_segments(segments, devices, known):
    behind = {}
    for s in segments:
        typed("a segment", s, SEGMENT)
        need(s["segment_type"] in ("large", "small") and s["segment_pool_id"] == (0, 0), "%s", s)
        need(s["address"] >= behind.get(s["device"], 0), "segments are not in order")
        at, live, requested = s["address"], 0, 0
        d = devices[s["device"]]
        for b in s["blocks"]:
            typed("a block", b, BLOCK)
            need(b["address"] == at and b["size"] > 0, "a block at %s, not %s", b["address"], at)
            need(b["state"] in ("active_allocated", "inactive"), "%s", b)
            if b["state"] == "active_allocated":
                need(0 < b["requested_size"] <= b["size"], "%s", b)
                need(d.live.pop(b["address"], None if known else b["requested_size"]) == b["requested_size"], "%s", b)
                live += b["size"]
                requested += b["requested_size"]
            at += b["size"]
        behind[s["device"]] = at
        need(at == s["address"] + s["total_size"], "blocks do not fill the segment at %s", s["address"])
        need((live, live, requested) == (s["allocated_size"], s["active_size"], s["requested_size"]), "%s", s)
    need(not any(d.live for d in devices), "live blocks are in no segment")


def check_annotations(annotations):
    opened = []
    for a in annotations:
        typed("an annotation", a, ANNOTATION)
        if a["stage"] == "START":
            opened.append((a["name"], a["device"]))
        else:
            need(a["stage"] == "END" and (a["name"], a["device"]) in opened, "%s", a)
            opened.remove((a["name"], a["device"]))


def agree(devices, segments, result):
    """Against the JSON result: calls, failures, bytes and the peak. The peak is that of the device's pages, which
    a segment that is no multiple of them does not fill."""
    for number, d in enumerate(devices):
        run = result["runs"][0]["devices"][number]
        held = sum(s["total_size"] for s in segments if s["device"] == number)
        start, n = held - d.now, d.counts.get
        peak, end = run["memory"]["peak_reserved_bytes"], run["memory"]["end_reserved_bytes"]
        if d.whole and all(s["total_size"] % PAGE == 0 for s in segments):
            need((start + d.peak, held) == (peak, end), "peak %s, not %s", start + d.peak, peak)
        need(start + d.peak <= peak and held <= end, "peak %s above %s", start + d.peak, peak)
        for name, got, said in (
                ("bytes of gets", d.taken, run["source_calls"]["get_bytes"]),
                ("bytes of puts", d.given, run["source_calls"]["put_bytes"]),
                ("gets", n("segment_alloc", 0) + n("segment_map", 0), run["source_calls"]["get"]),
                ("puts", n("segment_free", 0) + n("segment_unmap", 0), run["source_calls"]["put"]),
                ("failed", n("oom", 0), run["failed_allocations"] - (run["failed_initial_blocks"] or 0))):
            need(got == said, "%s: %s, not %s", name, got, said)


path = sys.argv[1]
with open(path, "rb") as f:
    data = f.read()
for op, _, _ in pickletools.genops(data):
    need(op.name in DATA, "opcode %s", op.name)
snapshot = pickle.loads(data)
typed("the snapshot", snapshot, TOP)
result = json.load(open(sys.argv[2])) if len(sys.argv) > 2 else None
held = {}
for s in snapshot["segments"]:
    held[s["device"]] = held.get(s["device"], 0) + s["total_size"]
devices = []
for number, events in enumerate(snapshot["device_traces"]):
    taken = sum(e["size"] * (e["action"] in ("segment_alloc", "segment_map")) for e in events)
    given = sum(e["size"] * (e["action"] in ("segment_free", "segment_unmap")) for e in events)
    known = taken - given == held.get(number, 0)
    devices.append(check_events(number, events, known))
check_segments(snapshot["segments"], devices, all(d.known for d in devices))
check_annotations(snapshot["external_annotations"])
need(all(type(v) in (str, bool) for v in snapshot["allocator_settings"].values()), "settings")
if result:
    agree(devices, snapshot["segments"], result)
total = {}
for d in devices:
    for action, n in d.counts.items():
        total[action] = total.get(action, 0) + n
print(" ".join("%s=%d" % item for item in sorted(total.items())))
