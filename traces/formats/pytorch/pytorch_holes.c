/* See pytorch_lower.h. What was at an address at the moment of the trace peak follows from what
 * happens to it afterwards:
 *
 *     first seen after it as   alloc, segment_alloc   free, segment_free   nothing: the end's lists
 *     at the moment            not there              there                as they have it
 *
 * So the events behind the moment are painted in their order, then the lists, each only where
 * nothing is painted yet. Addresses are cut into cells at both ends of every range. Painted cells
 * are skipped by union-find, so the cost is about that of a sort.
 *
 * A free block ends with its segment; in expandable segments it may span all ranges that are mapped
 * side by side. Known weakness: the size of a block is taken as the requested size, rounded up to
 * 512 bytes. A rest that PyTorch did not split off (1 MiB at most, unless max_split_size_mb says
 * otherwise) counts as free. */
#include "traces/formats/pytorch/pytorch_lower.h"

#include "alloc/base/ascending.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN      512 /* granularity of blocks, bytes */
#define EXPANDABLE 0   /* owner of all ranges of expandable segments */

static uint64_t rounded(uint64_t bytes)
{
    return bytes <= UINT64_MAX - GRAIN ? (bytes + GRAIN - 1) / GRAIN * GRAIN : bytes;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- the moment ---- */

static void note_demand(struct tp_pytorch_moment *m, uint64_t demand, uint64_t event)
{
    if (demand <= m->demand)
        return;
    m->demand = demand;
    m->event = event;
    m->at_passed = m->passed;
    m->at_blocks = m->blocks;
    m->at_reserved = m->reserved;
}

void tp_pytorch_moment_begin(struct tp_pytorch_moment *m, uint64_t size)
{
    m->live += size;
    m->blocks += rounded(size);
    note_demand(m, m->live, 0);
}

void tp_pytorch_moment_follow(struct tp_pytorch_moment *m, const struct tp_pytorch_event *ev,
                              enum tp_pytorch_action freeing, uint64_t event)
{
    uint64_t failed = 0; /* bytes of a failed request, which count as demand */
    m->passed++;
    if (ev->action == TP_PYTORCH_ALLOC) {
        m->live += ev->size;
        m->blocks += rounded(ev->size);
    } else if (ev->action == freeing) {
        m->live = less(m->live, ev->size);
        m->blocks = less(m->blocks, rounded(ev->size));
    } else if (ev->action == TP_PYTORCH_SEGMENT_ALLOC || ev->action == TP_PYTORCH_SEGMENT_MAP) {
        m->reserved += ev->size;
    } else if (ev->action == TP_PYTORCH_SEGMENT_FREE || ev->action == TP_PYTORCH_SEGMENT_UNMAP) {
        m->reserved = less(m->reserved, ev->size);
    } else if (ev->action == TP_PYTORCH_OOM && !tp_pytorch_too_large(ev)) {
        failed = ev->size;
    }
    note_demand(m, m->live + failed, event);
}

/* ---- ranges ---- */

struct range {
    uint64_t begin, end;
    uint64_t owner; /* number of the segment, or EXPANDABLE */
    bool there;     /* the range existed at the moment */
};

/* The ranges of segments or of blocks. The first range that covers an address counts. */
struct layer {
    struct range *ranges;
    size_t count, room;
    size_t *paint; /* for each cell the index of its range plus 1; 0: none */
};

/* Bytes per range: itself, and two cuts, each with the paint of two layers, a value and a link. */
enum { RANGE_BYTES = sizeof(struct range) + 2 * (2 * sizeof(uint64_t) + 2 * sizeof(size_t)) };

struct holes {
    const struct tp_pytorch *snapshot;
    struct layer segments, blocks;
    uint64_t *cuts; /* ascending; cell i lies between cuts i and i + 1 */
    size_t cells;
    size_t *next; /* for each cell the first cell from it on that may be unpainted */
    bool too_many;
};

static int add_range(struct holes *h, struct layer *l, const struct range *r, struct tp_err *err)
{
    const struct tp_reading *reading = h->snapshot->reading;
    if (r->begin >= r->end)
        return TP_OK;
    int rc = TP_GROW(&l->ranges, &l->room, l->count + 1, err, .what = "ranges",
                     .of = tp_input_name(reading->in), .budget = reading->budget,
                     .beside = RANGE_BYTES - sizeof *r);
    h->too_many |= rc == TP_EINPUT;
    if (rc != TP_OK)
        return rc == TP_EINPUT ? TP_OK : rc;
    l->ranges[l->count++] = *r;
    return TP_OK;
}

static int add_event(struct holes *h, const struct tp_pytorch_event *ev,
                     enum tp_pytorch_action freeing, struct tp_err *err)
{
    struct range r = {.begin = ev->address, .end = ev->address + ev->size};
    switch ((enum tp_pytorch_action)ev->action) {
    case TP_PYTORCH_SEGMENT_FREE:
        r.owner = 1 + h->segments.count;
        r.there = true;
        return add_range(h, &h->segments, &r, err);
    case TP_PYTORCH_SEGMENT_UNMAP:
        r.there = true;
        return add_range(h, &h->segments, &r, err);
    case TP_PYTORCH_SEGMENT_ALLOC:
    case TP_PYTORCH_SEGMENT_MAP:
        return add_range(h, &h->segments, &r, err);
    default:
        break;
    }
    r.end = ev->address + rounded(ev->size);
    r.there = ev->action == freeing;
    return r.there || ev->action == TP_PYTORCH_ALLOC ? add_range(h, &h->blocks, &r, err) : TP_OK;
}

static int add_events(struct holes *h, uint32_t device, enum tp_pytorch_action freeing,
                      uint64_t passed, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &h->snapshot->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {
        .list = &h->snapshot->events, .next = d->first + passed, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = add_event(h, ev, freeing, err);
    return rc;
}

/* Adds the ranges that the file lists as existing at its end. */
static int add_end(struct holes *h, struct layer *to, const struct tp_pytorch_blocks *list,
                   uint32_t device, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < list->count; i++) {
        const struct tp_pytorch_block *b = &list->items[i];
        uint64_t size = to == &h->blocks ? rounded(b->size) : b->size;
        const struct range r = {.begin = b->address,
                                .end = b->address + size,
                                .owner = b->expandable ? EXPANDABLE : 1 + to->count,
                                .there = true};
        if (b->device == device)
            rc = add_range(h, to, &r, err);
    }
    return rc;
}

/* ---- cells ---- */

static void cut_at(struct holes *h, const struct layer *l)
{
    for (size_t i = 0; i < l->count; i++) {
        h->cuts[h->cells++] = l->ranges[i].begin;
        h->cuts[h->cells++] = l->ranges[i].end;
    }
}

/* Sorts the cuts and removes equal ones. Sets `cells` to the number of cuts minus 1. */
static int cut(struct holes *h, struct tp_err *err)
{
    size_t most = 2 * (h->segments.count + h->blocks.count) + 1;
    h->cuts = malloc(most * sizeof *h->cuts);
    h->next = malloc(most * sizeof *h->next);
    h->segments.paint = calloc(most, sizeof *h->segments.paint);
    h->blocks.paint = calloc(most, sizeof *h->blocks.paint);
    if (!h->cuts || !h->next || !h->segments.paint || !h->blocks.paint)
        return tp_input_no_memory(h->snapshot->reading->in, err);
    cut_at(h, &h->segments);
    cut_at(h, &h->blocks);
    size_t kept = tp_ascending(h->cuts, h->cells);
    h->cells = kept ? kept - 1 : 0;
    return TP_OK;
}

static size_t cell_of(const struct holes *h, uint64_t begin)
{
    const uint64_t *found = bsearch(&begin, h->cuts, h->cells, sizeof begin, tp_by_number);
    return found ? (size_t)(found - h->cuts) : h->cells;
}

/* The first unpainted cell from `cell` on. Shortens the path to it, as union-find does. */
static size_t unpainted(struct holes *h, size_t cell)
{
    while (h->next[cell] != cell) {
        h->next[cell] = h->next[h->next[cell]];
        cell = h->next[cell];
    }
    return cell;
}

static void paint(struct holes *h, struct layer *l)
{
    for (size_t i = 0; i <= h->cells; i++)
        h->next[i] = i;
    for (size_t r = 0; r < l->count; r++)
        for (size_t i = unpainted(h, cell_of(h, l->ranges[r].begin));
             i < h->cells && h->cuts[i] < l->ranges[r].end; i = unpainted(h, i)) {
            l->paint[i] = r + 1;
            h->next[i] = i + 1;
        }
}

/* The range that existed in a cell; NULL: none. */
static const struct range *there(const struct layer *l, size_t cell)
{
    const struct range *r = l->paint[cell] ? &l->ranges[l->paint[cell] - 1] : NULL;
    return r && r->there ? r : NULL;
}

/* Measures the largest free block. The layout must contain every byte that the events count, and no
 * block outside a segment; else the result is TP_RECORDED_UNKNOWN. */
static uint64_t measure(const struct holes *h, const struct tp_pytorch_moment *m)
{
    uint64_t reserved = 0, blocks = 0, outside = 0, block_bytes = 0, largest = 0;
    const struct range *before = NULL;
    for (size_t i = 0; i < h->cells; i++) {
        uint64_t size = h->cuts[i + 1] - h->cuts[i];
        const struct range *segment = there(&h->segments, i);
        bool block = there(&h->blocks, i) != NULL;
        if (!segment || block || !before || before->owner != segment->owner)
            block_bytes = 0;
        block_bytes += segment && !block ? size : 0;
        largest = block_bytes > largest ? block_bytes : largest;
        reserved += segment ? size : 0;
        blocks += block ? size : 0;
        outside += block && !segment ? size : 0;
        before = segment;
    }
    bool same = reserved == m->at_reserved && blocks == m->at_blocks && !outside;
    return same ? largest : TP_RECORDED_UNKNOWN;
}

static void release(struct holes *h)
{
    struct layer *const layers[] = {&h->segments, &h->blocks};
    for (size_t i = 0; i < 2; i++) {
        TP_GROW_END(&layers[i]->ranges, &layers[i]->room, .budget = h->snapshot->reading->budget,
                    .beside = RANGE_BYTES - sizeof(struct range));
        free(layers[i]->paint);
    }
    free(h->cuts);
    free(h->next);
}

int tp_pytorch_largest(const struct tp_pytorch *s, uint32_t device, enum tp_pytorch_action freeing,
                       const struct tp_pytorch_moment *m, uint64_t *largest, struct tp_err *err)
{
    struct holes h = {.snapshot = s};
    *largest = TP_RECORDED_UNKNOWN;
    if (!tp_pytorch_has_end(s, device))
        return TP_OK;
    int rc = add_events(&h, device, freeing, m->at_passed, err);
    if (rc == TP_OK)
        rc = add_end(&h, &h.segments, &s->spans, device, err);
    if (rc == TP_OK)
        rc = add_end(&h, &h.blocks, &s->blocks, device, err);
    if (rc == TP_OK && !h.too_many)
        rc = cut(&h, err);
    if (rc == TP_OK && !h.too_many) {
        paint(&h, &h.segments);
        paint(&h, &h.blocks);
        *largest = measure(&h, m);
    }
    release(&h);
    return rc;
}
