/* The texts of a comparison: heads of columns, cells, and the legend of the marks; see compare.h.
 */
#include "cmd/compare/compare.h"
#include "cmd/report/validated.h"
#include "cmd/results/figures.h"
#include "cmd/results/metric_heading.h"
#include "cmd/results/metric_text.h"

#include <math.h>
#include <string.h>

static const struct tp_compare_cell *cell_of(const struct tp_compare_row *r,
                                             const struct tp_metric *m)
{
    return &r->cells[m - tp_metrics];
}

static double step_of(const struct tp_compare_row *r)
{
    return r->rounds ? r->rounds->step_ns : r->from->step_ns;
}

/* Rounds a percentile to whole ns. The median of two percentiles may have a fraction. */
static uint64_t whole_ns(double value)
{
    return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

struct tp_compare_label tp_compare_name(const struct tp_compare_row *r)
{
    struct tp_compare_label name;
    struct tp_str s = TP_STR_IN(name.s);
    tp_str_add(&s, "%s%s%s%s", r->label, r->file ? " (" : "", r->file ? r->short_file : "",
               r->file ? ")" : "");
    return name;
}

/* ---- heads ---- */

const char *tp_compare_callee(const struct tp_record *run)
{
    return !strcmp(run->kind, "device") || !strncmp(run->source, "cuda", 4) ? "driver" : "system";
}

struct tp_column tp_compare_heading(const struct tp_metric *m, const struct tp_compare_table *t)
{
    if (!strcmp(t->run->scope, "strategy") && tp_metric_is_ns_per_op(m))
        return (struct tp_column){.head = {"strategy time", "ns/op"}, .to = TP_TO_MARKDOWN};
    if (!strcmp(m->name, "peak_reserved") && !strncmp(t->run->source, "host", 4))
        return (struct tp_column){.head = {"address", "space"}, .to = TP_TO_MARKDOWN};
    return tp_metric_heading(m, tp_compare_callee(t->run));
}

/* ---- values ---- */

bool tp_compare_flattered(const struct tp_compare_row *r)
{
    const struct tp_metric *reuse = tp_metric_find("hit_rate", NULL);
    double share = tp_record_total(r->run, reuse);
    if (isnan(share)) /* an older tapool did not write the weights of several devices */
        share = tp_record_value(r->run, reuse, 0);
    return !strcmp(r->run->scope, "strategy") && share < TP_FEW_REUSED;
}

static bool is_flattered(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return tp_metric_is_time(m) && tp_compare_flattered(r);
}

static bool is_flattered_by(const struct tp_compare_row *r, const struct tp_metric *m,
                            const char *callee)
{
    return is_flattered(r, m) && !strcmp(tp_compare_callee(r->run), callee);
}

static bool system_flatters(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return is_flattered_by(r, m, "system");
}

static bool driver_flatters(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return is_flattered_by(r, m, "driver");
}

bool tp_compare_drowned(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return tp_metric_is_ns_per_op(m) && cell_of(r, m)->value <= 0;
}

/* Whether a memory value is not exact, because a real allocator or device has reported it. */
static bool is_informative(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_EXACT && !tp_metric_is_exact_in(m, r->run->exact) &&
           !isnan(cell_of(r, m)->value);
}

/* A time as "14.2". The number of decimals depends on the size alone, so that a value and its
 * interval line up. */
static struct tp_text time_text(double ns)
{
    if (ns >= 1000)
        return tp_digits(ns);
    if (ns >= 100)
        return tp_text_of("%.0f", ns);
    return tp_text_of("%.*f", ns >= 10 ? 1 : 2, ns);
}

static struct tp_text time_value(const struct tp_compare_row *r, const struct tp_metric *m)
{
    const struct tp_compare_cell *cell = cell_of(r, m);
    if (tp_metric_is_one_call(m))
        return tp_latency_text(whole_ns(cell->value), step_of(r));
    if (isnan(cell->low))
        return time_text(cell->value);
    return tp_text_of("%s [%s, %s]", time_text(cell->value).s, time_text(cell->low).s,
                      time_text(cell->high).s);
}

struct tp_text tp_compare_value_text(const struct tp_compare_row *r, const struct tp_metric *m,
                                     bool exact)
{
    const struct tp_compare_cell *cell = cell_of(r, m);
    if (is_flattered(r, m))
        return tp_text_of("(a)");
    if (isnan(cell->value))
        return tp_text_of("-");
    if (tp_compare_drowned(r, m))
        return tp_text_of("(c)");
    if (tp_metric_is_time(m))
        return time_value(r, m);
    return tp_text_of("%s%s", tp_metric_text(m, cell->value, exact).s,
                      is_informative(r, m) ? " (i)" : "");
}

struct tp_text tp_compare_change_text(const struct tp_compare_row *r, const struct tp_metric *m)
{
    static const char *const words[TP_MARKS] = {
        [TP_MARK_NONE] = "-", [TP_MARK_BASE] = "base", [TP_MARK_SAME] = "~"};
    const struct tp_compare_cell *cell = cell_of(r, m);
    bool fact = cell->mark == TP_MARK_EXACT || cell->mark == TP_MARK_REPORTED;
    if (is_flattered(r, m))
        return (struct tp_text){""};
    if (words[cell->mark] || isnan(cell->change))
        return tp_text_of("%s", words[cell->mark] ? words[cell->mark] : "from 0");
    if (fact && cell->change == 0)
        return tp_text_of("same");
    return cell->mark == TP_MARK_UNTESTED ? tp_text_of("(%s)", tp_change(cell->change).s)
                                          : tp_change(cell->change);
}

struct tp_text tp_compare_estimate_text(const struct tp_compare_row *r, const struct tp_metric *m)
{
    const struct tp_compare_cell *cell = cell_of(r, m);
    return isnan(cell->change) ? tp_compare_change_text(r, m) : tp_change(cell->change);
}

struct tp_text tp_compare_interval_text(const struct tp_compare_row *r, const struct tp_metric *m)
{
    const struct tp_compare_cell *cell = cell_of(r, m);
    if (isnan(cell->change_low) || isnan(cell->change_high))
        return tp_text_of("-");
    return tp_text_of("%s%%", tp_signed_interval(cell->change_low, cell->change_high).s);
}

const char *const tp_mark_words[TP_MARKS] = {[TP_MARK_NONE] = "is not compared",
                                             [TP_MARK_BASE] = "the base",
                                             [TP_MARK_EXACT] = "exact",
                                             [TP_MARK_REPORTED] = "reported, not exact",
                                             [TP_MARK_SHOWN] = "a difference is detected",
                                             [TP_MARK_SAME] = "no difference detected",
                                             [TP_MARK_UNTESTED] = "not tested"};

/* ---- tables ---- */

void tp_compare_fill(const struct tp_compare *c, const struct tp_compare_table *t, bool exact,
                     struct tp_table *out)
{
    struct tp_column columns[1 + 2 * TP_METRIC_MAX] = {{.left = true, .to = TP_TO_MARKDOWN}};
    struct tp_column change = {.name = "change", .joined = true, .to = TP_TO_MARKDOWN};
    for (size_t m = 0; m < c->column_count; m++) {
        columns[1 + 2 * m] = tp_compare_heading(c->columns[m], t);
        columns[2 + 2 * m] = change;
    }
    tp_table_columns(out, columns, 1 + 2 * (int)c->column_count);
    for (size_t r = 0; r < t->count; r++) {
        tp_table_add(out, "%s", tp_compare_name(&t->rows[r]).s);
        for (size_t m = 0; m < c->column_count; m++) {
            tp_table_add(out, "%s", tp_compare_value_text(&t->rows[r], c->columns[m], exact).s);
            tp_table_add(out, "%s", tp_compare_change_text(&t->rows[r], c->columns[m]).s);
        }
    }
}

static void add_mean(const struct tp_compare *c, const struct tp_compare_mean *mean, size_t metric,
                     bool all, struct tp_table *out)
{
    char over[24] = "";
    if (all || mean->traces[metric] < c->count)
        snprintf(over, sizeof over, " (%zu)", mean->traces[metric]);
    if (isnan(mean->ratio[metric]))
        tp_table_add(out, "-");
    else
        tp_table_add(out, mean->untested[metric] ? "(%.3f)%s" : "%.3f%s", mean->ratio[metric],
                     over);
}

void tp_compare_fill_means(const struct tp_compare *c, bool all, struct tp_table *out)
{
    struct tp_column columns[1 + TP_METRIC_MAX] = {{.left = true, .to = TP_TO_MARKDOWN}};
    for (size_t m = 0; m < c->column_count; m++) {
        columns[1 + m] = tp_compare_heading(c->columns[m], c->tables);
        columns[1 + m].name = c->columns[m]->name;
    }
    tp_table_columns(out, columns, 1 + (int)c->column_count);
    for (size_t r = 0; r < c->mean_count; r++) {
        tp_table_add(out, "%s", c->means[r].name.s);
        for (size_t m = 0; m < c->column_count; m++)
            add_mean(c, &c->means[r], (size_t)(c->columns[m] - tp_metrics), all, out);
    }
}

/* ---- the legend ---- */

typedef bool occurs_fn(const struct tp_compare_row *r, const struct tp_metric *m);

static bool has_same(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return cell_of(r, m)->mark == TP_MARK_SAME;
}

static bool has_untested(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return cell_of(r, m)->mark == TP_MARK_UNTESTED;
}

static bool has_bound(const struct tp_compare_row *r, const struct tp_metric *m)
{
    double value = cell_of(r, m)->value;
    return tp_metric_is_one_call(m) && value >= 0 &&
           tp_latency_is_coarse(whole_ns(value), step_of(r));
}

static bool has_sum(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return r->run->devices > 1 && m->per_device;
}

static bool has_resident(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return tp_metric_is_by_kernel(m) && !isnan(cell_of(r, m)->value);
}

static bool is_validated(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return has_resident(r, m) && r->run->library;
}

static bool is_known(const struct tp_compare_row *r, const struct tp_metric *m, const char *name)
{
    return !strcmp(m->name, name) && !isnan(cell_of(r, m)->value);
}

static bool has_waited(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return is_known(r, m, "waited");
}

static bool has_wall(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return is_known(r, m, "wall_ns_per_op");
}

static bool has_blocked(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return is_known(r, m, "blocked");
}

/* Whether several threads replayed, and nothing sets them against one. */
static bool lacks_speedup(const struct tp_compare_row *r, const struct tp_metric *m)
{
    return !strcmp(m->name, "speedup") && isnan(cell_of(r, m)->value) &&
           has_wall(r, tp_metric_find("wall_ns_per_op", NULL));
}

void tp_compare_legend(const struct tp_compare *c, const struct tp_compare_table *t, size_t columns,
                       const char *lines[TP_COMPARE_LEGEND + 1])
{
    const char *untested =
        "( ) not tested: cold vs steady times, or figures that vary too much (mean, max)";
    if (!c->live)
        untested = "( ) not tested: results were not interleaved, so their times cannot show "
                   "small differences";
    else if (c->all)
        untested =
            "( ) not tested: cold vs steady times, figures that vary too much (mean, max), or "
            "what stands here by -v and not by --metric";
    const struct {
        occurs_fn *occurs;
        const char *line;
    } legend[] = {
        {has_same, "~ no difference detected (p >= 0.01 after Holm, or below 5%)"},
        {has_untested, untested},
        {has_bound, "<=10, ~30: within one or a few steps of this clock: not compared"},
        {system_flatters, "(a) over half of the allocations call the system, whose time is not "
                          "simulated"},
        {driver_flatters, "(a) over half of the allocations call the driver, whose time is not "
                          "simulated"},
        {tp_compare_drowned, "(c) not above the replay overhead, which is subtracted"},
        {is_informative, "(i) from the allocator's own statistics or the device driver: "
                         "not exact"},
        {has_resident, "Total resident: private memory, blocks written, and RSS added by a "
                       "library at start"},
        {is_validated, "Peak resident of malloc libraries in tests: " TP_VALIDATED_ONE
                       "; with several threads " TP_VALIDATED_SEVERAL},
        {has_wall, TP_WALL_NOTE},
        {has_waited, TP_WAITED_NOTE},
        {has_blocked, TP_BLOCKED_NOTE},
        {lacks_speedup, TP_NEVER_ALONE_NOTE},
        {has_sum, "Bytes and counts are sums over the devices; shares are of the sums"},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        bool found = false;
        for (size_t r = 0; r < t->count && !found; r++)
            for (size_t m = 0; m < columns && !found; m++)
                found = legend[i].occurs(&t->rows[r], c->columns[m]);
        if (found)
            lines[count++] = legend[i].line;
    }
    lines[count] = NULL;
}
