/* Keeps the events of several memory spaces until it is known which space is replayed.
 *
 *     event --> record, 72 bytes --> memory, then a file --> chosen spaces --> lowering
 *               (this file)                                  (spaces_lower.c)
 *
 * Objects that were live at the start come before everything else, so the records are read twice if
 * there are any. Names of marks are kept apart, each once. Known weakness: records of spaces that
 * are left out are kept too, with 72 bytes of disk per event. */
#include "traces/lower/spaces.h"
#include "alloc/base/clean.h"
#include "traces/lower/spaces_records.h"

#include <stdlib.h>

#define IN_MEMORY ((size_t)32 << 20) /* bytes of records before they go to a file */
#define BATCH     4096               /* records read from the file at a time */
#define NAME_KEPT 100                /* bytes of a space's name */
#define MARK_KEPT 256                /* bytes of a mark's name */

enum { TIME = 1, SIZE = 2, ALIGN = 4, STREAM = 8, OFFSET = 16, FREE = 32, UNCOUNTED = 64 };

int tp_spaces_no_memory(const struct tp_spaces *sp, struct tp_err *err)
{
    return tp_input_no_memory(sp->reading->in, err);
}

int tp_spaces_new(const struct tp_reading *r, struct tp_spaces **out, struct tp_err *err)
{
    struct tp_spaces *sp = calloc(1, sizeof *sp);
    if (!sp)
        return tp_input_no_memory(r->in, err);
    uint64_t share = tp_max_memory(r->opts) / 4;
    sp->reading = r;
    tp_spill_init(&sp->records, sizeof(struct tp_space_record),
                  share < IN_MEMORY ? (size_t)share : IN_MEMORY);
    sp->records.budget = r->budget;
    sp->device_numbers.how = sp->devices.how = tp_reading_growth(r, "devices");
    sp->marks.how = tp_reading_growth(r, "marks");
    *out = sp;
    return TP_OK;
}

void tp_spaces_free(struct tp_spaces *sp)
{
    if (!sp)
        return;
    for (uint32_t i = 0; i < sp->space_count; i++)
        free(sp->spaces[i].name);
    tp_texts_release(&sp->marks);
    tp_id_map_release(&sp->device_numbers);
    tp_id_map_release(&sp->devices);
    tp_spill_release(&sp->records);
    TP_GROW_END(&sp->spaces, &sp->space_room, .budget = sp->reading->budget, .beside = NAME_KEPT);
    free(sp);
}

int tp_spaces_define(struct tp_spaces *sp, const char *name, enum tp_kind kind, uint32_t *index,
                     struct tp_err *err)
{
    int rc = TP_GROW(&sp->spaces, &sp->space_room, sp->space_count + 1u, err,
                     .what = "memory spaces", .of = tp_input_name(sp->reading->in),
                     .budget = sp->reading->budget, .beside = NAME_KEPT);
    if (rc != TP_OK)
        return rc;
    struct tp_space *s = &sp->spaces[sp->space_count];
    *s = (struct tp_space){.name = tp_clean_copy(name && *name ? name : "unnamed", NAME_KEPT),
                           .kind = kind};
    if (!s->name)
        return tp_spaces_no_memory(sp, err);
    *index = sp->space_count++;
    return TP_OK;
}

/* ---- keeping ---- */

static int keep_mark(struct tp_spaces *sp, const char *name, uint64_t *index, struct tp_err *err)
{
    char clean[MARK_KEPT];
    uint32_t number = 0;
    tp_clean_text(name, clean, sizeof clean);
    int rc = tp_texts_need(&sp->marks, clean, strlen(clean), &number, err);
    *index = number;
    return rc;
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
    int rc = ev->op == TP_EV_MARK ? keep_mark(sp, ev->name, &align, err) : TP_OK;
    const struct tp_space_record record = {
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
        .repaired = ev->repaired,
        .has = (uint8_t)((ev->has_time ? TIME : 0) | (ev->has_size ? SIZE : 0) |
                         (ev->has_align ? ALIGN : 0) | (ev->has_stream ? STREAM : 0) |
                         (ev->has_offset ? OFFSET : 0) | (ev->has_free ? FREE : 0) |
                         (ev->uncounted ? UNCOUNTED : 0))};
    if (rc == TP_OK)
        rc = tp_spill_add(&sp->records, &record, err);
    if (rc == TP_OK)
        count_event(sp, space, ev);
    return rc;
}

int tp_spaces_skip(struct tp_spaces *sp, uint32_t space, int64_t device, struct tp_err *err)
{
    const struct tp_event nothing = {.op = TP_EV_SKIP};
    return tp_spaces_event(sp, space, device, &nothing, err);
}

void tp_spaces_count_own(struct tp_spaces *sp, uint32_t space, uint64_t events, uint64_t bytes)
{
    struct tp_space *s = &sp->spaces[space];
    if (__builtin_add_overflow(s->bytes, bytes, &s->bytes))
        s->bytes = UINT64_MAX;
    s->events += events;
    sp->events += events;
}

void tp_spaces_prefer(struct tp_spaces *sp, uint32_t space)
{
    sp->prefers = true;
    sp->preferred = space;
}

uint64_t tp_spaces_count(const struct tp_spaces *sp)
{
    return sp->events;
}

/* ---- giving back ---- */

struct tp_event tp_spaces_restore(const struct tp_spaces *sp, const struct tp_space_record *r)
{
    bool at_offset = (r->has & OFFSET) != 0;
    return (struct tp_event){
        .op = (enum tp_event_op)r->op,
        .note = (enum tp_note)r->note,
        .repaired = r->repaired,
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
        .name = r->op == TP_EV_MARK ? tp_texts_get(&sp->marks, (uint32_t)r->align) : NULL,
        .line = at_offset ? 0 : r->place,
        .offset = at_offset ? r->place : 0};
}
