#!/usr/bin/env bash
# usage: scripts/test.sh [--no-install] [--quick]
#
# Builds tapool and runs its tests: every test with gcc, then with the address and undefined-behaviour
# sanitizers; the unit tests, less the slow ones, with clang; and, built as where there is no CUDA
# Toolkit, those that start threads with the thread sanitizer. Warnings are errors. On Debian and
# Ubuntu it first installs what is missing and says so. May be run again.
#
#   --no-install   install nothing: say what is missing and exit 2
#   --quick        the plain gcc build and its tests only
#   --help         this text
#
# The last line is `N passed, N failed`, counted over all stages (a test runs in several); a stage
# that fails to build counts as one failure. Exit status: 0 all passed, 1 not, 2 something missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

quick=no
for argument in "$@"; do
    case $argument in
    --no-install) INSTALL=no ;;
    --quick) quick=yes ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) fail 2 "unknown argument '$argument'" "--help lists all" ;;
    esac
done

passed=0
failed=0
summary=()
launcher=() # before ctest, in the stage that needs it

# Adds up what ctest said; nothing said means that nothing ran, which is a failure too.
count_tests() { # LOG STATUS
    local line bad=0 total=0
    line=$(sed -n 's/.* \([0-9]*\) tests* failed out of \([0-9]*\)$/\1 \2/p' "$1" | tail -n 1)
    [ -z "$line" ] || read -r bad total <<<"$line"
    [ "$2" -eq 0 ] && [ "$total" -gt 0 ] || [ "$bad" -gt 0 ] || bad=1
    [ "$total" -ge "$bad" ] || total=$bad
    passed=$((passed + total - bad))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ]
}

run_tests() { # NAME [CTEST-ARGUMENT...]
    local name=$1 status=0 log=$ROOT/build/$1.log
    shift
    "${launcher[@]}" ctest --test-dir "$ROOT/build/$name" --output-on-failure \
        --parallel "$(cores)" "$@" 2>&1 | tee -- "$log" || status=$?
    count_tests "$log" "$status"
}

# Runs one stage and notes how it ended.
stage() { # TITLE FUNCTION
    local start=$SECONDS result=ok
    printf '\n== %s\n' "$1"
    "$2" || result=FAILED
    summary+=("$(printf '%-6s %5d s   %s' "$result" $((SECONDS - start)) "$1")")
}

compile() { # PRESET NAME [CMAKE-ARGUMENT...]
    configure "$@" && build "$2" && return
    failed=$((failed + 1))
    return 1
}

dev_stage() { compile dev dev -DCMAKE_C_COMPILER="$(command -v gcc)" && run_tests dev; }

# The other builds must find the exact figures of this one.
other_build=-DTAPOOL_OTHER_BUILD=$ROOT/build/dev/tapool

asan_stage() { compile asan asan -DCMAKE_C_COMPILER="$(command -v gcc)" "$other_build" && run_tests asan; }

# The slow tests play on one thread: the two stages below have nothing to add to them.
clang_stage() {
    compile dev clang-dev -DCMAKE_C_COMPILER="$(command -v clang)" "$other_build" &&
        run_tests clang-dev -L 'unit|builds' -LE slow
}

# Kernels with many random bits in addresses stop older thread sanitizers at start; without
# randomisation they run.
tsan_launcher() {
    local probe=$ROOT/build/tsan-probe
    launcher=()
    echo 'int main(void) { return 0; }' | gcc -fsanitize=thread -x c - -o "$probe" || return 1
    "$probe" 2>/dev/null && return
    launcher=(setarch "$(uname -m)" -R)
    "${launcher[@]}" "$probe"
}

# This build also stands for machines without the CUDA Toolkit: what tapool says and does there.
tsan_stage() {
    local status=0
    tsan_launcher || say "the thread sanitizer does not start on this machine"
    compile tsan tsan -DCMAKE_C_COMPILER="$(command -v gcc)" -DTAPOOL_CUDA=OFF &&
        run_tests tsan -L 'threads|no_cuda' || status=1
    launcher=()
    return "$status"
}

needs=("${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}")
[ "$quick" = yes ] || needs+=("${CLANG_NEEDS[@]}")
need_packages "${needs[@]}"
need_cmake
mkdir -p -- "$ROOT/build"
say_cuda

stage "gcc, warnings are errors: every test" dev_stage
if [ "$quick" = no ]; then
    stage "gcc, address and undefined-behaviour sanitizers: every test" asan_stage
    stage "clang, warnings are errors: unit tests, exact figures" clang_stage
    stage "gcc, thread sanitizer, without the CUDA Toolkit: tests of threads" tsan_stage
fi

printf '\n'
printf '%s\n' "${summary[@]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
