/* See lower.h. Segments say nothing of their blocks, so these are counted by their addresses
 * once all are there. */
#include "traces/lower/lower.h"

#include "alloc/base/grow.h"

#include <inttypes.h>

int tp_lower_heap_segment(struct tp_lower_heap *h, const struct tp_streams *streams, int64_t stream,
                          const struct tp_heap_segment *segment, struct tp_err *err)
{
    struct tp_heap_segment s = *segment;
    if (h->given)
        return tp_fail(err, TP_EINPUT, "segments come after the first event");
    if (!tp_streams_find(streams, stream, &s.stream))
        return tp_fail(err, TP_EINPUT, "a segment's stream %" PRId64 " is not declared", stream);
    s.device = streams->device_of[s.stream];
    int rc = TP_GROW(&h->segments, &h->segment_room, h->segment_count + 1, err, .what = "segments",
                     .budget = h->budget);
    if (rc == TP_OK)
        h->segments[h->segment_count++] = s;
    return rc;
}

int tp_lower_heap_block(struct tp_lower_heap *h, const struct tp_event *ev, uint64_t size,
                        struct tp_err *err)
{
    h->placed |= ev->has_at;
    h->incomplete |= !ev->has_at;
    if (h->incomplete)
        return TP_OK;
    int rc = TP_GROW(&h->blocks, &h->block_room, h->block_count + 1, err, .what = "objects",
                     .budget = h->budget);
    if (rc == TP_OK)
        h->blocks[h->block_count++] = (struct tp_heap_block){
            .at = ev->at, .requested = size, .bytes = ev->bytes, .behind = ev->behind};
    return rc;
}

/* Blocks come in the order of the segments, or the heap is refused. */
static void count_blocks(struct tp_lower_heap *h)
{
    size_t next = 0;
    for (size_t i = 0; i < h->segment_count; i++) {
        struct tp_heap_segment *s = &h->segments[i];
        for (s->blocks = 0; next < h->block_count; next++, s->blocks++)
            if (h->blocks[next].at < s->base || h->blocks[next].at - s->base >= s->size)
                break;
    }
}

static int give(struct tp_lower_heap *h, struct tp_builder *b, struct tp_err *err)
{
    if (!h->segment_count && !h->placed)
        return TP_OK;
    if (!h->segment_count)
        return tp_fail(err, TP_EINPUT, "objects have an address, and there are no segments");
    if (h->incomplete)
        return tp_fail(err, TP_EINPUT,
                       "there are segments, and an object that was live at the start has no "
                       "address");
    count_blocks(h);
    const struct tp_heap heap = {.segments = h->segments,
                                 .blocks = h->blocks,
                                 .segment_count = h->segment_count,
                                 .block_count = h->block_count};
    return tp_builder_heap(b, &heap, err);
}

int tp_lower_heap_give(struct tp_lower_heap *h, struct tp_builder *b, char *why, struct tp_err *err)
{
    struct tp_err refused = {0};
    if (h->given)
        return TP_OK;
    h->given = true;
    int rc = give(h, b, &refused);
    if (rc == TP_OK)
        return TP_OK;
    if (rc != TP_EINPUT || !why)
        return tp_fail(err, refused.status, "%s", refused.text);
    snprintf(why, TP_ERR_TEXT, "%s", refused.text);
    return TP_OK;
}

void tp_lower_heap_release(struct tp_lower_heap *h)
{
    TP_GROW_END(&h->segments, &h->segment_room, .budget = h->budget);
    TP_GROW_END(&h->blocks, &h->block_room, .budget = h->budget);
}
