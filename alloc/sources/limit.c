/* The source `limit`: a device of a given capacity.
 *
 * A get is refused as out of memory if the source below would then give up more than `capacity`
 * bytes in total. Only bytes count, not addresses: fragmentation inside a real device's memory is
 * not simulated. */
#include "alloc/source.h"

struct limit_opts {
    uint64_t capacity;
};

struct limit {
    struct tp_source *inner;
    uint64_t capacity;          /* bytes; 0: no limit */
    struct tp_account *account; /* may be NULL */
};

static const struct tp_opt limit_rows[] = {
    TP_SIZE_ROW(struct limit_opts, capacity, .def = "0",
                .help = "capacity of the device; 0: no limit"),
    {.name = NULL}};

static int limit_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct limit *s = state;
    s->capacity = ((const struct limit_opts *)cfg->opts)->capacity;
    s->account = cfg->account;
    s->inner = cfg->inner;
    uint64_t page = tp_src_granule(s->inner);
    if (!s->capacity || s->capacity >= page)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "a capacity of %llu B cannot hold one page, which has %llu B",
                   (unsigned long long)s->capacity, (unsigned long long)page);
}

/* Refuses a get that needs a device of `needed` bytes, and notes the smallest such number. */
static int refuse(const struct limit *s, uint64_t needed)
{
    if (s->account && (!s->account->least_refused || needed < s->account->least_refused))
        s->account->least_refused = needed;
    return TP_EOOM;
}

/* TP_OK if the device has room for `cost` bytes more. */
static int check_room(const struct limit *s, uint64_t cost)
{
    uint64_t taken = tp_src_taken(s->inner);
    if (s->capacity && (cost > s->capacity || taken > s->capacity - cost))
        return refuse(s, cost < UINT64_MAX - taken ? taken + cost : UINT64_MAX);
    return TP_OK;
}

static int limit_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct limit *s = state;
    int rc = check_room(s, s->capacity ? tp_src_cost(s->inner, size, align) : 0);
    return rc ? rc : tp_src_get(s->inner, size, align, out);
}

/* Addresses cost nothing, and mapped memory what it has. */
static int limit_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct limit *s = state;
    int rc = check_room(s, size);
    return rc ? rc : tp_src_map(s->inner, base, from, size);
}

static int limit_put(void *state, tp_addr addr, uint64_t size)
{
    struct limit *s = state;
    return tp_src_put(s->inner, addr, size);
}

/* Opens a pool. A new pool gets the capacity as its largest size; the device's default pool, which
 * the whole process shares, cannot be limited. */
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
    return tp_src_pool_open(s->inner, &limited, err);
}

static uint64_t limit_capacity(void *state)
{
    const struct limit *s = state;
    uint64_t below = tp_src_capacity(s->inner);
    if (s->account)
        s->account->asked = true;
    return s->capacity && (!below || s->capacity < below) ? s->capacity : below;
}

const struct tp_source_ops tp_source_limit = {
    .name = "limit",
    .summary = "a device of a given capacity",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct limit),
    .opts_size = sizeof(struct limit_opts),
    .options = limit_rows,
    .init = limit_init,
    .capacity = limit_capacity,
    .get = limit_get,
    .put = limit_put,
    .map = limit_map,
    .pool_open = limit_pool_open,
};
