/* Members of a JSON document that came from elsewhere: each looked up once, checked for its type
 * and range, and named by its path where it is wrong ("a.json: runs[2].memory.overhead is no
 * number"). All errors are TP_EINPUT. */
#ifndef TP_JSON_MEMBER_H
#define TP_JSON_MEMBER_H

#include "alloc/base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum { TP_MEMBER_PATH = 192, TP_MEMBER_TEXT = 4096 };

/* A place in a document; borrows all of it. */
struct tp_member {
    const char *file;  /* begins every message */
    const cJSON *item; /* NULL: not there */
    char path[TP_MEMBER_PATH];
};

/* Parses the whole text; deep nesting (1,000), a NUL, and anything after the document are errors,
 * which name the byte; a text that merely ends too early is said to be cut off, and NaN and
 * Infinity are named. The caller deletes the tree. */
int tp_member_parse(const char *text, size_t length, const char *file, cJSON **tree,
                    struct tp_err *err);

/* The member `name` of an object. Twice the same name is an error; none at all where it is
 * `required`. */
int tp_member_get(const struct tp_member *in, const char *name, bool required,
                  struct tp_member *out, struct tp_err *err);

/* The same of what may lack: `out->item` is NULL where the member is absent or null, or where `in`
 * is not there itself. */
int tp_member_find(const struct tp_member *in, const char *name, struct tp_member *out,
                   struct tp_err *err);

/* The member `item` of an object, for loops that go along them themselves. */
void tp_member_child(const struct tp_member *object, const cJSON *item, struct tp_member *out);

/* The i-th element, for loops that go along the list themselves: `element` is it. */
void tp_member_element(const struct tp_member *array, const cJSON *element, size_t i,
                       struct tp_member *out);

/* "FILE: PATH WHAT", as in "is no object". */
int tp_member_fail(const struct tp_member *m, const char *what, struct tp_err *err);

int tp_member_is_object(const struct tp_member *m, struct tp_err *err);
int tp_member_is_array(const struct tp_member *m, struct tp_err *err);

/* What is there, read. Texts come cleaned (alloc/base/clean.h), at most
 * TP_MEMBER_TEXT bytes, and are the caller's. */
int tp_member_as_text(const struct tp_member *m, char **out, struct tp_err *err);
int tp_member_as_flag(const struct tp_member *m, bool *out, struct tp_err *err);
int tp_member_as_count(const struct tp_member *m, uint64_t *out, struct tp_err *err);

/* The required member `name` of `in`, read. */
int tp_member_text(const struct tp_member *in, const char *name, char **out, struct tp_err *err);
int tp_member_sha256(const struct tp_member *in, const char *name, char **out,
                     struct tp_err *err); /* a text of 64 hexadecimal digits */
int tp_member_count(const struct tp_member *in, const char *name, uint64_t *out,
                    struct tp_err *err);

/* A number from 0 to `most`, or a text of digits (above 2^53); `whole`: without a fraction. null is
 * NAN where `null` says so. */
struct tp_member_range {
    double most;
    bool whole, null;
};
int tp_member_value(const struct tp_member *m, const struct tp_member_range *range, double *out,
                    struct tp_err *err);
int tp_member_number(const struct tp_member *in, const char *name,
                     const struct tp_member_range *range, double *out, struct tp_err *err);

#endif
