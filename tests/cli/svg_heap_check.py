"""Checks a picture of heaps against the JSON result of the same replay: what is said of each heap, how long what is
drawn of each kind is, by the axis below it, and that kinds can be told apart without colours.

    svg_heap_check.py FILE RESULT.json      exits 0 and prints how many heaps there are
"""
import json
import math
import re
import sys

import rounding
from svg_check import SVG, Bad, in_bytes, load, need

MOST_BYTES = 160 * 1024
KINDS = {"live": "allocated_bytes", "cached": "cached_bytes", "free": "span_bytes", "dead": "dead_bytes",
         "internal": "internal_bytes", "rest of pages": "page_rest_bytes"}
COLORS = {"live": "c0", "cached": "c2", "free": "c1", "dead": "c4", "internal": "c7"}


def strokes(path):
    """(begin, end, y) of each stroke of a path."""
    tokens = re.findall(r"[MmHhVvZz]|-?\d+(?:\.\d+)?", path)
    need("".join(tokens) == path.replace(" ", ""), "path", path)
    x = y = 0.0
    i, out = 0, []
    while i < len(tokens):
        command = tokens[i]
        if command in "Mm":
            dx, dy = float(tokens[i + 1]), float(tokens[i + 2])
            x, y, i = (dx, dy, i + 3) if command == "M" else (x + dx, y + dy, i + 3)
        else:
            need(command == "h", "path", command)
            out.append((x, x + float(tokens[i + 1]), y))
            x, i = out[-1][1], i + 2
    return out


class Heap:
    def __init__(self, group):
        texts = [(t.get("class"), float(t.get("x")), float(t.get("y")), "".join(t.itertext())) for t in group.iter(SVG + "text")]
        self.name = texts[0][3]
        self.figures = texts[1][3]
        ticks = [(x, text) for _, x, _, text in texts[2:]]
        need(ticks and ticks[0] == (14.0, "0"), "axis", ticks)
        need(len(ticks) > 1, "axis", ticks)
        self.scale = in_bytes(ticks[-1][1]) / (ticks[-1][0] - 14)
        paths = {p.get("class"): p for p in group.findall(SVG + "path") if p.get("stroke-width")}
        looks = [(p.get("stroke-width"), p.get("stroke-dasharray")) for p in paths.values()]
        need(len(set(looks)) == len(looks), "kinds that look alike", looks)
        self.drawn = {}
        for kind, color in COLORS.items():
            lines = strokes(paths[color].get("d")) if color in paths else []
            need(all(14 <= a < b <= 867 for a, b, _ in lines), "outside", kind, lines[:3])
            self.drawn[kind] = (sum(b - a for a, b, _ in lines) * self.scale, len(lines))
        self.high = float(paths.get("c0", paths.get("c1")).get("stroke-width"))
        bottom = next(float(p.get("d").split(" ")[1].split("v")[0]) for p in group.findall(SVG + "path") if "v4" in p.get("d"))
        self.check_overlaps([s for c in COLORS.values() if c in paths for s in strokes(paths[c].get("d"))], bottom)

    def check_overlaps(self, lines, bottom):
        rows = {}
        for a, b, y in lines:
            rows.setdefault(math.ceil((bottom - y) / (self.high + 2)), []).append((a, b))
        for row in rows.values():
            row.sort()
            need(all(x[1] <= y[0] + 0.21 for x, y in zip(row, row[1:])), "stretches lie on each other", row[:4])

    def check(self, run, device, description):
        label = run["strategy"]["label"]
        need(label.startswith(self.name.rstrip("\u2026")), "name", self.name, label)
        whole = re.search(r" %s: (.*?)\.(?= |$)" % re.escape(label), description)
        need(whole and whole.group(1).startswith(self.figures.rstrip("\u2026")), "description", self.figures, description)
        figures = whole.group(1)
        at = device["memory"]["at_trace_peak"]
        need((at["reserved_bytes"] is None) == (", after event" in figures), "moment", figures)
        if at["reserved_bytes"] is None:
            return  # it stopped before
        said = re.match(r"(\S+ \w+) in [\d,]+ ranges?(?:: (.*?))?(?:, (?:after|before) .*|; .*)?$", figures)
        need(said and said.group(1) == rounding.size(int(at["reserved_bytes"])), "reserved", figures, at)
        parts = {p.split(" ", 2)[2]: p.rsplit(" " + p.split(" ", 2)[2], 1)[0]
                 for p in (said.group(2) or "").split(", ") if p}
        expected = {kind: rounding.size(int(at[name])) for kind, name in KINDS.items() if int(at[name])}
        need(parts == expected, "parts", parts, expected)
        for kind, (drawn, count) in self.drawn.items():
            wanted = int(at[KINDS[kind]])
            # a piece ends at most 0.6 pixels early, and begins and ends at a tenth of one
            slack = (0.8 * count + 1) * self.scale + 0.01 * wanted
            need(abs(drawn - wanted) <= slack or (not count and wanted < 30 * self.scale), "length of " + kind,
                 self.name, drawn, wanted, count)


def is_walked(device):
    """Whether the strategy says what lies where; not known of one that stopped before peak demand, which is drawn."""
    at = device["memory"]["at_trace_peak"]
    return at["span_bytes"] is not None or at["reserved_bytes"] is None


class HeapChart:
    def __init__(self, element):
        self.title, self.description = element.findtext(SVG + "title"), element.findtext(SVG + "desc")
        self.texts = ["".join(t.itertext()) for t in element.findall(SVG + "text")]
        self.heaps = [Heap(g) for g in element.findall(SVG + "g")]
        self.legend = [t.split(":")[0].split(" ")[0] for t in self.texts if re.match(r"(live|cached|free|dead|internal)\b", t)]


def parse(path):
    """The charts of a file, the themes it has, and what is said of it."""
    root, themes = load(path, MOST_BYTES)
    return [HeapChart(e) for e in root.findall(SVG + "svg")], themes, \
        ["".join(t.itertext()) for t in root.findall(SVG + "text")]


def main(path, result):
    with open(result, encoding="utf-8") as file:
        document = json.load(file)
    charts, _, _ = parse(path)
    groups = {}
    for run in document["runs"]:
        groups.setdefault(run["trace"]["path"], []).append(run)
    wanted = [(runs, i) for runs in groups.values() for i in range(len(runs[0]["devices"]))]
    need(len(charts) == len(wanted), "charts", len(charts), len(wanted))
    count = 0
    for chart, (runs, index) in zip(charts, wanted):
        seen = set()
        known = [run for run in runs if is_walked(run["devices"][index])]
        need(len(chart.heaps) == len(known), "heaps", len(chart.heaps), [r["strategy"]["label"] for r in known])
        for heap, run in zip(chart.heaps, known):
            heap.check(run, run["devices"][index], chart.description)
            seen |= {kind for kind, (_, strokes_of) in heap.drawn.items() if strokes_of}
            count += 1
        need(seen <= set(chart.legend), "legend", seen, chart.legend)
        for run in runs:
            need(run in known or any(t.startswith("Not drawn") and run["strategy"]["label"] in t for t in chart.texts),
                 "nothing of", run["strategy"]["label"])
    print(count)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Bad as bad:
        sys.exit(str(bad))
