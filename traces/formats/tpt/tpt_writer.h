/* Writing .tpt, one window at a time: nothing is kept of a program that was written.
 *
 *     tp_tpt_write_begin --> tp_tpt_write_window ... --> tp_tpt_write_end --> tp_tpt_write_free
 *     header, META           NAME, PROL, DATA            META, NAME, FACT, END
 *
 * The same program, meta and settings give the same bytes. */
#ifndef TP_TPT_WRITER_H
#define TP_TPT_WRITER_H

#include "traces/trace_writer.h"

struct tp_tpt_writer;

/* Of `w`: path, compress; meta, which is what is known by now, for a file that will be cut, or
 * NULL. `events` of the whole trace, where they are known by now; 0: they are filled in at the end,
 * if `out` can seek. TP_EIO from each call as soon as a write is known to have failed; flushing and
 * closing are the caller's. */
int tp_tpt_write_begin(const struct tp_writing *w, enum tp_kind kind, uint64_t events, FILE *out,
                       struct tp_tpt_writer **writer, struct tp_err *err);

/* A tp_window_sink: `ctx` is the struct tp_tpt_writer. For tp_lower_cfg.sink. */
int tp_tpt_write_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err);

/* What only the end knows: the program's facts, demand and names, its windows it need not have;
 * meta, NULL: as at the beginning; recorded, repairs and places, each NULL where there are none. */
int tp_tpt_write_end(struct tp_tpt_writer *w, const struct tp_writing *end, struct tp_err *err);
void tp_tpt_write_free(struct tp_tpt_writer *w); /* NULL is fine */

#endif
