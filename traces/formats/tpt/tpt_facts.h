/* The FACT block: the facts of a program, known without replaying it, as a list of 64-bit numbers.
 */
#ifndef TP_TPT_FACTS_H
#define TP_TPT_FACTS_H

#include "traces/format.h"
#include "traces/formats/tpt/tpt_decode.h"
#include "traces/lower/lower.h"

struct tp_tpt_facts {
    struct tp_program_facts facts;
    struct tp_demand *demand; /* owned; an array of facts.devices */
    uint64_t repairs[TP_REPAIR_COUNT];
    /* owned; repairs of kinds that this version does not know: "twice_freed (3)"; or NULL */
    char *other_repairs;
};
void tp_tpt_facts_release(struct tp_tpt_facts *f); /* a zeroed one is fine */

/* The facts as *count numbers of 8 bytes, in new memory that the caller frees. NULL: out of
 * memory. */
uint8_t *tp_tpt_facts_put(const struct tp_program *program, const uint64_t *repairs,
                          uint32_t *count);

/* Reads `count` numbers. TP_EINPUT: facts that cannot be true of any windows; the message names no
 * place. */
int tp_tpt_facts_get(const uint8_t *bytes, size_t count, struct tp_tpt_facts *out,
                     struct tp_err *err);

/* Compares the facts with a finished pass over all windows. Returns NULL, or the name of a fact
 * that differs. */
const char *tp_tpt_facts_differ(const struct tp_tpt_facts *f, const struct tp_tpt_decoder *d);

/* The META block: the meta of a trace and the state of the recorded allocator, as JSON. */

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
