/* Which small blocks of `arena` are live and which are pooled: one chunk for every 64 KiB that
 * holds small blocks.
 *
 *     address  | 0x7f3a41c2 | 10110 | 01110110000 |        hash of the upper part -> chunk
 *                index        page    offset
 *     chunk    | index | class of each of 32 pages |       one cache line
 *              | live:   one bit per 16 bytes, set = a live block begins here   |
 *              | pooled: one bit per 16 bytes, set = a block of the central pool |
 *              | the span of each page |
 *
 * The bits lie outside the memory. A free finds the chunk, tests the live bit and clears it; for a
 * foreign, interior or repeated address the bit is clear. The address is rotated by four bits
 * first, so that an address between two multiples of 16 belongs to no chunk. A block with neither
 * bit is in a thread's cache.
 *
 * The table is an array of pointers, at most a quarter full, with a multiplicative hash and linear
 * probing. The indices of a range are consecutive, and their multiples of the golden ratio hardly
 * ever collide.
 *
 * Writers hold the heap lock; `pooled` and `spans` belong to whoever owns the page's pool. Readers
 * of the table hold no lock: with several threads a chunk is published when it is complete, and
 * chunks and outgrown tables are freed only with the instance. The address of the slots and their
 * log2 are packed into one word, so that a reader always sees a matching pair:
 *
 *     table = address of the slots, a multiple of 64, + log2 of the slots
 *
 * Known weakness: chunks at an unlucky distance (such as 987) collide and become slow. */
#ifndef TP_ARENA_CHUNKS_H
#define TP_ARENA_CHUNKS_H

#include "alloc/strategies/arena/arena_pages.h"

#define CHUNK_SHIFT      16
#define CHUNK_PAGES      32u
#define CHUNK_WORDS      64u /* words of bits: one covers 1 KiB, so that no two pages share one */
#define PAGE_WORDS       (CHUNK_WORDS / CHUNK_PAGES)
#define CHUNK_LINE       64u /* bytes of a cache line; what slots and chunks are aligned to */
#define CHUNK_FIRST_LOG2 5u  /* slots of the first table */
#define CHUNK_MOST_LOG2  32u /* slots of the largest one */

/* All of a page where several OS threads replay, in one cache line; see arena_owner.h. */
struct arena_page {
    uint64_t live[PAGE_WORDS], pooled[PAGE_WORDS]; /* as those of a chunk */
    uint64_t gone[PAGE_WORDS]; /* atomic: set = a block that another than its owner has freed */
    uint64_t tag;              /* atomic: owner and class; 0: no block begins in the page */
    struct arena_span *span;
};
static_assert(sizeof(struct arena_page) == CHUNK_LINE, "two pages share no cache line");

struct arena_chunk {
    uint64_t index;            /* addresses of the chunk >> CHUNK_SHIFT */
    struct arena_chunk *spare; /* next spare chunk, while this one is unused */
    uint64_t unused[2];        /* padding: the bits begin on a cache line of their own */
    /* class of each page where a small block may begin; other entries are stale or 0 */
    uint8_t size_class[CHUNK_PAGES];
    union {
        struct { /* one thread */
            uint64_t live[CHUNK_WORDS];
            uint64_t pooled[CHUNK_WORDS];
            struct arena_span *spans[CHUNK_PAGES]; /* as `class` */
        };
        struct { /* several; not allocated with one */
            struct arena_page pages[CHUNK_PAGES];
            uint64_t next[CHUNK_WORDS]; /* links words with bits in `gone` */
        };
    };
};
static_assert(offsetof(struct arena_chunk, live) == CHUNK_LINE, "the head is one cache line");

/* Header in front of aligned memory: a table's slots or a slab's chunks. */
struct arena_piece {
    struct arena_piece *next;
    size_t bytes; /* size passed to tp_meta_get */
};

struct arena_chunks {
    struct arena_chunk **slots; /* for the fast paths; NULL: none looks at live bits */
    uint64_t factor, mask;      /* of `table`, for the fast paths */
    /* address of the slots and log2 in one word (see the file's first comment); never 0 after
     * init */
    uint64_t table;
    uint64_t count; /* chunks in the table */
    bool watched;   /* the fast paths keep the live bits */
    const struct tp_env *env;
    struct arena_piece *tables; /* the newest is in use; older ones are kept for readers */
    struct arena_piece *slabs;
    struct arena_chunk *spares;
};

/* ---- look-up ---- */

/* Every empty slot points here. No address has this chunk's index, so a look-up needs no test for
 * NULL. */
extern const struct arena_chunk tp_arena_no_chunk;

static inline struct arena_chunk **table_slots(uint64_t table)
{
    return (struct arena_chunk **)(uintptr_t)(table & ~UINT64_C(63));
}

static inline uint64_t table_mask(uint64_t table)
{
    return (UINT64_C(1) << (table & 63)) - 1;
}

/* The golden ratio of 2^(32 + log2): then a shift by a constant, and not by a variable, leaves the
 * upper bits of a product. */
static inline uint64_t table_factor(uint64_t table)
{
    return UINT64_C(0x9E3779B97F4A7C15) >> (32 - (table & 63));
}

INLINE uint64_t chunk_home(uint64_t index, uint64_t factor, uint64_t mask)
{
    return (index * factor >> 32) & mask;
}

static inline uint64_t table_home(uint64_t table, uint64_t index)
{
    return chunk_home(index, table_factor(table), table_mask(table));
}

/* The number of the 16 bytes at an address; for an address between two multiples of 16 it is that
 * of no address. Its lower 6 bits are the place in a word, which a shift takes as they are. */
INLINE uint64_t granule_of(tp_addr addr)
{
    return addr >> 4 | addr << 60;
}

INLINE uint64_t granule_index(uint64_t granule)
{
    return granule >> (CHUNK_SHIFT - 4);
}

INLINE uint64_t granule_bit(uint64_t granule)
{
    return UINT64_C(1) << (granule & 63);
}

INLINE uint64_t granule_page(uint64_t granule)
{
    return (granule >> 7) & (CHUNK_PAGES - 1);
}

/* The chunk in the home slot of an index. It is nearly always the right one; else chunk_find must
 * search. */
INLINE struct arena_chunk *chunk_guess(const struct arena_chunks *t, uint64_t index)
{
    return t->slots[chunk_home(index, t->factor, t->mask)];
}

/* The chunk of any address, or NULL. */
static inline struct arena_chunk *chunk_find(const struct arena_chunks *t, tp_addr addr)
{
    uint64_t table = __atomic_load_n(&t->table, __ATOMIC_ACQUIRE), mask = table_mask(table);
    uint64_t index = addr >> CHUNK_SHIFT;
    for (uint64_t i = table_home(table, index);; i = (i + 1) & mask) {
        struct arena_chunk *chunk = __atomic_load_n(&table_slots(table)[i], __ATOMIC_ACQUIRE);
        if (chunk->index == index)
            return chunk;
        if (chunk == &tp_arena_no_chunk)
            return NULL;
    }
}

/* The word of a live bit. A shift by 3 is what is left of one by 6 and a multiplication by 8. */
INLINE uint64_t *chunk_live(struct arena_chunk *chunk, uint64_t granule)
{
    return (uint64_t *)(void *)((char *)chunk->live + (granule >> 3 & (CHUNK_WORDS - 1) << 3));
}

static inline uint64_t chunk_bit(tp_addr addr)
{
    return granule_bit(granule_of(addr));
}

INLINE struct arena_page *chunk_page(struct arena_chunk *chunk, uint64_t granule)
{
    return &chunk->pages[granule_page(granule)];
}

/* Which word of a page. */
INLINE uint64_t granule_word(uint64_t granule)
{
    return (granule >> 6) & (PAGE_WORDS - 1);
}

/* As chunk_live, however many threads replay. */
static inline uint64_t *live_word(const struct arena_chunks *t, struct arena_chunk *chunk,
                                  uint64_t granule)
{
    return UNLIKELY(t->env->concurrent) ? &chunk_page(chunk, granule)->live[granule_word(granule)]
                                        : chunk_live(chunk, granule);
}

/* The word of `pooled` beside a word of `live`. */
static inline uint64_t *word_pooled(const struct arena_chunks *t, uint64_t *word)
{
    return word + (UNLIKELY(t->env->concurrent) ? PAGE_WORDS : CHUNK_WORDS);
}

/* The span of a block by the word of its live bit. */
static inline struct arena_span *word_span(const struct arena_chunks *t, uint64_t *word,
                                           uint64_t granule)
{
    if (UNLIKELY(t->env->concurrent))
        return ((struct arena_page *)(void *)(word - granule_word(granule)))->span;
    char *first = (char *)word - (granule >> 3 & (CHUNK_WORDS - 1) << 3);
    const struct arena_chunk *chunk = (void *)(first - offsetof(struct arena_chunk, live));
    return chunk->spans[granule_page(granule)];
}

/* Relaxed order is enough: a valid free comes from a thread that got the block after its page was
 * marked, and an invalid free may read any class because it finds a clear bit. */
static inline uint8_t chunk_class(const struct arena_chunk *chunk, tp_addr addr)
{
    return __atomic_load_n(&chunk->size_class[granule_page(granule_of(addr))], __ATOMIC_RELAXED);
}

/* The chunk in which a block may begin at this address, or NULL. */
static inline struct arena_chunk *chunk_at(const struct arena_chunks *t, tp_addr addr)
{
    return addr % ARENA_STEP ? NULL : chunk_find(t, addr);
}

/* Does a block of the page live that no other thread has freed? The bits of others come first: who
 * takes them back clears the live bit before them. */
INLINE bool page_lives(const struct arena_page *page, uint64_t granule)
{
    uint64_t gone = __atomic_load_n(&page->gone[granule_word(granule)], __ATOMIC_ACQUIRE);
    uint64_t live = __atomic_load_n(&page->live[granule_word(granule)], __ATOMIC_RELAXED);
    return live & ~gone & granule_bit(granule);
}

/* The chunk in which a live small block begins here, or NULL. */
static inline struct arena_chunk *chunk_if_live(const struct arena_chunks *t, tp_addr addr)
{
    struct arena_chunk *chunk = chunk_at(t, addr);
    if (!chunk)
        return NULL;
    uint64_t granule = granule_of(addr);
    bool lives = UNLIKELY(t->env->concurrent)
                     ? page_lives(chunk_page(chunk, granule), granule)
                     : (*chunk_live(chunk, granule) & granule_bit(granule)) != 0;
    return lives ? chunk : NULL;
}

static inline bool chunk_is_live(const struct arena_chunks *t, tp_addr addr)
{
    return chunk_if_live(t, addr) != NULL;
}

/* ---- making and forgetting, in arena_chunks.c ---- */

/* Zeroed memory behind a piece header, aligned to a power of two; it stays until all pieces of the
 * list go. NULL: out of memory. */
void *tp_arena_piece_new(const struct tp_env *env, struct arena_piece **list, size_t bytes,
                         size_t align);
void tp_arena_pieces_fini(const struct tp_env *env, struct arena_piece **list);

int tp_arena_chunks_init(struct arena_chunks *t, const struct tp_env *env, bool watched);
void tp_arena_chunks_fini(struct arena_chunks *t);

/* Notes class, span and, of shared chunks, the tag of every page of a small span in which a block
 * begins. TP_ENOMEM: only some pages were noted, which does no harm. */
int tp_arena_chunks_mark(struct arena_chunks *t, struct arena_span *s, uint64_t block,
                         uint64_t tag);

/* Notes another tag for a span that was marked. */
void tp_arena_chunks_tag(const struct arena_chunks *t, struct arena_span *s, uint64_t block,
                         uint64_t tag);

/* Drops the chunks of a range that goes back to the source; for a huge range it walks the table
 * instead of the addresses. With threads the chunks stay, with all bits clear, because a wrong free
 * may be reading one, and a word of one may be in a list of frees. */
void tp_arena_chunks_forget(struct arena_chunks *t, tp_addr base, uint64_t bytes);

#endif
