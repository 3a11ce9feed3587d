#!/usr/bin/env bats
# Bad input, bad command lines, output that cannot be written. Each: one sentence that says where, the
# right exit code (2 usage, 3 input, 4 output), nothing on stdout, nothing left behind or damaged.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# bad_trace REGEX FILE: the same sentence for a file and for stdin, with either strictness.
bad_trace() {
    local place=$1 what=$2 file=$3
    refused 3 "^tapool: ${file//./\\.}$place$what" replay_once "$file" -s arena || return 1
    refused 3 "^tapool: stdin$place$what" replay_once - -s arena <"$file" || return 1
}

# bad_events WHAT EVENT...: the last event is wrong. As a document (first event on line 3) and as
# lines (first event on line 2).
bad_events() {
    local what=$1 n=$(($# - 1))
    shift
    trace "$@" >doc.json
    bad_trace ":$((n + 2)): event $n" "$what" doc.json || return 1
    lines "$@" >lines.jsonl
    bad_trace ":$((n + 1)): event $n" "$what" lines.jsonl
}

a1='{"op":"alloc","id":1,"size":64}'

# ---- files that are no trace ----

@test "a missing file, a directory, an empty file, an unknown sample" {
    refused 3 "^tapool: none\.json: no such file$" replay_once none.json
    mkdir folder
    refused 3 "^tapool: folder is a directory$" replay_once folder
    refused 3 "^tapool: stdin is a directory$" replay_once - <folder
    : >empty.json
    bad_trace "" ": empty" empty.json
    refused 3 "^tapool: stdin: empty" replay_once - </dev/null
    refused 3 "^tapool: stdin: empty" replay_once - <&-
    refused 3 "^tapool: unknown sample 'sqlte'$" replay_once sample:sqlte
    matches "$err" "^hint: did you mean 'sample:sqlite'"
    refused 3 "^tapool: unknown sample '../../etc/passwd'$" replay_once sample:../../etc/passwd
    refused 3 "^tapool: unknown sample ''$" replay_once sample:
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' >lfs.json
    bad_trace "" " is a Git LFS pointer" lfs.json
    matches "$err" "^hint: git lfs pull$"
    if [ "$(id -u)" -ne 0 ]; then
        trace "$a1" >secret.json
        chmod 000 secret.json
        refused 3 "^tapool: secret\.json: cannot be read: Permission denied$" replay_once secret.json
    fi
}

@test "what people take for a trace is called by its name" {
    printf 'PK\003\004 and what a zip file goes on with' >model.pt
    bad_trace "" " is a zip file, which tapool does not unpack$" model.pt
    matches "$err" '^hint: unpack it: unzip -p FILE [|] tapool replay -$'
    printf '\211PNG\r\n' >picture
    bad_trace "" ": not a trace format that tapool knows$" picture
    matches "$err" "^hint: known are: json, .*; 'tapool help formats' says what they are$"
}

# way_out FILE: runs the command that the refusal of FILE names, and replays what comes of it.
way_out() {
    local command
    capture "$TAPOOL" info "$1"
    [ "$rc" -eq 3 ] || fail "exit code $rc, of: $1"
    command=$(sed -n 's/^hint: //; s/.*code: //; s/.*unpack it: \(.*\) | tapool replay -/\1 >snapshot.pickle/; 2p' "$err")
    rm -f snapshot.pickle
    eval "${command//FILE/$1}"
    ok replay_once snapshot.pickle -s lru
    matches "$out" 'PyTorch memory snapshot'
}

@test "the way out that a refusal names leads out" {
    python3 - <<'END'
import base64, json, pickle
block = {"address": 512, "size": 1024, "requested_size": 1000, "state": "active_allocated"}
event = {"addr": 512, "size": 1000, "stream": 0}
snapshot = {"segments": [{"device": 0, "address": 512, "total_size": 2097152, "allocated_size": 1024,
                          "active_size": 1024, "requested_size": 1000, "stream": 0, "is_expandable": False,
                          "segment_type": "small", "segment_pool_id": (0, 0), "blocks": [block]}],
            "device_traces": [[dict(event, action="alloc"), dict(event, action="free_requested"),
                               dict(event, action="free_completed")]],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""}}
for protocol in 0, 1:
    pickle.dump(snapshot, open("old%d" % protocol, "wb"), protocol)
json.dump(snapshot, open("dump.json", "w"))
data = pickle.dumps(snapshot, 4)
data += bytes(-len(data) % 3)
page = [{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}]
open("page.html", "w").write("""
<!DOCTYPE html>
<script type="module">
import {add_local_files} from "https://example.org/MemoryViz.js"
const local_files = %s
add_local_files(local_files, "Active Memory Timeline")
</script>
""" % json.dumps(page))
import bz2, lzma, zipfile
open("packed.xz", "wb").write(lzma.compress(data))
open("packed.bz2", "wb").write(bz2.compress(data))
zipfile.ZipFile("packed.zip", "w").writestr("snapshot", data)
pickle.dump(snapshot["segments"], open("state.pickle", "wb"))
END
    for file in old0 old1 dump.json page.html; do way_out "$file"; done
    for tool in xz bzip2:bz2 unzip:zip; do
        ! command -v "${tool%:*}" >/dev/null || way_out "packed.${tool#*:}"
    done
    ok "$TAPOOL" info state.pickle # torch.cuda.memory_snapshot()
    refused 3 'no events: torch\.cuda\.memory_snapshot\(\) gives segments, without events$' replay_once state.pickle
    matches "$err" '_dump_snapshot\(\)'
}

@test "a space or a device is asked for where none can be chosen" {
    trace "$a1" >one.json
    for command in replay_once "$TAPOOL info"; do
        # shellcheck disable=SC2086 # two words
        refused 2 "^tapool: one\.json: a trace in format 'json' has one memory space only$" $command one.json --space GPU
        # shellcheck disable=SC2086
        refused 2 "^tapool: one\.json: no device can be chosen from a trace in format 'json'$" $command one.json --device 1
    done
    ok replay_once one.json --space all
}

@test "devices of this machine's memory: the usual set is without the one heap of the process" {
    printf '{ "format": "tapool-trace", "version": 1,\n  "streams": [{"id": 0, "device": 0}, {"id": 1, "device": 1}],\n  "events": [\n%s,\n%s] }\n' \
        "$a1" '{"op":"alloc","id":2,"size":64,"stream":1}' >two.json
    ok replay_once two.json
    matches "$out" '^arena on host '
    lacks "$out" '^  system '
    refused 2 "'system' has one heap for the whole process" replay_once two.json -s system
}

# bats test_tags=nightly
@test "a trace that is cut, at every place in it" {
    trace "$a1" '{"op":"alloc","id":2,"size":128,"t":9}' '{"op":"free","id":1}' '{"op":"mark","name":"\u00e9\n"}' >whole.json
    ok replay_once whole.json -s arena
    size=$(wc -c <whole.json)
    for cut in $(seq 1 11 $((size - 3))); do
        head -c "$cut" whole.json >cut.json
        refused 3 "^tapool: cut\.json(:[0-9]+)?: " replay_once cut.json -s arena
    done
    head -c $((size - 30)) whole.json >cut.json
    bad_trace ":[0-9]+" ": the file ends inside event 4: truncated\?$" cut.json
    head -n 4 whole.json >cut.json
    bad_trace ":5" ": the file ends inside event 3: truncated\?$" cut.json
    printf '%s' "$(head -n 4 whole.json | sed '$s/,$//')" >cut.json
    bad_trace ":4" ": the file ends after event 2: truncated\?$" cut.json
    head -c 100000 "$SAMPLES/sqlite.json" >cut.json
    bad_trace ":[0-9]+" ": the file ends (inside|after) event 1,[0-9]{3}: truncated\?$" cut.json
    ok replay_once cut.json -s arena "$(sed -n 's/^hint: \(--limit\) \([0-9]*\) .*/\1=\2/p' "$err")"
    lines "$a1" '{"op":"fre' >cut.jsonl
    bad_trace ":3" ": .*event 2" cut.jsonl
}

# bats test_tags=nightly
@test "binary garbage" {
    for seed in 1 2 3; do
        python3 -c "import random, sys; random.seed($seed); sys.stdout.buffer.write(random.randbytes(20000))" >noise.bin
        bad_trace "" ": not a trace format that tapool knows$" noise.bin
    done
    head -c 5000 /dev/zero >zero.bin
    bad_trace "" ": not a trace format that tapool knows$" zero.bin
    cp "$TAPOOL" program.json
    bad_trace "" " is a program or a library, not what it recorded$" program.json
    for format in json jsonl; do
        refused 3 "^tapool: noise\.bin:1: " replay_once noise.bin --input-format "$format"
    done
    # garbage in the middle of a trace
    { head -c 3000 "$SAMPLES/jq.json"; cat noise.bin; } >half.json
    bad_trace ":[0-9]+" ": event [0-9]+" half.json
}

# ---- events ----

# Which sentences there are is in tests/unit/traces, test_json_trace.c above all.
@test "an event that is wrong: one sentence with file, line and event, of a document as of lines" {
    bad_events ": unknown op 'fre'$" "$a1" '{"op":"fre","id":1}'
    matches "$err" "^hint: did you mean 'free'"
    bad_events ": 'size' is 1\.5: not a whole number$" '{"op":"alloc","id":1,"size":1.5}'
    bad_events " allocates id 1, which is live since event 1 \(line [23]\)$" "$a1" '{"op":"alloc","id":1,"size":2}'
    matches "$err" "^hint: an id may be used again only after its free"
    bad_events ": stream 5 is not declared$" "$a1" '{"op":"use","id":1,"stream":5}'
    bad_events ".*not valid JSON" "$a1" '{"op":"free","id":1,}'
    echo '{"format":"tapool-trace","version":2,"events":[]}' >x.json
    bad_trace ":1" ": 'version' is 2: this tapool reads version 1$" x.json
    python3 -c "print('{\"a\":' * 100000)" >x.json
    bad_trace "" "(:1)?: " x.json
}

# bats test_tags=nightly
@test "100 MB on one line: in little memory" {
    limit=128
    sanitized && limit=4000
    head -c 100000000 /dev/zero | tr '\0' a >line.txt
    refused 3 "^tapool: line\.txt: not a trace format" tool rss "$limit" "$TAPOOL" replay line.txt
    for before in '' '{"format":"tapool-trace","version":1,"events":[{"op":"alloc","id":1,"size":1,"mine":"'; do
        { printf %s "$before"; cat line.txt; } >x.json
        refused 3 "^tapool: x\.json:1: " tool rss "$limit" "$TAPOOL" replay x.json --input-format json
    done
    # a member that tapool does not know may be as long as it likes
    { printf '{"format":"tapool-trace","version":1,"mine":"'; cat line.txt; printf '","events":[%s]}' "$a1"; } >x.json
    ok tool rss "$limit" "$TAPOOL" replay x.json -s arena --min-time 0
}

# bats test_tags=nightly
@test "--max-memory holds for all that reading takes" {
    sanitized && skip "a sanitizer has memory of its own"
    python3 - <<'END'
with open("live.jsonl", "w") as out:
    out.write('{"format":"tapool-trace","version":1}\n')
    for i in range(900000):
        out.write('{"op":"alloc","id":%d,"size":1}\n' % i)
with open("live.mtrace", "w") as out:
    out.write("= Start\n")
    for i in range(900000):
        out.write("@ x:[0x1] + 0x%x 0x1\n" % (16 * (i + 1)))
END
    for form in jsonl mtrace; do # 16 MiB are the program's own
        refused 3 "^tapool: live\.$form:[0-9]*: (event [0-9,]*: )?more (live objects|addresses) than the memory for reading holds" \
            tool rss 80 "$TAPOOL" info live.$form --max-memory 64MiB
        ok tool rss 272 "$TAPOOL" info live.$form --max-memory 256MiB
    done
}

# bats test_tags=nightly
@test "--max-memory is one sum over what a reader keeps and what is made of it" {
    sanitized && skip "a sanitizer has memory of its own"
    python3 - <<'END'
import pickle
N = 300000
with open("live.kineto", "w") as out:
    out.write('{"schemaVersion":1,"traceEvents":[')
    for i in range(N):
        out.write('%s{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":%d,"args":{"Device Type":1,"Device Id":0,'
                  '"Addr":%d,"Bytes":512}}\n' % ("," if i else "", i, 512 * (i + 1)))
    out.write("]}")
with open("live.umpire", "w") as out:
    line = ('{"category":"operation","name":"%s","numeric_args":{"%s":%d},"string_args":{"allocator_ref":"0x10",'
            '"pointer":"0x%x"},"tags":{"allocator_name":"HOST","replay":"true"},"timestamp":%d}\n')
    out.write(line % ("make_memory_resource", "introspection", 1, 0, 1))
    for i in range(N):
        out.write(line % ("allocate", "size", 512, 512 * (i + 1), i))
place = {"size": 512, "requested_size": 512, "state": "active_allocated"}
blocks = [dict(place, address=512 * (i + 1)) for i in range(N)]
segment = {"device": 0, "address": 512, "total_size": 512 * N, "stream": 0, "segment_type": "large", "blocks": blocks}
trace = [{"action": "alloc", "addr": 512 * (i + 1), "size": 512, "stream": 0, "time_us": i} for i in range(N)]
with open("live.snapshot", "wb") as out:
    pickle.dump({"segments": [segment], "device_traces": [trace], "allocator_settings": {}}, out, 4)
END
    for form in umpire snapshot kineto; do # 16 MiB are the program's own
        refused 3 "^tapool: live\.$form:.*(addresses|live objects).*memory" \
            tool rss 64 "$TAPOOL" info live.$form --max-memory 48MiB
        ok tool rss 208 "$TAPOOL" info live.$form --max-memory 192MiB
    done
}

# bats test_tags=nightly
@test "a few bytes that make a large program are refused as a bomb" {
    { printf '{"format":"tapool-trace","version":1,"events":[{"op":"sync"}'
      for _ in $(seq 600); do printf ',{"op":"sync"}%.0s' $(seq 100); done
      printf ']}'; } | gzip -9 >x.json.gz
    [ "$(wc -c <x.json.gz)" -lt 4000 ]
    refused 3 "^tapool: x\.json\.gz:1: event [0-9,]*: a program of more than 1\.[0-9]* MiB from [0-9.]* KiB of file" \
        "$TAPOOL" info x.json.gz --max-memory 1MiB
    ok "$TAPOOL" info x.json.gz --max-memory 2MiB
    gunzip x.json.gz # as large as its program: no bomb
    ok "$TAPOOL" info x.json --max-memory 1MiB
}

# bats test_tags=nightly
@test "a sync of all of 256 devices is one instruction" {
    { printf '{"format":"tapool-trace","version":1,"meta":{"kind":"device"},"streams":[{"id":0,"device":0}'
      printf ',{"id":%d,"device":%d}' $(for i in $(seq 255); do echo "$i" "$i"; done)
      printf '],"events":[{"op":"alloc","id":1,"size":1}'
      for _ in $(seq 100); do printf ',{"op":"sync"}%.0s' $(seq 10); done
      printf ']}'; } >x.json
    ok "$TAPOOL" info x.json --json
    is "$out" 'd["trace"]["operations"]' 1001
    for form in tpt jsonl; do # and stays one
        ok "$TAPOOL" convert x.json -o y.$form
        ok "$TAPOOL" info y.$form --json
        is "$out" 'd["trace"]["operations"]' 1001
    done
    ok replay_once y.tpt -s lru --verify
}

# bats test_tags=nightly
@test "a valid trace of 100 MB on one line: in little memory, its program beside it in TMPDIR" {
    sanitized && skip "a sanitizer has memory of its own"
    python3 - >x.json <<'END'
import sys
events = ",".join('{"op":"alloc","id":%d,"size":4096},{"op":"free","id":%d}' % (i, i) for i in range(1000))
out = sys.stdout
out.write('{"format":"tapool-trace","version":1,"events":[' + events)
for _ in range(1750):
    out.write("," + events)
out.write("]}")
END
    [ "$(wc -c <x.json)" -gt 100000000 ]
    mkdir spool
    TMPDIR=$PWD/spool ok tool rss 128 "$TAPOOL" replay x.json -s bump --min-time 0 --json
    is "$out" 'r["trace"]["events"]' 3502000
    [ -z "$(ls -A spool)" ]
    TMPDIR=/nonexistent refused 4 "^tapool: .*" "$TAPOOL" replay x.json -s bump --min-time 0
}

# ---- the command line ----

@test "an unknown strategy, with the nearest" {
    refused 2 "^tapool: unknown strategy 'aerna'$" replay sample:sqlite -s aerna
    matches "$err" "^hint: did you mean 'arena'\? 'tapool strategies' lists all$"
    refused 2 "^tapool: unknown strategy 'aerna'$" "$TAPOOL" strategies aerna
    refused 2 "^tapool: unknown strategy 'zzzzzz'$" replay sample:sqlite -s zzzzzz
    matches "$err" "^hint: 'tapool strategies' lists all$"
    refused 2 "an empty strategy name" replay sample:sqlite -s ''
    refused 2 "^tapool: label 'a b'" replay sample:sqlite -s 'a b=arena'
    refused 2 "^tapool: option '--strategy' needs a value" replay sample:sqlite -s
    refused 2 "^tapool: a strategy's name is too long$" replay sample:sqlite -s "$(head -c 5000 /dev/zero | tr '\0' x)"
    ok replay sample:sqlite -s ARENA # names are forgiving
}

@test "an unknown option, of the command, a strategy, a source" {
    refused 2 "^tapool: unknown option '--stratgey'$" replay sample:sqlite --stratgey arena
    matches "$err" "^hint: did you mean '--strategy'"
    refused 2 "^tapool: unknown option '-z" replay sample:sqlite -z
    refused 2 "^tapool: unknown option '--json-'" replay sample:sqlite --json-
    refused 2 "^tapool: unknown option '-q'$" "$TAPOOL" -q
    refused 2 "^tapool: strategy 'arena' has no option 'arena_sise'$" replay sample:sqlite -s arena:arena_sise=1MiB
    matches "$err" "^hint: did you mean 'arena_size'"
    refused 2 "^tapool: strategy 'direct' has no options" replay sample:sqlite -s direct:a=1
    refused 2 "^tapool: option 'arena_size' of strategy 'arena' needs a value$" replay sample:sqlite -s arena:arena_size
    refused 2 "^tapool: source 'limit' has no option 'capacty'$" replay sample:sqlite --source host+limit:capacty=1MiB
}

@test "an option out of range, a bad choice, a bad value" {
    refused 2 "^tapool: option 'repeat' is 0, below the minimum 1$" replay sample:sqlite --repeat 0
    refused 2 "^tapool: option 'repeat' is 1001, above the maximum 1000$" replay sample:sqlite --repeat 1001
    refused 2 "^tapool: option 'repeat' is '-1', which is not a valid number$" replay sample:sqlite --repeat -1
    refused 2 "^tapool: option 'repeat' is 'x'" replay sample:sqlite --repeat x
    refused 2 "^tapool: option 'min-time' is 25h, above the maximum 24h$" replay sample:sqlite --min-time 25h
    refused 2 "^tapool: option 'min-time' is '-1s'" replay sample:sqlite --min-time -1s
    refused 2 "^tapool: option 'seed' is '99999999999999999999'" replay sample:sqlite --seed 99999999999999999999
    refused 2 "^tapool: option 'touch' is 'twice', which is none of auto, none, first, all" replay sample:sqlite --touch twice
    refused 2 "^tapool: option 'format' is 'xml', which is none of text, json" replay sample:sqlite --format xml
    refused 2 "^tapool: option 'on-oom' is 'cry'" replay sample:sqlite --on-oom cry
    refused 2 "^tapool: option 'color' is 'red'" replay sample:sqlite --color red
    refused 2 "^tapool: unknown input format 'jsn'$" replay sample:sqlite --input-format jsn
    matches "$err" "^hint: did you mean 'json'"
    refused 2 "^tapool: option 'arena_size' of strategy 'arena' is .*, (below|above) the m" replay sample:sqlite -s arena:arena_size=1
    refused 2 "^tapool: option 'arena_size' of strategy 'arena' is 'lots', which is not a valid size$" replay sample:sqlite -s arena:arena_size=lots
    refused 2 "'alignment'" replay sample:sqlite -s arena:alignment=24
    refused 2 "'classes' of strategy 'arena' is 'some', which is none of" replay sample:sqlite -s arena:classes=some
    refused 2 "'capacity' of source 'limit' is 'x'" replay sample:sqlite --source host+limit:capacity=x
}

@test "what does not go together, and what is missing" {
    refused 2 "^tapool: --strict and --repair exclude each other$" replay sample:sqlite --strict --repair
    refused 2 "^tapool: replay needs a trace$" replay
    refused 2 "^tapool: unknown command 'repaly'$" "$TAPOOL" repaly sample:sqlite
    matches "$err" "^hint: did you mean 'replay'"
    refused 2 "^tapool: no help on 'reprot'$" "$TAPOOL" help reprot
    matches "$err" "^hint: did you mean 'report'"
    refused 2 "^tapool: no help on 'lru'$" "$TAPOOL" help lru
    matches "$err" "^hint: 'tapool strategies lru' is its page$"
    refused 2 "^tapool: help takes a topic and one of its sections$" "$TAPOOL" help report times gpu
    refused 2 "^tapool: help on 'report' has no section 'tmes'$" "$TAPOOL" help report tmes
    matches "$err" "^hint: did you mean 'times'\? 'tapool help report' lists all$"
    refused 2 "^tapool: help on 'report' has no section '%%%'$" "$TAPOOL" help report %%%
    matches "$err" "^hint: 'tapool help report' lists all$"
    for page in terms replay oom no-such-page; do
        refused 2 "^tapool: 'tapool help $page' has no sections$" "$TAPOOL" help "$page" times
    done
    refused 2 "^tapool: strategies takes one name at most$" "$TAPOOL" strategies arena bump
    refused 2 "^tapool: unknown source 'hots'$" replay sample:sqlite --source hots
    refused 2 "^tapool: unknown source wrapper 'shufle'$" replay sample:sqlite --source host+shufle
    refused 2 "^tapool: unknown source" replay sample:sqlite --source shuffle
    refused 2 "^tapool: unknown source" replay sample:sqlite --source host+
    refused 2 "^tapool: 'system' is an allocator of this machine's memory" replay sample:sqlite -s system --source virtual
    refused 2 "__child" "$TAPOOL" __child </dev/null
}

# ---- output ----

before='{"kept": "as it was"}'

@test "an export file that exists is not touched, -f overwrites it" {
    echo "$before" >r.json
    refused 2 "^tapool: 'r\.json' exists$" replay sample:sqlite -s arena --export-json r.json
    matches "$err" "^hint: -f overwrites it$"
    [ "$(cat r.json)" = "$before" ]
    ln -s nowhere dangling.json
    refused 2 "exists$" replay sample:sqlite -s arena --export-json dangling.json
    [ -L dangling.json ]
    ok replay sample:sqlite -s arena --export-json r.json -f
    is r.json 'd["schema"]' tapool.result/2
    [ "$(ls)" = "dangling.json
r.json" ]
    # it was not there when tapool began
    "$TAPOOL" replay sample:sqlite -s arena --min-time 400ms --export-json late.json >/dev/null 2>"$SCRATCH/late" &
    pid=$!
    sleep 0.2
    echo "$before" >late.json
    rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 2 ]
    [ "$(cat late.json)" = "$before" ]
    one_sentence "$SCRATCH/late"
    matches "$SCRATCH/late" "^tapool: 'late\\.json' exists"
    [ "$(ls)" = "dangling.json
late.json
r.json" ]
}

@test "an export file gets the permissions of any new file" {
    (umask 027; replay sample:sqlite -s arena --export-json r.json >/dev/null)
    [ "$(stat -c %a r.json)" = 640 ]
}

@test "an export that cannot be written: exit 4, nothing left behind" {
    refused 4 "^tapool: '/nonexistent/r\.json' cannot be written: No such file or directory$" \
        replay sample:sqlite -s arena --export-json /nonexistent/r.json
    refused 4 "^tapool: '/proc/r\.json' cannot be written: " replay sample:sqlite -s arena --export-json /proc/r.json
    mkdir folder
    refused 2 "^tapool: 'folder' is a directory$" replay sample:sqlite -s arena --export-json folder -f
    refused 2 "^tapool: an empty file name$" replay sample:sqlite -s arena --export-json ''
    if [ "$(id -u)" -ne 0 ]; then
        chmod 555 folder
        refused 4 "^tapool: 'folder/r\.json' cannot be written: Permission denied$" \
            replay sample:sqlite -s arena --export-json folder/r.json
    fi
    refused 4 "^tapool: /dev/full could not be written: No space left on device$" \
        replay sample:sqlite -s arena --export-json /dev/full
    [ "$(ls -A . folder)" = ".:
folder

folder:" ]
}

# A file that may not grow beyond 1 KiB stands for a disk that is full.
small_files() { (ulimit -f 1; "$@"); }

@test "a disk that fills up during the export: exit 4, nothing left behind, an old file unharmed" {
    refused 4 "^tapool: r\.json could not be written: File too large$" \
        small_files "$TAPOOL" replay --min-time 0 sample:sqlite -s arena --export-json r.json
    [ -z "$(ls -A)" ]
    echo "$before" >r.json
    refused 4 "^tapool: r\.json could not be written: " \
        small_files "$TAPOOL" replay --min-time 0 sample:sqlite -s arena --export-json r.json -f
    [ "$(cat r.json)" = "$before" ]
    [ "$(ls -A)" = r.json ]
}

@test "what gen and convert write: as an export is written" {
    # shellcheck disable=SC2086 # words
    write() { "$TAPOOL" $words -o "$@"; }
    full() { write - >/dev/full; }
    for words in 'gen pair' 'convert sample:sqlite'; do
        refused 4 "^tapool: standard output could not be written: No space left on device$" full
        for name in x.tpt x.json x.jsonl; do
            echo "$before" >$name
            refused 2 "^tapool: '$name' exists$" write $name
            matches "$err" "^hint: -f overwrites it$"
            refused 4 "^tapool: $name could not be written: File too large$" small_files write $name -f
            [ "$(cat $name)" = "$before" ]
            ok write $name -f
            [ "$(ls -A)" = $name ]
            rm $name
            refused 4 "^tapool: $name could not be written: File too large$" small_files write $name
            refused 4 "^tapool: 'none/$name' cannot be written: No such file or directory$" write none/$name
            refused 4 "^tapool: '/proc/$name' cannot be written: " write /proc/$name
            mkdir $name
            refused 2 "^tapool: '$name' is a directory$" write $name -f
            rmdir $name
            [ -z "$(ls -A)" ]
            ln -s /dev/full $name
            refused 4 "^tapool: $name could not be written: No space left on device$" write $name -f
            [ -L $name ]
            rm $name
        done
    done
}

@test "ended by a signal: nothing left behind" {
    for signal in INT TERM; do
        capture timeout --preserve-status -s "$signal" 0.3 "$TAPOOL" replay sample:sqlite -s arena -s system \
            --min-time 60s --export-json r.json
        [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal"
        [ ! -s "$out" ]
        [ -z "$(ls -A)" ]
        # empty: it came before the first replay began
        [ ! -s "$err" ] || matches "$err" '^tapool: interrupted before the first of 2 replays was done$'
    done
}

# partly SIGNAL ARGS...: of 60 replays some are done when the signal comes.
partly() {
    local signal=$1 delay
    shift
    for delay in 1 2 4 8 16; do
        rm -f part.json
        capture timeout --preserve-status -s "$signal" "$delay" "$TAPOOL" replay sample:sqlite --min-time 50ms "${many[@]}" "$@"
        [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal" "$(cat "$err")" || return 1
        [ ! -s "$out" ] || return 0
    done
    fail "nothing was done in 16 s"
}

# bats test_tags=nightly
@test "ended by a signal: what is done is reported, whole, and said to be partial" {
    for strategy in arena system; do # this process, and one of its own
        many=()
        for i in $(seq 60); do many+=(-s "n$i=$strategy"); done
        partly INT --json --export-json part.json
        cmp "$out" part.json
        is "$out" 'd["partial"], 0 < len(d["runs"]) < 60' '(True, True)'
        one_sentence "$err"
        matches "$err" '^tapool: interrupted: [0-9]+ of 60 replays are done$'
        partly TERM
        matches "$out" '^interrupted: [0-9]+ of 60 replays are done; what stands above is complete as far as it goes\.$'
        [ ! -s "$err" ]
        not pgrep -P 1 -f "^tapool __child" # no orphan
    done
}

@test "a full disk on stdout: exit 4" {
    full() { "$@" >/dev/full; }
    for args in '' '--version' 'help' 'help report' 'strategies' 'strategies arena' 'replay --help' \
        'replay sample:sqlite -s arena --min-time 0' 'replay sample:sqlite --min-time 0' \
        'replay sample:sqlite -s arena --min-time 0 --json'; do
        # shellcheck disable=SC2086 # words
        # which it was is known while it is written: not of a page that was longer than the buffer
        refused 4 "^tapool: standard output could not be written: (No space left on device|an earlier write failed)$" full "$TAPOOL" $args
    done
}

@test "a closed stdout: exit 4, and no file takes its place" {
    closed() { "$@" >&-; }
    trace "$a1" >t.json
    cp t.json "$SCRATCH/t.json"
    for args in '' 'help' 'strategies' 'replay t.json -s arena --min-time 0' \
        'replay t.json -s system --min-time 0 --json'; do
        # shellcheck disable=SC2086 # words
        refused 4 "^tapool: standard output could not be written: " closed "$TAPOOL" $args
    done
    capture closed "$TAPOOL" replay t.json -s arena --min-time 0 --export-json r.json
    [ "$rc" -eq 4 ]
    [ ! -e r.json ] || is r.json 'd["schema"]' tapool.result/2
    cmp t.json "$SCRATCH/t.json"
    # stderr and stdin closed as well
    rc=0
    "$TAPOOL" replay none.json >"$out" 2>&- <&- || rc=$?
    [ "$rc" -eq 3 ]
    [ ! -s "$out" ]
    rc=0
    "$TAPOOL" replay t.json -s arena -s system --min-time 0 --export-json r2.json >&- 2>&- <&- || rc=$?
    [ "$rc" -eq 4 ]
    [ ! -e r2.json ] || is r2.json 'd["schema"]' tapool.result/2
    cmp t.json "$SCRATCH/t.json"
}

@test "a closed pipe on stdout ends tapool as it ends cat: 141" {
    for args in 'help' 'replay sample:sqlite -s arena --min-time 0' 'replay sample:sqlite -s system --min-time 0 --json'; do
        # shellcheck disable=SC2086 # words
        { sleep 0.1; rc=0; "$TAPOOL" $args 2>"$SCRATCH/stderr" || rc=$?; echo "$rc" >"$SCRATCH/rc"; } | true
        [ "$(cat "$SCRATCH/rc")" -eq 141 ] || fail "exit code $(cat "$SCRATCH/rc") of: $args"
        [ ! -s "$SCRATCH/stderr" ]
    done
}

# ---- hostile text ----

# Escape sequences, bells, C1, right-to-left, a line separator, invalid UTF-8.
hostile=$'\x1b[31mred\x1b]0;title\x07\xc2\x9b2J\xe2\x80\xae\xe2\x80\xa8\xff\xfe\xc3('

# bats test_tags=nightly
@test "hostile names in a trace never reach the terminal" {
    for text in '\u001b[31mred\u0007\u009b2J\u202egnp\u2028\u0000x' $'\xff\xfe\xc2\x9b2J\xe2\x80\xae\xc3('; do
        for form in json jsonl; do
            end=',"events":['
            [ $form = json ] || end=$'}\n'
            printf '{"format":"tapool-trace","version":1,"meta":{"name":"%s","program":"%s"}%s{"op":"alloc","id":1,"size":64}' \
                "$text" "$text" "$end" >x.$form
            [ $form = jsonl ] || printf ']}' >>x.$form
            capture replay_once "x.$form" -s arena -v
            harmless "$out"
            [ "$rc" -eq 0 ] || one_sentence "$err"
            capture replay_once "x.$form" -s arena --json
            harmless "$out"
            [ "$rc" -ne 0 ] || python3 -m json.tool "$out" >/dev/null
        done
        for event in "{\"op\":\"$text\"}" "{\"op\":\"alloc\",\"id\":\"$text\",\"size\":1}" "{\"op\":\"$text" \
            "{\"op\":\"alloc\",\"id\":1,\"$text\":1,\"$text\":2}"; do
            trace "$event" >x.json
            refused 3 "^tapool: x\.json:3: event 1" replay_once x.json
        done
    done
}

@test "hostile names of files never reach the terminal" {
    trace "$a1" >"$hostile.json"
    ok replay_once "$hostile.json" -s arena -v
    harmless "$out"
    ok replay_once "$hostile.json" -s arena --json
    harmless "$out"
    python3 -m json.tool "$out" >/dev/null
    refused 3 "no such file" replay_once "$hostile.none"
    refused 3 "unknown sample" replay_once "sample:$hostile"
    mkdir "$hostile"
    refused 3 "is a directory" replay_once "$hostile"
    refused 2 "exists" replay_once sample:sqlite --export-json "$hostile.json"
    refused 4 "cannot be written" replay_once sample:sqlite --export-json "/nonexistent/$hostile"
}

@test "hostile words of the command line never reach the terminal" {
    refused 2 "unknown strategy" replay_once sample:sqlite -s "$hostile"
    refused 2 "label" replay_once sample:sqlite -s "$hostile=arena"
    refused 2 "has no option" replay_once sample:sqlite -s "arena:$hostile=1"
    refused 2 "is not a valid size" replay_once sample:sqlite -s "arena:arena_size=$hostile"
    refused 2 "unknown source" replay_once sample:sqlite --source "$hostile"
    refused 2 "unknown input format" replay_once sample:sqlite --input-format "$hostile"
    refused 2 "which is not a valid number" replay_once sample:sqlite --repeat "$hostile"
    refused 2 "unknown option" replay_once sample:sqlite "--$hostile"
    refused 2 "unknown option" replay_once sample:sqlite "-$hostile"
    refused 2 "unknown option" "$TAPOOL" "-$hostile"
    refused 2 "unknown command" "$TAPOOL" "$hostile"
    refused 2 "no help on" "$TAPOOL" help "$hostile"
    refused 2 "unknown strategy" "$TAPOOL" strategies "$hostile"
}

@test "a tapool that another one started says for programs what it does not know" {
    for options in '-s aerna' '-s arena:arena_sice=1' '-s arena:arena_size=many' '--source mars'; do
        # shellcheck disable=SC2086 # words
        _TAPOOL_REASONS=1 capture "$TAPOOL" replay sample:jq $options
        [ "$rc" -eq 2 ]
        matches "$err" '^reason: unknown$'
        # shellcheck disable=SC2086
        capture "$TAPOOL" replay sample:jq $options
        lacks "$err" '^reason'
    done
    _TAPOOL_REASONS=1 capture "$TAPOOL" replay sample:jq --min-tme 1s
    lacks "$err" '^reason'
}
