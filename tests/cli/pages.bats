#!/usr/bin/env bats
# tapool why of a host trace: what resident pages hold, and who keeps them. tests/unit/cmd/test_holders.c
# holds the shares of pages.
load common

SCHEMA=$TAPOOL_ROOT/cmd/pages/pages.schema.json
SURVIVORS=${TAPOOL_SURVIVORS:-$(dirname "$TAPOOL")/tests/survivors}

setup() {
    sanitized && skip "a sanitizer has a malloc of its own"
    enter_folder
    export TAPOOL_LIBRARY_PATH=$PWD # no library of this machine
}

# recorded_survivors OPTION...: a.tpt, and what the program knows of itself in pages, freed and live
recorded_survivors() {
    "$TAPOOL" record -f -o a.tpt "$@" -- "$SURVIVORS" >knows 2>said || return 1
    read -r pages freed live <knows
}

named() { ! tr '\n' ' ' <said | grep -q 'without libdw\|without call stacks' || skip "built without call stacks"; }

# near EXPRESSION TRUTH SHARE: of the document on $out
near() { is "$out" "abs($1 - $2) <= $3 * $2" True; }

@test "the site of the survivors is first, with what the program itself knows, within 2%" {
    recorded_survivors --stacks 4 --stack-every 1
    named
    ok "$TAPOOL" why a.tpt --malloc glibc --at end --json
    cp "$out" why.json
    is "$out" 'd["partly_free_by"]["what"]' line
    query "$out" 'd["partly_free_by"]["rows"][0]["name"]' | grep -q ' site_7$'
    near 'd["partly_free_by"]["rows"][0]["partly_free_bytes"]' "$freed" 0.02
    near 'd["partly_free_by"]["rows"][0]["pages"]' "$pages" 0.02
    near 'd["partly_free_by"]["rows"][0]["live_bytes"]' "$live" 0.02
    # without stacks for all it is an estimate
    recorded_survivors --stacks 4
    ok "$TAPOOL" why a.tpt --malloc glibc --at end --json
    is "$out" 'd["partly_free_by"]["estimated"]' True
    query "$out" 'd["partly_free_by"]["rows"][0]["name"]' | grep -q ' site_7$'
    near 'd["partly_free_by"]["rows"][0]["partly_free_bytes"]' "$freed" 0.02
    schema shape "$SCHEMA"
    schema valid "$SCHEMA" why.json
}

@test "parts add up to resident memory at each moment, and rows to the partly free pages" {
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --json
    cp "$out" why.json
    is "$out" 'all(sum(m[p + "_bytes"] for p in ("live", "rounding", "partly_free", "free_pages", "own")) == m["resident_bytes"] for m in d["moments"])' True
    is "$out" 'len(d["moments"]) >= 10 and d["moments"][-1]["event"] == d["trace"]["events"]' True
    is "$out" 'max(m["partly_free_bytes"] + m["free_pages_bytes"] for m in d["moments"]) == d["moment"]["partly_free_bytes"] + d["moment"]["free_pages_bytes"]' True
    is "$out" 'abs(sum(r["partly_free_bytes"] for r in d["partly_free_by"]["rows"]) - d["moment"]["partly_free_bytes"]) < 1' True
    is "$out" 'd["partly_free_by"]["bytes"] == d["moment"]["partly_free_bytes"]' True
    schema valid "$SCHEMA" why.json
}

@test "a trace without call stacks is shown by block size, and says how to record them" {
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc arena --at 500
    matches "$out" '^At +event 500 of '
    matches "$out" 'Partly free pages by block size of their live blocks'
    matches "$out" "no call stacks. 'tapool record --stacks 8' records them"
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --frames 4
    matches "$out" 'Resident pages over time'
}

@test "where most is live, the summary says so before what is free" {
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --at peak --try-time 0
    matches "$out" '^Summary .* is live, which no allocator can give back'
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --at end --try-time 0
    matches "$out" '^Summary .* of resident memory .* is free'
}

@test "growth that the trace frees later is no leak, and free pages are given back only as measured" {
    recorded_survivors --stacks 4 --stack-every 1
    named
    ok "$TAPOOL" why a.tpt --malloc bump --at peak --try-time 1ms --export-json why.json
    matches "$out" '^Freed later +[0-9.]+ MiB from .* site_[0-9]+, '
    not grep -q '^Only grows' "$out"
    is why.json 'all(r["freed_later_bytes"] >= 0.7 * r["live_bytes"] for r in d["lifetimes"]["rows"] if "site_" in r["name"])' True
    ok "$TAPOOL" why a.tpt --malloc bump --at end --try-time 1ms
    tr -s '\n ' ' ' <"$out" | grep -q 'is on free pages, none of which bump can give back'
    ok "$TAPOOL" why a.tpt --malloc glibc --at end --try-time 1ms
    tr -s '\n ' ' ' <"$out" | grep -Eq 'is on free pages, ([0-9.]+ MiB|all) of which glibc [0-9.]+ can give back'
    ok "$TAPOOL" why a.tpt --malloc glibc --at end --try-time 0
    not grep -q 'give back' "$out"
}

@test "a recording whose end is missing says so beside the answer" {
    recorded_survivors
    head -c $(($(stat -c %s a.tpt) / 2)) a.tpt >cut.tpt
    ok "$TAPOOL" why cut.tpt --malloc bump --try-time 0
    matches "$out" '^note +cut at byte .* events are missing'
}

@test "two instances of a template are told apart" {
    {
        echo '{"format":"tapool-trace","version":1}'
        for ((i = 0; i < 4000; i++)); do
            echo "{\"op\":\"alloc\",\"id\":$i,\"size\":100,\"place\":\"pool.h:7 Pool<Node, $((i % 2))>::add\"}"
        done
        for ((i = 0; i < 4000; i++)); do ((i % 40 < 2)) || echo "{\"op\":\"free\",\"id\":$i}"; done
    } >a.jsonl
    ok "$TAPOOL" why a.jsonl --malloc glibc --at end
    matches "$out" ' pool\.h:7 Pool<Node, 0>:'
    matches "$out" ' pool\.h:7 Pool<Node, 1>:'
}

@test "where no memory is free at any moment the last one is shown" {
    for ((i = 1; i <= 100; i++)); do echo "{\"op\":\"alloc\",\"id\":$i,\"size\":4000}"; done >events
    { echo '{"format":"tapool-trace","version":1}' && cat events; } >a.jsonl
    ok "$TAPOOL" why a.jsonl --malloc glibc --try-time 0
    matches "$out" '^At the end +event 100 of 100'
}

@test "the picture of the map has what the JSON says, and stands by itself" {
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --try-time 0 --export-svg map.svg --export-json why.json
    python3 "$CLI/svg_pages_check.py" map.svg why.json
    sed 's/v-\([0-9]\)/v-2\1/' map.svg >bad.svg
    not python3 "$CLI/svg_pages_check.py" bad.svg why.json 2>/dev/null
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc arena --try-time 0 --format svg --svg-theme dark
    matches "$out" '^<svg xmlns'
    refused 2 'svg takes a host trace' "$TAPOOL" why "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" --export-svg no.svg
    [ ! -e no.svg ]
}

@test "what is no host trace, no malloc or no event" {
    local trace=$TAPOOL_ROOT/traces/samples/sqlite.json
    refused 2 nothing "$TAPOOL" why "$trace" --malloc nothing
    refused 2 'there is no event 99999999' "$TAPOOL" why "$trace" --at 99999999
    refused 2 'oom does not apply to host traces' "$TAPOOL" why "$trace" --at oom
    refused 2 'conf does not apply to host traces' "$TAPOOL" why "$trace" --conf expandable_segments:True
    refused 2 'does not apply to host traces' "$TAPOOL" why "$trace" --format folded
    refused 2 'malloc takes a host trace' "$TAPOOL" why "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" --malloc glibc
}

@test "pages that cannot be kept are no answer: a file system that is full" {
    recorded_survivors
    small_files() { (ulimit -f 20000; "$@"); } # the program has half of it
    refused 4 'not known at each moment' small_files "$TAPOOL" why a.tpt --malloc glibc --at end --try-time 0
}
