/* Escaping of texts that others chose (names of traces, options, paths) for the language they are
 * written into. Each language is described here and nowhere else, except JSON, which cJSON writes.
 *
 * Most targets clean the text first: it becomes valid UTF-8 without control characters, without
 * marks that change the reading direction, and without anything that a CI service would take for a
 * command. */
#ifndef TP_ESCAPE_H
#define TP_ESCAPE_H

#include "alloc/base/opt.h"
#include "alloc/base/str.h"

#include <stdio.h>

enum tp_target {
    TP_TO_LINE, /* rest of a line that no program parses: only cleaned */
    TP_TO_XML,  /* content or attribute of XML 1.0, without characters that XML forbids */

    /* Running text in GitHub's Markdown. It shows as written, mentions nobody and links nothing. */
    TP_TO_MARKDOWN,
    TP_TO_CODE,      /* code span in Markdown, without any markup; an empty text becomes "-" */
    TP_TO_CODE_CELL, /* code span in a cell of a Markdown table */

    /* GitHub's workflow commands, "::error title=PROPERTY::MESSAGE". */
    TP_TO_PROPERTY,
    TP_TO_MESSAGE,

    /* Cell of RFC 4180, with quotes if it needs them. A text that a spreadsheet would take for a
     * formula gets an apostrophe, which marks it as text; a number stays a number. */
    TP_TO_CSV,

    TP_TO_SHELL, /* one word of a command line, with quotes if it needs them */

    /* The following targets do not clean the text. */
    TP_TO_BENCHMARK, /* part of a name in Go's benchmark format: unusual bytes become %XX */
    TP_TO_FILE,      /* part of a file name: needs no quotes in a shell, contains no '/' */
    TP_TO_ZSH,       /* part of a specification for zsh's _arguments, inside '...' */
    TP_TO_ROFF,      /* text inside a line; ASCII only, because every device has its glyphs */
    TP_TARGETS
};

void tp_escape(FILE *out, enum tp_target target, const char *text);

/* Like tp_escape, for the first `length` bytes of the text. */
void tp_escape_part(FILE *out, enum tp_target target, const char *text, size_t length);

void tp_str_escape(struct tp_str *s, enum tp_target target, const char *text);

/* Writes a format of tapool's own and escapes the arguments of its %s. It supports %s and%% only.
 */
void tp_put(FILE *out, enum tp_target target, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tp_str_put(struct tp_str *s, enum tp_target target, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- commands that people are told to type ---- */

void tp_str_word(struct tp_str *s, const char *word); /* adds " word" */

void tp_str_strategy(struct tp_str *s, const char *name); /* adds " -s name" */

/* Adds " --name value"; nothing if `value` is NULL. */
void tp_str_option(struct tp_str *s, const char *name, const char *value);

/* Adds an option as " --min-time 10ms", a list as one for each value, unless it has its default. */
void tp_str_row(struct tp_str *s, const struct tp_opt *row, const void *opts);

#endif
