/* Events of several memory spaces, kept until it is known which of them is replayed.
 *
 *     event --> record, 72 bytes --> memory, then a file --> chosen spaces --> lowering
 *
 * What was live at the start goes before everything else, so the records are gone through twice
 * where there is any. Names of marks are kept apart, each once per event. */
#include "traces/spaces.h"

#include "alloc/spool.h"
#include "traces/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define IN_MEMORY ((size_t)32 << 20) /* bytes of records before they go to a file */
#define BATCH     4096               /* records read from the file at a time */
#define LISTED    6                  /* spaces that a sentence names */
#define NAME_KEPT 100                /* bytes of a space's name */
#define MARK_KEPT 256                /* bytes of a mark's name */

struct record {
    int64_t id, stream, device;
    uint64_t size, align, thread, time_ns;
    uint64_t place; /* line, or offset + 1 with AT_OFFSET set */
    uint32_t space;
    uint8_t op, has, note, reserved;
};
static_assert(sizeof(struct record) == 72, "written without padding");

enum { TIME = 1, SIZE = 2, ALIGN = 4, STREAM = 8, OFFSET = 16, FREE = 32 };

struct space {
    char *name;
    enum tp_kind kind;
    uint64_t bytes, events; /* allocated; all */
};

struct tp_spaces {
    const struct tp_reading *reading;
    struct record *records; /* what is not in the file */
    size_t count, room;
    uint64_t written; /* records in the file */
    int fd;           /* -1: none */
    struct space *spaces;
    uint32_t space_count, space_room;
    char **marks; /* an event's `align` is the index of its name */
    size_t mark_count, mark_room;
    uint64_t events;
    bool some_initial;
};

int tp_spaces_new(const struct tp_reading *r, struct tp_spaces **out, struct tp_err *err)
{
    struct tp_spaces *sp = calloc(1, sizeof *sp);
    if (!sp)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", tp_input_name(r->in));
    sp->reading = r;
    sp->fd = -1;
    *out = sp;
    return TP_OK;
}

void tp_spaces_free(struct tp_spaces *sp)
{
    if (!sp)
        return;
    for (uint32_t i = 0; i < sp->space_count; i++)
        free(sp->spaces[i].name);
    for (size_t i = 0; i < sp->mark_count; i++)
        free(sp->marks[i]);
    if (sp->fd >= 0)
        close(sp->fd);
    free(sp->spaces);
    free(sp->marks);
    free(sp->records);
    free(sp);
}

static int no_memory(const struct tp_spaces *sp, struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while reading %s",
                   tp_input_name(sp->reading->in));
}

int tp_spaces_define(struct tp_spaces *sp, const char *name, enum tp_kind kind, uint32_t *index,
                     struct tp_err *err)
{
    if (sp->space_count == sp->space_room) {
        uint32_t room = sp->space_room ? 2 * sp->space_room : 16;
        struct space *spaces = realloc(sp->spaces, room * sizeof *spaces);
        if (!spaces)
            return no_memory(sp, err);
        sp->spaces = spaces;
        sp->space_room = room;
    }
    struct space *s = &sp->spaces[sp->space_count];
    *s = (struct space){.name = tp_clean_copy(name, NAME_KEPT), .kind = kind};
    if (!s->name)
        return no_memory(sp, err);
    *index = sp->space_count++;
    return TP_OK;
}

/* ---- keeping ---- */

static int flush(struct tp_spaces *sp, struct tp_err *err)
{
    int rc = sp->fd < 0 ? tp_spool_open(&sp->fd, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_spool_write(sp->fd, sp->records, sp->count * sizeof *sp->records,
                            sp->written * sizeof *sp->records, err);
    if (rc == TP_OK) {
        sp->written += sp->count;
        sp->count = 0;
    }
    return rc;
}

static int make_room(struct tp_spaces *sp, struct tp_err *err)
{
    if (sp->count < sp->room)
        return TP_OK;
    if (sp->room * sizeof *sp->records >= IN_MEMORY)
        return flush(sp, err);
    size_t room = sp->room ? 2 * sp->room : 1024;
    struct record *records = realloc(sp->records, room * sizeof *records);
    if (!records)
        return no_memory(sp, err);
    sp->records = records;
    sp->room = room;
    return TP_OK;
}

static int keep_mark(struct tp_spaces *sp, const char *name, uint64_t *index, struct tp_err *err)
{
    if (sp->mark_count && strcmp(sp->marks[sp->mark_count - 1], name) == 0) {
        *index = sp->mark_count - 1;
        return TP_OK;
    }
    if (sp->mark_count == sp->mark_room) {
        size_t room = sp->mark_room ? 2 * sp->mark_room : 64;
        if (room * (sizeof(char *) + MARK_KEPT) > tp_max_memory(sp->reading->opts))
            return tp_fail(err, TP_EINPUT,
                           "%s: too many marks for the memory that reading may take",
                           tp_input_name(sp->reading->in));
        char **marks = realloc(sp->marks, room * sizeof *marks);
        if (!marks)
            return no_memory(sp, err);
        sp->marks = marks;
        sp->mark_room = room;
    }
    char *copy = tp_clean_copy(name, MARK_KEPT);
    if (!copy)
        return no_memory(sp, err);
    *index = sp->mark_count;
    sp->marks[sp->mark_count++] = copy;
    return TP_OK;
}

static void count_event(struct tp_spaces *sp, uint32_t space, const struct tp_event *ev)
{
    struct space *s = &sp->spaces[space];
    bool allocates = ev->op == TP_EV_ALLOC || ev->op == TP_EV_REALLOC || ev->op == TP_EV_ADOPT ||
                     ev->op == TP_EV_INITIAL;
    if (allocates && ev->size <= TP_MAX_SIZE)
        s->bytes += ev->size;
    s->events += ev->op != TP_EV_INITIAL;
    sp->events += ev->op != TP_EV_INITIAL;
    sp->some_initial |= ev->op == TP_EV_INITIAL;
}

int tp_spaces_event(struct tp_spaces *sp, uint32_t space, int64_t device, const struct tp_event *ev,
                    struct tp_err *err)
{
    assert(space < sp->space_count);
    uint64_t align = ev->has_free ? ev->free_bytes : ev->align;
    int rc = make_room(sp, err);
    if (rc == TP_OK && ev->op == TP_EV_MARK)
        rc = keep_mark(sp, ev->name, &align, err);
    if (rc != TP_OK)
        return rc;
    sp->records[sp->count++] = (struct record){
        .id = ev->id,
        .stream = ev->stream,
        .device = device,
        .size = ev->size,
        .align = align,
        .thread = ev->thread,
        .time_ns = ev->time_ns,
        .place = ev->has_offset ? ev->offset : ev->line,
        .space = space,
        .op = (uint8_t)ev->op,
        .note = (uint8_t)ev->note,
        .has = (uint8_t)((ev->has_time ? TIME : 0) | (ev->has_size ? SIZE : 0) |
                         (ev->has_align ? ALIGN : 0) | (ev->has_stream ? STREAM : 0) |
                         (ev->has_offset ? OFFSET : 0) | (ev->has_free ? FREE : 0))};
    count_event(sp, space, ev);
    return TP_OK;
}

uint64_t tp_spaces_count(const struct tp_spaces *sp)
{
    return sp->events;
}

/* ---- choosing ---- */

/* "GPU 0, CPU and 3 more" */
static void list_spaces(const struct tp_spaces *sp, char *out, size_t size)
{
    size_t used = 0;
    uint32_t i = 0;
    out[0] = '\0';
    for (; i < sp->space_count && i < LISTED && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", sp->spaces[i].name);
    if (i < sp->space_count && used < size)
        snprintf(out + used, size - used, " and %" PRIu32 " more", sp->space_count - i);
}

/* *chosen: an index, or space_count for all. */
static int choose(const struct tp_spaces *sp, uint32_t *chosen, struct tp_err *err)
{
    const char *wanted = sp->reading->opts->space;
    *chosen = 0;
    if (wanted && strcasecmp(wanted, "all") == 0) {
        *chosen = sp->space_count;
        return TP_OK;
    }
    for (uint32_t i = 0; wanted && i < sp->space_count; i++) {
        if (strcasecmp(sp->spaces[i].name, wanted) == 0) {
            *chosen = i;
            return TP_OK;
        }
    }
    if (wanted) {
        char shown[NAME_KEPT], all[512];
        tp_clean_text(wanted, shown, sizeof shown);
        list_spaces(sp, all, sizeof all);
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: no memory space is called '%s'",
                               tp_input_name(sp->reading->in), shown),
                       "it has: %s", all);
    }
    for (uint32_t i = 1; i < sp->space_count; i++)
        if (sp->spaces[i].bytes > sp->spaces[*chosen].bytes)
            *chosen = i;
    return TP_OK;
}

/* "CPU (1,240 events), pool (3 events) and 12 more" */
static int say_left_out(const struct tp_spaces *sp, uint32_t chosen, struct tp_err *err)
{
    char text[1000] = "";
    size_t used = 0, named = 0, more = 0;
    for (uint32_t i = 0; i < sp->space_count; i++) {
        char number[TP_GROUPED];
        if (i == chosen || !sp->spaces[i].events)
            continue;
        if (named == LISTED || used >= sizeof text) {
            more++;
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s events)",
                                 named++ ? ", " : "", sp->spaces[i].name,
                                 tp_grouped(sp->spaces[i].events, number));
    }
    if (more && used < sizeof text)
        snprintf(text + used, sizeof text - used, " and %zu more", more);
    return named ? tp_meta_set(&sp->reading->meta->left_out, text, err) : TP_OK;
}

static int set_meta(const struct tp_spaces *sp, uint32_t chosen, struct tp_err *err)
{
    struct tp_meta *meta = sp->reading->meta;
    bool all = chosen == sp->space_count;
    uint32_t largest = all ? 0 : chosen;
    for (uint32_t i = 0; all && i < sp->space_count; i++)
        if (sp->spaces[i].bytes > sp->spaces[largest].bytes)
            largest = i;
    meta->kind = sp->space_count ? sp->spaces[largest].kind : TP_KIND_HOST;
    int rc = tp_lower_kind(sp->reading->lower, meta->kind, err);
    if (rc == TP_OK && sp->space_count > 1)
        rc = tp_meta_set(&meta->space, all ? "all" : sp->spaces[chosen].name, err);
    return rc == TP_OK && !all ? say_left_out(sp, chosen, err) : rc;
}

/* ---- lowering ---- */

struct lowering {
    struct tp_spaces *sp;
    uint32_t chosen;
    bool initial; /* what was live at the start, else everything else */
};

/* A stream is one of its device, or of its space where each is a device: a number for the pair. */
static int stream_of(struct lowering *l, const struct record *r, int64_t *stream,
                     struct tp_err *err)
{
    bool all = l->chosen == l->sp->space_count && l->sp->space_count > 1;
    int64_t device = all ? (int64_t)r->space : r->device;
    uint64_t mixed = ((uint64_t)(r->has & STREAM ? r->stream : 0) + 1) * 0x9e3779b97f4a7c15u;
    mixed ^= (uint64_t)device * 0xc2b2ae3d27d4eb4fu;
    *stream = (int64_t)mixed;
    return tp_lower_need_stream(l->sp->reading->lower, *stream, device, err);
}

static int lower_record(struct lowering *l, const struct record *r, struct tp_err *err)
{
    struct tp_spaces *sp = l->sp;
    bool taken = l->chosen == sp->space_count || l->chosen == r->space;
    if (!taken || (r->op == TP_EV_INITIAL) != l->initial)
        return TP_OK;
    bool places = r->op == TP_EV_ALLOC || r->op == TP_EV_ADOPT || r->op == TP_EV_INITIAL ||
                  r->op == TP_EV_REALLOC || r->op == TP_EV_NOTE; /* on which device? */
    struct tp_event ev = {.op = (enum tp_event_op)r->op,
                          .note = (enum tp_note)r->note,
                          .has_time = r->has & TIME,
                          .has_size = r->has & SIZE,
                          .has_align = r->has & ALIGN,
                          .has_stream = (r->has & STREAM) || places,
                          .has_offset = r->has & OFFSET,
                          .has_free = r->has & FREE,
                          .id = r->id,
                          .size = r->size,
                          .align = r->align,
                          .free_bytes = r->align,
                          .thread = r->thread,
                          .time_ns = r->time_ns,
                          .line = r->has & OFFSET ? 0 : r->place,
                          .offset = r->place};
    if (ev.op == TP_EV_MARK)
        ev.name = sp->marks[r->align];
    /* a first event that needs no stream must not make lowering declare one of its own */
    bool first = !sp->some_initial && tp_lower_count(sp->reading->lower) == 0;
    int rc = ev.has_stream || first ? stream_of(l, r, &ev.stream, err) : TP_OK;
    return rc == TP_OK ? tp_lower_event(sp->reading->lower, &ev, err) : rc;
}

static int each_record(struct lowering *l, struct tp_err *err)
{
    struct tp_spaces *sp = l->sp;
    struct record *batch = sp->written ? malloc(BATCH * sizeof *batch) : NULL;
    int rc = sp->written && !batch ? no_memory(sp, err) : TP_OK;
    for (uint64_t at = 0; rc == TP_OK && at < sp->written;) {
        size_t count = sp->written - at < BATCH ? (size_t)(sp->written - at) : BATCH;
        rc = tp_spool_read(sp->fd, batch, count * sizeof *batch, at * sizeof *batch, err);
        for (size_t i = 0; rc == TP_OK && i < count; i++)
            rc = lower_record(l, &batch[i], err);
        at += count;
    }
    free(batch);
    for (size_t i = 0; rc == TP_OK && i < sp->count; i++)
        rc = lower_record(l, &sp->records[i], err);
    return rc;
}

int tp_spaces_lower(struct tp_spaces *sp, struct tp_err *err)
{
    struct lowering l = {.sp = sp};
    int rc = choose(sp, &l.chosen, err);
    if (rc == TP_OK)
        rc = set_meta(sp, l.chosen, err);
    if (rc == TP_OK && sp->some_initial) {
        l.initial = true;
        rc = each_record(&l, err);
        l.initial = false;
    }
    return rc == TP_OK ? each_record(&l, err) : rc;
}
