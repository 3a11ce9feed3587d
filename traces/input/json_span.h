/* JSON in place: pieces of a text that is in memory, without a tree and without copies. For formats
 * that look at few members of many objects, and whose numbers must not go through a double. */
#ifndef TP_JSON_SPAN_H
#define TP_JSON_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value as it stands in the text, a string with its quotes. at is NULL: not there. */
struct tp_span {
    const char *at;
    size_t size;
};

#define TP_SPAN_DEPTH_MAX 64

/* Length of the value that begins at text[0], which is no white space. 0: it does not end within
 * `size` bytes. *wrong: brackets do not match, or are nested deeper than TP_SPAN_DEPTH_MAX. Inside
 * brackets nothing else is checked. */
size_t tp_span_value(const char *text, size_t size, bool *wrong);

/* Walks over the members of an object that is whole. */
struct tp_span_walk {
    const char *at, *end;
    bool begun, wrong; /* wrong: not an object, or its members are not `"key": value` */
};
struct tp_span_walk tp_span_members(struct tp_span object);
bool tp_span_next(struct tp_span_walk *w, struct tp_span *key, struct tp_span *value);

/* A string without escapes that is `text`. */
bool tp_span_is(struct tp_span s, const char *text);

/* What a program wants of an object: out[i] becomes the member names[i], the last one where it is
 * there twice. Absent ones are left alone. False: it is not an object. */
bool tp_span_pick(struct tp_span object, const char *const *names, struct tp_span *out,
                  size_t count);

/* Whole numbers, bare or quoted. False: something else, or more than 64 bits. */
bool tp_span_uint(struct tp_span s, uint64_t *out);
bool tp_span_int(struct tp_span s, int64_t *out);

/* A number times 1,000, exactly, digits after the third dropped: microseconds into nanoseconds. One
 * with an exponent goes through a double. */
bool tp_span_thousandths(struct tp_span s, int64_t *out);

/* An address in a string: 0x..., or 0, (nil) and nullptr for 0. */
bool tp_span_pointer(struct tp_span s, uint64_t *out);

/* A string with its escapes resolved, as far as it fits into `size` bytes. Not cleaned. False: no
 * string. */
bool tp_span_text(struct tp_span s, char *out, size_t size);

#endif
