/* Profile `pair`: one object at a time. It uses only the fast path of an allocator, so every
 * strategy looks its best. */
#include "traces/profiles/common/emit.h"

struct pair_opts {
    uint64_t size, count;
};

static const struct tp_opt rows[] = {
    TP_PROFILE_SIZE_ROW(struct pair_opts, "64", "size of every object"),
    TP_PROFILE_COUNT_ROW(struct pair_opts, count, "100000", TP_PROFILE_MAX_COUNT,
                         "number of allocations"),
    {.name = NULL}};

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct pair_opts *o = opts;
    struct tp_emit e = tp_emit_begin(sink, seed, 100, err);
    for (uint64_t i = 0; i < o->count && e.status == TP_OK; i++) {
        tp_emit_alloc(&e, 0, (int64_t)i, o->size);
        tp_emit_free(&e, 0, (int64_t)i);
    }
    return e.status;
}

const struct tp_profile tp_profile_pair = {
    .name = "pair",
    .summary = "allocate one object and free it at once",
    .about =
        "One thread allocates 'count' objects of 'size' bytes and frees each before the next. One "
        "object is live at a time, none at the end; the peak is 'size'. An event takes 100 ns on "
        "average. The seed affects only the times.",
    .kind = TP_KIND_HOST,
    .opts_size = sizeof(struct pair_opts),
    .options = rows,
    .generate = generate,
};
