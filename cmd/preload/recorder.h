/* The recorder: a library that `tapool record` preloads into a program. It stands in front of the
 * program's malloc, passes every call on, and writes it into the recording (traces/record/
 * recording.h).
 *
 *      program -> hooks.c, hooks_cxx.c -> the malloc below (below.c)
 *                        |
 *                     calls.c: which calls are recorded
 *                     writer.c: the thread's own chunk of the file, mapped
 *                        |
 *                     recording.c: opens the recording, gives out chunks, ends it
 *                     library.c: which malloc that is; large.c: what it writes of large blocks
 *                     stacks.c: who called, in the recorder of --stacks alone
 *                     sandbox.c: sees what may forbid the program calls that these make
 *
 * A thread shares nothing with others while it records: it takes a chunk of the file with one
 * atomic addition, and fills it alone. The recorder itself allocates nothing by malloc. State at
 * file scope is needed here: calls of malloc bring none with them.
 *
 * Known weakness: blocks that the C library takes without calling malloc by its name are not seen,
 * and a block that the recorder has not seen allocated is freed unseen. */
#ifndef TP_RECORDER_H
#define TP_RECORDER_H

#include "traces/record/recording.h"

#include <stddef.h>

#define TP_HOOK        __attribute__((visibility("default")))
#define TP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TP_INLINE      static inline __attribute__((always_inline))
/* The library is loaded at start, so its thread-local storage is part of every thread's block. */
#define TP_PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))

/* What the calls go to: the allocator that the program would have without the recorder. */
struct tp_below {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
};
extern struct tp_below tp_below;

/* Fills in what every C library has. While it looks for the functions, the loader itself allocates:
 * such calls are served by tp_early_alloc, and go by unrecorded. */
void tp_below_find(void);
static inline const struct tp_below *tp_below_get(void)
{
    if (TP_UNLIKELY(!tp_below.malloc))
        tp_below_find();
    return &tp_below;
}

/* A function of the libraries below; NULL: there is none. The loader allocates to say so, by a
 * malloc that may be the program's own: what may be missing is looked for while this library is
 * loaded, when no caller holds a lock of that malloc. */
void *tp_below_look(const char *name);

/* Zeroed memory from before there is an allocator; it is never given back. NULL: none is left. */
void *tp_early_alloc(size_t size, size_t align);
bool tp_is_early(const void *p);

/* The alignment that the allocator uses: the next power of two; above 2^63 there is none, and no
 * block either. */
static inline size_t tp_power_of_two(size_t align)
{
    const size_t most = (size_t)1 << 63;
    if (align < 2 || align > most)
        return align < 2 ? 1 : most;
    return (size_t)1 << (64 - __builtin_clzll((unsigned long long)align - 1));
}

/* A call while it is being recorded, in the frame of the hook. What it calls itself is part of it:
 * operator new calls malloc. Other calls within it are those of a signal handler, and are counted
 * as not recorded. */
struct tp_call {
    const struct tp_call *self; /* this one; another value where the frame was left and reused */
    const void *gone;           /* block that the call frees or moves; NULL: none */
    uint8_t inner;              /* blocks that calls within this one took */
    bool own;                   /* work of the recorder: what it calls is no program's */
    bool in_new;                /* an operator new */
    bool gave;                  /* a call within this one gave back `given` */
    const void *given;
    struct {
        const void *at;
        size_t bytes;
    } blocks[4]; /* the first `inner` */
};

/* One thread's place in the recording. */
struct tp_writer {
    unsigned char *at;    /* where the next event goes; NULL: no chunk is mapped */
    unsigned char *limit; /* an event that begins at or after this may not fit */
    struct tp_recording_chunk *chunk;
    uint64_t time;        /* of the last event, ticks >> shift */
    uint64_t address;     /* of the last event */
    uint64_t nth;         /* chunks taken */
    uint64_t events;      /* in this chunk */
    uint64_t offset;      /* of the chunk in the file, bytes */
    uint32_t thread;      /* number, when nth > 0 */
    uint32_t passed;      /* calls while the recording was waiting */
    uint32_t rounds;      /* of destructors that the thread has run */
    uint32_t life;        /* that of the recording that this is a place in: *tp_recorder.alive */
    struct tp_call *call; /* that is being recorded; NULL: none */
    uint64_t timing;      /* stamp from before the call that is being timed; 0: it is not */
    uint32_t until;       /* calls to the next one that is timed; 0: none is */
    uint32_t chance;      /* state of the generator that chooses it */
    bool finished;        /* the thread's destructors ran: its chunk is mapped for each event */
    bool sampled;         /* a stack was looked at: this recording has the modules that are known */
};

static inline unsigned char *tp_chunk_events(struct tp_recording_chunk *c)
{
    return (unsigned char *)(c + 1);
}

/* The process's recording. */
struct tp_recorder {
    struct tp_recording_head *head; /* mapped; where nothing is recorded, one that has ended */
    uint32_t shift;
    bool counter; /* times are of the processor's counter */
    /* Page that the kernel clears in a forked child: *alive is 0 where nothing is recorded. Else it
     * is another number for each recording that this process and those it is a copy of had. */
    const volatile uint32_t *alive;
};
extern struct tp_recorder tp_recorder;

/* Opens the recording that the environment names, once; in a forked child, the child's own if it
 * is to be followed. false: nothing is recorded in this process. */
bool tp_recorder_begin(void);

/* The writer of this thread, to be given back by tp_writer_leave; NULL: this call is not to be
 * recorded. `call` lies in the frame of the caller. */
struct tp_writer *tp_writer_enter(struct tp_call *call);

/* Whether `p` lies in a block that a call within this one took. */
static inline bool tp_call_has(const struct tp_call *call, unsigned i, const void *p)
{
    return (uintptr_t)p - (uintptr_t)call->blocks[i].at < call->blocks[i].bytes;
}

/* Counts calls within this one that were no part of it, by the block that it gave. */
void tp_writer_settle(struct tp_writer *w, const struct tp_call *call, const void *p);
static inline void tp_writer_leave(struct tp_writer *w, const struct tp_call *call, const void *p)
{
    w->call = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    if (TP_UNLIKELY(call->inner) && !(call->inner == 1 && tp_call_has(call, 0, p)))
        tp_writer_settle(w, call, p);
}

/* What came of a call for which there was no writer: it may be within another one. NULL: it got no
 * memory. An operator new then calls the program's handler, or throws: what comes is recorded by
 * itself. */
void tp_writer_took(const void *p, size_t size);
void tp_writer_moved(const void *old, const void *p, size_t size);
void tp_writer_gave(const void *p);

/* From here on until it is undone what this thread calls is work of the recorder. */
struct tp_hush {
    struct tp_call call, *before;
};
void tp_writer_hush(struct tp_hush *hush);
void tp_writer_unhush(const struct tp_hush *hush);

uint64_t tp_recorder_stamp(void); /* ticks of the recording's clock, not shifted */

/* The same, or 0 once the recording has ended: a sandbox may forbid even the clock. To be used
 * before it is known whether there is something to record. */
uint64_t tp_recorder_stamp_if_on(void);

/* Ends the timing of a call that began at `from`. */
void tp_time_end(struct tp_writer *w, uint64_t from);
static inline void tp_time_end_if(struct tp_writer *w, uint64_t from)
{
    if (TP_UNLIKELY(from != 0))
        tp_time_end(w, from);
}

void tp_write_alloc(struct tp_writer *w, const void *p, size_t size, size_t align);
void tp_write_free(struct tp_writer *w, const void *p);
/* A free that began at `now`; 0: now. */
void tp_write_free_at(struct tp_writer *w, const void *p, uint64_t now);
/* A realloc that began at `began` and gave `p`. */
void tp_write_realloc(struct tp_writer *w, uint64_t began, const void *old, const void *p,
                      size_t size);
void tp_write_mark(struct tp_writer *w, const char *text);
/* At the time of the event before it. `body` has at most TP_RECORDING_BODY bytes. */
void tp_write_more(struct tp_writer *w, enum tp_record_more kind, const void *body, size_t bytes);

struct tp_device_call;
/* What was asked of a GPU's driver at `now`. */
void tp_write_device(struct tp_writer *w, const struct tp_device_call *call, uint64_t now);

/* Gives the writer a chunk, the next one if it has one. false: the recording has ended. */
bool tp_chunk_next(struct tp_writer *w);
void tp_chunk_map(struct tp_writer *w);    /* maps the chunk of a finished thread again */
void tp_chunk_unmap(struct tp_writer *w);  /* gives its memory back; the file keeps it */
void tp_chunk_forget(struct tp_writer *w); /* in a forked child: the chunk is the parent's */

/* A large block (TP_TOUCHED_LEAST) was taken; any block is about to go; the program ends; in a
 * forked child: the blocks are counted in the parent's recording. */
void tp_large_took(const void *p, size_t size);
void tp_large_gone(const void *p);
void tp_large_end(void);
void tp_large_forget(void);
extern _Atomic uint32_t tp_large_held; /* large blocks that are live */
static inline void tp_large_gone_if(const void *p)
{
    if (TP_UNLIKELY(atomic_load_explicit(&tp_large_held, memory_order_relaxed) != 0))
        tp_large_gone(p);
}

/* Notes in the head of the recording which library serves the program. */
void tp_recorder_note_library(void);

/* Ends the recording for a reason; the program goes on. */
void tp_recorder_end(enum tp_record_why why, int error);

/* From when this returns, until it is undone, the recorder makes no call of the system in this
 * process. false: the process has no recording of its own. */
bool tp_recorder_seal(bool on);
bool tp_recorder_is_sealed(void);

/* Whether a call of the system may be made that leaves everything as it was; tp_recorder_called is
 * to follow it then. */
bool tp_recorder_may_call(void);
void tp_recorder_called(void);

#endif
