/* Class E: memory and counts are a pure function of program, strategy, options and source, so they
 * are compared with the committed values without any statistics. Each cell is replayed in two
 * processes with stacks and heaps at different addresses: a value that differs between the two was
 * never exact. The second replay also runs the checks of --verify where they are cheap: a strategy
 * that breaks an invariant ends the check, whatever its figures are. */
#include "cmd/gate/check_job.h"

#include "alloc/base/random.h"
#include "cmd/gate/gate_words.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/replay_job.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <string.h>

enum { VERIFY_EVENTS = 1000000 };

#define VERIFY_BYTES ((double)(1u << 30)) /* largest peak_requested for --verify on the host */

uint64_t tp_check_seed(uint64_t seed, uint64_t of)
{
    uint64_t state = seed + of * TP_RANDOM_STEP;
    return tp_random_split(&state) >> 1;
}

const struct tp_strategy *tp_check_strategy(const struct tp_gate_cell *c)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(c->spec, ":"), c->spec);
    return tp_find_strategy(name, NULL);
}

/* Whether the check goes on without a cell that failed: one that replays somebody else's code. */
static bool goes_on_without(const struct tp_check *k, const struct tp_gate_cell *c, int status)
{
    const struct tp_strategy *s = tp_check_strategy(c);
    bool of_others = tp_strategy_from(c->spec) != TP_OPT_ANYWHERE || /* a plug-in */
                     (s && !tp_strategy_takes_source(s));
    return k->goes_on && of_others && status != TP_ESTOP && status != TP_ENOMEM;
}

/* Visits a cell, and notes its failure where the check goes on. */
static int visit_cell(struct tp_check *k, size_t cell, tp_check_visit *visit, void *ctx,
                      struct tp_err *err)
{
    struct tp_gate_cell *c = &k->gate.cells[cell];
    int status = visit(k, cell, ctx, err);
    if (!status || !goes_on_without(k, c, status))
        return status;
    c->failed = strndup(err->text, TP_GATE_ERROR);
    if (!c->failed)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (!k->failed_cells++)
        k->failed = *err;
    return TP_OK;
}

int tp_check_each(struct tp_check *k, const char *what, size_t steps, tp_check_visit *visit,
                  void *ctx, struct tp_err *err)
{
    char text[200];
    int status = TP_OK;
    tp_progress_begin(k->progress, what, steps * k->gate.cell_count);
    for (size_t i = 0; !status && i < k->gate.cell_count; i++) {
        tp_check_cell_text(&k->gate.cells[i], text, sizeof text);
        tp_progress_at(k->progress, text, i * steps);
        if (!k->gate.cells[i].failed)
            status = visit_cell(k, i, visit, ctx, err);
    }
    tp_progress_clear(k->progress);
    return status;
}

uint64_t tp_check_timeout(const struct tp_check *k, size_t cell)
{
    return tp_timeout_of(k->o->timeout, k->traces[k->gate.cells[cell].prepared].events,
                         k->min_time_ns);
}

struct tp_measure tp_check_measure(const struct tp_check *k, size_t cell,
                                   const struct tp_side *side)
{
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    return (struct tp_measure){
        .binary = side->binary,
        .trace = k->traces[c->prepared].path,
        .strategy = side->strategy,
        .source = c->source,
        .more = c->more,
        .seed = 1, /* fixed, so that host+shuffle gives the same memory in every check */
        .core = -1,
        .timeout_ns = tp_check_timeout(k, cell),
        .interrupted = tp_stop_flag()};
}

int tp_check_name(const struct tp_gate_cell *c, int status, struct tp_err *err)
{
    char cell[200];
    if (status == TP_ESTOP)
        return status;
    tp_check_cell_text(c, cell, sizeof cell);
    return tp_prefix(err, status, "%s", cell);
}

/* Whether to measure min_capacity, which needs a virtual device. A held cell decides by whether it
 * has the value; for new cells and --update the default of replay holds. */
static bool wants_fits(const struct tp_check *k, const struct tp_gate_cell *c)
{
    const struct tp_prepared *t = &k->traces[c->prepared];
    const struct tp_metric *fits = tp_metric_find("min_capacity", NULL);
    if (strncmp(c->source, "virtual", 7) != 0)
        return false;
    if (c->held && !k->o->update)
        return fits && tp_baseline_value_find(c->held, fits, 0);
    return tp_fits_by_default(t->kind, t->events);
}

/* The measured tapool must have replayed the same program. If it lowers the same file to another
 * program, none of its values can be compared. */
static int check_answer(const struct tp_check *k, const struct tp_gate_cell *c,
                        const struct tp_record *r, struct tp_err *err)
{
    const struct tp_prepared *t = &k->traces[c->prepared];
    if (strcmp(r->hash, t->hash))
        return tp_fail(err, TP_EINPUT,
                       "%.120s: the measured tapool reads another program: %s with %s, "
                       "not %s with %s events",
                       c->path, r->hash, tp_stored_events(r).s, t->hash, tp_count(t->events).s);
    return r->usage
               ? TP_OK
               : tp_fail(err, TP_EIO, "%.120s: the measured tapool reported no memory", c->path);
}

/* Whether the checks of --verify are cheap enough. On the host they write to every block, at least
 * one page each; on a virtual device they write nothing. */
static bool wants_verify(const struct tp_check *k, const struct tp_gate_cell *c,
                         const struct tp_record *first)
{
    const struct tp_metric *peak = tp_metric_find("peak_requested", NULL);
    return k->traces[c->prepared].events < VERIFY_EVENTS &&
           (!strncmp(c->source, "virtual", 7) || (!strncmp(c->source, "host", 4) && peak &&
                                                  tp_record_value(first, peak, 0) <= VERIFY_BYTES));
}

static int replay(const struct tp_check *k, size_t cell, unsigned nth, bool verify,
                  struct tp_stored *out, struct tp_err *err)
{
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    char passes[32];
    snprintf(passes, sizeof passes, "usage%s%s", wants_fits(k, c) ? ",fits" : "",
             verify ? ",verify" : "");
    const struct tp_side side = {.binary = k->o->bin, .strategy = c->spec};
    struct tp_measure m = tp_check_measure(k, cell, &side);
    m.passes = passes;
    m.padding = nth ? (size_t)(tp_check_seed(k->gate.seed, nth) % 4096) : 0;
    int status = tp_measure(&m, out, err);
    tp_progress_did(k->progress);
    if (status)
        return tp_check_name(c, status, err);
    return check_answer(k, c, &out->runs[0], err);
}

int tp_check_replay_twice(const struct tp_check *k, size_t cell, struct tp_stored out[2],
                          bool *verified, struct tp_err *err)
{
    out[0] = out[1] = (struct tp_stored){0};
    *verified = false;
    int status = replay(k, cell, 0, false, &out[0], err);
    if (status)
        return status;
    *verified = wants_verify(k, &k->gate.cells[cell], &out[0].runs[0]);
    return replay(k, cell, 1, *verified, &out[1], err);
}

/* Counts over all cells of what was verified and what could not be compared. */
struct gaps {
    size_t verified;             /* cells that passed --verify */
    size_t varies;               /* cells that vary by themselves: a real allocator or device */
    const char *who;             /* strategy of the last cell counted in `varies`, or "" */
    size_t loose;                /* values that --update found to be nondeterministic */
    struct tp_check_gaps unheld; /* cells with exact values that the baseline lacks */
};

/* Adds a gap if the baseline lacks exact values of the cell. That is so after a line was deleted,
 * or if an older tapool wrote the file. */
static void note_unheld(struct gaps *gaps, size_t cell, size_t values)
{
    char reason[80];
    if (!values)
        return;
    snprintf(reason, sizeof reason, "the baseline lacks %zu of its values", values);
    tp_check_gap(&gaps->unheld, cell, reason);
}

/* Replays a cell twice; adds its findings, and its gaps to the counts. */
static int check_cell(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct gaps *gaps = ctx;
    struct tp_stored runs[2];
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    bool verified;
    int status = tp_check_replay_twice(k, cell, runs, &verified, err);
    if (!status) {
        gaps->verified += verified;
        bool varies = !(c->held && c->held->value_count) && !runs[0].runs[0].exact;
        gaps->varies += varies;
        gaps->who = varies ? c->strategy : gaps->who;
    }
    if (!status && c->held) {
        gaps->loose += c->held->loose_count;
        note_unheld(gaps, cell, tp_check_unheld(c->held, &runs[0].runs[0]));
        if (tp_check_compare(&k->baseline, c->held, &runs[0].runs[0], &runs[1].runs[0],
                             &k->gate.cells[cell], &k->findings))
            status = tp_fail(err, TP_ENOMEM, "out of memory");
        k->gate.classes[TP_CLASS_EXACT].cells += !status && c->held->value_count > 0;
    }
    tp_stored_release(&runs[0]);
    tp_stored_release(&runs[1]);
    return status;
}

static void describe(const struct tp_check *k, const struct gaps *gaps,
                     struct tp_class_check *metric_class)
{
    struct tp_str s = TP_STR_IN(metric_class->against);
    bool all = gaps->verified == k->gate.cell_count && !gaps->loose && !gaps->varies;
    tp_str_add(&s, "vs baseline, exact%s", all ? ", verified" : "");
    if (gaps->loose)
        tp_str_add(&s, "; %s %s not", tp_plural(gaps->loose, "value").s,
                   gaps->loose == 1 ? "is" : "are");
    if (gaps->varies)
        tp_str_add(&s, "; %zu var%s (%.40s)", gaps->varies, gaps->varies == 1 ? "ies" : "y",
                   gaps->who);
    if (metric_class->checked) {
        tp_check_gaps_describe(k, &gaps->unheld, metric_class);
        if (gaps->unheld.cells)
            snprintf(metric_class->how, sizeof metric_class->how, "--update adds them");
        return;
    }
    if (gaps->varies)
        snprintf(metric_class->reason, sizeof metric_class->reason,
                 "the memory of '%.60s' varies by itself: a real allocator or device", gaps->who);
    else
        snprintf(metric_class->reason, sizeof metric_class->reason,
                 "the baseline has no value for it");
}

int tp_check_exact(struct tp_check *k, struct tp_err *err)
{
    struct tp_class_check *metric_class = &k->gate.classes[TP_CLASS_EXACT];
    struct gaps gaps = {.who = ""};
    size_t before = k->findings.count;
    int status = tp_check_each(k, tp_class_words[TP_CLASS_EXACT], 2, check_cell, &gaps, err);
    metric_class->values = k->findings.count - before;
    metric_class->checked = metric_class->values > 0;
    describe(k, &gaps, metric_class);
    return status;
}
