/* See pair_growth.h. */
#include "cmd/info/pair_growth.h"

#include "traces/event.h"
#include "traces/places/sites.h"

#include <stdlib.h>
#include <string.h>

/* ---- sites at a moment ---- */

static int find_sites(const struct tp_trace *t, uint64_t at, const struct tp_growth_cfg *cfg,
                      struct tp_named_sites *out, struct tp_err *err)
{
    const struct tp_named_sites_cfg sites = {.by = cfg->by,
                                             .depth = cfg->depth > 1 ? cfg->depth : 0,
                                             .apart = true,
                                             .most = TP_SITES_ALL,
                                             .stop = cfg->stop};
    struct tp_held_list list;
    int rc = tp_sites_list(t, 0, at, &list, err);
    if (rc == TP_OK)
        rc = tp_named_sites_of(&list, &sites, out, err);
    free(list.blocks);
    return rc;
}

/* What is not known of one side would be growth of the other. */
static int at_peak(const struct tp_trace *t, const struct tp_growth_cfg *cfg,
                   struct tp_named_sites *out, struct tp_err *err)
{
    int rc = cfg->by == TP_BY_PLACE || tp_program_facts(t->program)->devices > 1
                 ? tp_sites_sayable(t, err)
                 : TP_OK;
    if (rc == TP_OK)
        rc = find_sites(t, TP_AT_PEAK, cfg, out, err);
    if (rc == TP_OK && !out->known && out->bytes > out->initial_bytes)
        rc = tp_sites_known(&(struct tp_captured){.count = 0}, t, err);
    return rc;
}

/* ---- phases ---- */

struct named_phase {
    const char *name;
    const struct tp_info_phase *phase;
};

static int by_phase_name(const void *a, const void *b)
{
    const struct named_phase *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* The phases of a trace, by name. The caller frees *out. */
static int list_phases(const struct tp_trace_side *side, struct named_phase **out, size_t *count,
                       struct tp_err *err)
{
    const struct tp_program *p = side->trace.program;
    uint32_t marks = tp_program_facts(p)->marks;
    *count = 0;
    *out = calloc(marks + 1u, sizeof **out);
    if (!*out)
        return tp_fail(err, TP_ENOMEM, "out of memory for phases");
    for (uint32_t i = 0; i < marks; i++) {
        const char *name = tp_mark_phase(p, i);
        const struct tp_info_phase *phase = &side->info->phase_rows[i];
        if (name && phase->begun)
            (*out)[(*count)++] = (struct named_phase){name, phase};
    }
    qsort(*out, *count, sizeof **out, by_phase_name);
    return TP_OK;
}

static int add_phase(struct tp_pair_growth *g, const struct named_phase *one,
                     const struct named_phase *other, struct tp_err *err)
{
    int rc = TP_GROW(&g->phases, &g->phase_room, g->phase_count + 1, err, .what = "phases");
    if (rc == TP_OK)
        g->phases[g->phase_count++] = (struct tp_phase_growth){
            .name = one->name,
            .peak = {one->phase->peak, other->phase->peak},
            .peak_event = {one->phase->peak_event, other->phase->peak_event}};
    return rc;
}

static int pair_phases(const struct tp_trace_pair *pair, struct tp_pair_growth *g,
                       struct tp_err *err)
{
    struct named_phase *list[2] = {NULL, NULL};
    size_t count[2] = {0, 0};
    int rc = list_phases(&pair->side[0], &list[0], &count[0], err);
    if (rc == TP_OK)
        rc = list_phases(&pair->side[1], &list[1], &count[1], err);
    for (size_t i = 0, k = 0; rc == TP_OK && i < count[0] && k < count[1];) {
        int order = by_phase_name(&list[0][i], &list[1][k]);
        if (!order)
            rc = add_phase(g, &list[0][i], &list[1][k], err);
        i += order <= 0;
        k += order >= 0;
    }
    for (int side = 0; side < 2; side++) {
        g->phases_of[side] = count[side];
        free(list[side]);
    }
    return rc;
}

static int most_growth_first(const void *a, const void *b)
{
    const struct tp_phase_growth *x = a, *y = b;
    int order = tp_compare_growth(x->peak, y->peak);
    return order ? order : strcmp(x->name, y->name);
}

/* The row that differs most, in the direction of the whole where two do alike. */
static const struct tp_site_row *most_apart(const struct tp_site_rows *r)
{
    const struct tp_site_row *first = r->count ? &r->rows[0] : NULL;
    const struct tp_site_row *last = r->count ? &r->rows[r->count - 1] : NULL;
    if (!first || (!tp_apart(first->bytes) && !tp_apart(last->bytes)))
        return NULL;
    bool shrinks = r->bytes[1] < r->bytes[0];
    uint64_t up = tp_apart(first->bytes), down = tp_apart(last->bytes);
    return down > up || (down == up && shrinks) ? last : first;
}

static int look_at_phase(const struct tp_trace_pair *pair, const struct tp_growth_cfg *cfg,
                         struct tp_phase_growth *p, struct tp_err *err)
{
    struct tp_named_sites sites[2] = {{.count = 0}, {.count = 0}};
    struct tp_site_rows rows = {.count = 0};
    int rc = TP_OK;
    for (int side = 0; rc == TP_OK && side < 2; side++)
        rc = find_sites(&pair->side[side].trace, p->peak_event[side], cfg, &sites[side], err);
    if (rc == TP_OK)
        rc = tp_site_rows_of(&sites[0], &sites[1], &rows, err);
    const struct tp_site_row *most = rc == TP_OK ? most_apart(&rows) : NULL;
    p->looked = most != NULL;
    if (most) {
        p->kind = most->kind;
        memcpy(p->bytes, most->bytes, sizeof p->bytes);
        p->site = most->name ? strdup(most->name) : NULL;
        if (most->name && !p->site)
            rc = tp_fail(err, TP_ENOMEM, "out of memory for phases");
    }
    tp_site_rows_release(&rows);
    tp_sites_release(&sites[0]);
    tp_sites_release(&sites[1]);
    return rc;
}

/* Looks at the phases that differ most: those at both ends of the sorted list. */
static int look_at_phases(const struct tp_trace_pair *pair, const struct tp_growth_cfg *cfg,
                          struct tp_pair_growth *g, struct tp_err *err)
{
    size_t top = 0, end = g->phase_count;
    int rc = TP_OK;
    for (unsigned looked = 0; rc == TP_OK && looked < TP_PHASE_LOOKED_AT && top < end; looked++) {
        bool at_end = tp_apart(g->phases[end - 1].peak) > tp_apart(g->phases[top].peak);
        struct tp_phase_growth *p = at_end ? &g->phases[--end] : &g->phases[top++];
        if (!tp_apart(p->peak))
            break;
        rc = look_at_phase(pair, cfg, p, err);
    }
    return rc;
}

int tp_pair_growth_find(const struct tp_trace_pair *pair, const struct tp_growth_cfg *cfg,
                        struct tp_pair_growth *out, struct tp_err *err)
{
    *out = (struct tp_pair_growth){.by = cfg->by};
    int rc = TP_OK;
    for (int side = 0; rc == TP_OK && side < 2; side++)
        rc = at_peak(&pair->side[side].trace, cfg, &out->sites[side], err);
    if (rc == TP_OK)
        rc = tp_site_rows_of(&out->sites[0], &out->sites[1], &out->rows, err);
    if (rc == TP_OK)
        rc = pair_phases(pair, out, err);
    if (rc == TP_OK && out->phase_count)
        qsort(out->phases, out->phase_count, sizeof *out->phases, most_growth_first);
    bool twice = cfg->by == TP_BY_PHASE; /* its sites are phases already */
    return rc == TP_OK && !twice ? look_at_phases(pair, cfg, out, err) : rc;
}

void tp_pair_growth_release(struct tp_pair_growth *g)
{
    tp_site_rows_release(&g->rows);
    tp_sites_release(&g->sites[0]);
    tp_sites_release(&g->sites[1]);
    for (size_t i = 0; i < g->phase_count; i++)
        free(g->phases[i].site);
    TP_GROW_END(&g->phases, &g->phase_room, .what = NULL);
}
