/* When may a block of `lru` that was freed on one stream be used on another?
 *
 *     free on stream 1, used on 2 and 5      freed: fence of 1      others: fences of 2 and 5
 *
 * Work on the requesting stream comes after that stream's earlier work, so its own fences do not
 * matter; all others must have passed. Fences are recorded when the last reference goes, which may
 * be later than the work they stand for, but never earlier. Room for the list of streams is
 * reserved ahead, so that a free never needs memory.
 *
 * Only instances with several streams need this: with one stream its order is enough, and a put
 * waits for the device by itself. A short list is searched from its start. A long list is followed
 * by a bit for each stream, set while the block is live and was used on the stream. */
#ifndef TP_LRU_STREAMS_H
#define TP_LRU_STREAMS_H

#include "alloc/base/steps.h"
#include "alloc/strategy.h"

#include <assert.h>
#include <string.h>

/* The work that is pending on one block. */
struct lru_work {
    struct tp_fence freed; /* valid while `pending` */
    /* array of `room` fences; while the block is live only their `stream` is set */
    struct tp_fence *others;
    uint32_t count, room; /* entries of `others` */
    uint16_t stream;      /* stream on which the block was allocated (live) or freed (cached) */
    bool pending;         /* `freed` was recorded and is not known to have passed */
};

enum { WORK_BITS_FROM = 512, WORK_BITS_BYTES = 65536 / 8 };

static inline size_t work_bytes(uint64_t room)
{
    return room * sizeof(struct tp_fence) + (room < WORK_BITS_FROM ? 0 : WORK_BITS_BYTES);
}

static inline void work_fini(const struct tp_env *env, struct lru_work *w)
{
    tp_meta_put(env, w->others, work_bytes(w->room));
    *w = (struct lru_work){0};
}

/* The word and the bit of a stream; NULL: a short list has no bits. */
static inline uint64_t *work_bit(const struct lru_work *w, uint16_t stream, uint64_t *bit)
{
    *bit = UINT64_C(1) << stream % 64;
    return w->room < WORK_BITS_FROM ? NULL
                                    : (uint64_t *)(void *)(w->others + w->room) + stream / 64;
}

/* Sets or clears the bits of all streams in the list. */
static inline void work_bits(const struct lru_work *w, bool set)
{
    uint64_t bit, *word;
    for (uint32_t i = 0; i < w->count && (word = work_bit(w, w->others[i].stream, &bit)); i++)
        *word = set ? *word | bit : *word & ~bit;
}

/* Makes room for `count` other streams of a live block; there are at most 65,536 streams.
 * TP_ENOMEM. */
static inline int work_reserve(const struct tp_env *env, struct lru_work *w, uint64_t count)
{
    uint64_t room = w->room ? w->room : 2;
    if (count > UINT16_MAX + UINT64_C(1))
        count = UINT16_MAX + UINT64_C(1);
    if (count <= w->room)
        return TP_OK;
    while (room < count)
        room *= 2;
    struct tp_fence *fresh = tp_meta_get(env, work_bytes(room));
    if (!fresh)
        return TP_ENOMEM;
    if (w->count)
        memcpy(fresh, w->others, w->count * sizeof *fresh);
    tp_meta_put(env, w->others, work_bytes(w->room));
    w->others = fresh;
    w->room = (uint32_t)room;
    work_bits(w, true);
    return TP_OK;
}

/* Was the live block used on this stream? */
static inline bool work_has(const struct lru_work *w, uint16_t stream)
{
    uint64_t bit, *word = work_bit(w, stream, &bit);
    if (word)
        return *word & bit;
    for (uint32_t i = 0; i < w->count; i++) {
        TP_STEP();
        if (w->others[i].stream == stream)
            return true;
    }
    return false;
}

/* Notes that the block is used on this stream too. The caller has reserved room. */
static inline void work_add(struct lru_work *w, uint16_t stream)
{
    uint64_t bit, *word = work_bit(w, stream, &bit);
    if (work_has(w, stream))
        return;
    assert(w->count < w->room);
    w->others[w->count++] = (struct tp_fence){.stream = stream};
    if (word)
        *word |= bit;
}

/* Records fences on every stream that used a block that goes into the cache. */
static inline void work_record(struct tp_source *source, struct lru_work *w, uint16_t stream)
{
    uint32_t kept = 0;
    work_bits(w, false);
    w->stream = stream;
    w->pending = true;
    tp_src_record(source, stream, &w->freed);
    for (uint32_t i = 0; i < w->count; i++)
        if (w->others[i].stream != stream)
            tp_src_record(source, w->others[i].stream, &w->others[kept++]);
    w->count = kept;
}

/* May this stream use the cached block now? Drops fences that have passed. */
static inline bool work_allows(struct tp_source *source, struct lru_work *w, uint16_t stream)
{
    bool allows = true;
    TP_STEP();
    if (w->pending && w->stream != stream) {
        w->pending = !tp_src_done(source, &w->freed);
        allows = !w->pending;
    }
    for (uint32_t i = w->count; i-- > 0;) {
        TP_STEP();
        if (w->others[i].stream == stream)
            continue;
        if (tp_src_done(source, &w->others[i]))
            w->others[i] = w->others[--w->count];
        else
            allows = false;
    }
    return allows;
}

/* Waits for all pending work. Returns the source's status if a wait fails. */
static inline int work_wait(struct tp_source *source, struct lru_work *w)
{
    int rc = TP_OK;
    if (w->pending && !tp_src_done(source, &w->freed))
        rc = tp_src_wait(source, &w->freed);
    for (uint32_t i = 0; i < w->count && !rc; i++)
        if (!tp_src_done(source, &w->others[i]))
            rc = tp_src_wait(source, &w->others[i]);
    if (!rc) {
        w->pending = false;
        w->count = 0;
    }
    return rc;
}

/* Resets the work of a block that is allocated on this stream. */
static inline void work_start(struct lru_work *w, uint16_t stream)
{
    w->stream = stream;
    w->pending = false;
    w->count = 0;
}

#endif
