/* Writes a program as buffers with lifetimes (minimalloc CSV), for offline planners. */
#ifndef TP_MINIMALLOC_WRITE_H
#define TP_MINIMALLOC_WRITE_H

#include "alloc/program/program.h"

#include <stdio.h>

struct tp_minimalloc_cfg {
    int64_t device;    /* dense index; -1: the only one that allocates */
    uint64_t round_to; /* sizes are rounded up to a multiple; 0 and 1: as requested */
    bool alignment;    /* with a column of alignments, in bytes */
    const char *path;  /* for messages; borrowed for the call */
};

/* Writes a header and a row for each object of one device, in the order in which they go:
 * `id,lower,upper,size`. Lower is the number of the event that allocated it, 0 for what was live
 * before the first; upper that of the event that freed it, one more than there are events for what
 * is live at the end. A realloc ends one buffer and begins another. Takes 24 bytes a slot.
 *
 * TP_EUSAGE: the device does not exist, or several allocate and none is chosen; a multiple over
 * TP_MAX_SIZE. TP_EIO as soon as a write is known to have failed; what is still buffered is for the
 * owner of `out` to flush and check. */
int tp_minimalloc_write(struct tp_program *p, const struct tp_minimalloc_cfg *cfg, FILE *out,
                        struct tp_err *err);

#endif
