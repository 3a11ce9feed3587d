/* See why_picture.h. A frame has as much room for its rows as one of `most` frames of a replay. */
#include "cmd/why/why_picture.h"

#include "alloc/base/units.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_ROOM = 16 }; /* of so many frames one picture may take the room */

/* A heap in the form that frames are drawn from. */
struct heap_parts {
    struct tp_heap_range *ranges;
    struct tp_heap_piece *pieces;
};

static int no_room(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while drawing a heap");
}

/* ---- the heap ---- */

static void fill_parts(const struct tp_why_layout *l, const struct tp_why_held *held,
                       const struct heap_parts *to)
{
    size_t live = 0;
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        to->ranges[i] = (struct tp_heap_range){.number = i + 1,
                                               .size = s->at.size,
                                               .bytes = s->at.size,
                                               .first = s->first,
                                               .count = s->count};
        for (size_t k = s->first; k < s->first + s->count; k++) {
            const struct tp_why_block *b = &l->blocks[k];
            bool is_live = b->requested != 0;
            to->pieces[k] = (struct tp_heap_piece){
                .number = i + 1,
                .offset = b->addr - s->at.base,
                .size = b->size,
                .event = is_live ? held->list.blocks[live].place : 0,
                .kind = is_live ? TP_WALK_LIVE : TP_WALK_SPAN,
            };
            live += is_live;
        }
    }
}

static struct tp_frame frame_of(const struct tp_why_moment *m, const struct tp_why_sum *sum)
{
    struct tp_frame f = {.event = m->event,
                         .time_ns = m->has_time ? m->since_ns : TP_NONE,
                         .requested = sum->requested,
                         .allocated = tp_why_taken(sum),
                         .reserved = sum->reserved,
                         .mark = UINT32_MAX,
                         .reasons = m->failed ? TP_FRAME_FAILED : TP_FRAME_RESERVED};
    f.kinds[TP_WALK_LIVE] = tp_why_taken(sum);
    f.kinds[TP_WALK_SPAN] = sum->reserved - tp_why_taken(sum);
    return f;
}

static int draw(struct tp_why_picture *p, const struct tp_why_moment *m,
                const struct tp_why_layout *l, const struct tp_why_held *held, uint32_t shares,
                struct tp_err *err)
{
    uint32_t most = shares < TP_FRAMES_MOST / FRAMES_ROOM ? shares * FRAMES_ROOM : TP_FRAMES_MOST;
    unsigned coarseness = 0;
    const struct tp_why_sum sum = tp_why_sum(l);
    const struct tp_frame frame = frame_of(m, &sum);
    const struct heap_parts parts = {.ranges = calloc(l->segment_count, sizeof *parts.ranges),
                                     .pieces = calloc(l->count, sizeof *parts.pieces)};
    p->frames = calloc(1, tp_frames_size(1, most));
    int rc = parts.ranges && parts.pieces && p->frames ? TP_OK : no_room(err);
    if (rc == TP_OK) {
        const struct tp_heap_layout heap = {.ranges = parts.ranges,
                                            .range_count = l->segment_count,
                                            .pieces = parts.pieces,
                                            .piece_count = l->count};
        fill_parts(l, held, &parts);
        tp_frames_open(p->frames, 1, most);
        tp_frames_add(p->frames, 0, &frame, &heap, &coarseness);
    }
    free(parts.ranges);
    free(parts.pieces);
    return rc;
}

/* ---- blocks ---- */

/* The blocks ascend, and so do the segments that they lie in. */
static void mark(struct tp_why_picture *p, const struct tp_why_layout *l,
                 const struct tp_why_room *room)
{
    uint64_t before = 0;
    const struct tp_why_segment *s = l->segments;
    for (size_t i = 0; i < room->block_count && p->mark_count < TP_WHY_MARKS; i++) {
        const struct tp_why_block *b = &l->blocks[room->blocks[i]];
        for (; room->blocks[i] >= s->first + s->count; s++)
            before += s->at.size;
        p->marks[p->mark_count++] =
            (struct tp_why_mark){.at = before + (b->addr - s->at.base), .size = b->size};
    }
}

static int keep_births(struct tp_why_picture *p, const struct tp_why_held *held, struct tp_err *err)
{
    p->live = held->list.count;
    p->first = p->live ? held->list.blocks[0].place : 0;
    p->born = calloc(p->live + 1, sizeof *p->born);
    if (!p->born)
        return no_room(err);
    if (p->live)
        memcpy(p->born, held->born, p->live * sizeof *p->born);
    return TP_OK;
}

int tp_why_picture(const struct tp_why_moment *m, const struct tp_why_layout *l,
                   const struct tp_why_held *held, const struct tp_why_room *room, uint32_t shares,
                   struct tp_why_picture **out, struct tp_err *err)
{
    struct tp_why_picture *p = calloc(1, sizeof *p);
    int rc = p ? TP_OK : no_room(err);
    if (rc == TP_OK && l->segment_count)
        rc = draw(p, m, l, held, shares, err);
    if (rc == TP_OK)
        rc = keep_births(p, held, err);
    if (rc == TP_OK)
        mark(p, l, room);
    else
        tp_why_picture_free(p);
    *out = rc == TP_OK ? p : NULL;
    return rc;
}

void tp_why_picture_free(struct tp_why_picture *p)
{
    if (!p)
        return;
    free(p->frames);
    free(p->born);
    free(p);
}
