#!/usr/bin/env bats
# Text traces of others at the command line: found by their content, read whole or cut, refused in one
# sentence.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data

info() { "$TAPOOL" info "$@"; }

# A malloclab trace.
small_rep() { printf '20000\n3\n8\n1\na 0 512\na 1 128\nr 0 640\na 2 128\nf 1\nr 0 768\nf 0\nf 2\n'; }

# says FILE FIELD...: of the trace in a document of info.
says() {
    python3 -S -E -c 'import json, sys
t = json.load(open(sys.argv[1]))["trace"]
print(*(t[f] for f in sys.argv[2:]))' "$@"
}

# found FILE FORMAT KIND EVENTS: by its content alone, whatever it is called.
found() {
    local got
    cp "$1" it
    ok info it --json || return 1
    got=$(says "$out" format kind events)
    [ "$got" = "$2 $3 $4" ] || fail "$1 is: $got"
}

@test "formats are found by their content" {
    small_rep >small.rep
    found small.rep rep host 8
    found "$DATA/mtrace/calls.txt" mtrace host 23
    found "$TAPOOL_ROOT/tests/fuzz/corpus/heaptrack/stacks" heaptrack host 260
    ok "$TAPOOL" info it
    matches "$out" 'last allocation there: k\.cpp:3 main$'
    matches "$out" '^  not recorded  threads, alignment, times .*, reallocs$'
    found "$TAPOOL_ROOT/tests/fuzz/corpus/memory_replay/specimen" memory-replay host "$(grep -c : "$TAPOOL_ROOT/tests/fuzz/corpus/memory_replay/specimen")"
    found "$TAPOOL_ROOT/tests/fuzz/corpus/malloc_bench/specimen" malloc-bench host 11
    found "$DATA/valgrind/calls.txt" valgrind host 37
    ok "$TAPOOL" info "$DATA/valgrind/calls.txt"
    matches "$out" ' 1 realloc: 1 grow '
    found "$DATA/rmm/doc_record_replay_sample.csv" rmm device 2
    found "$DATA/rmm/doc_memory_debugging_sample_noheader.csv" rmm device 2
    found "$DATA/rmm/issue75_old_format_2019_excerpt.csv" rmm device 7
}

@test "they can be replayed, also with CRLF and from a pipe" {
    small_rep >small.rep
    ok replay_once small.rep -s arena
    for file in "$DATA"/mtrace/calls.txt "$DATA"/valgrind/calls.txt "$DATA"/rmm/*.csv small.rep; do
        ok info "$file" --json
        hash=$(says "$out" program_hash)
        sed 's/$/\r/' "$file" >crlf
        ok info crlf --json
        [ "$(says "$out" program_hash)" = "$hash" ] || fail "$file: not the same with CRLF"
        info - --json <"$file" >piped
        [ "$(says piped program_hash)" = "$hash" ] || fail "$file: not the same from a pipe"
    done
}

@test "a file that was cut is repaired, and an error when strict" {
    small_rep | head -c -4 >cut.rep
    printf 'r' >>cut.rep
    ok info cut.rep
    matches "$out" 'repaired +1 truncated'
    refused 3 '^tapool: cut.rep:12: event 8: the file ends in the middle of this line$' info cut.rep --strict
}

@test "rows of an RMM log out of order" {
    printf '%s\n' Thread,Time,Action,Pointer,Size,Stream 1,10:00:00.000000,allocate,0x10,64,0 \
        2,10:00:00.000002,allocate,0x10,32,0 1,10:00:00.000001,free,0x10,64,0 >rmm.csv
    ok info rmm.csv
    matches "$out" 'repaired +1 inverted'
    refused 3 'rmm.csv:3: event 2 allocates 0x10, which is live: thread 1 frees it on line 4$' info rmm.csv --strict
}

@test "heaptrack: counts and peak are those of heaptrack_print" {
    command -v heaptrack >/dev/null && command -v heaptrack_print >/dev/null || skip "no heaptrack"
    seq 3000 >numbers
    for form in "" --raw; do
        # shellcheck disable=SC2086 # no word or one
        heaptrack $form -o "heap$form" sort -r numbers >said
    done
    ok info heap.zst --json
    python3 -S -E - "$out" <(heaptrack_print heap.zst 2>&1) <<'END'
import json, re, sys
d, said = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
number = lambda what: re.search(what + r": ([0-9.]+)([BKMG]?)", said).groups()
assert d["operations"]["alloc"] == int(number("calls to allocation functions")[0]), said
digits, unit = number("peak heap memory consumption")
peak = float(digits) * 1000 ** "BKMG".index(unit)
assert abs(d["peak_requested_bytes"] - peak) < 0.01 * peak, (d["peak_requested_bytes"], peak)
assert d["trace"]["threads"] is None
END
    # both kinds of files have the same events, but for who is freed
    allocs=$(query "$out" 'd["operations"]["alloc"]')
    ok info heap--raw.raw.zst --json
    is "$out" 'd["operations"]["alloc"]' "$allocs"
}

@test "valgrind: each process is a memory space" {
    printf '%s\n' '--7-- malloc(8) = 0x10' '--8-- malloc(9) = 0x10' '--8-- free(0x10)' >two
    ok info two --json
    [ "$(says "$out" events)" = 2 ] || fail "not the process with most bytes"
    printf '==7== Using Valgrind-3.19.0\n==7== Command: x\n' >none
    refused 3 'none: no events: valgrind ran without --trace-malloc=yes$' info none
    echo 'valgrind: ./x: No such file or directory' >none
    refused 3 'none: no events: the program did not start: ./x: No such file or directory$' info none
}
