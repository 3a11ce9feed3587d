/* Cuts the lines of a text in place out of the input's blocks.
 *
 *     block:  | given | line\n line\r\n li |          what is left at its end moves to the front
 *                                      ^ refill       of the next block, so no line is ever copied
 *
 * Bytes are taken from the input only when a block is used up, so the input's own position lags
 * behind; the line number is counted here. Known weakness: a line cannot be longer than one look
 * ahead. */
#include "traces/input/lines.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

#include <string.h>

#define LOOK (TP_LINE_MAX + 2) /* the longest line with its end */

/* ---- lines of an input ---- */

/* Gets a new block, which begins with the rest of the old one. */
static int refill(struct tp_lines *l, struct tp_err *err)
{
    const unsigned char *data = NULL;
    size_t shown = 0;
    tp_input_take(l->in, l->at);
    l->at = l->size = 0;
    int rc = tp_input_peek(l->in, LOOK, &data, &shown, err);
    if (rc == TP_OK)
        rc = tp_input_block(l->in, &data, &l->size, err);
    l->block = (const char *)data;
    l->whole = shown < LOOK;
    return rc;
}

/* Skips the rest of a line that is too long, including its newline. */
static int skip_rest(struct tp_lines *l, struct tp_err *err)
{
    for (;;) {
        const char *from = l->block + l->at;
        const char *newline = l->size > l->at ? memchr(from, '\n', l->size - l->at) : NULL;
        if (newline) {
            l->at += (size_t)(newline - from) + 1;
            return TP_OK;
        }
        l->at = l->size;
        int rc = refill(l, err);
        if (rc != TP_OK || l->size == 0)
            return rc;
    }
}

static int refuse_long(const struct tp_lines *l, struct tp_err *err)
{
    return tp_lines_fail(l, 0, err, "a line of more than %s bytes", tp_count(TP_LINE_MAX).s);
}

static void strip(struct tp_cut *line)
{
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
}

static void strip_mark(struct tp_cut *text)
{
    tp_cut_text(text, "\xef\xbb\xbf");
}

/* Finds the end of the line at `at`, in a new block if necessary. *newline is NULL if there is
 * none. */
static int find_end(struct tp_lines *l, const char **newline, struct tp_err *err)
{
    *newline = l->size > l->at ? memchr(l->block + l->at, '\n', l->size - l->at) : NULL;
    if (*newline || l->whole)
        return TP_OK;
    int rc = refill(l, err);
    if (rc == TP_OK && l->size > 0)
        *newline = memchr(l->block, '\n', l->size);
    return rc;
}

/* Gives a line that tp_lines_next cannot cut directly: it may reach into the next block or be too
 * long. The rest of a line that is too long is skipped by the next call, because until then its
 * start must stay in the block. */
static int next_slowly(struct tp_lines *l, struct tp_cut *line, struct tp_err *err)
{
    const char *newline = NULL;
    int rc = l->in_long ? skip_rest(l, err) : TP_OK;
    l->in_long = false;
    if (rc == TP_OK)
        rc = find_end(l, &newline, err);
    if (rc != TP_OK)
        return rc;
    const char *from = l->block + l->at;
    size_t length = newline ? (size_t)(newline - from) : l->size - l->at;
    l->ended = !newline && length == 0;
    if (l->ended)
        return TP_OK;
    l->number++;
    l->unended = !newline;
    *line = (struct tp_cut){from, from + length};
    strip(line);
    if (l->number == 1)
        strip_mark(line);
    if ((size_t)(line->end - line->at) <= TP_LINE_MAX) {
        l->at += newline ? length + 1 : length;
        return TP_OK;
    }
    line->end = line->at + TP_LINE_MAX;
    l->in_long = true;
    return l->skip_long ? TP_OK : refuse_long(l, err);
}

int tp_lines_next(struct tp_lines *l, struct tp_cut *line, struct tp_err *err)
{
    const char *from = l->block, *newline = NULL;
    if (l->at < l->size && l->number > 0 && !l->in_long) {
        from += l->at;
        newline = memchr(from, '\n', l->size - l->at);
    }
    if (!newline || newline - from > (ptrdiff_t)TP_LINE_MAX)
        return next_slowly(l, line, err);
    *line = (struct tp_cut){from, newline};
    l->at += (size_t)(newline - from) + 1;
    l->number++;
    strip(line);
    return TP_OK;
}

int tp_lines_at_event(const struct tp_lines *l, uint64_t event, int rc, struct tp_err *err)
{
    if (event)
        rc = tp_prefix(err, rc, "event %s", tp_count(event).s);
    return tp_lines_placed(l, rc, err);
}

/* ---- cutting ---- */

bool tp_cut_line(struct tp_cut *text, struct tp_cut *line)
{
    if (text->at == text->end)
        return false;
    *line = tp_cut_field(text, '\n');
    strip(line);
    return true;
}

struct tp_cut tp_cut_start(const unsigned char *data, size_t size)
{
    struct tp_cut text = {(const char *)data, (const char *)data + size};
    strip_mark(&text);
    return text;
}

struct tp_cut tp_cut_field(struct tp_cut *c, char separator)
{
    struct tp_cut field = *c;
    const char *found = c->at < c->end ? memchr(c->at, separator, (size_t)(c->end - c->at)) : NULL;
    if (found)
        field.end = found;
    c->at = found ? found + 1 : c->end;
    return field;
}

/* Value of a hexadecimal digit plus 1; 0: not a digit. */
static const unsigned char digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

bool tp_cut_hex(struct tp_cut *c, uint64_t *value)
{
    const char *at = c->at;
    if (c->end - at >= 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    const char *first = at;
    uint64_t v = 0, lost = 0;
    unsigned digit;
    for (; at < c->end && (digit = digits[(unsigned char)*at]) > 0; at++) {
        lost |= v >> 60;
        v = v << 4 | (digit - 1);
    }
    if (at == first || lost)
        return false;
    c->at = at;
    *value = v;
    return true;
}

bool tp_cut_pointer(struct tp_cut *c, uint64_t *value)
{
    if (tp_cut_hex(c, value))
        return true;
    *value = 0;
    return tp_cut_text(c, "(nil)") || tp_cut_text(c, "nullptr");
}

const char *tp_cut_show(struct tp_cut c, char out[TP_CUT_SHOWN])
{
    char raw[TP_CUT_SHOWN] = "";
    size_t length = (size_t)(c.end - c.at);
    bool cut = length > 40;
    if (length > 0)
        memcpy(raw, c.at, cut ? 37 : length);
    for (size_t i = 0; i < (cut ? 37 : length); i++)
        if (raw[i] == '\0')
            raw[i] = '?';
    tp_clean_text(raw, out, cut ? 38 : TP_CUT_SHOWN);
    if (cut)
        memcpy(out + strlen(out), "...", 4);
    return out;
}
