#!/usr/bin/env bash
# usage: scripts/published.sh [--check] [FOLDER]
#
# Replays the workloads whose figures others published (tests/published, or FOLDER) and writes
# results.csv there, and of tests/published the summary in README.md. --check: write nothing, print
# the lines that differ, and exit with 1 if there are any. TAPOOL names the binary
# (build/release/tapool).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

check=()
case ${1:-} in
--help)
    usage
    exit 0
    ;;
--check)
    check=(--check)
    shift
    ;;
esac
folder=${1:-$ROOT/tests/published}
tapool=${TAPOOL:-$ROOT/build/release/tapool}
[ -x "$tapool" ] || fail 2 "there is no $tapool" "scripts/quickstart.sh builds it"
[ -d "$folder" ] || fail 2 "there is no folder '$folder'"
exec python3 -S -E "$ROOT/scripts/published.py" "$tapool" "$folder" "${check[@]}"
