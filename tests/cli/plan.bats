#!/usr/bin/env bats
# tapool plan, and the strategy planned that follows what it writes.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# steps COUNT [LINE...]: so many steps of two streams, without marks, behind a block that stays. A further line stands at
# the end of each step.
steps() {
    local count=$1 i
    shift
    echo '{"format": "tapool-trace", "version": 1, "streams": [{"id": 0, "device": 0}, {"id": 1, "device": 0}], "meta": {"kind": "device"}}'
    echo '{"op": "alloc", "id": 1, "size": 5000000}'
    for ((i = 10; i < 10 + 10 * count; i += 10)); do
        echo "{\"op\": \"alloc\", \"id\": $((i + 1)), \"size\": 4194304}"
        echo "{\"op\": \"alloc\", \"id\": $((i + 2)), \"size\": 2097152, \"stream\": 1}"
        echo "{\"op\": \"free\", \"id\": $((i + 1))}"
        echo "{\"op\": \"alloc\", \"id\": $((i + 3)), \"size\": 3145728}"
        echo "{\"op\": \"free\", \"id\": $((i + 2)), \"stream\": 1}"
        echo "{\"op\": \"free\", \"id\": $((i + 3))}"
        printf '%s\n' "$@"
    done
}

followed() { "$TAPOOL" replay "$1" -s "planned:plan=$2" --json |
    python3 -c 'import json, sys; p = json.load(sys.stdin)["runs"][0]["plan"]; print(p["followed"], p["deviated"])'; }

@test "steps without marks have the period of the requests, and each stream a part of the pool" {
    steps 3 >three.jsonl
    ok "$TAPOOL" plan three.jsonl -o three.plan
    matches "$out" '^three.plan: step 2 of 3 \(events 8 to 13\), by the period of the requests$'
    matches "$out" '3 requests: 3 planned in a pool of 6 MiB \(lower bound 6 MiB\), 0 \(0 B\) kept beyond'
    grep -v '^#' three.plan | diff - <(printf '%s\n' "tapool plan 1" "stream 0 4194304" "stream 1 2097152" \
        "requests 3" "0 4194304 256 3 0" "1 2097152 256 4 0" "0 3145728 256 4 0")
    # the block in front is in no step, and two requests pass until the place is known
    [ "$(followed three.jsonl three.plan)" = "7 3" ]
    refused 2 "^tapool: there is no step 4, the last is 3$" "$TAPOOL" plan three.jsonl --step 4 -o x.plan
    refused 2 '^tapool: plan needs a file to write$' "$TAPOOL" plan three.jsonl
}

@test "with a mark, the next step follows the plan of the one before, and its peak is pool and persistent blocks" {
    ok "$TAPOOL" plan sample:training-step -o step.plan --json
    first=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))["next"]; print(d["first_event"])' "$out")
    last=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))["next"]; print(d["last_event"])' "$out")
    pool=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pool_bytes"])' "$out")
    ok "$TAPOOL" convert sample:training-step --from "$first:$last" -o next.tpt
    [ "$(followed next.tpt step.plan)" = "1128 0" ]
    ok "$TAPOOL" convert sample:training-step --from "$((last + 1)):$((last + 1))" -o kept.tpt
    peak() { "$TAPOOL" replay "$@" --json | sed -nE 's/.*"peak_reserved_bytes":[^0-9]*([0-9]+).*/\1/p' | head -1; }
    [ "$(peak next.tpt -s planned:plan=step.plan)" -eq "$(((pool + 2097151) / 2097152 * 2097152 + $(peak kept.tpt -s planned:plan=step.plan)))" ]
    ok "$TAPOOL" replay next.tpt -s planned:plan=step.plan
    matches "$out" '1,128 of 1,128 requests followed the plan \(100.0% of bytes\)'
    ok "$TAPOOL" replay next.tpt -s planned:plan=step.plan --verify
}

@test "a mark can be named, and blocks that are freed beyond the step are kept" {
    steps 2 '{"op": "mark", "name": "end 1"}' >two.jsonl
    ok "$TAPOOL" plan two.jsonl --mark 'end 7' --step 1 -o two.plan
    matches "$out" '^two.plan: step 1 of 2 \(events 8 to 14\), by the mark end 1$'
    grep -qx 'mark end 1' two.plan
    refused 3 "^tapool: no mark 'start' begins a step$" "$TAPOOL" plan two.jsonl --mark start -o x.plan
    refused 2 "the trace has no phase 'end 1'" "$TAPOOL" replay <(steps 2) -s planned:plan=two.plan
}

@test "traces without steps, several devices, and files that are no plan" {
    head -3 <(steps 1) >one.jsonl
    refused 3 'no steps: no mark comes twice' "$TAPOOL" plan one.jsonl -o x.plan
    refused 2 '^tapool: plan takes one trace$' "$TAPOOL" plan -o x.plan
    refused 3 "one.jsonl:1: not a plan: the first line is not 'tapool plan 1'" "$TAPOOL" replay one.jsonl -s planned:plan=one.jsonl
    refused 3 "none.plan: No such file" "$TAPOOL" replay one.jsonl -s planned:plan=none.plan
    device_trace >two.jsonl
    sed -i 's/"id": 7, "device": 0/"id": 7, "device": 1/' two.jsonl
    refused 2 "has 2 devices, a plan is of one" "$TAPOOL" plan two.jsonl -o x.plan
    [ ! -e x.plan ]
}

@test "without a plan it is torch" {
    ok "$TAPOOL" replay sample:training-step --limit 20000 -s planned -s torch --json
    is "$out" 'len({(r["memory"]["peak_reserved_bytes"], r["driver_calls"]["get"]) for r in d["runs"]})' 1
}

@test "it is to be compared with the allocator of the recording" {
    ok "$TAPOOL" plan sample:training-step -o torch.plan
    matches "$out" '^Next: tapool replay TRACE -s planned:plan=torch.plan -s torch$'
    python3 "$CLI/xplane.py" steps 4 steps.xplane.pb
    ok "$TAPOOL" plan steps.xplane.pb -o bfc.plan
    matches "$out" '^Next: tapool replay TRACE -s planned:plan=bfc.plan -s bfc$'
}

@test "the referee replays the next step: peak over the best packing, driver calls, what followed" {
    steps 4 >four.jsonl
    head -3 four.jsonl >one.jsonl
    ok "$TAPOOL_ROOT/scripts/referee.sh" four.jsonl one.jsonl
    matches "$out" '^\| four \| period, 3 \| 10.8 MiB \| 10.8 MiB \| .* \| [0-9.]+x, 1 \| .* \| 100.0%, 100.0% \|$'
    matches "$out" '^    planned: 0; [0-9.]+x$'
    matches "$out" '^without two steps: one$'
}
