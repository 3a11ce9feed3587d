/* Profile `random-replace`: a full heap in which random objects are replaced by others of random
 * size. This is the classic test of fragmentation: holes are everywhere, and rarely of the
 * requested size.
 *
 * The place of an object is its id, and the thread that owns it is the place modulo their number,
 * so the generator keeps no state. Known weakness: lifetimes are geometric and independent of size,
 * unlike in real programs. */
#include "traces/profiles/common/emit.h"

struct replace_opts {
    uint64_t size, max_size, live, count, threads;
};

static const struct tp_opt rows[] = {
    TP_PROFILE_SIZE_ROW(struct replace_opts, "16", "size of the smallest objects"),
    TP_PROFILE_MAX_SIZE_ROW(struct replace_opts,
                            "size of the largest objects; auto: 256 times size"),
    TP_PROFILE_COUNT_ROW(struct replace_opts, live, "10000", TP_PROFILE_MAX_LIVE,
                         "number of live objects"),
    TP_PROFILE_COUNT_ROW(struct replace_opts, count, "200000", TP_PROFILE_MAX_COUNT,
                         "number of allocations"),
    TP_PROFILE_COUNT_ROW(struct replace_opts, threads, "1", 1024,
                         "number of threads, each with its own objects"),
    {.name = NULL}};

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct replace_opts *o = opts;
    struct tp_emit e = tp_emit_begin(sink, seed, 100, err);
    uint64_t live = o->live < o->count ? o->live : o->count, max_size = o->max_size;
    int rc = tp_profile_sizes(o->size, &max_size, live, err);
    if (rc != TP_OK)
        return rc;
    for (uint64_t i = 0; i < o->count && e.status == TP_OK; i++) {
        uint64_t place = i < live ? i : tp_random_below(&e.random, live);
        uint64_t thread = place % o->threads;
        if (i >= live)
            tp_emit_free(&e, thread, (int64_t)place);
        tp_emit_alloc(&e, thread, (int64_t)place, tp_random_doubling(&e.random, o->size, max_size));
    }
    return e.status;
}

const struct tp_profile tp_profile_random_replace = {
    .name = "random-replace",
    .summary = "full heap: free a random object, allocate one of random size",
    .about =
        "One thread allocates 'live' objects. Each step then frees one of them at random and "
        "allocates another, until 'count' objects were allocated. From then on 'live' objects are "
        "live, at the end too. Each of several threads frees only its own objects. Sizes are "
        "between 'size' and 'max-size'; each doubling is equally likely. An event takes 100 ns on "
        "average.",
    .kind = TP_KIND_HOST,
    .opts_size = sizeof(struct replace_opts),
    .options = rows,
    .generate = generate,
};
