/* See why_layout.h. */
#include "cmd/why/why_layout.h"

static int add_segment(struct tp_why_layout *l, const struct tp_why_span *at,
                       const struct tp_why_space *space, struct tp_err *err)
{
    int rc = TP_READ_GROW(l->reading, &l->segments, &l->segment_room, l->segment_count + 1,
                          "segments", err);
    if (rc == TP_OK)
        l->segments[l->segment_count++] =
            (struct tp_why_segment){.at = *at, .space = *space, .first = l->count};
    return rc;
}

int tp_why_layout_add(struct tp_why_layout *l, const struct tp_why_span *at,
                      const struct tp_why_space *space, const struct tp_why_block *block,
                      struct tp_err *err)
{
    int rc = block->addr == at->base ? add_segment(l, at, space, err) : TP_OK;
    if (rc == TP_OK)
        rc = TP_READ_GROW(l->reading, &l->blocks, &l->room, l->count + 1, "blocks", err);
    if (rc != TP_OK)
        return rc;
    struct tp_why_segment *s = &l->segments[l->segment_count - 1];
    l->blocks[l->count++] = *block;
    l->grows |= space->unit != 0;
    s->count++;
    s->live += block->requested != 0;
    return TP_OK;
}

void tp_why_layout_release(struct tp_why_layout *l)
{
    if (!l->reading)
        return;
    TP_GROW_END(&l->segments, &l->segment_room, .budget = l->reading->budget);
    TP_GROW_END(&l->blocks, &l->room, .budget = l->reading->budget);
}

/* Adds bytes of a free block. */
static void add_hole(struct tp_why_sum *sum, uint64_t bytes)
{
    sum->hole_bytes += bytes;
    sum->holes += bytes > 0;
    sum->largest = bytes > sum->largest ? bytes : sum->largest;
}

/* Adds a free block: of a segment that grows, the whole units in it are unused, and what is before
 * and behind them are two holes. What is unused in a private pool never goes back by itself. */
static void add_free(struct tp_why_sum *sum, const struct tp_why_segment *s,
                     const struct tp_why_block *b)
{
    uint64_t unit = s->at.pool ? 0 : s->space.unit, at = b->addr - s->space.base,
             end = at + b->size;
    uint64_t first = unit ? (at + unit - 1) / unit : 0, behind = unit ? end / unit : 0;
    if (behind <= first) {
        add_hole(sum, b->size);
        return;
    }
    sum->free_units += behind - first;
    sum->free_bytes += (behind - first) * unit;
    add_hole(sum, first * unit - at);
    add_hole(sum, end - behind * unit);
}

static void add_block(struct tp_why_sum *sum, const struct tp_why_segment *s,
                      const struct tp_why_block *b)
{
    sum->requested += b->requested;
    sum->rounding += b->requested ? b->size - b->requested : 0;
    if (!b->requested)
        add_free(sum, s, b);
}

struct tp_why_sum tp_why_sum(const struct tp_why_layout *l)
{
    struct tp_why_sum sum = {.segments = l->segment_count};
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        bool whole = !s->live && !s->space.unit && !s->at.pool;
        sum.reserved += s->at.size;
        sum.live += s->live;
        sum.unused += whole;
        sum.free_bytes += whole ? s->at.size : 0;
        for (size_t k = s->first; !whole && k < s->first + s->count; k++)
            add_block(&sum, s, &l->blocks[k]);
    }
    return sum;
}
