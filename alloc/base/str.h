/* Text that is put together piece by piece, and is never cut without a sign.
 *
 *     struct tp_str s = {0};              grows; tp_str_drop when it is done
 *     struct tp_str s = TP_STR_IN(array)  fills an array of the caller's
 *
 * Where there is no room, or no memory, the text ends in "..." and nothing more is added to it.
 * Whoever has no use for such a text, say a command to be typed, asks tp_str_status once, at the
 * end. */
#ifndef TP_STR_H
#define TP_STR_H

#include "alloc/base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct tp_str {
    char *s; /* NULL while one that grows is empty: read it with tp_str_text */
    size_t length, room;
    bool fixed; /* `s` is the caller's and stays as long as it is */
    bool cut;
};

/* An empty text in an array of `size` bytes, 1 or more. */
struct tp_str tp_str_in(char *array, size_t size);
#define TP_STR_IN(array) tp_str_in(array, sizeof(array))

void tp_str_add(struct tp_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tp_str_vadd(struct tp_str *s, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* An item of a list: the separator first, unless it is the first. */
void tp_str_item(struct tp_str *s, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As if there had been no memory for a piece. */
void tp_str_fail(struct tp_str *s);

/* Until the next piece is added or the text is dropped; never NULL. */
const char *tp_str_text(const struct tp_str *s);

/* TP_ENOMEM where a part is missing. */
int tp_str_status(const struct tp_str *s, struct tp_err *err);

void tp_str_drop(struct tp_str *s);

/* One piece more for a text that stands in an array of `size` bytes. */
void tp_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
