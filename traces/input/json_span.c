/* See json_span.h. The end of a value is found in one pass that jumps over strings with memchr and
 * over everything that is no quote or bracket with a table of bytes.
 *
 *     {"name": "[memory]", "args": {"Bytes": 512}} , {...
 *     ^--------------------------------------------^      tp_span_value: 1 bit per open level says
 *      ^----^  ^--------^                                 which bracket must close it
 *       key      value      tp_span_next */
#include "traces/input/json_span.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 63 /* bytes of one */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The byte behind a string that begins at text[from]; 0: it does not end. */
static size_t string_end(const char *text, size_t size, size_t from)
{
    for (size_t i = from + 1; i < size; i++) {
        const char *quote = memchr(text + i, '"', size - i);
        if (!quote)
            return 0;
        i = (size_t)(quote - text);
        size_t slashes = 0;
        while (text[i - slashes - 1] == '\\' && i - slashes - 1 > from)
            slashes++;
        if (slashes % 2 == 0)
            return i + 1;
    }
    return 0;
}

static size_t brackets_end(const char *text, size_t size, bool *wrong)
{
    static const bool stops[256] = {['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1};
    uint64_t objects = 0; /* bit per open level */
    unsigned depth = 0;
    for (size_t i = 0; i < size;) {
        while (i < size && !stops[(unsigned char)text[i]])
            i++;
        if (i == size)
            return 0;
        char c = text[i];
        if (c == '"') {
            i = string_end(text, size, i);
            if (i == 0)
                return 0;
            continue;
        }
        i++;
        if (c == '{' || c == '[') {
            *wrong = ++depth > TP_SPAN_DEPTH_MAX;
            objects = objects << 1 | (c == '{');
        } else {
            *wrong = (objects & 1) != (c == '}');
            objects >>= 1;
            depth--;
        }
        if (*wrong)
            return 0;
        if (depth == 0)
            return i;
    }
    return 0;
}

size_t tp_span_value(const char *text, size_t size, bool *wrong)
{
    *wrong = false;
    if (size == 0)
        return 0;
    if (*text == '"')
        return string_end(text, size, 0);
    if (*text == '{' || *text == '[')
        return brackets_end(text, size, wrong);
    size_t i = 0;
    while (i < size && !is_space(text[i]) && !memchr(",:]}[{\"", text[i], 7))
        i++;
    *wrong = i == 0;
    return i < size ? i : 0;
}

static void pass_space(struct tp_span_walk *w)
{
    while (w->at < w->end && is_space(*w->at))
        w->at++;
}

/* The byte that must come next. */
static bool pass(struct tp_span_walk *w, char c)
{
    pass_space(w);
    bool there = w->at < w->end && *w->at == c;
    w->at += there;
    return there;
}

static bool take_value(struct tp_span_walk *w, struct tp_span *out)
{
    bool wrong = false;
    pass_space(w);
    out->at = w->at;
    out->size = tp_span_value(w->at, (size_t)(w->end - w->at), &wrong);
    w->at += out->size;
    return out->size > 0 && !wrong;
}

struct tp_span_walk tp_span_members(struct tp_span object)
{
    struct tp_span_walk w = {.at = object.at, .end = object.at + object.size};
    w.wrong = object.size == 0 || *object.at != '{';
    w.at += !w.wrong;
    return w;
}

bool tp_span_next(struct tp_span_walk *w, struct tp_span *key, struct tp_span *value)
{
    if (w->wrong)
        return false;
    if (pass(w, '}')) {
        w->at = w->end; /* asked again, it is wrong rather than somewhere else */
        return false;
    }
    w->wrong = (w->begun && !pass(w, ',')) || !take_value(w, key) || *key->at != '"' ||
               !pass(w, ':') || !take_value(w, value);
    w->begun = true;
    return !w->wrong;
}

bool tp_span_is(struct tp_span s, const char *text)
{
    size_t length = strlen(text);
    return s.at && s.size == length + 2 && *s.at == '"' && memcmp(s.at + 1, text, length) == 0;
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

/* ---- scalars ---- */

/* Without quotes, where it has them. */
static struct tp_span bare(struct tp_span s)
{
    if (s.at && s.size >= 2 && *s.at == '"')
        return (struct tp_span){s.at + 1, s.size - 2};
    return s;
}

static bool read_digits(const char *at, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(at[i] - '0'), &value))
            return false;
    }
    *out = value;
    return size > 0;
}

/* A magnitude and its sign as 64 bits. */
static bool signed_value(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool tp_span_uint(struct tp_span s, uint64_t *out)
{
    s = bare(s);
    return s.at && read_digits(s.at, s.size, out);
}

bool tp_span_int(struct tp_span s, int64_t *out)
{
    uint64_t magnitude = 0;
    s = bare(s);
    bool negative = s.at && s.size > 0 && *s.at == '-';
    return s.at && read_digits(s.at + negative, s.size - negative, &magnitude) &&
           signed_value(magnitude, negative, out);
}

static bool through_double(struct tp_span s, int64_t *out)
{
    char text[NUMBER_MAX + 1], *end = NULL;
    if (s.size > NUMBER_MAX || s.size == 0 || !memchr("-0123456789", *s.at, 11))
        return false;
    memcpy(text, s.at, s.size);
    text[s.size] = '\0';
    double value = strtod(text, &end) * 1000;
    if (*end != '\0' || !(fabs(value) < 9.2e18))
        return false;
    *out = (int64_t)value;
    return true;
}

bool tp_span_thousandths(struct tp_span s, int64_t *out)
{
    s = bare(s);
    if (!s.at || s.size == 0 || s.size > NUMBER_MAX)
        return false;
    if (memchr(s.at, 'e', s.size) || memchr(s.at, 'E', s.size))
        return through_double(s, out);
    bool negative = *s.at == '-';
    const char *at = s.at + negative, *end = s.at + s.size;
    const char *point = memchr(at, '.', (size_t)(end - at));
    const char *whole = point ? point : end;
    uint64_t units = 0, parts = 0, ignored = 0;
    char digits[3] = {'0', '0', '0'};
    if (!read_digits(at, (size_t)(whole - at), &units) ||
        __builtin_mul_overflow(units, 1000u, &units))
        return false;
    size_t after = point ? (size_t)(end - point - 1) : 0, kept = after < 3 ? after : 3;
    if (point && (after == 0 || after > 18 || !read_digits(point + 1, after, &ignored)))
        return false;
    if (kept > 0)
        memcpy(digits, point + 1, kept);
    return read_digits(digits, 3, &parts) && !__builtin_add_overflow(units, parts, &units) &&
           signed_value(units, negative, out);
}

bool tp_span_pointer(struct tp_span s, uint64_t *out)
{
    char text[20], *end = NULL;
    *out = 0;
    if (tp_span_is(s, "0") || tp_span_is(s, "(nil)") || tp_span_is(s, "nullptr"))
        return true;
    if (!s.at || s.size < 5 || s.size > sizeof text + 1 || memcmp(s.at, "\"0x", 3) != 0)
        return false;
    memcpy(text, s.at + 3, s.size - 4);
    text[s.size - 4] = '\0';
    if (strspn(text, "0123456789abcdefABCDEF") != s.size - 4)
        return false;
    errno = 0;
    *out = strtoull(text, &end, 16);
    return errno == 0;
}

bool tp_span_text(struct tp_span s, char *out, size_t size)
{
    out[0] = '\0';
    if (!s.at || s.size < 2 || *s.at != '"')
        return false;
    cJSON *item = cJSON_ParseWithLength(s.at, s.size);
    bool done = cJSON_IsString(item);
    if (done)
        snprintf(out, size, "%s", item->valuestring);
    cJSON_Delete(item);
    return done;
}
