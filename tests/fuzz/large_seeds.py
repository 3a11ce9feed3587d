#!/usr/bin/env python3
"""usage: large_seeds.py DIRECTORY [TAPOOL]

Writes one or more inputs of 70 KiB to 400 KiB for each fuzz target of a trace format, into
DIRECTORY/CORPUS, where the ones of the tree are small: what only happens beyond the first 64 KiB (an
array that grows again, a second block, a line cut by a buffer) is reached by no mutation of those.
The program TAPOOL is needed for .tpt alone.

Every file holds the same: objects of a few sizes that live for a while. Its events are made here, so
that the tree holds no large files."""

import json
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "cli"))
import xplane

EVENTS = 2200
LONGEST = 400_000  # bytes; scripts/fuzz.sh tries inputs up to this size


def events():
    """(is an allocation, address, size, id), as many as EVENTS."""
    draw = random.Random(1)
    live, count = [], 0
    for at in range(EVENTS):
        if len(live) > 200 or (live and draw.random() < 0.45):
            yield (False, *live.pop(draw.randrange(len(live))))
        else:
            live.append((0x7F0000000000 + 4096 * at, draw.choice((24, 512, 3000, 65536)), count))
            count += 1
            yield (True, *live[-1])


def lines(head, alloc, free, tail=""):
    """A text format: one line an event, from templates of {p}, {s}, {i} and {n}."""
    text = [head] if head else []
    for n, (is_alloc, p, s, i) in enumerate(events()):
        text.append((alloc if is_alloc else free).format(p=p, s=s, i=i, n=n))
    return ("\n".join(text) + "\n" + tail).encode()


def rep():
    count = sum(1 for e in events() if e[0])
    return lines(f"20000\n{count}\n{EVENTS}\n1", "a {i:>15} {s:>15}", "f {i:>30}")


def minimalloc():
    begin, rows = {}, ["id,lower,upper,size"]
    for n, (is_alloc, _, s, i) in enumerate(events()):
        if is_alloc:
            begin[i] = n
        else:
            rows.append(f"buffer{i},{begin[i]},{n},{s}")
    text = "\n".join(rows).encode()
    return text + b"".join(b"\nx%d,%d,%d,64" % (i, i, i + 9) for i in range(4000)) + b"\n"


def heaptrack():
    """Each size is a class of its own place, all of them from one stack after the other."""
    sizes = (24, 512, 3000, 65536)
    text = "v 10400 3\nX ./a.out\nI 1000 5e298f\ns 7 ./a.out\n"
    for i in range(1600):
        name = f"function_{i}"
        text += f"s {len(name):x} {name}\ni {4096 * i:x} 1 {i + 2:x}\nt {i + 1:x} {i:x}\n"
    text += "".join(f"a {s:x} {400 * i + 400:x}\n" for i, s in enumerate(sizes))
    for n, (is_alloc, _, s, _) in enumerate(events()):
        text += f"{'+' if is_alloc else '-'} {sizes.index(s):x}\n" + (f"c {n:x}\n" if n % 20 == 0 else "")
    return text.encode()


def malloc_raw():
    record = struct.Struct("=iIQQQQQ16x")
    data = record.pack(1, 255, 0x1234, 0, 8, 0, 0)
    for is_alloc, p, s, _ in events():
        data += record.pack(1, 1, 0, p, s, 0, 0) if is_alloc else record.pack(1, 3, p, 0, 0, 0, 0)
    return data


def malloc_bench():
    def call(kind, *values):
        fields = b"".join(xplane.field(*value) for value in values)
        return xplane.field(1, xplane.field(kind, xplane.field(15, bytes(24)) + fields))

    return b"".join(call(1 if is_alloc else 2, (1, i), (2, s)) for is_alloc, _, s, i in events())


def recording(length):
    """Three threads, which free each other's blocks, in chunks of `length` bytes: page 0, which is that of
    the specimen, then chunks as they are taken."""
    specimen = Path(__file__).resolve().parent / "corpus/recording/specimen"
    data, chunks = bytearray(specimen.read_bytes()[:4096]), {}

    def close(thread):
        start, nth, began, body, *_ = chunks[thread]
        data[start:start + 64 + len(body)] = struct.pack(
            "=IIIIQQIIQQQ", 0x6B6E6863, length, thread, 0, nth, began, len(body), 0, 500, 900, 9) + body

    for n, (is_alloc, p, s, _) in enumerate(events()):
        thread, now = n % 3, 1000 + 40 * n
        chunk = chunks.get(thread)
        if not chunk or len(chunk[3]) + 200 > length:
            if chunk:
                close(thread)
            chunk = chunks[thread] = [len(data), chunk[1] + 1 if chunk else 0, now, bytearray(), now, 0]
            data.extend(bytes(length))
        since, unit = now - chunk[4], (p >> 3) - (chunk[5] >> 3)
        token = bytes([(1 if is_alloc else 3) | min(since, 15) << 4])
        chunk[3] += token + (xplane.varint(since - 15) if since >= 15 else b"") + (xplane.varint(s) if is_alloc else b"")
        chunk[3] += xplane.varint(2 * unit if unit >= 0 else -2 * unit - 1)
        chunk[4:] = now, p
    for thread in chunks:
        close(thread)
    return bytes(data)


def kineto():
    rows = []
    for n, (is_alloc, p, s, _) in enumerate(events()):
        args = {"Device Type": 1, "Device Id": 0, "Addr": p, "Bytes": s if is_alloc else -s}
        rows.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": n, "args": args})
    return json.dumps({"schemaVersion": 1, "traceEvents": rows}).encode()


def snapshot(frames):
    trace = []
    for n, (is_alloc, p, s, _) in enumerate(events()):
        for action in ("alloc",) if is_alloc else ("free_requested", "free_completed"):
            entry = {"action": action, "addr": p, "size": s, "stream": 0, "time_us": n}
            if frames:
                entry["frames"] = [{"filename": f"m{n % 50}.py", "name": "f", "line": n}]
            trace.append(entry)
    return {"segments": [], "device_traces": [trace], "allocator_settings": {}}


def memo_leaps():
    """Two entries of the memo far behind the one before them."""
    text = LONGEST - 200
    last = text // 65536 * 65536 - 1  # a known place is kept for it
    return (b"\x80\x02}X" + struct.pack("<I", text) + b"k" * text
            + b"r" + struct.pack("<I", last - 1) + b"r" + struct.pack("<I", last) + b"Ns.")


def umpire(modern):
    if modern:
        head = ('{"category":"operation","name":"make_memory_resource","numeric_args":{"introspection":1},'
                '"string_args":{"allocator_ref":"0x10"},"tags":{"allocator_name":"HOST","replay":"true"},'
                '"timestamp":1}')
        op = ('{{"category":"operation","name":"%s","numeric_args":{{%s}},"string_args":'
              '{{"allocator_ref":"0x10","pointer":"{p:#x}"}},"tags":{{"replay":"true"}},"timestamp":{n}}}')
        return lines(head, op % ("allocate", '"size":{s}'), op % ("deallocate", ""))
    op = '{{ "kind":"replay", "uid":1, "timestamp":{n}, "event": "%s", "payload": {{ %s }}%s }}'
    head = (op % ("makeMemoryResource", '"name": "HOST"', ', "result": "0x10"')).format(n=1)
    return lines(head,
                 op % ("allocate", '"allocator_ref": "0x10", "size": {s}',
                       ', "result": {{ "memory_ptr": "{p:#x}" }}'),
                 op % ("deallocate", '"allocator_ref": "0x10", "memory_ptr": "{p:#x}"', ""))


def plan():
    """Two streams in turn, each with four places that its requests take one after the other."""
    rows = "".join(f"{n % 2} {4096 - n % 7} 256 {n + 7} {4096 * (n // 2 % 4)}\n" for n in range(4000))
    return f"tapool plan 1\nmark step 1\nstream 0 16384\nstream 1 16384\nrequests 4006\n{rows}".encode() + b"1 9 1 - -\n" * 6


def rocprof():
    """Rows as threads hand them in: the frees of a hundred rows stand behind their allocations."""
    row = '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_{op}","{agent}",{s},"{p:#018x}",{n},{at},{end}'
    rows = [row.format(op="ALLOCATE" if is_alloc else "FREE", agent=f"Agent {i % 2}" if is_alloc else "",
                       s=s if is_alloc else 0, p=p, n=n, at=1000 * n, end=1000 * n + 700)
            for n, (is_alloc, p, s, i) in enumerate(events())]
    mixed = [r for at in range(0, len(rows), 100) for r in sorted(rows[at:at + 100], key=lambda r: "_FREE" in r)]
    head = '"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"'
    return "\n".join([head] + mixed + [""]).encode()


def page_list(event, blocks, pages):
    """A moment: blocks of 96 bytes, one in a page of 4 KiB, and pages all of whose bytes were used."""
    head = struct.pack("<17Q", 0x317473696C656761, event, 0, 0, 4096, 1, 4096 * pages, 96 * blocks, 0,
                       4000 * blocks, 4096 * (pages - blocks), 0, 0, 0, 0, blocks, pages)
    body = b"".join(struct.pack("<4Q", 4096 * (1000 + n), 90, 96, n) for n in range(blocks))
    return head + body + b"".join(struct.pack("<Q", (1000 + n) << 16 | 512) for n in range(pages))


def store_lines():
    """A trace with cells of a sweep, each with a failure behind it."""
    name = '"%032x"'
    trace = ('{"trace":{"identity":%s,"path":"a.tpt","reading":"","bytes":9,"modified_ns":9,"kind":"host","events":4,'
             '"operations":4,"devices":1,"threads":1,"trace_peak":99}}\n' % (name % 7))
    cell = ('{"cell":{"name":%s,"identity":%s,"setting":"lru","passes":"usage","tool":"t","machine":"","seconds":0.5,'
            '"values":{"peak_reserved":%d}}}\n')
    fault = '{"failure":{"path":"%d.tpt","setting":"lru","passes":"usage","status":3,"error":"it was killed"}}\n'
    return (trace + "".join(cell % (name % n, name % 7, n) + fault % n for n in range(300))).encode()


def json_traces():
    one = '{{"t": {n}, "op": "%s", "id": {i}%s}}'
    body = lines("", one % ("alloc", ', "size": {s}'), one % ("free", "")).decode()
    head = '{"format": "tapool-trace", "version": 1'
    yield "jsonl", (head + "}\n" + body).encode()
    yield "json", (head + ', "events": [\n' + body.strip().replace("\n", ",\n") + "]}\n").encode()


def seeds():
    yield "rmm", "csv", lines("Thread,Time,Action,Pointer,Size,Stream",
                                      "1,12:00:00.{n:06d},allocate,{p:#x},{s},0x2",
                                      "1,12:00:00.{n:06d},free,{p:#x},{s},0x2")
    yield "rocprof", "rows", rocprof()
    yield "rep", "classic", rep()
    yield "mtrace", "plain", lines("= Start", "@ ./a.out:(main+0x10)[0x1284] + {p:#x} {s:#x}",
                                           "@ ./a.out:(main+0x20)[0x12c8] - {p:#x}", "= End\n")
    yield "valgrind", "plain", lines("==3806== Command: ./a.out", "--3806-- malloc({s}) = 0x{p:X}",
                                             "--3806-- free(0x{p:X})")
    yield "heaptrack", "interpreted", heaptrack()
    yield "heaptrack", "raw", lines("v 10400 3\nX ./a.out\nI 1000 5e298f\nt 5601 0",
                                    "+ {s:x} 1 {p:x}\nc {n:012x}", "- {p:032x}")
    yield "malloc_bench", "calls", malloc_bench()
    yield "xplane", "steps", xplane.large(1600)
    yield "xplane", "growing", xplane.write([("python3", 0, xplane.made(41, 1000, 0))])
    yield "memory_profile", "snapshots", xplane.profile({"GPU_0_bfc": xplane.made(41, 350, 0),
                                                         "gpu_host_bfc": xplane.made(8, 100, 40)})
    yield "umpire", "modern", umpire(True)
    yield "umpire", "2019", umpire(False)
    yield "kineto", "events", kineto()
    yield "recording", "chunks", recording(65536)
    yield "recording", "pages", (pages := recording(4096)) + bytes(max(0, 72_000 - len(pages)))
    yield "minimalloc", "rows", minimalloc()
    yield "malloc_raw", "records", malloc_raw()
    yield "plan", "rows", plan()
    yield "page_lists", "moments", page_list(10, 500, 2000) + page_list(20, 90, 9000)
    yield "store_lines", "cells", store_lines()
    for name, data in json_traces():
        yield "json", name, data
    for protocol in (2, 4):
        for frames in (False, True):
            data = pickle.dumps(snapshot(frames), protocol)
            yield "pytorch", f"protocol{protocol}{'-frames' * frames}", data
    yield "pytorch", "memo-leaps", memo_leaps()


def of_specimens(known):
    """A format for which nothing is made above: its specimen (text), the lines behind the first again
    and again."""
    for path in (Path(__file__).parent / "corpus").glob("*/specimen"):
        data = path.read_bytes()
        if path.parent.name not in known:
            body = data.partition(b"\n")[2] or data
            yield path.parent.name, "specimen-again", data + body * (100_000 // len(body))


def main():
    folder = Path(sys.argv[1])
    made = list(seeds())
    for corpus, name, data in made + list(of_specimens({corpus for corpus, _, _ in made})):
        if not 70_000 <= len(data) <= LONGEST:
            sys.exit(f"large_seeds.py: {corpus}/{name} has {len(data)} bytes")
        (folder / corpus).mkdir(parents=True, exist_ok=True)
        (folder / corpus / name).write_bytes(data)
    if len(sys.argv) > 2:
        (folder / "tpt").mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.argv[2], "gen", "web-server", "--count", "1500", "--force", "-o",
                        folder / "tpt" / "web.tpt"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
