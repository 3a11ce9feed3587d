/* See why_pages.h: the document tapool.why-pages/1 (pages.schema.json). */
#include "cmd/pages/why_pages.h"

#include "cmd/results/figures.h"
#include "cmd/results/report_json.h"

static void write_parts(struct tp_json *j, cJSON *o, const struct tp_page_parts *p)
{
    tp_json_uint(j, o, "live_bytes", p->live);
    tp_json_uint(j, o, "rounding_bytes", p->rounding);
    tp_json_uint(j, o, "partly_free_bytes", p->partly_free);
    tp_json_uint(j, o, "free_pages_bytes", p->free_pages);
    tp_json_uint(j, o, "own_bytes", p->own);
    tp_json_uint(j, o, "resident_bytes", p->resident);
}

static void write_event(struct tp_json *j, cJSON *o, const struct tp_why_pages *w,
                        const struct tp_page_list_head *h)
{
    const struct tp_program_facts *f = tp_program_facts(w->trace->program);
    tp_json_uint(j, o, "event", h->event);
    tp_json_uint(j, o, "time_ns", f->time_known ? h->clock : TP_NONE);
}

static void write_malloc(struct tp_json *j, cJSON *root, const struct tp_why_pages *w)
{
    cJSON *malloc_ = tp_json_object(j, root, "malloc");
    tp_json_text(j, malloc_, "strategy", w->strategy);
    tp_json_text(j, malloc_, "library", *w->replay.library ? w->replay.library : NULL);
    tp_json_bool(j, malloc_, "recorded", w->recorded);
    tp_json_uint(j, malloc_, "threads", w->replay.resident.threads);
    tp_json_uint(j, malloc_, "start_bytes", w->replay.start);
}

static void write_rows(struct tp_json *j, cJSON *root, const struct tp_why_pages *w)
{
    cJSON *by = tp_json_object(j, root, "partly_free_by");
    tp_json_text(j, by, "what", tp_sites_by_words[w->by]);
    tp_json_bool(j, by, "estimated", w->estimated);
    tp_json_uint(j, by, "bytes", w->partly_free);
    tp_json_uint(j, by, "pages", w->pages);
    cJSON *rows = tp_json_array(j, by, "rows");
    for (size_t i = 0; i < w->count; i++) {
        const struct tp_holder *h = &w->rows[i].held;
        cJSON *o = tp_json_item(j, rows);
        tp_json_text(j, o, "name", w->rows[i].name);
        tp_json_real(j, o, "partly_free_bytes", h->partly_free);
        tp_json_real(j, o, "pages", h->pages);
        tp_json_real(j, o, "live_bytes", h->live);
        tp_json_real(j, o, "live_blocks", h->blocks);
        tp_json_uint(j, o, w->timed ? "oldest_ns" : "oldest_events",
                     h->oldest ? h->oldest : TP_NONE);
    }
}

static void write_ages(struct tp_json *j, cJSON *root, const struct tp_why_pages *w)
{
    cJSON *o = tp_json_object(j, root, "lifetimes");
    tp_json_bool(j, o, "estimated", w->ages && w->ages->estimated);
    cJSON *rows = tp_json_array(j, o, "rows");
    for (size_t i = 0; w->ages && i < w->ages->count; i++)
        tp_json_site_age(j, tp_json_item(j, rows), &w->ages->rows[i], w->ages->timed);
}

static void write_remedy(struct tp_json *j, cJSON *o, const struct tp_remedies *all,
                         const struct tp_remedy *r)
{
    static const char *const kinds[] = {[TP_REMEDY_PURGE] = "purge",
                                        [TP_REMEDY_SETTING] = "setting",
                                        [TP_REMEDY_LIBRARY] = "library",
                                        [TP_REMEDY_APART] = "region"};
    tp_json_text(j, o, "kind", r == &all->base ? "base" : kinds[r->kind]);
    tp_json_text(j, o, "what", r->what);
    tp_json_text(j, o, "strategy", r->strategy);
    tp_json_text(j, o, "refused", r->replays ? NULL : r->err.text);
    tp_json_uint(j, o, "replays", r->replays);
    if (!r->replays)
        return;
    tp_json_uint(j, o, "resident_bytes", r->resident);
    tp_json_uint(j, o, "resident_low_bytes", r->low);
    tp_json_uint(j, o, "resident_high_bytes", r->high);
    tp_json_uint(j, o, "start_bytes", r->start);
    tp_json_uint(j, o, "partly_free_bytes", r->parts.partly_free + r->region.partly_free);
    tp_json_uint(j, o, "free_pages_bytes", r->parts.free_pages + r->region.free_pages);
}

static void write_remedies(struct tp_json *j, cJSON *root, const struct tp_why_pages *w)
{
    const struct tp_remedies *r = &w->remedies;
    cJSON *o = tp_json_object(j, root, "alternatives");
    tp_json_uint(j, o, "not_tried", r->left_out);
    cJSON *rows = tp_json_array(j, o, "rows");
    if (r->base.replays)
        write_remedy(j, tp_json_item(j, rows), r, &r->base);
    for (size_t i = 0; i < r->count; i++)
        write_remedy(j, tp_json_item(j, rows), r, &r->rows[i]);
}

cJSON *tp_why_pages_tree(struct tp_json *j, const struct tp_why_pages *w)
{
    static const char *const when[] = {
        [TP_PAGES_PEAK] = "peak", [TP_PAGES_END] = "end", [TP_PAGES_AT] = "event"};
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.why-pages/1");
    tp_json_tool(j, root);
    tp_json_host_trace(j, root, w->trace);
    write_malloc(j, root, w);
    cJSON *moment = tp_json_object(j, root, "moment");
    tp_json_text(j, moment, "when", when[w->when]);
    tp_json_bool(j, moment, "most_free", w->chosen);
    write_event(j, moment, w, &w->list->head);
    tp_json_uint(j, moment, "page_bytes", w->list->head.page);
    tp_json_uint(j, moment, "live_blocks", w->list->head.blocks);
    tp_json_uint(j, moment, "requested_bytes", tp_why_pages_requested(w));
    write_parts(j, moment, &w->list->head.parts);
    tp_json_uint(j, moment, "huge_page_bytes", w->list->head.parts.huge_page);
    tp_json_uint(j, moment, "locked_bytes", w->list->head.parts.locked);
    tp_json_uint(j, moment, "shared_live_bytes", w->list->head.parts.shared_live);
    tp_json_text(j, moment, "pages_by", tp_pages_found_by(&w->replay.resident));
    tp_json_uint(j, moment, "pages_every", w->list->head.every);
    write_rows(j, root, w);
    write_ages(j, root, w);
    write_remedies(j, root, w);
    cJSON *moments = tp_json_array(j, root, "moments");
    for (size_t i = 0; i < w->replay.lists.count; i++) {
        cJSON *o = tp_json_item(j, moments);
        write_event(j, o, w, &w->replay.lists.lists[i].head);
        write_parts(j, o, &w->replay.lists.lists[i].head.parts);
    }
    return root;
}
