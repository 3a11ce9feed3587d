/* What `tapool why --json` writes: tapool.why/1 (why.schema.json). */
#ifndef TP_WHY_JSON_H
#define TP_WHY_JSON_H

#include "cmd/why/why_answer.h"

#include <stdio.h>

int tp_why_json(const struct tp_why *list, size_t count, const char *file, FILE *out,
                struct tp_err *err);

#endif
