/* The ranks of a job on a screen and as a document, and the whole way from files to there. */
#ifndef TP_RANKS_SHOW_H
#define TP_RANKS_SHOW_H

#include "cmd/pytorch/why/ranks.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/text.h"

#include <stdio.h>

/* Formats that `tapool why` and `tapool info` have alike. */
enum { TP_RANKS_TEXT, TP_RANKS_JSON };

void tp_ranks_text(const struct tp_ranks *r, struct tp_page *page);

/* Writes tapool.ranks/1 (ranks.schema.json). */
int tp_ranks_json(const struct tp_ranks *r, FILE *out, struct tp_err *err);

struct tp_ranks_ask {
    struct tp_ranks_cfg cfg;
    const struct tp_exports *exports; /* of formats only the two above */
    const char *const *words;         /* of --format */
    bool exact;                       /* as of tp_bytes */
};

/* Reads the files and writes what was asked for. Where one cannot be used, the others are shown,
 * and the status is that of the first such file. */
int tp_ranks_run(const struct tp_ranks_ask *ask, FILE *out, struct tp_err *err);

#endif
