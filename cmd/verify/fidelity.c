/* See certifier.h. The file is read once more, in its own terms: a program has no addresses. */

#include "cmd/jobs/open_trace.h"
#include "cmd/results/replay_job.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"

#include <string.h>
#include <strings.h>

/* Whether the trace has the events of a device of the file: all, the one with this number, or the
 * memory space of this name. */
static bool has_part(const struct tp_trace *trace, int64_t device, uint32_t i, const char *name)
{
    const char *space = trace->meta.space;
    if (name && space && strcasecmp(space, "all") != 0)
        return !strcmp(space, name);
    return device < 0 || device == i;
}

static int add_devices(const struct tp_recorded_file *f, const struct tp_trace *trace,
                       int64_t device, struct tp_fidelity *sum, struct tp_err *err)
{
    int rc = f->by->set_rules(f->state, &(struct tp_rules_ask){.conf = NULL}, err);
    for (uint32_t i = 0; rc == TP_OK && i < f->by->count(f->state); i++) {
        struct tp_verified v;
        const struct tp_recorded_part part = f->by->part(f->state, i);
        if (!part.events || !has_part(trace, device, i, part.name))
            continue;
        rc = tp_recorded_verify(f, i, &v, err);
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
    bool known = false;
    for (size_t i = 0; trace->format && tp_certifiers[i]; i++)
        known |= !strcmp(trace->format, tp_certifiers[i]->format->name);
    return known && !trace->cut && !trace->initial_dropped && strcmp(path, "-") != 0;
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
    struct tp_recorded_file file;
    struct tp_err ignored; /* what the rules do not know is not compared */
    *out = (struct tp_fidelity){.first_event = TP_NONE};
    if (!can_be_compared(trace, path) || !(large || is_read_soon(trace)))
        return false;
    int rc = tp_recorded_open(&file, path, o->max_memory, &ignored);
    if (rc == TP_OK)
        rc = add_devices(&file, trace, device, out, &ignored);
    tp_recorded_close(&file);
    return rc == TP_OK;
}
