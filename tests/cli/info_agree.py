"""info_agree.py TRACE.json INFO.json: every figure of `tapool info --json` against a slow count of its own.

For clean traces of one device in tapool's JSON. Lifetimes beyond 63 are compared within the 3.2% by
which tapool's histogram may be above; everything else exactly.
"""
import json
import math
import sys
from collections import Counter

LIMITS = {"host": [64, 512, 4096, 65536, 1 << 20, None],
          "device": [512, 65536, 1 << 20, 10 << 20, 128 << 20, None]}


def percentile(values, fraction):
    rank = max(1, math.ceil(fraction * len(values) - 1e-9))
    return sorted(values)[rank - 1]


class Count:
    def __init__(self, trace):
        self.kind = trace["meta"].get("kind", "host")
        self.ops, self.sizes, self.requests = Counter(), [], Counter()
        self.live, self.ended = {}, Counter()
        self.events, self.times, self.temporary = [], [], []
        self.remote = self.freed = self.requested = self.most_objects = self.last = 0
        self.reallocs, self.peak, self.mark, self.curve = Counter(), (0, 0, 0, None), None, {}
        for n, e in enumerate(trace["events"], 1):
            self.event(n, e)

    def owner(self, e):
        thread = e.get("thread", 0)
        return thread, self.ended[thread]

    def end(self, n, e, one):
        size, asked, born, at, _ = one
        self.requested -= size
        self.freed += 1
        self.events.append(n - born)
        self.times.append(e["t"] - at)
        if n - born <= 64:
            self.temporary.append(asked)

    def event(self, n, e):
        op, key = e["op"], e.get("id")
        self.last = e["t"]
        if op in ("alloc", "adopt"):
            self.live[key] = (e["size"], e["size"], n, e["t"], self.owner(e))
            self.sizes.append(e["size"])
            self.requests[e["size"]] += 1
            self.requested += e["size"]
        elif op == "free":
            one = self.live.pop(key)
            self.remote += one[4] != self.owner(e)
            self.end(n, e, one)
        elif op == "realloc":
            old = self.live[key]
            self.reallocs["grow" if e["size"] > old[0] else "shrink" if e["size"] < old[0] else "same"] += 1
            self.requests[e["size"]] += 1
            self.requested += e["size"] - old[0]
            self.live[key] = (e["size"],) + old[1:]
        elif op == "reset":
            for one in self.live.values():
                self.end(n, e, one)
            self.live = {}
        elif op == "thread_end":
            self.ended[e["thread"]] += 1
        elif op == "mark":
            self.mark = e["name"]
        else:
            raise ValueError(op)
        self.ops[op] += 1
        self.most_objects = max(self.most_objects, len(self.live))
        self.curve[n] = self.requested
        if self.requested > self.peak[0]:
            self.peak = (self.requested, n, e["t"], self.mark)


def same(name, got, want):
    assert got == want, "%s is %r, not %r" % (name, got, want)


def near(name, got, want):
    assert got == want if want < 64 else want <= got <= want * 1.0323 + 1, \
        "%s is %r, not %r" % (name, got, want)


def lifetimes(name, got, values):
    if not values:
        same(name, got, {"p50": None, "p90": None, "p99": None, "max": None})
        return
    for key, fraction in (("p50", .5), ("p90", .9), ("p99", .99)):
        near(name + "." + key, got[key], percentile(values, fraction))
    same(name + ".max", got["max"], max(values))


def check_sizes(c, d):
    low, rows = 0, []
    for limit in LIMITS[c.kind]:
        of = [s for s in c.sizes if s > low and (limit is None or s <= limit)]
        rows.append({"up_to_bytes": limit, "objects": len(of), "bytes": sum(of)})
        low = limit
    same("sizes", d["sizes"], rows)
    same("distinct_sizes", d["distinct_sizes"], len(c.requests))
    same("distinct_sizes_exact", d["distinct_sizes_exact"], True)
    common = sorted(c.requests.items(), key=lambda one: (-one[1], one[0]))[:3]
    same("common_sizes", d["common_sizes"], [{"bytes": s, "requests": n} for s, n in common])


def check_histograms(c, d):
    """Powers of two, without the empty ones at both ends; a lifetime of 0 is with that of 1."""
    powers = [(s - 1).bit_length() for s in c.sizes]
    of = [[s for s, k in zip(c.sizes, powers) if k == p] for p in range(min(powers), max(powers) + 1)]
    same("size_powers", d["size_powers"], [{"up_to_bytes": 2 ** (min(powers) + i), "objects": len(s), "bytes": sum(s)}
                                           for i, s in enumerate(of)])
    for name, lives in (("events", c.events), ("ns", c.times)):
        logs = [max(0, life.bit_length() - 1) for life in lives]
        same(name, d["lifetime_doublings"][name], [[2 ** (k + 1), logs.count(k)] for k in range(min(logs), max(logs) + 1)])
    for name, whole in (("allocations", len(c.sizes)), ("allocated_bytes", sum(c.sizes)), ("frees", c.ops["free"]),
                        ("remote_frees", c.remote)):
        same("threads: " + name, sum(row[name] for row in d["threads"]), whole)


def check_curve(c, d):
    """Every point took place; the extremes, the first and the last are there; a short curve is whole."""
    points = d["curve"]
    for event, requested in points:
        same("curve at %d" % event, requested, c.curve[event])
    changes = [(n, v) for n, v in c.curve.items() if v != c.curve.get(n - 1)]
    assert len(points) <= 4096
    if len(changes) <= 4000:
        same("curve", [tuple(p) for p in points], changes)
    same("highest", max(p[1] for p in points), max(c.curve.values()))
    same("lowest", min(p[1] for p in points), min(c.curve.values()))
    same("last", points[-1][1], c.requested)


def check_site_lifetimes(events, c, d):
    """By size up to the trace peak: what is live there counts with its age."""
    rows, live = {}, {}
    def end(t, one):
        rows[one[0]][0].append(t - one[2])
    for e in events[:c.peak[1]]:
        op, key = e["op"], e.get("id")
        ended = list(live) if op == "reset" else [key] if op in ("free", "realloc") else []
        for one in ended:
            end(e["t"], live.pop(one))
        if op in ("alloc", "adopt", "realloc"):
            live[key] = (e["size"].bit_length(), e["size"], e["t"])
            row = rows.setdefault(e["size"].bit_length(), [[], 0, 0, 0, None])
            row[1] += e["size"]
    for one in live.values():
        end(c.peak[2], one)
        row, age = rows[one[0]], c.peak[2] - one[2]
        row[2:] = row[2] + 1, row[3] + one[1], max(row[4] or 0, age)
    want = sorted(rows.values(), key=lambda row: (-row[3], -row[1]))
    got = d["site_lifetimes"]
    same("by", (got["event"], got["by"], got["count"]), (None, "size", len(want)))
    for row, (lives, size, blocks, requested, oldest) in zip(got["rows"], want):
        same("row", [row[name] for name in ("objects", "allocated_bytes", "live_blocks", "live_bytes", "oldest_ns")],
             [len(lives), size, blocks, requested, oldest])
        near("median", row["median_ns"], percentile(lives, .5))


def main(trace, info):
    document = json.load(open(trace))
    c, d = Count(document), json.load(open(info))
    check_site_lifetimes(document["events"], c, d)
    for name, value in d["operations"].items():
        same(name, value, c.ops[name])
    for name, value in zip("bytes event time_ns mark".split(), c.peak):
        same(name, d["peak_requested_" + name], value)
    left = [one for one in c.live.values()]
    same("duration_ns", d["duration_ns"], c.last)
    same("peak_objects", d["peak_objects"], c.most_objects)
    same("live_at_end", d["live_at_end"], len(left))
    same("live_at_end_bytes", d["live_at_end_bytes"], sum(one[0] for one in left))
    same("allocated", d["allocated"], {"objects": len(c.sizes), "bytes": sum(c.sizes)})
    same("freed_objects", d["freed_objects"], c.freed)
    lifetimes("lifetimes_events", d["lifetimes_events"], c.events)
    lifetimes("lifetimes_ns", d["lifetimes_ns"], c.times)
    same("temporary", d["temporary"],
         {"within_events": 64, "objects": len(c.temporary), "bytes": sum(c.temporary)})
    same("outlive", d["outlive"], {"objects": len(left), "bytes": sum(one[1] for one in left)})
    same("before", d["before"], {"objects": 0, "bytes": 0, "freed_objects": 0})
    same("reallocs", d["reallocs"], {k: c.reallocs[k] for k in ("grow", "shrink", "same")})
    same("remote_frees", d["remote_frees"], c.remote)
    check_sizes(c, d)
    check_curve(c, d)
    check_histograms(c, d)
    whole = {"allocations": len(c.sizes), "allocated_bytes": sum(c.sizes), "frees": c.ops["free"],
             "left_bytes": d["live_at_end_bytes"], **d}
    for name, value in d["devices"][0].items():
        if name != "index":
            same("devices[0]." + name, whole[name], value)


main(*sys.argv[1:])
