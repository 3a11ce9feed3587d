/* Regions: got for a request that no free chunk serves, and given back where that helps a request,
 * or where the program asks for it.
 *
 *     no fit --> as much as the next region has --> refused: 0.9 of it, until it is too small
 *     TensorFlow, still none --> give back what is unused --> the same again --> EOOM */
#include "alloc/strategies/bfc/bfc_core.h"

static bool is_lower(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct bfc_region, in_order, a)->order <
           TP_TREE_ITEM(const struct bfc_region, in_order, b)->order;
}

/* ---- getting ---- */

uint64_t tp_bfc_left(const struct bfc *st)
{
    uint64_t limit = st->rules.limit;
    return (limit > st->pool ? limit - st->pool : 0) / BFC_GRAIN * BFC_GRAIN;
}

/* Drivers give ranges of a device page so aligned. */
int tp_bfc_get_range(struct bfc *st, uint64_t size, uint64_t *align, tp_addr *base)
{
    uint64_t page = st->env->source->page, least = size < BFC_PAGE ? BFC_GRAIN : BFC_PAGE;
    least = page > least ? page : least;
    if (st->by_address)
        *align = 1; /* a recording says where it lies */
    else if (*align < least)
        *align = least;
    int rc = tp_src_get(st->env->source, round_up(size, page), *align, base);
    return rc == TP_EUNSUP ? TP_EOOM : rc;
}

struct bfc_chunk *tp_bfc_enter(struct bfc *st, tp_addr base, uint64_t size, uint64_t align)
{
    struct bfc_region *r = slab_take(&st->regions);
    struct bfc_chunk *c = slab_take(&st->chunks);
    assert(r && c);
    r->base = c->addr = base;
    r->size = c->size = size;
    r->bytes = round_up(size, st->env->source->page);
    st->made++;
    r->order = c->order = st->by_address ? base : st->made;
    r->align = st->by_address ? UINT64_MAX : align;
    r->zero = st->by_address ? 0 : base;
    r->oldest = !st->in_order;
    r->first = r->last = c;
    c->region = r;
    c->bins = &st->any;
    tp_tree_insert(&st->in_order, &r->in_order, is_lower, NULL);
    tp_link_insert(&st->unused, &r->in_unused);
    st->pool += size;
    st->idle += size;
    return c;
}

uint64_t tp_bfc_first_bytes(const struct bfc *st)
{
    const struct tp_bfc_rules *r = &st->rules;
    bool growing = r->grows || r->limit == TP_BFC_NO_LIMIT;
    uint64_t bytes = growing && r->first_region < r->limit ? r->first_region : r->limit;
    return tp_bfc_rounded(r, bytes < TP_BFC_SPACE ? bytes : TP_BFC_SPACE);
}

int tp_bfc_extend(struct bfc *st, uint64_t rounded, uint64_t align)
{
    const struct tp_bfc_rules *rules = &st->rules;
    uint64_t left = tp_bfc_left(st);
    tp_addr base = 0;
    bool enlarged = false;
    if (rounded > left)
        return TP_EOOM;
    st->next = st->next ? st->next : tp_bfc_first_bytes(st);
    uint64_t next = st->next, bytes = tp_bfc_next_region(rules, &next, rounded, left, &enlarged);
    st->next = next; /* what was enlarged stays so, whatever the source says */
    int rc = tp_bfc_get_range(st, bytes, &align, &base);
    if (rc == TP_OK || rules->doubles_refused)
        tp_bfc_region_taken(rules, &st->next, enlarged);
    for (; rc == TP_EOOM && (bytes = tp_bfc_less(rules, bytes, rounded));)
        if (!(rc = tp_bfc_get_range(st, bytes, &align, &base)) && !rules->doubles_refused)
            tp_bfc_region_taken(rules, &st->next, enlarged);
    if (rc == TP_OK)
        tp_bfc_add(st, tp_bfc_enter(st, base, bytes, align));
    return rc;
}

/* ---- giving back ---- */

static void forget(struct bfc *st, struct bfc_region *r)
{
    tp_link_out(&r->in_unused);
    st->pool -= r->size;
    st->idle -= r->size;
    st->carved.now -= r->carved;
    for (struct bfc_chunk *c = r->first, *next; c; c = next) {
        next = c->behind;
        tp_bfc_remove(st, c);
        slab_give(&st->chunks, c);
    }
    tp_tree_remove(&st->in_order, &r->in_order, NULL);
    slab_give(&st->regions, r);
}

bool tp_bfc_put(struct bfc *st, struct bfc_region *r)
{
    if (tp_src_put(st->env->source, r->base, r->bytes))
        return false;
    forget(st, r);
    return true;
}

/* A region that the source refuses to take back stays, and serves on. */
static void put_unused(struct bfc *st, uint64_t keep)
{
    if (st->idle <= keep)
        return;
    wait_for_streams(st->env);
    for (struct tp_link *l = st->unused.behind, *next; l != &st->unused && st->idle > keep;
         l = next) {
        struct bfc_region *r = TP_LINKED(struct bfc_region, in_unused, l);
        next = l->behind;
        if (!r->oldest || !st->rules.keeps_first)
            tp_bfc_put(st, r);
    }
}

int tp_bfc_collect(struct bfc *st, uint64_t rounded, uint64_t align)
{
    uint64_t limit = st->rules.limit, left = limit > st->pool ? limit - st->pool : 0;
    if (!st->idle || (rounded > st->idle && rounded - st->idle > left))
        return TP_EOOM;
    put_unused(st, 0);
    st->retries++;
    return tp_bfc_extend(st, rounded, align);
}

void tp_bfc_shrink(struct bfc *st, uint64_t keep)
{
    put_unused(st, keep);
    st->next = st->rules.next_after_shrink;
}

/* Two rounds: what the source refuses at first may go once the rest is gone. */
void tp_bfc_put_all(struct bfc *st)
{
    wait_for_streams(st->env);
    for (int round = 0; round < 2; round++)
        for (struct bfc_region *r = bfc_first_region(st); r; r = bfc_next_region(r))
            put_once(st->env->source, &r->base, r->bytes);
}
