/* Reads an event: a table of keys says where each value goes, a table of ops which keys are needed.
 *
 *     block --> members --> event                   nearly all of them, where they lie
 *     cut --> check --> members --> event           at the end of a block, and every error
 *
 * If an event is not whole or has an error, the result of the first way is discarded. The second
 * way reads it again, and reports invalid JSON before other errors. */
#include "traces/formats/json/json_event.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/opt.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_MAX ((size_t)64 << 10) /* bytes of one event */
#define KEYS_MAX  64

#define NEED(key) TP_JSON_BIT(TP_JSON_##key)

#define KEY_ROW(key, name, member, ...)                                                            \
    {TP_SPAN_WORD(name), ", \"" name "\": ", offsetof(struct tp_event, member), {__VA_ARGS__}},
const struct tp_json_key_row tp_json_keys[TP_JSON_KEYS] = {TP_JSON_KEY_ROWS(KEY_ROW)};

/* Bits of the keys that an operation requires. */
#define NEEDS(flags)                                                                               \
    (((flags) & (TP_IS_NEW | TP_IS_LIVE) ? NEED(ID) : 0u) | ((flags)&TP_ASKS ? NEED(SIZE) : 0u) |  \
     ((flags)&TP_NEEDS_STREAM ? NEED(STREAM) : 0u) |                                               \
     ((flags) & (TP_HAS_NAME | TP_HAS_NOTE) ? NEED(NAME) : 0u))
#define ROW(op, number, name, verb, latency, rank, flags)                                          \
    {TP_SPAN_WORD(name), TP_##op == TP_RELEASE ? TP_EV_FREE : TP_EV_##op, NEEDS(flags)},
const struct tp_json_op_row tp_json_ops[TP_JSON_OPS] = {
    TP_RECORDED_OPS(ROW){TP_SPAN_WORD("initial"), TP_EV_INITIAL, NEEDS(TP_NEW_OBJECT)}};

static int unknown_op(const struct tp_json_scan *s, struct tp_span name, struct tp_err *err)
{
    const char *names[TP_JSON_OPS + 1] = {NULL};
    char raw[256], shown[64];
    for (size_t i = 0; i < TP_JSON_OPS; i++)
        names[i] = tp_json_ops[i].word.name;
    tp_span_text(name, raw, sizeof raw);
    tp_clean_text(raw, shown, sizeof shown);
    const char *near = tp_nearest(shown, names);
    int rc = tp_json_fail(s, s->line, err, ": unknown op '%s'", shown);
    return near ? tp_hint(err, rc, "did you mean '%s'? 'tapool help format ops' lists all", near)
                : tp_hint(err, rc, "'tapool help format ops' lists all");
}

/* Keeps a text of an event, without its escapes. The buffer has room for all texts, because
 * together they are shorter than the event. */
static char *keep_words(struct tp_json_scan *s, struct tp_span value, size_t *kept)
{
    if (!s->words)
        s->words = malloc(EVENT_MAX);
    if (!s->words)
        return NULL;
    char *at = s->words + *kept;
    tp_span_text(value, at, value.size);
    *kept += value.size;
    return at;
}

/* The members of an event while they are read. */
struct members {
    struct tp_span_walk walk;
    struct tp_event *ev;
    const struct tp_json_op_row *op; /* NULL: no op was read yet */
    unsigned seen;                   /* bits of the keys that were read */
    unsigned count, unknown;         /* members; members with an unknown key */
    size_t kept;                     /* bytes of texts that were kept */
};

static int read_op(struct tp_json_scan *s, struct members *m, struct tp_err *err)
{
    struct tp_span value;
    if (!tp_span_take(&m->walk, &value))
        return TP_OK;
    int rc = tp_json_need_text(s, "op", value, err);
    for (m->op = tp_json_ops; rc == TP_OK && m->op < tp_json_ops + TP_JSON_OPS; m->op++)
        if (tp_span_is(value, m->op->word.name))
            return TP_OK;
    return rc == TP_OK ? unknown_op(s, value, err) : rc;
}

static int read_text(struct tp_json_scan *s, struct members *m, unsigned key, struct tp_err *err)
{
    struct tp_event *ev = m->ev;
    struct tp_span value;
    bool name = key == TP_JSON_NAME;
    if (!tp_span_take(&m->walk, &value))
        return TP_OK;
    int rc = tp_json_need_text(s, tp_json_keys[key].word.name, value, err);
    if (rc != TP_OK)
        return rc;
    if (!name && !memchr(value.at, '\\', value.size)) {
        ev->place = value.at + 1;
        ev->place_bytes = value.size - 2;
        return TP_OK;
    }
    const char *text = keep_words(s, value, &m->kept);
    if (!text)
        return tp_input_no_memory(s->in, err);
    if (name) {
        ev->name = text;
    } else {
        ev->place = text;
        ev->place_bytes = strlen(text);
    }
    return TP_OK;
}

static int read_number(struct tp_json_scan *s, struct members *m, unsigned key, struct tp_err *err)
{
    const struct tp_json_key_row *row = &tp_json_keys[key];
    struct tp_span value;
    uint64_t bits = 0;
    int rc = TP_OK;
    if (tp_span_take(&m->walk, &value))
        rc = tp_json_integer(s, row->word.name, value, &row->range, &bits, err);
    memcpy((char *)m->ev + row->offset, &bits, sizeof bits);
    return rc;
}

/* Reads a key that has escapes or is unknown. */
static unsigned read_key(struct members *m)
{
    struct tp_span name;
    unsigned key = 0;
    if (!tp_span_take_key(&m->walk, &name) || !memchr(name.at, '\\', name.size))
        return TP_JSON_KEYS;
    while (key < TP_JSON_KEYS && !tp_span_is(name, tp_json_keys[key].word.name))
        key++;
    return key;
}

/* Reads a member of any kind. If `key` is TP_JSON_KEYS, its key must still be read. */
__attribute__((noinline)) static int read_member(struct tp_json_scan *s, struct members *m,
                                                 unsigned key, struct tp_err *err)
{
    struct tp_span value;
    if (key == TP_JSON_KEYS)
        key = read_key(m);
    if (m->walk.wrong)
        return TP_OK;
    if (key == TP_JSON_KEYS) {
        m->unknown++;
        tp_span_take(&m->walk, &value);
        return TP_OK;
    }
    if (m->seen & TP_JSON_BIT(key))
        return tp_json_fail(s, s->line, err, " has '%s' twice", tp_json_keys[key].word.name);
    m->seen |= TP_JSON_BIT(key);
    if (key == TP_JSON_OP)
        return read_op(s, m, err);
    if (tp_json_keys[key].range.max == 0)
        return read_text(s, m, key, err);
    return read_number(s, m, key, err);
}

/* Takes the next key if it is known; else takes nothing and returns TP_JSON_KEYS. Keys tend to come
 * in the order of the table, so the search begins with the expected one. */
static inline unsigned pass_key(struct tp_span_walk *w, unsigned expected)
{
    for (unsigned tries = 0, key = expected; tries < TP_JSON_KEYS; tries++, key++) {
        key = key < TP_JSON_KEYS ? key : 0;
        if (tp_span_pass_word(w, &tp_json_keys[key].word)) {
            w->wrong = !tp_span_pass(w, ':');
            return key;
        }
    }
    return TP_JSON_KEYS;
}

/* Takes a comma, the key that the table expects next, and a colon, if they have their usual
 * spelling; else takes nothing and returns TP_JSON_KEYS. */
static inline unsigned pass_usual(struct tp_span_walk *w, unsigned expected)
{
    unsigned key = expected;
    if ((size_t)(w->end - w->at) < sizeof tp_json_keys->usual || *w->at != ',')
        return TP_JSON_KEYS;
    while (key < TP_JSON_KEYS &&
           !tp_span_same(w->at, tp_json_keys[key].usual, tp_json_keys[key].word.size + 4))
        key++;
    w->at += key < TP_JSON_KEYS ? tp_json_keys[key].word.size + 4 : 0;
    return key;
}

/* Takes an op or a number in its usual spelling; else takes nothing. */
static inline bool pass_value(struct tp_span_walk *w, struct members *m, unsigned key)
{
    const struct tp_json_key_row *row = &tp_json_keys[key];
    const char *from = w->at;
    uint64_t bits = 0;
    if (m->seen & TP_JSON_BIT(key))
        return false;
    if (key == TP_JSON_OP) {
        m->op = tp_json_ops;
        while (m->op < tp_json_ops + TP_JSON_OPS && !tp_span_pass_word(w, &m->op->word))
            m->op++;
        return m->op < tp_json_ops + TP_JSON_OPS;
    }
    bool taken = row->range.max && tp_span_pass_digits(w, &bits) && bits <= row->range.max;
    if (taken)
        memcpy((char *)m->ev + row->offset, &bits, sizeof bits);
    else
        w->at = from;
    return taken;
}

/* Reads all members, up to the end of the object or to the first error. */
static int read_members(struct tp_json_scan *s, struct members *m, struct tp_err *err)
{
    /* a copy that stays in registers, because only inlined functions get it */
    struct tp_span_walk w = m->walk;
    unsigned key = 0;
    int rc = TP_OK;
    while (rc == TP_OK) {
        unsigned usual = w.begun ? pass_usual(&w, key) : TP_JSON_KEYS;
        if (usual == TP_JSON_KEYS && !tp_span_more(&w))
            break;
        if (++m->count > KEYS_MAX)
            return tp_json_fail(s, s->line, err, " has more than %d keys", KEYS_MAX);
        key = usual < TP_JSON_KEYS ? usual : pass_key(&w, key);
        if (key < TP_JSON_KEYS && !w.wrong && pass_value(&w, m, key)) {
            m->seen |= TP_JSON_BIT(key++);
            continue;
        }
        m->walk = w;
        rc = read_member(s, m, key, err);
        w = m->walk;
        key += key < TP_JSON_KEYS;
    }
    m->walk = w;
    return rc;
}

/* Whether a note has an id: only free_requested concerns an object. */
static bool names_object(const struct tp_json_op_row *op, const char *name)
{
    return op->op == TP_EV_NOTE && name && tp_note_find(name) == TP_NOTE_FREE_REQUESTED;
}

static int check_needs(const struct tp_json_scan *s, const struct tp_json_op_row *op, unsigned seen,
                       const char *name, struct tp_err *err)
{
    unsigned needs = NEED(OP);
    if (op)
        needs = names_object(op, name) ? op->needs | NEED(ID) : op->needs;
    for (unsigned i = 0; needs & ~seen && i < TP_JSON_KEYS; i++) {
        if (!(needs & ~seen & TP_JSON_BIT(i)))
            continue;
        int rc = op ? tp_json_fail(s, s->line, err, " (%s) has no '%s'", op->word.name,
                                   tp_json_keys[i].word.name)
                    : tp_json_fail(s, s->line, err, " has no '%s'", tp_json_keys[i].word.name);
        return tp_hint(err, rc, "'tapool help format' shows the format");
    }
    return TP_OK;
}

void tp_json_event_settle(struct tp_event *ev, const struct tp_json_op_row *op, unsigned seen)
{
    ev->op = op->op;
    if (ev->op == TP_EV_NOTE)
        ev->note = tp_note_find(ev->name);
    ev->has_time = seen & NEED(T);
    ev->has_size = seen & NEED(SIZE);
    ev->has_align = seen & NEED(ALIGN);
    ev->has_stream = seen & NEED(STREAM);
    ev->has_free = seen & NEED(FREE);
    ev->has_at = seen & NEED(AT);
}

/* Reads the event at the beginning of a text, which has *used bytes. If the members are not
 * well-formed, TP_EINPUT has no message: the caller has checked the text, or discards the
 * result. */
static int read_event(struct tp_json_scan *s, struct tp_span text, struct tp_event *ev,
                      size_t *used, struct tp_err *err)
{
    static const struct tp_event blank;
    struct members m = {.walk = tp_span_members(text), .ev = ev};
    m.walk.strict = true;
    m.walk.one_line = s->one_line;
    *ev = blank; /* a copy is faster than zeroing */
    ev->line = s->line;
    int rc = read_members(s, &m, err);
    if (rc == TP_OK && m.walk.wrong)
        return TP_EINPUT;
    *used = (size_t)(m.walk.at - text.at);
    if (rc == TP_OK && m.unknown > 1)
        rc = tp_json_unique(s, (struct tp_span){text.at, *used}, err);
    if (rc == TP_OK)
        rc = check_needs(s, m.op, m.seen, ev->name, err);
    if (rc == TP_OK)
        tp_json_event_settle(ev, m.op, m.seen);
    return rc;
}

/* Reads and takes the event if it lies wholly in the block and has no error. */
static bool read_in_place(struct tp_json_scan *s, struct tp_event *ev)
{
    size_t used = 0;
    struct tp_span text = {(const char *)s->block, s->shown < EVENT_MAX ? s->shown : EVENT_MAX};
    s->line = tp_input_line(s->in);
    if (read_event(s, text, ev, &used, NULL) != TP_OK)
        return false;
    tp_input_take(s->in, used);
    return true;
}

int tp_json_event_read(struct tp_json_scan *s, struct tp_event *ev, struct tp_err *err)
{
    struct tp_span text;
    size_t used = 0;
    bool object = s->shown > 0 && *s->block == '{';
    if (object && read_in_place(s, ev))
        return TP_OK;
    int rc = tp_json_read(s, EVENT_MAX, &text, err);
    if (rc == TP_OK && !object)
        return tp_json_fail(s, s->line, err, " is not an object");
    return rc == TP_OK ? read_event(s, text, ev, &used, err) : rc;
}

/* Applies the explicit number of an event in a converted trace. It is the number of the event
 * before, which then is shared, or a higher one, and the numbers between are skipped. */
static int follow_number(const struct tp_json_scan *s, struct tp_lower *lo, struct tp_event *ev,
                         struct tp_err *err)
{
    uint64_t count = tp_lower_count(lo);
    if (ev->number == 0 || ev->op == TP_EV_INITIAL)
        return TP_OK;
    if (ev->number < count)
        return tp_json_fail(s, s->line, err, ": 'event_number' falls, after %s", tp_count(count).s);
    ev->uncounted = ev->number == count;
    return ev->number > count + 1 ? tp_lower_skip_many(lo, ev->number - count - 1, err) : TP_OK;
}

int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err)
{
    struct tp_event ev;
    int rc = tp_json_event_read(s, &ev, err);
    if (rc == TP_OK)
        rc = follow_number(s, r->lower, &ev, err);
    if (rc == TP_OK)
        rc = tp_lower_event(r->lower, &ev, err);
    if (rc == TP_OK && ev.place_bytes && ev.op != TP_EV_INITIAL && ev.op != TP_EV_MARK)
        rc = tp_places_add(r->places, tp_lower_count(r->lower), ev.place, ev.place_bytes, err);
    return rc;
}
