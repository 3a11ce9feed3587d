#!/usr/bin/env bats
# Strategies of somebody else: compiled against the installed headers, loaded by the installed tapool.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

setup_file() {
    BUILD=$(dirname "$TAPOOL")
    [ -f "$BUILD/CMakeCache.txt" ] || skip "$TAPOOL is not in a build folder of CMake"
    export PREFIX=$BATS_FILE_TMPDIR/prefix
    cmake --install "$BUILD" --prefix "$PREFIX" >/dev/null
    export TAPOOL=$PREFIX/bin/tapool
}

# A sanitizer would tell of the signals that the plug-ins here die of, and end the process itself.
export ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0:handle_abort=0

# make_plugin OUTPUT SOURCE FLAG...: as a user would, with what pkg-config says.
make_plugin() {
    local output=$1 source=$2 flags
    shift 2
    flags=$(PKG_CONFIG_PATH=$PREFIX/share/pkgconfig pkg-config --cflags tapool) || return 1
    # shellcheck disable=SC2086 # flags are words
    "${CC:-cc}" -shared -fPIC -Wall -Wextra -Werror $flags "$@" "$source" -o "$output"
}

misfit() { make_plugin "$1.so" "$TAPOOL_ROOT/tests/plugins/misfit.c" -Wno-unused-const-variable "${@:2}"; }
buddy() { make_plugin buddy.so "$TAPOOL_ROOT/scripts/plugin-example/buddy.c" -O2 "$@"; }

textbook() {
    make_plugin textbook.so "$TAPOOL_ROOT/scripts/plugin-example/textbook.c" -O2 -std=c11 -pedantic -Wconversion
}

# unusable REGEX FILE: refused as an input, and nothing else said.
unusable() { refused 3 "$1" replay_once sample:sqlite -s "plugin:$2"; }

@test "the headers compile alone, in C11, C17 and C++" {
    printf '#include <tapool/strategy.h>\nextern int unused;\n' >one.c
    for name in "$PREFIX"/include/tapool/*.h; do
        printf '#include <tapool/%s>\nextern int unused;\n' "${name##*/}" >header.c
        "${CC:-cc}" -std=c11 -pedantic -Wall -Wextra -Werror -I "$PREFIX/include" -fsyntax-only header.c
    done
    "${CC:-cc}" -std=c17 -pedantic -Wall -Wextra -Werror -I "$PREFIX/include" -fsyntax-only one.c
    lacks <(cat "$PREFIX"/include/tapool/*.h) '#include "[a-z]*/'
    command -v c++ >/dev/null || skip "no C++ compiler"
    echo 'static const struct tp_strategy s = tp_strategy(); TP_PLUGIN(&s, "1")' >>one.c
    c++ -std=c++11 -x c++ -Wall -Wextra -Werror -I "$PREFIX/include" -c one.c -o one.o
    nm one.o | grep -q ' [DR] tapool_plugin$'
}

@test "the example is short, and replays" {
    [ "$(wc -l <"$TAPOOL_ROOT/scripts/plugin-example/buddy.c")" -lt 150 ]
    buddy -std=c11 -pedantic -Wconversion
    for sample in sqlite jq python-threads; do
        ok replay "sample:$sample" -s plugin:./buddy.so --verify
        matches "$out" '^plugin:buddy on host +this machine.s memory \(mmap\); '
        matches "$out" '^ +plug-in buddy\.so 1\.0$'
        matches "$out" 'no overlap,'
    done
    ok replay sample:training-step -s plugin:./buddy.so --verify # on virtual
    ok replay_once sample:sqlite -s plugin:buddy.so,range=1MiB -s "plugin:{$PWD/buddy.so}" -s arena
    matches "$out" '^ +plugin:buddy,range=1MiB +1 MiB'
    matches "$out" '^ +plugin:buddy,range=256KiB +1 MiB'
    ok replay_once sample:sqlite -s mine=Plugin:buddy.so,range=64KiB --json
    is "$out" 'r["strategy"]["label"]' mine
    is "$out" 'r["strategy"]["name"]' plugin:buddy
    is "$out" 'r["strategy"]["options"]["range"]' 64KiB
    is "$out" 'r["strategy"]["plugin"]' "{'file': 'buddy.so', 'version': '1.0'}"
}

@test "the textbook allocators replay without overlap, with words of 8 and 4 bytes" {
    python3 "$TAPOOL_ROOT/tests/published/malloclab/trace.py" realloc2 >grows.jsonl
    textbook
    for name in first-fit next-fit explicit segregated; do
        ok replay sample:jq -s "plugin:./textbook.so,list=$name" --verify
        matches "$out" 'no overlap,'
        ok replay grows.jsonl -s "plugin:./textbook.so,list=$name,word=4" --verify
        matches "$out" 'no overlap,'
    done
}

@test "options of a plug-in are its own" {
    buddy
    refused 2 "strategy 'plugin:buddy' has no option 'rnage'$" replay_once sample:sqlite -s plugin:./buddy.so,rnage=1MiB
    matches "$err" "did you mean 'range'"
    refused 2 "option 'range' of strategy 'plugin:buddy' is 7B, below the minimum 4KiB$" replay_once sample:sqlite -s plugin:./buddy.so,range=7
    refused 2 "^tapool: strategy 'plugin' needs its PATH$" replay_once sample:sqlite -s plugin
    refused 2 "^tapool: a plugin has a path" replay_once sample:sqlite -s plugin:,range=1
    refused 2 "the braces around the path of a plugin do not match$" replay_once sample:sqlite -s 'plugin:{a'
    refused 2 "the braces around the path of a plugin do not match$" replay_once sample:sqlite -s 'plugin:{./a}b,c.so}'
    matches "$err" '^hint: .* a file takes a link without them$'
    cp buddy.so 'a{b},c.so'
    ok replay_once sample:sqlite -s 'plugin:{./a{b},c.so}'
    cp buddy.so 'a}b.so'
    ok replay_once sample:sqlite -s 'plugin:./a}b.so'
}

@test "what is no plug-in is refused, in words" {
    unusable "^tapool: plugin './none.so' is not there$" ./none.so
    unusable "^tapool: plugin '/' is not a regular file$" /
    echo 'no library at all' >text.so
    unusable "^tapool: plugin 'text.so' is not a shared library$" text.so
    printf '\177ELF' >short.so
    unusable "^tapool: plugin 'short.so' is not a shared library$" short.so
    misfit right
    for size in 64 100 1000 5000 9000; do
        head -c "$size" right.so >cut.so
        unusable "^tapool: plugin 'cut.so' is cut off: it has $size bytes$" cut.so
    done
    cp right.so other.so
    printf '\xb7\x00' | dd of=other.so bs=1 seek=18 conv=notrunc status=none # aarch64
    [ "$(uname -m)" != x86_64 ] ||
        unusable "^tapool: plugin 'other.so' is for another machine: aarch64, this one is x86-64$" other.so
    "${CC:-cc}" -c -fPIC -I "$PREFIX/include" "$TAPOOL_ROOT/tests/plugins/misfit.c" -o object.so
    unusable "^tapool: plugin 'object.so' is an object file, no shared library$" object.so
    misfit none -DNO_SYMBOL
    unusable "^tapool: plugin './none.so' does not export 'tapool_plugin': not a tapool plug-in$" ./none.so
    misfit magic -DMAGIC=7
    unusable "^tapool: plugin './magic.so': its 'tapool_plugin' is not a TP_PLUGIN of tapool$" ./magic.so
    misfit lacks -DLACKS
    unusable "^tapool: plugin './lacks.so' cannot be loaded: undefined symbol: lacking_function$" ./lacks.so
}

@test "other versions are refused by name, and nothing of theirs runs" {
    abi=$(sed -n 's/^#define TP_ABI *\([0-9]*\)u$/\1/p' "$PREFIX/include/tapool/strategy.h")
    misfit older -DABI=$((abi - 1)) -DCRASH_LOADING
    unusable "^tapool: plugin './older.so' was built for ABI $((abi - 1)), this tapool has $abi$" ./older.so
    matches "$err" '^hint: build it again with the headers of this tapool$'
    misfit newer -DABI=$((abi + 1)) -DCRASH_LOADING
    unusable "^tapool: plugin './newer.so' was built for ABI $((abi + 1)), this tapool has $abi$" ./newer.so
    matches "$err" '^hint: a newer tapool replays it$'
    misfit size -DSIZE=8 -DCRASH_LOADING
    unusable "^tapool: plugin './size.so' was built with other headers: its struct tp_strategy has 8 bytes, not [0-9]+$" ./size.so
    # without a table of sections the file is judged when it is loaded
    printf '\0\0' | dd of=newer.so bs=1 seek=60 conv=notrunc status=none
    misfit bare -DABI=$((abi + 1))
    printf '\0\0' | dd of=bare.so bs=1 seek=60 conv=notrunc status=none
    unusable "^tapool: plugin './bare.so' was built for ABI $((abi + 1)), this tapool has $abi$" ./bare.so
}

@test "tables that lie are refused" {
    misfit flags -DCAPS=TP_CAP_RETAINS
    unusable "^tapool: plugin './flags.so': strategy 'misfit': TP_CAP_RETAINS and 'retain' disagree$" ./flags.so
    misfit foreign -DCAPS=TP_CAP_FOREIGN
    unusable "^tapool: plugin './foreign.so': TP_CAP_FOREIGN is for real allocators$" ./foreign.so
    misfit option '-DOPTION="a=b"'
    unusable "^tapool: plugin './option.so': option 'a=b' of strategy 'misfit': its name cannot be written$" ./option.so
    misfit wide -DWIDE
    unusable "^tapool: plugin './wide.so': option 'wide' of strategy 'misfit': it has over 32 choices, of which a set has one bit each$" ./wide.so
    misfit name '-DNAME="\033[31mred"'
    unusable "^tapool: plugin './name.so': its strategy's name is missing or cannot be typed$" ./name.so
    misfit none '-DNAME=NULL'
    unusable "^tapool: plugin './none.so': its strategy's name is missing or cannot be typed$" ./none.so
}

@test "no text of a plug-in steers the terminal" {
    misfit loud '-DSUMMARY="\033]0;title\007\033[2J"' '-DVERSION="\033[31m1"'
    mv loud.so $'lo\033[31mud.so'
    ok replay_once sample:sqlite -s $'plugin:./lo\033[31mud.so'
    harmless "$out"
    refused 3 "^tapool: plugin './lo.\[31mud.so2' is not there$" replay_once sample:sqlite -s $'plugin:./lo\033[31mud.so2'
}

@test "what crashes while it is loaded ends in a sentence" {
    misfit abort -DCRASH_LOADING
    unusable "^tapool: plugin './abort.so' died of signal 6 \(Aborted\) in its process, being loaded$" ./abort.so
    misfit leave -DLEAVE_LOADING
    unusable "^tapool: plugin './leave.so' ended its process with code 3, being loaded$" ./leave.so
}

@test "overlapping memory is found with its event" {
    misfit overlap -DOVERLAP
    refused 4 "event 111: strategy 'plugin:misfit' returned bytes of the live block of event 110$" replay_once sample:sqlite -s plugin:./overlap.so --verify
}

@test "no file that came with a folder makes tapool run a plug-in" {
    misfit trap -DCRASH_LOADING
    for text in plugin:./trap.so mine=PLUGIN:trap.so lib:./trap.so lib:trap.so lib:x,env=LD_PRELOAD=./trap.so; do
        printf '[replay]\nstrategy = %s\n' "$text" >.tapool.ini
        unset TAPOOL_CONFIG
        refused 2 "^tapool: .*\.tapool\.ini:2: '.*' runs code from a file: a \.tapool\.ini may not name it$" \
            replay_once sample:sqlite
        TAPOOL_CONFIG=.tapool.ini capture replay_once sample:sqlite # the user's choice
        lacks "$err" 'may not name it'
        printf 'base-strategy = %s\n' "$text" >.tapool.ini
        refused 2 "option 'base-strategy' decides what 'check' passes: only its command line may set it$" \
            "$TAPOOL" check
    done
    rm .tapool.ini
    TAPOOL_STRATEGY=plugin:./trap.so refused 3 'died of signal 6' replay_once sample:sqlite
}

# bats test_tags=nightly
@test "a baseline holds a plug-in, and replays it only where the command line names the file" {
    buddy
    key=plugin:./buddy.so,range=64KiB
    ok "$TAPOOL" check sample:sqlite -s mine=$key -s "$key" --update
    refused 3 "the cell 'sqlite.json, mine' runs code from a file, which only the command line may name$" "$TAPOOL" check
    matches "$err" "^hint: if you trust it: -s mine=$key$"
    refused 3 'only the command line may name' "$TAPOOL" check -s mine
    refused 3 'only the command line may name' "$TAPOOL" check -s mine --update
    refused 3 'only the command line may name' "$TAPOOL" check --bin "$TAPOOL"
    ok "$TAPOOL" check -s "$key"
    export TAPOOL_VALGRIND= # the instructions of a plug-in were counted by now
    ok "$TAPOOL" check -s mine=$key
    ok "$TAPOOL" check -s mine=$key -s "$key" --bin "$TAPOOL"
    refused 2 "has no cell of the strategy" "$TAPOOL" check -s "mine=plugin:./other.so"
    sed -i 's,plugin:./buddy,plugin:./trap,' tapool-baseline.json
    misfit trap -DCRASH_LOADING
    refused 3 'only the command line may name' "$TAPOOL" check
    refused 2 'has no cell of the strategy' "$TAPOOL" check -s mine=$key
}

# left_out CODE REGEX STRATEGY...: the others are reported, then comes the sentence.
left_out() {
    local code=$1 regex=$2
    shift 2
    capture replay_once sample:sqlite "$@" -s arena
    [ "$rc" -eq "$code" ] || fail "exit code $rc, not $code: $(cat "$err")" || return 1
    one_sentence "$err" || return 1
    matches "$err" "$regex" || return 1
    matches "$out" '^arena on |^ +arena ' || return 1
    matches "$out" '^not measured ' || return 1
    capture replay_once sample:sqlite "$@" -s arena -s direct --json
    [ "$rc" -eq "$code" ] || fail "exit code $rc with --json: $(cat "$err")" || return 1
    is "$out" '[x["strategy"]["name"] for x in d["runs"]]' "['arena', 'direct']"
}

# bats test_tags=nightly
@test "a plug-in that crashes or leaves is a sentence, and the other rows are measured" {
    misfit crash -DCRASH
    misfit leave -DLEAVE
    left_out 4 "^tapool: sample:sqlite: 'plugin:misfit' died of signal 11 \(Segmentation fault\) in its process, at event 111$" -s plugin:./crash.so
    left_out 4 "^tapool: sample:sqlite: 'x' ended its process with code 7" -s x=plugin:./leave.so
    refused 4 "'plugin:misfit' died of signal 11" replay_once sample:sqlite -s plugin:./crash.so
    refused 4 "'plugin:misfit' died of signal 11" replay_once sample:sqlite -s plugin:./crash.so --source virtual
    left_out 4 "^tapool: sample:sqlite: 'plugin:misfit' died of signal 11" -s plugin:./crash.so --source virtual
    misfit hang -DHANG
    left_out 4 "^tapool: sample:sqlite: 'plugin:misfit' had not ended after 1 s: it was at event 111$" \
        -s plugin:./hang.so --timeout 1s
    ok "$TAPOOL" gen pair --count 300 -o other.json # not the last trace's alone
    capture replay_once other.json sample:sqlite -s plugin:./crash.so -s arena --json
    [ "$rc" -eq 4 ]
    is "$out" '[(x["trace"]["path"], x["strategy"]["name"]) for x in d["runs"]]' \
        "[('other.json', 'arena'), ('sample:sqlite', 'arena')]"
    [ "$(grep -c '^tapool: .*died of signal 11' "$err")" -eq 2 ]
}

# bats test_tags=nightly
@test "a plug-in that crashes is left out of a comparison, and is the failure of its cell in a check" {
    misfit crash -DCRASH
    misfit right
    capture "$TAPOOL" compare sample:sqlite -s plugin:./crash.so -s arena -s direct --rounds 2 --min-time 0 --json
    [ "$rc" -eq 4 ]
    is "$out" '[x["label"] for x in d["tables"][0]["rows"]]' "['arena', 'direct']"
    matches "$err" "^tapool: 'plugin:misfit' died of signal 11"
    ok "$TAPOOL" check sample:sqlite -s mine=plugin:./right.so -s arena --update
    cp crash.so right.so
    capture "$TAPOOL" check -s mine=plugin:./right.so -s arena
    [ "$rc" -eq 4 ]
    matches "$err" "^tapool: sqlite.json, mine: 'plugin:misfit' died of signal 11"
    matches "$out" 'memory and counts +vs baseline, exact +1 of 2 cells'
}

@test "what a plug-in prints is no part of the output" {
    misfit print -DPRINT
    for passes in usage,throughput,resident count; do # in a process of its own; in tapool's
        capture replay_once sample:sqlite -s plugin:./print.so --format json --passes "$passes"
        [ "$rc" -eq 0 ] || [ "$passes" = count ] # nothing may count instructions here
        [ "$rc" -ne 0 ] || python3 -m json.tool "$out" >/dev/null
        lacks "$out" hello
        matches "$err" '^hello$'
    done
    capture "$TAPOOL" strategies --conformance plugin:./print.so
    lacks "$out" hello
}

# bats test_tags=nightly
@test "a plug-in that writes over the answer of its process is named, and its figures are not believed" {
    misfit scribble -DSCRIBBLE
    left_out 4 "^tapool: sample:sqlite: 'plugin:misfit' wrote over memory of tapool in its process$" -s plugin:./scribble.so
    left_out 4 "'plugin:misfit' wrote over memory of tapool in its process$" -s plugin:./scribble.so --source virtual
    fails_in 'it wrote over memory of tapool in its process$' plugin:./scribble.so
}

# bats test_tags=nightly
@test "what a plug-in leaves behind ends with its process" {
    misfit linger -DLINGER
    misfit escape -DLINGER -DESCAPE
    export LINGERS_FILE=$PWD/pids
    for name in linger escape; do
        rm -f pids
        ok replay_once sample:sqlite -s "plugin:./$name.so"
        all_gone pids
        rm pids
        ok "$TAPOOL" strategies --conformance "plugin:./$name.so"
        all_gone pids
    done
}

# bats test_tags=nightly
@test "a plug-in that cannot be loaded, and one that overlaps, leave the other rows measured" {
    misfit none -DNO_SYMBOL
    left_out 3 "does not export 'tapool_plugin'" -s plugin:./none.so
    misfit overlap -DOVERLAP
    left_out 4 'event 111: ' --verify -s plugin:./overlap.so
}

# conforms STRATEGY CHECKS: passes them all.
conforms() {
    ok "$TAPOOL" strategies --conformance "$1" || return 1
    matches "$out" "^$2 of $2 checks? passed\.$" || return 1
    [ "$(grep -c '^  ok ' "$out")" -eq "$2" ] || return 1
    lacks "$out" FAILED
}

# fails_in SENTENCE STRATEGY: some checks fail, one with this sentence.
fails_in() {
    capture "$TAPOOL" strategies --conformance "$2"
    [ "$rc" -eq 4 ] || fail "exit code $rc, not 4: $(cat "$err")" || return 1
    one_sentence "$err" || return 1
    matches "$err" "^tapool: strategy 'plugin:misfit' fails [1-9][0-9]* of 17 checks$" || return 1
    matches "$out" "^  ok " || return 1
    matches "$out" "^ +$1" || return 1
    [ "$(grep -c '^  FAILED' "$out")" -eq "$(sed -n 's/.* fails \([0-9]*\) of .*/\1/p' "$err")" ]
}

# bats test_tags=nightly
@test "the conformance suite passes the example, and each strategy of tapool's own" {
    buddy
    conforms plugin:./buddy.so 17
    conforms plugin:./buddy.so,range=4KiB 17
    conforms x=plugin:./buddy.so,range=16MiB 17
    textbook
    for name in first-fit next-fit explicit segregated; do
        conforms "plugin:./textbook.so,list=$name" 17
    done
    for name in arena arena:checks=no; do
        conforms "$name" 19 # two more, of several threads
    done
    for name in lru stream-pool bump direct bump:on_full=fail; do
        conforms "$name" 17
    done
    conforms system 3
    conforms cudaMallocAsync 1
    matches "$out" 'Driver pools run only on a GPU'
    refused 2 '^tapool: --conformance needs a strategy$' "$TAPOOL" strategies --conformance
    refused 2 "unknown strategy 'none'" "$TAPOOL" strategies --conformance none
    refused 3 'is not there' "$TAPOOL" strategies --conformance plugin:./none.so
}

# bats test_tags=nightly
@test "the conformance suite finds what is wrong, and goes on after it" {
    misfit right
    conforms plugin:./right.so 17
    misfit overlap -DOVERLAP
    fails_in 'seed 20240611000, step [0-9]+: overlap: a block of [0-9]+ bytes lies over a live one' plugin:./overlap.so
    misfit crash -DCRASH
    fails_in 'it died of signal 11 \(Segmentation fault\) in its process$' plugin:./crash.so
    misfit leave -DLEAVE
    fails_in 'it ended its process with code 7$' plugin:./leave.so
    misfit leak -DLEAK
    fails_in 'seed [0-9]+, at the end: fini kept bytes of the source$' plugin:./leak.so
    misfit addresses -DADDRESSES
    fails_in 'seed 20240711: other addresses lead to other figures' plugin:./addresses.so
    misfit outside -DOUTSIDE
    fails_in 'seed [0-9]+, step [0-9]+: block outside the source.s memory: ' plugin:./outside.so
    misfit lockless -DCAPS=TP_CAP_THREADS # it has no lock
    capture "$TAPOOL" strategies --conformance plugin:./lockless.so
    [ "$rc" -eq 4 ]
    matches "$out" '^  FAILED  eight threads at once +(host|virtual)'
    [ "$(grep -c '^  ok ' "$out")" -ge 17 ] # by one thread it is right
    lacks "$out" 'FAILED  [^e]'
}

@test "a plug-in has a page, and the list says how to name one" {
    buddy
    ok "$TAPOOL" strategies plugin:./buddy.so
    matches "$out" '^plugin:buddy: halves of powers of two$'
    matches "$out" '^  plug-in +buddy\.so, version 1\.0$'
    matches "$out" '^Set them as -s plugin:./buddy.so,range=256KiB$'
    lacks "$out" 'To use it|resembles'
    ok "$TAPOOL" strategies
    matches "$out" '^  plugin:PATH +a shared library +host virtual +tapool help plugin$'
    misfit loud '-DSUMMARY="\033]0;title\007\033[2J"' '-DVERSION="\033[31m1"'
    ok "$TAPOOL" strategies plugin:./loud.so
    harmless "$out"
}
