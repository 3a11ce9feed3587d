/* The scanner: finds where one JSON value ends, in one pass over the buffered blocks.
 *
 *     {"t": 0, "op": "alloc", "id": 1, "size": 8},
 *     ^-------------- cut --------------------->^
 *
 * It knows strings, escapes and brackets (a bit per level says which kind is open) and nothing
 * else; whether the text is JSON is for cJSON to say. A value costs its own length in memory, up to
 * the limit of the caller. Known weakness: a skipped value is not checked beyond that. */
#include "traces/input/json_scan.h"

#include "alloc/base/clean.h"
#include "alloc/base/grow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SCALAR_MAX 64 /* bytes of a number, true, false or null */

enum outcome { MORE, DONE, TOO_DEEP, MISMATCH, CONTROL, LINE_ENDS };

/* Where a scan of a value stands between two blocks. */
struct progress {
    uint64_t kinds; /* bit per open level: 1 = object */
    unsigned depth;
    bool in_string, escaped;
    bool scalar, one_line;
};

void tp_json_scan_release(struct tp_json_scan *s)
{
    free(s->text);
    s->text = NULL;
    s->size = s->room = 0;
}

int tp_json_fail(const struct tp_json_scan *s, uint64_t line, struct tp_err *err,
                 const char *format, ...)
{
    char text[TP_ERR_TEXT], number[TP_GROUPED], place[64] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->event > 0)
        snprintf(place, sizeof place, "event %s", tp_grouped(s->event, number));
    else if (s->subject)
        snprintf(place, sizeof place, "%s", s->subject);
    return tp_fail(err, TP_EINPUT, "%s:%" PRIu64 ": %s%s", tp_input_name(s->in), line, place, text);
}

/* The file ends; `where` is "inside" or "after". */
static int ends(const struct tp_json_scan *s, const char *where, uint64_t event, struct tp_err *err)
{
    char number[TP_GROUPED], what[64];
    if (event > 0)
        snprintf(what, sizeof what, "event %s", tp_grouped(event, number));
    else
        snprintf(what, sizeof what, "%s", s->subject ? s->subject : "the header");
    int rc = tp_fail(err, TP_EINPUT, "%s:%" PRIu64 ": the file ends %s %s: truncated?",
                     tp_input_name(s->in), tp_input_line(s->in), where, what);
    if (event < 3) /* one is looked ahead for */
        return rc;
    return tp_hint(err, rc, "--limit %" PRIu64 " reads what comes before", event - 2);
}

int tp_json_ends(const struct tp_json_scan *s, struct tp_err *err)
{
    return ends(s,
                s->event == 0   ? "inside"
                : s->event == 1 ? "before"
                                : "after",
                s->event > 1 ? s->event - 1 : s->event, err);
}

static bool is_space(int c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
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
    if (tp_input_offset(s->in) == 0) {
        int rc = skip_mark(s->in, err);
        if (rc != TP_OK)
            return rc;
    }
    for (;;) {
        const unsigned char *data = NULL;
        size_t got = 0, n = 0;
        int rc = tp_input_block(s->in, &data, &got, err);
        if (rc != TP_OK)
            return rc;
        while (n < got && is_space(data[n]))
            n++;
        tp_input_take(s->in, n);
        if (n < got || got == 0) {
            *byte = n < got ? data[n] : -1;
            return TP_OK;
        }
    }
}

/* Inside a string: up to its end, a control character or the end of the block. */
static enum outcome pass_string(struct progress *p, const unsigned char *data, size_t size,
                                size_t *at)
{
    size_t i = *at;
    for (; i < size; i++) {
        while (i < size && data[i] > '"' && data[i] != '\\' && !p->escaped)
            i++;
        if (i == size)
            break;
        unsigned char c = data[i];
        if (c < 0x20) {
            *at = i;
            return CONTROL;
        }
        if (p->escaped) {
            p->escaped = false;
        } else if (c == '\\') {
            p->escaped = true;
        } else if (c == '"') {
            p->in_string = false;
            *at = i + 1;
            return p->depth == 0 ? DONE : MORE;
        }
    }
    *at = i;
    return MORE;
}

static enum outcome open_bracket(struct progress *p, unsigned char c)
{
    if (p->depth == TP_JSON_DEPTH_MAX)
        return TOO_DEEP;
    p->kinds = p->kinds << 1 | (c == '{');
    p->depth++;
    return MORE;
}

static enum outcome close_bracket(struct progress *p, unsigned char c)
{
    if ((p->kinds & 1) != (c == '}'))
        return MISMATCH;
    p->kinds >>= 1;
    return --p->depth == 0 ? DONE : MORE;
}

/* Goes over a block; *used bytes of it belong to the value, or to the place of the error. */
static enum outcome pass(struct progress *p, const unsigned char *data, size_t size, size_t *used)
{
    enum outcome o = MORE;
    size_t i = 0;
    while (i < size && o == MORE) {
        if (p->in_string) {
            o = pass_string(p, data, size, &i);
            continue;
        }
        /* digits, commas, colons: most of what there is */
        while (i < size && ((data[i] > '"' && data[i] < '[') || data[i] == ' '))
            i++;
        if (i == size)
            break;
        unsigned char c = data[i];
        if (c == '"')
            p->in_string = true;
        else if (c == '{' || c == '[')
            o = open_bracket(p, c);
        else if (c == '}' || c == ']')
            o = close_bracket(p, c);
        else if (c < 0x20 && !is_space(c))
            o = CONTROL;
        else if (c == '\n' && p->one_line)
            o = LINE_ENDS;
        if (o == MORE || o == DONE)
            i++;
    }
    *used = i;
    return o;
}

/* A number or a word: up to what cannot be part of it. */
static enum outcome pass_scalar(const unsigned char *data, size_t size, size_t *used)
{
    size_t i = 0;
    while (i < size && !is_space(data[i]) && !strchr(",:]}[{\"", data[i]))
        i++;
    *used = i;
    return i < size ? DONE : MORE;
}

static int keep(struct tp_json_scan *s, const unsigned char *data, size_t n, struct tp_err *err)
{
    if (s->size + n + 1 > s->room) {
        char *bigger = tp_grown(s->text, &s->room, s->size + n + 1, SIZE_MAX, sizeof *bigger);
        if (!bigger)
            return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", tp_input_name(s->in));
        s->text = bigger;
    }
    memcpy(s->text + s->size, data, n);
    s->size += n;
    s->text[s->size] = '\0';
    return TP_OK;
}

static int wrong(const struct tp_json_scan *s, enum outcome o, struct tp_err *err)
{
    uint64_t line = tp_input_line(s->in);
    if (o == TOO_DEEP)
        return tp_json_fail(s, line, err, " is nested deeper than %d levels", TP_JSON_DEPTH_MAX);
    if (o == LINE_ENDS)
        return tp_json_fail(s, line, err, " is not complete on its line");
    if (o == MISMATCH)
        return tp_json_fail(s, line, err, " has brackets that do not match");
    return tp_json_fail(s, line, err, " holds a raw control character: not valid JSON");
}

static int too_long(const struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    if (limit < 1024)
        return tp_json_fail(s, s->line, err, " is longer than %zu bytes", limit);
    return tp_json_fail(s, s->line, err, " is longer than %zu KiB", limit / 1024);
}

/* A value that begins at the next byte, which is no white space; kept when `limit` is not 0. */
static int scan_value(struct tp_json_scan *s, struct progress *p, size_t limit, struct tp_err *err)
{
    enum outcome o = MORE;
    size_t total = 0;
    while (o == MORE) {
        const unsigned char *data = NULL;
        size_t got = 0, used = 0;
        int rc = tp_input_block(s->in, &data, &got, err);
        if (rc != TP_OK)
            return rc;
        if (got == 0 && p->scalar)
            return TP_OK;
        if (got == 0)
            return ends(s, "inside", s->event, err);
        o = p->scalar ? pass_scalar(data, got, &used) : pass(p, data, got, &used);
        total += used;
        if (limit > 0 && total > limit)
            return too_long(s, limit, err);
        if (limit > 0)
            rc = keep(s, data, used, err);
        tp_input_take(s->in, used);
        if (rc != TP_OK)
            return rc;
    }
    return o == DONE ? TP_OK : wrong(s, o, err);
}

static int scan(struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    int first = 0;
    int rc = tp_json_next(s, &first, err);
    if (rc != TP_OK)
        return rc;
    s->size = 0;
    s->line = tp_input_line(s->in);
    if (first < 0)
        return ends(s, "inside", s->event, err);
    struct progress p = {.scalar = first != '{' && first != '[' && first != '"',
                         .one_line = s->one_line};
    return scan_value(s, &p, p.scalar ? SCALAR_MAX : limit, err);
}

int tp_json_cut(struct tp_json_scan *s, size_t limit, struct tp_err *err)
{
    return scan(s, limit, err);
}

int tp_json_skip(struct tp_json_scan *s, struct tp_err *err)
{
    return scan(s, 0, err);
}
