#!/usr/bin/env bats
# The allocator of TensorFlow, JAX and ONNX Runtime on the command line: captures of the profiler,
# options, and what the help page says.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

setup() { enter_folder; }

replay() { "$TAPOOL" replay --min-time 0 "$@"; }
captures=$CLI/../data/xplane

@test "a capture begins with its heap, in the flavour of its library" {
    for capture in jax-conv:jax jax-gemm:jax multiworker:tf; do
        ok replay "$captures/${capture%:*}.xplane.pb.gz" --json # the recorded strategy first
        is "$out" 'd["runs"][0]["strategy"]["name"]' bfc
        is "$out" 'd["runs"][0]["strategy"]["options"]["flavour"]' "${capture#*:}"
        is "$out" 'r["failed_allocations"] + r["failed_initial_blocks"]' 0
        is "$out" 'abs(r["memory"]["peak_reserved_bytes"] - r["recorded"]["devices"][0]["peak_reserved_bytes"]) <= 16 << 20' True
    done
    ok replay "$captures/jax-gemm.xplane.pb.gz" -s bfc
    matches "$out" '\(bfc: at the recorded address\)|^bfc on virtual'
    ok replay "$captures/jax-gemm.xplane.pb.gz" -s bfc:flavour=tf --json
    is "$out" 'd["runs"][0]["strategy"]["options"]["flavour"]' tf
}

@test "a device whose size is known is taken at once, unless regions grow" {
    ok "$TAPOOL" gen training-step --count 3 -o step.tpt
    ok replay --passes usage step.tpt -s bfc --capacity 40GiB --json
    is "$out" 'r["driver_calls"]["get"], r["memory"]["peak_reserved_bytes"] == 40 << 30' '(1, True)'
    ok replay --passes usage step.tpt -s bfc:flavour=jax --capacity 40GiB --json
    is "$out" 'r["driver_calls"]["get"], r["memory"]["peak_reserved_bytes"] == 30 << 30' '(1, True)'
    ok replay --passes usage step.tpt -s bfc:allow_growth --capacity 40GiB --json
    is "$out" 'r["driver_calls"]["get"] > 1 and r["memory"]["peak_reserved_bytes"] < 40 << 30' True
}

@test "an option of another flavour is an error that says so" {
    ok "$TAPOOL" gen pair --count 10 -o pair.tpt
    refused 2 "the flavour 'jax' has no option 'arena_extend_strategy'" \
        replay pair.tpt -s bfc:flavour=jax,arena_extend_strategy=kSameAsRequested
    refused 2 "'mem_fraction' needs the device's size" replay pair.tpt -s bfc:mem_fraction=0.5
    matches "$err" '^hint: --capacity SIZE$'
}

@test "the help page says how to use it, and what no recording shows" {
    ok "$TAPOOL" strategies bfc
    matches "$out" 'XLA_PYTHON_CLIENT_PREALLOCATE'
    matches "$out" 'TF_FORCE_GPU_ALLOW_GROWTH'
    matches "$out" 'OrtArenaCfg'
    matches "$out" 'Tested by hand only'
}
