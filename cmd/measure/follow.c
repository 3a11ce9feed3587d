/* See follow.h. A call stops the child twice, before and after. Bytes are those of private mappings
 * that can be written, which the kernel keeps for each process (/proc/PID/statm): what is only
 * reserved (PROT_NONE) is not in them, and becomes so by mprotect. So a reading follows each of
 * these calls, and none is missed between two. */
#include "cmd/measure/follow.h"

#include "alloc/base/process_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What a call of the kernel does with memory. */
enum effect { NONE, GETS, PUTS, BOTH, CHANGES };

static enum effect effect_of(const struct tp_follow *f)
{
    static const struct {
        uint64_t call;
        enum effect effect;
    } rows[] = {{SYS_mmap, GETS}, {SYS_munmap, PUTS},  {SYS_mremap, BOTH},
                {SYS_brk, BOTH},  {SYS_madvise, PUTS}, {SYS_mprotect, CHANGES}};
    enum effect effect = NONE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        effect = f->call == rows[i].call ? rows[i].effect : effect;
    bool advises = f->call == SYS_madvise;
    return advises && f->argument != MADV_DONTNEED && f->argument != MADV_FREE ? NONE : effect;
}

static void count(struct tp_follow *f)
{
    enum effect effect = effect_of(f);
    if (effect == NONE)
        return;
    uint64_t before = f->now, now = tp_mapped_read(f->statm);
    if (now == TP_NONE)
        return;
    f->now = now;
    if (now > f->counted.peak)
        f->counted.peak = now;
    if (effect == BOTH) /* brk also asks where the end is, and mremap moves */
        effect = now > before ? GETS : now < before ? PUTS : f->call == SYS_mremap ? GETS : NONE;
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
static void look_at_call(struct tp_follow *f, pid_t pid)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0) {
        give_up(f, errno ? errno : ENOSYS);
        return;
    }
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        f->call = info.entry.nr;
        f->argument = info.entry.args[2];
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && f->shared->counting && !info.exit.is_error) {
        if (!f->counted.counting)
            begin_counting(f);
        count(f);
    }
}

static void begin(struct tp_follow *f, pid_t pid)
{
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
    f->begun = true;
    if (!tp_mapped_open(&f->statm, folder) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
        give_up(f, errno);
}

void tp_follow_stop(void *follow, pid_t pid, int how)
{
    struct tp_follow *f = follow;
    uintptr_t sent = 0; /* the signal that the child is to get */
    if (!f->begun)
        begin(f, pid);
    else if (WSTOPSIG(how) == (SIGTRAP | 0x80))
        look_at_call(f, pid);
    else
        sent = (uintptr_t)WSTOPSIG(how);
    const bool last = f->counted.why || f->shared->over;
    ptrace(last ? PTRACE_DETACH : PTRACE_SYSCALL, pid, NULL, (void *)sent);
}

void tp_follow_end(struct tp_follow *f)
{
    tp_mapped_close(f->statm);
    f->statm = -1;
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
