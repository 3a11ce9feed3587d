/* Calls of a GPU's driver as events: which stream a handle means, what an event that is waited for
 * says about its stream, and which memory is in a graph. */
#ifndef TP_RECORDING_DEVICES_H
#define TP_RECORDING_DEVICES_H

#include "traces/formats/recording/recording_device_state.h"

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

#endif
