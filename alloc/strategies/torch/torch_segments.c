/* Segments: got for a request that no free block serves, and given back when memory is short, when
 * a program asks for it, or when garbage is collected.
 *
 *     (throw_on_cudamalloc_oom: above the share of the device EOOM at once)
 *     no fit --> collect garbage --> get --> refused: a pool to be used then (use_on_oom)
 *                                                --> free one large enough --> get
 *                                                --> give back all that is unused --> get --> EOOM
 *
 * Before PyTorch 2.11 such a pool came last. */
#include "alloc/strategies/torch/torch_core.h"

static bool is_lower(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct torch_segment, in_order, a)->base <
           TP_TREE_ITEM(const struct torch_segment, in_order, b)->base;
}

struct torch_block *tp_torch_enter(struct torch *st, struct torch_pool *pool, uint16_t stream,
                                   tp_addr base, uint64_t size)
{
    struct torch_segment *s = slab_take(&st->segment_records);
    struct torch_block *b = slab_take(&st->blocks);
    assert(s && b);
    s->base = b->addr = base;
    s->size = b->size = size;
    s->bytes = round_up(size, st->env->source->page);
    s->order = st->by_address ? base : ++st->made;
    s->pool = pool;
    s->stream = stream;
    s->first = b;
    b->segment = s;
    tp_link_insert(&st->segments, &s->in_all);
    if (st->by_address)
        tp_tree_insert(&st->in_order, &s->in_order, is_lower, NULL);
    st->segment_bytes += size;
    return b;
}

/* ---- giving back ---- */

void tp_torch_forget(struct torch *st, struct torch_segment *s)
{
    st->segment_bytes -= s->unit ? 0 : s->size;
    st->carved.now -= s->carved;
    tp_link_out(&s->in_all);
    if (st->by_address)
        tp_tree_remove(&st->in_order, &s->in_order, NULL);
    slab_give(&st->blocks, s->first);
    slab_give(&st->segment_records, s);
}

bool tp_torch_put(struct torch *st, struct torch_block *b)
{
    struct torch_segment *s = b->segment;
    if (tp_src_put(st->env->source, s->base, s->bytes))
        return false;
    tp_torch_pool_remove(b);
    tp_torch_forget(st, s);
    return true;
}

uint64_t tp_torch_free_bytes(const struct torch *st)
{
    return st->large.free_bytes + st->small.free_bytes;
}

/* What is left of a block that was unmapped is smaller than a unit. */
static int unmap_pool(struct torch *st, const struct torch_pool *pool, uint64_t keep,
                      uint64_t *unused)
{
    int rc = TP_OK;
    for (struct torch_block *b = tp_torch_units_first(pool), *next; !rc && b && *unused > keep;
         b = next) {
        uint64_t bytes = 0;
        next = tp_torch_unused_behind(b);
        rc = tp_torch_unmap(st, b, &bytes);
        *unused -= bytes;
    }
    return rc;
}

/* A segment that the source refuses to take back stays where it is, and serves on. */
static int release_pool(struct torch *st, const struct torch_pool *pool, uint64_t keep,
                        uint64_t *unused)
{
    for (struct torch_block *b = tp_torch_unused_first(pool), *next; b && *unused > keep;
         b = next) {
        uint64_t size = b->size;
        next = tp_torch_unused_behind(b);
        if (tp_torch_put(st, b))
            *unused -= size;
    }
    return unmap_pool(st, pool, keep, unused);
}

int tp_torch_release_cached(struct torch *st, uint64_t keep)
{
    int rc = tp_torch_wait(st);
    if (rc)
        return rc;
    uint64_t unused = keep ? tp_torch_free_bytes(st) : UINT64_MAX;
    st->releases++;
    rc = release_pool(st, &st->large, keep, &unused);
    return rc ? rc : release_pool(st, &st->small, keep, &unused);
}

/* With a split limit, gives back one unused segment that is large enough, or several from the
 * largest down. False: they are not enough. */
static bool release_available(struct torch *st, struct torch_pool *pool, uint16_t stream,
                              uint64_t size)
{
    uint64_t limit = st->rules.split_limit, wanted = size > limit ? size : limit, given = 0;
    if (limit == TP_TORCH_NO_SPLIT_LIMIT)
        return false;
    struct torch_block *b = tp_torch_unused_from(pool, stream, wanted);
    if (b && b->segment->stream == stream)
        return tp_torch_put(st, b);
    while (given < wanted && (b = tp_torch_unused_last(pool, stream)) && b->size >= limit) {
        uint64_t bytes = b->size;
        if (!tp_torch_put(st, b))
            return false;
        given += bytes;
    }
    return given >= wanted;
}

/* ---- garbage ---- */

struct torch_ages {
    uint64_t sum, count;
};

static uint64_t age_of(const struct torch_block *b)
{
    return b->segment->pool->searches - b->searched;
}

static struct torch_ages ages_of(const struct torch_pool *pool)
{
    struct torch_ages a = {0, 0};
    for (struct torch_block *b = tp_torch_unused_first(pool); b; b = tp_torch_unused_behind(b)) {
        a.sum += age_of(b);
        a.count++;
    }
    return a;
}

/* Gives back the unused large segments that are of at least the average age. */
static uint64_t collect_old(struct torch *st, struct torch_ages *a)
{
    double least = (double)a->sum / (double)a->count;
    uint64_t given = 0;
    for (struct torch_block *b = tp_torch_unused_first(&st->large), *next; b; b = next) {
        uint64_t age = age_of(b), size = b->size;
        next = tp_torch_unused_behind(b);
        if ((double)age < least || !tp_torch_put(st, b))
            continue;
        given += size;
        a->sum -= age;
        a->count--;
    }
    return given;
}

static void collect(struct torch *st)
{
    double most = st->rules.collect_above * (double)st->allowed;
    if (!torch_collects(st) || (double)st->segment_bytes <= most)
        return;
    double excess = (double)st->segment_bytes - most;
    struct torch_ages a = ages_of(&st->large);
    uint64_t rounds = st->rules.collect_rounds;
    for (uint64_t given = 1; rounds && excess > 0 && given && a.count; rounds--) {
        given = collect_old(st, &a);
        excess -= (double)given;
    }
}

/* ---- getting ---- */

bool tp_torch_is_allowed(const struct torch *st, uint64_t bytes)
{
    return bytes <= st->allowed && st->segment_bytes <= st->allowed - bytes;
}

int tp_torch_get_range(struct torch *st, uint64_t bytes, tp_addr *addr)
{
    uint64_t page = st->env->source->page;
    if (!tp_torch_is_allowed(st, bytes))
        return TP_EOOM;
    return tp_src_get(st->env->source, round_up(bytes, page),
                      page > TORCH_GRAIN ? page : TORCH_GRAIN, addr);
}

/* The share of the device is compared with the size of a whole segment, also where it grows. */
static int get_block(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                     struct torch_block **out)
{
    uint64_t bytes = tp_torch_segment_bytes(&st->rules, size);
    tp_addr base = 0;
    if (st->rules.expandable)
        return tp_torch_is_allowed(st, bytes) ? tp_torch_expand(st, pool, stream, size, out)
                                              : TP_EOOM;
    int rc = tp_torch_get_range(st, bytes, &base);
    if (!rc)
        *out = tp_torch_enter(st, pool, stream, base, bytes);
    return rc;
}

/* ---- where the source refuses ---- */

/* A free block of a pool that serves others then. Those of segments that grow do not. */
static struct torch_block *from_spares(struct torch *st, bool small, uint16_t stream, uint64_t size)
{
    uint64_t grows = st->rules.expandable;
    struct torch_block *b = NULL;
    st->rules.expandable = false;
    for (size_t i = 0; !b && i < st->spares.count; i++) {
        struct torch_private *p = meta_map_at(&st->private_of, st->spares.numbers[i]);
        if (p)
            b = tp_torch_pool_fit(st, small ? &p->small : &p->large, stream, size);
    }
    st->rules.expandable = grows;
    if (b)
        tp_torch_pool_remove(b);
    return b;
}

/* Gives cached memory back and tries again. */
static int get_again(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                     struct torch_block **out)
{
    if (release_available(st, pool, stream, size)) {
        int rc = get_block(st, pool, stream, size, out);
        if (rc != TP_EOOM)
            return rc;
    }
    int released = tp_torch_release_cached(st, 0);
    if (released)
        return released == TP_ENOMEM ? released : TP_EOOM;
    st->retries++;
    return get_block(st, pool, stream, size, out);
}

int tp_torch_grow(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                  struct torch_block **out)
{
    bool spared = st->spares.count && !pool->number;
    collect(st);
    if (st->rules.rejects && !tp_torch_is_allowed(st, tp_torch_segment_bytes(&st->rules, size)))
        return TP_EOOM;
    int rc = get_block(st, pool, stream, size, out);
    if (rc != TP_EOOM)
        return rc;
    if (spared && st->rules.spare_first && (*out = from_spares(st, pool->small, stream, size)))
        return TP_OK;
    rc = get_again(st, pool, stream, size, out);
    if (rc != TP_EOOM || !spared || st->rules.spare_first)
        return rc;
    *out = from_spares(st, pool->small, stream, size);
    return *out ? TP_OK : rc;
}

/* Two rounds: what the source refuses at first may go once the rest is gone. */
void tp_torch_put_all(struct torch *st)
{
    tp_torch_wait(st);
    st->releases++;
    for (int round = 0; round < 2; round++) {
        struct tp_link *next = NULL;
        for (struct tp_link *l = st->segments.behind; l != &st->segments; l = next) {
            struct torch_segment *s = torch_segment_of(l);
            next = l->behind;
            if (s->unit ? tp_torch_put_growing(st, s)
                        : !tp_src_put(st->env->source, s->base, s->bytes))
                tp_link_out(l);
        }
    }
}
