/* See why_page_data.h. */
#include "cmd/pytorch/why/why_page_data.h"

#include "cmd/page/curve_data.h"
#include "cmd/page/frame_events.h"
#include "cmd/page/frames_json.h"
#include "cmd/page/html_page.h"
#include "cmd/pytorch/why/why_json.h"
#include "cmd/pytorch/why/why_picture.h"

#include <stdlib.h>

/* Bytes for the maps of all devices together. */
enum { MAPS_BYTES = 1500000 };

/* The curve ends where its last change was: the page shows the recording to its end. */
static void write_curve(struct tp_json *j, cJSON *page, const struct tp_why *w)
{
    const struct tp_curve *curve = &w->picture->curve;
    const struct tp_curve_point *last = &curve->points[curve->count - 1];
    const uint64_t *end = w->moment.has_time ? &w->picture->end_clock : NULL;
    struct tp_curve_data data;
    cJSON *devices = tp_json_array(j, page, "devices");
    tp_curve_data_begin(&data, j, tp_json_item(j, devices), "recorded");
    for (const struct tp_curve_point *p = curve->points; p <= last; p++)
        tp_curve_data_add(&data, j, p->event, end ? &p->clock : NULL, p->bytes);
    if (last->event < w->moment.events)
        tp_curve_data_add(&data, j, w->moment.events, end, last->bytes);
    tp_json_array(j, page, "marks");
}

/* ---- the map ---- */

static int write_births(struct tp_json *j, cJSON *frames, const struct tp_why_picture *p,
                        struct tp_err *err)
{
    struct tp_frame_event *shown = NULL;
    size_t count = 0;
    uint64_t last = 0;
    int rc = tp_frame_events(p->frames, &shown, &count, err);
    uint8_t *bytes = rc == TP_OK ? malloc(2 * (size_t)TP_FRAME_NUMBER_MOST * count + 1) : NULL;
    uint8_t *end = bytes;
    for (size_t i = 0; bytes && i < count; last = shown[i++].event)
        if (shown[i].event >= p->first && shown[i].event - p->first < p->live) {
            end = tp_frame_number(end, shown[i].event - last);
            end = tp_frame_number(end, p->born[shown[i].event - p->first]);
        }
    if (bytes)
        tp_json_base64(j, frames, "born", bytes, (size_t)(end - bytes));
    j->failed |= !bytes;
    free(bytes);
    free(shown);
    return rc;
}

static void write_marks(struct tp_json *j, cJSON *frames, const struct tp_why_picture *p)
{
    cJSON *marks = tp_json_array(j, frames, "marks");
    for (size_t i = 0; i < p->mark_count; i++) {
        cJSON *mark = cJSON_CreateArray();
        tp_json_push(j, mark, tp_json_number(j, p->marks[i].at));
        tp_json_push(j, mark, tp_json_number(j, p->marks[i].size));
        tp_json_push(j, marks, mark);
    }
}

/* Where the names of places do not fit, the map does without them. */
static int write_map(struct tp_json *j, cJSON *page, const struct tp_why *w, size_t most_bytes,
                     struct tp_err *err)
{
    struct tp_placed_list placed = {0};
    struct tp_frames_shown shown = {.frames = w->picture->frames,
                                    .places = w->holders ? w->holders->table : NULL};
    int rc = tp_json_frames(j, page, &shown, most_bytes, &placed);
    cJSON *frames = cJSON_GetObjectItemCaseSensitive(page, "frames");
    if (rc == TP_OK && !frames && shown.places) {
        shown.places = NULL;
        rc = tp_json_frames(j, page, &shown, most_bytes, &placed);
        frames = cJSON_GetObjectItemCaseSensitive(page, "frames");
    }
    if (rc == TP_OK && frames) {
        write_marks(j, frames, w->picture);
        rc = write_births(j, frames, w->picture, err);
    }
    if (rc == TP_OK)
        rc = tp_json_places(j, page, shown.places, &placed, 0);
    tp_placed_drop(&placed);
    return rc;
}

/* ---- the document ---- */

int tp_why_page_data(const struct tp_why *list, size_t count, const char *file, FILE *out,
                     struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_why_tree(&j, list, count, file);
    cJSON *device = NULL;
    size_t i = 0;
    int rc = TP_OK;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(root, "devices"))
    {
        cJSON *page = tp_json_object(&j, device, "page");
        write_curve(&j, page, &list[i]);
        if (rc == TP_OK)
            rc = write_map(&j, page, &list[i], MAPS_BYTES / count, err);
        i++;
    }
    if (rc == TP_OK)
        return tp_json_print_line(&j, root, out, err);
    cJSON_Delete(root);
    return rc == TP_ENOMEM ? tp_html_no_memory(err) : rc;
}
