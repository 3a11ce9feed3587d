/* What a thread of `arena` owns where several OS threads replay, and how others free it.
 *
 *     thread A: owner             word of 64 x 16 bytes     thread B
 *     cache <-> pool <- carve     tag of the page: A, 5     free: the tag is not B's
 *                ^                live: 0 1 1 0 1 <-------- is the block live?
 *                | gather         gone: 0 0 1 0 0 <-------- set its bit: was it clear? then the
 *                |                next                      block was B's to free, and if no bit
 *                |                                          was set the word is B's to announce
 *              inbox ---> word -> word <------------------- outbox: announced words, many at once
 *
 * A span belongs to the thread that carved it, and only the owner allocates its blocks. So an owner
 * writes the live bits of its pages with plain stores, its pools need no lock, and its calls are
 * what they are with one thread. Every page has a tag, the address of its owner and its class in
 * one word; a free that meets its own tag puts the block into the thread's cache. All that
 * they need of a page is in one cache line, so that two owners share none.
 *
 * Remote frees. Another thread sets the block's bit in `gone` by one atomic operation, which says
 * who came first where two of them free a block. Who sets the first bit of a word links the word to
 * an outbox, and an outbox goes to the owner's inbox by one atomic operation when the blocks freed
 * since are a refill. Until then more bits may be set in its words. The owner takes its inbox as a
 * whole when its cache and its pool have run empty, and from each word all bits at once. A word is
 * in a list from the moment its first bit is set until its bits are taken, and so in one only.
 *
 * A thread that ends closes its inbox and gives its spans with pooled blocks to the orphans, an
 * owner without a thread, whose pools have a lock each; a thread whose pool is empty adopts one of
 * those before it carves. Spans without a pooled block stay with the owner, which waits for a new
 * thread. Who finds an inbox closed gives the span of each word to the orphans himself and takes
 * its bits back. So a word may come to one who no longer owns it, and is passed on by its tag.
 *
 * Large objects are spans of one block of class ARENA_LARGE. A thread keeps some that it freed; a
 * remote free gives the pages back at once, under the heap lock.
 *
 * Known weaknesses: what lies in `gone` serves nobody until its owner runs out of a class, and the
 * words of an outbox not until it goes, at the latest when its thread ends. Where a block is freed
 * by its owner and by another thread in the same instant, both may be told that they freed it; so
 * may a thread that stood still between its look at the bits and its claim for so long that the
 * block was taken back. What it sets is then ignored, or taken for a free of the block's next life.
 * Two frees one after the other, or by two threads of which none is the owner, are told apart. */
#ifndef TP_ARENA_OWNER_H
#define TP_ARENA_OWNER_H

#include "alloc/strategies/arena/arena_lists.h"

/* OWNER_ALIGN: of an owner, so that a class fits into the lower bits of its address, and two cache
 * lines. ARENA_LARGE: class of a large object; ARENA_ENDED: of one that was freed. */
enum {
    OWNER_ALIGN = 128,
    ARENA_LARGE = OWNER_ALIGN - 1,
    ARENA_ENDED = OWNER_ALIGN - 2,
    OUTBOXES = 8
};
static_assert(ARENA_MAX_CLASSES <= ARENA_ENDED, "a tag holds every class");

/* A link leads to a word: address of its chunk, a multiple of CHUNK_WORDS, + number of the word; 0
 * at the end. INBOX_CLOSED is none. */
enum { INBOX_CLOSED = 1 };

/* Words with bits in `gone` that no other list has. A smaller block counts as OUTBOX_BLOCK bytes,
 * so that by default no more than 64 blocks wait. */
enum { OUTBOX_BLOCK = 512 };
struct arena_outbox {
    struct arena_owner *to; /* NULL: unused */
    uint64_t first;         /* link */
    uint64_t *last;         /* link behind the last word */
    uint64_t bytes;         /* of blocks of this owner freed since it went, OUTBOX_BLOCK at least */
};

/* `inbox` is apart because a cache line that another thread writes is slow to read. */
struct arena_owner {
    struct arena_central pools[ARENA_MAX_CLASSES];
    struct arena_kept kept;
    struct arena_outbox outboxes[OUTBOXES];
    struct arena_thread *thr;             /* NULL: none */
    struct arena_owner *older;            /* links all owners but the orphans */
    struct arena_owner *vacant;           /* links owners without a thread */
    _Alignas(OWNER_ALIGN) uint64_t inbox; /* atomic: link */
};

struct arena_owners {
    struct arena_owner *orphans; /* their pools belong to `locks`; their `thr` is NULL */
    struct arena_owner *all, *vacant;
    struct arena_piece *pieces; /* memory of all owners */
    struct {
        _Alignas(CHUNK_LINE) struct tp_lock lock;
        bool stocked; /* atomic: the pool may have blocks */
    } locks[ARENA_MAX_CLASSES];
};

static inline uint64_t tag_of(const struct arena_owner *owner, uint32_t size_class)
{
    return (uintptr_t)owner | size_class;
}

static inline struct arena_owner *tag_owner(uint64_t tag)
{
    return (struct arena_owner *)(uintptr_t)(tag & ~(uint64_t)(OWNER_ALIGN - 1));
}

static inline uint32_t tag_class(uint64_t tag)
{
    return tag & (OWNER_ALIGN - 1);
}

static inline uint64_t page_tag(const struct arena_page *page)
{
    return __atomic_load_n(&page->tag, __ATOMIC_ACQUIRE);
}

/* The page in which a block may begin at this address, or NULL. */
static inline struct arena_page *page_at(const struct arena_chunks *t, tp_addr addr)
{
    struct arena_chunk *chunk = chunk_at(t, addr);
    return chunk ? chunk_page(chunk, granule_of(addr)) : NULL;
}

static inline uint64_t word_link(const struct arena_chunk *chunk, uint64_t granule)
{
    return (uintptr_t)chunk | granule / 64 % CHUNK_WORDS;
}

static inline struct arena_chunk *link_chunk(uint64_t link)
{
    return (struct arena_chunk *)(uintptr_t)(link & ~(uint64_t)(CHUNK_WORDS - 1));
}

static inline uint64_t link_word(uint64_t link)
{
    return link & (CHUNK_WORDS - 1);
}

/* Sets the bit of a live block that another than its owner frees. Returns the bits before. */
static inline uint64_t page_claim(struct arena_page *page, uint64_t granule)
{
    return __atomic_fetch_or(&page->gone[granule_word(granule)], granule_bit(granule),
                             __ATOMIC_ACQ_REL);
}

#endif
