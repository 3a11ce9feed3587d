"""What page_check.py looks for on a page of tapool why or tapool tune: its figures and charts against the JSON of the
same run."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import page_tables  # noqa: E402
import rounding as text  # noqa: E402
from page_figures import Sites  # noqa: E402
from page_tables import Large, NoGetters, check_table, whole  # noqa: E402

READ = """[...document.querySelectorAll("article")].map(article => Object.fromEntries(
    [...article.querySelectorAll("section")].map(s => [s.className, {
        words: s.textContent,
        named: [...s.querySelectorAll(".bars li span:first-child, .keys li")].map(e => e.textContent.trim()),
        under: [...s.querySelectorAll(".under")].map(e => e.textContent),
        painted: [...s.querySelectorAll("canvas")].some(c => c.width > 100 && c.height > 20 &&
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))}])))"""


class Figures:
    """Texts of a page against those that a document says."""

    def __init__(self, found):
        self.found, self.compared = found, 0

    def same(self, what, shown, right):
        self.compared += 1
        self.found.expect(shown == right, what, "is", repr(shown), "and not", repr(right))

    def sizes(self, what, shown, right):
        self.same(what, [text.number(s) is not None and s for s in shown], [text.size(v) for v in right])


# ---- why ----

PARTS = ("requested_bytes", "rounding_bytes", "hole_bytes", "free_bytes", "reserved_bytes")


def plural(n, noun):
    return "%s %s%s" % (text.count(n), noun, "" if n == 1 else "s")


class Rows:
    """A table whose rows are known as texts, by their order."""

    def __init__(self, heads, rows):
        self.heads, self.rows = heads, rows

    def see(self, table):
        if len(table["rows"]) != len(self.rows):
            return ["%s: %d rows for %d" % (table["section"], len(table["rows"]), len(self.rows))]
        return [] if table["heads"] == self.heads else \
            ["no getters for the table in '%s': %s" % (table["section"], table["heads"])]

    def expected(self, table, row, column):
        return {self.rows[row][column]}


def sum_rows(d):
    memory = {name: whole(n) for name, n in d["memory"].items()}
    unused = [plural(memory[key], noun) for key, noun in (("free_segments", "segment"), ("free_units", "unit")) if memory[key]]
    names = [plural(memory["live_blocks"], "live block"), "rounding", "free blocks in used segments",
             (", ".join(unused) or "0 segments").replace(" ", " unused ", 1),
             "reserved, " + plural(memory["segments"], "segment")]
    notes = ["requested and not freed", "",
             "%s, largest %s" % (plural(memory["holes"], "block"), text.size(memory["largest_hole_bytes"])) if memory["holes"] else "",
             "empty_cache() would return it" if memory["free_bytes"] else "", ""]
    shares = [text.percent(memory[p] / memory["reserved_bytes"] if memory["reserved_bytes"] else None) for p in PARTS]
    return [list(row) for row in zip(" +++=", map(text.size, (memory[p] for p in PARTS)), names, shares, notes)]


def try_rows(d):
    limit = d["settings_capacity_bytes"]
    bases = {t["compacted_start"]: t for t in d["settings"] if not t["conf"]}

    def change(t):
        base = bases.get(t["compacted_start"])
        if t is base:
            return "base"
        if not base or limit and (t["failed_requests"] or base["failed_requests"]):
            return "-"
        ratio = whole(t["peak_reserved_bytes"]) / whole(base["peak_reserved_bytes"])
        return "same" if ratio == 1 else text.change(ratio - 1)

    peaks = not limit or not all(t["failed_requests"] for t in d["settings"])
    rows = [["  " + (t["conf"] or "as recorded") + " (compacted start)" * t["compacted_start"]]
            + ["-" if limit and t["failed_requests"] else text.size(whole(t["peak_reserved_bytes"])), change(t)] * peaks
            + ["OOM" if t["failed_requests"] else "fits"] for t in sorted(d["settings"], key=lambda t: t["compacted_start"])]
    heads = ["Setting"] + ["peak reserved", "change"] * peaks + (["in " + text.size(whole(limit))] if limit else [])
    return heads, [row[:len(heads)] for row in rows]


def large_why(d):
    request, memory = d.get("request"), {name: whole(n) for name, n in d["memory"].items()}
    sizes = [("request" if request else "requested", request["bytes"] if request else memory["requested_bytes"]),
             ("reserved", memory["reserved_bytes"]),
             ("free", request["unused_bytes"] if request else memory["hole_bytes"] + memory["free_bytes"]),
             ("largest free block", request["largest_hole_bytes"]) if request else
             ("largest free block in used segments", memory["largest_hole_bytes"])]
    verdict = [("verdict", {request["verdict"].capitalize()})] if request else []
    return verdict + [(label, {text.size(whole(n))}) for label, n in sizes]


def room_rows(d):
    request = d["request"]
    sizes = [request["bytes"], request["largest_hole_bytes"], request["unused_bytes"], d["memory"]["reserved_bytes"], request["capacity_bytes"]]
    return [[text.count(d["event"]["number"])] + [text.size(whole(n)) for n in sizes] + [request["verdict"].capitalize(), d["event"]["place"] or ""]]


ROOM = ["event", "requested", "largest free block", "free", "reserved", "capacity", "cause", "allocation site"]
WHY = {
    "room": lambda d: Rows(ROOM, room_rows(d)),
    "figures": lambda d: Large(large_why(d)),
    "sum": lambda d: Rows(["name", "memory", "part", "share of reserved", "note"], sum_rows(d)),
    "tries": lambda d: Rows(*try_rows(d)),
    "sites": lambda d: Sites(None, [d]),
}


def getters_why(index, table, data, document):
    return WHY[table["section"]](document["devices"][index]) if table["section"] in WHY else NoGetters()


def check_tables(page, getters, data, document, figures):
    """All tables of a page; the sections that have one, by article."""
    sections = []
    for index, article in enumerate(page.value(page_tables.READ)):
        sections.append([table["section"] for table in article["tables"]])
        for table in article["tables"]:
            found, compared = check_table(table, getters(index, table, data, document))
            figures.found.extend(found)
            figures.compared += compared
    return sections


def parts_of(figures, part, d):
    for name in ("live_blocks", "holes", "free_segments", "segments"):
        figures.found.expect(text.count(d["memory"][name]) in part["sum"]["words"], name, "is not in", part["sum"]["words"])


def room_of(figures, part, d):
    request = d.get("request")
    figures.found.expect(bool(request) == ("room" in part), "the request is there, or is missing")
    if not request:
        return
    right = [request["block_bytes"], request["largest_hole_bytes"], request["fitting_bytes"] or 0, request["unused_bytes"]]
    if request["device_free_bytes"] is not None:
        right.append(request["device_free_bytes"])
    figures.sizes("the bars", [name.rsplit(": ", 1)[1] for name in part["room"]["named"]], right)
    first = part["answer"]["words"]
    figures.found.expect("OUT OF MEMORY" in first and text.size(request["bytes"]) in first, "the answer is", first)


def rest_of(figures, part, d, tables):
    """The tables that are there."""
    way = (d.get("request") or {}).get("in_the_way")
    for block in way["largest"] if way else []:
        line = "%s %s" % (text.size(whole(block["bytes"])), block["place"] or "not known")
        figures.found.expect(line in part["room"]["words"], "not said:", line)
    right = {"figures": True, "sum": True, "room": d.get("request"), "tries": len(d.get("settings", [])) > 1, "sites": d.get("sites")}
    figures.same("tables", tables, [name for name, there in right.items() if there])
    if d["replayed"]:
        figures.found.expect("a replay by the rules" in part["ground"]["words"], "that it is a replay is not said")
    elif not d["fidelity"]["addresses"]:
        figures.found.expect("the segments at the end of the file" in part["ground"]["words"], "what it rests on is not said")
    else:
        said = "%s of %s addresses" % tuple(text.count(d["fidelity"][n]) for n in ("as_recorded", "addresses"))
        figures.found.expect(said in part["ground"]["words"], "not said:", said)


def map_of(figures, part, d):
    if not d["memory"]["segments"]:
        figures.found.expect("heap" not in part, "there is a map of nothing")
        return
    if not part["heap"]["painted"]:
        figures.found.append("the map is empty")
        return
    said, memory = part["heap"]["under"][0], d["memory"]
    match = re.search(r": ([\d.,]+ \w+) in ([\d,]+) ranges(?: = (.*))?; requested ([\d.,]+ \w+)", said)
    live = memory["requested_bytes"] + memory["rounding_bytes"]
    right = [(live, "live"), (memory["reserved_bytes"] - live, "free")]
    if not match:
        figures.found.append("the map says " + said)
        return
    figures.same("the map", list(match.groups()),
                 [text.size(memory["reserved_bytes"]), text.count(memory["segments"]),
                  " + ".join("%s %s" % (text.size(v), name) for v, name in right if v), text.size(memory["requested_bytes"])])


# What the areas of live memory by site are together, at each of their events.
SITES = """(curve => curve && (lists => page.values(curve.events).map((event, i) => [event, lists.reduce((sum, list) => sum + list[i], 0)]))(
    curve.bytes.map(page.values)))(page.data.%s.site_curve)"""


def sites_of(page, figures, d, at):
    totals = page.value(SITES % ("devices[%d].page.devices[0]" % at))
    if totals:
        figures.same("live memory by site at the event", [size for event, size in totals if event <= d["event"]["number"]][-1],
                     d["memory"]["requested_bytes"])


CHART = "document.querySelectorAll('section.recorded .chart')[%d]"


def chart_of(page, figures, part, d, at):
    figures.found.expect(bool(d["event"]["of"]) == ("recorded" in part), "the chart is there, or is missing")
    if not d["event"]["of"]:
        return
    if not part["recorded"]["painted"]:
        figures.found.append("the chart is empty")
        return
    curve = page.value("page.curve(page.data.devices[%d].page.devices[0].recorded)" % at)
    then = max(i for i, event in enumerate(curve["events"]) if event <= d["event"]["number"])
    figures.same("the curve at the event", [curve["requested"][then], curve["reserved"][then]],
                 [d["memory"]["requested_bytes"], d["memory"]["reserved_bytes"]])
    figures.same("its end", curve["events"][-1], d["event"]["of"])
    page.value((CHART % at) + ".focus()")
    page.key("End")
    page.settle()
    said = page.value((CHART % at) + ".parentElement.querySelector('.under').textContent")
    figures.found.expect(said.startswith("event " + text.count(d["event"]["of"])), "the chart says", said)


def compare_why(page, data, document, found):
    parts, figures = page.value(READ), Figures(found)
    figures.found.expect(len(parts) == len(document["devices"]), "articles:", len(parts))
    tables = check_tables(page, getters_why, data, document, figures)
    for i, (part, d) in enumerate(zip(parts, document["devices"])):
        parts_of(figures, part, d)
        room_of(figures, part, d)
        rest_of(figures, part, d, tables[i])
        map_of(figures, part, d)
        chart_of(page, figures, part, d, i)
        sites_of(page, figures, d, i)
    return figures.compared


# ---- tune ----

def name_of(s, document):
    own = s["recorded"] and len({f["setting"] for f in document["files"]}) > 1
    name = "each file's own" if own else s["setting"] or "defaults"
    how = ["as recorded"] * s["recorded"] + ["compacted start"] * bool(s["refused"] is None and s["compacted_start"])
    return name + (" (%s)" % ", ".join(how) if how else "") + (" !" if s["danger"] else "")


def fits(document, figures):
    """Whether a device has room for what these figures say of all files."""
    if whole(figures["failed_allocations"]):
        event, several = figures["first_failed_event"], len(document["files"]) > 1
        if not event:
            return "no, at the start"
        return "no, %s" % ("file %d: " % (figures["failed_file"] + 1) if several else "event ") + text.count(event)
    capacity = document["files"][figures["peak_file"]]["capacity_bytes"]
    return "no" if capacity is not None and whole(figures["peak_reserved_bytes"]) > whole(capacity) else "yes"


def recorded_figures(document):
    """What the recorded allocators did, in all files together; None: a file does not say it."""
    rows = [f.get("recorded") for f in document["files"]]
    if None in rows:
        return None
    peaks = [whole(row["peak_reserved_bytes"]) for row in rows]
    failed = next((i for i, row in enumerate(rows) if whole(row["failed_allocations"])), None)
    return {"peak_reserved_bytes": max(peaks), "peak_file": peaks.index(max(peaks)),
            "driver_calls": sum(whole(row["driver_calls"]) for row in rows), "failed_file": failed,
            "retries": sum(whole(row["retries"]) for row in rows),
            "failed_allocations": sum(whole(row["failed_allocations"]) for row in rows),
            "first_failed_event": None if failed is None else rows[failed]["first_failed_event"]}


class Settings:
    """A row for each setting that was replayed, and for what was recorded or measured. Below 1,000 settings there are all."""
    DID, POOL = "PyTorch itself (from the file)", "backend:cudaMallocAsync (measured on this machine's GPU)"

    def __init__(self, document):
        self.document, did = document, recorded_figures(document)
        replayed = [s for s in document["settings"] if s["refused"] is None]
        starts = {s["compacted_start"] for s in replayed if not s["reference"]}
        self.rows = {name_of(s, document): s for s in replayed if len(starts) > 1 or not s["reference"]}
        if did:
            self.rows[self.DID] = did
        if "driver_pool" in document:
            self.rows[self.POOL] = {"driver_calls": None, "retries": None, "peak_file": None, **document["driver_pool"]}

    @staticmethod
    def names(row):
        """Equal settings are one row: one of them, how many others there are, and these on lines of their own."""
        first, *others = row[-1].split("\n")
        return [re.sub(" and %s$" % plural(len(others), "equal setting"), "", first) if others else first] + others

    def see(self, table):
        names = [name for row in table["rows"] for name in self.names(row)]
        good = len(names) == len(self.rows) and set(names) == set(self.rows)
        return [] if good else ["each: rows %s, and not %s" % (names[:5], list(self.rows)[:5])]

    def change(self, of):
        """From the peak of the setting that began as this one did: the recorded one, or the defaults."""
        others = [s for s in self.document["settings"] if s["refused"] is None and (s["recorded"] or not s["setting"])]
        own = sorted((s for s in others if not s["reference"]), key=lambda s: not s["recorded"])[:1]
        twin = [s for s in others if s["reference"]]
        base = (twin or own)[0] if of["compacted_start"] and not own[0]["compacted_start"] else own[0]
        if of is base:
            return "base"
        if whole(of["failed_allocations"]) or whole(base["failed_allocations"]):
            return "-"
        ratio = whole(of["peak_reserved_bytes"]) / whole(base["peak_reserved_bytes"])
        return "same" if ratio == 1 else text.change(ratio - 1)

    def expected(self, table, row, column):
        """Whether a cell holds for each of the settings of its row."""
        names, cell = self.names(table["rows"][row]), table["rows"][row][column]
        rights = [self.right(table, row, column, name) for name in names]
        return all(right if isinstance(right, bool) else right is not None and cell in right for right in rights)

    def right(self, table, row, column, name):
        said, head = table["rows"][row][column], table["heads"][column]
        of = self.rows[name]
        if column == len(table["heads"]) - 1:
            return True
        fit = head.startswith("fits ")
        if name == self.POOL and (fit or head == "peak in file"): # the JSON has one of both
            return said == ("no" if whole(of["failed_allocations"]) else "yes") or said in map(str, range(1, len(self.document["files"]) + 1))
        failed = name not in (self.DID, self.POOL) and whole(of["failed_allocations"])
        return {fits(self.document, of)} if fit else {
            "peak reserved": lambda: {"-" if failed else text.size(whole(of["peak_reserved_bytes"]))},
            "change": lambda: {"-" if name in (self.DID, self.POOL) else self.change(of)},
            "driver calls": lambda: {text.count(of["driver_calls"])}, "retries": lambda: {text.count(of["retries"])},
            "peak in file": lambda: {str(of["peak_file"] + 1)}}.get(head, lambda: None)()


def named_rows(document):
    """What one may want: the figures of each of the settings that the answer names."""
    answer, settings = document["answer"], document["settings"]
    named = [(words, settings[answer[key]]) for words, key in NAMED if answer.get(key) is not None]
    return [[words, text.size(whole(s["peak_reserved_bytes"])), plural(whole(s["driver_calls"]), "driver call"), name_of(s, document)]
            for words, s in named]


NAMED = (("least memory", "least_memory"), ("fewest driver calls", "fewest_driver_calls"), ("simplest", "simplest"))
VERDICTS = {"fine": "keep the setting", "too_big": "no setting avoids the OOM", "none": "no setting avoids the OOM",
            "untold": "not known", "unfaithful": "no advice", "unknown": "not known"}


def large_tune(document):
    """What to set and what that does, or the verdict and what any setting needs at least."""
    answer, settings = document["answer"], document["settings"]
    base = None if answer["compared_with"] is None else settings[answer["compared_with"]]
    if answer["verdict"] in VERDICTS:
        yield "verdict", {VERDICTS[answer["verdict"]]}
        if base and base["refused"] is None and not base["failed_allocations"]:
            yield was_of(base), {text.size(whole(base["peak_reserved_bytes"]))}
        yield "lower bound", {text.size(whole(document["lower_bound_bytes"]))}
        if document["best_packing_bytes"]:
            yield "best packing", {text.size(whole(document["best_packing_bytes"]))}
        return
    best, twin = settings[answer["best"]], next((s for s in settings if s["reference"] and s["refused"] is None), None)
    was = twin if best["compacted_start"] and twin and not base["compacted_start"] else base
    peaks = [whole(s["peak_reserved_bytes"]) for s in (was, best)]
    yield was_of(was), {"OOM" if was["failed_allocations"] else text.size(peaks[0])}
    yield "peak reserved, best", {text.size(peaks[1])}
    if not was["failed_allocations"]:
        yield "change", {"%+.1f%%" % (100 * (peaks[1] / peaks[0] - 1) + d) for d in (-1e-6, 0, 1e-6)}
    yield "setting", {re.sub("^Set ", "", answer["sentence"].split(": ", 1)[0])}


def was_of(setting):
    return "peak reserved, %s%s" % ("as recorded" if setting["recorded"] else "defaults",
                                   ", compacted start" * setting["compacted_start"])


TUNE = {"each": Settings,
        "figures": lambda document: Large(large_tune(document)),
        "answer": lambda document: Rows(["wanted", "peak reserved", "driver calls", "setting"], named_rows(document))}


def getters_tune(index, table, data, document):
    return TUNE[table["section"]](document) if table["section"] in TUNE else NoGetters()


def trade_of(page, figures, part, document):
    replayed = [s for s in document["settings"] if s["refused"] is None]
    points = {(s["driver_calls"], s["peak_reserved_bytes"], s["failed_allocations"] > 0) for s in replayed}
    recorded = all("recorded" in f for f in document["files"])
    if not page.value("!!document.querySelector('section.trade .scatter svg')"):
        figures.found.append("the chart is empty")
        return
    shapes = page.value("document.querySelectorAll('section.trade .scatter svg > circle[r=\"12\"]').length")
    figures.same("points", shapes, len(points) + recorded)
    outside = page.value("""(svg => [...svg.querySelectorAll("circle,rect,text")].filter(e => (b => b.x < -1 || b.y < -1 ||
        b.x + b.width > svg.clientWidth + 1 || b.y + b.height > svg.clientHeight + 1)(e.getBBox())).map(e => e.outerHTML))(
        document.querySelector("section.trade .scatter svg"))""")
    figures.found.expect(not outside, "outside of the chart:", outside)
    page.value("document.querySelector('section.trade .scatter').focus()")
    seen = set()
    page.key("Home")
    for _ in range(shapes):
        page.settle(1)
        seen.add(page.value("document.querySelector('section.trade .under').textContent"))
        page.key("ArrowRight")
    figures.same("points by keys", len(seen), shapes)
    best = document["answer"]["best"]
    shown = best is None or text.size(document["settings"][best]["peak_reserved_bytes"])
    marked = [said for said in seen if "; pick" in said]
    figures.found.expect(not marked if best is None else any(shown in said for said in marked), "the answer among the points:", seen)
    for level in ("lower_bound_bytes", "best_packing_bytes"):
        if document[level]:
            figures.found.expect(any(name.split(", ")[0].endswith(" " + text.size(document[level])) for name in part["trade"]["named"]),
                                 level, "is not in", part["trade"]["named"])


def compare_tune(page, data, document, found):
    part, figures = page.value(READ)[0], Figures(found)
    said = document["answer"]["sentence"].rstrip(".").split(": ", 1) # what to paste stands on a line of its own
    figures.found.expect(all(words in part["answer"]["words"] for words in said), "the answer is", part["answer"]["words"])
    answer = document["answer"]
    named = {answer.get(key) for _, key in NAMED} - {None, answer["best"]}
    figures.same("tables", check_tables(page, getters_tune, data, document, figures), [["figures"] + ["answer"] * bool(named) + ["each"]])
    trade_of(page, figures, part, document)
    totals = page.value(SITES % "page.devices[0]")
    if totals:
        figures.same("the most live memory by site", max(size for _, size in totals), whole(document["lower_bound_bytes"]))
    for s in document["settings"]:
        if s["refused"] is not None:
            figures.found.expect("left out" in part["tried"]["words"], "what was refused is not said")
    return figures.compared
