/* The verdict on a whole check: counts, exit code, the sentence that belongs to the exit code, and
 * the command that repeats what failed. */
#include "cmd/gate/check_job.h"
#include "cmd/gate/gate_words.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was checked ---- */

static bool is_counted(const struct tp_check *k, const struct tp_gate_cell *cell)
{
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct tp_finding *f = &k->findings.items[i];
        if (f->cell == cell && f->metric && f->metric->metric_class == TP_CLASS_INSTRUCTIONS)
            return true;
    }
    return false;
}

/* Notes the cells in which nothing decides about speed: their times are mostly tapool's own share,
 * and their instructions were not compared. */
static void describe_undecided(struct tp_check *k)
{
    struct tp_class_check *noisy = &k->gate.classes[TP_CLASS_NOISY];
    const struct tp_gate_cell *last = NULL;
    size_t cells = 0;
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct tp_finding *f = &k->findings.items[i];
        if (f->verdict != TP_INSENSITIVE || f->cell == last || is_counted(k, f->cell))
            continue;
        last = f->cell;
        cells++;
    }
    if (!cells)
        return;
    if (noisy->checked)
        tp_append(noisy->reason, sizeof noisy->reason,
                  "%sreplay overhead is most of the measured time in %s",
                  noisy->reason[0] ? "; " : "", tp_plural(cells, "cell").s);
    snprintf(noisy->how, sizeof noisy->how, "instructions would decide there, but are missing");
    noisy->unknown_only = false;
}

bool tp_check_requires(const struct tp_check *k, enum tp_class metric_class)
{
    for (size_t i = 0; i < k->o->require.count; i++)
        if (!strcmp(k->o->require.items[i], tp_gate_required[metric_class]))
            return true;
    return false;
}

/* Notes what selects cells and moves thresholds, which the reports name. */
static void describe_origins(struct tp_check *k)
{
    static const char *const options[] = {"strategy", "source", "baseline",
                                          "effect",   "alpha",  "allow-missing"};
    struct tp_gate *g = &k->gate;
    struct tp_str s = TP_STR_IN(g->chosen);
    for (int i = 0; i < k->word_count; i++)
        tp_str_word(&s, k->words[i]);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        tp_str_row(&s, tp_opt_find(tp_check_rows, options[i]), k->o);
    g->tolerances = 0;
    for (size_t m = 0; m < tp_metric_count; m++)
        g->tolerances += k->baseline.tolerances[m].given;
    for (size_t i = 0; i < g->cell_count; i++)
        for (size_t m = 0; g->cells[i].held && m < tp_metric_count; m++)
            g->tolerances += g->cells[i].held->tolerances[m].given;
    g->all_cells = tp_check_requires(k, (enum tp_class)TP_REQUIRE_CELLS);
}

static void describe_classes(struct tp_check *k)
{
    struct tp_gate *g = &k->gate;
    size_t checked = 0, whole = 0;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++) {
        checked += g->classes[c].checked;
        whole += g->classes[c].checked && !tp_class_is_partial(g, (enum tp_class)c);
        g->classes[c].required = tp_check_requires(k, (enum tp_class)c);
    }
    if (whole == TP_CLASS_REPORT)
        return;
    for (size_t c = 0, named = 0; c < TP_CLASS_REPORT; c++) {
        if (g->classes[c].checked)
            tp_append(g->what, sizeof g->what, "%s%s%s", named++ ? ", " : "",
                      tp_class_is_partial(g, (enum tp_class)c) ? "some " : "", tp_class_words[c]);
    }
    tp_append(g->what, sizeof g->what, "%s", checked ? " only" : "nothing");
}

/* ---- the command that repeats it ---- */

static bool is_bad(const struct tp_check *k, const struct tp_finding *f)
{
    bool open = k->o->inconclusive == TP_CHECK_FAIL || tp_finding_could_gate(&k->gate, f);
    return f->verdict == TP_REGRESSION || (f->verdict == TP_INCONCLUSIVE && open);
}

/* Whether an earlier bad finding has the same trace (`trace`) or the same strategy (!`trace`). */
static bool is_repeated(const struct tp_check *k, size_t at, bool trace)
{
    const struct tp_gate_cell *c = k->findings.items[at].cell;
    for (size_t i = 0; i < at; i++) {
        const struct tp_finding *f = &k->findings.items[i];
        if (is_bad(k, f) &&
            !strcmp(trace ? f->cell->path : f->cell->strategy, trace ? c->path : c->strategy))
            return true;
    }
    return false;
}

static void add_options(const struct tp_check *k, struct tp_str *s)
{
    static const char *const of_all[] = {"baseline", "source",        "bin",
                                         "base-bin", "base-strategy", "base-lib",
                                         "touch",    "effect",        "alpha"};
    static const char *const of_times[] = {"core", "pairs", "min-time", "thorough", "threads"};
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        tp_str_row(s, tp_opt_find(tp_check_rows, of_all[i]), k->o);
    tp_str_add(s, " --seed %" PRIu64, k->gate.seed);
    if (!tp_check_is_live(k->o))
        return;
    for (size_t i = 0; i < sizeof of_times / sizeof *of_times; i++)
        tp_str_row(s, tp_opt_find(tp_check_rows, of_times[i]), k->o);
}

/* Adds the strategy of a cell. A label alone is not enough where the baseline has no such cell, or
 * may not name the file that its strategy runs. */
static void add_strategy(const struct tp_gate_cell *c, struct tp_str *s)
{
    if (c->held && tp_strategy_from(c->spec) == TP_OPT_ANYWHERE)
        tp_str_strategy(s, c->strategy);
    else
        tp_check_add_definition(s, c->strategy, c->spec);
}

/* Builds the command that repeats what failed. It names this very binary by its path, because the
 * first tapool in PATH may be another one. */
static void describe_again(struct tp_check *k)
{
    struct tp_str s = {0};
    size_t bad = 0;
    tp_str_escape(&s, TP_TO_SHELL, k->program[0] ? k->program : "tapool");
    tp_str_add(&s, " check");
    for (size_t i = 0; i < k->findings.count; i++)
        if (is_bad(k, &k->findings.items[i]) && ++bad && !is_repeated(k, i, true))
            tp_str_word(&s, k->findings.items[i].cell->path);
    for (size_t i = 0; i < k->findings.count; i++)
        if (is_bad(k, &k->findings.items[i]) && !is_repeated(k, i, false))
            add_strategy(k->findings.items[i].cell, &s);
    add_options(k, &s);
    if (bad && !s.cut && s.length < sizeof k->gate.again) /* a cut command would be no use */
        memcpy(k->gate.again, s.s, s.length + 1);
    tp_str_drop(&s);
}

/* A check of cells that no baseline has needs none. */
static void describe_update(struct tp_check *k)
{
    if (k->has_baseline)
        tp_check_update_command(k, NULL, NULL, k->gate.update, sizeof k->gate.update);
}

/* ---- the exit code ---- */

/* Names the first cause and how many more there are. */
static int fail_regression(const struct tp_check *k, struct tp_err *err)
{
    const struct tp_finding *f = k->gate.causes[0].lead;
    size_t more = k->gate.told[TP_REGRESSION] - 1;
    char rest[48] = "";
    if (more)
        snprintf(rest, sizeof rest, ", and %zu more", more);
    return tp_fail(err, TP_EFOUND, "regression: %.120s of %.80s, %.80s%s",
                   f->metric ? tp_baseline_name(f->metric, f->device).s : f->note, f->cell->trace,
                   f->cell->strategy, rest);
}

static int fail_required(const struct tp_check *k, struct tp_err *err)
{
    for (size_t c = 0; c < TP_CLASS_REPORT; c++) {
        const struct tp_class_check *metric_class = &k->gate.classes[c];
        if (tp_class_unmet(&k->gate, (enum tp_class)c))
            return tp_fail(err, TP_EFOUND, "--require %s: %s %s %s: %.200s", tp_gate_required[c],
                           tp_class_words[c], c == TP_CLASS_NOISY ? "was" : "were",
                           metric_class->checked ? "not checked in every cell" : "not checked",
                           metric_class->reason);
    }
    if (tp_cells_unmet(&k->gate))
        return tp_fail(err, TP_EFOUND, "--require %s: %zu of %zu cells of the baseline were run",
                       tp_gate_required[TP_REQUIRE_CELLS], k->gate.cell_count, k->gate.cells_total);
    return TP_OK;
}

static int fail_sensitivity(const struct tp_check *k, struct tp_err *err)
{
    const struct tp_gate *g = &k->gate;
    if (tp_gate_is_sharp(g))
        return TP_OK;
    struct tp_text asked = tp_digits(100 * g->sensitivity);
    if (!g->sharpness.cells)
        return tp_hint(
            err,
            tp_fail(err, TP_EUNSURE, "--require-sensitivity %s%%: no times were compared", asked.s),
            "--base-bin OLD-TAPOOL, --base-strategy NAME or --base-lib PATH");
    return tp_hint(err,
                   tp_fail(err, TP_EUNSURE,
                           "--require-sensitivity %s%%: minimum detectable slowdown %s", asked.s,
                           tp_gate_detectable(g).s),
                   "--pairs N and --thorough detect smaller ones, and so does a quieter machine");
}

static int fail_open(const struct tp_check *k, struct tp_err *err)
{
    size_t open = k->gate.counts[TP_INCONCLUSIVE];
    if (!open || k->o->inconclusive != TP_CHECK_FAIL)
        return TP_OK;
    return tp_fail(err, TP_EUNSURE,
                   "inconclusive: %s %s so noisy here that +%g%% cannot be excluded",
                   tp_plural(open, "time").s, open == 1 ? "is" : "are", 200 * k->gate.effect);
}

static int decide(struct tp_check *k, struct tp_err *err)
{
    bool any = false;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++)
        any |= k->gate.classes[c].checked;
    if (k->gate.counts[TP_REGRESSION])
        return fail_regression(k, err);
    int status = fail_required(k, err);
    if (!status && k->missing && !k->o->allow_missing)
        status =
            tp_hint(err,
                    tp_fail(err, TP_EFOUND, "%zu of %zu cells of the baseline were not run: %s",
                            k->missing, k->baseline.count, k->missing_why),
                    "--allow-missing checks only the others");
    if (!status && !any)
        status = tp_fail(err, TP_EFOUND, "nothing was checked: %.300s",
                         k->gate.cell_count ? k->gate.classes[0].reason : k->missing_why);
    if (!status)
        status = fail_sensitivity(k, err);
    return status ? status : fail_open(k, err);
}

static int find_causes(struct tp_check *k, struct tp_err *err)
{
    struct tp_gate *g = &k->gate;
    k->moved = calloc(k->findings.count + 1, sizeof *k->moved);
    k->causes = calloc(k->findings.count + 1, sizeof *k->causes);
    if (!k->moved || !k->causes)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    g->findings = k->findings.items;
    g->finding_count = k->findings.count;
    tp_gate_group(g, k->moved, k->causes);
    return TP_OK;
}

int tp_check_outcome(struct tp_check *k, struct tp_err *err)
{
    struct tp_gate *g = &k->gate;
    int grouped = find_causes(k, err);
    if (!k->ended)
        k->ended = grouped;
    if (k->missing)
        snprintf(g->missing, sizeof g->missing, "%s not run: %s%s", tp_plural(k->missing, "cell").s,
                 k->missing_why, k->missing > 1 ? ", ..." : "");
    describe_undecided(k);
    describe_origins(k);
    describe_classes(k);
    describe_again(k);
    describe_update(k);
    int status = k->ended ? k->ended : decide(k, err);
    g->exit_code = k->ended && *tp_stop_flag() ? 128 + *tp_stop_flag() : tp_exit_code(status);
    return status;
}
