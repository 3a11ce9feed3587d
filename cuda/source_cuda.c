/* The source `cuda`: memory of a GPU, from the CUDA driver.
 *
 *     get, put              cuMemAlloc, cuMemFree; a table of what is out, so that put is strict
 *     record, done, wait    events from a fixed pool                                     fences.c
 *     get_async, put_async  the driver's stream-ordered pool                               pool.c
 *     space_get, map        reserved addresses, and memory that is mapped there         mapping.c
 *     follow                an event, and a wait for it                                  fences.c
 *     work                  a memset or a kernel on the block                            occupy.c
 *
 * All handles are made in init, none in an operation. After any answer of the driver but success or
 * "out of memory" the device counts as lost: the first such answer is kept, and no more calls are
 * made (gpu.h).
 *
 * Known weakness: the driver chooses the alignment (it promises 256 bytes and has given 512), so
 * for a higher alignment a larger range is requested and its start is shifted, and the device holds
 * more than the range's size. cuMemFree may wait for the device, which no count shows; where work
 * may still be running, the source has waited for it before and counted that. */
#include "cuda/cuda_options.h"
#include "cuda/cuda_source.h"
#include "cuda/device_map.h"

#include <stdlib.h>

/* ---- opening and closing ---- */

static int create_streams(struct cuda_source *s, uint32_t count, enum cuda_streams kind,
                          struct tp_err *err)
{
    static const struct {
        bool own_first;
        uintptr_t first; /* predefined handle for stream 0 */
        unsigned flags;
    } kinds[] = {
        [CUDA_STREAMS_NON_BLOCKING] = {true, 0, CU_STREAM_NON_BLOCKING},
        [CUDA_STREAMS_DEFAULT] = {false, 0, CU_STREAM_DEFAULT},
        [CUDA_STREAMS_PER_THREAD] = {false, 2 /* CU_STREAM_PER_THREAD */, CU_STREAM_NON_BLOCKING},
    };
    s->streams = calloc(count, sizeof *s->streams);
    if (!s->streams)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    s->stream_count = count;
    s->first_created = kinds[kind].own_first ? 0 : 1;
    if (!kinds[kind].own_first)
        s->streams[0] = (CUstream)kinds[kind].first;
    for (s->created = s->first_created; s->created < count; s->created++) {
        int rc =
            CUDA_ASK(&s->gpu.driver, err, StreamCreate, &s->streams[s->created], kinds[kind].flags);
        if (rc)
            return rc;
    }
    return TP_OK;
}

static void free_ranges(struct cuda_source *s)
{
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&s->ranges, &at));) {
        const uint64_t *base = tp_addr_map_find(&s->bases, e->key);
        CUDA_LOOK(&s->gpu, MemFree, base ? *base : e->key);
    }
    tp_addr_map_fini(&s->ranges);
    tp_addr_map_fini(&s->bases);
    tp_device_pages_fini(&s->pages);
}

/* Makes every call, even on a lost device. */
static void cuda_fini(void *state)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    tp_cuda_make_current(g);
    cuda_synchronize(g);
    if (s->pool.handle)
        tp_cuda_pool_close(s);
    tp_cuda_fences_close(s);
    for (uint32_t i = s->first_created; i < s->created; i++)
        CUDA_LOOK(g, StreamDestroy, s->streams[i]);
    free(s->streams);
    free_ranges(s);
    tp_cuda_spaces_close(s);
    tp_cuda_occupy_close(s);
    tp_cuda_gpu_close(g);
}

/* The capacity is read last, because a driver takes memory of the device for streams and events.
 * After a failure half way cuda_fini cleans up. */
static int open_parts(struct cuda_source *s, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    const struct cuda_opts *opts = cfg->opts;
    int rc = create_streams(s, cfg->streams ? cfg->streams : 1, opts->streams, err);
    if (!rc)
        rc = tp_cuda_fences_open(s, err);
    if (!rc)
        rc = tp_cuda_occupy_open(s, err);
    if (!rc && cuda_read_capacity(s))
        rc = tp_fail(err, TP_EDEVICE, "%s", s->gpu.failure.text);
    return rc;
}

static int hint_virtual(struct tp_err *err, int rc)
{
    if (rc != TP_EDEVICE || !err || *err->hint)
        return rc;
    return tp_hint(err, rc, "'--source virtual' replays the same strategy without a GPU");
}

static int cuda_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct cuda_source *s = state;
    const struct cuda_opts *opts = cfg->opts;
    int ordinal, rc = tp_cuda_map(opts->map, cfg->device, &ordinal, err);
    if (rc)
        return rc;
    tp_addr_map_init_plain(&s->ranges);
    tp_addr_map_init_plain(&s->bases);
    tp_device_pages_init(&s->pages);
    tp_mappings_init(&s->mappings);
    tp_addr_map_init_plain(&s->units);
    s->now_ns = cfg->now_ns;
    rc = tp_cuda_gpu_open(&s->gpu, ordinal, cfg, err);
    if (rc)
        return hint_virtual(err, rc);
    rc = open_parts(s, cfg, err);
    if (rc) {
        cuda_fini(s);
        return hint_virtual(err, rc);
    }
    s->gpu.lost = cfg->lost;
    s->gpu.timed = cfg->time_calls;
    s->gpu.counts = (struct tp_driver_counts){0};
    return TP_OK;
}

static uint64_t cuda_page(void *state)
{
    (void)state;
    return TP_DEVICE_UNIT;
}

/* Device memory is computed by the same model as in `virtual`, so that a limit is checked before
 * the driver is called and both sources report alike. `memory` reports what the device really gave
 * up. */
static uint64_t cuda_granule(void *state)
{
    (void)state;
    return TP_DEVICE_PAGE;
}

static uint64_t cuda_taken(void *state)
{
    const struct cuda_source *s = state;
    return s->pages.taken + s->mappings.mapped;
}

static uint64_t cuda_cost(void *state, uint64_t size, uint64_t align)
{
    return tp_device_pages_cost(&((const struct cuda_source *)state)->pages, size, align);
}

/* The bytes that were free when the source was open and, with --occupy spin, its kernel loaded;
 * other processes may hold the rest. */
static uint64_t cuda_capacity(void *state)
{
    return ((const struct cuda_source *)state)->capacity;
}

/* ---- ranges ---- */

static int get_base(struct cuda_source *s, uint64_t size, CUdeviceptr *out)
{
    struct cuda_gpu *g = &s->gpu;
    *out = 0;
    if (__builtin_expect(size > s->total, 0))
        return TP_EOOM;
    CUresult code = CUDA_CALL(g, MemAlloc, out, size);
    return code == CUDA_ERROR_OUT_OF_MEMORY ? TP_EOOM : cuda_status(g, "cuMemAlloc", code);
}

static int put_base(struct cuda_source *s, CUdeviceptr base)
{
    return CUDA_TRY(&s->gpu, MemFree, base);
}

/* Reserves room in both tables first, so that nothing can fail after the driver has given
 * memory. */
static int get_aligned(struct cuda_source *s, uint64_t size, uint64_t align, CUdeviceptr *base)
{
    int rc = get_base(s, size, base);
    if (rc || *base % align == 0)
        return rc;
    rc = put_base(s, *base);
    if (!rc && tp_addr_map_reserve(&s->bases, s->bases.count + 1))
        rc = TP_ENOMEM;
    if (rc)
        return rc;
    return size > UINT64_MAX - align ? TP_EOOM : get_base(s, size + align, base);
}

static int cuda_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct cuda_source *s = state;
    CUdeviceptr base;
    int rc = cuda_enter(&s->gpu);
    if (!rc && tp_addr_map_reserve(&s->ranges, s->ranges.count + 1))
        rc = TP_ENOMEM;
    if (!rc)
        rc = get_aligned(s, size, align, &base);
    if (rc)
        return rc;
    tp_addr addr = (base + align - 1) & ~(align - 1);
    if (tp_device_pages_take(&s->pages, addr, size, align)) {
        rc = put_base(s, base);
        return rc ? rc : TP_ENOMEM;
    }
    tp_addr_map_insert(&s->ranges, addr, size);
    if (addr != base)
        tp_addr_map_insert(&s->bases, addr, base);
    *out = addr;
    return TP_OK;
}

static int cuda_put(void *state, tp_addr addr, uint64_t size)
{
    struct cuda_source *s = state;
    const uint64_t *held = tp_addr_map_find(&s->ranges, addr);
    if (!held || *held != size)
        return TP_EINVAL;
    int rc = cuda_enter(&s->gpu);
    if (!rc)
        rc = tp_cuda_finish_work(s);
    if (rc)
        return rc;
    const uint64_t *base = s->bases.count ? tp_addr_map_find(&s->bases, addr) : NULL;
    rc = put_base(s, base ? *base : addr);
    if (rc)
        return rc;
    tp_addr_map_remove(&s->ranges, addr, NULL);
    tp_device_pages_give(&s->pages, addr, size);
    if (base)
        tp_addr_map_remove(&s->bases, addr, NULL);
    return TP_OK;
}

/* ---- the device ---- */

/* Not counted, like the calls of pool_marks, because a replay does not need it. */
static int cuda_memory(void *state, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct cuda_source *s = state;
    *free_bytes = *total_bytes = 0;
    int rc = cuda_enter(&s->gpu);
    return rc ? rc : tp_cuda_look_at_memory(&s->gpu, free_bytes, total_bytes);
}

static void cuda_counts(void *state, struct tp_driver_counts *out)
{
    *out = ((const struct cuda_source *)state)->gpu.counts;
}

static int cuda_fault(void *state, struct tp_err *err)
{
    const struct cuda_gpu *g = &((const struct cuda_source *)state)->gpu;
    return g->failure.status == TP_OK ? TP_OK : tp_fail(err, TP_EDEVICE, "%s", g->failure.text);
}

const struct tp_source_ops tp_source_cuda = {
    .name = "cuda",
    .summary = "memory of a GPU, from the CUDA driver",
    .flags = TP_SRC_DEVICE,
    .state_size = sizeof(struct cuda_source),
    .opts_size = sizeof(struct cuda_opts),
    .options = cuda_rows,
    .init = cuda_init,
    .fini = cuda_fini,
    .page = cuda_page,
    .capacity = cuda_capacity,
    .get = cuda_get,
    .put = cuda_put,
    .granule = cuda_granule,
    .taken = cuda_taken,
    .cost = cuda_cost,
    .map_page = tp_cuda_map_page,
    .space_get = tp_cuda_space_get,
    .space_put = tp_cuda_space_put,
    .map = tp_cuda_map_units,
    .unmap = tp_cuda_unmap_units,
    .alias = tp_cuda_alias,
    .unalias = tp_cuda_unalias,
    .record = tp_cuda_record,
    .done = tp_cuda_done,
    .wait = tp_cuda_wait,
    .synced = tp_cuda_synced,
    .drained = tp_cuda_drained,
    .pool_open = tp_cuda_pool_open,
    .pool_close = tp_cuda_pool_close,
    .get_async = tp_cuda_get_async,
    .put_async = tp_cuda_put_async,
    .pool_trim = tp_cuda_pool_trim,
    .pool_marks = tp_cuda_pool_marks,
    .follow = tp_cuda_follow,
    .work = tp_cuda_work,
    .settle = tp_cuda_settle,
    .memory = cuda_memory,
    .counts = cuda_counts,
    .fault = cuda_fault,
};
