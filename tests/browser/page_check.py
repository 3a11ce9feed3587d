"""Looks at a page of tapool in a real browser, and prints what is wrong with it; nothing where all is well.

    page_check.py PAGE.html [--once [--first] | --figures] [--json RESULT.json] [--picture FILE.png]

It looks in both themes, wide and narrow: for errors in the console, requests that leave the file, views that
are missing or empty, a page that scrolls sideways, text of too little contrast, figures of its tables that are not
those of its data and of the JSON result of the same run (page_figures.py, page_verdicts.py), hover, zoom, keys,
moments and paper (view_checks.py), tables that are sorted, and what is left without JavaScript. With --once only
light and 1,200 pixels wide, with --figures nothing but those.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_figures  # noqa: E402
import page_verdicts  # noqa: E402
from chromium import Browser, find  # noqa: E402
from view_checks import look_at_fragmentation, look_at_keys, look_at_moments, look_at_other_keys, look_at_print  # noqa: E402

VIEWS = ("memory", "heap", "latency")
LOOKS = (dict(width=1200, dark=False), dict(width=1200, dark=True), dict(width=360, dark=False),
         dict(width=2560, dark=True))

# The least contrast of any text with what lies behind it, with the text; by WCAG 2.
CONTRAST = """(() => {
    const rgb = text => (text.match(/[\\d.]+/g) || []).map(v => v * (text.startsWith("color(") ? 255 : 1));
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = rgb(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    let worst = [21, ""];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
        if (!text || !e.offsetParent || e.closest("script,style,noscript") ||
            getComputedStyle(e).fontSize === "0px") continue;
        const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, text.slice(0, 60)];
    }
    return worst;
})()"""

# What is drawn and lies in a box that is less high or wide and shows no more of it.
CUT = """[...document.querySelectorAll("figure canvas, figure svg")].map(e => [e, e.parentElement]).filter(([e, box]) => {
    const a = e.getBoundingClientRect(), b = box.getBoundingClientRect(), hides = getComputedStyle(box).overflow === "hidden";
    return hides && a.height && (a.height > b.height + 2 || a.width > b.width + 2);
}).map(([e, box]) => `${e.tagName} in ${box.className || box.tagName}`)"""

CELLS = """[...document.querySelector("section.answer tbody").rows].map(row => [...row.cells].map(c => c.textContent))"""


class Findings(list):
    """With --first nothing more is looked at after the first one."""

    def expect(self, good, *what):
        if not good:
            self.append(" ".join(map(str, what)))
            if "--first" in sys.argv:
                end(self, 0)


def look(browser, address, found, **how):
    page = browser.open(address, **how)
    page.scroll_through()
    name = " ".join("%s=%s" % item for item in how.items())
    found.expect(not page.errors, name, "errors in the console:", page.errors)
    found.expect(not page.requests, name, "requests:", page.requests)
    wide = page.value("document.documentElement.scrollWidth")
    found.expect(wide <= how["width"], name, "the page is", wide, "pixels wide")
    cut = page.value(CUT)
    found.expect(not cut, name, "drawn, but cut:", cut)
    ratio, text = page.value(CONTRAST)
    found.expect(ratio >= 4.5, name, "contrast %.2f of '%s'" % (ratio, text))
    return page


# Areas lie side by side, fill their box, and are as large as what they say.
AREAS = """[...document.querySelectorAll(".areas")].map(box => [box.clientWidth * box.clientHeight,
    ...[...box.children].map(e => (e.offsetWidth + 2) * (e.offsetHeight + 2))])"""


def look_at_areas(page, found):
    for whole, *parts in page.value(AREAS):
        if not parts and page.value("document.querySelector('figure[data-view=holders]').textContent").endswith("Nothing is live then."):
            continue
        found.expect(parts and abs(sum(parts) - whole) < 0.05 * whole, "areas of", sum(parts), "in", whole)
        found.expect(parts == sorted(parts, reverse=True) or abs(parts[0] - max(parts)) < 0.02 * whole,
                     "the largest area is not the first")


# What the map says of a moment: its parts add up to what is held, in four digits each.
def look_at_heap(page, found):
    if not page.value("!!document.querySelector('figure[data-view=heap] .board')"):
        return
    for _ in range(5):
        said = page.value("document.querySelector('figure[data-view=heap] .under').textContent")
        held, parts = re.search(r": ([\d.,]+ \w+) in [\d,]+ ranges(?: = (.*))?; the program", said).groups()
        parts = [number(" ".join(part.split(" ")[:2])) for part in (parts or "0 B").split(" + ")]
        found.expect(abs(sum(parts) - number(held)) <= 0.002 * max(number(held), 1), "the heap does not add up:", said)
        page.value("[...document.querySelectorAll('figure[data-view=heap] button')][1].click()")


def look_at_views(page, found):
    look_at_heap(page, found)
    look_at_areas(page, found)
    for view in VIEWS:
        boxes = page.value("""[...document.querySelectorAll('figure[data-view="%s"] canvas')]
            .map(c => c.getBoundingClientRect()).map(r => [r.width, r.height])""" % view)
        found.expect(any(w > 100 and h > 20 for w, h in boxes), "view", view, "has", boxes)
        # one canvas of a chart is drawn on, the other one is for the mouse
        painted = page.value("""[...document.querySelectorAll('figure[data-view="%s"] canvas')].some(c =>
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))""" % view)
        found.expect(painted, "view", view, "is empty")


# Of pages without runs: each view has a chart that is drawn on, or rows with marks, bars or words.
VIEW = """[...document.querySelectorAll("figure[data-view]")].map(figure => [figure.dataset.view,
    [...figure.querySelectorAll("canvas")].some(c => c.width > 100 && c.height > 20 &&
        c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v)),
    figure.querySelectorAll(".forest .filled, .forest .hollow, .forest .amount").length,
    [...figure.querySelectorAll(".forest li:not(.axis)")].every(li => li.firstChild.textContent && li.lastChild.textContent)])"""


def look_at_rows(page, found):
    for view, painted, marks, worded in page.value(VIEW):
        found.expect(painted or marks, "view", view, "is empty")
        found.expect(worded, "view", view, "has a row without words")


# The number of a cell, in bytes where it is a size.
def number(text):
    sizes = dict(B=1, KiB=2**10, MiB=2**20, GiB=2**30, TiB=2**40)
    match = re.match(r"([\d,]*\.?\d+)(?: (\w+))?$", text)
    return match and float(match.group(1).replace(",", "")) * sizes.get(match.group(2), 1)


# Each figure of the tables and of the Pick against the page's own data, and against the JSON of the same replay.
def compare_figures(page, path, found):
    data = page.value("JSON.parse(document.getElementById('data').textContent)")
    articles = page.value(page_figures.READ)
    if path:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        other = page_figures.same(data, result)
        found.expect(not other, other)
    else:
        result = data
    if "runs" in result:
        for run, of_page in zip(result["runs"], data["runs"]):
            run["page"] = of_page["page"] # what only a page has
        more, compared = page_figures.check(articles, result)
    else:
        more, compared = page_verdicts.check(articles, data, result)
    found.extend(more)
    return compared


AXIS = """[...document.querySelectorAll("figure[data-view=memory] .dygraph-axis-label-x")].map(e => e.textContent).join()"""


def hover_and_zoom(page, found):
    if not page.value("!!document.querySelector('figure[data-view=memory] .chart')"):
        found.append("there is no chart of memory over time")
        return
    page.value("document.querySelector('figure[data-view=memory]').scrollIntoView()")
    page.settle()
    box = page.value("""(r => [r.x, r.y, r.width, r.height])(document.querySelector(
        "figure[data-view=memory] .chart").getBoundingClientRect())""")
    x, y = box[0] + box[2] * 0.6, box[1] + box[3] * 0.5
    page.mouse("mouseMoved", x, y)
    page.settle()
    said = page.value("document.querySelector('figure[data-view=memory] .under').textContent")
    found.expect(re.match(r"event [\d,]+", said or ""), "hover says", said)
    before = page.value(AXIS)
    page.mouse("mousePressed", x - 100, y, button="left", clickCount=1)
    for step in range(1, 6):
        page.mouse("mouseMoved", x - 100 + step * 30, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 50, y, button="left", clickCount=1)
    page.settle()
    found.expect(page.value(AXIS) != before, "a zoom changes nothing:", before)


def sort_tables(page, found, section="answer", column=1):
    cells = CELLS.replace("section.answer", "section." + section)

    def column_of():
        return [number(row[column]) for row in page.value(cells) if number(row[column])]

    page.value("document.querySelector('section.%s thead th:nth-child(%d) button').focus()" % (section, column + 1))
    page.value("document.activeElement.click()")
    up = column_of()
    page.value("document.activeElement.click()")
    down = column_of()
    found.expect(up == sorted(up) and down == sorted(up, reverse=True), "a sorted table:", up, down)


def look_at_result(page, found):
    hover_and_zoom(page, found)
    look_at_keys(page, found)
    look_at_other_keys(page, found)
    look_at_fragmentation(page, found)
    look_at_moments(page, found)
    sort_tables(page, found)
    look_at_print(page, found)


def has(page, selector):
    return page.value("!!document.querySelector('%s')" % selector)


# A page without runs has the memory over time only of what was stored with it.
def look_at_verdict(page, found):
    if has(page, "figure[data-view=memory]"):
        hover_and_zoom(page, found)
    for section, column in (("answer", 1), ("findings", 4)):
        if has(page, "section.%s tbody" % section):
            sort_tables(page, found, section, column)


def option(name):
    """The word behind an option; None: it was not given."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def end(found, compared):
    for line in found:
        print(line)
    print("%d figures compared" % compared, file=sys.stderr)
    sys.exit(1 if found else 0)


def main():
    path = os.path.realpath(sys.argv[1])
    found, compared = Findings(), 0
    if not find():
        sys.exit("there is no browser")
    with Browser() as browser:
        if "--figures" in sys.argv:
            end(found, compare_figures(browser.open("file://" + path), option("--json"), found))
        for how in LOOKS[:1] if "--once" in sys.argv else LOOKS:
            page = look(browser, "file://" + path, found, **how)
            result = page.value("!!page.data.runs")
            look_at_views(page, found) if result else look_at_rows(page, found)
            if how == LOOKS[0]:
                compared = compare_figures(page, option("--json"), found)
                look_at_result(page, found) if result else look_at_verdict(page, found)
            if option("--picture") and how["width"] == 1200:
                page.resize(1200, page.value("document.documentElement.scrollHeight"))
                page.settle()
                page.picture(option("--picture"))
        page = browser.open("file://" + path, scripts=False)
        text = page.call("DOM.getDocument", depth=0) and page.call(
            "DOM.getOuterHTML", nodeId=page.call("DOM.getDocument", depth=0)["root"]["nodeId"])["outerHTML"]
        found.expect("<tbody>" in text and ("Pick" in text or not result and 'class="pick"' in text), "without JavaScript no table or no answer")
    end(found, compared)


if __name__ == "__main__":
    main()
