/* The primitive blocks of `stitch`: memory that has addresses of its own, split and merged as
 * PyTorch does with blocks of a segment. */
#include "alloc/strategies/stitch/stitch_core.h"

int tp_stitch_reserve(struct slab *records, uint32_t count)
{
    void *taken = NULL, *record;
    int rc = TP_OK;
    for (uint32_t i = 0; i < count && !rc; i++) {
        record = slab_take(records);
        rc = record ? TP_OK : TP_ENOMEM;
        if (record) {
            memcpy(record, &taken, sizeof taken);
            taken = record;
        }
    }
    for (; taken; taken = record) {
        memcpy(&record, taken, sizeof record);
        slab_give(records, taken);
    }
    return rc;
}

struct stitch_queue *tp_stitch_queue(struct stitch *st, uint16_t stream)
{
    struct stitch_queue *queue = meta_map_at(&st->queue_of, stream + UINT64_C(1));
    if (queue || tp_addr_map_reserve(&st->queue_of, st->queue_of.count + UINT64_C(1)) ||
        !(queue = slab_take(&st->queue_records)))
        return queue;
    queue->of.stream = stream;
    queue->of.next = st->queues;
    st->queues = &queue->of;
    tp_link_init(&queue->of.fences);
    tp_addr_map_insert(&st->queue_of, stream + UINT64_C(1), (uintptr_t)queue);
    return queue;
}

/* ---- in order ---- */

static bool is_placed_before(const struct stitch_primitive *a, const struct stitch_primitive *b)
{
    if (a->stretch != b->stretch)
        return a->stretch->order < b->stretch->order;
    return a->b.addr < b->b.addr;
}

static bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_placed_before(TP_TREE_ITEM(const struct stitch_primitive, by_place, a),
                            TP_TREE_ITEM(const struct stitch_primitive, by_place, b));
}

/* Streams ascend, sizes and then places descend. */
static bool free_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct stitch_block *x = TP_TREE_ITEM(const struct stitch_block, by_size, a);
    const struct stitch_block *y = TP_TREE_ITEM(const struct stitch_block, by_size, b);
    if (x->stream != y->stream)
        return x->stream < y->stream;
    if (x->size != y->size)
        return x->size > y->size;
    return is_placed_before((const struct stitch_primitive *)(const void *)y,
                            (const struct stitch_primitive *)(const void *)x);
}

struct stitch_primitive *tp_stitch_fit(const struct stitch *st, uint16_t stream, uint64_t size)
{
    struct stitch_block *best = NULL;
    for (struct tp_tree_node *n = st->free; n;) {
        struct stitch_block *b = stitch_by_size(n);
        bool large = b->stream == stream ? b->size >= size : b->stream < stream;
        TP_STEP();
        best = large ? b : best;
        n = large ? n->high : n->low;
    }
    return best && best->stream == stream ? stitch_primitive_of(best) : NULL;
}

struct stitch_primitive *tp_stitch_largest(const struct stitch *st, uint16_t stream)
{
    struct stitch_block *best = NULL;
    for (struct tp_tree_node *n = st->free; n;) {
        struct stitch_block *b = stitch_by_size(n);
        TP_STEP();
        best = b->stream >= stream ? b : best;
        n = b->stream >= stream ? n->low : n->high;
    }
    return best && best->stream == stream ? stitch_primitive_of(best) : NULL;
}

struct stitch_primitive *tp_stitch_smaller(struct stitch_primitive *p)
{
    struct stitch_block *b = stitch_by_size(tp_tree_next(&p->b.by_size));
    return b && b->stream == p->b.stream ? stitch_primitive_of(b) : NULL;
}

/* The block that has the byte at `addr`. */
static struct stitch_primitive *block_at(const struct stitch *st, const struct stitch_stretch *s,
                                         tp_addr addr)
{
    struct stitch_primitive *best = NULL;
    for (struct tp_tree_node *n = st->placed; n;) {
        struct stitch_primitive *p = TP_TREE_ITEM(struct stitch_primitive, by_place, n);
        bool at = p->stretch == s ? p->b.addr <= addr : p->stretch->order < s->order;
        TP_STEP();
        best = at ? p : best;
        n = at ? n->high : n->low;
    }
    assert(best && best->stretch == s);
    return best;
}

struct stitch_primitive *tp_stitch_begins_at(const struct stitch *st,
                                             const struct stitch_stretch *s, tp_addr addr)
{
    struct stitch_primitive *p = block_at(st, s, addr);
    return p->b.addr == addr ? p : NULL;
}

struct stitch_primitive *tp_stitch_free_at(const struct stitch *st, const struct stitch_stretch *s,
                                           tp_addr addr, uint64_t size)
{
    struct stitch_primitive *p = block_at(st, s, addr);
    bool whole = p->b.state == STITCH_FREE && size <= p->b.size - (addr - p->b.addr);
    return whole ? p : NULL;
}

/* ---- free blocks ---- */

/* Is it all of its stretch? */
static bool is_whole(const struct stitch_primitive *p)
{
    return !p->before && !p->behind;
}

static void add_free(struct stitch *st, struct stitch_primitive *p)
{
    struct stitch_queue *queue = meta_map_at(&st->queue_of, p->b.stream + UINT64_C(1));
    p->b.state = STITCH_FREE;
    queue->free_bytes += p->b.size;
    if (is_whole(p)) {
        st->whole_bytes += p->b.size;
        tp_link_insert(&st->wholes, &p->stretch->in_whole);
    }
    tp_tree_insert(&st->free, &p->b.by_size, free_less, NULL);
}

static void remove_free(struct stitch *st, struct stitch_primitive *p)
{
    struct stitch_queue *queue = meta_map_at(&st->queue_of, p->b.stream + UINT64_C(1));
    p->b.state = STITCH_NONE;
    queue->free_bytes -= p->b.size;
    if (is_whole(p)) {
        st->whole_bytes -= p->b.size;
        tp_link_out(&p->stretch->in_whole);
    }
    tp_tree_remove(&st->free, &p->b.by_size, NULL);
}

/* Cuts a block, which is not free, at `size` bytes. Returns the part behind it. */
static struct stitch_primitive *split(struct stitch *st, struct stitch_primitive *p, uint64_t size)
{
    struct stitch_primitive *rest = slab_take(&st->primitives);
    assert(rest);
    *rest = (struct stitch_primitive){
        .b = {.addr = p->b.addr + size, .size = p->b.size - size, .stream = p->b.stream},
        .stretch = p->stretch,
        .before = p,
        .behind = p->behind};
    p->b.size = size;
    if (p->behind)
        p->behind->before = rest;
    p->behind = rest;
    tp_tree_insert(&st->placed, &rest->by_place, place_less, NULL);
    return rest;
}

struct stitch_primitive *tp_stitch_cut(struct stitch *st, struct stitch_primitive *p, tp_addr addr,
                                       uint64_t size)
{
    remove_free(st, p);
    if (addr > p->b.addr) {
        struct stitch_primitive *front = p;
        p = split(st, front, addr - front->b.addr);
        add_free(st, front);
    }
    if (size < p->b.size)
        add_free(st, split(st, p, size));
    return p;
}

/* Two neighbours become one: the lower. */
static void merge(struct stitch *st, struct stitch_primitive *low, struct stitch_primitive *high)
{
    low->b.size += high->b.size;
    low->behind = high->behind;
    if (high->behind)
        high->behind->before = low;
    tp_tree_remove(&st->placed, &high->by_place, NULL);
    slab_give(&st->primitives, high);
}

void tp_stitch_give(struct stitch *st, struct stitch_primitive *p)
{
    struct stitch_primitive *low = p->before, *high = p->behind;
    p->user = NULL;
    if (low && low->b.state == STITCH_FREE) {
        remove_free(st, low);
        merge(st, low, p);
        p = low;
    }
    if (high && high->b.state == STITCH_FREE) {
        remove_free(st, high);
        merge(st, p, high);
    }
    add_free(st, p);
}

/* ---- stretches ---- */

static void enter(struct stitch *st, uint16_t stream, tp_addr base, uint64_t size,
                  struct stitch_primitive **out)
{
    struct stitch_stretch *s = slab_take(&st->stretch_records);
    struct stitch_primitive *p = slab_take(&st->primitives);
    assert(s && p);
    *s = (struct stitch_stretch){
        .base = base, .size = size, .order = ++st->made, .first = p, .stream = stream};
    *p = (struct stitch_primitive){.b = {.addr = base, .size = size, .stream = stream},
                                   .stretch = s};
    tp_link_init(&s->pieces);
    tp_link_insert(&st->stretches, &s->in_all);
    tp_tree_insert(&st->placed, &p->by_place, place_less, NULL);
    st->bytes += size;
    add_free(st, p);
    *out = p;
}

int tp_stitch_grow(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_primitive **out)
{
    struct tp_source *source = st->env->source;
    tp_addr base = 0;
    int rc = slab_reserve(&st->stretch_records);
    if (!rc)
        rc = slab_reserve(&st->primitives);
    if (!rc)
        rc = tp_src_space_get(source, size, st->unit, &base);
    if (rc)
        return rc;
    rc = tp_src_map(source, base, 0, size);
    if (rc)
        tp_src_space_put(source, base, size);
    else
        enter(st, stream, base, size, out);
    return rc;
}

bool tp_stitch_put(struct stitch *st, struct stitch_stretch *s)
{
    struct tp_source *source = st->env->source;
    if (s->size && tp_src_unmap(source, s->base, 0, s->size))
        return false;
    st->bytes -= s->size;
    tp_src_space_put(source, s->base, s->size);
    s->size = 0;
    return true;
}

/* Gives a stretch back that is one free block. One that the source refuses serves on. */
static int put_whole(struct stitch *st, struct stitch_stretch *s)
{
    struct stitch_primitive *p = s->first;
    int rc = tp_stitch_settle(st, s->stream);
    if (!rc)
        rc = tp_stitch_unsew(st, s);
    if (rc || !tp_stitch_put(st, s))
        return rc == TP_EIO ? TP_OK : rc;
    remove_free(st, p);
    tp_tree_remove(&st->placed, &p->by_place, NULL);
    tp_link_out(&s->in_all);
    slab_give(&st->primitives, p);
    slab_give(&st->stretch_records, s);
    return TP_OK;
}

int tp_stitch_shrink(struct stitch *st, uint64_t keep)
{
    int rc = tp_stitch_wait(st);
    struct tp_link *next = NULL;
    st->releases++;
    for (struct tp_link *l = st->wholes.behind; !rc && l != &st->wholes && st->whole_bytes > keep;
         l = next) {
        next = l->behind;
        TP_STEP();
        rc = put_whole(st, TP_LINKED(struct stitch_stretch, in_whole, l));
    }
    return rc;
}
