"""Looks at a page of `tapool info` in a real browser, and prints what is wrong with it; nothing where all is well.

    info_check.py PAGE.html [--once]

What page_check.py looks for on any page (console, requests, width, contrast), then the chart of memory, who holds it,
and the bars of the trace: as many charts as their data has, each value, keys and choices; and what is left without
JavaScript. With --once only light and 1,200 pixels wide.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser, find  # noqa: E402
from page_check import LOOKS, Findings, hover_and_zoom, look, look_at_areas  # noqa: E402

DATA = "JSON.parse(document.getElementById('data').textContent)"

# What each chart of bars says of each of its bars when it is gone through by keys.
SAID = """[...document.querySelectorAll("figure[data-view=trace] .columns")].map(board => {
    const press = key => board.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const box = board.parentElement, said = [];
    press("Home");
    for (let i = 0; i < board.querySelectorAll("rect").length; i++) {
        said.push(box.querySelector(".under").textContent);
        press("ArrowRight");
    }
    const heights = [...board.querySelectorAll("rect")].map(bar => +bar.getAttribute("height"));
    return { title: box.querySelector("h3").textContent, said, heights };
})"""
CHOOSE = """document.querySelectorAll("figure[data-view=trace] select").forEach(list => {
    list.selectedIndex = list.options.length - 1;
    list.dispatchEvent(new Event("change"));
})"""
MOST = 40


def look_at_bars(page, found):
    trace = page.value(DATA)["page"]["runs"][0]["page"].get("trace")
    if not trace or not page.value("!!document.querySelector('section.trace')"):
        return
    charts = {chart["title"]: chart for chart in page.value(SAID)}
    sizes = [row["objects"] for row in trace["size_powers"]][:MOST]
    lives = [row[1] for row in trace["lifetime_doublings"]["events"]][:MOST]
    done = [n for n in trace["operations"].values() if n]
    threads = [row["allocations"] for row in trace["threads"]][:MOST] if len(trace["threads"]) > 1 else []
    for title, values in dict(Sizes=sizes, Lifetimes=lives, Operations=done, Threads=threads).items():
        chart = charts.get(title, dict(said=[], heights=[]))
        said = [text.split(": ")[-1].rsplit(", ", 1)[0].replace(",", "") for text in chart["said"]]
        found.expect(said == [str(value) for value in values], title, "says", said, "of", values)
        order = sorted(range(len(values)), key=lambda i: values[i])
        heights = [chart["heights"][i] for i in order] if len(chart["heights"]) == len(values) else [1, 0]
        found.expect(heights == sorted(heights), title, "has bars of", heights)
    page.value(CHOOSE)
    if sum(row["objects"] > 0 for row in trace["size_powers"]) > 0:
        said = [text for chart in page.value(SAID) if chart["title"] == "Sizes" for text in chart["said"]]
        found.expect(said and all("B" in text.split(": ")[-1] for text in said), "bytes of sizes:", said)


def look_at_memory(page, found):
    lines = page.value("""[...document.querySelectorAll("figure[data-view=memory] .keys label")].map(l => l.textContent)""")
    runs = page.value(DATA)["page"]["runs"]
    expected = [run["requested"] for run in runs if run["page"]["devices"] and run["page"]["devices"][0].get("program")]
    found.expect(lines[:len(expected)] == expected, "lines", lines, "not", expected)
    if expected:
        hover_and_zoom(page, found)


def look_at(browser, address, found, how):
    page = look(browser, address, found, **how)
    look_at_areas(page, found)
    if how == LOOKS[0]:
        if page.value("!!document.querySelector('section.memory')"):
            look_at_memory(page, found)
        look_at_bars(page, found)
    found.expect(not page.errors, "errors in the console:", page.errors)


def main():
    address, found = "file://" + os.path.realpath(sys.argv[1]), Findings()
    if not find():
        sys.exit("there is no browser")
    with Browser() as browser:
        for how in LOOKS[:1] if "--once" in sys.argv else LOOKS:
            look_at(browser, address, found, how)
        page = browser.open(address, scripts=False)
        root = page.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        text = page.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
        found.expect("Made again by" in text and ("<tbody>" in text or "Nothing is allocated" in text or
                                                  "no events" in text), "without JavaScript there is no table")
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
