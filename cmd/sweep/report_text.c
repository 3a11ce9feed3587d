/* The answers of a sweep on the screen; the page has the same parts. */
#include "cmd/sweep/report_words.h"
#include "cmd/sweep/sweep_answers.h"

#include "cmd/results/metric_text.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

enum {
    SHOWN_SETTINGS = 10,
    SHOWN_FRONT = 12,
    SHOWN_EFFECTS = 24,
    SHOWN_FAILURES = 10,
    INDENT_PARTS = 2,
    SETTING_ROOM = 36, /* columns of a setting on a screen of 80 */
    VALUE_ROOM = 18
};

/* Adds a text that is cut on a screen only. */
static void add_cut(struct tp_table *t, const struct tp_page *page, const char *text, int room)
{
    if (page->form == TP_PAGE_SCREEN)
        tp_table_cut(t, text, room + (page->width > 80 ? (page->width - 80) / 2 : 0));
    else
        tp_table_add(t, "%s", text);
}

static void print_more(struct tp_page *page, size_t all, size_t shown, const char *what)
{
    if (all > shown)
        tp_page_dim(page, INDENT_PARTS, "%s not shown: --export-json has all",
                    tp_plural(all - shown, what).s);
}

/* ---- what it is of ---- */

static void print_left_out(const struct tp_sweep_picked *p, struct tp_page *page)
{
    const struct {
        int64_t count;
        const char *what, *why;
    } kinds[] = {{p->left.tools, "cell", "of another tapool"},
                 {p->left.machines, "cell", "measured on another machine"},
                 {p->left.lost, "cell", "of no trace or setting of the store"},
                 {p->left.older, "cell", "older than another one of the same trace and setting"},
                 {p->left.invalid, "value", "not a number, or below 0"}};
    struct tp_str text = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].count > 0)
            tp_str_item(&text, "; ", "%s %s", tp_plural((uint64_t)kinds[i].count, kinds[i].what).s,
                        kinds[i].why);
    if (text.length)
        tp_page_put(page, 0, "Left out: %s.", tp_str_text(&text));
    tp_str_drop(&text);
}

void tp_sweep_head_print(const struct tp_sweep_answers *a, struct tp_page *page)
{
    const struct tp_sweep_picked *p = &a->picked;
    tp_page_at(page, 0, "%s: %s x %s", p->sql->path, tp_plural(p->trace_count, "trace").s,
               tp_plural(p->setting_count, "setting").s);
    if (p->expected >= 0)
        tp_page_more(page, 0, ", %s of %s", tp_count((uint64_t)p->cells).s,
                     tp_plural((uint64_t)p->expected, "cell").s);
    else
        tp_page_more(page, 0, ", %s", tp_plural((uint64_t)p->cells, "cell").s);
    tp_page_more(page, 0, p->failures ? ", %s" : ", no failures",
                 tp_plural((uint64_t)p->failures, "failure").s);
    tp_page_line(page);
    struct tp_str origin = {0};
    tp_str_put(&origin, TP_TO_LINE,
               *p->machine ? "Replayed by tapool %s; times of %s" : "Replayed by tapool %s%s",
               p->tool, p->machine);
    tp_page_put(page, 0, "%s", tp_str_text(&origin));
    tp_str_drop(&origin);
    print_left_out(p, page);
}

/* ---- the best setting ---- */

/* "Regret 1.043x: geometric mean of peak_reserved / best packing over 20 traces". */
static void print_meaning(const struct tp_sweep_answers *all, const struct tp_sweep_answer *a,
                          struct tp_page *page)
{
    const struct tp_sweep_score *s = &a->scores[a->order[0]];
    const char *name = a->metric->name;
    struct tp_text mean = tp_sweep_times(tp_sweep_mean(s)), worst = tp_sweep_times(exp(s->worst));
    struct tp_text traces = tp_plural(a->traces, "trace");
    if (a->ratio == TP_SWEEP_VS_BEST)
        tp_page_at(page, INDENT_PARTS, "%s: geometric mean of %s%s / %s of the trace, over %s",
                   mean.s, name, a->metric->unit == TP_UNIT_COUNT ? " + 1" : "",
                   a->metric->better == TP_BETTER_MORE ? "the highest" : "the lowest", traces.s);
    else if (a->bounds == a->traces)
        tp_page_at(page, INDENT_PARTS,
                   "%s over lower bound: geometric mean of %s / lower bound over %s; "
                   "no best packing was searched",
                   mean.s, name, traces.s);
    else
        tp_page_at(page, INDENT_PARTS, "Regret %s: geometric mean of %s / best packing over %s",
                   mean.s, name, traces.s);
    if (a->ratio == TP_SWEEP_REGRET && a->bounds && a->bounds < a->traces)
        tp_page_more(page, INDENT_PARTS, " (over lower bound on %s, where none was searched)",
                     tp_count(a->bounds).s);
    tp_page_more(page, INDENT_PARTS, ". Worst: %s on %s.", worst.s,
                 tp_sweep_trace_name(all, s->worst_trace));
    tp_page_line(page);
}

static void print_certainty(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                            struct tp_page *page)
{
    if (a->competing < 2)
        return;
    tp_page_at(page, INDENT_PARTS,
               "Against the second, %s: better on %s, equal on %s, worse on %s.",
               p->settings[a->order[1]].text, tp_plural(a->better, "trace").s, tp_count(a->equal).s,
               tp_count(a->worse).s);
    tp_page_line(page);
    if (a->draws)
        tp_page_put(page, INDENT_PARTS,
                    "Best of the first %s in %s of %s random samples of the traces, drawn with "
                    "replacement.",
                    tp_count(a->rival_count).s, tp_percent((double)a->wins / a->draws).s,
                    tp_count(a->draws).s);
    else if (a->traces < TP_SWEEP_DRAWN_LEAST)
        tp_page_put(page, INDENT_PARTS, "%s %s too few to say whether other traces would agree.",
                    tp_plural(a->traces, "trace").s, a->traces == 1 ? "is" : "are");
}

static void print_not_comparable(const struct tp_sweep_answer *a, struct tp_page *page)
{
    if (a->without)
        tp_page_put(page, INDENT_PARTS, "%s without a ratio left out: %s",
                    tp_plural(a->without, "trace").s,
                    a->ratio == TP_SWEEP_REGRET ? "neither best packing nor lower bound is known."
                                                : "a value of it is 0.");
}

static size_t count_failing(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                            bool failed)
{
    size_t count = 0;
    for (size_t i = a->competing; i < a->ranked; i++) {
        bool fails = a->scores[a->order[i]].failed || p->settings[a->order[i]].unread;
        count += fails == failed ? 1 : 0;
    }
    return count;
}

void tp_sweep_best_print(const struct tp_sweep_answers *all, size_t answer, struct tp_page *page)
{
    const struct tp_sweep_picked *p = &all->picked;
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t failing = count_failing(p, a, true), lacking = count_failing(p, a, false);
    if (a->competing) {
        tp_page_styled(page, 0, TP_BOLD, "Best setting for all traces: %s",
                       p->settings[a->order[0]].text);
        tp_page_line(page);
        print_meaning(all, a, page);
        print_certainty(p, a, page);
    } else {
        tp_page_styled(page, 0, TP_BOLD, "No setting has all traces without a failure.");
        tp_page_line(page);
    }
    print_not_comparable(a, page);
    if (failing)
        tp_page_put(page, INDENT_PARTS, "%s failed on a trace and cannot be the best.",
                    tp_plural(failing, "setting").s);
    if (lacking)
        tp_page_put(page, INDENT_PARTS, "%s without a cell on some trace cannot be the best.",
                    tp_plural(lacking, "setting").s);
}

/* ---- all settings ---- */

void tp_sweep_ranking_print(const struct tp_sweep_answers *all, size_t answer, size_t most,
                            struct tp_page *page)
{
    const struct tp_sweep_picked *p = &all->picked;
    const struct tp_sweep_answer *a = &all->list[answer];
    struct tp_column columns[] = {{.head = {"", "setting"}, .left = true},
                                  {.name = "mean", .head = {"", ""}},
                                  {.head = {"", "worst"}},
                                  {.head = {"within 1%", "of best"}},
                                  {.head = {"failed", "on"}, .name = "failed on"},
                                  {.head = {"", "lacks"}},
                                  {.head = {"", "worst on"}, .left = true}};
    struct tp_table t = {0};
    columns[1].name = NULL;
    snprintf(columns[1].head[1], TP_COLUMN_HEAD, "%s", tp_sweep_ratio_name(a));
    if (a->ratio == TP_SWEEP_REGRET && a->bounds == a->traces)
        snprintf(columns[1].head[0], TP_COLUMN_HEAD, "over lower"),
            snprintf(columns[1].head[1], TP_COLUMN_HEAD, "bound");
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->ranked && i < most; i++) {
        const struct tp_sweep_tried *setting = &p->settings[a->order[i]];
        const struct tp_sweep_score *s = &a->scores[a->order[i]];
        uint32_t failed = s->failed + setting->unread;
        uint32_t has = s->traces + s->failed;
        add_cut(&t, page, setting->text, SETTING_ROOM);
        tp_table_add(&t, "%s", tp_sweep_times(tp_sweep_mean(s)).s);
        tp_table_add(&t, "%s", tp_sweep_times(s->traces ? exp(s->worst) : NAN).s);
        tp_table_add(&t, "%s", tp_percent(a->traces ? (double)s->within / a->traces : NAN).s);
        tp_table_add(&t, "%s", tp_count(failed).s);
        tp_table_add(&t, "%s", tp_count(has < a->traces ? a->traces - has : 0).s);
        add_cut(&t, page, s->traces ? tp_sweep_trace_name(all, s->worst_trace) : "-", VALUE_ROOM);
    }
    tp_table_print(&t, page, INDENT_PARTS, TP_TABLE_FIRST);
    tp_table_drop(&t);
    print_more(page, a->ranked, most, "setting");
}

/* ---- fronts ---- */

void tp_sweep_fronts_print(const struct tp_sweep_answers *all, size_t answer, size_t most,
                           struct tp_page *page)
{
    const struct tp_sweep_picked *p = &all->picked;
    const struct tp_sweep_answer *a = &all->list[answer];
    for (size_t k = 0; k < a->front_count; k++) {
        const struct tp_sweep_front *f = &a->fronts[k];
        const struct tp_metric *cost = tp_sweep_cost_metric(p, f->cost);
        struct tp_column columns[] = {
            {.head = {"", "setting"}, .left = true}, {.head = {"", ""}}, {.head = {"", ""}}};
        struct tp_table t = {0};
        snprintf(columns[1].head[1], TP_COLUMN_HEAD, "%s", tp_sweep_ratio_name(a));
        snprintf(columns[2].head[1], TP_COLUMN_HEAD, "%s", tp_sweep_cost_name(cost));
        tp_table_columns(&t, columns, 3);
        for (size_t i = 0; i < f->count && i < most; i++) {
            add_cut(&t, page, p->settings[f->settings[i]].text, SETTING_ROOM);
            tp_table_add(&t, "%s", tp_sweep_times(tp_sweep_mean(&a->scores[f->settings[i]])).s);
            tp_table_add(&t, "%s",
                         tp_sweep_cost_text(cost, tp_sweep_cost(p, a, f->settings[i], f->cost)).s);
        }
        tp_table_print(&t, page, INDENT_PARTS, TP_TABLE_FIRST);
        tp_table_drop(&t);
        print_more(page, f->count, most, "setting");
    }
}

/* ---- profiles ---- */

void tp_sweep_profile_print(const struct tp_sweep_answers *all, size_t answer, struct tp_page *page)
{
    const struct tp_sweep_picked *p = &all->picked;
    const struct tp_sweep_answer *a = &all->list[answer];
    struct tp_column columns[TP_SWEEP_FACTORS + 2] = {{.head = {"", "strategy"}, .left = true}};
    struct tp_table t = {0};
    for (size_t i = 0; i < TP_SWEEP_FACTORS; i++)
        snprintf(columns[i + 1].head[1], TP_COLUMN_HEAD, "%gx", tp_sweep_factors[i]);
    columns[TP_SWEEP_FACTORS + 1] =
        (struct tp_column){.head = {"", "with its best setting"}, .left = true};
    tp_table_columns(&t, columns, TP_SWEEP_FACTORS + 2);
    for (size_t i = 0; i < a->profile_count; i++) {
        const struct tp_sweep_score *s = &a->scores[a->profiles[i]];
        add_cut(&t, page, p->settings[a->profiles[i]].strategy, VALUE_ROOM);
        for (size_t k = 0; k < TP_SWEEP_FACTORS; k++)
            tp_table_add(&t, "%s",
                         tp_percent(a->traces ? (double)s->factors[k] / a->traces : NAN).s);
        add_cut(&t, page, p->settings[a->profiles[i]].text, VALUE_ROOM);
    }
    tp_table_print(&t, page, INDENT_PARTS, TP_TABLE_FIRST);
    tp_table_drop(&t);
}

/* ---- effects ---- */

void tp_sweep_effects_print(const struct tp_sweep_answers *all, size_t answer, struct tp_page *page)
{
    static const struct tp_column columns[] = {
        {.head = {"", "strategy"}, .left = true},  {.head = {"", "option"}, .left = true},
        {.head = {"best", "value"}, .left = true}, {.head = {"worst", "value"}, .left = true},
        {.head = {"", "worst vs best"}},           {.head = {"traces", "affected"}}};
    const struct tp_sweep_picked *p = &all->picked;
    const struct tp_sweep_answer *a = &all->list[answer];
    size_t most = page->form == TP_PAGE_SCREEN ? SHOWN_EFFECTS : SIZE_MAX;
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->effect_count && i < most; i++) {
        const struct tp_sweep_effect *e = &a->effects[i];
        char **values = p->options[e->name].values;
        add_cut(&t, page, e->strategy, VALUE_ROOM - 4);
        add_cut(&t, page, e->option, VALUE_ROOM);
        bool none = tp_sweep_effect_size(e) < TP_SWEEP_SAME;
        add_cut(&t, page, none ? "-" : values[e->values[0]], VALUE_ROOM - 6);
        add_cut(&t, page, none ? "-" : values[e->values[e->count - 1]], VALUE_ROOM - 6);
        tp_table_add(&t, "%s%%", tp_signed_percent(tp_sweep_effect_size(e)).s);
        tp_table_add(&t, "%s", tp_percent((double)e->affected / e->traces).s);
    }
    tp_table_print(&t, page, INDENT_PARTS, TP_TABLE_FIRST);
    tp_table_drop(&t);
    print_more(page, a->effect_count, most, "option");
}

/* ---- failures ---- */

/* Most errors begin with the path. */
static void print_failure(void *ctx, const struct tp_sweep_failure *f)
{
    struct tp_str where = {0};
    tp_str_add(&where, "%s", strncmp(f->error, f->path, strlen(f->path)) ? f->path : "");
    if (*f->setting)
        tp_str_item(&where, ", ", "%s", f->setting);
    tp_page_put(ctx, INDENT_PARTS, *tp_str_text(&where) ? "%s: %s" : "%s%s", tp_str_text(&where),
                f->error);
    tp_str_drop(&where);
}

void tp_sweep_failures_print(const struct tp_sweep_answers *all, struct tp_page *page)
{
    struct tp_err err;
    if (tp_sweep_failures(&all->picked, SHOWN_FAILURES, print_failure, page, &err))
        tp_page_put(page, INDENT_PARTS, "%s", err.text);
    print_more(page, (size_t)all->picked.failures, SHOWN_FAILURES, "failure");
}

/* ---- the whole ---- */

static void print_title(struct tp_page *page, const char *title)
{
    tp_page_line(page);
    tp_page_styled(page, 0, TP_BOLD, "%s", title);
    tp_page_line(page);
}

static void print_answer_parts(const struct tp_sweep_answers *all, size_t i, struct tp_page *page)
{
    const struct tp_sweep_answer *a = &all->list[i];
    tp_page_line(page);
    tp_sweep_best_print(all, i, page);
    tp_page_line(page);
    tp_sweep_ranking_print(all, i, SHOWN_SETTINGS, page);
    if (a->front_count) {
        print_title(page, TP_SWEEP_FRONT_TITLE);
        tp_sweep_fronts_print(all, i, SHOWN_FRONT, page);
    }
    if (a->profile_count && a->traces) {
        print_title(page, TP_SWEEP_PROFILE_TITLE);
        tp_sweep_profile_print(all, i, page);
    }
    if (a->effect_count) {
        print_title(page, TP_SWEEP_EFFECTS_TITLE);
        tp_sweep_effects_print(all, i, page);
    }
}

void tp_sweep_screen(const struct tp_sweep_answers *all, struct tp_page *page)
{
    tp_sweep_head_print(all, page);
    for (size_t i = 0; i < all->picked.asked; i++)
        print_answer_parts(all, i, page);
    if (all->picked.failures) {
        print_title(page, "Failures");
        tp_sweep_failures_print(all, page);
    }
}

static void print_sweep(const void *of, struct tp_page *page)
{
    tp_sweep_screen(of, page);
}

const struct tp_exporter tp_sweep_text = {.name = "text", .print = print_sweep};
