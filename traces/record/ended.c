/* See ended.h. */
#include "traces/record/ended.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    bool fails; /* and not because the program or its user wanted it so */
    enum { PLAIN, BY_ERRNO, BY_NUMBER } how; /* head->error says more */
} reasons[] = {
    [TP_REC_NO_REASON] = {"", false, PLAIN},
    [TP_REC_DISK_FULL] = {"the file could not grow", true, BY_ERRNO},
    [TP_REC_NO_MAPPING] = {"the file could not be mapped", true, BY_ERRNO},
    [TP_REC_MAX_SIZE] = {"the file had the size of --max-size", false, PLAIN},
    [TP_REC_MAX_EVENTS] = {"it had the events of --max-events", false, PLAIN},
    [TP_REC_DURATION] = {"it had lasted the time of --duration", false, PLAIN},
    [TP_REC_FILE_GONE] = {"the program had closed the file", true, BY_ERRNO},
    [TP_REC_SANDBOX] = {"the program forbade system calls (seccomp)", false, PLAIN},
    [TP_REC_NO_CLOCK] = {"the program forbade itself to read the clock", false, PLAIN},
    [TP_REC_NO_CUPTI] = {"libcupti.so was not found: TAPOOL_CUPTI=FILE names it", true, PLAIN},
    [TP_REC_CUPTI_FAILED] = {"CUPTI refused it, as it does while another tool profiles the program",
                             true, BY_NUMBER},
};

static uint32_t why_of(const struct tp_recording_head *h)
{
    uint32_t why = atomic_load(&h->why);
    return why < sizeof reasons / sizeof *reasons ? why : (uint32_t)TP_REC_NO_REASON;
}

void tp_recording_ended(const struct tp_recording_head *h, char *out, size_t size)
{
    uint32_t why = why_of(h);
    int error = atomic_load(&h->error);
    if (reasons[why].how == BY_NUMBER)
        snprintf(out, size, "%s: error %d", reasons[why].text, error);
    else if (reasons[why].how == BY_ERRNO && error)
        snprintf(out, size, "%s: %s", reasons[why].text, strerror(error));
    else
        snprintf(out, size, "%s", reasons[why].text);
}

bool tp_recording_failed(const struct tp_recording_head *h)
{
    return reasons[why_of(h)].fails;
}

bool tp_recording_forbidden(const struct tp_recording_head *h)
{
    uint32_t why = why_of(h);
    return why == TP_REC_SANDBOX || why == TP_REC_NO_CLOCK;
}
