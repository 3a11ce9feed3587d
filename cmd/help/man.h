/* The man pages, made from the same tables and texts as the help. */
#ifndef TP_MAN_H
#define TP_MAN_H

#include <stdio.h>

void tp_man_tapool(FILE *out); /* tapool.1 */
void tp_man_trace(FILE *out);  /* tapool-trace.5 */

/* ---- roff ---- */

/* Writes the first lines of a page. Its date is SOURCE_DATE_EPOCH if that is set, else today. */
void tp_man_begin(FILE *out, const char *title, const char *section, const char *summary);

void tp_man_section(FILE *out, const char *title);    /* .SH */
void tp_man_subsection(FILE *out, const char *title); /* .SS */
void tp_man_paragraph(FILE *out);                     /* .PP */

/* Writes text in lines of at most 76 columns. A '\n' in the text starts a new line, two of them
 * start a paragraph. */
void tp_man_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Starts an entry of a list with its head: `bold`, then `italic` unless that is NULL. The text of
 * the entry is written next. */
void tp_man_entry(FILE *out, const char *bold, const char *italic);

/* Writes text in a fixed-width font and keeps its lines. */
void tp_man_lines(FILE *out, const char *text);
void tp_man_topic(FILE *out, const char *name); /* writes the page of `tapool help NAME` */

#endif
