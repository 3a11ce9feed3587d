#!/usr/bin/env bats
# tapool record: signals to the program, to tapool, and to the group of both.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load record

@test "a signal that ends it ends tapool, and what was recorded is kept" {
    for signal in 6 9 11 15; do
        recorded dies $signal
        [ "$rc" -eq $((128 + signal)) ] || fail "$rc after signal $signal"
        said 'nothing was recorded|events? of 1 thread'
    done
    # to tapool, which passes it on
    mkfifo ready
    "$TAPOOL" record -o b.tpt -- "$RECORDED" waits >ready 2>err &
    local pid=$!
    read -r _ <ready
    kill -TERM "$pid"
    rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 143 ] || fail "$rc" "$(cat err)"
    facts b.tpt
    says 'size 101 10'
}

@test "a signal reaches the program once, be it for tapool or for its process group" {
    mkfifo ready
    local to pid
    for to in '' - - - - -; do # a second one may be lost while the first waits
        setsid "$TAPOOL" record -f -o a.tpt -- "$RECORDED" catches >ready 2>err &
        pid=$!
        exec 4<ready
        read -r _ <&4
        kill -TERM -- "$to$pid"
        wait "$pid" || fail "$?" "$(cat err)"
        read -r said <&4
        exec 4<&-
        [ "$said" = "caught 1" ] || fail "${to:+group: }$said"
    done
    facts a.tpt
    says 'size 101 10'
}

# as_started COMMAND...: runs it with each signal ignored or blocked by a number's last bits: 1 ignored, 2 blocked.
as_started() {
    python3 - "$@" <<'END'
import os, signal, sys
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN if number & 1 else signal.SIG_DFL)
blocked = {number for number in signal.Signals if number & 2}
signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
os.execvp(sys.argv[1], sys.argv[1:])
END
}

@test "signals are blocked and ignored as without tapool" {
    capture as_started grep -E 'Sig(Blk|Ign)' /proc/self/status
    cp "$out" expected
    # SIGPIPE, SIGCHLD and SIGXFSZ are those that tapool treats otherwise for itself
    local ignored
    ignored=$((0x$(sed -n 's/SigIgn:\t//p' expected)))
    for number in 13 17 25; do
        [ $((ignored >> (number - 1) & 1)) -eq 1 ] || fail "$number is not ignored"
    done
    export ASAN_OPTIONS=$ASAN_OPTIONS:handle_sigbus=0 # a sanitizer takes it otherwise
    capture as_started "$TAPOOL" record -o a.tpt grep -E 'Sig(Blk|Ign)' /proc/self/status
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    diff expected "$out"
    # and none is ignored where none was
    capture env --default-signal grep -E 'Sig(Blk|Ign)' /proc/self/status
    cp "$out" expected
    capture env --default-signal "$TAPOOL" record -f -o a.tpt grep -E 'Sig(Blk|Ign)' /proc/self/status
    diff expected "$out"
}

@test "a program that signals its group: tapool lives, and the recording goes on" {
    local signal times
    for signal in 12 14 35 64 15 11; do # USR2 ALRM RT RT TERM SEGV
        for times in 1 40; do
            capture setsid -w "$TAPOOL" record -f -o a.tpt "$RECORDED" groups "$signal" "$times"
            [ "$rc" -eq 0 ] || fail "$signal: $rc" "$(cat "$err")"
            [ "$(cat "$out")" = "caught $times" ] || fail "$signal, $times times: $(cat "$out")"
            lacks "$err" paused
            matches "$err" '^a\.tpt: 80,0[0-9]+ events of 1 thread'
        done
    done
    facts a.tpt
    says 'size 101 10' 'size 103 40000'
}

@test "a timer that runs when tapool is started ends the program" {
    capture timeout 20 python3 -c 'import os, signal, sys
signal.setitimer(signal.ITIMER_REAL, 0.3)
os.execv(sys.argv[1], sys.argv[1:])' "$TAPOOL" record -o a.tpt "$RECORDED" waits
    [ "$rc" -eq 142 ] || fail "$rc" "$(cat "$err")"
    facts a.tpt
    says 'size 101 10'
}

@test "SIGUSR2 stops and starts it; what is freed in between is freed" {
    recorded pauses
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says 'alloc 3' 'free 3' 'realloc 1' 'size 101 1' 'size 103 1' 'size 109 1'
    lacks said 'from their first realloc on'
    said 'frees of blocks from before the recording or from a pause are left out: 2'
    said 'note +SIGUSR2 paused the recording at event 3 for [0-9.e-]+ s '
    ok "$TAPOOL" info a.tpt
    tr -s ' \n' ' ' <"$out" >screen
    matches screen 'SIGUSR2 paused the recording at event 3 for [0-9.e-]+ s '
}
