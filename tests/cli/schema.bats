#!/usr/bin/env bats
# The JSON Schemas that are shipped describe what tapool writes: all of it, and nothing else.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common
load browser

RESULT=$TAPOOL_ROOT/cmd/results/result.schema.json
INFO=$TAPOOL_ROOT/cmd/info/info.schema.json
PAIR=$TAPOOL_ROOT/cmd/info/info-pair.schema.json
WHY=$TAPOOL_ROOT/cmd/why/why.schema.json
RANKS=$TAPOOL_ROOT/cmd/why/ranks.schema.json
VERIFY=$TAPOOL_ROOT/cmd/verify/verify.schema.json
PREDICT=$TAPOOL_ROOT/cmd/predict/predict.schema.json
STRATEGIES=$TAPOOL_ROOT/cmd/jobs/strategies.schema.json
CONVERT=$TAPOOL_ROOT/cmd/jobs/convert.schema.json
PLAN=$TAPOOL_ROOT/cmd/plan/plan.schema.json
GEN=$TAPOOL_ROOT/cmd/jobs/gen.schema.json
RECORD=$TAPOOL_ROOT/cmd/record/record.schema.json
HELP=$TAPOOL_ROOT/cmd/help/help.schema.json
DOCTOR=$TAPOOL_ROOT/cmd/doctor/doctor.schema.json
CONFIG=$TAPOOL_ROOT/cmd/cli/config.schema.json
TRACES=("$WHY" "$RANKS" "$VERIFY" "$PREDICT" "$STRATEGIES")
OTHERS=("$CONVERT" "$PLAN" "$GEN" "$RECORD" "$HELP" "$DOCTOR" "$CONFIG")

# replayed NAME ARGS...: the result in NAME.json; `schema valid` looks at many of them at once.
replayed() {
    local name=$1
    shift
    ok replay_once "$@" --json || return 1
    cp "$out" "$name.json"
}

looked_at() {
    local name=$1
    shift
    ok "$TAPOOL" info "$@" --json || return 1
    cp "$out" "$name.json"
}

# A file of several memory spaces, one of which is replayed.
spaces() { cat "$TAPOOL_ROOT/tests/data/umpire/output-head.replay"; }

# A recording of which calls are missing.
missing_calls() {
    echo '{"format":"tapool-trace","version":1,"meta":{"kind":"host","not_recorded":5,"allocator":"glibc 2.36","written":"17:200000:100000",' \
        '"cpu_low_ns":1000,"cpu_high_ns":1100,"wall_ns":2000,"malloc_low_ns":100,"malloc_high_ns":120,"garbage_collections":1}}'
    echo '{"op":"alloc","id":1,"size":8}'
}

two_devices() { device_trace | sed 's/"id": 7, "device": 0/"id": 7, "device": 1/'; }

@test "the schemas are open for readers, describe all there is, and share what is the same" {
    schema shape "$RESULT" "$INFO" "$PAIR" "${TRACES[@]}" "${OTHERS[@]}"
    schema shared "$INFO" "$RESULT" "${TRACES[@]}" "${OTHERS[@]}"
    schema shared "$RESULT" "$PAIR" "${OTHERS[@]}"
    schema shared "$STRATEGIES" "${OTHERS[@]}"
    schema shared "$CONVERT" "$RECORD" "$GEN" "$PLAN"
    schema shared "$PAIR" "$RANKS"
}

@test "results of every kind follow their schema, and hold every member of it" {
    device_trace >gpu.trace
    two_devices >two.trace
    trace '{"op":"mark","name":"a"}' >marks.trace
    trace '{"op":"alloc","id":1,"size":281474976710656}' >huge.trace
    trace '{"op":"free","id":9}' '{"op":"alloc","id":1,"size":10}' '{"op":"alloc","id":1,"size":20}' \
        '{"op":"retain","id":1}' >dirty.trace
    replayed single sample:sqlite -s arena
    replayed counted sample:sqlite -s arena --passes usage,count
    replayed table sample:sqlite sample:python-threads
    replayed system sample:jq -s system
    replayed labels sample:jq -s arena -s small=arena:arena_size=1MiB,classes=coarse12 --seed 18446744073709551614
    replayed device gpu.trace
    replayed two two.trace -s arena
    printf '%s\n' 'tapool plan 1' 'stream 0 20971520' 'requests 1' '0 20971520 256 2 0' >hand.plan
    replayed planned gpu.trace -s planned:plan=hand.plan
    replayed planned-two two.trace -s planned:plan=hand.plan
    replayed failing sample:sqlite -s arena -s bump --source virtual+limit:capacity=300KiB
    replayed stopped sample:sqlite -s arena --source virtual+limit:capacity=300KiB --on-oom stop
    replayed wrapped sample:sqlite -s direct --source host+shuffle+limit:capacity=1GiB --touch all
    replayed marks marks.trace
    replayed huge huge.trace -s direct -s arena -s bump --source virtual
    replayed dirty dirty.trace -s arena --repair
    captured_trace >captured.trace
    snapshot p4 >snapshot.trace
    spaces >spaces.trace
    replayed captured captured.trace
    replayed called "$TAPOOL_ROOT/tests/data/recorded/called.tpt"
    replayed dropped captured.trace -s arena --initial-heap=drop
    replayed cut sample:jq -s arena --limit 100
    replayed snapshot snapshot.trace
    replayed held snapshot.trace --at 3
    replayed spaces spaces.trace -s arena -s bump
    replayed all spaces.trace -s direct --source virtual --space all
    missing_calls >missing.trace
    replayed incomplete missing.trace -s arena
    ok replay sample:sqlite -s arena -v --json
    cp "$out" steady.json
    ok replay_once sample:sqlite -s arena --export-json exported.json
    is failing.json 'r["failed_allocations"] > 0' True
    is two.json '"memory" in r' False
    is dirty.json 'len(r["trace"]["repairs"])' 2
    is huge.json 'type(r["driver_calls"]["get_bytes"]).__name__' int # 2^48 is exact
    is labels.json 'd["seed"]' 18446744073709551614
    is captured.json 'r["trace"]["wrapped"]' True
    is captured.json 'r["trace"]["initial_heap"]["objects"], len(r["recorded"]["devices"])' '(2, 2)'
    is dropped.json 'r["trace"]["initial_heap"]' "{'objects': 0, 'bytes': 0, 'dropped_objects': 2}"
    is called.json '[c["bytes"] for c in r["peak_sites"]["places"][0]["called_from"]]' '[40000, 35000, 25000]'
    is cut.json 'r["trace"]["cut"], r["trace"]["events"]' '(True, 100)'
    is snapshot.json 'r["peak_place"]' 'train.py:7 step'
    is spaces.json '"left_out" in r["trace"]' True
    is all.json '"left_out" in r["trace"], r["trace"]["space"]' "(False, 'all')"
    is single.json 'r["latency_sampled_operations"]' None # a number where there are more than 10 million
    "${CC:-cc}" -shared -fPIC -I "$(dirname "$TAPOOL")/include" \
        "$TAPOOL_ROOT/scripts/plugin-example/buddy.c" -o buddy.so
    replayed plugin "$SAMPLES/sqlite.json" -s plugin:./buddy.so
    is plugin.json 'r["strategy"]["plugin"]' "{'file': 'buddy.so', 'version': '1.0'}"
    printf 'none\n' >none.so
    capture "$TAPOOL" replay sample:sqlite -s arena -s lib:./none.so --min-time 0 --export-json missing.json
    is missing.json 'd["failed"][0]["label"]' lib:none.so
    # a real device, or what stands for one
    without=--without=real_device,measured,driver,occupy,occupy_scale,source.device
    if [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ]; then
        export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
        replayed cuda gpu.trace --occupy spin
        replayed cuda-two two.trace -s arena --map-device 1=0
        TAPOOL_FAKE_CUDA=memory=20MiB replayed cuda-full gpu.trace -s cudaMallocAsync -s direct
        is cuda.json 'r["source"]["device"][0]["simulated"], r["occupy"], r["memory"]["class"]' "(True, 'spin', 'R')"
        is cuda-full.json 'r["devices"][0]["measured"]["free_at_failure_bytes"] is None' False
        without=--without=
    fi
    schema valid "$RESULT" ./*.json
    schema covered "$RESULT" "$without" ./*.json
}

@test "what info writes follows its schema, and holds every member of it" {
    device_trace >gpu.trace
    two_devices >two.trace
    trace '{"op":"mark","name":"a"}' '{"op":"alloc","id":1,"size":8}' '{"op":"realloc","id":1,"size":9}' >marks.trace
    for sample in sqlite jq python-threads; do
        looked_at "$sample" "sample:$sample"
    done
    looked_at device gpu.trace
    looked_at two two.trace
    looked_at marks marks.trace
    lines '{"op":"mark","name":"a"}' >pipe.trace
    looked_at pipe - <pipe.trace
    captured_trace >captured.trace
    looked_at captured captured.trace
    looked_at dropped captured.trace --initial-heap=drop
    ok "$TAPOOL" convert captured.trace -o captured.tpt
    looked_at binary captured.tpt
    snapshot p4 >snapshot.trace
    looked_at held snapshot.trace --at 3
    looked_at snapshot snapshot.trace
    snapshot state >state.trace
    looked_at state state.trace
    spaces >spaces.trace
    looked_at spaces spaces.trace
    looked_at all spaces.trace --space all
    missing_calls >missing.trace
    looked_at incomplete missing.trace
    for file in mtrace/calls.txt rmm/doc_record_replay_sample.csv umpire/tut_replay_log.json valgrind/stamped.txt \
        minimalloc/input.12.csv recorded/called.tpt; do
        looked_at "$(dirname $file)" "$TAPOOL_ROOT/tests/data/$file"
    done
    python3 - <<'END'
import json
def load(name):
    return json.load(open(name + ".json"))
assert load("state")["nothing"] and "nothing" not in load("snapshot")
assert load("snapshot")["peak_place"] == "train.py:7 step"
assert load("spaces")["trace"]["left_out"] and "left_out" not in load("all")["trace"]
assert load("captured")["recorded"] == load("binary")["recorded"]
assert load("captured")["recorded"]["devices"][0]["end_segments"] == 2
assert load("dropped")["trace"]["initial_heap"]["dropped_objects"] == 2
assert load("mtrace")["trace"]["unknown"] == ["time", "threads", "alignment"]
END
    schema valid "$INFO" ./*.json
    schema covered "$INFO" ./*.json
    # sums beyond 2^53 are strings
    mapfile -t many < <(for i in $(seq 1 40); do echo "{\"op\":\"alloc\",\"id\":$i,\"size\":281474976710656}"; done)
    trace "${many[@]}" >large.trace
    looked_at large large.trace
    schema valid "$INFO" large.json
    python3 -c 'import json
d = json.load(open("large.json"))
assert d["live_at_end_bytes"] == str(40 << 48), d["live_at_end_bytes"]'
}

@test "what info writes of two traces follows its schema, and says which conditions are met" {
    captured_trace >captured.trace
    looked_at same sample:sqlite sample:sqlite
    missing_calls >missing.trace
    looked_at incomplete missing.trace sample:sqlite
    looked_at other captured.trace sample:sqlite
    snapshot p4 >snapshot.trace
    spaces >spaces.trace
    looked_at rare snapshot.trace spaces.trace
    looked_at dropped captured.trace captured.trace --initial-heap=drop
    lines '{"op":"alloc","id":1,"size":8}' >one.jsonl
    lines '{"op":"alloc","id":1,"size":8}' '{"op":"alloc","id":2,"size":4}' '{"op":"free","id":2}' >two.jsonl
    capture "$TAPOOL" info one.jsonl two.jsonl --json --fail-on 'allocations>+1' --fail-on 'peak_requested>+50%'
    [ "$rc" -eq 0 ]
    capture "$TAPOOL" info one.jsonl two.jsonl --json --fail-on 'allocations>+1%' --fail-on 'peak_requested>+50%'
    [ "$rc" -eq 1 ]
    one_sentence "$err"
    cp "$out" met.json
    is met.json '[c["met"] for c in d["conditions"]]' '[True, False]'
    is met.json '[(f["values"], f["change"]) for f in d["figures"] if f["name"] in ("allocated", "frees")]' \
        '[([8, 12], 0.5), ([0, 1], None)]'
    is met.json '[s["objects"] for s in d["sizes"] if any(s["objects"])]' '[[1, 2]]'
    is same.json '{f["change"] for f in d["figures"] if f["change"] is not None}' '{0}'
    is other.json 'd["sizes"]' '[]'
    python3 "$CLI/oom_snapshot.py" rank 60 late >late.pickle
    python3 "$CLI/oom_snapshot.py" rank 90 >large.pickle
    looked_at grown late.pickle large.pickle --by line
    schema valid "$PAIR" ./*.json
    schema covered "$PAIR" --without=settings,wrapped ./*.json
    schema mutants "$PAIR" met.json
}

# bats test_tags=nightly
@test "a document that is damaged anywhere is refused" {
    ! sanitized || skip "about the schemas alone"
    device_trace >gpu.trace
    replayed device gpu.trace -s arena -s bump
    schema mutants "$RESULT" device.json
    replayed failing sample:sqlite -s arena --source virtual+limit:capacity=300KiB
    schema mutants "$RESULT" failing.json
    looked_at info gpu.trace
    schema mutants "$INFO" info.json
    # one device, with what a capture says
    snapshot p4 >snapshot.trace
    replayed snapshot snapshot.trace -s arena
    schema mutants "$RESULT" snapshot.json
    looked_at info-snapshot snapshot.trace
    schema mutants "$INFO" info-snapshot.json
    [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ] || return 0
    export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
    replayed cuda gpu.trace -s cudaMallocAsync -s direct
    schema mutants "$RESULT" cuda.json
}

@test "values out of range are refused" {
    needs_jsonschema
    replayed single sample:sqlite -s arena
    looked_at info sample:sqlite
    "$python" - "$RESULT" single.json "$INFO" info.json <<'END'
import copy, json, sys
import jsonschema

def check(schema, document, changes):
    v = jsonschema.Draft202012Validator(json.load(open(schema)))
    d = json.load(open(document))
    assert v.is_valid(d)
    for path, value in changes:
        other = copy.deepcopy(d)
        at = other
        for key in path[:-1]:
            at = at[key]
        assert path[-1] in at, path
        at[path[-1]] = value
        assert not v.is_valid(other), "accepted: %s = %r" % (path, value)

m = ["runs", 0, "memory"]
check(sys.argv[1], sys.argv[2], [
    (["schema"], "tapool.result/1"), (["schema"], "tapool.info/2"), (["seed"], -1), (["seed"], 1.5),
    (["seed"], (1 << 53) + 2), (["seed"], "12"), (["seed"], None),
    (m + ["peak_reserved_bytes"], -4096), (m + ["peak_metadata_bytes"], -1), (m + ["class"], "N"),
    (m + ["unused_reserved"], 1.01), (m + ["unused_reserved"], -0.01), (m + ["weight"], "bytes"),
    (["runs", 0, "trace", "kind"], "gpu"), (["runs", 0, "trace", "program_hash"], "26CB"),
    (["runs", 0, "touch"], "twice"), (["runs", 0, "latency_scope"], "all"),
    (["runs", 0, "throughput", "ns_per_op"], -1), (["runs", 0, "throughput", "replays"], None),
    (["runs", 0, "latency", "alloc", "coarse"], ["p51_ns"]),
    (["runs", 0, "latency", "alloc", "buckets"], [[1, 2, 3]]),
    (["runs", 0, "latency", "alloc", "buckets"], [[1]]), (["runs", 0, "devices"], []),
    (["runs", 0, "warnings"], [{"id": "Not An Id", "text": "x"}])])
check(sys.argv[3], sys.argv[4], [
    (["schema"], "tapool.result/2"), (["curve"], [[1]]), (["curve"], [[1, -1]]),
    (["common_sizes"], [{"bytes": 1, "requests": 1}] * 4), (["distinct_sizes"], None),
    (["trace", "repairs"], {"unknown_free": -1}), (["operations", "alloc"], None)])
END
}

@test "the schemas are installed" {
    build=$(dirname "$TAPOOL")
    [ -f "$build/CMakeCache.txt" ] || skip "$TAPOOL is not in a build folder of CMake"
    capture cmake --install "$build" --prefix "$SCRATCH/prefix"
    [ "$rc" -eq 0 ] || fail "$(cat "$out" "$err")"
    find "$TAPOOL_ROOT/cmd" -name '*.schema.json' >all
    [ "$(wc -l <all)" -ge 19 ]
    while read -r file; do cmp "$SCRATCH/prefix/share/tapool/${file##*/}" "$file"; done <all
}

@test "what why writes follows its schema, and holds every member of it" {
    for name in fragmented too-big two; do
        python3 "$CLI/oom_snapshot.py" "$name" >"$name.pickle"
        ok "$TAPOOL" why "$name.pickle" --json
        cp "$out" "$name.json"
    done
    ok "$TAPOOL" why "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --json --by age
    cp "$out" age.json
    ok "$TAPOOL" why "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --json
    cp "$out" peak.json
    is peak.json 'd["devices"][0]["sites"]["rests"][0]["why"]' "initial heap"
    schema valid "$WHY" ./*.json
    schema covered "$WHY" ./*.json
}

@test "what verify writes follows its schema, and holds every member of it" {
    verified() {
        local name=$1
        shift
        capture "$TAPOOL" verify "$@" --json
        [ "$rc" -le 1 ] || fail "$(cat "$err")"
        cp "$out" "$name.json"
    }
    data=$TAPOOL_ROOT/tests/data/pytorch
    verified small "$data/complete-small.pickle"
    verified step "$data/training-step.pickle.gz"
    verified broken "$data/complete-small.pickle" --mutate first-fit
    python3 "$CLI/rules_snapshot.py" changes >changes.pickle
    verified changes changes.pickle
    captures=$TAPOOL_ROOT/tests/data/xplane
    verified empty "$captures/jax-gemm.xplane.pb.gz" --mutate round-512
    python3 "$CLI/xplane.py" first 1 first.xplane.pb
    verified assumed first.xplane.pb
    verified missing "$TAPOOL_ROOT/tests/fuzz/corpus/xplane/missing"
    python3 - <<'END'
import json
def device(name):
    return json.load(open(name + ".json"))["devices"][0]
assert device("step")["agrees"] and device("step")["addresses"] == {"total": 2162, "as_recorded": 2162}
assert "first_difference" not in device("step") and device("step")["settings_search"] is None
assert not device("broken")["agrees"] and device("broken")["first_difference"]["free_blocks"]
assert device("changes")["settings_search"] == "found" and len(device("changes")["settings"]) == 2
END
    refused 2 'json and --rules exclude each other' "$TAPOOL" verify --rules --json
    schema valid "$VERIFY" ./*.json
    schema covered "$VERIFY" ./*.json
}

@test "what strategies writes follows its schema, and holds every member of it" {
    local name
    "${CC:-cc}" -shared -fPIC -I "$(dirname "$TAPOOL")/include" \
        "$TAPOOL_ROOT/scripts/plugin-example/buddy.c" -o buddy.so
    for name in '' arena cudaMallocAsync plugin:./buddy.so; do
        ok env TAPOOL_CUDA_DRIVER=/nonexistent "$TAPOOL" strategies ${name:+"$name"} --json
        cp "$out" "one-$(basename "${name:-all}").json"
    done
    python3 - <<'END'
import json
def load(name):
    return json.load(open("one-%s.json" % name))["strategies"]
listed = {s["name"]: s for s in load("all")}
assert listed["arena"] == load("arena")[0], load("arena")
assert listed["system"]["library"] and listed["system"]["runs_on"] == ["host"], listed["system"]
assert "lib:PATH" in listed and listed["direct"]["kind"] == "reference" and not listed["direct"]["options"]
assert listed["cudaMallocAsync"]["not_here"] == "/nonexistent was not found" and not listed["cudaMallocAsync"]["runs_on"]
assert load("buddy.so")[0]["file"] == "./buddy.so" and load("buddy.so")[0]["kind"] == "plugin"
options = {o["name"]: o for o in listed["arena"]["options"]}
assert options["first_range"]["type"] == "size" and options["first_range"]["default"] == "64KiB"
assert options["classes"]["choices"] == ["fine", "coarse6", "coarse12"] and options["classes"]["min"] is None
END
    refused 2 'json and --conformance exclude each other' "$TAPOOL" strategies --conformance arena --json
    refused 2 "unknown strategy 'aerna'" "$TAPOOL" strategies aerna --json
    schema valid "$STRATEGIES" ./one-*.json
    schema covered "$STRATEGIES" ./one-*.json
}

@test "what why and info write of several snapshots follows its schema" {
    for size in 60 90; do python3 "$CLI/oom_snapshot.py" rank "$size" >"rank$size.pickle"; done
    capture "$TAPOOL" why rank60.pickle rank90.pickle missing.pickle --json
    [ "$rc" -eq 3 ]
    cp "$out" odd.json
    ok "$TAPOOL" info rank60.pickle rank60.pickle rank60.pickle --json
    cp "$out" equal.json
    python3 "$CLI/snapshot.py" state >state.pickle
    ok "$TAPOOL" why state.pickle rank60.pickle --json
    cp "$out" state.json
    schema valid "$RANKS" ./*.json
    schema covered "$RANKS" ./*.json
}

@test "predictions follow their schema, which has no member that none of them has" {
    for n in 64 128 256; do python3 "$CLI/made_runs.py" $n >$n.trace; done
    python3 "$CLI/made_runs.py" 128 layers=5 >other.trace
    predicted() {
        local name=$1
        shift
        "$TAPOOL" predict "$@" --json >"$name.json" || [ $? -eq 3 ]
    }
    predicted two 64.trace@64 128.trace@128 --at 512
    predicted three 64.trace@len=64 128.trace@len=128 256.trace@len=256 --at 512 --fits 64MiB
    for n in 64 128; do python3 "$CLI/made_runs.py" $n batch=2 >two-$n.trace; done
    predicted several 64.trace@batch=1,len=64 two-64.trace@batch=2,len=64 128.trace@batch=1,len=128 \
        two-128.trace@batch=2,len=128 --at batch=4,len=256
    predicted fits 64.trace@64 128.trace@128 --fits 4MiB
    predicted refused 64.trace@64 other.trace@128 --at 512
    predicted lost 64.trace@64 128.trace@128 256.trace@256 --at 512
    for n in 500 1000 2000; do python3 "$CLI/made_host.py" $n $n >$n.host; done
    predicted host 500.host@500 1000.host@1000 2000.host@2000 --at 4000
    for n in 64 128; do python3 "$CLI/made_doubt.py" warm $n; done
    mkdir -p made && mv warm-*.jsonl made
    predicted warm made/warm-64.jsonl@64 made/warm-128.jsonl@128 --at 16384
    data=$TAPOOL_ROOT/tests/data/h200
    predicted gpu "$data/gpt-infer-ctx128.pickle.zst@128" "$data/gpt-infer-ctx256.pickle.zst@256" --at 1024 \
        --check "1024=$data/gpt-infer-ctx1024.pickle.zst" --curve
    schema valid "$PREDICT" ./*.json
    schema covered "$PREDICT" ./*.json
}

@test "what plan writes follows its schema, and replays by it theirs" {
    ok "$TAPOOL" plan sample:training-step -o step.plan --json
    cp "$out" marked.json
    ok "$TAPOOL" gen random-replace --count 40 -o random.jsonl
    { head -1 random.jsonl; for i in 1 2 3; do
        printf '{"op": "alloc", "id": %d, "size": 4096}\n{"op": "alloc", "id": %d, "size": 8192}\n' "${i}1" "${i}2"
        printf '{"op": "free", "id": %d}\n{"op": "free", "id": %d}\n' "${i}1" "${i}2"
    done; } >period.jsonl
    ok "$TAPOOL" plan period.jsonl --step 3 -o last.plan --json
    cp "$out" last.json
    schema valid "$PLAN" marked.json last.json
    schema covered "$PLAN" marked.json last.json
    is last.json 'd["mark"], d["steps"], d["next"], d["pool_bytes"]' '(None, 3, None, 12288)'
    replayed plan sample:training-step --limit 20000 -s planned:plan=step.plan
    schema valid "$RESULT" plan.json
    is plan.json 'sorted(r["plan"])' \
        "['deviated', 'deviated_bytes', 'followed', 'followed_bytes']"
}

@test "what convert, gen and record write follows their schemas, and holds every member of them" {
    ok "$TAPOOL" convert "$TAPOOL_ROOT/tests/data/recorded/called.tpt" -o called.jsonl --json
    cp "$out" called.json
    is called.json 'd["callers_dropped"]' True
    is called.json 'd["trace"]["format"], d["trace"]["size_bytes"]' "('jsonl', $(wc -c <called.jsonl))"
    ok "$TAPOOL" convert sample:sqlite -o /dev/null --output-format json --force --json
    cp "$out" nowhere.json
    is nowhere.json 'd["callers_dropped"], d["trace"]["size_bytes"]' '(False, None)'
    refused 2 '^tapool: --json needs -o FILE' "$TAPOOL" convert sample:sqlite -o - --json
    ok env TAPOOL_JSON=yes "$TAPOOL" convert sample:sqlite -o -
    matches "$out" '"format": "tapool-trace"'
    schema valid "$CONVERT" called.json nowhere.json
    schema covered "$CONVERT" called.json nowhere.json

    ok "$TAPOOL" gen --json
    cp "$out" all.json
    ok "$TAPOOL" gen pair --json
    cp "$out" one.json
    ok "$TAPOOL" gen pair --count 3 --seed 7 -o pair.json --json
    cp "$out" made.json
    is all.json '[p["name"] for p in d["profiles"]].index("pair"), d["trace"]' '(0, None)'
    is one.json '[o["name"] for o in d["profiles"][0]["options"]][-1]' seed
    is made.json 'd["program"], d["trace"]["events"]' "('synthetic (pair, seed 7, count=3)', 6)"
    refused 2 '^tapool: --json needs -o FILE' "$TAPOOL" gen pair -o - --json
    schema valid "$GEN" all.json one.json made.json
    schema covered "$GEN" all.json one.json made.json

    recorded() { # NAME ARGUMENT...: what standard error says of the recording
        local name=$1
        shift
        capture "$TAPOOL" record "$@" --json -- sh -c '(ls >/dev/null); ls >/dev/null'
        [ "$rc" -eq 0 ] && [ "$(wc -l <"$err")" -eq 1 ] && cp "$err" "$name.json"
    }
    recorded plain -o plain.tpt
    recorded followed -o followed.tpt --follow all
    is plain.json 'd["trace"]["events"] > 10, d["children"], d["trace_peak_bytes"] > 0' '(True, None, True)'
    is followed.json 'd["children"]["traces"] > 1' True
    schema valid "$RECORD" plain.json followed.json
    schema covered "$RECORD" plain.json followed.json
}

@test "help --json follows its schema, and holds what the screens hold" {
    ok "$TAPOOL" help --json
    cp "$out" help.json
    schema valid "$HELP" help.json
    schema covered "$HELP" help.json
    "$TAPOOL" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' >words
    query help.json '"\n".join(e["name"] for e in d["commands"] + d["topics"])' | diff words -
    "$TAPOOL" replay --help-all | grep -oE '^  (-.,|   ) --[a-z-]+' | sed 's/.*--//' | sort >words
    query help.json '"\n".join(sorted(o["name"] for o in d["commands"][0]["options"]))' | diff words -
    is help.json '[o["default"] for o in d["commands"][0]["options"] if o["name"] == "color"]' "['auto']"
    [ "$(query help.json 'len(d["terms"])')" -eq "$("$TAPOOL" help terms | grep -c '^  [^ ]')" ]
    refused 2 '^tapool: help --json takes no topic$' "$TAPOOL" help replay --json
    printf 'broken' >broken.ini
    refused 2 'broken\.ini:1' env TAPOOL_CONFIG=broken.ini "$TAPOOL" gen
    ok env TAPOOL_CONFIG=broken.ini "$TAPOOL" help --json
}

@test "what doctor writes follows its schemas, and holds every member of them" {
    ok "$TAPOOL" doctor --json
    cp "$out" machine.json
    without=--without=cuda_device,cuda
    if [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ]; then
        export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
        ok "$TAPOOL" doctor --json
        cp "$out" cuda.json
        is cuda.json 'd["cuda"]["simulated"]' True
        without=--without=
    fi
    schema valid "$DOCTOR" ./*.json
    schema covered "$DOCTOR" "$without" ./*.json
    printf '[replay]\nstrategy = arena\n' >one.ini
    ok env TAPOOL_CONFIG=one.ini TAPOOL_LIMIT=9 TAPOOL_NO_SUCH=1 "$TAPOOL" doctor --config --json
    cp "$out" config.json
    is config.json '"TAPOOL_NO_SUCH" in d["unused_variables"]' True
    is config.json '{o["name"]: o["from"] for o in d["commands"][0]["options"] if o["from"] != "default"}' \
        "{'strategy': 'file', 'limit': 'environment'}"
    schema valid "$CONFIG" config.json
    schema covered "$CONFIG" config.json
}
