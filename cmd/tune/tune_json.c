/* Writes tapool.tune/2 (tune.schema.json). */
#include "cmd/tune/tune.h"
#include "cmd/ui/json_out.h"

#include <stdlib.h>

static void write_figures(struct tp_json *j, cJSON *o, const struct tp_tune_figures *f)
{
    tp_json_uint(j, o, "peak_reserved_bytes", f->peak_reserved);
    tp_json_uint(j, o, "driver_calls", f->calls);
    tp_json_uint(j, o, "retries", f->retries);
    tp_json_uint(j, o, "failed_allocations", f->failed);
    tp_json_uint(j, o, "first_failed_event", f->failed ? f->first_failed_event : UINT64_MAX);
}

/* The files of the largest peak and of the first failure. */
static void write_places(struct tp_json *j, cJSON *o, const struct tp_tune_figures *f)
{
    tp_json_uint(j, o, "peak_file", f->peak_file);
    tp_json_uint(j, o, "failed_file", f->failed ? f->failed_file : UINT64_MAX);
}

/* 0 where it is not known. */
static uint64_t known(uint64_t value)
{
    return value ? value : UINT64_MAX;
}

static void write_file(struct tp_json *j, cJSON *o, const struct tp_tune_file *f)
{
    const struct tp_program_facts *facts = tp_program_facts(f->trace.program);
    tp_json_text(j, o, "path", f->trace.path);
    tp_json_text(j, o, "file", f->trace.file);
    tp_json_text(j, o, "format", f->trace.format);
    tp_json_uint(j, o, "events", facts->events);
    tp_json_uint(j, o, "devices", facts->devices);
    tp_json_uint(j, o, "live_before", facts->initial_heap);
    tp_json_uint(j, o, "capacity_bytes", f->capacity ? f->capacity : UINT64_MAX);
    tp_json_uint(j, o, "peak_requested_bytes", f->live);
    tp_json_uint(j, o, "peak_requested_event", f->live_event);
    tp_json_uint(j, o, "best_packing_bytes", known(f->packed));
    tp_json_text(j, o, "setting", f->recorded);
    tp_json_uint(j, o, "recorded_addresses", known(f->fidelity.addresses));
    tp_json_uint(j, o, "reproduced_addresses",
                 f->fidelity.addresses ? f->fidelity.good_addresses : UINT64_MAX);
    if (f->knows) {
        cJSON *did = tp_json_object(j, o, "recorded");
        tp_json_uint(j, did, "peak_reserved_bytes", f->did.peak_reserved);
        tp_json_uint(j, did, "driver_calls", f->did.calls);
        tp_json_uint(j, did, "retries", f->did.retries);
        tp_json_uint(j, did, "failed_allocations", f->did.failed);
        tp_json_uint(j, did, "first_failed_event",
                     f->did.failed ? f->did.first_failed_event : UINT64_MAX);
    }
}

static void write_setting(struct tp_json *j, cJSON *o, const struct tp_tune *t,
                          const struct tp_tune_setting *s, bool with_files)
{
    tp_json_text(j, o, "setting", s->conf);
    tp_json_bool(j, o, "recorded", s->recorded);
    tp_json_bool(j, o, "reference", s->twin);
    tp_json_text(j, o, "danger", s->danger);
    tp_json_text(j, o, "newer_key", s->newer);
    tp_json_text(j, o, "refused", s->status ? s->err.text : NULL);
    if (s->status)
        return;
    tp_json_bool(j, o, "on_front", s->on_front);
    tp_json_bool(j, o, "compacted_start", s->compacted);
    write_figures(j, o, &s->all);
    write_places(j, o, &s->all);
    cJSON *files = with_files ? tp_json_array(j, o, "files") : NULL;
    for (size_t i = 0; with_files && i < t->file_count; i++)
        write_figures(j, tp_json_item(j, files), &s->files[i]);
}

/* The index of a setting in the document. */
static uint64_t index_of(const struct tp_tune *t, const struct tp_tune_setting *s,
                         const bool *chosen)
{
    uint64_t index = 0;
    for (size_t i = 0; s && i < (size_t)(s - t->settings); i++)
        index += !chosen || chosen[i];
    return s ? index : UINT64_MAX;
}

static void write_answer(struct tp_json *j, cJSON *o, const struct tp_tune *t,
                         const struct tp_tune_answer *a, const bool *chosen)
{
    static const char *const members[TP_TUNE_NAMED] = {[TP_TUNE_LEAST_MEMORY] = "least_memory",
                                                       [TP_TUNE_FEWEST_CALLS] =
                                                           "fewest_driver_calls",
                                                       [TP_TUNE_SIMPLEST] = "simplest"};
    struct tp_str sentence = {0};
    tp_tune_sentence(t, a, false, &sentence);
    for (int i = 0; i < TP_TUNE_NAMED; i++)
        tp_json_uint(j, o, members[i], index_of(t, a->named[i], chosen));
    tp_json_text(j, o, "verdict", tp_tune_verdicts[a->verdict]);
    tp_json_uint(j, o, "compared_with", index_of(t, a->base, chosen));
    tp_json_uint(j, o, "best", index_of(t, a->best, chosen));
    tp_json_text(j, o, "sentence", tp_str_text(&sentence));
    tp_str_drop(&sentence);
}

cJSON *tp_tune_tree_of(struct tp_json *j, const struct tp_tune *t, const struct tp_tune_answers *a,
                       const bool *chosen)
{
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.tune/2");
    tp_json_tool(j, root);
    cJSON *files = tp_json_array(j, root, "files");
    for (size_t i = 0; i < t->file_count; i++)
        write_file(j, tp_json_item(j, files), &t->files[i]);
    cJSON *settings = tp_json_array(j, root, "settings");
    for (size_t i = 0; i < t->setting_count; i++)
        if (!chosen || chosen[i])
            write_setting(j, tp_json_item(j, settings), t, &t->settings[i], !chosen);
    if (!t->pool_status) {
        cJSON *pool = tp_json_object(j, root, "driver_pool");
        tp_json_uint(j, pool, "peak_reserved_bytes", t->pool.peak_reserved);
        tp_json_uint(j, pool, "failed_allocations", t->pool.failed);
    }
    tp_json_uint(j, root, "lower_bound_bytes", tp_tune_largest(t)->live);
    tp_json_uint(j, root, "best_packing_bytes", known(tp_tune_largest(t)->packed));
    write_answer(j, tp_json_object(j, root, "answer"), t, &a->any, chosen);
    write_answer(j, tp_json_object(j, root, "answer_without_newer_keys"), t, &a->older, chosen);
    return root;
}

cJSON *tp_tune_tree(struct tp_json *j, const void *of)
{
    const struct tp_tune_page *p = of;
    return tp_tune_tree_of(j, p->t, p->answers, NULL);
}
