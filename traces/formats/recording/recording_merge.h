/* Hands the events of all threads of a recording to lowering, in one order. */
#ifndef TP_RECORDING_MERGE_H
#define TP_RECORDING_MERGE_H

#include "traces/formats/recording/recording_chunks.h"
#include "traces/formats/recording/recording_devices.h"
#include "traces/lower/host_calls.h"

/* What was left out or made of something else; for remarks. */
struct tp_merge_counts {
    struct tp_host_counts calls;
    uint64_t mended; /* events that were put before one with an earlier time */
    uint64_t events; /* all that were read */
    uint64_t alive;  /* ticks >> shift from first to last event, summed over the threads */
    struct tp_device_counts devices;
    uint32_t pauses;                   /* whose place is known */
    uint64_t paused_at[TP_REC_PAUSES]; /* number of the first event after it began */
};

int tp_recording_merge(const struct tp_reading *r, const struct tp_recording *rec,
                       struct tp_merge_counts *counts, struct tp_err *err);

#endif
