#!/usr/bin/env bats
# tapool tune: exit codes, what is printed, and the document. tests/unit/cmd/test_tune.c holds the grid,
# the front and the sentences.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch
SCHEMA=$TAPOOL_ROOT/cmd/tune/tune.schema.json
SMALL=complete-small.pickle STEP=training-step.pickle.gz
GRID='max_split_size_mb:default|32|128,roundup_power2_divisions:default|4'

setup() {
    enter_folder
    cp "$DATA/$SMALL" "$DATA/$STEP" . # no path of this machine in a screen
}

@test "a snapshot without a known device: what needs less" {
    shown tune "$TAPOOL" tune "$SMALL" --grid "$GRID"
    matches "$out" '^Set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32$'
    matches "$out" '^  3.521 GiB -> 3.041 GiB reserved .-13.6%.$'
    lacks "$out" 'retries'
    # the same text pasted into the strategy: the same peak
    ok "$TAPOOL" replay "$SMALL" -s torch:conf=max_split_size_mb:32 --source virtual --passes usage --json
    is "$out" "r['memory']['peak_reserved_bytes']" 3265265664
}

@test "a device that is too small for what is set" {
    fitting "$TAPOOL" tune "$STEP" --capacity 3.7GiB \
        --grid 'max_split_size_mb:128,large_segment_size_mb:40|64' --grid expandable_segments:True
    matches "$out" '^  - +base +no, event 1,844 +50 +2  defaults \(as recorded\)$'
    matches "$out" '^Set PYTORCH_ALLOC_CONF=expandable_segments:True$'
    matches "$out" '^  estimate from a compacted start: 3\.674 GiB reserved, .*without running out of memory$'
    ok "$TAPOOL" tune "$STEP" --capacity 3GiB --grid 'max_split_size_mb:128'
    grep -q '3.585 GiB are requested, and the device has 3 GiB' <(tr '\n' ' ' <"$out")
}

@test "a replay that takes too long says where it was" {
    refused 4 "'torch' had not ended after 1 ns: it was .*event" \
        "$TAPOOL" tune "$STEP" --grid max_split_size_mb:64 --timeout 1ns
    matches "$err" '^hint: was it stuck'
}

# bats test_tags=nightly
@test "the usual settings: those that cannot be tried are said, and nothing else is lost" {
    ok "$TAPOOL" tune "$SMALL" --json
    is "$out" "len(d['settings'])" 64
    is "$out" "sum(x['refused'] is None and x['setting'].startswith('garbage') for x in d['settings'])" 0
    ok "$TAPOOL" tune "$SMALL" --capacity 8GiB --json
    is "$out" "sum(x['refused'] is None and x['setting'].startswith('garbage') for x in d['settings'])" 12
    is "$out" "[x['refused'] for x in d['settings'] if x['refused']]" '[]'
    ok "$TAPOOL" tune "$SMALL" --capacity 8GiB --all
    matches "$out" 'garbage_collection_threshold:0.8,per_process_memory_fraction:1.0$'
    ok "$TAPOOL" tune "$SMALL" --all
    grep -qx "left out        12 settings: 'per_process_memory_fraction' needs the device's size (--capacity SIZE)" "$out"
    ok "$TAPOOL" tune "$SMALL"
    lacks "$out" 'left out'
    ok "$TAPOOL" tune "$SMALL" --grid per_process_memory_fraction:0.5 --all
    grep -q "^left out        per_process_memory_fraction:0.5: 'per_process_memory_fraction' needs the device's" "$out"
}

@test "several files are one job" {
    shown tune-job "$TAPOOL" tune "$SMALL" "$STEP" \
        --grid "$GRID" --capacity 3.7GiB
    ok "$TAPOOL" tune "$SMALL" "$STEP" --grid "$GRID" --json
    cp "$out" both.json
    ok "$TAPOOL" tune "$STEP" --grid "$GRID" --json
    base="d['settings'][0]"
    is both.json "$base['peak_file']" 1
    is both.json "$base['peak_reserved_bytes']" "$(query "$out" "$base['peak_reserved_bytes']")"
    is both.json "$base['files'][1]['driver_calls']" "$(query "$out" "$base['driver_calls']")"
    is both.json "$base['driver_calls'] == sum(f['driver_calls'] for f in $base['files']) == 9" True
}

@test "what was recorded is the base, also from a converted snapshot" {
    ok "$TAPOOL" tune "$DATA/small-p4.pickle" --grid max_split_size_mb:64 --json
    is "$out" "d['settings'][0]['setting']" expandable_segments:True
    is "$out" "d['settings'][0]['recorded']" True
    ok "$TAPOOL" convert "$DATA/small-p4.pickle" -o small.tpt
    ok "$TAPOOL" tune small.tpt --grid max_split_size_mb:64 --json
    is "$out" "d['settings'][0]['setting']" expandable_segments:True
}

@test "what harms together is marked, and never proposed" {
    ok "$TAPOOL" tune "$SMALL" --grid 'expandable_segments:True,max_split_size_mb:32' --all
    matches "$out" '^ +3.0[0-9]+ GiB .* expandable_segments:True,max_split_size_mb:32 !$'
    matches "$out" '^Keep the defaults: no other setting could be tried'
    ok "$TAPOOL" tune "$DATA/small-p4.pickle" --grid 'max_split_size_mb:20' --all
    matches "$out" '  max_split_size_mb:20 .*!'
    matches "$out" '^  !: max_split_size_mb is not above the segment size: freed segments of that size are never reused'
}

@test "what cannot be used is left out" {
    grid='expandable_segments:default|True,max_split_size_mb:default|32'
    ok "$TAPOOL" tune "$SMALL" --grid "$grid" --json
    is "$out" "sorted(x['setting'] for x in d['settings'] if not x['reference'])" \
        "['', 'expandable_segments:True', 'expandable_segments:True,max_split_size_mb:32', 'max_split_size_mb:32']"
    for use in '--for windows' '--for vllm-sleep' '--without expandable_segments'; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" tune "$SMALL" --grid "$grid" --json $use
        is "$out" "sorted(x['setting'] for x in d['settings'] if not x['reference'])" "['', 'max_split_size_mb:32']"
    done
    # what was recorded is then no answer either
    growing="$TAPOOL_ROOT/tests/data/h200/varlen-expandable.pickle.zst"
    for use in '--for windows' '--without expandable_segments'; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" tune "$growing" --grid max_split_size_mb:default $use
        matches "$out" '^Leave PYTORCH_ALLOC_CONF unset$'
        matches "$out" '^! recorded setting: --without or --for leaves it out$'
    done
    ok "$TAPOOL" tune "$growing" --grid max_split_size_mb:default --without max_split_size_mb --grid max_split_size_mb:64
    matches "$out" '^Keep the recorded setting'
    ok "$TAPOOL" tune "$SMALL" --grid expandable_segments:False --for windows --json # that works there
    is "$out" "[x['setting'] for x in d['settings'] if not x['reference']]" "['', 'expandable_segments:False']"
    refused 2 "'--without expandable': no setting that is tried has this key" "$TAPOOL" tune "$SMALL" --without expandable
}

@test "one answer: as recorded, tune and replay need the same" {
    for file in "$SMALL" "$STEP" "$TAPOOL_ROOT"/tests/data/h200/varlen-{midrun,fraction2400,gc}.pickle.zst; do
        ok "$TAPOOL" tune "$file" --grid max_split_size_mb:64 --json
        tuned=$(query "$out" "(lambda s: [s['peak_reserved_bytes'], s['driver_calls'], s['retries'], s['failed_allocations']])(d['settings'][0])")
        ok env TAPOOL_CUDA_DRIVER=/nonexistent "$TAPOOL" replay "$file" -s torch --passes usage --json
        is "$out" "[r['memory']['peak_reserved_bytes'], r['driver_calls']['get'] + r['driver_calls']['put'], r['driver_calls']['retry'], r['failed_allocations']]" "$tuned"
    done
}

@test "the context of the GPU is not PyTorch's" {
    ok "$TAPOOL" tune "$SMALL" --grid max_split_size_mb:32 --capacity 4GiB --reserve 256MiB --json
    is "$out" "d['files'][0]['capacity_bytes']" 4026531840
    is "$out" "[bool(x['failed_allocations']) for x in d['settings'] if not x['reference']]" '[False, False]'
    ok "$TAPOOL" tune "$SMALL" --grid max_split_size_mb:32 --capacity 4GiB --reserve 600MiB --json
    is "$out" "[bool(x['failed_allocations']) for x in d['settings'] if not x['reference']]" '[True, False]'
}

@test "the document follows its schema, and holds every member of it" {
    needs_jsonschema
    ok "$TAPOOL" tune "$DATA/small-p5.pickle" --grid max_split_size_mb:64 --json
    cp "$out" small.json
    device_trace >gpu.trace
    ok "$TAPOOL" tune "$SMALL" gpu.trace --capacity 4GiB --json
    cp "$out" two.json
    without=driver_pool
    if [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ]; then
        ok env TAPOOL_FAKE_CUDA_REPORT=report TAPOOL_CUDA_DRIVER="$TAPOOL_FAKE_CUDA_PATH" "$TAPOOL" tune gpu.trace --json
        cp "$out" small.json
        without=nothing
    fi
    schema shape "$SCHEMA"
    schema shared "$TAPOOL_ROOT/cmd/results/result.schema.json" "$SCHEMA"
    schema valid "$SCHEMA" small.json two.json
    schema covered "$SCHEMA" "--without=$without" small.json two.json
    schema mutants "$SCHEMA" two.json
}

@test "the driver's pool is measured where a GPU is" {
    [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ] || skip "the fake driver is not built: it needs the CUDA Toolkit"
    device_trace >gpu.json
    not grep -q cudaMallocAsync <("$TAPOOL" tune gpu.json --json)
    export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
    ok "$TAPOOL" tune gpu.json gpu.json --capacity 64MiB
    matches "$out" '^ +[0-9.]+ MiB +- +yes +- +- +1  backend:cudaMallocAsync \(measured'
    ok "$TAPOOL" replay gpu.json -s cudaMallocAsync:pool=own --passes usage --json
    peak=$(query "$out" "r['memory']['peak_reserved_bytes']")
    ok "$TAPOOL" tune gpu.json --json
    is "$out" "d['driver_pool']" "{'peak_reserved_bytes': $peak, 'failed_allocations': 0}"
    ok env TAPOOL_CUDA_DRIVER=/nonexistent "$TAPOOL" tune gpu.json --all
    matches "$out" '^left out +backend:cudaMallocAsync: '
}

@test "what cannot be tuned" {
    refused 2 'tune needs a PyTorch snapshot' "$TAPOOL" tune
    refused 2 "did you mean 'max_split_size_mb'" "$TAPOOL" tune "$SMALL" --grid max_split_size:40
    refused 2 'a number of MiB from 20 on' "$TAPOOL" tune "$SMALL" --grid max_split_size_mb:19
    refused 2 'key:value' "$TAPOOL" tune "$SMALL" --grid max_split_size_mb
    refused 3 'is a host trace: tune takes one of these, or several GPU snapshots' "$TAPOOL" tune sample:sqlite "$SMALL"
    refused 3 'missing.pickle' "$TAPOOL" tune missing.pickle
    refused 3 '' "$TAPOOL" tune "$DATA/ORIGIN.md"
    trace >empty.trace
    refused 3 '' "$TAPOOL" tune empty.trace
}
