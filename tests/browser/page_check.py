"""Looks at pages of tapool in a real browser, and prints what is wrong with each; nothing where all is well.

    page_check.py PAGE.html... [--once [--first] | --figures] [--json RESULT.json | --beside] [--cells] [--picture FILE.png]

Of any page it looks in both themes, wide and narrow, at what page_look.py says, and at what is left without
JavaScript. What more it looks at is told by the schema of the page's data (PAGES): that each view is drawn, and that
the figures of tables and charts are those of the data and of the JSON of the same run. With --once only light, 1,200
pixels wide and with JavaScript, with --first no further than the first finding of each, with --figures only at the
figures of tables. With --beside the JSON of each page has its name: that of a.html is a.json, and of two traces that of
each alone may be a.first.json and a.second.json. With --cells each figure in each table is exchanged for another one and
for none, which has to be noticed.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_pages  # noqa: E402
import info_views  # noqa: E402
import page_cut  # noqa: E402
import page_figures  # noqa: E402
import page_info  # noqa: E402
import page_tables  # noqa: E402
import page_verdicts  # noqa: E402
import predict_page  # noqa: E402
import snapshot_pages  # noqa: E402
import sweep_page  # noqa: E402
from chromium import Browser, find  # noqa: E402
from page_look import LOOKS, Enough, Findings, has, hover_and_zoom, look, look_at_areas, number, option, sort_tables  # noqa: E402
from view_checks import look_at_fragmentation, look_at_keys, look_at_moments, look_at_other_keys, look_at_print, look_at_resident, look_at_sites_over_time, look_in_step  # noqa: E402

VIEWS = ("memory", "site-curve", "heap", "latency")


# ---- the page of a replay ----

# What the map says of a moment: its parts add up to what is held, in four digits each.
def look_at_heap(page, found):
    if not page.value("!!document.querySelector('figure[data-view=heap] .board')"):
        return
    for _ in range(5):
        said = page.value("document.querySelector('figure[data-view=heap] .under').textContent")
        held, parts = re.search(r": ([\d.,]+ \w+) in [\d,]+ ranges(?: = (.*))?; requested", said).groups()
        parts = [number(" ".join(part.split(" ")[:2])) for part in (parts or "0 B").split(" + ")]
        found.expect(abs(sum(parts) - number(held)) <= 0.002 * max(number(held), 1), "the heap does not add up:", said)
        page.value("[...document.querySelectorAll('figure[data-view=heap] button')][1].click()")


NO_MAP = """page.data.runs.every(run => !run.page.frames) &&
    document.querySelector("figure[data-view=heap]").textContent.startsWith("No map: it would make the page larger than 3 MB.")"""


def look_at_views(page, found):
    look_at_heap(page, found)
    look_at_areas(page, found)
    for view in VIEWS:
        if view == "heap" and page.value(NO_MAP) or view == "site-curve" and not has(page, "section.site-curve"):
            continue
        boxes = page.value("""[...document.querySelectorAll('figure[data-view="%s"] canvas')]
            .map(c => c.getBoundingClientRect()).map(r => [r.width, r.height])""" % view)
        found.expect(any(w > 100 and h > 20 for w, h in boxes), "view", view, "has", boxes)
        # one canvas of a chart is drawn on, the other one is for the mouse
        painted = page.value("""[...document.querySelectorAll('figure[data-view="%s"] canvas')].some(c =>
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))""" % view)
        found.expect(painted, "view", view, "is empty")


def look_at_result(page, document, found):
    hover_and_zoom(page, found)
    look_at_keys(page, found)
    look_at_other_keys(page, found)
    look_at_fragmentation(page, found)
    look_at_resident(page, found)
    look_at_moments(page, found)
    look_at_sites_over_time(page, document, found)
    look_in_step(page, found)
    sort_tables(page, found)
    look_at_print(page, found)


def compare_result(page, data, document, found):
    for run, of_page in zip(document["runs"], data["runs"]):
        run["page"] = of_page["page"] # what only a page has
    more, compared = page_figures.check(page.value(page_tables.READ), document)
    found.extend(more)
    return compared


def getters_of_result(index, table, data, document):
    return page_figures.getters(table, document, page_figures.by_trace(document["runs"])[index])


# ---- the pages of compare and check ----

# Each view has a chart that is drawn on, or rows with marks, bars or words.
VIEW = """[...document.querySelectorAll("figure[data-view]")].map(figure => [figure.dataset.view,
    [...figure.querySelectorAll("canvas")].some(c => c.width > 100 && c.height > 20 &&
        c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v)),
    figure.querySelectorAll(".forest .filled, .forest .hollow, .forest .amount").length,
    [...figure.querySelectorAll(".forest li:not(.axis)")].every(li => li.firstChild.textContent && li.lastChild.textContent)])"""


def look_at_rows(page, found):
    for view, painted, marks, worded in page.value(VIEW):
        found.expect(painted or marks, "view", view, "is empty")
        found.expect(worded, "view", view, "has a row without words")


def look_at_verdict(page, document, found):
    if has(page, "figure[data-view=memory]"): # it is known of what was stored with it
        hover_and_zoom(page, found)
    for section, column in (("answer", 1), ("findings", 6)):
        if has(page, "section.%s tbody" % section):
            sort_tables(page, found, section, column)


def compare_verdict(page, data, document, found):
    more, compared = page_verdicts.check(page.value(page_tables.READ), data, document)
    found.extend(more)
    return compared


# ---- the pages of info ----

def compare_info(page, data, document, found):
    more, compared = page_info.check(page.value(page_tables.READ), data, document)
    found.extend(more)
    return compared


# ---- all pages ----

def no_more(page, document, found):
    pass


# By schema: what is looked at in each width and theme, and once; how the figures of tables are compared, which are
# counted; what of the page is there without JavaScript; and who knows the cells of a table.
TOLD = ("<tbody>", 'class="pick"')
VERDICT = (look_at_rows, look_at_verdict, compare_verdict, TOLD, page_verdicts.getters)
INFO = (look_at_areas, info_views.look_at_trace, compare_info,
        ("Made again by", "<tbody>|nothing is allocated|no events"), page_info.getters)
PAGES = {
    "tapool.result/2": (look_at_views, look_at_result, compare_result, ("<tbody>", "Pick"), getters_of_result),
    "tapool.compare/2": VERDICT, "tapool.check/2": VERDICT,
    "tapool.info/2": INFO, "tapool.info-pair/2": INFO,
    "tapool.why/2": (look_at_areas, no_more, snapshot_pages.compare_why, TOLD, snapshot_pages.getters_why),
    "tapool.why-pages/1": (host_pages.look_at_map, host_pages.look_closer, host_pages.compare,
                           (*TOLD, "Map of pages: [^<]*</text>"), host_pages.getters),
    "tapool.tune/2": (look_at_areas, no_more, snapshot_pages.compare_tune, TOLD, snapshot_pages.getters_tune),
    "tapool.sweep/1": (look_at_areas, no_more, sweep_page.compare, TOLD, sweep_page.getters),
    "tapool.predict/2": (look_at_areas, no_more, predict_page.compare, TOLD, predict_page.getters),
}

# What the data of a page lacks of the JSON of the same run.
LESS = {"tapool.tune/2": ("files",), "tapool.why-pages/1": ("partly_free_by", "lifetimes"), "tapool.result/2": ("site_curve",), "tapool.info/2": ("site_curve",)}


def json_of(path):
    """The file with the JSON of a page's run; None: there is none."""
    return path[:-len("html")] + "json" if "--beside" in sys.argv else option("--json")


def compare_figures(page, path, found):
    """Compares the figures of a page; returns how many, with the document that they are compared with."""
    data = page.value("page.data")
    document = json.loads(json.dumps(data))
    if json_of(path):
        with open(json_of(path), encoding="utf-8") as file:
            shown, document = page_cut.rows_of(page, data, json.load(file), found)
        other = page_tables.same(data, shown, less=LESS.get(data["schema"], ()))
        found.expect(not other, other)
        sides = [json_of(path)[:-len("json")] + side + ".json" for side in ("first", "second")]
        if all(map(os.path.exists, sides)):
            document["sides"] = [json.load(open(side, encoding="utf-8")) for side in sides]
    elif data["schema"] == "tapool.result/2" and page_cut.is_cut(page):
        found.append("what is left out of the page is in its figures, too: they need --json")
        return 0, document
    compared = PAGES[data["schema"]][2](page, data, document, found)
    if "--cells" in sys.argv:
        exchange_cells(page, data, document, found)
    return compared, document


def exchange_cells(page, data, document, found):
    """Adds the figures that could be others, and nobody would notice."""
    articles, getters = page.value(page_tables.READ), PAGES[data["schema"]][4]
    for index, article in enumerate(articles):
        for table in article["tables"]:
            found.extend(page_tables.unseen(table, getters(index, table, data, document)))
    if data["schema"].startswith("tapool.info"):
        found.extend(page_info.unseen(articles, data, document))


def address_of(path):
    return "file://" + os.path.realpath(path)


def look_without_scripts(browser, address, wanted, found):
    page = browser.open(address, scripts=False)
    root = page.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    text = page.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
    for pattern in wanted:
        found.expect(re.search(pattern, text), "without JavaScript there is no", pattern)


def look_at_page(browser, path, found):
    address, compared = address_of(path), 0
    for how in LOOKS[:1] if "--once" in sys.argv else LOOKS:
        page = browser.open(address, **how)
        if "--first" in sys.argv: # they cost least
            compare_figures(page, path, found)
            found.stop()
        look(page, found, **how)
        views, once, _, wanted, _ = PAGES[page.value("page.data.schema")]
        views(page, found)
        if how == LOOKS[0]:
            compared, document = compare_figures(page, path, found)
            once(page, document, found)
        found.expect(not page.errors, "errors in the console:", page.errors)
        if option("--picture") and how["width"] == 1200:
            page.resize(1200, page.value("document.documentElement.scrollHeight"))
            page.settle()
            page.picture(option("--picture"))
    if "--once" not in sys.argv:
        look_without_scripts(browser, address, wanted, found)
    return compared


def look_at_file(browser, path, found):
    """Adds what is wrong with a page; returns how many figures were compared."""
    try:
        if "--figures" in sys.argv:
            return compare_figures(browser.open(address_of(path)), path, found)[0]
        return look_at_page(browser, path, found)
    except Enough:
        return 0
    finally:
        browser.close_pages()


def main():
    paths, compared, wrong = [word for word in sys.argv[1:] if word.endswith(".html")], 0, 0
    if not find():
        sys.exit("there is no browser")
    with Browser() as browser:
        for path in paths:
            found = Findings()
            compared += look_at_file(browser, path, found)
            wrong += len(found)
            for line in found:
                print(path + ": " + line)
    print("%d figures compared" % compared, file=sys.stderr)
    sys.exit(1 if wrong or not paths else 0)


if __name__ == "__main__":
    main()
