#!/usr/bin/env bats
# A device that was full, and empty_cache(): read from what goes back to the driver. The snapshots are made by a model of
# PyTorch's public rules (rules_snapshot.py), which says what it did; real runs are those of h200.bats.

# shellcheck disable=SC2154 # out comes from common.bash
load common

setup() {
    enter_folder
    export TAPOOL_CUDA_DRIVER=/nonexistent # what the recorded device had is no limit of a real one
}

# made KIND: its snapshot is KIND.pickle, what the model did KIND.figures.
made() {
    python3 "$BATS_TEST_DIRNAME/rules_snapshot.py" "$1" >"$1.pickle"
    python3 "$BATS_TEST_DIRNAME/rules_snapshot.py" "$1" figures >"$1.figures"
}

# did KIND NAME
did() { query "$1.figures" "d['$2']"; }

# as_recorded KIND: a replay does what the model did.
as_recorded() {
    ok "$TAPOOL" replay "$1.pickle" -s torch --passes usage --json
    is "$out" "[r['memory']['peak_reserved_bytes'], r['driver_calls']['get'], r['driver_calls']['put'], r['driver_calls']['retry'], r['failed_allocations']]" \
        "[$(did "$1" peak), $(did "$1" taken), $(did "$1" returned), $(did "$1" retries), $(did "$1" failed)]"
}

@test "failed cudaMallocs are recognised, with frames and without, and the replay fails where they did" {
    for kind in short short-unframed share emptied-short; do
        made "$kind"
        [ "$(did "$kind" retries)" -gt "$(did "$kind" failed)" ] || fail "$kind: the model's device is not full"
        as_recorded "$kind"
        ok "$TAPOOL" info "$kind.pickle" --json
        is "$out" "d['recorded']['devices'][0]['retries']" "$(did "$kind" retries)"
        ok "$TAPOOL" why "$kind.pickle" --json
        is "$out" "d['devices'][0]['retries']" "$(did "$kind" retries)"
        is "$out" "870 <= d['devices'][0]['capacity_bytes'] >> 20 < 896 or '$kind' == 'share'" True
    done
    ok "$TAPOOL" info short.pickle
    sed -n 2p "$out" >second
    matches second '^  device full +cudaMalloc failed 4 times, first at event [0-9,]+: each time the whole cache'
    ok "$TAPOOL" why short.pickle
    sed -n 1p "$out" >first
    matches first '^Device full +cudaMalloc failed 4 times'
    ok "$TAPOOL" why share.pickle # the device had 80 GB, and what failed was a share of it
    matches "$out" '^Device full +the memory limit of the process was reached 13 times'
    matches "$out" 'capacity 80[0-9.]* MiB, a limit of the process; '
}

@test "empty_cache() is no failed cudaMalloc: by its frames, and where the device had given more before" {
    for kind in emptied emptied-unframed emptied-allocs; do
        made "$kind"
        [ "$(did "$kind" returned)" -gt 20 ] || fail "$kind: the model gave nothing back"
        as_recorded "$kind"
        ok "$TAPOOL" info "$kind.pickle"
        lacks "$out" 'device full'
    done
}

@test "segments that grow are the recorded setting of an older version, and are not advised" {
    made old-growing
    made old-fixed
    as_recorded old-growing
    ok "$TAPOOL" tune old-growing.pickle --grid 'expandable_segments:True,max_split_size_mb:default' --json
    is "$out" "[(x['setting'], x['recorded']) for x in d['settings']]" "[('expandable_segments:True', True), ('', False)]"
    is "$out" "d['answer']['verdict']" fine
    ok "$TAPOOL" why old-growing.pickle
    lacks "$out" '^  expandable_segments:True'
    ok "$TAPOOL" tune old-fixed.pickle --grid 'expandable_segments:True' --json
    is "$out" "[(x['setting'], x['recorded']) for x in d['settings']]" "[('', False), ('expandable_segments:True', False)]"
    is "$out" "d['answer']['verdict']" set
}

@test "the text to paste names the variable of the recorded device; other rules give no advice" {
    for kind in npu hip xpu; do
        made "$kind"
        ok "$TAPOOL" tune "$kind.pickle" --grid 'expandable_segments:True'
        cp "$out" "$kind.out"
    done
    matches npu.out '^Set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True$'
    matches hip.out '^Set PYTORCH_HIP_ALLOC_CONF=expandable_segments:True$'
    matches xpu.out '^Set PYTORCH_ALLOC_CONF=expandable_segments:True$'
    made npu-growing # whose file has no settings, and names no variable
    ok "$TAPOOL" tune npu-growing.pickle
    matches "$out" '^Keep the recorded setting'
    lacks "$out" CUDA
    made npu-as-cuda
    ok "$TAPOOL" tune npu-as-cuda.pickle
    matches "$out" '^No advice: the rules of torch reproduce [0-9]+ of 463 recorded addresses'
    lacks "$out" '^Set '
    lacks "$out" 'expandable_segments:True$'
    ok "$TAPOOL" why npu-as-cuda.pickle
    matches "$out" 'other settings$'
    lacks "$out" '^Setting'
}

# with_conf FROM TO TEXT: a snapshot with other recorded settings.
with_conf() {
    python3 - "$@" <<'END'
import pickle, sys
d = pickle.load(open(sys.argv[1], "rb"))
d["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = sys.argv[3]
pickle.dump(d, open(sys.argv[2], "wb"), protocol=4)
END
}

@test "the text to paste keeps recorded keys that decide nothing here, and has no key that the release refuses" {
    local kept=graph_capture_record_stream_reuse:True,pinned_num_register_threads:8
    made cuda
    with_conf cuda.pickle kept.pickle "$kept"
    ok "$TAPOOL" tune kept.pickle
    matches "$out" "^Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,$kept\$"
    matches "$out" "^  each with $kept, as recorded\$"
    # no events with user_metadata: 2.9, which refuses large_segment_size_mb
    lacks "$out" large_segment_size_mb
    ok "$TAPOOL" tune cuda.pickle
    lacks "$out" large_segment_size_mb
    lacks "$out" 'each with'
    made newest
    ok "$TAPOOL" tune newest.pickle
    matches "$out" 'large_segment_size_mb'
}

@test "settings are read for the variable that the recording names" {
    made cuda
    python3 - <<'END'
import pickle
d = pickle.load(open("cuda.pickle", "rb"))
d["allocator_settings"]["PYTORCH_ALLOC_CONF"] = d["allocator_settings"].pop("PYTORCH_CUDA_ALLOC_CONF")
pickle.dump(d, open("newer.pickle", "wb"), protocol=4)
END
    ok "$TAPOOL" tune cuda.pickle --grid 'expandable_segments:True'
    matches "$out" '^Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True$'
    ok "$TAPOOL" tune newer.pickle --grid 'expandable_segments:True'
    matches "$out" '^Set PYTORCH_ALLOC_CONF=expandable_segments:True$'
    # the file has the older name in every release; its events show that it is of 2.10 or newer
    for kind in older:PYTORCH_CUDA_ALLOC_CONF newer:PYTORCH_ALLOC_CONF newest:PYTORCH_ALLOC_CONF; do
        made "${kind%:*}"
        ok "$TAPOOL" tune "${kind%:*}.pickle" --grid 'expandable_segments:True'
        matches "$out" "^Set ${kind#*:}=expandable_segments:True\$"
    done
}

# both ONE OTHER: devices 0 and 1 of one snapshot.
both() {
    python3 - "$1.pickle" "$2.pickle" <<'PY'
import pickle, sys
one, other = (pickle.load(open(name, "rb")) for name in sys.argv[1:])
for segment in other["segments"]:
    segment["device"] = 1
one["segments"] += other["segments"]
one["device_traces"] += other["device_traces"]
pickle.dump(one, open("both.pickle", "wb"), protocol=4)
PY
}

@test "why the replay as recorded differs from PyTorch: the rules, or limits of the devices" {
    made change
    ok "$TAPOOL" tune change.pickle --grid '' --bytes # the longest figures
    tr -s '\n ' ' ' <"$out" >line
    matches line 'differs from PyTorch by [0-9,]+ B less reserved and 16 fewer driver calls: the rules reproduce 413 of 463'
    made cuda
    made short
    both cuda short
    for command in 'tune --grid expandable_segments:True' 'replay -s torch --min-time 0'; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" $command both.pickle
        tr -s '\n ' ' ' <"$out" >line
        matches line '21 fewer driver calls: the recorded devices have different memory limits; --device N replays'
    done
    ok "$TAPOOL" tune both.pickle --grid expandable_segments:True --device 1
    lacks "$out" 'differs from PyTorch'
    for command in 'tune --grid expandable_segments:True' 'replay -s torch --min-time 0'; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" $command short.pickle --capacity 0 # another device, of which nothing is claimed
        lacks "$out" 'differs from PyTorch'
    done
    both cuda cuda
    ok "$TAPOOL" tune both.pickle --grid expandable_segments:True
    lacks "$out" 'differs from PyTorch'
    ok "$TAPOOL" why short.pickle --conf max_split_size_mb:1024
    matches "$out" '^  as given \(--conf\) '
    lacks "$out" '[Aa]s recorded'
    ok "$TAPOOL" why short.pickle
    matches "$out" '^  as recorded '
}

@test "garbage is collected above a share of the GPU: not advised where other programs may have the rest" {
    local grid=garbage_collection_threshold:0.6,per_process_memory_fraction:1.0 text='^  !: garbage_collection_threshold is a share'
    made short # cudaMalloc failed
    made share # the limit of the process was reached
    ok "$TAPOOL" tune short.pickle --grid $grid --all
    matches "$out" "$text"
    matches "$out" 'per_process_memory_fraction:1\.0 !$'
    lacks "$out" '^Set '
    for how in 'short.pickle --capacity 870MiB' share.pickle; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" tune $how --grid $grid --all
        lacks "$out" "$text"
    done
}

# a pool of 40 MiB goes back right before 100 MiB are taken; idle: what else is free goes with it
pool_gone() { # [idle]
    python3 - "$@" <<'PY'
import pickle, sys
MIB = 1 << 20
def event(action, addr, mib, pool=(0, 0)):
    return dict(action=action, addr=addr * MIB, size=mib * MIB, stream=0, time_us=5, pool_id=tuple(list(pool)),
                frames=[dict(filename="/home/me/train.py", line=7, name="step")])
def block(addr, mib, pool=(0, 0)):
    return [event("segment_alloc", addr, mib, pool), event("alloc", addr, mib, pool)]
def free(addr, mib, pool=(0, 0)):
    return [event("free_requested", addr, mib, pool), event("free_completed", addr, mib, pool)]
def segment(addr, mib, live):
    return dict(address=addr * MIB, total_size=mib * MIB, device=0, stream=0, segment_type="large",
                segment_pool_id=(0, 0), blocks=[dict(address=addr * MIB, size=mib * MIB, requested_size=live * mib * MIB,
                state="active_allocated" if live else "inactive")])
idle = [event("segment_free", 1000, 20)] if sys.argv[1:] else []
trace = (block(1000, 20) + free(1000, 20) + block(1100, 40, (0, 1)) + free(1100, 40, (0, 1)) + idle +
         [event("segment_free", 1100, 40, (0, 1))] + block(1200, 100))
left = [segment(1200, 100, 1)] + ([] if idle else [segment(1000, 20, 0)])
pickle.dump(dict(segments=left, device_traces=[trace],
                 allocator_settings={"PYTORCH_CUDA_ALLOC_CONF": ""}), open("gone.pickle", "wb"), protocol=4)
PY
}

@test "a private pool that goes back is no failed cudaMalloc" {
    pool_gone
    ok "$TAPOOL" info gone.pickle
    lacks "$out" 'device full'
    ok "$TAPOOL" verify gone.pickle
    ok "$TAPOOL" tune gone.pickle --grid expandable_segments:True
    tr -s '\n ' ' ' <"$out" >line
    matches line '1 fewer driver call: PyTorch freed 1 segment of private pools, which the replay keeps'
    pool_gone idle # then the whole cache was freed
    ok "$TAPOOL" info gone.pickle
    matches "$out" '^  device full +cudaMalloc failed 1 time'
}
