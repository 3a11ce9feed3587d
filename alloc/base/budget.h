/* The memory that reading a trace may take (--max-memory): one sum over the lowering and everything
 * that a reader keeps. */
#ifndef TP_BUDGET_H
#define TP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct tp_budget {
    uint64_t limit; /* bytes; 0: no limit */
    uint64_t held;
};

/* Changes a caller's share from `before` to `after` bytes. False: the limit would be exceeded, and
 * nothing has changed. A smaller share is never refused. With a NULL budget nothing is counted. */
static inline bool tp_budget_change(struct tp_budget *b, uint64_t before, uint64_t after)
{
    if (!b)
        return true;
    uint64_t others = b->held - before;
    if (after > before && b->limit && (after > b->limit || others > b->limit - after))
        return false;
    b->held = others + after;
    return true;
}

/* Bytes that a caller holding `own` bytes may hold in all. */
static inline uint64_t tp_budget_most(const struct tp_budget *b, uint64_t own)
{
    if (!b || !b->limit)
        return UINT64_MAX;
    uint64_t others = b->held - own;
    return others < b->limit ? b->limit - others : 0;
}

#endif
