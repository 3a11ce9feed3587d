# What the tests of the command line share: where things are, running, comparing with golden files.
#
# Environment: TAPOOL (the binary), TAPOOL_ROOT (the repository), UPDATE_GOLDEN=1 (rewrite golden/).
# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the tests

TAPOOL_ROOT=${TAPOOL_ROOT:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
if [ ! -x "${TAPOOL:-}" ]; then
    echo "TAPOOL is not set to a tapool binary" >&2
    exit 1
fi
CLI=$TAPOOL_ROOT/tests/cli
[ -z "${TAPOOL_PYTHON_FOLDER:-}" ] || PATH=$TAPOOL_PYTHON_FOLDER:$PATH
SAMPLES=$TAPOOL_ROOT/traces/samples
unset TAPOOL_SAMPLES NO_COLOR
export TAPOOL_CUDA_DRIVER=/nonexistent # no test depends on the machine's GPU; cuda.bats has its own
export TAPOOL_LIBRARY_PATH=             # nor on its malloc libraries; lib.bats has its own
export TAPOOL_CONFIG=                   # nor on a .tapool.ini of the one who runs it
export TAPOOL LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1}

# Each test works in a folder of its own; `run_dir` files are not in it, so that it can be listed.
enter_folder() {
    SCRATCH=$(mktemp -d)
    WORK=$SCRATCH/work
    mkdir "$WORK"
    cd "$WORK" || exit 1
}

setup() { enter_folder; }

teardown() {
    cd / || exit 1
    rm -rf "$SCRATCH"
}

# tool COMMAND...: see cli_tools.py. A Python takes longer to start than tapool, so one serves all tests of a file.
tool() {
    local served=${BATS_FILE_TMPDIR:-}/tools port key fds=/proc/$BASHPID/fd in out there status
    if [[ $1 != @(mask|width|json) ]] || ! serve_tools "$served"; then
        python3 -S -E "$CLI/cli_tools.py" "$@"
        return
    fi
    read -r port key <"$served"
    exec {in}<&0 {out}>&1 {there}<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s\0' "$key" "$PWD" "$fds/$in" "$fds/$out" "$fds/2" "$@" '' >&"$there"
    read -r -u "$there" status
    exec {in}<&- {out}>&- {there}>&-
    return "${status:-1}"
}

# serve_tools FILE: the port and the key of the server are in it, or there can be none here.
serve_tools() {
    local i
    [ ! -s "$1" ] || return 0
    [ -d "${1%/*}" ] && [ ! -e "$1.none" ] || return 1
    python3 -S -E "$CLI/cli_tools.py" serve "$1" </dev/null >/dev/null 2>&1 3>&- &
    for ((i = 0; i < 500; i++)); do
        [ ! -s "$1" ] || return 0
        sleep 0.02
    done
    : >"$1.none"
    return 1
}

# plain FILE: printable ASCII, tabs and lines. No process is started to see it.
plain() {
    local LC_ALL=C text
    ! IFS= read -r -d '' text <"$1" || return 1 # there is a byte 0
    [[ $text != *[!$'\t\n -~']* ]]
}

# harmless FILE: UTF-8 without anything that steers a terminal or turns the direction of reading.
harmless() {
    plain "$1" && return
    iconv -f UTF-8 -t UTF-32 "$1" >/dev/null || fail "not UTF-8" || return 1
    ! LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$1" ||
        fail "steers the terminal:" "$(head -c 400 "$1" | cat -v)"
}

sanitized() { "$TAPOOL" --version | grep -qE 'address|thread'; }

fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# capture CMD...: runs it; $rc, and $out and $err (files).
capture() {
    out=$SCRATCH/stdout err=$SCRATCH/stderr rc=0
    "$@" >"$out" 2>"$err" || rc=$?
}

# ok CMD...: like capture, and it must succeed without a word on stderr.
ok() {
    capture "$@"
    [ "$rc" -eq 0 ] || fail "exit code $rc of: $*" "$(cat "$err")" || return 1
    [ ! -s "$err" ] || fail "words on stderr of: $*" "$(cat "$err")"
}

# A short replay. Where a trace is replayed once (--min-time 0) counts of calls are exact.
# Times of threads are another number each time, so one replays where a test does not say how many.
by_one() { [[ " $* " == *" --threads "* ]] || echo --threads=1; }
# shellcheck disable=SC2046 # a word, or none
replay() { "$TAPOOL" replay --min-time 1ms $(by_one "$@") "$@"; }
# shellcheck disable=SC2046
replay_once() { "$TAPOOL" replay --min-time 0 $(by_one "$@") "$@"; }

# one_sentence FILE: an error as the user must see it.
one_sentence() {
    local words
    mapfile words <"$1"
    [[ ${words[0]} =~ ^'tapool: '.*[^.]$'\n'$ ]] || fail "no 'tapool: ...' sentence:" "$(cat "$1")" || return 1
    [ "${#words[@]}" -eq 1 ] || { [ "${#words[@]}" -eq 2 ] && [[ ${words[1]} == 'hint: '*$'\n' ]]; } ||
        fail "more than a sentence and a hint:" "$(cat "$1")" || return 1
    harmless "$1"
}

# refused CODE REGEX CMD...: fails with that code, one sentence that matches, and nothing on stdout.
refused() {
    local code=$1 regex=$2
    shift 2
    capture "$@"
    [ "$rc" -eq "$code" ] || fail "exit code $rc, not $code, of: $*" "$(cat "$err")" || return 1
    [ ! -s "$out" ] || fail "something on stdout of: $*" "$(head -c 500 "$out")" || return 1
    one_sentence "$err" || return 1
    grep -qE -- "$regex" "$err" || fail "does not match '$regex':" "$(cat "$err")"
}

# needs_jsonschema: sets `python` to the first that has the module; the one in PATH may be another than the
# system's. Skips the test where none has.
needs_jsonschema() {
    for python in python3 /usr/bin/python3; do
        ! "$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || return 0
    done
    skip "the Python module jsonschema is not installed (apt install python3-jsonschema)"
}

# schema WORD ARGUMENT...: see schema_check.py.
schema() {
    needs_jsonschema
    capture "$python" "$CLI/schema_check.py" "$@"
    [ "$rc" -eq 0 ] || fail "$*" "$(cat "$out" "$err")"
}

# Skips the test where this tapool can write no pages.
needs_pages() {
    capture "$TAPOOL" replay sample:jq -s arena --export-html probe.html --min-time 0
    ! grep -q 'built without dygraphs' "$err" || skip "built without dygraphs: no pages"
}

# not CMD...: in bats a bare ! fails no test.
not() { ! "$@" || fail "succeeded: $*"; }

# matches FILE REGEX
matches() { grep -qE -- "$2" "$1" || fail "nothing matches '$2' in:" "$(head -c 1500 "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || fail "something matches '$2' in:" "$(head -c 1500 "$1")"; }

# query FILE EXPRESSION: see cli_tools.py. is FILE EXPRESSION VALUE compares.
query() { tool json "$@"; }

# Whether times of a recording are those of the processor's counter, which takes no call of the system.
has_counter() { grep -qxE 'tsc' /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null; }
is() {
    local value
    value=$(query "$1" "$2") || return 1
    [ "$value" = "$3" ] || fail "$2 is '$value', not '$3'"
}

# golden NAME <SCREEN: compares the masked screen with golden/NAME.txt.
golden() {
    local file=$CLI/golden/$1.txt got=$SCRATCH/golden.got
    tool mask >"$got" || return 1
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cp "$got" "$file"
        return
    fi
    [ -f "$file" ] || fail "there is no golden/$1.txt: UPDATE_GOLDEN=1 writes it" || return 1
    diff -u "$file" "$got" >&2 || fail "golden/$1.txt differs; if that is meant: UPDATE_GOLDEN=1"
}

# fitting CMD...: runs it; its screen must not be wider than 100 columns.
fitting() {
    ok "$@" && tool width 100 <"$out"
}

# The names of the sections of a help topic, as its page lists them.
sections() { "$TAPOOL" help "$1" | sed -n '/^Sections: /,$s/^  \([a-z-]*\) .*/\1/p'; }

# whole_topic TOPIC: its page and those of its sections.
whole_topic() {
    "$TAPOOL" help "$1"
    for section in $(sections "$1"); do
        "$TAPOOL" help "$1" "$section"
    done
}

# shown NAME CMD...: the same as `fitting`, and the screen is golden/NAME.txt. One a screen: what else a screen can say is
# matched where it is made, and figures are those of the JSON (agree.py) and of tests/data/class_e.
shown() {
    local name=$1
    shift
    ok "$@" || return 1
    golden "$name" <"$out" || return 1
    [ -n "${UPDATE_GOLDEN:-}" ] || tool width 100 <"$out"
}

# trace EVENT...: a trace; its first event is on line 3, one a line.
trace() {
    printf '{ "format": "tapool-trace", "version": 1,\n  "events": [\n'
    events "$@"
    printf '] }\n'
}

# lines EVENT...: the same as JSON Lines; the first event is on line 2.
lines() {
    printf '{"format": "tapool-trace", "version": 1}\n'
    printf '%s\n' "$@"
}

events() {
    while [ $# -gt 1 ]; do
        printf '    %s,\n' "$1"
        shift
    done
    printf '    %s\n' "$1"
}

# Waits until a process has a file open in a folder, named or not.
writes_in() { # PID FOLDER
    local i
    for ((i = 0; i < 2000; i++)); do
        ls -l "/proc/$1/fd" 2>/dev/null | grep -qF " $2/" && return
        sleep 0.005
    done
    fail "process $1 has no file open in $2"
}

# A small device trace with two streams.
device_trace() {
    cat <<'END'
{ "format": "tapool-trace", "version": 1,
  "meta": {"name": "gpu", "kind": "device", "program": "two streams, by hand"},
  "streams": [{"id": 0, "device": 0}, {"id": 7, "device": 0}],
  "events": [
    {"t": 0, "op": "alloc", "id": 1, "size": 20971520},
    {"t": 1000, "op": "alloc", "id": 2, "size": 3145728, "stream": 7},
    {"t": 2000, "op": "free", "id": 1},
    {"t": 3000, "op": "alloc", "id": 3, "size": 1000},
    {"t": 4000, "op": "free", "id": 2},
    {"t": 4500, "op": "sync"},
    {"t": 5000, "op": "alloc", "id": 4, "size": 22000000},
    {"t": 6000, "op": "free", "id": 4} ] }
END
}

# growing_mid_run FILE: a snapshot of the second half of a run whose segments grow, so that it begins with a heap.
growing_mid_run() {
    "$TAPOOL" replay "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" --source virtual --min-time 0 --no-fits \
        -s torch:conf=expandable_segments:True -f --export-snapshot whole.pickle >/dev/null || return 1
    python3 - "$1" <<'END'
import pickle, sys
snapshot = pickle.load(open("whole.pickle", "rb"))
events = snapshot["device_traces"][0]
snapshot["device_traces"][0] = events[len(events) // 2:]
pickle.dump(snapshot, open(sys.argv[1], "wb"), protocol=4)
END
}

# Everything that a trace can say: two devices, what was live before, notes, what a capture says.
captured_trace() {
    cat <<'END'
{ "format": "tapool-trace", "version": 1,
  "meta": {"name": "rich", "kind": "device", "program": "two streams, by hand",
           "capture": "a snapshot", "settings": "as they come", "unknown": "threads, alignment",
           "space": "GPU", "left_out": "CPU (3 events, 4 KiB)",
           "remarks": ["It was cold.", "And wet."], "wrapped": true},
  "streams": [{"id": 0, "device": 0}, {"id": 7, "device": 1}],
  "recorded": {"by": "PyTorch", "has_end": true, "devices": [
    {"device": 0, "start_reserved_bytes": 2097152, "start_segments": 1, "end_reserved_bytes": 4194304,
     "end_segments": 2, "end_large_segments": 1, "end_small_segments": 1, "end_free_bytes": 5,
     "end_free_blocks": 1, "end_largest_bytes": 5, "end_returnable_bytes": 0}, {"device": 3}]},
  "events": [
    {"op": "initial", "id": 70, "size": 512},
    {"op": "initial", "id": 71, "size": 4096, "stream": 7, "align": 4096},
    {"t": 0, "op": "alloc", "id": 1, "size": 20971520, "thread": 40},
    {"t": 10, "op": "mark", "name": "step \u00e9 \"1\""},
    {"t": 1000, "op": "alloc", "id": 2, "size": 3145728, "stream": 7, "align": 512},
    {"t": 2000, "op": "note", "name": "segment_alloc", "size": 2097152},
    {"t": 2000, "op": "free", "id": 1, "thread": 41},
    {"t": 2100, "op": "note", "name": "oom", "size": 1048576, "free": 12345},
    {"t": 3000, "op": "alloc", "id": 3, "size": 1000},
    {"t": 3100, "op": "retain", "id": 3},
    {"t": 3200, "op": "use", "id": 3, "stream": 7},
    {"t": 3300, "op": "realloc", "id": 3, "size": 3000},
    {"t": 3400, "op": "note", "name": "free_requested", "id": 70, "size": 512},
    {"t": 4000, "op": "free", "id": 70},
    {"t": 4000, "op": "free", "id": 3},
    {"t": 4100, "op": "sync"},
    {"t": 4200, "op": "adopt", "id": 4, "size": 10},
    {"t": 5000000000000, "op": "mark", "name": "much later"},
    {"t": 5000000000000, "op": "thread_end", "thread": 41},
    {"t": 5000000000001, "op": "trim", "size": 0},
    {"t": 5000000000002, "op": "free", "id": 3} ] }
END
}

# snapshot KIND: a pickle to stdout, see snapshot.py.
snapshot() { python3 -S -E "$CLI/snapshot.py" "$1"; }

# all_gone FILE: no process whose number stands there is left, and there were some.
all_gone() {
    local pid
    [ -s "$1" ] || fail "nothing has lingered" || return 1
    while read -r pid; do
        for _ in $(seq 100); do
            # a process that nobody has taken off yet is none
            grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" || continue 2
            sleep 0.1
        done
        fail "process $pid has outlived tapool"
        return 1
    done <"$1"
}
