#!/usr/bin/env bash
# Measures, and asserts nothing: timed figures do not belong into tests. scripts/bench.py says what.
#
#   ROUNDS=5 MIN_TIME=200ms COMPARISONS=20 BUILD=build/release scripts/bench.sh [SECTION]...
#
# scripts/bench.py lists the sections; without any all are measured. bench.sh --peers are those about
# malloc libraries, and take some five minutes; COMPARISONS is how often a library is compared with
# itself there.
#
# EVENTS=1e7 makes the long traces of the section `traces` shorter; they take 1 GB in $TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."

BUILD=${BUILD:-build/release}
if [ ! -f "$BUILD/build.ninja" ] && [ ! -f "$BUILD/Makefile" ]; then
    cmake --preset release >/dev/null
fi
cmake --build "$BUILD" --target tapool tapool_record libc_loop decode_loop known_cost >/dev/null
grep -m 1 '^model name' /proc/cpuinfo 2>/dev/null || true
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(date -u +%F), $("$BUILD/tapool" --version)"
exec python3 scripts/bench.py "$BUILD/tapool" "$BUILD/libc_loop" "$BUILD/decode_loop" "$BUILD/known_cost" "$@"
