/* The man pages, from the same tables and texts as the help. */
#ifndef TP_MAN_H
#define TP_MAN_H

#include <stdio.h>

void tp_man_tapool(FILE *out); /* tapool.1 */
void tp_man_trace(FILE *out);  /* tapool-trace.5 */

/* ---- roff ---- */

/* The first lines of a page; dated SOURCE_DATE_EPOCH where that is set, else today. */
void tp_man_begin(FILE *out, const char *title, const char *section, const char *summary);

void tp_man_section(FILE *out, const char *title);    /* .SH */
void tp_man_subsection(FILE *out, const char *title); /* .SS */
void tp_man_paragraph(FILE *out);                     /* .PP */

/* Text in lines of some 80 columns; '\n' in it begins a line, two of them a paragraph. */
void tp_man_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An entry of a list: its head in bold, the rest of it in italics or NULL. Its text follows. */
void tp_man_entry(FILE *out, const char *bold, const char *italic);

/* A text whose lines stand as they are. */
void tp_man_lines(FILE *out, const char *text);
void tp_man_topic(FILE *out, const char *name); /* the page of `tapool help NAME` */

#endif
