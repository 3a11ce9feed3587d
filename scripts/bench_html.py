"""What scripts/bench.py measures of the pages of --export-html: a trace of HTML_EVENTS events (default 1e7)
replayed by five strategies, with the page and without, in turn; and the page in a real browser, cold:

  first paint   from the start of loading to the first contents, by the browser
  zoom          from a new window of events until the next frame is drawn
  slider        likewise from a step of the slider under the map of the heap
"""
import os
import statistics
import sys
import time

from bench_common import ROUNDS, output_of, print_goal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "browser"))
from chromium import Browser, find  # noqa: E402

EVENTS = int(float(os.environ.get("HTML_EVENTS", "1e7")))
STRATEGIES = ("torch", "arena", "lru", "stream-pool", "rmm-pool")
STEP_EVENTS = 2268  # of one step of the profile training-step

PAINT = """new Promise(done => new PerformanceObserver(list => list.getEntriesByName("first-contentful-paint")
    .forEach(entry => done(entry.startTime))).observe({ type: "paint", buffered: true }))"""

# Milliseconds from a change until the frame that shows it.
UNTIL_DRAWN = """new Promise(done => {
    const start = performance.now();
    %s;
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
ZOOM = "document.querySelector('figure[data-view=memory] .chart').chart.updateOptions({ dateWindow: [%d, %d] })"
SLIDER = """(s => { s.value = %d; s.dispatchEvent(new Event("input")); })(
    document.querySelector("figure[data-view=heap] input"))"""


def seconds(*command):
    start = time.monotonic()
    output_of(*command)
    return time.monotonic() - start


def bench_writing(tapool, trace, page):
    command = [tapool, "replay", trace, *(word for name in STRATEGIES for word in ("-s", name))]
    without, with_page = [], []
    for _ in range(max(1, ROUNDS // 2)):
        without.append(seconds(*command))
        with_page.append(seconds(*command, "-f", "--export-html", page))
    cost = statistics.median(with_page) / statistics.median(without) - 1
    print_goal("page of %.1e events, five strategies" % EVENTS, os.path.getsize(page) / 1e6, 3, "MB")
    print_goal("its share of the replay's time", 100 * cost, 5, "%", "of %.1f s" % statistics.median(without))


def bench_browser(page):
    paints, zooms, steps = [], [], []
    for _ in range(ROUNDS):
        with Browser() as browser:
            opened = browser.open("file://" + os.path.realpath(page))
            paints.append(opened.value(PAINT))
            opened.scroll_through()
            for i in range(8):
                zooms.append(opened.value(UNTIL_DRAWN % (ZOOM % (EVENTS * i / 20, EVENTS * (i + 1) / 20))))
                steps.append(opened.value(UNTIL_DRAWN % (SLIDER % (i * 7))))
    print_goal("first paint, cold", statistics.median(paints), 1000, "ms", "longest %.0f" % max(paints))
    print_goal("zoom", statistics.median(zooms), 50, "ms", "longest %.0f" % max(zooms))
    print_goal("slider, a step", statistics.median(steps), 50, "ms", "longest %.0f" % max(steps))


def print_html(tapool, folder):
    trace, page = os.path.join(folder, "long.tpt"), os.path.join(folder, "page.html")
    output_of(tapool, "gen", "training-step", "--count", str(EVENTS // STEP_EVENTS), "-o", trace)
    bench_writing(tapool, trace, page)
    if find():
        bench_browser(page)
    else:
        print("  there is no browser")
