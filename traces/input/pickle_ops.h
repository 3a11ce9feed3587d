/* The opcodes of pickles and reading their arguments, shared by the machine that keeps records
 * (pickle_machine.c) and the loop that steps over everything else (pickle_skip.c). */
#ifndef TP_PICKLE_OPS_H
#define TP_PICKLE_OPS_H

#include "traces/input/pickle.h"

enum tp_pickle_effect {
    TP_OP_UNKNOWN,  /* not an opcode */
    TP_OP_CODE,     /* may import or run code: refused */
    TP_OP_FOREIGN,  /* holds data, but no pickler of protocol 2 or later writes it: refused */
    TP_OP_CONSTANT, /* pushes a value of fixed size */
    TP_OP_LONG,     /* pushes a number with its length before it */
    TP_OP_TEXT,     /* pushes a text with its length before it */
    TP_OP_BYTES,    /* pushes bytes with their length before them */
    TP_OP_LIST,     /* pushes an empty list */
    TP_OP_DICT,
    TP_OP_OTHER, /* pushes an empty tuple or set */
    TP_OP_MARK,
    TP_OP_APPENDS, /* values above the mark go into the list below it */
    TP_OP_SETITEMS,
    TP_OP_COLLECT, /* values above the mark become a tuple */
    TP_OP_ADD,     /* values above the mark go into a set, or become one */
    TP_OP_APPEND,  /* the top value goes into the list below it */
    TP_OP_SETITEM,
    TP_OP_TUPLE, /* the top one to three values become a tuple */
    TP_OP_MEMOIZE,
    TP_OP_PUT,
    TP_OP_GET,
    TP_OP_FRAME,
    TP_OP_PROTO,
    TP_OP_STOP,
    TP_OP_EFFECTS
};

struct tp_pickle_op {
    const char *name; /* NULL: not an opcode */
    uint8_t effect;   /* enum tp_pickle_effect */
    uint8_t fixed;    /* bytes that always follow: a value, or its length */
};
extern const struct tp_pickle_op tp_pickle_ops[256];

/* A value on the stack, and what was decided about it when it was pushed. */
struct tp_pickle_cell {
    struct tp_pickle_value value;
    /* for a container with a role: cell of the container that it must go into */
    uint32_t parent;
    bool is_mark, memoized;
    uint64_t memo; /* with `memoized`: index of its memo entry */
    uint64_t items;
};

enum { TP_PICKLE_STACK = 1024, TP_PICKLE_MARKS = 64, TP_PICKLE_DEPTH = 1000 };

struct tp_pickle {
    struct tp_input *in;
    const struct tp_pickle_schema *schema;
    void *ctx;
    struct tp_words words;
    struct tp_memo memo;
    const unsigned char *block, *at, *end; /* the buffered bytes; `at` is the next one */
    uint64_t base;                         /* byte of `block` in the file */
    uint64_t op_offset;                    /* byte in the file of the current opcode */
    unsigned char opcode;
    uint64_t frame_at, frame_end;
    uint64_t made; /* index of the memo entry made last */
    unsigned protocol;
    bool done;
    uint32_t used, mark_count;
    uint32_t marks[TP_PICKLE_MARKS]; /* indices of the cells that are marks */
    struct tp_pickle_cell cells[TP_PICKLE_STACK];
};

#define tp_pickle_fail(p, offset, err, ...) tp_input_fail_byte((p)->in, offset, err, __VA_ARGS__)

static inline uint64_t tp_pickle_offset(const struct tp_pickle *p)
{
    return p->base + (uint64_t)(p->at - p->block);
}

/* Makes `want` bytes (at most 64 KiB) available at p->at. TP_EINPUT: the file ends too early. */
int tp_pickle_refill(struct tp_pickle *p, size_t want, struct tp_err *err);

static inline int tp_pickle_need(struct tp_pickle *p, size_t want, struct tp_err *err)
{
    return (size_t)(p->end - p->at) >= want ? TP_OK : tp_pickle_refill(p, want, err);
}

/* Reads the next opcode into p->opcode. Its fixed bytes are available at p->at. */
int tp_pickle_next(struct tp_pickle *p, struct tp_err *err);

/* Reads the value that the opcode pushes. The effect of the opcode must be TP_OP_CONSTANT to
 * TP_OP_OTHER. `wanted` is passed to tp_words_intern. */
int tp_pickle_take(struct tp_pickle *p, bool wanted, struct tp_pickle_value *out,
                   struct tp_err *err);

/* The memo code of a value. A list counts as filled. */
uint16_t tp_pickle_code(const struct tp_pickle_value *v);

/* Handlers of the opcodes that push no new value: make a memo entry with `code`, get one, check a
 * frame, refuse the opcode. */
int tp_pickle_make(struct tp_pickle *p, uint16_t code, struct tp_err *err);
int tp_pickle_get(struct tp_pickle *p, uint16_t *code, struct tp_err *err);
int tp_pickle_frame(struct tp_pickle *p, struct tp_err *err);
int tp_pickle_refuse(struct tp_pickle *p, struct tp_err *err);

/* Skips everything from behind a mark, where p->at must be, up to and including the opcode that
 * consumes the mark. */
int tp_pickle_skip(struct tp_pickle *p, struct tp_err *err);

#endif
