#!/usr/bin/env bats
# tapool compare: strategies measured in turn, and results that are stored. Rounds are few and short: what
# is tested here is what is said, not the times.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

SCHEMA=$TAPOOL_ROOT/cmd/compare/compare.schema.json
RESULTS=$TAPOOL_ROOT/tests/data/results

compare() { "$TAPOOL" compare --rounds 2 --min-time 0 "$@"; }

# What varies: the core, the time that it took, and that a build is no release.
masked() { sed -E 's/core [0-9]+/core N/; s/(seed [0-9]+, ).*/\1N/'; }

same_screen() { # NAME CMD...
    local name=$1
    shift
    ok "$@" || return 1
    masked <"$out" >"$SCRATCH/masked"
    golden "$name" <"$SCRATCH/masked" || return 1
    tool width 100 <"$out"
}

nothing_left() { # FOLDER
    [ -z "$(ls -A "$1")" ] || fail "left behind:" "$(ls -A "$1")"
}

small_trace() {
    trace '{"op":"alloc","id":1,"size":1000}' '{"op":"alloc","id":2,"size":50000}' \
        '{"op":"free","id":1}' '{"op":"free","id":2}'
}

@test "help" {
    ok "$TAPOOL" compare --help
    matches "$out" 'interleaved runs'
}

@test "live: the table of exact metrics, the same on every machine" {
    mkdir tmp
    export TMPDIR=$PWD/tmp
    same_screen compare-live compare sample:sqlite -s arena -s small=arena:arena_size=1MiB -s lru \
        --metric peak_reserved --metric driver_calls.get --metric hit_rate --seed 7
    nothing_left tmp
    device_trace >gpu.trace
    fitting compare gpu.trace -s lru -s direct -s arena --metric peak_reserved --metric min_capacity --base lru --sort min_capacity
    sed -n 's/  */ /g; /^ lru [0-9]/,/^$/p' "$out" | diff - <(printf '%s\n' ' lru 48 MiB base 24 MiB base' \
        ' direct 24 MiB -50.0% 24 MiB same' ' arena 48 MiB same 28 MiB +16.7%' '')
    matches "$out" '^Pick lru: the only strategy here that respects streams, references excluded$'
    matches "$out" '^! unsafe-reuse  arena ignores streams'
}

@test "live: times have intervals, bases and marks; what the test cannot show is said" {
    ok compare sample:sqlite -s arena -s bump --base bump
    matches "$out" '^  arena +[0-9.]+ [KM]iB .*(same|%) +[0-9.,]+ \[[0-9.,]+, [0-9.,]+\]'
    matches "$out" '^  bump .* base .* base'
    matches "$out" '2 rounds are too few for (1 test|2 tests): p'
    matches "$out" '^2 rounds +in random order, each in a fresh process.*, seed 1, '
}

@test "live: several devices are one run: what is unsafe, whose time is its own, what is reused" {
    printf '%s\n' '{"format":"tapool-trace","version":1,"meta":{"kind":"device","name":"two"},"streams":[{"id":0,"device":0},{"id":1,"device":1},{"id":2,"device":1}]}' >two.jsonl
    # the first device reuses nothing, the second nearly all, from one stream to the other
    printf '{"op":"alloc","id":%d,"size":4194304,"stream":0}\n' 1 2 >>two.jsonl
    for i in $(seq 100 160); do
        printf '{"op":"alloc","id":%d,"size":4194304,"stream":%d}\n{"op":"free","id":%d}\n' "$i" $((1 + i % 2)) "$i"
    done >>two.jsonl
    ok compare two.jsonl -s arena -s lru --source virtual --metric hit_rate --metric ns_per_op
    matches "$out" '^  arena +95.2% +base +[0-9]' # a time, and not (a)
    matches "$out" '^Pick lru: the only strategy here that respects streams$'
    ok replay_once two.jsonl -s arena -s lru --source virtual --fail-on 'hit_rate<50%'
    matches "$out" '^Pick lru: the only strategy here that respects streams$'
    capture replay_once two.jsonl -s arena -s lru --source virtual --fail-on 'hit_rate<99%'
    [ "$rc" -eq 1 ]
    matches "$err" "hit_rate<99%: 'arena' has 95.2% on two; so does 1 more"
}

@test "live: stdin, a condition that is met" {
    small_trace >a.trace
    capture compare - -s arena -s direct --metric peak_reserved --fail-on 'peak_reserved<-10%' <a.trace
    [ "$rc" -eq 1 ]
    matches "$out" '^stdin '
    matches "$err" '^tapool: peak_reserved<-10%: stdin, direct: .* vs .* of arena, -[0-9.]+%'
    capture compare a.trace -s arena -s bump --capacity 8KiB --source virtual --fail-on oom
    [ "$rc" -eq 1 ]
    matches "$out" 'OUT OF MEMORY'
    matches "$err" '^tapool: oom: '
}

# bats test_tags=nightly
@test "JSON of both kinds follows its schema; CSV has a line for each value" {
    needs_jsonschema
    device_trace >b.trace
    ok compare b.trace -s arena -s bump --export-json live.json --format csv
    [ "$(tail -n +2 "$out" | awk -F, '{print NF}' | sort -u)" = 16 ]
    [ "$(tail -n +2 "$out" | wc -l)" -eq 8 ] # 2 strategies, 4 metrics
    refused 2 'exists' compare b.trace -s arena -s bump --export-json live.json
    ok "$TAPOOL" compare "$RESULTS/old.json" "$RESULTS/new.json" --json
    cp "$out" stored.json
    ok compare sample:sqlite -s system -s arena --limit 100 --json
    cp "$out" served.json
    schema shape "$SCHEMA"
    schema shared "$TAPOOL_ROOT/cmd/results/result.schema.json" "$SCHEMA"
    schema valid "$SCHEMA" live.json stored.json served.json
    schema covered "$SCHEMA" live.json stored.json served.json
    schema mutants "$SCHEMA" stored.json
    python3 - <<'END'
import json
live, stored = json.load(open("live.json")), json.load(open("stored.json"))
marks = lambda d, m: {r["metrics"][m]["mark"] for t in d["tables"] for r in t["rows"]}
assert live["mode"] == "live" and live["rounds"] == 2 and len(live["tables"]) == 1
assert marks(stored, "peak_reserved") == {"base", "exact"}
assert marks(stored, "ns_per_op") == {"base", "untested"}, marks(stored, "ns_per_op")
assert all(c["p"] is None for t in stored["tables"] for r in t["rows"] for c in r["metrics"].values())
END
}

@test "stored: one file, two files, Markdown; to the letter" {
    cd "$RESULTS"
    same_screen compare-one-file "$TAPOOL" compare old.json
    same_screen compare-two-files "$TAPOOL" compare old.json new.json
    same_screen compare-markdown "$TAPOOL" compare new.json old.json --base old.json --sort name --format markdown
    ok "$TAPOOL" compare old.json --base bump --metric ns_per_op
    matches "$out" '^  arena .*\(\+3[0-9.]+%\)'
    # no step of the clock limits means and whole replays; it does percentiles
    ok "$TAPOOL" compare old.json new.json --metric cold_ns_per_op --metric alloc.mean --metric alloc.p50
    matches "$out" '^  arena \(new.json\) +17.3 +\(\+3.0%\) +5.19 +\(\+3.0%\) +<=10 +- *$'
    # a warning names the files only where not all of them have it
    sed '/"name":"jq"/s/"id":"small-trace"/"id":"other"/' new.json >"$SCRATCH/other.json"
    ok "$TAPOOL" compare old.json "$SCRATCH/other.json" --metric peak_reserved
    matches "$out" 'Also: arena \(.*old.json\), jq\.'
    # an option that is there and called so is no option that is not there
    sed 's/"arena_size":"[^"]*"/"arena_size":"not there"/' new.json >"$SCRATCH/there.json"
    sed 's/"arena_size":"[^"]*"/"size_of_arena":"not there"/' new.json >"$SCRATCH/none.json"
    ok "$TAPOOL" compare "$SCRATCH/there.json" "$SCRATCH/none.json" --metric peak_reserved
    matches "$out" '^note +arena: option arena_size is not there and not there'
    matches "$out" '^note +arena: option size_of_arena is not there and not there'
    # heads of one line stand in one line
    ok "$TAPOOL" compare old.json --metric overhead --metric hit_rate
    lacks "$out" '^ +$'
    capture "$TAPOOL" compare old.json new.json --fail-on 'peak_reserved>+100%' --metric peak_reserved
    [ "$rc" -eq 1 ]
    matches "$err" 'peak_reserved>\+100%: sqlite, arena \(new.json\): 3.938 MiB vs 1.938 MiB of arena \(old.json\), \+103.2%; 1 more'
}

@test "stored: a note says which parts make resident memory differ, at each moment, and of two files only" {
    cp "$TAPOOL_ROOT/tests/fuzz/corpus/stored/whole-one-device.json" a.json
    python3 - <<'END'
import json
for name, own in ("b", 65536), ("c", 65537), ("d", 1 << 21):
    result = json.load(open("a.json"))
    resident = result["runs"][0]["resident"]
    resident["end_bytes"] += 1 << 20
    resident["end_pages_free_pages_bytes"] += 1100000
    resident["end_pages_own_bytes"] += own
    resident["at_peak_bytes"] += 65536 # which is none
    resident["at_peak_pages_partly_free_bytes"] += 90000
    json.dump(result, open(name + ".json", "w"))
END
    ok "$TAPOOL" compare a.json b.json
    matches "$out" '^note +gpu, [^,]+: end_resident \+1 MiB in b.json: free pages \+1.049 MiB$'
    lacks "$out" 'resident_at_peak'
    ok "$TAPOOL" compare b.json a.json --format json
    is "$out" '[n for n in d["notes"] if "end_resident" in n][0].split(": ", 1)[1]' \
        'end_resident -1 MiB in a.json: free pages -1.049 MiB'
    ok "$TAPOOL" compare a.json d.json --metric end_own
    matches "$out" 'free pages \+1.049 MiB, never part of a$'
    ok "$TAPOOL" compare c.json b.json
    lacks "$out" 'end_resident'
    # the change of a part by 64 KiB is none
    ok "$TAPOOL" compare a.json b.json --fail-on 'end_own>+5%'
    capture "$TAPOOL" compare a.json c.json --fail-on 'end_own>+5%'
    [ "$rc" = 1 ]
    matches "$err" '^tapool: end_own>\+5%: gpu, '
}

@test "-v: all metrics that there are, in tables below each other, at 80 columns as at 100" {
    cd "$RESULTS"
    fitting "$TAPOOL" compare old.json new.json -v
    # what a terminal holds at once: under 4 KiB
    ok tool fits 80 "$TAPOOL" compare old.json new.json -v --metric peak_reserved --metric ns_per_op \
        --metric alloc.mean --metric internal_fragmentation --metric alloc.p99
    ok tool pty 80 "$TAPOOL" compare old.json new.json -v --metric peak_reserved --metric ns_per_op \
        --metric alloc.mean --metric internal_fragmentation --metric alloc.p99
    golden compare-verbose-80 <"$out"
    # what was named is all there is to show
    ok "$TAPOOL" compare old.json -v --metric overhead --metric hit_rate
    lacks "$out" 'reserved|hidden'
    ok "$TAPOOL" compare old.json -v --format csv
    [ "$(cut -d, -f5 "$out" | sort -u | wc -l)" -gt 40 ]
}

@test "what cannot be compared is refused, with what differs" {
    sed 's/"latency_scope":"strategy_and_source"/"latency_scope":"strategy"/g' "$RESULTS/old.json" >scope.json
    sed 's/"program_hash":"..../"program_hash":"0000/' "$RESULTS/old.json" >hash.json
    sed 's/"name":"host"/"name":"virtual"/g' "$RESULTS/old.json" >source.json
    sed 's/"libc":"[^"]*"/"libc":"musl 1"/; s/"arch":"[^"]*"/"arch":"arm64"/' "$RESULTS/old.json" >machine.json
    refused 3 "their times hold 'strategy_and_source' and 'strategy'" "$TAPOOL" compare "$RESULTS/old.json" scope.json
    refused 3 'replayed different programs: .* with 3,000 events' "$TAPOOL" compare "$RESULTS/old.json" hash.json
    refused 3 'nothing is in both: .* on host, .* on virtual' "$TAPOOL" compare "$RESULTS/old.json" source.json
    matches "$err" '^hint: .*: replay both on the same --source$'
    sed 's/"label":"/"label":"other-/g' "$RESULTS/old.json" >label.json
    refused 3 'nothing is in both: .* sqlite by arena .* sqlite by other-arena' "$TAPOOL" compare "$RESULTS/old.json" label.json
    matches "$err" '^hint: .*: -s LABEL=NAME gives a label$'
    sed 's/"name":"\(sqlite\|jq\)"/"name":"other"/g' "$RESULTS/old.json" >other.json
    refused 3 'nothing is in both' "$TAPOOL" compare "$RESULTS/old.json" other.json
    matches "$err" '^hint: .*by trace, label and source$'
    refused 3 'one strategy per trace' "$TAPOOL" compare "$TAPOOL_ROOT/tests/fuzz/corpus/stored/one-host-run.json"
    ok "$TAPOOL" compare "$RESULTS/old.json" machine.json
    matches "$out" 'x86_64 and arm64'
}

@test "stored results of a real allocator lack nothing" {
    replay_once sample:sqlite -s system --json >system.json
    ok "$TAPOOL" compare system.json system.json
    lacks "$out" 'older tapool'
}

@test "results of other settings, and of older tapools" {
    small_trace >a.trace
    ok replay_once a.trace -s bump --source virtual+limit:capacity=8KiB --json
    cp "$out" a.json
    ok replay_once a.trace -s bump --source virtual+limit:capacity=8KiB --on-oom stop --repeat 2 --json
    cp "$out" b.json
    ok "$TAPOOL" compare a.json b.json
    matches "$out" '^note +a.json and b.json were not replayed alike: --repeat 1 and 2, --on-oom continue and'
    ok "$TAPOOL" compare a.json a.json
    lacks "$out" '^note'
    # a figure and a setting that an older tapool did not have, and one that a newer one will have
    grep -vE '"(on_oom|peak_carved_bytes)":' a.json | sed 's/"peak_metadata_bytes"/"a_new_one": 1, &/' >c.json
    ok "$TAPOOL" compare a.json c.json --metric peak_carved
    matches "$out" '^note +c.json: by an older tapool, which did not write peak_carved, --on-oom$'
    [ "$(grep -c 'older tapool' "$out")" -eq 1 ]
    matches "$out" '^  bump \(c.json\) +- '
    # the same trace, read otherwise, is another program: said by what it was read with
    ok replay_once a.trace -s bump --source virtual+limit:capacity=8KiB --limit 2 --json
    cp "$out" d.json
    refused 3 'replayed different programs' "$TAPOOL" compare a.json d.json
    matches "$err" '^hint: they were read with --limit 0 and 2$'
}

@test "a capacity is a setting: with and without it is the same device" {
    device_trace >a.trace
    ok replay_once a.trace -s arena -s direct --json
    cp "$out" free.json
    ok replay_once a.trace -s arena -s direct --capacity 1GiB --json
    cp "$out" limited.json
    ok "$TAPOOL" compare free.json limited.json
    matches "$out" '^note +free.json and limited.json were not replayed alike: --capacity not given and 1GiB$'
    lacks "$out" 'is in .* alone|limit.capacity'
    matches "$out" '^  direct \(limited.json\) '
    # of one label on both, each finds the one that it was replayed like
    python3 - <<'END'
import json
free, limited = json.load(open("free.json")), json.load(open("limited.json"))
both = dict(free, runs=[limited["runs"][0], free["runs"][0]])
json.dump(both, open("both.json", "w"))
END
    ok "$TAPOOL" compare both.json free.json --metric peak_reserved
    lacks "$out" '--capacity'
    matches "$out" '^note +gpu by arena on virtual\+limit is in both.json only$'
}

@test "what a result of today lacks of what compare reads: nothing, whatever was replayed" {
    local passes
    device_trace >a.trace
    captured_trace >b.trace
    for passes in usage usage,fits throughput latency count usage,throughput,latency,fits,verify,count; do
        ok replay_once a.trace b.trace -s direct --passes "$passes" --json
        cp "$out" "$passes.json"
        ok "$TAPOOL" compare "$passes.json" "$passes.json"
        lacks "$out" '^note'
    done
    # what is said to have been replayed and is not there, and a figure that others are shares of
    sed 's/"latency":/"late":/; s/"allocations":/"allocated":/' usage,throughput,latency,fits,verify,count.json >less.json
    ok "$TAPOOL" compare less.json less.json
    tr -s '\n ' ' ' <"$out" >joined.txt
    matches joined.txt 'less.json: by an older tapool, which did not write latency, driver_calls.allocations '
}

@test "results that are none: another schema, cut, no numbers" {
    head -c 5000 "$RESULTS/old.json" >cut.json
    sed 's/"peak_reserved_bytes":[0-9]*/"peak_reserved_bytes":NaN/' "$RESULTS/old.json" >nan.json
    sed 's/"peak_reserved_bytes":[0-9]*/"peak_reserved_bytes":1e999/' "$RESULTS/old.json" >huge.json
    sed 's#tapool.result/2#tapool.result/1#' "$RESULTS/old.json" >next.json
    refused 3 'cut.json is cut off: it ends after 5000 bytes' "$TAPOOL" compare cut.json
    refused 3 "nan.json: byte [0-9]+: 'NaN' is not a JSON number" "$TAPOOL" compare nan.json
    refused 3 'runs\[0\].memory.peak_reserved_bytes is beyond all numbers' "$TAPOOL" compare huge.json
    refused 3 "is 'tapool.result/1'; this tapool reads 'tapool.result/2'" "$TAPOOL" compare next.json
}

@test "usage: contradictions and names that are none" {
    small_trace >a.trace
    refused 2 'needs a trace' "$TAPOOL" compare
    refused 2 'stored result and .* a trace' "$TAPOOL" compare "$RESULTS/old.json" a.trace
    refused 2 '--strategy goes with traces' "$TAPOOL" compare "$RESULTS/old.json" -s arena
    refused 2 '--json and --format csv exclude each other' "$TAPOOL" compare "$RESULTS/old.json" --json --format csv
    refused 2 '--rounds goes with traces' "$TAPOOL" compare "$RESULTS/old.json" --rounds 3
    refused 2 'is not one of the files' "$TAPOOL" compare "$RESULTS/old.json" "$RESULTS/new.json" --base lru
    matches "$err" '^hint: .*--base .*/old.json'
    refused 2 "'instructions' is not measured by compare" compare a.trace -s arena -s bump --fail-on 'instructions>+1%'
    refused 2 '--export-json needs a file' compare a.trace -s arena -s bump --export-json -
    [ ! -e ./- ]
    refused 2 'one strategy: nothing to compare' compare a.trace -s arena
    refused 2 "unknown strategy 'aerna'" compare a.trace -s aerna -s bump
    refused 2 "unknown metric 'peak'" compare a.trace -s arena -s bump --metric peak
    refused 2 "unknown metric 'peak_reservd'" compare a.trace -s arena -s bump --fail-on 'peak_reservd>1'
    refused 2 "did you mean 'bump'" compare a.trace -s arena -s bump --base bunp
    refused 2 'can hold for no stored result' "$TAPOOL" compare "$RESULTS/old.json" --fail-on 'ns_per_op>+5%'
    refused 2 "nothing here has 'min_capacity'" sh -c "'$TAPOOL' compare '$RESULTS/old.json' --fail-on 'min_capacity>1' >/dev/null"
    refused 2 "option 'rounds'" "$TAPOOL" compare a.trace --rounds 1
    refused 3 'none.json' compare none.json -s arena -s bump
}

@test "results from pipes, missing and empty ones; a configuration for traces is no obstacle" {
    : >empty.json
    ok "$TAPOOL" compare <(cat "$RESULTS/old.json") "$RESULTS/new.json"
    matches "$out" 'arena .*new.json'
    ok "$TAPOOL" compare - "$RESULTS/new.json" <"$RESULTS/old.json"
    refused 3 '^tapool: none.json cannot be opened' "$TAPOOL" compare "$RESULTS/old.json" none.json
    refused 3 '^tapool: empty.json is empty' "$TAPOOL" compare empty.json "$RESULTS/old.json"
    printf '[compare]\nstrategy = arena\nrounds = 5\n' >.tapool.ini
    ok "$TAPOOL" compare "$RESULTS/old.json"
    TAPOOL_STRATEGY='arena lru' ok "$TAPOOL" compare "$RESULTS/old.json" "$RESULTS/new.json"
}

@test "stored: folders that all files are in are left out of tables; names call nobody" {
    local long=a/folder/whose/name/is/as/long/as/those/of/artefacts/of/a/pipeline/often/are
    mkdir -p "$long/base" "$long/new"
    cp "$RESULTS/old.json" "$long/base/result.json"
    cp "$RESULTS/new.json" "$long/new/result.json"
    cp "$RESULTS/new.json" '@you#12.json'
    ok "$TAPOOL" compare "$long/base/result.json" "$long/new/result.json"
    tool width 100 <"$out"
    matches "$out" '^  arena \(base/result.json\) '
    matches "$out" '^a/folder/.*/base/result.json'
    ok "$TAPOOL" compare "$long/base/result.json" "$long/new/result.json" --json
    grep -q "\"file\":.*$long/base/result.json" "$out"
    ok "$TAPOOL" compare "$RESULTS/old.json" @you#12.json --format markdown
    lacks "$out" '@you'
    # in CSV nothing is cut
    sed "s/\"label\":\"arena/&-$(printf '%0200d' 7)/" "$RESULTS/old.json" >wide.json
    ok "$TAPOOL" compare wide.json --format csv --metric peak_reserved
    [ "$(cut -d, -f2,10 "$out" | grep -cE '^(lru|bump),arena-0{199}7$')" -eq 4 ]
    sed -i "/\"name\":\"lru\"/{s/\"label\":\"lru/\"label\":\"arena-$(printf '%0200d' 7)/; s/\"name\":\"host\"/\"name\":\"virtual\"/}" wide.json
    ok "$TAPOOL" compare wide.json --format csv --metric peak_reserved
    [ "$(cut -d, -f2 "$out" | grep -cE '^arena-0{199}7 on virtual$')" -eq 2 ]
}

@test "interrupted or killed: the signal's code, nothing on stdout, nothing left behind" {
    mkdir tmp
    small_trace >a.trace
    for signal in TERM KILL; do
        TMPDIR=$PWD/tmp "$TAPOOL" compare a.trace -s arena -s bump --rounds 1000 --min-time 100ms >stdout 2>stderr &
        local pid=$! code=0
        writes_in "$pid" "$PWD/tmp"
        kill -s "$signal" "$pid"
        wait "$pid" || code=$?
        [ "$code" -eq $((128 + $(kill -l "$signal"))) ]
        [ ! -s stdout ]
        nothing_left tmp
    done
}

@test "replay --fail-on: values, and no changes" {
    capture replay_once sample:sqlite -s arena --fail-on 'peak_reserved>300KiB' --fail-on oom
    [ "$rc" -eq 1 ]
    matches "$err" "^tapool: peak_reserved>300KiB: 'arena' has 480 KiB on sqlite"
    ok replay_once sample:sqlite -s arena --fail-on 'peak_reserved>8GiB' --fail-on 'failed_allocations>0'
    refused 2 'needs a base' replay_once sample:sqlite -s arena --fail-on 'peak_reserved>+2%'
}

# bats test_tags=nightly
@test "a host program calls the system, a device's the driver, in every line" {
    for source in host virtual; do
        capture compare sample:sqlite -s arena -s direct -s lru --rounds 2 --source $source -v
        [ "$rc" -eq 0 ]
        lacks "$out" '[Dd]river'
        "$TAPOOL" replay sample:sqlite -s arena --source $source --json --min-time 1ms >$source.json
        "$TAPOOL" replay sample:sqlite -s arena --source $source --json --min-time 1ms >$source-2.json
        capture "$TAPOOL" compare $source.json $source-2.json -v
        [ "$rc" -eq 0 ]
        lacks "$out" '[Dd]river'
    done
    matches "$out" 'without the system$'
}
