#!/usr/bin/env bats
# Devices of a given size: who fits, who does not and why; the smallest that does; --verify, --limit.

load common

# figure EXPRESSION: of `run`, the first run of the JSON result on $out.
figure() { query "$out" "$1"; }

# A trace of a device: 64 objects of 2 MiB, every second one freed, then one of 32 MiB is wanted.
holes() {
    local i
    printf '{"format":"tapool-trace","version":1,"meta":{"kind":"device","name":"holes"}}\n'
    printf '{"t":1,"op":"mark","name":"fill"}\n'
    for i in {1..64}; do printf '{"t":%d,"op":"alloc","id":%d,"size":2097152}\n' "$((i + 1))" "$i"; done
    for i in {1..63..2}; do printf '{"t":%d,"op":"free","id":%d}\n' "$((i + 100))" "$i"; done
    printf '{"t":900,"op":"mark","name":"large"}\n'
    printf '{"t":1000,"op":"alloc","id":99,"size":33554432}\n{"t":1100,"op":"free","id":99}\n'
}

@test "screen: who runs out of memory, what was free then, who fits" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena=arena:arena_size=128MiB,first_range=128MiB -s direct --capacity 144MiB
    golden capacity-holes <"$out"
    tool width 100 <"$out"
    matches "$out" 'in phase .large., requested 32 MiB'
    matches "$out" 'OOM by fragmentation: [0-9.]+ MiB free, largest part [0-9.]+ MiB, 32 MiB requested. Min$'
    matches "$out" '^  direct +fits'
}

@test "demand: no strategy could serve it" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s direct --capacity 80MiB
    matches "$out" 'OOM by demand: 82 MiB requested, 80 MiB on the device'
    matches "$out" 'Min capacity 128 MiB'
}

@test "demand: a realloc needs its new size in place of the old one" {
    lines '{"op":"alloc","id":1,"size":1048576}' '{"op":"realloc","id":1,"size":3145728}' >grow.jsonl
    ok replay_once grow.jsonl -s direct --source virtual --capacity 2MiB
    matches "$out" 'requested 3 MiB to replace 1 MiB'
    matches "$out" 'OOM by demand: 3 MiB requested, 2 MiB on the device'
    ok replay_once grow.jsonl -s direct --source virtual --capacity 2MiB --json
    is "$out" '[r["devices"][0]["first_failure"][k] for k in ("class", "size_bytes", "replaced_bytes")]' "['demand', 3145728, 1048576]"
}

@test "two devices: each has its own count" {
    printf '{"format":"tapool-trace","version":1,"meta":{"kind":"device","name":"two"},"streams":[{"id":0,"device":0},{"id":1,"device":1}]}\n' >two.jsonl
    printf '%s\n' '{"op":"alloc","id":1,"size":8388608}' '{"op":"free","id":1}' '{"op":"alloc","id":2,"size":2097152,"stream":1}' \
        '{"op":"alloc","id":3,"size":16777216,"stream":1}' '{"op":"alloc","id":4,"size":16777216,"stream":1}' >>two.jsonl
    ok replay_once two.jsonl -s direct --capacity 4MiB
    matches "$out" '1 of 1 allocation failed$'
    matches "$out" '2 of 3 allocations failed$'
}

@test "a program that was served in part: neither its memory nor its time is the answer" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena:arena_size=128MiB,first_range=128MiB --capacity 144MiB
    matches "$out" 'Summary: arena ran out of memory, first at event 99: 1 allocation failed; requested'
    matches "$out" 'requested +without failed and skipped requests'
    lacks "$out" ', [0-9.]+ ns/op'
}

@test "--bytes writes every size in full" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena:arena_size=128MiB,first_range=128MiB -s lru -s direct --capacity 144MiB --bytes
    lacks "$out" '[0-9] [KMG]iB'
    ok replay_once holes.jsonl -s arena --bytes
    lacks "$out" '[0-9] [KMG]iB'
}

@test "Pick: a reference that fits is not hidden; calls go with the memory that they were counted with" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s a=arena:arena_size=128MiB,first_range=128MiB -s lru -s direct --capacity 144MiB
    matches "$out" '^Pick lru: the only strategy here that fits in 144 MiB, references excluded'
    ok replay_once holes.jsonl -s a=arena:arena_size=128MiB,first_range=128MiB -s lru --capacity 144MiB
    matches "$out" '^Pick lru: the only one of the 2 that fits in 144 MiB'
    lines '{"op":"alloc","id":1,"size":2097152}' '{"op":"alloc","id":2,"size":2097152}' '{"op":"free","id":1}' '{"op":"free","id":2}' \
        '{"op":"alloc","id":1,"size":4194304}' '{"op":"free","id":1}' '{"op":"alloc","id":1,"size":2097152}' >calls.jsonl
    sed -i '1s/"version": 1/"version": 1, "meta": {"kind": "device"}/' calls.jsonl
    ok replay_once calls.jsonl -s lru -s less=lru:capacity_blocks=1
    matches "$out" '^Pick lru: 3 driver calls .peak reserved 8 MiB. vs [4-9] of less, same min capacity$'
}

@test "JSON says the same: classes, the first failure, where it fits" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena:arena_size=128MiB,first_range=128MiB --capacity 144MiB --json
    is "$out" 'r["failed_allocations"], r["skipped_operations"]' '(1, 1)'
    is "$out" 'r["devices"][0]["failed_by"]' "{'demand': 0, 'fragmentation': 1, 'strategy': 0, 'unknown': 0, 'guard': 0}"
    is "$out" '[r["devices"][0]["first_failure"][k] for k in ("class", "phase", "size_bytes", "capacity_bytes")]' \
        "['fragmentation', 'large', 33554432, 150994944]"
    is "$out" 'r["devices"][0]["first_failure"]["state"]["event"], r["first_failed_event"]' '(99, 99)'
    is "$out" '[r["devices"][0]["first_failure"]["state"][k] for k in ("time_ns", "requested_bytes")]' '[1000, 67108864]'
    is "$out" '(lambda s: s["cached_bytes"] + s["span_bytes"] + (144 << 20) - s["reserved_bytes"] >= 32 << 20 > s["largest_free_block_bytes"])(r["devices"][0]["first_failure"]["state"])' True
    is "$out" 'r["memory"]["capacity_bytes"]' 150994944
    is "$out" '[p["name"] for p in r["memory"]["phases"]]' "[None, 'fill', 'large']"
}

@test "the strategy's own limit is no lack of memory" {
    trace '{"op":"alloc","id":1,"size":70000}' '{"op":"alloc","id":2,"size":70000}' >two.json
    ok replay_once two.json -s bump:size=100KiB,on_full=fail
    matches "$out" 'OOM by a limit of the strategy'
    ok replay_once two.json -s bump:size=100KiB,on_full=fail --json
    is "$out" 'r["devices"][0]["failed_by"]["strategy"]' 1
}

@test "a limit that is the device's own size is a lack of memory" {
    trace '{"op":"alloc","id":1,"size":3145728}' '{"op":"alloc","id":2,"size":2097152}' >two.json
    ok replay_once two.json -s bfc:flavour=tf --capacity 4MiB
    matches "$out" 'OOM by demand: 5 MiB requested, 4 MiB on the device'
    ok replay_once two.json -s bfc:limit=4MiB --capacity 8MiB
    matches "$out" 'OOM by a limit of the strategy'
}

# bats test_tags=nightly
@test "on the host who holds far more than the program needs is stopped; the others go on" {
    # two blocks of 30 MiB at a time, 200 in all: a strategy that frees nothing would take 6 GiB
    for i in {1..200}; do
        printf '{"op":"alloc","id":%d,"size":31457280}\n' "$i"
        [ "$i" -eq 1 ] || printf '{"op":"free","id":%d}\n' "$((i - 1))"
    done >events
    mapfile -t events <events
    lines "${events[@]}" >greedy.jsonl
    ok replay_once greedy.jsonl -s arena -s bump --touch none
    matches "$out" 'bump +OUT OF MEMORY +1 of 200 allocations failed$'
    matches "$out" 'stopped by tapool at 1[.0-9]* GiB, over 16x the requested bytes'
    matches "$out" '^  arena +fits'
    matches "$out" '^Pick arena'
    usage=(--touch none --passes usage --json) # resident memory is counted in blocks that are written wholly
    ok replay_once greedy.jsonl -s arena -s bump "${usage[@]}"
    is "$out" '[x["failed_allocations"] for x in d["runs"]], d["runs"][1]["devices"][0]["failed_by"]["guard"]' '([0, 1], 1)'
    is "$out" '(1 << 30) < d["runs"][1]["memory"]["peak_reserved_bytes"] < (2 << 30)' True
    capture replay_once greedy.jsonl -s bump --fail-on oom "${usage[@]}"
    [ "$rc" -eq 1 ]
    for unlimited in '--capacity 0' '--capacity 8GiB' '--source virtual'; do
        # shellcheck disable=SC2086 # words
        ok replay_once greedy.jsonl -s bump --fail-on oom "${usage[@]}" $unlimited
    done
}

@test "the usual set of a host trace holds no region: nothing is freed singly there" {
    ok replay_once sample:jq --json
    is "$out" '[x["strategy"]["name"] for x in d["runs"]]' "['system', 'arena']"
    ok replay_once sample:jq --source virtual --json
    is "$out" '[x["strategy"]["name"] for x in d["runs"]]' "['arena']"
}

@test "the curve: every change of a short trace, the peaks of a long one" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s direct --json
    is "$out" 'r["memory"]["curve"][:4]' '[[0, 0, 0, 0], [2, 2097152, 2097152, 2097152], [3, 4194304, 4194304, 4194304], [4, 6291456, 6291456, 6291456]]'
    is "$out" '"curve" in r["devices"][0]["memory"]' False # once
    ok replay_once holes.jsonl -s direct --json --no-curves
    is "$out" '"curve" in r["memory"], "curve" in r["devices"][0]["memory"]' '(False, False)'
    for name in sqlite jq python-threads; do
        ok replay_once "sample:$name" -s arena --json
        is "$out" 'len(r["memory"]["curve"]) <= 4096' True
        is "$out" '[max(p[i] for p in r["memory"]["curve"]) for i in (1, 2, 3)] == [r["memory"][k] for k in ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")]' True
    done
}

@test "fits in: with that much nothing fails, with a page less something does" {
    holes >holes.jsonl
    for strategy in arena bump direct; do
        ok replay_once holes.jsonl -s $strategy --json
        fits=$(figure 'r["memory"]["min_capacity_bytes"]')
        ok replay_once holes.jsonl -s $strategy --capacity "$fits" --fail-on oom
        capture replay_once holes.jsonl -s $strategy --capacity "$((fits - 2097152))" --fail-on oom
        [ "$rc" -eq 1 ]
    done
}

@test "fits in: asked for by default for devices only, --fits and --no-fits decide" {
    holes >holes.jsonl
    ok replay_once sample:jq -s arena --json
    is "$out" 'r["memory"]["min_capacity_bytes"]' "None"
    ok replay_once sample:jq -s arena --json --fits
    is "$out" 'r["memory"]["min_capacity_bytes"] >= r["memory"]["trace_peak_requested_bytes"]' "True"
    ok replay_once holes.jsonl -s arena --json --no-fits
    is "$out" 'r["memory"]["min_capacity_bytes"]' "None"
    refused 2 'exclude each other' "$TAPOOL" replay holes.jsonl --fits --no-fits
}

@test "--fail-on oom: the report, then exit 1; without it out of memory is an answer" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena:arena_size=128MiB,first_range=128MiB --capacity 144MiB
    capture replay_once holes.jsonl -s arena:arena_size=128MiB,first_range=128MiB --capacity 144MiB --fail-on oom
    [ "$rc" -eq 1 ]
    matches "$out" 'OUT OF MEMORY'
    one_sentence "$err"
    matches "$err" "oom: 'arena' failed 1 of the allocations of holes.jsonl"
    ok replay_once holes.jsonl -s direct --capacity 144MiB --fail-on oom
    refused 2 'nothing that --fail-on knows' "$TAPOOL" replay holes.jsonl --fail-on slow
}

@test "a capacity that cannot be: less than a page, of a real allocator, nonsense" {
    refused 2 'cannot hold one page' "$TAPOOL" replay sample:jq -s arena --capacity 4095
    refused 2 'no capacity can limit it' "$TAPOOL" replay sample:jq -s system --capacity 1GiB
    refused 2 'no capacity can limit it' "$TAPOOL" replay sample:jq -s system --source host+limit:capacity=1GiB
    refused 2 'capacity' "$TAPOOL" replay sample:jq -s arena --capacity lots
    for where in '--capacity 1GiB' '--source virtual' '--source host+limit:capacity=1GiB'; do
        ok replay_once sample:jq $where
        lacks "$out" '^  system'
    done
}

@test "--on-oom stop ends the replay there" {
    holes >holes.jsonl
    ok replay_once holes.jsonl -s arena --capacity 8MiB --on-oom stop --json
    is "$out" 'r["failed_allocations"]' "1"
    ok replay_once holes.jsonl -s arena --capacity 8MiB --json
    is "$out" 'r["failed_allocations"] > 1' "True"
}

# bats test_tags=nightly
@test "--verify passes every strategy, and says so" {
    holes >holes.jsonl
    # all but the driver's own pool, which needs a driver
    for strategy in $("$TAPOOL" strategies | sed -n '/^  cudaMallocAsync /d; s/^  \([A-Za-z-]*\)  .*/\1/p'); do
        ok replay_once sample:python-threads -s "$strategy" --verify
        matches "$out" 'verified: no'
        ok replay_once sample:sqlite -s "$strategy" --verify --json
        is "$out" 'r["verified"]' "True"
        [ "$strategy" = system ] || ok replay_once holes.jsonl -s "$strategy" --verify --capacity 8MiB
    done
    ok replay_once sample:sqlite -s arena --json
    is "$out" 'r["verified"]' "False"
}

@test "references outlive a realloc, and what is left of them goes with the object" {
    trace '{"op":"alloc","id":1,"size":100}' '{"op":"retain","id":1}' '{"op":"realloc","id":1,"size":50000}' \
        '{"op":"free","id":1}' '{"op":"free","id":1}' '{"op":"alloc","id":2,"size":64}' '{"op":"retain","id":2}' \
        '{"op":"alloc","id":3,"size":64}' '{"op":"retain","id":3}' '{"op":"reset"}' \
        '{"op":"alloc","id":2,"size":64}' '{"op":"retain","id":2}' '{"op":"retain","id":2}' >counted.json
    for strategy in lru arena stream-pool bump direct; do
        ok replay counted.json -s "$strategy" --verify --json
        is "$out" 'r["verified"], r["failed_allocations"]' '(True, 0)'
    done
    ok replay counted.json -s lru --json # many replays on one instance: nothing may stay behind
    is "$out" 'r["memory"]["end_reserved_bytes"] <= 2 * 53248' True
}

@test "--limit reads the first events only, and says so" {
    ok replay_once sample:sqlite -s arena --limit 1000
    matches "$out" 'the first 1,000 events'
    ok replay_once sample:sqlite -s arena --limit 1000 --json
    is "$out" 'r["trace"]["events"], r["trace"]["cut"]' "(1000, True)"
    head -c 300000 "$TAPOOL_ROOT/traces/samples/sqlite.json" >cut.json # broken further on
    ok replay_once cut.json -s arena --limit 1000
    ok replay_once sample:sqlite -s arena --limit 6170 --json
    is "$out" 'r["trace"]["cut"]' "False"
    ok replay_once sample:sqlite -s arena --limit 1000000 --json
    is "$out" 'r["trace"]["cut"]' "False"
}

@test "a long name of a phase stays within the screen, and whole characters" {
    local name
    name=$(printf 'äöü€%.0s' {1..30})
    lines '{"op":"mark","name":"'"$name"'"}' '{"op":"alloc","id":1,"size":1048576}' >long.jsonl
    ok replay_once long.jsonl -s direct --source virtual --capacity 64KiB -v
    tool width 100 <"$out"
    iconv -f utf-8 -t utf-8 "$out" >/dev/null
    matches "$out" "in phase$"
    ok "$TAPOOL" info long.jsonl
    tool width 100 <"$out"
}

@test "an out of memory that was recorded tells how large the device was" {
    cat >ran_out.jsonl <<'END'
{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "recorded": {"by": "PyTorch", "has_end": false, "devices": [{"device": 0, "start_reserved_bytes": 2097152}]}}
{"t": 0, "op": "alloc", "id": 1, "size": 1048576}
{"t": 1, "op": "note", "name": "segment_alloc", "size": 2097152}
{"t": 2, "op": "alloc", "id": 2, "size": 2097152}
{"t": 3, "op": "note", "name": "oom", "size": 4194304, "free": 1048576}
{"t": 4, "op": "alloc", "id": 3, "size": 3145728}
END
    # 2 MiB at the start, 2 MiB more, 1 MiB left: 5 MiB; the request that failed then is made again
    ok replay_once ran_out.jsonl -s direct -s lru
    matches "$out" '^recorded OOM +1 time; the failed request is replayed and counted in requested$'
    matches "$out" '^  requested +7 MiB'
    matches "$out" 'the simulated one has 5 MiB, memory limit of the recorded program'
    matches "$out" 'OUT OF MEMORY +2 of 4 allocations failed: skipped, with their 1 later call'
    matches "$out" '^  recorded, PyTorch +4 MiB'
    ok replay_once ran_out.jsonl -s direct --json
    is "$out" 'r["failed_allocations"], r["first_failed_event"]' "(2, 4)"
    is "$out" 'r["devices"][0]["first_failure"]["class"], r["recorded_failures"]["replayed"]' "('demand', 1)"
    is "$out" 'r["memory"]["min_capacity_bytes"], r["memory"]["trace_peak_requested_bytes"]' '(8388608, 7340032)'
    is "$out" 'r["recorded"]["devices"][0]["peak_reserved_bytes"]' 4194304
    ok replay_once ran_out.jsonl -s direct --capacity 0 --json # no limit
    is "$out" 'r["failed_allocations"]' 0
    ok replay_once ran_out.jsonl -s direct --capacity 6MiB --json
    is "$out" 'r["failed_allocations"], r["first_failed_event"]' "(2, 4)"
    ok replay_once ran_out.jsonl -s direct --capacity 8MiB --json
    is "$out" 'r["failed_allocations"]' 0
    ok replay_once ran_out.jsonl -s direct --limit 3 --json # before it happens
    is "$out" 'r["failed_allocations"]' 0
}

# The retries of one request, one that passes every device, one of a host program.
@test "requests that failed when recorded: each is replayed, on a device" {
    head='{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}'
    oom='{"op": "note", "name": "oom", "size": 4194304}'
    printf '%s\n' "$head" '{"op": "alloc", "id": 1, "size": 1048576}' "$oom" "$oom" "$oom" >tries.jsonl
    ok replay_once tries.jsonl -s direct -s lru --capacity 4MiB
    matches "$out" '^recorded OOM +3 times; the 3 failed requests are replayed and counted in requested$'
    matches "$out" 'OUT OF MEMORY +3 of 4 allocations failed: skipped, with their 3 later calls'
    ok "$TAPOOL" info tries.jsonl
    matches "$out" '^  OOM +3 times; first at event 2, 4 MiB requested; the 3 failed requests are replayed$'
    # in all that is counted of the program they are no objects, and no calls
    matches "$out" '^  recorded +4 events: 1 alloc, 3 out of memory$'
    matches "$out" '^At the end +1 live block, 1 MiB; at most 1 live block during the recording$'
    ok "$TAPOOL" info tries.jsonl --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert (d["peak_objects"], d["trace"]["objects"], d["trace"]["frees"]) == (1, 1, 0), d
assert (d["operations"]["alloc"], d["operations"]["free"], d["operations"]["note"]) == (1, 0, 3), d["operations"]
assert d["allocated"]["objects"] == 1 and d["trace"]["operations"] == 7
END
    ok replay_once tries.jsonl -s direct -v
    matches "$out" '^    objects +1 object; 1 live at the end \(1 MiB\), at most 1 at once$'
    printf '%s\n' "$head" '{"op": "alloc", "id": 1, "size": 512}' \
        '{"op": "note", "name": "oom", "size": 281474976710656}' '{"op": "free", "id": 1}' >huge.jsonl
    for strategy in direct lru arena bump stream-pool; do
        ok replay_once huge.jsonl -s $strategy --capacity 80GiB --json
        is "$out" 'r["failed_allocations"], r["skipped_operations"]' "(1, 1)"
        ok replay_once huge.jsonl -s $strategy --json
        is "$out" 'r["memory"]["trace_peak_requested_bytes"]' 281474976711168
    done
    ok replay_once huge.jsonl -s lru --initial-heap drop --capacity 80GiB --verify --json
    is "$out" 'r["failed_allocations"]' 1
    sed 's/"kind": "device"/"kind": "host"/' huge.jsonl >host.jsonl
    ok replay_once host.jsonl -s arena --json
    is "$out" 'r["memory"]["trace_peak_requested_bytes"], r["recorded_failures"]' \
        "(512, {'out_of_memory': 1, 'replayed': 0})"
    ok "$TAPOOL" info host.jsonl
    matches "$out" '^  OOM +1 time; first at event 2, 256 TiB requested$'
}

# bats test_tags=nightly
@test "Pick: no strategy that reuses memory unsafely here, nor one that held far more than another" {
    "$TAPOOL" gen streams -o streams.tpt
    ok "$TAPOOL" replay streams.tpt -s arena -s lru -s stream-pool:release_threshold=max --source virtual --min-time 10ms
    matches "$out" '^Pick lru: ' # arena is the smallest, and stream-pool has the fewest calls of the others
    ok "$TAPOOL" replay streams.tpt -s arena -s lru --source virtual --min-time 10ms
    matches "$out" '^Pick lru: the only strategy here that respects streams$'
    ok "$TAPOOL" replay streams.tpt -s arena -s direct --source virtual --min-time 10ms
    matches "$out" '^Pick arena: ' # nobody is safe
}

@test "a block from before the first event that finds no room is no allocation that failed" {
    {
        printf '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}\n'
        printf '{"op": "initial", "id": %d, "size": 4194304}\n' 1 2 3
        printf '{"op": "alloc", "id": %d, "size": 2097152}\n' 4 5
        printf '{"op": "free", "id": 4}\n'
    } >began.jsonl
    ok replay_once began.jsonl -s direct --capacity 12MiB # two allocations fail, no block from before
    matches "$out" 'OUT OF MEMORY +2 of 2 allocations failed: skipped, with their 1 later call$'
    ok replay_once began.jsonl -s direct --capacity 10MiB # one block fails, and one allocation
    matches "$out" 'OUT OF MEMORY +1 of 3 initial blocks and 1 of 2 allocations failed$'
    tr '\n' ' ' <"$out" | tr -s ' ' >line
    matches line 'Summary: direct ran out of memory, first before the first event: 1 initial block and 1 allocation failed; requested '
    ok replay_once began.jsonl -s direct -s lru --capacity 10MiB
    matches "$out" '^  direct +OUT OF MEMORY +1 of 3 initial blocks and 1 of 2 allocations failed$'
    head -n 4 began.jsonl >alone.jsonl
    printf '{"op": "free", "id": 1}\n{"op": "alloc", "id": 6, "size": 512}\n' >>alone.jsonl
    ok replay_once alone.jsonl -s direct --capacity 8MiB -v
    matches "$out" 'OUT OF MEMORY +1 of 3 initial blocks failed$'
    matches "$out" '^    failed_allocations +1, 1 by demand; 1 of them initial blocks$'
    lacks "$out" 'allocations? failed'
    ok replay_once alone.jsonl -s direct --capacity 8MiB --json
    is "$out" 'r["failed_allocations"], r["failed_initial_blocks"], r["devices"][0]["failed_initial_blocks"]' '(1, 1, 1)'
    ok "$TAPOOL" compare alone.jsonl -s direct -s lru --capacity 8MiB --rounds 2 --min-time 0
    matches "$out" 'direct: OUT OF MEMORY, 1 initial block failed; its times are not compared'
}
