# scripts/gpu-check.sh on the simulated driver: it does everything, and claims nothing. And
# scripts/gpu-bundle.sh, which packs it.
load common

CHECK=$TAPOOL_ROOT/scripts/gpu-check.sh

# one that a program without sanitizers can load too: it is recorded
DRIVER=${TAPOOL_PLAIN_CUDA_PATH:-${TAPOOL_FAKE_CUDA_PATH:-}}

check() { "$CHECK" --binary "$TAPOOL" "$@"; }

need_driver() {
    [ "${TAPOOL_WITH_CUDA:-yes}" = yes ] || skip "this build has no source cuda"
    [ -f "${TAPOOL_FAKE_CUDA_PATH:-}" ] || skip "there is no simulated driver (TAPOOL_FAKE_CUDA_PATH)"
    export TAPOOL_FAKE_CUDA_REPORT=$WORK/books TAPOOL_CUPTI=$DRIVER
}

# A build whose programs look for libraries beside themselves.
need_carried() {
    need_driver
    ! sanitized || skip "nobody carries sanitizers"
    grep -qs '^TAPOOL_CARRIED:BOOL=ON' "${TAPOOL%/*}/CMakeCache.txt" ||
        skip "this build looks for libraries in the system"
}

# A program of the suite that says what cmocka would.
stand_in() { # NAME LINE...
    mkdir -p tests
    { echo '#!/bin/sh' && printf '%s\n' "${@:2}"; } >"tests/test_cuda_$1"
    chmod +x "tests/test_cuda_$1"
}

@test "all of it: results, a table, and no claim" {
    need_driver
    mkdir bin
    printf '#!/bin/sh\necho "43, 1980 MHz, 2619 MHz"\n' >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    PATH=$PWD/bin:$PATH CUDA_DEVICE_MAX_CONNECTIONS=4 ok check --driver "$DRIVER" --out results --quick
    [ "$(tail -n 1 "$out")" = "$WORK/results/results.md" ] || fail "last line: $(tail -n 1 "$out")"
    matches "$out" '^  cuda +(ok|warning) '
    head -n 3 results/results.md >head
    matches head 'simulated'
    matches results/results.md '^- device: Simulated GPU'
    [ "$(grep -c '| not measured | - |$' results/results.md)" -eq 4 ] ||
        fail "not four goals that are not measured:" "$(grep -A 8 '^## Goals' results/results.md)"
    lacks results/results.md '(reached|MISSED)'
    for when in before after; do
        matches results/results.md "^- GPU $when: 43, 1980 MHz, 2619 MHz\$"
        matches results/facts.txt "^==== nvidia-smi -q, $when ====\$"
    done
    # each question has its answer, and those about streams one more with 32 connections
    [ "$(grep -cE '^[a-zA-Z].* {2,}[0-9A-Z].*[^ ]$' results/probe.txt)" -eq 41 ] ||
        fail "not 41 answers:" "$(cat results/probe.txt)"
    lacks results/probe.txt '(FAILED|no time|connections: 4)'
    [ "$(grep -c '^| streams: .* ms' results/results.md)" -eq 8 ] || fail "not 8 answers about streams"
    tar tzf results/gpu-check.tar.gz >carried
    [ "$(grep -cx 'results.md\|results.json\|facts.txt\|probe.txt\|torch.json' carried)" -eq 5 ] ||
        fail "carried: $(cat carried)"
    is results/results.json 'sorted(d)[:3]' "['goals-async_loop', 'goals-pairs', 'goals-ranges']"
    [ "$(grep -c '| replayed_once |$' results/results.md)" -eq 54 ] || fail "not all are marked as replayed once"
    if [ "${TAPOOL_WITH_CUPTI:-yes}" = yes ]; then
        matches results/results.md '^- `tapool record --cuda` .*: the program.s 457 allocations, frees, .*, to the byte; '
    fi
    for trace in training-step llm-decode streams; do
        for occupy in none spin; do
            is "results/$trace-$occupy.json" 'len(d["runs"])' 9
        done
        for strategy in arena lru stream-pool stream-pool-max bump async-0 async-max async-own direct; do
            [ "$(grep -c "^| $trace | $strategy |" results/results.md)" -eq 2 ] ||
                fail "$trace, $strategy: not two rows"
        done
    done
    lacks results/results.md '^## (Failed|No time)'
    # arena knows no streams: on several it reuses memory that another stream still writes
    matches books 'books balance'
    lacks books '(leak:|[1-9] leaks)'
}

@test "a test that fails, and one that passes: exit 1" {
    need_driver
    stand_in good 'echo "[  PASSED  ] 3 test(s)."; echo "[  SKIPPED ] 1 test(s), listed below:"'
    stand_in bad 'echo "[  FAILED  ] 2 test(s), listed below:"; exit 2'
    stand_in ugly 'kill -SEGV $$'
    capture check --driver "$DRIVER" --out results --quick --steps suite --tests tests
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$out" '^-- test_cuda_good: 3 passed, 0 failed, 1 skipped$'
    matches results/results.md '3 passed, 3 failed, 1 skipped, in 3 programs$'
    matches results/results.md '^- test_cuda_ugly: 1 failed; its output is in suite.txt$'
    lacks results/results.md '^## (Probe|Goals|No time for)'
}

@test "no time is left: that is said of each, and no failure" {
    need_driver
    stand_in good 'echo "[  PASSED  ] 3 test(s)."'
    ok check --driver "$DRIVER" --out results --quick --seconds 0 --tests tests
    for what in 'probe, 32 connections' test_cuda_good 'goals-pairs' torch 'streams-spin'; do
        matches results/results.md "^- $what\$"
    done
    matches results/results.md 'not checked: no time$'
    [ ! -e results/probe.txt ] && [ ! -e results/suite.txt ] || fail "something ran"
    stand_in good 'exec sleep 600'
    ok check --driver "$DRIVER" --out cut --quick --seconds 2 --steps suite --tests tests
    matches cut/results.md '^- test_cuda_good'
    lacks cut/results.md '^## Failed'
}

@test "an interrupt leaves what was found, and the archive: exit 1" {
    need_driver
    stand_in early 'echo "[  PASSED  ] 3 test(s)."'
    stand_in late 'kill -INT $PPID' 'exec sleep 600'
    capture check --driver "$DRIVER" --out results --quick --tests tests
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches results/results.md '^- interrupted: '
    matches results/results.md '3 passed, 0 failed, 0 skipped, in 1 program$'
    matches results/results.md '^\| queue: launches \| '
    tar xzOf results/gpu-check.tar.gz results.md | cmp - results/results.md
}

@test "the probe: a call that fails is one answer, words choose questions, and there is an end" {
    need_driver
    local probe=${TAPOOL%/*}/cuda_probe
    export TAPOOL_CUDA_DRIVER=$DRIVER
    capture env TAPOOL_FAKE_CUDA='fail=cuMemPoolCreate:2:2' "$probe" RESERVED USED
    [ "$rc" -eq 1 ] && [ "$(wc -l <"$out")" -eq 7 ] || fail "exit code $rc" "$(cat "$out")"
    matches "$out" '^RESERVED of 160 blocks .* FAILED: cuMemPoolCreate: CUDA_ERROR_OUT_OF_MEMORY'
    matches "$out" '^RESERVED of 16 blocks .* 544.0 MiB in 16 steps of 34.0 MiB$'
    matches "$out" '^USED of a block of 513 bytes +513 bytes; '
    capture env TAPOOL_FAKE_CUDA='missing=cuMemPoolCreate' "$probe"
    [ "$rc" -eq 4 ] || fail "exit code $rc"
    capture env TAPOOL_FAKE_CUDA='devices=0' "$probe"
    [ "$rc" -eq 4 ] || fail "exit code $rc"
    for arguments in '--seconds' '--seconds 0' '--seconds x' '--bogus 1'; do
        # shellcheck disable=SC2086
        capture "$probe" $arguments
        [ "$rc" -eq 2 ] || fail "exit code $rc of: $arguments"
    done
    matches books 'books balance'
    lacks books '(violation:|leak:)'
}

@test "the bundle: unpacked elsewhere it finds its libraries and files, and the suite passes" {
    local built=${TAPOOL%/*} name path
    need_carried
    capture "$TAPOOL_ROOT/scripts/gpu-bundle.sh" --build "$built" bundle.tar.gz
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$out" '^bundle.tar.gz: [0-9.]+ MiB, needs GLIBC [0-9.]+ or newer$'
    mkdir elsewhere
    tar xzf bundle.tar.gz -C elsewhere
    cd elsewhere/tapool-gpu
    ldd build/gpu/tapool build/gpu/tests/unit_cuda >libraries
    while read -r name _ path; do
        [[ $name != lib* || $path == "$PWD"/build/gpu/* || $name =~ ^lib(c|m)\. ]] || fail "$name is from $path"
    done <libraries
    matches libraries "libcmocka.so.0 => $PWD"
    ok env -u LD_LIBRARY_PATH scripts/gpu-check.sh --driver "$DRIVER" --out results --quick --steps probe,suite,record
    matches results/results.md '^- packed: tapool '
    matches results/results.md ' [1-9][0-9]* passed, 0 failed, [0-9]+ skipped, in [1-9][0-9]* programs$'
    matches results/results.md '^\| queue: launches \| '
}

@test "the bundle: a program that would take a library of the system is refused: exit 1" {
    need_carried
    mkdir built
    cp "${TAPOOL%/*}/tapool" "${TAPOOL%/*}/cuda_probe" built
    cp "$(readlink -f "$(command -v bash)")" built/async_loop
    ln -s "${TAPOOL%/*}/tests" built/tests
    capture "$TAPOOL_ROOT/scripts/gpu-bundle.sh" --build built bundle.tar.gz
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$err" '^gpu-bundle.sh: async_loop would take libtinfo'
    [ ! -e bundle.tar.gz ] || fail "it was packed"
}

@test "the bundle: wrong arguments" {
    local bundle=$TAPOOL_ROOT/scripts/gpu-bundle.sh
    wrong() { # REGEX ARGUMENT...
        capture "$bundle" "${@:2}"
        [ "$rc" -eq 2 ] || fail "exit code $rc of: $*" || return 1
        matches "$err" "$1"
    }
    wrong "unknown option '--bogus'" --bogus
    wrong "'--build' needs a value" --build
    wrong "no folder 'nonesuch'" --build nonesuch
    wrong "no folder 'none/such'" none/such/bundle.tar.gz
    wrong "'b' is a second name" a b
    mkdir empty
    wrong "there is no tapool in '.*/empty'" --build empty
    ok "$bundle" --help
    matches "$out" '^usage: scripts/gpu-bundle.sh'
}

@test "a recording that lacks what the program did: exit 1" {
    need_driver
    [ "${TAPOOL_WITH_CUPTI:-yes}" = yes ] || skip "this build has no recorder of GPUs"
    printf '#!/bin/sh\necho "alloc 121\nfree 120\nsync 0\npeak 1600000"\nexec "%s" now >said\n' \
        "$TAPOOL_GPU_PROGRAM" >gpu_program
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$TAPOOL" >tapool
    chmod +x gpu_program tapool
    capture "$CHECK" --binary ./tapool --driver "$DRIVER" --out results --quick --steps record
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches results/results.md '^- record --cuda: the recording has alloc 120, not 121$'
}

@test "a replay that fails is named, the others go on: exit 1" {
    need_driver
    printf '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}\n{"op": "free", "id": 1}\n' \
        >bad.jsonl
    printf '#!/bin/sh\ncase "$*" in\n*goals-* | *streams.tpt* | *llm-decode.tpt* | *training-step.tpt*)
        exit 4 ;;\nesac\nexec "%s" "$@"\n' "$TAPOOL" >tapool
    chmod +x tapool
    capture "$CHECK" --binary ./tapool --driver "$DRIVER" --out results --quick --steps goals,replays bad.jsonl
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches results/results.md '^- bad-none, arena: exit status 3: tapool: .*bad\.jsonl:2'
}

@test "no driver, no GPU: exit 4" {
    echo 'not a library' >libcuda.so
    capture check --driver ./libcuda.so --out results
    [ "$rc" -eq 4 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$err" '^gpu-check.sh: nothing was measured'
    matches "$err" "^hint: .*--driver PATH"
    [ ! -e results/results.md ] || fail "there is a table"
}

@test "wrong arguments: exit 2" {
    wrong() { # REGEX ARGUMENT...
        local regex=$1
        shift
        capture check --out results "$@"
        [ "$rc" -eq 2 ] || fail "exit code $rc of: $*" || return 1
        matches "$err" "$regex" || return 1
        [ ! -e results ] || fail "something was made of: $*"
    }
    wrong "unknown option '--bogus'" --bogus
    wrong "'--seconds' needs a value" --seconds
    wrong "'--seconds soon' is not a number" --seconds soon
    wrong "there is no step 'sweet'" --steps probe,sweet
    wrong "there is no step ''" --steps ,probe
    wrong "no folder 'nonesuch'" --tests nonesuch
    wrong "no folder 'nonesuch'" --prefix nonesuch
    wrong "no file 'nonesuch'" --driver nonesuch
    wrong "no trace 'nonesuch'" nonesuch
    capture "$CHECK" --binary nonesuch
    [ "$rc" -eq 2 ] || fail "exit code $rc"
    ok "$CHECK" --help
    matches "$out" '^usage: scripts/gpu-check.sh'
}

@test "neither cmake nor a binary: exit 2, and what to carry" {
    local name
    mkdir bin
    for name in bash env dirname sed sort head grep cat mkdir rm getconf; do
        ln -s "$(command -v "$name")" "bin/$name"
    done
    capture env PATH="$WORK/bin" "$CHECK" --out results
    [ "$rc" -eq 2 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$err" '^gpu-check.sh: cmake is not here'
    matches "$err" '^hint: .*glibc [0-9.]+ or older: scripts/gpu-bundle.sh'
}
