"""What page_check.py looks for on the page of any command: errors in the console, requests that leave the file, a page
that scrolls sideways, text of too little contrast, what is drawn but cut, areas, hover and zoom, sorted tables."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from rounding import number  # noqa: E402

LOOKS = (dict(width=1200, dark=False), dict(width=360, dark=True), dict(width=2560, dark=False))

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
CUT = """[...document.querySelectorAll("figure canvas, figure svg, .plot rect")].map(e => [e, e.parentElement]).filter(([e, box]) => {
    const a = e.getBoundingClientRect(), b = box.getBoundingClientRect(), hides = getComputedStyle(box).overflow === "hidden";
    return hides && a.height && (a.height > b.height + 2 || a.width > b.width + 2 || e.matches(".plot rect") && a.bottom > b.bottom + 0.5);
}).map(([e, box]) => `${e.tagName} in ${box.getAttribute("class") || box.tagName}`)"""

CELLS = """[...document.querySelector("section.answer tbody").rows].map(row => [...row.cells].map(c => c.textContent))"""


class Enough(Exception):
    """With --first nothing more is looked at on a page after the first finding."""


class Findings(list):
    def expect(self, good, *what):
        if not good:
            self.append(" ".join(map(str, what)))
        self.stop()

    def stop(self):
        if self and "--first" in sys.argv:
            raise Enough


def look(page, found, **how):
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


# Areas lie side by side, fill their box, and are as large as what they say.
AREAS = """[...document.querySelectorAll(".areas")].map(box => [box.clientWidth * box.clientHeight,
    ...[...box.children].map(e => (e.offsetWidth + 2) * (e.offsetHeight + 2))])"""


def look_at_areas(page, found):
    for whole, *parts in page.value(AREAS):
        if not parts and page.value("document.querySelector('figure[data-view=sites]').textContent").endswith("Nothing is live then."):
            continue
        found.expect(parts and abs(sum(parts) - whole) < 0.05 * whole, "areas of", sum(parts), "in", whole)
        found.expect(parts == sorted(parts, reverse=True) or abs(parts[0] - max(parts)) < 0.02 * whole,
                     "the largest area is not the first")


def has(page, selector):
    return page.value("!!document.querySelector('%s')" % selector)


AXIS = """[...document.querySelectorAll("figure[data-view=memory] .dygraph-axis-label-x")].map(e => e.textContent).join()"""


def hover_and_zoom(page, found):
    if not page.value("!!document.querySelector('figure[data-view=memory] .chart')"):
        found.append("there is no chart of memory over time")
        return
    page.value("document.querySelector('figure[data-view=memory] .chart').scrollIntoView({ block: 'center' })")
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


def option(name):
    """The word behind an option; None: it was not given."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None
