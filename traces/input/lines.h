/* Text traces: a line at a time, and cutting numbers and words off its front. */
#ifndef TP_LINES_H
#define TP_LINES_H

#include "traces/input/digits.h"
#include "traces/input/input.h"

#include <stdbool.h>
#include <string.h>

#define TP_LINE_MAX ((size_t)32 << 10) /* bytes of a line */

/* What is left of a text: borrowed, without a NUL behind it. */
struct tp_cut {
    const char *at, *end;
};

/* ---- lines of an input ---- */

/* Begin with {.in = ...}. Nothing else may read the input meanwhile. */
struct tp_lines {
    struct tp_input *in;
    bool skip_long;   /* a line above TP_LINE_MAX is given cut to that, instead of an error */
    bool ended;       /* tp_lines_next found no more */
    bool unended;     /* the line is the last one, and no newline is behind it */
    uint64_t number;  /* of the line, from 1 */
    uint64_t waiting; /* events that the reader has read ahead, and not lowered: for numbers */
    /* private: the block that lines are cut from */
    const char *block;
    size_t at, size;
    bool whole;   /* nothing of the input is behind the block */
    bool in_long; /* the rest of a line is to be skipped */
};

/* The next line, without its end (\n or \r\n) and without a byte order mark; valid until the next
 * call. Sets ended where there is none. TP_EINPUT: the line is too long. */
int tp_lines_next(struct tp_lines *l, struct tp_cut *line, struct tp_err *err);

/* For loops over all lines: true while *rc is TP_OK, which reading a line may change, and there is
 * a line. */
static inline bool tp_lines_more(struct tp_lines *l, struct tp_cut *line, int *rc,
                                 struct tp_err *err)
{
    if (*rc == TP_OK)
        *rc = tp_lines_next(l, line, err);
    return *rc == TP_OK && !l->ended;
}

/* "FILE:LINE: event N: " before the sentence that is there; `event` 0: none. */
int tp_lines_at_event(const struct tp_lines *l, uint64_t event, int rc, struct tp_err *err);

/* TP_EINPUT with that. */
#define tp_lines_fail(l, event, err, ...)                                                          \
    tp_lines_at_event(l, event, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)

/* The place of the line, before a sentence that has none. */
static inline int tp_lines_placed(const struct tp_lines *l, int rc, struct tp_err *err)
{
    return tp_input_at_line(l->in, l->number, rc, err);
}

/* ---- cutting ---- */

/* The next line of a text in memory, like tp_lines_next; false: there is none. */
bool tp_cut_line(struct tp_cut *text, struct tp_cut *line);

/* The start of a file that a probe is shown: without a byte order mark. */
struct tp_cut tp_cut_start(const unsigned char *data, size_t size);

/* Up to `separator`, which goes as well, or to the end. */
struct tp_cut tp_cut_field(struct tp_cut *c, char separator);

/* Each takes what it names if that is next, else nothing. Numbers need a digit and must fit. */
bool tp_cut_hex(struct tp_cut *c, uint64_t *value);     /* with or without 0x */
bool tp_cut_pointer(struct tp_cut *c, uint64_t *value); /* hex, "(nil)" or "nullptr" */

static inline bool tp_cut_text(struct tp_cut *c, const char *text)
{
    size_t length = strlen(text); /* of a literal, and no call is left of this */
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0)
        return false;
    c->at += length;
    return true;
}

static inline bool tp_cut_byte(struct tp_cut *c, char byte)
{
    if (c->at == c->end || *c->at != byte)
        return false;
    c->at++;
    return true;
}

static inline void tp_cut_blanks(struct tp_cut *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

static inline bool tp_cut_decimal(struct tp_cut *c, uint64_t *value)
{
    uint64_t v;
    const char *at = tp_decimal(c->at, c->end, &v);
    if (!at)
        return false;
    c->at = at;
    *value = v;
    return true;
}

/* Nothing but blanks is left. */
static inline bool tp_cut_done(struct tp_cut *c)
{
    tp_cut_blanks(c);
    return c->at == c->end;
}

/* A text as messages quote it: clean, at most 40 bytes. */
#define TP_CUT_SHOWN 44
const char *tp_cut_show(struct tp_cut c, char out[TP_CUT_SHOWN]);

#endif
