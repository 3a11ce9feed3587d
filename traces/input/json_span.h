/* JSON in memory, pulled piece by piece: no tree, no copies. All readers of JSON stand on this one;
 * json_scan.h brings it what lies in the blocks of an input. */
#ifndef TP_JSON_SPAN_H
#define TP_JSON_SPAN_H

#include "traces/input/digits.h"
#include "traces/input/json_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_JSON_DEPTH_MAX 64 /* levels of brackets in one value */

/* A value as it stands in the text, a string with its quotes. at is NULL: not there. */
struct tp_span {
    const char *at;
    size_t size;
};

/* ---- where a value ends ---- */

enum tp_span_stop {
    TP_SPAN_MORE, /* not in these bytes */
    TP_SPAN_DONE,
    TP_SPAN_TOO_DEEP,
    TP_SPAN_MISMATCH, /* of brackets */
    TP_SPAN_CONTROL,  /* a raw control character */
    TP_SPAN_LINE_ENDS
};

/* Where the search stands between two pieces of a text. Zeroed, it begins. */
struct tp_span_search {
    uint64_t objects; /* bit per open level: 1 = object */
    unsigned depth;
    bool begun, scalar, in_string, escaped;
    bool one_line;  /* the value must not go on behind its line */
    bool any_bytes; /* control characters are no error */
};

/* *used bytes belong to the value, or lie before what is wrong. A number or a word ends before the
 * byte that cannot be part of it: with no bytes where it has none. */
enum tp_span_stop tp_span_search(struct tp_span_search *s, const char *text, size_t size,
                                 size_t *used);

/* Length of the value that begins at text[0], which is no white space. 0: it does not end within
 * `size` bytes. *wrong: brackets do not match, or are nested deeper than TP_JSON_DEPTH_MAX. Inside
 * brackets nothing else is checked. */
size_t tp_span_value(const char *text, size_t size, bool *wrong);

/* ---- walking ---- */

/* Walks over the members of an object, or the elements of a list. */
struct tp_span_walk {
    bool wrong; /* what stands at `at` does not belong there, or the text ends; far from `closed`:
                   a read of both at once would wait for the write of either */
    const char *at, *end;
    char close;    /* the bracket at its end */
    bool strict;   /* values are checked to the last byte; else only where they end */
    bool one_line; /* white space may not hold a newline; where strict */
    bool begun, closed;
};
static inline struct tp_span_walk tp_span_walk(struct tp_span s, char open, char close)
{
    bool wrong = s.size == 0 || *s.at != open;
    return (struct tp_span_walk){
        .wrong = wrong, .at = s.at + !wrong, .end = s.at + s.size, .close = close};
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
    if (at < w->end && *at == ' ') /* one, nearly always */
        at++;
    while (at < w->end && *at <= ' ' && tp_json_space(*at) && !(w->one_line && *at == '\n'))
        at++;
    w->at = at;
}

/* Takes the byte if it is the next one that is no white space. */
static inline bool tp_span_pass(struct tp_span_walk *w, char c)
{
    if (w->at == w->end || *w->at != c)
        tp_span_pass_space(w);
    bool there = w->at < w->end && *w->at == c;
    w->at += there;
    return there;
}

/* Goes to the next member or element. False: the end, or wrong. */
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

/* A string as it is written nearly always: with its quotes and without escapes. */
struct tp_span_word {
    const char *name;
    char quoted[16];
    unsigned size; /* of those with the quotes */
};
#define TP_SPAN_WORD(name)                                                                         \
    {                                                                                              \
        name, "\"" name "\"", sizeof(name) + 1                                                     \
    }

/* Whether two texts of 16 bytes begin with the same `size`, from 1. */
static inline bool tp_span_same(const char *a, const char *b, unsigned size)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    uint64_t differs = le64toh(x ^ y);
    return size <= 8 ? differs << (64 - 8 * size) == 0
                     : differs == 0 && memcmp(a + 8, b + 8, size - 8) == 0;
}

/* Takes a string, a key or a value, if it is written so; else nothing. */
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

/* Takes a value that is a whole number of up to 15 digits without a sign; else nothing. */
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

/* What comes next: a key, with its colon; a value. */
bool tp_span_take_key(struct tp_span_walk *w, struct tp_span *key);
bool tp_span_take(struct tp_span_walk *w, struct tp_span *value);

/* A member with its value; an element. */
bool tp_span_next(struct tp_span_walk *w, struct tp_span *key, struct tp_span *value);
bool tp_span_element(struct tp_span_walk *w, struct tp_span *value);

/* What a program wants of an object: out[i] becomes the member names[i], the last one where it is
 * there twice. Absent ones are left alone. False: it is not an object. */
bool tp_span_pick(struct tp_span object, const char *const *names, struct tp_span *out,
                  size_t count);

/* Without the white space at its beginning. */
struct tp_span tp_span_trim(struct tp_span text);

/* NULL: the text is one value, and JSON to the last byte. Else where it is not. */
const char *tp_span_check(struct tp_span text);

/* ---- scalars ---- */

/* Whole numbers, bare or quoted. False: something else, or more than 64 bits. */
bool tp_span_uint(struct tp_span s, uint64_t *out);
bool tp_span_int(struct tp_span s, int64_t *out);

/* A number times 1,000, exactly, digits after the third dropped: microseconds into nanoseconds. One
 * with an exponent goes through a double. */
bool tp_span_thousandths(struct tp_span s, int64_t *out);

/* An address in a string: 0x..., or 0, (nil) and nullptr for 0. */
bool tp_span_pointer(struct tp_span s, uint64_t *out);

/* A bare number, as the nearest double. False: no number. */
bool tp_span_double(struct tp_span s, double *out);

/* ---- texts ---- */

/* The bytes of a string, escapes resolved, one after the other. */
struct tp_span_bytes {
    const char *at, *end;
    unsigned char held[4]; /* of a character that was escaped */
    unsigned count, next;
};
struct tp_span_bytes tp_span_bytes(struct tp_span s); /* of no string: none */
int tp_span_byte(struct tp_span_bytes *b);            /* -1: the end, or no escape */

bool tp_span_is_text(struct tp_span s);

/* A string that is `text`. */
bool tp_span_is(struct tp_span s, const char *text);

/* Order of two strings, as memcmp has it. */
int tp_span_order(struct tp_span a, struct tp_span b);

/* A string as far as it fits into `size` bytes with its NUL, and up to a NUL of its own. Not
 * cleaned. False: no string, or one with an escape that is none. */
bool tp_span_text(struct tp_span s, char *out, size_t size);

/* The same in new memory, whole; NULL: out of memory. It is a string that was checked. */
char *tp_span_copy(struct tp_span s);

#endif
