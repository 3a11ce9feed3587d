#!/usr/bin/env bats
# tapool verify: exit codes and what is printed. tests/unit/cmd/test_verify_snapshot.c holds the figures.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch

setup() { enter_folder; }

@test "a snapshot that agrees" {
    shown verify "$TAPOOL" verify "$DATA/complete-small.pickle"
    ok "$TAPOOL" verify "$DATA/training-step.pickle.gz"
    head -n 1 "$out" | grep -qx 'fidelity 2,162 of 2,162 addresses, 96 of 96 segments'
}

@test "a broken rule: the first difference and exit 1" {
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --mutate first-fit
    [ "$rc" -eq 1 ]
    golden verify-broken <"$out"
    grep -q 'the rules and the recording differ' "$err"
}

@test "the rules that can be broken" {
    fitting "$TAPOOL" verify --rules
    [ "$(grep -c '^[a-z]' "$out")" -eq 35 ]
    [ "$(grep -c '^[A-Z]' "$out")" -eq 2 ]
}

@test "what cannot be verified" {
    capture "$TAPOOL" verify
    [ "$rc" -eq 2 ]
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --mutate first-fi
    [ "$rc" -eq 2 ]
    grep -q "did you mean 'first-fit'?" "$err"
    capture "$TAPOOL" verify "$DATA/complete-small.pickle" --conf max_split_size:40
    [ "$rc" -eq 2 ]
    grep -q "did you mean 'max_split_size_mb'?" "$err"
    capture "$TAPOOL" verify missing.pickle
    [ "$rc" -eq 3 ]
    capture "$TAPOOL" verify "$DATA/ORIGIN.md"
    [ "$rc" -eq 3 ]
}

@test "segments that grow, private pools and a failed request are in the certificate" {
    python3 - <<'END'
import pickle
MIB = 1 << 20
def event(action, addr, size, **more):
    return dict(action=action, addr=addr * MIB, size=int(size * MIB), stream=0, time_us=5, **more)
def segment(addr, size, live, **more):
    blocks = [dict(address=addr * MIB, size=live * MIB, requested_size=live * MIB, state="active_allocated")]
    if live < size:
        blocks.append(dict(address=(addr + live) * MIB, size=(size - live) * MIB, state="inactive"))
    return dict(address=addr * MIB, total_size=size * MIB, device=0, stream=0, segment_type="large",
                blocks=blocks, **more)
def write(name, unmapped):
    trace = [event("segment_unmap", 500, 40), event("segment_map", 100, 40), event("alloc", 100, 30),
             event("segment_alloc", 900, 20), event("alloc", 900, 20),
             event("free_completed", 100, 30), event("segment_unmap", 100, unmapped),
             dict(action="oom", device_free=0, size=60 * MIB, stream=0, time_us=6)]
    pickle.dump(dict(segments=[segment(900, 20, 20, segment_pool_id=(0, 1))],
                     device_traces=[trace], allocator_settings={}), open(name, "wb"), protocol=4)
write("grows.pickle", 40)
write("parts.pickle", 20)
END
    ok "$TAPOOL" verify grows.pickle
    head -n 1 "$out" | grep -qx 'fidelity 1 of 1 addresses, 1 of 1 segments'
    matches "$out" '^  unmapped       2 of 2 times the whole free units where the file unmaps them$'
    capture "$TAPOOL" verify parts.pickle
    [ "$rc" -eq 1 ]
    golden verify-parts <"$out"
}

# rules_snapshot KIND: addresses that tests/cli/rules_snapshot.py computed by the public rules, recorded by no program.
rules_snapshot() { python3 "$TAPOOL_ROOT/tests/cli/rules_snapshot.py" "$@"; }

@test "whose allocator it was: the frames say it, and each has its rules" {
    for kind in cuda:CUDA named:CUDA "hip:HIP (ROCm)" xpu:XPU "npu:Ascend (torch_npu)" "npu-growing:Ascend (torch_npu)"; do
        rules_snapshot "${kind%%:*}" >made.pickle
        ok "$TAPOOL" verify made.pickle
        grep -q '^fidelity 463 of 463 addresses' "$out"
        grep -qx "  allocator      PyTorch's for ${kind#*:}" "$out"
    done
}

@test "rules of another device's allocator: the first difference is named" {
    rules_snapshot npu-as-cuda >made.pickle
    capture "$TAPOOL" verify made.pickle
    [ "$rc" -eq 1 ]
    grep -q '^fidelity 357 of 463 addresses' "$out"
    grep -q '^first difference: event 23, alloc of 6,016,249 B' "$out"
    ok "$TAPOOL" verify made.pickle --allocator npu
    grep -q '^fidelity 463 of 463 addresses' "$out"
    rules_snapshot cuda-as-npu >made.pickle
    capture "$TAPOOL" verify made.pickle
    [ "$rc" -eq 1 ]
    ok "$TAPOOL" verify made.pickle --allocator cuda
    rules_snapshot npu-growing >made.pickle
    capture "$TAPOOL" verify made.pickle --conf base_addr_aligned_kb:0
    [ "$rc" -eq 1 ]
    capture "$TAPOOL" verify made.pickle --allocator gpu
    [ "$rc" -eq 2 ]
}

@test "a release whose rules differ" {
    for kind in older:2.9 newer:2.11 newest:2.14; do
        rules_snapshot "${kind%:*}" >made.pickle
        for release in "" "--pytorch ${kind#*:}"; do
            # shellcheck disable=SC2086 # words
            ok "$TAPOOL" verify made.pickle $release
            grep -q '^fidelity 463 of 463 addresses' "$out"
        done
        rules_snapshot "${kind%:*}" figures >figures
        ok "$TAPOOL" replay made.pickle -s torch -s torch:version=2.9 -s torch:version=2.14 --export-json made.json -f
        is made.json '[r["devices"][0]["memory"]["peak_reserved_bytes"] for r in d["runs"]][0]' "$(python3 -c 'import json
print(json.load(open("figures"))["peak"])')"
        is made.json 'len({r["devices"][0]["memory"]["peak_reserved_bytes"] for r in d["runs"]})' 2
    done
    rules_snapshot older-as-newer >made.pickle
    capture "$TAPOOL" verify made.pickle
    [ "$rc" -eq 1 ]
    ok "$TAPOOL" verify made.pickle --pytorch 2.9
    rules_snapshot newer >made.pickle
    capture "$TAPOOL" verify made.pickle --pytorch 2.9
    [ "$rc" -eq 1 ]
    capture "$TAPOOL" verify made.pickle --pytorch two
    [ "$rc" -eq 2 ]
    grep -q "'two' is not a PyTorch version such as 2.9" "$err"
}

@test "settings that changed during the run: from which event on which others explain the addresses" {
    for kind in change changes toggle odd; do
        rules_snapshot "$kind" >"$kind.pickle"
        capture "$TAPOOL" verify "$kind.pickle"
        [ "$rc" -eq 1 ]
        cp "$out" "$kind.txt"
    done
    # the setting came at event 459, and nothing tells it apart from event 450 on
    grep -qx '  settings       from event 450 on: max_split_size_mb:20 explains all 301 addresses' change.txt
    golden verify-changes <changes.txt
    [ "$(grep -c 'from event .* on: ' toggle.txt)" -eq 4 ]
    grep -A 2 '^  settings ' odd.txt | tr -s ' \n' ' ' | grep -q 'no other max_split_size_mb or roundup_power2_divisions that was tried'
}

@test "without a change nothing is said of other settings, and a broken rule is not taken for one" {
    rules_snapshot cuda >made.pickle
    ok "$TAPOOL" verify made.pickle
    [ "$(grep -c '^  settings' "$out")" -eq 0 ]
    capture "$TAPOOL" verify made.pickle --mutate first-fit
    [ "$rc" -eq 1 ]
    [ "$(grep -c '^  settings' "$out")" -eq 0 ]
    rules_snapshot change >change.pickle
    capture "$TAPOOL" verify change.pickle --conf max_split_size_mb:20
    [ "$rc" -eq 1 ]
    grep -q '^  settings       from event 1 on: no setting' "$out"
}
