/* A recording from its first page to the trace: the file, the program's process, and what is made
 * of the file afterwards. */
#ifndef TP_RECORD_SESSION_H
#define TP_RECORD_SESSION_H

#include "alloc/base/err.h"
#include "traces/record/recording.h"

#include <limits.h>
#include <stddef.h>

struct tp_signals_found;

struct tp_record_cfg {
    const char *output;  /* the trace; the recording is OUTPUT.recording beside it */
    char **command;      /* ends with NULL */
    const char *program; /* path of the file that is run, with a slash */
    const struct tp_signals_found *signals; /* what the program finds */
    enum tp_record_follow follow;
    uint64_t after;                 /* calls that are left out at the beginning */
    uint64_t max_bytes, max_events; /* 0: no limit */
    uint64_t duration_ns;           /* 0: to the end of the program */
    bool json;                      /* a line of JSON says what was recorded, no sentences */
    bool no_command;                /* the arguments are not to be in the trace */
    bool cuda;                      /* memory of GPUs is recorded, instead of the host's */
    uint32_t stacks;                /* frames of a call stack at most; 0: there are none */
    uint32_t stack_every;           /* as in tp_recording_head */
    uint64_t stack_size;
};

enum { TP_RECORD_NOT_STARTED = 126 };

struct tp_record_session {
    char path[PATH_MAX];            /* of the recording */
    struct tp_recording_head *head; /* mapped; of its own when the program has ended */
    int how;                        /* wait status of the program */
    bool stopped;                   /* a signal ended the waiting for its children */
};

/* Makes the recording's file. TP_EUSAGE, TP_EIO: it cannot be written. */
int tp_record_open(const struct tp_record_cfg *cfg, struct tp_record_session *s,
                   struct tp_err *err);

/* Runs the program to its end, with the recorder preloaded. Signals to this process go to it, but
 * for SIGUSR2, which stops and starts the recording. TP_EIO: it could not be started. */
int tp_record_run(const struct tp_record_cfg *cfg, struct tp_record_session *s, struct tp_err *err);

void tp_record_close(struct tp_record_session *s);

#endif
