#!/usr/bin/env bats
# Counting instructions: what doctor says of what can count here, and that what valgrind counts in a
# replay is the same every time. Valgrinds that break are in tests/unit/cmd/test_instructions.c.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# row NAME: "verdict: value; advice" of doctor's JSON in $out.
row() {
    python3 -S -E -c 'import json, sys
c = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}[sys.argv[2]]
print("%s: %s; %s" % (c["verdict"], c["value"], c["advice"]))' "$out" "$1"
}
says() { row "$1" | grep -qE -- "$2" || fail "$1 says '$(row "$1")', not '$2'"; }

@test "doctor: TAPOOL_VALGRIND names another, or none" {
    printf '#!/bin/sh\necho valgrind-9.8.7\n' >mine
    chmod +x mine
    ok env TAPOOL_VALGRIND="$PWD/mine" "$TAPOOL" doctor --json
    says valgrind "^ok: valgrind-9\.8\.7, $PWD/mine; callgrind counts instructions; None$"
    ok env TAPOOL_VALGRIND= "$TAPOOL" doctor --json
    says valgrind '^missing: TAPOOL_VALGRIND is empty: none is used; it counts instructions'
    ok env TAPOOL_VALGRIND="$PWD/nonesuch" "$TAPOOL" doctor --json
    says valgrind '^missing: TAPOOL_VALGRIND=.*/nonesuch: No such file or directory'
    echo 'exit 1' >mine
    ok env TAPOOL_VALGRIND="$PWD/mine" "$TAPOOL" doctor --json
    says valgrind "^warning: $PWD/mine; it may not work: '$PWD/mine --tool=callgrind --version' gives no answer$"
    ok env PATH=/nonexistent "$TAPOOL" doctor --json
    says valgrind '^missing: valgrind is not in PATH \(apt install valgrind\); '
}

@test "doctor and the pass agree about the processor's counter" {
    ok "$TAPOOL" doctor --json
    counts=no
    ! row instructions | grep -q '^ok: ' || counts=yes
    [ $counts = yes ] || says instructions '^missing: no hardware counter of instructions: .*; [a-z].*'
    ok "$TAPOOL" replay sample:sqlite -s bump --passes count --json
    python3 - "$out" $counts <<'END'
import json, sys
run, = json.load(open(sys.argv[1]))["runs"]
count = run["instructions"]
if sys.argv[2] == "no":
    assert count == {"total": None, "per_op": None, "counter": None}, count
else:
    assert count["counter"] == "perf_event" and count["total"] > 10 * run["trace"]["operations"], count
    assert abs(count["per_op"] - count["total"] / run["trace"]["operations"]) < 0.001, count
END
}

# counted PADDING ARGS...: what valgrind counts in a replay, as the gate calls it.
counted() {
    local pad
    pad=$(head -c "$1" /dev/zero | tr '\0' x)
    shift
    rm -f count.*
    PAD=$pad valgrind --command-line-only=yes --tool=callgrind --quiet --log-file=log.%p --trace-children=yes \
        --collect-atstart=no --toggle-collect=tp_replay_counted --callgrind-out-file=count.%p \
        "$TAPOOL" replay "$@" --passes count --json >result.json
    cat count.* | sed -n 's/^totals: //p' | python3 -c 'import sys; print(sum(map(int, sys.stdin)))'
}

@test "valgrind counts the replay and nothing else: the same for every strategy, every time" {
    command -v valgrind >/dev/null || skip "valgrind is not installed (apt install valgrind)"
    ! sanitized || skip "a build with sanitizers does not run under valgrind"
    # one short trace, and the same with twice the events
    lines '{"op":"alloc","id":1,"size":100}' '{"op":"free","id":1}' >one.jsonl
    lines '{"op":"alloc","id":1,"size":100}' '{"op":"free","id":1}' \
        '{"op":"alloc","id":2,"size":100}' '{"op":"free","id":2}' >two.jsonl
    one=$(counted 0 one.jsonl -s bump)
    two=$(counted 1999 two.jsonl -s bump)
    [ "$one" -gt 20 ] && [ "$two" -gt "$one" ] && [ "$two" -lt 20000 ] || fail "$one, $two"
    first=$(counted 0 sample:sqlite -s arena)
    again=$(counted 1999 sample:sqlite -s arena)
    [ "$first" -eq "$again" ] || fail "$first and $again"
    [ "$first" -gt 100000 ] && [ "$first" -lt 10000000 ] || fail "$first"
}

@test "a tapool that runs under valgrind starts others of itself" {
    command -v valgrind >/dev/null || skip "valgrind is not installed (apt install valgrind)"
    ! sanitized || skip "a build with sanitizers does not run under valgrind"
    lines '{"op":"alloc","id":1,"size":100}' '{"op":"free","id":1}' >one.jsonl
    ok valgrind --tool=none --quiet "$TAPOOL" compare one.jsonl -s lru -s bump --min-time 0
    matches "$out" '^ +bump '
}
