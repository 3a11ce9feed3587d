/* See predict_text.h. */
#include "cmd/predict/predict_text.h"

#include "alloc/base/str.h"
#include "alloc/base/units.h"
#include "cmd/jobs/catalog.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, SITES_SHOWN = 8 };
#define row(page, name, ...) tp_page_row(page, 0, name, TP_PREDICT_NOTE, __VA_ARGS__)

static const struct tp_sample_run *base_of(const struct tp_predict_report *r)
{
    const struct tp_prediction *p = &r->answer->prediction;
    return p->recordings[p->base];
}

/* "23.4%" */
static struct tp_text percent(double share)
{
    return tp_text_of("%.1f%%", 100 * share);
}

/* ---- what it is from ---- */

void tp_predict_target(const struct tp_predict_asking *q, struct tp_str *out)
{
    char *const *axes = q->recordings[0]->axes;
    if (q->target.count == 1)
        tp_str_add(out, "%s = ", axes[0] ? axes[0] : "n");
    tp_str_add(out, "%s", tp_axis_text(&q->target, axes).s);
}

/* How far the value is beyond those that were recorded. */
static struct tp_text far_from(const struct tp_predict_asking *q)
{
    uint64_t least = q->recordings[0]->n, most = q->recordings[q->count - 1]->n;
    bool one = q->target.count == 1;
    if (one && q->n > most)
        return tp_text_of(", %.3gx the largest recording", (double)q->n / (double)most);
    return tp_text_of("%s", one && q->n < least ? ", below the smallest recording" : "");
}

/* ", 9.16x the largest recording", behind a value that was found. */
static struct tp_text far_above(const struct tp_predict_asking *q, uint64_t n)
{
    uint64_t most = q->recordings[q->count - 1]->n;
    if (q->target.count > 1 || n <= most)
        return tp_text_of("%s", "");
    return tp_text_of(", %.3gx the largest recording,", (double)n / (double)most);
}

void tp_predict_head_print(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_asking *q = r->asking;
    struct tp_str from = {0}, at = {0};
    tp_predict_sources(q, &from);
    tp_predict_target(q, &at);
    struct tp_text far = far_from(q);
    if (q->n)
        row(page, "prediction", "%sat %s%s", r->answer->sound ? "" : "none ", tp_str_text(&at),
            far.s);
    row(page, "recordings", "%s", tp_str_text(&from));
    if (q->steps)
        row(page, "steps", "the last %s of each recording; memory before them is not predicted",
            q->steps > 1 ? tp_count(q->steps).s : "one");
    tp_str_drop(&at);
    tp_str_drop(&from);
}

static void print_laws(const struct tp_predict_report *r, struct tp_page *page)
{
    static const char *const names[TP_LAW_KINDS] = {
        [TP_LAW_NONE] = "without a law", [TP_LAW_CONSTANT] = "constant",
        [TP_LAW_POWER] = "power of n",   [TP_LAW_PADDED] = "padded",
        [TP_LAW_SHIFTED] = "a + k n^p",  [TP_LAW_QUADRATIC] = "quadratic",
        [TP_LAW_PRODUCT] = "products",   [TP_LAW_BILINEAR] = "bilinear"};
    const struct tp_prediction *p = &r->answer->prediction;
    struct tp_str laws = {0};
    for (int kind = TP_LAW_CONSTANT; kind < TP_LAW_KINDS; kind++)
        if (p->kinds[kind])
            tp_str_item(&laws, ", ", "%s %s", tp_count(p->kinds[kind]).s, names[kind]);
    if (p->kinds[TP_LAW_NONE])
        tp_str_item(&laws, ", ", "%s %s", tp_count(p->kinds[TP_LAW_NONE]).s, names[TP_LAW_NONE]);
    row(page, "aligned", "%s of %s requests, by %s", tp_count(p->aligned).s,
        tp_count(base_of(r)->count).s,
        base_of(r)->placed ? "call stack" : "order only: the recordings have no call stacks");
    if (p->narrowed)
        tp_str_item(&laws, "; ", "%s fitted to the nearest recordings only",
                    tp_count(p->narrowed).s);
    if (p->lawless.requests > p->kinds[TP_LAW_NONE])
        tp_str_item(&laws, "; ", "%s not confirmed: that takes a further recording",
                    tp_count(p->lawless.requests - p->kinds[TP_LAW_NONE]).s);
    row(page, "laws", "%s", tp_str_text(&laws));
    tp_str_drop(&laws);
}

/* ---- requests of an unknown law ---- */

static struct tp_text doubtful_requests(const struct tp_predict_report *r)
{
    const struct tp_prediction *p = &r->answer->prediction;
    return tp_plural(p->doubtful.requests + p->lawless.requests + p->alone.requests +
                         p->twins.requests + p->ambiguous,
                     "request");
}

/* Whether two figures are printed as different ones. */
static bool is_seen(uint64_t figure, uint64_t other, const struct tp_page *page)
{
    return strcmp(tp_bytes(figure, page->exact).s, tp_bytes(other, page->exact).s) != 0;
}

/* Requests of an unknown law: where they do not matter, or why there is no answer. */
static void print_doubt(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_answer *a = r->answer;
    bool reserved = a->most.peak_reserved, only_fits = !r->asking->n;
    uint64_t found = only_fits ? a->fit.peak : a->peak.bytes;
    uint64_t other = only_fits ? a->fit.most : a->most.peak;
    if (reserved) {
        found = a->tries[TP_PREDICT_RECORDED].peak_reserved;
        other = a->most.peak_reserved;
    }
    struct tp_text many = doubtful_requests(r);
    if (a->most.matters && a->peak.alone)
        tp_page_put(page, 0, "At the peak, %s of the requests that are only in %s are live.",
                    tp_bytes(a->peak.alone, page->exact).s, base_of(r)->trace.file);
    else if (a->most.matters)
        tp_page_put(page, 0,
                    "%s of %s have no law that these recordings confirm: the peak%s%s is between "
                    "%s and %s.",
                    many.s, base_of(r)->trace.file, only_fits ? " at " : "",
                    only_fits ? tp_count(tp_predict_fit_value(a)).s : "",
                    tp_bytes(found < other ? found : other, page->exact).s,
                    tp_bytes(found < other ? other : found, page->exact).s);
    else if (a->sound && is_seen(found, other, page))
        row(page, "doubt", "%s %s %s: %s of no known law", other > found ? "up to" : "down to",
            tp_bytes(other, page->exact).s, reserved ? "reserved" : "requested", many.s);
}

/* ---- values that the program may round up ---- */

/* "batch to 8, seq to 64"; or, with `doubles`, "batch to a power of 2". */
static void add_padding(const struct tp_predict_report *r, bool doubles, struct tp_str *to)
{
    const struct tp_predict_padding *p = &r->answer->padding;
    for (size_t i = 0; i < TP_AXES; i++)
        if (doubles ? p->doubles[i] : p->multiples[i] > 0)
            tp_str_item(to, ", ", "%s to %s",
                        base_of(r)->axes[i] ? base_of(r)->axes[i] : "the value",
                        doubles ? "a power of 2" : tp_count(p->multiples[i]).s);
}

static void print_padding(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_padding *p = &r->answer->padding;
    const uint64_t figures[] = {p->peak, p->doubled};
    const char *name = "padding";
    for (size_t i = 0; i < 2; i++) {
        struct tp_str of = {0};
        add_padding(r, i == 1, &of);
        if (figures[i] && !(i && figures[i] == figures[0])) {
            row(page, name, "%s requested%s%s if the program pads %s",
                tp_bytes(figures[i], page->exact).s, r->asking->n ? "" : " at ",
                r->asking->n ? "" : tp_count(tp_predict_fit_value(r->answer)).s, tp_str_text(&of));
            name = "";
        }
        tp_str_drop(&of);
    }
}

static void print_fewest(const struct tp_predict_report *r, struct tp_page *page)
{
    if (r->answer->fewest)
        row(page, "fewer requests",
            "down to %s requested: some call stacks allocate more often at larger values",
            tp_bytes(r->answer->fewest, page->exact).s);
}

/* What was recorded may lie in one step of what goes by steps. */
static void print_narrow(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_asking *q = r->asking;
    const uint64_t least = q->recordings[0]->n, most = q->recordings[q->count - 1]->n;
    const uint64_t n = q->n ? q->n : tp_predict_fit_value(r->answer);
    if (q->target.count == 1 && most < 2 * least && (2 * n < least || n > 2 * most))
        row(page, "narrow range", "recorded from %s to %s only: constant requests may grow beyond",
            tp_count(least).s, tp_count(most).s);
}

static void print_before(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_answer *a = r->answer;
    if (a->before)
        row(page, "before steps", "up to %s requested%s; not replayed",
            tp_bytes(a->before, page->exact).s,
            a->fit.capacity && a->before > a->fit.capacity ? ", more than fits" : "");
}

/* What the recordings do not show of the value. */
static void print_unseen(const struct tp_predict_report *r, struct tp_page *page)
{
    print_before(r, page);
    print_narrow(r, page);
    print_padding(r, page);
    print_fewest(r, page);
}

/* ---- beside a recording ---- */

static void print_difference(const char *name, uint64_t predicted, uint64_t real, const char *of,
                             struct tp_page *page)
{
    if (real != TP_NONE)
        row(page, name, "%-10s  %s (%+.2f%%)", tp_bytes(real, page->exact).s, of,
            real ? 100 * ((double)predicted / (double)real - 1) : 0.0);
}

static void print_real(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_real *real = &r->answer->real;
    const struct tp_predict_try *of = &r->answer->tries[TP_PREDICT_RECORDED];
    const struct tp_sample_run *run = r->asking->real;
    if (!run)
        return;
    tp_page_line(page);
    tp_page_put(page, 0, "Recorded at %s: %s (prediction against it)",
                tp_axis_text(&run->at, r->asking->recordings[0]->axes).s, run->trace.file);
    row(page, "sizes", "%s of %s exact", tp_count(real->exact).s, tp_count(real->requests).s);
    print_difference("peak requested", r->answer->peak.bytes, real->peak, "recorded", page);
    print_difference("peak reserved", of->peak_reserved, real->peak_reserved,
                     "replayed from the same initial heap", page);
    const struct tp_recorded_strategy *by = tp_recorded_strategy_or_first(run->trace.recorded.by);
    print_difference("", of->peak_reserved, real->recorded,
                     tp_text_of("by %s, when recorded", by->whose).s, page);
}

/* ---- at the peak ---- */

static void print_total_memory(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_site_totals *t = r->totals;
    row(page, "peak requested", "%-10s  (cross-check within %.1f%%)",
        tp_bytes(t->bytes, page->exact).s, 100 * t->difference);
    if (r->asking->real)
        print_difference("", t->bytes, tp_program_demand(r->asking->real->trace.program, 0)->bytes,
                         "recorded there", page);
    if (is_seen(t->bent, t->bytes, page))
        row(page, "", "%-10s  if the growth keeps changing as between the recordings",
            tp_bytes(t->bent, page->exact).s);
    if (tp_predict_change(t->smaller, t->larger) > t->bytes / 100)
        row(page, "", "%s to %s  if sites that doubled are tables that double when full",
            tp_bytes(t->smaller, page->exact).s, tp_bytes(t->larger, page->exact).s);
    if (!tp_totals_near(t, t->other_phase > t->bytes ? t->other_phase : t->bytes))
        row(page, "other phase", "up to %s requested: the recordings do not predict its growth",
            tp_bytes(t->other_phase, page->exact).s);
}

void tp_predict_memory_print(const struct tp_predict_report *r, struct tp_page *page)
{
    if (r->totals && r->totals->sound) {
        print_total_memory(r, page);
        return;
    }
    const struct tp_predict_peak *peak = &r->answer->peak;
    const struct tp_request *last = tp_request_at(base_of(r), peak->event);
    const char *place = last ? tp_request_place(base_of(r), last) : NULL;
    row(page, "peak requested", "%-10s  event %s%s%s", tp_bytes(peak->bytes, page->exact).s,
        tp_count(peak->event).s, place ? ": " : "", place ? place : "");
    tp_predict_tries_print(r, page);
    print_doubt(r, page);
    print_unseen(r, page);
    print_real(r, page);
}

/* ---- what grows ---- */

/* How far the sites that change in the direction of the whole do so: all of them together. */
static uint64_t change_of(const struct tp_predict_peak *peak, bool grows)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < peak->count; i++)
        if ((peak->sites[i].is > peak->sites[i].was) == grows)
            sum += tp_predict_change(peak->sites[i].was, peak->sites[i].is);
    return sum;
}

/* Fills nothing where nothing changes. */
static void fill_growth(const struct tp_predict_report *r, size_t most, bool exact,
                        struct tp_table *t)
{
    const struct tp_predict_peak *peak = &r->answer->peak;
    const bool grows = peak->bytes >= peak->was;
    static const struct tp_column columns[] = {{.head = {"predicted", "bytes"}},
                                               {.head = {"share of", "change"}},
                                               {.head = {"steepest", "law"}, .left = true},
                                               {.head = {"", "site"}, .unbroken = true}};
    uint64_t change = change_of(peak, grows);
    tp_table_columns(t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; change && i < peak->count && i < most; i++) {
        const struct tp_predict_site *s = &peak->sites[i];
        char law[TP_LAW_TEXT];
        tp_law_text(&s->law, base_of(r)->axes, law);
        tp_table_bytes(t, s->is, exact);
        tp_table_add(t, "%s",
                     s->is != s->was && (s->is > s->was) != grows
                         ? percent(0).s
                         : percent((double)tp_predict_change(s->was, s->is) / (double)change).s);
        tp_table_add(t, "%s", law);
        tp_table_add(t, "%s", s->place ? s->place : "unknown");
    }
}

static void print_growth(const struct tp_predict_report *r, size_t most, struct tp_page *page)
{
    const struct tp_predict_peak *peak = &r->answer->peak;
    struct tp_table table = {0};
    if (!memcmp(&r->asking->target, &base_of(r)->at, sizeof base_of(r)->at))
        return; /* it is what was recorded there */
    fill_growth(r, most, page->exact, &table);
    size_t shown = (size_t)tp_table_rows(&table);
    tp_page_line(page);
    if (!shown) {
        tp_page_put(page, 0,
                    "No request changes with the setting: the recordings may have the same value.");
        tp_table_drop(&table);
        return;
    }
    tp_page_put(page, 0, "Live memory at the peak by site; %s from %s at %s",
                peak->bytes >= peak->was ? "growth" : "decrease",
                tp_bytes(peak->was, page->exact).s,
                tp_axis_text(&base_of(r)->at, base_of(r)->axes).s);
    tp_table_print(&table, page, INDENT, TP_TABLE_WIDE);
    if (shown < peak->count)
        tp_page_put(page, INDENT, "%s more: --json", tp_plural(peak->count - shown, "site").s);
    tp_table_drop(&table);
}

/* ---- memory by value ---- */

void tp_predict_points_print(const struct tp_predict_report *r, struct tp_page *page)
{
    static const struct tp_column columns[] = {{.head = {"", "value"}},
                                               {.head = {"peak", "requested"}},
                                               {.head = {"peak", "reserved"}},
                                               {.head = {"requested,", "recorded"}}};
    const struct tp_predict_answer *a = r->answer;
    struct tp_table table = {0};
    if (!a->point_count)
        return;
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->point_count; i++) {
        tp_table_count(&table, a->points[i].n);
        tp_table_bytes(&table, a->points[i].requested, page->exact);
        tp_table_bytes(&table, a->points[i].reserved, page->exact);
        tp_table_bytes(&table, a->points[i].recorded, page->exact);
    }
    tp_page_line(page);
    tp_table_print(&table, page, INDENT, TP_TABLE_WIDE);
    tp_table_drop(&table);
}

/* ---- how far it holds ---- */

static void print_other(const struct tp_predict_report *r, size_t i, struct tp_page *page)
{
    const struct tp_sample_run *of = r->asking->recordings[i];
    uint64_t was = tp_program_demand(of->trace.program, 0)->bytes;
    uint64_t predicted = r->totals->others[i];
    row(page, i ? "" : "cross-check",
        "%s predicted from the others: %s requested, recorded %s (%+.1f%%)", tp_count(of->n).s,
        tp_bytes(predicted, page->exact).s, tp_bytes(was, page->exact).s,
        was ? 100 * ((double)predicted / (double)was - 1) : 0.0);
}

static const char *why_unchecked(const struct tp_predict_check *c)
{
    if (!c->decided)
        return "are too few";
    return c->alike ? "do not determine all laws" : "differ";
}

void tp_predict_checks_print(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_answer *a = r->answer;
    for (size_t i = 0; r->totals && i < r->asking->count; i++)
        print_other(r, i, page);
    if (r->totals)
        return;
    if (!a->check_count) {
        tp_page_put(page, 0, "Two recordings: laws are not cross-checked (that takes three).");
        return;
    }
    for (size_t i = 0; i < a->check_count; i++) {
        const struct tp_predict_check *c = &a->checks[i];
        const struct tp_sample_run *of = r->asking->recordings[c->recording];
        struct tp_axis_words n = tp_axis_text(&of->at, of->axes);
        if (c->sound)
            row(page, i ? "" : "cross-check",
                "%s predicted from the others: %s requested, recorded %s (%+.1f%%)", n.s,
                tp_bytes(c->predicted, page->exact).s, tp_bytes(c->was, page->exact).s,
                c->was ? 100 * ((double)c->predicted / (double)c->was - 1) : 0.0);
        else
            row(page, i ? "" : "cross-check", "%s from the others: no prediction, they %s", n.s,
                why_unchecked(c));
    }
}

static const char *where_it_fails(const struct tp_predict_fit *f)
{
    if (f->event)
        return "at event ";
    return f->initial ? "before the first event: the initial heap" : "is larger than any device";
}

void tp_predict_fit_print(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_fit *f = &r->answer->fit;
    struct tp_text capacity = tp_bytes(f->capacity, page->exact);
    if (!f->capacity)
        return;
    if (!f->fails)
        row(page, "max that fits", "%s or more in %s: the largest value tried fits",
            tp_count(TP_LAW_N_MOST).s, capacity.s);
    else if (!f->fits)
        row(page, "max that fits", "none: %s does not fit %s", tp_count(f->fails).s, capacity.s);
    else
        row(page, "max that fits",
            "%s%s on a device of %s, recorded setting (tried in steps of %s%s)",
            tp_count(f->fits).s, far_above(r->asking, f->fits).s, capacity.s, tp_count(f->step).s,
            f->apart > 1
                ? tp_text_of(", larger ones in steps of %s", tp_count(f->apart * f->step).s).s
                : "");
    if (f->hole)
        row(page, "", "smaller values can fail: %s does not fit", tp_count(f->hole).s);
    if (is_seen(f->peak, f->most, page))
        row(page, "doubt", "at %s %s or %s requested: %s of no known law",
            tp_count(tp_predict_fit_value(r->answer)).s, tp_bytes(f->peak, page->exact).s,
            tp_bytes(f->most, page->exact).s, doubtful_requests(r).s);
    if (f->fails)
        row(page, "first OOM", "%s %s%s%s%s%s%s", tp_count(f->fails).s, where_it_fails(f),
            f->event ? tp_count(f->event).s : "", f->size ? ", request of " : "",
            f->size ? tp_bytes(f->size, page->exact).s : "", f->place ? ": " : "",
            f->place ? f->place : "");
    if (!r->asking->n)
        print_unseen(r, page);
}

/* ---- no prediction ---- */

const char *tp_predict_why(const struct tp_predict_answer *a)
{
    static const char *const whys[] = {
        [TP_PREDICT_REQUESTS] = "the recordings do not make the same requests",
        [TP_PREDICT_LAWS] = "the laws of requests that determine the peak are unknown",
        [TP_PREDICT_LIFETIMES] = "the recordings do not keep the same blocks live",
        [TP_PREDICT_CROSS] = "the recordings do not predict each other"};
    return whys[a->why];
}

/* The setting of which the fewest values were recorded; of one of several, what is asked counts. */
static size_t least_known(const struct tp_predict_asking *q)
{
    size_t least = SIZE_MAX, at = q->axis;
    for (size_t axis = 0; axis < q->target.count; axis++) {
        size_t values = 0;
        for (size_t i = 0; i < q->count; i++) {
            size_t k = 0;
            while (q->recordings[k]->at.values[axis] != q->recordings[i]->at.values[axis])
                k++;
            values += k == i;
        }
        at = values < least ? axis : at;
        least = values < least ? values : least;
    }
    return at;
}

/* Whether a table that doubles (site_totals.h) makes so much of the figure that it decides. */
static bool tables_decide(const struct tp_site_totals *t)
{
    return t && t->difference <= TP_TOTALS_DOUBT && tp_totals_near(t, t->bent) &&
           !(tp_totals_near(t, t->smaller) && tp_totals_near(t, t->larger));
}

/* A value beyond the recorded ones, on the side that is asked. */
static uint64_t value_that_helps(const struct tp_predict_asking *q, size_t axis, bool tables,
                                 bool *above)
{
    uint64_t least = UINT64_MAX, most = 0, asked = q->n ? q->target.values[axis] : 0;
    for (size_t i = 0; i < q->count; i++) {
        uint64_t value = q->recordings[i]->at.values[axis];
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    *above = least == 1 || ((!asked || asked >= least) && 2 * most <= TP_LAW_N_MOST);
    const uint64_t lower = least / 2 != asked ? least / 2 : least / 4 * 3;
    if (!*above && lower && lower != asked)
        return lower;
    *above = true;
    if (!tables && 2 * most != asked)
        return 2 * most;
    return most / 2 * 3 == asked ? most / 4 * 5 : most / 2 * 3;
}

static const char *how_it_helps(const struct tp_predict_report *r, bool above)
{
    const struct tp_predict_asking *q = r->asking;
    const struct tp_program *of = q->recordings[0]->trace.program;
    if (tables_decide(r->totals))
        return "a value that is not a power of 2 apart reveals tables that double";
    if (q->target.count > 1)
        return "more values of each setting determine more laws";
    if (tp_program_facts(of)->kind == TP_KIND_HOST)
        return q->count < TP_TOTALS_LEAST
                   ? "with three host recordings, totals of allocation sites can be predicted"
                   : "a further recording makes totals of allocation sites more accurate";
    if (r->answer->why == TP_PREDICT_LAWS && r->answer->prediction.lawless.requests)
        return "one more recording determines the laws";
    return above ? "the two largest recordings then may make the same requests"
                 : "the two smallest recordings then may make the same requests";
}

/* Whether each recording makes more requests than those of smaller values, at sites that others
 * have: the number of requests grows with the setting. */
static bool grows_in_number(const struct tp_predict_report *r)
{
    const struct tp_predict_asking *q = r->asking;
    const struct tp_prediction *p = &r->answer->prediction;
    bool grows =
        q->target.count == 1 && q->count > 2 &&
        (p->alone.requests || p->doubtful.requests || p->twins.requests || p->missing.requests);
    for (size_t i = 1; i < q->count; i++)
        grows &= q->recordings[i]->count > q->recordings[i - 1]->count;
    return grows && !r->totals;
}

void tp_predict_advice(const struct tp_predict_report *r, struct tp_str *out)
{
    const struct tp_predict_asking *q = r->asking;
    const struct tp_sample_run *last = q->recordings[q->count - 1];
    const size_t axis = least_known(q);
    bool above;
    struct tp_axis_values at = last->at;
    if (grows_in_number(r)) {
        tp_str_add(out,
                   "record at the value itself: the number of requests grows with the setting");
        return;
    }
    at.values[axis] = value_that_helps(q, axis, tables_decide(r->totals), &above);
    tp_str_add(out, "record at %s too: %s", tp_axis_text(&at, last->axes).s,
               how_it_helps(r, above));
}

void tp_predict_totals_fail(const struct tp_site_totals *t, struct tp_str *out)
{
    if (t->difference > TP_TOTALS_DOUBT)
        tp_str_add(out, "are wrong by %.1f%% for the recordings themselves", 100 * t->difference);
    else if (!tp_totals_near(t, t->bent))
        tp_str_add(out, "give %s, or %s if the growth keeps changing as between the recordings",
                   tp_bytes(t->bytes, false).s, tp_bytes(t->bent, false).s);
    else
        tp_str_add(out, "give %s to %s if sites that doubled are tables that double when full",
                   tp_bytes(t->smaller, false).s, tp_bytes(t->larger, false).s);
}

struct gap_site {
    uint64_t bytes, requests;
    const char *place;
};

static int by_bytes(const void *a, const void *b)
{
    const struct gap_site *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* The sites of requests that only one recording makes. */
static void print_apart(const struct tp_prediction *p, bool of_base, struct tp_page *page)
{
    const struct tp_sample_run *r = p->recordings[of_base ? p->base : p->alike];
    size_t places = r->stacks ? tp_place_table_texts(r->stacks) : 0;
    struct gap_site *list = calloc(places + 1, sizeof *list);
    for (size_t i = 0; list && i < r->count; i++) {
        const struct tp_request *q = &r->requests[i];
        struct gap_site *at = &list[q->place == TP_NO_PLACE ? places : q->place];
        if (!tp_predict_is_apart(p, of_base, i))
            continue;
        at->bytes += q->size;
        at->requests++;
        at->place = tp_request_place(r, q);
    }
    if (list)
        qsort(list, places + 1, sizeof *list, by_bytes);
    for (size_t i = 0; list && i <= places && i < SITES_SHOWN / 2 && list[i].requests; i++)
        tp_page_put(page, INDENT, "%s in %s  %s", tp_bytes(list[i].bytes, page->exact).s,
                    tp_plural(list[i].requests, "request").s,
                    list[i].place ? list[i].place : "unknown");
    free(list);
}

/* Where the two programs part. */
static void print_first(const struct tp_prediction *p, bool of_base, struct tp_page *page)
{
    const struct tp_sample_run *r = p->recordings[of_base ? p->base : p->alike];
    size_t i = 0;
    while (!tp_predict_is_apart(p, of_base, i))
        i++;
    const char *place = tp_request_place(r, &r->requests[i]);
    tp_page_put(page, INDENT, "first: event %s%s%s", tp_count(r->requests[i].event).s,
                place ? ", " : "", place ? place : "");
}

static void print_gap(const struct tp_prediction *p, bool of_base, struct tp_page *page)
{
    const struct tp_predict_gap own = {p->alone.bytes + p->twins.bytes + p->doubtful.bytes,
                                       p->alone.requests + p->twins.requests + p->doubtful.requests,
                                       p->alone.share + p->twins.share + p->doubtful.share};
    const struct tp_predict_gap *gap = of_base ? &own : &p->missing;
    if (!gap->requests)
        return;
    tp_page_put(page, 0,
                "%s, %s of all bytes, %s only in %s:", tp_plural(gap->requests, "request").s,
                percent(gap->share).s, gap->requests == 1 ? "is" : "are",
                p->recordings[of_base ? p->base : p->alike]->trace.file);
    print_apart(p, of_base, page);
    print_first(p, of_base, page);
}

static void print_redone(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_redone *d = &r->answer->redone;
    tp_page_put(
        page, 0,
        "No prediction: the recordings do not keep the same blocks live. %s requested %s at "
        "its peak; its sizes in the order of %s give %s.",
        r->asking->recordings[d->recording]->trace.file, tp_bytes(d->was, page->exact).s,
        base_of(r)->trace.file, tp_bytes(d->redone, page->exact).s);
}

static void print_contradicted(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_answer *a = r->answer;
    if (a->sound || a->why != TP_PREDICT_CROSS)
        return;
    const struct tp_predict_check *c = &a->checks[a->prediction.base];
    tp_page_put(page, 0, "Predicted for %s from the others: %s requested; recorded: %s.",
                base_of(r)->trace.file, tp_bytes(c->predicted, page->exact).s,
                tp_bytes(c->was, page->exact).s);
}

static void print_refusal(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_prediction *p = &r->answer->prediction;
    struct tp_str advice = {0};
    tp_page_line(page);
    if (r->answer->redone.differs)
        print_redone(r, page);
    else
        tp_page_put(page, 0, "No prediction: %s.", tp_predict_why(r->answer));
    print_contradicted(r, page);
    print_gap(p, true, page);
    print_gap(p, false, page);
    print_doubt(r, page);
    if (p->lawless.requests)
        tp_page_put(page, 0,
                    "%s of %s, %s of its bytes, have no law that these recordings confirm.",
                    tp_plural(p->lawless.requests, "request").s, base_of(r)->trace.file,
                    percent(p->lawless.share).s);
    if (r->totals) {
        struct tp_str why = {0};
        tp_predict_totals_fail(r->totals, &why);
        tp_page_put(page, 0, "Totals of allocation sites do not help: they %s.", tp_str_text(&why));
        tp_str_drop(&why);
    }
    tp_predict_advice(r, &advice);
    tp_page_put(page, 0, "To predict, %s.", tp_str_text(&advice));
    tp_str_drop(&advice);
}

/* ---- by the totals of sites ---- */

static void print_total_sites(const struct tp_predict_report *r, size_t most, struct tp_page *page)
{
    static const struct tp_column columns[] = {{.name = "bytes", .width = 5},
                                               {.name = "largest recording", .width = 9},
                                               {.name = "law", .left = true, .width = 3},
                                               {.name = "site", .unbroken = true}};
    static const char *const laws[] = {"constant", "a + k n", "a + k n^2"};
    static const char doubling[] = "doubles when full";
    const struct tp_site_totals *t = r->totals;
    size_t shown = t->count < most ? t->count : most;
    struct tp_table table = {0};
    tp_page_line(page);
    tp_page_put(page, 0, "Live memory at the peak by site");
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        tp_table_bytes(&table, t->sites[i].bytes, page->exact);
        tp_table_bytes(&table, t->sites[i].was, page->exact);
        tp_table_add(&table, "%s", t->sites[i].doubles ? doubling : laws[t->sites[i].power]);
        tp_table_add(&table, "%s", t->sites[i].place ? t->sites[i].place : "unknown");
    }
    tp_table_print(&table, page, INDENT, TP_TABLE_WIDE);
    if (shown < t->count)
        tp_page_put(page, INDENT, "%s more: --json", tp_plural(t->count - shown, "site").s);
    tp_table_drop(&table);
    bool unknown = false, one = t->count && t->sites[0].bytes > t->bytes / 100 * 95;
    for (size_t i = 0; i < t->count; i++)
        unknown |= !t->sites[i].place && t->sites[i].bytes > t->bytes / 2;
    if (unknown || one)
        tp_page_put(page, 0,
                    "%s and may hide tables that double or other phases. Record %scall stacks: "
                    "tapool record --stacks %s --stack-every 1",
                    unknown ? "Most live memory is of unknown sites"
                            : "Nearly all live memory is of one site",
                    unknown ? "" : "deeper ", unknown ? "8" : "16");
}

void tp_predict_sites_print(const struct tp_predict_report *r, size_t most, struct tp_page *page)
{
    if (r->totals && r->totals->sound)
        print_total_sites(r, most, page);
    else
        print_growth(r, most, page);
}

static void print_totals(const struct tp_predict_report *r, struct tp_page *page)
{
    row(page, "method",
        "totals of allocation sites, approximate: the recordings do not make the same "
        "requests");
    tp_page_line(page);
    print_total_memory(r, page);
    print_total_sites(r, SITES_SHOWN, page);
    tp_predict_points_print(r, page);
    tp_page_line(page);
    tp_predict_checks_print(r, page);
}

void tp_predict_text(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_answer *a = r->answer;
    tp_predict_head_print(r, page);
    if (r->totals && r->totals->sound) {
        print_totals(r, page);
        return;
    }
    print_laws(r, page);
    if (!a->sound) {
        print_refusal(r, page);
        return;
    }
    if (r->asking->n) {
        tp_page_line(page);
        tp_predict_memory_print(r, page);
        print_growth(r, SITES_SHOWN, page);
    }
    if (a->fit.capacity)
        tp_page_line(page);
    tp_predict_fit_print(r, page);
    tp_predict_points_print(r, page);
    tp_page_line(page);
    tp_predict_checks_print(r, page);
    if (r->output)
        tp_page_command(page, "Next: tapool tune", r->output);
}
