/* Reads members of an untrusted JSON document. A member is looked up, checked for type and range,
 * and named by its path if it is wrong ("a.json: runs[2].memory.overhead is not a number"). All
 * errors are TP_EINPUT, except TP_ENOMEM. */
#ifndef TP_JSON_MEMBER_H
#define TP_JSON_MEMBER_H

#include "alloc/base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_MEMBER_PATH = 192, TP_MEMBER_TEXT = 4096 };

struct tp_member;

/* A document that is being read. After the first error every further look-up finds nothing, so a
 * reader checks `status` only once, at its end. */
struct tp_document {
    const char *file; /* begins every message */
    struct tp_err *err;
    int status;
    void (*lack)(const struct tp_member *m); /* called for a missing member; may be NULL */
    void *ctx;                               /* for the use of `lack` */
};

/* A place in a document. It borrows the document and the tree. */
struct tp_member {
    struct tp_document *document;
    const cJSON *item; /* NULL: not there */
    size_t index;      /* of an element in its list */
    char path[TP_MEMBER_PATH];
};

/* Parses the whole text. Nesting deeper than 1,000, a NUL byte, and text after the document are
 * errors that name the byte. Messages of their own exist for a text that ends too early ("cut off")
 * and for NaN and Infinity. The caller deletes the tree. */
int tp_member_parse(const char *text, size_t length, const char *file, cJSON **tree,
                    struct tp_err *err);

/* The member `name` of an object. A name that occurs twice is an error; a missing member is one if
 * it is `required`. */
struct tp_member tp_member_get(const struct tp_member *in, const char *name, bool required);

/* A member that may be missing: `item` is NULL if it is absent or null, or if `in` itself is
 * missing. tp_member_seek also calls `lack` if the member is missing although `in` is there. */
struct tp_member tp_member_find(const struct tp_member *in, const char *name);
struct tp_member tp_member_seek(const struct tp_member *in, const char *name);

/* Follows a path such as "memory.peak_reserved_bytes". If a member of the path is missing (or null
 * before the last one), that member is returned with `item` NULL. `last` (may be NULL) receives
 * whether the returned member is the last one of the path. */
struct tp_member tp_member_follow(const struct tp_member *root, const char *path, bool required,
                                  bool *last);

/* Goes to the next member of an object or element of a list. Zero `one` before the first call.
 * false: there are no more. */
bool tp_member_next(const struct tp_member *all, struct tp_member *one);

/* The element `i` of a list; `item` is NULL if the list is shorter. */
struct tp_member tp_member_element(const struct tp_member *list, size_t i);

/* The number of members of an object, or of elements of a list; 0 if it is missing. Another type is
 * an error, and so are more than `most`, for which `beyond` is the message. */
size_t tp_member_object(const struct tp_member *m, size_t most, const char *beyond);
size_t tp_member_list(const struct tp_member *m, size_t most, const char *beyond);

/* Sets the error "FILE: PATH WHAT", with WHAT as in "is not an object". Keeps an earlier error. */
void tp_member_fail(const struct tp_member *m, const char *what);

/* Set the error TP_ENOMEM if `p` is NULL or `had` is false. The first returns `p`. */
void *tp_member_memory(const struct tp_member *m, void *p);
void tp_member_had_memory(const struct tp_member *m, bool had);

/* Read the value of a member. A value that is wrong sets the error and gives NULL or 0. Texts are
 * cleaned (alloc/base/clean.h), at most TP_MEMBER_TEXT bytes long, and owned by the caller. */
char *tp_member_text(const struct tp_member *m);
char *tp_member_sha256(const struct tp_member *m); /* a text of 64 hexadecimal digits */
uint64_t tp_member_count(const struct tp_member *m);

/* The numbers that tp_member_number accepts: from 0 to `most`. A number above 2^53 may also be
 * written as a text of digits. */
struct tp_member_range {
    double most;
    bool whole, null; /* without a fraction; null is accepted and means NAN */
};
#define TP_MEMBER_BEYOND 1e30 /* larger than any real time (ns) or size (bytes) */
extern const struct tp_member_range tp_member_real, tp_member_real_or_null;
double tp_member_number(const struct tp_member *m, const struct tp_member_range *range);

/* ---- members of one value each, as rows ---- */

enum tp_member_type {
    TP_ROW_TEXT,
    TP_ROW_WORD, /* a text that is one of `words` */
    TP_ROW_SHA256,
    TP_ROW_COUNT,
    TP_ROW_FLAG,
    TP_ROW_REAL,
    TP_ROW_REAL_OR_NULL /* null is a value: NAN */
};

/* What happens if a member is absent or null. */
enum tp_member_need {
    TP_ROW_REQUIRED, /* an error */
    TP_ROW_EXPECTED, /* `lack` is called, and "", TP_NONE, false or NAN is stored */
    TP_ROW_OPTIONAL  /* nothing is stored */
};

struct tp_member_row {
    const char *path;
    enum tp_member_type type;
    enum tp_member_need need;
    size_t offset;            /* in `out`: of a char *, uint64_t, bool or double */
    const char *const *words; /* NULL-terminated */
};

#define TP_MEMBER_ROW(of, member, path_, type_, need_)                                             \
    .path = (path_), .type = TP_ROW_##type_, .need = TP_ROW_##need_,                               \
    .offset = offsetof(struct of, member)

/* Reads the members of an object that `rows` describe into the struct `out`. */
void tp_member_rows(const struct tp_member *in, const struct tp_member_row *rows, size_t count,
                    void *out);

#endif
