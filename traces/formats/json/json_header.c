/* Reads the header of a JSON trace member by member, so that "streams" may be long without being
 * kept.
 *
 * The order is part of the format: a file is read once, so members that decide how events are read
 * come before them. Unknown members are skipped. */
#include "traces/formats/json/json_header.h"

#include "traces/formats/json/json_event.h"
#include "traces/places/place_table.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX    ((size_t)1 << 10) /* longest name of a member, in bytes */
#define META_MAX   ((size_t)1 << 20)
#define STREAM_MAX ((size_t)4 << 10) /* bytes of one element of "streams" */

static const char *const format_name = "tapool-trace";

/* Members that are known. */
enum { FORMAT, VERSION, META, STREAMS, SEGMENTS, RECORDED, REPAIRS, EVENTS, KNOWN_COUNT };

typedef int use_fn(struct tp_json_header *h, struct tp_span value, struct tp_err *err);

/* ---- the members ---- */

/* Reads a value of at most `most` bytes and hands it to `use`. */
static int read_value(struct tp_json_header *h, size_t most, use_fn *use, struct tp_err *err)
{
    struct tp_span value;
    int rc = tp_json_read(h->scan, most, &value, err);
    return rc == TP_OK ? use(h, value, err) : rc;
}

static int use_format(struct tp_json_header *h, struct tp_span value, struct tp_err *err)
{
    char shown[TP_JSON_SHOWN];
    if (tp_span_is(value, format_name))
        return TP_OK;
    int rc = tp_json_fail(h->scan, h->scan->line, err, " is %s, not \"%s\"",
                          tp_json_show(value, shown), format_name);
    return tp_hint(err, rc, "'tapool help format' shows the format");
}

static int use_version(struct tp_json_header *h, struct tp_span value, struct tp_err *err)
{
    char shown[TP_JSON_SHOWN];
    double version = 0;
    if (tp_span_double(value, &version) && version == 1.0)
        return TP_OK;
    return tp_json_fail(h->scan, h->scan->line, err, " is %s: this tapool reads version 1",
                        tp_json_show(value, shown));
}

/* Looks up members of an object like tp_span_pick. TP_EINPUT: a member is there twice. */
static int pick(struct tp_json_header *h, struct tp_span object, const char *const *names,
                struct tp_span *out, size_t count, struct tp_err *err)
{
    if (!tp_span_pick(object, names, out, count))
        return tp_json_fail(h->scan, h->scan->line, err, " is not an object");
    return tp_json_unique(h->scan, object, err);
}

/* ---- what the trace says of itself ---- */

static int meta_kind(struct tp_json_header *h, struct tp_span value, struct tp_err *err)
{
    char shown[TP_JSON_SHOWN];
    int rc = value.at ? tp_json_need_text(h->scan, "kind", value, err) : TP_OK;
    if (rc != TP_OK || !value.at)
        return rc;
    if (tp_span_is(value, "device"))
        h->reading->meta->kind = TP_KIND_DEVICE;
    else if (!tp_span_is(value, "host"))
        return tp_json_fail(h->scan, h->scan->line, err,
                            ": 'kind' is %s, not \"host\" or \"device\"",
                            tp_json_show(value, shown));
    return tp_lower_kind(h->reading->lower, h->reading->meta->kind, err);
}

static int meta_text(struct tp_json_header *h, size_t i, struct tp_span value, struct tp_err *err)
{
    int rc = tp_json_need_text(h->scan, tp_meta_text_names[i], value, err);
    char *text = rc == TP_OK ? tp_span_copy(value) : NULL;
    if (rc == TP_OK && !text)
        return tp_input_no_memory(h->scan->in, err);
    if (rc == TP_OK)
        tp_meta_set(h->reading->meta, tp_meta_text(h->reading->meta, i), "%s", text);
    free(text);
    return rc;
}

/* Adds the texts of a list as remarks; other elements are ignored. */
static int meta_remarks(struct tp_json_header *h, struct tp_span list, struct tp_err *err)
{
    struct tp_span_walk w = tp_span_elements(list);
    struct tp_span remark;
    while (tp_span_element(&w, &remark)) {
        if (!tp_span_is_text(remark))
            continue;
        char *text = tp_span_copy(remark);
        if (!text)
            return tp_input_no_memory(h->scan->in, err);
        tp_meta_remark(h->reading->meta, "%s", text);
        free(text);
    }
    return TP_OK;
}

/* {"below": 16384, "one_in": 100}: of what is smaller, only one in so many has a place. */
static int meta_sampled(struct tp_json_header *h, struct tp_span sampled, struct tp_err *err)
{
    static const struct tp_json_range range = {.max = UINT64_MAX >> 1};
    static const char *const names[] = {"below", "one_in"};
    struct tp_place_table *table = NULL;
    struct tp_span found[2] = {0};
    uint64_t values[2] = {0, 1};
    int rc = pick(h, sampled, names, found, 2, err);
    for (size_t i = 0; rc == TP_OK && i < 2; i++)
        if (found[i].at)
            rc = tp_json_integer(h->scan, names[i], found[i], &range, &values[i], err);
    if (rc == TP_OK)
        rc = tp_place_table_of(h->reading->places, &table, err);
    if (rc == TP_OK)
        tp_place_table_sample(table,
                              (struct tp_place_sampling){.size = values[0], .every = values[1]});
    return rc;
}

static int meta_number(struct tp_json_header *h, size_t i, struct tp_span number,
                       struct tp_err *err)
{
    static const struct tp_json_range range = {.max = (uint64_t)TP_META_NUMBER_MAX};
    uint64_t value = 0;
    int rc = tp_json_integer(h->scan, tp_meta_number_names[i], number, &range, &value, err);
    tp_meta_set_number(h->reading->meta, i, (double)value);
    return rc;
}

static int use_meta(struct tp_json_header *h, struct tp_span meta, struct tp_err *err)
{
    enum {
        LOOP = TP_META_JSON_TEXTS,
        WRAPPED,
        KIND,
        REMARKS,
        SAMPLED,
        NUMBERS,
        COUNT = NUMBERS + TP_META_NUMBERS
    };
    const char *names[COUNT] = {[LOOP] = "loop",
                                [WRAPPED] = "wrapped",
                                [KIND] = "kind",
                                [REMARKS] = "remarks",
                                [SAMPLED] = "sampled"};
    struct tp_span found[COUNT] = {0};
    memcpy(names, tp_meta_text_names, TP_META_JSON_TEXTS * sizeof *names);
    memcpy(names + NUMBERS, tp_meta_number_names, sizeof tp_meta_number_names);
    int rc = pick(h, meta, names, found, COUNT, err);
    if (rc == TP_OK)
        rc = meta_kind(h, found[KIND], err);
    for (size_t i = 0; rc == TP_OK && i < TP_META_JSON_TEXTS; i++)
        if (found[i].at)
            rc = meta_text(h, i, found[i], err);
    if (rc == TP_OK && found[SAMPLED].at)
        rc = meta_sampled(h, found[SAMPLED], err);
    for (size_t i = 0; rc == TP_OK && i < TP_META_NUMBERS; i++)
        if (found[NUMBERS + i].at)
            rc = meta_number(h, i, found[NUMBERS + i], err);
    h->reading->meta->loop = found[LOOP].at && *found[LOOP].at == 't'; /* true */
    h->reading->meta->wrapped = found[WRAPPED].at && *found[WRAPPED].at == 't';
    return rc == TP_OK ? meta_remarks(h, found[REMARKS], err) : rc;
}

/* Puts the place before the message of a function that knows none. */
static int placed(const struct tp_json_header *h, int rc, const struct tp_err *why,
                  struct tp_err *err)
{
    if (rc == TP_EINPUT)
        return tp_json_fail(h->scan, h->scan->line, err, ": %s", why->text);
    return rc != TP_OK ? tp_fail(err, why->status, "%s", why->text) : TP_OK;
}

static int use_recorded(struct tp_json_header *h, struct tp_span recorded, struct tp_err *err)
{
    struct tp_err why = {0};
    cJSON *tree = cJSON_ParseWithLength(recorded.at, recorded.size);
    if (!tree)
        return tp_input_no_memory(h->scan->in, err);
    int rc = tp_recorded_from_json(h->reading->recorded, tree, &why);
    cJSON_Delete(tree);
    return placed(h, rc, &why, err);
}

/* Reads the repairs that were made when the trace was converted. Kinds of a later version are
 * ignored. */
static int use_repairs(struct tp_json_header *h, struct tp_span repairs, struct tp_err *err)
{
    static const struct tp_json_range range = {.max = UINT64_MAX >> 1};
    uint64_t counts[TP_REPAIR_COUNT] = {0};
    struct tp_span found[TP_REPAIR_COUNT] = {0};
    int rc = pick(h, repairs, tp_repair_names, found, TP_REPAIR_COUNT, err);
    for (size_t i = 0; rc == TP_OK && i < TP_REPAIR_COUNT; i++)
        if (found[i].at)
            rc = tp_json_integer(h->scan, tp_repair_names[i], found[i], &range, &counts[i], err);
    if (rc == TP_OK)
        tp_lower_add_repairs(h->reading->lower, counts);
    return rc;
}

static int use_stream(struct tp_json_header *h, struct tp_span stream, struct tp_err *err)
{
    static const struct tp_json_range range = {.may_be_negative = true, .max = INT64_MAX};
    static const char *const names[] = {"id", "device"};
    const struct tp_json_scan *s = h->scan;
    struct tp_span found[2] = {0};
    struct tp_err why = {0};
    uint64_t values[2] = {0};
    if (!tp_span_pick(stream, names, found, 2))
        return tp_json_fail(s, s->line, err, " holds something that is not an object");
    if (!found[0].at)
        return tp_json_fail(s, s->line, err, " has an element without 'id'");
    int rc = tp_json_unique(s, stream, err);
    for (size_t i = 0; rc == TP_OK && i < 2; i++)
        if (found[i].at)
            rc = tp_json_integer(s, names[i], found[i], &range, &values[i], err);
    if (rc != TP_OK)
        return rc;
    rc = tp_lower_stream(h->reading->lower, (int64_t)values[0], (int64_t)values[1], &why);
    return placed(h, rc, &why, err);
}

static int use_segment(struct tp_json_header *h, struct tp_span segment, struct tp_err *err)
{
    enum { STREAM, BASE, SIZE, POOL, POOL_2, NUMBERS, SMALL = NUMBERS, EXPANDABLE, COUNT };
    static const char *const names[COUNT] = {"stream", "base",  "size",      "pool",
                                             "pool_2", "small", "expandable"};
    const struct tp_json_scan *s = h->scan;
    struct tp_span found[COUNT] = {0};
    struct tp_err why = {0};
    uint64_t values[NUMBERS] = {0};
    int rc = pick(h, segment, names, found, COUNT, err);
    if (rc == TP_OK && (!found[BASE].at || !found[SIZE].at))
        return tp_json_fail(s, s->line, err, " has an element without 'base' or 'size'");
    for (size_t i = 0; rc == TP_OK && i < NUMBERS; i++) {
        const struct tp_json_range range = {.may_be_negative = i == STREAM,
                                            .max = i == STREAM ? INT64_MAX : UINT64_MAX};
        if (found[i].at)
            rc = tp_json_integer(s, names[i], found[i], &range, &values[i], err);
    }
    if (rc != TP_OK)
        return rc;
    const struct tp_heap_segment to = {
        .base = values[BASE],
        .size = values[SIZE],
        .pool = {values[POOL], values[POOL_2]},
        .flags = (found[SMALL].at && *found[SMALL].at == 't' ? TP_HEAP_SMALL : 0u) |
                 (found[EXPANDABLE].at && *found[EXPANDABLE].at == 't' ? TP_HEAP_EXPANDABLE : 0u)};
    if (!(h->known & 1u << STREAMS))
        rc = tp_lower_need_stream(h->reading->lower, 0, 0, &why);
    if (rc == TP_OK)
        rc = tp_lower_segment(h->reading->lower, (int64_t)values[STREAM], &to, &why);
    return placed(h, rc, &why, err);
}

/* Reads a list element by element. */
static int read_list(struct tp_json_header *h, use_fn *use, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_open_list(s, &byte, err);
    if (rc == TP_OK && byte == ']')
        return tp_json_fail(s, tp_input_line(s->in), err, " is empty: leave it out");
    while (rc == TP_OK && byte != ']') {
        rc = read_value(h, STREAM_MAX, use, err);
        if (rc == TP_OK)
            rc = tp_json_take(s, ",]", "", &byte, err);
    }
    return rc;
}

/* Skips an unknown member. Objects, lists and strings may have any length; words and numbers must
 * be valid. */
static int skip_member(struct tp_json_header *h, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK)
        return rc;
    if (byte == '{' || byte == '[' || byte == '"' || byte < 0)
        return tp_json_skip(s, err);
    struct tp_span value;
    return tp_json_read(s, KEY_MAX, &value, err);
}

/* ---- the object ---- */

static const struct header_member {
    const char *name, *subject;
    size_t most; /* bytes; 0: the value is a list, and `use` gets each element */
    use_fn *use;
} members[KNOWN_COUNT] = {
    [FORMAT] = {"format", "'format'", KEY_MAX, use_format},
    [VERSION] = {"version", "'version'", KEY_MAX, use_version},
    [META] = {"meta", "'meta'", META_MAX, use_meta},
    [STREAMS] = {"streams", "'streams'", 0, use_stream},
    [SEGMENTS] = {"segments", "'segments'", 0, use_segment},
    [RECORDED] = {"recorded", "'recorded'", META_MAX, use_recorded},
    [REPAIRS] = {"repairs", "'repairs'", STREAM_MAX, use_repairs},
    [EVENTS] = {"events", "'events'", 0, NULL},
};

/* Keeps the name of a member, to detect a second one. */
static int keep_name(struct tp_json_header *h, struct tp_span value, const char **name,
                     struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    char shown[TP_JSON_SHOWN];
    for (size_t i = 0; i < h->count; i++)
        if (tp_span_is(value, h->names[i]))
            return tp_json_fail(s, s->line, err, " has %s twice", tp_json_show(value, shown));
    if (h->count == TP_JSON_MEMBERS_MAX)
        return tp_json_fail(s, s->line, err, " has more than %d members", TP_JSON_MEMBERS_MAX);
    *name = h->names[h->count] = tp_span_copy(value);
    if (!*name)
        return tp_input_no_memory(h->scan->in, err);
    h->count++;
    return TP_OK;
}

static int read_name(struct tp_json_header *h, const char **name, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_need(s, &byte, err);
    if (rc != TP_OK)
        return rc;
    if (byte != '"')
        return tp_json_fail(s, tp_input_line(s->in), err,
                            ": the name of a member is missing: not valid JSON");
    struct tp_span value;
    rc = tp_json_read(s, KEY_MAX, &value, err);
    if (rc == TP_OK)
        rc = keep_name(h, value, name, err);
    return rc == TP_OK ? tp_json_take(s, "::", "", &byte, err) : rc;
}

static int read_member(struct tp_json_header *h, enum tp_json_stop *stop, struct tp_err *err)
{
    const char *name = NULL;
    const struct header_member *m = members;
    int rc = read_name(h, &name, err);
    if (rc != TP_OK)
        return rc;
    while (m < members + KNOWN_COUNT && strcmp(m->name, name) != 0)
        m++;
    if (m == members + KNOWN_COUNT)
        return skip_member(h, err);
    h->known |= 1u << (m - members);
    if (m == &members[EVENTS]) {
        *stop = TP_JSON_AT_EVENTS;
        return TP_OK;
    }
    h->scan->subject = m->subject;
    if (h->known & 1u << EVENTS)
        return tp_json_fail(h->scan, h->scan->line, err, " must come before 'events'");
    return m->most ? read_value(h, m->most, m->use, err) : read_list(h, m->use, err);
}

static int complete(const struct tp_json_header *h, struct tp_err *err)
{
    for (unsigned i = FORMAT; i <= VERSION; i++) {
        if (h->known & 1u << i)
            continue;
        int rc = tp_fail(err, TP_EINPUT, "%s:%" PRIu64 ": %s %s", tp_input_name(h->scan->in),
                         h->scan->line, members[i].subject,
                         h->known & 1u << EVENTS ? "must come before 'events'"
                                                 : "is missing: not a trace of tapool");
        return tp_hint(err, rc, "'tapool help format' shows the format");
    }
    return TP_OK;
}

int tp_json_header_read(struct tp_json_header *h, enum tp_json_stop *stop, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    bool first = !h->opened;
    s->event = 0;
    s->subject = "the top-level object";
    int rc = h->opened ? TP_OK : tp_json_take(s, "{{", "", &byte, err);
    h->opened = true;
    *stop = TP_JSON_CLOSED;
    while (rc == TP_OK && *stop == TP_JSON_CLOSED) {
        s->subject = "the top-level object";
        rc = tp_json_next(s, &byte, err);
        if (rc == TP_OK && byte == '}' && first) {
            tp_input_take(s->in, 1);
            break;
        }
        if (rc == TP_OK && !first)
            rc = tp_json_take(s, ",}", "", &byte, err);
        if (rc != TP_OK || (!first && byte == '}'))
            break;
        first = false;
        rc = read_member(h, stop, err);
    }
    return rc == TP_OK ? complete(h, err) : rc;
}

int tp_json_trace_read(const struct tp_reading *r,
                       int (*all)(struct tp_json_header *h, struct tp_err *err), struct tp_err *err)
{
    struct tp_json_scan scan = {.in = r->in, .line = 1};
    struct tp_json_header header = {.scan = &scan, .reading = r};
    int rc = all(&header, err);
    for (size_t i = 0; i < header.count; i++)
        free(header.names[i]);
    tp_json_scan_release(&scan);
    return rc;
}
