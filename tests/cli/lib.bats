#!/usr/bin/env bats
# The strategy lib: malloc libraries, preloaded in a process of their own. The libraries are made by
# the build of the tests (tests/mallocs); those of the machine are used where they are there.
load common

setup() {
    sanitized && skip "the sanitizer's malloc cannot be replaced"
    MALLOCS=${TAPOOL_MALLOCS:?}
    enter_folder
    # event 2 and 3 ask for the size at which the odd ones misbehave
    cat >odd.jsonl <<'JSON'
{"format": "tapool-trace", "version": 1, "meta": {"kind": "host"}}
{"op": "alloc", "id": 1, "size": 100}
{"op": "alloc", "id": 2, "size": 7777}
{"op": "alloc", "id": 3, "size": 7777}
{"op": "alloc", "id": 4, "size": 200}
{"op": "free", "id": 1}
{"op": "free", "id": 2}
{"op": "free", "id": 3}
{"op": "free", "id": 4}
JSON
}

# odd NAME ARGUMENT...: a replay of odd.jsonl by a library of the tests.
odd() {
    local name=$1
    shift
    "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/$name.so" --min-time 0 "$@"
}

@test "the calls that a library gets are those of the trace, times the replays" {
    local trace
    export COUNTS_FILE=$PWD/counts
    for trace in sample:jq sample:sqlite; do
        rm -f counts
        # what a process does beside the trace: a replay of 4 calls of malloc and 4 of free
        ok odd counts --passes usage --format json
        ok "$TAPOOL" replay "$trace" -s "lib:$MALLOCS/counts.so" --passes usage,throughput,latency \
            --min-time 1ms --format json
        python3 - "$out" counts <<'PY'
import json, os, subprocess, sys
run = json.load(open(sys.argv[1]))["runs"][0]
base, seen = [[int(w) for w in line.split()] for line in open(sys.argv[2])]
info = subprocess.run([os.environ["TAPOOL"], "info", "--json", run["trace"]["path"]],
                      check=True, capture_output=True)
count = json.loads(info.stdout)["operations"]
allocs, reallocs = count["alloc"], count.get("realloc", 0)
replayed = [(s - b + extra) for s, b, extra in zip(seen, base, (4, 0, 4))]
replays = replayed[0] / allocs
assert replays == int(replays), (replayed, allocs)
assert replayed[1] == replays * reallocs, (replayed, replays, reallocs)
assert replayed[2] == replayed[0], replayed
# usage; cold, then the steady ones; one to warm up, then the latencies. On a machine that is busy one
# replay may be all there is time for: then it is the cold one, and nothing is warmed up.
steady = run["throughput"]["replays"]
told = 1 + run["latency"]["alloc"]["count"] / allocs + (steady + 2 if steady > 1 else 1)
assert told == replays, (told, replays)
PY
    done
}

@test "the heap of system is the program's alone: a .json and its .tpt have the same figures" {
    local name
    for name in jq sqlite python-threads; do
        ok "$TAPOOL" replay "sample:$name" -s system --passes usage --format json
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["memory"])' "$out" >of_json
        ok "$TAPOOL" convert "sample:$name" -o "$name.tpt"
        ok "$TAPOOL" replay "$name.tpt" -s system --passes usage --format json
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["memory"])' "$out" >of_tpt
        cmp of_json of_tpt
    done
}

@test "a library that misbehaves is named in one sentence, with the event" {
    local path="$MALLOCS"
    refused 4 "^tapool: odd.jsonl: 'lib:aborts.so' died of signal 6 \(Aborted\) in its process, before its first event$" odd aborts
    refused 4 "^tapool: odd.jsonl: the first malloc of 'lib:refuses.so' returned NULL$" odd refuses
    refused 4 "^tapool: odd.jsonl: 'lib:exits.so' ended its process with code 23, at event 2$" odd exits
    refused 4 "^tapool: odd.jsonl: 'lib:crashes.so' died of signal 6 \(Aborted\) in its process, at event 2$" odd crashes
    refused 4 "^tapool: odd.jsonl: 'lib:forks.so' forked its process during the replay$" odd forks
    refused 4 "^tapool: odd.jsonl: 'lib:hangs.so' had not ended after 300 ms: it was at event 2$" odd hangs --timeout 300ms
    refused 4 "^tapool: odd.jsonl: event 3: strategy 'lib' returned bytes of the live block of event 2$" odd overlaps --verify
    refused 4 "^tapool: odd.jsonl: event 2: strategy 'lib' returned an address that is not aligned to 16$" odd misaligns --verify
    capture odd overlaps -s "lib:$MALLOCS/silent.so" --verify # beside others it is said of which
    [ "$rc" = 4 ]
    matches "$err" "^tapool: odd.jsonl: lib:overlaps.so: event 3: strategy 'lib' returned bytes"
    refused 3 "^tapool: odd.jsonl: library '.*/no_malloc.so' has no malloc$" odd no_malloc
    refused 3 "half.so' has malloc, but no free$" odd half
}

@test "a file that is no library, or no library for this machine" {
    printf 'no library\n' >text.so
    refused 3 "^tapool: odd.jsonl: library './text.so' is not a shared library$" "$TAPOOL" replay odd.jsonl -s lib:./text.so
    python3 - "$MALLOCS/silent.so" <<'PY'
import sys
raw = bytearray(open(sys.argv[1], "rb").read())
raw[18:20] = (243).to_bytes(2, "little") # e_machine
open("other.so", "wb").write(raw)
raw[18:20] = (62).to_bytes(2, "little")
open("cut.so", "wb").write(raw[:100])
PY
    refused 3 "other.so' is for another machine: riscv, this one is " "$TAPOOL" replay odd.jsonl -s lib:./other.so
    capture "$TAPOOL" replay odd.jsonl -s lib:./cut.so
    [ "$rc" = 3 ]
    matches "$err" "cut.so' is cut off: it has 100 bytes"
    mkdir folder.so
    refused 3 "folder.so' is not a regular file$" "$TAPOOL" replay odd.jsonl -s lib:./folder.so
    mkfifo pipe.so
    refused 3 "pipe.so' is not a regular file$" "$TAPOOL" replay odd.jsonl -s lib:./pipe.so
    refused 2 "^tapool: library './absent.so': No such file or directory$" "$TAPOOL" replay odd.jsonl -s lib:./absent.so
    cp "$MALLOCS/silent.so" "c d.so"
    refused 2 "c d.so' cannot be preloaded: a colon or a blank in a path ends it$" "$TAPOOL" replay odd.jsonl -s "lib:./c d.so"
    mkdir 'd{e},f' 'd}e,f'
    cp "$MALLOCS/silent.so" 'd{e},f/x.so'
    cp "$MALLOCS/silent.so" 'd}e,f/libx.so'
    ok "$TAPOOL" replay odd.jsonl -s 'lib:{./d{e},f/x.so}' --min-time 0
    refused 2 "the braces in option 'library' of strategy 'lib' do not match$" "$TAPOOL" replay odd.jsonl -s 'lib:{./d}e,f/libx.so}'
    TAPOOL_LIBRARY_PATH=$PWD/'d}e,f' refused 2 "^tapool: library '.*/d}e,f/libx.so': the braces in its path do not match$" \
        "$TAPOOL" replay odd.jsonl -s lib:x
    matches "$err" '^hint: .* a file takes a link without them$'
    ln -s "c d.so" e.so
    ok "$TAPOOL" replay odd.jsonl -s lib:./e.so --min-time 0
}

@test "names that are none" {
    refused 2 "^tapool: no malloc library 'jemaloc' was found$" "$TAPOOL" replay odd.jsonl -s lib:jemaloc
    matches "$err" "did you mean 'jemalloc'"
    refused 2 "^tapool: the malloc library 'jemalloc' is not on this machine: libjemalloc.so.2 was not found$" \
        "$TAPOOL" replay odd.jsonl -s lib:jemalloc
    refused 2 "^tapool: 'glibc' cannot be preloaded$" "$TAPOOL" replay odd.jsonl -s lib:glibc
    matches "$err" "'-s system' replays the C library's malloc"
    refused 2 "^tapool: unknown strategy 'mimalloc'$" "$TAPOOL" replay odd.jsonl -s mimalloc
    matches "$err" "^hint: 'lib:mimalloc' is the malloc library of that name$"
    refused 2 "^tapool: unknown strategy 'glibc'$" "$TAPOOL" strategies glibc
    matches "$err" "^hint: 'system' is the C library's malloc$"
    refused 2 '^tapool: --alloc names no allocator$' "$TAPOOL" replay odd.jsonl --alloc ''
    refused 2 "^tapool: library '~/my.so': No such file or directory$" "$TAPOOL" replay odd.jsonl -s 'lib:~/my.so'
    matches "$err" '^hint: a shell replaces ~ only where a word begins: write \$HOME/my.so$'
    refused 3 "^tapool: plugin '~/my.so' is not there$" "$TAPOOL" replay odd.jsonl -s 'plugin:~/my.so'
    matches "$err" 'write \$HOME/my.so$'
    refused 2 "^tapool: 'lib:silent.so' takes its memory from the system itself: no capacity can limit it$" \
        "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/silent.so" --capacity 1MiB
    refused 2 "^tapool: strategy 'lib' needs its library$" "$TAPOOL" replay odd.jsonl -s lib
    matches "$err" 'write lib:NAME\|PATH'
}

@test "a library that writes over the answer of its process is named, and its figures are not believed" {
    local name
    for name in scribbles doodles; do
        refused 4 "^tapool: odd.jsonl: 'lib:$name.so' wrote over memory of tapool in its process$" odd "$name"
        refused 4 "'lib:$name.so' wrote over memory of tapool" odd "$name" --passes usage --format json
        refused 4 "'lib:$name.so' wrote over memory of tapool" odd "$name" --passes mapped --format json
        capture odd "$name" -s system -s arena --json
        [ "$rc" = 4 ]
        is "$out" '[x["strategy"]["label"] for x in d["runs"]]' "['system', 'arena']"
    done
}

# bats test_tags=nightly
@test "what a library leaves behind ends with its process" {
    export LINGERS_FILE=$PWD/pids
    for name in lingers escapes; do
        rm -f pids
        ok odd "$name"
        all_gone pids
        rm pids
        ok "$TAPOOL" compare odd.jsonl -s system -s "lib:$MALLOCS/$name.so" --rounds 2 --min-time 0
        all_gone pids
    done
    # and with a tapool that is ended, alone or as the whole group
    while read -r signal name how; do
        rm pids
        capture timeout $how --preserve-status -s "$signal" 2 "$TAPOOL" compare sample:jq -s system \
            -s "lib:$MALLOCS/$name.so" --rounds 100 --min-time 1s
        [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal"
        all_gone pids
    done <<'END'
INT lingers
INT lingers --foreground
TERM escapes
TERM lingers --foreground
INT escapes --foreground
END
}

@test "strategies: a signal ends a library that does not answer, and tapool" {
    local signal
    mkdir two
    cp "$MALLOCS/stalls.so" two/libhoard.so
    export LINGERS_FILE=$PWD/pids TAPOOL_LIBRARY_PATH=$PWD/two
    for signal in INT TERM; do
        rm -f pids
        capture timeout --foreground --preserve-status -s "$signal" 1 "$TAPOOL" strategies
        [ "$rc" -eq $((128 + $(kill -l "$signal"))) ] || fail "exit code $rc on $signal"
        all_gone pids
        matches "$out" '^  lib:PATH '
        lacks "$out" 'lib:hoard'
    done
}

@test "the other rows are still measured" {
    capture odd aborts -s system -s "lib:$MALLOCS/hangs.so" -s arena --timeout 300ms --export-json x.json
    [ "$rc" = 4 ]
    matches "$out" '^  system +[0-9]'
    matches "$out" '^  arena +[0-9]'
    matches "$out" "^not measured  'lib:aborts.so' died of signal 6"
    matches "$out" "^not measured  'lib:hangs.so' had not ended after 300 ms: it was at event 2$"
    matches "$err" "^tapool: odd.jsonl: 'lib:aborts.so' died"
    python3 -c 'import json
d = json.load(open("x.json"))
assert [r["strategy"]["label"] for r in d["runs"]] == ["system", "arena"], d["runs"]
assert [f["label"] for f in d["failed"]] == ["lib:aborts.so", "lib:hangs.so"], d["failed"]'
}

@test "a library without malloc_usable_size: what it handed out is not known, and not zero" {
    ok odd silent --format json
    is "$out" 'r["memory"]["peak_allocated_bytes"], r["memory"]["internal_fragmentation"]' '(None, None)'
    is "$out" 'r["memory"]["at_trace_peak"]["requested_bytes"]' 15854
    is "$out" 'r["strategy"]["library"]' silent.so
    ok odd silent --verify
    lacks "$out" rounding
    ok "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/silent.so,sized" --min-time 0
    refused 2 "has no call that frees a block of a known size" \
        "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/counts.so,sized" --min-time 0
}

@test "what a library adds at start is in its total resident memory" {
    ok odd weighs --format json
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["runs"][0]["resident"]
assert 15 << 19 <= r["start_bytes"] < 10 << 20, r
assert r["total_bytes"] == r["peak_bytes"] + r["start_bytes"] and r["peak_bytes"] < 2 << 20, r' "$out"
    ok odd weighs
    matches "$out" '^ +\+ +[78][.0-9]* MiB +added by the library at start$'
    matches "$out" '^ +\+ +[78][.0-9]* MiB +at start, by the library +[78][.0-9]* MiB$'
    ok "$TAPOOL" replay odd.jsonl -s system -s "w=lib:$MALLOCS/weighs.so" --min-time 0
    matches "$out" '^ +w +[0-9.]+ KiB +[78][.0-9]* MiB +[78][.0-9]* MiB '
    matches "$out" '^ +system +[0-9.]+ KiB +- +[0-9.]+ KiB '
}

@test "a library's clock goes as the recorded one: what it gives back after a while is given back" {
    for last in 1000000 20000000000; do # 1 ms, 20 s
        trace '{"op":"alloc","id":1,"size":4321,"t":0}' '{"op":"alloc","id":2,"size":100,"t":500000}' \
            "{\"op\":\"free\",\"id\":1,\"t\":$last}" "{\"op\":\"free\",\"id\":2,\"t\":$last}" >times.jsonl
        ok "$TAPOOL" replay times.jsonl -s "lib:$MALLOCS/expires.so" --passes resident --json
        query "$out" 'r["resident"]["end_bytes"] < 1 << 20'
    done >given_back
    printf '%s\n' False True | diff - given_back
}

@test "env= sets variables for the process alone, and is in the label and in the options" {
    ok "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/counts.so,env=COUNTS_FILE=$PWD/first" \
        -s "lib:$MALLOCS/counts.so,env={COUNTS_FILE=$PWD/a,b},env=OTHER=1" --passes usage --format json
    [ -s first ] && [ -s a,b ]
    python3 -c 'import json, os, sys
s = [r["strategy"] for r in json.load(open(sys.argv[1]))["runs"]]
cwd = os.getcwd()
assert s[0]["options"]["env"] == f"COUNTS_FILE={cwd}/first", s
assert s[1]["options"]["env"] == f"COUNTS_FILE={cwd}/a,b,OTHER=1", s
assert s[0]["label"].startswith("lib:counts.so,env=COUNTS_FILE="), s
assert s[0]["label"] != s[1]["label"], s' "$out"
    ok "$TAPOOL" replay sample:sqlite -s system -s system,env=X=1 --passes usage --format json || true
    ok "$TAPOOL" replay sample:python-threads -s system -s big=system:env=MALLOC_TOP_PAD_=16777216 --passes usage --format json
    python3 -c 'import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
few, many = (r["memory"]["peak_reserved_bytes"] for r in runs)
assert many > few + 10000000, (few, many)
assert "env" not in runs[0]["strategy"]["options"]' "$out"
    for name in LD_PRELOAD=x LD_LIBRARY_PATH=x LD_AUDIT=x TAPOOL_CONFIG=x _TAPOOL_REASONS=1; do
        refused 2 "may not set ${name%%=*}, which is not the allocator's own$" \
            "$TAPOOL" replay odd.jsonl -s "system:env=$name"
    done
    refused 2 "^tapool: env of 'system' sets A twice: 'A=1' and 'A=2'$" \
        "$TAPOOL" replay odd.jsonl -s system:env=A=1,env=AB=1,env=A=2
    for name in '' X 1X=2 '=2' 'A B=1'; do
        refused 2 "sets no variable$" "$TAPOOL" replay odd.jsonl -s "system:env=$name"
    done
}

@test "a setting that the library refuses on standard error is an error" {
    refused 2 "refuses a setting: <jemalloc>: Invalid conf value: bar:1,foo:2$" \
        "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/rejects.so,env={MALLOC_CONF=bar:1,foo:2}"
    ok "$TAPOOL" replay odd.jsonl -s "lib:$MALLOCS/rejects.so,env=MALLOC_CONF=bar:1" --passes usage --json
}

# bats test_tags=nightly
@test "a library with threads of its own: why several have no figure against one" {
    local note="vs 1 thread: not known for a library with threads of its own"
    "$TAPOOL" gen web-server --count 60 --live 100 --threads 2 -o web.tpt >/dev/null
    threads() { "$TAPOOL" "$1" web.tpt -s system -s "lib:$MALLOCS/$2.so" --threads 2 --min-time 0 "${@:3}"; }
    ok threads replay helped --json
    is "$out" '[x["throughput"]["speedup"] is None for x in d["runs"]]' '[False, True]'
    ok threads replay helped
    matches "$out" "^  $note\\.$"
    ok "$TAPOOL" replay web.tpt -s "lib:$MALLOCS/helped.so" --threads 2 --min-time 0
    matches "$out" "^ +$note$"
    lacks "$out" ' - of one thread'
    ok threads compare helped --rounds 2 -v
    matches "$out" "^  $note$"
    ok threads replay silent
    lacks "$out" "$note"
}

@test "what a library prints is no part of the output" {
    capture odd prints --format json
    [ "$rc" = 0 ]
    python3 -m json.tool "$out" >/dev/null
    [ "$(sort -u "$err")" = hello ]
}

@test "libraries by name: found in the folders of TAPOOL_LIBRARY_PATH, listed, and in the usual set" {
    mkdir one two
    cp "$MALLOCS/silent.so" two/libmimalloc.so.2
    cp "$MALLOCS/counts.so" two/libjemalloc.so.2
    printf 'INPUT(libx.so)\n' >one/libjemalloc.so.2 # a linker script, which is passed over
    export TAPOOL_LIBRARY_PATH=$PWD/one:$PWD/two
    ok "$TAPOOL" strategies
    matches "$out" '^  lib:jemalloc +2 +host +libjemalloc.so.2$'
    matches "$out" '^  lib:mimalloc +2 +host +libmimalloc.so.2$'
    lacks "$out" 'tcmalloc  '
    ok "$TAPOOL" replay odd.jsonl --min-time 0 --format json
    is "$out" '[x["strategy"]["label"] for x in d["runs"]]' "['system', 'lib:jemalloc', 'lib:mimalloc', 'arena']"
    ok "$TAPOOL" replay odd.jsonl --min-time 0 --alloc mimalloc,glibc,arena --format json
    is "$out" '[x["strategy"]["label"] for x in d["runs"]]' "['lib:mimalloc', 'system', 'arena']"
    refused 2 "no malloc library 'nonsense'" "$TAPOOL" replay odd.jsonl --alloc glibc,nonsense
    cp "$MALLOCS/aborts.so" two/libhoard.so
    ok "$TAPOOL" strategies
    matches "$out" "^  lib:hoard +- +- +not here: 'lib:hoard' died of signal 6"
    export TAPOOL_LIBRARY_PATH=
    ok "$TAPOOL" replay odd.jsonl --min-time 0 --format json
    is "$out" '[x["strategy"]["label"] for x in d["runs"]]' "['system', 'arena']"
}

@test "the libraries of this machine replay and keep every block" {
    unset TAPOOL_LIBRARY_PATH
    ok "$TAPOOL" strategies
    found=$(awk '/^  lib:[a-z]/ && $3 == "host" { print $1 }' "$out")
    [ -n "$found" ] || skip "there is no malloc library"
    for name in $found; do
        ok "$TAPOOL" replay sample:sqlite -s "$name" --verify --passes usage,throughput --format json ||
            ok "$TAPOOL" replay sample:sqlite -s "$name" --verify
    done
}

# bats test_tags=nightly
@test "compare measures the other libraries, says which one it could not, and ends with its code" {
    capture "$TAPOOL" compare odd.jsonl -s system -s "lib:$MALLOCS/hangs.so" -s "lib:$MALLOCS/counts.so" \
        --rounds 2 --min-time 0 --timeout 300ms --json
    [ "$rc" = 4 ]
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert [r["label"] for r in d["tables"][0]["rows"]] == ["system", "lib:counts.so"], d["tables"][0]["rows"]' "$out"
    matches "$out" "not measured: 'lib:hangs.so' had not ended after 300 ms: it was at event 2"
    matches "$err" "^tapool: 'lib:hangs.so' had not ended after 300 ms: it was at event 2$"
    ok "$TAPOOL" compare odd.jsonl --alloc glibc,arena --rounds 2 --min-time 0
    refused 4 "'lib:hangs.so' had not ended" "$TAPOOL" compare odd.jsonl -s system -s "lib:$MALLOCS/hangs.so" --rounds 2 --timeout 300ms
}

@test "compare: each of several libraries that fail is named, also where too few are left" {
    local bad=(-s "lib:$MALLOCS/exits.so" -s "lib:$MALLOCS/aborts.so" -s "lib:$MALLOCS/crashes.so")
    capture "$TAPOOL" compare odd.jsonl "${bad[@]}" -s system -s arena --rounds 2 --min-time 0 --format csv
    [ "$rc" = 4 ]
    for name in exits aborts crashes; do
        matches "$err" "^tapool: 'lib:$name.so' "
    done
    [ "$(wc -l <"$err")" = 3 ]
    matches "$out" '^odd.jsonl,arena,'
    capture "$TAPOOL" compare odd.jsonl "${bad[@]}" -s arena --rounds 2 --min-time 0
    [ "$rc" = 4 ]
    for name in exits aborts crashes; do
        matches "$err" "^tapool: 'lib:$name.so' "
    done
    [ "$(wc -l <"$err")" = 3 ]
}

# bats test_tags=nightly
@test "compare: where the base of one of several traces fails, no ratios to different bases are averaged" {
    local sides=(-s "lib:$MALLOCS/exits.so" -s system -s arena --rounds 2 --min-time 0)
    capture "$TAPOOL" compare odd.jsonl sample:jq "${sides[@]}" --json
    [ "$rc" = 4 ]
    matches "$err" "^tapool: odd.jsonl: 'lib:exits.so' ended its process with code 23, at event 2$"
    is "$out" '[d["geometric_means"], len(d["tables"])]' '[[], 2]'
    is "$out" 'sum("odd.jsonl: compared with %ssystem%s instead of %slib:exits.so" % (3 * (chr(39),)) in n for n in d["notes"])' 1
    is "$out" '[n for n in d["notes"] if "geometric" in n]' "['no geometric means: not every trace has the same base']"
    capture "$TAPOOL" compare odd.jsonl sample:jq "${sides[@]}" --base system --json
    [ "$rc" = 4 ]
    is "$out" '[len(d["geometric_means"]) > 0, any("geometric" in n or "instead" in n for n in d["notes"])]' '[True, False]'
}

# worn COMMAND...: runs it with a library that dies at the third block of its odd size from the end.
worn() {
    export WEAR_FILE=$PWD/wear
    unset WEAR
    rm -f wear
    capture "$@"
    WEAR=$(($(wc -c <wear) - 2))
    export WEAR
    rm wear
    capture "$@"
}

# bats test_tags=nightly
@test "compare: a library that dies in a later round is left out, and the others are compared" {
    local name="$MALLOCS/wears_out.so"
    worn "$TAPOOL" compare odd.jsonl -s "lib:$name" -s system -s arena --rounds 3 --min-time 0 --json
    [ "$rc" = 4 ]
    one_sentence "$err"
    matches "$err" "^tapool: 'lib:wears_out.so' died of signal 6 \\(Aborted\\) in its process, between events 1 and 8$"
    matches "$out" "not measured: 'lib:wears_out.so' died of signal 6"
    python3 - "$out" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["tables"][0]["rows"]
assert [r["label"] for r in rows] == ["system", "arena"], rows
PY
    ok "$TAPOOL" compare odd.jsonl -s system -s arena --rounds 3 --min-time 0 # as without it
    worn "$TAPOOL" compare odd.jsonl -s system -s "lib:$name" -s arena --base lib:wears_out.so --rounds 3 --min-time 0
    [ "$rc" = 4 ]
    matches "$out" "compared with 'system' instead of 'lib:wears_out.so'"
}

# bats test_tags=nightly
@test "check: a library that fails is the failure of its cell, and the others are judged" {
    cp "$MALLOCS/silent.so" good.so
    cp "$MALLOCS/wears_out.so" bad.so
    export WEAR_FILE=$PWD/wear
    ok "$TAPOOL" check odd.jsonl -s bad=lib:./bad.so -s good=lib:./good.so -s arena --update
    sed -i 's/"peak_reserved": [0-9]*/"peak_reserved": 1/' tapool-baseline.json
    export WEAR=1
    capture "$TAPOOL" check -s bad=lib:./bad.so -s good=lib:./good.so -s arena --base-bin "$TAPOOL" --pairs 13 --min-time 0 --export-json x.json
    [ "$rc" = 4 ] || fail "exit code $rc" "$(cat "$err")"
    one_sentence "$err"
    matches "$err" "^tapool: odd.jsonl, bad: 'lib:bad.so' died of signal 6 \\(Aborted\\) in its process, at event 2$"
    matches "$out" '^REGRESSION  odd.jsonl, arena$'
    matches "$out" "not in: odd.jsonl, bad: 'lib:bad.so' died of signal 6"
    matches "$out" ' 2 of 3 cells '
    matches "$out" '^FAIL \(some memory and counts, some instructions, some latency only\)' ||
        matches "$out" '^FAIL \(some memory and counts, some latency only\)' # nothing counts here
    python3 - <<'PY'
import json
d = json.load(open("x.json"))
assert d["exit_code"] == 4 and "bad" in d["error"], d["error"]
judged = {f["strategy"] for f in d["findings"]}
assert judged == {"arena", "good"}, judged
PY
}

# bats test_tags=nightly
@test "check: each of several cells that fail is named, with its reason" {
    cp "$MALLOCS/wears_out.so" bad.so
    cp "$MALLOCS/wears_out.so" worse.so
    local cells=(-s bad=lib:./bad.so -s arena -s worse=lib:./worse.so)
    export WEAR_FILE=$PWD/wear
    ok "$TAPOOL" check odd.jsonl "${cells[@]}" --update
    export WEAR=1
    capture "$TAPOOL" check "${cells[@]}" --export-json x.json
    [ "$rc" = 4 ]
    for name in bad worse; do
        matches "$out" "odd.jsonl, $name: 'lib:$name.so' died of signal 6 \\(Aborted\\) in its process, at event 2"
        matches "$err" "^tapool: odd.jsonl, $name: 'lib:$name.so' died of signal 6 \\(Aborted\\) in its process, at event 2$"
    done
    [ "$(wc -l <"$err")" = 2 ]
    python3 -c 'import json
cells = {c["strategy"]: c["error"] for c in json.load(open("x.json"))["cells"]}
assert not cells["arena"], cells
assert all(f"lib:{n}.so" in cells[n] for n in ("bad", "worse")), cells'
    capture "$TAPOOL" check -s bad=lib:./bad.so -s worse=lib:./worse.so # and nothing was measured
    [ "$rc" = 4 ]
    [ "$(grep -c '^tapool: odd.jsonl, ' "$err")" = 2 ]
}

# bats test_tags=nightly
@test "check: the cells of a library are compared live with those of another, and are never exact" {
    cp "$MALLOCS/silent.so" libmy.so
    cp "$MALLOCS/pads.so" old.so
    ok "$TAPOOL" check sample:jq -s my=lib:./libmy.so --update
    matches "$out" 'my: 0 exact values'
    refused 3 "only the command line may name" "$TAPOOL" check
    capture "$TAPOOL" check -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms --export-json check.json
    [ "$rc" -le 1 ] # a time may differ or not; what is compared is said
    matches "$out" '^ +memory and counts +vs ./old.so, resident in 11 pairs +1 of 1 cell '
    matches "$out" 'latency +vs ./old.so, 12 pairs'
    ok "$TAPOOL" check -s my=lib:./libmy.so --base-lib ./libmy.so --pairs 12 --min-time 1ms
    cp "$MALLOCS/pads.so" libmy.so # holds more for each block, which no time need show
    cp "$MALLOCS/silent.so" old.so
    capture "$TAPOOL" check -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms --format json
    [ "$rc" = 1 ]
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
worse = {f["metric"] for f in d["findings"] if f["verdict"] == "regression"}
assert {"peak_mapped", "mapped_at_peak", "resident_at_peak", "peak_resident"} <= worse, worse' "$out"
    # both forms of a tolerance are those of the command line
    ok "$TAPOOL" check sample:jq -s my=lib:./libmy.so --update --tolerance resident_at_peak=900% --tolerance peak_resident=64MiB
    matches "$out" '^tolerance all cells: resident_at_peak 5% \(default\) -> 900%$'
    matches "$out" '^tolerance all cells: peak_resident 5% \(default\) -> 64 MiB$'
    capture "$TAPOOL" check -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms --format json
    [ "$rc" = 1 ]
    python3 -c 'import json, sys
of = {f["metric"]: f for f in json.load(open(sys.argv[1]))["findings"]}
assert of["peak_mapped"]["verdict"] == "regression", of
peak, at = of["peak_resident"], of["resident_at_peak"]
assert (peak["verdict"], at["verdict"]) == ("unchanged", "unchanged"), (peak, at)
assert abs(at["allowed"] - 9) < 1e-9 and abs(peak["allowed"] - (64 << 20) / peak["base"]) < 1e-9, (peak, at)' "$out"
    refused 2 "^tapool: 'mapped_puts' has no tolerance: it decides nothing$" \
        "$TAPOOL" check sample:jq -s my=lib:./libmy.so --update --tolerance mapped_puts=1
    rm tapool-baseline.json
    refused 2 "library './absent.so': No such file" "$TAPOOL" check -s my=lib:./libmy.so --base-lib ./absent.so
    ok "$TAPOOL" check sample:jq -s arena --update
    refused 2 "^tapool: --base-lib is about malloc libraries, and cell 'arena' replays none$" \
        "$TAPOOL" check -s arena --base-lib ./old.so
}

# Writes keeps.jsonl: a library that gives nothing back has 8 MiB of free pages at its end.
keeps_trace() {
    local i
    for i in 1 2 3 4 5 6 7 8; do printf '{"op":"alloc","id":%d,"size":1048576}\n' "$i"; done >lines
    echo '{"op":"alloc","id":9,"size":100}' >>lines
    for i in 1 2 3 4 5 6 7 8; do printf '{"op":"free","id":%d}\n' "$i"; done >>lines
    mapfile -t lines <lines
    trace "${lines[@]}" >keeps.jsonl
}

@test "compare: --fail-on knows the parts of resident memory, and a few pages are no change" {
    keeps_trace
    local sides=(-s "base=lib:$MALLOCS/silent.so" -s "keeps=lib:$MALLOCS/keeps.so" --rounds 2 --min-time 0)
    capture "$TAPOOL" compare keeps.jsonl "${sides[@]}" --fail-on 'end_free_pages>+5%'
    [ "$rc" = 1 ]
    matches "$err" '^tapool: end_free_pages>\+5%: keeps.jsonl, keeps: [0-9.]+ MiB vs [0-9.]+ K?i?B of base, '
    not matches "$out" 'free pages' # which no table has unasked
    ok "$TAPOOL" compare keeps.jsonl "${sides[@]}" --fail-on 'end_partly_free>+5%' --fail-on 'end_free_pages>+9MiB' \
        --metric end_free_pages --metric end_partly_free
    matches "$out" 'free pages +partly free'
}

# bats test_tags=nightly
@test "check: free pages that a library no longer gives back fail, and are named beside resident memory" {
    keeps_trace
    cp "$MALLOCS/silent.so" old.so
    cp "$MALLOCS/keeps.so" libmy.so
    capture "$TAPOOL" check keeps.jsonl -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms \
        --export-json check.json --export-markdown check.md --export-html check.html --export-junit check.xml
    [ "$rc" = 1 ]
    python3 -c 'import json
of = {f["metric"]: f for f in json.load(open("check.json"))["findings"]}
free, end, partly = of["end_free_pages"], of["end_resident"], of["end_partly_free"]
assert end["verdict"] == free["verdict"] == "regression" and partly["verdict"] == "unchanged", of
assert end["grown"]["metric"] == "end_free_pages" and free["grown"] is None, end
assert 15 << 19 < end["grown"]["now"] - end["grown"]["base"] <= 8 << 20, end
assert free["base"] >= 65536 or free["change"] is None, free'
    for file in "$out" check.md check.html check.xml; do
        grep 'free pages after the last event +[78][.0-9]* MiB' "$file"
    done
    capture "$TAPOOL" check keeps.jsonl -s my=lib:./old.so --base-lib ./libmy.so --pairs 12 --min-time 1ms --format json
    python3 -c 'import json, sys
of = {f["metric"]: f["verdict"] for f in json.load(open(sys.argv[1]))["findings"]}
assert of["end_resident"] == of["end_free_pages"] == "better", of' "$out"
}

# bats test_tags=nightly
@test "check: instructions of a library are counted twice, and a small slowdown is found" {
    command -v valgrind >/dev/null || skip "valgrind is not installed (apt install valgrind)"
    cp "$MALLOCS/turns.so" libmy.so
    cp "$MALLOCS/silent.so" old.so
    capture "$TAPOOL" check sample:jq -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms --format json
    [ "$rc" = 1 ]
    python3 -c 'import json, sys
f = {f["metric"]: f for f in json.load(open(sys.argv[1]))["findings"]}["instructions"]
assert f["verdict"] == "regression" and 0.003 < f["change"] < 0.05 and f["allowed"] == 0.003, f' "$out"
    cp old.so libmy.so
    capture "$TAPOOL" check sample:jq -s my=lib:./libmy.so --base-lib ./old.so --pairs 12 --min-time 1ms --format json
    python3 -c 'import json, sys
f = {f["metric"]: f for f in json.load(open(sys.argv[1]))["findings"]}["instructions"]
assert f["verdict"] == "unchanged" and f["now"] == f["base"], f' "$out"
}

# repeated OUTPUT: runs what its last line says again; the shell reads it.
repeated() { eval "capture $(sed -n 's/^  rerun:  //p' "$1")"; }

# bats test_tags=nightly
@test "check: two libraries need no baseline, and what failed can be repeated as it is printed" {
    mkdir main
    cp "$MALLOCS/pads.so" 'lib my.so'
    ln -s 'lib my.so' libmy.so
    cp "$MALLOCS/silent.so" main/libmy.so
    cat >old-tapool <<SH
#!/bin/sh
echo "\$*" >>old-arguments
exec "$TAPOOL" "\$@"
SH
    chmod +x old-tapool
    capture "$TAPOOL" check sample:jq -s my=lib:./libmy.so --base-lib main/libmy.so --pairs 12 --min-time 1ms \
        --base-bin ./old-tapool
    [ "$rc" = 1 ]
    matches "$out" '^no baseline'
    matches "$out" '^REGRESSION  jq.json, my$'
    matches "$out" 'memory and counts +vs main/libmy.so, resident in 11 pairs +1 of 1 cell'
    matches "$out" 'instructions +(vs main/libmy.so, callgrind|NOT CHECKED: valgrind)'
    matches old-arguments 'throughput'
    lacks old-arguments 'mapped' # the libraries differ, and not what replays them
    matches "$out" '^  rerun: .* check sample:jq -s my=lib:./libmy.so '
    not test -e tapool-baseline.json
    refused 2 'there is no tapool-baseline.json' "$TAPOOL" check sample:jq -s my=lib:./libmy.so
    matches "$err" '^hint: to make one and commit it: '
    refused 2 'there is no tapool-baseline.json' "$TAPOOL" check -s my=lib:./libmy.so --base-lib main/libmy.so
    matches "$err" '^hint: two libraries need no baseline: name the traces'
    # beside a baseline that has other cells, and one that has another cell of this label
    ok "$TAPOOL" check sample:jq -s arena -s my=lib:./main/libmy.so --update
    refused 2 "has no cell of the strategy 'new=lib:./libmy.so'$" \
        "$TAPOOL" check -s new=lib:./libmy.so --base-lib main/libmy.so
    matches "$err" '^hint: two libraries need no baseline: name the traces'
    capture "$TAPOOL" check sample:jq -s my=lib:./libmy.so --base-lib main/libmy.so --pairs 12 --min-time 1ms
    [ "$rc" = 1 ]
    matches "$out" '^REGRESSION  jq.json, my$'
    matches "$out" ' 1 of 1 cell '
    # a trace that is not stored, of a label that is; and a label that is not beside one that is
    capture "$TAPOOL" check sample:sqlite -s my=lib:./libmy.so --base-lib main/libmy.so --pairs 12 --min-time 1ms
    [ "$rc" = 1 ]
    matches "$out" '^REGRESSION  sqlite.json, my$'
    capture "$TAPOOL" check sample:jq -s my=lib:./main/libmy.so -s new=lib:./libmy.so --base-lib main/libmy.so \
        --pairs 12 --min-time 1ms
    [ "$rc" = 1 ]
    matches "$out" '^REGRESSION  jq.json, new$'
    lacks "$out" '^REGRESSION  jq.json, my$'
    # a cell of the baseline, whose file only the command line may name
    ok "$TAPOOL" check sample:jq -s my=lib:./libmy.so --update
    capture "$TAPOOL" check -s my=lib:./libmy.so --base-lib main/libmy.so --pairs 12 --min-time 1ms
    [ "$rc" = 1 ]
    cp "$out" first
    repeated first
    [ "$rc" = 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$out" '^REGRESSION  jq.json, my$'
}

# bats test_tags=nightly
@test "check: instructions are not counted in the cells of a library, and are in the others" {
    cp "$MALLOCS/silent.so" libmy.so
    ok "$TAPOOL" check sample:python-threads -s my=lib:./libmy.so --update
    lacks tapool-baseline.json instructions
    capture "$TAPOOL" check -s my=lib:./libmy.so --base-bin "$TAPOOL" --pairs 12 --min-time 0 --require instructions
    [ "$rc" = 1 ]
    matches "$out" 'instructions +NOT CHECKED, though required: those of a malloc library are not exact$'
    ok "$TAPOOL" check sample:python-threads -s arena --update
    capture "$TAPOOL" check -s my=lib:./libmy.so -s arena
    matches "$out" 'instructions .* 1 of 2 cells ' || skip "nothing counts instructions here"
    lacks "$out" 'not in every cell: .*my'
}

@test "how to replay one library in detail is said whole and as a shell takes it" {
    local folder='./a-folder-of-some-length/and-$another-one-in-it'
    mkdir -p "$folder"
    cp "$MALLOCS/silent.so" "$folder/lib.so"
    ok "$TAPOOL" replay odd.jsonl -s "lib:$folder/lib.so" -s system --min-time 0
    grep -F " -s 'lib:$folder/lib.so' " <(tr '\n' ' ' <"$out")
    refused 2 'runs only in its own process$' \
        "$TAPOOL" strategies --conformance "lib:$folder/lib.so"
    matches "$err" "^hint: 'tapool replay TRACE -s 'lib:./a-folder-of-some-length/and-.another-one-in-it/lib.so' --verify' "
}

@test "tapool strategies lib: its options, and how a program gets such a library" {
    ok "$TAPOOL" strategies lib
    matches "$out" 'Set them as -s lib:NAME\|PATH,OPTION=VALUE'
    matches "$out" '^  LD_PRELOAD=libmimalloc.so.2 ./server'
    refused 2 "'lib:silent.so' runs only in its own process$" \
        "$TAPOOL" strategies --conformance "lib:$MALLOCS/silent.so"
}

@test "what pages hold adds up to what the kernel says, for a malloc and a strategy, by the recorded threads" {
    for sample in python-threads sqlite; do
        ok "$TAPOOL" replay "sample:$sample" -s system -s arena -s "weighs=lib:$MALLOCS/weighs.so" --passes resident --json
        cp "$out" pages.json
        ! sanitized || continue
        python3 -S -E - <<'END'
import json
for run in json.load(open("pages.json"))["runs"]:
    r = run["resident"]
    for at in "at_peak", "end":
        pages = {name[len(at) + 7:-6]: value for name, value in r.items() if name.startswith(at + "_pages_")}
        errors = [pages.pop(name) for name in list(pages) if name.endswith("_error")]
        assert errors == 6 * [0] and r["pages_every"] == 1, (run["label"], errors)
        assert sorted(pages) == ["free_pages", "live", "own", "partly_free", "resident", "rounding"], pages
        assert sum(pages.values()) == 2 * pages["resident"], (run["label"], pages)
        assert r[at + "_low_bytes"] <= pages["resident"] <= r[at + "_high_bytes"], (run["label"], at, r)
        assert pages["live"] > 4096 and pages["free_pages"] > 4096, pages
END
    done
    sanitized || ok "$TAPOOL" replay sample:sqlite -s arena --min-time 0
    sanitized || matches "$out" '^ +\+ +[0-9.]+ [KMG]iB +partly free pages +[0-9.]+ [KMG]?i?B$'
}

@test "a library that forbids the page map: pages are found by mincore, and the screen says so" {
    ok "$TAPOOL" replay sample:sqlite -s system -s "forbids=lib:$MALLOCS/forbids.so" --passes resident --json
    python3 -S -E - "$out" <<'END'
import json, sys
system, forbids = [run["resident"] for run in json.load(open(sys.argv[1]))["runs"]]
assert (system["pages_by"], forbids["pages_by"]) == ("pagemap", "mincore"), (system, forbids)
for part in "resident", "live", "partly_free", "free_pages", "own":  # both are glibc's malloc
    a, b = [r["at_peak_pages_%s_bytes" % part] for r in (system, forbids)]
    assert abs(a - b) <= max(a, b) / 4 + 65536, (part, a, b)
END
    ok "$TAPOOL" replay sample:sqlite -s "forbids=lib:$MALLOCS/forbids.so" --min-time 0
    matches "$out" '^ +by mincore, because /proc/self/pagemap cannot be read'
}

@test "live blocks in shared mappings are counted, and are in no part of the pages" {
    local by
    for by in "" SHARED_ANONYMOUS=1; do
        ok env $by "$TAPOOL" replay sample:sqlite -s "shared=lib:$MALLOCS/shared.so" --min-time 0
        matches "$out" '^ +308\.1 KiB \(at the end 9\.28 KiB\) of live blocks in shared mappings'
        matches "$out" '^ +0 B +live +0 B$'
    done
    ok "$TAPOOL" replay sample:sqlite -s system --min-time 0
    ! grep -q "in shared mappings" "$out"
}

@test "locked memory is told" {
    ok odd locks
    matches "$out" '^ +(12|16|20) KiB \(at the end (12|16|20) KiB\) locked \(mlock\): MADV_DONTNEED and MADV_FREE'
    ok odd locks --json
    grep -qE '"end_locked_bytes":[[:space:]]*(12288|16384|20480)' "$out"
}
