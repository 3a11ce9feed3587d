/* The recorder: a library that `tapool record` preloads into a program. It stands in front of the
 * program's malloc, passes every call on, and writes it into the recording (traces/record/
 * recording.h).
 *
 *      program -> hooks.c, hooks_cxx.c -> the malloc below (below.c)
 *                        |
 *                     writer.c: the thread's own chunk of the file, mapped
 *                        |
 *                     recording.c: opens the recording, gives out chunks, ends it
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
    long (*syscall)(long, long, long, long, long, long, long);
    int (*prctl)(int, long, long, long, long);
};
extern struct tp_below tp_below;

/* Fills in tp_below. While it looks for the functions, the loader itself allocates: such calls are
 * served by tp_early_alloc, and go by unrecorded. */
void tp_below_find(void);
static inline const struct tp_below *tp_below_get(void)
{
    if (TP_UNLIKELY(!tp_below.malloc))
        tp_below_find();
    return &tp_below;
}

/* Zeroed memory from before there is an allocator; it is never given back. NULL: none is left. */
void *tp_early_alloc(size_t size, size_t align);
bool tp_is_early(const void *p);

/* One thread's place in the recording. */
struct tp_writer {
    unsigned char *at;    /* where the next event goes; NULL: no chunk is mapped */
    unsigned char *limit; /* an event that begins at or after this may not fit */
    struct tp_recording_chunk *chunk;
    uint64_t time;    /* of the last event, ticks >> shift */
    uint64_t address; /* of the last event */
    uint64_t nth;     /* chunks taken */
    uint64_t events;  /* in this chunk */
    uint64_t offset;  /* of the chunk in the file, bytes */
    uint32_t thread;  /* number, when nth > 0 */
    uint32_t passed;  /* calls while the recording was waiting */
    uint32_t rounds;  /* of destructors that the thread has run */
    bool inside;      /* a call of this thread is being recorded: what it calls is part of it */
    bool in_new;      /* that call is an operator new */
    bool finished;    /* the thread's destructors ran: its chunk is mapped for each event */
};

/* The process's recording. */
struct tp_recorder {
    struct tp_recording_head *head; /* mapped */
    uint32_t shift;
    bool counter; /* times are of the processor's counter */
    /* Page that the kernel clears in a forked child: *alive is 0 where nothing is recorded. */
    const volatile uint32_t *alive;
};
extern struct tp_recorder tp_recorder;

/* Opens the recording that the environment names, once; in a forked child, the child's own if it
 * is to be followed. false: nothing is recorded in this process. */
bool tp_recorder_begin(void);

/* The writer of this thread, to be given back by tp_writer_leave; NULL: this call is not to be
 * recorded. */
struct tp_writer *tp_writer_enter(void);
static inline void tp_writer_leave(struct tp_writer *w)
{
    w->inside = false;
}

/* A call that is part of another one got no memory. An operator new then calls the program's
 * handler, or throws: what comes is recorded by itself. */
void tp_writer_refused(void);

/* Sets whether calls of this thread go by unrecorded; gives what was set before. */
bool tp_writer_hush(bool on);

uint64_t tp_recorder_stamp(void); /* ticks of the recording's clock, not shifted */

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

/* Ends the recording for a reason; the program goes on. */
void tp_recorder_end(enum tp_record_why why, int error);

/* From when this returns, until it is undone, the recorder makes no call of the system in this
 * process. false: the process has no recording of its own. */
bool tp_recorder_seal(bool on);
bool tp_recorder_is_sealed(void);

#endif
