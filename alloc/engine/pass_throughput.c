/* The throughput pass: how long a whole replay takes, divided by its operations.
 *
 *     fresh instance:  cold | steady steady ... | empty empty | steady ... | empty ... | until
 * min_time
 *
 * The strategy and the empty strategy take turns, so that a slowdown of the machine affects
 * both. */
#include "alloc/engine/measured.h"
#include "alloc/engine/passes.h"

enum {
    ROUNDS = 10,       /* turns in min_time_ns */
    ENGINE_SHARE = 4,  /* the empty strategy gets a quarter of the strategy's time */
    ENGINE_REPLAYS = 3 /* least number of replays of the empty strategy */
};

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
static void count_until_stop(struct tp_player *p, const struct tp_window *w)
{
    p->until_stop += operations_of(w, p->stop ? p->stopped + 1 : w->count);
}

static bool enough(const struct tp_player *p, uint64_t operations)
{
    return p->operations_max && operations >= p->operations_max;
}

/* The operations of the replay that just ended, skipped ones included. A failed allocation is a
 * call that takes time; a skipped operation is not a call. */
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

/* Plays one replay and gives its ns per operation that took place, NAN where none did; adds the
 * time to `spent`. On a device this is host time: the work between the operations is not measured,
 * but the replay waits for it at the end. */
static int replay_ns(struct tp_player *p, double *ns_per_op, struct tp_spent *spent,
                     struct tp_err *err)
{
    uint64_t ticks = 0, start = tp_stamp();
    int status = tp_play_once(p, tp_play_untimed, NULL, NULL, &ticks, err);
    double scale = p->cfg->clock->ns_per_tick, wall = (double)(tp_stamp() - start) * scale;
    double ns = (double)ticks * scale;
    uint64_t counted = played_operations(p);
    *ns_per_op = counted ? ns / (double)counted : (double)NAN;
    spent->timed_ns += p->device ? wall : ns;
    spent->wall_ns += wall;
    return status;
}

static int replay_into(struct tp_player *p, struct tp_series *series, struct tp_spent *spent,
                       struct tp_err *err)
{
    double ns_per_op;
    int status = replay_ns(p, &ns_per_op, spent, err);
    if (!status && !isnan(ns_per_op))
        tp_series_add(series, ns_per_op);
    return status;
}

/* Plays replays until `time_ns` is used up, at least one. */
static int play_turn(struct tp_player *p, struct tp_series *series, double time_ns,
                     struct tp_spent *used, uint64_t *replays, struct tp_err *err)
{
    struct tp_spent turn = {0};
    int status;
    do {
        status = replay_into(p, series, &turn, err);
        ++*replays;
    } while (!status && !tp_spent_all(&turn, time_ns));
    used->timed_ns += turn.timed_ns;
    used->wall_ns += turn.wall_ns;
    return status;
}

static int play_steady(struct tp_player *p, struct tp_player *empty, struct tp_run *out,
                       struct tp_err *err)
{
    const struct tp_replay_cfg *cfg = p->cfg;
    struct tp_throughput *t = &out->throughput;
    struct tp_spent used = {0}, engine_used = {0};
    double time = (double)cfg->min_time_ns, turn = time / ROUNDS;
    uint64_t engine = 0;
    int status = TP_OK;
    while (!status && (!tp_spent_all(&used, time) || t->replays < cfg->min_replays)) {
        status = play_turn(p, &t->runs, turn, &used, &t->replays, err);
        if (!status)
            status = play_turn(empty, &t->engine, turn / ENGINE_SHARE, &engine_used, &engine, err);
        tp_progress(cfg, "speed", tp_spent_share(&used, time));
    }
    while (!status && engine < ENGINE_REPLAYS)
        status = play_turn(empty, &t->engine, 0, &engine_used, &engine, err);
    t->wall_ns = (uint64_t)used.timed_ns;
    return status;
}

/* For a program that takes longer than min_time_ns: each replay is a cold one on a fresh
 * instance. */
static int play_repeats(const struct tp_replay_cfg *cfg, struct tp_player *empty,
                        struct tp_run *out, struct tp_spent used, struct tp_err *err)
{
    struct tp_throughput *t = &out->throughput;
    struct tp_spent engine_used = {0};
    uint64_t engine = 0;
    int status = TP_OK;
    out->flags |= TP_RUN_PLAYED_ONCE;
    tp_series_add(&t->runs, t->cold_ns_per_op);
    for (t->replays = 1; !status && t->replays < cfg->repeat; t->replays++) {
        struct tp_player p;
        status = tp_player_open(&p, cfg, cfg->strategy, err);
        if (status)
            return status;
        status = replay_into(&p, &t->runs, &used, err);
        if (!status)
            tp_measured_peaks(&p, out);
        status = tp_player_end(&p, status, err);
    }
    while (!status && engine < (cfg->repeat > 1 ? cfg->repeat : 1))
        status = play_turn(empty, &t->engine, 0, &engine_used, &engine, err);
    t->wall_ns = (uint64_t)used.timed_ns;
    return status;
}

/* Plays the first replay; its time is in `used`. */
static int play_cold(struct tp_player *p, struct tp_run *out, struct tp_spent *used,
                     struct tp_err *err)
{
    struct tp_throughput *t = &out->throughput;
    int status = replay_ns(p, &t->cold_ns_per_op, used, err);
    uint64_t played = played_operations(p);
    tp_measured_failures(p, out);
    t->engine_scale = played ? (double)seen_operations(p) / (double)played : 1;
    return status;
}

int tp_pass_throughput(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_player p, empty;
    struct tp_spent used = {0};
    int status = tp_player_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    status = tp_player_open(&empty, cfg, &tp_strategy_empty, err);
    if (status) {
        tp_player_close(&p, NULL);
        return status;
    }
    tp_progress(cfg, "speed", 0);
    status = play_cold(&p, out, &used, err);
    /* A program without calls has no speed, so it is not repeated. */
    bool none = isnan(out->throughput.cold_ns_per_op);
    /* wall time, because reading the windows of a .tpt takes time too */
    bool once = !none && used.wall_ns >= (double)cfg->min_time_ns;
    if (!status && !once && !none)
        status = play_steady(&p, &empty, out, err);
    if (!status)
        tp_measured_peaks(&p, out);
    status = tp_player_end(&p, status, err);
    if (!status && once)
        status = play_repeats(cfg, &empty, out, used, err);
    tp_player_close(&empty, NULL);
    return status;
}
