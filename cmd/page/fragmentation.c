/* See fragmentation.h. */
#include "cmd/page/fragmentation.h"

#include "cmd/jobs/spec.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/figures.h"
#include "cmd/ui/table.h"

#include <math.h>

static bool was_followed(const struct tp_result *r, uint32_t device)
{
    return r->run->devices[device].curve.count != 0;
}

bool tp_fragmentation_known(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            any |= was_followed(&results[i], d);
    return any;
}

/* The share of what is reserved that is not requested; NAN: nothing is reserved, or not known. */
static double not_requested(const struct tp_at_peak *at)
{
    bool known = at->reserved && at->reserved != TP_NONE && at->requested != TP_NONE;
    return known ? 1 - (double)at->requested / (double)at->reserved : NAN;
}

static void add_row(struct tp_table *t, const struct tp_result *r, uint32_t d)
{
    const struct tp_device_run *on = &r->run->devices[d];
    tp_table_add(t, "%s%s", r->spec->label, tp_html_device(r, d).s);
    tp_table_add(t, "%s", tp_percent(not_requested(&on->at_peak)).s);
    tp_table_add(t, "%s", tp_percent(on->unused_reserved).s);
    tp_table_add(t, "%s", tp_percent(on->internal_fragmentation).s);
}

int tp_fragmentation_write(const struct tp_report *rep, const struct tp_result *results,
                           size_t count, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.head = {"", ""}, .left = true},
                                               {.head = {"not requested,", "of reserved"}},
                                               {.head = {"idle,", "of reserved"}},
                                               {.head = {"rounding,", "of handed out"}}};
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < tp_devices_shown(rep, &results[i]); d++)
            if (was_followed(&results[i], d))
                add_row(&t, &results[i], d);
    fputs("<p>The share of the memory of a policy that the program has not asked for: it lies idle "
          "(unused_reserved), or blocks are larger than what was asked for "
          "(internal_fragmentation). When the program needed most:</p>\n",
          out);
    return tp_html_table(&t, out, err);
}
