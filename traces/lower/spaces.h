/* Memory spaces, for formats whose files mix several of them: CPU and GPU, or many allocators. A
 * reader hands in each event with its space. At the end one space, or all, is lowered, and the meta
 * says which were left out.
 *
 * Events are kept in memory up to 32 MiB (less if reading may take less), and beyond that in an
 * unlinked file in $TMPDIR. Formats that must read the end of a file before they can lower its
 * first event use this too, with a single space. Events of spaces that are left out get no
 * numbers. */
#ifndef TP_SPACES_H
#define TP_SPACES_H

#include "traces/format.h"

struct tp_spaces;

int tp_spaces_new(const struct tp_reading *r, struct tp_spaces **out, struct tp_err *err);
void tp_spaces_free(struct tp_spaces *sp); /* NULL is fine */

/* Defines a new space. The name is copied and cleaned; the second of two equal names becomes
 * NAME#2. */
int tp_spaces_define(struct tp_spaces *sp, const char *name, enum tp_kind kind, uint32_t *index,
                     struct tp_err *err);

/* Adds the next event of a space, in the order of lowering. Ids must be unique among the live
 * objects of all spaces. ev->stream is used if has_stream is set, `device` always. Streams and
 * devices are declared when they first occur; the same stream number on two devices means two
 * streams. A SYNC without a stream concerns all devices that are lowered. */
int tp_spaces_event(struct tp_spaces *sp, uint32_t space, int64_t device, const struct tp_event *ev,
                    struct tp_err *err);

/* Adds an event that has a number but is not lowered. */
int tp_spaces_skip(struct tp_spaces *sp, uint32_t space, int64_t device, struct tp_err *err);

/* Counts events of a space, and the bytes that they allocate, that the reader lowers itself once
 * the space is chosen. */
void tp_spaces_count_own(struct tp_spaces *sp, uint32_t space, uint64_t events, uint64_t bytes);

/* Without r->opts->space, this space is chosen if it has events. */
void tp_spaces_prefer(struct tp_spaces *sp, uint32_t space);

/* Number of events taken so far, without TP_EV_INITIAL and uncounted ones. */
uint64_t tp_spaces_count(const struct tp_spaces *sp);

/* Chooses the space of r->opts->space, the preferred one, or that with the most allocated bytes,
 * and lowers its events, TP_EV_INITIAL first. TP_EINPUT: no space has that name; the hint lists the
 * names. Sets kind, space and left_out of the meta, and `nothing` if the requested space has no
 * events. With "all", devices of different spaces are different devices. */
int tp_spaces_lower(struct tp_spaces *sp, struct tp_err *err);

/* After lowering: the program's index of a device of a space; -1: it has none. */
int32_t tp_spaces_device(const struct tp_spaces *sp, uint32_t space, int64_t device);

/* After lowering: whether the space was lowered. */
bool tp_spaces_chosen(const struct tp_spaces *sp, uint32_t space);

#endif
