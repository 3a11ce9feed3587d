/* Writes events into the chunk of the calling thread. */
#include "cmd/recorder/recorder.h"
#include "cmd/recorder/stacks.h"
#include "traces/record/device_call.h"

#include <string.h>
#include <time.h>

TP_PER_THREAD struct tp_writer mine;

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

/* A child of fork has its own, cleared page, and this writer from its parent. */
static bool begin_again(struct tp_writer *w)
{
    w->inside = true;
    bool on = tp_recorder_begin();
    if (on)
        tp_chunk_forget(w);
    w->inside = false;
    return on;
}

struct tp_writer *tp_writer_enter(void)
{
    struct tp_writer *w = &mine;
    if (TP_UNLIKELY(w->inside))
        return NULL;
    if (TP_UNLIKELY(!*tp_recorder.alive) && !begin_again(w))
        return NULL;
    w->inside = true;
    return w;
}

void tp_writer_refused(void)
{
    mine.inside = mine.inside && !mine.in_new;
}

bool tp_writer_hush(bool on)
{
    bool before = mine.inside;
    mine.inside = on;
    return before;
}

/* Begins an event: makes room for it, and writes the token. NULL: nothing more is recorded. */
static unsigned char *begin_event(struct tp_writer *w, unsigned op, uint64_t ticks, size_t more)
{
    if (TP_UNLIKELY(w->finished && w->chunk == NULL))
        tp_chunk_map(w);
    uint64_t time = ticks >> tp_recorder.shift;
    if (TP_UNLIKELY(!w->nth))
        w->time = time; /* not that of its first chunk, which takes a while to come */
    if (TP_UNLIKELY(w->at + more >= w->limit) && !tp_chunk_next(w))
        return NULL;
    uint64_t since = time > w->time ? time - w->time : 0;
    unsigned char *at = w->at;
    w->time += since;
    *at++ = (unsigned char)(op | (since < 15 ? since : 15) << 4);
    return since < 15 ? at : tp_rec_put(at, since - 15);
}

/* Ends an event that was written up to `at`: from here on, a reader takes it. `ticks` is the stamp
 * that recording it began with; 0: there was none. */
static void end_event(struct tp_writer *w, unsigned char *at, uint64_t ticks)
{
    const unsigned char *first = (const unsigned char *)(w->chunk + 1);
    w->at = at;
    if (TP_UNLIKELY(++w->events % TP_REC_SAMPLED == 0) && ticks) {
        uint64_t took = tp_recorder_stamp() - ticks;
        bool good = took < TP_REC_LONG;
        w->chunk->sampled += good ? took : 0;
        w->chunk->samples += good;
    }
    atomic_store_explicit(&w->chunk->used, (uint32_t)(at - first), memory_order_release);
    if (TP_UNLIKELY(w->finished))
        tp_chunk_unmap(w);
}

static unsigned unit_of(uint64_t a, uint64_t b)
{
    return (a | b) & 7 ? TP_REC_BYTES : 0;
}

/* The last address of a chunk may itself be no multiple of 8: the difference is then in bytes. */
static unsigned char *put_address(struct tp_writer *w, unsigned char *at, uint64_t address,
                                  unsigned unit)
{
    uint64_t from = w->address, code = 0;
    w->address = address;
    if (unit)
        code = tp_rec_zigzag(address - from);
    else
        code = tp_rec_zigzag((address >> 3) - (from >> 3));
    return tp_rec_put(at, code);
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
    if (!p || !is_on(w, TP_REC_ON))
        return;
    tp_stack_sample(w, size);
    uint64_t now = tp_recorder_stamp();
    unsigned char *at = begin_event(w, (align ? TP_REC_ALIGNED : TP_REC_ALLOC) | unit, now, 0);
    if (!at)
        return;
    if (align)
        *at++ = (unsigned char)__builtin_ctzll(align);
    at = tp_rec_put(at, size);
    end_event(w, put_address(w, at, address, unit), now);
}

void tp_write_free_at(struct tp_writer *w, const void *p, uint64_t now)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    unsigned unit = unit_of(address, 0);
    if (!p || !is_on(w, TP_REC_PAUSED))
        return;
    now = now ? now : tp_recorder_stamp();
    unsigned char *at = begin_event(w, TP_REC_FREE | unit, now, 0);
    if (at)
        end_event(w, put_address(w, at, address, unit), now);
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
    unsigned char *at = begin_event(w, TP_REC_MOVE | unit, began, 0);
    if (!at)
        return;
    at = tp_rec_put(at, took);
    w->time += took;
    at = put_address(w, at, old, unit);
    at = put_address(w, at, address, unit);
    end_event(w, tp_rec_put(at, resize), now);
}

void tp_write_realloc(struct tp_writer *w, uint64_t began, const void *old, const void *p,
                      size_t size)
{
    uint64_t from = (uint64_t)(uintptr_t)old, to = (uint64_t)(uintptr_t)p;
    unsigned unit = unit_of(to, 0);
    if (!is_on(w, TP_REC_PAUSED))
        return;
    uint32_t state = atomic_load_explicit(&tp_recorder.head->state, memory_order_relaxed);
    if (state == TP_REC_ON)
        tp_stack_sample(w, size);
    uint64_t resize = (uint64_t)size << 1 | (state == TP_REC_PAUSED);
    if (from != to) {
        write_moved(w, began, from, to, resize);
        return;
    }
    unsigned char *at = begin_event(w, TP_REC_RESIZE | unit, began, 0);
    if (!at)
        return;
    at = put_address(w, at, to, unit);
    end_event(w, tp_rec_put(at, resize), 0); /* its only stamp is from before the call */
}

static unsigned char *put_body(unsigned char *at, const void *body, size_t bytes)
{
    at = tp_rec_put(at, bytes);
    memcpy(at, body, bytes);
    return at + bytes;
}

void tp_write_mark(struct tp_writer *w, const char *text)
{
    size_t length = strnlen(text, TP_RECORDING_MARK);
    if (!is_on(w, TP_REC_ON))
        return;
    uint64_t now = tp_recorder_stamp();
    unsigned char *at = begin_event(w, TP_REC_MARK, now, length);
    if (at)
        end_event(w, put_body(at, text, length), now);
}

/* `ticks` is as in end_event. */
static void write_more_at(struct tp_writer *w, enum tp_record_more kind, const void *body,
                          size_t bytes, uint64_t ticks)
{
    uint64_t time = ticks || w->nth ? ticks : tp_recorder_stamp(); /* times begin with the first */
    unsigned char *at = begin_event(w, TP_REC_MORE, time, bytes);
    if (!at)
        return;
    *at++ = (unsigned char)kind;
    end_event(w, put_body(at, body, bytes), ticks);
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
