/* The META block: what a trace says about itself and what was recorded of it, as JSON. */
#ifndef TP_TPT_META_H
#define TP_TPT_META_H

#include "traces/format.h"

/* {"meta": {...}, "recorded": {...}} in new memory, to be freed with tp_tpt_meta_free. `meta` and
 * `recorded` may be NULL. TP_EINPUT: longer than TP_TPT_META_MAX. */
int tp_tpt_meta_put(const struct tp_meta *meta, const struct tp_recorded *recorded, char **json,
                    struct tp_err *err);
void tp_tpt_meta_free(char *json); /* NULL is fine */

/* Fills both from `size` bytes; what it does not know it leaves out. The kind is not in it.
 * TP_EINPUT names no place. */
int tp_tpt_meta_get(const char *json, size_t size, struct tp_meta *meta,
                    struct tp_recorded *recorded, struct tp_err *err);

#endif
