#!/usr/bin/env bats
# --threads: real threads replay the timed passes. What they do is tested in test_crew and
# test_thread_plan; here is what the user sees, and what does not go.
load common

TURNS=${TAPOOL_TURNS:-$(dirname "$TAPOOL")/tests/turns}

# one_each N: an object of each of so many threads. A loop of the shell would take 20 s under bats.
one_each() {
    lines
    seq 0 $(($1 - 1)) | sed 's/.*/{"op":"alloc","id":&,"size":8,"thread":&}/'
}

web() { "$TAPOOL" gen web-server --count 60 --live 100 --threads "$1" -o "$2" -f >/dev/null; }

@test "each recorded thread by one of its own: the head, the table and JSON say so" {
    web 8 web.tpt
    ok replay web.tpt -s arena -s lru --threads recorded --json
    is "$out" "[r['throughput']['threads_replayed'] for r in d['runs']]" '[8, 8]'
    is "$out" "[r['throughput']['one_lock'] for r in d['runs']]" '[False, True]'
    is "$out" "[0 <= r['throughput']['waited'] <= 1 for r in d['runs']]" '[True, True]'
    is "$out" "[0 <= r['throughput']['blocked'] <= 1 for r in d['runs']]" '[True, True]'
    is "$out" "[r['throughput']['speedup'] > 0 < r['throughput']['calls_per_second'] for r in d['runs']]" '[True, True]'
    is "$out" "[r['throughput']['window_ns'] > r['throughput']['wall_ns_per_op'] for r in d['runs']]" '[True, True]'
    is "$out" "[r['settings']['threads'] for r in d['runs']]" "['recorded', 'recorded']"
    is "$out" "sum(k['count'] for k in r['latency'].values()) % r['trace']['operations']" 0
    ok replay_once web.tpt -s arena -s lru --threads recorded --repeat 4 --json
    is "$out" "[all(t['ci95_low_' + k] <= t[k] <= t['ci95_high_' + k] for k in ('wall_ns_per_op', 'window_ns')) for t in (r['throughput'] for r in d['runs'])]" '[True, True]'
    ok replay web.tpt -s arena -s lru --threads recorded
    matches "$out" 'replayed by 8 threads on [0-9]+ cores?, as recorded'
    matches "$out" 'wall ns/op +ns/op +vs'
    matches "$out" 'wall: time per operation of all threads together, waiting included'
    matches "$out" 'waited: for an object of another thread; not in ns/op'
    matches "$out" 'blocked: calls without a core, in a lock or a page fault; in ns/op'
    matches "$out" '^  lru: one lock around every call'
    lacks "$out" 'no lock contention'
    ok replay_once web.tpt -s arena --threads recorded --verify
    tr -s ' \n' ' ' <"$out" | grep -qF 'verified by one thread and by 8: no overlap, aligned, contents kept, nothing leaked'
    ok replay web.tpt -s arena --threads recorded
    matches "$out" '[0-9.,]+ ns/op wall time +[0-9,]+ calls/s$'
    matches "$out" '[0-9.]+ [mu]?s per window +all threads meet at its end$'
    matches "$out" '[0-9.]+x vs 1 thread +speedup in wall time$'
    matches "$out" 'Summary: arena, [0-9.,]+ ns/op \(8 threads: [0-9.,]+ ns/op wall time\), '
    matches "$out" '[0-9.]+% waited +for other threads. blocks$'
    matches "$out" '[0-9.]+% blocked +in a lock or a page fault$'
}

@test "the recorded threads replay by default, on host" {
    web 8 web.tpt
    ok "$TAPOOL" replay web.tpt -s arena --min-time 0 --json
    is "$out" "r['throughput']['threads_replayed'], d['runs'][0]['settings']['threads']" "(8, 'auto')"
    ok "$TAPOOL" replay web.tpt -s arena --min-time 0 --source virtual --json
    is "$out" "r['throughput']['threads_replayed']" 1
}

@test "by one thread nothing is said of waiting" {
    web 8 web.tpt
    ok replay web.tpt -s arena --json
    is "$out" "[r['throughput'][k] for k in ('threads_replayed', 'wall_ns_per_op', 'ci95_low_wall_ns_per_op', 'window_ns', 'ci95_high_window_ns', 'calls_per_second', 'speedup', 'waited', 'blocked', 'one_lock')]" '[1, None, None, None, None, None, None, None, None, False]'
    ok replay web.tpt -s arena
    matches "$out" '8 recorded threads replayed by 1: no lock contention in these times'
    matches "$out" '\(--threads recorded replays 8\)'
    lacks "$out" waited
    ok replay_once web.tpt -s arena --verify
    tr -s ' \n' ' ' <"$out" | grep -qF 'replayed by one thread; blocks written on first use; verified: no overlap'
}

# bats test_tags=nightly
@test "N threads: several recorded ones each, and never more than there are" {
    web 8 web.tpt
    ok replay web.tpt -s arena --threads 3
    matches "$out" '8 recorded threads replayed by 3 on [0-9]+ core'
    ok replay web.tpt -s arena --threads 100 --json
    is "$out" "r['throughput']['threads_replayed']" 8
    ok replay web.tpt -s arena --threads 100
    matches "$out" '^ +\(the trace has 8 threads: --threads 100 replays no more\)'
    ok replay web.tpt -s arena --threads 8
    lacks "$out" 'replays no more'
    web 1 one.tpt
    for n in 100 recorded; do
        ok replay one.tpt -s arena --threads "$n"
        matches "$out" 'replayed by one thread'
        matches "$out" "^ +\(the trace has one thread: --threads $n has no effect\)"
    done
    ok "$TAPOOL" compare one.tpt -s arena -s lru --threads 2 --rounds 2 --min-time 0
    matches "$out" '^ +\(the trace has one thread: --threads 2 has no effect\)'
    ok replay_once "$TAPOOL_ROOT/tests/fuzz/corpus/mtrace/real" -s bump --threads 2
    matches "$out" '\(the trace names no threads: --threads 2 has no effect\)'
}

# bats test_tags=nightly
@test "more threads than cores: that the scheduler has a part in it" {
    web 4 web.tpt
    on_one() { taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')" "$@"; }
    ok on_one "$TAPOOL" replay web.tpt -s arena --threads 2 --min-time 1ms
    matches "$out" '! shared-cores +2 threads share 1 core: wall time and waiting include the scheduler'
    ok on_one "$TAPOOL" compare web.tpt -s arena -s lru --threads 2 --rounds 2 --min-time 0
    matches "$out" '2 threads share 1 core: wall time and waiting include the scheduler'
    ok on_one "$TAPOOL" replay web.tpt -s arena --threads 1 --min-time 1ms
    lacks "$out" shared-cores
}

@test "memory and counts are those of one thread" {
    web 8 web.tpt
    ok replay web.tpt -s arena --threads recorded --json
    cp "$out" several.json
    ok replay web.tpt -s arena --json
    is "$out" "r['memory'] == json.load(open('several.json'))['runs'][0]['memory']" True
    is "$out" "r['driver_calls'] == json.load(open('several.json'))['runs'][0]['driver_calls']" True
}

@test "a real allocator in its own process" {
    web 4 web.tpt
    ok replay web.tpt -s system --threads recorded --json
    is "$out" "r['throughput']['threads_replayed']" 4
}

# bats test_tags=nightly
@test "compare: the column waited, no core to pin to, and another setting than before" {
    web 4 web.tpt
    ok "$TAPOOL" compare web.tpt -s arena -s lru --threads recorded --rounds 2 --min-time 1ms -v
    matches "$out" 'replayed by 4 threads'
    matches "$out" 'wall: time per operation of all threads together, waiting included'
    matches "$out" 'waited: for an object of another thread; not in ns/op'
    lacks "$out" pinned
    replay web.tpt -s arena -s lru --threads 2 --json >two.json
    replay web.tpt -s arena -s lru --json >one.json
    ok "$TAPOOL" compare one.json two.json
    matches "$out" '--threads 1 and 2'
}

# needs VARIABLES STRATEGY: what a program of four threads needs under a malloc, against what is predicted. One thread
# would need a quarter.
needs() {
    local real
    real=$(env "$1" "$TURNS" 4 8)
    ok "$TAPOOL" replay turns.tpt -s "$2" --passes resident --json
    is "$out" 'r["resident"]["threads"]' 5
    is "$out" "abs(r['resident']['peak_bytes'] / 1024 / $real - 1) < 0.1" True || fail "the program needs $real KiB"
}

@test "a program of several threads needs what is predicted, under glibc and with one arena" {
    ! sanitized || skip "a sanitizer has a malloc of its own"
    "$TAPOOL" record -o turns.tpt -- "$TURNS" 4 8 >/dev/null 2>&1
    needs NOTHING= system
    needs MALLOC_ARENA_MAX=1 system:env=MALLOC_ARENA_MAX=1
    for threads in recorded 1; do
        ok "$TAPOOL" replay turns.tpt -s system --passes mapped --threads $threads --json
        query "$out" '(r["mapped"]["threads"], r["mapped"]["peak_bytes"] >> 23)'
    done >mapped
    printf '(5, 4)\n(1, 1)\n' | diff - mapped # arenas of four threads, or one
    ok "$TAPOOL" replay turns.tpt -s system --min-time 0
    matches "$out" 'by one thread, except resident and mapped memory'
    matches "$out" 'peak resident \(5 threads\): private memory'
    tr -s ' \n' ' ' <"$out" | grep -qE 'Summary: system, .*, [0-9.]+ MiB resident \(5 threads\)'
    ok "$TAPOOL" replay turns.tpt -s system -s arena --min-time 0
    matches "$out" 'Resident and mapped memory: replayed by the 5 recorded threads; all other memory: by one\.'
}

@test "where threads cannot replay: one sentence, and 2" {
    "$TAPOOL" gen training-step --layers 1 -o gpu.tpt >/dev/null
    refused 2 'replays host traces in this machine.s memory' replay gpu.tpt -s arena --threads 2
    web 2 web.tpt
    refused 2 "replays host traces in this machine.s memory: '--source host'" \
        replay web.tpt -s arena --source virtual --threads recorded
    refused 2 "threads" replay web.tpt -s arena --threads 0
    refused 2 "threads" replay web.tpt -s arena --threads many
}

# bats test_tags=nightly
@test "compare gates the times of several threads" {
    web 2 web.tpt
    ok "$TAPOOL" compare web.tpt -s arena -s arena --threads 2 --rounds 2 --min-time 0 \
        --fail-on 'wall_ns_per_op>+5000%'
    capture "$TAPOOL" compare web.tpt -s arena -s lru --threads 2 --rounds 2 --min-time 0 \
        --fail-on 'wall_ns_per_op>0ns'
    [ "$rc" -eq 1 ]
}

# bats test_tags=nightly
@test "check: times of several threads, live; memory and counts are those of one" {
    web 2 web.tpt
    "$TAPOOL" gen training-step --layers 1 -o gpu.tpt >/dev/null
    ok "$TAPOOL" check web.tpt gpu.tpt -s lru --update
    refused 2 '^tapool: --threads is about times, and there is nothing to compare them with$' \
        "$TAPOOL" check --threads 2
    refused 2 '--threads and --update exclude each other' "$TAPOOL" check --threads 2 --update
    refused 2 '--threads and --core exclude each other' \
        "$TAPOOL" check --threads 2 --core 1 --base-bin "$TAPOOL"
    refused 2 '6 pairs are too few at alpha 0.01 and up to 16 tests' \
        "$TAPOOL" check --base-bin "$TAPOOL" --pairs 6 --threads 2 # one more than without for each
    cat >old-tapool <<SH
#!/bin/sh
echo "\$*" >>arguments
exec "$TAPOOL" "\$@"
SH
    chmod +x old-tapool
    capture "$TAPOOL" check --base-bin ./old-tapool --threads recorded --pairs 12 --min-time 0 --effect 900% --json
    [ "$rc" = 0 ] || fail "exit code $rc" "$(cat "$err")"
    # what is timed on host, by several threads; on virtual and for instructions by one
    matches arguments 'throughput.*--source host .*--threads recorded'
    lacks arguments '(--source virtual|count) .*--threads ([^1]|1[0-9])'
    is "$out" 'sorted({f["trace"] for f in d["findings"] if f["metric"] == "wall_ns_per_op"})' "['web.tpt']"
    is "$out" 'd["classes"][2]["against"]' 'vs ./old-tapool, 12 pairs, --threads recorded'
    is "$out" 'sum(f["class"] == "E" for f in d["findings"]) > 20' True
    ok "$TAPOOL" check --base-bin ./old-tapool --threads 2 --pairs 12 --plan
}

# bats test_tags=nightly
@test "65,535 threads: recorded is too many, N replays them" {
    one_each 65535 >many.jsonl
    refused 2 '65535 threads are too many: at most 1024 can replay together' \
        replay many.jsonl -s bump --threads recorded
    ok replay_once many.jsonl -s bump --threads 8 --json
    is "$out" "r['throughput']['threads_replayed']" 8
}

# bats test_tags=nightly
@test "more threads than the machine allows: how many there were room for, and 4" {
    sanitized && skip "a sanitizer needs its address space"
    one_each 1000 >many.jsonl
    limited() (ulimit -v 400000; "$TAPOOL" replay many.jsonl -s bump --min-time 0 "$@")
    refused 4 'only [0-9]+ of 1000 threads can run here' limited --threads recorded
    matches "$err" "--threads N"
    ok limited --json # times of one thread are there, what is resident is not known
    is "$out" "[r['resident'][k] for k in ('passes', 'threads', 'peak_bytes')]" '[0, 0, None]'
    ok limited -v
    matches "$out" 'resident +not known: too many threads for this machine'
}

@test "a signal ends all threads, and to the whole group also the process of one thread" {
    web 8 web.tpt
    local pid rc to
    for to in '' -; do
        rc=0
        setsid "$TAPOOL" replay web.tpt -s arena --threads recorded --min-time 1h >"$SCRATCH/o" 2>"$SCRATCH/e" 3>&- &
        pid=$!
        sleep 1
        kill -TERM -- "$to$pid" # SIGINT is ignored in a job of a shell without a terminal
        timeout 60 tail --pid="$pid" -f /dev/null || kill -KILL "$pid"
        wait "$pid" || rc=$?
        [ "$rc" -eq 143 ]
        matches "$SCRATCH/e" interrupted
        ! pgrep -g "$pid" >/dev/null
    done
}
