/* The loops over windows that the passes share; see passes.h. */
#include "alloc/engine/passes.h"

/* Number of operations among the first `end` instructions. */
static uint64_t operations_of(const struct tp_window *w, uint32_t end)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < end; i++)
        count += tp_op_is_operation(w->insns[i].op);
    return count;
}

/* Counts operations up to a stop. Used only where a stop is possible; else the program's own count
 * holds. */
static void count_until_stop(struct tp_replayer *p, const struct tp_window *w)
{
    p->until_stop += operations_of(w, p->stop ? p->stopped + 1 : w->count);
}

static bool enough(const struct tp_replayer *p, uint64_t operations)
{
    return p->operations_max && operations >= p->operations_max;
}

int tp_replay_once(struct tp_replayer *p, tp_replay_fn *replay, tp_window_fn *per_window, void *ctx,
                   uint64_t *ticks, struct tp_err *err)
{
    struct tp_window w;
    uint64_t sum = 0, operations = 0;
    int got, status = TP_OK;
    tp_replayer_begin(p);
    while (!status && !enough(p, operations) && (got = tp_replayer_next(p, &w, err)) != 0) {
        if (got < 0)
            return -got;
        uint64_t start = tp_stamp();
        replay(p, &w);
        sum += tp_stamp() - start;
        if (per_window)
            per_window(ctx, p, &w);
        if (p->cfg->stop_on_oom || p->cfg->guard)
            count_until_stop(p, &w);
        if (p->operations_max)
            operations += operations_of(&w, w.count);
        status = tp_replayer_check(p, &w, err);
    }
    tp_replayer_drain(p);
    *ticks = sum > p->aside_ticks ? sum - p->aside_ticks : 0;
    return status ? status : tp_replayer_lost(p, "after the last event", err);
}

int tp_replay_watched(struct tp_replayer *p, const char *pass, tp_watch_fn *fn, void *ctx,
                      struct tp_err *err)
{
    struct tp_window w;
    int got, status = TP_OK;
    tp_replayer_begin(p);
    while (!status && (got = tp_replayer_next(p, &w, err)) != 0) {
        if (got < 0)
            return -got;
        status = fn(ctx, p, &w, err);
        tp_progress(p->cfg, pass,
                    (double)(w.first_insn + w.count) / (double)p->facts->instructions);
    }
    return status;
}
