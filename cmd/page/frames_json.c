/* See frames_json.h. How many frames fit is found by halves: with q frames for each device the size
 * is computed from the lengths of all texts, a number never being longer than 22 characters. */
#include "cmd/page/frames_json.h"

#include "cmd/page/frame_events.h"
#include "cmd/results/captured.h"
#include "traces/event.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

/* Bytes, at most: of a frame without its rows and its phase, of a device, of the rest; of a byte of
 * the name of a phase after escaping, and of what stands around it. */
enum { FRAME_BYTES = 460, DEVICE_BYTES = 4, HEAD_BYTES = 128, ESCAPED = 6, AROUND = 3 };

struct frames_writer {
    const struct tp_program *program;
    const struct tp_frames *f;
    uint16_t *ranks;              /* `most` of each device */
    struct tp_placed_list placed; /* the events of all frames; the rank is the lowest of a frame */
    struct tp_place_names names;
};

static uint16_t rank_of(const struct frames_writer *w, uint32_t device, uint32_t index)
{
    return w->ranks[(size_t)device * w->f->most + index];
}

static const char *phase_of(const struct frames_writer *w, const struct tp_frame *frame)
{
    return tp_mark_phase(w->program, frame->mark);
}

/* ---- how large it is ---- */

static size_t text_size(const char *text)
{
    return AROUND + ESCAPED * strlen(text);
}

static size_t size_with(struct frames_writer *w, size_t most)
{
    size_t size = HEAD_BYTES;
    for (uint32_t d = 0; d < w->f->devices; d++) {
        size += DEVICE_BYTES;
        for (uint32_t i = 0; i < tp_frames_count(w->f, d); i++) {
            const struct tp_frame *frame = tp_frames_at(w->f, d, i);
            const char *phase = phase_of(w, frame);
            if (rank_of(w, d, i) <= most)
                size +=
                    FRAME_BYTES + tp_base64_length(frame->length) + (phase ? text_size(phase) : 0);
        }
    }
    return size + (w->names.table ? tp_place_names_size(&w->names, &w->placed, most) : 0);
}

/* The largest number of frames of a device that fits. */
static size_t most_that_fit(struct frames_writer *w, size_t most_bytes)
{
    size_t fits = 0, too_many = w->f->most + 1;
    while (too_many - fits > 1) {
        size_t middle = fits + (too_many - fits) / 2;
        if (size_with(w, middle) <= most_bytes)
            fits = middle;
        else
            too_many = middle;
    }
    return fits;
}

/* ---- writing ---- */

static void write_frame(const struct frames_writer *w, struct tp_json *j, cJSON *o, uint32_t device,
                        const struct tp_frame *frame)
{
    static const char *const names[TP_FRAME_REASONS] = {"begin", "demand", "reserved", "failed",
                                                        "end",   "mark",   "change"};
    tp_json_uint(j, o, "event", frame->event);
    tp_json_uint(j, o, "ns", frame->time_ns);
    cJSON *reasons = tp_json_array(j, o, "reasons");
    for (unsigned i = 0; i < TP_FRAME_REASONS; i++)
        if (frame->reasons >> i & 1)
            tp_json_push(j, reasons, cJSON_CreateString(names[i]));
    tp_json_text(j, o, "phase", phase_of(w, frame));
    tp_json_uint(j, o, "requested", frame->requested);
    tp_json_uint(j, o, "allocated", frame->allocated);
    tp_json_uint(j, o, "reserved", frame->reserved);
    tp_json_uint(j, o, "page_rest", frame->page_rest);
    tp_json_uint(j, o, "ranges", frame->ranges);
    tp_json_uint(j, o, "unit", UINT64_C(1) << frame->unit_log2);
    tp_json_uint(j, o, "bundle", UINT64_C(1) << frame->bundle_log2);
    tp_json_base64(j, o, "rows", tp_frame_bytes(w->f, device, frame), frame->length);
}

static void write_all(struct frames_writer *w, struct tp_json *j, cJSON *in, size_t most)
{
    cJSON *o = tp_json_object(j, in, "frames"), *devices = tp_json_array(j, o, "devices");
    uint64_t left_out = 0;
    for (uint32_t d = 0; d < w->f->devices; d++) {
        cJSON *list = cJSON_CreateArray();
        tp_json_push(j, devices, list);
        for (uint32_t i = 0; list && i < tp_frames_count(w->f, d); i++) {
            if (rank_of(w, d, i) <= most)
                write_frame(w, j, tp_json_item(j, list), d, tp_frames_at(w->f, d, i));
            else
                left_out++;
        }
    }
    tp_json_uint(j, o, "left_out", left_out);
}

/* ---- the whole ---- */

struct tp_frames_shown tp_result_frames(const struct tp_result *r)
{
    return (struct tp_frames_shown){.frames = r->frames,
                                    .places = r->captured ? r->captured->frame_places : NULL,
                                    .program = r->trace->program};
}

static int find_texts(struct frames_writer *w, const struct tp_frame_event *events, size_t count)
{
    struct tp_err ignored;
    struct tp_place_item item;
    int rc = TP_OK;
    for (size_t i = 0; w->names.table && rc == TP_OK && i < count; i++)
        if (tp_place_table_find(w->names.table, events[i].event, &item, &ignored) == TP_OK)
            rc = tp_placed_add(
                &w->placed, (struct tp_placed){events[i].event, events[i].rank, item.text, false},
                &ignored);
    return rc;
}

static int open_writer(struct frames_writer *w, const struct tp_place_table *table)
{
    struct tp_err ignored;
    struct tp_frame_event *events = NULL;
    size_t count = 0;
    int rc = tp_place_names_open(&w->names, table);
    w->ranks = malloc((size_t)w->f->devices * w->f->most * sizeof *w->ranks);
    if (!w->ranks || rc != TP_OK)
        return TP_ENOMEM;
    for (uint32_t d = 0; d < w->f->devices; d++)
        tp_frame_ranks(w->f, d, &w->ranks[(size_t)d * w->f->most]);
    rc = tp_frame_events(w->f, &events, &count, &ignored);
    if (rc == TP_OK)
        rc = find_texts(w, events, count);
    free(events);
    return rc;
}

/* Hands out the places of the frames that are written. */
static int give_placed(const struct frames_writer *w, size_t most, struct tp_placed_list *out)
{
    struct tp_err ignored;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < w->placed.count; i++) {
        struct tp_placed item = w->placed.items[i];
        if (item.rank > most)
            continue;
        item.rank = 0;
        rc = tp_placed_add(out, item, &ignored);
    }
    return rc;
}

int tp_json_frames(struct tp_json *j, cJSON *in, const struct tp_frames_shown *shown,
                   size_t most_bytes, struct tp_placed_list *placed)
{
    struct frames_writer w = {.program = shown->program, .f = shown->frames};
    if (!shown->frames)
        return TP_OK;
    int rc = open_writer(&w, shown->places);
    size_t most = rc ? 0 : most_that_fit(&w, most_bytes);
    if (most) {
        write_all(&w, j, in, most);
        rc = give_placed(&w, most, placed);
    }
    free(w.ranks);
    tp_placed_drop(&w.placed);
    tp_place_names_close(&w.names);
    j->failed |= rc != TP_OK;
    return j->failed ? TP_ENOMEM : TP_OK;
}
