"""What page_check.py looks for on a page of tapool sweep: its tables, its sentences and its pictures against the JSON of
the same store."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import page_tables  # noqa: E402
import rounding as text  # noqa: E402
from page_tables import Large, NoGetters  # noqa: E402
from snapshot_pages import Figures, Rows, check_tables  # noqa: E402

FACTORS = ["1x", "1.01x", "1.05x", "1.1x", "1.25x", "1.5x", "2x"]

# Of each article and picture: its title, names beside bars, dots, squares of a front, lines, levels of a heat map.
PICTURES = """[...document.querySelectorAll("article")].map(article => [...article.querySelectorAll("svg svg")].map(s => ({
    title: s.querySelector("title").textContent, rects: s.querySelectorAll("rect").length,
    dots: s.querySelectorAll("circle").length, lines: s.querySelectorAll("path.line").length,
    squares: [...s.querySelectorAll("path[class^=h]")].map(p => p.getAttribute("d"))})))"""


def times(ratio):
    if ratio is None:
        return {"-"}
    return {"%.3fx" % r if r < 9.9995 else text.digits(r) + "x" for r in (ratio - 6e-7, ratio, ratio + 6e-7)}


def share(part, whole):
    return "-" if not whole else text.percent(part / whole)


class Cells(Rows):
    """Rows of sets of texts that are right."""

    def expected(self, table, row, column):
        cell = self.rows[row][column]
        return cell if isinstance(cell, set) else {cell}


def ratio_name(a):
    if a["ratio"] == "vs_best":
        return "vs best"
    return "over lower bound" if a["traces_over_lower_bound"] == a["traces"] else "regret"


def ranking(a):
    rows = []
    for s in a["settings"]:
        there = s["traces"] + s["failed"]
        rows.append([s["setting"], times(s["geometric_mean"]), times(s["worst"]), share(s["within_1_percent"], a["traces"]),
                     text.count(s["failed"]), text.count(max(0, a["traces"] - there)),
                     ends_of(s["worst_trace"]) if s["worst_trace"] else "-"])
    return Cells(["setting", ratio_name(a), "worst", "within 1% of best", "failed on", "lacks", "worst on"], rows)


def ends_of(path):
    """Any end of a path that begins behind a slash: what all paths share is left out."""
    return {path} | {path[i + 1:] for i, c in enumerate(path) if c == "/"}


def front(a, f):
    time = f["cost"] == "ns_per_op"
    cost = (lambda v: {text.digits(v + e) for e in (-6e-7, 0, 6e-7)}) if time else text.count
    return Cells(["setting", ratio_name(a), "ns/op" if time else "driver calls"],
                 [[s["setting"], times(s["geometric_mean"]), cost(s["cost"])] for s in f["settings"]])


def profiles(a):
    return Cells(["strategy", *FACTORS, "with its best setting"],
                 [[p["strategy"], *(share(q["traces"], a["traces"]) for q in p["points"]), p["setting"]] for p in a["profiles"]])


def effects(a):
    rows = []
    for e in a["effects"]:
        none = e["worst_vs_best"] < 1e-9
        first, last = e["values"][0]["value"], e["values"][-1]["value"]
        sizes = {"%+.1f%%" % (100 * (e["worst_vs_best"] + d)) for d in (-6e-7, 0, 6e-7)}
        rows.append([e["strategy"], e["option"], "-" if none else first, "-" if none else last, sizes, share(e["traces_affected"], e["traces"])])
    return Cells(["strategy", "option", "best value", "worst value", "worst vs best", "traces affected"], rows)


def getters(index, table, data, document):
    a = document["answers"][index]
    if table["section"] == "figures":
        best = a["settings"][0]
        right = [(ratio_name(a), times(best["geometric_mean"])), ("worst trace", times(best["worst"])),
                 ("within 1% of the best", {share(best["within_1_percent"], a["traces"])})]
        return Large(right if a["best"]["setting"] else [])
    if table["section"] == "fronts":
        return next((front(a, f) for f in a["fronts"] if table["heads"][2:] == [front(a, f).heads[2]]), NoGetters())
    makers = {"ranking": lambda: ranking(a), "profile": lambda: profiles(a), "effects": lambda: effects(a)}
    return makers.get(table["section"], NoGetters)()


def look_at_pictures(page, figures, document):
    for index, (a, pictures) in enumerate(zip(document["answers"], page.value(PICTURES))):
        bars, drawn = min(16, sum(s["traces"] > 0 for s in a["settings"])), a["settings_competing"]
        right = ["Best settings by " + a["metric"], *(a["metric"] + " against " + ("ns/op" if f["cost"] == "ns_per_op" else "driver calls") for f in a["fronts"]),
                 "Performance profile of " + a["metric"], *["Effect of each option on " + a["metric"]] * bool(a["effects"]), "Heat map of " + a["metric"]]
        figures.same("pictures", [p["title"] for p in pictures], right)
        figures.same("bars", pictures[0]["rects"], bars)
        for p, f in zip(pictures[1:], a["fronts"]):
            figures.same("dots of " + p["title"], (p["dots"], p["rects"]), (drawn, len(f["settings"])))
        figures.same("lines", pictures[1 + len(a["fronts"])]["lines"], len(a["profiles"]))
        look_at_squares(figures, pictures[-1]["squares"], a)


# Each square of the first column, and of the first row, as the mouse and the keys find it.
POINT = """[...document.querySelectorAll("article")].map(article => {
    const frame = article.querySelector(".squares"), box = frame.getBoundingClientRect(), board = frame.ownerSVGElement;
    const said = () => article.querySelector("figure[data-view=heat] .under").textContent;
    const map = page.data.answers[[...document.querySelectorAll("article")].indexOf(article)].heat_map;
    const point = (i, k) => {
        board.dispatchEvent(new MouseEvent("mousemove", { clientX: box.left + (k + 0.5) * box.width / map.settings.length,
            clientY: box.top + (i + 0.5) * box.height / map.traces.length }));
        return said();
    };
    const press = key => {
        board.dispatchEvent(new KeyboardEvent("keydown", { key }));
        return said();
    };
    return [map.traces.map((t, i) => point(i, 0)), map.settings.map((s, k) => point(0, k)), [point(0, 0), press("ArrowDown"), press("ArrowRight"), press("ArrowUp"), press("ArrowLeft"), press("ArrowUp")]];
})"""


def said_of(heat, i, k):
    ratio, words = heat["ratios"][i][k], []
    for what, at in (("trace", i), ("setting", k)):
        items = heat[what + "s"]
        begin, item = sum(x["count"] for x in items[:at]) + 1, items[at]
        words.append("%s %s: %s" % (what, text.count(begin), item["first"]) if item["count"] == 1 else "%ss %s to %s, the first %s" % (
            what, text.count(begin), text.count(begin + item["count"] - 1), item["first"]))
    return ("no cell" if ratio is None else "%.3fx" % ratio) + ", " + "; ".join(words)


def look_at_hover(page, figures, document):
    page.value("document.querySelectorAll('figure[data-view]').forEach(f => f.scrollIntoView())")
    page.settle()
    for (down, across, keys), a in zip(page.value(POINT), document["answers"]):
        heat = a["heat_map"]
        figures.same("rows", down, [said_of(heat, i, 0) for i in range(len(heat["traces"]))])
        figures.same("columns", across, [said_of(heat, 0, k) for k in range(len(heat["settings"]))])
        last, right = min(1, len(heat["traces"]) - 1), min(1, len(heat["settings"]) - 1)
        figures.same("keys", keys, [said_of(heat, i, k) for i, k in ((0, 0), (last, 0), (last, right), (0, right), (0, 0), (0, 0))])


LEVELS = (1.01, 1.05, 1.1, 1.25, 1.5, 2, float("inf"))


def look_at_squares(figures, paths, a):
    """Each square of the heat map lies in the path of its level. The first row and column begin at the top left."""
    heat, found = a["heat_map"]["ratios"], {}
    wide, high = min(670 * 10 // len(heat[0]), 400), min(480 * 10 // len(heat), 180)
    for level, path in enumerate(paths[-len(LEVELS):]):
        for x, y, length in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v", path):
            row, column = round((float(y) - 84) * 10 / high), round((float(x) - 190) * 10 / wide)
            for i in range(round(float(length) * 10 / wide)):
                found[row, column + i] = level
    wrong = []
    for i, row in enumerate(heat):
        for k, ratio in enumerate(row):
            right = {None} if ratio is None else {next(n for n, most in enumerate(LEVELS) if r <= most) for r in (ratio - 6e-7, ratio + 6e-7)}
            if found.get((i, k)) not in right:
                wrong.append((i, k, ratio, found.get((i, k))))
    figures.same("squares of other levels", wrong[:5], [])


def sentences(a):
    best = a["best"]
    if not best["setting"]:
        yield "No setting has all traces without a failure."
        return
    yield "Best setting for all traces: " + best["setting"]
    if best["second"]:
        yield "Against the second, %s: better on %s trace" % (best["second"], text.count(best["better_than_second"]))
        yield "equal on %s, worse on %s." % (text.count(best["equal_to_second"]), text.count(best["worse_than_second"]))
    if best["samples"]:
        yield "in %s of %s random samples" % (share(best["best_in_samples"], best["samples"]), text.count(best["samples"]))


def compare(page, data, document, found):
    figures = Figures(found)
    for article, a in zip(page.value(page_tables.READ), document["answers"]):
        said = " ".join(" ".join(article["picks"]).split())
        for sentence in sentences(a):
            figures.compared += 1
            found.expect(sentence in said, "not said:", sentence, "in", said)
    right = [["figures"] * bool(a["best"]["setting"]) + ["ranking"] + ["fronts"] * len(a["fronts"]) + ["profile"] + ["effects"] * bool(a["effects"])
             for a in document["answers"]]
    figures.same("tables", check_tables(page, getters, data, document, figures), right)
    look_at_pictures(page, figures, document)
    look_at_hover(page, figures, document)
    return figures.compared
