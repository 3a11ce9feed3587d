#!/usr/bin/env bats
# tapool why and info of several snapshots: the ranks of a job as one table. tests/unit/cmd/test_ranks.c holds who
# is odd; here are the screens, the documents, the exit codes, and the memory that reading takes.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/h200

setup() { enter_folder; }

rank() { # NAME MIB [WORD]...: a snapshot made by hand
    local name=$1
    shift
    python3 -S -E "$CLI/oom_snapshot.py" rank "$@" >"$name.pickle"
}

ranks() { # COUNT: all alike
    rank rank0 60
    for i in $(seq 1 "$(($1 - 1))"); do cp rank0.pickle "rank$i.pickle"; done
}

@test "the odd one out is first, with the sites that make the difference" {
    ranks 6
    rank rank3 90
    shown ranks-odd "$TAPOOL" why rank?.pickle
    cp "$out" why
    ok "$TAPOOL" info rank?.pickle # three or more are the same there
    cmp "$out" why
    ok tool fits 80 "$TAPOOL" why rank?.pickle
    ok tool fits 80 "$TAPOOL" why rank?.pickle --bytes
    ok "$TAPOOL" why rank?.pickle --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
MIB = 1 << 20
v, ranks = d["verdict"], d["ranks"]
assert [r["name"] for r in ranks] == ["3", "0", "1", "2", "4", "5"]
assert (v["agree"], v["odd"], v["figure"], v["beyond"]) == (False, 0, "reserved", 1)
assert v["median_reserved_bytes"] == 160 * MIB and ranks[v["median"]]["name"] == "0"
assert ranks[0]["memory"]["reserved_bytes"] == 190 * MIB and ranks[0]["from_median"]["reserved"] == 0.1875
assert d["sites"]["rows"] == [{"kind": "site", "name": "model.py:8 __init__", "bytes": [60 * MIB, 90 * MIB],
                               "blocks": [1, 1]}]
assert d["sites"]["unchanged"] == {"count": 1, "bytes": 100 * MIB, "blocks": 1}
for r in ranks:
    m = r["memory"]
    assert m["requested_bytes"] + m["rounding_bytes"] + m["free_bytes"] == m["reserved_bytes"]
END
}

@test "ranks that are alike agree, and nothing is said to differ" {
    ranks 3
    fitting "$TAPOOL" why rank?.pickle
    head -n 1 "$out" | grep -qx 'All 3 ranks agree: peak reserved and requested are the same'
    lacks "$out" '(Odd|growth|Next)'
    ok "$TAPOOL" why rank?.pickle --json
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["verdict"]["agree"] and d["verdict"]["odd"] is None and "sites" not in d' "$out"
}

@test "a rank that differs by free memory alone has no other sites" {
    ranks 3
    rank rank3 60 idle
    fitting "$TAPOOL" why rank?.pickle
    matches "$out" '^  no allocation site differs: 160 MiB in 2 blocks on both sides$'
    matches "$out" '^  3 +200 MiB +\+25\.0% +160 MiB +0 B +40 MiB +40 MiB +18$'
}

@test "two snapshots: why is a table of ranks, info compares traces" {
    rank a 60
    rank b 90
    ok "$TAPOOL" why a.pickle b.pickle
    matches "$out" '^Outlier: b\.pickle, peak reserved 190 MiB, 18\.8% above the median of 160 MiB \(a\.pickle\)$'
    ok "$TAPOOL" info a.pickle b.pickle
    matches "$out" '^second +b\.pickle$'
}

@test "a file that cannot be used is a row, the others are shown, and the exit code is 3" {
    ranks 3
    head -c 700 rank1.pickle >cut.pickle
    mv cut.pickle rank1.pickle
    capture "$TAPOOL" why rank0.pickle rank1.pickle rank2.pickle missing.pickle "$TAPOOL_ROOT/README.md"
    [ "$rc" -eq 3 ]
    one_sentence "$err"
    matches "$err" '^tapool: 3 of 5 snapshots cannot be used: rank1\.pickle'
    matches "$out" '^Both ranks agree'
    [ "$(grep -c ' unusable  ' "$out")" -eq 3 ]
    matches "$out" '^  missing\.pickle is unusable: missing\.pickle: no such file$'
    tool width 100 <"$out"
    capture "$TAPOOL" why rank0.pickle missing.pickle
    [ "$rc" -eq 3 ]
    matches "$out" '^Only one rank can be compared$'
    refused 3 '^tapool: missing\.pickle: no such file$' "$TAPOOL" why missing.pickle "$TAPOOL_ROOT/README.md"
    # what was read of a file before it turned out to be bad is dropped
    capture "$TAPOOL" why rank0.pickle rank1.pickle --json
    [ "$rc" -eq 3 ]
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["ranks"]
assert [sorted(x) for x in r[1:]] == [["error", "file", "name"]] and r[0]["events"] == 14' "$out"
}

@test "devices of a file are ranks of their own, and --device takes one" {
    python3 "$CLI/oom_snapshot.py" two >two.pickle
    rank one 60
    ok "$TAPOOL" why two.pickle one.pickle
    matches "$out" '^  two device 1 '
    [ "$(grep -cE '^  (two|one) device [01] ' "$out")" -eq 3 ]
    capture "$TAPOOL" why two.pickle one.pickle --device 1
    [ "$rc" -eq 3 ]
    matches "$out" '^  one is unusable: one\.pickle: device 1 has no memory$'
}

@test "what a rank is compared by: whose frames are missing, many times the median, segments that differ" {
    python3 "$CLI/oom_snapshot.py" two | python3 -c 'import pickle, sys
d = pickle.load(sys.stdin.buffer)
for e in (e for t in d["device_traces"] for e in t):
    e["frames"] = []
for b in (b for s in d["segments"] for b in s["blocks"]):
    b["frames"] = []
d["device_traces"][1] = d["device_traces"][1][:1]
sys.stdout.buffer.write(pickle.dumps(d, protocol=4))' >two.pickle
    rank one 90
    ok "$TAPOOL" why two.pickle one.pickle
    matches "$out" '^  two device 0 has no stack frames'
    matches "$out" '^  \* estimates: .* differ from the file \(two, from the start on\)\. That rank'
    rank one 60
    snapshot both >both.pickle
    ok "$TAPOOL" why both.pickle one.pickle
    matches "$out" '^Outlier: one\.pickle, requested 160 MiB, [0-9,]+x the median of 1\.845 KiB \(both\.pickle\)$'
    matches "$out" '^  \* estimates: segments before the peak differ from the file \(both, from event 2 on\)\.'
}

@test "snapshots without frames, without events, with hostile names" {
    rank bare 60 bare
    rank plain 90
    ok "$TAPOOL" why bare.pickle plain.pickle
    matches "$out" '^  bare has no stack frames, so its allocation sites are unknown$'
    rank plainer 90 bare
    ok "$TAPOOL" why bare.pickle plainer.pickle
    lacks "$out" 'allocation site$'
    snapshot state >state.pickle
    ok "$TAPOOL" why state.pickle plain.pickle
    matches "$out" '^  state +4 MiB '
    rank $'it\'s \x1b[31m' 120 $'name=\x1b[31m\n\u202eevil'
    ok "$TAPOOL" why plain.pickle $'it\'s \x1b[31m.pickle'
    harmless "$out"
    tool width 100 <"$out"
    ok "$TAPOOL" why plain.pickle $'it\'s \x1b[31m.pickle' --json
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out"
}

@test "options of one snapshot are refused for several" {
    ranks 3
    for option in '--at 3' '--by size' '--depth 2' '--export-folded x' '--export-html x'; do
        # shellcheck disable=SC2086 # two words
        refused 2 "^tapool: ${option%% *} takes one snapshot or trace$" "$TAPOOL" why rank0.pickle rank1.pickle $option
    done
    refused 2 '^tapool: the format folded takes one snapshot$' "$TAPOOL" why rank?.pickle --format folded
    refused 2 '^tapool: --limit takes one trace, or two that are compared$' "$TAPOOL" info rank?.pickle --limit 3
    refused 2 "did you mean 'max_split_size_mb'" "$TAPOOL" why rank?.pickle --conf max_split_size:40
    refused 3 '^tapool: a\.jsonl: ' "$TAPOOL" info a.jsonl b.jsonl c.jsonl
    ok "$TAPOOL" why rank?.pickle --export-json ranks.json
    refused 2 "^tapool: 'ranks.json' exists$" "$TAPOOL" why rank?.pickle --export-json ranks.json
}

@test "real ranks: batches of a training, and what rounding and free memory add up to" {
    ok "$TAPOOL" why "$DATA"/gpt-train-b{2,4,8,32}.pickle.zst
    matches "$out" '^Outlier: gpt-train-b32\.pickle\.zst, requested 2\.354 GiB, 309\.0% above the median of 589\.5 MiB$'
    matches "$out" '^ +\+616 MiB +121 MiB +737 MiB += +linear\.py:134 forward$'
    matches "$out" '^ +\+1\.779 GiB +589\.5 MiB +2\.354 GiB += +total$'
    ok "$TAPOOL" why "$DATA"/gpt-train-b{2,4,8,32}.pickle.zst --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
odd, median = d["ranks"][d["verdict"]["odd"]], d["ranks"][d["verdict"]["median"]]
s = d["sites"]
for side, rank in enumerate((median, odd)):
    assert s["bytes"][side] == rank["memory"]["requested_bytes"]
    assert sum(r["bytes"][side] for r in s["rows"]) + s["unchanged"]["bytes"] == s["bytes"][side]
    assert sum(r["blocks"][side] for r in s["rows"]) + s["unchanged"]["blocks"] == rank["memory"]["live_blocks"]
growth = [r["bytes"][1] - r["bytes"][0] for r in s["rows"]]
assert growth == sorted(growth, reverse=True)
END
    # each row is what why says of the file alone at its peak
    ok "$TAPOOL" why "$DATA/gpt-train-b8.pickle.zst" --at peak
    matches "$out" '^ +849\.7 MiB   226 live blocks '
    matches "$out" '^ = +894 MiB   reserved'
}

# bats test_tags=nightly
@test "one file is read at a time" {
    ! sanitized || skip "a sanitizer has memory of its own"
    local files=()
    for i in 1 2 3 4 5 6 7 8; do
        cp "$DATA/varlen-streams-default.pickle.zst" "$i.pickle.zst"
        files+=("$i.pickle.zst")
    done
    for limit in $(seq 4 2 200); do # MiB that two take
        tool rss "$limit" "$TAPOOL" why "${files[@]:0:2}" >"$SCRATCH/said" && break
    done
    ok tool rss $((limit + 4)) "$TAPOOL" why "${files[@]}"
}
