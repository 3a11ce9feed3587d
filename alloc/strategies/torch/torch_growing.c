/* Segments that grow (expandable_segments): each reserves addresses for more than its device has,
 * and memory is mapped there in units as requests need it.
 *
 *     blocks   | live | free | live |free|      unmapped      | live |  unmapped ...
 *     units    |    0    |    1    |    2    |    -    |   -    |    5   |   -
 *
 * There is one per pool and stream, and another only where its addresses do not suffice. A request
 * that no free block serves gets the lowest unmapped bytes of its stream, together with the free
 * block in front of them: only what is missing is mapped. Memory goes back in the units that lie
 * wholly in a free block. */
#include "alloc/strategies/torch/torch_core.h"

/* ---- unmapped blocks: by stream, then place ---- */

static bool is_before(const struct torch_block *a, const struct torch_block *b)
{
    const struct torch_segment *x = a->segment, *y = b->segment;
    if (x->stream != y->stream)
        return x->stream < y->stream;
    return x->order != y->order ? x->order < y->order : a->addr < b->addr;
}

static struct torch_block *unmapped_of(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct torch_block, by_size, n) : NULL;
}

static bool unmapped_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_before(TP_TREE_ITEM(const struct torch_block, by_size, a),
                     TP_TREE_ITEM(const struct torch_block, by_size, b));
}

/* The neighbours of a node that comes or goes are above it, so that their rooms are renewed too. */
static void add_unmapped(struct torch_block *b)
{
    b->state = TORCH_UNMAPPED;
    tp_tree_insert(&b->segment->pool->unmapped, &b->by_size, unmapped_less, tp_torch_room_pull);
}

static void remove_unmapped(struct torch_block *b)
{
    b->state = TORCH_NONE;
    tp_tree_remove(&b->segment->pool->unmapped, &b->by_size, tp_torch_room_pull);
}

/* The last unmapped block of a segment that begins at `addr` or before; NULL: none. */
static struct torch_block *unmapped_before(const struct torch_segment *s, tp_addr addr)
{
    struct torch_block *best = NULL;
    for (struct tp_tree_node *n = s->pool->unmapped; n;) {
        struct torch_block *b = unmapped_of(n);
        const struct torch_segment *of = b->segment;
        bool at;
        if (of->stream != s->stream)
            at = of->stream < s->stream;
        else if (of->order != s->order)
            at = of->order < s->order;
        else
            at = b->addr <= addr;
        TP_STEP();
        best = at ? b : best;
        n = at ? n->high : n->low;
    }
    return best && best->segment == s ? best : NULL;
}

struct torch_block *tp_torch_unmapped_at(const struct torch_segment *s, tp_addr addr)
{
    struct torch_block *b = unmapped_before(s, addr);
    return b && addr - b->addr < b->size ? b : NULL;
}

tp_addr tp_torch_mapped_end(const struct torch_segment *s)
{
    const struct torch_block *last = unmapped_before(s, UINT64_MAX);
    return last && !last->behind ? last->addr : s->base + s->size;
}

/* ---- spaces ---- */

uint64_t tp_torch_unit(const struct torch *st, const struct torch_pool *pool)
{
    return pool->small ? st->rules.small_segment : st->rules.large_segment;
}

/* Bytes that a segment reserves, as expandable_segments_reserve says: at most as much as without.
 */
static uint64_t reserved_bytes(const struct torch *st)
{
    uint64_t capacity = tp_src_capacity(st->env->source), set = st->rules.reserve_bytes;
    uint64_t bytes = capacity ? capacity + capacity / 8 : TORCH_SPACE;
    if (st->rules.reserve_share > 0 && st->rules.reserve_share < 2)
        set = (uint64_t)(st->rules.reserve_share * (double)capacity) + 1;
    return set && set < bytes ? set : bytes;
}

uint64_t tp_torch_space_bytes(const struct torch *st, const struct torch_pool *pool, uint64_t least)
{
    uint64_t bytes = reserved_bytes(st);
    return up_to(bytes > least ? bytes : least, tp_torch_unit(st, pool));
}

struct torch_block *tp_torch_enter_space(struct torch *st, struct torch_pool *pool, uint16_t stream,
                                         tp_addr base, uint64_t size)
{
    struct torch_block *b = tp_torch_enter(st, pool, stream, base, size);
    b->segment->unit = tp_torch_unit(st, pool);
    st->segment_bytes -= size;
    add_unmapped(b);
    return b;
}

int tp_torch_add_space(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                       struct torch_block **out)
{
    uint64_t bytes = tp_torch_space_bytes(st, pool, size);
    tp_addr base = 0;
    int rc = tp_torch_reserve(st);
    if (!rc)
        rc = tp_src_space_get(st->env->source, bytes, tp_torch_unit(st, pool), &base);
    if (!rc)
        *out = tp_torch_enter_space(st, pool, stream, base, bytes);
    return rc;
}

/* Gives a segment back of which nothing is mapped. One that the source refuses serves on. */
static void put_space(struct torch *st, struct torch_block *b)
{
    struct torch_segment *s = b->segment;
    if (tp_src_space_put(st->env->source, s->base, s->size))
        return;
    remove_unmapped(b);
    tp_torch_forget(st, s);
}

/* ---- mapping ---- */

static void count_mapped(struct torch *st, struct torch_segment *s, uint64_t bytes)
{
    s->mapped += bytes;
    s->carved += bytes;
    st->segment_bytes += bytes;
    carved_add(&st->carved, bytes);
}

int tp_torch_map(struct torch *st, struct torch_block *b, uint64_t size, struct torch_block **out)
{
    struct torch_segment *s = b->segment;
    uint64_t bytes = size < b->size ? up_to(size, s->unit) : b->size;
    int rc = tp_torch_reserve(st);
    if (!rc)
        rc = tp_src_map(st->env->source, s->base, b->addr - s->base, bytes);
    if (rc)
        return rc;
    remove_unmapped(b);
    if (bytes < b->size)
        add_unmapped(tp_torch_split(st, b, bytes));
    count_mapped(st, s, bytes);
    *out = tp_torch_join_free(st, b, true, true);
    return TP_OK;
}

int tp_torch_expand(struct torch *st, struct torch_pool *pool, uint16_t stream, uint64_t size,
                    struct torch_block **out)
{
    struct torch_block *b = tp_torch_room_find(pool, stream, size);
    bool set = st->rules.reserve_bytes || st->rules.reserve_share > 0;
    if (!b && set && size > up_to(reserved_bytes(st), tp_torch_unit(st, pool)))
        return TP_EOOM; /* a block lies in one segment */
    int rc = b ? TP_OK : tp_torch_add_space(st, pool, stream, size, &b);
    if (!rc && b->state == TORCH_UNMAPPED)
        rc = tp_torch_map(st, b, size, &b);
    while (!rc && b->size < size)
        rc = tp_torch_map(st, b->behind, size - b->size, &b);
    if (!rc)
        rc = tp_torch_reserve(st);
    if (rc)
        return rc; /* what was mapped is a free block */
    tp_torch_pool_remove(b);
    *out = b;
    return TP_OK;
}

/* ---- unmapping ---- */

void tp_torch_whole_units(const struct torch_block *b, uint64_t *begin, uint64_t *end)
{
    uint64_t offset = b->addr - b->segment->base, unit = b->segment->unit;
    *begin = up_to(offset, unit);
    *end = (offset + b->size) / unit * unit;
}

uint64_t tp_torch_unmappable(const struct torch_block *b)
{
    uint64_t begin = 0, end = 0;
    if (!b->segment->unit)
        return 0;
    tp_torch_whole_units(b, &begin, &end);
    return end > begin ? end - begin : 0;
}

/* Waits for the segment's own stream, once in a release: unlike giving a whole segment back,
 * unmapping does not wait for the device. */
static int settle(struct torch *st, struct torch_segment *s)
{
    struct tp_fence fence;
    if (!st->fenced || s->settled == st->releases)
        return TP_OK;
    tp_src_record(st->env->source, s->stream, &fence);
    int rc = tp_src_wait(st->env->source, &fence);
    if (!rc)
        s->settled = st->releases;
    return rc;
}

/* Cuts a block at `size` bytes; the first part becomes free. Returns the part behind it. */
static struct torch_block *cut_free(struct torch *st, struct torch_block *b, uint64_t size)
{
    struct torch_block *rest = tp_torch_split(st, b, size);
    tp_torch_pool_add(b);
    return rest;
}

/* Makes a block, which is in no pool, one with the unmapped blocks beside it. */
static struct torch_block *join_unmapped(struct torch *st, struct torch_block *b)
{
    struct torch_block *before = b->before, *behind = b->behind;
    if (before && before->state == TORCH_UNMAPPED) {
        remove_unmapped(before);
        tp_torch_join(st, before, b);
        b = before;
    }
    if (behind && behind->state == TORCH_UNMAPPED) {
        remove_unmapped(behind);
        tp_torch_join(st, b, behind);
    }
    add_unmapped(b);
    return b;
}

int tp_torch_map_at(struct torch *st, const struct torch_segment *s, tp_addr addr, uint64_t size,
                    struct torch_block **out)
{
    struct torch_block *b = tp_torch_unmapped_at(s, addr), *low = b;
    if (!b || !size || size > b->size - (addr - b->addr) || (addr - s->base) % s->unit ||
        size % s->unit)
        return TP_EINVAL;
    int rc = tp_torch_reserve(st);
    if (rc)
        return rc;
    if (addr > b->addr) {
        b = tp_torch_split(st, low, addr - low->addr);
        add_unmapped(b);
    }
    rc = tp_torch_map(st, b, size, out);
    if (rc && b != low) {
        remove_unmapped(b);
        tp_torch_join(st, low, b);
        tp_torch_room_renew(low);
    }
    return rc;
}

/* The records that the cuts may need, two of them, are reserved. */
static void cut_out(struct torch *st, struct torch_block *b, uint64_t begin, uint64_t end)
{
    struct torch_segment *s = b->segment;
    tp_torch_pool_remove(b);
    if (begin > b->addr - s->base)
        b = cut_free(st, b, begin - (b->addr - s->base));
    if (end - begin < b->size)
        tp_torch_pool_add(tp_torch_split(st, b, end - begin));
    s->mapped -= end - begin;
    s->carved -= end - begin;
    st->segment_bytes -= end - begin;
    st->carved.now -= end - begin;
    b = join_unmapped(st, b);
    if (b->size == s->size)
        put_space(st, b);
}

int tp_torch_unmap_part(struct torch *st, struct torch_block *b, uint64_t begin, uint64_t end)
{
    struct torch_segment *s = b->segment;
    int rc = tp_torch_reserve(st);
    if (!rc)
        rc = settle(st, s);
    if (!rc)
        rc = tp_src_unmap(st->env->source, s->base, begin, end - begin);
    if (!rc)
        cut_out(st, b, begin, end);
    return rc;
}

int tp_torch_unmap(struct torch *st, struct torch_block *b, uint64_t *bytes)
{
    uint64_t begin = 0, end = 0;
    *bytes = 0;
    tp_torch_whole_units(b, &begin, &end);
    if (end <= begin)
        return TP_OK;
    int rc = tp_torch_unmap_part(st, b, begin, end);
    if (!rc)
        *bytes = end - begin;
    return rc == TP_EIO ? TP_OK : rc;
}

/* ---- the end ---- */

/* Unmaps all between two unmapped blocks, live blocks too. Returns the block behind. */
static struct torch_block *unmap_run(struct torch *st, struct torch_segment *s,
                                     struct torch_block *first)
{
    struct torch_block *behind = first;
    uint64_t size = 0;
    for (; behind && behind->state != TORCH_UNMAPPED; behind = behind->behind)
        size += behind->size;
    if (size && !tp_src_unmap(st->env->source, s->base, first->addr - s->base, size)) {
        s->mapped -= size;
        for (struct torch_block *b = first; b != behind; b = b->behind)
            b->state = TORCH_UNMAPPED;
    }
    return behind;
}

bool tp_torch_put_growing(struct torch *st, struct torch_segment *s)
{
    settle(st, s);
    for (struct torch_block *b = s->first; b;) {
        b = unmap_run(st, s, b);
        b = b ? b->behind : NULL;
    }
    return !s->mapped && !tp_src_space_put(st->env->source, s->base, s->size);
}
