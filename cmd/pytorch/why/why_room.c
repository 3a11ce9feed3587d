/* See why_room.h. What is in the way is looked for side by side: in a segment by a window over its
 * blocks, of whole segments by one over these (why_growing.h). Known weakness: rules that
 * give single segments back early (garbage_collection_threshold) are not asked, and where segments
 * grow (expandable_segments) beside a max_split_size_mb only the sums are compared. */
#include "cmd/pytorch/why/why_room.h"

#include "alloc/base/ascending.h"
#include "cmd/pytorch/why/why_growing.h"

#include <stdlib.h>
#include <string.h>

struct room_making {
    const struct tp_why_layout *layout;
    const struct tp_torch_rules *rules;
    const struct tp_why_request *rq;
    struct tp_why_sum sum;
    struct tp_why_growing *growing; /* NULL: segments do not grow, or it is not told */
    struct tp_why_room *out;
    bool small; /* the request's pool */
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- what serves ---- */

/* Whether a free block of `hole` bytes serves a block of `size` bytes. */
static bool serves(const struct tp_torch_rules *rules, uint64_t hole, uint64_t size)
{
    if (hole < size || (size < rules->split_limit && hole >= rules->split_limit))
        return false;
    return size < rules->split_limit || hole - size < rules->oversize_rest;
}

static bool is_of_pool(const struct room_making *m, const struct tp_why_segment *s)
{
    return s->at.small == m->small && s->at.stream == m->rq->stream && s->at.pool == m->rq->pool;
}

/* Bytes that the driver can give once what serves nothing went back. */
static uint64_t driver_has(const struct room_making *m)
{
    return m->rq->free + m->sum.free_bytes;
}

/* The largest request whose block has at most `bytes`. */
static uint64_t largest_within(const struct tp_torch_rules *rules, uint64_t bytes)
{
    uint64_t low = 0, high = bytes;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (tp_torch_rounded(rules, middle) <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The largest block that a new segment of at most `bytes` serves. */
static uint64_t largest_new(const struct room_making *m, uint64_t bytes)
{
    const struct tp_torch_rules *r = m->rules;
    uint64_t own = bytes / r->own_grain * r->own_grain;
    if (m->small)
        return bytes >= r->small_segment ? r->small_most : 0;
    if (own >= r->own_least)
        return own;
    return bytes >= r->large_segment ? r->own_least - r->grain : 0;
}

/* The largest block that new memory serves. */
static uint64_t largest_fresh(const struct room_making *m)
{
    uint64_t most = m->small ? m->rules->small_most : UINT64_MAX;
    uint64_t bytes = 0;
    if (m->growing)
        bytes = tp_why_growing_largest(m->growing);
    else if (m->rq->has_free)
        bytes = largest_new(m, driver_has(m));
    return bytes < most ? bytes : most;
}

static void look_at_holes(const struct room_making *m, bool *served)
{
    const struct tp_why_layout *l = m->layout;
    *served = false;
    for (size_t i = 0; i < l->segment_count; i++) {
        const struct tp_why_segment *s = &l->segments[i];
        for (size_t k = s->first; is_of_pool(m, s) && k < s->first + s->count; k++) {
            const struct tp_why_block *b = &l->blocks[k];
            if (b->requested)
                continue;
            m->out->largest = b->size > m->out->largest ? b->size : m->out->largest;
            *served |= serves(m->rules, b->size, m->out->need);
        }
    }
}

static enum tp_why_verdict verdict_of(const struct room_making *m, uint64_t taken, bool served)
{
    const struct tp_why_room *out = m->out;
    if (served)
        return TP_WHY_HAD_ROOM;
    if (!m->rq->has_free)
        return TP_WHY_NO_CAPACITY;
    if (!out->untold && out->segment <= driver_has(m))
        return TP_WHY_REFUSED;
    return taken + out->need > out->capacity ? TP_WHY_TOO_BIG : TP_WHY_FRAGMENTED;
}

static void judge(const struct room_making *m)
{
    struct tp_why_room *out = m->out;
    const struct tp_why_request *rq = m->rq;
    uint64_t taken = tp_why_taken(&m->sum);
    bool served = false;
    look_at_holes(m, &served);
    out->there = m->sum.reserved - taken + (rq->has_free ? rq->free : 0);
    out->capacity = rq->has_free ? m->sum.reserved + rq->free : 0;
    uint64_t fresh = largest_fresh(m);
    out->fitting = largest_within(m->rules, fresh > out->largest ? fresh : out->largest);
    if (out->untold || (!m->small && out->fitting <= m->rules->small_most))
        out->fitting = 0;
    out->verdict = verdict_of(m, taken, served);
}

/* ---- a hole in one segment ---- */

struct window {
    const struct tp_why_segment *segment;
    size_t first, last; /* numbers of its blocks, from the first freed one to the last */
    size_t live;
    uint64_t bytes; /* of live ones */
};

static bool is_better(const struct window *a, const struct window *b)
{
    if (!b->segment || a->live != b->live)
        return !b->segment || a->live < b->live;
    return a->bytes < b->bytes;
}

/* Moves the end of the window to behind the block at `to`, or back from it. */
static void count_block(struct window *w, const struct tp_why_block *b, bool in)
{
    if (!b->requested)
        return;
    w->live += in ? (size_t)1 : SIZE_MAX;
    w->bytes += in ? b->size : (uint64_t)0 - b->size;
}

/* The best window of a segment: each begins behind a live block, or at the segment's beginning, and
 * ends before one, or at its end. */
static void try_segment(const struct room_making *m, const struct tp_why_segment *s,
                        struct window *best)
{
    const struct tp_why_block *b = m->layout->blocks;
    size_t end = s->first + s->count, to = s->first; /* the window is [from, to) */
    struct window w = {.segment = s};
    for (size_t from = s->first; from < end; count_block(&w, &b[from], false), from++) {
        while (to < end && (b[to].addr - b[from].addr < m->out->need || !b[to].requested))
            count_block(&w, &b[to++], true);
        if (from > s->first && !b[from - 1].requested)
            continue;
        uint64_t limit = to < end ? b[to].addr : s->at.base + s->at.size;
        w.first = from;
        w.last = to - 1;
        if (serves(m->rules, limit - b[from].addr, m->out->need) && is_better(&w, best))
            *best = w;
    }
}

static void try_holes(const struct room_making *m, struct window *best)
{
    const struct tp_why_layout *l = m->layout;
    for (size_t i = 0; i < l->segment_count; i++)
        if (is_of_pool(m, &l->segments[i]) && l->segments[i].at.size >= m->out->need)
            try_segment(m, &l->segments[i], best);
}

/* ---- the set ---- */

static void take_live(struct tp_why_room *out, const struct tp_why_layout *l, size_t first,
                      size_t last)
{
    for (size_t k = first; k <= last; k++) {
        if (!l->blocks[k].requested)
            continue;
        out->blocks[out->block_count++] = k;
        out->bytes += l->blocks[k].size;
    }
    out->segments++;
}

static int take_window(struct tp_why_room *out, const struct tp_why_layout *l,
                       const struct window *w, struct tp_err *err)
{
    out->blocks = calloc(w->live + 1, sizeof *out->blocks);
    if (!out->blocks)
        return no_memory(err);
    out->way = TP_WHY_HOLE;
    take_live(out, l, w->first, w->last);
    return TP_OK;
}

static void take_set(const struct room_making *m, struct tp_why_set *set, enum tp_why_way way)
{
    struct tp_why_room *out = m->out;
    const struct tp_why_layout *l = m->layout;
    const struct tp_why_segment *s = l->segments, *last = NULL;
    out->way = set->side_by_side ? TP_WHY_HOLE : way;
    out->blocks = set->blocks;
    out->block_count = set->count;
    for (size_t i = 0; i < set->count; i++) {
        while (set->blocks[i] >= s->first + s->count)
            s++;
        out->bytes += l->blocks[set->blocks[i]].size;
        out->segments += s != last;
        last = s;
    }
}

/* The hole with the fewest blocks, or fewer that give the driver enough. */
static int make_room(const struct room_making *m, const struct tp_why_growing *g,
                     enum tp_why_way way, struct tp_err *err)
{
    struct window w = {.segment = NULL};
    struct tp_why_set set = {.count = 0};
    try_holes(m, &w);
    size_t below = w.segment ? w.live : SIZE_MAX;
    int rc = m->rq->has_free ? tp_why_growing_set(g, below, &set, err) : TP_OK;
    if (rc == TP_OK && set.count)
        take_set(m, &set, way);
    else
        free(set.blocks);
    return rc == TP_OK && !set.count && w.segment ? take_window(m->out, m->layout, &w, err) : rc;
}

/* Whole segments, each of them a unit that a segment for the request may be taken from. */
static int make_room_of_segments(const struct room_making *m, struct tp_err *err)
{
    const struct tp_why_growing_cfg cfg = {
        .layout = m->layout, .need = m->out->segment, .unit = 1, .driver = driver_has(m)};
    struct tp_why_growing *segments = NULL;
    int rc = tp_why_growing_new(&cfg, &segments, err);
    if (rc == TP_OK)
        rc = make_room(m, segments, TP_WHY_SEGMENTS, err);
    tp_why_growing_free(segments);
    return rc;
}

static int look_at_growing(struct room_making *m, struct tp_err *err)
{
    const struct tp_torch_rules *r = m->rules;
    const struct tp_why_growing_cfg cfg = {.layout = m->layout,
                                           .need = m->out->need,
                                           .unit = m->small ? r->small_segment : r->large_segment,
                                           .driver = driver_has(m),
                                           .stream = m->rq->stream,
                                           .small = m->small};
    int rc = tp_why_growing_new(&cfg, &m->growing, err);
    m->out->segment = rc == TP_OK ? tp_why_growing_least(m->growing) : 0;
    return rc;
}

int tp_why_room(const struct tp_why_layout *l, const struct tp_torch_rules *rules,
                const struct tp_why_request *rq, struct tp_why_room *out, struct tp_err *err)
{
    struct room_making m = {
        .layout = l, .rules = rules, .rq = rq, .sum = tp_why_sum(l), .out = out};
    *out = (struct tp_why_room){.need = tp_torch_rounded(rules, rq->size)};
    m.small = out->need <= rules->small_most;
    out->segment = tp_torch_segment_bytes(rules, out->need);
    out->grows = l->grows || rules->expandable;
    out->untold = out->grows && rules->split_limit != TP_TORCH_NO_SPLIT_LIMIT;
    int rc = out->grows && !out->untold ? look_at_growing(&m, err) : TP_OK;
    if (rc == TP_OK)
        judge(&m);
    bool sought = !out->untold && out->verdict != TP_WHY_HAD_ROOM && out->verdict != TP_WHY_REFUSED;
    if (rc == TP_OK && sought && m.growing)
        rc = rq->has_free ? make_room(&m, m.growing, TP_WHY_UNITS, err) : TP_OK;
    else if (rc == TP_OK && sought)
        rc = make_room_of_segments(&m, err);
    tp_why_growing_free(m.growing);
    return rc;
}
