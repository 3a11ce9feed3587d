/* The source `meter`: counts all calls in the engine's account.
 *
 * It is always on top of the stack. The reserved bytes of a report are counted here, as the bytes
 * that the source below gave up for the ranges held, and not reported by the strategy. Successful
 * calls and refusals are counted apart. Waiting time is the advance of the engine's clock during a
 * call. For whoever asks the meter also records every range in a table of theirs. */
#include "alloc/base/aliases.h"
#include "alloc/source.h"

struct meter {
    struct tp_source *inner;
    struct tp_account *account;
    const uint64_t *now_ns; /* may be NULL */
    uint64_t guard;         /* bytes; 0: no guard */
    bool keeps_ranges;      /* there is a table: every call tests it, in one instruction less so */
    struct tp_range_table *ranges;
    struct tp_aliases *aliases; /* NULL: kept nowhere */
};

static int meter_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct meter *s = state;
    if (!cfg->account)
        return tp_fail(err, TP_EBROKEN, "source 'meter' needs an account");
    s->account = cfg->account;
    s->now_ns = cfg->now_ns;
    s->keeps_ranges = cfg->ranges != NULL;
    s->ranges = cfg->ranges;
    s->aliases = cfg->aliases;
    s->guard = cfg->guard;
    s->inner = cfg->inner;
    return TP_OK;
}

/* Reserves room in the table before a get, so that a range that was given can always be
 * recorded. */
static int keep_room(struct meter *s)
{
    return s->keeps_ranges ? tp_ranges_reserve(s->ranges) : TP_OK;
}

static void keep(struct meter *s, tp_addr addr, uint64_t size)
{
    if (s->keeps_ranges)
        tp_ranges_insert(s->ranges, (struct tp_address_range){.addr = addr, .size = size});
}

static void forget(struct meter *s, tp_addr addr)
{
    const struct tp_address_range *r = s->keeps_ranges ? tp_ranges_find(s->ranges, addr) : NULL;
    if (r && r->addr == addr)
        tp_ranges_remove(s->ranges, r);
}

/* Do the bytes held already exceed the guard? A single large range, as an option may request, is
 * allowed. */
static bool is_guarded(struct meter *s)
{
    bool guarded = s->guard && tp_src_taken(s->inner) > s->guard;
    s->account->guarded_gets += guarded;
    return guarded;
}

/* Counts a get, or what is as good as one, that the source has answered. */
static int count_get(struct meter *s, uint64_t size, int rc)
{
    if (rc) {
        s->account->refused_gets += rc == TP_EOOM;
        return rc;
    }
    s->account->gets++;
    s->account->get_bytes += size;
    s->account->reserved = tp_src_taken(s->inner);
    tp_account_update(s->account);
    return TP_OK;
}

static int count_put(struct meter *s, uint64_t size, int rc)
{
    if (rc) {
        s->account->refused_puts += rc == TP_EIO;
        return rc;
    }
    s->account->puts++;
    s->account->put_bytes += size;
    s->account->reserved = tp_src_taken(s->inner);
    return TP_OK;
}

static int meter_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct meter *s = state;
    int rc = is_guarded(s) ? TP_EOOM : keep_room(s);
    if (!rc)
        rc = tp_src_get(s->inner, size, align, out);
    if (!rc)
        keep(s, *out, size);
    return count_get(s, size, rc);
}

static int meter_put(void *state, tp_addr addr, uint64_t size)
{
    struct meter *s = state;
    int rc = tp_src_put(s->inner, addr, size);
    if (!rc)
        forget(s, addr);
    return count_put(s, size, rc);
}

/* ---- mapped memory: one range for all that is mapped side by side in a space ---- */

static int meter_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct meter *s = state;
    int rc = is_guarded(s) ? TP_EOOM : keep_room(s);
    if (!rc)
        rc = tp_src_map(s->inner, base, from, size);
    if (!rc && s->keeps_ranges)
        tp_ranges_widen(s->ranges, base + from, size, base);
    return count_get(s, size, rc);
}

/* An unmapping in the middle of a range leaves two: the room for the second is made first. */
static int meter_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct meter *s = state;
    int rc = keep_room(s);
    if (!rc)
        rc = tp_src_unmap(s->inner, base, from, size);
    if (!rc && s->keeps_ranges)
        tp_ranges_narrow(s->ranges, base + from, size);
    return count_put(s, size, rc);
}

/* A second mapping is a call that gets no bytes. */
static int meter_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct meter *s = state;
    int rc = keep_room(s);
    if (!rc && s->aliases)
        rc = tp_aliases_reserve(s->aliases);
    if (!rc)
        rc = tp_src_alias(s->inner, base, from, size, of);
    if (!rc && s->keeps_ranges)
        tp_ranges_widen(s->ranges, base + from, size, base);
    if (!rc && s->aliases)
        tp_aliases_add(s->aliases, base + from, size, of);
    return count_get(s, 0, rc);
}

static int meter_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct meter *s = state;
    int rc = keep_room(s);
    if (!rc)
        rc = tp_src_unalias(s->inner, base, from, size);
    if (!rc && s->keeps_ranges)
        tp_ranges_narrow(s->ranges, base + from, size);
    if (!rc && s->aliases)
        tp_aliases_drop(s->aliases, base + from, size);
    return count_put(s, 0, rc);
}

static int meter_wait(void *state, const struct tp_fence *f)
{
    struct meter *s = state;
    uint64_t before = s->now_ns ? *s->now_ns : 0;
    int rc = tp_src_wait(s->inner, f);
    if (rc)
        return rc;
    s->account->waits++;
    s->account->wait_ns += s->now_ns ? *s->now_ns - before : 0;
    return TP_OK;
}

/* Gets a block from a pool. Only calls and requested bytes are counted, because the pool itself
 * knows what it reserves. */
static int meter_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    struct meter *s = state;
    int rc = keep_room(s);
    if (!rc)
        rc = tp_src_get_async(s->inner, size, stream, out);
    if (!rc)
        keep(s, *out, size);
    s->account->refused_gets += rc == TP_EOOM;
    s->account->gets += rc == TP_OK;
    s->account->get_bytes += rc == TP_OK ? size : 0;
    return rc;
}

static int meter_put_async(void *state, tp_addr addr, uint16_t stream)
{
    struct meter *s = state;
    int rc = tp_src_put_async(s->inner, addr, stream);
    if (!rc)
        forget(s, addr);
    s->account->puts += rc == TP_OK;
    return rc;
}

const struct tp_source_ops tp_source_meter = {
    .name = "meter",
    .summary = "counts calls and bytes",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct meter),
    .init = meter_init,
    .get = meter_get,
    .put = meter_put,
    .map = meter_map,
    .unmap = meter_unmap,
    .alias = meter_alias,
    .unalias = meter_unalias,
    .wait = meter_wait,
    .get_async = meter_get_async,
    .put_async = meter_put_async,
};
