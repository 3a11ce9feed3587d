/* Which small blocks of `arena` are live: one chunk for every 64 KiB that holds small blocks.
 *
 *     address  | 0x7f3a41c2 | 10110 | 01110110000 |        hash of the upper part -> chunk
 *                index        page    offset
 *     chunk    | index | class of each of 32 pages |       one cache line
 *              | one bit per 16 bytes: set = a live block begins here |
 *
 * The bits lie outside the memory. A free finds the chunk, tests the bit and clears it; for a
 * foreign, interior or repeated address the bit is clear.
 *
 * The table is an array of pointers, at most a quarter full, with a multiplicative hash and linear
 * probing. The indices of a range are consecutive, and their multiples of the golden ratio hardly
 * ever collide.
 *
 * Writers hold the heap lock. Readers hold no lock: with several threads a chunk is published when
 * it is complete, and chunks and outgrown tables are freed only with the instance. The address of
 * the slots and their log2 are packed into one word, so that a reader always sees a matching pair:
 *
 *     table = address of the slots, a multiple of 64, + (64 - log2 of the slots)
 *
 * Known weakness: chunks at an unlucky distance (such as 987) collide and become slow. */
#ifndef TP_ARENA_CHUNKS_H
#define TP_ARENA_CHUNKS_H

#include "alloc/strategies/arena/arena_pages.h"

#define CHUNK_SHIFT      16
#define CHUNK_PAGES      32u
#define CHUNK_SLAB       4u
#define CHUNK_LINE       64u /* bytes of a cache line; what slots and chunks are aligned to */
#define CHUNK_FIRST_LOG2 5u  /* slots of the first table */

struct arena_chunk {
    uint64_t index;            /* addresses of the chunk >> CHUNK_SHIFT */
    struct arena_span *first;  /* during a reclaim: the lowest span of the class in this chunk */
    struct arena_chunk *spare; /* next spare chunk, while this one is unused */
    uint64_t unused;           /* padding: the bits begin on a cache line of their own */
    /* class of each page where a small block may begin; other entries are stale or 0 */
    uint8_t class[CHUNK_PAGES];
    uint64_t live[(1u << CHUNK_SHIFT) / ARENA_STEP / 64];
};
static_assert(offsetof(struct arena_chunk, live) == CHUNK_LINE, "the head is one cache line");

/* Header in front of aligned memory: a table's slots or a slab's chunks. */
struct arena_piece {
    struct arena_piece *next;
    size_t bytes; /* size passed to tp_meta_get */
};

struct arena_chunks {
    struct arena_chunk **slots; /* for the fast paths; NULL: they need not check live bits */
    uint64_t shift;             /* 64 - log2 of the slots */
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

static inline uint64_t chunk_home(uint64_t index, uint64_t shift)
{
    return index * UINT64_C(0x9E3779B97F4A7C15) >> (shift & 63);
}

static inline uint64_t table_mask(uint64_t table)
{
    return UINT64_MAX >> (table & 63);
}

/* The chunk in the home slot of an address. It is nearly always the right one; else chunk_find must
 * search. */
static inline struct arena_chunk *chunk_guess(const struct arena_chunks *t, tp_addr addr)
{
    return t->slots[chunk_home(addr >> CHUNK_SHIFT, t->shift)];
}

/* The chunk of any address, or NULL. */
static inline struct arena_chunk *chunk_find(const struct arena_chunks *t, tp_addr addr)
{
    uint64_t table = __atomic_load_n(&t->table, __ATOMIC_ACQUIRE), index = addr >> CHUNK_SHIFT;
    for (uint64_t i = chunk_home(index, table);; i = (i + 1) & table_mask(table)) {
        struct arena_chunk *chunk = __atomic_load_n(&table_slots(table)[i], __ATOMIC_ACQUIRE);
        if (chunk->index == index)
            return chunk;
        if (chunk == &tp_arena_no_chunk)
            return NULL;
    }
}

static inline uint64_t *chunk_word(struct arena_chunk *chunk, tp_addr addr)
{
    return &chunk->live[(addr >> 10) & 63];
}

static inline uint64_t chunk_bit(tp_addr addr)
{
    return UINT64_C(1) << ((addr >> 4) & 63);
}

/* Relaxed order is enough: a valid free comes from a thread that got the block after its page was
 * marked, and an invalid free may read any class because it finds a clear bit. */
static inline uint8_t chunk_class(const struct arena_chunk *chunk, tp_addr addr)
{
    return __atomic_load_n(&chunk->class[(addr / ARENA_PAGE) & (CHUNK_PAGES - 1)],
                           __ATOMIC_RELAXED);
}

/* The chunk in which a live small block begins here, or NULL. */
static inline struct arena_chunk *chunk_if_live(const struct arena_chunks *t, tp_addr addr)
{
    struct arena_chunk *chunk = addr % ARENA_STEP ? NULL : chunk_find(t, addr);
    if (!chunk || !(__atomic_load_n(chunk_word(chunk, addr), __ATOMIC_RELAXED) & chunk_bit(addr)))
        return NULL;
    return chunk;
}

static inline bool chunk_is_live(const struct arena_chunks *t, tp_addr addr)
{
    return chunk_if_live(t, addr) != NULL;
}

/* ---- making and forgetting, in arena_chunks.c ---- */

int tp_arena_chunks_init(struct arena_chunks *t, const struct tp_env *env, bool watched);
void tp_arena_chunks_fini(struct arena_chunks *t);

/* Notes the class of every page of a small span in which a block begins. TP_ENOMEM: only some pages
 * were noted, which does no harm. */
int tp_arena_chunks_mark(struct arena_chunks *t, const struct arena_span *s, uint64_t block);

/* Drops the chunks of a range that goes back to the source; for a huge range it walks the table
 * instead of the addresses. With threads the chunks stay, with all bits clear, because a wrong free
 * may be reading one. */
void tp_arena_chunks_forget(struct arena_chunks *t, tp_addr base, uint64_t bytes);

#endif
