/* The FACT block: what is known of a program without playing it, as a list of 64-bit numbers. */
#ifndef TP_TPT_FACTS_H
#define TP_TPT_FACTS_H

#include "traces/formats/tpt/tpt_decode.h"
#include "traces/lower/lower.h"

struct tp_tpt_facts {
    struct tp_program_facts facts;
    struct tp_demand *demand; /* owned; facts.devices of them */
    uint64_t repairs[TP_REPAIR_COUNT];
    char *other_repairs; /* owned; of kinds that are not known here: "twice_freed (3)"; or NULL */
};
void tp_tpt_facts_release(struct tp_tpt_facts *f); /* a zeroed one is fine */

/* In new memory, *count numbers of 8 bytes; the caller frees it. NULL: out of memory. */
uint8_t *tp_tpt_facts_put(const struct tp_program *program, const uint64_t *repairs,
                          uint32_t *count);

/* TP_EINPUT: what cannot be true, whatever the windows hold; names no place. */
int tp_tpt_facts_get(const uint8_t *bytes, size_t count, struct tp_tpt_facts *out,
                     struct tp_err *err);

/* NULL, or in what a pass over all windows differs from the facts. */
const char *tp_tpt_facts_differ(const struct tp_tpt_facts *f, const struct tp_tpt_decoder *d);

#endif
