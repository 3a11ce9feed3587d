/* What a capture knows beyond its events: the recorded allocator's own memory, from the notes in
 * its program and what stood in the file; and where in the recorded program an event happened. */
#ifndef TP_CAPTURED_H
#define TP_CAPTURED_H

#include "traces/trace.h"

/* Bytes; of one device. */
struct tp_captured_device {
    uint64_t start_reserved, peak_reserved, end_reserved;
    uint64_t peak_event;    /* of the peak; 0: before the first */
    uint64_t at_demand;     /* reserved when the program needed most */
    uint64_t demand_size;   /* asked for there; 0: not known */
    uint64_t demand_failed; /* of it, what the recorded program did not get: it ran out there */
    uint64_t largest;       /* free piece there; TP_RECORDED_UNKNOWN */
    uint64_t takes, gives;  /* of segments, from and to the driver, during the recording */
    uint64_t maps, unmaps;  /* of ranges of expandable segments, likewise */
    uint64_t ooms;          /* that the recorded program met */
    uint64_t played;        /* of these requests, made once more in a replay */
    uint64_t oom_event;     /* the first; 0: none */
    uint64_t oom_size;      /* asked for there */
    uint64_t oom_reserved;  /* held then */
    uint64_t oom_free;      /* left on the device then; UINT64_MAX: not known */
    uint64_t free_requests; /* frees whose request and completion are told apart */
    uint64_t waited;        /* of these, completed later than they were requested */
    uint64_t longest_wait_ns;
    uint32_t demand_mark; /* the phase in which the program needed most; UINT32_MAX: none */
};

struct tp_captured {
    bool known; /* the memory figures; those of ooms, frees and marks are there in any case */
    uint32_t count;
    struct tp_captured_device *devices; /* owned */
    uint64_t most_live;                 /* objects; only where requests that failed are played */
    size_t place_count;
    uint64_t place_events[TP_PLACES_MAX]; /* ascending */
    char places[TP_PLACES_MAX][TP_PLACE_TEXT];
};

int tp_captured_scan(const struct tp_trace *t, struct tp_captured *out, struct tp_err *err);
void tp_captured_release(struct tp_captured *c); /* a zeroed one is fine */

/* The device `index` of `r`; one that no event is about held what it held. */
struct tp_captured_device tp_captured_device(const struct tp_captured *c,
                                             const struct tp_recorded *r, uint32_t index);

/* Of all devices: requests that failed in the recorded program, and how many of them are played. */
struct tp_captured_failures {
    uint64_t ooms, played;
};
struct tp_captured_failures tp_captured_failures(const struct tp_captured *c);

/* How often the program did `op`: without the ALLOC and FREE of each failed request that is played.
 * `c` may be NULL. */
uint64_t tp_captured_ops(const struct tp_captured *c, const struct tp_program_facts *f,
                         enum tp_op op);

/* Objects of the program, and the most of them that were live at once, likewise. */
uint64_t tp_captured_objects(const struct tp_captured *c, const struct tp_program_facts *f);
uint64_t tp_captured_at_once(const struct tp_captured *c, const struct tp_program_facts *f);

/* What the recorded device had, where an out of memory tells; 0: not known. */
uint64_t tp_captured_capacity(const struct tp_captured *c);

/* Wants the place of an event; those beyond TP_PLACES_MAX are forgotten. */
void tp_captured_want(struct tp_captured *c, uint64_t event);

/* Looks up all places that are wanted. A file that cannot be read again has none: no error. */
void tp_captured_find(struct tp_captured *c, const struct tp_trace *t);

/* "optimizer.py:78 step", or NULL. */
const char *tp_captured_place(const struct tp_captured *c, uint64_t event);

/* The name of a phase; NULL: none, before the first mark or behind one that only ends a phase. */
const char *tp_captured_mark(const struct tp_program *p, uint32_t mark);

/* The phase in which a device needed most; NULL: none. */
const char *tp_captured_phase(const struct tp_captured *c, const struct tp_trace *t,
                              uint16_t device);

/* Whether the format knows "threads", "streams" or "devices". */
bool tp_is_recorded(const struct tp_trace *t, const char *what);

/* The format says which thread did what, and one did. */
bool tp_threads_recorded(const struct tp_trace *t);

#endif
