#!/usr/bin/env bats
# The pages of `tapool info --export-html`, of one trace and of two: their figures are those of --json, and a real
# browser finds nothing wrong with them (tests/browser/page_check.py says what it looks at).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load browser

setup() {
    enter_folder
    needs_pages
}

# page NAME TRACE... [OPTION...]: writes NAME.html and NAME.json in one run.
page() {
    local name=$1
    shift
    ok "$TAPOOL" info "$@" --export-html "$name.html" --export-json "$name.json"
    lacks "$name.html" "$PWD"
    not grep -qE ' (src|href)=' "$name.html"
}

# compared_at PAGE...: nor does it find figures that are not those of the JSON that was written with the page.
compared_at() {
    looked_at "$@" --beside
    matches compared '^[1-9][0-9]* figures compared'
}

# devices_trace N: N blocks on ten devices, each live until 500 more have come.
devices_trace() {
    printf '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "streams": ['
    for i in {0..9}; do printf '%s{"id": %d, "device": %d}' "${comma:-}" "$i" "$i" && comma=,; done
    printf ']}\n'
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) {
        printf "{\"op\": \"alloc\", \"id\": %d, \"size\": %d, \"stream\": %d}\n", i, 1 + i * 7919 % 1000003, i % 10
        if (i > 500) printf "{\"op\": \"free\", \"id\": %d}\n", i - 500 } }'
}

@test "the page of a trace has the figures of its JSON, and opens" {
    page a sample:python-threads
    compared_at a.html
    cp "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" step.pickle.gz
    page b step.pickle.gz --at 1000
    page c step.pickle.gz --depth 2
    page d step.pickle.gz --by annotation --initial-heap drop
    compared_at [bcd].html --once
    matches b.html 'Live memory at event 1,000'
    grep -qx '<pre>tapool info step.pickle.gz --export-json b.json --export-html b.html --at 1000</pre>' b.html
}

@test "--format html prints the page, and files are as they are elsewhere" {
    page a sample:jq
    ok "$TAPOOL" info sample:jq --format html
    diff <(sed 's/ --format html//' "$out") <(sed 's/ --export-json a.json --export-html a.html//' a.html)
    ok "$TAPOOL" info sample:jq --json
    cmp "$out" a.json
    refused 2 'a.html' "$TAPOOL" info sample:jq --export-html a.html
    refused 2 'needs a file' "$TAPOOL" info sample:jq --export-json -
    refused 2 'same file' "$TAPOOL" info sample:jq --export-json x --export-html x
    ok "$TAPOOL" info sample:jq --export-html a.html -f
}

# bats test_tags=nightly
@test "a trace of ten events, one without events, several devices" {
    { echo '{"format": "tapool-trace", "version": 1}'
      for i in 1 2 3 4 5; do
          printf '{"op": "alloc", "id": %d, "size": %d}\n{"op": "free", "id": %d}\n' "$i" $((i * 100)) "$i"
      done; } >ten.jsonl
    page ten ten.jsonl
    trace '{"op": "mark", "name": "only this"}' >mark.json
    page none mark.json
    matches none.html 'no allocations'
    devices_trace 3000 >devices.jsonl
    page devices devices.jsonl
    captured_trace >rich.trace
    page rich rich.trace
    python3 "$CLI/oom_snapshot.py" two >two.pickle
    page two two.pickle --device 1 --by age
    compared_at ten.html none.html devices.html rich.html two.html --once
    matches devices.html 'Drawn are the first 4 of 10'
}

# bats test_tags=nightly
@test "a page is below 3 MB, however many threads, phases and long names there are" {
    long=$(printf 'x%.0s' {1..4000})
    { echo '{"format": "tapool-trace", "version": 1}'
      for i in {1..1500}; do
          printf '{"op": "mark", "name": "%s"}\n{"op": "alloc", "id": 1, "size": %d, "thread": %d}\n' "$i$long" "$i" "$i"
          printf '{"op": "free", "id": 1, "thread": %d}\n' "$((i + 1))"
      done; } >many.jsonl
    page many many.jsonl
    [ "$(stat -c %s many.html)" -lt 3000000 ]
    compared_at many.html --once
}

@test "two traces: the table, both lines, and what --fail-on found" {
    capture "$TAPOOL" info sample:sqlite sample:jq --fail-on 'allocations>+1%' --fail-on 'frees>+99%' \
        --export-html a.html --export-json a.json
    [ "$rc" -eq 1 ]
    compared_at a.html
    matches a.html 'a condition is met'
    matches a.html '^allocations&gt;\+1%: met'
    matches a.html '^frees&gt;\+99%: not met'
    page b sample:sqlite sample:sqlite --fail-on 'allocations>+1%'
    matches b.html 'no condition is met'
    device_trace >gpu.trace
    page c gpu.trace sample:jq
    compared_at b.html c.html --once
}

# bats test_tags=nightly
@test "hostile names stay text" {
    name='</script><script>document.title=1//\"<img src=x onerror=document.title=2>&lt;!--\u202e'
    cat >hostile.json <<END
{ "format": "tapool-trace", "version": 1, "meta": {"name": "$name", "program": "$name"},
  "events": [{"op": "mark", "name": "$name"}, {"op": "alloc", "id": 1, "size": 4096}, {"op": "mark", "name": "__proto__"},
             {"op": "alloc", "id": 2, "size": 8192}, {"op": "free", "id": 1}] }
END
    for traces in hostile.json "hostile.json hostile.json"; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" info $traces --export-html a.html -f
        [ "$(grep -c '</script' a.html)" -eq "$(grep -c '^</script>$\|id="data">.*</script>$' a.html)" ]
        lacks a.html '<img'
        looked_at a.html --once
    done
}

# bats test_tags=nightly
@test "the checks of the page can fail, in each of its sections" {
    cp "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" step.pickle.gz
    page a step.pickle.gz --depth 2 --at 1000
    page b sample:python-threads
    page c sample:sqlite sample:jq
    ok "$TAPOOL" info sample:sqlite --export-json c.first.json
    ok "$TAPOOL" info sample:jq --export-json c.second.json
    compared_at a.html b.html c.html --figures --cells
    noticed b.html <<'END'
s/page.view\("trace"/page.view("nothing"/
s/page.view\("memory"/page.view("nothing"/
s/ArrowRight: \(\) => say\(at \+ 1\)/ArrowRight: () => say(at)/
s/powers\("objects"\)/powers("bytes")/
s/series = chart.series\[i\]/series = series/
END
    noticed b.html --figures --json b.json <<'END'
s/"allocations":930/"allocations":931/
/<section class="trace">/,/<\/section>/s/(<td class="n">)([0-9])/\19\2/
END
    noticed a.html <<'END'
s/"site_curve":\{"events":\[0,/&1/ ## live memory by site does not add up
END
    noticed a.html --figures --json a.json <<'END'
s/^(<p class="head">.*)57.66 KiB/\157.67 KiB/
/<section class="contents">/,/<\/section>/s/ 6,486 events/ 6,487 events/
/<section class="memory">/,/<\/section>/s/at event 1,844/at event 1,845/
/<section class="sites">/,/<\/section>/s/18.72 ms/18.73 ms/
/<section class="sites">/,/<\/section>/s/model.py:384/model.py:385/
/<section class="trace">/,/<\/section>/s/lifetime of 1,940/lifetime of 1,941/
/<section class="settings">/,/<\/section>/s/59,042 B/59,043 B/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
    noticed c.html --figures --json c.json <<'END'
/<section class="answer">/,/<\/section>/s/(class="n">)([0-9])/\19\2/
/<section class="answer">/,/<\/section>/s/\+167.0%/+167.1%/
/<section class="settings">/,/<\/section>/s/  3,063 /  3,064 /
s/first: requested/both: requested/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
}
