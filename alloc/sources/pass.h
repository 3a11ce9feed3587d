/* What every decorator does with the members it does not change: it hands them to the source below.
 *
 * A decorator's state begins with `struct tp_source *inner`, so that these functions serve any of
 * them. A source below that has no fences is in step with its streams: every fence has passed.
 * Nothing but an inner source without a HOST group makes `pass_host` say NULL. */
#ifndef TP_PASS_H
#define TP_PASS_H

#include "alloc/source.h"

struct pass {
    struct tp_source *inner;
};

static inline struct tp_source *pass_inner(void *s)
{
    return ((struct pass *)s)->inner;
}

/* The part of init that all decorators share. */
static inline int pass_init(struct pass *p, const struct tp_source_cfg *cfg, const char *name,
                            struct tp_err *err)
{
    if (!cfg->inner)
        return tp_fail(err, TP_EBROKEN, "source '%s' needs a source below it", name);
    p->inner = cfg->inner;
    return TP_OK;
}

static inline void pass_fini(void *s)
{
    (void)s;
}

static inline uint64_t pass_page(void *s)
{
    return pass_inner(s)->page;
}

static inline uint64_t pass_capacity(void *s)
{
    return tp_src_capacity(pass_inner(s));
}

static inline int pass_get(void *s, uint64_t size, uint64_t align, tp_addr *out)
{
    return tp_src_get(pass_inner(s), size, align, out);
}

static inline int pass_put(void *s, tp_addr addr, uint64_t size)
{
    return tp_src_put(pass_inner(s), addr, size);
}

static inline uint64_t pass_granule(void *s)
{
    return tp_src_granule(pass_inner(s));
}

static inline uint64_t pass_taken(void *s)
{
    return tp_src_taken(pass_inner(s));
}

static inline uint64_t pass_cost(void *s, uint64_t size, uint64_t align)
{
    return tp_src_cost(pass_inner(s), size, align);
}

static inline void pass_record(void *s, uint16_t stream, struct tp_fence *out)
{
    *out = (struct tp_fence){.stream = stream};
    if (tp_src_has_fences(pass_inner(s)))
        tp_src_record(pass_inner(s), stream, out);
}

static inline bool pass_done(void *s, const struct tp_fence *f)
{
    return !tp_src_has_fences(pass_inner(s)) || tp_src_done(pass_inner(s), f);
}

static inline int pass_wait(void *s, const struct tp_fence *f)
{
    return tp_src_has_fences(pass_inner(s)) ? tp_src_wait(pass_inner(s), f) : TP_OK;
}

static inline void pass_synced(void *s, uint16_t stream)
{
    if (tp_src_has_fences(pass_inner(s)))
        tp_src_synced(pass_inner(s), stream);
}

static inline void *pass_host(void *s, tp_addr addr)
{
    return tp_src_host(pass_inner(s), addr);
}

static inline int pass_pool_open(void *s, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    return tp_src_pool_open(pass_inner(s), cfg, err);
}

static inline int pass_pool_close(void *s)
{
    return tp_src_pool_close(pass_inner(s));
}

static inline int pass_get_async(void *s, uint64_t size, uint16_t stream, tp_addr *out)
{
    return tp_src_get_async(pass_inner(s), size, stream, out);
}

static inline int pass_put_async(void *s, tp_addr addr, uint16_t stream)
{
    return tp_src_put_async(pass_inner(s), addr, stream);
}

static inline int pass_pool_trim(void *s, uint64_t keep)
{
    return tp_src_pool_trim(pass_inner(s), keep);
}

static inline int pass_pool_marks(void *s, struct tp_pool_marks *out)
{
    return tp_src_pool_marks(pass_inner(s), out);
}

static inline int pass_follow(void *s, uint16_t stream, uint16_t after)
{
    return tp_src_follow(pass_inner(s), stream, after);
}

static inline int pass_work(void *s, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                            enum tp_occupy how)
{
    return tp_src_work(pass_inner(s), stream, addr, size, ns, how);
}

static inline int pass_memory(void *s, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return tp_src_memory(pass_inner(s), free_bytes, total_bytes);
}

static inline void pass_counts(void *s, struct tp_driver_counts *out)
{
    tp_src_counts(pass_inner(s), out);
}

static inline int pass_fault(void *s, struct tp_err *err)
{
    return tp_src_fault(pass_inner(s), err);
}

/* The members of a decorator's table that it does not change: they stand at the table's end. */
#define PASS_DEVICE_MEMBERS                                                                        \
    .granule = pass_granule, .taken = pass_taken, .cost = pass_cost, .follow = pass_follow,        \
    .work = pass_work, .memory = pass_memory, .counts = pass_counts, .fault = pass_fault
#define PASS_POOL_MEMBERS                                                                          \
    .pool_close = pass_pool_close, .put_async = pass_put_async, .pool_trim = pass_pool_trim,       \
    .pool_marks = pass_pool_marks

#endif
