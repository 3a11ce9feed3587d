/* Reads text traces line by line, and cuts numbers and words off the front of a line. */
#ifndef TP_LINES_H
#define TP_LINES_H

#include "traces/input/digits.h"
#include "traces/input/input.h"

#include <stdbool.h>
#include <string.h>

#define TP_LINE_MAX ((size_t)32 << 10) /* longest line, in bytes */

/* The rest of a text, while its front is cut off; borrowed, without a NUL at its end. */
struct tp_cut {
    const char *at, *end;
};

/* ---- lines of an input ---- */

/* Initialise with {.in = ...}. Nothing else may read the input at the same time. */
struct tp_lines {
    struct tp_input *in;
    bool skip_long;   /* a line longer than TP_LINE_MAX is cut to it instead of being an error */
    bool ended;       /* tp_lines_next found no more lines */
    bool unended;     /* the line is the last one and has no newline */
    uint64_t number;  /* number of the line, from 1 */
    uint64_t waiting; /* events that were read ahead but not lowered yet; counted in messages */
    /* private: the block from which lines are cut */
    const char *block;
    size_t at, size;
    bool whole;   /* the block is the last one of the input */
    bool in_long; /* the rest of a long line must be skipped */
};

/* Gives the next line, without its end (LF or CR LF) and without a byte order mark; valid until the
 * next call. Sets l->ended when no line is left. TP_EINPUT: the line is too long. */
int tp_lines_next(struct tp_lines *l, struct tp_cut *line, struct tp_err *err);

/* Condition of a loop over all lines: if *rc is TP_OK, reads the next line into *line and sets *rc.
 * True if there is a line. */
static inline bool tp_lines_more(struct tp_lines *l, struct tp_cut *line, int *rc,
                                 struct tp_err *err)
{
    if (*rc == TP_OK)
        *rc = tp_lines_next(l, line, err);
    return *rc == TP_OK && !l->ended;
}

/* Puts "FILE:LINE: event N: " before the message in `err`; without the event if `event` is 0.
 * Returns `rc`. */
int tp_lines_at_event(const struct tp_lines *l, uint64_t event, int rc, struct tp_err *err);

/* Fails with TP_EINPUT and such a message. */
#define tp_lines_fail(l, event, err, ...)                                                          \
    tp_lines_at_event(l, event, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)

/* Puts the place of the line before a message that has none. Returns `rc`. */
static inline int tp_lines_placed(const struct tp_lines *l, int rc, struct tp_err *err)
{
    return tp_input_at_line(l->in, l->number, rc, err);
}

/* ---- cutting ---- */

/* Takes the next line of a text in memory, in the form of tp_lines_next. False: no line is left. */
bool tp_cut_line(struct tp_cut *text, struct tp_cut *line);

/* The first bytes of a file, as a probe is shown them, without a byte order mark. */
struct tp_cut tp_cut_start(const unsigned char *data, size_t size);

/* Takes everything up to `separator`, or to the end. The separator is taken too, but not
 * returned. */
struct tp_cut tp_cut_field(struct tp_cut *c, char separator);

/* Each tp_cut_ function takes what it names if that comes next, else it returns false and takes
 * nothing. A number needs at least one digit and must fit into 64 bits. */
/* a hexadecimal number, with or without 0x */
bool tp_cut_hex(struct tp_cut *c, uint64_t *value);
/* a hexadecimal number, "(nil)" or "nullptr" */
bool tp_cut_pointer(struct tp_cut *c, uint64_t *value);

static inline bool tp_cut_text(struct tp_cut *c, const char *text)
{
    size_t length = strlen(text); /* for a literal the compiler folds this call */
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

/* Takes blanks. Whether nothing else is left. */
static inline bool tp_cut_done(struct tp_cut *c)
{
    tp_cut_blanks(c);
    return c->at == c->end;
}

/* Writes a text into `out` as messages quote it: cleaned, at most 40 bytes. Returns `out`. */
#define TP_CUT_SHOWN 44
const char *tp_cut_show(struct tp_cut c, char out[TP_CUT_SHOWN]);

#endif
