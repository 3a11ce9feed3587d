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

/* By enum tp_xplane_stat. */
static const char *const stat_names[TP_XPLANE_STATS] = {"allocator_name",  "addr",
                                                        "requested_bytes", "allocation_bytes",
                                                        "bytes_allocated", "bytes_available",
                                                        "bytes_reserved",  "fragmentation",
                                                        "tf_op",           "id",
                                                        "region_type",     "data_type",
                                                        "shape",           "device_ordinal",
                                                        "index_on_host"};

/* A name that statistics have or refer to. */
struct stat_name {
    struct tp_xplane_text text;
    uint32_t stat; /* enum tp_xplane_stat; TP_XPLANE_STATS: of no interest */
};

/* A plane while it is read. */
struct reading_plane {
    struct tp_xplane *x;
    struct tp_protobuf body;
    const unsigned char *begin;
    uint64_t offset; /* byte in the file of `begin` */
    struct tp_xplane_text name;
    struct tp_id_map events; /* number of a name of memory events -> whether they free */
    struct tp_id_map stats;  /* number of a name -> index of `names` */
    struct stat_name *names;
    size_t name_count, name_room;
};

struct reading_line {
    struct reading_plane *plane;
    int64_t time_ps;
    struct tp_xplane_text name;
    uint32_t thread;
};

static bool is(struct tp_xplane_text b, const char *text)
{
    return b.size == strlen(text) && memcmp(b.at, text, b.size) == 0;
}

static struct tp_xplane_text bytes_of(struct tp_protobuf body)
{
    return (struct tp_xplane_text){(const char *)body.at, (size_t)(body.end - body.at)};
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
static bool read_entry(struct tp_protobuf entry, uint64_t *key, struct tp_xplane_text *name)
{
    struct tp_protobuf_field f;
    struct tp_protobuf named = {NULL, NULL};
    *key = 0;
    *name = (struct tp_xplane_text){"", 0};
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

static int note_event_name(struct reading_plane *p, uint64_t key, struct tp_xplane_text name,
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

static int note_stat_name(struct reading_plane *p, uint64_t key, struct tp_xplane_text name,
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
    while (stat < TP_XPLANE_STATS && !is(name, stat_names[stat]))
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
        struct tp_xplane_text name;
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
                      struct tp_xplane_value values[TP_XPLANE_STATS])
{
    struct tp_xplane_value v = {.kind = TP_XPLANE_ABSENT};
    struct tp_protobuf_field f;
    uint64_t key = 0;
    while (stat.at < stat.end) {
        if (!tp_protobuf_cut(&stat, &f) || !f.whole)
            return false;
        if (f.number == STAT_NAME)
            key = f.value;
        else if (f.number == STAT_DOUBLE && f.kind == TP_PROTOBUF_FIXED64) {
            v.kind = TP_XPLANE_REAL;
            memcpy(&v.real, &f.value, sizeof v.real);
        } else if ((f.number == STAT_UNSIGNED || f.number == STAT_SIGNED) &&
                   f.kind == TP_PROTOBUF_VARINT) {
            v.kind = TP_XPLANE_WHOLE;
            v.whole = f.value;
        } else if ((f.number == STAT_TEXT || f.number == STAT_BYTES) &&
                   f.kind == TP_PROTOBUF_BYTES) {
            v.kind = TP_XPLANE_TEXT;
            v.text = bytes_of(f.body);
        } else if (f.number == STAT_REF && f.kind == TP_PROTOBUF_VARINT) {
            const struct tp_id_entry *ref = tp_id_map_find(&p->stats, (int64_t)f.value);
            if (!ref)
                return false;
            v.kind = TP_XPLANE_TEXT;
            v.text = p->names[ref->index].text;
        }
    }
    const struct tp_id_entry *name = tp_id_map_find(&p->stats, (int64_t)key);
    if (name && p->names[name->index].stat < TP_XPLANE_STATS)
        values[p->names[name->index].stat] = v;
    return true;
}

static int read_event(const struct reading_line *l, struct tp_protobuf body, struct tp_err *err)
{
    const struct reading_plane *p = l->plane;
    const unsigned char *begin = body.at;
    struct tp_xplane_value values[TP_XPLANE_STATS] = {{.kind = TP_XPLANE_ABSENT}};
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
    return tp_xplane_add(p->x, ev, values, l->name, err);
}

/* ---- lines ---- */

static int read_line_facts(struct reading_line *l, struct tp_protobuf body, struct tp_err *err)
{
    struct tp_protobuf_field f;
    struct tp_xplane_text shown = {NULL, 0};
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
static int take_cut(struct tp_xplane *x, uint64_t offset, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .has_offset = true, .offset = offset};
    x->cut = true;
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
    if (!tp_protobuf_cut(&head, &f)) {
        *end = true;
        return got < HEAD && head.at == head.end
                   ? take_cut(x, offset, err)
                   : tp_input_fail_byte(in, offset, err, "not a capture of planes (XSpace)");
    }
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
    return rc == TP_OK && f.number == SPACE_PLANE && bytes->size
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
