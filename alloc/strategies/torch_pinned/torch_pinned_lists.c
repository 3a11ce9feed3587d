/* The free blocks of `torch-pinned`, and the events that freed blocks wait for. */
#include "alloc/strategies/torch_pinned/torch_pinned_core.h"

/* ---- free lists ---- */

static bool is_freed_before(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct pinned_block, by_age, a)->age <
           TP_TREE_ITEM(const struct pinned_block, by_age, b)->age;
}

static uint64_t largest_pinned(struct tp_tree_node *n)
{
    return n ? pinned_by_age(n)->largest : 0;
}

static void note_largest_pinned(struct tp_tree_node *n)
{
    struct pinned_block *b = pinned_by_age(n);
    uint64_t low = largest_pinned(n->low), high = largest_pinned(n->high);
    b->largest = low > high ? low : high;
    if (b->size > b->largest)
        b->largest = b->size;
}

static void take_out(struct torch_pinned *st, struct pinned_block *b)
{
    tp_tree_remove(&st->classes[pinned_class(b->size)], &b->by_age, note_largest_pinned);
    st->free_bytes -= b->size;
}

struct pinned_block *tp_torch_pinned_take(struct torch_pinned *st, uint64_t size)
{
    struct tp_tree_node *n = st->classes[pinned_class(size)];
    if (largest_pinned(n) < size)
        return NULL;
    while (largest_pinned(n->high) >= size || pinned_by_age(n)->size < size) {
        TP_STEP();
        n = largest_pinned(n->high) >= size ? n->high : n->low;
    }
    take_out(st, pinned_by_age(n));
    return pinned_by_age(n);
}

static void put_in(struct torch_pinned *st, struct pinned_block *b)
{
    b->state = PINNED_FREE;
    b->age = ++st->age;
    st->free_bytes += b->size;
    tp_tree_insert(&st->classes[pinned_class(b->size)], &b->by_age, is_freed_before,
                   note_largest_pinned);
}

/* Gives back a block that is in no list. What lies in the reserved segment stays there, and PyTorch
 * forgets it. False: the source refused to take it. */
static bool give_back(struct torch_pinned *st, struct pinned_block *b)
{
    if (b->reserved) {
        b->state = PINNED_LOST;
        return true;
    }
    if (tp_src_put(st->env->source, b->addr, pinned_bytes(st, b)))
        return false;
    st->carved.now -= b->size;
    slab_give(&st->blocks, b);
    return true;
}

void tp_torch_pinned_release(struct torch_pinned *st, struct pinned_block *b)
{
    if (b->size <= st->rules.cached_most || !give_back(st, b))
        put_in(st, b);
}

/* The oldest of a class first. A block that the source refuses to take stays free. */
static void trim_class(struct torch_pinned *st, unsigned size_class, uint64_t keep)
{
    uint64_t last = st->age;
    struct tp_tree_node *n = tp_tree_first(st->classes[size_class]);
    while (n && pinned_by_age(n)->age <= last && st->free_bytes > keep) {
        struct pinned_block *b = pinned_by_age(n);
        take_out(st, b);
        if (!give_back(st, b))
            put_in(st, b);
        n = tp_tree_first(st->classes[size_class]);
    }
}

void tp_torch_pinned_trim(struct torch_pinned *st, uint64_t keep)
{
    tp_torch_pinned_poll(st);
    for (unsigned size_class = 0; size_class < PINNED_CLASSES; size_class++)
        trim_class(st, size_class, keep);
}

/* ---- events ---- */

int tp_torch_pinned_use(struct torch_pinned *st, struct pinned_block *b, uint16_t stream)
{
    if (!st->fenced || uses_have(b->uses, stream))
        return TP_OK;
    return uses_note(&st->uses, &b->uses, b, stream, &st->queue) ? TP_OK : TP_ENOMEM;
}

void tp_torch_pinned_free(struct torch_pinned *st, struct pinned_block *b)
{
    if (!b->uses) {
        tp_torch_pinned_release(st, b);
        return;
    }
    for (struct stream_use *u = b->uses; u; u = u->next) {
        uses_queue(st->env->source, u);
        b->pending++;
    }
    b->uses = NULL;
    b->state = PINNED_PENDING;
}

void tp_torch_pinned_poll(struct torch_pinned *st)
{
    for (struct stream_use *u; (u = uses_passed(st->env->source, &st->queue));) {
        struct pinned_block *b = u->block;
        slab_give(&st->uses, u);
        if (!--b->pending)
            tp_torch_pinned_release(st, b);
    }
}
