"""Checks a PyTorch memory snapshot that tapool wrote: its opcodes, every key with its type, that what
happens is possible, and what is left.

    snapshot_check.py FILE [JSON [RECORDED]]
        exits 0 and prints a line of figures; JSON is the result of the same run, RECORDED the snapshot that was replayed,
        which must have ended in the same way
"""
import bisect
import gzip
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
BLOCK = {"address": int, "size": int, "requested_size": int, "state": str, "frames": list}
EVENT = {"action": str, "addr": int, "size": int, "stream": int, "time_us": int, "pool_id": tuple, "frames": list}
ANNOTATION = {"stage": str, "name": str, "device": int, "time_us": int}
PAGE = 2 << 20
TOP = {"segments": list, "device_traces": list, "allocator_settings": dict, "external_annotations": list}


def need(truth, what, *of):
    if not truth:
        sys.exit("%s: %s" % (sys.argv[1], what % of))


def typed(name, value, keys):
    """All members are there, and a whole number is exact in the doubles of a browser."""
    need(type(value) is dict, "%s is no dict", name)
    need(set(value) == set(keys), "%s has %s", name, sorted(value))
    for key, kind in keys.items():
        need(type(value[key]) is kind, "%s of %s is %r", key, name, value[key])
        need(kind is not int or 0 <= value[key] < 1 << 63, "%s of %s is %r", key, name, value[key])
        need(kind is not int or int(float(value[key])) == value[key], "%s of %s is %r", key, name, value[key])


def pool(numbers):
    return len(numbers) == 2 and all(type(n) is int and 0 <= n < 1 << 24 for n in numbers)


class Frames:
    """Equal lists, and equal frames, are in the file once."""

    def __init__(self):
        self.lists, self.frames, self.known = {}, {}, 0

    def once(self, seen, key, value):
        need(seen.setdefault(key, value) is value, "%r is written twice", key)

    def look(self, frames):
        if frames is self.lists.get(self.key(frames)):
            return
        self.once(self.lists, self.key(frames), frames)
        for frame in frames:
            typed("a frame", frame, FRAMES)
            need(frame["filename"], "%r", frame)
            self.once(self.frames, tuple(frame.values()), frame)

    @staticmethod
    def key(frames):
        return tuple(tuple(f.values()) for f in frames)


class Ranges:
    """Bytes side by side in ranges: where each range begins, and its size."""

    def __init__(self, items=()):
        self.size = dict(items)
        self.begins = sorted(self.size)

    def add(self, addr, size):
        bisect.insort(self.begins, addr)
        self.size[addr] = size

    def take(self, addr):
        if addr in self.size:
            del self.begins[bisect.bisect_left(self.begins, addr)]
        return self.size.pop(addr, None)

    def first(self, addr, end):
        """Where the first range begins that has bytes between the two; None: none has."""
        i = bisect.bisect_right(self.begins, addr)
        if i and self.begins[i - 1] + self.size[self.begins[i - 1]] > addr:
            return self.begins[i - 1]
        return self.begins[i] if i < len(self.begins) and self.begins[i] < end else None

    def cut(self, addr, size):
        """Takes bytes out, wherever they are held."""
        end, base = addr + size, self.first(addr, addr + size)
        while base is not None:
            length = self.take(base)
            if base < addr:
                self.add(base, addr - base)
            if base + length > end:
                self.add(end, base + length - end)
            base = self.first(addr, end)


class Back:
    """Goes from the end back to the beginning, as a viewer does that draws the heap at any event: a block must
    lie in what is held there, and only a block can wait for its free."""

    def __init__(self, segments):
        self.held = Ranges((s["address"], s["total_size"]) for s in segments)
        self.ends = Ranges(self.held.size)
        self.pools = {s["address"]: s["segment_pool_id"] for s in segments}
        self.blocks = Ranges((b["address"], b["size"]) for s in segments for b in s["blocks"]
                             if b["state"] != "inactive")

    def inside(self, addr):
        return self.held.first(addr, addr + 1) is not None

    def belongs(self, e):
        """What lies in a segment is of its pool, as far as the segment is there at the end."""
        base = self.ends.first(e["addr"], e["addr"] + 1)
        need(base is None or self.pools[base] == e["pool_id"], "of another pool: %s", e)

    def step(self, action, addr, size):
        if action == "alloc":
            need(self.blocks.take(addr) is not None, "the block at %s goes twice", addr)
        elif action in ("free", "free_completed"):
            need(self.inside(addr) and addr not in self.blocks.size, "the block at %s is in no segment", addr)
            self.blocks.add(addr, size)
        elif action == "free_requested":
            need(addr in self.blocks.size, "the block at %s waits and is none", addr)
        elif action in ("segment_free", "segment_unmap"):
            need(self.held.first(addr, addr + size) is None, "%s was held twice", addr)
            self.held.add(addr, size)
        elif action in ("segment_alloc", "segment_map"):
            need(self.blocks.first(addr, addr + size) is None, "blocks before %s was held", addr)
            self.held.cut(addr, size)

    def walk(self, events):
        for i in range(len(events) - 1, -1, -1):
            if events[i]["action"] != "oom":
                self.belongs(events[i])
            e, before = events[i], events[i - 1] if i else {}
            pair = e["action"] == "free_completed" and before.get("action") == "free_requested"
            if pair and before["addr"] == e["addr"]:
                self.step("free", e["addr"], e["size"])
            elif not (e["action"] == "free_requested" and i + 1 < len(events) and
                      events[i + 1]["action"] == "free_completed" and events[i + 1]["addr"] == e["addr"]):
                self.step(e["action"], e.get("addr"), e["size"])
        need(all(self.inside(a) for a in self.blocks.begins), "blocks in no segment at the beginning")


class Device:
    """What the events of a device leave. What was held before them is what an event is wrong about."""

    def __init__(self, known):
        self.known, self.held, self.live = known, Ranges(), Ranges()
        self.peak = self.taken = self.given = 0
        self.counts, self.whole = {}, True

    @property
    def now(self):
        return self.taken - self.given

    def gone(self, addr, size):
        known = self.live.take(addr)
        return known == size or (known is None and not self.known)

    def replay(self, e):
        action, addr, size = e["action"], e.get("addr"), e["size"]
        self.counts[action] = self.counts.get(action, 0) + 1
        if action in ("segment_alloc", "segment_map"):
            self.held.add(addr, size)
            self.taken += size
            self.whole &= size % PAGE == 0
        elif action in ("segment_free", "segment_unmap"):
            need(not self.known or action == "segment_unmap" or self.held.size.get(addr) == size, "%s", e)
            need(self.live.first(addr, addr + size) is None, "live blocks in %s", e)
            self.held.cut(addr, size)
            self.given += size
        elif action == "alloc":
            need(self.live.first(addr, addr + size) is None, "%s is live", e)
            self.live.add(addr, size)
        elif action == "free_completed":
            need(self.gone(addr, size), "%s", e)
        self.peak = max(self.peak, self.now)


def check_events(number, events, known):
    d, last = Device(known), 0
    for e in events:
        if "user_metadata" in e: # where the trace has some
            typed("metadata of an event", {"user_metadata": e["user_metadata"]}, {"user_metadata": str})
        shown = {k: v for k, v in e.items() if k != "user_metadata"}
        typed("an event", shown, dict(EVENT, device_free=int) if e.get("action") == "oom" else EVENT)
        need(e["action"] in ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
                             "segment_map", "segment_unmap", "oom"), "%s", e)
        need(pool(e["pool_id"]) and (e["action"] == "oom") == (e["addr"] == 0), "%s", e)
        need(e["time_us"] >= last, "time goes back at %s", e)
        frames.look(e["frames"])
        frames.known += e["action"] == "alloc" and e["frames"] != []
        last = e["time_us"]
        d.replay(e)
    return d


def check_segments(segments, devices):
    behind = {}
    for s in segments:
        typed("a segment", s, SEGMENT)
        need(s["segment_type"] in ("large", "small") and pool(s["segment_pool_id"]), "%s", s)
        frames.look(s["frames"])
        need(s["address"] >= behind.get(s["device"], 0), "segments are not in order")
        at, live, active, requested = s["address"], 0, 0, 0
        d = devices[s["device"]]
        for b in s["blocks"]:
            typed("a block", b, BLOCK)
            need(b["address"] == at and b["size"] > 0, "a block at %s, not %s", b["address"], at)
            frames.look(b["frames"])
            if b["state"] == "inactive":
                need(b["requested_size"] == 0 and b["frames"] == [], "%s", b)
            else:
                need(b["state"] in ("active_allocated", "active_pending_free"), "%s", b)
                need(0 < b["requested_size"] <= b["size"], "%s", b)
                need(d.gone(b["address"], b["requested_size"]), "%s", b)
                live += b["size"] if b["state"] == "active_allocated" else 0
                active += b["size"]
                requested += b["requested_size"]
            at += b["size"]
        behind[s["device"]] = at
        need(at == s["address"] + s["total_size"], "blocks do not fill the segment at %s", s["address"])
        need((live, active, requested) == (s["allocated_size"], s["active_size"], s["requested_size"]), "%s", s)
    need(not any(d.live.size for d in devices), "live blocks are in no segment")


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
                ("bytes of gets", d.taken, run["driver_calls"]["get_bytes"]),
                ("bytes of puts", d.given, run["driver_calls"]["put_bytes"]),
                ("gets", n("segment_alloc", 0) + n("segment_map", 0), run["driver_calls"]["get"]),
                ("puts", n("segment_free", 0) + n("segment_unmap", 0), run["driver_calls"]["put"]),
                ("failed", n("oom", 0), run["failed_allocations"] - (run["failed_initial_blocks"] or 0))):
            need(got == said, "%s: %s, not %s", name, got, said)


def left(snapshot):
    """What is held at the end, whatever the addresses."""
    for s in snapshot["segments"]:
        yield [s[key] for key, kind in SEGMENT.items() if kind is not list and key != "address"], [
            (b["address"] - s["address"], b["size"], b["state"], b["state"] != "inactive" and b["requested_size"])
            for b in s["blocks"]]


def ends_as(snapshot, recorded):
    mine, theirs = sorted(left(snapshot)), sorted(left(recorded))
    for a, b in zip(mine, theirs):
        need(a == b, "a segment is left as %s, not %s", a, b)
    need(len(mine) == len(theirs), "%d segments are left, not %d", len(mine), len(theirs))
    asked = [[bool(e["frames"]) for trace in s["device_traces"] for e in trace if e["action"] == "alloc"]
             for s in (snapshot, recorded)]
    need(asked[0] == asked[1], "%d of %d allocations have frames, not %d of %d", sum(asked[0]), len(asked[0]),
         sum(asked[1]), len(asked[1]))


frames = Frames()
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
check_segments(snapshot["segments"], devices)
for number, events in enumerate(snapshot["device_traces"]):
    Back([s for s in snapshot["segments"] if s["device"] == number]).walk(events)
check_annotations(snapshot["external_annotations"])
need(all(type(v) in (str, bool) for v in snapshot["allocator_settings"].values()), "settings")
if len(sys.argv) > 3:
    with (gzip.open if sys.argv[3].endswith("gz") else open)(sys.argv[3], "rb") as f:
        ends_as(snapshot, pickle.load(f))
if result:
    agree(devices, snapshot["segments"], result)
total = {}
for d in devices:
    for action, n in d.counts.items():
        total[action] = total.get(action, 0) + n
total["stacks"] = frames.known
print(" ".join("%s=%d" % item for item in sorted(total.items())))
