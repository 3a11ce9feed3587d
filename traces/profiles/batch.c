/* Profile `batch`: rounds that allocate many objects and then free them all in the order of their
 * allocation, like a parser, a frame or a request with a pool. It needs deep caches. */
#include "traces/profiles/common/emit.h"

struct batch_opts {
    uint64_t size, live, count;
};

static const struct tp_opt rows[] = {
    TP_PROFILE_SIZE_ROW(struct batch_opts, "64", "size of every object"),
    TP_PROFILE_COUNT_ROW(struct batch_opts, live, "1000", TP_PROFILE_MAX_LIVE,
                         "number of objects in a batch"),
    TP_PROFILE_COUNT_ROW(struct batch_opts, count, "100000", TP_PROFILE_MAX_COUNT,
                         "number of allocations; the last batch may be smaller"),
    {.name = NULL}};

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct batch_opts *o = opts;
    struct tp_emit e = tp_emit_begin(sink, seed, 100, err);
    int rc = tp_profile_fits(o->live < o->count ? o->live : o->count, o->size, err);
    if (rc != TP_OK)
        return rc;
    for (uint64_t first = 0, end; first < o->count && e.status == TP_OK; first = end) {
        end = o->count - first > o->live ? first + o->live : o->count;
        for (uint64_t i = first; i < end && e.status == TP_OK; i++)
            tp_emit_alloc(&e, 0, (int64_t)i, o->size);
        for (uint64_t i = first; i < end && e.status == TP_OK; i++)
            tp_emit_free(&e, 0, (int64_t)i);
    }
    return e.status;
}

const struct tp_profile tp_profile_batch = {
    .name = "batch",
    .summary = "allocate a batch of objects, then free them in order",
    .about =
        "One thread allocates 'live' objects of 'size' bytes, frees them all, oldest first, and "
        "repeats until 'count' objects were allocated. The peak is live * size; no object is live "
        "at the end. An event takes 100 ns on average. The seed affects only the times.",
    .kind = TP_KIND_HOST,
    .opts_size = sizeof(struct batch_opts),
    .options = rows,
    .generate = generate,
};
