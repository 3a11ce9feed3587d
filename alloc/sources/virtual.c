/* The source `virtual`: addresses without memory behind them.
 *
 *     2^44                                                                2^62
 *      | range 1 | gap | range 2 | gap |          range 3          | gap | ...
 *
 * An 80 GiB trace replays on a laptop with exact peaks. Addresses only rise, are the same in every
 * run and are never used twice, and gaps separate the ranges, so that a strategy that merges two
 * ranges or frees an old address is detected. The clock is the engine's: a fence has passed after a
 * later SYNC of its stream or device, or `lag` after it was recorded; waiting advances the clock.
 *
 * As a device it allocates ranges in units of 512 bytes and gives up pages of 2 MiB for them as
 * cudaMalloc does (alloc/sources/common/device_pages.h). With another page size, and as a host, a
 * range costs its own size.
 *
 * Known weakness: a get or put takes no time on that clock, and real devices are less regular. */
#include "alloc/source.h"
#include "alloc/sources/common/device_pages.h"
#include "alloc/sources/common/mappings.h"

#define VIRTUAL_BASE    (UINT64_C(1) << 44)
#define VIRTUAL_END     (UINT64_C(1) << 62)
#define VIRTUAL_STREAMS 65536u
#define HOST_PAGE       UINT64_C(4096)

struct virtual_opts {
    uint64_t page;
    uint64_t lag;
};

struct virtual_source {
    struct tp_addr_map ranges;    /* address -> size */
    bool device;                  /* ranges are placed in simulated device pages */
    struct tp_device_pages pages; /* the device pages, where `device` */
    uint64_t held;                /* bytes of the ranges */
    struct tp_mappings spaces;
    tp_addr next;
    uint64_t page, lag_ns;
    uint64_t *now_ns;
    uint64_t own_ns;      /* clock for use without the engine's */
    uint64_t serial;      /* serial of the last fence */
    uint64_t device_sync; /* fences up to this serial have passed */
    uint64_t *stream_sync;
};

enum { PAGE_AUTO, PAGE_DEVICE };
static const char *const page_words[] = {"auto", "device", NULL};

static const struct tp_opt virtual_rows[] = {
    TP_SIZE_ROW(struct virtual_opts, page, .def = "auto", .min = 16, .max = UINT64_C(1) << 30,
                .choices = page_words,
                .help = "granularity of ranges, a power of two\n"
                        "device: units of 512 B in pages of 2 MiB, as in cudaMalloc: requests "
                        "below 2 MiB share "
                        "pages\n"
                        "auto: 4 KiB for host traces, device for device traces"),
    TP_TIME_ROW(struct virtual_opts, lag, .def = "50us", .max = UINT64_C(3600) * 1000000000,
                .help = "time until a stream reaches a point recorded on it"),
    {.name = NULL}};

static int virtual_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct virtual_source *s = state;
    const struct virtual_opts *opts = cfg->opts;
    s->page = opts->page;
    if (s->page == TP_OPT_KEYWORD(PAGE_AUTO))
        s->page = cfg->kind == TP_KIND_DEVICE ? TP_OPT_KEYWORD(PAGE_DEVICE) : HOST_PAGE;
    s->device = s->page == TP_OPT_KEYWORD(PAGE_DEVICE);
    if (s->device)
        s->page = TP_DEVICE_UNIT;
    if (s->page & (s->page - 1))
        return tp_fail(err, TP_EUSAGE, "source 'virtual': 'page' must be a power of two");
    s->lag_ns = opts->lag;
    s->now_ns = cfg->now_ns ? cfg->now_ns : &s->own_ns;
    s->next = VIRTUAL_BASE;
    s->stream_sync = calloc(VIRTUAL_STREAMS, sizeof *s->stream_sync);
    if (!s->stream_sync)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    tp_addr_map_init_plain(&s->ranges);
    tp_device_pages_init(&s->pages);
    tp_mappings_init(&s->spaces);
    return TP_OK;
}

static void virtual_fini(void *state)
{
    struct virtual_source *s = state;
    tp_addr_map_fini(&s->ranges);
    tp_device_pages_fini(&s->pages);
    tp_mappings_fini(&s->spaces);
    free(s->stream_sync);
}

static uint64_t virtual_page(void *state)
{
    return ((struct virtual_source *)state)->page;
}

static uint64_t virtual_granule(void *state)
{
    const struct virtual_source *s = state;
    return s->device ? TP_DEVICE_PAGE : s->page;
}

static uint64_t virtual_taken(void *state)
{
    const struct virtual_source *s = state;
    return (s->device ? s->pages.taken : s->held) + s->spaces.mapped;
}

static uint64_t virtual_cost(void *state, uint64_t size, uint64_t align)
{
    const struct virtual_source *s = state;
    return s->device ? tp_device_pages_cost(&s->pages, size, align) : size;
}

/* The next addresses for `size` bytes; 0: there are no more. */
static tp_addr next_addresses(const struct virtual_source *s, uint64_t size, uint64_t align)
{
    uint64_t mask = (align > s->page ? align : s->page) - 1;
    tp_addr addr = (s->next + mask) & ~mask;
    return addr > VIRTUAL_END || size > VIRTUAL_END - addr ? 0 : addr;
}

static int virtual_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct virtual_source *s = state;
    if (align > VIRTUAL_END)
        return TP_EUNSUP;
    tp_addr addr = next_addresses(s, size, align);
    if (!addr)
        return TP_EOOM;
    if (tp_addr_map_reserve(&s->ranges, s->ranges.count + 1) ||
        (s->device && tp_device_pages_take(&s->pages, addr, size, align)))
        return TP_ENOMEM;
    tp_addr_map_insert(&s->ranges, addr, size);
    s->held += size;
    s->next = addr + size + s->page;
    *out = addr;
    return TP_OK;
}

static int virtual_put(void *state, tp_addr addr, uint64_t size)
{
    struct virtual_source *s = state;
    const uint64_t *held = tp_addr_map_find(&s->ranges, addr);
    if (!held || *held != size)
        return TP_EINVAL;
    tp_addr_map_remove(&s->ranges, addr, NULL);
    if (s->device)
        tp_device_pages_give(&s->pages, addr, size);
    s->held -= size;
    return TP_OK;
}

/* ---- spaces ---- */

static int virtual_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct virtual_source *s = state;
    struct tp_mapping *room = NULL;
    if (!tp_mappings_fits(size, unit, virtual_granule(s)))
        return TP_EINVAL;
    tp_addr base = next_addresses(s, size, TP_DEVICE_PAGE);
    if (!base)
        return TP_EOOM;
    if (tp_mappings_room(&s->spaces, &room))
        return TP_ENOMEM;
    tp_mappings_add(&s->spaces, room, base, size, unit);
    s->next = base + size + s->page;
    *out = base;
    return TP_OK;
}

static int virtual_space_put(void *state, tp_addr base, uint64_t size)
{
    struct virtual_source *s = state;
    int rc = tp_mappings_empty(&s->spaces, base, size);
    if (!rc)
        tp_mappings_remove(&s->spaces, base);
    return rc;
}

static int virtual_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct virtual_source *s = state;
    int rc = tp_mappings_are(&s->spaces, base, from, size, false);
    if (!rc)
        rc = tp_mappings_reserve(&s->spaces);
    if (!rc)
        tp_mappings_map(&s->spaces, base, from, size);
    return rc;
}

static int virtual_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct virtual_source *s = state;
    int rc = tp_mappings_are(&s->spaces, base, from, size, true);
    if (!rc)
        rc = tp_mappings_reserve(&s->spaces);
    if (!rc)
        tp_mappings_unmap(&s->spaces, base, from, size);
    return rc;
}

static int virtual_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct virtual_source *s = state;
    int rc = tp_mappings_can_alias(&s->spaces, base, from, size, of);
    return rc ? rc : tp_mappings_alias(&s->spaces, base, from, size, of);
}

static int virtual_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct virtual_source *s = state;
    int rc = tp_mappings_are_aliases(&s->spaces, base, from, size);
    if (!rc)
        tp_mappings_unalias(&s->spaces, base, from, size);
    return rc;
}

/* ---- fences ---- */

static void virtual_record(void *state, uint16_t stream, struct tp_fence *out)
{
    struct virtual_source *s = state;
    *out = (struct tp_fence){++s->serial, *s->now_ns, stream};
}

/* The time at which the fence passes without a SYNC. */
static uint64_t due(const struct virtual_source *s, const struct tp_fence *f)
{
    return f->time_ns > UINT64_MAX - s->lag_ns ? UINT64_MAX : f->time_ns + s->lag_ns;
}

static bool virtual_done(void *state, const struct tp_fence *f)
{
    const struct virtual_source *s = state;
    return f->serial <= s->device_sync || f->serial <= s->stream_sync[f->stream] ||
           *s->now_ns >= due(s, f);
}

static int virtual_wait(void *state, const struct tp_fence *f)
{
    struct virtual_source *s = state;
    if (!virtual_done(s, f))
        *s->now_ns = due(s, f);
    return TP_OK;
}

static void virtual_synced(void *state, uint16_t stream)
{
    struct virtual_source *s = state;
    if (stream == TP_ALL_STREAMS)
        s->device_sync = s->serial;
    else
        s->stream_sync[stream] = s->serial;
}

const struct tp_source_ops tp_source_virtual = {
    .name = "virtual",
    .summary = "addresses without memory: any device on any machine",
    .flags = TP_SRC_VIRTUAL | TP_SRC_ORDERED,
    .state_size = sizeof(struct virtual_source),
    .opts_size = sizeof(struct virtual_opts),
    .options = virtual_rows,
    .init = virtual_init,
    .fini = virtual_fini,
    .page = virtual_page,
    .get = virtual_get,
    .put = virtual_put,
    .granule = virtual_granule,
    .taken = virtual_taken,
    .cost = virtual_cost,
    .map_page = virtual_granule,
    .space_get = virtual_space_get,
    .space_put = virtual_space_put,
    .map = virtual_map,
    .unmap = virtual_unmap,
    .alias = virtual_alias,
    .unalias = virtual_unalias,
    .record = virtual_record,
    .done = virtual_done,
    .wait = virtual_wait,
    .synced = virtual_synced,
};
