/* What is in a program, found in one pass over it: sizes, lifetimes, threads, and the requested
 * bytes over time. Memory: 56 bytes per live object, a table of 65,536 distinct sizes, and one
 * curve per device.
 *
 * Sizes are those that allocations ask for. A lifetime runs from an allocation to the free or reset
 * that ends it. Objects that were live before the recording began have no known start and are
 * counted separately. */
#ifndef TP_INFO_SCAN_H
#define TP_INFO_SCAN_H

#include "alloc/numbers/columns.h"
#include "alloc/numbers/curve.h"
#include "alloc/numbers/histogram.h"
#include "alloc/program/program.h"

enum {
    TP_INFO_COLUMNS = 512,        /* which are thinned to the width of a drawing */
    TP_INFO_SIZES = 6,            /* rows of the table of sizes */
    TP_INFO_COMMON = 3,           /* number of most requested sizes that are shown */
    TP_INFO_TEMPORARY = 64,       /* an object is temporary if it is freed within 64 events */
    TP_INFO_DISTINCT_MAX = 65536, /* distinct sizes that are counted */
    TP_INFO_POWERS = 49,          /* powers of two up to TP_MAX_SIZE */
    TP_INFO_THREADS = 1000        /* threads that are told apart */
};

/* A number of objects and the sum of their bytes, as requested at their allocation. Sums saturate
 * at UINT64_MAX - 1. */
struct tp_info_count {
    uint64_t objects, bytes;
};

struct tp_info_size {
    uint64_t up_to; /* largest size of the row in bytes; UINT64_MAX: no limit (last row) */
    struct tp_info_count count;
};

struct tp_info_common {
    uint64_t size, requests; /* an unused row has 0 requests */
};

/* What a thread does, or is done on a stream or a device, during the recording. Blocks that a reset
 * ends are not among the frees. */
struct tp_info_share {
    struct tp_info_count allocated;
    uint64_t frees;
    uint64_t remote; /* of these, of blocks that another thread allocated */
};

/* A phase: from a mark to the next one, and again from each later mark of the same name. */
struct tp_info_phase {
    uint64_t begun;       /* marks; 0: not a phase, but the name of an end */
    uint64_t first_event; /* of its first mark */
    uint64_t events;      /* between its marks and the next ones */
    uint64_t ns;          /* from its marks to the next ones; 0 where times are unknown */
    uint64_t peak;        /* most requested bytes in it, of all devices together */
    uint64_t peak_event;  /* where that is reached first */
};

struct tp_info_device {
    struct tp_stretch columns[TP_INFO_COLUMNS]; /* the requested bytes in each column, exactly */
    struct tp_curve curve; /* all three values of a point are the requested bytes */
    uint64_t peak_new;     /* most live bytes at once that were allocated during the recording */
    uint64_t left;         /* requested bytes after the last event */
    uint32_t peak_mark;    /* the phase of the peak; UINT32_MAX: none */
    struct tp_info_share share;
};

struct tp_info {
    bool by_time;         /* columns span equal times; if false, equal numbers of events */
    uint64_t requests;    /* allocations and reallocations */
    uint64_t distinct;    /* distinct sizes of the requests; at most TP_INFO_DISTINCT_MAX */
    bool distinct_capped; /* there are more distinct sizes than `distinct` */
    struct tp_info_common common[TP_INFO_COMMON]; /* most requests first; empty if capped */
    struct tp_info_size sizes[TP_INFO_SIZES];
    struct tp_info_count powers[TP_INFO_POWERS];        /* [k]: sizes above 2^(k-1), up to 2^k */
    struct tp_info_count allocated, temporary, outlive; /* allocated during the recording */
    struct tp_info_count before;                        /* live before the recording began */
    uint64_t before_freed;             /* objects live before the recording and freed during it */
    struct tp_histogram events, times; /* lifetimes of objects that were freed: in events, in ns */
    uint64_t freed;                    /* objects ended by a free or a reset */
    uint64_t without_effect;           /* events that lowering made no instruction of */
    uint64_t remote_frees;             /* frees by another thread than the one that allocated */
    uint32_t phases;                   /* distinct names of phases */
    uint64_t phases_begun;             /* marks that begin a phase; other marks only end one */
    uint64_t grow, shrink, same;       /* reallocations by their change of size */
    uint64_t aligned;                  /* requests with another alignment than the usual one */
    uint8_t usual_align_log2, highest_align_log2;
    /* In the order of their first allocation or free; an index that is used again after its thread
     * has ended is another thread. [TP_INFO_THREADS]: all that come later, together. */
    struct tp_info_share threads[TP_INFO_THREADS + 1];
    uint64_t thread_count;
    struct tp_info_share *streams;    /* facts->streams elements */
    struct tp_info_phase *phase_rows; /* by mark: facts->marks elements */
    uint32_t device_count;
    struct tp_info_device devices[]; /* device_count elements */
};

/* Reads the whole program. The caller frees `*out` with tp_info_free. TP_ENOMEM, or an error of
 * reading the program. */
int tp_info_scan(struct tp_program *program, struct tp_info **out, struct tp_err *err);
/* Likewise, but the columns and curves of devices stay empty, which take a third of the time. */
int tp_info_scan_no_curves(struct tp_program *program, struct tp_info **out, struct tp_err *err);
void tp_info_free(struct tp_info *info); /* NULL is fine */

/* Rows that are not empty, and those between them: first <= k < end; none if both are 0. */
struct tp_info_rows {
    unsigned first, end;
};
struct tp_info_rows tp_info_powers(const struct tp_info *info);

/* Lifetimes by powers of two (tp_hist_double), which row k has below tp_info_below(k); TP_NONE: the
 * last row, without an end. */
struct tp_info_rows tp_info_doublings(const struct tp_histogram *h,
                                      uint64_t counts[TP_HIST_DOUBLINGS]);
uint64_t tp_info_below(unsigned k);

/* The rows first <= i < end of threads or streams together. Those from TP_INFO_THREADS on are one
 * row of threads already. */
struct tp_info_share tp_info_sum(const struct tp_info_share *rows, uint64_t first, uint64_t end);

#endif
