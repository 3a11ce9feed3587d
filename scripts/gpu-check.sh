#!/usr/bin/env bash
# usage: scripts/gpu-check.sh [OPTION]... [TRACE]...
#
# On a machine with an NVIDIA GPU, without network: runs the suite of the source cuda on the real
# driver, prints what `tapool doctor` finds, records a small program with `tapool record --cuda` and
# compares, replays device traces with every strategy, and writes the results as JSON and as a table in
# Markdown. Builds tapool with what is there, or takes a built one.
#
#   --binary PATH   this tapool instead of building one
#   --tests DIR     with the unit tests in it (test_cuda_*, test_conformance, test_property); default:
#                   those that were built here
#   --prefix DIR    libraries that are not installed here (cJSON, libcrypto, libinih, zlib,
#                   zstd, cmocka): DIR/include and DIR/lib for a build, DIR/lib to run a built one
#   --out DIR       where the results go (default gpu-check-results)
#   --driver PATH   this libcuda.so instead of the one of the system
#   --quick         small traces, each played once: does everything work?
#   --seconds N     after so many, building included, replays are broken off; what is missing is named
#                   (default 480)
#   --help          this text
#
# TRACE: device traces to replay besides the shipped ones, such as a PyTorch memory snapshot.
#
# The last line is the path of the table. Exit status: 0 all done and passed, 1 a test or a replay
# failed, 2 a wrong argument or something missing, 4 there is no GPU or no driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

binary=
tests=
prefix=
out=gpu-check-results
driver=
seconds=480
quick=()
traces=()

need_value() { [ $# -ge 2 ] || fail 2 "option '$1' needs a value" "--help lists all"; }

while [ $# -gt 0 ]; do
    case $1 in
    --binary | --tests | --prefix | --out | --driver | --seconds)
        need_value "$@"
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
    --quick) quick=(--quick) ;;
    --help | -h)
        usage
        exit 0
        ;;
    -*) fail 2 "unknown option '$1'" "--help lists all" ;;
    *) traces+=("$1") ;;
    esac
    shift
done

[[ $seconds =~ ^[0-9]{1,5}$ ]] || fail 2 "'--seconds $seconds' is no number"
[ -z "$binary" ] || [ -x "$binary" ] || fail 2 "--binary: there is no program '$binary'"
[ -z "$tests" ] || [ -d "$tests" ] || fail 2 "--tests: there is no folder '$tests'"
[ -z "$prefix" ] || [ -d "$prefix" ] || fail 2 "--prefix: there is no folder '$prefix'"
[ -z "$driver" ] || [ -f "$driver" ] || fail 2 "--driver: there is no file '$driver'"
for trace in ${traces[@]+"${traces[@]}"}; do
    [ -e "$trace" ] || [[ $trace == sample:* ]] || fail 2 "there is no trace '$trace'"
done
[ -z "$prefix" ] || prefix=$(cd -- "$prefix" && pwd)
if [ -n "$driver" ]; then # with a slash, or the loader looks for it elsewhere
    TAPOOL_CUDA_DRIVER=$(cd -- "$(dirname -- "$driver")" && pwd)/${driver##*/}
    export TAPOOL_CUDA_DRIVER
fi
mkdir -p -- "$out" || fail 2 "--out: '$out' cannot be made"
out=$(cd -- "$out" && pwd)
rm -f -- "$out/results.md" "$out/tests.txt" # of an earlier run

# Says what to bring where nothing can be built; sets `carry` of its caller to those words.
need_build_tools() {
    local glibc
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo "the glibc of this one")
    carry="on a machine of this processor with $glibc or older: cmake --preset gpu && cmake --build \
--preset gpu; carry build/gpu/tapool, build/gpu/async_loop, build/gpu/libtapool_record_cuda.so, \
build/gpu/tests/gpu_program and build/gpu/tests/test_* here, then: \
--binary build/gpu/tapool --tests build/gpu/tests"
    have cmake || fail 2 "cmake is not here, so nothing can be built" "$carry"
    have "${CC:-gcc}" || have cc || fail 2 "there is no C compiler here" "$carry"
    have ninja || have make || fail 2 "neither ninja nor make is here" "$carry"
    need_cmake
}

# Builds in build/gpu: tapool, and the tests where cmocka is found.
build_here() {
    local dir=$ROOT/build/gpu log=$ROOT/build/gpu.log arguments=() carry
    need_build_tools
    mkdir -p -- "$ROOT/build"
    drop_stale "$dir"
    [ -f "$dir/CMakeCache.txt" ] || ! have ninja || arguments+=(-G Ninja)
    [ -z "$prefix" ] || arguments+=(-DTAPOOL_DEPENDENCIES_PREFIX="$prefix")
    say "building in $dir"
    arguments+=(-S "$ROOT" -B "$dir" -DCMAKE_BUILD_TYPE=Release)
    if ! cmake "${arguments[@]}" -DTAPOOL_TESTS=ON >"$log" 2>&1 &&
        ! cmake "${arguments[@]}" -DTAPOOL_TESTS=OFF >"$log" 2>&1; then
        cat -- "$log" >&2
        fail 2 "the build cannot be configured" "the output above is in build/gpu.log"
    fi
    # CMake names the targets of the toolkit only where it found one
    grep -qs async_loop "$dir/build.ninja" "$dir/Makefile" || fail 2 \
        "the CUDA Toolkit (12.0 or newer, nvcc and cuda.h) was not found: there would be nothing to check" \
        "nvcc in PATH or CUDAToolkit_ROOT=DIR in the environment; or $carry"
    if grep -q '^TAPOOL_TESTS:BOOL=ON' "$dir/CMakeCache.txt"; then
        tests=${tests:-$dir/tests}
    else
        say "without cmocka: no unit tests (--prefix with include/cmocka.h and lib/libcmocka.so)"
    fi
    cmake --build "$dir" --parallel "$(cores)" --target gpu_check >>"$log" 2>&1 || {
        tail -n 40 -- "$log" >&2
        fail 1 "the build failed" "all of its output is in build/gpu.log"
    }
    binary=$dir/tapool
}

# Exits 4, with tapool's own sentence, where a few allocations cannot be played.
need_gpu() {
    local status=0
    printf '%s\n' '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}' \
        '{"op": "alloc", "id": 1, "size": 1048576}' '{"op": "free", "id": 1}' |
        "$binary" replay - --source cuda --strategy direct --min-time 0 >"$out/first.txt" 2>&1 || status=$?
    [ "$status" -ne 0 ] || { rm -f -- "$out/first.txt" && return; }
    cat -- "$out/first.txt" >&2
    rm -f -- "$out/first.txt"
    [ "$status" -eq 4 ] || fail 1 "a replay of two events on the GPU failed with status $status"
    fail 4 "nothing was measured: there is no GPU that can be used"
}

# The number in cmocka's last lines, such as `[  PASSED  ] 12 test(s).`
counted() { # WORD LOG
    sed -n "s/^\[ *$1 *\] \([0-9]*\) test.*/\1/p" "$2" | tail -n 1
}

# Runs one program of the suite; a line of its counts goes into $out/tests.txt.
run_program() { # PATH SECONDS
    local name=${1##*/} log=$out/${1##*/}.log status=0 passed failed skipped
    TAPOOL_TEST_REAL_CUDA=1 TAPOOL_ROOT=$ROOT timeout "$2" "$1" >"$log" 2>&1 || status=$?
    passed=$(counted PASSED "$log")
    failed=$(counted FAILED "$log")
    skipped=$(counted SKIPPED "$log")
    [ "$status" -eq 0 ] || [ "${failed:-0}" -gt 0 ] || failed=1 # it crashed, or was too slow
    [ "$status" -ne 124 ] || printf 'stopped after %d seconds\n' "$2" >>"$log"
    printf '%s %d %d %d\n' "$name" "${passed:-0}" "${failed:-0}" "${skipped:-0}" >>"$out/tests.txt"
    say "$name: ${passed:-0} passed, ${failed:-0} failed, ${skipped:-0} skipped"
    [ "${failed:-0}" -eq 0 ] || { suite=1 && tail -n 30 -- "$log"; }
}

# The tests that play on the driver; of every source the last two, which are long.
run_suite() {
    local program programs=("$tests"/test_cuda_*) count=0
    [ "${#quick[@]}" -gt 0 ] || programs+=("$tests/test_conformance" "$tests/test_property")
    : >"$out/tests.txt"
    for program in "${programs[@]}"; do
        if [ -f "$program" ] && [ -x "$program" ]; then
            run_program "$program" 120
            count=$((count + 1))
        fi
    done
    [ "$count" -gt 0 ] || say "there is no test_cuda_* in '$tests': the suite was not run"
}

[ -n "$binary" ] || build_here
binary=$(cd -- "$(dirname -- "$binary")" && pwd)/${binary##*/}
if [ -n "$prefix" ]; then
    for folder in lib lib64 "lib/$(uname -m)-linux-gnu"; do
        [ ! -d "$prefix/$folder" ] || LD_LIBRARY_PATH=$prefix/$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    export LD_LIBRARY_PATH
fi
"$binary" --version >/dev/null || fail 2 "'$binary' does not run here" \
    "ldd $binary lists its libraries; --prefix DIR has those of DIR/lib"

# a binary that was built elsewhere looks for its samples there
"$binary" info sample:sqlite >/dev/null 2>&1 || export TAPOOL_SAMPLES=$ROOT/traces/samples

"$binary" doctor | tee -- "$out/doctor.txt"
need_gpu
suite=0
if [ -n "$tests" ]; then
    run_suite
else
    say "without --tests the suite was not run"
fi

have python3 || fail 2 "python3 is not here: nothing was replayed and there is no table" \
    "any Python 3.8 without modules will do; what ran so far is in $out"
status=0
PYTHONDONTWRITEBYTECODE=1 python3 -S "$ROOT/scripts/gpu_check.py" --binary "$binary" --out "$out" \
    --root "$ROOT" --seconds $((seconds - SECONDS)) ${quick[@]+"${quick[@]}"} \
    -- ${traces[@]+"${traces[@]}"} || status=$?
[ "$suite" -eq 0 ] || say "the suite failed: its output is in $out/test_*.log"
[ "$status" -ne 0 ] || status=$suite
[ ! -f "$out/results.md" ] || printf '%s\n' "$out/results.md"
exit "$status"
