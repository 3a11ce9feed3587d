/* Events of several memory spaces, kept until it is known which of them is replayed.
 *
 *     event --> record, 72 bytes --> memory, then a file --> chosen spaces --> lowering
 *               (this file)                                  (spaces_lower.c)
 *
 * What was live at the start goes before everything else, so the records are gone through twice
 * where there is any. Names of marks are kept apart, once while the same name repeats. Known
 * weakness: records of spaces that are left out are kept as well, 72 bytes of disk an event. */
#include "traces/lower/spaces.h"
#include "alloc/base/clean.h"
#include "alloc/base/spool.h"
#include "traces/lower/spaces_records.h"

#include <stdlib.h>
#include <unistd.h>

#define IN_MEMORY ((size_t)32 << 20) /* bytes of records before they go to a file */
#define BATCH     4096               /* records read from the file at a time */
#define NAME_KEPT 100                /* bytes of a space's name */
#define MARK_KEPT 256                /* bytes of a mark's name */

enum { TIME = 1, SIZE = 2, ALIGN = 4, STREAM = 8, OFFSET = 16, FREE = 32, UNCOUNTED = 64 };

int tp_spaces_no_memory(const struct tp_spaces *sp, struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while reading %s",
                   tp_input_name(sp->reading->in));
}

static int too_many(const struct tp_spaces *sp, const char *what, struct tp_err *err)
{
    int rc = tp_fail(err, TP_EINPUT, "%s: too many %s for the memory that reading may take",
                     tp_input_name(sp->reading->in), what);
    return tp_hint(err, rc, "--max-memory=SIZE allows more");
}

static bool count_more(struct tp_spaces *sp, uint64_t bytes)
{
    bool fits = tp_budget_change(sp->reading->budget, sp->counted, sp->counted + bytes);
    sp->counted += fits ? bytes : 0;
    return fits;
}

int tp_spaces_new(const struct tp_reading *r, struct tp_spaces **out, struct tp_err *err)
{
    struct tp_spaces *sp = calloc(1, sizeof *sp);
    if (!sp)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", tp_input_name(r->in));
    uint64_t share = tp_max_memory(r->opts) / 4;
    sp->reading = r;
    sp->room_max = (share < IN_MEMORY ? (size_t)share : IN_MEMORY) / sizeof *sp->records;
    sp->room_max = sp->room_max ? sp->room_max : 1;
    sp->fd = -1;
    tp_id_map_seed(&sp->device_numbers);
    tp_id_map_seed(&sp->devices);
    tp_id_map_seed(&sp->stream_numbers);
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
    tp_id_map_release(&sp->device_numbers);
    tp_id_map_release(&sp->devices);
    tp_id_map_release(&sp->stream_numbers);
    free(sp->spaces);
    free(sp->marks);
    free(sp->records);
    tp_budget_change(sp->reading->budget, sp->counted, 0);
    free(sp);
}

int tp_spaces_define(struct tp_spaces *sp, const char *name, enum tp_kind kind, uint32_t *index,
                     struct tp_err *err)
{
    if (sp->space_count == sp->space_room) {
        uint32_t room = sp->space_room ? 2 * sp->space_room : 16;
        const uint64_t each = sizeof *sp->spaces + NAME_KEPT;
        if (!count_more(sp, (room - sp->space_room) * each))
            return too_many(sp, "memory spaces", err);
        struct tp_space *spaces = realloc(sp->spaces, room * sizeof *spaces);
        if (!spaces)
            return tp_spaces_no_memory(sp, err);
        sp->spaces = spaces;
        sp->space_room = room;
    }
    struct tp_space *s = &sp->spaces[sp->space_count];
    *s = (struct tp_space){.name = tp_clean_copy(name && *name ? name : "unnamed", NAME_KEPT),
                           .kind = kind};
    if (!s->name)
        return tp_spaces_no_memory(sp, err);
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
    if (sp->room == sp->room_max)
        return flush(sp, err);
    size_t room = sp->room ? 2 * sp->room : 64;
    room = room < sp->room_max ? room : sp->room_max;
    if (!count_more(sp, (room - sp->room) * sizeof *sp->records))
        return sp->count ? flush(sp, err) : too_many(sp, "records", err);
    struct tp_space_record *records = realloc(sp->records, room * sizeof *records);
    if (!records)
        return tp_spaces_no_memory(sp, err);
    sp->records = records;
    sp->room = room;
    return TP_OK;
}

static int keep_mark(struct tp_spaces *sp, const char *name, uint64_t *index, struct tp_err *err)
{
    char clean[MARK_KEPT];
    tp_clean_text(name, clean, sizeof clean);
    if (sp->mark_count && strcmp(sp->marks[sp->mark_count - 1], clean) == 0) {
        *index = sp->mark_count - 1;
        return TP_OK;
    }
    if (sp->mark_count == sp->mark_room) {
        size_t room = sp->mark_room ? 2 * sp->mark_room : 64;
        if (!count_more(sp, (room - sp->mark_room) * (sizeof(char *) + MARK_KEPT)))
            return too_many(sp, "marks", err);
        char **marks = realloc(sp->marks, room * sizeof *marks);
        if (!marks)
            return tp_spaces_no_memory(sp, err);
        sp->marks = marks;
        sp->mark_room = room;
    }
    char *copy = strdup(clean);
    if (!copy)
        return tp_spaces_no_memory(sp, err);
    *index = sp->mark_count;
    sp->marks[sp->mark_count++] = copy;
    return TP_OK;
}

static void count_event(struct tp_spaces *sp, uint32_t space, const struct tp_event *ev)
{
    struct tp_space *s = &sp->spaces[space];
    bool allocates = ev->op < TP_EV_COUNT && tp_op_is(tp_event_asks(ev->op), TP_ASKS);
    if (allocates && ev->size <= TP_MAX_SIZE &&
        __builtin_add_overflow(s->bytes, ev->size, &s->bytes))
        s->bytes = UINT64_MAX;
    bool counts = ev->op != TP_EV_INITIAL && !ev->uncounted;
    s->events += counts;
    sp->events += counts;
    sp->some_initial |= ev->op == TP_EV_INITIAL;
}

int tp_spaces_event(struct tp_spaces *sp, uint32_t space, int64_t device, const struct tp_event *ev,
                    struct tp_err *err)
{
    assert(space < sp->space_count && !sp->lowered);
    uint64_t align = ev->has_free ? ev->free_bytes : ev->align;
    int rc = make_room(sp, err);
    if (rc == TP_OK && ev->op == TP_EV_MARK)
        rc = keep_mark(sp, ev->name, &align, err);
    if (rc != TP_OK)
        return rc;
    sp->records[sp->count++] = (struct tp_space_record){
        .id = ev->id,
        .stream = ev->has_stream ? ev->stream : 0,
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
                         (ev->has_offset ? OFFSET : 0) | (ev->has_free ? FREE : 0) |
                         (ev->uncounted ? UNCOUNTED : 0))};
    count_event(sp, space, ev);
    return TP_OK;
}

int tp_spaces_skip(struct tp_spaces *sp, uint32_t space, int64_t device, struct tp_err *err)
{
    const struct tp_event nothing = {.op = (enum tp_event_op)TP_SPACE_SKIP};
    return tp_spaces_event(sp, space, device, &nothing, err);
}

uint64_t tp_spaces_count(const struct tp_spaces *sp)
{
    return sp->events;
}

/* ---- giving back ---- */

int tp_spaces_each(struct tp_spaces *sp,
                   int (*take)(void *ctx, const struct tp_space_record *r, struct tp_err *err),
                   void *ctx, struct tp_err *err)
{
    struct tp_space_record *batch = sp->written ? malloc(BATCH * sizeof *batch) : NULL;
    int rc = sp->written && !batch ? tp_spaces_no_memory(sp, err) : TP_OK;
    for (uint64_t at = 0; rc == TP_OK && at < sp->written;) {
        size_t count = sp->written - at < BATCH ? (size_t)(sp->written - at) : BATCH;
        rc = tp_spool_read(sp->fd, batch, count * sizeof *batch, at * sizeof *batch, err);
        for (size_t i = 0; rc == TP_OK && i < count; i++)
            rc = take(ctx, &batch[i], err);
        at += count;
    }
    free(batch);
    for (size_t i = 0; rc == TP_OK && i < sp->count; i++)
        rc = take(ctx, &sp->records[i], err);
    return rc;
}

struct tp_event tp_spaces_restore(const struct tp_spaces *sp, const struct tp_space_record *r)
{
    bool at_offset = (r->has & OFFSET) != 0;
    return (struct tp_event){.op = (enum tp_event_op)r->op,
                             .note = (enum tp_note)r->note,
                             .has_time = (r->has & TIME) != 0,
                             .has_size = (r->has & SIZE) != 0,
                             .has_align = (r->has & ALIGN) != 0,
                             .has_stream = (r->has & STREAM) != 0,
                             .has_offset = at_offset,
                             .has_free = (r->has & FREE) != 0,
                             .uncounted = (r->has & UNCOUNTED) != 0,
                             .id = r->id,
                             .size = r->size,
                             .align = r->align,
                             .free_bytes = r->align,
                             .stream = r->stream,
                             .thread = r->thread,
                             .time_ns = r->time_ns,
                             .name = r->op == TP_EV_MARK ? sp->marks[r->align] : NULL,
                             .line = at_offset ? 0 : r->place,
                             .offset = at_offset ? r->place : 0};
}
