/* The mapped pass: untimed. It plays the program once, while another process follows this one and
 * counts its calls of mmap, munmap, mremap, brk and madvise (cmd/measure/follow.h). That process
 * reads how many bytes are mapped after each of them; this one says when to count, and what is
 * mapped at peak demand.
 *
 *     this process                          the one that follows
 *     TRACEME, SIGSTOP                      lets it go on, from call to call
 *     base; `counting` is set               counts, and keeps the peak
 *     ... events ...
 *     end; `counting` is cleared            lets it go
 *
 * Only for a real allocator, of which nothing is known otherwise. Which calls it makes does not
 * depend on time, if the library does not, nor on addresses: they are not randomised. */
#include "alloc/base/process_memory.h"
#include "alloc/engine/process_watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

struct mapping {
    struct tp_mapped *out;
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
    m->out->base = m->out->peak = m->w->base;
    m->out->counting = true;
}

static void end_counting(void *ctx)
{
    struct mapping *m = ctx;
    m->out->counting = false;
    m->out->over = true;
}

/* Lets the parent follow this process. */
static int begin_following(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        return errno;
    raise(SIGSTOP); /* the parent lets it go on */
    return 0;
}

/* Whether this process has one thread: a folder has two links, and one more for each folder in it.
 */
static bool is_alone(void)
{
    struct stat tasks;
    return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 3;
}

int tp_pass_mapped(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct mapping m = {.out = &out->mapped};
    struct tp_process_watch w = {.pass = "mapped", .read = read_mapped, .ctx = &m};
    w.begun = begin_counting;
    w.ended = end_counting;
    m.w = &w;
    out->mapped = (struct tp_mapped){.at_peak = TP_NONE};
    if (!tp_watch_applies(cfg))
        return TP_OK;
    if (!cfg->followed || !tp_mapped_open(&m.statm, "/proc/self")) {
        out->mapped.why = cfg->followed ? errno : ECHILD;
        return TP_OK;
    }
    const int why = begin_following();
    if (why) /* else the parent may have written its own */
        out->mapped.why = why;
    out->mapped.fixed = personality(0xffffffff) & ADDR_NO_RANDOMIZE;
    int status = out->mapped.why ? TP_OK : tp_watch_process(&w, cfg, err);
    tp_mapped_close(m.statm);
    /* the calls of other threads are not followed */
    if (!out->mapped.why && !is_alone())
        out->mapped.why = TP_MAPPED_THREADS;
    out->mapped.known = !status && !out->mapped.why && w.base != TP_NONE && w.end != TP_NONE;
    out->mapped.at_peak = w.at_peak;
    out->mapped.end = w.end;
    return status;
}
