/* Finds the chunks of a recording: from the first page on, each chunk says where the next one is.
 * Where there is none (its thread had taken the place, and was ended before it wrote there), the
 * search goes on at the next page that was written.
 *
 * A process that ran several programs (exec) has chunks of each; those of the last are read. */
#include "traces/formats/recording/recording_chunks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int tp_recording_read(const struct tp_recording *rec, uint64_t offset, void *into, size_t bytes,
                      size_t *got, struct tp_err *err)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t n = pread(rec->fd, (char *)into + *got, bytes - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tp_fail(err, TP_EIO, "%s: %s", rec->name, strerror(errno));
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return TP_OK;
}

static int read_head(struct tp_recording *rec, struct tp_err *err)
{
    size_t got = 0;
    int rc = tp_recording_read(rec, 0, &rec->head, sizeof rec->head, &got, err);
    if (rc)
        return rc;
    const struct tp_recording_head *h = &rec->head;
    if (got < sizeof rec->head || memcmp(h->magic, TP_RECORDING_MAGIC, sizeof h->magic) != 0)
        return tp_fail(err, TP_EINPUT, "%s: no recording: its first page is not whole", rec->name);
    if (h->version != TP_RECORDING_VERSION)
        return tp_fail(err, TP_EINPUT, "%s: a recording of version %u; this tapool reads %u",
                       rec->name, h->version, TP_RECORDING_VERSION);
    if (h->shift > 16 || !(h->ns_per_tick >= 1e-3 && h->ns_per_tick <= 1e3))
        return tp_fail(err, TP_EINPUT, "%s: damaged: its clock ticks every %g ns", rec->name,
                       h->ns_per_tick);
    uint32_t images = atomic_load(&h->images);
    rec->image = images ? images - 1 : 0;
    rec->dropped = atomic_load(&h->dropped) & UINT32_MAX; /* more is damage, and might overflow */
    return TP_OK;
}

/* A chunk that can be used: of the program that is read, with events within its bounds. */
static bool is_chunk(const struct tp_recording_chunk *c)
{
    uint32_t used = atomic_load(&c->used);
    return atomic_load(&c->magic) == TP_CHUNK_MAGIC && c->bytes >= TP_RECORDING_PAGE &&
           c->bytes <= TP_CHUNK_BYTES && c->bytes % TP_RECORDING_PAGE == 0 &&
           used <= c->bytes - sizeof *c;
}

static int keep_chunk(const struct tp_reading *r, struct tp_recording *rec, uint64_t offset,
                      const struct tp_recording_chunk *c, struct tp_err *err)
{
    int rc = TP_READ_GROW(r, &rec->chunks, &rec->room, rec->count + 1, "chunks", err);
    if (rc)
        return rc;
    rec->sampled += c->sampled;
    rec->samples += c->samples;
    rec->taking += c->taking;
    rec->timed += c->timed;
    rec->timed_ticks += c->timed_ticks;
    rec->timed_squares += c->timed_squares;
    rec->dropped += atomic_load(&c->dropped);
    rec->chunks[rec->count++] = (struct tp_recorded_chunk){.offset = offset,
                                                           .nth = c->nth,
                                                           .time = c->time,
                                                           .thread = c->thread,
                                                           .used = atomic_load(&c->used),
                                                           .ended = atomic_load(&c->ended) != 0};
    return TP_OK;
}

/* The first page from `at` on that the file holds. Holes are passed over where the file system
 * says where they are. */
static uint64_t next_written(const struct tp_recording *rec, uint64_t at)
{
    off_t data = lseek(rec->fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? UINT64_MAX : at;
    return (uint64_t)data & ~(uint64_t)(TP_RECORDING_PAGE - 1);
}

static int find_chunks(const struct tp_reading *r, struct tp_recording *rec, struct tp_err *err)
{
    for (uint64_t at = TP_RECORDING_PAGE, pages = 0;; pages++) {
        struct tp_recording_chunk c;
        size_t got = 0;
        int rc = tp_recording_read(rec, at, &c, sizeof c, &got, err);
        if (!rc && r->opts->stop && pages % 1024 == 0)
            rc = r->opts->stop(err);
        if (rc || got < sizeof c)
            return rc;
        bool good = is_chunk(&c);
        if (good && c.image == rec->image)
            rc = keep_chunk(r, rec, at, &c, err);
        if (rc)
            return rc;
        at = good ? at + c.bytes : next_written(rec, at + TP_RECORDING_PAGE);
        if (at == UINT64_MAX)
            return TP_OK;
    }
}

static int by_thread(const void *a, const void *b)
{
    const struct tp_recorded_chunk *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Numbers the threads from 0 without holes, and counts the chunks that are missing. */
static void number_threads(struct tp_recording *rec)
{
    uint32_t last = 0;
    for (size_t i = 0; i < rec->count; i++) {
        struct tp_recorded_chunk *c = &rec->chunks[i];
        bool first = i == 0 || c->thread != last;
        uint64_t expected = first ? 0 : rec->chunks[i - 1].nth + 1;
        last = c->thread;
        rec->lost += c->nth > expected ? c->nth - expected : 0;
        rec->threads += first;
        c->thread = rec->threads - 1;
    }
}

int tp_recording_open(const struct tp_reading *r, struct tp_recording *out, struct tp_err *err)
{
    *out = (struct tp_recording){.fd = -1, .name = tp_input_name(r->in), .budget = r->budget};
    int rc = tp_input_file(r->in, &out->fd, err);
    if (!rc)
        rc = read_head(out, err);
    if (!rc)
        rc = find_chunks(r, out, err);
    if (rc)
        return rc;
    if (out->count)
        qsort(out->chunks, out->count, sizeof *out->chunks, by_thread);
    number_threads(out);
    return TP_OK;
}

void tp_recording_release(struct tp_recording *rec)
{
    TP_GROW_END(&rec->chunks, &rec->room, .budget = rec->budget);
    if (rec->fd >= 0)
        close(rec->fd);
}
