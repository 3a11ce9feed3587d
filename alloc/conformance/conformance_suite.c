/* See conformance_suite.h.
 *
 * Known weakness: what a strategy does to memory that nobody allocated is seen only where it
 * changes a live block or crashes. */
#include "alloc/conformance/conformance_suite.h"

#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_replay.h"

#define SEED     UINT64_C(20240611)
#define FAULTS   UINT64_C(5000) /* calls that are failed at most */
#define DEVICE   UINT64_C(2097152)
#define HOST_MAX UINT64_C(400000)

enum { SLOTS = 300 }; /* objects of a program */

extern const struct tp_source_ops tp_source_host, tp_source_virtual;

#define EVERYWHERE (TP_CONFORM_RANDOM | TP_CONFORM_FULL)

const struct tp_conformance_place tp_conformance_places[] = {
    {.name = "host",
     .base = &tp_source_host,
     .kind = TP_KIND_HOST,
     .streams = 1,
     .checks = TP_CONFORM_TABLE | EVERYWHERE | TP_CONFORM_ADDRESSES | TP_CONFORM_GETS |
               TP_CONFORM_THREADS,
     .nth = 0},
    {.name = "virtual, host pages",
     .base = &tp_source_virtual,
     .kind = TP_KIND_HOST,
     .streams = 1,
     .checks = EVERYWHERE,
     .nth = 1},
    {.name = "virtual, device pages, 4 streams",
     .base = &tp_source_virtual,
     .kind = TP_KIND_DEVICE,
     .streams = 4,
     .checks = EVERYWHERE | TP_CONFORM_ADDRESSES | TP_CONFORM_PUTS | TP_CONFORM_META |
               TP_CONFORM_OPTIONS | TP_CONFORM_THREADS,
     .nth = 2},
    {.name = "shuffle over host",
     .base = &tp_source_host,
     .kind = TP_KIND_HOST,
     .shuffle = true,
     .streams = 1,
     .checks = EVERYWHERE,
     .nth = 3},
    {.name = "shuffle over virtual, 4 streams",
     .base = &tp_source_virtual,
     .kind = TP_KIND_DEVICE,
     .shuffle = true,
     .streams = 4,
     .checks = EVERYWHERE,
     .nth = 4},
    {.name = "its own heap",
     .base = NULL,
     .checks = TP_CONFORM_TABLE | TP_CONFORM_RANDOM | TP_CONFORM_OPTIONS},
    {.name = NULL}};

/* ---- replaying ---- */

/* A rig with its model; too large for the stack. */
struct bout {
    struct rig rig;
    struct model model;
    struct gen gen;
    uint64_t seed; /* of the last program */
};

/* What must not depend on addresses. */
struct outcome {
    struct tp_account account;
    struct tp_stats stats;
    uint64_t meta_calls, refusals;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for a check");
}

static struct rig_cfg config(const struct tp_conformance_case *c,
                             const struct tp_conformance_place *on)
{
    return (struct rig_cfg){.strategy = c->strategy,
                            .options = c->options,
                            .base = on->base,
                            .kind = on->kind,
                            .shuffle = on->shuffle,
                            .streams = on->streams,
                            .complaint = on->complaint,
                            .passes = on->passes};
}

/* Whether an instance could not start because what it asked for was refused on purpose. */
static bool may_refuse(const struct rig_cfg *cfg, int rc)
{
    return rc == TP_EOOM ? cfg->limit || cfg->fault : rc == TP_ENOMEM && cfg->meta_fail_at;
}

/* Starts an instance. TP_OK with *refused where a lack of memory has kept it from starting. */
static int start(struct bout *b, const struct rig_cfg *cfg, bool *refused, struct tp_err *err)
{
    int rc = tp_rig_start(&b->rig, cfg);
    *refused = rc && may_refuse(cfg, rc);
    if (rc == TP_EBROKEN)
        return tp_fail(err, TP_EBROKEN, "%s", b->rig.err.text);
    if (rc && !*refused)
        return tp_fail(err, TP_EBROKEN, "init: %s%s%s", tp_status_text(rc),
                       b->rig.err.status ? ": " : "", b->rig.err.status ? b->rig.err.text : "");
    if (!rc)
        tp_model_open(&b->model, &b->rig);
    return TP_OK;
}

/* One program of a seed's own mix, beginning with nothing live, and ending so if it is drained. */
static int replay_program(struct bout *b, uint64_t seed, unsigned steps, bool drain,
                          struct tp_err *err)
{
    struct gen *g = &b->gen;
    const struct model_failure *f = &b->model.failure;
    b->seed = seed;
    tp_gen_start(g, seed, SLOTS);
    if (g->streams > b->rig.env.streams)
        g->streams = b->rig.env.streams;
    for (unsigned i = 0; i < steps && !f->kind; i++) {
        struct tp_insn in = tp_gen_next(g);
        tp_model_step(&b->model, &in, i);
    }
    if (drain && !f->kind)
        tp_model_drain(&b->model);
    if (!f->kind)
        return TP_OK;
    return tp_fail(err, TP_EBROKEN, "seed %llu, step %u: %s: %s", (unsigned long long)seed, f->step,
                   tp_model_kind_names[f->kind], f->text);
}

/* Ends the instance with what is live in it; an earlier failure stays the one that is told. */
static int stop(struct bout *b, int status, struct tp_err *err)
{
    char text[240];
    tp_model_close(&b->model);
    const char *left = tp_rig_shut(&b->rig, text, sizeof text);
    if (status || !left)
        return status;
    return tp_fail(err, TP_EBROKEN, "seed %llu, at the end: %s", (unsigned long long)b->seed, left);
}

struct run_size {
    unsigned programs, steps, check_every;
};

/* Programs on one instance, each of another mix; what the last leaves live is fini's. */
static int run(const struct rig_cfg *cfg, uint64_t seed, struct run_size n, struct outcome *out,
               struct tp_err *err)
{
    struct bout *b = calloc(1, sizeof *b);
    bool refused = false;
    int status = b ? start(b, cfg, &refused, err) : no_memory(err);
    bool started = !status && !refused;
    if (started)
        b->model.check_every = n.check_every;
    /* Without a source nobody else frees what the last program leaves. */
    for (unsigned i = 0; started && !status && i < n.programs; i++)
        status = replay_program(b, seed * 1000 + i, n.steps, !cfg->base || i + 1 < n.programs, err);
    if (b && out)
        *out = (struct outcome){b->rig.account, {0}, b->rig.meta.calls, b->model.refusals};
    if (started && out && !status)
        out->stats = tp_rig_stats(&b->rig);
    if (started)
        status = stop(b, status, err);
    free(b);
    return status;
}

/* ---- the checks ---- */

static int check_table(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                       struct tp_err *err)
{
    (void)on;
    return tp_strategy_check(c->strategy, err);
}

static int check_random(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                        struct tp_err *err)
{
    const struct rig_cfg cfg = config(c, on);
    const unsigned share = on->slow ? 2 : 1;
    if (!on->base)
        return run(&cfg, SEED + 300, (struct run_size){8, 500, 1}, NULL, err);
    int status = run(&cfg, SEED + on->nth, (struct run_size){6 / share, 200, 1}, NULL, err);
    if (status) /* the longer ones have more of all, and are looked at less */
        return status;
    return run(&cfg, SEED + on->nth + 10, (struct run_size){2 / share, 1500, 100}, NULL, err);
}

static int check_full(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                      struct tp_err *err)
{
    struct rig_cfg cfg = config(c, on);
    const bool pages = cfg.kind == TP_KIND_DEVICE; /* of 2 MiB, so it has at least one */
    const uint64_t limit = pages ? DEVICE : HOST_MAX;
    struct outcome o;
    cfg.limit = pages ? "capacity=2MiB" : "capacity=400KB";
    int status = run(&cfg, SEED + 50, (struct run_size){5, 200, 1}, &o, err);
    if (status)
        return status;
    bool from_the_start = o.account.gets == 1 && o.refusals; /* of what it took, all was used */
    if (!o.account.refused_gets && !from_the_start)
        return tp_fail(err, TP_EBROKEN, "never requested more than %llu bytes",
                       (unsigned long long)limit);
    if (!on->scattered && o.account.peak_reserved > limit)
        return tp_fail(err, TP_EBROKEN, "held %llu bytes of a source that has %llu",
                       (unsigned long long)o.account.peak_reserved, (unsigned long long)limit);
    return TP_OK;
}

/* Those of a pool are the driver's own: no wrapper moves them. */
static int check_addresses(const struct tp_conformance_case *c,
                           const struct tp_conformance_place *on, struct tp_err *err)
{
    const struct run_size size = {4, 500, 100};
    for (int limited = 0; limited < 2; limited++) {
        struct rig_cfg cfg = config(c, on);
        struct outcome plain, shuffled;
        cfg.limit = limited ? "capacity=5MiB" : NULL;
        int status = run(&cfg, SEED + 100, size, &plain, err);
        cfg.shuffle = true;
        if (!status)
            status = run(&cfg, SEED + 100, size, &shuffled, err);
        if (status)
            return status;
        if (memcmp(&plain, &shuffled, sizeof plain) != 0)
            return tp_fail(err, TP_EBROKEN,
                           "seed %llu: other addresses lead to other figures, as %llu bytes held "
                           "at most instead of %llu",
                           (unsigned long long)(SEED + 100),
                           (unsigned long long)shuffled.account.peak_reserved,
                           (unsigned long long)plain.account.peak_reserved);
    }
    return TP_OK;
}

/* One run with the n-th call of a kind failing. *hit: there was an n-th. */
static int run_with_fault(struct bout *b, const struct rig_cfg *cfg, uint64_t n, bool *hit,
                          struct tp_err *err)
{
    bool refused;
    int status = start(b, cfg, &refused, err);
    *hit = refused;
    for (unsigned i = 0; !status && !refused && i < 3; i++)
        status = replay_program(b, SEED + 200 + i, 60, i < 2, err);
    if (refused || b->rig.depth == 0)
        return status;
    status = stop(b, status, err); /* puts in fini count as well */
    *hit = cfg->meta_fail_at ? b->rig.meta.calls >= n
                             : b->rig.account.refused_gets + b->rig.account.refused_puts > 0;
    return status;
}

/* Fails each call of a kind, one after the other, until a run is through without meeting it. */
static int fail_each(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                     const char *option, struct tp_err *err)
{
    struct bout *b = calloc(1, sizeof *b);
    struct rig_cfg cfg = config(c, on);
    char spec[64];
    bool hit = true;
    int status = b ? TP_OK : no_memory(err);
    for (uint64_t n = 1; !status && hit && n <= FAULTS; n++) {
        snprintf(spec, sizeof spec, "%s=%llu", option ? option : "", (unsigned long long)n);
        cfg.fault = option ? spec : NULL;
        cfg.meta_fail_at = option ? 0 : n;
        status = run_with_fault(b, &cfg, n, &hit, err);
        if (status)
            tp_prefix(err, status, "with call %llu failing", (unsigned long long)n);
    }
    free(b);
    return status || !hit ? status
                          : tp_fail(err, TP_EBROKEN, "over %llu calls in three short programs",
                                    (unsigned long long)FAULTS);
}

static int check_gets(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                      struct tp_err *err)
{
    return fail_each(c, on, "get_at", err);
}

static int check_puts(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                      struct tp_err *err)
{
    return fail_each(c, on, "put_at", err);
}

static int check_meta(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                      struct tp_err *err)
{
    return fail_each(c, on, NULL, err);
}

/* One short program with the option set to this word, which counts where the case sets it too. */
static int run_with_option(const struct tp_conformance_case *c,
                           const struct tp_conformance_place *on, const struct tp_opt *row,
                           const char *word, struct tp_err *err)
{
    struct rig_cfg cfg = config(c, on);
    struct tp_str options = {0};
    tp_str_add(&options, "%s", c->options ? c->options : "");
    tp_opt_add_value(&options, ",", c->strategy->options, row, word);
    cfg.options = tp_str_text(&options);
    int status = run(&cfg, SEED + 400, (struct run_size){1, 200, 10}, NULL, err);
    if (status)
        tp_prefix(err, status, "with %s=%s", row->name, word);
    tp_str_drop(&options);
    return status;
}

/* One option at a time, so that none hides what another breaks. */
static int check_options(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                         struct tp_err *err)
{
    static const char *const flag[] = {"no", "yes", NULL};
    int status = TP_OK;
    for (const struct tp_opt *row = c->strategy->options; row && row->name; row++) {
        const char *const *words = row->type == TP_OPT_FLAG ? flag : row->choices;
        for (; !status && words && *words; words++)
            status = run_with_option(c, on, row, *words, err);
    }
    return status;
}

static int check_threads(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
                         struct tp_err *err)
{
    const struct rig_cfg cfg = config(c, on);
    struct crowd_counts counts;
    return tp_conformance_crowd(&cfg, &counts, err);
}

const struct tp_conformance_check tp_conformance_checks[] = {
    {TP_CONFORM_TABLE, "members, flags and options agree", check_table},
    {TP_CONFORM_RANDOM, "random programs and wrong calls", check_random},
    {TP_CONFORM_FULL, "memory runs out", check_full},
    {TP_CONFORM_ADDRESSES, "addresses decide nothing", check_addresses},
    {TP_CONFORM_GETS, "each get of memory fails once", check_gets},
    {TP_CONFORM_PUTS, "each put of memory fails once", check_puts},
    {TP_CONFORM_META, "each get of bookkeeping fails once", check_meta},
    {TP_CONFORM_OPTIONS, "each flag and choice once", check_options},
    {TP_CONFORM_THREADS, "eight threads at once", check_threads},
    {.name = NULL}};

/* A pool of the driver replays where there is one, all else where there are ranges. The default
 * pool of a device takes no limit. */
bool tp_conformance_replays(const struct tp_conformance_check *check,
                            const struct tp_conformance_case *c,
                            const struct tp_conformance_place *on)
{
    const uint32_t caps = c->strategy->caps;
    const bool pool = caps & TP_CAP_ASYNC, own = c->options && strstr(c->options, "pool=own");
    if (!(on->checks & check->bit) || tp_strategy_takes_source(c->strategy) != !!on->base)
        return false;
    if (check->bit == TP_CONFORM_TABLE)
        return true;
    if (caps & TP_CAP_PRELOAD) /* its library is in no process but the one that it is replayed in */
        return false;
    if (!on->base)
        return true;
    if (check->bit == TP_CONFORM_THREADS && !(caps & TP_CAP_THREADS))
        return false;
    if (pool ? !on->base->get_async : on->pool_only)
        return false;
    return !pool || own || check->bit != TP_CONFORM_FULL;
}
