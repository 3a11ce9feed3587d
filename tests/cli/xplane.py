#!/usr/bin/env python3
"""Captures of the TensorFlow and JAX profiler (XSpace), read and written for tests.

    xplane.py cut CAPTURE OUT       its memory events alone
    xplane.py made SEED OUT         a capture of a program that is made from SEED, with the rules of BFC
    xplane.py broken KIND OUT       one with an error
    xplane.py steps BATCH OUT        one of two training steps at a batch size
    xplane.py large EVENTS OUT      one of so many events
    xplane.py profile SEED OUT      the capture of `made` as a memory profile in JSON

A capture is a plane with lines of events, each a tuple of (time in ps, frees, {statistic: value}). A
text that is to be written by reference is a Ref."""

import bisect
import gzip
import json
import random
import struct
import sys
from pathlib import Path

NAMES = (b"MemoryAllocation", b"MemoryDeallocation")
MIB = 1 << 20
GRAIN = 256


class Ref(str):
    """A text of a statistic that stands among the names of the plane."""


# ---- Protocol Buffers ----

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field of an int, a float or bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        head = number()
        if head & 7 == 0:
            yield head >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(head & 7) or number()
        value = data[at:at + size]
        at += size
        yield head >> 3, struct.unpack("<d", value)[0] if head & 7 == 1 else value


# ---- captures ----

def write(lines, plane=b"/host:CPU"):
    """lines: [(name, time in ns, events)]"""
    known = {}

    def name_of(text):
        return known.setdefault(text if isinstance(text, bytes) else text.encode(), len(known) + 1)

    def statistic(name, value):
        kind = 3 if isinstance(value, int) and value > 1 << 40 else 4
        if value is None: # refers to a text that is not there
            return field(1, name_of(name)) + field(7, 9999)
        if isinstance(value, Ref):
            return field(1, name_of(name)) + field(7, name_of(value))
        if isinstance(value, float):
            return field(1, name_of(name)) + field(2, value)
        if isinstance(value, int):
            return field(1, name_of(name)) + field(kind, value)
        return field(1, name_of(name)) + field(5, value.encode())

    body = field(2, plane)
    for number, (name, ns, events) in enumerate(lines):
        line = [field(1, number + 1), field(2, name.encode()), field(3, ns)]
        for time, frees, values in events:
            event = field(1, 1 + frees) + field(2, time - ns * 1000)
            event += b"".join(field(4, statistic(n, v)) for n, v in values.items())
            line.append(field(4, event))
        body += field(3, b"".join(line))
    for number, name in enumerate(NAMES, 1):
        body += field(4, field(1, number) + field(2, field(1, number) + field(2, name)))
    for name, number in known.items():
        body += field(5, field(1, number) + field(2, field(1, number) + field(2, name)))
    return field(1, body)


def maps_of(plane, number):
    out = {}
    for n, value in fields(plane):
        if n == number:
            entry = dict(fields(value))
            out[entry.get(1, 0)] = dict(fields(entry.get(2, b""))).get(2, b"")
    return out


def read(data):
    """Yields (plane, [(line, time in ns, memory events)]) of each plane that has some."""
    for number, plane in fields(data):
        if number != 1:
            continue
        names, statistics = maps_of(plane, 4), maps_of(plane, 5)
        lines = []
        for n, line in fields(plane):
            if n != 3:
                continue
            facts = [(k, v) for k, v in fields(line)]
            ns = dict(facts).get(3, 0)
            events = []
            for k, event in facts:
                if k != 4:
                    continue
                parts = [(a, b) for a, b in fields(event)]
                name = names.get(dict(parts).get(1, 0))
                if name not in NAMES:
                    continue
                values = {}
                for a, b in parts:
                    if a != 4:
                        continue
                    s = dict(fields(b))
                    value = next((s[i] for i in range(2, 8) if i in s), 0)
                    if 7 in s:
                        value = Ref(statistics[s[7]].decode())
                    elif isinstance(value, bytes):
                        value = value.decode()
                    values[statistics[s.get(1, 0)].decode()] = value
                events.append((ns * 1000 + dict(parts).get(2, 0), name == NAMES[1], values))
            if events:
                lines.append((dict(facts).get(2, b"").decode(), ns, events))
        if lines:
            yield dict((a, b) for a, b in fields(plane) if a == 2)[2], lines


def load(path):
    data = Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


# ---- memory profiles ----

def snapshot(time, frees, values):
    """A snapshot of a memory profile, as Protocol Buffers write it in JSON: 64 bits are a string."""
    def number(name):
        return str(values.get(name, 0))

    return {"timeOffsetPs": str(time),
            "aggregationStats": {"stackReservedBytes": number("bytes_reserved"),
                                 "heapAllocatedBytes": number("bytes_allocated"),
                                 "freeMemoryBytes": number("bytes_available"),
                                 "fragmentation": values.get("fragmentation", 0.0),
                                 "peakBytesInUse": number("peak_bytes_in_use")},
            "activityMetadata": {"memoryActivity": "DEALLOCATION" if frees else "ALLOCATION",
                                 "requestedBytes": number("requested_bytes"),
                                 "allocationBytes": number("allocation_bytes"), "address": number("addr"),
                                 "tfOpName": values.get("tf_op", ""), "stepId": number("id"),
                                 "regionType": values.get("region_type", ""), "dataType": "float",
                                 "tensorShape": values.get("shape", "")}}


def profile(allocators):
    """allocators: {name: events}"""
    each = {name: {"profileSummary": {"memoryCapacity": "1"}, "memoryProfileSnapshots": [snapshot(*e) for e in events],
                   "activeAllocations": [{"snapshotIndex": "0", "specialIndex": "-1", "numOccurrences": "1"}]}
            for name, events in allocators.items()}
    return json.dumps({"memoryProfilePerAllocator": each, "numHosts": 1, "memoryIds": list(each)}).encode()


# ---- the allocator, slow and short ----

class Bfc:
    """Chunks in a list by address: [address, size, requested or 0]. A region is never beside another."""

    def __init__(self, limit, growth, draw):
        self.limit, self.draw = limit // GRAIN * GRAIN, draw
        self.next = 2 * MIB if growth else self.limit
        self.pool = self.in_use = self.peak = 0
        self.base, self.chunks, self.regions = 0x7F0000000000, [], set()

    def extend(self, size):
        if size > self.limit - self.pool:
            return False
        doubled = False
        while self.next < size:
            self.next *= 2
            doubled = True
        got = min(self.next, self.limit - self.pool)
        self.next *= 1 if doubled else 2
        self.base += self.draw.randrange(1, 64) * 2 * MIB
        self.regions.add(self.base)
        bisect.insort(self.chunks, [self.base, got, 0])
        self.base += -(-got // (2 * MIB)) * 2 * MIB
        self.pool += got
        return True

    def alloc(self, requested):
        size = max(GRAIN, -(-requested // GRAIN) * GRAIN)
        for _ in range(2):
            fits = [c for c in self.chunks if not c[2] and c[1] >= size]
            if fits or not self.extend(size):
                break
        fits = [c for c in self.chunks if not c[2] and c[1] >= size]
        if not fits:
            return None
        chunk = min(fits, key=lambda c: (c[1], c[0]))
        if chunk[1] >= 2 * size or chunk[1] - size >= 128 * MIB:
            bisect.insort(self.chunks, [chunk[0] + size, chunk[1] - size, 0])
            chunk[1] = size
        chunk[2] = requested
        self.in_use += chunk[1]
        self.peak = max(self.peak, self.in_use)
        return chunk

    def free(self, chunk):
        chunk[2] = 0
        self.in_use -= chunk[1]
        at = bisect.bisect_left(self.chunks, chunk)
        for low in (at, at - 1):
            if 0 <= low < len(self.chunks) - 1:
                a, b = self.chunks[low], self.chunks[low + 1]
                if not a[2] and not b[2] and b[0] not in self.regions:
                    a[1] += b[1]
                    del self.chunks[low + 1]

    def values(self, chunk, requested, name):
        free = self.pool - self.in_use
        largest = max([c[1] for c in self.chunks if not c[2]], default=0)
        return {"allocator_name": name, "bytes_reserved": 0, "bytes_allocated": self.in_use,
                "bytes_available": self.limit - self.in_use,
                "fragmentation": float("%g" % ((free - largest) / free)) if free else 0.0,
                "peak_bytes_in_use": self.peak, "requested_bytes": requested,
                "allocation_bytes": chunk[1], "addr": chunk[0]}


def made(seed, count=None, skip=None, name="GPU_0_bfc", limit=None, growth=None):
    """Events of a program from its step `skip` on, and the allocator."""
    draw = random.Random(seed)
    count, skip = count or draw.choice((30, 200, 600)), draw.choice((0, 50, 500)) if skip is None else skip
    heap = Bfc(limit or draw.choice((4 << 30, 15477102400)), seed % 2 if growth is None else growth, draw)
    style, live, events, step = draw.randrange(3), [], [], 0
    while len(events) < count:
        step += 1
        if live and (draw.random() < 0.5 or heap.in_use > 0.8 * heap.limit):
            chunk = live.pop(draw.randrange(len(live)) if style else -1)
            requested, size = chunk[2], list(chunk)
            heap.free(chunk)
            frees, chunk = True, size
        else:
            requested = draw.choice((4, 1024, 98304, 4 * MIB, 50 * MIB)) if style == 2 else \
                int(2 ** draw.uniform(1, 27))
            chunk = heap.alloc(requested)
            if not chunk:
                continue
            live.append(chunk)
            frees = False
        if step > skip:
            values = heap.values(chunk, requested, name)
            values["tf_op"] = f"model/layer_{len(events) % 7}/MatMul"
            values["id"] = 1 + len(events) // 100
            values["shape"] = f"[{requested}]"
            values["data_type"] = 1
            events.append((1000000 + 1000 * len(events), frees, values))
    return events


def results(seed):
    """A program of JAX: XLA names no operation, only the shapes of results."""
    events = made(seed)
    for _, _, values in events:
        values |= {"tf_op": "dummy", "id": 0, "data_type": 0, "shape": f"f32[{values['requested_bytes']}]{{0}}"}
    return events


def steps(batch):
    """Two training steps of thirty layers, whose activations have `batch` rows."""
    heap, events = Bfc(8 << 30, True, random.Random(5)), []

    def add(chunk, requested, frees, operation, shape):
        values = heap.values(chunk, requested, "GPU_0_bfc")
        values |= {"tf_op": operation, "shape": shape, "data_type": 1, "region_type": "output"}
        events.append((1000000 + 1000 * len(events), frees, values))

    def take(operation, rows, columns):
        chunk = heap.alloc(4 * rows * columns)
        add(chunk, chunk[2], False, operation, f"[{rows},{columns}]")
        return chunk, chunk[2], operation, f"[{rows},{columns}]"

    def drop(chunk, requested, operation, shape):
        was = list(chunk)
        heap.free(chunk)
        add(was, requested, True, operation, shape)

    weights = [take(f"model/layer_{i}/kernel", 1000, 10 * (i + 1)) for i in range(20)]
    for _ in range(2):
        kept = [take(f"model/layer_{i}/MatMul", 1000 * batch, 100 + 10 * i) for i in range(20)]
        for tensor in kept[::-1]:
            drop(*tensor)
    for tensor in weights:
        drop(*tensor)
    return events


def small():
    return made(6, 24, 40)


def broken(kind):
    """A small capture with an error."""
    events = small()
    data = write([("python3", 0, events)])
    if kind == "cut":
        return data[:len(data) * 2 // 3]
    if kind == "no-reference":
        events[3][2]["allocator_name"] = None
        return write([("python3", 0, events)])
    if kind == "lying-type":
        events[3][2]["addr"] = "0x7f00"
        events[4][2]["requested_bytes"] = 2.5
        return write([("python3", 0, events)])
    if kind == "one-name":
        other = made(8, 24, 40)
        return write([("a", 0, events), ("b", 0, other)])
    if kind == "two-limits":
        def limit(of):
            return of[0][2]["bytes_available"] + of[0][2]["bytes_allocated"]
        other = next(o for o in (made(seed, 24, 40) for seed in range(7, 99)) if limit(o) != limit(events))
        return write([("a", 0, events), ("b", 0, other)])
    if kind == "references":
        for _, _, values in events:
            values.update({n: Ref(v) for n, v in values.items() if isinstance(v, str)})
        return write([("python3", 0, events)])
    if kind == "time-back":
        return write([("python3", 0, events[::-1])])
    if kind == "missing":
        return write([("python3", 0, events[:8] + events[12:])])
    if kind == "tpu":
        for _, _, values in events:
            del values["allocator_name"]
            values["device_ordinal"] = 2
        return write([("python3", 0, events)])
    if kind == "cpu": # beside BFC: malloc, which knows neither a limit nor fragmentation
        other = [(t, f, {**v, "allocator_name": "cpu", "addr": v["addr"] + 64}) for t, f, v in made(8, 24, 40)]
        for _, frees, values in other:
            del values["fragmentation"], values["bytes_available"]
            if frees:
                values["requested_bytes"] = 0
        return write([("python3", 0, events), ("b", 0, other)])
    if kind == "odd-bases":
        return write([("python3", 0, [(t, f, {**v, "addr": v["addr"] + 64}) for t, f, v in made(5, 60, 0)])])
    if kind == "no-memory":
        return field(1, field(2, b"/host:CPU") + field(3, field(2, b"python3")))
    if kind == "two-threads":
        return write([("a", 0, events[::2]), ("b", 0, events[1::2])])
    if kind == "at-once":
        return write([("a", 0, [(5, f, v) for _, f, v in events[::2]]),
                      ("b", 0, [(5, f, v) for _, f, v in events[1::2]])])
    raise SystemExit(f"no such kind: {kind}")


def large(count):
    """Steps that allocate and free the same: made by repetition, so that no allocator is slow."""
    events, step = [], 0
    first = made(4, 400, 0)
    live = {}
    for _, frees, values in first:
        if frees:
            live.pop(values["addr"])
        else:
            live[values["addr"]] = values
    in_use = first[-1][2]["bytes_allocated"]
    back = []
    for values in list(live.values())[::-1]:
        in_use -= values["allocation_bytes"]
        back.append((0, True, {**values, "bytes_allocated": in_use,
                               "bytes_available": values["bytes_available"] + values["bytes_allocated"] - in_use}))
    for _, _, values in back:
        del values["fragmentation"]
    for _, _, values in first:
        values.pop("fragmentation", None)
    while len(events) < count:
        for _, frees, values in first + back:
            events.append((1000 * len(events), frees, {**values, "id": step + 1}))
        step += 1
    return write([("python3", 0, events)])


def main():
    kind, what, out = sys.argv[1:4]
    if kind == "cut":
        data = b"".join(write([(n, ns, e) for n, ns, e in lines], plane)
                        for plane, lines in read(load(what)))
    elif kind == "made":
        data = write([("python3", 0, made(int(what)))])
    elif kind == "full": # which grows to a limit that is no multiple of anything
        data = write([("python3", 0, made(int(what), 300, 100, limit=200 * MIB + 100, growth=True))])
    elif kind == "first": # whose first events do not show whether the pool grows
        data = write([("python3", 0, made(int(what), 2, 0))])
    elif kind == "results":
        data = write([("py_xla_execute", 0, results(int(what)))])
    elif kind == "steps":
        data = write([("python3", 0, steps(int(what)))])
    elif kind == "profile":
        data = profile({"GPU_0_bfc": made(int(what))})
    elif kind == "broken":
        data = broken(what)
    else:
        data = large(int(what))
    Path(out).write_bytes(gzip.compress(data, mtime=0) if out.endswith(".gz") else data)


if __name__ == "__main__":
    main()
