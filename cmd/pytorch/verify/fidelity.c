/* See verify.h. The file is read once more, in its own terms: a program has no addresses. */

#include "cmd/pytorch/verify/verify.h"
#include "cmd/results/replay_job.h"

#include <string.h>

static int add_devices(const struct tp_pytorch *s, int64_t device, struct tp_fidelity *sum,
                       struct tp_err *err)
{
    struct tp_torch_rules rules;
    int rc = tp_verify_rules(s, NULL, &rules, err);
    for (uint32_t i = 0; rc == TP_OK && i < TP_PYTORCH_DEVICES; i++) {
        struct tp_verified v;
        if (!tp_pytorch_has_events(&s->devices[i]) || (device >= 0 && device != i))
            continue;
        rc = tp_verify(s, i, &rules, NULL, &v, err);
        if (rc != TP_OK)
            return rc;
        sum->addresses += v.addresses.all;
        sum->good_addresses += v.addresses.good;
        sum->segments += v.segments.all;
        sum->good_segments += v.segments.good;
        sum->switches += v.switches;
        sum->pools_returned += v.pools_returned;
        if (sum->first_event == TP_NONE && !tp_agrees(&v))
            sum->first_event = v.first.event;
    }
    return rc;
}

static bool can_be_compared(const struct tp_trace *trace, const char *path)
{
    return trace->format && !strcmp(trace->format, "pytorch") && !trace->cut &&
           !trace->initial_dropped && strcmp(path, "-") != 0;
}

static bool is_read_soon(const struct tp_trace *trace)
{
    const struct tp_program_facts *f = tp_program_facts(trace->program);
    return tp_fits_by_default((enum tp_kind)f->kind, f->events);
}

bool tp_fidelity_of(const struct tp_trace *trace, const char *path, const struct tp_open_opts *o,
                    bool large, struct tp_fidelity *out)
{
    int64_t device = o->device == TP_OPT_KEYWORD(0) ? -1 : (int64_t)o->device;
    struct tp_snapshot_file file;
    struct tp_err ignored; /* what the rules do not know is not compared */
    *out = (struct tp_fidelity){.first_event = TP_NONE};
    if (!can_be_compared(trace, path) || !(large || is_read_soon(trace)))
        return false;
    int rc = tp_snapshot_open(&file, path, o->max_memory, &ignored);
    if (rc == TP_OK)
        rc = add_devices(file.snapshot, device, out, &ignored);
    tp_snapshot_close(&file);
    return rc == TP_OK;
}
