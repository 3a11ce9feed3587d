/* A gate's findings as GitHub's Markdown; see gate_markdown.c. */
#ifndef TP_GATE_MARKDOWN_H
#define TP_GATE_MARKDOWN_H

#include "cmd/gate/gate.h"

enum {
    TP_MARKDOWN_LEAST = 8 << 10, /* bytes: room for the verdict and its frame */
    TP_MARKDOWN_COMMENT = 60000  /* bytes: a comment on GitHub may have 65,536 characters */
};

/* Writes at most `limit` bytes, and one row with the number of rows that did not fit. `limit` must
 * be at least TP_MARKDOWN_LEAST. */
int tp_gate_markdown(const struct tp_gate *g, FILE *out, size_t limit, struct tp_err *err);

#endif
