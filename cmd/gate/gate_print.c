/* The screen of `tapool check`.
 *
 *     tapool-baseline.json   3 traces x 2 strategies = 6 cells, written ...   which baseline
 *       memory and counts    vs baseline, exact      6 of 6 cells  78 values  what was checked, and
 *       instructions         NOT CHECKED: ...                                 what was not
 *
 *     REGRESSION  web.tpt, arena                                              what changed, a
 *       holds 4.9% more memory   peak_reserved 131.4 -> 137.9 MiB, allowed: 0  cause a line, and
 *         also: end_reserved +4.9%, overhead +4.8%                         what moved with it;
 *                                                                             with -v all of it
 *
 *     FAIL: 4 of 12 values worse, ...                   3 min 02 s, exit 1   the verdict, and what
 *       minimum detectable slowdown (90% power): 12% in ...                   could be detected
 *
 * A column that does not fit goes to the next line. Known weakness: only the first 40 regressions
 * are shown; the exported files have all of them. */
#include "cmd/gate/gate_words.h"

#include "alloc/base/clean.h"

#include <string.h>

enum {
    LABEL = 2,
    TEXT = 23,         /* first column of the values, unless a name is longer */
    NAME_LONGEST = 24, /* longest name that moves the values right; longer ones break the line */
    CHANGE = 29,       /* end of the change, in columns after the start of the values */
    ALLOWED = 32,      /* start of the tolerance, in columns after the start of the values */
    PROOF = 47,        /* start of the interval, in columns after the start of the values */
    VALUES = 14,       /* width of "78 values" with its gap */
    CELLS = 16,        /* width of "6 of 6 cells" with its gap */
    ROWS = 40,         /* largest number of causes shown for a verdict */
    CAUSE_MAX = 44,    /* longest cause that moves its values right; longer ones break the line */
    FOLD = 4,          /* indent of the figures that moved with a cause */
    INCONCLUSIVE_ROWS = 5,
    INSENSITIVE_CELLS = 3
};

/* ---- what was checked ---- */

void tp_gate_print_baseline(const struct tp_gate *g, struct tp_page *page)
{
    char name[sizeof g->baseline], written[sizeof g->written];
    tp_clean_text(g->baseline, name, sizeof name);
    tp_clean_text(g->written, written, sizeof written);
    tp_page_row(page, 0, name[0] ? name : "no baseline",
                tp_text_width(name) + 2 > TEXT ? LABEL : TEXT, "%s", written);
}

static void print_class(const struct tp_gate *g, enum tp_class metric_class, struct tp_page *page)
{
    const struct tp_class_check *c = &g->classes[metric_class];
    struct tp_gate_line line;
    int width = page->width, end = width - (width > 90 ? 7 : 0);
    tp_page_at(page, LABEL, "%s", tp_class_words[metric_class]);
    if (!c->checked) {
        tp_page_styled(page, TEXT, TP_BOLD, "%s", tp_class_unchecked(c).s);
        tp_page_line(page);
        return;
    }
    tp_clean_text(c->against, line.s, sizeof line.s);
    page->width = end - VALUES - CELLS; /* wraps the long name of a binary */
    tp_page_at(page, TEXT, "%s", line.s);
    page->width = width;
    tp_page_right(
        page, end - VALUES,
        tp_text_of("%s of %s", tp_count(c->cells).s, tp_plural(g->cells_total, "cell").s).s);
    tp_page_right(page, end, tp_plural(c->values, "value").s);
    tp_page_line(page);
    if (c->reason[0]) {
        tp_page_styled(page, TEXT, TP_BOLD, "%s", tp_class_unchecked(c).s);
        tp_page_line(page);
    }
}

/* ---- what changed ---- */

/* Prints the text at `column` if it fits, else on the next line at the column `below`. */
static void put(struct tp_page *page, int column, int below, const char *text)
{
    if (!text[0])
        return;
    if (page->column > column || column + tp_text_width(text) > page->width) {
        tp_page_line(page);
        column = below;
    }
    tp_page_at(page, column, "%s", text);
}

/* Columns where values begin, behind the longest name and behind the longest cause. */
struct gate_columns {
    int names, causes;
};

static int column_behind(int longest)
{
    return LABEL + longest + 2 > TEXT ? LABEL + longest + 2 : TEXT;
}

static void widen(int *longest, const char *text, int most)
{
    int width = tp_text_width(text);
    *longest = width > *longest && width <= most ? width : *longest;
}

static struct gate_columns find_columns(const struct tp_gate *g)
{
    int name = 0, cause = 0;
    for (size_t i = 0; i < g->moved_count; i++)
        widen(&name, tp_finding_name(g->moved[i].finding).s, NAME_LONGEST);
    for (size_t i = 0; i < g->cause_count; i++)
        widen(&cause, tp_cause_text(&g->causes[i]).s, CAUSE_MAX);
    return (struct gate_columns){column_behind(name), column_behind(cause)};
}

static void print_finding(const struct tp_finding *f, int column, struct tp_page *page)
{
    tp_page_at(page, FOLD, "%s", tp_finding_name(f).s);
    tp_page_at(page, column, "%s", tp_finding_values(f).s);
    tp_page_right(page, column + CHANGE, tp_finding_change(f).s);
    if (f->metric)
        put(page, column + ALLOWED, column, tp_text_of("allowed: %s", tp_finding_allowed(f).s).s);
    put(page, column + PROOF, column, tp_finding_proof(f).s);
    tp_page_line(page);
    if (tp_finding_note(f).s[0])
        tp_page_put(page, column, "%s", tp_finding_note(f).s);
}

/* Whether to propose --update for an improvement over the baseline. A time cannot be locked in,
 * because no baseline decides about times; and next to a regression the update would accept that
 * too. */
static bool can_lock_in(const struct tp_gate *g, const struct tp_cause *c)
{
    return c->verdict == TP_IMPROVED && !tp_finding_is_timed(c->lead) && !c->lead->live &&
           !g->told[TP_REGRESSION];
}

static void print_cause(const struct tp_gate *g, const struct tp_cause *c,
                        struct gate_columns columns, struct tp_page *page)
{
    struct tp_gate_line grown = tp_finding_grown(c->lead);
    tp_page_at(page, LABEL, "%s", tp_cause_text(c).s);
    tp_page_at(page, columns.causes, "%s%s%s", tp_cause_values(c).s,
               tp_cause_rule(c).s[0] ? ", " : "", tp_cause_rule(c).s);
    if (can_lock_in(g, c))
        tp_page_more(page, columns.causes, "; lock it in: tapool check --update");
    tp_page_line(page);
    if (grown.s[0] && (!g->verbose || c->count == 1))
        tp_page_put(page, FOLD, "%s", grown.s);
    if (g->verbose && c->count > 1) {
        for (size_t i = 0; i < c->count; i++)
            print_finding(c->figures[i].finding, columns.names + FOLD - LABEL, page);
    } else if (c->count > 1) {
        tp_page_dim(page, FOLD, "also: %s", tp_cause_folded(c).s);
    }
}

static void print_causes(const struct tp_gate *g, enum tp_verdict verdict,
                         struct gate_columns columns, struct tp_page *page)
{
    bool bad = verdict == TP_REGRESSION;
    const struct tp_gate_cell *cell = NULL;
    size_t shown = 0, all = 0;
    for (size_t i = 0; i < g->cause_count; i++) {
        const struct tp_cause *c = &g->causes[i];
        if (c->verdict != verdict || all++ >= ROWS)
            continue;
        if (!shown++ || c->lead->cell != cell) {
            tp_page_styled(page, 0, bad ? TP_RED : TP_GREEN, "%s", bad ? "REGRESSION" : "better");
            tp_page_put(page, 12, "%s", tp_gate_cell_text(g, c->lead->cell).s);
        }
        cell = c->lead->cell;
        print_cause(g, c, columns, page);
    }
    if (all > shown)
        tp_page_put(page, LABEL, "%s more: see --export-json FILE", tp_count(all - shown).s);
}

/* ---- the verdict ---- */

enum tp_style tp_gate_style(const struct tp_gate *g)
{
    if (g->exit_code == 1 || g->counts[TP_REGRESSION])
        return TP_RED;
    return g->exit_code || g->what[0] ? TP_BOLD : TP_GREEN;
}

/* Prints the verdict without wrapping it, because scripts read it. Time and exit code follow on the
 * same line if they fit, else on the next one. */
void tp_gate_print_verdict(const struct tp_gate *g, struct tp_page *page)
{
    struct tp_gate_line verdict = tp_gate_verdict(g);
    struct tp_text end = tp_text_of("%s, exit %d", tp_gate_time(g->wall_ns).s, g->exit_code);
    size_t word = strcspn(verdict.s, " :");
    tp_page_styled(page, 0, tp_gate_style(g), "%.*s", (int)word, verdict.s);
    tp_page_unbroken(page, verdict.s + word);
    if (page->form == TP_PAGE_SCREEN && page->column + 2 + tp_text_width(end.s) <= page->width) {
        tp_page_right(page, page->width, end.s);
    } else {
        tp_page_line(page);
        tp_page_at(page, LABEL, "%s", end.s);
    }
    tp_page_line(page);
}

static void print_dim(const char *text, struct tp_page *page)
{
    if (text[0])
        tp_page_dim(page, LABEL, "%s", text);
}

/* Prints "inconclusive: kvstore.tpt, arena, ns_per_op +4.1% [-2.0, +11.5] after 40 pairs in 2
 * sets." */
static void print_open(const struct tp_gate *g, const struct tp_finding *f, struct tp_page *page)
{
    struct tp_text change = tp_finding_plain_change(f);
    bool moved = strcmp(change.s, "0") != 0;
    tp_page_at(page, LABEL, "inconclusive: %s, %s %s%s%s after %s.",
               tp_gate_cell_text(g, f->cell).s, tp_finding_name(f).s, moved ? change.s : "",
               moved ? " " : "", tp_finding_interval(f).s, tp_finding_pairs(f).s);
    tp_page_line(page);
}

/* Prints how many inconclusive findings have no line, because none of them could be a regression.
 */
static void print_tails(const struct tp_gate *g, size_t tails, struct tp_page *page)
{
    if (!tails || g->verbose)
        return;
    tp_page_dim(page, LABEL, "%s latency percentile%s too much to compare: -v names %s",
                tp_count(tails).s, tails == 1 ? " varies" : "s vary", tails == 1 ? "it" : "them");
}

static void print_inconclusive(const struct tp_gate *g, struct tp_page *page)
{
    size_t open = 0, shown = 0, room = g->verbose ? SIZE_MAX : INCONCLUSIVE_ROWS;
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        bool is_open = tp_finding_is_open(g, f);
        open += is_open;
        if (shown < room && (is_open || (g->verbose && f->verdict == TP_INCONCLUSIVE)) && ++shown)
            print_open(g, f, page);
    }
    if (open > shown)
        tp_page_put(page, LABEL, "inconclusive: %s more; --export-json FILE has them all",
                    tp_count(open - shown).s);
    if (open) {
        tp_page_at(page, LABEL,
                   "This machine is too noisy today to exclude +%s%%, twice the allowed +%s%%.",
                   tp_digits(200 * g->effect).s, tp_digits(100 * g->effect).s);
        if (g->exit_code == 0)
            tp_page_more(page, LABEL, " --inconclusive=fail makes this exit 5.");
        tp_page_line(page);
    }
    print_tails(g, g->counts[TP_INCONCLUSIVE] - open, page);
}

static void print_insensitive(const struct tp_gate *g, struct tp_page *page)
{
    struct tp_gate_line cells = {""};
    const struct tp_gate_cell *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        if (f->verdict != TP_INSENSITIVE || f->cell == last)
            continue;
        last = f->cell;
        if (count++ < INSENSITIVE_CELLS)
            tp_gate_add(&cells, "%s%s", count > 1 ? "; " : "", tp_gate_cell_text(g, last).s);
    }
    if (!count)
        return;
    if (count > INSENSITIVE_CELLS)
        tp_gate_add(&cells, "; %s more", tp_count(count - INSENSITIVE_CELLS).s);
    tp_page_dim(page, LABEL,
                "insensitive: %s: most of the time is replay overhead, so instructions %sdecide",
                cells.s, g->classes[TP_CLASS_INSTRUCTIONS].checked ? "" : "would ");
}

/* Prints the command that repeats what failed, without wrapping it, so that it can be copied. */
static void print_again(const struct tp_gate *g, struct tp_page *page)
{
    char again[sizeof g->again];
    tp_clean_text(g->again, again, sizeof again);
    if (!again[0])
        return;
    tp_page_at(page, LABEL, "rerun:  ");
    tp_page_unbroken(page, again);
    tp_page_line(page);
}

static void print_unmet(const struct tp_gate *g, struct tp_page *page)
{
    struct tp_gate_line unmet = tp_gate_unmet(g), missing;
    tp_clean_text(g->missing, missing.s, sizeof missing.s);
    const char *const lines[] = {unmet.s, missing.s};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (*lines[i])
            tp_page_put(page, LABEL, "%s", lines[i]);
}

static void print_failed(const struct tp_gate *g, struct tp_page *page)
{
    for (size_t i = 0; i < g->cell_count; i++) {
        struct tp_gate_line why = tp_cell_failure(g, &g->cells[i]);
        if (why.s[0])
            tp_page_put(page, LABEL, "%s", why.s);
    }
}

void tp_gate_print_causes(const struct tp_gate *g, struct tp_page *page)
{
    struct gate_columns columns = find_columns(g);
    print_causes(g, TP_REGRESSION, columns, page);
    print_causes(g, TP_IMPROVED, columns, page);
}

void tp_gate_print_remarks(const struct tp_gate *g, struct tp_page *page)
{
    print_inconclusive(g, page);
    print_dim(tp_gate_sharpness_text(g).s, page);
    print_dim(tp_gate_set_by(g).s, page);
    print_insensitive(g, page);
}

void tp_gate_print(const void *of, struct tp_page *page)
{
    const struct tp_gate *g = of;
    tp_gate_print_baseline(g, page);
    for (int c = 0; c < TP_CLASS_REPORT; c++)
        print_class(g, (enum tp_class)c, page);
    tp_page_line(page);
    tp_gate_print_causes(g, page);
    if (g->counts[TP_REGRESSION] || g->counts[TP_IMPROVED])
        tp_page_line(page);
    tp_gate_print_verdict(g, page);
    print_unmet(g, page);
    print_failed(g, page);
    tp_gate_print_remarks(g, page);
    print_again(g, page);
}

const struct tp_exporter tp_check_text = {.name = "text", .print = tp_gate_print};
