#!/usr/bin/env bash
# usage: scripts/test.sh [--no-install] [--no-browser] [--nightly] [--quick | --only STAGE [--again]]
#
# Builds tapool with warnings as errors and runs its tests, in stages:
#
#   dev     gcc: all tests; on a push not those of input, which asan runs
#   asan    gcc, address and undefined-behaviour sanitizers: unit tests, corpora, tests of input
#   clang   clang: compiles all; exact figures are those of dev
#   tsan    gcc, thread sanitizer: tests of threads
#
# A push runs the tests labelled `push`; --nightly adds those labelled `nightly`. The table of tiers in
# tests/CMakeLists.txt names them. On Debian and Ubuntu the script first installs missing packages.
#
#   --no-install   install nothing: list missing packages and exit with 2
#   --no-browser   skip tests that need Chromium, and do not install it
#   --nightly      run every test. With the CUDA Toolkit, asan then runs the tests of the source cuda,
#                  and the stage bare runs the others without the toolkit (scripts/bare.sh)
#   --quick        same as --only dev
#   --only STAGE   run one stage: dev, asan, bare, clang or tsan
#   --again        skip checks of the source tree, which another stage ran
#   --help         print this text
#
# The last line is `N passed, N failed`, summed over the stages. A stage that does not build counts as
# one failure. Exit status: 0 all passed, 1 a test failed, 2 a package is missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

only=all
once=ON
tier=push
while [ $# -gt 0 ]; do
    case $1 in
    --no-install) INSTALL=no ;;
    --no-browser) export TAPOOL_NO_BROWSER=1 ;;
    --nightly) tier='push|nightly' ;;
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

nightly() { [ "$tier" != push ]; }

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
    "${launcher[@]}" ctest --test-dir "$ROOT/build/$name" --output-on-failure -L "^($tier)\$" \
        --parallel "$(cores)" "$@" 2>&1 | tee -- "$log" || status=$?
    count_tests "$log" "$status"
}

# Runs one stage, if it was asked for, and notes how it ended.
stage() { # NAME TITLE
    local start=$SECONDS result=ok
    [ "$only" = all ] || [ "$only" = "$1" ] || return 0
    targets=(all) # a stage that runs few tests builds only those
    printf '\n== %s\n' "$2"
    "$1_stage" || result=FAILED
    summary+=("$(printf '%-6s %5d s   %s' "$result" $((SECONDS - start)) "$2")")
}

compile() { # PRESET NAME [CMAKE-ARGUMENT...]
    configure "$@" -DTAPOOL_STAGE="$2" && build "$2" "${targets[@]}" && return
    failed=$((failed + 1))
    return 1
}

# At night a bundle for another machine is made of this build. Programs that look beside themselves for
# libraries take longer to start.
dev_stage() {
    local carried=OFF
    ! nightly || carried=ON
    compile dev dev -DCMAKE_C_COMPILER="$(command -v gcc)" -DTAPOOL_CARRIED="$carried" && run_tests dev
}

# The other builds must find the exact figures of this one. Its files are compiled one by one, as those
# of users; theirs, together, as far as python3 joins them.
joined=-DTAPOOL_JOINED=ON
other_build=("$joined" -DTAPOOL_OTHER_BUILD="$ROOT/build/dev/tapool" -DTAPOOL_TESTS_ONCE=OFF)
[ "$only" = all ] || other_build=("$joined" -DTAPOOL_OTHER_BUILD= -DTAPOOL_TESTS_ONCE="$once") # there is no other

# A bare machine adds something only where this one has the CUDA Toolkit.
bare_too() { nightly && has_toolkit && "$ROOT/scripts/bare.sh" --check; }

# Undefined behaviour is a trap here, SIGILL: a sentence for each place that could have it, and its relocation,
# make a process take twice as long to start. In a build of `cmake --preset asan` it is a sentence.
trapping=(-DCMAKE_C_FLAGS_DEBUG="-O0 -g1 -fsanitize-undefined-trap-on-error")

asan_stage() {
    local some=()
    local -x TAPOOL_NO_BROWSER=1 # Chromium has checked the pages of the plain build
    ! bare_too || { some=(-L cuda) && targets=(tests_cuda); }
    compile asan asan -DCMAKE_C_COMPILER="$(command -v gcc)" "${trapping[@]}" "${other_build[@]}" && run_tests asan "${some[@]}"
}

# The same script on a machine that has only what the first lines of this one install.
bare_stage() {
    local status=0 log=$ROOT/build/bare.log again=()
    [ "$only" != all ] && [ "$once" = ON ] || again=(--again)
    "$ROOT/scripts/bare.sh" scripts/test.sh --no-install --nightly --only asan "${again[@]}" 2>&1 | tee -- "$log" || status=$?
    count_tests "$log" "$status"
}

# Warnings and exact figures do not depend on optimisation: -O0 compiles fastest.
clang_stage() {
    targets=(tests_push)
    compile dev clang -DCMAKE_C_COMPILER="$(command -v clang)" -DCMAKE_C_FLAGS_DEBUG="-O0" "${other_build[@]}" &&
        run_tests clang
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
    targets=(tests_push)
    tsan_launcher || say "the thread sanitizer does not start on this machine"
    compile tsan tsan -DCMAKE_C_COMPILER="$(command -v gcc)" -DTAPOOL_CUDA=OFF "$joined" &&
        run_tests tsan || status=1
    launcher=()
    return "$status"
}

# A night holds a manifest against the schemas of Kubernetes, which come from npm. Where they cannot be had that
# test is left out.
need_schemas() {
    local dir=$ROOT/build/npm
    [ ! -d "$dir/node_modules/typescript" ] && have npm && [ "$INSTALL" = yes ] || return 0
    say "installing with npm: kubernetes-models typescript"
    mkdir -p -- "$dir"
    npm install --silent --no-fund --no-audit --prefix "$dir" 'kubernetes-models@4 - 5' typescript@5 >/dev/null 2>&1 ||
        say "npm could not install them: the manifest is not held against its schema"
}

needs=("${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}")
[[ $only != all && $only != clang ]] || needs+=("${CLANG_NEEDS[@]}")
[ -n "${TAPOOL_NO_BROWSER:-}" ] || [[ $only != all && $only != dev ]] || needs+=("${BROWSER_NEEDS[@]}")
! nightly || [[ $only != all && $only != dev ]] || needs+=("${PACKAGE_NEEDS[@]}" "${CLUSTER_NEEDS[@]}")
need_packages "${needs[@]}"
need_cmake
mkdir -p -- "$ROOT/build"
say_cuda
! nightly || need_schemas

stage dev "dev: gcc"
stage asan "asan: gcc, address and undefined-behaviour sanitizers$(! bare_too || echo ", source cuda")"
if [ "$only" = bare ] || bare_too; then
    stage bare "bare: asan without the CUDA Toolkit"
elif nightly && has_toolkit; then
    say "not tested without the CUDA Toolkit: this machine cannot run scripts/bare.sh"
fi
stage clang "clang: clang, exact figures"
stage tsan "tsan: gcc, thread sanitizer"

printf '\n'
printf '%s\n' "${summary[@]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
