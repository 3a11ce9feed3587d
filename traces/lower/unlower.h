/* The way back: a program as events, for writing it in another format, for cutting a piece out of
 * it, for lowering it once more. Lowering these events gives the same instructions. */
#ifndef TP_UNLOWER_H
#define TP_UNLOWER_H

#include "traces/event.h"
#include "traces/lower/lower.h"
#include "traces/lower/place_table.h"

struct tp_unlower_cfg {
    uint64_t first, last; /* events to give, both included; 0: from the start, to the end. What is
                             live before `first` comes as TP_EV_INITIAL, in the order of slots */
    bool numbers; /* keep the numbers of events: what shares one is `uncounted` after the first;
                     numbers that nothing was made of go to `skip` */
    /* Of the sink's ctx; needed for `numbers`. */
    int (*skip)(void *ctx, uint64_t count, struct tp_err *err);
    const struct tp_place_table *places; /* for the places of events; NULL: they have none */
    bool strip;                          /* leave out marks and notes */
};

/* The device of each of the program's streams, as dense numbers: facts->streams of them. Streams
 * that nothing names get one that the others leave, so that declaring them all gives the same
 * devices again. */
int tp_unlower_streams(struct tp_program *p, uint16_t *device_of, struct tp_err *err);

/* Ids are slots, threads and streams their dense numbers. Times begin at 0 with `first`. What the
 * sink returns ends it. */
int tp_unlower(struct tp_program *p, const struct tp_unlower_cfg *cfg,
               const struct tp_event_sink *sink, struct tp_err *err);

/* Declares kind and streams of `p` and lowers its events into `lo`, which has taken none. */
int tp_relower(struct tp_program *p, const struct tp_unlower_cfg *cfg, struct tp_lower *lo,
               struct tp_err *err);

#endif
