/* Which cells a check runs: all cells of the baseline, or those that TRACE and -s select. To write
 * a baseline, TRACE and -s can also define new cells:
 *
 *                   check, --plan, --aa          --update (and the others without a baseline)
 *     nothing       all cells                    all cells
 *     TRACE         cells of these traces        the same
 *     -s            cells of these strategies    these strategies on all traces of the baseline
 *     TRACE -s      cells of both                each trace with each strategy
 *
 * --base-lib compares with nothing that is stored. So TRACE and -s define its cells where the
 * baseline has none of these strategies, or is not there. */
#include "cmd/gate/check_job.h"

#include "alloc/base/grow.h"
#include "cmd/jobs/gpus.h"
#include "cmd/jobs/spec.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/option_words.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the baseline ---- */

/* Adds as a hint the command that makes a baseline or its first cells. The command contains the
 * traces and strategies that the user already named. */
static int hint_first(const struct tp_check *k, int status, const char *what, struct tp_err *err)
{
    struct tp_str s = {0}; /* tp_hint cuts a command that is too long, with "..." */
    tp_str_add(&s, "tapool check");
    for (int i = 0; i < k->word_count; i++)
        tp_str_word(&s, k->words[i]);
    if (!k->word_count)
        tp_str_add(&s, " traces/*.tpt");
    for (size_t i = 0; i < k->o->strategies.count; i++)
        tp_str_strategy(&s, k->o->strategies.items[i]);
    if (!k->o->strategies.count)
        tp_str_add(&s, " -s arena");
    tp_str_option(&s, "baseline", k->o->baseline);
    tp_hint(err, status, "%s: %s --update", what, tp_str_text(&s));
    tp_str_drop(&s);
    return status;
}

/* Two libraries that are compared with each other lack the name of a trace, and no baseline. */
static bool lacks_a_trace(const struct tp_check *k)
{
    return k->o->base_lib && k->o->strategies.count && !k->word_count;
}

static int hint_trace(int status, struct tp_err *err)
{
    return tp_hint(err, status,
                   "two libraries need no baseline: name the traces that they are to replay");
}

static int fail_without(const struct tp_check *k, struct tp_err *err)
{
    int status = k->o->baseline
                     ? tp_fail(err, TP_EUSAGE, "there is no baseline '%s'", k->o->baseline)
                     : tp_fail(err, TP_EUSAGE, "there is no %s here or in a parent folder",
                               TP_BASELINE_NAME);
    if (lacks_a_trace(k))
        return hint_trace(status, err);
    return hint_first(k, status, "to make one and commit it", err);
}

int tp_check_open_baseline(struct tp_check *k, struct tp_err *err)
{
    const struct tp_check_opts *o = k->o;
    bool found =
        o->baseline ? access(o->baseline, F_OK) == 0 : tp_baseline_find(k->file, sizeof k->file);
    if (o->baseline && strlen(o->baseline) >= sizeof k->file)
        return tp_fail(err, TP_EUSAGE, "the name of the baseline is too long");
    if (o->baseline || !found)
        snprintf(k->file, sizeof k->file, "%s", o->baseline ? o->baseline : TP_BASELINE_NAME);
    bool defined = k->word_count && o->strategies.count;
    if (!found && !(defined && (o->update || o->aa || o->plan || o->base_lib)))
        return fail_without(k, err);
    if (!found) {
        k->baseline.file = strdup(k->file);
        return k->baseline.file ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    }
    k->has_baseline = true;
    return tp_baseline_read(k->file, &k->baseline, err);
}

/* ---- a cell ---- */

static void drop_cells(struct tp_check *k)
{
    while (k->gate.cell_count) {
        const struct tp_gate_cell *cell = &k->gate.cells[--k->gate.cell_count];
        free(cell->label);
        free(cell->base);
        free(cell->failed);
    }
}

void tp_check_release(struct tp_check *k)
{
    drop_cells(k);
    free(k->gate.cells);
    for (size_t i = 0; i < k->trace_count; i++)
        tp_prepared_release(&k->traces[i]);
    free(k->traces);
    free(k->findings.items);
    free(k->moved);
    free(k->causes);
    tp_baseline_release(&k->baseline);
}

void tp_check_cell_text(const struct tp_gate_cell *c, char *text, size_t size)
{
    snprintf(text, size, "%.80s, %.80s", c->trace, c->strategy);
}

/* Takes ownership of the label, also after an error. */
static int add_cell(struct tp_check *k, const struct tp_gate_cell *cell, struct tp_err *err)
{
    int status = TP_ONE_MORE(&k->gate.cells, k->gate.cell_count, err, .what = "cells");
    if (status) {
        free(cell->label);
        return status;
    }
    struct tp_gate_cell *added = &k->gate.cells[k->gate.cell_count++];
    *added = *cell;
    added->more[0] = "--touch";
    added->more[1] = cell->touch;
    return TP_OK;
}

/* ---- selecting from the baseline ---- */

/* A TRACE argument: the name of a trace in the baseline, or the path of a file with that name. */
struct wanted {
    const char *name; /* borrowed */
    const char *path; /* NULL: the path in the baseline is used */
    bool used;
};

static bool is_named(const struct tp_baseline *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->cells[i].trace, name))
            return true;
    return false;
}

static int want_trace(struct tp_check *k, const char *word, struct wanted *out, struct tp_err *err)
{
    size_t index = 0;
    *out = (struct wanted){.name = word};
    if (!is_named(&k->baseline, word) || access(word, F_OK) == 0) {
        int status = tp_check_prepare(k, word, &index, err);
        if (status)
            return status;
        *out = (struct wanted){.name = k->traces[index].name, .path = word};
    }
    return TP_OK;
}

/* Is it "LABEL=SPEC" of the cell? */
static bool is_definition(const struct tp_baseline_cell *c, const char *given)
{
    size_t length = strlen(c->strategy);
    return !strncmp(given, c->strategy, length) && given[length] == '=' &&
           !strcmp(&given[length + 1], c->spec);
}

/* Does an argument of -s name the strategy of the cell? */
static bool names_cell(const struct tp_baseline_cell *c, const char *given)
{
    return !strcmp(given, c->strategy) || is_definition(c, given);
}

static bool wants_strategy(const struct tp_check *k, const struct tp_baseline_cell *c)
{
    for (size_t i = 0; i < k->o->strategies.count; i++)
        if (names_cell(c, k->o->strategies.items[i]))
            return true;
    return !k->o->strategies.count;
}

void tp_check_add_definition(struct tp_str *s, const char *strategy, const char *spec)
{
    struct tp_str given = {0};
    if (strcmp(strategy, spec) != 0)
        tp_str_add(&given, "%s=", strategy);
    tp_str_add(&given, "%s", spec);
    tp_str_strategy(s, tp_str_text(&given));
    tp_str_drop(&given);
}

/* Refuses a strategy that runs code from a file unless the user has named that very file: the
 * baseline may come with a foreign repository. */
static int check_trust(const struct tp_check *k, const struct tp_baseline_cell *c,
                       struct tp_err *err)
{
    char command[TP_ERR_TEXT];
    struct tp_str s = TP_STR_IN(command);
    if (tp_strategy_from(c->spec) == TP_OPT_ANYWHERE)
        return TP_OK;
    for (size_t i = 0; i < k->o->strategies.count; i++)
        if (is_definition(c, k->o->strategies.items[i]) ||
            !strcmp(k->o->strategies.items[i], c->spec))
            return TP_OK;
    tp_check_add_definition(&s, c->strategy, c->spec);
    int status = tp_fail(err, TP_EINPUT,
                         "%s: the cell '%.80s, %.80s' runs code from a file, which only the "
                         "command line may name",
                         k->baseline.file, c->trace, c->strategy);
    return tp_hint(err, status, "if you trust it:%s", command);
}

static struct wanted *find_wanted(struct wanted *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

/* Why a cell cannot run on this machine; NULL: it can. A missing device makes the cell a missing
 * one, not a failed one. */
static const char *cannot_run(const struct tp_baseline_cell *c)
{
    struct tp_gpu gpu = {0};
    if (strncmp(c->source, "cuda", 4) != 0)
        return NULL;
    bool there = tp_gpu_open(&gpu);
    tp_gpu_close(&gpu);
    return there ? NULL : "needs a GPU and its driver";
}

/* Whether the trace exists. Samples pass: opening an unknown one gives an error that says so. */
static bool is_there(const char *path)
{
    return tp_trace_is_sample(path) || access(path, F_OK) == 0;
}

/* Whether the trace is a regular file or a sample. A baseline may come with a foreign repository,
 * so its paths are not trusted: opening a pipe or a device may hang or do more than read. A user
 * may name one on the command line. Any folder is allowed, because a trace is only read and traces
 * may lie outside the baseline's folder. */
static bool is_file(const char *path)
{
    struct stat st;
    return tp_trace_is_sample(path) || (!stat(path, &st) && S_ISREG(st.st_mode));
}

static int fail_missing(const struct tp_check *k, const char *path, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "the trace '%s' of %s is not there", path, k->baseline.file);
}

/* Checks a trace path that comes from the baseline. */
static int check_path(const struct tp_check *k, const char *path, struct tp_err *err)
{
    if (!is_there(path))
        return fail_missing(k, path, err);
    return is_file(path) ? TP_OK
                         : tp_fail(err, TP_EINPUT, "the trace '%s' of %s is not a regular file",
                                   path, k->baseline.file);
}

static int skip_cell(struct tp_check *k, const struct tp_baseline_cell *c, const char *why)
{
    if (!k->missing++)
        snprintf(k->missing_why, sizeof k->missing_why, "%.80s, %.60s %s", c->trace, c->strategy,
                 why);
    return TP_OK;
}

/* Puts the file and the cell in front of an error about a cell of the baseline. TP_EUSAGE becomes
 * TP_EINPUT, because the fault is in the file and not in the command line. */
static int fail_held(const struct tp_check *k, const struct tp_baseline_cell *c, int status,
                     struct tp_err *err)
{
    if (status == TP_EUSAGE)
        status = err->status = TP_EINPUT;
    return tp_prefix(err, status, "%s: the cell '%.80s, %.80s'", k->baseline.file, c->trace,
                     c->strategy);
}

static int check_spec(const struct tp_check *k, const struct tp_baseline_cell *c,
                      struct tp_err *err)
{
    struct tp_strategy_spec spec;
    int status = tp_strategy_spec_parse(&spec, c->spec, err);
    if (status)
        return fail_held(k, c, status, err);
    tp_strategy_spec_release(&spec);
    return TP_OK;
}

static int prepare_held(struct tp_check *k, const struct tp_baseline_cell *c, const char *path,
                        size_t *index, struct tp_err *err)
{
    int status = tp_check_prepare(k, path, index, err);
    return status && tp_trace_is_sample(path) ? fail_held(k, c, status, err) : status;
}

static int add_held(struct tp_check *k, const struct tp_baseline_cell *c, const char *given,
                    struct tp_err *err)
{
    char *path = given ? strdup(given) : tp_baseline_trace_path(&k->baseline, c);
    struct tp_gate_cell cell = {
        .trace = c->trace,
        .strategy = c->strategy,
        .spec = c->spec,
        .source = c->source,
        .touch = k->o->touch == TP_CHECK_TOUCH_AUTO ? c->touch : tp_touch_words[k->o->touch],
        .held = c};
    if (!path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    const char *why = cannot_run(c);
    if (!why && !is_there(path) && k->o->allow_missing)
        why = "has no trace here";
    int status = TP_OK;
    if (why)
        status = skip_cell(k, c, why);
    else if (!given)
        status = check_path(k, path, err);
    if (status && !is_there(path))
        tp_hint(err, status, "--allow-missing checks the other cells");
    if (!status && !why)
        status = check_trust(k, c, err);
    if (!status && !why && !k->o->bin) /* the build of --bin may know other strategies */
        status = check_spec(k, c, err);
    if (!status && !why)
        status = prepare_held(k, c, path, &cell.prepared, err);
    if (!status && !why) {
        cell.path = k->traces[cell.prepared].given;
        status = add_cell(k, &cell, err);
    }
    free(path);
    return status;
}

/* Whether TRACE and --source select the cell; wants_strategy() tells the same for -s. */
static bool is_selected(const struct tp_check *k, struct wanted *list,
                        const struct tp_baseline_cell *c)
{
    return (!k->word_count || find_wanted(list, k->word_count, c->trace)) &&
           (!k->o->source || !strcmp(k->o->source, c->source));
}

/* The baseline is valid but holds no cells at all. */
static int fail_empty(const struct tp_check *k, struct tp_err *err)
{
    int status = tp_fail(err, TP_EUSAGE, "%s has no cells", k->baseline.file);
    return hint_first(k, status, "to write some", err);
}

/* Fails because a trace or strategy that was named selects no cell. `what` is "trace" or
 * "strategy", `name` its name; `narrowed`: other arguments restricted the selection too. `trace`
 * and `strategy` are the arguments of the --update command in the hint. */
static int fail_unused(const struct tp_check *k, const char *what, const char *name, bool narrowed,
                       const char *trace, const char *strategy, struct tp_err *err)
{
    char command[2 * TP_ERR_TEXT];
    int status = tp_fail(err, TP_EUSAGE, "%s has no cell of the %s '%s'%s", k->baseline.file, what,
                         name, narrowed ? " that was selected" : "");
    if (lacks_a_trace(k))
        return hint_trace(status, err);
    tp_check_update_command(k, trace, strategy, command, sizeof command);
    return tp_hint(err, status, "to add it: %s", command);
}

/* Every trace and strategy that was named must select a cell. Otherwise a typing error would check
 * nothing and pass. */
static int check_used(const struct tp_check *k, struct wanted *list, struct tp_err *err)
{
    const struct tp_check_opts *o = k->o;
    if (!k->baseline.count)
        return fail_empty(k, err);
    for (int i = 0; i < k->word_count; i++)
        if (!list[i].used)
            return fail_unused(k, "trace", list[i].name, o->strategies.count || o->source,
                               k->words[i], "STRATEGY", err);
    for (size_t i = 0; i < o->strategies.count; i++) {
        const char *given = o->strategies.items[i];
        bool used = false;
        for (size_t c = 0; c < k->baseline.count; c++)
            used |= names_cell(&k->baseline.cells[c], given) &&
                    is_selected(k, list, &k->baseline.cells[c]);
        if (!used)
            return fail_unused(k, "strategy", given, k->word_count || o->source, "TRACE...", given,
                               err);
    }
    if (k->gate.cell_count || k->missing)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "%s has no selected cell", k->baseline.file);
}

static int select_held(struct tp_check *k, struct tp_err *err)
{
    struct wanted *list = calloc((size_t)k->word_count + 1, sizeof *list);
    int status = list ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (int i = 0; !status && i < k->word_count; i++)
        status = want_trace(k, k->words[i], &list[i], err);
    for (size_t i = 0; !status && i < k->baseline.count; i++) {
        const struct tp_baseline_cell *c = &k->baseline.cells[i];
        struct wanted *w = k->word_count ? find_wanted(list, k->word_count, c->trace) : NULL;
        if (!is_selected(k, list, c) || !wants_strategy(k, c))
            continue;
        if (w)
            w->used = true;
        status = add_held(k, c, w ? w->path : NULL, err);
    }
    if (!status)
        status = check_used(k, list, err);
    free(list);
    return status;
}

/* ---- defining ---- */

static int check_twins(const struct tp_check *k, const struct tp_gate_cell *cell,
                       struct tp_err *err)
{
    char given[TP_SPEC_TEXT], named[2 * TP_SPEC_TEXT];
    struct tp_str s = TP_STR_IN(named);
    for (size_t i = 0; i < k->gate.cell_count; i++) {
        const struct tp_gate_cell *c = &k->gate.cells[i];
        if (strcmp(c->trace, cell->trace) || strcmp(c->strategy, cell->strategy))
            continue;
        snprintf(given, sizeof given, "NAME=%s", cell->spec);
        tp_str_strategy(&s, given);
        return tp_hint(
            err,
            tp_fail(err, TP_EUSAGE, "two cells would be called '%s, %s'", c->trace, c->strategy),
            "traces go by the names of their files; a strategy takes another name as%s", named);
    }
    return TP_OK;
}

/* The first cell of the baseline whose strategy goes by this label; NULL: no cell does. */
static const struct tp_baseline_cell *find_label(const struct tp_check *k, const char *given)
{
    for (size_t i = 0; i < k->baseline.count; i++)
        if (!strcmp(k->baseline.cells[i].strategy, given))
            return &k->baseline.cells[i];
    return NULL;
}

/* Splits "small=arena:arena_size=1MiB" into the label before the first '=' and the strategy after
 * it. */
static int name_strategy(const char *given, struct tp_gate_cell *cell, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    int status = tp_strategy_spec_parse(&spec, given, err);
    if (status)
        return status;
    cell->label = spec.labelled ? strdup(spec.label) : NULL;
    cell->strategy = spec.labelled ? cell->label : given;
    cell->spec = spec.labelled ? strchr(given, '=') + 1 : given;
    tp_strategy_spec_release(&spec);
    return cell->strategy ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int define_given(struct tp_check *k, const char *given, struct tp_gate_cell cell,
                        struct tp_err *err)
{
    const struct tp_baseline_cell *like = find_label(k, given);
    const struct tp_prepared *t = &k->traces[cell.prepared];
    int status = like ? check_trust(k, like, err) : name_strategy(given, &cell, err);
    if (!status && like)
        status = check_spec(k, like, err);
    if (status)
        return status;
    if (like) {
        cell.strategy = given;
        cell.spec = like->spec;
    }
    cell.trace = t->name;
    cell.path = t->given;
    cell.source = t->kind == TP_KIND_DEVICE ? "virtual" : "host";
    if (k->o->source)
        cell.source = k->o->source;
    cell.touch = tp_touch_words[k->o->touch];
    cell.held = tp_baseline_cell_find(&k->baseline, cell.trace, cell.strategy, cell.source);
    if (cell.held && k->o->touch == TP_CHECK_TOUCH_AUTO)
        cell.touch = cell.held->touch;
    status = check_twins(k, &cell, err);
    if (!status)
        return add_cell(k, &cell, err);
    free(cell.label);
    return status;
}

static int define_trace(struct tp_check *k, const char *path, struct tp_err *err)
{
    struct tp_gate_cell cell = {0};
    if (k->o->update && !strcmp(path, "-"))
        return tp_fail(err, TP_EUSAGE,
                       "a baseline cannot name standard input: it can be read only once");
    if (k->o->update && is_there(path) && !is_file(path))
        return tp_fail(
            err, TP_EUSAGE,
            "a baseline cannot name '%s': it is not a regular file and can be read only once",
            path);
    int status = tp_check_prepare(k, path, &cell.prepared, err);
    for (size_t s = 0; !status && s < k->o->strategies.count; s++)
        status = define_given(k, k->o->strategies.items[s], cell, err);
    return status;
}

/* Defines a cell for each trace with each strategy; without TRACE, for the traces of the baseline.
 */
static int define_all(struct tp_check *k, struct tp_err *err)
{
    int status = TP_OK;
    for (int i = 0; !status && i < k->word_count; i++)
        status = define_trace(k, k->words[i], err);
    for (size_t i = 0; !status && !k->word_count && i < k->baseline.count; i++) {
        const struct tp_baseline_cell *c = &k->baseline.cells[i];
        if (i && !strcmp(c->trace, c[-1].trace))
            continue;
        char *path = tp_baseline_trace_path(&k->baseline, c);
        status = path ? check_path(k, path, err) : tp_fail(err, TP_ENOMEM, "out of memory");
        if (!status)
            status = define_trace(k, path, err);
        free(path);
    }
    return status || k->gate.cell_count ? status : fail_empty(k, err);
}

/* ---- the selection ---- */

int tp_check_select(struct tp_check *k, struct tp_err *err)
{
    const struct tp_check_opts *o = k->o;
    /* Two libraries are compared with each other: what is stored of them is a help and no need. */
    bool apart = o->base_lib && k->word_count && o->strategies.count;
    bool defines = o->strategies.count && (o->update || !k->has_baseline || apart);
    int status = defines ? define_all(k, err) : select_held(k, err);
    for (size_t i = 0; !status && apart && i < k->gate.cell_count; i++) {
        struct tp_gate_cell *c = &k->gate.cells[i];
        if (c->held && strcmp(c->held->spec, c->spec) != 0)
            c->held = NULL; /* one of this label replays something else */
    }
    for (size_t i = 0; !status && !o->update && i < k->gate.cell_count; i++)
        status = tp_check_hash(k, &k->gate.cells[i], err);
    if (status)
        drop_cells(k);
    k->gate.cells_total = defines && !o->update ? k->gate.cell_count : k->baseline.count;
    return status;
}
