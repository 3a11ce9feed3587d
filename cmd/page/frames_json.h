/* Frames of the heap in the JSON of a page.
 *
 *     "frames": {
 *       "left_out": 12,                       frames that would have made it too large
 *       "devices": [ [ {                      frames by event
 *         "event": 90, "ns": 1000,            the last event before it; null: times are not known
 *         "reasons": ["demand"], "phase": "step",                          null: none
 *         "requested": 1, "allocated": 1, "reserved": 3, "page_rest": 0,     bytes
 *         "ranges": 2,                        that are held
 *         "unit": 512,                        bytes: of the sizes in its rows
 *         "bundle": 1,                        ranges share a row where number / bundle is the same
 *         "rows": "AQDI..." } ] ] }           base 64 of what alloc/heapmap/frame_rows.h draws
 *
 * In JavaScript:
 *
 *     const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0)); let at = 0;
 *     function number() {
 *         let value = 0, weight = 1, byte;
 *         do { byte = bytes[at++]; value += (byte & 127) * weight; weight *= 128; } while (byte >
 * 127); return value;
 *     }
 *     function signed() { const n = number(); return n % 2 ? -(n + 1) / 2 : n / 2; }
 *     for (let first = 0; at < bytes.length;) {
 *         const row = {number: first += number(), ranges: number() + 1, size: number() * unit};
 *         for (let head; (head = bytes[at++]);) {
 *             const kind = (head & 7) - 1, size = number() * unit;
 *             const gap = head & 8 ? number() * unit : 0; ... } } */
#ifndef TP_FRAMES_JSON_H
#define TP_FRAMES_JSON_H

#include "cmd/page/places_json.h"
#include "cmd/results/result.h"
#include "cmd/ui/json_out.h"

/* All is borrowed. */
struct tp_frames_shown {
    const struct tp_frames *frames;      /* NULL: there are none */
    const struct tp_place_table *places; /* of the events in their rows; NULL: not known */
    const struct tp_program *program;    /* has the names of their phases */
};

struct tp_frames_shown tp_result_frames(const struct tp_result *r);

/* Adds the member "frames" to `in`, which takes at most `most_bytes` when it is printed without
 * blanks, with a table of the places (places_json.h) that its events have in shown->places: what
 * does not fit is left out, the frames that are missed least first. The events of those that are
 * written are added to `placed`, which writes that table. Adds nothing where there are no frames,
 * or nothing fits. TP_ENOMEM, which j remembers too. */
int tp_json_frames(struct tp_json *j, cJSON *in, const struct tp_frames_shown *shown,
                   size_t most_bytes, struct tp_placed_list *placed);

#endif
