#!/usr/bin/env bats
# Every format that can be read, seen from the command line: a small specimen of each is detected, looked at,
# replayed and converted; dirty ones are repaired with a count or refused; what is none is refused by name.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data
SEEDS=$TAPOOL_ROOT/tests/fuzz/corpus

info() { "$TAPOOL" info "$@"; }
convert() { "$TAPOOL" convert "$@"; }

# What `tapool help formats` lists as read.
formats() { "$TAPOOL" help formats | sed -n '/^read/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p'; }

kineto_trace() {
    cat <<'END'
{ "schemaVersion": 1, "traceName": "k",
  "traceEvents": [
  { "ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 100, "args": {"name": "python"} },
  { "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 100,
    "args": { "Total Reserved": 2097152, "Total Allocated": 512, "Bytes": 512, "Addr": 139833534054400, "Device Id": 0, "Device Type": 1 } },
  { "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9, "ts": 101, "dur": 3, "args": {} },
  { "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 110,
    "args": { "Total Reserved": 2097152, "Total Allocated": 2560, "Bytes": 2048, "Addr": 139833534054912, "Device Id": 0, "Device Type": 1 } },
  { "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 120,
    "args": { "Total Reserved": 2097152, "Total Allocated": 2048, "Bytes": -512, "Addr": 139833534054400, "Device Id": 0, "Device Type": 1 } },
  { "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 130,
    "args": { "Total Reserved": 2097152, "Total Allocated": 0, "Bytes": -2048, "Addr": 139833534054912, "Device Id": 0, "Device Type": 1 } }
  ] }
END
}

# specimen FORMAT: one that its reader can take, as the file $file. A format that is not named here has
# it among the inputs of its fuzz target.
specimen() {
    local kept=$SEEDS/${1//-/_}/specimen
    file=specimen.$1
    case $1 in
    json) cp "$SAMPLES/jq.json" "$file" ;;
    jsonl) convert sample:jq -o - >"$file" ;;
    tpt) convert sample:jq -o - --output-format tpt >"$file" ;;
    pytorch) snapshot p4 >"$file" ;;
    kineto) kineto_trace >"$file" ;;
    rmm) cp "$DATA/rmm/doc_record_replay_sample.csv" "$file" ;;
    umpire) cp "$DATA/umpire/output-head.replay" "$file" ;;
    mtrace) cp "$DATA/mtrace/calls.txt" "$file" ;;
    valgrind) cp "$DATA/valgrind/calls.txt" "$file" ;;
    rep) printf '%s\n' 20000 3 8 1 'a 0 512' 'a 1 128' 'r 0 640' 'a 2 128' 'f 1' 'r 0 768' 'f 0' 'f 2' >"$file" ;;
    minimalloc) cp "$DATA/minimalloc/input.12.csv" "$file" ;;
    xplane) python3 "$CLI/xplane.py" steps 4 "$file" ;;
    *) cp "$kept" "$file" || fail "a specimen of format '$1' is missing: $kept" ;;
    esac
}

is_text() { grep -qI . "$1"; } # FILE

# told FILE...: what info says, without the names of the file, and without what is looked up in a file
# that can be read once more.
told() {
    ok info "$@" --json || return 1
    sed '/^\t"peak_sites":/,/^\t},$/d; /^\t"site_curve":/,/^\t},*$/d; /^\t"site_lifetimes":/,/^\t},*$/d; s/,$//' "$out" | grep -vE '"(path|name|file_bytes|peak_place)":'
}

# of_format NAME FILE...: it is read as that.
of_format() {
    local name=$1
    shift
    ok info "$@" --json || return 1
    grep -qE "\"format\":[^\"]*\"$name\"" "$out" || fail "$* is not read as $name:" "$(grep '"format"' "$out")"
}

count() { sed -n "s/^\t*\"$2\":[^0-9]*\([0-9]*\),*$/\1/p" "$1" | head -n 1; }

@test "each is listed, with a line that says what it is" {
    [ "$(formats | wc -l)" -ge 11 ]
    [ -z "$(formats | sort | uniq -d)" ]
    ok tool fits 80 "$TAPOOL" help formats
    ok "$TAPOOL" help formats
    tool width 100 <"$out"
    for suffix in tpt json jsonl; do
        matches "$out" "^  \.$suffix  "
    done
    # --input-format names the same, in the same order
    refused 2 "^tapool: unknown input format '\?'$" info "$SAMPLES/jq.json" --input-format '?'
    matches "$err" "^hint: there are: $(formats | paste -sd, | sed 's/,/, /g')$"
}

# bats test_tags=nightly
@test "a specimen of each: detected, whatever it is called and however it comes" {
    for format in $(formats); do
        specimen "$format"
        of_format "$format" "$file"
        [ "$(count "$out" events)" -ge 2 ] || fail "$format: no events"
        told "$file" >expected
        told - <"$file" | diff expected -
        told <(cat "$file") | diff expected -
        told "$file" --input-format "$format" | diff expected -
        told "$file" --input-format "${format^^}" | diff expected -
        if command -v gzip >/dev/null; then
            gzip -q -c "$file" >packed
            told packed | diff expected -
        fi
        if command -v zstd >/dev/null; then
            zstd -q -c "$file" | told - | diff expected -
        fi
        ok info "$file"
        tool width 100 <"$out"
        harmless "$out"
    done
}

# bats test_tags=nightly
@test "a specimen of each: replayed, and as a .tpt and as JSON the same" {
    for format in $(formats); do
        specimen "$format"
        ok replay_once "$file" -s arena -s direct --source virtual --verify --json
        sed "s/\"$file\"/\"same\"/" "$out" >r.json
        python3 "$CLI/class_e.py" r.json | grep -vE '\.trace\.(format|name) ' >expected
        told "$file" | grep -v '"format":' >told.expected
        ok convert "$file" -o to.tpt -f
        ok replay_once to.tpt -s arena -s direct --source virtual --verify --json
        python3 "$CLI/class_e.py" "$out" | grep -vE '\.trace\.(format|name) ' | diff expected -
        told to.tpt | grep -v '"format":' | diff told.expected -
        # in JSON events are numbered anew
        ok convert to.tpt -o to.jsonl -f
        ok info to.jsonl --json
        diff <(grep program_hash "$out" | sed 's/,$//') <(grep program_hash told.expected)
        ok replay_once to.jsonl -s arena --verify
    done
}

# bats test_tags=nightly
@test "with a byte order mark and the line ends of Windows: the same" {
    for format in $(formats); do
        specimen "$format"
        is_text "$file" || continue
        told "$file" | grep program_hash >expected
        { printf '\357\273\277' && sed 's/$/\r/' "$file"; } >dos
        of_format "$format" dos
        told dos | grep program_hash | diff expected -
        sed 's/$/\r/' "$file" >cr
        of_format "$format" cr
        told cr | grep program_hash | diff expected -
    done
}

# bats test_tags=nightly
@test "no specimen is taken for another format when it is cut after some KiB or lines" {
    for format in $(formats); do
        specimen "$format"
        for part in 200 600 3000; do
            head -c "$part" "$file" >start
            capture info start --json
            if [ "$rc" -eq 0 ]; then
                matches "$out" "\"format\":[^\"]*\"$format\""
            else
                [ "$rc" -eq 3 ]
                one_sentence "$err"
                lacks "$err" 'could be'
            fi
        done
    done
}

# bats test_tags=nightly
@test "read as another format: one sentence that names the file, exit 3" {
    for format in $(formats); do
        specimen "$format"
        for other in $(formats); do
            [ "$other" != "$format" ] || continue
            capture info "$file" --input-format "$other"
            [ "$rc" -ne 0 ] || continue # some are near enough
            [ "$rc" -eq 3 ] || fail "exit code $rc: $format read as $other"
            one_sentence "$err"
            matches "$err" "^tapool: specimen\.$format(:[0-9]+)?: "
        done
        refused 3 "^tapool: specimen\.$format(:[0-9]+)?: " info "$file" --input-format "$([ "$format" = pytorch ] && echo tpt || echo pytorch)"
    done
}

@test "dirty imports are repaired with a count, --strict refuses them" {
    for format in mtrace valgrind umpire; do
        specimen "$format"
        ok info "$file"
        matches "$out" '^  repaired      [0-9]+ zero_size'
        refused 3 "^tapool: specimen\.$format:[0-9]+: event [0-9]+ allocates 0 bytes \(id [0-9]+\)" info "$file" --strict
        refused 3 "^tapool: specimen\.$format:[0-9]+: event [0-9]+ " replay_once "$file" --strict
        refused 3 "^tapool: specimen\.$format:[0-9]+: event [0-9]+ " convert "$file" -o x.tpt --strict
    done
    [ ! -e x.tpt ]
    printf '%s\n' 20000 2 4 1 'a 0 512' 'f 1' 'a 0 8' 'a 1 0' >dirty.rep
    ok info dirty.rep --json
    [ "$(count "$out" unknown_free)$(count "$out" double_alloc)$(count "$out" zero_size)" = 111 ]
    refused 3 "^tapool: dirty\.rep:6: event 2 frees id 1, which is not live" info dirty.rep --strict
    specimen rmm
    { cat "$file"; tail -n 1 "$file"; } >dirty.csv
    ok info dirty.csv --json
    [ "$(count "$out" unknown_free)" = 1 ]
    refused 3 "^tapool: dirty\.csv:[0-9]+: event 3 " info dirty.csv --strict
    # the last line is cut
    head -c -5 "$file" >cut.csv
    ok info cut.csv --json
    [ "$(count "$out" truncated)" = 1 ]
    refused 3 "^tapool: cut\.csv:[0-9]+: event 2: the file ends in the middle of this line" info cut.csv --strict
    # clean ones are fine with it
    for format in rmm rep minimalloc malloc-raw pytorch; do
        specimen "$format"
        ok info "$file" --strict
    done
}

@test "what is no trace: the sentence names the file, the hint what is known" {
    echo 'to whom it may concern' >letter.txt
    refused 3 "^tapool: letter\.txt: not a trace format that tapool knows$" info letter.txt
    for format in $(formats); do
        matches "$err" "[ ,]${format}[,;]"
    done
    refused 3 "^tapool: stdin: not a trace format that tapool knows$" replay_once - <letter.txt
    refused 3 "^tapool: letter\.txt: not a trace format" convert letter.txt -o x.tpt
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' >web.tpt
    : >empty
    for format in $(formats); do
        refused 3 "^tapool: web\.tpt is a Git LFS pointer" info web.tpt --input-format "$format"
        refused 3 "^tapool: empty: empty" info empty --input-format "$format"
    done
}

# What tapool knows and does not read is in tests/unit/cmd/test_trace_open.c.
@test "a profile of another tool: why it cannot be replayed, and what to record instead" {
    printf 'desc: (none)\ncmd: ./a\ntime_unit: i\n#-----------\nsnapshot=0\n' >profile
    refused 3 "^tapool: profile is a massif profile, which [a-z ]+$" info profile
    matches "$err" '^hint: record each call instead: tapool record -o out\.tpt -- PROGRAM$'
    gzip -q -c profile >packed.gz
    refused 3 "^tapool: packed\.gz is a massif profile, " replay_once packed.gz
    refused 3 "^tapool: stdin is a massif profile, " convert - -o x.tpt <profile
    [ ! -e x.tpt ]
}

@test "what could be two formats: both are named, --input-format decides" {
    formats | grep -q kineto || skip "no two formats look alike"
    {
        printf '{"category":"operation","name":"allocate","numeric_args":{"size":64},"string_args":'
        printf '{"allocator_ref":"0x1","pointer":"0x2"},"tags":{"traceEvents":"[]"},"timestamp":1}\n'
    } >both
    refused 3 "^tapool: both: could be '(kineto|umpire)' or '(kineto|umpire)'$" info both
    matches "$err" '^hint: --input-format=(kineto|umpire) or --input-format=(kineto|umpire) decides$'
    of_format umpire both --input-format umpire
    [ "$(count "$out" events)" = 1 ]
}

# ---- PyTorch snapshots ----

@test "snapshots of all protocols are the same trace" {
    snapshot p4 >x.pickle
    ok info x.pickle --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
t, r = d["trace"], d["recorded"]["devices"][0]
assert t["kind"] == "device" and t["capture"] == "PyTorch memory snapshot (pickle 4)"
assert "max_split_size_mb:64" in t["settings"] and "threads" in t["unknown"]
assert t["initial_heap"] == {"objects": 2, "bytes": 377, "dropped_objects": 0}, t["initial_heap"]
assert d["before"] == {"objects": 2, "bytes": 377, "freed_objects": 1}
assert d["peak_requested_bytes"] == 1077 + 20971520 and d["peak_new_requested_bytes"] == 1000 + 20971520
assert d["recorded_failures"] == {"out_of_memory": 1, "replayed": 1}, d["recorded_failures"]
assert d["peak_place"] == "train.py:7 step", d["peak_place"]
assert t["events"] == 9 and d["operations"]["alloc"] == 2 and d["operations"]["free"] == 2
assert d["allocated"]["objects"] == 2, d["allocated"] # the request that failed made none
assert (r["start_reserved_bytes"], r["end_reserved_bytes"]) == (2097152, 4194304), r
assert (r["segments_taken"], r["segments_given_back"], r["out_of_memory"]) == (1, 0, 1)
assert (r["end_segments"], r["end_small_segments"], r["end_large_segments"]) == (2, 2, 0)
assert r["end_free_bytes"] == 4194304 - 1536 and r["end_returnable_bytes"] == 2097152
assert d["live_at_end_bytes"] == 1077
END
    told x.pickle | grep -v '"capture":' >expected
    for protocol in 2 5; do
        snapshot "p$protocol" >y.pickle
        told y.pickle >got
        matches got "\"PyTorch memory snapshot \(pickle $protocol\)\""
        grep -v '"capture":' got | diff expected -
    done
    ok info x.pickle
    matches "$out" '^  OOM           1 time; first at event 8, 20 MiB requested, 5 MiB free on the device; the failed$'
    matches "$out" '^ +request is replayed$'
    matches "$out" '^  not recorded .*GPU size \(set it with --capacity\)$'
}

# bats test_tags=nightly
@test "a snapshot of several devices: each by its number, one without events too" {
    snapshot spare >x.pickle
    ok "$TAPOOL" info x.pickle
    matches "$out" '^  device 0 +2 segments at the end .0 large, 2 small., 2 MiB reserved at the start'
    matches "$out" '^  device 3 +no events; 1 segment at the end .0 large, 1 small., 2 MiB reserved throughout$'
    matches "$out" '^ +device 0: .* free in'
    matches "$out" '^ +device 3: 2 MiB free in 1 block of'
    lacks "$out" 'each:'
    for file in x.pickle x.tpt x.json; do
        [ -e "$file" ] || ok "$TAPOOL" convert x.pickle -o "$file"
        ok "$TAPOOL" info "$file" --json
        is "$out" '[(v["number"], v["end_segments"], v["peak_reserved_bytes"], v["end_reserved_bytes"]) for v in d["recorded"]["devices"]]' \
            '[(0, 2, 4194304, 4194304), (3, 1, 2097152, 2097152)]'
        ok replay_once "$file" -s direct -s lru # what is replayed is the same
        matches "$out" '^  recorded, PyTorch +4 MiB'
    done
    ok "$TAPOOL" info x.pickle --device 0
    lacks "$out" 'device 3'
}

# 8 MiB of small pages, of which two are idle as a whole; 60 MiB of large ones, likewise; a plain idle segment.
expandable_snapshot() {
    python3 - <<'END'
import pickle, sys
MIB = 1 << 20
def block(address, size, state):
    return dict(address=address, size=size, requested_size=size, state=state, frames=[])
def segment(address, size, kind, expandable, blocks):
    return dict(device=0, address=address, total_size=size, stream=0, segment_type=kind, segment_pool_id=(0, 0),
                is_expandable=expandable, frames=[], blocks=blocks)
def event(t, action, addr, size):
    return dict(action=action, addr=addr, size=size, stream=0, time_us=1000 + t)
S, L, P = 1 << 40, 2 << 40, 3 << 40
segments = [
    segment(S, 8 * MIB, "small", True, [block(S, 512, "active_allocated"), block(S + 512, 7 * MIB - 512, "inactive"),
                                        block(S + 7 * MIB, MIB, "active_allocated")]),
    segment(L, 60 * MIB, "large", True, [block(L, 10 * MIB, "active_allocated"), block(L + 10 * MIB, 50 * MIB, "inactive")]),
    segment(P, 2 * MIB, "small", False, [block(P, 2 * MIB, "inactive")])]
trace = [event(0, "segment_map", S, 8 * MIB), event(1, "alloc", S, 512), event(2, "segment_map", L, 40 * MIB),
         event(3, "segment_map", L + 40 * MIB, 20 * MIB), event(4, "segment_alloc", P, 2 * MIB),
         event(5, "alloc", S + 7 * MIB, MIB), event(20, "alloc", L, 10 * MIB)]
notes = [dict(stage="START", name="warm up", device=0, time_us=1000), dict(stage="END", name="warm up", device=0, time_us=1010)]
sys.stdout.buffer.write(pickle.dumps(dict(segments=segments, device_traces=[trace], allocator_settings={},
                                          external_annotations=notes), protocol=4))
END
}

@test "expandable segments: ranges are no segments, whole pages go back; the end of a phase is none" {
    expandable_snapshot >x.pickle
    ok info x.pickle
    matches "$out" '; 1 segment allocated, 0 freed; 3 ranges of expandable$'
    matches "$out" '^ +segments mapped, 0 unmapped$'
    matches "$out" 'empty_cache\(\)( |$)'
    tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'empty_cache() returns 46 MiB' # 2 pages of 2 MiB, 2 of 20 MiB, 2 MiB
    lacks "$out" "in phase '\(none\)'"
    lacks "$out" "in phase 'warm up'"
    matches "$out" 'peak 11 MiB at event 7'
    ok info x.pickle --json
    is "$out" '[d["recorded"]["devices"][0][k] for k in ("segments_taken", "ranges_mapped", "end_returnable_bytes")]' \
        "[1, 3, $((46 << 20))]"
    ok replay_once x.pickle -s direct --capacity 8MiB # fails at the peak, behind the phase
    lacks "$out" "\(none\)"
}

@test "events without effect are said" {
    printf '%s\n' 'Thread,Time,Action,Pointer,Size,Stream' '1,12:34:56.000001,allocate,0x10,1024,0x0' \
        '1,12:34:56.000002,free,0x0,0,0x0' '1,12:34:56.000003,free,0x10,1024,0x0' '1,12:34:56.000004,free,(nil),0,0x0' >null.csv
    ok info null.csv
    matches "$out" '^  no effect     2 of these events: frees of NULL, failed requests, or events of unknown blocks$'
    # every host format that can record a free of NULL: counted, and the head adds up
    printf '%s\n' '--7-- malloc(8) = 0x10' '--7-- free(0x0)' '--7-- free(0x10)' >null.valgrind
    printf '%s\n' '= Start' '+ 0x10 0x8' '- (nil)' '- 0x10' '= End' >null.mtrace
    printf '%s\n' 1000 1 3 1 'a 0 8' 'f -1' 'f 0' >null.rep
    python3 - >null.raw <<'END'
import struct, sys
for thread, type, flags, first, second, size in ((0, 255, 0, 0x1234, 0, 8), (1, 1, 0, 0, 16, 8), (1, 3, 0, 0, 0, 0), (1, 3, 0, 16, 0, 0)):
    sys.stdout.buffer.write(struct.pack("<iBxxxQQQQQQQ", thread, type, first, second, size, 0, 0, 0, 0))
END
    for kind in valgrind mtrace rep raw; do
        ok info null.$kind
        matches "$out" '^  no effect     1 of these events: a free of NULL, a failed request, or events of unknown blocks$'
        matches "$out" '^  recorded      3 events: 1 alloc, 1 free, 1 without effect$'
        ok replay_once null.$kind -s arena
        matches "$out" ' 3 events, .*: 1 alloc, 1 free, 1 without$| 3 events, .*: 1 alloc, 1 free, 1 without effect$'
    done
}

@test "what a format does not record is counted nowhere, and advice is that of the format" {
    kineto_trace | sed 's/"Total Allocated": 512,/"Total Allocated": 4608,/' >live.json
    for trace in live.json live.tpt; do
        [ -e $trace ] || ok convert live.json -o $trace
        ok info $trace
        matches "$out" '^  from          1 thread, 1 device$'
        matches "$out" '^  not recorded  streams, requested sizes, alignment$'
        matches "$out" '^  places it first \(--initial-heap=drop leaves it out\)'
        matches "$out" '^  To record from the start: begin torch\.profiler\.profile\(profile_memory=True\) before the model'
        lacks "$out" '_record_memory_history|[0-9] stream'
        ok replay_once $trace -s arena
        matches "$out" ', 1 GPU, streams not recorded: 2 alloc, 2 free$'
        ok info $trace --json
        is "$out" 'd["trace"]["streams"], d["trace"]["threads"]' "(None, 1)"
    done
    snapshot p4 >initial.pickle
    ok info initial.pickle
    matches "$out" '^  To record from the start: call torch\.cuda\.memory\._record_memory_history\(\) before the model'
    ok convert initial.pickle -o initial.json
    ok info initial.json
    matches "$out" '^  To record from the start: call torch\.cuda\.memory\._record_memory_history\(\) before the model'
    printf '%s\n' 'Thread,Time,Action,Pointer,Size,Stream' '1,12:34:56.000001,allocate,0x10,1024,0x0' >one.csv
    ok info one.csv
    matches "$out" '^  from          1 thread, 1 stream$'
    ok replay_once one.csv -s arena
    matches "$out" ', devices not recorded, 1 stream: 1 alloc$'
    cp "$DATA/mtrace/calls.txt" mtrace
    ok info mtrace --json
    is "$out" 'd["trace"]["threads"]' None
    ok replay_once mtrace -s arena --export-csv mtrace.csv
    matches "$out" ', threads not recorded: '
    ok "$TAPOOL" info sample:jq --json
    is "$out" 'd["trace"]["threads"], d["trace"]["streams"]' "(1, 1)"
}

@test "a snapshot that recorded nothing: refused with advice, info shows its segments" {
    snapshot state >rank3.pickle
    for command in "replay_once rank3.pickle" "convert rank3.pickle -o x.tpt"; do
        # shellcheck disable=SC2086 # words
        refused 3 "^tapool: rank3\.pickle: no events: PyTorch was not recording when this snapshot was dumped$" $command
        matches "$err" "^hint: call torch\.cuda\.memory\._record_memory_history\(\) first; 'tapool info' shows the 2 segments$"
    done
    [ ! -e x.tpt ]
    ok info rank3.pickle
    matches "$out" '^  recorded      no events: PyTorch was not recording when this snapshot was dumped$'
    matches "$out" '^  device 0      2 segments at the end \(0 large, 2 small\), 4 MiB reserved$'
    matches "$out" '^At the end      3\.999 MiB free in 4 blocks'
    lacks "$out" 'Next: tapool replay|0 blocks|Live memory'
    ok info rank3.pickle --json
    matches "$out" '"nothing":.*"PyTorch was not recording when this snapshot was dumped"'
    matches "$out" '"end_segments":[^0-9]*2,'
}

@test "a saved model and other pickles are refused, and nothing of them is run" {
    snapshot model >model.pkl
    for command in "replay_once model.pkl" "info model.pkl" "convert model.pkl -o x.tpt"; do
        # shellcheck disable=SC2086 # words
        refused 3 "^tapool: model\.pkl is a pickle, but not of a memory snapshot$" $command
    done
    python3 -S -E -c 'import pickle, sys
class Run:
    def __reduce__(self):
        return open, ("pwned", "w")
for protocol in (2, 4):
    open("evil%d.pickle" % protocol, "wb").write(pickle.dumps({"segments": [Run()], "device_traces": []}, protocol=protocol))'
    for protocol in 2 4; do
        refused 3 "^tapool: evil$protocol\.pickle: byte [0-9]+: .* would run code; refused$" info evil$protocol.pickle
    done
    [ ! -e pwned ]
    snapshot p4 >whole.pickle
    head -c 200 whole.pickle >cut.pickle
    refused 3 "^tapool: cut\.pickle: byte [0-9]+: " info cut.pickle
    refused 3 "^tapool: whole\.pickle: device 3 has no events$" info whole.pickle --device 3
}

@test "logs of tools that were told to record no memory: refused with advice" {
    if formats | grep -q kineto; then
        echo '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' >k.json
        for command in replay_once info; do # there is nothing else in it to be shown
            refused 3 "^tapool: k\.json: no events: profile_memory=True was not set$" $command k.json
            matches "$err" '^hint: torch\.profiler\.profile\(profile_memory=True\) records memory$'
        done
    fi
    grep -v -E 'alloc|calloc|free|new|delete' "$DATA/valgrind/calls.txt" | grep '^==' >v.txt
    refused 3 "^tapool: v\.txt: (no events: valgrind ran without --trace-malloc=yes|not a trace format that tapool knows)$" replay_once v.txt
}

@test "segments whose sum is beyond any memory are refused, not added up past 2^64" {
    python3 - >huge.pickle <<'END'
import pickle, sys
event = {"action": "segment_free", "addr": 512, "size": 1 << 48, "stream": 0, "time_us": 5}
trace = [dict(event) for _ in range(70000)] + [dict(event, action="alloc", size=8)]
sys.stdout.buffer.write(pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
END
    capture "$TAPOOL" info huge.pickle
    [ "$rc" = 3 ] || fail "rc $rc"
    matches "$err" 'huge.pickle: byte [0-9]*: event [0-9,]* of device 0 follows segments that are together larger'
}

# ---- memory spaces ----

@test "several memory spaces: the largest, one by name, all, none of that name" {
    specimen umpire
    ok info "$file" --json
    python3 - "$out" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))["trace"]
assert t["space"] and t["left_out"] and t["unknown"] == ["threads", "streams", "alignment"], t
END
    one=$(count "$out" events)
    name=$(sed -n 's/^\t*"left_out":[^"]*"\([^ ]*\) .*/\1/p' "$out")
    [ -n "$name" ]
    ok info "$file" --space all --json
    [ "$(count "$out" events)" -gt "$one" ]
    matches "$out" '"space":.*"all"'
    lacks "$out" '"left_out"'
    ok info "$file" --space "$name" --json
    matches "$out" "\"space\":.*\"$name\""
    refused 3 "^tapool: specimen\.umpire: no memory space is called 'nowhere'$" info "$file" --space nowhere
    matches "$err" '^hint: it has: '
    ok replay_once "$file" -s arena --space all
    ok info "$file"
    matches "$out" '^  memory space  .*; left out: .*'
}

# umpire_log SPACES: a log of so many allocators, the first of the device, each with one block.
umpire_log() {
    local n op='{"category":"operation","name":"%s","numeric_args":{%s},"string_args":{"allocator_ref":"0x%x"%s},'
    op+='"tags":{"allocator_name":"%s"},"timestamp":%d}\n'
    for ((n = 1; n <= $1; n++)); do
        # shellcheck disable=SC2059
        printf "$op" make_memory_resource '"introspection":1' $n "" "$([ $n -gt 1 ] && echo HOST || echo DEVICE)" $n
        # shellcheck disable=SC2059
        printf "$op" allocate "\"size\":$((5000 - n))" $n ',"pointer":"0x10"' "" $((1000 + n))
    done
}

# bats test_tags=nightly
@test "several memory spaces: what cannot be replayed together is not recommended, memory is no GPU" {
    umpire_log 256 >most.log
    umpire_log 257 >too-many.log
    umpire_log 2 >two.log
    for command in info "replay -s arena --min-time 1ms"; do
        # shellcheck disable=SC2086
        ok "$TAPOOL" $command most.log
        matches "$out" 'and 252 more; --space NAME or --space all *$|--space NAME or --space all replays them'
        # shellcheck disable=SC2086
        ok "$TAPOOL" $command too-many.log
        matches "$out" 'and 253 more; --space NAME replays one'
        lacks "$out" 'space all'
    done
    ok info most.log --space all
    refused 3 "^tapool: too-many.log:514: more than 256 devices$" info too-many.log --space all
    ok replay_once two.log -s arena
    matches "$out" '1 event spanning .*, 1 GPU, streams not recorded: '
    ok replay_once two.log -s arena --space all
    matches "$out" ', 2 memory spaces, streams not recorded: '
    lacks "$out" 'GPUs'
    # also when it was converted
    ok "$TAPOOL" convert two.log --space all -o two.tpt
    ok replay_once two.tpt -s arena
    matches "$out" ', 2 memory spaces, streams not recorded: '
}

@test "help format: its example is a trace, with every op; kinds of notes, and what no stream means" {
    whole_topic format >topic
    sed -n '/^  { "format"/,/] }$/p' topic >example.json
    ok info example.json --json
    cp "$out" figures
    for op in alloc realloc retain use sync mark free thread_end reset trim note; do
        matches figures "\"$op\":[^0-9]*[1-9]"
    done
    sed -n 's/^ *\[TP_NOTE_[A-Z_]*\] = "\(.*\)",$/\1/p' "$TAPOOL_ROOT/traces/event.c" >notes
    [ "$(wc -l <notes)" -ge 9 ]
    while read -r note; do matches topic "(^|[^a-z_])$note([^a-z_]|$)"; done <notes
    sed -n 's/^    X([A-Z_0-9]*, *"\([a-z_0-9]*\)".*/\1/p' "$TAPOOL_ROOT/traces/formats/json/json_event.h" >keys
    [ "$(wc -l <keys)" -ge 11 ]
    while read -r key; do matches topic "(^|[^a-z_])$key([^a-z_]|$)"; done <keys
    matches topic '"op": "note", +"name": "segment_alloc"'
    matches topic 'name +of a mark: the phase'
    # without a stream they are of every device, as it says
    tr -s ' \n' ' ' <topic >line
    matches line 'sync, reset and trim without a stream apply to every device'
    head='{"format":"tapool-trace","version":1,"meta":{"kind":"device"},"streams":[{"id":0,"device":0},{"id":1,"device":1}]}'
    for stream in '' ', "stream": 1'; do
        printf '%s\n' "$head" '{"op":"alloc","id":1,"size":8}' '{"op":"alloc","id":2,"size":8,"stream":1}' \
            "{\"op\":\"reset\"$stream}" >resets.jsonl
        ok info resets.jsonl --json
        matches "$out" "\"live_at_end\":[^0-9]*$([ -z "$stream" ] && echo 0 || echo 1),"
    done
}

@test "several memory spaces: where all are replayed, no screen calls them devices" {
    local log=$DATA/umpire/output-head.replay
    ok replay_once "$log" --space all -s arena -s bump
    tr '\n' ' ' <"$out" | tr -s ' ' >line
    matches line ', threads not recorded, 4 memory spaces: '
    matches "$out" 'Bytes are sums over the memory spaces, each at its own peak'
    lacks "$out" 'device|gpu'
    ok replay_once "$log" --space all -s arena -v
    matches "$out" '^Memory, space 3 '
    matches "$out" '^  space 3$'
    lacks "$out" 'devices|device [0-9]|gpu [0-9]'
    ok replay_once "$log" --space all -s direct -s lru --capacity 4KiB
    matches "$out" '^  direct, space 0 +OUT OF MEMORY '
    lacks "$out" 'devices|gpu'
    ok "$TAPOOL" info "$log" --space all
    matches "$out" '^Live memory +requested, in each memory space$'
    matches "$out" '^  space 3 +peak 32 B'
    lacks "$out" 'device'
    umpire_log 9 >nine.log
    ok "$TAPOOL" info nine.log --space all
    matches "$out" '  9 memory spaces$'
    matches "$out" 'memory spaces more: --json$'
    umpire_log 1 >one.log # which is one GPU
    ok "$TAPOOL" info one.log
    matches "$out" '  1 device$'
}
