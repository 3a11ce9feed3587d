#!/usr/bin/env bats
# replay of a PyTorch snapshot: torch stands first and begins with the heap and the settings that were recorded.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch
FAST=(--source virtual --min-time 0 --no-fits)

setup() { enter_folder; }

# value EXPRESSION: of the JSON in $out, where r is the run of torch.
value() { python3 -S -E -c "import json, sys; r = [x for x in json.load(open('$out'))['runs'] if x['strategy']['name'] == 'torch'][0]; print(($1))"; }

# snapshot SETTINGS: a trace of tapool's own that says what PyTorch's settings were.
snapshot() {
    cat >settings.json <<END
{ "format": "tapool-trace", "version": 1,
  "meta": {"kind": "device", "settings": "PYTORCH_CUDA_ALLOC_CONF$1"},
  "recorded": {"by": "PyTorch", "has_end": false, "devices": [{"device": 0, "start_reserved_bytes": 20971520, "start_segments": 1}]},
  "segments": [{"stream": 0, "base": 33554432, "size": 20971520}],
  "events": [{"op": "initial", "id": 1, "size": 4194304, "at": 37748736}, {"op": "alloc", "id": 2, "size": 9437184}] }
END
}

@test "torch begins with the recorded heap, and others do not" {
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" "${FAST[@]}" --format json
    [ "$(value 'r["recorded_heap"], r["memory"]["peak_reserved_bytes"], r["driver_calls"]["get"]')" = "(True, 4238344192, 0)" ]
    python3 -S -E - "$out" <<'END'
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert [r["strategy"]["name"] for r in runs][:2] == ["torch", "arena"]
assert not any(r["recorded_heap"] for r in runs[1:])
END
}

@test "a recorded heap whose segments grow" {
    growing_mid_run mid.pickle
    ok "$TAPOOL" replay mid.pickle -s torch -s off=torch:conf=max_split_size_mb:64 "${FAST[@]}" --format json
    python3 -S -E - "$out" <<'END'
import json, sys
as_recorded, off = json.load(open(sys.argv[1]))["runs"]
# two maps of 520 MiB, as in the recording
assert as_recorded["recorded_heap"] and as_recorded["driver_calls"]["get"] == 2
assert as_recorded["memory"]["peak_reserved_bytes"] == 3797942272
assert as_recorded["recorded"]["devices"][0]["peak_reserved_bytes"] == 3797942272
# what is free in segments that grow serves nobody where the setting is off
assert off["recorded_heap"] and off["driver_calls"]["get"] > 2
assert off["memory"]["peak_reserved_bytes"] > as_recorded["memory"]["peak_reserved_bytes"]
END
    for file in a.tpt b.json; do
        ok "$TAPOOL" convert mid.pickle -o "$file"
        ok "$TAPOOL" replay "$file" -s torch "${FAST[@]}" --format json
        [ "$(value 'r["recorded_heap"], r["driver_calls"]["get"]')" = "(True, 2)" ]
    done
}

@test "how much of the recording torch reproduces" {
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" "${FAST[@]}" -s torch -s other=torch:conf=max_split_size_mb:32 --format json
    [ "$(value 'sorted(r["fidelity"].values())')" = "[96, 96, 2162, 2162]" ]
    [ "$(grep -c '"fidelity"' "$out")" -eq 1 ]
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" "${FAST[@]}" -s torch -s arena
    grep -qx '  torch as recorded: fidelity 2,162 of 2,162 addresses, 96 of 96 segments' "$out"
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" "${FAST[@]}" -s torch --limit 100
    ! grep -q fidelity "$out" || fail "a part of the file"
}

@test "the formats keep the heap" {
    ok "$TAPOOL" convert "$DATA/training-step.pickle.gz" -o a.tpt
    ok "$TAPOOL" convert a.tpt -o b.json
    ok "$TAPOOL" convert b.json -o c.jsonl
    ok "$TAPOOL" convert c.jsonl -o d.tpt
    cmp a.tpt d.tpt
    for f in a.tpt b.json c.jsonl; do
        ok "$TAPOOL" replay "$f" -s torch "${FAST[@]}" --format json
        [ "$(value 'r["recorded_heap"], r["memory"]["peak_reserved_bytes"]')" = "(True, 4238344192)" ]
    done
}

@test "without what was live there is no heap" {
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" -s torch "${FAST[@]}" --initial-heap=drop --format json
    [ "$(value '"recorded_heap" in r')" = False ]
}

@test "the hole of the recorded heap serves" {
    snapshot " is empty: defaults"
    ok "$TAPOOL" replay settings.json -s torch "${FAST[@]}" --verify --format json
    [ "$(value 'r["memory"]["peak_reserved_bytes"], r["verified"]')" = "(20971520, True)" ]
}

@test "the recorded settings are those of torch, unless others are given" {
    snapshot "=max_split_size_mb:64,roundup_power2_divisions:4"
    ok "$TAPOOL" replay settings.json -s torch "${FAST[@]}" --format json
    [ "$(value 'r["strategy"]["options"]["conf"]')" = "max_split_size_mb:64,roundup_power2_divisions:4" ]
    ok "$TAPOOL" replay settings.json -s torch:conf=max_split_size_mb:32 "${FAST[@]}" --format json
    [ "$(value 'r["strategy"]["options"]["conf"]')" = "max_split_size_mb:32" ]
}

@test "settings that are not simulated are said" {
    snapshot "=max_split_size:64"
    ok "$TAPOOL" replay settings.json "${FAST[@]}"
    grep -q '^! recorded-settings  torch uses its defaults, not the recorded settings: ' "$out"
    ok "$TAPOOL" replay settings.json -s torch:conf=max_split_size_mb:64 "${FAST[@]}"
    ! grep -q recorded-settings "$out" || fail "the settings were given"
}

@test "a setting that only the recording can tell is said where it is another one" {
    local key=graph_capture_record_stream_reuse
    snapshot "=$key:True"
    for conf in False True; do
        ok "$TAPOOL" replay settings.json -s "torch:conf=$key:$conf" "${FAST[@]}"
        [ "$(grep -c "^ *! recorded-settings  '$key' is not simulated: torch shows the" "$out")" -eq \
            "$([ $conf = True ] && echo 0 || echo 1)" ] || fail "$conf: $(cat "$out")"
    done
    ok "$TAPOOL" replay settings.json -s torch "${FAST[@]}"
    ! grep -q recorded-settings "$out" || fail "as recorded"
    # in any of several texts
    python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" toggle >toggle.pickle
    ok "$TAPOOL" replay toggle.pickle -s "torch:conf={max_split_size_mb:20;$key:True@load}" "${FAST[@]}"
    grep -q "! recorded-settings  '$key'" "$out"
}

@test "a device that is too small for the heap" {
    snapshot " is empty: defaults"
    ok "$TAPOOL" replay settings.json -s torch "${FAST[@]}" --capacity 16MiB
    grep -q '1 of 1 initial block' "$out"
}

# In MiB, with live blocks in capitals:     at 100, pool (0, 1)   A 12, 8 free     at 200   B 8, 12 free
# C 6 behind B, D 6 of the pool behind A, C freed, E 6 of pool (0, 2) in a segment of its own, F 8 behind B.
# If all were one pool, D would be served behind C, E by C's place, F behind A: 40 MiB instead of 60.
@test "requests of private pools are served from them" {
    python3 - <<'END'
import pickle
MIB = 1 << 20
def event(action, addr, size, *pool):
    pool = dict(pool_id=tuple(pool)) if pool else {}
    return dict(action=action, addr=addr * MIB, size=size * MIB, stream=0, time_us=5, **pool)
def segment(addr, pool, *blocks):
    at, out = addr, []
    for size, live in blocks:
        out.append(dict(address=at * MIB, size=size * MIB, state="active_allocated" if live else "inactive",
                        **(dict(requested_size=size * MIB) if live else {})))
        at += size
    return dict(address=addr * MIB, total_size=20 * MIB, device=0, stream=0, segment_type="large", blocks=out,
                segment_pool_id=pool)
def write(name, said):
    pool = lambda *numbers: numbers if said else ()
    trace = [event("alloc", 208, 6, *pool(0, 0)), event("alloc", 112, 6, *pool(0, 1)), event("free_completed", 208, 6),
             event("segment_alloc", 300, 20), event("alloc", 300, 6, *pool(0, 2)), event("alloc", 208, 8, *pool(0, 0))]
    segments = [segment(100, (0, 1), (12, 1), (6, 1), (2, 0)), segment(200, (0, 0), (8, 1), (8, 1), (4, 0)),
                segment(300, (0, 2), (6, 1), (14, 0))]
    pickle.dump(dict(segments=segments, device_traces=[trace], allocator_settings={}), open(name, "wb"), protocol=4)
write("said.pickle", True)
write("unsaid.pickle", False)
END
    ok "$TAPOOL" verify said.pickle
    grep -q '^fidelity 4 of 4 addresses, 3 of 3 segments' "$out"
    ok "$TAPOOL" replay said.pickle -s torch "${FAST[@]}" --export-snapshot x.pickle --export-json x.json
    python3 "$CLI/snapshot_check.py" x.pickle x.json >/dev/null
    pools() { # FILE: of allocations and frees, in order, and of segments
        python3 - "$1" <<'END'
import pickle, sys
s = pickle.load(open(sys.argv[1], "rb"))
print([e["pool_id"] for e in s["device_traces"][0] if e["action"] in ("alloc", "free_completed", "segment_alloc")],
      sorted(x["segment_pool_id"] for x in s["segments"]))
END
    }
    [ "$(pools x.pickle)" = \
        "[(0, 0), (0, 1), (0, 0), (0, 2), (0, 2), (0, 0)] [(0, 0), (0, 1), (0, 2)]" ] || fail "$(pools x.pickle)"
    ok "$TAPOOL" verify x.pickle
    grep -q '^fidelity 4 of 4 addresses, 3 of 3 segments' "$out"
    ok "$TAPOOL" replay said.pickle -s arena "${FAST[@]}" -f --export-snapshot x.pickle
    not grep -q '[12])' <(pools x.pickle)
    ok "$TAPOOL" convert said.pickle -o a.tpt
    ok "$TAPOOL" convert a.tpt -o b.jsonl
    grep -q '"name": "segment_alloc", "size": 20971520, .*"at": 314572800' b.jsonl
    ok "$TAPOOL" convert b.jsonl -o c.tpt
    cmp a.tpt c.tpt
    for f in said.pickle unsaid.pickle a.tpt b.jsonl; do
        ok "$TAPOOL" replay "$f" -s torch -s direct "${FAST[@]}" --format json
        [ "$(value 'r["recorded_heap"], r["memory"]["peak_reserved_bytes"], r["driver_calls"]["get"]')" = "(True, 62914560, 1)" ]
    done
    sed -e 's/, "pool": [0-9]*, "pool_2": [0-9]*//' b.jsonl >one.jsonl
    ok "$TAPOOL" replay one.jsonl -s torch "${FAST[@]}" --format json
    [ "$(value 'r["memory"]["peak_reserved_bytes"], r["driver_calls"]["get"]')" = "(41943040, 0)" ]
    ok "$TAPOOL" info unsaid.pickle
    grep -q 'The private pool of 2 requests is taken from the segment at their address at the' "$out"
    sed -e 's/"pool": 0, "pool_2": 2/"pool": 0, "pool_2": 16777216/' b.jsonl >large.jsonl
    capture "$TAPOOL" info large.jsonl
    [ "$rc" -eq 3 ]
    grep -q "large.jsonl:.*'pool_2' is 16777216: the limit is 2^24 - 1" "$err"
}

@test "torch replays the allocator that the frames name, also from a converted file" {
    python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" npu >npu.pickle
    ok "$TAPOOL" convert npu.pickle -o npu.tpt
    ok "$TAPOOL" convert npu.pickle -o npu.json
    for file in npu.pickle npu.tpt npu.json; do
        ok "$TAPOOL" replay "$file" -s torch "${FAST[@]}" --format json
        [ "$(value 'r["strategy"]["options"]["allocator"]')" = npu ]
    done
    python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" older >older.pickle
    ok "$TAPOOL" convert older.pickle -o older.tpt
    ok "$TAPOOL" convert older.pickle -o older.json
    for file in older.pickle older.tpt older.json; do
        ok "$TAPOOL" replay "$file" -s torch "${FAST[@]}" --format json
        [ "$(value 'r["strategy"]["options"]["version"]')" = 2.9 ]
    done
    ok "$TAPOOL" replay older.pickle -s torch -s torch:version=2.14 --min-time 0
    [ "$(grep -c 'as recorded: fidelity' "$out")" -eq 1 ]
    # a text that is no release is none, and one is cut behind X.Y
    for said in two: 2.9+x,version=2.14:2.9 "2.9+x,conf={:2.9" 2.9.1:2.9; do
        sed "s/\"allocator_release\": \"2.9\"/\"allocator_release\": \"${said%:*}\"/" older.json >odd.json
        ok "$TAPOOL" replay odd.json -s torch "${FAST[@]}" --format json
        [ "$(value 'r["strategy"]["options"]["version"]')" = "${said##*:}" ]
        ok "$TAPOOL" tune odd.json --grid max_split_size_mb:64
    done
    ok "$TAPOOL" replay npu.pickle -s torch:allocator=cuda "${FAST[@]}" --format json
    [ "$(value 'r["strategy"]["options"]["allocator"], "fidelity" in r')" = "('cuda', False)" ]
    ok "$TAPOOL" replay "$DATA/training-step.pickle.gz" -s torch "${FAST[@]}" --format json
    [ "$(value 'r["strategy"]["options"]["allocator"] in ("recorded", "cuda")')" = True ]
}

# phases KIND CONF: peak and driver calls of a made-up snapshot that torch replays with CONF, and those that its file has.
phases() {
    python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" "$1" >made.pickle
    ok "$TAPOOL" replay made.pickle -s "torch:conf={$2}" "${FAST[@]}" --verify --format json
    value 'r["memory"]["peak_reserved_bytes"], r["driver_calls"]["get"]'
    python3 -S -E -c 'import pickle
taken = [e["size"] for e in pickle.load(open("made.pickle", "rb"))["device_traces"][0] if e["action"] in ("segment_alloc", "segment_map")]
print((sum(taken), len(taken)))'
}

@test "settings that a program changes in its phases: memory and driver calls of the recording" {
    [ "$(phases change ';max_split_size_mb:20@load' | uniq | wc -l)" -eq 1 ]
    [ "$(phases change '' | uniq | wc -l)" -eq 2 ]
    [ "$(phases changes ';max_split_size_mb:20@load;roundup_power2_divisions:4@round' | uniq | wc -l)" -eq 1 ]
    # each time the phase begins; the empty text resets the limit
    [ "$(phases toggle 'max_split_size_mb:20@load;@serve' | uniq | wc -l)" -eq 1 ]
    [ "$(phases toggle 'max_split_size_mb:20@load;max_split_size_mb:20@serve' | uniq | wc -l)" -eq 2 ]
    # ... and expandable_segments stays as it is
    [ "$(phases growing 'expandable_segments:True@grow;expandable_segments:False@fixed' | uniq | wc -l)" -eq 1 ]
    [ "$(phases growing 'expandable_segments:True@grow;@fixed' | uniq | wc -l)" -eq 2 ]
}

@test "segments that grow in some phases only: the recorded setting is no replay of that run, and that is said" {
    [ "$(phases weights 'expandable_segments:True@grow;expandable_segments:False@fixed' | uniq | wc -l)" -eq 1 ]
    for command in 'replay -s torch --min-time 0' 'tune --grid expandable_segments:True'; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" $command made.pickle
        tr -s '\n ' ' ' <"$out" >line
        matches line 'differs from PyTorch by 106 MiB less reserved and 4 fewer driver calls: expandable_segments changed 2 times'
    done
    matches line ' No advice: the segments of made.pickle show that expandable_segments changed 2 times'
    lacks "$out" '^Set '
    ok "$TAPOOL" why made.pickle --at 20 # it had not changed by then
    matches "$out" 'changed while the program ran, so other settings are not replayed$'
    lacks "$out" '^Setting'
    python3 "$CLI/rules_snapshot.py" cuda >made.pickle
    ok "$TAPOOL" why made.pickle
    matches "$out" '^Setting'
    lacks "$out" 'changed while'
}

@test "settings of phases that cannot be" {
    python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" change >made.pickle
    while IFS='|' read -r conf message; do
        capture "$TAPOOL" replay made.pickle -s "torch:conf={$conf}" "${FAST[@]}"
        [ "$rc" -eq 2 ]
        grep -q "$message" "$err"
    done <<'END'
max_split_size_mb:32@laod|the trace has no phase 'laod'
;max_split_size_mb:32|'max_split_size_mb:32' names no phase: write TEXT@PHASE
max_split_size_mb:32@|names no phase
max_split_size_mb:2@load|not a number of MiB from 20 on
per_process_memory_fraction:0.5@load|PyTorch reads 'per_process_memory_fraction' once
large_segment_size_mb:21;expandable_segments:True@load|must be even
END
    for option in '--conf ;max_split_size_mb:20@load' '--conf max_split_size_mb:20@load'; do
        # shellcheck disable=SC2086 # words
        refused 2 'make settings of phases' "$TAPOOL" verify made.pickle $option
    done
    refused 2 'make settings of phases' "$TAPOOL" tune made.pickle --grid 'max_split_size_mb:20@load'
    ok "$TAPOOL" gen streams -o streams.json --count 50
    capture "$TAPOOL" replay streams.json -s "torch:conf=max_split_size_mb:32@load" "${FAST[@]}"
    [ "$rc" -eq 2 ]
    grep -q "the trace has no phase 'load'" "$err"
}
