/* What is in a program, found by reading it once: sizes, lifetimes, threads, and the course of the
 * requested bytes. Memory: 56 bytes a live object, 65,536 distinct sizes, a curve a device.
 *
 * Sizes are those that allocations ask for; a lifetime runs from an allocation to the free or reset
 * that ends it. What was live before the recording began has no birth and is counted apart. */
#ifndef TP_INFO_SCAN_H
#define TP_INFO_SCAN_H

#include "alloc/engine/curve.h"
#include "alloc/engine/histogram.h"
#include "alloc/program/program.h"

enum {
    TP_INFO_COLUMNS = 64,        /* of the drawn curve */
    TP_INFO_SIZES = 6,           /* rows of the table of sizes */
    TP_INFO_COMMON = 3,          /* sizes asked for most often */
    TP_INFO_TEMPORARY = 64,      /* events: an object freed within so many is temporary */
    TP_INFO_DISTINCT_MAX = 65536 /* sizes that are told apart */
};

/* Objects allocated during the recording. Bytes are those asked for at their allocation; sums stop
 * at UINT64_MAX - 1. */
struct tp_info_count {
    uint64_t objects, bytes;
};

struct tp_info_size {
    uint64_t up_to; /* bytes; UINT64_MAX: the last row, which has no limit */
    struct tp_info_count count;
};

struct tp_info_common {
    uint64_t size, requests; /* requests 0: no such size */
};

struct tp_info_device {
    uint64_t columns[TP_INFO_COLUMNS]; /* highest requested bytes in each */
    struct tp_curve curve;             /* the requested bytes in all three values */
    uint64_t peak_new;                 /* bytes of what was allocated during the recording */
    uint32_t peak_mark;                /* the phase of the peak; UINT32_MAX: none */
};

struct tp_info {
    bool by_time;         /* columns are equal times, else equal numbers of events */
    uint64_t requests;    /* allocations and reallocations */
    uint64_t distinct;    /* sizes among the requests; at most TP_INFO_DISTINCT_MAX */
    bool distinct_capped; /* there are more */
    struct tp_info_common common[TP_INFO_COMMON]; /* most first; none where capped */
    struct tp_info_size sizes[TP_INFO_SIZES];
    struct tp_info_count allocated, temporary, outlive;
    struct tp_info_count before;       /* live before the recording began */
    uint64_t before_freed;             /* objects of these, freed during it */
    struct tp_histogram events, times; /* lifetimes of what was allocated and freed; ns */
    uint64_t freed;                    /* objects, by a free or a reset */
    uint64_t without_effect;           /* events that nothing was made of */
    uint64_t remote_frees;             /* frees by another thread than the one that allocated */
    uint32_t phases;                   /* names of marks, but for those that begin none */
    uint64_t phases_begun;             /* marks that begin one; the others only end one */
    uint64_t grow, shrink, same;       /* reallocations */
    uint64_t aligned;                  /* requests for another alignment than the usual */
    uint8_t usual_align_log2, highest_align_log2;
    uint32_t device_count;
    struct tp_info_device devices[]; /* device_count of them */
};

int tp_info_scan(struct tp_program *program, struct tp_info **out, struct tp_err *err);
void tp_info_free(struct tp_info *info); /* NULL is fine */

#endif
