/* See frame_events.h. */
#include "cmd/page/frame_events.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"
#include "traces/places/place_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory ---- */

int tp_replay_frames_open(const struct tp_strategy *s, const struct tp_program_facts *facts,
                          uint64_t most, struct tp_frames **out, struct tp_err *err)
{
    *out = NULL;
    if (!most || !tp_frames_possible(s))
        return TP_OK;
    void *p = mmap(NULL, tp_frames_size(facts->devices, (uint32_t)most), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return tp_fail(err, TP_ENOMEM, "no memory for frames: %s", strerror(errno));
    *out = p;
    tp_frames_open(*out, facts->devices, (uint32_t)most);
    return TP_OK;
}

/* The size is computed, not read: what was replayed could have written there. */
void tp_replay_frames_close(struct tp_frames *f, const struct tp_program_facts *facts,
                            uint64_t most)
{
    if (f)
        munmap(f, tp_frames_size(facts->devices, (uint32_t)most));
}

const struct tp_frames *tp_replay_frames_of(const struct tp_frames *f,
                                            const struct tp_program_facts *facts, uint64_t most)
{
    bool any = false;
    if (!f || !tp_frames_hold(f, (uint32_t)most, facts))
        return NULL;
    for (uint32_t d = 0; d < f->devices; d++)
        any |= tp_frames_count(f, d) > 0;
    return any ? f : NULL;
}

/* ---- what they show ---- */

void tp_frame_ranks(const struct tp_frames *f, uint32_t device, uint16_t *ranks)
{
    const struct tp_frame *list[TP_FRAMES_MOST];
    uint16_t index[TP_FRAMES_MOST];
    size_t count = tp_frames_count(f, device);
    for (size_t i = 0; i < count; i++) {
        list[i] = tp_frames_at(f, device, (uint32_t)i);
        index[i] = (uint16_t)i;
    }
    for (; count; count--) {
        size_t least = tp_frames_least(list, count);
        ranks[index[least]] = (uint16_t)count;
        memmove(&list[least], &list[least + 1], (count - 1 - least) * sizeof *list);
        memmove(&index[least], &index[least + 1], (count - 1 - least) * sizeof *index);
    }
}

struct shown_events {
    struct tp_frame_event *items;
    size_t count, room;
};

static int add_frame(struct shown_events *s, const struct tp_frames *f, uint32_t device,
                     const struct tp_frame *frame, uint64_t rank, struct tp_err *err)
{
    struct tp_frame_reader r = tp_frame_read(f, device, frame);
    struct tp_frame_row row;
    struct tp_frame_piece piece;
    int rc = TP_OK;
    while (!rc && tp_frame_row(&r, &row))
        while (!rc && tp_frame_piece(&r, &piece)) {
            if (!piece.event)
                continue;
            rc = TP_GROW(&s->items, &s->room, s->count + 1, err, .what = "events of frames");
            if (!rc)
                s->items[s->count++] = (struct tp_frame_event){piece.event, rank};
        }
    return rc;
}

static int by_event_and_rank(const void *a, const void *b)
{
    const struct tp_frame_event *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return tp_order(x->rank, y->rank);
}

int tp_frame_events(const struct tp_frames *f, struct tp_frame_event **out, size_t *count,
                    struct tp_err *err)
{
    struct shown_events s = {0};
    uint16_t ranks[TP_FRAMES_MOST];
    int rc = TP_OK;
    for (uint32_t d = 0; !rc && d < f->devices; d++) {
        tp_frame_ranks(f, d, ranks);
        for (uint32_t i = 0; !rc && i < tp_frames_count(f, d); i++)
            rc = add_frame(&s, f, d, tp_frames_at(f, d, i), ranks[i], err);
    }
    if (s.count)
        qsort(s.items, s.count, sizeof *s.items, by_event_and_rank);
    *count = 0;
    for (size_t i = 0; i < s.count; i++)
        if (!*count || s.items[*count - 1].event != s.items[i].event)
            s.items[(*count)++] = s.items[i];
    if (rc)
        free(s.items);
    *out = rc ? NULL : s.items;
    return rc;
}

/* ---- where ---- */

/* Appends the events of one result. */
static int add_result(uint64_t **list, size_t *count, size_t *room, const struct tp_result *r,
                      struct tp_err *err)
{
    struct tp_frame_event *events = NULL;
    size_t more = 0;
    int rc = tp_frame_events(r->frames, &events, &more, err);
    if (!rc)
        rc = TP_GROW(list, room, *count + more, err, .what = "events of frames");
    for (size_t i = 0; !rc && i < more; i++)
        (*list)[(*count)++] = events[i].event;
    free(events);
    return rc;
}

void tp_frame_places_find(struct tp_captured *c, const struct tp_trace *t,
                          const struct tp_result *results, size_t count,
                          int (*stop)(struct tp_err *err))
{
    struct tp_err ignored = {0};
    uint64_t *list = NULL;
    size_t events = 0, room = 0;
    int rc = t->places.find ? TP_OK : TP_EUNSUP;
    for (size_t i = 0; !rc && i < count; i++)
        if (results[i].frames)
            rc = add_result(&list, &events, &room, &results[i], &ignored);
    size_t unique = rc ? 0 : tp_ascending(list, events);
    if (unique &&
        tp_place_table_gather(&t->places, list, unique, stop, &c->frame_places, &ignored) != TP_OK)
        c->frame_places = NULL;
    free(list);
}
