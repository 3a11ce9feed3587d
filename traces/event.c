/* Names of notes and phases, and the place of an event in error messages. */
#include "traces/event.h"

#include <string.h>

const char *const tp_note_names[TP_NOTE_COUNT] = {
    [TP_NOTE_OTHER] = "other",
    [TP_NOTE_OOM] = "oom",
    [TP_NOTE_DEVICE_FREE] = "device_free",
    [TP_NOTE_SEGMENT_ALLOC] = "segment_alloc",
    [TP_NOTE_SEGMENT_FREE] = "segment_free",
    [TP_NOTE_SEGMENT_MAP] = "segment_map",
    [TP_NOTE_SEGMENT_UNMAP] = "segment_unmap",
    [TP_NOTE_FREE_REQUESTED] = "free_requested",
    [TP_NOTE_SNAPSHOT] = "snapshot",
    [TP_NOTE_SEGMENT_AT] = "segment_at",
};

enum tp_note tp_note_find(const char *name)
{
    for (int i = 0; i < TP_NOTE_COUNT; i++)
        if (strcmp(tp_note_names[i], name) == 0)
            return (enum tp_note)i;
    return TP_NOTE_OTHER;
}

static bool is_about_segment(enum tp_note note)
{
    return note >= TP_NOTE_SEGMENT_ALLOC && note <= TP_NOTE_SEGMENT_UNMAP;
}

enum tp_note tp_event_more(const struct tp_event *ev, uint64_t *value)
{
    bool placed = is_about_segment(ev->note) && ev->has_at && ev->at % TP_NOTE_AT_UNIT == 0;
    bool freed = ev->note == TP_NOTE_OOM && ev->has_free;
    *value = freed ? ev->free_bytes : ev->at / TP_NOTE_AT_UNIT;
    if (freed)
        return TP_NOTE_DEVICE_FREE;
    return placed && *value <= TP_MAX_SIZE ? TP_NOTE_SEGMENT_AT : TP_NOTE_OTHER;
}

bool tp_event_set_more(struct tp_event *ev, enum tp_note more, uint64_t value)
{
    bool placed = more == TP_NOTE_SEGMENT_AT && is_about_segment(ev->note);
    bool freed = more == TP_NOTE_DEVICE_FREE && ev->note == TP_NOTE_OOM;
    ev->has_at |= placed;
    ev->has_free |= freed;
    if (placed)
        ev->at = value * TP_NOTE_AT_UNIT;
    if (freed)
        ev->free_bytes = value;
    return placed || freed;
}

const char *tp_mark_phase(const struct tp_program *p, uint32_t mark)
{
    const char *name = mark == UINT32_MAX ? NULL : tp_program_mark(p, mark);
    return name && strcmp(name, TP_NO_PHASE) != 0 ? name : NULL;
}

int tp_event_placed(const struct tp_event *ev, const struct tp_input *in, int rc,
                    struct tp_err *err)
{
    if (rc != TP_EINPUT)
        return rc;
    if (ev->has_offset)
        return tp_input_at_byte(in, ev->offset, rc, err);
    if (ev->line)
        return tp_input_at_line(in, ev->line, rc, err);
    return tp_prefix(err, rc, "%s", tp_input_name(in));
}
