/* Groups what moved by cause; see gate.h. The figures of one family of a cell move together, so one
 * of them gets a line and the others are folded under it. A figure that got better while its family
 * got worse is no improvement to lock in.
 *
 *     findings --> those that moved --> by cell and family --> regressions, then improvements
 *                                       (an option is a cause of its own)
 *
 * Known weakness: that figures of a family have one cause is likely, not known; -v and the JSON
 * show each of them. */
#include "cmd/gate/gate_words.h"

#include "alloc/base/ascending.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDED = 4 }; /* largest number of folded figures that a line names */

/* ---- families ---- */

const char *const tp_family_names[TP_FAMILIES] = {
    "option", "instability", "failures", "memory", "calls", "time",
};

/* The figures that represent their family, best first; then all others in their order. */
static const char *const leads[] = {"peak_reserved",    "min_capacity",       "end_reserved",
                                    "driver_calls.get", "failed_allocations", "ns_per_op",
                                    "instructions"};
enum { LEADS = sizeof leads / sizeof *leads };

static size_t rank_of(const struct tp_finding *f)
{
    for (size_t i = 0; f->metric && i < LEADS; i++)
        if (!strcmp(leads[i], f->metric->name))
            return i;
    return LEADS + (f->metric ? (size_t)(f->metric - tp_metrics) : 0);
}

static enum tp_family own_family(const struct tp_finding *f)
{
    if (!f->metric)
        return TP_FAMILY_OPTION;
    /* a note says that two replays differ, or the value is gone */
    return f->note[0] ? TP_FAMILY_INSTABILITY : f->metric->family;
}

/* ---- grouping ---- */

/* Sorts by cell, then by family, then regressions first, then by rank as a representative. */
static int by_cause(const void *a, const void *b)
{
    const struct tp_moved *x = a, *y = b;
    const struct tp_finding *f = x->finding, *g = y->finding;
    int order = tp_order((uintptr_t)f->cell, (uintptr_t)g->cell);
    if (!order)
        order = tp_order(x->family, y->family);
    if (!order)
        order = tp_order(f->verdict != TP_REGRESSION, g->verdict != TP_REGRESSION);
    if (!order)
        order = tp_order(rank_of(f), rank_of(g));
    if (!order)
        order = tp_order(f->device, g->device);
    return order ? order : tp_order((uintptr_t)f, (uintptr_t)g);
}

static bool is_one_cell(const struct tp_moved *a, const struct tp_moved *b)
{
    return a->finding->cell == b->finding->cell;
}

static bool is_one_cause(const struct tp_moved *a, const struct tp_moved *b)
{
    return is_one_cell(a, b) && a->family == b->family && a->family != TP_FAMILY_OPTION;
}

/* Chooses the family of figures that can follow another one, such as the bytes requested from the
 * source: they grow with the memory held and with the number of calls. They stay in their own
 * family if another figure of it got worse, else join the family that they follow if that moved. */
static void settle_followers(struct tp_moved *cell, size_t count)
{
    bool worse[TP_FAMILIES] = {false}, moved[TP_FAMILIES] = {false};
    for (size_t i = 0; i < count; i++) {
        const struct tp_finding *f = cell[i].finding;
        bool follows = f->metric && f->metric->follows;
        worse[cell[i].family] |= !follows && f->verdict == TP_REGRESSION;
        moved[cell[i].family] = true;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tp_metric *m = cell[i].finding->metric;
        if (m && m->follows && cell[i].family == m->family && !worse[m->family] &&
            moved[m->follows])
            cell[i].family = m->follows;
    }
}

static size_t run_of(const struct tp_moved *from, size_t left,
                     bool together(const struct tp_moved *, const struct tp_moved *))
{
    size_t n = 1;
    while (n < left && together(from, &from[n]))
        n++;
    return n;
}

static void add_causes(struct tp_gate *g, enum tp_verdict verdict, struct tp_cause *causes)
{
    for (size_t i = 0, n; i < g->moved_count; i += n) {
        n = run_of(&g->moved[i], g->moved_count - i, is_one_cause);
        if (g->moved[i].finding->verdict == verdict)
            causes[g->cause_count++] = (struct tp_cause){.verdict = verdict,
                                                         .family = g->moved[i].family,
                                                         .lead = g->moved[i].finding,
                                                         .figures = &g->moved[i],
                                                         .count = n};
    }
    g->told[verdict] = g->cause_count - (verdict == TP_REGRESSION ? 0 : g->told[TP_REGRESSION]);
}

void tp_gate_group(struct tp_gate *g, struct tp_moved *moved, struct tp_cause *causes)
{
    g->moved = moved;
    g->causes = causes;
    g->moved_count = g->cause_count = 0;
    memset(g->counts, 0, sizeof g->counts);
    g->options_changed = 0;
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        g->counts[f->verdict]++;
        g->options_changed += own_family(f) == TP_FAMILY_OPTION && f->verdict == TP_REGRESSION;
        if (f->verdict == TP_REGRESSION || f->verdict == TP_IMPROVED)
            moved[g->moved_count++] = (struct tp_moved){f, own_family(f)};
    }
    memcpy(g->told, g->counts, sizeof g->told);
    g->told[TP_INCONCLUSIVE] = 0;
    for (size_t i = 0; i < g->finding_count; i++)
        g->told[TP_INCONCLUSIVE] += tp_finding_could_gate(g, &g->findings[i]);
    qsort(moved, g->moved_count, sizeof *moved, by_cause);
    for (size_t i = 0, n; i < g->moved_count; i += n) {
        n = run_of(&moved[i], g->moved_count - i, is_one_cell);
        settle_followers(&moved[i], n);
    }
    qsort(moved, g->moved_count, sizeof *moved, by_cause);
    add_causes(g, TP_REGRESSION, causes);
    add_causes(g, TP_IMPROVED, causes);
}

/* ---- words ---- */

struct tp_gate_line tp_cause_text(const struct tp_cause *c)
{
    const struct tp_finding *f = c->lead;
    struct tp_text change = tp_finding_plain_change(f);
    struct tp_gate_line line = {""};
    tp_gate_add(&line, "%s", tp_finding_name(f).s);
    if (change.s[0] && c->family != TP_FAMILY_INSTABILITY)
        tp_gate_add(&line, " %s", change.s);
    if (tp_finding_is_paired(f))
        tp_gate_add(&line, " (paired)");
    return line;
}

struct tp_gate_line tp_cause_values(const struct tp_cause *c)
{
    return c->family == TP_FAMILY_INSTABILITY ? tp_finding_note(c->lead)
                                              : tp_finding_values(c->lead);
}

struct tp_gate_line tp_cause_rule(const struct tp_cause *c)
{
    const struct tp_finding *f = c->lead;
    struct tp_gate_line line = {""};
    if (!f->metric || c->family == TP_FAMILY_INSTABILITY)
        return line;
    if (c->verdict == TP_REGRESSION)
        tp_gate_add(&line, "allowed: %s", tp_finding_allowed(f).s);
    if (tp_finding_proof(f).s[0])
        tp_gate_add(&line, "%s%s", line.s[0] ? "  " : "", tp_finding_proof(f).s);
    return line;
}

struct tp_gate_line tp_cause_folded(const struct tp_cause *c)
{
    struct tp_gate_line line = {""};
    for (size_t i = 1; i < c->count && i <= FOLDED; i++) {
        const struct tp_finding *f = c->figures[i].finding;
        bool noted = c->family == TP_FAMILY_INSTABILITY;
        bool better = f->verdict == TP_IMPROVED && c->verdict == TP_REGRESSION;
        tp_gate_add(&line, "%s%s%s%s%s", i == 1 ? "" : ", ", tp_finding_name(f).s, noted ? "" : " ",
                    noted ? "" : tp_finding_change(f).s, better ? " (better)" : "");
    }
    if (c->count > FOLDED + 1)
        tp_gate_add(&line, ", %s more", tp_count(c->count - FOLDED - 1).s);
    return line;
}

struct tp_gate_line tp_cause_sentence(const struct tp_gate *g, const struct tp_cause *c)
{
    struct tp_gate_line line = tp_gate_cell_text(g, c->lead->cell);
    tp_gate_add(&line, ": %s%s ", tp_cause_text(c).s,
                c->family == TP_FAMILY_INSTABILITY ? "" : ":");
    tp_gate_add(&line, "%s", tp_cause_values(c).s);
    if (tp_cause_rule(c).s[0])
        tp_gate_add(&line, ", %s", tp_cause_rule(c).s);
    if (tp_finding_grown(c->lead).s[0])
        tp_gate_add(&line, "; %s", tp_finding_grown(c->lead).s);
    if (c->count > 1)
        tp_gate_add(&line, "; also %s", tp_cause_folded(c).s);
    return line;
}
