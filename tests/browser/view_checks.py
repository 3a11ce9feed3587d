"""What page_check.py looks for in the views of a page: that they are gone through by keys as by the mouse, and
that what a chart says of a moment is what a table says of it. Each takes an open page, drawn once, and a list
of findings."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import packed_numbers  # noqa: E402
import rounding as text  # noqa: E402

FIGURE = "document.querySelector('figure[data-view=%s]')"
CHARTS = ("memory", "site-curve", "fragmentation", "latency")


class Chart:
    """A chart of a view, by keys and by the mouse."""

    def __init__(self, page, view):
        self.page, self.figure = page, FIGURE % view
        self.box = self.figure + ".querySelector('.chart')"
        self.there = page.value("!!(%s && %s && %s.chart)" % (self.figure, self.box, self.box))

    def value(self, what):
        return self.page.value(self.box + what)

    def keys(self, *names, **more):
        for name in names:
            self.page.key(name, **more)

    def row(self):
        return self.value(".chart.getSelection()")

    def window(self):
        return self.value(".chart.xAxisRange()")

    def said(self):
        return self.page.value(self.figure + ".querySelector('.under').textContent")

    def labels(self, axis):
        return self.page.value("[...%s.querySelectorAll('.dygraph-axis-label-%s')].map(e => e.textContent)" % (self.figure, axis))


def look_at_keys(page, found):
    for view in CHARTS:
        chart = Chart(page, view)
        if chart.there:
            page.mouse("mouseMoved", 1, 1) # a chart that moves away below the mouse speaks of no point any more
            page.value(chart.box + ".scrollIntoView()")
            page.settle(2)
            chart.value(".focus()")
            look_at_names(chart, view, found)
            walk(chart, view, found)
            if view == "memory":
                look_at_place(chart, found)
            look_closer(chart, view, found)


def look_at_names(chart, view, found):
    named = chart.page.value("""(box => [box.getAttribute("role"), box.getAttribute("aria-label"), box.tabIndex,
        (document.getElementById(box.getAttribute("aria-describedby")) || box).getAttribute("aria-live")])(%s)""" % chart.box)
    found.expect(all(named[:2]) and named[2:] == [0, "polite"], view, "has role, name, place and text", named)


# The first row of which the place is known, within 200 rows, and that place.
PLACED = """(chart => {
    const known = event => page.frames.placeOf(page.data.runs[+%s.dataset.first], event);
    for (let i = 0; i < Math.min(200, chart.numRows() - 1); i++)
        if (known(chart.getValue(i, 0)))
            return [i, known(chart.getValue(i, 0))];
    return null;
})(%s.chart)"""


def look_at_place(chart, found):
    """A point names who asked for what changed there, where that is known."""
    placed = chart.page.value(PLACED % (chart.figure, chart.box))
    if placed:
        chart.keys("Home", *["ArrowRight"] * placed[0])
        found.expect(", from %s: " % placed[1] in chart.said(), "memory says", chart.said(), "and not", placed)


def walk(chart, view, found):
    """From point to point; the mouse is told the same."""
    chart.value(".focus()")
    last = chart.value(".chart.numRows()") - 1 - (view != "latency") # a last row says only that values hold on
    chart.keys("Home")
    found.expect(chart.row() == 0, view, "Home goes to row", chart.row())
    chart.keys("End")
    found.expect(chart.row() == last, view, "End goes to row", chart.row(), "of", last)
    chart.keys("ArrowLeft")
    found.expect(chart.row() == max(0, last - 1), view, "left goes to row", chart.row(), "of", last)
    chart.keys("Home", "ArrowRight", "ArrowRight")
    found.expect(chart.row() == min(2, last), view, "right goes to row", chart.row(), "of", last)
    chart.keys("ArrowRight", modifiers=8) # Shift
    found.expect(chart.row() == min(12, last), view, "right with Shift goes to row", chart.row(), "of", last)
    by_key, row = chart.said(), chart.row()
    x, y = chart.value(".chart.toDomXCoord(%s.chart.getValue(%d, 0))" % (chart.box, row)), 40
    left, top = chart.value(".getBoundingClientRect().x"), chart.value(".getBoundingClientRect().y")
    chart.page.mouse("mouseMoved", left + x + 30, top + y)
    chart.page.mouse("mouseMoved", left + x, top + y)
    chart.page.settle(2)
    same = chart.row() != row or chart.said() == by_key # of several rows at one place the mouse finds any
    found.expect(same and by_key, view, "says by keys", by_key, "and by the mouse", chart.said())


def look_closer(chart, view, found):
    chart.keys("0")
    whole = chart.window()
    chart.keys("Home", "+", "+")
    low, high = chart.window()
    at = chart.value(".chart.getValue(%d, 0)" % chart.row())
    wide = whole[1] - whole[0]
    found.expect(at is not None and low <= at <= high and (high - low < wide or wide < 2), view, "+ shows", low, high, "of", whole, "around", at)
    chart.keys("End")
    low, high = chart.window()
    at = chart.value(".chart.getValue(%d, 0)" % chart.row())
    found.expect(at is not None and low <= at <= high, view, "a point at", at, "is not in", low, high)
    look_at_ticks(chart, view, found)
    chart.keys("-")
    less = chart.window()
    found.expect(less[1] - less[0] > high - low or wide < 2, view, "- shows", less, "after", low, high)
    chart.keys("+", "Escape")
    found.expect(chart.window() == whole, view, "Escape shows", chart.window(), "of", whole)
    look_at_ticks(chart, view, found)
    chart.keys("+", "0")
    found.expect(chart.window() == whole, view, "0 shows", chart.window(), "of", whole)


def look_at_ticks(chart, view, found):
    for axis in "xy":
        labels = [label for label in chart.labels(axis) if label]
        found.expect(labels and len(set(labels)) == len(labels), view, "has on", axis, "the labels", labels)
        if axis == "x" and view != "latency":
            found.expect(all(re.fullmatch(r"[\d,]+", label) for label in labels), view, "has the events", labels)


# What a chart says of the event at which the program needed most: for each run its last value there.
AT_PEAK = """(figure => {
    const chart = figure.querySelector(".chart").chart, first = +figure.dataset.first;
    const runs = page.data.runs.slice(first, first + +figure.dataset.count).filter(run => run.page.devices[0].curve.events.length);
    return runs.map((run, i) => {
        const { event } = run.devices[0].memory.at_trace_peak;
        let value = null;
        for (let row = 0; row < chart.numRows(); row++)
            if (chart.getValue(row, 0) <= event)
                value = chart.getValue(row, i + 1);
        return value === null ? "-" : page.percent(value);
    });
})(%s)"""


# Of each run whose resident memory was read: what the table of the data has, and the most of its line; and the row, its
# event, the event of the last reading and that reading, where both differ and a line of it is shown.
RESIDENT = """(figure => {
    const box = figure.querySelector(".chart"), first = +figure.dataset.first, values = page.values;
    const names = [...figure.querySelectorAll(".keys li")].map(e => e.textContent);
    return page.data.runs.slice(first, first + +figure.dataset.count).filter(run => (run.resident || {}).passes > 0).map(run => {
        const name = run.strategy.label + ": resident", column = names.indexOf(name + ", as last read") + 1;
        const course = run.page.devices[0].resident || { events: [], resident: [] }, events = values(course.events);
        const rows = column ? [...Array(box.chart.numRows() - 1).keys()] : [], at = row => box.chart.getValue(row, 0);
        const between = rows.find(row => at(row) > 0 && !events.includes(at(row)));
        const last = between === undefined ? -1 : events.filter(event => event < at(between)).length - 1;
        if (column && !box.chart.visibility()[column - 1])
            figure.querySelectorAll(".keys input")[column - 1].click();
        return { name, peak: Number(run.resident.peak_bytes), most: Math.max(...rows.map(row => box.chart.getValue(row, column))),
            between: last < 0 ? -1 : between, said: last < 0 ? "" : `${name} ${page.bytes(values(course.resident)[last])}`
                + ` as last read at event ${page.count(events[last])}` };
    });
})(%s)"""


def look_at_resident(page, found):
    """The course of what was resident reaches its peak, and says of when it is."""
    chart = Chart(page, "memory")
    if not chart.there:
        return
    for run in page.value(RESIDENT % chart.figure):
        found.expect(run["most"] == run["peak"], run["name"], "is at most", run["most"], "and not", run["peak"])
        if 0 <= run["between"] < 200:
            chart.value(".focus()")
            chart.keys("Home", *["ArrowRight"] * run["between"])
            found.expect(run["said"] in chart.said(), "memory says", chart.said(), "and not", run["said"])


def look_at_fragmentation(page, found):
    """Each share of the data against the chart at the same event."""
    chart = Chart(page, "fragmentation")
    if not chart.there or page.value("page.data.runs.some(run => run.page.devices.length > 1)"):
        return
    choose, runs = chart.figure + ".querySelector('select')", page.value("""page.data.runs.filter(run =>
        run.page.devices[0].curve.events.length).map(run => run.devices[0].memory)""")
    for which, share in enumerate((lambda m: 1 - int(m["at_trace_peak"]["requested_bytes"]) / int(m["at_trace_peak"]["reserved_bytes"]),
                                   lambda m: m["unused_reserved"], lambda m: m["internal_fragmentation"])):
        page.value("%s.value = %d" % (choose, which))
        page.value("%s.dispatchEvent(new Event('change'))" % choose)
        right, drawn = [text.texts(text.percent, share(m)) for m in runs], page.value(AT_PEAK % chart.figure)
        found.expect(len(drawn) == len(right) and all(said in texts for said, texts in zip(drawn, right)),
                     "fragmentation is drawn as", drawn, "and is", right)
    page.value("%s.value = 0" % choose)
    page.value("%s.dispatchEvent(new Event('change'))" % choose)


def look_at_sites_over_time(page, document, found):
    """What the areas say of an event is what the JSON has there, and what they show of it adds up."""
    chart, first = Chart(page, "site-curve"), document["runs"][0]
    if not chart.there or "site_curve" not in first: # the data of a page do not repeat it
        return
    points, names = first["site_curve"]["points"], first["site_curve"]["places"]
    chart.value(".focus()")
    chart.keys("Home")
    lifts = None # a row with bytes of the first site
    for _ in range(12):
        event = chart.value(".chart.getValue(%d, 0)" % chart.row())
        point = next((p for p in points if p[0] == event), None)
        found.expect(point, "site-curve has a point at event", event, "which the JSON lacks")
        if not point:
            return
        held = [(name, size) for name, size in zip(names + ["other", "initial heap"], point[3:] + [point[2], point[1]]) if size]
        sizes = page.value("%s.map(page.bytes)" % [size for _, size in held])
        right = ", ".join("%s %s" % (name, size) for (name, _), size in zip(held, sizes)) or "nothing"
        found.expect(chart.said().startswith("event %s" % text.count(event)) and chart.said().endswith(": " + right),
                     "site-curve says", chart.said(), "and not", right)
        top = chart.value(".chart.getValue(%d, 1)" % chart.row())
        found.expect(top == sum(point[1:]), "site-curve reaches", top, "at event", event, "and not", sum(point[1:]))
        lifts = (chart.row(), top) if held and held[0][0] == names[0] else lifts
        chart.keys("ArrowRight", modifiers=8) # Shift
    first = chart.figure + ".querySelector('.keys input')"
    page.value(first + ".click()")
    found.expect(not lifts or chart.value(".chart.getValue(%d, 1)" % lifts[0]) < lifts[1], "an area that is hidden still lifts the others")
    page.value(first + ".click()")


def look_in_step(page, found):
    """A zoom and a point of one chart are those of the others, and the map of the heap goes where it is told."""
    memory = Chart(page, "memory")
    others = [chart for chart in (Chart(page, view) for view in ("site-curve", "fragmentation")) if chart.there]
    if not memory.there or page.value("page.data.runs.some(run => run.page.devices.length > 1)"):
        return
    memory.value(".focus()")
    memory.keys("Home", "+", "End", "+")
    window, event = memory.window(), memory.value(".chart.getValue(%d, 0)" % memory.row())
    for chart in others:
        chart.value(".scrollIntoView()")
        page.settle(3)
        found.expect(chart.window() == window, "a chart shows", chart.window(), "and memory", window)
        at = [chart.value(".chart.getValue(%d, 0)" % (chart.row() + i)) for i in (0, 1)]
        found.expect(at[0] <= event and not (at[1] or event + 1) <= event, "a chart speaks of", at, "and memory of", event)
    memory.keys("Escape")
    for chart in others:
        chart.value(".scrollIntoView()")
        page.settle(3)
        found.expect(chart.window() == chart.value(".chart.xAxisExtremes()"), "a chart does not show all again")
    heap = FIGURE % "heap"
    if page.value("!!(%s && %s.querySelector('.board'))" % (heap, heap)):
        memory.value(".focus()")
        memory.keys("End", "Enter")
        at = page.value(heap + ".querySelector('input[type=range]').value")
        found.expect(at == page.value(heap + ".querySelector('input[type=range]').max"), "the map does not follow to the end:", at)


def look_at_other_keys(page, found):
    """The slider of the heap, and the heads of tables."""
    slider = (FIGURE % "heap") + ".querySelector('input[type=range]')"
    if page.value("!!(%s && %s && +%s.max > 0)" % (FIGURE % "heap", slider, slider)):
        page.value(slider + ".focus()")
        page.key("Home")
        before = page.value(slider + ".getAttribute('aria-valuetext')")
        page.key("ArrowRight")
        after = page.value(slider + ".getAttribute('aria-valuetext')")
        found.expect(before and after and before != after, "the slider of the heap stays at", before)
    head = "document.querySelector('section.answer thead th button')"
    page.value(head + ".focus()")
    page.key("Enter", text="\r")
    found.expect(page.value(head + ".closest('th').getAttribute('aria-sort')"), "Enter does not sort a table")


# ---- moments ----

def live_pieces(frame):
    """Each live piece as (bytes, event, whether it is merged)."""
    r, event = packed_numbers.Numbers(frame["rows"]), 0
    while r.more():
        r.number(), r.number(), r.number()
        while True:
            head = r.byte()
            if not head:
                break
            kind, size = (head & 7) - 1, r.number()
            if head & 8:
                r.number()
            if kind == 5:
                r.number()
                kinds = r.number()
                sizes = [r.number() for k in range(5) if kinds >> k & 1]
                if kinds & 1:
                    event += r.signed()
                    yield sizes[0] * frame["unit"], event, True
            elif kind == 0:
                event += r.signed()
                yield size * frame["unit"], event, False


def places_of(first):
    """Of each event, where it came from, or where that was selected which it frees: (text, freed)."""
    table, places, event = first["page"].get("places"), {}, 0
    r = packed_numbers.Numbers(table["events"] if table else "")
    while r.more():
        event += r.number()
        index, freed = divmod(r.number(), 2)
        places[event] = table["texts"][index] if index < len(table["texts"]) else "one of many other places", bool(freed)
    return places


def held_in(first, frame):
    """Bytes by place, or of blocks whose size is in [low, 2 low) where no place is known."""
    places, held = {event: text for event, (text, freed) in places_of(first).items() if not freed}, {}
    for size, event, merged in live_pieces(frame):
        name = "small blocks, not told apart" if merged else \
            places.get(event, "not known" if event else "initial heap") if first["page"].get("places") else \
            1 << size.bit_length() - 1
        held[name] = held.get(name, 0) + size
    return held


ITEMS = """[...%s.querySelectorAll(".areas li")].map(e => [e.querySelector("b").textContent, e.textContent])"""


def look_at_moments(page, found):
    """The areas of who holds the memory follow the map of the heap: each against the frame, decoded here."""
    heap, sites = FIGURE % "heap", FIGURE % "sites"
    if not page.value("!!(%s && %s.querySelector('.board'))" % (heap, heap)):
        return
    choices = page.value("[...%s.querySelectorAll('select')].map(s => [s.getAttribute('aria-label'), s.options.length])" % heap)
    for device in range(dict(choices).get("Device", 1)):
        if device:
            page.value("(s => { s.value = %d; s.dispatchEvent(new Event('change')); })(%s.querySelector('[aria-label=Device]'))"
                       % (device, heap))
        page.value(heap + ".querySelector('input[type=range]').focus()")
        for key in ("Home", "End", "ArrowLeft", "ArrowLeft"):
            page.key(key)
            look_at_moment(page, heap, sites, device, found)


def look_at_moment(page, heap, sites, device, found):
    event = page.value(heap + ".querySelector('.moment b').textContent.replace(/\\D/g, '')")
    caption = page.value(sites + ".querySelector('.moment').textContent")
    run = page.value("(s => page.data.runs.filter(r => r.page.frames && r.page.frames.devices.some(d => d.length))"
                     "[s ? +s.value : 0])(%s.querySelector('select'))" % heap)
    devices = run["page"]["frames"]["devices"]
    first = page.value("page.data.runs[+%s.dataset.first]" % heap)
    held = held_in(first, next(f for f in devices[device] if f["event"] == int(event)))
    where = run["strategy"]["label"] + (" on device %d," % device if len(devices) > 1 else ",")
    found.expect("event %s" % format(int(event), ",") in caption and where in caption,
                 "the areas are of", caption, "and the map of event", event)
    said = page.value("page.bytes(%d)" % sum(held.values()))
    found.expect(": %s allocated" % said in caption, "the areas are of", caption, "and not", said)
    right = sorted(page.value("[%s].map(page.bytes)" % ",".join(map(str, sorted(held.values())[-20:]))))
    shown = sorted(size for size, text in page.value(ITEMS % sites) if not text.endswith(" others"))
    found.expect(shown == right, "the areas at event", event, "are", shown, "and the heap has", right)


# ---- paper ----

def look_at_print(page, found):
    """Before a page is printed all views are drawn, at the width of paper, and every summary is open."""
    was = page.value("innerWidth")
    page.value("dispatchEvent(new Event('beforeprint'))")
    page.call("Emulation.setEmulatedMedia", media="print")
    page.resize(740, 1000)
    page.settle(4)
    drawn = page.value("""[...document.querySelectorAll("figure")].filter(f => !f.childElementCount).map(f => f.dataset.view)""")
    found.expect(not drawn, "not drawn for paper:", drawn)
    cut = page.value("""[...document.querySelectorAll("main *")].filter(e => e.clientWidth > 0 && !e.closest("svg,.chart,.areas") &&
        (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" ||
         e.getBoundingClientRect().right > 740)).map(e => e.tagName + "." + e.className)""")
    found.expect(not cut, "cut on paper:", cut[:8])
    covered = page.value("""[...document.querySelectorAll(".chart")].filter(box => [...box.querySelectorAll("canvas")]
        .filter(canvas => getComputedStyle(canvas).display !== "none").length > 1).length""")
    found.expect(not covered, covered, "charts are covered on paper") # a cleared canvas is white there
    closed = page.value("document.querySelectorAll('details:not([open])').length")
    found.expect(not closed, closed, "summaries are closed on paper")
    page.value("dispatchEvent(new Event('afterprint'))")
    page.call("Emulation.setEmulatedMedia", media="")
    page.resize(was, 900)
    found.expect(page.value("!document.documentElement.classList.contains('paper')"), "paper stays on the screen")
