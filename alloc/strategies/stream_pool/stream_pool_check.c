/* The check of the invariants of `stream-pool`, beside those of cache.c. */
#include "alloc/strategies/stream_pool/stream_pool_core.h"

/* Blocks and uses, to be compared with the lists. */
struct pool_sums {
    uint64_t ready, held, uses;
};

/* NULL, or what is wrong with a block. */
static const char *pool_check_block(const struct block *b, struct pool_sums *sums)
{
    uint64_t pending = 0;
    bool cached = b->block.shelf && !b->block.refs;
    for (const struct stream_use *u = b->uses; u; u = u->next) {
        sums->uses++;
        pending += u->queued;
        if (u->block != b || (u->queued && !cached))
            return "a use is not its block's";
    }
    if (pending != b->pending || (pending && !cached))
        return "a block is held without a pending use, or the other way round";
    sums->held += pending != 0;
    sums->ready += cached && !pending;
    return NULL;
}

/* Is a list of `queue` in order, with all blocks held or none? Adds its length to *count. */
static bool pool_check_ages(const struct tp_link *list, const struct stream_queue *queue, bool held,
                            uint64_t *count)
{
    uint64_t age = UINT64_MAX;
    for (const struct block *b = queue_newest(list); b; b = queue_older(list, b), ++*count) {
        if (b->in_list.behind->before != &b->in_list || block_shelf(b)->queue != queue ||
            (b->pending > 0) != held || b->age >= age)
            return false;
        age = b->age;
    }
    return true;
}

/* Do the blocks of a shelf's list lie there by age, and as held ones or as ready ones? */
static bool pool_check_shelf(const struct tp_link *list, bool held)
{
    uint64_t age = 0;
    for (const struct tp_link *l = list->behind; l != list; l = l->behind) {
        const struct block *b = TP_LINKED(const struct block, block.on_shelf, l);
        if ((b->pending > 0) != held || b->age <= age)
            return false;
        age = b->age;
    }
    return true;
}

static const char *pool_check_bins(const struct pool *st, const struct pool_sums *sums)
{
    const struct tp_addr_entry *e;
    uint64_t held = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->cache.bins, &at));)
        for (struct shelf *s = bin_find(st, e->key); s; s = shelf_next(s)) {
            if (s->shelf.stream != s->queue->stream)
                return "a shelf is in the wrong stream queue";
            if (!tp_cache_check_list(&s->held, &s->shelf, &held) ||
                !pool_check_shelf(&s->held, true) || !pool_check_shelf(&s->shelf.ready, false))
                return "the list of a shelf is broken";
        }
    return held != sums->held || held != st->held ? "a held block is on no shelf" : NULL;
}

static const char *pool_check_queues(const struct pool *st, const struct pool_sums *sums)
{
    uint64_t ready = 0, held = 0, queues = 0, queued = 0;
    for (const struct stream_queue *queue = st->queues; queue; queue = queue->next) {
        queues++;
        if (!pool_check_ages(&queue->ready, queue, false, &ready) ||
            !pool_check_ages(&queue->held, queue, true, &held))
            return "the blocks of a stream are out of order";
        const struct tp_link *l = queue->fences.behind;
        for (; l != &queue->fences; l = l->behind, queued++) {
            const struct stream_use *u = TP_LINKED(struct stream_use, in_queue, l);
            const struct block *b = u->block;
            if (!u->queued || use_queue(u) != queue || !b->pending || l->behind->before != l)
                return "the queue of a stream is broken";
        }
    }
    if (queues != st->queue_of.count || ready != sums->ready || held != sums->held)
        return "a cached block is in no stream";
    return queued >= sums->held ? NULL : "a held block waits for nothing";
}

int tp_stream_pool_check(void *state, struct tp_err *err)
{
    const struct pool *st = state;
    struct cache_sums all = {0};
    struct pool_sums sums = {0};
    const char *fault = tp_cache_check(&st->cache, &all);
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (const struct block *b; !fault && (b = slab_next(&c));)
        fault = b->block.allocated ? pool_check_block(b, &sums) : NULL;
    if (!fault && all.ready != sums.ready)
        fault = "a ready block is on no shelf";
    if (!fault)
        fault = pool_check_bins(st, &sums);
    if (!fault)
        fault = pool_check_queues(st, &sums);
    if (!fault && sums.uses != st->uses.used)
        fault = "a use is lost";
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'stream-pool': %s", fault) : TP_OK;
}
