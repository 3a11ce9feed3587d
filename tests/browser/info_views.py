"""What page_check.py looks for on a page of `tapool info`: the chart of memory, and the bars of the trace, as many as
its data has, each value, keys and choices."""
from page_look import has, hover_and_zoom

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
    trace = page.value("page.data.page.runs[0].page.trace")
    if not trace or not has(page, "section.trace"):
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
    runs = page.value("page.data.page.runs")
    expected = [run["requested"] for run in runs if run["page"]["devices"] and run["page"]["devices"][0].get("program")]
    found.expect(lines[:len(expected)] == expected, "lines", lines, "not", expected)
    if expected:
        hover_and_zoom(page, found)


# Points of live memory by site at which its series do not add up to what is requested at that event.
ADDED_UP = """page.data.page.runs.flatMap(({ page: { devices: [{ program, site_curve }] } }) => {
    const { events, requested } = page.curve(program), lists = site_curve.bytes.map(page.values);
    const right = new Set(events.map((event, i) => `${event} ${requested[i]}`));
    return page.values(site_curve.events).map((event, i) => `${event} ${lists.reduce((sum, list) => sum + list[i], 0)}`)
        .filter(point => !right.has(point));
})"""


def look_at_trace(page, document, found):
    if has(page, "section.memory"):
        look_at_memory(page, found)
    if has(page, "section.site-curve"):
        wrong = page.value(ADDED_UP)
        found.expect(not wrong, "live memory by site does not add up at", wrong[:5])
    look_at_bars(page, found)
