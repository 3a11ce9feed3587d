/* See heap_lines.h. Rows are put on lines one after the other, each on the line of the one before
 * if it still fits there. With a scale of twice all bytes divided by the lines that cannot fail:
 * two lines that follow each other have more than one of them has room for.
 *
 * Known weakness: within a merged stretch the order of pieces is lost. */
#include "cmd/charts/heap_lines.h"

#include "alloc/base/grow.h"
#include "alloc/numbers/columns.h"

#include <stdlib.h>

enum {
    LEAST = 5,     /* tenths of a pixel: no piece is drawn narrower by itself */
    APART = 30,    /* pieces of so much or more end a little earlier, so that they look apart */
    APART_GAP = 6, /* by so much */
    KINDS = TP_WALK_COUNT
};

/* ---- where rows lie ---- */

/* The lengths of rows in a frame. */
struct row_sizes {
    uint64_t all, largest;
    size_t count;
};

static struct tp_frame_reader reader_of(const struct tp_heap_lines *h)
{
    return tp_frame_read(h->frames, h->device, h->frame);
}

static struct row_sizes sizes_of(const struct tp_heap_lines *h)
{
    struct tp_frame_reader r = reader_of(h);
    struct tp_frame_row row;
    struct row_sizes s = {0, 1, 0};
    for (; tp_frame_row(&r, &row); s.count++) {
        s.all += row.size;
        s.largest = row.size > s.largest ? row.size : s.largest;
    }
    return s;
}

static uint32_t tenths(const struct tp_heap_lines *h, uint64_t bytes)
{
    return (uint32_t)tp_scaled(bytes < h->scale ? bytes : h->scale, h->scale, TP_HEAP_WIDTH);
}

/* Puts a row behind the one before, or on the next line. */
static void put_row(struct tp_heap_lines *h, uint64_t size, uint32_t *end)
{
    uint32_t width = tenths(h, size);
    uint32_t gap = width < TP_HEAP_GAP ? width : TP_HEAP_GAP; /* small rows need little room */
    bool fits = h->shared && h->lines && *end + gap + width <= TP_HEAP_WIDTH;
    uint32_t begin = fits ? *end + gap : 0;
    h->lines += !fits;
    h->rows[h->count++] = (struct tp_heap_row){.line = h->lines - 1, .begin = begin};
    *end = begin + width;
}

static void put_rows(struct tp_heap_lines *h)
{
    struct tp_frame_reader r = reader_of(h);
    struct tp_frame_row row;
    uint32_t end = 0;
    h->count = h->lines = 0;
    while (tp_frame_row(&r, &row))
        put_row(h, row.size, &end);
}

int tp_heap_lines_lay(struct tp_heap_lines *h, const struct tp_frames *frames, uint32_t device,
                      const struct tp_frame *frame, struct tp_err *err)
{
    *h = (struct tp_heap_lines){.frames = frames, .device = device, .frame = frame, .least = LEAST};
    const struct row_sizes s = sizes_of(h);
    int status = TP_GROW(&h->rows, &h->room, s.count, err, .what = "rows of a heap");
    if (status)
        return status;
    h->shared = s.count > TP_HEAP_LINES;
    h->scale = s.largest;
    if (h->shared && s.all / (TP_HEAP_LINES / 2) > h->scale)
        h->scale = s.all / (TP_HEAP_LINES / 2);
    put_rows(h);
    while (h->lines > TP_HEAP_LINES) { /* the gaps between rows take room too */
        h->scale += h->scale / 2 + 1;
        put_rows(h);
    }
    return TP_OK;
}

void tp_heap_lines_rescale(struct tp_heap_lines *h, uint64_t scale)
{
    if (scale <= h->scale)
        return;
    h->scale = scale;
    put_rows(h);
}

void tp_heap_lines_drop(struct tp_heap_lines *h)
{
    free(h->rows);
    h->rows = NULL;
}

/* ---- what is seen on them ---- */

/* A walk along the rows; offsets are bytes of the row. */
struct heap_walk {
    const struct tp_heap_lines *h;
    tp_heap_stretch_fn *fn;
    void *ctx;
    const struct tp_heap_row *row;
    uint64_t begin, end; /* of what was collected to be merged; the same: nothing */
    uint64_t bytes[KINDS];
};

static void tell(const struct heap_walk *w, uint32_t kind, uint32_t begin, uint32_t end)
{
    const struct tp_heap_stretch s = {w->row->line, w->row->begin + begin, w->row->begin + end,
                                      kind};
    if (end > begin)
        w->fn(w->ctx, &s);
}

/* Tells what was collected, a stretch for each kind. */
static void end_merge(struct heap_walk *w)
{
    uint64_t at = w->begin;
    for (uint32_t k = 0; k < KINDS; k++) {
        tell(w, k, tenths(w->h, at), tenths(w->h, at + w->bytes[k]));
        at += w->bytes[k];
        w->bytes[k] = 0;
    }
    w->begin = w->end;
}

static void tell_piece(const struct heap_walk *w, const struct tp_frame_piece *p)
{
    uint32_t begin = tenths(w->h, p->offset), end = tenths(w->h, p->offset + p->size);
    tell(w, p->kind, begin, end - begin >= APART ? end - APART_GAP : end);
}

/* Takes the next piece: it stands by itself, or is merged with those beside it. */
static void take_piece(struct heap_walk *w, const struct tp_frame_piece *p)
{
    const struct tp_heap_lines *h = w->h;
    bool wide = tenths(h, p->size) >= h->least, apart = tenths(h, p->offset - w->end) >= h->least;
    if (w->end > w->begin && (wide || apart || tenths(h, w->end - w->begin) >= h->least))
        end_merge(w);
    if (wide && p->kind != TP_FRAME_MIXED) {
        tell_piece(w, p);
        w->begin = w->end = p->offset + p->size;
        return;
    }
    if (w->begin == w->end)
        w->begin = p->offset;
    for (uint32_t k = 0; k < KINDS; k++)
        w->bytes[k] += p->bytes[k];
    w->end = p->offset + p->size;
}

void tp_heap_lines_each(const struct tp_heap_lines *h, tp_heap_stretch_fn *fn, void *ctx)
{
    struct heap_walk w = {.h = h, .fn = fn, .ctx = ctx};
    struct tp_frame_reader r = reader_of(h);
    struct tp_frame_row row;
    struct tp_frame_piece piece;
    for (size_t i = 0; i < h->count && tp_frame_row(&r, &row); i++) {
        w.row = &h->rows[i];
        w.begin = w.end = 0;
        if (tenths(h, row.size) >= h->least)
            tell(&w, KINDS, 0, tenths(h, row.size));
        while (tp_frame_piece(&r, &piece))
            take_piece(&w, &piece);
        end_merge(&w);
    }
}

static void count_stretch(void *ctx, const struct tp_heap_stretch *s)
{
    size_t *count = ctx;
    (void)s;
    ++*count;
}

static size_t count_of(const struct tp_heap_lines *h)
{
    size_t count = 0;
    tp_heap_lines_each(h, count_stretch, &count);
    return count;
}

void tp_heap_lines_merge(struct tp_heap_lines *h, size_t most)
{
    while (h->least < TP_HEAP_WIDTH && count_of(h) > most)
        h->least *= 2;
}
