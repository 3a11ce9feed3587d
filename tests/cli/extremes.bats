#!/usr/bin/env bats
# Requests that no device can serve, or hardly: for every strategy a sentence or an answer, the right exit
# code, and books that balance (each replay ends with a check of what is left).

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

# All but the driver's own pool, which needs a driver.
strategies() { "$TAPOOL" strategies | sed -n '/^  cudaMallocAsync /d; s/^  \([A-Za-z-]*\)  .*/\1/p'; }

# bats test_tags=nightly
@test "2^40 bytes, 2^48 bytes: out of memory or an answer, and the next request is served" {
    trace '{"op":"alloc","id":1,"size":1099511627776}' '{"op":"alloc","id":2,"size":281474976710656}' \
        '{"op":"alloc","id":3,"size":64}' '{"op":"realloc","id":3,"size":1099511627776}' \
        '{"op":"free","id":3}' '{"op":"free","id":2}' '{"op":"free","id":1}' >huge.json
    for strategy in $(strategies); do
        [ "$strategy" = system ] && sanitized && continue # its malloc ends the process
        ok replay_once huge.json -s "$strategy" --verify --json
        is "$out" 'r["verified"], r["failed_allocations"] + r["skipped_operations"] >= 4' '(True, True)'
        [ "$strategy" = system ] || ok replay_once huge.json -s "$strategy" --source virtual --verify --fits
        [ "$strategy" = system ] || ok replay_once huge.json -s "$strategy" --source virtual --capacity 1MiB --verify
    done
    refused 3 ": 'size' is .*limit is 2" "$TAPOOL" replay <(trace '{"op":"alloc","id":1,"size":"18446744073709551615"}')
}

# bats test_tags=nightly
@test "0 bytes: an error with its place, or with --repair one byte" {
    trace '{"op":"alloc","id":1,"size":0}' '{"op":"free","id":1}' >zero.json
    for strategy in $(strategies); do
        refused 3 'zero.json:3: event 1 allocates 0 bytes' "$TAPOOL" replay zero.json -s "$strategy"
        ok replay_once zero.json -s "$strategy" --repair --verify
    done
}

# bats test_tags=nightly
@test "an alignment of a GiB is honoured, or refused with a sentence" {
    trace '{"op":"alloc","id":1,"size":64,"align":1073741824}' '{"op":"alloc","id":2,"size":64}' \
        '{"op":"alloc","id":3,"size":100000,"align":1048576}' '{"op":"free","id":1}' \
        '{"op":"alloc","id":4,"size":64,"align":65536}' '{"op":"free","id":3}' >align.json
    for strategy in $(strategies); do
        for source in host virtual host+shuffle; do
            [ "$strategy" != system ] || [ "$source" = host ] || continue
            capture replay_once align.json -s "$strategy" --source "$source" --verify
            [ "$rc" -eq 0 ] || { [ "$rc" -eq 2 ] && matches "$err" 'cannot align'; } ||
                fail "$strategy on $source: exit code $rc" "$(cat "$err")"
        done
    done
}

# bats test_tags=nightly
@test "a million threads: one after the other is fine, all at once is an error" {
    sanitized && skip "minutes under a sanitizer"
    threads() { # COUNT FORMAT: one event for each thread, whose number is the id as well
        printf '{"format":"tapool-trace","version":1}\n'
        seq "$1" | sed "s/.*/$2/"
    }
    local event='{"op":"alloc","id":&,"size":64,"thread":&}'
    threads 1000000 "$event\n{\"op\":\"free\",\"id\":&,\"thread\":&}\n{\"op\":\"thread_end\",\"thread\":&}" >after.jsonl
    ok timeout 60 "$TAPOOL" replay --min-time 0 after.jsonl -s bump --json
    is "$out" 'r["trace"]["threads"]' 1000000
    for strategy in arena lru stream-pool; do
        ok timeout 60 "$TAPOOL" replay --min-time 0 --limit 100000 after.jsonl -s "$strategy" --json
        is "$out" 'r["memory"]["peak_metadata_bytes"] < 1000000' True
    done
    threads 1000000 "$event" >once.jsonl
    refused 3 'event 65,536: more than 65535 threads at once' "$TAPOOL" replay once.jsonl -s arena
    for strategy in $(strategies); do
        ok timeout 60 "$TAPOOL" replay --min-time 0 --limit 5000 once.jsonl -s "$strategy" --verify
    done
}

# bats test_tags=nightly
@test "a device that is full from the first event on" {
    for strategy in $(strategies); do
        [ "$strategy" = system ] && continue
        for sample in sqlite python-threads; do
            ok replay_once "sample:$sample" -s "$strategy" --capacity 4KiB --verify --json
            is "$out" 'r["memory"]["peak_reserved_bytes"] <= 4096' True
            ok replay_once "sample:$sample" -s "$strategy" --source virtual+fault:get_at=3 --verify
            ok replay_once "sample:$sample" -s "$strategy" --source virtual+fault:put_at=2 --verify
        done
    done
}

@test "options that contradict each other or themselves" {
    contradicts() { # SPEC REGEX
        refused 2 "^tapool: (sample:sqlite: )?$2" "$TAPOOL" replay sample:sqlite -s "$1"
    }
    contradicts arena:alignment=24 "strategy 'arena': 'alignment' must be a power of two$"
    contradicts arena:first_range=1GiB,arena_size=1MiB "strategy 'arena': 'first_range' .* is larger than 'arena_size'"
    contradicts arena:arena_size=0 "option 'arena_size' .* is 0B, below the minimum 64KiB$"
    contradicts arena:classes=none "option 'classes' .* is 'none', which is none of fine, "
    contradicts bump:alignment=48 "strategy 'bump': 'alignment' must be a power of two$"
    contradicts bump:size=0 "option 'size' .* is 0B, below the minimum 1B$"
    contradicts bump:on_full=explode "option 'on_full' .* is 'explode', which is none of fallback, "
    contradicts lru:round=7 "option 'round' .* is '7', which is none of none, "
    contradicts stream-pool:cross_stream=maybe "option 'cross_stream' .* is 'maybe', which is none of query, "
    contradicts stream-pool:threshold=-1 "option 'threshold' .* is '-1', which is not a valid size$"
    contradicts direct:size=1 "strategy 'direct' has no options$"
}
