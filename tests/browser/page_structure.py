"""The structure of a page as text: its elements and where they lie, in a form that depends neither on fonts nor on
the figures of a machine.

    page_structure.py PAGE.html WIDTH...

Each element that shapes a page is a line: what it is, what it is called, where its box lies from left to right in
twentieths of the page, and how it follows the one before it: `below`, `beside` or, which no page should have,
`overlaps`. `cut` is what an element shows less of than there is without a way to scroll to it, `outside` what
reaches beyond the element around it. Texts that are figures are not part of it, nor are heights.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser  # noqa: E402

READ = """(() => {
    const SHOWN = "main, article, section, h1, h2, h3, figure, figure > *, dl.figures, .chart canvas, canvas.board, .wide, table, p.pick, p.bad, p.under, " +
        "details, summary, pre, footer";
    const width = document.documentElement.clientWidth;
    const part = x => Math.round(20 * x / width);
    const scrolls = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    const box = e => e.getBoundingClientRect();
    const seen = e => e.checkVisibility() && box(e).width > 0 && box(e).height > 0;
    const inScroller = e => { for (e = e.parentElement; e; e = e.parentElement) if (scrolls(e)) return true; return false; };
    const name = e => e.tagName.toLowerCase() + (typeof e.className === "string" && e.className.trim()
        ? "." + e.className.trim().split(/\\s+/).filter(c => !/^dygraph-/.test(c)).join(".") : "").replace(/\\.$/, "");
    const said = e => ["H1", "H2", "H3", "SUMMARY"].includes(e.tagName) ? ` '${e.textContent.trim()}'`
        : e.tagName === "TABLE" ? ` of ${e.rows.length} rows: ${[...e.rows[0].cells].map(c => c.textContent.trim() || "-").join(" | ")}`
        : e.tagName === "FIGURE" ? ` '${e.getAttribute("aria-label")}'` : "";
    const relation = (e, before) => {
        if (!before) return "first";
        const a = box(before), b = box(e), slack = 1.5;
        if (b.top >= a.bottom - slack) return "below";
        if (b.left >= a.right - slack || a.left >= b.right - slack) return "beside";
        return a.top === b.top && a.left === b.left && a.width === b.width && a.height === b.height ? "on" : "overlaps";
    };
    const lines = [];
    const walk = (parent, depth, around) => {
        let before = null;
        for (const e of parent.children) {
            if (!e.matches(SHOWN) || !seen(e)) {
                walk(e, depth, around);
                continue;
            }
            const r = box(e), o = around && box(around);
            const out = around && !inScroller(e) && (r.left < o.left - 1.5 || r.right > o.right + 1.5 ||
                r.top < o.top - 1.5 || r.bottom > o.bottom + 1.5);
            const cut = !scrolls(e) && getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1;
            const across = inScroller(e) ? "scrolls" : `${part(r.left)}-${part(r.right)}`;
            lines.push("  ".repeat(depth) + name(e) + said(e) + `: ${across}, ${relation(e, before)}` + (cut ? ", cut" : "") + (out ? ", outside" : ""));
            before = e;
            walk(e, depth + 1, e);
        }
    };
    walk(document.body, 0, null);
    return lines;
})()"""


def structure(browser, path, width):
    page = browser.open("file://" + os.path.realpath(path), width=width)
    page.scroll_through()
    page.settle()
    return page.value(READ)


def main(path, *widths):
    with Browser() as browser:
        for width in widths:
            print("%s pixels wide" % width)
            print("\n".join("  " + line for line in structure(browser, path, int(width))))


if __name__ == "__main__":
    main(*sys.argv[1:])
