/* The fake CUDA driver told to misbehave, its report at exit, its symbols, and virtual memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TAPOOL_FAKE_CUDA_PATH
#include "tests/unit/fake_cuda_rig.h"

#include <sys/wait.h>

#define MIB (UINT64_C(1) << 20)

/* --- in a process of its own ------------------------------------------------------------------ */

/* These come first: a child could not call the driver once this process has. */

/* What `replay` leaves in the report of a process that ends after it. */
static void report_of(void (*replay)(void), char *text, size_t size)
{
    char path[] = "/tmp/fake_cuda_report_XXXXXX";
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("TAPOOL_FAKE_CUDA_REPORT", path, 1);
        cu.fake_cuda_script(NULL);
        replay();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    unlink(path);
    assert_int_equal(status, 0);
    assert_true(n >= 0);
    text[n] = '\0';
}

static void replay_in_order(void)
{
    CUcontext context;
    setenv("TAPOOL_FAKE_CUDA", "memory=1GiB", 1);
    CUresult rc = cu.cuInit(0);
    rc = rc ? rc : cu.cuDevicePrimaryCtxRetain(&context, 0);
    rc = rc ? rc : cu.cuCtxSetCurrent(context);
    size_t total, free_bytes;
    rc = rc ? rc : cu.cuMemGetInfo(&free_bytes, &total);
    rc = rc ? rc : cu.cuDevicePrimaryCtxRelease(0);
    if (rc || total != 1 << 30)
        _exit(1);
}

static void replay_leaks(void)
{
    CUcontext context;
    CUstream s;
    CUevent e[2];
    CUdeviceptr p;
    CUmodule m;
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    cu.cuInit(0);
    cu.cuDevicePrimaryCtxRetain(&context, 0);
    cu.cuCtxSetCurrent(context);
    cu.cuStreamCreate(&s, 0);
    cu.cuEventCreate(&e[0], 0);
    cu.cuEventCreate(&e[1], 0);
    cu.cuMemAlloc(&p, 1000);
    cu.cuMemAllocAsync(&p, 2000, s);
    cu.cuMemPoolCreate(&pool, &props);
    cu.cuModuleLoadData(&m, ".version tapool_spin");
    cu.cuMemFree(0); /* and a violation */
}

static void replay_leaks_with_the_context(void)
{
    replay_leaks();
    cu.cuDevicePrimaryCtxRelease(0);
}

TEST(test_report)
{
    static const char lost[] = "fake_cuda: leak: 1 stream\n"
                               "fake_cuda: leak: 2 events\n"
                               "fake_cuda: leak: 1 pool\n";
    static const char rest[] = "fake_cuda: leak: 1 range, 1000 bytes\n"
                               "fake_cuda: leak: 1 block, 2000 bytes\n"
                               "fake_cuda: leak: 1 module\n";
    char text[1024], expected[1024];
    report_of(replay_in_order, text, sizeof text);
    assert_string_equal(text, "fake_cuda: books balance\n");
    report_of(replay_leaks, text, sizeof text);
    snprintf(expected, sizeof expected, "%s%s%s%s", lost, "fake_cuda: leak: 1 retained context\n",
             rest, "fake_cuda: 1 violations, 8 leaks\n");
    assert_string_equal(text, expected);
    report_of(replay_leaks_with_the_context, text, sizeof text);
    snprintf(expected, sizeof expected, "%s%s%s", lost, rest, "fake_cuda: 1 violations, 7 leaks\n");
    assert_string_equal(text, expected);
}

/* --- facts ------------------------------------------------------------------------------------ */

static int attribute(CUdevice_attribute which)
{
    int value = -1;
    ok(cu.cuDeviceGetAttribute(&value, which, 0));
    return value;
}

TEST(test_devices_as_told)
{
    int n = -1;
    size_t total;
    char name[64];
    CUdevice d;
    begin("devices=3;memory=1GiB;pools=0;vmm=0;;version=12040");
    ok(cu.cuDeviceGetCount(&n));
    assert_int_equal(n, 3);
    ok(cu.cuDeviceTotalMem(&total, 2));
    assert_int_equal(total, 1 << 30);
    ok(cu.cuDeviceGetName(name, sizeof name, 0));
    assert_string_equal(name, "Simulated GPU");
    ok(cu.cuDeviceGet(&d, 2));
    assert_int_equal(d, 2);
    says(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&d, 3));
    says(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceTotalMem(&total, -1));
    ok(cu.cuDriverGetVersion(&n));
    assert_int_equal(n, 12040);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
    assert_true(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) > 0);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 0);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
    end(0);
}

TEST(test_without_pools_and_vmm)
{
    CUdeviceptr p;
    CUmemoryPool pool;
    CUmemGenericAllocationHandle handle;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemAllocationProp memory = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    begin("pools=0;vmm=0");
    says(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAllocAsync(&p, 512, NULL));
    says(CUDA_ERROR_NOT_SUPPORTED, cu.cuDeviceGetDefaultMemPool(&pool, 0));
    says(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemPoolCreate(&pool, &props));
    says(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemCreate(&handle, 2 * MIB, &memory, 0));
    says(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAddressReserve(&p, 2 * MIB, 0, 0, 0));
    end(0);
    begin(NULL);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 1);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
    end(0);
}

TEST(test_no_device)
{
    cu.fake_cuda_script("devices=0");
    says(CUDA_ERROR_NO_DEVICE, cu.cuInit(0));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuInit(1));
    cu.fake_cuda_script(NULL);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static int status_of(const char *name, int version, void **found)
{
    CUdriverProcAddressQueryResult status;
    ok(cu.cuGetProcAddress(name, found, version, 0, &status));
    assert_int_equal(*found != NULL, status == CU_GET_PROC_ADDRESS_SUCCESS);
    return (int)status;
}

TEST(test_symbols)
{
    void *found, *other;
    cu.fake_cuda_script(NULL);
    for (int i = 0; i < FC_CALL_COUNT; i++) {
#define TEXT(name) #name,
        static const char *const names[] = {FC_CALLS(TEXT)};
        assert_int_equal(status_of(names[i], 13000, &found), CU_GET_PROC_ADDRESS_SUCCESS);
    }
    assert_int_equal(status_of("cuMemAlloc", 3020, &found), CU_GET_PROC_ADDRESS_SUCCESS);
    assert_memory_equal(&found, &cu.cuMemAlloc, sizeof found);
    assert_int_equal(status_of("cuMemAlloc", 3010, &found),
                     CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_int_equal(status_of("cuNothing", 13000, &found), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_int_equal(status_of("cuCtxSynchronize", 12000, &found), CU_GET_PROC_ADDRESS_SUCCESS);
    assert_memory_equal(&found, &cu.cuCtxSynchronize, sizeof found);
    assert_int_equal(status_of("cuCtxSynchronize", 13000, &found), CU_GET_PROC_ADDRESS_SUCCESS);
    assert_memory_equal(&found, &cu.cuCtxSynchronize_v2, sizeof found);
    ok(cu.cuGetProcAddress("cuEventRecord", &found, 12000,
                           CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    assert_memory_equal(&found, &cu.cuEventRecord_ptsz, sizeof found);
    ok(cu.cuGetProcAddress("cuEventQuery", &found, 12000,
                           CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    assert_memory_equal(&found, &cu.cuEventQuery, sizeof found);
    ok(cu.old_get_proc_address("cuEventQuery", &other, 12000, 0));
    assert_ptr_equal(found, other);
    says(CUDA_ERROR_NOT_FOUND, cu.old_get_proc_address("cuNothing", &other, 12000, 0));
    violations(0);
}

TEST(test_symbols_that_are_missing)
{
    void *found;
    cu.fake_cuda_script("missing=cuMemPoolTrimTo;missing=cuEventQuery");
    assert_int_equal(status_of("cuMemPoolTrimTo", 13000, &found),
                     CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_int_equal(status_of("cuEventQuery", 13000, &found),
                     CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_int_equal(status_of("cuMemPoolCreate", 13000, &found), CU_GET_PROC_ADDRESS_SUCCESS);
    cu.fake_cuda_script("version=11010");
    says(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress("cuInit", &found, 11010, 0, NULL));
    ok(cu.old_get_proc_address("cuMemMap", &found, 11010, 0));
    says(CUDA_ERROR_NOT_FOUND, cu.old_get_proc_address("cuMemAllocAsync", &found, 13000, 0));
    cu.fake_cuda_script("missing=cuGetProcAddress");
    says(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress("cuInit", &found, 13000, 0, NULL));
    cu.fake_cuda_script(NULL);
}

TEST(test_names_of_errors)
{
    const char *text;
    cu.fake_cuda_script(NULL);
    ok(cu.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
    ok(cu.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "out of memory");
    says(CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorName((CUresult)12345, &text));
    assert_null(text);
}

/* --- failures --------------------------------------------------------------------------------- */

TEST(test_the_nth_call_fails)
{
    CUdeviceptr p;
    begin("fail=cuMemAlloc:2:2;fail=cuEventCreate:*:999;fail=cuMemFree:1:1");
    CUdeviceptr a = range(512);
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&p, 512));
    range(512);
    CUevent e;
    for (int i = 0; i < 3; i++)
        says(CUDA_ERROR_UNKNOWN, cu.cuEventCreate(&e, 0));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(a)); /* and did nothing */
    assert_int_equal(books().ranges, 2);
    end(0);
}

TEST(test_a_slip_in_a_script)
{
    static const char *const bad[] = {
        "memroy=1",          "memory=", "memory=1XiB", "fail=cuMemAloc:1:2", "fail=cuMemAlloc:0:2",
        "fail=cuMemAlloc:1", "async=1", "devices"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cu.fake_cuda_script(bad[i]);
        violated(1, bad[i]);
    }
    cu.fake_cuda_script(NULL);
}

/* The work fails when it runs, and whoever calls next hears of it. */
TEST(test_async_failure_is_sticky)
{
    CUdeviceptr p = 0, q;
    const char *text;
    begin("step=0;async=2:700");
    CUstream s = other_stream();
    CUevent e = event();
    p = range(4096);
    q = block(4096, s);
    fill(p, 4096, s);
    fill(p, 4096, s);
    ok(cu.cuEventRecord(e, s));
    says(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e)); /* not due yet */
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(s));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAlloc(&p, 512));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuEventQuery(e));
    ok(cu.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    /* what is given back is given back */
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFreeAsync(q, s));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree(p));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree(p));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuEventDestroy(e));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamDestroy(s));
    says(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuDevicePrimaryCtxRelease(0));
    violations(0);
    balanced();
    begin(NULL);
    end(0);
}

TEST(test_async_failure_by_time)
{
    begin("step=0;async=1:719");
    CUdeviceptr p = range(4096);
    fill(p, 4096, NULL);
    ok(cu.cuMemsetD8Async(p, 0, 1, NULL));
    cu.fake_cuda_advance(1000000);
    says(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemsetD8Async(p, 0, 1, NULL));
    says(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemFree(p));
    says(CUDA_ERROR_LAUNCH_FAILED, cu.cuDevicePrimaryCtxRelease(0));
    balanced();
}

TEST(test_lost_device)
{
    int version;
    begin("lost=6");
    CUdeviceptr p = range(512); /* the fourth call */
    fill(p, 512, NULL);
    says(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuCtxSynchronize());
    says(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuMemsetD8Async(p, 0, 1, NULL));
    ok(cu.cuDriverGetVersion(&version));
    says(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuMemFree(p));
    says(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuDevicePrimaryCtxRelease(0));
    violations(0);
    balanced();
    cu.fake_cuda_script(NULL);
}

TEST(test_time)
{
    begin("step=100");
    CUevent e = event();
    CUdeviceptr p = range(1 * MIB);
    fill(p, 1 * MIB, NULL); /* 1,024 ns */
    ok(cu.cuEventRecord(e, NULL));
    for (int i = 0; i < 9; i++)
        says(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
    ok(cu.cuEventQuery(e));
    end(0);
}

/* --- virtual memory --------------------------------------------------------------------------- */

static const CUmemAllocationProp on_device = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const CUmemAccessDesc access_it = {
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

TEST(test_vmm)
{
    size_t granule;
    CUdeviceptr at;
    CUmemGenericAllocationHandle h[2], none;
    begin("step=0;memory=16MiB");
    ok(cu.cuMemGetAllocationGranularity(&granule, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granule, 2 * MIB);
    ok(cu.cuMemAddressReserve(&at, 64 * MIB, 8 * MIB, 0, 0));
    assert_int_equal(at % (8 * MIB), 0);
    for (int i = 0; i < 2; i++)
        ok(cu.cuMemCreate(&h[i], 4 * MIB, &on_device, 0));
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemCreate(&none, 10 * MIB, &on_device, 0));
    assert_int_equal(free_memory(), 8 * MIB);
    ok(cu.cuMemMap(at, 4 * MIB, 0, h[0], 0));
    ok(cu.cuMemMap(at + 4 * MIB, 4 * MIB, 0, h[1], 0));
    ok(cu.cuMemSetAccess(at, 8 * MIB, &access_it, 1));
    fill(at + 3 * MIB, 2 * MIB, NULL); /* over both */
    ok(cu.cuMemRelease(h[0]));
    ok(cu.cuMemRelease(h[1]));
    assert_int_equal(free_memory(), 8 * MIB); /* still mapped */
    ok(cu.cuStreamSynchronize(NULL));
    ok(cu.cuMemUnmap(at, 8 * MIB));
    assert_int_equal(free_memory(), 16 * MIB);
    ok(cu.cuMemAddressFree(at, 64 * MIB));
    end(0);
}

TEST(test_vmm_out_of_order)
{
    CUdeviceptr at;
    CUmemGenericAllocationHandle h;
    begin("step=0");
    ok(cu.cuMemAddressReserve(&at, 8 * MIB, 0, 0, 0));
    ok(cu.cuMemCreate(&h, 2 * MIB, &on_device, 0));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(at + 7 * MIB, 2 * MIB, 0, h, 0));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetAccess(at, 2 * MIB, &access_it, 1));
    violations(2);
    ok(cu.cuMemMap(at, 2 * MIB, 0, h, 0));
    says(CUDA_ERROR_ALREADY_MAPPED, cu.cuMemMap(at, 2 * MIB, 0, h, 0));
    fill(at, 512, NULL);
    violated(4, "without access");
    ok(cu.cuMemUnmap(at, 2 * MIB));
    violated(5, "cuMemUnmap");
    fill(at, 512, NULL);
    violated(6, "no live range");
    ok(cu.cuMemMap(at, 2 * MIB, 0, h, 0));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(at, 8 * MIB));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap(at, 1 * MIB));
    violations(8);
    ok(cu.cuMemUnmap(at, 2 * MIB));
    ok(cu.cuMemRelease(h));
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuMemRelease(h));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(at, 4 * MIB));
    ok(cu.cuMemAddressFree(at, 8 * MIB));
    end(10);
}

/* The third of three streams on two connections waits for the first, whose connection it has; the
 * order that this makes is luck, and work that relies on it is a race. */
TEST(test_streams_share_connections)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1);
    begin("step=0");
    assert_int_equal(books().connections, 2);
    CUstream s[3];
    CUdeviceptr p[3];
    for (int i = 0; i < 3; i++) {
        s[i] = other_stream();
        p[i] = range(4 * MIB);
    }
    fill(p[0], 4 * MIB, s[0]); /* 4,096 ns */
    fill(p[1], 1024, s[1]);
    fill(p[2], 1024, s[2]);
    cu.fake_cuda_advance(2);
    ok(cu.cuStreamQuery(s[1]));
    says(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s[2]));
    violations(0);
    fill(p[0], 1, s[2]);
    violations(1);
    ok(cu.cuCtxSynchronize());
    drop_stream(s[0]);
    CUstream again = other_stream(); /* on the first connection: both have one */
    fill(p[2], 4 * MIB, s[2]);
    fill(p[1], 1024, again);
    cu.fake_cuda_advance(2);
    says(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(again));
    for (int i = 0; i < 3; i++)
        drop_range(p[i]);
    drop_stream(again);
    drop_stream(s[1]);
    drop_stream(s[2]);
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    end(1);
}

GROUP(open_driver, NULL)

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#include "tests/unit/test.h"
#endif
