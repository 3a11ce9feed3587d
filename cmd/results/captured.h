/* What a capture knows beyond its events: how much memory the recorded allocator held, taken from
 * the notes in the program and from the file, and at which source line an event happened. */
#ifndef TP_CAPTURED_H
#define TP_CAPTURED_H

#include "alloc/numbers/curve.h"
#include "traces/places/sites.h"

/* The recorded memory of one device. Sizes are bytes. "Peak demand" is the event at which the
 * program needed most. */
struct tp_captured_device {
    uint64_t start_reserved, peak_reserved, end_reserved;
    uint64_t peak_event;    /* event of peak_reserved; 0: before the first event */
    uint64_t at_demand;     /* bytes reserved at the trace peak */
    uint64_t demand_size;   /* size of the request at the trace peak; 0: not known */
    uint64_t demand_failed; /* bytes refused at the trace peak, if the program ran out then */
    uint64_t largest;       /* largest free block at the trace peak; or TP_RECORDED_UNKNOWN */
    uint64_t takes, gives;  /* segments got from and given back to the driver while recording */
    uint64_t maps, unmaps;  /* ranges of expandable segments mapped and unmapped while recording */
    uint64_t ooms;          /* requests that failed for want of memory in the recorded program */
    uint64_t replayed;      /* failed requests that a replay makes once more */
    uint64_t oom_event;     /* event of the first failed request; 0: none failed */
    uint64_t oom_size;      /* size of the first failed request */
    uint64_t oom_reserved;  /* bytes reserved at the first failed request */
    uint64_t oom_free;      /* bytes free on the device at that request; UINT64_MAX: not known */
    uint64_t free_requests; /* frees that the file records as a request and a completion */
    uint64_t waited;        /* frees completed later than they were requested */
    uint64_t longest_wait_ns;
    uint32_t demand_mark; /* phase of the trace peak; UINT32_MAX: none */
    struct tp_memory_limit limit;
};

struct tp_captured {
    bool known; /* the reserved bytes are known; ooms, frees and marks always are */
    uint32_t count;
    struct tp_captured_device *devices; /* owned; NULL: a host trace without recorded memory */
    struct tp_limit_rules limits;       /* of the recorded allocator; zeros: not known */
    uint64_t most_live; /* most live objects at once; set only if failed requests are replayed */
    size_t place_count;
    uint64_t place_events[TP_PLACES_MAX]; /* ascending */
    char places[TP_PLACES_MAX][TP_PLACE_TEXT];
    /* owned: of the events that frames of the results show; NULL: there are none, or not known */
    struct tp_place_table *frame_places;
    struct tp_sites *sites; /* owned; NULL: not known, or there are several devices */
    struct tp_sites *sizes; /* owned: by size at the trace peak, for pages; NULL: not asked for */
    struct tp_site_curve
        *site_curve; /* owned: `sites` over time; NULL: not known or not asked for */
};

/* Fills `out` except for the places, in one pass over the program. TP_ENOMEM, or an error of
 * reading the program; `out` is released then. */
int tp_captured_scan(const struct tp_trace *t, struct tp_captured *out, struct tp_err *err);
void tp_captured_release(struct tp_captured *c); /* a zeroed one is fine */

/* The figures of the device `index` of `r`. A device without events held the same amount from start
 * to end. */
struct tp_captured_device tp_captured_device(const struct tp_captured *c,
                                             const struct tp_recorded *r, uint32_t index);

/* Adds what the recorded allocator reserved of a device over the events of the program, in one pass
 * over it; `out` is an empty curve, and all three values of its points are the reserved bytes. Only
 * for a trace of which they are known. Errors are those of reading the program. */
int tp_captured_curve(const struct tp_trace *t, uint16_t device, struct tp_curve *out,
                      struct tp_err *err);

/* Requests that failed in the recorded program, and how many of them a replay makes once more; both
 * summed over all devices. */
struct tp_captured_failures {
    uint64_t ooms, replayed;
};
struct tp_captured_failures tp_captured_failures(const struct tp_captured *c);

/* How often the recorded program did `op`. A failed request that is replayed adds an ALLOC and a
 * FREE to the program; this count leaves them out. `c` may be NULL. */
uint64_t tp_captured_ops(const struct tp_captured *c, const struct tp_program_facts *f,
                         enum tp_op op);

/* How often it asked for memory: with ALLOC and with REALLOC. */
uint64_t tp_captured_allocations(const struct tp_captured *c, const struct tp_program_facts *f);

/* The objects of the recorded program, and the most that were live at once. Both leave out failed
 * requests that are replayed. `c` may be NULL. */
uint64_t tp_captured_objects(const struct tp_captured *c, const struct tp_program_facts *f);
uint64_t tp_captured_at_once(const struct tp_captured *c, const struct tp_program_facts *f);

/* Bytes of memory that the recorded device had, or the program's share of it, as far as failed
 * requests and failed cudaMallocs tell: the least with which all that was served is served; 0: not
 * known. With several devices the most of them. */
uint64_t tp_captured_capacity(const struct tp_captured *c);

/* The most that they leave possible: the same where a failed request says what was free. 0: not
 * known. */
uint64_t tp_captured_capacity_most(const struct tp_captured *c);

/* Whether a replay, whose devices all have that, gives one of them more than it had. */
bool tp_captured_limits_differ(const struct tp_captured *c);

/* Times that cudaMalloc failed, so that cached memory was freed, on all devices. */
struct tp_captured_retries {
    uint64_t count, first_event;
    uint64_t ooms;                 /* of them, those that did not help */
    uint64_t undecided;            /* times that cached memory was freed for that or as garbage */
    bool by_limit;                 /* the device had room: it was a limit of the process */
    const char *garbage, *partial; /* of struct tp_limit_rules */
    /* what the program could have, on one device: at least, and less than; 0: not known */
    uint64_t least, below;
};
struct tp_captured_retries tp_captured_retries(const struct tp_captured *c);

/* Whether memory was freed as garbage, so that the program had set its share of the
 * device: without one it does nothing. */
bool tp_captured_collects(const struct tp_captured *c);

/* Asks for the place of an event, which tp_captured_find then looks up. Requests beyond
 * TP_PLACES_MAX are dropped. */
void tp_captured_want(struct tp_captured *c, uint64_t event);

/* Who holds the memory: what the user chooses of it. */
struct tp_sites_opts {
    uint64_t at; /* an event; TP_OPT_KEYWORD(0), which is TP_AT_PEAK: the trace peak */
    uint64_t depth;
    uint32_t by; /* enum tp_sites_by */
};

/* Looks up all places that were asked for, and who holds the memory; `stacks`: also the call stacks
 * that hold it. A file that cannot be read a second time gives no places, which is no error. */
void tp_captured_find(struct tp_captured *c, const struct tp_trace *t,
                      const struct tp_sites_opts *o, bool stacks, int (*stop)(struct tp_err *err));

/* Finds `sizes` where tp_captured_find has found no sites, and there is one device. What cannot
 * be read gives none, which is no error. */
void tp_captured_find_sizes(struct tp_captured *c, const struct tp_trace *t,
                            int (*stop)(struct tp_err *err));

/* TP_EUSAGE: the trace has no such event. */
int tp_sites_check(const struct tp_sites_opts *o, const struct tp_trace *t, struct tp_err *err);

/* TP_EUSAGE: sites by this (enum tp_sites_by) have no call stacks. */
int tp_sites_have_stacks(uint32_t by, struct tp_err *err);

/* TP_EINPUT: nothing in the trace says who holds its memory, whatever is live at the event. */
int tp_sites_sayable(const struct tp_trace *t, struct tp_err *err);

/* TP_EINPUT: it was asked for, and is not known. */
int tp_sites_known(const struct tp_captured *c, const struct tp_trace *t, struct tp_err *err);

/* The place of an event, "optimizer.py:78 step"; NULL: not known. */
const char *tp_captured_place(const struct tp_captured *c, uint64_t event);

/* The name of the phase in which a device needed most; NULL: none. */
const char *tp_captured_phase(const struct tp_captured *c, const struct tp_trace *t,
                              uint16_t device);

/* Whether the trace's format records `what`: "threads", "streams" or "devices". */
bool tp_is_recorded(const struct tp_trace *t, const char *what);

/* Whether the format records threads and this trace names at least one. */
bool tp_threads_recorded(const struct tp_trace *t);

#endif
