"""Reads a text report and the JSON of the same run, and fails where they do not say the same.

    agree.py REPORT RESULT.json          exits 0 and prints how many figures were compared

A figure of the text has four significant digits at most (or is exact); it must be the JSON's figure
rounded. Percentiles follow the notation of the clock's limits.
"""
import json
import math
import re
import sys

import rounding

compared = 0


def check(what, text, expected, slack=None):
    """slack: of a figure with a fixed number of decimals; else it has four digits, counts have all."""
    global compared
    compared += 1
    if text[0] == ">" and slack:  # '>99.9': not all, though it rounds to all
        if not float(text[1:]) + slack / 1.01 <= expected < 100:
            sys.exit("%s: '%s' in the text, %r in the JSON" % (what, text, expected))
        return
    parts = text.split()
    number = parts[0].replace(",", "")
    if expected is None or not re.fullmatch(r"[\d.]+", number):
        sys.exit("%s: '%s' in the text, %r in the JSON" % (what, text, expected))
    value, scale = float(number), rounding.SCALES[parts[1]] if len(parts) > 1 else 1
    if slack is None and (isinstance(expected, int) and scale == 1):
        slack = 0
    elif slack is None:
        four = 0.5 * 10 ** (math.floor(math.log10(value)) - 3) if value else 0
        slack = 0.5 if value >= 1000 else max(four, 0.0005)
    if abs(value * scale - expected) > slack * scale * 1.000001:
        sys.exit("%s: '%s' in the text, %r in the JSON" % (what, text, expected))


def find(pattern, text, what):
    found = re.search(pattern, text, re.M)
    if not found:
        sys.exit("no %s in the text" % what)
    return found.groups()


NUMBER = r"([\d.,]+)"
BYTES = r"([\d.,]+ (?:[KMGT]i)?B)"


def latency_cell(what, cell, value, coarse, step):
    global compared
    compared += 1
    good = {"<": value is not None and coarse and round(value / step) <= 1,
            "~": value is not None and coarse and abs(int(cell[1:] or 0) - round(value / step) * step) < 1
            if cell[0] == "~" else False,
            "-": value is None}.get(cell[0])
    if good is None:
        good = not coarse and value == int(cell.replace(",", ""))
    if not good:
        sys.exit("%s: '%s' in the text, %r in the JSON" % (what, cell, value))


def detail_memory(text, run):
    memory, calls = run["memory"], run["driver_calls"]
    at = memory["at_trace_peak"]
    event, events = find(r"event ([\d,]+) of ([\d,]+)", text, "event of the trace peak")
    check("event", event, at["event"])
    check("events", events, run["trace"]["events"])
    for name, pattern, value in (
            ("requested", r"^ +%s +requested", at["requested_bytes"]),
            ("rounding", r"^ +\+ +%s +rounding", at["allocated_bytes"] - at["requested_bytes"]),
            ("free", r"^ +\+ +%s +free", at["free_bytes"]),
            ("reserved", r"^ +\= +%s +reserved", at["reserved_bytes"])):
        check(name, find(pattern % BYTES, text, name)[0], value)
    # under a sanitizer the C library's statistics are all 0: nothing is known of `system`
    unknown = run["memory"]["informative"] and at["reserved_bytes"] == 0
    if not unknown and at["requested_bytes"] + (at["allocated_bytes"] - at["requested_bytes"]) \
            + at["free_bytes"] != at["reserved_bytes"]:
        sys.exit("requested + rounding + free is not reserved")
    check("internal_fragmentation", find(NUMBER + r"% of allocated", text, "share")[0],
          100 * memory["internal_fragmentation"], 0.0501)
    if ("also the peak" in text) != (at["reserved_bytes"] == memory["peak_reserved_bytes"]):
        sys.exit("'also the peak' is not what the JSON says")
    if at["free_blocks"]:
        check("free_blocks", find(r"([\d,]+) blocks?, largest", text, "blocks")[0], at["free_blocks"])
        check("largest", find(r"blocks?, largest\s+%s" % BYTES, text, "largest")[0], at["largest_free_block_bytes"])
    if calls["get"] is not None:
        check("calls", find(r"([\d,]+) (?:system|driver) calls?", text, "calls")[0],
              calls["get"] + calls["put"])
        check("reuse", find(r"hit rate (>?[\d.]+)%", text, "hit rate")[0], 100 * calls["hit_rate"], 0.0501)
        check("carved", find(r"%s\s+of\s+it\s+used\s+at\s+some\s+time" % BYTES, text, "carved")[0], memory["peak_carved_bytes"])
        times = at["reserved_bytes"] / at["requested_bytes"]
        check("times", find(NUMBER + r"x of requested", text, "times")[0], times,
              0.00501 if times < 9.99 else 0.0501)


def no_speed(text, speed):
    """A busy machine can take longer for the strategy that does nothing than for the one measured."""
    global compared
    for name in ("ns_per_op", "ci95_low_ns_per_op", "ci95_high_ns_per_op"):
        if speed[name] is not None:
            sys.exit("no speed in the text, %s is %r in the JSON" % (name, speed[name]))
    find(r"^(?:Speed|Strategy time) +within the replay overhead", text, "reason for no speed")
    compared += 5  # as many as stand where there is one


def detail_speed(text, run):
    speed = run["throughput"]
    if speed["ns_per_op"] is None:
        return no_speed(text, speed)
    check("ns_per_op", find(r"^(?:Speed|Strategy time) +%s ns/op" % NUMBER, text, "speed")[0],
          speed["ns_per_op"])
    if len(speed["runs_ns_per_op"]) > 1:
        low, high = find(r"\[%s, %s\]" % (NUMBER, NUMBER), text, "interval")
        check("low", low.rstrip(","), speed["ci95_low_ns_per_op"])
        check("high", high, speed["ci95_high_ns_per_op"])
    check("replays", find(r"([\d,]+) replays?(?: in|, longer)", text, "replays")[0], speed["replays"])
    check("engine", find(NUMBER + r" ns/op replay overhead", text, "replay overhead")[0],
          speed["replay_overhead_ns_per_op"])
    if "ns/op cold" in text:
        check("cold", find(NUMBER + r" ns/op cold", text, "cold")[0], speed["cold_ns_per_op"])


def detail_latency(text, run, step):
    for kind, latency in run["latency"].items():
        cells = find(r"^ +%s +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)" % kind, text, kind)
        check(kind + " count", cells[0], latency["count"])
        for cell, name in zip(cells[1:5], ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns")):
            latency_cell(kind + " " + name, cell, latency[name], name in latency["coarse"], step)
        latency_cell(kind + " max", cells[5], latency["max_ns"], cells[5][0] in "<~", step)
        if sum(n for _, n in latency["buckets"]) != latency["count"]:
            sys.exit("%s: the buckets do not add up to count" % kind)


def table_row(text, run, step):
    global compared
    memory, calls = run["memory"], run["driver_calls"]
    label = run["strategy"]["label"]
    line = find(r"^(  %s  .*)$" % re.escape(label), text, "row of " + label)[0]
    cells = re.split(r" {2,}", line.strip())[1:]
    resident = re.search(r"^ +resident +overhead", text, re.M) is not None  # a real allocator is here
    held = run["resident"]["peak_bytes"] if resident else memory["peak_reserved_bytes"]
    check(label + " held", cells[0], held)
    check(label + " overhead", cells[1].rstrip("x"), held / memory["trace_peak_requested_bytes"],
          0.00501 if held / memory["trace_peak_requested_bytes"] < 9.99 else 0.0501)
    cells = cells[2:]
    if run["memory"]["min_capacity_bytes"] is not None:
        check(label + " min capacity", cells.pop(0), memory["min_capacity_bytes"])
    if run["trace"]["kind"] == "device" and run["latency_scope"] == "strategy":
        cells = cells[3:] + cells[1:3] + cells[:1]  # times stand last, free memory first
    if re.search(r"^ .* wall ns/op ", text, re.M):  # replayed by the recorded threads
        check(label + " wall time", cells.pop(0).split(" ")[0], run["throughput"]["wall_ns_per_op"])
        shares = [run["throughput"][name] for name in ("waited", "blocked")]
        for value, cell in zip(shares, cells[2:4]):
            check(label + " share of time", cell.rstrip("%"), 100 * value, 0.0501)
        cells = cells[:1] + cells[4:]
    time = cells.pop(0)
    if time == "(c)":  # within the replay overhead
        compared += 1
        if run["throughput"]["ns_per_op"] is not None:
            sys.exit("%s: '(c)' in the text, a time in the JSON" % label)
    elif time != "(a)":
        check(label + " ns", time.split(" ")[0], run["throughput"]["ns_per_op"])
    if run["memory"]["min_capacity_bytes"] is None:
        p99, shown = rounding.pooled(list(run["latency"].values()), 0.99), cells.pop(0)
        if time != "(a)":
            latency_cell(label + " p99", shown, p99, p99 is not None and round(p99 / step) < 10, step)
    if resident and cells:
        check(label + " address space", cells.pop(0), memory["peak_reserved_bytes"])
    if calls["get"] is not None and cells:
        check(label + " calls", cells[0], calls["get"] + calls["put"])
        if len(cells) > 1:
            check(label + " hit rate", cells[1].rstrip("%"), 100 * calls["hit_rate"], 0.0501)
    if len(cells) > 2:
        at = memory["at_trace_peak"]
        check(label + " free", cells[2].split(" (")[0],
              at["free_bytes"] if at["cached_bytes"] is None else at["cached_bytes"] + at["span_bytes"])
        if "(" in cells[2]:
            check(label + " largest", cells[2].split("(")[1].rstrip(")"), at["largest_free_block_bytes"])


def warnings(text, runs):
    for run in runs:
        for warning in run["warnings"]:
            find(r"^ *! %s  " % re.escape(warning["id"]), text, "warning " + warning["id"])
    known = {w["id"] for run in runs for w in run["warnings"]}
    for shown in re.findall(r"^ *! (\S+)", text, re.M):
        if shown not in known:
            sys.exit("warning %s is not in the JSON" % shown)


def main(report, result):
    with open(report, encoding="utf-8") as file:
        text = file.read()
    with open(result, encoding="utf-8") as file:
        document = json.load(file)
    step, runs = document["clock"]["step_ns"], document["runs"]
    if len(runs) == 1:
        detail_memory(text, runs[0])
        detail_speed(text, runs[0])
        detail_latency(text, runs[0], step)
    else:
        for run in runs:
            table_row(text, run, step)
    warnings(text, runs)
    print(compared)


main(*sys.argv[1:])
