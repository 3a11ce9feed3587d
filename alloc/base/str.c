/* See str.h. A piece is written straight into the free room; only if it does not fit, the text
 * grows and the piece is written again. */
#include "alloc/base/str.h"

#include "alloc/base/grow.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tp_str tp_str_in(char *array, size_t size)
{
    array[0] = '\0';
    return (struct tp_str){.s = array, .room = size, .fixed = true};
}

static bool make_room(struct tp_str *s, size_t bytes)
{
    return !s->fixed && !TP_GROW(&s->s, &s->room, s->length + bytes, NULL, .what = "a text");
}

/* Ends the text with dots, without half a character before them. In a full array the dots take the
 * last bytes, so that nothing fits after them. */
void tp_str_fail(struct tp_str *s)
{
    s->cut = true;
    if (s->room < 4)
        return;
    size_t end = strlen(s->s), at = end < s->room - 4 ? end : s->room - 4;
    while (at && ((unsigned char)s->s[at] & 0xc0) == 0x80)
        at--;
    end = end < at + 3 ? at + 3 : end;
    memset(s->s + at, '.', end - at);
    s->s[end] = '\0';
    s->length = end;
}

void tp_str_vadd(struct tp_str *s, const char *format, va_list args)
{
    va_list again;
    size_t left = s->room - s->length;
    if (s->cut)
        return;
    va_copy(again, args);
    int n = vsnprintf(left ? s->s + s->length : NULL, left, format, args);
    bool fits = n >= 0 && (size_t)n < left;
    if (n >= 0 && !fits && make_room(s, (size_t)n + 1)) {
        vsnprintf(s->s + s->length, s->room - s->length, format, again);
        fits = true;
    }
    va_end(again);
    if (fits)
        s->length += (size_t)n;
    else
        tp_str_fail(s);
}

void tp_str_add(struct tp_str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tp_str_vadd(s, format, args);
    va_end(args);
}

void tp_str_item(struct tp_str *s, const char *separator, const char *format, ...)
{
    va_list args;
    if (s->length)
        tp_str_add(s, "%s", separator);
    va_start(args, format);
    tp_str_vadd(s, format, args);
    va_end(args);
}

const char *tp_str_text(const struct tp_str *s)
{
    if (s->s)
        return s->s;
    return s->cut ? "..." : "";
}

int tp_str_status(const struct tp_str *s, struct tp_err *err)
{
    return s->cut ? tp_fail(err, TP_ENOMEM, "out of memory for a text") : TP_OK;
}

void tp_str_drop(struct tp_str *s)
{
    if (!s->fixed)
        free(s->s);
    *s = (struct tp_str){0};
}

bool tp_copy_plain(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 1 < room; text++)
        if (!isspace((unsigned char)*text))
            to[n++] = *text;
    to[n] = '\0';
    return !*text;
}

void tp_append(char *text, size_t size, const char *format, ...)
{
    struct tp_str s = {.s = text, .length = strlen(text), .room = size, .fixed = true};
    va_list args;
    va_start(args, format);
    tp_str_vadd(&s, format, args);
    va_end(args);
}
