#!/usr/bin/env bats
# tapool verify: exit codes and what is printed. tests/unit/cmd/test_verify_snapshot.c holds the figures.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch

setup() { enter_folder; }

@test "a snapshot that agrees" {
    shown verify "$TAPOOL" verify "$DATA/complete-small.pickle"
    ok "$TAPOOL" verify "$DATA/training-step.pickle.gz"
    head -n 1 "$out" | grep -qx 'fidelity 2,162 of 2,162 addresses, 96 of 96 segments'
}

@test "a broken rule: the first difference and exit 1" {
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --mutate first-fit
    [ "$rc" -eq 1 ]
    golden verify-broken <"$out"
    grep -q 'the rules and the recording differ' "$err"
}

@test "the rules that can be broken" {
    shown verify-rules "$TAPOOL" verify --rules
    [ "$(wc -l <"$out")" -eq 15 ]
}

@test "what cannot be verified" {
    capture "$TAPOOL" verify
    [ "$rc" -eq 2 ]
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --mutate first-fi
    [ "$rc" -eq 2 ]
    grep -q "did you mean 'first-fit'?" "$err"
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --conf max_split_size:40
    [ "$rc" -eq 2 ]
    grep -q "did you mean 'max_split_size_mb'?" "$err"
    capture "$TAPOOL" verify missing.pickle
    [ "$rc" -eq 3 ]
    capture "$TAPOOL" verify "$DATA/ORIGIN.md"
    [ "$rc" -eq 3 ]
}
