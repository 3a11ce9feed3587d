/* See why_layout.h. */
#include "cmd/why/why_layout.h"

static int add_segment(struct tp_why_layout *l, const struct tp_torch_segment *at,
                       struct tp_err *err)
{
    int rc = TP_READ_GROW(l->reading, &l->segments, &l->segment_room, l->segment_count + 1,
                          "segments", err);
    if (rc == TP_OK)
        l->segments[l->segment_count++] = (struct tp_why_segment){.at = *at, .first = l->count};
    return rc;
}

struct collecting {
    struct tp_why_layout *layout;
    struct tp_err *err;
};

static int take(void *ctx, const struct tp_torch_segment *at, bool grows,
                const struct tp_torch_at *block)
{
    const struct collecting *c = ctx;
    struct tp_why_layout *l = c->layout;
    bool begins = block->addr == at->base;
    int rc = begins ? add_segment(l, at, c->err) : TP_OK;
    if (rc == TP_OK)
        rc = TP_READ_GROW(l->reading, &l->blocks, &l->room, l->count + 1, "blocks", c->err);
    if (rc != TP_OK)
        return rc;
    struct tp_why_segment *s = &l->segments[l->segment_count - 1];
    l->blocks[l->count++] = (struct tp_why_block){block->addr, block->size, block->requested};
    l->grows |= grows;
    s->count++;
    s->live += block->requested != 0;
    return TP_OK;
}

int tp_why_layout_of(void *st, struct tp_why_layout *out, struct tp_err *err)
{
    return tp_torch_look(st, take, &(struct collecting){out, err});
}

void tp_why_layout_release(struct tp_why_layout *l)
{
    if (!l->reading)
        return;
    TP_GROW_END(&l->segments, &l->segment_room, .budget = l->reading->budget);
    TP_GROW_END(&l->blocks, &l->room, .budget = l->reading->budget);
}

struct tp_why_sum tp_why_sum(const struct tp_why_layout *l)
{
    struct tp_why_sum sum = {.segments = l->segment_count};
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        sum.reserved += s->at.size;
        sum.live += s->live;
        sum.idle += !s->live;
        sum.idle_bytes += s->live ? 0 : s->at.size;
        for (size_t k = s->first; s->live && k < s->first + s->count; k++) {
            const struct tp_why_block *b = &l->blocks[k];
            bool hole = !b->requested;
            sum.requested += b->requested;
            sum.rounding += hole ? 0 : b->size - b->requested;
            sum.hole_bytes += hole ? b->size : 0;
            sum.holes += hole;
            sum.largest = hole && b->size > sum.largest ? b->size : sum.largest;
        }
    }
    return sum;
}
