/* usage: gpu_program [TASK]...
 *
 * What tests of `tapool record --cuda` run, on the simulated driver and on a real one
 * (TAPOOL_CUDA_DRIVER, else libcuda.so.1). Each task prints what it asked of the driver: "alloc N",
 * "free N", "sync N", "failed N", and at the end "peak BYTES", summed over the tasks. They hold
 * little memory. Without a task: the first four.
 *
 *      now      cuMemAlloc and cuMemFree
 *      async    cuMemAllocAsync and its kin on two streams, with synchronisations of each kind
 *      pool     a pool of its own, trimmed
 *      threads  allocations on several threads, freed by others
 *      fails    a request that no device can serve
 *      two      memory of two devices
 *      dies     takes memory and is killed
 *      leaves   kills tapool record, and then itself: the recording is left as it is
 *      nothing  initialises CUDA, and no more
 *      away     does not come to CUDA at all */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/preload/mark.h"

static struct {
    CUresult (*Init)(unsigned int);
    CUresult (*DeviceGet)(CUdevice *, int);
    CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*DevicePrimaryCtxRelease)(CUdevice);
    CUresult (*CtxSetCurrent)(CUcontext);
    CUresult (*CtxSynchronize)(void);
    CUresult (*MemAlloc)(CUdeviceptr *, size_t);
    CUresult (*MemFree)(CUdeviceptr);
    CUresult (*MemGetInfo)(size_t *, size_t *);
    CUresult (*MemAllocAsync)(CUdeviceptr *, size_t, CUstream);
    CUresult (*MemAllocFromPoolAsync)(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
    CUresult (*MemFreeAsync)(CUdeviceptr, CUstream);
    CUresult (*MemPoolCreate)(CUmemoryPool *, const CUmemPoolProps *);
    CUresult (*MemPoolTrimTo)(CUmemoryPool, size_t);
    CUresult (*MemPoolDestroy)(CUmemoryPool);
    CUresult (*StreamCreate)(CUstream *, unsigned int);
    CUresult (*StreamDestroy)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*EventCreate)(CUevent *, unsigned int);
    CUresult (*EventDestroy)(CUevent);
    CUresult (*EventRecord)(CUevent, CUstream);
    CUresult (*EventSynchronize)(CUevent);
} cu;

static _Atomic unsigned long allocs, frees, syncs, failed;
static _Atomic uint64_t now, peak;

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "gpu_program: %s: error %d\n", what, (int)result);
    exit(4);
}
#define CALL(...) check(cu.__VA_ARGS__, #__VA_ARGS__)

/* ---- the driver ---- */

static void load(void)
{
    typedef CUresult lookup(const char *, void **, int, cuuint64_t,
                            CUdriverProcAddressQueryResult *);
    const char *path = getenv("TAPOOL_CUDA_DRIVER");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    lookup *look_up = NULL;
    memcpy(&look_up, &symbol, sizeof look_up);
    if (!look_up) {
        fprintf(stderr, "gpu_program: no driver of CUDA 12: %s\n", dlerror());
        exit(4);
    }
#define FIND(member, version)                                                                      \
    check(look_up("cu" #member, (void **)&cu.member, version, 0, NULL), "cu" #member)
    FIND(Init, 2000);
    FIND(DeviceGet, 2000);
    FIND(DevicePrimaryCtxRetain, 7000);
    FIND(DevicePrimaryCtxRelease, 11000);
    FIND(CtxSetCurrent, 4000);
    FIND(CtxSynchronize, 2000);
    FIND(MemAlloc, 3020);
    FIND(MemFree, 3020);
    FIND(MemGetInfo, 3020);
    FIND(MemAllocAsync, 11020);
    FIND(MemAllocFromPoolAsync, 11020);
    FIND(MemFreeAsync, 11020);
    FIND(MemPoolCreate, 11020);
    FIND(MemPoolTrimTo, 11020);
    FIND(MemPoolDestroy, 11020);
    FIND(StreamCreate, 2000);
    FIND(StreamDestroy, 4000);
    FIND(StreamSynchronize, 2000);
    FIND(EventCreate, 2000);
    FIND(EventDestroy, 4000);
    FIND(EventRecord, 2000);
    FIND(EventSynchronize, 2000);
}

static CUcontext context_of(int ordinal)
{
    CUdevice device;
    CUcontext context;
    CALL(DeviceGet(&device, ordinal));
    CALL(DevicePrimaryCtxRetain(&context, device));
    CALL(CtxSetCurrent(context));
    return context;
}

/* ---- what is counted ---- */

static void took(size_t bytes)
{
    uint64_t held = atomic_fetch_add(&now, bytes) + bytes, before = atomic_load(&peak);
    while (held > before && !atomic_compare_exchange_weak(&peak, &before, held))
        ;
    atomic_fetch_add(&allocs, 1);
}

static void gave(size_t bytes)
{
    atomic_fetch_sub(&now, bytes);
    atomic_fetch_add(&frees, 1);
}

/* ---- tasks ---- */

enum { BLOCKS = 40, ROUNDS = 8, THREADS = 4 };

static size_t size_of(int i)
{
    return (size_t)(2 * i + 1) * 1000;
}

static void take_and_give(void)
{
    CUdeviceptr blocks[BLOCKS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            CALL(MemAlloc(&blocks[i], size_of(i)));
            took(size_of(i));
        }
        for (int i = 0; i < BLOCKS; i++) {
            gave(size_of(i));
            CALL(MemFree(blocks[i]));
        }
    }
}

static void on_streams(void)
{
    CUstream a, b;
    CUevent event;
    CUdeviceptr first, second;
    CALL(StreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CALL(StreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CALL(EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MemAllocAsync(&first, 1 << 20, a));
        took(1 << 20);
        CALL(MemAllocAsync(&second, 1 << 19, b));
        took(1 << 19);
        CALL(MemFreeAsync(first, a));
        gave(1 << 20);
        CALL(EventRecord(event, a));
        CALL(EventSynchronize(event));
        CALL(MemFreeAsync(second, b));
        gave(1 << 19);
        CALL(StreamSynchronize(b));
        atomic_fetch_add(&syncs, 2);
    }
    CALL(CtxSynchronize());
    atomic_fetch_add(&syncs, 1);
    CALL(EventDestroy(event));
    CALL(StreamDestroy(a));
    CALL(StreamDestroy(b));
}

static void from_a_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CUdeviceptr p;
    CALL(MemPoolCreate(&pool, &props));
    CALL(MemAllocFromPoolAsync(&p, 3000, pool, NULL));
    took(3000);
    CALL(MemFreeAsync(p, NULL));
    gave(3000);
    CALL(StreamSynchronize(NULL));
    atomic_fetch_add(&syncs, 1);
    CALL(MemPoolTrimTo(pool, 0));
    CALL(MemPoolDestroy(pool));
}

static CUcontext shared;
static CUdeviceptr passed_on[THREADS][BLOCKS];
static pthread_barrier_t all_took;

static void *work(void *data)
{
    int nth = (int)(intptr_t)data, next = (nth + 1) % THREADS;
    CALL(CtxSetCurrent(shared));
    for (int i = 0; i < BLOCKS; i++) {
        CALL(MemAlloc(&passed_on[nth][i], size_of(i)));
        took(size_of(i));
    }
    pthread_barrier_wait(&all_took);
    for (int i = 0; i < BLOCKS; i++) {
        CUdeviceptr p; /* often where another thread has just freed one */
        gave(size_of(i));
        CALL(MemFree(passed_on[next][i]));
        CALL(MemAlloc(&p, size_of(i)));
        took(size_of(i));
        gave(size_of(i));
        CALL(MemFree(p));
    }
    return NULL;
}

static void by_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_took, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            exit(4);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void in_vain(void)
{
    size_t unused, all;
    CUdeviceptr small, p;
    CALL(MemGetInfo(&unused, &all));
    CALL(MemAlloc(&small, 4096));
    took(4096);
    if (cu.MemAlloc(&p, all) != CUDA_ERROR_OUT_OF_MEMORY)
        check(CUDA_ERROR_UNKNOWN, "a request of all memory beside another");
    CALL(MemFree(small));
    gave(4096);
    atomic_fetch_add(&failed, 1);
}

static void of_two_devices(void)
{
    CUcontext first = shared, second = context_of(1);
    CUdeviceptr p, q;
    CALL(MemAlloc(&p, 5000));
    took(5000);
    CALL(CtxSetCurrent(first));
    CALL(MemAlloc(&q, 7000));
    took(7000);
    gave(7000);
    CALL(MemFree(q));
    CALL(CtxSetCurrent(second));
    gave(5000);
    CALL(MemFree(p));
    CALL(DevicePrimaryCtxRelease(1));
    CALL(CtxSetCurrent(first));
}

static void say(void)
{
    printf("alloc %lu\nfree %lu\nsync %lu\nfailed %lu\npeak %llu\n", allocs, frees, syncs, failed,
           (unsigned long long)peak);
    fflush(stdout);
}

static void and_dies(void)
{
    CUdeviceptr p;
    for (int i = 0; i < BLOCKS; i++) {
        CALL(MemAlloc(&p, size_of(i)));
        took(size_of(i));
    }
    say();
    raise(SIGKILL);
}

static void and_leaves(void)
{
    kill(getppid(), SIGKILL);
    raise(SIGKILL);
}

static void nothing(void) {}

static const struct {
    const char *name;
    void (*run)(void);
    bool always; /* where no task is named */
} tasks[] = {
    {"now", take_and_give, true},  {"async", on_streams, true},   {"pool", from_a_pool, true},
    {"threads", by_threads, true}, {"fails", in_vain, false},     {"two", of_two_devices, false},
    {"dies", and_dies, false},     {"leaves", and_leaves, false}, {"nothing", nothing, false}};

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "away"))
        return 0;
    load();
    CALL(Init(0));
    shared = context_of(0);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        bool asked = argc == 1 && tasks[i].always;
        for (int a = 1; a < argc; a++)
            asked |= !strcmp(argv[a], tasks[i].name);
        if (!asked)
            continue;
        if (tasks[i].run != nothing)
            TAPOOL_MARK(tasks[i].name);
        tasks[i].run();
    }
    CALL(DevicePrimaryCtxRelease(0));
    say();
    return 0;
}
