/* Writes .tpt one window at a time, without keeping the windows that were written.
 *
 *     tp_tpt_write_begin --> tp_tpt_write_window ... --> tp_tpt_write_end --> tp_tpt_write_free
 *     header, META           NAME, PROL, DATA            META, NAME, FACT, END
 *
 * The same program, meta and settings give the same bytes. */
#ifndef TP_TPT_WRITER_H
#define TP_TPT_WRITER_H

#include "traces/trace_writer.h"

struct tp_tpt_writer;

/* Uses path, compress, meta and recorded of `w`. The meta is what is known so far, in case the file
 * is cut; it may be NULL. `events` counts the whole trace; with 0 the count is filled in at the
 * end, if `out` can seek. Every call returns TP_EIO once a write is known to have failed. The
 * caller flushes and closes `out`. */
int tp_tpt_write_begin(const struct tp_writing *w, enum tp_kind kind, uint64_t events, FILE *out,
                       struct tp_tpt_writer **writer, struct tp_err *err);

/* A tp_window_sink: `ctx` is the struct tp_tpt_writer. For tp_lower_cfg.sink. */
int tp_tpt_write_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err);

/* Writes what is known only at the end. `end` has the program, of which facts, demand and names are
 * used, but not its windows; the final meta, or NULL to keep the first one; recorded, repairs and
 * places, each NULL if there are none. */
int tp_tpt_write_end(struct tp_tpt_writer *w, const struct tp_writing *end, struct tp_err *err);
void tp_tpt_write_free(struct tp_tpt_writer *w); /* NULL is fine */

#endif
