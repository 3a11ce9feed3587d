/* Building JSON with cJSON: every function checks, so that a tree is whole or an error.
 *
 * Integers above 2^53 become strings: cJSON and JavaScript keep doubles. NAN becomes null. */
#ifndef TP_JSON_OUT_H
#define TP_JSON_OUT_H

#include "alloc/base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Collects failures, so that a caller checks once. */
struct tp_json {
    bool failed;
};

cJSON *tp_json_object(struct tp_json *j, cJSON *in, const char *name); /* `in` NULL: a root */
cJSON *tp_json_array(struct tp_json *j, cJSON *in, const char *name);
void tp_json_text(struct tp_json *j, cJSON *in, const char *name, const char *value);
void tp_json_uint(struct tp_json *j, cJSON *in, const char *name,
                  uint64_t value);    /* TP_NONE: null */
double tp_json_rounded(double value); /* as tp_json_real writes it: six decimals */
void tp_json_real(struct tp_json *j, cJSON *in, const char *name, double value);
void tp_json_bool(struct tp_json *j, cJSON *in, const char *name, bool value);
void tp_json_push(struct tp_json *j, cJSON *array, cJSON *item); /* takes the item over */
cJSON *tp_json_item(struct tp_json *j, cJSON *array);            /* an object, at its end */
cJSON *tp_json_number(struct tp_json *j, uint64_t value);

/* Writes the tree as a document and deletes it, in every case. TP_ENOMEM when anything failed. */
int tp_json_print(struct tp_json *j, cJSON *root, FILE *out, struct tp_err *err);

/* The member `tool`: which tapool wrote the document. */
void tp_json_tool(struct tp_json *j, cJSON *in);

#endif
