#!/usr/bin/env bats
# The pages of compare and check. A real browser looks at them where there is one (tests/browser/page_check.py),
# and every figure in their tables is that of the JSON written in the same run (tests/browser/page_verdicts.py).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load browser
load gate

setup() {
    enter_folder
    needs_pages
}

compare() { "$TAPOOL" compare --rounds 4 --min-time 0 "$@"; }

# live ARG...: check against another strategy, with as many pairs as its tests need.
live() { check --pairs 13 "$@"; }

# compared_at PAGE...: nor does it find figures that are not those of the JSON.
compared_at() {
    looked_at "$@"
    matches compared '^[1-9][0-9]* figures compared'
}

# data_is FILE.html PYTHON: an assertion about the data of the page, `d`, and its text, `text`.
data_is() {
    python3 -S -E - "$1" "$2" <<'END'
import json, re, sys
text = open(sys.argv[1]).read()
d = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
assert eval(sys.argv[2]), (sys.argv[2], d)
END
}

@test "compare: every round, curve and figure is on the page, and it opens" {
    ok compare sample:sqlite sample:jq -s system -s arena -s lru --export-html a.html --export-json a.json
    compared_at a.html --json a.json
    data_is a.html 'd["schema"] == "tapool.compare/2" and len(d["page"]["runs"]) == 6'
    data_is a.html 'all(len(v) == 4 for r in d["page"]["runs"] for v in r["rounds"].values())'
    # the median of the rounds is the value of the table, and the curve reaches the peak
    data_is a.html 'all(abs(sorted(r["rounds"]["ns_per_op"])[1] + sorted(r["rounds"]["ns_per_op"])[2]
        - 2 * d["tables"][r["table"]]["rows"][r["row"]]["metrics"]["ns_per_op"]["value"]) < 1e-5 for r in d["page"]["runs"])'
    data_is a.html 'max(sum(d["page"]["runs"][1]["page"]["devices"][0]["curve"]["reserved"][:i + 1])
        for i in range(len(d["page"]["runs"][1]["page"]["devices"][0]["curve"]["reserved"]))) >= 256 << 10'
    ! grep -q "$PWD" a.html || fail "the place of a folder"
    matches a.html '^<pre>tapool compare sample:sqlite sample:jq --strategy system --strategy arena --strategy lru --rounds 4 '
    ok compare sample:sqlite -s arena -s bump --format html
    matches "$out" '^<!DOCTYPE html>'
}

# bats test_tags=nightly
@test "compare: devices, failures and stored results have pages of their own" {
    device_trace >gpu.json
    ok compare gpu.json -s arena -s lru -s direct --capacity 4MiB --export-html a.html --export-json a.json
    compared_at a.html --once --json a.json
    device_trace >gpu.trace
    for i in 1 2; do
        ok replay_once gpu.trace -s arena -s lru --fits --export-json "$i.json"
    done
    ok "$TAPOOL" compare 1.json 2.json --export-html b.html --export-json b.json
    compared_at b.html --once --json b.json
    matches b.html '<b>1.json</b>'
    lacks b.html 'class="rounds"'
    data_is b.html 'len(d["page"]["runs"]) == 4 and all(r["page"]["devices"][0]["curve"]["events"] for r in d["page"]["runs"])'
    ok "$TAPOOL" compare 1.json --export-html c.html --export-json c.json
    compared_at c.html --once --json c.json
    refused 2 'exists' "$TAPOOL" compare 1.json --export-html c.html
}

# bats test_tags=nightly
@test "compare: many points are thinned to a page of its size, and no extreme is lost" {
    sanitized && skip "minutes under a sanitizer"
    "$TAPOOL" gen web-server --count 4000 -o web.tpt >/dev/null
    ok replay_once web.tpt -s arena -s lru --export-json one.json
    python3 -S -E - <<'END'
import copy, json
one = json.load(open("one.json"))
runs = one["runs"]
one["runs"] = []
for i in range(40):
    run = copy.deepcopy(runs[i % 2])
    run["strategy"]["label"] = "strategy-%d" % i
    one["runs"].append(run)
json.dump(one, open("many.json", "w"))
END
    ok "$TAPOOL" compare many.json --export-html a.html
    [ "$(stat -c %s a.html)" -lt 3000000 ]
    python3 -S -E - <<'END'
import itertools, json, re
d = json.loads(re.search(r'id="data">(.*?)</script>', open("a.html").read(), re.S).group(1))
points = 0
for run, stored in zip(d["page"]["runs"], json.load(open("many.json"))["runs"]):
    curve = run["page"]["devices"][0]["curve"]
    points += len(curve["events"])
    for i, name in enumerate(("requested", "allocated", "reserved")):
        values, all_values = list(itertools.accumulate(curve[name])), [p[1 + i] for p in stored["memory"]["curve"]]
        assert (min(values), max(values)) == (min(all_values), max(all_values)), name
assert 10000 < points <= 41000, points
END
}

# bats test_tags=nightly
@test "compare: of very many rows those stay that have changed, the worst first, each with its base" {
    sanitized && skip "minutes under a sanitizer"
    trace '{"op": "alloc", "id": 1, "size": 4096}' '{"op": "alloc", "id": 2, "size": 70000}' >a.trace
    ok replay_once a.trace -s arena --export-json one.json
    for case in '2400 1 0' '40 25 2000'; do
        # shellcheck disable=SC2086 # words
        python3 -S -E "$CLI/many_rows.py" write one.json many.json $case
        ok "$TAPOOL" compare many.json --export-html a.html --export-json a.json -f
        [ "$(stat -c %s a.html)" -lt 3000000 ] || fail "$case: $(stat -c %s a.html) bytes"
        matches a.html '^<p>And [0-9,]+ more rows? would make the page too large: --export-json has (them|it)\.</p>$'
        ok python3 -S -E "$CLI/many_rows.py" look a.html a.json
    done
    compared_at a.html --figures --json a.json
}

@test "compare: a stored curve that is none is refused by its place" {
    device_trace >gpu.json
    ok replay_once gpu.json -s arena --export-json one.json
    for change in 'c[1] = [1, 2, 3]' 'c[1] = 7' 'c[1][2] = "x"' 'c[2][0] = -1' 'c[-1][0] = 0'; do
        python3 -S -E - "$change" <<'END'
import json, sys
d = json.load(open("one.json"))
c = d["runs"][0]["memory"]["curve"]
exec(sys.argv[1])
json.dump(d, open("bad.json", "w"))
END
        refused 3 'bad.json: runs\[0\].memory.curve\[[0-9]+\]' "$TAPOOL" compare bad.json --export-html bad.html
        [ ! -e bad.html ]
    done
}

# bats test_tags=nightly
@test "hostile names stay text on the pages of compare and check" {
    name='</script><script>document.title=1//\"<img src=x onerror=document.title=2>&lt;!--\u202e'
    cat >hostile.json <<END
{ "format": "tapool-trace", "version": 1, "meta": {"name": "$name"},
  "events": [{"op": "alloc", "id": 1, "size": 4096}, {"op": "alloc", "id": 2, "size": 8192}, {"op": "free", "id": 1}] }
END
    ok compare hostile.json -s '__proto__=arena' -s 'constructor=lru' --export-html a.html --export-json a.json
    lacks a.html '<img'
    compared_at a.html --once --json a.json
    ok check hostile.json -s arena -s lru --update
    capture live --base-strategy arena --export-html b.html --export-json b.json
    [ "$rc" -le 1 ] # times may differ
    lacks b.html '<img'
    compared_at b.html --once --json b.json
}

@test "check: a failure says what got worse, what was not checked and how to take it in" {
    some_trace >a.trace
    ok check a.trace -s arena -s lru --update
    sed -i -E 's/("(peak|end)_reserved": )[0-9]+/\14096/' tapool-baseline.json
    capture live --base-strategy lru --export-html a.html --export-json a.json --export-markdown a.md
    [ "$rc" -eq 1 ]
    compared_at a.html --json a.json
    matches a.html '<h1>tapool check: FAIL</h1>'
    matches a.html '^<p>Regression found.<br>$'
    matches a.html '^peak_reserved .* 4 -&gt; '
    matches a.html '<th scope="row">regression</th>.*<td>peak_reserved</td><td>4 -&gt; '
    matches a.html 'NOT CHECKED: '
    matches a.html '^<pre>tapool check --update</pre>$'
    matches a.html '^<pre>tapool check --base-strategy lru .*--export-html a.html'
    matches a.md '^With charts: `a.html`$'
    data_is a.html 'len(d["page"]["texts"]) == len(d["findings"])'
    ok check a.trace -s arena -s lru --update
    ok check --export-html b.html --export-json b.json
    compared_at b.html --once --json b.json
    matches b.html '<b>PASS</b> \(memory and counts only\)'
    lacks b.html 'data-view="times"'
    for option in --update --plan '--aa 1'; do
        # shellcheck disable=SC2086 # words
        refused 2 "export-html" check a.trace -s arena $option --export-html c.html
    done
}

# bats test_tags=nightly
@test "check: a page of a check that an error or a signal ended says so" {
    some_trace >a.trace
    some_trace | sed 's/70000/71000/' >b.trace
    ok check a.trace b.trace -s arena --update
    printf '#!/bin/sh\nkill -INT $PPID\nsleep 20\n' >stopping
    chmod +x stopping
    capture live --base-bin ./stopping --export-html s.html --export-json s.json
    [ "$rc" -eq 130 ]
    compared_at s.html --once --json s.json
    matches s.html '<h1>tapool check: ABORTED</h1>'
    matches s.html '<td>NOT CHECKED: interrupted</td>'
    matches s.html 's, exit 130<br>$'
    rm b.trace
    capture check --export-html a.html --export-json a.json
    [ "$rc" -eq 3 ]
    compared_at a.html --once --json a.json
    matches a.html '<h1>tapool check: ABORTED</h1>'
    matches a.html 'The check stopped early'
    matches a.html 'the check stopped before this'
}

# bats test_tags=nightly
@test "check: of more findings than a page holds those are left out first that have not moved" {
    sanitized && skip "minutes under a sanitizer"
    some_trace >a.trace
    ok check a.trace -s arena --update
    mv tapool-baseline.json one.json
    python3 -S -E "$CLI/many_rows.py" cells one.json tapool-baseline.json 40 2500
    capture check --export-html a.html --export-json a.json
    [ "$rc" -eq 1 ]
    [ "$(stat -c %s a.html)" -lt 3000000 ]
    matches a.html '^<p>And [0-9,]+ more findings would make the page too large: --export-json has them.</p>$'
    matches a.html '<th scope="row">regression</th>'
    python3 -S -E - <<'END'
import json, re
page = json.loads(re.search(r'id="data">(.*?)</script>', open("a.html").read(), re.S).group(1))
whole = json.load(open("a.json"))
assert 100 < len(page["findings"]) == len(page["page"]["texts"]) < len(whole["findings"])
moved = lambda d: [f for f in d["findings"] if f["verdict"] != "unchanged"]
assert moved(page) == moved(whole) != []
causes = lambda d: [[d["findings"][i] for i in cause["findings"]] for cause in d["causes"]]
assert causes(page) == causes(whole) != []
END
    compared_at a.html --figures --json a.json
}

# bats test_tags=nightly
@test "the checks of these pages can fail" {
    ok compare sample:jq -s arena -s lru --export-html a.html --export-json a.json
    compared_at a.html --once --json a.json --cells
    some_trace >a.trace
    ok check a.trace -s arena -s lru --update
    sed -i -E '0,/"peak_reserved": [0-9]+/s//"peak_reserved": 4096/' tapool-baseline.json
    capture live --base-strategy lru --export-html b.html --export-json b.json
    compared_at b.html --once --json b.json --cells
    noticed a.html --json a.json <<'END'
s/page.view\("changes"/page.view("nothing"/
s/page.view\("rounds"/page.view("nothing"/
/<section class="answer">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
s/(<p class="pick">.*)([0-9])/\19\2/
s/(<b>cores<\/b> )/\19/
s/ text: text.value/ text: ""/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
s/^\.plot \.amount \{/.plot .amount { height: 1.3rem;/
END
    noticed b.html --json b.json <<'END'
s/page.view\("times"/page.view("nothing"/
/<section class="findings">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
/<section class="causes">/,/<\/section>/s/^peak_reserved \+[0-9]/peak_reserved +9/
/<section class="classes">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
s/(<p class="pick">.*)([0-9]) (of [0-9]+ values? worse)/\19\2 \3/
s/^([0-9.]+ s, exit) 1/\1 2/
s/<dd class="bad">FAIL/<dd class="good">PASS/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
}
