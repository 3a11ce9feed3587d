/* Walks over JSON. The end of a value is found by brackets and quotes alone, in one pass that may
 * stop at any byte and continue in the next piece:
 *
 *     {"name": "[memory]", "args": {"Bytes": 512}} , {...
 *     ^--------------------------------------------^      tp_span_search: 1 bit per open level says
 *      ^----^  ^--------^                                 which bracket must close it
 *       key      value      tp_span_next
 *
 * A strict walk checks everything it takes against the grammar of RFC 8259, which is implemented
 * only here. The bytes of strings are not checked to be UTF-8. */
#include "traces/input/json_span.h"

#include <string.h>

/* ---- where a value ends ---- */

#define CONTROLS                                                                                   \
    [0x00] = 1, [0x01] = 1, [0x02] = 1, [0x03] = 1, [0x04] = 1, [0x05] = 1, [0x06] = 1,            \
    [0x07] = 1, [0x08] = 1, [0x09] = 1, [0x0a] = 1, [0x0b] = 1, [0x0c] = 1, [0x0d] = 1,            \
    [0x0e] = 1, [0x0f] = 1, [0x10] = 1, [0x11] = 1, [0x12] = 1, [0x13] = 1, [0x14] = 1,            \
    [0x15] = 1, [0x16] = 1, [0x17] = 1, [0x18] = 1, [0x19] = 1, [0x1a] = 1, [0x1b] = 1,            \
    [0x1c] = 1, [0x1d] = 1, [0x1e] = 1, [0x1f] = 1

/* Bytes at which a search must stop, inside and outside a string. */
static const bool string_stops[256] = {CONTROLS, ['"'] = 1, ['\\'] = 1};
static const bool stops[256] = {CONTROLS, ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1};

/* Continues in a string up to the byte behind its end. */
static enum tp_span_stop search_string(struct tp_span_search *s, const char *text, size_t size,
                                       size_t *at)
{
    size_t i = *at;
    enum tp_span_stop stop = TP_SPAN_MORE;
    for (; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 && !s->any_bytes) {
            stop = TP_SPAN_CONTROL;
            break;
        }
        if (s->escaped) {
            s->escaped = false;
        } else if (c == '\\') {
            s->escaped = true;
        } else if (c == '"') {
            s->in_string = false;
            i++;
            stop = s->depth == 0 ? TP_SPAN_DONE : TP_SPAN_MORE;
            break;
        }
        while (!s->escaped && i + 1 < size && !string_stops[(unsigned char)text[i + 1]])
            i++;
    }
    *at = i;
    return stop;
}

static enum tp_span_stop take_bracket(struct tp_span_search *s, char c)
{
    if (c == '{' || c == '[') {
        if (s->depth == TP_JSON_DEPTH_MAX)
            return TP_SPAN_TOO_DEEP;
        s->objects = s->objects << 1 | (c == '{');
        s->depth++;
        return TP_SPAN_MORE;
    }
    if ((s->objects & 1) != (c == '}'))
        return TP_SPAN_MISMATCH;
    s->objects >>= 1;
    return --s->depth == 0 ? TP_SPAN_DONE : TP_SPAN_MORE;
}

static enum tp_span_stop take_stop(struct tp_span_search *s, char c)
{
    if (c == '"')
        s->in_string = true;
    else if ((unsigned char)c >= 0x20)
        return take_bracket(s, c);
    else if (c == '\n' && s->one_line)
        return TP_SPAN_LINE_ENDS;
    else if (!tp_json_space(c) && !s->any_bytes)
        return TP_SPAN_CONTROL;
    return TP_SPAN_MORE;
}

/* Searches the end of a number or a word. */
static enum tp_span_stop search_scalar(const char *text, size_t size, size_t *used)
{
    size_t i = 0;
    while (i < size && !tp_json_space(text[i]) && !memchr(",:]}[{\"", text[i], 7))
        i++;
    *used = i;
    return i < size ? TP_SPAN_DONE : TP_SPAN_MORE;
}

enum tp_span_stop tp_span_search(struct tp_span_search *s, const char *text, size_t size,
                                 size_t *used)
{
    enum tp_span_stop stop = TP_SPAN_MORE;
    size_t i = 0;
    if (!s->begun && size > 0)
        s->scalar = *text != '"' && *text != '{' && *text != '[';
    s->begun |= size > 0;
    if (s->scalar)
        return search_scalar(text, size, used);
    while (i < size && stop == TP_SPAN_MORE) {
        if (s->in_string) {
            stop = search_string(s, text, size, &i);
            continue;
        }
        while (i < size && !stops[(unsigned char)text[i]])
            i++;
        if (i == size)
            break;
        stop = take_stop(s, text[i]);
        i += stop == TP_SPAN_MORE || stop == TP_SPAN_DONE;
    }
    *used = i;
    return stop;
}

size_t tp_span_value(const char *text, size_t size, bool *wrong)
{
    struct tp_span_search s = {.any_bytes = true};
    size_t used = 0;
    enum tp_span_stop stop = tp_span_search(&s, text, size, &used);
    *wrong = size > 0 && (used == 0 || (stop != TP_SPAN_DONE && stop != TP_SPAN_MORE));
    return stop == TP_SPAN_DONE ? used : 0;
}

/* ---- the grammar ---- */

/* Passes a string; its first quote was checked. */
static bool pass_string(struct tp_span_walk *w)
{
    const char *at = w->at + 1;
    for (;;) {
        while (at < w->end && !string_stops[(unsigned char)*at])
            at++;
        w->at = at;
        if (at == w->end)
            return false;
        if (*at == '"')
            break;
        size_t escape = *at == '\\' ? tp_json_escape(at, w->end, NULL) : 0;
        if (escape == 0)
            return false;
        at += escape;
    }
    w->at = at + 1;
    return true;
}

static const char *pass_digits(const char *at, const char *end)
{
    while (at < end && tp_json_digit(*at))
        at++;
    return at;
}

static bool pass_number(struct tp_span_walk *w)
{
    const char *whole = *w->at == '-' ? w->at + 1 : w->at, *from;
    const char *at = pass_digits(whole, w->end);
    bool good = at > whole && (*whole != '0' || at == whole + 1);
    if (good && at < w->end && *at == '.') {
        from = at + 1;
        at = pass_digits(from, w->end);
        good = at > from;
    }
    if (good && at < w->end && (*at | 0x20) == 'e') {
        from = at + 1;
        from += from < w->end && (*from == '+' || *from == '-');
        at = pass_digits(from, w->end);
        good = at > from;
    }
    w->at = good ? at : w->at;
    return good;
}

static bool pass_word(struct tp_span_walk *w)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(w->end - w->at) >= length && memcmp(w->at, words[i], length) == 0) {
            w->at += length;
            return true;
        }
    }
    return false;
}

static bool pass_value(struct tp_span_walk *w, unsigned depth);

/* Passes an object or a list; its opening bracket was checked and counts in `depth`. */
static bool pass_brackets(struct tp_span_walk *w, unsigned depth)
{
    bool object = *w->at++ == '{';
    char close = object ? '}' : ']';
    if (tp_span_pass(w, close))
        return true;
    do {
        tp_span_pass_space(w);
        if (object &&
            (w->at == w->end || *w->at != '"' || !pass_string(w) || !tp_span_pass(w, ':')))
            return false;
        if (!pass_value(w, depth))
            return false;
    } while (tp_span_pass(w, ','));
    return tp_span_pass(w, close);
}

/* Passes a value that is inside `depth` brackets. */
static bool pass_value(struct tp_span_walk *w, unsigned depth)
{
    tp_span_pass_space(w);
    if (w->at == w->end)
        return false;
    char c = *w->at;
    if (c == '"')
        return pass_string(w);
    if (c == '{' || c == '[')
        return depth < TP_JSON_DEPTH_MAX && pass_brackets(w, depth + 1);
    return c == '-' || tp_json_digit(c) ? pass_number(w) : pass_word(w);
}

struct tp_span tp_span_trim(struct tp_span text)
{
    while (text.size > 0 && tp_json_space(*text.at)) {
        text.at++;
        text.size--;
    }
    return text;
}

const char *tp_span_check(struct tp_span text)
{
    struct tp_span_walk w = {.at = text.at, .end = text.at + text.size};
    bool value = pass_value(&w, 0);
    if (value)
        tp_span_pass_space(&w);
    return value && w.at == w.end ? NULL : w.at;
}

/* ---- walking ---- */

bool tp_span_take(struct tp_span_walk *w, struct tp_span *value)
{
    tp_span_pass_space(w);
    value->at = w->at;
    if (w->strict) {
        w->wrong = !pass_value(w, 1);
        value->size = (size_t)(w->at - value->at);
        return !w->wrong;
    }
    value->size = tp_span_value(w->at, (size_t)(w->end - w->at), &w->wrong);
    w->at += value->size;
    w->wrong |= value->size == 0;
    return !w->wrong;
}

bool tp_span_take_key(struct tp_span_walk *w, struct tp_span *key)
{
    tp_span_pass_space(w);
    w->wrong = w->at == w->end || *w->at != '"' || !tp_span_take(w, key) || !tp_span_pass(w, ':');
    return !w->wrong;
}

bool tp_span_next(struct tp_span_walk *w, struct tp_span *key, struct tp_span *value)
{
    return tp_span_more(w) && tp_span_take_key(w, key) && tp_span_take(w, value);
}

bool tp_span_element(struct tp_span_walk *w, struct tp_span *value)
{
    return tp_span_more(w) && tp_span_take(w, value);
}

bool tp_span_pick(struct tp_span object, const char *const *names, struct tp_span *out,
                  size_t count)
{
    struct tp_span key, value;
    struct tp_span_walk w = tp_span_members(object);
    while (tp_span_next(&w, &key, &value))
        for (size_t i = 0; i < count; i++)
            if (tp_span_is(key, names[i]))
                out[i] = value;
    return !w.wrong;
}
