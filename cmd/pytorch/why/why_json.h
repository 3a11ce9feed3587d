/* What `tapool why --json` writes: tapool.why/1 (why.schema.json). */
#ifndef TP_WHY_JSON_H
#define TP_WHY_JSON_H

#include "cmd/pytorch/why/why_answer.h"

#include "cmd/ui/json_out.h"

#include <stdio.h>

/* The document as a tree, which the caller owns. */
cJSON *tp_why_tree(struct tp_json *j, const struct tp_why *list, size_t count, const char *file);

int tp_why_json(const struct tp_why *list, size_t count, const char *file, FILE *out,
                struct tp_err *err);

#endif
