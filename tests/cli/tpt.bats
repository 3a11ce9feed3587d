#!/usr/bin/env bats
# .tpt from the command line: converted, replayed from the file, in pipes, cut and damaged.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

setup_file() {
    "$TAPOOL" gen random-replace --count 100000 -o "$BATS_FILE_TMPDIR/long.json" >/dev/null
    "$TAPOOL" convert "$BATS_FILE_TMPDIR/long.json" -o "$BATS_FILE_TMPDIR/long.tpt" >/dev/null
}

hash_of() { grep '"program_hash"' "$1"; }

# same_program ARGUMENT...: its program has the hash in $expected.
same_program() {
    ok "$TAPOOL" info "$@" --json || return 1
    [ "$(hash_of "$out")" = "$expected" ] || fail "not $expected:" "$(hash_of "$out")"
}

@test "each sample is the same program as .tpt, in at most 6 bytes an event" {
    for sample in sqlite jq python-threads; do
        ok "$TAPOOL" info "$SAMPLES/$sample.json" --json
        expected=$(hash_of "$out")
        events=$(sed -n 's/.*"events":[^0-9]*\([0-9]*\).*/\1/p' "$out" | head -n 1)
        ok "$TAPOOL" convert "$SAMPLES/$sample.json" -o "$sample.tpt"
        same_program "$sample.tpt"
        same_program - <"$sample.tpt"
        same_program <(cat "$sample.tpt")
        [ "$(wc -c <"$sample.tpt")" -le $((6 * events)) ] || fail "$sample.tpt is too large"
        ok "$TAPOOL" convert "$sample.tpt" -o back.json -f
        same_program back.json
        ok "$TAPOOL" convert "$sample.tpt" -o again.tpt -f
        cmp "$sample.tpt" again.tpt
    done
}

@test "a reader written from the description alone finds the same program" {
    for sample in sqlite python-threads; do
        ok "$TAPOOL" convert "$SAMPLES/$sample.json" -o x.tpt -f
        ok "$TAPOOL" info x.tpt --json
        expected=$(hash_of "$out" | sed 's/.*"\([0-9a-f]*\)".*/\1/')
        ok python3 -S -E "$CLI/tpt_read.py" x.tpt
        [ "$(cat "$out")" = "$expected" ] || fail "not $expected:" "$(cat "$out")"
        ok "$TAPOOL" convert x.tpt -o piece.tpt -f --from 500:1500 # which begins with a initial_heap
        ok python3 -S -E "$CLI/tpt_read.py" piece.tpt
    done
    for specimen in everything guessed-slots empty; do
        ok python3 -S -E "$CLI/tpt_read.py" "$TAPOOL_ROOT/tests/fuzz/corpus/tpt/$specimen.tpt"
    done
}

@test "a child process replays the file itself" {
    ok "$TAPOOL" convert "$SAMPLES/jq.json" -o jq.tpt
    ok replay_once jq.tpt -s system -s arena
    ok replay_once - -s system <jq.tpt
    ok replay_once "$BATS_FILE_TMPDIR/long.tpt" -s system
}

@test "the first events of a .tpt are those of the trace" {
    ok "$TAPOOL" info "$SAMPLES/python-threads.json" --limit 1000 --json
    expected=$(hash_of "$out")
    ok "$TAPOOL" convert "$SAMPLES/python-threads.json" -o p.tpt
    same_program p.tpt --limit 1000
}

@test "a cut file is replayed up to there, and says so; --strict refuses it" {
    head -c 400000 "$BATS_FILE_TMPDIR/long.tpt" >cut.tpt
    ok "$TAPOOL" info cut.tpt
    matches "$out" 'cut at byte 400,000: the last 124,464 of 190,000 events are'
    ok replay_once cut.tpt -s system
    refused 3 '^tapool: cut.tpt: cut at byte 400,000: the last ' replay_once cut.tpt --strict -s arena
    head -c 1000 "$BATS_FILE_TMPDIR/long.tpt" >cut.tpt
    refused 3 '^tapool: cut.tpt: cut at byte 1000, before its first event$' replay_once cut.tpt
}

@test "damage is found, and named" {
    cp "$BATS_FILE_TMPDIR/long.tpt" bad.tpt
    printf '\125' | dd of=bad.tpt bs=1 seek=300000 conv=notrunc status=none
    refused 3 '^tapool: bad.tpt: block [0-9]+ \(byte [0-9]+\) is damaged: CRC-32C is 0x[0-9a-f]{8}, not 0x[0-9a-f]{8}$' \
        replay_once bad.tpt -s arena
    refused 3 '^tapool: bad.tpt: block [0-9]+ .*is damaged: CRC-32C' replay_once bad.tpt -s system
    refused 3 'is damaged: CRC-32C' "$TAPOOL" convert bad.tpt -o other.tpt
    [ ! -e other.tpt ]
}
