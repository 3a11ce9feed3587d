/* What the screens say about a real device: its name, the calls to its driver, and what the driver
 * reported. Other processes may use the device too, so figures differ between the passes and are
 * shown as ranges. */
#include "cmd/report/report.h"
#include "cmd/results/figures.h"

#include <string.h>

enum { LABEL = 16, NUMBER_END = 15, TEXT = 20, FIELD = 4, VALUE = 30 };

struct tp_text tp_device_label(const struct tp_result *r)
{
    return r->facts->devices == 1 ? tp_text_of("cuda, device %u", r->use->ordinals[0])
                                  : tp_text_of("cuda, %u devices", r->facts->devices);
}

static const struct tp_cuda_device *device_of(const struct tp_result *r, uint32_t device)
{
    return &r->use->driver->devices[r->use->ordinals[device]];
}

/* One device: "NVIDIA H200". Several devices of the same name, with the same numbers in the trace
 * and on the machine: "2 x NVIDIA H200". Otherwise: "gpu 0 on device 1 (NVIDIA H200), gpu 1 on
 * device 0 (NVIDIA A100)". */
void tp_device_names(const struct tp_result *r, char *text, size_t size)
{
    uint16_t devices = r->facts->devices;
    const char *first = device_of(r, 0)->name;
    bool alike = true;
    for (uint16_t d = 0; d < devices; d++)
        alike &= r->use->ordinals[d] == d && !strcmp(device_of(r, d)->name, first);
    struct tp_str s = tp_str_in(text, size);
    if (devices == 1)
        tp_str_add(&s, "%s", first);
    else if (alike)
        tp_str_add(&s, "%u x %s", devices, first);
    for (uint16_t d = 0; devices > 1 && !alike && d < devices; d++)
        tp_str_item(&s, ", ", "gpu %u on device %u (%s)", d, r->use->ordinals[d],
                    device_of(r, d)->name);
}

struct tp_text tp_device_connections(const struct tp_result *r)
{
    uint32_t connections = r->use->driver->connections;
    if (!connections)
        return (struct tp_text){""};
    if (r->facts->streams <= connections)
        return tp_text_of(", %s", tp_plural(connections, "connection").s);
    return tp_text_of(", %s shared by %u streams", tp_plural(connections, "connection").s,
                      r->facts->streams);
}

/* ---- a pool of the driver ---- */

static void print_mark(uint64_t bytes, const char *what, const struct tp_range *range,
                       struct tp_page *page)
{
    if (bytes == TP_NONE)
        return;
    tp_page_right(page, NUMBER_END + (page->exact ? 4 : 0), tp_bytes(bytes, page->exact).s);
    tp_page_at(page, TEXT, "%s", what);
    if (range->low != range->high)
        tp_page_more(page, TEXT, ": %s over the passes", tp_range_text(range, page->exact).s);
    tp_page_line(page);
}

void tp_device_pool(const struct tp_result *r, const struct tp_device_run *d, struct tp_page *page)
{
    const struct tp_range demand = {0, 0};
    struct tp_range reserved = tp_device_reserved(r->run, d), used = d->measured.pool_used;
    tp_page_put(page, LABEL,
                "from the counters of the driver's pool, which do not report free memory or "
                "blocks");
    print_mark(d->trace_peak_requested, "requested at the trace peak", &demand, page);
    print_mark(used.high, "peak used, as counted by the pool", &used, page);
    print_mark(reserved.high, "peak reserved, as counted by the pool", &reserved, page);
}

/* ---- what the driver reports ---- */

static void print_calls(const struct tp_driver_counts *c, struct tp_page *page)
{
    tp_page_at(page, TEXT, "%s in one replay: %s, %s", tp_plural(c->calls, "driver call").s,
               tp_plural(c->syncs, "synchronisation").s, tp_plural(c->event_waits, "event wait").s);
    if (c->works)
        tp_page_more(page, TEXT, "; %s kernels queued", tp_count(c->works).s);
    tp_page_line(page);
    if (c->busy_asked_ns)
        tp_page_put(page, TEXT, "busiest stream: %s of work queued, took %s",
                    tp_duration(c->busy_asked_ns).s, tp_duration(c->busy_spent_ns).s);
    if (!c->ns)
        return;
    tp_page_put(page, TEXT, "%s in driver calls, as seen from the CPU", tp_duration(c->ns).s);
}

/* Prints by how much the free memory of cuMemGetInfo sank, beside the bytes that were reserved. The
 * difference belongs to the driver or to other processes. */
static void print_missing(const struct tp_measured *m, struct tp_page *page)
{
    if (m->missing_at_peak == TP_NONE)
        return;
    tp_page_at(page, TEXT, "cuMemGetInfo: %s less free at %s reserved",
               tp_bytes(m->missing_at_peak, page->exact).s,
               tp_bytes(m->reserved_then, page->exact).s);
    if (m->free_at_start != TP_NONE)
        tp_page_more(page, TEXT, "; %s of %s free at the start",
                     tp_bytes(m->free_at_start, page->exact).s, tp_bytes(m->total, page->exact).s);
    tp_page_line(page);
}

void tp_device_answers(const struct tp_result *r, const struct tp_device_run *d,
                       struct tp_page *page)
{
    if (!(r->run->flags & TP_RUN_DEVICE))
        return;
    print_calls(&d->measured.driver, page);
    print_missing(&d->measured, page);
}

/* ---- under -v ---- */

#define line(page, name, ...) tp_page_row(page, FIELD, name, VALUE, __VA_ARGS__)

static struct tp_text clock_text(const struct tp_cuda_device *d)
{
    return d->clock_khz ? tp_text_of(", clock %s MHz", tp_count(d->clock_khz / 1000).s)
                        : (struct tp_text){""};
}

void tp_device_verbose(const struct tp_result *r, struct tp_page *page)
{
    const struct tp_cuda_info *driver = r->use->driver;
    char name[32];
    line(page, "driver", "%s%s%s, CUDA %d.%d", driver->path, driver->release[0] ? ", release " : "",
         driver->release, driver->version / 1000, driver->version % 1000 / 10);
    for (uint16_t d = 0; d < r->facts->devices; d++) {
        const struct tp_cuda_device *device = device_of(r, d);
        snprintf(name, sizeof name, "CUDA device %u", r->use->ordinals[d]);
        line(page, name, "%s, %s, compute capability %d.%d%s", device->name,
             tp_bytes(device->total_bytes, false).s, device->major, device->minor,
             clock_text(device).s);
    }
}

static void range_line(struct tp_page *page, const char *name, const struct tp_range *r)
{
    if (r->low != TP_NONE)
        line(page, name, r->low == r->high ? "%s" : "%s to %s", tp_bytes(r->low, true).s,
             tp_bytes(r->high, true).s);
}

static void bytes_line(struct tp_page *page, const char *name, uint64_t bytes)
{
    if (bytes != TP_NONE)
        line(page, name, "%s", tp_bytes(bytes, true).s);
}

void tp_device_verbose_run(const struct tp_device_run *d, struct tp_page *page)
{
    const struct tp_measured *m = &d->measured;
    tp_page_put(page, FIELD, "measured, over the passes");
    range_line(page, "  peak_reserved", &m->peak_reserved);
    range_line(page, "  pool_used", &m->pool_used);
    range_line(page, "  peak_metadata", &m->peak_metadata);
    bytes_line(page, "  missing_at_peak", m->missing_at_peak);
    bytes_line(page, "  reserved_then", m->reserved_then);
    bytes_line(page, "  free_at_start", m->free_at_start);
    bytes_line(page, "  free_at_failure", m->free_at_failure);
    bytes_line(page, "  pool_unused_at_failure", m->pool_unused_at_failure);
    line(page, "  driver", "calls %s, ns %s, syncs %s, event_waits %s, works %s, held_back %s",
         tp_count(m->driver.calls).s, tp_count(m->driver.ns).s, tp_count(m->driver.syncs).s,
         tp_count(m->driver.event_waits).s, tp_count(m->driver.works).s,
         tp_count(m->driver.held_back).s);
    if (m->driver.busy_asked_ns)
        line(page, "  busiest stream", "%s ns queued, took %s ns",
             tp_count(m->driver.busy_asked_ns).s, tp_count(m->driver.busy_spent_ns).s);
}
