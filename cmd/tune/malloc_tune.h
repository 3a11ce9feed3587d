/* Which setting of which malloc library would need less memory, or less time? All settings are
 * replayed once, by the recorded threads; those that none beats are then replayed in interleaved
 * rounds, and only these are judged (malloc_replay.h). Nothing is printed here. */
#ifndef TP_MALLOC_TUNE_H
#define TP_MALLOC_TUNE_H

#include "cmd/report/pick.h"
#include "cmd/tune/malloc_settings.h"
#include "traces/trace.h"

/* What several replays say of one thing. */
struct tp_malloc_range {
    double median, low, high; /* NAN: not known */
};

struct tp_malloc_row {
    const struct tp_malloc_setting *setting; /* borrowed */
    struct tp_malloc_range resident;         /* bytes: total resident (peak, and at start) */
    struct tp_malloc_range ns;               /* per call */
    unsigned rounds;                         /* replays that count */
    bool front;        /* none needs about as little memory and time, and less of one */
    struct tp_err err; /* why it could not be replayed; TP_OK: it was */
};

struct tp_malloc_tune {
    const struct tp_trace *trace; /* borrowed */
    struct tp_malloc_settings settings;
    struct tp_malloc_row *rows; /* of each setting */
    size_t base;                /* what the others are compared with: the recorded setting, or
                                 * else the first, the defaults of the C library */
    bool wall;                  /* times are what passed while several threads replayed */
    /* times are of the first replay on a fresh heap, as some have no other */
    bool cold;
    unsigned threads;    /* that were recorded */
    struct tp_pick pick; /* its indexes are those of `rows` */
};

/* Whether a row has both figures. */
bool tp_malloc_is_known(const struct tp_malloc_row *r);

/* Marks the front of the rows that were replayed in so many rounds, and picks of it. */
void tp_malloc_judge(struct tp_malloc_tune *t, unsigned rounds, enum tp_goal goal, bool exact);

void tp_malloc_tune_release(struct tp_malloc_tune *t);

/* Marks the rows on the front, of those that were replayed in so many rounds: see `front`.
 * Differences up to `memory` and `time`, as shares, are none; of rows that are equal in that sense
 * the one with the fewest keys stays. */
void tp_malloc_front(struct tp_malloc_row *rows, size_t count, unsigned rounds, double memory,
                     double time);

#endif
