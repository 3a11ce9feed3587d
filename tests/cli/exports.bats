#!/usr/bin/env bats
# What replay writes for other programs: every export against the JSON result of the same run, and files
# that exist, that cannot be written, that hold hostile names.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

formats=(json csv benchfmt perfetto svg svg-heap markdown hgrm snapshot)

# exported STEM ARGS...: all exports of one run.
exported() {
    local stem=$1
    shift
    ok replay "$@" -f --export-json "$stem.json" --export-csv "$stem.csv" --export-benchfmt "$stem.bench" \
        --export-perfetto "$stem.perfetto" --export-svg "$stem.svg" --export-markdown "$stem.md" --export-hgrm "$stem.hgrm"
}

# agree FIGURES STEM ARGS...: all exports of one run say the same, in at least so many figures.
agree() {
    local least=$1 stem=$2 n
    shift
    exported "$@" || return 1
    n=$(python3 "$CLI/exports_agree.py" "$stem") || fail "of replay $*" || return 1
    [ "$n" -ge "$least" ] || fail "only $n figures were compared"
}

two_devices() { device_trace | sed 's/"id": 7, "device": 0/"id": 7, "device": 1/; s/"name": "gpu"/"name": "two"/'; }

@test "every export says what the JSON result says" {
    agree 300 one sample:sqlite -s arena
    agree 1000 table sample:jq sample:sqlite -s system -s arena -s bump:size=1MiB -s bump
    agree 200 failing sample:sqlite -s arena -s bump --source virtual+shuffle+limit:capacity=300KiB
    is failing.json 'r["failed_allocations"] > 0' True
    device_trace >gpu.json
    two_devices >two.json
    captured_trace >rich.json
    agree 500 devices gpu.json two.json rich.json -s arena -s x.y=stream-pool
    [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ] || return 0
    export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
    agree 200 cuda gpu.json -s cudaMallocAsync -s arena
    lacks cuda.bench 'assume=exact'
}

# bats test_tags=nightly
@test "the comparison of exports can fail" {
    exported good sample:sqlite -s arena
    python3 "$CLI/exports_agree.py" good
    while read -r suffix change; do
        rm -f bad*
        for file in good*; do cp "$file" "bad${file#good}"; done
        sed -E "$change" "good$suffix" >"bad$suffix"
        not cmp -s "good$suffix" "bad$suffix"
        ! python3 "$CLI/exports_agree.py" bad >/dev/null 2>&1 || fail "not seen in $suffix: $change"
    done <<'END'
.csv 2s/315477/315478/
.csv 2s/small-trace;?//
.bench s/ assume=exact//
.bench 0,/ns\/op/s/ [0-9.]+ ns.op/ 123456.000 ns\/op/
.bench s/(strategy=arena)-1/\1/;s/ 315477 / 315478 /
.bench s/^touch: first/touch first/
.perfetto s/"requested":315477/"requested":315476/
.perfetto s/"ts":0.000,"name":"memory"/"ts":90000.000,"name":"memory"/
.svg s/arena: at most/arenas: at most/
.svg s/(<circle cx="[0-9.]+" cy=")[0-9]/\19/
.svg s/at most [0-9]/&1/
.svg s/(class="line"[^V]*V)[0-9]+/\11/
.svg s/(c0\{color:#)..../\1ffff/
.svg s/<title>/<title href="x">/
.svg s/<desc>/<script\/><desc>/
.md s/^\| arena/| arenas/
.md s/^- .*small-trace.*//
-free.hgrm s/Total count    = +[0-9]+/Total count = 1/
-free.hgrm s/^ +[0-9]+\.000 0\.50*/      99999.000 0.500000000000/
END
}

@test "what is printed is what is written beside it" {
    for format in "${formats[@]}"; do
        ok replay_once sample:sqlite -s arena --format "$format" "--export-$format" file
        cmp "$out" file
        [ -s file ]
        rm file*
    done
}

@test "marks are phases, at their recorded times" {
    captured_trace >rich.json
    ok replay_once rich.json -s arena --format perfetto
    python3 - "$out" "$CLI" <<'END'
import sys
sys.path.insert(0, sys.argv[2])
import perfetto_check
_, _, phases, _ = perfetto_check.parse(sys.argv[1])
assert phases == {1: [(0.01, 5e9 - 0.01, 'step \u00e9 "1"'), (5e9, 0.002, "much later")]}, phases
END
}

# ---- names ----

# A trace that is called by what would end a cell, a line, a table or a name in any of the formats.
called() {
    python3 - "$1" <<'END'
import json, sys
names = {"formula": "=1+2,\"a\"", "lines": "a\nb\r\n| c | @someone #12 <b>\x1b[31m `x` \\ *d* %41 ",
         "long": "=\u65e5\u672c " * 256, "blanks": " ",
         "command": "::error title=a::b ##[error]c ##vso[d] \u00a0::warning::e"}
json.dump({"format": "tapool-trace", "version": 1, "meta": {"name": names[sys.argv[1]]},
           "events": [{"op": "mark", "name": names[sys.argv[1]]}, {"op": "alloc", "id": 1, "size": 64},
                      {"op": "alloc", "id": 2, "size": len(sys.argv[1])}, {"op": "free", "id": 1}]}, sys.stdout)
END
}

@test "hostile names of traces: no format is broken, none is lost" {
    for name in formula lines long blanks; do called "$name" >"$name.json"; done
    agree 600 x formula.json lines.json long.json blanks.json -s arena -s arena:classes=coarse6
    for file in x.{csv,bench,perfetto,svg,md} x-*.hgrm; do harmless "$file"; done
    ok replay_once lines.json long.json -s arena -f --export-snapshot x.pickle
    for file in x-*.pickle; do python3 "$CLI/snapshot_check.py" "$file"; done
    matches x.csv '^"'"'"'=1\+2,""a"""'
    lacks x.md '@[a-z]|[^\\]<b>|[^\\]`x'
    # nothing in them is a command to the service that runs the job: also where a line is broken
    called command >command.json
    for n in {1..110}; do long+=a; done
    for n in 0 60 82 83 84 85 96 97 98 99 100 110; do
        cp command.json "::error::x ${long:0:n}::error::x.json"
    done
    for file in ::error*.json; do
        ok "$TAPOOL" info "$file"
        lacks "$out" $'^[ \u00a0]*::|##[a-z]*\\['
        ok replay_once "$file" -s arena
        lacks "$out" $'^[ \u00a0]*::|##[a-z]*\\['
    done
    for format in csv benchfmt markdown json; do
        ok replay_once "::error::x $long::error::x.json" -s arena --format "$format"
        lacks "$out" $'^[ \u00a0]*::|##[a-z]*\\['
    done
    # two traces of one name: their files are numbered
    called blanks | sed 's/"size": 64/"size": 65/' >other.json
    ok replay_once blanks.json other.json -s arena --export-hgrm one.hgrm
    [ "$(echo one-[12]-*-all.hgrm | wc -w)" -eq 2 ] || fail "$(ls)"
}

# ---- files ----

@test "an export that exists is refused before any work, -f overwrites it" {
    for format in "${formats[@]}"; do
        echo mine >file
        refused 2 "^tapool: 'file' exists$" replay_once none.json "--export-$format" file
        [ "$(cat file)" = mine ]
        ok replay_once sample:jq -s bump "--export-$format" file -f
        not grep -q mine file
        refused 2 "^tapool: --export-$format needs a file$" replay_once none.json "--export-$format" -
        matches "$err" "^hint: --format $format writes to standard output$"
        rm -f file*
    done
    [ -z "$(ls -A)" ]
    refused 2 "^tapool: --export-json and --export-csv name the same file$" \
        replay_once none.json --export-csv x --export-json x
    refused 2 "^tapool: --json and --format csv exclude each other$" replay_once none.json --json --format csv
    refused 2 "none of text, json," replay_once none.json --format xml
    refused 4 "cannot be written" replay_once none.json --export-csv /nonexistent/x --export-json y
    [ -z "$(ls -A)" ]
}

@test "histograms: which files, and that none of them exists" {
    touch x-arena-free.hgrm
    refused 2 "^tapool: 'x-arena-free\.hgrm' exists$" \
        "$TAPOOL" replay sample:jq -s arena -s bump --min-time 60s --export-hgrm x.hgrm # at once
    [ "$(ls)" = x-arena-free.hgrm ]
    rm x*
    mkdir a.b
    ok replay_once sample:jq -s arena --export-hgrm a.b/x
    [ "$(echo a.b/*)" = "a.b/x a.b/x-alloc a.b/x-free" ] || fail "$(ls a.b)"
    refused 2 "^tapool: --format hgrm prints one result, and these are 2$" \
        "$TAPOOL" replay sample:jq -s arena -s bump --min-time 60s --format hgrm
    refused 2 "^tapool: '/dev/null' cannot hold the several files of --export-hgrm$" \
        replay_once sample:jq -s arena --export-hgrm /dev/null
}

@test "a full disk: exit 4, nothing left behind" {
    full() { "$@" >/dev/full; }
    small_files() { (ulimit -f 1; "$@"); }
    for format in "${formats[@]}"; do
        refused 4 "^tapool: standard output could not be written: " full replay_once sample:jq -s bump --format "$format"
        refused 4 "^tapool: .* could not be written: File too large$" \
            small_files replay_once sample:jq -s bump -s arena -s b=bump "--export-$format" file
        [ -z "$(ls -A)" ]
        [[ $format =~ ^(hgrm|snapshot)$ ]] || refused 4 "^tapool: /dev/full could not be written: " \
            replay_once sample:jq -s bump "--export-$format" /dev/full
    done
}

@test "call stacks of who holds the memory: those of info, once for all strategies, each trace under its name" {
    python3 "$CLI/oom_snapshot.py" fragmented >oom.pickle
    cp oom.pickle again.pickle
    ok "$TAPOOL" info oom.pickle --export-folded stacks
    ok "$TAPOOL" info oom.pickle --at 9 --export-folded stacks_at_9
    ok replay_once oom.pickle -s torch -s arena --no-fits --export-folded x --export-json x.json
    diff stacks x
    is x.json 'd["runs"][0]["devices"][0]["memory"]["trace_peak_requested_bytes"]' "$(awk '{ s += $NF } END { print s }' x)"
    ok replay_once oom.pickle -s bump --no-fits --at 9 --format folded
    diff stacks_at_9 "$out"
    ok replay_once oom.pickle again.pickle -s bump --no-fits --format folded
    diff <(sed 's/^/oom;/' stacks; sed 's/^/again;/' stacks) "$out"
    refused 3 "^tapool: jq.json: live memory by site is not known" \
        "$TAPOOL" replay oom.pickle sample:jq --min-time 60s --export-folded no # at once
    for command in info "replay -s bump" why; do
        # shellcheck disable=SC2086 # the words of a command
        refused 2 "^tapool: call stacks are those of --by line, and this is --by size$" \
            "$TAPOOL" $command oom.pickle --by size --export-folded no
    done
    refused 4 "^tapool: /dev/full could not be written: " replay_once oom.pickle -s bump --export-folded /dev/full
    [ ! -e no ]
}

@test "a closed pipe on stdout: 141" {
    for format in "${formats[@]}"; do
        { sleep 0.1; rc=0; replay_once sample:jq -s bump --format "$format" 2>"$SCRATCH/stderr" || rc=$?; echo "$rc" >"$SCRATCH/rc"; } | true
        [ "$(cat "$SCRATCH/rc")" -eq 141 ] || fail "exit code $(cat "$SCRATCH/rc") of $format"
        [ ! -s "$SCRATCH/stderr" ]
    done
}

@test "ended by a signal: every export has what is done, and says that it is partial" {
    many=()
    for i in $(seq 60); do many+=(-s "n$i=arena"); done
    for delay in 1 2 4 8 16; do
        rm -f part*
        capture timeout --preserve-status -s INT "$delay" "$TAPOOL" replay sample:jq --min-time 50ms "${many[@]}" \
            --export-json part.json --export-csv part.csv --export-benchfmt part.bench \
            --export-perfetto part.perfetto --export-svg part.svg --export-markdown part.md --export-hgrm part.hgrm
        [ "$rc" -eq 130 ] || fail "exit code $rc" "$(cat "$err")"
        [ ! -s part.json ] || [ "$(query part.json 'len(d["runs"])')" -lt 2 ] || break
    done
    python3 "$CLI/exports_agree.py" part
    is part.json 'd["partial"], 0 < len(d["runs"]) < 60' '(True, True)'
    for file in part.bench part.md part-n1-all.hgrm; do
        matches "$file" 'partial: [0-9]+ of 60 replays are done'
    done
    capture timeout --preserve-status -s INT "$delay" "$TAPOOL" replay sample:jq --min-time 50ms "${many[@]}" --format csv
    [ "$rc" -eq 130 ]
    one_sentence "$err"
    matches "$err" '^tapool: interrupted'
}
