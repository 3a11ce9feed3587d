/* The free chunks in BFC's order: by bin, then size, then address. The smallest that fits is in the
 * bin of its size, or is the first of the next bin that has any.
 *
 * Known weakness: an alignment above 256 bytes, and the fits that BFC does not have, look at one
 * chunk after the other. */
#include "alloc/strategies/bfc/bfc_core.h"

static struct bfc_chunk *by_size(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct bfc_chunk, by_size, n) : NULL;
}

/* Which of two chunks comes first can hardly be foretold: all is compared, without a branch. */
static bool is_before(const struct bfc_chunk *a, const struct bfc_chunk *b)
{
    return (a->size < b->size) | ((a->size == b->size) & bfc_is_lower(a, b));
}

static bool size_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return is_before(TP_TREE_ITEM(const struct bfc_chunk, by_size, a),
                     TP_TREE_ITEM(const struct bfc_chunk, by_size, b));
}

static bool place_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct bfc_chunk, by_place, a)->addr <
           TP_TREE_ITEM(const struct bfc_chunk, by_place, b)->addr;
}

static unsigned bin_of(uint64_t size)
{
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size / BFC_GRAIN | 1);
    return log2 < BFC_BINS ? log2 : BFC_BINS - 1;
}

void tp_bfc_add(struct bfc *st, struct bfc_chunk *c)
{
    unsigned bin = bin_of(c->size);
    bfc_set_state(c, BFC_FREE);
    tp_tree_insert(&c->bins->bins[bin], &c->by_size, size_less, NULL);
    c->bins->occupied |= UINT64_C(1) << bin;
    if (UNLIKELY(st->by_address))
        tp_tree_insert(&st->placed, &c->by_place, place_less, NULL);
}

void tp_bfc_remove(struct bfc *st, struct bfc_chunk *c)
{
    unsigned bin = bin_of(c->size);
    bfc_set_state(c, BFC_NONE);
    tp_tree_remove(&c->bins->bins[bin], &c->by_size, NULL);
    c->bins->occupied &= ~((uint64_t)!c->bins->bins[bin] << bin);
    if (UNLIKELY(st->by_address))
        tp_tree_remove(&st->placed, &c->by_place, NULL);
}

struct bfc_bins *tp_bfc_bins_of(struct bfc *st, uint16_t stream)
{
    if (LIKELY(!st->rules.by_stream))
        return &st->any;
    struct bfc_bins *bins = meta_map_at(&st->bins_of, stream + UINT64_C(1));
    if (bins || tp_addr_map_reserve(&st->bins_of, st->bins_of.count + UINT64_C(1)) ||
        !(bins = slab_take(&st->bin_records)))
        return bins;
    tp_addr_map_insert(&st->bins_of, stream + UINT64_C(1), (uintptr_t)bins);
    return bins;
}

/* ---- looking ---- */

/* The first chunk of the bins above one; NULL: they are empty. */
static struct bfc_chunk *first_above(const struct bfc_bins *bins, unsigned bin)
{
    uint64_t above = bins->occupied & ~((UINT64_C(2) << bin) - 1);
    return above ? by_size(tp_tree_first(bins->bins[__builtin_ctzll(above)])) : NULL;
}

/* The first chunk of at least `size` bytes. */
static struct bfc_chunk *first_from(const struct bfc_bins *bins, uint64_t size)
{
    struct bfc_chunk *best = NULL;
    unsigned bin = bin_of(size);
    for (struct tp_tree_node *n = bins->bins[bin]; n;) {
        bool fits = by_size(n)->size >= size;
        TP_STEP();
        best = fits ? by_size(n) : best;
        n = fits ? n->low : n->high;
    }
    return best ? best : first_above(bins, bin);
}

static struct bfc_chunk *next_of(struct bfc_chunk *c)
{
    struct tp_tree_node *next = tp_tree_next(&c->by_size);
    return next ? by_size(next) : first_above(c->bins, bin_of(c->size));
}

struct bfc_search tp_bfc_search(const struct bfc *st, const struct bfc_bins *own, uint64_t size)
{
    struct bfc_search s = {NULL, first_from(&st->any, size)};
    if (own != &st->any)
        s.own = first_from(own, size);
    return s;
}

struct bfc_chunk *tp_bfc_found(struct bfc_search *s)
{
    bool own = s->own && (!s->any || is_before(s->own, s->any));
    struct bfc_chunk **from = own ? &s->own : &s->any, *c = *from;
    if (c)
        *from = next_of(c);
    return c;
}

uint64_t tp_bfc_largest(const struct bfc_bins *bins)
{
    if (!bins->occupied)
        return 0;
    struct tp_tree_node *n = bins->bins[63 - __builtin_clzll(bins->occupied)];
    while (n->high)
        n = n->high;
    return by_size(n)->size;
}

/* ---- fit ---- */

/* A chunk whose region is not known to be aligned so far has no such place for sure. */
static bool has_room(const struct bfc_chunk *c, uint64_t size, uint64_t align)
{
    if (c->size < size || c->region->align < align)
        return false;
    return tp_bfc_padding(c, align) <= c->size - size;
}

uint64_t tp_bfc_padding(const struct bfc_chunk *c, uint64_t align)
{
    uint64_t at = c->addr - c->region->zero;
    return round_up(at, align) - at;
}

/* Does `c` serve better than `best`, by a rule that BFC does not have? */
static bool is_better(uint64_t fit, const struct bfc_chunk *c, const struct bfc_chunk *best)
{
    if (fit == TP_BFC_FIRST)
        return bfc_is_lower(c, best);
    if (c->size != best->size)
        return fit == TP_BFC_WORST ? c->size > best->size : c->size < best->size;
    return bfc_is_lower(fit == TP_BFC_WORST ? c : best, fit == TP_BFC_WORST ? best : c);
}

static struct bfc_chunk *look_at_each(const struct bfc *st, struct bfc_search s, uint64_t size,
                                      uint64_t align)
{
    struct bfc_chunk *best = NULL;
    for (struct bfc_chunk *c; (c = tp_bfc_found(&s));) {
        if (!has_room(c, size, align))
            continue;
        if (st->rules.fit == TP_BFC_BEST)
            return c;
        best = !best || is_better(st->rules.fit, c, best) ? c : best;
    }
    return best;
}

struct bfc_chunk *tp_bfc_fit(const struct bfc *st, const struct bfc_bins *own, uint64_t size,
                             uint64_t align)
{
    if (LIKELY(own == &st->any && align == 1 && st->rules.fit == TP_BFC_BEST))
        return first_from(&st->any, size);
    return look_at_each(st, tp_bfc_search(st, own, size), size, align);
}
