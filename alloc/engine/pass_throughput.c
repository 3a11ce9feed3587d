/* The throughput pass: how long a whole replay takes, divided by its operations.
 *
 *     fresh instance:  cold | steady steady ... | empty empty | steady ... | empty ... |
 *     until min_time is over
 *
 * The strategy and the empty strategy take turns, so that a slowdown of the machine affects
 * both. */
#include "alloc/engine/alone.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/measured.h"
#include "alloc/engine/passes.h"

enum {
    ROUNDS = 10,       /* turns in min_time_ns */
    ENGINE_SHARE = 4,  /* the empty strategy gets a quarter of the strategy's time */
    ENGINE_REPLAYS = 3 /* least number of replays of the empty strategy */
};

/* The operations of the replay that just ended, skipped ones included. A failed allocation is a
 * call that takes time; a skipped operation is not a call. */
static uint64_t seen_operations(const struct tp_replayer *p)
{
    return p->stop ? p->until_stop : p->facts->operations;
}

static uint64_t replayed_operations(const struct tp_replayer *p)
{
    return seen_operations(p) - p->skipped - p->skipped_trims;
}

/* What one replay took; ns per operation that took place, NAN where none did. */
struct replayed {
    double ns_per_op;
    double calls_ns;        /* all operations together */
    double wall_ns_per_op;  /* the same unless several threads replayed */
    double waited, blocked; /* shares */
};

/* Where the values of replays go; NULL: they are not kept. */
struct kept {
    struct tp_series *ns, *wall, *waited, *blocked, *window;
};

static struct kept kept_of(struct tp_throughput *t)
{
    bool several = t->crew.threads != 0;
    return several ? (struct kept){&t->runs, &t->crew.wall, &t->crew.waited, &t->crew.blocked,
                                   &t->crew.window}
                   : (struct kept){.ns = &t->runs};
}

static void keep(const struct kept *k, const struct replayed *r)
{
    tp_series_add(k->ns, r->ns_per_op);
    if (!k->wall)
        return;
    tp_series_add(k->wall, r->wall_ns_per_op);
    tp_series_add(k->waited, r->waited);
    tp_series_add(k->blocked, r->blocked);
}

static void keep_window(void *ctx, struct tp_replayer *p, const struct tp_window *w)
{
    (void)w;
    tp_series_add(ctx, (double)p->crew_times.window_ticks * p->cfg->clock->ns_per_tick);
}

/* The replayers of the pass. */
struct replayers {
    struct tp_replayer p, empty;
    struct tp_alone alone; /* one thread, where `p` are several; else not open */
    struct tp_spent used, empty_used;
    uint64_t empty_replays;
};

/* The shares of several threads' time, and the time of their calls. */
static void read_crew(const struct tp_replayer *p, uint64_t counted, struct replayed *out)
{
    const struct tp_crew_times *crew = &p->crew_times;
    double scale = p->cfg->clock->ns_per_tick, all = (double)crew->ticks * scale;
    double waited = (double)crew->waited_ticks * scale, calls = all > waited ? all - waited : 0;
    out->ns_per_op = calls / (double)counted;
    if (!(all > 0))
        return;
    out->waited = 1 - calls / all;
    out->blocked = crew->core_ns < calls ? (calls - crew->core_ns) / all : 0;
}

/* Replays once and adds its time to `spent`. On a device this is host time: the work between
 * the operations is not measured, but the replay waits for it at the end. */
static int replay_ns(struct tp_replayer *p, struct tp_series *windows, struct replayed *out,
                     struct tp_spent *spent, struct tp_err *err)
{
    uint64_t ticks = 0, start = tp_stamp();
    tp_window_fn *per_window = windows ? keep_window : NULL;
    int status = tp_replay_once(p, tp_replay_untimed, per_window, windows, &ticks, err);
    double scale = p->cfg->clock->ns_per_tick, wall = (double)(tp_stamp() - start) * scale;
    double ns = (double)ticks * scale;
    uint64_t counted = replayed_operations(p);
    *out = (struct replayed){.calls_ns = ns};
    out->ns_per_op = out->wall_ns_per_op = counted ? ns / (double)counted : (double)NAN;
    if (p->crew && counted)
        read_crew(p, counted, out);
    spent->timed_ns += p->device ? wall : ns;
    spent->wall_ns += wall;
    return status;
}

static int replay_into(struct tp_replayer *p, struct kept kept, struct tp_spent *spent,
                       struct tp_err *err)
{
    struct replayed r;
    int status = replay_ns(p, kept.window, &r, spent, err);
    if (!status && !isnan(r.ns_per_op))
        keep(&kept, &r);
    return status;
}

/* Replays until `time_ns` is used up, at least one. */
static int replay_turn(struct tp_replayer *p, struct kept kept, double time_ns,
                       struct tp_spent *used, uint64_t *replays, struct tp_err *err)
{
    struct tp_spent turn = {0};
    int status;
    do {
        status = replay_into(p, kept, &turn, err);
        ++*replays;
    } while (!status && !tp_spent_all(&turn, time_ns));
    used->timed_ns += turn.timed_ns;
    used->wall_ns += turn.wall_ns;
    return status;
}

/* One thread's turn, in its own process. */
static int replay_alone(struct tp_replayer *p, double time_ns, struct tp_series *out,
                        struct tp_err *err)
{
    const struct kept kept = {.ns = out};
    struct tp_spent used = {0};
    uint64_t replays = 0;
    return replay_turn(p, kept, time_ns, &used, &replays, err);
}

/* The empty strategy's turn, and one thread's where there are several, `cold` or not as those. */
static int replay_others(struct replayers *all, struct tp_throughput *t, double time_ns, bool cold,
                         struct tp_err *err)
{
    const struct kept engine = {.ns = &t->engine};
    int status =
        replay_turn(&all->empty, engine, time_ns, &all->empty_used, &all->empty_replays, err);
    return status || !t->crew.threads
               ? status
               : tp_alone_turn(&all->alone, time_ns, cold, &t->crew.alone, err);
}

/* `used`: by steady replays so far. */
static int replay_steady(struct replayers *all, struct tp_spent used, struct tp_run *out,
                         struct tp_err *err)
{
    const struct tp_replay_cfg *cfg = all->p.cfg;
    struct tp_throughput *t = &out->throughput;
    double time = (double)cfg->min_time_ns, turn = time / ROUNDS;
    t->crew.window = (struct tp_series){0}; /* the cold replay's is not kept */
    int status = t->crew.threads ? tp_alone_turn(&all->alone, 0, true, NULL, err) : TP_OK;
    while (!status && (!tp_spent_all(&used, time) || t->replays < cfg->min_replays)) {
        status = replay_turn(&all->p, kept_of(t), turn, &used, &t->replays, err);
        if (!status)
            status = replay_others(all, t, turn / ENGINE_SHARE, false, err);
        tp_progress(cfg, "speed", tp_spent_share(&used, time));
    }
    while (!status && all->empty_replays < ENGINE_REPLAYS)
        status = replay_others(all, t, 0, false, err);
    t->wall_ns = (uint64_t)used.timed_ns;
    return status;
}

/* For a program that takes longer than min_time_ns: each replay is a cold one on a fresh
 * instance. */
static int replay_repeats(struct replayers *all, const struct tp_replay_cfg *cfg,
                          struct tp_run *out, struct tp_err *err)
{
    struct tp_throughput *t = &out->throughput;
    int status = TP_OK;
    out->flags |= TP_RUN_REPLAYED_ONCE;
    for (t->replays = 1; !status && t->replays < cfg->repeat; t->replays++) {
        struct tp_replayer p;
        status = tp_replayer_open(&p, cfg, cfg->strategy, err);
        if (status)
            return status;
        status = replay_into(&p, kept_of(t), &all->used, err);
        if (!status)
            tp_measured_peaks(&p, out);
        status = tp_replayer_end(&p, status, err);
        if (!status) /* in turn, so that a machine that slows down slows all */
            status = replay_others(all, t, 0, true, err);
    }
    while (!status && all->empty_replays < (cfg->repeat > 1 ? cfg->repeat : 1))
        status = replay_others(all, t, 0, true, err);
    t->wall_ns = (uint64_t)all->used.timed_ns;
    return status;
}

/* Replays for the first time. */
static int replay_cold(struct replayers *all, struct replayed *cold, struct tp_run *out,
                       struct tp_err *err)
{
    struct tp_throughput *t = &out->throughput;
    int status = replay_ns(&all->p, kept_of(t).window, cold, &all->used, err);
    uint64_t replayed = replayed_operations(&all->p);
    tp_measured_failures(&all->p, out);
    t->cold_ns_per_op = cold->ns_per_op;
    t->engine_scale = replayed ? (double)seen_operations(&all->p) / (double)replayed : 1;
    return status;
}

/* Whether a program that took longer than min_time_ns is too long to be replayed twice. On a device
 * that time has been spent on waiting for the device, and on what a first replay alone needs, such
 * as the driver's own memory; there a second replay decides, by the time of its calls, and is the
 * first steady one if it is short. */
static int decide_once(struct replayers *all, struct tp_run *out, struct tp_spent *steady,
                       bool *once, struct tp_err *err)
{
    double most = (double)all->p.cfg->min_time_ns;
    struct replayed second;
    /* wall time, because reading the windows of a .tpt takes time too */
    *once = all->used.wall_ns >= most;
    if (!*once || !all->p.device)
        return TP_OK;
    const struct kept kept = kept_of(&out->throughput);
    int status = replay_ns(&all->p, kept.window, &second, steady, err);
    *once = second.calls_ns >= most || isnan(second.ns_per_op);
    if (status || *once)
        return status;
    keep(&kept, &second);
    out->throughput.replays = 1;
    return TP_OK;
}

static int open_replayers(struct replayers *all, const struct tp_replay_cfg *cfg,
                          struct tp_run *out, struct tp_err *err)
{
    uint32_t threads = tp_crew_threads(cfg);
    int status = TP_OK;
    *all = (struct replayers){0};
    if (threads > 1) { /* before any thread starts */
        out->throughput.crew.threads = threads;
        out->flags |= tp_crew_locks(cfg->strategy) ? TP_RUN_ONE_LOCK : 0;
        status = tp_alone_open(&all->alone, cfg, replay_alone, err);
    }
    if (!status)
        status = tp_replayer_open(&all->p, cfg, cfg->strategy, err);
    return status ? status : tp_replayer_open(&all->empty, cfg, tp_replay_empty(cfg), err);
}

/* Closes what is open. */
static int close_replayers(struct replayers *all, int status, struct tp_err *err)
{
    if (all->p.cfg)
        status = tp_replayer_end(&all->p, status, err);
    tp_alone_close(&all->alone);
    if (all->empty.cfg)
        tp_replayer_close(&all->empty, NULL);
    return status;
}

int tp_pass_throughput(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct replayers all;
    struct replayed cold;
    int status = open_replayers(&all, cfg, out, err);
    if (status)
        return close_replayers(&all, status, err);
    tp_progress(cfg, "speed", 0);
    status = replay_cold(&all, &cold, out, err);
    /* A program without calls has no speed, so it is not repeated. */
    bool none = isnan(cold.ns_per_op), once = false;
    struct tp_spent steady = {0};
    if (!status && !none)
        status = decide_once(&all, out, &steady, &once, err);
    if (!status && !once && !none)
        status = replay_steady(&all, steady, out, err);
    if (!status)
        tp_measured_peaks(&all.p, out);
    status = tp_replayer_end(&all.p, status, err);
    if (!status && once) {
        const struct kept kept = kept_of(&out->throughput);
        keep(&kept, &cold);
        status = replay_repeats(&all, cfg, out, err);
    }
    return close_replayers(&all, status, err);
}
