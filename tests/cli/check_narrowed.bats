#!/usr/bin/env bats
# What narrows a check, and who may: cells that are selected, thresholds that are moved, slowdowns that
# could not have been detected.

# shellcheck disable=SC2154 # out, err, rc and WORK come from common.bash
load common
load gate

@test "what selects cells or moves thresholds comes from the command line alone, and is said" {
    baseline
    ok check a.json -s lru --update
    sed -i '/"lru"/,$ s/"peak_allocated": [0-9]*/"peak_allocated": 1000/' tapool-baseline.json
    capture check
    [ "$rc" -eq 1 ]
    # the cell of arena is as it was; nothing but the command line may choose it
    ok check -s arena --effect 9
    matches "$out" '^PASS \(1 of 2 cells, memory and counts only\): '
    matches "$out" '^  set on the command line: --strategy arena --effect 9$'
    capture check -s arena --require all-cells --export-json c.json --export-junit c.xml --export-markdown c.md
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: --require all-cells: 1 of 2 cells of the baseline were run$'
    matches "$out" '^FAIL \(1 of 2 cells, memory and counts only\): 0 of [0-9]+ values? worse,'
    matches "$out" '^  required but not checked: all cells$'
    is c.json 'd["set_by"]' 'set on the command line: --strategy arena'
    matches c.xml 'name="set by" value="set on the command line: --strategy arena"'
    matches c.md '^Set on the command line: '
    ok check -s arena --require memory # of the cells that are run
    local row
    for row in STRATEGY=arena SOURCE=host EFFECT=9 ALPHA=1e-9 ALLOW_MISSING=yes BASELINE=b.json \
        BIN="$TAPOOL" BASE_BIN="$TAPOOL" BASE_STRATEGY=lru BASE_LIB=jemalloc TOLERANCE=peak_allocated=1GiB; do
        refused 2 "^tapool: TAPOOL_${row%%=*}: option '.*' decides what 'check' passes: only its command line may set it$" \
            env "TAPOOL_$row" "$TAPOOL" check
        matches "$err" "^hint: give it to 'check' as --.*, and unset the variable$"
    done
    # what is before the first section is for other commands as well, and they obey it
    unset TAPOOL_CONFIG
    printf '# ours\nstrategy = arena\n' >.tapool.ini
    refused 2 "^tapool: $PWD/.tapool.ini:2: option 'strategy' decides what 'check' passes" check
    matches "$err" "^hint: give it to 'check' as --strategy; for other commands, put it in a section such as \[replay\]$"
    GITHUB_ACTIONS=true capture check
    matches "$out" "^::error title=tapool check::.*option 'strategy' decides what"
    ok "$TAPOOL" replay a.json --min-time 0
    matches "$out" arena
    ok check -s arena
    ok "$TAPOOL" doctor --config check
    matches "$out" '^  strategy +- +default; .tapool.ini:2 is an error$'
    printf '[check]\neffect = 900%%\n' >.tapool.ini
    refused 2 "^tapool: $PWD/.tapool.ini:2: option 'effect' decides what 'check' passes" check
    refused 2 "^tapool: .tapool.ini:2: option 'effect' decides what" \
        env TAPOOL_CONFIG=.tapool.ini "$TAPOOL" check
    # what makes a check stricter may stand anywhere
    printf '[check]\nrequire = latency\n' >.tapool.ini
    capture check -s arena
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: --require latency: '
}

@test "a sensitivity that is required and not reached is exit 5" {
    baseline
    timed base 10 0.01
    timed noisy 10 0.9
    capture check --require-sensitivity 10%
    [ "$rc" -eq 5 ]
    matches "$err" '^tapool: --require-sensitivity 10%: no times were compared$'
    matches "$out" '^INCONCLUSIVE \(memory and counts only\): '
    matches "$out" '^  --require-sensitivity 10%: no times were compared$'
    ok check --bin ./base --base-bin ./base --require-sensitivity 10%
    matches "$out" '^PASS .*; 1 of 1 cell; minimum detectable slowdown [5-9]%'
    capture check --bin ./base --base-bin ./noisy --require-sensitivity 10% --export-json c.json
    [ "$rc" -eq 5 ]
    matches "$err" '^tapool: --require-sensitivity 10%: minimum detectable slowdown ([0-9]+%|not known)$'
    matches "$out" '^INCONCLUSIVE .*; minimum detectable slowdown ([0-9]+%|not known)'
    is c.json 'd["rule"]["sensitivity_required"], d["exit_code"]' '(0.1, 5)'
}
