/* Writes a whole program as tapool's own JSON, as one document or with one event per line.
 * traces/lower/unlower.h turns the program back into events. */
#include "traces/formats/json/json_write.h"
#include "traces/lower/unlower.h"
#include "traces/trace_writer.h"

#include <stdlib.h>

enum { STOP_EVERY = 4096 }; /* events */

struct sink {
    struct tp_json_writer writer;
    const struct tp_writing *writing;
    uint64_t events;
    bool skipped; /* numbers were skipped since the last event */
};

static int write_event(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct sink *s = ctx;
    struct tp_event numbered = *ev;
    if (!ev->uncounted && !s->skipped)
        numbered.number = 0; /* the default number is one more than the last */
    s->skipped = false;
    int rc = s->events++ % STOP_EVERY == 0 ? s->writing->stop(err) : TP_OK;
    return rc == TP_OK ? tp_json_write_event(&s->writer, &numbered, err) : rc;
}

static int skip_events(void *ctx, uint64_t count, struct tp_err *err)
{
    struct sink *s = ctx;
    (void)count;
    (void)err;
    s->skipped = true;
    return TP_OK;
}

static int write_program(const struct tp_writing *w, bool lines, FILE *out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(w->program);
    struct sink s = {.writing = w};
    const struct tp_event_sink sink = {write_event, &s};
    const struct tp_unlower_cfg unlower = {
        .numbers = true, .skip = skip_events, .places = w->places};
    struct tp_place_sampling sampling = {0};
    if (w->places)
        sampling = tp_place_table_sampling(w->places);
    uint16_t *device_of = calloc(f->streams, sizeof *device_of);
    if (!device_of)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", w->path);
    int rc = tp_unlower_streams(w->program, device_of, err);
    const struct tp_json_write_cfg cfg = {.out = out,
                                          .path = w->path,
                                          .lines = lines,
                                          .meta = w->meta,
                                          .sampling = sampling,
                                          .recorded = w->recorded,
                                          .repairs = w->repairs,
                                          .streams = f->streams > 1 ? f->streams : 0,
                                          .device_of = device_of,
                                          .heap = tp_program_heap(w->program)};
    if (rc == TP_OK)
        rc = tp_json_write_begin(&s.writer, &cfg, err);
    free(device_of);
    if (rc == TP_OK)
        rc = tp_unlower(w->program, &unlower, &sink, err);
    return rc == TP_OK ? tp_json_write_end(&s.writer, err) : rc;
}

static int write_document(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    return write_program(w, false, out, err);
}

static int write_lines(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    return write_program(w, true, out, err);
}

const struct tp_trace_writer tp_writer_json = {
    .name = "json",
    .suffix = ".json",
    .summary = "tapool's JSON, one document: for people and scripts",
    .whole = true,
    .write = write_document,
};

const struct tp_trace_writer tp_writer_jsonl = {
    .name = "jsonl",
    .suffix = ".jsonl",
    .summary = "tapool's JSON Lines, one event per line: for pipes",
    .whole = true,
    .write = write_lines,
};
