/* Hands the events of all threads of a recording to lowering, in one order. */
#ifndef TP_RECORDING_MERGE_H
#define TP_RECORDING_MERGE_H

#include "traces/formats/recording/recording_chunks.h"
#include "traces/formats/recording/recording_device_state.h"
#include "traces/lower/host_calls.h"

/* Calls of a GPU's driver as events: which stream a handle means, what an event that is waited for
 * says about its stream, and which memory is in a graph. */

/* `pointers` are those of the recording's blocks. Borrows all but `out`. `first` is the device of
 * the first request; -1: there is none. The trace's first stream is declared here, as lowering
 * would else declare one of device 0 with the first mark. */
int tp_recording_devices_new(const struct tp_reading *r, struct tp_pointers *pointers,
                             struct tp_device_counts *counts, int64_t first,
                             struct tp_recording_devices **out, struct tp_err *err);
void tp_recording_devices_free(struct tp_recording_devices *d); /* NULL is fine */

/* Hands what a call did to the sink, as events like `base`, which has their thread, time and
 * place. */
int tp_recording_devices_call(struct tp_recording_devices *d, const struct tp_device_call *c,
                              const struct tp_event *base, const struct tp_event_sink *sink,
                              struct tp_err *err);

void tp_recording_devices_describe(const struct tp_device_counts *counts, struct tp_meta *meta);

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
