"""What page_check.py looks for on a page of tapool why or tapool tune: its figures and charts against the JSON of the
same run."""
import os
import re
import sys

from page_look import number

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import rounding as text  # noqa: E402

READ = """[...document.querySelectorAll("article")].map(article => Object.fromEntries(
    [...article.querySelectorAll("section")].map(s => [s.className, {
        words: s.textContent,
        named: [...s.querySelectorAll(".bars li span:first-child, .keys li")].map(e => e.textContent.trim()),
        under: [...s.querySelectorAll(".under")].map(e => e.textContent),
        painted: [...s.querySelectorAll("canvas")].some(c => c.width > 100 && c.height > 20 &&
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v)),
        rows: [...s.querySelectorAll("tbody tr")].map(row => [...row.cells].map(c => c.textContent)),
        heads: [...s.querySelectorAll("thead th")].map(c => c.textContent.trim())}])))"""


class Figures:
    """Texts of a page against those that a document says."""

    def __init__(self, found):
        self.found, self.compared = found, 0

    def same(self, what, shown, right):
        self.compared += 1
        self.found.expect(shown == right, what, "is", repr(shown), "and not", repr(right))

    def sizes(self, what, shown, right):
        self.same(what, [number(s) is not None and s for s in shown], [text.size(v) for v in right])


# ---- why ----

PARTS = ("requested_bytes", "rounding_bytes", "hole_bytes", "idle_bytes", "reserved_bytes")


def parts_of(figures, part, d):
    memory = d["memory"]
    rows = part["sum"]["rows"]
    figures.sizes("the sum", [row[1] for row in rows], [int(memory[p]) for p in PARTS])
    shares = [int(memory[p]) / int(memory["reserved_bytes"]) if int(memory["reserved_bytes"]) else None for p in PARTS]
    figures.same("its shares", [row[2] for row in rows], [text.percent(s) for s in shares])
    for name in ("live_blocks", "holes", "idle_segments", "segments"):
        figures.found.expect(text.count(memory[name]) in part["sum"]["words"], name, "is not in", part["sum"]["words"])


def room_of(figures, part, d):
    request = d.get("request")
    figures.found.expect(bool(request) == ("room" in part), "what would have made room is there, or is missing")
    if not request:
        return
    right = [request["block_bytes"], request["largest_hole_bytes"], request["fitting_bytes"] or 0, request["unused_bytes"]]
    if request["device_free_bytes"] is not None:
        right.append(request["device_free_bytes"])
    figures.sizes("the bars", [name.rsplit(": ", 1)[1] for name in part["room"]["named"]], right)
    way = request.get("in_the_way")
    if way:
        figures.same("blocks in the way", part["room"]["rows"], [[b["place"] or "not known", text.size(b["bytes"])]
                                                                 for b in way["largest"]])
    first = part["answer"]["words"]
    figures.found.expect("OUT OF MEMORY" in first and text.size(request["bytes"]) in first, "the answer is", first)


def rest_of(figures, part, d):
    tries = d.get("settings", [])
    if len(tries) > 1:
        figures.same("settings", [row[:2] for row in part["tries"]["rows"]],
                     [[t["conf"] or "as recorded", text.size(t["peak_reserved_bytes"])] for t in tries])
    if d.get("holders"):
        held = d["holders"]
        right = [[p["place"], text.size(p["bytes"]), text.percent(p["bytes"] / held["bytes"]), text.count(p["blocks"])]
                 for p in held["places"]]
        figures.same("holders", [row[:4] for row in part["holders"]["rows"]][:len(right)], right)
    if d["fidelity"]["addresses"]:
        figures.same("the certificate", part["ground"]["rows"][0][1:],
                     [text.count(d["fidelity"][k]) for k in ("as_recorded", "addresses")])
    else:
        figures.found.expect("the segments of the file as it ended" in part["ground"]["words"], "what it rests on is not said")


def map_of(figures, part, d):
    if not d["memory"]["segments"]:
        figures.found.expect("heap" not in part, "there is a map of nothing")
        return
    if not part["heap"]["painted"]:
        figures.found.append("the map is empty")
        return
    said, memory = part["heap"]["under"][0], d["memory"]
    match = re.search(r": ([\d.,]+ \w+) in ([\d,]+) ranges(?: = (.*))?; the program asked for ([\d.,]+ \w+)", said)
    live = memory["requested_bytes"] + memory["rounding_bytes"]
    right = [(live, "live"), (memory["reserved_bytes"] - live, "idle")]
    if not match:
        figures.found.append("the map says " + said)
        return
    figures.same("the map", list(match.groups()),
                 [text.size(memory["reserved_bytes"]), text.count(memory["segments"]),
                  " + ".join("%s %s" % (text.size(v), name) for v, name in right if v), text.size(memory["requested_bytes"])])


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
    for i, (part, d) in enumerate(zip(parts, document["devices"])):
        parts_of(figures, part, d)
        room_of(figures, part, d)
        rest_of(figures, part, d)
        map_of(figures, part, d)
        chart_of(page, figures, part, d, i)
    return figures.compared


# ---- tune ----

def name_of(s, document):
    own = s["recorded"] and len({f["setting"] for f in document["files"]}) > 1
    name = "each file's own" if own else s["setting"] or "defaults"
    return name + (" (as recorded)" if s["recorded"] else "") + (" !" if s["danger"] else "")


def settings_of(figures, part, document):
    played = [s for s in document["settings"] if s["refused"] is None]
    rows = {row[0]: row for row in part["each"]["rows"]}
    heads = part["each"]["heads"]
    recorded = all("recorded" in f for f in document["files"])
    figures.same("rows of settings", len(part["each"]["rows"]), len(played) + recorded + ("driver_pool" in document))
    for s in played:
        row = dict(zip(heads, rows.get(name_of(s, document), [])))
        figures.same(s["setting"], [row.get("peak reserved"), row.get("driver calls")],
                     [text.size(s["peak_reserved_bytes"]), text.count(s["driver_calls"])])
        if "retries" in heads:
            figures.same(s["setting"] + " retries", row.get("retries"), text.count(s["retries"]))
            figures.found.expect(row.get("fits in the device", "").startswith("no" if s["failed_allocations"] else ("yes", "no")),
                                 s["setting"], "fits:", row)
        figures.found.expect(s["on_front"] == ("on the front" in row.get("remarks", "")), s["setting"], "on the front:", row)


def files_of(figures, part, document):
    best = document["settings"][document["answer"]["best"]]
    right = [[f["file"], text.count(f["events"]), text.size(f["peak_requested_bytes"])] for f in document["files"]]
    figures.same("files", [row[:3] for row in part["files"]["rows"]], right)
    figures.sizes("peaks with the answer", [row[7] for row in part["files"]["rows"]],
                  [f["peak_reserved_bytes"] for f in best["files"]])


def trade_of(page, figures, part, document):
    played = [s for s in document["settings"] if s["refused"] is None]
    points = {(s["driver_calls"], s["peak_reserved_bytes"], s["failed_allocations"] > 0) for s in played}
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
    base = text.size(document["settings"][document["answer"]["best"]]["peak_reserved_bytes"])
    figures.found.expect(any("the answer" in said and base in said for said in seen), "no point is the answer:", seen)
    for level in ("lower_bound_bytes", "best_packing_bytes"):
        if document[level]:
            figures.found.expect(any(name.split(", ")[0].endswith(" " + text.size(document[level])) for name in part["trade"]["named"]),
                                 level, "is not in", part["trade"]["named"])


def compare_tune(page, data, document, found):
    part, figures = page.value(READ)[0], Figures(found)
    figures.found.expect(document["answer"]["sentence"] in part["answer"]["words"], "the answer is", part["answer"]["words"])
    settings_of(figures, part, document)
    files_of(figures, part, document)
    trade_of(page, figures, part, document)
    for s in document["settings"]:
        if s["refused"] is not None:
            figures.found.expect("left out" in part["tried"]["words"], "what was refused is not said")
    return figures.compared
