/* The latency pass: a fenced stamp on either side of every operation. The loop stores one reading
 * of 4 bytes per operation, and histograms are filled between windows. From each reading, the
 * reading of the empty strategy in the same loop is subtracted, separately for each kind of
 * operation.
 *
 *     find the request | stamp | call, keep the block, first write to it | stamp
 *
 * One stamp between two operations would do, but then the engine's own code lies within the
 * reading. A processor works it off beside an empty call and not beside a call that waits for its
 * own instructions, so that what is subtracted was up to 2.6 ns short, differently for each
 * compiler and each operation.
 *
 * Known weakness: the fences keep an operation from overlapping its neighbours, as it would in a
 * real program, and some of the call and return of the empty strategy is time that a longer
 * operation hides. For averages use the throughput pass. */
#include "alloc/base/own.h"
#include "alloc/engine/measured.h"
#include "alloc/engine/passes.h"

#include <string.h>

enum {
    /* readings above this multiple of the median count as interruptions */
    EMPTY_TRIM = 2,
    WARM_OPERATIONS = 1 << 20 /* operations that suffice to warm the loop up in a long trace */
};

const char *const tp_latency_names[TP_LAT_KINDS] = {"alloc", "free", "realloc", "sync", "other"};

struct collector {
    struct tp_latency_run *out;
    double ns_per_tick;
    double empty_ticks[TP_LAT_KINDS];
};

/* ---- the empty reading ---- */

static void collect_raw(void *ctx, struct tp_replayer *p, const struct tp_window *w)
{
    struct tp_histogram *ticks = ctx; /* by kind */
    for (uint32_t i = 0; i < w->count; i++)
        if (p->ticks[i] != TP_TICK_SKIP)
            tp_hist_add(&ticks[tp_op_rows[w->insns[i].op].latency], p->ticks[i]);
}

/* The mean of readings without interruptions. A bucket spans up to 3% above 64 ticks, so its
 * middle stands for its readings. */
static double trimmed_mean(const struct tp_histogram *h)
{
    uint64_t limit = EMPTY_TRIM * tp_hist_quantile(h, 0.5), count = 0;
    double sum = 0;
    for (uint32_t i = 0; i < TP_HIST_BUCKETS && tp_hist_upper(i) <= limit; i++) {
        uint64_t low = i ? tp_hist_upper(i - 1) + 1 : 0;
        double middle = ((double)low + (double)tp_hist_upper(i)) / 2;
        sum += middle * (double)h->buckets[i];
        count += h->buckets[i];
    }
    return count ? sum / (double)count : 0;
}

/* ---- counting ---- */

static void note_slow(struct tp_latency_run *out, const struct tp_slow_event *e)
{
    if (out->slowest_count == TP_SLOWEST && e->ns <= out->slowest[TP_SLOWEST - 1].ns)
        return;
    for (uint32_t i = 0; i < out->slowest_count; i++) {
        if (out->slowest[i].event != e->event)
            continue;
        if (out->slowest[i].ns >= e->ns)
            return; /* an earlier replay of this event was slower */
        memmove(&out->slowest[i], &out->slowest[i + 1],
                (out->slowest_count - i - 1) * sizeof *out->slowest);
        out->slowest_count--;
        break;
    }
    uint32_t at = out->slowest_count < TP_SLOWEST ? out->slowest_count++ : TP_SLOWEST - 1;
    for (; at && out->slowest[at - 1].ns < e->ns; at--)
        out->slowest[at] = out->slowest[at - 1];
    out->slowest[at] = *e;
}

static uint32_t size_class(uint64_t size)
{
    return size < 2 ? 0 : 64u - (uint32_t)__builtin_clzll(size - 1);
}

static void collect(void *ctx, struct tp_replayer *p, const struct tp_window *w)
{
    struct collector *c = ctx;
    for (uint32_t i = 0; i < w->count; i++) {
        if (p->ticks[i] == TP_TICK_SKIP)
            continue;
        const struct tp_insn *insn = &w->insns[i];
        uint8_t k = tp_op_rows[insn->op].latency;
        double net = ((double)p->ticks[i] - c->empty_ticks[k]) * c->ns_per_tick;
        uint64_t ns = net > 0 ? (uint64_t)(net + 0.5) : 0;
        struct tp_latency *kind = &c->out->kinds[k];
        tp_hist_add(&kind->hist, ns);
        kind->raw_sum_ns += net;
        if (k == TP_LAT_ALLOC)
            tp_hist_add(&c->out->alloc_sizes[size_class(insn->size)], ns);
        if (c->out->slowest_count < TP_SLOWEST || ns > c->out->slowest[TP_SLOWEST - 1].ns)
            note_slow(c->out, &(struct tp_slow_event){.event = tp_window_event(w, i),
                                                      .ns = ns,
                                                      .size = insn->size,
                                                      .op = insn->op});
    }
}

/* ---- replaying ---- */

static int open_with_ticks(struct tp_replayer *p, const struct tp_replay_cfg *cfg,
                           const struct tp_strategy *strategy, struct tp_err *err)
{
    int status = tp_replayer_open(p, cfg, strategy, err);
    if (status)
        return status;
    p->operations_max = cfg->latency_operations;
    /* written below, so that its pages are present before any timing */
    p->ticks = tp_own_zeroed(TP_WINDOW_MAX, sizeof *p->ticks);
    if (p->ticks) {
        memset(p->ticks, 0xff, TP_WINDOW_MAX * sizeof *p->ticks);
        return TP_OK;
    }
    tp_replayer_close(p, NULL);
    return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
}

static int end_with_ticks(struct tp_replayer *p, int status, struct tp_err *err)
{
    tp_own_free(p->ticks);
    return tp_replayer_end(p, status, err);
}

/* Replays until `time_ns` is used up, at least once. */
static int replay_for(struct tp_replayer *p, double time_ns, tp_window_fn *fn, void *ctx,
                      uint64_t *replays, struct tp_err *err)
{
    struct tp_spent spent = {0};
    double scale = p->cfg->clock->ns_per_tick;
    uint64_t begin = tp_stamp();
    int status = TP_OK;
    do {
        uint64_t ticks = 0;
        status = tp_replay_once(p, tp_replay_latency, fn, ctx, &ticks, err);
        spent.wall_ns = (double)(tp_stamp() - begin) * scale;
        spent.timed_ns = p->device ? spent.wall_ns : spent.timed_ns + (double)ticks * scale;
        (*replays)++;
        tp_progress(p->cfg, "latency", tp_spent_share(&spent, time_ns));
    } while (!status && !tp_spent_all(&spent, time_ns));
    return status;
}

static int measure_empty(const struct tp_replay_cfg *cfg, double ticks[TP_LAT_KINDS],
                         struct tp_err *err)
{
    struct tp_replayer p;
    struct tp_histogram *raw = tp_own_zeroed(TP_LAT_KINDS, sizeof *raw);
    if (!raw)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    int status = open_with_ticks(&p, cfg, tp_replay_empty(cfg), err);
    if (!status) {
        uint64_t replays = 0, warm = 0;
        p.operations_max = WARM_OPERATIONS;
        status = replay_for(&p, 0, NULL, NULL, &warm, err);
        p.operations_max = cfg->latency_operations;
        if (!status)
            status = replay_for(&p, (double)cfg->min_time_ns / 10, collect_raw, raw, &replays, err);
        status = end_with_ticks(&p, status, NULL);
    }
    for (int k = 0; k < TP_LAT_KINDS; k++)
        ticks[k] = trimmed_mean(&raw[k]);
    tp_own_free(raw);
    return status;
}

int tp_pass_latency(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_replayer p;
    struct collector c = {.out = &out->latency, .ns_per_tick = cfg->clock->ns_per_tick};
    uint64_t warm = 0, limit = cfg->latency_operations;
    if (!tp_program_facts(cfg->program)->operations)
        return TP_OK;
    if (limit && tp_program_facts(cfg->program)->operations > limit)
        out->latency.sampled = limit;
    int status = measure_empty(cfg, c.empty_ticks, err);
    if (status)
        return status;
    for (int k = 0; k < TP_LAT_KINDS; k++)
        out->latency.empty_ns[k] = c.empty_ticks[k] * c.ns_per_tick;
    status = open_with_ticks(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    /* A program that is replayed once has no steady state, so its first replay is measured. */
    if (!(out->flags & TP_RUN_REPLAYED_ONCE))
        status = replay_for(&p, 0, NULL, NULL, &warm, err);
    if (!status && warm && !out->latency.sampled) /* only if the pass replays the whole program */
        tp_measured_failures(&p, out);
    double budget = out->flags & TP_RUN_REPLAYED_ONCE ? 0 : (double)cfg->min_time_ns;
    if (!status)
        status = replay_for(&p, budget, collect, &c, &out->latency.replays, err);
    if (!status && !warm && !out->latency.sampled)
        tp_measured_failures(&p, out);
    if (!status && !out->latency.sampled)
        tp_measured_peaks(&p, out);
    return end_with_ticks(&p, status, err);
}
