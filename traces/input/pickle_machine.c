/* The pickle machine: a stack of values like that of any unpickler, but of a fixed size. Only
 * containers with a role keep values on it, and they hand them on to the reader.
 *
 *     } ( 'segments' ] ( } ( 'address' 5 ... u    the inner dict's members go to the handler
 *     |              |   `- a SEGMENT by its place     and the dict stays, with nothing in it,
 *     TOP            SEGMENTS                          until the next item comes or the list ends
 *
 * A pickler writes a container first and fills it later, so the role is given before it is known
 * where the container goes: by the key below it on the stack, or by the list around it. When the
 * container is put somewhere, the guess is checked. Schemas make it unambiguous: `] ]` is a list in
 * a list if the outer one holds lists, else two neighbours.
 *
 * Known weakness: a dict with a role and more members than the stack holds is refused. */
#include "traces/input/pickle.h"

#include "traces/input/pickle_ops.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_CELL UINT32_MAX

int tp_pickle_outermost(const unsigned char *data, size_t size)
{
    if (size < 3 || data[0] != 0x80 || data[1] < 2 || data[1] > 5)
        return -1;
    size_t at = tp_pickle_ops[data[2]].effect == TP_OP_FRAME ? 11 : 2;
    return at < size ? data[at] : data[2];
}

int tp_pickle_new(struct tp_input *in, const struct tp_pickle_schema *schema, void *ctx,
                  uint64_t limit, struct tp_pickle **out, struct tp_err *err)
{
    struct tp_pickle *p = calloc(1, sizeof *p);
    if (!p)
        return tp_input_no_memory(in, err);
    p->in = in;
    p->schema = schema;
    p->ctx = ctx;
    tp_memo_init(&p->memo, limit);
    int rc = tp_words_init(&p->words, schema->words, err);
    if (rc != TP_OK) {
        tp_pickle_free(p);
        return rc;
    }
    *out = p;
    return TP_OK;
}

void tp_pickle_free(struct tp_pickle *p)
{
    if (!p)
        return;
    tp_words_release(&p->words);
    tp_memo_release(&p->memo);
    free(p);
}

void tp_pickle_count(struct tp_pickle *p, struct tp_budget *budget)
{
    p->memo.budget = budget;
}

unsigned tp_pickle_protocol(const struct tp_pickle *p)
{
    return p->protocol;
}

const char *tp_pickle_text(const struct tp_pickle *p, uint16_t word)
{
    return tp_words_text(&p->words, word);
}

void tp_pickle_take_memo(struct tp_pickle *p, struct tp_memo *out)
{
    *out = p->memo;
    out->budget = NULL; /* the memo may outlive its budget, in which it stays counted */
    tp_memo_init(&p->memo, out->limit);
}

/* ---- the stack ---- */

static int misplaced(struct tp_pickle *p, struct tp_err *err)
{
    return tp_pickle_fail(p, p->op_offset, err, "%s finds values that no pickler leaves there",
                          tp_pickle_ops[p->opcode].name);
}

static struct tp_pickle_cell *top(struct tp_pickle *p)
{
    return p->used ? &p->cells[p->used - 1] : NULL;
}

/* The cell of the container that the values above the innermost mark belong to. */
static uint32_t marked(const struct tp_pickle *p)
{
    return p->mark_count ? p->marks[p->mark_count - 1] - 1 : NO_CELL;
}

static int push(struct tp_pickle *p, const struct tp_pickle_value *value, struct tp_err *err)
{
    if (p->used == TP_PICKLE_STACK)
        return tp_pickle_fail(p, p->op_offset, err, "more than %d values wait to be put somewhere",
                              TP_PICKLE_STACK);
    p->cells[p->used++] = (struct tp_pickle_cell){.value = *value, .parent = NO_CELL};
    return TP_OK;
}

/* Fails because of an item of the wrong kind in a list. */
static int wrong_item(const struct tp_pickle *p, const struct tp_pickle_cell *list,
                      const struct tp_pickle_value *item, struct tp_err *err)
{
    const char *kind = tp_pickle_kind_names[item->kind];
    const char *name = p->schema->names[list->value.role];
    if (item->shared)
        return tp_pickle_fail(p, item->offset, err,
                              "an item of %s refers back to %s that was there before", name, kind);
    return tp_pickle_fail(p, item->offset, err, "an item of %s is %s", name, kind);
}

/* Pops the topmost value and reports it as complete. It must belong into cell `parent`. */
static int settle(struct tp_pickle *p, uint32_t parent, struct tp_err *err)
{
    const struct tp_pickle_cell *cell = &p->cells[p->used - 1];
    const struct tp_pickle_cell *into = &p->cells[parent];
    uint8_t role = cell->value.role;
    if (cell->is_mark || (role && cell->parent != parent))
        return misplaced(p, err);
    if (!role && into->value.role && into->value.kind == TP_PICKLE_LIST)
        return wrong_item(p, into, &cell->value, err);
    p->used--;
    return role ? p->schema->end(p->ctx, role, err) : TP_OK;
}

/* ---- containers ---- */

static uint8_t look_up(const struct tp_pickle *p, uint32_t parent, uint16_t word,
                       enum tp_pickle_kind kind)
{
    uint8_t role = parent == NO_CELL ? 0 : p->cells[parent].value.role;
    if (parent != NO_CELL && !role)
        return 0;
    for (const struct tp_pickle_row *row = p->schema->rows; row->role; row++)
        if (row->parent == role && row->word == word && row->kind == kind)
            return row->role;
    return 0;
}

/* The role of a container that will be pushed. *parent is the cell that it belongs into. */
static uint8_t role_of(struct tp_pickle *p, enum tp_pickle_kind kind, uint32_t *parent)
{
    const struct tp_pickle_cell *t = top(p);
    uint32_t around = marked(p);
    uint16_t word = 0;
    *parent = NO_CELL;
    if (!t)
        return look_up(p, NO_CELL, 0, kind);
    *parent = p->used - 1;
    if (!t->is_mark && t->value.kind == TP_PICKLE_TEXT) {
        word = t->value.word;
        *parent = p->used > 1 ? p->used - 2 : NO_CELL;
    }
    uint8_t role =
        *parent != NO_CELL && !p->cells[*parent].is_mark ? look_up(p, *parent, word, kind) : 0;
    if (role || around == NO_CELL)
        return role;
    *parent = around;
    return look_up(p, around, word, kind);
}

static void note_item(struct tp_pickle *p, struct tp_pickle_cell *list)
{
    list->items++;
    if (list->memoized)
        p->memo.cells[list->memo] = TP_MEMO_LIST;
}

/* Begins a new item of a list, which completes the item before it. */
static int begin_item(struct tp_pickle *p, uint32_t list, struct tp_err *err)
{
    note_item(p, &p->cells[list]);
    while (p->used > list + 1 && !top(p)->is_mark) {
        int rc = settle(p, list, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

static int on_container(struct tp_pickle *p, struct tp_err *err)
{
    struct tp_pickle_value value;
    uint32_t parent = NO_CELL;
    int rc = tp_pickle_take(p, false, &value, err);
    if (rc != TP_OK)
        return rc;
    value.role = role_of(p, value.kind, &parent);
    if (value.role && parent != NO_CELL && p->cells[parent].value.kind == TP_PICKLE_LIST)
        rc = begin_item(p, parent, err);
    if (rc == TP_OK)
        rc = push(p, &value, err);
    if (rc != TP_OK || !value.role)
        return rc;
    top(p)->parent = parent;
    return p->schema->begin(p->ctx, value.role, value.offset, err);
}

static int on_value(struct tp_pickle *p, struct tp_err *err)
{
    struct tp_pickle_value value;
    uint32_t around = marked(p);
    uint8_t role = around == NO_CELL ? 0 : p->cells[around].value.role;
    int rc = tp_pickle_take(p, p->schema->wanted >> role & 1, &value, err);
    return rc == TP_OK ? push(p, &value, err) : rc;
}

/* Skips the values above a mark if the container below it has no role. */
static int step_over(struct tp_pickle *p, struct tp_err *err)
{
    static const uint8_t closers[TP_PICKLE_KINDS] = {
        [TP_PICKLE_LIST] = TP_OP_APPENDS, [TP_PICKLE_DICT] = TP_OP_SETITEMS};
    uint64_t begin = p->op_offset;
    int rc = tp_pickle_skip(p, err);
    if (rc != TP_OK)
        return rc;
    uint8_t effect = tp_pickle_ops[p->opcode].effect;
    if (effect == TP_OP_COLLECT || p->opcode == 0x91)
        return push(p, &(struct tp_pickle_value){.kind = TP_PICKLE_OTHER, .offset = begin}, err);
    struct tp_pickle_cell *t = top(p);
    bool set = t && !t->is_mark && t->value.kind == TP_PICKLE_OTHER && effect == TP_OP_ADD;
    if (!t || t->is_mark || (!set && closers[t->value.kind] != effect) || t->value.shared)
        return misplaced(p, err);
    if (t->value.kind == TP_PICKLE_LIST)
        note_item(p, t);
    return TP_OK;
}

static int on_mark(struct tp_pickle *p, struct tp_err *err)
{
    const struct tp_pickle_cell *t = top(p);
    if (!t || t->is_mark || !t->value.role)
        return step_over(p, err);
    if (p->mark_count == TP_PICKLE_MARKS)
        return tp_pickle_fail(p, p->op_offset, err, "nested deeper than %d", TP_PICKLE_MARKS);
    int rc = push(p, &(struct tp_pickle_value){.kind = TP_PICKLE_NONE}, err);
    if (rc != TP_OK)
        return rc;
    top(p)->is_mark = true;
    p->marks[p->mark_count++] = p->used - 1;
    return TP_OK;
}

/* ---- filling them ---- */

/* Closes the innermost mark. *into is the cell of the container below it, which must be of this
 * kind. */
static int close_mark(struct tp_pickle *p, enum tp_pickle_kind kind, uint32_t *into,
                      struct tp_err *err)
{
    *into = marked(p);
    if (*into == NO_CELL || p->cells[*into].value.kind != kind)
        return misplaced(p, err);
    p->mark_count--;
    return TP_OK;
}

static int on_appends(struct tp_pickle *p, struct tp_err *err)
{
    uint32_t list = 0;
    int rc = close_mark(p, TP_PICKLE_LIST, &list, err);
    while (rc == TP_OK && p->used > list + 2)
        rc = settle(p, list, err);
    p->used = list + 1;
    return rc;
}

static int on_append(struct tp_pickle *p, struct tp_err *err)
{
    if (p->used < 2 || p->cells[p->used - 2].is_mark ||
        p->cells[p->used - 2].value.kind != TP_PICKLE_LIST)
        return misplaced(p, err);
    if (!p->cells[p->used - 2].value.role)
        note_item(p, &p->cells[p->used - 2]);
    return settle(p, p->used - 2, err);
}

/* Hands on a member of a dict: its key is in cell `at`, its value in the cell above. */
static int member(struct tp_pickle *p, uint32_t dict, uint32_t at, struct tp_err *err)
{
    const struct tp_pickle_cell *key = &p->cells[at];
    struct tp_pickle_cell *value = &p->cells[at + 1];
    uint8_t role = p->cells[dict].value.role;
    if (!value->value.shared)
        value->value.empty = value->value.kind == TP_PICKLE_LIST && !value->items;
    if (key->is_mark || value->is_mark || key->value.role ||
        (value->value.role && value->parent != dict))
        return misplaced(p, err);
    int rc = value->value.role ? p->schema->end(p->ctx, value->value.role, err) : TP_OK;
    if (rc != TP_OK || !role || key->value.kind != TP_PICKLE_TEXT)
        return rc;
    return p->schema->field(p->ctx, role, key->value.word, &value->value, err);
}

static int on_setitems(struct tp_pickle *p, struct tp_err *err)
{
    uint32_t dict = 0;
    int rc = close_mark(p, TP_PICKLE_DICT, &dict, err);
    if (rc == TP_OK && (p->used - dict) % 2)
        rc = misplaced(p, err);
    for (uint32_t at = dict + 2; rc == TP_OK && at + 1 < p->used; at += 2)
        rc = member(p, dict, at, err);
    p->used = dict + 1;
    return rc;
}

static int on_setitem(struct tp_pickle *p, struct tp_err *err)
{
    if (p->used < 3 || p->cells[p->used - 3].is_mark ||
        p->cells[p->used - 3].value.kind != TP_PICKLE_DICT)
        return misplaced(p, err);
    int rc = member(p, p->used - 3, p->used - 2, err);
    p->used -= 2;
    return rc;
}

static int on_tuple(struct tp_pickle *p, struct tp_err *err)
{
    uint32_t count = p->opcode - 0x84u;
    if (p->used < count)
        return misplaced(p, err);
    for (uint32_t i = 1; i <= count; i++)
        if (p->cells[p->used - i].is_mark || p->cells[p->used - i].value.role)
            return misplaced(p, err);
    p->used -= count;
    struct tp_pickle_value value = {.kind = TP_PICKLE_OTHER, .offset = p->op_offset};
    const struct tp_pickle_value *first = &p->cells[p->used].value, *second = NULL;
    if (count == 2) {
        second = &p->cells[p->used + 1].value;
        value.pair = first->kind == TP_PICKLE_INT && second->kind == TP_PICKLE_INT;
        value.number = first->number;
        value.second = second->number;
    }
    return push(p, &value, err);
}

/* ---- memo ---- */

static int on_make(struct tp_pickle *p, struct tp_err *err)
{
    struct tp_pickle_cell *t = top(p);
    if (!t || t->is_mark)
        return misplaced(p, err);
    uint16_t code = tp_pickle_code(&t->value);
    if (code == TP_MEMO_LIST && t->items == 0)
        code = TP_MEMO_EMPTY_LIST;
    int rc = tp_pickle_make(p, code, err);
    t->memo = p->made;
    t->memoized = true;
    return rc;
}

static int on_get(struct tp_pickle *p, struct tp_err *err)
{
    static const enum tp_pickle_kind kinds[TP_MEMO_WORDS] = {
        [TP_MEMO_OTHER] = TP_PICKLE_OTHER, [TP_MEMO_EMPTY_LIST] = TP_PICKLE_LIST,
        [TP_MEMO_LIST] = TP_PICKLE_LIST,   [TP_MEMO_DICT] = TP_PICKLE_DICT,
        [TP_MEMO_TEXT] = TP_PICKLE_TEXT,
    };
    uint16_t code = 0;
    int rc = tp_pickle_get(p, &code, err);
    if (rc != TP_OK)
        return rc;
    const struct tp_pickle_value value = {.kind =
                                              code >= TP_MEMO_WORDS ? TP_PICKLE_TEXT : kinds[code],
                                          .word = code,
                                          .shared = true,
                                          .empty = code == TP_MEMO_EMPTY_LIST,
                                          .offset = p->op_offset};
    return push(p, &value, err);
}

/* ---- the rest ---- */

static int on_proto(struct tp_pickle *p, struct tp_err *err)
{
    if (p->op_offset != 0)
        return tp_pickle_fail(p, p->op_offset, err, "PROTO stands in the middle of a pickle");
    p->protocol = *p->at++;
    if (p->protocol >= 2 && p->protocol <= 5)
        return TP_OK;
    return tp_pickle_fail(p, 1, err, "pickle protocol %u; 2 to 5 can be read", p->protocol);
}

static int on_stop(struct tp_pickle *p, struct tp_err *err)
{
    if (p->used != 1 || p->cells[0].is_mark)
        return misplaced(p, err);
    if (p->frame_end > tp_pickle_offset(p))
        return tp_pickle_fail(p, p->frame_at, err,
                              "the frame ends at byte %" PRIu64 ", the pickle at %" PRIu64,
                              p->frame_end, tp_pickle_offset(p));
    p->done = true;
    uint8_t role = p->cells[0].value.role;
    return role ? p->schema->end(p->ctx, role, err) : TP_OK;
}

static int (*const handlers[TP_OP_EFFECTS])(struct tp_pickle *, struct tp_err *) = {
    [TP_OP_UNKNOWN] = tp_pickle_refuse,
    [TP_OP_CODE] = tp_pickle_refuse,
    [TP_OP_FOREIGN] = tp_pickle_refuse,
    [TP_OP_CONSTANT] = on_value,
    [TP_OP_LONG] = on_value,
    [TP_OP_TEXT] = on_value,
    [TP_OP_BYTES] = on_value,
    [TP_OP_LIST] = on_container,
    [TP_OP_DICT] = on_container,
    [TP_OP_OTHER] = on_value,
    [TP_OP_MARK] = on_mark,
    [TP_OP_APPENDS] = on_appends,
    [TP_OP_SETITEMS] = on_setitems,
    [TP_OP_COLLECT] = misplaced,
    [TP_OP_ADD] = misplaced,
    [TP_OP_APPEND] = on_append,
    [TP_OP_SETITEM] = on_setitem,
    [TP_OP_TUPLE] = on_tuple,
    [TP_OP_MEMOIZE] = on_make,
    [TP_OP_PUT] = on_make,
    [TP_OP_GET] = on_get,
    [TP_OP_FRAME] = tp_pickle_frame,
    [TP_OP_PROTO] = on_proto,
    [TP_OP_STOP] = on_stop,
};

int tp_pickle_read(struct tp_pickle *p, struct tp_err *err)
{
    while (!p->done) {
        int rc = tp_pickle_next(p, err);
        if ((rc == TP_OK || rc == TP_EINPUT) && p->op_offset == 0 && p->opcode && p->opcode != 0x80)
            return tp_pickle_fail(p, 0, err, "does not begin like a pickle of protocol 2 to 5");
        if (rc == TP_OK)
            rc = handlers[tp_pickle_ops[p->opcode].effect](p, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}
