/* Names of what traces note beside their events. */
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
};

enum tp_note tp_note_find(const char *name)
{
    for (int i = 0; i < TP_NOTE_COUNT; i++)
        if (strcmp(tp_note_names[i], name) == 0)
            return (enum tp_note)i;
    return TP_NOTE_OTHER;
}
