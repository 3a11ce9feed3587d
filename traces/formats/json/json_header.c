/* The header of a JSON trace, member by member, so that "streams" may be long and nothing is kept.
 *
 * Order is part of the format: what decides how events are read comes before them, and a file is
 * read once. Members that tapool does not know are skipped. */
#include "traces/formats/json/json_header.h"

#include "traces/formats/json/json_value.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX    ((size_t)1 << 10) /* bytes of a member's name */
#define META_MAX   ((size_t)1 << 20)
#define STREAM_MAX ((size_t)4 << 10) /* one element of "streams" */

static const char *const format_name = "tapool-trace";

typedef int use_fn(struct tp_json_header *h, const cJSON *value, struct tp_err *err);

/* ---- the members ---- */

/* A value of at most so many bytes, for `use`. */
static int read_value(struct tp_json_header *h, size_t most, use_fn *use, struct tp_err *err)
{
    cJSON *value = NULL;
    int rc = tp_json_cut(h->scan, most, err);
    if (rc == TP_OK)
        rc = tp_json_parse(h->scan, &value, err);
    if (rc == TP_OK)
        rc = use(h, value, err);
    cJSON_Delete(value);
    return rc;
}

static int use_format(struct tp_json_header *h, const cJSON *value, struct tp_err *err)
{
    char shown[80];
    if (cJSON_IsString(value) && strcmp(value->valuestring, format_name) == 0)
        return TP_OK;
    tp_json_show(value, shown, sizeof shown);
    int rc = tp_json_fail(h->scan, h->scan->line, err, " is %s, not \"%s\"", shown, format_name);
    return tp_hint(err, rc, "'tapool help format' shows the format");
}

static int use_version(struct tp_json_header *h, const cJSON *value, struct tp_err *err)
{
    char shown[80];
    if (cJSON_IsNumber(value) && value->valuedouble == 1.0)
        return TP_OK;
    tp_json_show(value, shown, sizeof shown);
    return tp_json_fail(h->scan, h->scan->line, err, " is %s: this tapool reads version 1", shown);
}

/* A text of "meta"; NULL where it is not there. */
static int meta_text(struct tp_json_header *h, const cJSON *meta, const char *name,
                     const char **text, struct tp_err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(meta, name);
    *text = NULL;
    if (!item)
        return TP_OK;
    if (cJSON_IsString(item)) {
        *text = item->valuestring;
        return TP_OK;
    }
    char shown[80];
    tp_json_show(item, shown, sizeof shown);
    return tp_json_fail(h->scan, h->scan->line, err, ": '%s' is %s, not a text", name, shown);
}

static int meta_kind(struct tp_json_header *h, const cJSON *meta, struct tp_err *err)
{
    const char *text = NULL;
    int rc = meta_text(h, meta, "kind", &text, err);
    if (rc != TP_OK || !text)
        return rc;
    if (strcmp(text, "device") == 0) {
        h->reading->meta->kind = TP_KIND_DEVICE;
    } else if (strcmp(text, "host") != 0) {
        char shown[80];
        tp_json_show(cJSON_GetObjectItemCaseSensitive(meta, "kind"), shown, sizeof shown);
        return tp_json_fail(h->scan, h->scan->line, err,
                            ": 'kind' is %s, not \"host\" or \"device\"", shown);
    }
    return tp_lower_kind(h->reading->lower, h->reading->meta->kind, err);
}

static int meta_remarks(struct tp_json_header *h, const cJSON *meta, struct tp_err *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(meta, "remarks");
    int rc = TP_OK;
    for (const cJSON *item = cJSON_IsArray(list) ? list->child : NULL; item && rc == TP_OK;
         item = item->next)
        if (cJSON_IsString(item))
            rc = tp_meta_remark(h->reading->meta, item->valuestring, err);
    return rc;
}

static int use_meta(struct tp_json_header *h, const cJSON *meta, struct tp_err *err)
{
    struct tp_meta *to = h->reading->meta;
    if (!cJSON_IsObject(meta))
        return tp_json_fail(h->scan, h->scan->line, err, " is not an object");
    int rc = tp_json_unique(h->scan, meta, err);
    if (rc == TP_OK)
        rc = meta_kind(h, meta, err);
    for (size_t i = 0; rc == TP_OK && i < TP_META_JSON_TEXTS; i++) {
        const char *text = NULL;
        rc = meta_text(h, meta, tp_meta_text_names[i], &text, err);
        if (rc == TP_OK && text)
            rc = tp_meta_set(tp_meta_text(to, i), text, err);
    }
    to->loop = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(meta, "loop"));
    to->wrapped = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(meta, "wrapped"));
    return rc == TP_OK ? meta_remarks(h, meta, err) : rc;
}

static int use_recorded(struct tp_json_header *h, const cJSON *json, struct tp_err *err)
{
    struct tp_err why = {0};
    int rc = tp_recorded_from_json(h->reading->recorded, json, &why);
    return rc == TP_EINPUT ? tp_json_fail(h->scan, h->scan->line, err, ": %s", why.text)
           : rc != TP_OK   ? tp_fail(err, why.status, "%s", why.text)
                           : TP_OK;
}

/* Those that were made when the trace was converted. Of a later tapool's kinds nothing is known. */
static int use_repairs(struct tp_json_header *h, const cJSON *repairs, struct tp_err *err)
{
    static const struct tp_json_range range = {.max = UINT64_MAX >> 1};
    uint64_t counts[TP_REPAIR_COUNT] = {0};
    int rc = cJSON_IsObject(repairs)
                 ? tp_json_unique(h->scan, repairs, err)
                 : tp_json_fail(h->scan, h->scan->line, err, " is not an object");
    for (size_t i = 0; rc == TP_OK && i < TP_REPAIR_COUNT; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(repairs, tp_repair_names[i]);
        if (item)
            rc = tp_json_integer(h->scan, item, &range, &counts[i], err);
    }
    if (rc == TP_OK)
        tp_lower_add_repairs(h->reading->lower, counts);
    return rc;
}

static int use_stream(struct tp_json_header *h, const cJSON *stream, struct tp_err *err)
{
    static const struct tp_json_range range = {.may_be_negative = true, .max = INT64_MAX};
    const struct tp_json_scan *s = h->scan;
    uint64_t id = 0, device = 0;
    if (!cJSON_IsObject(stream))
        return tp_json_fail(s, s->line, err, " holds something that is not an object");
    const cJSON *id_item = cJSON_GetObjectItemCaseSensitive(stream, "id");
    const cJSON *device_item = cJSON_GetObjectItemCaseSensitive(stream, "device");
    if (!id_item)
        return tp_json_fail(s, s->line, err, " has an element without 'id'");
    int rc = tp_json_unique(s, stream, err);
    if (rc == TP_OK)
        rc = tp_json_integer(s, id_item, &range, &id, err);
    if (rc == TP_OK && device_item)
        rc = tp_json_integer(s, device_item, &range, &device, err);
    if (rc != TP_OK)
        return rc;
    struct tp_err why = {0};
    rc = tp_lower_stream(h->reading->lower, (int64_t)id, (int64_t)device, &why);
    return rc == TP_EINPUT ? tp_json_fail(s, s->line, err, ": %s", why.text)
           : rc != TP_OK   ? tp_fail(err, why.status, "%s", why.text)
                           : TP_OK;
}

/* The next byte that is no white space must be one of two, which may be the same; it is taken. */
static int take_one_of(struct tp_json_scan *s, const char *two, int *which, struct tp_err *err)
{
    int rc = tp_json_next(s, which, err);
    if (rc != TP_OK)
        return rc;
    if (*which < 0)
        return tp_json_ends(s, err);
    if (*which != two[0] && *which != two[1]) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, two[0] == two[1] ? "'%c'" : "'%c' or '%c'", two[0], two[1]);
        return tp_json_fail(s, tp_input_line(s->in), err, ": %s is missing: not valid JSON",
                            wanted);
    }
    tp_input_take(s->in, 1);
    return TP_OK;
}

static int read_streams(struct tp_json_header *h, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK)
        return rc;
    if (byte != '[')
        return byte < 0 ? tp_json_ends(s, err)
                        : tp_json_fail(s, tp_input_line(s->in), err, " is not a list");
    tp_input_take(s->in, 1);
    rc = tp_json_next(s, &byte, err);
    if (rc == TP_OK && byte == ']')
        return tp_json_fail(s, tp_input_line(s->in), err,
                            " is empty: declare a stream or leave it out");
    while (rc == TP_OK && byte != ']') {
        rc = read_value(h, STREAM_MAX, use_stream, err);
        if (rc == TP_OK)
            rc = take_one_of(s, ",]", &byte, err);
    }
    return rc;
}

/* An unknown member. Brackets and strings may be of any length; words and numbers must be some. */
static int skip_member(struct tp_json_header *h, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK)
        return rc;
    if (byte == '{' || byte == '[' || byte == '"' || byte < 0)
        return tp_json_skip(s, err);
    cJSON *value = NULL;
    rc = tp_json_cut(s, KEY_MAX, err);
    if (rc == TP_OK)
        rc = tp_json_parse(s, &value, err);
    cJSON_Delete(value);
    return rc;
}

/* ---- the object ---- */

enum { FORMAT, VERSION, META, STREAMS, RECORDED, REPAIRS, EVENTS, KNOWN_COUNT };
static const struct member {
    const char *name, *subject;
    size_t most; /* bytes */
    use_fn *use; /* NULL: a list, read element by element */
} members[KNOWN_COUNT] = {
    [FORMAT] = {"format", "'format'", KEY_MAX, use_format},
    [VERSION] = {"version", "'version'", KEY_MAX, use_version},
    [META] = {"meta", "'meta'", META_MAX, use_meta},
    [STREAMS] = {"streams", "'streams'", 0, NULL},
    [RECORDED] = {"recorded", "'recorded'", META_MAX, use_recorded},
    [REPAIRS] = {"repairs", "'repairs'", STREAM_MAX, use_repairs},
    [EVENTS] = {"events", "'events'", 0, NULL},
};

/* Keeps the name that was just cut, to see it come twice. */
static int keep_name(struct tp_json_header *h, const char **name, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    cJSON *value = NULL;
    int rc = tp_json_parse(s, &value, err);
    if (rc != TP_OK)
        return rc;
    char shown[80];
    tp_json_show(value, shown, sizeof shown);
    for (size_t i = 0; i < h->count && rc == TP_OK; i++) {
        if (strcmp(h->names[i], value->valuestring) == 0)
            rc = tp_json_fail(s, s->line, err, " has %s twice", shown);
    }
    if (rc == TP_OK && h->count == TP_JSON_MEMBERS_MAX)
        rc = tp_json_fail(s, s->line, err, " has more than %d members", TP_JSON_MEMBERS_MAX);
    if (rc == TP_OK) {
        *name = h->names[h->count++] = value->valuestring;
        value->valuestring = NULL; /* ours now */
    }
    cJSON_Delete(value);
    return rc;
}

static int read_name(struct tp_json_header *h, const char **name, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK)
        return rc;
    if (byte < 0)
        return tp_json_ends(s, err);
    if (byte != '"')
        return tp_json_fail(s, tp_input_line(s->in), err,
                            ": the name of a member is missing: not valid JSON");
    rc = tp_json_cut(s, KEY_MAX, err);
    if (rc == TP_OK)
        rc = keep_name(h, name, err);
    return rc == TP_OK ? take_one_of(s, "::", &byte, err) : rc;
}

static int read_member(struct tp_json_header *h, enum tp_json_stop *stop, struct tp_err *err)
{
    const char *name = NULL;
    const struct member *m = members;
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
    return m->use ? read_value(h, m->most, m->use, err) : read_streams(h, err);
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
    int rc = h->opened ? TP_OK : take_one_of(s, "{{", &byte, err);
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
            rc = take_one_of(s, ",}", &byte, err);
        if (rc != TP_OK || (!first && byte == '}'))
            break;
        first = false;
        rc = read_member(h, stop, err);
    }
    return rc == TP_OK ? complete(h, err) : rc;
}

void tp_json_header_release(struct tp_json_header *h)
{
    for (size_t i = 0; i < h->count; i++)
        cJSON_free(h->names[i]);
    h->count = 0;
}
