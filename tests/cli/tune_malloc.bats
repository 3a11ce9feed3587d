#!/usr/bin/env bats
# tapool tune on a host trace: settings of malloc libraries. tests/unit/cmd/test_malloc_tune.c holds the
# settings and the front.
load common

SCHEMA=$TAPOOL_ROOT/cmd/tune/malloc.schema.json
TURNS=${TAPOOL_TURNS:-$(dirname "$TAPOOL")/tests/turns}

setup() {
    sanitized && skip "a sanitizer has a malloc of its own"
    enter_folder
    export TAPOOL_LIBRARY_PATH=$PWD # no library of this machine
}

# tuned ARGUMENT...: what the grids name, without long replays
tuned() { "$TAPOOL" tune "$@" --rounds 3 --min-time 0; }

@test "threads that take turns: one arena is the smallest, and the text to paste is in the document" {
    "$TAPOOL" record -o turns.tpt -- "$TURNS" 4 8 >/dev/null 2>&1
    ok tuned turns.tpt --grid glibc:arena_max=1 --grid glibc:tcache_count=0 --json
    cp "$out" turns.json
    is "$out" '[s["setting"] for s in d["settings"]]' \
        "['', 'MALLOC_ARENA_MAX=1', 'GLIBC_TUNABLES=glibc.malloc.tcache_count=0']"
    is "$out" '[s["recorded"] for s in d["settings"]]' '[True, False, False]'
    is "$out" 'd["compared_with"]' 0
    query "$out" 'd["settings"][1]["total_resident_bytes"]["median"] * 2 < d["settings"][0]["total_resident_bytes"]["median"]' | grep -q True
    is "$out" '1 in d["answer"]["chosen"] and d["settings"][1]["on_front"]' True
    schema shape "$SCHEMA"
    schema shared "$TAPOOL_ROOT/cmd/results/result.schema.json" "$SCHEMA"
    schema valid "$SCHEMA" turns.json
    schema covered "$SCHEMA" --without=refused turns.json
    schema mutants "$SCHEMA" turns.json
    MALLOC_ARENA_MAX=1 "$TAPOOL" record -o turns.tpt -f -- "$TURNS" 4 8 >/dev/null 2>&1
    ok tuned turns.tpt --grid glibc:tcache_count=0
    matches "$out" ' base +MALLOC_ARENA_MAX=1 \(as recorded\)$'
    # what is set where tapool runs is set for none of them
    ok env MALLOC_ARENA_MAX=1 "$TAPOOL" tune turns.tpt --rounds 3 --min-time 0 --grid glibc:tcache_count=0 --json
    query "$out" 'd["settings"][2]["recorded"], d["settings"][2]["total_resident_bytes"]["median"] * 2 < d["settings"][0]["total_resident_bytes"]["median"]' |
        grep -q '(True, True)'
}

@test "two knobs and a default: every combination, and the last rounds are of the best" {
    ok "$TAPOOL" tune sample:sqlite --grid 'glibc:mmap_threshold=65536,top_pad=default|1048576' --rounds 3 --min-time 0 --json
    is "$out" '[s["strategy"] for s in d["settings"]]' \
        "['system', 'system:env={MALLOC_MMAP_THRESHOLD_=65536}', 'system:env={MALLOC_MMAP_THRESHOLD_=65536},env={MALLOC_TOP_PAD_=1048576}']"
    is "$out" 'd["settings"][0]["rounds"]' 3
    ok tuned sample:sqlite --grid glibc:top_pad=0 --all
    tr -s ' \n' ' ' <"$out" | grep -q 'setting, before the command'
    grep -q 'MALLOC_TOP_PAD_=0$' "$out"
    matches "$out" 'within 5% of the real program in 27 of 29 trials'
}

@test "a library: its names come from its file, and what it refuses is an error" {
    cp "$TAPOOL_MALLOCS/rejects.so" libjemalloc.so.2
    ok tuned sample:sqlite --grid 'jemalloc:bar=1|2' --json
    is "$out" '[s["setting"] for s in d["settings"]]' \
        "['', 'LD_PRELOAD=$PWD/libjemalloc.so.2', 'LD_PRELOAD=$PWD/libjemalloc.so.2 MALLOC_CONF=bar:1', 'LD_PRELOAD=$PWD/libjemalloc.so.2 MALLOC_CONF=bar:2']"
    refused 2 "refuses a setting: <jemalloc>: Invalid conf value: foo:1" tuned sample:sqlite --grid jemalloc:foo=1
    refused 2 "'narenas' is not a setting of jemalloc here" tuned sample:sqlite --grid jemalloc:narenas=1
}

@test "what cannot be tuned: one sentence, and the documented code" {
    refused 2 "'arenas' is not a setting of glibc here" tuned sample:sqlite --grid glibc:arenas=1
    refused 2 "the malloc library 'jemalloc' is not on this machine" tuned sample:sqlite --grid jemalloc:narenas=1
    refused 2 "is not LIBRARY:NAME=VALUE" tuned sample:sqlite --grid arena_max
    refused 2 "is not of the form key:value" tuned sample:sqlite --grid glibc:arena_max
    refused 2 "is not a plain name and value" tuned sample:sqlite --grid 'glibc:arena_max=}'
    refused 2 "'foo' is not a value of glibc's arena_max" tuned sample:sqlite --grid glibc:arena_max=foo
    refused 2 "'' is not a value of glibc's arena_max" tuned sample:sqlite --grid glibc:arena_max=
    refused 2 "--capacity is about a GPU" tuned sample:sqlite --capacity 1GiB
    refused 2 "there is no page of malloc settings" tuned sample:sqlite --export-html x.html
    [ ! -e x.html ]
}

@test "what a trace says is not pasted blindly, and what is set here changes nothing" {
    MALLOC_FOO='1;id>x&' "$TAPOOL" record -o odd.tpt -- "$TURNS" 1 1 >/dev/null 2>&1
    ok tuned odd.tpt --grid glibc:top_pad=0 --all
    lacks "$out" 'as recorded'
    matches "$out" '^! the recorded malloc or its settings cannot be replayed here: the base is glibc, nothing set$'
    ok env LD_PRELOAD="$TAPOOL_MALLOCS/weighs.so" "$TAPOOL" tune sample:sqlite --rounds 3 --min-time 0 --grid glibc:top_pad=0 --json
    query "$out" 'd["settings"][0]["total_resident_bytes"]["median"] < 4 << 20' | grep -q True
}
