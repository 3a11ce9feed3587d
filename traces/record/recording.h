/* A recording in progress: the file that the recorder inside a program writes and that `tapool
 * record` makes a trace of. Both see it as memory, so what a program did is in the file from the
 * moment that it did it, whatever ends the program.
 *
 *      | head | chunk | chunk     | chunk | chunk     | ...        all in pages of 4 KiB
 *               thread 0            thread 1  thread 0
 *
 * A chunk belongs to one thread. It begins with its length, its thread and the time of its first
 * event, and each event is a token and a few varints: what changed since the event before it in
 * the chunk. `used` is stored after an event is complete, so a reader takes all events below it.
 *
 *      token = operation (low 4 bits) | time since the event before (high 4 bits; 15: 15 + varint)
 *
 *      ALLOC    size, address              a block of `size` bytes
 *      ALIGNED  log2 of alignment, size, address
 *      FREE     address
 *      RESIZE   address, resize            realloc that did not move the block
 *      MOVE     time that it took, address, new address, resize
 *      MARK     length, text               a phase of the program begins
 *      MORE     kind, length, body         what belongs to the events around it (enum
 * tp_record_more)
 *
 * A resize is the new size, times 2, plus 1 where the recording was paused: then it counts only for
 * a block that the recording has seen, as a free does.
 *
 * Times are in ticks of the head's clock, shifted. An address is the zigzag difference from the
 * last address of the chunk, in units of 8 bytes; where one is not a multiple of 8, bit 3 of the
 * operation (TP_REC_BYTES) says that it is in bytes.
 *
 * Known weakness: a recording is read on the kind of machine that wrote it (little-endian). */
#ifndef TP_RECORDING_H
#define TP_RECORDING_H

#include "alloc/base/touched.h"
#include "traces/record/whose.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_RECORDING_SUFFIX  ".recording" /* after the name of the trace that it becomes */
#define TP_RECORDING_MAGIC   "tapoolR\1"
#define TP_RECORDING_VERSION 3u
#define TP_CHUNK_MAGIC       UINT32_C(0x6b6e6863) /* "chnk" */

enum {
    TP_RECORDING_PAGE = 4096, /* the head, and the unit of chunks */
    TP_CHUNK_FIRST = 1 << 12, /* bytes of a thread's first chunk: most threads need no more */
    TP_CHUNK_BYTES = 1 << 16, /* bytes of the others */
    TP_RECORDING_EVENT = 64,  /* bytes that an event takes at most, without a text or body */
    TP_RECORDING_MARK = 256,  /* bytes of the text of a MARK at most */
    TP_RECORDING_BODY =
        2048,             /* bytes of the body of a MORE at most: a thread's first chunk has room */
    TP_STACK_FRAMES = 64, /* of a stack at most */
    TP_RECORDING_PATH = 1024,
    TP_RECORDING_PROGRAM = 256,
    TP_RECORDING_LIBRARY = 256,
    TP_RECORDING_SETTINGS = 512,
    TP_REC_TOGETHER = 64,  /* calls that a thread adds to `passed` at once */
    TP_REC_PAUSES = 16,    /* whose times are kept; further ones are only counted */
    TP_REC_CHILDREN = 256, /* process ids that are kept of children that are not followed */
    TP_REC_SAMPLED = 128,  /* one event in so many is timed to its end; a power of two */
    TP_REC_LONG = 1 << 13, /* ticks: what took longer was interrupted, and is no sample */
    TP_REC_TIMED = 256,    /* of so many calls of malloc and its kin about two are timed */
    TP_REC_EMPTY = 64,     /* pairs of stamps that are taken to find what a stamp takes */
    TP_REC_TIMED_US = 100  /* a timed call that took longer was interrupted, and is no sample */
};

enum tp_record_op {
    TP_REC_NONE,
    TP_REC_ALLOC,
    TP_REC_ALIGNED,
    TP_REC_FREE,
    TP_REC_RESIZE,
    TP_REC_MOVE,
    TP_REC_MARK,
    TP_REC_MORE,
    TP_REC_OPS,
    TP_REC_BYTES = 8 /* addresses in bytes; added to the operation */
};

/* What a MORE is, and its body. */
enum tp_record_more {
    TP_MORE_NONE,
    /* A file with code: its number in this thread, length of its build id, build id, path. */
    TP_MORE_MODULE,
    /* Who called, for the allocation that comes next in this thread: frames from the innermost on,
     * each a module + 1 (0: none) and the zigzag difference of the address in it, as the file has
     * it, from that of the frame before. An address is inside of the call, not behind it. */
    TP_MORE_STACK,
    TP_MORE_DEVICE, /* what was asked of a GPU's driver: device_call.h */
    TP_MORE_KINDS
};

enum tp_record_clock { TP_REC_MONOTONIC, TP_REC_COUNTER };

enum tp_record_state {
    TP_REC_ON,
    TP_REC_PAUSED,  /* frees and reallocs are recorded: of blocks that the recording has seen */
    TP_REC_WAITING, /* for `after` calls to pass; nothing is recorded yet */
    TP_REC_ENDED
};

/* Why a recording ended before its program. */
enum tp_record_why {
    TP_REC_NO_REASON,
    TP_REC_DISK_FULL,  /* `error` is the errno */
    TP_REC_NO_MAPPING, /* `error` is the errno */
    TP_REC_MAX_SIZE,
    TP_REC_MAX_EVENTS,
    TP_REC_DURATION,
    TP_REC_FILE_GONE,   /* the program closed the descriptor, and the path leads elsewhere */
    TP_REC_SANDBOX,     /* the program forbids itself calls of the system */
    TP_REC_NO_CLOCK,    /* the program forbids itself to read the processor's counter */
    TP_REC_NO_CUPTI,    /* it was not found */
    TP_REC_CUPTI_FAILED /* `error` is the CUptiResult */
};

/* What a recording is of. */
enum tp_record_memory {
    TP_REC_OF_HOST,  /* malloc and its kin */
    TP_REC_OF_DEVICE /* the driver of GPUs */
};

/* Ticks, not shifted; 0: the time has not come. */
struct tp_recorded_pause {
    _Atomic uint64_t from, to;
};

/* Page 0. What is not atomic is written by `tapool record` before the program starts, and by the
 * recorder before main. */
struct tp_recording_head {
    char magic[8];
    uint32_t version;
    uint32_t clock;                     /* enum tp_record_clock */
    uint32_t shift;                     /* times are ticks >> shift */
    uint32_t follow;                    /* enum tp_record_follow */
    double ns_per_tick;                 /* of ticks that are not shifted */
    uint64_t session;                   /* a random number: that of the program and its children */
    struct tp_recorded_process process; /* that is recorded */
    uint64_t max_bytes;                 /* of the file; 0: no limit */
    uint64_t after;                     /* calls that pass before the first is recorded; about */
    uint64_t max_events;                /* 0: no limit; about, for it is looked at between chunks */
    uint32_t no_command;                /* 1: `program` is the first word of the command line */
    uint32_t own_malloc;                /* 1: the program's calls do not come to the recorder */
    uint64_t stack_size;                /* each allocation of so many bytes has a stack */
    uint32_t stack_every;               /* of the smaller ones one in so many, by chance */
    uint32_t stacks;                    /* frames of a stack at most; 0: there are none */
    uint64_t empty_ticks; /* between two stamps with nothing in between, TP_REC_EMPTY times */
    char library[TP_RECORDING_LIBRARY]; /* file of the malloc that serves the program; "": not known
                                         */
    char settings[TP_RECORDING_SETTINGS]; /* environment variables that such libraries read */
    char path[TP_RECORDING_PATH];         /* of the trace that will be made, absolute */
    char program[TP_RECORDING_PROGRAM];   /* its command line, cut where it is too long */
    _Atomic uint64_t bytes;      /* given out, head included: where the next chunk begins */
    _Atomic uint64_t passed;     /* calls while the recording was waiting; about */
    _Atomic uint64_t events;     /* in chunks that are finished */
    _Atomic uint32_t threads;    /* numbers given out */
    _Atomic uint32_t images;     /* programs that ran in the process: 1, and 1 more for each exec */
    _Atomic uint32_t state;      /* enum tp_record_state */
    _Atomic uint32_t why;        /* enum tp_record_why */
    _Atomic uint32_t unfollowed; /* children that could make no recording */
    _Atomic uint32_t sealed;     /* 1: a call of the system may end the program */
    _Atomic int32_t error;
    uint32_t memory;           /* enum tp_record_memory */
    _Atomic uint32_t injected; /* 1: the driver of a GPU has loaded the recorder */
    _Atomic uint64_t dropped;  /* calls that are not recorded, of threads that had no chunk */
    /* CPU time of the process when this image began, and now, ns; ticks of both moments; 0: not
     * known. They are noted at every chunk, at exit, and, if `record` sees the process end, then */
    _Atomic uint64_t cpu_from, cpu_to, ticks_from, ticks_to;
    /* Bytes of large blocks that are gone or were live at exit, and what of them was written, by
     * tp_touched_octave. */
    _Atomic uint64_t large[TP_TOUCHED_OCTAVES], written[TP_TOUCHED_OCTAVES];
    _Atomic uint32_t pauses; /* by SIGUSR2 */
    struct tp_recorded_pause pause[TP_REC_PAUSES];
    _Atomic uint32_t left_alone;            /* children that were not to be followed */
    _Atomic int32_t alone[TP_REC_CHILDREN]; /* the last of them: exec keeps the number */
};
_Static_assert(sizeof(struct tp_recording_head) <= TP_RECORDING_PAGE, "the head is one page");

enum tp_record_follow { TP_FOLLOW_NONE, TP_FOLLOW_FORK, TP_FOLLOW_ALL };

struct tp_recording_chunk {
    _Atomic uint32_t magic; /* stored when the members below it are there */
    uint32_t bytes;         /* of the chunk, this head included: a multiple of a page */
    uint32_t thread;
    uint32_t image;
    uint64_t nth;           /* of the thread's chunks, from 0 */
    uint64_t time;          /* ticks >> shift, what the first event's time is counted from */
    _Atomic uint32_t used;  /* bytes of events after this head */
    _Atomic uint32_t ended; /* 1: the thread has ended */
    /* what recording took, ticks: of `samples` of its events, and of taking the chunk itself */
    uint64_t sampled, taking;
    /* calls of malloc and its kin that were timed by chance: the sum of their ticks, the stamp
     * included, and that of their squares */
    uint64_t timed_ticks;
    double timed_squares;
    uint32_t timed;
    uint32_t samples;
    _Atomic uint32_t dropped; /* calls of the thread that are not recorded */
};

/* ---- the code of an event ---- */

static inline unsigned char *tp_rec_put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

/* Behind the number that begins at `at`; NULL: it does not end before `end`. */
static inline const unsigned char *tp_rec_get(const unsigned char *at, const unsigned char *end,
                                              uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        unsigned char byte = *at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return at;
    }
    return NULL;
}

static inline uint64_t tp_rec_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t tp_rec_unzigzag(uint64_t code)
{
    return code >> 1 ^ (0 - (code & 1));
}

#endif
