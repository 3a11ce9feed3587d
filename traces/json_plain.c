/* An accelerator: reads an event where it lies in the buffer, without cJSON, if it is plain.
 *
 *     {"t": 120, "op": "alloc", "id": 7, "size": 4096}
 *
 * Plain is a flat object of known keys, each once, that has what its op needs; values are bare
 * whole numbers of up to 15 digits within their range, which doubles hold exactly, and the op.
 * Anything else (escapes, a name, a quoted number, a sign, an unknown key, a nested value, the end
 * of the buffer, any mistake) is left to cJSON: what is not plain is not wrong, and no error is
 * decided here. So an event that this reads is one that json_event.c reads to the same end, which
 * test_json_plain.c and fuzz_json_event.c compare.
 *
 * Known weakness: notes and marks have names and are never plain; they are rare. */
#include "traces/json_plain.h"

#include "traces/json_event_rows.h"

#include <string.h>

#define DIGITS_MAX 15 /* 10^15 < 2^53 */

/* What is left to read. */
struct text {
    const unsigned char *at, *end;
    bool one_line;
};

static void skip_space(struct text *t)
{
    for (; t->at < t->end && *t->at <= ' '; t->at++) {
        if (*t->at != ' ' && *t->at != '\t' && *t->at != '\r' && (*t->at != '\n' || t->one_line))
            return;
    }
}

/* Takes a byte if it is the next one behind white space. */
static bool take(struct text *t, unsigned char wanted)
{
    skip_space(t);
    if (t->at == t->end || *t->at != wanted)
        return false;
    t->at++;
    return true;
}

/* Takes a name and the quote behind it. */
static bool take_name(struct text *t, const char *name)
{
    const unsigned char *at = t->at;
    while (at < t->end && *name && *at == (unsigned char)*name) {
        at++;
        name++;
    }
    if (*name || at == t->end || *at != '"')
        return false;
    t->at = at + 1;
    return true;
}

/* Keys tend to come in the order of the table: the search begins behind the last one. */
static bool take_key(struct text *t, unsigned *key)
{
    if (!take(t, '"'))
        return false;
    for (unsigned tries = 0; tries < TP_JSON_KEYS; tries++) {
        unsigned next = (*key + tries) % TP_JSON_KEYS;
        if (take_name(t, tp_json_keys[next].name)) {
            *key = next;
            return take(t, ':');
        }
    }
    return false;
}

static bool take_op(struct text *t, const struct tp_json_op_row **op)
{
    if (!take(t, '"'))
        return false;
    for (*op = tp_json_ops; *op < tp_json_ops + TP_JSON_OPS; ++*op) {
        if (take_name(t, (*op)->name))
            return true;
    }
    return false;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* What may stand behind the digits is for the caller to see: a comma or the end of the object. */
static bool take_number(struct text *t, const struct tp_json_key_row *row, struct tp_event *ev)
{
    skip_space(t);
    const unsigned char *first = t->at;
    uint64_t value = 0;
    for (; t->at < t->end && is_digit(*t->at) && t->at - first <= DIGITS_MAX; t->at++)
        value = 10 * value + (*t->at - '0');
    ptrdiff_t digits = t->at - first;
    if (digits == 0 || digits > DIGITS_MAX || (*first == '0' && digits > 1) ||
        value > row->range.max)
        return false;
    memcpy((char *)ev + row->offset, &value, sizeof value);
    return true;
}

bool tp_json_plain(const unsigned char *data, size_t size, bool one_line, struct tp_event *ev,
                   size_t *used)
{
    struct text t = {.at = data, .end = data + size, .one_line = one_line};
    struct tp_event event = {0};
    const struct tp_json_op_row *op = NULL;
    unsigned seen = 0, key = 0;
    if (!take(&t, '{'))
        return false;
    do {
        if (!take_key(&t, &key) || key == TP_JSON_NAME || seen & TP_JSON_BIT(key))
            return false;
        seen |= TP_JSON_BIT(key);
        if (key == TP_JSON_OP ? !take_op(&t, &op) : !take_number(&t, &tp_json_keys[key], &event))
            return false;
        key++;
    } while (take(&t, ','));
    if (!take(&t, '}') || !op || op->needs & ~seen)
        return false;
    tp_json_event_settle(&event, op, seen);
    *ev = event;
    *used = (size_t)(t.at - data);
    return true;
}
