/* See frames_json.h. How many frames fit is found by halves: with q frames for each device the size
 * is computed from the lengths of all texts, a number never being longer than 22 characters. */
#include "cmd/measure/frames_json.h"

#include "cmd/measure/captured.h"
#include "cmd/measure/frame_events.h"
#include "traces/event.h"
#include "traces/lower/place_table.h"

#include <stdlib.h>
#include <string.h>

/* Bytes, at most: of a frame without its rows and its phase, of a device, of the rest; of a byte of
 * a text after escaping, and of what stands around a text. */
enum { FRAME_BYTES = 460, DEVICE_BYTES = 4, HEAD_BYTES = 128, ESCAPED = 6, AROUND = 3 };

struct chosen_place {
    uint32_t text;   /* number in the table */
    uint64_t events; /* that it is the place of */
};

struct frames_writer {
    const struct tp_program *program;
    const struct tp_frames *f;
    const struct tp_place_table *table; /* NULL: no places are known */
    uint16_t *ranks;                    /* `most` of each device */
    struct tp_frame_event *events;
    uint32_t *texts; /* of each event; TP_NO_PLACE: none */
    size_t event_count;
    struct chosen_place *places; /* of all texts; the first `place_count` are written */
    uint32_t *numbers;           /* by text: index among those + 1; 0: it is not */
    size_t text_count, place_count;
};

static uint16_t rank_of(const struct frames_writer *w, uint32_t device, uint32_t index)
{
    return w->ranks[(size_t)device * w->f->most + index];
}

static const char *phase_of(const struct frames_writer *w, const struct tp_frame *frame)
{
    return tp_mark_phase(w->program, frame->mark);
}

/* ---- places ---- */

static int more_events(const void *a, const void *b)
{
    const struct chosen_place *x = a, *y = b;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

/* Chooses the places of the events that `most` frames of a device show. */
static void choose_places(struct frames_writer *w, size_t most)
{
    for (size_t i = 0; i < w->text_count; i++) {
        w->places[i] = (struct chosen_place){.text = (uint32_t)i};
        w->numbers[i] = 0;
    }
    for (size_t i = 0; i < w->event_count; i++)
        if (w->texts[i] != TP_NO_PLACE && w->events[i].rank <= most)
            w->places[w->texts[i]].events++;
    if (w->text_count)
        qsort(w->places, w->text_count, sizeof *w->places, more_events);
    w->place_count = 0;
    while (w->place_count < w->text_count && w->place_count < TP_FRAMES_PLACES &&
           w->places[w->place_count].events) {
        uint32_t text = w->places[w->place_count++].text;
        w->numbers[text] = (uint32_t)w->place_count;
    }
}

/* Writes the table of events, of at most TP_FRAME_NUMBER_MOST bytes twice for each; returns its
 * length. NULL: only the length is wanted. */
static size_t write_events(const struct frames_writer *w, size_t most, uint8_t *out)
{
    uint8_t pair[2 * TP_FRAME_NUMBER_MOST];
    uint64_t last = 0;
    size_t length = 0;
    for (size_t i = 0; i < w->event_count; i++) {
        if (w->texts[i] == TP_NO_PLACE || w->events[i].rank > most)
            continue;
        uint32_t number = w->numbers[w->texts[i]];
        uint8_t *end = tp_frame_number(pair, w->events[i].event - last);
        end = tp_frame_number(end, number ? number - 1 : w->place_count);
        if (out)
            memcpy(out + length, pair, (size_t)(end - pair));
        length += (size_t)(end - pair);
        last = w->events[i].event;
    }
    return length;
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
    choose_places(w, most);
    for (size_t i = 0; i < w->place_count; i++)
        size += text_size(tp_place_table_get(w->table, w->places[i].text));
    return size + tp_base64_length(write_events(w, most, NULL));
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
    tp_json_uint(j, o, "granted", frame->granted);
    tp_json_uint(j, o, "reserved", frame->reserved);
    tp_json_uint(j, o, "page_rest", frame->page_rest);
    tp_json_uint(j, o, "ranges", frame->ranges);
    tp_json_uint(j, o, "unit", UINT64_C(1) << frame->unit_log2);
    tp_json_uint(j, o, "bundle", UINT64_C(1) << frame->bundle_log2);
    tp_json_base64(j, o, "rows", tp_frame_bytes(w->f, device, frame), frame->length);
}

static void write_places(const struct frames_writer *w, struct tp_json *j, cJSON *o, size_t most)
{
    uint8_t *bytes = malloc(write_events(w, most, NULL) + 1);
    cJSON *places = tp_json_array(j, o, "places");
    j->failed |= !bytes;
    for (size_t i = 0; i < w->place_count; i++)
        tp_json_push(j, places,
                     cJSON_CreateString(tp_place_table_get(w->table, w->places[i].text)));
    if (bytes)
        tp_json_base64(j, o, "events", bytes, write_events(w, most, bytes));
    free(bytes);
}

static void write_all(struct frames_writer *w, struct tp_json *j, cJSON *in, size_t most)
{
    cJSON *o = tp_json_object(j, in, "frames"), *devices = tp_json_array(j, o, "devices");
    uint64_t left_out = 0;
    choose_places(w, most);
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
    write_places(w, j, o, most);
}

/* ---- the whole ---- */

struct tp_frames_shown tp_result_frames(const struct tp_result *r)
{
    return (struct tp_frames_shown){.frames = r->frames,
                                    .places = r->captured ? r->captured->frame_places : NULL,
                                    .program = r->trace->program};
}

static int find_texts(struct frames_writer *w)
{
    struct tp_err ignored;
    struct tp_place_item item;
    w->text_count = w->table ? tp_place_table_texts(w->table) : 0;
    w->texts = malloc((w->event_count + 1) * sizeof *w->texts);
    w->places = malloc((w->text_count + 1) * sizeof *w->places);
    w->numbers = malloc((w->text_count + 1) * sizeof *w->numbers);
    if (!w->texts || !w->places || !w->numbers)
        return TP_ENOMEM;
    for (size_t i = 0; i < w->event_count; i++) {
        w->texts[i] = TP_NO_PLACE;
        if (w->table && tp_place_table_find(w->table, w->events[i].event, &item, &ignored) == TP_OK)
            w->texts[i] = item.text;
    }
    return TP_OK;
}

static int open_writer(struct frames_writer *w)
{
    struct tp_err ignored;
    w->ranks = malloc((size_t)w->f->devices * w->f->most * sizeof *w->ranks);
    if (!w->ranks)
        return TP_ENOMEM;
    for (uint32_t d = 0; d < w->f->devices; d++)
        tp_frame_ranks(w->f, d, &w->ranks[(size_t)d * w->f->most]);
    int rc = tp_frame_events(w->f, &w->events, &w->event_count, &ignored);
    return rc ? rc : find_texts(w);
}

int tp_json_frames(struct tp_json *j, cJSON *in, const struct tp_frames_shown *shown,
                   size_t most_bytes)
{
    struct frames_writer w = {
        .program = shown->program, .f = shown->frames, .table = shown->places};
    if (!shown->frames)
        return TP_OK;
    int rc = open_writer(&w);
    size_t most = rc ? 0 : most_that_fit(&w, most_bytes);
    if (most)
        write_all(&w, j, in, most);
    free(w.ranks);
    free(w.events);
    free(w.texts);
    free(w.places);
    free(w.numbers);
    j->failed |= rc != TP_OK;
    return j->failed ? TP_ENOMEM : TP_OK;
}
