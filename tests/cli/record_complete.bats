#!/usr/bin/env bats
# tapool record: each call of the program is in the trace, or is counted as not recorded. Handlers of signals
# interrupt malloc, and call it, or leave it; children end badly, or begin with several threads. The tasks
# are those of tests/programs/interrupted_program.c, whose malloc raises the signals.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load record

INTERRUPTED=${TAPOOL_INTERRUPTED:-$(dirname "$TAPOOL")/tests/interrupted}

# interrupted TASK [ARGUMENT]...: records it as a.tpt, and keeps what it says it made in the file `made`.
interrupted() {
    recording -o a.tpt -f -- "$INTERRUPTED" "$@"
    [ "$rc" -eq 0 ] || fail "$*: $rc" "$(cat "$err")" || return 1
    cp "$out" made
}

# made SIZE: how many blocks of that size the program was given.
made() { sed -n "s/^made $1 //p" made; }

# seen SIZE: how many of them are in `facts`.
seen() { grep "^size $1 " facts | cut -d' ' -f3 || true; }

# whole SIZE...: the trace has all that were made of these sizes, each freed.
whole() {
    local size
    for size; do
        says "size $size $(made "$size")" || return 1
    done
    [ "$(sed -n 's/^alloc //p' facts)" -eq "$(sed -n 's/^free //p' facts)" ]
}

# lacks_calls TRACE: its number of calls that were not recorded, as $lost; by the note, the JSON and --strict.
# The facts are as of a trace that may lack some.
lacks_calls() {
    ok "$TAPOOL" info "$1" --json || return 1
    lost=$(value "$out" 'd["trace"].get("not_recorded", 0)')
    ok "$TAPOOL" convert "$1" -o facts.jsonl -f || return 1
    python3 -S -E "$CLI/recorded_facts.py" facts.jsonl >facts
    if [ "$lost" -gt 0 ]; then

        refused 3 "^tapool: $1: [0-9,]+ calls? (was|were) not recorded: made inside another call$" \
            "$TAPOOL" info "$1" --strict
    fi
}

# value FILE EXPRESSION: of the JSON `d`.
value() { python3 -S -E -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$@"; }

# ---- handlers ----

@test "a handler that leaves malloc by siglongjmp: what comes is recorded" {
    local how
    for how in same deeper alternate; do
        interrupted jumps "$how"
        facts a.tpt
        whole 101
        [ "$how" != deeper ] || whole 103
        matches made '^jumps [1-9]'
    done
}

# bats test_tags=nightly
@test "a handler that allocates inside malloc: its calls are counted, in record, info, the JSON and what it becomes" {
    local how
    for how in early late; do
        interrupted handles $how
        said 'note +2,000 calls were not recorded: made inside another call '
        lacks_calls a.tpt
        whole 101
        [ "$lost" -eq $((2 * $(made 103))) ] && [ -z "$(seen 103)" ] || fail "$how: $lost" "$(cat facts)"
    done
    ok "$TAPOOL" info a.tpt
    matches "$out" '^  note +2,000 calls were not recorded: made inside another call$'
    for file in a.jsonl a.json b.tpt; do
        ok "$TAPOOL" convert a.tpt -f -o "$file"
        lacks_calls "$file"
        [ "$lost" -eq 2000 ]
    done
    # the first call of the handler frees nothing
    interrupted handles keep
    lacks_calls a.tpt
    [ "$lost" -eq $((2 * $(made 103) - 1)) ] || fail "$lost"
}

@test "handlers that allocate at any moment: recorded and counted calls are all" {
    interrupted ticks
    lacks_calls a.tpt
    whole 101
    local inside
    inside=$(seen 103)
    [ $((2 * ${inside:-0} + lost)) -eq $((2 * $(made 103))) ] || fail "${inside:-0} seen, $lost lost" "$(cat made)"
}

@test "operators new and delete, interrupted: malloc within them is a part of them" {
    cat >news.cc <<'END2'
#include <csignal>
#include <cstdio>
#include <new>
#include <sys/time.h>
static volatile unsigned handled;
static void allocate(int) { ::operator delete(::operator new(103)); handled = handled + 1; }
int main()
{
    const itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    unsigned made = 0;
    std::signal(SIGALRM, allocate);
    setitimer(ITIMER_REAL, &often, nullptr);
    for (; handled < 2000; made += 2) {
        ::operator delete(::operator new(101));
        ::operator delete[](::operator new[](101, std::align_val_t(64)), std::align_val_t(64));
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    std::printf("made 101 %u\nmade 103 %u\n", made, handled);
}
END2
    c++ -std=c++17 -fno-builtin -o news news.cc 2>/dev/null || skip "there is no C++ compiler"
    recording -o a.tpt -- ./news
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    cp "$out" made
    lacks_calls a.tpt
    whole 101
    local inside
    inside=$(seen 103)
    [ $((2 * ${inside:-0} + lost)) -eq $((2 * $(made 103))) ] || fail "${inside:-0} seen, $lost lost" "$(cat made)"
}

# ---- children ----

@test "a child that is not followed confines itself: the parent's recording goes on" {
    local how
    for how in strict clock; do
        interrupted confines $how
        facts a.tpt
        whole 101
        lacks said 'ended before the program'
    done
}

@test "a program that follows in the process (exec) is recorded after a child confined itself" {
    recording -o a.tpt -- "$INTERRUPTED" becomes "$RECORDED" takes 50
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts a.tpt
    says 'size 101 50' 'alloc 50'
}

@test "a program that follows in a process with a filter: that it is not recorded is said" {
    cat >filters.c <<'END2'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {1, all};
    for (int i = 0; i < 20; i++)
        free(malloc(107));
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
           argc < 2 || execv(argv[1], argv + 1);
}
END2
    cc -fno-builtin -o filters filters.c 2>/dev/null || skip "there is no compiler"
    recording -o a.tpt -- ./filters "$RECORDED" takes 50
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    said 'the recording ended before the program: the program forbade system calls \(seccomp\)'
    facts a.tpt
    says 'size 107 20' 'alloc 20'
    # the same in a child that is followed: its parent is whole
    recording --follow all -o b.tpt -- sh -c "./filters '$RECORDED' takes 50; '$RECORDED' takes 5"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    for child in b.[0-9]*.tpt; do
        facts "$child"
        cat facts
    done >all
    grep -qx 'size 107 20' all
    grep -qx 'size 101 5' all
    lacks all 'size 101 50'
}

@test "children of a program that confined itself: that they are not recorded is counted" {
    recording --follow fork -o a.tpt -- "$RECORDED" confines forks
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    has_counter || return 0
    said 'children not recorded, .*: 1 '
}

# copies COUNT: sums over all children, `made_all` by what they say and `seen_all` by their traces; `lost_all`.
copies() {
    recording --follow fork -o a.tpt -f -- "$INTERRUPTED" copies "$1"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")" || return 1
    cp "$out" made
    made_all=$(sed -n 's/^child .* made //p' made | awk '{ sum += $1 } END { print sum + 0 }')
    seen_all=0 lost_all=0
    for child in a.[0-9]*.tpt; do
        lacks_calls "$child" || return 1
        seen_all=$((seen_all + $(seen 103)))
        lost_all=$((lost_all + lost))
    done
}

# bats test_tags=nightly
@test "children whose threads begin at one time: all of their calls, and none in the parent's trace" {
    copies 40
    [ "$seen_all" -eq "$made_all" ] && [ "$lost_all" -eq 0 ] || fail "$seen_all of $made_all, $lost_all counted"
    facts a.tpt
    whole 101
    says "alloc $(made 101)"
}

@test "children whose threads begin at one time, and do not wait for a slow disk: calls are counted" {
    ! sanitized || skip "tapool itself would be started with a library before the sanitizer's"
    cat >slow.c <<'END2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    static pid_t first;
    first = first ? first : getpid();
    if (getpid() != first)
        usleep(1000000);
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}
END2
    cc -shared -fPIC -o slow.so slow.c 2>/dev/null || skip "there is no compiler"
    LD_PRELOAD=$PWD/slow.so copies 2
    [ "$lost_all" -gt 0 ] || fail "no thread was late: $seen_all of $made_all"
    # of a pair of calls, malloc and free, the second may be the first that is seen
    local missing=$((made_all - seen_all))
    [ "$lost_all" -le $((2 * missing)) ] && [ "$lost_all" -ge $((2 * missing - 8)) ] ||
        fail "$seen_all of $made_all, $lost_all counted"
}

# ---- the program's own malloc ----

@test "a malloc of the program's own that calls syscall and prctl with its lock held runs as without" {
    recording -o a.tpt -f -- "$(dirname "$INTERRUPTED")/own_malloc"
    [ "$rc" -eq 3 ] || fail "$rc"
    said "^tapool: nothing was recorded: the program has its own malloc, "
    LD_PRELOAD=$(dirname "$TAPOOL")/libtapool_record.so "$(dirname "$INTERRUPTED")/own_malloc"
}
