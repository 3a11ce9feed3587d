"""Reads the frames of the heap in a page as cmd/page/frames_json.h draws them, and checks what must hold of each.
Prints for each run its strategy with the number of frames, their checksum, and whether one is of a failure."""

import json
import re
import sys
import zlib

import packed_numbers

KINDS, MIXED, LIVE, GAP = 5, 5, 0, 8


def piece(data, unit, state):
    """The bytes of a piece, or None at the end of the row."""
    head = data.byte()
    if not head:
        return None
    kind, size = (head & 7) - 1, data.number() * unit
    state["offset"] += size + (data.number() * unit if head & GAP else 0)
    has, counted = {kind}, size
    if kind == MIXED:
        assert data.number() > 1
        mask = data.number()
        has = {k for k in range(KINDS) if mask >> k & 1}
        counted = sum(data.number() * unit for _ in has)
    if LIVE in has:
        state["event"] += data.signed()
        assert state["event"] >= 0
    return counted


def check_frame(frame):
    data, unit, number, ranges = packed_numbers.Numbers(frame["rows"]), frame["unit"], 0, 0
    state, total = {"event": 0}, frame["page_rest"]
    while data.more():
        step = data.number()
        assert step > 0
        number += step
        ranges += data.number() + 1
        size, state["offset"] = data.number() * unit, 0
        while (counted := piece(data, unit, state)) is not None:
            total += counted
        assert state["offset"] == size
    assert total == frame["reserved"], (total, frame)
    assert ranges == frame["ranges"] and frame["allocated"] <= frame["reserved"]


def check_run(run):
    frames = run["page"].get("frames")
    devices = frames["devices"] if frames else []
    name = run["strategy"]["name"]
    for frame in (f for device in devices for f in device):
        check_frame(frame)
    for device in devices:
        reasons = [reason for frame in device for reason in frame["reasons"]]
        assert all(reasons.count(one) == 1 for one in ("begin", "end", "demand", "reserved")), reasons
        assert [f["event"] for f in device] == sorted(f["event"] for f in device)
        assert max(f["reserved"] for f in device) == next(
            f["reserved"] for f in device if "reserved" in f["reasons"])
        if "failed" in reasons:
            print(name, "failed")
    print(name, sum(len(device) for device in devices))
    print(name, "checksum", zlib.crc32(json.dumps(frames).encode()))


with open(sys.argv[1], encoding="utf-8") as page:
    DATA = re.search(r'id="data">(.*?)</script>', page.read(), re.S)
for one_run in json.loads(DATA.group(1))["runs"]:
    check_run(one_run)
