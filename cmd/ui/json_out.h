/* Builds JSON with cJSON. Every function notes failures, so that a tree is either complete or an
 * error.
 *
 * Integers above 2^53 become strings, because cJSON and JavaScript store numbers as doubles. NAN
 * becomes null. */
#ifndef TP_JSON_OUT_H
#define TP_JSON_OUT_H

#include "alloc/base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tp_opt;

/* Remembers a failure, so that the caller checks only once, at the end. */
struct tp_json {
    bool failed;
};

/* Adds an object to `in`. With NULL for `in` and `name` it creates a root. */
cJSON *tp_json_object(struct tp_json *j, cJSON *in, const char *name);
cJSON *tp_json_array(struct tp_json *j, cJSON *in, const char *name);
void tp_json_text(struct tp_json *j, cJSON *in, const char *name, const char *value);
/* Adds a number; TP_NONE becomes null. */
void tp_json_uint(struct tp_json *j, cJSON *in, const char *name, uint64_t value);
double tp_json_rounded(double value); /* rounded to six decimals, as tp_json_real writes it */
void tp_json_real(struct tp_json *j, cJSON *in, const char *name, double value);
void tp_json_bool(struct tp_json *j, cJSON *in, const char *name, bool value);
/* Adds a text of base 64, RFC 4648, and how many characters it has. */
void tp_json_base64(struct tp_json *j, cJSON *in, const char *name, const uint8_t *bytes,
                    size_t count);
static inline size_t tp_base64_length(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}
void tp_json_push(struct tp_json *j, cJSON *array, cJSON *item); /* takes ownership of the item */
cJSON *tp_json_item(struct tp_json *j, cJSON *array);            /* appends an object */
cJSON *tp_json_number(struct tp_json *j, uint64_t value);

/* Splits a text at separators into a JSON list, and leaves out words that begin with `but`; both
 * texts may be NULL. */
void tp_json_words(struct tp_json *j, cJSON *in, const char *words, const char *separators,
                   const char *but);
/* Appends an option with its type, default, range, choices and help. */
cJSON *tp_json_option(struct tp_json *j, cJSON *array, const struct tp_opt *row);

/* Writes the tree as a document and deletes it, also after errors. TP_ENOMEM: any call failed. */
int tp_json_print(struct tp_json *j, cJSON *root, FILE *out, struct tp_err *err);
/* Likewise without blanks and line ends, for scripts. */
int tp_json_print_line(struct tp_json *j, cJSON *root, FILE *out, struct tp_err *err);

/* Adds the member `tool`, which says what tapool wrote the document. */
void tp_json_tool(struct tp_json *j, cJSON *in);

#endif
