# What the tests of tapool check share; after common.bash.
# shellcheck shell=bash
export TAPOOL_VALGRIND= # instructions have tests of their own, and take long
unset GITHUB_ACTIONS

# Quick: enough pairs for one cell, no time spent in each.
check() { "$TAPOOL" check --pairs 11 --min-time 0ms --core none --seed 7 "$@"; }

some_trace() {
    trace '{"op":"alloc","id":1,"size":1000}' '{"op":"alloc","id":2,"size":70000}' '{"op":"free","id":1}' \
        '{"op":"alloc","id":3,"size":500}' '{"op":"free","id":2}'
}

# counting: a valgrind that counts 5000 instructions in whatever it runs.
counting() {
    cat >valgrind <<'END'
#!/bin/sh
case "$*" in *--version) echo valgrind-9.8.7; exit 0 ;; esac
while :; do
    case $1 in --callgrind-out-file=*) out=${1#*=} ;; --*) ;; *) break ;; esac
    shift
done
printf 'version: 1\nevents: Ir\ntotals: 5000\n' >"${out%\%p}$$"
exec "$@"
END
    chmod +x valgrind
    export TAPOOL_VALGRIND=$WORK/valgrind
}

other_trace() { trace '{"op":"alloc","id":1,"size":1000}' '{"op":"free","id":1}'; }

# A baseline of a.json with arena; what else is given goes to check.
baseline() {
    some_trace >a.json
    ok check a.json -s arena --update "$@"
}

# stub NAME AWK: a tapool whose n-th answer is that of the real one, recorded once, after awk changed
# it line by line (n is there); its memory is that of arena.
stub() {
    [ -f canned ] || "$TAPOOL" replay a.json -s arena --json --min-time 1ms >canned
    cat >"$1" <<END
#!/bin/sh
n=\$(cat "$WORK/$1.n" 2>/dev/null || echo 0)
n=\$((n + 1))
echo \$n >"$WORK/$1.n"
exec awk -v n=\$n '$2 { print }' "$WORK/canned"
END
    chmod +x "$1"
}

# timed NAME NS SPREAD: a stub whose time per call is NS, give or take; the engine's is 2 ns.
timed() {
    stub "$1" "/\"p(50|90|99|99_9)_ns\"/ { sub(/: *[0-9]+/, \": 1\"); sub(/:\\t[0-9]+/, \":\\t1\") }
        /\"replay_overhead_ns_per_op\"/ { sub(/[0-9.]+,/, \"2,\") }
        /\"ns_per_op\"/ { sub(/[0-9.]+,/, $2 * (1 + $3 * ((n * 7) % 13 - 6) / 6) \",\") }"
}
