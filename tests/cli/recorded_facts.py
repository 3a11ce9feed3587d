#!/usr/bin/env python3
"""usage: recorded_facts.py TRACE.jsonl

What a recording of tests/programs/recorded_program.c holds of the program's own blocks: those of odd sizes.
The C library's own (a thread's data, a stream's buffer) have even ones."""

import collections
import json
import sys

counts, aligns, sizes = collections.Counter(), collections.Counter(), collections.Counter()
live, threads, now, peak, squares, marks = {}, set(), 0, 0, 0, []
with open(sys.argv[1], encoding="utf-8") as lines:
    next(lines)
    for line in lines:
        e = json.loads(line)
        op, key = e["op"], e.get("id")
        if op == "mark":
            marks.append((e["name"], now))
        if op == "alloc" and e["size"] % 2:
            threads.add(e.get("thread", 0))
            aligns[e.get("align", 16)] += 1
            sizes[e["size"]] += 1
        elif key not in live:
            continue
        counts[op] += 1
        now += e.get("size", 0) - live.pop(key, 0)
        if op != "free":
            live[key] = e["size"]
            squares += e["size"] ** 2
        peak = max(peak, now)

print("threads", len(threads))
for name in ("alloc", "realloc", "free"):
    print(name, counts[name])
print("peak", peak)
print("squares", squares)  # of all sizes that were asked for: equal where each size is
for align in sorted(aligns):
    if align != 16:
        print("align", align, aligns[align])
for name, at in marks:
    print("mark", name, at)
if len(sizes) <= 30:
    for size in sorted(sizes):
        print("size", size, sizes[size])
