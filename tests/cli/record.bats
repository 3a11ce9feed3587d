#!/usr/bin/env bats
# tapool record: programs that know what they allocated, and the recording agrees to the byte; what the
# program keeps of its own (status, output, environment); what ends a recording early; what is said
# where there is nothing. Signals are in record_signals.bats, how a program is named in record_target.bats.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load record

# ---- what is recorded ----

@test "a program that knows its calls, sizes, alignments, threads and peak: equal, to the byte" {
    for threads in 1 4; do
        recorded knows "$threads"
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
        sort "$out" >known
        facts a.tpt
        says "mark all are there $(sed -n 's/^peak //p' known)"
        grep -v '^mark' facts | sort | diff known -
        [ ! -e a.tpt.recording ]
    done
    said '^a\.tpt: [0-9,]+ events of 5 threads, peak [0-9.]+ KiB at event [0-9,]+; [0-9.]+ KiB, '
    said 'recording overhead: about [0-9]+ ns/event, [0-9.]+% of thread time Next: tapool replay a\.tpt $'
    ok replay_once a.tpt -s arena --verify
}

@test "the malloc that the program had, its settings, and its share of the program's CPU time" {
    MALLOC_ARENA_MAX=3 recorded knows 1
    facts a.tpt
    ok "$TAPOOL" info a.tpt
    matches "$out" '^  malloc +(glibc [0-9.]+|[a-z].*), MALLOC_ARENA_MAX=3($|; (takes|share) )'
    # busy: calls of which many are timed; malloc cannot take more than all
    recording -o busy.tpt -- "${TAPOOL_TURNS:-$(dirname "$TAPOOL")/tests/turns}" 4 8
    ok "$TAPOOL" info busy.tpt --json
    python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))["trace"]
assert 0 < t["cpu_low_ns"] <= t["cpu_high_ns"], t
assert 0 < t["malloc_low_ns"] <= t["malloc_high_ns"] < 2 * t["cpu_high_ns"], t
assert t["wall_ns"] > 0, t' "$out"
    ok "$TAPOOL" convert busy.tpt -o busy.jsonl
    ok "$TAPOOL" info busy.jsonl --json
    cp "$out" text.json
    ok "$TAPOOL" info busy.tpt --json
    for name in allocator cpu_low_ns cpu_high_ns wall_ns malloc_low_ns malloc_high_ns; do
        [ "$(value "$out" "d['trace']['$name']")" = "$(value text.json "d['trace']['$name']")" ]
    done
}

@test "what a program wrote of its large blocks is recorded, and resident memory is replayed like that" {
    recorded quarters
    said 'the program wrote 25.[0-9]% of its blocks of 16 KiB and more'
    ok "$TAPOOL" info a.tpt --json
    is "$out" 'd["trace"]["written"].split(":")[:2]' "['22', '33554432']"
    for form in a.tpt b.jsonl; do
        [ -e "$form" ] || ok "$TAPOOL" convert a.tpt -o "$form"
        ok "$TAPOOL" replay "$form" -s system -s arena --json --passes resident,usage
        python3 -c 'import json, sys
for r in json.load(open(sys.argv[1]))["runs"]:
    assert 8 << 20 <= r["resident"]["peak_bytes"] < 16 << 20, r["resident"] # of 32 MiB' "$out"
    done
    ok "$TAPOOL" replay a.tpt -s arena
    matches "$out" 'peak resident: private memory, blocks written as recorded$'
}

# bats test_tags=nightly
@test "1,000 threads at a time" {
    recorded knows 1000
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    sort "$out" >known
    facts a.tpt
    grep -v '^mark' facts | sort | diff known -
    said ' of 1,001 threads'
}

@test "new and delete of C++, sized and aligned, and one that throws" {
    c++ -std=c++17 -x c++ -o operators "$TAPOOL_ROOT/tests/programs/operators.cc" 2>/dev/null ||
        skip "there is no C++ compiler"
    recording -o a.tpt -- ./operators
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says "align 64 6"
    for size in $(seq 101 2 127); do
        says "size $size 1"
    done
    # the handler that frees when there is no memory is seen, too: its block is gone before the last
    says "alloc 14" "free 14" "peak 127"
    matches facts.jsonl '"size": 128, "align": 128'
}

@test "a plug-in of a C program keeps the operators new that are its own, and those of its library" {
    cat >plug.cc <<'END2'
#include <new>
#include <cstdlib>
#ifdef OWN
static int asked;
void *operator new(std::size_t size) { asked++; return std::malloc(size); }
void operator delete(void *p) noexcept { asked++; std::free(p); }
void operator delete(void *p, std::size_t) noexcept { asked++; std::free(p); }
extern "C" int runs() { ::operator delete(::operator new(101)); return asked == 2 ? 0 : 1; }
#else
extern "C" int runs()
{
    ::operator delete(::operator new(101));
    try { ::operator delete(::operator new(static_cast<std::size_t>(-1) / 4)); }
    catch (const std::bad_alloc &) { return 0; }
    return 1;
}
#endif
END2
    local own
    for own in '' -DOWN; do
        # shellcheck disable=SC2086 # may be none
        c++ -std=c++17 -shared -fPIC $own -o plug.so plug.cc 2>/dev/null || skip "there is no C++ compiler"
        recorded plugs "$PWD/plug.so"
        [ "$rc" -eq 0 ] || fail "$own: $rc" "$(cat "$err")"
        facts a.tpt
        says 'size 101 1' 'free 1'
    done
}

@test "an allocator that was preloaded is kept, below the recorder" {
    [ -n "${TAPOOL_MALLOCS:-}" ] || skip "no malloc libraries in this build"
    LD_PRELOAD=$TAPOOL_MALLOCS/counts.so recording -o a.tpt -- "$RECORDED" knows 2
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    sort "$out" >known
    facts a.tpt
    grep -v '^mark' facts | sort | diff known -
    # shellcheck disable=SC2016 # the shell that is recorded expands it
    LD_PRELOAD=$TAPOOL_MALLOCS/counts.so recording -o b.tpt -- sh -c 'echo "$LD_PRELOAD"'
    matches "$out" "libtapool_record\.so:$TAPOOL_MALLOCS/counts\.so$"
}

# ---- what stays the program's ----

@test "input, output and status are the program's" {
    recording -o a.tpt -- "$RECORDED" writes <<<'to whom it may concern'
    [ "$rc" -eq 7 ]
    [ "$(cat "$out")" = 'to whom it may concern' ]
    said '^to stderr '
    facts a.tpt
    says 'size 101 1'
}

@test "a program that closes all descriptors, and opens others with their numbers" {
    recorded closes
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says 'size 101 40010' 'free 40010'
}

@test "a program keeps its lowest descriptors, its cancellation points and its dlerror" {
    for task in numbers cancels errs; do
        recorded "$task"
        [ "$rc" -eq 0 ] || fail "$task: $rc" "$(cat "$err")"
        ok "$TAPOOL" info a.tpt --strict
    done
}

@test "a link where the file of a child will be leads nowhere" {
    echo mine >victim
    python3 -c 'import os
for pid in range(os.getpid(), os.getpid() + 2000):
    os.symlink("victim", "a.tpt.%d.recording" % (pid % 32768))'
    recording --follow fork -o a.tpt -f -- "$RECORDED" forks 3
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    [ "$(cat victim)" = mine ]
    [ "$(find . -name 'a.*.tpt' | wc -l)" -eq 3 ]
}

@test "children: left out, or each in a file of its own" {
    recorded forks 3
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says 'alloc 20' 'size 101 20'
    [ "$(ls ./*.tpt)" = ./a.tpt ]
    for follow in fork all; do
        rm -f ./*.tpt
        recording --follow "$follow" -o b.tpt -- "$RECORDED" forks 3
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
        said 'children: 3 traces with 600 events, in files with their process ids Next: tapool replay b\.tpt'
        facts b.tpt
        says 'size 101 20' 'alloc 20'
        for child in b.[0-9]*.tpt; do
            facts "$child"
            says 'size 103 100' 'alloc 100' 'free 100'
        done
        [ "$(echo b.[0-9]*.tpt | wc -w)" -eq 3 ]
        ! compgen -G './*.recording' || fail "$(ls)"
    done
}

@test "children that are not recorded are one note, each counted once" {
    # one that becomes another program, or two, is one
    # shellcheck disable=SC2016 # the shell that is recorded expands it
    local script='(exec sh -c "exec \"$0\" takes 5"); "$0" takes 5; "$0" takes 5; true'
    recording -o a.tpt -- sh -c "$script" "$RECORDED"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'note +3 child processes were not recorded: --follow all '
    ok "$TAPOOL" info a.tpt
    matches "$out" '3 child processes were not recorded: --follow all'
    recording -f -o a.tpt -- "$RECORDED" forks 1
    said 'note +1 child process was not recorded: --follow all '
    recording -f -o a.tpt -- "$RECORDED" forks 600
    said 'note +600 child processes were not recorded: --follow all '
    # what is recorded is none of them
    recording -f -o b.tpt --follow fork -- "$RECORDED" forks 3
    lacks said 'not recorded'
    recording -f -o b.tpt --follow all -- sh -c "$script" "$RECORDED"
    lacks said 'not recorded'
    recording -f -o b.tpt -- sh -c 'exec "$0" takes 5' "$RECORDED"
    lacks said 'not recorded'
}

@test "record and info agree on the number of threads" {
    recorded relays 12
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said ' events of 13 threads, '
    ok "$TAPOOL" info a.tpt --json
    is "$out" 'd["trace"]["threads"]' 13
}

@test "children that are other programs, and one that outlives its parent" {
    recording --follow all -o a.tpt -- sh -c "'$RECORDED' takes 5; { sleep 0.1; '$RECORDED' takes 6; } & true"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    cat a.[0-9]*.tpt >/dev/null
    for child in a.[0-9]*.tpt; do
        facts "$child"
        cat facts
    done >all
    grep -qx 'size 101 5' all
    grep -qx 'size 101 6' all
    # copies alone, or none: what the children become runs, and is not recorded
    for follow in fork none; do
        rm -f b.*
        recording --follow "$follow" -o b.tpt -- sh -c "echo x | '$RECORDED' writes; echo status \$?"
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
        matches "$out" '^status 7$'
        for trace in b.*; do
            facts "$trace"
            lacks facts 'size 101'
        done
    done
}

# bats test_tags=nightly
@test "a program that forks 1,000 times" {
    recording --follow fork -o a.tpt -- "$RECORDED" forks 1000
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'children: 1,000 traces with 200,000 events, in files'
}

@test "a child of vfork allocates in its parent, until it is another program" {
    for follow in none fork all; do
        recording --follow "$follow" -f -o a.tpt -- "$RECORDED" vforks
        [ "$rc" -eq 0 ] || fail "$follow: $(cat "$err")"
        facts a.tpt
        grep -qx 'size 101 20' facts || fail "$follow: $(cat facts)"
        ok "$TAPOOL" info a.tpt
        lacks "$out" 'repaired|left out'
    done
}

@test "two children with one process id, in two namespaces" {
    recording --follow fork -o a.tpt -f -- "$RECORDED" spaces
    [ "$rc" -ne 77 ] || skip "this user may make no namespaces"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'children: 2 traces with 400 events'
    for trace in a.1.tpt a.1.2.tpt; do
        facts "$trace"
        cat facts
    done >all
    grep -qx 'size 103 100' all
    grep -qx 'size 105 100' all
}

@test "what another run left is neither made a trace nor removed" {
    recorded orphans
    mv a.tpt.recording b.tpt.4711.recording
    echo 'no recording' >b.tpt.4712.recording
    mkfifo b.tpt.4713.recording
    cp b.tpt.4711.recording expected
    recording --follow fork -o b.tpt -- "$RECORDED" forks 2
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'children: 2 traces with 400 events, in files with their process ids recordings of other runs in the same folder: 1 Next'
    cmp expected b.tpt.4711.recording
    [ "$(echo b.tpt.47*)" = 'b.tpt.4711.recording b.tpt.4712.recording b.tpt.4713.recording' ]
}

@test "a child without the right to write a file is counted" {
    recording --follow fork -o a.tpt -- "$RECORDED" drops
    [ "$rc" -ne 77 ] || skip "this user has no rights to drop"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'children not recorded, for lack of permission, descriptors or space: 1 '
}

@test "a program that becomes a daemon: that it is not recorded is said" {
    recorded daemons
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'note +a forked copy of the program still runs \(a daemon\?\) and is not recorded: --follow fork'
    recording --follow fork -o b.tpt -- sh -c "exec timeout 20 '$RECORDED' forks 1"
    [ "$rc" -eq 0 ]
    lacks said 'daemon'
}

@test "exec: the program that follows in the process is the one that counts" {
    recording -o a.tpt -- sh -c "exec '$RECORDED' takes 50"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says 'size 101 50'
    said 'programs ran in the process before this one \(exec\), and are left out: 1'
}

# ---- ended early ----

# bats test_tags=nightly
@test "kill -9 at a random moment: nothing that was done is missing" {
    for round in 1 2 3 4 5 6; do
        local last=$((1 + RANDOM % (round * 2000)))
        recorded counts counters "$last"
        [ "$rc" -eq 137 ]
        python3 - counters >done_by <<'END2'
import struct, sys
data = open(sys.argv[1], "rb").read()
print(*struct.unpack_from("=Q56xQ", data))
END2
        read -r first second <done_by
        facts a.tpt
        local seen done=$((first + second))
        seen=$(sed -n 's/^alloc //p' facts)
        # two threads, each perhaps between the call and its count
        [ "$seen" -ge "$done" ] && [ "$seen" -le $((done + 2)) ] ||
            fail "killed at $last: $done done, $seen recorded"
    done
}

# bats test_tags=nightly
@test "kill -9 of the program, of record, or of both, at any moment" {
    "$TAPOOL_ROOT/tests/scripts/kill9_recording.sh" 6 20 >said 2>&1 || fail "$(cat said)"
    said '^6 kills, .* all read and replayed; missing: 0'
}

@test "record itself is killed: the recording is read as it is, and made a trace" {
    recorded orphans
    [ "$rc" -eq 137 ]
    [ ! -e a.tpt ]
    facts a.tpt.recording
    says 'alloc 10'
    ok "$TAPOOL" convert --recover a.tpt.recording
    matches "$out" '^Next: tapool replay a\.tpt$'
    facts a.tpt
    says 'alloc 10'
    refused 2 "a\.tpt' exists" "$TAPOOL" convert --recover a.tpt.recording
    refused 2 '^tapool: --recover is for a file whose name ends in \.recording$' "$TAPOOL" convert --recover a.tpt
    # a page that did not reach the disk
    cp a.tpt.recording cut.tpt.recording
    printf '\0\0\0\0' | dd of=cut.tpt.recording bs=1 seek=$((4096 + 64 + 40)) conv=notrunc status=none
    ok "$TAPOOL" convert --recover cut.tpt.recording
    ok "$TAPOOL" info cut.tpt
    matches "$out" '^  repaired      1 truncated'
    refused 3 '^tapool: cut\.tpt\.recording: byte [0-9,]+: event [0-9]+: no event begins here' \
        "$TAPOOL" convert --recover --strict -f cut.tpt.recording
    # what is there is not overwritten
    refused 2 "a\.tpt\.recording' exists$" record -f -o a.tpt -- "$RECORDED" takes 5
}

@test "the beginning is left out with --after" {
    recording -o a.tpt --after 1000 -- "$RECORDED" takes 1000
    [ "$rc" -eq 0 ]
    facts a.tpt
    local alloc
    alloc=$(sed -n 's/^alloc //p' facts)
    [ "$alloc" -ge 450 ] && [ "$alloc" -le 500 ] || fail "$alloc"
    recording -o b.tpt --after 1000000 -- "$RECORDED" takes 1000
    [ "$rc" -eq 3 ] || fail "$rc"
    said 'nothing was recorded hint: --after: the program made only about 1,9[0-9]+ calls'
}

# bats test_tags=nightly
@test "bounds: events, size and time; the program goes on" {
    recording -o a.tpt --max-events 20000 -- "$RECORDED" takes 100000
    [ "$rc" -eq 0 ]
    said 'the recording ended before the program: it had the events of --max-events'
    facts a.tpt
    local alloc
    alloc=$(sed -n 's/^alloc //p' facts)
    [ "$alloc" -ge 10000 ] && [ "$alloc" -lt 30000 ] || fail "$alloc"
    recording -o a.tpt -f --max-size 1MiB -- "$RECORDED" takes 400000
    [ "$rc" -eq 0 ]
    said 'the recording ended before the program: the file had the size of --max-size'
    facts a.tpt
    [ "$(sed -n 's/^alloc //p' facts)" -ge 50000 ]
    recording -o a.tpt -f --duration 50ms -- "$RECORDED" outlasts
    [ "$rc" -eq 0 ]
    said 'the recording ended before the program: it had lasted the time of --duration'
    facts a.tpt
    says 'size 101 10' 'alloc 10'
}

@test "a file that cannot grow ends the recording, not the program" {
    (
        ulimit -f 1024
        recording -o a.tpt -- "$RECORDED" takes 400000
        [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
        said 'the recording ended before the program: the file could not grow: File too large'
    )
    facts a.tpt
    [ "$(sed -n 's/^alloc //p' facts)" -ge 50000 ]
}

# on_small_disk COMMAND: in `small`, of 1 MiB, which is no more when the command has ended.
on_small_disk() {
    mkdir -p small kept
    unshare -rm true 2>/dev/null || skip "this user may mount nothing"
    # shellcheck disable=SC2016 # that shell expands it
    capture unshare -rm sh -c 'mount -t tmpfs -o size=1m none small && cd small && eval "$1"
        status=$?; cp ./*.tpt* ../kept 2>/dev/null; exit $status' sh "$1"
    tr '\n' ' ' <"$err" >said
}

@test "a disk that is full, at once or in the middle: the program goes on, and the recording is kept" {
    # the trace has no room beside the recording, which stays
    on_small_disk "'$TAPOOL' record -o a.tpt -- '$RECORDED' takes 400000"
    [ "$rc" -eq 4 ] || fail "$rc" "$(cat "$err")"
    said '^tapool: a\.tpt could not be written: No space left on device hint: the recording is kept: .tapool convert --recover '
    ok "$TAPOOL" convert --recover kept/a.tpt.recording
    facts kept/a.tpt
    [ "$(sed -n 's/^alloc //p' facts)" -ge 100000 ]
    "$TAPOOL" info kept/a.tpt | tr -s ' \n' ' ' | grep -q 'ended before the program: the file could not grow: No space left on device'
    rm -f kept/*
    # what the program leaves on the disk is room enough
    on_small_disk "'$TAPOOL' record -o a.tpt --max-size 1MiB -- sh -c 'head -c 700000 /dev/zero >fill; \"$RECORDED\" takes 400000; rm fill'"
    [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
    rm -f kept/*
    # no room for one event
    on_small_disk "head -c 1044480 /dev/zero >fill; '$TAPOOL' record -o a.tpt -- sh -c '\"$RECORDED\" takes 5 && echo lives'"
    [ "$rc" -eq 4 ] || fail "$rc" "$(cat "$err")"
    matches "$out" '^lives$'
    said '^tapool: nothing was recorded: the file could not grow: No space left on device $'
    # nor for its first page
    on_small_disk "head -c 1048576 /dev/zero >fill; '$TAPOOL' record -o a.tpt -- touch ../ran"
    [ "$rc" -eq 4 ] || fail "$rc" "$(cat "$err")"
    said '^tapool: .*a\.tpt\.recording: No space left on device $'
    [ ! -e ran ]
    [ -z "$(ls kept)" ] || fail "$(ls kept)"
}

@test "a sandbox without the mapping, or without the file: the program runs" {
    cat >none.c <<'END2'
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (fd >= 0 && (flags & MAP_SHARED))
        return errno = ENODEV, MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}
END2
    cc -shared -fPIC -o none.so none.c 2>/dev/null || skip "there is no compiler"
    recording -o a.tpt -- env "LD_PRELOAD=$(dirname "$TAPOOL")/libtapool_record.so:$PWD/none.so" "$RECORDED" writes <<<here
    [ "$rc" -eq 7 ] && [ "$(cat "$out")" = here ] || fail "$rc"
    unshare -rm true 2>/dev/null || skip "this user may mount nothing"
    recording -o a.tpt -f -- unshare -rm sh -c "mount -t tmpfs none '$PWD' && exec '$RECORDED' writes" <<<here
    [ "$rc" -eq 7 ] && [ "$(cat "$out")" = here ] || fail "$rc"
}

@test "a signal that interrupts the growing of the file is no full disk" {
    ! sanitized || skip "tapool itself would be started with a library before the sanitizer's"
    cat >often.c <<'END2'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    static int calls;
    if (++calls % 3)
        return errno = EINTR, -1;
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}
END2
    cc -shared -fPIC -o often.so often.c 2>/dev/null || skip "there is no compiler"
    LD_PRELOAD=$PWD/often.so recording -o a.tpt -- "$RECORDED" takes 40000
    [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
    facts a.tpt
    says 'size 101 40000' 'free 40000'
}

@test "an output with a long path, and children beside it" {
    local folder=$PWD name
    name=$(printf 'x%.0s' {1..100})
    while [ ${#folder} -lt 900 ]; do folder=$folder/$name; done
    mkdir -p "$folder"
    for length in 1014 1023; do
        name=$folder/$(printf 'y%.0s' $(seq $((length - ${#folder} - 5)))).tpt
        recording --follow fork -o "$name" -- "$RECORDED" forks 2
        [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
        facts "$name"
        says 'size 101 20'
        [ "$(find . -name '*.tpt' | wc -l)" -eq 3 ] || fail "$(find . -type f)"
        find . -name '*.tpt' -delete
    done
    refused 4 '^tapool: the path of the trace is longer than 1,023 bytes$' record -o "${name%.tpt}z.tpt" -- sh -c 'touch ran'
    [ ! -e ran ]
}

@test "a program without one descriptor left" {
    recorded exhausts
    [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
    said 'the program had closed the file: Too many open files'
    facts a.tpt
    says 'size 101 10'
}

@test "the command line is left out of the trace with --no-command" {
    recording -o a.tpt -- "$RECORDED" takes 5 --password=secret
    grep -q secret a.tpt
    recording -o a.tpt -f --no-command -- "$RECORDED" takes 5 --password=secret
    ok "$TAPOOL" info a.tpt --json
    is "$out" 'd["program"]' "$RECORDED"
    lacks a.tpt secret
    recording -o a.tpt -f --no-command --follow fork -- "$RECORDED" forks 1 secret
    lacks a.tpt secret
    lacks "$(echo a.[0-9]*.tpt)" secret
}

@test "a program that forbids itself calls of the system lives on; what it did until then is recorded" {
    for how in filter call strict; do
        recorded confines $how
        [ "$rc" -eq 0 ] || fail "$how: $rc" "$(cat "$err")"
        [ "$(cat "$out")" = "done" ]
        said 'the recording ended before the program: the program forbade system calls \(seccomp\)'
        facts a.tpt
        says 'size 101 10'
    done
    # Where times are those of the processor's counter, a chunk lasts for longer than many a program in a
    # sandbox; other clocks may need a call.
    if has_counter; then
        recorded confines call
        facts a.tpt
        says 'size 103 10'
        recorded confines clock
        [ "$rc" -eq 0 ] || fail "$rc" "$(cat "$err")"
        said ' the program forbade itself to read the clock'
    fi
    recorded confines first # before it allocates
    [ "$rc" -eq 3 ] && [ "$(cat "$out")" = "done" ] || fail "$rc" "$(cat "$err")"
    said '^tapool: nothing was recorded: the program forbade system calls \(seccomp\) $'
    nothing_left
    # A filter that is not taken forbids nothing, but another clock than the counter is not read again.
    recorded confines refused
    facts a.tpt
    says 'size 101 10'
    ! has_counter || says 'size 105 40000'
    for follow in none fork; do
        recording -o a.tpt -f --follow $follow -- "$RECORDED" confines forks
        [ "$rc" -eq 0 ] || fail "$follow: $rc" "$(cat "$err")"
        facts a.tpt
        says 'size 101 10'
        ! has_counter || says 'size 103 10'
    done
}

# ---- what cannot be recorded ----

@test "a program that allocates nothing: its status counts, and an older trace is not taken for its own" {
    for status in 0 2; do
        echo old >a.tpt
        recorded nothing $status
        [ "$rc" -eq $status ] || fail "$rc"
        said '^tapool: nothing was recorded: the program did not call malloc hint: --follow all records programs it starts $'
        nothing_left
    done
    # one that is killed may have been in its first
    recorded dies 11
    [ "$rc" -eq 139 ]
    said '^tapool: nothing was recorded: signal 11 \(Segmentation fault\) killed the program before its first allocation was complete '
    nothing_left
    # one that comes after another in the process
    recording -o a.tpt -- sh -c "exec '$RECORDED' nothing 0"
    [ "$rc" -eq 0 ]
    said '^tapool: nothing was recorded: the program did not call malloc'
    nothing_left
    # only its children allocate
    recording --follow all -o a.tpt -- "$RECORDED" starts "$RECORDED" takes 5
    [ "$rc" -eq 0 ] || fail "$rc"
    said '^children: 1 trace with 10 events, .* tapool: nothing was recorded: the program did not call malloc $'
    [ "$(find . -name '*.tpt*' | wc -l)" -eq 1 ]
}

@test "a file that cannot grow at all: the reason is said, and nothing is left" {
    (
        ulimit -f 4 # KiB: the head, and no chunk
        recording -o a.tpt -f -- "$RECORDED" takes 5
        [ "$rc" -eq 4 ] || fail "$rc" "$(cat "$err")"
        said '^tapool: nothing was recorded: the file could not grow: File too large $'
    )
    nothing_left
}

@test "heaptrack's own recording of a program: the same as ours" {
    command -v heaptrack >/dev/null || skip "heaptrack is not installed"
    recorded takes 3000
    facts a.tpt
    mv facts ours
    heaptrack -o h "$RECORDED" takes 3000 >said 2>&1 || fail "$(cat said)"
    for file in h.zst h.gz; do
        [ -e "$file" ] || continue
        ok "$TAPOOL" convert "$file" -o facts.jsonl -f
        python3 -S -E "$CLI/recorded_facts.py" facts.jsonl | diff ours -
        return
    done
    fail "heaptrack left nothing:" "$(ls)"
}
