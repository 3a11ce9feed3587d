/* Texts that others chose (names of traces, options, paths), written into a language of their own:
 * what each needs is said here and nowhere else. JSON is written by cJSON.
 *
 * Most are cleaned first: valid UTF-8, no control characters, no marks that turn the direction of
 * reading, nothing that a service which runs jobs takes for a command. */
#ifndef TP_ESCAPE_H
#define TP_ESCAPE_H

#include "alloc/base/opt.h"
#include "alloc/base/str.h"

#include <stdio.h>

enum tp_target {
    TP_TO_LINE, /* the rest of a line that no reader looks into: cleaned, no more */
    TP_TO_XML,  /* content or attribute of XML 1.0, without what that forbids */

    /* GitHub's Markdown as running text: it reads as it is here; nobody is mentioned by it and
     * nothing is linked. */
    TP_TO_MARKDOWN,
    TP_TO_CODE,      /* a span of code in it, in which nothing is markup; "-" of "" */
    TP_TO_CODE_CELL, /* the same in a table */

    /* GitHub's workflow commands, "::error title=PROPERTY::MESSAGE". */
    TP_TO_PROPERTY,
    TP_TO_MESSAGE,

    /* A cell by RFC 4180, with its quotes. One that a spreadsheet would take for a formula gets an
     * apostrophe, which makes it a text; a number stays one. */
    TP_TO_CSV,

    TP_TO_SHELL, /* one word of a command to be typed, in quotes where it needs them */

    /* The targets below are not cleaned. */
    TP_TO_BENCHMARK, /* a part of a name in Go's format: other bytes than letters are %XX */
    TP_TO_FILE,      /* a part of a file's name that needs no quotes and leaves no folder */
    TP_TO_ZSH,       /* a part of a specification of zsh's _arguments, inside '...' */
    TP_TO_ROFF,      /* text inside a line; ASCII has a glyph everywhere */
    TP_TARGETS
};

void tp_escape(FILE *out, enum tp_target target, const char *text);

/* The same of its first so many bytes. */
void tp_escape_part(FILE *out, enum tp_target target, const char *text, size_t length);

void tp_str_escape(struct tp_str *s, enum tp_target target, const char *text);

/* The format is tapool's own, what is put into its %s is escaped; it knows no other conversion. */
void tp_put(FILE *out, enum tp_target target, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tp_str_put(struct tp_str *s, enum tp_target target, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- commands that people are told to type ---- */

void tp_str_word(struct tp_str *s, const char *word); /* " word" */

void tp_str_strategy(struct tp_str *s, const char *name); /* " -s name" */

/* " --name value"; nothing of a NULL. */
void tp_str_option(struct tp_str *s, const char *name, const char *value);

/* Adds " --min-time 10ms" where that is not the default; the texts and numbers of one value. */
void tp_str_row(struct tp_str *s, const struct tp_opt *row, const void *opts);

#endif
