#!/usr/bin/env bash
# usage: kill9_recording.sh [COUNT [MOST-MILLISECONDS]]
#
# Kills a recorded program with SIGKILL at COUNT random moments (default 100), and measures what is
# missing from its trace: the program counts its allocations where a kill cannot reach them. Rounds
# take turns:
#
#     program   the program is killed, and tapool record makes the trace
#     both      tapool is killed and then the program; tapool convert --recover makes the trace
#     other     the program is killed and then tapool; likewise, where tapool had not made it yet
#
# Each trace is read with --strict and replayed. Prints a line with the figures; exits 1 where an event
# is missing that was done, or one is there that was not.
#
# Environment: TAPOOL (the binary), TAPOOL_RECORDED (tests/programs/recorded_program.c, built).
set -euo pipefail
export LC_ALL=C

COUNT=${1:-100} MOST=${2:-60}
: "${TAPOOL:?is to name the binary}" "${TAPOOL_RECORDED:?is to name the program that is recorded}"
WORK=$(mktemp -d)
cd "$WORK"
trap 'rm -rf -- "$WORK"' EXIT

fail() {
    printf '%s\n' "round $round ($how): $*" >&2
    cat said >&2
    exit 1
}

# kill_now PID...: one after the other; one may have ended by then.
kill_now() {
    local pid
    for pid; do
        kill -KILL "$pid" 2>/dev/null || true
    done
}

# done_by: how many allocations the program's threads have counted.
done_by() {
    [ -s counters ] || { echo 0; return; }
    od -An -v -t u8 -w64 -N 128 counters | awk '{ sum += $1 } END { print sum }'
}

# Sizes that the program asks for are odd: what the C library asks for is not counted.
measure() {
    "$TAPOOL" info "$1" --strict >facts || fail "info --strict refuses $1"
    "$TAPOOL" replay "$1" -s bump --min-time 0 >replayed || fail "$1 is not replayed"
    "$TAPOOL" convert "$1" -o all.jsonl -f >converted
    allocs=$(grep -cE '"op": ?"alloc".*"size": ?[0-9]*[13579][,}]' all.jsonl) || true
    frees=$(grep -cE '"op": ?"free"' all.jsonl) || true
}

rounds=0 early=0 missing=0 total=0
for ((round = 1; round <= COUNT; round++)); do
    modes=(program both other) how=${modes[round % 3]}
    rm -f ./*
    "$TAPOOL" record -o a.tpt -- "$TAPOOL_RECORDED" counts counters 0 2>said &
    tapool=$!
    printf -v moment '0.%03d' $((RANDOM % MOST + 1))
    sleep "$moment"
    kill -STOP "$tapool" # it starts no program while its children are looked for
    program=$(cat "/proc/$tapool/task/$tapool/children" 2>/dev/null) || true
    # shellcheck disable=SC2086 # the list of children
    case $how in
    program) kill_now $program ;;
    both) kill_now "$tapool" $program ;;
    other) kill_now $program "$tapool" ;;
    esac
    kill -CONT "$tapool" 2>/dev/null || true
    while kill -0 "$tapool" 2>/dev/null && [ "$how" = program ]; do # perhaps it had not started it yet
        sleep 0.01
        # shellcheck disable=SC2046 # the list of children
        [ -e counters ] && [ ! -e a.tpt ] && kill_now $(cat "/proc/$tapool/task/$tapool/children")
    done 2>/dev/null
    wait "$tapool" 2>/dev/null || true
    was_done=$(done_by)
    [ -e a.tpt ] || [ ! -e a.tpt.recording ] || "$TAPOOL" convert --recover a.tpt.recording >>said 2>&1 || true
    if [ ! -e a.tpt ] && [ "$was_done" -eq 0 ]; then # it had not begun
        early=$((early + 1))
        continue
    fi
    [ -e a.tpt ] || fail "there is no trace of $was_done allocations"
    measure a.tpt
    # two threads, each perhaps between its call and its count
    [ "$allocs" -le $((was_done + 2)) ] || fail "$was_done allocations were done, and $allocs are there"
    lost=$((was_done - (allocs < frees ? allocs : frees)))
    [ "$lost" -le 0 ] || { missing=$((missing + lost)); echo "round $round ($how): $lost of $was_done are missing" >&2; }
    rounds=$((rounds + 1)) total=$((total + was_done))
done
echo "$COUNT kills, $early before the first allocation: $rounds traces of $total allocations, all read and replayed; missing: $missing"
[ "$missing" -eq 0 ] && [ "$rounds" -gt 0 ]
