/* Records of one size, in chunks of 64.
 *
 *     oldest -> | r | r | - | r | ... |  ->  | r | - | ... |
 *     - : free, linked by its first word
 *
 * The record given back last is taken next. Chunks are kept until slab_fini, so memory follows the
 * peak number of records. */
#ifndef TP_RECORD_SLAB_H
#define TP_RECORD_SLAB_H

#include "alloc/strategy.h"

#include <assert.h>
#include <string.h>

#define SLAB_ITEMS 64u
#define SLAB_LINE  64u /* bytes of a cache line */

struct slab_chunk {
    struct slab_chunk *next;
    uint64_t unused; /* keeps the records 16-byte aligned */
};

struct slab {
    const struct tp_env *env;
    struct slab_chunk *oldest, *newest;
    void *free;
    size_t item;   /* bytes of a record, a multiple of 8 */
    uint64_t used; /* records in use */
};

static inline void slab_init(struct slab *s, const struct tp_env *env, size_t item)
{
    assert(item % 8 == 0 && item >= sizeof(void *));
    *s = (struct slab){.env = env, .item = item};
}

/* Records that fill cache lines begin with one. */
static inline uintptr_t slab_mask(const struct slab *s)
{
    return s->item % SLAB_LINE ? 0 : SLAB_LINE - 1;
}

static inline size_t slab_chunk_bytes(const struct slab *s)
{
    return sizeof(struct slab_chunk) + slab_mask(s) + SLAB_ITEMS * s->item;
}

static inline void *slab_at(const struct slab *s, struct slab_chunk *chunk, unsigned i)
{
    uintptr_t mask = slab_mask(s), first = ((uintptr_t)(chunk + 1) + mask) & ~mask;
    return (void *)(first + i * s->item);
}

static inline void slab_link(struct slab *s, void *record)
{
    memcpy(record, &s->free, sizeof s->free);
    s->free = record;
}

static inline int slab_grow(struct slab *s)
{
    struct slab_chunk *chunk = tp_meta_get(s->env, slab_chunk_bytes(s));
    if (!chunk)
        return TP_ENOMEM;
    if (s->newest)
        s->newest->next = chunk;
    else
        s->oldest = chunk;
    s->newest = chunk;
    for (unsigned i = SLAB_ITEMS; i-- > 0;)
        slab_link(s, slab_at(s, chunk, i));
    return TP_OK;
}

/* Makes sure that the next slab_take succeeds. */
static inline int slab_reserve(struct slab *s)
{
    return s->free ? TP_OK : slab_grow(s);
}

/* Makes sure that the next two do. */
static inline int slab_reserve_two(struct slab *s)
{
    void *second = NULL;
    if (s->free)
        memcpy(&second, s->free, sizeof second);
    return second ? TP_OK : slab_grow(s);
}

/* A zeroed record, or NULL. */
static inline void *slab_take(struct slab *s)
{
    if (slab_reserve(s))
        return NULL;
    void *record = s->free;
    memcpy(&s->free, record, sizeof s->free);
    memset(record, 0, sizeof s->free);
    s->used++;
    return record;
}

/* Gives a record back. A free record is zero except for its link, by which a walk recognises it. */
static inline void slab_give(struct slab *s, void *record)
{
    memset(record, 0, s->item);
    slab_link(s, record);
    s->used--;
}

/* A cursor over all records, free ones included, in the order of their chunks. */
struct slab_cursor {
    const struct slab *slab;
    struct slab_chunk *chunk;
    unsigned i;
};

static inline struct slab_cursor slab_first(const struct slab *s)
{
    return (struct slab_cursor){s, s->oldest, 0};
}

static inline void *slab_next(struct slab_cursor *c)
{
    if (c->i == SLAB_ITEMS) {
        c->chunk = c->chunk->next;
        c->i = 0;
    }
    return c->chunk ? slab_at(c->slab, c->chunk, c->i++) : NULL;
}

static inline void slab_fini(struct slab *s)
{
    for (struct slab_chunk *chunk = s->oldest, *next; chunk; chunk = next) {
        next = chunk->next;
        tp_meta_put(s->env, chunk, slab_chunk_bytes(s));
    }
    *s = (struct slab){0};
}

#endif
