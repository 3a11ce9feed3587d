/* Sources: checks of their tables, handles, and the wrappers through which all callers reach them.
 *
 *     tp_src_done(meter) --> meter has no `done` --> limit has none --> virtual's
 *
 * For a member that a wrapper leaves NULL, the source below it is called. A source without the
 * FENCES group has no pending work, so its fences have always passed. */
#include "alloc/source.h"

static int source_broken(const struct tp_source_ops *ops, const char *what, struct tp_err *err)
{
    return tp_fail(err, TP_EBROKEN, "source '%s': %s", ops->name ? ops->name : "?", what);
}

static bool is_power_of_two(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

static const char *spaces_fault(const struct tp_source_ops *ops)
{
    int spaces = !!ops->map_page + !!ops->space_get + !!ops->space_put + !!ops->map + !!ops->unmap;
    if (spaces != 0 && spaces != 5)
        return "'map_page', 'space_get', 'space_put', 'map' and 'unmap' must be all set or all "
               "NULL";
    if (!ops->alias != !ops->unalias)
        return "'alias' and 'unalias' must be both set or both NULL";
    return ops->alias && !spaces ? "'alias' needs 'map'" : NULL;
}

/* The first group of which a source that is no wrapper sets some but not all members, or NULL. */
static const char *group_fault(const struct tp_source_ops *ops)
{
    if (!ops->fini || !ops->page)
        return "'init', 'fini' and 'page' are required";
    int pages = !!ops->granule + !!ops->taken + !!ops->cost;
    if (pages != 0 && pages != 3)
        return "'granule', 'taken' and 'cost' must be all set or all NULL";
    if (spaces_fault(ops))
        return spaces_fault(ops);
    int fences = !!ops->record + !!ops->done + !!ops->wait + !!ops->synced;
    if (fences != 0 && fences != 4)
        return "'record', 'done', 'wait' and 'synced' must be all set or all NULL";
    if (ops->drained && !fences)
        return "'drained' needs 'synced'";
    int async = !!ops->pool_open + !!ops->pool_close + !!ops->get_async + !!ops->put_async +
                !!ops->pool_trim + !!ops->pool_marks;
    if (async != 0 && async != 6)
        return "'pool_open', 'pool_close', 'get_async', 'put_async', 'pool_trim' and 'pool_marks' "
               "must be all set or all NULL";
    if (!ops->follow != !ops->work)
        return "'follow' and 'work' must be both set or both NULL";
    if (ops->settle && !ops->work)
        return "'settle' is about 'work', which is NULL";
    int device = !!ops->memory + !!ops->counts + !!ops->fault;
    if (device != 0 && device != 3)
        return "'memory', 'counts' and 'fault' must be all set or all NULL";
    if (!!(ops->flags & TP_SRC_HOST) != !!ops->host)
        return "'host' and the host bit of 'flags' disagree";
    if (!!(ops->flags & TP_SRC_DEVICE) != !!device)
        return "'memory' and the device bit of 'flags' disagree";
    return NULL;
}

/* The first fault of a table, or NULL. */
static const char *table_fault(const struct tp_source_ops *ops)
{
    const uint32_t known = TP_SRC_HOST | TP_SRC_VIRTUAL | TP_SRC_WRAPPER | TP_SRC_DEVICE |
                           TP_SRC_ORDERED | TP_SRC_ABSENT;
    if (!ops->name || !*ops->name)
        return "'name' is missing";
    if (!ops->summary || !*ops->summary)
        return "'summary' is missing";
    if (!ops->init)
        return "'init', 'fini' and 'page' are required";
    if (ops->flags & ~known)
        return "an unknown bit is set in 'flags'";
    if (ops->flags & TP_SRC_ABSENT)
        return NULL;
    if (!ops->get || !ops->put)
        return "'get' and 'put' are required";
    if (ops->flags & TP_SRC_HOST && ops->flags & TP_SRC_VIRTUAL)
        return "'flags' say host and virtual at once";
    if (!(ops->flags & TP_SRC_WRAPPER))
        return group_fault(ops);
    return ops->flags == TP_SRC_WRAPPER ? NULL : "a source wrapper has the flags of its base";
}

int tp_source_check(const struct tp_source_ops *ops, struct tp_err *err)
{
    const char *fault = table_fault(ops);
    if (fault)
        return source_broken(ops, fault, err);
    char owner[64];
    snprintf(owner, sizeof owner, "source '%s'", ops->name);
    return tp_opts_check(ops->options, ops->opts_size, owner, err);
}

int tp_source_open(struct tp_source *src, const struct tp_source_ops *ops,
                   const struct tp_source_cfg *cfg, struct tp_err *err)
{
    *src = (struct tp_source){0};
    if (ops->flags & TP_SRC_WRAPPER && !cfg->inner)
        return source_broken(ops, "the source below it is missing", err);
    void *state = calloc(1, ops->state_size ? ops->state_size : 1);
    if (!state)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening source '%s'", ops->name);
    int rc = ops->init(state, cfg, err);
    if (rc) {
        free(state);
        return rc;
    }
    *src = (struct tp_source){.ops = ops, .state = state, .flags = ops->flags};
    if (ops->flags & TP_SRC_WRAPPER) {
        src->inner = cfg->inner;
        src->flags = cfg->inner->flags;
    }
    src->page = ops->page ? ops->page(state) : cfg->inner->page;
    if (is_power_of_two(src->page))
        return TP_OK;
    tp_source_close(src);
    return source_broken(ops, "'page' is not a power of two", err);
}

void tp_source_close(struct tp_source *src)
{
    if (src->ops && src->ops->fini)
        src->ops->fini(src->state);
    free(src->state);
    *src = (struct tp_source){0};
}

/* Moves `src` down to the first source that has the member, else to the source at the base. */
#define DOWN_TO(src, member)                                                                       \
    while (!(src)->ops->member && (src)->inner)                                                    \
    (src) = (src)->inner

int tp_src_get(struct tp_source *src, uint64_t size, uint64_t align, tp_addr *out)
{
    assert(size > 0 && size % src->page == 0);
    assert(is_power_of_two(align));
    *out = 0;
    int rc = src->ops->get(src->state, size, align, out);
    assert(rc != TP_OK || (*out != 0 && *out % align == 0));
    src->held += rc == TP_OK ? size : 0;
    return rc;
}

int tp_src_put(struct tp_source *src, tp_addr addr, uint64_t size)
{
    int rc = src->ops->put(src->state, addr, size);
    src->held -= rc == TP_OK ? size : 0;
    return rc;
}

uint64_t tp_src_map_page(struct tp_source *src)
{
    DOWN_TO(src, map_page);
    return src->ops->map_page ? src->ops->map_page(src->state) : 0;
}

int tp_src_space_get(struct tp_source *src, uint64_t size, uint64_t unit, tp_addr *out)
{
    DOWN_TO(src, space_get);
    *out = 0;
    return src->ops->space_get ? src->ops->space_get(src->state, size, unit, out) : TP_EUNSUP;
}

int tp_src_space_put(struct tp_source *src, tp_addr base, uint64_t size)
{
    DOWN_TO(src, space_put);
    return src->ops->space_put ? src->ops->space_put(src->state, base, size) : TP_EUNSUP;
}

int tp_src_map(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size)
{
    DOWN_TO(src, map);
    int rc = src->ops->map ? src->ops->map(src->state, base, from, size) : TP_EUNSUP;
    src->held += rc == TP_OK ? size : 0;
    return rc;
}

int tp_src_unmap(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size)
{
    DOWN_TO(src, unmap);
    int rc = src->ops->unmap ? src->ops->unmap(src->state, base, from, size) : TP_EUNSUP;
    src->held -= rc == TP_OK ? size : 0;
    return rc;
}

bool tp_src_has_aliases(const struct tp_source *src)
{
    while (src->inner)
        src = src->inner;
    return src->ops->alias != NULL;
}

int tp_src_alias(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    DOWN_TO(src, alias);
    return src->ops->alias ? src->ops->alias(src->state, base, from, size, of) : TP_EUNSUP;
}

int tp_src_unalias(struct tp_source *src, tp_addr base, uint64_t from, uint64_t size)
{
    DOWN_TO(src, unalias);
    return src->ops->unalias ? src->ops->unalias(src->state, base, from, size) : TP_EUNSUP;
}

uint64_t tp_src_capacity(struct tp_source *src)
{
    DOWN_TO(src, capacity);
    return src->ops->capacity ? src->ops->capacity(src->state) : 0;
}

uint64_t tp_src_granule(struct tp_source *src)
{
    DOWN_TO(src, granule);
    return src->ops->granule ? src->ops->granule(src->state) : src->page;
}

uint64_t tp_src_taken(struct tp_source *src)
{
    DOWN_TO(src, taken);
    return src->ops->taken ? src->ops->taken(src->state) : src->held;
}

uint64_t tp_src_cost(struct tp_source *src, uint64_t size, uint64_t align)
{
    DOWN_TO(src, cost);
    return src->ops->cost ? src->ops->cost(src->state, size, align) : size;
}

void tp_src_record(struct tp_source *src, uint16_t stream, struct tp_fence *out)
{
    DOWN_TO(src, record);
    *out = (struct tp_fence){.stream = stream};
    if (src->ops->record)
        src->ops->record(src->state, stream, out);
}

bool tp_src_done(struct tp_source *src, const struct tp_fence *f)
{
    DOWN_TO(src, done);
    return !src->ops->done || src->ops->done(src->state, f);
}

int tp_src_wait(struct tp_source *src, const struct tp_fence *f)
{
    DOWN_TO(src, wait);
    return src->ops->wait ? src->ops->wait(src->state, f) : TP_OK;
}

void tp_src_synced(struct tp_source *src, uint16_t stream)
{
    DOWN_TO(src, synced);
    if (src->ops->synced)
        src->ops->synced(src->state, stream);
}

void tp_src_drained(struct tp_source *src, uint16_t stream)
{
    DOWN_TO(src, drained);
    if (src->ops->drained)
        src->ops->drained(src->state, stream);
}

bool tp_src_has_fences(const struct tp_source *src)
{
    DOWN_TO(src, record);
    return src->ops->record != NULL;
}

void *tp_src_host(struct tp_source *src, tp_addr addr)
{
    DOWN_TO(src, host);
    return src->ops->host ? src->ops->host(src->state, addr) : NULL;
}

int tp_src_pool_open(struct tp_source *src, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    DOWN_TO(src, pool_open);
    if (src->ops->pool_open)
        return src->ops->pool_open(src->state, cfg, err);
    return tp_fail(err, TP_EUNSUP, "source '%s' has no stream-ordered pool", src->ops->name);
}

int tp_src_pool_close(struct tp_source *src)
{
    DOWN_TO(src, pool_close);
    return src->ops->pool_close ? src->ops->pool_close(src->state) : TP_EUNSUP;
}

int tp_src_get_async(struct tp_source *src, uint64_t size, uint16_t stream, tp_addr *out)
{
    DOWN_TO(src, get_async);
    *out = 0;
    return src->ops->get_async ? src->ops->get_async(src->state, size, stream, out) : TP_EUNSUP;
}

int tp_src_put_async(struct tp_source *src, tp_addr addr, uint16_t stream)
{
    DOWN_TO(src, put_async);
    return src->ops->put_async ? src->ops->put_async(src->state, addr, stream) : TP_EUNSUP;
}

int tp_src_pool_trim(struct tp_source *src, uint64_t keep)
{
    DOWN_TO(src, pool_trim);
    return src->ops->pool_trim ? src->ops->pool_trim(src->state, keep) : TP_EUNSUP;
}

int tp_src_pool_marks(struct tp_source *src, struct tp_pool_marks *out)
{
    DOWN_TO(src, pool_marks);
    *out = (struct tp_pool_marks){0};
    return src->ops->pool_marks ? src->ops->pool_marks(src->state, out) : TP_EUNSUP;
}

int tp_src_follow(struct tp_source *src, uint16_t stream, uint16_t after)
{
    DOWN_TO(src, follow);
    return src->ops->follow ? src->ops->follow(src->state, stream, after) : TP_OK;
}

int tp_src_work(struct tp_source *src, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                enum tp_occupy how)
{
    DOWN_TO(src, work);
    return src->ops->work ? src->ops->work(src->state, stream, addr, size, ns, how) : TP_OK;
}

void tp_src_settle(struct tp_source *src)
{
    DOWN_TO(src, settle);
    if (src->ops->settle)
        src->ops->settle(src->state);
}

int tp_src_memory(struct tp_source *src, uint64_t *free_bytes, uint64_t *total_bytes)
{
    DOWN_TO(src, memory);
    *free_bytes = *total_bytes = 0;
    return src->ops->memory ? src->ops->memory(src->state, free_bytes, total_bytes) : TP_EUNSUP;
}

void tp_src_counts(struct tp_source *src, struct tp_driver_counts *out)
{
    DOWN_TO(src, counts);
    *out = (struct tp_driver_counts){0};
    if (src->ops->counts)
        src->ops->counts(src->state, out);
}

int tp_src_fault(struct tp_source *src, struct tp_err *err)
{
    DOWN_TO(src, fault);
    return src->ops->fault ? src->ops->fault(src->state, err) : TP_OK;
}
