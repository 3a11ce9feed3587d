/* The memory of malloc libraries (--base-lib): what a library maps and what it holds resident,
 * against those of the other library in the same job. A stored value would not do, because it
 * changes with the kernel and the C library. Each library is played twice:
 *
 *     mapped memory, its calls    a function of library and trace: any change counts
 *     resident memory             the kernel's count of pages: within the metric's tolerance
 *
 * A figure that differs between two replays of one library is not compared. It can, where addresses
 * differ from process to process, or where a library decides by the clock. */
#include "cmd/gate/check_job.h"

#include <math.h>
#include <string.h>

enum { REPLAYS = 2 };

/* Both replays of both libraries; side 0 is the base. */
struct played {
    struct tp_stored replays[2][REPLAYS];
};

static int play(const struct tp_check *k, size_t cell, const struct tp_side *side,
                struct tp_stored *out, struct tp_err *err)
{
    struct tp_measure m = tp_check_measure(k, cell, side);
    m.binary = k->o->bin; /* the libraries differ, and not what plays them */
    m.passes = "usage,resident,mapped";
    int status = tp_measure(&m, out, err);
    tp_progress_did(k->progress);
    return status ? tp_check_name(&k->gate.cells[cell], status, err) : TP_OK;
}

static bool is_memory_of_library(const struct tp_metric *m)
{
    return (m->class == TP_CLASS_EXACT && !strncmp(m->path, "mapped.", 7)) ||
           (tp_metric_is_by_kernel(m) && m->allowed > 0); /* RSS at start differs by half a MiB */
}

/* Whether two replays of a library agree. */
static bool is_told(const struct tp_metric *m, const double values[REPLAYS])
{
    if (isnan(values[0]) || isnan(values[1]))
        return false;
    return m->class != TP_CLASS_EXACT || values[0] == values[1];
}

static int compare(struct tp_check *k, size_t cell, const struct tp_metric *m,
                   const struct played *p, size_t *values, struct tp_err *err)
{
    double sides[2][REPLAYS];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < REPLAYS; i++)
            sides[side][i] = tp_record_value(&p->replays[side][i].runs[0], m, 0);
    if (!is_told(m, sides[0]) || !is_told(m, sides[1]))
        return TP_OK;
    double base = fmax(sides[0][0], sides[0][1]), now = fmin(sides[1][0], sides[1][1]);
    const struct tp_gate_cell *c = &k->gate.cells[cell];
    /* By default a metric of class R is allowed a share of the base, one of class E an amount. */
    bool exact = m->class == TP_CLASS_EXACT;
    double fallback = exact ? m->allowed : m->allowed * base;
    double allowed = tp_tolerance_of(&k->baseline, c->held, m, base, fallback);
    const struct tp_finding f = {.cell = c,
                                 .metric = m,
                                 .verdict = tp_check_judge(m, base, now, allowed),
                                 .base = base,
                                 .now = now,
                                 .change = base > 0 ? now / base - 1 : NAN,
                                 .allowed = exact || !(base > 0) ? allowed : allowed / base,
                                 .live = true};
    ++*values;
    return tp_findings_add(&k->findings, &f, err);
}

static int check_cell(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err)
{
    struct tp_class_check *class = ctx;
    struct played p = {0};
    struct tp_side sides[2];
    size_t values = 0;
    int status = TP_OK;
    tp_check_sides(k, cell, sides);
    for (int i = 0; !status && i < 2 * REPLAYS; i++)
        status = play(k, cell, &sides[i % 2], &p.replays[i % 2][i / 2], err);
    for (size_t m = 0; !status && m < tp_metric_count; m++)
        if (is_memory_of_library(&tp_metrics[m]))
            status = compare(k, cell, &tp_metrics[m], &p, &values, err);
    class->cells += values > 0;
    class->values += values;
    for (int i = 0; i < 2 * REPLAYS; i++)
        tp_stored_release(&p.replays[i % 2][i / 2]);
    return status;
}

int tp_check_library(struct tp_check *k, struct tp_err *err)
{
    struct tp_class_check *class = &k->gate.classes[TP_CLASS_EXACT];
    int status = tp_check_each(k, "memory", 2 * REPLAYS, check_cell, class, err);
    class->checked = class->values > 0;
    class->reason[0] = '\0';
    if (class->checked)
        snprintf(class->against, sizeof class->against, "vs %.90s, resident and mapped",
                 k->o->base_lib);
    else
        snprintf(class->reason, sizeof class->reason,
                 "the kernel tells neither resident nor mapped memory here");
    return status;
}
