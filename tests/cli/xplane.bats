#!/usr/bin/env bats
# Captures of the TensorFlow and JAX profiler: what is read, and what the rules of BFC make of it.

load common

DATA=$TAPOOL_ROOT/tests/data/xplane
CORPUS=$TAPOOL_ROOT/tests/fuzz/corpus/xplane

# devices: the JSON of verify as lines "name addresses sizes fragmentation", each "good/all".
devices() {
    python3 - "$1" <<'END'
import json, sys
for d in json.load(open(sys.argv[1]))["devices"]:
    def of(name):
        return "%(as_recorded)d/%(total)d" % d[name] if name in d else "-"
    print(d["name"], of("addresses"), of("block_sizes"), of("fragmentation"), d["initial_heap"]["known"])
END
}

@test "every address, chunk size and fragmentation of real captures follows from the rules" {
    ok "$TAPOOL" verify "$DATA/multiworker.xplane.pb.gz" --json
    [ "$(devices "$out")" = "GPU_1_bfc 19/19 19/19 19/19 one-free-block
GPU_4_bfc 761/761 761/761 969/969 one-free-block
GPU_6_bfc 761/761 761/761 969/969 one-free-block
gpu_host_bfc 318/318 318/318 536/536 inferred" ]
    ok "$TAPOOL" verify "$DATA/jax-gemm.xplane.pb.gz" --json
    [ "$(devices "$out")" = "GPU_0_bfc 69/69 69/69 138/138 all-free
xla_gpu_host_bfc 12/12 12/12 24/24 empty" ]
    ok "$TAPOOL" verify "$DATA/jax-conv.xplane.pb.gz" --json
    [ "$(devices "$out")" = "GPU_0_bfc 10/10 10/10 20/20 inferred
$(for i in 1 2 3 4 5 6 7; do echo "GPU_${i}_bfc 15/15 15/15 30/30 inferred"; done)" ]
}

@test "the uncut captures say the same" {
    whole=$TAPOOL_ROOT/../shared/corpus/tf
    [ -d "$whole" ] || skip "the captures as they were published are not here: $whole"
    for name in multiworker.xplane.pb.gz jax-gemm.xplane.pb jax-conv.xplane.pb; do
        ok "$TAPOOL" verify "$whole/$name" --json
        devices "$out" >whole
        ok "$TAPOOL" verify "$DATA/${name%%.*}.xplane.pb.gz" --json
        devices "$out" >cut
        [ -s cut ] && cmp whole cut
    done
}

@test "a wrong rule is seen: each of these differs from a real capture" {
    seen=0
    for rule in highest first-fit worst-fit round-512 no-rounding split-at-1.5 always-split split-by-rest \
        no-merge-before no-merge-behind; do
        capture "$TAPOOL" verify "$DATA/multiworker.xplane.pb.gz" --mutate "$rule" --json
        [ "$rc" -eq 1 ] || fail "$rule is not seen: $rc"
        seen=$((seen + 1))
    done
    for rule in first-region all-at-once; do
        capture "$TAPOOL" verify "$DATA/jax-gemm.xplane.pb.gz" --mutate "$rule" --json
        [ "$rc" -eq 1 ] || fail "$rule is not seen: $rc"
        seen=$((seen + 1))
    done
    capture "$TAPOOL" verify "$DATA/jax-conv.xplane.pb.gz" --mutate no-rest-limit --json
    [ "$rc" -eq 1 ] && [ "$seen" -eq 12 ]
    grep -q '"kind":.*"other-size"' "$out"
}

@test "made captures that begin anywhere: every address follows from the heap that is inferred" {
    all=0
    for seed in 1 2 4 5 6 7 9 12 15 18 19 27 41 58 68 75 133 266 413 497 501; do
        python3 "$CLI/xplane.py" made "$seed" made.pb
        capture "$TAPOOL" verify made.pb --json
        read -r _ addresses sizes _ <<<"$(devices "$out")"
        [ "${addresses%/*}" = "${addresses#*/}" ] && [ "$addresses" = "$sizes" ] || fail "seed $seed: $addresses $sizes"
        all=$((all + ${addresses%/*}))
        # memory that is taken behind the peak of what is live is in the most that is reserved
        ok "$TAPOOL" why made.pb --json
        query "$out" 'd["devices"][0]["memory"]["reserved_bytes"]' >reserved
        ok "$TAPOOL" info made.pb --json
        [ -z "$(query "$out" '(d["recorded"] or {}).get("devices") or ""')" ] ||
            is "$out" 'd["recorded"]["devices"][0]["peak_reserved_bytes"]' "$(cat reserved)"
    done
    [ "$all" -gt 1500 ]
}

@test "a pool that reaches its limit, and regions that lie anywhere" {
    for seed in 1 2 3 4 5 6; do
        python3 "$CLI/xplane.py" full "$seed" full.pb
        ok "$TAPOOL" verify full.pb
        grep -q '300 of 300 events with the recorded value' "$out"
        ok "$TAPOOL" info full.pb
        grep -q '200 MiB at the peak\|200 MiB reserved throughout' "$out"
    done
    for what in verify why tune; do
        ok "$TAPOOL" "$what" "$CORPUS/odd_bases"
    done
}

@test "where the events do not show how memory was reserved, the default is assumed, and that is said" {
    python3 "$CLI/xplane.py" first 1 first.pb
    ok "$TAPOOL" info first.pb
    grep -q 'do not show how it reserved memory: all at once is assumed' "$out"
    ok "$TAPOOL" verify first.pb
    grep -q 'its memory is assumed to be' "$out"
    ok "$TAPOOL" why first.pb
    tr -s '\n ' '  ' <"$out" | grep -q 'do not show how it was reserved: all at once is assumed'
    python3 "$CLI/xplane.py" first 3 first.pb # whose first request is above the first region
    ok "$TAPOOL" info first.pb
    lacks "$out" 'is assumed'
    matches "$out" 'allow_growth:yes'
}

@test "the heap at the start is replayed, and bfc reproduces it" {
    ok replay_once "$DATA/multiworker.xplane.pb.gz" -s bfc --json
    is "$out" 'r["trace"]["space"]' GPU_4_bfc
    is "$out" 'r["recorded_heap"], r["failed_allocations"]' '(True, 0)'
    is "$out" 'r["fidelity"]["reproduced_addresses"]' 761
    ok "$TAPOOL" info "$DATA/multiworker.xplane.pb.gz"
    grep -q 'device 4 .*14.41 GiB reserved throughout' "$out"
    grep -q 'GPU_4_bfc: 3.738 GiB in use at the start are never freed' "$out"
    ok "$TAPOOL" info "$DATA/jax-conv.xplane.pb.gz" --space GPU_1_bfc
    grep -q '2.016 GiB reserved at the start, 4.016 GiB at the peak' "$out"
}

@test "why shows who holds the memory of a capture" {
    ok "$TAPOOL" why "$DATA/multiworker.xplane.pb.gz" --device 1 --json
    is "$out" 'len(d["devices"])' 1
    is "$out" 'd["devices"][0]["name"]' GPU_4_bfc
    is "$out" 'd["devices"][0]["memory"]["reserved_bytes"]' 15477102336
    is "$out" 'd["devices"][0]["memory"]["holes"]' 3
    is "$out" 'd["devices"][0]["memory"]["live_blocks"]' 555
    ok "$TAPOOL" why "$DATA/multiworker.xplane.pb.gz" --device 1 --by annotation
    grep -q 'step 1' "$out"
    ok "$TAPOOL" why "$DATA/jax-gemm.xplane.pb.gz" --device 0 --at 1
    grep -q 'thread python' "$out"
}

@test "what was free at the start and served nothing is free, and no rounding" {
    for gpu in 0 1; do
        ok "$TAPOOL" why "$DATA/jax-conv.xplane.pb.gz" --device "$gpu" --json
        is "$out" 'd["devices"][0]["memory"]["rounding_bytes"]' 0
        ok replay_once "$DATA/jax-conv.xplane.pb.gz" --space "GPU_${gpu}_bfc" -s bfc --json
        is "$out" 'r["memory"]["at_trace_peak"]["internal_bytes"]' 0
        # the region that it takes has the recorded size; the source rounds each to pages of 2 MiB
        is "$out" '0 <= r["memory"]["peak_reserved_bytes"] - r["recorded"]["devices"][0]["peak_reserved_bytes"] < 8 << 20' True
    done
}

@test "captures with errors are named, or read as far as they go" {
    refused 3 'byte [0-9,]+: a statistic of a memory event is damaged, or refers to no text' \
        "$TAPOOL" info "$CORPUS/no_reference"
    refused 3 'the file ends within the next one' "$TAPOOL" info "$CORPUS/cut"
    refused 3 'ends in the middle of this plane' "$TAPOOL" info --strict "$CORPUS/cut"
    { cat "$CORPUS/time_back"; printf '\x0a'; } >cut_in_head
    ok "$TAPOOL" info cut_in_head
    grep -q '24 events' "$out"
    refused 3 'ends in the middle of this plane' "$TAPOOL" info --strict cut_in_head
    refused 3 'no memory events in 1 plane' "$TAPOOL" verify "$CORPUS/no_memory"
    ok "$TAPOOL" info "$CORPUS/lying_type"
    grep -q '2 memory events left out, the first at byte' "$out"
    ok "$TAPOOL" info "$CORPUS/one_name"
    grep -q 'the bytes in use do not add up at' "$out"
    ok "$TAPOOL" info "$CORPUS/two_limits" --space all
    grep -q '2 memory spaces' "$out"
    ok "$TAPOOL" info "$CORPUS/tpu"
    grep -q 'TPU 2' "$out"
    capture "$TAPOOL" verify "$CORPUS/missing"
    [ "$rc" -eq 1 ] && grep -q 'where the recorded bytes in use do not add up' "$out"
}

@test "events of threads are merged by time, and by the bytes in use where times are equal" {
    for name in two_threads at_once time_back references; do
        ok "$TAPOOL" verify "$CORPUS/$name" --json
        [ "$(devices "$out")" = "GPU_0_bfc 13/13 13/13 24/24 inferred" ] || fail "$name: $(devices "$out")"
    done
}

@test "what is not BFC is not judged by its rules" {
    cp "$CORPUS/not_bfc" cpu.xplane.pb
    ok "$TAPOOL" verify cpu.xplane.pb
    grep -qE "^cpu +not compared: its events are not BFC's" "$out"
    grep -q '^fidelity 13 of 13 addresses' "$out"
    ok "$TAPOOL" info cpu.xplane.pb --space cpu
    grep -q "cpu: its events are not BFC's" "$out"
    grep -q '24 events' "$out"
    lacks "$out" 'left out: a size'
    ok "$TAPOOL" replay cpu.xplane.pb --space all --min-time 1ms -s bump
    refused 3 "none of its memory events are BFC's and have addresses" "$TAPOOL" verify "$CORPUS/tpu"
    refused 3 "none of its memory events are BFC's and have addresses" "$TAPOOL" why "$CORPUS/tpu"
    ok "$TAPOOL" info "$CORPUS/tpu"
    grep -q 'TPU profiler capture' "$out"
    refused 3 "no settings of the allocator of a TPU are known" "$TAPOOL" tune "$CORPUS/tpu"
    ok "$TAPOOL" convert "$CORPUS/tpu" -o tpu.tpt
    refused 3 "no settings of the allocator of a TPU are known" "$TAPOOL" tune tpu.tpt
}

@test "a capture is TensorFlow's where events name steps or types, and else JAX's" {
    python3 "$CLI/xplane.py" results 5 jax.pb
    ok "$TAPOOL" info jax.pb
    grep -q 'capture  *JAX profiler capture' "$out"
    grep -qE 'thread py_xla_execute f32\[[0-9]+\]\{0\}' "$out"
    ok "$TAPOOL" tune jax.pb
    grep -q 'JAX itself' "$out"
    # what another allocator without growth would take is not in the file
    ok "$TAPOOL" tune jax.pb --allocator tensorflow
    grep -q 'Set TF_FORCE_GPU_ALLOW_GROWTH=true' "$out"
    grep -q '! defaults: it takes all' "$out"
    ok "$TAPOOL" tune jax.pb --allocator tensorflow --capacity 16GiB
    lacks "$out" '!'
}

@test "tune says the settings of TensorFlow, JAX and ONNX Runtime in their own words" {
    ok "$TAPOOL" tune "$DATA/multiworker.xplane.pb.gz"
    grep -q '^Set TF_FORCE_GPU_ALLOW_GROWTH=true$' "$out"
    grep -q '14.42 GiB -> 8 GiB reserved' "$out"
    ok "$TAPOOL" tune "$DATA/multiworker.xplane.pb.gz" --all
    grep -q "TF_GPU_ALLOCATOR:cuda_malloc_async: the driver's pool can only be measured on a GPU" "$out"
    ok "$TAPOOL" tune "$DATA/jax-conv.xplane.pb.gz" --space GPU_1_bfc --capacity 8GiB --all
    grep -q 'mem_fraction:0.9' "$out"
    # powers of two: 2, 32, 32, ... 512 MiB for 460 MiB
    ok "$TAPOOL" tune "$DATA/jax-gemm.xplane.pb.gz" --allocator onnxruntime
    grep -q '^Set CUDAExecutionProvider options {"arena_extend_strategy": "kSameAsRequested"}$' "$out"
    grep -q '1.016 GiB -> 582 MiB reserved' "$out"
    ok "$TAPOOL" tune "$DATA/jax-gemm.xplane.pb.gz" --allocator onnxruntime --grid arena_extend_strategy:kSameAsRequested,max_dead_bytes_per_chunk:16MiB
    grep -q '^Set OrtArenaCfg({"arena_extend_strategy": 1, "max_dead_bytes_per_chunk": 16777216})$' "$out"
    # a share is taken at once, which the recorded program had switched off
    python3 "$CLI/xplane.py" results 7 grew.pb
    ok "$TAPOOL" tune grew.pb --grid mem_fraction:0.5 --capacity 800MiB
    grep -q '^Set XLA_PYTHON_CLIENT_PREALLOCATE=true XLA_PYTHON_CLIENT_MEM_FRACTION=0.5$' "$out"
    ok "$TAPOOL" tune "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --allocator onnxruntime
    grep -q 'PyTorch itself (from the file)' "$out"
}

@test "predict follows operations whatever the shapes of their tensors are" {
    for batch in 1 2 4 8; do
        python3 "$TAPOOL_ROOT/tests/cli/xplane.py" steps "$batch" "$batch.xplane.pb"
    done
    ok "$TAPOOL" predict 1.xplane.pb@1 2.xplane.pb@2 4.xplane.pb@4 --at 8 --json
    is "$out" 'd["predicted"]["peak_requested_bytes"]' 133200000
    ok "$TAPOOL" predict 1.xplane.pb@1 2.xplane.pb@2 4.xplane.pb@4 --at 8
    grep -qE 'aligned +60 of 60 requests, by call stack' "$out"
    grep -q 'model/layer_19/MatMul float32, output' "$out"
    ok "$TAPOOL" info 8.xplane.pb --json
    is "$out" 'd["peak_requested_bytes"]' 133200000
}

@test "predict says that a limit is too small" {
    for n in 1 2; do
        python3 "$CLI/xplane.py" steps "$n" "$n.xplane.pb"
    done
    ok "$TAPOOL" predict 1.xplane.pb@1 2.xplane.pb@2 --at 4000 --json
    is "$out" 'd["predicted"]["settings"][0]["failed_allocations"] > 0' True
    ok "$TAPOOL" predict 1.xplane.pb@1 2.xplane.pb@2 --at 4000
    grep -q 'OOM by this limit' "$out"
}

@test "pages of captures" {
    needs_pages
    ok "$TAPOOL" why "$DATA/multiworker.xplane.pb.gz" --device 1 --export-html why.html
    ok "$TAPOOL" info "$DATA/multiworker.xplane.pb.gz" --export-html info.html
    ok "$TAPOOL" tune "$DATA/multiworker.xplane.pb.gz" --export-html tune.html
    ok replay_once "$DATA/multiworker.xplane.pb.gz" -s bfc --export-html replay.html
    for page in why info tune replay; do
        grep -q 'bert_encoder_1' "$page.html" || fail "$page has no operation"
        ! grep -oE 'PYTORCH_[A-Z_]*|expandable_segments|torch\.cuda' "$page.html" || fail "$page speaks of PyTorch"
    done
}
