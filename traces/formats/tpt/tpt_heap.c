/* See tpt_heap.h. Sums may wrap around in a file that is damaged: then they are no sound heap. */
#include "traces/formats/tpt/tpt_heap.h"

#include "alloc/base/grow.h"
#include "traces/formats/tpt/tpt_layout.h"

/* ---- writing ---- */

static uint8_t *put_segment(struct tp_tpt_heap_place *at, const struct tp_heap_segment *s,
                            const struct tp_heap_segment *before, uint8_t *to)
{
    bool same = before && before->device == s->device;
    const uint64_t numbers[TP_TPT_HEAP_NUMBERS] = {
        s->device, s->stream, s->flags, s->pool[0], s->pool[1], s->base - (same ? at->end : 0),
        s->size,   s->blocks};
    for (size_t i = 0; i < TP_TPT_HEAP_NUMBERS; i++)
        to = tp_put_varint(to, numbers[i]);
    at->left = s->blocks;
    at->so_far = s->base;
    at->end = s->base + s->size;
    at->segment++;
    return to;
}

static uint8_t *put_block(struct tp_tpt_heap_place *at, const struct tp_heap_block *b, uint8_t *to)
{
    uint64_t end = b->at + b->requested;
    to = tp_put_varint(to, b->at - at->so_far);
    to = tp_put_varint(to, b->requested);
    to = tp_put_varint(to, b->bytes ? b->bytes - b->requested + 1 : 0);
    to = tp_put_varint(to, b->behind ? b->behind - end + 1 : 0);
    at->so_far = end;
    at->left--;
    at->block++;
    return to;
}

int tp_tpt_heap_put(struct tp_tpt_heap_place *at, const struct tp_heap *heap,
                    struct tp_tpt_block *block, uint8_t **payload, struct tp_err *err)
{
    *payload = NULL;
    if (!heap || (at->segment == heap->segment_count && !at->left))
        return TP_OK;
    uint8_t *to = *payload = malloc(TP_TPT_HEAP_MAX);
    if (!to)
        return tp_fail(err, TP_ENOMEM, "out of memory for the heap at the start");
    *block = (struct tp_tpt_block){.type = TP_TPT_HEAP, .flags = TP_TPT_SKIP};
    for (; block->count < TP_TPT_HEAP_ITEMS; block->count++) {
        const struct tp_heap_segment *s = &heap->segments[at->segment];
        if (at->left)
            to = put_block(at, &heap->blocks[at->block], to);
        else if (at->segment < heap->segment_count)
            to = put_segment(at, s, at->segment ? s - 1 : NULL, to);
        else
            break;
    }
    block->stored = block->raw = (uint32_t)(to - *payload);
    return TP_OK;
}

/* ---- reading ---- */

/* Reads `count` numbers; NULL: they reach over the end. */
static const uint8_t *get_numbers(const uint8_t *at, const uint8_t *end, uint64_t *numbers,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        at = tp_varint(at, &numbers[i]);
        if (at > end)
            return NULL;
    }
    return at;
}

static int get_segment(struct tp_tpt_heap *h, const uint64_t *n, struct tp_err *err)
{
    struct tp_tpt_heap_place *at = &h->at;
    const struct tp_heap_segment *before = at->segment ? &h->segments[at->segment - 1] : NULL;
    if (n[0] >= TP_MAX_DEVICES || n[1] >= TP_MAX_STREAMS || n[2] > TP_HEAP_FLAGS)
        return tp_fail(err, TP_EINPUT, "a segment is out of range");
    struct tp_heap_segment s = {.device = (uint16_t)n[0],
                                .stream = (uint16_t)n[1],
                                .flags = (uint32_t)n[2],
                                .pool = {n[3], n[4]},
                                .base = n[5],
                                .size = n[6],
                                .blocks = n[7]};
    s.base += before && before->device == s.device ? at->end : 0;
    int rc = TP_GROW(&h->segments, &h->segment_room, at->segment + 1, err, .what = "segments");
    if (rc != TP_OK)
        return rc;
    h->segments[at->segment++] = s;
    at->left = s.blocks;
    at->so_far = s.base;
    at->end = s.base + s.size;
    return TP_OK;
}

static int get_block(struct tp_tpt_heap *h, const uint64_t *n, struct tp_err *err)
{
    struct tp_tpt_heap_place *at = &h->at;
    uint64_t place = at->so_far + n[0], end = place + n[1];
    int rc = TP_GROW(&h->blocks, &h->block_room, at->block + 1, err, .what = "objects");
    if (rc != TP_OK)
        return rc;
    h->blocks[at->block++] = (struct tp_heap_block){.at = place,
                                                    .requested = n[1],
                                                    .bytes = n[2] ? n[1] + n[2] - 1 : 0,
                                                    .behind = n[3] ? end + n[3] - 1 : 0};
    at->so_far = end;
    at->left--;
    return TP_OK;
}

int tp_tpt_heap_get(struct tp_tpt_heap *h, const struct tp_tpt_block *block, const uint8_t *payload,
                    struct tp_err *err)
{
    const uint8_t *at = payload, *end = payload + block->stored;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < block->count; i++) {
        uint64_t numbers[TP_TPT_HEAP_NUMBERS];
        bool inside = h->at.left > 0;
        at = get_numbers(at, end, numbers, inside ? 4 : TP_TPT_HEAP_NUMBERS);
        if (!at)
            return tp_fail(err, TP_EINPUT, "the heap reaches over its end");
        rc = inside ? get_block(h, numbers, err) : get_segment(h, numbers, err);
    }
    if (rc == TP_OK && at != end)
        rc = tp_fail(err, TP_EINPUT, "something follows the heap");
    return rc;
}

void tp_tpt_heap_release(struct tp_tpt_heap *h)
{
    TP_GROW_END(&h->segments, &h->segment_room, .budget = NULL);
    TP_GROW_END(&h->blocks, &h->block_room, .budget = NULL);
}

struct tp_heap tp_tpt_heap_of(const struct tp_tpt_heap *h)
{
    return (struct tp_heap){h->segments, h->blocks, h->at.segment, h->at.block};
}
