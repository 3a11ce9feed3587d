/* Streams and events of GPUs while their calls are read: what a handle means, and what is known to
 * be complete. */
#ifndef TP_RECORDING_STREAMS_H
#define TP_RECORDING_STREAMS_H

#include "traces/formats/recording/recording_device_state.h"

int tp_recording_hand_in(const struct device_step *s, struct tp_event *ev);

/* The stream that a handle means now; one that was not seen before is taken for a stream of the
 * call's device. */
int tp_recording_find_stream(const struct device_step *s, uint32_t *out);
int tp_recording_default_stream(const struct device_step *s, uint64_t device, uint32_t *out);

/* Puts an event on a stream, which the trace has from then on. */
int tp_recording_use_stream(const struct device_step *s, uint32_t stream, struct tp_event *ev);

/* Something was freed in the order of the stream. */
void tp_recording_note_free(struct tp_recording_devices *d, uint32_t stream);

static inline bool tp_recording_is_open(const struct tp_recording_devices *d, uint32_t capture)
{
    return capture && d->captures[capture - 1];
}

/* Whether what is asked for in the stream goes into a graph. */
static inline bool tp_recording_captured(const struct tp_recording_devices *d, uint32_t stream)
{
    return tp_recording_is_open(d, d->streams[stream].capture);
}

/* Calls of these kinds. */
int tp_recording_on_stream(const struct device_step *s);
int tp_recording_on_stream_end(const struct device_step *s);
int tp_recording_on_capture(const struct device_step *s);
int tp_recording_on_capture_end(const struct device_step *s);
int tp_recording_on_record(const struct device_step *s);
int tp_recording_on_event_end(const struct device_step *s);
int tp_recording_on_wait(const struct device_step *s);
int tp_recording_on_sync_stream(const struct device_step *s);
int tp_recording_on_stream_done(const struct device_step *s);
int tp_recording_on_sync_event(const struct device_step *s);
int tp_recording_on_sync_device(const struct device_step *s);

#endif
