#!/usr/bin/env bats
# tapool record --cuda: a program that knows what it asked of its GPUs' driver, and the recording agrees. Here on
# the simulated driver, which replays CUPTI too (tests/fake_libcuda/fake_libcuda_profiled.c); on a GPU,
# scripts/gpu-check.sh runs the same program. What is said where there is nothing to record.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

PROGRAM=${TAPOOL_GPU_PROGRAM:-$(dirname "$TAPOOL")/tests/gpu_program}

setup() {
    [ "${TAPOOL_WITH_CUPTI:-yes}" = yes ] || skip "this build has no recorder of GPUs: it needs CUPTI"
    enter_folder
    export TAPOOL_CUDA_DRIVER=$TAPOOL_PLAIN_CUDA_PATH TAPOOL_CUPTI=$TAPOOL_PLAIN_CUDA_PATH
    export TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
    unset TAPOOL_FAKE_CUDA TAPOOL_FAKE_CUPTI TAPOOL_FAKE_CUPTI_LATE CUDA_INJECTION64_PATH
}

# recording OPTION...: what is said goes into the file `said`, its lines as one.
recording() {
    capture "$TAPOOL" record --cuda "$@"
    tr '\n' ' ' <"$err" >said
}

said() { matches said "$1"; }

# agrees TRACE: what the program printed is what the trace holds, and nothing had to be repaired.
agrees() {
    [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")" || return 1
    sort "$out" >known
    ok "$TAPOOL" info "$1" --json --strict || return 1
    is "$out" 'd["trace"]["kind"], d["trace"]["repairs"], d["trace"]["capture"]' \
        "('device', {}, 'tapool record --cuda')" || return 1
    ok "$TAPOOL" convert "$1" -o facts.jsonl -f || return 1
    python3 -S -E - facts.jsonl <<'END' | sort | diff known -
import collections, json, sys
counts, live, now, peak = collections.Counter(), {}, 0, 0
with open(sys.argv[1]) as lines:
    next(lines)
    for line in lines:
        e = json.loads(line)
        counts["failed" if e.get("name") == "oom" else e["op"]] += 1
        if e["op"] == "alloc":
            live[e["id"]] = e["size"]
            now += e["size"]
        elif e["op"] == "free":
            now -= live.pop(e["id"])
        peak = max(peak, now)
for name in ("alloc", "free", "sync", "failed"):
    print(name, counts[name])
print("peak", peak)
END
}

@test "a program that knows its calls and its peak: equal, to the byte" {
    for task in now async pool threads fails ''; do
        # shellcheck disable=SC2086 # no word
        recording -o a.tpt -f -- "$PROGRAM" $task
        agrees a.tpt || fail "task '$task'"
        [ ! -e a.tpt.recording ]
    done
    said '^a\.tpt: [0-9,]+ events of [0-9]+ threads, peak [0-9.]+ MiB at event [0-9,]+;'
    matches facts.jsonl '"op": "mark", "name": "async"'
    matches facts.jsonl '"op": "trim"'
    not grep -qv 'books balance' report || fail "$(cat report)"
    for strategy in lru stream-pool cudaMallocAsync; do
        TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH ok replay_once a.tpt -s "$strategy" --source cuda
    done
}

@test "memory that goes from thread to thread has one owner at a time" {
    for _ in 1 2 3; do
        TAPOOL_FAKE_CUPTI_LATE=1 recording -o a.tpt -f -- "$PROGRAM" threads
        agrees a.tpt
    done
}

@test "memory of two devices" {
    TAPOOL_FAKE_CUDA=devices=2 recording -o a.tpt -- "$PROGRAM" two
    agrees a.tpt
    ok "$TAPOOL" info a.tpt --json
    is "$out" 'd["trace"]["devices"], d["trace"]["live_at_end"]' '(2, 0)'
}

@test "tapool itself, replaying on a device with each strategy" {
    [ -n "${TAPOOL_MALLOCS:-}" ] || skip "this tapool has a sanitizer"
    ok "$TAPOOL" gen streams --count 200 --live 32 -o s.tpt
    for strategy in direct stream-pool cudaMallocAsync; do
        recording -o a.tpt -f -- "$TAPOOL" replay s.tpt --source cuda -s "$strategy" --min-time 0 --no-fits
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
        ok "$TAPOOL" info a.tpt --json --strict
        is "$out" 'd["trace"]["kind"], d["trace"]["live_at_end"], d["trace"]["objects"] > 0' \
            "('device', 0, True)"
        lacks said 'left out'
    done
}

@test "a child that uses the GPU, when children are followed" {
    recording --follow all -o a.tpt -- sh -c "'$PROGRAM' now >known; true"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'children: 1 trace with 2[0-9]+ events'
    cp known "$out"
    agrees a.[0-9]*.tpt
    recording -o b.tpt -- sh -c "'$PROGRAM' now; true"
    said 'nothing was recorded: the program did not initialise CUDA hint: --follow all records programs it starts'
    [ ! -e b.tpt ]
}

@test "kill -9: what was done is in the recording" {
    recording -o a.tpt -- "$PROGRAM" dies
    [ "$rc" -eq 137 ]
    rc=0
    agrees a.tpt
}

@test "a program that asks for nothing, one that never comes to CUDA" {
    recording -o a.tpt -- "$PROGRAM" nothing
    [ "$rc" -eq 0 ]
    said 'nothing was recorded: the program allocated no GPU memory'
    recording -o a.tpt -- "$PROGRAM" away
    [ "$rc" -eq 0 ]
    said 'nothing was recorded: the program did not initialise CUDA'
    [ ! -e a.tpt ] && [ ! -e a.tpt.recording ]
}

@test "no CUPTI, one that is none, one that refuses: the program runs, and it is said" {
    for cupti in /no/such/libcupti.so "$TAPOOL_ROOT/README.md"; do
        TAPOOL_CUPTI=$cupti recording -o a.tpt -- "$PROGRAM" now
        [ "$rc" -eq 4 ] || fail "$rc"
        matches "$out" '^alloc 120$'
        said 'nothing was recorded: libcupti\.so was not found: TAPOOL_CUPTI=FILE names it'
    done
    TAPOOL_FAKE_CUPTI=39 recording -o a.tpt -- "$PROGRAM" now
    [ "$rc" -eq 4 ]
    matches "$out" '^alloc 120$'
    said 'nothing was recorded: CUPTI refused it, as it does while another tool profiles the program: error 39'
    [ ! -e a.tpt ] && [ ! -e a.tpt.recording ]
}

@test "another tool in the way; options that end it early" {
    CUDA_INJECTION64_PATH=/other.so refused 2 'CUDA_INJECTION64_PATH names another tool$' \
        "$TAPOOL" record --cuda -o a.tpt -- "$PROGRAM" now
    [ ! -e a.tpt.recording ]
    recording -o a.tpt --after 100 -- "$PROGRAM" now
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'frees of blocks that were there before the recording are left out: [0-9]+'
    ok "$TAPOOL" info a.tpt --strict
}

@test "without the recorder of GPUs: exit 2, and what to install" {
    mkdir bin
    cp "$TAPOOL" bin/tapool
    refused 2 '^tapool: --cuda: this tapool was built without CUPTI$' bin/tapool record --cuda -o a.tpt -- "$PROGRAM" now
    matches "$err" '^hint: install the CUDA Toolkit with CUPTI'
    [ ! -e a.tpt.recording ]
}
