/* The scanner: puts together single JSON values that may be spread over several blocks of an input.
 *
 *     {"t": 0, "op": "alloc", "id": 1, "size": 8},
 *     ^-------------- cut --------------------->^
 *
 * It looks only at strings and brackets (tp_span_search); a walk over the value checks the rest. A
 * value takes its own length in memory, up to the caller's limit. Known weakness: a skipped value
 * is checked no further. */
#include "traces/input/json_scan.h"

#include "alloc/base/grow.h"
#include "alloc/base/numbers.h"
#include "traces/input/json_bytes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SCALAR_MAX 64 /* bytes of a number, true, false or null */

void tp_json_scan_release(struct tp_json_scan *s)
{
    free(s->text);
    free(s->words);
    s->text = s->words = NULL;
    s->size = s->room = 0;
}

int tp_json_fail(const struct tp_json_scan *s, uint64_t line, struct tp_err *err,
                 const char *format, ...)
{
    char text[TP_ERR_TEXT], place[64] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->event > 0)
        snprintf(place, sizeof place, "event %s", tp_count(s->event).s);
    else if (s->subject)
        snprintf(place, sizeof place, "%s", s->subject);
    return tp_fail(err, TP_EINPUT, "%s:%" PRIu64 ": %s%s", tp_input_name(s->in), line, place, text);
}

/* Fails because the file ends; `where` is "inside" or "after". */
static int ends(const struct tp_json_scan *s, const char *where, uint64_t event, struct tp_err *err)
{
    char what[64];
    if (event > 0)
        snprintf(what, sizeof what, "event %s", tp_count(event).s);
    else
        snprintf(what, sizeof what, "%s", s->subject ? s->subject : "the header");
    int rc = tp_fail(err, TP_EINPUT, "%s:%" PRIu64 ": the file ends %s %s: truncated?",
                     tp_input_name(s->in), tp_input_line(s->in), where, what);
    if (event < 3) /* reading looks one event ahead */
        return rc;
    return tp_hint(err, rc, "--limit %" PRIu64 " reads what comes before", event - 2);
}

int tp_json_ends(const struct tp_json_scan *s, struct tp_err *err)
{
    if (s->event > 1)
        return ends(s, "after", s->event - 1, err);
    return ends(s, s->event == 0 ? "inside" : "before", s->event, err);
}

static int skip_mark(struct tp_input *in, struct tp_err *err)
{
    const unsigned char *data = NULL;
    size_t got = 0;
    int rc = tp_input_peek(in, 3, &data, &got, err);
    if (rc == TP_OK && got == 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        tp_input_take(in, 3);
    return rc;
}

int tp_json_next(struct tp_json_scan *s, int *byte, struct tp_err *err)
{
    int rc = s->block || tp_input_offset(s->in) > 0 ? TP_OK : skip_mark(s->in, err);
    size_t n = 0;
    do {
        if (rc == TP_OK)
            rc = tp_input_block(s->in, &s->block, &s->shown, err);
        if (rc != TP_OK)
            return rc;
        for (n = 0; n < s->shown && tp_json_space((char)s->block[n]);)
            n++;
        if (n > 0)
            tp_input_take(s->in, n);
    } while (n > 0 && n == s->shown);
    s->block += n;
    s->shown -= n;
    *byte = s->shown > 0 ? *s->block : -1;
    return TP_OK;
}

int tp_json_need(struct tp_json_scan *s, int *byte, struct tp_err *err)
{
    int rc = tp_json_next(s, byte, err);
    return rc == TP_OK && *byte < 0 ? tp_json_ends(s, err) : rc;
}

int tp_json_take(struct tp_json_scan *s, const char *two, const char *where, int *which,
                 struct tp_err *err)
{
    char wanted[16];
    int rc = tp_json_need(s, which, err);
    if (rc != TP_OK)
        return rc;
    if (*which == two[0] || *which == two[1]) {
        tp_input_take(s->in, 1);
        return TP_OK;
    }
    snprintf(wanted, sizeof wanted, two[0] == two[1] ? "'%c'" : "'%c' or '%c'", two[0], two[1]);
    return tp_json_fail(s, tp_input_line(s->in), err, ": %s is missing%s: not valid JSON", wanted,
                        where);
}

static int keep(struct tp_json_scan *s, const unsigned char *data, size_t n, struct tp_err *err)
{
    int rc = TP_GROW(&s->text, &s->room, s->size + n + 1, err, .what = "JSON",
                     .of = tp_input_name(s->in));
    if (rc != TP_OK)
        return rc;
    memcpy(s->text + s->size, data, n);
    s->size += n;
    s->text[s->size] = '\0';
    return TP_OK;
}

static int wrong(const struct tp_json_scan *s, enum tp_span_stop stop, struct tp_err *err)
{
    uint64_t line = tp_input_line(s->in);
    if (stop == TP_SPAN_TOO_DEEP)
        return tp_json_fail(s, line, err, " is nested deeper than %d levels", TP_JSON_DEPTH_MAX);
    if (stop == TP_SPAN_LINE_ENDS)
        return tp_json_fail(s, line, err, " is not complete on its line");
    if (stop == TP_SPAN_MISMATCH)
        return tp_json_fail(s, line, err, " has brackets that do not match");
    return tp_json_fail(s, line, err, " holds a raw control character: not valid JSON");
}

static int too_long(const struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    if (limit < 1024)
        return tp_json_fail(s, s->line, err, " is longer than %zu bytes", limit);
    return tp_json_fail(s, s->line, err, " is longer than %zu KiB", limit / 1024);
}

/* Scans the value that begins at the next byte, which is not white space. Keeps it unless `limit`
 * is 0. */
static int scan_value(struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    struct tp_span_search search = {.one_line = s->one_line};
    enum tp_span_stop stop = TP_SPAN_MORE;
    size_t total = 0;
    while (stop == TP_SPAN_MORE) {
        const unsigned char *data = NULL;
        size_t got = 0, used = 0;
        int rc = tp_input_block(s->in, &data, &got, err);
        if (rc != TP_OK)
            return rc;
        if (got == 0 && search.scalar)
            return TP_OK;
        if (got == 0)
            return ends(s, "inside", s->event, err);
        stop = tp_span_search(&search, (const char *)data, got, &used);
        total += used;
        if (search.scalar && total > SCALAR_MAX)
            return too_long(s, SCALAR_MAX, err);
        if (limit > 0 && total > limit)
            return too_long(s, limit, err);
        if (limit > 0)
            rc = keep(s, data, used, err);
        tp_input_take(s->in, used);
        if (rc != TP_OK)
            return rc;
    }
    return stop == TP_SPAN_DONE ? TP_OK : wrong(s, stop, err);
}

int tp_json_cut(struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    int first = 0;
    int rc = tp_json_next(s, &first, err);
    if (rc != TP_OK)
        return rc;
    s->size = 0;
    s->line = tp_input_line(s->in);
    return first < 0 ? ends(s, "inside", s->event, err) : scan_value(s, limit, err);
}

int tp_json_skip(struct tp_json_scan *s, struct tp_err *err)
{
    return tp_json_cut(s, 0, err);
}

int tp_json_open_list(struct tp_json_scan *s, int *byte, struct tp_err *err)
{
    int rc = tp_json_need(s, byte, err);
    if (rc != TP_OK)
        return rc;
    if (*byte != '[')
        return tp_json_fail(s, tp_input_line(s->in), err, " is not a list");
    tp_input_take(s->in, 1);
    return tp_json_next(s, byte, err);
}
