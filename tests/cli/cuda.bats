#!/usr/bin/env bats
# A real device, on the fake driver (tests/fake_libcuda/fake_libcuda.h): which source is chosen, the screens, what the
# JSON says, every way in which a driver or a device can fail, Ctrl-C; and after each that nothing is held.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

setup() {
    [ -n "${TAPOOL_FAKE_CUDA_PATH:-}" ] || skip "the fake driver is not built: it needs the CUDA Toolkit"
    enter_folder
    export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$SCRATCH/report
    unset TAPOOL_FAKE_CUDA
    device_trace >gpu.json
    two_devices >two.json
}

two_devices() { device_trace | sed 's/"id": 7, "device": 0/"id": 7, "device": 1/'; }
untimed() { device_trace | sed 's/"t": [0-9]*, //'; }

# balanced RUNS: the fake driver was loaded so often since the last time, and its books balance.
balanced() {
    local lines
    lines=$(grep -cE '^fake_cuda: (books balance|[0-9]+ violations)' "$TAPOOL_FAKE_CUDA_REPORT" || true)
    [ "$lines" -eq "$1" ] || fail "$lines reports, not $1" "$(cat "$TAPOOL_FAKE_CUDA_REPORT")" || return 1
    not grep -q 'violation:' "$TAPOOL_FAKE_CUDA_REPORT" || return 1
    not grep -qv '^fake_cuda: books balance$' "$TAPOOL_FAKE_CUDA_REPORT" ||
        fail "$(cat "$TAPOOL_FAKE_CUDA_REPORT")" || return 1
    rm -f "$TAPOOL_FAKE_CUDA_REPORT"
}

# with SCRIPT CMD...
with() { TAPOOL_FAKE_CUDA=$1 "${@:2}"; }

# is_doctor EXPRESSION: of the JSON of tapool doctor.
is_doctor() { python3 -S -E -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$out" "$1"; }

# ---- which source ----

@test "a device trace replays on the device, a host trace does not" {
    ok replay_once gpu.json --json
    is "$out" '{x["source"]["name"] for x in d["runs"]}' "{'cuda'}"
    is "$out" '[x["strategy"]["name"] for x in d["runs"]]' \
        "['arena', 'lru', 'stream-pool', 'bump', 'cudaMallocAsync', 'direct']"
    is "$out" '{x["latency_scope"] for x in d["runs"]}' "{'strategy_and_source'}"
    balanced 1
    ok replay_once sample:sqlite -s arena --json
    is "$out" 'r["source"]["name"]' host
    [ ! -e "$TAPOOL_FAKE_CUDA_REPORT" ] # not even asked
    ok replay_once sample:sqlite -s arena --source cuda --json
    is "$out" 'r["source"]["name"], r["trace"]["kind"], r["memory"]["class"]' "('cuda', 'host', 'R')"
    ok replay_once gpu.json --source virtual -s arena --json
    is "$out" 'r["source"]["name"], r["memory"]["class"]' "('virtual', 'E')"
    ok replay_once sample:sqlite -s cudaMallocAsync --json # nowhere else
    is "$out" 'r["source"]["name"]' cuda
    balanced 2
    export TAPOOL_CUDA_DRIVER=/nonexistent
    ok replay_once gpu.json -s arena --json
    is "$out" 'r["source"]["name"]' virtual
}

@test "stitch maps memory at two addresses, and gives all back" {
    ok "$TAPOOL" gen streams --count 300 --size 4MiB --max-size 60MiB --live 30 -o streams.json
    ok with memory=8GiB replay_once streams.json -s stitch:frag_limit=0,auto_gc=200MiB --verify --json
    is "$out" 'r["verified"], r["driver_calls"]["put"] > 20, r["driver_calls"]["put_bytes"]' '(True, True, 0)'
    balanced 1
}

@test "options of a device are refused where none replays" {
    for options in '--occupy spin' '--occupy memset' '--map-device 0=0'; do
        # shellcheck disable=SC2086 # words
        refused 2 "^tapool: ${options%% *} is about a real device: 'virtual' is none$" replay_once gpu.json --source virtual $options
        matches "$err" "^hint: '--source cuda' replays the trace on a GPU$"
    done
    refused 2 "^tapool: --occupy is about a real device: 'host' is none$" replay_once sample:sqlite --occupy spin
    for scale in 0 -1 x '' nan inf 1x; do
        refused 2 "^tapool: option 'occupy-scale' is '$scale', which is not a positive number$" \
            replay_once gpu.json --occupy spin --occupy-scale "$scale"
    done
    refused 2 "^tapool: --occupy-scale goes with --occupy spin$" replay_once gpu.json --occupy-scale 2
    refused 2 "^tapool: option 'occupy' is 'much'" replay_once gpu.json --occupy much
    ok replay_once gpu.json -s direct --occupy spin --occupy-scale 0.5 --json
    is "$out" 'r["occupy"], r["occupy_scale"], r["devices"][0]["measured"]["driver"]["works"]' "('spin', 0.5, 4)"
    balanced 1
}

@test "a busy stream keeps its frees pending, for as long as --occupy-scale says" {
    sed '/"events"/,$d' gpu.json >reuse.json
    cat >>reuse.json <<'END'
  "events": [
    {"t": 0, "op": "alloc", "id": 1, "size": 2097152},
    {"t": 1000, "op": "free", "id": 1},
    {"t": 2000, "op": "alloc", "id": 2, "size": 2097152, "stream": 7},
    {"t": 3000, "op": "free", "id": 2, "stream": 7} ] }
END
    for occupy in 'none 2097152' 'spin --occupy-scale 0.001 2097152' 'spin --occupy-scale 1000 4194304'; do
        # shellcheck disable=SC2086 # words
        ok replay_once reuse.json -s stream-pool --json --occupy ${occupy% *}
        is "$out" 'r["memory"]["peak_reserved_bytes"]' "${occupy##* }" || fail "with $occupy"
    done
    balanced 3
}

@test "the busiest stream: how long it was to be busy, and how long it was" {
    ok replay_once gpu.json -s direct --occupy spin --json
    is "$out" '(lambda d: d["busy_asked_ns"] > 0 and d["busy_spent_ns"] > 0)(r["devices"][0]["measured"]["driver"])' True
    ok replay_once gpu.json -s direct --occupy spin
    matches "$out" 'busiest stream: [0-9.]+ [a-z]+ of work queued, took [0-9.]+ [a-z]+$'
    ok replay_once gpu.json -s direct --occupy memset --json
    is "$out" '[r["devices"][0]["measured"]["driver"][k] for k in ("busy_asked_ns", "busy_spent_ns")]' '[0, 0]'
    balanced 3
}

@test "a capacity limits the device: an own pool, the default one cannot be limited" {
    ok replay_once gpu.json --capacity 30MiB --json
    is "$out" '{x["source"]["name"] for x in d["runs"]}' "{'cuda+limit'}"
    is "$out" '[x["strategy"]["options"]["pool"] for x in d["runs"] if "pool" in x["strategy"]["options"]]' "['own']"
    refused 2 "^tapool: 'cudaMallocAsync': the default pool of a device takes no capacity" \
        replay_once gpu.json --capacity 30MiB -s cudaMallocAsync
    matches "$err" '^hint: -s cudaMallocAsync:pool=own$'
    ok replay_once gpu.json --capacity 64MiB -s cudaMallocAsync:pool=own
    matches "$out" 'limited to 64 MiB'
    balanced 3
}

@test "streams have connections of their own as far as there are any" {
    export CUDA_DEVICE_MAX_CONNECTIONS=1
    ok replay_once gpu.json -s direct --json
    is "$out" 'r["source"]["device"][0]["max_connections"]' 1
    ok replay_once gpu.json -s direct
    matches "$out" 'CUDA 13\.0, 1 connection shared by 2 streams\.'
    CUDA_DEVICE_MAX_CONNECTIONS=many ok replay_once gpu.json -s direct --json
    is "$out" 'r["source"]["device"][0]["max_connections"]' None
    unset CUDA_DEVICE_MAX_CONNECTIONS
    ok replay_once gpu.json -s direct --json
    is "$out" 'r["source"]["device"][0]["max_connections"]' 32
    balanced 4
}

@test "which device replays which" {
    export TAPOOL_FAKE_CUDA=devices=3
    ok replay_once two.json -s stream-pool --json
    is "$out" '[x["ordinal"] for x in r["source"]["device"]]' '[0, 1]'
    ok replay_once two.json -s stream-pool --map-device 0=2 --map-device 1=0 --json
    is "$out" '[x["ordinal"] for x in r["source"]["device"]]' '[2, 0]'
    is "$out" 'r["source"]["options"]["map"]' '0=2,1=0'
    ok replay_once two.json -s stream-pool --source 'cuda:map={1=2}' --json
    is "$out" '[x["ordinal"] for x in r["source"]["device"]]' '[0, 2]'
    ok replay_once gpu.json -s stream-pool --map-device 0=1
    matches "$out" '^stream-pool on cuda, device 1$'
    balanced 4
    refused 2 "^tapool: --map-device and the option 'map' of the source exclude each other$" \
        replay_once two.json --source 'cuda:map={1=2}' --map-device 0=1
    refused 2 "^tapool: device 2 is mapped, but the trace has 2 devices, numbered from 0$" replay_once two.json --map-device 2=0
    for list in 0 0= =1 a=b 0=1,0=2 '0=1,' 99999999999=1; do
        refused 2 "^tapool: '$list' is not a list of devices$" replay_once two.json --map-device "$list"
        matches "$err" '^hint: 0=1,1=0 replays device 0 of the trace on CUDA device 1, and 1 on 0'
    done
}

# ---- screens ----

@test "the screens of a device" {
    shown cuda-table replay_once gpu.json
    fitting replay_once gpu.json --occupy spin -s lru -s stream-pool -s direct
    matches <(tr -s ' \n' ' ' <"$out") 'each block is worked on \(spin, recorded time x 1\)'
    lacks "$out" 'idle-streams'
    fitting replay_once gpu.json -s stream-pool
    fitting replay_once gpu.json -s cudaMallocAsync --occupy memset
    shown cuda-pool-v replay_once gpu.json -s cudaMallocAsync -v
    fitting replay_once gpu.json -s direct -v
    fitting replay_once sample:sqlite -s arena --source cuda
    matches "$out" '^ +cuMemGetInfo: 2 MiB less free at 2 MiB reserved; 8 GiB of 8 GiB free at the$'
    fitting with devices=2 replay_once two.json
    matches "$out" '^cuda, 2 devices +2 x Simulated GPU'
    fitting with memory=20MiB replay_once gpu.json
    [ "$(grep -c 'OUT OF MEMORY    2 of 4 allocations failed: skipped, with their 2 later calls' "$out")" -eq 6 ]
    matches "$out" '^Pick: none, every strategy here failed$'
    ok with memory=20MiB replay_once gpu.json -s cudaMallocAsync
    golden cuda-full-pool <"$out"
    balanced 10
    fitting "$TAPOOL" strategies
    ok tool fits 80 "$TAPOOL" strategies
    ok tool fits 80 "$TAPOOL" doctor
    for args in '' '-s stream-pool -v' '-s cudaMallocAsync -v' '--occupy spin'; do
        # shellcheck disable=SC2086 # words
        ok tool fits 80 "$TAPOOL" replay --min-time 0 gpu.json $args
    done
}

@test "nothing on the screens of a device speaks of a virtual one" {
    ok replay_once gpu.json -v
    lacks "$out" 'no GPU is used|cudaMalloc is not in them|not simulated|virtual|mmap|page faults|system'
    ok replay gpu.json -s stream-pool
    lacks "$out" 'no GPU is used|cudaMalloc is not in them|Strategy time|virtual|mmap|page faults|system'
}

@test "text and JSON of one run say the same" {
    for strategy in stream-pool direct arena; do
        ok replay_once gpu.json -s $strategy --export-json r.json -f
        python3 "$CLI/agree.py" "$out" r.json >/dev/null
    done
}

@test "a pool of the driver: its own marks, null where it does not say" {
    ok replay_once gpu.json -s cudaMallocAsync --json
    is "$out" 'r["memory"]["peak_reserved_bytes"] >= 24117248' True
    is "$out" 'r["memory"]["peak_allocated_bytes"], r["devices"][0]["measured"]["pool_unused_at_failure_bytes"]' '(None, None)'
    is "$out" '[r["memory"][k] for k in ("peak_reserved_event", "peak_carved_bytes", "internal_fragmentation", "unused_reserved", "min_capacity_bytes")]' \
        '[None, None, None, None, None]'
    is "$out" '[r["memory"]["at_trace_peak"][k] for k in ("allocated_bytes", "reserved_bytes", "free_bytes", "free_blocks")]' \
        '[None, None, None, None]'
    is "$out" 'r["driver_calls"]["hit_rate"], r["memory"]["curve"]' '(None, [])'
    is "$out" 'r["devices"][0]["measured"]["pool_used_bytes"]' '[24117248, 24117248]'
    is "$out" 'r["devices"][0]["measured"]["peak_reserved_bytes"][0] == r["memory"]["peak_reserved_bytes"]' True
    ok replay_once gpu.json -s direct --json
    is "$out" 'r["devices"][0]["measured"]["pool_used_bytes"]' None
    is "$out" 'r["devices"][0]["measured"]["driver"]["calls"] >= r["driver_calls"]["get"] + r["driver_calls"]["put"]' True
    balanced 2
}

@test "a pool that has enough, in pieces, is out of memory before the device is" {
    sed '/"events"/,$d' gpu.json >pieces.json
    { # a chunk of 32 MiB each, of which 8 MiB are left
        echo '  "events": ['
        for id in 1 2 3; do echo "    {\"t\": $id, \"op\": \"alloc\", \"id\": $id, \"size\": 25165824},"; done
        echo '    {"t": 4, "op": "alloc", "id": 4, "size": 9437184} ] }'
    } >>pieces.json
    ok with memory=96MiB replay_once pieces.json -s cudaMallocAsync --json
    is "$out" 'r["memory"]["first_failure"]["class"] if "first_failure" in r["memory"] else r["devices"][0]["first_failure"]["class"]' fragmentation
    is "$out" '[r["devices"][0]["measured"][k] for k in ("pool_unused_at_failure_bytes", "free_at_failure_bytes")]' '[25165824, 0]'
    ok with memory=96MiB replay_once pieces.json -s cudaMallocAsync
    matches "$out" 'reserved by the pool, not used by a block: 24 MiB$'
    matches "$out" 'OOM by fragmentation: the requested bytes fit, the pool refused\.'
    lacks "$out" 'demand\.'
    balanced 2
}

@test "warnings: idle streams, times that are made up, a driver that simulates" {
    ids() { query "$out" 'sorted({w["id"] for x in d["runs"] for w in x["warnings"]} & {"idle-streams", "synthetic-time", "simulated-driver"})'; }
    ok replay_once gpu.json -s direct --json
    [ "$(ids)" = "['idle-streams', 'simulated-driver']" ]
    ok replay_once gpu.json -s direct --occupy spin --json
    [ "$(ids)" = "['simulated-driver']" ]
    untimed >untimed.json
    ok replay_once untimed.json -s direct --occupy spin --json
    [ "$(ids)" = "['simulated-driver', 'synthetic-time']" ]
    ok replay_once untimed.json -s direct --occupy memset --json
    [ "$(ids)" = "['simulated-driver']" ]
    ok replay_once two.json -s cudaMallocAsync --map-device 1=0 --json
    is "$out" '"shared-device" in {w["id"] for w in r["warnings"]}' True
    ok with devices=2 replay_once two.json -s cudaMallocAsync --json
    is "$out" '"shared-device" in {w["id"] for w in r["warnings"]}' False
    ok replay_once sample:sqlite -s arena --source cuda --json # one stream
    [ "$(ids)" = "['simulated-driver']" ]
    balanced 7
}

# ---- what can be wrong with a driver ----

without_driver="'--source virtual' replays the same strategy without a GPU"

@test "no driver" {
    export TAPOOL_CUDA_DRIVER=/nonexistent
    refused 4 "^tapool: the source cuda needs a GPU and its driver: /nonexistent was not found$" replay_once gpu.json --source cuda
    matches "$err" "^hint: $without_driver$"
    refused 4 "^tapool: cudaMallocAsync needs a GPU and its driver: /nonexistent was not found$" replay_once gpu.json -s cudaMallocAsync
    matches "$err" "^hint: without a GPU, '-s stream-pool' replays a software pool with the same interface$"
    refused 2 "^tapool: strategy 'cudaMallocAsync' " replay_once gpu.json -s cudaMallocAsync --source virtual
    ok "$TAPOOL" strategies
    matches "$out" '^  cudaMallocAsync +the CUDA driver +- +not here: /nonexistent was not found$'
    ok "$TAPOOL" strategies cudaMallocAsync
    matches "$out" 'not here: /nonexistent was not found$'
}

@test "an old driver, one that lacks a call, one that sees no device, one that does not start" {
    for script in 'version=11000 the driver is too old: .* knows CUDA 11\.0' 'missing=cuMemAlloc the driver has no cuMemAlloc' \
        'devices=0 no CUDA device' 'fail=cuInit:1:999 cuInit failed: CUDA_ERROR_UNKNOWN'; do
        refused 4 "^tapool: the source cuda needs a GPU and its driver: ${script#* }" \
            with "${script%% *}" replay_once gpu.json --source cuda
        matches "$err" "^hint: $without_driver$"
        refused 4 "^tapool: cudaMallocAsync needs a GPU and its driver: ${script#* }" \
            with "${script%% *}" replay_once gpu.json -s cudaMallocAsync
        ok with "${script%% *}" replay_once gpu.json -s arena --json # on virtual then
        is "$out" 'r["source"]["name"]' virtual
        ok with "${script%% *}" "$TAPOOL" doctor --json
        is_doctor '[c for c in d["checks"] if c["name"] == "cuda"][0]["value"]' | grep -q "^${script#* }"
    done
}

@test "a driver without pools, a device without pools" {
    for script in missing=cuMemAllocFromPoolAsync pools=0; do
        refused 4 "^tapool: cudaMallocAsync needs memory pools, which CUDA device 0 \(Simulated GPU\) lacks: " \
            with "$script" replay_once gpu.json -s direct -s cudaMallocAsync
        matches "$err" "^hint: '-s stream-pool' replays a software pool with the same interface$"
        ok with "$script" replay_once gpu.json --json # the usual set goes without it
        is "$out" '[x["strategy"]["name"] for x in d["runs"]]' "['arena', 'lru', 'stream-pool', 'bump', 'direct']"
        ok with "$script" "$TAPOOL" strategies
        matches "$out" '^  cudaMallocAsync +the CUDA driver +- +not here: no memory pools: '
        ok with "$script" "$TAPOOL" doctor
        matches "$out" '^  gpu0 +warning '
        matches "$out" 'no memory pools \(cudaMallocAsync\): '
    done
    balanced 8
}

@test "more devices than the machine has, an ordinal that is not there" {
    refused 4 "^tapool: device 1 of the trace needs CUDA device 1, and this machine has 1 CUDA device$" replay_once two.json
    matches "$err" "^hint: --map-device 1=0 replays it on CUDA device 0; '--source virtual' replays any number"
    refused 4 "^tapool: device 0 of the trace needs CUDA device 7, and this machine has 1 CUDA device$" replay_once gpu.json --map-device 0=7
    refused 4 "^tapool: device 0 of the trace needs CUDA device 7, " replay_once gpu.json --source 'cuda:map={0=7}'
    balanced 3
    ok replay_once two.json -s arena --map-device 1=0
}

@test "a device whose context cannot be had" {
    refused 4 "^tapool: CUDA device 0: cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF_MEMORY" \
        with fail=cuDevicePrimaryCtxRetain:1:2 replay_once gpu.json
    balanced 1
    ok with fail=cuDevicePrimaryCtxRetain:1:2 "$TAPOOL" doctor
    matches "$out" '^  gpu0 +warning +Simulated GPU, which gives no memory: '
    balanced 1
}

@test "out of memory in the middle: an answer, and the rest is replayed" {
    ok with memory=20MiB replay_once gpu.json --json
    is "$out" '[x["failed_allocations"] > 0 for x in d["runs"]]' '[True, True, True, True, True, True]'
    is "$out" '{x["first_failed_event"] for x in d["runs"] if x["strategy"]["name"] in ("direct", "cudaMallocAsync", "stream-pool")}' '{2}'
    is "$out" '[x["devices"][0]["measured"]["free_at_failure_bytes"] for x in d["runs"] if x["strategy"]["name"] == "direct"]' '[0]'
    balanced 1
    rc=0
    with memory=20MiB replay_once gpu.json -s direct --fail-on oom >"$out" 2>"$err" || rc=$?
    [ "$rc" -eq 1 ]
    matches "$out" 'cuMemGetInfo: 0 B of 20 MiB free on the device'
    balanced 1
}

@test "an asynchronous error is named with the event after which it was seen" {
    refused 4 "^tapool: gpu\.json: event [1-9]: cu[A-Za-z]+ failed: CUDA_ERROR_ILLEGAL_ADDRESS" \
        with async=3:700 replay_once gpu.json -s direct --occupy spin
    balanced 1
    refused 4 "^tapool: gpu\.json: .*event [1-9]: cu[A-Za-z]+ failed: CUDA_ERROR_LAUNCH_FAILED" \
        with async=2:719 replay_once gpu.json -s cudaMallocAsync --occupy spin
    balanced 1
}

# bats test_tags=nightly
@test "a device that is lost, after any number of calls: one sentence, exit 4, no crash" {
    for n in $(seq 1 7 200); do
        for strategy in stream-pool cudaMallocAsync; do
            capture with lost="$n" replay_once gpu.json --source cuda -s $strategy --occupy memset
            [ "$rc" -eq 0 ] && continue
            [ "$rc" -eq 4 ] || fail "exit code $rc after $n calls" "$(cat "$err")"
            one_sentence "$err"
            matches "$err" 'CUDA_ERROR_DEVICE_UNAVAILABLE|no CUDA device|needs a GPU'
            [ ! -s "$out" ]
        done
    done
    not grep -q 'violation:' "$TAPOOL_FAKE_CUDA_REPORT"
}

@test "what was done before a device is lost is reported, partial, and the exit code is 4" {
    for n in $(seq 10 200); do # the strategies before direct free seldom
        capture with "fail=cuMemFree:$n:719" replay_once gpu.json -s lru -s direct --source cuda --json
        [ "$rc" -eq 4 ] || fail "exit code $rc"
        [ ! -s "$out" ] || break
    done
    is "$out" 'd["partial"], [x["strategy"]["name"] for x in d["runs"]]' "(True, ['lru'])"
    matches "$err" '^tapool: gpu\.json: .*cuMemFree failed: CUDA_ERROR_LAUNCH_FAILED'
    capture with "fail=cuMemFree:$n:719" replay_once gpu.json -s lru -s direct --source cuda
    [ "$rc" -eq 4 ]
    matches "$out" '^stopped: 1 of 2 replays are done; what stands above is complete as far as it goes\.$'
    not grep -q 'violation:' "$TAPOOL_FAKE_CUDA_REPORT"
}

@test "a driver without a device: replayed on virtual, and the report says why" {
    ok with devices=0 replay_once gpu.json -s arena
    matches "$out" '^    ! unused-gpu +this machine has a CUDA driver, but no usable GPU: no CUDA'
    ok with version=10000 replay_once gpu.json -s arena --json
    is "$out" 'r["source"]["name"], [w["id"] for w in r["warnings"] if w["id"] == "unused-gpu"]' "('virtual', ['unused-gpu'])"
    ok with devices=0 replay_once gpu.json -s arena --source virtual --json
    is "$out" '[w["id"] for w in r["warnings"] if w["id"] == "unused-gpu"]' '[]'
    TAPOOL_CUDA_DRIVER=/nonexistent ok replay_once gpu.json -s arena --json
    is "$out" '[w["id"] for w in r["warnings"] if w["id"] == "unused-gpu"]' '[]'
}

# ---- Ctrl-C ----

# interrupted SIGNAL ARGS...: many replays, of which some are done when the signal comes.
interrupted() {
    local signal=$1 delay
    shift
    many=()
    for i in $(seq 60); do many+=(-s "n$i=stream-pool"); done
    for delay in 1 2 4 8 16; do
        rm -f "$TAPOOL_FAKE_CUDA_REPORT" part.json
        capture timeout --preserve-status -s "$signal" "$delay" env ${preload:+LD_PRELOAD="$preload"} "$TAPOOL" replay gpu.json --min-time 50ms --no-fits "${many[@]}" "$@"
        [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal" "$(cat "$err")" || return 1
        [ ! -s "$out" ] || return 0
    done
    fail "nothing was done in 16 s"
}

# bats test_tags=nightly
@test "Ctrl-C: what is done is reported, then the process ends as it would have" {
    interrupted INT --json --export-json part.json
    cmp "$out" part.json
    is "$out" 'd["partial"], 0 < len(d["runs"]) < 60' '(True, True)'
    matches "$err" '^tapool: interrupted: [0-9]+ of 60 replays are done$'
    one_sentence "$err"
    interrupted TERM
    matches "$out" '^interrupted: [0-9]+ of 60 replays are done; what stands above is complete as far as it goes\.$'
    [ ! -s "$err" ]
    capture timeout --preserve-status -s HUP 2 "$TAPOOL" replay gpu.json -s direct --min-time 60s --export-json none.json
    [ "$rc" -eq 129 ]
    [ ! -s "$out" ]
    [ ! -e none.json ]
    [ ! -s "$err" ] || matches "$err" '^tapool: interrupted before the first of 1 replays was done$' # empty: it had not begun
}

# A process that a signal ends writes no report of the fake driver: here it exits in place of that.
@test "Ctrl-C: every handle is released" {
    sanitized && skip "a sanitizer wants to be loaded first"
    command -v gcc >/dev/null || skip "gcc is not installed"
    echo 'void exit(int); int raise(int n) { exit(128 + n); }' | gcc -shared -fPIC -x c -o raise.so -
    preload=$PWD/raise.so
    interrupted INT
    balanced 1
    interrupted INT --occupy spin
    balanced 1
}

# ---- doctor ----

@test "doctor: driver, devices, memory, what they can do; text and JSON" {
    ok with devices=2 "$TAPOOL" doctor
    matches "$out" '^  cuda +warning +2 devices, driver .*for CUDA 13\.0, 32 connections'
    matches "$out" 'this driver simulates its devices'
    matches "$out" '^  gpu0 +ok +Simulated GPU, 8 GiB, 8 GiB free, compute capability [0-9.]+, [0-9,]+ MHz'
    matches "$out" '^  gpu1 +ok '
    ok with 'devices=2;vmm=0' "$TAPOOL" doctor --json
    [ "$(is_doctor 'len(d["cuda"]["devices"]), d["cuda"]["cuda_version"], d["cuda"]["simulated"]')" = '(2, 13000, True)' ]
    [ "$(is_doctor 'd["cuda"]["max_connections"]')" = 32 ]
    [ "$(is_doctor 'd["cuda"]["driver"]')" = "$TAPOOL_FAKE_CUDA_PATH" ]
    [ "$(is_doctor '[x["free_bytes"] == x["total_bytes"] == 8 << 30 for x in d["cuda"]["devices"]]')" = '[True, True]' ]
    [ "$(is_doctor '[(x["pools"], x["vmm"], x["no_pools"], bool(x["no_vmm"])) for x in d["cuda"]["devices"]][0]')" = '(True, False, None, True)' ]
    [ "$(is_doctor 'd["values"]["cuda_devices"]')" = 2 ]
    balanced 2
}
