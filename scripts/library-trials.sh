#!/usr/bin/env bash
# usage: scripts/library-trials.sh aa|instructions|time N [-- OPTION OF tapool check...]
#
# Gates one malloc library against another N times with check --base-lib, on sample:jq, and says how often a
# regression was found. Libraries are those of the tests: glibc's malloc behind a library of its own.
#
#   aa             the same library twice: every regression is a false alarm
#   instructions   1% more instructions of the replay's: a loop in one of 128 mallocs
#   time           about 10% more time: a loop in every malloc
#
#   BUILD=build/release scripts/library-trials.sh aa 100
#   FIRST=53 scripts/library-trials.sh aa 48      # the rest of them: FIRST is the first seed
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

kind=${1:-} count=${2:-}
[[ $kind =~ ^(aa|instructions|time)$ && $count =~ ^[1-9][0-9]*$ ]] ||
    fail 2 "aa, instructions or time, and how many checks?" "scripts/library-trials.sh aa 10"
shift 2
[ "${1:-}" != -- ] || shift
tapool=${BUILD:-$ROOT/build/release}/tapool
[ -x "$tapool" ] || fail 2 "there is no $tapool" "cmake --preset release && cmake --build --preset release"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
malloc() { # FILE DEFINITION...
    local file=$1
    shift
    "${CC:-cc}" -O2 -shared -fPIC -fno-builtin -o "$work/$file" "$ROOT/tests/mallocs/odd_malloc.c" -lpthread "$@"
}
every=128 loops=0
case $kind in
instructions) loops=64 ;;
time) every=1 loops=6 ;;
esac
malloc old.so -DTURNS "-DTURNS_EVERY=$every" -DTURNS_LOOPS=0
malloc new.so -DTURNS "-DTURNS_EVERY=$every" "-DTURNS_LOOPS=$loops"

cd "$work"
FIRST=${FIRST:-1} found=0
for ((i = FIRST; i < FIRST + count; i++)); do
    status=0
    "$tapool" check sample:jq -s my=lib:./new.so --base-lib ./old.so --seed "$i" --json "$@" >check.json || status=$?
    says=$(python3 -S -E - <<'END'
import json
d = json.load(open("check.json"))
worse = ["%s %+.2f%%" % (f["metric"], 100 * f["change"]) for f in d["findings"] if f["verdict"] == "regression"]
time = next(f["change"] for f in d["findings"] if f["metric"] == "ns_per_op")
rule = d["rule"]["sensitivity"]
print("%s; time %+.1f%%, detectable %s" % (", ".join(worse) or "no regression", 100 * time,
                                           "%.0f%%" % (100 * rule) if rule else "not known"))
END
    )
    found=$((found + (status == 1)))
    printf 'seed %d: exit %d, %s\n' "$i" "$status" "$says"
done
printf '%s: a regression in %d of %d checks\n' "$kind" "$found" "$count"
