/* A double of a real device, stricter than one: a source with every group of its kind that writes
 * each call down, in order, and refuses what no program may do.
 *
 *     "0 get A 512"  "0 work s1 A 300"  "0 follow s1 s0"  "0 put A"  "0 sync all"  ...
 *
 * The first number is the device; blocks are named by letters in the order in which they were
 * handed out, and the last number of a work is how long it lasts. Nothing runs: what is queued is
 * only written down. The n-th call of all can be made to lose the device or to raise a flag. */
#ifndef TP_DEVICE_DOUBLE_H
#define TP_DEVICE_DOUBLE_H

#include "alloc/base/clock.h"
#include "alloc/engine/replay.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DOUBLE_PAGE = 512,
    DOUBLE_GRAIN = 65536, /* of what a range or a pool takes from the device */
    DOUBLE_RANGES = 4096,
    DOUBLE_DEVICES = 4,
    DOUBLE_LOG = 1 << 22
};
#define DOUBLE_TOTAL   (UINT64_C(1) << 30)
#define DOUBLE_CONTEXT (UINT64_C(3) << 20) /* missing before anything is reserved */
#define DOUBLE_BASE    (UINT64_C(1) << 45)
#define DOUBLE_STEP    (UINT64_C(1) << 31) /* between blocks */

struct double_block {
    uint64_t size; /* 0: given back */
};

/* What a test asks for, and what it finds; of all devices together. */
static struct double_bench {
    uint64_t capacity;       /* of each device; 0: it does not say */
    uint64_t later_capacity; /* of all but the first that is opened */
    uint64_t fail_at;        /* the call, from 1, with which the device is lost; 0: none */
    uint64_t stop_at;        /* the call that raises the flag */
    uint64_t work_ns;        /* a work, and a wait for work, really take so long, of this thread */
    uint64_t sync_ns;        /* and what a synchronisation does when there is nothing to wait for */
    int work_status;         /* what `work` says instead of doing it */
    bool logging, any_fault;
    volatile sig_atomic_t stopped;

    uint64_t calls, works, sync_calls;
    uint32_t open, pools_open, timed_opens, opens;
    void **current; /* that all sources were given */
    uint32_t streams;
    uint64_t most_held[DOUBLE_DEVICES];
    struct double_block blocks[DOUBLE_RANGES];
    uint32_t block_count, live;
    size_t log_size;
    char log[DOUBLE_LOG];
} bench;

struct device_double {
    uint32_t device;
    uint32_t streams;
    int *lost;
    bool fault;
    bool looked; /* at the free memory */
    uint64_t fault_call;
    uint64_t held; /* bytes */
    uint64_t capacity;
    bool pool;
    struct tp_pool_marks marks;
    struct tp_driver_counts counts;
    uint64_t serial;
    uint64_t drained; /* the call of the last `drained` */
};

static inline void bench_reset(void)
{
    memset(&bench, 0, offsetof(struct double_bench, log));
    bench.log[0] = '\0';
    bench.logging = true;
}

__attribute__((format(printf, 2, 3))) static inline void double_note(const struct device_double *s,
                                                                     const char *format, ...)
{
    va_list args;
    if (!bench.logging)
        return;
    assert_true(bench.log_size + 80 < DOUBLE_LOG);
    int n = snprintf(bench.log + bench.log_size, 16, "%u ", s->device);
    va_start(args, format);
    n += vsnprintf(bench.log + bench.log_size + n, 64, format, args);
    va_end(args);
    bench.log_size += (size_t)n;
    bench.log[bench.log_size++] = '\n';
    bench.log[bench.log_size] = '\0';
}

/* TP_OK, or TP_EDEVICE from the call on with which the device is lost. */
static inline int double_call(struct device_double *s)
{
    bench.calls++;
    s->counts.calls++;
    if (bench.calls == bench.stop_at)
        bench.stopped = 1;
    if (bench.calls == bench.fail_at) {
        s->fault = bench.any_fault = true;
        s->fault_call = bench.calls;
    }
    if (s->fault && s->lost)
        *s->lost = TP_EDEVICE;
    return s->fault ? TP_EDEVICE : TP_OK;
}

static inline void double_be_busy(uint64_t ns)
{
    uint64_t start = tp_wall_ns();
    while (tp_wall_ns() - start < ns)
        ;
}

static int double_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct device_double *s = state;
    s->device = cfg->device;
    s->streams = cfg->streams;
    s->lost = cfg->lost;
    assert_non_null(cfg->lost);
    assert_non_null(cfg->current);
    assert_true(!bench.current || bench.current == cfg->current);
    assert_true(bench.opens || !*cfg->current);
    bench.current = cfg->current;
    bench.streams = cfg->streams;
    s->capacity = bench.opens && bench.later_capacity ? bench.later_capacity : bench.capacity;
    bench.opens++;
    bench.timed_opens += cfg->time_calls;
    if (double_call(s))
        return tp_fail(err, TP_EDEVICE, "no device answers call %u", (unsigned)bench.calls);
    bench.open++;
    return TP_OK;
}

static void double_fini(void *state)
{
    struct device_double *s = state;
    double_call(s);
    assert_false(s->pool);
    assert_true(s->fault || bench.any_fault || !bench.live || bench.open > 1);
    bench.open--;
}

static uint64_t double_page(void *state)
{
    (void)state;
    return DOUBLE_PAGE;
}

static uint64_t double_capacity(void *state)
{
    return ((struct device_double *)state)->capacity;
}

static uint64_t double_round(uint64_t bytes, uint64_t grain)
{
    return (bytes + grain - 1) / grain * grain;
}

static inline char double_name(uint32_t index)
{
    return (char)('A' + index % 26);
}

/* The block that holds the bytes, which must be there. */
static inline uint32_t double_find(tp_addr addr, uint64_t size)
{
    uint64_t index = (addr - DOUBLE_BASE) / DOUBLE_STEP;
    assert_true(addr >= DOUBLE_BASE && index < bench.block_count);
    uint64_t offset = (addr - DOUBLE_BASE) % DOUBLE_STEP;
    assert_true(bench.blocks[index].size && offset + size <= bench.blocks[index].size);
    return (uint32_t)index;
}

static uint32_t double_new(uint64_t size, tp_addr *out)
{
    assert_true(bench.block_count < DOUBLE_RANGES);
    bench.block_count = bench.live ? bench.block_count : 0; /* names begin anew */
    uint32_t i = bench.block_count++;
    bench.live++;
    bench.blocks[i] = (struct double_block){.size = size};
    *out = DOUBLE_BASE + i * DOUBLE_STEP;
    return i;
}

static void double_gone(uint64_t index)
{
    bench.blocks[index].size = 0;
    bench.live--;
}

static int double_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct device_double *s = state;
    (void)align;
    if (double_call(s))
        return TP_EDEVICE;
    if (s->capacity && s->held + size > s->capacity)
        return TP_EOOM;
    uint32_t i = double_new(size, out);
    s->held += double_round(size, DOUBLE_GRAIN);
    if (s->held > bench.most_held[s->device])
        bench.most_held[s->device] = s->held;
    double_note(s, "get %c %u", double_name(i), (unsigned)size);
    return TP_OK;
}

static int double_put(void *state, tp_addr addr, uint64_t size)
{
    struct device_double *s = state;
    if (double_call(s))
        return TP_EDEVICE;
    uint32_t i = double_find(addr, size);
    assert_int_equal(bench.blocks[i].size, size);
    double_gone(i);
    s->held -= double_round(size, DOUBLE_GRAIN);
    double_note(s, "put %c", double_name(i));
    return TP_OK;
}

static void double_record(void *state, uint16_t stream, struct tp_fence *out)
{
    struct device_double *s = state;
    double_call(s);
    *out = (struct tp_fence){.serial = ++s->serial, .stream = stream};
}

static bool double_done(void *state, const struct tp_fence *f)
{
    struct device_double *s = state;
    (void)f;
    return double_call(s) != TP_OK;
}

static int double_wait(void *state, const struct tp_fence *f)
{
    struct device_double *s = state;
    (void)f;
    return double_call(s);
}

static void double_note_wait(const struct device_double *s, const char *what, uint16_t stream)
{
    if (stream == TP_ALL_STREAMS)
        double_note(s, "%s all", what);
    else
        double_note(s, "%s s%u", what, stream);
}

static void double_drained(void *state, uint16_t stream)
{
    struct device_double *s = state;
    s->counts.calls--; /* a look is no call of the program */
    if (double_call(s))
        return;
    s->drained = bench.calls;
    double_note_wait(s, "drain", stream);
    double_be_busy(bench.work_ns);
}

/* Waits for nothing right after `drained`. */
static void double_synced(void *state, uint16_t stream)
{
    struct device_double *s = state;
    if (double_call(s))
        return;
    s->counts.syncs++;
    bench.sync_calls++;
    double_note_wait(s, "sync", stream);
    double_be_busy(s->drained + 1 == bench.calls ? bench.sync_ns : bench.work_ns);
}

/* ---- a pool ---- */

static int double_pool_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    struct device_double *s = state;
    assert_false(s->pool);
    (void)cfg;
    if (double_call(s))
        return tp_fail(err, TP_EDEVICE, "no pool");
    s->pool = true;
    s->marks = (struct tp_pool_marks){0};
    bench.pools_open++;
    return TP_OK;
}

static int double_pool_close(void *state)
{
    struct device_double *s = state;
    assert_true(s->pool);
    s->pool = false;
    bench.pools_open--;
    s->held -= s->marks.reserved;
    return double_call(s);
}

static void double_raise(uint64_t *high, uint64_t value)
{
    *high = value > *high ? value : *high;
}

static int double_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    struct device_double *s = state;
    struct tp_pool_marks *m = &s->marks;
    assert_true(s->pool && size && stream < s->streams);
    if (double_call(s))
        return TP_EDEVICE;
    uint64_t reserved = double_round(m->used + size, DOUBLE_GRAIN);
    if (s->capacity && reserved > s->capacity)
        return TP_EOOM;
    uint32_t i = double_new(size, out);
    m->used += size; /* to the byte, as drivers count */
    double_raise(&m->used_high, m->used);
    if (reserved > m->reserved) {
        s->held += reserved - m->reserved;
        m->reserved = reserved;
    }
    double_raise(&m->reserved_high, m->reserved);
    double_note(s, "get_async s%u %c %u", stream, double_name(i), (unsigned)size);
    return TP_OK;
}

static int double_put_async(void *state, tp_addr addr, uint16_t stream)
{
    struct device_double *s = state;
    assert_true(s->pool && stream < s->streams);
    if (double_call(s))
        return TP_EDEVICE;
    uint64_t index = (addr - DOUBLE_BASE) / DOUBLE_STEP;
    if (addr % DOUBLE_STEP || index >= bench.block_count || !bench.blocks[index].size)
        return TP_EINVAL;
    s->marks.used -= bench.blocks[index].size;
    double_gone(index);
    double_note(s, "put_async s%u %c", stream, double_name((uint32_t)index));
    return TP_OK;
}

static int double_pool_trim(void *state, uint64_t keep)
{
    struct device_double *s = state;
    assert_true(s->pool);
    if (double_call(s))
        return TP_EDEVICE;
    uint64_t needed = double_round(s->marks.used, DOUBLE_GRAIN);
    uint64_t left = keep > needed ? double_round(keep, DOUBLE_GRAIN) : needed;
    if (left < s->marks.reserved) {
        s->held -= s->marks.reserved - left;
        s->marks.reserved = left;
    }
    return TP_OK;
}

static int double_pool_marks(void *state, struct tp_pool_marks *out)
{
    struct device_double *s = state;
    assert_true(s->pool);
    if (double_call(s))
        return TP_EDEVICE;
    *out = s->marks;
    return TP_OK;
}

/* ---- what is queued ---- */

static int double_follow(void *state, uint16_t stream, uint16_t after)
{
    struct device_double *s = state;
    assert_true(stream < s->streams && after < s->streams && stream != after);
    if (double_call(s))
        return TP_EDEVICE;
    s->counts.event_waits++;
    double_note(s, "follow s%u s%u", stream, after);
    return TP_OK;
}

static int double_work(void *state, uint16_t stream, tp_addr addr, uint64_t size, uint64_t ns,
                       enum tp_occupy how)
{
    struct device_double *s = state;
    assert_true(stream < s->streams && ns <= TP_OCCUPY_MAX_NS);
    assert_true(how == TP_OCCUPY_MEMSET || how == TP_OCCUPY_SPIN);
    if (!size) { /* before anybody looks at the memory */
        assert_true(!s->looked);
        return TP_OK;
    }
    uint32_t i = double_find(addr, size);
    if (double_call(s) || bench.work_status)
        return bench.work_status ? bench.work_status : TP_EDEVICE;
    s->counts.works++;
    bench.works++;
    double_note(s, "work s%u %c %u", stream, double_name(i), (unsigned)ns);
    double_be_busy(bench.work_ns);
    return TP_OK;
}

/* ---- the device ---- */

static int double_memory(void *state, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct device_double *s = state;
    s->looked = true;
    s->counts.calls--; /* a look is no call of the program */
    if (double_call(s))
        return TP_EDEVICE;
    *total_bytes = DOUBLE_TOTAL;
    *free_bytes = DOUBLE_TOTAL - DOUBLE_CONTEXT - s->held;
    return TP_OK;
}

static void double_counts(void *state, struct tp_driver_counts *out)
{
    *out = ((struct device_double *)state)->counts;
}

static int double_fault(void *state, struct tp_err *err)
{
    const struct device_double *s = state;
    return s->fault ? tp_fail(err, TP_EDEVICE, "device %u is gone since call %u", s->device,
                              (unsigned)s->fault_call)
                    : TP_OK;
}

static const struct tp_source_ops device_double = {
    .name = "double",
    .summary = "a double of a device",
    .flags = TP_SRC_DEVICE,
    .state_size = sizeof(struct device_double),
    .init = double_init,
    .fini = double_fini,
    .page = double_page,
    .capacity = double_capacity,
    .get = double_get,
    .put = double_put,
    .record = double_record,
    .done = double_done,
    .wait = double_wait,
    .synced = double_synced,
    .drained = double_drained,
    .pool_open = double_pool_open,
    .pool_close = double_pool_close,
    .get_async = double_get_async,
    .put_async = double_put_async,
    .pool_trim = double_pool_trim,
    .pool_marks = double_pool_marks,
    .follow = double_follow,
    .work = double_work,
    .memory = double_memory,
    .counts = double_counts,
    .fault = double_fault,
};

/* ---- a strategy that takes everything from the pool ---- */

struct pooled {
    const struct tp_env *env;
};

static int pooled_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)opts;
    ((struct pooled *)st)->env = env;
    return tp_src_pool_open(env->source, &(struct tp_pool_cfg){.own = true}, err);
}

static void pooled_fini(void *st)
{
    tp_src_pool_close(((struct pooled *)st)->env->source);
}

/* It makes something of its own of what it does not know. */
static int pooled_status(int status)
{
    return status == TP_EDEVICE ? TP_EUNSUP : status;
}

static int pooled_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)thr;
    out->allocated = rq->size;
    return pooled_status(
        tp_src_get_async(((struct pooled *)st)->env->source, rq->size, rq->stream, &out->addr));
}

static int pooled_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)thr;
    return pooled_status(tp_src_put_async(((struct pooled *)st)->env->source, addr, rq->stream));
}

static const struct tp_strategy pooled = {.name = "pooled",
                                          .summary = "the pool of the double",
                                          .caps = TP_CAP_STREAMS | TP_CAP_ALIGN | TP_CAP_ASYNC,
                                          .state_size = sizeof(struct pooled),
                                          .init = pooled_init,
                                          .fini = pooled_fini,
                                          .alloc = pooled_alloc,
                                          .free = pooled_free};

#endif
