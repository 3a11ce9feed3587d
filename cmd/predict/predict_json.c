/* The JSON of a prediction, which predict.schema.json describes. */
#include "cmd/predict/predict_text.h"

#include "alloc/base/units.h"

static uint64_t known(uint64_t value)
{
    return value ? value : TP_NONE;
}

/* The setting `unknown` has no value. */
static void write_setting(struct tp_json *j, cJSON *list, const struct tp_axis_values *at,
                          char *const axes[TP_AXES], size_t unknown)
{
    for (size_t i = 0; i < at->count; i++) {
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "name", axes[i]);
        tp_json_uint(j, o, "value", i == unknown ? TP_NONE : at->values[i]);
    }
}

static void write_values(struct tp_json *j, cJSON *o, const struct tp_axis_values *at)
{
    cJSON *values = tp_json_array(j, o, "values");
    for (size_t i = 0; i < at->count; i++)
        tp_json_push(j, values, tp_json_number(j, at->values[i]));
}

static void write_gap(struct tp_json *j, cJSON *in, const char *name,
                      const struct tp_predict_gap *gap)
{
    cJSON *o = tp_json_object(j, in, name);
    tp_json_uint(j, o, "requests", gap->requests);
    tp_json_uint(j, o, "bytes", gap->bytes);
    tp_json_real(j, o, "share", gap->share);
}

static void write_alignment(struct tp_json *j, cJSON *root, const struct tp_prediction *p)
{
    static const char *const names[TP_LAW_KINDS] = {
        [TP_LAW_NONE] = "none",       [TP_LAW_CONSTANT] = "constant",
        [TP_LAW_POWER] = "power",     [TP_LAW_PADDED] = "padded",
        [TP_LAW_SHIFTED] = "shifted", [TP_LAW_QUADRATIC] = "quadratic",
        [TP_LAW_PRODUCT] = "product", [TP_LAW_BILINEAR] = "bilinear"};
    cJSON *o = tp_json_object(j, root, "alignment");
    tp_json_uint(j, o, "base", p->base);
    tp_json_bool(j, o, "by_call_stack", p->recordings[p->base]->placed);
    tp_json_uint(j, o, "requests", p->recordings[p->base]->count);
    tp_json_uint(j, o, "aligned", p->aligned);
    tp_json_uint(j, o, "narrowed", p->narrowed);
    write_gap(j, o, "only_in_base", &p->alone);
    write_gap(j, o, "by_twins", &p->twins);
    write_gap(j, o, "doubtful", &p->doubtful);
    write_gap(j, o, "missing_in_base", &p->missing);
    write_gap(j, o, "without_law", &p->lawless);
    cJSON *laws = tp_json_object(j, o, "laws");
    for (int kind = 0; kind < TP_LAW_KINDS; kind++)
        tp_json_uint(j, laws, names[kind], p->kinds[kind]);
}

static void write_sites(struct tp_json *j, cJSON *o, const struct tp_predict_peak *peak,
                        char *const axes[TP_AXES], size_t most)
{
    cJSON *sites = tp_json_array(j, o, "sites");
    for (size_t i = 0; i < peak->count && i < most; i++) {
        cJSON *s = tp_json_item(j, sites);
        char law[TP_LAW_TEXT];
        tp_law_text(&peak->sites[i].law, axes, law);
        tp_json_text(j, s, "place", peak->sites[i].place);
        tp_json_text(j, s, "law", law);
        tp_json_uint(j, s, "base_bytes", peak->sites[i].was);
        tp_json_uint(j, s, "bytes", peak->sites[i].is);
    }
}

static void write_try(struct tp_json *j, cJSON *o, const struct tp_predict_try *t, bool recorded)
{
    tp_json_text(j, o, "setting", t->conf);
    tp_json_bool(j, o, "recorded", recorded);
    tp_json_bool(j, o, "compacted_start", t->compacted);
    tp_json_uint(j, o, "peak_reserved_bytes", t->peak_reserved);
    tp_json_uint(j, o, "failed_allocations", t->failed);
    tp_json_uint(j, o, "min_capacity_bytes", t->min_capacity);
}

/* What is not known of a peak. */
static void write_doubts(struct tp_json *j, cJSON *o, const struct tp_predict_answer *a)
{
    tp_json_uint(j, o, "padded_requested_bytes", known(a->padding.peak));
    tp_json_uint(j, o, "power_of_2_requested_bytes", known(a->padding.doubled));
    tp_json_uint(j, o, "fewest_requested_bytes", known(a->fewest));
    tp_json_uint(j, o, "peak_before_steps_bytes", known(a->before));
}

static void write_memory(struct tp_json *j, cJSON *root, const struct tp_predict_answer *a,
                         size_t sites)
{
    cJSON *o = tp_json_object(j, root, "predicted");
    tp_json_uint(j, o, "peak_requested_bytes", a->peak.bytes);
    tp_json_uint(j, o, "peak_requested_event", a->peak.event);
    tp_json_uint(j, o, "doubtful_requested_bytes", a->most.peak);
    write_doubts(j, o, a);
    tp_json_uint(j, o, "doubtful_reserved_bytes", known(a->most.peak_reserved));
    cJSON *settings = tp_json_array(j, o, "settings");
    for (size_t i = 0; i < TP_PREDICT_TRIES; i++)
        if (a->tries[i].conf)
            write_try(j, tp_json_item(j, settings), &a->tries[i], i != TP_PREDICT_BEST);
    write_sites(j, o, &a->peak, a->prediction.recordings[0]->axes, sites);
}

static void write_points(struct tp_json *j, cJSON *root, const struct tp_predict_answer *a)
{
    cJSON *points = tp_json_array(j, root, "curve");
    for (size_t i = 0; i < a->point_count; i++) {
        cJSON *o = tp_json_item(j, points);
        tp_json_uint(j, o, "value", a->points[i].n);
        tp_json_uint(j, o, "peak_requested_bytes", a->points[i].requested);
        tp_json_uint(j, o, "peak_reserved_bytes", a->points[i].reserved);
        tp_json_uint(j, o, "recorded_requested_bytes", a->points[i].recorded);
    }
}

static void write_check(struct tp_json *j, cJSON *root, const struct tp_predict_report *r)
{
    const struct tp_predict_real *real = &r->answer->real;
    cJSON *o = tp_json_object(j, root, "check");
    tp_json_text(j, o, "path", r->asking->real->trace.path);
    tp_json_uint(j, o, "requests", real->requests);
    tp_json_uint(j, o, "sizes_exact", real->exact);
    tp_json_uint(j, o, "peak_requested_bytes", real->peak);
    tp_json_uint(j, o, "replayed_peak_reserved_bytes", real->peak_reserved);
    tp_json_uint(j, o, "recorded_peak_reserved_bytes", real->recorded);
}

static void write_fit(struct tp_json *j, cJSON *root, const struct tp_predict_report *r)
{
    static const struct tp_predict_answer nothing; /* of this value: it is about that of --at */
    const struct tp_predict_fit *f = &r->answer->fit;
    cJSON *o = tp_json_object(j, root, "fit");
    tp_json_uint(j, o, "capacity_bytes", f->capacity);
    tp_json_uint(j, o, "step", f->step);
    tp_json_uint(j, o, "scan_step", f->apart * f->step);
    tp_json_uint(j, o, "fits", known(f->fits));
    tp_json_uint(j, o, "fails", known(f->fails));
    tp_json_uint(j, o, "smaller_that_fails", known(f->hole));
    tp_json_uint(j, o, "failed_event", known(f->event));
    tp_json_bool(j, o, "failed_initially", f->initial);
    tp_json_uint(j, o, "failed_size_bytes", known(f->size));
    tp_json_text(j, o, "failed_place", f->place);
    tp_json_uint(j, o, "peak_requested_bytes", known(f->peak));
    tp_json_uint(j, o, "doubtful_requested_bytes", known(f->most));
    write_doubts(j, o, r->asking->n ? &nothing : r->answer);
}

static void write_totals(struct tp_json *j, cJSON *root, const struct tp_predict_report *r)
{
    const struct tp_site_totals *t = r->totals;
    const struct tp_sample_run *real = r->asking->real;
    cJSON *o = tp_json_object(j, root, "totals"), *others, *sites;
    tp_json_uint(j, o, "peak_requested_bytes", t->bytes);
    tp_json_uint(j, o, "bent_bytes", t->bent);
    tp_json_uint(j, o, "other_phase_bytes", known(t->other_phase));
    tp_json_uint(j, o, "smaller_tables_bytes", t->smaller);
    tp_json_uint(j, o, "larger_tables_bytes", t->larger);
    tp_json_real(j, o, "cross_check", t->difference);
    tp_json_uint(j, o, "recorded_peak_requested_bytes",
                 real ? tp_program_demand(real->trace.program, 0)->bytes : TP_NONE);
    others = tp_json_array(j, o, "from_others_bytes");
    for (size_t i = 0; i < r->asking->count; i++)
        tp_json_push(j, others, tp_json_number(j, t->others[i]));
    sites = tp_json_array(j, o, "sites");
    for (size_t i = 0; i < t->count; i++) {
        cJSON *s = tp_json_item(j, sites);
        tp_json_text(j, s, "place", t->sites[i].place);
        tp_json_uint(j, s, "power", t->sites[i].power);
        tp_json_bool(j, s, "doubles", t->sites[i].doubles);
        tp_json_uint(j, s, "largest_recording_bytes", t->sites[i].was);
        tp_json_uint(j, s, "bytes", t->sites[i].bytes);
    }
}

static void write_recordings(struct tp_json *j, cJSON *root, const struct tp_predict_report *r)
{
    cJSON *list = tp_json_array(j, root, "recordings");
    for (size_t i = 0; i < r->asking->count; i++) {
        const struct tp_sample_run *of = r->asking->recordings[i];
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "path", of->trace.path);
        write_values(j, o, &of->at);
        tp_json_uint(j, o, "requests", of->count);
        if (r->asking->steps)
            tp_json_uint(j, o, "peak_before_steps_bytes", of->before);
        if (!r->answer->check_count || r->totals)
            continue; /* totals tell for themselves */
        const struct tp_predict_check *c = &r->answer->checks[i];
        tp_json_uint(j, o, "peak_requested_bytes", c->was);
        tp_json_uint(j, o, "from_others_bytes", c->sound ? c->predicted : TP_NONE);
    }
}

static void write_redone(struct tp_json *j, cJSON *root, const struct tp_predict_redone *d)
{
    cJSON *o = tp_json_object(j, root, "redone");
    tp_json_uint(j, o, "recording", d->recording);
    tp_json_uint(j, o, "peak_requested_bytes", d->redone);
    tp_json_uint(j, o, "recorded_requested_bytes", d->was);
    tp_json_bool(j, o, "differs", d->differs);
}

cJSON *tp_predict_tree(struct tp_json *j, const struct tp_predict_report *r, size_t sites)
{
    const struct tp_predict_answer *a = r->answer;
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.predict/2");
    tp_json_tool(j, root);
    write_setting(j, tp_json_array(j, root, "settings"), &r->asking->target,
                  r->asking->recordings[0]->axes, r->asking->n ? SIZE_MAX : r->asking->axis);
    tp_json_uint(j, root, "steps", known(r->asking->steps));
    write_recordings(j, root, r);
    write_alignment(j, root, &a->prediction);
    if (a->redone.was)
        write_redone(j, root, &a->redone);
    tp_json_bool(j, root, "sound", a->sound);
    tp_json_text(j, root, "refused", a->sound ? NULL : tp_predict_why(a));
    if (r->totals && r->totals->sound)
        write_totals(j, root, r);
    if (a->sound && r->asking->n)
        write_memory(j, root, a, sites);
    if (a->sound && r->asking->real)
        write_check(j, root, r);
    if (a->sound && a->fit.capacity)
        write_fit(j, root, r);
    if (a->point_count)
        write_points(j, root, a);
    return root;
}
