#!/usr/bin/env bats
# Memory profiles of TensorBoard's profiler say of a capture what the capture itself says.

# shellcheck disable=SC2154,SC2030,SC2031 # out comes from common.bash
load common

captures() { python3 "$TAPOOL_ROOT/tests/cli/xplane.py" "$@"; }
hash_of() { "$TAPOOL" info "$1" --json | sed -n 's/^.*"program_hash":[^"]*"\([0-9a-f]*\)".*/\1/p'; }

@test "a capture and its memory profile are one program" {
    for seed in 1 2 3 4 5 6; do
        captures made $seed "capture$seed.pb"
        captures profile $seed "profile$seed.json.gz"
        hash=$(hash_of "capture$seed.pb")
        [ "${#hash}" -eq 64 ] || fail "no hash of capture$seed.pb: '$hash'"
        [ "$hash" = "$(hash_of "profile$seed.json.gz")" ] || fail "seed $seed: another program"
    done
    [ "$(for seed in 1 2 3 4 5 6; do hash_of "profile$seed.json.gz"; done | sort -u | wc -l)" -eq 6 ]
}

@test "a capture and its memory profile have the same places and settings" {
    captures made 6 capture.pb
    captures profile 6 profile.json
    for file in capture.pb profile.json; do
        ok "$TAPOOL" info "$file" --json
        grep -E '"(peak_place|settings|marks)":' "$out" >"$file.said"
    done
    matches capture.pb.said 'MatMul float32\['
    diff capture.pb.said profile.json.said
}

@test "a memory profile of a part of the events: the first break is named" {
    ok "$TAPOOL" info "$TAPOOL_ROOT/tests/fuzz/corpus/memory_profile/sampled"
    matches "$out" 'do not add up at 1 event, first at event 5'
    matches "$out" '\*\.xplane\.pb of'
}
