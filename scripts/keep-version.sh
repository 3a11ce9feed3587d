#!/usr/bin/env bash
# usage: scripts/keep-version.sh
#
# Writes tests/versions/VERSION, small files as the present build writes them, which every later build must
# read (tests/versions/README.md): before a release, for the version in CMakeLists.txt. TAPOOL names the
# binary (build/release/tapool).
#
# Exit status: 0; 1 a command of tapool failed; 2 the version is released, and its files stay as they are, or
# something is missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

export TAPOOL_CONFIG='' TAPOOL_VALGRIND=/nonexistent # a baseline without counted instructions
tapool=${TAPOOL:-$ROOT/build/release/tapool}
corpus=$ROOT/tests/fuzz/corpus/tpt
[ $# -eq 0 ] || { usage; exit 2; }
[ -x "$tapool" ] || fail 2 "there is no $tapool" "scripts/quickstart.sh builds it"
version=$(project_version)
built=$("$tapool" --version)
[[ $built == "tapool $version "* ]] || fail 2 "$tapool is '$built', not version $version" "build this tree"
! git -C "$ROOT" rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
    fail 2 "version $version is released: its files stay as they are" "raise the version in CMakeLists.txt"

folder=$ROOT/tests/versions/$version
rm -rf -- "$folder"
mkdir -p -- "$folder"
cd -- "$folder"
{
    "$tapool" convert sample:python-threads --limit 200 -o host.tpt
    "$tapool" convert host.tpt -o packed.tpt --compress
    "$tapool" convert "$corpus/places.tpt" -o device.tpt
    "$tapool" convert "$corpus/heap.tpt" -o heap.tpt
    "$tapool" convert "$corpus/stacks.tpt" -o stacks.tpt
    "$tapool" convert device.tpt -o device.jsonl
    "$tapool" check host.tpt -s direct -s bump --source virtual --update --baseline baseline.json \
        --tolerance peak_metadata=64KiB # of tapool, not of the rules
} >/dev/null
# On one line, without the name of the machine.
"$tapool" replay host.tpt --limit 40 -s direct -s bump --source virtual --passes usage,throughput --min-time 0 --json |
    sed 's/"\(os\|cpu\)":.*"/"\1":"any"/' | tr -d '\n\t' >result.json
python3 -S -E ../figures.py "$tapool" ./*.tpt ./*.jsonl >figures.txt
printf 'Written by %s.\n' "$built" >README.md
say "$(du -cb -- * | sed -n 's/\ttotal//p') bytes in tests/versions/$version"
