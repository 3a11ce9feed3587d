/* CS:APP malloclab traces (.rep): four numbers, then one operation per line.
 *
 *     20000        suggested heap bytes      or, since 2016:   1         weight, 0 to 3
 *     3            ids                                         3         ids
 *     8            operations                                  8         operations
 *     1            weight, 0 or 1                              1408      most bytes live at once
 *     a 0 512      malloc; ids may come again after their free
 *     r 0 640      realloc; the id stays; of one that is not live: realloc(NULL)
 *     f 0          free; f -1 is free(NULL)
 *
 * Both headers have ids and operations in the same places, so a wrong guess affects only messages.
 * Known weakness: the most bytes live at once are not checked against the header. */
#include "traces/lower/bad_line.h"

#include "alloc/base/numbers.h"
#include "traces/format.h"

#include <inttypes.h>
#include <stdio.h>

enum { FIRST, IDS, OPERATIONS, LAST, NUMBERS };

struct rep {
    const struct tp_reading *reading;
    struct tp_lines lines;
    uint64_t header[NUMBERS];
    uint64_t ids;     /* highest id plus 1 */
    uint64_t largest; /* largest request, in bytes */
};

/* Takes the header numbers of a line. False: something else is on the line, or too many numbers. */
static bool cut_header(struct tp_cut *line, uint64_t *header, int *have)
{
    while (!tp_cut_done(line)) {
        if (*have == NUMBERS || !tp_cut_decimal(line, &header[*have]))
            return false;
        ++*have;
    }
    return true;
}

/* Takes an operation. An id of -1 means free(NULL). */
static bool cut_operation(struct tp_cut *line, struct tp_event *ev)
{
    uint64_t id = 0;
    tp_cut_blanks(line);
    char op = line->at < line->end ? *line->at++ : '\0';
    if (op == 'a')
        ev->op = TP_EV_ALLOC;
    else if (op == 'f')
        ev->op = TP_EV_FREE;
    else if (op == 'r')
        ev->op = TP_EV_REALLOC;
    else
        return false;
    ev->has_size = op != 'f';
    tp_cut_blanks(line);
    bool null = op == 'f' && tp_cut_text(line, "-1");
    if (!null && (!tp_cut_decimal(line, &id) || id > INT64_MAX))
        return false;
    ev->id = null ? -1 : (int64_t)id;
    tp_cut_blanks(line);
    if (ev->has_size && !tp_cut_decimal(line, &ev->size))
        return false;
    return tp_cut_done(line);
}

/* Whether a line is an operation without its size, which some scripts cut off. It is read as an
 * operation, so that the error says what is missing. */
static bool lacks_size(struct tp_cut line)
{
    uint64_t id = 0;
    tp_cut_blanks(&line);
    if (!tp_cut_byte(&line, 'a') && !tp_cut_byte(&line, 'r'))
        return false;
    tp_cut_blanks(&line);
    return tp_cut_decimal(&line, &id) && tp_cut_done(&line);
}

static int probe_rep(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    uint64_t header[NUMBERS];
    int have = 0, operations = 0, short_ones = 0;
    while (have < NUMBERS && tp_cut_line(&text, &line))
        if (!cut_header(&line, header, &have))
            return 0;
    while (operations + short_ones < 3 && tp_cut_line(&text, &line)) {
        struct tp_event ev = {0};
        struct tp_cut whole = line;
        if (tp_cut_done(&line))
            continue;
        if (cut_operation(&line, &ev))
            operations++;
        else if (lacks_size(whole))
            short_ones++;
        else if (text.at < text.end)
            return 0;
    }
    if (operations > 0)
        return operations == 3 ? 80 : 60;
    return short_ones > 0 ? 40 : 0;
}

static int read_header(struct rep *r, struct tp_err *err)
{
    for (int have = 0; have < NUMBERS;) {
        struct tp_cut line;
        char shown[TP_CUT_SHOWN];
        int rc = tp_lines_next(&r->lines, &line, err);
        if (rc != TP_OK)
            return rc;
        tp_cut_show(line, shown);
        if (!r->lines.ended && cut_header(&line, r->header, &have))
            continue;
        rc = r->lines.ended
                 ? tp_lines_fail(&r->lines, 0, err, "the file ends in the header of a .rep trace")
                 : tp_lines_fail(&r->lines, 0, err, "'%s' is not in the header of a .rep trace",
                                 shown);
        return tp_hint(err, rc,
                       "it begins with four numbers; the second counts ids, the third "
                       "operations");
    }
    return TP_OK;
}

static int take_operation(struct rep *r, struct tp_cut line, struct tp_err *err)
{
    struct tp_lower *lo = r->reading->lower;
    struct tp_event ev = {.line = r->lines.number};
    struct tp_cut rest = line;
    if (!cut_operation(&rest, &ev)) {
        char shown[TP_CUT_SHOWN];
        rest = line;
        return tp_cut_done(&rest)
                   ? TP_OK
                   : tp_lines_bad(&r->lines, lo, err,
                                  "'%s' is none of 'a ID BYTES', 'r ID BYTES', 'f ID'",
                                  tp_cut_show(line, shown));
    }
    if (ev.id < 0)
        return tp_lower_skip(lo, err);
    uint64_t size = 0; /* a realloc of no live object is realloc(NULL) */
    if (ev.op == TP_EV_REALLOC && ev.size > 0 && !tp_lower_live(lo, ev.id, &size))
        ev.op = TP_EV_ALLOC;
    if ((uint64_t)ev.id >= r->ids)
        r->ids = (uint64_t)ev.id + 1;
    if (ev.size > r->largest)
        r->largest = ev.size;
    return tp_lower_event(lo, &ev, err);
}

/* Whether the header is the newer one, with a weight as its first number. If the last number could
 * be a weight too, it counts as the most bytes live at once unless a request is larger. */
static bool is_newer(const struct rep *r)
{
    return r->header[FIRST] <= 3 && (r->header[LAST] > 3 || r->largest <= r->header[LAST]);
}

static void describe(const struct rep *r)
{
    static const char *const weights[] = {"not counted", "utilisation and throughput",
                                          "only utilisation", "only throughput"};
    struct tp_meta *meta = r->reading->meta;
    bool newer = is_newer(r);
    uint64_t weight = r->header[newer ? FIRST : LAST];
    tp_meta_set(meta, &meta->program, "malloclab trace of weight %" PRIu64 "%s%s%s", weight,
                newer ? " (" : "", newer ? weights[weight] : "", newer ? ")" : "");
    tp_meta_set(meta, &meta->capture, "CS:APP malloclab trace (.rep, %s)",
                newer ? "header since 2016" : "classic header");
    tp_meta_set(meta, &meta->unknown, "times, threads, alignment");
}

/* Compares the header with the operations. A wrong header does no harm, but may show that the file
 * was cut. */
static void compare(const struct rep *r)
{
    uint64_t count = tp_lower_count(r->reading->lower);
    if (count != r->header[OPERATIONS] || r->ids != r->header[IDS])
        tp_meta_remark(r->reading->meta,
                       "The header says %s operations on %s ids; there are %s operations on ids "
                       "below %s.",
                       tp_count(r->header[OPERATIONS]).s, tp_count(r->header[IDS]).s,
                       tp_count(count).s, tp_count(r->ids).s);
}

static int read_rep(const struct tp_reading *reading, struct tp_err *err)
{
    struct rep r = {.reading = reading, .lines = {.in = reading->in}};
    struct tp_cut line;
    reading->meta->kind = TP_KIND_HOST;
    int rc = tp_lower_kind(reading->lower, TP_KIND_HOST, err);
    if (rc == TP_OK)
        rc = read_header(&r, err);
    while (tp_lines_more(&r.lines, &line, &rc, err))
        rc = take_operation(&r, line, err);
    if (rc != TP_OK && rc != TP_ESTOP)
        return rc;
    describe(&r);
    if (rc == TP_OK)
        compare(&r);
    return rc;
}

const struct tp_format tp_format_rep = {
    .name = "rep",
    .summary = "CS:APP malloclab trace (.rep): a, r and f lines after four numbers",
    .probe = probe_rep,
    .read = read_rep,
};
