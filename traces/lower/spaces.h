/* Memory spaces: formats whose files mix several (CPU and GPU, many allocators) hand their events
 * in here, each with its space; at the end one of them is lowered, or all, and what was left out is
 * said.
 *
 * Events are kept in memory up to 32 MiB (less where reading may take less) and then in an unlinked
 * file in $TMPDIR, so formats that must have seen the end of a file before its first event use it
 * as well, with a single space. Events of spaces that are left out have no numbers. */
#ifndef TP_SPACES_H
#define TP_SPACES_H

#include "traces/format.h"

struct tp_spaces;

int tp_spaces_new(const struct tp_reading *r, struct tp_spaces **out, struct tp_err *err);
void tp_spaces_free(struct tp_spaces *sp); /* NULL is fine */

/* A new space; the name is copied and cleaned. Of equal names the second is called NAME#2. */
int tp_spaces_define(struct tp_spaces *sp, const char *name, enum tp_kind kind, uint32_t *index,
                     struct tp_err *err);

/* The next event of a space, in the order in which they are to be lowered. Ids are unique among the
 * live objects of all spaces. `stream` counts where has_stream is set, `device` always: streams of
 * the two are declared as they come, the same number on two devices being two streams. A SYNC
 * without a stream is one of all devices that are lowered. */
int tp_spaces_event(struct tp_spaces *sp, uint32_t space, int64_t device, const struct tp_event *ev,
                    struct tp_err *err);

/* An event of a space that has a number, and that nothing is made of. */
int tp_spaces_skip(struct tp_spaces *sp, uint32_t space, int64_t device, struct tp_err *err);

/* Events taken so far, without TP_EV_INITIAL and uncounted ones. */
uint64_t tp_spaces_count(const struct tp_spaces *sp);

/* Chooses by r->opts->space (TP_EINPUT names those there are; with one space a name is checked all
 * the same), else the space with most allocated bytes; sets kind, space and left_out of the meta,
 * and `nothing` where a space was asked for that has no events; lowers. With "all" the devices of
 * different spaces are different ones. TP_EV_INITIAL of the chosen ones first. */
int tp_spaces_lower(struct tp_spaces *sp, struct tp_err *err);

/* After lowering: the dense index in the program of a device of a space, -1 where it has none. */
int32_t tp_spaces_device(const struct tp_spaces *sp, uint32_t space, int64_t device);

/* After lowering: whether the space was. */
bool tp_spaces_chosen(const struct tp_spaces *sp, uint32_t space);

#endif
