/* What the recording says of the malloc that serves the program: its file, the variables that set
 * it, and what a stamp takes, which is part of every call that is timed. */
#include "cmd/preload/recorder.h"

#include "alloc/base/malloc_variables.h"

#include <dlfcn.h>
#include <string.h>

/* Variables by which a malloc is set: "MALLOC_ARENA_MAX=1 MIMALLOC_VERBOSE=1". What does not fit is
 * left out. */
static void note_settings(struct tp_recording_head *head)
{
    extern char **environ;
    size_t used = 0;
    head->settings[0] = '\0';
    for (char **e = environ; e && *e; e++) {
        size_t length = strlen(*e);
        if (!tp_is_malloc_variable(*e) || used + length + 2 > sizeof head->settings)
            continue;
        if (used)
            head->settings[used++] = ' ';
        memcpy(head->settings + used, *e, length + 1);
        used += length;
    }
}

void tp_recorder_note_library(void)
{
    struct tp_recording_head *head = tp_recorder.head;
    void *function = NULL;
    Dl_info info;
    uint64_t from = tp_recorder_stamp();
    for (int i = 0; i < TP_REC_EMPTY; i++)
        tp_recorder_stamp();
    head->empty_ticks = tp_recorder_stamp() - from;
    note_settings(head);
    memcpy(&function, &tp_below.malloc, sizeof function);
    if (function && dladdr(function, &info) && info.dli_fname &&
        strlen(info.dli_fname) < sizeof head->library)
        memcpy(head->library, info.dli_fname, strlen(info.dli_fname) + 1);
}
