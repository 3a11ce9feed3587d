#!/usr/bin/env bats
# Files that older versions wrote (tests/versions): what is no longer read, and all that is.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

export TAPOOL_VALGRIND=/nonexistent # baselines hold no counted instructions

# copied VERSION: its files, to be changed.
copied() { cp -r "$TAPOOL_ROOT/tests/versions/$1" . && cd "$1" || return; }
versions() { (cd "$TAPOOL_ROOT/tests/versions" && ls -d [0-9]*); }
same_figures() { python3 -S -E "$TAPOOL_ROOT/tests/versions/figures.py" "$TAPOOL" ./*.tpt ./*.jsonl | diff figures.txt - >&2; }
result() { "$TAPOOL" replay host.tpt --limit 40 -s direct -s bump --source virtual --passes usage,throughput --min-time 0 --json; }
compared() { "$TAPOOL" compare "$1" "$2" --fail-on 'peak_reserved>+0%'; }
checked() { "$TAPOOL" check --baseline baseline.json --require all-cells; }

@test "files older than 0.1.0 are refused, with the command that makes them again" {
    cd "$TAPOOL_ROOT/tests/versions/schema-1"
    refused 3 "^tapool: result.json is 'tapool.result/1'; this tapool reads 'tapool.result/2'$" "$TAPOOL" compare result.json
    matches "$err" "^hint: write it again: 'tapool replay TRACE --export-json FILE'$"
    refused 3 "^tapool: baseline.json: the schema is 'tapool.baseline/1', this tapool reads 'tapool.baseline/2'$" checked
    matches "$err" "^hint: make it again in another file: 'tapool check TRACE -s STRATEGY --baseline FILE --update'$"
}

@test "every version's traces have the figures beside them" {
    for version in $(versions); do
        (copied "$version" && same_figures)
    done
}

@test "every version's result is compared, alone and with one of this build" {
    for version in $(versions); do
        copied "$version"
        ok "$TAPOOL" compare result.json
        matches "$out" '^ *bump '
        result >new.json
        ok compared result.json new.json
        cd ..
    done
}

@test "every version's baseline passes" {
    for version in $(versions); do
        copied "$version"
        ok checked
        matches "$out" '^PASS'
        cd ..
    done
}

@test "a changed figure, result or baseline is found" {
    copied "$(versions | tail -n 1)"
    sed -i 's/^\(host.tpt bump 0 reserved\) 7/\1 8/' figures.txt
    not same_figures
    cp "$TAPOOL_ROOT/tests/versions/$(versions | tail -n 1)/figures.txt" .
    same_figures
    result | sed 's/"peak_reserved_bytes":.\([0-9]\)/"peak_reserved_bytes": 1\1/' >new.json
    capture compared result.json new.json
    [ "$rc" -eq 1 ]
    sed -i 's/"peak_reserved": 7/"peak_reserved": 6/' baseline.json
    capture checked
    [ "$rc" -eq 1 ]
    printf X | dd of=stacks.tpt bs=1 seek=400 conv=notrunc status=none
    not same_figures
}
