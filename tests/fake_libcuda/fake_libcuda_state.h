/* What the parts of the fake driver share. One mutex guards all of it: an entry point takes it in
 * fc_enter and gives it back in fc_leave, and everything between is plain code.
 *
 *     fake_libcuda.c         entry and exit, violations, books, the report
 *     fake_libcuda_script.c  the script
 *     fake_libcuda_tree.c    an ordered map
 *     fake_libcuda_order.c   streams, vector clocks, the simulated time
 *     fake_libcuda_memory.c  what is live at which address, and who uses which bytes
 *     fake_libcuda_heap.c    physical memory in chunks, and the pieces that pools cut from them
 *     fake_libcuda_names.c   cuGetProcAddress, names of errors
 *     fake_libcuda_profiled.c   CUPTI: who hears of the calls
 *     fake_libcuda_device.c, _stream.c, _alloc.c, _pool.c, _vmm.c   entry points, by subject */
#ifndef TP_FAKE_LIBCUDA_STATE_H
#define TP_FAKE_LIBCUDA_STATE_H

#if __has_include(<cuda.h>) /* without it the fake driver is not built */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#include <cuda.h>

#include "tests/fake_libcuda/fake_libcuda.h"

/* Those whose stream 0 is the thread's own; cuda.h keeps their declarations to itself. */
CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream hStream);
CUresult CUDAAPI cuStreamQuery_ptsz(CUstream hStream);
CUresult CUDAAPI cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags);
CUresult CUDAAPI cuEventRecord_ptsz(CUevent hEvent, CUstream hStream);
CUresult CUDAAPI cuMemsetD8Async_ptsz(CUdeviceptr dst, unsigned char uc, size_t N,
                                      CUstream hStream);
CUresult CUDAAPI cuMemsetD32Async_ptsz(CUdeviceptr dst, unsigned int ui, size_t N,
                                       CUstream hStream);
CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                     unsigned int gz, unsigned int bx, unsigned int by,
                                     unsigned int bz, unsigned int shared, CUstream hStream,
                                     void **kernelParams, void **extra);
CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream);
CUresult CUDAAPI cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                              CUstream hStream);
CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream);
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx); /* not in the headers of 12 */
CUresult CUDAAPI fake_get_proc_address(const char *symbol, void **pfn, int cudaVersion,
                                       cuuint64_t flags) __asm__("cuGetProcAddress");
#pragma GCC visibility pop

enum {
    FC_DEVICES = 16,
    FC_CONNECTIONS = 32, /* at most */
    FC_BINS = 64,        /* of free pieces, by the binary logarithm of their size */
    FC_FAILS = 16,       /* rows `fail=` and `missing=` of a script */
    FC_NAME = 48
};
#define FC_UNIT       UINT64_C(512)        /* sizes and addresses of blocks are multiples of it */
#define FC_GRANULE    (UINT64_C(2) << 20)  /* physical memory comes in these */
#define FC_POOL_CHUNK (UINT64_C(32) << 20) /* what a pool reserves at least */
#define FC_BASE                                                                                    \
    UINT64_C(0x200000000000) /* device d owns the addresses from FC_BASE + d * FC_SPAN */
#define FC_SPAN UINT64_C(0x040000000000)

/* --- the calls -------------------------------------------------------------------------------- */

/* name as cuGetProcAddress spells it */
#define FC_CALLS(X)                                                                                \
    X(cuGetErrorName)                                                                              \
    X(cuGetErrorString)                                                                            \
    X(cuGetProcAddress)                                                                            \
    X(cuDriverGetVersion)                                                                          \
    X(cuInit)                                                                                      \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceTotalMem)                                                                            \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuMemGetInfo)                                                                                \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemAllocAsync)                                                                             \
    X(cuMemAllocFromPoolAsync)                                                                     \
    X(cuMemFreeAsync)                                                                              \
    X(cuMemPoolCreate)                                                                             \
    X(cuMemPoolDestroy)                                                                            \
    X(cuMemPoolSetAttribute)                                                                       \
    X(cuMemPoolGetAttribute)                                                                       \
    X(cuMemPoolTrimTo)                                                                             \
    X(cuDeviceGetDefaultMemPool)                                                                   \
    X(cuDeviceGetMemPool)                                                                          \
    X(cuDeviceSetMemPool)                                                                          \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamQuery)                                                                               \
    X(cuStreamWaitEvent)                                                                           \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventSynchronize)                                                                          \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemsetD32Async)                                                                            \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuLaunchKernel)                                                                              \
    X(cuMemAddressReserve)                                                                         \
    X(cuMemAddressFree)                                                                            \
    X(cuMemCreate)                                                                                 \
    X(cuMemRelease)                                                                                \
    X(cuMemMap)                                                                                    \
    X(cuMemUnmap)                                                                                  \
    X(cuMemSetAccess)                                                                              \
    X(cuMemGetAllocationGranularity)

#define FC_CALL_ID(name) FC_##name,
enum fc_call { FC_CALLS(FC_CALL_ID) FC_CALL_COUNT };

/* --- an ordered map of uint64_t --------------------------------------------------------------- */

struct fc_node {
    uint64_t key;
    uint32_t prio;
    struct fc_node *child[2];
};

struct fc_tree {
    struct fc_node *root;
    uint32_t random;
};

void fc_tree_insert(struct fc_tree *t, struct fc_node *n,
                    uint64_t key); /* a key that is not there */
void fc_tree_remove(struct fc_tree *t, struct fc_node *n);
struct fc_node *fc_tree_find(const struct fc_tree *t, uint64_t key);
struct fc_node *fc_tree_floor(const struct fc_tree *t, uint64_t key); /* the highest <= key */
struct fc_node *fc_tree_after(const struct fc_tree *t, uint64_t key); /* the lowest > key */

/* The struct that a member lies in; NULL stays NULL. */
#define FC_OF(ptr, type, member) ((type *)fc_of((void *)(ptr), offsetof(type, member)))
static inline void *fc_of(void *member, size_t offset)
{
    return member ? (char *)member - offset : NULL;
}

void *fc_grow(void *old, size_t bytes); /* realloc that does not fail */
void *fc_zeroed(size_t bytes);

/* --- order ------------------------------------------------------------------------------------ */

/* How far each stream had come: at[slot] works of it are before whoever holds the clock. */
struct fc_clock {
    uint32_t n;
    uint64_t *at;
    uint64_t version; /* changes with the contents */
};

/* A place in a stream's work: the seq-th of stream `slot`, complete at `end` ns. */
struct fc_point {
    uint32_t slot;
    uint64_t seq, end;
};

uint64_t fc_clock_at(const struct fc_clock *c, uint32_t slot);
void fc_clock_set(struct fc_clock *c, uint32_t slot, uint64_t seq);
void fc_clock_join(struct fc_clock *c, const struct fc_clock *with);
void fc_clock_copy(struct fc_clock *c, const struct fc_clock *from);
void fc_clock_clear(struct fc_clock *c);

/* Whether the point is before what holds the clock. */
static inline bool fc_before(const struct fc_point *p, const struct fc_clock *c)
{
    return fc_clock_at(c, p->slot) >= p->seq;
}

/* --- what handles name ------------------------------------------------------------------------ */

enum fc_kind { FC_STREAM, FC_EVENT, FC_POOL, FC_MODULE, FC_PHYSICAL, FC_KINDS };

/* The first member of all of these. A handle is a number that is never given twice. */
struct fc_object {
    struct fc_node node;
    enum fc_kind kind;
    struct fc_device *device;
    struct fc_object *prev, *next; /* of the same device and kind */
    uint64_t taken;                /* bytes of the device that the driver has for it */
};

/* A ring: when things that are pending are complete, the first one first. */
struct fc_ends {
    uint64_t *at;
    uint32_t cap, first, count;
};

/* What is sent to the device through it begins in the order in which it was queued. */
struct fc_connection {
    uint64_t tail; /* when the last of it is complete */
    uint32_t streams;
};

struct fc_stream {
    struct fc_object object;
    uint32_t slot;
    bool blocking; /* waits for the legacy stream, and that for it */
    struct fc_clock clock;
    uint64_t seq, tail;               /* its last work, and when that is complete */
    struct fc_ends queued;            /* all that is in its queue */
    uint64_t host_version;            /* of the host's clock when it was joined */
    struct fc_ends works;             /* the memsets and kernels among it */
    struct fc_stream *sibling;        /* next blocking one of the device */
    struct fc_connection *connection; /* NULL: one of its own */
};

struct fc_event {
    struct fc_object object;
    bool recorded;
    struct fc_point point;
    struct fc_clock clock;
};

struct fc_module {
    struct fc_object object;
    struct fc_clock used; /* the last launch in each stream */
};

struct fc_device {
    int ordinal;
    unsigned retained;    /* the primary context: 0 is none */
    uint64_t generation;  /* of the context */
    uint64_t cursor;      /* where the search for addresses goes on */
    uint64_t physical;    /* bytes in use */
    struct fc_tree spans; /* addresses that are taken: struct fc_span */
    struct fc_tree live;  /* struct fc_memory */
    struct fc_object *objects[FC_KINDS];
    struct fc_reservation *reservations;
    struct fc_stream *legacy, *blocking;
    struct fc_stream **per_thread; /* by the number of the thread */
    uint32_t per_threads;
    struct fc_connection connections[FC_CONNECTIONS];
    struct fc_heap *small; /* ranges below a granule */
    struct fc_pool *default_pool, *pool;
};

/* --- memory ----------------------------------------------------------------------------------- */

struct fc_span {
    struct fc_node node; /* its first address */
    uint64_t size;
};

/* A part of a chunk: handed out, or free. Free ones lie in a bin. */
struct fc_piece {
    uint64_t addr, size;
    uint64_t asked; /* of one that is handed out: bytes that were requested */
    struct fc_chunk *chunk;
    struct fc_piece *prev, *next;     /* neighbours in the chunk */
    struct fc_piece *older, *newer;   /* in the order of the frees, while the host may not know */
    struct fc_piece *before, *behind; /* in the bin */
    struct fc_bins *bins;             /* NULL: handed out */
    struct fc_point freed;
};

struct fc_chunk {
    uint32_t number; /* of a heap whose first place is asked for */
    struct fc_span span;
    struct fc_heap *heap;
    struct fc_chunk *prev, *next;
    struct fc_piece *first;
};

struct fc_bins {
    uint64_t mask; /* bins that hold something */
    struct fc_piece *first[FC_BINS], *last[FC_BINS];
    struct fc_piece *oldest, *newest;
};

/* Chunks of one device, and what is free in them: per stream that freed it, or for all. */
struct fc_heap {
    struct fc_device *device;
    uint64_t chunk_size, max_size; /* 0: no limit */
    uint64_t reserved, reserved_high, used, used_high;
    uint64_t host_version; /* of the host's clock when frees were last looked at */
    bool follow, opportunistic, internal;
    struct fc_chunk *chunks;
    struct fc_bins idle, **bins;
    uint32_t slots;
};

struct fc_pool {
    struct fc_object object;
    struct fc_heap heap;
    uint64_t threshold;
    uint64_t blocks;
    bool destroyed; /* lives until its last block is back */
};

struct fc_physical {
    struct fc_object object;
    uint64_t size;
    uint32_t mappings;
    bool released;
};

/* Addresses without memory. */
struct fc_reservation {
    struct fc_span span;
    struct fc_device *device;
    struct fc_reservation *next;
    uint32_t mappings;
};

enum fc_memory_kind { FC_RANGE, FC_BLOCK, FC_MAPPED };

/* A stretch of bytes that work may touch. */
struct fc_memory {
    struct fc_node node; /* its first address */
    enum fc_memory_kind kind;
    struct fc_device *device;
    uint64_t size;          /* asked for */
    uint64_t physical;      /* RANGE of whole granules */
    struct fc_span *span;   /* RANGE of whole granules */
    struct fc_piece *piece; /* BLOCK, and RANGE below a granule */
    struct fc_pool *pool;
    struct fc_physical *backing; /* MAPPED */
    struct fc_reservation *reservation;
    bool access;               /* MAPPED: it was set */
    struct fc_point allocated; /* BLOCK */
    struct fc_tree uses;       /* the last use of each byte */
    uint32_t use_count, purge_at;
};

/* 0: none left. align: a power of two. */
uint64_t fc_address(struct fc_device *d, struct fc_span *span, uint64_t size, uint64_t align);
void fc_address_free(struct fc_device *d, struct fc_span *span);
struct fc_device *fc_device_of(uint64_t addr); /* NULL: no device's */
struct fc_memory *fc_memory_add(struct fc_device *d, enum fc_memory_kind kind, uint64_t addr,
                                uint64_t size);
struct fc_memory *fc_memory_at(uint64_t addr); /* that begins there, or NULL */
struct fc_memory *fc_memory_over(uint64_t addr);
void fc_memory_drop(struct fc_memory *m);
/* What `what` in the stream does at `p` with these bytes. */
void fc_memory_use(struct fc_stream *s, const struct fc_point *p, uint64_t addr, uint64_t size,
                   const char *what);
/* A violation unless its allocation and all uses are before the clock's site. */
void fc_memory_settled(struct fc_memory *m, const struct fc_clock *c, const char *what);

void fc_heap_init(struct fc_heap *h, struct fc_device *d, uint64_t chunk_size);
/* For the work at `p` of the stream; NULL: out of memory. `wait` gets the time that it must wait
 * for. Without a stream only what the host knows to be free is taken. */
struct fc_piece *fc_heap_take(struct fc_heap *h, struct fc_stream *s, uint64_t size,
                              uint64_t *wait);
/* The lowest idle place in the chunk of the lowest number that has one; a new chunk has the lowest
 * number that is free. */
struct fc_piece *fc_heap_take_first(struct fc_heap *h, uint64_t asked);
void fc_heap_put(struct fc_heap *h, struct fc_piece *p, const struct fc_point *freed);
void fc_heap_trim(struct fc_heap *h, uint64_t keep);
void fc_chunk_trim(struct fc_chunk *c);  /* gives it back where nothing in it is handed out */
bool fc_heap_pending(struct fc_heap *h); /* frees that the host does not know to be complete */
void fc_heap_clear(struct fc_heap *h);   /* everything, whatever is handed out */

/* --- all of it -------------------------------------------------------------------------------- */

struct fc_fail {
    enum fc_call call;
    uint64_t nth; /* 0: every one */
    CUresult code;
};

struct fc_script {
    int devices, version;
    uint64_t memory, own, launch, step, threshold;
    bool pools, vmm, real_time;
    uint64_t queue;
    struct fc_fail fails[FC_FAILS];
    uint32_t fail_count;
    char missing[FC_FAILS][FC_NAME];
    uint32_t missing_count;
    uint64_t async_nth, lost_at;
    CUresult async_code;
};

struct fc_state {
    struct fc_script script;
    char *applied; /* the text of TAPOOL_FAKE_CUDA in force, or NULL */
    bool by_call;  /* fake_cuda_script gave the script: the environment does not count */
    bool initialised;
    bool forked;       /* this process is a fork of the one that called cuInit */
    bool quiet;        /* the device is broken: what is undone now is no violation */
    enum fc_call call; /* that holds the lock */
    uint64_t now, calls_of[FC_CALL_COUNT];
    /* the last question: calls by then, the time that was selected, how often it came in a row */
    uint64_t asked_at, asked_ns, asked;
    CUresult broken;    /* sticky */
    uint64_t fault_due; /* when the failing work is complete; 0: none */
    uint64_t next_handle, next_generation;
    uint32_t slots, *free_slots, free_slot_count, threads;
    struct fc_tree objects;
    struct fc_clock host; /* what the host knows to be complete */
    struct fc_device devices[FC_DEVICES];
    struct fake_cuda_books books; /* counts; what is held now */
    struct fake_cuda_books lost;  /* destroyed with their context, not given back */
    char last_violation[256];
};

extern struct fc_state fc; /* the one instance: a driver is one per process */

extern const char *const fc_call_names[FC_CALL_COUNT];

/* Every entry point begins and ends with these. What fc_enter refuses is returned through fc_leave
 * all the same. fc_enter_release: of calls that give something back: true when it is to be done,
 * although *rc may already hold the error of a broken device. */
CUresult fc_enter(enum fc_call call);
bool fc_enter_release(enum fc_call call, CUresult *rc);
CUresult fc_leave(CUresult rc);
CUresult fc_violation(CUresult rc, const char *format, ...) __attribute__((format(printf, 2, 3)));

void fc_script_defaults(struct fc_script *s);
bool fc_script_parse(struct fc_script *s, const char *text);

struct fc_device *fc_device(CUdevice ordinal); /* NULL: no such */
struct fc_device *fc_current(CUresult *rc); /* of the thread's context; a violation without one */
void fc_context_clear(struct fc_device *d);

void fc_object_add(struct fc_device *d, struct fc_object *o, enum fc_kind kind);
void fc_object_charge(struct fc_object *o); /* the driver takes the script's `own` bytes for it */
void fc_object_remove(struct fc_object *o); /* and frees it */
void *fc_object(uint64_t handle, enum fc_kind kind, CUresult *rc); /* a violation without one */

struct fc_stream *fc_stream(CUstream handle, CUresult *rc);     /* NULL and a violation: no such */
struct fc_stream *fc_stream_own(CUstream handle, CUresult *rc); /* also of the current context */
struct fc_stream *fc_stream_make(struct fc_device *d, bool blocking);
void fc_stream_connect(struct fc_stream *s); /* to the connection that the fewest streams have */
void fc_stream_free(struct fc_stream *s);
void fc_catch_up(struct fc_stream *s);
struct fc_point fc_queue(struct fc_stream *s, uint64_t ns); /* one more thing that takes so long */
void fc_queue_work(struct fc_stream *s, const struct fc_point *p);
void fc_reach(uint64_t ns);  /* the time is at least this */
void fc_tick(void);          /* a call takes its time */
bool fc_passed(uint64_t ns); /* asked by the host: is this time over? */
void fc_host_knows(const struct fc_clock *c);
void fc_device_finish(struct fc_device *d); /* waits for everything */
void fc_synced(struct fc_device *d);        /* pools go down to their thresholds */
uint64_t fc_pending(void);                  /* memsets and kernels */
CUstream fc_per_thread(CUstream stream);    /* 0 as the variants _ptsz take it */

/* For CUPTI: what is called instead of a function, so that a subscriber hears of it; loads the
 * library that the environment wants to be told; the thread's context. */
typedef void fc_function(void);
fc_function *fc_heard(fc_function *plain);
void fc_inject(void);
CUcontext fc_context_now(void);

void fc_unmap(struct fc_memory *m);
void fc_reservation_free(struct fc_reservation *r);

struct fc_pool *fc_default_pool(struct fc_device *d);
void fc_pool_free(struct fc_pool *p);

#endif
#endif
