/* An accelerator: reads an event where it lies in the buffer, without cJSON, if it is plain.
 *
 *     {"t": 120, "op": "alloc", "id": 7, "size": 4096, "place": "server.c:31", "site": 5}
 *      known keys, each once, with what the op needs   at most one other
 *
 * Numbers are bare, whole, within their range and of up to 15 digits, which doubles hold exactly;
 * texts have no escapes. Anything else (a mark's name, a quoted number, a sign, two unknown keys, a
 * nested value, the end of the buffer, any mistake) is left to cJSON: what is not plain is not
 * wrong, and no error is decided here. So an event that this reads is one that json_event.c reads
 * to the same end, which test_json_plain.c and fuzz_json_event.c compare.
 *
 * Known weakness: notes and marks have names and are never plain; they are rare. */
#include "traces/formats/json/json_plain.h"

#include "traces/formats/json/json_event_rows.h"

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

/* The key whose name comes next, which is taken; TP_JSON_KEYS: none, and it is not. Keys tend to
 * come in the order of the table: the search begins with the one that is expected. */
static unsigned take_key(struct text *t, unsigned expected)
{
    for (unsigned tries = 0; tries < TP_JSON_KEYS; tries++) {
        unsigned key = (expected + tries) % TP_JSON_KEYS;
        if (take_name(t, tp_json_keys[key].name))
            return key;
    }
    return TP_JSON_KEYS;
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
static bool take_digits(struct text *t, uint64_t *value)
{
    skip_space(t);
    const unsigned char *first = t->at;
    *value = 0;
    for (; t->at < t->end && is_digit(*t->at) && t->at - first <= DIGITS_MAX; t->at++)
        *value = 10 * *value + (*t->at - '0');
    ptrdiff_t digits = t->at - first;
    return digits > 0 && digits <= DIGITS_MAX && (*first != '0' || digits == 1);
}

static bool take_number(struct text *t, const struct tp_json_key_row *row, struct tp_event *ev)
{
    uint64_t value = 0;
    if (!take_digits(t, &value) || value > row->range.max)
        return false;
    memcpy((char *)ev + row->offset, &value, sizeof value);
    return true;
}

/* Takes a text and the quote behind it. */
static bool take_text(struct text *t)
{
    while (t->at < t->end && *t->at >= ' ' && *t->at != '"' && *t->at != '\\')
        t->at++;
    return t->at < t->end && *t->at++ == '"';
}

/* What follows the place's colon; bytes below a blank are not plain. */
static bool take_place(struct text *t, struct tp_event *ev)
{
    if (!take(t, '"'))
        return false;
    ev->place = (const char *)t->at;
    if (!take_text(t))
        return false;
    ev->place_bytes = (size_t)((const char *)t->at - 1 - ev->place);
    return true;
}

/* A key that is not known, and its value: nothing is made of them. */
static bool take_unknown(struct text *t)
{
    uint64_t value = 0;
    if (!take_text(t) || !take(t, ':'))
        return false;
    return take(t, '"') ? take_text(t) : take_digits(t, &value);
}

/* A member. `seen` counts unknown keys as one: of two, cJSON has to see whether they differ. */
static bool take_member(struct text *t, struct tp_event *ev, const struct tp_json_op_row **op,
                        unsigned *seen)
{
    unsigned expected = *seen ? 32 - (unsigned)__builtin_clz(*seen) : 0;
    if (!take(t, '"'))
        return false;
    unsigned key = take_key(t, expected);
    if (key == TP_JSON_NAME || *seen & TP_JSON_BIT(key))
        return false;
    *seen |= TP_JSON_BIT(key);
    if (key == TP_JSON_KEYS)
        return take_unknown(t);
    if (!take(t, ':'))
        return false;
    return key == TP_JSON_OP      ? take_op(t, op)
           : key == TP_JSON_PLACE ? take_place(t, ev)
                                  : take_number(t, &tp_json_keys[key], ev);
}

bool tp_json_plain(const unsigned char *data, size_t size, bool one_line, struct tp_event *ev,
                   size_t *used)
{
    struct text t = {.at = data, .end = data + size, .one_line = one_line};
    struct tp_event event = {0};
    const struct tp_json_op_row *op = NULL;
    unsigned seen = 0;
    if (!take(&t, '{'))
        return false;
    do {
        if (!take_member(&t, &event, &op, &seen))
            return false;
    } while (take(&t, ','));
    if (!take(&t, '}') || !op || op->needs & ~seen)
        return false;
    tp_json_event_settle(&event, op, seen);
    *ev = event;
    *used = (size_t)(t.at - data);
    return true;
}
