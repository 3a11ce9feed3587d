/* See replay_output.h. */
#include "cmd/exports/replay_output.h"

#include "cmd/exports/export_files.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "cmd/ui/output.h"

static void print_text(const struct tp_replay_output *o, FILE *out)
{
    const struct tp_report *r = o->report;
    struct tp_page page;
    tp_page_init(&page, out, o->opts->color);
    page.exact = o->opts->bytes;
    for (size_t first = 0, planned; first < r->count; first += planned) {
        planned = tp_results_of_trace(&r->results[first], r->planned - first);
        size_t count = planned < r->count - first ? planned : r->count - first;
        if (first)
            tp_page_line(&page);
        if (planned == 1)
            tp_report_detail(r, &r->results[first], &page);
        if (planned == 1)
            tp_report_missing(r, r->results[first].trace, &page);
        else
            tp_report_table(r, first, count, &page);
    }
    if (!r->partial)
        return;
    tp_page_line(&page);
    tp_page_styled(&page, 0, TP_RED, o->lost ? "stopped" : "interrupted");
    tp_page_more(&page, 0,
                 ": %zu of %zu replays are done; what stands above is complete as far as it goes.",
                 r->count, r->planned);
    tp_page_line(&page);
}

int tp_replay_print(const struct tp_replay_output *o, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = o->report;
    const struct tp_exporter *other = tp_exports_printed(&o->opts->exports);
    int status = tp_exports_write(&o->opts->exports, r, err);
    if (status)
        return status;
    if (other)
        status = other->write(r, out, err);
    else
        print_text(o, out);
    if (status)
        return status;
    if (!r->partial)
        return TP_OK;
    status = tp_finish_output(out, "standard output", err);
    if (status || o->lost || !other) /* the screen says it, and the caller reports a lost device */
        return status;
    return tp_fail(err, TP_ESTOP, "interrupted: %zu of %zu replays are done", r->count, r->planned);
}
