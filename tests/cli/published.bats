#!/usr/bin/env bats
# Figures that others published, and what tapool computes for the same workloads.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

PUBLISHED=$TAPOOL_ROOT/tests/published
SCRIPT=$TAPOOL_ROOT/scripts/published.sh

@test "results.csv has the figures of this build" {
    capture "$SCRIPT" --check
    [ "$rc" -eq 0 ] || fail "scripts/published.sh writes results.csv again; it differs:" "$(cat "$out" "$err")"
}

@test "a figure that differs from results.csv fails the check, and is written without --check" {
    mkdir few
    cp -r "$PUBLISHED/pytorch-193400" few
    ok "$SCRIPT" few
    matches few/results.csv '^pytorch#193400,"reserved at cycle 20, MiB",2980,2980,exact,$'
    matches few/results.csv '^pytorch#193400,"max reserved without the 2 MiB, MiB",< 500,220,holds,$'
    sed -i 's/2980,21,/3000,21,/; s/< 500,101 no-guard/< 200,101 no-guard/' few/pytorch-193400/rows.csv
    capture "$SCRIPT" --check few
    [ "$rc" -eq 1 ] || fail "exit code $rc"
    matches "$out" '^\+pytorch#193400,"reserved at cycle 20, MiB",3000,2980,-0\.67%,$'
    matches "$out" '^\+pytorch#193400,"max reserved without the 2 MiB, MiB",< 200,220,exceeds,$'
    matches few/results.csv ',2980,2980,exact,$'
}
