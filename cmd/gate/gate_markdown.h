/* A gate's findings as GitHub's Markdown; see gate_markdown.c. */
#ifndef TP_GATE_MARKDOWN_H
#define TP_GATE_MARKDOWN_H

#include "cmd/gate/gate.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/table.h"

enum {
    TP_MARKDOWN_LEAST = 8 << 10, /* bytes: room for the verdict and its frame */
    TP_MARKDOWN_COMMENT = 60000  /* bytes: a comment on GitHub may have 65,536 characters */
};

/* Writes at most `limit` bytes, and one row with the number of rows that did not fit. `limit` must
 * be at least TP_MARKDOWN_LEAST. */
int tp_gate_markdown(const struct tp_gate *g, FILE *out, size_t limit, struct tp_err *err);

/* The columns of a table of what was checked, and its rows; `marked`: as Markdown. */
void tp_gate_classes(const struct tp_gate *g, bool marked, struct tp_table *t);

/* The columns of a table of findings, and its rows. `place` has of each finding its number in the
 * table; SIZE_MAX: it is left out. NULL: all are there. */
void tp_gate_values(const struct tp_gate *g, const size_t *place, struct tp_table *t);

/* The JSON of a gate before it is written, for documents that add to it, with at most so many cells
 * and causes, and with the findings that have a place in it (as above). The caller deletes the
 * tree, or has it printed. */
cJSON *tp_gate_tree(struct tp_json *j, const struct tp_gate *g, const size_t *place, size_t most);

#endif
