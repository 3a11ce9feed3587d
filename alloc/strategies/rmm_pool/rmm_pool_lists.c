/* The free blocks of `rmm-pool`. RMM looks at every block of a list, and at every list; here trees
 * find the same block. Of two lists that are merged the smaller one moves, so that requests that
 * merge in vain cost little. */
#include "alloc/strategies/rmm_pool/rmm_pool_core.h"

static bool is_before(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct rmm_pool_block *x = TP_TREE_ITEM(const struct rmm_pool_block, by_size, a);
    const struct rmm_pool_block *y = TP_TREE_ITEM(const struct rmm_pool_block, by_size, b);
    if (x->size != y->size)
        return x->size < y->size;
    if (x->range != y->range)
        return x->range->order < y->range->order;
    return x->addr < y->addr;
}

static bool is_older(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct rmm_pool_queue, in_order, a)->order <
           TP_TREE_ITEM(const struct rmm_pool_queue, in_order, b)->order;
}

static uint64_t largest_below(struct tp_tree_node *n)
{
    return n ? rmm_pool_in_order(n)->largest : 0;
}

static void note_largest(struct tp_tree_node *n)
{
    struct rmm_pool_queue *queue = rmm_pool_in_order(n);
    uint64_t low = largest_below(n->low), high = largest_below(n->high);
    queue->largest = low > high ? low : high;
    if (queue->list->largest > queue->largest)
        queue->largest = queue->list->largest;
}

/* ---- queues ---- */

static void enlist(struct rmm_pool *st, struct rmm_pool_queue *queue)
{
    if (!queue->listed)
        tp_tree_insert(&st->queues, &queue->in_order, is_older, note_largest);
    queue->listed = true;
}

static void unlist(struct rmm_pool *st, struct rmm_pool_queue *queue)
{
    if (queue->listed)
        tp_tree_remove(&st->queues, &queue->in_order, note_largest);
    queue->listed = false;
}

struct rmm_pool_queue *tp_rmm_pool_queue(struct rmm_pool *st, uint16_t stream)
{
    struct rmm_pool_queue *queue = meta_map_at(&st->queue_of, stream + UINT64_C(1));
    if (!queue) {
        if (tp_addr_map_reserve(&st->queue_of, st->queue_of.count + 1) ||
            !(queue = slab_take(&st->queue_records)))
            return NULL;
        queue->stream = stream;
        queue->list = &queue->own;
        queue->own.queue = queue;
        queue->order = st->queue_of.count;
        if (st->newest_queue)
            st->newest_queue->next = queue;
        else
            st->oldest_queue = queue;
        st->newest_queue = queue;
        tp_addr_map_insert(&st->queue_of, stream + UINT64_C(1), (uintptr_t)queue);
    }
    enlist(st, queue);
    return queue;
}

struct rmm_pool_queue *tp_rmm_pool_first_queue(const struct rmm_pool *st, uint64_t size)
{
    struct tp_tree_node *n = st->queues;
    while (n && largest_below(n) >= size) {
        TP_STEP();
        if (largest_below(n->low) >= size)
            n = n->low;
        else if (rmm_pool_in_order(n)->list->largest >= size)
            return rmm_pool_in_order(n);
        else
            n = n->high;
    }
    return NULL;
}

/* ---- blocks of a list ---- */

/* The largest block of a list has changed: the queue is filed anew, with what is above it. */
static void set_largest(struct rmm_pool *st, struct rmm_pool_list *list, uint64_t size)
{
    struct rmm_pool_queue *queue = list->queue;
    bool listed = queue->listed;
    if (size == list->largest)
        return;
    unlist(st, queue);
    list->largest = size;
    if (listed)
        enlist(st, queue);
}

static void list_insert(struct rmm_pool *st, struct rmm_pool_list *list, struct rmm_pool_block *b)
{
    b->list = list;
    tp_tree_insert(&list->blocks, &b->by_size, is_before, NULL);
    list->count++;
    if (b->size > list->largest)
        set_largest(st, list, b->size);
}

static void list_remove(struct rmm_pool *st, struct rmm_pool_block *b)
{
    struct rmm_pool_list *list = b->list;
    struct tp_tree_node *last = NULL;
    tp_tree_remove(&list->blocks, &b->by_size, NULL);
    list->count--;
    b->list = NULL;
    if (b->size < list->largest)
        return;
    for (struct tp_tree_node *n = list->blocks; n; n = n->high)
        last = n;
    set_largest(st, list, last ? rmm_pool_by_size(last)->size : 0);
}

/* `low` takes in its neighbour, which is in no list. */
static void join(struct rmm_pool *st, struct rmm_pool_block *low, struct rmm_pool_block *high)
{
    low->size += high->size;
    low->behind = high->behind;
    if (high->behind)
        high->behind->before = low;
    slab_give(&st->blocks, high);
}

/* A block that begins a range has no neighbour before it, so ranges are never joined. */
void tp_rmm_pool_add(struct rmm_pool *st, struct rmm_pool_list *list, struct rmm_pool_block *b)
{
    struct rmm_pool_block *low = b->before, *high = b->behind;
    if (low && low->list == list) {
        list_remove(st, low);
        join(st, low, b);
        b = low;
    }
    if (high && high->list == list) {
        list_remove(st, high);
        join(st, b, high);
    }
    list_insert(st, list, b);
}

void tp_rmm_pool_take(struct rmm_pool *st, struct rmm_pool_block *b, uint64_t size)
{
    struct rmm_pool_list *list = b->list;
    list_remove(st, b);
    if (b->size == size)
        return;
    struct rmm_pool_block *rest = slab_take(&st->blocks);
    assert(rest);
    *rest = (struct rmm_pool_block){.addr = b->addr + size,
                                    .size = b->size - size,
                                    .range = b->range,
                                    .before = b,
                                    .behind = b->behind};
    if (b->behind)
        b->behind->before = rest;
    b->behind = rest;
    b->size = size;
    list_insert(st, list, rest);
}

struct rmm_pool_block *tp_rmm_pool_fit(const struct rmm_pool_list *list, uint64_t size)
{
    struct rmm_pool_block *best = NULL;
    for (struct tp_tree_node *n = list->blocks; n;) {
        bool fits = rmm_pool_by_size(n)->size >= size;
        TP_STEP();
        best = fits ? rmm_pool_by_size(n) : best;
        n = fits ? n->low : n->high;
    }
    return best;
}

/* ---- merging ---- */

/* Moves all blocks of a queue into the list of another. Neither is among the queues that have a
 * list. */
static void merge(struct rmm_pool *st, struct rmm_pool_queue *into, struct rmm_pool_queue *from)
{
    if (from->list->count > into->list->count) {
        struct rmm_pool_list *larger = from->list;
        from->list = into->list;
        into->list = larger;
        from->list->queue = from;
        into->list->queue = into;
    }
    while (from->list->blocks) {
        struct rmm_pool_block *b = rmm_pool_by_size(tp_tree_first(from->list->blocks));
        TP_STEP();
        list_remove(st, b);
        tp_rmm_pool_add(st, into->list, b);
    }
}

int tp_rmm_pool_merge(struct rmm_pool *st, struct rmm_pool_queue *queue, uint64_t size,
                      struct rmm_pool_block **out)
{
    struct rmm_pool_queue *other;
    int rc = TP_OK;
    *out = NULL;
    unlist(st, queue);
    while (!rc && !*out && (other = rmm_pool_in_order(tp_tree_first(st->queues)))) {
        rc = tp_src_follow(st->env->source, (uint16_t)queue->stream, (uint16_t)other->stream);
        if (rc)
            break;
        unlist(st, other);
        merge(st, queue, other);
        *out = tp_rmm_pool_fit(queue->list, size);
    }
    enlist(st, queue);
    return rc;
}
