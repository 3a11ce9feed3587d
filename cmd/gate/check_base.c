/* What the base build cannot do. It is an older tapool: it may lack a strategy, an option or a pass
 * that this build has, and it may be built with other flags. A cell that cannot be compared for
 * such a reason is a gap of its class. Gaps are counted and named but are no error, because
 * otherwise no pull request that adds a strategy could pass. --require does not ask for cells that
 * are new to the base build; it does ask for all other gaps.
 *
 *     answer of the base             result for the cell
 *     a result                       it is compared
 *     exit 2, TP_REASON_UNKNOWN      a gap with the sentence of the base; --require is met
 *     exit 2, other reasons          a gap with the sentence of the base
 *     built with other flags         a gap in instructions that names both builds
 *     killed, nonsense, exit 3, 4    an error of the check; a gap in instructions, because
 *                                    valgrind may be what failed
 *
 * Known weakness: only one gap is named with its reason. */
#include "cmd/gate/check_job.h"
#include "cmd/jobs/spec.h"

#include <stdio.h>
#include <string.h>

/* Keeps the reason of the first gap that --require asks about, else that of the first gap. */
static void add(struct tp_check_gaps *gaps, size_t cell, const char *reason, bool unknown)
{
    bool tell = !gaps->cells || (!unknown && gaps->unknown == gaps->cells);
    gaps->cells++;
    gaps->unknown += unknown;
    if (tell) {
        gaps->first = cell;
        snprintf(gaps->reason, sizeof gaps->reason, "%.399s", reason);
    }
}

static int name_base(struct tp_gate_cell *cell, const char *library, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    struct tp_str text = {0};
    int status = tp_strategy_spec_parse(&spec, cell->spec, err);
    if (status)
        return status;
    if (spec.preload) {
        tp_strategy_spec_add(&text, &spec, library);
        status = tp_str_status(&text, err);
        cell->base = text.s;
    } else {
        status = tp_hint(err,
                         tp_fail(err, TP_EUSAGE,
                                 "--base-lib is about malloc libraries, and cell '%s' replays none",
                                 cell->strategy),
                         "-s NAME=lib:PATH selects the cells of one");
    }
    tp_strategy_spec_release(&spec);
    return status;
}

int tp_check_base_libraries(struct tp_check *k, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && k->o->base_lib && i < k->gate.cell_count; i++)
        status = name_base(&k->gate.cells[i], k->o->base_lib, err);
    return status;
}

void tp_check_gap(struct tp_check_gaps *gaps, size_t cell, const char *reason)
{
    add(gaps, cell, reason, false);
}

void tp_check_gap_base(struct tp_check_gaps *gaps, size_t cell, const struct tp_err *why)
{
    add(gaps, cell, why->text, why->reason == TP_REASON_UNKNOWN);
}

void tp_check_gaps_describe(const struct tp_check *k, const struct tp_check_gaps *gaps,
                            struct tp_class_check *metric_class)
{
    char cell[200], more[40] = "";
    if (!gaps->cells)
        return;
    metric_class->named = metric_class->checked;
    metric_class->unknown_only = gaps->unknown == gaps->cells;
    if (!metric_class->checked) {
        snprintf(metric_class->reason, sizeof metric_class->reason, "%s", gaps->reason);
        return;
    }
    tp_check_cell_text(&k->gate.cells[gaps->first], cell, sizeof cell);
    if (gaps->cells > 1)
        snprintf(more, sizeof more, " and %zu more", gaps->cells - 1);
    snprintf(metric_class->reason, sizeof metric_class->reason, "%.160s%s (%.300s)", cell, more,
             gaps->reason);
}

/* The parts of a fingerprint are separated by ", ". */
void tp_check_base_build(const char *base, const char *now, char *text, size_t size)
{
    size_t start = 0, end = 0, b = strlen(base), n = strlen(now);
    text[0] = '\0';
    if (!strcmp(base, now))
        return;
    for (size_t i = 0; base[i] && base[i] == now[i]; i++)
        if (base[i] == ' ' && i && base[i - 1] == ',')
            start = i + 1;
    for (size_t i = 1; i + start <= b && i + start <= n && base[b - i] == now[n - i]; i++)
        if (base[b - i] == ',')
            end = i;
    snprintf(text, size, "the base has another build: %.*s, not %.*s",
             (int)(b - start - end > 150 ? 150 : b - start - end), base + start,
             (int)(n - start - end > 150 ? 150 : n - start - end), now + start);
}
