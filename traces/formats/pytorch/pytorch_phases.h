/* The annotations of a snapshot as phases: at each time the innermost annotation that is open. */
#ifndef TP_PYTORCH_PHASES_H
#define TP_PYTORCH_PHASES_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

#define TP_PYTORCH_NO_PHASE UINT32_MAX

enum { TP_PYTORCH_NESTED_MAX = 64 };

/* Begin with a zeroed one but for `snapshot`. */
struct tp_pytorch_phases {
    const struct tp_pytorch *snapshot;
    size_t next;                          /* annotation */
    uint16_t open[TP_PYTORCH_NESTED_MAX]; /* names of the open ones, as words */
    uint32_t nested;
};

/* Puts the annotations into the order of time, which the functions below need. */
void tp_pytorch_sort_annotations(struct tp_pytorch *s);

/* Passes the annotations up to a time, of devices with `taken` set and of no device, with NULL of
 * all. False: there are none. *last_us is the time of the last one. */
bool tp_pytorch_pass_phases(struct tp_pytorch_phases *p, const bool *taken, int64_t time_us,
                            int64_t *last_us);

/* The phase now, or TP_PYTORCH_NO_PHASE. */
uint32_t tp_pytorch_phase(const struct tp_pytorch_phases *p);

/* Its name; NULL for TP_PYTORCH_NO_PHASE. */
const char *tp_pytorch_phase_name(const struct tp_pytorch *s, uint32_t phase);

#endif
