#!/usr/bin/env bash
# usage: scripts/test.sh [--no-install] [--no-browser] [--bare] [--quick | --only STAGE [--again]]
#
# Builds tapool and runs its tests, in stages: every test with gcc (dev); the unit tests and all that
# reads input with the address and undefined-behaviour sanitizers (asan); the unit tests, less the slow
# ones, with clang (clang); those that start threads with the thread sanitizer (tsan). Warnings are
# errors. On Debian and Ubuntu it first installs what is missing and says so. May be run again.
#
# Where the CUDA Toolkit is, --bare runs the sanitizers in two halves: with it (asan: the tests of the
# source cuda), and on a bare machine, which scripts/bare.sh makes of this one (bare: all the others).
#
#   --no-install   install nothing: say what is missing and exit 2
#   --no-browser   leave out what looks at HTML pages in Chromium, and do not install it
#   --bare         the sanitizers on a bare machine too: some minutes more
#   --quick        the plain gcc build and its tests only, as --only dev
#   --only STAGE   one stage: dev, asan, bare, clang or tsan
#   --again        with it: another stage ran on this tree, so leave out what looks at the sources alone
#   --help         this text
#
# The last line is `N passed, N failed`, counted over all stages (a test runs in several); a stage
# that fails to build counts as one failure. Exit status: 0 all passed, 1 not, 2 something missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

only=all
once=ON
bare=
while [ $# -gt 0 ]; do
    case $1 in
    --no-install) INSTALL=no ;;
    --no-browser) export TAPOOL_NO_BROWSER=1 ;;
    --bare) bare=yes ;;
    --quick) only=dev ;;
    --only)
        shift
        only=${1:-}
        [[ " dev asan bare clang tsan " == *" $only "* ]] || fail 2 "unknown stage '$only'" "--help lists all"
        ;;
    --again) once=OFF ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) fail 2 "unknown argument '$1'" "--help lists all" ;;
    esac
    shift
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

# Runs one stage, if it was asked for, and notes how it ended.
stage() { # NAME TITLE
    local start=$SECONDS result=ok
    [ "$only" = all ] || [ "$only" = "$1" ] || return 0
    targets=(all) # a stage that runs a few tests builds only those
    printf '\n== %s\n' "$2"
    "$1_stage" || result=FAILED
    summary+=("$(printf '%-6s %5d s   %s' "$result" $((SECONDS - start)) "$2")")
}

compile() { # PRESET NAME [CMAKE-ARGUMENT...]
    configure "$@" && build "$2" "${targets[@]}" && return
    failed=$((failed + 1))
    return 1
}

dev_stage() { compile dev dev -DCMAKE_C_COMPILER="$(command -v gcc)" && run_tests dev; }

# The other builds must find the exact figures of this one.
other_build=(-DTAPOOL_OTHER_BUILD="$ROOT/build/dev/tapool" -DTAPOOL_TESTS_ONCE=OFF)
[ "$only" = all ] || other_build=(-DTAPOOL_OTHER_BUILD= -DTAPOOL_TESTS_ONCE=$once) # there is no other

# A second machine under the sanitizers is of use where this one has more than a bare one.
bare_too() { [ -n "$bare" ] && has_toolkit && "$ROOT/scripts/bare.sh" --check; }

asan_stage() {
    local some=(-LE plain)
    local -x TAPOOL_NO_BROWSER=1 # it has looked at the pages of the plain build
    ! bare_too || { some=(-L cuda) && targets=(tests_cuda); }
    compile asan asan -DCMAKE_C_COMPILER="$(command -v gcc)" "${other_build[@]}" && run_tests asan "${some[@]}"
}

# The same script on a machine that has only what the first lines of this one install.
bare_stage() {
    local status=0 log=$ROOT/build/bare.log again=()
    [ "$only" != all ] && [ "$once" = ON ] || again=(--again)
    "$ROOT/scripts/bare.sh" scripts/test.sh --no-install --only asan "${again[@]}" 2>&1 | tee -- "$log" || status=$?
    count_tests "$log" "$status"
}

# The slow tests play on one thread: the two stages below have nothing to add to them.
clang_stage() {
    targets=(tests_unit tests_builds)
    compile dev clang-dev -DCMAKE_C_COMPILER="$(command -v clang)" -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" "${other_build[@]}" &&
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

tsan_stage() {
    local status=0
    targets=(tests_threads)
    tsan_launcher || say "the thread sanitizer does not start on this machine"
    compile tsan tsan -DCMAKE_C_COMPILER="$(command -v gcc)" -DTAPOOL_CUDA=OFF &&
        run_tests tsan -L threads || status=1
    launcher=()
    return "$status"
}

needs=("${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}")
[[ $only != all && $only != clang ]] || needs+=("${CLANG_NEEDS[@]}")
[ -n "${TAPOOL_NO_BROWSER:-}" ] || [[ $only != all && $only != dev ]] || needs+=("${BROWSER_NEEDS[@]}")
need_packages "${needs[@]}"
need_cmake
mkdir -p -- "$ROOT/build"
say_cuda

stage dev "gcc, warnings are errors: every test"
stage asan "gcc, address and undefined-behaviour sanitizers: $(bare_too && echo the source cuda || echo units, input)"
if [ "$only" = bare ] || bare_too; then
    stage bare "the same on a bare machine, without the CUDA Toolkit: units, input"
elif [ -n "$bare" ] && has_toolkit; then
    say "no bare machine can be made of this one (scripts/bare.sh --help): not tested without the CUDA Toolkit"
fi
stage clang "clang, warnings are errors: unit tests, exact figures"
stage tsan "gcc, thread sanitizer: tests of threads"

printf '\n'
printf '%s\n' "${summary[@]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
