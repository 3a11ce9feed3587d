#!/usr/bin/env bash
# Makes the seeds of tests/fuzz/corpus/recording anew, whenever the layout of a recording changes.
#
# usage: tests/fuzz/recording_specimens.sh BUILD
#
# BUILD is a build with tests, and with CUPTI. A recording is left behind where `tapool record` itself is killed; the
# zeros after its last event are cut off, but for one, which may end it. The C library is called
# otherwise there: what a seed says is to be the same on each machine, and to be read fast.
set -euo pipefail
build=$(cd -- "${1:?usage: tests/fuzz/recording_specimens.sh BUILD}" && pwd)
corpus=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/corpus/recording
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$build/tests/specimen_program" program

export TAPOOL_CUDA_DRIVER=$build/tests/fake_libcuda.so TAPOOL_CUPTI=$build/tests/fake_libcuda.so

make() { # NAME OPTIONS [ARGUMENT]
    local options
    read -ra options <<<"$2"
    rm -f out.tpt.recording
    "$build/tapool" record "${options[@]}" -o out.tpt -- ./program "${@:3}" 2>/dev/null || true
    while pgrep -f "^./program" >/dev/null; do sleep 0.1; done
    python3 - out.tpt.recording "$corpus/$1" <<'END'
import sys
whole = open(sys.argv[1], "rb").read().rstrip(b"\0") + b"\0"
open(sys.argv[2], "wb").write(whole.replace(b"/libc.so.6", b"/libc.so.x"))
END
}

make specimen ''
make two-threads '' two
make stacks '--stacks 6 --stack-every 1'
python3 "$(dirname -- "$corpus")/../recording_with_code.py" "$corpus/stacks" "$corpus/with_code"
cp "$build/tests/gpu_program" program
make devices --cuda async pool fails leaves
