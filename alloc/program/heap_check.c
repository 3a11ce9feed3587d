/* See heap_check.h. */
#include "alloc/program/heap_check.h"

/* Addresses and sums of sizes stay below this. */
#define MOST (UINT64_C(1) << 62)

static_assert(sizeof(struct tp_heap_segment) == 48 && sizeof(struct tp_heap_block) == 32,
              "hashed and written to files without padding");

static const char *segment_wrong(const struct tp_heap_segment *s,
                                 const struct tp_heap_segment *before)
{
    if (s->size == 0 || s->size >= MOST || s->base >= MOST - s->size)
        return "a segment is out of range";
    if (s->flags & ~(uint32_t)TP_HEAP_FLAGS)
        return "a segment has unknown flags";
    if (s->pool[0] > TP_POOL_MOST || s->pool[1] > TP_POOL_MOST)
        return "the pool of a segment is out of range";
    if (before && s->device < before->device)
        return "its segments do not ascend";
    if (before && s->device == before->device && s->base < before->base + before->size)
        return "its segments do not ascend, or overlap";
    return NULL;
}

/* `end`: where the next block or the segment's end begins. */
static const char *block_wrong(const struct tp_heap_block *b, uint64_t end)
{
    uint64_t room = end - b->at;
    if (b->requested == 0 || b->requested > room)
        return "a block overlaps the next one, or the end of its segment";
    if (b->bytes && (b->bytes < b->requested || b->bytes > room))
        return "a block is smaller than its request, or overlaps";
    if (b->behind && (b->behind < b->at + b->requested || b->behind >= end))
        return "the padding behind a block is outside its room";
    return NULL;
}

static const char *blocks_wrong(const struct tp_heap_segment *s, const struct tp_heap_block *b)
{
    uint64_t end = s->base + s->size;
    const char *wrong = NULL;
    for (uint64_t i = 0; !wrong && i < s->blocks; i++) {
        bool last = i + 1 == s->blocks;
        if (b[i].at < s->base || b[i].at >= end || (!last && b[i + 1].at <= b[i].at))
            return "a block lies outside its segment, or before another";
        wrong = block_wrong(&b[i], last || b[i + 1].at > end ? end : b[i + 1].at);
    }
    return wrong;
}

const char *tp_heap_wrong(const struct tp_heap *h, uint32_t streams, uint32_t devices)
{
    uint64_t blocks = 0, bytes = 0;
    const char *wrong = NULL;
    for (uint64_t i = 0; !wrong && i < h->segment_count; i++) {
        const struct tp_heap_segment *s = &h->segments[i];
        wrong = "a segment has no such stream";
        if (s->stream < streams && s->device < devices)
            wrong = segment_wrong(s, i ? s - 1 : NULL);
        if (!wrong && (s->size > MOST - bytes || s->blocks > h->block_count - blocks))
            wrong = "its segments add up to too much";
        if (!wrong)
            wrong =
                blocks_wrong(s, blocks ? h->blocks + blocks : h->blocks); /* NULL: it has none */
        blocks += s->blocks;
        bytes += s->size;
    }
    return wrong || blocks == h->block_count ? wrong : "a block lies in no segment";
}

const char *tp_heap_differs(const struct tp_heap *h, struct tp_heap_place *at,
                            const struct tp_insn *insn)
{
    while (at->segment < h->segment_count && !at->left) {
        at->left = h->segments[at->segment].blocks;
        at->segment += !at->left;
    }
    if (at->segment == h->segment_count || insn->slot != at->block ||
        insn->device != h->segments[at->segment].device ||
        insn->size != h->blocks[at->block].requested)
        return "its blocks are not those that were live at the start";
    at->block++;
    at->segment += !--at->left;
    return NULL;
}

struct tp_heap tp_heap_of(const struct tp_heap *h, uint16_t device)
{
    struct tp_heap out = {.segments = h->segments, .blocks = h->blocks};
    const struct tp_heap_segment *end = h->segments + h->segment_count;
    for (; out.segments < end && out.segments->device < device; out.segments++)
        out.blocks += out.segments->blocks;
    for (const struct tp_heap_segment *s = out.segments; s < end && s->device == device; s++) {
        out.segment_count++;
        out.block_count += s->blocks;
    }
    return out;
}
