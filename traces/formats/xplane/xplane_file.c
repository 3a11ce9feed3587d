/* See xplane_file.h. A message is an XSpace of Protocol Buffers:
 *
 *     XSpace   1 plane
 *     XPlane   2 name   3 line   4 names of events (a map)   5 names of statistics (a map)
 *     XLine    2 name   3 time in ns   4 event
 *     XEvent   1 number of its name   2 ps since the line's time   4 statistic
 *     XStat    1 number of its name   2 double   3 unsigned   4 signed   5 text   7 number of a
 * text
 *
 * A map's entry has a number in field 1 and a message in field 2, whose field 2 is the name. The
 * names of a plane come behind its lines, so a plane is kept in memory while it is read:
 * --max-memory bounds it. Fields of other numbers are passed over. Known weakness: an allocator is
 * told from another of its name on one host only where their limits differ. */
#include "traces/formats/xplane/xplane_file.h"

#include "alloc/base/str.h"
#include "traces/input/protobuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE_PLANE = 1 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5 };
enum { LINE_NAME = 2, LINE_TIME = 3, LINE_EVENT = 4, LINE_SHOWN_NAME = 11 };
enum { EVENT_NAME = 1, EVENT_TIME = 2, EVENT_STAT = 4 };
enum { STAT_NAME = 1, STAT_DOUBLE, STAT_UNSIGNED, STAT_SIGNED, STAT_TEXT, STAT_BYTES, STAT_REF };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, NAMED = 2 };

#define HEAD ((size_t)20) /* most bytes of a field's head and length */

/* The statistics of a memory event that are read. */
enum xplane_stat {
    ALLOCATOR,
    ADDRESS,
    REQUESTED,
    CHUNK,
    IN_USE,
    AVAILABLE,
    RESERVED,
    FRAGMENTATION,
    OPERATION,
    STEP,
    REGION,
    DATA_TYPE,
    SHAPE,
    ORDINAL,
    HOST_INDEX,
    STATS
};
static const char *const stat_names[STATS] = {"allocator_name",  "addr",
                                              "requested_bytes", "allocation_bytes",
                                              "bytes_allocated", "bytes_available",
                                              "bytes_reserved",  "fragmentation",
                                              "tf_op",           "id",
                                              "region_type",     "data_type",
                                              "shape",           "device_ordinal",
                                              "index_on_host"};

struct xplane_text {
    const char *at;
    size_t size;
};

/* One statistic's value: a number, or a text. */
struct xplane_value {
    enum { ABSENT, WHOLE, REAL, TEXT } kind;
    uint64_t whole;
    double real;
    struct xplane_text text;
};

/* A name that statistics have or refer to. */
struct stat_name {
    struct xplane_text text;
    uint32_t stat; /* enum xplane_stat; STATS: of no interest */
};

/* A plane while it is read. */
struct reading_plane {
    struct tp_xplane *x;
    struct tp_protobuf body;
    const unsigned char *begin;
    uint64_t offset; /* byte in the file of `begin` */
    struct xplane_text name;
    struct tp_id_map events; /* number of a name of memory events -> whether they free */
    struct tp_id_map stats;  /* number of a name -> index of `names` */
    struct stat_name *names;
    size_t name_count, name_room;
};

struct reading_line {
    struct reading_plane *plane;
    int64_t time_ps;
    struct xplane_text name;
    uint32_t thread;
};

static bool is(struct xplane_text b, const char *text)
{
    return b.size == strlen(text) && memcmp(b.at, text, b.size) == 0;
}

static struct xplane_text bytes_of(struct tp_protobuf body)
{
    return (struct xplane_text){(const char *)body.at, (size_t)(body.end - body.at)};
}

static uint64_t offset_of(const struct reading_plane *p, const unsigned char *at)
{
    return p->offset + (uint64_t)(at - p->begin);
}

static int broken(const struct reading_plane *p, const unsigned char *at, const char *what,
                  struct tp_err *err)
{
    return tp_input_fail_byte(p->x->reading->in, offset_of(p, at), err, "%s", what);
}

/* ---- names ---- */

/* Reads an entry of a map of names. False: it is none. */
static bool read_entry(struct tp_protobuf entry, uint64_t *key, struct xplane_text *name)
{
    struct tp_protobuf_field f;
    struct tp_protobuf named = {NULL, NULL};
    *key = 0;
    *name = (struct xplane_text){"", 0};
    while (entry.at < entry.end) {
        if (!tp_protobuf_cut(&entry, &f) || !f.whole)
            return false;
        if (f.number == ENTRY_KEY && f.kind == TP_PROTOBUF_VARINT)
            *key = f.value;
        else if (f.number == ENTRY_VALUE && f.kind == TP_PROTOBUF_BYTES)
            named = f.body;
    }
    while (named.at < named.end) {
        if (!tp_protobuf_cut(&named, &f) || !f.whole)
            return false;
        if (f.number == NAMED && f.kind == TP_PROTOBUF_BYTES)
            *name = bytes_of(f.body);
    }
    return true;
}

static int note_event_name(struct reading_plane *p, uint64_t key, struct xplane_text name,
                           struct tp_err *err)
{
    bool allocates = is(name, "MemoryAllocation"), frees = is(name, "MemoryDeallocation");
    struct tp_id_entry *entry = NULL;
    if (!allocates && !frees)
        return TP_OK;
    int rc = tp_id_map_need(&p->events, (int64_t)key, frees, &entry, err);
    if (rc == TP_OK)
        entry->index = frees;
    return rc;
}

static int note_stat_name(struct reading_plane *p, uint64_t key, struct xplane_text name,
                          struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = TP_READ_GROW(p->x->reading, &p->names, &p->name_room, p->name_count + 1,
                          "names of statistics", err);
    if (rc == TP_OK)
        rc = tp_id_map_need(&p->stats, (int64_t)key, (uint32_t)p->name_count, &entry, err);
    if (rc != TP_OK)
        return rc;
    uint32_t stat = 0;
    while (stat < STATS && !is(name, stat_names[stat]))
        stat++;
    entry->index = (uint32_t)p->name_count;
    p->names[p->name_count++] = (struct stat_name){name, stat};
    return TP_OK;
}

static int read_names(struct reading_plane *p, struct tp_err *err)
{
    struct tp_protobuf body = p->body;
    struct tp_protobuf_field f;
    int rc = TP_OK;
    while (rc == TP_OK && body.at < body.end) {
        const unsigned char *at = body.at;
        uint64_t key = 0;
        struct xplane_text name;
        if (!tp_protobuf_cut(&body, &f) || !f.whole)
            return broken(p, at, "a plane of the capture is damaged", err);
        bool names = f.number == PLANE_EVENT_NAMES || f.number == PLANE_STAT_NAMES;
        if (f.kind != TP_PROTOBUF_BYTES)
            continue;
        if (f.number == PLANE_NAME)
            p->name = bytes_of(f.body);
        if (names && !read_entry(f.body, &key, &name))
            return broken(p, at, "a name in the capture is damaged", err);
        if (f.number == PLANE_EVENT_NAMES)
            rc = note_event_name(p, key, name, err);
        else if (f.number == PLANE_STAT_NAMES)
            rc = note_stat_name(p, key, name, err);
    }
    return rc;
}

/* ---- a memory event ---- */

/* Reads a statistic into its place among the values. False: it is damaged. */
static bool read_stat(const struct reading_plane *p, struct tp_protobuf stat,
                      struct xplane_value values[STATS])
{
    struct xplane_value v = {.kind = ABSENT};
    struct tp_protobuf_field f;
    uint64_t key = 0;
    while (stat.at < stat.end) {
        if (!tp_protobuf_cut(&stat, &f) || !f.whole)
            return false;
        if (f.number == STAT_NAME)
            key = f.value;
        else if (f.number == STAT_DOUBLE && f.kind == TP_PROTOBUF_FIXED64) {
            v.kind = REAL;
            memcpy(&v.real, &f.value, sizeof v.real);
        } else if ((f.number == STAT_UNSIGNED || f.number == STAT_SIGNED) &&
                   f.kind == TP_PROTOBUF_VARINT) {
            v.kind = WHOLE;
            v.whole = f.value;
        } else if ((f.number == STAT_TEXT || f.number == STAT_BYTES) &&
                   f.kind == TP_PROTOBUF_BYTES) {
            v.kind = TEXT;
            v.text = bytes_of(f.body);
        } else if (f.number == STAT_REF && f.kind == TP_PROTOBUF_VARINT) {
            const struct tp_id_entry *ref = tp_id_map_find(&p->stats, (int64_t)f.value);
            if (!ref)
                return false;
            v.kind = TEXT;
            v.text = p->names[ref->index].text;
        }
    }
    const struct tp_id_entry *name = tp_id_map_find(&p->stats, (int64_t)key);
    if (name && p->names[name->index].stat < STATS)
        values[p->names[name->index].stat] = v;
    return true;
}

static const char *data_type(const struct xplane_value *v)
{
    static const char *const names[] = {
        [1] = "float32",     [2] = "float64",  [3] = "int32",     [4] = "uint8",
        [5] = "int16",       [6] = "int8",     [7] = "string",    [8] = "complex64",
        [9] = "int64",       [10] = "bool",    [14] = "bfloat16", [17] = "uint16",
        [18] = "complex128", [19] = "float16", [22] = "uint32",   [23] = "uint64"};
    bool known = v->kind == WHOLE && v->whole < sizeof names / sizeof *names && names[v->whole];
    return known ? names[v->whole] : "";
}

static bool says(const struct xplane_value *v)
{
    return v->kind == TEXT && v->text.size > 0;
}

enum { SHOWN = 60 }; /* bytes of an operation's name that a place begins with, about */

/* Where the end of a name of an operation begins, a scope at least and SHOWN bytes if there are
 * more scopes. */
static size_t end_of_name(struct xplane_text name)
{
    size_t at = name.size > SHOWN ? name.size - SHOWN : 0;
    while (at && at < name.size && name.at[at - 1] != '/')
        at++;
    if (at < name.size)
        return at;
    while (at && name.at[at - 1] != '/')
        at--;
    return at;
}

static int keep_text(struct tp_xplane *x, const char *text, size_t size, uint32_t *number,
                     struct tp_err *err)
{
    *number = TP_NO_TEXT;
    size = strnlen(text, size < 4 * TP_PLACE_TEXT ? size : 4 * TP_PLACE_TEXT);
    return size ? tp_texts_need(&x->texts, text, size, number, err) : TP_OK;
}

/* "dense/MatMul float32[32,128], output" in the scope "model/layer_1". */
static int read_operation(struct tp_xplane *x, const struct xplane_value values[STATS],
                          struct tp_xplane_event *ev, struct tp_err *err)
{
    const struct xplane_text name = values[OPERATION].text;
    const struct xplane_value *shape = &values[SHAPE], *region = &values[REGION];
    size_t scope = end_of_name(name), rest = name.size - scope;
    char text[3 * TP_PLACE_TEXT] = "";
    struct tp_str s = TP_STR_IN(text);
    tp_str_add(&s, "%.*s", (int)(rest < TP_PLACE_TEXT ? rest : TP_PLACE_TEXT), name.at + scope);
    if (says(shape) && shape->text.size < TP_XPLANE_NAME)
        tp_str_add(&s, " %s%.*s", data_type(&values[DATA_TYPE]), (int)shape->text.size,
                   shape->text.at);
    if (says(region) && region->text.size < TP_XPLANE_NAME)
        tp_str_add(&s, ", %.*s", (int)region->text.size, region->text.at);
    x->tensorflow = true;
    scope -= scope > 0; /* without the slash */
    int rc = keep_text(x, text, sizeof text, &ev->place, err);
    return rc == TP_OK ? keep_text(x, name.at, scope, &ev->scope, err) : rc;
}

/* Where no operation is named, the thread is all that is known. */
static int read_place(const struct reading_line *l, const struct xplane_value values[STATS],
                      struct tp_xplane_event *ev, struct tp_err *err)
{
    char text[TP_XPLANE_NAME + 8] = "";
    struct tp_str s = TP_STR_IN(text);
    ev->place = ev->scope = TP_NO_TEXT;
    if (says(&values[OPERATION]))
        return read_operation(l->plane->x, values, ev, err);
    size_t kept = 0;
    while (kept < l->name.size && l->name.at[kept] != '/')
        kept++;
    if (kept)
        tp_str_add(&s, "thread %.*s", (int)(kept < TP_XPLANE_NAME ? kept : TP_XPLANE_NAME),
                   l->name.at);
    return keep_text(l->plane->x, text, sizeof text, &ev->place, err);
}

/* Sets *out to a size, a count or an address. False: it is there and no such number. */
static bool whole(const struct xplane_value *v, uint64_t most, uint64_t *out)
{
    *out = v->kind == WHOLE ? v->whole : 0;
    return v->kind == ABSENT || (v->kind == WHOLE && v->whole <= most);
}

static double fragmentation(const struct xplane_value *v)
{
    if (v->kind == WHOLE && v->whole <= 1)
        return (double)v->whole;
    return v->kind == REAL && v->real >= 0 && v->real <= 1 ? v->real : NAN;
}

/* The allocator by its name, or, on a TPU, by the device's number. */
static int find_allocator(const struct reading_line *l, const struct xplane_value values[STATS],
                          uint64_t limit, struct tp_xplane_event *ev, struct tp_err *err)
{
    struct tp_xplane *x = l->plane->x;
    const struct xplane_value *by = &values[ALLOCATOR];
    const struct xplane_value *number = &values[values[ORDINAL].kind ? ORDINAL : HOST_INDEX];
    char text[TP_XPLANE_NAME];
    struct xplane_text name = by->text;
    if (!says(by)) {
        x->tpu = true;
        snprintf(text, sizeof text, "TPU %" PRIu64, number->kind == WHOLE ? number->whole : 0);
        name = (struct xplane_text){text, strlen(text)};
    }
    return tp_xplane_allocator(x, name.at, name.size, (uint32_t)x->planes, says(by) ? limit : 0,
                               &ev->allocator, err);
}

/* Whether the values make an event. */
static bool take_values(const struct xplane_value values[STATS], struct tp_xplane_event *ev,
                        uint64_t *limit)
{
    uint64_t available = 0, reserved = 0, step = 0;
    bool good = whole(&values[ADDRESS], INT64_MAX, &ev->addr) &&
                whole(&values[REQUESTED], TP_MAX_SIZE, &ev->requested) &&
                whole(&values[CHUNK], TP_MAX_SIZE, &ev->bytes) &&
                whole(&values[IN_USE], TP_MAX_SIZE, &ev->in_use) &&
                whole(&values[AVAILABLE], UINT64_MAX, &available) &&
                whole(&values[RESERVED], UINT64_MAX, &reserved) &&
                whole(&values[STEP], UINT64_MAX, &step) && ev->requested > 0;
    if (ev->bytes < ev->requested)
        ev->bytes = tp_xplane_rounded(ev->requested);
    if (values[IN_USE].kind == ABSENT)
        ev->in_use = TP_XPLANE_UNKNOWN;
    ev->fragmentation = fragmentation(&values[FRAGMENTATION]);
    ev->step = (int64_t)step;
    *limit = values[AVAILABLE].kind == WHOLE ? values[IN_USE].whole + available + reserved : 0;
    *limit = *limit <= TP_MAX_SIZE ? *limit : 0;
    return good && ev->addr <= INT64_MAX - ev->bytes;
}

static int add_event(const struct reading_line *l, struct tp_xplane_event ev,
                     const struct xplane_value values[STATS], struct tp_err *err)
{
    struct tp_xplane *x = l->plane->x;
    uint64_t limit = 0;
    if (!take_values(values, &ev, &limit)) {
        x->unreadable_at = x->unreadable ? x->unreadable_at : ev.offset;
        x->unreadable++;
        return TP_OK;
    }
    int rc = find_allocator(l, values, limit, &ev, err);
    if (rc == TP_OK)
        rc = read_place(l, values, &ev, err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(x->reading, &x->events, &x->room, x->count + 1, "memory events", err);
    if (rc == TP_OK)
        x->events[x->count++] = ev;
    return rc;
}

static int read_event(const struct reading_line *l, struct tp_protobuf body, struct tp_err *err)
{
    const struct reading_plane *p = l->plane;
    const unsigned char *begin = body.at;
    struct xplane_value values[STATS] = {{.kind = ABSENT}};
    struct tp_protobuf_field f;
    const struct tp_id_entry *name = NULL;
    int64_t since = 0;
    struct tp_xplane_event ev = {.offset = offset_of(p, begin), .thread = l->thread};
    while (body.at < body.end) {
        if (!tp_protobuf_cut(&body, &f) || !f.whole)
            return broken(p, begin, "an event of the capture is damaged", err);
        if (f.number == EVENT_NAME && !(name = tp_id_map_find(&p->events, (int64_t)f.value)))
            return TP_OK; /* the common case: no memory event */
        if (f.number == EVENT_TIME)
            since = (int64_t)f.value;
        if (f.number == EVENT_STAT && f.kind == TP_PROTOBUF_BYTES && name &&
            !read_stat(p, f.body, values))
            return broken(p, begin,
                          "a statistic of a memory event is damaged, or refers to no text", err);
    }
    if (!name)
        return TP_OK;
    ev.frees = name->index;
    if (__builtin_add_overflow(l->time_ps, since, &ev.time_ps))
        ev.time_ps = l->time_ps;
    return add_event(l, ev, values, err);
}

/* ---- lines ---- */

static int read_line_facts(struct reading_line *l, struct tp_protobuf body, struct tp_err *err)
{
    struct tp_protobuf_field f;
    struct xplane_text shown = {NULL, 0};
    int64_t ns = 0;
    while (body.at < body.end) {
        const unsigned char *at = body.at;
        if (!tp_protobuf_cut(&body, &f) || !f.whole)
            return broken(l->plane, at, "a line of the capture is damaged", err);
        if (f.number == LINE_NAME && f.kind == TP_PROTOBUF_BYTES)
            l->name = bytes_of(f.body);
        else if (f.number == LINE_SHOWN_NAME && f.kind == TP_PROTOBUF_BYTES)
            shown = bytes_of(f.body);
        else if (f.number == LINE_TIME)
            ns = (int64_t)f.value;
    }
    if (!l->name.size)
        l->name = shown;
    if (__builtin_mul_overflow(ns, INT64_C(1000), &l->time_ps))
        l->time_ps = 0;
    return TP_OK;
}

static int read_line(struct reading_plane *p, struct tp_protobuf body, struct tp_err *err)
{
    struct reading_line l = {.plane = p, .thread = (uint32_t)p->x->lines++};
    struct tp_protobuf_field f;
    int rc = read_line_facts(&l, body, err);
    while (rc == TP_OK && body.at < body.end && tp_protobuf_cut(&body, &f))
        if (f.number == LINE_EVENT && f.kind == TP_PROTOBUF_BYTES)
            rc = read_event(&l, f.body, err);
    return rc;
}

static int read_lines(struct reading_plane *p, struct tp_err *err)
{
    struct tp_protobuf body = p->body;
    struct tp_protobuf_field f;
    int rc = TP_OK;
    while (rc == TP_OK && body.at < body.end && tp_protobuf_cut(&body, &f))
        if (f.number == PLANE_LINE && f.kind == TP_PROTOBUF_BYTES) {
            rc = read_line(p, f.body, err);
            if (rc == TP_OK && p->x->reading->opts->stop)
                rc = p->x->reading->opts->stop(err);
        }
    return rc;
}

/* ---- planes ---- */

static int read_plane(struct tp_xplane *x, const unsigned char *data, size_t size, uint64_t offset,
                      struct tp_err *err)
{
    struct reading_plane p = {.x = x, .body = {data, data + size}, .begin = data, .offset = offset};
    p.events.how = p.stats.how = tp_reading_growth(x->reading, "names");
    int rc = read_names(&p, err);
    if (rc == TP_OK && p.events.used)
        rc = read_lines(&p, err);
    tp_id_map_release(&p.events);
    tp_id_map_release(&p.stats);
    TP_GROW_END(&p.names, &p.name_room, .budget = x->reading->budget);
    x->planes++;
    return rc;
}

/* A plane's bytes, as far as they are there. */
struct plane_bytes {
    unsigned char *data;
    size_t size, room;
};

/* Reads `size` bytes. *cut: the file ends before. */
static int load(struct tp_xplane *x, struct plane_bytes *to, uint64_t size, bool *cut,
                struct tp_err *err)
{
    int rc = TP_OK;
    *cut = false;
    to->size = 0;
    while (rc == TP_OK && to->size < size) {
        const unsigned char *data = NULL;
        size_t got = 0;
        rc = tp_input_block(x->reading->in, &data, &got, err);
        if (rc == TP_OK && !got) {
            *cut = true;
            return TP_OK;
        }
        if (rc == TP_OK && got > size - to->size)
            got = (size_t)(size - to->size);
        if (rc == TP_OK)
            rc = TP_READ_GROW(x->reading, &to->data, &to->room, to->size + got, "bytes of a plane",
                              err);
        if (rc != TP_OK)
            return rc;
        memcpy(to->data + to->size, data, got);
        to->size += got;
        tp_input_take(x->reading->in, got);
    }
    return rc;
}

/* The planes before it are whole. */
static int take_cut(const struct tp_xplane *x, uint64_t offset, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .has_offset = true, .offset = offset};
    if (!x->reading->lower)
        return TP_OK;
    return tp_lower_repaired(x->reading->lower, &ev, TP_REPAIR_TRUNCATED,
                             ": the file ends in the middle of this plane", err);
}

/* Reads the next field of the file. *end: there is none. */
static int read_field(struct tp_xplane *x, struct plane_bytes *bytes, bool *end, struct tp_err *err)
{
    struct tp_input *in = x->reading->in;
    const unsigned char *data = NULL;
    struct tp_protobuf_field f;
    size_t got = 0;
    bool cut = false;
    int rc = tp_input_peek(in, HEAD, &data, &got, err);
    *end = !got;
    if (rc != TP_OK || !got)
        return rc;
    uint64_t offset = tp_input_offset(in);
    struct tp_protobuf head = {data, data + got};
    if (!tp_protobuf_cut(&head, &f))
        return got < HEAD && head.at == head.end
                   ? take_cut(x, offset, err)
                   : tp_input_fail_byte(in, offset, err, "not a capture of planes (XSpace)");
    size_t used = (size_t)(head.at - data);
    bool body = f.kind == TP_PROTOBUF_BYTES;
    if (body && f.whole)
        used -= (size_t)f.value;
    tp_input_take(in, used);
    if (!body)
        return TP_OK;
    rc = load(x, bytes, f.value, &cut, err);
    if (rc == TP_OK && cut) {
        *end = true;
        return take_cut(x, offset, err);
    }
    return rc == TP_OK && f.number == SPACE_PLANE
               ? read_plane(x, bytes->data, bytes->size, offset + used, err)
               : rc;
}

int tp_xplane_read(struct tp_xplane *x, struct tp_err *err)
{
    struct plane_bytes bytes = {NULL, 0, 0};
    bool end = false;
    int rc = TP_OK;
    x->texts.how = tp_reading_growth(x->reading, "names of operations");
    while (rc == TP_OK && !end)
        rc = read_field(x, &bytes, &end, err);
    TP_GROW_END(&bytes.data, &bytes.room, .budget = x->reading->budget);
    return rc == TP_OK ? tp_xplane_order(x, err) : rc;
}

void tp_xplane_release(struct tp_xplane *x)
{
    TP_GROW_END(&x->events, &x->room, .budget = x->reading->budget);
    TP_GROW_END(&x->allocators, &x->allocator_room, .budget = x->reading->budget);
    tp_id_map_release(&x->known);
    tp_texts_release(&x->texts);
}
