#!/usr/bin/env bats
# tapool gen and the samples that are made: screens, the same bytes from the same seed, traces that replay
# as the profile replayed without a file, command lines that are refused, output that cannot be written.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

gen() { "$TAPOOL" gen "$@"; }
profiles() { "$TAPOOL" gen | sed -n 's/^  \([a-z-]*\)  .*/\1/p'; }

# few NAME ARGUMENT...: a trace of some hundred to some thousand events.
few() {
    local name=$1 size=(--count 300)
    shift
    case $name in
    training-step) size=(--count 3 --layers 2) ;;
    llm-decode) size=(--count 20 --layers 2) ;;
    esac
    gen "$name" "${size[@]}" "$@"
}

kind_of() {
    case $1 in
    streams | training-step | llm-decode) echo device ;;
    *) echo host ;;
    esac
}

# hash_of TRACE: of the program, and the JSON result in $out.
hash_of() {
    ok replay_once "$1" -s direct --source virtual --json || return 1
    query "$out" 'r["trace"]["program_hash"]'
}

@test "the list, a page for each profile, help" {
    shown gen gen
    [ "$(profiles | wc -l)" -ge 8 ]
    for name in $(profiles); do
        fitting gen "$name"
        head -n 1 "$out" | grep -q "^$name: "
    done
    shown gen-llm-decode gen llm-decode
}

@test "no page is wider than a terminal of 80 columns" {
    ok tool fits 80 "$TAPOOL" gen
    ok tool fits 80 "$TAPOOL" gen --help
    for name in $(profiles); do
        ok tool fits 80 "$TAPOOL" gen "$name"
    done
}

@test "a profile page lists exactly the options that the profile takes" {
    sanitized && skip "150 processes, which differ in what a table says: the plain build starts them"
    for name in $(profiles); do
        gen "$name" >page
        for option in size max-size live count age threads streams layers hidden batch lengths kv; do
            if grep -q "^  --$option " page; then
                value=$(sed -n "s/^  --$option  *\([^ ]*\) .*/\1/p" page)
                ok gen "$name" "--$option" "$value" --count 3 -o - # its default is one that it takes
            else
                refused 2 "^tapool: profile '$name' has no option '--$option'$" gen "$name" "--$option" 3 -o x.json
                matches "$err" "^hint: it takes --.*, --seed$"
            fi
        done
    done
    [ "$(ls)" = page ]
}

@test "the same seed, the same bytes; another seed, others" {
    for name in $(profiles); do
        few "$name" -o a.jsonl >/dev/null
        few "$name" --seed 1 -o b.jsonl >/dev/null
        few "$name" --seed 2 -o c.jsonl >/dev/null
        few "$name" -o - >d.jsonl
        cmp a.jsonl b.jsonl
        cmp a.jsonl d.jsonl
        tail -n +2 a.jsonl >a
        tail -n +2 c.jsonl >c
        not cmp -s a c
        rm -- *
    done
}

@test "the command that it names is one for a shell" {
    ok few web-server -o "a b.json"
    matches "$out" "^Next: tapool replay 'a b\.json'$"
}

@test "both forms of every profile are valid JSON and the same program" {
    for name in $(profiles); do
        ok few "$name" -o t.json
        matches "$out" "^t\.json: [0-9,]+ events, synthetic \($name, seed 1, count=[0-9]+(, layers=2)?\)$"
        matches "$out" "^Next: tapool replay t\.json$"
        ok few "$name" -o t.jsonl
        python3 -c 'import json
d = json.load(open("t.json"))
lines = [json.loads(line) for line in open("t.jsonl")]
assert d["events"] == lines[1:] and len(lines) > 300
del d["events"]
assert d == lines[0]'
        document=$(hash_of t.json)
        [ ${#document} -ge 64 ]
        [ "$(hash_of t.jsonl)" = "$document" ]
        [ "$(few "$name" -o - | hash_of -)" = "$document" ]
        is "$out" 'r["trace"]["name"]' "$name"
        rm -- *
    done
}

@test "a .tpt has the bytes that convert makes of the same trace's text" {
    for name in $(profiles); do
        ok few "$name" -o t.tpt
        matches "$out" "^t\.tpt: [0-9,]+ events, synthetic \($name, seed 1, count=[0-9]+(, layers=2)?\)$"
        few "$name" -o t.jsonl >/dev/null
        few "$name" --seed 2 -o other.tpt >/dev/null
        "$TAPOOL" convert t.jsonl -o converted.tpt >/dev/null
        cmp t.tpt converted.tpt
        not cmp -s t.tpt other.tpt
        document=$(hash_of t.jsonl)
        [ ${#document} -ge 64 ]
        [ "$(hash_of t.tpt)" = "$document" ]
        rm -- *
    done
}

@test "a .tpt is written while it is made: memory does not grow with it" {
    # ten million instructions in memory are 240 MB
    command -v prlimit >/dev/null || skip "prlimit is not installed"
    sanitized && skip "a sanitizer has memory of its own"
    ok prlimit --as=100000000 "$TAPOOL" gen pair --count 5000000 -o t.tpt
    [ "$(stat -c %s t.tpt)" -gt 10000000 ]
}

@test "what was written is replayed by every strategy, and refuted by none" {
    for name in $(profiles); do
        few "$name" -o t.jsonl >/dev/null
        ok replay_once t.jsonl
        ok replay_once t.jsonl --strict -s arena --source virtual --json
        is "$out" 'r["trace"]["kind"]' "$(kind_of "$name")"
        rm t.jsonl
    done
}

@test "sample:web is the web-server without a file" {
    ok replay_once sample:web -s direct --source virtual --json
    is "$out" 'r["trace"]["format"]' synthetic
    is "$out" 'r["trace"]["name"]' web
    is "$out" 'r["trace"]["threads"]' 8
    [ "$(query "$out" 'int(r["trace"]["events"]) // 100000')" -ge 19 ]
    web=$(query "$out" 'r["trace"]["program_hash"]')
    [ -z "$(ls -A)" ]
    ok replay_once sample:web -s direct --source virtual
    matches "$out" "^sample:web  +synthetic \(web-server, seed 1\)$"
    ok gen web-server -o web.jsonl
    [ "$(hash_of web.jsonl)" = "$web" ]
    refused 3 "^tapool: unknown sample 'wbe'$" replay_once sample:wbe
    matches "$err" "^hint: did you mean 'sample:web'\? there are: cc1, fleet-0, fleet-1, fleet-2, fleet-3, fleet-4, fleet-5, fleet-6, fleet-7, fleet-8, fleet-9, git, jq, llm-decode, node, python-threads, redis, sqlite, training-step, web$"
}

@test "sample:training-step and sample:llm-decode are their profiles without a file" {
    for name in training-step llm-decode; do
        ok replay_once "sample:$name" -s direct --source virtual --json
        is "$out" 'r["trace"]["name"]' "$name"
        is "$out" 'r["trace"]["kind"]' device
        [ "$(query "$out" 'int(r["trace"]["events"]) // 100000')" -eq 2 ]
        made=$(query "$out" 'r["trace"]["program_hash"]')
        [ -z "$(ls -A)" ]
        ok gen "$name" -o t.jsonl
        [ "$(hash_of t.jsonl)" = "$made" ]
        rm t.jsonl
    done
}

@test "a file of that name in TAPOOL_SAMPLES goes before the sample that is made" {
    trace '{"op":"alloc","id":1,"size":64}' >web.json
    export TAPOOL_SAMPLES=$PWD
    ok replay_once sample:web -s direct --source virtual --json
    is "$out" 'r["trace"]["events"]' 1
}

@test "wrong command lines" {
    refused 2 "^tapool: unknown profile 'piar'$" gen piar -o x.json
    matches "$err" "^hint: did you mean 'pair'\? 'tapool gen' lists all$"
    refused 2 "^tapool: gen needs a profile$" gen -o x.json
    refused 2 "^tapool: gen takes one profile at a time$" gen pair batch -o x.json
    refused 2 "^tapool: gen needs a file to write$" gen pair --count 3
    matches "$err" "^hint: tapool gen pair -o pair\.json"
    refused 2 "^tapool: gen needs a file to write$" gen pair --seed 3
    refused 2 "^tapool: unknown option '--liev'$" gen pair --liev 3 -o x.json
    refused 2 "^tapool: option 'count' is 0, below the minimum 1$" gen pair --count 0 -o x.json
    refused 2 "^tapool: option 'size' is 2TiB, above the maximum 1TiB$" gen pair --size 2TiB -o x.json
    refused 2 "^tapool: option 'size' is '-1', which is not a valid size$" gen pair --size -1 -o x.json
    refused 2 "^tapool: option 'count' is '', which is not a valid number$" gen pair --count '' -o x.json
    refused 2 "^tapool: option 'streams' is 0, below" gen streams --streams 0 -o x.json
    refused 2 "^tapool: option 'threads' is 1025, above" gen web-server --threads 1025 -o x.json
    refused 2 "^tapool: option 'seed' is '1x', which is not a valid number$" gen pair --seed 1x -o x.json
    refused 2 "^tapool: option 'streams' is 17, above" gen training-step --streams 17 -o x.json
    refused 2 "^tapool: option 'hidden' is 63, below" gen llm-decode --hidden 63 -o x.json
    refused 2 "^tapool: option 'kv' is 'pages'" gen llm-decode --kv pages -o x.json
    refused 2 "^tapool: option 'lengths' is" gen training-step --lengths 3 -o x.json
    refused 2 "^tapool: max-size is below size$" gen random-replace --size 64 --max-size 63 -o x.json
    refused 2 "^tapool: --age 5000 is more than 5000000 allocations: a turnover of this heap is [0-9]+$" gen fleet-0 --age 5000 -o x.tpt
    matches "$err" "^hint: fewer turnovers, or a smaller heap: --live"
    refused 2 "more than 2\^61 bytes at once$" gen batch --size 1TiB --live 16777216 --count 1000000000 -o x.json
    [ -z "$(ls -A)" ]
    ok gen PAIR --count 1 -o X.JSON # names are forgiving
}

@test "only .json, .jsonl and .tpt are written" {
    for name in x.csv x x.json.gz x.jsonll x.tpt.zst json tpt .; do
        refused 2 "^tapool: '$name' ends in none of \.json, \.jsonl and \.tpt$" gen pair -o "$name"
        matches "$err" "^hint: \.json is one JSON document, \.jsonl one event a line, \.tpt tapool's binary"
    done
    refused 2 "^tapool: '' ends in none of" gen pair -o ''
    [ -z "$(ls -A)" ]
}

# What there is to say of writing files is in errors.bats.
@test "an old file is unharmed, whatever fails" {
    echo kept >t.json
    refused 2 "^tapool: max-size" gen random-replace --max-size 1 -o t.json -f
    [ "$(cat t.json)" = kept ]
    few_bytes() { (ulimit -f 1; "$@"); }
    # few events are written all at once, at the end
    refused 4 "^tapool: t\.json could not be written: File too large$" few_bytes "$TAPOOL" gen pair --count 20 -o t.json -f
    [ "$(cat t.json)" = kept ]
}

@test "a full or closed standard output" {
    full() { "$@" >/dev/full; }
    refused 4 "^tapool: standard output could not be written: No space left on device$" full "$TAPOOL" gen
    # a thousand million pairs: only noticing at once ends this in time
    refused 4 "^tapool: standard output could not be written: No space left on device$" \
        full timeout 60 "$TAPOOL" gen pair --count 1000000000 -o -
    "$TAPOOL" gen pair --count 1000000000 -o - | head -n 3 >head.jsonl
    [ "$(wc -l <head.jsonl)" -eq 3 ]
}

@test "ended by a signal: nothing left behind, an old file unharmed" {
    echo kept >old.json
    for signal in INT TERM HUP; do
        for name in new.json old.json new.tpt; do
            capture timeout --preserve-status -s "$signal" 0.3 "$TAPOOL" gen random-replace \
                --count 1000000000 -o "$name" -f
            [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal"
            [ ! -s "$out" ]
            [ "$(ls -A)" = old.json ] || fail "left behind: $(ls -A)"
            [ "$(cat old.json)" = kept ]
        done
    done
}

@test "a name that steers the terminal is shown clean" {
    name=$'a\e[31m\n.json'
    ok gen pair --count 1 -o "$name"
    harmless "$out"
    refused 2 "exists$" gen pair --count 1 -o "$name"
}
