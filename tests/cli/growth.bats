#!/usr/bin/env bats
# tapool info A B --by line: which allocation sites grew from one trace to another.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/h200
CALLED=${TAPOOL_CALLED:-$(dirname "$TAPOOL")/tests/called}

setup() { enter_folder; }

info() { "$TAPOOL" info "$@"; }

rank() { # NAME MIB [WORD]...: a snapshot made by hand
    local name=$1
    shift
    python3 -S -E "$CLI/oom_snapshot.py" rank "$@" >"$name.pickle"
}

# adds_up FILE: the rows of the document add up to the live memory at both peaks, most growth first.
adds_up() {
    python3 - "$1" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
s = d["sites"]
figures = {f["name"]: f["values"] for f in d["figures"]}
for i in (0, 1):
    assert s["bytes"][i] == figures["peak_requested"][i], (s["bytes"], figures["peak_requested"])
    assert sum(r["bytes"][i] for r in s["rows"]) + s["unchanged"]["bytes"] == s["bytes"][i]
    assert sum(r["blocks"][i] for r in s["rows"]) + s["unchanged"]["blocks"] == s["blocks"][i]
    initial = [r for r in s["rows"] if r["kind"].startswith("initial heap")]
    assert sum(r["bytes"][i] for r in initial) <= s["initial_heap"]["bytes"][i]
growth = [r["bytes"][1] - r["bytes"][0] for r in s["rows"]]
assert growth == sorted(growth, reverse=True)
assert all(r["bytes"][0] != r["bytes"][1] or r["blocks"][0] != r["blocks"][1] for r in s["rows"])
names = [(r["kind"], r["name"]) for r in s["rows"]]
assert len(names) == len(set(names))
grown = [p["peak_bytes"][1] - p["peak_bytes"][0] for p in d["phases"]]
assert grown == sorted(grown, reverse=True)
END
}

@test "sites that grew, the initial heap apart, and the phases of both" {
    rank before 60 late
    rank after 90
    shown growth info before.pickle after.pickle --by line
    ok tool fits 80 "$TAPOOL" info before.pickle after.pickle --by line
    ok tool fits 80 "$TAPOOL" info before.pickle after.pickle --by line --bytes
    ok info before.pickle after.pickle --by line --json
    adds_up "$out"
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
MIB = 1 << 20
rows = [(r["kind"], r["name"], [b // MIB for b in r["bytes"]], r["blocks"]) for r in d["sites"]["rows"]]
assert rows == [("site", "model.py:8 __init__", [0, 90], [0, 1]),
                ("initial heap", "model.py:8 __init__", [60, 0], [1, 0])], rows
assert d["sites"]["unchanged"] == {"count": 1, "bytes": 100 * MIB, "blocks": 1}
assert d["sites"]["initial_heap"] == {"bytes": [60 * MIB, 0], "blocks": [1, 0]}
phase, = d["phases"]
assert phase["name"] == "forward" and phase["peak_bytes"] == [160 * MIB, 190 * MIB]
assert phase["largest"] == {"kind": "site", "name": "model.py:8 __init__", "bytes": [0, 90 * MIB]}
END
}

@test "each block of the initial heap has its own site, as far as the file knows it" {
    rank last 60 last # all was there: 4 MiB of the loss, 36 of forward, 60 of weights, and 30 and 30 that are freed
    rank first 60
    ok info first.pickle last.pickle --by line --json
    adds_up "$out"
    python3 - "$out" <<'END'
import json, sys
MIB = 1 << 20
rows = {(r["kind"], r["name"]): (r["bytes"][1] // MIB, r["blocks"][1])
        for r in json.load(open(sys.argv[1]))["sites"]["rows"]}
assert rows["initial heap", "loss.py:40 cross_entropy"] == (4, 1)
assert rows["initial heap", "model.py:21 forward"] == (36, 1)
assert rows["initial heap", "model.py:8 __init__"] == (60, 1)
assert rows["initial heap, unknown", None] == (60, 2)
END
    rank late 60 late
    ok info first.pickle late.pickle --initial-heap drop --by line --json # then it is on no side
    adds_up "$out"
    is "$out" 'd["sites"]["initial_heap"]["bytes"]' '[0, 0]'
}

@test "the same trace twice: no row, and it says so" {
    rank a 60
    ok info a.pickle a.pickle --by line
    matches "$out" '^  no allocation site differs: 160 MiB in 2 blocks on both sides$'
    matches "$out" '^ +=  160 MiB  160 MiB  forward$'
    lacks "$out" ' total$'
    ok info a.pickle a.pickle --by line --json
    adds_up "$out"
    is "$out" 'd["sites"]["rows"], d["sites"]["unchanged"]["count"]' '([], 2)'
    ok info a.pickle a.pickle # not asked for
    lacks "$out" 'allocation site'
    ok info a.pickle a.pickle --json
    is "$out" '"sites" in d or "phases" in d' False
}

@test "phases of other names are left out, and it says so" {
    rank a 60
    rank b 90 phase=backward
    ok info a.pickle b.pickle --by line
    matches "$out" '^By phase +left out: no common phase name \(1 in the first trace, 1 in the second\)$'
    ok info a.pickle b.pickle --by line --json
    is "$out" 'd["phases"]' '[]'
    lines '{"op":"alloc","id":1,"size":8,"place":"a"}' >none.jsonl
    ok info none.jsonl none.jsonl --by line # neither has phases: there is nothing to leave out
    lacks "$out" '[Pp]hase'
}

@test "by annotation, size, age and with callers" {
    rank a 60
    rank b 90
    for by in size age; do
        ok info a.pickle b.pickle --by $by --json
        adds_up "$out"
        is "$out" 'd["sites"]["by"], d["sites"]["bytes"][1] - d["sites"]["bytes"][0]' "('$by', 31457280)"
    done
    ok info a.pickle b.pickle --by size
    matches "$out" '^ +\+90 MiB +100 MiB +190 MiB +\+1  64 MiB to 128 MiB$'
    ok info "$DATA"/gpt-train-b{2,4}.pickle.zst --by annotation --json
    adds_up "$out"
    is "$out" '"Optimizer.step#AdamW.step" in [r["name"] for r in d["sites"]["rows"]]' True
    is "$out" '[p for p in d["phases"] if "largest" in p]' '[]'
    ok info a.pickle b.pickle --by annotation # the weights were there before the phase
    matches "$out" '^ +\+30 MiB +60 MiB +90 MiB += +in no phase$'
    lines '{"op":"alloc","id":1,"size":8,"place":"a"}' >none.jsonl
    refused 3 'live memory by site is not known' info none.jsonl none.jsonl --by annotation
    ok info a.pickle b.pickle --depth 2
    matches "$out" '^ +\+30 MiB .* model\.py:8 __init__ < train\.py:12 build$'
}

@test "many sites: the largest differences from both ends, and one row for the others" {
    for side in 1 2; do
        lines '{"op":"alloc","id":99,"size":1,"place":"same"}' >$side.jsonl
        for i in $(seq 1 40); do
            size=$((side == 1 ? 1000 * i : 1000 * (41 - i)))
            printf '{"op":"alloc","id":%d,"size":%d,"place":"site%02d"}\n' "$i" "$size" "$i"
        done >>$side.jsonl
    done
    ok info 1.jsonl 2.jsonl --by line
    matches "$out" '^ .* site01$'
    matches "$out" '^ .* 29 more allocation sites, 1 of them unchanged$'
    [ "$(grep -cE ' site[0-9]+$' "$out")" -eq 12 ]
    grep -B 1 ' total$' "$out" | grep -q ' site40$'
    ok info 1.jsonl 2.jsonl --by line --json
    adds_up "$out"
    is "$out" 'len(d["sites"]["rows"])' 40
}

@test "recordings of a program with call stacks" {
    [ -e "$(dirname "$TAPOOL")/libtapool_record_stacks.so" ] || skip "built without call stacks"
    for i in a:1 b:50; do
        capture "$TAPOOL" record -f -o "${i%:*}.tpt" --stacks 16 --stack-every "${i#*:}" -- "$CALLED" small
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    done
    ok info "$TAPOOL_ROOT/tests/data/recorded/called.tpt" a.tpt --by line --json
    adds_up "$out"
    ok info a.tpt b.tpt --by line --json # of one in 50 there are estimates
    adds_up "$out"
    is "$out" 'd["sites"]["estimated"]' True
    ok info a.tpt b.tpt --by line
    matches "$out" '^Requested at the trace peak of each, estimated from the call stacks of sampled blocks$'
}

# bats test_tags=nightly
@test "real snapshots: totals to the byte, an out of memory, growing segments" {
    while read -r one other; do
        ok info "$DATA/$one.pickle.zst" "$DATA/$other.pickle.zst" --by line --json
        adds_up "$out" || fail "$one $other"
    done <<'END'
gpt-train-b2 gpt-train-b4
gpt-train-b4 gpt-train-b2
varlen-empty varlen-midrun
varlen-fraction1500-oom varlen-leave2400-expandable
resnet-b4 resnet-b32
hf-gpt2-b2 graph-b4
END
    ok info "$DATA"/gpt-train-b{2,4}.pickle.zst --by line
    matches "$out" '^ +\+72 MiB +49 MiB +121 MiB +\+8  linear\.py:134 forward$'
    matches "$out" '^ +\+67\.99 MiB +521\.5 MiB +589\.5 MiB +-45  total$'
}

@test "hostile names, files that say nothing of it, several devices" {
    rank a 60 $'name=\x1b[31m\n\u202eevil' $'phase=\x1b]0;x\x07'
    rank b 90 $'phase=\x1b]0;x\x07'
    ok info a.pickle b.pickle --by line
    harmless "$out"
    tool width 100 <"$out"
    rank bare 60 bare
    refused 3 '^tapool: bare\.pickle: live memory by site is not known' info bare.pickle b.pickle --by line
    refused 3 '^tapool: bare\.pickle: live memory by site is not known' info b.pickle bare.pickle --by line
    ok info bare.pickle b.pickle --by size # that is known of every block
    refused 3 '^tapool: none\.pickle: no such file$' info b.pickle none.pickle --by line
    python3 "$CLI/oom_snapshot.py" two >two.pickle
    refused 3 '^tapool: two\.pickle: live memory by site is shown for one device$' info two.pickle b.pickle --by line
    ok info two.pickle b.pickle --by line --device 0
    refused 2 '^tapool: --at takes one trace$' info a.pickle b.pickle --at 3
    refused 2 '^tapool: the format folded takes one trace$' info a.pickle b.pickle --format folded
    capture info a.pickle b.pickle --by line --fail-on 'peak_requested>+1%'
    [ "$rc" -eq 1 ]
    matches "$out" ' total$'
}
