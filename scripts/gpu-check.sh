#!/usr/bin/env bash
# usage: scripts/gpu-check.sh [OPTION]... [TRACE]...
#
# On a machine with an NVIDIA GPU, without network: prints what `tapool doctor` finds, asks the driver what
# its documentation leaves open, runs the suite of the source cuda on it, records a small program with
# `tapool record --cuda` and compares, replays device traces with every strategy, and writes the results
# as JSON and as a table in Markdown, which is written anew after every step. Builds tapool with what is
# there, or takes a built one: in what scripts/gpu-bundle.sh packed, the one in it.
#
#   --steps A,B,C   these alone, in the order of this list: probe, suite, record, goals, torch, replays
#   --binary PATH   this tapool instead of building one
#   --tests DIR     with the unit tests in it (test_cuda_*, test_conformance, test_property); default:
#                   those that were built or packed with tapool
#   --prefix DIR    libraries that are not installed here (cJSON, nettle, libinih, zlib,
#                   zstd, cmocka): DIR/include and DIR/lib for a build, DIR/lib to run a built one
#   --out DIR       where the results go (default gpu-check-results)
#   --driver PATH   this libcuda.so instead of the one of the system
#   --quick         small traces, each replayed once: does everything work?
#   --seconds N     after so many, building included, what runs is broken off; what is missing is named
#                   (default 480)
#   --help          this text
#
# TRACE: device traces to replay besides the shipped ones, such as a PyTorch memory snapshot.
#
# The last line is the path of the table; the one before names an archive of all that was written, to
# carry home. Exit status: 0 all done and passed, 1 a test, a question or a replay failed, or it was
# interrupted, 2 a wrong argument or something missing, 4 there is no GPU or no driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

binary=
tests=
prefix=
out=gpu-check-results
driver=
seconds=480
all_steps=probe,suite,record,goals,torch,replays
steps=$all_steps
quick=()
traces=()

need_value() { [ $# -ge 2 ] || fail 2 "option '$1' needs a value" "--help lists all"; }

while [ $# -gt 0 ]; do
    case $1 in
    --binary | --tests | --prefix | --out | --driver | --seconds | --steps)
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

[[ $seconds =~ ^[0-9]{1,5}$ ]] || fail 2 "'--seconds $seconds' is not a number"
IFS=, read -ra asked <<<"$steps"
for step in "${asked[@]:-}"; do
    [[ ,$all_steps, == *,"${step:-,}",* ]] || fail 2 "--steps: there is no step '$step'" "all are $all_steps"
done
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
rm -f -- "$out/results.md" # of an earlier run

# Says what to bring where nothing can be built; sets `carry` of its caller to those words.
need_build_tools() {
    local glibc
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo "the glibc of this one")
    carry="on a machine of this processor with $glibc or older: scripts/gpu-bundle.sh; carry what it packs \
here, unpack it, and run scripts/gpu-check.sh in it"
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

# Exits 4, with tapool's own sentence, where a few allocations cannot be replayed. What they gave is kept: it
# says which device that was.
need_gpu() {
    local status=0
    printf '%s\n' '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}' \
        '{"op": "alloc", "id": 1, "size": 1048576}' '{"op": "free", "id": 1}' |
        "$binary" replay - --source cuda --strategy direct --min-time 0 --json >"$out/first.json" || status=$?
    [ "$status" -ne 0 ] || return 0
    rm -f -- "$out/first.json"
    [ "$status" -eq 4 ] || fail 1 "a replay of two events on the GPU failed with status $status"
    fail 4 "nothing was measured: there is no GPU that can be used" \
        "where the loader does not find libcuda.so.1: --driver PATH"
}

if [ -z "$binary" ] && [ -f "$ROOT/BUNDLE" ]; then
    binary=$ROOT/build/gpu/tapool
    tests=${tests:-$ROOT/build/gpu/tests}
fi
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

have python3 || fail 2 "python3 is not here: nothing was asked and nothing measured" \
    "any Python 3.8 without modules will do"
"$binary" doctor | tee -- "$out/doctor.txt"
need_gpu
PYTHONDONTWRITEBYTECODE=1 exec python3 -S "$ROOT/scripts/gpu_check.py" --binary "$binary" --out "$out" \
    --root "$ROOT" --tests "$tests" --steps "$steps" --first "$out/first.json" \
    --doctor "$out/doctor.txt" --seconds $((seconds - SECONDS)) ${quick[@]+"${quick[@]}"} \
    -- ${traces[@]+"${traces[@]}"}
