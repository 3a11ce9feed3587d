/* An event: a table of keys says where each value goes, a table of ops which keys it needs.
 *
 *     cut --> cJSON's tree --> members --> event        every event, and every error
 *     plain ------------------------------> event       most of them, see json_plain.c */
#include "traces/formats/json/json_event.h"

#include "alloc/base/clean.h"
#include "alloc/base/opt.h"
#include "traces/formats/json/json_event_rows.h"
#include "traces/formats/json/json_plain.h"
#include "traces/lower/place_table.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_MAX ((size_t)64 << 10) /* bytes of one event */
#define KEYS_MAX  64
#define MISSES    16 /* events in a row that are not plain, before most are not asked */

#define NEED(key) TP_JSON_BIT(TP_JSON_##key)

const struct tp_json_key_row tp_json_keys[TP_JSON_KEYS] = {
    [TP_JSON_T] = {"t", offsetof(struct tp_event, time_ns), {.max = UINT64_MAX}},
    [TP_JSON_OP] = {"op", 0, {0}},
    [TP_JSON_ID] = {"id",
                    offsetof(struct tp_event, id),
                    {.may_be_negative = true, .max = INT64_MAX}},
    [TP_JSON_SIZE] = {"size",
                      offsetof(struct tp_event, size),
                      {.max = TP_MAX_SIZE, .max_text = "2^48 bytes"}},
    [TP_JSON_ALIGN] = {"align",
                       offsetof(struct tp_event, align),
                       {.max = UINT64_C(1) << TP_MAX_ALIGN_LOG2, .max_text = "2^30"}},
    [TP_JSON_THREAD] = {"thread", offsetof(struct tp_event, thread), {.max = UINT64_MAX}},
    [TP_JSON_STREAM] = {"stream",
                        offsetof(struct tp_event, stream),
                        {.may_be_negative = true, .max = INT64_MAX}},
    [TP_JSON_NAME] = {"name", 0, {0}},
    [TP_JSON_FREE] = {"free",
                      offsetof(struct tp_event, free_bytes),
                      {.max = TP_MAX_SIZE, .max_text = "2^48 bytes"}},
    [TP_JSON_NUMBER] = {"event_number",
                        offsetof(struct tp_event, number),
                        {.max = UINT64_C(1) << 53, .max_text = "2^53"}},
    [TP_JSON_PLACE] = {"place", 0, {0}},
};

/* What an operation cannot do without. */
#define NEEDS(flags)                                                                               \
    (((flags) & (TP_IS_NEW | TP_IS_LIVE) ? NEED(ID) : 0u) | ((flags)&TP_ASKS ? NEED(SIZE) : 0u) |  \
     ((flags)&TP_NEEDS_STREAM ? NEED(STREAM) : 0u) |                                               \
     ((flags) & (TP_HAS_NAME | TP_HAS_NOTE) ? NEED(NAME) : 0u))
#define ROW(op, number, name, verb, latency, rank, flags)                                          \
    {name, TP_##op == TP_RELEASE ? TP_EV_FREE : TP_EV_##op, NEEDS(flags)},
const struct tp_json_op_row tp_json_ops[TP_JSON_OPS] = {
    TP_RECORDED_OPS(ROW){"initial", TP_EV_INITIAL, NEEDS(TP_NEW_OBJECT)}};

static int unknown_op(const struct tp_json_scan *s, const char *name, struct tp_err *err)
{
    const char *names[TP_JSON_OPS + 1] = {NULL};
    char shown[64];
    for (size_t i = 0; i < TP_JSON_OPS; i++)
        names[i] = tp_json_ops[i].name;
    tp_clean_text(name, shown, sizeof shown);
    const char *near = tp_nearest(shown, names);
    int rc = tp_json_fail(s, s->line, err, ": unknown op '%s'", shown);
    return near ? tp_hint(err, rc, "did you mean '%s'? 'tapool help format' lists all", near)
                : tp_hint(err, rc, "'tapool help format' lists all");
}

static int read_op(const struct tp_json_scan *s, const cJSON *item,
                   const struct tp_json_op_row **row, struct tp_err *err)
{
    if (!cJSON_IsString(item)) {
        char shown[80];
        tp_json_show(item, shown, sizeof shown);
        return tp_json_fail(s, s->line, err, ": 'op' is %s, not a text", shown);
    }
    for (size_t i = 0; i < TP_JSON_OPS; i++) {
        if (strcmp(tp_json_ops[i].name, item->valuestring) == 0) {
            *row = &tp_json_ops[i];
            return TP_OK;
        }
    }
    return unknown_op(s, item->valuestring, err);
}

static int read_text(const struct tp_json_scan *s, const struct tp_json_key_row *row,
                     const cJSON *item, struct tp_event *ev, struct tp_err *err)
{
    if (!cJSON_IsString(item)) {
        char shown[80];
        tp_json_show(item, shown, sizeof shown);
        return tp_json_fail(s, s->line, err, ": '%s' is %s, not a text", row->name, shown);
    }
    if (row == &tp_json_keys[TP_JSON_NAME]) {
        ev->name = item->valuestring;
    } else {
        ev->place = item->valuestring;
        ev->place_bytes = strlen(item->valuestring);
    }
    return TP_OK;
}

static int read_number(const struct tp_json_scan *s, const cJSON *item,
                       const struct tp_json_key_row *row, struct tp_event *ev, struct tp_err *err)
{
    uint64_t bits = 0;
    int rc = tp_json_integer(s, item, &row->range, &bits, err);
    memcpy((char *)ev + row->offset, &bits, sizeof bits);
    return rc;
}

static const struct tp_json_key_row *find_key(const char *name)
{
    for (const struct tp_json_key_row *row = tp_json_keys; row < tp_json_keys + TP_JSON_KEYS;
         row++) {
        if (row->name[0] == name[0] && strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* All members into `ev`; `seen` says which. *unknown counts keys that are not ours. */
static int read_members(const struct tp_json_scan *s, const cJSON *tree, struct tp_event *ev,
                        const struct tp_json_op_row **op, unsigned *seen, struct tp_err *err)
{
    unsigned count = 0, unknown = 0;
    int rc = TP_OK;
    for (const cJSON *item = tree->child; item && rc == TP_OK; item = item->next) {
        if (++count > KEYS_MAX)
            return tp_json_fail(s, s->line, err, " has more than %d keys", KEYS_MAX);
        const struct tp_json_key_row *row = find_key(item->string);
        if (!row) {
            unknown++;
            continue;
        }
        unsigned bit = TP_JSON_BIT(row - tp_json_keys);
        if (*seen & bit)
            return tp_json_fail(s, s->line, err, " has '%s' twice", row->name);
        *seen |= bit;
        rc = row == &tp_json_keys[TP_JSON_OP] ? read_op(s, item, op, err)
             : row->range.max == 0            ? read_text(s, row, item, ev, err)
                                              : read_number(s, item, row, ev, err);
    }
    return rc == TP_OK && unknown > 1 ? tp_json_unique(s, tree, err) : rc;
}

/* Of all notes only this one is about an object. */
static bool names_object(const struct tp_json_op_row *op, const char *name)
{
    return op->op == TP_EV_NOTE && name && tp_note_find(name) == TP_NOTE_FREE_REQUESTED;
}

static int check_needs(const struct tp_json_scan *s, const struct tp_json_op_row *op, unsigned seen,
                       const char *name, struct tp_err *err)
{
    unsigned needs = op ? op->needs | (names_object(op, name) ? NEED(ID) : 0) : NEED(OP);
    for (unsigned i = 0; i < TP_JSON_KEYS; i++) {
        if (!(needs & ~seen & TP_JSON_BIT(i)))
            continue;
        int rc =
            op ? tp_json_fail(s, s->line, err, " (%s) has no '%s'", op->name, tp_json_keys[i].name)
               : tp_json_fail(s, s->line, err, " has no '%s'", tp_json_keys[i].name);
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
}

int tp_json_event_by_tree(struct tp_json_scan *s, struct tp_json_event *out, struct tp_err *err)
{
    const struct tp_json_op_row *op = NULL;
    struct tp_event *ev = &out->event;
    unsigned seen = 0;
    *out = (struct tp_json_event){0};
    int rc = tp_json_cut(s, EVENT_MAX, err);
    if (rc == TP_OK)
        rc = tp_json_parse(s, &out->tree, err);
    if (rc != TP_OK)
        return rc;
    if (!cJSON_IsObject(out->tree))
        return tp_json_fail(s, s->line, err, " is not an object");
    rc = read_members(s, out->tree, ev, &op, &seen, err);
    if (rc == TP_OK)
        rc = check_needs(s, op, seen, ev->name, err);
    if (rc != TP_OK)
        return rc;
    tp_json_event_settle(ev, op, seen);
    ev->line = s->line;
    return TP_OK;
}

/* Reads and takes the event at the next byte if it is plain. Where many were not, only some of
 * those that follow are asked. */
static bool read_plain(struct tp_json_scan *s, struct tp_event *ev)
{
    const unsigned char *data = NULL;
    size_t got = 0, used = 0;
    if ((s->misses >= MISSES && s->event % MISSES != 0) ||
        tp_input_block(s->in, &data, &got, NULL) != TP_OK)
        return false;
    if (!tp_json_plain(data, got < EVENT_MAX ? got : EVENT_MAX, s->one_line, ev, &used)) {
        s->misses += s->misses < MISSES;
        return false;
    }
    s->misses = 0;
    ev->line = s->line = tp_input_line(s->in);
    tp_input_take(s->in, used);
    return true;
}

int tp_json_event_read(struct tp_json_scan *s, struct tp_json_event *out, struct tp_err *err)
{
    int first = 0;
    out->tree = NULL;
    int rc = tp_json_next(s, &first, err);
    if (rc != TP_OK || read_plain(s, &out->event))
        return rc;
    return tp_json_event_by_tree(s, out, err);
}

/* A number of its own, of a trace that was converted: that of the event before it, which it shares,
 * or a higher one, behind events that nothing was made of. */
static int follow_number(const struct tp_json_scan *s, struct tp_lower *lo, struct tp_event *ev,
                         struct tp_err *err)
{
    uint64_t count = tp_lower_count(lo);
    char was[TP_GROUPED];
    if (ev->number == 0 || ev->op == TP_EV_INITIAL)
        return TP_OK;
    if (ev->number < count)
        return tp_json_fail(s, s->line, err, ": 'event_number' falls, after %s",
                            tp_grouped(count, was));
    ev->uncounted = ev->number == count;
    return ev->number > count + 1 ? tp_lower_skip_many(lo, ev->number - count - 1, err) : TP_OK;
}

int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err)
{
    struct tp_json_event event;
    struct tp_event *ev = &event.event;
    int rc = tp_json_event_read(s, &event, err);
    if (rc == TP_OK)
        rc = follow_number(s, r->lower, ev, err);
    if (rc == TP_OK)
        rc = tp_lower_event(r->lower, ev, err);
    if (rc == TP_OK && ev->place_bytes && ev->op != TP_EV_INITIAL && ev->op != TP_EV_MARK)
        rc = tp_places_add(r->places, tp_lower_count(r->lower), ev->place, ev->place_bytes, err);
    tp_json_event_release(&event);
    return rc;
}

void tp_json_event_release(struct tp_json_event *e)
{
    cJSON_Delete(e->tree);
    e->tree = NULL;
}
