"""What scripts/bench.py measures of the pages of --export-html: a trace of HTML_EVENTS events (default 1e7)
replayed by five strategies, with the page and without, in turn; and a page of the same events in a real browser,
cold, in which the blocks of each size are from an allocation site of their own:

  first paint   from the start of loading to the first contents, by the browser
  zoom          from a new window of events until the next frame is drawn, of each of two charts, with
                the other in step
  slider        likewise from a step of the slider under the map of the heap
"""
import os
import statistics
import subprocess
import sys
import time

from bench_common import ROUNDS, output_of, print_goal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "browser"))
from chromium import Browser, find  # noqa: E402

EVENTS = int(float(os.environ.get("HTML_EVENTS", "1e7")))
STRATEGIES = ("torch", "arena", "lru", "stream-pool", "rmm-pool")
STRATEGY_OPTIONS = [word for name in STRATEGIES for word in ("-s", name)]
STEP_EVENTS = 2268  # of one step of the profile training-step

PAINT = """new Promise(done => new PerformanceObserver(list => list.getEntriesByName("first-contentful-paint")
    .forEach(entry => done(entry.startTime))).observe({ type: "paint", buffered: true }))"""

# Milliseconds from a change until the frame that shows it.
UNTIL_DRAWN = """new Promise(done => {
    const start = performance.now();
    %s;
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
CHART = "document.querySelector('figure[data-view=%s] .chart')"
ZOOM = CHART + ".chart.updateOptions({ dateWindow: [%d, %d] })"
ZOOMED = {"memory": "zoom", "site-curve": "zoom of live memory by site"}
SLIDER = """(s => { s.value = %d; s.dispatchEvent(new Event("input")); })(
    document.querySelector("figure[data-view=heap] input"))"""


def seconds(*command):
    start = time.monotonic()
    output_of(*command)
    return time.monotonic() - start


def bench_writing(tapool, trace, page):
    command = [tapool, "replay", trace, *STRATEGY_OPTIONS]
    without, with_page = [], []
    for _ in range(max(1, ROUNDS // 2)):
        without.append(seconds(*command))
        with_page.append(seconds(*command, "-f", "--export-html", page))
    cost = statistics.median(with_page) / statistics.median(without) - 1
    print_goal("page of %.1e events, five strategies" % EVENTS, os.path.getsize(page) / 1e6, 3, "MB")
    print_goal("its share of the replay's time", 100 * cost, 5, "%", "of %.1f s" % statistics.median(without))


def bench_browser(page):
    paints, zooms, steps = [], {view: [] for view in ZOOMED}, []
    for _ in range(ROUNDS):
        with Browser() as browser:
            opened = browser.open("file://" + os.path.realpath(page))
            paints.append(opened.value(PAINT))
            opened.scroll_through()
            for view, times in zooms.items():
                opened.value((CHART % view) + ".scrollIntoView({ block: 'center' })")
                opened.settle()
                times.extend(opened.value(UNTIL_DRAWN % (ZOOM % (view, EVENTS * i / 20, EVENTS * (i + 1) / 20))) for i in range(8))
            steps.extend(opened.value(UNTIL_DRAWN % (SLIDER % (i * 7))) for i in range(8))
    print_goal("first paint, cold", statistics.median(paints), 1000, "ms", "longest %.0f" % max(paints))
    for view, times in zooms.items():
        print_goal(ZOOMED[view], statistics.median(times), 50, "ms", "longest %.0f" % max(times))
    print_goal("slider, a step", statistics.median(steps), 50, "ms", "longest %.0f" % max(steps))


def gen(tapool, trace):
    return [tapool, "gen", "training-step", "--count", str(EVENTS // STEP_EVENTS), "-o", trace]


def gen_with_sites(tapool, trace):
    events = subprocess.Popen(gen(tapool, "-"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    placed = subprocess.Popen(["sed", "-E", r's/("op": "alloc".*"size": ([0-9]+))/\1, "place": "layer.py:\2 forward"/'],
                              stdin=events.stdout, stdout=subprocess.PIPE)
    subprocess.run([tapool, "convert", "-", "-o", trace], stdin=placed.stdout, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)


def print_html(tapool, folder):
    trace, placed, page = (os.path.join(folder, name) for name in ("long.tpt", "placed.tpt", "page.html"))
    output_of(*gen(tapool, trace))
    bench_writing(tapool, trace, page)
    if not find():
        print("  there is no browser")
        return
    gen_with_sites(tapool, placed)
    output_of(tapool, "replay", placed, *STRATEGY_OPTIONS, "-f", "--export-html", page)
    print_goal("page with allocation sites", os.path.getsize(page) / 1e6, 3, "MB")
    bench_browser(page)
