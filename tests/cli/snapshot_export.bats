#!/usr/bin/env bats
# replay --export-snapshot: read by a strict reader (snapshot_check.py), which compares it with the JSON
# result, and by tapool itself.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch
CORPUS=${TAPOOL_SHARED:-$TAPOOL_ROOT/../shared}/corpus/pytorch

setup() { enter_folder; }

# snapshot TRACE ARGS...: x.pickle of one replay, checked.
snapshot() {
    ok replay_once "$@" --no-fits -f --export-snapshot x.pickle --export-json x.json || return 1
    python3 "$CLI/snapshot_check.py" x.pickle x.json >facts || fail "of replay $*"
}

@test "what torch does is what verify expects of PyTorch" {
    for trace in complete-small.pickle training-step.pickle.gz small-p4.pickle; do
        snapshot "$DATA/$trace" -s torch
        ok "$TAPOOL" verify x.pickle
        not grep -q 'first difference' "$out"
    done
    snapshot "$DATA/training-step.pickle.gz" -s torch --capacity 3500MiB
    grep -q 'oom=9' facts
    ok "$TAPOOL" verify x.pickle
    snapshot "$DATA/complete-small.pickle" -s torch:conf=expandable_segments:True
    grep -q 'segment_map=10' facts
    ok "$TAPOOL" verify x.pickle
    # rules of a release are found again
    for kind in older newest; do
        python3 "$CLI/rules_snapshot.py" $kind >$kind.pickle
        snapshot $kind.pickle -s torch
        ok "$TAPOOL" verify x.pickle
        grep -q '^fidelity 463 of 463 addresses' "$out"
    done
    snapshot older.pickle -s torch:version=2.14
    ok "$TAPOOL" verify x.pickle
}

@test "ordinary segments of the recorded heap beside new ones that grow, and those of a recorded heap" {
    snapshot "$DATA/training-step.pickle.gz" -s torch:conf=expandable_segments:True --capacity 3500MiB
    grep -q 'oom=9 segment_map=24 segment_unmap=1' facts
    ok "$TAPOOL" verify x.pickle
    not grep -q 'first difference' "$out"
    growing_mid_run mid.pickle
    snapshot mid.pickle -s torch
    grep -q 'segment_map=2' facts
    ok "$TAPOOL" verify x.pickle
    grep -q '^fidelity 13 of 13 addresses, 2 of 2 segments' "$out"
}

@test "what torch leaves is what PyTorch left: segments, blocks, sums, who asked" {
    for trace in "$DATA/complete-small.pickle" "$DATA/training-step.pickle.gz" "$CORPUS/newest-format.pickle" \
        "$CORPUS/ring-wrapped.pickle.gz" "$CORPUS/training-999-segments.pickle.gz"; do
        [ -f "$trace" ] || continue
        ok replay_once "$trace" -s torch --no-fits -f --export-snapshot x.pickle --export-json x.json
        python3 "$CLI/snapshot_check.py" x.pickle x.json "$trace" >facts || fail "of $trace"
    done
}

@test "read back: the same program, and what the replay said" {
    for strategy in direct torch arena; do
        snapshot "$DATA/complete-small.pickle" -s "$strategy"
        ok replay_once x.pickle -s torch --no-fits --format json
        cp "$out" back.json
        python3 - "$DATA/complete-small.pickle" <<'END' || fail "of $strategy"
import json
a, b = (json.load(open(f))["runs"][0] for f in ("x.json", "back.json"))
for key in ("trace_peak_requested_bytes", "peak_requested_bytes"):
    assert a["memory"][key] == b["memory"][key], key
assert a["driver_calls"]["allocations"] == b["driver_calls"]["allocations"]
END
    done
    snapshot "$DATA/complete-small.pickle" -s torch
    ok "$TAPOOL" info x.pickle
    grep -q '36 alloc, 26 free, 26 free requested, 9 of segments' "$out"
    grep -q '3.521 GiB at$' "$out"
}

@test "the frames of the trace: who held the memory is read back, whatever replayed" {
    for strategy in direct torch arena; do
        snapshot "$DATA/complete-small.pickle" -s "$strategy"
        grep -q 'stacks=36' facts
        ok "$TAPOOL" info "$DATA/complete-small.pickle" --export-folded first -f
        ok "$TAPOOL" info x.pickle --export-folded second -f
        diff first second
    done
    ok "$TAPOOL" why x.pickle --at end --export-folded end
    ok "$TAPOOL" info "$DATA/complete-small.pickle" --at 97 --export-folded end97
    diff <(sort end) <(sort end97)
    snapshot "$DATA/training-step.pickle.gz" -s torch
    grep -q 'stacks=2162' facts
    for small in small-p2 small-p4 small-cpp; do snapshot "$DATA/$small.pickle" -s arena; done
}

@test "places of other formats are frames: file, line and function, as far as they are known" {
    cat >places.json <<'END'
{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "events": [
  {"op": "alloc", "id": 1, "size": 4194304, "place": "a.c:7 f"},
  {"op": "alloc", "id": 2, "size": 4194304, "place": "g (lib.so)"},
  {"op": "alloc", "id": 3, "size": 4194304},
  {"op": "note", "name": "free_requested", "id": 2, "size": 4194304},
  {"op": "free", "id": 1, "place": "anything at all"}]}
END
    snapshot places.json -s direct
    python3 - <<'END'
import pickle
s = pickle.load(open("x.pickle", "rb"))
a = [{"filename": "a.c", "line": 7, "name": "f"}]
g = [{"filename": "lib.so", "line": 0, "name": "g"}]
other = [{"filename": "??", "line": 0, "name": "anything at all"}]
got = [(e["action"], e["frames"]) for e in s["device_traces"][0]]
assert got == [("segment_alloc", a), ("alloc", a), ("segment_alloc", g), ("alloc", g), ("segment_alloc", []),
               ("alloc", []), ("free_requested", []), ("free_requested", other), ("free_completed", other),
               ("segment_free", other)], got
left = [(x["frames"], b["state"], b["frames"], x["allocated_size"] > 0) for x in s["segments"] for b in x["blocks"]]
assert left == [(g, "active_pending_free", g, False), ([], "active_allocated", [], True)], left
END
}

@test "what is left when a request fails is a number, known or not" {
    snapshot sample:jq -s direct --source virtual+fault:get_at=3
    grep -q 'oom=' facts
    python3 -c '
import pickle
left = {e["device_free"] for e in pickle.load(open("x.pickle", "rb"))["device_traces"][0] if e["action"] == "oom"}
assert left == {0}, left'
}

# bats test_tags=nightly
@test "every strategy, on the host and on devices" {
    device_trace >gpu.json
    captured_trace >rich.json
    for strategy in direct bump arena lru stream-pool torch; do
        snapshot gpu.json -s "$strategy"
    done
    for strategy in direct arena; do snapshot sample:jq -s "$strategy"; done
    snapshot rich.json -s arena
    snapshot "$DATA/small-p4.pickle" -s arena
    snapshot sample:jq -s arena --source host+shuffle
}

@test "the same bytes every time" {
    snapshot sample:jq -s arena
    cp x.pickle first.pickle
    snapshot sample:jq -s arena
    cmp x.pickle first.pickle
    ok replay_once sample:jq -s arena --format snapshot
    cmp x.pickle "$out"
}

# bats test_tags=nightly
@test "the strict reader can fail" {
    snapshot "$DATA/complete-small.pickle" -s torch
    python3 - <<'END'
import copy, pickle
good = pickle.load(open("x.pickle", "rb"))
def bad(name, change):
    s = copy.deepcopy(good)
    change(s)
    pickle.dump(s, open(name + ".bad", "wb"), protocol=4)
bad("size", lambda s: s["segments"][0]["blocks"][0].update(size=512))
bad("twice", lambda s: s["device_traces"][0].insert(2, s["device_traces"][0][1]))
bad("type", lambda s: s["device_traces"][0][0].update(stream="0"))
bad("key", lambda s: s["segments"][0].pop("frames"))
bad("live", lambda s: s["device_traces"][0].pop())
bad("pool", lambda s: s["device_traces"][0][0].update(pool_id=[0, 0]))
bad("frames", lambda s: s["segments"][0]["blocks"][0].pop("frames"))
bad("frame", lambda s: s["device_traces"][0][0]["frames"][0].pop("line"))
bad("again", lambda s: s["device_traces"][0][1].update(frames=copy.deepcopy(s["device_traces"][0][1]["frames"])))
bad("state", lambda s: next(b for x in s["segments"] for b in x["blocks"] if b["requested_size"])
    .update(state="active_pending_free"))
bad("double", lambda s: s["device_traces"][0][0].update(time_us=(1 << 53) + 1))
bad("outside", lambda s: s["device_traces"][0].extend([
    dict(s["device_traces"][0][-1], action=a, addr=1 << 47, size=512) for a in ("alloc", "free_completed")]))
END
    for file in *.bad; do
        not python3 "$CLI/snapshot_check.py" "$file" x.json
    done
}

@test "several results are several files, and what exists is kept" {
    ok replay_once "$DATA/complete-small.pickle" -s torch -s arena --no-fits --export-snapshot s.pickle
    ls s-torch.pickle s-arena.pickle
    capture replay_once "$DATA/complete-small.pickle" -s torch -s arena --export-snapshot s.pickle
    [ "$rc" -eq 2 ]
    capture replay_once "$DATA/complete-small.pickle" -s torch -s arena --format snapshot
    [ "$rc" -eq 2 ]
}

@test "what has no segments to show is refused before anything is replayed" {
    capture replay_once sample:jq -s system --export-snapshot s.pickle
    [ "$rc" -eq 2 ]
    grep -q "a snapshot cannot show 'system': only the allocator itself knows its segments" "$err"
    capture replay_once sample:jq --export-snapshot s.pickle
    [ "$rc" -eq 2 ]
    not ls s*.pickle
}
