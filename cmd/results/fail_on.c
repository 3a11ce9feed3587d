/* See condition.h. */

#include "cmd/results/condition.h"
#include "cmd/results/figures.h"
#include "cmd/results/record.h"

#include <stdlib.h>
#include <strings.h>

static bool is_oom(const char *text)
{
    return !strcasecmp(text, "oom");
}

int tp_fail_on_parse(const struct tp_opt_list *texts, struct tp_err *err)
{
    for (size_t i = 0; i < texts->count; i++) {
        struct tp_condition c;
        int status = tp_condition_parse(texts->items[i], &c, err);
        if (!status && c.relative)
            status = tp_hint(err,
                             tp_fail(err, TP_EUSAGE, "--fail-on '%s' needs a base: replay has none",
                                     texts->items[i]),
                             "'tapool compare' compares with one");
        if (status)
            return status;
    }
    return TP_OK;
}

static int check_oom(const struct tp_report *report, struct tp_err *err)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct tp_result *result = &report->results[i];
        uint64_t failed = tp_run_failed(result->run);
        if (failed)
            return tp_fail(err, TP_EFOUND, "oom: '%s' failed %s of the allocations of %s",
                           result->spec->label, tp_count(failed).s, result->trace->file);
    }
    return TP_OK;
}

/* Makes records of the results, and checks the conditions on them. */
static int check_metrics(const struct tp_opt_list *texts, const struct tp_report *report,
                         struct tp_err *err)
{
    struct tp_record *runs = calloc(report->count + 1, sizeof *runs);
    int status = runs ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; !status && i < report->count; i++)
        status = tp_record_of(&report->results[i], &runs[i], err);
    for (size_t i = 0; !status && i < texts->count; i++) {
        struct tp_condition c;
        if (is_oom(texts->items[i]))
            continue;
        status = tp_condition_parse(texts->items[i], &c, err);
        if (!status)
            status = tp_conditions_check_runs(&c, 1, runs, report->count, err);
    }
    for (size_t i = 0; runs && i < report->count; i++)
        tp_record_release(&runs[i]);
    free(runs);
    return status;
}

int tp_fail_on_check(const struct tp_opt_list *texts, const struct tp_report *report,
                     struct tp_err *err)
{
    size_t ooms = 0;
    for (size_t i = 0; i < texts->count; i++)
        ooms += is_oom(texts->items[i]);
    int status = ooms ? check_oom(report, err) : TP_OK;
    return status || ooms == texts->count ? status : check_metrics(texts, report, err);
}
