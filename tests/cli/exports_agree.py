"""Reads all exports of one replay and fails where one says something else than the JSON result.

    exports_agree.py STEM      of STEM.json .csv .bench .perfetto .svg .md and, by name, *.hgrm;
                               exits 0 and prints how many figures were compared
"""
import csv
import glob
import html
import json
import re
import sys

import benchfmt_check
import perfetto_check
import rounding
import svg_check

compared = 0


def same(what, got, expected):
    global compared
    compared += 1
    if got != expected:
        sys.exit("%s: %r, not %r" % (what, got, expected))


# ---- CSV -----------------------------------------------------------------------------------------

RENAMED = {"index": "device", "tool_version": "tapool_version", "tool_build": "tapool_build", "tool_commit": "tapool_commit",
           "tool_compiler": "tapool_compiler", "tool_flags": "tapool_flags",
           "weight": "memory_weight", "class": "memory_class",
           "informative": "memory_informative"}
# what has no column: long, or the same for everybody on this machine, or said in another column
LEFT_OUT = re.compile(r"schema|.*curve|.*phases|.*_buckets|runs_ns_per_op|replays_per_run|machine_.*|clock_stamp_ns|"
                      r"devices|.*empty_ns|first_failure_.*|measured_.*|recorded_.*|peak_place|trace_.*|source_device|"
                      r"at_trace_peak_(cached|span|dead|internal|page_rest)_bytes|driver_calls|failed_by|wrappers|"
                      r"resident_.*_error_bytes")


def text(value):
    """As it stands in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ",".join("%s=%s" % (k, text(v)) for k, v in value.items())
    if isinstance(value, list):
        return ";".join(text(v) if not isinstance(v, dict) else v["id"] if "id" in v
                        else "%s:%s" % (v["name"], text(v["options"])) for v in value)
    return value if isinstance(value, str) else value


def is_formula(value):
    """What a spreadsheet would run, which a cell shows behind an apostrophe."""
    value = value.lstrip(" ")
    return value[:1] in "=+-@" and value != "" and not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value)


def flatten(prefix, value, out):
    for key, inner in value.items():
        name = prefix + key
        open_group = isinstance(inner, dict) and key not in ("options", "repairs", "settings")
        if open_group:
            silent = prefix == "" and key in ("memory", "throughput", "latency")
            flatten("" if silent else name + "_", inner, out)
        else:
            out[RENAMED.get(name, name)] = inner


def check_csv(path, document):
    with open(path, encoding="utf-8", newline="") as file:
        raw = file.read()
    if "\r" in raw or not raw.endswith("\n"):
        sys.exit("ends of lines in %s" % path)
    rows = list(csv.reader(raw.splitlines(keepends=True), strict=True))
    head, rows = rows[0], rows[1:]
    if len(set(head)) != len(head) or any(len(row) != len(head) or not re.fullmatch("[a-z0-9_]+", name)
                                          for row in rows for name in head):
        sys.exit("the shape of %s" % path)
    expected = [(run, device) for run in document["runs"] for device in run["devices"]]
    same("rows", len(rows), len(expected))
    for row, (run, device) in zip(rows, expected):
        flat = {}
        for part in ({k: v for k, v in document.items() if k != "runs"},
                     {k: v for k, v in run.items() if k not in ("memory", "driver_calls", "devices")}, device):
            flatten("", part, flat)
        for low in ("low", "high"):
            value = device.get("measured", {}).get("peak_reserved_bytes")
            flat["measured_peak_reserved_%s_bytes" % low] = value[low == "high"] if value else None
        missing = [name for name in flat if name not in head and not LEFT_OUT.fullmatch(name)]
        if missing:
            sys.exit("no column for %s" % missing)
        for name, cell in zip(head, row):
            value = text(flat.get(name))
            if isinstance(value, (int, float)):
                same("csv " + name, float(cell), float(value))
                if isinstance(value, int) and cell != str(value):
                    sys.exit("csv %s: '%s' is not in full" % (name, cell))
            else:
                same("csv " + name, cell, "'" * is_formula(value) + value)


# ---- benchfmt ------------------------------------------------------------------------------------

AMOUNTS = {"trace-peak-requested-B": ("memory", "trace_peak_requested_bytes"),
           "peak-allocated-B": ("memory", "peak_allocated_bytes"), "peak-reserved-B": ("memory", "peak_reserved_bytes"),
           "min-capacity-B": ("memory", "min_capacity_bytes"), "end-reserved-B": ("memory", "end_reserved_bytes"),
           "driver-get-calls": ("driver_calls", "get"), "driver-put-calls": ("driver_calls", "put")}


def check_amounts(values, device):
    expected = {unit: device[group][name] for unit, (group, name) in AMOUNTS.items()}
    expected["at-trace-peak-free-B"] = device["memory"]["at_trace_peak"]["free_bytes"]
    expected["failed-allocations"] = device["failed_allocations"]
    if device.get("measured", {}).get("peak_reserved_bytes"):
        expected["peak-reserved-B"] = device["measured"]["peak_reserved_bytes"][1]
    same("benchfmt amounts", values, {k: float(v) for k, v in expected.items() if v is not None})


def check_latency(values, kind, latency):
    same("benchfmt mean", values.pop(kind + "-mean-ns"), round(latency["mean_ns"], 3))
    expected = {"%s-%s-ns" % (kind, head): float(latency[name])
                for head, name in (("p50", "p50_ns"), ("p90", "p90_ns"), ("p99", "p99_ns"), ("p99.9", "p99_9_ns"))
                if latency[name] is not None and name not in latency["coarse"]}
    same("benchfmt percentiles", values, expected)


def check_bench(path, document):
    results, units = benchfmt_check.parse(path)
    exact = all(run["devices"][0]["memory"]["class"] == "E" for run in document["runs"])
    same("benchfmt exact", units.get(("peak-reserved-B", "assume")), "exact" if exact else None)
    same("benchfmt better", units[("min-capacity-B", "better")], "lower")
    for run in document["runs"]:
        speeds = []
        for config, name, times, values in results[:]:
            if name["strategy"] != run["strategy"]["label"] or config["trace-hash"] != run["trace"]["program_hash"]:
                continue
            results.remove((config, name, times, values))
            same("benchfmt trace", name["trace"], run["trace"]["name"])
            for key, value in (("source", run["source"]["name"]), ("latency-scope", run["latency_scope"]),
                               ("touch", run["touch"]), ("cpu", document["machine"]["cpu"])):
                same("benchfmt " + key, config[key], value)
            kind = next(iter(values)).split("-")[0]
            if "ns/op" in values:
                speeds.append(values.pop("ns/op"))
                same("benchfmt iterations", times, run["trace"]["operations"] * run["throughput"]["replays_per_run"])
                same("benchfmt speed", values, {})
            elif kind in run["latency"]:
                check_latency(values, kind, run["latency"][kind])
            else:
                check_amounts(values, run["devices"][int(name.get("device", 0))])
        same("benchfmt repetitions", speeds, run["throughput"]["runs_ns_per_op"])
    same("benchfmt results of nobody", results, [])


# ---- hgrm ----------------------------------------------------------------------------------------

def parse_hgrm(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    notes = [line for line in lines if line.startswith("#[")]
    same("end of " + path, lines.pop(), "")
    if any(not line.startswith("#[") or not line.endswith("]") for line in lines if line.startswith("#")):
        sys.exit("a remark of %s" % path)
    lines = [line for line in lines if not line.startswith("#")]
    same("head of " + path, lines[0].split(), ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
    same("line after it", lines[1], "")
    rows = [line.split() for line in lines[2:]]
    for row, after in zip(rows, rows[1:]):
        if len(row) != 4 or float(row[0]) > float(after[0]) or float(row[1]) >= float(after[1]) \
                or int(row[2]) > int(after[2]) or abs(float(row[3]) - 1 / (1 - float(row[1]))) > 0.01 * float(row[3]):
            sys.exit("%s: %s, then %s" % (path, row, after))
    same("last row of " + path, rows[-1][1::2], ["1.000000000000", "inf"])
    footer = {key.strip(): float(value) for line in notes[-3:]
              for key, value in (pair.split("=") for pair in line[2:-1].split(","))}
    return notes, [(float(v), float(p), int(n)) for v, p, n, _ in rows], footer


def check_hgrm(path, document, run, kind):
    notes, rows, footer = parse_hgrm(path)
    kinds = run["latency"].values() if kind == "all" else [run["latency"][kind]]
    buckets = {}
    for latency in kinds:
        for upper, n in latency["buckets"]:
            buckets[upper] = buckets.get(upper, 0) + n
    count = sum(latency["count"] for latency in kinds)
    most = max(latency["max_ns"] for latency in kinds)
    for value, level, seen in rows:  # of each level: the least bucket that reaches it
        below = 0
        for upper in sorted(buckets):
            below += buckets[upper]
            if below >= level * count - 1e-6:
                break
        same("%s at %s" % (path, level), (value, seen), (min(upper, most), below))
    same("hgrm count", footer["Total count"], count)
    same("hgrm max", footer["Max"], most)
    mean = sum(latency["mean_ns"] * latency["count"] for latency in kinds) / count
    if kind != "all" and abs(footer["Mean"] - mean) > 0.0006:
        sys.exit("hgrm mean: %s, not %s" % (footer["Mean"], mean))
    said = "\n".join(notes)
    options = list(run["strategy"]["options"].items()) + list(run["source"]["options"].items()) \
        + [o for d in run["source"].get("wrappers", []) for o in d["options"].items()]
    for word in ("nanoseconds of %s calls" % kind, run["trace"]["program_hash"], document["tool"]["version"],
                 run["latency_scope"], "step %.3f ns" % document["clock"]["step_ns"]) \
            + tuple(w["id"] for w in run["warnings"]) + tuple("%s=%s" % o for o in options if o[1]):
        same("%s says %s" % (path, word), word in said, True)


def file_name(text):
    """Byte by byte."""
    return re.sub(rb"[^A-Za-z0-9.=+_-]", b"_", text.encode()).decode()


def check_hgrms(stem, document):
    runs = document["runs"]
    several = len({run["trace"]["program_hash"] for run in runs}) > 1
    left = set(glob.glob(glob.escape(stem) + "*.hgrm"))
    for run in runs:
        for kind in ["all"] + list(run["latency"]):
            name = file_name(run["strategy"]["label"])
            if several:
                name = file_name(run["trace"]["name"])[:32] + "-" + name
            path = "%s-%s-%s.hgrm" % (stem, name, kind)
            if len(runs) == 1:
                path = stem + ("" if kind == "all" else "-" + kind) + ".hgrm"
            check_hgrm(path, document, run, kind)
            left.remove(path)
    same("hgrm files of nobody", left, set())


# ---- perfetto, svg, markdown --------------------------------------------------------------------------

def check_perfetto(path, document):
    names, counters, _, other = perfetto_check.parse(path)
    for key in ("tool", "clock", "seed", "partial"):
        same("perfetto " + key, other[key], document[key])
    for pid, (run, more) in enumerate(zip(document["runs"], other["runs"]), 1):
        for key in ("trace", "strategy", "source", "touch", "latency_scope", "warnings"):
            same("perfetto " + key, more[key], run[key])
        known = "" if "time" not in run["trace"]["unknown"] else ", an event is a microsecond"
        same("perfetto name", names.pop(pid), "%s: %s on %s%s" % (run["trace"]["name"], run["strategy"]["label"],
                                                                 run["source"]["name"], known))
        for device in run["devices"]:
            name = "memory" if len(run["devices"]) == 1 else "memory of device %d" % device["index"]
            points = counters.pop((pid, name), [])
            same("perfetto points", [[p[n] for n in ("requested", "allocated", "reserved")] for _, p in points],
                 [point[1:] for point in curve_of(run, device)])
            same("perfetto free", all(p["free"] == max(0, p["reserved"] - p["allocated"]) for _, p in points), True)
            for (ts, _), point in zip(points, curve_of(run, device)):
                if known:
                    same("perfetto time", ts, point[0])
                elif point[0] == device["memory"]["at_trace_peak"]["event"]:
                    same("perfetto time", round(ts * 1000), device["memory"]["at_trace_peak"]["time_ns"])
    same("perfetto tracks of nobody", (names, counters), ({}, {}))


def curve_of(run, device):
    """The only device has it in the memory of the run."""
    return (run if len(run["devices"]) == 1 else device)["memory"]["curve"]


def place_of(event, time_ns, run, chart):
    """Where an event lies on the axis; None: that is not in the result."""
    if "time of the trace" not in chart.texts:
        return chart.left + max(0, event - 1) / run["trace"]["events"] * (chart.right - chart.left)
    return None if time_ns is None else chart.x_of(time_ns)


def check_svg_line(what, line, peak, at):
    same("svg peak of " + what, line[0], rounding.size(peak))
    if at is not None:
        same("svg place of %s, %s %s" % (what, line[1], at), abs(line[1] - at) <= 4, True)


def check_svg_device(chart, runs, index):
    devices = [run["devices"][index] for run in runs]
    demand = devices[0]["memory"]["at_trace_peak"]
    check_svg_line("requested", chart.lines["requested"], devices[0]["memory"]["trace_peak_requested_bytes"],
                   place_of(demand["event"], demand["time_ns"], runs[0], chart) if demand["event"] else None)
    failed = 0
    for run, device in zip(runs, devices):
        label, curve = run["strategy"]["label"], curve_of(run, device)
        if not curve:
            same("svg leaves out " + label, any(t.startswith("Not drawn") and label in t for t in chart.texts), True)
            continue
        peak = max(point[3] for point in curve)
        lines = [line for name, line in chart.lines.items() if label in name.split(", ") and line[0] == rounding.size(peak)]
        same("svg lines of " + label, len(lines), 1)
        check_svg_line(label, lines[0], peak, place_of(next(p[0] for p in curve if p[3] == peak), None, run, chart))
        same("svg says all of " + label, "%s: at most %s" % (label, rounding.size(peak)) in chart.description, True)
        if device["failed_allocations"]:
            failed += 1
            same("svg failure of " + label, any(m.startswith(label) or ", " + label in m for m in chart.marks), True)
    same("svg marks", min(len(chart.marks), 1), min(failed, 1))


def check_svg(path, document):
    charts, themes, remarks = svg_check.parse(path)
    same("svg themes", sorted(themes), ["dark", "light"])
    same("svg partial", any("partial" in text for text in remarks), document["partial"])
    groups = {}
    for run in document["runs"]:
        groups.setdefault(run["trace"]["path"], []).append(run)
    wanted = [(runs, i) for runs in groups.values() for i in range(len(runs[0]["devices"]))]
    same("svg charts", len(charts), len(wanted))
    for chart, (runs, index) in zip(charts, wanted):
        check_svg_device(chart, runs, index)


def unescape(cell):
    return html.unescape(re.sub(r"\\([^A-Za-z0-9 ])", r"\1", cell.replace("\u200b", "")))


def check_markdown(path, document):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    tables, current = [], []
    for line in lines:
        if line.startswith("|"):
            if not re.fullmatch(r"\|( ([^|\\]|\\.)* ?\|)+", line):
                sys.exit("a row of %s: %s" % (path, line))
            current.append([unescape(c.strip()) for c in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif current:
            tables.append(current)
            current = []
    titles = [unescape(line[4:]) for line in lines if line.startswith("### ")]
    groups = []
    for run in document["runs"]:
        if not groups or groups[-1][0]["trace"]["path"] != run["trace"]["path"]:
            groups.append([])
        groups[-1].append(run)
    same("markdown titles", titles, [group[0]["trace"]["name"] for group in groups])
    for table, group in zip(tables, groups):
        same("markdown columns", {len(row) for row in table}, {len(table[0])})
        bounds = ("requested", "best packing")
        labels = [row[0] for row in table[2:] if row[0] not in bounds and not row[0].startswith("recorded, ")]
        same("markdown rows", labels, [run["strategy"]["label"] for run in group])
        for run, row in zip(group, table[-len(group):]):
            if len(run["devices"]) == 1 and table[0][1] == "peak reserved" and "to" not in row[1]:
                number, unit = row[1].split()
                value = float(number.replace(",", "")) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
                peak = run["memory"]["peak_reserved_bytes"]
                same("markdown peak", abs(value - peak) <= 0.0006 * peak, True)
    same("markdown tables", len(tables), len(groups))
    picks = [line for line in lines if line.startswith(("**Pick", "**Smallest"))]
    same("markdown picks", len(picks), len(groups))
    said = {line.split("**")[1] for line in lines if line.startswith("- **")}
    same("markdown warnings", said, {w["id"] for run in document["runs"] for w in run["warnings"]})


def main(stem):
    with open(stem + ".json", encoding="utf-8") as file:
        document = json.load(file)
    check_csv(stem + ".csv", document)
    check_bench(stem + ".bench", document)
    check_perfetto(stem + ".perfetto", document)
    check_svg(stem + ".svg", document)
    check_markdown(stem + ".md", document)
    check_hgrms(stem, document)
    print(compared)


try:
    main(sys.argv[1])
except (benchfmt_check.Bad, perfetto_check.Bad, svg_check.Bad) as bad:
    sys.exit(str(bad))
