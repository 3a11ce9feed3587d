/* Recordings that are written here, event by event, as the recorder does. */
#ifndef TP_RECORDING_RIG_H
#define TP_RECORDING_RIG_H

#include "tests/unit/importer_rig.h"

#include "traces/record/recording.h"

extern const struct tp_format tp_format_recording;

enum { THREADS = 4, PAGES = 16 };

/* A recording of at most PAGES pages: each thread has one chunk of one page. */
struct file {
    unsigned char bytes[PAGES * TP_RECORDING_PAGE];
    size_t size;
    struct {
        unsigned char *at;
        uint64_t time, address;
    } threads[THREADS];
};

static inline struct tp_recording_head *head_of(struct file *f)
{
    return (struct tp_recording_head *)(void *)f->bytes;
}

static inline struct tp_recording_chunk *chunk_of(struct file *f, int thread)
{
    return (struct tp_recording_chunk *)(void *)(f->bytes +
                                                 (size_t)(thread + 1) * TP_RECORDING_PAGE);
}

/* Ticks are 1 ns and not shifted; the threads begin at 1000. */
static inline struct file *begin_file(int threads)
{
    struct file *f = calloc(1, sizeof *f);
    assert_non_null(f);
    struct tp_recording_head *h = head_of(f);
    memcpy(h->magic, TP_RECORDING_MAGIC, sizeof h->magic);
    h->version = TP_RECORDING_VERSION;
    h->ns_per_tick = 1;
    atomic_store(&h->images, 1);
    f->size = (size_t)(threads + 1) * TP_RECORDING_PAGE;
    for (int i = 0; i < threads; i++) {
        struct tp_recording_chunk *c = chunk_of(f, i);
        c->bytes = TP_RECORDING_PAGE;
        c->thread = (uint32_t)i;
        c->time = 1000;
        atomic_store(&c->magic, TP_CHUNK_MAGIC);
        f->threads[i].at = (unsigned char *)(c + 1);
        f->threads[i].time = 1000;
    }
    return f;
}

static inline void put(struct file *f, int thread, uint64_t value)
{
    f->threads[thread].at = tp_rec_put(f->threads[thread].at, value);
}

static inline void put_token(struct file *f, int thread, unsigned op, uint64_t time)
{
    uint64_t since = time - f->threads[thread].time;
    assert_true(time >= f->threads[thread].time);
    f->threads[thread].time = time;
    *f->threads[thread].at++ = (unsigned char)(op | (since < 15 ? since : 15) << 4);
    if (since >= 15)
        put(f, thread, since - 15);
}

static inline void put_address(struct file *f, int thread, uint64_t address)
{
    put(f, thread, tp_rec_zigzag((address >> 3) - (f->threads[thread].address >> 3)));
    f->threads[thread].address = address;
}

static inline void end_event(struct file *f, int thread)
{
    struct tp_recording_chunk *c = chunk_of(f, thread);
    atomic_store(&c->used, (uint32_t)(f->threads[thread].at - (unsigned char *)(c + 1)));
}

static inline void alloc(struct file *f, int thread, uint64_t time, uint64_t address, uint64_t size)
{
    put_token(f, thread, TP_REC_ALLOC, time);
    put(f, thread, size);
    put_address(f, thread, address);
    end_event(f, thread);
}

static inline void release(struct file *f, int thread, uint64_t time, uint64_t address)
{
    put_token(f, thread, TP_REC_FREE, time);
    put_address(f, thread, address);
    end_event(f, thread);
}

static inline void move(struct file *f, int thread, uint64_t time, uint64_t took, uint64_t from,
                        uint64_t to, uint64_t size)
{
    put_token(f, thread, TP_REC_MOVE, time);
    put(f, thread, took);
    f->threads[thread].time += took;
    put_address(f, thread, from);
    put_address(f, thread, to);
    put(f, thread, 2 * size);
    end_event(f, thread);
}

static inline void put_bytes(struct file *f, int thread, const void *bytes, size_t size)
{
    memcpy(f->threads[thread].at, bytes, size);
    f->threads[thread].at += size;
    end_event(f, thread);
}

static inline void put_mark(struct file *f, int thread, uint64_t time, const char *name)
{
    put_token(f, thread, TP_REC_MARK, time);
    put(f, thread, strlen(name));
    put_bytes(f, thread, name, strlen(name));
}

/* What is told beside events. */
static inline void put_more(struct file *f, int thread, uint64_t time, unsigned kind,
                            const void *body, size_t size)
{
    put_token(f, thread, TP_REC_MORE, time);
    put(f, thread, kind);
    put(f, thread, size);
    put_bytes(f, thread, body, size);
}

static const struct importer recording = {.format = &tp_format_recording};

/* Reads the file and frees it. */
static inline void expect_row(struct file *f, struct importer_row row)
{
    row.text = f->bytes;
    row.size = f->size;
    check_row(&recording, &row);
    free(f);
}

/* The program, and then the repairs as "name=count". */
static inline void expect(struct file *f, const char *program, const char *remarks)
{
    expect_row(f,
               (struct importer_row){.program = program, .remarks = remarks ? remarks : NOT_SAID});
}

#endif
