/* The fake driver, loaded and called by the names of cuda.h: `cu.cuMemAlloc(&p, 4096)`. */
#ifndef TP_FAKE_CUDA_RIG_H
#define TP_FAKE_CUDA_RIG_H

#include "tests/fake_libcuda_state.h"

#ifdef TAPOOL_FAKE_CUDA_PATH
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <unistd.h>

/* The names that cuda.h renames go through one more macro, so that members and symbols agree. */
#define RIG_MEMBER(name) __typeof__(&name) name;
#define RIG_TEXT(name)   #name
#define RIG_LOAD(name)   load(RIG_TEXT(name), &cu.name);

static struct {
    FC_CALLS(RIG_MEMBER)
    __typeof__(&cuEventRecord_ptsz) record_ptsz;
    __typeof__(&cuMemsetD8Async_ptsz) memset_ptsz;
    __typeof__(&cuCtxSynchronize_v2) synchronize_v2;
    __typeof__(&fake_get_proc_address) get_proc_v1;
    __typeof__(&fake_cuda_books) books;
    __typeof__(&fake_cuda_last_violation) last;
    __typeof__(&fake_cuda_script) script;
    __typeof__(&fake_cuda_advance) advance;
} cu;

static inline void load(const char *name, void *function)
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

static inline void open_driver(void)
{
    FC_CALLS(RIG_LOAD)
    load("cuEventRecord_ptsz", &cu.record_ptsz);
    load("cuMemsetD8Async_ptsz", &cu.memset_ptsz);
    load("cuCtxSynchronize_v2", &cu.synchronize_v2);
    load("cuGetProcAddress", &cu.get_proc_v1);
    load("fake_cuda_books", &cu.books);
    load("fake_cuda_last_violation", &cu.last);
    load("fake_cuda_script", &cu.script);
    load("fake_cuda_advance", &cu.advance);
}

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

/* A script in force, and the context of device 0 current. */
static inline void begin(const char *script)
{
    CUcontext context;
    cu.script(script);
    ok(cu.cuInit(0));
    ok(cu.cuDevicePrimaryCtxRetain(&context, 0));
    ok(cu.cuCtxSetCurrent(context));
}

static inline struct fake_cuda_books books(void)
{
    struct fake_cuda_books b;
    cu.books(&b);
    return b;
}

static inline void violations(uint64_t expected)
{
    if (books().violations != expected)
        print_message("last violation: %s\n", cu.last());
    assert_int_equal(books().violations, expected);
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

/* So many violations, and everything given back. */
static inline void end(uint64_t expected)
{
    ok(cu.cuCtxSynchronize());
    ok(cu.cuDevicePrimaryCtxRelease(0));
    violations(expected);
    balanced();
}
#endif
#endif
