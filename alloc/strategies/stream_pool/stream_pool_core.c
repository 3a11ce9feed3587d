/* The slow paths of `stream-pool`: blocks into and out of the cache, fences, and giving back.
 *
 * Only pool_wait waits for a stream. It is called for a request with cross_stream=wait, when memory
 * is exhausted, in trim and in fini. */
#include "alloc/strategies/stream_pool/stream_pool_core.h"

void tp_stream_pool_drop_ranks(struct pool *st)
{
    tp_stream_pool_ranks_free(st->ranks);
    st->ranks = NULL;
}

void tp_stream_pool_rank_shelf(struct pool *st, struct shelf *s)
{
    const struct block *b = shelf_oldest(&s->shelf.ready);
    if (!st->ranks)
        return;
    struct rank to = {.bin = s->shelf.bin, .oldest = b ? b->age : 0};
    to.late = to.oldest > rank_synced(st->ranks, s->shelf.stream);
    if (!tp_stream_pool_rank_file(st->ranks, RANK_SHELF, s, to))
        tp_stream_pool_drop_ranks(st);
}

void tp_stream_pool_rank_held(struct pool *st, struct shelf *s)
{
    if (!st->ranks || st->cross_stream != CROSS_WAIT)
        return;
    const struct block *b = shelf_oldest(&s->held);
    struct rank to = {.bin = s->shelf.bin, .oldest = b ? b->age : 0};
    s->waits = true;
    if (!tp_stream_pool_rank_file(st->ranks, RANK_HELD, s, to))
        tp_stream_pool_drop_ranks(st);
}

void tp_stream_pool_rank_queue(struct pool *st, struct stream_queue *queue)
{
    if (!st->ranks)
        return;
    const struct block *b = queue_oldest(queue);
    const struct stream_use *u = uses_first(&queue->fences);
    struct rank age = {.oldest = b ? b->age : 0}, fence = {.oldest = u ? u->fence.serial : 0};
    age.late = age.oldest > rank_synced(st->ranks, queue->stream);
    if (!tp_stream_pool_rank_file(st->ranks, RANK_LANE_AGE, queue, age) ||
        !tp_stream_pool_rank_file(st->ranks, RANK_LANE_FENCE, queue, fence))
        tp_stream_pool_drop_ranks(st);
}

void tp_stream_pool_rank_use(struct pool *st, const struct stream_use *u)
{
    if (st->ranks &&
        tp_addr_map_insert(&st->ranks->uses, rank_use_key(u->block, u->fence.stream), 1))
        tp_stream_pool_drop_ranks(st);
}

static uint64_t age_of(const struct tp_link *link, size_t offset)
{
    return ((const struct block *)(const void *)((const char *)link - offset))->age;
}

/* Inserts a block by age into a list whose links lie `offset` bytes into their blocks. Its place is
 * searched from both ends, because it is usually near one of them. */
static void file_by_age(struct tp_link *list, struct block *b, size_t offset)
{
    struct tp_link *up = list->behind, *down = list;
    while (up != list && age_of(up, offset) < b->age) {
        if (down->before == list || age_of(down->before, offset) < b->age) {
            up = down;
            break;
        }
        up = up->behind;
        down = down->before;
    }
    tp_link_insert(up, (struct tp_link *)(void *)((char *)b + offset));
}

/* Ends a use: unlinks it and frees its record. */
static void pool_give_use(struct pool *st, struct stream_use *u)
{
    if (__builtin_expect(st->ranks != NULL, 0))
        tp_addr_map_remove(&st->ranks->uses, rank_use_key(u->block, u->fence.stream), NULL);
    slab_give(&st->uses, u);
}

enum { POOL_FEW_SHELVES = 16 };

/* Sets the fence of the blocks of a list that were freed after `age`. */
static void set_fences(const struct tp_link *list, uint64_t age, struct tp_fence fence)
{
    for (struct block *b = queue_newest(list); b && b->age > age; b = queue_older(list, b))
        b->fence = fence;
}

static bool is_newer(const struct tp_link *list, uint64_t age)
{
    const struct block *b = queue_newest(list);
    return b && b->age > age;
}

/* For a lazy pool: records one fence per stream for all blocks freed since the last call. The fence
 * is later than each free, so it passes late, but never early. Must be called before fences are
 * checked. */
static void pool_record(struct pool *st)
{
    for (struct stream_queue *queue = st->queues; st->lazy && queue; queue = queue->next) {
        struct tp_fence fence;
        if (!is_newer(&queue->ready, queue->recorded) && !is_newer(&queue->held, queue->recorded))
            continue;
        tp_src_record(st->cache.env->source, queue->stream, &fence);
        set_fences(&queue->ready, queue->recorded, fence);
        set_fences(&queue->held, queue->recorded, fence);
        queue->recorded = st->age;
    }
}

/* For a lazy pool: the stream was synchronised, so blocks without a fence need none. */
static void pool_synced(struct pool *st, struct stream_queue *queue)
{
    set_fences(&queue->ready, queue->recorded, (struct tp_fence){0});
    set_fences(&queue->held, queue->recorded, (struct tp_fence){0});
    queue->recorded = st->age;
}

/* ---- into and out of the cache ---- */

/* Ends all uses of a block that was allocated again or whose uses have passed. */
static void block_drop_uses(struct pool *st, struct block *b)
{
    for (struct stream_use *u = b->uses, *next; u; u = next) {
        next = u->next;
        if (u->queued) {
            uses_dequeue(u);
            tp_stream_pool_rank_queue(st, use_queue(u));
        }
        pool_give_use(st, u);
    }
    b->uses = NULL;
    b->pending = 0;
}

void tp_stream_pool_fence_uses(struct pool *st, struct block *b, const struct stream_queue *queue)
{
    for (struct stream_use **at = &b->uses, *u; (u = *at);) {
        if (use_queue(u) == queue) {
            *at = u->next;
            pool_give_use(st, u);
            continue;
        }
        uses_queue(st->cache.env->source, u);
        tp_stream_pool_rank_queue(st, use_queue(u));
        b->pending++;
        at = &u->next;
    }
}

/* Takes a cached block, ready or held, out of the cache. Its shelf still counts it. */
static void pool_uncache(struct pool *st, struct block *b)
{
    struct shelf *shelf = block_shelf(b);
    if (b->pending) {
        block_drop_uses(st, b);
        st->held--;
    }
    cache_take(&st->cache, &b->block);
    tp_link_out(&b->in_list);
    tp_stream_pool_rank_shelf(st, shelf);
    tp_stream_pool_rank_queue(st, shelf->queue);
}

/* Processes passed fences of uses on this stream. A held block becomes ready when the last of its
 * fences has passed. */
static void pool_poll_queue(struct pool *st, struct stream_queue *queue)
{
    for (struct stream_use *u; (u = uses_passed(st->cache.env->source, &queue->fences));) {
        struct block *b = u->block;
        if (--b->pending)
            continue;
        struct shelf *shelf = block_shelf(b);
        block_drop_uses(st, b);
        tp_link_out(&b->block.on_shelf);
        tp_link_out(&b->in_list);
        st->held--;
        file_by_age(&shelf->shelf.ready, b, offsetof(struct block, block.on_shelf));
        file_by_age(&shelf->queue->ready, b, offsetof(struct block, in_list));
        tp_stream_pool_rank_shelf(st, shelf);
    }
    tp_stream_pool_rank_queue(st, queue);
}

/* Turns held blocks ready whose other streams are past them. Where fences pass in order, the fence
 * recorded first tells whether any has passed; fences of synchronised streams were processed at the
 * sync. */
static void pool_poll(struct pool *st)
{
    while (st->held && pool_is_ordered(st)) {
        const struct rank *first = tp_stream_pool_rank_from(st->ranks, RANK_LANE_FENCE, 0, 0, 0);
        struct stream_queue *queue = first ? first->owner : NULL;
        if (!queue || !pool_passed(st, &uses_first(&queue->fences)->fence))
            return;
        pool_poll_queue(st, queue);
    }
    for (struct stream_queue *queue = st->queues; queue && st->held; queue = queue->next) {
        TP_STEP();
        pool_poll_queue(st, queue);
    }
}

/* Notes that a stream is past all blocks freed on it up to `age`. Files its shelves again, because
 * these blocks can now be reused. Each block is processed once. */
static void pool_rank_synced(struct pool *st, struct stream_queue *queue, uint64_t age)
{
    uint64_t before = rank_synced(st->ranks, queue->stream);
    if (!rank_note_synced(st->ranks, queue->stream, age))
        tp_stream_pool_drop_ranks(st);
    struct block *b = queue_newest(&queue->ready);
    for (; b && b->age > before; b = queue_older(&queue->ready, b))
        if (shelf_oldest(&b->block.shelf->ready) == b)
            tp_stream_pool_rank_shelf(st, block_shelf(b));
    pool_poll_queue(st, queue);
}

/* The age of the newest block of a list whose own fence has passed; 0: none. */
static uint64_t newest_passed(const struct pool *st, const struct tp_link *list)
{
    const struct block *b = queue_newest(list);
    while (b && !pool_passed(st, &b->fence))
        b = queue_older(list, b);
    return b ? b->age : 0;
}

/* Makes the ranks when the pool reaches many streams, and files all shelves and queues. */
static void pool_make_ranks(struct pool *st)
{
    st->ranks = tp_stream_pool_ranks_new(st->cache.env);
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (struct block *b; st->ranks && (b = slab_next(&c));) {
        struct shelf *shelf = b->block.allocated ? block_shelf(b) : NULL;
        for (const struct stream_use *u = shelf ? b->uses : NULL; u; u = u->next)
            tp_stream_pool_rank_use(st, u);
        if (shelf && shelf_oldest(&shelf->shelf.ready) == b)
            tp_stream_pool_rank_shelf(st, shelf);
        if (shelf && shelf_oldest(&shelf->held) == b)
            tp_stream_pool_rank_held(st, shelf);
    }
    for (struct stream_queue *queue = st->queues; queue && st->ranks; queue = queue->next) {
        uint64_t ready = newest_passed(st, &queue->ready), held = newest_passed(st, &queue->held);
        pool_rank_synced(st, queue, ready > held ? ready : held);
    }
}

/* Waits until all fences of a cached block have passed. `here`: the block is reused on its own
 * stream, so the fence of its free does not count. */
static int pool_wait(struct pool *st, const struct block *b, bool here)
{
    int rc = TP_OK;
    if (!here && !pool_passed(st, &b->fence))
        rc = tp_src_wait(st->cache.env->source, &b->fence);
    for (const struct stream_use *u = b->uses; u && !rc; u = u->next)
        if (!pool_passed(st, &u->fence))
            rc = tp_src_wait(st->cache.env->source, &u->fence);
    return rc;
}

/* ---- making queues and shelves ---- */

/* The queue of a stream, made if it is missing; NULL: out of memory. Queues are kept, so there are
 * at most as many as the program has streams. */
static struct stream_queue *queue_make(struct pool *st, uint16_t stream)
{
    struct stream_queue *known = queue_find(st, stream);
    if (known)
        return known;
    if (tp_addr_map_reserve(&st->queue_of, st->queue_of.count + 1))
        return NULL;
    struct stream_queue *queue = slab_take(&st->queue_records);
    if (!queue)
        return NULL;
    queue->stream = stream;
    tp_link_init(&queue->ready);
    tp_link_init(&queue->held);
    tp_link_init(&queue->fences);
    if (st->last_queue)
        st->last_queue->next = queue;
    else
        st->queues = queue;
    st->last_queue = queue;
    tp_addr_map_insert(&st->queue_of, UINT64_C(1) + stream, (uintptr_t)queue);
    if (__builtin_expect(st->queue_of.count >= RANKS_FROM_LANES, 0) && st->eager && !st->ranks)
        pool_make_ranks(st);
    return queue;
}

/* The shelf of a key and stream, made if it is missing; NULL: out of memory. A new shelf has no
 * blocks: it must get one or be released. */
static struct shelf *shelf_make(struct pool *st, uint64_t key, uint16_t stream)
{
    struct shelf *s = shelf_find(st, key, stream);
    if (s)
        return s;
    struct stream_queue *queue = queue_make(st, stream);
    s = queue ? pool_shelf(tp_cache_shelf_make(&st->cache, key, stream)) : NULL;
    if (!s)
        return NULL;
    s->queue = queue;
    tp_link_init(&s->held);
    st->recent[recent_index(key, stream)] = s;
    return s;
}

/* ---- giving back ---- */

/* The queue whose oldest block is the first from `age` on, among queues whose stream is past that
 * block (`late` 0) or not (1); NULL: none. */
static struct stream_queue *pool_queue_from(struct pool *st, uint64_t late, uint64_t age)
{
    while (st->ranks) {
        const struct rank *e = tp_stream_pool_rank_from(st->ranks, RANK_LANE_AGE, 0, late, age);
        if (!e || e->late != late)
            break;
        struct stream_queue *queue = e->owner;
        if (queue_oldest(queue) && queue_oldest(queue)->age == e->oldest)
            return queue;
        tp_stream_pool_rank_queue(st, queue);
    }
    return NULL;
}

/* The oldest cached block of all, whatever its fences say; NULL: none. */
static struct block *pool_oldest(struct pool *st)
{
    struct block *best = NULL;
    for (uint64_t late = 0; late < 2 && st->ranks; late++) {
        const struct stream_queue *queue = pool_queue_from(st, late, 0);
        best = queue ? block_older(best, queue_oldest(queue)) : best;
    }
    if (st->ranks)
        return best;
    for (const struct stream_queue *queue = st->queues; queue; queue = queue->next) {
        TP_STEP();
        best = block_older(best, queue_oldest(queue));
    }
    return best;
}

/* pool_oldest_passed for a source whose fences pass in order: among streams that were not
 * synchronised, no fence after a pending one has passed. */
static struct block *pool_oldest_ordered(struct pool *st)
{
    struct block *best = NULL;
    for (uint64_t late = 0; late < 2; late++) {
        uint64_t end = best ? best->age : UINT64_MAX;
        const struct stream_queue *queue = pool_queue_from(st, late, 0);
        while (queue && queue_oldest(queue)->age < end) {
            struct block *b = queue_ready(queue);
            bool passed = b && pool_passed(st, &b->fence);
            if (passed && (!best || b->age < best->age))
                best = b;
            if (b && b->age < end && (passed || late))
                end = b->age;
            queue = pool_queue_from(st, late, queue_oldest(queue)->age + 1);
        }
    }
    return best;
}

/* The oldest block that could be given back at once; NULL: none. Fences along a queue pass in
 * order, so a pending one ends the search of that queue. pool_poll must be called first. */
static struct block *pool_oldest_passed(struct pool *st)
{
    struct block *best = pool_is_ordered(st) ? pool_oldest_ordered(st) : NULL;
    if (pool_is_ordered(st))
        return best;
    for (const struct stream_queue *queue = st->queues; queue; queue = queue->next) {
        struct block *b = queue_ready(queue);
        TP_STEP();
        if (b && (!best || b->age < best->age) && pool_passed(st, &b->fence))
            best = b;
    }
    return best;
}

/* Gives a cached block back and returns the bytes that the source took. A refused block leaves the
 * cache and is kept in a list of its own. */
static uint64_t pool_give_back(struct pool *st, struct block *b)
{
    uint64_t bytes = cache_range(&st->cache, b->block.allocated);
    pool_uncache(st, b);
    shelf_release(st, block_shelf(b));
    if (tp_cache_put(&st->cache, &b->block))
        return bytes;
    tp_cache_set_aside(&st->cache, &b->block);
    return 0;
}

static bool pool_put_refused(void *state, struct refused *r)
{
    struct pool *st = state;
    return tp_cache_put(&st->cache, cache_of_refused(r));
}

void tp_stream_pool_limit(struct pool *st)
{
    pool_record(st);
    pool_poll(st);
    for (struct block *b; cache_is_over(&st->cache) && (b = pool_oldest_passed(st));)
        pool_give_back(st, b);
}

/* What a driver does when a stream is synchronised: gives back what was freed on it, the oldest
 * first, down to the release threshold. What another stream may still use stays. */
static void pool_release(struct pool *st, struct stream_queue *queue)
{
    pool_poll_queue(st, queue);
    for (struct block *b; st->cache.carved.now > st->release_threshold &&
                          (b = queue_ready(queue)) && pool_passed(st, &b->fence);)
        pool_give_back(st, b);
}

/* The same when the device is synchronised. */
static void pool_release_all(struct pool *st)
{
    pool_poll(st);
    for (struct block *b;
         st->cache.carved.now > st->release_threshold && (b = pool_oldest_passed(st));)
        pool_give_back(st, b);
}

/* Gives back cached blocks, oldest first, until at most `keep` bytes are cached. Waits for their
 * fences. */
static int drain(struct pool *st, uint64_t keep)
{
    pool_record(st);
    for (struct block *b; st->cache.cached_bytes > keep && (b = pool_oldest(st));) {
        int rc = pool_wait(st, b, false);
        if (rc)
            return rc;
        pool_give_back(st, b);
    }
    return TP_OK;
}

/* ---- blocks for a request ---- */

/* Gets a range from the source. If it refuses, gives back all free blocks, then waits for pending
 * ones, oldest first, until there is room. */
static int pool_get_range(struct pool *st, uint64_t bytes, uint64_t align, tp_addr *addr)
{
    struct tp_source *source = st->cache.env->source;
    pool_record(st);
    int rc = tp_src_get(source, bytes, align, addr);
    if (__builtin_expect(rc != TP_EOOM, 1))
        return rc;
    uint64_t given = refused_retry(&st->cache.refused, pool_put_refused, st);
    pool_poll(st);
    for (struct block *b; (b = pool_oldest_passed(st));)
        given += pool_give_back(st, b);
    if (given)
        rc = tp_src_get(source, bytes, align, addr);
    given = 0;
    for (struct block *b; rc == TP_EOOM && (b = pool_oldest(st));) {
        if (pool_wait(st, b, false))
            break;
        given += pool_give_back(st, b);
        if (given < bytes && st->cache.cached)
            continue;
        rc = tp_src_get(source, bytes, align, addr);
        given = 0;
    }
    return rc;
}

/* The oldest ready block of a bin, among streams that are past it (`late` 0) or not (1), or the
 * oldest held block; NULL: none. */
static struct block *pool_first_of_bin(struct pool *st, enum rank_of of, uint64_t bin,
                                       uint64_t late)
{
    while (st->ranks) {
        const struct rank *e = tp_stream_pool_rank_from(st->ranks, of, bin, late, 0);
        if (!e || e->late != late)
            break;
        struct shelf *s = e->owner;
        struct block *b = shelf_oldest(of == RANK_HELD ? &s->held : &s->shelf.ready);
        if (b && b->age == e->oldest)
            return b;
        /* the block that the shelf was filed under has gone */
        if (of == RANK_HELD)
            tp_stream_pool_rank_held(st, s);
        else
            tp_stream_pool_rank_shelf(st, s);
    }
    return NULL;
}

/* The oldest ready block of a bin that can be reused, for a source whose fences pass in order:
 * among streams that were not synchronised, only the oldest block needs to be checked. */
static struct block *pool_elsewhere_ordered(struct pool *st, uint64_t bin)
{
    struct block *best = NULL;
    for (uint64_t late = 0; late < 2; late++) {
        struct block *b = pool_first_of_bin(st, RANK_SHELF, bin, late);
        if (b && (!best || b->age < best->age) && pool_passed(st, &b->fence))
            best = b;
    }
    return best;
}

/* The oldest cached block of a bin, whether its fences have passed or not; NULL: none. The first
 * few shelves are always searched one by one. */
static struct block *pool_oldest_of_bin(struct pool *st, const struct shelf *bin)
{
    struct block *best = NULL;
    const struct shelf *s = bin;
    for (unsigned n = 0; s && (n < POOL_FEW_SHELVES || !st->ranks); s = shelf_next(s), n++) {
        TP_STEP();
        best =
            block_older(block_older(best, shelf_oldest(&s->shelf.ready)), shelf_oldest(&s->held));
    }
    for (uint64_t late = 0; s && late < 2; late++)
        best = block_older(best, pool_first_of_bin(st, RANK_SHELF, bin->shelf.bin, late));
    best = s ? block_older(best, pool_first_of_bin(st, RANK_HELD, bin->shelf.bin, 0)) : best;
    for (; s && !st->ranks; s = shelf_next(s)) /* the ranks were dropped for lack of memory */
        best =
            block_older(block_older(best, shelf_oldest(&s->shelf.ready)), shelf_oldest(&s->held));
    return best;
}

/* A block of another stream from the bin of `own`, which has nothing ready: the oldest whose fence
 * has passed, else, with cross_stream=wait, the oldest of all after waiting for it. NULL: none. */
static struct block *pool_elsewhere(struct pool *st, const struct shelf *own)
{
    struct block *best = NULL;
    if (st->cross_stream == CROSS_NEVER)
        return NULL;
    const struct shelf *bin = bin_find(st, own->shelf.key);
    if (bin->shelf.next)
        pool_record(st);
    if (pool_is_ordered(st))
        best = pool_elsewhere_ordered(st, own->shelf.bin);
    for (const struct shelf *s = pool_is_ordered(st) ? NULL : bin; s; s = shelf_next(s)) {
        struct block *b = shelf_oldest(&s->shelf.ready);
        TP_STEP();
        if (b && (!best || b->age < best->age) && pool_passed(st, &b->fence))
            best = b;
    }
    if (best || st->cross_stream != CROSS_WAIT)
        return best;
    best = pool_oldest_of_bin(st, bin);
    return best && pool_wait(st, best, block_shelf(best) == own) == TP_OK ? best : NULL;
}

/* Gets a block for `shelf`, which has nothing ready. The shelf already counts the block. */
static int pool_obtain(struct pool *st, struct shelf *shelf, uint64_t allocated, uint64_t align,
                       struct cache_block **out)
{
    struct block *b = pool_elsewhere(st, shelf);
    if (b) {
        pool_uncache(st, b);
        shelf_release(st, block_shelf(b));
        b->block.shelf = &shelf->shelf;
        *out = &b->block;
        return TP_OK;
    }
    tp_addr addr = 0;
    int rc = cache_reserve(&st->cache);
    if (!rc)
        rc = pool_get_range(st, cache_range(&st->cache, allocated), align, &addr);
    if (!rc)
        *out = cache_enter(&st->cache, &shelf->shelf, addr, allocated);
    return rc;
}

/* ---- operations off the fast paths ---- */

int tp_stream_pool_alloc_slow(struct pool *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > POOL_MAX_BYTES)
        return TP_EOOM;
    if (st->held)
        pool_poll(st);
    uint64_t allocated = rounded(st, rq->size), key = key_of(st, allocated, rq->align);
    struct shelf *shelf = shelf_make(st, key, rq->stream);
    if (!shelf)
        return TP_ENOMEM;
    if (shelf_newest(&shelf->shelf.ready))
        return cache_hand_out(&pool_pop(st, shelf)->block, rq, out);
    struct cache_block *b = NULL;
    shelf->shelf.blocks++; /* before the block arrives, so that the shelf is not freed */
    int rc = pool_obtain(st, shelf, allocated, key_align(st, key), &b);
    if (rc) {
        shelf_release(st, shelf);
        return rc;
    }
    return cache_hand_out(b, rq, out);
}

int tp_stream_pool_change_shelf(struct pool *st, struct block *b, uint16_t stream)
{
    struct shelf *shelf = shelf_make(st, b->block.shelf->key, stream);
    if (!shelf)
        return TP_ENOMEM;
    shelf->shelf.blocks++;
    shelf_release(st, block_shelf(b));
    b->block.shelf = &shelf->shelf;
    return TP_OK;
}

/* The adopted range has the size rounded up to whole pages, as the source gave it. */
int tp_stream_pool_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                         struct tp_block *out)
{
    struct pool *st = state;
    (void)thread;
    if (!tp_cache_adopts(&st->cache, addr, rq, POOL_MAX_BYTES))
        return TP_EINVAL;
    uint64_t allocated = rounded(st, rq->size), range = cache_range(&st->cache, rq->size);
    if (allocated > range)
        allocated = range;
    int rc = cache_reserve(&st->cache);
    if (rc)
        return rc;
    struct shelf *shelf = shelf_make(st, key_of(st, allocated, rq->align), rq->stream);
    if (!shelf)
        return TP_ENOMEM;
    shelf->shelf.blocks++;
    return cache_hand_out(cache_enter(&st->cache, &shelf->shelf, addr, allocated), rq, out);
}

static bool was_used_on(const struct pool *st, const struct block *b, uint16_t stream)
{
    if (st->ranks)
        return tp_addr_map_find(&st->ranks->uses, rank_use_key(b, stream)) != NULL;
    return uses_have(b->uses, stream);
}

/* A use is noted once per stream; its fence is recorded when the block is freed. */
int tp_stream_pool_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    struct pool *st = state;
    struct block *b = block_find_live(st, addr);
    (void)thread;
    if (!b)
        return TP_EINVAL;
    if (!st->fenced || was_used_on(st, b, stream))
        return TP_OK;
    struct stream_queue *queue = queue_make(st, stream);
    struct stream_use *u = queue ? uses_note(&st->uses, &b->uses, b, stream, &queue->fences) : NULL;
    if (u)
        tp_stream_pool_rank_use(st, u);
    return u ? TP_OK : TP_ENOMEM;
}

/* ---- all at once ---- */

static void free_all(struct pool *st)
{
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (struct block *b; (b = slab_next(&c));)
        if (b->block.refs)
            pool_cache(st, b);
}

void tp_stream_pool_give_all(struct pool *st)
{
    free_all(st);
    while (drain(st, 0))
        pool_give_back(st, pool_oldest(st));
    refused_retry(&st->cache.refused, pool_put_refused, st);
    tp_stream_pool_drop_ranks(st);
}

int tp_stream_pool_reset(void *state)
{
    free_all(state);
    tp_stream_pool_limit(state);
    return TP_OK;
}

int tp_stream_pool_trim(void *state, uint64_t keep)
{
    struct pool *st = state;
    refused_retry(&st->cache.refused, pool_put_refused, st);
    return drain(st, keep);
}

int tp_stream_pool_sync(void *state, void *thread, uint16_t stream)
{
    struct pool *st = state;
    struct stream_queue *only = stream == TP_ALL_STREAMS ? NULL : queue_find(st, stream);
    (void)thread;
    for (struct stream_queue *queue = st->queues; queue && st->lazy; queue = queue->next)
        if (stream == TP_ALL_STREAMS || queue == only)
            pool_synced(st, queue);
    if (pool_is_ordered(st) && only)
        pool_rank_synced(st, only, st->age);
    if (only)
        pool_release(st, only);
    else if (stream == TP_ALL_STREAMS)
        pool_release_all(st);
    if (cache_is_over(&st->cache))
        tp_stream_pool_limit(st);
    return TP_OK;
}
