/* What scripts/validate.sh found of predictions against real programs (scripts/README.md). Screens
 * say it beside their predictions; a test holds these figures against that page. */
#ifndef TP_VALIDATED_H
#define TP_VALIDATED_H

#include "cmd/ui/text.h"

struct tp_validated {
    unsigned percent; /* an error up to this is right; 0: the prediction is a bound */
    unsigned right, of;
};

#define TP_VALIDATED_ONE     ((struct tp_validated){5, 27, 29})  /* resident, one thread */
#define TP_VALIDATED_SEVERAL ((struct tp_validated){10, 23, 24}) /* resident, several threads */
#define TP_VALIDATED_SAVED   ((struct tp_validated){0, 26, 35})  /* CPU time saved, at most */

/* Prints how right the prediction of resident memory is, of programs with so many threads. */
static inline void tp_validated_print(uint64_t threads, struct tp_page *page, int column)
{
    const struct tp_validated v = threads > 1 ? TP_VALIDATED_SEVERAL : TP_VALIDATED_ONE;
    tp_page_put(page, column,
                "resident memory of %s: within %u%% of the real program in %u of %u trials",
                threads > 1 ? "several threads" : "one thread", v.percent, v.right, v.of);
}

#endif
