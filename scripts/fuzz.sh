#!/usr/bin/env bash
# usage: scripts/fuzz.sh [SECONDS [TARGET...]]
#
# Fuzzes with libFuzzer, SECONDS (60) for each TARGET, such as pytorch_trace or umpire_trace; all of
# them where none is named. Seeds are tests/fuzz/corpus and large inputs that are made here; inputs
# of up to 400,000 bytes are tried from the start, because what goes wrong behind the first 64 KiB
# goes wrong nowhere else. What was found on the way stays in build/fuzz/found.
#
# Needs clang. An input that crashes is in build/fuzz/crashes, and the exit code is 1. Give it a
# short name in tests/fuzz/corpus and ctest will replay it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
--help | -h)
    usage
    exit 0
    ;;
esac
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || fail 2 "for how many seconds?" "scripts/fuzz.sh 60 pytorch_trace"
[ $# -eq 0 ] || shift
LONGEST=$(sed -nE 's/^LONGEST = ([0-9_]+).*/\1/p' "$ROOT/tests/fuzz/large_seeds.py" | tr -d _)
FUZZ=$ROOT/build/fuzz

cd -- "$ROOT"
mapfile -t TARGETS < <({
    find traces/formats -name '*_trace.c' -printf '%f\n'
    find tests/fuzz -name 'fuzz_*.c' ! -name fuzz_trace.c -printf '%f\n' | sed 's/^fuzz_//'
} | sed 's/\.c$//' | sort -u)
have clang || fail 2 "clang is missing" "apt-get install clang"
if [ $# -eq 0 ]; then
    set -- "${TARGETS[@]}"
fi
for target in "$@"; do
    [[ " ${TARGETS[*]} " == *" $target "* ]] || fail 2 "unknown target '$target'" "there are: ${TARGETS[*]}"
done
[ -f "$FUZZ/CMakeCache.txt" ] || cmake --preset fuzz
cmake --build --preset fuzz -j "$(cores)" --target tapool "${@/#/fuzz_}"
tests/fuzz/large_seeds.py "$FUZZ/large_seeds" "$FUZZ/tapool"

status=0
mkdir -p -- "$FUZZ/crashes"
for target in "$@"; do
    corpus=${target%_trace}
    [ "$corpus" != jsonl ] || corpus=json
    seeds=("tests/fuzz/corpus/$corpus")
    [ ! -d "$FUZZ/large_seeds/$corpus" ] || seeds+=("$FUZZ/large_seeds/$corpus")
    mkdir -p -- "$FUZZ/found/$corpus"
    say "$target: $seconds s"
    "$FUZZ/tests/fuzz_$target" -max_len="$LONGEST" -len_control=0 -max_total_time="$seconds" \
        -timeout=60 -print_final_stats=1 -verbosity=0 -artifact_prefix="$FUZZ/crashes/$target-" \
        "$FUZZ/found/$corpus" "${seeds[@]}" || {
        say "$target: FAILED, the input is in $FUZZ/crashes"
        status=1
    }
done
exit "$status"
