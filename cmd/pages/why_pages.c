/* See why_pages.h. */
#include "cmd/pages/why_pages.h"

#include "alloc/base/ascending.h"
#include "cmd/pages/page_groups.h"
#include "cmd/tune/malloc_settings.h"
#include "cmd/ui/environment.h"

#include <stdlib.h>
#include <string.h>

/* ---- the malloc ---- */

/* The malloc that the program had, with its variables, where it is known and here. */
static int find_recorded(struct tp_why_pages *w, struct tp_err *err)
{
    const struct tp_meta *meta = &w->trace->meta;
    struct tp_malloc_settings list = {0};
    int status = tp_malloc_settings_recorded(&list, meta->allocator, meta->settings, err);
    w->recorded = !status && list.count;
    w->strategy = strdup(w->recorded ? list.items[0].strategy : "system");
    tp_malloc_settings_release(&list);
    if (!status && !w->strategy)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    return status;
}

static int find_malloc(struct tp_why_pages *w, const char *given, struct tp_err *err)
{
    if (!given)
        return find_recorded(w, err);
    w->strategy = strdup(given);
    return w->strategy ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- moments ---- */

static uint64_t event_of(const struct tp_why_pages_cfg *cfg)
{
    const struct tp_program *p = cfg->trace->program;
    if (cfg->when == TP_PAGES_AT)
        return cfg->at;
    return cfg->when == TP_PAGES_PEAK ? tp_program_demand(p, 0)->event
                                      : tp_program_facts(p)->events;
}

/* The trace peak, the end, the event that is asked for, and those between. */
static void ask_moments(const struct tp_why_pages_cfg *cfg, struct tp_page_asked *asked)
{
    uint64_t events = tp_program_facts(cfg->trace->program)->events;
    *asked = (struct tp_page_asked){
        .count = 3,
        .events = {tp_program_demand(cfg->trace->program, 0)->event, events, event_of(cfg)}};
    for (uint32_t i = 1; i < cfg->frames && asked->count < TP_PAGE_MOMENTS; i++)
        asked->events[asked->count++] = (uint64_t)((double)events * i / cfg->frames);
    asked->count = (uint32_t)tp_ascending(asked->events, asked->count);
}

/* The list of the moment. The last one that is not behind the event: a moment has the number of the
 * last event before it. Of several with as much free memory, as where none is free, the last. */
static const struct tp_page_list *find_list(const struct tp_why_pages_cfg *cfg,
                                            const struct tp_page_lists *lists)
{
    const struct tp_page_list *best = &lists->lists[0];
    uint64_t event = event_of(cfg);
    for (size_t i = 0; i < lists->count; i++) {
        const struct tp_page_list *l = &lists->lists[i];
        bool better = cfg->when == TP_PAGES_AUTO ? tp_page_parts_free(&l->head.parts) >=
                                                       tp_page_parts_free(&best->head.parts)
                                                 : l->head.event <= event;
        best = better ? l : best;
    }
    return best;
}

static enum tp_pages_when when_of(const struct tp_why_pages_cfg *cfg, uint64_t event)
{
    const struct tp_program *p = cfg->trace->program;
    if (cfg->when != TP_PAGES_AUTO)
        return cfg->when;
    if (event >= tp_program_facts(p)->events)
        return TP_PAGES_END;
    return event == tp_program_demand(p, 0)->event ? TP_PAGES_PEAK : TP_PAGES_AT;
}

/* ---- by whom ---- */

static int take_rows(struct tp_why_pages *w, const struct tp_holders *h, struct tp_err *err)
{
    w->rows = calloc(h->count + 1, sizeof *w->rows);
    if (!w->rows)
        return tp_fail(err, TP_ENOMEM, "out of memory for the pages by site");
    for (size_t i = 0; i < h->count; i++) {
        const struct tp_holder *held = &h->rows[i];
        const char *name =
            held->group == TP_HOLDER_UNKNOWN ? NULL : tp_texts_get(&w->sites->names, held->group);
        w->rows[w->count++] = (struct tp_page_site){.name = name, .held = *held};
    }
    w->partly_free = h->partly_free;
    w->pages = h->pages;
    w->estimated = h->estimated;
    return TP_OK;
}

static int find_holders(struct tp_why_pages *w, const struct tp_why_pages_cfg *cfg,
                        struct tp_err *err)
{
    struct tp_page_groups g;
    struct tp_holders held = {.count = 0};
    int status =
        tp_page_groups_find(w->trace, w->list->head.event, &cfg->sites, cfg->stop, &g, err);
    if (!status)
        status = tp_holders_of(w->list, g.slots, tp_page_groups_count(&g), &held, err);
    w->sites = g.sites;
    w->by = g.by;
    w->fell_back = g.fell_back;
    w->timed = g.timed;
    g.sites = NULL;
    if (!status)
        status = take_rows(w, &held, err);
    tp_holders_release(&held);
    tp_page_groups_release(&g);
    return status;
}

/* ---- lifetimes, and what would help ---- */

enum { MOVED = 2 };     /* sites that are tried in a region of their own, at most */
#define MOVED_LEAST 0.1 /* of the partly free bytes that such a site holds */

/* The sites that hold most. What is known of a share of the blocks only cannot be moved. */
static size_t find_moved(const struct tp_why_pages *w, struct tp_site_events moved[MOVED])
{
    size_t count = 0;
    bool all = w->by == TP_BY_PLACE && w->sites && w->sites->sampling.every <= 1;
    for (size_t i = 0; all && i < w->count && count < MOVED; i++)
        if (w->rows[i].name && w->rows[i].held.partly_free >= MOVED_LEAST * (double)w->partly_free)
            moved[count++] = (struct tp_site_events){.name = w->rows[i].name};
    return count;
}

static int find_ages(struct tp_why_pages *w, const struct tp_why_pages_cfg *cfg,
                     struct tp_site_events *moved, size_t count, struct tp_err *err)
{
    struct tp_sites_cfg sites = cfg->sites;
    sites.by = w->by;
    sites.at = w->list->head.event;
    int status = tp_site_ages_find(w->trace, 0, &sites, moved, count, cfg->stop, &w->ages, err);
    for (size_t i = 0; !status && w->ages && i < w->count; i++)
        w->rows[i].age = tp_site_age_of(w->ages, w->rows[i].name);
    return status;
}

static int find_remedies(struct tp_why_pages *w, const struct tp_why_pages_cfg *cfg,
                         const struct tp_page_job *job, const struct tp_site_events *moved,
                         size_t count, struct tp_err *err)
{
    struct tp_remedy_site sites[MOVED];
    for (size_t i = 0; i < count; i++)
        sites[i] = (struct tp_remedy_site){moved[i].name, moved[i].events, moved[i].count};
    return tp_remedies_find(&(struct tp_remedies_cfg){.job = job,
                                                      .strategy = w->strategy,
                                                      .event = w->list->head.event,
                                                      .parts = &w->list->head.parts,
                                                      .start = w->replay.start,
                                                      .sites = sites,
                                                      .site_count = count,
                                                      .budget_ns = cfg->try_ns},
                            &w->remedies, err);
}

static int find_help(struct tp_why_pages *w, const struct tp_why_pages_cfg *cfg,
                     const struct tp_page_job *job, struct tp_err *err)
{
    struct tp_site_events moved[MOVED] = {{.name = NULL}};
    size_t count = find_moved(w, moved);
    int status = find_ages(w, cfg, moved, count, err);
    if (!status && cfg->try_ns)
        status = find_remedies(w, cfg, job, moved, count, err);
    for (size_t i = 0; i < count; i++)
        tp_site_events_release(&moved[i]);
    return status;
}

/* ---- all of it ---- */

int tp_why_pages(const struct tp_why_pages_cfg *cfg, struct tp_why_pages *out, struct tp_err *err)
{
    struct tp_touched touched;
    struct tp_page_asked asked;
    uint64_t events = tp_program_facts(cfg->trace->program)->events;
    *out = (struct tp_why_pages){.trace = cfg->trace, .cfg = cfg};
    if (cfg->when == TP_PAGES_AT && cfg->at > events)
        return tp_fail(err, TP_EUSAGE, "there is no event %llu: the trace has %llu",
                       (unsigned long long)cfg->at, (unsigned long long)events);
    tp_environment_forget_mallocs();
    int status = find_malloc(out, cfg->malloc, err);
    if (status)
        return status;
    tp_meta_touched(&cfg->trace->meta, &touched);
    ask_moments(cfg, &asked);
    const struct tp_page_job job = {.program = cfg->trace->program,
                                    .touched = &touched,
                                    .timeout_ns = cfg->timeout_ns,
                                    .huge_pages = cfg->huge_pages,
                                    .interrupted = cfg->interrupted};
    status = tp_page_replay(&job, out->strategy, &asked, &out->replay, err);
    if (status)
        return status;
    out->list = find_list(cfg, &out->replay.lists);
    out->when = when_of(cfg, out->list->head.event);
    out->chosen = cfg->when == TP_PAGES_AUTO;
    status = find_holders(out, cfg, err);
    return status ? status : find_help(out, cfg, &job, err);
}

uint64_t tp_why_pages_requested(const struct tp_why_pages *w)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < w->list->head.blocks; i++)
        sum += w->list->blocks[i].requested;
    return sum;
}

void tp_why_pages_release(struct tp_why_pages *w)
{
    tp_page_replay_release(&w->replay);
    tp_sites_free(w->sites);
    tp_site_ages_free(w->ages);
    tp_remedies_release(&w->remedies);
    free(w->rows);
    free(w->strategy);
    *w = (struct tp_why_pages){.count = 0};
}
