/* What a call of `cudaMallocAsync` costs in tapool beside the bare call of the driver: the strategy
 * on its source under the meter, as a replay has it, in turn with a loop that one would write by
 * hand.
 *
 *     async_loop [SIZE [PAIRS [ROUNDS]]]        1048576 128 321 by default; prints JSON
 *
 *     round 1   PAIRS x cuMemAllocAsync, cuMemFreeAsync     PAIRS x alloc, free of the strategy
 *     round 2   the other way about ...                     the driver is idle in between
 *
 * A driver's queue has room for about a thousand things; behind a full one each call waits for the
 * device, and the strategy works beside that wait: its share would read 0. So a round has at most
 * 128 pairs, and the device is waited for before each, untimed.
 *
 * Both take their blocks from the device's default pool, which the strategy has told to keep
 * everything, and use a stream that waits for no other. What is printed as own share is the median
 * over the rounds of strategy less bare, and the quartiles; ns a call, half a pair.
 *
 * Exit status: 0, 1 a call failed, 2 usage, 4 no driver or no device. Known weakness: only pairs on
 * one stream; the share of `use`, which waits are needed for, is not in it. */
#include "alloc/base/clock.h"
#include "alloc/sources/common/meta_heap.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROUNDS = 1001, MAX_PAIRS = 128, NO_DRIVER = 4 };

extern const struct tp_source_ops tp_source_cuda, tp_source_meter;
extern const struct tp_strategy tp_strategy_cuda_malloc_async;

struct work {
    uint64_t size; /* bytes of a block */
    uint64_t pairs, rounds;
};

/* ---- the bare driver ---- */

struct bare {
    void *library;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUresult (*init)(unsigned);
    CUresult (*get_device)(CUdevice *, int);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*release)(CUdevice);
    CUresult (*set_current)(CUcontext);
    CUresult (*create_stream)(CUstream *, unsigned);
    CUresult (*destroy_stream)(CUstream);
    CUresult (*alloc)(CUdeviceptr *, size_t, CUstream);
    CUresult (*free)(CUdeviceptr, CUstream);
};

static bool load_symbols(struct bare *b)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"cuInit", &b->init},
                   {"cuDeviceGet", &b->get_device},
                   {"cuDevicePrimaryCtxRetain", &b->retain},
                   {"cuDevicePrimaryCtxRelease_v2", &b->release},
                   {"cuCtxSetCurrent", &b->set_current},
                   {"cuStreamCreate", &b->create_stream},
                   {"cuStreamDestroy_v2", &b->destroy_stream},
                   {"cuMemAllocAsync", &b->alloc},
                   {"cuMemFreeAsync", &b->free}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(b->library, symbols[i].name);
        if (!found) {
            fprintf(stderr, "async_loop: the driver has no %s\n", symbols[i].name);
            return false;
        }
        *(void **)symbols[i].slot = found;
    }
    return true;
}

static int bare_open(struct bare *b)
{
    const char *path = getenv("TAPOOL_CUDA_DRIVER");
    b->library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!b->library) {
        fprintf(stderr, "async_loop: %s\n", dlerror());
        return NO_DRIVER;
    }
    if (!load_symbols(b) || b->init(0) || b->get_device(&b->device, 0)) {
        fprintf(stderr, "async_loop: there is no CUDA device\n");
        return NO_DRIVER;
    }
    if (b->retain(&b->context, b->device))
        return NO_DRIVER;
    if (b->set_current(b->context) || b->create_stream(&b->stream, CU_STREAM_NON_BLOCKING)) {
        b->release(b->device);
        b->context = NULL;
        return 1;
    }
    return 0;
}

static void bare_close(struct bare *b)
{
    if (b->context) {
        b->set_current(b->context);
        b->destroy_stream(b->stream);
        b->release(b->device);
    }
    if (b->library)
        dlclose(b->library);
}

__attribute__((noinline)) static int bare_pairs(const struct bare *b, const struct work *w)
{
    int failed = 0;
    for (uint64_t i = 0; i < w->pairs; i++) {
        CUdeviceptr block = 0;
        failed |= (int)b->alloc(&block, w->size, b->stream);
        failed |= (int)b->free(block, b->stream);
    }
    return failed;
}

/* ---- the strategy, as a replay has it ---- */

struct ours {
    struct tp_account account;
    struct tp_meta_heap meta;
    struct tp_source cuda, meter;
    struct tp_env env;
    const struct tp_strategy *strategy;
    void *source_opts, *opts, *state;
    void *current;
    uint64_t now_ns;
    int lost;
};

static void *options_of(const struct tp_opt *rows, size_t size, const char *text,
                        struct tp_err *err)
{
    void *opts = calloc(1, size ? size : 1);
    if (opts && rows &&
        (tp_opts_defaults(rows, opts, err) ||
         (text && tp_opts_parse(rows, opts, text, "async_loop", err)))) {
        free(opts);
        return NULL;
    }
    return opts;
}

static int ours_open(struct ours *o, struct tp_err *err)
{
    const struct tp_strategy *s = o->strategy = &tp_strategy_cuda_malloc_async;
    o->source_opts = options_of(tp_source_cuda.options, tp_source_cuda.opts_size, NULL, err);
    o->opts = options_of(s->options, s->opts_size, "release_threshold=max", err);
    if (!o->source_opts || !o->opts)
        return TP_ENOMEM;
    struct tp_source_cfg cfg = {.opts = o->source_opts,
                                .account = &o->account,
                                .now_ns = &o->now_ns,
                                .kind = TP_KIND_DEVICE,
                                .streams = 1,
                                .lost = &o->lost,
                                .current = &o->current};
    int status = tp_source_open(&o->cuda, &tp_source_cuda, &cfg, err);
    cfg.opts = NULL;
    cfg.inner = &o->cuda;
    if (!status)
        status = tp_source_open(&o->meter, &tp_source_meter, &cfg, err);
    if (status)
        return status;
    o->meta.account = &o->account;
    o->env = (struct tp_env){
        .source = &o->meter, .account = &o->account, .meta = &o->meta, .streams = 1};
    void *state = tp_meta_get(&o->env, s->state_size);
    status = state ? s->init(state, &o->env, o->opts, err) : TP_ENOMEM;
    if (!status)
        o->state = state;
    else
        tp_meta_put(&o->env, state, s->state_size);
    return status;
}

static void ours_close(struct ours *o)
{
    if (o->state) {
        o->strategy->fini(o->state);
        tp_meta_put(&o->env, o->state, o->strategy->state_size);
    }
    tp_source_close(&o->meter);
    tp_source_close(&o->cuda);
    free(o->source_opts);
    free(o->opts);
}

__attribute__((noinline)) static int our_pairs(const struct ours *o, const struct work *w)
{
    const struct tp_req rq = {.size = w->size, .align = 256};
    int failed = 0;
    for (uint64_t i = 0; i < w->pairs; i++) {
        struct tp_block block = {0};
        failed |= o->strategy->alloc(o->state, o->state, &rq, &block);
        failed |= o->strategy->free(o->state, o->state, block.addr, &rq);
    }
    return failed;
}

/* ---- in turn ---- */

struct figures {
    double bare[MAX_ROUNDS], ours[MAX_ROUNDS], own[MAX_ROUNDS]; /* ns a call */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Waits until both queues are empty: the context is the same. */
static int wait_for_device(struct ours *o)
{
    struct tp_err err;
    tp_src_synced(&o->meter, TP_ALL_STREAMS);
    return tp_src_fault(&o->cuda, &err);
}

static int measure(const struct bare *b, struct ours *o, const struct work *w, struct figures *f)
{
    int failed = bare_pairs(b, w) | our_pairs(o, w); /* the pool fills */
    for (uint64_t r = 0; r < w->rounds && !failed; r++)
        for (uint64_t turn = 0; turn < 2; turn++) {
            bool bare = (r + turn) % 2 == 0;
            failed |= wait_for_device(o);
            uint64_t start = tp_wall_ns();
            failed |= bare ? bare_pairs(b, w) : our_pairs(o, w);
            (bare ? f->bare : f->ours)[r] = (double)(tp_wall_ns() - start) / (2 * (double)w->pairs);
        }
    for (uint64_t r = 0; r < w->rounds; r++)
        f->own[r] = f->ours[r] - f->bare[r];
    qsort(f->bare, w->rounds, sizeof *f->bare, by_value);
    qsort(f->ours, w->rounds, sizeof *f->ours, by_value);
    qsort(f->own, w->rounds, sizeof *f->own, by_value);
    return failed;
}

static void print_figures(const struct bare *b, const struct work *w, const struct figures *f)
{
    printf("{\"size_bytes\": %llu, \"pairs\": %llu, \"rounds\": %llu, \"simulated\": %s,\n"
           " \"bare_ns_per_call\": %.1f, \"strategy_ns_per_call\": %.1f,\n"
           " \"own_ns_per_call\": %.1f, \"own_low_ns\": %.1f, \"own_high_ns\": %.1f}\n",
           (unsigned long long)w->size, (unsigned long long)w->pairs, (unsigned long long)w->rounds,
           dlsym(b->library, "fake_cuda_simulated") ? "true" : "false", f->bare[w->rounds / 2],
           f->ours[w->rounds / 2], f->own[w->rounds / 2], f->own[w->rounds / 4],
           f->own[w->rounds - 1 - w->rounds / 4]);
}

static bool read_work(int argc, char **argv, struct work *w)
{
    uint64_t *const values[] = {&w->size, &w->pairs, &w->rounds};
    *w = (struct work){1048576, MAX_PAIRS, 321};
    for (int i = 1; i < argc && i <= 3; i++) {
        char *end = NULL;
        *values[i - 1] = strtoull(argv[i], &end, 10);
        if (end == argv[i] || *end)
            return false;
    }
    return argc <= 4 && w->size && w->pairs && w->pairs <= MAX_PAIRS && w->rounds &&
           w->rounds <= MAX_ROUNDS;
}

int main(int argc, char **argv)
{
    static struct figures figures;
    struct work work;
    struct bare bare = {0};
    struct ours ours = {0};
    struct tp_err err = {0};
    if (!read_work(argc, argv, &work)) {
        fprintf(stderr, "usage: async_loop [SIZE [PAIRS [ROUNDS]]], at most %d pairs, %d rounds\n",
                MAX_PAIRS, MAX_ROUNDS);
        return 2;
    }
    int status = bare_open(&bare);
    if (!status && ours_open(&ours, &err)) {
        fprintf(stderr, "async_loop: %s\n", err.text);
        status = 1;
    }
    if (!status && measure(&bare, &ours, &work, &figures)) {
        fprintf(stderr, "async_loop: a call failed\n");
        status = 1;
    }
    if (!status)
        print_figures(&bare, &work, &figures);
    ours_close(&ours);
    bare_close(&bare);
    return status;
}
