/* See report_json.h. */
#include "cmd/results/report_json.h"

#include "alloc/base/units.h"
#include "cmd/results/site_curve.h"
#include "traces/places/site_ages.h"

static void write_site(struct tp_json *j, cJSON *place, const struct tp_sites *h,
                       const struct tp_site *row)
{
    bool aged = h->timed && row->youngest <= row->oldest;
    tp_json_text(j, place, "place", row->place);
    tp_json_uint(j, place, "bytes", (uint64_t)row->bytes);
    tp_json_uint(j, place, "blocks", row->blocks);
    tp_json_uint(j, place, "youngest_ns", aged ? row->youngest : TP_NONE);
    tp_json_uint(j, place, "oldest_ns", aged ? row->oldest : TP_NONE);
    cJSON *callers = tp_json_array(j, place, "callers");
    for (unsigned k = 0; k < row->caller_count; k++)
        tp_json_push(j, callers, cJSON_CreateString(row->callers[k].place));
    cJSON *largest = tp_json_array(j, place, "called_from");
    for (unsigned k = 0; k < row->largest_count; k++) {
        cJSON *from = tp_json_item(j, largest);
        tp_json_text(j, from, "place", row->largest[k].place);
        tp_json_uint(j, from, "bytes", (uint64_t)row->largest[k].bytes);
    }
}

void tp_json_site_age(struct tp_json *j, cJSON *row, const struct tp_site_age *a, bool timed)
{
    tp_json_text(j, row, "name", a->name);
    tp_json_uint(j, row, "objects", a->objects);
    tp_json_uint(j, row, "allocated_bytes", a->bytes);
    tp_json_uint(j, row, "median_ns", timed ? a->median : TP_NONE);
    tp_json_uint(j, row, "median_events", timed ? TP_NONE : a->median);
    tp_json_uint(j, row, "live_blocks", a->live);
    tp_json_uint(j, row, "live_bytes", a->live_bytes);
    tp_json_uint(j, row, "freed_later_bytes", a->freed);
    tp_json_uint(j, row, "oldest_ns", timed ? a->oldest : TP_NONE);
    tp_json_uint(j, row, "oldest_events", timed ? TP_NONE : a->oldest);
    tp_json_bool(j, row, "only_grows", a->grows);
}

void tp_json_sites(struct tp_json *j, cJSON *in, const char *name, const struct tp_sites *h)
{
    if (!h)
        return;
    cJSON *o = tp_json_object(j, in, name);
    tp_json_uint(j, o, "event", h->at == TP_AT_PEAK ? TP_NONE : h->at);
    tp_json_text(j, o, "by", tp_sites_by_words[h->by]);
    tp_json_uint(j, o, "depth", h->depth ? h->depth : 1);
    tp_json_uint(j, o, "bytes", h->bytes);
    tp_json_bool(j, o, "estimated", h->estimated);
    tp_json_uint(j, o, "unknown_bytes", (uint64_t)(h->unknown > 0 ? h->unknown : 0));
    cJSON *list = tp_json_array(j, o, "rests");
    struct tp_site_rest rests[TP_SITE_RESTS];
    for (unsigned i = 0, count = tp_site_rests(h, rests); i < count; i++) {
        cJSON *rest = tp_json_item(j, list);
        tp_json_text(j, rest, "why", rests[i].name);
        tp_json_uint(j, rest, "bytes", (uint64_t)rests[i].bytes);
    }
    tp_json_uint(j, o, "count", h->places);
    cJSON *places = tp_json_array(j, o, "places");
    for (unsigned i = 0; i < h->count; i++)
        write_site(j, tp_json_item(j, places), h, &h->rows[i]);
}

void tp_json_site_curve(struct tp_json *j, cJSON *in, const struct tp_site_curve *c)
{
    if (!c)
        return;
    cJSON *o = tp_json_object(j, in, "site_curve"), *places = tp_json_array(j, o, "places");
    for (unsigned i = 0; i < c->sites; i++)
        tp_json_push(j, places, cJSON_CreateString(c->table->rows[i].place));
    cJSON *points = tp_json_array(j, o, "points");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct tp_site_curve_point *p = &c->points[i];
        cJSON *point = cJSON_CreateArray();
        tp_json_push(j, point, tp_json_number(j, p->event));
        tp_json_push(j, point, tp_json_number(j, p->bytes[TP_SERIES_INITIAL]));
        tp_json_push(j, point, tp_json_number(j, p->bytes[TP_SERIES_OTHER]));
        for (unsigned k = 0; k < c->sites; k++)
            tp_json_push(j, point, tp_json_number(j, p->bytes[k]));
        tp_json_push(j, points, point);
    }
}
