/* The state of `arena` and its slow paths: carve, refill, large objects.
 *
 * arena.c has the contract and the fast paths. The policy is the order in which memory is searched:
 * a fitting free span, a shorter free span, the same again when idle blocks have been collected, a
 * new range, a new range of exactly the needed size. When the source refuses that too, all idle
 * memory is reclaimed and the search is repeated once before the answer is out of memory.
 *
 * Locks, in the order in which they are taken. All are off where one thread plays everything:
 *
 *     locks[c]    the pool of class c and its list of spans; never two at once
 *     heap        pages, writers of the chunk table, large objects, threads, source, tp_meta_get */
#ifndef TP_ARENA_CORE_H
#define TP_ARENA_CORE_H

#include "alloc/strategies/arena/arena_chunks.h"
#include "alloc/strategies/arena/arena_lists.h"

/* The next span of a class is this share of its pages, and about so many at most. */
enum { CARVE_SHARE = 8, CARVE_PAGES = (32 << 10) / ARENA_PAGE };

/* Freed large objects that wait for a request of their length: programs allocate and free buffers
 * of one length again and again. Any other request sends them to the tree first, where they merge,
 * so that the best fit is still found. */
enum { KEPT_SPANS = 8, KEPT_PAGES = (256 << 10) / ARENA_PAGE };
struct arena_kept {
    struct arena_span *spans[KEPT_SPANS]; /* oldest first; their addresses stay in `large` */
    uint64_t pages[KEPT_SPANS];           /* their lengths */
    uint32_t count;
};

/* When idle blocks were last collected: no more than so many times for each range, and after so
 * small a share of all pages was taken. */
enum { COLLECTS = 2, COLLECT_SHARE = 16 };
struct arena_collected {
    uint64_t range; /* sequence of the newest one */
    uint64_t taken; /* arena_pages.taken */
    uint32_t left;
};

struct arena {
    uint64_t direct;    /* sizes up to this many bytes take the fast paths; 0 with threads */
    uint64_t watched;   /* the same for free and resize; 0 also without `checks` */
    uint64_t alignment; /* copy of classes.alignment */
    struct arena_chunks chunks;
    struct arena_classes classes;
    bool shared;  /* env->concurrent */
    bool checked; /* option `checks` */
    const struct tp_env *env;
    struct arena_mem mem;
    struct tp_lock heap;
    struct tp_addr_map large; /* address -> struct arena_span * */
    struct arena_pages pages;
    struct arena_kept kept;
    struct arena_thread *threads; /* the newest thread; links lead to older ones */
    uint64_t refill_target;       /* bytes */
    struct arena_collected collected;
    struct arena_central central[ARENA_MAX_CLASSES];
    struct tp_lock *locks; /* one for each pool; NULL where one thread plays everything */
};

static inline void central_lock(const struct arena *st, uint32_t class)
{
    if (__builtin_expect(st->locks != NULL, 0))
        tp_lock_take(&st->locks[class]);
}

static inline void central_unlock(const struct arena *st, uint32_t class)
{
    if (__builtin_expect(st->locks != NULL, 0))
        tp_lock_drop(&st->locks[class]);
}

/* Marks a small block as live in the word of its live bit. */
static inline void word_set_live(const struct arena *st, uint64_t *word, tp_addr addr)
{
    if (st->shared) /* two threads' blocks may share the word */
        __atomic_fetch_or(word, chunk_bit(addr), __ATOMIC_ACQ_REL);
    else
        *word |= chunk_bit(addr);
}

/* Marks a small block as not live. False: another thread has just freed it, so this is a double
 * free. */
static inline bool word_clear_live(const struct arena *st, uint64_t *word, tp_addr addr)
{
    if (st->shared)
        return __atomic_fetch_and(word, ~chunk_bit(addr), __ATOMIC_ACQ_REL) & chunk_bit(addr);
    *word &= ~chunk_bit(addr);
    return true;
}

/* ---- in arena_pool.c; no lock is held but where it is said ---- */

/* Fills an empty cache from the pool: one block, then two, four and so on up to `refill`. Memory is
 * carved only if the pool is empty, and got from the source only if there are no free pages. After
 * a failure the cache is empty and nothing is lost. */
int tp_arena_refill(struct arena *st, struct arena_thread *thr, uint32_t class, bool again);

/* Makes room for one more block in a cache that is at its limit or whose array is full. Only where
 * there is no memory for its first array it stays without. */
void tp_arena_make_room(struct arena *st, struct arena_thread *thr, uint32_t class);

/* Gives a block that is in no list to the pool. */
void tp_arena_put(struct arena *st, uint32_t class, tp_addr addr);

/* Gives all blocks of a cache to the pool, and its array back. */
void tp_arena_empty(struct arena *st, struct arena_thread *thr, uint32_t class);

/* Turns idle spans of all classes into free pages, of cached blocks too. own: only this thread's
 * caches are emptied, because other threads are running; NULL: all caches are emptied. */
void tp_arena_reclaim(struct arena *st, struct arena_thread *own);

/* ---- spans: the heap lock is held ---- */

/* Takes a free span of `wanted` pages, or the longest of at least `least` pages. Where the two
 * differ, `align` must be no more than a page. */
static inline int span_from_tree(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
                                 enum arena_span_state state, struct arena_span **out)
{
    int rc = pages_take(&st->pages, wanted, align, state, out);
    if (rc != TP_EOOM || least == wanted)
        return rc;
    const struct arena_span *last = tree_last(&st->pages.free);
    if (!last || last->pages < least)
        return TP_EOOM;
    return pages_take(&st->pages, last->pages, align, state, out);
}

/* Gives wholly free ranges back, newest first, until at most `keep` bytes are free; only those that
 * have been so for `age` spans. */
static inline void arena_give_back(struct arena *st, uint64_t keep, uint64_t age)
{
    for (struct arena_range *r = st->pages.newest, *older; r && st->pages.idle_ranges; r = older) {
        older = r->older;
        if (st->pages.free_pages * ARENA_PAGE <= keep)
            return;
        tp_addr base = r->base;
        uint64_t bytes = r->pages * ARENA_PAGE;
        if (range_is_free(r) && st->pages.given - r->idle_since >= age &&
            !tp_arena_pages_put_range(&st->pages, r))
            tp_arena_chunks_forget(&st->chunks, base, bytes);
    }
}

/* Frees a span. Now and then, counted in spans and not in time, it looks for ranges that have long
 * been idle. */
static inline void arena_give(struct arena *st, struct arena_span *s)
{
    pages_give(&st->pages, s);
    if (LIKELY(st->pages.given < st->pages.next_look))
        return;
    st->pages.next_look = st->pages.given + ARENA_DECAY_STEP;
    arena_give_back(st, 0, ARENA_DECAY);
}

/* Turns the oldest `count` kept spans into free pages. */
static inline void kept_release(struct arena *st, uint32_t count)
{
    struct arena_kept *kept = &st->kept;
    for (uint32_t i = 0; i < count; i++) {
        tp_addr_map_remove(&st->large, span_addr(kept->spans[i]), NULL);
        arena_give(st, kept->spans[i]);
    }
    kept->count -= count;
    memmove(kept->spans, kept->spans + count, kept->count * sizeof *kept->spans);
    memmove(kept->pages, kept->pages + count, kept->count * sizeof *kept->pages);
}

/* Keeps a freed large span; there must be room for it. */
static inline void kept_add(struct arena *st, struct arena_span *s)
{
    assert(st->kept.count < KEPT_SPANS);
    s->state = ARENA_SPAN_KEPT;
    st->kept.pages[st->kept.count] = s->pages;
    st->kept.spans[st->kept.count++] = s;
}

/* The newest kept span of this length, no longer kept; NULL: none. */
static inline struct arena_span *kept_take(struct arena_kept *kept, uint64_t pages)
{
    for (uint32_t i = kept->count; i-- > 0;) {
        if (kept->pages[i] != pages)
            continue;
        struct arena_span *s = kept->spans[i];
        for (kept->count--; i < kept->count; i++) {
            kept->spans[i] = kept->spans[i + 1];
            kept->pages[i] = kept->pages[i + 1];
        }
        return s;
    }
    return NULL;
}

/* Where one thread plays everything: turns idle blocks into free pages before a range is got, a few
 * times for each range, so that a program that repeats itself soon needs neither; and not before
 * enough was taken since the last time. False: nothing was found. */
static inline bool arena_collect(struct arena *st)
{
    struct arena_collected *last = &st->collected;
    uint64_t before = st->pages.free_pages;
    if (last->range != st->pages.sequence)
        last->left = COLLECTS;
    last->range = st->pages.sequence;
    if (st->shared || !last->left ||
        (st->pages.taken - last->taken) * COLLECT_SHARE < st->pages.pages)
        return false;
    tp_arena_reclaim(st, NULL);
    last->left--;
    last->taken = st->pages.taken;
    return st->pages.free_pages != before;
}

/* Like span_from_tree, but also gets new ranges from the source. again: all idle memory was
 * reclaimed, so free ranges that are too small are given back first, after which the source may
 * have enough. */
static inline int arena_get_span(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
                                 enum arena_span_state state, bool again, struct arena_span **out)
{
    int rc = span_from_tree(st, wanted, least, align, state, out);
    if (rc != TP_EOOM)
        return rc;
    if (st->kept.count) {
        kept_release(st, st->kept.count);
        rc = span_from_tree(st, wanted, least, align, state, out);
        if (rc != TP_EOOM)
            return rc;
    }
    if (!again && arena_collect(st)) {
        rc = span_from_tree(st, wanted, least, align, state, out);
        if (rc != TP_EOOM)
            return rc;
    }
    if (again)
        arena_give_back(st, 0, 0);
    else
        rc = tp_arena_pages_grow_most(&st->pages, wanted * ARENA_PAGE, align);
    if (rc == TP_EOOM)
        rc = tp_arena_pages_grow(&st->pages, least * ARENA_PAGE, align, true);
    return rc ? rc : span_from_tree(st, wanted, least, align, state, out);
}

/* ---- large objects ---- */

static inline int large_locked(struct arena *st, const struct tp_req *rq, bool again,
                               struct tp_block *out)
{
    uint64_t pages = pages_of(rq->size);
    struct arena_span *s = rq->align <= ARENA_PAGE ? kept_take(&st->kept, pages) : NULL;
    int rc = TP_OK;
    if (s) {
        s->state = ARENA_SPAN_LARGE;
        *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
        return TP_OK;
    }
    kept_release(st, st->kept.count);
    rc = tp_addr_map_reserve(&st->large, st->large.count + 1);
    if (!rc)
        rc = arena_get_span(st, pages, pages, rq->align, ARENA_SPAN_LARGE, again, &s);
    if (rc)
        return rc;
    tp_addr_map_insert(&st->large, span_addr(s), (uintptr_t)s);
    *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
    return TP_OK;
}

/* The span of a live large object, or NULL. The heap lock is held. */
static inline struct arena_span *large_find(const struct arena *st, tp_addr addr)
{
    struct arena_span *s = meta_map_at(&st->large, addr);
    return s && s->state == ARENA_SPAN_LARGE ? s : NULL;
}

static inline int arena_free_large(struct arena *st, tp_addr addr, uint64_t size)
{
    tp_lock_take(&st->heap);
    struct arena_span *s = large_find(st, addr);
    bool fits = s && s->pages == pages_of(size);
    if (fits && s->pages <= KEPT_PAGES) {
        if (st->kept.count == KEPT_SPANS)
            kept_release(st, 1);
        kept_add(st, s);
    } else if (fits) {
        tp_addr_map_remove(&st->large, addr, NULL);
        arena_give(st, s);
    }
    tp_lock_drop(&st->heap);
    return fits ? TP_OK : TP_EINVAL;
}

/* ---- in arena_check.c ---- */

/* The members `walk` and `check` of the strategy. */
int tp_arena_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_arena_check(void *state, struct tp_err *err);

#endif
