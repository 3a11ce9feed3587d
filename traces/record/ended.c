/* See ended.h. */
#include "traces/record/ended.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    bool fails;    /* and not because the program or its user wanted it so */
    bool by_errno; /* head->error says how */
} reasons[] = {
    [TP_REC_NO_REASON] = {"", false, false},
    [TP_REC_DISK_FULL] = {"the file could not grow", true, true},
    [TP_REC_NO_MAPPING] = {"the file could not be mapped", true, true},
    [TP_REC_MAX_SIZE] = {"the file had the size of --max-size", false, false},
    [TP_REC_MAX_EVENTS] = {"it had the events of --max-events", false, false},
    [TP_REC_DURATION] = {"it had lasted the time of --duration", false, false},
    [TP_REC_FILE_GONE] = {"the program had closed the file", true, true},
    [TP_REC_SANDBOX] = {"the program forbade system calls (seccomp)", false, false},
    [TP_REC_NO_CLOCK] = {"the program forbade itself to read the clock", false, false},
    [TP_REC_NO_CUPTI] = {"libcupti.so was not found: TAPOOL_CUPTI=FILE names it", true, false},
    [TP_REC_CUPTI_FAILED] = {"CUPTI refused it: is the program profiled by another tool?", true,
                             false},
};

static uint32_t why_of(const struct tp_recording_head *h)
{
    uint32_t why = atomic_load(&h->why);
    return why < sizeof reasons / sizeof *reasons ? why : (uint32_t)TP_REC_NO_REASON;
}

void tp_recording_ended(const struct tp_recording_head *h, char *out, size_t size)
{
    uint32_t why = why_of(h);
    int error = reasons[why].by_errno ? atomic_load(&h->error) : 0;
    snprintf(out, size, "%s%s%s", reasons[why].text, error ? ": " : "",
             error ? strerror(error) : "");
}

bool tp_recording_failed(const struct tp_recording_head *h)
{
    return reasons[why_of(h)].fails;
}
