/* Writing .tpt, one window at a time: nothing is kept of a program that was written.
 *
 *     tp_tpt_write_begin --> tp_tpt_write_window ... --> tp_tpt_write_end --> tp_tpt_write_free
 *     header, META           NAME, PROL, DATA            META, NAME, FACT, END
 *
 * The same program, meta and settings give the same bytes. */
#ifndef TP_TPT_WRITE_H
#define TP_TPT_WRITE_H

#include "traces/lower/place_table.h"

#include <stdio.h>

struct tp_tpt_write_cfg {
    FILE *out;        /* borrowed until the end; flushing and closing are the caller's */
    const char *path; /* for messages; borrowed until the end */
    enum tp_kind kind;
    const struct tp_meta *meta; /* what is known by now, for a file that will be cut; NULL: nothing;
                                   borrowed for tp_tpt_write_begin */
    uint64_t events;            /* of the whole trace, where it is known by now; 0: it is filled in
                                   at the end, if `out` can seek */
    bool compress;              /* pack blocks with zstd where that makes them smaller */
};

struct tp_tpt_writer;

/* TP_EIO from each call as soon as a write is known to have failed. */
int tp_tpt_write_begin(const struct tp_tpt_write_cfg *cfg, struct tp_tpt_writer **out,
                       struct tp_err *err);

/* A tp_window_sink: `ctx` is the struct tp_tpt_writer. For tp_lower_cfg.sink. */
int tp_tpt_write_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err);

/* What only the end knows; all borrowed for the call. */
struct tp_tpt_write_end {
    const struct tp_program
        *program;               /* its facts, demand and names; the windows it need not have */
    const struct tp_meta *meta; /* NULL: as at the beginning */
    const struct tp_recorded *recorded;  /* NULL: none */
    const uint64_t *repairs;             /* TP_REPAIR_COUNT of them; NULL: none */
    const struct tp_place_table *places; /* NULL: none */
};
int tp_tpt_write_end(struct tp_tpt_writer *w, const struct tp_tpt_write_end *end,
                     struct tp_err *err);
void tp_tpt_write_free(struct tp_tpt_writer *w); /* NULL is fine */

/* All of the above for a program that has its windows; cfg->events and cfg->meta are taken from
 * `end`. `stop` is asked after each window, and its status ends the writing; NULL: nobody is. */
int tp_tpt_write_program(const struct tp_tpt_write_cfg *cfg, struct tp_program *program,
                         const struct tp_tpt_write_end *end, int (*stop)(struct tp_err *err),
                         struct tp_err *err);

#endif
