/* Text that is built piece by piece. A text that had to be cut shows it.
 *
 *     struct tp_str s = {0};              grows; tp_str_drop when it is done
 *     struct tp_str s = TP_STR_IN(array)  fills an array of the caller's
 *
 * Where room or memory runs out, the text ends in "..." and nothing more is added. A caller that
 * has no use for a cut text, such as a command to be typed, calls tp_str_status once at the end. */
#ifndef TP_STR_H
#define TP_STR_H

#include "alloc/base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct tp_str {
    char *s; /* NULL while a growing text is empty: read it with tp_str_text */
    size_t length, room;
    bool fixed; /* `s` is the caller's array and never grows */
    bool cut;
};

/* An empty text in an array of `size` bytes, 1 or more. */
struct tp_str tp_str_in(char *array, size_t size);
#define TP_STR_IN(array) tp_str_in(array, sizeof(array))

void tp_str_add(struct tp_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tp_str_vadd(struct tp_str *s, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Adds an item of a list, after the separator unless the text is empty. */
void tp_str_item(struct tp_str *s, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Cuts the text as if memory for a piece had run out. */
void tp_str_fail(struct tp_str *s);

/* The text, never NULL; valid until the next piece is added or the text is dropped. */
const char *tp_str_text(const struct tp_str *s);

/* TP_OK, or TP_ENOMEM where the text was cut. */
int tp_str_status(const struct tp_str *s, struct tp_err *err);

void tp_str_drop(struct tp_str *s);

/* Copies a text without its blanks to an array of `room` bytes, 1 or more. False: it does not fit.
 */
bool tp_copy_plain(const char *text, char *to, size_t room);

/* Adds a piece to a text in an array of `size` bytes. */
void tp_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
