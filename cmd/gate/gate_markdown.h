/* A gate's findings as GitHub's Markdown; see gate_markdown.c. */
#ifndef TP_GATE_MARKDOWN_H
#define TP_GATE_MARKDOWN_H

#include "cmd/gate/gate.h"

enum {
    TP_MARKDOWN_LEAST = 8 << 10, /* bytes: what the verdict and its frame may take */
    TP_MARKDOWN_COMMENT = 60000  /* bytes: a comment on GitHub may have 65,536 characters */
};

/* At most `limit` bytes, which is at least TP_MARKDOWN_LEAST: rows that do not fit are counted. */
int tp_gate_markdown(const struct tp_gate *g, FILE *out, size_t limit, struct tp_err *err);

#endif
