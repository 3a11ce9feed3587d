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
