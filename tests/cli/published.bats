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
    cp -r "$PUBLISHED/vllm-51205" few
    ok "$SCRIPT" few
    matches few/results.csv '^vllm#51205,"reserved after 100 slabs of 4 MiB, MiB",2000,2000,exact,$'
    matches few/results.csv '^vllm#51962,"the same with the fix, 16 MiB, MiB",< 60,32,holds,$'
    sed -i 's/2000,4 100,/2500,4 100,/; s/< 60,16 100 fixed/< 30,16 100 fixed/' few/vllm-51205/rows.csv
    capture "$SCRIPT" --check few
    [ "$rc" -eq 1 ] || fail "exit code $rc"
    matches "$out" '^\+vllm#51205,"reserved after 100 slabs of 4 MiB, MiB",2500,2000,-20\.00%,$'
    matches "$out" '^\+vllm#51962,"the same with the fix, 16 MiB, MiB",< 30,32,exceeds,$'
    matches few/results.csv ',2000,2000,exact,$'
}

@test "a row of a malloc library that is not here, or of another version, is skipped and its line stays" {
    sanitized && skip "the sanitizer's malloc cannot be replaced"
    mkdir -p few/libs
    cp "$PUBLISHED/size-classes/trace.py" few/libs
    cat >few/libs/rows.csv <<'CSV'
source,quantity,published,trace,options,figure,note
mesh,"allocated for 961 bytes, bytes",1024,961,-s lib:mesh,memory.peak_allocated_bytes,measured: mesh 1.0
counts,"allocated for 961 bytes, bytes",1024,961,-s lib:COUNTS,memory.peak_allocated_bytes,measured: counts 1.0
CSV
    sed -i "s,COUNTS,${TAPOOL_MALLOCS:?}/counts.so," few/libs/rows.csv
    cat >few/results.csv <<'CSV'
source,quantity,published,tapool,difference,note
mesh,"allocated for 961 bytes, bytes",1024,1024,exact,measured: mesh 1.0
counts,"allocated for 961 bytes, bytes",1024,1024,exact,measured: counts 1.0
CSV
    cp few/results.csv before.csv
    capture "$SCRIPT" few
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    matches "$err" "^skipped: mesh, allocated for 961 bytes, bytes: .*'mesh' is not on this machine"
    matches "$err" '^skipped: counts, allocated for 961 bytes, bytes: '
    cmp few/results.csv before.csv
}

@test "the summary in README.md is that of the rows" {
    mkdir -p tree/scripts tree/tests/published
    cp "$TAPOOL_ROOT/scripts/published.py" tree/scripts
    cp "$TAPOOL_ROOT/README.md" tree
    cp -r "$PUBLISHED/vllm-51205" tree/tests/published
    summarize() { python3 tree/scripts/published.py "$TAPOOL" tree/tests/published "$@"; }
    ok summarize
    matches <(tr '\n' ' ' <tree/README.md) '\[6 figures\].* 5 agree within 1%, 2 of them exactly and 3 by staying below'
    matches <(tr '\n' ' ' <tree/README.md) 'vllm#51205, reserved after 100 slabs of 16 MiB \(-99\.20%\)\.'
    ok summarize --check
    sed -i 's/5 agree/6 agree/' tree/README.md
    capture summarize --check
    [ "$rc" -eq 1 ] || fail "exit code $rc"
    matches "$out" '^-.*6 agree within'
    sed -i 's/^## Published figures/## Figures/' tree/README.md
    capture summarize --check
    [ "$rc" -eq 1 ] || fail "exit code $rc"
    matches "$err" "^README.md has no section 'Published figures'"
}
