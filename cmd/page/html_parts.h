/* Parts of articles that several pages have. */
#ifndef TP_HTML_PARTS_H
#define TP_HTML_PARTS_H

#include "cmd/ui/table.h"

/* Writes and drops a table that stands between paragraphs. TP_ENOMEM: a part is missing. */
int tp_html_table(struct tp_table *t, FILE *out, struct tp_err *err);

/* ---- tables of two columns: what, and its value ---- */

void tp_html_facts(struct tp_table *t, const char *what, const char *value); /* the heads */
void tp_html_fact(struct tp_table *t, const char *name, const char *value);  /* "": not known */

/* Adds what this machine is. */
void tp_html_machine(struct tp_table *t);

#endif
