/* The reverse of lowering: turns a program back into events, to write it in another format, to cut
 * a piece out of it or to lower it again. Lowering these events gives the same instructions. */
#ifndef TP_UNLOWER_H
#define TP_UNLOWER_H

#include "traces/event.h"
#include "traces/lower/lower.h"
#include "traces/places/place_table.h"

struct tp_unlower_cfg {
    /* First and last event to give; 0: from the start, or to the end. Objects that are live before
     * `first` come as TP_EV_INITIAL, in the order of their slots. */
    uint64_t first, last;
    /* Keep the numbers of events. Of several events with one number, all after the first are
     * `uncounted`; numbers without an event go to `skip`. */
    bool numbers;
    /* Skips `count` numbers; `ctx` is that of the sink. Required with `numbers`. */
    int (*skip)(void *ctx, uint64_t count, struct tp_err *err);
    const struct tp_place_table *places; /* code places of events; NULL: none */
    bool strip;                          /* leave out marks and notes */
};

/* Fills device_of, an array of facts->streams entries, with the device index of each stream of the
 * program. A stream that no instruction names gets a device that no other stream has, so that
 * declaring all streams gives the same devices again. */
int tp_unlower_streams(struct tp_program *p, uint16_t *device_of, struct tp_err *err);

/* Gives the events of `p` to the sink. Ids are slots; threads and streams have the program's
 * indices. Times begin at 0 with `first`. A status of the sink other than TP_OK ends the walk. */
int tp_unlower(struct tp_program *p, const struct tp_unlower_cfg *cfg,
               const struct tp_event_sink *sink, struct tp_err *err);

/* Declares kind and streams of `p`, and with `heap` the heap that it begins with, to a lowering
 * that has taken no event. */
int tp_relower_begin(struct tp_program *p, bool heap, struct tp_lower *lo, struct tp_err *err);

/* The same, and lowers the events of `p` into `lo`. */
int tp_relower(struct tp_program *p, const struct tp_unlower_cfg *cfg, struct tp_lower *lo,
               struct tp_err *err);

#endif
