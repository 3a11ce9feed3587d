/* The Pick of a replay: makes records of the results for the rule of cmd/report/pick.h. */
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "cmd/results/warnings.h"

#include <math.h>
#include <string.h>

enum { ENOUGH = 6 }; /* with fewer measurements the interval is too weak to decide */

static double known(uint64_t value)
{
    return value == TP_NONE ? NAN : (double)value;
}

static bool is_warned(const struct tp_result *r, const char *id)
{
    char text[TP_WARNING_TEXT];
    return tp_find_warning(id)->applies(r, text, sizeof text);
}

/* The time by which it is judged: where several threads replayed, what passed for the user. */
static struct tp_median time_of(const struct tp_run *run)
{
    const struct tp_speed one = tp_speed_of(run);
    const struct tp_by_threads several = tp_threads_of(run);
    if (run->throughput.runs.count < ENOUGH)
        return (struct tp_median){NAN, NAN, NAN};
    return several.replayed > 1
               ? (struct tp_median){several.wall, several.wall_low, several.wall_high}
               : (struct tp_median){one.ns, one.low, one.high};
}

static struct tp_choice choice_of(const struct tp_result *r, bool resident)
{
    struct tp_median time = time_of(r->run);
    return (struct tp_choice){
        .label = r->spec->label,
        .reference = r->spec->strategy->group == TP_GROUP_REFERENCE,
        .region = (r->spec->strategy->caps & TP_CAP_NOFREE) != 0,
        .failed = tp_run_failed(r->run) > 0,
        .unsafe = tp_result_reuses_unsafely(r),
        .aged = (r->run->flags & TP_RUN_AGED) != 0,
        .small = is_warned(r, "small-trace"),
        .cold = (r->run->flags & TP_RUN_REPLAYED_ONCE) != 0,
        .min_capacity = known(tp_run_min_capacity(r->run)),
        .peak = known(resident ? tp_run_total_resident(r->run) : tp_run_peak_reserved(r->run)),
        .calls_first = known(tp_run_calls(r->run)),
        .calls_later = known(tp_run_next_calls(r->run)),
        .ns = time.median,
        .low = time.low,
        .high = time.high};
}

double tp_pick_share(const struct tp_result *r)
{
    double low, high;
    bool forecast = r->trace && !is_warned(r, "shared-cores");
    return forecast && tp_meta_malloc_share(&r->trace->meta, &low, &high) ? high : (double)NAN;
}

/* The malloc that the recorded program had. */
static size_t find_had(const struct tp_result *results, size_t count)
{
    const char *had = results->trace ? results->trace->meta.allocator : NULL;
    size_t i = 0;
    while (i < count && !(had && !strcmp(results[i].run->library, had)))
        i++;
    return i;
}

void tp_report_pick(const struct tp_result *results, size_t count, bool exact, struct tp_pick *out)
{
    struct tp_choice list[TP_PICK_MAX];
    const struct tp_result *sourced = tp_first_sourced(results, count);
    bool resident = tp_results_by_resident(results, count);
    for (size_t i = 0; i < count && i < TP_PICK_MAX; i++)
        list[i] = choice_of(&results[i], resident);
    const struct tp_program_facts *f = results->facts;
    tp_pick(&(struct tp_pick_question){.list = list,
                                       .count = count,
                                       .base = count,
                                       .frees = tp_captured_ops(results->captured, f, TP_FREE) > 0,
                                       .loop = results->trace && tp_trace_is_loop(results->trace),
                                       .resident = resident,
                                       .host = tp_result_is_on_host(sourced),
                                       .goal = (enum tp_goal)results->goal,
                                       .share = tp_pick_share(results),
                                       .had = find_had(results, count),
                                       .strategy_time = tp_result_is_virtual(sourced),
                                       .wall = tp_threads_of(results->run).replayed > 1,
                                       .operations = (double)f->operations,
                                       .capacity = known(sourced->run->devices[0].capacity),
                                       .callee = tp_result_callee(sourced),
                                       .exact = exact},
            out);
}
