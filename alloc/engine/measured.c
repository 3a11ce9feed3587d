/* Ranges over the passes on a real device; see measured.h. */
#include "alloc/engine/measured.h"

void tp_measured_clear(struct tp_run *out)
{
    for (uint32_t d = 0; d < out->device_count; d++) {
        struct tp_measured *m = &out->devices[d].measured;
        memset(m, 0xff, sizeof *m); /* sets every member to TP_NONE */
        m->driver = (struct tp_driver_counts){0};
    }
}

static void widen(struct tp_range *r, uint64_t value)
{
    if (r->low == TP_NONE || value < r->low)
        r->low = value;
    if (r->high == TP_NONE || value > r->high)
        r->high = value;
}

void tp_measured_peaks(struct tp_replayer *p, struct tp_run *out)
{
    if (!p->device)
        return;
    for (uint32_t d = 0; d < p->facts->devices; d++) {
        struct tp_instance *in = &p->instances[d];
        struct tp_measured *m = &out->devices[d].measured;
        struct tp_pool_marks marks;
        widen(&m->peak_metadata, in->account.peak_metadata);
        if (!(p->strategy->caps & TP_CAP_ASYNC)) {
            widen(&m->peak_reserved, in->account.peak_reserved);
        } else if (!tp_src_pool_marks(in->env.source, &marks)) {
            widen(&m->peak_reserved, marks.reserved_high);
            widen(&m->pool_used, marks.used_high);
        }
    }
}

void tp_measured_failures(const struct tp_replayer *p, struct tp_run *out)
{
    for (uint32_t d = 0; p->device && d < p->facts->devices; d++)
        widen(&out->devices[d].measured.failed_allocations, p->instances[d].failed);
}
