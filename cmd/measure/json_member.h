/* Members of a JSON document that came from elsewhere: each looked up once, checked for its type
 * and range, and named by its path where it is wrong ("a.json: runs[2].memory.overhead is no
 * number"). All errors are TP_EINPUT, but for want of memory. */
#ifndef TP_JSON_MEMBER_H
#define TP_JSON_MEMBER_H

#include "alloc/base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_MEMBER_PATH = 192, TP_MEMBER_TEXT = 4096 };

struct tp_member;

/* A document that is being read. The first thing that is wrong with it ends that: whatever is asked
 * of it after that is not there, so a reader looks at `status` once, at its end. */
struct tp_document {
    const char *file; /* begins every message */
    struct tp_err *err;
    int status;
    void (*lack)(const struct tp_member *m); /* notes that it is not there; NULL: nobody does */
    void *ctx;                               /* of `lack` */
};

/* A place in a document; borrows all of it. */
struct tp_member {
    struct tp_document *document;
    const cJSON *item; /* NULL: not there */
    size_t index;      /* of an element */
    char path[TP_MEMBER_PATH];
};

/* Parses the whole text; deep nesting (1,000), a NUL, and anything after the document are errors,
 * which name the byte; a text that merely ends too early is said to be cut off, and NaN and
 * Infinity are named. The caller deletes the tree. */
int tp_member_parse(const char *text, size_t length, const char *file, cJSON **tree,
                    struct tp_err *err);

/* The member `name` of an object. Twice the same name is an error; none at all where it is
 * `required`. */
struct tp_member tp_member_get(const struct tp_member *in, const char *name, bool required);

/* The same of what may lack: not there where the member is absent or null, or where `in` is not
 * there itself. tp_member_seek notes that it lacks, but not in what is not there. */
struct tp_member tp_member_find(const struct tp_member *in, const char *name);
struct tp_member tp_member_seek(const struct tp_member *in, const char *name);

/* Follows "memory.peak_reserved_bytes", on whose way null is as good as nothing. Where one is not
 * there, it is that one that is returned; `last` (may be NULL): it is the last one. */
struct tp_member tp_member_follow(const struct tp_member *root, const char *path, bool required,
                                  bool *last);

/* The members of an object or the elements of a list, one after the other: `one` is zero before the
 * first. false: there are no more. */
bool tp_member_next(const struct tp_member *all, struct tp_member *one);

/* The element `i` of a list; nothing where it has fewer. */
struct tp_member tp_member_element(const struct tp_member *list, size_t i);

/* How many there are: it must be an object or a list where it is there at all, and `beyond` is what
 * is wrong with it where there are more than `most`. */
size_t tp_member_object(const struct tp_member *m, size_t most, const char *beyond);
size_t tp_member_list(const struct tp_member *m, size_t most, const char *beyond);

/* "FILE: PATH WHAT", as in "is no object", unless something was wrong before. */
void tp_member_fail(const struct tp_member *m, const char *what);

/* `p`; where that is NULL there is no memory. The second: where it is false. */
void *tp_member_memory(const struct tp_member *m, void *p);
void tp_member_had_memory(const struct tp_member *m, bool had);

/* What is there, read; NULL, 0 or false where it is wrong. Texts come cleaned
 * (alloc/base/clean.h), at most TP_MEMBER_TEXT bytes, and are the caller's. */
char *tp_member_text(const struct tp_member *m);
char *tp_member_sha256(const struct tp_member *m); /* a text of 64 hexadecimal digits */
uint64_t tp_member_count(const struct tp_member *m);

/* A number from 0 to `most`, or a text of digits (above 2^53); `whole`: without a fraction. null is
 * NAN where `null` says so. */
struct tp_member_range {
    double most;
    bool whole, null;
};
#define TP_MEMBER_BEYOND 1e30 /* no time and no size of this world */
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

/* What is said of a member that is not there, or null. */
enum tp_member_need {
    TP_ROW_REQUIRED, /* it is an error */
    TP_ROW_EXPECTED, /* it lacks, and is "", TP_NONE, false or NAN */
    TP_ROW_OPTIONAL  /* nothing, and nothing is written */
};

struct tp_member_row {
    const char *path;
    enum tp_member_type type;
    enum tp_member_need need;
    size_t offset;            /* in what is filled: char *, uint64_t, bool, double */
    const char *const *words; /* NULL after the last */
};

#define TP_MEMBER_ROW(of, member, path_, type_, need_)                                             \
    .path = (path_), .type = TP_ROW_##type_, .need = TP_ROW_##need_,                               \
    .offset = offsetof(struct of, member)

void tp_member_rows(const struct tp_member *in, const struct tp_member_row *rows, size_t count,
                    void *out);

#endif
