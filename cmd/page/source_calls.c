/* See replay_page.h. */
#include "cmd/page/replay_page.h"

#include "cmd/jobs/spec.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/figures.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

bool tp_source_calls_followed(const struct tp_result *r, uint32_t device)
{
    const struct tp_device_run *d = &r->run->devices[device];
    return d->curve.count && d->gets != TP_NONE && d->puts != TP_NONE;
}

bool tp_source_calls_known(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            any |= tp_source_calls_followed(&results[i], d);
    return any;
}

static void add_row(struct tp_table *t, struct tp_str *silent, const struct tp_result *r,
                    uint32_t d)
{
    const struct tp_device_run *on = &r->run->devices[d];
    tp_table_add(t, "%s%s", r->spec->label, tp_html_device(r, d).s);
    tp_table_count(t, on->gets);
    tp_table_count(t, on->puts);
    if (!on->gets && !on->puts)
        tp_str_item(silent, ", ", "%s%s", r->spec->label, tp_html_device(r, d).s);
}

int tp_source_calls_write(const struct tp_report *rep, const struct tp_result *results,
                          size_t count, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.head = {"", ""}, .left = true},
                                               {.head = {"calls that", "get memory"}},
                                               {.head = {"calls that", "give it back"}}};
    struct tp_table t = {0};
    struct tp_str silent = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < tp_devices_shown(rep, &results[i]); d++)
            if (tp_source_calls_followed(&results[i], d))
                add_row(&t, &silent, &results[i], d);
    fputs(
        "<p>How often a policy went to the system or the driver from the first event on. Each such "
        "call is slow; one that keeps its memory makes few:",
        out);
    int rc = tp_table_html(&t, out, err);
    fputs("</p>\n", out);
    if (tp_str_text(&silent)[0])
        tp_put(out, TP_TO_XML, "<p>No calls after the start: %s.</p>\n", tp_str_text(&silent));
    tp_str_drop(&silent);
    tp_table_drop(&t);
    return rc;
}
