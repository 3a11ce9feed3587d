/* The index of `lru`, for traces where searching blocks one by one takes long: which blocks are
 * live, and which free block of a key a stream may use.
 *
 *     free    by key, then by what their fences leave    [key, all streams, age] ... newest
 *                                                        [key, stream 3,    age] ... newest
 *                                                        [key, none,        age]
 *     live    by number: the order of nodes in their slabs
 *     fences  of each stream and of all, in the order of recording
 *
 * Every stream may use a free block without pending fences; one stream may use it if all pending
 * fences are on that stream. So the newest block for a stream is the last of one of two groups.
 * Fences of one stream pass in order. Where the fences of all streams pass in order
 * (TP_SRC_ORDERED), the first of all tells whether any has passed, except for streams that `sync`
 * named, whose fences are checked at the sync. So each fence is processed once.
 *
 * The index is made when a call has checked more than LRU_LOOK blocks or fences without success.
 * From then on the fast paths are off. When memory for the index is exhausted it is dropped, which
 * changes no decision, only the time. */
#include "alloc/strategies/lru/lru_core.h"

#include "alloc/base/ascending.h"
#include "alloc/base/links.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/common/record_slab.h"

#include <stdlib.h>

#define LRU_FOR_ALL  UINT64_C(0) /* groups; the group of a stream is its number + 1 */
#define LRU_FOR_NONE UINT64_MAX

/* What the index knows about a node. */
struct lru_mark {
    struct tp_tree_node place; /* in `live` or `free`; place.number: 1 while it is in one of them */
    struct lru_node *node;
    uint64_t number;
    uint64_t key, group, age; /* free: key, group, and number of the free */
    struct tp_link fences;    /* free: pending fences */
};

struct lru_fence {
    struct tp_fence fence;
    struct lru_mark *mark;
    struct tp_link of_mark, of_stream, of_all;
};

struct lru_queue {
    struct tp_link fences;
    struct tp_link busy; /* link in the list of queues that have fences */
};

struct lru_index {
    struct tp_tree_node *live, *free;
    struct tp_addr_map marks; /* struct lru_node * -> struct lru_mark * */
    struct slab mark_records, fence_records;
    struct lru_queue *queues; /* by stream; NULL with one stream */
    struct tp_link busy, all; /* busy: queues that have fences; all: fences of all queues */
    uint64_t numbers, age;    /* last number and age that were given */
};

/* The first link of a list; NULL: the list is empty. */
static struct tp_link *link_first(const struct tp_link *head)
{
    return head->behind == head ? NULL : head->behind;
}

/* ---- trees ---- */

static struct lru_mark *mark_at(const struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct lru_mark, place, n);
}

static bool live_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return mark_at(a)->number < mark_at(b)->number;
}

static bool free_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct lru_mark *x = mark_at(a), *y = mark_at(b);
    if (x->key != y->key)
        return x->key < y->key;
    return x->group != y->group ? x->group < y->group : x->age < y->age;
}

static struct lru_mark *mark_of(const struct lru_index *ix, const struct lru_node *node)
{
    return meta_map_at(&ix->marks, (uintptr_t)node);
}

/* The newest block of a group; NULL: the group is empty. */
static struct lru_mark *index_newest(const struct lru_index *ix, uint64_t key, uint64_t group)
{
    const struct lru_mark last = {.key = key, .group = group, .age = UINT64_MAX};
    struct lru_mark *best = NULL;
    for (struct tp_tree_node *at = ix->free; at;) {
        bool before = free_less(at, &last.place);
        TP_STEP();
        best = before ? mark_at(at) : best;
        at = before ? at->high : at->low;
    }
    return best && best->key == key && best->group == group ? best : NULL;
}

/* ---- life ---- */

void tp_lru_index_drop(struct lru *st)
{
    struct lru_index *ix = st->index;
    if (!ix)
        return;
    tp_addr_map_fini(&ix->marks);
    slab_fini(&ix->mark_records);
    slab_fini(&ix->fence_records);
    tp_meta_put(st->cache.env, ix->queues, st->cache.env->streams * sizeof *ix->queues);
    tp_meta_put(st->cache.env, ix, sizeof *ix);
    st->index = NULL;
}

/* Makes the mark of a record. False: out of memory. */
static bool mark_make(struct lru_index *ix, struct lru_node *node)
{
    struct lru_mark *m = slab_take(&ix->mark_records);
    if (!m || tp_addr_map_insert(&ix->marks, (uintptr_t)node, (uintptr_t)m))
        return false;
    m->node = node;
    m->number = ++ix->numbers;
    tp_link_init(&m->fences);
    return true;
}

static struct lru_index *index_new(struct lru *st)
{
    const struct tp_env *env = st->cache.env;
    struct lru_index *ix = tp_meta_get(env, sizeof *ix);
    struct lru_queue *queues = NULL;
    if (ix && st->several)
        queues = tp_meta_get(env, env->streams * sizeof *queues);
    if (!ix || (st->several && !queues)) {
        tp_meta_put(env, ix, sizeof *ix);
        return NULL;
    }
    for (uint32_t i = 0; queues && i < env->streams; i++) {
        tp_link_init(&queues[i].fences);
        tp_link_init(&queues[i].busy);
    }
    ix->queues = queues;
    tp_link_init(&ix->busy);
    tp_link_init(&ix->all);
    slab_init(&ix->mark_records, env, sizeof(struct lru_mark));
    slab_init(&ix->fence_records, env, sizeof(struct lru_fence));
    meta_map_init(&ix->marks, env);
    return ix;
}

/* ---- fences ---- */

static void fence_link(struct lru_index *ix, struct lru_fence *f)
{
    struct lru_queue *queue = &ix->queues[f->fence.stream];
    if (!link_first(&queue->fences))
        tp_link_insert(&ix->busy, &queue->busy);
    tp_link_insert(&queue->fences, &f->of_stream);
    tp_link_insert(&ix->all, &f->of_all);
}

static void fence_drop(struct lru_index *ix, struct lru_fence *f)
{
    struct lru_queue *queue = &ix->queues[f->fence.stream];
    tp_link_out(&f->of_mark);
    tp_link_out(&f->of_stream);
    tp_link_out(&f->of_all);
    if (!link_first(&queue->fences))
        tp_link_out(&queue->busy);
    slab_give(&ix->fence_records, f);
}

/* The group of a block with these pending fences. */
static uint64_t group_of(const struct lru_mark *m)
{
    const struct tp_link *first = link_first(&m->fences);
    if (!first)
        return LRU_FOR_ALL;
    if (first->behind != &m->fences) /* the fences are on different streams */
        return LRU_FOR_NONE;
    return TP_LINKED(struct lru_fence, of_mark, first)->fence.stream + UINT64_C(1);
}

/* Removes a fence that has passed, and moves its block to another group if that changes. */
static void fence_pass(struct lru_index *ix, struct lru_fence *f)
{
    struct lru_mark *m = f->mark;
    fence_drop(ix, f);
    uint64_t group = group_of(m);
    if (group == m->group)
        return;
    tp_tree_remove(&ix->free, &m->place, NULL);
    m->group = group;
    tp_tree_insert(&ix->free, &m->place, free_less, NULL);
}

/* Processes the fences of a stream that have passed. */
static void queue_poll(struct lru *st, struct lru_queue *queue)
{
    for (struct tp_link *l; (l = link_first(&queue->fences));) {
        struct lru_fence *f = TP_LINKED(struct lru_fence, of_stream, l);
        TP_STEP();
        if (!tp_src_done(st->cache.env->source, &f->fence))
            return;
        fence_pass(st->index, f);
    }
}

static void index_poll(struct lru *st)
{
    struct lru_index *ix = st->index;
    for (struct tp_link *l;
         st->cache.env->source->flags & TP_SRC_ORDERED && (l = link_first(&ix->all));) {
        struct lru_fence *f = TP_LINKED(struct lru_fence, of_all, l);
        TP_STEP();
        if (!tp_src_done(st->cache.env->source, &f->fence))
            return;
        fence_pass(ix, f);
    }
    for (struct tp_link *l = ix->busy.behind, *next; l != &ix->busy; l = next) {
        next = l->behind;
        queue_poll(st, TP_LINKED(struct lru_queue, busy, l));
    }
}

/* Adds a pending fence to a mark. False: out of memory. */
static bool fence_add(struct lru_index *ix, struct lru_mark *m, const struct tp_fence *fence)
{
    struct lru_fence *f = slab_take(&ix->fence_records);
    if (!f)
        return false;
    f->fence = *fence;
    f->mark = m;
    tp_link_insert(&m->fences, &f->of_mark);
    fence_link(ix, f);
    return true;
}

/* ---- nodes come and go ---- */

void tp_lru_index_live(struct lru *st, struct lru_node *node)
{
    struct lru_mark *m = mark_of(st->index, node);
    if (!m && !mark_make(st->index, node)) {
        tp_lru_index_drop(st);
        return;
    }
    m = m ? m : mark_of(st->index, node);
    assert(!m->place.number);
    tp_tree_insert(&st->index->live, &m->place, live_less, NULL);
    m->place.number = 1;
}

void tp_lru_index_dead(struct lru *st, struct lru_node *node)
{
    struct lru_mark *m = mark_of(st->index, node);
    assert(m->place.number);
    tp_tree_remove(&st->index->live, &m->place, NULL);
    m->place.number = 0;
}

void tp_lru_index_free(struct lru *st, struct lru_node *node)
{
    struct lru_index *ix = st->index;
    struct lru_mark *m = mark_of(ix, node);
    const struct lru_work *w = st->several ? &node->work : NULL;
    bool added = !w || !w->pending || fence_add(ix, m, &w->freed);
    for (uint32_t i = 0; w && added && i < w->count; i++)
        added = fence_add(ix, m, &w->others[i]);
    if (!added) {
        tp_lru_index_drop(st);
        return;
    }
    m->key = node->block.shelf->key;
    m->age = ++ix->age;
    m->group = group_of(m);
    tp_tree_insert(&ix->free, &m->place, free_less, NULL);
    m->place.number = 1;
}

void tp_lru_index_gone(struct lru *st, struct lru_node *node)
{
    struct lru_index *ix = st->index;
    struct lru_mark *m = mark_of(ix, node);
    assert(m->place.number);
    tp_tree_remove(&ix->free, &m->place, NULL);
    m->place.number = 0;
    for (struct tp_link *l; (l = link_first(&m->fences));)
        fence_drop(ix, TP_LINKED(struct lru_fence, of_mark, l));
}

/* ---- making the index ---- */

static int by_serial(const void *a, const void *b)
{
    const struct lru_fence *const *x = a, *const *y = b;
    return tp_order((*x)->fence.serial, (*y)->fence.serial);
}

/* Sorts fences into the order of recording after they were added block by block. */
static bool index_sort(struct lru *st)
{
    struct lru_index *ix = st->index;
    uint64_t count = ix->fence_records.used, at = 0;
    struct lru_fence **fences = tp_meta_get(st->cache.env, (count + 1) * sizeof *fences);
    if (!fences)
        return false;
    for (struct tp_link *l = ix->all.behind; l != &ix->all; l = l->behind)
        fences[at++] = TP_LINKED(struct lru_fence, of_all, l);
    qsort(fences, count, sizeof *fences, by_serial);
    for (at = 0; at < count; at++) {
        tp_link_out(&fences[at]->of_stream);
        tp_link_out(&fences[at]->of_all);
        tp_link_insert(&ix->queues[fences[at]->fence.stream].fences, &fences[at]->of_stream);
        tp_link_insert(&ix->all, &fences[at]->of_all);
    }
    tp_meta_put(st->cache.env, fences, (count + 1) * sizeof *fences);
    return true;
}

/* Adds all existing nodes, the free blocks of each key from the oldest on. Free records have
 * numbers too: those that come later follow in the order of records, in which they are taken. */
void tp_lru_index_make(struct lru *st)
{
    const struct tp_addr_entry *e;
    struct lru_index *ix = st->index = index_new(st);
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (struct lru_node *n; st->index && (n = slab_next(&c));) {
        if (!mark_make(ix, n))
            tp_lru_index_drop(st);
        else if (n->block.refs)
            tp_lru_index_live(st, n);
    }
    for (uint64_t at = 0; st->index && (e = tp_addr_map_next(&st->cache.bins, &at));) {
        const struct cache_shelf *s = (const struct cache_shelf *)(uintptr_t)e->value;
        for (struct tp_link *l = s->ready.behind; st->index && l != &s->ready; l = l->behind)
            tp_lru_index_free(st, TP_LINKED(struct lru_node, block.on_shelf, l));
    }
    if (st->index && st->several && !index_sort(st))
        tp_lru_index_drop(st);
    st->shared |= st->index != NULL;
}

struct lru_node *tp_lru_index_find(struct lru *st, const struct lru_key *key, uint16_t stream)
{
    const uint64_t name = key->shelf.key, own = stream + UINT64_C(1);
    struct lru_node *newest = node_of(key_newest(key));
    if (!newest || !st->several)
        return newest;
    uint64_t group = mark_of(st->index, newest)->group;
    if (group == LRU_FOR_ALL || group == own) /* no block of another group is newer */
        return newest;
    index_poll(st);
    struct lru_mark *any = index_newest(st->index, name, LRU_FOR_ALL);
    struct lru_mark *here = index_newest(st->index, name, own);
    if (any && (!here || here->age < any->age))
        return any->node;
    return here ? here->node : NULL;
}

void tp_lru_index_synced(struct lru *st, uint16_t stream)
{
    if (stream == TP_ALL_STREAMS)
        index_poll(st);
    else if (stream < st->cache.env->streams)
        queue_poll(st, &st->index->queues[stream]);
}

struct lru_node *tp_lru_index_first(const struct lru *st)
{
    const struct lru_index *ix = st->index;
    return ix->live ? mark_at(tp_tree_first(ix->live))->node : NULL;
}

/* ---- never timed ---- */

static uint64_t index_count(const struct tp_tree_node *n)
{
    return n ? 1 + index_count(n->low) + index_count(n->high) : 0;
}

const char *tp_lru_index_fault(const struct lru *st, uint64_t live, uint64_t free_nodes)
{
    const struct lru_index *ix = st->index;
    struct slab_cursor c = slab_first(&st->cache.blocks);
    if (!ix)
        return NULL;
    if (index_count(ix->live) != live || index_count(ix->free) != free_nodes)
        return "the index counts live and free blocks";
    for (struct lru_node *n; (n = node_next(&c));) {
        const struct lru_mark *m = mark_of(ix, n);
        const struct cache_shelf *s = n->block.shelf;
        if (m->node != n || m->place.number != (n->block.refs || s))
            return "a block is in the index";
        if (s && !n->block.refs && (m->group != group_of(m) || m->key != s->key))
            return "a free block is in its group";
    }
    return NULL;
}
