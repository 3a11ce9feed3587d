/* The fake driver, loaded and called by the names of cuda.h: `cu.cuMemAlloc(&p, 4096)`. */
#ifndef TP_FAKE_CUDA_RIG_H
#define TP_FAKE_CUDA_RIG_H

#include "tests/fake_libcuda/fake_libcuda_state.h"
#include "tests/unit/test.h"

#ifdef TAPOOL_FAKE_CUDA_PATH
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* cuda.h renames some functions: both the member and the symbol take the new name. */
#define RIG_MEMBER(name) __typeof__(&name) name;
#define RIG_TEXT(name)   #name
#define RIG_LOAD(name)   rig_load(RIG_TEXT(name), &cu.name);

static struct {
    FC_CALLS(RIG_MEMBER)
    RIG_MEMBER(cuEventRecord_ptsz)
    RIG_MEMBER(cuMemsetD8Async_ptsz)
    RIG_MEMBER(cuCtxSynchronize_v2)
    RIG_MEMBER(fake_cuda_books)
    RIG_MEMBER(fake_cuda_last_violation)
    RIG_MEMBER(fake_cuda_script)
    RIG_MEMBER(fake_cuda_advance)
    __typeof__(&fake_get_proc_address) old_get_proc_address;
} cu;

static inline void rig_load(const char *name, void *function)
{
    static void *library;
    if (!library)
        library = dlopen(TAPOOL_FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        print_message("%s: %s\n", name, dlerror());
        _exit(1);
    }
    memcpy(function, &found, sizeof found);
}

static inline int open_driver(void **state)
{
    (void)state;
    FC_CALLS(RIG_LOAD)
    RIG_LOAD(cuEventRecord_ptsz)
    RIG_LOAD(cuMemsetD8Async_ptsz)
    RIG_LOAD(cuCtxSynchronize_v2)
    RIG_LOAD(fake_cuda_books)
    RIG_LOAD(fake_cuda_last_violation)
    RIG_LOAD(fake_cuda_script)
    RIG_LOAD(fake_cuda_advance)
    rig_load("cuGetProcAddress", &cu.old_get_proc_address);
    return 0;
}

#define ok(call)         assert_int_equal(call, CUDA_SUCCESS)
#define says(code, call) assert_int_equal(call, code)

/* What the functions below made, and `end` gives back. */
static struct {
    enum { MADE_RANGE, MADE_STREAM, MADE_EVENT, MADE_POOL } kind;
    union {
        CUdeviceptr range;
        CUstream stream;
        CUevent event;
        CUmemoryPool pool;
    } of;
} made[64];
static size_t made_count;

#define MADE(kind_, member, handle)                                                                \
    if (made_count < sizeof made / sizeof *made) {                                                 \
        made[made_count].kind = (kind_);                                                           \
        made[made_count++].of.member = (handle);                                                   \
    }

/* A script in force, and the context of device 0 current. */
static inline void begin(const char *script)
{
    CUcontext context;
    made_count = 0;
    cu.fake_cuda_script(script);
    ok(cu.cuInit(0));
    ok(cu.cuDevicePrimaryCtxRetain(&context, 0));
    ok(cu.cuCtxSetCurrent(context));
}

static inline struct fake_cuda_books books(void)
{
    struct fake_cuda_books b;
    cu.fake_cuda_books(&b);
    return b;
}

static inline void violations(uint64_t expected)
{
    if (books().violations != expected)
        print_message("last violation: %s\n", cu.fake_cuda_last_violation());
    assert_int_equal(books().violations, expected);
}

/* The newest violation is this one, and so many there are now. */
static inline void violated(uint64_t expected, const char *part)
{
    violations(expected);
    if (!strstr(cu.fake_cuda_last_violation(), part))
        print_message("last violation: %s\n", cu.fake_cuda_last_violation());
    assert_non_null(strstr(cu.fake_cuda_last_violation(), part));
}

static inline void balanced(void)
{
    struct fake_cuda_books b = books();
    assert_int_equal(b.streams, 0);
    assert_int_equal(b.events, 0);
    assert_int_equal(b.pools, 0);
    assert_int_equal(b.contexts, 0);
    assert_int_equal(b.ranges, 0);
    assert_int_equal(b.range_bytes, 0);
    assert_int_equal(b.blocks, 0);
    assert_int_equal(b.block_bytes, 0);
    assert_int_equal(b.modules, 0);
    assert_int_equal(b.works_pending, 0);
}

/* So many violations; then everything goes back that the test has not given back itself, the
 * newest first, and nothing is left. */
static inline void end(uint64_t expected)
{
    violations(expected);
    cu.cuCtxSynchronize();
    while (made_count-- > 0) {
        if (made[made_count].kind == MADE_RANGE)
            cu.cuMemFree(made[made_count].of.range);
        else if (made[made_count].kind == MADE_STREAM)
            cu.cuStreamDestroy(made[made_count].of.stream);
        else if (made[made_count].kind == MADE_EVENT)
            cu.cuEventDestroy(made[made_count].of.event);
        else
            cu.cuMemPoolDestroy(made[made_count].of.pool);
    }
    cu.cuDevicePrimaryCtxRelease(0);
    balanced();
}

static inline CUstream stream(unsigned flags)
{
    CUstream s;
    ok(cu.cuStreamCreate(&s, flags));
    MADE(MADE_STREAM, stream, s)
    return s;
}

static inline CUstream other_stream(void)
{
    return stream(CU_STREAM_NON_BLOCKING);
}

static inline void drop_stream(CUstream s)
{
    ok(cu.cuStreamSynchronize(s));
    ok(cu.cuStreamDestroy(s));
}

static inline CUevent event(void)
{
    CUevent e;
    ok(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    MADE(MADE_EVENT, event, e)
    return e;
}

/* `later` goes on after what `earlier` has been given so far. */
static inline void order(CUstream earlier, CUstream later)
{
    CUevent e = event();
    ok(cu.cuEventRecord(e, earlier));
    ok(cu.cuStreamWaitEvent(later, e, 0));
    ok(cu.cuEventSynchronize(e));
    ok(cu.cuEventDestroy(e));
}

static inline CUdeviceptr range(size_t size)
{
    CUdeviceptr p;
    ok(cu.cuMemAlloc(&p, size));
    MADE(MADE_RANGE, range, p)
    return p;
}

/* Frees a range after all work, which cuMemFree does not wait for. */
static inline void drop_range(CUdeviceptr p)
{
    ok(cu.cuCtxSynchronize());
    ok(cu.cuMemFree(p));
}

static inline CUdeviceptr block(size_t size, CUstream s)
{
    CUdeviceptr p;
    ok(cu.cuMemAllocAsync(&p, size, s));
    MADE(MADE_RANGE, range, p)
    return p;
}

static inline void fill(CUdeviceptr p, size_t bytes, CUstream s)
{
    ok(cu.cuMemsetD8Async(p, 0, bytes, s));
}

static inline size_t free_memory(void)
{
    size_t free_bytes, total;
    ok(cu.cuMemGetInfo(&free_bytes, &total));
    return free_bytes;
}
#endif
#endif
