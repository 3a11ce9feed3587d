#!/usr/bin/env bats
# tapool check from end to end: a baseline is made, checked, edited, damaged. What a tapool would have
# to do wrong is done by `stub` (gate.bash): a script in its place that answers what a test wants, so that no
# verdict here depends on the machine.

# shellcheck disable=SC2154 # out, err, rc and WORK come from common.bash
load common
load gate

SCHEMA=$TAPOOL_ROOT/cmd/baseline/baseline.schema.json

@test "without a baseline the command that makes one is said" {
    some_trace >a.json
    refused 2 'no tapool-baseline.json here or in a parent folder' check
    matches "$err" '^hint: to make one and commit it: tapool check traces/\*.tpt -s arena --update$'
    refused 2 "no baseline 'b.json'" check a.json --baseline b.json
    matches "$err" 'tapool check a.json -s arena --baseline b.json --update$'
    refused 2 'unknown strategy' check a.json -s aerna --update
    # commands that are said survive a shell
    refused 2 'no baseline' check 'my traces/a b.tpt' -s "it's" --baseline 'b c.json'
    matches "$err" "tapool check 'my traces/a b.tpt' -s 'it'\\\\''s' --baseline 'b c.json' --update$"
    [ ! -e tapool-baseline.json ]
}

@test "a baseline is made, follows its schema, and is found from folders below" {
    baseline --reason 'to begin with' --tolerance peak_reserved=4KiB --tolerance overhead=1%
    matches "$out" '^new +a.json, arena: [0-9]+ exact values$'
    matches "$out" '^tolerance all cells: peak_reserved 0 \(default\) -> 4 KiB$'
    matches "$out" '^tapool-baseline.json: 1 cell written, 1 new cell, 2 tolerances changed$'
    is tapool-baseline.json 'd["schema"], d["reason"], d["tolerances"]' \
        "('tapool.baseline/2', 'to begin with', {'overhead': '1%', 'peak_reserved': 4096})"
    is tapool-baseline.json 'd["cells"]["a.json"]["arena"]["host"]["trace_path"]' a.json
    mkdir -p x/y
    (
        cd x/y
        ok "$TAPOOL" check
        matches "$out" '^../../tapool-baseline.json$'
        matches "$out" '^ +1 trace x 1 strategy = 1 cell, written '
        matches "$out" '^PASS \(memory and counts only\): [0-9]+ values unchanged; 1 of 1 cell'
        ok "$TAPOOL" check ../../a.json -s arena
    )
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || continue
        "$python" "$CLI/schema_check.py" shape "$SCHEMA"
        "$python" "$CLI/schema_check.py" valid "$SCHEMA" tapool-baseline.json
        "$python" "$CLI/schema_check.py" covered "$SCHEMA" "$TAPOOL_ROOT/tests/fuzz/corpus/baseline/three-cells.json"
        break
    done
}

@test "cells are selected, added, kept; a name that selects nothing is refused" {
    sanitized && skip "dozens of checks: the plain build makes them"
    baseline
    other_trace >b.json
    ok check a.json b.json -s arena -s small=lru:capacity_blocks=3 --update
    matches "$out" '^tapool-baseline.json: 4 cells written, 3 new cells, [0-9]+ values unchanged$'
    cp tapool-baseline.json before.json
    ok check b.json
    matches "$out" '^PASS \(2 of 4 cells, memory and counts only\): .*; 2 of 4 cells'
    matches "$out" '^  set on the command line: b.json$'
    ok check -s small
    matches "$out" '2 of 4 cells'
    ok check b.json -s small --update
    matches "$out" '3 kept as they were'
    is tapool-baseline.json 'd["cells"]["b.json"]["small"]["host"]["spec"]' lru:capacity_blocks=3
    other_trace >c.json
    cp c.json 'd e.json'
    refused 2 "no cell of the trace 'd e.json'" check 'd e.json'
    matches "$err" "tapool check 'd e.json' -s STRATEGY --update$"
    refused 2 "no cell of the trace 'c.json'" check c.json
    refused 2 "no cell of the strategy 'bump'" check -s bump
    refused 2 'no selected cell' check --source virtual
    refused 2 "no cell of the strategy 'arena' that was selected" check -s arena --source virtual
    ok check b.json -s bump --update
    ok check b.json -s arena -s bump
    refused 2 "no cell of the strategy 'bump' that was selected" check a.json -s arena -s bump
    refused 2 "two cells would be called 'a.json, arena'" check a.json ./a.json -s arena --update
    other_trace >a.json
    ok check ./a.json -s arena --update
    sed -i 's/"small"/"my small"/; s/\("program_hash": "\)../\100/' tapool-baseline.json
    ok check ./a.json -s arena --update
    matches "$out" "^stale +a.json, my small: has another program: tapool check -s 'my small' --update$"
}

@test "an update says which tolerances it changes, and leaves a link a link" {
    baseline --tolerance overhead=1%
    mkdir real
    mv tapool-baseline.json real/b.json
    ln -s real/b.json tapool-baseline.json
    ok check --update --tolerance peak_reserved=1TiB --tolerance overhead=1% --tolerance instructions=9%
    matches "$out" '^tolerance all cells: peak_reserved 0 \(default\) -> 1 TiB$'
    matches "$out" "^tolerance all cells: instructions the counter's own \(default\) -> 9%$"
    lacks "$out" overhead
    matches "$out" ' unchanged, 2 tolerances changed$'
    [ -L tapool-baseline.json ]
    is real/b.json 'd["tolerances"]["peak_reserved"]' 1099511627776
    [ "$(ls -A real)" = b.json ]
    rm real/b.json
    refused 4 "'tapool-baseline.json' is a link to what cannot be written" check a.json -s arena --update
    [ -L tapool-baseline.json ]
}

@test "a regression is exit 1, a tolerance by hand lets it pass, an improvement is said" {
    baseline
    sed -i 's/"peak_allocated": [0-9]*/"peak_allocated": 1000/' tapool-baseline.json
    capture check
    [ "$rc" -eq 1 ]
    one_sentence "$err"
    matches "$err" '^tapool: regression: peak_allocated of a.json, arena$'
    matches "$out" '^REGRESSION +a.json, arena$'
    matches "$out" '^FAIL.*: 1 of [0-9]+ values worse,'
    matches "$out" 'rerun: +/[^ ]*/tapool check a.json -s arena --seed 7$'
    matches "$out" '^  peak_allocated \+[0-9,.]+% +1,000 B -> '
    sed -i 's/"touch"/"tolerances": {"peak_allocated": "9000%"},\n"touch"/' tapool-baseline.json
    ok check
    sed -i 's/"peak_allocated": [0-9]*,/"peak_allocated": 900000000,/; s/9000%/1%/' tapool-baseline.json
    ok check
    matches "$out" '^better +a.json, arena$'
    ok check --update
    matches "$out" '^changed +a.json, arena: peak_allocated 858.3 MiB -> '
    is tapool-baseline.json 'd["cells"]["a.json"]["arena"]["host"]["tolerances"]' "{'peak_allocated': '1%'}"
}

@test "a strategy that holds more memory is one regression, with what moved folded under it" {
    some_trace >a.json
    ok check a.json -s arena:arena_size=1MiB --update
    sed -i 's/"arena:arena_size=1MiB"/"arena"/' tapool-baseline.json
    ok check a.json -s arena --update
    sed -i 's/"spec": "arena"/"spec": "arena:first_range=8MiB"/; s/"first_range": "64KiB"/"first_range": "8MiB"/' tapool-baseline.json
    capture check --export-json c.json
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: regression: peak_reserved of a.json, arena$'
    matches "$out" '^  peak_reserved \+[0-9,.]+% +.* -> 8 MiB, allowed: 0$'
    matches "$out" '^    also: end_reserved \+'
    matches "$out" ', [0-9]+ more$'
    matches "$out" '^  driver_calls.get -1 +2 -> 1$'
    matches "$out" '^FAIL .*: [0-9]+ of [0-9]+ values worse, [0-9]+ better, '
    lacks "$out" 'lock it in'
    is c.json '[(c["family"], c["verdict"]) for c in d["causes"]][0]' "('memory', 'regression')"
    is c.json 'd["counts"]["regression"] > 5' True
    is c.json 'd["findings"][d["causes"][0]["findings"][0]]["metric"]' peak_reserved
    # all of it
    capture check -v
    matches "$out" '^    end_reserved +.* allowed: 0$'
    matches "$out" '^    unused_reserved +'
}

@test "an option that changed fails and is named" {
    baseline
    sed -i 's/"arena_size": "64MiB"/"arena_size": "32MiB"/; s/"touch": "first"/"touch": "all"/' tapool-baseline.json
    capture check --touch first
    [ "$rc" -eq 1 ]
    matches "$out" 'option arena_size +32MiB -> 64MiB'
    matches "$out" 'option touch +all -> first'
}

@test "a release that the recording tells is no change of an option that an older tapool left empty" {
    python3 "$CLI/rules_snapshot.py" newest >newest.pickle
    ok "$TAPOOL" check newest.pickle -s torch --update
    grep -q '"version": "2.14"' tapool-baseline.json
    sed -i 's/"version": "2.14"/"version": ""/' tapool-baseline.json
    ok "$TAPOOL" check
    sed -i 's/"version": ""/"version": "2.9"/' tapool-baseline.json
    capture "$TAPOOL" check
    [ "$rc" -eq 1 ]
    matches "$out" 'option version +2.9 -> 2.14'
}

@test "another program, a trace that is gone and damaged baselines are exit 3" {
    baseline
    cp tapool-baseline.json good.json
    other_trace >a.json
    refused 3 '[0-9a-f]{64} with 2 events, there [0-9a-f]{64} with 5' check
    matches "$err" '^hint: to accept it: tapool check a.json --update$'
    refused 3 'is another program' check --baseline tapool-baseline.json
    matches "$err" '^hint: to accept it: tapool check a.json --baseline tapool-baseline.json --update$'
    rm a.json
    refused 3 "the trace 'a.json' of tapool-baseline.json is not there" check
    refused 3 "the trace 'a.json' of tapool-baseline.json is not there" check -s lru --update
    sed 's/"trace_path": .*/"trace_path": "sample:gone"/' good.json >b.json
    refused 3 "^tapool: b.json: the cell 'a.json, arena': unknown sample 'gone'" check --baseline b.json
    capture check --allow-missing
    [ "$rc" -eq 1 ]
    matches "$err" 'nothing was checked: a.json, arena has no trace here'
    some_trace >a.json
    other_trace >b.json
    ok check b.json -s arena --update
    rm b.json
    GITHUB_ACTIONS=true ok check --allow-missing
    matches "$out" '^PASS .*1 of 2 cells'
    matches "$out" '^  1 cell not run: b.json, arena has no trace here$'
    matches "$out" '^::warning title=tapool check::1 cell not run: b.json'
    sed 's|baseline/2|baseline/1|' good.json >b.json
    refused 3 "the schema is 'tapool.baseline/1'" check --baseline b.json
    head -c 900 good.json >b.json
    refused 3 'is cut off' check --baseline b.json
    sed 's/"events": 5/"events": NaN/' good.json >b.json
    refused 3 'not a JSON' check --baseline b.json
    refused 3 'not a JSON' check --baseline b.json --update
    sed 's/"spec": "arena"/"spec": "aerna"/' good.json >b.json
    local more
    for more in '' --update '-s arena --update'; do
        # shellcheck disable=SC2086 # words
        refused 3 "^tapool: b.json: the cell 'a.json, arena': unknown strategy 'aerna'" check --baseline b.json $more
    done
    echo '{"cells": {}, "schema": "tapool.baseline/2", "version": "1", "written": ""}' >b.json
    for more in '' --update '-s arena --update'; do
        # shellcheck disable=SC2086 # words
        refused 2 '^tapool: b.json has no cells$' check --baseline b.json $more
        matches "$err" 'tapool check traces/\*.tpt -s arena --baseline b.json --update$'
    done
}

@test "a baseline names traces that are files: nothing that hangs or is gone" {
    baseline
    mkfifo pipe
    ln -s pipe link
    local path
    for path in pipe link /dev/zero .; do
        sed "s|\"trace_path\": .*|\"trace_path\": \"$path\"|" tapool-baseline.json >b.json
        refused 3 "^tapool: the trace '$path' of b.json is not a regular file$" timeout 20 "$TAPOOL" check --baseline b.json
        refused 3 "is not a regular file$" timeout 20 "$TAPOOL" check --baseline b.json --allow-missing
        refused 3 "is not a regular file$" timeout 20 "$TAPOOL" check --baseline b.json -s lru --update
    done
    # who names one on the command line means it
    ok check --baseline b.json a.json
    mkdir other
    mkfifo other/a.json
    cat a.json >other/a.json &
    ok check other/a.json
    # but not for a file that names it for later
    refused 2 "a baseline cannot name '/dev/fd/[0-9]+': it is not a regular file and can be read only once" \
        check <(cat a.json) -s arena --update --baseline c.json
    refused 2 "a baseline cannot name standard input: it can be read only once" \
        check - -s arena --update --baseline c.json <a.json
    [ ! -e c.json ]
}

@test "what is asked for wrongly is exit 2" {
    baseline
    refused 2 'exclude each other' check --base-bin "$TAPOOL" --base-strategy lru
    refused 2 'not a program that can be started' check --base-bin ./nothing
    refused 2 'not a program that can be started' check --base-bin "$WORK"
    refused 2 "option 'core' is 60000, which tapool may not run on here" check --core 60000
    refused 2 'unknown strategy' check --base-strategy aerna
    refused 2 'goes with --update' check --reason because
    refused 2 '--update and --format exclude each other' check --update --format json
    refused 2 '--update and --format exclude each other' check --update --json
    refused 2 '--aa and --base-bin exclude each other' check --aa 2 --base-bin "$TAPOOL"
    refused 2 'cannot name standard input' check - -s arena --update
    refused 2 "option 'require' is 'everything', which is none of memory, instructions, latency, all-cells" \
        check --require everything
    refused 2 'not a share above 0' check --effect 5%%
    refused 2 'it is a time' check --update --tolerance ns_per_op=5%
    refused 2 'not METRIC=VALUE' check --update --tolerance peak_reserved
    refused 2 '3 pairs are too few at alpha 0.01 and up to 7 tests' check --base-bin "$TAPOOL" --pairs 3
    matches "$err" '^hint: at least --pairs 11 are needed$'
}

@test "a class that is required and not checked is exit 1" {
    baseline
    capture check --require latency
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: --require latency: latency was not checked: needs the old build$'
    ok check --require memory
    ok "$TAPOOL" check a.json -s system --update
    capture check -s system
    [ "$rc" -eq 1 ]
    matches "$err" "nothing was checked: the memory of 'system' varies by itself"
    ok check
    matches "$out" 'vs baseline, exact; 1 varies \(system\) +1 of 2 cells'
}

@test "memory that differs between two replays is a regression until --update demotes it" {
    baseline
    stub shaky '/"peak_reserved_bytes"/ { sub(/[0-9]+,/, (n % 2 ? 137782886 : 137992601) ",") }'
    sed -i 's/"peak_reserved": [0-9]*/"peak_reserved": 137782886/' tapool-baseline.json
    capture check --bin ./shaky
    [ "$rc" -eq 1 ]
    matches "$out" 'became nondeterministic: 131.4 and 131.6 MiB in two replays'
    ok check --bin ./shaky --update
    matches "$out" '^demoted +a.json, arena: peak_reserved became nondeterministic: 131.4 and 131.6 MiB'
    is tapool-baseline.json 'd["cells"]["a.json"]["arena"]["host"]["nondeterministic"]' "['peak_reserved']"
    ok check --bin ./shaky
    matches "$out" 'vs baseline, exact; 1 value is not '
}

@test "values that the baseline does not hold are counted, and a cell without any is not checked" {
    baseline
    ok check a.json -s lru --update
    ok check
    matches "$out" 'vs baseline, exact, verified +2 of 2 cells'
    cp tapool-baseline.json full.json
    sed -i '/"peak_allocated"/d' tapool-baseline.json
    ok check
    matches "$out" 'vs baseline, exact, verified +2 of 2 cells'
    matches "$out" '^ +not in: a.json, arena and 1 more \(the baseline lacks 1 of its values\):$'
    matches "$out" '^PASS \(some memory and counts only\)'
    capture check --require memory
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: --require memory: memory and counts were not checked in every cell: a.json, arena'
    awk '/"lru"/ { skip = 1 } /"metrics"/ && skip { print "\"metrics\": {},"; drop = 1 }
        !drop { print } /}/ { if (drop) skip = drop = 0 }' full.json >tapool-baseline.json
    ok check
    matches "$out" '^ +not in: a.json, lru \(the baseline lacks [0-9]+ of its values\)'
    capture check -s lru
    [ "$rc" -eq 1 ]
    matches "$err" 'nothing was checked: the baseline has no value for it'
}

# aborted CODE REGEX CMD...: fails as refused does, but what was done until then is said, in no green.
aborted() {
    local code=$1 regex=$2
    shift 2
    capture "$@"
    [ "$rc" -eq "$code" ] || fail "exit code $rc, not $code, of: $*" "$(cat "$err")" || return 1
    one_sentence "$err" || return 1
    matches "$err" "$regex" || return 1
    matches "$out" "^ABORTED \\((some )?memory and counts only\\): 0 of [0-9]+ values? worse" || return 1
    matches "$out" " exit $code$" || return 1
    lacks "$out" PASS
}

# bats test_tags=nightly
@test "a tapool that dies, babbles or reads another program ends the check" {
    baseline
    cp tapool-baseline.json before.json
    stub odd '/"program_hash"/ { gsub(/[0-9a-f][0-9a-f]/, "ab") }'
    printf '#!/bin/sh\nkill -9 $$\n' >dead
    printf '#!/bin/sh\necho hello\n' >babble
    chmod +x dead babble
    refused 3 'reads another program' check --bin ./odd
    printf '#!/bin/sh\ncase "$*" in *usage,verify*) echo "tapool: event 3: it overlaps" >&2; exit 4 ;; esac\nexec ./same "$@"\n' >broken
    stub same ''
    chmod +x broken
    refused 4 '^tapool: a.json, arena: ./broken: event 3: it overlaps' check --bin ./broken
    refused 4 'event 3: it overlaps' check --bin ./broken --update
    refused 4 '^tapool: a.json, arena: .*was killed by signal 9' check --bin ./dead
    refused 4 'the answer of ./babble' check --bin ./babble
    refused 4 'was killed by signal 9' check --bin ./dead --update
    cmp tapool-baseline.json before.json
    stub other '{ sub(/strategy_and_source/, "strategy") }'
    aborted 3 "their times hold 'strategy' and 'strategy_and_source'" check --base-bin ./other
    aborted 4 'ended with code 1' check --base-bin /bin/false
    aborted 4 "was killed by signal 9" check --base-bin dead # a file, not looked for in PATH
    aborted 4 "was killed by signal 9" check --base-bin ./dead
    matches "$out" "^  latency +NOT CHECKED: a.json, arena: './dead' replaying 'arena' was killed by"
    # the second cell of two: the first is done, and said
    printf '#!/bin/sh\ncase "$*" in *lru*) kill -9 $$ ;; esac\nexec "$TAPOOL" "$@"\n' >half
    chmod +x half
    ok "$TAPOOL" check a.json -s lru --update
    aborted 4 'a.json, lru: .*was killed by signal 9' check --bin ./half
    matches "$out" '^  memory and counts +vs baseline, exact +1 of 2 cells'
    matches "$out" '^ +not in every cell: a.json, lru: .*was killed'
    matches "$out" '^  latency +NOT CHECKED: the check stopped before this$'
}

# bats test_tags=nightly
@test "what was found before an error or a signal is said" {
    baseline
    sed -i 's/"peak_allocated": [0-9]*/"peak_allocated": 1000/' tapool-baseline.json
    printf '#!/bin/sh\nkill -9 $$\n' >dead
    chmod +x dead
    GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$WORK/s.md capture check --base-bin ./dead \
        --export-json c.json --export-junit c.xml --export-markdown c.md
    [ "$rc" -eq 4 ]
    matches "$err" '^tapool: a.json, arena: .*was killed by signal 9'
    matches "$out" '^REGRESSION +a.json, arena$'
    matches "$out" '^FAIL \(memory and counts only\): [0-9]+ of [0-9]+ values worse,'
    matches "$out" ' exit 4$'
    matches "$out" '^::error title=tapool check%3A regression::'
    matches s.md peak_allocated
    is c.json 'd["exit_code"], d["counts"]["regression"], d["classes"][2]["checked"]' '(4, 1, False)'
    matches c.xml '<error type="aborted" message="a.json, arena: .*was killed by signal 9'
    # stopped while the base is timed: it says so itself
    printf '#!/bin/sh\nkill -INT $PPID\nsleep 20\n' >stopping
    chmod +x stopping
    capture check --base-bin ./stopping --export-json d.json
    [ "$rc" -eq 130 ]
    matches "$out" '^  latency +NOT CHECKED: interrupted$'
    matches "$out" '^FAIL .*: [0-9]+ of [0-9]+ values worse,'
    matches "$out" ' exit 130$'
    is d.json 'd["exit_code"]' 130
    # a file that cannot be written hides nothing
    capture check --export-json /dev/full --export-markdown e.md
    [ "$rc" -eq 4 ]
    matches "$err" '/dev/full'
    matches "$out" '^FAIL .*: [0-9]+ of [0-9]+ values worse,'
    matches "$out" ' exit 4$'
    matches e.md peak_allocated
    sed -i 's/"peak_allocated": 1000/"peak_allocated": 900000000/' tapool-baseline.json
    capture check --export-json /dev/full
    [ "$rc" -eq 4 ]
    matches "$out" '^ABORTED .*: 0 of [0-9]+ values worse, 1 better,'
    matches "$out" ' exit 4$'
}

@test "an error before anything was found is told where a CI looks" {
    baseline
    other_trace >a.json
    local everywhere=(--export-json c.json --export-junit c.xml --export-markdown c.md -f)
    export GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$WORK/s.md
    capture check "${everywhere[@]}"
    [ "$rc" -eq 3 ]
    one_sentence "$err"
    matches "$out" '^::error title=tapool check::.*[0-9a-f]{64} with 2 events.*: to accept it: tapool check a.json'
    [ "$(wc -l <"$out")" -eq 1 ]
    matches s.md '^## tapool check: ABORTED \(nothing was checked\)$'
    matches s.md 'with 2 events'
    is c.json 'd["exit_code"], "with 2 events" in d["error"], d["baseline_cells"], d["cells"]' '(3, True, 1, [])'
    matches c.xml 'tests="4" failures="0" errors="1"'
    matches c.xml '<error type="aborted" message=".* with 2 events'
    matches c.md '^## tapool check: ABORTED'
    some_trace >a.json
    printf '#!/bin/sh\nkill -9 $$\n' >dead
    chmod +x dead
    capture check --bin ./dead "${everywhere[@]}"
    [ "$rc" -eq 4 ]
    one_sentence "$err"
    matches "$out" '^::error title=tapool check::a.json, arena: .*was killed by signal 9'
    matches c.xml '<error type="aborted" message="a.json, arena: .*was killed by signal 9'
    is c.json 'd["exit_code"], d["classes"][1]["reason"]' "(4, 'the check stopped before this')"
    # of a wrong command line the annotation alone: FILE may be what is wrong with it
    capture check --effect 0 --export-json n.json
    [ "$rc" -eq 2 ]
    matches "$out" "^::error title=tapool check::option 'effect' is '0'"
    [ ! -e n.json ]
    capture check --base-bin "$TAPOOL" --base-strategy lru
    matches "$out" "^::error title=tapool check::--base-bin and --base-strategy exclude each other"
    capture check --baseline none.json --export-json n.json
    [ "$rc" -eq 2 ]
    is n.json 'd["exit_code"], d["baseline"]' "(2, '')"
    # a summary that cannot be written is no PASS
    GITHUB_STEP_SUMMARY=/nonexistent/summary capture check
    [ "$rc" -eq 4 ]
    matches "$err" '^tapool: ./nonexistent/summary'
    matches "$out" '^ABORTED .*: 0 of [0-9]+ values? worse,'
    matches "$out" ' exit 4$'
    matches "$out" '^::error title=tapool check::./nonexistent/summary'
    lacks "$out" PASS
    unset GITHUB_ACTIONS
    refused 4 'was killed by signal 9' check --bin ./dead "${everywhere[@]}"
    capture check --bin ./dead --format json
    [ "$rc" -eq 4 ]
    is "$out" 'd["exit_code"]' 4
}

@test "times: slower fails, faster is said, noise is inconclusive, the engine's share is insensitive" {
    baseline
    timed base 10 0.01
    timed slow 12 0.01
    timed noisy 10 0.9
    timed tiny 0.5 0.01
    rm -f ./*.n
    capture check --bin ./slow --base-bin ./base
    [ "$rc" -eq 1 ]
    matches "$err" '^tapool: regression: ns_per_op of a.json, arena$'
    matches "$out" '^  ns_per_op \+20.2% \(paired\) +10 -> 12 ns, allowed: \+5%'
    matches "$out" 'rerun: +/[^ ]*/tapool check a.json -s arena --bin ./slow --base-bin ./base --seed 7 --core none --pairs 11 --min-time 0$'
    ok check --bin ./base --base-bin ./slow
    matches "$out" '^better +a.json, arena$'
    ok check --bin ./base --base-bin ./noisy --require latency
    matches "$out" 'PASS .*1 inconclusive'
    matches "$out" 'after 22 pairs in 2 sets\.$'
    capture check --bin ./base --base-bin ./noisy --inconclusive fail
    [ "$rc" -eq 5 ]
    matches "$err" '^tapool: inconclusive: 1 time is so noisy here that \+10% cannot be excluded$'
    printf '#!/bin/sh\ncase " $* " in *" -s lru "*) exec ./base "$@" ;; esac\nexec ./slow "$@"\n' >both
    chmod +x both
    capture check --bin ./both --base-strategy lru # two strategies of one build
    [ "$rc" -eq 1 ]
    matches "$out" '^  latency +vs lru, 11 pairs +1 of 1 cell'
    matches "$out" 'rerun: .* --base-strategy lru '
    ok check --bin ./tiny --base-bin ./tiny
    matches "$out" "latency +NOT CHECKED: replay overhead is most of the measured time in every cell"
}

# old NAME TEXT [WORD]: an older tapool that ends with exit 2 and TEXT, where WORD is given only if that
# is in its command line; else it is a stub that is slower than any tapool.
old() {
    stub "$1.new" '/"p(50|90|99|99_9)_ns"/ { sub(/[0-9]+,?$/, "1000000000,") }
        /"ns_per_op"/ { sub(/[0-9.]+,/, "1000000000,") }'
    cat >"$1" <<END
#!/bin/sh
case " \$* " in *"${3-}"*)
    echo "tapool: $2" >&2
    case "$2" in "unknown strategy"*) echo "reason: unknown" >&2 ;; esac
    exit 2 ;;
esac
exec ./$1.new "\$@"
END
    chmod +x "$1"
}

# bats test_tags=nightly
@test "what the base build does not know leaves a gap, not an error" {
    baseline
    timed base 10 0.01
    ok "$TAPOOL" check a.json -s lru --update
    old old "unknown strategy 'lru'" ' -s lru '
    ok check --base-bin ./old --pairs 12
    matches "$out" '^  latency +vs ./old, 12 pairs +1 of 2 cells'
    matches "$out" "^ +not in: a.json, lru \\(./old: unknown strategy 'lru'\\)$"
    matches "$out" '^PASS \(memory and counts, some latency only\)'
    # what is new cannot be required: there is nothing to compare it with
    ok check --base-bin ./old --pairs 12 --require latency --export-json c.json
    matches "$out" "^ +not in: a.json, lru \\(./old: unknown strategy 'lru'\\)$"
    matches "$out" '^PASS \(memory and counts, some latency only\)'
    ok check -s lru --base-bin ./old --pairs 12 --require latency
    matches "$out" "^  latency +NOT CHECKED: ./old: unknown strategy 'lru'$"
    is c.json 'd["classes"][2]["reason"]' "a.json, lru (./old: unknown strategy 'lru')"
    old old "unknown option '--passes'"
    ok check --base-bin ./old --pairs 12
    matches "$out" "^  latency +NOT CHECKED: ./old: unknown option '--passes'$"
    matches "$out" '^PASS \(memory and counts only\)'
    capture check --base-bin ./old --pairs 12 --require latency
    [ "$rc" -eq 1 ]
    # of the build that is checked it stays an error
    refused 2 "a.json, arena: ./old: unknown option '--passes'" check -s arena --bin ./old --base-bin ./base
    old old "unknown option '--touch'" throughput
    capture check -s arena --bin ./old --base-bin ./base
    [ "$rc" -eq 2 ]
    matches "$err" "^tapool: a.json, arena: ./old: unknown option '--touch'$"
}

# bats test_tags=nightly
@test "instructions of a base that is built otherwise, or lacks the strategy, are not compared" {
    ! sanitized || skip "a build with sanitizers does not run under valgrind"
    baseline
    "$TAPOOL" check a.json -s lru --update >made
    counting
    old same "unknown strategy 'lru'" ' -s lru '
    ok check --base-bin ./same --pairs 12 --require instructions
    matches "$out" '^  instructions +vs ./same, callgrind +1 of 2 cells'
    matches "$out" "^ +not in: a.json, lru \\(./same: unknown strategy 'lru'\\)$"
    matches "$out" '^PASS \(memory and counts, some instructions, some latency only\)'
    stub slow '/"flags":/ { sub(/:.*"/, ": \"-O0 -g\"") } { sub(/"ns_per_op":.*/, "\"ns_per_op\": 1000000000,") }
        /"p(50|90|99|99_9)_ns"/ { sub(/[0-9]+,?$/, "1000000000,") }'
    ok check -s arena --base-bin ./slow --export-json c.json
    matches "$out" '^  instructions +NOT CHECKED: the base has another build: '
    is c.json 'd["classes"][1]["checked"], "(-O0 -g), not " in d["classes"][1]["reason"]' '(False, True)'
    capture check -s arena --base-bin ./slow --require instructions
    [ "$rc" -eq 1 ]
    # another strategy's count is none that a build was changed from
    capture check -s arena --bin ./slow --base-strategy direct --pairs 12
    matches "$out" '^  instructions +NOT CHECKED: the baseline has none: --base-bin OLD-TAPOOL counts both$'
    # marks only: no operations that could be divided by
    trace '{"op":"mark","name":"x"}' >m.json
    ok check m.json -s arena --update --baseline m.baseline
    is m.baseline '"instructions" in d["cells"]["m.json"]["arena"]["host"]' False
    ok check --baseline m.baseline
    matches "$out" '^  instructions +NOT CHECKED: the trace has no operations'
}

# plan [OPTION...]: what is said, in one line; with the times of usual processes.
plan() {
    ok "$TAPOOL" check --plan --bin ./base "$@"
    tr -s ' \n' ' ' <"$out" >joined
}

@test "a plan takes the baseline's times of this machine, else those of a pilot" {
    some_trace >a.json
    timed base 10 0.01
    timed zero 0 0
    stub holes '/"p90_ns"/ { sub(/:.*,/, n == 6 ? ": null," : ": 17,") }'
    # one time, or none above 0, has no spread; a percentile that one process does not know is not lost
    ok check a.json -s arena --update --bin ./zero
    is tapool-baseline.json 'd["cells"]["a.json"]["arena"]["host"]["latency"]["spread"]' None
    ok "$TAPOOL" check --plan --bin ./zero
    matches "$out" "minimum detectable +not known: no cell is long enough to measure$"
    ok check a.json -s arena --update --bin ./holes
    is tapool-baseline.json '"alloc.p90" in d["cells"]["a.json"]["arena"]["host"]["latency"]["times"]' True
    # a spread of 50% stands for the baseline's
    sed -i 's/"spread": [^,]*/"spread": 0.5/; s/"seconds": [^,]*/"seconds": 1/' tapool-baseline.json
    if grep -q '"machine": "[^,]' tapool-baseline.json; then
        plan
        matches joined '50.0% \(from the baseline\)'
    fi
    cp tapool-baseline.json b.json
    sed -i 's/"machine": "/&another /' b.json
    plan --baseline b.json
    lacks "$out" '50.0%'
    matches joined '\(from a pilot just now\)'
    sed -e 's/"arena": {/"other": {/' -e 's/"machine": "/&another /' tapool-baseline.json >other.json
    python3 -c 'import json
a, b = (json.load(open(f)) for f in ("tapool-baseline.json", "other.json"))
a["cells"]["a.json"].update(b["cells"]["a.json"])
json.dump(a, open("b.json", "w"))'
    if grep -q '"machine": "[^,]' tapool-baseline.json; then
        plan --baseline b.json
        matches joined '\(from the baseline and a pilot\)'
    fi
}

# bats test_tags=nightly
@test "a plan checks nothing, an A/A counts its false alarms" {
    baseline
    timed base 10 0.01
    ok check --bin ./base --plan --base-bin ./base
    matches "$out" 'latency +at most 7 tests; 24 replays in 11 pairs a cell'
    matches "$out" 'minimum detectable +'
    refused 2 '3 pairs are too few' check --bin ./base --aa 2 --pairs 3
    ok check --bin ./base --aa 2
    matches "$out" '^check 2 of 2, seed [0-9]+: false regressions: 0 latency; '
    matches "$out" '^A/A: 2 checks of this build against itself; with a false regression: 0 latency;'
    matches "$out" '^memory and instructions are checked where --require asks$'
    ok check --bin ./base --aa 1 --require memory
    matches "$out" 'false regressions: 0 memory and counts, 0 latency; '
    refused 1 'instructions: not checked: ' check --bin ./base --aa 1 --require instructions
}

@test "what was found is written for other tools" {
    baseline
    ok check --export-json c.json --export-junit c.xml --export-markdown c.md
    is c.json 'd["schema"]' tapool.check/2
    matches c.xml '<testsuites'
    refused 2 "'c.json' exists" check --export-json c.json
    ok check --json
    is "$out" 'd["schema"]' tapool.check/2
    sed -i 's/"peak_allocated": [0-9]*/"peak_allocated": 1000/' tapool-baseline.json
    GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$WORK/summary.md capture check
    [ "$rc" -eq 1 ]
    matches "$out" '^::error'
    matches summary.md 'peak_allocated'
}

# bats test_tags=nightly
@test "what hangs is ended, named, and ends the check" {
    baseline
    printf '#!/bin/sh\nsleep 1000\n' >stuck
    chmod +x stuck
    capture check --bin ./stuck --timeout 50ms
    [ "$rc" -eq 4 ]
    one_sentence "$err"
    matches "$err" "^tapool: a\.json, arena: './stuck' replaying 'arena' had not ended after 50 ms$"
    matches "$err" '^hint: was it stuck\? --timeout TIME gives it longer, --timeout none for ever$'
    capture check --base-bin ./stuck --timeout 2s
    [ "$rc" -eq 4 ]
    matches "$err" "a\.json, arena: './stuck' replaying 'arena' had not ended after 2 s$"
    refused 4 "'(arena|lru)' had not ended after 1 ns: it was " \
        "$TAPOOL" compare a.json -s arena -s lru --timeout 1ns
    refused 4 'had not ended after 50 ms$' check a.json -s arena --update --bin ./stuck --timeout 50ms
    ok check --timeout none
    refused 2 'neither|not a valid duration' check --timeout soon
    if ! sanitized; then # a valgrind that says its version and then nothing
        printf '#!/bin/sh\n[ "$2" = --version ] && echo valgrind-3.19.0 && exit\nsleep 1000\n' >valgrind
        chmod +x valgrind
        capture env TAPOOL_VALGRIND=./valgrind "$TAPOOL" check --timeout 5s
        [ "$rc" -eq 4 ]
        matches "$err" "^tapool: a\.json, arena: 'tapool' replaying 'arena' had not ended after 5 s$"
    fi
}

# bats test_tags=nightly
@test "the user's options reach no build that is asked or measured" {
    baseline
    printf '#!/bin/sh\nenv >"%s/env.$1"\nexec "%s" "$@"\n' "$WORK" "$TAPOOL" >other
    chmod +x other
    printf '[replay]\nlimit = 1\n' >.tapool.ini
    if ! sanitized; then
        printf '#!/bin/sh\necho valgrind-3.19.0\n' >valgrind
        chmod +x valgrind
        export TAPOOL_VALGRIND=./valgrind
    fi
    TAPOOL_CONFIG=.tapool.ini TAPOOL_LIMIT=1 TAPOOL_NEW_OPTION=1 TAPOOL_FORMAT=markdown \
        capture check --base-bin ./other --bin ./other --format text
    [ -s env.replay ]
    sanitized || [ -s env.doctor ]
    for file in env.*; do
        lacks "$file" '^TAPOOL_(LIMIT|NEW_OPTION|FORMAT)='
        matches "$file" '^TAPOOL_CONFIG=$'
        matches "$file" '^TAPOOL_CUDA_DRIVER='
    done
}

# tests of two at once: what the other one does is done by a program that the first one starts
# bats test_tags=nightly
@test "two updates at once lose no cell" {
    sanitized && skip "dozens of checks: the plain build makes them"
    some_trace >a.json
    other_trace >b.json
    ok check a.json -s arena --update
    # while the cell of b is measured, another update writes arena on a anew, and lru on a
    cat >busy <<END
#!/bin/sh
if mkdir "$WORK/once" 2>/dev/null; then
    "$TAPOOL" check --pairs 2 --min-time 0ms --core none a.json -s lru -s bump --update --reason 'the other' >"$WORK/log" 2>&1 ||
        touch "$WORK/failed"
fi
exec "$TAPOOL" "\$@"
END
    chmod +x busy
    ok check b.json -s arena --update --bin ./busy
    [ -d once ]
    [ ! -e failed ]
    is tapool-baseline.json 'sorted((t, s) for t, c in d["cells"].items() for s in c)' \
        "[('a.json', 'arena'), ('a.json', 'bump'), ('a.json', 'lru'), ('b.json', 'arena')]"
    matches "$out" '; 3 kept as they were$'
    # the same cell from both: that of the one who writes last
    rm -r once
    ok check a.json -s lru -s arena --update --bin ./busy
    is tapool-baseline.json 'sorted((t, s) for t, c in d["cells"].items() for s in c)' \
        "[('a.json', 'arena'), ('a.json', 'bump'), ('a.json', 'lru'), ('b.json', 'arena')]"
    # the first one: there was no file when they began
    rm -r once tapool-baseline.json
    ok check b.json -s arena --update --bin ./busy
    is tapool-baseline.json 'sorted((t, s) for t, c in d["cells"].items() for s in c)' \
        "[('a.json', 'bump'), ('a.json', 'lru'), ('b.json', 'arena')]"
    # what the other has left cannot be read: nothing is overwritten
    rm -r once
    sed -i 's|^    "[^"]*" check.*|    echo "<<<<<<< ours" >tapool-baseline.json \|\||' busy
    refused 3 'tapool-baseline.json' check b.json -s arena --update --bin ./busy
    [ "$(cat tapool-baseline.json)" = '<<<<<<< ours' ]
}

# While the folder is locked, as by an update that writes, another waits; and what is written then is
# read before it goes on.
@test "an update waits for one that writes" {
    baseline
    cat >locked.py <<'END'
import fcntl, json, os, subprocess, sys, time
folder = os.open(".", os.O_RDONLY)
fcntl.flock(folder, fcntl.LOCK_EX)
here = os.stat(".")
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, close_fds=True)
def waits():
    for fd in os.listdir("/proc/%d/fd" % p.pid):
        try:
            at = os.stat("/proc/%d/fd/%s" % (p.pid, fd))
        except FileNotFoundError:
            continue
        if (at.st_dev, at.st_ino) == (here.st_dev, here.st_ino):
            return True
while not waits():
    assert p.poll() is None, "it did not wait"
    time.sleep(0.01)
assert "lru" not in open("tapool-baseline.json").read()
with open("tapool-baseline.json") as f:
    held = json.load(f)
held["cells"]["other.json"] = held["cells"]["a.json"]
with open("new", "w") as f:
    json.dump(held, f)
os.rename("new", "tapool-baseline.json")
fcntl.flock(folder, fcntl.LOCK_UN)
assert p.wait() == 0
END
    ok python3 locked.py "$TAPOOL" check --pairs 2 --min-time 0ms --core none a.json -s lru --update
    is tapool-baseline.json 'sorted((t, s) for t, c in d["cells"].items() for s in c)' \
        "[('a.json', 'arena'), ('a.json', 'lru'), ('other.json', 'arena')]"
    [ "$(ls)" = "$(printf '%s\n' a.json locked.py tapool-baseline.json)" ]
}

# waited CMD...: $out is what it shows on a terminal to those who wait.
waited() {
    python3 -c 'import os, pty, subprocess, sys
master, slave = pty.openpty()
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
try:
    while True:
        sys.stdout.buffer.write(os.read(master, 4096))
except OSError:
    pass
sys.exit(p.wait())' "$@" | tr '\r' '\n' >"$SCRATCH/waited"
    out=$SCRATCH/waited
}

# bats test_tags=nightly
@test "those who wait see how far it is, in every class" {
    sanitized && skip "dozens of checks: the plain build makes them"
    baseline
    other_trace >b.json
    ok check b.json -s arena -s lru --update
    quick=(--pairs 13 --min-time 0ms --core none)
    waited "$TAPOOL" check "${quick[@]}" --base-bin "$TAPOOL"
    matches "$out" 'memory and counts: 0 of 6 \(a\.json, arena\)'
    lacks "$out" 'instructions: ' # there is no counter
    matches "$out" 'latency: 0 of 84 \(a\.json, arena\)'
    [ "$(tail -n 1 "$out" | tr -d '\033[K')" = "" ]
    waited "$TAPOOL" check "${quick[@]}" --update
    matches "$out" 'update: 0 of 24 \(a\.json, arena\)'
    if ! sanitized; then # a valgrind that counts nothing
        printf '#!/bin/sh\n[ "$2" = --version ] && echo valgrind-3.19.0\n' >valgrind
        chmod +x valgrind
        TAPOOL_VALGRIND=./valgrind waited "$TAPOOL" check "${quick[@]}"
        matches "$out" 'instructions: 0 of 3 \(a\.json, arena\)'
    fi
    waited "$TAPOOL" compare a.json -s arena -s lru --rounds 3 --min-time 0
    matches "$out" 'memory and counts: 0 of 2 \(arena\)'
    matches "$out" 'replays: 0 of 8 \(a\.json\)'
}
