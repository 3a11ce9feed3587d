/* The throughput pass: how long a whole replay takes, divided by its operations.
 *
 *     fresh instance:  cold | steady steady ... | empty empty | steady ... | empty ... | until
 * min_time
 *
 * The strategy and the empty strategy take turns, so that a machine that slows down slows both. */
#include "alloc/measured.h"
#include "alloc/passes.h"

enum {
    ROUNDS = 10,       /* turns in min_time_ns */
    ENGINE_SHARE = 4,  /* the empty strategy gets a quarter of the strategy's time */
    ENGINE_REPLAYS = 3 /* at least, in all */
};

/* Among the first `end` instructions. */
static uint64_t operations_of(const struct tp_window *w, uint32_t end)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < end; i++)
        count += tp_op_is_operation(w->insns[i].op);
    return count;
}

/* Counted only where a stop can make it differ from the program's. */
static void count_until_stop(struct tp_player *p, const struct tp_window *w)
{
    p->until_stop += operations_of(w, p->stop ? p->stopped + 1 : w->count);
}

static bool enough(const struct tp_player *p, uint64_t operations)
{
    return p->operations_max && operations >= p->operations_max;
}

/* The operations of the replay that just ended: those gone through, and of these those that took
 * place (a failed allocation is a call that takes time; a skipped operation is none). */
static uint64_t seen_operations(const struct tp_player *p)
{
    return p->stop ? p->until_stop : p->facts->operations;
}

static uint64_t played_operations(const struct tp_player *p)
{
    return seen_operations(p) - p->skipped - p->skipped_trims;
}

int tp_play_once(struct tp_player *p, tp_play_fn *play, tp_window_fn *per_window, void *ctx,
                 uint64_t *ticks, struct tp_err *err)
{
    struct tp_window w;
    uint64_t sum = 0, operations = 0;
    int got, status = TP_OK;
    tp_player_begin(p);
    while (!status && !enough(p, operations) && (got = tp_player_next(p, &w, err)) != 0) {
        if (got < 0)
            return -got;
        uint64_t start = tp_stamp();
        play(p, &w);
        sum += tp_stamp() - start;
        if (per_window)
            per_window(ctx, p, &w);
        if (p->cfg->stop_on_oom || p->cfg->guard)
            count_until_stop(p, &w);
        if (p->operations_max)
            operations += operations_of(&w, w.count);
        status = tp_player_check(p, &w, err);
    }
    tp_player_drain(p);
    *ticks = sum > p->aside_ticks ? sum - p->aside_ticks : 0;
    return status ? status : tp_player_lost(p, "after the last event", err);
}

/* One replay as ns per operation that took place; *ns is its whole time. On a device that is the
 * user's: of what the device works on between the operations nothing is measured, but waited for.
 */
static int replay_ns(struct tp_player *p, double *ns_per_op, double *ns, struct tp_err *err)
{
    uint64_t ticks = 0, start = p->device ? tp_wall_ns() : 0;
    int status = tp_play_once(p, tp_play_untimed, NULL, NULL, &ticks, err);
    uint64_t counted = played_operations(p);
    *ns = (double)ticks * p->cfg->clock->ns_per_tick;
    *ns_per_op = counted ? *ns / (double)counted : 0;
    if (p->device)
        *ns = (double)(tp_wall_ns() - start);
    return status;
}

/* Replays until `budget_ns` is used up, at least once; adds the time to *used_ns. */
static int play_turn(struct tp_player *p, struct tp_series *series, double budget_ns,
                     double *used_ns, struct tp_err *err)
{
    double spent = 0;
    do {
        double ns_per_op, ns;
        int status = replay_ns(p, &ns_per_op, &ns, err);
        if (status)
            return status;
        tp_series_add(series, ns_per_op);
        /* an empty program takes no time at all, and must still end */
        spent += ns > 1 ? ns : 1000;
    } while (spent < budget_ns);
    *used_ns += spent;
    return TP_OK;
}

static int play_steady(struct tp_player *p, struct tp_player *empty, struct tp_run *out,
                       struct tp_err *err)
{
    const struct tp_replay_cfg *cfg = p->cfg;
    struct tp_throughput *t = &out->throughput;
    double turn = (double)cfg->min_time_ns / ROUNDS, used = 0, engine_used = 0;
    int status = TP_OK;
    while (!status && (used < (double)cfg->min_time_ns || t->runs.total < cfg->min_replays)) {
        status = play_turn(p, &t->runs, turn, &used, err);
        if (!status)
            status = play_turn(empty, &t->engine, turn / ENGINE_SHARE, &engine_used, err);
        tp_progress(cfg, "speed", used / (double)(cfg->min_time_ns + 1));
    }
    while (!status && t->engine.total < ENGINE_REPLAYS)
        status = play_turn(empty, &t->engine, 0, &engine_used, err);
    t->replays = t->runs.total;
    t->wall_ns = (uint64_t)used;
    return status;
}

/* A program longer than min_time_ns: each replay is a cold one on a fresh instance. */
static int play_repeats(const struct tp_replay_cfg *cfg, struct tp_player *empty,
                        struct tp_run *out, double first, double first_ns, struct tp_err *err)
{
    struct tp_throughput *t = &out->throughput;
    double engine_used = 0, used = first_ns;
    int status = TP_OK;
    out->flags |= TP_RUN_PLAYED_ONCE;
    tp_series_add(&t->runs, first);
    for (uint32_t r = 1; !status && r < cfg->repeat; r++) {
        struct tp_player p;
        double ns_per_op = 0, ns = 0;
        status = tp_player_open(&p, cfg, cfg->strategy, err);
        if (status)
            return status;
        status = replay_ns(&p, &ns_per_op, &ns, err);
        if (!status)
            tp_measured_peaks(&p, out);
        int closed = tp_player_close(&p, status ? NULL : err);
        status = status ? status : closed;
        tp_series_add(&t->runs, ns_per_op);
        used += ns;
    }
    while (!status && t->engine.total < (cfg->repeat > 1 ? cfg->repeat : 1))
        status = play_turn(empty, &t->engine, 0, &engine_used, err);
    t->replays = t->runs.total;
    t->wall_ns = (uint64_t)used;
    return status;
}

int tp_pass_throughput(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_player p, empty;
    double cold = 0, cold_ns = 0;
    int status = tp_player_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    status = tp_player_open(&empty, cfg, &tp_strategy_empty, err);
    if (status) {
        tp_player_close(&p, NULL);
        return status;
    }
    tp_progress(cfg, "speed", 0);
    uint64_t start = tp_stamp();
    status = replay_ns(&p, &cold, &cold_ns, err);
    tp_measured_failures(&p, out);
    double with_reading = (double)(tp_stamp() - start) * cfg->clock->ns_per_tick;
    out->throughput.cold_ns_per_op = cold;
    uint64_t played = played_operations(&p);
    out->throughput.engine_scale = played ? (double)seen_operations(&p) / (double)played : 1;
    bool once = with_reading >= (double)cfg->min_time_ns; /* a file that is a program takes time */
    if (!status && !once)
        status = play_steady(&p, &empty, out, err);
    if (!status)
        tp_measured_peaks(&p, out);
    int closed = tp_player_close(&p, status ? NULL : err);
    status = status ? status : closed;
    if (!status && once)
        status = play_repeats(cfg, &empty, out, cold, cold_ns, err);
    tp_player_close(&empty, NULL);
    return status;
}
