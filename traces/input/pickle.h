/* Reads a pickle as a stream of records. No tree is built, and nothing in the pickle is executed.
 *
 *     file --> opcodes --> containers that have a role --> begin, field, field, ..., end
 *                     \--> everything else is stepped over, and its memo entries are counted
 *
 * A schema says which containers have a role: "a dict in the list under the key 'segments' of the
 * outermost dict is a SEGMENT". Their members arrive one by one, in the order of the file. Only
 * opcodes that hold data are accepted; an opcode that could import or run code is refused, and the
 * message names it.
 *
 * Protocols 2 to 5. Known weakness: inside a container without a role, only the opcodes and the
 * indices of memo entries are checked. */
#ifndef TP_PICKLE_H
#define TP_PICKLE_H

#include "traces/input/input.h"
#include "traces/input/pickle_memo.h"

enum tp_pickle_kind {
    TP_PICKLE_NONE,
    TP_PICKLE_BOOL, /* `number` is 0 or 1 */
    TP_PICKLE_INT,  /* the value is in `number` */
    TP_PICKLE_HUGE, /* a whole number of more than 64 bits */
    TP_PICKLE_FLOAT,
    TP_PICKLE_TEXT,  /* the text is in `word` */
    TP_PICKLE_OTHER, /* tuple, bytes, set */
    TP_PICKLE_LIST,
    TP_PICKLE_DICT,
    TP_PICKLE_KINDS
};
/* with an article, for messages: "a text" */
extern const char *const tp_pickle_kind_names[TP_PICKLE_KINDS];

struct tp_pickle_value {
    enum tp_pickle_kind kind;
    uint8_t role;   /* role of a container; 0: none */
    bool shared;    /* the value was fetched from a memo entry */
    bool empty;     /* a list has no items yet */
    bool pair;      /* an OTHER that is a tuple of two INT: `number` and `second` */
    uint16_t word;  /* word of a TEXT; TP_MEMO_TEXT: the text is not kept */
    int64_t number; /* value of an INT or a BOOL */
    int64_t second;
    uint64_t offset; /* byte in the file of its opcode */
};

/* Gives a role, from 1 to TP_PICKLE_ROLES - 1, to a container of this kind that lies in a container
 * with the role `parent` (0: at the top of the file) under the key `word` (0: as an item of a
 * list). */
struct tp_pickle_row {
    uint8_t parent;
    uint16_t word;
    enum tp_pickle_kind kind;
    uint8_t role;
};
enum { TP_PICKLE_ROLES = 32 };

/* All members must be set. If begin, field or end returns a status other than TP_OK, reading ends
 * with it. */
struct tp_pickle_schema {
    const char *const *words;         /* NULL-terminated; words[i] is TP_MEMO_WORDS + i */
    const struct tp_pickle_row *rows; /* the last row has role 0 */
    const char *const *names;         /* names of roles in messages: "an event" */
    const char *hint;                 /* hint of the error for a file that would run code */
    uint64_t wanted; /* a bit for each role in which texts are kept even after many texts */
    int (*begin)(void *ctx, unsigned role, uint64_t offset, struct tp_err *err);
    int (*field)(void *ctx, unsigned role, uint16_t word, const struct tp_pickle_value *value,
                 struct tp_err *err);
    int (*end)(void *ctx, unsigned role, struct tp_err *err);
};

struct tp_pickle;

/* The opcode with which the content of a pickle of protocol 2 to 5 begins, behind PROTO and FRAME.
 * -1: not such a pickle. */
int tp_pickle_outermost(const unsigned char *data, size_t size);

/* Makes a reader of `in`. Its memo takes at most `limit` bytes. `schema` and `ctx` are borrowed. */
int tp_pickle_new(struct tp_input *in, const struct tp_pickle_schema *schema, void *ctx,
                  uint64_t limit, struct tp_pickle **out, struct tp_err *err);
void tp_pickle_free(struct tp_pickle *p); /* NULL is fine */

/* Makes the memo count its bytes in `budget`. Must be called before anything is read. */
void tp_pickle_count(struct tp_pickle *p, struct tp_budget *budget);

/* Reads to the end of the pickle; bytes behind it are left alone. TP_EINPUT: "x: byte 41: GLOBAL
 * a.b would run code; refused". */
int tp_pickle_read(struct tp_pickle *p, struct tp_err *err);

unsigned tp_pickle_protocol(const struct tp_pickle *p);

/* The text of a word, valid until the next call of `field`; NULL: it was not kept. */
const char *tp_pickle_text(const struct tp_pickle *p, uint16_t word);

/* Hands over the memo, with which code places are found again later. */
void tp_pickle_take_memo(struct tp_pickle *p, struct tp_memo *out);

#endif
