# What scripts/aa.sh and scripts/power.sh share; sourced after lib.sh.
# shellcheck shell=bash
BUILD=${BUILD:-$ROOT/build/release}
busy=

build_trials() {
    [ -f "$BUILD/CMakeCache.txt" ] || cmake --preset release -B "$BUILD" >/dev/null
    cmake --build "$BUILD" --target tapool >/dev/null
}

# Something that never ends on the first core; the checks pin themselves to the last one.
keep_busy() {
    [ "${BUSY:-no}" = yes ] || return 0
    taskset -c 0 sh -c 'while :; do :; done' &
    busy=$!
    trap 'kill "$busy"' EXIT
}

exec_trials() { # TRIAL COUNT [ARGUMENT...]
    local trial=$1 count=$2
    shift 2
    python3 "$ROOT/scripts/gate_trials.py" "$trial" "$count" --tapool "$BUILD/tapool" \
        --root "$ROOT" --tally "${TALLY:-$ROOT/build/aa-tally.csv}" "$@"
    exit
}
