#!/usr/bin/env bats
# The screens, to the letter: golden/ holds them with times and facts of the machine masked. A change of
# wording is made with UPDATE_GOLDEN=1 and then reviewed as a diff.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

topics() { "$TAPOOL" help | sed -n '/^Topics/,/^$/s/^  \([a-z-]*\).*/\1/p'; }
warnings() { "$TAPOOL" help warnings | sed -n 's/^  \([a-z-]*\)  .*/\1/p'; }
commands() { "$TAPOOL" help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\).*/\1/p'; }
strategies() { "$TAPOOL" strategies | sed -n 's/^  \([A-Za-z-]*\)  .*/\1/p'; }

@test "the first screen, the version" {
    shown first "$TAPOOL"
    ok "$TAPOOL" --version
    grep -qxE 'tapool [0-9]+\.[0-9]+\.[0-9]+ \([^()]+\)' "$out"
    for name in $(commands); do
        "$TAPOOL" "$name" --version | diff "$out" -
    done
}

@test "the commit: of the checkout, with a mark where files differ, and none outside of one" {
    made() { cmake -DSOURCE="$PWD/tree" -DOUT="$PWD/commit.c" -P "$TAPOOL_ROOT/scripts/commit.cmake"; }
    said() { made && grep -qE "= \"$1\";$" commit.c || fail "$(cat commit.c)"; }
    mkdir tree
    said ''
    git -C tree init --quiet
    said ''
    echo 1 >tree/a
    git -C tree add a
    git -C tree -c user.name=a -c user.email=a@b commit --quiet --message a
    said '[0-9a-f]+'
    touch -d 2020-01-01 commit.c
    before=$(stat -c %Y commit.c)
    made
    [ "$(stat -c %Y commit.c)" = "$before" ]
    echo 2 >tree/a
    said '[0-9a-f]+-dirty'
}

@test "strategies: the list and a page for each" {
    shown strategies "$TAPOOL" strategies
    [ "$(strategies | wc -l)" -ge 4 ]
    shown strategies-arena "$TAPOOL" strategies arena
    for name in $(strategies); do
        fitting "$TAPOOL" strategies "$name"
        head -n 1 "$out" | grep -q "^$name: "
        matches "$out" '^  runs here on +[a-z]'
    done
}

is_one_screen() { [ "$(wc -l <"$out")" -le 40 ] || fail "more than 40 lines:" "$(cat "$out")"; }

@test "help: the list, every topic, every warning, every command" {
    shown help "$TAPOOL" help
    ok "$TAPOOL" --help
    golden help <"$out"
    [ "$(topics | wc -l)" -ge 4 ]
    [ "$(warnings | wc -l)" -ge 5 ]
    for name in $(topics); do
        fitting "$TAPOOL" help "$name"
        [ "$(wc -l <"$out")" -ge 5 ]
        is_one_screen
        for section in $(sections "$name"); do
            fitting "$TAPOOL" help "$name" "$section"
            head -n 1 "$out" | grep -q "^$name $section: "
            [ "$(wc -l <"$out")" -ge 4 ]
            is_one_screen
        done
    done
    [ "$(sections report | wc -l)" -ge 5 ]
    for name in $(warnings); do
        fitting "$TAPOOL" help "$name"
        head -n 1 "$out" | grep -qx "warning $name"
        [ "$(wc -l <"$out")" -ge 4 ]
    done
    shown replay-help "$TAPOOL" replay --help
    [ "$(commands | wc -l)" -ge 10 ]
    for name in $(commands); do
        fitting "$TAPOOL" "$name" --help
        head -n 1 "$out" | grep -q "^usage: tapool $name"
        cp "$out" help
        "$TAPOOL" help "$name" | cmp - help
    done
}

# leads WORD TOPIC [SECTION]: both print the same page, in which more than the word's place in a list is found.
leads() {
    ok "$TAPOOL" help "${@:2}"
    tool mask <"$out" >"$SCRATCH/page"
    ok "$TAPOOL" help "$1"
    tool mask <"$out" | cmp - "$SCRATCH/page"
}

@test "help: other words lead to the page that is about them" {
    for word in oom OOM out-of-memory; do leads "$word" why; done
    leads settings tune
    for word in fragmentation peak; do leads "$word" report memory; done
    leads p99 report latency
    for word in pytorch PyTorch; do leads "$word" snapshots; done
    leads stacks snapshots events
    leads expandable_segments snapshots devices
    for word in jemalloc mimalloc; do leads "$word" malloc; done
    for word in rmm kineto; do leads "$word" formats; done
    leads capture formats recording
    leads svg exports pictures
    leads vocabulary terms
    for word in oom:OOM fragmentation:'internal fragmentation' peak:'^  peak' stacks:'^  stacks' \
        expandable_segments:expandable capture:record jemalloc:jemalloc pytorch:torch; do
        ok "$TAPOOL" help "${word%%:*}"
        matches "$out" "${word#*:}"
    done
}

@test "help formats: how each format is recorded that a program records" {
    ok "$TAPOOL" help formats recording
    for command in 'torch.cuda.memory._record_memory_history' 'profile_memory=True' 'rmm.enable_logging' 'rocprofv3 --memory-allocation-trace' \
        UMPIRE_REPLAY=On MALLOC_TRACE= MTRACE_CTL_FILE= 'valgrind --trace-malloc=yes PROGRAM'; do
        grep -qF -- "$command" "$out" || fail "'$command' is not there"
    done
}

@test "one strategy on a screen" {
    shown sqlite-arena replay_once sample:sqlite -s arena
    shown python-threads-system replay_once sample:python-threads -s system
}

@test "one strategy, repeated: an interval, and cold beside steady" {
    shown sqlite-arena-steady "$TAPOOL" replay --min-time 100ms sample:sqlite -s arena
    matches "$out" 'ns/op, 95% CI \[[0-9.]+, [0-9.]+\] +[0-9,]+ replays in 0\.[0-9] s'
    matches "$out" 'ns/op cold'
}

@test "the usual set in a table, and what -v and --bytes add" {
    shown sqlite-table replay_once sample:sqlite
    matches "$out" '^  \(b\) one replay, longer than --min-time: cold' # the golden leaves it out
    shown sqlite-arena-v replay_once sample:sqlite -s arena -v
    ok replay_once sample:sqlite -v
    golden sqlite-table-v <"$out"
    fitting replay_once sample:sqlite --bytes
    matches "$out" '^  requested +315,477 B '
    matches "$out" '^  arena .* 491,520 B .* 147,152 B'
    fitting replay_once sample:sqlite -s arena --bytes
    matches "$out" '^ +\+ +11,611 B rounding '
}

@test "a device trace: the usual set, one strategy, -v" {
    device_trace >gpu.json
    shown device-table replay_once gpu.json
    fitting replay_once gpu.json -v
    shown device-arena replay_once gpu.json -s arena
}

@test "two devices are told apart" {
    sed 's/"id": 7, "device": 0/"id": 7, "device": 1/' <(device_trace) >two.json
    shown two-devices replay_once two.json -s arena
    fitting replay_once two.json
    matches "$out" 'Bytes are sums over the devices, each at its own peak. One by one: -v'
}

@test "out of memory on a limited device" {
    shown limit-arena replay_once sample:sqlite -s arena --source virtual+limit:capacity=256KiB
    shown limit-table replay_once sample:sqlite -s arena -s bump --source virtual+limit:capacity=400KiB
    fitting replay_once sample:sqlite -s arena --source virtual+limit:capacity=256KiB --on-oom stop
    matches "$out" 'the replay stopped before the trace peak$'
    matches "$out" '^ +peak reserved: 224 KiB, at event 823; '
}

@test "repairs are counted on the screen" {
    trace '{"op":"free","id":9}' '{"op":"alloc","id":1,"size":10}' '{"op":"alloc","id":1,"size":20}' \
        '{"op":"realloc","id":8,"size":64}' '{"op":"alloc","id":2,"size":0}' >dirty.json
    shown repaired replay_once dirty.json -s arena --repair
}

# ---- terminals ----

# Every screen with words that wrap or columns that drop.
screens() {
    "$@" replay_once sample:sqlite
    "$@" replay_once sample:jq
    "$@" replay_once sample:python-threads
    "$@" replay_once sample:python-threads --bytes
    "$@" replay sample:sqlite -s arena -s bump -s system
    "$@" replay_once sample:jq -s arena
    "$@" replay_once sample:jq -s bump -v
    "$@" replay_once sample:python-threads -s system
    "$@" replay_once sample:python-threads -s direct
    "$@" replay_once sample:sqlite -s arena --source virtual+limit:capacity=256KiB
    "$@" replay_once gpu.json
    "$@" replay_once gpu.json -s arena
    "$@" "$TAPOOL" strategies
    for name in $(strategies); do
        "$@" "$TAPOOL" strategies "$name"
    done
    "$@" "$TAPOOL" replay --help
}

# Pages that are written as they stand: never beyond 100.
pages() {
    "$@" "$TAPOOL"
    "$@" "$TAPOOL" help
    for name in $(topics) $(warnings); do
        "$@" "$TAPOOL" help "$name"
    done
    for name in $(topics); do
        for section in $(sections "$name"); do
            "$@" "$TAPOOL" help "$name" "$section"
        done
    done
}

# on_terminal COLUMNS CMD..., and fits: `replay` and `replay_once` are functions here.
on_terminal() { in_terminal pty "$@"; }
in_terminal() {
    local how=$1 columns=$2
    shift 2
    case $1 in
    replay) set -- "$TAPOOL" replay --min-time 1ms "${@:2}" ;;
    replay_once) set -- "$TAPOOL" replay --min-time 0 "${@:2}" ;;
    esac
    tool "$how" "$columns" "$@"
}

too_wide=''
fits() {
    capture in_terminal fits "$@"
    [ "$rc" -eq 0 ] || too_wide+="${*:2} at $1: $(head -n 3 "$out" "$err")"$'\n'
}

# bats test_tags=nightly
@test "no line is longer than a terminal of 80 columns, no page's than 100" {
    device_trace >gpu.json
    screens fits 80
    pages fits 100
    [ -z "$too_wide" ] || fail "$too_wide"
}

@test "a terminal of 100 columns shows what a pipe gets" {
    device_trace >gpu.json
    for columns in 100 150; do
        ok on_terminal "$columns" replay_once gpu.json
        golden device-table <"$out"
        ok on_terminal "$columns" replay_once sample:sqlite -s arena
        golden sqlite-arena <"$out"
        ok on_terminal "$columns" "$TAPOOL" strategies arena
        golden strategies-arena <"$out"
    done
}

@test "at 80 columns: wrapped, and to the letter" {
    device_trace >gpu.json
    for columns in 40 80; do # below 80 it stays 80
        ok on_terminal "$columns" replay_once gpu.json
        golden device-table-80 <"$out"
        ok on_terminal "$columns" replay_once sample:jq -s bump
        golden jq-bump-80 <"$out"
    done
}

# The table's rows and columns on a terminal.
names_of() { sed -n '/^  requested/,/^$/{/^  requested/d; s/^  \([a-z][a-z:_=0-9,KMiB]*\)  .*/\1/p}' "$1" | sort; }

# bats test_tags=nightly
@test "at 80 columns only columns are dropped, never a row, and their number is said" {
    many=(-s arena -s bump -s direct -s system -s a=arena -s b=arena:refill_target=4KiB)
    ok replay_once sample:sqlite "${many[@]}"
    names_of "$out" >"$SCRATCH/wide"
    [ "$(wc -l <"$SCRATCH/wide")" -eq 6 ]
    lacks "$out" hidden
    ok on_terminal 80 replay_once sample:sqlite "${many[@]}"
    names_of "$out" | diff - "$SCRATCH/wide"
    matches "$out" '[12] columns? hidden: -v'
    hidden=$(sed -n 's/.*\([0-9]\) columns* hidden: -v.*/\1/p' "$out")
    # 'requested' has a cell in each column that is left
    shown=$(grep '^  requested' "$out" | sed 's/^  //; s/   */\n/g' | wc -l)
    [ $((shown + hidden)) -eq 9 ]
    ok on_terminal 80 replay_once sample:sqlite "${many[@]}" -v
    lacks "$out" hidden
    matches "$out" ' free$'
}

# ---- colour ----

# bats test_tags=nightly
@test "--color is for every command with a screen" {
    for command in replay compare check info why tune predict verify strategies doctor; do
        grep -q -- '--color WHEN' <("$TAPOOL" "$command" --help-all) || fail "$command"
    done
    snapshot=$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz
    for command in why tune; do
        ok "$TAPOOL" "$command" "$snapshot" --color always
        grep -q $'\e' "$out" || fail "$command"
        ok "$TAPOOL" "$command" "$snapshot"
        ! grep -q $'\e' "$out" || fail "$command"
    done
}

@test "colour: on a terminal, with --color always, not with NO_COLOR or in a pipe" {
    esc=$'\x1b'
    run_it=("$TAPOOL" replay --min-time 0 sample:sqlite -s arena -s direct)
    ok "${run_it[@]}"
    lacks "$out" "$esc"
    ok tool pty 100 "${run_it[@]}"
    matches "$out" "${esc}\[1mPick: none${esc}\[0m"
    ok env NO_COLOR=1 python3 -S "$CLI/cli_tools.py" pty 100 "${run_it[@]}"
    lacks "$out" "$esc"
    ok env NO_COLOR= python3 -S "$CLI/cli_tools.py" pty 100 "${run_it[@]}" # empty is unset
    matches "$out" "$esc"
    ok tool pty 100 "${run_it[@]}" --color never
    lacks "$out" "$esc"
    ok env NO_COLOR=1 "${run_it[@]}" --color always
    matches "$out" "$esc"
    ok "${run_it[@]}" --json --color always
    lacks "$out" "$esc"
}

@test "colour is an addition: the words are the same" {
    device_trace >gpu.json
    ok replay_once gpu.json --color always
    matches "$out" $'\x1b'
    golden device-table <"$out"
    ok replay_once sample:sqlite -s arena --source virtual+limit:capacity=256KiB --color always
    matches "$out" $'\x1b\[31;1mOUT OF MEMORY\x1b\[0m'
    golden limit-arena <"$out"
}

@test "what screens say of predictions is what validation found" {
    python3 - "$TAPOOL_ROOT" <<'END'
import re, sys
page = open(sys.argv[1] + "/scripts/README.md").read()
words = open(sys.argv[1] + "/cmd/report/validated.h").read()
rows = {"resident, one thread: within 5%": "ONE", "resident, several threads: within 10%": "SEVERAL",
        "CPU time saved: at most the predicted one, as the screen says": "SAVED"}
for row, name in rows.items():
    found = re.search(r"\| %s \| (\d+ of \d+) \|" % re.escape(row), page).group(1)
    said = re.search(r'TP_VALIDATED_%s +"(.*)"' % name, words).group(1)
    assert "in %s trials" % found in said, (row, found, said)
    percent = re.search(r"within \d+%", row)
    assert not percent or percent.group() in said, (row, said)
END
}
