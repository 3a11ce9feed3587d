"""What page_check.py looks for on a page of tapool predict: its tables, its sentences and its curve against the JSON of
the same run."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import page_tables  # noqa: E402
import rounding as text  # noqa: E402
from page_tables import Large, NoGetters, whole  # noqa: E402
from snapshot_pages import Figures, Rows, check_tables  # noqa: E402

POINTS = ["value", "peak requested", "peak reserved", "requested, recorded"]

# Each dot of the curve: what it says, where it lies, and where the marks of the axis do.
DOTS = """[...document.querySelectorAll("section.curve svg circle")].map(c =>
    [c.querySelector("title").textContent, +c.getAttribute("cx"), +c.getAttribute("cy"), +c.getAttribute("r")])"""
TICKS = """[...document.querySelectorAll("section.curve svg text.end.muted")].map(t => [t.textContent, +t.getAttribute("y")])"""


def share_of(site, sites, grows):
    """How much of the change of the whole a site is."""
    def change(s):
        return (whole(s["bytes"]) - whole(s["base_bytes"])) * (1 if grows else -1)
    return "%.1f%%" % (100 * max(change(site), 0) / sum(max(change(s), 0) for s in sites))


def point_rows(d):
    return [[text.count(whole(p["value"]))] + ["-" if p[key] is None else text.size(whole(p[key])) for key in (
        "peak_requested_bytes", "peak_reserved_bytes", "recorded_requested_bytes")] for p in d["curve"]]


def site_rows(d):
    sites = d["predicted"]["sites"]
    grows = whole(d["predicted"]["peak_requested_bytes"]) >= sum(whole(s["base_bytes"]) for s in sites)
    rows = [[text.size(whole(s["bytes"])), share_of(s, sites, grows), s["law"], s["place"] or "unknown"] for s in sites]
    return ["predicted bytes", "share of change", "steepest law", "site"], rows


def large(d):
    memory, totals, fit = d.get("predicted"), d.get("totals"), d.get("fit")
    if totals or memory:
        yield "peak requested", {text.size(whole((totals or memory)["peak_requested_bytes"]))}
    for setting in (memory or {"settings": []})["settings"][:1]:
        if setting["recorded"]:
            yield "peak reserved", {text.size(whole(setting["peak_reserved_bytes"]))}
            yield "min capacity", {text.size(whole(setting["min_capacity_bytes"]))}
    if fit and fit["fits"]:
        yield "max that fits", {text.count(whole(fit["fits"]))}
    if fit and fit["fails"]:
        yield "first OOM", {text.count(whole(fit["fails"]))}


def getters(index, table, data, document):
    if table["section"] == "figures":
        return Large(large(document))
    if table["section"] == "curve":
        return Rows(POINTS, point_rows(document))
    return Rows(*site_rows(document)) if table["section"] == "sites" else NoGetters()


def sentences(document):
    """What the first section says, of what is predicted."""
    memory, fit, totals = document.get("predicted"), document.get("fit"), document.get("totals")
    if totals:
        yield "peak requested %s (cross-check within %.1f%%)" % (
            text.size(whole(totals["peak_requested_bytes"])), 100 * totals["cross_check"])
        for bytes_ in totals["from_others_bytes"]:
            yield "from the others: %s requested" % text.size(whole(bytes_))
    if memory:
        yield "peak requested " + text.size(whole(memory["peak_requested_bytes"]))
        for setting in memory["settings"]:
            yield text.size(whole(setting["peak_reserved_bytes"]))
    if fit and fit["fits"] and fit["fails"]:
        yield "max that fits %s" % text.count(whole(fit["fits"]))
        yield "on a device of %s" % text.size(whole(fit["capacity_bytes"]))
        yield "first OOM " + text.count(whole(fit["fails"]))
    for r in document["recordings"]:
        if r.get("from_others_bytes") is not None:
            yield "from the others: %s requested, recorded %s" % (
                text.size(whole(r["from_others_bytes"])), text.size(whole(r["peak_requested_bytes"])))


def look_at_curve(page, figures, document):
    """A dot for each figure, as high as it says, larger where it was recorded."""
    dots, ticks = page.value(DOTS), [(text.number(t), y - 4.5) for t, y in page.value(TICKS) if re.match(r"[\d.]+( [KMGT]?i?B)?$", t)]
    right = ["%s: %s%s" % (text.count(whole(p["value"])), text.size(whole(p[key])), ", recorded" * (
        key == "peak_requested_bytes" and p[key] == p["recorded_requested_bytes"]))
        for key in ("peak_requested_bytes", "peak_reserved_bytes") for p in document["curve"] if p[key] is not None]
    figures.same("dots", [said for said, *_ in dots], right)
    (_, base), (most, top) = ticks[0], ticks[-1]
    for said, _, y, r in dots:
        amount = text.number(re.match(r"[\d,]+: ([\d.,]+ \w+)", said).group(1))
        figures.found.expect(abs(base - y - (base - top) * amount / most) < 0.6, "a dot lies elsewhere:", said)
        figures.found.expect((r > 4) == said.endswith(", recorded"), "the size of a dot:", said)
    across = {}
    for said, x, *_ in dots:
        across.setdefault(whole(said.partition(":")[0].replace(",", "")), x)
    (low, left), (high, right) = min(across.items()), max(across.items())
    figures.found.expect(all(abs(left + (right - left) * (n - low) / (high - low) - x) < 0.2 for n, x in across.items()),
                         "values lie elsewhere:", across)


def compare(page, data, document, found):
    article, figures = page.value(page_tables.READ)[0], Figures(found)
    said = " ".join(" ".join(article["words"]["answer"]).split())
    for sentence in sentences(document):
        figures.compared += 1
        found.expect(sentence in said, "not said:", sentence, "in", said)
    right = ["figures", "curve"] + ["sites"] * bool(document.get("predicted"))
    figures.same("tables", check_tables(page, getters, data, document, figures), [right])
    look_at_curve(page, figures, document)
    return figures.compared
