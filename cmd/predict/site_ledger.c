/* See site_ledger.h. */
#include "cmd/predict/site_ledger.h"

#include "alloc/base/ascending.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the totals of allocation sites");
}

static bool make_holdings(struct tp_site_holdings *h, const struct tp_site_ledger *l)
{
    h->bytes = calloc(l->sites * l->recorded, sizeof *h->bytes);
    h->blocks = calloc(l->sites * l->recorded, sizeof *h->blocks);
    return h->bytes && h->blocks;
}

/* ---- sites ---- */

static size_t places_of(const struct tp_sample_run *r)
{
    return r->stacks ? tp_place_table_texts(r->stacks) : 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All places of all recordings, each once and in order. */
static int list_places(struct tp_site_ledger *l, struct tp_err *err)
{
    size_t all = 0, kept = 0;
    for (size_t i = 0; i < l->recorded; i++) {
        l->first[i] = all;
        all += places_of(l->recordings[i]);
    }
    l->places = calloc(all + 1, sizeof *l->places);
    l->site = calloc(all + 1, sizeof *l->site);
    if (!l->places || !l->site)
        return no_memory(err);
    for (size_t i = 0; i < l->recorded; i++)
        for (size_t k = 0; k < places_of(l->recordings[i]); k++)
            l->places[l->first[i] + k] = tp_place_table_get(l->recordings[i]->stacks, (uint32_t)k);
    qsort(l->places, all, sizeof *l->places, by_text);
    for (size_t i = 0; i < all; i++)
        if (!kept || strcmp(l->places[kept - 1], l->places[i]) != 0)
            l->places[kept++] = l->places[i];
    l->places[kept] = NULL;
    l->sites = kept + 1;
    return TP_OK;
}

static void find_sites(struct tp_site_ledger *l)
{
    for (size_t i = 0; i < l->recorded; i++)
        for (size_t k = 0; k < places_of(l->recordings[i]); k++) {
            const char *text = tp_place_table_get(l->recordings[i]->stacks, (uint32_t)k);
            const char **at = bsearch(&text, l->places, l->sites - 1, sizeof *l->places, by_text);
            l->site[l->first[i] + k] = (uint32_t)(at - l->places);
        }
}

static size_t site_of(const struct tp_site_ledger *l, size_t recording, const struct tp_request *q)
{
    return q->place == TP_NO_PLACE ? l->sites - 1 : l->site[l->first[recording] + q->place];
}

/* ---- a recording, replayed ---- */

struct ledger_walk {
    struct tp_site_ledger *of;
    size_t recording;
    double *bytes, *blocks; /* live, by site */
    double *total_at; /* by site: all that was live where it held most; NULL: not looked for */
    double total, peak;
    size_t changed;        /* site of the last change */
    const uint64_t *order; /* moments by instruction: instruction, moment; NULL: not looked for */
    size_t next, orders;
};

static void change(void *ctx, size_t request, bool begins)
{
    struct ledger_walk *w = ctx;
    const struct tp_request *q = &w->of->recordings[w->recording]->requests[request];
    double by = begins ? (double)q->size : -(double)q->size;
    w->changed = site_of(w->of, w->recording, q);
    w->bytes[w->changed] += by;
    w->blocks[w->changed] += begins ? 1 : -1;
    w->total += by;
}

/* Where a site holds most more than once, the moment where all of them hold most. */
static void look_for_most(void *ctx, uint64_t insn, uint64_t event)
{
    struct ledger_walk *w = ctx;
    struct tp_site_ledger *l = w->of;
    size_t site = w->changed, at = site * l->recorded + w->recording;
    double held = w->bytes[site], most = l->most.bytes[at];
    (void)event;
    if (w->total > w->peak) {
        w->peak = w->total;
        l->peak[w->recording] = insn;
    }
    if (held < most || held <= 0 || (held <= most && w->total <= w->total_at[site]))
        return;
    l->most.bytes[at] = held;
    l->most.blocks[at] = w->blocks[site];
    l->when[at] = insn;
    w->total_at[site] = w->total;
}

static void take_moments(void *ctx, uint64_t insn, uint64_t event)
{
    struct ledger_walk *w = ctx;
    struct tp_site_ledger *l = w->of;
    (void)event;
    for (; w->next < w->orders && w->order[2 * w->next] == insn; w->next++) {
        const struct tp_site_holdings *to = &l->moments[w->order[2 * w->next + 1]];
        for (size_t site = 0; site < l->sites; site++) {
            to->bytes[site * l->recorded + w->recording] = w->bytes[site];
            to->blocks[site * l->recorded + w->recording] = w->blocks[site];
        }
    }
}

static int walk(struct ledger_walk *w, void (*after)(void *, uint64_t, uint64_t),
                struct tp_err *err)
{
    const struct tp_live_replay how = {.change = change,
                                       .after = after,
                                       .ctx = w,
                                       .last_event = UINT64_MAX,
                                       .last_insn = UINT64_MAX};
    size_t *live = NULL;
    w->bytes = calloc(w->of->sites, sizeof *w->bytes);
    w->blocks = calloc(w->of->sites, sizeof *w->blocks);
    w->total_at = calloc(w->of->sites, sizeof *w->total_at);
    int rc = w->bytes && w->blocks && w->total_at
                 ? tp_sample_run_replay(w->of->recordings[w->recording], &how, &live, err)
                 : no_memory(err);
    free(live);
    free(w->bytes);
    free(w->blocks);
    free(w->total_at);
    return rc;
}

int tp_site_ledger_open(const struct tp_sample_run *const *recordings, size_t count,
                        struct tp_site_ledger *out, struct tp_err *err)
{
    *out = (struct tp_site_ledger){.recordings = recordings,
                                   .recorded = count,
                                   .peak = calloc(count, sizeof *out->peak),
                                   .first = calloc(count, sizeof *out->first)};
    int rc = out->peak && out->first ? list_places(out, err) : no_memory(err);
    if (rc != TP_OK)
        return rc;
    find_sites(out);
    out->when = calloc(out->sites * count, sizeof *out->when);
    if (!make_holdings(&out->most, out) || !out->when)
        return no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        rc = walk(&(struct ledger_walk){.of = out, .recording = i}, look_for_most, err);
    return rc;
}

/* ---- moments ---- */

static int take_all(struct tp_site_ledger *l, size_t recording, const size_t *sites, size_t count,
                    uint64_t *order, struct tp_err *err)
{
    for (size_t i = 0; i <= count; i++) {
        order[2 * i] = i ? l->when[sites[i - 1] * l->recorded + recording] : l->peak[recording];
        order[2 * i + 1] = i;
    }
    qsort(order, count + 1, 2 * sizeof *order, tp_by_number);
    return walk(
        &(struct ledger_walk){.of = l, .recording = recording, .order = order, .orders = count + 1},
        take_moments, err);
}

int tp_site_ledger_look(struct tp_site_ledger *l, const size_t *sites, size_t count,
                        struct tp_err *err)
{
    uint64_t *order = calloc(count + 1, 2 * sizeof *order);
    l->moments = calloc(count + 1, sizeof *l->moments);
    bool made = order && l->moments;
    for (l->moment_count = 0; made && l->moment_count <= count;)
        made = make_holdings(&l->moments[l->moment_count++], l);
    int rc = made ? TP_OK : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < l->recorded; i++)
        rc = take_all(l, i, sites, count, order, err);
    free(order);
    return rc;
}

static void release_holdings(struct tp_site_holdings *h)
{
    free(h->bytes);
    free(h->blocks);
}

void tp_site_ledger_release(struct tp_site_ledger *l)
{
    for (size_t i = 0; i < l->moment_count; i++)
        release_holdings(&l->moments[i]);
    release_holdings(&l->most);
    free(l->moments);
    free(l->places);
    free(l->when);
    free(l->peak);
    free(l->site);
    free(l->first);
    *l = (struct tp_site_ledger){.recorded = 0};
}
