# tapool predict: what is not recorded, from what is. Runs that nobody recorded are made_runs.py's and gen's; recorded
# ones are those of tests/data/h200, where PyTorch says what it really took.
load common

setup() { enter_folder; }

made() { python3 "$CLI/made_runs.py" "$@"; }

# requests FILE: sizes of all requests, in order.
requests() { "$TAPOOL" convert "$1" -o - | grep '"op": "alloc"' | sed 's/.*"size": \([0-9]*\).*/\1/'; }

@test "every size is that of the recorded run at this value" {
    for n in 64 128 256 1024; do made $n >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 1024 -o big.jsonl
    matches "$out" '^aligned +44 of 44 requests, by call stack$'
    matches "$out" '^prediction +at n = 1,024, 8x the largest recording$'
    diff <(requests big.jsonl) <(requests 1024.jsonl)
    ok "$TAPOOL" info big.jsonl --json
    is "$out" 'd["peak_requested_bytes"]' "$("$TAPOOL" info 1024.jsonl --json | python3 -c '
import json, sys; print(json.load(sys.stdin)["peak_requested_bytes"])')"
    grep -q 'Predicted at n = 1,024, not recorded: from 64.jsonl at 64, 128.jsonl at 128' big.jsonl
    # downwards too, and in any order
    ok "$TAPOOL" predict 1024.jsonl@len=1024 128.jsonl@len=128 256.jsonl@len=256 --at len=64 -o small.tpt
    diff <(requests small.tpt) <(requests 64.jsonl)
    [ "$(grep -c '(+0.0%)' "$out")" -eq 3 ]
    matches "$out" '^prediction +at len = 64, below the smallest recording$'
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 256.jsonl@256 --at 1024 --json
    is "$out" '[d["sound"], d["alignment"]["laws"]["none"], d["predicted"]["sites"][0]["law"]]' "[True, 0, 'n^2']"
}

@test "recordings of one value are not taken for a setting without effect" {
    made 64 >a.jsonl
    ok "$TAPOOL" predict a.jsonl@64 a.jsonl@128 --at 512
    matches "$out" '^No request changes with the setting: the recordings may have the same value\.$'
}

@test "laws: a constant part, and lengths that are padded" {
    for n in 100 150 300; do made $n pad=64 shift=24 >$n.jsonl; done
    made 1000 pad=64 shift=24 >1000.jsonl
    ok "$TAPOOL" predict 100.jsonl@100 150.jsonl@150 300.jsonl@300 --at 1000 -o big.tpt
    diff <(requests big.tpt) <(requests 1000.jsonl)
    for n in 100 150 300 1000; do made $n pad=64 >$n.jsonl; done
    ok "$TAPOOL" predict 100.jsonl@100 150.jsonl@150 300.jsonl@300 --at 1000 -o big.tpt -f
    diff <(requests big.tpt) <(requests 1000.jsonl)
    for n in 64 128 1024; do made $n shift=24 >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 1024 -o big.tpt -f
    diff <(requests big.tpt) <(requests 1024.jsonl)
}

# refused WORD...: exit 3 with these words on the screen, and no figure.
refused() {
    capture "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --at 512 -o never.tpt
    [ "$rc" -eq 3 ] || fail "exit $rc: $(cat "$out" "$err")"
    matches "$out" '^No prediction: '
    for word in "$@"; do matches "$out" "$word"; done
    lacks "$out" 'peak requested'
    [ ! -e never.tpt ]
}

@test "runs of other programs are refused, with what differs" {
    made 64 >a.jsonl
    made 128 layers=5 >b.jsonl
    refused '^11 requests, [0-9.]+% of all bytes, are only in b.jsonl:' '^  first: event [0-9]+, model.py:[0-9]+' 'model.py:41 softmax' '^At the peak, .* of the requests that are only in b.jsonl are live'
    made 128 bytes=2 >b.jsonl
    refused 'have no law that these recordings confirm\.$' 'have no law that these recordings confirm: the peak is'
    made 128 optimizer=adam >b.jsonl
    refused '^24 requests, [0-9.]+% of all bytes, are only in b.jsonl:' 'optimizer.py:78 step'
    made 128 order=mask-last >b.jsonl
    refused 'model.py:4[46] '
    made 128 extra=4000000 >b.jsonl
    refused '^2 requests, [0-9.]+% of all bytes, are only in b.jsonl:' 'model.py:60 workspace' '^To predict, record at 256 too'
    # hopeless ones end soon
    python3 -c '
print("{\"format\": \"tapool-trace\", \"version\": 1}")
for i in range(60000): print("{\"op\": \"alloc\", \"id\": %d, \"size\": 64, \"place\": \"b.py:%d f\"}" % (i, i))' >b.jsonl
    sed 's/b.py/a.py/' b.jsonl >a.jsonl
    capture "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --at 512
    [ "$rc" -eq 3 ]
    matches "$err" 'too many allocations to be aligned'
    made 64 >a.jsonl
    # less than 1% of the bytes is none of these
    made 128 extra=512 >b.jsonl
    ok "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --at 512
    matches "$out" '^aligned +44 of 46 requests'
}

@test "a prediction beside what was recorded there" {
    data=$TAPOOL_ROOT/tests/data/h200
    ok "$TAPOOL" predict "$data"/gpt-train-ctx{256.pickle.zst@256,512.pickle.zst@512} --json \
        --check "1024=$data/gpt-train-ctx1024.pickle.zst"
    is "$out" 'd["settings"]' "[{'name': None, 'value': 1024}]"
    is "$out" 'd["check"]["peak_requested_bytes"] == d["predicted"]["peak_requested_bytes"]' True
    is "$out" 'd["check"]["replayed_peak_reserved_bytes"] == d["check"]["recorded_peak_reserved_bytes"]' True
    is "$out" '[d["check"][k] for k in ("requests", "sizes_exact")]' '[1176, 1129]'
    for n in 64 128; do made $n >$n.jsonl; done
    made 500 pad=64 >other=500.jsonl
    ok "$TAPOOL" predict 64.jsonl@len=64 128.jsonl@len=128 --check len=500=other=500.jsonl
    matches "$out" '^Recorded at 500: other=500.jsonl \(prediction against it\)$'
    matches "$out" '^sizes +12 of 44 exact$'
    matches "$out" '^peak requested +[0-9.]+ MiB +recorded \(-[1-9]'
    lacks "$out" 'reserved'
}

@test "several settings at once" {
    for v in "2 64" "4 64" "2 128" "4 128" "8 512"; do
        set -- $v
        made "$2" batch="$1" shift=24 >"$1-$2.jsonl"
    done
    three="2-64.jsonl@batch=2,len=64 4-64.jsonl@len=64,batch=4 2-128.jsonl@batch=2,len=128"
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --at len=512,batch=8 -o p.tpt
    matches "$out" '^prediction +at batch = 8, len = 512$'
    matches "$out" ' a \+ k batch len\^2 +model.py:41 softmax$'
    diff <(requests p.tpt) <(requests 8-512.jsonl)
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three 4-128.jsonl@len=128,batch=4 --check batch=8,len=512=8-512.jsonl --json
    is "$out" '[[s["name"], s["value"]] for s in d["settings"]]' "[['batch', 8], ['len', 512]]"
    is "$out" 'd["check"]["sizes_exact"] == d["check"]["requests"] == d["alignment"]["laws"]["product"] + 12' True
    is "$out" '[r["from_others_bytes"] == r["peak_requested_bytes"] for r in d["recordings"]]' '[True, True, True, True]'
    # the largest value of the one that is left open
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --at len=128 --fits 64MiB --json
    is "$out" '[[s["name"], s["value"]] for s in d["settings"]]' "[['batch', None], ['len', 128]]"
    fits=$(python3 -c 'import json; print(json.load(open("'"$out"'"))["fit"]["fits"])')
    for n in "$fits" $((fits + 1)); do
        made 128 batch="$n" shift=24 >real.jsonl
        ok "$TAPOOL" replay real.jsonl -s torch --capacity 64MiB --no-fits --min-time 0 --json
        is "$out" 'd["runs"][0]["failed_allocations"] > 0' "$([ "$n" -gt "$fits" ] && echo True || echo False)"
    done
    # both settings always grew together: which of them did it is not known
    capture "$TAPOOL" predict 2-64.jsonl@batch=2,len=64 4-128.jsonl@batch=4,len=128 --at batch=8,len=512
    [ "$rc" -eq 3 ]
    while read -r words; do
        # shellcheck disable=SC2086 # words
        capture "$TAPOOL" predict $words
        [ "$rc" -eq 2 ] || fail "exit $rc: $words: $(cat "$err")"
    done <<'END'
2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4,len=64 --at batch=8,len=64
2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4 --at batch=8,len=64
2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4,batch=5 --at batch=8,len=64
2-64.jsonl@batch=2,64 4-64.jsonl@batch=4,128 --at batch=8,len=64
2-64.jsonl@a=1,b=1,c=1,d=1,e=1 4-64.jsonl@a=2,b=2,c=2,d=2,e=2 --at a=1
2-64.jsonl@batch=2,len=64 4-128.jsonl@batch=4,len=128 --at batch=8
2-64.jsonl@batch=2,len=64 4-128.jsonl@batch=4,len=128 --fits 1GiB
2-64.jsonl@batch=2,len=64 4-128.jsonl@batch=4,len=128 --at batch=8,depth=3
2-64.jsonl@batch=2,len=64 4-128.jsonl@batch=4,len=128 --at batch=8,len=64 --check batch=8=8-512.jsonl
END
}

# at BATCH LEN [KEY=VALUE]...: BATCH-LEN.jsonl, a made run.
at() { made "$2" batch="$1" "${@:3}" >"$1-$2.jsonl"; }

@test "laws of several settings: padded lengths, sums, three at once" {
    for v in "2 100" "4 100" "2 160" "8 500"; do
        # shellcheck disable=SC2086 # words
        at $v pad=64
    done
    ok "$TAPOOL" predict 2-100.jsonl@batch=2,len=100 4-100.jsonl@batch=4,len=100 2-160.jsonl@batch=2,len=160 \
        --at batch=8,len=500 -o p.tpt
    matches "$out" ' batch len\^2, len padded to 64 '
    diff <(requests p.tpt) <(requests 8-500.jsonl)
    for v in "2 64" "4 64" "2 128" "6 256" "8 512"; do
        # shellcheck disable=SC2086 # words
        at $v sum=1000
    done
    ok "$TAPOOL" predict 2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4,len=64 2-128.jsonl@batch=2,len=128 \
        6-256.jsonl@batch=6,len=256 --check batch=8,len=512=8-512.jsonl --json
    is "$out" '[d["alignment"]["laws"]["bilinear"], d["check"]["sizes_exact"] == d["check"]["requests"]]' '[2, True]'
    for v in "2 64 64" "4 64 64" "2 128 64" "2 64 128" "8 512 256"; do
        set -- $v
        made "$2" batch="$1" width="$3" >"$1-$2-$3.jsonl"
    done
    ok "$TAPOOL" predict 2-64-64.jsonl@b=2,l=64,w=64 4-64-64.jsonl@b=4,l=64,w=64 2-128-64.jsonl@b=2,l=128,w=64 \
        2-64-128.jsonl@b=2,l=64,w=128 --at w=256,b=8,l=512 -o p.tpt -f
    matches "$out" ' b l w '
    diff <(requests p.tpt) <(requests 8-512-256.jsonl)
}

@test "several settings: what the recordings do not decide is not predicted" {
    at 2 64 extra=1000000
    at 4 64 extra=1777777
    at 4 128 extra=1777777
    # two recordings at batch 4 have one size: that says nothing about batch
    capture "$TAPOOL" predict 2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4,len=64 4-128.jsonl@batch=4,len=128 \
        --at batch=8,len=128
    [ "$rc" -eq 3 ]
    matches "$out" 'have no law that these recordings confirm: the peak is'
    at 2 64
    at 4 64
    at 2 128
    at 4 256
    three="2-64.jsonl@batch=2,len=64 4-64.jsonl@batch=4,len=64 2-128.jsonl@batch=2,len=128"
    capture "$TAPOOL" predict 2-64.jsonl@batch=2,len=64 4-256.jsonl@batch=4,len=256 --at batch=8,len=512
    [ "$rc" -eq 3 ]
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --at batch=8,len=512
    [ "$(grep -c 'from the others: no prediction, they are too few$' "$out")" -eq 3 ]
    # a value without a name is not the first setting
    # shellcheck disable=SC2086 # words
    capture "$TAPOOL" predict $three --at 64 --fits 64MiB
    [ "$rc" -eq 2 ]
    matches "$err" 'value without a name, as in batch=64$'
}

@test "memory by value" {
    data=$TAPOOL_ROOT/tests/data/h200
    ok "$TAPOOL" predict "$data"/gpt-train-ctx{128.pickle.zst@128,256.pickle.zst@256,512.pickle.zst@512} --at 1024 --curve --json
    is "$out" '[p["value"] for p in d["curve"]]' '[128, 256, 384, 512, 640, 768, 896, 1024]'
    is "$out" '[p["value"] for p in d["curve"] if p["peak_requested_bytes"] == p["recorded_requested_bytes"]]' '[128, 256, 512]'
    is "$out" 'd["curve"][-1]["peak_reserved_bytes"] == d["predicted"]["settings"][0]["peak_reserved_bytes"]' True
    for n in 64 128; do made $n >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 65536 --curve --fits 64MiB
    matches "$out" '^ +16,384 +[0-9.]+ GiB +- +-$'
    matches "$out" '^ +65,536 +[0-9.]+ GiB +- +-$'
}

# Each file is one of a chart over values that svg_check.py takes; drawn CHANGE makes it one that it does not.
@test "memory by value as a picture, with the device and what fits" {
    data=$TAPOOL_ROOT/tests/data/h200
    runs=("$data"/gpt-train-ctx{128.pickle.zst@ctx=128,256.pickle.zst@ctx=256,512.pickle.zst@ctx=512})
    for at in "--at 1024" "--fits 8GiB" "--at 64 --fits 40GiB"; do
        # shellcheck disable=SC2086 # words
        ok "$TAPOOL" predict "${runs[@]:1}" $at --export-svg c.svg --force
        ok python3 "$CLI/svg_check.py" c.svg
        [ "$(cat "$out")" = 2 ]
    done
    matches c.svg 'Largest value without OOM at 40 GiB: [0-9,]+\. First OOM: [0-9,]+\.'
    matches c.svg 'class="ink halo" [^>]*>Device 40 GiB<'
    ok "$TAPOOL" predict "${runs[@]}" --at 1024 --format svg --svg-theme dark
    cp "$out" dark.svg
    ok python3 "$CLI/svg_check.py" dark.svg
    for change in 's/cx="[0-9]+/&5/' 's/128: 521.5 MiB/129: 521.5 MiB/' 's/512: 978.5 MiB/512: 988.5 MiB/' 's/>1,000</>1,100</'; do
        sed -E "$change" dark.svg >bad.svg
        not cmp -s dark.svg bad.svg
        not python3 "$CLI/svg_check.py" bad.svg
    done
    made 64 >64.jsonl
    made 64 layers=5 >other.jsonl
    capture "$TAPOOL" predict 64.jsonl@64 other.jsonl@128 --at 512 --export-svg none.svg
    [ "$rc" -eq 3 ]
    matches "$err" '^tapool: no curve to draw: there is no prediction$'
    matches "$out" '^No prediction: '
    [ ! -e none.svg ]
}

# What the recorded allocator did is not known of a run that was not made.
@test "why and tune of a predicted trace: a replay, which says that it is one" {
    data=$TAPOOL_ROOT/tests/data/h200
    ok "$TAPOOL" predict "$data"/gpt-infer-ctx{128.pickle.zst@128,256.pickle.zst@256} --at 1024 -o p.tpt --json
    reserved=$(tool json "$out" 'd["predicted"]["settings"][0]["peak_reserved_bytes"]')
    ok "$TAPOOL" why p.tpt --json
    is "$out" '[d["devices"][0]["replayed"], d["devices"][0]["memory"]["reserved_bytes"]]' "[True, $reserved]"
    is "$out" 'd["devices"][0]["settings"][0]["peak_reserved_bytes"]' "$reserved"
    ok "$TAPOOL" why p.tpt --capacity 400MiB
    matches "$out" '^OUT OF MEMORY   128 MiB requested at event '
    matches "$out" 'capacity 400 MiB; 90 MiB free on the GPU'
    said=$(tr -s ' \n' ' ' <"$out")
    [[ $said == *"Based on a replay by the rules of PyTorch's allocator: the trace has no addresses. Predicted at n = 1,024, not recorded: from gpt-infer-ctx128"* ]]
    ok "$TAPOOL" tune p.tpt
    lacks "$out" 'what PyTorch did'
    lacks "$out" 'reserved at most'
    # a snapshot's own trace, and one that is of no PyTorch
    ok "$TAPOOL" convert "$data"/gpt-infer-ctx128.pickle.zst -o 128.tpt
    ok "$TAPOOL" why "$data"/gpt-infer-ctx128.pickle.zst --json
    recorded=$(tool json "$out" 'd["devices"][0]["memory"]["reserved_bytes"]')
    ok "$TAPOOL" why 128.tpt --json
    is "$out" '[d["devices"][0]["replayed"], d["devices"][0]["memory"]["reserved_bytes"]]' "[True, $recorded]"
    made 64 >64.jsonl
    capture "$TAPOOL" why 64.jsonl
    [ "$rc" -eq 3 ]
    matches "$err" 'does not begin like a pickle'
}

@test "settings that are tried, and the smallest device" {
    data=$TAPOOL_ROOT/tests/data/h200
    ok "$TAPOOL" predict "$data"/gpt-infer-ctx{128.pickle.zst@128,256.pickle.zst@256} --at 1024 -o p.tpt --json
    cp "$out" predicted.json
    ok "$TAPOOL" replay p.tpt -s torch --fits --min-time 0 --json
    is "$out" 'd["runs"][0]["devices"][0]["memory"]["min_capacity_bytes"] == '"$(python3 -c '
import json; print(json.load(open("predicted.json"))["predicted"]["settings"][0]["min_capacity_bytes"])')" True
    best=$(python3 -c 'import json; print(json.load(open("predicted.json"))["predicted"]["settings"][-1]["setting"])')
    ok "$TAPOOL" replay p.tpt -s "torch:conf={$best}" --min-time 0 --json
    is "$out" 'd["runs"][0]["devices"][0]["memory"]["peak_reserved_bytes"] == '"$(python3 -c '
import json; print(json.load(open("predicted.json"))["predicted"]["settings"][-1]["peak_reserved_bytes"])')" True
}

# ring EVENTS: a trace as if the oldest events had been overwritten.
ring() {
    python3 -c '
import json, sys
head, *events = [json.loads(line) for line in sys.stdin]
first, live = int(sys.argv[1]), {}
for e in events[:first]:
    if e["op"] == "alloc": live[e["id"]] = e
    else: del live[e["id"]]
kept = [{"op": "initial", **{k: e[k] for k in ("id", "size", "place")}} for e in live.values()]
print("\n".join(map(json.dumps, [head] + kept + events[first:])))' "$1"
}

@test "recordings that begin in other steps are predicted by their whole steps" {
    for n in 64 128 512; do made $n steps=6 >$n.jsonl; done
    made 64 steps=9 >long.jsonl
    while read -r first second steps; do
        ring "$first" <64.jsonl >a.jsonl
        ring "$second" <128.jsonl >b.jsonl
        ok "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --check 512=512.jsonl --json
        is "$out" '[d["steps"], d["check"]["peak_requested_bytes"] - d["predicted"]["peak_requested_bytes"]]' "[$steps, 0]"
    done <<'END'
12 12 None
20 50 4
55 90 3
150 100 1
END
    # and so are those of more steps
    ok "$TAPOOL" predict long.jsonl@64 128.jsonl@128 --check 512=512.jsonl
    matches "$out" '^steps +the last 5 of each recording; memory before them is not predicted$'
    matches "$out" '^peak requested .* recorded \(\+0\.00%\)$'
    # the middle of a single step says nothing
    ring 200 <64.jsonl >a.jsonl
    capture "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --at 512
    [ "$rc" -eq 3 ]
}

@test "the largest value that fits, and the request that does not" {
    for n in 64 128; do made $n >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --fits 64MiB --json
    fits=$(python3 -c 'import json; print(json.load(open("'"$out"'"))["fit"]["fits"])')
    fails=$(python3 -c 'import json; print(json.load(open("'"$out"'"))["fit"]["fails"])')
    [ "$fails" -eq $((fits + 8)) ]
    for n in $fits $fails; do
        made "$n" >real.jsonl
        ok "$TAPOOL" replay real.jsonl -s torch --capacity 64MiB --no-fits --min-time 0 --json
        is "$out" 'd["runs"][0]["failed_allocations"] > 0' "$([ "$n" -eq "$fails" ] && echo True || echo False)"
    done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --fits 64MiB --step 1
    matches "$out" '^max that fits +[0-9,]+, [0-9.]+x the largest recording, on a device of 64 MiB, recorded setting'
    matches "$out" '^ +in steps of 1, larger ones in steps of 4\)$'
    matches "$out" '^first OOM +[0-9,]+ at event [0-9,]+, request of .*: model.py'
    for n in 64 128; do made $n width=1024 >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --fits 4MiB
    matches "$out" '^max that fits +none: 8 does not fit 4 MiB$'
}

@test "profiles of gen at three settings tell a fourth" {
    for b in 1 2 4 8; do
        "$TAPOOL" gen training-step --batch $b --layers 2 --count 3 -o $b.tpt >gen.out
        "$TAPOOL" gen llm-decode --hidden $((256 * b)) --layers 2 --count 20 -o h$b.tpt >gen.out
    done
    ok "$TAPOOL" predict 1.tpt@1 2.tpt@2 4.tpt@4 --at 8 -o p.tpt
    matches "$out" 'by order only: the recordings have no call stacks'
    diff <(requests p.tpt) <(requests 8.tpt)
    ok "$TAPOOL" predict h1.tpt@1 h2.tpt@2 h4.tpt@4 --at 8 -o h.tpt
    diff <(requests h.tpt) <(requests h8.tpt)
}

@test "runs on a GPU, predicted from smaller ones, beside what PyTorch took" {
    data=$TAPOOL_ROOT/tests/data/h200
    while read -r run one other n; do
        ok "$TAPOOL" predict "$data/$run$one.pickle.zst@$one" "$data/$run$other.pickle.zst@$other" --at "$n" --json
        python3 - "$out" "$data/measured.csv" "$run$n" <<'END' || fail "$run$n: $(cat "$out")"
import csv, json, sys
d = json.load(open(sys.argv[1]))
real, = [row for row in csv.DictReader(open(sys.argv[2])) if row["run"] == sys.argv[3]]
assert d["sound"] and d["alignment"]["only_in_base"]["requests"] == 0, d["alignment"]
reserved = d["predicted"]["settings"][0]
assert reserved["recorded"] and reserved["peak_reserved_bytes"] == int(real["max_reserved_bytes"]), (reserved, real)
END
    done <<'END'
gpt-infer-ctx 128 256 1024
gpt-train-ctx 256 512 1024
gpt-train-b 4 8 32
graph-b 2 4 16
gpt-train-ctx 128 256 1024
gpt-fp16-b 2 4 16
hf-gpt2-b 2 4 16
END
    # from 8 on PyTorch chose other kernels
    capture "$TAPOOL" predict "$data"/resnet-b{4.pickle.zst@4,8.pickle.zst@8} --at 32
    [ "$rc" -eq 3 ]
    golden predict-refused <"$out"
    shown predict-gpu "$TAPOOL" predict "$data"/gpt-train-ctx{128.pickle.zst@128,256.pickle.zst@256,512.pickle.zst@512} \
        --at 1024 --fits 24GiB
}

@test "a pair of recordings of inference, and the recorded heap" {
    corpus=$(dirname "$TAPOOL_ROOT")/shared/corpus/pytorch
    [ -d "$corpus" ] || skip "the corpus is not there"
    ok "$TAPOOL" predict "$corpus/inference-ctx128.pickle.gz@128" "$corpus/inference-ctx256.pickle.gz@256" --at 1024 --json
    is "$out" '[d["alignment"]["aligned"], d["alignment"]["laws"]["none"]]' '[1503, 0]'
    is "$out" 'round(d["predicted"]["peak_requested_bytes"] / 2**30, 3)' 2.68
    is "$out" 'abs(d["predicted"]["settings"][0]["peak_reserved_bytes"] / 2**30 / 2.984 - 1) < 0.01' True
    # the recorded setting from both starts, where the heap was recorded
    same=$corpus/training-22k.pickle.gz
    ok "$TAPOOL" predict "$same@64" "$same@128" --at 512 --json
    is "$out" '[s["compacted_start"] for s in d["predicted"]["settings"]]' '[False, True, True]'
    ok "$TAPOOL" replay "$same" -s torch --min-time 0 --json
    is "$out" 'd["runs"][0]["devices"][0]["memory"]["peak_reserved_bytes"] == '"$("$TAPOOL" predict \
        "$same@64" "$same@128" --at 512 --json | python3 -c '
import json, sys; print(json.load(sys.stdin)["predicted"]["settings"][0]["peak_reserved_bytes"])')" True
}

@test "runs of a host in any order are predicted by the totals of their sites, with the error" {
    for n in 500 1000 2000 16000; do python3 "$CLI/made_host.py" $n $n >$n.jsonl; done
    three="500.jsonl@500 1000.jsonl@1000 2000.jsonl@2000"
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --check 16000=16000.jsonl
    matches "$out" '^method +totals of allocation sites, approximate'
    matches "$out" '^  750 KiB +93.75 KiB +a \+ k n +table.c:20 insert$'
    matches "$out" '^  64 KiB +64 KiB +constant +cache.c:3 open$'
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --check 16000=16000.jsonl --json
    is "$out" '[d["sound"], abs(d["totals"]["peak_requested_bytes"] / d["totals"]["recorded_peak_requested_bytes"] - 1) < 0.01]' \
        '[False, True]'
    is "$out" 'd["totals"]["cross_check"] < 0.05' True
    # a line that begins below 0 is no square
    for n in 500 1000 2000 16000; do python3 "$CLI/made_host.py" $n $n late >late-$n.jsonl; done
    ok "$TAPOOL" predict late-500.jsonl@500 late-1000.jsonl@1000 late-2000.jsonl@2000 --check 16000=late-16000.jsonl --json
    is "$out" 'abs(d["totals"]["peak_requested_bytes"] / d["totals"]["recorded_peak_requested_bytes"] - 1) < 0.03' True
    is "$out" 'd["totals"]["cross_check"] < 0.1' True
    # two tell no error, a trace cannot be made of totals, nor what fits
    for words in "500.jsonl@500 1000.jsonl@1000 --at 16000" "$three --at 16000 -o big.tpt" "$three --at 16000 --fits 1MiB"; do
        # shellcheck disable=SC2086 # words
        capture "$TAPOOL" predict $words
        [ "$rc" -eq 3 ] || fail "exit $rc: $words"
    done
    [ ! -e big.tpt ]
    capture "$TAPOOL" predict 500.jsonl@500 1000.jsonl@1000 --at 16000
    matches "$out" '^To predict, record at 2,000 too: with three host recordings, totals of'
    # and nothing is said where the totals contradict themselves
    for n in 500 1000 2000; do python3 "$CLI/made_host.py" $n $n growing >$n.jsonl; done
    # shellcheck disable=SC2086 # words
    capture "$TAPOOL" predict $three --at 16000
    [ "$rc" -eq 3 ]
    lacks "$out" 'peak requested'
    matches "$out" '^Totals of allocation sites do not help: they give 1.373 MiB, or 4.572 MiB if the growth keeps'
}

# Each of these has a plain answer that is wrong.
@test "totals of a host: a phase that takes over, and tables that double" {
    recorded() { # recorded KIND N...: made-up runs of these sizes
        for n in "${@:2}"; do python3 "$CLI/made_host.py" "$n" "$n" $1 >"$n.jsonl"; done
    }
    # the smaller phase of the recordings is the peak of the larger run
    recorded parsed 500 1000 2000 16000
    three="500.jsonl@500 1000.jsonl@1000 2000.jsonl@2000"
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --check 16000=16000.jsonl
    matches "$out" '^peak requested +61.98 MiB +\(cross-check within 0.0%\)$'
    matches "$out" 'recorded there \(-0.00%\)$'
    matches "$out" '^  61.04 MiB +976.6 KiB +a \+ k n\^2 +matrix.c:12 square$'
    # values that are powers of 2 apart do not tell a table from a line
    recorded "table 100" 500 1000 2000 3000
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three --check 3000=3000.jsonl
    matches "$out" '433.9 KiB to 633.9 KiB +if sites that doubled are tables that double when full$'
    recorded "table 200" 500 1000 2000 3000
    # shellcheck disable=SC2086 # words
    capture "$TAPOOL" predict $three --at 3000
    [ "$rc" -eq 3 ]
    matches "$out" '^Totals of allocation sites do not help: they give 633.9 KiB to 1.01 MiB if sites that doubled'
    matches "$out" '^To predict, record at 2,500 too: a value that is not a power of 2 apart reveals tables'
    # other values do
    recorded "table 20" 700 1000 2000 3000 12000
    ok "$TAPOOL" predict 700.jsonl@700 1000.jsonl@1000 2000.jsonl@2000 3000.jsonl@3000 --check 12000=12000.jsonl --curve
    matches "$out" '^  320 KiB +80 KiB +doubles when full +hash.c:8 grow$'
    matches "$out" 'recorded there \([-+]0.0[0-9]%\)$'
    matches "$out" '^  12,000 +1.039 MiB +- +-$'
}

@test "padding, a warm-up before the steps, and recordings that contradict one another" {
    for n in 64 128; do made $n >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 200
    matches "$out" '^padding +1.938 MiB requested if the program pads the value to 64$'
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 256
    lacks "$out" '^padding'
    for n in 64 128; do python3 "$CLI/made_doubt.py" warm $n; done
    ok "$TAPOOL" predict warm-64.jsonl@64 warm-128.jsonl@128 --at 16384
    matches "$out" '^before steps +up to 16.01 GiB requested; not replayed$'
    # a law that two of three follow, where the third says otherwise
    for n in 128 256 512 1024; do python3 "$CLI/made_doubt.py" kernel $n; done
    three="kernel-128.jsonl@128 kernel-256.jsonl@256 kernel-512.jsonl@512"
    # shellcheck disable=SC2086 # words
    capture "$TAPOOL" predict $three --at 2048 --json
    is "$out" '[d["sound"], d["refused"]]' "[False, 'the recordings do not predict each other']"
    # shellcheck disable=SC2086 # words
    capture "$TAPOOL" predict $three --at 2048
    [ "$rc" -eq 3 ]
    matches "$out" '^Predicted for kernel-512.jsonl from the others: 24 MiB requested; recorded: 40 MiB\.$'
    # one more above the change agrees
    # shellcheck disable=SC2086 # words
    ok "$TAPOOL" predict $three kernel-1024.jsonl@1024 --at 2048
    matches "$out" '^peak requested  520 MiB'
    # values with a comma, and names that no screen has room for
    capture "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 2,048
    matches "$err" "'2,048' is not a value"
}

@test "what the recordings do not tell is no answer" {
    doubt() { python3 "$CLI/made_doubt.py" "$@"; }
    for run in "alone 256" "alone 512" "root 128" "root 256" "mixed 128" "mixed 256" "heap 128" "heap 256" "kept 128" \
        "kept 256" "dropped 128" "dropped 256" "stays 128" "lacks 256" "paged 240" "paged 256" "sum 2 64" "sum 4 64" "sum 2 128"; do
        # shellcheck disable=SC2086 # words
        doubt $run
    done
    while read -r words; do
        # shellcheck disable=SC2086 # words
        capture "$TAPOOL" predict $words
        [ "$rc" -eq 3 ] || fail "exit $rc: $words" "$(cat "$out")"
        matches "$out" '^No prediction: '
        lacks "$out" 'peak requested'
    done <<'END'
alone-256.jsonl@256 alone-512.jsonl@512 --at 4096
root-128.jsonl@128 root-256.jsonl@256 --at 1024
mixed-128.jsonl@128 mixed-256.jsonl@256 --at 1024
heap-128.jsonl@128 heap-256.jsonl@256 --at 1024
kept-128.jsonl@128 dropped-256.jsonl@256 --at 1024
dropped-128.jsonl@128 kept-256.jsonl@256 --at 1024
stays-128.jsonl@128 lacks-256.jsonl@256 --at 1024
sum-2-64.jsonl@batch=2,len=64 sum-4-64.jsonl@batch=4,len=64 sum-2-128.jsonl@batch=2,len=128 --at batch=8,len=1024
END
    capture "$TAPOOL" predict kept-128.jsonl@128 dropped-256.jsonl@256 --at 1024
    matches "$(tr -s ' \n' ' ' <"$out" >flat; echo flat)" 'do not keep the same blocks live\. kept-128\.jsonl requested [0-9.]+ MiB at its peak; its sizes in the order of dropped-256'
    # a range, where it is a narrow one
    ok "$TAPOOL" predict paged-240.jsonl@240 paged-256.jsonl@256 --at 2048
    matches "$out" '^doubt +up to 104 MiB requested: 1 request of no known law$'
    # the same programs, told
    for run in "kept 1024" "stays 256" "mixed 512"; do
        # shellcheck disable=SC2086 # words
        doubt $run
    done
    ok "$TAPOOL" predict kept-128.jsonl@128 kept-256.jsonl@256 --check 1024=kept-1024.jsonl
    matches "$out" '\(\+0\.00%\)'
    ok "$TAPOOL" predict stays-128.jsonl@128 stays-256.jsonl@256 --at 1024
    ok "$TAPOOL" predict mixed-128.jsonl@128 mixed-256.jsonl@256 mixed-512.jsonl@512 --at 1024
    # a trace needs all values
    capture "$TAPOOL" predict sum-2-64.jsonl@batch=2,len=64 sum-4-64.jsonl@batch=4,len=64 sum-2-128.jsonl@batch=2,len=128 --at batch=8 --fits 1GiB -o x.tpt
    [ "$rc" -eq 2 ] && [ ! -e x.tpt ]
    matches "$err" "needs --at with a value of 'len'"
}

@test "what the recordings do not show is said beside the answer" {
    recorded() { # KIND VALUE...
        args=()
        for n in "${@:2}"; do
            python3 "$CLI/made_doubt.py" "$1" "$n"
            args+=("$1-$n.jsonl@$n")
        done
    }
    # rounding up to more than the recorded values tell
    recorded padded 120 250 500
    ok "$TAPOOL" predict "${args[@]}" --at 270
    matches "$out" '^peak requested  29.25 MiB '
    matches "$out" '^padding +38 MiB requested if the program pads the value to 128$'
    recorded bucket 2 4 8
    ok "$TAPOOL" predict "${args[@]}" --at 9 --json
    is "$out" 'd["predicted"]["power_of_2_requested_bytes"] - d["predicted"]["peak_requested_bytes"]' $((4096 * 20 * 7))
    # below the recordings
    recorded pages 256 512 1024
    ok "$TAPOOL" predict "${args[@]}" --at 16
    matches "$out" '^peak requested  4.312 MiB '
    matches "$out" '^fewer requests  down to 320 KiB requested: some call stacks allocate more often at larger values$'
    # what fits is no bound: replays of values below it
    recorded holes 8 16
    ok "$TAPOOL" predict "${args[@]}" --fits 212MiB --json
    is "$out" '[d["fit"]["fits"], d["fit"]["smaller_that_fails"], d["fit"]["power_of_2_requested_bytes"] >> 20]' '[80, 79, 336]'
    # a value that fits is looked for by the laws of the recordings next to it
    recorded bend 64 128 256 512 1024 2048
    ok "$TAPOOL" predict "${args[@]}" --fits 33MiB --curve
    matches "$out" '^max that fits   80 on a device of 33 MiB, recorded setting '
    matches "$out" '^  64 +16 MiB +- +16 MiB$'
    matches "$out" '^  2,048 +176 MiB +- +176 MiB$'
    # a phase that a recording lacks
    recorded late 1000 2000 4000
    ok "$TAPOOL" predict "${args[@]}" --at 40000
    matches "$out" '^other phase +up to [0-9.]+ MiB requested: the recordings do not predict its growth$'
    capture "$TAPOOL" predict "${args[@]}" --fits 1GiB
    [ "$rc" -eq 3 ]
    matches "$err" 'late-1000.jsonl: --fits needs a GPU trace, and this one is of a host$'
}

@test "laws that two ways of growth explain, and bounds below and between the recordings, are no answer" {
    doubt() { python3 "$CLI/made_doubt.py" "$@"; }
    for n in 10 20 30 40; do doubt added $n; done
    for n in 256 512 1024; do doubt root $n; done
    for n in 128 192 256; do doubt depth $n; done
    for run in "kept 100" "kept 103" "dropped 2000"; do
        # shellcheck disable=SC2086 # words
        doubt $run
    done
    for b in 2 4; do for m in 64 128; do doubt trade $b $m; done; done
    while read -r words; do
        # shellcheck disable=SC2086 # words
        capture "$TAPOOL" predict $words
        [ "$rc" -eq 3 ] || fail "exit $rc: $words" "$(cat "$out")"
        lacks "$out" 'peak requested'
    done <<'END'
added-10.jsonl@10 added-20.jsonl@20 added-30.jsonl@30 added-40.jsonl@40 --at 200
root-256.jsonl@256 root-512.jsonl@512 root-1024.jsonl@1024 --at 16
root-512.jsonl@512 root-1024.jsonl@1024 --at 760
root-512.jsonl@512 root-1024.jsonl@1024 --fits 48MiB
depth-128.jsonl@128 depth-192.jsonl@192 depth-256.jsonl@256 --at 16384
kept-100.jsonl@100 kept-103.jsonl@103 dropped-2000.jsonl@2000 --at 400
trade-2-64.jsonl@b=2,l=64 trade-4-64.jsonl@b=4,l=64 trade-2-128.jsonl@b=2,l=128 trade-4-128.jsonl@b=4,l=128 --at b=1,l=256
END
    capture "$TAPOOL" predict root-256.jsonl@256 root-512.jsonl@512 root-1024.jsonl@1024 --at 16
    matches "$(tr -s ' \n' ' ' <"$out" >flat; echo flat)" 'have no law that these recordings confirm: the peak is between 27.12 MiB and 39.25 MiB'
}

@test "a host program that makes the same requests: its trace at another size, for any malloc" {
    for n in 64 128 1024; do made $n | sed 's/"device"/"host"/' >$n.jsonl; done
    ok "$TAPOOL" predict 64.jsonl@64 128.jsonl@128 --at 1024 -o p.tpt
    lacks "$out" 'peak reserved'
    for file in p.tpt 1024.jsonl; do
        ok "$TAPOOL" replay $file -s arena -s lru -s system --threads 1 --min-time 0 --json
        tool json "$out" '[r["devices"][0]["memory"][k] for r in d["runs"] for k in ("peak_requested_bytes", "peak_reserved_bytes")][:5]' >"$file.said"
    done
    cmp p.tpt.said 1024.jsonl.said
}

@test "what is asked wrongly is exit 2, what cannot be read exit 3" {
    made 64 >a.jsonl
    made 128 >b.jsonl
    while read -r want words; do
        # shellcheck disable=SC2086 # words
        capture "$TAPOOL" predict $words
        [ "$rc" -eq "$want" ] || fail "exit $rc: $words: $(cat "$err")"
    done <<'END'
2 a.jsonl@64 --at 128
2 a.jsonl@64 b.jsonl@128
2 a.jsonl@64 b.jsonl --at 512
2 a.jsonl@64 b.jsonl@ --at 512
2 a.jsonl@64 b.jsonl@0 --at 512
2 a.jsonl@64 b.jsonl@x --at 512
2 a.jsonl@64 b.jsonl@-3 --at 512
2 a.jsonl@64 b.jsonl@16777217 --at 512
2 a.jsonl@64 b.jsonl@99999999999999999999 --at 512
2 a.jsonl@64 b.jsonl@64 --at 512
2 a.jsonl@b\e[1m=64 b.jsonl@b\e[1m=128 --at 512
2 a.jsonl@batch=64 b.jsonl@128 --at 512
2 a.jsonl@a_name_of_more_than_24_letters=64 b.jsonl@a_name_of_more_than_24_letters=128 --at 512
2 a.jsonl@64 b.jsonl@128 --at 1,024
2 a.jsonl@batch=64 b.jsonl@len=128 --at 512
2 a.jsonl@64 b.jsonl@128 --at len=512
2 a.jsonl@64 b.jsonl@128 --at 0
2 a.jsonl@64 b.jsonl@128 --fits 1GiB -o x.tpt
2 a.jsonl@64 b.jsonl@128 --check b.jsonl
2 a.jsonl@64 b.jsonl@128 --check 128=
2 a.jsonl@64 b.jsonl@128 --check batch=128
2 a.jsonl@64 b.jsonl@128 --check batch=128=b.jsonl
2 a.jsonl@64 b.jsonl@128 --at 256 --check 512=b.jsonl
3 a.jsonl@64 b.jsonl@128 --check 512=none.jsonl
2 a.jsonl@64 b.jsonl@128 --at 512 -o x.csv
3 a.jsonl@64 none.jsonl@128 --at 512
END
    capture "$TAPOOL" predict a.jsonl@64 b.jsonl@128 --at 16777216
    [ "$rc" -eq 3 ]
    matches "$err" 'at 16,777,216 the request of event [0-9,]+ of b.jsonl, model.py:41 softmax is above 2\^48 bytes'
    capture "$TAPOOL" predict a.jsonl@64 sample:jq@128 --at 512
    [ "$rc" -eq 3 ]
}
