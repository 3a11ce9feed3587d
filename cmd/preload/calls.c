/* Which calls are recorded. A call within another one is part of it, or was made by a signal
 * handler that came in between; and a handler may have left the call that it came into for good, by
 * siglongjmp.
 *
 *      frame of main
 *      frame of a hook: struct tp_call A      recorded
 *        | operator new below
 *        |   frame of a hook: struct tp_call  of the same block: part of A
 *        | signal handler
 *        |   frame of a hook: struct tp_call  of another block: counted as not recorded
 *      - - - - - - - - - - - - - - - - - -    siglongjmp to main
 *      frame of a hook: struct tp_call B      where A was, or above, or A is written over: A is
 * gone
 *
 * Known weakness: what a handler on another stack than those of the thread and of sigaltstack finds
 * below its own frame is taken for gone. */
#include "cmd/preload/recorder.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#define NO_LIFE UINT32_MAX
enum { NEAR = 1 << 14 }; /* bytes: what lies so closely above is of the same stack */

TP_PER_THREAD struct tp_writer mine = {.life = NO_LIFE};

/* ---- calls that were left ---- */

static bool is_mapped(const struct tp_call *call)
{
    uintptr_t page = (uintptr_t)call & ~(uintptr_t)(TP_RECORDING_PAGE - 1);
    return msync((void *)page, (uintptr_t)(call + 1) - page, MS_ASYNC) == 0;
}

/* Where the two frames are not one closely below the other: which stack each is on is the kernel's
 * to say. */
static bool is_left_elsewhere(const struct tp_call *outer, const struct tp_call *now)
{
    stack_t alternate;
    int code = errno;
    if (tp_recorder_is_sealed() || sigaltstack(NULL, &alternate) != 0)
        return outer == now;
    bool is = (alternate.ss_flags & SS_ONSTACK) != 0;
    bool was = (uintptr_t)outer - (uintptr_t)alternate.ss_sp < alternate.ss_size;
    bool left = was;
    if (is == was)
        left = now >= outer || (is_mapped(outer) && outer->self != outer);
    errno = code;
    return left;
}

/* The frame that `now` is in was called, at last, by the other one, or by a handler that came into
 * that. */
TP_INLINE bool is_within(const struct tp_call *now, const struct tp_call *outer)
{
    return (uintptr_t)outer - (uintptr_t)now - 1 < NEAR && outer->self == outer;
}

static bool is_left(struct tp_writer *w, const struct tp_call *now)
{
    const struct tp_call *outer = w->call;
    bool near = (uintptr_t)outer - (uintptr_t)now - 1 < NEAR;
    if (is_within(now, outer) || (!near && !is_left_elsewhere(outer, now)))
        return false;
    w->call = NULL;
    if (w->chunk && w->at != tp_chunk_events(w->chunk) + atomic_load(&w->chunk->used))
        w->at = w->limit; /* it was left in the last steps of an event: the next chunk is whole */
    return true;
}

/* ---- entering ---- */

TP_INLINE void use_call(struct tp_writer *w, struct tp_call *call, bool own)
{
    w->timing = 0;
    call->self = call;
    call->gone = NULL;
    call->inner = 0;
    call->own = own;
    call->in_new = false;
    call->gave = false;
    atomic_signal_fence(memory_order_seq_cst);
    w->call = call;
}

void tp_writer_hush(struct tp_hush *hush)
{
    hush->before = mine.call;
    use_call(&mine, &hush->call, true);
}

void tp_writer_unhush(const struct tp_hush *hush)
{
    mine.call = hush->before;
}

/* Chooses the next call that is timed: one in TP_REC_TIMED / 2, by chance, for what a program calls
 * in turn must not fall in with it. Stacks are taken inside the time, and the driver of a GPU has
 * none of these calls. */
static void choose_next(struct tp_writer *w)
{
    const struct tp_recording_head *head = tp_recorder.head;
    bool on = !head->stacks && head->memory == TP_REC_OF_HOST;
    w->chance = w->chance * UINT32_C(1664525) + UINT32_C(1013904223);
    w->until = on ? 1 + (w->chance >> 16) % TP_REC_TIMED : 0;
}

static __attribute__((noinline)) void begin_timing(struct tp_writer *w)
{
    choose_next(w);
    w->timing = w->until ? tp_recorder_stamp_if_on() : 0;
}

void tp_time_end(struct tp_writer *w, uint64_t from)
{
    uint64_t took = tp_recorder_stamp() - from;
    w->timing = 0;
    if (!w->chunk || (double)took * tp_recorder.head->ns_per_tick > TP_REC_TIMED_US * 1e3)
        return;
    w->chunk->timed++;
    w->chunk->timed_ticks += took;
    w->chunk->timed_squares += (double)took * (double)took;
}

/* Begins the recording, or takes this thread into it. A child of fork has its own, cleared page,
 * and this writer from its parent, whichever of its threads was the first to begin. */
static bool join(struct tp_writer *w)
{
    struct tp_hush hush;
    tp_writer_hush(&hush);
    bool on = *tp_recorder.alive || tp_recorder_begin();
    if (on && w->life != *tp_recorder.alive) {
        if (w->life != NO_LIFE)
            tp_chunk_forget(w);
        w->life = *tp_recorder.alive;
        w->chance = (uint32_t)tp_recorder_stamp() ^ (uint32_t)(uintptr_t)w;
        choose_next(w);
    }
    tp_writer_unhush(&hush);
    return on;
}

static __attribute__((noinline)) struct tp_writer *enter_slowly(struct tp_writer *w,
                                                                struct tp_call *call)
{
    if (w->call && !is_left(w, call))
        return NULL;
    if (w->life != *tp_recorder.alive && !join(w))
        return NULL;
    use_call(w, call, false);
    return w;
}

struct tp_writer *tp_writer_enter(struct tp_call *call)
{
    struct tp_writer *w = &mine;
    if (w->call)
        return TP_LIKELY(is_within(call, w->call)) ? NULL : enter_slowly(w, call);
    if (TP_UNLIKELY(w->life != *tp_recorder.alive))
        return enter_slowly(w, call);
    use_call(w, call, false);
    if (TP_UNLIKELY(--w->until == 0))
        begin_timing(w);
    return w;
}

/* ---- calls within a call ---- */

static void drop(const struct tp_writer *w, enum tp_record_state at_most)
{
    struct tp_recording_head *head = tp_recorder.head;
    if (atomic_load(&head->state) > (uint32_t)at_most)
        return;
    if (w->chunk)
        atomic_fetch_add(&w->chunk->dropped, 1);
    else
        atomic_fetch_add(&head->dropped, 1);
}

/* Index of the block that `p` lies in: an allocator may give a place inside of one that it took. */
static uint8_t find_inner(const struct tp_call *call, const void *p)
{
    uint8_t i = 0;
    while (i < call->inner && !tp_call_has(call, i, p))
        i++;
    return i;
}

/* The program's call that this thread is in; NULL: none that counts. */
static struct tp_call *outer_call(const struct tp_writer *w)
{
    bool counts = w->call && !w->call->own && w->life == *tp_recorder.alive;
    return counts ? w->call : NULL;
}

static void put_block(struct tp_call *call, uint8_t i, const void *p, size_t size)
{
    call->blocks[i].at = p;
    call->blocks[i].bytes = size + !size;
    atomic_signal_fence(memory_order_seq_cst);
}

void tp_writer_took(const void *p, size_t size)
{
    struct tp_writer *w = &mine;
    struct tp_call *outer = outer_call(w);
    if (!outer)
        return;
    if (!p) {
        w->call = outer->in_new ? NULL : outer;
        return;
    }
    outer->gave = false;                                 /* the block may be given out again, */
    outer->gone = p == outer->gone ? NULL : outer->gone; /* and this one is */
    if (find_inner(outer, p) < outer->inner)
        return;
    if (outer->inner == sizeof outer->blocks / sizeof *outer->blocks) {
        drop(w, TP_REC_ON);
        return;
    }
    /* A handler in between takes the same place and gives it back: it is written again. */
    uint8_t i = outer->inner;
    put_block(outer, i, p, size);
    outer->inner = (uint8_t)(i + 1);
    put_block(outer, i, p, size);
}

void tp_writer_moved(const void *old, const void *p, size_t size)
{
    const struct tp_writer *w = &mine;
    struct tp_call *outer = outer_call(w);
    uint8_t i = outer ? find_inner(outer, old) : 0;
    if (!outer || i == outer->inner) {
        tp_writer_took(p, size);
        return;
    }
    drop(w, TP_REC_PAUSED);
    put_block(outer, i, p, size);
}

void tp_writer_gave(const void *p)
{
    const struct tp_writer *w = &mine;
    struct tp_call *outer = outer_call(w);
    if (!outer || p == outer->gone || (outer->gave && p == outer->given))
        return; /* free within operator delete */
    outer->gave = true;
    outer->given = p;
    drop(w, TP_REC_PAUSED);
    uint8_t i = find_inner(outer, p);
    if (i == outer->inner)
        return;
    drop(w, TP_REC_ON); /* it is no part of the outer one, whose block may come to lie there */
    outer->blocks[i] = outer->blocks[--outer->inner];
}

void tp_writer_settle(struct tp_writer *w, const struct tp_call *call, const void *p)
{
    uint8_t part = find_inner(call, p);
    for (uint8_t i = 0; i < call->inner; i++)
        if (i != part)
            drop(w, TP_REC_ON);
}
