/* --format folded: who holds the memory of a trace at its peak, or after the event that --at names,
 * as call stacks with bytes, for flame graphs:
 *
 *     main;parse;read 4096            the outermost function first
 *     web;main;parse;read 4096        of several traces, each under its name
 *
 * What the program holds is the same for every strategy, so a trace is written once. Known
 * weakness: a flame graph merges equal stacks, and two traces of one name are one. */
#include "cmd/report/report_sites.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"

static int check(const void *of, struct tp_err *err)
{
    const struct tp_report *r = of;
    int status = TP_OK;
    for (size_t i = 0; !status && i < r->planned;
         i += tp_results_of_trace(&r->results[i], r->planned - i))
        status = tp_sites_sayable(r->results[i].trace, err);
    return status;
}

static int write_folded(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    bool several = tp_results_of_trace(r->results, r->planned) < r->planned;
    int status = TP_OK;
    if (r->partial)
        return tp_fail(err, TP_ESTOP, "interrupted before live memory by site was known");
    for (size_t i = 0; !status && i < r->count;
         i += tp_results_of_trace(&r->results[i], r->count - i)) {
        const struct tp_result *result = &r->results[i];
        status = tp_sites_known(result->captured, result->trace, err);
        if (!status)
            tp_sites_folded(result->captured->sites, several ? result->trace->meta.name : NULL,
                            out);
    }
    return status;
}

static const char about[] =
    "Live memory by site at the trace peak, or after --at EVENT: each line\n"
    "is a call stack, outermost function first, and its bytes, for\n"
    "flamegraph.pl, speedscope and others. It describes the trace, so it\n"
    "is the same for every strategy; several traces are listed under their\n"
    "names. Memory without a stack is 'not known'. A trace without stacks\n"
    "is refused. info and why write it too.";

const struct tp_exporter tp_replay_folded = {
    .name = "folded",
    .summary = "live memory by site at the peak, as call stacks for flame graphs",
    .about = about,
    .write = write_folded,
    .check = check,
    .stacks = true,
};
