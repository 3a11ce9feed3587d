/* Why a recording ended before its program, in words. */
#ifndef TP_RECORDING_ENDED_H
#define TP_RECORDING_ENDED_H

#include "traces/record/recording.h"

#include <stddef.h>

/* Writes the reason, with the system's own if it gave one; "" where it did not end early. */
void tp_recording_ended(const struct tp_recording_head *h, char *out, size_t size);

/* Whether something failed: a bound that the user set is no failure. */
bool tp_recording_failed(const struct tp_recording_head *h);

/* Whether the program made it impossible. */
bool tp_recording_forbidden(const struct tp_recording_head *h);

#endif
