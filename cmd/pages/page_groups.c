/* See page_groups.h. */
#include "cmd/pages/page_groups.h"

#include <stdlib.h>

static int find_sites(struct tp_page_groups *g, const struct tp_trace *trace,
                      const struct tp_held_list *live, struct tp_sites_cfg *cfg,
                      int (*stop)(struct tp_err *err), struct tp_err *err)
{
    int status = TP_OK;
    if (cfg->by != TP_BY_PLACE || trace->places.find)
        status = tp_sites_of(live, cfg, stop, &g->sites, err);
    g->fell_back = !status && !g->sites && live->count && cfg->by == TP_BY_PLACE;
    if (g->fell_back) {
        cfg->by = TP_BY_SIZE;
        status = tp_sites_of(live, cfg, stop, &g->sites, err);
    }
    g->by = cfg->by;
    g->timed = live->timed;
    return status;
}

static void fill_slots(struct tp_page_groups *g, const struct tp_held_list *live,
                       const uint32_t *of_block)
{
    for (size_t i = 0; i < live->count; i++) {
        const struct tp_held_block *b = &live->blocks[i];
        g->slots[b->slot] =
            (struct tp_held_slot){.group = of_block[i],
                                  .from_start = b->from_start,
                                  .sampled = g->by == TP_BY_PLACE && g->sites &&
                                             tp_place_sampled(&g->sites->sampling, b->size),
                                  .age = b->age};
    }
}

int tp_page_groups_find(const struct tp_trace *trace, uint64_t event,
                        const struct tp_sites_cfg *cfg, int (*stop)(struct tp_err *err),
                        struct tp_page_groups *out, struct tp_err *err)
{
    struct tp_held_list live = {.blocks = NULL};
    struct tp_sites_cfg sites = *cfg;
    *out = (struct tp_page_groups){.by = cfg->by};
    int status = tp_sites_list(trace, 0, event, &live, err);
    if (status)
        return status;
    sites.at = event;
    sites.of_block = calloc(live.count + 1, sizeof *sites.of_block);
    out->slots = calloc(tp_program_facts(trace->program)->slots + 1u, sizeof *out->slots);
    if (!sites.of_block || !out->slots)
        status = tp_fail(err, TP_ENOMEM, "out of memory for the pages by site");
    if (!status)
        status = find_sites(out, trace, &live, &sites, stop, err);
    if (!status)
        fill_slots(out, &live, sites.of_block);
    free(sites.of_block);
    free(live.blocks);
    return status;
}

void tp_page_groups_release(struct tp_page_groups *g)
{
    tp_sites_free(g->sites);
    free(g->slots);
    *g = (struct tp_page_groups){.sites = NULL};
}
