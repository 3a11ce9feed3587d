#!/usr/bin/env bats
# Times where there are none, and that replaying ahead changes nothing. Nothing here is timed; how often a
# pass repeats is counted in test_repetitions.
load common

# mid_run INITIAL EVENT...: a recording that began when so many blocks were live.
mid_run() {
    local i initial=$1
    shift
    printf '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}\n'
    for ((i = 0; i < initial; i++)); do
        printf '{"op": "initial", "id": %d, "size": 4194304}\n' "$i"
    done
    printf '%s\n' "$@"
}

# no_zero FILE...: nothing took no time.
no_zero() {
    not grep -nE '(^|[^0-9.])0(\.0+)?( \[[^]]*\])? ns(/op| per call)|_ns_per_op": 0[,.]' "$@"
}

# has_no_time ARGUMENT...: of a replay, whose screen is then in $out, in none of its forms.
has_no_time() {
    local name
    ok "$TAPOOL" replay "$@" --export-json r.json --export-csv r.csv --export-markdown r.md \
        --export-benchfmt r.txt -f || return 1
    no_zero "$out" r.json r.md r.txt || return 1
    for name in ns_per_op ci95_low_ns_per_op ci95_high_ns_per_op cold_ns_per_op replay_overhead_ns_per_op; do
        is r.json "r['throughput']['$name']" None || return 1
    done
    is r.json "r['throughput']['replays'], r['throughput']['runs_ns_per_op'], r['latency']" '(0, [], {})' ||
        return 1
    lacks r.txt 'ns/op' || return 1
    python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    assert not any(row[name] for name in row if name.endswith("ns_per_op")), row' r.csv
}

@test "a trace without a call that could be timed has no time, in no form" {
    mid_run 20 '{"op": "mark", "name": "step"}' >none.jsonl
    has_no_time none.jsonl -s lru
    matches "$out" '^Strategy time +not measured: the trace has no call to time$'
    lacks "$out" '^Latency'
    matches "$out" '^Summary: lru, '
    has_no_time none.jsonl -s lru -s arena
    matches "$out" "^  A time of '-' was not measured: the trace has no call to time\.$"
}

@test "what a mark means is said where the mark is, and not of a column that is hidden" {
    mid_run 20 '{"op": "mark", "name": "step"}' >none.jsonl
    mid_run 1 '{"op": "alloc", "id": 7, "size": 4194304}' >one.jsonl
    local wide=a-name-that-leaves-no-room-for-the-columns-on-the-right
    ok tool pty 80 "$TAPOOL" replay none.jsonl -s lru -s "$wide=arena"
    matches "$out" ' columns hidden: -v'
    lacks "$out" 'A time of'
    ok tool pty 80 "$TAPOOL" replay one.jsonl --min-time 0 -s direct -s "$wide=arena"
    lacks "$out" '[(]a[)]|idle memory'
    ok tool pty 100 "$TAPOOL" replay none.jsonl -s lru -s arena
    matches "$out" "A time of '-' was not measured"
    # on a host times stand at the left, and something else is hidden
    ok tool pty 80 "$TAPOOL" replay sample:sqlite --min-time 0 --source virtual -s direct -s arena
    matches "$out" 'columns? hidden: -v'
    matches "$out" '^  direct .* [(]a[)] '
    matches "$out" '[(]a[)] over half of the allocations call the system'
}

@test "no call and no allocation make no line" {
    mid_run 20 '{"op": "mark", "name": "step"}' >none.jsonl
    ok "$TAPOOL" replay none.jsonl -s lru
    lacks "$out" ' driver calls?|of allocations'
    mid_run 2 '{"op": "free", "id": 0}' '{"op": "trim"}' >given.jsonl # a call, and still none
    ok "$TAPOOL" replay given.jsonl --min-time 0 -s direct
    matches "$out" '^ +1 driver call(; warm driver calls: 0)?$'
    lacks "$out" '- of|of allocations'
}

@test "compare shows no time of such a trace, stored or measured" {
    mid_run 20 '{"op": "mark", "name": "step"}' >none.jsonl
    "$TAPOOL" replay none.jsonl -s lru -s arena --json >stored.json
    ok "$TAPOOL" compare stored.json --metric ns_per_op --export-json c.json
    no_zero "$out"
    is c.json "d['tables'][0]['rows'][0]['metrics']['ns_per_op']['value']" None
    ok "$TAPOOL" compare none.jsonl -s lru -s arena --rounds 2 --metric ns_per_op --export-json c.json -f
    no_zero "$out"
    is c.json "d['tables'][0]['rows'][0]['metrics']['ns_per_op']['value']" None
}

@test "a check of such a trace holds its memory and no time" {
    mid_run 20 '{"op": "mark", "name": "step"}' >none.jsonl
    "$TAPOOL" check none.jsonl -s lru --baseline b.json --update >/dev/null
    capture "$TAPOOL" check none.jsonl --baseline b.json
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    no_zero "$out" b.json
}

@test "calls that could not take place have no time either" {
    mid_run 1 '{"op": "free", "id": 0}' >skipped.jsonl
    has_no_time skipped.jsonl -s lru --capacity 2MiB
    matches "$out" '^Strategy time +not measured: every call of the trace failed or was skipped$'
}

@test "memory and counts are the same on one core and on several" {
    local first
    first=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
    "$TAPOOL" gen streams -o streams.jsonl >/dev/null
    for trace in sample:sqlite streams.jsonl; do
        set -- "$trace" --source virtual -s arena -s lru -s direct --passes usage,fits,verify --json
        "$TAPOOL" replay "$@" >several.json
        taskset -c "$first" "$TAPOOL" replay "$@" >one.json
        query several.json "json.dumps(d['runs'])" >several
        query one.json "json.dumps(d['runs'])" >one
        is one.json "[run['passes'] for run in d['runs']]" "$(printf "['verify', 'usage', 'fits'], %.0s" 1 2 3 |
            sed 's/^/[/; s/, $/]/')"
        cmp one several
    done
}
