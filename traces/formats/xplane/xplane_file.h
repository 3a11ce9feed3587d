/* A capture of the profiler of TensorFlow and JAX that was read: the memory events of all its
 * allocators, in the file's own terms.
 *
 *     XSpace     plane "/host:CPU"
 *                  line "python3"            a thread
 *                    event "MemoryAllocation"   allocator_name, addr, requested_bytes, ...
 *
 * The threads' events are merged by time for each allocator. What an event says of its allocator
 * (bytes in use, fragmentation) is true behind it. */
#ifndef TP_XPLANE_FILE_H
#define TP_XPLANE_FILE_H

#include "alloc/base/id_map.h"
#include "alloc/base/texts.h"
#include "traces/format.h"

#define TP_XPLANE_UNKNOWN UINT64_MAX

enum { TP_XPLANE_NAME = 80 };

struct tp_xplane_event {
    int64_t time_ps;
    uint64_t offset;       /* byte in the file of the event */
    uint64_t addr;         /* 0: not recorded */
    uint64_t requested;    /* bytes; 0: a free that does not say it, before tp_xplane_order */
    uint64_t bytes;        /* of the chunk */
    uint64_t in_use;       /* of the allocator behind the event, or TP_XPLANE_UNKNOWN */
    double fragmentation;  /* share of the free bytes that are not the largest chunk; NaN: not
                            * recorded */
    int64_t step;          /* 0: none */
    uint32_t allocator;    /* index */
    uint32_t thread;       /* index of the line */
    uint32_t place, scope; /* texts: the end of the operation's name with its data type, shape and
                            * region type, and what the name begins with; TP_NO_TEXT: none */
    bool frees;
};

struct tp_xplane_allocator {
    char name[TP_XPLANE_NAME]; /* "GPU_0_bfc"; clean */
    uint32_t plane;            /* in which it was named: two hosts may name one alike */
    uint64_t limit;            /* bytes that it may have; 0: not recorded */
    size_t first, count;       /* its events in the list of all */
    uint64_t breaks;           /* events behind which other bytes are in use than they add up to */
    uint64_t first_break;      /* number among its events, from 1; 0: none */
    bool unnamed;              /* a TPU's: events say the number of a device alone */
    bool bfc; /* named, all events with an address, and a limit or fragmentation, as BFC's are */
};

struct tp_xplane {
    const struct tp_reading *reading;
    const char *capture;            /* kind of file, for people, behind the name of the program */
    struct tp_xplane_event *events; /* by allocator, then in the order of time */
    size_t count, room;
    struct tp_xplane_allocator *allocators;
    size_t allocator_count, allocator_room;
    struct tp_id_map known; /* allocators by the hash of name, plane and limit */
    struct tp_texts texts;
    uint64_t planes, lines; /* of the file; no lines: it does not know threads */
    uint64_t unreadable;    /* memory events that lack a member or have one that is no number */
    uint64_t unreadable_at; /* byte of the first of them */
    bool operations;        /* some events name one */
    bool tensorflow;        /* they name its steps or types too; else it is JAX */
    bool cut;               /* the file ends within a plane, which is left out */
    bool tpu;               /* some allocator has no name, as those of TPUs */
};

/* Reads the file to its end. TP_EINPUT names the byte where it is no such file. `x` is zeroed but
 * for `reading`, and must be released in every case. */
int tp_xplane_read(struct tp_xplane *x, struct tp_err *err);
void tp_xplane_release(struct tp_xplane *x);

/* Sorts allocators by name and events by time, and checks that each allocator's bytes in use add
 * up; tp_xplane_read does. TP_ENOMEM. No allocator may be added after that. */
int tp_xplane_order(struct tp_xplane *x, struct tp_err *err);

/* Whether an allocator has memory of the host, by its name. */
bool tp_xplane_is_host(const struct tp_xplane_allocator *a);

/* Lowers the events of the memory spaces that the user chose, after tp_xplane_order, and sets what
 * the reading says of them. There is an event at least. */
int tp_xplane_lower(struct tp_xplane *x, struct tp_err *err);

/* Says of a file of this kind without events that none can be read, or else `nothing`. */
void tp_xplane_say_nothing(const struct tp_xplane *x, const char *capture, const char *nothing);

/* The statistics of a memory event that are read. */
enum tp_xplane_stat {
    TP_XPLANE_ALLOCATOR,
    TP_XPLANE_ADDRESS,
    TP_XPLANE_REQUESTED,
    TP_XPLANE_CHUNK,
    TP_XPLANE_IN_USE,
    TP_XPLANE_AVAILABLE,
    TP_XPLANE_RESERVED,
    TP_XPLANE_FRAGMENTATION,
    TP_XPLANE_OPERATION,
    TP_XPLANE_STEP,
    TP_XPLANE_REGION,
    TP_XPLANE_DATA_TYPE,
    TP_XPLANE_SHAPE,
    TP_XPLANE_ORDINAL,
    TP_XPLANE_HOST_INDEX,
    TP_XPLANE_STATS
};

struct tp_xplane_text {
    const char *at;
    size_t size;
};

/* What a memory event says: a statistic of a capture's event, or a member of a memory profile's
 * snapshot. */
struct tp_xplane_value {
    enum { TP_XPLANE_ABSENT, TP_XPLANE_WHOLE, TP_XPLANE_REAL, TP_XPLANE_TEXT } kind;
    uint64_t whole;
    double real;
    struct tp_xplane_text text;
};

/* Adds an event with what its values say: allocator, address, sizes, step, and its place in the
 * program: `thread`, which may be empty, where no operation is named. One without a size, or with a
 * value of another type than it has, is counted as unreadable. */
int tp_xplane_add(struct tp_xplane *x, struct tp_xplane_event ev,
                  const struct tp_xplane_value values[TP_XPLANE_STATS],
                  struct tp_xplane_text thread, struct tp_err *err);

/* The index of an allocator by its name, which is cleaned, its plane, and its limit of bytes (0:
 * not recorded); it is added if it is new. */
int tp_xplane_allocator(struct tp_xplane *x, const char *name, size_t bytes, uint32_t plane,
                        uint64_t limit, uint32_t *index, struct tp_err *err);

/* Adds the operation of an event to a table, called from the scopes around it. *stack: as of
 * tp_place_table_call; 0: none is known. */
struct tp_place_table;
int tp_xplane_place(const struct tp_xplane *x, const struct tp_xplane_event *ev,
                    struct tp_place_table *to, uint32_t *stack, struct tp_err *err);

#endif
