/* See planned_pool.h. */
#include "alloc/strategies/planned/planned_pool.h"

static bool by_offset(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct planned_block, node, a)->offset <
           TP_TREE_ITEM(const struct planned_block, node, b)->offset;
}

struct planned_block *tp_planned_over(const struct planned_pool *p, uint64_t offset, uint64_t bytes)
{
    struct planned_block *first = NULL;
    for (struct tp_tree_node *n = p->root; n;) {
        struct planned_block *b = planned_block_of(n);
        TP_STEP();
        if (b->offset + b->bytes <= offset) {
            n = n->high;
        } else {
            first = b; /* the lowest one that ends behind `offset` */
            n = n->low;
        }
    }
    return first && first->offset < offset + bytes ? first : NULL;
}

struct planned_block *tp_planned_enter(struct planned_pool *p, uint64_t offset, uint64_t bytes)
{
    struct planned_block *b = slab_take(&p->blocks);
    assert(b);
    b->offset = offset;
    b->bytes = bytes;
    tp_link_init(&b->fences);
    tp_tree_insert(&p->root, &b->node, by_offset, NULL);
    p->live++;
    if (offset + bytes > p->carved)
        p->carved = offset + bytes;
    return b;
}

void tp_planned_drop(struct planned_pool *p, struct planned_block *b)
{
    tp_tree_remove(&p->root, &b->node, NULL);
    p->live -= !b->pending;
    slab_give(&p->blocks, b);
}

/* Drops a freed block if no stream works on it any more. */
static bool settle(struct planned_pool *p, struct planned_block *b)
{
    if (!b->pending)
        return false;
    for (struct stream_use *u; (u = uses_passed(p->source, &b->fences));)
        slab_give(&p->uses, u);
    if (uses_first(&b->fences))
        return false;
    tp_planned_drop(p, b);
    return true;
}

bool tp_planned_is_free(struct planned_pool *p, uint64_t offset, uint64_t bytes)
{
    for (struct planned_block *b; (b = tp_planned_over(p, offset, bytes));)
        if (!settle(p, b))
            return false;
    return true;
}

struct planned_block *tp_planned_at(const struct planned_pool *p, tp_addr addr)
{
    struct planned_block *b = tp_planned_over(p, addr - p->base, 1);
    return b && !b->pending && b->offset == addr - p->base ? b : NULL;
}

int tp_planned_use(struct planned_pool *p, struct planned_block *b, uint16_t stream)
{
    if (stream == b->stream || !tp_src_has_fences(p->source) || uses_have(b->uses, stream))
        return TP_OK;
    return uses_note(&p->uses, &b->uses, b, stream, &b->fences) ? TP_OK : TP_ENOMEM;
}

void tp_planned_free(struct planned_pool *p, struct planned_block *b)
{
    for (struct stream_use *u = b->uses; u; u = u->next)
        uses_queue(p->source, u);
    if (!b->uses) {
        tp_planned_drop(p, b);
        return;
    }
    b->uses = NULL;
    b->pending = true;
    p->live--;
}

/* Waits for all streams that work on a freed block. */
static bool wait_for(struct planned_pool *p, struct planned_block *b)
{
    for (struct stream_use *u; (u = uses_first(&b->fences)); slab_give(&p->uses, u)) {
        if (tp_src_wait(p->source, &u->fence))
            return false;
        uses_dequeue(u);
    }
    tp_planned_drop(p, b);
    return true;
}

bool tp_planned_give_back(struct planned_pool *p)
{
    while (!p->live && p->root)
        if (!wait_for(p, planned_block_of(p->root)))
            return false;
    if (p->live)
        return false;
    put_once(p->source, &p->base, p->bytes);
    p->carved = p->base ? p->carved : 0;
    return !p->base;
}
