/* Profile `streams`: a device with streams that hand memory to each other. A block freed on one
 * stream is soon needed by another, before the first one has caught up. Stream-ordered pools are
 * made for this.
 *
 * The place of a block is its id. Known weakness: no stream is ever idle for long, unlike real
 * ones. */
#include "traces/profiles/common/emit.h"

#include <stdlib.h>

struct streams_opts {
    uint64_t size, max_size, live, count, streams;
};

enum { MAX_LIVE = 1 << 20, MAX_STREAMS = 1024, EVENT_NS = 2000 };

static const struct tp_opt rows[] = {
    TP_PROFILE_SIZE_ROW(struct streams_opts, "64KiB", "size of the smallest blocks"),
    TP_PROFILE_MAX_SIZE_ROW(struct streams_opts,
                            "size of the largest blocks; auto: 256 times size"),
    TP_PROFILE_COUNT_ROW(struct streams_opts, live, "256", MAX_LIVE,
                         "number of live blocks on all streams"),
    TP_PROFILE_COUNT_ROW(struct streams_opts, count, "50000", TP_PROFILE_MAX_COUNT,
                         "number of allocations"),
    TP_PROFILE_COUNT_ROW(struct streams_opts, streams, "4", MAX_STREAMS,
                         "number of streams of the device"),
    {.name = NULL}};

struct stream_block {
    uint64_t size;
    uint64_t stream; /* stream on which it is allocated and freed */
};

struct stream_device {
    struct tp_emit emit;
    const struct streams_opts *o;
    uint64_t max_size;
    struct stream_block *blocks; /* indexed by place */
};

static void on_stream(struct stream_device *d, enum tp_event_op op, uint64_t place, uint64_t stream)
{
    tp_emit(&d->emit, (struct tp_event){.op = op,
                                        .id = (int64_t)place,
                                        .has_size = op == TP_EV_ALLOC,
                                        .size = op == TP_EV_ALLOC ? d->blocks[place].size : 0,
                                        .has_stream = true,
                                        .stream = (int64_t)stream});
}

static void allocate(struct stream_device *d, uint64_t place, uint64_t stream, uint64_t size)
{
    d->blocks[place] = (struct stream_block){size, stream};
    on_stream(d, TP_EV_ALLOC, place, stream);
}

static uint64_t draw_size(struct stream_device *d)
{
    return tp_random_doubling(&d->emit.random, d->o->size, d->max_size);
}

/* A random stream other than this one, unless there is only one. */
static uint64_t another(struct stream_device *d, uint64_t stream)
{
    uint64_t n = d->o->streams;
    return n == 1 ? stream : (stream + 1 + tp_random_below(&d->emit.random, n - 1)) % n;
}

/* Replaces a block, which a second stream may be using when it is freed. Another stream then
 * allocates one, half of the time of the same size. */
static void replace(struct stream_device *d, uint64_t place)
{
    struct tp_random *random = &d->emit.random;
    struct stream_block old = d->blocks[place];
    if (tp_random_one_in(random, 4) && d->o->streams > 1)
        on_stream(d, TP_EV_USE, place, another(d, old.stream));
    on_stream(d, TP_EV_FREE, place, old.stream);
    uint64_t stream = another(d, old.stream);
    allocate(d, place, stream, tp_random_one_in(random, 2) ? old.size : draw_size(d));
}

static void synchronise(struct stream_device *d)
{
    struct tp_random *random = &d->emit.random;
    if (tp_random_one_in(random, 64))
        tp_emit(&d->emit,
                (struct tp_event){.op = TP_EV_SYNC,
                                  .has_stream = true,
                                  .stream = (int64_t)tp_random_below(random, d->o->streams)});
    if (tp_random_one_in(random, 1024))
        tp_emit(&d->emit, (struct tp_event){.op = TP_EV_SYNC});
}

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct streams_opts *o = opts;
    struct stream_device d = {
        .emit = tp_emit_begin(sink, seed, EVENT_NS, err), .o = o, .max_size = o->max_size};
    uint64_t live = o->live < o->count ? o->live : o->count;
    int rc = tp_profile_sizes(o->size, &d.max_size, live, err);
    if (rc != TP_OK)
        return rc;
    d.blocks = calloc(live, sizeof *d.blocks);
    if (!d.blocks)
        return tp_fail(err, TP_ENOMEM, "out of memory for %" PRIu64 " live blocks", live);
    for (uint64_t i = 0; i < o->count && d.emit.status == TP_OK; i++) {
        if (i < live)
            allocate(&d, i, i % o->streams, draw_size(&d));
        else
            replace(&d, tp_random_below(&d.emit.random, live));
        synchronise(&d);
    }
    free(d.blocks);
    return d.emit.status;
}

static uint64_t stream_count(const void *opts)
{
    return ((const struct streams_opts *)opts)->streams;
}

const struct tp_profile tp_profile_streams = {
    .name = "streams",
    .summary = "GPU: streams that reuse each other's freed blocks",
    .about =
        "A device trace. The streams take turns to allocate 'live' blocks. Each step then frees "
        "one block at random, on its own stream, and allocates another on another stream, half of "
        "the time with the same size, until 'count' blocks were allocated. From then on 'live' "
        "blocks are live, at the end too. One block in four is used by a second stream before its "
        "free. One step in 64 syncs a stream, one in 1,024 the device. Sizes are between 'size' "
        "and 'max-size'; each doubling is equally likely. An event takes 2 us on average.",
    .kind = TP_KIND_DEVICE,
    .opts_size = sizeof(struct streams_opts),
    .options = rows,
    .streams = stream_count,
    .generate = generate,
};
