/* The opcodes of pickles, and reading what follows them: shared by the machine that keeps records
 * (pickle.c) and the loop that steps over everything else (pickle_skip.c). */
#ifndef TP_PICKLE_OPS_H
#define TP_PICKLE_OPS_H

#include "traces/input/pickle.h"

enum tp_pickle_effect {
    TP_OP_UNKNOWN,  /* no opcode */
    TP_OP_CODE,     /* may import or run code: refused */
    TP_OP_FOREIGN,  /* data, but written by no pickler of protocol 2 and up: refused */
    TP_OP_CONSTANT, /* pushes a value of fixed size */
    TP_OP_LONG,     /* pushes a number with its length before it */
    TP_OP_TEXT,     /* pushes a text with its length before it */
    TP_OP_BYTES,    /* pushes bytes with their length before them */
    TP_OP_LIST,     /* pushes an empty one */
    TP_OP_DICT,
    TP_OP_OTHER, /* pushes an empty tuple or set */
    TP_OP_MARK,
    TP_OP_APPENDS, /* what is above the mark goes into what is below it */
    TP_OP_SETITEMS,
    TP_OP_COLLECT, /* ... becomes a tuple */
    TP_OP_ADD,     /* ... goes into a set, or becomes one */
    TP_OP_APPEND,  /* one or two values go into what is below them */
    TP_OP_SETITEM,
    TP_OP_TUPLE, /* one to three values become a tuple */
    TP_OP_MEMOIZE,
    TP_OP_PUT,
    TP_OP_GET,
    TP_OP_FRAME,
    TP_OP_PROTO,
    TP_OP_STOP,
    TP_OP_EFFECTS
};

struct tp_pickle_op {
    const char *name; /* NULL: no opcode */
    uint8_t effect;   /* enum tp_pickle_effect */
    uint8_t fixed;    /* bytes that follow always: a value, or the length of one */
};
extern const struct tp_pickle_op tp_pickle_ops[256];

/* A value on the stack, and what was decided about it when it came. */
struct tp_pickle_cell {
    struct tp_pickle_value value;
    uint32_t parent; /* of a container with a role: the cell that it must end up in */
    bool is_mark, memoized;
    uint64_t memo; /* index, where memoized */
    uint64_t items;
};

enum { TP_PICKLE_STACK = 1024, TP_PICKLE_MARKS = 64, TP_PICKLE_DEPTH = 1000 };

struct tp_pickle {
    struct tp_input *in;
    const struct tp_pickle_schema *schema;
    void *ctx;
    struct tp_words words;
    struct tp_memo memo;
    const unsigned char *block, *at, *end; /* what is buffered; `at` is the next byte */
    uint64_t base;                         /* place of `block` in the file */
    uint64_t op_offset;                    /* of the opcode that is being worked on */
    unsigned char opcode;
    uint64_t frame_at, frame_end;
    uint64_t made; /* index of the last memo entry */
    unsigned protocol;
    bool done;
    uint32_t used, mark_count;
    uint32_t marks[TP_PICKLE_MARKS]; /* cells */
    struct tp_pickle_cell cells[TP_PICKLE_STACK];
};

#define tp_pickle_fail(p, offset, err, ...) tp_input_fail_byte((p)->in, offset, err, __VA_ARGS__)

static inline uint64_t tp_pickle_offset(const struct tp_pickle *p)
{
    return p->base + (uint64_t)(p->at - p->block);
}

/* Makes `want` bytes (at most 64 KiB) stand at p->at, or says that the file ends too early. */
int tp_pickle_refill(struct tp_pickle *p, size_t want, struct tp_err *err);

static inline int tp_pickle_need(struct tp_pickle *p, size_t want, struct tp_err *err)
{
    return (size_t)(p->end - p->at) >= want ? TP_OK : tp_pickle_refill(p, want, err);
}

/* Takes the next opcode, p->opcode; the fixed bytes that belong to it stand at p->at. */
int tp_pickle_next(struct tp_pickle *p, struct tp_err *err);

/* Takes what the opcode pushes, which is CONSTANT to OTHER. */
int tp_pickle_take(struct tp_pickle *p, bool wanted, struct tp_pickle_value *out,
                   struct tp_err *err);

/* What the memo holds of it; of a list, one that is filled. */
uint16_t tp_pickle_code(const struct tp_pickle_value *v);

/* The same for what is no value: memo, frames, refusals. */
int tp_pickle_make(struct tp_pickle *p, uint16_t code, struct tp_err *err);
int tp_pickle_get(struct tp_pickle *p, uint16_t *code, struct tp_err *err);
int tp_pickle_frame(struct tp_pickle *p, struct tp_err *err);
int tp_pickle_refuse(struct tp_pickle *p, struct tp_err *err);

/* Steps over everything to the opcode that takes what is above a mark, that one included. p->at
 * stands behind the mark. */
int tp_pickle_skip(struct tp_pickle *p, struct tp_err *err);

#endif
