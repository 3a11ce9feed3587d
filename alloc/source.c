/* Sources: checks of their tables, handles, and the wrappers through which everybody calls them.
 *
 * A source without the FENCES group has no work that could be pending: its fences have always
 * passed. So a decorator can pass fences on without asking what is below it. */
#include "alloc/source.h"

static int source_broken(const struct tp_source_ops *ops, const char *what, struct tp_err *err)
{
    return tp_fail(err, TP_EBROKEN, "source '%s': %s", ops->name ? ops->name : "?", what);
}

static bool is_power_of_two(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* The first fault of a table, or NULL. */
static const char *table_fault(const struct tp_source_ops *ops)
{
    const uint32_t known = TP_SRC_HOST | TP_SRC_VIRTUAL | TP_SRC_DECORATOR;
    if (!ops->name || !*ops->name)
        return "'name' is missing";
    if (!ops->summary || !*ops->summary)
        return "'summary' is missing";
    if (!ops->init || !ops->fini || !ops->page)
        return "'init', 'fini' and 'page' are required";
    if (!ops->get || !ops->put)
        return "'get' and 'put' are required";
    int fences = !!ops->record + !!ops->done + !!ops->wait + !!ops->synced;
    if (fences != 0 && fences != 4)
        return "'record', 'done', 'wait' and 'synced' must be all set or all NULL";
    if (ops->flags & ~known)
        return "an unknown bit is set in 'flags'";
    if (ops->flags & TP_SRC_HOST && ops->flags & TP_SRC_VIRTUAL)
        return "'flags' say host and virtual at once";
    /* a decorator has the member and passes on what the source below it says */
    if (!(ops->flags & TP_SRC_DECORATOR) && !!(ops->flags & TP_SRC_HOST) != !!ops->host)
        return "'host' and the host bit of 'flags' disagree";
    return NULL;
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
    if (ops->flags & TP_SRC_DECORATOR && !cfg->inner)
        return source_broken(ops, "there is no source below it", err);
    void *state = calloc(1, ops->state_size ? ops->state_size : 1);
    if (!state)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening source '%s'", ops->name);
    int rc = ops->init(state, cfg, err);
    if (rc) {
        free(state);
        return rc;
    }
    *src = (struct tp_source){ops, state, ops->page(state)};
    if (is_power_of_two(src->page))
        return TP_OK;
    tp_source_close(src);
    return source_broken(ops, "'page' is no power of two", err);
}

void tp_source_close(struct tp_source *src)
{
    if (src->ops) {
        src->ops->fini(src->state);
        free(src->state);
    }
    *src = (struct tp_source){0};
}

int tp_src_get(struct tp_source *src, uint64_t size, uint64_t align, tp_addr *out)
{
    assert(size > 0 && size % src->page == 0);
    assert(is_power_of_two(align));
    *out = 0;
    int rc = src->ops->get(src->state, size, align, out);
    assert(rc != TP_OK || (*out != 0 && *out % align == 0));
    return rc;
}

int tp_src_put(struct tp_source *src, tp_addr addr, uint64_t size)
{
    return src->ops->put(src->state, addr, size);
}

uint64_t tp_src_capacity(struct tp_source *src)
{
    return src->ops->capacity ? src->ops->capacity(src->state) : 0;
}

void tp_src_record(struct tp_source *src, uint16_t stream, struct tp_fence *out)
{
    *out = (struct tp_fence){.stream = stream};
    if (src->ops->record)
        src->ops->record(src->state, stream, out);
}

bool tp_src_done(struct tp_source *src, const struct tp_fence *f)
{
    return !src->ops->done || src->ops->done(src->state, f);
}

int tp_src_wait(struct tp_source *src, const struct tp_fence *f)
{
    return src->ops->wait ? src->ops->wait(src->state, f) : TP_OK;
}

void tp_src_synced(struct tp_source *src, uint16_t stream)
{
    if (src->ops->synced)
        src->ops->synced(src->state, stream);
}

bool tp_src_has_fences(const struct tp_source *src)
{
    return src->ops->record != NULL;
}

void *tp_src_host(struct tp_source *src, tp_addr addr)
{
    return src->ops->host ? src->ops->host(src->state, addr) : NULL;
}
