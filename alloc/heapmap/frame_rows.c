/* See frame_rows.h; the bytes are drawn there. Rows are written once more, coarser, until
 * they fit:
 *
 *     coarseness  0 .......................... 16 ................... 24
 *     a piece     all / 2^24 bytes or more ... all / 256 ............ all       is seen by itself
 *     rows        at most 512 ................ 512 .................. 2 or 3
 *
 * A range that is a 512th of all has a row of its own. Of the others those whose numbers agree in
 * all but the lowest bits share one, with as few of these bits as will do: so a range is in the
 * same row in every frame that is as coarse. */
#include "alloc/heapmap/frame_rows.h"

#include <assert.h>
#include <string.h>

enum { COARSEST = 24, ROWS_BEGIN = 16, SEVEN_BITS = 7, MORE = 0x80, GAP = 8, KIND = 7 };
static_assert(TP_FRAME_RESOLUTION >> (COARSEST - ROWS_BEGIN) == 2, "the coarsest has few rows");
static_assert(TP_FRAME_MIXED + 1 <= KIND, "a kind has three bits");

/* Small pieces side by side. */
struct frame_mix {
    uint64_t pieces;
    uint64_t offset, end; /* of the row */
    uint64_t bytes[TP_WALK_COUNT];
    uint64_t largest, event; /* the largest live one */
    uint32_t kind;           /* of the last one */
};

struct frame_writer {
    uint8_t *at, *end;
    bool full;
    unsigned unit_log2, finer; /* than the coarsest */
    uint64_t number, event;    /* of the row and of the live piece before */
    uint64_t offset;           /* in the row, to which pieces are written */
    uint64_t least;            /* bytes of a piece that is seen by itself */
    uint64_t least_gap;        /* bytes of a gap that is seen */
    struct frame_mix mix;
};

/* ---- numbers ---- */

static void put_bytes(struct frame_writer *w, const uint8_t *bytes, size_t count)
{
    w->full |= count > (size_t)(w->end - w->at);
    if (w->full)
        return;
    memcpy(w->at, bytes, count);
    w->at += count;
}

static void put_byte(struct frame_writer *w, unsigned byte)
{
    put_bytes(w, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_number(struct frame_writer *w, uint64_t value)
{
    uint8_t bytes[TP_FRAME_NUMBER_MOST];
    put_bytes(w, bytes, (size_t)(tp_frame_number(bytes, value) - bytes));
}

static void put_size(struct frame_writer *w, uint64_t bytes)
{
    put_number(w, bytes >> w->unit_log2);
}

static void put_event(struct frame_writer *w, uint64_t event)
{
    uint64_t up = event - w->event;
    put_number(w, event >= w->event ? up << 1 : ~(up << 1));
    w->event = event;
}

/* ---- pieces ---- */

/* What every piece begins with. */
static void put_head(struct frame_writer *w, uint32_t kind, uint64_t offset, uint64_t end)
{
    uint64_t gap = offset - w->offset;
    put_byte(w, (kind + 1) | (gap ? GAP : 0u));
    put_size(w, end - offset);
    if (gap)
        put_size(w, gap);
    w->offset = end;
}

static void put_piece(struct frame_writer *w, uint32_t kind, uint64_t offset, uint64_t end,
                      uint64_t event)
{
    put_head(w, kind, offset, end);
    if (kind == TP_WALK_LIVE)
        put_event(w, event);
}

static void put_mix(struct frame_writer *w)
{
    const struct frame_mix *m = &w->mix;
    unsigned kinds = 0;
    for (unsigned k = 0; k < TP_WALK_COUNT; k++)
        kinds |= m->bytes[k] ? 1u << k : 0u;
    put_head(w, TP_FRAME_MIXED, m->offset, m->end);
    put_number(w, m->pieces);
    put_number(w, kinds);
    for (unsigned k = 0; k < TP_WALK_COUNT; k++)
        if (m->bytes[k])
            put_size(w, m->bytes[k]);
    if (m->bytes[TP_WALK_LIVE])
        put_event(w, m->event);
}

/* Writes the small pieces that were collected, if any. */
static void end_mix(struct frame_writer *w)
{
    const struct frame_mix *m = &w->mix;
    if (m->pieces > 1)
        put_mix(w);
    else if (m->pieces)
        put_piece(w, m->kind, m->offset, m->end, m->event);
    w->mix.pieces = 0;
}

static void mix(struct frame_writer *w, const struct tp_heap_piece *p, uint64_t offset)
{
    struct frame_mix *m = &w->mix;
    if (m->pieces && offset - m->end >= w->least_gap)
        end_mix(w);
    if (!m->pieces)
        *m = (struct frame_mix){.offset = offset};
    m->pieces++;
    m->end = offset + p->size;
    m->bytes[p->kind] += p->size;
    m->kind = p->kind;
    if (p->kind != TP_WALK_LIVE || p->size <= m->largest)
        return;
    m->largest = p->size;
    m->event = p->event;
}

static void add_piece(struct frame_writer *w, const struct tp_heap_piece *p, uint64_t offset)
{
    if (p->size < w->least) {
        mix(w, p, offset);
        return;
    }
    end_mix(w);
    put_piece(w, p->kind, offset, offset + p->size, p->event);
}

/* ---- rows ---- */

/* Which ranges share a row. */
struct frame_bundles {
    uint64_t large; /* bytes of a range that shares none */
    unsigned log2;
};

/* The end of the row that begins with range `i`. */
static size_t bundle_end(const struct tp_heap_layout *h, const struct frame_bundles *b, size_t i)
{
    const struct tp_heap_range *r = h->ranges;
    size_t end = i + 1;
    while (b->log2 && r[i].bytes < b->large && end < h->range_count && r[end].bytes < b->large &&
           r[end].number >> b->log2 == r[i].number >> b->log2)
        end++;
    return end;
}

static size_t count_rows(const struct tp_heap_layout *h, const struct frame_bundles *b, size_t most)
{
    size_t rows = 0;
    for (size_t i = 0; i < h->range_count && rows <= most; i = bundle_end(h, b, i))
        rows++;
    return rows;
}

/* The fewest bits with which there are at most that many rows, or all bits. */
static struct frame_bundles bundles_of(const struct tp_heap_layout *h, uint64_t large, size_t most)
{
    struct frame_bundles b = {.large = large};
    uint64_t last = h->range_count ? h->ranges[h->range_count - 1].number : 0;
    if (h->range_count <= most)
        return b;
    do
        b.log2++;
    while (last >> b.log2 && count_rows(h, &b, most) > most);
    return b;
}

/* The larger one. */
static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void put_row(struct frame_writer *w, const struct tp_heap_layout *h, size_t first,
                    size_t end, uint64_t least)
{
    uint64_t size = 0, offset = 0;
    for (size_t i = first; i < end; i++)
        size += h->ranges[i].size;
    put_number(w, h->ranges[first].number - w->number);
    put_number(w, end - first - 1);
    put_size(w, size);
    w->number = h->ranges[first].number;
    w->offset = 0;
    w->least = most_of(least, size / TP_FRAME_RESOLUTION);
    w->least_gap = most_of(size >> w->finer, size / TP_FRAME_RESOLUTION);
    for (size_t i = first; i < end && !w->full; i++) {
        const struct tp_heap_range *r = &h->ranges[i];
        const struct tp_heap_piece *p = &h->pieces[r->first];
        for (size_t k = 0; k < r->count && !w->full; k++)
            add_piece(w, &p[k], offset + p[k].offset);
        offset += r->size;
    }
    end_mix(w);
    put_byte(w, 0);
}

/* ---- the whole ---- */

/* The largest power of two that divides all sizes and offsets. */
static uint8_t unit_of(const struct tp_heap_layout *h)
{
    uint64_t all = 0;
    for (size_t i = 0; i < h->piece_count; i++)
        all |= h->pieces[i].size | h->pieces[i].offset;
    return all ? (uint8_t)__builtin_ctzll(all) : 0;
}

static bool write_at(const struct tp_heap_layout *h, struct tp_frame_room *room, uint64_t all,
                     unsigned coarseness)
{
    struct frame_writer w = {.at = room->at,
                             .end = room->at + room->bytes,
                             .unit_log2 = room->unit_log2,
                             .finer = COARSEST - coarseness};
    uint64_t least = all >> w.finer, seen = all / TP_FRAME_RESOLUTION;
    unsigned fewer = coarseness > ROWS_BEGIN ? coarseness - ROWS_BEGIN : 0;
    struct frame_bundles b =
        bundles_of(h, most_of(least, seen), (size_t)TP_FRAME_RESOLUTION >> fewer);
    for (size_t i = 0, end; i < h->range_count && !w.full; i = end) {
        end = bundle_end(h, &b, i);
        put_row(&w, h, i, end, least);
    }
    room->length = (uint32_t)(w.at - room->at);
    room->bundle_log2 = (uint8_t)b.log2;
    return !w.full;
}

void tp_frame_write(const struct tp_heap_layout *heap, struct tp_frame_room *room,
                    unsigned *coarseness)
{
    uint64_t all = 0;
    unsigned at = *coarseness ? *coarseness - 1 : 0; /* heaps shrink, too */
    for (size_t i = 0; i < heap->piece_count; i++)
        all += heap->pieces[i].size;
    room->unit_log2 = unit_of(heap);
    while (!write_at(heap, room, all, at)) {
        assert(at < COARSEST);
        at++;
    }
    *coarseness = at;
}

/* ---- reading ---- */

static uint64_t take_number(struct tp_frame_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += SEVEN_BITS) {
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & (MORE - 1)) << shift;
        if (byte < MORE)
            return value;
    }
    r->broken = true;
    return 0;
}

static uint64_t take_size(struct tp_frame_reader *r)
{
    return take_number(r) << r->unit_log2;
}

static void take_event(struct tp_frame_reader *r)
{
    uint64_t number = take_number(r);
    r->event += number & 1 ? ~(number >> 1) : number >> 1;
}

bool tp_frame_row(struct tp_frame_reader *r, struct tp_frame_row *out)
{
    struct tp_frame_piece piece;
    while (r->in_row) /* the caller has left the row before its end */
        tp_frame_piece(r, &piece);
    if (r->broken || r->at == r->end)
        return false;
    r->number += take_number(r);
    *out = (struct tp_frame_row){.number = r->number, .ranges = take_number(r) + 1};
    out->size = take_size(r);
    r->offset = 0;
    r->in_row = !r->broken;
    return !r->broken;
}

static void take_mix(struct tp_frame_reader *r, struct tp_frame_piece *out)
{
    out->pieces = take_number(r);
    uint64_t kinds = take_number(r);
    for (unsigned k = 0; k < TP_WALK_COUNT; k++)
        out->bytes[k] = kinds >> k & 1 ? take_size(r) : 0;
    if (kinds & 1u << TP_WALK_LIVE)
        take_event(r);
    r->broken |= kinds >> TP_WALK_COUNT != 0;
}

bool tp_frame_piece(struct tp_frame_reader *r, struct tp_frame_piece *out)
{
    if (!r->in_row)
        return false;
    r->broken = r->at == r->end;
    unsigned head = r->broken ? 0u : *r->at++;
    r->broken |=
        head > (GAP | KIND) || (head & GAP && !(head & KIND)) || (head & KIND) > TP_FRAME_MIXED + 1;
    r->in_row &= head && !r->broken;
    if (!r->in_row)
        return false;
    *out = (struct tp_frame_piece){.kind = (head & KIND) - 1, .size = take_size(r), .pieces = 1};
    out->offset = r->offset + (head & GAP ? take_size(r) : 0);
    r->offset = out->offset + out->size;
    if (out->kind == TP_FRAME_MIXED)
        take_mix(r, out);
    else
        out->bytes[out->kind] = out->size;
    if (out->kind == TP_WALK_LIVE)
        take_event(r);
    out->event = out->bytes[TP_WALK_LIVE] ? r->event : 0;
    r->in_row = !r->broken;
    return r->in_row;
}
