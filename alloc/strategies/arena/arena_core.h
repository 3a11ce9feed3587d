/* The state of `arena` and its slow paths: carve, refill, large objects.
 *
 * arena.c has the contract and the fast paths. The design is the order in which memory is
 * searched: a fitting free span, a shorter free span, the same again when idle blocks have been
 * collected, a new range, a new range of exactly the needed size. When the source refuses that too,
 * all idle memory is reclaimed and the search is repeated once before the answer is out of memory.
 *
 * Locks, in the order in which they are taken. All are off where one thread replays everything:
 *
 *     owners->locks[c]      the pool of class c that no thread owns; never two at once
 *     heap                  pages, writers of the chunk table, large objects, owners without a
 *                           thread, source, tp_meta_get
 */
#ifndef TP_ARENA_CORE_H
#define TP_ARENA_CORE_H

#include "alloc/strategies/arena/arena_chunks.h"
#include "alloc/strategies/arena/arena_owner.h"

/* The next span of a class is this share of its pages, and about so many at most. */
enum { CARVE_SHARE = 8, CARVE_PAGES = (32 << 10) / ARENA_PAGE };

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
    struct arena_thread *threads; /* one OS thread: those that are stocked, the newest first */
    uint64_t refill_target;       /* bytes */
    struct arena_collected collected;
    struct arena_central central[ARENA_MAX_CLASSES];
    struct arena_owners *owners; /* NULL where one thread replays everything */
};

/* The pool of a class that a thread's cache is filled from, and the thread's kept spans. */
static inline struct arena_central *pool_of(struct arena *st, struct arena_thread *thr,
                                            uint32_t size_class)
{
    return UNLIKELY(st->owners != NULL) ? &thr->owner->pools[size_class] : &st->central[size_class];
}

static inline struct arena_kept *kept_of(struct arena *st, struct arena_thread *thr)
{
    return UNLIKELY(st->owners != NULL) ? &thr->owner->kept : &st->kept;
}

/* Where one thread replays everything: a thread's caches may hold blocks from now on, or no more.
 */
static inline void thread_link(struct arena *st, struct arena_thread *thr)
{
    thr->stocked = true;
    thr->newer = NULL;
    thr->older = st->threads;
    if (thr->older)
        thr->older->newer = thr;
    st->threads = thr;
}

static inline void thread_unlink(struct arena *st, struct arena_thread *thr)
{
    thr->stocked = false;
    if (thr->newer)
        thr->newer->older = thr->older;
    else
        st->threads = thr->older;
    if (thr->older)
        thr->older->newer = thr->newer;
}

/* Marks a block as live in the word of its live bit, which only the block's owner writes. */
static inline void word_set_live(uint64_t *word, tp_addr addr)
{
    uint64_t bits = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, bits | chunk_bit(addr), __ATOMIC_RELAXED);
}

static inline void word_clear_live(uint64_t *word, tp_addr addr)
{
    uint64_t bits = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, bits & ~chunk_bit(addr), __ATOMIC_RELAXED);
}

/* ---- in arena_pool.c; no lock is held but where it is said ---- */

/* Fills an empty cache from the pool: one block, then two, four and so on up to `refill`. Memory is
 * carved only if the pool is empty, and got from the source only if there are no free pages. After
 * a failure the cache is empty and nothing is lost. */
int tp_arena_refill(struct arena *st, struct arena_thread *thr, uint32_t size_class, bool again);

/* Makes room for one more block in a cache that is at its limit or whose array is full. Only where
 * there is no memory for its first array it stays without. */
void tp_arena_make_room(struct arena *st, struct arena_thread *thr, uint32_t size_class);

/* Gives a block that is in no list to the thread's pool. */
void tp_arena_put(struct arena *st, struct arena_thread *thr, uint32_t size_class, tp_addr addr);

/* Gives all blocks of a cache to the pool, and its array back. */
void tp_arena_empty(struct arena *st, struct arena_thread *thr, uint32_t size_class);

/* Turns idle spans of all classes into free pages, of cached blocks too. own: only this thread's
 * caches are emptied, because other threads are running; NULL: all caches are emptied. */
void tp_arena_reclaim(struct arena *st, struct arena_thread *own);

/* After the last block of a span was pooled: the span is kept or becomes free pages. */
void tp_arena_span_is_idle(struct arena *st, struct arena_central *pool, struct arena_span *s);

/* Turns all idle spans of a pool into free pages but for so many. */
void tp_arena_release_idle(struct arena *st, struct arena_central *pool, uint64_t keep);

/* ---- in arena_owners.c, where several OS threads replay; no lock is held ---- */

int tp_arena_owners_init(struct arena *st);
void tp_arena_owners_fini(struct arena *st);
int tp_arena_owner_start(struct arena *st, struct arena_thread *thr);
void tp_arena_owner_end(struct arena *st, struct arena_thread *thr);

/* Fills an empty pool, of an empty cache, from what other threads have freed, else from a span that
 * nobody owns. Where there is neither it stays empty. */
void tp_arena_gather(struct arena *st, struct arena_thread *thr, uint32_t size_class);

/* What is wrong with the lists of words that others than their owners have freed; NULL: nothing. No
 * thread is running. */
const char *tp_arena_frees_fault(const struct arena *st);

/* Takes back what other threads have freed, and makes idle spans free pages: of this thread and of
 * what nobody owns; NULL: of all threads, none of which is running. */
void tp_arena_reclaim_owned(struct arena *st, struct arena_thread *own);

/* Frees a live small block on a page with the tag of another. TP_EINVAL: another call came first.
 */
int tp_arena_free_remote(struct arena *st, struct arena_thread *thr, struct arena_chunk *chunk,
                         uint64_t granule, uint64_t tag);

/* ---- in arena_shared.c, where several OS threads replay ---- */

int tp_arena_alloc_shared(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                          struct tp_block *out);
int tp_arena_free_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                         const struct tp_req *rq);
int tp_arena_free_small_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                               uint32_t size_class);
int tp_arena_large_shared(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                          bool again, struct tp_block *out);
int tp_arena_free_large_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                               uint64_t size);

/* The span of a live large object, or NULL. */
struct arena_span *tp_arena_large_shared_find(const struct arena *st, tp_addr addr);

/* Notes the length of a large object's span for those who free it. The heap lock is held. */
void tp_arena_large_shared_note(const struct arena *st, const struct arena_span *s);

/* ---- in arena.c ---- */

/* What the fast paths leave over. */
int tp_arena_alloc_slow(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                        struct tp_block *out);
int tp_arena_free_slow(struct arena *st, struct arena_thread *thr, tp_addr addr,
                       const struct tp_req *rq);

/* ---- in arena_spans.c: the heap lock is held ---- */

/* Gives wholly free ranges back, newest first, until at most `keep` bytes are free; only those that
 * have been so for `age` spans. */
void tp_arena_give_back(struct arena *st, uint64_t keep, uint64_t age);

/* Turns the oldest `count` kept spans into free pages. */
void tp_arena_kept_release(struct arena *st, struct arena_kept *kept, uint32_t count);

/* Like span_from_tree, but also gets new ranges from the source. again: all idle memory was
 * reclaimed, so free ranges that are too small are given back first, after which the source may
 * have enough. */
int tp_arena_get_span(struct arena *st, struct arena_kept *kept, uint64_t wanted, uint64_t least,
                      uint64_t align, enum arena_span_state state, bool again,
                      struct arena_span **out);

/* ---- spans: the heap lock is held ---- */

/* Frees a span. Now and then, counted in spans and not in time, it looks for ranges that have long
 * been idle. */
static inline void arena_give(struct arena *st, struct arena_span *s)
{
    pages_give(&st->pages, s);
    if (LIKELY(st->pages.given < st->pages.next_look))
        return;
    st->pages.next_look = st->pages.given + ARENA_DECAY_STEP;
    tp_arena_give_back(st, 0, ARENA_DECAY);
}

/* Keeps a freed large span; there must be room for it. */
static inline void kept_add(struct arena_kept *kept, struct arena_span *s)
{
    assert(kept->count < KEPT_SPANS);
    kept->pages[kept->count] = s->pages;
    kept->spans[kept->count++] = s;
}

/* Likewise, where one thread replays everything. Where several do the state stays as it is, because
 * another thread may look at it under the heap lock, which this one does not hold. */
static inline void kept_add_serial(struct arena *st, struct arena_span *s)
{
    s->state = ARENA_SPAN_KEPT;
    kept_add(&st->kept, s);
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

/* ---- in arena_check.c ---- */

/* The members `walk` and `check` of the strategy. */
int tp_arena_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_arena_check(void *state, struct tp_err *err);

#endif
