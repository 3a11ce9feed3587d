/* Reports a check: the files that were asked for, what GitHub shows, and the screen, or a document
 * in its place. */
#include "cmd/gate/check_job.h"

#include "cmd/ui/exit.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/output.h"

#define WORD(of, id, words) #id,
const char *const tp_gate_format_words[] = {"text", TP_GATE_WRITERS(WORD, ) NULL};

int tp_check_forms(const struct tp_exports *e, struct tp_err *err)
{
    int status = tp_exports_look(e, tp_gate_format_words, err);
    for (uint32_t i = 0; !status && i < TP_GATE_WRITER_COUNT; i++)
        if (tp_gate_writers[i]->check && (e->files[i] || e->format == i + 1))
            status = tp_gate_writers[i]->check(err);
    return status;
}

struct file {
    const struct tp_gate_writer *writer;
    const struct tp_gate *gate;
};

static int write_export(void *ctx, FILE *out, struct tp_err *err)
{
    const struct file *e = ctx;
    return e->writer->write(e->gate, out, err);
}

/* Keeps the first of several errors. */
static int keep_first(int first, int status, const struct tp_err *one, struct tp_err *err)
{
    if (!first && status)
        *err = *one;
    return first ? first : status;
}

static int write_exports(const struct tp_check *k, struct tp_err *err)
{
    const struct tp_exports *o = &k->o->exports;
    struct tp_err one = {0};
    int first = TP_OK;
    for (int i = 0; i < TP_GATE_WRITER_COUNT; i++) {
        struct file e = {.writer = tp_gate_writers[i], .gate = &k->gate};
        if (o->files[i])
            first = keep_first(
                first, tp_output_write(o->files[i], o->force, write_export, &e, &one), &one, err);
    }
    return first;
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

static const struct tp_gate_writer *document(const struct tp_check *k)
{
    uint32_t format = k->o->exports.format;
    return format ? tp_gate_writers[format - 1] : NULL;
}

static void annotate(const struct tp_check *k, bool full, FILE *out)
{
    if (tp_gate_in_github()) /* stderr, if stdout holds a document */
        tp_gate_annotate(&k->gate, full, document(k) ? stderr : out);
}

static int write_files(struct tp_check *k, bool *full, struct tp_err *err)
{
    struct tp_err one = {0};
    int status = write_exports(k, err);
    note_lost(k, status, err);
    if (tp_gate_in_github())
        status = keep_first(status, tp_gate_summary(&k->gate, full, &one), &one, err);
    note_lost(k, status, err);
    return status;
}

int tp_check_report(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    const struct tp_gate_writer *writer = document(k);
    struct tp_err one = {0};
    bool full = false;
    int status = write_files(k, &full, err);
    if (writer)
        status = keep_first(status, writer->write(&k->gate, page->out, &one), &one, err);
    else
        tp_gate_print(&k->gate, page);
    annotate(k, full, page->out);
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
            snprintf(g->classes[c].reason, sizeof g->classes[c].reason, "the check ended before");
}

void tp_check_report_end(struct tp_check *k, FILE *out)
{
    struct tp_err lost = {0};
    bool full = false;
    if (!tp_exports_any(&k->o->exports) && !tp_gate_in_github())
        return;
    tp_check_outcome(k, &lost);
    write_files(k, &full, &lost);
    if (document(k))
        document(k)->write(&k->gate, out, &lost);
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
