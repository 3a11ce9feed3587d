# A tapool that was built without the CUDA Toolkit: it says what is missing, and all else works. Of a
# build with the toolkit nothing here holds.
load common

setup() {
    [ "${TAPOOL_WITH_CUDA:-yes}" = no ] || skip "this build has the source cuda"
    enter_folder
    device_trace >gpu.json
}

teardown() {
    [ -z "${SCRATCH:-}" ] || { cd / && rm -rf "$SCRATCH"; }
}

@test "strategies: what is missing, and how to get it" {
    ok "$TAPOOL" strategies
    matches "$out" 'cudaMallocAsync'
    matches "$out" 'built without the CUDA Toolkit'
    matches "$out" 'install the CUDA Toolkit'
    ok "$TAPOOL" strategies cudaMallocAsync
    matches "$out" 'release_threshold'
}

@test "--source cuda: exit 4, with a sentence and a way out" {
    refused 4 'built without the CUDA Toolkit$' replay gpu.json --source cuda -s direct
    matches "$err" "^hint: .*--source virtual"
    refused 4 'built without the CUDA Toolkit$' replay gpu.json --source cuda
}

@test "cudaMallocAsync: exit 4, with a sentence and a way out" {
    refused 4 'cudaMallocAsync.*built without the CUDA Toolkit$' replay gpu.json -s cudaMallocAsync
    matches "$err" '^hint: .*stream-pool'
}

@test "device traces are replayed on a virtual device" {
    ok replay gpu.json -s stream-pool -s direct --json
    is "$out" 'r["source"]["name"]' virtual
    is "$out" 'r["memory"]["peak_requested_bytes"]' 24117248
    ok replay gpu.json
    matches "$out" 'virtual GPU'
}

@test "doctor says it too, and ends with 0" {
    ok "$TAPOOL" doctor
    matches "$out" '^  cuda +missing +.*(built )?without the CUDA Toolkit'
}
