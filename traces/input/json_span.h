/* A pull parser for JSON in memory: no tree, no copies. All readers of JSON use it; json_scan.h
 * cuts the values out of the blocks of an input. */
#ifndef TP_JSON_SPAN_H
#define TP_JSON_SPAN_H

#include "traces/input/digits.h"
#include "traces/input/json_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_JSON_DEPTH_MAX 64 /* levels of brackets in one value */

/* A value as it is written in the text; a string has its quotes. `at` is NULL if the value is
 * absent. */
struct tp_span {
    const char *at;
    size_t size;
};

/* ---- where a value ends ---- */

enum tp_span_stop {
    TP_SPAN_MORE, /* the value does not end in these bytes */
    TP_SPAN_DONE,
    TP_SPAN_TOO_DEEP,
    TP_SPAN_MISMATCH, /* a bracket that closes another kind */
    TP_SPAN_CONTROL,  /* a raw control character */
    TP_SPAN_LINE_ENDS
};

/* State of a search between two pieces of a text. Begin with a zeroed one. */
struct tp_span_search {
    uint64_t objects; /* a bit for each open level: 1 = object, 0 = list */
    unsigned depth;
    bool begun, scalar, in_string, escaped;
    bool one_line;  /* the value must end on the line on which it begins */
    bool any_bytes; /* raw control characters are accepted */
};

/* Continues a search over the next `size` bytes. *used bytes belong to the value, or lie before the
 * error. A number or a word ends before the first byte that cannot be part of it, so it may be
 * empty. */
enum tp_span_stop tp_span_search(struct tp_span_search *s, const char *text, size_t size,
                                 size_t *used);

/* Length of the value that begins at text[0], which must not be white space. 0: the value does not
 * end within `size` bytes. *wrong is set if brackets do not match or are nested deeper than
 * TP_JSON_DEPTH_MAX. Inside brackets nothing else is checked. */
size_t tp_span_value(const char *text, size_t size, bool *wrong);

/* ---- walking ---- */

/* Walks over the members of an object, or the elements of a list. */
struct tp_span_walk {
    /* an error at `at`, or the text ends. Kept apart from `closed`, because one load of both would
     * have to wait for the store to either. */
    bool wrong;
    const char *at, *end;
    char close;    /* the closing bracket */
    bool strict;   /* values are checked to the last byte; else only their end is found */
    bool one_line; /* with `strict`: white space must not contain a newline */
    bool begun, closed;
};
static inline struct tp_span_walk tp_span_walk(struct tp_span s, char open, char close)
{
    struct tp_span_walk walk = {.wrong = true, .close = close};
    if (!s.size)
        return walk; /* nothing has an address */
    walk.wrong = *s.at != open;
    walk.at = walk.wrong ? s.at : s.at + 1;
    walk.end = s.at + s.size;
    return walk;
}
static inline struct tp_span_walk tp_span_members(struct tp_span object)
{
    return tp_span_walk(object, '{', '}');
}
static inline struct tp_span_walk tp_span_elements(struct tp_span list)
{
    return tp_span_walk(list, '[', ']');
}

static inline void tp_span_pass_space(struct tp_span_walk *w)
{
    const char *at = w->at;
    if (at < w->end && *at == ' ') /* nearly always there is one space at most */
        at++;
    while (at < w->end && *at <= ' ' && tp_json_space(*at) && !(w->one_line && *at == '\n'))
        at++;
    w->at = at;
}

/* Takes `c` if it is the next byte that is not white space. */
static inline bool tp_span_pass(struct tp_span_walk *w, char c)
{
    if (w->at == w->end || *w->at != c)
        tp_span_pass_space(w);
    bool there = w->at < w->end && *w->at == c;
    w->at += there;
    return there;
}

/* Goes to the next member or element. False: the end, or an error (w->wrong). */
static inline bool tp_span_more(struct tp_span_walk *w)
{
    if (w->wrong || w->closed)
        return false;
    if (w->at == w->end || *w->at != ',')
        tp_span_pass_space(w);
    char c = w->at < w->end ? *w->at : '\0';
    w->closed = c == w->close;
    w->wrong = w->begun && !w->closed && c != ',';
    w->at += w->closed || (w->begun && !w->wrong);
    w->begun = true;
    return !w->closed && !w->wrong;
}

/* A string in its usual spelling: with quotes and without escapes. */
struct tp_span_word {
    const char *name;
    char quoted[16];
    unsigned size; /* length of `quoted` */
};
#define TP_SPAN_WORD(name)                                                                         \
    {                                                                                              \
        name, "\"" name "\"", sizeof(name) + 1                                                     \
    }

/* Whether the first `size` (1 to 16) of 16 readable bytes are equal. */
static inline bool tp_span_same(const char *a, const char *b, unsigned size)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    uint64_t differs = le64toh(x ^ y);
    return size <= 8 ? differs << (64 - 8 * size) == 0
                     : differs == 0 && memcmp(a + 8, b + 8, size - 8) == 0;
}

/* Takes a key or a string value if it has the usual spelling of `word`; else takes nothing. */
static inline bool tp_span_pass_word(struct tp_span_walk *w, const struct tp_span_word *word)
{
    tp_span_pass_space(w);
    size_t left = (size_t)(w->end - w->at);
    bool there = left >= sizeof word->quoted
                     ? tp_span_same(w->at, word->quoted, word->size)
                     : left >= word->size && memcmp(w->at, word->quoted, word->size) == 0;
    w->at += there ? word->size : 0;
    return there;
}

/* Takes a value that is a whole number of up to 15 digits without a sign; else takes nothing. */
static inline bool tp_span_pass_digits(struct tp_span_walk *w, uint64_t *out)
{
    enum { DIGITS_MAX = 15 }; /* 10^15 < 2^53 */
    tp_span_pass_space(w);
    uint64_t value;
    const char *at = tp_cut_digits(w->at, w->end, &value);
    if (at == w->at || at == w->end || at - w->at > DIGITS_MAX ||
        (*w->at == '0' && at > w->at + 1) || !(*at == ',' || *at == w->close || tp_json_space(*at)))
        return false;
    w->at = at;
    *out = value;
    return true;
}

/* Take what comes next: a key with its colon, or a value. False: an error (w->wrong). */
bool tp_span_take_key(struct tp_span_walk *w, struct tp_span *key);
bool tp_span_take(struct tp_span_walk *w, struct tp_span *value);

/* Go to the next member or element and take it. False: the end, or an error (w->wrong). */
bool tp_span_next(struct tp_span_walk *w, struct tp_span *key, struct tp_span *value);
bool tp_span_element(struct tp_span_walk *w, struct tp_span *value);

/* Looks up members of an object: out[i] becomes the value of the member names[i], the last one if
 * there are several. out[i] of an absent member is left alone. False: not an object. */
bool tp_span_pick(struct tp_span object, const char *const *names, struct tp_span *out,
                  size_t count);

/* The text without its leading white space. */
struct tp_span tp_span_trim(struct tp_span text);

/* Checks that the text is one JSON value, to the last byte. Returns NULL, or where the first error
 * is. */
const char *tp_span_check(struct tp_span text);

/* ---- scalars ---- */

/* Read a whole number, bare or quoted. False: something else, or more than 64 bits. */
bool tp_span_uint(struct tp_span s, uint64_t *out);
bool tp_span_int(struct tp_span s, int64_t *out);

/* Reads a number and multiplies it by 1,000, as from microseconds to nanoseconds. The result is
 * exact; decimals after the third are dropped. A number with an exponent goes through a double. */
bool tp_span_thousandths(struct tp_span s, int64_t *out);

/* Reads an address from a string: 0x..., or 0, (nil) and nullptr for 0. */
bool tp_span_pointer(struct tp_span s, uint64_t *out);

/* Reads a bare number as the nearest double. False: not a number. */
bool tp_span_double(struct tp_span s, double *out);

/* ---- texts ---- */

/* Iterates over the bytes of a string with its escapes resolved. */
struct tp_span_bytes {
    const char *at, *end;
    unsigned char held[4]; /* bytes of a character that was escaped */
    unsigned count, next;
};
struct tp_span_bytes tp_span_bytes(struct tp_span s); /* no bytes if `s` is no string */
int tp_span_byte(struct tp_span_bytes *b);            /* -1: the end, or an invalid escape */

bool tp_span_is_text(struct tp_span s);

/* Whether `s` is a string equal to `text`, after its escapes are resolved. */
bool tp_span_is(struct tp_span s, const char *text);

/* Compares two strings after their escapes are resolved, by bytes. Returns <0, 0 or >0. */
int tp_span_order(struct tp_span a, struct tp_span b);

/* Copies a string, cut to `size` bytes with its NUL, or at a NUL that it contains. Does not clean
 * it. False: no string, or an invalid escape. */
bool tp_span_text(struct tp_span s, char *out, size_t size);

/* Copies a whole string, which must have been checked, into new memory. NULL: out of memory. */
char *tp_span_copy(struct tp_span s);

#endif
