#!/usr/bin/env bash
# Measures, and asserts nothing: timed figures do not belong into tests.
#   1. what `-s system` says beside a loop over the same calls written by hand, taken in turn
#   2. every strategy on every sample: ns per call net, the engine's share, peak reserved
set -euo pipefail
cd "$(dirname "$0")/.."

ROUNDS=${ROUNDS:-7}
BUILD=${BUILD:-build/release}
SAMPLES="sqlite jq python-threads"

if [ ! -f "$BUILD/build.ninja" ] && [ ! -f "$BUILD/Makefile" ]; then
    cmake --preset release >/dev/null
fi
cmake --build "$BUILD" --target tapool libc_loop >/dev/null
tapool=$BUILD/tapool

# figure JSON-FILE EXPRESSION: one number out of a result
figure() { python3 -c "import json,sys; run=json.load(open(sys.argv[1]))['runs'][0]; print($2)" "$1"; }
median() { sort -g | awk '{v[NR]=$1} END {print NR%2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "system against a loop written by hand, ns per call net of each loop's own share;"
echo "medians of $ROUNDS runs each, taken in turn"
printf '  %-16s %10s %10s %8s\n' sample tapool by-hand ratio
for sample in $SAMPLES; do
    : >"$work/tapool"; : >"$work/hand"
    "$BUILD/libc_loop" extract "traces/samples/$sample.json" >"$work/calls"
    for _ in $(seq "$ROUNDS"); do
        "$tapool" replay "sample:$sample" -s system --export-json "$work/r.json" -f >/dev/null
        figure "$work/r.json" "run['throughput']['ns_per_op']" >>"$work/tapool"
        "$BUILD/libc_loop" "$work/calls" >>"$work/hand"
    done
    a=$(median <"$work/tapool"); b=$(median <"$work/hand")
    printf '  %-16s %10.2f %10.2f %8.3f\n' "$sample" "$a" "$b" "$(python3 -c "print($a / $b)")"
done

echo
echo "every strategy on every sample, one run each"
printf '  %-16s %-8s %10s %10s %10s %14s\n' sample strategy "ns/call" cold engine "peak reserved"
for sample in $SAMPLES; do
    for strategy in system arena bump direct; do
        "$tapool" replay "sample:$sample" -s $strategy --export-json "$work/r.json" -f >/dev/null
        printf '  %-16s %-8s %10.2f %10.2f %10.2f %14d\n' "$sample" $strategy \
            "$(figure "$work/r.json" "run['throughput']['ns_per_op']")" \
            "$(figure "$work/r.json" "run['throughput']['cold_ns_per_op']")" \
            "$(figure "$work/r.json" "run['throughput']['engine_ns_per_op']")" \
            "$(figure "$work/r.json" "run['memory']['peak_reserved_bytes']")"
    done
done
