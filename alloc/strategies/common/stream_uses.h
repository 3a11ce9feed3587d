/* Streams that use a block beside the one that it belongs to. While the block is live a use is
 * noted, once per stream; when the block is freed, its fence is recorded and waits in a queue.
 *
 *     block -> use of stream 3 -> use of stream 5          queue: oldest fence <-> ... <-> newest
 *
 * The fences of a queue pass in order, so the first that has not passed ends it. */
#ifndef TP_STREAM_USES_H
#define TP_STREAM_USES_H

#include "alloc/base/links.h"
#include "alloc/base/steps.h"
#include "alloc/strategies/common/record_slab.h"

struct stream_use {
    void *block;
    struct stream_use *next; /* of the same block */
    struct tp_link *queue;
    struct tp_link in_queue; /* while `queued` */
    struct tp_fence fence;   /* only its stream is valid before `queued` */
    bool queued;
};

static inline bool uses_have(const struct stream_use *u, uint16_t stream)
{
    for (; u; u = u->next) {
        TP_STEP();
        if (u->fence.stream == stream)
            return true;
    }
    return false;
}

/* Notes a use on a stream that the block has none of; its fence goes to `queue`. NULL: out of
 * memory. */
static inline struct stream_use *uses_note(struct slab *records, struct stream_use **uses,
                                           void *block, uint16_t stream, struct tp_link *queue)
{
    struct stream_use *u = slab_take(records);
    if (!u)
        return NULL;
    *u = (struct stream_use){
        .block = block, .next = *uses, .queue = queue, .fence = {.stream = stream}};
    *uses = u;
    return u;
}

/* Records the fence of a use whose block is freed. */
static inline void uses_queue(struct tp_source *source, struct stream_use *u)
{
    tp_src_record(source, u->fence.stream, &u->fence);
    tp_link_insert(u->queue, &u->in_queue);
    u->queued = true;
}

static inline void uses_dequeue(struct stream_use *u)
{
    tp_link_out(&u->in_queue);
    u->queued = false;
}

/* The use whose fence passes first; NULL: the queue is empty. */
static inline struct stream_use *uses_first(const struct tp_link *queue)
{
    return TP_LINK_ITEM(struct stream_use, in_queue, queue, queue->behind);
}

/* The same, taken out of the queue, if its fence has passed. */
static inline struct stream_use *uses_passed(struct tp_source *source, const struct tp_link *queue)
{
    struct stream_use *u = uses_first(queue);
    if (!u || !tp_src_done(source, &u->fence))
        return NULL;
    uses_dequeue(u);
    return u;
}

/* The fences of a stream, and the queue of the next stream. */
struct fence_queue {
    struct tp_link fences;
    struct fence_queue *next;
    uint64_t stream;
};

typedef void uses_pass_fn(void *ctx, struct stream_use *u);

/* Calls `pass` for each use whose fence has passed; it has left its queue. */
static inline void uses_poll(struct tp_source *source, struct fence_queue *queues,
                             uses_pass_fn *pass, void *ctx)
{
    for (struct fence_queue *queue = queues; queue; queue = queue->next) {
        TP_STEP();
        for (struct stream_use *u; (u = uses_passed(source, &queue->fences));)
            pass(ctx, u);
    }
}

/* Waits for each use, and calls `pass` for it. */
static inline int uses_wait(struct tp_source *source, struct fence_queue *queues,
                            uses_pass_fn *pass, void *ctx)
{
    for (struct fence_queue *queue = queues; queue; queue = queue->next)
        for (struct stream_use *u; (u = uses_first(&queue->fences));) {
            int rc = tp_src_wait(source, &u->fence);
            if (rc)
                return rc;
            uses_dequeue(u);
            pass(ctx, u);
        }
    return TP_OK;
}

#endif
