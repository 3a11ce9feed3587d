#!/usr/bin/env bats
# The page of --export-html: one file that loads nothing, readable without JavaScript, in which names stay text.
# A real browser looks at it where there is one (tests/browser/page_check.py says what it looks at).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load browser

setup() {
    enter_folder
    needs_pages
}

@test "a page is one file without a place of its own to load from" {
    ok replay_once sample:sqlite -s arena -s lru --export-html a.html
    python3 -S -E - a.html <<'END'
import html.parser, json, re, sys
text = open(sys.argv[1]).read()
class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.inside = [], [], None
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not {"src", "href", "srcset", "action"} & {name for name, _ in attributes}, (tag, attributes)
        self.inside = tag
    def handle_data(self, data):
        if self.inside in ("td", "th"):
            self.cells.append(data)
reader = Reader()
reader.feed(text)
assert "link" not in reader.tags and "iframe" not in reader.tags and "img" not in reader.tags
assert text.count("<script") == text.count("</script") == reader.tags.count("script")
assert "sourceMappingURL" not in text and '"Content-Security-Policy" content="default-src \'none\';' in text
assert not [tag for tag in reader.tags if tag in ("link", "iframe", "img", "object", "form")]
assert "arena" in reader.cells and "lru" in reader.cells, reader.cells
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
assert data["schema"] == "tapool.result/2" and len(data["runs"]) == 2
curve = data["runs"][0]["page"]["devices"][0]["curve"]
lengths = {len(values) for values in curve.values()}
assert len(lengths) == 1 and lengths.pop() > 100
peak = value = 0
for change in curve["reserved"]:
    value += change
    peak = max(peak, value)
assert peak == data["runs"][0]["memory"]["peak_reserved_bytes"]
END
    ! grep -q "$PWD" a.html || fail "the place of a folder"
    grep -qx '<pre>tapool replay sample:sqlite --strategy arena --strategy lru --threads 1 --min-time 0 --export-html a.html</pre>' a.html
    grep -qE '^    options  +arena_size=64MiB' a.html
}

# agrees REPLAY...: the figures of its page are those of the JSON that the same replay writes.
agrees() {
    ok "$TAPOOL" replay "$@" --export-html a.html --export-json a.json -f
    looked_at a.html --figures --json a.json
    matches compared '^[1-9][0-9]+ figures compared'
}

# bats test_tags=nightly
@test "a page is below 3 MB, however many strategies and devices there are, and no extreme is lost" {
    sanitized && skip "minutes under a sanitizer"
    many() { # DEVICES
        python3 -S -E - "$1" <<'END'
import json, sys
devices = int(sys.argv[1])
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"kind": "device"},
                  "streams": [{"id": i, "device": i} for i in range(devices)]}))
for i in range(1, 12001):
    print(json.dumps({"op": "alloc", "id": i, "size": 512 + i * 7919 % 4000037, "stream": i % devices, "t": 1000 * i}))
    if i > 2000:
        print(json.dumps({"op": "free", "id": i - 2000, "t": 1000 * i + 1}))
END
    }
    many 1 >1.jsonl
    many 16 >16.jsonl
    strategies=()
    for i in {1..40}; do strategies+=(-s "p$i=stream-pool:threshold=${i}MiB"); done
    for case in '16.jsonl -s arena -s lru -s torch -s direct -s bump -s rmm-pool' "1.jsonl ${strategies[*]}"; do
        # shellcheck disable=SC2086 # words
        ok replay_once $case --no-fits --bound-time 0 --export-html a.html --export-json a.json -f
        [ "$(stat -c %s a.html)" -lt 3000000 ] || fail "$case: $(stat -c %s a.html) bytes"
        python3 -S -E - <<'END'
import itertools, json, re
runs = json.loads(re.search(r'id="data">(.*?)</script>', open("a.html").read(), re.S).group(1))["runs"]
points = 0
for run, whole in zip(runs, json.load(open("a.json"))["runs"]):
    devices = [device["memory"] for device in whole["devices"]] if len(whole["devices"]) > 1 else [whole["memory"]]
    assert len(run["page"]["devices"]) == len(devices)
    for device, stored in zip(run["page"]["devices"], devices):
        curve, points = device["curve"], points + len(device["curve"]["events"])
        at = list(itertools.accumulate(curve["events"]))
        assert (at[0], at[-1]) == (stored["curve"][0][0], stored["curve"][-1][0]), "first and last"
        for i, name in enumerate(("requested", "allocated", "reserved")):
            values, all_values = list(itertools.accumulate(curve[name])), [p[1 + i] for p in stored["curve"]]
            assert (min(values), max(values)) == (min(all_values), max(all_values)), name
assert 10000 < points, points
END
        looked_at a.html --figures --json a.json
    done
}

# bats test_tags=nightly
@test "of very many devices a page has the first ones, says so, and picks among all strategies" {
    sanitized && skip "minutes under a sanitizer"
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "streams": ['
      for i in {0..249}; do echo "{\"id\": $i, \"device\": $i}$([ "$i" = 249 ] || echo ,)"; done | tr '\n' ' '
      echo ']}'; } | tr -d '\n' >many.jsonl
    echo >>many.jsonl
    for i in {1..250}; do echo "{\"op\": \"alloc\", \"id\": $i, \"size\": $((4096 + i * 7777)), \"stream\": $((i - 1))}"; done >>many.jsonl
    ok replay_once many.jsonl -s arena -s lru -s bump -s direct -s torch -s stream-pool --no-fits --bound-time 0 \
        --export-html a.html --export-json a.json
    [ "$(stat -c %s a.html)" -lt 3000000 ] || fail "$(stat -c %s a.html) bytes"
    python3 -S -E - <<'END'
import json, re
text = open("a.html").read()
said = re.search(r"<p>Below are the first (\d+) of 250 devices: all would make the page too large. --export-json has them.</p>", text)
page, whole = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1)), json.load(open("a.json"))
shown = int(said.group(1))
assert 50 < shown < 250 and len(text) > 2000000, (shown, len(text))
assert [r["strategy"]["label"] for r in page["runs"]] == [r["strategy"]["label"] for r in whole["runs"]]
for run, of in zip(page["runs"], whole["runs"]):
    assert len(run["devices"]) == len(run["page"]["devices"]) == shown and len(of["devices"]) == 250
    assert all(d["index"] == i for i, d in enumerate(run["devices"]))
    assert all(d["curve"]["events"] for d in run["page"]["devices"])
    assert run["failed_allocations"] == of["failed_allocations"]
assert ", device %d<" % (shown - 1) in text and ", device %d<" % shown not in text
END
    looked_at a.html --figures --json a.json
}

# bats test_tags=nightly
@test "of very many traces a page has the first ones, each with the pick, and says how many rows and traces are left out" {
    trace '{"op": "alloc", "id": 1, "size": 4096}' '{"op": "alloc", "id": 2, "size": 70000}' >a.trace
    for i in {1..120}; do cp a.trace "a-long-name-of-a-trace-and-its-number-$i.trace"; done
    ok replay_once a-*.trace -s arena -s lru --no-fits --bound-time 0 --export-html a.html --export-json a.json
    [ "$(stat -c %s a.html)" -lt 3000000 ] || fail "$(stat -c %s a.html) bytes"
    matches a.html '^<p>And 1 more row would make the page too large: --export-json has it.</p>$'
    matches a.html '^<p>And [0-9]+ more traces would make the page too large: --export-json has them.</p>$'
    looked_at a.html --figures --json a.json
}

# bats test_tags=nightly
@test "a page opens, with the figures of the JSON result" {
    device_trace >gpu.json
    ok replay_once gpu.json -s arena -s lru -s direct --fits --export-html a.html --export-json a.json
    looked_at a.html --json a.json
    matches compared '^[1-9][0-9]+ figures compared'
    ok "$TAPOOL" replay "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --min-time 0 --export-html b.html
    looked_at b.html --once
    ok "$TAPOOL" replay sample:redis -s arena -s system --min-time 0 --export-html c.html
    looked_at c.html --once
    sed 's/"id": 7, "device": 0/"id": 7, "device": 1/' gpu.json >two.json
    ok replay_once two.json -s arena -s lru --export-html d.html
    looked_at d.html --once
}

# bats test_tags=nightly
@test "every figure of the tables: hosts and devices, threads, several of all, failures, cold runs, a recording" {
    needs_browser
    device_trace >gpu.json
    captured_trace >rich.json
    python3 "$CLI/oom_snapshot.py" fragmented >oom.pickle
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}'
      for i in {1..40}; do echo '{"op": "alloc", "id": '"$i"', "size": 3000000}'; done; } >full.jsonl
    agrees "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --min-time 0
    agrees "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" -s torch -s arena -s lru
    agrees oom.pickle --min-time 0
    agrees sample:jq -s arena -s system -s bump
    agrees sample:python-threads --threads recorded --min-time 10ms -s arena -s system -s lru
    agrees gpu.json rich.json oom.pickle sample:sqlite -s x=arena -s lru -s direct --min-time 0
    agrees full.jsonl -s arena -s torch --capacity 64MiB --min-time 0
    agrees full.jsonl -s arena -s lru --capacity 125MiB --on-oom stop
}

# bats test_tags=nightly
@test "a figure that is another one, or has no getter, is found wherever it stands in a table or in a Pick" {
    needs_browser
    for trace in "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" sample:redis; do
        ok "$TAPOOL" replay "$trace" -s arena -s lru -s bump --export-html a.html -f
        PYTHONPATH=$TAPOOL_ROOT/tests/browser python3 - a.html <<'END'
import copy, os, re, sys
import page_figures
import page_tables
from chromium import Browser
with Browser() as browser:
    page = browser.open("file://" + os.path.realpath(sys.argv[1]))
    articles = page.value(page_tables.READ)
    data = page.value("JSON.parse(document.getElementById('data').textContent)")
assert page_figures.check(copy.deepcopy(articles), data)[0] == []
another = lambda text: re.sub(r"\d(?=\D*$)", lambda d: str((int(d[0]) + 5) % 10), text)
cells = 0
def seen(change, what):
    changed = copy.deepcopy(articles)
    change(changed[0])
    assert page_figures.check(changed, data)[0], "not seen: " + what
for t, table in enumerate(articles[0]["tables"]):
    for r, row in enumerate(table["rows"]):
        for c, cell in enumerate(row):
            if re.search(r"\d", cell):
                cells += 1
                seen(lambda a: a["tables"][t]["rows"][r].__setitem__(c, another(cell)), "%s: %s" % (table["section"], row))
                seen(lambda a: a["tables"][t]["rows"][r].__setitem__(c, "-"), "%s: %s" % (table["section"], row))
    seen(lambda a: a["tables"][t]["heads"].__setitem__(-1, "a new column"), "a head of " + table["section"])
    seen(lambda a: a["tables"][t]["rows"].pop(), "a row less of " + table["section"])
seen(lambda a: a["tables"].append({"section": "new", "heads": ["", "x"], "rows": [["a", "1"]]}), "a new table")
numbers = [m.span() for m in re.finditer(r"\d+", articles[0]["picks"][0])]
labels = [run["strategy"]["label"] for run in data["runs"]]
for begin, end in numbers:
    pick = articles[0]["picks"][0]
    other = pick[:begin] + another(pick[begin:end]) + pick[end:]
    seen(lambda a: a["picks"].__setitem__(0, other), other)
assert cells > 30 and numbers, (cells, articles[0]["picks"])
END
    done
}

# bats test_tags=nightly
@test "what no strategy could serve is requested all the same, and each trace has its own phases" {
    for name in one two; do
        { echo '{"format": "tapool-trace", "version": 1, "meta": {"name": "'$name'", "kind": "device"}}'
          for i in {1..40}; do
              [ "$i" -ne 20 ] || echo '{"op": "mark", "name": "of '$name'"}'
              echo '{"op": "alloc", "id": '"$i"', "size": 3000000}'
          done; } >$name.jsonl
    done
    ok replay_once one.jsonl two.jsonl -s arena -s torch --capacity 64MiB --export-html a.html
    python3 -S -E - a.html <<'END'
import json, re, sys
text = open(sys.argv[1]).read()
runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))["runs"]
assert [r["page"].get("marks") for r in runs] == [[[20, "of one"]], None, [[20, "of two"]], None]
for i, run in enumerate(runs):
    device = run["page"]["devices"][0]
    assert run["devices"][0]["failed_allocations"] > 0
    assert sum(device["curve"]["requested"]) < 64 << 20 and device["curve"]["ns"] == []
    assert ("program" in device) == (i % 2 == 0)
    if i % 2 == 0:
        assert sum(device["program"]["requested"]) == run["memory"]["trace_peak_requested_bytes"] == 120000000
END
    ok replay_once one.jsonl -s arena -s bump --capacity 130MiB --export-html b.html
    looked_at b.html --once
    python3 - b.html <<'END'
import os, sys
sys.path.insert(0, os.path.join(os.environ["TAPOOL_ROOT"], "tests/browser"))
from chromium import Browser
with Browser() as browser:
    page = browser.open("file://" + os.path.realpath(sys.argv[1]), width=1200, dark=False)
    page.value("""(() => { window.said = []; const draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { said.push(text); draw.call(this, text, ...at); }; })()""")
    page.scroll_through()
    page.value("document.querySelector('figure[data-view=memory] .keys input').click()") # drawn once more
    page.settle()
    said = page.value("said.join()")
    assert "capacity 130 MiB" in said and "out of memory" in said, said
    page.value("document.querySelector('figure[data-view=memory]').scrollIntoView()")
    page.settle()
    x, y, w, h = page.value("""(r => [r.x, r.y, r.width, r.height])(
        document.querySelector("figure[data-view=memory] .chart").getBoundingClientRect())""")
    page.mouse("mouseMoved", x + w * 0.8, y + h * 0.5)
    page.settle()
    said = page.value("document.querySelector('figure[data-view=memory] .under').textContent")
    assert ", in of one: arena" in said and "+" not in said, said
END
}

# bats test_tags=nightly
@test "calls to the source at a point are those of a replay that ends there, and times those of the events" {
    "$TAPOOL" convert sample:jq -o jq.jsonl
    ok replay_once jq.jsonl -s arena -s lru -s direct -s bump -s system --export-html a.html
    python3 -S -E - a.html jq.jsonl >cuts <<'END'
import itertools, json, re, sys
text, lines = open(sys.argv[1]).read(), open(sys.argv[2]).read().splitlines()
runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))["runs"]
events = [json.loads(line) for line in lines[1:]]
gets, puts = [0], [0] # of a strategy that goes to the system for each block
for e in events:
    gets.append(gets[-1] + (e["op"] in ("alloc", "calloc", "realloc")))
    puts.append(puts[-1] + (e["op"] in ("free", "realloc")))
def curve(run):
    return {name: list(itertools.accumulate(values)) for name, values in run["page"]["devices"][0]["curve"].items()}
for run in runs:
    c, label = curve(run), run["strategy"]["label"]
    calls = run["devices"][0]["driver_calls"]
    assert ("gets" in c) == (label != "system"), label
    assert all(ns == events[at - 1]["t"] for at, ns in zip(c["events"], c["ns"]) if at), label
    if label == "system":
        continue
    assert len(c["gets"]) == len(c["puts"]) == len(c["events"]) > 500
    assert [c["gets"][-1], c["puts"][-1]] == [calls["get"], calls["put"]], label
    if label == "direct":
        assert all((g, p) == (gets[at], puts[at]) for g, p, at in zip(c["gets"], c["puts"], c["events"]))
at = curve(runs[0])["events"]
for cut in {at[len(at) * i // 5] for i in range(1, 5)}:
    print(cut, *({at: f"{g},{p}" for at, g, p in zip(c["events"], c["gets"], c["puts"]) if at <= cut}.popitem()[1]
                 for c in map(curve, runs[:4])))
END
    [ "$(wc -l <cuts)" -eq 4 ]
    while read -r cut said; do
        head -n $((cut + 1)) jq.jsonl >cut.jsonl
        ok "$TAPOOL" replay cut.jsonl -s arena -s lru -s direct -s bump --passes usage --format json
        is "$out" '" ".join("%d,%d" % (c["get"], c["put"]) for r in d["runs"] for c in [r["devices"][0]["driver_calls"]])' "$said"
    done <cuts
    # What was resident at most is on the page of a host.
    ok replay_once jq.jsonl -s arena -s system --export-html c.html --export-json c.json
    matches c.html "<p>Resident at most, as the kernel counts, blocks written wholly: arena [0-9.]+ [KM]iB, system [0-9.]+ [KM]iB\.</p>"
    TAPOOL_LEVELS=$(python3 -S -E -c 'import json; print(*(r["resident"]["peak_bytes"] for r in json.load(open("c.json"))["runs"]), sep=",")') python3 -S -E - c.html <<'END'
import os, re, sys
said = re.search("<p>Resident at most[^<]*", open(sys.argv[1]).read()).group(0)
shown = [float(n) * {"K": 2**10, "M": 2**20}[unit] for n, unit in re.findall(r"([\d.]+) ([KM])iB", said)]
levels = [int(n) for n in os.environ["TAPOOL_LEVELS"].split(",")]
assert len(shown) == 2 and all(abs(a - b) <= 0.001 * b for a, b in zip(shown, levels)), (shown, levels)
END
}

# bats test_tags=nightly
@test "what was resident over time: its most is the figure, it falls with what is freed, and the chart draws it" {
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"name": "swings"}}'
      for i in {1..30}; do
          echo '{"op": "alloc", "id": '"$i"', "size": '$((1000000 * (1 + i % 5)))', "t": '"${i}0"'}'
          echo '{"op": "free", "id": '"$i"', "t": '"${i}5"'}'
      done; } >swings.jsonl
    ok replay_once swings.jsonl -s direct -s arena -s system --export-html a.html
    ok replay_once swings.jsonl -s direct --source virtual --export-html virtual.html
    lacks virtual.html '"resident":'
    ! sanitized || skip "a sanitizer's shadow is in what is resident"
    python3 -S -E - a.html <<'END'
import itertools, json, re, sys
runs = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))["runs"]
assert len(runs) == 3
for run in runs:
    if not run["resident"]["passes"]:
        continue # a kernel that does not say
    course = {name: list(itertools.accumulate(values)) for name, values in run["page"]["devices"][0]["resident"].items()}
    events, read = course["events"], course["resident"]
    assert set(course) == {"events", "ns", "resident"} and len(events) == len(read) == len(course["ns"])
    # Later ones are left out where readings take long.
    assert events[:3] == [0, 1, 2] and events[-1] == 60 and events == sorted({*events}), events
    assert course["ns"] == [0] + [5 * (e + 1) for e in events[1:]], course["ns"]
    assert max(read) == run["resident"]["peak_bytes"] and read[-1] >= run["resident"]["end_bytes"]
    if run["strategy"]["label"] == "direct": # it gives all back
        assert all(b >= 1000000 * (1 + (e + 1) // 2 % 5) if e % 2 else b < 500000 for e, b in zip(events, read) if e), read
END
    looked_at a.html --once
}

# bats test_tags=nightly
@test "ended by a signal: no file before the first replay is done, as of every export; later what is done" {
    capture timeout --preserve-status -s INT 0.3 "$TAPOOL" replay sample:sqlite -s arena -s system --min-time 60s \
        --export-html part.html --export-json part.json --export-markdown part.md --export-svg-heap part.svg
    [ "$rc" -eq 130 ] || fail "exit code $rc"
    not compgen -G 'part.*'
    many=()
    for i in $(seq 60); do many+=(-s "n$i=arena"); done
    for delay in 1 2 4 8 16; do
        capture timeout --preserve-status -s INT "$delay" "$TAPOOL" replay sample:jq --min-time 50ms "${many[@]}" \
            --export-html part.html --export-json part.json --export-svg-heap part.svg -f
        [ "$rc" -eq 130 ] || fail "exit code $rc" "$(cat "$err")"
        [ ! -s part.json ] || break
    done
    is part.json 'd["partial"], 0 < len(d["runs"]) < 60' '(True, True)'
    matches part.html '<b class="bad">partial: [0-9]+ of 60 replays are done</b>'
    matches part.svg 'partial: [0-9]+ of 60 replays are done'
    looked_at part.html --figures --json part.json
}

# bats test_tags=nightly
@test "the structure of a page: elements in their order, none on another one or cut, whatever the fonts" {
    needs_browser
    golden=$CLI/golden/page-structure.txt
    structure() { python3 "$CLI/../browser/page_structure.py" "$@" 360 1200; }
    ok replay_once "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" -s torch -s arena -s lru --export-html a.html
    structure a.html >got
    lacks got ', (overlaps|cut|outside)$'
    [ -z "${UPDATE_GOLDEN:-}" ] || cp got "$golden"
    diff -u "$golden" got || fail "golden/page-structure.txt differs; if that is meant: UPDATE_GOLDEN=1"
    sed 's/system-ui, sans-serif/monospace/; s/font: 16px/font: 17px/' a.html >other.html
    not cmp -s a.html other.html
    structure other.html | diff got -
    while read -r change; do
        sed -E "$change" a.html >bad.html
        not cmp -s a.html bad.html
        structure bad.html >bad
        not cmp -s got bad
        [ "$change" = "${change#*margin}" ] || matches bad ', (overlaps|outside)'
    done <<'END'
s/^\.chart \{ width: 100%/.chart { width: 60%/
s/^figure \{ margin: \.5rem/figure { margin: -3rem/
s/class="sites"/class="keepers"/
s/^\.wide, pre \{ overflow-x: auto; max-width: 100%/.wide, pre { overflow-x: hidden; max-width: 100%/
END
}

# bats test_tags=nightly
@test "hostile names stay text" {
    name='</script><script>document.title=1//\"<img src=x onerror=document.title=2>&lt;!--\u202e'
    long=$(printf 'x%.0s' {1..10000})
    cat >hostile.json <<END
{ "format": "tapool-trace", "version": 1, "meta": {"name": "$name"},
  "events": [{"op": "mark", "name": "$name"}, {"op": "alloc", "id": 1, "size": 4096}, {"op": "mark", "name": "$long"},
             {"op": "alloc", "id": 2, "size": 8192}, {"op": "free", "id": 1}] }
END
    ok replay_once hostile.json -s "arena" --export-html a.html
    [ "$(grep -c '</script' a.html)" -eq "$(grep -c '^</script>$\|id="data">.*</script>$' a.html)" ]
    lacks a.html '<img'
    looked_at a.html
    python3 - a.html <<'END'
import os, sys
sys.path.insert(0, os.path.join(os.environ["TAPOOL_ROOT"], "tests/browser"))
from chromium import Browser
with Browser() as browser:
    page = browser.open("file://" + os.path.realpath(sys.argv[1]))
    page.scroll_through()
    assert page.value("document.title").startswith("</script>"), page.value("document.title")
    assert page.value("document.images.length") == 0
END
}

# bats test_tags=nightly
@test "the checks of a page can fail" {
    ok replay_once "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" -s arena -s lru --export-html a.html --export-json a.json
    looked_at a.html --once --json a.json
    noticed a.html --json a.json <<'END'
s/page.view\("memory"/page.view("nothing"/
s/const page = /console.error("x"); const page = /
s/--soft: #595959/--soft: #d0d0d0/
s/^main \{ /main { min-width: 3000px; /
s/default-src 'none'/default-src */;s/^"use strict";$/"use strict"; fetch("https:\/\/example.invalid\/");/
s/\(down \? -1 : 1\)/1/
/<section class="answer">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
/<section class="sites">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
/<section class="trace">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
s/(<p class="pick">.* vs )([0-9])/\19\2/
s/>driver calls</>driver things</
s/"peak_allocated_bytes":/"peak_allocated_bytes":1/
s/(<dt>Pick<\/dt><dd class="">)arena/\1lru/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
    ok replay_once "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" -s arena -s lru --capacity 3GiB --export-html b.html --export-json b.json
    looked_at b.html --once --cells --json b.json
    noticed b.html --figures --json b.json <<'END'
/<section class="oom">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
/<section class="oom">/,/<\/section>/s/>(demand|fragmentation)</>refused</
s/(<dt>OOM<\/dt><dd class="bad">)./\19/
END
}
