/* The usage pass on a real device: what the device itself reports beside the meter's figures, and
 * which figures are unknown with a pool of the driver.
 *
 *     metered        |           .--.    ____      reserved: known to the byte, by the calls
 *     the device     | ~~~~~~~~~~'  '~~~~    ~~~   free bytes, shared with whoever else uses it
 *     looked at             ^  ^                   where the first reaches a new peak
 *
 * The meter does not see the driver's pool; the pool's high-water marks are read at the trace peak
 * and at the end. */
#include "alloc/heapmap/usage.h"

#include <string.h>

static struct tp_source *source_of(const struct tp_usage *u, const struct tp_usage_device *d)
{
    return u->replayer->instances[d - u->devices].env.source;
}

void tp_usage_device_open(const struct tp_usage *u, struct tp_usage_device *d)
{
    const struct tp_instance *in = &u->replayer->instances[d - u->devices];
    struct tp_measured *m = &d->run->measured;
    if (!u->device)
        return;
    m->free_at_start = in->free_at_start;
    m->total = in->total;
}

/* Notes `reserved` and the bytes that the device is missing, if `reserved` is higher than at every
 * earlier look. */
static void look(const struct tp_usage *u, struct tp_usage_device *d, uint64_t reserved)
{
    struct tp_measured *m = &d->run->measured;
    uint64_t free_bytes, total;
    if (m->free_at_start == TP_NONE ||
        (m->reserved_then != TP_NONE && reserved <= m->reserved_then))
        return;
    if (tp_src_memory(source_of(u, d), &free_bytes, &total))
        return;
    m->reserved_then = reserved;
    m->missing_at_peak = m->free_at_start > free_bytes ? m->free_at_start - free_bytes : 0;
}

void tp_usage_device_look(const struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_pool_marks marks;
    if (!u->device)
        return;
    if (!u->pool)
        look(u, d, d->account->reserved);
    else if (!tp_src_pool_marks(source_of(u, d), &marks))
        look(u, d, marks.reserved);
}

void tp_usage_device_failure(const struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_measured *m = &d->run->measured;
    struct tp_pool_marks marks;
    uint64_t free_bytes, total;
    if (u->device && !tp_src_memory(source_of(u, d), &free_bytes, &total))
        m->free_at_failure = free_bytes;
    if (u->device && u->pool && !tp_src_pool_marks(source_of(u, d), &marks))
        m->pool_unused_at_failure = marks.reserved > marks.used ? marks.reserved - marks.used : 0;
}

void tp_usage_device_begin(const struct tp_usage *u, struct tp_usage_device *d)
{
    if (!u->device)
        return;
    tp_src_counts(source_of(u, d), &d->counts_before);
    tp_usage_device_look(u, d);
}

static void fill_counts(const struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_driver_counts *now = &d->run->measured.driver, *before = &d->counts_before;
    tp_src_settle(source_of(u, d));
    tp_src_counts(source_of(u, d), now);
    now->calls -= before->calls;
    now->ns -= before->ns;
    now->syncs -= before->syncs;
    now->event_waits -= before->event_waits;
    now->works -= before->works;
    now->held_back -= before->held_back;
    now->busy_asked_ns -= before->busy_asked_ns;
}

/* Sets all members of a state that are unknown with a pool to TP_NONE; only the program's requests
 * are known. */
void tp_usage_pool_state(struct tp_at_peak *at)
{
    at->allocated = at->reserved = at->free_bytes = TP_NONE;
}

static void fill_pool(const struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_device_run *run = d->run;
    struct tp_pool_marks marks;
    bool known = !tp_src_pool_marks(source_of(u, d), &marks);
    run->peak_reserved = known ? marks.reserved_high : TP_NONE;
    run->end_reserved = known ? marks.reserved : TP_NONE;
    run->peak_allocated = TP_NONE; /* the pool counts what was requested of it */
    run->peak_reserved_event = run->peak_carved = run->reused = run->put_bytes = TP_NONE;
    bool whole = known && !run->failed_allocations && run->trace_peak_requested;
    run->overhead = whole ? (double)(marks.reserved_high + run->peak_metadata) /
                                (double)run->trace_peak_requested
                          : NAN;
    run->internal_fragmentation = run->internal_fragmentation_weighted = NAN;
    run->unused_reserved = run->unused_reserved_weighted = NAN;
    run->mean_allocated = run->mean_reserved = NAN;
    memset(&run->curve, 0, sizeof run->curve);
    for (uint32_t i = 0; i < run->phase_count; i++)
        run->phases[i].peak_allocated = run->phases[i].peak_reserved = TP_NONE;
}

void tp_usage_device_finish(const struct tp_usage *u, struct tp_usage_device *d)
{
    if (u->device) {
        fill_counts(u, d); /* before the look, because the look makes a driver call too */
        tp_usage_device_look(u, d);
    }
    if (u->pool)
        fill_pool(u, d);
}
