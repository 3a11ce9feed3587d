/* The source `limit`: a device of a given capacity.
 *
 * Refuses, as out of memory, a get for which the source below would give up more than `capacity`
 * bytes in total. Only bytes count, not where they lie: the fragmentation of a real device's own
 * memory is not simulated. */
#include "alloc/sources/pass.h"

struct limit_opts {
    uint64_t capacity;
};

struct limit {
    struct pass pass;           /* first */
    uint64_t capacity;          /* bytes; 0 = none */
    struct tp_account *account; /* may be NULL */
};

static const struct tp_opt limit_rows[] = {{.name = "capacity",
                                            .type = TP_OPT_SIZE,
                                            .offset = offsetof(struct limit_opts, capacity),
                                            .def = "0",
                                            .arg = "SIZE",
                                            .help = "bytes that the device has, 0 = no limit"},
                                           {.name = NULL}};

static int limit_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct limit *s = state;
    s->capacity = ((const struct limit_opts *)cfg->opts)->capacity;
    s->account = cfg->account;
    int rc = pass_init(&s->pass, cfg, "limit", err);
    uint64_t page = rc ? 0 : tp_src_granule(cfg->inner);
    if (rc || !s->capacity || s->capacity >= page)
        return rc;
    return tp_fail(err, TP_EUSAGE, "a capacity of %llu B cannot hold one page, which has %llu B",
                   (unsigned long long)s->capacity, (unsigned long long)page);
}

/* What a device would have had to have. */
static int refuse(const struct limit *s, uint64_t needed)
{
    if (s->account && (!s->account->least_refused || needed < s->account->least_refused))
        s->account->least_refused = needed;
    return TP_EOOM;
}

static int limit_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct limit *s = state;
    uint64_t cost = s->capacity ? pass_cost(s, size, align) : 0, taken = pass_taken(s);
    if (s->capacity && (cost > s->capacity || taken > s->capacity - cost))
        return refuse(s, cost < UINT64_MAX - taken ? taken + cost : UINT64_MAX);
    return pass_get(s, size, align, out);
}

/* An own pool gets the capacity as its largest size; the default pool, which the process shares,
 * has none. */
static int limit_pool_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    const struct limit *s = state;
    struct tp_pool_cfg limited = *cfg;
    if (s->capacity && !cfg->own)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "the default pool of a device takes no capacity: only a pool of its "
                               "own does"),
                       "cudaMallocAsync:pool=own");
    if (s->capacity && (!cfg->max_size || s->capacity < cfg->max_size))
        limited.max_size = s->capacity;
    return pass_pool_open(state, &limited, err);
}

static uint64_t limit_capacity(void *state)
{
    const struct limit *s = state;
    uint64_t below = pass_capacity(state);
    return s->capacity && (!below || s->capacity < below) ? s->capacity : below;
}

const struct tp_source_ops tp_source_limit = {
    .name = "limit",
    .summary = "a device of a given capacity",
    .flags = TP_SRC_DECORATOR,
    .state_size = sizeof(struct limit),
    .opts_size = sizeof(struct limit_opts),
    .options = limit_rows,
    .init = limit_init,
    .fini = pass_fini,
    .page = pass_page,
    .capacity = limit_capacity,
    .get = limit_get,
    .put = pass_put,
    .record = pass_record,
    .done = pass_done,
    .wait = pass_wait,
    .synced = pass_synced,
    .host = pass_host,
    .pool_open = limit_pool_open,
    .get_async = pass_get_async,
    PASS_POOL_MEMBERS,
    PASS_DEVICE_MEMBERS,
};
