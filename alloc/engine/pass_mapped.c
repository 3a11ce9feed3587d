/* The mapped pass: untimed. It replays the program once, while another process follows this one,
 * with all threads that it starts, and counts its calls of mmap, munmap, mremap, brk and madvise
 * (cmd/jobs/follow.h). That process reads how many bytes are mapped after each of them; this one
 * says when to count, and what is mapped at the trace peak.
 *
 *     this process                          the one that follows
 *     TRACEME, SIGSTOP                      lets it go on, from call to call
 *     a filter: only these calls stop it
 *     base; `counting` is set               counts, and keeps the peak
 *     ... events ...
 *     end; `counting` is cleared            lets it go
 *
 * Only for a real allocator, of which nothing is known otherwise. Which calls it makes does not
 * depend on time, if the library does not, nor on addresses: they are not randomised. */
#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"
#include "alloc/engine/process_watch.h"

#include "alloc/engine/crew.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

struct mapping {
    struct tp_mapped *shared;
    struct tp_process_watch *w;
    int statm;
};

static uint64_t read_mapped(void *ctx)
{
    return tp_mapped_read(((struct mapping *)ctx)->statm);
}

static void begin_counting(void *ctx)
{
    struct mapping *m = ctx;
    m->shared->base = m->w->base;
    m->shared->counting = true;
}

static void end_counting(void *ctx)
{
    struct mapping *m = ctx;
    m->shared->counting = false;
    m->shared->over = true;
}

/* From here on only calls about memory stop this thread and those that it starts. Waiting threads
 * make many others. */
static bool filter_calls(void)
{
#define STOPS(call, effect)                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        TP_MAPPED_CALLS(STOPS) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Lets the parent follow this process. Where there can be no filter each call stops it. A filter
 * needs somebody who follows to the end, and a sanitizer follows the process itself then. */
static int begin_following(struct tp_mapped *shared)
{
    if (tp_process_threads() != 1) /* the calls of others would not be followed */
        return TP_MAPPED_THREADS;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        return errno;
    raise(SIGSTOP); /* the parent lets it go on */
    if (!shared->why && !TP_SANITIZED)
        shared->filtered = filter_calls();
    return 0;
}

/* Replays, followed, and sets what this process knows of it. */
static int replay(struct mapping *m, const struct tp_replay_cfg *cfg, struct tp_mapped *out,
                  struct tp_err *err)
{
    struct tp_process_watch w = {.pass = "mapped",
                                 .read = read_mapped,
                                 .begun = begin_counting,
                                 .ended = end_counting,
                                 .ctx = m};
    m->w = &w;
    out->why = begin_following(m->shared);
    if (!out->why) /* else the parent may have written its own */
        out->why = m->shared->why;
    out->fixed = personality(0xffffffff) & ADDR_NO_RANDOMIZE;
    int status = out->why ? TP_OK : tp_watch_process(&w, cfg, err);
    out->known = !status && !out->why && w.base != TP_NONE && w.end != TP_NONE;
    out->base = w.base;
    out->at_peak = w.at_peak;
    out->threads = tp_crew_threads(cfg);
    out->end = w.end;
    return status;
}

int tp_pass_mapped(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct mapping m = {.shared = cfg->follower};
    out->mapped = (struct tp_mapped){.at_peak = TP_NONE};
    if (!tp_watch_applies(cfg))
        return TP_OK;
    if (!m.shared || !tp_mapped_open(&m.statm, "/proc/self")) {
        out->mapped.why = m.shared ? errno : ECHILD;
        return TP_OK;
    }
    int status = replay(&m, cfg, &out->mapped, err);
    tp_mapped_close(m.statm);
    return status;
}
