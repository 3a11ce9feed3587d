/* Buffers with lifetimes, the input of minimalloc and other offline planners: CSV with one buffer
 * per row, columns and rows in any order.
 *
 *     id,lower,upper,size,gaps          id, buffer or buffer_id; lower, start or begin
 *     b1,0,9,4,3-5                      upper, or end: the last step, not the one behind it;
 *                                       others mean that one, so a remark has both peaks
 *
 *         0   3   5       9             a life is half-open, and so is a gap, in which the buffer
 *         |===|...|=======|             holds nothing: it is freed and allocated again
 *
 * Lifetimes become sorted points in time. At one step frees come before allocations, so that the
 * peak is the one that a planner counts. Steps are an order and not times. Ids need not be unique:
 * a row is a buffer. A gap with a window, in which part of the buffer is in use, is ignored. Known
 * weakness: all rows are kept, with 24 bytes per row and 16 per point. */
#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "traces/format.h"
#include "traces/input/lines.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define COLUMNS_MAX    64

enum minimalloc_column {
    ID,
    LOWER,
    UPPER,
    SIZE,
    ALIGN,
    GAPS,
    OFFSET,
    COLUMN_COUNT,
    OTHER = COLUMN_COUNT, /* a column that is not read */
    TWICE                 /* a second column of a known name */
};

static const char *const column_names[] = {"id", "lower", "upper", "size", "alignment"};

static const struct column_row {
    const char *name;
    enum minimalloc_column column;
    bool last; /* the number is the last step of a lifetime, not the step behind it */
} known[] = {
    {"id", ID, false},           {"buffer", ID, false},   {"buffer_id", ID, false},
    {"lower", LOWER, false},     {"start", LOWER, false}, {"begin", LOWER, false},
    {"upper", UPPER, false},     {"end", UPPER, true},    {"size", SIZE, false},
    {"alignment", ALIGN, false}, {"gaps", GAPS, false},   {"offset", OFFSET, false},
};

struct minimalloc_row {
    uint64_t size, align, line;
};

/* A point at which a buffer appears or goes. */
struct point {
    int64_t step;
    /* row times 2, plus APPEARS if it appears: so frees sort first; plus BEHIND if the file has the
     * step before this one */
    uint64_t order;
};
#define APPEARS (UINT64_C(1) << 63)
#define BEHIND  UINT64_C(1)

struct reader {
    const struct tp_reading *r;
    char *text; /* the current line, with a NUL at its end */
    size_t length, room;
    uint64_t line; /* number of the line */
    enum minimalloc_column columns[COLUMNS_MAX];
    size_t column_count;
    bool last, has_offsets; /* `last`: there is a column 'end' instead of 'upper' */
    struct minimalloc_row *rows;
    struct point *points;
    size_t row_count, row_room, point_count, point_room;
    uint64_t never_live, windows;
    /* number of the empty line that ended reading although more lines follow; 0: none */
    uint64_t stopped;
};

/* Bytes per point that sorting needs in addition. */
enum { SORTING = sizeof(struct point) };

/* ---- errors ---- */

static int placed(const struct reader *rd, int rc, struct tp_err *err)
{
    return tp_input_at_line(rd->r->in, rd->line, rc, err);
}

#define bad(rd, err, ...) tp_input_fail_line((rd)->r->in, (rd)->line, err, __VA_ARGS__)

/* Writes a field as messages quote it. */
static const char *shown(struct tp_cut f, char out[48])
{
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)(f.end - f.at), f.at);
    tp_clean_text(copy, out, 48);
    return out;
}

/* ---- lines and fields ---- */

/* Reads the next line, without its end. *more is false at the end of the file. */
static int next_line(struct reader *rd, bool *more, struct tp_err *err)
{
    int byte = 0;
    rd->length = 0;
    rd->line = tp_input_line(rd->r->in);
    while ((byte = tp_input_byte(rd->r->in)) >= 0 && byte != '\n') {
        if (rd->length + 1 >= LINE_MAX_BYTES)
            return bad(rd, err, "the line is longer than 1 MiB");
        int rc = TP_READ_GROW(rd->r, &rd->text, &rd->room, rd->length + 2, "long lines", err);
        if (rc != TP_OK)
            return rc;
        rd->text[rd->length++] = (char)byte;
    }
    if (byte == -2)
        return tp_input_error(rd->r->in, err);
    *more = byte >= 0 || rd->length > 0;
    if (rd->length && rd->text[rd->length - 1] == '\r')
        rd->length--;
    if (rd->text)
        rd->text[rd->length] = '\0';
    return TP_OK;
}

/* The text up to the separator, without the spaces around the text. *at moves behind the
 * separator. */
static struct tp_cut split(const char **at, const char *end, char separator)
{
    const char *stop = memchr(*at, separator, (size_t)(end - *at));
    const char *from = *at, *to = stop ? stop : end;
    *at = stop ? stop + 1 : NULL;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (from < to && isspace((unsigned char)to[-1]))
        to--;
    return (struct tp_cut){from, to};
}

/* Parses a whole number of up to 63 bits. */
static bool parse(struct tp_cut f, int64_t *out)
{
    uint64_t magnitude = 0;
    bool negative = tp_cut_byte(&f, '-');
    if (!negative)
        tp_cut_byte(&f, '+');
    if (!tp_cut_decimal(&f, &magnitude) || f.at < f.end ||
        magnitude > INT64_MAX + (uint64_t)negative)
        return false;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static int number(const struct reader *rd, const char *name, struct tp_cut f, int64_t *out,
                  struct tp_err *err)
{
    char text[48];
    if (parse(f, out))
        return TP_OK;
    if (memchr(f.at, ':', (size_t)(f.end - f.at)))
        return tp_hint(err,
                       bad(rd, err, "%s is '%s', a time of several parts", name, shown(f, text)),
                       "only single numbers are read");
    return bad(rd, err, "%s is '%s', not a whole number below 2^63", name, shown(f, text));
}

/* ---- the header ---- */

static enum minimalloc_column find_column(struct tp_cut f, bool *last)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tp_cut rest = f;
        if (tp_cut_text(&rest, known[i].name) && rest.at == rest.end) {
            *last |= known[i].last;
            return known[i].column;
        }
    }
    return OTHER;
}

/* Fills `columns` and sets *seen to a bit for each. Returns their number; 0: too many. */
static size_t parse_header(const char *text, size_t length, enum minimalloc_column *columns,
                           unsigned *seen, bool *last)
{
    size_t count = 0;
    const char *at = text;
    *seen = 0;
    while (at) {
        if (count == COLUMNS_MAX)
            return 0;
        enum minimalloc_column c = find_column(split(&at, text + length, ','), last);
        if (c != OTHER && *seen & 1u << c)
            c = TWICE;
        else if (c != OTHER)
            *seen |= 1u << c;
        columns[count++] = c;
    }
    return count;
}

#define NEEDED (1u << ID | 1u << LOWER | 1u << UPPER | 1u << SIZE)

static int probe_minimalloc(const unsigned char *data, size_t size)
{
    enum minimalloc_column columns[COLUMNS_MAX];
    struct tp_cut text = tp_cut_start(data, size), line;
    unsigned seen = 0;
    bool last = false;
    do
        if (!tp_cut_line(&text, &line))
            return 0;
    while (line.at < line.end && *line.at == '#');
    return line.at < line.end &&
                   parse_header(line.at, (size_t)(line.end - line.at), columns, &seen, &last) &&
                   (seen & NEEDED) == NEEDED
               ? 90
               : 0;
}

static int read_header(struct reader *rd, struct tp_err *err)
{
    bool more = false;
    unsigned seen = 0;
    const unsigned char *data = NULL;
    size_t got = 0;
    int rc = tp_input_peek(rd->r->in, 3, &data, &got, err);
    if (rc == TP_OK && got == 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        tp_input_take(rd->r->in, 3);
    do
        rc = rc == TP_OK ? next_line(rd, &more, err) : rc;
    while (rc == TP_OK && more && rd->length && rd->text[0] == '#');
    if (rc != TP_OK)
        return rc;
    if (!rd->length)
        return bad(rd, err, "there is no header");
    rd->column_count = parse_header(rd->text, rd->length, rd->columns, &seen, &rd->last);
    if (!rd->column_count)
        return bad(rd, err, "more than %d columns", COLUMNS_MAX);
    for (size_t i = 0; i < rd->column_count; i++)
        if (rd->columns[i] == TWICE)
            return bad(rd, err, "two columns are the same (column %zu)", i + 1);
    for (int c = ID; c <= SIZE; c++) {
        if (!(seen & 1u << c))
            return tp_hint(err, bad(rd, err, "there is no column '%s'", column_names[c]),
                           "id, lower, upper and size are needed: 'start,end' will do for "
                           "'lower,upper'");
    }
    rd->has_offsets = seen & 1u << OFFSET;
    return TP_OK;
}

/* ---- rows ---- */

static int add_point(struct reader *rd, int64_t step, uint64_t order, struct tp_err *err)
{
    int rc = TP_GROW(&rd->points, &rd->point_room, rd->point_count + 1, err, .what = "buffers",
                     .budget = rd->r->budget, .beside = SORTING);
    if (rc != TP_OK)
        return placed(rd, rc, err);
    rd->points[rd->point_count++] = (struct point){step, order};
    return TP_OK;
}

/* A part of a buffer's life: its beginning, the step behind it, and which of them are BEHIND. */
struct piece {
    int64_t from, to;
    uint64_t from_behind, to_behind;
};

static int add_piece(struct reader *rd, const struct piece *p, struct tp_err *err)
{
    uint64_t row = (uint64_t)rd->row_count << 1;
    if (p->from == p->to)
        return TP_OK;
    int rc = add_point(rd, p->from, row | p->from_behind | APPEARS, err);
    return rc == TP_OK ? add_point(rd, p->to, row | p->to_behind, err) : rc;
}

static int behind_last(const struct reader *rd, int64_t *step, struct tp_err *err)
{
    if (!rd->last || !__builtin_add_overflow(*step, 1, step))
        return TP_OK;
    return bad(rd, err, "there is no step behind the end");
}

/* Parses "3-5". Steps may be negative, so the dash is searched from the second character on. */
static int parse_gap(const struct reader *rd, struct tp_cut gap, int64_t *from, int64_t *to,
                     struct tp_err *err)
{
    size_t length = (size_t)(gap.end - gap.at);
    const char *dash = length > 1 ? memchr(gap.at + 1, '-', length - 1) : NULL;
    char text[48];
    if (!dash)
        return bad(rd, err, "the gap '%s' is not of the form 'lower-upper'", shown(gap, text));
    struct tp_cut low = {gap.at, dash}, high = {dash + 1, gap.end};
    int rc = number(rd, "a gap's lower", low, from, err);
    if (rc == TP_OK)
        rc = number(rd, "a gap's upper", high, to, err);
    return rc == TP_OK ? behind_last(rd, to, err) : rc;
}

/* Adds the pieces of a lifetime before each gap. *life becomes the last piece. */
static int cut_gaps(struct reader *rd, struct tp_cut gaps, struct piece *life, struct tp_err *err)
{
    const char *at = gaps.at, *end = gaps.end;
    int64_t behind = life->from;
    while (at && at < end) {
        struct tp_cut gap = split(&at, end, ' ');
        const char *window = memchr(gap.at, '@', (size_t)(gap.end - gap.at));
        struct tp_cut steps = {gap.at, window ? window : gap.end};
        int64_t low = 0, high = 0;
        char text[48];
        if (gap.at == gap.end)
            continue;
        int rc = parse_gap(rd, steps, &low, &high, err);
        if (rc != TP_OK)
            return rc;
        if (low < behind || high < low || high > life->to)
            return bad(rd, err, "the gap '%s' is not behind the one before it and in the life",
                       shown(gap, text));
        behind = high;
        rd->windows += window != NULL;
        if (window || low == high)
            continue;
        rc = add_piece(rd, &(struct piece){life->from, low, life->from_behind, 0}, err);
        if (rc != TP_OK)
            return rc;
        life->from = high;
        life->from_behind = life->to_behind;
    }
    return TP_OK;
}

static int add_row(struct reader *rd, struct minimalloc_row row, struct tp_err *err)
{
    int rc = TP_GROW(&rd->rows, &rd->row_room, rd->row_count + 1, err, .what = "buffers",
                     .budget = rd->r->budget);
    if (rc != TP_OK)
        return placed(rd, rc, err);
    rd->rows[rd->row_count++] = row;
    return TP_OK;
}

static int split_row(const struct reader *rd, struct tp_cut *fields, struct tp_err *err)
{
    size_t count = 0;
    const char *at = rd->text, *end = rd->text + rd->length;
    while (at) {
        struct tp_cut f = split(&at, end, ',');
        if (count < rd->column_count && rd->columns[count] < COLUMN_COUNT)
            fields[rd->columns[count]] = f;
        count++;
    }
    if (count == rd->column_count)
        return TP_OK;
    return bad(rd, err, "%zu fields where the header has %zu", count, rd->column_count);
}

static int read_row(struct reader *rd, struct tp_err *err)
{
    struct tp_cut fields[COLUMN_COUNT] = {0};
    int64_t n[COLUMN_COUNT] = {[ALIGN] = 1};
    int rc = split_row(rd, fields, err);
    for (int c = LOWER; rc == TP_OK && c <= ALIGN; c++) {
        if (fields[c].at)
            rc = number(rd, column_names[c], fields[c], &n[c], err);
        if (rc == TP_OK && c == UPPER)
            rc = behind_last(rd, &n[UPPER], err);
    }
    if (rc != TP_OK)
        return rc;
    int64_t lower = n[LOWER], upper = n[UPPER], size = n[SIZE], align = n[ALIGN];
    if (size < 0 || align < 1)
        return bad(rd, err, size < 0 ? "size is negative" : "alignment is below 1");
    if (lower > upper)
        return bad(rd, err, "the life ends before it begins: %" PRId64 " is above %" PRId64, lower,
                   upper);
    rd->never_live += lower == upper;
    struct piece life = {lower, upper, 0, rd->last ? BEHIND : 0};
    if (fields[GAPS].at)
        rc = cut_gaps(rd, fields[GAPS], &life, err);
    if (rc == TP_OK)
        rc = add_piece(rd, &life, err);
    return rc == TP_OK
               ? add_row(rd, (struct minimalloc_row){(uint64_t)size, (uint64_t)align, rd->line},
                         err)
               : rc;
}

/* Checks whether anything but empty lines is left. */
static int look_behind(struct reader *rd, struct tp_err *err)
{
    uint64_t empty = rd->line;
    bool more = true;
    while (more && !rd->stopped) {
        int rc = next_line(rd, &more, err);
        if (rc != TP_OK)
            return rc;
        rd->stopped = rd->length ? empty : 0;
    }
    return TP_OK;
}

static int read_rows(struct reader *rd, struct tp_err *err)
{
    for (;;) {
        bool more = false;
        int rc = next_line(rd, &more, err);
        if (rc != TP_OK || !more)
            return rc;
        if (!rd->length)
            return look_behind(rd, err);
        rc = read_row(rd, err);
        if (rc != TP_OK)
            return rc;
    }
}

/* ---- events ---- */

static int by_step(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool appears(const struct point *p)
{
    return (p->order & APPEARS) != 0;
}

static uint64_t index_of(const struct point *p)
{
    return (p->order & ~APPEARS) >> 1;
}

static const struct minimalloc_row *row_of(const struct reader *rd, const struct point *p)
{
    return &rd->rows[index_of(p)];
}

/* The most bytes that are live after a step. */
static uint64_t peak_bytes(const struct reader *rd)
{
    uint64_t live = 0, peak = 0;
    for (size_t i = 0; i < rd->point_count; i++) {
        const struct point *p = &rd->points[i];
        uint64_t size = row_of(rd, p)->size;
        bool last = i + 1 == rd->point_count || p[1].step != p->step;
        live += appears(p) ? size : 0 - size;
        peak = last && live > peak ? live : peak;
    }
    return peak;
}

static void sort_points(struct reader *rd)
{
    if (rd->point_count)
        qsort(rd->points, rd->point_count, sizeof *rd->points, by_step);
}

static void move_ends(struct reader *rd, int by)
{
    for (size_t i = 0; i < rd->point_count; i++)
        rd->points[i].step += rd->points[i].order & BEHIND ? by : 0;
    sort_points(rd);
}

/* Others mean by 'end' the step behind the last one. */
static void remark_ends(struct reader *rd)
{
    uint64_t here = peak_bytes(rd);
    move_ends(rd, -1);
    uint64_t there = peak_bytes(rd);
    move_ends(rd, 1);
    tp_meta_remark(rd->r->meta,
                   "'end' is read as a buffer's last step: peak %s; if it is the step behind it, "
                   "the peak is %s: rename the column to 'upper'",
                   tp_bytes(here, false).s, tp_bytes(there, false).s);
}

static int lower_points(struct reader *rd, struct tp_err *err)
{
    for (size_t i = 0; i < rd->point_count; i++) {
        const struct point *p = &rd->points[i];
        const struct minimalloc_row *row = row_of(rd, p);
        const struct tp_event ev = {.op = appears(p) ? TP_EV_ALLOC : TP_EV_FREE,
                                    .id = (int64_t)index_of(p) + 1,
                                    .size = row->size,
                                    .has_size = true,
                                    .align = row->align,
                                    .has_align = true,
                                    .line = row->line};
        int rc = tp_lower_event(rd->r->lower, &ev, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

static void describe(struct reader *rd)
{
    struct tp_meta *meta = rd->r->meta;
    if (rd->last)
        remark_ends(rd);
    if (rd->has_offsets)
        tp_meta_remark(meta, "the offsets in it, the places of a plan, are not read");
    if (rd->never_live)
        tp_meta_remark(meta, "buffers end where they begin and are never live: %s",
                       tp_count(rd->never_live).s);
    if (rd->windows)
        tp_meta_remark(meta,
                       "the whole buffer stays live in gaps that leave a part of it in use: %s",
                       tp_count(rd->windows).s);
    if (rd->stopped)
        tp_meta_remark(meta, "reading stopped at the empty line: %s", tp_count(rd->stopped).s);
    if (rd->point_count == 0)
        tp_meta_set(meta, &meta->nothing, "no buffer is ever live");
}

static int begin(struct reader *rd, struct tp_err *err)
{
    struct tp_meta *meta = rd->r->meta;
    tp_meta_set(meta, &meta->capture, "buffers with lifetimes (minimalloc CSV)");
    tp_meta_set(meta, &meta->unknown, "times (steps only), threads, streams");
    meta->kind = TP_KIND_DEVICE;
    return tp_lower_kind(rd->r->lower, TP_KIND_DEVICE, err);
}

static int read_buffers(const struct tp_reading *r, struct tp_err *err)
{
    struct reader rd = {.r = r};
    int rc = begin(&rd, err);
    if (rc == TP_OK)
        rc = read_header(&rd, err);
    if (rc == TP_OK)
        rc = read_rows(&rd, err);
    if (rc == TP_OK) {
        sort_points(&rd);
        describe(&rd);
        rc = lower_points(&rd, err);
    }
    TP_GROW_END(&rd.text, &rd.room, .budget = r->budget);
    TP_GROW_END(&rd.rows, &rd.row_room, .budget = r->budget);
    TP_GROW_END(&rd.points, &rd.point_room, .budget = r->budget, .beside = SORTING);
    return rc;
}

const struct tp_format tp_format_minimalloc = {
    .name = "minimalloc",
    .summary = "minimalloc CSV: buffers with lifetimes",
    .record = "tapool convert FILE -o FILE.csv",
    .probe = probe_minimalloc,
    .read = read_buffers,
};
