#!/usr/bin/env bats
# tapool info: its screens to the letter, its figures against a count of their own, what it refuses.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

samples=(sqlite jq python-threads)

info() { "$TAPOOL" info "$@"; }

# A trace of everything that can be in one: phases, threads that end, alignments, references, a reset.
rich_trace() {
    cat <<'END'
{ "format": "tapool-trace", "version": 1, "meta": {"name": "rich", "kind": "host"},
  "events": [
    {"t": 0, "op": "mark", "name": "load"},
    {"t": 10, "op": "alloc", "id": 1, "size": 100, "thread": 4},
    {"t": 20, "op": "alloc", "id": 2, "size": 3000000, "align": 4096, "thread": 5},
    {"t": 30, "op": "retain", "id": 2},
    {"t": 40, "op": "free", "id": 2},
    {"t": 50, "op": "mark", "name": "query"},
    {"t": 60, "op": "realloc", "id": 1, "size": 900, "thread": 4},
    {"t": 70, "op": "realloc", "id": 1, "size": 300, "thread": 4},
    {"t": 80, "op": "realloc", "id": 1, "size": 300, "thread": 4},
    {"t": 90, "op": "thread_end", "thread": 4},
    {"t": 100, "op": "free", "id": 1, "thread": 4},
    {"t": 110, "op": "alloc", "id": 1, "size": 64, "thread": 4},
    {"t": 120, "op": "free", "id": 2, "thread": 4},
    {"t": 130, "op": "alloc", "id": 9, "size": 64, "thread": 4},
    {"t": 140, "op": "reset"},
    {"t": 150, "op": "mark", "name": "load"},
    {"t": 160, "op": "adopt", "id": 3, "size": 7, "thread": 5} ] }
END
}

@test "the screens of the samples, with --bytes, at 80 columns" {
    for sample in "${samples[@]}"; do
        fitting info "sample:$sample"
        ok tool fits 80 "$TAPOOL" info "sample:$sample"
        ok tool fits 80 "$TAPOOL" info "sample:$sample" --bytes
    done
    shown info-sqlite info sample:sqlite
    ok tool pty 80 "$TAPOOL" info sample:python-threads
    golden info-python-threads-80 <"$out"
}

@test "device traces: one device, two devices, more than are shown" {
    device_trace >gpu.json
    fitting info gpu.json
    sed 's/"id": 7, "device": 0/"id": 7, "device": 1/' <(device_trace) >two.json
    shown info-two-devices info two.json
    ok info two.json --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert "peak_requested_bytes" not in d and "curve" not in d, "byte values of two devices are not one"
assert [v["peak_requested_bytes"] for v in d["devices"]] == [22001000, 3145728], d["devices"]
assert d["devices"][1]["curve"] == [[2, 3145728], [5, 0]]
END
    {
        printf '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "streams": ['
        for i in $(seq 0 10); do printf '%s{"id": %d, "device": %d}' "${comma:-}" "$i" "$i" && comma=,; done
        printf '], "events": [{"op": "alloc", "id": 1, "size": 1000, "stream": 9}]}\n'
    } >many.json
    ok info many.json
    matches "$out" '^  device 0      no allocations$'
    matches "$out" '^  device 7 '
    matches "$out" '^  \.\.\.           3 devices more: --json$'
    lacks "$out" 'device 8'
}

@test "phases, remote frees, alignments, references, a reset" {
    rich_trace >rich.json
    shown info-rich info rich.json
    ok info rich.json --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["marks"] == {"count": 3, "distinct": 2, "names": ["load", "query"]}
# both frees: by a thread that came after the one that had its number, and by another
assert d["remote_frees"] == 2, d["remote_frees"]
assert d["peak_requested_mark"] == "query" and d["peak_requested_event"] == 7
assert d["reallocs"] == {"grow": 1, "shrink": 1, "same": 1}
assert d["alignment"] == {"usual_bytes": 16, "other_requests": 1, "highest_bytes": 4096}
assert d["freed_objects"] == 4 and d["outlive"] == {"objects": 1, "bytes": 7}
assert d["operations"]["retain"] == 1 and d["operations"]["release"] == 1 and d["operations"]["free"] == 2
assert d["lifetimes_events"]["max"] == 10 and d["lifetimes_ns"]["max"] == 100
END
}

# What ends a phase and begins none is no phase.
phases_that_end() {
    trace '{"t":0,"op":"mark","name":"load"}' '{"t":10,"op":"alloc","id":1,"size":100}' \
        '{"t":20,"op":"mark","name":"(none)"}' '{"t":30,"op":"alloc","id":2,"size":4096}' \
        '{"t":40,"op":"free","id":2}'
}

@test "events outside of all phases are in none, in every form" {
    phases_that_end >ends.json
    ok info ends.json
    matches "$out" '^  phases        1 mark, 1 name: load; 1 more mark ends a phase and begins none$'
    matches "$out" 'peak 4.098 KiB at event 4 \(\+30 ns\)$'
    lacks "$out" '\(none\)'
    ok info ends.json --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["marks"] == {"count": 1, "distinct": 1, "names": ["load"]}, d["marks"]
assert d["peak_requested_mark"] is None and d["operations"]["mark"] == 2
END
    ok replay_once ends.json -s arena -v
    matches "$out" '^      outside all phases  +1 '
    lacks "$out" '\(none\)'
    ok replay_once ends.json -s arena --json --export-perfetto ends.perfetto
    is "$out" '[p["name"] for p in r["memory"]["phases"]]' "[None, 'load', None]"
    lacks ends.perfetto '\(none\)'
    capture replay_once ends.json -s direct --capacity 4KiB --json
    is "$out" 'r["devices"][0]["first_failure"]["phase"]' None
    trace '{"op":"mark","name":"(none)"}' '{"op":"alloc","id":1,"size":100}' >only.json
    ok info only.json
    lacks "$out" 'phases|\(none\)'
}

# bats test_tags=nightly
@test "every figure agrees with a slow count of its own" {
    for sample in "${samples[@]}"; do
        ok info "sample:$sample" --json
        python3 "$CLI/info_agree.py" "$SAMPLES/$sample.json" "$out"
    done
    python3 - >long.json <<'END'
import json, random
random.seed(7)
live, events, t = [], [], 0
for n in range(30000):
    t += random.choice((0, 1, 50, 100000))
    thread = random.randrange(5)
    roll = random.random()
    if n == 20000:
        events.append({"t": t, "op": "reset"})
        live = []
    elif roll < .01:
        events.append({"t": t, "op": "mark", "name": "phase %d" % random.randrange(9)})
    elif roll < .02:
        events.append({"t": t, "op": "thread_end", "thread": thread})
    elif live and roll < .5:
        events.append({"t": t, "op": "free", "id": live.pop(random.randrange(len(live))), "thread": thread})
    elif live and roll < .6:
        events.append({"t": t, "op": "realloc", "id": random.choice(live), "size": random.randrange(1, 9000), "thread": thread})
    else:
        live.append(n)
        events.append({"t": t, "op": "alloc", "id": n, "size": int(random.paretovariate(.4)) % (1 << 22) + 1, "thread": thread})
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "long", "kind": "host"}, "events": events}))
END
    ok info long.json --json
    python3 "$CLI/info_agree.py" long.json "$out"
    sed 's/"host"/"device"/' long.json >device.json
    sed -i 's/, "thread": [0-9]*//' device.json
    sed -i 's/{"t": [0-9]*, "op": "thread_end"}, //g' device.json
    ok info device.json --json
    python3 "$CLI/info_agree.py" device.json "$out"
}

@test "the trace object is that of the replay result" {
    device_trace >gpu.json
    for trace in sample:sqlite sample:python-threads gpu.json; do
        ok replay_once "$trace" -s arena --json
        query "$out" 'json.dumps(r["trace"])' >"$SCRATCH/replayed"
        query "$out" 'json.dumps(d["tool"])' >>"$SCRATCH/replayed"
        ok info "$trace" --json
        python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(json.dumps(d["trace"]))
print(json.dumps(d["tool"]))' "$out" | diff "$SCRATCH/replayed" -
    done
}

@test "--json is --format json; the same as JSON Lines and through a pipe" {
    ok info sample:jq --json
    cp "$out" first
    ok info sample:jq --format json
    cmp first "$out"
    ok info sample:jq --format json --input-format json
    cmp first "$out"
    python3 - "$SAMPLES/jq.json" >jq.jsonl <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
events = d.pop("events")
print(json.dumps(d))
for e in events:
    print(json.dumps(e))
END
    ok info jq.jsonl
    matches "$out" "^jq.jsonl        *host trace, format jsonl \(tapool's own\), [0-9.]+ KiB, trace hash f41fb61a86f1$"
    capture info - <jq.jsonl
    [ "$rc" -eq 0 ]
    matches "$out" "^stdin           host trace, format jsonl \(tapool's own\), trace hash f41fb61a86f1$"
    matches "$out" '^Next: tapool replay -$'
}

@test "what the trace does not have is said, and no more" {
    ok info sample:python-threads
    lacks "$out" 'more than one thread'
    trace '{"op":"alloc","id":1,"size":10}' >none.json
    fitting info none.json
    matches "$out" '^  not recorded  times, frees$'
    ok info none.json --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["duration_ns"] is None and d["trace"]["unknown"] == ["time"]
assert d["peak_requested_time_ns"] is None and d["peak_requested_mark"] is None
assert set(d["lifetimes_events"].values()) == {None} and set(d["lifetimes_ns"].values()) == {None}
END
    trace '{"op":"alloc","id":1,"size":10,"t":5}' '{"op":"free","id":1}' >some.json
    ok info some.json
    matches "$out" 'not recorded  times of some events'
    matches "$out" '^ +event 1 +event 2$'
    LC_ALL=C ok info some.json
    matches "$out" ' 2 events from left to right, times are unknown; '
    trace '{"op":"mark","name":"a"}' '{"op":"sync"}' >empty.json
    fitting info empty.json
    matches "$out" '^Live memory     no allocations$'
    matches "$out" '^  phases        1 mark, 1 name: a$'
}

@test "the curve begins with all that was live before event 1, however many blocks that are" {
    for blocks in 3 9000; do
        { echo '{"format": "tapool-trace", "version": 1}'
          seq -f '{"op": "initial", "id": %.0f, "size": 64}' "$blocks"
          echo '{"op": "free", "id": 1}'; } >initial.jsonl
        ok info initial.jsonl --json
        [ "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["curve"])' <"$out")" = \
            "[[0, $((64 * blocks))], [1, $((64 * blocks - 64))]]" ] || fail "$(grep curve "$out")"
    done
}

@test "a free that was selected before a reset is not that of the next object" {
    cat >reset.jsonl <<'END'
{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "recorded": {"by": "PyTorch", "devices": [{"device": 0}]}}
{"t": 0, "op": "alloc", "id": 1, "size": 64}
{"t": 1, "op": "note", "name": "free_requested", "id": 1, "size": 64}
{"t": 2, "op": "reset"}
{"t": 3, "op": "alloc", "id": 1, "size": 64}
{"t": 900, "op": "free", "id": 1}
END
    ok info reset.jsonl
    matches "$out" '1 requested'
    [ "$(grep -c 'completed later' "$out")" = 0 ] || fail "a wait that was none:" "$(cat "$out")"
}

@test "repairs are counted, unless --strict" {
    trace '{"op":"free","id":9}' '{"op":"alloc","id":1,"size":10}' '{"op":"alloc","id":1,"size":20}' >dirty.json
    refused 3 "^tapool: dirty.json:3: event 1 frees id 9" info dirty.json
    refused 3 "^tapool: dirty.json:3: event 1 frees id 9" info dirty.json --strict
    ok info dirty.json --repair
    matches "$out" '^  repaired      1 unknown_free \(a free or use of a block that is not live: left out\)$'
    matches "$out" '^  repaired      1 double_alloc \(of a live block: the old one is freed first\)$'
}

@test "bad input: the words and the exit code of replay" {
    printf 'version https://git-lfs.github.com/spec/v1\n' >lfs.json
    printf 'nonsense' >nonsense.json
    printf '{ "format": "tapool-trace", "version": 1, "events": [' >cut.json
    : >empty.json
    mkdir folder
    alike() { # TRACE REGEX
        refused 3 "^tapool: $2$" replay_once "$1" -s arena
        cp "$err" "$SCRATCH/replay"
        refused 3 "^tapool: $2$" info "$1"
        diff "$SCRATCH/replay" "$err"
    }
    alike lfs.json 'lfs\.json is a Git LFS pointer \(43 bytes\), not the trace'
    alike nonsense.json 'nonsense\.json: not a trace format that tapool knows'
    alike cut.json 'cut\.json:1: the file ends inside event 1: truncated\?'
    alike empty.json 'empty\.json: empty file: no trace in it'
    alike folder 'folder is a directory'
    alike missing.json 'missing\.json: no such file'
    alike sample:none "unknown sample 'none'"
    alike sample:../x "unknown sample '\.\./x'"
}

@test "a wrong command line: exit 2" {
    refused 2 "^tapool: info needs a trace$" info
    matches "$err" '^hint: tapool info sample:sqlite'
    refused 2 "^tapool: --strict and --repair exclude each other$" info sample:sqlite --strict --repair
    refused 2 "^tapool: unknown option '--jsn'$" info sample:sqlite --jsn
    matches "$err" "^hint: did you mean '--json'"
    refused 2 "^tapool: unknown input format 'jsn'$" info sample:sqlite --input-format jsn
    refused 2 "^tapool: option 'format' is 'xml'" info sample:sqlite --format xml
}

@test "a full disk and a closed stdout: exit 4" {
    full() { "$@" >/dev/full; }
    closed() { "$@" >&-; }
    for format in text json; do
        refused 4 "^tapool: standard output could not be written" full "$TAPOOL" info sample:sqlite --format $format
        refused 4 "^tapool: standard output could not be written" closed "$TAPOOL" info sample:sqlite --format $format
    done
}

@test "hostile names reach neither the terminal nor the shell" {
    hostile=$'it\'s $(touch x) \x1b[31m.json'
    printf '{"format":"tapool-trace","version":1,"meta":{"program":"\\u001b[2J\\u202e","name":"\\u0007"},"events":[{"op":"mark","name":"\\u001b]0;x"},{"op":"alloc","id":1,"size":5}]}' >"$hostile"
    ok info "$hostile"
    harmless "$out"
    ok info "$hostile" --json
    harmless "$out"
    cp "$SAMPLES/jq.json" "a b'c.json"
    ok info "a b'c.json"
    next=$(sed -n 's/^Next: tapool replay //p' "$out")
    [ "$(eval "printf %s $next")" = "a b'c.json" ]
}

@test "a million events: memory stays that of the program" {
    awk 'BEGIN { print "{\"format\": \"tapool-trace\", \"version\": 1}"
        for (i = 1; i <= 500000; i++) {
            printf "{\"t\":%d,\"op\":\"alloc\",\"id\":%d,\"size\":%d}\n", 2 * i, i, i
            printf "{\"t\":%d,\"op\":\"free\",\"id\":%d}\n", 2 * i + 1, i } }' >big.jsonl
    sanitized || limit=64
    capture tool rss "${limit:-2000}" "$TAPOOL" info big.jsonl
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$out" 'more than 65,536 distinct sizes: too many'
    lacks "$out" 'most common'
}

# ---- two traces ----

events_of() { # COUNT SIZE
    lines
    for i in $(seq "$1"); do
        printf '{"op":"alloc","id":%d,"size":%d}\n{"op":"free","id":%d}\n' "$i" "$2" "$i"
    done
}

@test "two traces: figures beside each other, and what differs" {
    events_of 100 50 >a.jsonl
    events_of 103 60 >b.jsonl
    shown info-pair info a.jsonl b.jsonl
    fitting info sample:sqlite sample:jq
    matches "$out" '^  peak blocks +366 +6,450 +17\.6x$'
    ok info a.jsonl a.jsonl
    [ "$(grep -cE ' =$' "$out")" -ge 6 ]
    lacks "$out" ' (%|new|[0-9.]+x)$'
    ok info a.jsonl b.jsonl --bytes
    matches "$out" '^  peak requested +50 B +60 B +\+20\.0%$'
    device_trace >gpu.json # its rows of sizes are others
    ok info gpu.json a.jsonl
    harmless "$out"
    lacks "$out" '(<=|larger)'
    cp a.jsonl $'it\'s \x1b[31m.jsonl'
    ok info a.jsonl $'it\'s \x1b[31m.jsonl'
}

@test "two traces: --fail-on is a check of what a program allocates" {
    events_of 100 50 >a.jsonl
    events_of 103 60 >b.jsonl
    fails() { # EXPR
        capture info a.jsonl b.jsonl --fail-on "$1"
        [ "$rc" -eq 1 ] || fail "exit code $rc: $1"
        one_sentence "$err"
        matches "$out" '^  allocations ' # the table is there
    }
    fails 'allocations>+1%'
    matches "$err" '^tapool: allocations>\+1%: b\.jsonl has 103, a\.jsonl had 100$'
    fails 'peak_requested>+8'
    fails 'peak_requested>=60B'
    fails 'threads<2'
    for expr in 'allocations>+3%' 'allocations<+0' 'peak_requested>+10' 'left>0'; do
        ok info a.jsonl b.jsonl --fail-on "$expr"
    done
    capture info a.jsonl b.jsonl --fail-on 'left>0' --fail-on 'frees>102'
    [ "$rc" -eq 1 ]
    refused 2 "^tapool: unknown figure of a trace 'peak_reserved'$" info a.jsonl b.jsonl --fail-on 'peak_reserved>1'
    refused 2 "^tapool: 'oom' is nothing that --fail-on knows$" info a.jsonl b.jsonl --fail-on oom
    refused 2 "^tapool: --fail-on 'allocations>x': 'x' is not a number" info a.jsonl b.jsonl --fail-on 'allocations>x'
    refused 2 "^tapool: --fail-on compares a second trace with the first$" info a.jsonl --fail-on 'left>0'
    refused 3 "^tapool: a\.jsonl: byte 0: does not begin like a pickle" info a.jsonl b.jsonl a.jsonl
    refused 3 "^tapool: none\.jsonl: no such file$" info a.jsonl none.jsonl
    refused 3 "^tapool: none\.jsonl: no such file$" info none.jsonl a.jsonl
}

@test "who holds the memory: at an event, by what is asked for, and as stacks" {
    python3 "$CLI/oom_snapshot.py" fragmented >oom.pickle
    held() { # ARGS...
        ok info oom.pickle "$@"
        sed -n '/^Live memory at/,/^$/p; /^Lifetimes by/,/^$/p' "$out"
    }
    for what in '--at 9' '--at 9 --depth 2' '--by annotation' '--by size' '--at 12 --by age'; do
        # shellcheck disable=SC2086 # options
        held $what
    done >held
    golden info-held <held
    ok info oom.pickle --at 9 --format folded
    cp "$out" folded
    "$TAPOOL" why oom.pickle --at 9 --format folded | cmp - folded # whose sum is held to what is live
    ok info oom.pickle --at 9 --export-folded file
    diff folded file
    refused 2 "^tapool: 'file' exists" info oom.pickle --export-folded file
    refused 2 "^tapool: '--at 16': oom.pickle has 15 events$" info oom.pickle --at 16
    refused 2 "^tapool: --at takes one trace$" info oom.pickle oom.pickle --at 9
    refused 3 "^tapool: sqlite.json: live memory by site is not known" info sample:sqlite --depth 2
    refused 3 "^tapool: sqlite.json: live memory by site is not known" info sample:sqlite --export-folded other
    [ ! -e other ]
    ok "$TAPOOL" replay oom.pickle -s bump --by size --at 9
    matches "$out" 'Live memory at event 9: 48.4% in 32 MiB to 64 MiB, 48.4% in 16 MiB to 32 MiB'
    refused 2 "^tapool: '--at 16': oom.pickle has 15 events$" "$TAPOOL" replay oom.pickle -s bump --at 16
}

@test "lifetimes by allocation site: a leak only grows, a cache does not" {
    python3 - >made.jsonl <<'END'
print('{"format": "tapool-trace", "version": 1}')
def alloc(number, size, place):
    print('{"op": "alloc", "id": %d, "size": %d, "place": "%s"}' % (number, size, place))
for n in range(8):
    alloc(n, 1000 - n, "a_long_name_of_a_source_file_%d.c:%d a_long_name_of_its_function" % (n, n))
for n in range(100):
    alloc(100 + n, 100, "leak.c:1 leak")
    if n < 40:
        alloc(200 + n, 10, "cache.c:2 fill")
    alloc(300, 5, "temporary.c:3 join")
    print('{"op": "free", "id": 300}')
END
    ok info made.jsonl --by line --at 348
    [ "$(grep -c 'only grows' "$out")" = 1 ]
    matches "$out" '^  149 events +100 +100 +9\.766 KiB +339 events  leak\.c:1 leak; only grows$'
    matches "$out" '^  343 events +1 +1 +996 B +343 events  a_long_name.*\.\.\.$'
    matches "$out" '^ +3 rows more: --json$'
    ok info made.jsonl
    lacks "$out" 'Lifetimes by'
    ok info made.jsonl --json
    python3 - "$out" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["site_lifetimes"]["rows"]
assert len(rows) == 11 and [row["name"] for row in rows if row["only_grows"]] == ["leak.c:1 leak"], rows
assert rows[-1]["name"] == "temporary.c:3 join" and rows[-1]["live_blocks"] <= 1, rows[-1]
END
}

@test "live memory by allocation site over time adds up to what is requested" {
    ok info "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
curve, sites = d["site_curve"], [row["place"] for row in d["peak_sites"]["places"]]
assert curve["places"] == sites[:len(curve["places"])] and len(sites) > 2, curve["places"]
requested = {(event, size) for event, size in d["curve"]}
points = {(event, sum(sizes)) for event, *sizes in curve["points"]}
assert len(points) > 100 and points <= requested, sorted(points - requested)[:5]
assert max(size for _, size in points) == d["peak_requested_bytes"]
END
}

@test "a locale without UTF-8: the curve is a line of blocks, as wide at 80 columns as at 100" {
    LC_ALL=C ok info sample:jq
    matches "$out" '^  692\.8 KiB +▁+▂▃▅▆▇█+$'
    matches "$out" '^  0 B +19\.11 ms from left to right; the highest of each column$'
    LC_ALL=C ok replay_once sample:jq -s arena -v
    lacks "$out" 'memory over time'
    LC_ALL=en_US.utf8 ok info sample:jq
    lacks "$out" '▁'
}
