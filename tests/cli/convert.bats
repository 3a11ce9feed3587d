#!/usr/bin/env bats
# tapool convert: nothing is lost between the own formats, pieces of a trace, damaged and cut .tpt files,
# output that cannot be written.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

convert() { "$TAPOOL" convert "$@"; }
info() { "$TAPOOL" info "$@"; }

# told TRACE...: what info says of it, without what differs between two files of one trace.
told() {
    ok info "$@" --json || return 1
    grep -vE '"(path|format|file_bytes)":' "$out"
}

# alike ONE OTHER [OPTION]...: info says the same of both.
alike() {
    local one=$1 other=$2
    shift 2
    told "$one" "$@" >"$SCRATCH/one" || return 1
    told "$other" "$@" >"$SCRATCH/other" || return 1
    diff "$SCRATCH/one" "$SCRATCH/other" >&2 || fail "info differs: $one, $other"
}

hash_of() {
    ok info "$1" --json || return 1
    sed -n 's/.*"program_hash":[^0-9a-f]*\([0-9a-f]*\).*/\1/p' "$out"
}

# A trace of several blocks of 65,536 events each.
long_trace() {
    ok "$TAPOOL" gen batch --count 100000 -o long.jsonl || return 1
    ok convert long.jsonl -o "$1"
}

# ---- nothing is lost ----

@test "there and back through every form: hash, marks, notes, what the trace says of itself" {
    captured_trace >rich.json
    for trace in sample:sqlite sample:jq sample:python-threads rich.json; do
        rm -f a.*
        ok convert "$trace" -o a.tpt
        ok convert a.tpt -o a.json
        ok convert a.json -o a.jsonl
        ok convert a.jsonl -o a.again.tpt
        for form in a.tpt a.json a.jsonl a.again.tpt; do
            alike "$trace" "$form"
        done
        cmp a.tpt a.again.tpt
        [ "$trace" = rich.json ] || [ "$(wc -c <a.tpt)" -lt $(($(wc -c <a.jsonl) / 4)) ]
    done
}

@test "where one place stands for many, it does so in every form; the rest is named as not known" {
    {
        echo '{"format":"tapool-trace","version":1,"meta":{"sampled":{"below":1000,"one_in":10}}}'
        echo '{"op":"alloc","id":1,"size":100,"place":"a.c:1 a"}'
        for id in 2 3 4 5; do echo "{\"op\":\"alloc\",\"id\":$id,\"size\":100}"; done
        echo '{"op":"alloc","id":6,"size":500}'
    } >part.jsonl
    ok convert part.jsonl -o part.tpt
    ok convert part.tpt -o part.json
    lacks "$out" callers
    for form in part.jsonl part.tpt part.json; do
        alike part.jsonl "$form"
        ok info "$form" --json
        is "$out" 'd["peak_sites"]["estimated"]' True
        is "$out" 'd["peak_sites"]["places"][0]["bytes"]' 500
        ok replay_once "$form" -s system
        matches "$out" 'Live memory at the peak, estimated: 50\.0% by a\.c:1 a, 50\.0% not known$'
    done
    refused 3 "meta.*'one_in' is" "$TAPOOL" info /dev/stdin \
        <<<'{"format":"tapool-trace","version":1,"meta":{"sampled":{"below":1000,"one_in":-3}}}'
}

@test "a use is of a stream, also where there is only one: what is written can be read" {
    printf '%s\n' '{"format":"tapool-trace","version":1,"meta":{"kind":"device"}}' \
        '{"op":"alloc","id":1,"size":64}' '{"op":"use","id":1,"stream":0}' '{"op":"free","id":1}' >one.jsonl
    ok convert one.jsonl -o again.jsonl
    [ "$(hash_of again.jsonl)" = "$(hash_of one.jsonl)" ]
}

@test "what the round trip is about is in the trace to begin with" {
    captured_trace >rich.json
    ok convert rich.json -o rich.tpt
    ok info rich.tpt --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
t = d["trace"]
assert t["format"] == "tpt" and t["name"] == "rich" and d["program"] == "two streams, by hand", t
assert t["capture"] == "a snapshot" and t["settings"] == "as they come" and t["wrapped"] is True
assert t["space"] == "GPU" and t["left_out"] == "CPU (3 events, 4 KiB)"
assert t["remarks"] == ["It was cold.", "And wet."] and t["unknown"] == ["threads", "alignment"]
assert t["initial_heap"] == {"objects": 2, "bytes": 4608, "dropped_objects": 0}
assert d["marks"]["names"] == ["step é \"1\"", "much later"]
a, b = d["recorded"]["devices"]
assert d["recorded"]["by"] == "PyTorch" and (a["number"], b["number"]) == (0, 3)
assert a["start_reserved_bytes"] == 2097152 and a["peak_reserved_bytes"] == 4194304
assert a["segments_taken"] == 1 and a["out_of_memory"] == 1 and a["end_segments"] == 2
assert d["operations"]["note"] == 4 and d["duration_ns"] == 5000000000002
END
}

@test "a trace that is made, several blocks, and the binary form replayed" {
    long_trace long.tpt
    alike long.jsonl long.tpt
    ok replay_once long.jsonl -s arena -s direct --source virtual --json
    sed 's/"long.jsonl"/"long"/' "$out" >r.json
    python3 "$CLI/class_e.py" r.json | grep -v '\.trace\.format ' >expected
    ok replay_once long.tpt -s arena -s direct --source virtual --json
    python3 "$CLI/class_e.py" "$out" | grep -v '\.trace\.format ' | diff expected -
}

@test "replay of a .tpt: the exact figures are those of the JSON, in this process and in a child" {
    for sample in sqlite python-threads; do
        ok convert "sample:$sample" -o "$sample.tpt"
        for source in host virtual; do
            ok replay_once "sample:$sample" -s arena -s bump --source $source --json
            python3 "$CLI/class_e.py" "$out" | grep -v '\.trace\.format ' >expected
            ok replay_once "$sample.tpt" -s arena -s bump --source $source --json
            python3 "$CLI/class_e.py" "$out" | grep -v '\.trace\.format ' | diff expected -
        done
        # libc's heap is its own: what the child was asked for is the same
        for trace in "sample:$sample" "$sample.tpt"; do
            ok replay_once "$trace" -s system --json
            query "$out" 'json.dumps([r["trace"]["program_hash"], r["memory"]["peak_requested_bytes"],
                r["memory"]["peak_requested_event"], r["failed_allocations"],
                {k: v["count"] for k, v in r["latency"].items()}])' >>system
        done
        [ "$(sort -u system | wc -l)" -eq 1 ] || fail "$(cat system)"
        rm system
    done
    captured_trace >rich.json
    ok convert rich.json -o rich.tpt
    ok replay_once rich.json --json
    python3 "$CLI/class_e.py" "$out" | grep -v '\.trace\.format ' >expected
    [ -s expected ]
    ok replay_once rich.tpt --json
    python3 "$CLI/class_e.py" "$out" | grep -v '\.trace\.format ' | diff expected -
}

# bats test_tags=nightly
@test "a real allocator holds the same from every form: reading the trace is not in its heap" {
    local held='{k: v for k, v in r["memory"].items() if k.endswith("_bytes")}, r["memory"]["curve"]'
    for sample in sqlite jq python-threads; do
        ok convert "sample:$sample" -o "$sample.json"
        ok convert "sample:$sample" -o "$sample.tpt"
        ok convert "sample:$sample" -o "$sample-packed.tpt" --compress
        ok replay_once "$sample.json" -s system --json
        figures=$(query "$out" "$held")
        for form in .tpt -packed.tpt; do
            ok replay_once "$sample$form" -s system --json
            is "$out" "$held" "$figures"
        done
    done
}

@test "a plan of buffers of the second GPU of a snapshot" {
    python3 - >two.pickle <<'END'
import pickle, sys
def trace(size):
    return [{"action": "alloc", "addr": 512, "size": size, "stream": 0, "time_us": 5}]
sys.stdout.buffer.write(pickle.dumps({"segments": [], "device_traces": [trace(8), [], trace(9)]}, 4))
END
    ok convert two.pickle --device 2 -o two.csv
    [ "$(cat two.csv)" = $'id,lower,upper,size\n0,1,2,9' ] || fail "$(cat two.csv)"
    ok convert two.pickle -o two.tpt # which has no numbers of the file, and asks for one of its own
    ok convert two.tpt --device 1 -o second.csv
    [ "$(tail -n 1 second.csv)" = 0,2,3,9 ] || fail "$(cat second.csv)"
}

@test "what the recorded allocator held at the end is not said of a part of a trace" {
    local snapshot=$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle
    ok convert "$snapshot" -o whole.tpt
    ok convert "$snapshot" --limit 50 -o part.tpt
    for whole in "$snapshot" whole.tpt; do
        ok info "$whole" --json
        matches "$out" '"end_segments":[^0-9]*9,'
        ok info "$whole" --limit 97 --json
        matches "$out" '"end_segments":[^0-9]*9,'
    done
    for part in "$snapshot" whole.tpt part.tpt; do
        ok info "$part" --limit 50 --json
        matches "$out" '"events":[^0-9]*50,'
        matches "$out" '"start_reserved_bytes":[^0-9]*0,'
        matches "$out" '"end_segments":[^0-9]*null,'
        matches "$out" '"end_free_bytes":[^0-9]*null,'
    done
    python3 - >long.jsonl <<'END'
print('{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}, "recorded": {"by": "x", '
      '"has_end": true, "devices": [{"device": 0, "end_segments": 7}]}}')
for i in range(70000):
    print('{"op": "alloc", "id": 1, "size": 64}\n{"op": "free", "id": 1}')
END
    ok convert long.jsonl -o long.tpt
    ok info long.tpt --json
    matches "$out" '"end_segments":[^0-9]*7,'
    head -c $(($(wc -c <long.tpt) * 9 / 10)) long.tpt >cut.tpt
    ok info cut.tpt --json
    matches "$out" '"end_segments":[^0-9]*null,'
}

@test "--limit, --initial-heap=drop and --verify on a .tpt" {
    captured_trace >rich.json
    ok convert rich.json -o rich.tpt
    ok convert sample:sqlite -o sqlite.tpt
    alike rich.json rich.tpt --limit 5
    alike rich.json rich.tpt --initial-heap=drop
    alike rich.json rich.tpt --initial-heap=drop --limit 9
    alike sample:sqlite sqlite.tpt --limit 1
    alike sample:sqlite sqlite.tpt --limit 1000
    alike sample:sqlite sqlite.tpt --limit 100000
    ok info rich.tpt --initial-heap=drop
    matches "$out" '^  2 blocks that were live before event 1 are left out, with all their events'
    ok info sqlite.tpt --limit 1000 --json
    matches "$out" '"cut":.*true'
    matches "$out" '"events":[^0-9]*1000,'
    ok replay_once sqlite.tpt -s arena --limit 1000
    matches "$out" 'the first 1,000 events'
    ok replay_once rich.tpt -s arena --initial-heap=drop --verify
    matches "$out" '^initial heap  *left out: 2 blocks that were live before the first event'
}

@test "repairs are made once and stay counted" {
    trace '{"op":"free","id":9}' '{"op":"alloc","id":1,"size":10}' '{"op":"alloc","id":1,"size":20}' \
        '{"op":"realloc","id":5,"size":3}' >dirty.json
    refused 3 "^tapool: dirty\.json:3: event 1 frees id 9" convert dirty.json -o x.tpt
    [ ! -e x.tpt ]
    ok convert dirty.json --repair -o x.tpt
    alike dirty.json x.tpt --repair
    ok info x.tpt
    for repair in unknown_free double_alloc realloc_unknown; do
        matches "$out" "^  repaired      1 $repair \("
    done
    ok replay_once x.tpt -s arena --strict
    matches "$out" 'repaired: 1 unknown_free, 1 double_alloc, 1 realloc_unknown'
    ok convert x.tpt -o y.tpt
    cmp x.tpt y.tpt
}

# ---- what is chosen ----

# bats test_tags=nightly
@test "--from A:B, :B and A:: those events, and what was live at A is the initial heap" {
    ok convert sample:sqlite -o whole.tpt
    whole=$(hash_of whole.tpt)
    for piece in 1:6170 1: :6170 :999999 :; do
        ok convert whole.tpt -o piece.tpt -f --from "$piece"
        [ "$(hash_of piece.tpt)" = "$whole" ] || fail "--from $piece is another program"
    done
    for form in tpt json jsonl; do
        for piece in 100:200 6100: :50 3000:3000; do
            rm -f piece.*
            ok convert whole.tpt -o piece.$form --from "$piece"
            ok info piece.$form --json
            python3 - "$SAMPLES/sqlite.json" "$out" "$piece" <<'END'
import json, sys
events = json.load(open(sys.argv[1]))["events"]
d = json.load(open(sys.argv[2]))
first, last = sys.argv[3].split(":")
first, last = int(first or 1), int(last or len(events))
live, ops, end = {}, {}, None
def replay(e):
    if e["op"] in ("alloc", "realloc"):
        live[e["id"]] = e["size"]
    elif e["op"] in ("free", "release"):
        del live[e["id"]]
for e in events[:first - 1]:
    replay(e)
before = (len(live), sum(live.values()))
peak = sum(live.values())
for e in events[first - 1:last]:
    replay(e)
    ops[e["op"]] = ops.get(e["op"], 0) + 1
    peak = max(peak, sum(live.values()))
initial = d["trace"].get("initial_heap", {"objects": 0, "bytes": 0})
assert (initial["objects"], initial["bytes"]) == before, (initial, before)
assert d["trace"]["events"] == last - first + 1, d["trace"]["events"]
assert {k: v for k, v in d["operations"].items() if v} == ops, (d["operations"], ops)
assert d["peak_requested_bytes"] == peak, (d["peak_requested_bytes"], peak)
assert (d["live_at_end"], d["live_at_end_bytes"]) == (len(live), sum(live.values()))
assert d["duration_ns"] == events[last - 1]["t"] - events[first - 1]["t"], d["duration_ns"]
assert any("events %s to %s of 6,170 of whole.tpt" % (format(first, ","), format(last, ",")) == r
           for r in d["trace"]["remarks"]), d["trace"]["remarks"]
END
        done
    done
    # a piece of a piece
    ok convert whole.tpt -o a.tpt --from 1000:3000
    ok convert a.tpt -o b.tpt --from 11:20
    ok convert whole.tpt -o c.tpt --from 1010:1019
    [ "$(hash_of b.tpt)" = "$(hash_of c.tpt)" ]
    ok replay_once b.tpt -s arena --verify
}

# bats test_tags=nightly
@test "a piece of a trace with devices, references and notes" {
    captured_trace >rich.json
    ok convert rich.json -o rich.tpt
    ok convert rich.json -o all.tpt --from 1:
    [ "$(hash_of all.tpt)" = "$(hash_of rich.tpt)" ]
    for from in $(seq 1 19); do
        for trace in rich.json rich.tpt; do
            ok convert "$trace" -o "$trace.piece.jsonl" -f --from "$from:"
        done
        [ "$(hash_of rich.json.piece.jsonl)" = "$(hash_of rich.tpt.piece.jsonl)" ]
    done
    ok info all.tpt --json
    lacks "$out" '"recorded"' # its figures are those of the whole
    matches "$out" 'It was cold'
}

@test "--strip leaves sizes and times" {
    captured_trace >rich.json
    for form in tpt json jsonl; do
        ok convert rich.json -o "bare.$form" --strip
        for word in step later hand PyTorch snapshot cold rich; do
            not grep -qa "$word" "bare.$form"
        done
        ok info "bare.$form" --json
        python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
t = d["trace"]
assert t["name"] == "bare" and t["kind"] == "device" and d["program"] is None
assert d["marks"]["count"] == 0 and d["operations"]["note"] == 0 and "recorded" not in d
assert not {"capture", "settings", "space", "left_out", "remarks", "wrapped"} & set(t), t
assert t["initial_heap"]["objects"] == 2
assert d["operations"]["alloc"] == 4, d["operations"] # the request that failed is one, its note is gone
assert d["devices"][0]["peak_requested_bytes"] == 20972032, d["devices"][0]
END
    done
    ok convert sample:sqlite -o bare.sqlite.tpt --strip
    [ "$(hash_of bare.sqlite.tpt)" = "$(hash_of sample:sqlite)" ] # it has no marks
}

@test "--compress: smaller, the same program, read back" {
    long_trace long.tpt
    ok convert long.jsonl -o packed.tpt --compress
    [ "$(wc -c <packed.tpt)" -lt $(($(wc -c <long.tpt) * 3 / 4)) ]
    alike long.tpt packed.tpt
    ok replay_once packed.tpt -s arena -s system
    ok convert packed.tpt -o again.tpt
    cmp long.tpt again.tpt
    # where packing saves nothing nothing is packed
    ok convert sample:jq -o jq.tpt --compress
    alike sample:jq jq.tpt
}

@test "-o -, --output-format, suffixes in capitals" {
    ok convert sample:jq -o -
    cp "$out" jq.lines
    alike sample:jq jq.lines
    [ "$(wc -l <jq.lines)" -gt 1000 ]
    for form in tpt json jsonl; do
        capture convert sample:jq -o - --output-format $form
        [ "$rc" -eq 0 ]
        cp "$out" "stdout.$form"
        ok convert sample:jq -o "file.$form"
        cmp "stdout.$form" "file.$form"
        ok convert sample:jq -o plain -f --output-format $form
        cmp plain "file.$form"
        ok info plain --json
        matches "$out" "\"format\":[^a-z]*\"$form\""
    done
    ok convert sample:jq -o JQ.TPT
    cmp JQ.TPT file.tpt
    ok convert sample:jq -o lying.json --output-format TPT
    cmp lying.json file.tpt
    ok convert - -o from-pipe.jsonl < <(cat file.tpt)
    cmp from-pipe.jsonl file.jsonl
}

@test "what it says when it is done" {
    ok convert sample:sqlite -o s.tpt
    matches "$out" '^s\.tpt: 6,170 events, [0-9.]+ KiB, [0-9.]+ bytes an event$'
    matches "$out" '^Next: tapool replay s\.tpt$'
    ok convert s.tpt -o "a b's.tpt"
    matches "$out" "^Next: tapool replay 'a b'\\\\''s\.tpt'$"
    ok convert sample:sqlite -o one.tpt --from 7:7
    matches "$out" '^one\.tpt: 1 event, '
    [ "$(wc -l <"$out")" -eq 2 ]
    ok tool fits 80 "$TAPOOL" convert --help
}

# ---- command lines that are refused ----

# bats test_tags=nightly
@test "usage: exit 2, one sentence, no file" {
    refused 2 "^tapool: convert takes one trace$" convert
    refused 2 "^tapool: convert takes one trace$" convert sample:jq sample:sqlite -o x.tpt
    refused 2 "^tapool: convert needs a file to write$" convert sample:jq
    matches "$err" "^hint: tapool convert sample:jq -o NAME\.tpt; '-o -' is standard output$"
    for name in x x.xml x.tpt.bak tpt ''; do
        refused 2 "^tapool: '$name' does not say in which form$" convert sample:jq -o "$name"
        matches "$err" "^hint: names end in \.tpt, \.json, \.jsonl.*; --output-format decides otherwise$"
    done
    refused 2 "^tapool: --compress is for \.tpt, not for \.json$" convert sample:jq -o x.json --compress
    matches "$err" "^hint: zstd or gzip pack any file"
    refused 2 "^tapool: unknown output format 'xml'$" convert sample:jq -o x.tpt --output-format xml
    matches "$err" "^hint: there are: tpt, json, jsonl"
    for piece in x 5 0:5 5:0 0: a:b 1:2:3 -1: 1.5: ' 1:' 1:0x9 ''; do
        refused 2 "^tapool: --from is '.*', not A:B$" convert sample:jq -o x.tpt "--from=$piece"
        matches "$err" "^hint: events are counted from 1: "
    done
    refused 2 "^tapool: --from 10:5 ends before it begins$" convert sample:jq -o x.tpt --from 10:5
    refused 2 "^tapool: --from begins at event 6,171: there are only 6,170$" convert sample:sqlite -o x.tpt --from 6171:
    refused 2 "^tapool: --from begins at event [0-9,]+: there are only 6,170$" \
        convert sample:sqlite -o x.tpt --from 99999999999999999999:
    refused 2 "^tapool: --strict and --repair exclude each other$" convert sample:jq -o x.tpt --strict --repair
    refused 2 "^tapool: unknown input format 'tpd'$" convert sample:jq -o x.tpt --input-format tpd
    matches "$err" "^hint: did you mean 'tpt'"
    refused 3 "^tapool: none\.tpt: no such file$" convert none.tpt -o x.tpt
    [ -z "$(ls -A)" ]
}

# ---- output; that it cannot be written is in errors.bats ----

@test "onto itself" {
    ok convert sample:jq -o x.tpt
    ok convert x.tpt -o x.tpt -f
    alike sample:jq x.tpt
}

# bats test_tags=nightly
@test "ended by a signal while it writes: nothing left behind" {
    ok convert sample:web -o "$SCRATCH/web.tpt"
    for signal in INT TERM KILL; do
        for form in json tpt; do
            # a background job of a shell ignores SIGINT: env sets it back
            env --default-signal=INT "$TAPOOL" convert "$SCRATCH/web.tpt" -o x.$form \
                >"$SCRATCH/stdout" 2>"$SCRATCH/stderr" &
            pid=$!
            writes_in "$pid" "$PWD"
            [ -z "$(ls -A)" ] || fail "there before it is whole: $(ls -A)"
            kill -s "$signal" "$pid"
            rc=0
            wait "$pid" || rc=$?
            [ -z "$(ls -A)" ] || fail "left behind on $signal: $(ls -A)"
            [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal"
        done
    done
}

# ---- .tpt files that are cut or damaged ----

# Every cut and every bit are in tests/unit/traces/test_tpt_damage.c.
@test "a .tpt that is cut is read up to its last whole block, and says what was lost" {
    long_trace whole.tpt
    head -c $(($(wc -c <whole.tpt) / 2)) whole.tpt >cut.tpt
    ok info cut.tpt --json
    events=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["trace"]["events"])' "$out")
    [ $((events % 65536)) -eq 0 ]
    matches "$out" '"cut at byte [0-9,]+: the last [0-9]{2,3},[0-9]{3} of 200,000 events are missing"'
    refused 3 "^tapool: cut\.tpt: cut at byte [0-9,]+: the last [0-9,]+ of 200,000 events are missing$" info cut.tpt --strict
    matches "$err" '^hint: leave out --strict to replay the part that is there$'
    # it is the same program as so many events of the whole
    ok convert whole.tpt -o first.tpt --from ":$events"
    [ "$(hash_of first.tpt)" = "$(hash_of cut.tpt)" ]
    ok replay_once cut.tpt -s arena -s system
    matches "$out" '^note  *cut at byte '
    ok convert cut.tpt -o saved.tpt
    ok info saved.tpt --strict
    matches "$out" 'cut at byte' # what was lost stays lost
    head -c 40 whole.tpt >cut.tpt
    refused 3 "^tapool: cut\.tpt: cut at byte 40, before its first event$" info cut.tpt
    refused 3 "^tapool: stdin: cut at byte 40, before its first event$" info - <cut.tpt
    head -c 7 whole.tpt >cut.tpt
    refused 3 "^tapool: cut\.tpt: not a trace format that tapool knows$" info cut.tpt
}

@test "a .tpt that is damaged is refused by every command, with file, block and byte" {
    ok convert sample:sqlite -o whole.tpt
    for at in 20 10000; do
        python3 - "$at" <<'END'
import sys
d = bytearray(open("whole.tpt", "rb").read())
d[int(sys.argv[1])] ^= 4
open("bad.tpt", "wb").write(d)
END
        refused 3 "^tapool: bad\.tpt: (block [0-9]+ \(byte [0-9,]+\)|the header \(byte 0\)) is damaged" info bad.tpt
        refused 3 "^tapool: bad\.tpt: .* is damaged" replay_once bad.tpt -s arena
        refused 3 "^tapool: bad\.tpt: .* is damaged" replay_once bad.tpt -s system
        refused 3 "^tapool: stdin: .* is damaged" info - <bad.tpt
        refused 3 "^tapool: bad\.tpt: .* is damaged" convert bad.tpt -o x.json
    done
    [ ! -e x.json ]
    { cat whole.tpt; echo more; } >more.tpt
    refused 3 "^tapool: more\.tpt: something follows the end of the trace \(byte $(wc -c <whole.tpt)\)$" info more.tpt
    tr '\r' '\n' <whole.tpt >text.tpt # what a transfer as text does
    refused 3 "^tapool: text\.tpt: not a trace format that tapool knows$" info text.tpt
    refused 3 "^tapool: text\.tpt: this is not a \.tpt file$" info text.tpt --input-format tpt
}

# bats test_tags=nightly
@test "a .tpt through a pipe, packed, and under another name" {
    ok convert sample:sqlite -o s.tpt
    told sample:sqlite >expected
    for file in "" .gz .zst; do
        case $file in
        .gz) command -v gzip >/dev/null || continue && gzip -q -c s.tpt >s.tpt.gz ;;
        .zst) command -v zstd >/dev/null || continue && zstd -q -c s.tpt >s.tpt.zst ;;
        esac
        told "s.tpt$file" | diff expected -
        told - <"s.tpt$file" | diff expected -
        told <(cat "s.tpt$file") | diff expected -
        # shellcheck disable=SC2002 # a pipe is what this is about
        cat "s.tpt$file" | told - | diff expected -
        ok replay_once - -s arena -s system <"s.tpt$file"
        cp "s.tpt$file" anything
        told anything | diff expected -
    done
}

# All that the screens say, but for the first line of info, which names the format, times and warnings about them.
says() {
    (cd "$1" && "$TAPOOL" info trace | tail -n +2 && "$TAPOOL" replay trace -s direct -s b=direct --min-time 1ms | sed '/^! /,$d')
}

# bats test_tags=nightly
@test "a snapshot says the same as .tpt and as JSON: places, repairs, numbers of events" {
    mkdir -p pickle tpt json jsonl
    seen=0
    for file in "$TAPOOL_ROOT"/tests/data/pytorch/*.pickle* "$TAPOOL_SHARED"/corpus/pytorch/*.pickle*; do
        [ -f "$file" ] || continue
        if [ "${file%.gz}" != "$file" ]; then gzip -dc "$file" >pickle/trace; else cp "$file" pickle/trace; fi
        "$TAPOOL" convert pickle/trace -o - >trace 2>&1 || continue # a state
        seen=$((seen + 1))
        says pickle >expected
        for form in tpt json jsonl; do
            ok "$TAPOOL" convert pickle/trace -o "$form/trace" --output-format "$form" -f
            says "$form" >got
            diff expected got >&2 || fail "$form of $file"
            [ "$(hash_of "$form/trace")" = "$(hash_of pickle/trace)" ]
        done
        cmp <("$TAPOOL" convert tpt/trace -o - --output-format jsonl) jsonl/trace
        ok "$TAPOOL" convert jsonl/trace -o again.tpt -f
        cmp <("$TAPOOL" convert again.tpt -o -) jsonl/trace
    done
    [ $seen -ge 5 ]
    grep -q 'optimizer.py:[0-9]* step' expected # the last one has stacks
    ok "$TAPOOL" convert tpt/trace -o bare.jsonl --strip
    not grep -q place bare.jsonl
}

@test "a piece keeps the places of its events" {
    cp "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" whole.pickle
    ok "$TAPOOL" convert whole.pickle -o whole.jsonl
    ok "$TAPOOL" convert whole.pickle -o piece.jsonl --from 5:30
    places() { sed -n 's/.*"op": "\([a-z_]*\)".*"place": \("[^"]*"\).*/\1 \2/p' "$1"; }
    [ "$(grep -c '"place"' piece.jsonl)" = 26 ]
    diff <(places whole.jsonl | sed -n 5,30p) <(places piece.jsonl)
    ok "$TAPOOL" convert piece.jsonl -o piece.tpt
    cmp piece.jsonl <("$TAPOOL" convert piece.tpt -o -)
}

@test "repairs are counted in every form" {
    {
        echo 'Thread,Time,Action,Pointer,Size,Stream'
        echo '1,12:34:56.000001,allocate,0x10,1024,0x0'
        echo '1,12:34:56.000002,allocate,0x10,2048,0x0'
        echo '1,12:34:56.000003,free,0x99,1,0x0'
    } >dirty.csv
    ok "$TAPOOL" info dirty.csv
    grep repaired "$out" >expected
    [ -s expected ]
    for form in tpt json jsonl; do
        ok "$TAPOOL" convert dirty.csv -o "dirty.$form"
        ok "$TAPOOL" info "dirty.$form"
        diff expected <(grep repaired "$out")
    done
    ok "$TAPOOL" convert dirty.json -o twice.tpt # not counted once more
    ok "$TAPOOL" info twice.tpt
    diff expected <(grep repaired "$out")
}
