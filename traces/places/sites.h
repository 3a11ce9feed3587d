/* Who holds the memory of a trace at an event. */
#ifndef TP_SITES_H
#define TP_SITES_H

#include "traces/places/site_groups.h"
#include "traces/trace.h"

/* Finds the sites of a device. *out is NULL where the trace has nothing of what is asked for, or
 * no live block has it. */
int tp_sites_find(const struct tp_trace *t, uint16_t device, const struct tp_sites_cfg *cfg,
                  int (*stop)(struct tp_err *err), struct tp_sites **out, struct tp_err *err);

/* Lists the live blocks of a device after an event, or at its trace peak (TP_AT_PEAK), by place;
 * blocks of the initial heap have places where the file knows them. The caller frees out->blocks,
 * and `t` must outlive the list. */
int tp_sites_list(const struct tp_trace *t, uint16_t device, uint64_t at, struct tp_held_list *out,
                  struct tp_err *err);

#endif
