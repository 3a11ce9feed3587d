/* Fuzz target: the text of a plan for the strategy `planned`. Whatever the bytes are, the outcome
 * is a plan whose places lie in the pool, or one sentence that names the file; the requests of a
 * plan, in their order, follow it. */
#include "alloc/sources/common/meta_heap.h"
#include "alloc/strategies/planned/planned_match.h"
#include "alloc/strategies/planned/planned_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_rows(const struct planned_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct planned_row *row = &plan->rows[i];
        must(row->size && row->align && !(row->align & (row->align - 1)));
        if (row->offset == TP_PLAN_KEPT)
            continue;
        must(row->offset % row->align == 0 && row->offset % TP_PLAN_GRAIN == 0);
        must(row->offset <= plan->pool && row->size <= plan->pool - row->offset);
        must(row->until <= plan->count && row->align <= plan->align);
    }
}

/* All requests of the plan in their order follow it, and after one that does not they do again. */
static void follow(const struct planned_plan *plan)
{
    const struct tp_req other = {.size = UINT64_MAX, .align = 1};
    struct planned_match match;
    tp_planned_begin(&match, plan);
    tp_planned_step(&match);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct planned_row *row = &plan->rows[i];
        const struct tp_req rq = {.size = row->size, .align = row->align, .stream = row->stream};
        must(tp_planned_next(&match, &rq) == row);
    }
    must(!tp_planned_next(&match, &other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_meta_heap heap = {.live_bytes = 0};
    const struct tp_env env = {.meta = &heap};
    struct planned_plan plan;
    struct tp_err err = {0};
    int status = tp_planned_parse(&env, (const char *)data, size, "fuzz.plan", &plan, &err);
    if (status) {
        must(status == TP_EINPUT && strncmp(err.text, "fuzz.plan:", 10) == 0);
        must(err.text[10] >= '1' && err.text[10] <= '9');
        must(!plan.rows);
    } else {
        check_rows(&plan);
        follow(&plan);
        tp_planned_release(&env, &plan);
    }
    must(!heap.live_bytes);
    return 0;
}
