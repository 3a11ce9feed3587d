/* The CUDA driver as it is found, loaded and described: every name missing in turn, old versions,
 * no library, a library that is none, no device. */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/device_map.h"
#include "cuda/driver.h"

#include <unistd.h>

static struct tp_cuda *open_driver(void)
{
    struct tp_err err = {0};
    struct tp_cuda *c = NULL;
    if (tp_cuda_open(&c, &err))
        fail_msg("%s", err.text);
    assert_non_null(c);
    return c;
}

/* That it cannot be opened, and the sentence. */
static void expect_refusal(const char *words)
{
    struct tp_err err = {0};
    struct tp_cuda *c = (void *)&err;
    assert_int_equal(tp_cuda_open(&c, &err), TP_EDEVICE);
    assert_null(c);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
    assert_string_equal(err.hint, "");
}

TEST_IN_RIG(facts_are_told)
{
    cuda_rig(state, NULL);
    struct tp_cuda *c = open_driver();
    const struct tp_cuda_info *info = tp_cuda_info(c);
    assert_true(info->version >= CUDA_OLDEST_DRIVER);
    assert_true(info->device_count >= 1);
    assert_non_null(strstr(info->path, "cuda"));
    const struct tp_cuda_device *d = &info->devices[0];
    assert_int_equal(info->simulated, strcmp(d->name, "Simulated GPU") == 0);
    assert_true(*d->name != '\0' && d->total_bytes > 0 && d->major > 0);
    assert_int_equal(d->pools, *d->no_pools == '\0');
    assert_int_equal(d->vmm, *d->no_vmm == '\0');
    assert_true(tp_cuda_built());
    tp_cuda_close(c);
    tp_cuda_close(NULL);
}

TEST_IN_RIG(facts_of_the_fake)
{
    cuda_rig(state, "devices=3;memory=4GiB;version=12040");
    struct tp_cuda *c = open_driver();
    const struct tp_cuda_info *info = tp_cuda_info(c);
    assert_int_equal(info->version, 12040);
    assert_int_equal(info->device_count, 3);
    assert_string_equal(info->path, TAPOOL_FAKE_CUDA_PATH);
    assert_string_equal(info->release, "");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(info->devices[i].name, "Simulated GPU");
        assert_int_equal(info->devices[i].total_bytes, UINT64_C(4) << 30);
        assert_true(info->devices[i].pools && info->devices[i].vmm);
        assert_true(info->devices[i].clock_khz > 0);
    }
    tp_cuda_close(c);
}

static const struct {
    const char *name;
    enum cuda_group group;
} names[] = {
#define NAME_ROW(name, version, group) {"cu" #name, CUDA_##group},
    CUDA_DRIVER_SYMBOLS(NAME_ROW)
#undef NAME_ROW
};

enum { NAMES = sizeof names / sizeof *names };

TEST_IN_RIG(each_name_may_be_missing)
{
    cuda_rig(state, "");
    for (int i = 0; i < NAMES; i++) {
        char script[96], words[96];
        snprintf(script, sizeof script, "missing=%s", names[i].name);
        snprintf(words, sizeof words, "the driver has no %s", names[i].name);
        cuda_rig(state, script);
        if (names[i].group == CUDA_CORE) {
            expect_refusal(words);
            continue;
        }
        struct tp_cuda *c = open_driver();
        const struct tp_cuda_device *d = &tp_cuda_info(c)->devices[0];
        assert_int_equal(d->pools, names[i].group != CUDA_POOLS);
        assert_int_equal(d->vmm, names[i].group != CUDA_VMM);
        assert_string_equal(d->no_pools, names[i].group == CUDA_POOLS ? words : "");
        assert_string_equal(d->no_vmm, names[i].group == CUDA_VMM ? words : "");
        tp_cuda_close(c);
    }
}

/* A symbol is not a capability. */
TEST_IN_RIG(attributes_are_asked)
{
    cuda_rig(state, "pools=0;vmm=0");
    struct tp_cuda *c = open_driver();
    const struct tp_cuda_device *d = &tp_cuda_info(c)->devices[0];
    assert_false(d->pools || d->vmm);
    assert_string_equal(d->no_pools, "the device does not support them");
    assert_string_equal(d->no_vmm, "the device does not support it");
    tp_cuda_close(c);
    cuda_rig(state, "fail=cuDeviceGetAttribute:*:999");
    c = open_driver();
    d = &tp_cuda_info(c)->devices[0];
    assert_non_null(strstr(d->no_pools, "cuDeviceGetAttribute failed: CUDA_ERROR_UNKNOWN"));
    assert_int_equal(d->clock_khz, 0);
    tp_cuda_close(c);
}

TEST_IN_RIG(old_versions)
{
    static const int good[] = {11030, 11040, 12000, 12020, 13000, 14000};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char script[32];
        snprintf(script, sizeof script, "version=%d", good[i]);
        cuda_rig(state, script);
        struct tp_cuda *c = open_driver();
        assert_int_equal(tp_cuda_info(c)->version, good[i]);
        tp_cuda_close(c);
    }
    cuda_rig(state, "version=11020");
    expect_refusal("knows CUDA 11.2, and 11.3 or newer is needed");
    cuda_rig(state, "version=9000");
    expect_refusal("the driver is too old: ");
    cuda_rig(state, "fail=cuDriverGetVersion:1:999");
    expect_refusal("does not tell its version");
}

/* A driver of today hands out the function of the version that was selected: the one of 13.0 takes
 * a context, and would read what was never passed. */
TEST_IN_RIG(versions_are_asked_for)
{
    struct cuda_rig *r = cuda_rig(state, "version=14000");
    struct cuda_bench b;
    assert_int_equal(cuda_bench_open(&b, NULL, NULL), TP_OK);
    tp_src_synced(&b.src, TP_ALL_STREAMS);
    assert_int_equal(tp_src_fault(&b.src, &b.err), TP_OK);
    assert_int_not_equal(cuda_rig_books(r).context_syncs, 0);
    cuda_bench_close(&b);
}

TEST_IN_RIG(no_library)
{
    cuda_rig(state, "");
    setenv("TAPOOL_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    expect_refusal("/nowhere/libcuda.so.1 was not found");
    setenv("TAPOOL_CUDA_DRIVER", "libcuda-of-nobody.so.1", 1);
    expect_refusal("libcuda-of-nobody.so.1 was not found");
    struct cuda_bench b;
    assert_int_equal(cuda_bench_open(&b, NULL, NULL), TP_EDEVICE);
    assert_string_equal(b.err.text, "libcuda-of-nobody.so.1 was not found");
    assert_string_equal(b.err.hint, "'--source virtual' replays the same strategy without a GPU");
}

TEST_IN_RIG(no_driver_in_the_library)
{
    cuda_rig(state, "");
    char path[] = "/tmp/tapool-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    setenv("TAPOOL_CUDA_DRIVER", path, 1);
    expect_refusal("no CUDA driver could be loaded: ");
    static const char rubbish[] = "\177ELF this is not what it says it is, but long enough to be "
                                  "read as the header of a library";
    assert_int_equal(write(fd, rubbish, sizeof rubbish), (ssize_t)sizeof rubbish);
    close(fd);
    expect_refusal("no CUDA driver could be loaded: ");
    unlink(path);
    setenv("TAPOOL_CUDA_DRIVER", "libz.so.1", 1);
    expect_refusal("has no cuDriverGetVersion");
}

TEST_IN_RIG(no_device)
{
    cuda_rig(state, "devices=0");
    expect_refusal("no CUDA device: ");
    cuda_rig(state, "fail=cuInit:1:100");
    expect_refusal("no CUDA device: ");
    cuda_rig(state, "fail=cuInit:1:999");
    expect_refusal("cuInit failed: CUDA_ERROR_UNKNOWN (");
    cuda_rig(state, "fail=cuDeviceGetCount:1:999");
    expect_refusal("cuDeviceGetCount failed: CUDA_ERROR_UNKNOWN (");
    cuda_rig(state, "devices=2;fail=cuDeviceGet:2:101");
    expect_refusal("cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE (");
    cuda_rig(state, "fail=cuDeviceTotalMem:1:999");
    expect_refusal("cuDeviceTotalMem failed");
    cuda_rig(state, "fail=cuInit:1:999;fail=cuGetErrorName:*:1");
    expect_refusal("cuInit failed: error 999 of the driver");
    cuda_rig(state, "fail=cuInit:1:999;fail=cuGetErrorString:*:1");
    expect_refusal("cuInit failed: CUDA_ERROR_UNKNOWN");
}

/* As many as there can be, unless the user has said another number; said before cuInit, after which
 * a driver does not look again. */
TEST_IN_RIG(connections_are_asked_for)
{
    static const struct {
        const char *set;
        uint32_t told, made;
    } rows[] = {{NULL, 32, 32}, {"1", 1, 1},  {"12", 12, 12},
                {"64", 64, 8},  {"", 0, 8},   {"x", 0, 8},
                {"8x", 0, 8},   {"-1", 0, 8}, {"99999999999999999999", 0, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cuda_rig *r = cuda_rig(state, "");
        unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
        if (rows[i].set)
            setenv("CUDA_DEVICE_MAX_CONNECTIONS", rows[i].set, 1);
        struct tp_cuda *c = open_driver();
        assert_int_equal(tp_cuda_info(c)->connections, rows[i].told);
        assert_int_equal(cuda_rig_books(r).connections, rows[i].made);
        tp_cuda_close(c);
    }
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

TEST(releases_are_read)
{
    static const struct {
        const char *text, *release;
    } rows[] = {
        {"580.65.06\n", "580.65.06"},
        {"470.57.02", "470.57.02"},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC "
         "2021\n",
         "470.57.02"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n",
         "580.65.06"},
        {"\n", ""},
        {"", ""},
        {"550", ""},
        {".5 5. 5..5 v5.5 5.5x 16:14:05", ""},
        {"1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1 535.1", "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"},
        {"1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.11 535.1", "535.1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char release[TP_CUDA_RELEASE];
        tp_cuda_release_parse(rows[i].text, release);
        assert_string_equal(release, rows[i].release);
    }
}

/* Opportunistic reuse corrupts memory below 470.60; what is not known is not refused. */
TEST(old_releases_may_not_reuse_opportunistically)
{
    static const char *const good[] = {"",           "470.60",    "470.60.02",
                                       "470.103.01", "495.29.05", "580.65.06"};
    static const char *const bad[] = {"470.57.02", "470.9", "465.19.01", "460.106.00"};
    struct tp_err err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(tp_cuda_release_check_reuse(good[i], &err), TP_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct tp_err){0};
        assert_int_equal(tp_cuda_release_check_reuse(bad[i], &err), TP_EDEVICE);
        assert_non_null(strstr(err.text, bad[i]));
        assert_non_null(strstr(err.hint, "cudaMallocAsync:reuse_allow_opportunistic=no"));
    }
}

TEST_IN_RIG(a_name_may_be_lacking)
{
    cuda_rig(state, "fail=cuDeviceGetName:*:999");
    struct tp_cuda *c = open_driver();
    assert_string_equal(tp_cuda_info(c)->devices[0].name, "a device");
    tp_cuda_close(c);
}

TEST_IN_RIG(a_held_device_tells_its_memory)
{
    struct cuda_rig *r = cuda_rig(state, NULL);
    struct tp_err err = {0};
    uint64_t free_bytes, total;
    struct tp_cuda *c = open_driver();
    assert_int_equal(tp_cuda_memory(c, 0, &free_bytes, &total, &err), TP_EINVAL);
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK);
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK);
    assert_int_equal(tp_cuda_memory(c, 0, &free_bytes, &total, &err), TP_OK);
    assert_true(free_bytes > 0 && free_bytes <= total);
    assert_int_equal(tp_cuda_hold(c, 99, &err), TP_EDEVICE);
    assert_int_equal(tp_cuda_hold(c, -1, &err), TP_EDEVICE);
    assert_int_equal(tp_cuda_memory(c, 99, &free_bytes, &total, &err), TP_EINVAL);
    if (r->library)
        assert_int_equal(cuda_rig_books(r).contexts, r->before.contexts + 1);
    tp_cuda_close(c);
}

TEST_IN_RIG(holding_may_fail)
{
    static const char *const fails[] = {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuMemGetInfo"};
    struct tp_err err = {0};
    uint64_t free_bytes, total;
    cuda_rig(state, "fail=cuDevicePrimaryCtxRetain:1:2");
    struct tp_cuda *c = open_driver();
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_EDEVICE);
    assert_string_equal(
        err.text, "cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    tp_cuda_close(c);
    for (int i = 0; i < 3; i++) {
        char script[64];
        snprintf(script, sizeof script, "fail=%s:1:999", fails[i]);
        cuda_rig(state, script);
        c = open_driver();
        assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK);
        assert_int_equal(tp_cuda_memory(c, 0, &free_bytes, &total, &err), TP_EDEVICE);
        assert_non_null(strstr(err.text, fails[i]));
        tp_cuda_close(c);
    }
}

/* A source relies on the context that it made current. */
TEST_IN_RIG(looking_leaves_the_context)
{
    cuda_rig(state, "devices=2");
    struct tp_err err = {0};
    uint64_t free_bytes, total;
    struct cuda_bench b;
    struct tp_cuda *c = open_driver();
    assert_int_equal(tp_cuda_hold(c, 1, &err), TP_OK);
    assert_int_equal(cuda_bench_open(&b, NULL, NULL), TP_OK);
    tp_addr addr;
    assert_int_equal(tp_src_get(&b.src, 1 << 20, 256, &addr), TP_OK);
    assert_int_equal(tp_cuda_memory(c, 1, &free_bytes, &total, &err), TP_OK);
    assert_int_equal(free_bytes, total); /* the range is on the other device */
    struct tp_fence f;
    tp_src_record(&b.src, 1, &f); /* refused in the context of the other */
    assert_int_equal(tp_src_fault(&b.src, &b.err), TP_OK);
    cuda_bench_close(&b);
    tp_cuda_close(c);
}

TEST(maps)
{
    static const struct {
        const char *map;
        uint16_t device;
        int ordinal; /* -1: no map */
    } rows[] = {
        {NULL, 3, 3},     {"", 3, 3},          {"0=1", 0, 1},
        {"0=1", 1, 1},    {"0=1,1=0", 1, 0},   {"0=1,1=0", 2, 2},
        {"7=0", 7, 0},    {"65535=0", 9, 9},   {"65536=0", 0, -1},
        {"0", 0, -1},     {"0=", 0, -1},       {"=1", 0, -1},
        {"0=1,", 0, -1},  {",0=1", 0, -1},     {"0=1;1=0", 0, -1},
        {"0=1 ", 0, -1},  {"0=-1", 0, -1},     {"0=1,0=2", 0, -1},
        {"a=b", 0, -1},   {"0=1,1=x", 0, -1},  {"0=99999999999999999999", 0, -1},
        {"0=0x1", 0, -1}, {"0=1,,1=0", 0, -1}, {"0==1", 0, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_err err = {0};
        int ordinal = -2, rc = tp_cuda_map(rows[i].map, rows[i].device, &ordinal, &err);
        assert_int_equal(rc, rows[i].ordinal < 0 ? TP_EUSAGE : TP_OK);
        if (rc)
            assert_true(strstr(err.text, rows[i].map) && *err.hint);
        else
            assert_int_equal(ordinal, rows[i].ordinal);
    }
}

#else

/* Without the toolkit every call says so. */
TEST(nothing_is_built)
{
    struct tp_err err = {0};
    struct tp_cuda *c;
    assert_false(tp_cuda_built());
    assert_int_equal(tp_cuda_open(&c, &err), TP_EDEVICE);
    assert_null(c);
    assert_int_equal(tp_source_check(&tp_source_cuda, &err), TP_OK);
    struct cuda_bench b;
    assert_int_equal(cuda_bench_open(&b, NULL, NULL), TP_EDEVICE);
    assert_non_null(strstr(b.err.text, "without the CUDA Toolkit"));
    assert_non_null(strstr(b.err.hint, "--source virtual"));
}

#endif
