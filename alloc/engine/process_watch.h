/* Internal to the engine: a replay that reads a figure of the whole process at the moments that
 * count. The resident and the mapped pass are such replays.
 *
 *     base        when all that the engine itself needs is there and written, before the sources
 *                 and the strategy are opened; with a real allocator right before the first event
 *     reading     at the event of the trace peak, and at each new peak of requested bytes, in steps
 * of 1% of the trace peak reading     for a course: before the first event, and when requested
 * bytes are such a step above or below those of the reading before reading     after the last
 * event, before live blocks are freed
 *
 * A reading may be slow: the kernel walks the page tables, 1 ms for each 30 to 100 MiB. After
 * TP_WATCH_SPENT_NS of readings the step doubles, again and again: at 100 GiB about ten readings a
 * second long are left of the hundred. The one at the trace peak is always among them. Those for
 * the course alone have a step of their own, which doubles after TP_WATCH_COURSE_NS of them and
 * when the course is full: they take no others' place, and less than a tenth of their time.
 *
 * Several threads replay what lies between two readings together. So that none runs ahead of
 * another by more than the recorded program's did, by bytes, that is also cut into pieces in which
 * no more is requested than a step of 1% of the trace peak, and behind each end of a thread.
 *
 * The figure is that of the process, so it is one of a process that does nothing else: the caller
 * starts a fresh one (cmd/jobs/memory_passes.h). Known weakness: a source's own table of ranges
 * is in it, 64 bytes for each range that is held at once, and where several threads replay a
 * strategy, the heap that this process's malloc begins for the bookkeeping of each, 20 KiB. */
#ifndef TP_PROCESS_WATCH_H
#define TP_PROCESS_WATCH_H

#include "alloc/engine/passes.h"
#include "alloc/numbers/series.h"

#define TP_WATCH_SPENT_NS  UINT64_C(250000000)
#define TP_WATCH_COURSE_NS UINT64_C(10000000)

enum tp_watch_when { TP_WATCH_PEAK, TP_WATCH_ASKED, TP_WATCH_END };

struct tp_watch_moment {
    enum tp_watch_when when;
    uint64_t event, clock; /* the last event; recorded ns since the trace began */
    bool last;             /* no asked one follows */
};

struct tp_process_watch {
    const char *pass;            /* name for progress */
    uint64_t (*read)(void *ctx); /* bytes of the process; TP_NONE: not known */
    void (*begun)(void *ctx);    /* called when the base was read; NULL: nobody */
    /* called behind the reading at the trace peak, at the end, and behind those of the asked events
     * that come before it; NULL: nobody */
    void (*moment)(void *ctx, const struct tp_replayer *p, const struct tp_watch_moment *m);
    const uint64_t *asked; /* events, ascending; those behind the last one are at the end */
    uint32_t asked_count;
    void (*ended)(void *ctx); /* called after the last reading; NULL: nobody */
    void *ctx;
    /* all readings from before the first event on, above the base; NULL: not asked for. Zeroed
     * memory of the caller's */
    struct tp_course *course;
    uint64_t base;               /* TP_NONE: not known, and neither are the others */
    uint64_t at_peak, peak, end; /* above the base; at_peak TP_NONE: not reached */
};

/* Replays cfg once and sets the figures. */
int tp_watch_process(struct tp_process_watch *w, const struct tp_replay_cfg *cfg,
                     struct tp_err *err);

/* Whether there is such a figure: of host memory, and of one device, because a process has one for
 * all. */
bool tp_watch_applies(const struct tp_replay_cfg *cfg);

#endif
