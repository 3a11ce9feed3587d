/* See bfc_place.h. */
#include "alloc/strategies/bfc/bfc_place.h"

#include "alloc/strategies/bfc/bfc_core.h"

int tp_bfc_follow(void *state)
{
    struct bfc *st = state;
    if (st->made)
        return TP_EINVAL;
    st->by_address = true;
    return TP_OK;
}

struct tp_bfc_rules *tp_bfc_rules_of(void *state)
{
    struct bfc *st = state;
    return &st->rules;
}

void tp_bfc_take_next(void *state, uint64_t bytes)
{
    ((struct bfc *)state)->next = bytes;
}

uint64_t tp_bfc_regions(void *state)
{
    const struct bfc *st = state;
    return st->regions.used;
}

/* ---- by address ---- */

/* The last region that begins at `addr` or before; NULL: none. */
static struct bfc_region *region_before(const struct bfc *st, tp_addr addr)
{
    struct bfc_region *best = NULL;
    for (struct tp_tree_node *n = st->in_order; n;) {
        bool at = bfc_region_of(n)->base <= addr;
        TP_STEP();
        best = at ? bfc_region_of(n) : best;
        n = at ? n->high : n->low;
    }
    return best;
}

static struct bfc_region *region_at(const struct bfc *st, tp_addr base)
{
    struct bfc_region *r = region_before(st, base);
    return r && r->base == base ? r : NULL;
}

/* The last free chunk that begins at `addr` or before; NULL: none. */
static struct bfc_chunk *free_before(const struct bfc *st, tp_addr addr)
{
    struct bfc_chunk *best = NULL;
    for (struct tp_tree_node *n = st->placed; n;) {
        struct bfc_chunk *c = TP_TREE_ITEM(struct bfc_chunk, by_place, n);
        bool at = c->addr <= addr;
        TP_STEP();
        best = at ? c : best;
        n = at ? n->high : n->low;
    }
    return best;
}

/* The free chunk that holds these bytes; NULL: they are not all of one. */
static struct bfc_chunk *free_around(const struct bfc *st, tp_addr addr, uint64_t size)
{
    struct bfc_chunk *c = size ? free_before(st, addr) : NULL;
    if (!c || addr - c->addr >= c->size || size > c->size - (addr - c->addr))
        return NULL;
    return c;
}

/* Nothing lies there; the bytes do not reach the end of all addresses. */
static bool is_open(const struct bfc *st, tp_addr base, uint64_t size)
{
    if (!base || !size || size > TP_BFC_SPACE || base + size < base)
        return false;
    const struct bfc_region *other = region_before(st, base + size - 1);
    return !other || (other->base < base && other->base + other->size <= base);
}

bool tp_bfc_is_vacant(void *state, tp_addr base, uint64_t size)
{
    return is_open(state, base, size);
}

/* ---- a region with its chunks ---- */

static bool is_sound(const struct tp_bfc_range *r, const struct tp_bfc_at *chunks, size_t count)
{
    uint64_t at = r->base, end = r->base + r->size;
    for (size_t i = 0; i < count; i++) {
        const struct tp_bfc_at *c = &chunks[i];
        if (c->addr < at || !c->size || c->addr > end || c->size > end - c->addr ||
            c->requested > c->size || !c->requested)
            return false;
        at = c->addr + c->size;
    }
    return true;
}

/* Makes bytes of *free, a free chunk that is in no bin, a live one. *free becomes what is left
 * behind it, in no bin either; NULL: nothing. On an error *free is still one free chunk. */
static int cut_live(struct bfc *st, struct bfc_chunk **free, const struct tp_bfc_at *at)
{
    struct bfc_chunk *c = *free;
    int rc = tp_bfc_reserve(st);
    if (rc)
        return rc;
    if (at->addr > c->addr) {
        struct bfc_chunk *low = c;
        c = tp_bfc_split(st, low, at->addr - low->addr);
        tp_bfc_add(st, low);
    }
    *free = at->size < c->size ? tp_bfc_split(st, c, at->size) : NULL;
    tp_bfc_hand_out(st, c, at->requested, 1);
    return TP_OK;
}

int tp_bfc_place(void *state, const struct tp_bfc_range *region, const struct tp_bfc_at *chunks,
                 size_t count)
{
    struct bfc *st = state;
    if (!st->by_address || !is_open(st, region->base, region->size) ||
        !is_sound(region, chunks, count))
        return TP_EINVAL;
    struct bfc_bins *bins = tp_bfc_bins_of(st, region->stream);
    int rc = bins ? tp_bfc_reserve(st) : TP_ENOMEM;
    if (rc)
        return rc;
    struct bfc_chunk *rest = tp_bfc_enter(st, region->base, region->size, 1);
    rest->bins = bins;
    for (size_t i = 0; i < count && !rc; i++)
        rc = cut_live(st, &rest, &chunks[i]);
    if (rest)
        tp_bfc_add(st, rest);
    return rc;
}

/* Adds a free chunk of these bytes, in no bin, at the end of a region. Its record is reserved. */
static struct bfc_chunk *append(struct bfc *st, struct bfc_region *r, uint64_t size)
{
    struct bfc_chunk *last = r->last, *c = slab_take(&st->chunks);
    assert(c);
    c->addr = last->addr + last->size;
    c->size = size;
    c->order = last->order;
    c->bins = last->bins;
    c->region = r;
    c->before = last;
    r->last = last->behind = c;
    return c;
}

int tp_bfc_lengthen(void *state, tp_addr base, uint64_t by)
{
    struct bfc *st = state;
    struct bfc_region *r = region_at(st, base);
    if (!st->by_address || !r || !is_open(st, r->base + r->size, by))
        return TP_EINVAL;
    if (tp_bfc_reserve(st))
        return TP_ENOMEM;
    struct bfc_chunk *last = r->last;
    if (bfc_state(last) == BFC_FREE) {
        tp_bfc_remove(st, last);
        last->size += by;
    } else {
        last = append(st, r, by);
    }
    tp_bfc_add(st, last);
    st->idle += r->in_use ? 0 : by;
    r->size += by;
    r->bytes = round_up(r->size, st->env->source->page);
    st->pool += by;
    return TP_OK;
}

/* No other region lies between the two, so that the chunks keep their places in all trees. */
static void move_chunks(struct bfc_region *to, const struct bfc_region *from)
{
    for (struct bfc_chunk *c = from->first; c; c = c->behind) {
        c->region = to;
        c->order = to->order;
    }
    from->first->before = to->last;
    to->last->behind = from->first;
    to->last = from->last;
}

/* Of two regions the first one has what is in use in both; the other one goes. */
static void add_in_use(struct bfc *st, struct bfc_region *r, struct bfc_region *gone)
{
    bool unused = !r->in_use, other = !gone->in_use;
    if (other)
        tp_link_out(&gone->in_unused);
    if (unused && !other)
        tp_link_out(&r->in_unused);
    if (unused != other)
        st->idle -= unused ? r->size : gone->size;
    r->in_use += gone->in_use;
}

int tp_bfc_unite(void *state, tp_addr base)
{
    struct bfc *st = state;
    struct bfc_region *r = region_at(st, base), *next = r ? bfc_next_region(r) : NULL;
    if (!st->by_address || !next || next->base != r->base + r->size)
        return TP_EINVAL;
    struct bfc_chunk *seam = r->last;
    move_chunks(r, next);
    if (next->carved) {
        carved_add(&st->carved, r->size - r->carved);
        r->carved = r->size + next->carved;
    }
    add_in_use(st, r, next);
    r->size += next->size;
    r->bytes = round_up(r->size, st->env->source->page);
    tp_tree_remove(&st->in_order, &next->in_order, NULL);
    slab_give(&st->regions, next);
    if (bfc_state(seam) == BFC_FREE) {
        tp_bfc_remove(st, seam);
        tp_bfc_release(st, seam);
    }
    return TP_OK;
}

int tp_bfc_drop(void *state, tp_addr base, uint64_t size)
{
    struct bfc *st = state;
    struct bfc_region *r = region_at(st, base);
    if (!r || r->size != size || r->in_use)
        return TP_EINVAL;
    return tp_bfc_put(st, r) ? TP_OK : TP_EIO;
}

/* ---- one chunk ---- */

int tp_bfc_force(void *state, const struct tp_bfc_at *at)
{
    struct bfc *st = state;
    struct bfc_chunk *c = free_around(st, at->addr, at->size);
    if (!c || !at->requested || at->requested > at->size)
        return TP_EINVAL;
    tp_bfc_remove(st, c);
    int rc = cut_live(st, &c, at);
    if (c)
        tp_bfc_add(st, c);
    return rc;
}

bool tp_bfc_is_free(void *state, tp_addr addr, uint64_t size, struct tp_bfc_free_chunk *out)
{
    const struct bfc_chunk *c = free_around(state, addr, size);
    if (c)
        *out = (struct tp_bfc_free_chunk){c->addr, c->size};
    return c != NULL;
}

bool tp_bfc_is_live(void *state, tp_addr addr, struct tp_bfc_at *out)
{
    const struct bfc_chunk *c = bfc_find_live(state, addr);
    if (c)
        *out = (struct tp_bfc_at){c->addr, c->size, c->requested};
    return c != NULL;
}

/* ---- looking ---- */

/* The bins that a stream has so far; those that serve every stream where it has none. */
static const struct bfc_bins *bins_so_far(const struct bfc *st, uint16_t stream)
{
    const struct bfc_bins *bins = meta_map_at(&st->bins_of, stream + UINT64_C(1));
    return bins ? bins : &st->any;
}

size_t tp_bfc_choices(void *state, uint64_t requested, uint16_t stream,
                      struct tp_bfc_free_chunk *out, size_t most)
{
    const struct bfc *st = state;
    struct bfc_search s =
        tp_bfc_search(st, bins_so_far(st, stream), tp_bfc_rounded(&st->rules, requested));
    size_t count = 0;
    for (struct bfc_chunk *c; count < most && (c = tp_bfc_found(&s));)
        out[count++] = (struct tp_bfc_free_chunk){c->addr, c->size};
    return count;
}

tp_addr tp_bfc_serves(void *state, uint64_t requested, uint16_t stream)
{
    const struct bfc *st = state;
    const struct bfc_chunk *c =
        tp_bfc_fit(st, bins_so_far(st, stream), tp_bfc_rounded(&st->rules, requested), 1);
    return c ? c->addr : 0;
}

int tp_bfc_look(void *state, tp_bfc_look_fn *fn, void *ctx)
{
    const struct bfc *st = state;
    int rc = TP_OK;
    for (struct bfc_region *r = bfc_first_region(st); rc == TP_OK && r; r = bfc_next_region(r)) {
        const struct tp_bfc_range range = {.base = r->base, .size = r->size};
        for (const struct bfc_chunk *c = r->first; rc == TP_OK && c; c = c->behind)
            rc = fn(
                ctx, &range,
                &(struct tp_bfc_at){c->addr, c->size, bfc_state(c) == BFC_FREE ? 0 : c->requested});
    }
    return rc;
}

struct tp_bfc_bytes tp_bfc_bytes_of(void *state)
{
    const struct bfc *st = state;
    struct tp_bfc_bytes b = {st->pool, st->in_use, tp_bfc_largest(&st->any)};
    uint64_t at = 0;
    for (struct tp_addr_entry *e; (e = tp_addr_map_next(&st->bins_of, &at));) {
        uint64_t own = tp_bfc_largest((const void *)(uintptr_t)e->value);
        b.largest = own > b.largest ? own : b.largest;
    }
    return b;
}
