/* Skips everything that belongs to no record: mostly stack frames, which are nine tenths of a
 * snapshot. Only marks and memo entries are counted. Which value goes into which container is not
 * checked, because the values are not used. */
#include "traces/input/pickle_ops.h"

/* The memo code of the container on top after values were put into it: C++ picklers memoize a
 * container only then. */
static uint16_t filled(unsigned char opcode)
{
    uint8_t effect = tp_pickle_ops[opcode].effect;
    if (effect == TP_OP_APPEND || effect == TP_OP_APPENDS)
        return TP_MEMO_LIST;
    return effect == TP_OP_SETITEM || effect == TP_OP_SETITEMS ? TP_MEMO_DICT : TP_MEMO_OTHER;
}

/* Handles the rare opcodes of the loop below. *last is the code that the next MEMOIZE would
 * store. */
static int step_slowly(struct tp_pickle *p, uint16_t *last, struct tp_err *err)
{
    struct tp_pickle_value value;
    int rc = TP_OK;
    switch (tp_pickle_ops[p->opcode].effect) {
    case TP_OP_GET:
        return tp_pickle_get(p, last, err);
    case TP_OP_MEMOIZE:
    case TP_OP_PUT:
        return tp_pickle_make(p, *last, err);
    case TP_OP_FRAME:
        return tp_pickle_frame(p, err);
    case TP_OP_PROTO:
    case TP_OP_STOP:
        return tp_pickle_fail(p, p->op_offset, err, "%s within a list or a dict",
                              tp_pickle_ops[p->opcode].name);
    case TP_OP_UNKNOWN:
    case TP_OP_CODE:
    case TP_OP_FOREIGN:
        p->used = 0; /* the stack was not kept here, so the message cannot name the function */
        return tp_pickle_refuse(p, err);
    case TP_OP_APPEND:
    case TP_OP_SETITEM:
    case TP_OP_TUPLE:
        *last = filled(p->opcode);
        return TP_OK;
    default:
        rc = tp_pickle_take(p, false, &value, err);
        *last = rc == TP_OK ? tp_pickle_code(&value) : TP_MEMO_OTHER;
        return rc;
    }
}

/* Skips a run of the simplest opcodes: back references and small numbers. */
static inline const unsigned char *run_ahead(const struct tp_pickle *p)
{
    const unsigned char *at = p->at;
    const uint16_t *cells = p->memo.cells;
    size_t count = p->memo.count;
    while (p->end - at > 8) {
        uint32_t index = 0;
        if (*at == 'h')
            index = at[1];
        else if (*at == 'j')
            memcpy(&index, at + 1, sizeof index);
        else if (*at != 'K' && *at != 'M')
            break;
        if ((*at == 'h' || *at == 'j') && (index >= count || cells[index] == TP_MEMO_NONE))
            break; /* step_slowly refuses it */
        if (*at == 'j')
            at += 5;
        else
            at += *at == 'M' ? 3 : 2;
    }
    return at;
}

int tp_pickle_skip(struct tp_pickle *p, struct tp_err *err)
{
    uint16_t last = TP_MEMO_OTHER;
    uint32_t depth = 1;
    while (depth > 0) {
        p->at = run_ahead(p);
        int rc = tp_pickle_next(p, err);
        if (rc != TP_OK)
            return rc;
        uint8_t effect = tp_pickle_ops[p->opcode].effect;
        if (effect == TP_OP_MARK) {
            depth++;
        } else if (effect >= TP_OP_APPENDS && effect <= TP_OP_ADD) {
            depth--;
            last = filled(p->opcode);
        } else {
            rc = step_slowly(p, &last, err);
        }
        if (rc != TP_OK)
            return rc;
        if (depth > TP_PICKLE_DEPTH)
            return tp_pickle_fail(p, p->op_offset, err, "nested deeper than %d", TP_PICKLE_DEPTH);
    }
    return TP_OK;
}
