/* Lowering: the only place that decides about malformed input. Events go in, a program comes out.
 *
 * Lowering gives objects dense, recycled slots and keeps their reference counts: the last free of
 * an object becomes FREE, the ones before it RELEASE. It renumbers threads, streams and devices,
 * splits gaps over 2^32-1 ns, and hashes the program. */
#ifndef TP_LOWER_H
#define TP_LOWER_H

#include "alloc/base/budget.h"
#include "traces/event.h"
#include "traces/lower/lower_ids.h"

enum tp_strictness {
    TP_BY_ORIGIN, /* strict for tapool's own formats, repairs for imported captures */
    TP_STRICT,    /* dirty input is an error */
    TP_REPAIR     /* dirty input is repaired and counted */
};

/* The latest time of an event, in ns (104 days). Long gaps are split by IDLE instructions; the
 * limit keeps a wrong clock from making billions of them. */
#define TP_MAX_TIME ((UINT64_C(1) << 53) - 1)

/* Kinds of repairs. tp_repair_names are the keys of the "repairs" object of a result. */
enum tp_repair {
    TP_REPAIR_UNKNOWN_FREE,    /* a free, use or retain of an id that is not live: dropped */
    TP_REPAIR_DOUBLE_ALLOC,    /* an alloc of a live id: the old object is freed first */
    TP_REPAIR_ZERO_SIZE,       /* an alloc of 0 bytes: 1 byte on host, dropped on device */
    TP_REPAIR_REALLOC_UNKNOWN, /* a realloc of an id that is not live: becomes an alloc */
    TP_REPAIR_REALLOC_ZERO,    /* a realloc to 0 bytes: becomes a free */
    TP_REPAIR_TIME_BACKWARDS,  /* time runs backwards: the latest time so far is kept */
    /* a free that comes after the alloc of the same address: moved before it */
    TP_REPAIR_INVERTED,
    TP_REPAIR_TRUNCATED, /* the file ends in the middle of an event: the event is left out */
    TP_REPAIR_COUNT
};
extern const char *const tp_repair_names[TP_REPAIR_COUNT]; /* "unknown_free", ... */
/* advice when the kind is an error */
extern const char *const tp_repair_hints[TP_REPAIR_COUNT];

struct tp_lower;
struct tp_input;

struct tp_lower_cfg {
    const char *path; /* for messages; borrowed for the lifetime of the lowering */
    bool strict;
    uint64_t memory_limit;    /* bytes of the program kept in memory; 0: default */
    uint64_t event_limit;     /* events to take; 0: all */
    uint64_t max_memory;      /* bytes that the lowering may hold; 0: no limit */
    struct tp_budget *budget; /* shared with the reader; NULL: the lowering alone has max_memory */
    int (*stop)(struct tp_err *err); /* called from time to time; its status refuses the event */
    /* source of the events, which bounds the size of the program; NULL: no bound */
    const struct tp_input *input;
    /* Leave out the objects that were live when recording began, and every event on them: their ids
     * are known, but in no count and in no program. */
    bool drop_initial;
    /* receives every window; the program then has none. NULL: the program keeps its windows */
    tp_window_sink *sink;
    void *sink_ctx; /* `ctx` of the sink */
};

int tp_lower_new(const struct tp_lower_cfg *cfg, struct tp_lower **out, struct tp_err *err);
void tp_lower_free(struct tp_lower *lo); /* NULL is fine */

/* Sets the kind, before the first event. It decides the usual alignment and what becomes of zero
 * sizes. TP_EINPUT: given twice; the message names no place, so the caller puts one before it. */
int tp_lower_kind(struct tp_lower *lo, enum tp_kind kind, struct tp_err *err);

/* Declares a stream. The first declared one is the default of events that name none. If none is
 * declared before the first event, stream 0 of device 0 is. TP_EINPUT: declared twice, or too
 * many. */
int tp_lower_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err);

/* Declares a stream unless it is declared already, for formats that find streams among their
 * events. */
int tp_lower_need_stream(struct tp_lower *lo, int64_t id, int64_t device, struct tp_err *err);

/* The same for formats whose streams have handles that may be equal on two devices. *id is what
 * events call the stream. Such a format declares all its streams so. */
int tp_lower_stream_on(struct tp_lower *lo, int64_t handle, int64_t device, int64_t *id,
                       struct tp_err *err);

/* Adds a segment of the heap that the recording began with, by device and address ascending: before
 * the first event that is not TP_EV_INITIAL. Its device is the stream's, which must be declared;
 * the members `blocks`, `device` and `stream` are not read. With segments, every TP_EV_INITIAL must
 * have a place in one of them. */
int tp_lower_segment(struct tp_lower *lo, int64_t stream, const struct tp_heap_segment *segment,
                     struct tp_err *err);

/* Ends what was live at the start; without this call the first other event does, and a heap that
 * contradicts itself is TP_EINPUT. Here it is not: the program begins without a heap, and *why, of
 * TP_ERR_TEXT bytes, is what is wrong; "": nothing. */
int tp_lower_begin(struct tp_lower *lo, char *why, struct tp_err *err);

/* Lowers the next event, in file order. TP_ESTOP: event_limit events were taken before this one;
 * stop reading, nothing is wrong. TP_EINPUT: "my.json:18234: event 9,112 allocates id 77, which is
 * live since event 9,040 (line 18090)". */
int tp_lower_event(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err);

/* Counts an event that is in the file and in its numbering but is not lowered. TP_ESTOP as in
 * tp_lower_event. */
int tp_lower_skip(struct tp_lower *lo, struct tp_err *err);

/* Lowers an event as a reader hands it to a sink: counts the repair that the reader made, if any,
 * and skips a TP_EV_SKIP. */
int tp_lower_read_event(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err);
struct tp_event_sink tp_lower_sink(struct tp_lower *lo);

/* Counts `count` such events in constant time: a file of a few bytes may claim 2^62 of them. */
int tp_lower_skip_many(struct tp_lower *lo, uint64_t count, struct tp_err *err);

/* Counts a repair that the reader makes for the event that it hands in next. When strict, fails
 * with TP_EINPUT and a message in which `text` follows "event 3": " frees what ...". */
int tp_lower_repaired(struct tp_lower *lo, const struct tp_event *ev, enum tp_repair kind,
                      const char *text, struct tp_err *err);

/* Adds the repairs of an earlier lowering of the same trace: an array of TP_REPAIR_COUNT counts. */
void tp_lower_add_repairs(struct tp_lower *lo, const uint64_t *counts);

/* Sets *size to the bytes of a live object. False: the id is not live, or its object is left
 * out. */
bool tp_lower_live(const struct tp_lower *lo, int64_t id, uint64_t *size);

/* Number of events taken so far. The number of the next event is one higher. */
uint64_t tp_lower_count(const struct tp_lower *lo);

/* Number of objects that drop_initial has left out so far. */
uint64_t tp_lower_dropped(const struct tp_lower *lo);

/* Gives the program, which the caller owns, and fills `repairs`, an array of TP_REPAIR_COUNT
 * counts. The lowering must still be freed. */
int tp_lower_finish(struct tp_lower *lo, struct tp_program **program, uint64_t *repairs,
                    struct tp_err *err);

/* The heap of the recorded allocator when the recording began, while its segments and blocks come
 * in. */

struct tp_lower_heap {
    struct tp_heap_segment *segments;
    struct tp_heap_block *blocks; /* one for each object of the initial heap */
    size_t segment_count, segment_room, block_count, block_room;
    bool placed;     /* some block has a place */
    bool incomplete; /* some block has none */
    bool given;      /* the initial heap is over */
    struct tp_budget *budget;
};

/* Adds a segment of a stream, or the place of an object of `size` bytes. */
int tp_lower_heap_segment(struct tp_lower_heap *h, const struct tp_streams *streams, int64_t stream,
                          const struct tp_heap_segment *segment, struct tp_err *err);
int tp_lower_heap_block(struct tp_lower_heap *h, const struct tp_event *ev, uint64_t size,
                        struct tp_err *err);

/* Gives the heap to the program, once, when the initial heap is over. TP_EINPUT: it contradicts
 * itself; with `why`, of TP_ERR_TEXT bytes, that is TP_OK and says so there. */
int tp_lower_heap_give(struct tp_lower_heap *h, struct tp_builder *b, char *why,
                       struct tp_err *err);
void tp_lower_heap_release(struct tp_lower_heap *h);

#endif
