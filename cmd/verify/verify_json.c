/* tapool.verify/2 (verify.schema.json): the figures of verify_text.c, and all of them. */
#include "alloc/base/units.h"
#include "cmd/ui/json_out.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"

static const char *const kinds[TP_DIFFERENCE_KINDS] = {
    [TP_OTHER_ADDRESS] = "other-address",
    [TP_NOT_SERVED] = "not-served",
    [TP_NEEDS_SEGMENT] = "needs-segment",
    [TP_NEEDS_MAPPING] = "needs-mapping",
    [TP_NEEDS_NONE] = "needs-no-memory",
    [TP_NOT_ITS_UNITS] = "other-units",
    [TP_MAPPED_IN_USE] = "mapped-in-use",
    [TP_SEGMENT_IN_USE] = "segment-in-use",
    [TP_HAS_ROOM] = "has-room",
    [TP_NOT_LIVE] = "not-live",
    [TP_START_UNPLACED] = "start-unplaced",
    [TP_OTHER_LAYOUT] = "other-layout",
    [TP_OTHER_SIZE] = "other-size",
    [TP_OTHER_FRAGMENTATION] = "other-fragmentation",
};

static void write_agreement(struct tp_json *j, cJSON *in, const char *name,
                            const struct tp_agreement *a)
{
    cJSON *o = tp_json_object(j, in, name);
    tp_json_uint(j, o, "total", a->all);
    tp_json_uint(j, o, "as_recorded", a->good);
}

static void write_difference(struct tp_json *j, cJSON *in, const struct tp_certifier *by,
                             const struct tp_verify_difference *d)
{
    bool in_place = tp_differs_in_place(d);
    if (d->kind == TP_NO_DIFFERENCE)
        return;
    cJSON *o = tp_json_object(j, in, "first_difference");
    tp_json_text(j, o, "kind", kinds[d->kind]);
    tp_json_uint(j, o, "event", d->event ? d->event : TP_NONE);
    tp_json_uint(j, o, "size_bytes", d->size);
    if (by->streams)
        tp_json_real(j, o, "stream", (double)d->stream);
    tp_json_uint(j, o, "recorded_address", in_place && d->expected ? d->expected : TP_NONE);
    tp_json_uint(j, o, "replayed_address", in_place && d->got ? d->got : TP_NONE);
    if (!in_place) {
        tp_json_uint(j, o, "recorded_value", d->expected);
        tp_json_uint(j, o, "replayed_value", d->got);
    }
    cJSON *blocks = tp_json_array(j, o, "free_blocks");
    for (size_t i = 0; i < d->choice_count; i++) {
        cJSON *block = tp_json_item(j, blocks);
        tp_json_uint(j, block, "address", d->choices[i].addr);
        tp_json_uint(j, block, "size_bytes", d->choices[i].size);
    }
}

static void write_changes(struct tp_json *j, cJSON *in, const struct tp_verified *v)
{
    static const char *const search[] = {[TP_NOT_SEARCHED] = NULL,
                                         [TP_CHANGES_FOUND] = "found",
                                         [TP_NO_CHANGE_FITS] = "not-found",
                                         [TP_SEARCH_CUT] = "cut"};
    tp_json_text(j, in, "settings_search", search[v->search]);
    cJSON *list = tp_json_array(j, in, "settings");
    for (size_t i = 0; i < v->change_count; i++) {
        cJSON *o = tp_json_item(j, list);
        tp_json_uint(j, o, "first_event", v->changes[i].event);
        tp_json_text(j, o, "conf", v->changes[i].conf);
        tp_json_uint(j, o, "addresses", v->changes[i].addresses);
        tp_json_uint(j, o, "other_settings", v->changes[i].others);
    }
}

static void write_start(struct tp_json *j, cJSON *in, const struct tp_verified *v)
{
    static const char *const known[TP_STARTS] = {[TP_START_INFERRED] = "inferred",
                                                 [TP_START_EMPTY] = "empty",
                                                 [TP_START_ALL_FREE] = "all-free",
                                                 [TP_START_ONE_CHUNK] = "one-free-block"};
    cJSON *o = tp_json_object(j, in, "initial_heap");
    if (known[v->start_known])
        tp_json_text(j, o, "known", known[v->start_known]);
    if (v->start_lasting)
        tp_json_uint(j, o, "lasting_bytes", v->start_lasting);
    if (v->reserved_how)
        tp_json_text(j, o, "reserved_assumed", v->reserved_how);
    tp_json_uint(j, o, "segments", v->start_segments);
    tp_json_uint(j, o, "mapped_parts", v->start_stretches);
    tp_json_uint(j, o, "inferred_pools", v->start_inferred);
    tp_json_uint(j, o, "blocks", v->start_blocks);
    tp_json_uint(j, o, "rounded_blocks", v->start_rounded);
    tp_json_uint(j, o, "larger_blocks", v->start_shown);
}

void tp_verify_json(struct tp_json *j, cJSON *devices, const struct tp_certifier *by,
                    const struct tp_verified *v)
{
    cJSON *o = tp_json_item(j, devices);
    tp_json_uint(j, o, "number", v->device);
    if (v->name)
        tp_json_text(j, o, "name", v->name);
    tp_json_bool(j, o, "agrees", tp_agrees(v));
    tp_json_uint(j, o, "events", v->events);
    write_agreement(j, o, "addresses", &v->addresses);
    if (v->sizes.all)
        write_agreement(j, o, "block_sizes", &v->sizes);
    if (v->fragmentation.all)
        write_agreement(j, o, "fragmentation", &v->fragmentation);
    write_agreement(j, o, "segments", &v->segments);
    write_agreement(j, o, "segments_taken", &v->taken);
    write_agreement(j, o, "segments_given_back", &v->returned);
    write_agreement(j, o, "ranges_mapped", &v->mapped);
    write_agreement(j, o, "ranges_unmapped", &v->unmapped);
    write_agreement(j, o, "out_of_memory", &v->failed);
    tp_json_uint(j, o, "out_of_memory_before_release", v->failed_unused);
    tp_json_uint(j, o, "end_blocks", v->blocks);
    tp_json_uint(j, o, "segment_bases", v->with_base);
    tp_json_uint(j, o, "expandable_segments_changes", v->switches);
    tp_json_uint(j, o, "private_pool_requests", v->unpooled);
    if (v->breaks)
        tp_json_uint(j, o, "missing_before", v->breaks);
    tp_json_uint(j, o, "frees_not_live", v->not_live);
    tp_json_uint(j, o, "unknown_events", v->unknown);
    write_start(j, o, v);
    write_difference(j, o, by, &v->first);
    write_changes(j, o, v);
}

cJSON *tp_verify_tree(struct tp_json *j, const struct tp_recorded_file *f, cJSON **devices)
{
    const char *kind = f->by->allocator(f->state);
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.verify/2");
    tp_json_tool(j, root);
    tp_json_text(j, root, "file", tp_input_name(f->reading.in));
    tp_json_text(j, root, "allocator", kind ? kind : f->by->by);
    *devices = tp_json_array(j, root, "devices");
    return root;
}
