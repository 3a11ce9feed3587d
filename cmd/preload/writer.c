/* Writes events into the chunk of the calling thread. A signal handler may come in between at any
 * instruction, and may never return. So the writer changes only when an event is whole. */
#include "cmd/preload/recorder.h"
#include "cmd/preload/stacks.h"
#include "traces/record/device_call.h"

#include <string.h>
#include <time.h>

uint64_t tp_recorder_stamp(void)
{
    struct timespec ts;
#if defined(__x86_64__)
    if (TP_LIKELY(tp_recorder.counter)) {
        uint32_t low, high, cpu;
        /* Waits until what came before is done: a block must not be stamped before it is there. */
        __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
        return (uint64_t)high << 32 | low;
    }
#elif defined(__aarch64__)
    if (TP_LIKELY(tp_recorder.counter)) {
        uint64_t ticks;
        __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
        return ticks;
    }
#endif
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* An event on its way into the chunk. */
struct draft {
    unsigned char *at; /* behind what is written of it; NULL: nothing more is recorded */
    uint64_t time, address;
};

/* Begins an event: makes room for it, and writes the token. */
TP_INLINE struct draft begin_event(struct tp_writer *w, unsigned op, uint64_t ticks, size_t more)
{
    if (TP_UNLIKELY(w->finished && w->chunk == NULL))
        tp_chunk_map(w);
    uint64_t time = ticks >> tp_recorder.shift;
    if (TP_UNLIKELY(!w->nth))
        w->time = time; /* not that of its first chunk, which takes a while to come */
    if (TP_UNLIKELY(w->at + more >= w->limit) && !tp_chunk_next(w))
        return (struct draft){.at = NULL};
    uint64_t since = time > w->time ? time - w->time : 0;
    struct draft d = {w->at, w->time + since, w->address};
    *d.at++ = (unsigned char)(op | (since < 15 ? since : 15) << 4);
    if (since >= 15)
        d.at = tp_rec_put(d.at, since - 15);
    return d;
}

uint64_t tp_recorder_stamp_if_on(void)
{
    uint32_t state = atomic_load_explicit(&tp_recorder.head->state, memory_order_relaxed);
    return TP_LIKELY(state != TP_REC_ENDED) ? tp_recorder_stamp() : 0;
}

/* Ends an event: from here on, a reader takes it. `ticks` is the stamp that recording it began
 * with; 0: there was none. */
TP_INLINE void end_event(struct tp_writer *w, const struct draft *d, uint64_t ticks)
{
    if (TP_UNLIKELY(++w->events % TP_REC_SAMPLED == 0) && ticks) {
        uint64_t took = tp_recorder_stamp() - ticks;
        bool good = took < TP_REC_LONG;
        w->chunk->sampled += good ? took : 0;
        w->chunk->samples += good;
    }
    w->at = d->at; /* first: tp_writer_is_torn */
    atomic_signal_fence(memory_order_seq_cst);
    w->time = d->time;
    w->address = d->address;
    atomic_store_explicit(&w->chunk->used, (uint32_t)(d->at - tp_chunk_events(w->chunk)),
                          memory_order_release);
    if (TP_UNLIKELY(w->finished))
        tp_chunk_unmap(w);
}

static unsigned unit_of(uint64_t a, uint64_t b)
{
    return (a | b) & 7 ? TP_REC_BYTES : 0;
}

/* The last address of a chunk may itself be no multiple of 8: the difference is then in bytes. */
TP_INLINE void put_address(struct draft *d, uint64_t address, unsigned unit)
{
    uint64_t from = d->address, code = 0;
    d->address = address;
    if (unit)
        code = tp_rec_zigzag(address - from);
    else
        code = tp_rec_zigzag((address >> 3) - (from >> 3));
    d->at = tp_rec_put(d->at, code);
}

/* Counts a call that is not recorded. The recording begins when enough of them have passed. */
static void let_pass(struct tp_writer *w)
{
    struct tp_recording_head *head = tp_recorder.head;
    uint32_t waiting = TP_REC_WAITING;
    if (++w->passed % TP_REC_TOGETHER == 0 &&
        atomic_fetch_add(&head->passed, TP_REC_TOGETHER) + TP_REC_TOGETHER >= head->after)
        atomic_compare_exchange_strong(&head->state, &waiting, (uint32_t)TP_REC_ON);
}

static bool is_on(struct tp_writer *w, enum tp_record_state at_most)
{
    uint32_t state = atomic_load_explicit(&tp_recorder.head->state, memory_order_relaxed);
    if (TP_LIKELY(state <= (uint32_t)at_most))
        return true;
    if (state == TP_REC_WAITING)
        let_pass(w);
    return false;
}

void tp_write_alloc(struct tp_writer *w, const void *p, size_t size, size_t align)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    unsigned unit = unit_of(address, 0);
    tp_time_end_if(w, w->timing);
    if (!p || !is_on(w, TP_REC_ON))
        return;
    tp_stack_sample(w, size);
    uint64_t now = tp_recorder_stamp();
    struct draft d = begin_event(w, (align ? TP_REC_ALIGNED : TP_REC_ALLOC) | unit, now, 0);
    if (!d.at)
        return;
    if (align)
        *d.at++ = (unsigned char)__builtin_ctzll(align);
    d.at = tp_rec_put(d.at, size);
    put_address(&d, address, unit);
    end_event(w, &d, now);
    if (TP_UNLIKELY(size >= TP_TOUCHED_LEAST))
        tp_large_took(p, size);
}

void tp_write_free_at(struct tp_writer *w, const void *p, uint64_t now)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    unsigned unit = unit_of(address, 0);
    if (!p || !is_on(w, TP_REC_PAUSED))
        return;
    tp_large_gone_if(p);
    now = now ? now : tp_recorder_stamp();
    struct draft d = begin_event(w, TP_REC_FREE | unit, now, 0);
    if (!d.at)
        return;
    put_address(&d, address, unit);
    end_event(w, &d, now);
}

void tp_write_free(struct tp_writer *w, const void *p)
{
    tp_write_free_at(w, p, 0);
}

static void write_moved(struct tp_writer *w, uint64_t began, uint64_t old, uint64_t address,
                        uint64_t resize)
{
    unsigned unit = unit_of(old, address);
    uint64_t now = tp_recorder_stamp(), took = (now - began) >> tp_recorder.shift;
    struct draft d = begin_event(w, TP_REC_MOVE | unit, began, 0);
    if (!d.at)
        return;
    d.at = tp_rec_put(d.at, took);
    d.time += took;
    put_address(&d, old, unit);
    put_address(&d, address, unit);
    d.at = tp_rec_put(d.at, resize);
    end_event(w, &d, now);
}

void tp_write_realloc(struct tp_writer *w, uint64_t began, const void *old, const void *p,
                      size_t size)
{
    uint64_t from = (uint64_t)(uintptr_t)old, to = (uint64_t)(uintptr_t)p;
    unsigned unit = unit_of(to, 0);
    tp_time_end_if(w, w->timing);
    if (!is_on(w, TP_REC_PAUSED))
        return;
    uint32_t state = atomic_load_explicit(&tp_recorder.head->state, memory_order_relaxed);
    if (state == TP_REC_ON)
        tp_stack_sample(w, size);
    if (TP_UNLIKELY(size >= TP_TOUCHED_LEAST))
        tp_large_took(p, size);
    uint64_t resize = (uint64_t)size << 1 | (state == TP_REC_PAUSED);
    if (from != to) {
        write_moved(w, began, from, to, resize);
        return;
    }
    struct draft d = begin_event(w, TP_REC_RESIZE | unit, began, 0);
    if (!d.at)
        return;
    put_address(&d, to, unit);
    d.at = tp_rec_put(d.at, resize);
    end_event(w, &d, 0); /* its only stamp is from before the call */
}

static void put_body(struct draft *d, const void *body, size_t bytes)
{
    d->at = tp_rec_put(d->at, bytes);
    memcpy(d->at, body, bytes);
    d->at += bytes;
}

void tp_write_mark(struct tp_writer *w, const char *text)
{
    size_t length = strnlen(text, TP_RECORDING_MARK);
    if (!is_on(w, TP_REC_ON))
        return;
    uint64_t now = tp_recorder_stamp();
    struct draft d = begin_event(w, TP_REC_MARK, now, length);
    if (!d.at)
        return;
    put_body(&d, text, length);
    end_event(w, &d, now);
}

/* `ticks` is as in end_event. */
static void write_more_at(struct tp_writer *w, enum tp_record_more kind, const void *body,
                          size_t bytes, uint64_t ticks)
{
    uint64_t time = ticks || w->nth ? ticks : tp_recorder_stamp(); /* times begin with the first */
    struct draft d = begin_event(w, TP_REC_MORE, time, bytes);
    if (!d.at)
        return;
    *d.at++ = (unsigned char)kind;
    put_body(&d, body, bytes);
    end_event(w, &d, ticks);
}

/* While the recording is paused, too: it may have been on when what this belongs to was begun. */
void tp_write_more(struct tp_writer *w, enum tp_record_more kind, const void *body, size_t bytes)
{
    if (is_on(w, TP_REC_PAUSED))
        write_more_at(w, kind, body, bytes, 0);
}

/* While the recording is paused, what streams and events are is followed. */
void tp_write_device(struct tp_writer *w, const struct tp_device_call *call, uint64_t now)
{
    unsigned char body[TP_DEVICE_CALL_BYTES];
    bool asks = (tp_device_call_members(call->kind) & TP_WITH_SIZE) && call->kind != TP_CALL_TRIM;
    if (is_on(w, asks ? TP_REC_ON : TP_REC_PAUSED))
        write_more_at(w, TP_MORE_DEVICE, body, tp_device_call_put(*call, body), now);
}
