/* See fragmentation.h. */
#include "cmd/page/fragmentation.h"

#include "cmd/measure/spec.h"
#include "cmd/ui/table.h"

#include <inttypes.h>
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
    const struct tp_at_peak *at = &on->at_peak;
    if (r->run->device_count > 1)
        tp_table_add(t, "%s, device %" PRIu32, r->spec->label, d);
    else
        tp_table_add(t, "%s", r->spec->label);
    tp_table_bytes(t, at->reserved, false);
    tp_table_add(t, "%s", tp_percent(not_requested(at)).s);
    tp_table_bytes(t, at->idle, false);
    tp_table_add(t, "%s", tp_percent(on->unused_reserved).s);
    tp_table_bytes(t, at->granted != TP_NONE ? at->granted - at->requested : TP_NONE, false);
    tp_table_add(t, "%s", tp_percent(on->internal_fragmentation).s);
}

int tp_fragmentation_write(const struct tp_result *results, size_t count, FILE *out,
                           struct tp_err *err)
{
    static const struct tp_column columns[] = {
        {.head = {"", ""}, .left = true},
        {.head = {"", "reserved"}},
        {.head = {"not requested,", "of reserved"}},
        {.head = {"", "idle"}},
        {.head = {"unused_reserved,", "of reserved"}},
        {.head = {"", "rounding"}},
        {.head = {"internal_fragmentation,", "of handed out"}}};
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            if (was_followed(&results[i], d))
                add_row(&t, &results[i], d);
    fputs("<p>How much of the memory that a policy reserves the program has not asked for: it lies "
          "idle, or blocks are larger than what was asked for (rounding). "
          "When the program needed most:",
          out);
    int rc = tp_table_html(&t, out, err);
    fputs("</p>\n", out);
    tp_table_drop(&t);
    return rc;
}
