/* Reports a check: the files that were asked for, what GitHub shows, and the screen, or a document
 * in its place. */
#include "cmd/gate/check_job.h"

#include "cmd/ui/exit.h"
#include "cmd/ui/exports.h"

/* Keeps the first of several errors. */
static int keep_first(int first, int status, const struct tp_err *one, struct tp_err *err)
{
    if (!first && status)
        *err = *one;
    return first ? first : status;
}

/* ---- reports ---- */

static void keep_error(struct tp_gate *g, const struct tp_err *err)
{
    snprintf(g->error, sizeof g->error, "%.*s%s%.390s", TP_GATE_ERROR, err->text,
             err->hint[0] ? ": " : "", err->hint);
}

/* Turns a failed write into the outcome of the check, so that no later report says PASS. */
static void note_lost(struct tp_check *k, int status, const struct tp_err *err)
{
    if (!status || k->ended)
        return;
    k->gate.exit_code = tp_exit_code(status);
    keep_error(&k->gate, err);
}

/* The screen, or the document of --format in its place. */
static int print(const struct tp_check *k, FILE *out, struct tp_err *err)
{
    return tp_exports_print(&k->o->exports, &tp_check_exporters, &k->gate, out, err);
}

static void annotate(const struct tp_check *k, bool full, FILE *out)
{
    if (tp_gate_in_github()) /* stderr, if stdout holds a document */
        tp_gate_annotate(&k->gate, full, k->o->exports.format ? stderr : out);
}

static int write_files(struct tp_check *k, bool *full, struct tp_err *err)
{
    struct tp_err one = {0};
    int status = tp_exports_files(&k->o->exports, &tp_check_exporters, &k->gate, err);
    note_lost(k, status, err);
    if (tp_gate_in_github())
        status = keep_first(status, tp_gate_summary(&k->gate, full, &one), &one, err);
    note_lost(k, status, err);
    return status;
}

int tp_check_report(struct tp_check *k, FILE *out, struct tp_err *err)
{
    struct tp_err one = {0};
    bool full = false;
    int status = write_files(k, &full, err);
    status = keep_first(status, print(k, out, &one), &one, err);
    annotate(k, full, out);
    return status;
}

/* ---- a check that ended early ---- */

void tp_check_end(struct tp_check *k, int status, const struct tp_err *why)
{
    struct tp_gate *g = &k->gate;
    k->ended = status;
    keep_error(g, why);
    for (size_t c = 0; c < TP_CLASS_REPORT; c++)
        if (!g->classes[c].checked && !g->classes[c].reason[0])
            snprintf(g->classes[c].reason, sizeof g->classes[c].reason,
                     "the check stopped before this");
}

void tp_check_report_end(struct tp_check *k, FILE *out)
{
    struct tp_err lost = {0};
    bool full = false;
    if (!tp_exports_any(&k->o->exports) && !tp_gate_in_github())
        return;
    tp_check_outcome(k, &lost);
    write_files(k, &full, &lost);
    if (k->o->exports.format)
        print(k, out, &lost);
    annotate(k, full, out);
}

void tp_check_report_usage(struct tp_check *k, FILE *out)
{
    struct tp_err none = {0};
    if (!tp_gate_in_github())
        return;
    tp_check_outcome(k, &none);
    annotate(k, false, out);
}
