/* See why.h. */
#include "cmd/why/why.h"

#include "alloc/base/units.h"
#include "cmd/results/report_json.h"

static void write_event(struct tp_json *j, cJSON *o, const struct tp_why *w)
{
    const struct tp_why_moment *m = &w->moment;
    cJSON *e = tp_json_object(j, o, "event");
    tp_json_uint(j, e, "number", m->event);
    tp_json_uint(j, e, "of", m->events);
    tp_json_uint(j, e, "time_ns", m->has_time ? m->since_ns : TP_NONE);
    tp_json_text(j, e, "place", *w->place ? w->place : NULL);
    tp_json_bool(j, e, "out_of_memory", m->failed);
    tp_json_uint(j, o, "out_of_memory", m->ooms);
    tp_json_uint(j, o, "retries", w->recording.retries);
    tp_json_uint(j, o, "first_retry_event",
                 w->recording.retries ? w->recording.first_retry : TP_NONE);
    tp_json_uint(j, o, "capacity_bytes", w->recording.capacity ? w->recording.capacity : TP_NONE);
}

static void write_sum(struct tp_json *j, cJSON *in, const struct tp_why_sum *s)
{
    cJSON *o = tp_json_object(j, in, "memory");
    tp_json_uint(j, o, "requested_bytes", s->requested);
    tp_json_uint(j, o, "rounding_bytes", s->rounding);
    tp_json_uint(j, o, "hole_bytes", s->hole_bytes);
    tp_json_uint(j, o, "free_bytes", s->free_bytes);
    tp_json_uint(j, o, "reserved_bytes", s->reserved);
    tp_json_uint(j, o, "live_blocks", s->live);
    tp_json_uint(j, o, "holes", s->holes);
    tp_json_uint(j, o, "largest_hole_bytes", s->largest);
    tp_json_uint(j, o, "free_segments", s->unused);
    tp_json_uint(j, o, "free_units", s->free_units);
    tp_json_uint(j, o, "segments", s->segments);
}

static void write_way(struct tp_json *j, cJSON *in, const struct tp_why *w)
{
    static const char *const made[] = {[TP_WHY_HOLE] = "free block",
                                       [TP_WHY_SEGMENTS] = "unused segments",
                                       [TP_WHY_UNITS] = "units"};
    const struct tp_why_room *r = &w->room;
    if (!r->block_count)
        return;
    cJSON *o = tp_json_object(j, in, "in_the_way");
    tp_json_text(j, o, "makes", made[r->way]);
    tp_json_uint(j, o, "blocks", r->block_count);
    tp_json_uint(j, o, "bytes", r->bytes);
    tp_json_uint(j, o, "segments", r->segments);
    cJSON *largest = tp_json_array(j, o, "largest");
    for (size_t i = 0; i < w->named_count; i++) {
        cJSON *b = tp_json_item(j, largest);
        tp_json_uint(j, b, "bytes", w->named[i].bytes);
        tp_json_text(j, b, "place", *w->named[i].place ? w->named[i].place : NULL);
    }
}

static void write_request(struct tp_json *j, cJSON *in, const struct tp_why *w)
{
    static const char *const verdicts[] = {
        [TP_WHY_NO_REQUEST] = "none",       [TP_WHY_TOO_BIG] = "too big",
        [TP_WHY_FRAGMENTED] = "fragmented", [TP_WHY_NO_CAPACITY] = "not known",
        [TP_WHY_REFUSED] = "refused",       [TP_WHY_HAD_ROOM] = "not clear",
    };
    const struct tp_why_room *r = &w->room;
    const struct tp_why_event *oom = &w->moment.what;
    if (!w->judged)
        return;
    cJSON *o = tp_json_object(j, in, "request");
    tp_json_uint(j, o, "bytes", oom->size);
    tp_json_text(j, o, "verdict", verdicts[r->verdict]);
    tp_json_uint(j, o, "block_bytes", r->need);
    tp_json_uint(j, o, "segment_bytes", r->segment);
    tp_json_uint(j, o, "device_free_bytes", oom->has_free ? oom->device_free : TP_NONE);
    tp_json_uint(j, o, "capacity_bytes", oom->has_free ? r->capacity : TP_NONE);
    tp_json_uint(j, o, "unused_bytes", r->there);
    tp_json_uint(j, o, "largest_hole_bytes", r->largest);
    tp_json_uint(j, o, "fitting_bytes", r->fitting ? r->fitting : TP_NONE);
    write_way(j, o, w);
}

static void write_tries(struct tp_json *j, cJSON *in, const struct tp_why_tries *t)
{
    if (!t->count)
        return;
    tp_json_uint(j, in, "settings_capacity_bytes", t->capacity ? t->capacity : TP_NONE);
    cJSON *list = tp_json_array(j, in, "settings");
    for (size_t i = 0; i < t->count; i++) {
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "conf", t->rows[i].recorded ? NULL : t->rows[i].conf);
        tp_json_bool(j, o, "compacted_start", t->rows[i].compacted);
        tp_json_uint(j, o, "peak_reserved_bytes", t->rows[i].peak_reserved);
        tp_json_uint(j, o, "failed_requests", t->rows[i].failed);
    }
}

static void write_agreement(struct tp_json *j, cJSON *in, const char *name, struct tp_agreement a)
{
    cJSON *o = tp_json_object(j, in, name);
    tp_json_uint(j, o, "recorded", a.all);
    tp_json_uint(j, o, "as_recorded", a.good);
}

static void write_fidelity(struct tp_json *j, cJSON *in, const struct tp_verified *v)
{
    cJSON *o = tp_json_object(j, in, "fidelity");
    tp_json_uint(j, o, "addresses", v->addresses.all);
    tp_json_uint(j, o, "as_recorded", v->addresses.good);
    write_agreement(j, o, "segments_taken", v->taken);
    write_agreement(j, o, "segments_given_back", v->returned);
    write_agreement(j, o, "ranges_mapped", v->mapped);
    write_agreement(j, o, "ranges_unmapped", v->unmapped);
    tp_json_uint(j, o, "differs_at_event", tp_agrees(v) ? TP_NONE : v->first.event);
}

cJSON *tp_why_tree(struct tp_json *j, const struct tp_why *list, size_t count, const char *file)
{
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.why/2");
    tp_json_tool(j, root);
    tp_json_text(j, root, "file", file);
    cJSON *devices = tp_json_array(j, root, "devices");
    for (size_t i = 0; i < count; i++) {
        cJSON *o = tp_json_item(j, devices);
        tp_json_uint(j, o, "number", list[i].device);
        if (list[i].name)
            tp_json_text(j, o, "name", list[i].name);
        tp_json_bool(j, o, "replayed", list[i].replayed);
        write_event(j, o, &list[i]);
        write_sum(j, o, &list[i].sum);
        write_request(j, o, &list[i]);
        tp_json_sites(j, o, "sites", list[i].sites);
        write_tries(j, o, &list[i].tries);
        write_fidelity(j, o, &list[i].verified);
    }
    return root;
}
