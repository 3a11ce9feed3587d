/* See pickle_ops.h. The numbers and names of opcodes are those of Python's pickletools. */
#include "traces/input/pickle_ops.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 200 /* bytes shown of the name of a GLOBAL */

const char *const tp_pickle_kind_names[TP_PICKLE_KINDS] = {
    [TP_PICKLE_NONE] = "None",        [TP_PICKLE_BOOL] = "a truth value",
    [TP_PICKLE_INT] = "a number",     [TP_PICKLE_HUGE] = "a number of more than 64 bits",
    [TP_PICKLE_FLOAT] = "a fraction", [TP_PICKLE_TEXT] = "a text",
    [TP_PICKLE_OTHER] = "a tuple",    [TP_PICKLE_LIST] = "a list",
    [TP_PICKLE_DICT] = "a dict"};

const struct tp_pickle_op tp_pickle_ops[256] = {
    ['('] = {"MARK", TP_OP_MARK, 0},
    ['.'] = {"STOP", TP_OP_STOP, 0},
    ['0'] = {"POP", TP_OP_FOREIGN, 0},
    ['1'] = {"POP_MARK", TP_OP_FOREIGN, 0},
    ['2'] = {"DUP", TP_OP_FOREIGN, 0},
    ['F'] = {"FLOAT", TP_OP_FOREIGN, 0},
    ['I'] = {"INT", TP_OP_FOREIGN, 0},
    ['J'] = {"BININT", TP_OP_CONSTANT, 4},
    ['K'] = {"BININT1", TP_OP_CONSTANT, 1},
    ['L'] = {"LONG", TP_OP_FOREIGN, 0},
    ['M'] = {"BININT2", TP_OP_CONSTANT, 2},
    ['N'] = {"NONE", TP_OP_CONSTANT, 0},
    ['P'] = {"PERSID", TP_OP_CODE, 0},
    ['Q'] = {"BINPERSID", TP_OP_CODE, 0},
    ['R'] = {"REDUCE", TP_OP_CODE, 0},
    ['S'] = {"STRING", TP_OP_FOREIGN, 0},
    ['T'] = {"BINSTRING", TP_OP_BYTES, 4},
    ['U'] = {"SHORT_BINSTRING", TP_OP_BYTES, 1},
    ['V'] = {"UNICODE", TP_OP_FOREIGN, 0},
    ['X'] = {"BINUNICODE", TP_OP_TEXT, 4},
    ['a'] = {"APPEND", TP_OP_APPEND, 0},
    ['b'] = {"BUILD", TP_OP_CODE, 0},
    ['c'] = {"GLOBAL", TP_OP_CODE, 0},
    ['d'] = {"DICT", TP_OP_FOREIGN, 0},
    ['}'] = {"EMPTY_DICT", TP_OP_DICT, 0},
    ['e'] = {"APPENDS", TP_OP_APPENDS, 0},
    ['g'] = {"GET", TP_OP_FOREIGN, 0},
    ['h'] = {"BINGET", TP_OP_GET, 1},
    ['i'] = {"INST", TP_OP_CODE, 0},
    ['j'] = {"LONG_BINGET", TP_OP_GET, 4},
    ['l'] = {"LIST", TP_OP_FOREIGN, 0},
    [']'] = {"EMPTY_LIST", TP_OP_LIST, 0},
    ['o'] = {"OBJ", TP_OP_CODE, 0},
    ['p'] = {"PUT", TP_OP_FOREIGN, 0},
    ['q'] = {"BINPUT", TP_OP_PUT, 1},
    ['r'] = {"LONG_BINPUT", TP_OP_PUT, 4},
    ['s'] = {"SETITEM", TP_OP_SETITEM, 0},
    ['t'] = {"TUPLE", TP_OP_COLLECT, 0},
    [')'] = {"EMPTY_TUPLE", TP_OP_OTHER, 0},
    ['u'] = {"SETITEMS", TP_OP_SETITEMS, 0},
    ['G'] = {"BINFLOAT", TP_OP_CONSTANT, 8},
    ['B'] = {"BINBYTES", TP_OP_BYTES, 4},
    ['C'] = {"SHORT_BINBYTES", TP_OP_BYTES, 1},
    [0x80] = {"PROTO", TP_OP_PROTO, 1},
    [0x81] = {"NEWOBJ", TP_OP_CODE, 0},
    [0x82] = {"EXT1", TP_OP_CODE, 0},
    [0x83] = {"EXT2", TP_OP_CODE, 0},
    [0x84] = {"EXT4", TP_OP_CODE, 0},
    [0x85] = {"TUPLE1", TP_OP_TUPLE, 0},
    [0x86] = {"TUPLE2", TP_OP_TUPLE, 0},
    [0x87] = {"TUPLE3", TP_OP_TUPLE, 0},
    [0x88] = {"NEWTRUE", TP_OP_CONSTANT, 0},
    [0x89] = {"NEWFALSE", TP_OP_CONSTANT, 0},
    [0x8a] = {"LONG1", TP_OP_LONG, 1},
    [0x8b] = {"LONG4", TP_OP_LONG, 4},
    [0x8c] = {"SHORT_BINUNICODE", TP_OP_TEXT, 1},
    [0x8d] = {"BINUNICODE8", TP_OP_TEXT, 8},
    [0x8e] = {"BINBYTES8", TP_OP_BYTES, 8},
    [0x8f] = {"EMPTY_SET", TP_OP_OTHER, 0},
    [0x90] = {"ADDITEMS", TP_OP_ADD, 0},
    [0x91] = {"FROZENSET", TP_OP_ADD, 0},
    [0x92] = {"NEWOBJ_EX", TP_OP_CODE, 0},
    [0x93] = {"STACK_GLOBAL", TP_OP_CODE, 0},
    [0x94] = {"MEMOIZE", TP_OP_MEMOIZE, 0},
    [0x95] = {"FRAME", TP_OP_FRAME, 8},
    [0x96] = {"BYTEARRAY8", TP_OP_FOREIGN, 0},
    [0x97] = {"NEXT_BUFFER", TP_OP_FOREIGN, 0},
    [0x98] = {"READONLY_BUFFER", TP_OP_FOREIGN, 0},
};

/* ---- bytes ---- */

int tp_pickle_refill(struct tp_pickle *p, size_t want, struct tp_err *err)
{
    const unsigned char *data = NULL;
    size_t got = 0;
    if (p->block)
        tp_input_take(p->in, (size_t)(p->at - p->block));
    p->base = tp_input_offset(p->in);
    p->block = p->at = p->end = NULL;
    int rc = tp_input_peek(p->in, want, &data, &got, err);
    if (rc == TP_OK && got < want) {
        rc = tp_pickle_fail(p, p->base + got, err, "the file ends before the pickle does");
        return tp_hint(err, rc, "the file was cut off, or is still being written");
    }
    if (rc == TP_OK)
        rc = tp_input_block(p->in, &data, &got, err);
    if (rc != TP_OK)
        return rc;
    p->block = p->at = data;
    p->end = data + got;
    return TP_OK;
}

int tp_pickle_next(struct tp_pickle *p, struct tp_err *err)
{
    int rc = tp_pickle_need(p, 1, err);
    if (rc != TP_OK)
        return rc;
    p->opcode = *p->at;
    p->op_offset = tp_pickle_offset(p);
    rc = tp_pickle_need(p, 1u + tp_pickle_ops[p->opcode].fixed, err);
    if (rc == TP_OK) /* else there is no buffer */
        p->at++;
    return rc;
}

static uint64_t little(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

/* Skips bytes that are not needed. `size` comes from the file and is not trusted. */
static int pass(struct tp_pickle *p, uint64_t size, struct tp_err *err)
{
    while (size > 0) {
        int rc = tp_pickle_need(p, 1, err);
        if (rc != TP_OK)
            return rc;
        size_t there = (size_t)(p->end - p->at);
        size_t step = size < there ? (size_t)size : there;
        p->at += step;
        size -= step;
    }
    return TP_OK;
}

/* ---- values ---- */

static int take_long(struct tp_pickle *p, uint64_t size, struct tp_pickle_value *out,
                     struct tp_err *err)
{
    out->kind = TP_PICKLE_HUGE;
    if (size > INT32_MAX)
        return tp_pickle_fail(p, p->op_offset, err, "a number has a negative length");
    if (size > sizeof out->number)
        return pass(p, size, err);
    int rc = tp_pickle_need(p, (size_t)size, err);
    if (rc != TP_OK)
        return rc;
    uint64_t bits = little(p->at, (size_t)size);
    if (size > 0 && size < sizeof bits && (p->at[size - 1] & 0x80))
        bits |= UINT64_MAX << (8 * size);
    out->kind = TP_PICKLE_INT;
    out->number = (int64_t)bits;
    p->at += size;
    return TP_OK;
}

static int take_text(struct tp_pickle *p, uint64_t size, bool wanted, struct tp_pickle_value *out,
                     struct tp_err *err)
{
    out->kind = TP_PICKLE_TEXT;
    out->word = TP_MEMO_TEXT;
    if (size > UINT8_MAX)
        return pass(p, size, err);
    int rc = tp_pickle_need(p, (size_t)size, err);
    if (rc != TP_OK)
        return rc;
    out->word = tp_words_intern(&p->words, (const char *)p->at, (size_t)size, wanted);
    p->at += size;
    return TP_OK;
}

static void take_constant(unsigned char opcode, const unsigned char *bytes, size_t size,
                          struct tp_pickle_value *out)
{
    uint64_t bits = little(bytes, size);
    if (opcode == 'N') {
        out->kind = TP_PICKLE_NONE;
    } else if (opcode == 0x88 || opcode == 0x89) {
        out->kind = TP_PICKLE_BOOL;
        out->number = opcode == 0x88;
    } else if (opcode == 'G') {
        out->kind = TP_PICKLE_FLOAT;
    } else {
        out->kind = TP_PICKLE_INT;
        out->number = opcode == 'J' ? (int32_t)(uint32_t)bits : (int64_t)bits;
    }
}

int tp_pickle_take(struct tp_pickle *p, bool wanted, struct tp_pickle_value *out,
                   struct tp_err *err)
{
    const struct tp_pickle_op *op = &tp_pickle_ops[p->opcode];
    const unsigned char *fixed = p->at;
    *out = (struct tp_pickle_value){.kind = TP_PICKLE_OTHER, .offset = p->op_offset};
    p->at += op->fixed;
    switch (op->effect) {
    case TP_OP_CONSTANT:
        take_constant(p->opcode, fixed, op->fixed, out);
        return TP_OK;
    case TP_OP_LONG:
        return take_long(p, little(fixed, op->fixed), out, err);
    case TP_OP_TEXT:
        return take_text(p, little(fixed, op->fixed), wanted, out, err);
    case TP_OP_BYTES:
        return pass(p, little(fixed, op->fixed), err);
    case TP_OP_LIST:
        out->kind = TP_PICKLE_LIST;
        return TP_OK;
    case TP_OP_DICT:
        out->kind = TP_PICKLE_DICT;
        return TP_OK;
    default:
        return TP_OK;
    }
}

/* ---- memo and frames ---- */

uint16_t tp_pickle_code(const struct tp_pickle_value *v)
{
    static const uint16_t codes[TP_PICKLE_KINDS] = {
        [TP_PICKLE_LIST] = TP_MEMO_LIST, [TP_PICKLE_DICT] = TP_MEMO_DICT};
    if (v->kind == TP_PICKLE_TEXT)
        return v->word;
    return codes[v->kind] ? codes[v->kind] : TP_MEMO_OTHER;
}

static int full(const struct tp_pickle *p, struct tp_err *err)
{
    int rc = tp_pickle_fail(p, p->op_offset, err,
                            "%s memo entries, more than the memory for reading holds",
                            tp_count(p->memo.count).s);
    return tp_hint(err, rc, "--max-memory=SIZE allows more");
}

int tp_pickle_make(struct tp_pickle *p, uint16_t code, struct tp_err *err)
{
    uint8_t size = tp_pickle_ops[p->opcode].fixed;
    uint64_t index = p->made = size ? little(p->at, size) : p->memo.count;
    p->at += size;
    if (index > p->op_offset)
        return tp_pickle_fail(p, p->op_offset, err,
                              "makes memo entry %" PRIu64 ": so many cannot be before it", index);
    return tp_memo_put(&p->memo, index, code, tp_pickle_offset(p)) ? TP_OK : full(p, err);
}

int tp_pickle_get(struct tp_pickle *p, uint16_t *code, struct tp_err *err)
{
    uint8_t size = tp_pickle_ops[p->opcode].fixed;
    uint64_t index = little(p->at, size);
    p->at += size;
    *code = index < p->memo.count ? p->memo.cells[index] : TP_MEMO_NONE;
    if (*code == TP_MEMO_NONE)
        return tp_pickle_fail(p, p->op_offset, err,
                              "refers to memo entry %" PRIu64 ", which was never made", index);
    return TP_OK;
}

/* Checks a frame. Frames only tell a reader how much to buffer, but a wrong one shows that the file
 * is damaged. */
int tp_pickle_frame(struct tp_pickle *p, struct tp_err *err)
{
    uint64_t size = little(p->at, 8);
    p->at += 8;
    if (p->op_offset < p->frame_end)
        return tp_pickle_fail(p, p->op_offset, err, "a frame begins within another");
    if (size > INT64_MAX)
        return tp_pickle_fail(p, p->op_offset, err, "a frame of %" PRIu64 " bytes", size);
    p->frame_at = p->op_offset;
    p->frame_end = tp_pickle_offset(p) + size;
    return TP_OK;
}

/* ---- refusals ---- */

/* Writes the name in the two lines behind a GLOBAL or INST: "torch._utils._rebuild_tensor_v2". */
static void named_by_lines(struct tp_pickle *p, char *out, size_t size)
{
    const unsigned char *data = NULL;
    size_t got = 0, lines = 0, used = 0;
    char name[NAME_SHOWN];
    tp_input_take(p->in, (size_t)(p->at - p->block));
    p->block = p->at = p->end = NULL;
    out[0] = '\0';
    if (tp_input_peek(p->in, sizeof name - 1, &data, &got, NULL) != TP_OK)
        return;
    for (size_t i = 0; i < got && lines < 2; i++) {
        lines += data[i] == '\n';
        if (lines < 2)
            name[used++] = data[i] == '\n' ? '.' : (char)data[i];
    }
    name[used] = '\0';
    if (lines == 2)
        tp_clean_text(name, out, size);
}

/* Writes the name in the two texts on the stack that a STACK_GLOBAL takes, if they are known. */
static void named_by_stack(const struct tp_pickle *p, char *out, size_t size)
{
    const char *texts[2] = {NULL, NULL};
    char name[2 * NAME_SHOWN];
    out[0] = '\0';
    for (uint32_t i = 0; i < 2 && i < p->used; i++) {
        const struct tp_pickle_cell *cell = &p->cells[p->used - 1 - i];
        if (!cell->is_mark && cell->value.kind == TP_PICKLE_TEXT)
            texts[i] = tp_words_text(&p->words, cell->value.word);
    }
    if (!texts[0] || !texts[1])
        return;
    snprintf(name, sizeof name, "%s.%s", texts[1], texts[0]);
    tp_clean_text(name, out, size);
}

int tp_pickle_refuse(struct tp_pickle *p, struct tp_err *err)
{
    unsigned char opcode = p->opcode;
    const struct tp_pickle_op *op = &tp_pickle_ops[opcode];
    char name[NAME_SHOWN] = "";
    if (op->effect == TP_OP_UNKNOWN)
        return tp_pickle_fail(p, p->op_offset, err, "0x%02x is not a pickle opcode", opcode);
    if (op->effect != TP_OP_CODE)
        return tp_pickle_fail(p, p->op_offset, err, "%s is in no memory snapshot", op->name);
    if (opcode == 'c' || opcode == 'i')
        named_by_lines(p, name, sizeof name);
    else if (opcode == 0x93)
        named_by_stack(p, name, sizeof name);
    int rc = tp_pickle_fail(p, p->op_offset, err, "%s%s%s would run code; refused", op->name,
                            name[0] ? " " : "", name);
    return tp_hint(err, rc, "%s", p->schema->hint);
}
