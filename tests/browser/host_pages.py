"""What page_check.py looks for on the page of tapool why of a host trace: its tables and its map of pages against the
JSON of the same run, and that the slider, the keys and the charts of the page lead to the same moments."""
import base64
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import page_tables  # noqa: E402
import rounding as text  # noqa: E402
from page_tables import Large, NoGetters, check_table, whole  # noqa: E402
from snapshot_pages import Figures, Rows, plural  # noqa: E402

PARTS = ("live", "rounding", "partly_free", "free_pages", "own")
NAMES = ("live", "rounding", "partly free pages", "free pages", "never part of a block")
SHOWN, HELPS, REMEDIES, OTHERS = 10, 0.01, 8, 2


def part(of, name):
    return whole(of[name + "_bytes"])


def share(size, all_):
    return text.percent(size / all_ if all_ else None)


# ---- tables ----

def sum_rows(d):
    m = d["moment"]
    names = [plural(m["live_blocks"], "live block"), *NAMES[1:], "resident, " + plural(part(m, "resident") // m["page_bytes"], "page")]
    written = part(m, "live") >= 0.95 * part(m, "requested")
    notes = ["requested and written" if written else "of %s requested" % text.size(part(m, "requested")), "",
             "free, on %s" % plural(d["partly_free_by"]["pages"], "page") if part(m, "partly_free") else "",
             "kept by the allocator" if part(m, "free_pages") else "", "the allocator's own data" if part(m, "own") else "", ""]
    rows = zip(" ++++=", [part(m, p) for p in (*PARTS, "resident")], names, notes)
    return [[sign, text.size(size), name, share(size, part(m, "resident")), note] for sign, size, name, note in rows
            if size is not None]


class Holders:
    """Who holds the partly free pages: the first rows, and the others in one."""

    def __init__(self, d):
        by = d["partly_free_by"]
        self.all, rows = by["bytes"], by["rows"]
        self.medians = {r["name"]: self.age(r, "median") for r in d["lifetimes"]["rows"]}
        shown = len(rows) if len(rows) <= SHOWN + 1 else SHOWN
        self.shares = []
        self.rows = [self.row(r, r["name"] or "not known") for r in rows[:shown]]
        if rows[shown:]:
            total = {n: sum(r[n] for r in rows[shown:]) for n in ("partly_free_bytes", "live_bytes", "live_blocks")}
            oldest = max(rows[shown:], key=lambda r: r.get("oldest_ns", r.get("oldest_events")) or 0)
            self.rows.append(self.row({**oldest, **total, "pages": None, "name": None}, "other"))

    @staticmethod
    def age(of, name):
        if of.get(name + "_ns") is not None:
            return text.duration(of[name + "_ns"])
        events = of.get(name + "_events")
        return plural(events, "event") if events else "-"

    def row(self, r, name):
        def near(value):
            return math.floor(value + 0.5)
        self.shares.append(r["partly_free_bytes"] / self.all if self.all else None)
        return ["", text.size(near(r["partly_free_bytes"])), "",
                "-" if r["pages"] is None else text.count(near(r["pages"])), text.size(near(r["live_bytes"])),
                text.count(near(r["live_blocks"])), self.age(r, "oldest"), self.medians.get(r["name"], "-"), name]

    def see(self, table):
        return [] if len(table["rows"]) == len(self.rows) and table["heads"][1:3] == ["partly free", "share"] else \
            ["holders: %d rows for %d, of %s" % (len(table["rows"]), len(self.rows), table["heads"])]

    def expected(self, table, row, column):
        right, said = self.rows[row][column], table["rows"][row][column]
        if column == 8:
            return bool(said) and right.endswith(said)
        return text.texts(text.percent, self.shares[row]) if column == 2 else {right}


def remedy_rows(d):
    rows = [r for r in d["alternatives"]["rows"] if r["replays"]]
    changes = ["-"] + [text.change(part(r, "resident") / part(rows[0], "resident") - 1) for r in rows[1:]]
    base = "as recorded" if d["malloc"]["recorded"] else d["malloc"]["library"] or rows[0]["what"]
    names = [base] + [r["what"] for r in rows[1:]]
    shown, others = 1, 0
    for r in rows[1:]:
        others += part(r, "resident") / part(rows[0], "resident") - 1 > -HELPS
        shown += shown <= REMEDIES and others <= OTHERS
    return [["  " + name, text.size(part(r, "resident")), change, text.size(part(r, "partly_free")), text.size(part(r, "free_pages"))]
            for name, r, change in list(zip(names, rows, changes))[:shown]]


def moment_rows(d):
    return [[text.count(m["event"])] + [text.size(part(m, p)) for p in ("resident", *PARTS)] for m in d["moments"]]


def large(d):
    m = d["moment"]
    unused = part(m, "partly_free") + part(m, "free_pages")
    return [("resident", {text.size(part(m, "resident"))}), ("free, share of resident", {share(unused, part(m, "resident"))}),
            ("partly free pages", {text.size(part(m, "partly_free"))}), ("free pages", {text.size(part(m, "free_pages"))})]


GETTERS = {
    "figures": lambda d: Large(large(d)),
    "sum": lambda d: Rows(["name", "memory", "part", "share of resident", "note"], sum_rows(d)),
    "holders": Holders,
    "tries": lambda d: Rows(["Alternative", "resident", "change", "partly free", "free pages"], remedy_rows(d)),
    "page-parts": lambda d: Rows(["event", "resident", "live", "rounding", "partly free", "free pages", "never a block"], moment_rows(d)),
}


def getters(index, table, data, document):
    return GETTERS[table["section"]](document) if table["section"] in GETTERS else NoGetters()


# ---- the map ----

MAP, CHART = "document.querySelector('figure[data-view=page-map]')", "document.querySelector('figure[data-view=page-parts] .chart')"
INK = MAP + """.querySelector(".board").toDataURL()"""
SAID = MAP + ".querySelector('.moment').textContent"
UNDER = MAP + ".querySelector('.under:not(.moment)').textContent"


def moment_text(m, document):
    when = "event " + text.count(m["event"]) if m["event"] else "before the first event"
    when += "" if m["time_ns"] is None else ", +" + text.duration(m["time_ns"])
    when += " (explained above)" if m["event"] == document["moment"]["event"] else ""
    parts = ["%s %s" % (text.size(part(m, p)), name) for p, name in zip(PARTS, NAMES) if part(m, p)]
    return "%s: %s resident%s" % (when, text.size(part(m, "resident")), " = " * bool(parts) + " + ".join(parts))


def numbers(data):
    """The numbers in a text of base 64, as frames_json.h says."""
    value, weight = 0, 0
    for byte in base64.b64decode(data):
        value |= (byte & 127) << weight
        weight += 7
        if byte < 128:
            yield value
            value = weight = 0


def sums(data):
    """Of each moment the bytes of its parts, of all cells of the map together."""
    page_map = data["page"]["map"]
    ranges = list(numbers(page_map["ranges"]))
    cells, found = [None] * sum(ranges[1::2]), []
    for moment in page_map["moments"]:
        at, of = 0, numbers(moment["cells"])
        for same in of:
            at += same
            if at == len(cells):
                break
            resident = next(of)
            cells[at] = (resident, *(next(of) for _ in range(5))) if resident else None
            at += 1
        total = [moment["every"] * page_map["unit"] * sum(c[i] for c in cells if c) for i in range(5)]
        found.append(dict(zip(("resident", *PARTS), total + [total[0] - sum(total[1:])])))
    return found, len(cells)


def compare_map(page, data, document, figures):
    try:
        found, cells = sums(data)
    except (IndexError, RuntimeError, StopIteration) as e:
        figures.found.append("the map cannot be read: %r" % e)
        return
    unit = data["page"]["map"]["unit"] * max(moment["every"] for moment in data["page"]["map"]["moments"])
    figures.found.expect(cells <= 4096, "the map has", cells, "cells")
    for m, total in zip(document["moments"], found):
        for name in ("resident", *PARTS):
            figures.compared += 1
            right = part(m, name) or 0
            figures.found.expect(abs(total[name] - right) <= (data["page"]["map"]["unit"] > 1) * unit * cells, "the map at event", m["event"], "has",
                                 total[name], "bytes", name, "and not", right)
    figures.same("moments of the map", len(found), len(document["moments"]))


def step_through(page, document, figures):
    """Keys on the slider, and what the map says and draws then; the last moment is shown at the end."""
    seen = set()
    page.value(MAP + ".querySelector('input[type=range]').focus()")
    page.key("Home")
    for m in document["moments"]:
        page.settle()
        figures.same("the moment", page.value(SAID), moment_text(m, document))
        seen.add(page.value(INK))
        page.key("ArrowRight")
    if len({tuple(part(m, p) for p in PARTS) for m in document["moments"]}) > 1:
        figures.found.expect(len(seen) > 1, "the map is the same at all moments")


def go_through_cells(page, figures):
    page.value(MAP + ".querySelector('.board').focus()")
    said = []
    for key in ("Home", "ArrowRight", "ArrowDown", "End"):
        page.key(key)
        said.append(page.value(UNDER))
    figures.found.expect(all(" at 0x" in s and (" resident" in s) for s in said), "the map says of its cells", said)
    figures.found.expect(said[0] != said[1] != said[3], "the keys lead to one cell:", said)


def chart_leads(page, document, figures):
    """The chart at an end of its curve, and Enter there shows that moment in the map."""
    for key, m in (("End", document["moments"][-1]), ("Home", document["moments"][0])):
        page.value(CHART + ".focus()")
        page.key(key)
        page.key("Enter")
        page.settle()
        figures.same("the map after %s and Enter in the chart" % key, page.value(SAID), moment_text(m, document))
        said = page.value(CHART + ".parentElement.querySelector('.under').textContent")
        for p, name in zip(PARTS, NAMES):
            size = part(m, p)
            figures.found.expect(not size or "%s %s" % (name, text.size(size)) in said, "the chart says", said, "and not", name, size)


def look_at_map(page, found):
    boxes = page.value("[%s.querySelector('.board'), (%s || document.body).querySelector('canvas')].map(c => c ? [c.clientWidth, c.clientHeight] : [0, 0])" % (MAP, CHART))
    found.expect(all(w > 100 and h >= 16 for w, h in boxes), "the map or the chart is", boxes)


def look_closer(page, document, found):
    figures = Figures(found)
    step_through(page, document, figures)
    go_through_cells(page, figures)
    chart_leads(page, document, figures)


def compare(page, data, document, found):
    figures = Figures(found)
    for index, article in enumerate(page.value(page_tables.READ)):
        for table in article["tables"]:
            more, compared = check_table(table, getters(index, table, data, document))
            found.extend(more)
            figures.compared += compared
    compare_map(page, data, document, figures)
    return figures.compared
