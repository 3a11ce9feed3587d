/* See follow.h. A call stops its thread twice, before and after; where the child could set a
 * filter, no other calls do. Bytes are those of private mappings that can be written, which the
 * kernel keeps for each process (/proc/PID/statm): what is only reserved (PROT_NONE) is not in
 * them, and becomes so by mprotect. So a reading follows each of these calls, and none is missed
 * between two. */
#include "cmd/jobs/follow.h"

#include "alloc/base/grow.h"
#include "alloc/base/process_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What a call of the kernel does with memory. */
enum effect { NONE, GETS, PUTS, BOTH, CHANGES };

static enum effect effect_of(const struct tp_followed *t)
{
    static const struct {
        uint64_t call;
        enum effect effect;
#define ROW(call, effect) {SYS_##call, effect},
    } rows[] = {TP_MAPPED_CALLS(ROW)};
    enum effect effect = NONE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        effect = t->call == rows[i].call ? rows[i].effect : effect;
    bool advises = t->call == SYS_madvise;
    return advises && t->argument != MADV_DONTNEED && t->argument != MADV_FREE ? NONE : effect;
}

/* Of a call that may do both: brk also asks where the end is, and mremap moves. */
static enum effect effect_seen(const struct tp_followed *t, uint64_t before, uint64_t now)
{
    if (now != before)
        return now > before ? GETS : PUTS;
    return t->call == SYS_mremap ? GETS : NONE;
}

static void count(struct tp_follow *f, const struct tp_followed *t)
{
    enum effect effect = effect_of(t);
    if (effect == NONE)
        return;
    uint64_t before = f->now, now = tp_mapped_read(f->statm);
    if (now == TP_NONE)
        return;
    f->now = now;
    if (now > f->counted.peak)
        f->counted.peak = now;
    if (effect == BOTH)
        effect = effect_seen(t, before, now);
    f->counted.gets += effect == GETS;
    f->counted.puts += effect == PUTS;
}

/* Keeps why the child is not followed, and tells it. */
static void give_up(struct tp_follow *f, int why)
{
    f->counted.why = f->shared->why = why;
}

static void begin_counting(struct tp_follow *f)
{
    f->counted.counting = true;
    f->counted.base = f->counted.peak = f->now = f->shared->base;
}

/* A stop for a call: remembers it at its begin, and counts it at its end. */
static void look_at_call(struct tp_follow *f, struct tp_followed *t)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof info, &info) <= 0) {
        give_up(f, errno ? errno : ENOSYS);
        return;
    }
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        t->call = info.entry.nr;
        t->argument = info.entry.args[2];
    } else if (info.op == PTRACE_SYSCALL_INFO_SECCOMP) {
        t->call = info.seccomp.nr;
        t->argument = info.seccomp.args[2];
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && f->shared->counting && !info.exit.is_error) {
        if (!f->counted.counting)
            begin_counting(f);
        count(f, t);
    }
}

static void begin(struct tp_follow *f, pid_t pid)
{
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
    f->begun = true;
    if (!tp_mapped_open(&f->statm, folder) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACESECCOMP))
        give_up(f, errno);
}

/* The thread with this number, added if it is new; NULL: out of memory. */
static struct tp_followed *find_thread(struct tp_follow *f, pid_t tid, bool *is_new)
{
    struct tp_err err;
    size_t i = 0;
    while (i < f->count && f->threads[i].tid != tid)
        i++;
    *is_new = i == f->count;
    if (*is_new && TP_GROW(&f->threads, &f->room, f->count + 1, &err, .what = "threads"))
        return NULL;
    if (*is_new)
        f->threads[f->count++] = (struct tp_followed){.tid = tid};
    return &f->threads[i];
}

static void forget(struct tp_follow *f, pid_t tid)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->threads[i].tid == tid)
            f->threads[i] = f->threads[--f->count];
}

/* What a stop was for; returns the signal that the thread is to get. */
static int look_at_stop(struct tp_follow *f, pid_t tid, int how)
{
    bool is_new, is_call = WSTOPSIG(how) == (SIGTRAP | 0x80);
    struct tp_followed *t = find_thread(f, tid, &is_new);
    if (!t)
        give_up(f, ENOMEM);
    else if (is_call || how >> 16 == PTRACE_EVENT_SECCOMP)
        look_at_call(f, t);
    bool begins = is_new && WSTOPSIG(how) == SIGSTOP;
    return is_call || begins || how >> 16 ? 0 : WSTOPSIG(how);
}

/* A filter's calls need somebody who follows to the end. Without one nobody has to. */
void tp_follow_stop(void *follow, pid_t tid, int how)
{
    struct tp_follow *f = follow;
    int sent = 0;
    if (!WIFSTOPPED(how)) {
        forget(f, tid);
        return;
    }
    if (!f->begun)
        begin(f, tid);
    else
        sent = look_at_stop(f, tid, how);
    bool last = f->counted.why || f->shared->over, filtered = f->shared->filtered;
    bool calls = !filtered || how >> 16 == PTRACE_EVENT_SECCOMP;
    void *signal = (void *)(uintptr_t)sent;
    if (last && !filtered)
        ptrace(PTRACE_DETACH, tid, NULL, signal);
    else
        ptrace(calls && !last ? PTRACE_SYSCALL : PTRACE_CONT, tid, NULL, signal);
}

void tp_follow_end(struct tp_follow *f)
{
    tp_mapped_close(f->statm);
    f->statm = -1;
    free(f->threads);
    f->threads = NULL;
    f->count = f->room = 0;
}

bool tp_addresses_fixed(bool fixed)
{
    int before = personality(0xffffffff);
    unsigned now = before < 0 ? 0 : (unsigned)before;
    if (before >= 0)
        personality(fixed ? now | (unsigned)ADDR_NO_RANDOMIZE : now & ~(unsigned)ADDR_NO_RANDOMIZE);
    return now & (unsigned)ADDR_NO_RANDOMIZE;
}

bool tp_follow_add(const struct tp_follow *f, struct tp_mapped *out)
{
    const struct tp_mapped *c = &f->counted;
    if (c->counting && c->base != out->base)
        return false;
    out->peak = c->counting ? c->peak : out->base; /* without a call nothing has changed */
    out->gets = c->gets;
    out->puts = c->puts;
    out->known &= !c->why;
    out->why = out->why ? out->why : c->why;
    return true;
}
