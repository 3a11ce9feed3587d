#!/usr/bin/env bash
# usage: scripts/aa.sh N [-- OPTION OF tapool check...]
#
# Checks a release build against itself N times, over 3 traces x 2 strategies and in all classes:
# every regression that is found is a false alarm. Each check adds a line to the tally
# (TALLY, by default build/aa-tally.csv), so it may be stopped and started again at any time; 0 only
# prints what stands there. With BUSY=yes another core is kept busy meanwhile.
#
#   TALLY=FILE BUILD=build/release BUSY=yes scripts/aa.sh 200
#   scripts/aa.sh 10 -- --core 0
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/trials.sh
. "$ROOT/scripts/trials.sh"

count=${1:-}
[[ $count =~ ^[0-9]+$ ]] || fail 2 "how many checks?" "scripts/aa.sh 10"
shift
[ "$count" -gt 0 ] || exec_trials print 0
build_trials
keep_busy
exec_trials aa "$count" "$@"
