/* The META block: the meta of a trace and the state of the recorded allocator, as JSON. */
#ifndef TP_TPT_META_H
#define TP_TPT_META_H

#include "traces/format.h"

/* Writes {"meta": {...}, "recorded": {...}} into new memory, which tp_tpt_meta_free frees. `meta`
 * and `recorded` may be NULL. TP_EINPUT: longer than TP_TPT_META_MAX bytes. */
int tp_tpt_meta_put(const struct tp_meta *meta, const struct tp_recorded *recorded, char **json,
                    struct tp_err *err);
void tp_tpt_meta_free(char *json); /* NULL is fine */

/* Fills `meta` and `recorded` from `size` bytes and ignores unknown keys. meta->kind is not set:
 * the file header has it. The message of TP_EINPUT names no place. */
int tp_tpt_meta_get(const char *json, size_t size, struct tp_meta *meta,
                    struct tp_recorded *recorded, struct tp_err *err);

#endif
