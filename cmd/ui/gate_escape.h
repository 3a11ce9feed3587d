/* Texts that others chose (names of traces, options, paths), written into a language of their own.
 * All of these clean them first: valid UTF-8, no control characters, no marks that turn the
 * direction of reading; what is over TP_ESCAPE_BYTES is cut. */
#ifndef TP_GATE_ESCAPE_H
#define TP_GATE_ESCAPE_H

#include <stdbool.h>
#include <stdio.h>

enum { TP_ESCAPE_BYTES = 4096 };

/* Content or attribute of XML 1.0, without what that forbids. */
void tp_escape_xml(FILE *out, const char *text);

/* GitHub's Markdown: a code span, in which nothing is markup, nobody is mentioned and no link is
 * made; "-" of "". In a table a bar is escaped. */
void tp_escape_code(FILE *out, const char *text, bool table);

/* The same as running text: tapool's own sentences, which may hold a name. */
void tp_escape_markdown(FILE *out, const char *text);

/* GitHub's workflow commands, "::error title=PROPERTY::MESSAGE". */
void tp_escape_command(FILE *out, const char *text, bool property);

/* A cell of CSV by RFC 4180, with its quotes. One that a spreadsheet would take for a formula gets
 * an apostrophe, which makes it a text; a number stays one. */
void tp_escape_csv(FILE *out, const char *text);

#endif
