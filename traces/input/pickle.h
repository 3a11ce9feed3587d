/* A pickle, read as a stream of records: no tree of it is ever made, and nothing in it is run.
 *
 *     file --> opcodes --> containers that have a role --> begin, field, field, ..., end
 *                     \--> everything else is stepped over, and its memo entries are counted
 *
 * A schema says which containers have a role: "a dict in the list under the key 'segments' of the
 * outermost dict is a SEGMENT". Their members arrive one by one, the dicts in the lists in order.
 * Only opcodes that hold data are taken; one that could import or run code is refused by its name.
 *
 * Protocols 2 to 5. Known weakness: what stands within a container without a role is not checked
 * beyond its opcodes and the indices of its memo entries. */
#ifndef TP_PICKLE_H
#define TP_PICKLE_H

#include "traces/input/input.h"
#include "traces/input/pickle_memo.h"

enum tp_pickle_kind {
    TP_PICKLE_NONE,
    TP_PICKLE_BOOL, /* number is 0 or 1 */
    TP_PICKLE_INT,  /* number */
    TP_PICKLE_HUGE, /* a whole number of more than 64 bits */
    TP_PICKLE_FLOAT,
    TP_PICKLE_TEXT,  /* word */
    TP_PICKLE_OTHER, /* a tuple, bytes, a set */
    TP_PICKLE_LIST,
    TP_PICKLE_DICT,
    TP_PICKLE_KINDS
};
extern const char *const tp_pickle_kind_names[TP_PICKLE_KINDS]; /* "a text" */

struct tp_pickle_value {
    enum tp_pickle_kind kind;
    uint8_t role;    /* of a container, 0: none */
    bool shared;     /* it refers back to a memo entry */
    bool empty;      /* of a shared list: nothing was put into it yet */
    uint16_t word;   /* of a text; TP_MEMO_TEXT: one that is not kept */
    int64_t number;  /* of an INT, a BOOL */
    uint64_t offset; /* of its opcode in the file */
};

/* In a container of `parent` (0: the file itself), under the key `word` (0: an item of a list), a
 * container of this kind has this role, from 1 to TP_PICKLE_ROLES - 1. */
struct tp_pickle_row {
    uint8_t parent;
    uint16_t word;
    enum tp_pickle_kind kind;
    uint8_t role;
};
enum { TP_PICKLE_ROLES = 32 };

/* All members are set. A status other than TP_OK ends the reading. */
struct tp_pickle_schema {
    const char *const *words;         /* NULL-terminated; words[i] is TP_MEMO_WORDS + i */
    const struct tp_pickle_row *rows; /* ends with role 0 */
    const char *const *names;         /* of roles, for messages: "an event" */
    const char *hint;                 /* of a file that would run code */
    uint64_t wanted; /* bit per role: texts in it are kept even when many were kept before */
    int (*begin)(void *ctx, unsigned role, uint64_t offset, struct tp_err *err);
    int (*field)(void *ctx, unsigned role, uint16_t word, const struct tp_pickle_value *value,
                 struct tp_err *err);
    int (*end)(void *ctx, unsigned role, struct tp_err *err);
};

struct tp_pickle;

/* The opcode that begins what a pickle of protocol 2 to 5 holds, behind PROTO and a FRAME; -1: it
 * is none. */
int tp_pickle_outermost(const unsigned char *data, size_t size);

/* The memo takes at most `limit` bytes. */
int tp_pickle_new(struct tp_input *in, const struct tp_pickle_schema *schema, void *ctx,
                  uint64_t limit, struct tp_pickle **out, struct tp_err *err);
void tp_pickle_free(struct tp_pickle *p); /* NULL is fine */

/* The memo counts there from now on; before anything is read. */
void tp_pickle_count(struct tp_pickle *p, struct tp_budget *budget);

/* To the end of the pickle; bytes behind it are left alone. TP_EINPUT: "x: byte 41: GLOBAL a.b
 * would run code; refused". */
int tp_pickle_read(struct tp_pickle *p, struct tp_err *err);

unsigned tp_pickle_protocol(const struct tp_pickle *p);

/* The text of a word, NULL where it was not kept. Valid until the next field. */
const char *tp_pickle_text(const struct tp_pickle *p, uint16_t word);

/* Hands the memo over, for finding places again. */
void tp_pickle_take_memo(struct tp_pickle *p, struct tp_memo *out);

#endif
