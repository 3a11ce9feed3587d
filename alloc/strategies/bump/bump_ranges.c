/* Getting and giving back ranges and leaves; see bump_ranges.h. */
#include "alloc/strategies/bump/bump_ranges.h"

#include <string.h>

int tp_bump_get_range(struct bump *st, uint64_t bytes, uint64_t align)
{
    uint64_t page = st->env->source->page, leaf = UINT64_C(1) << st->leaf_log2;
    if (bytes > BUMP_MAX_BYTES)
        return TP_EOOM;
    struct bump_range *r = tp_meta_get(st->env, sizeof *r);
    if (!r)
        return TP_ENOMEM;
    r->size = (bytes + page - 1) & ~(page - 1);
    r->align = align > leaf ? align : leaf;
    int rc = tp_src_get(st->env->source, r->size, r->align, &r->base);
    if (rc) {
        tp_meta_put(st->env, r, sizeof *r);
        return rc;
    }
    if (st->newest)
        st->newest->next = r;
    else
        st->oldest = r;
    st->newest = r;
    st->all_used = false;
    return TP_OK;
}

void tp_bump_forget(struct bump *st, struct bump_range *r)
{
    st->seen = NULL;
    for (struct bump_leaf *leaf = r->leaves, *next; leaf; leaf = next) {
        next = leaf->next;
        tp_addr_map_remove(&st->leaves, leaf_key(st, leaf->base), NULL);
        tp_meta_put(st->env, leaf, sizeof *leaf);
    }
    st->carved.now -= r->high;
    tp_meta_put(st->env, r, sizeof *r);
}

bool tp_bump_give_back(struct bump *st, uint64_t keep)
{
    uint64_t unused = 0;
    bool took = false;
    if (st->all_used)
        return false;
    bump_sync(st);
    for (struct bump_range *r = st->oldest; r; r = r->next)
        unused += r->used ? 0 : r->size;
    struct bump_range **at = &st->oldest, *kept = NULL;
    for (struct bump_range *r = *at; r; r = *at) {
        uint64_t size = r->size;
        bool needed = r->used || (r == st->current && kept);
        if (needed || unused <= keep || tp_src_put(st->env->source, r->base, size)) {
            kept = r;
            at = &r->next;
            continue;
        }
        unused -= size;
        took = true;
        *at = r->next;
        if (st->current == r)
            bump_enter(st, NULL);
        tp_bump_forget(st, r);
    }
    st->newest = kept;
    st->all_used = !unused;
    return took;
}

static void leaf_clear(const struct bump *st, struct bump_leaf *leaf, tp_addr end)
{
    uint64_t bits = (end - leaf->base) >> st->unit_log2;
    size_t words = bits >= BUMP_WORDS * 64 ? BUMP_WORDS : (size_t)bits / 64 + 1;
    memset(leaf->starts, 0, words * sizeof *leaf->starts);
    memset(leaf->freed, 0, words * sizeof *leaf->freed);
}

void tp_bump_rewind_ranges(struct bump *st)
{
    bump_sync(st);
    for (struct bump_range *r = st->current ? st->oldest : NULL; r; r = r->next) {
        tp_addr end = r == st->current && st->last ? st->last + 1 : r->base + r->used;
        for (struct bump_leaf *leaf = r->leaves; leaf && leaf->base < end; leaf = leaf->next)
            leaf_clear(st, leaf, end);
        r->used = 0;
        if (r == st->current) /* ranges after the current one are unused */
            break;
    }
    st->all_used = false;
    st->current = NULL; /* so that bump_enter does not write `used`, which must stay 0 */
    bump_enter(st, st->oldest);
    st->live = 0;
    if (st->current && st->current->leaves && st->current->leaves->base == st->at) {
        st->leaf = st->current->leaves;
        st->leaf_end = st->at + (UINT64_C(1) << st->leaf_log2);
    }
}

uint64_t tp_bump_block_size(struct bump *st, tp_addr addr)
{
    bump_sync(st);
    const struct bump_leaf *leaf = leaf_find(st, addr);
    tp_addr end = leaf->range->base + leaf->range->used;
    unsigned bit = leaf_bit(st, addr) + 1;
    for (; leaf; leaf = leaf->next, bit = 0) {
        bit = bit_next(leaf->starts, bit);
        if (bit < BUMP_WORDS * 64)
            return leaf->base + ((uint64_t)bit << st->unit_log2) - addr;
    }
    return end - addr;
}
