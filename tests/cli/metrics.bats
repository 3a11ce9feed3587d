#!/usr/bin/env bats
# Numbers: the JSON's names, text against JSON, both against a script of ten lines, two runs against each
# other, and what a label, a repair, a limit or a warning adds to them.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

samples=(sqlite jq python-threads)
sanitized && samples=(sqlite) # what the others add is numbers, which the plain build compares

# Longer than a first replay takes on a busy machine: it is repeated, and the interval is there.
steady=200ms

# json FILE ARGS...: the result of a short replay.
json() {
    local file=$1
    shift
    ok replay_once "$@" --json || return 1
    cp "$out" "$file"
}

# ---- names ----

@test "the JSON is valid, and has every name that is fixed" {
    json r.json sample:sqlite sample:python-threads -s arena -s system -s direct
    python3 -m json.tool r.json >/dev/null
    tail -c 1 r.json | cmp - <(echo)
    python3 - r.json <<'END'
import json, sys

def keys(what, value, names):
    missing = [n for n in names.split() if n not in value]
    assert not missing, "%s lacks %s" % (what, missing)

d = json.load(open(sys.argv[1]))
assert d["schema"] == "tapool.result/2" and d["partial"] is False and d["seed"] == 1
keys("tool", d["tool"], "version build compiler")
keys("clock", d["clock"], "name step_ns stamp_ns")
assert isinstance(d["machine"], dict) and d["machine"]
assert len(d["runs"]) == 6
latency = "count mean_ns min_ns p50_ns p90_ns p99_ns p99_9_ns max_ns coarse buckets"
memory = ("trace_peak_requested_bytes peak_requested_bytes peak_requested_event peak_allocated_bytes "
          "peak_reserved_bytes peak_reserved_event peak_carved_bytes peak_metadata_bytes "
          "end_reserved_bytes overhead internal_fragmentation external_fragmentation "
          "unused_reserved weight at_trace_peak")
for r in d["runs"]:
    keys("run", r, "trace strategy source touch latency_scope memory driver_calls failed_allocations "
                   "skipped_operations first_failed_event throughput latency devices warnings")
    keys("trace", r["trace"], "path name kind format program_hash events operations objects threads "
                              "streams devices live_at_end repairs unknown")
    keys("strategy", r["strategy"], "name label options")
    keys("source", r["source"], "name options")
    keys("memory", r["memory"], memory)
    keys("at_trace_peak", r["memory"]["at_trace_peak"],
         "requested_bytes allocated_bytes reserved_bytes free_bytes free_blocks largest_free_block_bytes cached_bytes")
    keys("driver_calls", r["driver_calls"], "get put wait get_bytes put_bytes hit_rate")
    keys("throughput", r["throughput"], "ns_per_op ci95_low_ns_per_op ci95_high_ns_per_op cold_ns_per_op "
                                        "replay_overhead_ns_per_op runs_ns_per_op")
    for kind in ("alloc", "free", "realloc"):
        keys(kind, r["latency"][kind], latency)
    keys("device", r["devices"][0], "index memory driver_calls failed_allocations")
    assert r["latency_scope"] == "strategy_and_source" and r["touch"] == "first"
    assert len(r["trace"]["program_hash"]) == 64
    t = r["throughput"]
    assert (t["ci95_low_ns_per_op"] is None) == (len(t["runs_ns_per_op"]) < 2)
    if t["ci95_low_ns_per_op"] is not None:
        assert 0 <= t["ci95_low_ns_per_op"] <= t["ns_per_op"] <= t["ci95_high_ns_per_op"]
    assert t["replay_overhead_ns_per_op"] >= 0 and len(t["runs_ns_per_op"]) >= 1
    for l in r["latency"].values():
        assert l["min_ns"] <= l["mean_ns"] <= l["max_ns"] + 1
        known = [l[p] for p in ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns") if l[p] is not None]
        assert known == sorted(known) and sum(n for _, n in l["buckets"]) == l["count"]
    if r["strategy"]["name"] == "system":
        assert r["driver_calls"]["get"] is None and r["memory"]["peak_carved_bytes"] is None
    else:
        m = r["memory"]; at = m["at_trace_peak"]
        assert at["allocated_bytes"] + at["free_bytes"] == at["reserved_bytes"] <= m["peak_reserved_bytes"]
        assert m["overhead"] >= 1
END
    is r.json '[x["trace"]["name"] for x in d["runs"]]' "['sqlite', 'sqlite', 'sqlite', 'python-threads', 'python-threads', 'python-threads']"
}

@test "every metric of the JSON is in 'tapool help metrics', by the same name" {
    json r.json sample:sqlite -s arena
    whole_topic metrics >topic
    for name in $(query r.json '" ".join(list(r["memory"]) + list(r["driver_calls"]) + list(r["throughput"]) + list(r["latency"]["alloc"]))'); do
        case $name in # told by a neighbour's row, or no metric
        *_weighted | weight | informative | *_event | low_* | high_* | ci95_* | runs_ns* | replays* | coarse) continue ;;
        count | mean_ns | min_ns | max_ns | p[0-9]*) name=${name%_ns} ;;
        get_bytes | put_bytes | wait_ns) continue ;;
        *) name=${name%_bytes} ;;
        esac
        grep -qw -- "$name" topic || fail "$name is not in 'tapool help metrics'"
    done
}

@test "integers beyond 2^53 are strings" {
    trace '{"op":"alloc","id":1,"size":64}' >x.json
    json r.json x.json -s arena --seed 18446744073709551614
    matches r.json '"seed":\s*"18446744073709551614"'
    json r.json x.json -s arena --seed 9007199254740991
    matches r.json '"seed":\s*9007199254740991,'
}

# Each event of a small trace is a point, so that what its curve lacks of one is seen.
@test "live memory by site over time adds up to what is requested, once for each trace" {
    python3 -S -E - >sites.jsonl <<'END'
import json
print(json.dumps({"format": "tapool-trace", "version": 1}))
print(json.dumps({"op": "initial", "id": 1000, "size": 700}))
for i in range(300):
    print(json.dumps({"op": "alloc", "id": i, "size": 100 + i * 37 % 1000, **({"place": "s%d.c:1 f" % (i % 13)} if i % 7 else {})}))
    if i % 5 == 4:
        print(json.dumps({"op": "free", "id": i - i % 5}))
END
    json r.json sites.jsonl sites.jsonl -s arena -s direct
    python3 -S -E - r.json sites.jsonl <<'END'
import collections, json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert ["site_curve" in run for run in runs] == [True, False] * 2
curve, sites = runs[0]["site_curve"], runs[0]["peak_sites"]
assert curve["places"] == [p["place"] for p in sites["places"][:10]] and sites["count"] == 13
live, now, right = {}, 0, [[0, 700, 0] + [0] * 10]
for line in list(open(sys.argv[2]))[2:]:
    event, now = json.loads(line), now + 1
    if event["op"] == "alloc":
        live[event["id"]] = event["size"], event.get("place")
    else:
        del live[event["id"]]
    held = collections.Counter()
    for size, place in live.values():
        held[place if place in curve["places"] else None] += size
    right.append([now, 700, held[None]] + [held[place] for place in curve["places"]])
assert curve["points"] == right, [pair for pair in zip(curve["points"], right) if pair[0] != pair[1]][:3]
requested = {(point[0], point[1]) for point in runs[0]["memory"]["curve"]}
assert requested == {(point[0], sum(point[1:])) for point in right}
END
    json short.json sites.jsonl -s arena --no-curves
    is short.json '"site_curve" in r, "peak_sites" in r' '(False, True)'
    json sizes.json sites.jsonl -s arena --by size
    is sizes.json '"site_curve" in r' False
    json late.json sites.jsonl -s arena --at 100
    is late.json 'r["site_curve"]["places"] == [p["place"] for p in r["sites"]["places"][:10]]' True
    json none.json sample:jq -s arena
    is none.json '"site_curve" in r' False
}

# ---- text against JSON ----

# agree FIGURES ARGS...: text and JSON of one run, at least so many figures compared.
agree() {
    local least=$1 n
    shift
    ok "$TAPOOL" replay "$@" --export-json r.json -f || return 1
    n=$(python3 "$CLI/agree.py" "$out" r.json) || fail "of replay $*" || return 1
    [ "$n" -ge "$least" ] || fail "only $n figures were compared"
}

@test "text and JSON of one run say the same: one strategy" {
    for sample in "${samples[@]}"; do
        agree 28 "sample:$sample" -s arena --min-time $steady
        agree 28 "sample:$sample" -s bump --min-time $steady
        agree 22 "sample:$sample" -s system --min-time $steady
        agree 22 "sample:$sample" -s direct --min-time 0
        agree 22 "sample:$sample" -s arena --min-time 0 --bytes
        agree 22 "sample:$sample" -s bump --min-time 0 --source virtual
    done
}

@test "text and JSON of one run say the same: a table" {
    for sample in "${samples[@]}"; do
        agree 13 "sample:$sample" --min-time $steady
        agree 18 "sample:$sample" --min-time 0 -s arena -s bump -s direct -s x=arena:refill_target=4KiB
        agree 10 "sample:$sample" --min-time 0 -s arena -s direct --source virtual --bytes
    done
    device_trace >gpu.json
    agree 9 gpu.json --min-time 0
}

@test "the comparison of text and JSON can fail" {
    ok "$TAPOOL" replay sample:sqlite -s arena --min-time 0 --export-json r.json
    cp "$out" screen
    python3 "$CLI/agree.py" screen r.json
    for change in 's/("free_bytes":\s*)[0-9]+/\11709568/' 's/("free_blocks":\s*)([0-9])/\19\2/' \
        's/("replay_overhead_ns_per_op":\s*)/\19/' 's/("count":\s*)/\11/' 's/("hit_rate":\s*)[0-9.]+/\10.5/'; do
        sed -E "$change" r.json >changed.json
        not cmp -s r.json changed.json
        ! python3 "$CLI/agree.py" screen changed.json 2>/dev/null || fail "not seen: $change"
    done
}

# ---- against a script ----

@test "trace_peak_requested agrees with a script of ten lines, for all samples and strategies" {
    for sample in "${samples[@]}"; do
        peak=$(python3 - "$SAMPLES/$sample.json" <<'END'
import json, sys
live, now, peak = {}, 0, 0
for event in json.load(open(sys.argv[1]))["events"]:
    if event["op"] in ("free", "realloc"):
        now -= live.pop(event["id"])
    if event["op"] in ("alloc", "realloc"):
        live[event["id"]] = event["size"]
        now += event["size"]
    peak = max(peak, now)
print(peak)
END
)
        json r.json "$SAMPLES/$sample.json" -s direct -s bump -s arena --passes usage
        is r.json '[x["memory"]["trace_peak_requested_bytes"] for x in d["runs"]]' "[$peak, $peak, $peak]"
        json r.json "$SAMPLES/$sample.json" -s direct -s bump -s arena --passes usage \
            --source virtual+limit:capacity=128KiB
        is r.json '[x["memory"]["trace_peak_requested_bytes"] for x in d["runs"]]' "[$peak, $peak, $peak]"
    done
}

@test "a trace worked out by hand" {
    trace '{"op":"alloc","id":1,"size":100}' '{"op":"alloc","id":2,"size":5000}' '{"op":"free","id":1}' \
        '{"op":"realloc","id":2,"size":9000}' '{"op":"alloc","id":3,"size":1}' '{"op":"free","id":2}' >x.json
    json r.json x.json -s direct --source virtual
    is r.json 'r["memory"]["trace_peak_requested_bytes"]' 9001
    is r.json 'r["memory"]["peak_requested_event"]' 5
    # pages of 4 KiB: 1 for id 1, 2 for id 2, then 3 for id 2, 1 for id 3
    is r.json 'r["memory"]["at_trace_peak"]["reserved_bytes"]' 16384
    is r.json 'r["memory"]["end_reserved_bytes"]' 4096
    is r.json '(r["trace"]["events"], r["trace"]["objects"], r["trace"]["live_at_end"], r["trace"]["unknown"])' \
        "(6, 3, 1, ['time'])"
    is r.json 'r["memory"]["internal_fragmentation"]' "$(python3 -c 'print(round(1 - 9001 / 16384, 6))')"
    is r.json '{k: v["count"] for k, v in r["latency"].items()}' "{'alloc': 3, 'free': 2, 'realloc': 1}"
}

# ---- two runs against each other ----

# exact FILE ARGS...: the class-E metrics of all samples.
exact() {
    local file=$1
    shift
    json r.json sample:sqlite sample:jq sample:python-threads -s arena -s bump -s direct "$@" || return 1
    python3 "$CLI/class_e.py" r.json -curve >"$file"
}

same() { diff "$1" "$2" >&2 || fail "$1 and $2 differ"; }

@test "two runs agree on every class-E metric to the byte: host, virtual, shuffled, any seed" {
    for source in host virtual host+shuffle virtual+shuffle; do
        exact "$source.1" --source "$source"
        [ "$(wc -l <"$source.1")" -gt 300 ]
        exact "$source.2" --source "$source" --passes usage # nor do the timed passes change it
        same "$source.1" "$source.2"
    done
    for source in host+shuffle virtual+shuffle; do
        exact "$source.3" --source "$source" --seed 77 --passes usage
        same "$source.1" "$source.3"
    done
    # where memory comes from, and in what order, is no matter
    for file in host virtual host+shuffle virtual+shuffle; do
        grep -v '\.source\.' "$file.1" >"$file.bare"
        same host.bare "$file.bare"
    done
}

@test "repetition does not change what is exact" {
    for time in 0 "$steady"; do
        ok "$TAPOOL" replay sample:python-threads -s arena -s bump --json --min-time $time
        cp "$out" "r.$time"
        python3 "$CLI/class_e.py" "r.$time" >"exact.$time"
    done
    same exact.0 "exact.$steady"
    is "r.$steady" 'r["throughput"]["replays"] >= 5' True
    is r.0 'r["throughput"]["replays"]' 1
}

@test "the comparison of class-E metrics can fail" {
    json r.json sample:sqlite -s arena
    python3 "$CLI/class_e.py" r.json >a
    sed -E 's/("peak_carved_bytes":\s*[0-9]+)[0-9]/\1x/; s/x/7/' r.json >s.json
    python3 "$CLI/class_e.py" s.json >b
    not cmp -s a b
    json r.json sample:sqlite -s arena:first_range=256KiB
    python3 "$CLI/class_e.py" r.json | grep -v '\.options\.' >b
    grep -v '\.options\.' a >a.bare
    not cmp -s a.bare b
}

# ---- one trace, many ways in ----

@test "stdin, JSON Lines, a sample's name and other formatting: one program" {
    json file.json "$SAMPLES/sqlite.json" -s arena
    python3 "$CLI/class_e.py" file.json >exact.file
    ok replay_once - -s arena --json <"$SAMPLES/sqlite.json"
    python3 "$CLI/class_e.py" "$out" | sed 's/\(trace.name\) .*/\1 sqlite/' >exact.stdin
    same exact.file exact.stdin
    # shellcheck disable=SC2016 # sh expands it
    ok sh -c 'cat "$1" | "$TAPOOL" replay - -s arena --json --min-time 0' sh "$SAMPLES/sqlite.json" # no seeking
    python3 "$CLI/class_e.py" "$out" >exact.pipe
    same exact.file exact.pipe
    json name.json sample:sqlite -s arena
    python3 "$CLI/class_e.py" name.json >exact.name
    same exact.file exact.name
    python3 - "$SAMPLES/sqlite.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
events = d.pop("events")
with open("x.jsonl", "w") as out:
    out.write("\n".join(json.dumps(x) for x in [d] + events) + "\n")
with open("dense.json", "w") as out:
    json.dump(dict(d, events=events), out, separators=(",", ":"))
with open("airy.json", "w") as out:
    out.write("\ufeff" + json.dumps(dict(d, events=events, mine={"a": [1]}), indent=4))
END
    for file in x.jsonl dense.json airy.json; do
        json r.json "$file" -s arena
        python3 "$CLI/class_e.py" r.json >"exact.$file"
        same <(grep -v '\.format ' exact.file) <(grep -v '\.format ' "exact.$file")
    done
    json r.json x.jsonl -s arena
    is r.json 'r["trace"]["format"]' jsonl
    # another program has another hash
    sed '0,/"size": 48/s//"size": 49/' "$SAMPLES/sqlite.json" >other.json
    json r.json other.json -s arena
    not is r.json 'r["trace"]["program_hash"]' "$(query file.json 'r["trace"]["program_hash"]')"
}

@test "stdin feeds every strategy and every pass" {
    ok replay - --json <"$SAMPLES/sqlite.json"
    is "$out" '[x["strategy"]["name"] for x in d["runs"]]' "['system', 'arena']"
    is "$out" '{x["trace"]["events"] for x in d["runs"]}' '{6170}'
    is "$out" '{x["memory"]["trace_peak_requested_bytes"] for x in d["runs"]}' '{315477}'
}

@test "several traces in one call are what they are alone" {
    json all.json sample:sqlite sample:jq -s bump
    python3 "$CLI/class_e.py" all.json >together
    for sample in sqlite jq; do
        json r.json "sample:$sample" -s bump
        python3 "$CLI/class_e.py" r.json
    done >alone
    same together alone
    ok replay_once sample:sqlite sample:jq -s bump
    [ "$(grep -c '^Summary: bump' "$out")" -eq 2 ]
    matches "$out" '^sqlite\.json '
    matches "$out" '^jq\.json '
}

# ---- what is said beside the numbers ----

@test "--repair counts what it repaired" {
    trace '{"t":5,"op":"alloc","id":1,"size":10}' '{"t":3,"op":"free","id":9}' '{"op":"alloc","id":1,"size":20}' \
        '{"op":"realloc","id":8,"size":64}' '{"op":"realloc","id":8,"size":0}' '{"op":"alloc","id":2,"size":0}' \
        '{"op":"free","id":77}' >dirty.json
    json r.json dirty.json -s arena --repair
    is r.json 'sorted(r["trace"]["repairs"].items())' \
        "[('double_alloc', 1), ('realloc_unknown', 1), ('realloc_zero', 1), ('time_backwards', 1), ('unknown_free', 2), ('zero_size', 1)]"
    is r.json 'r["memory"]["trace_peak_requested_bytes"]' 84
    ok replay_once dirty.json -s arena --repair
    tr -s ' \n' ' ' <"$out" >line
    matches line 'repaired: 2 unknown_free, 1 double_alloc, 1 zero_size, 1 realloc_unknown, 1 realloc_zero, 1 time_backwards'
    refused 3 'event 2' replay_once dirty.json -s arena
    refused 3 'event 2' replay_once dirty.json -s arena --strict
    json r.json sample:sqlite -s arena --repair
    is r.json 'r["trace"]["repairs"]' '{}'
}

@test "labels, and twins named by the options in which they differ" {
    json r.json sample:sqlite -s small=arena:arena_size=1MiB -s arena -s ARENA:refill_target=4KiB
    is r.json '[x["strategy"]["label"] for x in d["runs"]]' \
        "['small', 'arena:refill_target=32KiB', 'arena:refill_target=4KiB']"
    is r.json '{x["strategy"]["name"] for x in d["runs"]}' "{'arena'}"
    is r.json 'd["runs"][0]["strategy"]["options"]["arena_size"]' 1MiB
    is r.json 'd["runs"][2]["strategy"]["options"]["refill_target"]' 4KiB
    ok replay_once sample:sqlite -s small=arena:arena_size=1MiB -s arena
    matches "$out" '^  small  '
    matches "$out" '^  arena  '
    json r.json sample:sqlite -s arena -s arena
    is r.json 'len({x["strategy"]["label"] for x in d["runs"]})' 2
    json r.json sample:sqlite -s arena:ALIGNMENT=64,arena-size=1MiB
    is r.json '(r["strategy"]["options"]["alignment"], r["strategy"]["options"]["arena_size"])' "('64', '1MiB')"
}

@test "a limit is data: failed allocations, and exit 0" {
    json r.json sample:sqlite -s arena -s bump -s direct --source virtual+limit:capacity=256KiB
    is r.json '[x["failed_allocations"] > 0 and x["first_failed_event"] > 0 for x in d["runs"]]' '[True, True, True]'
    is r.json '[x["memory"]["peak_reserved_bytes"] <= 262144 for x in d["runs"]]' '[True, True, True]'
    is r.json '[x["memory"]["overhead"] for x in d["runs"]]' '[None, None, None]'
    is r.json 'r["skipped_operations"] > 0' True
    is r.json 'r["source"]["name"], r["source"]["wrappers"][0]["options"]["capacity"]' "('virtual+limit', '256KiB')"
    json s.json sample:sqlite -s arena --source host+limit:capacity=256KiB
    is s.json 'r["failed_allocations"]' "$(query r.json 'r["failed_allocations"]')"
    json s.json sample:sqlite -s arena --source virtual+limit:capacity=256KiB --on-oom stop
    is s.json 'r["failed_allocations"]' 1
    is s.json 'r["first_failed_event"]' "$(query r.json 'r["first_failed_event"]')"
    json s.json sample:sqlite -s arena --source virtual+limit:capacity=1GiB
    is s.json '(r["failed_allocations"], r["first_failed_event"])' '(0, None)'
    json s.json sample:sqlite -s direct --source virtual+fault:get_at=3
    is s.json 'r["failed_allocations"]' 1
}

@test "a virtual source has no driver's time in it, and says so" {
    json r.json sample:sqlite -s arena -s direct --source virtual
    is r.json '{(x["latency_scope"], x["touch"]) for x in d["runs"]}' "{('strategy', 'none')}"
    ok replay_once sample:sqlite -s arena --source virtual
    matches "$out" '^Strategy time '
    device_trace >gpu.json
    json r.json gpu.json
    is r.json '[x["strategy"]["name"] for x in d["runs"]]' "['arena', 'lru', 'stream-pool', 'bump', 'direct']"
    is r.json '{x["source"]["name"] for x in d["runs"]}' "{'virtual'}"
    is r.json 'r["trace"]["kind"], r["trace"]["streams"]' "('device', 2)"
}

@test "two devices have their own figures, and no common ones" {
    device_trace | sed 's/"id": 7, "device": 0/"id": 7, "device": 1/' >two.json
    json r.json two.json -s arena
    is r.json '[x["index"] for x in r["devices"]]' '[0, 1]'
    is r.json '[x["memory"]["trace_peak_requested_bytes"] for x in r["devices"]]' '[22001000, 3145728]'
    is r.json '"memory" in r or "driver_calls" in r' False
}

@test "every warning has a help topic, and appears where it applies" {
    warned() { query "$1" '" ".join(sorted({w["id"] for x in d["runs"] for w in x["warnings"]} - {"drift", "slow-build"}))'; }
    json r.json sample:sqlite -s arena -s direct
    [ "$(warned r.json)" = "page-per-block small-trace" ]
    json r.json sample:sqlite -s arena --touch none
    [ "$(warned r.json)" = "memory-not-touched small-trace" ]
    trace '{"op":"alloc","id":1,"size":200000000}' '{"op":"alloc","id":2,"size":64}' '{"op":"alloc","id":3,"size":64}' >x.json
    json r.json x.json -s arena --source virtual
    case $(warned r.json) in *synthetic-time*) ;; *) fail "no synthetic-time: $(warned r.json)" ;; esac
    device_trace >gpu.json
    json r.json gpu.json
    is r.json '" ".join(x["strategy"]["label"] for x in d["runs"] for w in x["warnings"] if w["id"] == "unsafe-reuse")' arena
    "$TAPOOL" help warnings | sed -n 's/^  \([a-z-]*\)  .*/\1/p' >ids
    for id in $(cat ids) $(warned r.json) page-per-block small-trace memory-not-touched drift slow-build; do
        grep -qx -- "$id" ids || fail "$id is not in 'tapool help warnings'"
        ok "$TAPOOL" help "$id"
        head -n 1 "$out" | grep -qx "warning $id"
        [ "$(wc -l <"$out")" -ge 3 ]
    done
    # the list is closed: each id in the source is in it
    sed -n '/^static const struct tp_warning /{n;s/^ *"\([a-z-]*\)",.*/\1/p}' "$TAPOOL_ROOT/cmd/results/warnings.c" | sort >in_source
    [ -s in_source ]
    sort ids | diff - in_source
}

@test "slow-build is said by every build that is not a release, and by no other" {
    json r.json sample:sqlite -s arena
    expected=True
    "$TAPOOL" --version | grep -q '(release,' && expected=False
    is r.json '"slow-build" in [w["id"] for w in r["warnings"]]' $expected
}

@test "--export-json holds the same as stdout, --json is --format json" {
    ok replay_once sample:sqlite -s arena --format json --export-json r.json
    cmp "$out" r.json
    ok replay_once sample:sqlite -s arena --json --export-json /dev/null
    is "$out" 'd["schema"]' tapool.result/2
}

@test "more threads than one are said to be replayed by one" {
    ok replay_once sample:python-threads -s arena
    matches "$out" '4 recorded threads replayed by 1: no lock contention in these times'
    ok replay_once sample:sqlite -s arena
    lacks "$out" 'recorded threads'
}

@test "system: what lies free in its heap at the start is held as well" {
    trace '{"op":"alloc","id":1,"size":4096}' '{"op":"alloc","id":2,"size":5000}' >small.json
    ok replay_once small.json -s system --json
    # a sanitizer's malloc keeps no statistics
    is "$out" '"address" in d["tool"]["build"] or "thread" in d["tool"]["build"] or r["memory"]["peak_reserved_bytes"] >= r["memory"]["peak_allocated_bytes"]' True
}
