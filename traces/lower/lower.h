/* Lowering: the only place with policy about dirty input. Events go in, a program comes out.
 *
 * It gives objects dense recycled slots, owns reference counts (the last free is FREE, the ones
 * before it RELEASE), renumbers threads, streams and devices, splits gaps over 2^32-1 ns, hashes.
 */
#ifndef TP_LOWER_H
#define TP_LOWER_H

#include "alloc/base/budget.h"
#include "traces/event.h"

enum tp_strictness {
    TP_BY_ORIGIN, /* own formats strict, imported captures repaired */
    TP_STRICT,    /* dirty input is an error */
    TP_REPAIR     /* dirty input is repaired and counted */
};

/* The latest time of an event, in ns (104 days): gaps are split by IDLE instructions, and a wrong
 * clock must not make billions of them. */
#define TP_MAX_TIME ((UINT64_C(1) << 53) - 1)

/* Repairs made, by kind; the names are those of the result's "repairs" object. */
enum tp_repair {
    TP_REPAIR_UNKNOWN_FREE,    /* a free, use or retain of an id that is not live: dropped */
    TP_REPAIR_DOUBLE_ALLOC,    /* an alloc of a live id: the old object is freed first */
    TP_REPAIR_ZERO_SIZE,       /* 1 byte on host, dropped on device */
    TP_REPAIR_REALLOC_UNKNOWN, /* a realloc of an id that is not live: an alloc */
    TP_REPAIR_REALLOC_ZERO,    /* a realloc to 0: a free */
    TP_REPAIR_TIME_BACKWARDS,  /* time runs backwards: held */
    TP_REPAIR_INVERTED,        /* a free that stands behind the alloc that needed it: put before */
    TP_REPAIR_TRUNCATED,       /* the file ends in the middle of an event: left out */
    TP_REPAIR_COUNT
};
extern const char *const tp_repair_names[TP_REPAIR_COUNT]; /* "unknown_free", ... */
extern const char *const tp_repair_hints[TP_REPAIR_COUNT]; /* what to do where it is an error */

struct tp_lower;
struct tp_input;

struct tp_lower_cfg {
    const char *path; /* for messages; borrowed for the lifetime of the lowering */
    bool strict;
    uint64_t memory_limit;    /* of the program; 0 = default */
    uint64_t event_limit;     /* events to take; 0 = all */
    uint64_t max_memory;      /* bytes, of all that is held; 0 = no limit */
    struct tp_budget *budget; /* shared with the reader; NULL: max_memory is the lowering's */
    int (*stop)(struct tp_err *err); /* asked from time to time; its status refuses an event */
    const struct tp_input *input;    /* read from, for what a program may take; NULL: not limited */
    bool drop_initial;    /* leave out what was live when recording began, and all that becomes of
                             it: such ids are known, but in no count and in no program */
    tp_window_sink *sink; /* takes every window instead of the program, which then has none; */
    void *sink_ctx;       /* NULL: the program keeps them */
};

int tp_lower_new(const struct tp_lower_cfg *cfg, struct tp_lower **out, struct tp_err *err);
void tp_lower_free(struct tp_lower *lo); /* NULL is fine */

/* Before the first event. The kind decides alignment and zero sizes. TP_EINPUT: given twice; the
 * sentence names no place, the caller puts one before it. */
int tp_lower_kind(struct tp_lower *lo, enum tp_kind kind, struct tp_err *err);

/* Declares a stream; the first one is that of events that name none. Without any before the first
 * event there is stream 0 of device 0. TP_EINPUT: declared twice, too many. */
int tp_lower_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err);

/* The same for formats that meet streams as they come: one that is there is left as it is. */
int tp_lower_need_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err);

/* The next event, in file order. TP_ESTOP: event_limit have been taken, and this is one more: stop
 * reading, nothing is wrong. TP_EINPUT: "my.json:18234: event 9,112 allocates id 77, which is
 * live since event 9,040 (line 18090)". */
int tp_lower_event(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err);

/* An event that is in the file and in its numbering, and that nothing is made of. TP_ESTOP as
 * above. */
int tp_lower_skip(struct tp_lower *lo, struct tp_err *err);

/* The same for many at once: a file of a few bytes may say that there are 2^62 of them. */
int tp_lower_skip_many(struct tp_lower *lo, uint64_t count, struct tp_err *err);

/* Counts a repair that the reader makes for the event it is about to hand in; TP_EINPUT when
 * strict, and `text` follows "event 3": " frees what ...". */
int tp_lower_repaired(struct tp_lower *lo, const struct tp_event *ev, enum tp_repair kind,
                      const char *text, struct tp_err *err);

/* Repairs of an earlier lowering of the same trace: TP_REPAIR_COUNT counts, added to its own. */
void tp_lower_add_repairs(struct tp_lower *lo, const uint64_t *counts);

/* Bytes of a live object; false: the id is not live, or in no program. */
bool tp_lower_live(const struct tp_lower *lo, int64_t id, uint64_t *size);

/* Number of events taken so far: the next one is this plus 1. */
uint64_t tp_lower_count(const struct tp_lower *lo);

/* Objects that drop_initial left out so far. */
uint64_t tp_lower_dropped(const struct tp_lower *lo);

/* The program and the repairs (array of TP_REPAIR_COUNT). The lowering must still be freed. */
int tp_lower_finish(struct tp_lower *lo, struct tp_program **program, uint64_t *repairs,
                    struct tp_err *err);

#endif
