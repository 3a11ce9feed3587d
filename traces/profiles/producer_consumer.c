/* Profile `producer-consumer`: one thread allocates and another frees, first in, first out. No
 * block returns to the cache that it came from, which shows what this costs strategies with a cache
 * per thread.
 *
 * Ids count up, so the generator needs no memory for the queue. */
#include "traces/profiles/common/emit.h"

struct queue_opts {
    uint64_t size, max_size, live, count;
};

enum { PRODUCER, CONSUMER };

static const struct tp_opt rows[] = {
    TP_PROFILE_SIZE_ROW(struct queue_opts, "64", "size of the smallest objects"),
    TP_PROFILE_MAX_SIZE_ROW(struct queue_opts, "size of the largest objects; auto: 256 times size"),
    TP_PROFILE_COUNT_ROW(struct queue_opts, live, "1000", TP_PROFILE_MAX_LIVE,
                         "max number of objects in the queue"),
    TP_PROFILE_COUNT_ROW(struct queue_opts, count, "200000", TP_PROFILE_MAX_COUNT,
                         "number of allocations"),
    {.name = NULL}};

/* Fills the queue, keeps it full, and empties it at the end. */
static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct queue_opts *o = opts;
    struct tp_emit e = tp_emit_begin(sink, seed, 100, err);
    uint64_t live = o->live < o->count ? o->live : o->count, max_size = o->max_size;
    int rc = tp_profile_sizes(o->size, &max_size, live, err);
    if (rc != TP_OK)
        return rc;
    for (uint64_t i = 0; i < o->count + live && e.status == TP_OK; i++) {
        if (i >= live)
            tp_emit_free(&e, CONSUMER, (int64_t)(i - live));
        if (i < o->count)
            tp_emit_alloc(&e, PRODUCER, (int64_t)i,
                          tp_random_doubling(&e.random, o->size, max_size));
    }
    return e.status;
}

const struct tp_profile tp_profile_producer_consumer = {
    .name = "producer-consumer",
    .summary = "one thread allocates, another frees, through a queue",
    .about =
        "Thread 0 allocates 'count' objects. Thread 1 frees them, oldest first, as soon as 'live' "
        "of them are in the queue; at the end it frees the rest. Sizes are between 'size' and "
        "'max-size'; each doubling is equally likely. An event takes 100 ns on average.",
    .kind = TP_KIND_HOST,
    .opts_size = sizeof(struct queue_opts),
    .options = rows,
    .generate = generate,
};
