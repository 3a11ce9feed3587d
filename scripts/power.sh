#!/usr/bin/env bash
# usage: scripts/power.sh PERCENT N [-- OPTION OF tapool check...]
#
# Slows `lru` down by PERCENT, net, on its timed path (in a copy of the tree), and lets a check
# against the release build look for it N times. Each check adds a line to the tally (TALLY, by
# default build/power-tally.csv).
#
#   BUSY=yes scripts/power.sh 10 10
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/trials.sh
. "$ROOT/scripts/trials.sh"

percent=${1:-}
count=${2:-}
[[ $percent =~ ^[0-9.]+$ && $count =~ ^[0-9]+$ ]] ||
    fail 2 "how much slower, and how often?" "scripts/power.sh 10 10"
shift 2
TALLY=${TALLY:-$ROOT/build/power-tally.csv}
build_trials
keep_busy
exec_trials power "$count" --percent "$percent" "$@"
