#!/usr/bin/env bash
# usage: scripts/gpu-bundle.sh [--build DIR] [OUT.tar.gz]
#
# Packs what scripts/gpu-check.sh needs on a machine with a GPU where nothing can be built or installed:
# tapool and the programs that it is checked with, samples, the scripts, and the libraries that a bare
# Debian or Ubuntu lacks, which the programs find by paths relative to their own. Unpacked anywhere on a
# machine of this processor with the same or a newer glibc:
#
#     tar xzf gpu-bundle.tar.gz && tapool-gpu/scripts/gpu-check.sh
#
#   --build DIR    what was built there, instead of building the preset gpu in build/gpu; it needs
#                  TAPOOL_CARRIED=ON and the target gpu_check
#   OUT.tar.gz     default gpu-bundle.tar.gz
#   --help         this text
#
# The last line names the archive, its size and the glibc that it needs. Exit status: 0; 1 the build
# failed, a library would not be found, or the archive has more than 20 MiB; 2 a wrong argument or
# something missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/carry.sh
. "$ROOT/scripts/carry.sh"

MOST_MIB=20
# gpu_check.py names the trace; of the samples it takes all.
CARRIED=(LICENSE cuda/README.md traces/samples tests/data/pytorch/training-step.pickle.gz
    scripts/lib.sh scripts/gpu-check.sh scripts/gpu_check.py scripts/gpu_run.py scripts/gpu_table.py
    scripts/torch_truth.py)
PROGRAMS=(tapool async_loop cuda_probe)
TESTS=('test_cuda_*' test_conformance test_property)

built=
out=
while [ $# -gt 0 ]; do
    case $1 in
    --build)
        [ $# -ge 2 ] || fail 2 "option '$1' needs a value" "--help lists all"
        built=$2
        [ -d "$built" ] || fail 2 "--build: there is no folder '$built'"
        shift
        ;;
    --help | -h)
        usage
        exit 0
        ;;
    -*) fail 2 "unknown option '$1'" "--help lists all" ;;
    *)
        [ -z "$out" ] || fail 2 "one archive is written, and '$1' is a second name"
        out=$1
        ;;
    esac
    shift
done
out=${out:-gpu-bundle.tar.gz}
[ -d "$(dirname -- "$out")" ] || fail 2 "there is no folder '$(dirname -- "$out")'"
for tool in objdump strip; do
    have "$tool" || fail 2 "$tool of binutils is not here" "apt-get install binutils"
done

# Sets `built`.
build_here() {
    need_cmake
    has_toolkit || fail 2 "the CUDA Toolkit is not here: there would be nothing to check" \
        "nvcc in PATH or in CUDA_PATH"
    built=$ROOT/build/gpu
    mkdir -p -- "$ROOT/build"
    say "building in $built"
    configure gpu gpu || fail 1 "the build cannot be configured"
    build gpu gpu_check >>"$built.log" 2>&1 || {
        tail -n 40 -- "$built.log" >&2
        fail 1 "the build failed" "all of its output is in build/gpu.log"
    }
}

# A program without symbols and debug information. A name of a test is a link to the program it is in.
place() { # SOURCE FOLDER
    if [ -L "$1" ]; then
        cp -P -- "$1" "$2/"
        set -- "$(dirname -- "$1")/$(readlink -- "$1")" "$2"
    fi
    [ -e "$2/${1##*/}" ] || install -s -- "$1" "$2/"
}

place_programs() { # FOLDER
    local name path
    mkdir -p -- "$1/tests" "$1/lib"
    for name in "${PROGRAMS[@]}"; do
        [ -x "$built/$name" ] || fail 2 "there is no $name in '$built'" "its target is gpu_check"
        place "$built/$name" "$1"
    done
    for name in "${TESTS[@]}"; do
        for path in "$built/tests/"$name; do
            [ -x "$path" ] || fail 2 "there is no $name in '$built/tests'" "its target is gpu_check"
            place "$path" "$1/tests"
        done
    done
    for path in libtapool_record_cuda.so tests/gpu_program; do # not there without CUPTI
        [ ! -e "$built/$path" ] || place "$built/$path" "$(dirname -- "$1/$path")"
    done
}

programs() { # FOLDER
    find "$1" "$1/tests" -maxdepth 1 -type f -perm -u+x
}

say_what() { # GLIBC
    printf 'tapool %s\n' "$(git -C "$ROOT" describe --always --dirty 2>/dev/null || echo 'of an unknown commit')"
    printf 'for %s with %s or newer\n' "$(uname -m)" "$1"
}

[ -n "$built" ] || build_here
built=$(cd -- "$built" && pwd)
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
top=$stage/tapool-gpu
mkdir -- "$top"
(cd -- "$ROOT" && tar c --exclude=__pycache__ -- "${CARRIED[@]}") | tar x -C "$top"
place_programs "$top/build/gpu"
programs "$top/build/gpu" | place_libraries "$top/build/gpu/lib"
programs "$top/build/gpu" | check_libraries "$top/build/gpu/lib"
glibc=$(glibc_of "$top/build/gpu")
say_what "$glibc" >"$top/BUNDLE"
tar c --owner=0 --group=0 -C "$stage" tapool-gpu | gzip >"$stage/out.tar.gz"
bytes=$(stat -c %s -- "$stage/out.tar.gz")
mib=$(awk -v bytes="$bytes" 'BEGIN {printf "%.1f", bytes / 1048576}')
[ "$bytes" -le $((MOST_MIB * 1048576)) ] || fail 1 "the archive would have $mib MiB, and $MOST_MIB are the most"
mv -- "$stage/out.tar.gz" "$out"
printf '%s: %s MiB, needs %s or newer\n' "$out" "$mib" "$glibc"
