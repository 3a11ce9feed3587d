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
    [ "$(value 'r["recorded_heap"], r["memory"]["peak_reserved_bytes"], r["source_calls"]["get"]')" = "(True, 4238344192, 0)" ]
    python3 -S -E - "$out" <<'END'
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert [r["strategy"]["name"] for r in runs][:2] == ["torch", "arena"]
assert not any(r["recorded_heap"] for r in runs[1:])
END
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
    grep -q '^! recorded-settings  torch plays with its defaults, not as recorded: ' "$out"
    ok "$TAPOOL" replay settings.json -s torch:conf=max_split_size_mb:64 "${FAST[@]}"
    ! grep -q recorded-settings "$out" || fail "the settings were given"
}

@test "a device that is too small for the heap" {
    snapshot " is empty: defaults"
    ok "$TAPOOL" replay settings.json -s torch "${FAST[@]}" --capacity 16MiB
    grep -q '1 of 1 initial block' "$out"
}
